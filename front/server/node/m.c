/*
 * m.c - CARET.M: routines written in M, run by the M machine (m/machine.h) in the worker's session.
 *
 * Only if the server was started with folders of routines in its environment: a routine may do whatever the server may.
 * While one runs the worker serves nobody else.  What it writes to $PRINCIPAL is the answer, not the server's output.
 *
 * ENDING ONE.  A routine is a run of handoff.h that keeps its worker: FUNCTION STATS of other workers tells it, and
 * SCRIPT KILL, or the end of the server, has the watcher ask it to end.  Loops of M see that, and what waits; a routine
 * that is elsewhere for ten seconds (ZSYSTEM) costs the worker its life, as a script does.  A transaction that it left
 * open is undone, however it ended: the session is that of all clients of the worker.
 */
#include <stdio.h>
#include <stdlib.h>

#include "m/machine.h"
#include "server/call.h"
#include "server/conn.h"
#include "server/handoff.h"
#include "server/reply.h"
#include "server/shared.h"

#define ARGUMENTS 32 /* that M takes */

static bool any_routines(void)
{
    const char *own = getenv("CARET_ROUTINES"), *other = getenv("ydb_routines");

    return (own != NULL && *own != '\0') || (other != NULL && *other != '\0');
}

/* Only the server's database: there is none by name. */
static caret_session *session_of(void *who, const char *name, size_t len)
{
    (void)name;
    return len == 0 ? ((struct serve__call *)who)->s : NULL;
}

/* The run of this process: the machine is one.  The watcher keeps its address. */
static struct serve__lease lease;
static const struct caret_m__machine *machine;

static void ask_end(struct serve__lease *l, int ms)
{
    (void)l;
    (void)ms;
    machine->ask_end(true);
}

static void begin(struct serve__call *q, const struct caret_m__machine *m)
{
    machine = m;
    lease.number = serve__lease_number(q->w);
    lease.name = "CARET.M";
    atomic_store(&lease.argv, q->argv);
    lease.argc = q->argc;
    lease.end = ask_end;
    serve__lease_begin(q->w, &lease, q->c, q->now);
    lease.keeps = true;
    if (q->w->handoff != NULL)
        serve__lend(q->w->handoff, &lease);
}

static void end(struct serve__call *q)
{
    struct serve__late *late = &q->w->shared->late[q->w->index];

    atomic_store(&lease.in_lua, false);
    serve__lease_end(q->w, &lease);
    machine->ask_end(false);
    if (q->w->handoff != NULL)
        serve__lease_over(q->w, &lease);
    if (late->kill == lease.number)
        late->kill = 0;
}

static int run(struct serve__call *q, const struct caret_m__machine *m, const char *entry)
{
    caret_slice values[ARGUMENTS + 1];
    struct caret_m__call c = {.who = q, .session = session_of, .collects = true};

    begin(q, m);
    m->run(&c, entry, q->argv + 2, (size_t)q->argc - 2, 0, values);
    end(q);
    if (c.status == CARET_M__ENDED)
        return serve__fail(q, "ERR M was ended by SCRIPT KILL, or with the server");
    if (c.status != 0)
        return serve__fail(q, "ERR %s", c.text);
    return values[0].data != NULL ? serve__bulk(q, values[0].data, values[0].len) : serve__ok(q);
}

/* CARET.M LABEL^ROUTINE [argument ...] for what it writes, or $$LABEL^ROUTINE for its value */
int serve__cmd_caret_m(struct serve__call *q)
{
    char why[256], entry[80];
    const struct caret_m__machine *m;

    if (!any_routines())
        return serve__fail(q, "ERR M is off: $CARET_ROUTINES names no folder of routines");
    if (q->argc - 2 > ARGUMENTS || q->argv[1].len >= sizeof entry)
        return serve__fail(q, "ERR M takes %d arguments at most, and short names", ARGUMENTS);
    snprintf(entry, sizeof entry, "%.*s", (int)q->argv[1].len, (const char *)q->argv[1].data);
    m = caret_m__machine(why);
    return m != NULL ? run(q, m, entry) : serve__fail(q, "ERR M can't be loaded: %s", why);
}
