/*
 * path.c - nodes from strings; path.h has the idea.
 */
#include "yottadb/path.h"

#include <string.h>

#include "m/m.h"
#include "yottadb/session.h"

void caret__ydb_paths_init(struct caret__ydb_paths *paths)
{
    for (unsigned i = 0; i < CARET__YDB_PATHS; i++) {
        paths->path[i].depth = CARET__YDB_EMPTY;
        paths->order[i] = &paths->path[i];
    }
}

/* Mostly a few bytes: without a call, and without a loop. */
static inline bool same(const char *a, const char *b, size_t n)
{
    if (n > 16)
        return memcmp(a, b, n) == 0;
    if (n >= 8) {
        uint64_t x[2], y[2];
        memcpy(&x[0], a, 8);
        memcpy(&y[0], b, 8);
        memcpy(&x[1], a + n - 8, 8);
        memcpy(&y[1], b + n - 8, 8);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    if (n >= 4) {
        uint32_t x[2], y[2];
        memcpy(&x[0], a, 4);
        memcpy(&y[0], b, 4);
        memcpy(&x[1], a + n - 4, 4);
        memcpy(&y[1], b + n - 4, 4);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* Is it the path of these strings, but for the last subscript? */
static inline bool matches(const struct caret__ydb_path *p, const ydb_buffer_t *v, int n,
                           const ydb_buffer_t *subs)
{
    if (p->depth != n || p->lens[0] != v->len_used || !same(p->raw, v->buf_addr, v->len_used))
        return false;
    const char *at = p->raw + v->len_used;
    for (int i = 0; i + 1 < n; i++) {
        if (p->lens[i + 1] != subs[i].len_used || !same(at, subs[i].buf_addr, subs[i].len_used))
            return false;
        at += subs[i].len_used;
    }
    return true;
}

/* ------------------------------------------------------------------- arguments */

static int bad_name(struct caret__ydb_call *c, const ydb_buffer_t *v)
{
    struct caret__ydb_digits most;
    char name[64];

    if (!caret__ydb_readable(v) || v->len_used == 0)
        return caret__ydb_error(c, YDB_ERR_INVVARNAME, "", NULL);
    if (caret_m__name_error(v->buf_addr, v->len_used) == YDB_ERR_VARNAME2LONG)
        return caret__ydb_error(c, YDB_ERR_VARNAME2LONG, caret__ydb_digits(&most, YDB_MAX_IDENT), NULL);
    snprintf(name, sizeof name, "%.*s", (int)(v->len_used < sizeof name ? v->len_used : sizeof name - 1),
             v->buf_addr);
    return caret__ydb_error(c, YDB_ERR_INVVARNAME, name, NULL);
}

static int too_few_or_many(struct caret__ydb_call *c, int n)
{
    return n < 0              ? caret__ydb_error(c, YDB_ERR_MINNRSUBSCRIPTS, NULL)
           : n > YDB_MAX_SUBS ? caret__ydb_error(c, YDB_ERR_MAXNRSUBSCRIPTS, NULL)
                              : YDB_OK;
}

int caret__ydb_name_check(struct caret__ydb_call *c, const ydb_buffer_t *v, int n)
{
    caret_node_buf node;

    if (v == NULL)
        return caret__ydb_invalid(c, "NULL varname");
    if (!caret__ydb_readable(v) || v->len_used == 0)
        return bad_name(c, v);
    if (v->buf_addr[0] == '$')
        return caret__ydb_special_refuse(c, v, n);
    if (caret_node_var(&node.node, sizeof node, v->buf_addr, v->len_used) != CARET_OK)
        return bad_name(c, v);
    return too_few_or_many(c, n);
}

/* What is wrong with the subscripts, in the order in which YottaDB looks: the name comes first. */
static int refuse(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs)
{
    struct caret__ydb_digits count;
    char call[40];
    int i = 0, status = caret__ydb_name_check(c, v, n);

    if (status != YDB_OK)
        return status;
    if (subs == NULL) {
        snprintf(call, sizeof call, "%s()", c->name);
        return caret__ydb_error(c, YDB_ERR_SUBSARRAYNULL, caret__ydb_digits(&count, n), call, NULL);
    }
    while (caret__ydb_readable(&subs[i]))
        i++;
    return caret__ydb_invalid_at(c, "subsarray", i);
}

/* May the buffers be looked at?  Special variables are not nodes. */
static inline int check(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs)
{
    if (!caret__ydb_likely(caret__ydb_readable(v) && v->len_used != 0 && v->buf_addr[0] != '$'))
        return caret__ydb_name_check(c, v, n);
    if (!caret__ydb_likely(n >= 0 && n <= YDB_MAX_SUBS && (n == 0 || subs != NULL)))
        return refuse(c, v, n, subs);
    for (int i = 0; i < n; i++)
        if (!caret__ydb_likely(caret__ydb_readable(&subs[i])))
            return refuse(c, v, n, subs);
    return YDB_OK;
}

/* ---------------------------------------------------------------------- making */

int caret__ydb_too_long(struct caret__ydb_call *c, const ydb_buffer_t *v)
{
    char text[200];

    caret_m__fill(text, sizeof text, YDB_ERR_GVSUBOFLOW, (const char *const[]){NULL});
    return caret__ydb_fail(c, YDB_ERR_GVSUBOFLOW, "%s,%%YDB-I-GVIS, \t\tGlobal variable: %.*s(*", text,
                           (int)v->len_used, v->buf_addr);
}

/* The engine can't have such a key: nor can anybody a subscript longer than a string; locals go elsewhere. */
static int no_key(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs)
{
    struct caret__ydb_digits len, most;

    for (int i = 0; i < n; i++)
        if (subs[i].len_used > YDB_MAX_STR)
            return caret__ydb_error(c, YDB_ERR_INVSTRLEN, caret__ydb_digits(&len, subs[i].len_used),
                                    caret__ydb_digits(&most, YDB_MAX_STR), NULL);
    return v->buf_addr[0] != '^' ? CARET__YDB_LONG : caret__ydb_too_long(c, v);
}

static int make(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                caret_node_buf *node)
{
    int rc = caret_node_var(&node->node, sizeof *node, v->buf_addr, v->len_used);

    if (rc == CARET_E_NAME)
        return bad_name(c, v);
    for (int i = 0; rc == CARET_OK && i < n; i++)
        rc = caret_node_child(&node->node, sizeof *node, &node->node,
                              subs[i].len_used != 0 ? subs[i].buf_addr : "", subs[i].len_used);
    return rc == CARET_OK ? YDB_OK : rc == CARET_E_KEY2BIG ? no_key(c, v, n, subs) : caret__ydb_failed(c, rc);
}

int caret__ydb_node_make(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                         caret_node_buf *node)
{
    int status = check(c, v, n, subs);

    return status == YDB_OK ? make(c, v, n, subs, node) : status;
}

void caret__ydb_keep_begin(struct caret__ydb_path *p)
{
    p->depth = CARET__YDB_EMPTY;
    p->used = p->lens[0];
    p->last_len = CARET__YDB_UNKNOWN;
}

void caret__ydb_keep(struct caret__ydb_path *p, int i, int n, const ydb_buffer_t *sub)
{
    if (i + 1 == n) {
        caret__ydb_moved(p, sub);
    } else if (p->used > CARET__YDB_RAW || sub->len_used > CARET__YDB_RAW - p->used) {
        p->used = CARET__YDB_RAW + 1;
    } else {
        if (sub->len_used != 0)
            memcpy(p->raw + p->used, sub->buf_addr, sub->len_used);
        p->used += sub->len_used;
        p->lens[i + 1] = sub->len_used;
    }
}

void caret__ydb_keep_end(struct caret__ydb_path *p, int n)
{
    if (p->used <= CARET__YDB_RAW)
        p->depth = n;
}

/* Remember the strings that the path was made of, if there is room. */
static void remember(struct caret__ydb_path *p, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs)
{
    memcpy(p->raw, v->buf_addr, v->len_used); /* a name: it fits */
    p->lens[0] = v->len_used;
    caret__ydb_keep_begin(p);
    for (int i = 0; i < n; i++)
        caret__ydb_keep(p, i, n, &subs[i]);
    caret__ydb_keep_end(p, n);
}

void caret__ydb_moved(struct caret__ydb_path *p, const ydb_buffer_t *ret)
{
    p->last_len = CARET__YDB_UNKNOWN;
    if (ret == NULL || ret->len_used > sizeof p->last)
        return;
    if (ret->len_used != 0)
        memcpy(p->last, ret->buf_addr, ret->len_used);
    p->last_len = ret->len_used;
}

static void to_front(struct caret__ydb_paths *paths, unsigned i)
{
    struct caret__ydb_path *p = paths->order[i];

    for (; i > 0; i--)
        paths->order[i] = paths->order[i - 1];
    paths->order[0] = p;
}

static int make_anew(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                     struct caret__ydb_path **path)
{
    struct caret__ydb_paths *paths = &c->self->paths;
    struct caret__ydb_path *p = paths->order[CARET__YDB_PATHS - 1];
    int status;

    p->depth = CARET__YDB_EMPTY;
    status = make(c, v, n, subs, &p->node);
    if (status != YDB_OK)
        return status;
    remember(p, v, n, subs);
    if (p->depth != CARET__YDB_EMPTY)
        to_front(paths, CARET__YDB_PATHS - 1);
    *path = p;
    return YDB_OK;
}

/* Most subscripts are small integers: spelt so that the text is canonical, they need not be looked at as text. */
static inline bool small_integer(const ydb_buffer_t *b, int64_t *number)
{
    uint32_t n = 0;

    if (b->len_used - 1 >= 9 || (b->buf_addr[0] == '0' && b->len_used > 1))
        return false;
    for (unsigned i = 0; i < b->len_used; i++) {
        unsigned digit = (unsigned char)b->buf_addr[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        n = n * 10 + digit;
    }
    *number = n;
    return true;
}

static int set_last(caret_node *n, const ydb_buffer_t *sub)
{
    int64_t number;

    if (small_integer(sub, &number))
        return caret_node_set_last_int(n, number);
    return caret_node_set_last(n, sub->len_used != 0 ? sub->buf_addr : "", sub->len_used);
}

int caret__ydb_node(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    struct caret__ydb_path **path)
{
    struct caret__ydb_paths *paths = &c->self->paths;
    int status = check(c, v, n, subs);
    unsigned i = 0;

    c->v = v;
    c->n = n;
    c->subs = subs;
    if (!caret__ydb_likely(status == YDB_OK))
        return status;
    while (i < CARET__YDB_PATHS && !matches(paths->order[i], v, n, subs))
        i++;
    if (i == CARET__YDB_PATHS)
        return make_anew(c, v, n, subs, path);
    if (i != 0)
        to_front(paths, i);
    struct caret__ydb_path *p = *path = paths->order[0];
    if (n == 0)
        return YDB_OK;
    const ydb_buffer_t *last = &subs[n - 1];
    if (last->len_used == p->last_len && same(p->last, last->buf_addr, last->len_used))
        return YDB_OK;
    int rc = set_last(&p->node.node, last);
    if (rc != CARET_OK)
        return rc == CARET_E_KEY2BIG ? no_key(c, v, n, subs) : caret__ydb_failed(c, rc);
    caret__ydb_moved(p, last);
    return YDB_OK;
}
