/*
 * remote.c - databases on a server: opening them, and what their sessions do instead of looking at a tree.
 *
 * The handle has a stand-in of an engine, whose fork mark is 0 for ever.  So the quick test at the beginning of each
 * call on data fails, and its slow side (session.c) answers CARET__REMOTE; the call then does here, by the driver
 * (store/store.h), what it would have done in the tree.  Sessions over files execute nothing for this.
 *
 * What belongs to a session is as ever: locals, the buffer of a transaction with its savepoints (txn/txn.h), values
 * that were kept.  store/remote.h has the session's part at the server: its connection, transaction and locks.
 *
 * The end of a transaction:
 *     commit    broken: RESTART.  Else all is sent (store/remote_commit.c).  OK, UNKNOWN: it is over.  RESTART: broken.
 *               Another error: nothing was committed; the server has no transaction any more, so this one is broken,
 *               and is to be rolled back, or begun again
 *     rollback  of the outermost one tells the server, of a savepoint plays back the journal
 *     restart   keeps the locks, and begins anew with the next read
 */
#include "api/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "postgres/postgres.h"
#include "shm/layout.h"
#include "store/address.h"

/* ------------------------------------------------------------------ databases */

static const struct caret__store *drivers[4] = {&caret__postgres};

void caret__store_add(const struct caret__store *driver)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (drivers[i] == NULL || drivers[i] == driver) {
            drivers[i] = driver;
            return;
        }
}

static const struct caret__store *driver_of(const char *address)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (drivers[i] != NULL && caret__address_of(address, drivers[i]))
            return drivers[i];
    return NULL;
}

int caret__unsupported(const char *what, const caret_db *db)
{
    return caret__fail(CARET_E_UNSUPPORTED, "%s: that is for a database in a file; this one is on %s", what,
                       db->store->server);
}

/* What can't be asked of a server.  Options that only make files quicker or smaller are passed over. */
static int check_options(const caret_options *o)
{
    if (o->archive != NULL)
        return caret__fail(CARET_E_UNSUPPORTED, "caret_open: option archive is for a database in a file");
    if (o->memory_limit != 0)
        return caret__fail(CARET_E_UNSUPPORTED,
                           "caret_open: option memory_limit is for a database in memory");
    return CARET_OK;
}

/* What sessions take for an engine. */
struct standin {
    struct caret__engine e;
    struct caret__procslot slot; /* for counters */
    _Atomic uint64_t applied;
};

static int standin_make(caret_db *db)
{
    static const volatile uint32_t nobody_attached = 0;
    struct standin *in = calloc(1, sizeof *in);

    db->path = strdup(db->store->shown);
    if (in == NULL || db->path == NULL) {
        free(in);
        free(db->path);
        return caret__fail(CARET_E_NOMEM, "no memory for a database handle");
    }
    in->e.path = db->path;
    in->e.fork_mark = &nobody_attached;
    in->e.slots = &in->slot;
    in->e.pg.applied = &in->applied;
    in->e.pg.id = 1; /* no hint has it */
    in->e.options.no_thread = 1;
    db->e = &in->e;
    return CARET_OK;
}

/* What comes after the scheme is not shown: it may have a password. */
static int unknown_scheme(const char *address)
{
    char known[200] = "";

    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        for (const char *const *s = drivers[i] != NULL ? drivers[i]->schemes : NULL; s != NULL && *s; s++) {
            size_t n = strlen(known);
            snprintf(known + n, sizeof known - n, "%s%s://", n != 0 ? ", " : "", *s);
        }
    int len = (int)(strstr(address, "://") - address) + 3;
    return caret__fail(CARET_E_UNSUPPORTED,
                       "caret_open: addresses begin with %s; nothing is here for '%.*s', and a file of that "
                       "name is ./%.*s...",
                       known, len, address, len, address);
}

int caret__remote_db_open(const char *address, const caret_options *options, caret_db *db)
{
    const struct caret__store *driver = driver_of(address);
    int rc = check_options(options);

    if (driver == NULL)
        return unknown_scheme(address);
    if (rc == CARET_OK)
        rc = driver->open(address, options, &db->store);
    if (rc == CARET_OK && (rc = standin_make(db)) != CARET_OK)
        driver->close(db->store);
    return rc;
}

void caret__remote_db_free(caret_db *db)
{
    db->store->store->close(db->store);
    free(db->e); /* its stand-in begins with it */
}

int caret__remote_sync(caret_db *db)
{
    const struct caret__store *store = db->store->store;
    void *conn;
    int rc = store->attach(db->store, NULL, NULL, &conn);

    if (rc != CARET_OK)
        return rc;
    rc = store->sync(conn);
    store->detach(conn);
    return rc;
}

/* ------------------------------------------------------------------- sessions */

int caret__session_bind_remote(caret_session *s)
{
    s->remote = calloc(1, sizeof *s->remote);
    if (s->remote == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a session");
    caret__remote_init(s->remote, s->db->store, &s->txn, &s->alarm);
    s->e = s->db->e;
    s->global = (struct caret__view){.pg = &s->e->pg, .elsewhere = caret__remote_step, .ctx = s->remote};
    s->locker.alarm = &s->alarm;
    return CARET_OK;
}

int caret__session_enter_remote(caret_session *s)
{
    if (caret__remote_forked(s->remote))
        caret__session_disown(s);
    int rc = caret__remote_attach(s->remote);
    return rc == CARET_OK ? CARET__REMOTE : rc;
}

void caret__session_stop_remote(caret_session *s)
{
    caret__counts_publish(s);
    if (caret__remote_forked(s->remote))
        caret__session_disown(s);
    caret__txn_forget(s);
    caret__remote_detach(s->remote);
}

/* --------------------------------------------------------------------- reading */

/* In a transaction: does it still count? */
static int may_read(const caret_session *s)
{
    return s->txn.level != 0 && s->txn.broken ? CARET_RESTART : CARET_OK;
}

/* Copy a value to where the session's results are. */
static int give(caret_session *s, const uint8_t *value, size_t len, caret_slice *out)
{
    int rc = caret__session_out(s, len);

    if (rc != CARET_OK)
        return rc;
    if (len != 0)
        memcpy(s->out, value, len);
    *out = (caret_slice){(const char *)s->out, len};
    return CARET_OK;
}

/* What the transaction's own changes say: CARET_OK, NONE; CARET_ROLLBACK: nothing. */
static int get_buffered(caret_session *s, const struct caret__node *n, caret_slice *out)
{
    const uint8_t *val;
    size_t len;

    if (s->txn.level == 0 || !s->txn.changed)
        return CARET_ROLLBACK;
    int rc = caret__buffer_ready(&s->txn);
    if (rc != CARET_OK)
        return rc;
    int said = caret__buffer_get(&s->txn, caret__node_key(n), n->key_len, &val, &len);
    return said < 0 ? CARET_NONE : said > 0 ? give(s, val, len, out) : CARET_ROLLBACK;
}

int caret__remote_get_node(caret_session *s, const struct caret__node *n, caret_slice *value)
{
    struct caret__bytes v = {NULL, 0};
    int rc = may_read(s);

    caret__count(s, CARET__GETS);
    if (rc == CARET_OK && (rc = get_buffered(s, n, value)) != CARET_ROLLBACK)
        return rc;
    if (rc == CARET_ROLLBACK)
        rc = caret__remote_get(s->remote, (struct caret__bytes){caret__node_key(n), n->key_len}, &v);
    return rc == CARET_OK ? give(s, v.data, v.len, value) : rc;
}

int caret__remote_data_of(caret_session *s, const struct caret__node *n, int *data)
{
    uint8_t key[CARET__PLACE_MAX];
    size_t len = n->key_len;
    int rc = may_read(s);

    if (rc != CARET_OK)
        return rc;
    if (s->txn.level == 0 || !s->txn.changed)
        return caret__remote_data(s->remote, caret__node_key(n), len, data);
    *data = 0;
    memcpy(key, caret__node_key(n), len);
    rc = caret__remote_step_merged(s->remote, &s->global, key, &len, false);
    if (rc == CARET_OK && len == n->key_len && memcmp(key, caret__node_key(n), len) == 0) {
        *data = 1;
        key[len++] = 0x01; /* the lowest first byte of a subscript */
        rc = caret__remote_step_merged(s->remote, &s->global, key, &len, false);
    }
    if (rc == CARET_OK && len > n->key_len && memcmp(key, caret__node_key(n), n->key_len) == 0)
        *data += 10;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* ------------------------------------------------------------- reading many nodes */

/* A key to be asked for, and the first of the nodes that it is of. */
struct asked {
    struct caret__bytes key;
    size_t node;
};

struct gather {
    caret_session *s;
    caret_slice *values;
    const struct asked *asked;
    size_t used; /* bytes of s->many */
};

/* The value goes to the session's memory for many, which moves until all are there: *to has the offset. */
static int put_by(struct gather *g, const void *value, size_t len, caret_slice *to)
{
    caret_session *s = g->s;

    if (g->used + len + 1 > s->many_cap) {
        size_t cap = (g->used + len) * 3 / 2 + 1024;
        uint8_t *many = realloc(s->many, cap);
        if (many == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for values of %zu bytes", g->used + len);
        s->many = many;
        s->many_cap = cap;
    }
    if (len != 0)
        memcpy(s->many + g->used, value, len);
    *to = (caret_slice){(const char *)(uintptr_t)(g->used + 1), len};
    g->used += len;
    return CARET_OK;
}

static int take_one(void *ctx, size_t index, struct caret__bytes key, struct caret__bytes value)
{
    struct gather *g = ctx;

    (void)key;
    return put_by(g, value.data, value.len, &g->values[g->asked[index].node]);
}

static int by_key(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    int order = caret__bytes_compare(x->key.data, x->key.len, y->key.data, y->key.len);

    return order != 0 ? order : x->node < y->node ? -1 : 1;
}

/* What is known without asking: locals, and what the transaction has changed.  *n: the others. */
static int take_known(struct gather *g, caret_node *const *nodes, size_t count, struct asked *asked,
                      size_t *n)
{
    for (size_t i = 0; i < count; i++) {
        const struct caret__node *node = caret__node(nodes[i]);
        caret_slice value;
        g->values[i] = (caret_slice){NULL, 0};
        int rc = node->local ? caret_get(g->s, nodes[i], &value) : get_buffered(g->s, node, &value);
        if (rc == CARET_ROLLBACK)
            asked[(*n)++] = (struct asked){{caret__node_key(node), node->key_len}, i};
        else if (rc == CARET_OK)
            rc = put_by(g, value.data, value.len, &g->values[i]);
        if (rc < 0)
            return rc;
    }
    return CARET_OK;
}

/* Ask for each key once; nodes of the same key get the same value. */
static int take_asked(struct gather *g, struct asked *asked, size_t n)
{
    struct caret__bytes *keys = malloc((n + 1) * sizeof *keys);
    struct asked *once = malloc((n + 1) * sizeof *once);
    size_t count = 0;
    int rc =
        keys == NULL || once == NULL ? caret__fail(CARET_E_NOMEM, "no memory for %zu keys", n) : CARET_OK;

    qsort(asked, n, sizeof *asked, by_key);
    for (size_t i = 0; rc == CARET_OK && i < n; i++)
        if (count == 0 || caret__bytes_compare(once[count - 1].key.data, once[count - 1].key.len,
                                               asked[i].key.data, asked[i].key.len) != 0) {
            keys[count] = asked[i].key;
            once[count++] = asked[i];
        }
    g->asked = once;
    if (rc == CARET_OK)
        rc = caret__remote_get_many(g->s->remote, keys, count, take_one, g);
    for (size_t i = 0, k = 0; rc == CARET_OK && i < n; i++) {
        k += asked[i].node != once[k].node && k + 1 < count && asked[i].node == once[k + 1].node;
        g->values[asked[i].node] = g->values[once[k].node];
    }
    free(keys);
    free(once);
    return rc;
}

int caret__remote_get_nodes(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values)
{
    struct gather g = {.s = s, .values = values};
    struct asked *asked = malloc((count + 1) * sizeof *asked);
    size_t n = 0;
    int rc = asked != NULL ? caret__if_remote(caret__session_enter_read(s), CARET_OK)
                           : caret__fail(CARET_E_NOMEM, "no memory for %zu nodes", count);

    if (rc == CARET_OK)
        rc = may_read(s);
    if (rc == CARET_OK)
        rc = take_known(&g, nodes, count, asked, &n);
    if (rc == CARET_OK && n != 0)
        rc = take_asked(&g, asked, n);
    free(asked);
    for (size_t i = 0; rc == CARET_OK && i < count; i++)
        if (values[i].data != NULL)
            values[i].data = (const char *)s->many + ((uintptr_t)values[i].data - 1);
    return rc;
}

/* --------------------------------------------------------------------- writing */

int caret__remote_writes(caret_session *s)
{
    if (s->remote->reads)
        return caret__fail(CARET_E_READONLY, "%s: a snapshot can only be read; end it to write", s->e->path);
    if (s->db->options.readonly)
        return caret__fail(CARET_E_READONLY, "%s: opened read-only", s->e->path);
    return CARET_OK;
}

int caret__remote_writer(caret_session *s)
{
    int rc = caret__remote_writes(s);

    if (rc == CARET_OK)
        rc = may_read(s);
    if (rc == CARET_OK)
        caret__count(s, CARET__SETS);
    return rc;
}

/* One change outside of a transaction. */
static int change(caret_session *s, const struct caret__store_op *op)
{
    int rc = caret__remote_change(s->remote, op, s->commit_flags);

    if (rc == CARET_OK)
        caret__count(s, CARET__COMMITS);
    return rc;
}

int caret__remote_set_node(caret_session *s, const struct caret__node *n, const void *value, size_t len)
{
    static const struct caret__spot nowhere = {0};
    int rc = caret__remote_writer(s);

    if (rc != CARET_OK)
        return rc;
    if (s->txn.level != 0)
        return caret__buffer_set(&s->txn, caret__node_key(n), n->key_len, value, len, &nowhere);
    const struct caret__store_op op = {
        CARET__STORE_SET, {caret__node_key(n), n->key_len}, {value != NULL ? value : (const void *)"", len}};
    return change(s, &op);
}

int caret__remote_remove(caret_session *s, const struct caret__span *r, bool alone)
{
    static const struct caret__spot nowhere = {0};
    int rc = caret__remote_writer(s);

    if (rc != CARET_OK)
        return rc;
    if (s->txn.level != 0)
        return alone ? caret__buffer_delete(&s->txn, r->lo, r->lo_len, &nowhere)
                     : caret__buffer_kill(&s->txn, r);
    struct caret__store_op op = {CARET__STORE_KILL, {r->lo, r->lo_len}, {r->hi, r->hi_len}};
    if (alone)
        op = (struct caret__store_op){CARET__STORE_DELETE, {r->lo, r->lo_len}, {NULL, 0}};
    return change(s, &op);
}

/* ---------------------------------------------------------------- transactions */

/* It is over; `rc` is what the caller is told. */
static int over(caret_session *s, int rc)
{
    struct caret__txn *t = &s->txn;
    int unlocked = rc == CARET_OK && t->restarts != 0 ? caret__remote_lock_commit(s->remote, t->lock_marks[0])
                                                      : CARET_OK;

    s->remote->reads = false;
    caret__txn_finish(s);
    return rc != CARET_OK ? rc : unlocked;
}

int caret__remote_end(caret_session *s)
{
    struct caret__txn *t = &s->txn;

    CARET__ASSERT(t->level == 1 && !t->broken);
    int rc = caret__remote_commit(s->remote, t->flags | s->commit_flags);
    if (rc == CARET_OK && t->changed)
        caret__count(s, CARET__COMMITS);
    if (rc == CARET_OK || rc == CARET_E_UNKNOWN)
        return over(s, rc);
    t->broken = true;
    return rc;
}

int caret__remote_back(caret_session *s)
{
    struct caret__txn *t = &s->txn;
    unsigned level = t->level - 1;
    int rc = caret__remote_lock_rollback(s->remote, t->lock_marks[level]);

    s->locker.level = t->lock_marks[level] - 1;
    if (level != 0) {
        caret__txn_undo(s, level);
        return rc;
    }
    caret__txn_drop(s);
    caret__remote_rollback(s->remote);
    s->remote->reads = false;
    caret__txn_finish(s);
    return rc;
}

int caret__remote_restart(caret_session *s)
{
    const struct caret__txn *t = &s->txn;

    caret__txn_drop(s);
    if (!s->remote->reads || t->broken) /* a snapshot is kept */
        caret__remote_rollback(s->remote);
    s->locker.level = t->lock_marks[0];
    int rc = caret__remote_lock_restart(s->remote, t->lock_marks[0]);
    if (rc == CARET_OK)
        caret__txn_again(s);
    return rc;
}
