/*
 * memory_store.c - see memory_store.h.
 *
 * The state of a database is an ordered array of rows that is never changed while two refer to it: a transaction keeps
 * the one that it began with, a commit makes another.  A transaction that has read, and finds another state than its
 * own when it commits, is to be restarted: so transactions are done one after the other.
 *
 * One mutex for everything.
 */
#include "support/memory_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/session.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/key.h"
#include "store/address.h"

struct row {
    uint8_t *key, *value; /* of one malloc, with how many rows of states have it */
    size_t klen, vlen;
    unsigned *refs;
};

struct state {
    unsigned refs;
    size_t n, cap;
    struct row *row;
};

struct conn;
struct lock {
    uint8_t key[CARET__KEY_MAX];
    size_t len;
    struct conn *owner;
};

#define LOCKS 256u
struct base {
    struct caret__store_db head;
    char name[64];
    struct state *state;
    struct lock lock[LOCKS];
    unsigned nlocks, users;
    struct base *next;
};

struct conn {
    struct base *base;
    struct state *view; /* of a transaction that has read */
    bool begun, evicted;
    uint8_t *out; /* what was handed out */
    size_t out_len;
    uint8_t key[CARET__KEY_MAX];
    caret__store_stop *stop;
    void *ctx;
    const struct caret__bytes *wants; /* locks it waits for */
    size_t nwants;
    struct conn *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct base *bases;
static struct conn *conns;
static struct memory_counts counts;
static struct {
    int code;
    unsigned skip, times;
    bool done;
} fails[MEMORY_CALLS];

/* --------------------------------------------------------------------- control */

void memory_store_fail(enum memory_call call, int code, unsigned skip, unsigned times, bool done)
{
    pthread_mutex_lock(&mutex);
    fails[call].code = code;
    fails[call].skip = skip;
    fails[call].times = times;
    fails[call].done = done;
    pthread_mutex_unlock(&mutex);
}

struct memory_counts memory_store_counts(void)
{
    pthread_mutex_lock(&mutex);
    struct memory_counts c = counts;
    counts = (struct memory_counts){0};
    pthread_mutex_unlock(&mutex);
    return c;
}

void memory_store_install(void)
{
    caret__store_add(&memory_store);
}

unsigned memory_store_locked(void)
{
    unsigned n = 0;

    pthread_mutex_lock(&mutex);
    for (const struct base *b = bases; b != NULL; b = b->next)
        n += b->nlocks;
    pthread_mutex_unlock(&mutex);
    return n;
}

void memory_store_lose_locks(void)
{
    pthread_mutex_lock(&mutex);
    for (struct base *b = bases; b != NULL; b = b->next) {
        for (unsigned i = 0; i < b->nlocks; i++)
            b->lock[i].owner->evicted = true;
        b->nlocks = 0;
    }
    pthread_mutex_unlock(&mutex);
}

static int fault(struct conn *c, enum memory_call call, bool *done)
{
    if (c->evicted) {
        c->evicted = false;
        return caret__fail(CARET_E_EVICTED, "%s: the connection that held locks was lost",
                           c->base->head.shown);
    }
    if (fails[call].times == 0 || (fails[call].skip != 0 && fails[call].skip-- != 0))
        return CARET_OK;
    fails[call].times--;
    if (done != NULL)
        *done = fails[call].done;
    return fails[call].code > 0 ? fails[call].code : caret__fail(fails[call].code, "as the test wants it");
}

/* ----------------------------------------------------------------------- states */

static void *need(size_t bytes)
{
    void *p = calloc(1, bytes + 1);

    if (p == NULL)
        abort();
    return p;
}

static void row_drop(struct row *r)
{
    if (--*r->refs == 0)
        free(r->refs);
}

static struct row row_make(struct caret__bytes key, struct caret__bytes value)
{
    unsigned *refs = need(sizeof *refs + key.len + value.len);
    struct row r = {(uint8_t *)(refs + 1), (uint8_t *)(refs + 1) + key.len, key.len, value.len, refs};

    *refs = 1;
    memcpy(r.key, key.data, key.len);
    if (value.len != 0)
        memcpy(r.value, value.data, value.len);
    return r;
}

static void state_drop(struct state *s)
{
    if (s == NULL || --s->refs != 0)
        return;
    for (size_t i = 0; i < s->n; i++)
        row_drop(&s->row[i]);
    free(s->row);
    free(s);
}

/* The database's state, which nobody else sees. */
static struct state *own(struct base *b)
{
    struct state *old = b->state;

    if (old->refs == 1)
        return old;
    struct state *s = need(sizeof *s);
    *s = (struct state){1, old->n, old->n + 64, need((old->n + 64) * sizeof *s->row)};
    if (old->n != 0)
        memcpy(s->row, old->row, old->n * sizeof *s->row);
    for (size_t i = 0; i < s->n; i++)
        ++*s->row[i].refs;
    state_drop(old);
    b->state = s;
    return s;
}

/* The first row at or after the key. */
static size_t seek(const struct state *s, struct caret__bytes key)
{
    size_t lo = 0, hi = s->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (caret__bytes_compare(s->row[mid].key, s->row[mid].klen, key.data, key.len) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_at(const struct state *s, size_t i, struct caret__bytes key)
{
    return i < s->n && s->row[i].klen == key.len && memcmp(s->row[i].key, key.data, key.len) == 0;
}

static void take_out(struct state *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        row_drop(&s->row[i]);
    if (to < s->n)
        memmove(s->row + from, s->row + to, (s->n - to) * sizeof *s->row);
    s->n -= to - from;
}

static void put_in(struct state *s, size_t i, struct row row)
{
    if (s->n == s->cap) {
        s->cap = 2 * s->cap + 64;
        s->row = realloc(s->row, s->cap * sizeof *s->row);
        if (s->row == NULL)
            abort();
    }
    if (i < s->n)
        memmove(s->row + i + 1, s->row + i, (s->n - i) * sizeof *s->row);
    s->row[i] = row;
    s->n++;
}

static void apply(struct state *s, const struct caret__store_op *op)
{
    size_t i = seek(s, op->key), to = i;

    if (op->kind == CARET__STORE_KILL)
        to = seek(s, op->value);
    else if (is_at(s, i, op->key))
        to = i + 1;
    take_out(s, i, to);
    if (op->kind == CARET__STORE_SET)
        put_in(s, i, row_make(op->key, op->value));
}

/* -------------------------------------------------------------------- databases */

static int open_store(const char *url, const caret_options *o, struct caret__store_db **db)
{
    const char *name = strstr(url, "://") + 3;
    struct base *b;

    pthread_mutex_lock(&mutex);
    for (b = bases; b != NULL && strcmp(b->name, name) != 0; b = b->next)
        ;
    if (b == NULL && (o->no_create || o->readonly)) {
        pthread_mutex_unlock(&mutex);
        return caret__fail(CARET_E_NOTFOUND, "%s: no such database", url);
    }
    if (b == NULL) {
        b = need(sizeof *b);
        strncpy(b->name, name, sizeof b->name - 1);
        b->state = need(sizeof *b->state);
        b->state->refs = 1;
        b->head = (struct caret__store_db){&memory_store, CARET__STORE_LOCKS | CARET__STORE_SNAPSHOT,
                                           caret__address_shown(url), "a test", 1u << 20};
        b->next = bases;
        bases = b;
    }
    b->users++;
    pthread_mutex_unlock(&mutex);
    *db = &b->head;
    return CARET_OK;
}

static void close_store(struct caret__store_db *db)
{
    struct base *b = (struct base *)db, **at = &bases;

    pthread_mutex_lock(&mutex);
    if (--b->users == 0 && strstr(b->name, "kept") == NULL) { /* others are gone with their last user */
        while (*at != b)
            at = &(*at)->next;
        *at = b->next;
        state_drop(b->state);
        free(b->head.shown);
        free(b);
    }
    pthread_mutex_unlock(&mutex);
}

static int attach(struct caret__store_db *db, caret__store_stop *stop, void *ctx, void **conn)
{
    struct conn *c = need(sizeof *c);

    c->base = (struct base *)db;
    c->stop = stop;
    c->ctx = ctx;
    pthread_mutex_lock(&mutex);
    counts.attached++;
    c->next = conns;
    conns = c;
    pthread_mutex_unlock(&mutex);
    *conn = c;
    return CARET_OK;
}

static void drop(struct conn *c)
{
    struct base *b = c->base;
    struct conn **at = &conns;

    for (unsigned i = 0; i < b->nlocks;)
        if (b->lock[i].owner == c)
            b->lock[i] = b->lock[--b->nlocks];
        else
            i++;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    state_drop(c->view);
    free(c->out);
    free(c);
}

static void detach(void *conn)
{
    pthread_mutex_lock(&mutex);
    counts.detached++;
    drop(conn);
    pthread_mutex_unlock(&mutex);
}

static void forget(void *conn)
{
    pthread_mutex_lock(&mutex);
    counts.forgotten++;
    drop(conn);
    pthread_mutex_unlock(&mutex);
}

/* ---------------------------------------------------------------------- reading */

static int begin(void *conn, enum caret__store_begin how, unsigned restarts)
{
    struct conn *c = conn;

    pthread_mutex_lock(&mutex);
    counts.begins++;
    counts.how = how;
    counts.restarts = caret__max(counts.restarts, restarts);
    c->begun = true;
    pthread_mutex_unlock(&mutex);
    return CARET_OK;
}

/* The state to read; the mutex is locked, and stays so if it is CARET_OK. */
static int look(struct conn *c, const struct state **s)
{
    pthread_mutex_lock(&mutex);
    counts.reads++;
    int rc = fault(c, MEMORY_READ, NULL);
    if (rc != CARET_OK) {
        pthread_mutex_unlock(&mutex);
        return rc;
    }
    if (c->begun && c->view == NULL) {
        c->view = c->base->state;
        c->view->refs++;
    }
    *s = c->begun ? c->view : c->base->state;
    return CARET_OK;
}

/* A copy that lives until the next one. */
static struct caret__bytes hand_out(struct conn *c, const struct row *r)
{
    free(c->out);
    c->out = need(r->vlen);
    memcpy(c->out, r->value, r->vlen);
    return (struct caret__bytes){c->out, r->vlen};
}

static int get(void *conn, struct caret__bytes key, struct caret__bytes *value)
{
    const struct state *s;
    int rc = look(conn, &s);

    if (rc != CARET_OK)
        return rc;
    size_t i = seek(s, key);
    rc = is_at(s, i, key) ? CARET_OK : CARET_NONE;
    if (rc == CARET_OK)
        *value = hand_out(conn, &s->row[i]);
    pthread_mutex_unlock(&mutex);
    return rc;
}

static int get_many(void *conn, const struct caret__bytes *keys, size_t n, caret__store_each *each, void *ctx)
{
    const struct state *s;
    int rc = look(conn, &s);

    if (rc != CARET_OK)
        return rc;
    for (size_t k = n; k > 0 && rc == CARET_OK; k--) { /* in no order that could be relied on */
        size_t i = seek(s, keys[k - 1]);
        if (is_at(s, i, keys[k - 1]))
            rc = each(ctx, k - 1, keys[k - 1], (struct caret__bytes){s->row[i].value, s->row[i].vlen});
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

static int step(void *conn, struct caret__bytes from, unsigned flags, struct caret__bytes *key,
                struct caret__bytes *value)
{
    struct conn *c = conn;
    const struct state *s;
    int rc = look(c, &s);

    if (rc != CARET_OK)
        return rc;
    bool back = (flags & CARET__STORE_BACK) != 0;
    size_t i = back && from.len == 0 ? s->n : seek(s, from);
    rc = (back ? i > 0 : i < s->n) ? CARET_OK : CARET_NONE;
    if (rc == CARET_OK) {
        const struct row *r = &s->row[i - back];
        memcpy(c->key, r->key, r->klen);
        *key = (struct caret__bytes){c->key, r->klen};
        if ((flags & CARET__STORE_VALUE) != 0)
            *value = hand_out(c, r);
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

static int range(void *conn, struct caret__bytes lo, struct caret__bytes hi, size_t most, bool values,
                 caret__store_each *each, void *ctx)
{
    const struct state *s;
    int rc = look(conn, &s);

    if (rc != CARET_OK)
        return rc;
    size_t from = seek(s, lo), to = hi.len != 0 ? seek(s, hi) : s->n;
    if (most != 0 && to - from > most)
        to = from + most;
    for (size_t i = from; i < to && rc == CARET_OK; i++)
        rc = each(ctx, i - from, (struct caret__bytes){s->row[i].key, s->row[i].klen},
                  (struct caret__bytes){values ? s->row[i].value : NULL, s->row[i].vlen});
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* ---------------------------------------------------------------------- writing */

static struct caret__bytes copied(struct caret__bytes b) /* for the test to look at; never freed */
{
    static uint8_t room[64][64];
    static unsigned next;
    uint8_t *to = room[next++ % 64];

    b.len = caret__min(b.len, sizeof *room);
    if (b.len != 0)
        memcpy(to, b.data, b.len);
    return (struct caret__bytes){to, b.len};
}

static void note(const struct caret__store_op *ops, size_t n, unsigned flags)
{
    counts.commits++;
    counts.ops = (unsigned)n;
    counts.flags = flags;
    for (size_t i = 0; i < n && i < sizeof counts.op / sizeof *counts.op; i++)
        counts.op[i] = (struct caret__store_op){ops[i].kind, copied(ops[i].key), copied(ops[i].value)};
}

static void end(struct conn *c)
{
    state_drop(c->view);
    c->view = NULL;
    c->begun = false;
}

static int commit(void *conn, const struct caret__store_op *ops, size_t n, unsigned flags)
{
    struct conn *c = conn;
    bool done = true;

    pthread_mutex_lock(&mutex);
    note(ops, n, flags);
    int rc = fault(c, MEMORY_COMMIT, &done);
    bool overtaken = c->view != NULL && c->view != c->base->state;
    end(c);
    if (rc == CARET_OK && overtaken && n != 0)
        rc = CARET_RESTART;
    if (n != 0 && (rc == CARET_OK || (rc == CARET_E_UNKNOWN && done))) {
        struct state *s = own(c->base);
        for (size_t i = 0; i < n; i++)
            apply(s, &ops[i]);
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

static void rollback(void *conn)
{
    pthread_mutex_lock(&mutex);
    counts.rollbacks++;
    end(conn);
    pthread_mutex_unlock(&mutex);
}

static int sync_all(void *conn)
{
    (void)conn;
    return CARET_OK;
}

/* ------------------------------------------------------------------------ locks */

static bool meet(const struct lock *l, struct caret__bytes name)
{
    return memcmp(l->key, name.data, caret__min(l->len, name.len)) == 0;
}

/* Who is in its way? */
static struct conn *blocker(const struct conn *c, const struct caret__bytes *names, size_t n,
                            struct conn *but)
{
    for (size_t k = 0; k < n; k++)
        for (unsigned i = 0; i < c->base->nlocks; i++) {
            struct conn *owner = c->base->lock[i].owner;
            if (owner != c && owner != but && meet(&c->base->lock[i], names[k]))
                return owner;
        }
    return NULL;
}

/* Does what is in c's way wait for c? */
static bool in_ring(const struct conn *c, const struct conn *from, unsigned depth)
{
    struct conn *b = blocker(from, from->wants, from->nwants, NULL);

    return b != NULL && depth != 0 && (b == c || in_ring(c, b, depth - 1));
}

static void take(struct conn *c, const struct caret__bytes *names, size_t n)
{
    for (size_t i = 0; i < n && c->base->nlocks < LOCKS; i++) {
        struct lock *l = &c->base->lock[c->base->nlocks++];
        memcpy(l->key, names[i].data, names[i].len);
        l->len = names[i].len;
        l->owner = c;
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One try; the mutex is locked. */
static int try_lock(struct conn *c, uint64_t deadline)
{
    if (blocker(c, c->wants, c->nwants, NULL) == NULL) {
        take(c, c->wants, c->nwants);
        return CARET_OK;
    }
    if (in_ring(c, c, 16)) {
        caret__fail(CARET_DEADLOCK, "each waits for the next");
        return CARET_DEADLOCK;
    }
    if (now_ns() >= deadline)
        return caret__outcome(CARET_LOCK_TIMEOUT);
    return c->stop != NULL && c->stop(c->ctx) ? caret__fail(CARET_E_INTERRUPTED, "while waiting for a lock")
                                              : CARET_NONE;
}

static int lock(void *conn, const struct caret__bytes *names, size_t n, uint64_t timeout_ns)
{
    struct conn *c = conn;
    uint64_t now = now_ns(), deadline = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    int rc;

    pthread_mutex_lock(&mutex);
    rc = fault(c, MEMORY_LOCK, NULL);
    c->wants = names;
    c->nwants = n;
    while (rc == CARET_OK && (rc = try_lock(c, deadline)) == CARET_NONE) {
        rc = CARET_OK;
        pthread_mutex_unlock(&mutex);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_mutex_lock(&mutex);
        if (c->evicted)
            rc = fault(c, MEMORY_LOCK, NULL);
    }
    c->nwants = 0;
    pthread_mutex_unlock(&mutex);
    return rc;
}

static int unlock(void *conn, const struct caret__bytes *names, size_t n)
{
    struct conn *c = conn;
    struct base *b = c->base;

    pthread_mutex_lock(&mutex);
    int rc = fault(c, MEMORY_UNLOCK, NULL);
    for (size_t k = 0; k < n && rc == CARET_OK; k++)
        for (unsigned i = 0; i < b->nlocks; i++)
            if (b->lock[i].owner == c && b->lock[i].len == names[k].len && meet(&b->lock[i], names[k])) {
                b->lock[i] = b->lock[--b->nlocks];
                break;
            }
    pthread_mutex_unlock(&mutex);
    return rc;
}

const struct caret__store memory_store = {
    .schemes = {"test"},
    .open = open_store,
    .close = close_store,
    .attach = attach,
    .detach = detach,
    .forget = forget,
    .begin = begin,
    .get = get,
    .get_many = get_many,
    .step = step,
    .range = range,
    .commit = commit,
    .rollback = rollback,
    .sync = sync_all,
    .lock = lock,
    .unlock = unlock,
};
