/*
 * select.c - ZRANGE and all its older forms, and ZRANGESTORE.
 */
#include "server/zset/zset.h"

struct request {
    struct serve__zrange range;
    bool scores;
    bool fixed; /* the name of the command says kind and direction */
    int at;     /* argument of the key */
};

static int read_limit(struct serve__call *q, int i, struct serve__zrange *r)
{
    if (i + 2 >= q->argc)
        return SERVE__E_SYNTAX;
    int rc = serve__arg_integer(q, i + 1, &r->offset);
    return rc == CARET_OK ? serve__arg_integer(q, i + 2, &r->limit) : rc;
}

static int read_options(struct serve__call *q, struct request *o, bool store)
{
    struct serve__zrange *r = &o->range;
    bool kind = o->fixed, direction = o->fixed; /* they are said */
    int rc = CARET_OK;
    for (int i = o->at + 3; rc == CARET_OK && i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        if (!store && serve__is(word, "withscores")) {
            o->scores = true;
        } else if (serve__is(word, "limit") && i + 2 < q->argc) {
            rc = read_limit(q, i, r);
            i += 2;
        } else if (!kind && (serve__is(word, "byscore") || serve__is(word, "bylex"))) {
            r->by = word->len == 5 ? SERVE__ZBY_LEX : SERVE__ZBY_SCORE;
            kind = true;
        } else if (!direction && serve__is(word, "rev")) {
            r->reverse = direction = true;
        } else {
            return SERVE__E_SYNTAX;
        }
    }
    return rc;
}

static int read_request(struct serve__call *q, struct request *o, bool store)
{
    struct serve__zrange *r = &o->range;
    int rc = read_options(q, o, store);
    if (rc != CARET_OK)
        return rc;
    if (r->limit != -1 && r->by == SERVE__ZBY_RANK)
        return serve__fail(
            q, "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    if (o->scores && r->by == SERVE__ZBY_LEX)
        return serve__fail(q, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    return serve__zrange_read(q, o->at + 1, r);
}

static int answer(struct serve__call *q, struct request *o)
{
    struct serve__key k;
    struct serve__zwalk w;
    int rc = read_request(q, o, false);
    if (rc == CARET_OK)
        rc = serve__key_read(q, &k, q->argv[o->at], SERVE__ZSET);
    if (rc == CARET_OK)
        rc = serve__zrange_first(q, &k, &o->range, &w);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? serve__array(q, 0) : rc;
    size_t place = serve__open(q), n = 0;
    for (; rc == CARET_OK; rc = serve__zrange_next(q, &o->range, &w)) {
        n += 1u + (o->scores && !serve__zpairs(q));
        if (o->scores)
            serve__zpair(q, w.member, w.score);
        else
            serve__bulk(q, w.member.data, w.member.len);
    }
    return rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

static int answer_fixed(struct serve__call *q, enum serve__zby by, bool reverse)
{
    struct request o = {.range = {.by = by, .reverse = reverse, .limit = -1}, .fixed = true, .at = 1};
    return answer(q, &o);
}

int serve__cmd_zrange(struct serve__call *q)
{
    struct request o = {.range = {.by = SERVE__ZBY_RANK, .limit = -1}, .at = 1};
    return answer(q, &o);
}

int serve__cmd_zrevrange(struct serve__call *q)
{
    return answer_fixed(q, SERVE__ZBY_RANK, true);
}

int serve__cmd_zrangebyscore(struct serve__call *q)
{
    return answer_fixed(q, SERVE__ZBY_SCORE, false);
}

int serve__cmd_zrevrangebyscore(struct serve__call *q)
{
    return answer_fixed(q, SERVE__ZBY_SCORE, true);
}

int serve__cmd_zrangebylex(struct serve__call *q)
{
    return answer_fixed(q, SERVE__ZBY_LEX, false);
}

int serve__cmd_zrevrangebylex(struct serve__call *q)
{
    return answer_fixed(q, SERVE__ZBY_LEX, true);
}

int serve__cmd_zrangestore(struct serve__call *q)
{
    struct request o = {.range = {.by = SERVE__ZBY_RANK, .limit = -1}, .at = 2};
    struct serve__key k;
    struct serve__zwalk w;
    struct serve__zbag b;
    serve__zbag_begin(q, &b);
    int rc = read_request(q, &o, true);
    if (rc == CARET_OK)
        rc = serve__key_read(q, &k, q->argv[2], SERVE__ZSET);
    if (rc == CARET_OK)
        rc = serve__zrange_first(q, &k, &o.range, &w);
    for (; rc == CARET_OK; rc = serve__zrange_next(q, &o.range, &w))
        if ((rc = serve__zbag_add(q, &b, w.member, w.score)) != CARET_OK)
            break;
    if (rc == CARET_NONE) /* one after the other: only ranks tell how many there will be */
        rc = serve__zbag_store(q, &b, o.range.by == SERVE__ZBY_RANK ? b.n : 0, 0, q->argv[1], "zrangestore");
    serve__zbag_free(&b);
    return rc;
}
