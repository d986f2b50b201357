/*
 * add.c - ZADD and ZINCRBY.
 */
#include <math.h>

#include "server/data/row.h"
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

/* What a command asks for: scores and members from argument `from` on. */
struct wish {
    int flags, from;
    double first; /* score */
};

static int read_wish(struct serve__call *q, struct wish *w)
{
    double score;
    int rc = check_flags(q, w->flags, q->argc - w->from);
    /* All of them, before the type of the key is looked at. */
    for (int i = w->from; rc == CARET_OK && i < q->argc; i += 2)
        rc = serve__zscore_arg(q, i, i == w->from ? &w->first : &score);
    return rc;
}

static int add_all(struct serve__call *q, struct serve__key *k, const struct wish *w, struct outcome *o)
{
    double score = w->first;
    int rc = CARET_OK;
    for (int i = w->from; rc == CARET_OK && i < q->argc; i += 2) {
        if (i > w->from)
            rc = serve__zscore_arg(q, i, &score);
        if (rc == CARET_OK)
            rc = add_one(q, k, w->flags, score, q->argv[i + 1], o);
    }
    return rc;
}

static void tell(struct serve__call *q, const struct serve__key *k, int flags, const struct outcome *o)
{
    if (o->added + o->updated == 0)
        return;
    serve__changed(q, SERVE__EVENT_ZSET, flags & INCR ? "zincr" : "zadd", k->name);
    q->r->dirty += (uint64_t)(o->added + o->updated - 1);
    if (o->added > 0)
        serve__ready(q, k->name);
}

static int answer(struct serve__call *q, int flags, const struct outcome *o)
{
    if (flags & INCR)
        return o->refused ? serve__null(q) : serve__real(q, o->score);
    return serve__integer(q, flags & CH ? o->added + o->updated : o->added);
}

static int add(struct serve__call *q, struct wish w)
{
    struct serve__key k;
    struct outcome o = {0};
    int rc = read_wish(q, &w);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__ZSET);
    if (rc != CARET_OK)
        return rc;
    size_t state_len = k.state_len;
    rc = add_all(q, &k, &w, &o);
    if (rc == CARET_OK && (o.added > 0 || k.state_len != state_len))
        rc = serve__key_save(q, &k);
    if (rc != CARET_OK)
        return rc;
    tell(q, &k, w.flags, &o);
    return answer(q, w.flags, &o);
}

int serve__cmd_zadd(struct serve__call *q)
{
    struct wish w = {.from = 2};
    for (int flag; w.from < q->argc && (flag = flag_of(&q->argv[w.from])) != 0; w.from++)
        w.flags |= flag;
    return add(q, w);
}

int serve__cmd_zincrby(struct serve__call *q)
{
    return add(q, (struct wish){.flags = INCR, .from = 2});
}

/* One command of a row, which q is: of one member, without options. */
static int add_next(struct serve__call *q, struct serve__key *k)
{
    struct outcome o = {0};
    struct wish w = {.from = 2};
    int rc = read_wish(q, &w);
    if (rc == CARET_OK)
        rc = add_all(q, k, &w, &o);
    if (rc == CARET_OK && !k->exists && o.added > 0) /* that it is new is told first */
        rc = serve__key_save(q, k);
    if (rc != CARET_OK)
        return rc;
    tell(q, k, w.flags, &o);
    return answer(q, w.flags, &o);
}

int serve__zset_row(struct serve__call *q)
{
    struct serve__row_of *row = (struct serve__row_of *)q;
    struct serve__key k;
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__ZSET);
    uint64_t count = k.count;
    size_t state_len = k.state_len;
    for (unsigned i = 0; rc == CARET_OK && i < row->n; i++) {
        q->argv = row->argv[i];
        q->argc = row->argc[i];
        rc = add_next(q, &k);
    }
    return rc == CARET_OK && (k.count != count || k.state_len != state_len) ? serve__key_save(q, &k) : rc;
}
