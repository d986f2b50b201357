/*
 * sha.h - what SHA-1 and SHA-256 have in common: big-endian words, and how bytes become blocks of 64.
 */
#ifndef CARET_SERVER_CODEC_SHA_H
#define CARET_SERVER_CODEC_SHA_H

#include <stdint.h>
#include <string.h>

static inline uint32_t caret_codec__word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void caret_codec__put_word(uint8_t *p, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(word >> (24 - 8 * i));
}

typedef void caret_codec__compress(uint32_t *state, const uint8_t block[64]);

/* Adds bytes to what is in the block; every full one is compressed. */
static inline void caret_codec__sha_add(uint32_t *state, uint64_t *total, uint8_t block[64],
                                        const uint8_t *bytes, size_t len, caret_codec__compress *compress)
{
    size_t used = *total % 64;

    *total += len;
    if (used > 0 && used + len >= 64) {
        memcpy(block + used, bytes, 64 - used);
        compress(state, block);
        bytes += 64 - used;
        len -= 64 - used;
        used = 0;
    }
    for (; used == 0 && len >= 64; bytes += 64, len -= 64)
        compress(state, bytes);
    if (len > 0)
        memcpy(block + used, bytes, len);
}

/* The padding: a bit 1, zeros, and the length in bits as the last 8 bytes of a block. */
static inline void caret_codec__sha_pad(uint32_t *state, uint64_t *total, uint8_t block[64],
                                        caret_codec__compress *compress)
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = *total * 8;
    size_t used = *total % 64;
    uint8_t length[8];

    caret_codec__put_word(length, (uint32_t)(bits >> 32));
    caret_codec__put_word(length + 4, (uint32_t)bits);
    caret_codec__sha_add(state, total, block, padding, used < 56 ? 56 - used : 120 - used, compress);
    caret_codec__sha_add(state, total, block, length, 8, compress);
}

#endif
