/*
 * add.c - ZADD and ZINCRBY.
 */
#include <math.h>

#include "server/event.h"
#include "server/zset/zset.h"

enum { NX = 1, XX = 2, GT = 4, LT = 8, CH = 16, INCR = 32 };

static int flag_of(const caret_slice *word)
{
    static const struct {
        const char *word;
        int flag;
    } words[] = {{"nx", NX}, {"xx", XX}, {"gt", GT}, {"lt", LT}, {"ch", CH}, {"incr", INCR}};
    if (word->len < 2 || word->len > 4)
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (serve__is(word, words[i].word))
            return words[i].flag;
    return 0;
}

static int check_flags(struct serve__call *q, int flags, int args)
{
    if (args == 0 || args % 2 != 0)
        return SERVE__E_SYNTAX;
    if ((flags & NX) && (flags & XX))
        return serve__fail(q, "ERR XX and NX options at the same time are not compatible");
    if (((flags & GT) && (flags & (LT | NX))) || ((flags & LT) && (flags & NX)))
        return serve__fail(q, "ERR GT, LT, and/or NX options at the same time are not compatible");
    if ((flags & INCR) && args > 2)
        return serve__fail(q, "ERR INCR option supports a single increment-element pair");
    return CARET_OK;
}

struct outcome {
    int64_t added, updated;
    bool refused; /* by NX, XX, GT or LT */
    double score; /* of the last */
};

/* One member. */
static int add_one(struct serve__call *q, struct serve__key *k, int flags, double score, caret_slice name,
                   struct outcome *o)
{
    struct serve__zmember m;
    int rc = serve__zmember_find(q, k, &m, name);
    if (rc != CARET_OK)
        return rc;
    if ((flags & INCR) && m.there && !(flags & NX))
        score += m.score;
    if (isnan(score))
        return serve__fail(q, "ERR resulting score is not a number (NaN)");
    o->refused =
        m.there ? (flags & NX) || ((flags & GT) && score <= m.score) || ((flags & LT) && score >= m.score)
                : (flags & XX) != 0;
    if (o->refused)
        return CARET_OK;
    o->score = score;
    o->added += !m.there;
    o->updated += m.there && m.score != score;
    return serve__zmember_put(q, k, &m, score);
}

/* Scores and members from argument `from` on, of which the first score was read. */
static int add_all(struct serve__call *q, int flags, int from, double score, struct outcome *o)
{
    struct serve__key k;
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__ZSET);
    size_t state_len = k.state_len;
    for (int i = from; rc == CARET_OK && i < q->argc; i += 2) {
        if (i > from)
            rc = serve__zscore_arg(q, i, &score);
        if (rc == CARET_OK)
            rc = add_one(q, &k, flags, score, q->argv[i + 1], o);
    }
    if (rc == CARET_OK && (o->added > 0 || k.state_len != state_len))
        rc = serve__key_save(q, &k);
    if (rc != CARET_OK || o->added + o->updated == 0)
        return rc;
    serve__changed(q, SERVE__EVENT_ZSET, flags & INCR ? "zincr" : "zadd", k.name);
    q->r->dirty += (uint64_t)(o->added + o->updated - 1);
    if (o->added > 0)
        serve__ready(q, k.name);
    return CARET_OK;
}

static int add(struct serve__call *q, int flags, int from)
{
    struct outcome o = {0};
    double first = 0, score;
    int rc = check_flags(q, flags, q->argc - from);
    /* All of them, before the type of the key is looked at. */
    for (int i = from; rc == CARET_OK && i < q->argc; i += 2)
        rc = serve__zscore_arg(q, i, i == from ? &first : &score);
    if (rc == CARET_OK)
        rc = add_all(q, flags, from, first, &o);
    if (rc != CARET_OK)
        return rc;
    if (flags & INCR)
        return o.refused ? serve__null(q) : serve__real(q, o.score);
    return serve__integer(q, flags & CH ? o.added + o.updated : o.added);
}

int serve__cmd_zadd(struct serve__call *q)
{
    int flags = 0, flag, i = 2;
    for (; i < q->argc && (flag = flag_of(&q->argv[i])) != 0; i++)
        flags |= flag;
    return add(q, flags, i);
}

int serve__cmd_zincrby(struct serve__call *q)
{
    return add(q, INCR, 2);
}
