/*
 * decimal_parts.h - what the decimal_*.c files have in common: powers of ten, and the only place that knows about
 * digits and range.
 *
 * Each operation computes an integer and an exponent and hands them to caret__dec_fit().
 */
#ifndef CARET_BASE_DECIMAL_PARTS_H
#define CARET_BASE_DECIMAL_PARTS_H

#include "base/decimal.h"

/* Magnitudes of the range. */
#define CARET__DEC_LOWEST  (-42)
#define CARET__DEC_HIGHEST 47

#define CARET__E19         ((caret__u128)UINT64_C(10000000000000000000))

/* 10^18: two of them are added, and one is divided, in 64 bits.  Rules with fewer digits go the long way. */
#define CARET__DEC_SMALL   UINT64_C(1000000000000000000)

/* 10^0 to 10^38; the last of them is modulo 2^128. */
extern const caret__u128 caret__tens[40];

/* Decimal digits; 0 for 0. */
static inline unsigned caret__digits(caret__u128 u)
{
    uint64_t high = (uint64_t)(u >> 64), low = (uint64_t)u;
    unsigned bits =
        high != 0 ? 128 - (unsigned)__builtin_clzll(high) : 64 - (unsigned)__builtin_clzll(low | 1);
    unsigned guess = bits * 1233 >> 12; /* 1233 / 4096 is log10(2) from below, near enough for 128 bits */

    return guess + (u >= caret__tens[guess]);
}

/* Two digits of base 2^128. */
struct caret__wide {
    caret__u128 high, low;
};

/* What was computed, before it is made to fit. */
struct caret__raw {
    struct caret__wide m; /* below 10^76 */
    int32_t exp;
    bool negative;
    bool more; /* the true value goes on after the digits of m */
};

/* The same as caret__dec_fit() for what is not in range or has too many digits; or is 0. */
int caret__dec_fit_slow(struct caret__rules rules, struct caret__raw x, struct caret__dec *r);

/* Below 10^18, and in range whatever its digits are? */
static inline bool caret__dec_small(caret__u128 m, int exp)
{
    return m - 1 < CARET__DEC_SMALL - 1 && exp >= CARET__DEC_LOWEST && exp <= CARET__DEC_HIGHEST - 18;
}

/* What was computed as a number, by these rules. */
static inline int caret__dec_fit(struct caret__rules rules, struct caret__raw x, struct caret__dec *r)
{
    if (x.m.high != 0 || !caret__dec_small(x.m.low, x.exp) || x.more || rules.digits < 18)
        return caret__dec_fit_slow(rules, x, r);
    *r = (struct caret__dec){x.m.low, x.exp, x.negative};
    return CARET__DEC_OK;
}

#endif
