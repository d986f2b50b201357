/*
 * debug_populate.c - DEBUG POPULATE count [prefix [size]]: keys prefix:0, prefix:1 ... with values value:0, value:1
 * ..., which zeros make as long as `size` says.  Keys that are there stay as they are.
 *
 * So many keys are a transaction, not all of them: as many as are wanted can be made.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/debug.h"
#include "server/event.h"
#include "server/keys/key.h"
#include "server/worker.h"

enum { BATCH_KEYS = 500, BATCH_BYTES = 1 << 20 };

struct populate {
    struct serve__call q; /* first: a transaction gets this alone */
    int64_t from, to, size;
    caret_slice prefix;
};

/* The name or value of key i: its first part, a colon, the number.  NULL: no memory. */
static struct serve__buffer *numbered(struct serve__buffer *b, caret_slice first, int64_t i)
{
    b->len = 0;
    serve__buffer_add(b, first.data, first.len);
    serve__buffer_print(b, ":%" PRId64, i);
    return b->failed ? NULL : b;
}

static int set_value(struct populate *p, struct serve__key *k, int64_t i)
{
    struct serve__call *q = &p->q;
    struct serve__buffer *b = numbered(&q->r->work, (caret_slice){"value", 5}, i);
    if (b == NULL || (p->size > 0 && !serve__buffer_room(b, (size_t)p->size)))
        return CARET_E_NOMEM;
    if (p->size > 0 && b->len < (size_t)p->size)
        memset(b->data + b->len, 0, (size_t)p->size - b->len);
    if (p->size > 0)
        b->len = (size_t)p->size;
    int rc = serve__key_set_string(q, k, b->data, b->len, 0);
    if (rc == CARET_OK)
        serve__changed(q, SERVE__EVENT_STRING, "set", k->name);
    return rc;
}

/* In a transaction. */
static int make_some(struct serve__call *q)
{
    struct populate *p = (struct populate *)q;
    int rc = CARET_OK;
    for (int64_t i = p->from; rc == CARET_OK && i < p->to; i++) {
        struct serve__key k;
        struct serve__buffer *name = numbered(&q->r->scratch, p->prefix, i);
        if (name == NULL)
            return CARET_E_NOMEM;
        rc = serve__key_change(q, &k, (caret_slice){name->data, name->len}, SERVE__ANY);
        if (rc == CARET_OK && !k.exists)
            rc = set_value(p, &k, i);
    }
    return rc;
}

int serve__debug_populate(struct serve__call *q)
{
    struct populate p = {.q = *q, .prefix = {"key", 3}};
    int64_t n, most = q->w->config.n[SERVE__CFG_proto_max_bulk_len];
    int rc = CARET_OK;
    bool fine = serve__read_integer(&q->argv[2], &n) && n >= 0 &&
                (q->argc < 5 || (serve__read_integer(&q->argv[4], &p.size) && p.size >= 0 && p.size <= most));
    if (!fine)
        return serve__fail(q, "ERR value is out of range, must be positive");
    if (q->argc > 3)
        p.prefix = q->argv[3];
    int64_t batch = p.size > 0 && BATCH_BYTES / p.size < BATCH_KEYS ? BATCH_BYTES / p.size + 1 : BATCH_KEYS;
    for (; rc == CARET_OK && p.to < n; p.from = p.to) {
        p.to = n - p.from < batch ? n : p.from + batch;
        rc = serve__atomic(&p.q, make_some);
    }
    return rc == CARET_OK ? serve__ok(q) : rc;
}
