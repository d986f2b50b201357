/*
 * number.c - canonical numbers, decimal sums, and doubles as text.
 *
 * A decimal is mantissa * 10^exp with at most 18 digits in the mantissa.  Its
 * order of magnitude is `digits + exp`: the value lies in
 *     [10^(magnitude - 1), 10^magnitude)
 * so 1E-43 has magnitude -42 and 1E47 has magnitude 48.
 *
 * Addition scales the operand with the larger exponent until both have the same
 * one.  128 bits hold 38 digits: an operand that would need more is so much larger
 * that the other one cannot change any of the 18 digits of the sum.
 */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "caret.h"

#define DIGITS_MAX    18
#define MAGNITUDE_MIN (-42)
#define MAGNITUDE_MAX 48 /* only 1E47 itself */

/* Exponents are cut here, far outside of the range. */
#define EXP_CLAMP     100000

/* Digits that the larger operand of a sum is scaled to at most: the sum stays below 10^38. */
#define SCALED_DIGITS 37

static const uint64_t pow10_u64[20] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

static const char pairs[200] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static uint64_t magnitude_of(int64_t v)
{
    return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* Decimal digits of u; 1 for 0. */
static unsigned count_digits(uint64_t u)
{
    /* 1233 / 4096 is log10(2) from above, near enough for 64 bits. */
    unsigned guess = (64 - (unsigned)__builtin_clzll(u | 1)) * 1233 >> 12;

    return guess + (u >= pow10_u64[guess] || guess == 0);
}

/* ---------------------------------------------------------------- canonical */

static size_t span_digits(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && is_digit(s[i]))
        i++;
    return i;
}

static bool canonical_integer(const char *s, size_t n)
{
    size_t kept = n;

    while (kept > 1 && s[kept - 1] == '0')
        kept--;
    if (kept > DIGITS_MAX)
        return false;
    return n < MAGNITUDE_MAX || (n == MAGNITUDE_MAX && kept == 1 && s[0] == '1');
}

static bool canonical_fraction(const char *s, size_t n, size_t whole)
{
    size_t zeros = 0;

    if (n == 0 || span_digits(s, n) != n || s[n - 1] == '0')
        return false;
    if (whole > 0)
        return whole + n <= DIGITS_MAX;
    while (s[zeros] == '0')
        zeros++;
    return zeros <= (size_t)-MAGNITUDE_MIN && n - zeros <= DIGITS_MAX;
}

bool caret__num_canonical(const char *s, size_t n)
{
    size_t whole;

    if (n == 0 || n >= CARET__NUM_MAX || (unsigned char)s[0] > '9')
        return false;
    if (s[0] == '0')
        return n == 1;
    if (s[0] == '-') {
        s++;
        n--;
        if (n == 0 || s[0] == '0')
            return false;
    }
    whole = span_digits(s, n);
    if (whole == n)
        return canonical_integer(s, n);
    if (s[whole] != '.')
        return false;
    return canonical_fraction(s + whole + 1, n - whole - 1, whole);
}

/* ------------------------------------------------------------------ decimal */

/* Digits while they are read: the first 18 significant ones are kept. */
struct reading {
    uint64_t mantissa;
    unsigned kept;
    int32_t exp;
    bool any, round_up; /* round_up: the first digit that was not kept is 5 or more */
    bool dropped;
};

static void read_digit(struct reading *r, char c, bool fraction)
{
    unsigned digit = (unsigned)(c - '0');

    r->any = true;
    if (r->kept == DIGITS_MAX) {
        if (!r->dropped)
            r->round_up = digit >= 5;
        r->dropped = true;
        r->exp += !fraction;
        return;
    }
    r->mantissa = r->mantissa * 10 + digit;
    r->kept += r->mantissa != 0;
    r->exp -= fraction;
}

/* The exponent behind s[0] == 'E', 0 if there is none. */
static int32_t read_exponent(const char *s, size_t n)
{
    size_t i = 1;
    bool negative = false;
    int32_t exp = 0;

    if (i < n && (s[i] == '+' || s[i] == '-'))
        negative = s[i++] == '-';
    for (; i < n && is_digit(s[i]); i++) {
        if (exp < EXP_CLAMP)
            exp = exp * 10 + (s[i] - '0');
    }
    return negative ? -exp : exp;
}

/* A value may have 16 MiB of zeros before its first digit, or behind. */
static int32_t clamp_exp(int64_t exp)
{
    if (exp > EXP_CLAMP)
        return EXP_CLAMP;
    return exp < -EXP_CLAMP ? -EXP_CLAMP : (int32_t)exp;
}

struct caret__dec caret__dec_parse(const char *s, size_t n)
{
    struct reading r = {0};
    struct caret__dec d = {0, 0};
    bool negative = false;
    size_t i = 0;

    for (; i < n && (s[i] == '+' || s[i] == '-'); i++)
        negative ^= s[i] == '-';
    for (; i < n && is_digit(s[i]); i++)
        read_digit(&r, s[i], false);
    if (i < n && s[i] == '.') {
        for (i++; i < n && is_digit(s[i]); i++)
            read_digit(&r, s[i], true);
    }
    r.mantissa += r.round_up;
    if (r.mantissa == 0)
        return d;
    if (r.mantissa == pow10_u64[DIGITS_MAX]) {
        r.mantissa /= 10;
        r.exp++;
    }
    d.mantissa = negative ? -(int64_t)r.mantissa : (int64_t)r.mantissa;
    d.exp = clamp_exp((int64_t)r.exp + (i < n && s[i] == 'E' ? read_exponent(s + i, n - i) : 0));
    return d;
}

int caret__dec_sign(struct caret__dec d)
{
    return (d.mantissa > 0) - (d.mantissa < 0);
}

/* -1 below the range (also 0), 0 within, 1 above. */
static int range_of(struct caret__dec d)
{
    uint64_t u = magnitude_of(d.mantissa);
    int digits = (int)count_digits(u), magnitude = digits + d.exp;

    if (u == 0 || magnitude < MAGNITUDE_MIN)
        return -1;
    if (magnitude < MAGNITUDE_MAX)
        return 0;
    return magnitude > MAGNITUDE_MAX || u != pow10_u64[digits - 1];
}

typedef unsigned __int128 wide;

static wide pow10_wide(unsigned k)
{
    return k < 20 ? pow10_u64[k] : (wide)pow10_u64[19] * pow10_u64[k - 19];
}

/* Round a sum of less than 10^38 to 18 digits, half away from zero. */
static struct caret__dec round_sum(wide sum, int32_t exp, bool negative)
{
    unsigned drop = 0;
    struct caret__dec d;

    while (sum >= pow10_wide(DIGITS_MAX + drop))
        drop++;
    if (drop > 0) {
        sum = (sum + pow10_wide(drop) / 2) / pow10_wide(drop);
        if (sum == pow10_u64[DIGITS_MAX]) {
            sum /= 10;
            drop++;
        }
    }
    d.mantissa = negative ? -(int64_t)sum : (int64_t)sum;
    d.exp = exp + (int32_t)drop;
    return d;
}

/* Both in range and not 0, a.exp >= b.exp. */
static struct caret__dec add_aligned(struct caret__dec a, struct caret__dec b)
{
    uint64_t au = magnitude_of(a.mantissa), bu = magnitude_of(b.mantissa);
    unsigned gap = (unsigned)(a.exp - b.exp);
    wide x;

    if (gap > SCALED_DIGITS - count_digits(au))
        return a; /* b is less than half of the 18th digit, also where a - b has one digit less */
    x = au * pow10_wide(gap);
    if ((a.mantissa < 0) == (b.mantissa < 0))
        return round_sum(x + bu, b.exp, a.mantissa < 0);
    return x >= bu ? round_sum(x - bu, b.exp, a.mantissa < 0) : round_sum(bu - x, b.exp, b.mantissa < 0);
}

int caret__dec_add(struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    const struct caret__dec zero = {0, 0};
    int a_range = range_of(a), b_range = range_of(b);
    struct caret__dec sum;

    if (a_range > 0 || b_range > 0)
        return CARET_E_NUMOFLOW;
    if (b_range < 0)
        sum = a_range < 0 ? zero : a;
    else if (a_range < 0)
        sum = b;
    else
        sum = a.exp >= b.exp ? add_aligned(a, b) : add_aligned(b, a);
    if (range_of(sum) > 0)
        return CARET_E_NUMOFLOW;
    *r = range_of(sum) < 0 ? zero : sum;
    return CARET_OK;
}

/* Plain digits of a decimal in range. */
static size_t format_plain(const char *digits, int n, int exp, char *out)
{
    char *p = out;
    int point = n + exp; /* digits before the point */

    if (exp >= 0) {
        memcpy(p, digits, (size_t)n);
        memset(p + n, '0', (size_t)exp);
        return (size_t)point;
    }
    if (point < 0) {
        *p++ = '.';
        memset(p, '0', (size_t)-point);
        p += -point;
        memcpy(p, digits, (size_t)n);
        return (size_t)(p + n - out);
    }
    memcpy(p, digits, (size_t)point);
    p[point] = '.';
    memcpy(p + point + 1, digits + point, (size_t)(n - point));
    return (size_t)n + 1;
}

static struct caret__dec strip_zeros(struct caret__dec d)
{
    while (d.mantissa != 0 && d.mantissa % 10 == 0) {
        d.mantissa /= 10;
        d.exp++;
    }
    return d;
}

size_t caret__dec_format(struct caret__dec d, char buf[CARET__NUM_MAX])
{
    char digits[20];
    size_t sign = d.mantissa < 0;

    if (range_of(d) > 0)
        return 0;
    if (range_of(d) < 0) {
        buf[0] = '0';
        return 1;
    }
    d = strip_zeros(d);
    buf[0] = '-';
    return sign + format_plain(digits, (int)caret__i64_format((int64_t)magnitude_of(d.mantissa), digits),
                               d.exp, buf + sign);
}

/* ----------------------------------------------------------------- integers */

size_t caret__i64_format(int64_t v, char *buf)
{
    uint64_t u = magnitude_of(v);
    size_t n = count_digits(u), sign = v < 0;
    char *p = buf + sign + n;

    buf[0] = '-';
    while (u >= 100) {
        p -= 2;
        memcpy(p, pairs + 2 * (u % 100), 2);
        u /= 100;
    }
    if (u >= 10)
        memcpy(p - 2, pairs + 2 * u, 2);
    else
        p[-1] = (char)('0' + u);
    return sign + n;
}

bool caret__i64_parse(const char *s, size_t n, int64_t *out)
{
    uint64_t u = 0;
    bool negative = n > 0 && s[0] == '-';

    s += negative;
    n -= negative;
    if (n == 0 || n > 19 || (s[0] == '0' && (n > 1 || negative)))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s[i]))
            return false;
        u = u * 10 + (uint64_t)(s[i] - '0'); /* 19 digits fit */
    }
    if (u > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? -u : u);
    return true;
}

bool caret__add_small(const char *s, size_t n, int64_t by, char buf[CARET__NUM_MAX], size_t *len,
                      int64_t *sum)
{
    const int64_t limit = (int64_t)pow10_u64[17];
    int64_t v = 0;

    if (n > 0 && !caret__i64_parse(s, n, &v))
        return false;
    if (v <= -limit || v >= limit || by <= -limit || by >= limit)
        return false;
    *sum = v + by;
    *len = caret__i64_format(*sum, buf);
    return true;
}

/* ------------------------------------------------------------------ doubles */

/* v = m / 10^k with few digits, as most fractions that people write are. */
static bool short_fraction(double v, struct caret__dec *d)
{
    static const double pow10_double[] = {1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

    for (int k = 0; k < 8; k++) {
        double t = v * pow10_double[k];
        int64_t m;

        if (fabs(t) >= 1e15)
            return false;
        m = (int64_t)t;
        /* Both are exact, so their quotient is the double nearest to the decimal. */
        if (m != 0 && (double)m == t && t / pow10_double[k] == v) {
            d->mantissa = m;
            d->exp = -(k + 1);
            return true;
        }
    }
    return false;
}

static bool reads_back(uint64_t mantissa, int exp, double v)
{
    char text[40];

    /* No point in it, so the locale has no say. */
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)mantissa, exp);
    return strtod(text, NULL) == v;
}

/* v > 0 rounded to `digits` significant digits; whatever the locale's point is, it is no digit. */
static uint64_t round_digits(double v, int digits, int *exp)
{
    char text[64];
    uint64_t mantissa = 0;
    const char *p = text;

    snprintf(text, sizeof text, "%.*e", digits - 1, v);
    for (; *p != '\0' && *p != 'e'; p++) {
        if (is_digit(*p))
            mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    }
    *exp = (*p == 'e' ? atoi(p + 1) : 0) - (digits - 1);
    return mantissa;
}

/*
 * The shortest decimal that reads back as v > 0.  The nearest one of that many
 * digits is tried first; at a power of 2, where the doubles below lie twice as
 * close, the one above it can do where the nearest does not.
 */
static struct caret__dec shortest(double v)
{
    struct caret__dec d = {0, 0};
    int binary, exp;

    /* 15 digits survive in any normal double, so nothing shorter can be missed there. */
    for (int digits = v < 0x1p-1022 ? 1 : 15; digits <= 17; digits++) {
        uint64_t m = round_digits(v, digits, &exp);

        if (digits < 17 && !reads_back(m, exp, v)) {
            if (frexp(v, &binary) != 0.5 || !reads_back(m + 1, exp, v))
                continue;
            m++;
        }
        d.mantissa = (int64_t)m;
        d.exp = exp;
        break;
    }
    return strip_zeros(d);
}

/* 1.5E300 */
static size_t format_exponent(struct caret__dec d, char *buf)
{
    char *p = buf;
    size_t n;

    if (d.mantissa < 0)
        *p++ = '-';
    n = caret__i64_format((int64_t)magnitude_of(d.mantissa), p + 1);
    p[0] = p[1];
    p[1] = '.';
    p += n > 1 ? n + 1 : 1;
    *p++ = 'E';
    p += caret__i64_format(d.exp + (int64_t)n - 1, p);
    return (size_t)(p - buf);
}

size_t caret__double_format(double v, char buf[CARET__NUM_MAX])
{
    struct caret__dec d;

    if (!isfinite(v))
        return 0;
    if (v >= -0x1p63 && v < 0x1p63 && (double)(int64_t)v == v)
        return caret__i64_format((int64_t)v, buf);
    if (!short_fraction(v, &d)) {
        d = shortest(fabs(v));
        if (v < 0)
            d.mantissa = -d.mantissa;
    }
    return range_of(d) == 0 ? caret__dec_format(d, buf) : format_exponent(d, buf);
}
