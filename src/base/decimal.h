/*
 * decimal.h - decimal arithmetic: the one implementation, for incr and for all that counts.
 *
 * A number is +-mantissa * 10^exp with up to 38 significant digits.  What a
 * result may be is said by `struct caret__rules`:
 *
 *   CARET__EXACT38   up to 38 digits and exact, or an error: what `caret` counts by
 *   CARET__M18       18 digits, cut off toward zero: M's numbers, as GT.M and YottaDB have them
 *
 * A number is 0, or its magnitude is from 1E-43 up to, and not including, 1E47.
 * Under M's rules a result below that range is 0.  Exact rules refuse it.
 *
 * Both operands are made by the rules they are used with: by caret__dec_parse(),
 * by caret__dec_from_int() of what has no more digits, or by an operation.
 *
 * All functions are pure: no allocation, no locale, no static state, so they can be
 * called by any thread at any time.  *r is written only with CARET__DEC_OK, and may be an operand.
 */
#ifndef CARET_BASE_DECIMAL_H
#define CARET_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 caret__u128;

/* Significant digits that a mantissa can have: 10^38 < 2^127. */
#define CARET__DEC_DIGITS 38u

/* Bytes enough for the text of any number; the longest is -.000...: 1 + 1 + 42 + 38. */
#define CARET__DEC_MAX    96u

struct caret__dec {
    caret__u128 mantissa; /* below 10^38 */
    int32_t exp;
    bool negative; /* never of 0 */
};

struct caret__rules {
    unsigned digits; /* significant ones of a result, 1 to 38 */
    bool exact;      /* what does not fit is an error; else it is cut off toward zero */
};

#define CARET__EXACT38 ((struct caret__rules){CARET__DEC_DIGITS, true})
#define CARET__M18     ((struct caret__rules){18, false})

enum caret__dec_outcome {
    CARET__DEC_OK = 0,
    CARET__DEC_OVERFLOW,  /* 1E47 or above */
    CARET__DEC_UNDERFLOW, /* not 0 and below 1E-43; exact rules only */
    CARET__DEC_INEXACT,   /* more significant digits than the rules allow; exact rules only */
    CARET__DEC_DIVZERO,   /* division by 0, also 0 to a negative power */
    CARET__DEC_NEGFRACPWR /* a negative number to a power that is not whole */
};

/*
 * The longest beginning of s that is a number: signs (each - turns it around), digits,
 * a point, digits; then `E`, one sign and digits, which count only after a digit.  Nothing of
 * the kind is 0.  *used (may be NULL): its length, 0 if there is no digit.
 */
int caret__dec_parse(struct caret__rules rules, const char *s, size_t n, struct caret__dec *r, size_t *used);

struct caret__dec caret__dec_from_int(int64_t v);

/* Is it an integer of int64? */
bool caret__dec_to_int(struct caret__dec d, int64_t *out);

/*
 * The engine itself adds, and no more.  The other operations, powers and the comparison are kept for
 * front-ends that compute as M does; so far their tests alone call them.
 */

/*
 * a + b, a - b.  M cuts the smaller operand off at the last of the 18 places of
 * the larger one before it adds: 100000000000000000 - .5 is 100000000000000000.
 */
int caret__dec_add(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r);
int caret__dec_sub(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r);

/* a * b, a / b. */
int caret__dec_mul(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r);
int caret__dec_div(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r);

/* a \ b: the quotient without its fraction, -7 \ 2 is -3. */
int caret__dec_idiv(struct caret__rules rules, struct caret__dec a, struct caret__dec b,
                    struct caret__dec *r);

/*
 * a # b = a - b * floor(a / b): it has the sign of b, -7 # 3 is 2 and 7 # -3 is -2.  Under
 * M's rules each of the three steps is cut to 18 digits, so where the quotient has
 * more the result is M's and not the remainder: 1E20 # 3 is 1000.
 */
int caret__dec_mod(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r);

/*
 * a ** b; 0 ** 0 is 1.  Exact rules: b is whole, else INEXACT.  Otherwise the true value,
 * cut off, as long as rules.digits is at most 30 and b is below 1E6 or so; GT.M and YottaDB take
 * binary floating point here, so their last two or three of 18 digits can differ.
 */
int caret__dec_pow(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r);

/* -1, 0, 1: a is less than, equal to, greater than b.  Always exact. */
int caret__dec_compare(struct caret__dec a, struct caret__dec b);

/* Canonical text, at most CARET__DEC_MAX bytes, not terminated; returns its length, 0 if d is out of range. */
size_t caret__dec_format(struct caret__dec d, char *buf);

/*
 * The quick half of an addition: s is empty or a canonical integer, |s|, |by| and
 * the sum fit an int64, and 18 digits where the rules have no more.  False: take the long way.
 */
bool caret__add_small(struct caret__rules rules, const char *s, size_t n, int64_t by, int64_t *sum);

#endif
