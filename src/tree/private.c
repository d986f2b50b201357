/*
 * private.c - a tree on private memory: local variables, write buffers.
 *
 * The same code as the shared tree with the simplest pager: page number = slot in
 * one area of memory that doubles (base/area.h), nobody else looks, nothing is undone.  Each
 * change raises the store's own counter, which serves as LSN: a remembered leaf
 * is valid while its page's version is the remembered one.  What a change can take
 * is allocated before it begins, so it fails before or not at all.
 */
#include <stdlib.h>

#include "base/area.h"
#include "base/error.h"
#include "shm/memory.h"
#include "tree/tree.h"

#define FIRST_PAGES 8u
#define LIMIT_PAGES (1u << 24)

static _Atomic uint64_t next_id = 1; /* ids of shared stores have the top bit */

#define MUCH ((64u << 20) / CARET__PAGE_SIZE) /* pages: from then on it grows by a quarter; arbitrary */

/* What the first n pages take. */
static size_t bytes_of(uint32_t n)
{
    return (size_t)n * CARET__PAGE_SIZE;
}

static int nomem(size_t bytes)
{
    return caret__fail(CARET_E_NOMEM, "no memory for %zu bytes of local data, or of a transaction's changes",
                       bytes);
}

/* Grow to n pages; the pager's pointers move. */
static int grow(struct caret__private *t, uint32_t n)
{
    struct caret__pager *pg = &t->pg;
    size_t bytes = bytes_of(n), words = CARET__BITMAP_WORDS(n);
    uint32_t old = t->pages;

    if (n > LIMIT_PAGES || !caret__memory_has((uint64_t)(n - old) * CARET__PAGE_SIZE))
        return nomem(bytes);
    struct caret__pte *ptab = realloc(pg->ptab, n * sizeof *ptab);
    if (ptab == NULL)
        return nomem(n * sizeof *ptab);
    pg->ptab = ptab;
    uint64_t *map = realloc(t->freemap, words * 8);
    if (map == NULL)
        return nomem(words * 8);
    t->freemap = map;
    uint8_t *arena =
        caret__area_resize(pg->arena, bytes_of(old), bytes); /* last: `pages` tells how long it is */
    if (arena == NULL)
        return nomem(bytes);
    pg->arena = arena;
    memset(ptab + old, 0, (n - old) * sizeof *ptab);
    memset(map + CARET__BITMAP_WORDS(old), 0, (words - CARET__BITMAP_WORDS(old)) * 8);
    for (uint32_t i = old > 0 ? old : 1; i < n; i++) /* page 0 means "none" in hints */
        map[i / 64u] |= UINT64_C(1) << (i % 64u);
    pg->maps[CARET__MAP_FREE] = (_Atomic uint64_t *)map;
    t->ts.free_pages += n - old - (old == 0);
    t->ts.npages = n;
    t->pages = pg->max_pages = n;
    return CARET_OK;
}

static struct caret__w begin(struct caret__private *t)
{
    struct caret__w w = {.pg = &t->pg,
                         .lsn = atomic_fetch_add_explicit(&t->lsn, 1, memory_order_relaxed) + 1};
    return w;
}

static void create(struct caret__private *t)
{
    struct caret__w w = begin(t);
    caret__tree_create(&w);
}

int caret__private_init(struct caret__private *t)
{
    memset(t, 0, sizeof *t);
    t->pg.ts = &t->ts;
    t->pg.applied = &t->lsn;
    t->pg.id = caret__spread_id(atomic_fetch_add(&next_id, 1), true);
    int rc = grow(t, FIRST_PAGES);
    if (rc == CARET_OK)
        create(t);
    else
        caret__private_destroy(t);
    return rc;
}

/* Values with blocks of their own are freed one by one. */
static void free_blocks(struct caret__private *t)
{
    struct caret__view v = {.pg = &t->pg, .applied = UINT64_MAX};
    struct caret__at at = {0};
    uint8_t key[CARET__KEY_MAX + 1];
    size_t len = 0;

    if (!t->ts.has_runs)
        return;
    for (int rc = caret__scan_from(&v, &at, key, &len); rc == CARET_OK;
         rc = caret__scan_next(&v, &at, key, &len)) {
        struct caret__entry e = caret__page_entry(at.page, at.pos);
        if (e.run)
            caret__private_free_value(e.val);
    }
    t->ts.has_runs = 0;
}

void caret__private_destroy(struct caret__private *t)
{
    free_blocks(t);
    caret__area_free(t->pg.arena, bytes_of(t->pages));
    free(t->pg.ptab);
    free(t->freemap);
    memset(t, 0, sizeof *t);
}

/* The commonest tree to be emptied, a transaction's buffer: one leaf. */
static bool clear_leaf(struct caret__private *t)
{
    uint32_t root = atomic_load_explicit(&t->ts.root, memory_order_relaxed);

    if (t->ts.depth != 1 || t->ts.free_pages + 2 != t->pages) /* page 0, and the leaf */
        return false;
    t->pg.ptab[root].version = atomic_fetch_add_explicit(&t->lsn, 1, memory_order_relaxed) + 1;
    caret__page_init((struct caret__page *)(t->pg.arena + (size_t)root * CARET__PAGE_SIZE), root, 0);
    return true;
}

void caret__private_clear(struct caret__private *t)
{
    free_blocks(t);
    if (clear_leaf(t))
        return;
    if (t->pages > 4 * FIRST_PAGES) { /* give most of the memory back; shrinking may move the blocks */
        uint8_t *arena = caret__area_resize(t->pg.arena, bytes_of(t->pages), bytes_of(FIRST_PAGES));
        if (arena != NULL) {
            t->pg.arena = arena;
            t->ts.npages = FIRST_PAGES;
            t->pages = t->pg.max_pages = FIRST_PAGES;
        }
    }
    uint64_t lsn = atomic_fetch_add_explicit(&t->lsn, 1, memory_order_relaxed) + 1;
    memset(t->freemap, 0, CARET__BITMAP_WORDS(t->pages) * 8);
    for (uint32_t i = 1; i < t->pages; i++) {
        t->freemap[i / 64u] |= UINT64_C(1) << (i % 64u);
        t->pg.ptab[i].version = lsn; /* no remembered leaf may pass for one of the new tree */
    }
    t->ts.free_pages = t->pages - 1;
    t->ts.page_hint = 1;
    create(t);
}

/* Room for whatever a set or delete may need. */
static int reserve(struct caret__private *t)
{
    uint32_t need = caret__tree_set_pages(&t->ts);

    if (caret__likely(t->ts.free_pages >= need))
        return CARET_OK;
    return grow(t, t->pages + caret__max(t->pages < MUCH ? t->pages : t->pages / 4, need));
}

/* What an entry holds for a value that has a block of its own. */
struct block {
    void *data;
    uint64_t len;
};

void caret__private_free_value(const uint8_t *entry_value)
{
    struct block b;
    memcpy(&b, entry_value, sizeof b);
    free(b.data);
}

void caret__private_value(const struct caret__entry *e, const uint8_t **val, size_t *vlen)
{
    *val = e->val;
    *vlen = e->vlen;
    if (e->run) {
        struct block b;
        memcpy(&b, e->val, sizeof b);
        *val = b.data;
        *vlen = b.len;
    }
}

bool caret__private_get(struct caret__private *t, const uint8_t *key, size_t len, const uint8_t **val,
                        size_t *vlen)
{
    struct caret__view v = {.pg = &t->pg, .applied = atomic_load_explicit(&t->lsn, memory_order_relaxed)};
    struct caret__at at;

    if (caret__seek(&v, key, len, &at) != CARET_OK || !at.found)
        return false;
    struct caret__entry e = caret__page_entry(at.page, at.pos);
    caret__private_value(&e, val, vlen);
    return true;
}

int caret__private_set(struct caret__private *t, const uint8_t *key, size_t len, const void *val, size_t vlen)
{
    struct block b = {NULL, vlen};
    unsigned vflag = 0;
    int rc = reserve(t);

    if (rc != CARET_OK)
        return rc;
    if (!caret__value_inline(len, vlen)) {
        b.data = malloc(vlen);
        if (b.data == NULL)
            return nomem(vlen);
        memcpy(b.data, val, vlen);
        val = &b;
        vlen = sizeof b;
        vflag = CARET__VLEN_RUN;
        t->ts.has_runs = 1;
    }
    struct caret__w w = begin(t);
    caret__tree_set(&w, key, len, val, vlen, vflag);
    return CARET_OK;
}

int caret__private_delete(struct caret__private *t, const uint8_t *key, size_t len)
{
    struct caret__w w = begin(t);
    caret__tree_delete(&w, key, len);
    return CARET_OK;
}

int caret__private_kill(struct caret__private *t, const struct caret__span *r)
{
    struct caret__w w = begin(t);
    caret__tree_kill(&w, r);
    return CARET_OK;
}
