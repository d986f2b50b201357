/*
 * remote_commit.c - a transaction's changes on their way to a server.
 *
 *   buffered   every write of a transaction, in the session's buffer (txn/txn.h); savepoints are marks in its
 *              journal: the server hears of neither
 *   BEGIN      with the first read (remote.c).  A transaction that only writes has none: its commit is one call, which
 *              the driver repeats until it is done
 *   commit     the buffer, as a list: kills, deletes, sets, each in key order.  So two transactions that change the
 *              same keys meet at the lowest first, and wait for each other in no ring.  Of a key that was killed and
 *              then set there is the kill and the set
 *   restart    drops the buffer, keeps locks (remote_lock.c), counts; begin() tells the driver how often, which pauses
 *              and then has others wait
 *   lost       the driver finds out whether the commit took place: OK or RESTART.  If that can't be found out it is
 *              UNKNOWN: the transaction is over, and is never run again by itself
 *
 * The list points into the buffer, which stays as it is until the driver returns; keys are copied, as pages of the
 * buffer have them without what they share.
 */
#include "store/remote.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/key.h"

#define MORE_KEYS (64u << 10) /* arbitrary */

/* Keys of a list, in pieces that never move. */
struct piece {
    struct piece *next;
    size_t used, size;
    uint8_t bytes[];
};

struct list {
    struct caret__store_op *op;
    size_t n, cap;
    size_t bytes; /* of keys and values */
    struct piece *keys;
};

static int nomem(size_t n)
{
    return caret__fail(CARET_E_NOMEM, "no memory for a list of %zu changes", n);
}

/* A copy of the key that lives as long as the list; NULL: no memory. */
static const uint8_t *keep(struct list *l, const uint8_t *key, size_t len)
{
    struct piece *p = l->keys;

    if (p == NULL || p->size - p->used < len) {
        p = malloc(sizeof *p + MORE_KEYS);
        if (p == NULL)
            return NULL;
        *p = (struct piece){l->keys, 0, MORE_KEYS};
        l->keys = p;
    }
    memcpy(p->bytes + p->used, key, len);
    p->used += len;
    return p->bytes + p->used - len;
}

static int add(struct list *l, enum caret__store_kind kind, struct caret__bytes key,
               struct caret__bytes value)
{
    if (l->n == l->cap) {
        size_t cap = l->cap != 0 ? 2 * l->cap : 64;
        struct caret__store_op *op = realloc(l->op, cap * sizeof *op);
        if (op == NULL)
            return nomem(cap);
        l->op = op;
        l->cap = cap;
    }
    key.data = keep(l, key.data, key.len);
    if (kind == CARET__STORE_KILL)
        value.data = keep(l, value.data, value.len);
    if (key.data == NULL || (kind == CARET__STORE_KILL && value.data == NULL))
        return nomem(l->n);
    l->op[l->n++] = (struct caret__store_op){kind, key, value};
    l->bytes += key.len + value.len;
    return CARET_OK;
}

static void list_free(struct list *l)
{
    while (l->keys != NULL) {
        struct piece *next = l->keys->next;
        free(l->keys);
        l->keys = next;
    }
    free(l->op);
}

static int add_kills(struct list *l, struct caret__txn *t)
{
    struct caret__one_span k;
    uint8_t none[1] = {0};
    int rc = CARET_OK;

    for (bool more = t->kills != 0 && caret__spans_from(&t->killed, none, 0, &k); more && rc == CARET_OK;
         more = caret__spans_next(&t->killed, &k))
        rc = add(l, CARET__STORE_KILL, (struct caret__bytes){k.span.lo, k.span.lo_len},
                 (struct caret__bytes){k.span.hi, k.span.hi_len});
    return rc;
}

/* Those entries of the buffer that have the flag. */
static int add_entries(struct list *l, struct caret__txn *t, enum caret__store_kind kind, uint8_t flag)
{
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    uint8_t key[CARET__PLACE_MAX];
    size_t len = 0;
    int rc = caret__scan_from(&v, &at, key, &len);

    for (; rc == CARET_OK; rc = caret__scan_next(&v, &at, key, &len)) {
        struct caret__entry e = caret__page_entry(at.page, at.pos);
        const uint8_t *val;
        size_t vlen;
        caret__private_value(&e, &val, &vlen);
        if (vlen == 0 || (val[0] & flag) == 0)
            continue;
        int bad = add(l, kind, (struct caret__bytes){key, len}, (struct caret__bytes){val + 1, vlen - 1});
        if (bad != CARET_OK)
            return bad;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int list_make(struct list *l, struct caret__txn *t)
{
    int rc = caret__buffer_spill(t);

    if (rc == CARET_OK)
        rc = add_kills(l, t);
    if (rc == CARET_OK)
        rc = add_entries(l, t, CARET__STORE_DELETE, CARET__TX_GONE);
    if (rc == CARET_OK)
        rc = add_entries(l, t, CARET__STORE_SET, CARET__TX_SET);
    return rc;
}

static int too_big(const struct caret__remote *r, size_t bytes)
{
    return caret__fail(
        CARET_E_TXN_TOO_BIG,
        "%s: %zu bytes of changes in one transaction; %zu are the limit here: make several of it",
        r->db->shown, bytes, r->db->txn_most);
}

static unsigned flags_of(int flags)
{
    return (flags & CARET_TXN_BATCH) != 0  ? CARET__STORE_BATCH
           : (flags & CARET_TXN_SYNC) != 0 ? CARET__STORE_SYNC
                                           : 0;
}

int caret__remote_change(struct caret__remote *r, const struct caret__store_op *op, int flags)
{
    r->has_value = false;
    return caret__remote_said(r, r->store->commit(r->conn, op, 1, flags_of(flags)));
}

/* There is something to commit, or a transaction at the server to be ended. */
static int send(struct caret__remote *r, const struct list *l, int flags)
{
    if (l->bytes > r->db->txn_most)
        return too_big(r, l->bytes);
    int rc = r->store->commit(r->conn, l->op, l->n, flags_of(flags));
    r->begun = false;
    return caret__remote_said(r, rc);
}

int caret__remote_commit(struct caret__remote *r, int flags)
{
    struct list l = {0};
    int rc = r->txn->changed ? list_make(&l, r->txn) : CARET_OK;

    r->has_value = false;
    if (rc == CARET_OK && (l.n != 0 || r->begun))
        rc = send(r, &l, flags);
    list_free(&l);
    return rc;
}

/* A server takes a snapshot with the first read: so that is done now, of a key that is none. */
int caret__remote_snapshot(struct caret__remote *r)
{
    static const uint8_t nothing[1] = {0};
    struct caret__bytes value;

    if ((r->db->has & CARET__STORE_SNAPSHOT) == 0)
        return caret__fail(CARET_E_UNSUPPORTED, "snapshots are not available on %s", r->db->server);
    r->has_value = false;
    int rc = r->store->begin(r->conn, CARET__STORE_READS, 0);
    if (rc == CARET_OK)
        rc = r->store->get(r->conn, (struct caret__bytes){nothing, sizeof nothing}, &value);
    r->begun = r->reads = rc == CARET_OK || rc == CARET_NONE;
    if (r->begun)
        return CARET_OK;
    r->store->rollback(r->conn);
    return caret__remote_said(
        r, rc == CARET_RESTART ? caret__fail(CARET_E_BUSY, "%s: no snapshot now", r->db->shown) : rc);
}

void caret__remote_rollback(struct caret__remote *r)
{
    r->has_value = false;
    if (r->begun)
        r->store->rollback(r->conn);
    r->begun = false;
}
