/*
 * transaction.c - ydb_tp_s and ydb_tp_st, over the loop of m/transaction.h.
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

static int too_late(struct caret__ydb_call *c)
{
    return caret__ydb_error(c, YDB_ERR_TPTIMEOUT, NULL);
}

int caret__ydb_tp_check(struct caret__ydb_call *c)
{
    const struct caret_m__tp *tp = &c->in->tp.m;

    return tp->restarting ? YDB_TP_RESTART : caret_m__tp_late(tp) ? too_late(c) : YDB_OK;
}

void caret__ydb_tp_forget(struct caret__ydb_thread *owner)
{
    caret_m__tp_forget(&owner->tp.m);
    owner->tp.shared = false;
}

/* ----------------------------------------------------------------------- begin */

static int begin_outermost(struct caret__ydb_call *c, struct run *r)
{
    struct caret__ydb_tp *tp = &c->self->tp;
    caret_session *s;
    int status = caret__ydb_session(c, &s);

    if (status != YDB_OK)
        return status;
    int rc = caret_m__tp_begin(&tp->m, s, r->flags, caret_m__maxtptime());
    if (rc != CARET_OK)
        return caret__ydb_failed(c, rc);
    if (r->fn2 != NULL)
        pthread_mutex_lock(&c->self->mutex);
    c->in = c->self;
    c->locked = tp->shared = r->fn2 != NULL;
    tp->run++;
    return YDB_OK;
}

static int begin_inner(struct caret__ydb_call *c)
{
    int status = caret__ydb_tp_check(c);
    if (status == YDB_OK && c->in->tp.m.level >= CARET_M__TP_LEVELS)
        return caret__ydb_error(c, YDB_ERR_TPTOODEEP, NULL);
    int rc = status == YDB_OK ? caret_m__tp_begin(&c->in->tp.m, c->in->s, 0, 0) : CARET_OK;

    return rc == CARET_OK ? status : caret__ydb_failed(c, rc);
}

/* ------------------------------------------------------------------------- end */

/* Undo the run's level, and what is left open in it. */
static int undo_with(struct run *r, int status)
{
    caret_m__tp_undo(&r->owner->tp.m, r->level);
    caret__ydb_locks_undo(r->owner, r->level);
    return status;
}

/* The function of the outermost level is to be called again. */
static int again(struct caret__ydb_call *c, struct run *r)
{
    struct caret__ydb_tp *tp = &r->owner->tp;
    int status = caret__ydb_locals_restore(c, &tp->m);

    if (status != YDB_OK)
        return undo_with(r, status);
    caret__ydb_locks_restart(r->owner);
    r->run = ++tp->run;
    return YDB_OK;
}

/* Commit, or begin again; *once_more: the function is to be called again. */
static int end(struct caret__ydb_call *c, struct run *r, bool restart, bool *once_more)
{
    struct caret_m__tp *tp = &r->owner->tp.m;
    int rc = CARET_OK;

    switch (caret_m__tp_end(tp, r->level, restart, &rc)) {
    case CARET_M__DONE: caret__ydb_locks_commit(r->owner, r->level); return YDB_OK;
    case CARET_M__AGAIN: *once_more = true; return again(c, r);
    case CARET_M__PASS_ON: caret__ydb_locks_undo(r->owner, r->level); return YDB_TP_RESTART;
    case CARET_M__LATE: return undo_with(r, too_late(c));
    default: return undo_with(r, caret__ydb_failed(c, rc));
    }
}

/* The function returned `said`. */
static int settle(struct caret__ydb_call *c, struct run *r, int said, bool *once_more)
{
    struct caret__ydb_tp *tp = &r->owner->tp;
    bool restart = said == YDB_TP_RESTART || said == YDB_ERR_TPRETRY;

    if (tp->run != r->run || tp->m.level < r->level)
        return caret__ydb_error(c, YDB_ERR_INVTPTRANS, NULL);
    if (tp->m.level > r->level) {
        undo_with(r, YDB_OK);
        return caret__ydb_error(c, YDB_ERR_INVTPTRANS, NULL); /* one within this one had not ended */
    }
    return restart || said == YDB_OK ? end(c, r, restart, once_more) : undo_with(r, said);
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

int caret__ydb_atomically(struct caret__ydb_call *c, caret_session *s, caret__ydb_work *work, void *arg)
{
    bool again;
    int status;

    do {
        int rc = caret_begin(s, 0);
        if (rc != CARET_OK)
            return caret__ydb_failed(c, rc);
        status = work(c, s, arg);
        rc = status == YDB_OK ? caret_commit(s) : caret_rollback(s);
        if (rc != CARET_OK) {
            status = caret__ydb_failed(c, rc);
            caret_rollback(s);
        }
        again = status == YDB_TP_RESTART && c->in == NULL; /* others were quicker */
    } while (again);
    return status;
}

static int run(struct caret__ydb_call *c, struct run *r)
{
    bool again = true;
    int said, status;

    c->name = "ydb_tp_s";
    status = caret__ydb_namecount_check(c, r->namecount);
    if (status == YDB_OK && r->fn == NULL && r->fn2 == NULL)
        status = caret__ydb_invalid(c, "NULL tpfn");
    if (status == YDB_OK)
        status = caret__ydb_names_check(c, r->namecount, r->names, true);
    if (status == YDB_OK)
        status = c->in == NULL ? begin_outermost(c, r) : begin_inner(c);
    if (status != YDB_OK)
        return status;
    r->owner = c->in;
    r->run = c->in->tp.run;
    r->level = c->in->tp.m.level;
    status = caret__ydb_locals_save(c, r->namecount, r->names);
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
    return caret__ydb_end_st(&c, run(&c, &r));
}
