/*
 * repair.c - the writer mutex, and what to do when its owner died.
 *
 * A dead owner may have been anywhere.  If log_head > log_applied its commit
 * exists and must become visible whole:
 *   1  undo_lsn > log_applied: restore the undo entries, last first.
 *   2  undo word = {generation + 1, 0} in one store; the pages that died in the commit,
 *      which are in no entry, are alive again (page/store.c).
 *   3  settle half-released page numbers; count free pages, slots and reservations anew.
 *   4  redo the record with the code that every commit uses, undo included.
 *   5  log_applied = log_head.
 * If it dies here, the next one does the same: before 2 the same entries are
 * restored again; between 2 and 4 there is nothing to restore, and what was taken back
 * stays so; in 4 the redo has
 * its own undo.  Versions are never restored: they stay at the LSN of the commit,
 * readers wait for log_applied or help to repair.
 * If log_head == log_applied the owner died before its commit point or behind the
 * end, or in a growth, freeze or release, whose steps are whole one by one; only
 * the counters may be off.
 *
 * The kernel hands a dead owner's mutex over by a list in the owner's own memory.  When it kills for want of memory
 * it may have taken that memory away before it looks: the mutex then stays locked for ever by nobody, an orphan.
 * Who has waited for a mutex for ORPHAN_NS while writer_slot named a process that is gone moves to the next
 * spare one:
 *   1  lock the spare.  Whoever moves has to, so there is one at a time; if it dies, the next one goes on.
 *   2  look again: writer_index and writer_slot are still those of the orphan.
 *   3  repair, as behind a dead owner.
 *   4  writer_index = the spare's: from here on it is the writer mutex, and we hold it.
 * Nobody can get the orphan any more: its lock word names a dead thread, and the kernel looked at the
 * list before it dropped the record lock that told us of the death.  Its waiters look at writer_index whenever
 * their wait times out.  A process that lost its record lock but lives (it closed its descriptors) passes for dead
 * only if there is no process of its number either.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "log/log.h"
#include "log/logfile.h"
#include "page/store.h"
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

static int damaged(struct caret__engine *e, const char *what)
{
    atomic_store(&e->sh->io_failed, (uint32_t)EUCLEAN);
    return caret__fail(CARET_E_CORRUPT, "%s: shared memory is damaged: %s; close all users and open again",
                       e->path, what);
}

/* Walk the undo entries from the end; false if they make no sense. */
static bool restore(struct caret__engine *e, uint64_t word)
{
    const uint8_t *area = e->undo + caret__undo_offset(caret__undo_area(word));
    uint32_t used = caret__undo_used(word);

    if (caret__undo_area(word) > CARET__UNDO_NEARS ||
        used > caret__undo_room(caret__undo_area(word), atomic_load(&e->sh->undo_cap)))
        return false;
    while (used != 0) {
        uint64_t place, len;
        if (used < CARET__UNDO_FOOT)
            return false;
        memcpy(&place, area + used - 16, 8);
        memcpy(&len, area + used - 8, 8);
        uint64_t size = ((len + 7) & ~UINT64_C(7)) + CARET__UNDO_FOOT;
        if (len > CARET__PAGE_SIZE || size > used || place > e->sh->seg_size - len)
            return false;
        used -= (uint32_t)size;
        caret__racy_copy(e->base + place, area + used, len);
        CARET_FAULT("repair_restored");
    }
    return true;
}

static void take_out(_Atomic uint64_t *word, uint64_t bits)
{
    if (atomic_load_explicit(word, memory_order_relaxed) & bits)
        atomic_fetch_and_explicit(word, ~bits, memory_order_relaxed);
}

/*
 * A page number that is in two maps at once was on its way from one to the other (log/held.c) when the checkpointer
 * died between its stores: it is where it was going to.  Left pending, or held, it would be freed once more after
 * somebody had taken it.
 */
static void settle_released(struct caret__engine *e)
{
    _Atomic uint64_t *fm = e->pg.maps[CARET__MAP_FREE], *held = e->pg.maps[CARET__MAP_HELD];

    for (uint32_t i = 0; i < CARET__BITMAP_WORDS(e->sh->ts.npages); i++) {
        uint64_t is_free = atomic_load_explicit(&fm[i], memory_order_relaxed);
        take_out(&held[i], is_free);
        take_out(&e->pg.maps[CARET__MAP_HOLLOW][i], is_free);
        is_free |= atomic_load_explicit(&held[i], memory_order_relaxed);
        take_out(&e->pg.maps[CARET__MAP_PENDING0][i], is_free);
        take_out(&e->pg.maps[CARET__MAP_PENDING1][i], is_free);
    }
}

static void recount(struct caret__engine *e)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__tstate *ts = &e->sh->ts;

    settle_released(e);
    ts->free_pages = caret__map_count(e->pg.maps[CARET__MAP_FREE], ts->npages);
    caret__racy_put32(&ts->dead_pages, caret__map_count(e->pg.maps[CARET__MAP_PENDING0], ts->npages) +
                                           caret__map_count(e->pg.maps[CARET__MAP_PENDING1], ts->npages));
    atomic_store(&e->sh->held_pages, caret__map_count(e->pg.maps[CARET__MAP_HELD], ts->npages));
    atomic_store(&e->sh->hollow_pages, caret__map_count(e->pg.maps[CARET__MAP_HOLLOW], ts->npages));
    atomic_store(&e->sh->nreserved, caret__reserved_count(e->sh));
    caret__racy_put32(&ts->free_slots,
                      caret__map_count(e->pg.maps[CARET__MAP_SLOTS], atomic_load(&e->sh->nslots)));
}

/* A record that is in the log only. */
struct big {
    struct caret__mapping mapped;
    uint8_t *read; /* where it can't be mapped */
};

/* Have it; NULL: a message says why not. */
static const uint8_t *look_at_big(struct caret__engine *e, uint64_t lsn, uint32_t size, struct big *big)
{
    struct caret__logfile file = {.fd = caret__fd(&e->log_fd),
                                  .path = e->log_path,
                                  .base = atomic_load(&e->sh->log_base),
                                  .size = atomic_load(&e->sh->log_size)};
    const uint8_t *rec = caret__log_map(&file, lsn, size, &big->mapped);

    big->read = NULL;
    if (rec != NULL)
        return rec;
    big->read = malloc(size);
    if (big->read == NULL)
        caret__fail(CARET_E_NOMEM, "%s: no memory to redo a commit of %u bytes", e->path, size);
    else if (caret__log_read(&file, lsn, big->read, size) == CARET_OK)
        return big->read;
    free(big->read);
    big->read = NULL;
    return NULL;
}

static void leave_big(struct big *big)
{
    caret__log_unmap(&big->mapped);
    free(big->read);
}

/* The tree is as it was, so what was counted then is counted again, and is there. */
static int apply_again(struct caret__engine *e, const uint8_t *rec, uint32_t size, uint64_t lsn)
{
    struct caret__need need;
    int rc = caret__record_need(e, rec, size, &need);

    return rc == CARET_OK ? caret__apply(e, rec, size, lsn, CARET__APPLY_REDO, need.in_rows) : rc;
}

/* The record [applied, head) once more. */
static int redo(struct caret__engine *e, uint64_t applied, uint64_t head)
{
    uint32_t size = (uint32_t)(head - applied);
    const uint8_t *rec = caret__ring_at(e, applied);
    struct big big = {0};
    uint64_t seed;
    int rc;

    memcpy(&seed, caret__ring_at(e, applied - 8), 8);
    if (size > CARET__BIG_RECORD) {
        rec = look_at_big(e, applied, size, &big);
        if (rec == NULL)
            return CARET_E_IO;
        seed = e->sh->big_seed; /* its trailer may lie in the ring where the one before it was */
    }
    if (caret__record_verify(seed, rec, size) != size)
        rc = damaged(e, "the record of the last commit");
    else
        rc = apply_again(e, rec, size, head);
    leave_big(&big);
    return rc;
}

int caret__repair(struct caret__engine *e)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t head = atomic_load(&sh->log_head), applied = atomic_load(&sh->log_applied);

    if (head < applied || head - applied > caret__record_limit(sh))
        return damaged(e, "log_head and log_applied do not fit");
    caret__flush_set_back(sh);
    memcpy(&sh->log_seed, caret__ring_at(e, head - 8), 8);
    if (head > applied) {
        uint64_t word = atomic_load(&sh->undo_word);
        if (atomic_load(&sh->undo_lsn) > applied && !restore(e, word))
            return damaged(e, "undo entries");
        atomic_store(&sh->undo_word, ((word >> 32) + 1) << 32);
        CARET_FAULT("repair_undone");
        caret__take_back(&e->pg, atomic_load(&sh->epoch), head);
        recount(e);
        int rc = redo(e, applied, head);
        if (rc != CARET_OK)
            return rc;
        CARET_FAULT("repair_redone");
        atomic_store_explicit(&sh->log_applied, head, memory_order_release);
    } else {
        recount(e);
    }
    atomic_fetch_add(&sh->repairs, 1);
    return CARET_OK;
}

/* ------------------------------------------------------- the mutex, and orphans */

#ifdef CARET_FAULTS /* a test waits for it often */
#define ORPHAN_NS UINT64_C(300000000)
#else
#define ORPHAN_NS UINT64_C(3000000000)
#endif
#define LOOK_NS (ORPHAN_NS / 3)

/* What writer_slot says when that process has the mutex. */
static inline uint32_t holder_of(uint32_t slot, uint32_t nonce)
{
    return (slot + 1) | nonce << CARET__HOLDER_SLOT_BITS;
}
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
    if (holder_of(slot, nonce) != holder) /* it was gone when another process got its slot */
        return holder;
    if (caret__slot_alive(e, slot, nonce))
        return 0;
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH ? holder : 0;
}

/* Step 1 to 4.  The orphan has that index.  0: *m is the writer mutex now, and ours; EOWNERDEAD: the same, from a
 * dead owner; ETIMEDOUT: it was no orphan, or look again; else nobody will write any more. */
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
    atomic_store(&sh->writer_slot, holder_of(e->slot, e->nonce));
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

int caret__writer_lock(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;

    if (caret__unlikely(*e->fork_mark == 0)) {
        int rc = e->forked(e);
        if (rc != CARET_OK)
            return rc;
    }
    pthread_mutex_t *m = caret__writer_mutex(sh);
    caret__will_write(m);
    int rc = pthread_mutex_trylock(m);
    if (caret__unlikely(rc == EBUSY))
        rc = wait_for_writer(e, &m);
    else if (rc == 0 || rc == EOWNERDEAD)
        caret__held_note(m);
    if (caret__unlikely(rc != 0)) {
        if (rc != EOWNERDEAD)
            return damaged(e, "the writer mutex");
        rc = caret__repair(e);
        if (rc != CARET_OK) { /* left inconsistent: nobody writes any more */
            caret__mutex_unlock(m);
            return rc;
        }
        caret__mutex_consistent(m);
    }
    if (caret__unlikely(!caret__slot_ours(e))) {
        caret__mutex_unlock(m);
        return caret__fail(CARET_E_EVICTED,
                           "%s: this process lost its slot (were its descriptors closed?); open again",
                           e->path);
    }
    atomic_store_explicit(&sh->writer_slot, holder_of(e->slot, e->nonce), memory_order_relaxed);
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

void caret__writer_unlock(struct caret__engine *e)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    atomic_store_explicit(&sh->writer_slot, 0, memory_order_relaxed);
    caret__mutex_unlock(caret__writer_mutex(sh));
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
        return damaged(e, "the writer mutex");
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
 * writers that do go on; queueing up behind them lets the reader in, and is given
 * up soon in case that it is now that one stops.
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
    return rc == 0 ? CARET_OK : damaged(e, "the writer mutex");
}
