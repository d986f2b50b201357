/*
 * node.c - commands of one node, and how nodes are named: node.h.
 */
#include "server/node/node.h"

#include "server/worker.h"

/* ---------------------------------------------------------------- addresses */

int serve__node_of(struct serve__call *q, caret_node_buf *n, int first, int end)
{
    const caret_slice *name = &q->argv[first];
    if (first >= end || name->len == 0 || name->data[0] != '^')
        return serve__fail(q, "ERR a node begins with the name of a global, as ^name");
    int rc = caret_node_var(&n->node, sizeof *n, name->data, name->len);
    for (int i = first + 1; rc == CARET_OK && i < end; i++)
        rc = caret_node_child(&n->node, sizeof *n, &n->node, q->argv[i].data, q->argv[i].len);
    return rc;
}

/* ^redisX and others that only the server writes: after ^redis comes a capital letter. */
static bool is_ours(const caret_slice *name)
{
    return name->len > 6 && memcmp(name->data, "^redis", 6) == 0 && name->data[6] >= 'A' &&
           name->data[6] <= 'Z';
}

int serve__node_to_lock(struct serve__call *q, caret_node_buf *n, int first, int end)
{
    if (first < end && is_ours(&q->argv[first]))
        return serve__fail(q, "ERR this global is the server's own");
    return serve__node_of(q, n, first, end);
}

int serve__node_to_change(struct serve__call *q, caret_node_buf *n, int first, int end)
{
    int rc = serve__node_to_lock(q, n, first, end);
    if (rc == CARET_OK)
        q->r->dirty++;
    return rc;
}

int serve__node_answer_last(struct serve__call *q, const caret_node *n)
{
    char text[CARET_NODE_MAX];
    size_t len = 0;
    unsigned depth = caret_node_depth(n);
    if (depth == 0) {
        caret_slice name = caret_node_name(n, text);
        return serve__bulk(q, name.data, name.len);
    }
    int rc = caret_node_subscript(n, depth - 1, text, sizeof text, &len, NULL);
    return rc == CARET_OK ? serve__bulk(q, text, len) : rc;
}

bool serve__node_below(const caret_node *n, const caret_node *top)
{
    caret_node_buf up;
    unsigned depth = caret_node_depth(top);
    int rc = caret_node_copy(&up.node, sizeof up, n);
    while (rc == CARET_OK && caret_node_depth(&up.node) > depth)
        rc = caret_node_parent(&up.node, sizeof up, &up.node);
    return rc == CARET_OK && caret_node_equal(&up.node, top);
}

/* ----------------------------------------------------------------- commands */

int serve__cmd_caret_get(struct serve__call *q)
{
    caret_node_buf n;
    caret_slice value;
    int rc = serve__node_of(q, &n, 1, q->argc);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n.node, &value);
    if (rc == CARET_NONE)
        return serve__null(q);
    return rc == CARET_OK ? serve__bulk(q, value.data, value.len) : rc;
}

int serve__cmd_caret_set(struct serve__call *q)
{
    caret_node_buf n;
    const caret_slice *value = &q->argv[q->argc - 1];
    int rc = serve__node_to_change(q, &n, 1, q->argc - 1);
    if (rc == CARET_OK)
        rc = caret_set(q->s, &n.node, value->data, value->len);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_caret_incr(struct serve__call *q)
{
    caret_node_buf n;
    caret_slice sum;
    const caret_slice *by = &q->argv[q->argc - 1];
    int rc = serve__node_to_change(q, &n, 1, q->argc - 1);
    if (rc == CARET_OK)
        rc = caret_incr(q->s, &n.node, by->data, by->len, &sum);
    return rc == CARET_OK ? serve__bulk(q, sum.data, sum.len) : rc;
}

int serve__cmd_caret_data(struct serve__call *q)
{
    caret_node_buf n;
    int data = 0;
    int rc = serve__node_of(q, &n, 1, q->argc);
    if (rc == CARET_OK)
        rc = caret_data(q->s, &n.node, &data);
    return rc == CARET_OK ? serve__integer(q, data) : rc;
}

/* Delete a value, or kill: was there any? */
static int take_away(struct serve__call *q, bool kill)
{
    caret_node_buf n;
    int data = 0;
    int rc = serve__node_to_change(q, &n, 1, q->argc);
    if (rc == CARET_OK)
        rc = caret_data(q->s, &n.node, &data);
    if (rc == CARET_OK)
        rc = kill ? caret_kill(q->s, &n.node) : caret_delete(q->s, &n.node);
    return rc == CARET_OK ? serve__integer(q, kill ? data != 0 : data % 10) : rc;
}

int serve__cmd_caret_del(struct serve__call *q)
{
    return take_away(q, false);
}

int serve__cmd_caret_kill(struct serve__call *q)
{
    return take_away(q, true);
}

/* ------------------------------------------------------------------ moving */

/* To a sibling.  An empty last subscript stands for both ends, as in M: before the first, after the last. */
static int move(struct serve__call *q, caret_node_buf *n, bool back)
{
    if (q->argc == 2 && q->argv[1].len == 1)
        return caret_first_var(q->s, &n->node, sizeof *n, 0);
    if (q->argc > 2 && q->argv[q->argc - 1].len == 0 && back) {
        caret_node_parent(&n->node, sizeof *n, &n->node);
        return caret_last(q->s, &n->node);
    }
    return back ? caret_previous(q->s, &n->node) : caret_next(q->s, &n->node);
}

static int answer_sibling(struct serve__call *q, bool back)
{
    caret_node_buf n;
    bool every = q->argc == 2 && q->argv[1].len == 1 && q->argv[1].data[0] == '^' && !back;
    int rc = every ? CARET_OK : serve__node_of(q, &n, 1, q->argc);
    if (rc == CARET_OK)
        rc = move(q, &n, back);
    if (rc == CARET_NONE)
        return serve__null(q);
    return rc == CARET_OK ? serve__node_answer_last(q, &n.node) : rc;
}

int serve__cmd_caret_next(struct serve__call *q)
{
    return answer_sibling(q, false);
}

int serve__cmd_caret_prev(struct serve__call *q)
{
    return answer_sibling(q, true);
}
