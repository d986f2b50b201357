/*
 * spans.h - a set of spans of keys: what was killed.
 */
#ifndef CARET_TREE_SPANS_H
#define CARET_TREE_SPANS_H

#include "base/key.h"
#include "tree/tree.h"

struct caret__spans {
    struct caret__private at; /* where a span begins -> where it ends */
    bool there;               /* `at` was made */
};

/* A span of the set, or of a walk through it. */
struct caret__one_span {
    struct caret__at at;
    struct caret__span span; /* lo is the buffer, hi points into the set until it changes */
    uint8_t lo[CARET__PLACE_MAX];
};

/* What is to be told of an entry before it changes: caret__journal_note() for a transaction. */
typedef int caret__spans_note(void *ctx, struct caret__private *at, const uint8_t *key, size_t len);

/*
 * Add a span, which becomes one with those that it overlaps.  A span that is in one of the set changes nothing.  Its lo
 * has CARET__KEY_MAX bytes at most.  note may be NULL.  NOMEM, or what `note` said: the set is as it was.
 */
int caret__spans_add(struct caret__spans *t, const struct caret__span *s, caret__spans_note *note, void *ctx);

/* The span that has the key; false: none has. */
bool caret__spans_find(struct caret__spans *t, const uint8_t *key, size_t len, struct caret__one_span *found);

/* Is any key of that span in the set? */
bool caret__spans_touch(struct caret__spans *t, const struct caret__span *s);

/* The first span that begins at or after a key, and the next one. */
bool caret__spans_from(struct caret__spans *t, const uint8_t *key, size_t len, struct caret__one_span *found);
bool caret__spans_next(struct caret__spans *t, struct caret__one_span *found);

void caret__spans_clear(struct caret__spans *t);
void caret__spans_destroy(struct caret__spans *t);

#endif
