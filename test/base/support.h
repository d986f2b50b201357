/*
 * support.h - what the tests of the base layer share: cmocka, and a seeded
 * generator whose seed is printed and can be given as CARET_SEED.
 */
#ifndef CARET_TEST_BASE_SUPPORT_H
#define CARET_TEST_BASE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"

static inline struct caret__rand seeded(const char *test)
{
    const char *text = getenv("CARET_SEED");
    struct caret__rand r;

    caret__rand_seed(&r, text != NULL ? strtoull(text, NULL, 0) : 20240229);
    printf("    %s: CARET_SEED=%llu\n", test, (unsigned long long)r.state);
    return r;
}

/* Uniform over 0..2^k for a random k: numbers of all lengths. */
static inline int64_t rand_int(struct caret__rand *r)
{
    int64_t v = (int64_t)(caret__rand_next(r) >> (1 + caret__rand_below(r, 63)));

    return caret__rand_below(r, 3) == 0 ? -v : v;
}

/* Text of a random canonical number, terminated; returns its length. */
static inline size_t rand_number(struct caret__rand *r, char text[64])
{
    char digits[20];
    int n = 1 + (int)caret__rand_below(r, caret__rand_below(r, 2) ? 4 : 18), whole, at = 0;

    for (int i = 0; i < n; i++)
        digits[i] = (char)('0' + caret__rand_below(r, 10));
    digits[0] = (char)('1' + caret__rand_below(r, 9));
    digits[n - 1] = (char)('1' + caret__rand_below(r, 9));
    if (caret__rand_below(r, 3) == 0)
        text[at++] = '-';
    whole = caret__rand_below(r, 4) ? (int)caret__rand_below(r, 24) - 3 : (int)caret__rand_below(r, 90) - 42;
    if (whole <= 0)
        text[at++] = '.';
    for (int i = whole; i < 0; i++)
        text[at++] = '0';
    for (int i = 0; i < n || i < whole; i++) {
        if (i == whole && whole > 0)
            text[at++] = '.';
        text[at++] = i < n ? digits[i] : '0';
    }
    text[at] = '\0';
    return (size_t)at;
}

/* A subscript of up to 20 bytes: often a number or nearly one, often bytes near the escapes. */
static inline size_t rand_sub(struct caret__rand *r, char text[64])
{
    static const char nearly[] = "0123456789.-0.";
    size_t n = caret__rand_below(r, 20);

    switch (caret__rand_below(r, 6)) {
    case 0: return (size_t)sprintf(text, "%lld", (long long)rand_int(r));
    case 1: return rand_number(r, text);
    case 2:
        for (size_t i = 0; i < n; i++)
            text[i] = nearly[caret__rand_below(r, sizeof nearly - 1)];
        return n;
    case 3:
        for (size_t i = 0; i < n; i++)
            text[i] = (char)(caret__rand_below(r, 5) - 2);
        return n;
    case 4: n = caret__rand_below(r, 3); break;
    default: break;
    }
    caret__rand_bytes(r, text, n);
    return n;
}

#endif
