/*
 * grow.c - allocate more of the segment and of the data file.
 *
 * Reading a hole in a tmpfs file allocates, and kills with SIGBUS when the file
 * system is full.  So nothing is published before it was allocated:
 *
 *     allocate  ->  fill in (free bits)  ->  store the new size
 *
 * A death in between leaves memory that the next one allocates again.  Counters
 * of free bits may then be wrong; repair counts them anew.
 *
 * Allocation is done in pieces, since a signal makes the kernel give up a piece
 * (EINTR) and undo it: with pieces, a host with a fast interval timer still gets
 * on.  Limits of the process (ulimit -f) are looked at first: running into them
 * would raise a signal.
 *
 * The callers hold the writer mutex (at creation: nobody else can see it).  This is the only I/O done under
 * it.  Most of it is done before: a thread in the background, woken when few slots of the arena, or page
 * numbers of a large file, are free, allocates the next ones, slots in huge pages if it can (shm/huge.c), and
 * then takes the mutex to publish them, which finds them allocated (caret__grow_ahead,
 * caret__grow_pages_ahead).
 *
 * A writer may grow the same meanwhile, and others use what it has published: so nothing is written there
 * ahead, and to allocate twice does no harm.  A death before they are published leaves a file that is longer
 * than it says; that is found allocated, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/racy.h"
#include "shm/huge.h"
#include "shm/memory.h"
#include "shm/segment.h"
#include "shm/write.h"

#define SHM_PIECE   (UINT64_C(256) << 10) /* arbitrary; some 100 us to allocate */
#define FILE_PIECE  (UINT64_C(16) << 20)
#define MUCH        (UINT64_C(16) << 20)    /* arbitrary */
#define STEPS       16u                     /* of the arena that are kept free, at most; arbitrary */
#define AFTER_ERROR UINT64_C(1000000000)    /* arbitrary, ns */
#define AHEAD_FROM  (4 * CARET__KEPT_PAGES) /* a file of fewer pages is not grown ahead */
#define AHEAD_PART  32u                     /* of the pages are to be free; */
#define AHEAD_MOST  16384u                  /* so many, 64 MiB, are enough; all arbitrary */
#define AHEAD_PIECE (UINT64_C(4) << 20)     /* a writer of the file waits so long */

int caret__segment_back(struct caret__engine *e, uint64_t off, uint64_t len)
{
    uint64_t from = caret__align_down(off, 4096);
    int rc = caret__fds_check(e);

    if (rc != CARET_OK)
        return rc;
    rc =
        caret__file_allocate(caret__fd(&e->shm_fd), from, caret__align_up(off + len, 4096) - from, SHM_PIECE);

    if (rc == 0)
        return CARET_OK;
    errno = rc;
    return caret__fail_errno(CARET_E_SHM, "%s: no room for %llu KiB more of shared memory (%s)", e->path,
                             (unsigned long long)((len + 1023) >> 10), e->seg_path);
}

void caret__populate(void *p, uint64_t len)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t from = (uintptr_t)caret__align_up((uintptr_t)p, 4096), to = (uintptr_t)p + len;
    int before = errno;
    if (from < to) /* Linux 5.14; without it page faults come one by one */
        (void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
    errno = before;
#else
    (void)p;
    (void)len;
#endif
}

/* Where a position of a map lies in the segment. */
static uint64_t place_of(const struct caret__engine *e, const void *p)
{
    return (uint64_t)((const uint8_t *)p - e->base);
}

/* Back the words of a bitmap that hold bits [from, to). */
static int back_bits(struct caret__engine *e, unsigned map, uint32_t from, uint32_t to)
{
    uint64_t first = from / 64u, end = CARET__BITMAP_WORDS((uint64_t)to);

    return caret__segment_back(e, place_of(e, e->pg.maps[map] + first), (end - first) * 8);
}

/* Set bits [from, to); returns how many were not set. */
static void set_bits(_Atomic uint64_t *map, uint32_t from, uint32_t to)
{
    while (from < to) {
        uint32_t n = (uint32_t)caret__min64(64 - from % 64, to - from);
        uint64_t mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << from % 64;
        uint64_t word = atomic_load_explicit(&map[from / 64], memory_order_relaxed);
        atomic_store_explicit(&map[from / 64], word | mask, memory_order_relaxed);
        from += n;
    }
}

static void clear_bit(_Atomic uint64_t *map, uint32_t i)
{
    uint64_t word = atomic_load_explicit(&map[i / 64], memory_order_relaxed);

    atomic_store_explicit(&map[i / 64], word & ~(UINT64_C(1) << i % 64), memory_order_relaxed);
}

/* Take the reserved numbers in [from, to) out of the map again; returns how many. */
static uint32_t clear_reserved(_Atomic uint64_t *map, uint32_t from, uint32_t to)
{
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++) {
        if (caret__pgno_reserved(i)) {
            clear_bit(map, i);
            n++;
        } else { /* none until the next group */
            i = (i / CARET__GROUP_PAGES + 1) * CARET__GROUP_PAGES - 1;
        }
    }
    return n;
}

bool caret__memory_fits(const struct caret__engine *e, uint64_t file, uint64_t log, uint64_t more)
{
    return file + log + (uint64_t)e->sh->max_slots * CARET__PAGE_SIZE <= e->memory_limit &&
           caret__memory_has(more);
}

/* May the data file have so many bytes? */
static bool is_allowed(const struct caret__engine *e, uint64_t bytes)
{
    uint64_t have = atomic_load(&e->sh->file_pages) * CARET__PAGE_SIZE;

    return caret__file_size_allowed(bytes) &&
           (!caret__in_memory(e) ||
            caret__memory_fits(e, bytes, atomic_load(&e->sh->log_size), bytes > have ? bytes - have : 0));
}

static int over_limit(const struct caret__engine *e)
{
    if (caret__in_memory(e))
        return caret__fail(
            CARET_E_DISKFULL,
            "%s: it is full: it may take %llu MiB in all (memory_limit), of what this machine, or "
            "group, has left",
            e->path, (unsigned long long)(e->memory_limit >> 20));
    return caret__fail(CARET_E_DISKFULL, "%s: it would grow over this process's limit (ulimit -f)", e->path);
}

int caret__grow_file(struct caret__engine *e, uint64_t pages)
{
    CARET__ASSERT(caret__state_held(e->sh));
    uint64_t have = atomic_load(&e->sh->file_pages);
    int rc;

    if (pages <= have || e->observes) /* a reader has new pages in memory alone */
        return CARET_OK;
    if (!is_allowed(e, pages * CARET__PAGE_SIZE))
        return over_limit(e);
    rc = caret__fds_check(e);
    if (rc != CARET_OK)
        return rc;
    rc = caret__file_allocate(caret__fd(&e->data_fd), have * CARET__PAGE_SIZE,
                              (pages - have) * CARET__PAGE_SIZE, FILE_PIECE);
    errno = rc;
    if (rc != 0)
        return caret__fail_errno(caret__write_code(rc), "%s: cannot grow by %llu KiB", e->path,
                                 (unsigned long long)((pages - have) * CARET__PAGE_SIZE >> 10));
    CARET_FAULT("grow_file");
    atomic_store(&e->sh->file_pages, pages);
    return CARET_OK;
}

int caret__keep_file(struct caret__engine *e, uint64_t pages)
{
    int rc = caret__grow_file(e, caret__min64(pages, CARET__KEPT_PAGES));

    if (rc == CARET_OK && !e->observes && !is_allowed(e, pages * CARET__PAGE_SIZE))
        rc = over_limit(e);
    if (rc == CARET_OK && !e->observes)
        atomic_store(&e->sh->file_pages, pages);
    return rc;
}

/* Memory for the page table and bitmaps of page numbers from `have` to npages; nobody is told. */
static int back_table(struct caret__engine *e, uint32_t have, uint32_t npages)
{
    uint64_t size = sizeof(struct caret__pte);

    if (npages <= have)
        return CARET_OK;
    int rc = caret__segment_back(e, e->sh->off_ptab + have * size, (npages - have) * size);
    for (unsigned i = CARET__MAP_FREE; i <= CARET__MAP_HOLLOW && rc == CARET_OK; i++)
        rc = back_bits(e, i, have, npages);
    return rc;
}

/* Page table and bitmaps for page numbers below npages. */
static int back_pages(struct caret__engine *e, uint32_t npages)
{
    uint32_t have = atomic_load(&e->sh->ptab_pages);
    int rc = back_table(e, have, npages);

    if (rc == CARET_OK && npages > have) {
        CARET_FAULT("grow_ptab");
        atomic_store(&e->sh->ptab_pages, npages);
    }
    return rc;
}

int caret__grow_pages(struct caret__engine *e, uint32_t npages)
{
    CARET__ASSERT(caret__state_held(e->sh));
    struct caret__tstate *ts = &e->sh->ts;
    _Atomic uint64_t *map = e->pg.maps[CARET__MAP_FREE];
    uint32_t have = ts->npages;
    int rc;

    if (npages <= have)
        return CARET_OK;
    if (npages > e->pg.max_pages)
        return caret__fail(CARET_E_DISKFULL, "%s: it has reached its largest size, %llu MiB", e->path,
                           (unsigned long long)((uint64_t)e->pg.max_pages * CARET__PAGE_SIZE >> 20));
    rc = back_pages(e, npages);
    if (rc == CARET_OK)
        rc = caret__grow_file(e, npages);
    if (rc != CARET_OK)
        return rc;
    set_bits(map, have, npages); /* some may be set already, by a grower that died before it stored npages */
    CARET_FAULT("grow_pages_bits");
    ts->free_pages += npages - have - clear_reserved(map, have, npages);
    CARET_FAULT("grow_pages_counted");
    ts->npages = npages;
    return CARET_OK;
}

static uint32_t pages_ahead(uint32_t npages)
{
    return npages < AHEAD_FROM ? 0 : (uint32_t)caret__min(npages / AHEAD_PART, AHEAD_MOST);
}

bool caret__grow_pages_wanted(struct caret__engine *e, uint32_t want)
{
    const struct caret__tstate *ts = &e->sh->ts;
    uint32_t ahead = pages_ahead(ts->npages);
    uint64_t wish = (uint64_t)ts->npages + 2 * (uint64_t)ahead;

    CARET__ASSERT(caret__state_held(e->sh));
    if (ts->free_pages + ts->lent_pages >= want + ahead || wish > e->pg.max_pages ||
        atomic_load_explicit(&e->page_wish, memory_order_relaxed) >= wish ||
        caret__now_ns() < atomic_load_explicit(&e->file_after, memory_order_relaxed))
        return false;
    atomic_store_explicit(&e->page_wish, (uint32_t)wish, memory_order_relaxed);
    return true;
}

/* Backed, and allocated, but not published. */
static int allocate_pages(struct caret__engine *e, uint64_t have, uint32_t npages)
{
    int rc = back_table(e, atomic_load(&e->sh->ptab_pages), npages);

    if (rc == CARET_OK && !is_allowed(e, (uint64_t)npages * CARET__PAGE_SIZE))
        rc = CARET_E_DISKFULL;
    if (rc == CARET_OK && caret__file_allocate_ahead(caret__fd(&e->data_fd), have * CARET__PAGE_SIZE,
                                                     (npages - have) * CARET__PAGE_SIZE, AHEAD_PIECE) != 0)
        rc = CARET_E_DISKFULL;
    return rc;
}

uint32_t caret__grow_pages_ahead(struct caret__engine *e)
{
    uint32_t wish = atomic_exchange(&e->page_wish, 0);
    uint64_t have = atomic_load(&e->sh->file_pages);
    int before = errno;

    CARET__ASSERT(!caret__writer_held(e->sh));
    if (wish <= have || e->observes)
        return 0;
    if (caret__fds_check(e) != CARET_OK || allocate_pages(e, have, wish) != CARET_OK) {
        atomic_store(&e->file_after, caret__now_ns() + AFTER_ERROR);
        wish = 0;
    }
    errno = before;
    return wish;
}

/* Of much memory it is asked beforehand whether it is there: whoever takes the last of it is killed, or others are. */
static int much_is_there(struct caret__engine *e, uint64_t bytes)
{
    struct statvfs fs;
    bool room = fstatvfs(caret__fd(&e->shm_fd), &fs) != 0 || fs.f_blocks == 0 || bytes <= MUCH ||
                bytes <= (uint64_t)fs.f_bavail * fs.f_frsize;

    if (room && caret__memory_has(bytes))
        return CARET_OK;
    return caret__fail(CARET_E_SHM, "%s: no room for %llu MiB more of shared memory (%s): %s is full",
                       e->path, (unsigned long long)(bytes >> 20),
                       e->seg_path != NULL ? e->seg_path : "private",
                       room ? "the memory of the machine, or of this group," : "shm_dir");
}

/* Allocate what slots [have, nslots) take.  Done twice it does no harm. */
static int back_slots(struct caret__engine *e, uint32_t have, uint32_t nslots)
{
    struct caret__shared *sh = e->sh;
    uint64_t more = nslots - have;
    int rc =
        caret__segment_back(e, sh->off_arena + (uint64_t)have * CARET__PAGE_SIZE, more * CARET__PAGE_SIZE);

    if (rc == CARET_OK)
        rc = caret__segment_back(e, sh->off_owners + (uint64_t)have * 4, more * 4);
    if (rc == CARET_OK)
        rc = back_bits(e, CARET__MAP_SLOTS, have, nslots);
    if (rc == CARET_OK)
        caret__populate(e->pg.arena + (size_t)have * CARET__PAGE_SIZE, more * CARET__PAGE_SIZE);
    return rc;
}

/* So many slots should be free, that writers need not wait until there are more: an eighth of the arena, up
 * to some steps. */
static uint32_t slots_ahead(uint32_t nslots)
{
    uint32_t least = CARET__ARENA_STEP / 2, most = CARET__ARENA_STEP * STEPS;

    return nslots / 8 < least ? least : nslots / 8 > most ? most : nslots / 8;
}

void caret__grow_expect(struct caret__engine *e, uint64_t bytes)
{
    uint64_t slots = bytes / CARET__PAGE_SIZE + bytes / CARET__PAGE_SIZE / 16;
    struct statvfs fs;

    if (slots > e->sh->max_slots / 2 || fstatvfs(caret__fd(&e->shm_fd), &fs) != 0 ||
        2 * bytes > (uint64_t)fs.f_bavail * fs.f_frsize || !caret__memory_has(2 * bytes))
        slots = 0; /* the commit will find room, or be refused */
    atomic_store(&e->slot_wish, (uint32_t)slots);
}

/* Are so many too few, and may there be more? */
static bool few_are_free(const struct caret__shared *sh, uint32_t nslots, uint32_t left)
{
    return left < slots_ahead(nslots) && sh->max_slots - nslots >= CARET__ARENA_STEP;
}

bool caret__grow_wanted(const struct caret__engine *e, uint32_t want)
{
    CARET__ASSERT(caret__state_held(e->sh));
    const struct caret__shared *sh = e->sh;
    uint32_t left = sh->ts.free_slots > want ? sh->ts.free_slots - want : 0;

    return few_are_free(sh, atomic_load_explicit(&sh->nslots, memory_order_relaxed), left) &&
           caret__now_ns() >= atomic_load_explicit(&e->grow_after, memory_order_relaxed);
}

uint32_t caret__grow_ahead(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint32_t have = atomic_load(&sh->nslots), want = have + CARET__ARENA_STEP;

    uint32_t left = caret__racy32(&sh->ts.free_slots), wish = atomic_load(&e->slot_wish);
    if (!few_are_free(sh, have, left > wish ? left - wish : 0) ||
        caret__now_ns() < atomic_load(&e->grow_after))
        return 0;
    caret__huge_make(e, have, want);
    if (back_slots(e, have, want) == CARET_OK)
        return want;
    atomic_store(&e->grow_after, caret__now_ns() + AFTER_ERROR);
    return 0;
}

int caret__grow_arena(struct caret__engine *e, uint32_t nslots)
{
    CARET__ASSERT(caret__state_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint32_t have = atomic_load(&sh->nslots), more = nslots - have;
    int rc;

    if (nslots <= have)
        return CARET_OK;
    if (nslots > sh->max_slots)
        return caret__fail(CARET_E_LIMIT, "%s: the arena has reached its limit of %u pages", e->path,
                           sh->max_slots);
    rc = much_is_there(e, (uint64_t)more * CARET__PAGE_SIZE);
    if (rc == CARET_OK)
        rc = back_slots(e, have, nslots);
    if (rc != CARET_OK)
        return rc;
    set_bits(e->pg.maps[CARET__MAP_SLOTS], have, nslots);
    caret__racy_put32(&sh->ts.free_slots, sh->ts.free_slots + more);
    CARET_FAULT("grow_arena_bits");
    atomic_store_explicit(&sh->nslots, nslots, memory_order_release);
    return CARET_OK;
}

int caret__grow_undo(struct caret__engine *e, uint64_t bytes)
{
    CARET__ASSERT(caret__state_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t have = atomic_load(&sh->undo_cap);
    int rc;

    if (bytes <= have)
        return CARET_OK;
    if (bytes > sh->undo_max)
        return caret__fail(CARET_E_LIMIT, "%s: a change needs %llu bytes of undo, %llu is the limit", e->path,
                           (unsigned long long)bytes, (unsigned long long)sh->undo_max);
    bytes = caret__min64(caret__align_up(bytes, UINT64_C(64) << 10), sh->undo_max);
    rc = caret__segment_back(e, sh->off_undo + have, bytes - have);
    if (rc == CARET_OK)
        atomic_store(&sh->undo_cap, bytes);
    return rc;
}
