/*
 * record.c - building and checking log records; record.h has their layout.
 */
#include "disk/record.h"

#include <string.h>

#include "base/crc32c.h"
#include "shm/layout.h"

uint64_t caret__chain_start(uint32_t generation)
{
    uint64_t z =
        (generation + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15); /* splitmix64, Steele et al. 2014 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t caret__record_crc(const uint8_t *rec, uint32_t size)
{
    return caret__crc32c_words(0, rec, size - CARET__REC_TAIL);
}

uint64_t caret__record_trailer(uint64_t seed, uint32_t crc, uint32_t size)
{
    return caret__crc32c_words(crc, &seed, sizeof seed) | (uint64_t)(size ^ CARET__TRAILER_MARK) << 32;
}

uint32_t caret__record_verify(uint64_t seed, const uint8_t *rec, size_t avail)
{
    uint32_t size;
    uint64_t tail;

    if (avail < CARET__REC_HEAD + CARET__REC_TAIL)
        return 0;
    memcpy(&size, rec, 4);
    if (size < CARET__REC_HEAD + CARET__REC_TAIL || size % 8 != 0 || size > avail || size > CARET__RECORD_MAX)
        return 0;
    memcpy(&tail, rec + size - 8, 8);
    return tail == caret__record_trailer(seed, caret__record_crc(rec, size), size) ? size : 0;
}
