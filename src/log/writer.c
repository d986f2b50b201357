/*
 * writer.c - the writer mutex: one process at a time changes the tree.
 *
 * Its owner may die.  The next one that takes the mutex is told so, and repairs first (repair.c).
 *
 * The kernel hands a dead owner's mutex over by a list in the owner's own memory.  When it kills for want of memory
 * it may have taken that memory away before it looks: the mutex then stays locked for ever by nobody, an orphan.
 * A waiter that has seen a dead owner in writer_slot for ORPHAN_NS moves on to the next spare mutex:
 *   1  lock the spare.  Whoever moves has to, so there is one at a time; if it dies, the next one goes on.
 *   2  look again: writer_index and writer_slot are still those of the orphan.
 *   3  repair, as after a dead owner.
 *   4  writer_index = the spare's: from here on it is the writer mutex, and we hold it.
 * Nobody can get the orphan any more: its lock word names a dead thread, and the kernel looked at the
 * list before it dropped the record lock that told us of the death.  Its waiters look at writer_index whenever
 * their wait times out.  A process that lost its record lock but lives (it closed its descriptors) passes for dead
 * only if there is no process of its number either.
 */
#include "log/writer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "log/repair.h"
#include "shm/fail.h"
#include "tree/tree.h"

#define QUEUE_NS UINT64_C(10000000)

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#ifdef CARET_FAULTS /* a test waits for it often */
#define ORPHAN_NS UINT64_C(300000000)
#else
#define ORPHAN_NS UINT64_C(3000000000)
#endif
#define LOOK_NS (ORPHAN_NS / 3)

static inline uint32_t holder_slot(uint32_t holder) /* + 1 */
{
    return holder & ((1u << CARET__HOLDER_SLOT_BITS) - 1);
}

/* writer_slot, if the process it names is gone; else 0. */
static uint32_t dead_holder(struct caret__engine *e)
{
    uint32_t holder = atomic_load(&e->sh->writer_slot), slot = holder_slot(holder) - 1;

    if (holder == 0 || slot >= e->sh->max_procs)
        return 0;
    const struct caret__procslot *p = &e->slots[slot];
    uint32_t nonce = atomic_load(&p->nonce);
    pid_t pid = (pid_t)atomic_load(&p->pid);
    if (caret__holder_of(slot, nonce) != holder) /* it was gone when another process got its slot */
        return holder;
    if (caret__slot_alive(e, slot, nonce))
        return 0;
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH ? holder : 0;
}

/* Step 1 to 4.  The orphan has that index.  0: *m is the writer mutex now, and ours; EOWNERDEAD: the same, from a
 * dead owner; ETIMEDOUT: it was not an orphan, or look again; else nobody will write any more. */
static int leave_orphan(struct caret__engine *e, uint32_t index, uint32_t holder, pthread_mutex_t **m)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;

    if (index + 1 >= CARET__WRITER_MUTEXES)
        return ENOTRECOVERABLE; /* that was the last one */
    pthread_mutex_t *spare = &sh->spare_writer[index];
    int rc = caret__mutex_lock_within(spare, LOOK_NS);
    CARET_FAULT("spare_locked");
    if (rc != 0 && rc != EOWNERDEAD)
        return rc;
    uint32_t now = atomic_load(&sh->writer_index);
    if (now == index + 1) { /* another one moved: it is what we want */
        *m = spare;
        return rc;
    }
    int again = ETIMEDOUT;
    if (now == index && atomic_load(&sh->writer_slot) == holder) {
        again = caret__repair(e) == CARET_OK ? 0 : ENOTRECOVERABLE;
        CARET_FAULT("orphan_repaired");
    }
    if (rc == EOWNERDEAD && again != ENOTRECOVERABLE)
        caret__mutex_consistent(spare);
    if (again != 0) {
        caret__mutex_unlock(spare);
        return again;
    }
    atomic_store(&sh->writer_slot, caret__holder_of(e->slot, e->nonce));
    atomic_store(&sh->writer_index, index + 1);
    CARET_FAULT("orphan_left");
    *m = spare;
    return 0;
}

/* The mutex was busy: wait for it, or for another one that takes its place. */
static int wait_for_writer(struct caret__engine *e, pthread_mutex_t **m)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint32_t dead = 0, index;
    uint64_t since = 0;

    for (;;) {
        index = atomic_load(&sh->writer_index);
        *m = caret__writer_mutex(sh);
        int rc = caret__mutex_lock_within(*m, LOOK_NS);
        if (rc == 0 && atomic_load(&sh->writer_index) != index) { /* cannot be; but two writers must not */
            caret__mutex_unlock(*m);
            continue;
        }
        if (rc != ETIMEDOUT)
            return rc;
        uint32_t holder = dead_holder(e);
        if (holder == 0 || holder != dead || index != atomic_load(&sh->writer_index)) {
            dead = holder;
            since = caret__now_ns();
        } else if (caret__now_ns() - since >= ORPHAN_NS) {
            rc = leave_orphan(e, index, holder, m);
            if (rc != ETIMEDOUT)
                return rc;
        }
    }
}

int caret__writer_lock_slow(struct caret__engine *e, pthread_mutex_t *m, int rc)
{
    struct caret__shared *sh = e->sh;

    if (rc == CARET__FORKED) {
        rc = e->forked(e);
        if (rc != CARET_OK)
            return rc;
        m = caret__writer_mutex(sh);
        rc = pthread_mutex_trylock(m);
    }
    if (rc == EBUSY)
        rc = wait_for_writer(e, &m);
    else if (rc == 0 || rc == EOWNERDEAD)
        caret__held_note(m);
    if (rc != 0) {
        if (rc != EOWNERDEAD)
            return caret__damaged(e, "the writer mutex");
        rc = caret__repair(e);
        if (rc != CARET_OK) { /* left inconsistent: nobody writes any more */
            caret__mutex_unlock(m);
            return rc;
        }
        caret__mutex_consistent(m);
    }
    if (!caret__slot_ours(e)) {
        caret__mutex_unlock(m);
        return caret__fail(CARET_E_EVICTED,
                           "%s: this process lost its slot (were its descriptors closed?); open again",
                           e->path);
    }
    atomic_store_explicit(&sh->writer_slot, caret__holder_of(e->slot, e->nonce), memory_order_relaxed);
    return CARET_OK;
}

/* We have got the mutex of a dead owner, and want nothing else. */
static int repair_and_unlock(struct caret__engine *e, pthread_mutex_t *m)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    int rc = caret__repair(e);

    if (rc == CARET_OK)
        caret__mutex_consistent(m); /* else left inconsistent: nobody writes any more */
    caret__mutex_unlock(m);
    return rc;
}

/*
 * Whoever holds the mutex and lives, stopped perhaps, has nothing to do with the dead one, but for its repairer:
 * writer_slot is the dead one's until the repair is done and log_applied stored.  The kernel marks the mutex of
 * a dead owner before it drops the record lock that says so.
 */
int caret__writer_settle(struct caret__engine *e, uint32_t slot)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    pthread_mutex_t *m = caret__writer_mutex(sh);
    int rc = caret__mutex_trylock(m);

    if (rc == 0)
        caret__mutex_unlock(m);
    else if (rc == EOWNERDEAD)
        return repair_and_unlock(e, m);
    else if (rc != EBUSY)
        return caret__damaged(e, "the writer mutex");
    if (rc == 0 || holder_slot(atomic_load(&sh->writer_slot)) != slot + 1 ||
        atomic_load(&sh->log_head) == atomic_load(&sh->log_applied))
        return CARET_OK;
    rc = caret__writer_lock(e);
    if (rc == CARET_OK)
        caret__writer_unlock(e);
    return rc;
}

/*
 * A reader met a page that is ahead of log_applied.  Nearly always the writer is
 * between two stores: spin.  Then look at the mutex: its owner may be dead, and we
 * are told so and repair; or alive, but off the processor or stopped, perhaps for
 * ever: then the reader reads around it (tree/past.c).
 *
 * version 0: some other reason to look again and again.  All of them are changes by
 * writers that do go on; queueing up after them lets the reader in, and is given up
 * soon in case that it is now that one stops.
 */
int caret__stalled(void *engine, uint64_t version, unsigned tries)
{
    struct caret__engine *e = engine;

    if (tries < CARET__STALL_TRIES) {
        for (unsigned i = 0; i < 16; i++)
            cpu_pause();
        return CARET_OK;
    }
    if (version == 0 && tries % 16 != 0) {
        sched_yield();
        return CARET_OK;
    }
    pthread_mutex_t *m = caret__writer_mutex(e->sh);
    int rc = caret__mutex_trylock(m);
    if (rc == EBUSY && version != 0)
        return CARET_NONE;
    if (rc == EBUSY && tries < 4096) {
        sched_yield();
        return CARET_OK;
    }
    if (rc == EBUSY)
        rc = caret__mutex_lock_within(m, QUEUE_NS);
    if (rc == ETIMEDOUT)
        return CARET_OK;
    if (rc == EOWNERDEAD)
        return repair_and_unlock(e, m);
    if (rc == 0)
        caret__mutex_unlock(m);
    return rc == 0 ? CARET_OK : caret__damaged(e, "the writer mutex");
}
