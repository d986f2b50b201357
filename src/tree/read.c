/*
 * read.c - finding a leaf without a lock.
 *
 * descend():
 *   1  root number; its page's version and word; the root number again.
 *   2  version > log_applied (even the fresh one): the page is being changed:
 *      wait or repair, start again.  Its writer lives, but does not go on: descend
 *      through the state of log_applied (past.c).  Obsolete: start again.
 *   3  inner page: the child for the key; the child's version and word; fence;
 *      this page's version and word must be unchanged, else start again.
 *   4  leaf: position; fence; version and word unchanged.
 * What is stable and still makes no sense is damage: CARET_E_CORRUPT.
 *
 * A page is asked for as soon as its place is known (caret__page_ask), unless the descent before
 * came to it too: then the caches have it, and asking would only cost.  That is a matter of time
 * alone; what the place of a page says, and whether it still says so, is looked at as ever.
 *
 * A plain descent begins where the ways of the session end (ways.c), most often at the leaf.
 *
 * Pages that are read from the file have their crc checked once per process.
 */
#include <limits.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/rand.h"
#include "tree/past.h"
#include "tree/walk.h"
#include "tree/ways.h"

#define SPINS      64u
#define LEAF_MOST  (CARET__PAGE_USABLE / 10u) /* entries: slot, and length of a value */
#define INNER_MOST (CARET__PAGE_USABLE / (10u + CARET__CHILD_LEN) + 1u) /* children */

int caret__corrupt_page(const struct caret__pager *pg, uint32_t pgno, const char *why)
{
    return caret__fail(CARET_E_CORRUPT, "%s: page %u: %s", pg->path != NULL ? pg->path : "local variables",
                       pgno, why);
}

/* A write makes the kernel copy it, for this process alone.  The byte may be another by now: then its crc tells. */
static void keep_as_it_is(const struct caret__page *p)
{
    volatile uint8_t *first = (volatile uint8_t *)(uintptr_t)p;

    *first = *first;
}

bool caret__file_page_ok(const struct caret__pager *pg, uint32_t pgno)
{
    const struct caret__page *p = (const struct caret__page *)(pg->file + (size_t)pgno * CARET__PAGE_SIZE);

    if (caret__unlikely(pgno < pg->kept))
        keep_as_it_is(p);
    uint32_t crc = caret__crc32c(0, (const uint8_t *)p + 4, CARET__PAGE_SIZE - 4);
    char report[200] = "";
    if (caret__racy32(&p->crc) != crc || !caret__page_check(p, pgno, report, sizeof report))
        return false;
    caret__page_is_known(pg, pgno);
    return true;
}

bool caret__page_trusted(const struct caret__pager *pg, uint32_t pgno, unsigned level)
{
    if (!pg->shared)
        return true;
    if (pgno < CARET__FIRST_PAGE || pgno >= pg->max_pages || pgno >= pg->ts->npages)
        return false;
    uint64_t word = atomic_load_explicit(&pg->ptab[pgno].word, memory_order_relaxed);
    if (word & CARET__PTE_OBSOLETE)
        return false;
    if (caret__unlikely(!caret__bytes_known(pg, pgno, word)) &&
        (pg->file == NULL || pgno >= *pg->file_pages_mapped || !caret__file_page_ok(pg, pgno)))
        return false;
    const struct caret__page *p = caret__page_at(pg, pgno, word);
    return caret__racy8(&p->level) == level &&
           caret__racy8(&p->type) == (level == 0 ? CARET__PAGE_LEAF : CARET__PAGE_INNER);
}

/* Look up version, word and bytes of a page; false: start again (err tells whether to give up). */
static inline __attribute__((always_inline)) bool
load_page(struct caret__view *v, uint32_t pgno, struct caret__at *at, int *err, unsigned tries, bool past)
{
    const struct caret__pager *pg = v->pg;
    const struct caret__pte *pte = &pg->ptab[pgno];

    at->pgno = pgno;
    at->version = atomic_load_explicit(&pte->version, memory_order_acquire);
    at->word = atomic_load_explicit(&pte->word, memory_order_acquire);
    if (past && at->version > caret__past_lsn(v->past)) {
        *err = caret__past_page(v, at);
        return *err == CARET_OK;
    }
    if (caret__unlikely(at->version > v->applied)) {
        v->applied = atomic_load_explicit(pg->applied, memory_order_acquire);
        if (at->version > v->applied) {
            *err = caret__past_stalled(v, at->version, tries);
            return false;
        }
    }
    if (caret__unlikely(at->word & CARET__PTE_OBSOLETE))
        return false;
    if (caret__unlikely(caret__pte_slot(at->word) == CARET__SLOT_NONE)) {
        if (pg->file == NULL || pgno >= *pg->file_pages_mapped)
            return false;
        if (!caret__bytes_known(pg, pgno, at->word) && !caret__file_page_ok(pg, pgno)) {
            if (caret__at_valid(v, at))
                *err = caret__corrupt_page(pg, pgno, "its checksum or its structure is wrong");
            return false;
        }
    }
    at->page = caret__page_at(pg, pgno, at->word);
    CARET_DOZE();
    return true;
}

/* A page number that leads nowhere, or a level that does not fit. */
static bool child_ok(const struct caret__pager *pg, uint32_t child)
{
    return child < pg->max_pages && child < pg->ts->npages;
}

struct bound {
    struct caret__range *range;
    bool before; /* equal separators lead to the left */
    struct caret__draw *draw;
};

/*
 * Draw one of the n things of a page that are in the range, the first of which has the number `lo`; UINT_MAX: none.
 * Where the ways part for the first time all of them are alike.  After that pages have more or fewer, so one of the
 * `most` that any page can have is drawn, and what the page has not counts as a draw in vain: else what is in pages
 * with few would come too often.
 */
static unsigned draw_one(struct caret__draw *d, unsigned lo, unsigned n, unsigned most)
{
    unsigned i = n;

    if (d->branched && !d->rough)
        i = caret__rand_below(d->r, most);
    else if (n != 0)
        i = n > 1 ? caret__rand_below(d->r, n) : 0;
    d->branched |= n > 1;
    return i < n ? lo + i : UINT_MAX;
}

/* How many children of a page are in the range, and the first of them. */
static unsigned children_of(const struct caret__at *at, const struct caret__draw *d, unsigned *lo)
{
    bool found;
    unsigned hi = caret__page_find(at->page, d->to, d->len, &found); /* what begins with `to` is outside */

    *lo = caret__page_child_index(at->page, d->from, d->len);
    return hi >= *lo ? hi - *lo + 1 : 0;
}

static unsigned draw_child(const struct caret__at *at, struct caret__draw *d)
{
    unsigned lo, n = children_of(at, d, &lo);

    return draw_one(d, lo, n, INNER_MOST);
}

static void draw_entry(struct caret__at *at, struct caret__draw *d)
{
    bool found;
    unsigned lo = caret__page_find(at->page, d->from, d->len, &found);
    unsigned hi = caret__page_find(at->page, d->to, d->len, &found);

    at->pos = draw_one(d, lo, hi >= lo ? hi - lo : 0, LEAF_MOST);
    at->found = at->pos != UINT_MAX;
}

static inline unsigned choose(const struct caret__at *at, const uint8_t *key, size_t len,
                              const struct bound *b)
{
    bool found;
    unsigned i = caret__page_find(at->page, key, len, &found);
    if (b == NULL || !b->before)
        i += found;
    if (b != NULL && b->range != NULL) {
        if (i > 0)
            b->range->lower_len = caret__page_key(at->page, i - 1, b->range->lower);
        if (i < caret__page_count(at->page))
            b->range->upper_len = caret__page_key(at->page, i, b->range->upper);
    }
    return i;
}

/* The page that a descent comes to below `depth`. */
static inline __attribute__((always_inline)) void ask(struct caret__view *v, const struct caret__at *at,
                                                      unsigned depth)
{
    uint32_t *warm = &v->warm[depth % CARET__WARM];

    if (*warm != at->pgno)
        caret__page_ask(at->page);
    *warm = at->pgno;
}

/* A walk has come to a leaf's parent: ask for the leaf that follows.  What is read here counts for nothing. */
static inline void ask_beside(const struct caret__pager *pg, const struct caret__page *p, unsigned i)
{
    uint32_t next = i <= caret__page_count(p) ? caret__page_child(p, i) : 0;

    if (caret__racy8(&p->level) != 1 || next == 0 || !child_ok(pg, next))
        return;
    uint64_t word = atomic_load_explicit(&pg->ptab[next].word, memory_order_relaxed);
    if (pg->file != NULL || caret__pte_slot(word) != CARET__SLOT_NONE)
        caret__page_ask(caret__page_at(pg, next, word));
}

static inline uint32_t root_of(const struct caret__view *v, bool past)
{
    return past ? caret__past_root(v->past) : atomic_load_explicit(&v->pg->ts->root, memory_order_acquire);
}

/* Step 4. */
static inline __attribute__((always_inline)) int end_in_leaf(struct caret__view *v, const uint8_t *key,
                                                             size_t len, struct caret__at *at,
                                                             const struct bound *b)
{
    if (b != NULL && b->draw != NULL)
        draw_entry(at, b->draw);
    else
        at->pos = caret__page_find(at->page, key, len, &at->found);
    bool sane = caret__page_sane(at->page, at->pgno, 0);
    CARET_DOZE();
    if (!caret__at_valid(v, at)) /* after the last look at the page: all of it may be torn */
        return CARET_RESTART;
    return sane ? CARET_OK : caret__corrupt_page(v->pg, at->pgno, "not a leaf");
}

/* The rest of a descent that has come to `at`. */
static inline __attribute__((always_inline)) int go_down(struct caret__view *v, const uint8_t *key,
                                                         size_t len, struct caret__at *at,
                                                         const struct bound *b, unsigned tries, bool past)
{
    const struct caret__pager *pg = v->pg;
    int err = CARET_RESTART;

    for (unsigned depth = 0; depth < CARET__MAX_DEPTH; depth++) {
        if (caret__racy8(&at->page->type) != CARET__PAGE_INNER)
            return end_in_leaf(v, key, len, at, b);
        bool drawn = b != NULL && b->draw != NULL;
        unsigned chosen = drawn ? draw_child(at, b->draw) : choose(at, key, len, b);
        if (drawn && chosen == UINT_MAX) {
            at->found = false;
            return caret__at_valid(v, at) ? CARET_OK : CARET_RESTART;
        }
        uint32_t child = caret__page_child(at->page, chosen);
        struct caret__at below;
        if (b != NULL && b->range != NULL)
            ask_beside(pg, at->page, b->before ? chosen - 1 : chosen + 1);
        if (caret__unlikely(!child_ok(pg, child)))
            return caret__at_valid(v, at)
                       ? caret__corrupt_page(pg, at->pgno, "child page number is out of range")
                       : CARET_RESTART;
        bool ok = load_page(v, child, &below, &err, tries, past);
        if (ok)
            ask(v, &below, depth);
        /* The child may be anything by now: what was found there means nothing. */
        if (!caret__at_valid(v, at))
            return CARET_RESTART;
        if (!ok)
            return err == CARET_OK ? CARET_RESTART : err;
        if ((b == NULL || (b->range == NULL && !drawn)) && v->ways != NULL && !past)
            caret__ways_learn(v, at);
        if (b != NULL && !drawn && v->walk != NULL && !past)
            caret__walk_from(v->walk, v, at, chosen, child);
        *at = below;
    }
    return caret__at_valid(v, at)
               ? caret__corrupt_page(pg, at->pgno, "the tree is too deep: pages form a ring")
               : CARET_RESTART;
}

/*
 * Where a tree was larger once, or a page was split lately, pages near the root have few children, and most of what is
 * drawn by draw_one() would be in vain.  So as long as a level has few pages in the range all of their children are
 * counted, and one of these is drawn, each as likely.  A count that is torn is that of a page which is not the same any
 * more; it is noticed if the child is one of that page's.
 */
#define FEW 4u /* arbitrary: a level of more costs more than it saves, in a tree that has only grown */

struct level {
    unsigned n, children;
    unsigned lo[FEW], count[FEW]; /* of the children in the range, all of them `children` */
    struct caret__at at[FEW];
};

static void count_children(struct level *l, const struct caret__draw *d)
{
    l->children = 0;
    for (unsigned i = 0; i < l->n; i++)
        l->children += l->count[i] = children_of(&l->at[i], d, &l->lo[i]);
}

/* Step 3. */
static int load_child(struct caret__view *v, const struct caret__at *at, unsigned i, struct caret__at *below,
                      unsigned tries)
{
    int err = CARET_RESTART;
    uint32_t child = caret__page_child(at->page, i);

    if (caret__unlikely(!child_ok(v->pg, child)))
        return caret__at_valid(v, at)
                   ? caret__corrupt_page(v->pg, at->pgno, "child page number is out of range")
                   : CARET_RESTART;
    bool ok = load_page(v, child, below, &err, tries, false);
    if (!caret__at_valid(v, at))
        return CARET_RESTART;
    return ok ? CARET_OK : err == CARET_OK ? CARET_RESTART : err;
}

/* The pages below those of a level; there are FEW at most. */
static int load_level(struct caret__view *v, const struct level *l, struct level *below, unsigned tries)
{
    int rc = CARET_OK;

    below->n = 0;
    for (unsigned i = 0; i < l->n; i++)
        for (unsigned k = 0; rc == CARET_OK && k < l->count[i]; k++)
            rc = load_child(v, &l->at[i], l->lo[i] + k, &below->at[below->n++], tries);
    return rc;
}

/* From the root to a page below the levels that have few pages; it stays at the root of a tree that has no levels. */
static int draw_top(struct caret__view *v, struct caret__draw *d, struct caret__at *at, unsigned tries)
{
    struct level levels[2], *l = &levels[0], *below = &levels[1];
    unsigned i = 0, k = 0;
    int rc = CARET_OK;

    if (caret__racy8(&at->page->type) != CARET__PAGE_INNER)
        return CARET_OK;
    l->n = 1;
    l->at[0] = *at;
    count_children(l, d);
    for (unsigned level = caret__racy8(&at->page->level); level > 1 && l->children <= FEW; level--) {
        struct level *swap = below;
        rc = load_level(v, l, below, tries);
        if (rc != CARET_OK)
            return rc;
        below = l;
        l = swap;
        count_children(l, d);
    }
    if (l->children == 0) /* of pages that are being changed, or damaged: go_down() says which */
        return CARET_OK;
    for (k = l->children > 1 ? caret__rand_below(d->r, l->children) : 0; k >= l->count[i]; i++)
        k -= l->count[i];
    d->branched = l->children > 1;
    return load_child(v, &l->at[i], l->lo[i] + k, at, tries);
}

/* One descent; CARET_RESTART: start again; CARET_NONE: a stopped writer is in the way.
 * past: through the state of caret__past_begin(). */
static inline int descend(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at,
                          const struct bound *b, unsigned tries, bool past)
{
    int err = CARET_RESTART;
    uint32_t root = root_of(v, past);

    if (b != NULL && b->range != NULL)
        b->range->lower_len = b->range->upper_len = 0;
    if (b != NULL && b->draw != NULL)
        b->draw->branched = false;
    if (past && !caret__past_holds(v->past)) /* the number may be anything */
        return CARET_RESTART;
    bool loaded = load_page(v, root, at, &err, tries, past);
    if (past ? !caret__past_holds(v->past) : root_of(v, false) != root)
        return CARET_RESTART;
    if (!loaded)
        return err == CARET_OK ? CARET_RESTART : err;
    if (b != NULL && b->draw != NULL && !past) {
        err = draw_top(v, b->draw, at, tries);
        if (err != CARET_OK)
            return err;
    }
    return go_down(v, key, len, at, b, tries, past);
}

__attribute__((noinline, cold)) static int descend_past(struct caret__view *v, const uint8_t *key, size_t len,
                                                        struct caret__at *at, const struct bound *b)
{
    int rc = caret__past_begin(v);
    return rc == CARET_OK ? descend(v, key, len, at, b, 0, true) : rc;
}

static inline int seek(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at,
                       const struct bound *b)
{
    for (unsigned tries = 0;; tries++) {
        int rc = descend(v, key, len, at, b, tries, false);
        if (caret__likely(rc == CARET_OK))
            return rc;
        if (rc == CARET_NONE)
            rc = descend_past(v, key, len, at, b);
        if (rc != CARET_RESTART)
            return rc;
        /* Other reasons to retry end too, but not for ever in a spin. */
        if (tries > SPINS && v->stalled != NULL) {
            rc = v->stalled(v->ctx, 0, tries);
            if (rc != CARET_OK && rc != CARET_NONE)
                return rc;
        }
        if (tries > 1000000)
            return caret__fail(CARET_E_CORRUPT, "page %u: no stable way to the key after a million tries",
                               at->pgno);
    }
}

/* From where the ways end, above the leaf. */
__attribute__((noinline)) static int seek_below(struct caret__view *v, const uint8_t *key, size_t len,
                                                struct caret__at *at)
{
    return go_down(v, key, len, at, NULL, 0, false);
}

/* In the leaf that ways lead to. */
static inline __attribute__((always_inline)) int
end_led(struct caret__view *v, const uint8_t *key, size_t len, struct caret__led led, struct caret__at *at)
{
    int rc = end_in_leaf(v, key, len, at, NULL);

    if (caret__likely(rc == CARET_OK))
        caret__aim_told(&led.way->aims, led.aim, at->page, at->pos);
    return rc;
}

int caret__seek(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at)
{
    struct caret__led led = caret__ways_lead(v, key, len, at);

    if (led.way != NULL) {
        int rc = led.way->level == 1 ? end_led(v, key, len, led, at) : seek_below(v, key, len, at);
        if (caret__likely(rc == CARET_OK))
            return rc;
    }
    return seek(v, key, len, at, NULL);
}

int caret__seek_walk(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at)
{
    const struct bound none = {NULL, false, NULL};
    struct caret__led led = caret__ways_lead(v, key, len, at);

    if (led.way == NULL || led.way->level != 1 || end_led(v, key, len, led, at) != CARET_OK)
        return seek(v, key, len, at, &none);
    if (v->walk != NULL)
        caret__walk_from(v->walk, v, &led.way->at, led.index, at->pgno);
    return CARET_OK;
}

int caret__seek_range(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at,
                      struct caret__range *range)
{
    struct bound b = {range, false, NULL};
    return seek(v, key, len, at, &b);
}

int caret__seek_before(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at,
                       struct caret__range *range)
{
    struct bound b = {range, true, NULL};
    return seek(v, key, len, at, &b);
}

int caret__seek_drawn(struct caret__view *v, struct caret__draw *d, struct caret__at *at)
{
    struct bound b = {NULL, false, d};

    int rc = seek(v, d->from, d->len, at, &b);
    return rc == CARET_OK && !at->found ? CARET_NONE : rc;
}
