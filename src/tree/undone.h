/*
 * undone.h - undo entries of a commit in progress by what they are of; undone.c tells how.
 *
 * A reader's own, in private memory: {0} is the empty one.
 */
#ifndef CARET_TREE_UNDONE_H
#define CARET_TREE_UNDONE_H

#include "shm/engine.h"

struct caret__undone_link;

struct caret__undone {
    uint64_t applied; /* the entries are of the commit after it */
    uint32_t generation;
    uint32_t upto; /* bytes of the area that have been gone through */
    uint32_t n, cap;
    uint32_t *first; /* link + 1 of the newest entry, by hash */
    struct caret__undone_link *link;
};

/*
 * buf holds bytes of the segment, [what, what + size), read before: undo on them what the commit after `applied` has
 * saved so far, last first.  False: the entries make no sense, which is so while a writer begins anew.
 */
bool caret__undone_on(struct caret__undone *u, const struct caret__engine *e, uint64_t applied,
                      uint32_t generation, const void *what, uint64_t size, void *buf);

void caret__undone_destroy(struct caret__undone *u);

#endif
