/*
 * timer.c - timers, and sleeping.
 *
 * One thread, begun with the first timer, sleeps until the next one is due and calls its handler, which may
 * call any function here, those for timers too.  All signals are blocked in it.  The list is in the order of
 * time, under CARET__YDB_TIMERS.  A timer is cancelled before its handler begins, or not at all.
 *
 * `fired` counts handlers that have returned.  ydb_hiber_start_wait_any() sleeps on it as on a futex, which ends for
 * any signal that is handled in its thread, too: with YottaDB a timer is one.
 */
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "yottadb/session.h"

struct timer {
    struct timer *next;
    uint64_t due; /* nanoseconds of CLOCK_MONOTONIC */
    intptr_t id;
    ydb_funcptr_retvoid_t handler;
    unsigned len;
    char data[];
};

static struct timer *timers;
static bool running;
static _Atomic uint32_t fired;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_condition(void)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attr);
    pthread_condattr_destroy(&attr);
}

static struct timespec at(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

/* ---------------------------------------------------------------------- thread */

/* Take the first one off the list and call it, without the mutex. */
static void fire(void)
{
    struct timer *t = timers;

    timers = t->next;
    caret__ydb_give(CARET__YDB_TIMERS);
    t->handler(t->id, t->len, t->len != 0 ? t->data : NULL);
    free(t);
    caret__ydb_take(CARET__YDB_TIMERS);
    atomic_fetch_add(&fired, 1);
    syscall(SYS_futex, &fired, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *serve(void *arg)
{
    (void)arg;
    caret__ydb_take(CARET__YDB_TIMERS);
    while (!caret__ydb_exiting()) {
        struct timespec due = timers != NULL ? at(timers->due) : (struct timespec){0};
        if (timers == NULL)
            pthread_cond_wait(&changed, &caret__ydb_mutex[CARET__YDB_TIMERS]);
        else if (timers->due <= caret_m__now())
            fire();
        else
            pthread_cond_timedwait(&changed, &caret__ydb_mutex[CARET__YDB_TIMERS], &due);
    }
    caret__ydb_give(CARET__YDB_TIMERS);
    return NULL;
}

static int start_thread(void)
{
    sigset_t all, old;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed == 0)
        pthread_detach(thread);
    return failed;
}

void caret__ydb_timers_forget(void)
{
    make_condition();
    running = false;
    while (timers != NULL) {
        struct timer *t = timers;
        timers = t->next;
        free(t);
    }
}

/* ------------------------------------------------------------------- the list */

static void remove_id(intptr_t id)
{
    for (struct timer **link = &timers; *link != NULL;) {
        struct timer *t = *link;
        if (t->id == id) {
            *link = t->next;
            free(t);
        } else {
            link = &t->next;
        }
    }
}

static void insert(struct timer *t)
{
    struct timer **link = &timers;

    while (*link != NULL && (*link)->due <= t->due)
        link = &(*link)->next;
    t->next = *link;
    *link = t;
    pthread_cond_broadcast(&changed);
}

int caret__ydb_check_time(struct caret__ydb_call *c, unsigned long long ns)
{
    struct caret__ydb_digits most;

    if (ns <= (unsigned long long)YDB_MAX_TIME_NSEC)
        return YDB_OK;
    return caret__ydb_error(c, YDB_ERR_TIME2LONG, caret__ydb_digits(&most, YDB_MAX_TIME_NSEC), NULL);
}

static int start(struct caret__ydb_call *c, intptr_t id, unsigned long long ns, ydb_funcptr_retvoid_t handler,
                 unsigned len, const void *data)
{
    c->name = "ydb_timer_start";
    int status = caret__ydb_check_time(c, ns);
    if (status == YDB_OK && (handler == NULL || (len != 0 && data == NULL)))
        status = caret__ydb_invalid(c, handler == NULL ? "NULL handler" : "NULL hdata");
    struct timer *t = status == YDB_OK ? malloc(sizeof *t + len) : NULL;
    if (status == YDB_OK && t == NULL)
        status = caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for a timer");
    if (status != YDB_OK)
        return status;
    *t = (struct timer){.due = caret_m__now() + ns, .id = id, .handler = handler, .len = len};
    if (len != 0)
        memcpy(t->data, data, len);
    pthread_once(&once, make_condition);
    caret__ydb_take(CARET__YDB_TIMERS);
    remove_id(id);
    insert(t);
    running = running || start_thread() == 0;
    if (!running) {
        remove_id(id);
        status = caret__ydb_fail(c, YDB_ERR_DBFILERR, "no thread for timers can be started");
    }
    caret__ydb_give(CARET__YDB_TIMERS);
    return status;
}

static void cancel(intptr_t id)
{
    caret__ydb_take(CARET__YDB_TIMERS);
    remove_id(id);
    caret__ydb_give(CARET__YDB_TIMERS);
}

/* --------------------------------------------------------------------- sleeping */

static int check_sleep(unsigned long long ns)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, caret__ydb_check_time(&c, ns)) : c.status;
}

int ydb_hiber_start(unsigned long long sleep_nsec)
{
    struct timespec until = at(caret_m__now() + sleep_nsec);
    int status = check_sleep(sleep_nsec);

    while (status == YDB_OK && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ; /* a signal came */
    return status;
}

int ydb_hiber_start_wait_any(unsigned long long sleep_nsec)
{
    struct timespec limit = at(sleep_nsec);
    uint32_t before = atomic_load(&fired);
    int status = check_sleep(sleep_nsec);

    if (status == YDB_OK)
        syscall(SYS_futex, &fired, FUTEX_WAIT_PRIVATE, before, &limit, NULL, 0);
    return status;
}

/* ------------------------------------------------------------------------- ABI */

int ydb_timer_start(intptr_t timer_id, unsigned long long limit_nsec, ydb_funcptr_retvoid_t handler,
                    unsigned int hdata_len, void *hdata)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c)
               ? caret__ydb_end(&c, start(&c, timer_id, limit_nsec, handler, hdata_len, hdata))
               : c.status;
}

int ydb_timer_start_t(uint64_t tptoken, ydb_buffer_t *errstr, intptr_t timer_id,
                      unsigned long long limit_nsec, ydb_funcptr_retvoid_t handler, unsigned int hdata_len,
                      void *hdata)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr)
               ? caret__ydb_end_st(&c, start(&c, timer_id, limit_nsec, handler, hdata_len, hdata))
               : c.status;
}

void ydb_timer_cancel(intptr_t timer_id)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return;
    cancel(timer_id);
    caret__ydb_end(&c, YDB_OK);
}

int ydb_timer_cancel_t(uint64_t tptoken, ydb_buffer_t *errstr, intptr_t timer_id)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    cancel(timer_id);
    return caret__ydb_end_st(&c, YDB_OK);
}
