/*
 * walk.h - what a session remembers of a walk through the leaves; walk.c tells why.
 */
#ifndef CARET_TREE_WALK_H
#define CARET_TREE_WALK_H

#include "tree/tree.h"

#define CARET__WALK_SLACK 64u /* bytes after the copy that may be read as a word of it */

/* Steps with a value in a leaf that has not changed meanwhile, before it is copied; arbitrary. */
#define CARET__WALK_STEPS 3u

/* A leaf's parent: it was child number `index` of `pgno` while that had `version`. */
struct caret__parent {
    uint64_t owner, version; /* owner: id of the store, 0 = nothing is known */
    uint32_t pgno, leaf;
    unsigned index;
};

#define CARET__WALK_NONE_MOVED UINT64_MAX /* the place of no hint; that of a node just made is 0 */

/* Of one session; nobody else looks at it. */
struct caret__walk {
    struct caret__page *copy; /* of a leaf; NULL before the first one */
    uint64_t owner, version;  /* which leaf, and as of when; owner 0 = none */
    uint32_t pgno;
    uint16_t count, prefix_len; /* of it */
    struct caret__parent parent;
    const char *ahead, *ahead_end; /* what is not yet asked for of the leaf that comes next */
    unsigned ahead_by;             /* bytes of it to ask for at each step */
    /* Words of the hint of the node that was last moved in the copy, if one was. */
    uint64_t moved_check, moved_place;
    uint32_t near;  /* the leaf of the last step that was not in the copy, its version, */
    unsigned steps; /* and how many there were in it */
    uint64_t near_version;
};

void caret__walk_destroy(struct caret__walk *k);

/* A descent has come from `at`, by its child `index`, to `leaf`. */
static inline void caret__walk_from(struct caret__walk *k, const struct caret__view *v,
                                    const struct caret__at *at, unsigned index, uint32_t leaf)
{
    k->parent = (struct caret__parent){v->pg->id, at->version, at->pgno, leaf, index};
}

/* The leaf beside `at`, one further (by = 1) or back (-1), `to` at its first or last entry; *parent: both are its
 * children.  False: not known; descend.  To be validated, all three. */
bool caret__walk_beside(struct caret__view *v, const struct caret__at *at, int by, struct caret__at *parent,
                        struct caret__at *to);

/* Copy the leaf, to be validated; then it is not the walk's before caret__walk_keep().  NULL: no memory, or
 * not a leaf. */
const struct caret__page *caret__walk_copy(struct caret__walk *k, const struct caret__at *at);
void caret__walk_keep(struct caret__view *v, const struct caret__at *at, int by);

/* The walk has come from `at` to `to`, its neighbour. */
static inline void caret__walk_on(struct caret__walk *k, const struct caret__at *to, int by)
{
    k->parent.leaf = to->pgno;
    k->parent.index += (unsigned)by;
}

/* A step has been made in a leaf that was not copied: do so, if there were some. */
void caret__walk_settle(struct caret__view *v, const struct caret__at *at, int by);
static inline void caret__walk_step(struct caret__view *v, const struct caret__at *at, int by)
{
    struct caret__walk *k = v->walk;

    if (k == NULL)
        return;
    if (k->near != at->pgno || k->near_version != at->version) {
        k->near = at->pgno;
        k->near_version = at->version;
        k->steps = 0;
    } else if (++k->steps >= CARET__WALK_STEPS) {
        caret__walk_settle(v, at, by);
    }
}

/* Is the copy what is committed?  Then what is read in it is as of now. */
static inline __attribute__((always_inline)) bool
caret__walk_current(const struct caret__view *v, const struct caret__walk *k, struct caret__at *at)
{
    if (k->owner != v->pg->id)
        return false;
    const struct caret__pte *pte = &v->pg->ptab[k->pgno];
    if (atomic_load_explicit(&pte->version, memory_order_acquire) != k->version)
        return false;
    at->word = atomic_load_explicit(&pte->word, memory_order_acquire);
    at->page = k->copy;
    at->version = k->version;
    at->pgno = k->pgno;
    return (at->word & CARET__PTE_OBSOLETE) == 0;
}

/* Is it that of this leaf, and current? */
static inline __attribute__((always_inline)) bool caret__walk_holds(const struct caret__view *v,
                                                                    uint64_t owner, uint32_t pgno,
                                                                    uint64_t version, struct caret__at *at)
{
    const struct caret__walk *k = v->walk;

    return k != NULL && k->owner == owner && k->pgno == pgno && k->version == version &&
           caret__walk_current(v, k, at);
}

/* Ask for the next part of the leaf that comes next. */
static inline __attribute__((always_inline)) void caret__walk_ask(struct caret__walk *k)
{
    const char *end = k->ahead + k->ahead_by;

    if (k->ahead == k->ahead_end)
        return;
    for (; k->ahead != end; k->ahead += 64)
        __builtin_prefetch(k->ahead);
}

#endif
