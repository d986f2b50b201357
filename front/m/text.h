/*
 * text.h - bytes as ZWR text and back, by M's rules, which are narrower than the engine's (caret_str2zwr).
 *
 * A canonical number is written bare: 208, -.5.  What is read is parts joined by `_`:
 *
 *     part := '"' characters, " doubled '"' | $C(n,n...) | $ZCH(n,n...)        in any case, but never $CHAR or $ZCHAR
 *
 * The last of them may also be a number, or look like one, or be missing; and if it is a string without the quote at
 * its end, what comes after the last quote is left out.  Everything else is not ZWR text.
 *
 * Pure functions; and text that grows.
 */
#ifndef CARET_M_TEXT_H
#define CARET_M_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As caret_str2zwr() and caret_zwr2str() in all but that: *len is set to what is needed; CARET_E_BUFFER; and
 * CARET_E_SYNTAX from the way back. */
int caret_m__str2zwr(const char *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len);
int caret_m__zwr2str(const char *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len);

/* Length of the UTF-8 character that n bytes begin with; 0: with none.  n > 0. */
size_t caret_m__character(const char *bytes, size_t n);

/* The bytes of a character of Unicode: how many, from 1 to 4. */
size_t caret_m__character_put(uint32_t code, char bytes[4]);

/* Text that grows; {0} is an empty one.  After the first caret_m__grow() a NUL follows it, which len does not count.
 * free(bytes) ends it. */
struct caret_m__growing {
    char *bytes;
    size_t len, cap;
};

/* Add n bytes; false: there is no memory, and the text is what it was. */
bool caret_m__grow(struct caret_m__growing *t, const char *bytes, size_t n);

#endif
