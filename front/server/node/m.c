/*
 * m.c - CARET.M: routines written in M, run by the M machine (m/machine.h) in a session of its own.
 *
 * Only if the server was started with folders of routines in its environment: a routine may do whatever the server
 * may.  What it writes to $PRINCIPAL is the answer, not the server's output.
 *
 * BESIDE OTHER CLIENTS.  A routine is a run of handoff.h: while it is in M, be it that M is being loaded, the turn
 * can be taken from it.  It works with what nobody else touches: the machine, the session, the arguments of its
 * client.  It has no commands, so it wants the turn once, at its end.  A worker has one machine, so clients stand in
 * line for it.  All of the line is touched with the turn only:
 *
 *   M1  `runs` is true from before a routine lends the turn until its answer was copied: what it quits with is the
 *       machine's.  So the machine is never called while it runs, and its mutex makes nobody wait.
 *   M2  While it runs, or others are in line, a client gets in line: it is blocked, its command is not run, and is
 *       parsed again when it goes on, as after CLIENT PAUSE.  No thread waits.
 *   M3  Whoever ends a run calls the first one in line, `called`, and so does each turn of the loop
 *       (serve__m_turn()): it is out of the line, and woken.  Until it has been served nobody else may run.
 *   M4  If it does not run then, as its rights were taken away, or it is gone, the next turn calls the next.
 *
 * model/handoff.pml has these steps (-DMACHINE).
 *
 * ENDING ONE.  FUNCTION STATS tells it, and SCRIPT KILL, or the end of the server, has the watcher ask it to end,
 * each millisecond.  Loops of M see that, and what waits.  After 50 ms a signal to its thread, now and then, whose
 * handler sets a hook, has the next line of M see it, for what is in no loop (recursion).  A routine that is
 * elsewhere for ten seconds (a long MERGE) costs the worker its life, as a script does.  What it has written stays,
 * as each SET of M is a change by itself, so it can be ended although it has written; an open transaction is undone.
 *
 * WHAT IS LEFT of a routine, however it ended, is nothing but data: transaction, locks, local variables, devices and
 * so on end with it (mumps/bridge/fresh.lua).  The next call may be another client's, and the same client's next one
 * may be another worker's.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "m/machine.h"
#include "server/call.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/handoff.h"
#include "server/node/m.h"
#include "server/reply.h"
#include "server/shared.h"

#define ARGUMENTS 32     /* that M takes */
#define SIGNAL    SIGURG /* which nobody else uses, and which does no harm by itself */
#define SIGNAL_MS 50     /* between two */

static bool any_routines(void)
{
    const char *own = getenv("CARET_ROUTINES"), *other = getenv("ydb_routines");

    return (own != NULL && *own != '\0') || (other != NULL && *other != '\0');
}

/* ------------------------------------------------------------------------- line */

struct waits {
    struct waits *next;
    struct serve__conn *c;
};

static struct {
    bool runs;
    struct serve__conn *called; /* NULL: nobody is, or it was served */
    struct waits *first;
} line;

static bool get_in_line(struct serve__worker *w, struct serve__conn *c)
{
    struct waits **last = &line.first, *one = malloc(sizeof *one);

    if (one == NULL)
        return false;
    while (*last != NULL)
        last = &(*last)->next;
    *one = (struct waits){NULL, c};
    *last = one;
    c->flags |= SERVE__CONN_BLOCKED | SERVE__CONN_IN_LINE;
    serve__add(&w->stats->waiting, 1);
    return true;
}

static struct serve__conn *get_out(struct serve__worker *w, struct waits **at)
{
    struct waits *one = *at;
    struct serve__conn *c = one->c;

    *at = one->next;
    free(one);
    c->flags &= ~(unsigned)(SERVE__CONN_BLOCKED | SERVE__CONN_IN_LINE);
    serve__add(&w->stats->waiting, (uint64_t)-1);
    return c;
}

/* Is one called, and was not served yet? */
static bool one_is_called(void)
{
    return line.called != NULL && (line.called->flags & SERVE__CONN_READY);
}

bool serve__m_takes(struct serve__call *q)
{
    bool mine = line.called == q->c;

    if (mine)
        line.called = NULL;
    if (!line.runs && (mine || (line.first == NULL && !one_is_called())))
        return false;
    if (!get_in_line(q->w, q->c))
        serve__reject(q, "OOM command not allowed when used memory > 'maxmemory'.");
    return true;
}

void serve__m_turn(struct serve__worker *w)
{
    if (line.runs || line.first == NULL)
        return;
    if (!one_is_called()) {
        line.called = get_out(w, &line.first);
        serve__conn_wake(w, line.called);
    }
    w->due = w->now; /* the next turn is to see what came of it */
}

void serve__conn_gone_m(struct serve__worker *w, struct serve__conn *c)
{
    struct waits **at = &line.first;

    if (line.called == c)
        line.called = NULL;
    if (!(c->flags & SERVE__CONN_IN_LINE))
        return;
    while ((*at)->c != c)
        at = &(*at)->next;
    get_out(w, at);
}

/* -------------------------------------------------------------------------- run */

static const struct caret_m__machine *_Atomic machine; /* NULL: not loaded */
static _Thread_local volatile sig_atomic_t is_here;    /* this thread runs M */

static void on_signal(int number)
{
    const struct caret_m__machine *m = atomic_load(&machine);
    int before = errno;

    (void)number;
    if (is_here && m != NULL)
        m->end_here();
    errno = before;
}

static void hear_signal(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigaction(SIGNAL, &action, NULL);
}

static caret_session *session; /* M's; NULL until the first */

static int open_session(struct serve__worker *w)
{
    if (session != NULL)
        return CARET_OK;
    hear_signal();
    int rc = caret_session_open(w->db, &session);
    if (rc == CARET_OK && w->start->sync == CARET_SYNC_COMMIT)
        rc = caret_session_batch(session, 1);
    return rc == CARET_OK ? caret_session_detach(session) : rc; /* threads use it one after another */
}

/* Only the server's database: there is none by name. */
static caret_session *session_of(void *who, const char *name, size_t len)
{
    (void)who;
    (void)name;
    return len == 0 ? session : NULL;
}

/* The run of this process: the machine is one.  The watcher keeps its address. */
static struct serve__lease lease;

/* In the watcher's thread. */
static void ask_end(struct serve__lease *l, int ms)
{
    static int signalled; /* after so long */
    const struct caret_m__machine *m = atomic_load(&machine);

    if (m == NULL) /* it will be asked again */
        return;
    m->ask_end(true);
    if (ms < signalled)
        signalled = 0;
    if (ms < signalled + SIGNAL_MS)
        return;
    signalled = ms;
    pthread_kill(l->thread, SIGNAL);
}

static void begin(struct serve__call *q)
{
    line.runs = true;
    lease.number = serve__lease_number(q->w);
    lease.name = "CARET.M";
    atomic_store(&lease.argv, q->argv);
    lease.argc = q->argc;
    lease.end = ask_end;
    lease.takes_last = true;
    serve__lease_begin(q->w, &lease, q->c, q->now);
}

/* With the turn. */
static void end(struct serve__call *q)
{
    struct serve__late *late = &q->w->shared->late[q->w->index];
    const struct caret_m__machine *m = atomic_load(&machine);

    serve__lease_end(q->w, &lease);
    if (m != NULL)
        m->ask_end(false);
    if (q->w->handoff != NULL)
        serve__lease_over(q->w, &lease);
    if (late->kill == lease.number)
        late->kill = 0;
}

/* What others may go on beside. */
static const struct caret_m__machine *run(struct serve__call *q, const char *entry, struct caret_m__call *c,
                                          caret_slice *values, char why[256])
{
    const struct caret_m__machine *m;

    serve__lend(q->w->handoff, &lease);
    m = caret_m__machine(why);
    atomic_store(&machine, m);
    is_here = 1;
    if (m != NULL)
        m->run(c, entry, q->argv + 2, (size_t)q->argc - 2, 0, values);
    is_here = 0;
    serve__unlend(q->w->handoff, &lease);
    return m;
}

static int answer(struct serve__call *q, const struct caret_m__call *c, caret_slice value)
{
    if (c->status == CARET_M__ENDED)
        return serve__fail(q, "ERR M was ended by SCRIPT KILL, or with the server");
    if (c->status != 0)
        return serve__fail(q, "ERR %s", c->text);
    return value.data != NULL ? serve__bulk(q, value.data, value.len) : serve__ok(q);
}

/* CARET.M LABEL^ROUTINE [argument ...] for what it writes, or $$LABEL^ROUTINE for its value */
int serve__cmd_caret_m(struct serve__call *q)
{
    char why[256], entry[80];
    caret_slice values[ARGUMENTS + 1];
    struct caret_m__call c = {.session = session_of, .collects = true};

    if (!any_routines())
        return serve__fail(q, "ERR M is off: $CARET_ROUTINES names no folder of routines");
    if (q->argc - 2 > ARGUMENTS || q->argv[1].len >= sizeof entry)
        return serve__fail(q, "ERR M takes %d arguments at most, and short names", ARGUMENTS);
    if (open_session(q->w) != CARET_OK)
        return serve__fail(q, "ERR M has no session: %s", caret_fact());
    snprintf(entry, sizeof entry, "%.*s", (int)q->argv[1].len, (const char *)q->argv[1].data);
    begin(q);
    bool loaded = run(q, entry, &c, values, why) != NULL;
    end(q);
    int rc = loaded ? answer(q, &c, values[0]) : serve__fail(q, "ERR M can't be loaded: %s", why);
    line.runs = false;
    serve__m_turn(q->w);
    return rc;
}
