/*
 * murmur.c - see murmur.h.  Texts are read as the machine has numbers, which is little-endian on all that are
 * supported.
 */
#include "m/murmur.h"

#include <string.h>

#define C1 UINT64_C(0x87c37b91114253d5)
#define C2 UINT64_C(0x4cf5ad432745937f)
#define D1 UINT32_C(0xcc9e2d51)
#define D2 UINT32_C(0x1b873593)

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

void caret_m__murmur_begin(struct caret_m__murmur *m, uint64_t seed)
{
    *m = (struct caret_m__murmur){.half = {seed, seed}};
}

static void take_block(struct caret_m__murmur *m, const void *block)
{
    uint64_t k[2];

    memcpy(k, block, 16);
    m->half[0] = (turn(m->half[0] ^ mix_first(k[0]), 27) + m->half[1]) * 5 + 0x52dce729;
    m->half[1] = (turn(m->half[1] ^ mix_second(k[1]), 31) + m->half[0]) * 5 + 0x38495ab5;
}

void caret_m__murmur_add(struct caret_m__murmur *m, const void *bytes, size_t n)
{
    const unsigned char *s = bytes;

    if (m->waiting != 0 && n >= 16 - m->waiting) {
        size_t part = 16 - m->waiting;
        memcpy(m->rest + m->waiting, s, part);
        take_block(m, m->rest);
        memset(m->rest, 0, sizeof m->rest);
        m->waiting = 0;
        s += part;
        n -= part;
    }
    for (; m->waiting == 0 && n >= 16; n -= 16, s += 16)
        take_block(m, s);
    if (n != 0)
        memcpy(m->rest + m->waiting, s, n);
    m->waiting += (unsigned)n;
}

void caret_m__murmur_end(const struct caret_m__murmur *m, uint64_t length, uint64_t out[2])
{
    uint64_t k[2], h1, h2;

    memcpy(k, m->rest, sizeof k);
    h1 = m->half[0] ^ mix_first(k[0]) ^ length;
    h2 = m->half[1] ^ mix_second(k[1]) ^ length;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    out[0] = h1 + h2;
    out[1] = h2 + out[0];
}

static uint32_t turn32(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

uint32_t caret_m__murmur32(const void *bytes, size_t n, uint32_t seed)
{
    const unsigned char *s = bytes;
    uint32_t h = seed, k = 0;

    for (size_t left = n; left >= 4; left -= 4, s += 4) {
        memcpy(&k, s, 4);
        h = turn32(h ^ turn32(k * D1, 15) * D2, 13) * 5 + 0xe6546b64;
    }
    k = 0;
    if (n % 4 != 0)
        memcpy(&k, s, n % 4);
    h ^= turn32(k * D1, 15) * D2 ^ (uint32_t)n;
    h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
    h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
    return h ^ h >> 16;
}
