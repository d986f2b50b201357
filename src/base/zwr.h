/*
 * zwr.h - ZWR, the readable text form of byte strings and nodes.
 *
 *   string  := part ('_' part)*      part := '"' printable, " doubled '"'
 *                                          | '$C(' n (',' n)* ')'
 *                                          | '$ZCH(' n (',' n)* ')'
 *   node    := ['^'] name ['(' sub (',' sub)* ')']    sub := canonical number | string
 *
 * Two modes, for the writer and the reader alike.  bytes: 0-31, 127-159 and 255
 * are unprintable and written $C(byte).  utf8: valid UTF-8 is readable but for
 * control characters (U+0000-1F, 7F-9F), written $C(code point); bytes that are
 * not UTF-8 are written $ZCH(byte).
 *
 * The reader takes every form in either mode; the mode only says what $C(128) to
 * $C(255) mean: a byte or a code point.  (The two writers use the same text for
 * byte 0x85 and for U+0085, so no reader can do without being told.)
 *
 * A writer sets *len to the needed length also when it answers CARET_E_BUFFER;
 * nothing is written beyond cap, and nothing is terminated.
 */
#ifndef CARET_BASE_ZWR_H
#define CARET_BASE_ZWR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes to text.  CARET_E_BUFFER. */
int caret__zwr_put(const void *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len);

/* Bytes of another's, as messages show them.  Those of more than `most` bytes (CARET__SHOWN_MOST at most) are cut, with
 * "..." after them.  Where all can be read they stand between `quote`s (0: none); else it is ZWR text, so that no NUL
 * cuts the message off and no control character reaches a terminal.  Returns s->text. */
#define CARET__SHOWN_MOST 120u
struct caret__shown {
    char text[10 * CARET__SHOWN_MOST];
};
const char *caret__shown(struct caret__shown *s, const void *bytes, size_t n, size_t most, char quote);

/* Text to bytes; a bare canonical number stands for itself.  CARET_E_SYNTAX, CARET_E_BUFFER. */
int caret__zwr_get(const char *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len);

/* Encoded key to node text.  CARET_E_BUFFER, CARET_E_CORRUPT. */
int caret__zwr_put_key(const uint8_t *key, size_t n, bool local, bool utf8, char *buf, size_t cap,
                       size_t *len);

/* Node text to encoded key, which must not be longer than CARET__KEY_MAX.
 * CARET_E_SYNTAX, _NAME, _MAXSUBS, _KEY2BIG. */
int caret__zwr_get_key(const char *text, size_t n, bool utf8, uint8_t key[], size_t *key_len, bool *local);

/* CARET_E_NAME, with a message about this name. */
int caret__not_a_name(const char *name, size_t len);

#endif
