/*
 * place.h - a node, be it the engine's or one of the list of local variables with long keys (long.h): for what goes
 * through a subtree and is to know only one kind.
 *
 * In the list a node is told by the length of its key alone: its bytes are in the tree's key, of which each place is a
 * beginning.  So a place can be used after places below it were, but not after its siblings.
 */
#ifndef CARET_M_PLACE_H
#define CARET_M_PLACE_H

#include "caret.h"
#include "m/long.h"

struct caret_m__tree {
    caret_session *s;
    struct caret_m__long *list; /* NULL: the session's */
    struct caret_m__key key;    /* of the list's, to be freed */
};

struct caret_m__place {
    caret_node_buf node;
    size_t len; /* of the key, in the list */
};

/* The place of a node; of the tree's key. */
int caret_m__place_node(struct caret_m__place *p, const caret_node *n);
void caret_m__place_key(struct caret_m__place *p, const struct caret_m__tree *t);

/* A child; its next sibling.  Codes of Caret's, as for all that follow: KEY2BIG in the session only. */
int caret_m__place_child(struct caret_m__tree *t, struct caret_m__place *child,
                         const struct caret_m__place *parent, const char *sub, size_t len);
int caret_m__place_next(struct caret_m__tree *t, struct caret_m__place *p);

/* Its last subscript: *len is the length in any case, BUFFER if it does not fit. */
int caret_m__place_sub(struct caret_m__tree *t, const struct caret_m__place *p, char *buf, size_t cap,
                       size_t *len);

int caret_m__place_data(struct caret_m__tree *t, struct caret_m__place *p, int *data);
int caret_m__place_get(struct caret_m__tree *t, struct caret_m__place *p, caret_slice *value);
int caret_m__place_set(struct caret_m__tree *t, struct caret_m__place *p, const char *value, size_t len);

#endif
