/* What the C benchmarks share: the clock, and ending at the first error. */
#ifndef CARET_BENCH_MEASURE_H
#define CARET_BENCH_MEASURE_H

#include <errno.h>
#include <stdio.h>
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

/* Also in a child: nothing of the parent's is written again. */
static inline void must(int rc, const char *what)
{
    if (rc == CARET_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, caret_message());
    _exit(1);
}

#endif
