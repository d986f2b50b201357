/*
 * sha256.h - names of long keys, and passwords of ACL.
 */
#ifndef CARET_SERVER_SHA256_H
#define CARET_SERVER_SHA256_H

#include "server/codec/digest.h"

/* The hash of len bytes, which may be NULL if len is 0. */
static inline void serve__sha256(unsigned char hash[CARET_CODEC__SHA256_LEN], const void *data, size_t len)
{
    caret_codec__sha256_of(data, len, hash);
}

#endif
