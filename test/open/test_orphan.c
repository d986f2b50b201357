/*
 * Writers that die without the kernel's handing their mutex over, as one may that is killed for want of memory: the
 * child takes its list of robust mutexes away from the kernel first.  Others move to a spare mutex.
 */

#include <linux/futex.h>
#include <sys/syscall.h>

#include "api/session.h"
#include "base/fault.h"
#include "open/open.h"
#include "support/database.h"

static caret_node_buf buf;

static caret_node *number(int i)
{
    OK(caret_node_var(&buf.node, sizeof buf, "^n", 2));
    OK(caret_node_child_int(&buf.node, sizeof buf, &buf.node, i));
    return &buf.node;
}

/* From here on the kernel knows of no mutex of this thread. */
static void hide_mutexes(void)
{
    static struct robust_list_head none;

    none.list.next = &none.list;
    if (syscall(SYS_set_robust_list, &none, sizeof none) != 0)
        _exit(3);
}

#ifdef CARET_FAULTS
enum { SEVEN = 7, STOPPED = 1, DEAF = 2, HIDE = 4, EARLY = 8 };

/* In a child: set seven nodes in one transaction, and die or stop at that fault point (EARLY: or while opening). */
static pid_t child_at(const char *fault, int how)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    caret_options o = options();
    caret_db *db;
    caret_session *s;
    if (how & EARLY)
        caret__fault_arm(fault, 1, CARET__FAULT_KILL);
    if (caret_open(path, &o, &db) != CARET_OK || caret_session_open(db, &s) != CARET_OK)
        _exit(4);
    if (how & HIDE)
        hide_mutexes();
    if (!(how & EARLY))
        caret__fault_arm(fault, 1, how & STOPPED ? CARET__FAULT_STOP : CARET__FAULT_KILL);
    caret_begin(s, 0);
    for (int i = 0; i < SEVEN; i++)
        caret_set(s, number(i), fault, strlen(fault));
    if (how & DEAF) /* its record lock goes with any descriptor of the lock file */
        close(open(lock_path, O_RDONLY));
    int rc = caret_commit(s);
    _exit(rc == CARET_OK ? 0 : 5);
}

static void assert_killed(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void assert_ended_well(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_all(caret_session *s, const char *value)
{
    caret_slice v;

    for (int i = 0; i < SEVEN; i++) {
        OK(caret_get(s, number(i), &v));
        assert_int_equal(v.len, strlen(value));
        assert_memory_equal(v.data, value, v.len);
    }
}

/* Which of the writer mutexes is in use. */
static uint32_t in_use(caret_db *db)
{
    struct caret__engine *e;

    OK(caret__db_engine(db, &e));
    return atomic_load(&e->sh->writer_index);
}

static void assert_clean(caret_db *db)
{
    char report[1000];

    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", caret_message(), report);
}

static void writers_move_on_and_data_is_whole(void **state)
{
    caret_session *s;
    (void)state;
    caret_db *db = open_db();

    OK(caret_session_open(db, &s));
    assert_killed(child_at("undo_published", HIDE)); /* after the commit point */
    OK(caret_set(s, number(50), "x", 1));
    assert_int_equal(in_use(db), 1);
    assert_all(s, "undo_published");

    assert_killed(child_at("record_written", HIDE)); /* before it */
    pid_t pid = child_at("no such point", 0);        /* a process that opens and writes */
    assert_ended_well(pid);
    assert_int_equal(in_use(db), 2);
    assert_all(s, "no such point");

    assert_killed(child_at("before_applied", 0)); /* the kernel does its part: nothing moves */
    OK(caret_set(s, number(50), "y", 1));
    assert_int_equal(in_use(db), 2);
    assert_all(s, "before_applied");
    assert_clean(db);

    assert_killed(child_at("after_applied", HIDE));
    OK(caret_set(s, number(50), "y", 1));
    assert_int_equal(in_use(db), 3);

    assert_killed(child_at("after_applied", HIDE)); /* there is no other one */
    assert_int_equal(caret_set(s, number(50), "z", 1), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "close all users"));
    assert_all(s, "after_applied");
    caret_session_close(s);
    caret_close(db);

    db = open_db();
    OK(caret_session_open(db, &s));
    assert_all(s, "after_applied");
    OK(caret_set(s, number(50), "z", 1));
    assert_int_equal(in_use(db), 0);
    assert_clean(db);
    caret_session_close(s);
    OK(caret_close(db));
}

/* Where a waiter that moves on to a spare mutex may die. */
static const char *const points[] = {"spare_locked", "orphan_repaired", "orphan_left"};

/* A fresh database whose writer mutex a dead writer has, after its commit point. */
static caret_db *with_orphan(caret_session **s)
{
    unlink(path);
    caret_db *db = open_db();

    OK(caret_session_open(db, s));
    assert_killed(child_at("undo_published", HIDE));
    return db;
}

/* The first spare mutex is in use, for a set too. */
static void assert_moved(caret_db *db, caret_session *s)
{
    OK(caret_set(s, number(50), "x", 1));
    assert_int_equal(in_use(db), 1);
}

static void end(caret_db *db, caret_session *s)
{
    assert_clean(db);
    caret_session_close(s);
    OK(caret_close(db));
}

static void a_death_while_moving_is_made_good(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        caret_session *s;
        caret_db *db = with_orphan(&s);
        pid_t waiters[3];
        for (unsigned k = 0; k < 3; k++) /* several wait at once, one of them is told to die at the point */
            waiters[k] = child_at(k == 0 ? points[i] : "no such point", EARLY);
        for (unsigned k = 1; k < 3; k++)
            assert_ended_well(waiters[k]);
        int status;
        assert_int_equal(waitpid(waiters[0], &status, 0), waiters[0]); /* if it was the one that moved */
        assert_moved(db, s);
        caret_slice v;
        OK(caret_get(s, number(0), &v)); /* which one was last, we can't know */
        assert_all(s, v.len == strlen(points[i]) ? points[i] : "no such point");
        end(db, s);
    }
}

/* The only one that moves dies. */
static void the_next_one_goes_on(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        caret_session *s;
        caret_db *db = with_orphan(&s);
        assert_killed(child_at(points[i], EARLY));
        assert_moved(db, s);
        assert_all(s, "undo_published");
        end(db, s);
    }
}

/* A holder that lives is waited for, if it is stopped, and even if it looks dead because its record lock is lost. */
static void nobody_is_robbed_who_lives(void **state)
{
    (void)state;
    for (int how = STOPPED; how <= (STOPPED | DEAF); how += DEAF) {
        unlink(path);
        caret_db *db = open_db();
        int status;
        pid_t holder = child_at("undo_published", how);
        assert_int_equal(waitpid(holder, &status, WUNTRACED), holder);
        assert_true(WIFSTOPPED(status));
        pid_t waiter = child_at("no such point", 0);
        usleep(1500000); /* five times what it takes to leave a dead one's */
        assert_int_equal(waitpid(waiter, &status, WNOHANG), 0);
        assert_int_equal(in_use(db), 0);
        kill(holder, SIGCONT);
        assert_ended_well(holder);
        assert_ended_well(waiter);
        assert_int_equal(in_use(db), 0);
        assert_clean(db);
        OK(caret_close(db));
    }
}
#else
static void in_builds_with_fault_points_only(void **state)
{
    (void)state;
    (void)hide_mutexes, (void)number;
    need_points();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef CARET_FAULTS
        cmocka_unit_test_setup_teardown(writers_move_on_and_data_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_death_while_moving_is_made_good, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_one_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_is_robbed_who_lives, setup, teardown),
#else
        cmocka_unit_test(in_builds_with_fault_points_only),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
