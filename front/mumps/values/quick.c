/*
 * quick.c - sums, products and quotients of short decimals, which most are, in 64 and 128 bits.
 *
 * A short decimal is text of up to 17 digits with at most one point and a minus before it, or an integer.  As long as
 * nothing of a result is beyond 10^17 it has all of its digits in M's 18, and is what the engine's decimals give.
 */
#include "mumps/values/quick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT       INT64_C(100000000000000000)
#define MOST_PLACES 36          /* of a quotient: its text is short enough */
#define SHORT       536870912.0 /* short fractions are below it */

static const int64_t tens[] = {1,
                               10,
                               100,
                               1000,
                               10000,
                               100000,
                               1000000,
                               10000000,
                               100000000,
                               1000000000,
                               10000000000,
                               100000000000,
                               1000000000000,
                               10000000000000,
                               100000000000000,
                               1000000000000000,
                               10000000000000000,
                               100000000000000000};

struct quick caret_mumps__short(double x)
{
    int64_t m = (int64_t)x;

    if ((double)m == x)
        return (struct quick){m, 0};
    struct quick q = {llround(x * 1e6), 6};
    for (; q.m % 10 == 0; q.m /= 10)
        q.places--;
    return q;
}

static bool read_text(const char *s, size_t n, struct quick *q)
{
    size_t i = n > 0 && *s == '-', first = i, point = n;
    int64_t m = 0;

    if (n == first || n - first > 18)
        return false;
    for (; i < n; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit <= 9)
            m = m * 10 + digit;
        else if (s[i] == '.' && point == n && n > first + 1)
            point = i;
        else
            return false;
    }
    q->m = first != 0 ? -m : m;
    q->places = point < n ? (int)(n - point - 1) : 0;
    return m < LIMIT;
}

static bool read(double x, const char *s, size_t n, struct quick *q)
{
    if (s != NULL)
        return read_text(s, n, q);
    *q = caret_mumps__short(x);
    return true;
}

static bool scaled(struct quick *q, int places)
{
    int by = places - q->places;

    if (by > 17 || q->m > LIMIT / tens[by] || q->m < -LIMIT / tens[by])
        return false;
    *q = (struct quick){q->m * tens[by], places};
    return true;
}

static bool add(struct quick a, struct quick b, struct quick *r)
{
    int places = a.places > b.places ? a.places : b.places;

    if (!scaled(&a, places) || !scaled(&b, places))
        return false;
    *r = (struct quick){a.m + b.m, places};
    return r->m < LIMIT && r->m > -LIMIT;
}

static bool multiply(struct quick a, struct quick b, struct quick *r)
{
    r->places = a.places + b.places;
    return !__builtin_mul_overflow(a.m, b.m, &r->m) && r->m < LIMIT && r->m > -LIMIT && r->places <= 17;
}

static int digits_of(uint64_t m)
{
    int n = 1;

    while (n < 18 && m >= (uint64_t)tens[n])
        n++;
    return n;
}

/* The first 18 digits, the rest cut off, which is what the engine gives.  Both magnitudes are below 10^17, so the
 * dividend with its zeros is below 10^36, and the quotient has 18 digits or 19. */
static bool divide(struct quick a, struct quick b, struct quick *r)
{
    uint64_t x = (uint64_t)llabs(a.m), y = (uint64_t)llabs(b.m);

    if (y == 0)
        return false;
    int more = 18 - digits_of(x) + digits_of(y), first = more > 17 ? 17 : more;
    unsigned __int128 big = (unsigned __int128)x * (uint64_t)tens[first] * (uint64_t)tens[more - first];
    uint64_t q = (uint64_t)(big / y);
    if (q >= UINT64_C(1000000000000000000)) {
        q /= 10;
        more--;
    }
    *r = (struct quick){(a.m < 0) != (b.m < 0) ? -(int64_t)q : (int64_t)q, more + a.places - b.places};
    return r->places >= 0 && r->places <= MOST_PLACES;
}

/* A number that has digits after the point. */
static int write(struct quick q, char *text)
{
    char digits[20], *end = digits + sizeof digits, *p = end, *to = text;
    uint64_t m = q.m < 0 ? -(uint64_t)q.m : (uint64_t)q.m;

    for (; m != 0; m /= 10)
        *--p = (char)('0' + m % 10);
    int before = (int)(end - p) - q.places;
    if (q.m < 0)
        *to++ = '-';
    for (int i = 0; i < before; i++)
        *to++ = *p++;
    *to++ = '.';
    for (int i = before; i < 0; i++)
        *to++ = '0';
    memcpy(to, p, (size_t)(end - p));
    return (int)(to - text + (end - p));
}

static bool give(struct quick q, caret_mumps__number *out, int *code)
{
    while (q.places > 0 && q.m % 10 == 0)
        q = (struct quick){q.m / 10, q.places - 1};
    if (q.places > 0) {
        *code = write(q, out->text);
        return true;
    }
    out->value = (double)q.m;
    *code = 0;
    return q.m < INT64_C(9007199254740992) && q.m > -INT64_C(9007199254740992);
}

bool caret_mumps__quick(int op, double x, const char *a, size_t na, double y, const char *b, size_t nb,
                        caret_mumps__number *out, int *code)
{
    struct quick u, v, r;

    if (op > CARET_MUMPS__DIV || !read(x, a, na, &u) || !read(y, b, nb, &v))
        return false;
    if (op == CARET_MUMPS__DIV)
        return divide(u, v, &r) && give(r, out, code);
    v.m = op == CARET_MUMPS__SUB ? -v.m : v.m;
    return (op == CARET_MUMPS__MUL ? multiply(u, v, &r) : add(u, v, &r)) && give(r, out, code);
}

double caret_mumps__decimal(const char *s, size_t n)
{
    struct quick q;

    if (!read_text(s, n, &q) || q.places > 6 || q.m >= 1LL << 53 || q.m <= -(1LL << 53))
        return NAN;
    double v = (double)q.m / (double)tens[q.places];
    return q.places == 0 || fabs(v) < SHORT ? v : NAN;
}

int caret_mumps__decimal_text(double v, char *out)
{
    return write(caret_mumps__short(v), out);
}
