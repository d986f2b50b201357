/*
 * error.h - one space of outcome codes, one text per thread.
 *
 * A function that fails says why with caret__fail() where it knows most, and
 * its callers only hand the code on.  The text lives in thread-local memory and
 * is read with caret_message().
 *
 * Outcomes that are not failures (CARET_NONE, a lock not obtained at the first try)
 * come from hot paths and are returned as bare codes, without touching the
 * thread-local text; after those caret_message() still tells about the last
 * failure.  Cold ones (CARET_RESTART, CARET_LOCK_TIMEOUT) may use
 * caret__outcome(), which costs one thread-local pointer store.
 */
#ifndef CARET_BASE_ERROR_H
#define CARET_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "caret.h"

/* Longer texts are cut. */
#define CARET__MESSAGE_MAX 1024u

/* Note "SYMBOL: text" and return code.  The arguments may point into an earlier message. */
__attribute__((format(printf, 2, 3), cold)) int caret__fail(int code, const char *fmt, ...);

/* The same with ": " and the text of errno after it; errno is kept. */
__attribute__((format(printf, 2, 3), cold)) int caret__fail_errno(int code, const char *fmt, ...);

/* caret__fail() where the text tells in words of its own what the system would say: `number` is that errno. */
__attribute__((format(printf, 3, 4), cold)) int caret__fail_for(int number, int code, const char *fmt, ...);

/* After one of these: an option of caret.h that helps, and what it does, as a literal "NAME opens it ...".
 * caret_message() ends with it in parentheses; caret_fact() is without, for callers whose users have other options. */
__attribute__((cold)) int caret__advise(int code, const char *option_and_what_it_does);

/* INVALID: that argument of a public function is NULL where `expected` has to be. */
__attribute__((cold)) int caret__null(const char *function, const char *argument, const char *expected);
__attribute__((cold)) int caret__empty_path(const char *function, const char *argument);

/* Bytes that a caller gives, or room for them: NULL only if there are none, and no more than memory can have.  If it is
 * not so, caret__refuse_bytes() says that: INVALID. */
static inline bool caret__bytes_ok(const void *bytes, size_t len)
{
    return (bytes != NULL || len == 0) && len <= PTRDIFF_MAX;
}
__attribute__((cold)) int caret__refuse_bytes(const char *function, const char *argument, const void *bytes,
                                              size_t len);

/* Note the standard text of an outcome and return it. */
int caret__outcome(int code);

#endif
