/*
 * run.c - values too long for a page, in consecutive pages of the data file.
 *
 * The pages are found and reserved under the writer mutex, filled by pwrite
 * outside of it, and taken by the commit that stores the reference (its redo takes
 * the same ones).  A reservation is an entry in the shared table: the pages stay
 * free in the bitmap, so a death before the commit loses nothing; the entry of a
 * dead process is cleared when its slot is reaped.
 *
 * Entries are changed by the holder of the writer mutex, `count` last: with it the
 * entry holds, for the owner that stands in it.  `nreserved`, the number of those that
 * hold, lags behind by one when the holder dies in between; repair counts anew
 * before anybody can believe it and hand out reserved pages.
 *
 * A run that was replaced can be reused when the next checkpoint is durable.  Long
 * values fill neither log nor arena, so dead pages make one due, too; and whoever
 * writes long values faster than it comes, takes it himself.
 *
 * The file must be synced before a log record that refers to the run:
 * `runs_unsynced` tells the flusher; and the reference carries the value's crc, so
 * that a replay stops before a record whose run did not reach the disk.
 */
#include <errno.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "log/log.h"
#include "page/store.h"

static uint32_t run_pages(size_t len)
{
    return (uint32_t)((len + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE);
}

/* Under the mutex: find and reserve; the file is grown when there is no room. */
static int reserve_run(struct caret__engine *e, uint32_t count, uint32_t *pgno)
{
    struct caret__shared *sh = e->sh;
    unsigned i = 0;

    while (i < CARET__MAX_RESERVED && sh->reserved[i].count != 0)
        i++;
    if (i == CARET__MAX_RESERVED)
        return caret__fail(CARET_E_LIMIT, "%s: %u long values are being written at once", e->path,
                           CARET__MAX_RESERVED);
    *pgno = caret__find_run(&e->pg, sh, count);
    if (*pgno == 0) {
        uint32_t more = count + 8 > sh->ts.npages / 8 ? count + 8 : sh->ts.npages / 8;
        int rc = caret__grow_pages(e, sh->ts.npages + more);
        if (rc != CARET_OK)
            return rc;
        *pgno = caret__find_run(&e->pg, sh, count);
        if (*pgno == 0)
            return caret__fail(CARET_E_DISKFULL, "%s: no %u consecutive free pages", e->path, count);
    }
    struct caret__reserved *r = &sh->reserved[i];
    r->pgno = *pgno;
    r->owner = e->slot;
    r->nonce = e->nonce;
    __atomic_store_n(&r->count, count, __ATOMIC_RELEASE);
    CARET_FAULT("run_reserved");
    atomic_fetch_add(&sh->nreserved, 1);
    return CARET_OK;
}

void caret__reserved_drop(struct caret__shared *sh, struct caret__reserved *r)
{
    __atomic_store_n(&r->count, 0, __ATOMIC_RELEASE);
    CARET_FAULT("run_unreserved");
    atomic_fetch_sub(&sh->nreserved, 1);
}

uint32_t caret__reserved_count(const struct caret__shared *sh)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++)
        n += sh->reserved[i].count != 0;
    return n;
}

void caret__run_done(struct caret__engine *e, const struct caret__runref *ref)
{
    struct caret__shared *sh = e->sh;
    if (caret__writer_lock(e) != CARET_OK)
        return; /* our slot will be reaped, and the entry with it */
    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++) {
        if (sh->reserved[i].count != 0 && sh->reserved[i].pgno == ref->pgno)
            caret__reserved_drop(sh, &sh->reserved[i]);
    }
    caret__writer_unlock(e);
}

static int write_all(struct caret__engine *e, const uint8_t *p, size_t len, uint64_t off)
{
    while (len != 0) {
        ssize_t n = pwrite(e->data_fd, p, len, (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == ENOSPC)
            return caret__fail(CARET_E_DISKFULL, "%s: no room for a value of %zu bytes", e->path, len);
        if (n < 0)
            return caret__fail_errno(CARET_E_IO, "%s: writing a value of %zu bytes", e->path, len);
        p += n;
        len -= (size_t)n;
        off += (uint64_t)n;
    }
    return CARET_OK;
}

/* Reserve; with the disk or shared memory full, what died since the last checkpoint is still to be had. */
static int find_room(struct caret__engine *e, uint32_t count, uint32_t *pgno)
{
    for (;;) {
        int rc = caret__writer_lock(e);
        if (rc != CARET_OK)
            return rc;
        rc = reserve_run(e, count, pgno);
        bool again = (rc == CARET_E_DISKFULL || rc == CARET_E_SHM) && caret__checkpoint_frees(e);
        caret__writer_unlock(e);
        if (!again)
            return rc;
        rc = caret__checkpoint(e);
        if (rc != CARET_OK)
            return rc;
    }
}

/* If it fails the file grows: this is nothing that a value must wait for. */
static void keep_file_small(struct caret__engine *e)
{
    uint32_t dead = caret__checkpoint_dead(e);

    if (dead > 1)
        (void)caret__checkpoint(e);
    else if (dead == 1)
        caret__background_wake(e);
}

int caret__run_write(struct caret__engine *e, const void *val, size_t len, struct caret__runref *ref)
{
    uint32_t pgno;

    keep_file_small(e);
    int rc = find_room(e, run_pages(len), &pgno);

    if (rc != CARET_OK)
        return rc;
    *ref = (struct caret__runref){.pgno = pgno, .len = (uint32_t)len, .crc = caret__crc32c(0, val, len)};
    rc = write_all(e, val, len, (uint64_t)pgno * CARET__PAGE_SIZE);
    if (rc != CARET_OK) {
        caret__run_done(e, ref);
        return rc;
    }
    CARET_FAULT("run_written");
    atomic_store(&e->sh->runs_unsynced, 1);
    return CARET_OK;
}
