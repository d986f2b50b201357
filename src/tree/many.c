/*
 * many.c - several descents in step, so that they wait for memory together.
 *
 * One descent waits for a page, then for the next below it.  Sixteen that go down level
 * by level wait for sixteen pages at a time: a core has that many misses in flight.
 *
 *   1  root number; its page's version and word; the root number again
 *   2  each lane: ask for the slots that the page's hints leave for its key; then
 *      each lane: the first slot whose head is not below; ask for its entry; then
 *      each lane: the child for its key; ask for the child's page-table entry
 *   3  each lane: the child's version and word; fence; this page's version and word
 *      must be unchanged; ask for the child's header, hints and end;
 *      2 again, a level lower
 *   4  leaf, instead of the child: position; ask for the end of the value; fence; version and word
 *      unchanged: `there`
 *
 * These are the rules of read.c: a child's version is taken before its parent's is looked
 * at again.  What differs is what is done when something is in the way (a page being
 * changed, one of the file that nobody has verified, one that moved): the lane stops, and
 * whoever asked descends by itself, in read.c, which waits, repairs, or reads around a
 * writer.  So nothing here waits, and no error is found here.
 *
 * What a lane found is a version and a position: a hint, as nodes have them.  It is believed
 * only by those who compare the version again (caret__at_recall).
 */
#include "tree/many.h"

static inline uint32_t root_of(const struct caret__view *v)
{
    return atomic_load_explicit(&v->pg->ts->root, memory_order_acquire);
}

/* At a leaf: is the key there? */
static inline void arrive(const struct caret__view *v, struct caret__lane *l)
{
    l->at.pos = caret__page_find_located(l->at.page, &l->window, l->key, l->len, &l->at.found);
    if (l->at.found)
        caret__page_ask_value(l->at.page, l->at.pos);
    bool leaf = caret__page_sane(l->at.page, l->at.pgno, 0);
    l->going = false;
    l->there = leaf && caret__at_valid(v, &l->at);
}

/* Step 2, or 4. */
static inline void choose(const struct caret__view *v, struct caret__lane *l)
{
    const struct caret__page *p = l->at.page;

    if (caret__racy8(&p->type) != CARET__PAGE_INNER) {
        arrive(v, l);
        return;
    }
    bool found;
    unsigned i = caret__page_find_located(p, &l->window, l->key, l->len, &found);
    l->child = caret__page_child(p, i + found);
    l->going = l->child < v->pg->max_pages && l->child < v->pg->ts->npages;
    if (l->going)
        __builtin_prefetch(&v->pg->ptab[l->child]);
}

/* Step 3. */
static inline void go_down(struct caret__view *v, struct caret__lane *l)
{
    struct caret__at below;
    bool known = caret__at_meet(v, l->child, &below);

    l->going = known && caret__at_valid(v, &l->at);
    if (!l->going)
        return;
    l->at = below;
    caret__page_ask_head(below.page);
}

void caret__seek_many(struct caret__view *v, struct caret__lane *lane, unsigned n)
{
    uint32_t root = root_of(v);
    struct caret__at top;
    bool going = caret__at_meet(v, root, &top) && root_of(v) == root;

    for (unsigned i = 0; i < n; i++) {
        lane[i].at = top;
        lane[i].going = going;
        lane[i].there = false;
    }
    for (unsigned depth = 0; going && depth < CARET__MAX_DEPTH; depth++) {
        going = false;
        for (unsigned i = 0; i < n; i++)
            if (lane[i].going)
                caret__page_narrow(lane[i].at.page, lane[i].key, lane[i].len, &lane[i].window);
        for (unsigned i = 0; i < n; i++)
            if (lane[i].going)
                caret__page_locate(lane[i].at.page, &lane[i].window);
        for (unsigned i = 0; i < n; i++)
            if (lane[i].going)
                choose(v, &lane[i]);
        for (unsigned i = 0; i < n; i++) {
            if (lane[i].going)
                go_down(v, &lane[i]);
            going |= lane[i].going;
        }
    }
}
