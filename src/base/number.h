/*
 * number.h - canonical numbers and exact decimal arithmetic.
 *
 * A canonical number is the one text of a decimal with at most 18 significant
 * digits and a magnitude of 0 or 1E-43 to 1E47, both included: `0`, `-12.5`,
 * `.5`, `1000`; never `01`, `1.0`, `1E3`, `+1`, `0.5`, `-0`.
 *
 * Arithmetic is decimal, rounded to 18 significant digits half away from zero;
 * binary floating point is used nowhere but to read and write doubles.  Nothing
 * here depends on the locale.
 */
#ifndef CARET_BASE_NUMBER_H
#define CARET_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes enough for the text of any number; the longest is -.000...: 1 + 1 + 42 + 18. */
#define CARET__NUM_MAX 64u

/* mantissa * 10^exp, |mantissa| < 10^18.  May be out of range until it was added. */
struct caret__dec {
    int64_t mantissa;
    int32_t exp;
};

/* Is this text a canonical number? */
bool caret__num_canonical(const char *s, size_t n);

/* Numeric coercion: the value of the longest leading prefix that is a number
 * (signs, digits, point, `E` exponent), else 0. */
struct caret__dec caret__dec_parse(const char *s, size_t n);

/* *r = a + b.  CARET_E_NUMOFLOW (bare code) when a, b or the sum is above 1E47;
 * below 1E-43 becomes 0. */
int caret__dec_add(struct caret__dec a, struct caret__dec b, struct caret__dec *r);

/* -1, 0, 1. */
int caret__dec_sign(struct caret__dec d);

/* Canonical text, not terminated; returns its length, 0 if d is above 1E47. */
size_t caret__dec_format(struct caret__dec d, char buf[CARET__NUM_MAX]);

/* Decimal text of an integer, at most 20 bytes, not terminated; returns its length. */
size_t caret__i64_format(int64_t v, char *buf);

/* Exactly the texts that caret__i64_format() writes, over all of int64. */
bool caret__i64_parse(const char *s, size_t n, int64_t *out);

/* The quick half of incr: when s is empty or a canonical integer of at most 17
 * digits and |by| < 10^17, write the text of the sum and return true. */
bool caret__add_small(const char *s, size_t n, int64_t by, char buf[CARET__NUM_MAX], size_t *len,
                      int64_t *sum);

/*
 * A double as text: integers that fit an int64 exactly, all others by the
 * shortest decimal which reads back the same.  Canonical form (`3`, `.5`, plain
 * digits) within 1E-43..1E47, outside it like 1.5E300.  0 for NaN and infinities.
 */
size_t caret__double_format(double v, char buf[CARET__NUM_MAX]);

#endif
