/*
 * info.c - XINFO.
 */
#include "server/stream/group.h"

/* Entries that the group has still to read, or null if that is not known. */
static int answer_lag(struct serve__call *q, const struct serve__stream *x, const struct serve__group *g)
{
    int64_t read = g->read;
    if (x->added == 0)
        return serve__integer(q, 0);
    bool holes;
    int rc = serve__stream_holes(q, x, g->last, &holes);
    if (rc == CARET_OK && (read < 0 || holes))
        rc = serve__stream_rank(q, x, g->last, &read);
    if (rc != CARET_OK)
        return rc;
    return read < 0 ? serve__null(q) : serve__integer(q, (int64_t)(x->added - (uint64_t)read));
}

static int answer_read(struct serve__call *q, const struct serve__group *g)
{
    return g->read < 0 ? serve__null(q) : serve__integer(q, g->read);
}

static int answer_group(struct serve__call *q, const struct serve__stream *x, const struct serve__group *g)
{
    struct serve__names i;
    caret_node_buf base;
    int64_t consumers = 0, pending = 0;
    serve__map(q, 6);
    serve__text(q, "name");
    serve__bulk(q, g->name.data, g->name.len);
    int rc = serve__names_begin(&i, x, g);
    if (rc == CARET_OK)
        rc = serve__names_count(q, &i, &consumers);
    if (rc == CARET_OK)
        rc = serve__pending_base(g, &base);
    if (rc == CARET_OK)
        rc = serve__pending_count(q, &base.node, &pending);
    if (rc != CARET_OK)
        return rc;
    serve__text(q, "consumers");
    serve__integer(q, consumers);
    serve__text(q, "pending");
    serve__integer(q, pending);
    serve__text(q, "last-delivered-id");
    serve__answer_id(q, g->last);
    serve__text(q, "entries-read");
    answer_read(q, g);
    serve__text(q, "lag");
    return answer_lag(q, x, g);
}

int serve__cmd_xinfo_groups(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__names i;
    size_t n = 0;
    int rc = serve__stream_read(q, &x, q->argv[2]);
    if (rc == CARET_NONE)
        return SERVE__E_NOKEY;
    size_t place = serve__open(q);
    if (rc == CARET_OK)
        rc = serve__names_begin(&i, &x, NULL);
    while (rc == CARET_OK && (rc = serve__groups_next(q, &x, &i, &g)) == CARET_OK) {
        rc = answer_group(q, &x, &g);
        n++;
    }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

static int answer_consumer(struct serve__call *q, struct serve__consumer *c)
{
    int64_t pending;
    serve__map(q, 3);
    serve__text(q, "name");
    serve__bulk(q, c->name.data, c->name.len);
    int rc = serve__pending_count(q, &c->mine.node, &pending);
    serve__text(q, "pending");
    serve__integer(q, pending);
    serve__text(q, "idle");
    serve__integer(q, q->now > c->seen ? q->now - c->seen : 0);
    return rc;
}

int serve__cmd_xinfo_consumers(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__consumer c;
    struct serve__names i;
    size_t n = 0;
    int rc = serve__stream_read(q, &x, q->argv[2]);
    if (rc == CARET_NONE)
        return SERVE__E_NOKEY;
    if (rc == CARET_OK && (rc = serve__group_open(q, &x, &g, q->argv[3])) == CARET_NONE)
        return serve__fail(q, "NOGROUP No such consumer group '%.*s' for key name '%.*s'",
                           (int)q->argv[3].len, q->argv[3].data, (int)q->argv[2].len, q->argv[2].data);
    size_t place = serve__open(q);
    if (rc == CARET_OK)
        rc = serve__names_begin(&i, &x, &g);
    while (rc == CARET_OK && (rc = serve__consumers_next(q, &g, &i, &c)) == CARET_OK) {
        rc = answer_consumer(q, &c);
        n++;
    }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

/* ----------------------------------------------------------- XINFO STREAM */

/* What both forms begin with. */
static int answer_stream(struct serve__call *q, const struct serve__stream *x)
{
    struct serve__id first = SERVE__ID_MIN;
    caret_slice value;
    int64_t blocks = (int64_t)x->closed + (x->open.added > 0);
    int rc = serve__stream_end(q, x, false, &first, &value);
    serve__text(q, "length");
    serve__integer(q, (int64_t)x->k.count);
    serve__text(q, "radix-tree-keys");
    serve__integer(q, blocks);
    serve__text(q, "radix-tree-nodes");
    serve__integer(q, blocks + 1);
    serve__text(q, "last-generated-id");
    serve__answer_id(q, x->last);
    serve__text(q, "max-deleted-entry-id");
    serve__answer_id(q, x->deleted);
    serve__text(q, "entries-added");
    serve__integer(q, (int64_t)x->added);
    serve__text(q, "recorded-first-entry-id");
    serve__answer_id(q, first);
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int answer_end(struct serve__call *q, const struct serve__stream *x, bool last)
{
    struct serve__id id;
    caret_slice value;
    int rc = serve__stream_end(q, x, last, &id, &value);
    if (rc == CARET_NONE)
        return serve__null(q);
    return rc == CARET_OK ? serve__answer_entry(q, id, value) : rc;
}

static int answer_short(struct serve__call *q, const struct serve__stream *x)
{
    struct serve__names i;
    int64_t groups = 0;
    serve__map(q, 10);
    int rc = answer_stream(q, x);
    if (rc == CARET_OK)
        rc = serve__names_begin(&i, x, NULL);
    if (rc == CARET_OK)
        rc = serve__names_count(q, &i, &groups);
    if (rc != CARET_OK)
        return rc;
    serve__text(q, "groups");
    serve__integer(q, groups);
    serve__text(q, "first-entry");
    rc = answer_end(q, x, false);
    serve__text(q, "last-entry");
    return rc == CARET_OK ? answer_end(q, x, true) : rc;
}

/* ------------------------------------------------------ XINFO STREAM FULL */

static int answer_entries(struct serve__call *q, const struct serve__stream *x, int64_t most)
{
    struct serve__walk i;
    struct serve__id id;
    caret_slice value;
    size_t n = 0;
    serve__text(q, "entries");
    size_t place = serve__open(q);
    int rc = serve__walk_begin(&i, &x->k.node.node, SERVE__ID_MIN, SERVE__ID_MAX, false);
    while (rc == CARET_OK && (most == 0 || n < (size_t)most) &&
           (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        rc = serve__answer_entry(q, id, value);
        n++;
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

/* What is pending of a group, or of one of its consumers (c not NULL): `most` at most. */
static int answer_pending(struct serve__call *q, const struct serve__group *g, struct serve__consumer *c,
                          int64_t most)
{
    struct serve__walk i;
    struct serve__pending p;
    struct serve__id id;
    caret_node_buf base;
    caret_slice value;
    int64_t count = 0;
    size_t n = 0;
    int rc = serve__pending_base(g, &base);
    if (rc == CARET_OK && c != NULL)
        base = c->mine;
    if (rc == CARET_OK)
        rc = serve__pending_count(q, &base.node, &count);
    serve__text(q, "pel-count");
    serve__integer(q, count);
    serve__text(q, "pending");
    size_t place = serve__open(q);
    if (rc == CARET_OK)
        rc = serve__walk_begin(&i, &base.node, SERVE__ID_MIN, SERVE__ID_MAX, false);
    while (rc == CARET_OK && (most == 0 || n < (size_t)most) &&
           (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        caret_slice name = {"", 0};
        serve__pending_read(&p, id, value);
        if (c != NULL)
            rc = serve__pending_open(q, g, &p, id);
        else
            rc = serve__consumer_name(q, g, p.consumer, &name);
        serve__array(q, c != NULL ? 3 : 4);
        serve__answer_id(q, id);
        if (c == NULL)
            serve__bulk(q, name.data, name.len);
        serve__integer(q, p.when);
        serve__integer(q, (int64_t)p.times);
        n++;
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

static int answer_consumers(struct serve__call *q, const struct serve__stream *x,
                            const struct serve__group *g, int64_t most)
{
    struct serve__consumer c;
    struct serve__names i;
    size_t n = 0;
    serve__text(q, "consumers");
    size_t place = serve__open(q);
    int rc = serve__names_begin(&i, x, g);
    while (rc == CARET_OK && (rc = serve__consumers_next(q, g, &i, &c)) == CARET_OK) {
        serve__map(q, 4);
        serve__text(q, "name");
        serve__bulk(q, c.name.data, c.name.len);
        serve__text(q, "seen-time");
        serve__integer(q, c.seen);
        rc = answer_pending(q, g, &c, most);
        n++;
    }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

static int answer_group_full(struct serve__call *q, const struct serve__stream *x,
                             const struct serve__group *g, int64_t most)
{
    serve__map(q, 7);
    serve__text(q, "name");
    serve__bulk(q, g->name.data, g->name.len);
    serve__text(q, "last-delivered-id");
    serve__answer_id(q, g->last);
    serve__text(q, "entries-read");
    answer_read(q, g);
    serve__text(q, "lag");
    int rc = answer_lag(q, x, g);
    if (rc == CARET_OK)
        rc = answer_pending(q, g, NULL, most);
    return rc == CARET_OK ? answer_consumers(q, x, g, most) : rc;
}

static int answer_full(struct serve__call *q, const struct serve__stream *x, int64_t most)
{
    struct serve__group g;
    struct serve__names i;
    size_t n = 0;
    serve__map(q, 9);
    int rc = answer_stream(q, x);
    if (rc == CARET_OK)
        rc = answer_entries(q, x, most);
    serve__text(q, "groups");
    size_t place = serve__open(q);
    if (rc == CARET_OK)
        rc = serve__names_begin(&i, x, NULL);
    while (rc == CARET_OK && (rc = serve__groups_next(q, x, &i, &g)) == CARET_OK) {
        rc = answer_group_full(q, x, &g, most);
        n++;
    }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

int serve__cmd_xinfo_stream(struct serve__call *q)
{
    struct serve__stream x;
    int64_t most = 10;
    int rc = serve__stream_read(q, &x, q->argv[2]);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? SERVE__E_NOKEY : rc;
    if (q->argc == 3)
        return answer_short(q, &x);
    if ((q->argc != 4 && q->argc != 6) || !serve__is(&q->argv[3], "full") ||
        (q->argc == 6 && !serve__is(&q->argv[4], "count")))
        return serve__wrong_subcommand(q);
    if (q->argc == 6)
        rc = serve__arg_integer(q, 5, &most);
    return rc == CARET_OK ? answer_full(q, &x, most < 0 ? 10 : most) : rc;
}

int serve__cmd_xinfo_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CONSUMERS <key> <groupname>",
        "    Show consumers of <groupname>.",
        "GROUPS <key>",
        "    Show the stream consumer groups.",
        "STREAM <key> [FULL [COUNT <count>]",
        "    Show information about the stream.",
        "HELP",
        "    Prints this help.",
        NULL,
    };
    return serve__help(q, lines);
}
