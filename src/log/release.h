/*
 * release.h - page numbers whose pages are dead.
 */
#ifndef CARET_LOG_RELEASE_H
#define CARET_LOG_RELEASE_H

#include "shm/engine.h"

/* In the role: the page numbers that died in the epoch, which is durable, are free or held. */
int caret__release_pages(struct caret__engine *e, uint32_t epoch);

/* The held ones that no snapshot reads any more are free. */
int caret__held_release(struct caret__engine *e);

/* Are pages held, perhaps for a snapshot that has ended? */
bool caret__held_stale(const struct caret__engine *e);

/* The process in that slot is gone, or leaves: its snapshots do not count any more. */
void caret__snapshots_drop(struct caret__engine *e, uint32_t slot);

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

/* Does anybody keep pages, or did so when it died?  Asked in the role, so nobody begins to. */
bool caret__keepers_are(const struct caret__engine *e);

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
