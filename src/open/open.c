/*
 * open.c - attaching a process to a database, and detaching it.
 *
 *   open      registry: is it open in this process?  -> one more reference
 *             look at the path (nothing is created for what can't be a database)
 *             gate
 *             data file: open, or create
 *             somebody else alive?  yes: join  the segment that the lock file names
 *                                   no:  caret__recover makes one (recover.c)
 *             gate is released
 *   close     last reference in the process: gate
 *             somebody else alive?  yes: flush, give the slot back
 *                                   no:  a checkpoint marked clean, then segment, log
 *                                        and lock file are removed
 *   :memory:  the same with files that have no names, so that nobody else can come; nothing is
 *             removed at the end: the kernel does it when the last process has closed it, or ended
 *   forked    in a child, at the first use of what it inherited: gate
 *             the segment is still the live one?  yes: take a slot of our own
 *                                                 no:  open anew, into the same engine
 *
 * The gate is a record lock: it keeps processes apart, the registry's mutex keeps
 * the threads of one.  Lock order: registry, gate, checkpoint, flush, writer.
 *
 * Death while closing: before the clean meta is on the disk, the next opener
 * recovers; after it, everything else is of no use to anybody, and the next opener
 * sweeps it away.  An error of the last checkpoint leaves all files: reopening
 * recovers from the log.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "log/archive.h"
#include "log/background.h"
#include "log/checkpoint.h"
#include "log/flush.h"
#include "log/hollow.h"
#include "log/snapshot.h"
#include "open/open.h"
#include "shm/lockfile.h"
#include "shm/write.h"

/* The engine that this thread is attaching: for it, caret__engine_forked has nothing to do. */
static _Thread_local const struct caret__engine *attaching;

/* ------------------------------------------------------------------- memory */

static char *with_suffix(const char *path, const char *suffix)
{
    size_t len = strlen(path) + strlen(suffix) + 1;
    char *s = malloc(len);

    if (s != NULL)
        snprintf(s, len, "%s%s", path, suffix);
    return s;
}

static void engine_delete(struct caret__engine *e)
{
    caret__fork_mark_free(e);
    free((char *)(uintptr_t)e->options.shm_dir);
    free((char *)(uintptr_t)e->options.archive);
    free(e->log_path);
    free(e->lock_path);
    free(e->path);
    free(e);
}

/* Takes `path`, also when it fails. */
static int engine_new(char *path, const caret_options *options, struct caret__engine **out)
{
    struct caret__engine *e = calloc(1, sizeof *e);
    int rc = CARET_OK;

    if (e == NULL) {
        rc = caret__fail(CARET_E_NOMEM, "%s: no memory to open it", path);
        free(path);
        return rc;
    }
    e->path = path;
    pthread_mutex_init(&e->snapshots_lock, NULL);
    e->forked = caret__engine_forked;
    e->options = *options;
    e->readonly = options->readonly != 0;
    e->memory_limit = options->memory_limit;
    /* in memory these are not paths, and would be those of no file */
    e->log_path = with_suffix(path, caret__in_memory(e) ? "/log" : "-log");
    e->lock_path = with_suffix(path, caret__in_memory(e) ? "/lock" : "-lock");
    e->options.archive = NULL;
    e->options.shm_dir = options->shm_dir != NULL ? realpath(options->shm_dir, NULL) : NULL;
    if (options->shm_dir != NULL && e->options.shm_dir == NULL)
        rc = caret__fail_errno(CARET_E_SHM, "%s: shm_dir", options->shm_dir);
    else if (e->log_path == NULL || e->lock_path == NULL)
        rc = caret__fail(CARET_E_NOMEM, "%s: no memory to open it", path);
    else
        rc = caret__fork_mark_new(e);
    if (rc == CARET_OK)
        rc = caret__shm_dir_look(e);
    if (rc == CARET_OK && options->archive != NULL && !e->readonly)
        rc = caret__archive_resolve(options->archive, (char **)(uintptr_t)&e->options.archive);
    if (rc != CARET_OK)
        engine_delete(e);
    else
        *out = e;
    return rc;
}

/* Unmap and close everything; record locks go with the descriptor of the lock file. */
static void detach(struct caret__engine *e)
{
    if (e->observes) {
        caret__observe_end(e);
        return;
    }
    caret__segment_close(e);
    caret__fd_close(&e->data_fd);
    caret__fd_close(&e->log_fd);
    caret__fd_close(&e->dir_fd);
    caret__lockfile_close(e);
}

/* --------------------------------------------------------------------- join */

static int no_segment(const struct caret__engine *e, pid_t pid, const char *why)
{
    char who[32] = "not visible from here";

    if (pid > 0)
        snprintf(who, sizeof who, "pid %ld", (long)pid);
    return caret__fail(CARET_E_BUSY, "%s: in use by another process (%s), but %s", e->path, who, why);
}

static int segment_missing(const struct caret__engine *e, pid_t pid, const char *seg_path)
{
    char why[1100];

    snprintf(why, sizeof why,
             "its shared memory %s is not here: another container's directory, or it was removed", seg_path);
    return no_segment(e, pid, why);
}

int caret__attach_live(struct caret__engine *e, const struct caret__start *start, pid_t pid)
{
    struct caret__lockrec rec;
    struct stat st;
    int rc = caret__lockrec_read(e, &rec);

    if (rc == CARET_NONE)
        return no_segment(e, pid, "its lock file does not tell where its shared memory is");
    if (rc != CARET_OK)
        return rc;
    if (rec.dev != start->id.dev || rec.ino != start->id.ino || memcmp(rec.uuid, start->id.uuid, 16) != 0)
        return no_segment(e, pid, "the data file is another one: it was replaced while in use");
    rc = caret__segment_attach(e, &start->id, rec.seg_path);
    if (rc == CARET_NONE)
        return segment_missing(e, pid, rec.seg_path);
    if (rc != CARET_OK)
        return rc;
    if (fstat(caret__fd(&e->shm_fd), &st) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: shared segment %s", e->path, rec.seg_path);
    if (st.st_dev != rec.seg_dev || st.st_ino != rec.seg_ino)
        return no_segment(e, pid, "its shared memory was replaced");
    return CARET_OK;
}

static int join(struct caret__engine *e, const struct caret__start *start, pid_t pid)
{
    int rc = caret__attach_live(e, start, pid);

    if (rc != CARET_OK)
        return rc;
    if (!caret__fd_set(&e->log_fd,
                       caret__open_high(e->log_path, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0)))
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot open the log file", e->log_path);
    if (!caret__file_size_allowed(
            caret__max64(atomic_load(&e->sh->log_size), atomic_load(&e->sh->file_pages) * CARET__PAGE_SIZE)))
        return caret__fail(CARET_E_DISKFULL, "%s: larger than this process may write (ulimit -f)", e->path);
    CARET_FAULT("join_mapped");
    rc = caret__slot_take(e, caret__reap);
    return rc == CARET_OK ? caret__data_claim_slot(e) : rc;
}

/* ------------------------------------------------------------------- attach */

/* Nobody else is alive and opening failed: what we made goes; what was there stays. */
static void undo_creation(struct caret__engine *e, const struct caret__start *start)
{
    struct stat st;

    if (caret__in_memory(e))
        return;
    if (start->created && unlink(e->path) == 0)
        unlink(e->log_path); /* whatever the file said, it is gone */
    /* No record was ever written: no segment depends on it. */
    if (fstat(caret__fd(&e->lock_fd), &st) == 0 && st.st_size == 0)
        caret__lockfile_remove(e);
}

static int open_first(struct caret__engine *e, struct caret__start *start)
{
    int rc = caret__data_claim(e);

    if (rc == CARET_OK) /* until now one that came by another path may have had it open and changed it */
        rc = caret__data_read(e, start);
    if (rc == CARET_OK)
        caret__rights_follow(e); /* of the lock file: others may be waiting for the right to open it */
    if (rc == CARET_OK)
        rc = caret__recover(e, start);
    if (rc != CARET_OK)
        return rc;
    rc = caret__data_claim_slot(e);
    if (rc != CARET_OK)
        caret__segment_unlink(e); /* all that is committed is in the log by now */
    return rc;
}

/* The gate is ours. */
static int attach_at_gate(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    struct caret__start start = {0};
    pid_t pid;
    int others = caret__others_alive(e, &pid);

    if (others < 0) /* to join the dead, or to recover below the living, would destroy what is there */
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot tell who has it open", e->lock_path);
    int rc = caret__data_open(e, &start);

    CARET_FAULT("open_data");
    if (rc == CARET_OK)
        rc = caret__lockfile_trust(e);
    if (rc == CARET_OK)
        rc = others != 0 ? join(e, &start, pid) : open_first(e, &start);
    if (rc == CARET_OK)
        caret__rights_follow(e);
    if (rc != CARET_OK && others == 0)
        undo_creation(e, &start);
    return rc;
}

/* Open the lock file and take the gate. */
static int take_gate(struct caret__engine *e)
{
    CARET__NOT_HELD(&e->lock_fd);
    struct stat st;

    if (caret__in_memory(e))
        return caret__lockfile_memory(e);
    int rc = caret__data_look(e, &st);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return caret__lockfile_open(e, st.st_ino != 0 ? &st : NULL);
}

static int attach(struct caret__engine *e)
{
    if (e->readonly)
        return caret__observe(e, false);
    int rc = take_gate(e);

    if (rc != CARET_OK)
        return rc;
    attaching = e;
    rc = attach_at_gate(e);
    attaching = NULL;
    if (rc != CARET_OK) {
        detach(e);
        return rc;
    }
    caret__fork_mark_set(e);
    caret__gate_release(e);
    return CARET_OK;
}

/* --------------------------------------------------------------------- fork */

/* Is the segment that we inherited still the one in use?  The gate is ours.  One in memory is: nobody removes it. */
static bool segment_is_current(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    struct caret__lockrec rec;
    struct stat st;

    return caret__in_memory(e) ||
           (caret__lockrec_read(e, &rec) == CARET_OK && fstat(caret__fd(&e->shm_fd), &st) == 0 &&
            st.st_dev == rec.seg_dev && st.st_ino == rec.seg_ino);
}

void (*caret__forked_hook)(struct caret__engine *e);

/* The gate is ours, and what we inherited is in use: take a slot of our own. */
static int take_own_slot(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    attaching = e;
    int rc = caret__slot_take(e, caret__reap);
    if (rc == CARET_OK) {
        rc = caret__data_claim_slot(e);
        if (rc == CARET_OK)
            caret__fork_mark_set(e);
        else
            caret__slot_give_back(e);
    }
    attaching = NULL;
    return rc;
}

static int attach_anew(struct caret__engine *e)
{
    caret__background_forked(e);
    caret__snapshots_forked(e);
    int rc = e->base != NULL ? caret__gate_take(e) : CARET_E_EVICTED;
    if (rc == CARET_OK) {
        bool current = segment_is_current(e);
        if (current)
            rc = take_own_slot(e);
        caret__gate_release(e);
        if (current)
            return rc;
    }
    if (caret__in_memory(e)) /* there is nothing else that could be opened */
        return rc;
    detach(e); /* all others have closed it, or died, and it was opened by somebody else since */
    return attach(e);
}

/* The registry is locked; we are a fork of the process that attached. */
static int attach_forked(struct caret__engine *e)
{
    CARET__ASSERT(caret__registry_held());
    int rc = attach_anew(e);

    if (rc == CARET_OK && caret__forked_hook != NULL)
        caret__forked_hook(e);
    return rc;
}

int caret__engine_forked(struct caret__engine *e)
{
    int rc = CARET_OK;

    if (attaching == e || e->observes) /* an observer owns nothing, and its child observes as well */
        return CARET_OK;
    caret__registry_lock();
    if (!caret__attached_here(e))
        rc = attach_forked(e);
    caret__registry_unlock();
    return rc;
}

/* --------------------------------------------------------------------- open */

/* One that observes this file, and still sees it as it is. */
static struct caret__engine *find_observer(const struct stat *st)
{
    struct caret__engine *e = NULL;

    while ((e = caret__registry_next(e)) != NULL)
        if (e->dev == st->st_dev && e->ino == st->st_ino && e->observes && !caret__observed_over(e))
            break;
    return e;
}

/* Is it open in this process?  Then *out is that engine, with one more reference. */
static int find_open(const char *path, bool readonly, struct caret__engine **out)
{
    CARET__ASSERT(caret__registry_held());
    struct caret__engine *e;
    struct stat st;
    int rc = CARET_OK;

    if (stat(path, &st) != 0)
        return CARET_NONE;
    e = caret__registry_find(st.st_dev, st.st_ino);
    if (e == NULL && readonly)
        e = find_observer(&st);
    if (e == NULL)
        return CARET_NONE;
    if (!e->observes && !caret__attached_here(e))
        rc = attach_forked(e);
    if (rc == CARET_OK && !readonly)
        caret__rights_follow(e);
    if (rc == CARET_OK) {
        e->refs++;
        *out = e;
    }
    return rc;
}

static int open_new(char *path, const caret_options *options, bool alone, struct caret__engine **out)
{
    CARET__ASSERT(caret__registry_held());
    struct caret__engine *e = NULL;
    int rc = engine_new(path, options, &e);

    if (rc != CARET_OK)
        return rc;
    e->alone = alone || caret__in_memory(e);
    rc = attach(e);
    if (rc != CARET_OK) {
        engine_delete(e);
        return rc;
    }
    e->options.progress = NULL; /* it was of this call */
    e->refs = 1;
    caret__registry_add(e);
    *out = e;
    return CARET_OK;
}

static int open_engine(const char *path, const caret_options *options, bool alone, struct caret__engine **out)
{
    static const caret_options defaults;
    char *resolved;
    int rc;

    *out = NULL;
    if (path == NULL || *path == '\0')
        return caret__fail(CARET_E_INVALID, "no path of a database was given");
    rc = caret__path_resolve(path, &resolved);
    if (rc != CARET_OK)
        return rc;
    caret__registry_lock();
    options = options != NULL ? options : &defaults;
    rc = find_open(resolved, options->readonly != 0, out);
    if (rc == CARET_NONE)
        rc = open_new(resolved, options, alone, out);
    else
        free(resolved);
    caret__registry_unlock();
    return rc;
}

int caret__engine_open(const char *path, const caret_options *options, struct caret__engine **out)
{
    return open_engine(path, options, false, out);
}

/* Each is another database, so it is not looked for. */
int caret__engine_open_memory(const caret_options *options, struct caret__engine **out)
{
    char *path = strdup(CARET__MEMORY);
    int rc = path != NULL ? CARET_OK : caret__fail(CARET_E_NOMEM, "no memory for a database handle");

    *out = NULL;
    CARET__ASSERT(options->memory_limit != 0);
    if (rc != CARET_OK)
        return rc;
    caret__registry_lock();
    rc = open_new(path, options, true, out);
    caret__registry_unlock();
    return rc;
}

int caret__engine_open_alone(const char *path, const caret_options *options, struct caret__engine **out)
{
    return open_engine(path, options, true, out);
}

/* -------------------------------------------------------------------- close */

/*
 * Nobody needs the segment any more.  A process that does not own it may not remove it from a directory like
 * /dev/shm: then at least its memory is given back, all but the header, which sends readers away.
 */
static void remove_segment(struct caret__engine *e)
{
    if (e->alone || unlink(e->seg_path) == 0 || errno == ENOENT)
        return;
    atomic_store(&e->sh->ended, 1);
    off_t head = (off_t)e->sh->off_slots;
    fallocate(caret__fd(&e->shm_fd), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, head,
              (off_t)e->map_len - head);
}

/*
 * Compacting.  The gate is ours and nobody else is attached, so nothing changes between the copy and the end:
 *
 *   copy to NAME-partial-... and sync, as a backup    the database is as it was
 *   final checkpoint                                  the file is whole without log and segment
 *   remove segment and log                            as ever
 *   rename the copy over it                           and so is this one, with the same content
 *   remove the lock file                              as ever
 *
 * A death before the rename leaves the copy, which is to be removed; one after it leaves a clean file.
 */
static int make_compact(struct caret__engine *e, char **copy)
{
    CARET__HELD(&e->lock_fd);
    size_t size = strlen(e->path) + 40;
    int rc;

    *copy = malloc(size);
    if (*copy == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to compact it", e->path);
    snprintf(*copy, size, "%s-partial-%llx", e->path, (unsigned long long)caret__now_ns());
    rc = e->copy(e, *copy, e->copy_how);
    CARET_FAULT("compact_copied");
    if (rc == CARET_OK)
        return CARET_OK;
    if (rc != CARET_E_EXISTS)
        unlink(*copy); /* all that failed may be the sync of its name */
    free(*copy);
    *copy = NULL;
    return rc;
}

static int take_compact(struct caret__engine *e, char *copy, int rc)
{
    if (copy == NULL)
        return rc;
    if (rc == CARET_OK && !caret__file_removed(&e->data_fd) && rename(copy, e->path) == 0) {
        CARET_FAULT("compact_renamed");
        caret__fsync(caret__fd(&e->dir_fd));
    } else {
        if (rc == CARET_OK)
            rc = caret__fail_errno(CARET_E_IO, "%s: cannot be replaced by its compact copy", e->path);
        unlink(copy);
    }
    free(copy);
    return rc;
}

/* The last of all: one file remains. */
static int close_last(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    char *copy = NULL;

    caret__data_gate(e);
    int compacted = e->copy != NULL ? make_compact(e, &copy) : CARET_OK;
    int rc = caret__checkpoint_as(e, true, true);

    if (rc != CARET_OK && !caret__file_removed(&e->data_fd)) {
        take_compact(e, copy, rc);
        return rc; /* segment and log stay: the next to open recovers */
    }
    CARET_FAULT("close_clean");
    if (rc == CARET_OK && copy == NULL)
        caret__hollow_punch(e);
    remove_segment(e);
    CARET_FAULT("close_segment_gone");
    unlink(e->log_path);
    caret__fsync(caret__fd(&e->dir_fd));
    CARET_FAULT("close_log_gone");
    rc = take_compact(e, copy, rc == CARET_OK ? compacted : rc);
    caret__lockfile_remove(e);
    return rc;
}

static int close_among_others(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    int rc = CARET_OK;

    if (!e->readonly && e->options.sync != CARET_SYNC_OFF && atomic_load(&e->sh->io_failed) == 0)
        rc = caret__flush(e, 0, true); /* what we were promised, though our thread is gone */
    if (caret__slot_ours(e)) {
        int reaped = caret__reap(e, e->slot, e->nonce);
        if (rc == CARET_OK)
            rc = reaped;
    }
    CARET_FAULT("close_reaped");
    caret__slot_give_back(e);
    return rc;
}

/* Data and lock file were removed while it was open: nobody will come and sweep up, so the last to leave does.  The
 * gate is that of those who still have the old lock file open; it goes with the descriptor, as our slot does. */
static void leave_removed(struct caret__engine *e)
{
    pid_t pid;

    if (caret__fds_ours(e) && caret__file_removed(&e->data_fd) && caret__others_alive(e, &pid) == 0)
        remove_segment(e);
}

/* The last reference of this process is gone. */
static int leave(struct caret__engine *e)
{
    CARET__ASSERT(caret__registry_held());
    pid_t pid;
    int rc;

    if (!caret__attached_here(e)) /* a fork that never used it, or one that only observes */
        return CARET_OK;
    caret__background_stop(e);
    rc = caret__gate_take(e);
    if (rc == CARET_E_EVICTED)
        leave_removed(e);
    if (rc != CARET_OK)
        return rc;
    CARET_FAULT("close_gate");
    int others = caret__others_alive(e, &pid);
    if (others == 0 && !caret__in_memory(e)) /* in memory a fork may come that has not used it yet */
        return close_last(e);
    if (others < 0) /* nothing was promised yet, and what is there stays, for the next to open */
        rc = caret__fail_errno(CARET_E_SYSTEM, "%s: cannot tell who has it open: not closed cleanly",
                               e->lock_path);
    int left = close_among_others(e);
    if (rc != CARET_OK || left != CARET_OK)
        return rc != CARET_OK ? rc : left;
    return e->copy == NULL
               ? CARET_OK
               : caret__fail(CARET_E_BUSY, "%s: not compacted: it is open in process %d", e->path, (int)pid);
}

int caret__engine_close(struct caret__engine *e)
{
    int rc = CARET_OK;

    caret__registry_lock();
    if (--e->refs == 0) {
        rc = leave(e);
        caret__registry_remove(e);
        detach(e);
        engine_delete(e);
    }
    caret__registry_unlock();
    return rc;
}

int caret__engine_compact(struct caret__engine *e, caret__copy_fn *copy, const caret_backup_options *how)
{
    int rc = CARET_OK;

    caret__registry_lock();
    if (e->refs != 1)
        rc = caret__fail(CARET_E_BUSY, "%s: not compacted: this process has it open elsewhere", e->path);
    e->copy = rc == CARET_OK ? copy : NULL;
    e->copy_how = how;
    caret__registry_unlock();
    return rc;
}

int caret__engine_view(const struct caret__engine *of, struct caret__engine **out)
{
    struct caret__engine *e = NULL;
    char *path = strdup(of->path);
    int rc = path != NULL ? engine_new(path, &of->options, &e)
                          : caret__fail(CARET_E_NOMEM, "%s: no memory to read it", of->path);

    if (rc != CARET_OK)
        return rc;
    caret__registry_lock(); /* record locks: one thread at a time, and never beside an engine that holds some */
    rc = caret__registry_find(of->dev, of->ino) == NULL
             ? caret__observe(e, true)
             : caret__fail(CARET_E_BUSY, "%s: it is open for writing in this process: ask there", e->path);
    caret__registry_unlock();
    if (rc == CARET_OK && (e->dev != of->dev || e->ino != of->ino)) {
        rc = caret__fail(CARET_E_EVICTED, "%s: the data file was replaced", e->path);
        caret__observe_end(e);
    }
    if (rc != CARET_OK) {
        engine_delete(e);
        return rc;
    }
    *out = e;
    return CARET_OK;
}

void caret__engine_view_end(struct caret__engine *e)
{
    caret__observe_end(e);
    engine_delete(e);
}

void caret__engine_ref(struct caret__engine *e)
{
    caret__registry_lock();
    e->refs++;
    caret__registry_unlock();
}
