/*
 * walk.c - from leaf to leaf without a descent, and through a leaf without looking at it twice.
 *
 * A walk that asks for values reads nearly all of each leaf.  Entry by entry it would wait for
 * one line of memory after the other, and copy each value out.  So the leaf is copied once:
 * those waits come together, and key and value of the steps that follow are in memory of the
 * session, which the caller may be given as it is.
 *
 *   copy    page -> copy; version and word as before: the copy is the leaf as of that version
 *   step    the version is still that one: so is the leaf, and the copy is what is committed
 *   beside  at the end of the leaf: the parent that the last descent came from, if its version is
 *           what it was, names the neighbour; that one's version is taken and it is read; then it, the
 *           parent and the leaf that is left must be unchanged, in this order
 *
 * Why a step to a neighbour is of one moment: the leaf's version was compared first and last, the
 * parent's within, the neighbour's innermost.  At the moment of the first look at the neighbour's version all
 * three were as they were read, and it was not above log_applied.
 *
 * While a leaf is walked through, its neighbour is asked for, a few lines at each step, and the page-table
 * entry of the one after that.  What is read for this counts for nothing.
 */
#include "tree/walk.h"

#include <stdlib.h>

#define LINE 64u

void caret__walk_destroy(struct caret__walk *k)
{
    free(k->copy);
    *k = (struct caret__walk){0};
}

static inline uint32_t child_of(const struct caret__view *v, const struct caret__page *p, unsigned i)
{
    uint32_t child = i <= caret__page_count(p) ? caret__page_child(p, i) : 0;

    return child < v->pg->max_pages && child < v->pg->ts->npages ? child : 0;
}

bool caret__walk_beside(struct caret__view *v, const struct caret__at *at, int by, struct caret__at *parent,
                        struct caret__at *to)
{
    const struct caret__walk *k = v->walk;

    if (k == NULL || k->parent.owner != v->pg->id || k->parent.leaf != at->pgno ||
        !caret__at_recall(v, parent, k->parent.pgno, k->parent.version))
        return false;
    CARET_FAULT("walk_parent");
    parent->pos = k->parent.index;
    uint32_t next = child_of(v, parent->page, parent->pos + (unsigned)by); /* before 0 is after all */
    /* trusted: its crc is taken now, if it is in the file and nobody has; else two descents would do it */
    if (next == 0 || !caret__page_trusted(v->pg, next, 0))
        return false;
    CARET_FAULT("walk_trusted"); /* it may be anything by now */
    if (!caret__at_meet(v, next, to))
        return false;
    unsigned count = caret__page_count(to->page);
    to->pos = by > 0 ? 0 : count - 1;
    to->found = true;
    return count != 0;
}

const struct caret__page *caret__walk_copy(struct caret__walk *k, const struct caret__at *at)
{
    k->owner = 0;
    if (k->copy == NULL)
        k->copy = aligned_alloc(LINE, CARET__PAGE_SIZE + CARET__WALK_SLACK);
    if (k->copy == NULL)
        return NULL;
    caret__racy_copy(k->copy, at->page, CARET__PAGE_SIZE);
    CARET_DOZE();
    return caret__page_sane(k->copy, at->pgno, 0) ? k->copy : NULL;
}

/* Which leaf comes next; its lines are asked for while this one is walked through. */
static void look_ahead(struct caret__view *v, const struct caret__at *at, int by)
{
    struct caret__walk *k = v->walk;
    struct caret__at parent;
    unsigned i = k->parent.index;

    k->ahead = k->ahead_end = NULL;
    if (k->parent.owner != v->pg->id || k->parent.leaf != at->pgno ||
        !caret__at_recall(v, &parent, k->parent.pgno, k->parent.version))
        return;
    uint32_t next = child_of(v, parent.page, i + (unsigned)by);
    uint32_t then = child_of(v, parent.page, i + (unsigned)(2 * by));
    __builtin_prefetch(&v->pg->ptab[then]);
    uint64_t word = atomic_load_explicit(&v->pg->ptab[next].word, memory_order_relaxed);
    if (next == 0 || (v->pg->file == NULL && caret__pte_slot(word) == CARET__SLOT_NONE))
        return;
    unsigned lines = CARET__PAGE_SIZE / LINE, steps = k->count != 0 ? k->count : 1u;
    k->ahead = (const char *)caret__page_at(v->pg, next, word);
    k->ahead_by = LINE;
    while (k->ahead_by / LINE * steps < lines)
        k->ahead_by *= 2; /* so that it divides a page */
    k->ahead_end = k->ahead + CARET__PAGE_SIZE;
}

void caret__walk_keep(struct caret__view *v, const struct caret__at *at, int by)
{
    struct caret__walk *k = v->walk;
    const uint8_t *prefix;

    k->moved_place = CARET__WALK_NONE_MOVED;
    k->owner = v->pg->id;
    k->version = at->version;
    k->pgno = at->pgno;
    k->count = (uint16_t)caret__page_count(k->copy);
    k->prefix_len = (uint16_t)caret__page_prefix(k->copy, &prefix);
    look_ahead(v, at, by);
}

void caret__walk_settle(struct caret__view *v, const struct caret__at *at, int by)
{
    v->walk->steps = 0;
    if (caret__walk_copy(v->walk, at) != NULL && caret__at_valid(v, at))
        caret__walk_keep(v, at, by);
}
