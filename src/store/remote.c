/*
 * remote.c - a session's connection to a server, and reading.
 *
 *     no conn --attach--> conn, idle --first read of a transaction--> begun --commit, rollback--> idle
 *        ^                  |
 *        +---- detach ------+        a forked child: forget, then as new
 *
 * A transaction is told to the driver with its first read, so that one that only writes is one trip, and one that does
 * nothing is none.  What follows of what the driver says:
 *   RESTART   the transaction is broken: all calls say RESTART until it begins again, or is rolled back
 *   EVICTED   the server has given the session's locks away: none is held any more, and a transaction is broken, so
 *             that nothing is committed under a lock that somebody else may have
 * Neither breaks a snapshot, of which nothing is going to be committed, and nothing is begun again by itself.  The
 * driver's RESTART means that it is gone: that is EVICTED, of each read until it ends.
 * A value that a step brings along is kept for the get that comes next, and for no other.
 */
#include "store/remote.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/key.h"
#include "shm/engine.h"

void caret__remote_init(struct caret__remote *r, struct caret__store_db *db, struct caret__txn *txn,
                        struct caret__alarm *alarm)
{
    *r = (struct caret__remote){
        .db = db, .store = db->store, .process = caret__process(), .txn = txn, .alarm = alarm};
}

bool caret__remote_disown(struct caret__remote *r)
{
    if (r->conn != NULL)
        r->store->forget(r->conn);
    r->conn = NULL;
    r->process = caret__process();
    r->begun = r->reads = r->has_value = false;
    caret__names_clear(&r->locks, false);
    return true;
}

static bool interrupted(void *alarm)
{
    return caret__alarm_taken(alarm);
}

int caret__remote_attach(struct caret__remote *r)
{
    return r->conn != NULL ? CARET_OK : r->store->attach(r->db, interrupted, r->alarm, &r->conn);
}

void caret__remote_detach(struct caret__remote *r)
{
    if (!caret__remote_forked(r) && r->conn != NULL)
        r->store->detach(r->conn);
    caret__names_clear(&r->locks, true);
    free(r->value);
    r->conn = NULL;
    r->value = NULL;
    r->value_cap = 0;
    r->begun = r->reads = r->has_value = false;
}

int caret__remote_said(struct caret__remote *r, int rc)
{
    if (rc == CARET_E_EVICTED)
        caret__names_clear(&r->locks, false);
    if (r->reads)
        return rc == CARET_RESTART
                   ? caret__fail(CARET_E_EVICTED,
                                 "%s: the snapshot is lost with its connection; begin another one",
                                 r->db->shown)
                   : rc;
    if ((rc == CARET_E_EVICTED || rc == CARET_RESTART) && r->txn->level != 0)
        r->txn->broken = true;
    return rc;
}

/* Before a read: a transaction is told of. */
static int begin(struct caret__remote *r)
{
    const struct caret__txn *t = r->txn;

    r->has_value = false;
    if (t->level == 0 || r->begun)
        return CARET_OK;
    enum caret__store_begin how = r->reads                            ? CARET__STORE_READS
                                  : (t->flags & CARET_TXN_ALONE) != 0 ? CARET__STORE_ALONE
                                                                      : CARET__STORE_SERIAL;
    int rc = caret__remote_said(r, r->store->begin(r->conn, how, t->restarts));
    r->begun = rc == CARET_OK;
    return rc;
}

int caret__remote_get(struct caret__remote *r, struct caret__bytes key, struct caret__bytes *value)
{
    if (r->has_value && key.len == r->key_len && memcmp(key.data, r->key, key.len) == 0) {
        r->has_value = false;
        *value = (struct caret__bytes){r->value, r->value_len};
        return CARET_OK;
    }
    int rc = begin(r);
    return rc == CARET_OK ? caret__remote_said(r, r->store->get(r->conn, key, value)) : rc;
}

int caret__remote_get_many(struct caret__remote *r, const struct caret__bytes *keys, size_t n,
                           caret__store_each *each, void *ctx)
{
    int rc = n != 0 ? begin(r) : CARET_OK;

    return rc == CARET_OK && n != 0 ? caret__remote_said(r, r->store->get_many(r->conn, keys, n, each, ctx))
                                    : rc;
}

/* Keep the value that came along; without memory for it the get asks for it. */
static void keep_value(struct caret__remote *r, struct caret__bytes key, struct caret__bytes value)
{
    if (value.data == NULL)
        return;
    if (value.len > r->value_cap || r->value == NULL) {
        size_t cap = value.len + value.len / 2 + 64;
        uint8_t *more = realloc(r->value, cap);
        if (more == NULL)
            return;
        r->value = more;
        r->value_cap = cap;
    }
    memcpy(r->value, value.data, value.len);
    memcpy(r->key, key.data, key.len);
    r->value_len = value.len;
    r->key_len = key.len;
    r->has_value = true;
}

int caret__remote_step(void *ctx, uint8_t *key, size_t *len, bool back)
{
    struct caret__remote *r = ctx;
    struct caret__bytes found = {NULL, 0}, value = {NULL, 0};
    unsigned flags = (back ? CARET__STORE_BACK : 0u) | (r->wants_value ? CARET__STORE_VALUE : 0u);
    int rc = begin(r);

    if (rc == CARET_OK)
        rc = caret__remote_said(
            r, r->store->step(r->conn, (struct caret__bytes){key, *len}, flags, &found, &value));
    if (rc != CARET_OK)
        return rc;
    if (found.len == 0 || found.len > CARET__KEY_MAX)
        return caret__fail(CARET_E_CORRUPT, "%s: a key of %zu bytes", r->db->shown, found.len);
    memcpy(key, found.data, found.len);
    *len = found.len;
    if (r->wants_value)
        keep_value(r, found, value);
    return CARET_OK;
}

int caret__remote_step_merged(struct caret__remote *r, struct caret__view *v, uint8_t *key, size_t *len,
                              bool back)
{
    if (!r->txn->changed || r->txn->level == 0)
        return caret__remote_step(r, key, len, back);
    return back ? caret__merged_before(r->txn, v, key, len) : caret__merged_from(r->txn, v, key, len);
}

static int add_up(void *ctx, size_t index, struct caret__bytes key, struct caret__bytes value)
{
    (void)index;
    (void)key;
    (void)value;
    ++*(uint64_t *)ctx;
    return CARET_OK;
}

static int each_of(struct caret__remote *r, const struct caret__span *span, size_t most,
                   caret__store_each *each, void *ctx)
{
    int rc = begin(r);

    if (rc != CARET_OK)
        return rc;
    struct caret__bytes lo = {span->lo, span->lo_len}, hi = {span->hi, span->hi_len};
    return caret__remote_said(r, r->store->range(r->conn, lo, hi, most, false, each, ctx));
}

int caret__remote_count(struct caret__remote *r, const struct caret__span *span, size_t most, uint64_t *count)
{
    *count = 0;
    return each_of(r, span, most, add_up, count);
}

struct look {
    size_t len;
    int data;
};

static int look(void *ctx, size_t index, struct caret__bytes key, struct caret__bytes value)
{
    struct look *l = ctx;

    (void)index;
    (void)value;
    l->data |= key.len == l->len ? 1 : 2;
    return CARET_OK;
}

int caret__remote_data(struct caret__remote *r, const uint8_t *key, size_t len, int *data)
{
    uint8_t end[CARET__PLACE_MAX];
    struct caret__span below = caret__span_below(key, len, end);
    struct look l = {len, 0};
    int rc = each_of(r, &below, 2, look, &l);

    if (rc == CARET_OK)
        *data = (l.data & 1) + (l.data & 2 ? 10 : 0);
    return rc;
}
