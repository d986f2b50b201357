/*
 * keyspace.c - commands of whole databases: KEYS, SCAN, DBSIZE, RANDOMKEY, FLUSHDB, FLUSHALL, SWAPDB.
 */
#include "server/event.h"
#include "server/keys/cursor.h"
#include "server/keys/expire.h"
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

static bool fits(const struct serve__scan *s, const struct serve__key *k)
{
    return serve__scan_fits(s, k->name) && (s->type == NULL || serve__is(s->type, serve__type_name(k->type)));
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
    else if ((rc = serve__keys_after(q, &i, q->db, (caret_slice){s.place, s.len})) != CARET_OK)
        return rc;
    serve__found_begin(q);
    for (int64_t seen = 0; seen < s.count && (rc = serve__keys_next(q, &i, &k)) == CARET_OK; seen++)
        if (fits(&s, &k))
            serve__found_add(q, k.name);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    caret_slice place = {i.subscript, i.subscript_len};
    return serve__found_answer(q, rc == CARET_OK ? serve__cursor_new(q, place) : 0);
}

int serve__count_keys(struct serve__call *q, unsigned db, uint64_t *keys, uint64_t *expires)
{
    struct serve__keys i;
    struct serve__key k;
    int rc;
    *keys = *expires = 0;
    serve__keys_begin(q, &i, db);
    while ((rc = serve__keys_next(q, &i, &k)) == CARET_OK) {
        ++*keys;
        *expires += k.expiry != 0;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

int serve__cmd_dbsize(struct serve__call *q)
{
    uint64_t keys, expires;
    int rc = serve__count_keys(q, q->db, &keys, &expires);
    return rc == CARET_OK ? serve__integer(q, (int64_t)keys) : rc;
}

int serve__cmd_randomkey(struct serve__call *q)
{
    enum { TRIES = 100 };
    for (int tries = 0; tries < TRIES; tries++) {
        caret_node_buf n = q->r->base[q->db];
        char subscript[SERVE__SUBSCRIPT_MAX];
        size_t len;
        struct serve__key k;
        int rc = caret_random_child(q->s, &n.node, serve__random(q->r));
        if (rc == CARET_OK)
            rc = caret_node_subscript(&n.node, 0, subscript, sizeof subscript, &len, NULL);
        if (rc == CARET_OK)
            rc = serve__key_of_subscript(q, &k, (caret_slice){subscript, len});
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

int serve__cmd_flushdb(struct serve__call *q)
{
    int rc = flush_flag(q);
    if (rc == CARET_OK)
        rc = caret_kill(q->s, &q->r->base[q->db].node);
    if (rc != CARET_OK)
        return rc;
    serve__flushed(q, (int)q->db);
    return serve__ok(q);
}

int serve__cmd_flushall(struct serve__call *q)
{
    int rc = flush_flag(q);
    for (unsigned i = 0; rc == CARET_OK && i < SERVE__DATABASES; i++)
        rc = caret_kill(q->s, &q->r->base[i].node);
    if (rc == CARET_OK)
        rc = caret_kill(q->s, &q->r->expiry.node);
    if (rc != CARET_OK)
        return rc;
    serve__flushed(q, -1);
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
