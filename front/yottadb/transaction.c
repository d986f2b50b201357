/*
 * transaction.c - ydb_tp_s and ydb_tp_st.
 *
 *     begin -> [function] -> settle: commit | undo the level | begin again (outermost) | pass YDB_TP_RESTART on
 *
 * The function runs outside of everything: the thread is not busy and holds no mutex.  Afterwards it may be that the
 * process has called ydb_exit(), that this is a child of fork(), or that a thread which took part left a level open:
 * `run` and `level` tell, and then there is nothing to commit.
 *
 * YDB_TP_RESTART at an inner level makes the whole transaction `restarting`: each call says YDB_TP_RESTART until the
 * outermost function has returned.  So a function that does not pass it on can't commit either.
 */
#include <strings.h>
#include <time.h>

#include "m/settings.h"
#include "yottadb/session.h"

struct run {
    ydb_tpfnptr_t fn;
    ydb_tp2fnptr_t fn2; /* one of them */
    void *parm;
    int flags;
    int namecount;
    const ydb_buffer_t *names;
    struct caret__ydb_thread *owner;
    uint64_t run;
    unsigned level;
};

static int in_time(struct caret__ydb_call *c)
{
    if (c->in->tp.deadline == 0 || caret__ydb_now() < c->in->tp.deadline)
        return YDB_OK;
    return caret__ydb_fail(c, YDB_ERR_TPTIMEOUT, "the transaction took over %ld seconds, see $ZMAXTPTIME",
                           caret_m__maxtptime());
}

int caret__ydb_tp_check(struct caret__ydb_call *c)
{
    return c->in->tp.restarting ? YDB_TP_RESTART : in_time(c);
}

void caret__ydb_tp_forget(struct caret__ydb_thread *owner)
{
    struct caret__ydb_tp *tp = &owner->tp;

    caret__ydb_saved_free(tp->saved);
    *tp = (struct caret__ydb_tp){.run = tp->run, .taken = tp->taken};
}

/* ----------------------------------------------------------------------- begin */

static int begin_outermost(struct caret__ydb_call *c, struct run *r)
{
    struct caret__ydb_tp *tp = &c->self->tp;
    caret_session *s;
    int status = caret__ydb_session(c, &s);

    if (status != YDB_OK)
        return status;
    int rc = caret_begin(s, r->flags);
    if (rc != CARET_OK)
        return caret__ydb_failed(c, rc);
    if (r->fn2 != NULL)
        pthread_mutex_lock(&c->self->mutex);
    c->in = c->self;
    c->locked = tp->shared = r->fn2 != NULL;
    tp->restarting = false;
    tp->level = 1;
    tp->run++;
    long limit = caret_m__maxtptime();
    tp->deadline = limit != 0 ? caret__ydb_now() + (uint64_t)limit * 1000000000u : 0;
    return YDB_OK;
}

static int begin_inner(struct caret__ydb_call *c)
{
    int status = caret__ydb_tp_check(c);
    int rc = status == YDB_OK ? caret_begin(c->in->s, 0) : CARET_OK;

    if (rc != CARET_OK)
        return caret__ydb_failed(c, rc);
    if (status == YDB_OK)
        c->in->tp.level++;
    return status;
}

/* ------------------------------------------------------------------------- end */

/* Of the outermost level. */
static void finish(struct caret__ydb_thread *owner)
{
    owner->tp.level = 0;
    if (owner->tp.saved != NULL)
        caret__ydb_tp_forget(owner);
}

/* Undo the run's level, and what is left open in it. */
static void undo(struct run *r)
{
    struct caret__ydb_thread *owner = r->owner;

    while (caret_txn_level(owner->s) >= r->level)
        if (caret_rollback(owner->s) != CARET_OK)
            break;
    caret__ydb_locks_rollback(owner, r->level);
    owner->tp.level = r->level - 1;
    if (r->level == 1)
        finish(owner);
}

static int undo_with(struct run *r, int status)
{
    undo(r);
    return status;
}

/* Begin the whole again, or let the outermost level do that.  *again: its function is to be called. */
static int restart(struct caret__ydb_call *c, struct run *r, bool *again)
{
    struct caret__ydb_tp *tp = &r->owner->tp;
    int status = in_time(c);

    if (status != YDB_OK)
        return undo_with(r, status);
    if (r->level > 1) {
        undo(r);
        tp->restarting = true;
        return YDB_TP_RESTART;
    }
    int rc = caret_restart(r->owner->s);
    status = rc == CARET_OK ? caret__ydb_saved_restore(c, tp->saved) : caret__ydb_failed(c, rc);
    if (status != YDB_OK)
        return undo_with(r, status);
    caret__ydb_locks_restart(r->owner);
    tp->restarting = false;
    r->run = ++tp->run;
    *again = true;
    return YDB_OK;
}

static int commit(struct caret__ydb_call *c, struct run *r, bool *again)
{
    int status = in_time(c);
    int rc = status == YDB_OK ? caret_commit(r->owner->s) : CARET_OK;

    if (status != YDB_OK)
        return undo_with(r, status);
    if (rc == CARET_RESTART)
        return restart(c, r, again);
    if (rc != CARET_OK) {
        status = caret__ydb_failed(c, rc);
        return undo_with(r, status);
    }
    caret__ydb_locks_commit(r->owner, r->level);
    r->owner->tp.level = r->level - 1;
    if (r->level == 1)
        finish(r->owner);
    return YDB_OK;
}

/* The function returned `said`. */
static int settle(struct caret__ydb_call *c, struct run *r, int said, bool *again)
{
    struct caret__ydb_tp *tp = &r->owner->tp;

    if (tp->run != r->run || tp->level < r->level)
        return caret__ydb_fail(c, YDB_ERR_INVTPTRANS, "the transaction is not in progress any more");
    if (tp->level > r->level) {
        undo(r);
        return caret__ydb_fail(c, YDB_ERR_INVTPTRANS,
                               "a transaction within this one had not ended when its function returned");
    }
    if (said == YDB_TP_RESTART || said == YDB_ERR_TPRETRY || (said == YDB_OK && tp->restarting))
        return restart(c, r, again);
    return said == YDB_OK ? commit(c, r, again) : undo_with(r, said);
}

/* -------------------------------------------------------------------- function */

/* Call it, with the thread not busy.  false: nothing more can be done, c->status. */
static bool call(struct caret__ydb_call *c, struct run *r, int *said)
{
    struct caret__ydb_thread *self = c->self, *outer = self->in;
    uint64_t token = caret__ydb_token(r->owner);

    self->in = r->owner;
    caret__ydb_leave(c);
    *said = r->fn2 != NULL ? r->fn2(token, c->errstr, r->parm) : r->fn(r->parm);
    bool here = caret__ydb_enter(c);
    if (self->in != NULL) /* it is in a child of fork() */
        self->in = outer;
    if (here)
        caret__ydb_join(c, r->owner);
    return here;
}

static int run(struct caret__ydb_call *c, struct run *r)
{
    bool again = true;
    int said, status = caret__ydb_names_check(c, r->namecount, r->names, true);

    if (status == YDB_OK)
        status = c->in == NULL ? begin_outermost(c, r) : begin_inner(c);
    if (status != YDB_OK)
        return status;
    r->owner = c->in;
    r->run = c->in->tp.run;
    r->level = c->in->tp.level;
    status = caret__ydb_saved_add(c, &c->in->tp.saved, r->namecount, r->names);
    if (status != YDB_OK)
        return undo_with(r, status);
    while (status == YDB_OK && again) {
        again = false;
        if (!call(c, r, &said))
            return c->status;
        status = settle(c, r, said, &again);
    }
    return status;
}

static int flags_of(const char *transid)
{
    bool batch = transid != NULL && (strcasecmp(transid, "BATCH") == 0 || strcasecmp(transid, "BA") == 0);

    return batch ? CARET_TXN_BATCH : 0;
}

int ydb_tp_s(ydb_tpfnptr_t tpfn, void *parm, const char *transid, int namecount, const ydb_buffer_t *varnames)
{
    struct run r = {
        .fn = tpfn, .parm = parm, .flags = flags_of(transid), .namecount = namecount, .names = varnames};
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    if (tpfn == NULL)
        return caret__ydb_end(&c, caret__ydb_fail(&c, YDB_ERR_PARAMINVALID, "ydb_tp_s: no function"));
    return caret__ydb_end(&c, run(&c, &r));
}

int ydb_tp_st(uint64_t tptoken, ydb_buffer_t *errstr, ydb_tp2fnptr_t tpfn, void *parm, const char *transid,
              int namecount, const ydb_buffer_t *varnames)
{
    struct run r = {
        .fn2 = tpfn, .parm = parm, .flags = flags_of(transid), .namecount = namecount, .names = varnames};
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    if (tpfn == NULL)
        return caret__ydb_end_st(&c, caret__ydb_fail(&c, YDB_ERR_PARAMINVALID, "ydb_tp_st: no function"));
    return caret__ydb_end_st(&c, run(&c, &r));
}
