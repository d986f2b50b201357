/*
 * walk.c - CARET.SCAN and CARET.TREE: children of a node, and all below it.
 */
#include "server/node/node.h"

enum { USUAL = 100 };

/* What of the children of a node is asked for. */
struct range {
    const caret_slice *from, *to;
    int flags;
    bool back;
};

static struct range range_of(const struct serve__node_options *o)
{
    struct range r = {o->from.data != NULL ? &o->from : NULL, o->to.data != NULL ? &o->to : NULL, 0,
                      o->reverse};
    if (o->prefix.data != NULL) {
        r.from = &o->prefix;
        r.flags = CARET_RANGE_PREFIX;
    }
    return r;
}

/* To the first child that is asked for. */
static int begin(struct serve__call *q, caret_node_buf *n, const struct range *r, const caret_slice *after)
{
    if (after->data == NULL)
        return r->back ? caret_last_in(q->s, &n->node, r->from, r->to, r->flags)
                       : caret_first_in(q->s, &n->node, r->from, r->to, r->flags);
    int rc = caret_node_child(&n->node, sizeof *n, &n->node, after->data, after->len);
    if (rc == CARET_OK)
        rc = r->back ? caret_previous(q->s, &n->node) : caret_next(q->s, &n->node);
    return rc == CARET_OK && !caret_node_in(&n->node, r->from, r->to, r->flags) ? CARET_NONE : rc;
}

static int answer_child(struct serve__call *q, caret_node_buf *n)
{
    caret_slice value;
    int rc = serve__node_answer_last(q, &n->node);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n->node, &value);
    if (rc == CARET_OK)
        return serve__bulk(q, value.data, value.len);
    return rc == CARET_NONE ? serve__null(q) : rc;
}

/* CARET.SCAN [FROM sub] [TO sub] [PREFIX text] [AFTER sub] [REVERSE] [COUNT n] name [sub ...] */
int serve__cmd_caret_scan(struct serve__call *q)
{
    struct serve__node_options o;
    caret_node_buf n;
    int rc = serve__node_options(q, SERVE__NODE_COUNT | SERVE__NODE_PLACE, &o);
    if (rc == CARET_OK && o.prefix.data != NULL && (o.from.data != NULL || o.to.data != NULL))
        rc = SERVE__E_SYNTAX;
    if (rc == CARET_OK)
        rc = serve__node_of(q, &n, o.name, q->argc);
    if (rc != CARET_OK)
        return rc;
    struct range r = range_of(&o);
    size_t place = serve__open(q), found = 0, most = o.count < 0 ? USUAL : (size_t)o.count;
    rc = most > 0 ? begin(q, &n, &r, &o.after) : CARET_NONE;
    while (rc == CARET_OK && (rc = answer_child(q, &n)) == CARET_OK && ++found < most) {
        rc = r.back ? caret_previous(q->s, &n.node) : caret_next(q->s, &n.node);
        if (rc == CARET_OK && !caret_node_in(&n.node, r.from, r.to, r.flags))
            rc = CARET_NONE;
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_map(q, place, found) : rc;
}

/* ------------------------------------------------------------------- tree */

/* The subscripts after the first `from` of them, and the value. */
static int answer_node(struct serve__call *q, const caret_node *n, unsigned from, const caret_slice *value)
{
    char text[CARET_NODE_MAX];
    size_t len;
    unsigned depth = caret_node_depth(n);
    serve__array(q, 2);
    serve__array(q, depth - from);
    for (unsigned i = from; i < depth; i++) {
        int rc = caret_node_subscript(n, i, text, sizeof text, &len, NULL);
        if (rc != CARET_OK)
            return rc;
        serve__bulk(q, text, len);
    }
    return serve__bulk(q, value->data, value->len);
}

/* CARET.TREE [COUNT n] name [sub ...] */
int serve__cmd_caret_tree(struct serve__call *q)
{
    struct serve__node_options o;
    caret_node_buf top, n;
    caret_slice value;
    int rc = serve__node_options(q, SERVE__NODE_COUNT, &o);
    if (rc == CARET_OK)
        rc = serve__node_of(q, &top, o.name, q->argc);
    if (rc != CARET_OK)
        return rc;
    unsigned depth = caret_node_depth(&top.node);
    size_t place = serve__open(q), found = 0, most = o.count < 0 ? SIZE_MAX : (size_t)o.count;
    n = top;
    if ((rc = caret_get(q->s, &n.node, &value)) == CARET_NONE)
        rc = caret_node_next_get(q->s, &n.node, &value);
    while (rc == CARET_OK && found < most && serve__node_below(&n.node, &top.node)) {
        found++;
        if ((rc = answer_node(q, &n.node, depth, &value)) == CARET_OK)
            rc = caret_node_next_get(q->s, &n.node, &value);
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_array(q, place, found) : rc;
}
