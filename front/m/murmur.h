/*
 * murmur.h - MurmurHash3, as its author Austin Appleby gave it to the public: 128 bits in the form for 64-bit machines,
 * piece by piece, and 32 bits.  For $ZYHASH, and libyottadb's ydb_mmrhash_...().  Not a hash that keeps secrets.
 *
 * All functions use what they are passed alone.
 */
#ifndef CARET_M_MURMUR_H
#define CARET_M_MURMUR_H

#include <stddef.h>
#include <stdint.h>

/* A hash of 128 bits that is being made. */
struct caret_m__murmur {
    uint64_t half[2];
    unsigned char rest[16]; /* bytes that wait for a whole block, zeros after them */
    unsigned waiting;       /* so many, 0 to 15 */
};

void caret_m__murmur_begin(struct caret_m__murmur *m, uint64_t seed);

/* Goes on with n bytes; how a text is cut into pieces does not matter.  `bytes` may be NULL if n is 0. */
void caret_m__murmur_add(struct caret_m__murmur *m, const void *bytes, size_t n);

/* The hash.  `length`: of all pieces together, as MurmurHash3 has it, or another number. */
void caret_m__murmur_end(const struct caret_m__murmur *m, uint64_t length, uint64_t out[2]);

/* The hash of 32 bits. */
uint32_t caret_m__murmur32(const void *bytes, size_t n, uint32_t seed);

#endif
