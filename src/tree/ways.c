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
 * A page is copied when descents have come to it SEEN times, with one version, and to no other that belongs
 * into its slot: not while it is changed all the time, and in a large tree only what is near the root, and what is used
 * most.  A way that still holds gives its slot up to a page of a higher level; or when another page was met there
 * STALE times, as pages that nobody comes to any more hold for ever.
 *
 * Ways are of plain descents in the database itself: not of snapshots, of a reader that only observes, or of locals.
 */
#include "tree/ways.h"

#include <stdlib.h>

#define LINE 64u

#ifdef CARET_SMALL
#define DESCENTS 4u
#define SEEN     2u
#else
#define DESCENTS 256u /* before the first page is copied: few sessions look for so much; arbitrary */
#define SEEN     8u   /* to copy one takes as long as some ten descents through it */
#endif
#define STALE 256u /* arbitrary */

void caret__ways_destroy(struct caret__ways *w)
{
    for (unsigned i = 0; w->slot != NULL && i < CARET__WAY_SLOTS; i++)
        free(w->slot[i].way);
    free(w->slot);
    *w = (struct caret__ways){0};
}

/* Another store, or the first one. */
static bool begin(struct caret__ways *w, uint64_t owner)
{
    if (w->slot != NULL)
        caret__ways_destroy(w);
    if (++w->descents < DESCENTS)
        return false;
    w->slot = calloc(CARET__WAY_SLOTS, sizeof *w->slot);
    w->owner = w->slot != NULL ? owner : 0;
    return w->slot != NULL;
}

/* Bytes that all separators begin with: what the first and the last have in common.  A page's own prefix can be
 * shorter, as it is made anew with the page only. */
static unsigned common(const struct caret__page *p, unsigned n, uint8_t *prefix)
{
    uint8_t last[CARET__KEY_MAX];
    unsigned len = caret__page_key(p, 0, prefix), last_len = caret__page_key(p, n - 1, last);

    return (unsigned)caret__common_prefix(prefix, len, last, last_len);
}

static uint32_t head_of(const struct caret__page *p, unsigned i, unsigned plen)
{
    uint8_t key[CARET__KEY_MAX];
    unsigned len = caret__page_key(p, i, key);

    return len > plen ? caret__key_head(key + plen, len - plen) : 0;
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
    memset(w->group, 0xFF, sizeof w->group);
    memset(w->hint, 0xFF, sizeof w->hint);
    for (unsigned i = 0; i < n; i++)
        w->group[i / CARET__BELOW].head[i % CARET__BELOW] = head_of(p, i, plen);
    for (unsigned i = 0; i <= n; i++)
        w->group[i / CARET__BELOW].child[i % CARET__BELOW] = caret__page_child(p, i);
    for (unsigned i = 0; i + 1 < CARET__WAY_GROUPS; i++)
        w->hint[i] = w->group[i].head[CARET__BELOW - 1];
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

static void put(struct caret__view *v, struct caret__way_slot *slot, const struct caret__at *at)
{
    if (slot->way == NULL &&
        (slot->way = aligned_alloc(LINE, caret__align_up(sizeof *slot->way, LINE))) == NULL)
        return;
    slot->way->at.pgno = 0; /* of no page */
    if (copy(slot->way, at->page) && caret__at_unchanged(v, at) && whole(v, slot->way))
        slot->way->at = *at;
}

void caret__ways_learn(struct caret__view *v, const struct caret__at *at)
{
    struct caret__ways *w = v->ways;

    if (caret__unlikely(w->owner != v->pg->id) && !begin(w, v->pg->id))
        return;
    struct caret__way_slot *slot = caret__way_slot(w, at->pgno);
    if (slot->pgno != at->pgno || slot->version != at->version) {
        slot->pgno = at->pgno;
        slot->version = at->version;
        slot->seen = 0;
    }
    if (++slot->seen < SEEN)
        return;
    const struct caret__way *had = slot->way;
    bool used = had != NULL && had->at.pgno != 0 && had->at.pgno != at->pgno &&
                caret__at_unchanged(v, &had->at) && had->level >= caret__racy8(&at->page->level);
    if (used && slot->seen < STALE)
        return;
    slot->seen = 0;
    put(v, slot, at);
}

uint32_t caret__way_child_slow(const struct caret__view *v, const struct caret__way *w, const uint8_t *key,
                               size_t len)
{
    const struct caret__page *p = caret__page_at(v->pg, w->at.pgno, w->at.word);
    uint32_t child = caret__page_child(p, caret__page_child_index(p, key, len));

    return child < v->pg->max_pages && child < v->pg->ts->npages ? child : 0;
}
