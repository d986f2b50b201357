/*
 * claim.c - XCLAIM and XAUTOCLAIM: what is pending of one consumer becomes another's.
 */
#include "server/event.h"
#include "server/stream/group.h"

struct claim {
    struct serve__stream x;
    struct serve__group g;
    struct serve__consumer c;
    int64_t idle;          /* at least so long */
    int64_t when, times;   /* that the entry gets; times -1: one more than it has */
    struct serve__id last; /* of the group, at least */
    bool force, only_ids;
    bool seen; /* the consumer, which is looked for with the first entry that it gets */
};

/* Open stream and group of arguments 1 and 2. */
static int open_both(struct serve__call *q, struct claim *o)
{
    o->seen = false;
    int rc = serve__stream_read(q, &o->x, q->argv[1]);
    if (rc == CARET_OK)
        rc = serve__group_open(q, &o->x, &o->g, q->argv[2]);
    if (rc == CARET_NONE)
        return serve__fail(q, "NOGROUP No such key '%.*s' or consumer group '%.*s'", (int)q->argv[1].len,
                           q->argv[1].data, (int)q->argv[2].len, q->argv[2].data);
    return rc;
}

static int read_idle(struct serve__call *q, struct claim *o)
{
    if (!serve__read_integer(&q->argv[4], &o->idle))
        return serve__fail(q, "ERR Invalid min-idle-time argument for %s",
                           q->cmd->name[1] == 'c' ? "XCLAIM" : "XAUTOCLAIM");
    if (o->idle < 0)
        o->idle = 0;
    return CARET_OK;
}

/* p, whose entry is there, becomes o->c's. */
static int take(struct serve__call *q, struct claim *o, struct serve__pending *p)
{
    int rc = o->seen ? CARET_OK : serve__consumer_see(q, &o->x, &o->g, &o->c, q->argv[3]);
    o->seen = true;
    if (rc == CARET_OK)
        rc = serve__pending_move(q, &o->g, p, &o->c);
    p->when = o->when;
    if (o->times >= 0)
        p->times = (uint64_t)o->times;
    else if (!o->only_ids)
        p->times++;
    q->r->dirty++;
    return rc == CARET_OK ? serve__pending_save(q, p) : rc;
}

static int answer_taken(struct serve__call *q, const struct claim *o, struct serve__id id)
{
    caret_slice value;
    if (o->only_ids)
        return serve__answer_id(q, id);
    int rc = serve__stream_entry(q, &o->x, id, &value);
    return rc == CARET_OK ? serve__answer_entry(q, id, value) : rc;
}

/* ----------------------------------------------------------------- XCLAIM */

static int bad_option(struct serve__call *q, const char *name)
{
    return serve__fail(q, "ERR Invalid %s option argument for XCLAIM", name);
}

/* The option at argument *i. */
static int read_option(struct serve__call *q, struct claim *o, int *i)
{
    const caret_slice *a = &q->argv[*i], *next = *i + 1 < q->argc ? a + 1 : NULL;
    int64_t n;
    if (serve__is(a, "force")) {
        o->force = true;
    } else if (serve__is(a, "justid")) {
        o->only_ids = true;
    } else if (next != NULL && serve__is(a, "idle")) {
        if (!serve__read_integer(next, &n))
            return bad_option(q, "IDLE");
        o->when = (int64_t)((uint64_t)q->now - (uint64_t)n);
        ++*i;
    } else if (next != NULL && serve__is(a, "time")) {
        if (!serve__read_integer(next, &o->when))
            return bad_option(q, "TIME");
        ++*i;
    } else if (next != NULL && serve__is(a, "retrycount")) {
        if (!serve__read_integer(next, &o->times))
            return bad_option(q, "RETRYCOUNT");
        ++*i;
    } else if (next != NULL && serve__is(a, "lastid")) {
        ++*i;
        return serve__id_read(q, *next, 0, true, NULL, &o->last);
    } else
        return serve__fail(q, "ERR Unrecognized XCLAIM option '%.*s'", (int)(a->len < 460 ? a->len : 460),
                           a->data);
    return CARET_OK;
}

/* Ids are up to *end; options come after them. */
static int read_options(struct serve__call *q, struct claim *o, int *end)
{
    struct serve__id id;
    int i = 5, rc = CARET_OK;
    o->when = q->now;
    o->times = -1;
    o->last = SERVE__ID_MIN;
    o->force = o->only_ids = false;
    while (i < q->argc && serve__id_parse(q->argv[i], 0, true, NULL, &id))
        i++;
    for (*end = i; i < q->argc && rc == CARET_OK; i++)
        rc = read_option(q, o, &i);
    if (o->when < 0 || o->when > q->now)
        o->when = q->now;
    return rc;
}

/* Claim one id.  *n: it was answered. */
static int claim_id(struct serve__call *q, struct claim *o, struct serve__id id, size_t *n)
{
    struct serve__pending p;
    caret_slice value;
    int entry = serve__stream_entry(q, &o->x, id, &value);
    int rc = entry != CARET_OK && entry != CARET_NONE ? entry : serve__pending_open(q, &o->g, &p, id);
    if (rc == CARET_OK && entry == CARET_NONE) /* of what was deleted nothing is to be done */
        return serve__pending_delete(q, &o->g, &p);
    if (rc == CARET_NONE && (!o->force || entry == CARET_NONE))
        return CARET_OK;
    if (rc == CARET_NONE)
        p.when = q->now, p.times = 1, rc = CARET_OK;
    else if (rc == CARET_OK && o->idle > 0 && q->now - p.when < o->idle)
        return CARET_OK;
    ++*n;
    if (rc == CARET_OK)
        rc = take(q, o, &p);
    return rc == CARET_OK ? answer_taken(q, o, id) : rc;
}

int serve__cmd_xclaim(struct serve__call *q)
{
    struct claim o;
    struct serve__id id;
    int end;
    int rc = open_both(q, &o);
    if (rc == CARET_OK)
        rc = read_idle(q, &o);
    if (rc == CARET_OK)
        rc = read_options(q, &o, &end);
    if (rc == CARET_OK && serve__id_compare(o.last, o.g.last) > 0) {
        o.g.last = o.last;
        rc = serve__group_save(q, &o.g);
    }
    size_t n = 0, place = rc == CARET_OK ? serve__open(q) : 0;
    for (int i = 5; rc == CARET_OK && i < end; i++) {
        serve__id_parse(q->argv[i], 0, true, NULL, &id);
        rc = claim_id(q, &o, id, &n);
    }
    return rc == CARET_OK ? serve__close_array(q, place, n) : rc;
}

/* ------------------------------------------------------------- XAUTOCLAIM */

/* COUNT and JUSTID; ids from where on. */
static int read_auto(struct serve__call *q, struct claim *o, struct serve__id *from, int64_t *count)
{
    o->when = q->now;
    o->times = -1;
    o->only_ids = false;
    *count = 100;
    int rc = read_idle(q, o);
    if (rc == CARET_OK)
        rc = serve__id_read_end(q, q->argv[5], true, from);
    for (int i = 6; i < q->argc && rc == CARET_OK; i++) {
        if (serve__is(&q->argv[i], "count") && i + 1 < q->argc) {
            rc = serve__arg_integer(q, ++i, count);
            if (rc != CARET_OK || *count < 1 || *count > INT64_MAX / 16)
                return serve__fail(q, "ERR COUNT must be > 0");
        } else if (serve__is(&q->argv[i], "justid"))
            o->only_ids = true;
        else
            return SERVE__E_SYNTAX;
    }
    return rc;
}

/* What became of an entry that was looked at. */
struct outcome {
    struct serve__id id;
    bool gone; /* it is not there any more */
};

struct automatic {
    struct serve__walk i;
    struct serve__id next; /* where the next call goes on; 0-0: all was looked at */
    size_t claimed, gone;
    struct serve__buffer *outcomes;
};

/* Look at one; *counts: something became of it. */
static int claim_next(struct serve__call *q, struct claim *o, struct automatic *a, struct serve__id id,
                      bool *counts)
{
    struct serve__pending p;
    struct outcome was = {id, false};
    caret_slice value;
    int entry = serve__stream_entry(q, &o->x, id, &value);
    int rc = entry == CARET_OK || entry == CARET_NONE ? serve__pending_open(q, &o->g, &p, id) : entry;
    was.gone = entry == CARET_NONE;
    *counts = rc == CARET_OK && (was.gone || o->idle == 0 || q->now - p.when >= o->idle);
    if (!*counts)
        return rc;
    serve__buffer_add(a->outcomes, &was, sizeof was);
    *(was.gone ? &a->gone : &a->claimed) += 1;
    return was.gone ? serve__pending_delete(q, &o->g, &p) : take(q, o, &p);
}

/* Look at what is pending until `count` are claimed or gone, or 10 times as many were looked at. */
static int claim_many(struct serve__call *q, struct claim *o, struct automatic *a, int64_t count)
{
    struct serve__id id;
    caret_slice value;
    int64_t tries = count * 10;
    int rc;
    while ((rc = serve__walk_next(q, &a->i, &id, &value)) == CARET_OK) {
        bool counts;
        if (tries-- == 0 || count == 0) {
            a->next = id;
            return CARET_OK;
        }
        if ((rc = claim_next(q, o, a, id, &counts)) != CARET_OK)
            return rc;
        count -= counts;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int answer_outcomes(struct serve__call *q, const struct claim *o, const struct automatic *a, bool gone)
{
    int rc = serve__array(q, gone ? a->gone : a->claimed);
    for (size_t i = 0; rc == CARET_OK && i < a->gone + a->claimed; i++) {
        struct outcome was;
        memcpy(&was, a->outcomes->data + i * sizeof was, sizeof was);
        if (was.gone == gone)
            rc = gone ? serve__answer_id(q, was.id) : answer_taken(q, o, was.id);
    }
    return rc;
}

int serve__cmd_xautoclaim(struct serve__call *q)
{
    struct claim o;
    struct automatic a = {.next = {0, 0}, .outcomes = &q->r->work};
    struct serve__id from;
    caret_node_buf base;
    int64_t count;
    a.outcomes->len = 0;
    int rc = read_auto(q, &o, &from, &count);
    if (rc == CARET_OK)
        rc = open_both(q, &o);
    if (rc == CARET_OK)
        rc = serve__pending_base(&o.g, &base);
    if (rc == CARET_OK)
        rc = serve__walk_begin(&a.i, &base.node, from, SERVE__ID_MAX, false);
    if (rc == CARET_OK)
        rc = claim_many(q, &o, &a, count);
    if (rc != CARET_OK || a.outcomes->failed)
        return rc == CARET_OK ? CARET_E_NOMEM : rc;
    serve__array(q, 3);
    serve__answer_id(q, a.next);
    rc = answer_outcomes(q, &o, &a, false);
    return rc == CARET_OK ? answer_outcomes(q, &o, &a, true) : rc;
}
