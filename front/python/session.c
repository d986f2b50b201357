/*
 * session.c - which session a call uses; letting go of the GIL; closing, fork and exit.
 *
 * Links.  A core has a list of links, each with a session of the engine: one for every thread that has used the
 * database, and one for every Session object.  The GIL protects the list.  The memory of a link lasts as long as its
 * core, which lasts as long as any object from which a call can begin; so a thread may look at link->trouble without
 * asking whether the database is open.
 *
 * Threads.  A thread that ends sets `ended` in its struct caret__py_thread, without the GIL; the engine has rolled
 * back its transaction and released its locks by then, or does so at this moment.  Whoever makes the next link closes
 * the sessions of ended threads, and uses their links again.  `refs` counts the links, and the thread itself.
 *
 * The GIL.  let_go() and take() are the engine's wait hooks: a thread that is about to sleep in the call of a link
 * marks it busy, and its core, and lets the GIL go.  Both counters are changed with the GIL held.
 *   I1  core->busy is the number of threads that are in a call with this core and do not have the GIL.
 *   I2  A thread that has the GIL is in no call of the engine, but for its own.
 *   I3  Once `closing` is set, each link of the core has the trouble CLOSED, also one that is made at that moment.
 * So whoever has the GIL and sees core->busy == 0 knows that nobody is in a call: then, and only then, closing ends the
 * sessions, which lets the GIL go if it sleeps, and the logs, and the handle, without the GIL; by I3 no call begins
 * meanwhile.
 *
 * Ctrl-C.  A wait for a server that lasts comes here some times a second: then let_go() sees that SIGINT came, and
 * interrupts the session; the call answers INTERRUPTED, and Python's handler runs before that is told (error.c).  Other
 * signals, and other threads than the main one, which alone runs handlers, wait as long as the server lets them.
 *
 * A thread must not wait for a mutex of this process with the GIL in its hand: the thread that has the mutex may wait
 * for the GIL.  So what calls the engine has entered a link, or has set `current` to the one that it closes, or has let
 * the GIL go by caret__py_unlock.
 *
 * Closing.  1. `closing` and the trouble CLOSED are set: no call begins.  2. While core->busy > 0: those that sleep are
 * interrupted, and the GIL is let go for a moment.  An interrupted call answers INTERRUPTED, which is told as Closed.
 * 3. Sessions, logs, then the handle are closed.  `closing` keeps a second closer out, which waits for `closed`.
 *
 * Exit.  at_exit() closes what is open in the same way.  A thread that is woken by step 2, that begins a call after it,
 * or that would be told Closed (error.c) finds state->exiting and sleeps for ever, as its interpreter is about to end;
 * it is in no call any more.  One that is told of the progress of a backup is in a call, so it is not put to sleep: it
 * gets Closed, which ends both.
 *
 * Fork.  The child has one thread.  The links of others are marked as ended, and a transaction that was open here is
 * the parent's: the link gets the trouble FORKED, which each call tells, until the frames that began it have come to
 * their end.  The engine ends its own thread before a fork, and attaches the child at its first call.
 */
#include "python/binding.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Thread_local struct caret__py_here caret__py_here;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int started;
static _Atomic uint64_t last_id;

/* ----------------------------------------------------------- threads */

static void thread_unref(struct caret__py_thread *t)
{
    if (t != NULL && --t->refs == 0)
        free(t);
}

static void thread_ends(void *arg)
{
    struct caret__py_thread *t = arg;

    t->ended = 1;
    thread_unref(t);
}

/* This thread, with one more reference; NULL: no memory. */
static struct caret__py_thread *this_thread(void)
{
    struct caret__py_here *here = &caret__py_here;

    if (here->thread == NULL) {
        struct caret__py_thread *t = calloc(1, sizeof *t);
        if (t == NULL || pthread_setspecific(key, t) != 0) {
            free(t);
            return NULL;
        }
        t->refs = 1;
        here->thread = t;
    }
    here->thread->refs++;
    return here->thread;
}

/* ----------------------------------------------------------- hooks */

/* Looking takes the signal back, so it is raised again, for Python to handle. */
static bool sigint_came(void)
{
    if (!PyOS_InterruptOccurred())
        return false;
    PyErr_SetInterrupt();
    return true;
}

static void *let_go(void *arg)
{
    struct caret__py_here *here = &caret__py_here;

    (void)arg;
    if (here->unlocked || here->current == NULL || PyGILState_GetThisThreadState() == NULL)
        return NULL;
    if (sigint_came())
        caret_interrupt(here->current->s);
    here->current->busy++;
    here->current->core->busy++;
    if (here->current->thread == NULL)
        here->current->trouble |= CARET__PY_SHARED;
    return PyEval_SaveThread();
}

static void take(void *arg, void *token)
{
    struct caret__py_link *l = caret__py_here.current;

    (void)arg;
    if (token == NULL)
        return;
    PyEval_RestoreThread(token);
    l->core->busy--;
    if (--l->busy == 0)
        l->trouble &= ~(unsigned)CARET__PY_SHARED;
}

PyThreadState *caret__py_unlock(struct caret__py_core *c)
{
    if (c != NULL)
        c->busy++;
    caret__py_here.unlocked++;
    return PyEval_SaveThread();
}

void caret__py_relock(struct caret__py_core *c, PyThreadState *ts)
{
    PyEval_RestoreThread(ts);
    caret__py_here.unlocked--;
    if (c != NULL)
        c->busy--;
}

static void start(void)
{
    started = pthread_key_create(&key, thread_ends) == 0 && caret_wait_hooks(let_go, take, NULL) == CARET_OK;
}

int caret__py_start_sessions(void)
{
    pthread_once(&once, start);
    if (!started)
        PyErr_SetString(PyExc_ImportError, "caret: no thread-specific data are left in this process");
    return started ? 0 : -1;
}

/* ----------------------------------------------------------- links */

void caret__py_link_close(struct caret__py_link *l)
{
    caret_session *s = l->s;

    l->s = NULL;
    l->trouble |= CARET__PY_CLOSED;
    l->depth = 0;
    caret__py_here.current = l; /* it may sleep, too */
    if (s != NULL)
        caret_session_close(s);
}

/* Close those whose thread has ended; one that can be used again, or NULL. */
static struct caret__py_link *reclaim(struct caret__py_core *c)
{
    struct caret__py_link *found = NULL;

    for (struct caret__py_link *l = c->links; l != NULL; l = l->next)
        if (l->thread != NULL && l->thread->ended && l->busy == 0) {
            caret__py_link_close(l);
            thread_unref(l->thread);
            l->thread = NULL;
            l->trouble = CARET__PY_CLOSED;
            l->spare = true;
        }
    for (struct caret__py_link *l = c->links; l != NULL; l = l->next)
        if (l->spare)
            found = l;
    return found;
}

static struct caret__py_link *link_memory(struct caret__py_core *c)
{
    struct caret__py_link *l = reclaim(c);

    if (l == NULL) {
        l = calloc(1, sizeof *l);
        if (l == NULL)
            return NULL;
        l->trouble = CARET__PY_CLOSED;
        l->spare = true;
        l->core = c;
        l->next = c->links;
        c->links = l;
    }
    return l;
}

struct caret__py_link *caret__py_link_new(struct caret__py_core *c, bool detached, int *rc)
{
    struct caret__py_link *l = link_memory(c);

    *rc = CARET_E_NOMEM;
    if (l == NULL)
        return NULL;
    l->spare = false; /* others look for one while the GIL is free */
    PyThreadState *ts = caret__py_unlock(c);
    *rc = caret_session_open(c->db, &l->s);
    if (*rc == CARET_OK && detached)
        caret_session_detach(l->s);
    caret__py_relock(c, ts);
    if (*rc != CARET_OK) {
        l->s = NULL;
        l->spare = true;
        return NULL;
    }
    l->depth = 0;
    l->task = NULL;
    l->trouble = c->closing ? CARET__PY_CLOSED : 0; /* whoever closes it waits for us: I3 */
    return l;
}

static struct caret__py_link *link_of_thread(struct caret__py_core *c, int *rc)
{
    struct caret__py_thread *t = this_thread();
    struct caret__py_link *l = NULL;

    *rc = CARET_E_NOMEM;
    for (l = c->links; t != NULL && l != NULL; l = l->next)
        if (l->thread == t) {
            thread_unref(t);
            return l;
        }
    if (t != NULL)
        l = caret__py_link_new(c, false, rc);
    if (l != NULL)
        l->thread = t;
    else
        thread_unref(t);
    return l;
}

void caret__py_park(struct caret__py_state *st)
{
    if (!st->exiting || pthread_equal(st->exit_thread, pthread_self()) || caret__py_here.telling != NULL)
        return;
    PyEval_SaveThread();
    for (;;)
        pause();
}

static void *trouble(struct caret__py_owner *o, struct caret__py_link *l)
{
    if (l->trouble & CARET__PY_CLOSED)
        return caret__py_raise_text(o->state, CARET_E_CLOSED,
                                    "CLOSED: the database, or this session, was closed");
    if (l->trouble & CARET__PY_SHARED)
        return caret__py_raise_text(o->state, CARET_E_INVALID,
                                    "INVALID: another thread is in a call with this session");
    if (l->trouble & CARET__PY_FORKED)
        return caret__py_raise_text(
            o->state, CARET_E_NOTXN,
            "NOTXN: this process was forked inside a transaction, which is its parent's");
    if (l->trouble & CARET__PY_LEFT)
        return caret__py_tell_left(o, l);
    return caret__py_raise_code(o->state, CARET_RESTART);
}

struct caret__py_link *caret__py_link_slow(struct caret__py_owner *o)
{
    struct caret__py_core *c = o->core;
    struct caret__py_link *l = o->own;
    int rc;

    caret__py_park(o->state);
    if (c->closing || (l == NULL && c->closed))
        return (void *)caret__py_raise_text(o->state, CARET_E_CLOSED, "CLOSED: the database was closed");
    if (l == NULL) {
        l = link_of_thread(c, &rc);
        if (l == NULL)
            return (void *)caret__py_raise_code(o->state, rc);
        caret__py_here.recent[c->id % CARET__PY_RECENT] = (struct caret__py_recent){c->id, l};
    }
    if (l->trouble != 0) {
        caret__py_park(o->state); /* exit may have begun while the link was made */
        if (!(l->trouble & CARET__PY_CLOSED) && caret__py_other_task(o, l))
            return NULL;
        if (l->trouble != CARET__PY_TASK)
            return trouble(o, l);
    }
    caret__py_here.current = l;
    return l;
}

caret_db *caret__py_db(struct caret__py_owner *o)
{
    struct caret__py_core *c = o->core;

    if (c->db != NULL && !c->closing)
        return c->db;
    return (void *)caret__py_raise_text(
        o->state, CARET_E_CLOSED,
        c->closing ? "CLOSED: the database was closed"
                   : "CLOSED: there is no database: caret.local() has local variables only");
}

/* ----------------------------------------------------------- cores */

int caret__py_core_new(struct caret__py_state *st, caret_db *db, struct caret__py_core **made)
{
    struct caret__py_core *c = calloc(1, sizeof *c);

    if (c == NULL)
        return CARET_E_NOMEM;
    c->id = ++last_id;
    c->db = db;
    c->state = st;
    c->next = st->cores;
    c->place = &st->cores;
    if (c->next != NULL)
        c->next->place = &c->next;
    st->cores = c;
    *made = c;
    return CARET_OK;
}

void caret__py_core_free(struct caret__py_core *c)
{
    *c->place = c->next;
    if (c->next != NULL)
        c->next->place = c->place;
    while (c->links != NULL) {
        struct caret__py_link *l = c->links;
        c->links = l->next;
        if (caret__py_here.current == l)
            caret__py_here.current = NULL;
        thread_unref(l->thread);
        free(l);
    }
    free(c);
}

/* Step 2 of closing. */
static void wait_for_others(struct caret__py_core *c)
{
    static const struct timespec moment = {0, 1000000};

    while (c->busy > 0) {
        for (struct caret__py_link *l = c->links; l != NULL; l = l->next)
            if (l->busy > 0)
                caret_interrupt(l->s);
        PyThreadState *ts = PyEval_SaveThread();
        nanosleep(&moment, NULL);
        PyEval_RestoreThread(ts);
    }
}

static void close_now(struct caret__py_core *c, int *rc)
{
    caret_db *db = c->db;

    for (struct caret__py_link *l = c->links; l != NULL; l = l->next)
        caret__py_link_close(l); /* with the GIL: others look at links, to find that they are closed */
    caret__py_close_logs(c);
    PyThreadState *ts = caret__py_unlock(NULL);
    *rc = db != NULL ? caret_close(db) : CARET_OK;
    caret__py_relock(NULL, ts);
    c->db = NULL;
}

void caret__py_core_close(struct caret__py_core *c, bool exiting, int *rc)
{
    *rc = CARET_OK;
    if (c->closed)
        return;
    if (c->closing) { /* another thread closes it; at exit that one may be gone */
        while (!c->closed && !exiting) {
            PyThreadState *ts = PyEval_SaveThread();
            nanosleep(&(struct timespec){0, 1000000}, NULL);
            PyEval_RestoreThread(ts);
        }
        return;
    }
    c->closing = true;
    for (struct caret__py_link *l = c->links; l != NULL; l = l->next)
        l->trouble |= CARET__PY_CLOSED;
    wait_for_others(c);
    close_now(c, rc);
    c->closed = true;
}

/* ----------------------------------------------------------- fork and exit */

PyObject *caret__py_after_fork(PyObject *module, PyObject *none)
{
    struct caret__py_thread *me = caret__py_here.thread;

    (void)none;
    for (struct caret__py_core *c = caret__py_state(module)->cores; c != NULL; c = c->next) {
        c->busy = 0;
        for (struct caret__py_link *l = c->links; l != NULL; l = l->next) {
            l->busy = 0;
            l->trouble &= ~(unsigned)(CARET__PY_SHARED | CARET__PY_PENDING | CARET__PY_LEFT);
            if (l->thread != NULL && l->thread != me)
                l->thread->ended = 1;
            else
                caret__py_down_to(l, l->depth);
            if (l->depth > 0)
                l->trouble |= CARET__PY_FORKED;
        }
    }
    Py_RETURN_NONE;
}

PyObject *caret__py_at_exit(PyObject *module, PyObject *none)
{
    struct caret__py_state *st = caret__py_state(module);
    int rc;

    (void)none;
    st->exiting = true;
    st->exit_thread = pthread_self();
    for (struct caret__py_core *c = st->cores; c != NULL; c = c->next)
        caret__py_core_close(c, true, &rc);
    Py_RETURN_NONE;
}
