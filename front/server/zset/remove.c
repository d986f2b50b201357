/*
 * remove.c - ZREM and ZREMRANGEBY...
 */
#include "server/event.h"
#include "server/zset/zset.h"

enum { MANY = 256 }; /* removed at once: counting ranks anew is cheaper */

int serve__zset_removed(struct serve__call *q, struct serve__key *k, const char *event, int64_t n)
{
    if (n == 0)
        return CARET_OK;
    bool gone = k->count == 0;
    int rc = serve__key_save(q, k);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_ZSET, event, k->name);
    q->r->dirty += (uint64_t)(n - 1);
    if (gone) {
        serve__changed(q, SERVE__EVENT_GENERIC, "del", k->name);
        q->r->dirty--;
    }
    return CARET_OK;
}

int serve__cmd_zrem(struct serve__call *q)
{
    struct serve__key k;
    int64_t n = 0;
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__ZSET);
    for (int i = 2; rc == CARET_OK && i < q->argc && k.count > 0; i++) {
        struct serve__zmember m;
        rc = serve__zmember_find(q, &k, &m, q->argv[i]);
        if (rc == CARET_OK && m.there) {
            rc = serve__zmember_remove(q, &k, &m);
            n++;
        }
    }
    if (rc == CARET_OK)
        rc = serve__zset_removed(q, &k, "zrem", n);
    return rc == CARET_OK ? serve__integer(q, n) : rc;
}

/* All that is in the bag: from the index as one range, and their scores. */
static int remove_all(struct serve__call *q, struct serve__key *k, const struct serve__zbag *b)
{
    caret_node_buf index;
    char first[SERVE__ZENTRY_MAX], last[SERVE__ZENTRY_MAX];
    bool falls = b->item[0].score > b->item[b->n - 1].score;
    const struct serve__zitem *one = &b->item[falls ? b->n - 1 : 0], *other = &b->item[falls ? 0 : b->n - 1];
    caret_slice from = {first, serve__zentry(first, one->score, serve__zbag_member(q, one))};
    caret_slice to = {last, serve__zentry(last, other->score, serve__zbag_member(q, other))};
    int rc = caret_node_child(&index.node, sizeof index, &k->node.node, "", 0);
    if (rc == CARET_OK)
        rc = caret_kill_range(q->s, &index.node, &from, &to, 0);
    if (rc == CARET_OK)
        rc = serve__zrank_forget(q, k);
    for (size_t i = 0; rc == CARET_OK && i < b->n; i++) {
        caret_node_buf n;
        rc = serve__field_node(q, k, &n, serve__zbag_member(q, &b->item[i]));
        if (rc == CARET_OK)
            rc = caret_delete(q->s, &n.node);
    }
    k->count -= b->n;
    return rc;
}

/* A few, one after another, so that ranks are kept. */
static int remove_some(struct serve__call *q, struct serve__key *k, const struct serve__zbag *b)
{
    int rc = CARET_OK;
    for (size_t i = 0; rc == CARET_OK && i < b->n; i++) {
        struct serve__zmember m;
        rc = serve__zmember_find(q, k, &m, serve__zbag_member(q, &b->item[i]));
        if (rc == CARET_OK && m.there)
            rc = serve__zmember_remove(q, k, &m);
    }
    return rc;
}

/* They are collected first: a walk through what a transaction has changed is slow. */
int serve__zset_take(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                     struct serve__zbag *b)
{
    struct serve__zwalk w;
    int rc = k->exists ? serve__zrange_first(q, k, r, &w) : CARET_NONE;
    for (; rc == CARET_OK; rc = serve__zrange_next(q, r, &w))
        if ((rc = serve__zbag_add(q, b, w.member, w.score)) != CARET_OK)
            return rc;
    if (rc != CARET_NONE || b->n == 0)
        return rc == CARET_NONE ? CARET_OK : rc;
    if (b->n == k->count) {
        k->count = 0; /* the key is deleted by the caller */
        return CARET_OK;
    }
    return b->n >= MANY && r->by != SERVE__ZBY_LEX ? remove_all(q, k, b) : remove_some(q, k, b);
}

static int remove_range(struct serve__call *q, struct serve__zrange *r, const char *event)
{
    struct serve__key k;
    struct serve__zbag b;
    serve__zbag_begin(q, &b);
    int rc = serve__zrange_read(q, 2, r);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__ZSET);
    if (rc == CARET_OK)
        rc = serve__zset_take(q, &k, r, &b);
    if (rc == CARET_OK)
        rc = serve__zset_removed(q, &k, event, (int64_t)b.n);
    if (rc == CARET_OK)
        serve__integer(q, (int64_t)b.n);
    serve__zbag_free(&b);
    return rc;
}

int serve__cmd_zremrangebyrank(struct serve__call *q)
{
    struct serve__zrange r = {.by = SERVE__ZBY_RANK, .limit = -1};
    return remove_range(q, &r, "zremrangebyrank");
}

int serve__cmd_zremrangebyscore(struct serve__call *q)
{
    struct serve__zrange r = {.by = SERVE__ZBY_SCORE, .limit = -1};
    return remove_range(q, &r, "zremrangebyscore");
}

int serve__cmd_zremrangebylex(struct serve__call *q)
{
    struct serve__zrange r = {.by = SERVE__ZBY_LEX, .limit = -1};
    return remove_range(q, &r, "zremrangebylex");
}
