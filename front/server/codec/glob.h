/*
 * glob.h - patterns of KEYS, SCAN MATCH, PSUBSCRIBE, ACL rules and CONFIG GET.
 *
 *     *        any bytes, also none          [abc]    one of these bytes
 *     ?        any one byte                  [^abc]   one byte that is none of these
 *     \x       the byte x                    [a-z]    a byte of the range, whichever end is first
 *
 * All bytes count, 00 too; texts have no terminator.  All functions are pure.
 */
#ifndef CARET_SERVER_CODEC_GLOB_H
#define CARET_SERVER_CODEC_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Does the whole text match?  fold: ASCII letters of either case are equal.  At most pattern_len * text_len steps. */
bool caret_codec__glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len, bool fold);

/*
 * The bytes with which every match begins, so that a search can be a range: to `prefix`, which has room for pattern_len
 * bytes.  Their number; *whole tells whether the pattern matches that text alone.
 */
size_t caret_codec__glob_prefix(const char *pattern, size_t pattern_len, char *prefix, bool *whole);

#endif
