/*
 * hash.c - MurmurHash3, its form of 128 bits for 64-bit machines, as its author Austin Appleby gave it to the public.
 */
#include <string.h>

#include "mumps/values/values.h"

#define C1 UINT64_C(0x87c37b91114253d5)
#define C2 UINT64_C(0x4cf5ad432745937f)

static uint64_t turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t mix_first(uint64_t k)
{
    return turn(k * C1, 31) * C2;
}

static uint64_t mix_second(uint64_t k)
{
    return turn(k * C2, 33) * C1;
}

static uint64_t finish(uint64_t k)
{
    k = (k ^ k >> 33) * UINT64_C(0xff51afd7ed558ccd);
    k = (k ^ k >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return k ^ k >> 33;
}

void caret_mumps__hash(const char *s, size_t n, uint32_t salt, uint64_t out[2])
{
    uint64_t h1 = salt, h2 = salt, k[2];

    for (size_t left = n; left >= 16; left -= 16, s += 16) {
        memcpy(k, s, 16);
        h1 = (turn(h1 ^ mix_first(k[0]), 27) + h2) * 5 + 0x52dce729;
        h2 = (turn(h2 ^ mix_second(k[1]), 31) + h1) * 5 + 0x38495ab5;
    }
    memset(k, 0, sizeof k);
    memcpy(k, s, n & 15);
    h1 ^= mix_first(k[0]) ^ n;
    h2 ^= mix_second(k[1]) ^ n;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    out[0] = h1 + h2;
    out[1] = h2 + out[0];
}
