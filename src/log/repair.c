/*
 * repair.c - making the state whole after the death of the owner of the writer mutex.
 *
 * A dead owner may have been anywhere.  If log_head > log_applied its commit
 * exists and must become visible whole:
 *   1  undo_lsn > log_applied: restore the undo entries, last first.
 *   2  undo word = {generation + 1, 0} in one store; the pages that died in the commit,
 *      which are in no entry, are alive again (page/store.c).
 *   3  settle half-released page numbers; count free pages, slots and reservations anew.
 *   4  redo the record with the code that every commit uses, undo included.
 *   5  log_applied = log_head.
 * If it dies here, the next one does the same: before 2 the same entries are restored
 * again; between 2 and 4 there is nothing to restore, and what was taken back stays
 * so; in 4 the redo has its own undo.  Versions are never restored: they stay at the
 * LSN of the commit, readers wait for log_applied or help to repair.  If log_head ==
 * log_applied the owner died before its commit point or after the end, or in a growth,
 * freeze or release, whose steps are whole one by one; only the counters may be off.
 */
#include "log/repair.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "disk/logfile.h"
#include "disk/record.h"
#include "log/apply.h"
#include "log/await.h"
#include "log/flush.h"
#include "page/store.h"
#include "shm/fail.h"
#include "tree/tree.h"

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
 * A page number that is in two maps at once was on its way from one to the other (log/release.c) when the checkpointer
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
    if (ts->lent_pages != 0)
        ts->lent_pages =
            caret__map_count(e->pg.maps[caret__lent_map(atomic_load(&e->sh->epoch))], ts->npages);
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
        rc = caret__damaged(e, "the record of the last commit");
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
        return caret__damaged(e, "log_head and log_applied do not fit");
    caret__log_set_back(sh);
    memcpy(&sh->log_seed, caret__ring_at(e, head - 8), 8);
    if (head > applied) {
        uint64_t word = atomic_load(&sh->undo_word);
        if (atomic_load(&sh->undo_lsn) > applied && !restore(e, word))
            return caret__damaged(e, "undo entries");
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
    if (atomic_load(&sh->awaiting) != 0) /* the writer that died has woken no waiter */
        caret__await_wake(e, NULL, 0);
    return CARET_OK;
}
