/*
 * read.c - scores, ranks and numbers of members: ZSCORE, ZRANK, ZCARD, ZCOUNT ..., ZSCAN and ZRANDMEMBER.
 */
#include "server/codec/number.h"
#include "server/keys/cursor.h"
#include "server/keys/pick.h"
#include "server/zset/zset.h"

static int score_of(struct serve__call *q, struct serve__key *k, caret_slice name, double *score)
{
    caret_slice value;
    int rc = serve__field_open(q, k, q->argv[1], SERVE__ZSET, name, &value);
    serve__key_seen(q, rc, k);
    return rc == CARET_OK && !serve__zscore_read(value, score) ? CARET_E_CORRUPT : rc;
}

int serve__cmd_zscore(struct serve__call *q)
{
    struct serve__key k;
    double score;
    int rc = score_of(q, &k, q->argv[2], &score);
    return rc == CARET_OK ? serve__real(q, score) : rc == CARET_NONE ? serve__null(q) : rc;
}

int serve__cmd_zmscore(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ZSET);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++) {
        struct serve__zmember m;
        rc = serve__zmember_find(q, &k, &m, q->argv[i]);
        if (rc != CARET_OK)
            return rc;
        if (m.there)
            serve__real(q, m.score);
        else
            serve__null(q);
    }
    return CARET_OK;
}

int serve__cmd_zcard(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ZSET);
    if (rc == CARET_NONE)
        return serve__integer(q, 0);
    return rc == CARET_OK ? serve__integer(q, (int64_t)k.count) : rc;
}

/* ------------------------------------------------------------------ ranks */

static int answer_rank(struct serve__call *q, bool reverse)
{
    struct serve__key k;
    char text[SERVE__ZENTRY_MAX];
    double score;
    uint64_t rank;
    int rc = score_of(q, &k, q->argv[2], &score);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? serve__null(q) : rc;
    caret_slice entry = {text, serve__zentry(text, score, q->argv[2])};
    rc = serve__zrank(q, &k, entry, &rank);
    return rc == CARET_OK ? serve__integer(q, (int64_t)(reverse ? k.count - 1 - rank : rank)) : rc;
}

int serve__cmd_zrank(struct serve__call *q)
{
    return answer_rank(q, false);
}

int serve__cmd_zrevrank(struct serve__call *q)
{
    return answer_rank(q, true);
}

/* -------------------------------------------------------------- how many */

/* From the difference of the ranks of both ends. */
static int count_by_ranks(struct serve__call *q, struct serve__key *k, struct serve__zrange *r, uint64_t *n)
{
    struct serve__zwalk w;
    uint64_t first, last;
    int rc = serve__zrange_first(q, k, r, &w);
    if (rc == CARET_OK)
        rc = serve__zrank(q, k, (caret_slice){w.text, w.len}, &first);
    r->reverse = true;
    if (rc == CARET_OK)
        rc = serve__zrange_first(q, k, r, &w);
    if (rc == CARET_OK)
        rc = serve__zrank(q, k, (caret_slice){w.text, w.len}, &last);
    *n = rc == CARET_OK ? last - first + 1 : 0;
    return rc;
}

static int count(struct serve__call *q, enum serve__zby by)
{
    enum { FEW = 128 };
    struct serve__key k;
    struct serve__zwalk w;
    struct serve__zrange r = {.by = by, .limit = -1};
    uint64_t n = 0;
    int rc = serve__zrange_read(q, 2, &r);
    if (rc == CARET_OK)
        rc = serve__key_read(q, &k, q->argv[1], SERVE__ZSET);
    if (rc == CARET_OK)
        rc = serve__zrange_first(q, &k, &r, &w);
    bool jump = by == SERVE__ZBY_SCORE || (k.flags & SERVE__HEAD_LARGE);
    for (; rc == CARET_OK && (n < FEW || !jump); rc = serve__zrange_next(q, &r, &w))
        n++;
    if (rc == CARET_OK)
        rc = count_by_ranks(q, &k, &r, &n);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, (int64_t)n) : rc;
}

int serve__cmd_zcount(struct serve__call *q)
{
    return count(q, SERVE__ZBY_SCORE);
}

int serve__cmd_zlexcount(struct serve__call *q)
{
    return count(q, SERVE__ZBY_LEX);
}

/* ------------------------------------------------------------------- scan */

static void add_score(struct serve__call *q, caret_slice value)
{
    char text[CARET_CODEC__DOUBLE_ROOM];
    double score = 0;
    (void)serve__zscore_read(value, &score);
    serve__found_add(q, (caret_slice){text, caret_codec__print_double(score, text)});
}

int serve__cmd_zscan(struct serve__call *q)
{
    return serve__scan_fields(q, SERVE__ZSET, add_score);
}

/* ----------------------------------------------------------------- random */

struct chosen {
    bool scores;
    size_t n;
};

static int add_chosen(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    struct chosen *c = arg;
    double score = 0;
    c->n += 1u + (c->scores && !serve__zpairs(q));
    if (!c->scores)
        return serve__bulk(q, name.data, name.len);
    (void)serve__zscore_read(value, &score);
    serve__zpair(q, name, score);
    return CARET_OK;
}

/* Of `count` members; below 0: the same one may come again. */
static int answer_random(struct serve__call *q, struct serve__key *k, int64_t count, bool scores)
{
    struct chosen c = {scores, 0};
    size_t place = serve__open(q);
    int rc;
    if (count < 0)
        rc = serve__pick_any(q, k, 0 - (uint64_t)count, add_chosen, &c);
    else if ((uint64_t)count < k->count)
        rc = serve__pick_some(q, k, (uint64_t)count, add_chosen, &c);
    else
        rc = serve__pick_all(q, k, add_chosen, &c);
    return rc == CARET_OK ? serve__close_array(q, place, c.n) : rc;
}

int serve__cmd_zrandmember(struct serve__call *q)
{
    struct serve__key k;
    struct chosen one = {false, 0};
    int64_t count = 0;
    int rc = q->argc > 2 ? serve__arg_between(q, 2, -INT64_MAX, INT64_MAX, &count) : CARET_OK;
    bool scores = q->argc == 4;
    if (rc == CARET_OK && (q->argc > 4 || (scores && !serve__is(&q->argv[3], "withscores"))))
        return SERVE__E_SYNTAX;
    if (rc == CARET_OK && scores && (count < -INT64_MAX / 2 || count > INT64_MAX / 2))
        return serve__fail(q, "ERR value is out of range");
    if (rc == CARET_OK)
        rc = serve__key_read(q, &k, q->argv[1], SERVE__ZSET);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (q->argc > 2)
        return rc == CARET_NONE || count == 0 ? serve__array(q, 0) : answer_random(q, &k, count, scores);
    return rc == CARET_OK ? serve__pick_any(q, &k, 1, add_chosen, &one) : serve__null(q);
}
