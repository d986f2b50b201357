/*
 * little.h - little-endian numbers of fixed width, in headers and values.
 */
#ifndef CARET_SERVER_LITTLE_H
#define CARET_SERVER_LITTLE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Of at most 8 bytes. */
static inline uint64_t serve__load(const void *at, unsigned bytes)
{
    uint64_t n = 0;
    memcpy(&n, at, bytes);
    return le64toh(n);
}

static inline void serve__store(void *at, uint64_t n, unsigned bytes)
{
    n = htole64(n);
    memcpy(at, &n, bytes);
}

#endif
