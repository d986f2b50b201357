/*
 * hash.c - CRC-64 and MurmurHash64A.
 */
#include "server/codec/digest.h"

/* The polynomial ad93d23594c935a9, bits reversed: the remainders of the sixteen halves of a byte. */
static const uint64_t crc_table[16] = {
    0x0000000000000000, 0x7d08ff3b88be6f81, 0xfa11fe77117cdf02, 0x8719014c99c2b083,
    0xdf7adabd7a6e2d6f, 0xa2722586f2d042ee, 0x256b24ca6b12f26d, 0x5863dbf1e3ac9dec,
    0x95ac9329ac4bc9b5, 0xe8a46c1224f5a634, 0x6fbd6d5ebd3716b7, 0x12b5926535897936,
    0x4ad64994d625e4da, 0x37deb6af5e9b8b5b, 0xb0c7b7e3c7593bd8, 0xcdcf48d84fe75459,
};

uint64_t caret_codec__crc64(uint64_t crc, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ crc_table[crc & 15];
        crc = crc >> 4 ^ crc_table[crc & 15];
    }
    return crc;
}

/* n bytes, at most 8, little-endian. */
static uint64_t word_of(const uint8_t *p, size_t n)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

uint64_t caret_codec__murmur64a(const void *bytes, size_t len, uint64_t seed)
{
    static const uint64_t m = 0xc6a4a7935bd1e995;
    const uint8_t *p = bytes, *end = p + (len & ~(size_t)7);
    uint64_t h = seed ^ (len * m);

    for (; p < end; p += 8) {
        uint64_t k = word_of(p, 8) * m;
        k ^= k >> 47;
        h = (h ^ k * m) * m;
    }
    if (len % 8 != 0)
        h = (h ^ word_of(p, len % 8)) * m;
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}
