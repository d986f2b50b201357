/*
 * pending.c - XACK and XPENDING.
 */
#include "server/stream/group.h"

/* Open stream and group of arguments 1 and 2.  CARET_NONE: one is not there. */
static int open_both(struct serve__call *q, struct serve__stream *x, struct serve__group *g)
{
    int rc = serve__stream_read(q, x, q->argv[1]);
    return rc == CARET_OK ? serve__group_open(q, x, g, q->argv[2]) : rc;
}

int serve__cmd_xack(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__pending p;
    struct serve__id id;
    int64_t n = 0;
    int rc = open_both(q, &x, &g);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? serve__integer(q, 0) : rc;
    for (int i = 3; i < q->argc && rc == CARET_OK; i++) /* all or none are acknowledged */
        rc = serve__id_read(q, q->argv[i], 0, true, NULL, &id);
    for (int i = 3; i < q->argc && rc == CARET_OK; i++) {
        serve__id_read(q, q->argv[i], 0, true, NULL, &id);
        rc = serve__pending_open(q, &g, &p, id);
        n += rc == CARET_OK;
        rc = rc == CARET_OK ? serve__pending_delete(q, &g, &p) : rc == CARET_NONE ? CARET_OK : rc;
    }
    q->r->dirty += (uint64_t)n;
    return rc == CARET_OK ? serve__integer(q, n) : rc;
}

/* --------------------------------------------------------- XPENDING, short */

/* For each consumer that has something pending: its name, and how much. */
static int answer_counts(struct serve__call *q, const struct serve__stream *x, const struct serve__group *g)
{
    struct serve__names i;
    struct serve__consumer c;
    char name[256];
    size_t n = 0, place = serve__open(q);
    int rc = serve__names_begin(&i, x, g);
    while (rc == CARET_OK && (rc = serve__consumers_next(q, g, &i, &c)) == CARET_OK) {
        int64_t count;
        if (c.name.len <= sizeof name)
            c.name.data = memcpy(name, c.name.data, c.name.len);
        else
            rc = caret_keep(q->s, &c.name);
        if (rc == CARET_OK)
            rc = serve__pending_count(q, &c.mine.node, &count);
        if (rc != CARET_OK || count == 0)
            continue;
        serve__array(q, 2);
        serve__bulk(q, c.name.data, c.name.len);
        serve__number_text(q, count);
        n++;
    }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

static int answer_summary(struct serve__call *q, const struct serve__stream *x, const struct serve__group *g)
{
    struct serve__id first = SERVE__ID_MIN, last = SERVE__ID_MIN;
    caret_node_buf base;
    caret_slice value;
    int64_t count = 0;
    int rc = serve__pending_base(g, &base);
    if (rc == CARET_OK)
        rc = serve__pending_count(q, &base.node, &count);
    serve__array(q, 4);
    serve__integer(q, count);
    if (rc == CARET_OK && count == 0) {
        serve__null(q);
        serve__null(q);
        return serve__null_array(q);
    }
    if (rc == CARET_OK)
        rc = serve__walk_one(q, &base.node, SERVE__ID_MIN, SERVE__ID_MAX, false, &first, &value);
    if (rc == CARET_OK)
        rc = serve__walk_one(q, &base.node, SERVE__ID_MAX, SERVE__ID_MIN, true, &last, &value);
    serve__answer_id(q, first);
    serve__answer_id(q, last);
    return rc == CARET_OK ? answer_counts(q, x, g) : rc;
}

/* ---------------------------------------------------------- XPENDING, long */

struct options {
    int64_t idle, most;
    struct serve__id from, to;
    const caret_slice *consumer; /* NULL: all */
};

static int read_options(struct serve__call *q, struct options *o)
{
    int i = 3, rc;
    *o = (struct options){.idle = 0};
    if (q->argc != 6 && q->argc != 7 && q->argc != 8 && q->argc != 9)
        return SERVE__E_SYNTAX;
    if (serve__is(&q->argv[3], "idle")) {
        if ((rc = serve__arg_integer(q, 4, &o->idle)) != CARET_OK)
            return rc;
        if (q->argc < 8)
            return SERVE__E_SYNTAX;
        i = 5;
    }
    if ((rc = serve__arg_integer(q, i + 2, &o->most)) != CARET_OK)
        return rc;
    rc = serve__id_read_end(q, q->argv[i], true, &o->from);
    if (rc == CARET_OK)
        rc = serve__id_read_end(q, q->argv[i + 1], false, &o->to);
    if (i + 3 < q->argc)
        o->consumer = &q->argv[i + 3];
    return rc;
}

static int answer_one(struct serve__call *q, const struct serve__group *g, const struct serve__pending *p)
{
    caret_slice name = {"", 0};
    int rc = serve__consumer_name(q, g, p->consumer, &name);
    serve__array(q, 4);
    serve__answer_id(q, p->id);
    serve__bulk(q, name.data, name.len);
    serve__integer(q, q->now > p->when ? q->now - p->when : 0);
    serve__integer(q, (int64_t)p->times);
    return rc;
}

/* Walk over what is below `base`: of the group, or of the one consumer. */
static int answer_list(struct serve__call *q, const struct serve__group *g, const caret_node *base,
                       const struct options *o)
{
    struct serve__walk i;
    struct serve__pending p;
    struct serve__id id;
    caret_slice value;
    int64_t n = 0;
    size_t place = serve__open(q);
    int rc = serve__walk_begin(&i, base, o->from, o->to, false);
    while (rc == CARET_OK && n < o->most && (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        serve__pending_read(&p, id, value);
        if (o->consumer != NULL)
            rc = serve__pending_open(q, g, &p, id);
        if (rc != CARET_OK || (o->idle > 0 && q->now - p.when < o->idle))
            continue;
        rc = answer_one(q, g, &p);
        n++;
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_array(q, place, (size_t)n) : rc;
}

int serve__cmd_xpending(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__consumer c;
    struct options o;
    caret_node_buf base;
    int rc = q->argc == 3 ? CARET_OK : read_options(q, &o);
    if (rc == CARET_OK && (rc = open_both(q, &x, &g)) == CARET_NONE)
        return serve__fail(q, "NOGROUP No such key '%.*s' or consumer group '%.*s'", (int)q->argv[1].len,
                           q->argv[1].data, (int)q->argv[2].len, q->argv[2].data);
    if (rc != CARET_OK)
        return rc;
    if (q->argc == 3)
        return answer_summary(q, &x, &g);
    if (o.consumer == NULL)
        rc = serve__pending_base(&g, &base);
    else if ((rc = serve__consumer_open(q, &g, &c, *o.consumer)) == CARET_NONE)
        return serve__array(q, 0);
    else
        base = c.mine;
    return rc == CARET_OK ? answer_list(q, &g, &base.node, &o) : rc;
}
