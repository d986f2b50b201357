/*
 * record.h - what a commit looks like in the log.
 *
 * An LSN is a position in the endless stream of log bytes.  The record that
 * brings log_head from A to L occupies the stream bytes [A, L):
 *
 *   A      u32 size   L - A, a multiple of 8
 *   A+4    u32 nops
 *   A+8    ops, each: u8 kind, u8 0, u16 key length, u32 value length, key, value, padded to 8
 *   L-8    u32 crc    crc32c of [A, L-8) and then of the 8 bytes before A: most of it is known before A is
 *   L-4    u32 size   again, xor 0x5ca1ab1e: a trailer is recognised, and differs from plain data
 *
 * The 8 bytes before A are the previous record's trailer, so the crc chains:
 * log_head alone is the state of the log.  The first seed of a generation is made
 * by caret__chain_start() from the generation, so records of an older generation
 * never continue the chain.  Ops are results, never instructions that depend on
 * what was there: applying a record to the state before it always gives the same.
 */
#ifndef CARET_LOG_RECORD_H
#define CARET_LOG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/key.h"
#include "page/run.h"
#include "shm/layout.h"

enum caret__op {
    CARET__OP_SET = 1,    /* value */
    CARET__OP_DELETE = 2, /* value of the key only */
    CARET__OP_KILL = 3,   /* key and all below */
    CARET__OP_SETRUN = 4, /* value is a struct caret__runref: stored out of line in the data file */
    CARET__OP_RANGE = 5   /* all keys from `key` to before `value`: some children, with what is below them */
};

#define CARET__REC_HEAD 8u
#define CARET__REC_TAIL 8u
#define CARET__OP_HEAD  8u

static inline uint32_t caret__op_size(size_t klen, size_t vlen)
{
    return (uint32_t)((CARET__OP_HEAD + klen + vlen + 7u) & ~(size_t)7u);
}

/* One decoded op; pointers into the record. */
struct caret__op_view {
    uint8_t kind;
    uint16_t klen;
    uint32_t vlen;
    const uint8_t *key, *val;
};

/* First seed of a generation's chain. */
uint64_t caret__chain_start(uint32_t generation);

/* crc of a whole record but for its trailer, which is known only when its place is. */
uint32_t caret__record_crc(const uint8_t *rec, uint32_t size);

/* The trailer of a record of that crc after `seed`, the 8 bytes before it: the link of the chain. */
uint64_t caret__record_trailer(uint64_t seed, uint32_t crc, uint32_t size);

#define CARET__TRAILER_MARK 0x5ca1ab1eu

/* Bytes of the record that a trailer ends; of other bytes anything. */
static inline uint32_t caret__trailer_size(uint64_t trailer)
{
    return (uint32_t)(trailer >> 32) ^ CARET__TRAILER_MARK;
}

/* Check the record at rec, `avail` bytes of which may be read, against the chain: its size, or 0. */
uint32_t caret__record_verify(uint64_t seed, const uint8_t *rec, size_t avail);

/* What the head of the op at rec+off says. */
static inline void caret__op_head(const uint8_t *rec, uint32_t off, struct caret__op_view *op)
{
    uint64_t head;

    memcpy(&head, rec + off, 8);
    op->kind = (uint8_t)head;
    op->klen = (uint16_t)(head >> 16);
    op->vlen = (uint32_t)(head >> 32);
}

/* The op at rec+off of a record that is known to be sound, as one in the making is. */
static inline struct caret__op_view caret__op_at(const uint8_t *rec, uint32_t off)
{
    struct caret__op_view op;

    caret__op_head(rec, off, &op);
    op.key = rec + off + CARET__OP_HEAD;
    op.val = op.key + op.klen;
    return op;
}

/* The keys that a kill takes away; `end` is for a bound that the op does not say itself. */
static inline struct caret__span caret__op_span(const struct caret__op_view *op,
                                                uint8_t end[CARET__PLACE_MAX])
{
    if (op->kind == CARET__OP_RANGE)
        return (struct caret__span){op->key, op->val, op->klen, op->vlen};
    return caret__span_below(op->key, op->klen, end);
}

/* Decode the op at rec+*off (bounded by size - tail), advancing *off: 1, 0 at the end, -1 malformed. */
static inline int caret__record_op(const uint8_t *rec, uint32_t size, uint32_t *off,
                                   struct caret__op_view *op)
{
    uint32_t end = size - CARET__REC_TAIL;

    if (*off == end)
        return 0;
    if (*off > end || end - *off < CARET__OP_HEAD)
        return -1;
    caret__op_head(rec, *off, op);
    if ((uint64_t)op->klen + op->vlen > end - *off - CARET__OP_HEAD)
        return -1;
    *op = caret__op_at(rec, *off);
    *off += caret__op_size(op->klen, op->vlen);
    return *off <= end ? 1 : -1;
}

#endif
