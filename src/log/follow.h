/*
 * follow.h - following the log of a database that is in use.
 */
#ifndef CARET_LOG_FOLLOW_H
#define CARET_LOG_FOLLOW_H

#include "shm/engine.h"

struct caret__tail {
    struct caret__engine *e;
    uint64_t lsn;  /* of the next record's beginning */
    uint64_t seed; /* the 8 bytes before it */
    uint64_t from; /* records that begin before are passed over */
    bool sure;     /* a record was verified: the seed is right */
    bool far;      /* go to `from` from the log's beginning: what is before it is not a trailer */
    uint8_t *buf;  /* log bytes from lsn on: `len` of them at `at` */
    size_t at, len, cap;
};

/* Begin at a place in the log, with a struct of zeros or one that was in use: 0 = with the oldest record there is,
 * UINT64_MAX = after the last commit. */
int caret__tail_init(struct caret__tail *t, struct caret__engine *e, uint64_t from);
void caret__tail_destroy(struct caret__tail *t);

/* The next record, which stays as it is until the next call; its end is t->lsn.  CARET_NONE: there is none yet.
 * NOTFOUND: the place is not, or no longer, in the log.  CORRUPT, IO, NOMEM. */
int caret__tail_next(struct caret__tail *t, const uint8_t **rec, uint32_t *size);

#endif
