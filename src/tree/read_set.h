/*
 * read_set.h - what a transaction has read: leaves and their versions.
 *
 * Every leaf read or scanned is here, also one where nothing was found, so that a
 * commit which puts something there is noticed: no phantoms.  `point` is the
 * transaction's read point: all that was read is one state, that of log_applied
 * = point.  A leaf with version <= point needs no check; a newer one makes the
 * whole set be compared once and moves the point (opacity: user code never sees
 * two states mixed).
 */
#ifndef CARET_TREE_READ_SET_H
#define CARET_TREE_READ_SET_H

#include "tree/tree.h"

struct caret__read {
    uint64_t version;
    uint32_t pgno;
    uint32_t place; /* of `index` that tells it */
};

/* The leaves as they were noted, and a hash index of them by page number: 0 = an empty place, else 1 more than where
 * the leaf is in `set`.  What a small transaction does is as much as it has read, whatever the one before was. */
struct caret__reads {
    uint64_t point;
    struct caret__read *set; /* room for half of `size` */
    uint32_t *index;
    uint32_t size, count; /* size: of the index, a power of two, or 0 before the first note */
    uint32_t last;        /* the leaf noted last, in `set`: loops over one leaf */
};

void caret__reads_begin(struct caret__reads *r, uint64_t point);
void caret__reads_destroy(struct caret__reads *r);

/* Are all leaves as they were read? */
bool caret__reads_valid(const struct caret__pager *pg, const struct caret__reads *r);

#endif
