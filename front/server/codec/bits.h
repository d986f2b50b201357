/*
 * bits.h - strings as arrays of bits, for BITCOUNT, BITPOS, BITOP and BITFIELD.
 *
 * Bit 0 is the highest bit of the first byte.  What lies beyond the end of a string is 0.  Positions and lengths are
 * in bits where the name of the argument does not say bytes.  All functions are pure.
 */
#ifndef CARET_SERVER_CODEC_BITS_H
#define CARET_SERVER_CODEC_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of ones among bits from .. to - 1, which the string has. */
uint64_t caret_codec__bits_count(const uint8_t *bytes, uint64_t from, uint64_t to);

/* The first bit among from .. to - 1 that is `bit`, or -1. */
int64_t caret_codec__bits_find(const uint8_t *bytes, uint64_t from, uint64_t to, bool bit);

enum caret_codec__bits_operation { CARET_CODEC__AND, CARET_CODEC__OR, CARET_CODEC__XOR, CARET_CODEC__NOT };

struct caret_codec__bytes {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* All n strings combined, or the first one turned over, to out, which has as many bytes as the longest of them.  out
 * may be the place of one of those that are as long. */
void caret_codec__bits_combine(enum caret_codec__bits_operation operation,
                               const struct caret_codec__bytes *strings, size_t n, uint8_t *out,
                               size_t n_bytes);

/* ---- fields: u1 to u63 and i1 to i64 */

struct caret_codec__field {
    bool is_signed;
    unsigned width; /* bits */
};

/* "u8", "i64"; false: ERR Invalid bitfield type ... */
bool caret_codec__field_parse(const char *text, size_t len, struct caret_codec__field *field);

/* The field that begins at bit `at`. */
int64_t caret_codec__field_get(const uint8_t *bytes, size_t n_bytes, uint64_t at,
                               struct caret_codec__field field);

/* The low bits of value to the field that begins at bit `at`; all of it must be within the string. */
void caret_codec__field_put(uint8_t *bytes, uint64_t at, struct caret_codec__field field, int64_t value);

enum caret_codec__overflow { CARET_CODEC__WRAP, CARET_CODEC__SAT, CARET_CODEC__FAIL };

/*
 * value + increment, as far as the field can hold it.  BITFIELD INCRBY gives what the field has, BITFIELD SET the new
 * value and 0.  false: it does not fit, and mode is FAIL; *sum is untouched then.
 */
bool caret_codec__field_add(struct caret_codec__field field, int64_t value, int64_t increment,
                            enum caret_codec__overflow mode, int64_t *sum);

#endif
