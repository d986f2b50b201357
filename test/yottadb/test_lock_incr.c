/* ydb_lock_incr_s, ydb_lock_decr_s and ..._st. */
#include "yottadb/locks.h"

static int take(const char *name, const char *sub, unsigned long long ns)
{
    ydb_buffer_t s = b(sub != NULL ? sub : "");

    return lock_incr(ns, var(name), sub != NULL, &s);
}

static int give(const char *name, const char *sub)
{
    ydb_buffer_t s = b(sub != NULL ? sub : "");

    return lock_decr(var(name), sub != NULL, &s);
}

static void excludes_above_and_below(void **state)
{
    (void)state;
    may_fork();
    assert_int_equal(take("a", "1", 0), YDB_OK);
    assert_false(is_free("a", "1"));
    assert_false(is_free("a", NULL));
    assert_true(is_free("a", "2"));
    assert_true(is_free("ab", NULL));
    assert_int_equal(give("a", "1"), YDB_OK);
    assert_true(is_free("a", "1"));
}

/* a and ^a are two names. */
static void knows_globals_from_locals(void **state)
{
    const struct mode *own = mode;

    (void)state;
    may_fork();
    assert_int_equal(take("a", NULL, 0), YDB_OK);
    mode = own->caret[0] != '\0' ? &modes[1] : &modes[0];
    assert_true(is_free("a", NULL));
    mode = own;
}

static void counts(void **state)
{
    (void)state;
    may_fork();
    for (int i = 0; i < 3; i++)
        assert_int_equal(take("a", NULL, 0), YDB_OK);
    for (int i = 0; i < 3; i++) {
        assert_false(is_free("a", NULL));
        assert_int_equal(give("a", NULL), YDB_OK);
    }
    assert_true(is_free("a", NULL));
    assert_int_equal(give("a", NULL), YDB_OK); /* no error */
}

static void counts_to_511(void **state)
{
    char sub[8];

    (void)state;
    for (int i = 0; i < 600; i++) { /* many names do not matter */
        snprintf(sub, sizeof sub, "%d", i);
        assert_int_equal(take("b", sub, 0), YDB_OK);
    }
    for (int i = 0; i < 511; i++)
        assert_int_equal(take("a", "x", 0), YDB_OK);
    fails(take("a", "x", 0), LOCKINCR2HIGH,
          "Attempt to increment a LOCK more than 511 times,%YDB-I-LOCKIS, \t\tResource name: ");
    assert_int_equal(take("b", "1", 0), YDB_OK);
    assert_int_equal(give("a", "x"), YDB_OK);
    assert_int_equal(take("a", "x", 0), YDB_OK);
    fails(take("a", "x", 0), LOCKINCR2HIGH, "(\"x\")");
    assert_int_equal(mode->st ? ydb_lock_st(token, &errstr, 0, 0) : ydb_lock_s(0, 0), YDB_OK);
    assert_int_equal(take("a", "x", 0), YDB_OK);
}

static void times_out(void **state)
{
    struct holder h;
    uint64_t begin;

    (void)state;
    may_fork();
    hold(&h, "a", "1");
    assert_int_equal(take("a", "1", 0), YDB_LOCK_TIMEOUT);
    begin = now_ms();
    assert_int_equal(take("a", NULL, 60000000), YDB_LOCK_TIMEOUT);
    assert_true(now_ms() - begin >= 59);
    let_go(&h);
    assert_int_equal(take("a", NULL, YDB_MAX_TIME_NSEC), YDB_OK);
}

/* Whoever dies gives its locks to those who wait, however long they said they would. */
static void waits_until_it_is_free(void **state)
{
    struct holder h;

    (void)state;
    may_fork();
    hold(&h, "a", "1");
    pid_t waiter = fork();
    if (waiter == 0) {
        close(h.out); /* only the parent can let go */
        mode = mode->caret[0] != '\0' ? &modes[0] : &modes[1];
        _exit(take("a", NULL, YDB_MAX_TIME_NSEC) == YDB_OK ? 0 : 1);
    }
    usleep(50000);
    let_go(&h);
    int status;
    assert_int_equal(waitpid(waiter, &status, 0), waiter);
    assert_int_equal(status, 0);
}

static void refuses_times_that_are_too_long(void **state)
{
    (void)state;
    may_fork();
    fails(take("a", NULL, YDB_MAX_TIME_NSEC + 1), TIME2LONG, "maximum limit 2147483647000000 allowed");
    fails(take("a", NULL, ~0ull), TIME2LONG, "Specified time value");
    assert_true(is_free("a", NULL));
}

static int call_incr(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return lock_incr(0, v, n, s);
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call_incr, LOCKS);
    node_errors(lock_decr, LOCKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(excludes_above_and_below),
        EACH(knows_globals_from_locals),
        EACH(counts),
        EACH(counts_to_511),
        EACH(times_out),
        EACH(waits_until_it_is_free),
        EACH(refuses_times_that_are_too_long),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
