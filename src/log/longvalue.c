/*
 * longvalue.c - values too long for a page, in consecutive pages of the data file.
 *
 * The pages are found and reserved under the writer mutex, filled by pwrite
 * outside of it, and taken by the commit that stores the reference (its redo takes
 * the same ones).  A reservation is an entry in the shared table: the pages stay
 * free in the bitmap, so a death before the commit loses nothing; the entry of a
 * dead process is cleared when its slot is reaped.
 *
 * The values of a transaction lie one after the other in a few such reservations, as
 * large as there is room: so that it may have any number of them.
 *
 * Entries are changed by the holder of the writer mutex, `count` last: with it the
 * entry holds, for the owner that stands in it.  `nreserved`, the number of those that
 * hold, is one too low when the holder dies in between; repair counts anew before
 * anybody can believe it and hand out reserved pages.
 *
 * A run that was replaced can be reused when the next checkpoint is durable.  Long
 * values fill neither log nor arena, so dead pages make one due, too; and whoever
 * writes long values faster than it comes takes it.
 *
 * The file must be synced before a log record that refers to the run:
 * `runs_unsynced` tells the flusher; and the reference carries the value's crc, so
 * that a replay stops before a record whose run did not reach the disk.
 */
#include "log/longvalue.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "disk/record.h"
#include "log/background.h"
#include "log/checkpoint.h"
#include "log/hollow.h"
#include "log/reserve.h"
#include "log/writer.h"
#include "page/store.h"
#include "shm/lockfile.h"
#include "shm/write.h"

#define KEPT_ENTRIES 8u                        /* of the table */
#define MOST_PAGES   (CARET__GROUP_PAGES / 2u) /* of a reservation: bitmap images lie between them */
#define MOMENT_NS    UINT64_C(1000000)
#define WAIT_MS      10000u /* for others who write long values; arbitrary */

/*
 * Find an entry that is not in use.  Those of dead processes that were not reaped yet are given up when
 * there is none.  The last few are for commits that have some already and take the rest at once: so those
 * of half a commit each never wait for each other.
 */
static struct caret__reserved *free_entry(struct caret__engine *e, bool *scarce)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    struct caret__reserved *found = NULL;
    unsigned nfree = 0;

    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++) {
        struct caret__reserved *r = &sh->reserved[i];
        if (r->count == 0) {
            found = r;
            nfree++;
        }
    }
    for (unsigned i = 0; nfree <= KEPT_ENTRIES && i < CARET__MAX_RESERVED; i++) {
        struct caret__reserved *r = &sh->reserved[i];
        if (r->count != 0 && !caret__slot_alive(e, r->owner, r->nonce)) {
            caret__reserved_drop(sh, r);
            found = r;
            nfree++;
        }
    }
    *scarce = nfree <= KEPT_ENTRIES;
    return found;
}

/* Consecutive free pages; their number is `ahead` if there are so many, else what can be had, `least` at least; if
 * there is no such piece, the file grows by `ahead`. */
static int find_pages(struct caret__engine *e, uint32_t least, uint32_t ahead, uint32_t *pgno,
                      uint32_t *count)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;

    for (*count = ahead;; *count = caret__max(*count / 4, least)) {
        *pgno = *count <= caret__pages_to_take(sh) ? caret__find_run(&e->pg, sh, *count) : 0;
        if (*pgno != 0)
            return CARET_OK;
        if (*count == least)
            break;
    }
    *count = ahead;
    while (*pgno == 0 && atomic_load(&sh->hollow_pages) != 0 && caret__hollow_fill(e, ahead) == CARET_OK)
        *pgno = caret__find_run(&e->pg, sh, ahead);
    for (unsigned tries = 0; tries < 2 && *pgno == 0; tries++) { /* the first may lie around a bitmap image */
        uint32_t more = ahead + 8 > sh->ts.npages / 8 ? ahead + 8 : sh->ts.npages / 8;
        int rc = caret__grow_pages(e, sh->ts.npages + more);
        if (rc != CARET_OK)
            return rc;
        *pgno = caret__find_run(&e->pg, sh, ahead);
    }
    return *pgno != 0 ? CARET_OK
                      : caret__fail(CARET_E_DISKFULL, "%s: no %u consecutive free pages", e->path, ahead);
}

/* How many pages the next reservation needs: so many that those which may follow have room for all the rest.  At the
 * end of each, pages may be left where the next value does not fit. */
static uint32_t least_of(const struct caret__room *room, uint32_t pages, uint32_t ahead, bool scarce)
{
    uint64_t over = caret__min64(caret__max64(room->longest, pages), MOST_PAGES) - 1;
    uint64_t later = (CARET__ROOM_ENTRIES - room->n - 1) * (MOST_PAGES - over);

    if (scarce)
        return ahead;
    if (room->ahead <= later)
        return pages;
    return (uint32_t)caret__max64(pages, caret__min64(ahead, room->ahead - later + over));
}

/* The transaction has all the reservations that it may have. */
static int no_more(const struct caret__engine *e, const struct caret__room *room)
{
    if (room->scraps)
        return caret__fail(
            CARET_E_DISKFULL,
            "%s: it is full%s: what is free lies in more than %u pieces, which the long values of one "
            "transaction may take",
            e->path, caret__in_memory(e) ? " (memory_limit)" : "", CARET__ROOM_ENTRIES);
    return caret__fail(CARET_E_TXN_TOO_BIG,
                       "%s: more long values in one transaction than %u MiB of pages hold", e->path,
                       (unsigned)(CARET__ROOM_ENTRIES * (uint64_t)MOST_PAGES * CARET__PAGE_SIZE >> 20));
}

/* Under the mutex: find and reserve; the file is grown when there is no room.  RESTART: wait, many do this now. */
static int reserve(struct caret__engine *e, struct caret__room *room, uint32_t pages)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    uint32_t ahead = (uint32_t)caret__max64(pages, caret__min64(room->ahead, MOST_PAGES)), pgno, count;
    bool scarce;
    struct caret__reserved *r = free_entry(e, &scarce);

    if (room->n == CARET__ROOM_ENTRIES)
        return no_more(e, room);
    if (r == NULL || (scarce && room->n == 0))
        return CARET_RESTART;
    uint32_t least = least_of(room, pages, ahead, scarce);
    int rc = find_pages(e, least, ahead, &pgno, &count);
    if (rc == CARET_E_DISKFULL && least > pages && !scarce) { /* the last pieces may do */
        rc = find_pages(e, pages, ahead, &pgno, &count);
        room->scraps = true;
    }
    if (rc != CARET_OK)
        return rc;
    r->pgno = pgno;
    r->owner = e->slot;
    r->nonce = e->nonce;
    __atomic_store_n(&r->count, count, __ATOMIC_RELEASE);
    CARET_FAULT("run_reserved");
    atomic_fetch_add(&e->sh->nreserved, 1);
    room->first[room->n++] = room->pgno = pgno;
    room->left = count;
    return CARET_OK;
}

void caret__room_done(struct caret__engine *e, struct caret__room *room)
{
    struct caret__shared *sh = e->sh;
    if (room->n == 0 || caret__writer_lock(e) != CARET_OK)
        return; /* our slot will be reaped, and the entries with it */
    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++)
        for (unsigned k = 0; k < room->n; k++)
            if (sh->reserved[i].count != 0 && sh->reserved[i].pgno == room->first[k])
                caret__reserved_drop(sh, &sh->reserved[i]);
    caret__writer_unlock(e);
    room->n = 0;
    room->scraps = false;
}

/* Reserve; with the disk or shared memory full, what died since the last checkpoint is still to be had. */
static int find_room(struct caret__engine *e, struct caret__room *room, uint32_t pages)
{
    for (unsigned waited = 0;;) {
        int rc = caret__writer_lock(e);
        if (rc != CARET_OK)
            return rc;
        rc = reserve(e, room, pages);
        bool again = (rc == CARET_E_DISKFULL || rc == CARET_E_SHM) && caret__checkpoint_frees(e);
        caret__writer_unlock(e);
        if (rc == CARET_RESTART && ++waited > WAIT_MS)
            return caret__fail(CARET_E_LIMIT, "%s: others have been writing %u long values for %u seconds",
                               e->path, CARET__MAX_RESERVED, WAIT_MS / 1000u);
        if (rc == CARET_RESTART) {
            caret__nap(MOMENT_NS);
            continue;
        }
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

int caret__run_write(struct caret__engine *e, struct caret__room *room, const void *val, size_t len,
                     struct caret__runref *ref)
{
    uint32_t pages = caret__run_pages(len);

    if (room->left < pages) {
        keep_file_small(e);
        int rc = find_room(e, room, pages);
        if (rc != CARET_OK)
            return rc;
    }
    *ref =
        (struct caret__runref){.pgno = room->pgno, .len = (uint32_t)len, .crc = caret__crc32c(0, val, len)};
    room->pgno += pages;
    room->left -= pages;
    room->ahead -= caret__min64(room->ahead, pages);
    errno = caret__file_write(caret__fd(&e->data_fd), val, len, (uint64_t)ref->pgno * CARET__PAGE_SIZE);
    if (errno != 0 && !caret__fds_ours(e))
        return caret__fds_check(e);
    if (errno != 0)
        return caret__fail_errno(caret__write_code(errno), "%s: writing a value of %zu bytes", e->path, len);
    CARET_FAULT("run_written");
    atomic_store(&e->sh->runs_unsynced, 1);
    return CARET_OK;
}
