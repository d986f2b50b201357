/* What a thread leaves when it ends, and locks, which are the process's. */
#include "yottadb/locks.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/crowd.h"
#include "yottadb/session.h"

static _Atomic int bad;

static void check(bool good)
{
    if (!good)
        atomic_fetch_add(&bad, 1);
}

static void run_threads(int n, void *(*f)(void *))
{
    pthread_t t[4];

    atomic_store(&bad, 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&t[i], NULL, f, NULL), 0);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&bad), 0);
}

/* ------------------------------------------------------------- locals, locks */

static void *set_local(void *arg)
{
    ydb_buffer_t v = b("mine"), value = b("from a thread");

    (void)arg;
    check(ydb_set_s(&v, 0, NULL, &value) == YDB_OK);
    v = b("^lock");
    check(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_OK);
    return NULL;
}

static void locals_and_locks_outlive_a_thread(void **state)
{
    (void)state;
    may_fork();
    run_threads(1, set_local);
    mode = &modes[1];
    assert_string_equal(value_of("mine", NULL), "from a thread");
    mode = &modes[0];
    assert_false(is_free("lock", NULL));
    assert_int_equal(ydb_lock_decr_s(var("lock"), 0, NULL), YDB_OK);
    assert_true(is_free("lock", NULL));
}

static void *wait_for_lock(void *arg)
{
    ydb_buffer_t v = b("^held");

    (void)arg;
    check(ydb_lock_incr_s(YDB_MAX_TIME_NSEC, &v, 0, NULL) == YDB_OK);
    return NULL;
}

/* One that waits for another process's lock doesn't keep the others from theirs. */
static void waiting_for_a_lock_keeps_nobody(void **state)
{
    struct holder h;
    pthread_t t;

    (void)state;
    may_fork();
    hold(&h, "held", NULL);
    atomic_store(&bad, 0);
    assert_int_equal(pthread_create(&t, NULL, wait_for_lock, NULL), 0);
    usleep(30000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ydb_lock_incr_s(0, var("free"), 0, NULL), YDB_OK);
        assert_int_equal(ydb_lock_decr_s(var("free"), 0, NULL), YDB_OK);
        put("a", NULL, "meanwhile");
    }
    let_go(&h);
    pthread_join(t, NULL);
    assert_int_equal(atomic_load(&bad), 0);
    assert_false(is_free("held", NULL));
}

/* Does a thread of this process wait for a lock, while we have the mutex? */
static bool one_waits(void)
{
    caret_lock_list *list;
    bool found = false;

    caret__ydb_take(CARET__YDB_LOCKS);
    int rc = caret_locks_get(caret__ydb_databases()->db, &list);
    caret__ydb_give(CARET__YDB_LOCKS);
    assert_int_equal(rc, CARET_OK);
    for (size_t i = 0; i < list->count; i++)
        found |= list->lock[i].waits && list->lock[i].pid == (uint64_t)getpid();
    caret_locks_free(list);
    return found;
}

/* A waiter and the mutex: whoever has it finds others waiting, and locks meanwhile. */
static void a_waiter_does_not_have_the_mutex(void **state)
{
    struct holder h;
    pthread_t t;

    (void)state;
    may_fork();
    hold(&h, "held", NULL);
    atomic_store(&bad, 0);
    assert_int_equal(pthread_create(&t, NULL, wait_for_lock, NULL), 0);
    UNTIL(one_waits());
    assert_int_equal(ydb_lock_incr_s(0, var("free"), 0, NULL), YDB_OK);
    let_go(&h);
    pthread_join(t, NULL);
    assert_int_equal(atomic_load(&bad), 0);
    assert_false(is_free("held", NULL));
}

/* A thread that ends in its transaction's function leaves nothing. */
static int end_thread(void *arg)
{
    ydb_buffer_t v = b("^lost");

    check(ydb_set_s(&v, 0, NULL, &v) == YDB_OK);
    check(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_OK);
    pthread_exit(arg);
    return YDB_OK;
}

static void *end_in_transaction(void *arg)
{
    ydb_tp_s(end_thread, arg, "", 0, NULL);
    return NULL;
}

static void a_thread_that_ends_is_rolled_back(void **state)
{
    (void)state;
    may_fork();
    run_threads(4, end_in_transaction);
    assert_string_equal(value_of("lost", NULL), "(undefined)");
    assert_true(is_free("lost", NULL));
    run_threads(4, set_local); /* in the records of those */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONCE(locals_and_locks_outlive_a_thread),
        ONCE(waiting_for_a_lock_keeps_nobody),
        ONCE(a_waiter_does_not_have_the_mutex),
        ONCE(a_thread_that_ends_is_rolled_back),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
