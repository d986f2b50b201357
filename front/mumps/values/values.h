/*
 * values.h - M's values, for the runtime in Lua: what is quicker, or only exact, in C.
 *
 * A value is a double that is an integer below 2^53, or bytes; a double that is not an integer is the short
 * fraction of decimal.lua, the decimal of at most 6 places that is nearest to it.  A number comes in as the
 * pair (double, bytes): it is the double if the pointer is NULL.  It goes out in a `struct
 * caret_mumps__number`: 0 means `value`, a length means `text`, the canonical text of any other number, and
 * below 0 stands one of the errors.
 *
 * Patterns: pattern.h.  All functions are pure.
 */
#ifndef CARET_MUMPS_VALUES_H
#define CARET_MUMPS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "m/text.h"
#include "mumps/values/pattern.h"

typedef struct caret_mumps__number {
    double value;
    char text[96];
} caret_mumps__number;

enum caret_mumps__trouble {
    CARET_MUMPS__NUMOFLOW = -1,
    CARET_MUMPS__DIVZERO = -2,
    CARET_MUMPS__NEGFRACPWR = -3
};

enum caret_mumps__op {
    CARET_MUMPS__ADD,
    CARET_MUMPS__SUB,
    CARET_MUMPS__MUL,
    CARET_MUMPS__DIV,
    CARET_MUMPS__IDIV,
    CARET_MUMPS__MOD,
    CARET_MUMPS__POW
};

/* What a text is as a number: the integer, or NaN for any other outcome. */
double caret_mumps__integer(const char *s, size_t n);

/* What a text of digits and a point is if it is an integer below 2^53 or a short fraction, else NaN. */
double caret_mumps__decimal(const char *s, size_t n);

/* The canonical text of a short fraction, at most 18 bytes: its length. */
int caret_mumps__decimal_text(double v, char *out);

/* The same as caret_mumps__integer() for every number. */
int caret_mumps__to_number(const char *s, size_t n, caret_mumps__number *out);

/* Is it the canonical text of an integer below 2^53? It, or NaN. */
double caret_mumps__key(const char *s, size_t n);

/* Is it the canonical text of a number? */
bool caret_mumps__is_canonical(const char *s, size_t n);

/* x op y. */
int caret_mumps__arithmetic(int op, double x, const char *a, size_t na, double y, const char *b, size_t nb,
                            caret_mumps__number *out);

/* -1, 0, 1; 2: one of them is too large for a number. */
int caret_mumps__compare(double x, const char *a, size_t na, double y, const char *b, size_t nb);

/* A number with `decimals` digits after the point, rounded half away from zero: `zero` is written before a bare
 * point.  Its length in out (at most 2 MiB are needed), or a trouble. */
int caret_mumps__fixed(double x, const char *a, size_t na, int decimals, bool zero, char *out);

/* The text of an integer, at most 20 bytes. */
size_t caret_mumps__integer_text(double v, char *out);

/* $JUSTIFY: caret_mumps__fixed() after as many spaces as make it `width`. */
int caret_mumps__justify(double x, const char *a, size_t na, int width, int decimals, char *out);

/* An unsigned number with a comma before each three digits before the point; its length. */
size_t caret_mumps__commas(const char *s, size_t n, char *out);

/* Pieces.  The place where piece `nth` (from 1) begins, and *end after it; n + 1: there are not so many.
 * Delimiters are not empty.  `from`: where to begin. */
size_t caret_mumps__piece(const char *s, size_t n, const char *d, size_t nd, size_t nth, size_t *end);

/* Piece nth by that byte as a number, as caret_mumps__decimal() has it; NaN also if there are not so many. */
double caret_mumps__piece_number(const char *s, size_t n, int delimiter, size_t nth);

/* SET $PIECE: the text with pieces `first` to `last` replaced, in out, which has room for `room`.  Its length, or what
 * the length would be if it is above that: then nothing is written. */
size_t caret_mumps__set_piece(const char *s, size_t n, const char *d, size_t nd, size_t first, size_t last,
                              const char *by, size_t nby, char *out, size_t room);

/* How many times d occurs in s, the occurrences apart. */
size_t caret_mumps__occurrences(const char *s, size_t n, const char *d, size_t nd);

#define CARET_MUMPS__FEW 8 /* also in text.lua */

/* $TRANSLATE by bytes: map[byte] is the new one, or -1: leave it out; map[256] is how many bytes change, and from
 * map[257] on stand those, if they are no more than FEW.  The length in out, which has room for n. */
size_t caret_mumps__translate(const char *s, size_t n, const int16_t *map, char *out);

/* Where in s the byte c is last, from 1 on; 0: it is not there. */
size_t caret_mumps__last(const char *s, size_t n, int c);

void caret_mumps__reverse(const char *s, size_t n, char *out);

/* MurmurHash3 of 128 bits, its two halves. */
void caret_mumps__hash(const char *s, size_t n, uint32_t salt, uint64_t out[2]);

/* ------------------------------------------------------------------ UTF-8 */

/* Characters, where each byte that is not part of one counts as one; *bad: the place of the first such byte + 1. */
size_t caret_mumps__utf8_length(const char *s, size_t n, size_t *bad);

/* Where character `nth` (from 0) begins, from byte `at` on; n at most. */
size_t caret_mumps__utf8_offset(const char *s, size_t n, size_t at, size_t nth);

/* Code of the character at byte `at`, *size its bytes; below 0: a byte that is not part of a character. */
int32_t caret_mumps__utf8_code(const char *s, size_t n, size_t at, size_t *size);

/* Columns of a terminal. -1: not printable. */
int caret_mumps__utf8_width(uint32_t code);

bool caret_mumps__utf8_letter(uint32_t code);

/* Upper (1), lower (0), title (2) case of a character. */
uint32_t caret_mumps__utf8_case(uint32_t code, int to);

#endif
