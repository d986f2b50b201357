/*
 * json.c - ydb_encode_s and ydb_decode_s: a subtree as JSON, and back.  m/json.h has the form of it.
 *
 * What is decoded into a global is stored in one transaction: all of it or nothing.
 */
#include "m/json.h"

#include <strings.h>

#include "yottadb/session.h"

/* ------------------------------------------------------------------- arguments */

/* The node, after the arguments that are not about it: `what` is wrong with those, unless it is NULL. */
static int find(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                const char *what, struct caret__ydb_path **path)
{
    int status = what != NULL ? caret__ydb_name_check(c, v, n) : YDB_OK;

    if (status == YDB_OK && what != NULL)
        return caret__ydb_invalid(c, what);
    return status == YDB_OK ? caret__ydb_node(c, v, n, subs, path) : status;
}

static const char *bad_format(const char *format)
{
    return format == NULL ? "NULL format" : strcasecmp(format, "JSON") != 0 ? "Invalid format" : NULL;
}

/* The session of the node: locals are left by leave(). */
static int reach(struct caret__ydb_call *c, const caret_node *n, caret_session **s)
{
    return caret_node_is_local(n) ? caret__ydb_locals(c, s) : caret__ydb_session(c, s);
}

static void leave(const caret_node *n)
{
    if (caret_node_is_local(n))
        caret__ydb_locals_done();
}

static int json_failed(struct caret__ydb_call *c, const caret_node *n, const struct caret_m__json_error *e)
{
    char call[40];

    snprintf(call, sizeof call, "%s()", c->name);
    if (e->code != 0)
        return caret__ydb_error(c, e->code, e->why, call, NULL);
    if (e->rc == CARET_NONE)
        return caret__ydb_undefined(c, n);
    return e->rc == CARET_E_KEY2BIG ? caret__ydb_error(c, YDB_ERR_GVSUBOFLOW, NULL)
                                    : caret__ydb_failed(c, e->rc);
}

/* ---------------------------------------------------------------------- encode */

static int encode(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                  const char *format, ydb_string_t *ret)
{
    struct caret_m__json_error e;
    struct caret__ydb_path *path;
    caret_session *s;
    char *text;
    size_t len;

    c->name = "ydb_encode_s";
    int status = find(c, v, n, subs, ret == NULL ? "NULL ret_value" : bad_format(format), &path);
    if (status == YDB_OK)
        status = reach(c, &path->node.node, &s);
    if (status != YDB_OK)
        return status;
    int rc = caret_m__json_encode(s, &path->node.node, &text, &len, &e);
    leave(&path->node.node);
    if (rc != 0)
        return json_failed(c, &path->node.node, &e);
    ret->address = text;
    ret->length = len;
    return YDB_OK;
}

/* ---------------------------------------------------------------------- decode */

static const char *bad_value(const ydb_string_t *value)
{
    return value == NULL            ? "NULL value"
           : value->address == NULL ? "NULL value->address"
           : value->length == 0     ? "Invalid value->length"
                                    : NULL;
}

struct decoding {
    caret_node *n;
    const ydb_string_t *value;
};

static int decode_in_it(struct caret__ydb_call *c, caret_session *s, void *arg)
{
    const struct decoding *d = arg;
    struct caret_m__json_error e;

    return caret_m__json_decode(s, d->n, d->value->address, d->value->length, &e) == 0
               ? YDB_OK
               : json_failed(c, d->n, &e);
}

static int decode(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                  const char *format, const ydb_string_t *value)
{
    const char *what = bad_format(format);
    struct caret_m__json_error e;
    struct caret__ydb_path *path;
    caret_session *s;

    c->name = "ydb_decode_s";
    int status = find(c, v, n, subs, what != NULL ? what : bad_value(value), &path);
    if (status == YDB_OK)
        status = reach(c, &path->node.node, &s);
    if (status != YDB_OK)
        return status;
    if (!caret_node_is_local(&path->node.node))
        return caret__ydb_atomically(c, s, decode_in_it, &(struct decoding){&path->node.node, value});
    int rc = caret_m__json_decode(s, &path->node.node, value->address, value->length, &e);
    leave(&path->node.node);
    return rc == 0 ? YDB_OK : json_failed(c, &path->node.node, &e);
}

/* ------------------------------------------------------------------------- ABI */

int ydb_encode_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                 const char *format, ydb_string_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, encode(&c, varname, subs_used, subsarray, format, ret_value));
}

int ydb_encode_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                  const ydb_buffer_t *subsarray, const char *format, ydb_string_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, encode(&c, varname, subs_used, subsarray, format, ret_value));
}

int ydb_decode_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                 const char *format, const ydb_string_t *value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, decode(&c, varname, subs_used, subsarray, format, value));
}

int ydb_decode_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                  const ydb_buffer_t *subsarray, const char *format, const ydb_string_t *value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, decode(&c, varname, subs_used, subsarray, format, value));
}
