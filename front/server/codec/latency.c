/*
 * latency.c - sums, percentiles and doublings of latency histograms.
 */
#include "server/codec/latency.h"

static uint64_t count_of(const struct caret_codec__latency *latency, unsigned range)
{
    return atomic_load_explicit(&latency->count[range], memory_order_relaxed);
}

/* The first time that is after a range. */
static uint64_t after(unsigned range)
{
    if (range < 16)
        return range + 1;
    return (uint64_t)(range % 16 + 17) << (range / 16 - 1);
}

void caret_codec__latency_add(struct caret_codec__latency *sum, const struct caret_codec__latency *other)
{
    for (unsigned i = 0; i < CARET_CODEC__LATENCY_RANGES; i++)
        atomic_store_explicit(&sum->count[i], count_of(sum, i) + count_of(other, i), memory_order_relaxed);
}

uint64_t caret_codec__latency_total(const struct caret_codec__latency *latency)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < CARET_CODEC__LATENCY_RANGES; i++)
        total += count_of(latency, i);
    return total;
}

uint64_t caret_codec__latency_percentile(const struct caret_codec__latency *latency, double percent)
{
    double wanted = percent / 100 * (double)caret_codec__latency_total(latency);
    uint64_t so_far = 0, last = 0;

    for (unsigned i = 0; i < CARET_CODEC__LATENCY_RANGES; i++) {
        uint64_t n = count_of(latency, i);
        so_far += n;
        if (n > 0)
            last = after(i) - 1;
        if (n > 0 && (double)so_far >= wanted)
            break;
    }
    return last;
}

/* The first range that is not wholly below 2^k ns; the last one is never, as it has no end. */
static unsigned range_of_power(unsigned k)
{
    unsigned range = (k - 3) * 16;

    return range < CARET_CODEC__LATENCY_RANGES ? range : CARET_CODEC__LATENCY_RANGES - 1;
}

unsigned caret_codec__latency_steps(const struct caret_codec__latency *latency,
                                    struct caret_codec__latency_step steps[CARET_CODEC__LATENCY_STEPS])
{
    const unsigned first = 10, last = first + CARET_CODEC__LATENCY_STEPS - 1;
    uint64_t so_far = 0, told = 0;
    unsigned n = 0, range = 0;

    for (unsigned k = first; k <= last; k++) {
        unsigned end = k < last ? range_of_power(k) : CARET_CODEC__LATENCY_RANGES;
        for (; range < end; range++)
            so_far += count_of(latency, range);
        /* 129/128 of 2^k: the border of a histogram with 128 ranges a doubling, as Redis' is. */
        if (so_far > told)
            steps[n++] = (struct caret_codec__latency_step){(((uint64_t)129 << (k - 7)) - 1) / 1000, so_far};
        told = so_far;
    }
    return n;
}
