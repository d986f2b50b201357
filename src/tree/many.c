/*
 * many.c - several descents in step, so that they wait for memory together.
 *
 * One descent waits for a page, then for the next below it.  Sixteen that go down level
 * by level wait for sixteen pages at a time: a core has that many misses in flight.
 *
 *   1  root number; its page's version and word; the root number again
 *   2  narrow   ask for the slots that the page's hints leave for the key
 *      locate   the first slot whose head is not below; ask for its entry
 *      choose   the child for the key; ask for the child's page-table entry
 *   3  down     the child's version and word; fence; this page's version and word
 *               must be unchanged; ask for the child's header, hints and end;
 *               2 again, a level lower
 *   4  leaf, instead of the child: position; ask for the end of the value; fence; version and word
 *      unchanged: `there`
 *
 * Each lane does one of these, up to what it asks for, then the next lane comes.  Where the session has a way of the
 * root (ways.c) these come instead of 1, and of 2 and 3 as far as the ways lead:
 *
 *   5  root         the root's way, as in step 1 of ways.c, then 6
 *   6  way, narrow  the group of the way that has the key; ask for the group
 *      way, choose  the child for the key; ask for the child's page-table entry, and for its way, or where the way is
 *                   of the lowest level for the leaf's header, hints and end where they were last
 *   7  way, down    does the child's way hold?  Then 6 again, a level lower.  Else the child's version and word, and 2
 *                   goes on there.  In both cases: fence; this page's version and word must be unchanged
 *
 * These are the rules of read.c: a child's version is taken before its parent's is looked
 * at again.  What differs is what is done when something is in the way (a page being
 * changed, one of the file that nobody has verified, one that moved): the lane stops, and
 * whoever asked descends by itself, in read.c, which waits, repairs, or reads around a
 * writer.  So nothing here waits, and no error is found here.
 *
 * Whether a way is still what its page is, a lane tells by the page number and version in the way, over several rounds.
 * So no way may become that of another page meanwhile: nothing is learned before all lanes have ended.  Then the first
 * inner page that each has read is counted for the ways, so that those above are copied before those below.
 *
 * What a lane found is a version and a position: a hint, as nodes have them.  It is believed
 * only by those who compare the version again (caret__at_recall).
 */
#include "tree/many.h"

static inline uint32_t root_of(const struct caret__view *v)
{
    return atomic_load_explicit(&v->pg->ts->root, memory_order_acquire);
}

/* -------------------------------------------------------------------- by pages */

static inline void narrow(struct caret__lane *l)
{
    caret__page_narrow(l->at.page, l->key, l->len, &l->window);
    l->step = CARET__LANE_LOCATE;
}

static inline void locate(struct caret__lane *l)
{
    caret__page_locate(l->at.page, &l->window);
    l->step = CARET__LANE_CHOOSE;
}

/* Step 4: is the key there? */
static inline void arrive(const struct caret__view *v, struct caret__lane *l)
{
    l->at.pos = caret__page_find_located(l->at.page, &l->window, l->key, l->len, &l->at.found);
    if (l->at.found)
        caret__page_ask_value(l->at.page, l->at.pos);
    bool leaf = caret__page_sane(l->at.page, l->at.pgno, 0);
    l->step = CARET__LANE_ENDED;
    l->there = leaf && caret__at_valid(v, &l->at);
}

static inline void choose(const struct caret__view *v, struct caret__lane *l)
{
    const struct caret__page *p = l->at.page;
    bool found;

    if (caret__likely(caret__racy8(&p->type) != CARET__PAGE_INNER)) {
        arrive(v, l);
        return;
    }
    unsigned i = caret__page_find_located(p, &l->window, l->key, l->len, &found);
    l->child = caret__page_child(p, i + found);
    bool fits = l->child < v->pg->max_pages && l->child < v->pg->ts->npages && l->depth++ < CARET__MAX_DEPTH;
    l->step = fits ? CARET__LANE_DOWN : CARET__LANE_ENDED;
    if (fits)
        __builtin_prefetch(&v->pg->ptab[l->child]);
}

/* Step 3. */
static inline void go_down(struct caret__view *v, struct caret__lane *l)
{
    struct caret__at below;

    l->step = CARET__LANE_ENDED;
    if (!caret__at_meet(v, l->child, &below) || !caret__at_valid(v, &l->at))
        return;
    if (l->met.page == NULL)
        l->met = l->at;
    l->at = below;
    caret__page_ask_head(below.page);
    l->step = CARET__LANE_NARROW;
}

/* -------------------------------------------------------------------- by ways */

static inline void way_narrow(struct caret__lane *l)
{
    l->place = caret__way_narrow(l->way, l->key, l->len);
    __builtin_prefetch(l->way->group[l->place.child / CARET__BELOW].head);
    l->step = CARET__LANE_WAY_CHOOSE;
}

static inline void way_choose(const struct caret__view *v, struct caret__lane *l)
{
    unsigned i = caret__way_choose(l->way, l->place);

    if (caret__unlikely(i == CARET__WAY_NOWHERE))
        i = caret__way_find_slow(v, l->way, l->key, l->len);
    if (caret__unlikely(i == CARET__WAY_NOWHERE)) {
        l->step = CARET__LANE_ENDED;
        return;
    }
    struct caret__way_group *g = &l->way->group[i / CARET__BELOW];
    l->step = CARET__LANE_WAY_DOWN;
    l->child = g->child[i % CARET__BELOW];
    l->guess = &g->guess[i % CARET__BELOW];
    l->next = NULL;
    __builtin_prefetch(&v->pg->ptab[l->child]);
    if (l->way->level == 1) {
        const struct caret__page *leaf = caret__way_leaf(v->pg, l->child, *l->guess);
        if (leaf != NULL)
            caret__page_ask_head(leaf);
        return;
    }
    l->next = caret__way_below(v->ways, l->child, l->guess);
    if (l->next != NULL) {
        __builtin_prefetch(l->next);
        __builtin_prefetch(l->next->hint);
    }
}

/* Step 7, the child has no way: the lane goes on at l->at. */
static inline void way_leave(struct caret__view *v, struct caret__lane *l)
{
    l->step = CARET__LANE_ENDED;
    CARET_FAULT("many_way_end");
    if (!caret__at_meet(v, l->child, &l->at) || !caret__way_unchanged(v, l->way))
        return;
    l->step = CARET__LANE_NARROW;
    uint32_t place = (uint32_t)(l->at.word >> 32);
    if (l->way->level == 1 && caret__likely(*l->guess == place)) {
        narrow(l);
        return;
    }
    caret__page_ask_head(l->at.page);
    if (l->way->level == 1)
        *l->guess = place;
}

/* Step 7. */
static inline void way_go_down(struct caret__view *v, struct caret__lane *l)
{
    bool on =
        caret__way_holds(v, l->next, l->child) && l->next->level < l->way->level; /* not in a damaged tree */

    if (!on) {
        way_leave(v, l);
    } else if (caret__way_unchanged(v, l->way)) {
        l->way = l->next;
        way_narrow(l);
    } else {
        l->step = CARET__LANE_ENDED;
    }
}

/* ------------------------------------------------------------------- together */

static inline void go_on(struct caret__view *v, struct caret__lane *l)
{
    switch (l->step) {
    case CARET__LANE_ROOT:
        way_narrow(l);
        way_choose(v, l);
        break;
    case CARET__LANE_WAY_CHOOSE: way_choose(v, l); break;
    case CARET__LANE_WAY_DOWN: way_go_down(v, l); break;
    case CARET__LANE_NARROW: narrow(l); break;
    case CARET__LANE_LOCATE: locate(l); break;
    case CARET__LANE_CHOOSE: choose(v, l); break;
    case CARET__LANE_DOWN: go_down(v, l); break;
    case CARET__LANE_ENDED: break;
    }
}

static void begin(struct caret__view *v, struct caret__lane *lane, unsigned n)
{
    struct caret__way *way = caret__ways_root(v);
    uint32_t root = root_of(v);
    struct caret__at top = {.page = NULL};
    bool going = way == NULL && caret__at_meet(v, root, &top) && root_of(v) == root;

    for (unsigned i = 0; i < n; i++) {
        lane[i].way = way;
        lane[i].at = top;
        lane[i].step = way != NULL ? CARET__LANE_ROOT : going ? CARET__LANE_NARROW : CARET__LANE_ENDED;
        lane[i].depth = 0;
        lane[i].met.page = NULL;
        lane[i].there = false;
    }
}

/* After all have ended. */
static void learn(struct caret__view *v, const struct caret__lane *lane, unsigned n)
{
    for (unsigned i = 0; i < n && v->ways != NULL; i++)
        if (lane[i].met.page != NULL)
            caret__ways_learn(v, &lane[i].met);
}

void caret__seek_many(struct caret__view *v, struct caret__lane *lane, unsigned n)
{
    bool going = true;

    begin(v, lane, n);
    while (going) {
        going = false;
        for (unsigned i = 0; i < n; i++) {
            go_on(v, &lane[i]);
            going |= lane[i].step != CARET__LANE_ENDED;
        }
    }
    learn(v, lane, n);
}
