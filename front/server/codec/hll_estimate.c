/*
 * hll_estimate.c - how many different elements were added: the estimator of Otmar Ertl, "New cardinality estimation
 * algorithms for HyperLogLog sketches" (2017), section 2.4: one formula for small and large numbers, without tables.
 *
 *     estimate = m^2 / (2 ln 2) / (m sigma(C0 / m) + sum of Ck 2^-k + m 2^-q tau(1 - Cq+1 / m))
 *
 * m = 2^14 registers, q = 50 bits of a hash give the rank, Ck registers are k.
 */
#include "server/codec/hll.h"

#include <math.h>

enum { Q = 50 };

/* x + sum over k >= 1 of x^(2^k) 2^(k-1); the registers that are 0. */
static double sigma(double x)
{
    double weight = 1, sum = x, before;

    if (x == 1)
        return INFINITY;
    do {
        x *= x;
        before = sum;
        sum += x * weight;
        weight += weight;
    } while (sum != before);
    return sum;
}

/* (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 2^-k) / 3; the registers that are full. */
static double tau(double x)
{
    double weight = 1, sum = 1 - x, before;

    if (x == 0 || x == 1)
        return 0;
    do {
        x = sqrt(x);
        before = sum;
        weight *= 0.5;
        sum -= (1 - x) * (1 - x) * weight;
    } while (sum != before);
    return sum / 3;
}

uint64_t caret_codec__hll_estimate(const uint8_t registers[CARET_CODEC__HLL_REGISTERS])
{
    static const double half_per_ln2 = 0.721347520444481703680; /* 1 / (2 ln 2) */
    const double m = CARET_CODEC__HLL_REGISTERS;
    unsigned count[64] = {0};
    double z;

    for (unsigned i = 0; i < CARET_CODEC__HLL_REGISTERS; i++)
        count[registers[i] & 63]++;
    z = m * tau((m - count[Q + 1]) / m);
    for (int k = Q; k >= 1; k--)
        z = 0.5 * (z + count[k]);
    z += m * sigma(count[0] / m);
    return (uint64_t)llroundl(half_per_ln2 * m * m / z);
}
