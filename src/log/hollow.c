/*
 * hollow.c - free page numbers that take no room on the disk.
 *
 * Between two checkpoints each page that is changed has two places in the file, so a file is up to twice as long
 * as its tree.  Once it is closed nobody needs that: the last to close punches holes where many free numbers lie
 * together, when the clean meta slot is on the disk.  The length of the file stays: a reader may have mapped it,
 * and would be killed beyond its end.
 *
 * A number is handed out only if the disk has room for it.  So the opener looks where the file has holes (those
 * of a copy that was made sparse, too) and takes the free numbers there from `free` to `hollow`:
 *
 *     free --last close, next opening--> hollow --room is allocated--> free
 *
 * They come back, the lowest first, when free ones run out, before the file grows: allocated, then set in
 * `free`, then cleared in `hollow`.  The background thread does so when few free ones are left
 * (caret__hollow_ahead): it allocates before it takes the mutex, so that a writer need not.  After a death in
 * between repair takes out of `hollow` what is free.  In the bitmap images they are free.  A page that dies
 * is never hollow: its bytes are in the file.
 *
 * The first KEPT_PAGES and some free numbers stay as they are: a small file is left alone, and a full disk has room
 * for kills.
 *
 * Invariants: no hollow number is in the tree, or handed out; all changes under the writer mutex, or with
 * nobody else attached.
 */
#include "log/hollow.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "log/writer.h"
#include "shm/segment.h"
#include "shm/write.h"

#define RUN_BYTES    (64u << 10) /* a shorter run stays; arbitrary */
#define SPARE_PART   64u         /* of the file stays free and allocated */
#define SPARE_LEAST  256u        /* pages; as a new file has */
#define WORTH_PART   16u         /* of the file must be gained */
#define FILL_PIECE   (UINT64_C(4) << 20)
#define AFTER_ERROR  UINT64_C(1000000000) /* arbitrary, ns */
#define AHEAD_PIECES 16u                  /* as much as a file grows by */

/* ------------------------------------------------------------------ opening */

/* Words of bitmaps; nobody else changes them now. */
static uint32_t move_word(struct caret__engine *e, unsigned from, unsigned to, uint32_t word, uint64_t mask)
{
    _Atomic uint64_t *f = &e->pg.maps[from][word], *t = &e->pg.maps[to][word];
    uint64_t bits = atomic_load_explicit(f, memory_order_relaxed) & mask;

    if (bits == 0)
        return 0;
    atomic_fetch_or_explicit(t, bits, memory_order_release);
    CARET_FAULT("hollow_moving");
    atomic_fetch_and_explicit(f, ~bits, memory_order_release);
    return (uint32_t)__builtin_popcountll(bits);
}

/* Bits [from, to) of a word. */
static uint64_t mask_of(uint32_t word, uint32_t from, uint32_t to)
{
    uint64_t first = (uint64_t)word * 64u, mask = UINT64_MAX;

    if (from > first)
        mask &= UINT64_MAX << (from - first);
    if (to < first + 64u)
        mask &= (UINT64_C(1) << (to - first)) - 1;
    return mask;
}

static uint32_t move_bits(struct caret__engine *e, unsigned from_map, unsigned to_map, uint32_t from,
                          uint32_t to)
{
    uint32_t n = 0;

    for (uint32_t word = from / 64u; word < CARET__BITMAP_WORDS(to); word++)
        n += move_word(e, from_map, to_map, word, mask_of(word, from, to));
    return n;
}

/* The first byte of a hole, or of data, from `at` on; `end` if there is none. */
static uint64_t seek(const struct caret__engine *e, uint64_t at, int what, uint64_t end)
{
    off_t found = at < end ? lseek(caret__fd(&e->data_fd), (off_t)at, what) : -1;

    return found < 0 || (uint64_t)found > end ? end : (uint64_t)found;
}

void caret__hollow_look(struct caret__engine *e)
{
    CARET__ASSERT(caret__state_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint32_t npages = sh->ts.npages, n = 0;
    uint64_t end = (uint64_t)npages * CARET__PAGE_SIZE, at = (uint64_t)CARET__KEPT_PAGES * CARET__PAGE_SIZE;

    for (at = seek(e, at, SEEK_HOLE, end); at < end; at = seek(e, at, SEEK_HOLE, end)) {
        uint64_t data = seek(e, at, SEEK_DATA, end);
        n += move_bits(e, CARET__MAP_FREE, CARET__MAP_HOLLOW, (uint32_t)(at / CARET__PAGE_SIZE),
                       (uint32_t)((data + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE));
        at = data;
    }
    sh->ts.free_pages -= n;
    atomic_store(&sh->hollow_pages, n);
}

/* ------------------------------------------------------------------- filling */

/* Allocate for what a word has; its neighbours are no matter, for to allocate twice does no harm. */
static int fill_words(struct caret__engine *e, uint32_t word, uint32_t words)
{
    uint32_t npages = e->sh->ts.npages, from = word * 64u;
    uint64_t to = caret__min64((uint64_t)from + words * 64u, npages);
    int error = caret__file_allocate(caret__fd(&e->data_fd), (uint64_t)from * CARET__PAGE_SIZE,
                                     (to - from) * CARET__PAGE_SIZE, FILL_PIECE);

    errno = error;
    if (error != 0)
        return caret__fail_errno(caret__write_code(error), "%s: cannot take %llu KiB of the disk again",
                                 e->path, (unsigned long long)((to - from) * CARET__PAGE_SIZE >> 10));
    CARET_FAULT("hollow_allocated");
    for (uint32_t i = word; i < word + words && i < CARET__BITMAP_WORDS(npages); i++) {
        uint32_t n = move_word(e, CARET__MAP_HOLLOW, CARET__MAP_FREE, i, UINT64_MAX);
        if (n != 0 && i < e->sh->ts.page_hint / 64u)
            e->sh->ts.page_hint = i * 64u;
        e->sh->ts.free_pages += n;
        atomic_fetch_sub(&e->sh->hollow_pages, n);
    }
    return CARET_OK;
}

int caret__hollow_fill(struct caret__engine *e, uint32_t pages)
{
    CARET__ASSERT(caret__state_held(e->sh));
    const uint32_t at_once = (uint32_t)(FILL_PIECE / CARET__PAGE_SIZE / 64u);
    uint32_t words = CARET__BITMAP_WORDS(e->sh->ts.npages), had = e->sh->ts.free_pages;
    int rc = caret__fds_check(e);

    for (uint32_t i = 0; rc == CARET_OK && i < words && e->sh->ts.free_pages - had < pages; i++) {
        if (atomic_load_explicit(&e->pg.maps[CARET__MAP_HOLLOW][i], memory_order_relaxed) == 0)
            continue;
        rc = fill_words(e, i, at_once);
        if (rc == CARET_E_DISKFULL)
            rc = fill_words(e, i, 1);
        i += at_once - 1;
    }
    return rc;
}

/* The first word that has some; `words` if none has. */
static uint32_t first_hollow(const struct caret__engine *e, uint32_t words)
{
    uint32_t i = 0;

    while (i < words && atomic_load_explicit(&e->pg.maps[CARET__MAP_HOLLOW][i], memory_order_relaxed) == 0)
        i++;
    return i;
}

static bool allocate_ahead(struct caret__engine *e, uint64_t at, uint64_t len)
{
    int before = errno, rc = caret__file_allocate_ahead(caret__fd(&e->data_fd), at, len, FILL_PIECE);

    if (rc != 0)
        atomic_store(&e->file_after, caret__now_ns() + AFTER_ERROR);
    errno = before;
    return rc == 0;
}

bool caret__hollow_ahead(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;
    uint32_t words = CARET__BITMAP_WORDS(atomic_load(&sh->ptab_pages)), word;

    CARET__ASSERT(!caret__writer_held(sh));
    if (atomic_load(&sh->hollow_pages) == 0 || caret__fds_check(e) != CARET_OK)
        return false;
    for (unsigned i = 0; i < AHEAD_PIECES && (word = first_hollow(e, words)) < words; i++) {
        uint64_t at = (uint64_t)word * 64u * CARET__PAGE_SIZE;
        uint64_t end = caret__min64(at + FILL_PIECE, atomic_load(&sh->file_pages) * CARET__PAGE_SIZE);
        bool there = end > at && allocate_ahead(e, at, end - at);
        if (!there || caret__writer_lock(e) != CARET_OK)
            break;
        (void)caret__hollow_fill(e, 1); /* finds it allocated */
        caret__writer_unlock(e);
    }
    atomic_store(&e->page_wish, 0);
    return true;
}

void caret__hollow_take(struct caret__engine *e, uint32_t pgno)
{
    CARET__ASSERT(caret__state_held(e->sh));
    uint32_t n = move_bits(e, CARET__MAP_HOLLOW, CARET__MAP_FREE, pgno, pgno + 1);

    e->sh->ts.free_pages += n;
    atomic_fetch_sub(&e->sh->hollow_pages, n);
}

/* ------------------------------------------------------------------- closing */

static bool is_free(const struct caret__engine *e, uint32_t pgno)
{
    const _Atomic uint64_t *image = e->pg.maps[CARET__MAP_IMAGE];

    return !caret__pgno_reserved(pgno) &&
           (atomic_load_explicit(&image[pgno / 64u], memory_order_relaxed) >> pgno % 64u & 1u) != 0;
}

/* The next run of free pages from *from on that is long enough; whole blocks of it. */
static bool next_run(const struct caret__engine *e, uint32_t *from, uint64_t *at, uint64_t *len)
{
    uint32_t npages = e->sh->frozen.npages;

    while (*from < npages) {
        uint32_t first = *from;
        while (first < npages && !is_free(e, first))
            first++;
        uint32_t end = first;
        while (end < npages && is_free(e, end))
            end++;
        *from = end;
        *at = caret__align_up((uint64_t)first * CARET__PAGE_SIZE, 4096);
        uint64_t to = caret__align_down((uint64_t)end * CARET__PAGE_SIZE, 4096);
        if (to >= *at + RUN_BYTES) {
            *len = to - *at;
            return true;
        }
    }
    return false;
}

/* The page number that the spare free ones lie below. */
static uint32_t behind_spare(const struct caret__engine *e)
{
    uint32_t npages = e->sh->frozen.npages, pgno = 0;
    uint32_t left = npages / SPARE_PART > SPARE_LEAST ? npages / SPARE_PART : SPARE_LEAST;

    while (pgno < npages && (left != 0 || pgno < CARET__KEPT_PAGES))
        left -= is_free(e, pgno++) && left != 0;
    return pgno;
}

/* false: the file system has no holes, or does not tell where they are. */
static bool punch(const struct caret__engine *e, uint64_t at, uint64_t len)
{
    int fd = caret__fd(&e->data_fd);

    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)len) != 0)
        return false;
    CARET_FAULT("hollow_punched");
    if (lseek(fd, (off_t)at, SEEK_HOLE) == (off_t)at)
        return true;
    (void)caret__file_allocate(fd, at, len, UINT64_MAX);
    return false;
}

void caret__hollow_punch(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    uint32_t begin = behind_spare(e), from = begin;
    uint64_t at, len, gain = 0;

    while (next_run(e, &from, &at, &len))
        gain += len;
    if (gain < (uint64_t)e->sh->frozen.npages * CARET__PAGE_SIZE / WORTH_PART)
        return;
    for (from = begin; next_run(e, &from, &at, &len);)
        if (!punch(e, at, len))
            return;
}
