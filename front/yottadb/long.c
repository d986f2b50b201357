/*
 * long.c - local variables with keys that are too long for the engine.
 *
 * All calls come to the engine first, and here when it has no such key, or its variable is in the list (m/long.h), as
 * all are when M keeps them (locals.c):
 * path.c and locals.c say CARET__YDB_LONG then.  Here the variable is moved to the list if it is not there yet, which
 * another thread may have done, or undone, in the meantime: so each function can be asked for any address.
 */
#include "yottadb/long.h"

#include "m/number.h"

static int make_key(struct caret_m__key *k, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs)
{
    int rc = caret_m__key_var(k, v->buf_addr, v->len_used);

    for (int i = 0; rc == CARET_OK && i < n; i++)
        rc = caret_m__key_child(k, subs[i].len_used != 0 ? subs[i].buf_addr : "", subs[i].len_used);
    return rc;
}

/* What Caret says, which may be without a message here. */
static int failed(struct caret__ydb_call *c, int rc)
{
    if (rc == CARET_E_NOMEM)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "NOMEM: no memory for local variables");
    return caret__ydb_failed(c, rc);
}

int caret__ydb_long_leave(struct caret_m__key *k, int status)
{
    caret__ydb_locals_any_done();
    caret_m__key_free(k);
    return status;
}

int caret__ydb_long_enter(struct caret__ydb_call *c, struct caret_m__key *k)
{
    *k = (struct caret_m__key){0};
    int status = caret__ydb_locals_any(c);

    if (status != YDB_OK)
        return status;
    int rc = make_key(k, c->v, c->n, c->subs);
    if (rc == CARET_OK)
        rc = caret_m__lengthen(&caret__ydb_all_locals, c->v->buf_addr, c->v->len_used);
    return rc == CARET_OK ? YDB_OK : caret__ydb_long_leave(k, failed(c, rc));
}

/* ----------------------------------------------------------------------- nodes */

int caret__ydb_long_get(struct caret__ydb_call *c, ydb_buffer_t *ret)
{
    struct caret_m__key k;
    caret_slice value;
    int status = caret__ydb_long_enter(c, &k);

    if (status != YDB_OK)
        return status;
    if (caret_m__long_get(caret__ydb_all_locals.more, &k, &value) == CARET_OK)
        return caret__ydb_long_leave(&k, caret__ydb_store(c, ret, value.data, value.len));
    return caret__ydb_long_leave(&k, caret__ydb_undefined_long(c));
}

int caret__ydb_long_set(struct caret__ydb_call *c, const ydb_buffer_t *value)
{
    struct caret_m__key k;
    size_t len = value != NULL ? value->len_used : 0;
    int status = len <= CARET_MAX_VALUE ? caret__ydb_long_enter(c, &k) : caret__ydb_too_big(c, len);

    if (status != YDB_OK)
        return status;
    int rc = caret_m__long_set(caret__ydb_all_locals.more, &k, len != 0 ? value->buf_addr : "", len);
    return caret__ydb_long_leave(&k, rc == CARET_OK ? YDB_OK : failed(c, rc));
}

int caret__ydb_long_data(struct caret__ydb_call *c, unsigned *ret)
{
    struct caret_m__key k;
    int status = caret__ydb_long_enter(c, &k);

    if (status != YDB_OK)
        return status;
    *ret = caret_m__long_data(caret__ydb_all_locals.more, &k);
    return caret__ydb_long_leave(&k, YDB_OK);
}

int caret__ydb_long_delete(struct caret__ydb_call *c, bool tree)
{
    struct caret_m__key k;
    int status = caret__ydb_long_enter(c, &k);

    if (status != YDB_OK)
        return status;
    (tree ? caret_m__long_kill : caret_m__long_delete)(caret__ydb_all_locals.more, &k);
    return caret__ydb_long_leave(&k, YDB_OK);
}

/* The sum is stored in the node only if it fits the caller's buffer. */
static int add(struct caret__ydb_call *c, struct caret_m__key *k, const ydb_buffer_t *by, ydb_buffer_t *ret)
{
    char sum[CARET__DEC_MAX + 1];
    caret_slice value = {"", 0};
    size_t len;

    caret_m__long_get(caret__ydb_all_locals.more, k, &value);
    int code = caret_m__sum(value, caret__ydb_increment(by), sum, &len);
    if (code != 0)
        return caret__ydb_error(c, code, NULL);
    int status = caret__ydb_fits(c, ret, len, "ret_value");
    if (status != YDB_OK)
        return status;
    int rc = caret_m__long_set(caret__ydb_all_locals.more, k, sum, len);
    return rc == CARET_OK ? caret__ydb_store(c, ret, sum, len) : failed(c, rc);
}

int caret__ydb_long_incr(struct caret__ydb_call *c, const ydb_buffer_t *by, ydb_buffer_t *ret)
{
    struct caret_m__key k;
    int status = caret__ydb_long_enter(c, &k);

    return status == YDB_OK ? caret__ydb_long_leave(&k, add(c, &k, by, ret)) : status;
}

/* ---------------------------------------------------------------------- moving */

static int store_sub(struct caret__ydb_call *c, const struct caret_m__key *k, unsigned i, ydb_buffer_t *ret,
                     const char *what)
{
    size_t len;
    int rc = caret_m__key_sub(k, i, ret->buf_addr, ret->buf_addr != NULL ? ret->len_alloc : 0, &len);

    if (rc != CARET_OK)
        return rc == CARET_E_BUFFER ? caret__ydb_fits(c, ret, len, what) : failed(c, rc);
    ret->len_used = (unsigned)len;
    return YDB_OK;
}

/* The name of the variable after or before in the session; NONE. */
static int short_name(caret_session *s, const ydb_buffer_t *v, bool back, char *room, caret_slice *name)
{
    caret_node_buf n;
    int rc = s != NULL ? caret_node_var(&n.node, sizeof n, v->buf_addr, v->len_used) : CARET_NONE;

    if (rc == CARET_OK)
        rc = back ? caret_previous(s, &n.node) : caret_next(s, &n.node);
    if (rc == CARET_OK)
        *name = caret_node_name(&n.node, room);
    return rc;
}

/* That in the list. */
static int long_name(const struct caret_m__long *list, struct caret_m__key *k, bool back, caret_slice *name)
{
    int rc = list != NULL ? caret_m__long_sibling(list, k, back) : CARET_NONE;

    if (rc == CARET_OK)
        *name = (caret_slice){(const char *)k->bytes, k->len - 1};
    return rc;
}

/* Names end with a NUL in both places. */
static int next_name(struct caret__ydb_call *c, struct caret_m__key *k, const ydb_buffer_t *v,
                     ydb_buffer_t *ret, bool back)
{
    char room[CARET_MAX_NAME + 2];
    caret_slice name, other;
    int rc = short_name(caret__ydb_all_locals.s, v, back, room, &name);
    int rc2 = long_name(caret__ydb_all_locals.more, k, back, &other);

    if ((rc != CARET_OK && rc != CARET_NONE) || (rc2 != CARET_OK && rc2 != CARET_NONE))
        return failed(c, rc != CARET_OK && rc != CARET_NONE ? rc : rc2);
    if (rc == CARET_NONE && rc2 == CARET_NONE)
        return YDB_ERR_NODEEND;
    if (rc == CARET_NONE || (rc2 == CARET_OK && (strcmp(other.data, name.data) < 0) != back))
        name = other;
    return caret__ydb_store(c, ret, name.data, name.len);
}

/* The list is not needed for names: the variable stays where it is. */
static int name_sibling(struct caret__ydb_call *c, const ydb_buffer_t *v, ydb_buffer_t *ret, bool back)
{
    struct caret_m__key k = {0};
    int status = caret__ydb_locals_any(c);

    if (status != YDB_OK)
        return status;
    int rc = make_key(&k, v, 0, NULL);
    return caret__ydb_long_leave(&k, rc == CARET_OK ? next_name(c, &k, v, ret, back) : failed(c, rc));
}

int caret__ydb_long_sibling(struct caret__ydb_call *c, ydb_buffer_t *ret, bool back)
{
    struct caret_m__key k;

    if (c->n == 0)
        return name_sibling(c, c->v, ret, back);
    int status = caret__ydb_long_enter(c, &k);
    if (status != YDB_OK)
        return status;
    int rc = caret_m__long_sibling(caret__ydb_all_locals.more, &k, back);
    return caret__ydb_long_leave(&k, rc == CARET_OK ? store_sub(c, &k, (unsigned)c->n - 1, ret, "ret_value")
                                                    : failed(c, rc));
}

/* All subscripts, or nothing at all if there are too few buffers. */
static int store_all(struct caret__ydb_call *c, const struct caret_m__key *k, int *ret_n, ydb_buffer_t *ret)
{
    int depth = (int)caret_m__key_depth(k), room = *ret_n;

    *ret_n = depth;
    if (depth > room)
        return caret__ydb_too_few(c, depth);
    if (depth != 0 && ret == NULL)
        return caret__ydb_invalid(c, "NULL ret_subsarray");
    for (int i = 0; i < depth; i++) {
        int status = store_sub(c, k, (unsigned)i, &ret[i], "ret_subsarray");
        if (status != YDB_OK) {
            *ret_n = i;
            return status;
        }
    }
    return YDB_OK;
}

int caret__ydb_long_step(struct caret__ydb_call *c, int *ret_n, ydb_buffer_t *ret, bool back)
{
    struct caret_m__key k;
    int status = caret__ydb_long_enter(c, &k);

    if (status != YDB_OK)
        return status;
    int rc = caret_m__long_step(caret__ydb_all_locals.more, &k, back);
    if (rc == CARET_NONE)
        *ret_n = 0;
    return caret__ydb_long_leave(&k, rc == CARET_OK ? store_all(c, &k, ret_n, ret) : failed(c, rc));
}
