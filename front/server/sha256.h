/*
 * sha256.h - SHA-256 (FIPS 180-4): names of long keys, and passwords of ACL.
 */
#ifndef CARET_SERVER_SHA256_H
#define CARET_SERVER_SHA256_H

#include <stddef.h>

/* The hash of len bytes, which may be NULL if len is 0. */
void serve__sha256(unsigned char hash[32], const void *data, size_t len);

#endif
