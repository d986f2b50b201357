/*
 * reserve.c - room for a commit, before it begins: page numbers, arena slots, undo bytes.
 *
 * Kills always make room, also in a full database.  What one takes is bounded by the depth
 * of the tree (tree/shrink.c): 2 copies a level, and some 4 KiB of undo a level and edge.  For that,
 *   - kill_pages() page numbers and slots are left to kills by all others;
 *   - what a kill needs of undo is backed from the beginning (shm/segment.c);
 *   - numbers and slots that earlier kills took come back with a checkpoint, which
 *     takes nothing.  So a kill that finds none has one taken, and tries again.
 * Several kills and deletes in one commit take what their edges take together.  After a checkpoint
 * there is nothing to be saved whole, so the undo that is backed does for some thousand edges
 * (some hundred in the small build); numbers and slots, for as many as are free then.
 */
#include "log/reserve.h"

#include "base/error.h"
#include "log/background.h"
#include "log/checkpoint.h"
#include "log/hollow.h"
#include "log/writer.h"

#define KILL_LEVEL  3u  /* pages a level: the two that a kill copies, and one */
#define KILL_LEAST  64u /* a kill of some edges more; arbitrary */
#define IMAGE_PAGES 8u  /* bitmap images may lie among the numbers that a file grows by */

/* Pages by which a file grows: an eighth of it, within these; arbitrary.  At most 64 MiB: others wait meanwhile. */
#define GROW_LEAST  256u
#define GROW_MOST   16384u

/* Kept so that a full database can be emptied: what one kill takes, and some. */
static uint32_t kill_pages(const struct caret__shared *sh)
{
    return caret__max(KILL_LEAST, KILL_LEVEL * sh->ts.depth);
}

static uint32_t free_unreserved(const struct caret__shared *sh)
{
    uint32_t n = sh->ts.free_pages, held = 0;
    if (atomic_load_explicit(&sh->nreserved, memory_order_relaxed) == 0)
        return n;
    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++)
        held += sh->reserved[i].count;
    return n > held ? n - held : 0;
}

uint32_t caret__pages_to_take(const struct caret__shared *sh)
{
    CARET__ASSERT(caret__writer_held(sh));
    uint32_t n = free_unreserved(sh), kept = kill_pages(sh);
    return n > kept ? n - kept : 0;
}

/* With the disk or shared memory full, what died since the last checkpoint is still to be had: kills make room
 * that way. */
static int reserve_pages(struct caret__engine *e, uint32_t want)
{
    struct caret__shared *sh = e->sh;
    uint32_t have = free_unreserved(sh) + sh->ts.lent_pages, n = sh->ts.npages;
    if (caret__grow_pages_wanted(e, want))
        caret__background_wake(e);
    if (have < want && atomic_load(&sh->hollow_pages) != 0) {
        (void)caret__hollow_fill(e, want - have);
        have = free_unreserved(sh) + sh->ts.lent_pages;
    }
    if (have >= want)
        return CARET_OK;
    uint32_t more = (uint32_t)caret__min(caret__max(n / 8, GROW_LEAST), GROW_MOST);
    uint32_t least = want - have + IMAGE_PAGES;
    int rc = caret__grow_pages(e, n + (more > least ? more : least));
    if (rc != CARET_OK && more > least)
        rc = caret__grow_pages(e, n + least); /* near the end of the disk, or of the page numbers */
    return (rc == CARET_E_DISKFULL || rc == CARET_E_SHM) && caret__checkpoint_frees(e) ? CARET_RESTART : rc;
}

/* Could a checkpoint free so many slots? */
static bool checkpoint_helps(const struct caret__engine *e, uint32_t want)
{
    return want <= atomic_load(&e->sh->nslots) && caret__checkpoint_frees(e);
}

int caret__may_take(const struct caret__engine *e, uint32_t pages)
{
    uint32_t most = e->sh->max_slots / 2;

    if (pages <= most)
        return CARET_OK;
    return caret__fail(CARET_E_TXN_TOO_BIG,
                       "%s: the transaction may change %u pages, half of the arena is the limit, %u (%s)",
                       e->path, pages, most,
                       caret__in_memory(e)
                           ? "arena_limit, or else a quarter of memory_limit"
                           : "arena_limit; room in shm_dir, and memory, when it was opened first");
}

static int reserve_slots(struct caret__engine *e, uint32_t want)
{
    struct caret__shared *sh = e->sh;
    uint32_t n = atomic_load_explicit(&sh->nslots, memory_order_relaxed);

    if (caret__grow_wanted(e, want))
        caret__background_wake(e);
    if (sh->ts.free_slots >= want)
        return CARET_OK;
    int may = caret__may_take(e, want);
    if (may != CARET_OK)
        return may;
    if (n < sh->max_slots) {
        uint64_t more = caret__max64(want - sh->ts.free_slots, CARET__ARENA_STEP);
        uint64_t to = caret__min64(caret__align_up(n + more, CARET__ARENA_STEP), sh->max_slots);
        int rc = caret__grow_arena(e, (uint32_t)to);
        if (rc == CARET_OK && sh->ts.free_slots >= want)
            return CARET_OK;
        if (rc != CARET_OK && !checkpoint_helps(e, want))
            return rc; /* shared memory is full: writers that would wait for ever are refused */
    }
    return CARET_RESTART;
}

static int reserve_undo(struct caret__engine *e, const struct caret__need *need, bool is_kill)
{
    uint64_t cap = atomic_load_explicit(&e->sh->undo_cap, memory_order_relaxed);
    uint64_t bytes = need->undo_bytes + CARET__UNDO_FRONT;
    int rc;

    if (bytes <= cap)
        return CARET_OK;
    if (bytes > e->sh->undo_max && bytes - need->undo_saved <= e->sh->undo_max)
        return CARET_RESTART; /* in a new epoch it needs less */
    if (bytes > e->sh->undo_max)
        rc = caret__fail(
            CARET_E_TXN_TOO_BIG,
            "%s: the transaction changes too much: it needs %llu bytes of undo, %llu is the limit", e->path,
            (unsigned long long)need->undo_bytes, (unsigned long long)(e->sh->undo_max - CARET__UNDO_FRONT));
    else
        rc = caret__grow_undo(e, bytes);
    bool helps = is_kill && bytes - need->undo_saved <= cap && caret__checkpoint_frees(e);
    return rc != CARET_OK && helps ? CARET_RESTART : rc;
}

int caret__reserve(struct caret__engine *e, const struct caret__need *need, bool is_kill)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    uint32_t spare = is_kill ? 0 : kill_pages(e->sh);
    int rc = reserve_undo(e, need, is_kill);

    if (rc == CARET_OK)
        rc = reserve_slots(e, need->pages + spare);
    return rc == CARET_OK ? reserve_pages(e, need->pages + spare) : rc;
}
