/*
 * add.c - commands that change what a stream holds: XADD, XDEL, XTRIM, XSETID; and XLEN.
 */
#include "server/event.h"
#include "server/stream/stream.h"
#include "server/worker.h"

/* ---------------------------------------------------------------- options */

struct options {
    struct serve__trim trim;
    bool limited;  /* LIMIT was given */
    bool only_old; /* NOMKSTREAM */
    bool makes;    /* the id is made, all of it (any_ms), or its second half */
    bool any_ms;
    struct serve__id id;
    int next; /* the argument after them */
};

/* MAXLEN or MINID at argument *i, which becomes that of its threshold. */
static int read_threshold(struct serve__call *q, struct options *o, int kind, int *i)
{
    int64_t n = 0;
    if (o->trim.kind != SERVE__TRIM_NONE)
        return serve__fail(q,
                           "ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    o->trim.kind = kind == SERVE__TRIM_MAXLEN ? SERVE__TRIM_MAXLEN : SERVE__TRIM_MINID;
    o->trim.about = false;
    ++*i;
    bool marked = *i + 1 < q->argc && q->argv[*i].len == 1;
    if (marked && (*q->argv[*i].data == '~' || *q->argv[*i].data == '='))
        o->trim.about = *q->argv[(*i)++].data == '~';
    if (kind == SERVE__TRIM_MINID)
        return serve__id_read(q, q->argv[*i], 0, true, NULL, &o->trim.id);
    int rc = serve__arg_integer(q, *i, &n);
    o->trim.len = (uint64_t)n;
    return rc == CARET_OK && n < 0 ? serve__fail(q, "ERR The MAXLEN argument must be >= 0.") : rc;
}

static int read_limit(struct serve__call *q, struct options *o, int i)
{
    int64_t n = 0;
    int rc = serve__arg_integer(q, i, &n);
    o->limited = true;
    o->trim.limit = (uint64_t)n;
    return rc == CARET_OK && n < 0 ? serve__fail(q, "ERR The LIMIT argument must be >= 0.") : rc;
}

/* Argument i is the id of XADD. */
static int read_id(struct serve__call *q, struct options *o, int i)
{
    o->next = i + 1;
    o->any_ms = o->makes = q->argv[i].len == 1 && *q->argv[i].data == '*';
    return o->any_ms ? CARET_OK : serve__id_read(q, q->argv[i], 0, true, &o->makes, &o->id);
}

/* Do they fit together?  Set the limit that has not been given. */
static int check_options(struct serve__call *q, struct options *o, bool adds)
{
    if (o->trim.limit > 0 && o->trim.kind == SERVE__TRIM_NONE)
        return serve__fail(q,
                           "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
    if (!adds && o->trim.kind == SERVE__TRIM_NONE)
        return serve__fail(q, "ERR syntax error, XTRIM must be called with a trimming strategy");
    if (o->limited && !o->trim.about)
        return serve__fail(q, "ERR syntax error, LIMIT cannot be used without the special ~ option");
    if (!o->limited && o->trim.about) {
        int64_t n = q->w->config.n[SERVE__CFG_stream_node_max_entries];
        o->trim.limit = n <= 0 ? 10000 : n > 10000 ? 1000000 : (uint64_t)n * 100;
    }
    return CARET_OK;
}

/* Options of XADD, up to its id; or all of XTRIM. */
static int read_options(struct serve__call *q, struct options *o, bool adds)
{
    int rc = CARET_OK;
    *o = (struct options){.next = q->argc};
    for (int i = 2; i < q->argc && rc == CARET_OK; i++) {
        const caret_slice *a = &q->argv[i];
        bool more = i + 1 < q->argc;
        if (adds && a->len == 1 && *a->data == '*') {
            rc = read_id(q, o, i);
            break;
        }
        if (more && serve__is(a, "maxlen"))
            rc = read_threshold(q, o, SERVE__TRIM_MAXLEN, &i);
        else if (more && serve__is(a, "minid"))
            rc = read_threshold(q, o, SERVE__TRIM_MINID, &i);
        else if (more && serve__is(a, "limit"))
            rc = read_limit(q, o, ++i);
        else if (adds && serve__is(a, "nomkstream"))
            o->only_old = true;
        else if (adds) {
            rc = read_id(q, o, i);
            break;
        } else
            rc = SERVE__E_SYNTAX;
    }
    return rc == CARET_OK ? check_options(q, o, adds) : rc;
}

/* ------------------------------------------------------------------- XADD */

/* The id that the new entry gets: o->id. */
static int choose_id(struct serve__call *q, const struct serve__stream *x, struct options *o)
{
    static const char *const too_small = "ERR The ID specified in XADD is equal or smaller than the target "
                                         "stream top item";
    struct serve__id next = x->last;
    if (!serve__id_after(&next))
        return serve__fail(q, "ERR The stream has exhausted the last possible ID, unable to add more items");
    if (o->any_ms) {
        struct serve__id now = {(uint64_t)q->now, 0};
        o->id = serve__id_compare(now, next) > 0 ? now : next;
    } else if (o->makes && o->id.ms == x->last.ms) {
        if (next.ms != o->id.ms) /* no number is left: Redis says it in these words */
            return serve__fail(q, "ERR Elements are too large to be stored");
        o->id = next;
    }
    return serve__id_compare(o->id, x->last) > 0 ? CARET_OK : serve__fail(q, "%s", too_small);
}

static int trim_added(struct serve__call *q, struct serve__stream *x, const struct options *o)
{
    uint64_t n;
    int rc = serve__stream_trim(q, x, &o->trim, &n);
    if (rc == CARET_OK && n > 0) {
        serve__changed(q, SERVE__EVENT_STREAM, "xtrim", x->k.name);
        q->r->dirty--; /* both are one change */
    }
    return rc;
}

int serve__cmd_xadd(struct serve__call *q)
{
    struct serve__stream x;
    struct options o;
    int rc = read_options(q, &o, true);
    if (rc != CARET_OK)
        return rc;
    if (q->argc - o.next < 2 || (q->argc - o.next) % 2 != 0)
        return SERVE__E_ARITY;
    if (!o.makes && serve__id_is_zero(o.id))
        return serve__fail(q, "ERR The ID specified in XADD must be greater than 0-0");
    rc = serve__stream_change(q, &x, q->argv[1]);
    if (rc == CARET_OK && o.only_old && !x.k.exists)
        return serve__null(q);
    if (rc == CARET_OK)
        rc = choose_id(q, &x, &o);
    if (rc == CARET_OK)
        rc = serve__stream_append(q, &x, o.id, q->argv + o.next, (size_t)(q->argc - o.next) / 2);
    if (rc == CARET_OK && !x.k.exists && (q->w->interest & SERVE__EVENT_NEW))
        rc = serve__stream_save(q, &x); /* that it is new is told first */
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STREAM, "xadd", x.k.name);
    serve__ready(q, x.k.name);
    if (o.trim.kind != SERVE__TRIM_NONE)
        rc = trim_added(q, &x, &o);
    if (rc == CARET_OK)
        rc = serve__stream_save(q, &x);
    return rc == CARET_OK ? serve__answer_id(q, o.id) : rc;
}

/* -------------------------------------------------------- XLEN, XDEL, XTRIM */

int serve__cmd_xlen(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__STREAM);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, (int64_t)k.count) : rc;
}

static int delete_one(struct serve__call *q, struct serve__stream *x, struct serve__id id, int64_t *n)
{
    bool was;
    int rc = serve__stream_delete(q, x, id, &was);
    *n += was;
    if (was && serve__id_compare(id, x->deleted) > 0)
        x->deleted = id;
    return rc;
}

int serve__cmd_xdel(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__id id;
    int64_t n = 0;
    int rc = serve__stream_change(q, &x, q->argv[1]);
    if (rc != CARET_OK || !x.k.exists)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    for (int i = 2; i < q->argc && rc == CARET_OK; i++) /* all or none are deleted */
        rc = serve__id_read(q, q->argv[i], 0, true, NULL, &id);
    for (int i = 2; i < q->argc && rc == CARET_OK; i++) {
        serve__id_read(q, q->argv[i], 0, true, NULL, &id);
        rc = delete_one(q, &x, id, &n);
    }
    if (rc == CARET_OK && n > 0) {
        serve__changed(q, SERVE__EVENT_STREAM, "xdel", x.k.name);
        rc = serve__stream_save(q, &x);
    }
    return rc == CARET_OK ? serve__integer(q, n) : rc;
}

int serve__cmd_xtrim(struct serve__call *q)
{
    struct serve__stream x;
    struct options o;
    uint64_t n = 0;
    int rc = read_options(q, &o, false);
    if (rc == CARET_OK)
        rc = serve__stream_change(q, &x, q->argv[1]);
    if (rc != CARET_OK || !x.k.exists)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    rc = serve__stream_trim(q, &x, &o.trim, &n);
    if (rc == CARET_OK && n > 0) {
        serve__changed(q, SERVE__EVENT_STREAM, "xtrim", x.k.name);
        rc = serve__stream_save(q, &x);
    }
    return rc == CARET_OK ? serve__integer(q, (int64_t)n) : rc;
}

/* ----------------------------------------------------------------- XSETID */

struct set_id {
    struct serve__id last, deleted;
    int64_t added;
    bool has_added, has_deleted;
};

static int read_set_id(struct serve__call *q, struct set_id *o)
{
    *o = (struct set_id){.has_added = false};
    int rc = serve__id_read(q, q->argv[2], 0, true, NULL, &o->last);
    for (int i = 3; i < q->argc && rc == CARET_OK; i += 2) {
        bool more = i + 1 < q->argc;
        if (more && serve__is(&q->argv[i], "entriesadded")) {
            rc = serve__arg_integer(q, i + 1, &o->added);
            if (rc == CARET_OK && o->added < 0)
                rc = serve__fail(q, "ERR entries_added must be positive");
            o->has_added = true;
        } else if (more && serve__is(&q->argv[i], "maxdeletedid")) {
            rc = serve__id_read(q, q->argv[i + 1], 0, true, NULL, &o->deleted);
            if (rc == CARET_OK && serve__id_compare(o->last, o->deleted) < 0)
                rc = serve__fail(
                    q, "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
            o->has_deleted = true;
        } else
            rc = SERVE__E_SYNTAX;
    }
    return rc;
}

/* Is the new last id one that the stream can have? */
static int check_set_id(struct serve__call *q, const struct serve__stream *x, const struct set_id *o)
{
    struct serve__id top = SERVE__ID_MIN;
    caret_slice value;
    int rc = serve__stream_end(q, x, true, &top, &value);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (rc == CARET_OK && serve__id_compare(o->last, top) < 0)
        return serve__fail(q, "ERR The ID specified in XSETID is smaller than the target stream top item");
    if (rc == CARET_OK && o->has_added && (int64_t)x->k.count > o->added)
        return serve__fail(
            q, "ERR The entries_added specified in XSETID is smaller than the target stream length");
    return CARET_OK;
}

int serve__cmd_xsetid(struct serve__call *q)
{
    struct serve__stream x;
    struct set_id o;
    int rc = read_set_id(q, &o);
    if (rc == CARET_OK)
        rc = serve__stream_change(q, &x, q->argv[1]);
    if (rc == CARET_OK && !x.k.exists)
        rc = SERVE__E_NOKEY;
    if (rc == CARET_OK)
        rc = check_set_id(q, &x, &o);
    if (rc != CARET_OK)
        return rc;
    x.last = o.last;
    if (o.has_added)
        x.added = (uint64_t)o.added;
    if (o.has_deleted && !serve__id_is_zero(o.deleted))
        x.deleted = o.deleted;
    serve__changed(q, SERVE__EVENT_STREAM, "xsetid", x.k.name);
    rc = serve__stream_save(q, &x);
    return rc == CARET_OK ? serve__ok(q) : rc;
}
