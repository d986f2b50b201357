/*
 * handoff.h - a script that takes long keeps no other client of its worker waiting.
 *
 * Everything of a worker belongs to the thread that has *the turn*.  That is the worker's first thread, until
 * a script has run for two milliseconds: then a stand-in takes the turn, and goes on with the loop, while the
 * script's thread works with what nobody else touches: a Lua state, a session with its transaction, the
 * arguments of its client.  It asks for the turn for each command of the script, and at its end.
 *
 *     thread of the script                       stand-in that watches, each millisecond
 *     --------------------                       --------------------------------------
 *     1. serve__lease_begin()
 *     2. serve__lend(): `lent` = number          a. the same number as a millisecond ago?
 *     3. in Lua                                  b. `lent` from number to 0, by compare and exchange:
 *     4. serve__unlend(): `lent` from number       it has the turn
 *        to 0: the turn is here still.         c. the script's connection is *away*: out of epoll, and
 *        It was not number: line up               nobody serves or frees it
 *     5. a command, or the end                   d. another stand-in watches
 *     6. serve__lease_end(): if it was away,     e. turns of the loop, until `loop` is another thread;
 *        the connection is served again, and        with scripts away it waits for events without the
 *        the first thread has the loop again        turn, so that they get it
 *
 * A script that lost the turn gives it for as long as it is in Lua.  The loop goes first, so a client waits
 * for one command of a script; a loop that is busy gives scripts a tenth of a millisecond in each.  Among
 * scripts there is no order: one that runs takes the turn again at once, which saves waking another for each
 * command.  A turn of the loop that was interrupted (`handoffs` tells) ends at once when its thread comes
 * back: events that it holds are old.
 *   model/handoff.pml has these steps.
 *
 * Messages that come for a client whose script is away are kept aside, and go out after the answer, not within it.
 *
 * What keeps the turn: one that was restarted three times, and in short runs, as others wait for its transaction then
 * in any case; one that begins when SERVE__STANDINS - 2 are away.  The last thread is that of CARET.M (node/m.c), which
 * runs once at a time and without end, perhaps, so that it keeps nobody waiting however many scripts run.
 *   A script of a client that has tracked keys keeps it for SERVE__PATIENT_MS: if it loses it, the client is told that
 * all may have changed (meet/tracking.h).
 *
 * Ending a script (SCRIPT KILL, the end of the worker).  The watcher sees what is asked for in `late` of
 * shared.h, and asks the run, by `end`, more and more urgently each millisecond.  A script that is in Lua all the
 * time, and does not end for ten seconds (one, if the server ends), costs the worker its life, by SIGKILL, which is
 * safe: a transaction that is not committed leaves nothing.  A command of a script may take as long as it does.
 *   The watcher looks at a run with `looking`, and after it has set `seen` and found `since` still there; a run
 * ends by clearing `since`, and then waits for `looking` if `seen` is set.  Both are sequentially consistent:
 * so one of them sees the other, and what the watcher looks at is there.
 *   It sleeps when no run has a `since`: it sets `asleep` and looks once more; a run that begins, in whatever thread,
 * sets `since` and then looks at `asleep`.
 *   Whoever asks for an end writes the number of the run that it saw.  Numbers go on from those that were ever said
 * when a worker is started anew, so what was asked of one that died is asked of nobody.
 */
#ifndef CARET_SERVER_HANDOFF_H
#define CARET_SERVER_HANDOFF_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "server/worker.h"

enum { SERVE__STANDINS = 17, SERVE__LATE_MS = 2, SERVE__PATIENT_MS = 100 /* arbitrary */ };

/* A run of a script. */
struct serve__lease {
    struct serve__conn *c;
    uint32_t number;
    bool known;            /* to the watcher */
    bool keeps, away;      /* of the script's thread */
    bool takes_last;       /* it may have the last stand-in: one lease of all */
    atomic_bool in_lua;    /* and not in a command, which ends by itself */
    _Atomic int64_t since; /* milliseconds since 1970; 0: none runs */
    atomic_bool seen;      /* the watcher looks at it, or has: serve__lease_end() waits for it */
    pthread_t thread;
    atomic_bool wrote;
    const char *name; /* of the script, or function */
    bool function;
    const caret_slice *_Atomic argv;
    int argc;
    void (*end)(struct serve__lease *l, int ms); /* asked for the end so long ago.  In the watcher's thread */
};

struct serve__handoff {
    struct serve__worker *w;
    _Atomic uint32_t turn;         /* a lock: futex */
    _Atomic uint32_t loop_wants;   /* 1: the loop waits for it, and scripts let it go first */
    _Atomic uint32_t scripts_want; /* how many wait for it; */
    _Atomic uint32_t served;       /* and how often one got it */
    int64_t gave;                  /* when the loop gave it last */
    _Atomic uint32_t lent;         /* number of the run that lends the turn; 0: none */
    _Atomic uint32_t run;          /* number of the run on the thread of the loop; 0: none */
    _Atomic int patience;    /* milliseconds for which it keeps the turn in any case; set before `run`, */
    _Atomic int leaves;      /* and so is how many threads are to be left when it loses that */
    bool last_away;          /* the run that may have the last thread is away */
    _Atomic uint32_t asleep; /* the watcher waits for a run: futex */
    struct serve__lease *current; /* of `run` */
    struct serve__lease *_Atomic leases[SERVE__STANDINS + 2];
    int loop, watcher; /* threads: 0 is the first; -1: none watches */
    struct serve__standin {
        struct serve__handoff *h;
        int index;
    } standin[SERVE__STANDINS + 1];
    int threads, idle[SERVE__STANDINS], nidle;
    unsigned away, handoffs;
    sem_t wake[SERVE__STANDINS + 1];
    struct serve__source poke; /* an eventfd: a connection is to be served again */
    pthread_mutex_t looking;   /* the watcher has it while it looks at a run */
    uint32_t ending;           /* of the watcher: the run that is being ended, and since when */
    int64_t ending_since;
    uint32_t shown; /* the run that is told in `late` */
};

/* A number for a run, and for all attempts of its transaction. */
uint32_t serve__lease_number(struct serve__worker *w);

/* Begin and end a run for the client c; both with the turn.  l->number, name, function, argv, argc, end are set;
 * it, or its first attempt, was asked for at `since`. */
void serve__lease_begin(struct serve__worker *w, struct serve__lease *l, struct serve__conn *c,
                        int64_t since);
void serve__lease_end(struct serve__worker *w, struct serve__lease *l);

/* While the script of the debugger waits for its client, in Lua, it is not one that takes long: it is not told of, nor
 * ended.  Both without the turn. */
void serve__lease_rest(struct serve__lease *l, struct serve__handoff *h);
void serve__lease_go_on(struct serve__lease *l, struct serve__handoff *h);

/* Is there a thread for a script that takes long, and others left? */
bool serve__handoff_has_room(const struct serve__worker *w);

/* No attempt follows: others are not told of it any more. */
void serve__lease_over(struct serve__worker *w, const struct serve__lease *l);

void serve__turn_take(struct serve__handoff *h);
void serve__turn_give(struct serve__handoff *h);

/* The thread of a run goes into Lua, */
static inline void serve__lend(struct serve__handoff *h, struct serve__lease *l)
{
    atomic_store_explicit(&l->in_lua, true, memory_order_relaxed);
    if (l->keeps)
        return;
    if (l->away)
        serve__turn_give(h);
    else
        atomic_store_explicit(&h->lent, l->number, memory_order_release);
}

/* and comes back, with the turn. */
static inline void serve__unlend(struct serve__handoff *h, struct serve__lease *l)
{
    if (!atomic_load_explicit(&l->in_lua, memory_order_relaxed))
        return;
    uint32_t number = l->number;
    atomic_store_explicit(&l->in_lua, false, memory_order_relaxed);
    if (l->keeps)
        return;
    if (!l->away && atomic_compare_exchange_strong(&h->lent, &number, 0))
        return;
    l->away = true;
    serve__turn_take(h);
}

/* For the loop: wait for events, without the turn if scripts are away.  -1: another thread is the loop's. */
int serve__handoff_wait(struct serve__worker *w, int ms);

/* How often the turn was taken.  Another number than before: what this thread holds of the loop is old. */
static inline unsigned serve__handoffs(const struct serve__worker *w)
{
    return w->handoff != NULL ? w->handoff->handoffs : 0;
}

/* A connection that was away is served again. */
void serve__handoff_back(struct serve__worker *w, struct serve__conn *c);

/* End all runs, before the worker ends. */
void serve__handoff_end(struct serve__worker *w);

#endif
