/*
 * snapshot.h - the tree of a checkpoint, kept for as long as somebody reads it.
 *
 * snapshot.c tells the protocol.  A snapshot is a store of its own (struct
 * caret__pager): every page of it is in the data file, none ever changes.
 */
#ifndef CARET_LOG_SNAPSHOT_H
#define CARET_LOG_SNAPSHOT_H

#include "base/bytes.h"
#include "shm/engine.h"
#include "shm/layout.h"
#include "shm/pager.h"

struct caret__snapshot {
    struct caret__pager pg; /* its page table is all zero: in the file, never changed */
    struct caret__tstate ts;
    struct caret__engine *e;
    uint32_t epoch;
    uint64_t chain_seed;
    _Atomic uint64_t lsn;  /* the commits before it are in the snapshot */
    uint64_t pages_mapped; /* page numbers below exist */
    uint64_t attach;       /* which attaching of which segment it belongs to: e->pg.id, slot, nonce */
    uint32_t slot, nonce;
    size_t map_len; /* of page table and bits of verified pages, one mapping */
    struct caret__snapshot *next;
};

/* Take a checkpoint of what is committed so far and keep its tree.  What caret__checkpoint() says; NOMEM. */
int caret__snapshot_open(struct caret__engine *e, struct caret__snapshot **out);

/* Let go of it.  Waits for nobody.  In a forked child only its memory is freed. */
void caret__snapshot_close(struct caret__snapshot *s);

/*
 * To be asked after a look at its pages: was all that was seen the snapshot?  CARET_OK, or EVICTED: this
 * process is a fork of the one that began it, or was taken for dead.
 */
int caret__snapshot_check(const struct caret__snapshot *s);

/* In a forked child: the parent's snapshots are not ours. */
void caret__snapshots_forked(struct caret__engine *e);

#endif
