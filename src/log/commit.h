/*
 * commit.h - one change or one transaction becomes visible.
 */
#ifndef CARET_LOG_COMMIT_H
#define CARET_LOG_COMMIT_H

#include "disk/record.h"
#include "shm/engine.h"

/* Where a key was found last; raised to the new state by a commit in place. */
struct caret__spot {
    uint64_t version; /* 0: not known */
    uint32_t pgno;
    uint16_t pos;
    uint8_t found; /* 1 at pos, 0 to be inserted at pos, or CARET__SPOT_LEAF */
    uint8_t kept;  /* 1 from the caller: 0 if the commit did not find the leaf as it was at that version */
};
#define CARET__SPOT_LEAF 2u /* the leaf is guessed, the position is not known */

/* So many sets of a batch that were not beside the one before, and no more are looked for there: keys of a list come
 * one after the other, those of most batches do not. */
#define CARET__STRAYS    4u

/* Computes the value to set from the old one, under the writer mutex: no blocking, no failing calls back.
 * old is NULL if there is none.  Returns CARET_OK, or an error: nothing is changed then. */
typedef int caret__compute(void *ctx, const uint8_t *old, size_t old_len, const uint8_t **val, size_t *vlen);

/* Set one node as a commit of its own, to a value or to what `compute` makes of the old one.  *lsn: its LSN. */
int caret__commit_set(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                      const void *val, size_t vlen, uint64_t *lsn);
int caret__commit_computed(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                           caret__compute *compute, void *ctx, uint64_t *lsn);

/* Set the node of a batch that has nothing but this set.  valid is asked under the mutex; false: CARET_ROLLBACK. */
struct caret__batch;
int caret__commit_one(struct caret__engine *e, struct caret__spot *spot, struct caret__batch *b,
                      bool (*valid)(void *ctx), void *ctx, uint64_t *lsn);

/* A batch of so many sets and deletes, and nothing else, may be done in place. */
#define CARET__SPOTS    128u

#define CARET__KIND(op) (1u << (op))
/* These may use the reserve that is kept for emptying a full database. */
#define CARET__KINDS_KILL                                                                                    \
    (CARET__KIND(CARET__OP_KILL) | CARET__KIND(CARET__OP_RANGE) | CARET__KIND(CARET__OP_DELETE))
#define CARET__KINDS_SET    CARET__KIND(CARET__OP_SET)                         /* of values in the page */
#define CARET__KINDS_LEAVES (CARET__KINDS_SET | CARET__KIND(CARET__OP_DELETE)) /* change one leaf each */

/* A record under construction in private memory. */
struct caret__batch {
    uint8_t *rec;
    uint32_t size; /* of head and ops so far */
    uint32_t cap;  /* that are mapped */
    uint32_t room; /* that are allocated */
    uint32_t crc;  /* of the ops before crc_upto */
    uint32_t crc_upto;
    uint32_t nops;
    uint64_t values; /* bytes of the values in it: at least as much its pages will have */
    uint32_t kinds;  /* of its ops: CARET__KIND() of each */
    uint32_t nspots; /* of the first so many ops the place was looked for, see caret__batch_spot() */
    struct caret__spot spots[CARET__SPOTS];
};
int caret__batch_begin(struct caret__batch *b);
int caret__batch_add(struct caret__batch *b, enum caret__op op, const uint8_t *key, size_t klen,
                     const void *val, size_t vlen);
/* All ops are there: write its head.  The crc of the record but for its trailer. */
uint32_t caret__batch_finish(struct caret__batch *b);

void caret__batch_destroy(struct caret__batch *b);

/* Has it no ops but of those kinds? */
static inline bool caret__batch_only(const struct caret__batch *b, uint32_t kinds)
{
    return (b->kinds & ~kinds) == 0;
}

/* Its ops are others than they were. */
static inline void caret__batch_crc_anew(struct caret__batch *b)
{
    b->crc = 0;
    b->crc_upto = CARET__REC_HEAD;
}

/* Is it worth looking for the places of the ops, in order, before anything is locked? */
static inline bool caret__batch_wants_spots(const struct caret__batch *b)
{
    return caret__batch_only(b, CARET__KINDS_LEAVES) && b->nops <= CARET__SPOTS;
}
static inline void caret__batch_spot(struct caret__batch *b, const struct caret__spot *spot)
{
    CARET__ASSERT_CMP(b->nspots, <, CARET__SPOTS);
    b->spots[b->nspots++] = *spot;
}

/* Commit a batch.  valid (may be NULL) is asked under the mutex; false: CARET_RESTART. */
int caret__commit(struct caret__engine *e, struct caret__batch *b, bool (*valid)(void *ctx), void *ctx,
                  uint64_t *lsn);

#endif
