/*
 * digest.h - checksums and hashes that are part of the protocol or of stored values.
 *
 *     sha1        names of scripts: EVALSHA                            FIPS 180-4
 *     sha256      passwords of ACL users, names of very long keys       FIPS 180-4
 *     crc64       payloads of DUMP                                      the polynomial of D. T. Jones, reflected
 *     murmur64a   the hash of HyperLogLog's elements                    A. Appleby's MurmurHash64A
 *
 * All are pure functions of their input and the same on every machine.
 */
#ifndef CARET_SERVER_CODEC_DIGEST_H
#define CARET_SERVER_CODEC_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define CARET_CODEC__SHA1_LEN   20
#define CARET_CODEC__SHA256_LEN 32

/* Input in pieces: init, add as often as you like, end.  After end the struct is used up. */
struct caret_codec__sha1 {
    uint32_t state[5];
    uint64_t len;
    uint8_t block[64];
};

void caret_codec__sha1_init(struct caret_codec__sha1 *sha);
void caret_codec__sha1_add(struct caret_codec__sha1 *sha, const void *bytes, size_t len);
void caret_codec__sha1_end(struct caret_codec__sha1 *sha, uint8_t digest[CARET_CODEC__SHA1_LEN]);

struct caret_codec__sha256 {
    uint32_t state[8];
    uint64_t len;
    uint8_t block[64];
};

void caret_codec__sha256_init(struct caret_codec__sha256 *sha);
void caret_codec__sha256_add(struct caret_codec__sha256 *sha, const void *bytes, size_t len);
void caret_codec__sha256_end(struct caret_codec__sha256 *sha, uint8_t digest[CARET_CODEC__SHA256_LEN]);

/* Input in one piece. */
void caret_codec__sha1_of(const void *bytes, size_t len, uint8_t digest[CARET_CODEC__SHA1_LEN]);
void caret_codec__sha256_of(const void *bytes, size_t len, uint8_t digest[CARET_CODEC__SHA256_LEN]);

/* 2 * len lower-case digits, without terminator. */
void caret_codec__hex(const uint8_t *bytes, size_t len, char *out);

/* crc64 of more bytes, from that of those before (0 for none). */
uint64_t caret_codec__crc64(uint64_t crc, const void *bytes, size_t len);

uint64_t caret_codec__murmur64a(const void *bytes, size_t len, uint64_t seed);

#endif
