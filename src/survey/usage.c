/*
 * usage.c - what takes the room: pages by level, nodes and bytes by global.
 *
 * Walks the tree of a snapshot (opened read-only: of the last checkpoint), so nobody
 * waits for it, however long it takes.  Keys come in order: the global in progress
 * is the last one of the list.  A leaf counts for each global that has nodes in it.
 */
#include <stdlib.h>

#include "api/session.h"
#include "log/snapshot.h"
#include "open/open.h"

#define TRIES 20u /* arbitrary: of a file whose checkpoints come while it is walked */

struct walk {
    const struct caret__pager *pg;
    const char *path;
    caret_usage *u;
    size_t cap;
};

/* The global that an encoded key belongs to: the last one, or a new one; NULL: no memory. */
static caret_usage_global *global_of(struct walk *w, const uint8_t *key, unsigned len)
{
    caret_usage *u = w->u;
    const uint8_t *zero = memchr(key, 0, len);
    size_t n = zero != NULL ? (size_t)(zero - key) : len;
    caret_usage_global *g = u->globals != 0 ? &u->global[u->globals - 1] : NULL;

    n = n < CARET_MAX_NAME ? n : CARET_MAX_NAME;
    if (g != NULL && memcmp(g->name + 1, key, n) == 0 && g->name[n + 1] == 0)
        return g;
    if (u->globals == w->cap) {
        size_t cap = w->cap * 2 + 16;
        caret_usage_global *more = realloc(u->global, cap * sizeof *more);
        if (more == NULL)
            return NULL;
        u->global = more;
        w->cap = cap;
    }
    g = &u->global[u->globals++];
    *g = (caret_usage_global){.name = "^"};
    memcpy(g->name + 1, key, n);
    return g;
}

static void count_value(caret_usage_global *g, const struct caret__entry *e)
{
    uint32_t ref[2] = {0};

    g->bytes += caret__entry_room(e->klen, e->vlen);
    if (!e->run)
        return;
    memcpy(ref, e->val, e->vlen < sizeof ref ? e->vlen : sizeof ref);
    g->long_values++;
    g->long_bytes += ref[1];
    g->long_pages += caret__run_pages(ref[1]);
}

static int count_leaf(struct walk *w, const struct caret__page *p)
{
    uint8_t key[CARET__KEY_MAX];
    caret_usage_global *last = NULL;

    for (unsigned i = 0; i < caret__page_count(p); i++) {
        struct caret__entry e = caret__page_entry(p, i);
        unsigned len = caret__page_key(p, i, key);
        caret_usage_global *g = global_of(w, key, len);
        if (g == NULL)
            return caret__fail(CARET_E_NOMEM, "%s: no memory for %zu globals", w->path, w->u->globals);
        g->leaves += i == 0 || g != last;
        g->nodes++;
        count_value(g, &e);
        last = g;
    }
    return CARET_OK;
}

static int walk_page(struct walk *w, uint32_t pgno, unsigned level)
{
    if (!caret__page_trusted(w->pg, pgno, level))
        return caret__fail(CARET_E_CORRUPT, "%s: page %u is damaged", w->path, pgno);
    uint64_t word = atomic_load_explicit(&w->pg->ptab[pgno].word, memory_order_relaxed);
    const struct caret__page *p = caret__page_at(w->pg, pgno, word);
    caret_usage_level *l = &w->u->level[level];
    int rc = CARET_OK;

    l->pages++;
    l->entries += caret__page_count(p) + (level > 0);
    l->used += CARET__PAGE_HEAD + caret__page_used(p);
    l->size += CARET__PAGE_SIZE;
    if (level == 0)
        return count_leaf(w, p);
    for (unsigned i = 0; i <= caret__page_count(p) && rc == CARET_OK; i++)
        rc = walk_page(w, caret__page_child(p, i), level - 1);
    return rc;
}

static int walk_tree(const struct caret__pager *pg, const char *path, caret_usage *u)
{
    struct walk w = {.pg = pg, .path = path, .u = u};

    free(u->global);
    *u = (caret_usage){.size = sizeof *u->global, .levels = pg->ts->depth};
    if (u->levels < 1 || u->levels > CARET_MAX_LEVELS)
        return caret__fail(CARET_E_CORRUPT, "%s: a tree of %u levels", path, u->levels);
    return walk_page(&w, atomic_load(&pg->ts->root), u->levels - 1);
}

/* Through a snapshot. */
static int usage_attached(struct caret__engine *e, caret_usage *u)
{
    struct caret__snapshot *s;
    int rc = caret__snapshot_open(e, &s);

    if (rc != CARET_OK)
        return rc;
    rc = walk_tree(&s->pg, e->path, u);
    int held = caret__snapshot_check(s);
    caret__snapshot_close(s);
    return held != CARET_OK ? held : rc;
}

/* Through the last checkpoint, again if there is a newer one. */
static int usage_observed(const struct caret__engine *of, caret_usage *u)
{
    for (unsigned i = 0; i < TRIES; i++) {
        struct caret__engine *e;
        int rc = caret__engine_view(of, &e);
        if (rc != CARET_OK)
            return rc;
        rc = walk_tree(&e->pg, e->path, u);
        bool over = caret__observed_over(e);
        caret__engine_view_end(e);
        if (!over)
            return rc;
    }
    return caret__fail(CARET_E_BUSY, "%s: checkpoints come faster than it can be walked", of->path);
}

int caret_usage_get(caret_db *db, caret_usage **out)
{
    struct caret__engine *e;

    if (out == NULL)
        return caret__null(__func__, "usage", "a place for the result");
    *out = NULL;
    int rc = caret__db_enter(__func__, db, &e);
    if (rc != CARET_OK)
        return rc;
    caret_usage *u = calloc(1, sizeof *u);
    if (u == NULL)
        rc = caret__fail(CARET_E_NOMEM, "no memory to look at %s", e->path);
    else
        rc = e->observes ? usage_observed(e, u) : usage_attached(e, u);
    caret__db_leave(e);
    if (rc == CARET_OK)
        *out = u;
    else
        caret_usage_free(u);
    return rc;
}

void caret_usage_free(caret_usage *u)
{
    if (u == NULL)
        return;
    free(u->global);
    free(u);
}
