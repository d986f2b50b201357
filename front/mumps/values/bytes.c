/*
 * bytes.c - pieces, translation and reversal of bytes.
 */
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

size_t caret_mumps__occurrences(const char *s, size_t n, const char *d, size_t nd)
{
    const char *end = s + n;
    size_t count = 0;

    for (; (s = next(s, end, d, nd)) != NULL; s += nd)
        count++;
    return count;
}

size_t caret_mumps__translate(const char *s, size_t n, const int16_t map[256], char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        int16_t to = map[(unsigned char)s[i]];
        out[len] = (char)to;
        len += to >= 0;
    }
    return len;
}

void caret_mumps__reverse(const char *s, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        out[n - 1 - i] = s[i];
}
