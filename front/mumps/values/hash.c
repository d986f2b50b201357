/*
 * hash.c - what $ZYHASH and $ZYSUFFIX make of a text (m/murmur.h).
 */
#include "m/murmur.h"
#include "mumps/values/values.h"

void caret_mumps__hash(const char *s, size_t n, uint32_t salt, uint64_t out[2])
{
    struct caret_m__murmur m;

    caret_m__murmur_begin(&m, salt);
    caret_m__murmur_add(&m, s, n);
    caret_m__murmur_end(&m, n, out);
}
