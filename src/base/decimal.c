/*
 * decimal.c - decimal arithmetic by 128-bit integers.
 *
 * The order of magnitude of a number is digits + exp: it lies in
 *     [10^(magnitude - 1), 10^magnitude)
 * so 1E-43 has magnitude -42 and what is just below 1E47 has magnitude 47.
 *
 * A mantissa has at most 38 digits, a product or a dividend 76: both halves of a
 * `struct caret__wide`.  Its division is Knuth's algorithm D (TAOCP 2, 4.3.1) for two digits
 * of base 2^64, as in Warren, Hacker's Delight, divlu.  Where all fits 128 bits, which
 * is the rule, none of this is needed.
 *
 * Each operation computes an integer and an exponent and hands them to caret__dec_fit(), which with what it
 * needs is the only place that knows about digits and range (decimal_parts.h).  Text: decimal_text.c.
 *
 * Powers are taken in 38 digits, cut off: whole ones by squaring; the fraction of the exponent by its
 * binary digits, for each of which another square root is taken of the base.
 */
#include "base/decimal.h"

#include <limits.h>
#include <math.h>

#include "base/bytes.h"
#include "base/decimal_parts.h"
#include "base/number.h"

typedef caret__u128 u128;

#define U(x) ((u128)UINT64_C(x))

#define TENS(m)                                                                                              \
    (m), (m)*U(10), (m)*U(100), (m)*U(1000), (m)*U(10000), (m)*U(100000), (m)*U(1000000), (m)*U(10000000),   \
        (m)*U(100000000), (m)*U(1000000000)

const u128 caret__tens[40] = {TENS(U(1)), TENS(U(10000000000)), TENS(CARET__E19 *U(10)),
                              TENS(CARET__E19 *U(100000000000))};

static const struct caret__dec zero = {0, 0, false}, one = {1, 0, false};

static int magnitude(struct caret__dec d)
{
    return (int)caret__digits(d.mantissa) + d.exp;
}

/* ------------------------------------------------------------------ 256 bits */

static struct caret__wide multiply(u128 a, u128 b)
{
    uint64_t a1 = (uint64_t)(a >> 64), a0 = (uint64_t)a, b1 = (uint64_t)(b >> 64), b0 = (uint64_t)b;
    u128 low = (u128)a0 * b0;

    if ((a1 | b1) == 0)
        return (struct caret__wide){0, low};
    u128 x = (u128)a1 * b0 + (uint64_t)(low >> 64);
    u128 y = (u128)a0 * b1 + (uint64_t)x;
    return (struct caret__wide){(u128)a1 * b1 + (uint64_t)(x >> 64) + (uint64_t)(y >> 64),
                                y << 64 | (uint64_t)low};
}

static bool less(struct caret__wide a, struct caret__wide b)
{
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* Knuth's step D3 and D4: one digit of the quotient; *u is the remainder before and after it. */
static uint64_t quotient_digit(u128 *u, uint64_t next, u128 d)
{
    uint64_t d1 = (uint64_t)(d >> 64), d0 = (uint64_t)d;
    u128 q = *u / d1, rest = *u % d1;

    while (q >> 64 != 0 || q * d0 > (rest << 64 | next)) {
        q--;
        rest += d1;
        if (rest >> 64 != 0)
            break;
    }
    *u = (*u << 64 | next) - q * d; /* modulo 2^128: it is below d */
    return (uint64_t)q;
}

/* u / d, which must be below 2^128: u.high < d. */
static u128 divide(struct caret__wide u, u128 d, u128 *rest)
{
    CARET__ASSERT(u.high < d);
    if (u.high == 0) {
        u128 q = (u.low | d) >> 64 == 0 ? (uint64_t)u.low / (uint64_t)d : u.low / d;
        *rest = u.low - q * d;
        return q;
    }
    unsigned shift = d >> 64 != 0 ? (unsigned)__builtin_clzll((uint64_t)(d >> 64))
                                  : 64 + (unsigned)__builtin_clzll((uint64_t)d);
    d <<= shift; /* D1: the highest bit is set */
    if (shift != 0)
        u = (struct caret__wide){u.high << shift | u.low >> (128 - shift), u.low << shift};
    uint64_t q1 = quotient_digit(&u.high, (uint64_t)(u.low >> 64), d);
    uint64_t q0 = quotient_digit(&u.high, (uint64_t)u.low, d);
    *rest = u.high >> shift;
    return (u128)q1 << 64 | q0;
}

/* m * 10^k, which must have at most 76 digits. */
static struct caret__wide scale(u128 m, unsigned k)
{
    CARET__ASSERT(caret__digits(m) + k <= 2 * CARET__DEC_DIGITS);
    if (k <= CARET__DEC_DIGITS)
        return multiply(m, caret__tens[k]);
    return multiply(m * caret__tens[k - CARET__DEC_DIGITS], caret__tens[CARET__DEC_DIGITS]);
}

/* Digits of what is below 10^76. */
static unsigned count_wide(struct caret__wide m)
{
    u128 rest;

    if (m.high == 0)
        return caret__digits(m.low);
    return CARET__DEC_DIGITS + caret__digits(divide(m, caret__tens[CARET__DEC_DIGITS], &rest));
}

/* ------------------------------------------------------------ digits and range */

static struct caret__raw raw_of(struct caret__dec d)
{
    return (struct caret__raw){{0, d.mantissa}, d.exp, d.negative, false};
}

/* Cut off all but the first `digits` of `have`. */
static void cut(struct caret__raw *x, unsigned have, unsigned digits)
{
    while (have > digits) {
        unsigned drop = have - digits < CARET__DEC_DIGITS ? have - digits : CARET__DEC_DIGITS;
        u128 rest;
        x->m = (struct caret__wide){0, divide(x->m, caret__tens[drop], &rest)};
        x->exp += (int32_t)drop;
        x->more |= rest != 0;
        have -= drop;
    }
}

int caret__dec_fit_slow(struct caret__rules rules, struct caret__raw x, struct caret__dec *r)
{
    unsigned have = count_wide(x.m);
    int size = (int)have + x.exp;

    if (size > CARET__DEC_HIGHEST && have != 0)
        return CARET__DEC_OVERFLOW;
    if (size < CARET__DEC_LOWEST && have != 0 && rules.exact)
        return CARET__DEC_UNDERFLOW;
    if (size < CARET__DEC_LOWEST || have == 0) {
        *r = zero;
        return CARET__DEC_OK;
    }
    cut(&x, have, rules.digits);
    if (x.more && rules.exact)
        return CARET__DEC_INEXACT;
    *r = (struct caret__dec){x.m.low, x.exp, x.negative};
    return CARET__DEC_OK;
}

/* Two numbers in the same unit below 10^18, which most are: nothing of them is cut off, nor of their sum, but
 * by a carry. */
static inline bool both_small(struct caret__rules rules, const struct caret__dec *a,
                              const struct caret__dec *b)
{
    return a->exp == b->exp && caret__dec_small(a->mantissa, a->exp) &&
           caret__dec_small(b->mantissa, b->exp) && rules.digits >= 18;
}

/* ------------------------------------------------------------------- integers */

struct caret__dec caret__dec_from_int(int64_t v)
{
    return (struct caret__dec){v < 0 ? -(uint64_t)v : (uint64_t)v, 0, v < 0};
}

bool caret__dec_to_int(struct caret__dec d, int64_t *out)
{
    const uint64_t most = (uint64_t)INT64_MAX + d.negative;

    for (; d.mantissa != 0 && d.exp < 0 && d.mantissa % 10 == 0; d.exp++)
        d.mantissa /= 10;
    if (d.mantissa != 0 && (d.exp < 0 || magnitude(d) > 19))
        return false;
    u128 m = d.mantissa != 0 ? d.mantissa * caret__tens[d.exp] : 0;
    if (m > most)
        return false;
    *out = (int64_t)(d.negative ? -(uint64_t)m : (uint64_t)m);
    return true;
}

bool caret__add_small(struct caret__rules rules, const char *s, size_t n, int64_t by, int64_t *sum)
{
    int64_t v = 0, most = rules.digits >= 19 ? INT64_MAX : (int64_t)caret__tens[rules.digits] - 1, total;

    if (n > 0 && !caret__i64_parse(s, n, &v))
        return false;
    if (__builtin_add_overflow(v, by, &total))
        return false;
    if (rules.digits < 19 &&
        (v > most || v < -most || by > most || by < -most || total > most || total < -most))
        return false;
    *sum = total;
    return true;
}

/* ------------------------------------------------------------------------ sums */

/* M: cut what is smaller off at the last place of the other. */
static void cut_smaller(unsigned digits, struct caret__dec *a, struct caret__dec *b)
{
    if (magnitude(*a) < magnitude(*b)) {
        struct caret__dec *c = a;
        a = b;
        b = c;
    }
    int place = magnitude(*a) - (int)digits, drop = place - b->exp;
    if (drop <= 0)
        return;
    b->mantissa = drop > (int)CARET__DEC_DIGITS ? 0 : b->mantissa / caret__tens[drop];
    b->exp = place;
}

/* Of two with a.exp >= b.exp that are not 0. */
static int add_aligned(struct caret__rules rules, struct caret__dec a, struct caret__dec b,
                       struct caret__dec *r)
{
    unsigned gap = (unsigned)(a.exp - b.exp);
    bool negative = a.negative;

    if (caret__digits(a.mantissa) + gap > 2 * CARET__DEC_DIGITS)
        return CARET__DEC_INEXACT; /* over 38 digits lie between the first of a and the last of b */
    struct caret__wide x = scale(a.mantissa, gap);
    if (a.negative == b.negative) {
        x.low += b.mantissa;
        x.high += x.low < b.mantissa;
    } else if (x.high == 0 && x.low < b.mantissa) {
        x.low = b.mantissa - x.low;
        negative = b.negative;
    } else {
        x.high -= x.low < b.mantissa;
        x.low -= b.mantissa;
    }
    return caret__dec_fit(rules, (struct caret__raw){x, b.exp, negative, false}, r);
}

/* Give both the lower exponent if they stay below 10^18: M cuts nothing off then either. */
static inline bool align_small(struct caret__rules rules, struct caret__dec *a, struct caret__dec *b)
{
    struct caret__dec *high = a->exp > b->exp ? a : b, *low = a->exp > b->exp ? b : a;
    int gap = high->exp - low->exp;

    if (gap != 0 && (gap >= 18 || high->mantissa >= CARET__DEC_SMALL ||
                     !caret__dec_small(high->mantissa * caret__tens[gap], low->exp)))
        return false;
    high->mantissa *= caret__tens[gap];
    high->exp = low->exp;
    return both_small(rules, a, b);
}

static inline int add_small(struct caret__rules rules, const struct caret__dec *a, const struct caret__dec *b,
                            struct caret__dec *r)
{
    uint64_t u = (uint64_t)a->mantissa, v = (uint64_t)b->mantissa;
    bool same = a->negative == b->negative;
    uint64_t m = same ? u + v : u > v ? u - v : v - u;

    return caret__dec_fit(
        rules, (struct caret__raw){{0, m}, a->exp, same || u > v ? a->negative : b->negative, false}, r);
}

int caret__dec_add(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    if (align_small(rules, &a, &b))
        return add_small(rules, &a, &b, r);
    if (!rules.exact && a.mantissa != 0 && b.mantissa != 0)
        cut_smaller(rules.digits, &a, &b);
    if (a.mantissa == 0 || b.mantissa == 0)
        return caret__dec_fit(rules, raw_of(a.mantissa == 0 ? b : a), r);
    return a.exp >= b.exp ? add_aligned(rules, a, b, r) : add_aligned(rules, b, a, r);
}

static struct caret__dec negated(struct caret__dec d)
{
    d.negative = d.mantissa != 0 && !d.negative;
    return d;
}

int caret__dec_sub(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    return caret__dec_add(rules, a, negated(b), r);
}

/* Of two that are not 0: -1, 0, 1. */
static int compare_magnitudes(struct caret__dec a, struct caret__dec b)
{
    int size_a = magnitude(a), size_b = magnitude(b);

    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    if (a.exp > b.exp)
        a.mantissa *= caret__tens[a.exp - b.exp];
    else
        b.mantissa *= caret__tens[b.exp - a.exp];
    return (a.mantissa > b.mantissa) - (a.mantissa < b.mantissa);
}

int caret__dec_compare(struct caret__dec a, struct caret__dec b)
{
    int sign_a = a.mantissa == 0 ? 0
                 : a.negative    ? -1
                                 : 1,
        sign_b = b.mantissa == 0 ? 0
                 : b.negative    ? -1
                                 : 1;

    if (sign_a != sign_b || sign_a == 0)
        return (sign_a > sign_b) - (sign_a < sign_b);
    return sign_a * compare_magnitudes(a, b);
}

/* -------------------------------------------------------- products, quotients */

static struct caret__raw product(struct caret__dec a, struct caret__dec b)
{
    return (struct caret__raw){multiply(a.mantissa, b.mantissa), a.exp + b.exp, a.negative != b.negative,
                               false};
}

int caret__dec_mul(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    return caret__dec_fit(rules, product(a, b), r);
}

/* Digits before the point of the quotient of two mantissas; 0 or less: zeros after it. */
static int quotient_size(u128 a, u128 b)
{
    int size_a = (int)caret__digits(a), size_b = (int)caret__digits(b);
    int at_least =
        size_a >= size_b ? a >= b * caret__tens[size_a - size_b] : a * caret__tens[size_b - size_a] >= b;

    return size_a - size_b + at_least;
}

/* All digits that follow, for quotient(). */
#define ALL UINT_MAX

/* The first `digits` digits of a / b, neither of which is 0; more: one of the next `beyond` is not 0. */
static struct caret__raw quotient(struct caret__dec a, struct caret__dec b, unsigned digits, unsigned beyond)
{
    int k = (int)digits - quotient_size(a.mantissa, b.mantissa);
    struct caret__wide dividend = scale(a.mantissa, k > 0 ? (unsigned)k : 0);
    u128 divisor = k < 0 ? b.mantissa * caret__tens[-k] : b.mantissa, rest,
         q = divide(dividend, divisor, &rest);
    bool more = rest != 0 && (beyond > CARET__DEC_DIGITS ||
                              !less(multiply(rest, caret__tens[beyond]), (struct caret__wide){0, divisor}));

    return (struct caret__raw){{0, q}, a.exp - b.exp - k, a.negative != b.negative, more};
}

int caret__dec_div(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    if (b.mantissa == 0)
        return CARET__DEC_DIVZERO;
    if (a.mantissa == 0) {
        *r = zero;
        return CARET__DEC_OK;
    }
    if (both_small(rules, &a, &b) && (uint64_t)a.mantissa % (uint64_t)b.mantissa == 0) {
        *r = (struct caret__dec){(uint64_t)a.mantissa / (uint64_t)b.mantissa, 0, a.negative != b.negative};
        return CARET__DEC_OK;
    }
    return caret__dec_fit(rules, quotient(a, b, rules.digits, ALL), r);
}

int caret__dec_idiv(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    if (b.mantissa == 0)
        return CARET__DEC_DIVZERO;
    if (both_small(rules, &a, &b) && a.mantissa >= b.mantissa) {
        *r = (struct caret__dec){(uint64_t)a.mantissa / (uint64_t)b.mantissa, 0, a.negative != b.negative};
        return CARET__DEC_OK;
    }
    int size = a.mantissa == 0 ? 0 : quotient_size(a.mantissa, b.mantissa) + a.exp - b.exp;
    if (size <= 0) {
        *r = zero;
        return CARET__DEC_OK;
    }
    unsigned digits = size <= (int)rules.digits ? (unsigned)size : rules.digits;
    return caret__dec_fit(rules, quotient(a, b, digits, (unsigned)size - digits), r);
}

/* ---------------------------------------------------------------------- modulo */

/* The integer next below d, which has digits after the point. */
static struct caret__dec floor_of(struct caret__dec d)
{
    if (d.exp >= 0)
        return d;
    u128 unit = -d.exp > (int)CARET__DEC_DIGITS ? 0 : caret__tens[-d.exp];
    u128 whole = unit != 0 ? d.mantissa / unit : 0;
    bool fraction = d.mantissa != whole * unit || (unit == 0 && d.mantissa != 0);

    whole += fraction && d.negative;
    return (struct caret__dec){whole, 0, d.negative && whole != 0};
}

static int mod_by_steps(struct caret__rules rules, struct caret__dec a, struct caret__dec b,
                        struct caret__dec *r)
{
    struct caret__dec q;
    int rc = caret__dec_div(rules, a, b, &q);

    if (rc == CARET__DEC_OK)
        rc = caret__dec_mul(rules, floor_of(q), b, &q);
    return rc == CARET__DEC_OK ? caret__dec_sub(rules, a, q, r) : rc;
}

/* What is left of |a| by |b|, with the sign of a. */
static struct caret__dec remainder_of(struct caret__dec a, struct caret__dec b)
{
    u128 m = a.mantissa, d = b.mantissa;
    int exp = a.exp;

    if (a.exp == b.exp && (m | d) >> 64 == 0) {
        m = (uint64_t)m % (uint64_t)d;
        return (struct caret__dec){m, m != 0 ? exp : 0, a.negative && m != 0};
    }
    if (a.mantissa == 0 || compare_magnitudes(a, b) < 0)
        return a;
    if (a.exp < b.exp)
        d *= caret__tens[b.exp - a.exp]; /* not above |a| */
    for (m %= d; m != 0 && exp > b.exp;) {
        int k = exp - b.exp < (int)CARET__DEC_DIGITS ? exp - b.exp : (int)CARET__DEC_DIGITS;
        divide(multiply(m, caret__tens[k]), d, &m);
        exp -= k;
    }
    return (struct caret__dec){m, m != 0 ? exp : 0, a.negative && m != 0};
}

/*
 * Is what M's three steps give the true remainder?  It is for one sign and a dividend of 18 digits, as the integer
 * part of the quotient has no more; for two signs M must see the quotient's fraction, which below 10^9 is not under
 * 10^-9, the last of its 18 digits.
 */
static bool no_step_cuts(struct caret__rules rules, const struct caret__dec *a, const struct caret__dec *b)
{
    return both_small(rules, a, b) &&
           (a->negative == b->negative || (a->mantissa < caret__tens[9] && b->mantissa < caret__tens[9]));
}

int caret__dec_mod(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    if (b.mantissa == 0)
        return CARET__DEC_DIVZERO;
    if (!rules.exact && !no_step_cuts(rules, &a, &b))
        return mod_by_steps(rules, a, b, r);
    a = remainder_of(a, b);
    if (a.mantissa != 0 && a.negative != b.negative)
        return caret__dec_add(rules, a, b, r);
    return caret__dec_fit(rules, raw_of(a), r);
}

/* ---------------------------------------------------------------------- powers */

/* Powers of which the exponent is that far out are out of range for good. */
#define FAR 1000

/* 38 digits of it, whatever its range; *more notes what was lost. */
static struct caret__dec keep(struct caret__raw x, bool *more)
{
    cut(&x, count_wide(x.m), CARET__DEC_DIGITS);
    *more |= x.more;
    return (struct caret__dec){x.m.low, x.exp, x.negative};
}

/* x^n from the highest bit of n on; stops where the power is far out of range. */
static struct caret__dec whole_power(struct caret__dec x, u128 n, bool *more)
{
    struct caret__dec r = one;

    for (int bit = 127; bit >= 0; bit--) {
        r = keep(product(r, r), more);
        if (n >> bit & 1)
            r = keep(product(r, x), more);
        if (magnitude(r) > FAR || magnitude(r) < -FAR)
            break;
    }
    return r;
}

/* The square root of what has 75 or 76 digits, cut off: Newton's, from the one of binary floating point. */
static u128 integer_root(struct caret__wide n)
{
    u128 rest, x = (u128)sqrt((double)n.high * 0x1p128 + (double)n.low);

    for (int i = 0; i < 3; i++)
        x = (x + divide(n, x, &rest)) / 2;
    while (less(n, multiply(x, x)))
        x--;
    while (!less(n, multiply(x + 1, x + 1)))
        x++;
    return x;
}

static struct caret__dec root(struct caret__dec d)
{
    unsigned k = 2 * CARET__DEC_DIGITS - caret__digits(d.mantissa);

    k -= (unsigned)(d.exp - (int)k) & 1;
    return (struct caret__dec){integer_root(scale(d.mantissa, k)), (d.exp - (int)k) / 2, false};
}

/* x^(f / 10^places), f < 10^places: by the binary digits of that fraction, rounded to 34 digits, so that
 * what is exact comes out so. */
static struct caret__dec fraction_power(struct caret__dec x, u128 f, unsigned places)
{
    struct caret__dec r = one;
    bool more = false;

    for (int i = 0; i < 128 && f != 0; i++) {
        f *= 2;
        x = root(x);
        if (f < caret__tens[places])
            continue;
        f -= caret__tens[places];
        r = keep(product(r, x), &more);
    }
    return r;
}

static struct caret__dec rounded(struct caret__dec d)
{
    unsigned have = caret__digits(d.mantissa), drop = have > 34 ? have - 34 : 0;

    if (drop > 0)
        d = (struct caret__dec){(d.mantissa + caret__tens[drop] / 2) / caret__tens[drop], d.exp + (int)drop,
                                d.negative};
    return d;
}

/* b as whole + fraction / 10^places, without its sign.  What is beyond 38 digits makes no difference. */
struct exponent {
    u128 whole, fraction;
    unsigned places;
};

static struct exponent split(struct caret__dec b)
{
    struct exponent e = {0};
    int size = magnitude(b);

    if (b.exp >= 0) {
        e.whole =
            size <= (int)CARET__DEC_DIGITS ? b.mantissa * caret__tens[b.exp] : caret__tens[CARET__DEC_DIGITS];
        return e;
    }
    for (; b.exp < -(int)CARET__DEC_DIGITS + 1; b.exp++)
        b.mantissa /= 10;
    e.places = (unsigned)-b.exp;
    e.whole = b.mantissa / caret__tens[e.places];
    e.fraction = b.mantissa % caret__tens[e.places];
    return e;
}

static int power(struct caret__rules rules, struct caret__dec a, struct exponent e, bool inverse,
                 struct caret__dec *r)
{
    bool more = false;

    if (inverse && rules.exact) { /* 5 ** -55 has fewer digits than 5 ** 55 */
        a = keep(quotient(one, a, CARET__DEC_DIGITS, ALL), &more);
        inverse = false;
    }
    struct caret__dec p = whole_power(a, e.whole, &more);

    if (e.fraction != 0)
        p = rounded(keep(product(p, fraction_power(a, e.fraction, e.places)), &more));
    struct caret__raw x = inverse ? quotient(one, p, CARET__DEC_DIGITS, ALL) : raw_of(p);
    if (inverse && e.fraction != 0)
        x = raw_of(rounded(keep(x, &more)));
    x.more |= more;
    return caret__dec_fit(rules, x, r);
}

int caret__dec_pow(struct caret__rules rules, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    struct exponent e = split(b);

    CARET__ASSERT(rules.exact || rules.digits <= 30);
    if (a.mantissa == 0 && b.negative)
        return CARET__DEC_DIVZERO;
    if (a.mantissa == 0 || b.mantissa == 0) {
        *r = b.mantissa == 0 ? one : zero;
        return CARET__DEC_OK;
    }
    if (a.negative && e.fraction != 0)
        return CARET__DEC_NEGFRACPWR;
    if (rules.exact && e.fraction != 0)
        return CARET__DEC_INEXACT;
    return power(rules, a, e, b.negative, r);
}
