/*
 * release.c - the release of page numbers whose pages are dead.
 *
 *     in the tree --dies in epoch e--> pending[e & 1] --e is durable--> free
 *                                              |                         ^
 *                                              '--a snapshot reads it--> held --nobody reads it--'
 *
 * While e is underway and nobody reads a snapshot, pages of the tree are born with numbers out of pending[e & 1]
 * (page/store.c): these have left the map when it is released.
 *
 * All moves are made by the holder of the checkpoint role, some words at a time
 * under the writer mutex.  Which snapshots keep a page is looked up once for each
 * release (log/snapshot.c): nobody can begin a snapshot meanwhile; one that ends
 * keeps its pages until the next time.
 *
 * A move sets the bit where it goes to, then clears it where it comes from.  After
 * a death in between a number is in two maps; repair, which comes before anybody
 * takes a number, leaves it where it was going to: pending &= ~(held | free),
 * held &= ~free.  The counters are counted anew.
 *
 * `held` is gone through when there are other keepers than the last time, when the
 * mark of those was stored as held_settled after the work.  A release that adds to
 * it what others keep clears that mark first.
 *
 * Invariants: each page number is in the tree, free, pending, held, or fixed by
 * the format, and only one of these whenever the writer mutex is free.
 */
#include "log/release.h"
#include "base/fault.h"
#include "log/writer.h"
#include "page/store.h"

/* ------------------------------------------------------------------- keepers */

void caret__snapshots_drop(struct caret__engine *e, uint32_t slot)
{
    atomic_store(&e->slots[slot].snap_lsn, 0);
    CARET_FAULT("snapshot_dropped");
}

static uint64_t mix(uint64_t mark, uint64_t word)
{
    mark = (mark ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return mark ^ mark >> 29;
}

void caret__keepers_look(struct caret__engine *e, struct caret__keepers *k)
{
    CARET__HELD(&e->sh->checkpoint);
    k->count = 0;
    k->mark = 0;
    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        struct caret__procslot *p = &e->slots[i];
        uint32_t nonce = atomic_load(&p->nonce);
        uint64_t lsn = atomic_load(&p->snap_lsn);
        uint32_t epoch = atomic_load(&p->snap_epoch);
        if (lsn == 0)
            continue;
        if (!caret__slot_alive(e, i, nonce)) {
            caret__snapshots_drop(e, i);
            continue;
        }
        k->mark = mix(mix(k->mark, lsn), (uint64_t)epoch << 32 | i);
        k->of[k->count].lsn = lsn;
        k->of[k->count++].epoch = epoch;
    }
    k->mark |= 1;
}

bool caret__keepers_are(const struct caret__engine *e)
{
    CARET__HELD(&e->sh->checkpoint);
    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++)
        if (atomic_load(&e->slots[i].snap_lsn) != 0)
            return true;
    return false;
}

bool caret__held_stale(const struct caret__engine *e)
{
    uint64_t mark = 0;

    if (atomic_load_explicit(&e->sh->held_pages, memory_order_relaxed) == 0)
        return false;
    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        uint64_t lsn = atomic_load(&e->slots[i].snap_lsn);
        if (lsn != 0)
            mark = mix(mix(mark, lsn), (uint64_t)atomic_load(&e->slots[i].snap_epoch) << 32 | i);
    }
    return (mark | 1) != atomic_load(&e->sh->held_settled);
}

/* ------------------------------------------------------------------- release */

#define WORDS_AT_ONCE 1024u /* that one hold of the mutex looks at, */
#define BITS_AT_ONCE  2048u /* and page numbers, if they must be looked at one by one */

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* Which of the dead pages of a word of the map does somebody keep? */
static uint64_t kept_of(const struct caret__engine *e, const struct caret__keepers *k, uint32_t word,
                        uint64_t dead)
{
    uint64_t kept = 0;

    if (k->count == 0)
        return 0;
    for (uint64_t left = dead; left != 0; left &= left - 1)
        if (caret__kept(e, k, word * 64u + (uint32_t)__builtin_ctzll(left)))
            kept |= left & -left;
    return kept;
}

/* The numbers of one word of `from` go where they belong. */
static void release_word(struct caret__engine *e, const struct caret__keepers *k, _Atomic uint64_t *from,
                         uint32_t word)
{
    struct caret__shared *sh = e->sh;
    _Atomic uint64_t *fm = e->pg.maps[CARET__MAP_FREE], *held = e->pg.maps[CARET__MAP_HELD];
    uint64_t dead = load(&from[word]), kept = kept_of(e, k, word, dead), f = load(&fm[word]);
    uint32_t freed = (uint32_t)__builtin_popcountll(dead & ~kept & ~f);

    if (from == held) {
        CARET_FAULT("held_counted");
        atomic_fetch_sub(&sh->held_pages, (uint32_t)__builtin_popcountll(dead & ~kept));
    } else if (kept != 0) {
        atomic_fetch_add(&sh->held_pages, (uint32_t)__builtin_popcountll(kept));
        atomic_store_explicit(&held[word], load(&held[word]) | kept, memory_order_release);
        CARET_FAULT("release_held");
    }
    if (from != held) {
        caret__racy_put32(&sh->ts.dead_pages, sh->ts.dead_pages - (uint32_t)__builtin_popcountll(dead));
        if (sh->ts.lent_pages != 0) /* then all of `from` are */
            sh->ts.lent_pages -= (uint32_t)__builtin_popcountll(dead);
    }
    sh->ts.free_pages += freed;
    if (freed != 0 && word < sh->ts.page_hint / 64u) /* low numbers first: the end of the file becomes free */
        sh->ts.page_hint = word * 64u;
    atomic_store_explicit(&fm[word], f | (dead & ~kept), memory_order_release);
    if (from == held)
        CARET_FAULT("held_free");
    CARET_FAULT("release_free");
    atomic_store_explicit(&from[word], from == held ? kept : 0, memory_order_release);
    CARET_FAULT("release_pending");
}

/* From word *at on, as much as one hold of the mutex should take. */
static void release_some(struct caret__engine *e, const struct caret__keepers *k, _Atomic uint64_t *from,
                         uint32_t words, uint32_t *at)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    CARET__HELD(&e->sh->checkpoint);
    uint32_t end = words - *at > WORDS_AT_ONCE ? *at + WORDS_AT_ONCE : words, bits = 0;

    for (; *at < end && bits < BITS_AT_ONCE; ++*at) {
        uint64_t dead = load(&from[*at]);
        if (dead == 0)
            continue;
        if (k->count != 0)
            bits += (uint32_t)__builtin_popcountll(dead);
        release_word(e, k, from, *at);
    }
}

static int release_map(struct caret__engine *e, const struct caret__keepers *k, unsigned map, uint32_t npages)
{
    uint32_t words = CARET__BITMAP_WORDS(npages), at = 0;

    while (at < words) {
        int rc = caret__writer_lock(e);
        if (rc != CARET_OK)
            return rc;
        release_some(e, k, e->pg.maps[map], words, &at);
        caret__writer_unlock(e);
    }
    return CARET_OK;
}

int caret__release_pages(struct caret__engine *e, uint32_t epoch)
{
    CARET__HELD(&e->sh->checkpoint);
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__keepers k;

    caret__keepers_look(e, &k);
    if (atomic_load(&e->sh->held_settled) != k.mark)
        atomic_store(&e->sh->held_settled, 0);
    CARET_FAULT("held_unsettled");
    return release_map(e, &k, CARET__MAP_PENDING0 + (epoch & 1u), e->sh->frozen.npages);
}

int caret__held_release(struct caret__engine *e)
{
    CARET__HELD(&e->sh->checkpoint);
    struct caret__shared *sh = e->sh;
    struct caret__keepers k;

    if (atomic_load(&sh->held_pages) == 0)
        return CARET_OK;
    caret__keepers_look(e, &k); /* notices deaths, too */
    if (atomic_load(&sh->held_settled) == k.mark)
        return CARET_OK;
    int rc = release_map(e, &k, CARET__MAP_HELD, atomic_load(&sh->ts.npages));
    if (rc == CARET_OK)
        atomic_store(&sh->held_settled, k.mark);
    CARET_FAULT("held_settled");
    return rc;
}
