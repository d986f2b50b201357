/*
 * hll.h - HyperLogLog values, byte for byte those of Redis.
 *
 *     offset  bytes
 *     0       4      "HYLL"
 *     4       1      0: dense, 1: sparse
 *     5       3      0
 *     8       8      the last estimate, little-endian; its top bit says that it is out of date
 *     16      ...    16,384 registers
 *
 * Dense: 6 bits a register, the first in the low bits of the first byte.  Sparse: runs of registers,
 *
 *     00xxxxxx            x + 1 registers are 0                1 to 64
 *     01xxxxxx yyyyyyyy   xy + 1 registers are 0               1 to 16,384
 *     1vvvvvxx            x + 1 registers are v + 1            1 to 4, of 1 to 32
 *
 * A value is in a buffer of the caller's, and all functions but those that say so work in it.  What a client may have
 * written there is checked: nothing reads or writes beyond the buffer, and a damaged value is told as such.
 */
#ifndef CARET_SERVER_CODEC_HLL_H
#define CARET_SERVER_CODEC_HLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARET_CODEC__HLL_REGISTERS 16384
#define CARET_CODEC__HLL_HEADER    16
#define CARET_CODEC__HLL_DENSE_LEN (CARET_CODEC__HLL_HEADER + CARET_CODEC__HLL_REGISTERS * 6 / 8)
#define CARET_CODEC__HLL_LONGEST                                                                             \
    (CARET_CODEC__HLL_HEADER + CARET_CODEC__HLL_REGISTERS * 2) /* each run a zero */
#define CARET_CODEC__HLL_ROOM       (CARET_CODEC__HLL_LONGEST + 8)
#define CARET_CODEC__HLL_SPARSE_MAX 3000 /* the default of hll-sparse-max-bytes */

struct caret_codec__hll {
    uint8_t *bytes;    /* the value; room for CARET_CODEC__HLL_ROOM bytes */
    size_t len;        /* of the value */
    size_t sparse_max; /* a sparse value that would become longer becomes dense: hll-sparse-max-bytes */
};

/* Is this a HyperLogLog, as far as its header and length tell?  If not: WRONGTYPE Key is not a valid HyperLogLog
 * string value.  What is one may be copied to a buffer and worked on. */
bool caret_codec__hll_is(const uint8_t *bytes, size_t len);

bool caret_codec__hll_is_dense(const uint8_t *bytes);

/* An empty one: 18 bytes, sparse. */
void caret_codec__hll_create(struct caret_codec__hll *hll);

/* Adds an element.  1: a register was raised, and the estimate is out of date; 0: nothing changed; -1: damaged. */
int caret_codec__hll_add(struct caret_codec__hll *hll, const void *element, size_t len);

/* Says that the estimate is out of date: after PFADD created a value, after PFMERGE. */
void caret_codec__hll_touch(struct caret_codec__hll *hll);

/* The estimate, from the header or computed and put there: then *changed is true.  false: damaged. */
bool caret_codec__hll_count(struct caret_codec__hll *hll, uint64_t *count, bool *changed);

/* Raises each of the registers to that of a value, which is only read.  false: damaged; the registers are undefined
 * then. */
bool caret_codec__hll_merge(uint8_t registers[CARET_CODEC__HLL_REGISTERS], const uint8_t *bytes, size_t len);

/* The estimate of such registers: PFCOUNT of several keys. */
uint64_t caret_codec__hll_estimate(const uint8_t registers[CARET_CODEC__HLL_REGISTERS]);

/* Raises the value's registers to these: PFMERGE.  false: damaged. */
bool caret_codec__hll_raise(struct caret_codec__hll *hll,
                            const uint8_t registers[CARET_CODEC__HLL_REGISTERS]);

/* Makes a sparse value dense; the estimate stays.  false: damaged, and unchanged. */
bool caret_codec__hll_to_dense(struct caret_codec__hll *hll);

/* One run of a sparse value, for PFDEBUG DECODE: at *at (from CARET_CODEC__HLL_HEADER on), which goes to the next.
 * false at the end, or where it is damaged. */
struct caret_codec__hll_run {
    unsigned registers;
    unsigned value; /* 0: zeros */
    bool two_bytes;
};

bool caret_codec__hll_run(const uint8_t *bytes, size_t len, size_t *at, struct caret_codec__hll_run *run);

#endif
