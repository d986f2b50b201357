/*
 * count.c - how many keys a database has: key.h.
 *
 * What a key counts follows from its node: so the engine keeps the sums leaf by leaf (caret_sums_of), and looks again
 * only at what was changed, by commands, scripts or programs.  No command that makes or deletes a key has to count it.
 * Each thread that runs commands remembers its own.  Keys that are a program's nodes (map.h) are walked over.
 */
#include "server/keys/inner.h"
#include "server/keys/map.h"

enum { ALL, EXPIRE, EXPIRY };

static int add_key(void *arg, caret_slice subscript, caret_slice value, double sum[CARET_SUMS])
{
    const struct serve__counting *c = arg;
    int64_t expiry;
    int rc = serve__key_glance(subscript, value, &expiry);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    sum[ALL]++;
    sum[EXPIRE] += expiry != 0;
    sum[EXPIRY] += expiry != 0 ? (double)(expiry - c->since) : 0;
    return CARET_OK;
}

static int count_plain(struct serve__call *q, unsigned db, struct serve__keys_count *n)
{
    struct serve__counting *c = &q->r->counting[db];
    double sum[CARET_SUMS];
    int rc = CARET_OK;
    if (c->sums == NULL) {
        c->since = q->now;
        rc = caret_sums_new(add_key, c, &c->sums);
    }
    if (rc == CARET_OK)
        rc = caret_sums_of(q->s, &q->r->base[db].node, c->sums, sum);
    if (rc != CARET_OK)
        return rc;
    n->all = (uint64_t)sum[ALL];
    n->expire = (uint64_t)sum[EXPIRE];
    n->ttl = sum[EXPIRY] - sum[EXPIRE] * (double)(q->now - c->since);
    n->ttl = n->ttl > 0 ? n->ttl : 0; /* a key that is due counts until it is deleted, as in Redis */
    return CARET_OK;
}

static int walk(struct serve__call *q, struct serve__keys *i, struct serve__keys_count *n)
{
    struct serve__key k;
    int rc;
    i->expired_too = true;
    while ((rc = serve__keys_next(q, i, &k)) == CARET_OK) {
        n->all++;
        n->expire += k.expiry != 0;
        n->ttl += k.expiry > q->now ? (double)(k.expiry - q->now) : 0;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

int serve__count_keys(struct serve__call *q, unsigned db, struct serve__keys_count *n)
{
    struct serve__keys i;
    *n = (struct serve__keys_count){0};
    int rc = count_plain(q, db, n);
    if (rc == CARET_E_CORRUPT) { /* which one is damaged? */
        *n = (struct serve__keys_count){0};
        serve__keys_begin(q, &i, db);
        return walk(q, &i, n);
    }
    if (rc != CARET_OK || db != 0 || serve__maps == 0)
        return rc;
    serve__keys_begin_mapped(q, &i);
    return walk(q, &i, n);
}
