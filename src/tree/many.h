/*
 * many.h - several keys looked for at once; many.c tells how.
 */
#ifndef CARET_TREE_MANY_H
#define CARET_TREE_MANY_H

#include "tree/tree.h"

#define CARET__LANES 16u /* a core has so many cache misses in flight, or a few less */

/* A key that is looked for. */
struct caret__lane {
    const uint8_t *key;
    size_t len;
    struct caret__at at;         /* where it is, or would be, if there: that was so at at.version */
    struct caret__window window; /* of the page it is at */
    uint32_t child;              /* where the descent goes on */
    bool going;
    bool there;
};

/* Find the leaves of up to CARET__LANES keys, as far as nothing is in the way, and have their entries fetched.
 * Lanes that are not `there` afterwards say nothing of their keys. */
void caret__seek_many(struct caret__view *v, struct caret__lane *lane, unsigned n);

#endif
