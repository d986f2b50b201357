/*
 * checkpoint.c - bringing the tree of an epoch into the data file.
 *
 *   freeze   (writer mutex, microseconds) copy the state block and the image of the
 *            free map; epoch = e + 1 LAST.  From then on writers copy what they
 *            change: the pages of epoch e stay as they are.
 *   write    (no mutex but the role) the log to its archive, if there is one
 *            (archive.c); private copies of the frozen pages with their
 *            crc, sorted and joined into large writes; the bitmap images of parity
 *            e & 1; fdatasync; meta slot e & 1; fdatasync; durable_epoch = e.  Slots are given back (as in
 *            the next step) as soon as the disk has their pages: so while a checkpoint writes, the arena need not grow.
 *   lend     (in the freeze) what died in e is not written before e is durable: pages
 *            born in e + 1 may have its numbers now, for they are written by the next
 *            checkpoint.  Where sets go everywhere the file holds two trees, not three.
 *   release  (writer mutex, 64 at a time, which were looked for without it) word.slot = none, slot free; then
 *            the page numbers that died in e become free, or are held for a snapshot (release.c);
 *            released_epoch = e.
 *
 *      idle --freeze--> epoch = e+1 --write--> durable_epoch = e --release--> idle (released_epoch = e)
 *
 * The role is a robust mutex.  Whoever gets it after a death looks at the three epochs
 * and goes on: durable < epoch - 1: write again (the same pages, they haven't changed);
 * released < durable: release again.  A death within the freeze leaves a record of no
 * checkpoint (frozen.epoch, 0 while the others are stored): then one is frozen anew,
 * whether or not there is something to save, since whoever asks for it may need the
 * record (snapshot.c).  A slot that was released is none of its page any more.  A page
 * number between two maps is settled by repair before anybody can take it.
 *
 * A page that lost its slot before the meta is durable is read from the file, like any other, and is not
 * written again by a successor: the disk has told that it has it.  What a death of all leaves is the tree
 * before it, and the log; for those who only read in the segment of the dead it is in the file, until the
 * next to open say that it is over, before they write (open/recover.c).  Where a file system does not tell, or may
 * say so and not wait (overlayfs), slots are kept until the sync: of a page that the disk then refuses, the
 * arena has the only copy.
 *
 * Invariants: pages of the last durable tree are never written: a page written
 * here was born in e, so its number was free in the durable tree of e - 1 (I1).
 * A slot's bit is set after its page's word says "none"; a death in between leaks
 * the slot until the next checkpoint finds it: not free, and its page elsewhere.
 */
#include "log/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "disk/meta.h"
#include "log/ahead.h"
#include "log/archive.h"
#include "log/lengthen.h"
#include "log/release.h"
#include "log/writer.h"
#include "page/store.h"
#include "shm/fail.h"
#include "shm/lockfile.h"
#include "shm/write.h"

#define WRITE_BYTES   (256u << 10)           /* joined writes up to this size */
#define SEND_BYTES    (2 * CARET__RING_SIZE) /* arbitrary: a tenth of a second of a slow disk */
#define AWAIT_PAGES   512u                   /* arbitrary: some ms of a disk */
#define RELEASE_BATCH 64u
#define PACE_PAGES    64u /* what the pace of the others is counted for */
#define SETTLING      2u  /* checkpoint_wanted: by the one underway; whoever wants one stores 1 */

struct frozen_page {
    uint32_t pgno, slot;
};

/* What a checkpoint is taken for. */
struct wish {
    bool force;        /* also when nothing was committed since the last one */
    bool clean;        /* the meta slot says that no log is needed */
    uint64_t log_size; /* the log is to have so many bytes at least */
};

/* ------------------------------------------------------------------- freeze */

/* Returns how many have died in the epoch. */
static uint32_t copy_image(struct caret__engine *e, uint32_t epoch, uint32_t npages)
{
    _Atomic uint64_t *image = e->pg.maps[CARET__MAP_IMAGE], *fm = e->pg.maps[CARET__MAP_FREE];
    _Atomic uint64_t *pending = e->pg.maps[CARET__MAP_PENDING0 + (epoch & 1u)];
    _Atomic uint64_t *held = e->pg.maps[CARET__MAP_HELD]; /* snapshots end with all of us */
    _Atomic uint64_t *hollow = e->pg.maps[CARET__MAP_HOLLOW];
    uint32_t dead = 0;

    for (uint32_t i = 0; i < CARET__BITMAP_WORDS(npages); i++) {
        dead += (uint32_t)__builtin_popcountll(atomic_load_explicit(&pending[i], memory_order_relaxed));
        atomic_store_explicit(&image[i],
                              atomic_load_explicit(&fm[i], memory_order_relaxed) |
                                  atomic_load_explicit(&pending[i], memory_order_relaxed) |
                                  atomic_load_explicit(&held[i], memory_order_relaxed) |
                                  atomic_load_explicit(&hollow[i], memory_order_relaxed),
                              memory_order_relaxed);
    }
    return dead;
}

/* What a snapshot keeps is looked for later, at the release; so where somebody reads one nothing is lent. */
static void lend(struct caret__engine *e, uint32_t dead)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__tstate *ts = &e->sh->ts;

    if (caret__keepers_are(e))
        return;
    ts->page_hint = 0;
    ts->lent_pages = dead;
    CARET_FAULT("freeze_lent");
}

void caret__freeze(struct caret__engine *e, uint64_t log_size)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    struct caret__frozen *f = &sh->frozen;
    uint32_t epoch = atomic_load(&sh->epoch);
    uint64_t lsn = atomic_load(&sh->log_applied);

    CARET__ASSERT(atomic_load(&sh->durable_epoch) + 1 == epoch &&
                  atomic_load(&sh->released_epoch) + 1 == epoch);
    uint32_t dead = copy_image(e, epoch, sh->ts.npages);
    CARET_FAULT("freeze_image");
    caret__log_plan(e, epoch, log_size);
    __atomic_store_n(&f->epoch, 0, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release);
    f->root = atomic_load(&sh->ts.root);
    f->depth = sh->ts.depth;
    f->npages = sh->ts.npages;
    f->has_runs = sh->ts.has_runs;
    f->nodes = 0;
    f->lsn = lsn;
    atomic_store(&sh->frozen_lsn, lsn);
    atomic_store(&sh->frozen_done, 0);
    memcpy(&f->chain_seed, caret__ring_at(e, lsn - 8), 8);
    CARET_FAULT("freeze_half");
    __atomic_store_n(&f->epoch, epoch, __ATOMIC_RELEASE);
    CARET_FAULT("freeze_record");
    atomic_store_explicit(&sh->epoch, epoch + 1, memory_order_release);
    CARET_FAULT("freeze_epoch");
    lend(e, dead);
}

static int freeze(struct caret__engine *e, const struct wish *wish, bool force, bool *frozen)
{
    struct caret__shared *sh = e->sh;
    uint64_t log_size;
    int rc = caret__log_prepare(e, wish->log_size, &log_size);
    if (rc == CARET_OK)
        rc = caret__writer_lock(e);
    if (rc != CARET_OK)
        return rc;
    *frozen = force || atomic_load(&sh->log_applied) != atomic_load(&sh->checkpoint_lsn);
    if (*frozen)
        caret__freeze(e, log_size);
    caret__writer_unlock(e);
    return CARET_OK;
}

/* -------------------------------------------------------------------- write */

static int by_pgno(const void *a, const void *b)
{
    uint32_t x = ((const struct frozen_page *)a)->pgno, y = ((const struct frozen_page *)b)->pgno;
    return (x > y) - (x < y);
}

/* Is slot s the home of a page of the frozen tree? */
static bool in_frozen_tree(const struct caret__engine *e, uint32_t s, uint32_t *pgno)
{
    const struct caret__frozen *f = &e->sh->frozen;
    uint32_t p = __atomic_load_n(&e->pg.owners[s], __ATOMIC_RELAXED);

    if (p == 0 || p >= f->npages)
        return false;
    uint64_t word = atomic_load_explicit(&e->pg.ptab[p].word, memory_order_acquire);
    if (caret__pte_slot(word) != s || caret__pte_epoch(word) != f->epoch)
        return false;
    uint64_t dead = atomic_load_explicit(&e->pg.maps[CARET__MAP_IMAGE][p / 64u], memory_order_relaxed);
    *pgno = p;
    return (dead >> (p % 64u) & 1u) == 0; /* died in its own epoch: in the image it is free */
}

static int collect(struct caret__engine *e, struct frozen_page **list, size_t *n)
{
    CARET__HELD(&e->sh->checkpoint);
    uint32_t nslots = atomic_load(&e->sh->nslots), pgno;

    *n = 0;
    *list = malloc((nslots + 1u) * sizeof **list);
    if (*list == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory for a checkpoint of %u pages", e->path, nslots);
    for (uint32_t s = 0; s < nslots; s++)
        if (in_frozen_tree(e, s, &pgno))
            (*list)[(*n)++] = (struct frozen_page){pgno, s};
    qsort(*list, *n, sizeof **list, by_pgno);
    return CARET_OK;
}

/* Is the slot to be given back: is it taken, but not by a page that was born after the epoch?  Without the mutex, too:
 * a slot that is stays so until this role gives it back, as writers take slots and give none back; and one that a
 * writer takes meanwhile is not.  Then release_slot(), which looks again, finds all that in the caches. */
static bool is_over(const struct caret__engine *e, uint32_t s, uint32_t epoch)
{
    CARET__HELD(&e->sh->checkpoint);
    uint64_t free_bits = atomic_load_explicit(&e->pg.maps[CARET__MAP_SLOTS][s / 64u], memory_order_relaxed);
    uint32_t p = __atomic_load_n(&e->pg.owners[s], __ATOMIC_RELAXED);

    if ((free_bits >> (s % 64u) & 1u) != 0)
        return false;
    if (p >= caret__racy32(&e->sh->ts.npages))
        return true;
    uint64_t word = atomic_load_explicit(&e->pg.ptab[p].word, memory_order_relaxed);
    return caret__pte_slot(word) != s || caret__pte_epoch(word) <= epoch;
}

/* One slot, under the writer mutex: its page is in the file now, or it was leaked by a death. */
static void release_slot(struct caret__engine *e, uint32_t s, uint32_t epoch)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    _Atomic uint64_t *bits = &e->pg.maps[CARET__MAP_SLOTS][s / 64u];
    uint64_t free_bits = atomic_load_explicit(bits, memory_order_relaxed);
    uint32_t p = e->pg.owners[s];

    if (!is_over(e, s, epoch))
        return;
    if (p < sh->ts.npages) {
        struct caret__pte *pte = &e->pg.ptab[p];
        uint64_t word = atomic_load_explicit(&pte->word, memory_order_relaxed);
        if (caret__pte_slot(word) == s) {
            atomic_store_explicit(&pte->word, (uint32_t)word, memory_order_release);
            CARET_FAULT("release_word");
        }
    }
    atomic_store_explicit(bits, free_bits | UINT64_C(1) << (s % 64u), memory_order_release);
    CARET_FAULT("release_bit");
    caret__racy_put32(&sh->ts.free_slots, sh->ts.free_slots + 1);
    if (s < sh->ts.slot_hint)
        sh->ts.slot_hint = s;
}

static void prepare_page(const struct caret__engine *e, uint8_t *to, uint32_t slot)
{
    caret__racy_copy(to, e->pg.arena + (size_t)slot * CARET__PAGE_SIZE, CARET__PAGE_SIZE);
    memcpy(to + offsetof(struct caret__page, epoch), &e->sh->frozen.epoch, 4);
    uint32_t crc = caret__crc32c(0, to + 4, CARET__PAGE_SIZE - 4);
    memcpy(to, &crc, 4);
}

static uint32_t slots_used(const struct caret__engine *e)
{
    uint32_t all = atomic_load(&e->sh->nslots), left = caret__racy32(&e->sh->ts.free_slots);

    return all > left ? all - left : 0;
}

/* Pages that were written, and that the disk takes at once. */
struct portion {
    const struct frozen_page *page;
    size_t n;
};

/* In what state which pages are: written to the kernel; underway to the disk. */
struct sender {
    struct portion written, underway;
    size_t done, all; /* pages */
    uint32_t most;    /* slots in use meanwhile */
    bool tells;       /* see below */
};

bool caret__disk_tells(const struct caret__engine *e)
{
    /* As statfs(2). */
    static const uint32_t known[] = {0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994};
    struct statfs fs;

    if (fstatfs(caret__fd(&e->data_fd), &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if ((uint32_t)fs.f_type == known[i]) /* ext2 to ext4, XFS, Btrfs, F2FS, tmpfs */
            return true;
    return false;
}

/* The thread in the background is what makes slots for the writers, and it is here. */
static void provide(struct caret__engine *e)
{
    if (__atomic_load_n(&e->background, __ATOMIC_RELAXED) != NULL)
        caret__provide_slots(e);
}

static int send(struct caret__engine *e, const struct portion *p, unsigned how)
{
    off_t from = (off_t)p->page[0].pgno * CARET__PAGE_SIZE;
    off_t to = ((off_t)p->page[p->n - 1].pgno + 1) * CARET__PAGE_SIZE;

    return sync_file_range(caret__fd(&e->data_fd), from, to - from, how) == 0 ? 0 : errno;
}

/* Slots that are to be given back together. */
struct returns {
    uint32_t slot[RELEASE_BATCH];
    size_t n;
};

static int release_returns(struct caret__engine *e, struct returns *r, uint32_t epoch)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    int rc = r->n != 0 ? caret__writer_lock(e) : CARET_OK;

    if (r->n == 0 || rc != CARET_OK)
        return rc;
    CARET_FAULT("release_batch");
    for (size_t i = 0; i < r->n; i++)
        release_slot(e, r->slot[i], epoch);
    caret__writer_unlock(e);
    r->n = 0;
    return CARET_OK;
}

/* Give the slot back with others, if it is to be. */
static int release_soon(struct caret__engine *e, struct returns *r, uint32_t s, uint32_t epoch)
{
    if (is_over(e, s, epoch))
        r->slot[r->n++] = s;
    return r->n == RELEASE_BATCH ? release_returns(e, r, epoch) : CARET_OK;
}

/* The disk has them: others may have their slots. */
static int release_portion(struct caret__engine *e, const struct portion *p)
{
    struct returns r = {.n = 0};
    int rc = CARET_OK;

    for (size_t i = 0; rc == CARET_OK && i < p->n; i++)
        rc = release_soon(e, &r, p->page[i].slot, e->sh->frozen.epoch);
    if (rc == CARET_OK)
        rc = release_returns(e, &r, e->sh->frozen.epoch);
    if (rc == CARET_OK)
        atomic_fetch_add(&e->sh->given_slots, (uint32_t)p->n);
    return rc;
}

/* An error may be told here and not again; that a file system does not know the call is none. */
static int refused(struct caret__engine *e, int error)
{
    return error == EIO || error == ENOSPC || error == EDQUOT ? caret__io_failed(e, error, "writing pages")
                                                              : CARET_OK;
}

/* Wait for the disk, a part at a time: meanwhile writers take slots. */
static int await(struct caret__engine *e, const struct portion *p)
{
    const unsigned how = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    int error = 0;

    for (size_t i = 0; i < p->n && error == 0; i += AWAIT_PAGES) {
        provide(e);
        error = send(e, &(struct portion){p->page + i, caret__min64(p->n - i, AWAIT_PAGES)}, how);
    }
    return error;
}

/* Wait for what is underway. */
static int settle(struct caret__engine *e, struct sender *s)
{
    int error = await(e, &s->underway), rc = refused(e, error);

    CARET_FAULT("checkpoint_sent");
    s->most = (uint32_t)caret__max(s->most, slots_used(e));
    if (rc == CARET_OK && error == 0 && s->tells)
        rc = release_portion(e, &s->underway);
    s->done += s->underway.n;
    atomic_store(&e->sh->frozen_done, (uint32_t)(((uint64_t)s->done << 16) / s->all));
    s->underway.n = 0;
    return rc;
}

/*
 * What a checkpoint has written does not stay with the kernel until the sync: it would make those wait that
 * write to the log, for it lets nobody write when much is dirty.  The disk works on one portion while the next
 * is written.
 */
static int send_out(struct caret__engine *e, struct sender *s)
{
    int rc = refused(e, send(e, &s->written, SYNC_FILE_RANGE_WRITE));

    if (rc == CARET_OK)
        rc = settle(e, s);
    s->underway = s->written;
    s->written = (struct portion){s->written.page + s->written.n, 0};
    return rc;
}

/* A page that this process has written needs no look whether it is whole: its bytes were there before. */
static void trust(struct caret__engine *e, const struct frozen_page *first, size_t k)
{
    for (size_t i = 0; i < k; i++)
        caret__page_is_known(&e->pg, first[i].pgno);
}

/* Pages that lie side by side, at once. */
static int write_joined(struct caret__engine *e, const struct frozen_page *first, size_t k, uint8_t *buf,
                        struct sender *s)
{
    CARET__ASSERT(k != 0 && first[k - 1].pgno == first->pgno + (k - 1));
    for (size_t i = 0; i < k; i++)
        prepare_page(e, buf + i * CARET__PAGE_SIZE, first[i].slot);
    int error = caret__file_write(caret__fd(&e->data_fd), buf, k * CARET__PAGE_SIZE,
                                  (uint64_t)first->pgno * CARET__PAGE_SIZE);
    if (error != 0)
        return caret__io_failed(e, error, "writing pages");
    trust(e, first, k);
    CARET_FAULT("checkpoint_pages_written");
    provide(e);
    s->written.n += k;
    return s->written.n >= SEND_BYTES / CARET__PAGE_SIZE ? send_out(e, s) : CARET_OK;
}

static int write_pages(struct caret__engine *e, const struct frozen_page *list, size_t n, uint32_t *fullest)
{
    const size_t most = WRITE_BYTES / CARET__PAGE_SIZE;
    uint8_t *buf = malloc(WRITE_BYTES);
    struct sender s = {.written = {list, 0}, .all = n | 1, .tells = caret__disk_tells(e)};
    int rc = CARET_OK;

    if (buf == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory for a checkpoint", e->path);
    for (size_t i = 0, k; rc == CARET_OK && i < n; i += k) {
        for (k = 1; k < most && i + k < n && list[i + k].pgno == list[i].pgno + k;)
            k++;
        rc = write_joined(e, list + i, k, buf, &s);
    }
    if (rc == CARET_OK)
        rc = settle(e, &s);
    *fullest = s.most;
    free(buf);
    return rc;
}

static int sync_data(struct caret__engine *e)
{
    return caret__fdatasync(caret__fd(&e->data_fd)) == 0
               ? CARET_OK
               : caret__io_failed(e, errno, "syncing the data file");
}

/* How much fuller than it began became the arena while a checkpoint wrote? */
static void note_pace(struct caret__engine *e, size_t pages, uint32_t begun, uint32_t fullest)
{
    uint64_t more = fullest > begun ? fullest - begun : 0;

    if (pages >= PACE_PAGES)
        atomic_store(&e->sh->pace_slots, (uint32_t)caret__min64(1 + more / (pages / PACE_PAGES), UINT32_MAX));
}

static int write_epoch(struct caret__engine *e, bool clean)
{
    CARET__HELD(&e->sh->checkpoint);
    struct caret__shared *sh = e->sh;
    const struct caret__frozen *f = &sh->frozen;
    struct frozen_page *list;
    size_t n;
    uint32_t begun = slots_used(e), fullest = 0;
    int rc = caret__archive_log(e, f->lsn);

    if (rc == CARET_OK)
        rc = collect(e, &list, &n);
    if (rc != CARET_OK)
        return rc;
    rc = write_pages(e, list, n, &fullest);
    free(list);
    if (rc == CARET_OK)
        rc = caret__images_write(e, f->epoch, f->npages);
    if (rc == CARET_OK)
        rc = sync_data(e);
    note_pace(e, n, begun, fullest);
    CARET_FAULT("checkpoint_data_synced");
    if (rc == CARET_OK)
        rc = caret__meta_write_frozen(e, clean);
    if (rc == CARET_OK)
        rc = sync_data(e);
    if (rc != CARET_OK)
        return rc;
    CARET_FAULT("checkpoint_meta_synced");
    atomic_store(&sh->checkpoint_lsn, f->lsn);
    CARET_FAULT("checkpoint_lsn");
    __atomic_store_n(&sh->checkpoint_seed, f->chain_seed, __ATOMIC_RELAXED); /* follow.c reads it beside us */
    atomic_store_explicit(&sh->durable_epoch, f->epoch, memory_order_release);
    CARET_FAULT("checkpoint_durable");
    atomic_fetch_add(&sh->checkpoints, 1);
    return CARET_OK;
}

/* ------------------------------------------------------------------ release */

static int release_slots(struct caret__engine *e, uint32_t epoch)
{
    uint32_t nslots = atomic_load(&e->sh->nslots);
    struct returns r = {.n = 0};
    int rc = CARET_OK;

    for (uint32_t s = 0; rc == CARET_OK && s < nslots; s++)
        rc = release_soon(e, &r, s, epoch);
    return rc == CARET_OK ? release_returns(e, &r, epoch) : rc;
}

/* ------------------------------------------------------------------ the role */

/*
 * Nothing is reused before a checkpoint: the file grows by what dies between two.  A page that died since it
 * was copied to a slot is not counted: arena and log set bounds to these.
 */
#define MUCH_DEAD (CARET__LOG_DEFAULT / CARET__PAGE_SIZE) /* arbitrary; pages */

uint32_t caret__checkpoint_dead(const struct caret__engine *e)
{
    uint32_t npages = atomic_load_explicit(&e->sh->ts.npages, memory_order_relaxed);
    uint32_t much = npages / 8 > MUCH_DEAD ? npages / 8 : MUCH_DEAD;
    uint32_t dead = caret__racy32(&e->sh->ts.dead_pages);
    uint32_t used = slots_used(e) + atomic_load_explicit(&e->sh->given_slots, memory_order_relaxed);

    return dead > used ? (dead - used) / much : 0;
}

/*
 * A checkpoint should end before log and arena are full, but not begin earlier than that takes: what is changed
 * once more in between need not be written twice.  It is due when a third of the log is in use; a log that was made
 * longer is used further: until it has CHEAP times what a checkpoint would write, as a recovery need not take longer
 * than that is worth, or else to three quarters.  Whoever gets too far ahead of the checkpoint then waits (brake.c): to
 * begin earlier where the disk is slow would give it more to write, and so keep the writers longer.  The arena is used
 * from two fifths on as far as half as much again as it became fuller by in the last checkpoint leaves room: slots come
 * back while a checkpoint writes.
 */
#define CHEAP      2u                    /* arbitrary; the next two too */
#define SPARE_PART 16u                   /* of the arena */
#define SHORT_NS   UINT64_C(10000000000) /* so long memory is short after it was */

static bool log_due(const struct caret__shared *sh, uint32_t used)
{
    uint64_t log = atomic_load(&sh->log_head) - atomic_load(&sh->checkpoint_lsn);
    uint64_t size = atomic_load(&sh->log_size);

    if (log <= size / 3)
        return false;
    return size <= CARET__LOG_DEFAULT ||
           (atomic_load(&sh->log_kind) == CARET__META_LONGER &&
            log >= (uint64_t)used * CARET__PAGE_SIZE * CHEAP) ||
           log > size / 4 * 3;
}

static bool arena_due(const struct caret__engine *e, uint32_t used)
{
    const struct caret__shared *sh = e->sh;
    uint64_t pace = atomic_load(&sh->pace_slots), most = sh->max_slots;

    if (caret__now_ns() < atomic_load(&e->grow_after) + SHORT_NS) /* it could not be made larger */
        most = atomic_load(&sh->nslots);
    if (used <= most / 5 * 2)
        return false;
    pace = caret__max64(pace, PACE_PAGES / 3);
    return atomic_load(&sh->pace_slots) == 0 ||
           used + most / SPARE_PART + pace * (used / PACE_PAGES) / 2 * 3 > most;
}

bool caret__checkpoint_due(const struct caret__engine *e)
{
    const struct caret__shared *sh = e->sh;
    uint64_t log = atomic_load(&sh->log_head) - atomic_load(&sh->checkpoint_lsn);
    uint32_t used = slots_used(e);

    return log_due(sh, used) || arena_due(e, used) || atomic_load(&sh->checkpoint_wanted) != 0 ||
           caret__held_stale(e) || caret__checkpoint_dead(e) != 0 ||
           (atomic_load(&sh->archive_len) != 0 && log != 0 &&
            caret__now_ns() - atomic_load(&sh->archive_time) > CARET__ARCHIVE_EVERY);
}

/* Finish what is unfinished: the steps after the freeze. */
static int finish(struct caret__engine *e, bool clean)
{
    CARET__HELD(&e->sh->checkpoint);
    struct caret__shared *sh = e->sh;
    uint32_t epoch = atomic_load(&sh->epoch) - 1;
    int rc = CARET_OK;

    if (atomic_load(&sh->durable_epoch) < epoch)
        rc = write_epoch(e, clean);
    if (rc == CARET_OK)
        rc = caret__log_switch(e);
    if (rc == CARET_OK && atomic_load(&sh->released_epoch) < epoch) {
        rc = release_slots(e, epoch);
        if (rc == CARET_OK)
            rc = caret__release_pages(e, epoch);
        if (rc == CARET_OK)
            atomic_store(&sh->released_epoch, epoch);
        atomic_store(&sh->given_slots, 0);
        CARET_FAULT("checkpoint_released");
    }
    return rc;
}

/* Did a checkpoint end since there were so many? */
static bool another_ended(const struct caret__engine *e, uint64_t before)
{
    return atomic_load(&e->sh->checkpoints) != before &&
           atomic_load(&e->sh->released_epoch) + 1 == atomic_load(&e->sh->epoch);
}

/* The role is ours: see to it that all before `wanted` is in the file. */
static int in_role(struct caret__engine *e, uint64_t wanted, const struct wish *wish)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    bool frozen = false;
    int rc = atomic_load(&sh->io_failed) == 0
                 ? finish(e, false)
                 : caret__fail(CARET_E_IO_FAILED,
                               "%s: a write or sync failed earlier; close all users and open again", e->path);
    uint32_t doubt = atomic_load(&sh->checkpoint_wanted), settled = SETTLING;

    bool force = wish->force || doubt != 0 || sh->frozen.epoch != atomic_load(&sh->epoch) - 1 ||
                 atomic_load(&sh->log_size) < wish->log_size;
    if (doubt != 0)
        atomic_store(&sh->checkpoint_wanted, SETTLING);
    if (rc == CARET_OK && (force || atomic_load(&sh->checkpoint_lsn) < wanted)) {
        rc = freeze(e, wish, force, &frozen);
        if (rc == CARET_OK && frozen)
            rc = finish(e, wish->clean);
    }
    if (rc == CARET_OK && doubt != 0) /* unless somebody wants one again */
        atomic_compare_exchange_strong(&sh->checkpoint_wanted, &settled, 0);
    return rc == CARET_OK ? caret__held_release(e) : rc;
}

/* RESTART: another had it for so long. */
static int take_role(struct caret__engine *e, uint64_t max_ns)
{
    CARET__NOT_HELD(&e->sh->checkpoint);
    CARET__ASSERT(!caret__writer_held(e->sh));
    CARET__NOT_HELD(&e->sh->flush);
    struct caret__shared *sh = e->sh;

    int rc = caret__fds_check(e);

    if (rc != CARET_OK)
        return rc;
    if (caret__file_removed(&e->data_fd))
        return caret__fail(CARET_E_EVICTED,
                           "%s: was removed or replaced while it was open: it can't be saved", e->path);
    caret__rights_follow(e);
    CARET_FAULT("checkpoint_asked");
    rc = max_ns != 0 ? caret__mutex_lock_within(&sh->checkpoint, max_ns) : caret__mutex_lock(&sh->checkpoint);
    if (rc == ETIMEDOUT)
        return CARET_RESTART;
    if (rc == EOWNERDEAD)
        caret__mutex_consistent(&sh->checkpoint);
    else if (rc != 0)
        return caret__fail(CARET_E_CORRUPT, "%s: shared memory is damaged: the checkpoint mutex", e->path);
    return CARET_OK;
}

/* then (NULL: nothing) is called in the role, with durable_epoch = released_epoch = epoch - 1. */
static int run(struct caret__engine *e, const struct wish *wish, int (*then)(struct caret__engine *, void *),
               void *arg)
{
    uint64_t wanted = atomic_load(&e->sh->log_applied);
    int rc = take_role(e, 0);

    if (rc != CARET_OK)
        return rc;
    rc = in_role(e, wanted, wish);
    if (rc == CARET_OK && then != NULL)
        rc = then(e, arg);
    CARET__HELD(&e->sh->checkpoint);
    caret__mutex_unlock(&e->sh->checkpoint);
    return rc;
}

/* The same, while the host knows that it takes long. */
static int run_away(struct caret__engine *e, const struct wish *wish,
                    int (*then)(struct caret__engine *, void *), void *arg)
{
    caret__away();
    int rc = run(e, wish, then, arg);
    caret__back();
    return rc;
}

int caret__checkpoint_as(struct caret__engine *e, bool force, bool clean)
{
    return run_away(e, &(struct wish){.force = force, .clean = clean}, NULL, NULL);
}

/* Slots come back while a checkpoint writes: whoever waits for one looks now and then. */
#define ROOM_NS UINT64_C(20000000) /* arbitrary */

static int make_room(struct caret__engine *e)
{
    uint64_t wanted = atomic_load(&e->sh->log_applied), before = atomic_load(&e->sh->checkpoints);
    int rc = take_role(e, ROOM_NS);

    if (rc != CARET_OK)
        return rc == CARET_RESTART ? CARET_OK : rc;
    if (!another_ended(e, before) || atomic_load(&e->sh->io_failed) != 0)
        rc = in_role(e, wanted, &(struct wish){.force = false});
    caret__mutex_unlock(&e->sh->checkpoint);
    return rc;
}

int caret__checkpoint_room(struct caret__engine *e)
{
    caret__away();
    int rc = make_room(e);
    caret__back();
    return rc;
}

int caret__checkpoint_then(struct caret__engine *e, uint64_t log_size,
                           int (*then)(struct caret__engine *, void *), void *arg)
{
    CARET__NOT_HELD(&e->sh->checkpoint);
    return run_away(e, &(struct wish){.log_size = log_size}, then, arg);
}

int caret__checkpoint(struct caret__engine *e)
{
    return caret__checkpoint_as(e, false, false);
}
