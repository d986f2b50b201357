/*
 * rdb.h - values as Redis 7.0 writes them to its files, and DUMP answers them.
 *
 *     payload   type, 1 byte; body; 2 bytes: version, little-endian; 8 bytes: crc64 of all before
 *     length    00xxxxxx  01xxxxxx yyyyyyyy  80 and 4 bytes  81 and 8 bytes, high bytes first;
 *               11xxxxxx: not a length but a text of another form
 *     text      length, bytes; or C0 C1 C2: an integer of 1, 2, 4 bytes; or C3, length packed, length, LZF
 *
 * Bodies: a string is a text; a list, set or hash its length and texts; a sorted set has 8 bytes, a double, after each
 * member.  Small ones are one text, which is a listpack, or an array of integers.  Streams: stream/payload.h.
 *   Readers never read beyond their end; what is not there, or damaged, sets `bad` (pack.h).
 */
#ifndef CARET_SERVER_CODEC_RDB_H
#define CARET_SERVER_CODEC_RDB_H

#include "server/codec/pack.h"

#define CARET_CODEC__RDB_VERSION 10
#define CARET_CODEC__RDB_TAIL    10 /* bytes of version and crc64 */

enum caret_codec__rdb_type {
    CARET_CODEC__RDB_STRING = 0,
    CARET_CODEC__RDB_LIST = 1,
    CARET_CODEC__RDB_SET = 2,
    CARET_CODEC__RDB_ZSET_TEXT = 3, /* scores as texts of one length byte */
    CARET_CODEC__RDB_HASH = 4,
    CARET_CODEC__RDB_ZSET = 5,
    CARET_CODEC__RDB_SET_INTSET = 11,
    CARET_CODEC__RDB_STREAM_OLD = 15, /* of Redis 5 and 6: a few counts fewer */
    CARET_CODEC__RDB_HASH_LISTPACK = 16,
    CARET_CODEC__RDB_ZSET_LISTPACK = 17,
    CARET_CODEC__RDB_LIST_QUICKLIST = 18,
    CARET_CODEC__RDB_STREAM = 19,
    CARET_CODEC__RDB_FUNCTION = 245 /* of FUNCTION DUMP: the text of a library */
};

/* A length as bytes: their number. */
size_t caret_codec__rdb_length(uint8_t out[9], uint64_t n);
/* What follows the body: its crc64 is of `len` bytes. */
void caret_codec__rdb_seal(uint8_t tail[CARET_CODEC__RDB_TAIL], const uint8_t *bytes, size_t len);
/* A reader of type and body; false: ERR DUMP payload version or checksum are wrong. */
bool caret_codec__rdb_open(const uint8_t *bytes, size_t len, struct caret_codec__reader *r);

uint64_t caret_codec__rdb_get_length(struct caret_codec__reader *r);
double caret_codec__rdb_get_double(struct caret_codec__reader *r);
/* A score of RDB_ZSET_TEXT. */
double caret_codec__rdb_get_score(struct caret_codec__reader *r);

/* A text that was read: bytes where they are, the digits of an integer, or bytes to be unpacked. */
struct caret_codec__rdb_text {
    const uint8_t *bytes;
    size_t len;
    size_t packed; /* 0: it is not packed; else bytes of it, and `len` is what they become */
    bool is_digits;
    char digits[24]; /* then `bytes` is NULL */
};
struct caret_codec__rdb_text caret_codec__rdb_get_text(struct caret_codec__reader *r);

/* Unpack to `out`, of len bytes.  false: damaged. */
bool caret_codec__lzf_unpack(const uint8_t *packed, size_t packed_len, uint8_t *out, size_t len);

/* Elements of a listpack: begin, then next until false, with an empty text; `r->bad` tells whether it ended
 * well. */
void caret_codec__listpack_begin(struct caret_codec__reader *r, const uint8_t *bytes, size_t len);
bool caret_codec__listpack_next(struct caret_codec__reader *r, struct caret_codec__rdb_text *text);

/* Bytes that tell the length of an element after it.  Redis takes one more at the last length that would do, but for
 * 127. */
size_t caret_codec__listpack_back(size_t len);

/* What a listpack is made of: its first bytes (`len` is of the whole, with them and the FF that ends it), an integer,
 * and what stands before and after the bytes of a text.  Each answers how many bytes that is. */
#define CARET_CODEC__LISTPACK_HEAD 6u
#define CARET_CODEC__LISTPACK_ROOM 14u /* bytes of an integer, at most */
size_t caret_codec__listpack_head(uint8_t out[CARET_CODEC__LISTPACK_HEAD], size_t len, uint64_t n);
size_t caret_codec__listpack_integer(uint8_t out[CARET_CODEC__LISTPACK_ROOM], int64_t n);
size_t caret_codec__listpack_before(uint8_t out[5], size_t len);
/* `len` is of the element so far. */
size_t caret_codec__listpack_after(uint8_t out[5], size_t len);

/* An array of integers: how many; false: damaged. */
bool caret_codec__intset_count(const uint8_t *bytes, size_t len, uint64_t *n);
int64_t caret_codec__intset_at(const uint8_t *bytes, uint64_t i);

#endif
