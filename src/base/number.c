/*
 * number.c - canonical numbers, integers and doubles as text.  Arithmetic is in decimal.c.
 */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/decimal.h"

#define DIGITS_MAX    18
#define MAGNITUDE_MIN (-42)
#define MAGNITUDE_MAX 47

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
    return n <= MAGNITUDE_MAX;
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

/* ----------------------------------------------------------------- integers */

#define EIGHT UINT64_C(100000000)

/* Write a number below 10^8 with eight digits: halves, pairs, digits, each split in all of a word's parts at once.  The
 * first digit is the lowest byte. */
static inline void put_eight(char *p, uint32_t u)
{
    uint64_t halves = u / 10000 | (uint64_t)(u % 10000) << 32;
    uint64_t above = (halves * 10486 >> 20) & UINT64_C(0x7f0000007f); /* hundredths, of up to 9,999 */
    uint64_t two = above | (halves - 100 * above) << 16;
    uint64_t tens = (two * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    uint64_t text = (tens | (two - 10 * tens) << 8) + UINT64_C(0x3030303030303030);

    memcpy(p, &text, 8);
}

/* The other way; false: not all of the eight are digits. */
static inline bool take_eight(const char *s, uint64_t *u)
{
    uint64_t text;

    memcpy(&text, s, 8);
    if (((text + UINT64_C(0x4646464646464646)) | (text - UINT64_C(0x3030303030303030))) &
        UINT64_C(0x8080808080808080))
        return false;
    text = (text & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;                      /* 10 * first + second */
    text = (text & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;                  /* 100 * ... */
    text = (text & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32; /* 10,000 * ... */
    *u = text;
    return true;
}

size_t caret__i64_format(int64_t v, char *buf)
{
    uint64_t u = magnitude_of(v);
    size_t n = count_digits(u), sign = v < 0;
    char *p = buf + sign + n;

    buf[0] = '-';
    while (u >= EIGHT) {
        p -= 8;
        put_eight(p, (uint32_t)(u % EIGHT));
        u /= EIGHT;
    }
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

bool caret__digits_add(const char *old, size_t n, unsigned by, char *out)
{
    caret__copy_short(out, old, n);
    for (size_t i = n; by != 0 && i-- > 0;) {
        unsigned digit = (unsigned)(old[i] - '0') + by;
        by = digit >= 10;
        out[i] = (char)('0' + digit - 10 * by);
    }
    return by == 0;
}

bool caret__i64_parse(const char *s, size_t n, int64_t *out)
{
    uint64_t u = 0;
    bool negative = n > 0 && s[0] == '-';

    s += negative;
    n -= negative;
    if (n == 0 || n > 19 || (s[0] == '0' && (n > 1 || negative)))
        return false;
    size_t i = 0;
    for (uint64_t eight; i + 8 <= n; i += 8) {
        if (!take_eight(s + i, &eight))
            return false;
        u = u * EIGHT + eight;
    }
    for (; i < n; i++) {
        unsigned digit = (unsigned char)(s[i] - '0');
        if (digit > 9)
            return false;
        u = u * 10 + digit; /* 19 digits fit */
    }
    if (u > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? -u : u);
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
            *d = caret__dec_from_int(m);
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

/* v > 0 rounded to `digits` significant digits; whatever the locale's point is, it is not a digit. */
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
    struct caret__dec d = {0, 0, false};
    int binary, exp;

    /* 15 digits survive in any normal double, so nothing shorter can be missed there. */
    for (int digits = v < 0x1p-1022 ? 1 : 15; digits <= 17; digits++) {
        uint64_t m = round_digits(v, digits, &exp);

        if (digits < 17 && !reads_back(m, exp, v)) {
            if (frexp(v, &binary) != 0.5 || !reads_back(m + 1, exp, v))
                continue;
            m++;
        }
        for (; m % 10 == 0; exp++)
            m /= 10;
        d.mantissa = m;
        d.exp = exp;
        break;
    }
    return d;
}

/* 1.5E300 */
static size_t format_exponent(struct caret__dec d, char *buf)
{
    char *p = buf;
    size_t n;

    if (d.negative)
        *p++ = '-';
    n = caret__i64_format((int64_t)d.mantissa, p + 1);
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
    size_t n;

    if (!isfinite(v))
        return 0;
    if (v >= -0x1p63 && v < 0x1p63 && (double)(int64_t)v == v)
        return caret__i64_format((int64_t)v, buf);
    if (!short_fraction(v, &d)) {
        d = shortest(fabs(v));
        d.negative = v < 0;
    }
    n = caret__dec_format(d, buf);
    return n != 0 ? n : format_exponent(d, buf);
}
