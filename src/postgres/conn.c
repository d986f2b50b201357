/*
 * conn.c - a session's connections, and where its transaction is.
 *
 *     idle --begin--> begun --first read: BEGIN goes with it--> reading --commit, rollback--> idle
 *                       |                                          |
 *                       +---- commit without a read ---> idle      +-- conflict, lost --> broken --rollback--> idle
 *
 * Invariants:
 *   1  `reading` says that the server has a transaction of ours, and that what it does counts.  Only then is
 *      something lost when the connection is; before, and outside of transactions, a read is simply sent again.
 *   2  Nothing of ours remains with the server when the session is idle: a transaction that is given up is ended at
 *      once by a ROLLBACK that is not waited for, lest its snapshot and row locks stay until the next call.
 *   3  While `broken` every call says RESTART, until rollback().
 *
 * A read that fails by a conflict outside of a transaction, or as its first, is repeated here: nothing was seen yet.
 * So is one whose connection was lost, but not one that was not answered: that has taken long enough, and is an error.
 * A read that the session does not wait for any more gives its connection up, as its answer may still come.
 * A conflict is followed by a pause of 0.1 ms * 2^n, at most 100 ms, of which a random half is taken away: two that
 * restart in step would meet again.
 *
 * A transaction that began again three times is `alone`: it locks the rows that it reads, so that others' writes wait
 * (the floor).  In the order of a program two of these wait for each other in a ring, and the server looks for rings
 * only after a second.  So the keys that attempts read and set are noted after the first restart, and the first
 * statement of one that is alone locks them all, in key order, which is the order of every commit: there is no ring.
 * Keys that it had not read before, those of walks, and more than NOTED_MOST bytes are locked as they come.
 */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "postgres/inside.h"
#include "shm/engine.h"

#define PAUSE_NS      100000u
#define PAUSE_NS_MOST 100000000u
#define NOTED_MOST    65536u /* arbitrary */

/* A new name for the commits of this connection. */
void caret__pg_token_new(struct caret__pg_conn *c)
{
    uint64_t name;

    if (getrandom(&name, sizeof name, 0) != (ssize_t)sizeof name)
        name = caret__now_ns() ^ (uint64_t)(uintptr_t)c;
    caret__put_le64(c->token, name);
    c->tokens = c->tokens_done = 0;
    caret__rand_seed(&c->rand, name);
}

/* open() left its connection: the first session of the same process has it. */
static void take_spare(struct caret__pg_conn *c)
{
    struct caret__pg_db *db = c->db;

    pthread_mutex_lock(&db->lock);
    struct caret__link *l = db->spare;
    if (l != NULL && l->pid == getpid()) {
        c->data = *l;
        db->spare = NULL;
        if (c->data.pq != NULL)
            caret__start_notices(&c->data, c->data.pq);
    }
    pthread_mutex_unlock(&db->lock);
    if (c->data.pid != 0)
        free(l);
}

int caret__pg_attach(struct caret__store_db *head, caret__store_stop *stop, void *ctx, void **conn)
{
    struct caret__pg_conn *c = calloc(1, sizeof *c);

    if (c == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a connection");
    c->db = (struct caret__pg_db *)head;
    caret__link_init(&c->data, &c->db->way);
    caret__link_init(&c->names, &c->db->names_way);
    caret__pg_token_new(c);
    take_spare(c);
    c->data.stop = c->names.stop = stop;
    c->data.ctx = c->names.ctx = ctx;
    *conn = c;
    return CARET_OK;
}

static void free_conn(struct caret__pg_conn *c)
{
    free(c->a.data);
    free(c->b.data);
    free(c->noted.data);
    free(c);
}

/* What the server holds for us ends with the connections, a little later; names at once, as others may ask for them
 * without waiting. */
void caret__pg_detach(void *conn)
{
    struct caret__pg_conn *c = conn;

    if (c->held != 0) {
        caret__link_add_text(&c->names, "select pg_advisory_unlock_all()", 0, NULL);
        caret__link_run(&c->names);
    }
    caret__pg_page_drop(c);
    caret__link_fini(&c->data);
    caret__link_fini(&c->names);
    free_conn(c);
}

void caret__pg_forget(void *conn)
{
    struct caret__pg_conn *c = conn;

    caret__pg_page_drop(c);
    caret__link_forget(&c->data);
    caret__link_forget(&c->names);
    free_conn(c);
}

int caret__pg_enter(struct caret__pg_conn *c)
{
    if (caret__unlikely(c->held != 0) && caret__link_is_lost(&c->names))
        caret__pg_names_drop(c);
    if (caret__likely(!c->evicted))
        return CARET_OK;
    c->evicted = false;
    caret__pg_abandon(c);
    c->broken = c->begun;
    return caret__fail(CARET_E_EVICTED, "%s: the connection that held the locks was lost", c->db->head.shown);
}

void caret__pg_pause(struct caret__pg_conn *c, unsigned n)
{
    uint32_t most = n < 10 ? PAUSE_NS << n : PAUSE_NS_MOST;

    most = most < PAUSE_NS_MOST ? most : PAUSE_NS_MOST;
    caret__nap(most / 2 + caret__rand_below(&c->rand, most / 2));
}

int caret__pg_begin(void *conn, enum caret__store_begin how, unsigned restarts)
{
    struct caret__pg_conn *c = conn;

    CARET__ASSERT(!c->begun);
    int rc = caret__pg_enter(c);
    if (rc != CARET_OK)
        return rc;
    if (restarts >= 2)
        caret__pg_pause(c, restarts - 2);
    caret__pg_page_drop(c);
    c->begun = true;
    c->restarts = restarts;
    if (restarts == 0)
        c->waits = c->noted.n = 0;
    c->broken = c->reading = false;
    c->snapshot = how == CARET__STORE_READS;
    c->alone = !c->snapshot && !c->db->read_only && (restarts >= 3 || how == CARET__STORE_ALONE);
    return CARET_OK;
}

void caret__pg_idle(struct caret__pg_conn *c)
{
    c->begun = c->reading = c->broken = c->alone = c->snapshot = false;
    caret__pg_page_drop(c);
}

void caret__pg_abandon(struct caret__pg_conn *c)
{
    if (c->reading && c->data.pq != NULL) {
        caret__link_add(&c->data, CARET__SQL_ROLLBACK, NULL);
        caret__link_leave(&c->data);
    }
    c->reading = false;
}

void caret__pg_rollback(void *conn)
{
    struct caret__pg_conn *c = conn;

    caret__pg_abandon(c);
    caret__pg_idle(c);
}

void caret__pg_note(struct caret__pg_conn *c, struct caret__bytes key)
{
    if (caret__likely(!c->begun || c->restarts == 0) || c->noted.len > NOTED_MOST)
        return;
    if (c->noted.n == 0)
        caret__pg_array_begin(&c->noted);
    caret__pg_array_add(&c->noted, key);
}

/* With BEGIN.  Without memory they are locked as they come. */
static bool lock_noted(struct caret__pg_conn *c)
{
    struct caret__param list = {NULL, 0};

    if (c->alone && c->begun && !c->reading && c->noted.n != 0)
        list = caret__pg_array_end(&c->noted);
    if (list.data != NULL)
        caret__link_add(&c->data, CARET__SQL_LOCK_ROWS, &list);
    return list.data != NULL;
}

void caret__pg_open_batch(struct caret__pg_conn *c)
{
    c->ordered = false;
    if (CARET_SEEDED("store_reads_unseen"))
        return;
    if (c->begun ? !c->reading : !c->db->one_trip)
        caret__link_add(&c->data, c->snapshot ? CARET__SQL_BEGIN_READS : CARET__SQL_BEGIN, NULL);
    if (c->snapshot && !c->reading && c->db->product == CARET__PG_POSTGRES)
        caret__link_add(&c->data, CARET__SQL_LASTS, NULL); /* it holds back nobody: so it may be idle */
    c->ordered = lock_noted(c);
    c->reading = c->begun;
}

void caret__pg_close_batch(struct caret__pg_conn *c)
{
    if (!c->begun && !c->db->one_trip)
        caret__link_add(&c->data, CARET__SQL_COMMIT, NULL);
}

bool caret__pg_reconnect(struct caret__pg_conn *c, uint64_t *until)
{
    uint64_t now = caret__now_ns();

    if (*until == 0)
        *until = now + c->db->way.patience_ns;
    else if (now >= *until)
        return false;
    return caret__link_ensure(&c->data, *until) == CARET_OK;
}

static bool is_locked(const struct caret__link *l)
{
    return strcmp(l->state, "55P03") == 0;
}

bool caret__pg_again(struct caret__pg_conn *c)
{
    if (!is_locked(&c->data))
        return caret__sqlstate_again(c->data.state);
    c->waits++;
    return c->db->way.silence_ms < 0 ||
           c->waits * caret__pg_locked_ms(c->db) < (unsigned)c->db->way.silence_ms;
}

int caret__pg_fail(struct caret__pg_conn *c, const struct caret__link *l, int rc)
{
    if (rc == CARET__LINK_FAILED && is_locked(l))
        return caret__fail(CARET_E_IO, "%s: another session keeps it locked: %s (SQLSTATE 55P03)",
                           c->db->head.shown, l->text);
    if (rc == CARET__LINK_FAILED)
        return caret__sqlstate_fail(l, c->db->head.shown);
    if (l->stopped)
        return caret__fail(CARET_E_INTERRUPTED, "%s: while waiting for the server", c->db->head.shown);
    if (caret__link_is_full(l))
        return caret__fail(CARET_E_LIMIT, "%s: %s", c->db->head.shown, l->text);
    return caret__fail(CARET_E_IO,
                       l->silent ? "%s: %s" : "%s: the connection was lost, and there is no other: %s",
                       c->db->head.shown, l->text);
}

/* A failed batch outside of BEGIN ... COMMIT leaves nothing; inside, it leaves a transaction that must be ended. */
static void clear_failed(struct caret__pg_conn *c)
{
    bool opened = c->reading || !c->db->one_trip;

    c->reading = opened;
    caret__pg_abandon(c);
}

/* What was asked for is all that is left. */
static int keep_asked(struct caret__pg_conn *c)
{
    if (caret__unlikely(c->ordered))
        caret__pq.clear(caret__link_take(&c->data, 0));
    return CARET_OK;
}

static int read_until_done(struct caret__pg_conn *c, int (*add)(struct caret__pg_conn *c, void *arg),
                           void *arg)
{
    uint64_t until = 0;

    c->waits = c->begun ? c->waits : 0;
    for (unsigned n = 0;; n++) {
        bool seen = c->reading;
        if (c->broken)
            return CARET_RESTART;
        if (caret__unlikely(c->data.pq == NULL) && !seen) {
            if (!caret__pg_reconnect(c, &until))
                return caret__pg_fail(c, &c->data, CARET__LINK_LOST);
        }
        caret__pg_open_batch(c);
        int rc = add(c, arg);
        caret__pg_close_batch(c);
        if (caret__unlikely(rc != CARET_OK)) {
            caret__link_run(&c->data);
            clear_failed(c);
            c->broken = c->begun;
            return rc;
        }
        rc = caret__link_run(&c->data);
        if (caret__likely(rc == CARET_OK))
            return keep_asked(c);
        bool again = rc == CARET__LINK_LOST ? !c->data.silent && !c->data.stopped : caret__pg_again(c);
        int code = again ? CARET_RESTART : caret__pg_fail(c, &c->data, rc);
        clear_failed(c);
        c->broken = c->begun && (seen || !again);
        if (seen || !again)
            return code;
        if (rc != CARET__LINK_LOST)
            caret__pg_pause(c, n);
    }
}

int caret__pg_read(struct caret__pg_conn *c, int (*add)(struct caret__pg_conn *c, void *arg), void *arg)
{
    c->data.stoppable = true;
    int rc = read_until_done(c, add, arg);
    c->data.stoppable = false;
    return rc;
}
