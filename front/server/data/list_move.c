/*
 * list_move.c - commands that take from one list or another, and those that wait for one: LMOVE, LMPOP, BLPOP.
 */
#include "server/data/list.h"
#include "server/meet/blocked.h"

/* ------------------------------------------------------------------ LMOVE */

struct move {
    caret_slice from, to;
    enum serve__end take, give; /* ends */
};

static int tell_push(struct serve__call *q, const struct move *m, const struct serve__list *to)
{
    serve__changed(q, SERVE__EVENT_LIST, m->give == SERVE__LEFT ? "lpush" : "rpush", to->k.name);
    serve__ready(q, to->k.name);
    q->r->dirty--; /* a move is one change */
    return CARET_OK;
}

/* From one end of a list to the other; nothing moves if both are the same end. */
static int rotate(struct serve__call *q, const struct move *m, struct serve__list *l, caret_slice value)
{
    int rc = m->take == m->give ? CARET_OK : serve__list_push(q, l, m->give, value);
    if (rc == CARET_OK)
        rc = tell_push(q, m, l);
    if (rc == CARET_OK && m->take != m->give)
        rc = serve__list_drop(q, l, m->take, 1);
    serve__changed(q, SERVE__EVENT_LIST, m->take == SERVE__LEFT ? "lpop" : "rpop", l->k.name);
    return rc == CARET_OK ? serve__list_save(q, l) : rc;
}

/* Move an element, and answer it.  CARET_NONE: there is none. */
static int move(struct serve__call *q, const struct move *m)
{
    struct serve__list from, to;
    caret_slice value;
    bool same = m->from.len == m->to.len && memcmp(m->from.data, m->to.data, m->to.len) == 0;
    int rc = serve__list_change(q, &from, m->from);
    if (rc == CARET_OK && !from.k.exists)
        return CARET_NONE;
    if (rc == CARET_OK && !same)
        rc = serve__list_change(q, &to, m->to);
    if (rc == CARET_OK)
        rc = serve__list_get(q, &from, m->take == SERVE__LEFT ? 0 : serve__list_len(&from) - 1, &value);
    if (rc == CARET_OK)
        rc = caret_keep(q->s, &value);
    if (rc != CARET_OK)
        return rc;
    serve__bulk(q, value.data, value.len);
    if (same)
        return rotate(q, m, &from, value);
    rc = serve__list_push(q, &to, m->give, value);
    if (rc == CARET_OK)
        rc = serve__list_save(q, &to);
    if (rc == CARET_OK)
        rc = tell_push(q, m, &to);
    if (rc == CARET_OK)
        rc = serve__list_drop(q, &from, m->take, 1);
    serve__changed(q, SERVE__EVENT_LIST, m->take == SERVE__LEFT ? "lpop" : "rpop", from.k.name);
    return rc == CARET_OK ? serve__list_save(q, &from) : rc;
}

/* The arguments of LMOVE and BLMOVE. */
static int read_move(struct serve__call *q, struct move *m)
{
    *m = (struct move){.from = q->argv[1], .to = q->argv[2]};
    int rc = serve__list_end(q, 3, &m->take);
    return rc == CARET_OK ? serve__list_end(q, 4, &m->give) : rc;
}

int serve__cmd_lmove(struct serve__call *q)
{
    struct move m;
    int rc = read_move(q, &m);
    if (rc == CARET_OK)
        rc = move(q, &m);
    return rc == CARET_NONE ? serve__null(q) : rc;
}

int serve__cmd_rpoplpush(struct serve__call *q)
{
    struct move m = {q->argv[1], q->argv[2], SERVE__RIGHT, SERVE__LEFT};
    int rc = move(q, &m);
    return rc == CARET_NONE ? serve__null(q) : rc;
}

/* ------------------------------------------------------------------ LMPOP */

struct lmpop {
    int first, nkeys; /* arguments */
    enum serve__end end;
    int64_t count;
};

/* The arguments from the number of keys on. */
static int read_lmpop(struct serve__call *q, int at, struct lmpop *o)
{
    int64_t nkeys;
    *o = (struct lmpop){.first = at + 1, .count = -1};
    if (!serve__read_integer(&q->argv[at], &nkeys) || nkeys <= 0)
        return serve__fail(q, "ERR numkeys should be greater than 0");
    if (nkeys >= q->argc - at - 1)
        return SERVE__E_SYNTAX;
    o->nkeys = (int)nkeys;
    at += 1 + o->nkeys;
    int rc = serve__list_end(q, at, &o->end);
    for (at++; rc == CARET_OK && at < q->argc; at += 2) {
        if (o->count >= 0 || at + 1 >= q->argc || !serve__is(&q->argv[at], "count"))
            return SERVE__E_SYNTAX;
        if (!serve__read_integer(&q->argv[at + 1], &o->count) || o->count <= 0)
            return serve__fail(q, "ERR count should be greater than 0");
    }
    o->count = o->count < 0 ? 1 : o->count;
    return rc;
}

/* Pop from a list, and answer with its name.  CARET_NONE: there is none. */
static int pop_with_name(struct serve__call *q, caret_slice name, const struct lmpop *o)
{
    struct serve__list l;
    int rc = serve__list_change(q, &l, name);
    if (rc != CARET_OK || !l.k.exists)
        return rc == CARET_OK ? CARET_NONE : rc;
    serve__array(q, 2);
    serve__bulk(q, name.data, name.len);
    return serve__list_pop(q, &l, o->end, o->count);
}

int serve__cmd_lmpop(struct serve__call *q)
{
    struct lmpop o;
    int rc = read_lmpop(q, 1, &o);
    if (rc != CARET_OK)
        return rc;
    rc = CARET_NONE;
    for (int i = 0; rc == CARET_NONE && i < o.nkeys; i++)
        rc = pop_with_name(q, q->argv[o.first + i], &o);
    return rc == CARET_NONE ? serve__null_array(q) : rc;
}

/* ---------------------------------------------------------------- waiting */

/* One element from the first of the keys 1 ... argc - 2 that has one, with its name. */
static int wait_and_pop(struct serve__call *q, enum serve__end end)
{
    int64_t until;
    int rc = serve__block_until(q, q->argc - 1, &until);
    for (int i = 1; rc == CARET_OK && i < q->argc - 1; i++) {
        struct serve__list l;
        if (!serve__block_wants(q, q->argv[i]))
            continue;
        if ((rc = serve__list_change(q, &l, q->argv[i])) != CARET_OK)
            return serve__block_result(q, rc);
        if (!l.k.exists)
            continue;
        serve__array(q, 2);
        serve__bulk(q, q->argv[i].data, q->argv[i].len);
        return serve__list_pop_one(q, &l, end);
    }
    return rc == CARET_OK ? serve__block(q, 1, q->argc - 2, until) : rc;
}

int serve__cmd_blpop(struct serve__call *q)
{
    return wait_and_pop(q, SERVE__LEFT);
}

int serve__cmd_brpop(struct serve__call *q)
{
    return wait_and_pop(q, SERVE__RIGHT);
}

/* A source of another type is not for one that waits; a target is an error for it too. */
static int wait_and_move(struct serve__call *q, const struct move *m, int timeout)
{
    struct serve__list from;
    int64_t until;
    int rc = serve__block_until(q, timeout, &until);
    if (rc == CARET_OK && q->ready != NULL)
        rc = serve__block_result(q, serve__list_open(q, &from, m->from));
    if (rc == CARET_OK)
        rc = move(q, m);
    if (rc != CARET_NONE)
        return rc;
    return serve__block_allowed(q) ? serve__block(q, 1, 1, until) : serve__null(q);
}

int serve__cmd_blmove(struct serve__call *q)
{
    struct move m;
    int rc = read_move(q, &m);
    return rc == CARET_OK ? wait_and_move(q, &m, 5) : rc;
}

int serve__cmd_brpoplpush(struct serve__call *q)
{
    struct move m = {q->argv[1], q->argv[2], SERVE__RIGHT, SERVE__LEFT};
    return wait_and_move(q, &m, 3);
}

int serve__cmd_blmpop(struct serve__call *q)
{
    struct lmpop o;
    int64_t until;
    int rc = read_lmpop(q, 2, &o);
    if (rc == CARET_OK)
        rc = serve__block_until(q, 1, &until);
    for (int i = rc == CARET_OK ? o.first : 0; rc == CARET_OK && i < o.first + o.nkeys; i++) {
        if (!serve__block_wants(q, q->argv[i]))
            continue;
        rc = serve__block_result(q, pop_with_name(q, q->argv[i], &o));
        if (rc != CARET_NONE)
            return rc;
        rc = CARET_OK;
    }
    return rc == CARET_OK ? serve__block(q, o.first, o.nkeys, until) : rc;
}
