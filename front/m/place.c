/*
 * place.c - a node of the engine or of the list; place.h has the idea.
 */
#include "m/place.h"

/* The tree's key, as it is for that place. */
static struct caret_m__key *key_of(struct caret_m__tree *t, const struct caret_m__place *p)
{
    t->key.len = p->len;
    return &t->key;
}

int caret_m__place_node(struct caret_m__place *p, const caret_node *n)
{
    return caret_node_copy(&p->node.node, sizeof p->node, n);
}

void caret_m__place_key(struct caret_m__place *p, const struct caret_m__tree *t)
{
    p->len = t->key.len;
}

int caret_m__place_child(struct caret_m__tree *t, struct caret_m__place *child,
                         const struct caret_m__place *parent, const char *sub, size_t len)
{
    if (t->list == NULL)
        return caret_node_child(&child->node.node, sizeof child->node, &parent->node.node, sub, len);
    struct caret_m__key *k = key_of(t, parent);
    if (caret_m__key_depth(k) == CARET_MAX_SUBS)
        return CARET_E_MAXSUBS;
    int rc = caret_m__key_child(k, sub, len);
    child->len = t->key.len;
    return rc;
}

int caret_m__place_next(struct caret_m__tree *t, struct caret_m__place *p)
{
    if (t->list == NULL)
        return caret_next(t->s, &p->node.node);
    int rc = caret_m__long_sibling(t->list, key_of(t, p), false);
    p->len = t->key.len;
    return rc;
}

int caret_m__place_sub(struct caret_m__tree *t, const struct caret_m__place *p, char *buf, size_t cap,
                       size_t *len)
{
    const caret_node *n = &p->node.node;

    if (t->list == NULL)
        return caret_node_subscript(n, caret_node_depth(n) - 1, buf, cap, len, NULL);
    const struct caret_m__key *k = key_of(t, p);
    return caret_m__key_sub(k, caret_m__key_depth(k) - 1, buf, cap, len);
}

int caret_m__place_data(struct caret_m__tree *t, struct caret_m__place *p, int *data)
{
    if (t->list == NULL)
        return caret_data(t->s, &p->node.node, data);
    *data = (int)caret_m__long_data(t->list, key_of(t, p));
    return CARET_OK;
}

int caret_m__place_get(struct caret_m__tree *t, struct caret_m__place *p, caret_slice *value)
{
    return t->list == NULL ? caret_get(t->s, &p->node.node, value)
                           : caret_m__long_get(t->list, key_of(t, p), value);
}

int caret_m__place_set(struct caret_m__tree *t, struct caret_m__place *p, const char *value, size_t len)
{
    return t->list == NULL ? caret_set(t->s, &p->node.node, value, len)
                           : caret_m__long_set(t->list, key_of(t, p), value, len);
}
