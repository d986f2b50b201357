/*
 * lengthen.c - making the log longer while everybody writes.
 *
 * A checkpoint writes each page that was changed since the last one.  Where sets go everywhere, nearly each
 * of them changes another page, and a short log makes a checkpoint due before any page was changed twice.  So
 * when a checkpoint would write much more than the log has, the log becomes as long as it may,
 * CARET__LOG_MAX, or shorter if the disk has little room; unless somebody asked for its size.  At once: each
 * length in between would be used for a few checkpoints of a tree that is growing, all of which would be
 * written again.  How far a log is used is another matter (checkpoint.c).
 *
 * A record that takes more than three quarters of the log makes it longer too: its committer
 * takes a checkpoint with that wish and, still in the role, commits (commit.c).  If there
 * is no room the log stays, and the record is refused.
 *
 * LSN x lies at (x - base) mod size.  Let H be log_head at the freeze of epoch e:
 *
 *     base' = H - (H - base) mod size      limit = base' + size      size' > size
 *
 *      0            H            size                         size'
 *      |............|============|                            |       old: goes on at 0 from limit on
 *      |            |============|----------------------------|       new: at size
 *
 * From H to limit both say the same place.  The meta slot of e needs no LSN below H,
 * the one before it none from limit on, as long as nobody writes there.
 *
 *   1 make     role                       fallocate up to size', the record for readers there (shm/lockfile.c), fsync
 *   2 plan     role, writer mutex, in     log_limit; then next_base, next_epoch = e, next_size
 *              the freeze of e
 *   3 durable  role                       the meta slot of e says base', size'
 *   4 switch   role, flush, writer mutex  what the ring has is written, so that log_written >= base';
 *                                         log_base; log_size; next_size = 0; log_limit = 0
 *
 * What a death, of one or all, or a loss of power leaves:
 *   within 1   the same, or a part of it; where the disk is full the rest is given back at once
 *   after 1    a file longer than its log
 *   within 2   a limit without a plan: the next in the role takes it away, as at the end of 4
 *   after 2    everybody goes by the old place, and stays below the limit; a meta slot
 *              of e, whole or not, is found or not: either place is right
 *   after 3    the same; the next in the role does step 4 (next_epoch <= durable_epoch)
 *   within 4   base' with the old size: from base' on the same place
 * A plan of which the freeze did not come to its end is kept: the next freeze is of the same epoch, and its
 * head is still below the limit.  Whoever reads after checkpoint_lsn while the place changes finds bytes
 * that continue no chain (follow.c).
 *
 * No plan is made by a checkpoint that a replay takes: the records that are still to be done may go beyond the limit,
 * and after another death the next recovery would look for those at the new place.
 *
 * Invariants: no plan without a limit; head <= log_limit as long as there is one.
 */
#include "log/lengthen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/racy.h"
#include "disk/meta.h"
#include "log/flush.h"
#include "log/writer.h"
#include "shm/fail.h"
#include "shm/lockfile.h"
#include "shm/segment.h"
#include "shm/write.h"

#define DEAR       2u /* a checkpoint is: so many bytes of pages for a byte of log; arbitrary */
#define RECORD     sizeof(struct caret__lockrec) /* at the end of the file */
#define DISK_PART  4u                       /* of what the disk has left at most so much is taken at once */
#define LEAST_STEP (CARET__LOG_DEFAULT / 4) /* arbitrary: the next such record may be a little larger */
#define NEEDED_PART                                                                                          \
    2u /* the same for a record that is to be committed: the data file will take about as much */

/* Would the next checkpoint write much more than was logged, and is it the log that makes it due? */
static bool worthwhile(const struct caret__engine *e)
{
    const struct caret__shared *sh = e->sh;
    uint64_t size = atomic_load(&sh->log_size), head = atomic_load(&sh->log_applied);
    uint64_t log = head - atomic_load(&sh->checkpoint_lsn);
    uint64_t left = size - (head - atomic_load(&sh->log_base)) % size; /* before the place changes */
    uint64_t pages = atomic_load(&sh->nslots) - caret__racy32(&sh->ts.free_slots);

    return !caret__in_memory(e) && size < CARET__LOG_MAX && atomic_load(&sh->log_kind) != CARET__META_ASKED &&
           log >= size / 4 && left > size / 2 && pages * CARET__PAGE_SIZE > DEAR * log;
}

/* The longest file that all who have it open may write.  A process that comes later and may not write the log is
 * refused. */
static uint64_t file_limit(const struct caret__engine *e)
{
    uint64_t least = caret__file_size_limit();

    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++)
        if (atomic_load(&e->slots[i].state) == CARET__SLOT_USED)
            least = caret__min64(least, atomic_load(&e->slots[i].file_limit));
    return least;
}

/* May the log have that size, if it takes at most one of so many parts of what the disk has left? */
static bool is_possible(const struct caret__engine *e, uint64_t size, uint64_t want, unsigned parts)
{
    struct statvfs fs;

    if (caret__in_memory(e))
        return want + RECORD <= file_limit(e) &&
               caret__memory_fits(e, atomic_load(&e->sh->file_pages) * CARET__PAGE_SIZE, want,
                                  (want - size) * parts);
    return fstatvfs(caret__fd(&e->log_fd), &fs) == 0 && want + RECORD <= file_limit(e) &&
           want - size <= (uint64_t)fs.f_bavail * fs.f_frsize / parts;
}

/* The size it can have; the old one if there is no room for more. */
static uint64_t possible_size(const struct caret__engine *e, uint64_t size)
{
    uint64_t want = CARET__LOG_MAX;

    while (want > size && !is_possible(e, size, want, DISK_PART))
        want /= 2;
    return caret__max64(caret__align_down(want, 65536), size);
}

/* The size it is to have; the old one: it stays. */
static uint64_t next_size(const struct caret__engine *e, uint64_t size, uint64_t least)
{
    if (least <= size)
        return worthwhile(e) ? possible_size(e, size) : size;
    bool asked = atomic_load(&e->sh->log_kind) == CARET__META_ASKED;
    return !asked && least <= CARET__LOG_MAX && is_possible(e, size, least, NEEDED_PART) ? least : size;
}

/* What could be had of a longer file is of use to others. */
static int give_back(struct caret__engine *e, uint64_t size)
{
    CARET_FAULT("lengthen_refused");
    (void)!ftruncate(caret__fd(&e->log_fd), (off_t)(size + RECORD));
    return CARET_OK;
}

uint64_t caret__log_for_record(uint64_t size)
{
    return caret__min64(caret__align_up(size / 3 * 4 + 8, LEAST_STEP), CARET__LOG_MAX);
}

int caret__log_prepare(struct caret__engine *e, uint64_t least, uint64_t *size)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(!caret__writer_held(e->sh));
    uint64_t have = atomic_load(&e->sh->log_size), want;
    int rc;

    *size = 0;
    if (atomic_load(&e->sh->log_next_size) != 0 || caret__file_removed(&e->log_fd) || e->replays)
        return CARET_OK;
    want = next_size(e, have, least);
    if (want <= have)
        return CARET_OK;
    rc = caret__file_allocate(caret__fd(&e->log_fd), have + RECORD, want - have, want - have);
    if (rc != 0 || caret__lockrec_repeat(e, want) != CARET_OK)
        return give_back(e, have); /* it stays as it is, and the checkpoints are as dear as they were */
    CARET_FAULT("lengthen_made");
    if (caret__fsync(caret__fd(&e->log_fd)) != 0)
        return caret__io_failed(e, errno, "syncing the log");
    CARET_FAULT("lengthen_synced");
    *size = want;
    return CARET_OK;
}

void caret__log_plan(struct caret__engine *e, uint32_t epoch, uint64_t size)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t have = atomic_load(&sh->log_size), head = atomic_load(&sh->log_head);

    if (size == 0)
        return;
    sh->log_next_base = head - (head - atomic_load(&sh->log_base)) % have;
    sh->log_next_epoch = epoch;
    sh->log_room = 0;
    atomic_store(&sh->log_limit, sh->log_next_base + have);
    CARET_FAULT("lengthen_limited");
    atomic_store(&sh->log_next_size, size);
    CARET_FAULT("lengthen_planned");
}

static void set_place(struct caret__shared *sh, uint64_t base, uint64_t size)
{
    atomic_store(&sh->log_kind, CARET__META_LONGER);
    atomic_store(&sh->log_base, base);
    CARET_FAULT("lengthen_base");
    atomic_store(&sh->log_size, size);
    CARET_FAULT("lengthen_size");
    atomic_store(&sh->log_next_size, 0);
    CARET_FAULT("lengthen_switched");
}

int caret__log_switch(struct caret__engine *e)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t size = atomic_load(&sh->log_next_size);

    if (atomic_load(&sh->log_limit) == 0 ||
        (size != 0 && atomic_load(&sh->durable_epoch) < sh->log_next_epoch))
        return CARET_OK;
    int rc = caret__flush_hold(e);
    if (rc != CARET_OK)
        return rc;
    rc = caret__flush_ring(e);
    if (rc == CARET_OK)
        rc = caret__writer_lock(e);
    if (rc == CARET_OK) {
        if (size != 0)
            set_place(sh, sh->log_next_base, size);
        atomic_store(&sh->log_limit, 0);
        caret__writer_unlock(e);
    }
    caret__flush_release(e);
    CARET_FAULT("lengthen_done");
    return rc;
}
