/* Locks between processes and threads: waiting, waking, deadlocks, death at any moment. */
#include "log/writer.h"
#include "txn/locks.h"

#include "support/children.h"
#include "support/crowd.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#define OK      CARET_OK
#define BLOCKED CARET_LOCK_TIMEOUT

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

typedef int body_fn(struct caret__engine *, struct caret__locker *, void *);

/* In a child: attach, and end with the result of body. */
static void run(struct fixture *f, body_fn *body, void *arg)
{
    struct caret__engine *e = attach_child(f);
    struct caret__locker s;
    int rc;

    patience(250);
    caret__locker_init(e, &s);
    rc = body(e, &s, arg);
    if (rc != 0)
        fprintf(stderr, "child %d: result %d; %s\n", (int)getpid(), rc, caret_message());
    _exit(rc);
}

/* Start a process that runs body with a session of its own. */
static pid_t start(struct fixture *f, body_fn *body, void *arg)
{
    pid_t pid = fork();

    if (pid == 0)
        run(f, body, arg);
    assert_true(pid > 0);
    return pid;
}

/* Wait for a child that is killed, or else ends with `unhurt`. */
static bool was_killed(pid_t pid, int unhurt)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), unhurt);
    else
        assert_int_equal(WTERMSIG(status), SIGKILL);
    return WIFSIGNALED(status);
}

static void join_killed(pid_t pid)
{
    assert_true(was_killed(pid, -1));
}

/* ---------------------------------------------------------------- the dead */

static int take_and_die(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    static const char *const more[] = {"^d(1)", "^d(2,3)", "^e"};

    if (take(e, s, arg, 0) != OK || take_all(e, s, more, 3, 0) != OK)
        return 1;
    die();
    return 1;
}

static void locks_of_a_dead_process_are_free_at_the_first_try(void **state)
{
    struct fixture *f = *state;
    struct caret__locker s;

    caret__locker_init(f->e, &s);
    join_killed(start(f, take_and_die, (char *)"^dead(1)"));
    assert_int_equal(lock_totals(f->e).held, 4);
    assert_int_equal(take(f->e, &s, "^dead", 0), OK);
    assert_int_equal(lock_totals(f->e).held, 1);
    check_locks(f->e);
    assert_int_equal(give(f->e, &s, "^dead"), OK);
    caret__locker_fini(&s);
}

struct soon {
    _Atomic int ready;
    uint32_t waiter; /* slot of the process that is going to wait */
};

/* Not before the waiter has asked whether the holder lives: one that is on record already may still ask. */
static int take_and_die_soon(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    struct soon *soon = arg;

    if (take(e, s, "^soon(1)", 0) != OK)
        return 1;
    soon->ready = 1;
    while (atomic_load(&e->slots[soon->waiter].lock_waits) == 0)
        usleep(1000);
    die();
    return 1;
}

static void a_waiter_notices_that_the_holder_died(void **state)
{
    struct fixture *f = *state;
    struct caret__locker s;
    struct soon *soon = shared_memory(sizeof *soon);
    pid_t pid;

    soon->waiter = f->e->slot;
    assert_int_equal(atomic_load(&f->e->slots[f->e->slot].lock_waits), 0);
    caret__locker_init(f->e, &s);
    pid = start(f, take_and_die_soon, soon);
    while (soon->ready == 0)
        usleep(1000);
    assert_int_equal(take(f->e, &s, "^soon", FOREVER), OK);
    join_killed(pid);
    assert_true(atomic_load(&f->e->slots[f->e->slot].lock_waits) > 0);
    assert_int_equal(give(f->e, &s, "^soon"), OK);
    check_locks(f->e);
    caret__locker_fini(&s);
}

static int die_while_writing(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    (void)arg;
    if (take(e, s, "^w", 0) != OK || caret__writer_lock(e) != OK)
        return 1;
    die();
    return 1;
}

static void a_dead_commit_is_repaired_before_its_locks_are_free(void **state)
{
    struct fixture *f = *state;
    struct caret__locker s;
    pthread_mutex_t *writer = &f->e->sh->writer;

    caret__locker_init(f->e, &s);
    join_killed(start(f, die_while_writing, NULL));
    assert_int_equal(take(f->e, &s, "^w", 0), OK);
    assert_int_equal(caret__mutex_trylock(writer), 0); /* not EOWNERDEAD any more */
    caret__mutex_unlock(writer);
    assert_int_equal(give(f->e, &s, "^w"), OK);
    caret__locker_fini(&s);
}

static int fill_and_die(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    char text[32];
    int rc = OK;

    (void)arg;
    for (unsigned i = 0; rc == OK; i++) {
        snprintf(text, sizeof text, "^full(%u)", i);
        rc = take(e, s, text, 0);
    }
    if (rc != CARET_E_LIMIT)
        return 1;
    die();
    return 1;
}

static void a_table_full_of_dead_locks_is_not_full(void **state)
{
    struct fixture *f = *state;
    struct caret__locker s;

    caret__locker_init(f->e, &s);
    join_killed(start(f, fill_and_die, NULL));
    assert_int_equal(take(f->e, &s, "^other(1)", 0), OK);
    assert_int_equal(lock_totals(f->e).held, 1);
    assert_int_equal(give(f->e, &s, "^other(1)"), OK);
    check_locks(f->e);
    caret__locker_fini(&s);
}

/* --------------------------------------------------------------- deadlocks */

struct party {
    struct caret__engine *e;
    struct caret__locker s;
    const char *has, *wants;
    _Atomic int *step;
    int result;
    pthread_t thread;
};

static void *hold_and_want(void *arg)
{
    struct party *p = arg;

    p->result = take(p->e, &p->s, p->wants, FOREVER);
    caret__lock_release_all(p->e, &p->s);
    return NULL;
}

static void party_start(struct party *p, struct caret__engine *e, const char *has, const char *wants,
                        unsigned waiters)
{
    *p = (struct party){.e = e, .has = has, .wants = wants};
    caret__locker_init(e, &p->s);
    assert_int_equal(take(e, &p->s, has, 0), OK);
    assert_int_equal(pthread_create(&p->thread, NULL, hold_and_want, p), 0);
    await_waiters(e, waiters);
}

static void party_end(struct party *p, int result)
{
    pthread_join(p->thread, NULL);
    assert_int_equal(p->result, result);
    caret__locker_fini(&p->s);
}

static void a_ring_of_two_is_refused_and_told(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s;
    struct party p;

    caret__locker_init(e, &s);
    assert_int_equal(take(e, &s, "^a(1)", 0), OK);
    party_start(&p, e, "^b", "^a", 1);
    assert_int_equal(take(e, &s, "^b", FOREVER), CARET_DEADLOCK);
    assert_non_null(strstr(caret_message(), "DEADLOCK: pid "));
    assert_non_null(strstr(caret_message(), " waits for ^b held by pid "));
    assert_non_null(strstr(caret_message(), ", which waits for ^a, blocked by ^a(1) held by pid "));
    assert_int_equal(take(e, &s, "^b", 0), BLOCKED);
    assert_int_equal(take(e, &s, "^c", FOREVER), OK); /* it goes on */
    assert_int_equal(give(e, &s, "^a(1)"), OK);
    party_end(&p, OK);
    assert_int_equal(caret__lock_release_all(e, &s), OK);
    check_locks(e);
    caret__locker_fini(&s);
}

static void a_ring_of_three_is_refused_whoever_closes_it(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    const char *const all[] = {"^x", "^a(1)"};
    struct caret__locker s;
    struct party p, q;

    caret__locker_init(e, &s);
    assert_int_equal(take(e, &s, "^a", 0), OK);
    party_start(&p, e, "^b", "^a(1)", 1);
    party_start(&q, e, "^c(1)", "^b", 2);
    assert_int_equal(take(e, &s, "^c", FOREVER), CARET_DEADLOCK);
    assert_non_null(strstr(caret_message(), "^c, blocked by ^c(1)"));
    assert_non_null(strstr(caret_message(), "waits for ^b held"));
    assert_non_null(strstr(caret_message(), "^a(1), blocked by ^a held"));
    assert_int_equal(take_all(e, &s, (const char *[]){"^y", "^c"}, 2, FOREVER), CARET_DEADLOCK);
    assert_int_equal(take(e, &s, "^y", 0), OK);
    assert_int_equal(caret__lock_release_all(e, &s), OK);
    party_end(&p, OK);
    party_end(&q, OK);
    assert_int_equal(take_all(e, &s, all, 2, 0), OK);
    assert_int_equal(caret__lock_release_all(e, &s), OK);
    check_locks(e);
    caret__locker_fini(&s);
}

static void a_chain_that_is_no_ring_is_waited_for(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s;
    struct party p, q;

    caret__locker_init(e, &s);
    assert_int_equal(take(e, &s, "^a", 0), OK);
    party_start(&p, e, "^b", "^a", 1);
    party_start(&q, e, "^c", "^b", 2);
    assert_int_equal(take(e, &s, "^d", FOREVER), OK);
    assert_int_equal(caret__lock_release_all(e, &s), OK);
    assert_int_equal(take(e, &s, "^c", FOREVER), OK);
    party_end(&p, OK);
    party_end(&q, OK);
    assert_int_equal(caret__lock_release_all(e, &s), OK);
    caret__locker_fini(&s);
}

static int want_forever(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    if (take(e, s, "^b", 0) != OK)
        return 1;
    *(_Atomic int *)arg = 1;
    take(e, s, "^a", FOREVER);
    return 1;
}

static void a_dead_waiter_closes_no_ring(void **state)
{
    struct fixture *f = *state;
    struct caret__locker s;
    _Atomic int *ready = shared_memory(sizeof *ready);
    pid_t pid;

    caret__locker_init(f->e, &s);
    assert_int_equal(take(f->e, &s, "^a", 0), OK);
    pid = start(f, want_forever, ready);
    while (*ready == 0)
        usleep(1000);
    await_waiters(f->e, 1);
    kill_and_wait(pid);
    assert_int_equal(lock_totals(f->e).waiting, 1);
    assert_int_equal(take(f->e, &s, "^b", FOREVER), OK);
    assert_int_equal(lock_totals(f->e).waiting, 0);
    assert_int_equal(caret__lock_release_all(f->e, &s), OK);
    check_locks(f->e);
    caret__locker_fini(&s);
}

/* ----------------------------------------------------------------- wake-ups */

static void a_release_is_announced_to_whom_it_concerns(void **state)
{
    static const struct {
        const char *held, *wanted;
        bool concerned;
    } cases[] = {{"^a(1)", "^a(1)", true},
                 {"^a(1)", "^a(1,2,3)", true},
                 {"^a(1,2,3)", "^a(1)", true},
                 {"^a(1,2)", "^a(3)", false},
                 {"^b", "^a", false}};
    struct caret__engine *e = ((struct fixture *)*state)->e;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct caret__locker s;
        struct party p;
        uint32_t before;

        caret__locker_init(e, &s);
        assert_int_equal(take(e, &s, cases[i].held, 0), OK);
        if (!cases[i].concerned)
            assert_int_equal(take(e, &s, cases[i].wanted, 0), OK);
        party_start(&p, e, "^p", cases[i].wanted, 1);
        before = e->sh->lock_futex;
        assert_int_equal(give(e, &s, cases[i].held), OK);
        assert_int_equal(e->sh->lock_futex != before, cases[i].concerned);
        assert_int_equal(caret__lock_release_all(e, &s), OK);
        party_end(&p, OK);
        caret__locker_fini(&s);
    }
    check_locks(e);
}

struct sleeper {
    struct caret__engine *e;
    uint32_t seen;
};

/* Sleeps on the word as a waiter does, and tells how that ended. */
static void *sleep_on_word(void *arg)
{
    struct sleeper *sleeper = arg;
    struct timespec long_time = {30, 0};
    long r = syscall(SYS_futex, &sleeper->e->sh->lock_futex, FUTEX_WAIT, sleeper->seen, &long_time, NULL, 0);

    return (void *)(intptr_t)(r == 0 ? 0 : errno);
}

static void a_release_wakes_those_who_sleep(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct sleeper sleeper = {e, 0};
    void *end = (void *)(intptr_t)EAGAIN;

    while (end == (void *)(intptr_t)EAGAIN) { /* it came too late to sleep */
        struct caret__locker s;
        struct party p;
        pthread_t thread;

        caret__locker_init(e, &s);
        assert_int_equal(take(e, &s, "^a", 0), OK);
        party_start(&p, e, "^b", "^a", 1);
        sleeper.seen = e->sh->lock_futex;
        assert_int_equal(pthread_create(&thread, NULL, sleep_on_word, &sleeper), 0);
        usleep(1000);
        assert_int_equal(give(e, &s, "^a"), OK);
        pthread_join(thread, &end);
        party_end(&p, OK);
        caret__locker_fini(&s);
    }
    assert_int_equal((intptr_t)end, 0);
}

static void *want_two(void *arg)
{
    struct party *p = arg;

    p->result = take_all(p->e, &p->s, (const char *[]){"^w(1)", "^c(1)"}, 2, FOREVER);
    caret__lock_release_all(p->e, &p->s);
    return NULL;
}

static void a_waiter_may_go_over_to_another_name(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s;
    struct party p = {.e = e};

    caret__locker_init(e, &s);
    caret__locker_init(e, &p.s);
    assert_int_equal(take(e, &s, "^w", 0), OK);
    assert_int_equal(take(e, &s, "^c", 0), OK);
    assert_int_equal(pthread_create(&p.thread, NULL, want_two, &p), 0);
    await_waiters(e, 1);
    make_next_idle(e, &s, "^c(1)");
    assert_int_equal(give(e, &s, "^w"), OK);
    await_waiters(e, 1); /* of ^c now, as that alone is held */
    check_locks(e);
    assert_int_equal(caret__lt(e)->waiting, 1);
    assert_int_equal(give(e, &s, "^c"), OK);
    party_end(&p, OK);
    assert_int_equal(caret__lt(e)->waiting, 0);
    check_locks(e);
    caret__locker_fini(&s);
}

/* ------------------------------------------------------------ fault points */

#ifdef CARET_FAULTS

#define LONG_NAME "^f(1,2,\"a name that is longer than its first cell, so that it needs another\")"
#define POINTS    64

/* Goes past every fault point of normal work.  ^held is held by the parent. */
static int exercise(struct caret__engine *e, struct caret__locker *s)
{
    const char *const all[] = {"^f(7)", "^g", LONG_NAME};
    char text[32];
    uint64_t mark;

    if (take(e, s, LONG_NAME, 0) != OK || take(e, s, LONG_NAME, 0) != OK || take(e, s, "^f(1)", 0) != OK ||
        take(e, s, "^held(1,2)", 2000000) != BLOCKED || take_all(e, s, all, 3, 0) != OK)
        return 1;
    mark = caret__lock_mark(s);
    if (take(e, s, "^f(8,1)", 0) != OK || caret__lock_rollback(e, s, mark) != OK)
        return 2;
    for (unsigned i = 0; i < 2 * CARET__LOCK_IDLE; i++) { /* idle names leave */
        snprintf(text, sizeof text, "^i(%u,1)", i);
        if (take(e, s, text, 0) != OK || give(e, s, text) != OK)
            return 3;
    }
    return give(e, s, LONG_NAME) != OK || caret__lock_release_all(e, s) != OK ? 4 : 0;
}

struct points {
    char names[POINTS][48];
    unsigned hits[POINTS];
    size_t n;
};

/* Exercise without harm, and tell which points were passed how often. */
static int find_points(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    struct points *p = arg;
    const char *names[256];
    size_t n;
    int rc;

    caret__fault_reset();
    rc = exercise(e, s);
    n = caret__fault_names(names, 256);
    for (size_t i = 0; i < n && i < 256 && p->n < POINTS; i++) {
        uint64_t hits = caret__fault_hits(names[i]);

        if (strncmp(names[i], "lock_", 5) != 0 || hits == 0)
            continue;
        snprintf(p->names[p->n], sizeof p->names[0], "%s", names[i]);
        p->hits[p->n++] = (unsigned)hits;
    }
    return rc;
}

static int exercise_once(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    (void)arg;
    return exercise(e, s);
}

/* The point counts from the attaching on, which reaps and so repairs, too. */
static pid_t start_to_die(struct fixture *f, const char *point, unsigned nth)
{
    pid_t pid = fork();

    if (pid == 0) {
        caret__fault_arm(point, nth, CARET__FAULT_KILL);
        run(f, exercise_once, NULL);
    }
    return pid;
}

/* The parent's locks are intact, everything else is free, and all works. */
static void check_aftermath(struct fixture *f, struct caret__locker *mine)
{
    static const char *const vars[] = {"^f", "^g", "^i"};
    struct caret__locker s;

    check_locks(f->e);
    caret__locker_init(f->e, &s);
    assert_int_equal(take(f->e, &s, "^held(1)", 0), BLOCKED);
    assert_int_equal(take(f->e, &s, "held(1)", 0), BLOCKED);
    assert_int_equal(take_all(f->e, &s, vars, 3, FOREVER), OK);
    assert_int_equal(lock_totals(f->e).held, 6);
    assert_int_equal(caret__lock_release_all(f->e, &s), OK);
    assert_int_equal(give(f->e, mine, "^held(1,2)"), OK);
    assert_int_equal(take(f->e, &s, "^held(1,2,3)", 0), BLOCKED);
    assert_int_equal(take(f->e, mine, "^held(1,2)", 0), OK);
    check_locks(f->e);
    caret__locker_fini(&s);
}

static void hold_something(struct caret__engine *e, struct caret__locker *s)
{
    caret__locker_init(e, s);
    assert_int_equal(take(e, s, "^held(1,2)", 0), OK);
    assert_int_equal(take(e, s, "^held(1,2)", 0), OK);
    assert_int_equal(
        take(e, s, "^held(1,2,\"and a long one, that goes on in further cells of the table\")", 0), OK);
    assert_int_equal(
        take(e, s,
             "held(1,2,\"the name of a local, and that is long as well, as a name of a global may be\")", 0),
        OK);
}

static void death_at_any_point_is_repaired(void **state)
{
    struct fixture *f = *state;
    struct points *p = shared_memory(sizeof *p);
    struct caret__locker mine;

    hold_something(f->e, &mine);
    join(start(f, find_points, p));
    assert_true(p->n >= 15);
    for (size_t i = 0; i < p->n; i++) {
        for (unsigned nth = 1; nth <= p->hits[i]; nth += nth < 8 ? 1 : 1 + p->hits[i] / 4) {
            /* what is idle differs from run to run, and the later hits with it */
            assert_true(was_killed(start_to_die(f, p->names[i], nth), 0) || nth > 1);
            check_aftermath(f, &mine);
        }
    }
    assert_int_equal(caret__lock_release_all(f->e, &mine), OK);
    assert_int_equal(lock_totals(f->e).held, 0);
    caret__locker_fini(&mine);
}

static void death_in_the_repair_is_repaired(void **state)
{
    static const char *const points[] = {"lock_repair_forgot", "lock_repair_indexed", "lock_repair_linked",
                                         "lock_name_made",     "lock_name_in_bucket", "lock_repair_counted"};
    static const char *const before[] = {"lock_held", "lock_counted_above", "lock_counted_down",
                                         "lock_name_in_bucket"};
    struct fixture *f = *state;
    struct caret__locker mine;

    hold_something(f->e, &mine);
    for (unsigned b = 0; b < 4; b++) {
        for (unsigned i = 0; i < 6; i++) {
            join_killed(start_to_die(f, before[b], 2));
            join_killed(start_to_die(f, points[i], 1));
            check_aftermath(f, &mine);
        }
    }
    assert_int_equal(caret__lock_release_all(f->e, &mine), OK);
    caret__locker_fini(&mine);
}

#endif

/* ------------------------------------------------------------------ stress */

#define WORKERS 4
#define NAMES   5
#define ROUNDS  2000

static const char *const names[NAMES] = {"^s", "^s(1)", "^s(1,2)", "^s(2)", "^t"};
static const bool excludes[NAMES][NAMES] = {
    {1, 1, 1, 1, 0}, {1, 1, 1, 0, 0}, {1, 1, 1, 0, 0}, {1, 0, 0, 1, 0}, {0, 0, 0, 0, 1}};

struct arena {
    _Atomic pid_t inside[NAMES]; /* the holder of the name */
    _Atomic pid_t doomed;        /* about to be killed: its locks may be released at any time */
    _Atomic uint64_t rounds;
    unsigned limit;
};

static bool alone(struct arena *a, unsigned n)
{
    for (unsigned i = 0; i < NAMES; i++) {
        pid_t who = a->inside[i];

        if (excludes[n][i] && who != 0 && who != getpid() && who != a->doomed && who == a->inside[i])
            return false; /* still there after doomed was read: the two are changed one after the other */
    }
    return true;
}

static void doom(struct arena *a, pid_t pid)
{
    a->doomed = pid;
    kill_and_wait(pid);
    for (unsigned i = 0; i < NAMES; i++) {
        pid_t was = pid;

        atomic_compare_exchange_strong(&a->inside[i], &was, 0);
    }
}

/* Take, look around, release; what was got must be exclusive, and nobody gets a lock unannounced. */
static int work(struct caret__engine *e, struct caret__locker *s, void *arg)
{
    struct arena *a = arg;
    struct caret__rand rand;

    caret__rand_seed(&rand, (uint64_t)getpid());
    caret__fault_reset();
    for (unsigned i = 0; i < a->limit; i++) {
        unsigned n = caret__rand_below(&rand, NAMES);

        if (take(e, s, names[n], FOREVER) != OK)
            return 1;
        a->inside[n] = getpid();
        if (!alone(a, n))
            return 2;
        if (caret__rand_below(&rand, 8) == 0)
            usleep(10);
        if (!alone(a, n))
            return 3;
        a->inside[n] = 0;
        if (give(e, s, names[n]) != OK)
            return 4;
        a->rounds++;
    }
    return caret__fault_hits("lock_unannounced") != 0 ? 5 : 0;
}

static void processes_exclude_each_other_and_no_wakeup_is_lost(void **state)
{
    struct fixture *f = *state;
    struct arena *a = shared_memory(sizeof *a);
    pid_t pids[WORKERS];

    a->limit = ROUNDS;
    for (unsigned i = 0; i < WORKERS; i++)
        pids[i] = start(f, work, a);
    for (unsigned i = 0; i < WORKERS; i++)
        join(pids[i]);
    assert_int_equal(a->rounds, WORKERS * ROUNDS);
    assert_int_equal(lock_totals(f->e).held, 0);
    check_locks(f->e);
}

/* The parent looks for dead locks itself, as the workers would only each second. */
static void look_around(struct caret__engine *e)
{
    struct caret__locker s;

    caret__locker_init(e, &s);
    for (unsigned i = 0; i < NAMES; i++) {
        if (take(e, &s, names[i], 0) == OK)
            assert_int_equal(give(e, &s, names[i]), OK);
    }
    check_locks(e);
    caret__locker_fini(&s);
}

static void processes_killed_at_random_leave_no_trace(void **state)
{
    struct fixture *f = *state;
    struct arena *a = shared_memory(sizeof *a);
    struct caret__rand rand;
    pid_t pids[WORKERS];

    caret__rand_seed(&rand, 7);
    a->limit = UINT32_MAX;
    for (unsigned i = 0; i < WORKERS; i++)
        pids[i] = start(f, work, a);
    for (unsigned i = 0; i < 200; i++) {
        unsigned victim = caret__rand_below(&rand, WORKERS);
        uint64_t rounds = a->rounds;

        usleep(caret__rand_below(&rand, 4000));
        assert_int_equal(waitpid(pids[victim], NULL, WNOHANG), 0);
        doom(a, pids[victim]);
        look_around(f->e);
        while (a->rounds == rounds) /* the others go on */
            usleep(100);
        pids[victim] = start(f, work, a);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_int_equal(waitpid(pids[i], NULL, WNOHANG), 0);
        doom(a, pids[i]);
    }
    look_around(f->e);
    assert_int_equal(lock_totals(f->e).held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_of_a_dead_process_are_free_at_the_first_try),
        cmocka_unit_test(a_waiter_notices_that_the_holder_died),
        cmocka_unit_test(a_dead_commit_is_repaired_before_its_locks_are_free),
        cmocka_unit_test(a_table_full_of_dead_locks_is_not_full),
        cmocka_unit_test(a_ring_of_two_is_refused_and_told),
        cmocka_unit_test(a_ring_of_three_is_refused_whoever_closes_it),
        cmocka_unit_test(a_chain_that_is_no_ring_is_waited_for),
        cmocka_unit_test(a_dead_waiter_closes_no_ring),
        cmocka_unit_test(a_release_is_announced_to_whom_it_concerns),
        cmocka_unit_test(a_release_wakes_those_who_sleep),
        cmocka_unit_test(a_waiter_may_go_over_to_another_name),
#ifdef CARET_FAULTS
        cmocka_unit_test(death_at_any_point_is_repaired),
        cmocka_unit_test(death_in_the_repair_is_repaired),
#endif
        cmocka_unit_test(processes_exclude_each_other_and_no_wakeup_is_lost),
        cmocka_unit_test(processes_killed_at_random_leave_no_trace),
    };

    patience(280);
    if (getenv("CARET_TEST") != NULL)
        cmocka_set_test_filter(getenv("CARET_TEST"));
    return cmocka_run_group_tests(tests, locks_setup, locks_teardown);
}
