/*
 * json.c - ydb_encode_s and ydb_decode_s: a subtree as JSON, and back.  m/json.h has the form of it.
 *
 * What is decoded into a global is stored in one transaction: all of it or nothing.
 */
#include "m/json.h"

#include <strings.h>

#include "yottadb/long.h"
#include "yottadb/session.h"

/* ------------------------------------------------------------------- arguments */

/* A call, and what it is to do at its place. */
struct job {
    struct caret__ydb_call *c;
    const ydb_buffer_t *v;
    int n;
    const ydb_buffer_t *subs;
    int (*work)(const struct job *job, struct caret_m__tree *t, struct caret_m__place *p);
    ydb_string_t *ret;
    const ydb_string_t *value;
};

/* The node, after the arguments that are not about it: `what` is wrong with those, unless it is NULL. */
static int find(const struct job *job, const char *what, struct caret__ydb_path **path)
{
    int status = what != NULL ? caret__ydb_name_check(job->c, job->v, job->n) : YDB_OK;

    if (status == YDB_OK && what != NULL)
        return caret__ydb_invalid(job->c, what);
    return status == YDB_OK ? caret__ydb_node(job->c, job->v, job->n, job->subs, path) : status;
}

static const char *bad_format(const char *format)
{
    return format == NULL ? "NULL format" : strcasecmp(format, "JSON") != 0 ? "Invalid format" : NULL;
}

static int json_failed(const struct job *job, const struct caret_m__tree *t, const struct caret_m__place *p,
                       const struct caret_m__json_error *e)
{
    struct caret__ydb_call *c = job->c;
    char call[40];

    snprintf(call, sizeof call, "%s()", c->name);
    if (e->code != 0)
        return caret__ydb_error(c, e->code, e->why, call, NULL);
    if (e->rc == CARET_NONE)
        return t->list != NULL ? caret__ydb_undefined_long(c) : caret__ydb_undefined(c, &p->node.node);
    if (e->rc != CARET_E_KEY2BIG)
        return caret__ydb_failed(c, e->rc);
    return caret_node_is_local(&p->node.node) ? CARET__YDB_LONG : caret__ydb_too_long(c, job->v);
}

/* --------------------------------------------------------------------- places */

static int at_node(const struct job *job, caret_session *s, const caret_node *n)
{
    struct caret_m__tree t = {.s = s};
    struct caret_m__place p;
    int rc = caret_m__place_node(&p, n);

    return rc == CARET_OK ? job->work(job, &t, &p) : caret__ydb_failed(job->c, rc);
}

static int at_long(const struct job *job)
{
    struct caret_m__key key;
    struct caret_m__place p;
    int status = caret__ydb_long_enter(job->c, &key);

    if (status != YDB_OK)
        return status;
    struct caret_m__tree t = {.list = caret__ydb_all_locals.more, .key = key};
    caret_m__place_key(&p, &t);
    status = job->work(job, &t, &p);
    key = t.key;
    return caret__ydb_long_leave(&key, status);
}

static int at_local(const struct job *job, const caret_node *n)
{
    caret_session *s;
    int status = caret__ydb_locals_short(job->c, &s);

    if (status == YDB_OK) {
        status = at_node(job, s, n);
        caret__ydb_locals_done();
    }
    return status;
}

struct in_transaction {
    const struct job *job;
    const caret_node *n;
};

static int at_node_in_it(struct caret__ydb_call *c, caret_session *s, void *arg)
{
    const struct in_transaction *in = arg;

    (void)c;
    return at_node(in->job, s, in->n);
}

/* What writes a global does so in a transaction. */
static int at_global(const struct job *job, caret_node *n, bool writes)
{
    caret_session *s;
    int status = caret__ydb_session(job->c, &s);

    if (status != YDB_OK)
        return status;
    return writes ? caret__ydb_atomically(job->c, s, at_node_in_it, &(struct in_transaction){job, n})
                  : at_node(job, s, n);
}

/* Do it, unless `what` is wrong. */
static int run(const struct job *job, const char *what, bool writes)
{
    struct caret__ydb_path *path;
    int status = find(job, what, &path);

    if (status == YDB_OK)
        status = caret_node_is_local(&path->node.node) ? at_local(job, &path->node.node)
                                                       : at_global(job, &path->node.node, writes);
    return status == CARET__YDB_LONG ? at_long(job) : status;
}

/* ---------------------------------------------------------------- encode, decode */

static int encode_there(const struct job *job, struct caret_m__tree *t, struct caret_m__place *p)
{
    struct caret_m__json_error e;
    char *text;
    size_t len;

    if (caret_m__json_encode(t, p, &text, &len, &e) != 0)
        return json_failed(job, t, p, &e);
    job->ret->address = text;
    job->ret->length = len;
    return YDB_OK;
}

static int encode(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                  const char *format, ydb_string_t *ret)
{
    const struct job job = {.c = c, .v = v, .n = n, .subs = subs, .work = encode_there, .ret = ret};

    c->name = "ydb_encode_s";
    return run(&job, ret == NULL ? "NULL ret_value" : bad_format(format), false);
}

static const char *bad_value(const ydb_string_t *value)
{
    return value == NULL            ? "NULL value"
           : value->address == NULL ? "NULL value->address"
           : value->length == 0     ? "Invalid value->length"
                                    : NULL;
}

/* A local that turns out to be too long while it is stored is stored again, from its beginning, in the list. */
static int decode_there(const struct job *job, struct caret_m__tree *t, struct caret_m__place *p)
{
    struct caret_m__json_error e;

    return caret_m__json_decode(t, p, job->value->address, job->value->length, &e) == 0
               ? YDB_OK
               : json_failed(job, t, p, &e);
}

static int decode(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                  const char *format, const ydb_string_t *value)
{
    const struct job job = {.c = c, .v = v, .n = n, .subs = subs, .work = decode_there, .value = value};
    const char *what = bad_format(format);

    c->name = "ydb_decode_s";
    return run(&job, what != NULL ? what : bad_value(value), true);
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
