/*
 * hash.c - ydb_mmrhash_...(): MurmurHash3 of 32 and of 128 bits (m/murmur.h).  They need no database and no call
 * before.
 */
#include "m/murmur.h"

#include "yottadb/session.h"

_Static_assert(sizeof(((hash128_state_t *)NULL)->c) == sizeof(((struct caret_m__murmur *)NULL)->rest),
               "16 bytes");

void ydb_mmrhash_32(const void *key, int len, uint4 seed, uint4 *out4)
{
    *out4 = caret_m__murmur32(key, len > 0 ? (size_t)len : 0, seed);
}

static struct caret_m__murmur of_state(const hash128_state_t *state)
{
    struct caret_m__murmur m = {.half = {state->h.one, state->h.two},
                                .waiting = (unsigned)state->carry_bytes & 15};

    memcpy(m.rest, &state->c, sizeof m.rest);
    return m;
}

void ydb_mmrhash_128_ingest(hash128_state_t *state, const void *key, int len)
{
    struct caret_m__murmur m = of_state(state);

    caret_m__murmur_add(&m, key, len > 0 ? (size_t)len : 0);
    state->h = (ydb_uint16){m.half[0], m.half[1]};
    memcpy(&state->c, m.rest, sizeof m.rest);
    state->carry_bytes = (int)m.waiting;
}

void ydb_mmrhash_128_result(hash128_state_t *state, uint4 addl_seed, ydb_uint16 *out)
{
    struct caret_m__murmur m = of_state(state);
    uint64_t halves[2];

    caret_m__murmur_end(&m, addl_seed, halves);
    *out = (ydb_uint16){halves[0], halves[1]};
}

void ydb_mmrhash_128(const void *key, int len, uint4 seed, ydb_uint16 *out)
{
    hash128_state_t state;

    HASH128_STATE_INIT(state, seed);
    ydb_mmrhash_128_ingest(&state, key, len);
    ydb_mmrhash_128_result(&state, len > 0 ? (uint4)len : 0, out);
}

void ydb_mmrhash_128_bytes(const ydb_uint16 *hash, unsigned char *out)
{
    memcpy(out, &hash->one, 8);
    memcpy(out + 8, &hash->two, 8);
}

void ydb_mmrhash_128_hex(const ydb_uint16 *hash, unsigned char *out)
{
    unsigned char bytes[16];

    ydb_mmrhash_128_bytes(hash, bytes);
    for (int i = 0; i < 16; i++) {
        out[2 * i] = (unsigned char)"0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = (unsigned char)"0123456789abcdef"[bytes[i] & 15];
    }
}
