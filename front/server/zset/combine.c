/*
 * combine.c - ZUNION, ZINTER, ZDIFF, what stores them, and ZINTERCARD: of sorted sets, and of sets, whose members have
 * the score 1.
 *
 * The result is put together in memory.  As in Redis the smallest source comes first, which decides how sums are
 * rounded.
 */
#include <math.h>
#include <stdlib.h>

#include "server/zset/zset.h"

enum kind { UNION, INTER, DIFF };

struct source {
    struct serve__key k;
    double weight;
    int order; /* among the arguments */
};

struct combination {
    enum kind kind;
    int numkeys_at, n;
    struct source *source;
    enum { SUM, MIN, MAX } aggregate;
    bool scores;
    int64_t limit; /* of ZINTERCARD; 0: none */
};

/* ---------------------------------------------------------------- sources */

static int open_sources(struct serve__call *q, struct combination *c)
{
    for (int i = 0; i < c->n; i++) {
        struct source *s = &c->source[i];
        s->weight = 1;
        s->order = i;
        int rc = serve__key_read(q, &s->k, q->argv[c->numkeys_at + 1 + i], SERVE__ANY);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        if (rc == CARET_OK && s->k.type != SERVE__ZSET && s->k.type != SERVE__SETTYPE)
            return SERVE__E_TYPE;
    }
    return CARET_OK;
}

static int by_size(const void *one, const void *other)
{
    const struct source *a = one, *b = other;
    if (a->k.count != b->k.count)
        return a->k.count < b->k.count ? -1 : 1;
    return a->order - b->order;
}

/* A walk through the members of either type. */
struct members {
    const struct source *s;
    bool begun;
    struct serve__zwalk w;
    struct serve__fields i;
};

static int next_member(struct serve__call *q, struct members *m, caret_slice *name, double *score)
{
    caret_slice value;
    bool begun = m->begun;
    m->begun = true;
    if (m->s->k.count == 0)
        return CARET_NONE;
    if (m->s->k.type == SERVE__ZSET) {
        int rc = begun ? serve__zwalk_next(q, &m->w) : serve__zwalk_seek(q, &m->s->k, &m->w, false, NULL);
        *name = m->w.member;
        *score = m->w.score;
        return rc;
    }
    int rc = begun ? CARET_OK : serve__fields_begin(q, &m->i, &m->s->k);
    *score = 1;
    return rc == CARET_OK ? serve__fields_next(q, &m->i, name, &value) : rc;
}

/* CARET_NONE: it is not a member.  `name` is memory of the transaction's. */
static int find_member(struct serve__call *q, const struct source *s, caret_slice name, double *score)
{
    caret_slice value;
    *score = 1;
    if (s->k.count == 0)
        return CARET_NONE;
    int rc = serve__field_get(q, &s->k, name, &value);
    return rc == CARET_OK && s->k.type == SERVE__ZSET && !serve__zscore_read(value, score) ? CARET_E_CORRUPT
                                                                                           : rc;
}

static double weighed(const struct source *s, double score)
{
    double d = s->weight * score;
    return isnan(d) ? 0 : d;
}

static double joined(const struct combination *c, double a, double b)
{
    double sum = a + b;
    switch (c->aggregate) {
    case SUM: return isnan(sum) ? 0 : sum;
    case MIN: return b < a ? b : a;
    case MAX: return b > a ? b : a;
    }
    return sum;
}

/* ---------------------------------------------------------------- results */

static int unite(struct serve__call *q, struct combination *c, struct serve__zbag *b)
{
    int rc = CARET_NONE;
    for (int i = 0; i < c->n && rc == CARET_NONE; i++) {
        struct members m = {.s = &c->source[i]};
        caret_slice name;
        double score;
        while ((rc = next_member(q, &m, &name, &score)) == CARET_OK) {
            struct serve__zitem *item = serve__zbag_find(q, b, name);
            score = weighed(m.s, score);
            if (item != NULL)
                item->score = joined(c, item->score, score);
            else if ((rc = serve__zbag_put(q, b, name, score)) != CARET_OK)
                break;
        }
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Is a member of the first source, whose score is *score, one of all the others?  Then *score is that of all.
 * The bytes of the name are those of a walk, or a value, and may be gone after a call: a long one is kept. */
static int in_others(struct serve__call *q, struct combination *c, caret_slice *name, double *score)
{
    int rc = CARET_OK;
    if (serve__field_is_odd(*name))
        rc = caret_keep(q->s, name);
    for (int i = 1; rc == CARET_OK && i < c->n; i++) {
        double other;
        rc = find_member(q, &c->source[i], *name, &other);
        if (c->kind == DIFF && (rc == CARET_OK || rc == CARET_NONE))
            rc = rc == CARET_OK ? CARET_NONE : CARET_OK;
        else if (rc == CARET_OK)
            *score =
                joined(c, *score, c->source[i].weight * other); /* not a number: the sum is 0, as in Redis */
    }
    return rc;
}

/* An intersection, or a difference: of the members of the first source. */
static int choose(struct serve__call *q, struct combination *c, struct serve__zbag *b)
{
    struct members m = {.s = &c->source[0]};
    caret_slice name;
    double score;
    int rc;
    while ((rc = next_member(q, &m, &name, &score)) == CARET_OK) {
        score = c->kind == INTER ? weighed(m.s, score) : score;
        rc = in_others(q, c, &name, &score);
        if (rc == CARET_OK)
            rc = serve__zbag_add(q, b, name, score);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        if (c->limit > 0 && b->n == (uint64_t)c->limit)
            return CARET_OK;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int collect(struct serve__call *q, struct combination *c, struct serve__zbag *b)
{
    if (c->kind != DIFF)
        qsort(c->source, (size_t)c->n, sizeof *c->source, by_size);
    if (c->kind == UNION)
        return unite(q, c, b);
    return choose(q, c, b);
}

/* ---------------------------------------------------------------- options */

static int read_weights(struct serve__call *q, struct combination *c, int i)
{
    for (int n = 0; n < c->n; n++) {
        const caret_slice *text = &q->argv[i + 1 + n];
        if (!serve__zscore_read(*text, &c->source[n].weight))
            return serve__fail(q, "ERR weight value is not a float");
    }
    return CARET_OK;
}

static int read_aggregate(struct serve__call *q, struct combination *c, int i)
{
    if (serve__is(&q->argv[i], "sum"))
        c->aggregate = SUM;
    else if (serve__is(&q->argv[i], "min"))
        c->aggregate = MIN;
    else if (serve__is(&q->argv[i], "max"))
        c->aggregate = MAX;
    else
        return SERVE__E_SYNTAX;
    return CARET_OK;
}

static int read_options(struct serve__call *q, struct combination *c, bool store)
{
    int rc = CARET_OK;
    for (int i = c->numkeys_at + 1 + c->n; rc == CARET_OK && i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        int left = q->argc - i;
        if (c->kind != DIFF && left > c->n && serve__is(word, "weights")) {
            rc = read_weights(q, c, i);
            i += c->n;
        } else if (c->kind != DIFF && left > 1 && serve__is(word, "aggregate")) {
            rc = read_aggregate(q, c, ++i);
        } else if (!store && serve__is(word, "withscores")) {
            c->scores = true;
        } else {
            rc = SERVE__E_SYNTAX;
        }
    }
    return rc;
}

static int read_numkeys(struct serve__call *q, struct combination *c)
{
    int64_t n;
    int rc = serve__arg_integer(q, c->numkeys_at, &n);
    if (rc != CARET_OK)
        return rc;
    if (n < 1)
        return serve__fail(q, "ERR at least 1 input key is needed for '%s' command", q->cmd->full);
    if (n > q->argc - c->numkeys_at - 1)
        return SERVE__E_SYNTAX;
    c->n = (int)n;
    c->source = malloc((size_t)n * sizeof *c->source);
    return c->source != NULL ? CARET_OK : CARET_E_NOMEM;
}

/* ---------------------------------------------------------------- commands */

static int combine(struct serve__call *q, enum kind kind, bool store)
{
    struct combination c = {.kind = kind, .numkeys_at = store ? 2 : 1, .aggregate = SUM};
    struct serve__zbag b;
    serve__zbag_begin(q, &b);
    int rc = read_numkeys(q, &c);
    if (rc == CARET_OK)
        rc = open_sources(q, &c);
    if (rc == CARET_OK)
        rc = read_options(q, &c, store);
    if (rc == CARET_OK)
        rc = collect(q, &c, &b);
    serve__zbag_sort(q, &b);
    if (rc == CARET_OK && store)
        rc = serve__zbag_store(q, &b, b.n, b.longest, q->argv[1],
                               kind == UNION   ? "zunionstore"
                               : kind == INTER ? "zinterstore"
                                               : "zdiffstore");
    else if (rc == CARET_OK)
        rc = serve__zbag_answer(q, &b, c.scores);
    serve__zbag_free(&b);
    free(c.source);
    return rc;
}

int serve__cmd_zunion(struct serve__call *q)
{
    return combine(q, UNION, false);
}

int serve__cmd_zinter(struct serve__call *q)
{
    return combine(q, INTER, false);
}

int serve__cmd_zdiff(struct serve__call *q)
{
    return combine(q, DIFF, false);
}

int serve__cmd_zunionstore(struct serve__call *q)
{
    return combine(q, UNION, true);
}

int serve__cmd_zinterstore(struct serve__call *q)
{
    return combine(q, INTER, true);
}

int serve__cmd_zdiffstore(struct serve__call *q)
{
    return combine(q, DIFF, true);
}

/* LIMIT of ZINTERCARD. */
static int read_card(struct serve__call *q, struct combination *c)
{
    int rc = CARET_OK;
    for (int i = 2 + c->n; rc == CARET_OK && i < q->argc; i += 2) {
        if (!serve__is(&q->argv[i], "limit") || i + 1 == q->argc)
            return SERVE__E_SYNTAX;
        if (!serve__read_integer(&q->argv[i + 1], &c->limit) || c->limit < 0)
            return serve__fail(q, "ERR LIMIT can't be negative");
    }
    return rc;
}

int serve__cmd_zintercard(struct serve__call *q)
{
    struct combination c = {.kind = INTER, .numkeys_at = 1, .aggregate = SUM};
    struct serve__zbag b;
    serve__zbag_begin(q, &b);
    int rc = read_numkeys(q, &c);
    if (rc == CARET_OK)
        rc = open_sources(q, &c);
    if (rc == CARET_OK)
        rc = read_card(q, &c);
    if (rc == CARET_OK)
        rc = collect(q, &c, &b);
    if (rc == CARET_OK)
        rc = serve__integer(q, (int64_t)b.n);
    serve__zbag_free(&b);
    free(c.source);
    return rc;
}
