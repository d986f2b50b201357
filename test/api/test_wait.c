/*
 * Sleeping until something changes: nobody misses a change, whoever dies where; whom it does not concern sleeps on;
 * and whoever sleeps can be interrupted.
 */
#include "support/database.h"
#include "support/nodes.h"

#include "support/crowd.h"

#include <pthread.h>
#include <stdbool.h>

#include "api/session.h"
#include "base/fault.h"

#ifdef CARET_SMALL
enum { ITEMS = 3000, DEATHS = 5, LOG_SIZE = 256 << 10 };
#else
enum { ITEMS = 20000, DEATHS = 1, LOG_SIZE = 8 << 20 };
#endif

#define SOON UINT64_C(30000000) /* 30 ms: a wait that is to come to nothing */

static caret_node *at(caret_node_buf *n, const char *zwr)
{
    OK(caret_node_parse(&n->node, sizeof *n, zwr, strlen(zwr), 0));
    return &n->node;
}

static void set(caret_session *s, const char *zwr)
{
    caret_node_buf n;

    OK(caret_set(s, at(&n, zwr), "x", 1));
}

static uint64_t place_of(caret_db *db)
{
    uint64_t place;

    OK(caret_durable(db, NULL, &place));
    return place;
}

/* CARET_OK, and soon, if something was changed there after `place`; else CARET_NONE. */
static int waited(caret_session *s, const char *zwr, uint64_t place)
{
    caret_node_buf n;

    return caret_wait(s, at(&n, zwr), place, SOON);
}

static void what_concerns_a_node_ends_the_wait(void **state)
{
    caret_session *s;
    caret_node_buf n;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    assert_int_equal(waited(s, "^a", 0), CARET_NONE);
    set(s, "^a(1,2)");
    assert_int_equal(waited(s, "^a", 0), CARET_OK);
    assert_int_equal(waited(s, "^b", 0), CARET_NONE);
    uint64_t place = place_of(db);
    assert_int_equal(waited(s, "^a(1)", place), CARET_NONE);
    assert_int_equal(waited(s, "^a(1)", CARET_LOG_END), CARET_NONE);
    set(s, "^a(1,2)"); /* below it */
    assert_int_equal(waited(s, "^a(1)", place), CARET_OK);
    assert_int_equal(waited(s, "^a(1,2)", place), CARET_OK);
    assert_int_equal(waited(s, "^a", place), CARET_OK);
    assert_int_equal(waited(s, "^a(1)", CARET_LOG_END), CARET_NONE);
    place = place_of(db);
    set(s, "^a(11)"); /* beside it: its name has the same beginning */
    set(s, "^ab(1)");
    set(s, "^a"); /* above it */
    assert_int_equal(waited(s, "^a(1)", place), CARET_NONE);
    OK(caret_delete(s, at(&n, "^a")));
    assert_int_equal(waited(s, "^a(1)", place), CARET_NONE);
    OK(caret_kill(s, at(&n, "^a"))); /* with it */
    assert_int_equal(waited(s, "^a(1)", place), CARET_OK);
    assert_int_equal(waited(s, "^a(7,8,9)", place), CARET_OK);
    set(s, "^a(3,1)");
    place = place_of(db);
    const caret_slice two = {"2", 1}, five = {"5", 1};
    OK(caret_kill_range(s, at(&n, "^a"), &two, &five, CARET_RANGE_BEFORE)); /* a range with it */
    assert_int_equal(waited(s, "^a", place), CARET_OK);
    assert_int_equal(waited(s, "^a(2,8,9)", place), CARET_OK);
    assert_int_equal(waited(s, "^a(4.9)", place), CARET_OK);
    assert_int_equal(waited(s, "^a(1)", place), CARET_NONE);
    assert_int_equal(waited(s, "^a(5)", place), CARET_NONE);
    assert_int_equal(waited(s, "^a(\"2\",1,1)", place), CARET_OK);
    assert_int_equal(waited(s, "^b", place), CARET_NONE);
    OK(caret_checkpoint(db));
    assert_int_equal(waited(s, "^b", place), CARET_OK); /* it can't be told any more */
    assert_int_equal(waited(s, "^b", 0), CARET_OK);
    assert_int_equal(waited(s, "^b", place_of(db)), CARET_NONE);
    assert_int_equal(waited(s, "^b", place_of(db) + 8), CARET_E_NOTFOUND);
    caret_session_close(s);
    OK(caret_close(db));
}

static void a_log_can_be_told_what_is_wanted(void **state)
{
    caret_session *s;
    caret_node_buf n;
    caret_change c = {.size = sizeof c};
    caret_log *log;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_log_open(db, CARET_LOG_END, &log));
    OK(caret_log_below(log, at(&n, "^q")));
    uint64_t begin = caret_log_place(log);
    assert_int_equal(begin, place_of(db));
    set(s, "^p(1)");
    assert_int_equal(caret_log_wait(NULL, log, SOON), CARET_NONE);
    assert_int_equal(caret_log_place(log), place_of(db)); /* passed over */
    uint64_t before = place_of(db);
    OK(caret_begin(s, 0));
    set(s, "^p(2)");
    set(s, "^q(1)");
    set(s, "^q(2)");
    set(s, "^r(1)");
    OK(caret_commit(s));
    OK(caret_log_wait(s, log, 0));
    assert_int_equal(caret_log_place(log), before);
    OK(caret_log_next(log, &c));
    assert_int_equal(c.index, 1);
    assert_int_equal(c.count, 4);
    assert_int_equal(caret_log_place(log), before); /* its commit is not done with */
    OK(caret_log_next(log, &c));
    assert_int_equal(c.index, 2);
    assert_int_equal(caret_log_next(log, &c), CARET_NONE);
    assert_int_equal(caret_log_place(log), place_of(db));
    OK(caret_log_below(log, NULL));
    set(s, "^p(3)");
    OK(caret_log_wait(s, log, SOON));
    OK(caret_log_next(log, &c));
    OK(caret_begin(s, 0));
    assert_int_equal(caret_log_wait(s, log, SOON), CARET_E_INTXN);
    assert_int_equal(caret_wait(s, at(&n, "^q"), 0, SOON), CARET_E_INTXN);
    OK(caret_rollback(s));
    assert_int_equal(caret_wait(s, at(&n, "q"), 0, SOON), CARET_E_INVALID);
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
    caret_options o = {.size = sizeof o, .readonly = 1, .shm_dir = shm_dir};
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    assert_int_equal(waited(s, "^q", CARET_LOG_END), CARET_E_READONLY);
    caret_session_close(s);
    OK(caret_close(db));
}

/* ------------------------------------------------------------------- processes */

static void ends(pid_t pid, int signal)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status), signal);
}

/* One after the other, each when the one before was taken, now and then a few at once. */
static void produce(void)
{
    caret_session *s;
    caret_node_buf n;
    caret_db *db = open_db();

    OK(caret_session_open(db, &s));
    for (int64_t i = 1; i <= ITEMS; i++) {
        OK(caret_node_child_int(&n.node, sizeof n, at(&n, "^q"), i));
        OK(caret_set(s, &n.node, "x", 1));
        if (i % 7 == 0) /* what does not concern them */
            set(s, "^other");
        while (i % 5 != 0 && atomic_load(signal_word) < i)
            sched_yield();
    }
    caret_session_close(s);
    OK(caret_close(db));
    _exit(0);
}

static void nobody_misses_anything(void **state)
{
    caret_session *s;
    caret_node_buf n;
    int64_t seen = 0;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    pid_t pid = fork();
    if (pid == 0)
        produce();
    patience(100);
    while (seen < ITEMS) {
        uint64_t place = place_of(db);
        OK(caret_node_child_int(&n.node, sizeof n, at(&n, "^q"), seen + 1));
        int data;
        OK(caret_data(s, &n.node, &data));
        if (data != 0)
            atomic_store(signal_word, (uint32_t)++seen);
        else
            OK(caret_wait(s, at(&n, "^q"), place, CARET_FOREVER));
    }
    patience(0);
    ends(pid, 0);
    caret_session_close(s);
    OK(caret_close(db));
}

static uint64_t awaiting(caret_session *s)
{
    return atomic_load(&s->e->sh->awaiting);
}

static void die_in_a_commit(const char *point)
{
    caret_session *s;
    caret_db *db = open_db();

    OK(caret_session_open(db, &s));
    UNTIL(awaiting(s) != 0);
    usleep(1000); /* they are asleep then, mostly */
    caret__fault_arm(point, 1, CARET__FAULT_KILL);
    set(s, "^q(1)");
    print_message("%s was not met\n", point);
    _exit(1);
}

static void the_death_of_a_writer_is_survived(void **state)
{
    static const char *const points[] = {"commit_point", "before_applied", "after_applied",
                                         "await_seen",   "await_cleared",  "await_raised"};
    caret_session *s;
    caret_node_buf n;

    (void)state;
    need_points();
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    for (size_t i = 0; i < DEATHS * sizeof points / sizeof *points; i++) {
        uint64_t place = place_of(db);
        pid_t pid = fork();
        if (pid == 0)
            die_in_a_commit(points[i % (sizeof points / sizeof *points)]);
        patience(60);
        OK(caret_wait(s, at(&n, "^q"), place, CARET_FOREVER)); /* a second late, perhaps */
        patience(0);
        ends(pid, SIGKILL);
    }
    caret_session_close(s);
    OK(caret_close(db));
}

/* What is durable may not be visible yet, and caret_durable() tells the later of the two places. */
static void a_place_may_be_ahead_of_what_is_visible(void **state)
{
    caret_session *s;

    (void)state;
    need_points();
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *mine = open_db();
        caret_session *of;
        OK(caret_session_open(mine, &of));
        caret__fault_arm("before_applied", 1, CARET__FAULT_KILL);
        set(of, "^q(1)");
        _exit(1);
    }
    ends(pid, SIGKILL);
    uint64_t place = atomic_load(&s->e->sh->log_head);
    assert_true(place > atomic_load(&s->e->sh->log_applied));
    assert_int_equal(waited(s, "^q", place), CARET_NONE);
    set(s, "^q(2)");
    assert_int_equal(waited(s, "^q", place), CARET_OK);
    assert_int_equal(waited(s, "^q", place_of(db)), CARET_NONE);
    caret_session_close(s);
    OK(caret_close(db));
}

static void die_waiting(const char *point)
{
    caret_session *s;
    caret_node_buf n;
    caret_db *db = open_db();

    OK(caret_session_open(db, &s));
    caret__fault_arm(point, 1, CARET__FAULT_KILL);
    caret_wait(s, at(&n, "^q"), CARET_LOG_END, SOON);
    _exit(1);
}

static unsigned places_taken(caret_session *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < CARET__AWAITERS; i++)
        n += atomic_load(&s->e->sh->awaiters[i].owner) != 0;
    return n;
}

static void the_death_of_who_waits_costs_nothing(void **state)
{
    static const char *const points[] = {"await_taken", "await_armed", "await_unarmed"};
    caret_session *s;

    (void)state;
    need_points();
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    for (size_t i = 0; i < 3 * DEATHS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            die_waiting(points[i % 3]);
        ends(pid, SIGKILL);
    }
    assert_true(places_taken(s) > 0);
    uint64_t place = place_of(db);
    set(s, "^other");
    assert_int_equal(waited(s, "^q", place), CARET_NONE);
    set(s, "^q(1)");
    assert_int_equal(waited(s, "^q", place), CARET_OK);
    set(s, "^other"); /* their slot was given back or taken by the next: their bits go */
    assert_int_equal(awaiting(s) & ~(UINT64_C(1) << (CARET__AWAITERS - 1)), 0);
    caret_session_close(s);
    OK(caret_close(db));
}

static int wait_from_now_on(void)
{
    caret_session *s;
    caret_node_buf n;
    caret_db *db = open_db();

    OK(caret_session_open(db, &s));
    return caret_wait(s, at(&n, "^q"), CARET_LOG_END, CARET_FOREVER);
}

/* The log has gone round since the follower began. */
static bool gone_round(caret_session *s, caret_log *log)
{
    caret_change c = {.size = sizeof c};
    caret_node_buf n;
    static char value[80];

    for (int i = 0; i < 300000; i++) /* 30 MB of log */
        OK(caret_set(s, at(&n, i % 2 == 0 ? "^other(0)" : "^other(1)"), value, sizeof value));
    return caret_log_next(log, &c) == CARET_E_NOTFOUND;
}

static void what_left_the_log_ends_a_wait(void **state)
{
    caret_options o = options();
    caret_session *s;
    caret_log *log;
    caret_db *db;

    (void)state;
    o.log_size = LOG_SIZE;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    pid_t pid = fork();
    if (pid == 0)
        _exit(wait_from_now_on() == CARET_OK ? 0 : 1);
    UNTIL(awaiting(s) != 0);
    kill(pid, SIGSTOP); /* so that it does not look */
    OK(caret_log_open(db, CARET_LOG_END, &log));
    assert_true(gone_round(s, log));
    kill(pid, SIGCONT);
    ends(pid, 0);
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* --------------------------------------------------------------------- threads */

struct sleeper {
    caret_db *db;
    caret_session *s;
    uint64_t place;
    int rc;
    bool opened, lock;
    pthread_t thread;
};

static void *sleep_for_ever(void *arg)
{
    struct sleeper *t = arg;
    caret_node_buf n;

    t->rc = t->lock ? caret_lock(t->s, at(&n, "^lock"), CARET_FOREVER)
                    : caret_wait(t->s, at(&n, "^q(1)"), t->place, CARET_FOREVER);
    return NULL;
}

static void start(struct sleeper *t, caret_db *db)
{
    t->db = db;
    t->place = place_of(db);
    OK(caret_session_open(db, &t->s));
    OK(caret_session_detach(t->s));
    assert_int_equal(pthread_create(&t->thread, NULL, sleep_for_ever, t), 0);
}

static void finish(struct sleeper *t, int rc)
{
    OK(pthread_join(t->thread, NULL));
    assert_int_equal(t->rc, rc);
    caret_session_close(t->s);
}

/* More than there are places, in small builds; those without one share the last. */
static void all_who_wait_are_woken(void **state)
{
    struct sleeper t[3 * 4] = {{0}};
    caret_session *s;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    patience(100);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof t / sizeof *t; i++)
            start(&t[i], db);
        for (int i = 0; i < round; i++)
            set(s, "^other");
        if (round % 2 == 0)
            UNTIL(awaiting(s) != 0);
        set(s, "^q(1,2)");
        patience(100);
        for (size_t i = 0; i < sizeof t / sizeof *t; i++)
            finish(&t[i], CARET_OK);
        assert_int_equal(places_taken(s), 0);
    }
    patience(0);
    caret_session_close(s);
    OK(caret_close(db));
}

static caret_session *interrupted;

static void interrupt_it(int signal)
{
    (void)signal;
    caret_interrupt(interrupted);
}

static void a_sleep_can_be_interrupted(void **state)
{
    struct sleeper t = {0}, u = {.lock = true};
    caret_session *s;
    caret_node_buf n;
    caret_log *log;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_lock(s, at(&n, "^lock"), 0));
    for (int round = 0; round < 20; round++) {
        start(&t, db);
        start(&u, db);
        if (round % 2 == 0)
            UNTIL(awaiting(s) != 0);
        caret_interrupt(t.s);
        caret_interrupt(u.s);
        patience(100);
        finish(&t, CARET_E_INTERRUPTED);
        finish(&u, CARET_E_INTERRUPTED);
        patience(0);
    }
    caret_interrupt(s); /* before it sleeps: then the first that would */
    caret_interrupt(s);
    caret_interrupt(NULL);
    OK(caret_lock(s, at(&n, "^lock"), 0));
    assert_int_equal(caret_wait(s, at(&n, "^q"), CARET_LOG_END, CARET_FOREVER), CARET_E_INTERRUPTED);
    assert_memory_equal(caret_message(), "INTERRUPTED: ", 13);
    assert_int_equal(waited(s, "^q", CARET_LOG_END), CARET_NONE);
    OK(caret_log_open(db, CARET_LOG_END, &log));
    interrupted = s;
    signal(SIGALRM, interrupt_it);
    ualarm(20000, 0);
    assert_int_equal(caret_log_wait(s, log, CARET_FOREVER), CARET_E_INTERRUPTED);
    signal(SIGALRM, SIG_DFL);
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* ----------------------------------------------------------------- a host's lock */

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool has_it;
static _Atomic unsigned slept;

static void *let_go(void *arg)
{
    assert_ptr_equal(arg, &host_lock);
    if (!has_it) /* then it is not a thread of the host's */
        abort();
    has_it = false;
    pthread_mutex_unlock(&host_lock);
    atomic_fetch_add(&slept, 1);
    return &has_it;
}

static void take_again(void *arg, void *token)
{
    if (arg != &host_lock || token != &has_it || has_it)
        abort();
    pthread_mutex_lock(&host_lock);
    has_it = true;
}

static void host_enter(void)
{
    pthread_mutex_lock(&host_lock);
    has_it = true;
}

static void host_leave(void)
{
    assert_true(has_it);
    has_it = false;
    pthread_mutex_unlock(&host_lock);
}

/* All that may sleep, with the host's lock: nobody lets go of it but the hooks. */
static void *work(void *arg)
{
    caret_options o = options();
    caret_session *s;
    caret_db *db;
    caret_node_buf n;

    host_enter();
    o.sync = CARET_SYNC_COMMIT;
    o.no_thread = 0;
    for (int i = 0; i < 20; i++) {
        must(caret_open(path, &o, &db), "caret_open");
        must(caret_session_open(db, &s), "caret_session_open");
        must(caret_lock(s, at(&n, "^lock"), CARET_FOREVER), "caret_lock");
        must(caret_incr_int(s, at(&n, "^n"), 1, 0, NULL), "caret_incr_int");
        must(caret_unlock(s, at(&n, "^lock")), "caret_unlock");
        must(caret_begin(s, CARET_TXN_BATCH), "caret_begin");
        for (int k = 0; k < 300; k++) {
            must(caret_node_child_int(&n.node, sizeof n, at(&n, "^many"), k * 4 + (int)(intptr_t)arg),
                 "caret_node_child_int");
            must(caret_set(s, &n.node, "x", 1), "caret_set");
        }
        must(caret_commit(s), "caret_commit");
        int rc = caret_wait(s, at(&n, "^n"), CARET_LOG_END, 1000000);
        must(rc == CARET_NONE ? CARET_OK : rc, "caret_wait");
        if (i % 7 == 0)
            must(caret_checkpoint(db), "caret_checkpoint");
        caret_session_close(s);
        must(caret_close(db), "caret_close");
    }
    host_leave();
    return NULL;
}

static void a_host_is_told_of_each_sleep(void **state)
{
    pthread_t thread[4];
    caret_session *s;

    (void)state;
    assert_int_equal(caret_wait_hooks(let_go, NULL, NULL), CARET_E_INVALID);
    OK(caret_wait_hooks(let_go, take_again, &host_lock));
    patience(200);
    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, (void *)i), 0);
    pid_t pid = fork(); /* in the midst of it; the child does nothing, a thread of it might have the lock */
    if (pid == 0)
        _exit(0);
    ends(pid, 0);
    for (int i = 0; i < 4; i++)
        OK(pthread_join(thread[i], NULL));
    assert_true(atomic_load(&slept) > 0);
    host_enter();
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    unsigned before = atomic_load(&slept);
    for (int i = 0; i < 100; i++)
        set(s, "^alone");
    assert_int_equal(atomic_load(&slept), before); /* what does not sleep tells nobody */
    caret_node_buf n;
    caret_slice v;
    OK(caret_get(s, at(&n, "^n"), &v));
    assert_int_equal(v.len, 2);
    assert_memory_equal(v.data, "80", 2);
    caret_session_close(s);
    OK(caret_close(db));
    host_leave();
    patience(0);
    OK(caret_wait_hooks(NULL, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_concerns_a_node_ends_the_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(a_log_can_be_told_what_is_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_misses_anything, setup, teardown),
        cmocka_unit_test_setup_teardown(the_death_of_a_writer_is_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(a_place_may_be_ahead_of_what_is_visible, setup, teardown),
        cmocka_unit_test_setup_teardown(the_death_of_who_waits_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_left_the_log_ends_a_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(all_who_wait_are_woken, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sleep_can_be_interrupted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_host_is_told_of_each_sleep, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
