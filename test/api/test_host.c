/* Hosts with habits: a storm of signals, a fork that goes on using what it inherited. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "caret.h"

static char path[80];
static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
    (void)sig;
    alarms++;
}

static void clean(void)
{
    char lock[96];
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
}

static int bump(caret_session *s, void *arg)
{
    return caret_incr_int(s, arg, 1, 0, NULL);
}

/* Every call succeeds although a signal whose handler restarts nothing comes each half millisecond. */
static void signals_make_nothing_fail(void **state)
{
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval storm = {{0, 500}, {0, 500}}, calm = {{0, 0}, {0, 0}};
    static char big[100000];
    caret_db *db;
    caret_session *s, *other;
    caret_node_buf n;
    int64_t sum = 0;

    (void)state;
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &storm, NULL);
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    assert_int_equal(caret_session_open(db, &other), CARET_OK);
    for (int i = 0; i < 3000; i++) {
        caret_node_var(&n.node, sizeof n, "^a", 2);
        caret_node_child_int(&n.node, sizeof n, &n.node, i % 700);
        assert_int_equal(caret_set(s, &n.node, "0123456789", 10), CARET_OK);
        if (i % 300 == 0)
            assert_int_equal(caret_set(s, &n.node, big, sizeof big), CARET_OK);
        caret_node_var(&n.node, sizeof n, "^n", 2);
        assert_int_equal(caret_transaction(s, bump, &n.node, 0), CARET_OK);
        if (i % 500 == 0) {
            assert_int_equal(caret_checkpoint(db), CARET_OK);
            assert_int_equal(caret_sync(db), CARET_OK);
            assert_int_equal(caret_lock(s, &n.node, CARET_FOREVER), CARET_OK);
            assert_int_equal(caret_lock(other, &n.node, 5000000), CARET_LOCK_TIMEOUT);
            assert_int_equal(caret_unlock(s, &n.node), CARET_OK);
        }
    }
    assert_int_equal(caret_incr_int(s, &n.node, 0, 0, &sum), CARET_OK);
    caret_session_close(other);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
    setitimer(ITIMER_REAL, &calm, NULL);
    assert_int_equal(sum, 3000);
    assert_true(alarms > 10);
    clean();
}

/* A forked child goes on with the handles it inherited, as a process of its own. */
static void a_forked_child_attaches_by_itself(void **state)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    int64_t sum;
    int status;

    (void)state;
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    caret_node_var(&n.node, sizeof n, "^n", 2);
    assert_int_equal(caret_incr_int(s, &n.node, 1, 0, &sum), CARET_OK);
    assert_int_equal(caret_lock(s, &n.node, 0), CARET_OK);
    assert_int_equal(caret_begin(s, 0), CARET_OK);
    fflush(NULL);
#ifdef __SANITIZE_ADDRESS__
    /* AddressSanitizer's own allocator must be idle at a fork: our thread has just been started. */
    usleep(50000);
#endif
    pid_t pid = fork();
    if (pid == 0) { /* the parent's lock and transaction are not ours */
        if (caret_incr_int(s, &n.node, 41, 0, &sum) != CARET_OK || sum != 42 || caret_txn_level(s) != 0)
            _exit(1);
        if (caret_lock(s, &n.node, 0) != CARET_LOCK_TIMEOUT)
            _exit(2);
        caret_session_close(s);
        _exit(caret_close(db) == CARET_OK ? 0 : 3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    assert_int_equal(caret_rollback(s), CARET_OK);
    assert_int_equal(caret_unlock(s, &n.node), CARET_OK);
    assert_int_equal(caret_incr_int(s, &n.node, 0, 0, &sum), CARET_OK);
    assert_int_equal(sum, 42);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
    clean();
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-host-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_make_nothing_fail),
        cmocka_unit_test(a_forked_child_attaches_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
