/*
 * background.c - the thread that flushes, syncs and checkpoints when due, and makes room ahead of the writers.
 *
 * Every process that writes has one (unless the options say no).  All signals are blocked in it, so the host
 * never sees one handled there.  It sleeps on a futex word of its own process: writers wake it when the ring
 * is a quarter full; else it looks once per sync interval, the smallest that any process attached wants (each
 * notes its own in its slot: one that only reads has no thread, but may want it).  Whatever it does goes
 * through the shared flush and checkpoint mutexes, so it doesn't matter how many processes have one, or none:
 * a writer that finds no room does the work itself.
 *
 * fork.  A process that forks while it has a second thread may leave a mutex of its C library locked in the child, and
 * hosts look for that: Python warns at each such fork.  So the thread is ended before and started again by the
 * next commit, in parent and child:
 *
 *     RUNS --fork is about to begin--> ASKED --it has synced what is due--> ENDS, and is joined
 *       ^                                |
 *       '--- FORK_NS are over: it is ----'   fork takes place beside it, as before
 *            in the midst of a checkpoint
 *
 * It syncs before it ends: the parent may never commit again, and nobody else would.  Whoever commits meanwhile sees no
 * thread, wants to start one, and waits for the mutex `starting`, which is held through the fork.  The struct
 * stays for those who have seen it.
 */
#include "log/background.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "log/ahead.h"
#include "log/checkpoint.h"
#include "log/flush.h"
#include "shm/huge.h"

#define STACK_BYTES (256u << 10)
#define LOOK_NS     UINT64_C(1000000000) /* it looks at least so often: others may want other intervals */
#define FORK_NS     UINT64_C(300000000)  /* a fork waits no longer for a thread that is busy; arbitrary */

#define GONE_TRIES                                                                                           \
    500 /* to see that the system counts it no more, which it does a moment after it can be joined */

enum { RUNS, ASKED, ENDS, STOPPED };

struct caret__background {
    struct caret__engine *e;
    pthread_t thread;
    _Atomic uint32_t word;          /* raised to wake */
    _Atomic uint32_t pending;       /* a wake is underway: others need not */
    _Atomic pid_t tid;              /* of the thread, as the system knows it */
    _Atomic uint32_t state;         /* STOPPED: by the last close */
    struct caret__background *next; /* of those that run */
};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static struct caret__background *running; /* changed under `starting` */
static _Atomic bool thread_wanted;        /* at some time: forks have to do with it */
static bool locked_for_fork;              /* `starting`; of the thread that forks */

void caret__background_wants(struct caret__engine *e, const caret_options *options)
{
    double s = options->sync_interval > 0 ? options->sync_interval : 1;
    uint32_t ms = s < 0.001 ? 1 : s < 3600000 ? (uint32_t)(s * 1000) : 3600000000u;

    if (options->sync == CARET_SYNC_OFF)
        return;
    uint64_t never = 0;
    atomic_compare_exchange_strong(&e->synced, &never, caret__now_ns());
    caret__local_lock(&starting);
    uint32_t was = atomic_load(&e->sync_ms);
    if (was == 0 || ms < was) {
        atomic_store(&e->sync_ms, ms);
        atomic_store(&e->slots[e->slot].sync_ms, ms);
    }
    caret__local_unlock(&starting);
    caret__background_wake(e);
}

#define NOBODY UINT64_MAX
#define MS     UINT64_C(1000000) /* nobody wants it more often */

/* The smallest interval of those attached; NOBODY wants the log synced. */
static uint64_t interval_ns(const struct caret__engine *e)
{
    uint32_t least = 0;

    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        uint32_t ms = atomic_load_explicit(&e->slots[i].sync_ms, memory_order_relaxed);
        if (ms != 0 && (least == 0 || ms < least) && atomic_load(&e->slots[i].state) == CARET__SLOT_USED)
            least = ms;
    }
    return least != 0 ? least * MS : NOBODY;
}

int caret__background_inline(struct caret__engine *e)
{
    uint64_t now = caret__now_ns();

    if (now - atomic_load(&e->looked) < MS) /* each commit asks */
        return CARET_OK;
    atomic_store(&e->looked, now);
    uint64_t last = atomic_load(&e->synced), every = interval_ns(e);
    if (every == NOBODY || now - last < every || !atomic_compare_exchange_strong(&e->synced, &last, now))
        return CARET_OK;
    return caret__flush(e, 0, true);
}

static void look(struct caret__engine *e, bool sync)
{
    struct caret__shared *sh = e->sh;

    if (atomic_load(&sh->io_failed) != 0)
        return;
    caret__provide_slots(e);
    caret__provide_pages(e);
    uint64_t head = atomic_load(&sh->log_head);
    if (head != atomic_load(&sh->log_written) || (sync && head != atomic_load(&sh->log_durable)))
        (void)caret__flush(e, 0, sync);
    if (caret__checkpoint_due(e))
        (void)caret__checkpoint(e);
}

/* Is it to end?  Before a fork what was committed is synced first. */
static bool ends(struct caret__background *b)
{
    uint32_t state = atomic_load(&b->state);
    struct caret__shared *sh = b->e->sh;

    if (state != ASKED)
        return state == STOPPED;
    if (interval_ns(b->e) != NOBODY && atomic_load(&sh->io_failed) == 0 &&
        atomic_load(&sh->log_head) != atomic_load(&sh->log_durable))
        (void)caret__flush(b->e, 0, true);
    if (!atomic_compare_exchange_strong(&b->state, &state, ENDS))
        return state == STOPPED;
    caret__futex_wake(&b->state, 1);
    return true;
}

static void *run(void *arg)
{
    struct caret__background *b = arg;
    uint64_t last = caret__now_ns(); /* when it was synced */

    (void)caret__away_never(true);
    atomic_store(&b->tid, (pid_t)syscall(SYS_gettid));
    caret__populate(b->e->ring, b->e->sh->ring_size); /* so that committers need not fault it in */

    while (!ends(b)) {
        uint32_t seen = atomic_load(&b->word);
        atomic_store(&b->pending, 0);
        uint64_t now = caret__now_ns(), every = interval_ns(b->e); /* others come and go */
        bool sync = every != NOBODY && now - last >= every;
        look(b->e, sync);
        if (sync)
            last = now;
        uint64_t left = every == NOBODY || sync ? every : every - (now - last);
        if (caret__huge_settle(b->e))
            left = caret__min64(left, CARET__HUGE_EVERY);
        if (atomic_load(&b->state) == RUNS)
            caret__futex_wait(&b->word, seen, caret__min64(left, LOOK_NS));
    }
    return NULL;
}

static int start_thread(struct caret__background *b)
{
    pthread_attr_t attr;
    sigset_t all, before;

    if (pthread_attr_init(&attr) != 0)
        return -1;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&b->thread, &attr, run, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

/* -------------------------------------------------------------------- start, stop */

static void tell(struct caret__background *b)
{
    atomic_fetch_add(&b->word, 1);
    caret__futex_wake(&b->word, 1);
}

/* It runs no more, or not yet: others see none. */
static void leave(struct caret__background *b)
{
    CARET__HELD(&starting);
    struct caret__background **p = &running;

    while (*p != NULL && *p != b)
        p = &(*p)->next;
    if (*p == b)
        *p = b->next;
    __atomic_store_n(&b->e->background, NULL, __ATOMIC_RELEASE);
}

static void join_in(struct caret__background *b)
{
    CARET__HELD(&starting);
    b->next = running;
    running = b;
    __atomic_store_n(&b->e->background, b, __ATOMIC_RELEASE);
}

/* A fork is about to begin: is the thread gone? */
static bool end_for_fork(struct caret__background *b)
{
    uint64_t end = caret__now_ns() + FORK_NS, now = 0;
    uint32_t asked = ASKED;

    atomic_store(&b->state, ASKED);
    tell(b);
    while (atomic_load(&b->state) == ASKED && (now = caret__now_ns()) < end)
        caret__futex_wait(&b->state, ASKED, end - now);
    if (atomic_compare_exchange_strong(&b->state, &asked, RUNS))
        return false;
    pthread_join(b->thread, NULL);
    for (int i = 0; i < GONE_TRIES && syscall(SYS_tgkill, getpid(), atomic_load(&b->tid), 0) == 0; i++)
        caret__nap(20000);
    return true;
}

static void before_fork(void)
{
    struct caret__background *b, *next;

    locked_for_fork = atomic_load(&thread_wanted);
    if (!locked_for_fork)
        return;
    bool never = caret__away_never(true); /* no time for a host to let others of its threads run */

    caret__local_lock(&starting);
    for (b = running; b != NULL; b = next) {
        next = b->next;
        leave(b);
        if (!end_for_fork(b))
            join_in(b);
    }
    (void)caret__away_never(never);
}

static void in_parent(void)
{
    if (locked_for_fork)
        caret__local_unlock(&starting);
}

static void in_child(void)
{
    caret__held_drop(&starting);
    pthread_mutex_init(&starting, NULL);
    running = NULL; /* one that was not ended is the parent's: caret__background_forked() */
}

/* At load: a fork that has begun heeds no handler that another thread adds while it waits in one. */
CARET__AT_LOAD static void heed_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

int caret__background_start(struct caret__engine *e)
{
    int rc = CARET_OK;

    atomic_store(&thread_wanted, true);
    caret__local_lock(&starting);
    if (e->background == NULL && !e->options.no_thread) {
        struct caret__background *b = e->rested != NULL ? e->rested : calloc(1, sizeof *b);
        e->rested = b;
        if (b != NULL) {
            b->e = e;
            atomic_store(&b->state, RUNS);
            atomic_store(&b->pending, 0);
        }
        if (b == NULL || start_thread(b) != 0) {
            e->options.no_thread = 1; /* inline from now on */
            rc = CARET_E_SYSTEM;
        } else {
            join_in(b);
        }
    }
    caret__local_unlock(&starting);
    return rc;
}

void caret__background_stop(struct caret__engine *e)
{
    caret__local_lock(&starting);
    struct caret__background *b = e->background;
    if (b != NULL) {
        leave(b);
        atomic_store(&b->state, STOPPED);
        tell(b);
    }
    caret__local_unlock(&starting);
    if (b != NULL) {
        caret__away();
        pthread_join(b->thread, NULL);
        caret__back();
    }
    free(e->rested);
    e->rested = NULL;
}

void caret__background_wake(struct caret__engine *e)
{
    struct caret__background *b = __atomic_load_n(&e->background, __ATOMIC_ACQUIRE);
    if (b == NULL || atomic_load_explicit(&b->pending, memory_order_relaxed) != 0)
        return;
    if (atomic_exchange(&b->pending, 1) == 0)
        tell(b);
}

void caret__background_forked(struct caret__engine *e)
{
    e->background = NULL; /* the parent's; its memory is a copy that nobody uses */
}
