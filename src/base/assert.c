/*
 * assert.c - the end of a process in which an assertion does not hold (bytes.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"

void caret__assert_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "caret: %s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

void caret__assert_cmp_failed(const char *file, int line, const char *what, long long a, long long b)
{
    fprintf(stderr, "caret: %s:%d: assertion failed: %s (%lld, %lld)\n", file, line, what, a, b);
    abort();
}
