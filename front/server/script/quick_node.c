/*
 * quick_node.c - methods of nodes by LuaJIT's FFI: quick.h, node.c.
 */
#include "server/codec/number.h"
#include "server/script/node.h"

static caret_node *of(void *node)
{
    return serve__script_node(node);
}

/* The session, if the node may be used: quick.h. */
static caret_session *quick_session(struct serve__scripts *x)
{
    if (x->q == NULL)
        return NULL;
    serve__memo_end(x, &x->memo);
    return !serve__script_uses(x, false) || x->broken != CARET_OK || serve__script_is_killed(x) ? NULL
                                                                                                : x->q->s;
}

static caret_session *quick_to_write(struct serve__scripts *x)
{
    caret_session *s = quick_session(x);
    if (s == NULL || x->readonly)
        return NULL;
    atomic_store_explicit(&x->lease.wrote, true, memory_order_relaxed);
    x->q->r->dirty++;
    return s;
}

/* What was done; if it was not, the old way says why. */
static int quick_done(struct serve__scripts *x, int rc, int kind)
{
    if (rc == CARET_RESTART)
        x->restart = true;
    return rc == CARET_OK ? kind : rc == CARET_NONE ? QUICK_NULL : QUICK_SLOW;
}

static int quick_get(void *scripts, void *node)
{
    struct serve__scripts *x = scripts;
    caret_session *s = quick_session(x);
    caret_slice value = {NULL, 0};
    if (s == NULL)
        return QUICK_SLOW;
    int rc = caret_get(s, of(node), &value);
    x->quick.answer = value.data;
    x->quick.answer_len = (int32_t)value.len;
    return quick_done(x, rc, QUICK_TEXT);
}

static int quick_number(void *scripts, void *node)
{
    struct serve__scripts *x = scripts;
    caret_session *s = quick_session(x);
    caret_slice value;
    int64_t whole;
    double *d = &x->quick.answer_number;
    if (s == NULL)
        return QUICK_SLOW;
    int rc = caret_get(s, of(node), &value);
    if (rc != CARET_OK)
        return quick_done(x, rc, QUICK_NULL);
    if (serve__read_integer(&value, &whole))
        *d = (double)whole;
    else if (!caret_codec__parse_double(value.data, value.len, d))
        return QUICK_SLOW;
    return QUICK_INTEGER;
}

static int quick_set(void *scripts, void *node, const char *value, int len)
{
    struct serve__scripts *x = scripts;
    caret_session *s = quick_to_write(x);
    return s == NULL ? QUICK_SLOW : quick_done(x, caret_set(s, of(node), value, (size_t)len), QUICK_NULL);
}

static int quick_set_number(void *scripts, void *node, double d)
{
    char digits[CARET_CODEC__DOUBLE_ROOM];
    size_t len = serve__script_print(d, digits);
    return quick_set(scripts, node, digits, (int)len);
}

static int quick_incr(void *scripts, void *node, double by)
{
    struct serve__scripts *x = scripts;
    char digits[CARET_CODEC__DOUBLE_ROOM];
    caret_slice sum;
    caret_session *s = serve__script_is_whole(by) ? quick_to_write(x) : NULL;
    if (s == NULL)
        return QUICK_SLOW;
    int rc = caret_incr(s, of(node), digits, caret_codec__print_i64((int64_t)by, digits), &sum);
    x->quick.answer = sum.data;
    x->quick.answer_len = rc == CARET_OK ? (int32_t)sum.len : 0;
    return quick_done(x, rc, QUICK_TEXT);
}

static int quick_data(void *scripts, void *node)
{
    struct serve__scripts *x = scripts;
    caret_session *s = quick_session(x);
    int there = 0;
    if (s == NULL)
        return QUICK_SLOW;
    int rc = caret_data(s, of(node), &there);
    x->quick.answer_number = there;
    return rc == CARET_NONE ? QUICK_INTEGER : quick_done(x, rc, QUICK_INTEGER);
}

static int quick_move(void *node, double sub)
{
    struct serve__script_node *n = node;
    return n->cursor && serve__script_is_whole(sub) &&
                   caret_node_set_last_int(of(n), (int64_t)sub) == CARET_OK
               ? QUICK_NULL
               : QUICK_SLOW;
}

void serve__script_quick_nodes(struct serve__quick *k)
{
    k->node_get = quick_get;
    k->node_number = quick_number;
    k->node_set = quick_set;
    k->node_set_number = quick_set_number;
    k->node_incr = quick_incr;
    k->node_data = quick_data;
    k->node_move = quick_move;
}
