/*
 * sha1.c - SHA-1, of FIPS 180-4, section 6.1.  For names only: it does not resist collisions any more.
 */
#include "server/codec/digest.h"
#include "server/codec/sha.h"

static uint32_t rotated(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The function and the constant of round i (section 4.1.1 and 4.2.1). */
static uint32_t mixed(int i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void compress(uint32_t *state, const uint8_t block[64])
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

    for (int i = 0; i < 16; i++)
        w[i] = caret_codec__word(block + 4 * i);
    for (int i = 16; i < 80; i++)
        w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t t = rotated(a, 5) + mixed(i, b, c, d) + e + w[i];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = t;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void caret_codec__sha1_init(struct caret_codec__sha1 *sha)
{
    static const uint32_t start[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

    memcpy(sha->state, start, sizeof start);
    sha->len = 0;
}

void caret_codec__sha1_add(struct caret_codec__sha1 *sha, const void *bytes, size_t len)
{
    caret_codec__sha_add(sha->state, &sha->len, sha->block, bytes, len, compress);
}

void caret_codec__sha1_end(struct caret_codec__sha1 *sha, uint8_t digest[CARET_CODEC__SHA1_LEN])
{
    caret_codec__sha_pad(sha->state, &sha->len, sha->block, compress);
    for (int i = 0; i < 5; i++)
        caret_codec__put_word(digest + 4 * i, sha->state[i]);
}

void caret_codec__sha1_of(const void *bytes, size_t len, uint8_t digest[CARET_CODEC__SHA1_LEN])
{
    struct caret_codec__sha1 sha;

    caret_codec__sha1_init(&sha);
    caret_codec__sha1_add(&sha, bytes, len);
    caret_codec__sha1_end(&sha, digest);
}

void caret_codec__hex(const uint8_t *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
}
