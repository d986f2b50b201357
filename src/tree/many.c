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
 * All lanes do one of these, each up to what it asks for, then all do the next one.  Where the session has a way of the
 * root (ways.c) these come instead of 1, and of 2 and 3 as far as the ways lead:
 *
 *   5  root         the root's way, as in step 1 of ways.c, then 6
 *   6  way, narrow  the group of the way that has the key; ask for the group
 *      way, choose  the child for the key; ask for the child's page-table entry, and for its way, or where the way is
 *                   of the lowest level for the leaf's header and hints where they were last
 *   7  way, down    does the child's way hold?  Then 6 again, a level lower.  Else the child's version and word, and 2
 *                   goes on there.  In both cases: fence; this page's version and word must be unchanged.  Of the root
 *                   that is looked at once, when all lanes have the versions of their children
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

/* There are few lanes, and the steps are short: a call of each would be a fifth of it. */
#define INLINE inline __attribute__((always_inline))

static inline uint32_t root_of(const struct caret__view *v)
{
    return atomic_load_explicit(&v->pg->ts->root, memory_order_acquire);
}

/* -------------------------------------------------------------------- by pages */

static INLINE void narrow(struct caret__lane *l)
{
    caret__page_narrow(l->at.page, l->at.pgno, l->key, l->len, l->shared, &l->search);
    l->step = CARET__LANE_LOCATE;
}

static INLINE void locate(struct caret__lane *l)
{
    caret__page_locate(l->at.page, &l->search);
    l->step = CARET__LANE_CHOOSE;
}

/* Step 4: is the key there? */
static INLINE void arrive(const struct caret__view *v, struct caret__lane *l)
{
    struct caret__entry e = {.val = NULL}; /* which not every compiler sees is looked at only if found */

    l->at.pos = caret__page_find_located(l->at.page, &l->search, l->key, l->len, &l->at.found, &e);
    if (l->at.found) {
        l->val = e.val;
        l->vlen = e.vlen;
        l->run = e.run;
        __builtin_prefetch(e.val + e.vlen - 1);
    }
    l->step = CARET__LANE_ENDED;
    l->there = caret__at_valid(v, &l->at);
}

/* The child for the key; true: there is one. */
static INLINE bool choose(const struct caret__view *v, struct caret__lane *l)
{
    const struct caret__page *p = l->at.page;
    struct caret__entry e;
    bool found;

    if (caret__likely(l->search.leaf)) {
        arrive(v, l);
        return false;
    }
    if (caret__unlikely(caret__racy8(&p->type) != CARET__PAGE_INNER)) {
        l->step = CARET__LANE_ENDED;
        return false;
    }
    unsigned i = caret__page_find_located(p, &l->search, l->key, l->len, &found, &e);
    l->child = caret__page_child(p, i + found);
    bool fits = l->child < v->pg->max_pages && l->child < v->pg->ts->npages && l->depth++ < CARET__MAX_DEPTH;
    l->step = fits ? CARET__LANE_DOWN : CARET__LANE_ENDED;
    if (fits)
        __builtin_prefetch(&v->pg->ptab[l->child]);
    return fits;
}

/* Step 3. */
static INLINE void go_down(struct caret__view *v, struct caret__lane *l)
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

static inline void by_pages(struct caret__view *v, struct caret__lane *lane, struct caret__lane *end)
{
    bool on = true;

    while (on) {
        on = false;
        for (struct caret__lane *l = lane; l < end; l++)
            if (l->step == CARET__LANE_NARROW)
                narrow(l);
        for (struct caret__lane *l = lane; l < end; l++)
            if (l->step == CARET__LANE_LOCATE)
                locate(l);
        for (struct caret__lane *l = lane; l < end; l++)
            if (l->step == CARET__LANE_CHOOSE)
                on |= choose(v, l);
        for (struct caret__lane *l = lane; on && l < end; l++)
            if (l->step == CARET__LANE_DOWN)
                go_down(v, l);
    }
}

/* -------------------------------------------------------------------- by ways */

static INLINE void way_narrow(struct caret__lane *l, struct caret__way *way)
{
    l->way = way;
    l->place = caret__way_narrow(way, l->key, l->len, l->shared);
    __builtin_prefetch(l->place.group->head);
    l->step = CARET__LANE_WAY_CHOOSE;
}

static INLINE void choose_from(const struct caret__view *v, struct caret__lane *l, struct caret__way *way,
                               struct caret__way_place place)
{
    struct caret__way_group *g;
    unsigned i = caret__way_choose(v, way, place, l->key, l->len, &g, &l->shared);

    if (caret__unlikely(i == CARET__WAY_NOWHERE)) {
        l->step = CARET__LANE_ENDED;
        return;
    }
    uint32_t child = g->child[i], *guess = &g->guess[i];
    l->step = CARET__LANE_WAY_DOWN;
    l->child = child;
    l->guess = guess;
    l->next = NULL;
    __builtin_prefetch(&v->pg->ptab[child]);
    if (way->level == 1) {
        const struct caret__page *leaf = caret__way_leaf(v->pg, child, *guess);
        if (leaf != NULL)
            caret__page_ask_front(leaf);
        return;
    }
    l->next = caret__way_below(v->ways, child, guess);
    if (l->next != NULL) {
        __builtin_prefetch(l->next);
        __builtin_prefetch(l->next->hint);
    }
}

static INLINE void way_choose(const struct caret__view *v, struct caret__lane *l)
{
    choose_from(v, l, l->way, l->place);
}

/* Step 7, the child has no way: the lane goes on at l->at. */
static INLINE void way_leave(struct caret__view *v, struct caret__lane *l, bool together)
{
    l->step = CARET__LANE_ENDED;
    CARET_FAULT("many_way_end");
    if (!caret__at_meet(v, l->child, &l->at) || !(together || caret__way_unchanged(v, l->way)))
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

/* Step 7.  together: the caller looks whether the page is unchanged. */
static INLINE void way_go_down(struct caret__view *v, struct caret__lane *l, bool together)
{
    bool on =
        caret__way_holds(v, l->next, l->child) && l->next->level < l->way->level; /* not in a damaged tree */

    if (!on)
        way_leave(v, l, together);
    else if (together || caret__way_unchanged(v, l->way))
        way_narrow(l, l->next);
    else
        l->step = CARET__LANE_ENDED;
}

/* Step 5, and what follows for the root. */
static inline void from_root(struct caret__view *v, struct caret__lane *lane, struct caret__lane *end,
                             struct caret__way *root)
{
    for (struct caret__lane *l = lane; l < end; l++) {
        l->way = root;
        choose_from(v, l, root, caret__way_narrow(root, l->key, l->len, 0));
    }
    for (struct caret__lane *l = lane; l < end; l++)
        if (l->step == CARET__LANE_WAY_DOWN)
            way_go_down(v, l, true);
    if (!caret__way_unchanged(v, root))
        for (struct caret__lane *l = lane; l < end; l++)
            l->step = CARET__LANE_ENDED;
}

static inline void by_ways(struct caret__view *v, struct caret__lane *lane, struct caret__lane *end)
{
    for (bool on = true; on;) {
        on = false;
        for (struct caret__lane *l = lane; l < end; l++) {
            if (l->step == CARET__LANE_WAY_CHOOSE) {
                way_choose(v, l);
                on = true;
            }
        }
        for (struct caret__lane *l = lane; on && l < end; l++)
            if (l->step == CARET__LANE_WAY_DOWN)
                way_go_down(v, l, false);
    }
}

/* ------------------------------------------------------------------- together */

/* Step 1. */
static inline void begin(struct caret__view *v, struct caret__lane *lane, struct caret__lane *end)
{
    uint32_t root = root_of(v);
    struct caret__at top = {.page = NULL};
    bool going = caret__at_meet(v, root, &top) && root_of(v) == root;

    for (struct caret__lane *l = lane; l < end; l++) {
        l->at = top;
        l->step = going ? CARET__LANE_NARROW : CARET__LANE_ENDED;
    }
}

/* After all have ended. */
static void learn(struct caret__view *v, const struct caret__lane *lane, const struct caret__lane *end)
{
    for (const struct caret__lane *l = lane; v->ways != NULL && l < end; l++)
        if (l->met.page != NULL)
            caret__ways_learn(v, &l->met);
}

void caret__seek_many(struct caret__view *v, struct caret__lane *lane, unsigned n)
{
    struct caret__way *root = caret__ways_root(v);
    struct caret__lane *end = lane + n;

    for (struct caret__lane *l = lane; l < end; l++) {
        l->depth = 0;
        l->shared = 0;
        l->met.page = NULL;
        l->there = false;
    }
    if (root != NULL) {
        from_root(v, lane, end, root);
        by_ways(v, lane, end);
    } else {
        begin(v, lane, end);
    }
    by_pages(v, lane, end);
    learn(v, lane, end);
}
