/*
 * recover.c - the first to open makes a segment from what the last ones left.
 *
 * Power loss, kill -9 of everybody, a reboot, a clean close: one path.  Under the
 * gate, with nobody else alive:
 *
 *   0  settle  what the last ones wrote last may only be in the page cache, or lost there (a sync of theirs had
 *              failed): the meta slot that counts is written once more and synced, before anything relies on it.
 *   1  log     clean: a fresh log file.  Else it must be there, as long as the meta says.
 *   2  rescue  not clean, same boot, and the old segment still exists: commits that
 *              are only in its ring are appended to the log file.
 *      sweep   segments that no database needs (orphan.c), and those of this one that the record does not name, go.
 *   3  build   a new segment: tree and free map of the checkpoint, no page changed.
 *   4  replay  the log (replay.c) up to the end of its chain.  If no old segment was found, a checkpoint of
 *      the same tree comes
 *              first, as soon as the whole chain was seen.  Those who still read in the old one, which may be in the
 *              shared memory of another container, are not told by its `ended`; they see the meta slot, before any
 *              page of theirs is written over.
 *   5  begin   generation + 1: a new chain, so that no old record can ever continue
 *              it; a checkpoint, not clean, makes this durable.
 *   6  publish the record in the lock file names the new segment; old ones are unlinked.
 *
 * Death anywhere: before 5 is durable, the next one starts at 1 and finds the same
 * (2 writes the same bytes to the same places; checkpoints within 4 only shorten
 * the replay).  After it, the old segment is of an older generation than the meta:
 * everything in it is in the file, it is ignored.  Errors leave the old segment,
 * the record and the log, so that the next opener can do better (more room).
 *
 * Errors of an opening after a clean close: what was made goes, the file is as it was.
 * That ends where 5 begins to write its meta slot.  It is not clean, so it needs its
 * log; and whether a write or sync that failed has reached the disk nobody can tell.
 * So from there on the log stays.  It fits to what the slot says, if that is there, and a
 * file that is clean does not look at it.  All that can be done before is done before: the
 * record of 6 is composed, and has its block on the disk.
 *
 * The rescue.  W = log_written, D = log_durable, H = log_head of the old segment:
 *
 *        meta.lsn ......... D ......... W ......... H
 *        in the pages       | on disk   | in the    | only in the
 *        before it          |           | page cache| ring
 *
 * The ring is copied from D on, not only from W, as the page cache may have lost
 * what a failed sync had in hand; but not from further back than half a ring, as a
 * writer that died may have been copying its next record there.  All of it must
 * continue the chain of the file, and the replay must reach H: what was
 * acknowledged to users is never dropped in silence.  The old segment is hostile:
 * its numbers are checked, the bytes are copied before they are looked at.
 *
 * Its slots' nonces are raised first.  A process that is alive but lost its record
 * locks (it closed all descriptors) finds itself evicted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/racy.h"
#include "disk/record.h"
#include "log/archive.h"
#include "log/checkpoint.h"
#include "log/hollow.h"
#include "log/writer.h"
#include "open/open.h"
#include "open/orphan.h"
#include "shm/lockfile.h"
#include "shm/write.h"

#define IN_MEMORY                                                                                            \
    4u /* the usual length of a log by that of one in memory: what it holds is in memory twice; arbitrary */

/* What the old segment knew. */
struct rescue {
    struct caret__engine old; /* the segment, mapped */
    uint64_t head;            /* LSN that the log must reach; 0 = no old segment */
    uint64_t from;            /* its ring is of use from here on */
    char path[sizeof((struct caret__lockrec *)0)->seg_path]; /* to be unlinked; "" = none */
};

/* ---------------------------------------------------------------- log file */

static int log_failed(const struct caret__engine *e, const char *what)
{
    return caret__fail_errno(caret__write_code(errno), "%s: cannot %s the log file", e->log_path, what);
}

static void remove_log(const struct caret__engine *e)
{
    if (!caret__in_memory(e))
        unlink(e->log_path);
}

/* One that has no name takes memory as it is written. */
static int make_log_in_memory(struct caret__engine *e, uint64_t size)
{
    if (caret__fd_memory(&e->log_fd) && ftruncate(caret__fd(&e->log_fd), (off_t)size) == 0)
        return CARET_OK;
    return caret__fail_errno(CARET_E_SHM, "%s: cannot be made", e->log_path);
}

/* A fresh one. */
static int create_log(struct caret__engine *e, const struct caret__start *start, uint64_t size)
{
    size += sizeof(struct caret__lockrec); /* where readers find it */
    if (!caret__file_size_allowed(size))
        return caret__fail(CARET_E_DISKFULL, "%s: larger than this process may write (ulimit -f)",
                           e->log_path);
    if (caret__in_memory(e))
        return make_log_in_memory(e, size);
    if (!caret__fd_set(&e->log_fd,
                       caret__open_high(e->log_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)))
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot create the log file", e->log_path);
    caret__file_rights(caret__fd(&e->log_fd), start->id.uid, start->id.gid, start->id.mode);
    errno = caret__file_allocate(caret__fd(&e->log_fd), 0, size, size);
    if (errno != 0)
        return caret__fail_errno(caret__write_code(errno), "%s: no room for a log of %llu KiB", e->log_path,
                                 (unsigned long long)size >> 10);
    if (caret__fsync(caret__fd(&e->log_fd)) != 0 || caret__fsync(caret__fd(&e->dir_fd)) != 0)
        return log_failed(e, "sync");
    CARET_FAULT("recover_log_made");
    return CARET_OK;
}

static int log_missing(const struct caret__engine *e, const struct caret__meta_pair *pair)
{
    if (pair->reach != 0)
        return caret__fail(
            CARET_E_CORRUPT,
            "%s: page 0 or %u (meta slots): one is damaged, and there is no log %s, without which the "
            "other one is not enough",
            e->path, CARET__META_SPACING / CARET__PAGE_SIZE, e->log_path);
    return caret__fail(CARET_E_CORRUPT,
                       "%s: was not closed cleanly and its log %s is missing: "
                       "commits since the last checkpoint are in it",
                       e->path, e->log_path);
}

static int open_log(struct caret__engine *e, const struct caret__meta_pair *pair)
{
    const struct caret__meta *m = &pair->meta;
    struct stat st;

    int access = e->readonly ? O_RDONLY : O_RDWR;
    if (!e->readonly && !caret__file_size_allowed(m->log_size + sizeof(struct caret__lockrec)))
        return caret__fail(CARET_E_DISKFULL, "%s: larger than this process may write (ulimit -f)",
                           e->log_path);
    bool open = caret__fd_set(&e->log_fd,
                              caret__open_high(e->log_path, access | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0));
    if (!open && errno == ENOENT)
        return log_missing(e, pair);
    if (!open || fstat(caret__fd(&e->log_fd), &st) != 0)
        return caret__fail_errno(CARET_E_OPEN, "%s: was not closed cleanly, and its log cannot be opened",
                                 e->log_path);
    if (!S_ISREG(st.st_mode))
        return caret__fail_for(EINVAL, CARET_E_OPEN, "%s: the log file is not a regular file", e->log_path);
    if ((uint64_t)st.st_size < m->log_size)
        return caret__fail(CARET_E_CORRUPT, "%s: the log is shorter (%llu bytes) than it must be (%llu)",
                           e->log_path, (unsigned long long)st.st_size, (unsigned long long)m->log_size);
    return CARET_OK;
}

/*
 * Step 0.  A clean file without a log was closed to the end, and the last closing removes the log after its sync.  Else
 * it may have been killed before that, or the sync failed: a loss of power would bring back the slot before, whose
 * log and pages this recovery is going to give up.
 */
static int settle_meta(struct caret__engine *e, const struct caret__start *start, bool clean)
{
    struct caret__meta m = start->pair.meta;

    if (clean && (caret__in_memory(e) || (access(e->log_path, F_OK) != 0 && errno == ENOENT)))
        return CARET_OK;
    int rc = caret__meta_write(caret__fd(&e->data_fd), e->path, &m);
    if (rc == CARET_OK && caret__fdatasync(caret__fd(&e->data_fd)) != 0)
        rc = caret__fail_errno(CARET_E_IO, "%s: cannot be synced", e->path);
    CARET_FAULT("recover_settled");
    return rc;
}

/* Nobody has asked for a size: it may take half of what the disk has, as the file is to grow, too; little of memory. */
static uint64_t default_log_size(const struct caret__engine *e)
{
    uint64_t size = CARET__LOG_DEFAULT, record = sizeof(struct caret__lockrec); /* after it */
    struct statvfs fs;

    if (caret__in_memory(e))
        return caret__max64(size / IN_MEMORY, CARET__LOG_LEAST);
    if (fstatvfs(caret__fd(&e->dir_fd), &fs) != 0 || fs.f_blocks == 0) /* f_blocks 0: a tmpfs without limit */
        return size;
    while (size / 2 >= CARET__LOG_LEAST && size + record > (uint64_t)fs.f_bavail * fs.f_frsize / 2)
        size /= 2;
    return size;
}

static int prepare_log(struct caret__engine *e, struct caret__start *start)
{
    struct caret__meta *m = &start->pair.meta;

    if ((m->flags & CARET__META_CLEAN) == 0)
        return open_log(e, &start->pair);
    m->log_base = caret__log_begins(m->lsn);
    remove_log(e); /* it belongs to a database that was closed cleanly */
    m->log_size =
        e->options.log_size != 0 ? caret__align_up(e->options.log_size, 65536) : default_log_size(e);
    for (;;) {
        int rc = create_log(e, start, m->log_size);
        bool smaller = e->options.log_size == 0 && m->log_size / 2 >= CARET__LOG_LEAST;
        if (rc != CARET_E_DISKFULL || !smaller)
            return rc;
        caret__fd_close(&e->log_fd); /* nobody has asked for this size: what the disk has is enough */
        remove_log(e);
        m->log_size /= 2;
    }
}

/* ------------------------------------------------------------------ rescue */

static int not_connected(struct caret__engine *e, const char *why)
{
    return caret__fail(CARET_E_CORRUPT,
                       "%s: shared memory of the last users (%s) and the log do not fit together: %s",
                       e->path, e->seg_path, why);
}

static void evict_all(struct caret__engine *old)
{
    atomic_store(&old->sh->ended, 1);
    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        if (atomic_load(&old->slots[i].state) != CARET__SLOT_FREE)
            atomic_fetch_add(&old->slots[i].nonce, 1);
    }
}

/* From which LSN on is the ring to be copied? */
static int choose_range(struct rescue *r, const struct caret__meta *m)
{
    const struct caret__shared *sh = r->old.sh;
    uint64_t half = CARET__RING_SIZE / 2;
    uint64_t written = caret__max64(atomic_load(&sh->log_written), m->lsn);
    uint64_t durable = caret__max64(atomic_load(&sh->log_durable), m->lsn);
    uint64_t from = atomic_load(&sh->ring_from);

    r->head = atomic_load(&sh->log_head);
    if (written > r->head && written == from) /* died with a big record written, but not committed */
        written = from = r->head;
    if (r->head < m->lsn || r->head % 8 != 0 || r->head - m->lsn > m->log_size)
        return not_connected(&r->old, "log_head");
    if (written > r->head || written % 8 != 0 || r->head - written > CARET__RING_SIZE - 8)
        return not_connected(&r->old, "log_written");
    r->from = written;
    if (durable < written && durable % 8 == 0 && r->head - durable <= half && durable >= from)
        r->from = durable;
    return CARET_OK;
}

/* Check the old ring's records [from, head), copied to buf, against the chain. */
static int verify_ring(struct rescue *r, uint64_t seed, const uint8_t *buf)
{
    uint64_t len = r->head - r->from, at = 0;

    while (at < len) {
        uint32_t size = caret__record_verify(seed, buf + at, len - at);
        if (size == 0)
            return not_connected(&r->old, "a record in the ring does not continue the chain");
        memcpy(&seed, buf + at + size - 8, 8);
        at += size;
    }
    return CARET_OK;
}

static struct caret__logfile log_file(const struct caret__engine *e, const struct caret__meta *m)
{
    return (struct caret__logfile){
        .fd = caret__fd(&e->log_fd), .path = e->log_path, .base = m->log_base, .size = m->log_size};
}

/* The old segment is mapped and of this generation: *buf gets what only its ring has, NULL if nothing. */
static int take_ring(struct caret__engine *e, struct rescue *r, const struct caret__meta *m, uint8_t **buf)
{
    struct caret__logfile file = log_file(e, m);
    uint64_t seed = m->chain_seed, len = r->head - r->from;
    int rc = CARET_OK;

    *buf = NULL;
    if (len == 0)
        return CARET_OK;
    *buf = malloc(len);
    if (*buf == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to recover it", e->path);
    memcpy(*buf, r->old.ring + r->from % CARET__RING_SIZE, len);
    if (r->from > m->lsn)
        rc = caret__log_read(&file, r->from - 8, &seed, 8);
    if (rc == CARET_OK)
        rc = verify_ring(r, seed, *buf);
    CARET_FAULT("recover_ring_checked");
    return rc;
}

/* Append that to the log file. */
static int copy_ring(struct caret__engine *e, struct rescue *r, const struct caret__meta *m)
{
    struct caret__logfile file = log_file(e, m);
    uint8_t *buf;
    int rc = take_ring(e, r, m, &buf);

    if (rc == CARET_OK && buf != NULL)
        rc = caret__log_write(&file, r->from, buf, r->head - r->from);
    free(buf);
    CARET_FAULT("recover_ring_copied");
    return rc;
}

/* Map the segment that the lock file's record names, if it may hold something. */
static int find_old(struct caret__engine *e, struct rescue *r, const struct caret__start *start)
{
    struct caret__lockrec rec;
    int rc = caret__lockrec_read(e, &rec);

    if (rc != CARET_OK)
        return rc;
    if (rec.dev != start->id.dev || rec.ino != start->id.ino || memcmp(rec.uuid, start->id.uuid, 16) != 0)
        return CARET_NONE; /* of another file that once had this name */
    memcpy(r->path, rec.seg_path, sizeof r->path);
    r->old.path = e->path;
    r->old.data_fd = e->data_fd;
    r->old.observes = e->observes ? CARET__OBSERVES_LIVE : CARET__OBSERVES_NOT; /* reading only */
    rc = caret__segment_attach(&r->old, &start->id, rec.seg_path);
    if (rc == CARET_E_VERSION || rc == CARET_E_CORRUPT)
        return caret__fail(
            rc,
            "%s: the shared memory of its last users, %s, can't be read by this build (or is damaged), "
            "and may hold commits; open with the build that made it, or remove it",
            e->path, rec.seg_path);
    uint32_t generation = rc == CARET_OK ? r->old.sh->generation : 0;
    if (rc != CARET_OK || generation == start->pair.meta.generation)
        return rc;
    caret__segment_close(&r->old);
    bool later = generation > start->pair.meta.generation && start->pair.reach != 0;
    return later ? caret__meta_newest_damaged(e->path)
                 : CARET_NONE; /* with both slots whole, a backup was copied over it */
}

/* All that the old segment was needed for is in the log, on the disk: its memory may be scarce. */
static void release_memory(const struct caret__engine *old)
{
    const struct caret__shared *sh = old->sh;
    off_t ptab = (off_t)sh->off_ptab, ring = (off_t)sh->off_ring, arena = (off_t)sh->off_arena;

    fallocate(caret__fd(&old->shm_fd), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, ptab, ring - ptab);
    fallocate(caret__fd(&old->shm_fd), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, arena,
              (off_t)old->map_len - arena);
}

/* Step 2; r->head tells what the log must reach then. */
static int rescue(struct caret__engine *e, struct rescue *r, struct caret__start *start)
{
    int rc = find_old(e, r, start);
    bool found = rc == CARET_OK;

    if (found) {
        evict_all(&r->old);
        start->slots = r->old.sh->max_slots;
        rc = choose_range(r, &start->pair.meta);
        if (rc == CARET_OK)
            rc = copy_ring(e, r, &start->pair.meta);
    } else if (rc == CARET_NONE) {
        rc = CARET_OK;
    }
    /* also what the file has: it may only be in the page cache */
    if (rc == CARET_OK && caret__fdatasync(caret__fd(&e->log_fd)) != 0)
        rc = log_failed(e, "sync");
    CARET_FAULT("recover_rescued");
    if (found && rc == CARET_OK)
        release_memory(&r->old);
    if (found)
        caret__segment_close(&r->old);
    return rc;
}

/* ------------------------------------------------------------------- build */

/* Who chose the size of the log?  Before slots said so a longer one than usual had been asked for. */
static uint32_t log_kind(const struct caret__engine *e, const struct caret__meta *m)
{
    uint32_t kind = m->flags & (CARET__META_ASKED | CARET__META_LONGER);

    if ((m->flags & CARET__META_CLEAN) != 0) /* it is a new one */
        return e->options.log_size != 0 ? CARET__META_ASKED : 0;
    return kind == 0 && m->log_size > CARET__LOG_DEFAULT ? CARET__META_ASKED : kind;
}

static void fill_words(struct caret__engine *e, const struct caret__meta *m)
{
    struct caret__shared *sh = e->sh;
    _Atomic uint64_t *words[] = {&sh->log_head, &sh->log_applied,    &sh->log_written, &sh->log_durable,
                                 &sh->undo_lsn, &sh->checkpoint_lsn, &sh->ring_from};

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        atomic_store(words[i], m->lsn);
    memcpy(caret__ring_at(e, m->lsn - 8), &m->chain_seed, 8);
    atomic_store(&sh->log_base, m->log_base);
    atomic_store(&sh->log_size, m->log_size);
    atomic_store(&sh->log_kind, log_kind(e, m));
    sh->checkpoint_seed = m->chain_seed;
    sh->generation = m->generation;
    sh->created = m->created;
    atomic_store(&sh->epoch, m->epoch + 1);
    atomic_store(&sh->durable_epoch, m->epoch);
    atomic_store(&sh->released_epoch, m->epoch);
    atomic_store(&sh->ts.root, m->root);
    sh->ts.depth = m->depth;
    sh->ts.nodes = m->nodes;
    sh->ts.has_runs = m->has_runs;
}

static int build(struct caret__engine *e, const struct caret__start *start)
{
    const struct caret__meta *m = &start->pair.meta;
    uint32_t count;
    int rc = e->alone ? caret__segment_private(e, &start->id, m->npages, true)
                      : caret__segment_create(e, &start->id, e->options.shm_dir, m->npages, start->slots);

    if (rc != CARET_OK)
        return rc;
    fill_words(e, m);
    rc = caret__images_read(e, m->epoch, m->npages, &count);
    e->sh->ts.free_pages = count;
    if (rc == CARET_OK)
        caret__hollow_look(e);
    CARET_FAULT("recover_built");
    return rc;
}

/* ------------------------------------------------------------------- begin */

/* A new chain from here on, and a checkpoint that says so. */
static int begin_generation(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;
    uint64_t seed = caret__chain_start(sh->generation + 1);
    int rc = caret__writer_lock(e);

    if (rc != CARET_OK)
        return rc;
    sh->generation++;
    memcpy(caret__ring_at(e, atomic_load(&sh->log_head) - 8), &seed, 8);
    sh->log_seed = seed;
    caret__writer_unlock(e);
    rc = caret__checkpoint_as(e, true, false);
    CARET_FAULT("recover_begun");
    return rc;
}

/* Has the process in that slot, which is gone, pages reserved?  Nobody makes such entries any more. */
static bool has_reserved(const struct caret__engine *e, uint32_t slot)
{
    const struct caret__reserved *r = e->sh->reserved;

    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++)
        if (caret__racy32(&r[i].count) != 0 && caret__racy32(&r[i].owner) == slot)
            return true;
    return false;
}

static int drop_reserved(struct caret__engine *e, uint32_t slot)
{
    struct caret__shared *sh = e->sh;
    int rc = caret__writer_lock(e);

    if (rc != CARET_OK)
        return rc;
    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++) {
        if (sh->reserved[i].count != 0 && sh->reserved[i].owner == slot)
            caret__reserved_drop(sh, &sh->reserved[i]);
    }
    caret__writer_unlock(e);
    return CARET_OK;
}

int caret__reap(struct caret__engine *e, uint32_t slot, uint32_t nonce)
{
    int rc = caret__writer_settle(e, slot); /* repairs, if it died with it */

    if (rc == CARET_OK && has_reserved(e, slot))
        rc = drop_reserved(e, slot);
    if (rc != CARET_OK)
        return rc;
    caret__snapshots_drop(e, slot);
    CARET_FAULT("reap_unlocked");
    if (caret__reap_hook != NULL)
        caret__reap_hook(e, slot, nonce);
    return CARET_OK;
}

/*
 * Memory that nobody needs goes before a new segment asks for some: when kills have filled the folder, no opening would
 * come to its end and sweep.  Of this database the record names the one that counts; closed cleanly, none does.
 */
static void make_room(const struct caret__engine *e, const struct caret__start *start, const struct rescue *r,
                      bool clean)
{
    if (caret__in_memory(e)) /* it asks for nothing there */
        return;
    if (clean || r->path[0] != '\0')
        caret__segment_sweep(&start->id, e->options.shm_dir, r->path);
    caret__shm_sweep(&start->id, e->options.shm_dir, r->path);
    CARET_FAULT("recover_swept");
}

/* Steps 3 to 6; the segment is unlinked again when one fails. */
static int take_over(struct caret__engine *e, const struct caret__start *start, const struct rescue *r)
{
    CARET__HELD(&e->lock_fd);
    uint64_t reach = caret__max64(r->head, start->pair.reach);
    struct caret__lockrec rec;
    int rc = build(e, start);

    if (rc == CARET_OK && e->options.archive != NULL)
        caret__archive_set(e->sh, e->options.archive);
    if (rc == CARET_OK)
        rc = caret__slot_take(e, caret__reap);
    if (rc == CARET_OK && (start->pair.meta.flags & CARET__META_CLEAN) == 0)
        rc = caret__replay(e, reach, r->head == 0, start->pair.reach != 0);
    CARET_FAULT("recover_replayed");
    if (rc == CARET_OK && !caret__in_memory(e))
        rc = caret__lockrec_make(e, start->id.uuid, &rec);
    if (rc == CARET_OK)
        rc = begin_generation(e);
    caret__segment_shared(e->sh);
    if (rc == CARET_OK && !caret__in_memory(e))
        rc = caret__lockrec_write(e, &rec);
    CARET_FAULT("recover_published");
    if (rc != CARET_OK) {
        caret__segment_unlink(e);
        return rc;
    }
    if (r->path[0] != '\0')
        unlink(r->path); /* may be in another directory */
    if (!caret__in_memory(e))
        caret__segment_sweep(&start->id, e->options.shm_dir, e->seg_path);
    return CARET_OK;
}

/* Since it was closed so?  Then the lock file names a segment, or a record lies where the log of a session begins. */
static bool session_began(struct caret__engine *e, const struct caret__start *start)
{
    struct caret__lockrec rec;
    uint64_t lsn = start->pair.meta.lsn, first = 0;

    if (caret__lockrec_read(e, &rec) == CARET_OK && memcmp(rec.uuid, start->id.uuid, sizeof rec.uuid) == 0)
        return true;
    int fd = caret__open_high(e->log_path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return errno != ENOENT;
    ssize_t n = pread(fd, &first, sizeof first, (off_t)(lsn - caret__log_begins(lsn)));
    close(fd);
    return n < 0 || first != 0;
}

/*
 * Closed cleanly, there is no log that could make up for a damaged slot.  One of a session that began after that says
 * no later LSN, and has all its commits in its log; but if nothing has begun, it was torn when that should.
 */
static int check_clean(struct caret__engine *e, const struct caret__start *start, bool clean)
{
    const struct caret__meta_pair *pair = &start->pair;

    if (!clean || pair->reach == 0 || pair->older)
        return CARET_OK;
    if (pair->reach <= pair->meta.lsn && !session_began(e, start))
        return CARET_OK;
    return caret__meta_newest_damaged(e->path);
}

int caret__recover(struct caret__engine *e, struct caret__start *start)
{
    CARET__HELD(&e->lock_fd);
    bool clean = (start->pair.meta.flags & CARET__META_CLEAN) != 0;
    int rc = check_clean(e, start, clean);

    if (rc != CARET_OK)
        return rc; /* with the log, which salvage may want */
    struct rescue *r = calloc(1, sizeof *r);
    if (r == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to recover it", e->path);
    rc = settle_meta(e, start, clean);
    if (rc == CARET_OK)
        rc = caret__lockrec_reserve(e);
    if (rc == CARET_OK)
        rc = prepare_log(e, start);
    if (rc == CARET_OK && !clean)
        rc = rescue(e, r, start);
    if (rc == CARET_OK)
        make_room(e, start, r, clean);
    if (rc == CARET_OK)
        rc = take_over(e, start, r);
    if (rc != CARET_OK && clean && !e->meta_written)
        remove_log(e);
    free(r);
    return rc;
}

/* ----------------------------------------------------------------- private */

int caret__log_tail(struct caret__engine *e, const struct caret__start *start, uint64_t *reach)
{
    struct rescue *r = calloc(1, sizeof *r);

    if (r == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to read it", e->path);
    e->log_end = start->pair.meta.log_size;
    int rc = find_old(e, r, start);
    if (rc == CARET_OK) {
        rc = choose_range(r, &start->pair.meta);
        if (rc == CARET_OK)
            rc = take_ring(e, r, &start->pair.meta, &e->log_tail);
        e->log_tail_from = r->from;
        e->log_tail_len = e->log_tail != NULL ? r->head - r->from : 0;
        e->log_durable = caret__max64(atomic_load(&r->old.sh->log_durable), start->pair.meta.lsn);
        *reach = caret__max64(*reach, r->head);
        caret__segment_close(&r->old);
    } else if (rc == CARET_NONE) {
        rc = CARET_OK;
    }
    free(r);
    return rc;
}

int caret__recover_private(struct caret__engine *e, struct caret__start *start)
{
    const struct caret__meta *m = &start->pair.meta;
    bool clean = (m->flags & CARET__META_CLEAN) != 0;
    uint64_t reach = start->pair.reach;
    uint32_t count;
    int rc = check_clean(e, start, clean);

    if (rc == CARET_OK && !clean)
        rc = open_log(e, &start->pair);
    if (rc == CARET_OK && !clean)
        rc = caret__log_tail(e, start, &reach);
    if (rc == CARET_OK)
        rc = caret__segment_private(e, &start->id, m->npages, !clean);
    if (rc == CARET_OK) {
        fill_words(e, m);
        rc = caret__images_read(e, m->epoch, m->npages, &count);
        e->sh->ts.free_pages = count;
        if (clean && rc == CARET_E_CORRUPT)
            rc = CARET_OK; /* reading does not need it; caret_check() looks again */
    }
    if (rc == CARET_OK && !clean) {
        rc = caret__file_keep(e);
        if (rc == CARET_OK)
            rc = caret__replay(e, reach, false, start->pair.reach != 0);
        caret__file_kept(e);
        if (e->log_durable != 0 && e->log_durable < atomic_load(&e->sh->log_durable))
            atomic_store(&e->sh->log_durable, e->log_durable); /* nothing was written here */
    }
    if (e->sh != NULL)
        caret__segment_shared(e->sh);
    free(e->log_tail);
    e->log_tail = NULL;
    e->log_tail_len = 0;
    return rc;
}
