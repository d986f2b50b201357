/*
 * latency.h - how long commands took: counters of ranges of times, for LATENCY HISTOGRAM and INFO latencystats.
 *
 * Times below 16 ns are counted each; from there on each doubling has 16 ranges, so a time is known to 6 percent.
 * The last range has all from 2^35 ns, 34 s, on.  A histogram is a page of shared memory, all zero at first, without
 * pointers, lock or length.  One thread at a time counts in it, any number of processes read it meanwhile; a process
 * that dies leaves it whole.
 *
 * Whoever wants the sum over processes adds histograms to one of its own.
 */
#ifndef CARET_SERVER_CODEC_LATENCY_H
#define CARET_SERVER_CODEC_LATENCY_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define CARET_CODEC__LATENCY_RANGES 512

struct caret_codec__latency {
    /* At offset 0, written by one thread at a time, without lock; where it is read stale, a few events are missing. */
    _Atomic uint64_t count[CARET_CODEC__LATENCY_RANGES];
};

static_assert(sizeof(struct caret_codec__latency) == 4096, "a page of counters");

/* The range of a time: for times below 2^35 ns from 2^k on, k >= 4, the four bits after the highest. */
static inline unsigned caret_codec__latency_range(uint64_t ns)
{
    if (ns < 16)
        return (unsigned)ns;
    if (ns >> 35 != 0)
        return CARET_CODEC__LATENCY_RANGES - 1;
    unsigned k = 63 - (unsigned)__builtin_clzll(ns);
    return (k - 3) * 16 + (unsigned)(ns >> (k - 4) & 15);
}

/* Counts n that took so long.  Two threads at once would lose counts; so would a locked addition lose time. */
static inline void caret_codec__latency_count_many(struct caret_codec__latency *latency, uint64_t ns,
                                                   uint64_t n)
{
    _Atomic uint64_t *count = &latency->count[caret_codec__latency_range(ns)];

    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void caret_codec__latency_count(struct caret_codec__latency *latency, uint64_t ns)
{
    caret_codec__latency_count_many(latency, ns, 1);
}

/* Adds all counts of another histogram. */
void caret_codec__latency_add(struct caret_codec__latency *sum, const struct caret_codec__latency *other);

uint64_t caret_codec__latency_total(const struct caret_codec__latency *latency);

/* The time, in ns, that `percent` (0 to 100) of all did not exceed: the end of its range; 0 if there are none. */
uint64_t caret_codec__latency_percentile(const struct caret_codec__latency *latency, double percent);

/*
 * LATENCY HISTOGRAM: pairs of microseconds and how many commands took no longer, with the borders that Redis has (1,
 * 2, 4, 8, 16, 33, 66, ...), only where the number grew.  At most CARET_CODEC__LATENCY_STEPS; returns how many there
 * are.
 */
#define CARET_CODEC__LATENCY_STEPS 27

struct caret_codec__latency_step {
    uint64_t us, count;
};

unsigned caret_codec__latency_steps(const struct caret_codec__latency *latency,
                                    struct caret_codec__latency_step steps[CARET_CODEC__LATENCY_STEPS]);

#endif
