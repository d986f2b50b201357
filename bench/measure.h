/* What the C benchmarks share: the clock, medians, keys in no order, and ending at the first error. */
#ifndef CARET_BENCH_MEASURE_H
#define CARET_BENCH_MEASURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "caret.h"

/* Seconds. */
static inline double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts v; 0 if there is nothing. */
static inline double median(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, by_value);
    return n == 0 ? 0 : n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* A permutation of the 31-bit integers. */
static inline uint32_t scattered(uint32_t x)
{
    const uint32_t mask = INT32_MAX;

    x = (x ^ x >> 15) * 0x2C1B3C6Du & mask;
    x = (x ^ x >> 12) * 0x297A2D39u & mask;
    return x ^ x >> 15;
}

/* Also in a child: nothing of the parent's is written again. */
static inline void must(int rc, const char *what)
{
    if (rc == CARET_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, caret_message());
    _exit(1);
}

#endif
