/*
 * snapshot.h - the tree of a checkpoint, kept for as long as somebody reads it.
 *
 * snapshot.c tells the protocol.  A snapshot is a store of its own (struct
 * caret__pager): every page of it is in the data file, none ever changes.
 */
#ifndef CARET_LOG_SNAPSHOT_H
#define CARET_LOG_SNAPSHOT_H

#include "log/log.h"

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

/* The process in that slot is gone, or leaves: its snapshots do not count any more. */
void caret__snapshots_drop(struct caret__engine *e, uint32_t slot);

/* In a forked child: the parent's snapshots are not ours. */
void caret__snapshots_forked(struct caret__engine *e);

/* What live snapshots read, as of one look: by process, its oldest and its newest one. */
struct caret__keepers {
    uint64_t mark; /* of all that follows, never 0: two looks with one mark saw the same */
    uint32_t count;
    struct {
        uint64_t lsn;
        uint32_t epoch;
    } of[CARET__MAX_PROCS];
};

/* Look, for a holder of the checkpoint role: until it gives the role back, there will be no others. */
void caret__keepers_look(struct caret__engine *e, struct caret__keepers *k);

/* Is the dead page part of a snapshot?  The caller holds the writer mutex. */
static inline bool caret__kept(const struct caret__engine *e, const struct caret__keepers *k, uint32_t pgno)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    const struct caret__pte *pte = &e->pg.ptab[pgno];
    uint32_t birth = caret__pte_epoch(atomic_load_explicit(&pte->word, memory_order_relaxed));
    uint64_t death = atomic_load_explicit(&pte->version, memory_order_relaxed);

    for (uint32_t i = 0; i < k->count; i++)
        if (birth <= k->of[i].epoch && death > k->of[i].lsn)
            return true;
    return false;
}

#endif
