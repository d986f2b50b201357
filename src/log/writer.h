/*
 * writer.h - the writer mutex.
 */
#ifndef CARET_LOG_WRITER_H
#define CARET_LOG_WRITER_H

#include "shm/engine.h"

/* Lock the writer mutex, repairing after a dead owner.  CARET_OK, EVICTED, or
 * CORRUPT when the repair found damage.  On CARET_OK, log_head == log_applied. */
static inline int caret__writer_lock(struct caret__engine *e);
static inline void caret__writer_unlock(struct caret__engine *e);

/* What writer_slot says when that process has the mutex. */
static inline uint32_t caret__holder_of(uint32_t slot, uint32_t nonce)
{
    return (slot + 1) | nonce << CARET__HOLDER_SLOT_BITS;
}

/* The rest of locking, when a try has said `rc`; CARET__FORKED: none was made, in a child that has not attached. */
#define CARET__FORKED (-1)
int caret__writer_lock_slow(struct caret__engine *e, pthread_mutex_t *m, int rc);

static inline int caret__writer_lock(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;

    if (caret__unlikely(*e->fork_mark == 0))
        return caret__writer_lock_slow(e, NULL, CARET__FORKED);
    pthread_mutex_t *m = caret__writer_mutex(sh);
    caret__will_write(m);
    int rc = pthread_mutex_trylock(m);
    if (caret__unlikely(rc != 0 || !caret__slot_ours(e)))
        return caret__writer_lock_slow(e, m, rc);
    caret__held_note(m);
    atomic_store_explicit(&sh->writer_slot, caret__holder_of(e->slot, e->nonce), memory_order_relaxed);
    return CARET_OK;
}

static inline void caret__writer_unlock(struct caret__engine *e)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    atomic_store_explicit(&sh->writer_slot, 0, memory_order_relaxed);
    caret__mutex_unlock(caret__writer_mutex(sh));
}

/* The process in that slot is gone: see to it that nothing of it is being applied any more, repairing if it died
 * there.  Does not wait for a writer that lives, but for the repairer of this commit.  CARET_OK, or as above. */
int caret__writer_settle(struct caret__engine *e, uint32_t slot);

/* For readers (struct caret__view): a page is ahead of log_applied. */
int caret__stalled(void *engine, uint64_t version, unsigned tries);

#endif
