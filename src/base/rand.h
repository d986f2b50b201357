/*
 * rand.h - a small, fast, seedable generator for tests and benchmarks
 * (splitmix64: one 64-bit state, full period, passes the usual batteries).
 * The same seed gives the same numbers on every machine.
 */
#ifndef CARET_BASE_RAND_H
#define CARET_BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

struct caret__rand {
    uint64_t state;
};

static inline void caret__rand_seed(struct caret__rand *r, uint64_t seed)
{
    r->state = seed;
}

static inline uint64_t caret__rand_next(struct caret__rand *r)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 .. n-1; n > 0.  The bias is below n / 2^32 and does not matter here. */
static inline uint32_t caret__rand_below(struct caret__rand *r, uint32_t n)
{
    return (uint32_t)(((caret__rand_next(r) >> 32) * n) >> 32);
}

static inline void caret__rand_bytes(struct caret__rand *r, void *p, size_t n)
{
    unsigned char *b = p;
    size_t i;

    for (i = 0; i < n; i++)
        b[i] = (unsigned char)(caret__rand_next(r) >> 56);
}

#endif
