/*
 * handoff.c - the turn, and the threads that stand in: handoff.h.
 */
#include "server/handoff.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server/meet/tracking.h"

enum { FREE, HELD, WAITED_FOR }; /* the turn */
enum { SPINS = 200, TRIES = 2000, IDLE_MS = 100, END_MS = 10000, STOP_MS = 1000 };

static _Thread_local int me; /* of this worker's threads */

/* --------------------------------------------------------------- the turn */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *limit)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

/* A lock of three states, as that of Drepper's "Futexes are tricky". */
static void lock(_Atomic uint32_t *turn)
{
    for (int spins = 0; spins < SPINS; spins++) {
        uint32_t is = FREE;
        if (atomic_compare_exchange_weak(turn, &is, HELD))
            return;
        if (is == WAITED_FOR)
            break;
    }
    while (atomic_exchange(turn, WAITED_FOR) != FREE)
        futex_wait(turn, WAITED_FOR, NULL);
}

void serve__turn_give(struct serve__handoff *h)
{
    if (atomic_exchange(&h->turn, FREE) == WAITED_FOR)
        futex_wake(&h->turn, 1);
}

void serve__turn_take(struct serve__handoff *h)
{
    atomic_fetch_add(&h->scripts_want, 1);
    for (;;) {
        while (atomic_load(&h->loop_wants) == 1)
            futex_wait(&h->loop_wants, 1, NULL);
        lock(&h->turn);
        if (atomic_load(&h->loop_wants) == 0)
            break;
        serve__turn_give(h);
    }
    atomic_fetch_sub(&h->scripts_want, 1);
    atomic_fetch_add_explicit(&h->served, 1, memory_order_relaxed);
}

/* The loop goes before scripts. */
static void take_for_loop(struct serve__handoff *h)
{
    atomic_store(&h->loop_wants, 1);
    lock(&h->turn);
    atomic_store(&h->loop_wants, 0);
    futex_wake(&h->loop_wants, INT32_MAX);
}

static void pause_ms(void)
{
    struct timespec t = {0, 1000000};
    nanosleep(&t, NULL);
}

/* -------------------------------------------------------------- late runs */

/* The run that began first, of those that are late.  It does not end while `looking` is held. */
static struct serve__lease *oldest(struct serve__handoff *h, int64_t now)
{
    struct serve__lease *found = NULL;
    for (unsigned i = 0; i < sizeof h->leases / sizeof *h->leases; i++) {
        struct serve__lease *l = atomic_load(&h->leases[i]);
        int64_t since = l != NULL ? atomic_load(&l->since) : 0;
        if (since != 0 && now - since >= SERVE__LATE_MS &&
            (found == NULL || since < atomic_load(&found->since)))
            found = l;
    }
    if (found == NULL)
        return NULL;
    atomic_store(&found->seen, true);
    return atomic_load(&found->since) != 0 ? found : NULL;
}

/* What FUNCTION STATS says of it. */
static void show_text(struct serve__late *late, const struct serve__lease *l)
{
    const caret_slice *argv = atomic_load(&l->argv);
    size_t n = 0;
    snprintf(late->name, sizeof late->name, "%s", l->name);
    late->argc = 0;
    for (int i = 0; i < l->argc && n + argv[i].len + 4 <= sizeof late->argv; i++, late->argc++) {
        uint32_t len = (uint32_t)argv[i].len;
        memcpy(late->argv + n, &len, 4);
        memcpy(late->argv + n + 4, argv[i].data, len);
        n += 4 + len;
    }
    late->function = l->function;
}

/* Tell all workers of the run that is late; none: NULL. */
static void show(struct serve__handoff *h, const struct serve__lease *l, int64_t since)
{
    struct serve__worker *w = h->w;
    struct serve__late *late = &w->shared->late[w->index];
    if (l == NULL) {
        atomic_store(&late->since, 0);
        h->shown = 0;
        return;
    }
    if (h->shown != l->number)
        late->since = 0; /* kill.c reads it last, and `number` before and after */
    late->wrote = atomic_load(&l->wrote);
    if (h->shown == l->number)
        return;
    serve__shared_lock(w->shared);
    show_text(late, l);
    serve__shared_unlock(w->shared);
    late->number = l->number;
    late->since = (uint64_t)since;
    h->shown = l->number;
}

/* Is the end of the late run asked for?  Then ask it.  The time that it is in Lua counts. */
static void end_late(struct serve__handoff *h, struct serve__lease *l, int64_t now)
{
    struct serve__worker *w = h->w;
    bool stops = w->stopping || w->shared->stop;
    if (l == NULL || (w->shared->late[w->index].kill != l->number && !stops)) {
        h->ending = 0;
        return;
    }
    if (h->ending != l->number || !atomic_load(&l->in_lua)) {
        h->ending = l->number;
        h->ending_since = now;
    }
    if (now - h->ending_since > (stops ? STOP_MS : END_MS)) {
        serve__log("a script did not end when it was told to: the worker ends");
        kill(getpid(), SIGKILL);
    }
    l->end(l, (int)(now - h->ending_since));
}

/* Look for late runs.  Is there one? */
static bool look(struct serve__handoff *h)
{
    int64_t now = serve__now();
    pthread_mutex_lock(&h->looking);
    struct serve__lease *l = oldest(h, now);
    show(h, l, l != NULL ? atomic_load(&l->since) : 0);
    end_late(h, l, now);
    pthread_mutex_unlock(&h->looking);
    return l != NULL;
}

/* ---------------------------------------------------------------- threads */

static void *standin(void *arg);

/* Have a watcher, if there are threads for it.  With the turn. */
static void have_watcher(struct serve__handoff *h)
{
    if (h->watcher >= 0)
        return;
    if (h->nidle > 0) {
        h->watcher = h->idle[--h->nidle];
        sem_post(&h->wake[h->watcher]);
        return;
    }
    if (h->threads >= SERVE__STANDINS)
        return;
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    h->watcher = ++h->threads;
    sem_init(&h->wake[h->watcher], 0, 1);
    h->standin[h->watcher] = (struct serve__standin){h, h->watcher};
    if (pthread_create(&thread, &attr, standin, &h->standin[h->watcher]) != 0) {
        h->threads--;
        h->watcher = -1;
    }
    pthread_attr_destroy(&attr);
}

/* The turn was taken from the run on the loop's thread: go on instead of it. */
static void stand_in(struct serve__handoff *h)
{
    struct serve__worker *w = h->w;
    struct serve__conn *c = h->current->c;
    h->last_away = h->last_away || h->current->takes_last;
    h->current = NULL;
    atomic_store(&h->run, 0);
    c->flags |= SERVE__CONN_AWAY;
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, c->source.fd, NULL);
    h->away++;
    h->handoffs++;
    h->loop = me;
    h->watcher = -1;
    have_watcher(h);
    while (h->loop == me && !w->stopping)
        serve__worker_turn(w);
}

static bool runs_any(struct serve__handoff *h)
{
    for (unsigned i = 0; i < sizeof h->leases / sizeof *h->leases; i++) {
        struct serve__lease *l = atomic_load(&h->leases[i]);
        if (l != NULL && atomic_load(&l->since) != 0)
            return true;
    }
    return atomic_load(&h->run) != 0;
}

/* Nobody runs a script: sleep until one begins, away or not. */
static void sleep_long(struct serve__handoff *h)
{
    atomic_store(&h->asleep, 1);
    while (!runs_any(h) && atomic_load(&h->asleep) == 1)
        futex_wait(&h->asleep, 1, NULL);
    atomic_store(&h->asleep, 0);
}

/* Then somebody has to go on watching: the script keeps the loop. */
static bool all_threads_busy(const struct serve__handoff *h)
{
    return SERVE__STANDINS - h->threads + h->nidle <= atomic_load(&h->leaves);
}

/* Take the turn from the run, if it lends it in the next moment. */
static bool taken(struct serve__handoff *h, uint32_t run)
{
    for (int i = 0; i < TRIES; i++) {
        uint32_t lent = run;
        if (atomic_compare_exchange_strong(&h->lent, &lent, 0))
            return true;
        if (atomic_load_explicit(&h->run, memory_order_relaxed) != run)
            return false;
    }
    return false;
}

/* Watch until the turn was taken. */
static void watch(struct serve__handoff *h)
{
    uint32_t last = 0;
    for (int idle = 0, ran = 0;; pause_ms()) {
        uint32_t run = atomic_load(&h->run);
        bool late = look(h);
        ran = run != 0 && run == last ? ran + 1 : 0;
        if (ran > 0 && ran >= atomic_load(&h->patience) && !all_threads_busy(h) && taken(h, run))
            return;
        last = run;
        idle = run != 0 || late ? 0 : idle + 1;
        if (idle > IDLE_MS) {
            sleep_long(h);
            idle = 0;
        }
    }
}

/* A thread of its own: watch, stand in, rest, and so on.  It ends with the process. */
static void *standin(void *arg)
{
    struct serve__handoff *h = ((struct serve__standin *)arg)->h;
    me = ((struct serve__standin *)arg)->index;
    for (;;) {
        while (sem_wait(&h->wake[me]) != 0)
            ;
        watch(h);
        stand_in(h);
        if (h->watcher < 0) {
            h->watcher = me;
            sem_post(&h->wake[me]);
        } else {
            h->idle[h->nidle++] = me;
        }
        serve__turn_give(h);
    }
    return NULL;
}

/* ------------------------------------------------------------------- runs */

static void poked(struct serve__worker *w, struct serve__source *s)
{
    uint64_t n;
    (void)w;
    if (read(s->fd, &n, sizeof n) < 0)
        errno = 0; /* somebody else has read it */
}

static struct serve__handoff *make(struct serve__worker *w)
{
    struct serve__handoff *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->w = w;
    h->turn = HELD; /* by us */
    h->watcher = -1;
    pthread_mutex_init(&h->looking, NULL);
    h->poke = (struct serve__source){SERVE__SOURCE_OTHER, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), poked};
    if (h->poke.fd < 0 || !serve__watch(w, &h->poke, EPOLLIN)) {
        free(h);
        return NULL;
    }
    return h;
}

/* The watcher knows it from now on: those of scripts, and that of CARET.M.  With the turn. */
static void introduce(struct serve__handoff *h, struct serve__lease *l)
{
    unsigned i = 0;
    while (i <= SERVE__STANDINS && atomic_load_explicit(&h->leases[i], memory_order_relaxed) != NULL)
        i++;
    atomic_store(&h->leases[i], l);
    l->known = true;
}

/* After `run`, or `since`, was set, sequentially consistent: so either we see that the watcher sleeps, or it sees the
 * run before it does. */
static void wake_watcher(struct serve__handoff *h)
{
    if (atomic_load(&h->asleep) == 1) {
        atomic_store(&h->asleep, 0);
        futex_wake(&h->asleep, 1);
    }
}

uint32_t serve__lease_number(struct serve__worker *w)
{
    return ++w->runs == 0 ? ++w->runs : w->runs;
}

void serve__lease_begin(struct serve__worker *w, struct serve__lease *l, struct serve__conn *c, int64_t since)
{
    if (w->handoff == NULL && (w->handoff = make(w)) == NULL) {
        serve__send_unsent(w);
        l->keeps = true;
        return;
    }
    struct serve__handoff *h = w->handoff;
    bool away = (c->flags & SERVE__CONN_AWAY) != 0; /* EXEC runs one script after another */
    l->c = c;
    l->keeps = false;
    l->away = away;
    atomic_store_explicit(&l->in_lua, false, memory_order_relaxed);
    l->thread = pthread_self();
    atomic_store_explicit(&l->wrote, false, memory_order_relaxed);
    atomic_store(&l->since, since);
    have_watcher(h);
    if (c->tracking != NULL || h->watcher < 0) /* it may keep the turn for long */
        serve__send_unsent(w);
    if (!l->known)
        introduce(h, l);
    if (!away) {
        h->current = l;
        atomic_store(&h->patience, c->tracking != NULL ? SERVE__PATIENT_MS : 1);
        atomic_store(&h->leaves, l->takes_last || h->last_away ? 0 : 1);
        atomic_store(&h->run, l->number);
    }
    wake_watcher(h);
}

void serve__lease_rest(struct serve__lease *l, struct serve__handoff *h)
{
    atomic_store(&l->since, 0);
    if (atomic_load(&l->seen)) {
        pthread_mutex_lock(&h->looking);
        pthread_mutex_unlock(&h->looking);
        atomic_store(&l->seen, false);
    }
}

void serve__lease_go_on(struct serve__lease *l, struct serve__handoff *h)
{
    atomic_store(&l->since, serve__now());
    wake_watcher(h);
}

bool serve__handoff_has_room(const struct serve__worker *w)
{
    enum { LEAST = 3 };
    const struct serve__handoff *h = w->handoff;
    return h == NULL || SERVE__STANDINS - h->threads + h->nidle >= LEAST;
}

void serve__lease_end(struct serve__worker *w, struct serve__lease *l)
{
    struct serve__handoff *h = w->handoff;
    if (h == NULL)
        return;
    serve__lease_rest(l, h);
    if (!l->away) {
        h->current = NULL;
        atomic_store_explicit(&h->run, 0, memory_order_relaxed);
    } else if (l->takes_last) {
        h->last_away = false;
    }
}

void serve__lease_over(struct serve__worker *w, const struct serve__lease *l)
{
    struct serve__late *late = &w->shared->late[w->index];
    if (late->since == 0 || late->number != l->number)
        return;
    pthread_mutex_lock(&w->handoff->looking);
    if (late->number == l->number)
        show(w->handoff, NULL, 0);
    pthread_mutex_unlock(&w->handoff->looking);
}

void serve__handoff_back(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__handoff *h = w->handoff;
    uint64_t one = 1;
    serve__conn_back(c);
    if ((c->flags & (SERVE__CONN_TRACKING | SERVE__CONN_BCAST)) == SERVE__CONN_TRACKING)
        serve__track_send(w, c->tracking, 0, (caret_slice){NULL, 0});
    h->away--;
    if (me == 0)
        h->loop = 0;
    else if (write(h->poke.fd, &one, sizeof one) < 0)
        serve__log("a connection may wait: %s", strerror(errno));
    if (!serve__watch(w, &c->source, EPOLLIN))
        c->flags |= SERVE__CONN_DEAD;
    serve__conn_wake(w, c);
}

/* The loop is busy: scripts have the turn for a short while, each millisecond. */
static void let_scripts(struct serve__handoff *h)
{
    struct timespec share = {0, 100000};
    uint32_t served = atomic_load(&h->served);
    serve__turn_give(h);
    for (int i = 0; i < 10 && atomic_load(&h->served) == served; i++)
        nanosleep(&share, NULL);
    nanosleep(&share, NULL);
    take_for_loop(h);
}

int serve__handoff_wait(struct serve__worker *w, int ms)
{
    struct serve__handoff *h = w->handoff;
    struct pollfd p = {.fd = w->epoll, .events = POLLIN};
    if (h == NULL || h->away == 0)
        return ms;
    if (ms == 0 || poll(&p, 1, 0) > 0) { /* there is work for the loop */
        if (serve__now() == h->gave || atomic_load(&h->scripts_want) == 0)
            return h->loop == me ? 0 : -1;
        let_scripts(h);
    } else {
        serve__turn_give(h);
        poll(&p, 1, ms);
        take_for_loop(h);
    }
    h->gave = serve__now();
    return h->loop == me ? 0 : -1;
}

void serve__handoff_end(struct serve__worker *w)
{
    struct serve__handoff *h = w->handoff;
    while (h != NULL && h->away > 0) { /* the watcher ends them */
        serve__turn_give(h);
        pause_ms();
        take_for_loop(h);
    }
}
