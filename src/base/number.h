/*
 * number.h - canonical numbers; integers and doubles as text.
 *
 * A canonical number is the one text of a decimal with at most 18 significant
 * digits that is 0 or has a magnitude from 1E-43 to below 1E47: `0`, `-12.5`,
 * `.5`, `1000`; never `01`, `1.0`, `1E3`, `+1`, `0.5`, `-0`.  Subscripts are ordered by it; values
 * may have more digits (decimal.h).
 *
 * Nothing here depends on the locale.
 */
#ifndef CARET_BASE_NUMBER_H
#define CARET_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes enough for any canonical number; the longest is -.000...: 1 + 1 + 42 + 18. */
#define CARET__NUM_MAX 64u

/* Is this text a canonical number? */
bool caret__num_canonical(const char *s, size_t n);

/* Decimal text of an integer, at most 20 bytes, not terminated; returns its length. */
size_t caret__i64_format(int64_t v, char *buf);

/* old + by as text, where old is what caret__i64_format() writes of a number above 0, and by 1 to 9: what changes are
 * most often the last digits.  false: the sum has a digit more, and out, of n bytes, is of no use. */
bool caret__digits_add(const char *old, size_t n, unsigned by, char *out);

/* Exactly the texts that caret__i64_format() writes, over all of int64. */
bool caret__i64_parse(const char *s, size_t n, int64_t *out);

/*
 * A double as text: integers that fit an int64 exactly, all others by the
 * shortest decimal which reads back the same.  Canonical form (`3`, `.5`, plain
 * digits) from 1E-43 to below 1E47, outside it like 1.5E300.  0 for NaN and infinities.
 */
size_t caret__double_format(double v, char buf[CARET__NUM_MAX]);

#endif
