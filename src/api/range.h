/*
 * range.h - some of the children of a node, as a span of keys.
 */
#ifndef CARET_API_RANGE_H
#define CARET_API_RANGE_H

#include "api/session.h"
#include "base/key.h"

/* A range of children, with all that is below them: keys[0] is the lowest, keys[1] is after the highest. */
struct caret__children {
    struct caret__span span;
    uint8_t keys[2][CARET__PLACE_MAX];
};

/* What the public functions are told becomes a span.  CARET_NONE: no child can be in it.  INVALID, KEY2BIG. */
int caret__children(const char *function, const struct caret__node *n, const caret_slice *from,
                    const caret_slice *to, int flags, struct caret__children *out);

/* The other way, for a kill in the log. */
struct caret__bounds {
    int flags;
    caret_slice from, to; /* data NULL: there is no bound */
    char texts[2][CARET__KEY_MAX];
};

/* Make `node` the parent, and tell the bounds.  CORRUPT. */
int caret__children_told(const struct caret__span *span, caret_node_buf *node, struct caret__bounds *out);

#endif
