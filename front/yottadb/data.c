/*
 * data.c - get, set, data, delete, incr.
 *
 * Each finds the node (path.c), then the session: the thread's or its transaction's for globals, the process's for
 * locals, which stays locked until what it returned is copied.
 */
#include "yottadb/session.h"

/* The session of a node; to be left again. */
static inline int reach(struct caret__ydb_call *c, const struct caret__ydb_path *path, bool *local,
                        caret_session **s)
{
    *local = caret_node_is_local(&path->node.node) != 0;
    return *local ? caret__ydb_locals(c, s) : caret__ydb_session(c, s);
}

static inline int leave(bool local, int status)
{
    if (local)
        caret__ydb_locals_done();
    return status;
}

static int no_buffer(struct caret__ydb_call *c)
{
    return caret__ydb_fail(c, YDB_ERR_PARAMINVALID, "the buffer for the result is NULL, or at no address");
}

static int bad_value(struct caret__ydb_call *c)
{
    return caret__ydb_fail(c, YDB_ERR_PARAMINVALID, "the value's buffer makes no sense");
}

/* ----------------------------------------------------------------------- get */

static inline int get(struct caret__ydb_call *c, struct caret__ydb_path *path, ydb_buffer_t *ret)
{
    caret_session *s;
    caret_slice value;
    bool local;
    int status = reach(c, path, &local, &s);

    if (!caret__ydb_likely(status == YDB_OK))
        return status;
    int rc = caret_get(s, &path->node.node, &value);
    if (caret__ydb_likely(rc == CARET_OK))
        return leave(local, caret__ydb_store(c, ret, value.data, value.len));
    return leave(local,
                 rc == CARET_NONE ? caret__ydb_undefined(c, &path->node.node) : caret__ydb_failed(c, rc));
}

int caret__ydb_get(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                   ydb_buffer_t *ret)
{
    struct caret__ydb_path *path;

    if (!caret__ydb_likely(caret__ydb_writable(ret)))
        return no_buffer(c);
    if (!caret__ydb_likely(!caret__ydb_is_special(v))) {
        return caret__ydb_special_get(c, v, n, ret);
    }
    int status = caret__ydb_node(c, v, n, subs, &path);
    return caret__ydb_likely(status == YDB_OK) ? get(c, path, ret) : status;
}

/* ----------------------------------------------------------------------- set */

int caret__ydb_set(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                   const ydb_buffer_t *value)
{
    struct caret__ydb_path *path;
    caret_session *s;
    bool local;

    if (!caret__ydb_likely(value == NULL || caret__ydb_readable(value)))
        return bad_value(c);
    if (!caret__ydb_likely(!caret__ydb_is_special(v)))
        return caret__ydb_special_set(c, v, n, value);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (!caret__ydb_likely(status == YDB_OK))
        return status;
    int rc = caret_set(s, &path->node.node, value != NULL ? value->buf_addr : NULL,
                       value != NULL ? value->len_used : 0);
    return leave(local, caret__ydb_likely(rc == CARET_OK) ? YDB_OK : caret__ydb_failed(c, rc));
}

/* -------------------------------------------------------------- data, delete */

int caret__ydb_data(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    unsigned *ret)
{
    struct caret__ydb_path *path;
    caret_session *s;
    bool local;
    int data;

    if (ret == NULL)
        return no_buffer(c);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (status != YDB_OK)
        return status;
    int rc = caret_data(s, &path->node.node, &data);
    if (rc != CARET_OK)
        return leave(local, caret__ydb_failed(c, rc));
    *ret = (unsigned)data;
    return leave(local, YDB_OK);
}

int caret__ydb_delete(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                      int deltype)
{
    struct caret__ydb_path *path;
    caret_session *s;
    bool local;

    if (deltype != YDB_DEL_TREE && deltype != YDB_DEL_NODE)
        return caret__ydb_fail(c, YDB_ERR_PARAMINVALID,
                               "deltype is %d, neither YDB_DEL_TREE (1) nor YDB_DEL_NODE (2)", deltype);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (status != YDB_OK)
        return status;
    int rc = deltype == YDB_DEL_TREE ? caret_kill(s, &path->node.node) : caret_delete(s, &path->node.node);
    return leave(local, rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc));
}

/* ---------------------------------------------------------------------- incr */

int caret__ydb_incr(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    const ydb_buffer_t *by, ydb_buffer_t *ret)
{
    struct caret__ydb_path *path;
    caret_session *s;
    caret_slice sum;
    bool local;

    if (!caret__ydb_writable(ret))
        return no_buffer(c);
    if (by != NULL && !caret__ydb_readable(by))
        return bad_value(c);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (status != YDB_OK)
        return status;
    int rc = by == NULL          ? caret_incr_m(s, &path->node.node, "1", 1, &sum)
             : by->len_used == 0 ? caret_incr_m(s, &path->node.node, "0", 1, &sum)
                                 : caret_incr_m(s, &path->node.node, by->buf_addr, by->len_used, &sum);
    return leave(local,
                 rc == CARET_OK ? caret__ydb_store(c, ret, sum.data, sum.len) : caret__ydb_failed(c, rc));
}

/* ------------------------------------------------------------------------- ABI */

int ydb_get_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
              ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_likely(caret__ydb_begin(&c)))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_get(&c, varname, subs_used, subsarray, ret_value));
}

int ydb_set_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
              const ydb_buffer_t *value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_likely(caret__ydb_begin(&c)))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_set(&c, varname, subs_used, subsarray, value));
}

int ydb_data_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
               unsigned int *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_data(&c, varname, subs_used, subsarray, ret_value));
}

int ydb_delete_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray, int deltype)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_delete(&c, varname, subs_used, subsarray, deltype));
}

int ydb_incr_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
               const ydb_buffer_t *increment, ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_incr(&c, varname, subs_used, subsarray, increment, ret_value));
}
