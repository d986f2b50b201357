/*
 * commit.c - a list of changes, in one trip, done once.
 *
 *     [BEGIN]  kills, deletes, sets (in key order)  token  [COMMIT]        one pipeline
 *
 * In key order, as it comes: two transactions that write the same keys wait for each other, and never in a ring.
 *
 * THE TOKEN.  A connection that is lost between COMMIT and its answer leaves it open whether the transaction was
 * done. So the last statement of each commit inserts 16 bytes into the table of tokens that no other commit has.
 * With another connection it is found out:
 *
 *     1  end the server's process of the lost connection, if it still runs
 *     2  insert the token as 'a', and if it is there take its state
 *        state c: it was done.   state a: it was not, and never will be: should that process come to its token after
 *        all, the token is there, it fails, and its transaction with it.
 *
 * Step 2 waits for a transaction that has inserted the token and not ended (the index of tokens is unique); 1 is lest
 * it waits for one that never ends.  It writes in either case, so that its own commit waits, where there is a
 * synchronous replica, until what it saw is there too.  If both fail for `patience`, the outcome is CARET_E_UNKNOWN:
 * nobody may guess then.
 *
 * A commit of which the server says that it was not waited for any more until a standby had it (pg_cancel_backend)
 * counts as lost: what finds it out waits for the standby again.
 *
 * A commit that was not answered for caret_timeout is looked for in the same way; if it was not done it is not tried
 * again, for it may be what takes so long: it is an error.
 *
 * A transaction that has read nothing from the server is repeated here when it conflicts or was not done; one that
 * has is told RESTART.  With CARET__STORE_BATCH there is no token: an unknown outcome is done again.
 *
 * A token is eight bytes that name the connection and eight that count.  Those that were answered are deleted by
 * their connection, a thousand at a time, in a transaction that takes no part in conflicts; those of connections that
 * were lost by whoever opens the database a day later.
 */
#include <unistd.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "postgres/inside.h"
#include "shm/engine.h"

#define TOKENS_AT_ONCE 1024u
#define FIX_NS         UINT64_C(10000000)

struct changes {
    const struct caret__store_op *ops;
    size_t n;
    unsigned flags;
    bool seen;  /* something was read before: it can't be repeated */
    bool token; /* it has one */
};

/* ---- what is sent ---- */

static int check(struct caret__pg_conn *c, const struct changes *w)
{
    size_t bytes = 0;

    if (w->n != 0 && c->db->read_only)
        return caret__fail(CARET_E_READONLY, "%s: opened read-only", c->db->head.shown);
    for (size_t i = 0; i < w->n; i++)
        bytes += w->ops[i].key.len + w->ops[i].value.len;
    if (w->n > 1 && bytes > c->db->head.txn_most) /* one value alone may always be */
        return caret__fail(CARET_E_TXN_TOO_BIG,
                           "%s: %zu bytes of changes; %zu are the most in one transaction", c->db->head.shown,
                           bytes, c->db->head.txn_most);
    return CARET_OK;
}

/* The run of changes of one kind that one statement can have. */
static size_t run_of(const struct changes *w, size_t from)
{
    size_t i = from, bytes = 0;

    while (i < w->n && w->ops[i].kind == w->ops[from].kind && i - from < CARET__PG_ROWS_MOST &&
           (i == from || bytes < CARET__PG_BYTES_MOST)) {
        bytes += w->ops[i].key.len + w->ops[i].value.len;
        i++;
    }
    return i;
}

static struct caret__param param_of(struct caret__bytes b)
{
    return (struct caret__param){b.data, b.len};
}

static struct caret__param token_of(const struct caret__pg_conn *c)
{
    return (struct caret__param){c->token, sizeof c->token};
}

static int add_lists(struct caret__pg_conn *c, const struct caret__store_op *ops, size_t n, bool sets,
                     bool token)
{
    caret__pg_array_begin(&c->a);
    caret__pg_array_begin(&c->b);
    for (size_t i = 0; i < n; i++) {
        caret__pg_array_add(&c->a, ops[i].key);
        if (sets)
            caret__pg_array_add(&c->b, ops[i].value);
    }
    struct caret__param lists[] = {caret__pg_array_end(&c->a), caret__pg_array_end(&c->b), token_of(c)};
    if (lists[0].data == NULL || lists[1].data == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for %zu changes", n);
    caret__link_add(&c->data,
                    !sets   ? CARET__SQL_DELETE
                    : token ? CARET__SQL_SETS_LAST
                            : CARET__SQL_SETS,
                    lists);
    return CARET_OK;
}

static void add_one(struct caret__pg_conn *c, const struct caret__store_op *op, bool token)
{
    caret__link_add(&c->data,
                    op->kind == CARET__STORE_KILL ? CARET__SQL_KILL
                    : token                       ? CARET__SQL_SET_LAST
                                                  : CARET__SQL_SET,
                    (struct caret__param[]){param_of(op->key), param_of(op->value), token_of(c)});
}

/* The token goes with the last statement, if that sets; other products get one that is plain. */
static bool takes_token(const struct caret__pg_conn *c, const struct changes *w)
{
    return w->token && w->n != 0 && w->ops[w->n - 1].kind == CARET__STORE_SET &&
           c->db->product == CARET__PG_POSTGRES;
}

static int add_changes(struct caret__pg_conn *c, const struct changes *w)
{
    bool taken = takes_token(c, w);
    int rc = CARET_OK;

    for (size_t i = 0, end; rc == CARET_OK && i < w->n; i = end) {
        const struct caret__store_op *op = &w->ops[i];
        end = op->kind == CARET__STORE_KILL ? i + 1 : run_of(w, i);
        bool set = op->kind == CARET__STORE_SET, token = taken && end == w->n;
        if (op->kind == CARET__STORE_KILL || (set && end == i + 1))
            add_one(c, op, token);
        else
            rc = add_lists(c, op, end - i, set, token);
    }
    if (rc == CARET_OK && w->token && !taken)
        caret__link_add(&c->data, CARET__SQL_TOKEN, (struct caret__param[]){token_of(c)});
    return rc;
}

/* The next token, into the connection. */
static void next_token(struct caret__pg_conn *c)
{
    caret__put_le64(c->token + 8, __builtin_bswap64(++c->tokens));
}

/* Must the commit say that it waits for the disk?  Through a pooler the connection's settings do not; other products
 * always wait. */
static bool waits_by_itself(const struct caret__pg_conn *c, unsigned flags)
{
    if (c->db->product != CARET__PG_POSTGRES)
        return false;
    if (c->db->pooled && c->db->waits_disk)
        return (flags & CARET__STORE_BATCH) == 0;
    return (flags & CARET__STORE_SYNC) != 0 && !c->db->waits_disk;
}

/* BEGIN and COMMIT around it, if the server does not take a batch for a transaction, or it is not all of one. */
static int send_all(struct caret__pg_conn *c, const struct changes *w)
{
    bool sync = waits_by_itself(c, w->flags);
    bool closed = c->reading || !c->db->one_trip || sync;

    if (closed && !c->reading)
        caret__link_add(&c->data, CARET__SQL_BEGIN, NULL);
    if (sync)
        caret__link_add(&c->data, CARET__SQL_WAIT_DISK, NULL);
    if (w->token)
        next_token(c);
    int rc = add_changes(c, w);
    if (closed)
        caret__link_add(&c->data, rc == CARET_OK ? CARET__SQL_COMMIT : CARET__SQL_ROLLBACK, NULL);
    int ran = caret__link_run(&c->data);
    if (ran == CARET__LINK_FAILED && closed) {
        c->reading = true;
        caret__pg_abandon(c);
    }
    c->reading = false;
    return rc != CARET_OK ? rc : ran;
}

/* ---- what became of it ---- */

/* End the server's process that had the connection, if it is still there. */
static void end_backend(struct caret__link *l, int backend, const char *started)
{
    uint32_t number = __builtin_bswap32((uint32_t)backend);

    if (backend == 0)
        return;
    caret__link_add(l, CARET__SQL_TERMINATE,
                    (struct caret__param[]){{&number, 4}, {started, strlen(started)}});
    caret__link_run(l);
}

/* OK: it was done.  NONE: it was not, and won't be. */
static int find_out(struct caret__pg_conn *c, int backend, const char *started)
{
    uint64_t until = caret__now_ns() + c->db->way.patience_ns;
    struct caret__link *l = &c->data;

    for (unsigned n = 0; n == 0 || caret__now_ns() < until; n++) {
        if (n > 0)
            caret__pg_pause(c, n);
        if (caret__link_ensure(l, until) != CARET_OK)
            break;
        end_backend(l, c->db->one_trip ? backend : 0, started);
        if (!c->db->one_trip)
            caret__link_add(l, CARET__SQL_BEGIN, NULL);
        caret__link_add(l, CARET__SQL_RESOLVE, &(struct caret__param){c->token, sizeof c->token});
        if (!c->db->one_trip)
            caret__link_add(l, CARET__SQL_COMMIT, NULL);
        int rc = caret__link_run(l);
        const struct pg_result *r = caret__link_rows(l, 0);
        if (rc == CARET_OK && r != NULL && caret__pq.rows(r) == 1)
            return *caret__pq.value(r, 0, 0) == 'c' ? CARET_OK : CARET_NONE;
        if (rc == CARET__LINK_FAILED && !c->db->one_trip) {
            c->reading = true;
            caret__pg_abandon(c);
        }
    }
    return caret__fail(
        CARET_E_UNKNOWN,
        "%s: the connection was lost at commit, and it could not be found out whether it happened: %s",
        c->db->head.shown, l->text);
}

/* The connection was lost: RESTART, or again (NONE), or it is known what happened. */
static int after_loss(struct caret__pg_conn *c, const struct changes *w, int backend, const char *started)
{
    bool silent = c->data.silent;
    int rc = CARET_NONE;

    if (w->token) {
        rc = find_out(c, backend, started);
        caret__pg_token_new(c); /* that one is not to be swept: it may be what keeps the old process out */
    }
    if (rc == CARET_NONE && silent)
        return caret__fail(CARET_E_IO, "%s: no answer to a commit for %d seconds; %s", c->db->head.shown,
                           c->db->way.silence_ms / 1000,
                           w->token ? "nothing of it was done" : "whether it was done is not known");
    return rc == CARET_NONE && w->seen ? CARET_RESTART : rc;
}

/* Tokens of this connection that were answered are needed no more. */
static void sweep_tokens(struct caret__pg_conn *c)
{
    uint8_t from[16];

    if (c->tokens - c->tokens_done < TOKENS_AT_ONCE || c->data.owed != 0 || c->data.pq == NULL)
        return;
    memcpy(from, c->token, sizeof from);
    caret__put_le64(from + 8, __builtin_bswap64(c->tokens_done));
    caret__link_leave_loose(&c->data, CARET__SQL_TOKENS_DONE,
                            (struct caret__param[]){{from, sizeof from}, {c->token, sizeof c->token}});
    c->tokens_done = c->tokens;
}

/* ---- once, and again if need be ---- */

static int once(struct caret__pg_conn *c, const struct changes *w)
{
    char started[sizeof c->data.started];
    int backend = c->data.backend;

    memcpy(started, c->data.started, sizeof started);
    int rc = send_all(c, w);
    if (rc == CARET__LINK_LOST)
        return after_loss(c, w, backend, started);
    if (rc != CARET__LINK_FAILED)
        return rc;
    bool again = caret__pg_again(c);
    if (again && !w->seen)
        return CARET_NONE;
    return again ? CARET_RESTART : caret__pg_fail(c, &c->data, rc);
}

static int do_changes(struct caret__pg_conn *c, const struct changes *w)
{
    uint64_t until = 0;

    c->waits = c->begun ? c->waits : 0;
    for (unsigned n = 0;; n++) {
        if (caret__unlikely(c->data.pq == NULL)) {
            if (w->seen)
                return CARET_RESTART;
            c->data.stoppable = true; /* nothing was sent, or nothing of it was done */
            bool connected = caret__pg_reconnect(c, &until);
            c->data.stoppable = false;
            if (!connected)
                return caret__pg_fail(c, &c->data, CARET__LINK_LOST);
        }
        int rc = once(c, w);
        if (rc != CARET_NONE)
            return rc;
        caret__pg_pause(c, n);
    }
}

int caret__pg_commit(void *conn, const struct caret__store_op *ops, size_t n, unsigned flags)
{
    struct caret__pg_conn *c = conn;
    struct changes w = {ops, n, flags, .seen = c->reading};
    int rc = caret__pg_enter(c);

    if (rc == CARET_OK && c->broken)
        rc = CARET_RESTART;
    if (rc == CARET_OK)
        rc = check(c, &w);
    for (size_t i = 0; i < n; i++)
        caret__pg_note(c, ops[i].key);
    w.token = n != 0 && (flags & CARET__STORE_BATCH) == 0 && !CARET_SEEDED("store_no_token");
    if (rc == CARET_OK && (n != 0 || (c->reading && !c->snapshot)))
        rc = do_changes(c, &w);
    if (c->reading)
        caret__pg_abandon(c);
    if (n != 0)
        atomic_fetch_add(&c->db->writes, 1);
    caret__pg_idle(c);
    if (rc == CARET_OK)
        sweep_tokens(c);
    return rc;
}

int caret__pg_sync(void *conn)
{
    struct caret__pg_conn *c = conn;
    struct changes w = {.flags = CARET__STORE_SYNC, .token = true};
    int rc = caret__pg_enter(c);

    if (rc != CARET_OK || c->db->waits_disk || c->db->read_only)
        return rc;
    return c->begun ? caret__fail(CARET_E_INTXN, "sync: not in a transaction") : do_changes(c, &w);
}
