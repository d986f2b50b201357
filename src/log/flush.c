/*
 * flush.c - from the ring to the log file, and to the disk.
 *
 *     written <= durable?  no:   durable <= written <= head
 *
 * The holder of the flush mutex reads log_head and pwrites [log_written, head) to the log file: LSN x lies at
 * (x - log_base) mod log_size.  log_written moves when all of it is written, also where the file ends in the
 * middle of a record: like log_durable it always stands after a whole one, for it is there that a recovery
 * begins to read the ring.  Ring space after log_written may be reused by writers.  To sync it marks
 * sync_in_progress, calls fdatasync, clears the mark and raises log_durable.  If runs (values out of line)
 * were written, the data file is synced first: a durable record never refers to bytes that are not.
 *
 * A holder that died during fdatasync leaves the mark: whether the kernel reported
 * an error to it is unknown, and it reports each only once.  The successor
 * therefore does not trust the log for what was underway: it asks for a checkpoint,
 * which rewrites the pages (and reports errors of its own).
 *
 * Big records.  A record too big for the ring (CARET__BIG_RECORD) is written to the
 * log by its committer, which holds flush and writer mutex, in this order:
 * everything before it, the record, ring_from = log_written = L, log_head = L.  Of
 * it the ring has only the trailer.  Whoever needs ring bytes looks no further back
 * than ring_from; whoever redoes the commit reads the record from the file.  A
 * death before log_head leaves log_written ahead of it: whoever gets one of the two
 * mutexes next sets it back.  If everybody dies there, the recovery may find the
 * record whole at the end of the chain and takes it: a commit that nobody was told
 * of, but whole, and valid where it stands.  The flush mutex is taken before the
 * writer mutex, never after it.
 *
 * A failed pwrite or fdatasync is final (io_failed): the kernel has dropped the
 * pages and a retry would report success.  Reads go on, writes are refused.  Only a
 * write that was not even made, for a limit of this process (shm/write.c), is not.
 */
#include "log/flush.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "disk/logfile.h"
#include "log/brake.h"
#include "log/checkpoint.h"
#include "shm/fail.h"
#include "shm/write.h"

uint64_t caret__log_offset(const struct caret__engine *e, uint64_t lsn, uint64_t *contiguous)
{
    uint64_t size = atomic_load(&e->sh->log_size), off = (lsn - atomic_load(&e->sh->log_base)) % size;
    if (contiguous != NULL)
        *contiguous = size - off;
    return off;
}

static int write_all(struct caret__engine *e, const uint8_t *p, uint64_t len, uint64_t off)
{
    int error = caret__file_write(caret__fd(&e->log_fd), p, len, off);

    return error == 0 ? CARET_OK : caret__io_failed(e, error, "writing the log");
}

/* The flush mutex is held: write what is new. */
static int write_ring(struct caret__engine *e)
{
    CARET__HELD(&e->sh->flush);
    struct caret__shared *sh = e->sh;
    uint64_t from = atomic_load(&sh->log_written),
             head = atomic_load_explicit(&sh->log_head, memory_order_acquire);

    if (head - from > sh->ring_size)
        return caret__fail(CARET_E_CORRUPT, "%s: shared memory is damaged: the log ring overflowed", e->path);
    while (from < head) {
        uint64_t room, off = caret__log_offset(e, from, &room), n = caret__min64(head - from, room);
        int rc = write_all(e, caret__ring_at(e, from), n, off);
        if (rc != CARET_OK)
            return rc;
        CARET_FAULT("flush_written");
        from += n;
    }
    atomic_store_explicit(&sh->log_written, head, memory_order_release);
    caret__brake_look(e);
    return CARET_OK;
}

static int sync_files(struct caret__engine *e)
{
    CARET__HELD(&e->sh->flush);
    struct caret__shared *sh = e->sh;
    uint64_t upto = atomic_load(&sh->log_written);

    if (upto == atomic_load(&sh->log_durable))
        return CARET_OK;
    if (caret__file_removed(&e->data_fd))
        return caret__fail(CARET_E_EVICTED,
                           "%s: was removed or replaced while it was open: it can't be saved", e->path);
    if (caret__file_removed(&e->log_fd))
        return caret__fail(CARET_E_EVICTED,
                           "%s: was removed while the database was open: a checkpoint, or closing, saves it",
                           e->log_path);
    atomic_store(&sh->sync_in_progress, 1);
    CARET_FAULT("flush_sync_begun");
    if (atomic_exchange(&sh->runs_unsynced, 0) != 0 && caret__fdatasync(caret__fd(&e->data_fd)) != 0)
        return caret__io_failed(e, errno, "syncing the data file");
    if (caret__fdatasync(caret__fd(&e->log_fd)) != 0)
        return caret__io_failed(e, errno, "syncing the log");
    CARET_FAULT("flush_synced");
    atomic_store(&sh->sync_in_progress, 0);
    atomic_store(&sh->log_durable, upto);
    atomic_fetch_add(&sh->durable_futex, 1);
    caret__futex_wake(&sh->durable_futex, INT32_MAX);
    atomic_fetch_add(&e->slots[e->slot].flushes, 1);
    return CARET_OK;
}

/* We hold the flush mutex after a dead owner: its unfinished sync asks for a checkpoint. */
static void owner_died(struct caret__shared *sh)
{
    CARET__HELD(&sh->flush);
    caret__log_set_back(sh);
    if (atomic_exchange(&sh->sync_in_progress, 0) != 0) {
        atomic_store(&sh->runs_unsynced, 1);
        atomic_store(&sh->checkpoint_wanted, 1);
    }
    caret__mutex_consistent(&sh->flush);
}

static int flush_lock(struct caret__engine *e)
{
    CARET__NOT_HELD(&e->sh->flush);
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    int rc = caret__mutex_lock(&sh->flush);

    if (rc == EOWNERDEAD) {
        owner_died(sh);
    } else if (rc != 0) {
        return caret__fail(CARET_E_CORRUPT, "%s: shared memory is damaged: the flush mutex", e->path);
    }
    return CARET_OK;
}

int caret__flush_hold(struct caret__engine *e)
{
    CARET__NOT_HELD(&e->sh->flush);
    CARET__ASSERT(!caret__writer_held(e->sh));
    if (atomic_load(&e->sh->io_failed) != 0)
        return caret__fail(CARET_E_IO_FAILED,
                           "%s: a write or sync failed earlier; close all users and open again", e->path);
    int rc = caret__fds_check(e);
    return rc == CARET_OK ? flush_lock(e) : rc;
}

int caret__flush_ring(struct caret__engine *e)
{
    CARET__HELD(&e->sh->flush);
    return write_ring(e);
}

void caret__flush_release(struct caret__engine *e)
{
    CARET__HELD(&e->sh->flush);
    caret__mutex_unlock(&e->sh->flush);
}

int caret__flush_record(struct caret__engine *e, const uint8_t *rec, uint32_t size)
{
    CARET__HELD(&e->sh->flush);
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t head = atomic_load(&sh->log_head), at = head, room;
    int rc = write_ring(e);

    for (uint32_t left = size; rc == CARET_OK && left != 0;) {
        uint64_t off = caret__log_offset(e, at, &room), n = caret__min64(left, room);
        rc = write_all(e, rec + (size - left), n, off);
        at += n;
        left -= (uint32_t)n;
    }
    if (rc != CARET_OK)
        return rc;
    CARET_FAULT("big_written");
    memcpy(caret__ring_at(e, head + size - 8), rec + size - 8, 8);
    atomic_store(&sh->ring_from, head + size);
    atomic_store(&sh->log_written, head + size);
    CARET_FAULT("big_ahead");
    return CARET_OK;
}

static int flush(struct caret__engine *e, uint64_t upto, bool sync)
{
    CARET__NOT_HELD(&e->sh->flush);
    struct caret__shared *sh = e->sh;
    if (upto == 0)
        upto = atomic_load(&sh->log_head);
    int rc = caret__flush_hold(e);
    if (rc != CARET_OK)
        return rc;
    if (atomic_load(&sh->log_written) < upto)
        rc = write_ring(e);
    bool doubtful = sync && atomic_load(&sh->checkpoint_wanted) != 0;
    if (rc == CARET_OK && sync && atomic_load(&sh->log_durable) < upto)
        rc = sync_files(e);
    caret__mutex_unlock(&sh->flush);
    return rc == CARET_OK && doubtful ? caret__checkpoint(e) : rc;
}

int caret__flush(struct caret__engine *e, uint64_t upto, bool sync)
{
    CARET__NOT_HELD(&e->sh->flush);
    if (!sync)
        return flush(e, upto, false);
    caret__away();
    int rc = flush(e, upto, true);
    caret__back();
    return rc;
}

/* Group commit: one of those who wait syncs for all whose records are in the ring by then. */
int caret__wait_durable(struct caret__engine *e, uint64_t lsn)
{
    CARET__NOT_HELD(&e->sh->flush);
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;

    sched_yield(); /* others that can run commit first, and share the sync: 3.9 times instead of 2.3 (bench/sync.c) */
    while (atomic_load(&sh->log_durable) < lsn) {
        uint32_t seen = atomic_load(&sh->durable_futex);
        int rc = caret__mutex_trylock(&sh->flush);
        if (rc == 0 || rc == EOWNERDEAD) {
            if (rc == EOWNERDEAD)
                owner_died(sh);
            caret__mutex_unlock(&sh->flush);
            rc = caret__flush(e, lsn, true);
            if (rc != CARET_OK)
                return rc;
        } else if (atomic_load(&sh->log_durable) < lsn) {
            caret__futex_wait(&sh->durable_futex, seen, UINT64_C(100000000));
        }
        if (atomic_load(&sh->io_failed) != 0)
            return caret__fail(CARET_E_IO_FAILED,
                               "%s: the commit is visible, but whether it is on the disk is unknown",
                               e->path);
    }
    return CARET_OK;
}
