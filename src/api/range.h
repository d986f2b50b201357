/*
 * range.h - some of the children of a node, as a span of keys; and through the leaves of any span.
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

/*
 * Through the leaves of a span of keys:
 *
 *   1  descend to the leaf that has the first key; later step to the leaf beside (tree/walk.c), or, where the parent is
 *      not known or has changed, descend to the first key that is left, and take the bound where its leaf ends
 *   2  which of its entries are in the span?  Copy the page, if its entries will be looked at
 *   3  are the leaf, and the parent that led there, what they were?  Then it is noted as read, and what was counted or
 *      copied is true
 *   4  it is the last one if an entry after the span is there, or the bound is.  Else go on
 */

/* Entries [from, to) of a leaf are in the span; page: its copy, or NULL if none was asked for. */
struct caret__part {
    const struct caret__page *page;
    struct caret__at at; /* where the leaf itself is */
    unsigned from, to;
};

/* What is done with a part.  CARET_NONE: that is all, the rest is left. */
typedef int caret__part_fn(void *arg, const struct caret__part *part);

/* Each leaf of the span, in order, as it is in the database or in the locals.  NONE if `each` said so. */
int caret__each_leaf(caret_session *s, const struct caret__span *span, bool local, bool copies,
                     caret__part_fn *each, void *arg);

/* In the transaction in progress: have `read` called for a node, with an eye on the view if need be. */
int caret__read_in_txn(caret_session *s, caret_node *n, caret__reader *read, void *arg);

/* Is what is below the node to be seen leaf by leaf?  Else the transaction has changed something there, or somebody
 * else keeps the locals.  What is at a server is asked for apart. */
bool caret__is_plain(caret_session *s, const struct caret__node *n);

/* What the functions of ranges are given; as caret__children(). */
int caret__range_args(const char *function, caret_session *s, caret_node *n, const caret_slice *from,
                      const caret_slice *to, int flags, struct caret__children *out);

#endif
