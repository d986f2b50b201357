/*
 * number.c - M's numbers for the runtime: from pairs of double and text to the engine's decimals, and back.
 *
 * A power with a whole exponent is taken by squaring, each product cut off at 18 digits; a negative one begins with
 * the inverse.  Any other power is a double's, read and written as two halves of nine digits, as M systems do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "m/number.h"
#include "mumps/values/quick.h"
#include "mumps/values/values.h"

#define LIMIT 9007199254740992.0

static int trouble(int outcome)
{
    switch (outcome) {
    case CARET__DEC_OK: return 0;
    case CARET__DEC_DIVZERO: return CARET_MUMPS__DIVZERO;
    case CARET__DEC_NEGFRACPWR: return CARET_MUMPS__NEGFRACPWR;
    default: return CARET_MUMPS__NUMOFLOW;
    }
}

static int parse(double x, const char *s, size_t n, struct caret__dec *d)
{
    if (s != NULL)
        return caret__dec_parse(CARET_M__RULES, s, n, d, NULL);
    struct quick q = caret_mumps__short(x);
    *d = caret__dec_from_int(q.m);
    d->exp = -q.places;
    return CARET__DEC_OK;
}

static bool whole(struct caret__dec d, double *value)
{
    int64_t v;

    if (!caret__dec_to_int(d, &v) || (double)v >= LIMIT || (double)v <= -LIMIT)
        return false;
    *value = (double)v;
    return true;
}

static int give(struct caret__dec d, caret_mumps__number *out)
{
    return whole(d, &out->value) ? 0 : (int)caret__dec_format(d, out->text);
}

/* Up to 15 digits, nothing else: by far the most. */
static bool short_integer(const char *s, size_t n, double *value)
{
    int64_t v = 0;
    size_t i = n > 0 && *s == '-';

    if (n == 0 || n - i > 15 || n == i)
        return false;
    for (; i < n; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    *value = *s == '-' ? (double)-v : (double)v;
    return true;
}

double caret_mumps__integer(const char *s, size_t n)
{
    struct caret__dec d;
    double value;

    if (short_integer(s, n, &value))
        return value;
    return parse(0, s, n, &d) == CARET__DEC_OK && whole(d, &value) ? value : NAN;
}

int caret_mumps__to_number(const char *s, size_t n, caret_mumps__number *out)
{
    struct caret__dec d;
    int outcome = parse(0, s, n, &d);

    return outcome != CARET__DEC_OK ? trouble(outcome) : give(d, out);
}

double caret_mumps__key(const char *s, size_t n)
{
    double value;
    size_t i = n > 1 && *s == '-';
    int64_t v;

    if (n - i == 0 || n - i > 16 || s[i] > '9' || s[i] < '0' || (s[i] == '0' && n > 1))
        return NAN;
    if (short_integer(s, n, &value))
        return value;
    return caret__i64_parse(s, n, &v) && (double)v < LIMIT && (double)v > -LIMIT ? (double)v : NAN;
}

bool caret_mumps__is_canonical(const char *s, size_t n)
{
    return caret__num_canonical(s, n);
}

/* --------------------------------------------------------------------- powers */

static int whole_power(struct caret__dec a, int64_t n, struct caret__dec *r)
{
    struct caret__dec p = caret__dec_from_int(1);
    int outcome = CARET__DEC_OK;

    if (n < 0) {
        outcome = caret__dec_div(CARET_M__RULES, p, a, &a);
        n = -n;
    }
    for (; n != 0 && outcome == CARET__DEC_OK; n >>= 1) {
        if (n & 1)
            outcome = caret__dec_mul(CARET_M__RULES, p, a, &p);
        if (n > 1 && outcome == CARET__DEC_OK)
            outcome = caret__dec_mul(CARET_M__RULES, a, a, &a);
    }
    *r = p;
    return outcome;
}

static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

/* n * 10^exp, exp <= 8, in GT.M's steps. */
static double scaled(double n, int exp)
{
    for (; exp > 0; exp -= 9)
        n *= 1e9;
    for (; exp < -8; exp += 9)
        n /= 1e9;
    return n / tens[-exp];
}

/* GT.M keeps a number of at most three places below a million as thousandths, any other as two halves of nine digits.
 * Each half becomes a double by itself: the steps are told by what comes out, as each of them rounds. */
static double to_double(struct caret__dec d)
{
    struct caret__dec thousandths = d;
    int64_t n;
    int exp = d.exp;

    thousandths.exp += 3;
    if (caret__dec_to_int(thousandths, &n) && n < 1000000000 && n > -1000000000)
        return (double)n / 1e3;
    uint64_t digits = d.mantissa;
    for (; digits < UINT64_C(100000000000000000); exp--)
        digits *= 10;
    double value =
        scaled((double)(digits / 1000000000), exp + 9) + scaled((double)(digits % 1000000000) / 1e9, exp + 9);
    return d.negative ? -value : value;
}

/* What is so near to thousandths below a million is taken for them.  GT.M's bound is between 5.623e-16 and 5.644e-16,
 * by 13,000 powers. */
static bool to_thousandths(double p, struct caret__dec *r)
{
    double n = floor(p * 1e3 + 0.5);

    if (n < 1 || n >= 1e9 || fabs(n - p * 1e3) > 5.63e-16 * n)
        return false;
    *r = caret__dec_from_int((int64_t)n);
    r->exp -= 3;
    return true;
}

/* p * 10^-*exp, with nine digits before the point.  The steps are those of GT.M, as each of them rounds: 5**.5 ends
 * in 979019 by them, and in 978989 by one product. */
static double nine_digits(double p, int *exp)
{
    *exp = 0;
    for (; p < 1e1; *exp -= 5)
        p *= 1e5;
    for (; p < 1e8; *exp -= 1)
        p *= 1e1;
    for (; p >= 1e16; *exp += 5)
        p *= 1e-5;
    for (; p >= 1e9; *exp += 1)
        p *= 1e-1;
    return p;
}

static int from_double(double p, struct caret__dec *r)
{
    double nine, high;
    int exp;

    if (isinf(p) || p >= 1e47)
        return CARET__DEC_OVERFLOW;
    *r = caret__dec_from_int(0);
    if (p < 1e-43 || to_thousandths(p, r))
        return CARET__DEC_OK;
    nine = nine_digits(p, &exp);
    high = floor(nine);
    r->mantissa = (uint64_t)high * UINT64_C(1000000000) + (uint64_t)floor((nine - high) * 1e9);
    r->exp = exp - 9;
    return CARET__DEC_OK;
}

static int power(struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    int64_t n;

    if (a.mantissa == 0) {
        *r = caret__dec_from_int(b.mantissa == 0);
        return b.negative ? CARET__DEC_DIVZERO : CARET__DEC_OK;
    }
    if (caret__dec_to_int(b, &n))
        return whole_power(a, n, r);
    return a.negative ? CARET__DEC_NEGFRACPWR : from_double(pow(to_double(a), to_double(b)), r);
}

/* ----------------------------------------------------------------- arithmetic */

static int operate(int op, struct caret__dec a, struct caret__dec b, struct caret__dec *r)
{
    switch (op) {
    case CARET_MUMPS__ADD: return caret__dec_add(CARET_M__RULES, a, b, r);
    case CARET_MUMPS__SUB: return caret__dec_sub(CARET_M__RULES, a, b, r);
    case CARET_MUMPS__MUL: return caret__dec_mul(CARET_M__RULES, a, b, r);
    case CARET_MUMPS__DIV: return caret__dec_div(CARET_M__RULES, a, b, r);
    case CARET_MUMPS__IDIV: return caret__dec_idiv(CARET_M__RULES, a, b, r);
    case CARET_MUMPS__MOD: return caret__dec_mod(CARET_M__RULES, a, b, r);
    default: return power(a, b, r);
    }
}

int caret_mumps__arithmetic(int op, double x, const char *a, size_t na, double y, const char *b, size_t nb,
                            caret_mumps__number *out)
{
    struct caret__dec u, v, r;
    int outcome, code;

    if (caret_mumps__quick(op, x, a, na, y, b, nb, out, &code))
        return code;
    outcome = parse(x, a, na, &u);

    if (outcome == CARET__DEC_OK)
        outcome = parse(y, b, nb, &v);
    if (outcome == CARET__DEC_OK)
        outcome = operate(op, u, v, &r);
    return outcome != CARET__DEC_OK ? trouble(outcome) : give(r, out);
}

int caret_mumps__compare(double x, const char *a, size_t na, double y, const char *b, size_t nb)
{
    struct caret__dec u, v;

    if (parse(x, a, na, &u) != CARET__DEC_OK || parse(y, b, nb, &v) != CARET__DEC_OK)
        return 2;
    return caret__dec_compare(u, v);
}

/* ---------------------------------------------------------------- fixed point */

/* Digits of |text| before and after the point, of a canonical number. */
static void split(const char *text, size_t n, size_t *before, size_t *after)
{
    const char *point = memchr(text, '.', n);

    *before = point != NULL ? (size_t)(point - text) : n;
    *after = point != NULL ? n - *before - 1 : 0;
}

/* Add one to the last digit of text[0..n), which may have a point; true: there is one more digit before it. */
static bool carry(char *text, size_t n)
{
    while (n-- > 0) {
        if (text[n] == '.')
            continue;
        if (text[n] != '9') {
            text[n]++;
            return false;
        }
        text[n] = '0';
    }
    return true;
}

/* A canonical number without sign, at text[1], to `decimals` places, half away from zero; its new length.  The first
 * digit is then *first. */
static size_t round_to(char *text, size_t n, size_t decimals, char **first)
{
    size_t before, after;

    *first = text + 1;
    split(*first, n, &before, &after);
    if (after <= decimals)
        return n;
    bool up = (*first)[before + 1 + decimals] >= '5';
    n = before + (decimals > 0) + decimals;
    if (up && carry(*first, n)) {
        *--*first = '1';
        n++;
    }
    return n;
}

static bool nothing(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '0' && text[i] != '.')
            return false;
    }
    return true;
}

static int fixed_integer(int64_t v, int decimals, char *out)
{
    char *to = out + caret__i64_format(v, out);

    if (decimals > 0)
        *to++ = '.';
    memset(to, '0', (size_t)decimals);
    return (int)(to - out) + decimals;
}

int caret_mumps__fixed(double x, const char *a, size_t na, int decimals, bool zero, char *out)
{
    if (a == NULL && (double)(int64_t)x == x)
        return fixed_integer((int64_t)x, decimals, out);
    struct caret__dec d;
    char text[CARET__DEC_MAX + 1], *first, *to = out;
    size_t before, after, n;
    int outcome = parse(x, a, na, &d);

    if (outcome != CARET__DEC_OK)
        return trouble(outcome);
    bool negative = d.negative;
    d.negative = false;
    n = round_to(text, caret__dec_format(d, text + 1), (size_t)decimals, &first);
    split(first, n, &before, &after);
    if (negative && !nothing(first, n))
        *to++ = '-';
    if (before == 0 && zero)
        *to++ = '0';
    memcpy(to, first, n);
    to += n;
    if (decimals > 0 && after == 0 && before == n)
        *to++ = '.';
    memset(to, '0', (size_t)decimals - after);
    return (int)(to - out + decimals - (int)after);
}

size_t caret_mumps__integer_text(double v, char *out)
{
    return caret__i64_format((int64_t)v, out);
}

int caret_mumps__justify(double x, const char *a, size_t na, int width, int decimals, char *out)
{
    int n = caret_mumps__fixed(x, a, na, decimals, true, out);

    if (n < 0 || n >= width)
        return n;
    memmove(out + width - n, out, (size_t)n);
    memset(out, ' ', (size_t)(width - n));
    return width;
}

size_t caret_mumps__commas(const char *s, size_t n, char *out)
{
    size_t before, after;
    char *to = out;

    split(s, n, &before, &after);
    for (size_t i = 0; i < before; i++) {
        if (i > 0 && (before - i) % 3 == 0)
            *to++ = ',';
        *to++ = s[i];
    }
    memcpy(to, s + before, n - before);
    return (size_t)(to - out) + n - before;
}
