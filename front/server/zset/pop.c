/*
 * pop.c - ZPOPMIN, ZPOPMAX and ZMPOP; and BZPOPMIN, BZPOPMAX and BZMPOP, which wait (meet/blocked.h).
 */
#include "server/meet/blocked.h"
#include "server/zset/zset.h"

/* Up to n members from an end of a key, into a bag. */
static int take(struct serve__call *q, struct serve__key *k, bool max, uint64_t n, struct serve__zbag *b)
{
    uint64_t some = n < k->count ? n : k->count;
    struct serve__zrange r = {.by = SERVE__ZBY_RANK, .reverse = max, .stop = (int64_t)some - 1};
    int rc = serve__zset_take(q, k, &r, b);
    return rc == CARET_OK ? serve__zset_removed(q, k, max ? "zpopmax" : "zpopmin", (int64_t)b->n) : rc;
}

static void answer_item(struct serve__call *q, const struct serve__zitem *item)
{
    caret_slice member = serve__zbag_member(q, item);
    serve__bulk(q, member.data, member.len);
    serve__real(q, item->score);
}

/* Take them and answer them: in arrays of two, if `pairs`. */
static int pop(struct serve__call *q, struct serve__key *k, bool max, uint64_t n, bool pairs)
{
    struct serve__zbag b;
    serve__zbag_begin(q, &b);
    int rc = take(q, k, max, n, &b);
    if (rc == CARET_OK)
        serve__array(q, pairs ? b.n : 2 * b.n);
    for (size_t i = 0; rc == CARET_OK && i < b.n; i++) {
        if (pairs)
            serve__array(q, 2);
        answer_item(q, &b.item[i]);
    }
    serve__zbag_free(&b);
    return rc;
}

static int pop_one_key(struct serve__call *q, bool max)
{
    struct serve__key k;
    int64_t n = 1;
    if (q->argc > 3)
        return SERVE__E_SYNTAX;
    if (q->argc == 3 && (!serve__read_integer(&q->argv[2], &n) || n < 0))
        return serve__fail(q, "ERR value is out of range, must be positive");
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__ZSET);
    if (rc != CARET_OK)
        return rc;
    return k.exists && n > 0 ? pop(q, &k, max, (uint64_t)n, q->argc == 3 && serve__zpairs(q))
                             : serve__array(q, 0);
}

int serve__cmd_zpopmin(struct serve__call *q)
{
    return pop_one_key(q, false);
}

int serve__cmd_zpopmax(struct serve__call *q)
{
    return pop_one_key(q, true);
}

/* ---------------------------------------------------------------- waiting */

/* One member of this key, with its name.  CARET_NONE: there is none. */
static int pop_with_name(struct serve__call *q, caret_slice name, bool max)
{
    struct serve__key k;
    struct serve__zbag b;
    int rc = serve__key_change(q, &k, name, SERVE__ZSET);
    if (rc == CARET_OK && !k.exists)
        return CARET_NONE;
    if (rc != CARET_OK)
        return rc;
    serve__zbag_begin(q, &b);
    rc = take(q, &k, max, 1, &b);
    if (rc == CARET_OK) {
        serve__array(q, 3);
        serve__bulk(q, name.data, name.len);
        answer_item(q, &b.item[0]);
    }
    serve__zbag_free(&b);
    return rc;
}

static int wait_and_pop(struct serve__call *q, bool max)
{
    int64_t until;
    int rc = serve__block_until(q, q->argc - 1, &until);
    for (int i = 1; rc == CARET_OK && i < q->argc - 1; i++) {
        if (!serve__block_wants(q, q->argv[i]))
            continue;
        rc = serve__block_result(q, pop_with_name(q, q->argv[i], max));
        if (rc != CARET_NONE)
            return rc;
        rc = CARET_OK;
    }
    return rc == CARET_OK ? serve__block(q, 1, q->argc - 2, until) : rc;
}

int serve__cmd_bzpopmin(struct serve__call *q)
{
    return wait_and_pop(q, false);
}

int serve__cmd_bzpopmax(struct serve__call *q)
{
    return wait_and_pop(q, true);
}

/* ------------------------------------------------------------------ ZMPOP */

struct mpop {
    int first, n; /* arguments that are keys */
    bool max;
    int64_t count;
};

/* From the number of keys, argument i, on. */
static int read_mpop(struct serve__call *q, int i, struct mpop *o)
{
    int64_t n;
    if (!serve__read_integer(&q->argv[i], &n) || n < 1)
        return serve__fail(q, "ERR numkeys should be greater than 0");
    if (n > q->argc - i - 2)
        return SERVE__E_SYNTAX;
    *o = (struct mpop){.first = i + 1, .n = (int)n, .count = -1};
    i += (int)n + 1;
    o->max = serve__is(&q->argv[i], "max");
    if (!o->max && !serve__is(&q->argv[i], "min"))
        return SERVE__E_SYNTAX;
    for (i++; i < q->argc; i += 2) {
        if (o->count > 0 || i + 1 == q->argc || !serve__is(&q->argv[i], "count"))
            return SERVE__E_SYNTAX;
        if (!serve__read_integer(&q->argv[i + 1], &o->count) || o->count < 1)
            return serve__fail(q, "ERR count should be greater than 0");
    }
    o->count = o->count < 0 ? 1 : o->count;
    return CARET_OK;
}

/* The first of the keys that is there.  CARET_NONE: none is. */
static int pop_first(struct serve__call *q, const struct mpop *o)
{
    for (int i = o->first; i < o->first + o->n; i++) {
        struct serve__key k;
        if (!serve__block_wants(q, q->argv[i]))
            continue;
        int rc = serve__block_result(q, serve__key_change(q, &k, q->argv[i], SERVE__ZSET));
        if (rc == CARET_NONE || (rc == CARET_OK && !k.exists))
            continue;
        if (rc != CARET_OK)
            return rc;
        serve__array(q, 2);
        serve__bulk(q, k.name.data, k.name.len);
        return pop(q, &k, o->max, (uint64_t)o->count, true);
    }
    return CARET_NONE;
}

int serve__cmd_zmpop(struct serve__call *q)
{
    struct mpop o;
    int rc = read_mpop(q, 1, &o);
    if (rc == CARET_OK)
        rc = pop_first(q, &o);
    return rc == CARET_NONE ? serve__null_array(q) : rc;
}

int serve__cmd_bzmpop(struct serve__call *q)
{
    struct mpop o;
    int64_t until;
    int rc = read_mpop(q, 2, &o);
    if (rc == CARET_OK)
        rc = serve__block_until(q, 1, &until);
    if (rc == CARET_OK)
        rc = pop_first(q, &o);
    return rc == CARET_NONE ? serve__block(q, o.first, o.n, until) : rc;
}
