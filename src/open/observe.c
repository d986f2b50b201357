/*
 * observe.c - opening a database read-only: nothing is written, no file is made.
 *
 * A reader may lack every right but that of reading the data file: the file is
 * somebody else's, lies on a read-only file system, or the shared memory is in
 * another container.  So an engine that observes has no process slot and no record
 * lock (it asks whether somebody has the gate, and looks again if so), and no
 * process waits for it or keeps anything for it.  What it sees:
 *
 *   somebody is attached (a slot's byte is locked)
 *     their segment can be read       LIVE  every commit, as they see it
 *     it can't                        FILE  the last checkpoint
 *   nobody is attached
 *     closed cleanly                  FILE  everything
 *     not                             FILE  everything: checkpoint, log, and the ring of the
 *                                           last users, replayed into private memory
 *
 * LIVE maps the segment with PROT_READ.  Readers never needed more: page table,
 * arena and undo entries tell the rest, also around a writer that died (tree/past.c).
 * FILE has a segment of its own, anonymous memory whose page table is zero:
 * all pages are in the file.  So the code of trees and transactions is the same.
 *
 * Both read pages in the file that nobody keeps for them.  Why that is safe:
 *
 *   A page of the tree of checkpoint e is not written before the meta of e + 1 is in
 *   the file (log/checkpoint.c: page numbers that died in e + 1 are given back after it).
 *
 * So whoever reads pages and then finds that there is no newer meta has read pages
 * of e.  It is the other way round for a writer: first the meta, then the pages.
 *
 *   FILE  over when the epoch or the generation in either meta slot is not what it
 *         was when we opened.
 *   LIVE  over when a meta slot says what this segment can't have written: another
 *         generation, an epoch that it has not frozen, or another tree of the epoch
 *         that it is writing; or when recovery emptied the segment (`ended`).
 *         A segment that was closed cleanly is not a reason: its last state is in the
 *         file, until the next opener's first checkpoint.  What a slot said before we
 *         looked at anything else is known: it is older than the segment, or its own.
 *
 * The API asks before and after every call that reads (api/observe.c).  Over means:
 * open anew, by the same rules, and read again; in a transaction, CARET_RESTART.
 * No call and no transaction ever sees two states mixed.
 *
 * The numbers of the two slots are read through the mapping.  A slot is written by
 * one pwrite of 512 bytes; the eight bytes that we look at are read with one load.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "open/open.h"
#include "shm/lockfile.h"
#include "tree/tree.h"

#define SETTLING_MS                                                                                          \
    60000u        /* naps of a millisecond; arbitrary: recovering the largest log takes some seconds */
#define TRIES 200 /* arbitrary: each is lost to a checkpoint that came at the wrong moment */

/* -------------------------------------------------------------------- over */

static uint64_t slot_word(const struct caret__engine *e, unsigned slot)
{
    const uint8_t *p = e->file_map + (size_t)slot * CARET__META_SPACING + CARET__META_WORD;

    return __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE);
}

/* The slot has the epoch that this segment is writing: is it its tree? */
static bool is_frozen_tree(const struct caret__engine *e, unsigned slot, uint32_t epoch)
{
    const struct caret__meta *m =
        (const struct caret__meta *)(const void *)(e->file_map + (size_t)slot * CARET__META_SPACING);
    const struct caret__frozen *f = &e->sh->frozen;

    return f->epoch == epoch && m->lsn == f->lsn && m->root == f->root;
}

static bool live_over(const struct caret__engine *e)
{
    const struct caret__shared *sh = e->sh;

    for (unsigned slot = 0; slot < 2; slot++) {
        uint64_t word = slot_word(e, slot); /* before the epochs: they are stored first */
        uint32_t epoch = (uint32_t)word, generation = (uint32_t)(word >> 32);
        if (word == e->watch[slot])
            continue;
        if (generation != sh->generation || epoch >= atomic_load(&sh->epoch))
            return true;
        if (epoch > atomic_load(&sh->durable_epoch) && !is_frozen_tree(e, slot, epoch) &&
            epoch > atomic_load(&sh->durable_epoch)) /* still: `frozen` was not that of the next one */
            return true;
    }
    return atomic_load(&sh->ended) != 0;
}

bool caret__observed_over(const struct caret__engine *e)
{
    if (CARET_SEEDED("observe_blindly"))
        return false;
    atomic_thread_fence(memory_order_acquire);
    if (e->observes == CARET__OBSERVES_LIVE)
        return live_over(e);
    return slot_word(e, 0) != e->watch[0] || slot_word(e, 1) != e->watch[1];
}

int caret__observer_stalled(void *engine, uint64_t version, unsigned tries)
{
    const struct caret__engine *e = engine;

    if (tries < CARET__STALL_TRIES)
        return CARET_OK;
    if (caret__observed_over(e))
        return caret__fail(CARET_E_EVICTED, "%s: its users have closed it", e->path);
    if (version != 0)
        return CARET_NONE;
    sched_yield();
    return CARET_OK;
}

/* ----------------------------------------------------------------- opening */

static void nap(void)
{
    caret__nap(1000000);
}

/* The words of the slots, as the file has them; for telling a file that is being changed from a damaged one. */
static bool words_in_file(const struct caret__engine *e, uint64_t words[2])
{
    bool ok = caret__fd(&e->data_fd) >= 0;

    for (unsigned slot = 0; slot < 2 && ok; slot++)
        ok = pread(caret__fd(&e->data_fd), &words[slot], 8,
                   (off_t)(slot * CARET__META_SPACING + CARET__META_WORD)) == 8;
    return ok;
}

/* A slot that is being written looks like a damaged one: those who are alive finish that. */
static int settled_meta(struct caret__engine *e, struct caret__start *start)
{
    int rc = CARET_OK;

    for (int i = 0; i < TRIES && rc == CARET_OK && start->pair.reach != 0; i++) {
        nap();
        rc = caret__meta_read(caret__fd(&e->data_fd), e->path, (uint64_t)start->st.st_size, &start->pair);
    }
    return rc;
}

static int observe_live(struct caret__engine *e, struct caret__start *start, pid_t pid)
{
    e->observes = CARET__OBSERVES_LIVE;
    return caret__attach_live(e, start, pid);
}

/* The last checkpoint of a database that others use, whose memory is out of reach. */
static int observe_checkpoint(struct caret__engine *e, struct caret__start *start)
{
    int rc = settled_meta(e, start);

    e->observes = CARET__OBSERVES_FILE;
    if (rc != CARET_OK)
        return rc;
    start->pair.meta.flags |= CARET__META_CLEAN; /* the log is none of our business */
    return caret__recover_private(e, start);
}

/* They live, but their memory is not here, not ours to read, or of another build: what is there is the file. */
static bool out_of_reach(int rc)
{
    return rc == CARET_E_BUSY || rc == CARET_E_SHM || rc == CARET_E_VERSION;
}

static int unknown_users(const struct caret__engine *e)
{
    return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot tell who has it open", e->path);
}

/* Without a lock file, where is their segment?  The end of the log tells, if there is one that we may read. */
static int find_record(struct caret__engine *e, const struct caret__start *start)
{
    if (caret__fd_known(&e->lock_fd) || caret__fd_known(&e->log_fd))
        return CARET_OK;
    e->log_end = start->pair.meta.log_size;
    bool open = caret__fd_set(
        &e->log_fd, caret__open_high(e->log_path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0));
    if (open || errno == ENOENT || errno == EACCES || errno == EPERM || errno == ELOOP)
        return CARET_OK;
    return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot be looked at", e->log_path);
}

/* They live, or perhaps do: their segment, if it is that of this generation and in reach.  CARET_NONE: it is not. */
static int observe_users(struct caret__engine *e, struct caret__start *start, pid_t pid)
{
    int rc = find_record(e, start);
    if (rc == CARET_OK)
        rc = observe_live(e, start, pid);
    if (rc == CARET_OK && e->sh->generation == start->pair.meta.generation && atomic_load(&e->sh->ended) == 0)
        return CARET_OK;
    if (rc != CARET_OK && !out_of_reach(rc))
        return rc;
    caret__segment_close(e);
    caret__fd_close(&e->log_fd);
    return CARET_NONE;
}

/* Nobody lives: all of it, in private memory. */
static int observe_rest(struct caret__engine *e, struct caret__start *start)
{
    e->observes = CARET__OBSERVES_FILE;
    return caret__recover_private(e, start);
}

static int observe_settled(struct caret__engine *e, bool file_only)
{
    struct caret__start start = {0};
    pid_t pid = 0;
    bool writer = caret__fd_known(&e->lock_fd);
    int alive = writer ? caret__others_alive(e, &pid) : 0;
    int rc = alive >= 0 ? caret__data_open(e, &start) : unknown_users(e);

    if (rc != CARET_OK)
        return rc;
    int claimed =
        alive > 0 ? 0
                  : caret__data_claimed(e, &pid); /* with a lock file: by another path, and so another one */
    int hidden = writer || claimed != 0 ? 0 : caret__data_obstructed(e);
    if (claimed < 0 || hidden < 0)
        return unknown_users(e);
    if (!file_only && (alive > 0 || hidden > 0 || (claimed > 0 && !writer))) {
        rc = observe_users(e, &start, pid);
        if (rc != CARET_NONE)
            return rc;
    }
    if (alive > 0 || claimed > 0)
        return observe_checkpoint(e, &start);
    rc = observe_rest(e, &start);
    if (rc == CARET_OK || hidden == 0)
        return rc;
    caret__segment_close(e);
    return observe_checkpoint(e, &start);
}

/*
 * From now on we would notice.  But what was read so far?  `before`: the words before we looked at anything else.
 * What has changed since must be of the segment that we have, so for LIVE these stay what is known to be right: the
 * words of now may be of users who came after those whose segment it is.
 */
static int begin_watch(struct caret__engine *e, const uint64_t before[2])
{
    memcpy(e->watch, before, sizeof e->watch);
    return caret__observed_over(e) ? CARET_RESTART : CARET_OK;
}

/* Does somebody open it first, or close it last?  1, 0, -1: it can't be known (errno). */
static int is_settling(const struct caret__engine *e, pid_t *pid)
{
    int busy = caret__data_gate_busy(e, pid);

    if (busy != 0 || !caret__fd_known(&e->lock_fd))
        return busy;
    busy = caret__data_obstructed(e);
    return busy > 0 ? caret__gate_busy(e, pid) : busy;
}

static int await_settled(const struct caret__engine *e)
{
    pid_t pid = 0;
    int busy;

    for (unsigned i = 0; (busy = is_settling(e, &pid)) > 0; i++) {
        if (i == SETTLING_MS)
            return caret__fail(CARET_E_BUSY, "%s: process %ld has been opening or closing it for a minute",
                               e->path, (long)pid);
        nap();
    }
    return busy == 0 ? CARET_OK : unknown_users(e);
}

/* Nobody has begun that, nor put another file there, since it was settled and the words are the same.
 * CARET_RESTART: somebody has. */
static int still_settled(const struct caret__engine *e)
{
    struct stat st;
    pid_t pid;
    int busy = is_settling(e, &pid);

    if (busy != 0)
        return busy > 0 ? CARET_RESTART : unknown_users(e);
    if (stat(e->path, &st) != 0)
        return errno == ENOENT ? CARET_RESTART
                               : caret__fail_errno(CARET_E_OPEN, "%s: cannot be looked at", e->path);
    return st.st_dev == e->dev && st.st_ino == e->ino ? CARET_OK : CARET_RESTART;
}

/* CARET_RESTART: the file was changed meanwhile. */
static int observe_once(struct caret__engine *e, bool file_only)
{
    uint64_t before[2] = {0}, after[2] = {0};
    struct stat st;
    int rc = caret__data_look(e, &st);

    if (rc != CARET_OK)
        return rc;
    rc = caret__lockfile_look(e);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (!caret__fd_set(&e->data_fd,
                       caret__open_high(e->path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0)))
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", e->path);
    bool known = words_in_file(e, before);
    rc = await_settled(e);
    caret__fd_close(&e->data_fd);
    if (rc != CARET_OK)
        return rc;
    CARET_FAULT("observe_settled");
    rc = observe_settled(e, file_only);
    CARET_FAULT("observe_opened");
    if (rc == CARET_OK)
        rc = begin_watch(e, before);
    if (rc == CARET_OK)
        rc = still_settled(e);
    else if (known && words_in_file(e, after) && memcmp(before, after, sizeof before) != 0)
        rc = CARET_RESTART; /* perhaps there is nothing wrong with it */
    caret__lockfile_close(e);
    return rc;
}

void caret__observe_end(struct caret__engine *e)
{
    caret__segment_close(e);
    caret__fd_close(&e->data_fd);
    caret__fd_close(&e->log_fd);
    caret__lockfile_close(e);
}

int caret__observe(struct caret__engine *e, bool file_only)
{
    int rc = CARET_RESTART;

    e->readonly = true;
    for (int i = 0; i < TRIES && rc == CARET_RESTART; i++) {
        if (i > 0)
            nap();
        e->observes = CARET__OBSERVES_FILE;
        rc = observe_once(e, file_only);
        if (rc != CARET_OK)
            caret__observe_end(e);
    }
    if (rc == CARET_RESTART)
        rc = caret__fail(CARET_E_BUSY, "%s: it is being opened and closed by others all the time", e->path);
    if (rc == CARET_OK)
        caret__fd_close(&e->log_fd);
    return rc;
}
