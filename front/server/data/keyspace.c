/*
 * keyspace.c - commands of whole databases: KEYS, SCAN, DBSIZE, RANDOMKEY, FLUSHDB, FLUSHALL, SWAPDB.
 */
#include "server/event.h"
#include "server/keys/cursor.h"
#include "server/keys/expire.h"
#include "server/keys/map.h"
#include "server/worker.h"

int serve__cmd_keys(struct serve__call *q)
{
    struct serve__keys i;
    struct serve__key k;
    const caret_slice *pattern = &q->argv[1];
    bool all = pattern->len == 1 && *pattern->data == '*'; /* the empty name too, which no pattern fits */
    size_t place = serve__open(q), n = 0;
    int rc;
    serve__keys_begin(q, &i, q->db);
    while ((rc = serve__keys_next(q, &i, &k)) == CARET_OK)
        if (all || serve__glob(pattern->data, pattern->len, k.name.data, k.name.len, false)) {
            serve__bulk(q, k.name.data, k.name.len);
            n++;
        }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

/* To ask for its type is a look at the key. */
static bool fits(struct serve__call *q, const struct serve__scan *s, const struct serve__key *k)
{
    if (!serve__scan_fits(s, k->name))
        return false;
    if (s->type != NULL)
        serve__key_looked(q, true);
    return s->type == NULL || serve__is(s->type, serve__type_name(k->type));
}

/* The place of a SCAN: which of both kinds of keys it came to, and the subscript or name. */
static uint64_t stop(struct serve__call *q, const struct serve__keys *i)
{
    char place[SERVE__SUBSCRIPT_MAX + 1];
    place[0] = i->map >= 0;
    memcpy(place + 1, i->subscript, i->subscript_len);
    return serve__cursor_new(q, (caret_slice){place, i->subscript_len + 1});
}

static int go_on(struct serve__call *q, struct serve__keys *i, const struct serve__scan *s)
{
    if (s->len == 0) /* the place of another command */
        return serve__fail(q, "ERR invalid cursor");
    return serve__keys_after(q, i, q->db, s->place[0] != 0, (caret_slice){s->place + 1, s->len - 1});
}

int serve__cmd_scan(struct serve__call *q)
{
    struct serve__scan s;
    struct serve__keys i;
    struct serve__key k;
    int rc = serve__scan_cursor(q, 1, &s);
    if (rc == CARET_OK)
        rc = serve__scan_options(q, 2, true, &s);
    if (rc == CARET_OK)
        rc = serve__scan_place(q, &s);
    if (rc != CARET_OK)
        return rc;
    if (s.cursor == 0)
        serve__keys_begin(q, &i, q->db);
    else
        rc = go_on(q, &i, &s);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__found_begin(q);
    for (int64_t seen = 0; rc == CARET_OK && seen < s.count && (rc = serve__keys_next(q, &i, &k)) == CARET_OK;
         seen++)
        if (fits(q, &s, &k))
            serve__found_add(q, k.name);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return serve__found_answer(q, rc == CARET_OK ? stop(q, &i) : 0);
}

int serve__cmd_dbsize(struct serve__call *q)
{
    struct serve__keys_count n;
    int rc = serve__count_keys(q, q->db, &n);
    return rc == CARET_OK ? serve__integer(q, (int64_t)n.all) : rc;
}

/* With chance 1/2, or if there is no other key. */
static int random_mapped(struct serve__call *q, struct serve__key *k, char text[SERVE__SUBSCRIPT_MAX])
{
    size_t len;
    int rc = serve__map_random(q, text, &len);
    return rc == CARET_OK ? serve__key_open(q, k, (caret_slice){text, len}, SERVE__ANY) : rc;
}

static int random_plain(struct serve__call *q, struct serve__key *k, char text[SERVE__SUBSCRIPT_MAX])
{
    caret_node_buf n = q->r->base[q->db];
    size_t len;
    int rc = caret_any_child(q->s, &n.node, serve__random(q->r));
    if (rc == CARET_OK)
        rc = caret_node_subscript(&n.node, 0, text, SERVE__SUBSCRIPT_MAX, &len, NULL);
    return rc == CARET_OK ? serve__key_of_subscript(q, k, (caret_slice){text, len}) : rc;
}

int serve__cmd_randomkey(struct serve__call *q)
{
    enum { TRIES = 100 };
    for (int tries = 0; tries < TRIES; tries++) {
        char text[SERVE__SUBSCRIPT_MAX];
        struct serve__key k;
        bool mapped = serve__maps > 0 && q->db == 0 && serve__random(q->r) % 2 == 0;
        int rc = mapped ? random_mapped(q, &k, text) : random_plain(q, &k, text);
        if (rc == CARET_NONE && serve__maps > 0 && q->db == 0)
            rc = mapped ? random_plain(q, &k, text) : random_mapped(q, &k, text);
        if (rc == CARET_OK && !(k.expiry != 0 && k.expiry <= q->now))
            return serve__bulk(q, k.name.data, k.name.len);
        if (rc != CARET_OK)
            return rc;
    }
    return serve__null(q);
}

/* ----------------------------------------------------------------- flush */

/* SYNC and ASYNC are the same here: a kill takes no longer for much. */
static int flush_flag(struct serve__call *q)
{
    if (q->argc > 2 || (q->argc == 2 && !serve__is(&q->argv[1], "sync") && !serve__is(&q->argv[1], "async")))
        return SERVE__E_SYNTAX;
    return CARET_OK;
}

/* All keys of a database. */
static int flush(struct serve__call *q, unsigned db)
{
    caret_node_buf n;
    int rc = caret_kill(q->s, &q->r->base[db].node);
    for (int i = 0; rc == CARET_OK && db == 0 && i < serve__maps; i++) {
        serve__map_base(i, &n);
        rc = caret_kill(q->s, &n.node);
    }
    return rc;
}

int serve__cmd_flushdb(struct serve__call *q)
{
    int rc = flush_flag(q);
    if (rc == CARET_OK)
        rc = flush(q, q->db);
    if (rc != CARET_OK)
        return rc;
    serve__flushed(q, (int)q->db);
    return serve__ok(q);
}

int serve__cmd_flushall(struct serve__call *q)
{
    int rc = flush_flag(q);
    for (unsigned i = 0; rc == CARET_OK && i < SERVE__DATABASES; i++)
        rc = flush(q, i);
    if (rc == CARET_OK)
        rc = caret_kill(q->s, &q->r->expiry.node);
    if (rc != CARET_OK)
        return rc;
    serve__flushed(q, -1);
    if (*q->w->config.text[SERVE__CFG_save] != 0)
        q->r->dirty = 0; /* what was changed before counts as saved: event.c */
    return serve__ok(q);
}

static int read_two(struct serve__call *q, int64_t *a, int64_t *b)
{
    if (!serve__read_integer(&q->argv[1], a) || *a != (int32_t)*a)
        return serve__fail(q, "ERR invalid first DB index");
    if (!serve__read_integer(&q->argv[2], b) || *b != (int32_t)*b)
        return serve__fail(q, "ERR invalid second DB index");
    int64_t n = q->w->config.n[SERVE__CFG_databases];
    return *a < 0 || *a >= n || *b < 0 || *b >= n ? SERVE__E_DBINDEX : CARET_OK;
}

/* Entries of the expiry index for all keys of a database. */
static int index_again(struct serve__call *q, unsigned db)
{
    struct serve__keys i;
    struct serve__key k;
    int rc;
    serve__keys_begin(q, &i, db);
    while ((rc = serve__keys_next(q, &i, &k)) == CARET_OK) {
        k.node = i.node;
        k.db = db;
        if (k.expiry != 0 && (rc = serve__expiry_add(q, &k)) != CARET_OK)
            return rc;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The keys of both databases change places, by a third variable; and the index of times is told. */
int serve__cmd_swapdb(struct serve__call *q)
{
    int64_t a, b;
    caret_node_buf spare;
    int rc = read_two(q, &a, &b);
    if (rc != CARET_OK || a == b)
        return rc == CARET_OK ? serve__ok(q) : rc;
    caret_node *one = &q->r->base[a].node, *two = &q->r->base[b].node;
    rc =
        serve__expire_due(q); /* what is gone already must not appear in the other, where it may be watched */
    if (rc == CARET_OK)
        rc = caret_node_var(&spare.node, sizeof spare, "^redisT", 7);
    if (rc == CARET_OK)
        rc = caret_move(q->s, &spare.node, one);
    if (rc == CARET_OK)
        rc = caret_move(q->s, one, two);
    if (rc == CARET_OK)
        rc = caret_move(q->s, two, &spare.node);
    if (rc == CARET_OK)
        rc = index_again(q, (unsigned)a);
    if (rc == CARET_OK)
        rc = index_again(q, (unsigned)b);
    if (rc != CARET_OK)
        return rc;
    serve__flushed(q, (int)a);
    serve__flushed(q, (int)b);
    return serve__ok(q);
}
