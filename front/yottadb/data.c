/*
 * data.c - get, set, data, delete, incr.
 *
 * Each finds the node (path.c), then the session: the thread's or its transaction's for globals, the process's for
 * locals, which stays locked until what it returned is copied.
 */
#include "m/number.h"
#include "yottadb/long.h"
#include "yottadb/session.h"

#define LONGEST_SUM 64 /* bytes: 18 digits after 43 zeros, a point and a sign */

/* The session of a node; to be left again. */
static inline int reach(struct caret__ydb_call *c, const struct caret__ydb_path *path, bool *local,
                        caret_session **s)
{
    *local = caret_node_is_local(&path->node.node) != 0;
    return *local ? caret__ydb_locals_short(c, s) : caret__ydb_session(c, s);
}

static inline int leave(bool local, int status)
{
    if (local)
        caret__ydb_locals_done();
    return status;
}

/* The address is good, wherever the node is: now to what comes after it. */
static inline bool is_node(int status)
{
    return status == YDB_OK || status == CARET__YDB_LONG;
}

/* The result is to be stored nowhere. */
static int no_result(struct caret__ydb_call *c, const ydb_buffer_t *v, int n)
{
    int status = caret__ydb_name_check(c, v, n);

    return status == YDB_OK ? caret__ydb_invalid(c, "NULL ret_value") : status;
}

/* ----------------------------------------------------------------------- get */

int caret__ydb_get(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                   ydb_buffer_t *ret)
{
    struct caret__ydb_path *path;
    caret_session *s;
    caret_slice value;
    bool local;

    c->name = "ydb_get_s";
    if (!caret__ydb_likely(!caret__ydb_is_special(v)))
        return caret__ydb_special_get(c, v, n, ret);
    if (!caret__ydb_likely(ret != NULL))
        return no_result(c, v, n);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (caret__ydb_likely(status == YDB_OK))
        status = reach(c, path, &local, &s);
    if (!caret__ydb_likely(status == YDB_OK))
        return status == CARET__YDB_LONG ? caret__ydb_long_get(c, ret) : status;
    int rc = caret_get(s, &path->node.node, &value);
    if (caret__ydb_likely(rc == CARET_OK))
        return leave(local, caret__ydb_store(c, ret, value.data, value.len));
    return leave(local,
                 rc == CARET_NONE ? caret__ydb_undefined(c, &path->node.node) : caret__ydb_failed(c, rc));
}

/* ----------------------------------------------------------------------- set */

int caret__ydb_too_big(struct caret__ydb_call *c, size_t len)
{
    struct caret__ydb_digits size, most;

    return caret__ydb_error(c, YDB_ERR_REC2BIG, caret__ydb_digits(&size, (long long)len),
                            caret__ydb_digits(&most, CARET_MAX_VALUE), "DEFAULT", NULL);
}

int caret__ydb_set(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                   const ydb_buffer_t *value)
{
    struct caret__ydb_path *path;
    caret_session *s;
    bool local;

    c->name = "ydb_set_s";
    if (!caret__ydb_likely(!caret__ydb_is_special(v)))
        return caret__ydb_special_set(c, v, n, value);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (!caret__ydb_likely(value == NULL || caret__ydb_readable(value)) && is_node(status))
        status = caret__ydb_invalid(c, "Invalid value");
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (!caret__ydb_likely(status == YDB_OK))
        return status == CARET__YDB_LONG ? caret__ydb_long_set(c, value) : status;
    int rc = caret_set(s, &path->node.node, value != NULL ? value->buf_addr : NULL,
                       value != NULL ? value->len_used : 0);
    return leave(local, caret__ydb_likely(rc == CARET_OK) ? YDB_OK
                        : rc == CARET_E_VALUE2BIG         ? caret__ydb_too_big(c, value->len_used)
                                                          : caret__ydb_failed(c, rc));
}

/* -------------------------------------------------------------- data, delete */

int caret__ydb_data(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    unsigned *ret)
{
    struct caret__ydb_path *path;
    caret_session *s;
    bool local;
    int data;

    c->name = "ydb_data_s";
    if (ret == NULL)
        return no_result(c, v, n);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (status != YDB_OK)
        return status == CARET__YDB_LONG ? caret__ydb_long_data(c, ret) : status;
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
    bool local, known = deltype == YDB_DEL_TREE || deltype == YDB_DEL_NODE;

    c->name = "ydb_delete_s";
    int status = known ? caret__ydb_node(c, v, n, subs, &path) : caret__ydb_name_check(c, v, n);
    if (status == YDB_OK && !known)
        status = caret__ydb_error(c, YDB_ERR_UNIMPLOP, NULL);
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (status != YDB_OK)
        return status == CARET__YDB_LONG ? caret__ydb_long_delete(c, deltype == YDB_DEL_TREE) : status;
    int rc = deltype == YDB_DEL_TREE ? caret_kill(s, &path->node.node) : caret_delete(s, &path->node.node);
    return leave(local, rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc));
}

/* ---------------------------------------------------------------------- incr */

/* Add, and store the sum for the caller: it is there that it may not fit. */
static int add(struct caret__ydb_call *c, caret_session *s, caret_node *n, caret_slice by, ydb_buffer_t *ret)
{
    caret_slice sum;
    int rc = caret_incr_m(s, n, by.data, by.len, &sum);

    return rc == CARET_OK ? caret__ydb_store(c, ret, sum.data, sum.len) : caret__ydb_failed(c, rc);
}

struct addition {
    caret_node *n;
    caret_slice by;
    ydb_buffer_t *ret;
};

static int add_in_it(struct caret__ydb_call *c, caret_session *s, void *arg)
{
    const struct addition *a = arg;

    return add(c, s, a->n, a->by, a->ret);
}

/* The same if the sum may not fit: then nothing has happened.  Globals are counted in a transaction. */
static int add_if_it_fits(struct caret__ydb_call *c, caret_session *s, caret_node *n, caret_slice by,
                          ydb_buffer_t *ret)
{
    return caret__ydb_atomically(c, s, add_in_it, &(struct addition){n, by, ret});
}

/* Locals have no transactions, but nobody else counts meanwhile: the sum is made beforehand. */
static int add_local_if_it_fits(struct caret__ydb_call *c, caret_session *s, caret_node *n, caret_slice by,
                                ydb_buffer_t *ret)
{
    char sum[CARET__DEC_MAX + 1];
    caret_slice value = {"", 0};
    int rc = caret_get(s, n, &value);
    size_t len;

    if (rc != CARET_OK && rc != CARET_NONE)
        return caret__ydb_failed(c, rc);
    if (caret_m__sum(value, by, sum, &len) == 0) {
        int status = caret__ydb_fits(c, ret, len, "ret_value");
        if (status != YDB_OK)
            return status;
    }
    return add(c, s, n, by, ret);
}

int caret__ydb_incr(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    const ydb_buffer_t *by, ydb_buffer_t *ret)
{
    struct caret__ydb_path *path;
    caret_session *s;
    bool local;

    c->name = "ydb_incr_s";
    if (ret == NULL)
        return no_result(c, v, n);
    int status = caret__ydb_node(c, v, n, subs, &path);
    if (!caret__ydb_likely(by == NULL || caret__ydb_readable(by)) && is_node(status))
        status = caret__ydb_invalid(c, "Invalid increment");
    if (status == YDB_OK)
        status = reach(c, path, &local, &s);
    if (status != YDB_OK)
        return status == CARET__YDB_LONG ? caret__ydb_long_incr(c, by, ret) : status;
    caret_slice step = caret__ydb_increment(by);
    bool fits = ret->len_alloc >= LONGEST_SUM && ret->buf_addr != NULL;
    return leave(local, (fits    ? add
                         : local ? add_local_if_it_fits
                                 : add_if_it_fits)(c, s, &path->node.node, step, ret));
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
