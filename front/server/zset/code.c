/*
 * code.c - scores as bytes that compare as they do: zset.h has the layout.
 */
#include <string.h>

#include "server/zset/zset.h"

enum { BITS = 7, MORE = 1 };

#define MIDDLE (UINT64_C(1) << 63)

uint64_t serve__zorder(double score)
{
    uint64_t bits;
    memcpy(&bits, &score, sizeof bits);
    uint64_t size = bits & ~MIDDLE;
    return bits & MIDDLE ? MIDDLE - size : MIDDLE + size;
}

size_t serve__zcode(char code[SERVE__ZCODE_MAX], uint64_t order)
{
    size_t n = 0;
    if (order < MIDDLE)
        code[n++] = 'n';
    for (;;) {
        uint64_t rest = order << BITS;
        code[n++] = (char)(order >> (64 - BITS) << 1 | (rest != 0 ? MORE : 0));
        if (rest == 0)
            return n;
        order = rest;
    }
}

bool serve__zcode_read(caret_slice entry, double *score, size_t *used)
{
    uint64_t order = 0;
    size_t n = entry.len > 0 && entry.data[0] == 'n';
    unsigned char byte = MORE;
    for (int shift = 64 - BITS; byte & MORE; shift -= BITS) {
        if (n == entry.len || shift < -BITS + 1)
            return false;
        byte = (unsigned char)entry.data[n++];
        uint64_t part = byte >> 1;
        order |= shift >= 0 ? part << shift : part >> -shift;
    }
    uint64_t bits = order >= MIDDLE ? order - MIDDLE : (MIDDLE - order) | MIDDLE;
    memcpy(score, &bits, sizeof bits);
    *used = n;
    return true;
}
