/*
 * ways.c - the upper part of the tree, as a session remembers it.
 *
 * A descent reads inner pages for a few bytes of each: of a million nodes there are some thirty, which the leaves that
 * are read between push out of the nearer caches.  Searched for they wait for four lines, one after the other.  So a
 * session that comes to the same inner page again and again copies what leads further: heads and children side by side,
 * without offsets and the bytes of separators, of which hardly one is ever compared.
 *
 *   1  root number; is there a way of it, whose page has the version and word that were copied?  The root number again
 *   2  the child for the key by the heads; a key with the same head as a separator: by the page, where it is
 *   3  an inner page: is there a way of the child, of its present version?  This page's version and word must be
 *      unchanged; 2 again, a level lower
 *   4  else: the child's version and word; fence; this page's version and word must be unchanged; the descent goes on
 *      from there, in read.c
 *
 * These are the rules of read.c.  The copy of a page is the page as of its version; while it has that, so has the copy.
 * A version says the range of a page, too (docs/engine.md, I2), and is never had twice.  The version was not above
 * log_applied when the page was copied, so it is not now.
 *
 * A page is copied when descents have come to it SEEN times, with one version: not while it is changed all the time.
 * It is counted in a slot of its set, which is nobody's, or has a way that does not hold any more, or is taken from a
 * page that is not copied yet: each time that another page wants the slot takes half a time back.  A way that still
 * holds gives its slot up when others wanted it STALE times, as pages that nobody comes to any more hold for ever.
 * There is room for all inner pages of a tree, up to MOST, and all begins anew when there is no more and the tree has
 * grown; what is found not to hold any more is used again.
 *
 * Beside each child is a guess where it is: of an inner page its way, so that no slot is waited for; of a leaf its
 * place, so that it is asked for at once and comes together with its entry of the page table; aim.h tells which
 * lines of it.  Nothing is read by a guess that is wrong: a way tells which page it is of, and a leaf is looked for
 * by step 4 all the same.
 *
 * Ways are of plain descents in the database itself: not of snapshots, of a reader that only observes, or of locals.
 */
#include "tree/ways.h"

#include <stdlib.h>

#include "base/area.h"
#include "shm/memory.h"

#ifdef CARET_SMALL
#define DESCENTS 4u
#define SEEN     2u
#define FEWEST   16u
#define MOST     128u
#else
#define DESCENTS 256u  /* before the first page is copied: few sessions look for so much; arbitrary */
#define SEEN     32u   /* to copy one takes as long as some ten descents through it */
#define FEWEST   512u  /* ways; powers of two; arbitrary */
#define MOST     8192u /* 28 MB, and enough for a million leaves or two */
#endif
#define A_WAY                                                                                                \
    96u /* there is one for so many pages of the file: inner pages have 190 children, 130 at random */
#define STALE 256u /* arbitrary */

void caret__ways_destroy(struct caret__ways *w)
{
    if (w->way != NULL)
        caret__area_free(w->way, w->most * sizeof *w->way);
    free(w->slot);
    *w = (struct caret__ways){0};
}

/* For how many there is use, and for sixteen times as many memory. */
static unsigned how_many(uint32_t pages)
{
    unsigned n = FEWEST;

    while (n < MOST && n < pages / A_WAY)
        n *= 2;
    while (n > FEWEST && !caret__memory_has(16 * n * sizeof(struct caret__way)))
        n /= 2;
    return n;
}

static bool make(struct caret__ways *w, const struct caret__pager *pg)
{
    w->pages = pg->ts->npages;
    w->most = how_many(w->pages);
    w->shift = 31u - (unsigned)__builtin_ctz(w->most); /* two slots for a way */
    w->slot = calloc(2 * (size_t)w->most, sizeof *w->slot);
    w->way = caret__area_resize(NULL, 0, w->most * sizeof *w->way);
    if (w->slot == NULL || w->way == NULL)
        caret__ways_destroy(w);
    else
        w->owner = pg->id;
    return w->owner == pg->id;
}

/* Is there use for more of them? */
static bool outgrown(const struct caret__ways *w, const struct caret__pager *pg)
{
    return w->used == w->most && w->most < MOST && pg->ts->npages > w->pages + w->pages / 4;
}

/* Another store, the first one, or a tree that has grown; else nothing begins. */
static bool begin(struct caret__ways *w, const struct caret__pager *pg)
{
    if (caret__likely(w->owner == pg->id && !outgrown(w, pg)))
        return true;
    unsigned descents = w->owner == 0 || w->owner == pg->id ? w->descents + 1 : 1;
    caret__ways_destroy(w);
    w->descents = descents;
    return descents >= DESCENTS && make(w, pg);
}

/* Bytes that all separators begin with: what the first and the last have in common.  A page's own prefix can be
 * shorter, as it is made anew with the page only. */
static unsigned common(const struct caret__page *p, unsigned n, uint8_t *prefix)
{
    uint8_t last[CARET__KEY_MAX];
    unsigned len = caret__page_key(p, 0, prefix), last_len = caret__page_key(p, n - 1, last);

    return (unsigned)caret__common_prefix(prefix, len, last, last_len);
}

static int32_t head_of(const struct caret__page *p, unsigned i, unsigned plen)
{
    uint8_t key[CARET__KEY_MAX];
    unsigned len = caret__page_key(p, i, key);

    return caret__signed(len > plen ? caret__key_head(key + plen, len - plen) : 0);
}

/* What is read may be torn; false: it does not fit. */
static bool copy(struct caret__way *w, const struct caret__page *p)
{
    uint8_t prefix[CARET__KEY_MAX];
    unsigned n = caret__page_count(p), plen = n != 0 ? common(p, n, prefix) : 0;

    if (n >= CARET__WAY_MOST || plen > CARET__WAY_PREFIX)
        return false;
    w->count = (uint16_t)n;
    w->plen = (uint16_t)plen;
    w->level = caret__racy8(&p->level);
    memcpy(w->prefix, prefix, plen);
    for (unsigned i = 0; i < CARET__WAY_MOST; i++)
        w->group[i / CARET__BELOW].head[i % CARET__BELOW] = i < n ? head_of(p, i, plen) : INT32_MAX;
    for (unsigned i = 0; i <= n; i++)
        w->group[i / CARET__BELOW].child[i % CARET__BELOW] = caret__page_child(p, i);
    for (unsigned i = 0; i < CARET__BELOW; i++)
        w->hint[i] = i + 1 < CARET__WAY_GROUPS ? w->group[i].head[CARET__BELOW - 1] : INT32_MAX;
    return w->level != 0;
}

/* Do all children lead somewhere? */
static bool whole(const struct caret__view *v, const struct caret__way *w)
{
    for (unsigned i = 0; i <= w->count; i++) {
        uint32_t child = w->group[i / CARET__BELOW].child[i % CARET__BELOW];
        if (child == 0 || child >= v->pg->max_pages || child >= v->pg->ts->npages)
            return false;
    }
    return true;
}

/* Where the leaves are, or that nobody knows which are the ways below. */
static void guess(const struct caret__view *v, struct caret__way *w)
{
    for (unsigned i = 0; i <= w->count; i++) {
        struct caret__way_group *g = &w->group[i / CARET__BELOW];
        const struct caret__pte *pte = &v->pg->ptab[g->child[i % CARET__BELOW]];
        uint64_t word = w->level == 1 ? atomic_load_explicit(&pte->word, memory_order_relaxed) : 0;
        g->guess[i % CARET__BELOW] = (uint32_t)(word >> 32);
    }
}

static void put(struct caret__view *v, struct caret__way *way, const struct caret__at *at)
{
    way->at.pgno = 0;
    if (!copy(way, at->page) || !caret__at_unchanged(v, at) || !whole(v, way))
        return;
    guess(v, way);
    way->at = *at;
}

static bool holds(const struct caret__view *v, const struct caret__way *way)
{
    return way->at.pgno != 0 && caret__at_unchanged(v, &way->at);
}

/* A way for a slot that has none: one that does not hold, or a new one; NULL: there is none.  must: take any. */
static struct caret__way *take(struct caret__view *v, struct caret__way_slot *slot, bool must)
{
    struct caret__ways *w = v->ways;
    struct caret__way *way = &w->way[w->hand];

    if (w->used != 0 && ((must && w->used == w->most) || !holds(v, way)))
        *way->slot = (struct caret__way_slot){.way = NULL};
    else
        way = w->used < w->most ? &w->way[w->used++] : NULL;
    w->hand = (w->hand + 1) % caret__max(w->used, 1);
    if (way != NULL) {
        way->at.pgno = 0;
        way->aims = (struct caret__aims){0};
        way->slot = slot;
        slot->way = way;
    }
    return way;
}

/* A page wants this slot; can it have it? */
static bool gives_up(const struct caret__view *v, struct caret__way_slot *slot)
{
    if (slot->way == NULL || !holds(v, slot->way))
        return slot->seen == 0 || --slot->seen == 0;
    return ++slot->seen >= 2 * STALE;
}

/* Where the page is counted; NULL: not this time. */
static struct caret__way_slot *slot_for(struct caret__view *v, const struct caret__at *at)
{
    struct caret__ways *w = v->ways;
    struct caret__way_slot *set = caret__way_set(w, at->pgno), *slot = &set[w->turn++ % CARET__WAY_SET];

    for (unsigned i = 0; i < CARET__WAY_SET; i++)
        if (set[i].pgno == at->pgno)
            return &set[i];
    for (unsigned i = 0; i < CARET__WAY_SET && slot->pgno != 0; i++)
        if (set[i].pgno == 0)
            slot = &set[i];
    if (slot->pgno != 0 && !gives_up(v, slot))
        return NULL;
    *slot = (struct caret__way_slot){.way = slot->way, .pgno = at->pgno, .version = at->version};
    if (slot->way != NULL)
        slot->way->at.pgno = 0;
    return slot;
}

void caret__ways_learn(struct caret__view *v, const struct caret__at *at)
{
    struct caret__ways *w = v->ways;

    if (!begin(w, v->pg))
        return;
    struct caret__way_slot *slot = slot_for(v, at);
    if (slot == NULL || (slot->way != NULL && holds(v, slot->way)))
        return;
    if (slot->version != at->version) {
        slot->version = at->version;
        slot->seen = 0;
    }
    slot->seen += 2;
    if (slot->seen < 2 * SEEN || (slot->way == NULL && take(v, slot, slot->seen >= 2 * STALE) == NULL))
        return;
    slot->seen = 0;
    put(v, slot->way, at);
}

unsigned caret__way_find_slow(const struct caret__view *v, struct caret__way *w, const uint8_t *key,
                              size_t len, struct caret__way_group **group)
{
    unsigned i = caret__page_child_index(caret__page_at(v->pg, w->at.pgno, w->at.word), key, len);

    *group = &w->group[i / CARET__BELOW % CARET__WAY_GROUPS];
    return i <= w->count ? i % CARET__BELOW : CARET__WAY_NOWHERE;
}
