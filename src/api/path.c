/*
 * path.c - the functions on data, told a name and subscripts instead of a node; and a node made shorter, so that
 * another path can go on from it.
 *
 * The node is made on the stack, and lives as long as the call.  So there is no hint to find its place by: that is
 * found by the leaves the session was at last (tree/leaves.h), or from the root.
 */
#include <stdio.h>

#include "api/session.h"
#include "base/key.h"

/* ------------------------------------------------------------------- shorter */

/* Where the first `depth` subscripts of a key end; *last: where the last of them begins, the end if there is none. */
static size_t end_of(const struct caret__node *n, unsigned depth, size_t *last)
{
    const uint8_t *key = caret__node_key(n);
    size_t at = n->name_len + 1u;

    *last = at;
    for (; depth > 0 && at < n->key_len; depth--) {
        *last = at;
        at += caret__sub_len(key + at, n->key_len - at);
    }
    return at;
}

int caret_node_cut(caret_node *n, unsigned depth)
{
    struct caret__node *node = caret__node(n);
    size_t end, last;

    if (!caret__node_whole(n))
        return caret__not_a_node(__func__, "n", n);
    if (depth >= node->depth)
        return CARET_OK;
    end = end_of(node, depth, &last);
    if (end >= node->key_len)
        return caret__not_a_node(__func__, "n", n);
    node->key_len = (uint16_t)end;
    node->last_off = (uint16_t)last;
    node->depth = (uint8_t)depth;
    caret__hint_drop(node);
    return CARET_OK;
}

/* ------------------------------------------------------------------- by path */

static int check_path(const char *function, const char *name, const caret_slice *subs, size_t count)
{
    if (name == NULL || (subs == NULL && count != 0))
        return caret__null(function, name == NULL ? "name" : "subs",
                           name == NULL ? "the name of a variable" : "an array of subscripts");
    if (count > CARET_MAX_SUBS)
        return caret__fail(CARET_E_MAXSUBS, "%s: %zu subscripts; a node has %u at most", function, count,
                           CARET_MAX_SUBS);
    for (size_t i = 0; i < count; i++)
        if (!caret__bytes_ok(subs[i].data, subs[i].len)) {
            char argument[32];
            snprintf(argument, sizeof argument, "subs[%zu]", i);
            return caret__refuse_bytes(function, argument, subs[i].data, subs[i].len);
        }
    return CARET_OK;
}

static int make_node(const char *function, caret_node *n, size_t bytes, const char *name,
                     const caret_slice *subs, size_t count)
{
    int rc = check_path(function, name, subs, count);

    if (rc == CARET_OK)
        rc = caret_node_var(n, bytes, name, strnlen(name, CARET_MAX_NAME + 2));
    for (size_t i = 0; rc == CARET_OK && i < count; i++)
        rc = caret_node_child(n, bytes, n, subs[i].data, subs[i].len);
    return rc;
}

int caret_node_path(caret_node *n, size_t bytes, const char *name, const caret_slice *subs, size_t count)
{
    caret_node_buf made;

    if (n == NULL)
        return caret__null(__func__, "n", "memory for a node");
    int rc = make_node(__func__, &made.node, sizeof made, name, subs, count);
    return rc == CARET_OK ? caret_node_copy(n, bytes, &made.node) : rc;
}

/* The node of a call on data. */
static int enter(const char *function, const caret_session *s, caret_node_buf *n, const char *name,
                 const caret_slice *subs, size_t count)
{
    if (s == NULL)
        return caret__null(function, "s", "a session");
    return make_node(function, &n->node, sizeof *n, name, subs, count);
}

int caret_get_path(caret_session *s, const char *name, const caret_slice *subs, size_t count,
                   caret_slice *value)
{
    caret_node_buf n;
    int rc = enter(__func__, s, &n, name, subs, count);

    if (rc == CARET_OK && value == NULL)
        rc = caret__null(__func__, "value", "a place for the value");
    return rc == CARET_OK ? caret_get(s, &n.node, value) : rc;
}

int caret_set_path(caret_session *s, const char *name, const caret_slice *subs, size_t count,
                   const void *value, size_t len)
{
    caret_node_buf n;
    int rc = enter(__func__, s, &n, name, subs, count);

    if (rc == CARET_OK && value == NULL && len != 0)
        rc = caret__refuse_bytes(__func__, "value", value, len);
    return rc == CARET_OK ? caret_set(s, &n.node, value, len) : rc;
}

int caret_delete_path(caret_session *s, const char *name, const caret_slice *subs, size_t count)
{
    caret_node_buf n;
    int rc = enter(__func__, s, &n, name, subs, count);

    return rc == CARET_OK ? caret_delete(s, &n.node) : rc;
}

int caret_kill_path(caret_session *s, const char *name, const caret_slice *subs, size_t count)
{
    caret_node_buf n;
    int rc = enter(__func__, s, &n, name, subs, count);

    return rc == CARET_OK ? caret_kill(s, &n.node) : rc;
}

int caret_data_path(caret_session *s, const char *name, const caret_slice *subs, size_t count, int *data)
{
    caret_node_buf n;
    int rc = enter(__func__, s, &n, name, subs, count);

    if (rc == CARET_OK && data == NULL)
        rc = caret__null(__func__, "data", "a place for the result");
    return rc == CARET_OK ? caret_data(s, &n.node, data) : rc;
}

int caret_incr_path(caret_session *s, const char *name, const caret_slice *subs, size_t count, int64_t by,
                    int64_t *result)
{
    caret_node_buf n;
    int rc = enter(__func__, s, &n, name, subs, count);

    return rc == CARET_OK ? caret_incr_int(s, &n.node, by, 0, result) : rc;
}
