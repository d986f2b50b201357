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
    uint32_t pgno; /* 0 = empty place */
    uint32_t spare;
};

/* A hash set by page number; `size` is a power of two, or 0 before the first note. */
struct caret__reads {
    uint64_t point;
    struct caret__read *set;
    uint32_t size, count;
    uint32_t last; /* place of the leaf noted last: loops over one leaf */
};

void caret__reads_begin(struct caret__reads *r, uint64_t point);
void caret__reads_destroy(struct caret__reads *r);

/* Are all leaves as they were read? */
bool caret__reads_valid(const struct caret__pager *pg, const struct caret__reads *r);

#endif
