/*
 * move.c - from node to node: ydb_subscript_next_s and so on.
 *
 * The caller gives back the subscript it got last.  So the node in the cache moves along with it, and knows where
 * in the tree it is.
 *
 * Siblings begin and end at the empty subscript, as M's $ORDER does it: from it the way on leads to the first, the
 * way back to the last of them, and a caller that arrives there on the way back is at the end.
 */
#include "yottadb/long.h"
#include "yottadb/session.h"

/* ------------------------------------------------------------------ siblings */

/* On the way back from the empty subscript: the last sibling. */
static int to_last(caret_session *s, caret_node *n)
{
    caret_node_buf last;
    int rc = caret_node_copy(&last.node, sizeof last, n);

    if (rc == CARET_OK)
        rc = caret_node_parent(&last.node, sizeof last, &last.node);
    if (rc == CARET_OK)
        rc = caret_last(s, &last.node);
    return rc == CARET_OK ? caret_node_copy(n, sizeof last, &last.node) : rc;
}

static int move(caret_session *s, caret_node *n, bool back, bool empty)
{
    if (!back)
        return caret_next(s, n);
    return empty ? to_last(s, n) : caret_previous(s, n);
}

/* The name of the variable. */
static int store_name(struct caret__ydb_call *c, const caret_node *n, ydb_buffer_t *ret)
{
    char room[CARET_MAX_NAME + 2];
    caret_slice name = caret_node_name(n, room);

    return caret__ydb_store(c, ret, name.data, name.len);
}

/* Subscript i. */
static int store_sub(struct caret__ydb_call *c, const caret_node *n, unsigned i, ydb_buffer_t *ret,
                     const char *what)
{
    size_t len;
    int rc =
        caret_node_subscript(n, i, ret->buf_addr, ret->buf_addr != NULL ? ret->len_alloc : 0, &len, NULL);

    if (caret__ydb_likely(rc == CARET_OK)) {
        ret->len_used = (unsigned)len;
        return YDB_OK;
    }
    return rc == CARET_E_BUFFER ? caret__ydb_fits(c, ret, len, what) : caret__ydb_failed(c, rc);
}

/* The variable after or before: a node of its own, as the cached one is the variable asked for. */
static int next_variable(struct caret__ydb_call *c, caret_session *s, const caret_node *from, bool back,
                         ydb_buffer_t *ret)
{
    caret_node_buf n;
    int rc = caret_node_copy(&n.node, sizeof n, from);

    if (rc == CARET_OK)
        rc = back ? caret_previous(s, &n.node) : caret_next(s, &n.node);
    return rc == CARET_OK ? store_name(c, &n.node, ret) : caret__ydb_failed(c, rc);
}

/* Is its last subscript the empty one? */
static bool is_empty(const caret_node *n)
{
    size_t len;

    return caret_node_subscript(n, caret_node_depth(n) - 1, NULL, 0, &len, NULL) == CARET_OK;
}

static int sibling(struct caret__ydb_call *c, caret_session *s, struct caret__ydb_path *path, bool empty,
                   ydb_buffer_t *ret, bool back)
{
    caret_node *n = &path->node.node;

    if (path->depth == 0 || caret_node_depth(n) == 0)
        return next_variable(c, s, n, back, ret);
    int rc = move(s, n, back, empty);
    if (rc != CARET_OK)
        return caret__ydb_failed(c, rc); /* it did not move */
    if (back && is_empty(n)) {
        caret__ydb_moved(path, NULL);
        return YDB_ERR_NODEEND;
    }
    int status = store_sub(c, n, caret_node_depth(n) - 1, ret, "ret_value");
    caret__ydb_moved(path, status == YDB_OK ? ret : NULL);
    return status;
}

int caret__ydb_sibling(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                       ydb_buffer_t *ret, bool back)
{
    struct caret__ydb_path *path;
    caret_session *s;

    c->name = back ? "ydb_subscript_previous_s" : "ydb_subscript_next_s";
    if (!caret__ydb_likely(ret != NULL)) {
        int status = caret__ydb_name_check(c, v, n);
        return status == YDB_OK ? caret__ydb_invalid(c, "NULL ret_value") : status;
    }
    int status = caret__ydb_node(c, v, n, subs, &path);
    bool local = status == YDB_OK && caret_node_is_local(&path->node.node);
    if (caret__ydb_likely(status == YDB_OK))
        status = !local   ? caret__ydb_session(c, &s)
                 : n == 0 ? CARET__YDB_LONG /* names are in both places */
                          : caret__ydb_locals_short(c, &s);
    if (!caret__ydb_likely(status == YDB_OK))
        return status == CARET__YDB_LONG ? caret__ydb_long_sibling(c, ret, back) : status;
    bool empty = n != 0 && subs[n - 1].len_used == 0;
    status = sibling(c, s, path, empty, ret, back);
    if (local)
        caret__ydb_locals_done();
    return status;
}

/* --------------------------------------------------------------- depth first */

int caret__ydb_too_few(struct caret__ydb_call *c, int n)
{
    struct caret__ydb_digits needed;
    char call[40];

    snprintf(call, sizeof call, "%s()", c->name);
    return caret__ydb_error(c, YDB_ERR_INSUFFSUBS, call, caret__ydb_digits(&needed, n), NULL);
}

/* All subscripts, or nothing at all if there are too few buffers. */
static int store_all(struct caret__ydb_call *c, struct caret__ydb_path *path, int *ret_n, ydb_buffer_t *ret)
{
    const caret_node *n = &path->node.node;
    int depth = (int)caret_node_depth(n), room = *ret_n;

    *ret_n = depth;
    if (!caret__ydb_likely(depth <= room))
        return caret__ydb_too_few(c, depth);
    if (depth != 0 && ret == NULL)
        return caret__ydb_invalid(c, "NULL ret_subsarray");
    for (int i = 0; i < depth; i++) {
        int status = store_sub(c, n, (unsigned)i, &ret[i], "ret_subsarray");
        if (status != YDB_OK) {
            *ret_n = i;
            return status;
        }
        caret__ydb_keep(path, i, depth, &ret[i]);
    }
    caret__ydb_keep_end(path, depth);
    return YDB_OK;
}

int caret__ydb_step(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    int *ret_n, ydb_buffer_t *ret, bool back)
{
    struct caret__ydb_path *path;
    caret_session *s;

    c->name = back ? "ydb_node_previous_s" : "ydb_node_next_s";
    if (!caret__ydb_likely(ret_n != NULL)) {
        int status = caret__ydb_name_check(c, v, n);
        return status == YDB_OK ? caret__ydb_invalid(c, "NULL ret_subs_used") : status;
    }
    int status = caret__ydb_node(c, v, n, subs, &path);
    bool local = status == YDB_OK && caret_node_is_local(&path->node.node);
    if (status == YDB_OK)
        status = local ? caret__ydb_locals_short(c, &s) : caret__ydb_session(c, &s);
    if (status != YDB_OK)
        return status == CARET__YDB_LONG ? caret__ydb_long_step(c, ret_n, ret, back) : status;
    caret_node *at = &path->node.node;
    int rc = back ? caret_node_previous(s, at) : caret_node_next(s, at);
    if (local)
        caret__ydb_locals_done();
    if (rc == CARET_NONE)
        *ret_n = 0; /* the cached node did not move */
    if (rc != CARET_OK)
        return caret__ydb_failed(c, rc);
    caret__ydb_keep_begin(path);
    return store_all(c, path, ret_n, ret);
}

/* ------------------------------------------------------------------------- ABI */

int ydb_subscript_next_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                         ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_likely(caret__ydb_begin(&c)))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_sibling(&c, varname, subs_used, subsarray, ret_value, false));
}

int ydb_subscript_previous_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                             ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_sibling(&c, varname, subs_used, subsarray, ret_value, true));
}

int ydb_node_next_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                    int *ret_subs_used, ydb_buffer_t *ret_subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(
        &c, caret__ydb_step(&c, varname, subs_used, subsarray, ret_subs_used, ret_subsarray, false));
}

int ydb_node_previous_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                        int *ret_subs_used, ydb_buffer_t *ret_subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(
        &c, caret__ydb_step(&c, varname, subs_used, subsarray, ret_subs_used, ret_subsarray, true));
}
