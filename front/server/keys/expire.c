/*
 * expire.c - the index of times, and the sweep: expire.h.
 */
#include "server/keys/expire.h"

#include "server/admin/measure.h"
#include "server/event.h"
#include "server/worker.h"

enum { BATCH = 50, BATCHES = 4 };

/* The entry of a key: of its node's subscript, which is a hash if its name is long. */
static int entry(struct serve__call *q, caret_node_buf *n, const struct serve__key *k)
{
    char subscript[SERVE__SUBSCRIPT_MAX];
    size_t len;
    int rc = CARET_OK;
    if (k->mapped) /* its name is short: map.h */
        memcpy(subscript, k->name.data, len = k->name.len);
    else
        rc = caret_node_subscript(&k->node.node, 0, subscript, sizeof subscript, &len, NULL);
    if (rc == CARET_OK)
        rc = caret_node_child_int(&n->node, sizeof *n, &q->r->expiry.node, k->expiry);
    if (rc == CARET_OK)
        rc = caret_node_child_int(&n->node, sizeof *n, &n->node, k->db);
    return rc == CARET_OK ? caret_node_child(&n->node, sizeof *n, &n->node, subscript, len) : rc;
}

int serve__expiry_add(struct serve__call *q, struct serve__key *k)
{
    caret_node_buf n;
    int rc = entry(q, &n, k);
    return rc == CARET_OK ? caret_set(q->s, &n.node, "", 0) : rc;
}

int serve__expiry_change(struct serve__call *q, struct serve__key *k, int64_t expiry)
{
    caret_node_buf n;
    int rc = CARET_OK;
    if (k->expiry == expiry)
        return CARET_OK;
    if (k->expiry != 0) {
        if ((rc = entry(q, &n, k)) == CARET_OK)
            rc = caret_delete(q->s, &n.node);
    }
    k->expiry = expiry;
    return rc == CARET_OK && expiry != 0 ? serve__expiry_add(q, k) : rc;
}

void serve__expired(struct serve__call *q, caret_slice name)
{
    serve__changed(q, SERVE__EVENT_EXPIRED, "expired", name);
}

/* ------------------------------------------------------------------ sweep */

/* To the first entry: its time, or CARET_NONE. */
static int first(struct serve__runner *r, caret_node_buf *n, int64_t *ms)
{
    *n = r->expiry;
    int rc = caret_first(r->s, &n->node);
    if (rc == CARET_OK && !caret_node_last_as_int(&n->node, ms))
        rc = CARET_E_CORRUPT;
    return rc;
}

/* Delete the key of the entry n, if it expires then, and the entry. */
static int end_key(struct serve__call *q, caret_node_buf *n, int64_t ms)
{
    struct serve__key k;
    char subscript[SERVE__SUBSCRIPT_MAX];
    int64_t db = 0;
    size_t len;
    caret_node_buf up;
    int rc = caret_node_parent(&up.node, sizeof up, &n->node);
    if (rc != CARET_OK || !caret_node_last_as_int(&up.node, &db) || db < 0 || db >= (int64_t)SERVE__DATABASES)
        return rc != CARET_OK ? rc : caret_delete(q->s, &n->node);
    q->db = (unsigned)db;
    rc = caret_node_subscript(&n->node, 2, subscript, sizeof subscript, &len, NULL);
    if (rc == CARET_OK)
        rc = serve__key_of_subscript(q, &k, (caret_slice){subscript, len});
    if (rc == CARET_OK && k.expiry == ms) {
        caret_slice name = k.name;
        if ((rc = caret_keep(q->s, &name)) == CARET_OK && (rc = serve__key_delete(q, &k)) == CARET_OK)
            serve__expired(q, name);
        return rc;
    }
    bool gone = rc == CARET_OK || rc == CARET_NONE || rc == CARET_E_CORRUPT; /* another key, or a program's */
    return gone ? caret_delete(q->s, &n->node) : rc;
}

/* In a transaction: end up to BATCH keys that are due.  Their number is left in q->argc. */
static int sweep_some(struct serve__call *q)
{
    caret_node_buf n;
    int64_t ms;
    for (q->argc = 0; q->argc < BATCH; q->argc++) {
        int rc = first(q->r, &n, &ms);
        if (rc != CARET_OK)
            return rc == CARET_NONE ? CARET_OK : rc;
        if (ms > q->now)
            return CARET_OK;
        while (rc == CARET_OK && caret_node_depth(&n.node) < 3)
            rc = caret_first(q->s, &n.node);
        if (rc != CARET_OK || (rc = end_key(q, &n, ms)) != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

/* Something is due. */
static int sweep_due(struct serve__runner *r, int64_t now, int most)
{
    struct serve__call q = {.w = r->w, .r = r, .s = r->s, .now = now};
    for (int i = 0; i < BATCHES; i++) {
        if (serve__atomic(&q, sweep_some) != CARET_OK)
            return 10 < most ? 10 : most;
        serve__events_send(r);
        if (q.argc < BATCH)
            return 1;
    }
    return 0;
}

int serve__expire_sweep(struct serve__runner *r, int64_t now, int most)
{
    caret_node_buf n;
    int64_t ms;
    if (first(r, &n, &ms) != CARET_OK)
        return most;
    if (ms > now)
        return ms - now < most ? (int)(ms - now) : most;
    uint64_t begin = serve__measure_clock();
    int next = sweep_due(r, now, most);
    serve__measure_spike(r->w, SERVE__SPIKE_EXPIRE, begin);
    return next;
}

int serve__expire_due(struct serve__call *q)
{
    struct serve__call some = *q;
    int rc;
    do
        rc = sweep_some(&some);
    while (rc == CARET_OK && some.argc == BATCH);
    return rc;
}
