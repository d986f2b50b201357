/*
 * wait.c - sleeping until something changes (log/await.c), and being woken from outside.
 *
 * A session that waits at a node reads the log from a place of its own on, with a caret_log of the session.
 * What has left the log before it was read may have been a change at that node: then the wait is over.
 */
#include <stdlib.h>

#include "api/changes.h"
#include "disk/meta.h"
#include "log/await.h"

/* It is looked so often, whoever has died. */
#ifdef CARET_FAULTS /* a test waits for it often */
#define LOOK_NS UINT64_C(100000000)
#else
#define LOOK_NS UINT64_C(1000000000)
#endif

#define LOOK_AT_SERVER_NS UINT64_C(100000000) /* arbitrary */

/* Look again and again, asleep between two looks, until `deadline`. */
static int await(struct caret_log *log, const struct caret__await *w, struct caret__alarm *alarm,
                 uint64_t deadline)
{
    struct caret__alarm none = {0};

    alarm = alarm != NULL ? alarm : &none;
    for (;;) {
        uint32_t seen;
        _Atomic uint32_t *word = caret__await_arm(w, &seen);
        int rc = caret__log_find(log);
        if (rc != CARET_NONE)
            return rc;
        if (caret__alarm_taken(alarm))
            return caret__fail(CARET_E_INTERRUPTED, "%s: while waiting for a change", w->e->path);
        uint64_t now = caret__now_ns();
        if (now >= deadline)
            return CARET_NONE;
        caret__alarm_sleep(alarm, word, seen, caret__min64(LOOK_NS, deadline - now));
        rc = caret__await_settle(w->e);
        if (rc != CARET_OK)
            return rc;
    }
}

int caret__log_await(struct caret_log *log, struct caret__alarm *alarm, uint64_t timeout_ns)
{
    uint64_t now = caret__now_ns();
    struct caret__await w;
    int rc = caret__log_find(log);

    if (rc != CARET_NONE || timeout_ns == 0)
        return rc;
    caret__await_begin(&w, log->tail.e, log->below, log->below_len);
    rc = await(log, &w, alarm, timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX);
    caret__await_end(&w);
    return rc;
}

/* A transaction would be restarted by what it waits for, or never see it. */
static int not_in_txn(const char *function, const caret_session *s)
{
    if (caret_txn_level(s) == 0)
        return CARET_OK;
    return caret__fail(CARET_E_INTXN, "%s: waiting inside a transaction or snapshot", function);
}

int caret_log_wait(caret_session *s, caret_log *log, uint64_t timeout_ns)
{
    if (log == NULL)
        return caret__null(__func__, "log", "an open log");
    int rc = s != NULL ? not_in_txn(__func__, s) : CARET_OK;
    return rc == CARET_OK ? caret__log_await(log, s != NULL ? &s->alarm : NULL, timeout_ns) : rc;
}

static int may_wait(const char *function, caret_session *s, const caret_node *n)
{
    int rc = caret__args_check(function, s, n);

    if (rc == CARET_OK)
        rc = caret__if_remote(caret__session_enter(s), CARET_OK);
    if (rc != CARET_OK)
        return rc;
    if (caret_node_is_local(n))
        return caret__fail(CARET_E_INVALID, "%s: nobody else can change a local variable", function);
    if (s->observes || (s->remote != NULL && s->db->options.readonly))
        return caret__fail(CARET_E_READONLY, "%s: opened read-only: nobody wakes it; look again now and then",
                           s->e->path);
    return not_in_txn(function, s);
}

/* Nobody wakes a session of a database on a server, and what was committed there since is not known: it is told to
 * look, now and then. */
static int wait_a_little(caret_session *s, uint64_t timeout_ns)
{
    uint64_t end = caret__now_ns() + caret__min64(timeout_ns, LOOK_AT_SERVER_NS);
    _Atomic uint32_t never = 0;

    for (;;) {
        if (caret__alarm_taken(&s->alarm))
            return caret__fail(CARET_E_INTERRUPTED, "%s: while waiting for a change", s->e->path);
        uint64_t now = caret__now_ns();
        if (now >= end)
            return CARET_OK;
        caret__alarm_sleep(&s->alarm, &never, 0, end - now);
    }
}

int caret_wait(caret_session *s, const caret_node *n, uint64_t place, uint64_t timeout_ns)
{
    int rc = may_wait(__func__, s, n);

    if (rc != CARET_OK)
        return rc;
    if (s->remote != NULL)
        return wait_a_little(s, timeout_ns);
    if (s->awaits == NULL && (s->awaits = calloc(1, sizeof *s->awaits)) == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to wait", s->e->path);
    caret__log_below(s->awaits, n);
    /* to the log 0 is where it begins now */
    rc = caret__log_begin(s->awaits, s->e, place != 0 ? place : CARET__FIRST_LSN);
    if (rc == CARET_OK)
        rc = caret__log_await(s->awaits, &s->alarm, timeout_ns);
    /* what is not in the log any more may have concerned it */
    return rc == CARET_E_NOTFOUND && s->awaits->tail.from < atomic_load(&s->e->sh->checkpoint_lsn) ? CARET_OK
                                                                                                   : rc;
}

void caret_interrupt(caret_session *s)
{
    if (s != NULL)
        caret__alarm_raise(&s->alarm);
}
