/*
 * bytes.c - pieces, translation and reversal of bytes.
 */
#include <math.h>
#include <string.h>

#include "mumps/values/values.h"

static const char *next(const char *at, const char *end, const char *d, size_t nd)
{
    if (nd == 1)
        return memchr(at, d[0], (size_t)(end - at));
    return memmem(at, (size_t)(end - at), d, nd);
}

size_t caret_mumps__piece(const char *s, size_t n, const char *d, size_t nd, size_t nth, size_t *end)
{
    const char *at = s, *stop = s + n, *found = next(at, stop, d, nd);

    for (; nth > 1 && found != NULL; nth--) {
        at = found + nd;
        found = next(at, stop, d, nd);
    }
    *end = found != NULL ? (size_t)(found - s) : n;
    return nth > 1 ? n + 1 : (size_t)(at - s);
}

double caret_mumps__piece_number(const char *s, size_t n, int delimiter, size_t nth)
{
    const char d = (char)delimiter;
    size_t end, from = caret_mumps__piece(s, n, &d, 1, nth, &end);

    return from <= n ? caret_mumps__decimal(s + from, end - from) : NAN;
}

struct span {
    size_t from, to, missing; /* missing: delimiters before it that are not there */
};

static struct span span_of(const char *s, size_t n, const char *d, size_t nd, size_t first, size_t last)
{
    const char *at = s, *stop = s + n, *found = next(at, stop, d, nd);
    size_t i = 1;
    struct span p = {n, n, 0};

    for (; i < first && found != NULL; i++) {
        at = found + nd;
        found = next(at, stop, d, nd);
    }
    if (i < first) {
        p.missing = first - i;
        return p;
    }
    p.from = (size_t)(at - s);
    for (; i < last && found != NULL; i++)
        found = next(found + nd, stop, d, nd);
    p.to = found != NULL ? (size_t)(found - s) : n;
    return p;
}

size_t caret_mumps__set_piece(const char *s, size_t n, const char *d, size_t nd, size_t first, size_t last,
                              const char *by, size_t nby, char *out, size_t room)
{
    struct span p = span_of(s, n, d, nd, first, last);
    size_t len = n - (p.to - p.from) + p.missing * nd + nby;

    if (len > room)
        return len;
    memcpy(out, s, p.from);
    out += p.from;
    for (; p.missing > 0; p.missing--, out += nd)
        memcpy(out, d, nd);
    memcpy(out, by, nby);
    memcpy(out + nby, s + p.to, n - p.to);
    return len;
}

size_t caret_mumps__occurrences(const char *s, size_t n, const char *d, size_t nd)
{
    const char *end = s + n;
    size_t count = 0;

    for (; (s = next(s, end, d, nd)) != NULL; s += nd)
        count++;
    return count;
}

static size_t translate(const char *s, size_t n, const int16_t *map, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        int16_t to = map[(unsigned char)s[i]];
        out[len] = (char)to;
        len += to >= 0;
    }
    return len;
}

#define GROUP  16 /* bytes that a processor compares at once */
#define STRIDE (4 * GROUP)
typedef uint8_t group __attribute__((vector_size(GROUP)));

static group group_at(const char *s)
{
    group g;

    memcpy(&g, s, sizeof g);
    return g;
}

/* Is one of these bytes in the next STRIDE of them?  Four variables, as an array would be kept in memory. */
static bool has_any(const char *s, const int16_t *which, int n)
{
    group a = group_at(s), b = group_at(s + GROUP), c = group_at(s + 2 * GROUP), d = group_at(s + 3 * GROUP);
    group hits = {0};
    uint64_t words[GROUP / 8];

    for (int i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)which[i];
        hits |= (group)(a == byte) | (group)(b == byte) | (group)(c == byte) | (group)(d == byte);
    }
    memcpy(words, &hits, sizeof words);
    return (words[0] | words[1]) != 0;
}

/* Mostly few bytes change, and those are rare: groups without one of them are copied. */
size_t caret_mumps__translate(const char *s, size_t n, const int16_t *map, char *out)
{
    int few = map[256];
    size_t i = 0, len = 0;

    for (; few <= CARET_MUMPS__FEW && i + STRIDE <= n; i += STRIDE) {
        if (has_any(s + i, map + 257, few)) {
            len += translate(s + i, STRIDE, map, out + len);
        } else {
            memcpy(out + len, s + i, STRIDE);
            len += STRIDE;
        }
    }
    return len + translate(s + i, n - i, map, out + len);
}

size_t caret_mumps__last(const char *s, size_t n, int c)
{
    const char *found = memrchr(s, c, n);

    return found != NULL ? (size_t)(found - s) + 1 : 0;
}

void caret_mumps__reverse(const char *s, size_t n, char *out)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        memcpy(&word, s + i, sizeof word);
        word = __builtin_bswap64(word);
        memcpy(out + n - i - 8, &word, sizeof word);
    }
    for (; i < n; i++)
        out[n - 1 - i] = s[i];
}
