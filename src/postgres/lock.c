/*
 * lock.c - locks on names, as advisory locks of a second connection.
 *
 *     ^tree(1,"a")   shared on ^tree, shared on ^tree(1), exclusive on ^tree(1,"a")
 *
 * So a name excludes those above it (they want exclusively what is held shared) and those below (the other way
 * round), and not its siblings.  An advisory lock is a number: a hash of the database's uuid and the key, or its
 * part. Two keys with one number, 2^-64 a pair, lock each other out without need; never too little.
 *
 * They are on a connection of their own, `names`, opened with the first lock: a timeout is a failed statement, which
 * would end the data's transaction.  And they are the connection's: with it the server gives them away, which is what
 * must happen when this process dies.  When it happens otherwise, the next call says EVICTED, once; each call asks,
 * as long as names are held, whether the connection is still there.
 *
 * What a connection has taken stays taken when a statement fails or is rolled back.  And a statement can fail after it
 * has taken its lock: the server gives it, then the limit or a cancellation comes before the waiter has run again.  So
 * nobody waits for a connection's lock:
 *
 *     wait    BEGIN, the limit, the locks for the transaction.  Failed: ROLLBACK, which gives back what was taken
 *     keep    the same locks for the connection, which can't wait now, and COMMIT.  Nothing is cancelled here
 *
 * One try (a limit of 0) takes them for the connection at once, as it does not wait either.  If a statement fails all
 * the same (the server's memory, an administrator), nobody knows what is taken, so the connection is closed: with it
 * all is given back.  A deadlock is found by the server, after its deadlock_timeout.
 *
 * Invariant: c->held names are taken on the server, and no others, whenever a call returns.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/key.h"
#include "postgres/inside.h"
#include "shm/engine.h"

#define MOST_MS 2147483647u

/* The locks of a list of names, in the order taken. */
struct wanted {
    uint64_t *number; /* as they are sent */
    bool *shared;
    size_t n, cap;
};

void caret__pg_names_drop(struct caret__pg_conn *c)
{
    caret__link_close(&c->names);
    c->evicted = c->evicted || c->held != 0;
    c->held = 0;
}

/* ---- names and numbers ---- */

static uint64_t number_of(const struct caret__pg_conn *c, const uint8_t *key, size_t len)
{
    struct caret__rand mix;
    uint64_t h = c->db->names_seed;

    for (size_t i = 0; i < len; i++)
        h = (h ^ key[i]) * UINT64_C(0x100000001b3);
    caret__rand_seed(&mix, h ^ len);
    return __builtin_bswap64(caret__rand_next(&mix));
}

static bool want(struct wanted *w, uint64_t number, bool shared)
{
    if (w->n == w->cap) {
        size_t cap = w->cap * 2 + 16;
        uint64_t *numbers = realloc(w->number, cap * sizeof *numbers);
        w->number = numbers != NULL ? numbers : w->number;
        bool *flags = realloc(w->shared, cap * sizeof *flags);
        w->shared = flags != NULL ? flags : w->shared;
        if (numbers == NULL || flags == NULL)
            return false;
        w->cap = cap;
    }
    w->number[w->n] = number;
    w->shared[w->n++] = shared;
    return true;
}

/* The end of the part of the key that ends at or after `at`: the variable's name, then each subscript. */
static size_t next_end(struct caret__bytes key, size_t at)
{
    const uint8_t *zero = at == 0 ? memchr(key.data, 0, key.len) : NULL;
    size_t n = at == 0 ? 0 : caret__sub_len(key.data + at, key.len - at);

    if (at == 0)
        return zero != NULL ? (size_t)(zero - key.data) + 1 : key.len;
    return n != 0 ? at + n : key.len;
}

static bool want_name(struct caret__pg_conn *c, struct wanted *w, struct caret__bytes key)
{
    bool ok = true;

    for (size_t end = next_end(key, 0); ok && end < key.len; end = next_end(key, end))
        ok = want(w, number_of(c, key.data, end), true);
    return ok && want(w, number_of(c, key.data, key.len), false);
}

static int want_all(struct caret__pg_conn *c, struct wanted *w, const struct caret__bytes *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!want_name(c, w, names[i]))
            return caret__fail(CARET_E_NOMEM, "no memory for %zu names", n);
    return CARET_OK;
}

static void free_wanted(struct wanted *w)
{
    free(w->number);
    free(w->shared);
}

/* ---- what is sent ---- */

static void add_one(struct caret__link *l, const struct wanted *w, size_t i, enum caret__sql exclusive,
                    enum caret__sql shared)
{
    caret__link_add(l, w->shared[i] ? shared : exclusive, &(struct caret__param){&w->number[i], 8});
}

/* Give back all. */
static int give_back(struct caret__link *l, const struct wanted *w)
{
    for (size_t i = w->n; i-- > 0;)
        add_one(l, w, i, CARET__SQL_UNLOCK, CARET__SQL_UNLOCK_SHARED);
    return w->n != 0 ? caret__link_run(l) : CARET_OK;
}

static void add_timeout(struct caret__link *l, uint64_t ns)
{
    char text[24];
    uint64_t ms = ns == UINT64_MAX ? 0 : caret__max64(1, caret__min64(ns / 1000000, MOST_MS));

    snprintf(text, sizeof text, "%llu", (unsigned long long)ms);
    caret__link_add(l, CARET__SQL_LOCK_TIMEOUT, &(struct caret__param){text, strlen(text)});
}

static void add_tries(struct caret__link *l, const struct wanted *w)
{
    for (size_t i = 0; i < w->n; i++)
        add_one(l, w, i, CARET__SQL_TRY, CARET__SQL_TRY_SHARED);
}

/* Which of the tries were successful? */
static int note_taken(const struct caret__link *l, const struct wanted *w, struct wanted *taken)
{
    for (size_t i = 0; i < w->n && i < l->nrows; i++)
        if (*caret__pq.value(l->rows[i], 0, 0) != 0 && !want(taken, w->number[i], w->shared[i]))
            return caret__fail(CARET_E_NOMEM, "no memory for %zu names", w->n);
    return CARET_OK;
}

/* One try, without waiting: what was not to be had tells its row. */
static int try_once(struct caret__link *l, const struct wanted *w)
{
    struct wanted taken = {0};

    add_tries(l, w);
    int rc = caret__link_run(l);
    if (rc == CARET_OK)
        rc = note_taken(l, w, &taken);
    bool all = taken.n == w->n;
    if (rc == CARET_OK && !all)
        rc = give_back(l, &taken);
    free_wanted(&taken);
    return rc != CARET_OK || all ? rc : caret__outcome(CARET_LOCK_TIMEOUT);
}

/* Why it was not taken. */
static int refused(struct caret__pg_conn *c, bool ended)
{
    const char *state = c->names.state;

    if (strcmp(state, "57014") == 0 && ended && c->names.stopped)
        return caret__fail(CARET_E_INTERRUPTED, "the wait for a lock was ended");
    if (strcmp(state, "55P03") == 0 || (strcmp(state, "57014") == 0 && ended))
        return caret__outcome(CARET_LOCK_TIMEOUT);
    if (strcmp(state, "40P01") == 0)
        return caret__fail(CARET_DEADLOCK, "%s: %s (SQLSTATE 40P01)", c->db->head.shown, c->names.text);
    return caret__sqlstate_fail(&c->names, c->db->head.shown);
}

/* They are the transaction's: now they are the connection's. */
static int keep(struct caret__link *l, const struct wanted *w)
{
    add_tries(l, w);
    caret__link_add(l, CARET__SQL_COMMIT, NULL);
    return caret__link_run(l);
}

/* FAILED: it is not known what is taken. */
static int wait_for(struct caret__pg_conn *c, const struct wanted *w, uint64_t timeout_ns)
{
    struct caret__link *l = &c->names;
    uint64_t now = caret__now_ns();
    bool ended;

    caret__link_add(l, CARET__SQL_BEGIN_LOOSE, NULL);
    add_timeout(l, timeout_ns);
    for (size_t i = 0; i < w->n; i++)
        add_one(l, w, i, CARET__SQL_LOCK, CARET__SQL_LOCK_SHARED);
    int rc = caret__link_run_until(l, timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns, &ended);
    if (rc != CARET__LINK_FAILED)
        return rc == CARET_OK ? keep(l, w) : rc;
    rc = refused(c, ended);
    caret__link_add(l, CARET__SQL_ROLLBACK, NULL);
    if (caret__link_run(l) != CARET_OK)
        caret__pg_names_drop(c);
    return rc;
}

/* ---- the driver's ---- */

static int take(struct caret__pg_conn *c, const struct wanted *w, uint64_t timeout_ns)
{
    uint64_t until = caret__now_ns() + c->db->way.patience_ns;

    for (;;) {
        c->names.stoppable = true;
        int rc = caret__link_ensure(&c->names, until);
        c->names.stoppable = false;
        if (rc != CARET_OK)
            return caret__pg_fail(c, &c->names, CARET__LINK_LOST);
        rc = timeout_ns == 0 ? try_once(&c->names, w) : wait_for(c, w, timeout_ns);
        if (rc == CARET__LINK_FAILED || rc == CARET_E_NOMEM) {
            rc = rc == CARET_E_NOMEM ? rc : refused(c, false);
            caret__pg_names_drop(c);
            return rc;
        }
        if (rc != CARET__LINK_LOST)
            return rc;
        if (c->held != 0) {
            caret__pg_names_drop(c);
            return caret__pg_enter(c);
        }
        if (caret__now_ns() >= until || c->names.silent)
            return caret__pg_fail(c, &c->names, CARET__LINK_LOST);
    }
}

int caret__pg_lock(void *conn, const struct caret__bytes *names, size_t n, uint64_t timeout_ns)
{
    struct caret__pg_conn *c = conn;
    struct wanted w = {0};
    int rc = caret__pg_enter(c);

    if (rc == CARET_OK && (c->db->head.has & CARET__STORE_LOCKS) == 0)
        rc = caret__fail(CARET_E_UNSUPPORTED, "%s: locks are not available on %s", c->db->head.shown,
                         c->db->server);
    if (rc == CARET_OK)
        rc = want_all(c, &w, names, n);
    if (rc == CARET_OK && n != 0)
        rc = take(c, &w, timeout_ns);
    if (rc == CARET_OK)
        c->held += n;
    free_wanted(&w);
    return rc;
}

int caret__pg_unlock(void *conn, const struct caret__bytes *names, size_t n)
{
    struct caret__pg_conn *c = conn;
    struct wanted w = {0};
    int rc = caret__pg_enter(c);

    if (rc == CARET_OK)
        rc = want_all(c, &w, names, n);
    if (rc != CARET_OK) {
        free_wanted(&w);
        return rc;
    }
    CARET__ASSERT(n <= c->held);
    rc = give_back(&c->names, &w);
    free_wanted(&w);
    if (rc != CARET__LINK_LOST)
        c->held -= n;
    if (rc == CARET_OK)
        return CARET_OK;
    caret__pg_names_drop(c); /* if it failed, they are given back so */
    return caret__pg_enter(c);
}
