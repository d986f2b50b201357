/* The robust mutex and futex words, between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/engine.h"
#include "support/children.h"

struct shared {
    pthread_mutex_t m;
    _Atomic uint32_t word;
    _Atomic uint32_t inside;
    _Atomic uint32_t overlaps;
    volatile uint64_t count;
};

static struct shared *shared;

static int setup(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : caret__mutex_init(&shared->m);
}

static int teardown(void **state)
{
    (void)state;
    return munmap(shared, sizeof *shared);
}

static void until(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load(word) != value)
        usleep(100);
}

static void free_mutex_is_locked_and_unlocked(void **state)
{
    (void)state;
    assert_int_equal(caret__mutex_lock(&shared->m), 0);
    assert_int_equal(caret__mutex_trylock(&shared->m), EBUSY);
    assert_int_equal(caret__mutex_lock_within(&shared->m, 1000000), ETIMEDOUT);
    caret__mutex_unlock(&shared->m);
    assert_int_equal(caret__mutex_trylock(&shared->m), 0);
    caret__mutex_unlock(&shared->m);
}

static void count_up(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        if (caret__mutex_lock(&shared->m) != 0)
            _exit(1);
        if (atomic_fetch_add(&shared->inside, 1) != 0)
            atomic_fetch_add(&shared->overlaps, 1);
        shared->count = shared->count + 1;
        atomic_fetch_sub(&shared->inside, 1);
        caret__mutex_unlock(&shared->m);
    }
}

static void processes_exclude_each_other(void **state)
{
    pid_t child[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            count_up(20000);
            _exit(0);
        }
    }
    for (int i = 0; i < 3; i++)
        join(child[i]);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
    assert_int_equal(shared->count, 60000);
}

/* A child that dies inside. */
static pid_t lock_in_child_and_wait(void)
{
    pid_t child = fork();

    if (child == 0) {
        caret__mutex_lock(&shared->m);
        atomic_store(&shared->word, 1);
        for (;;)
            pause();
    }
    until(&shared->word, 1);
    return child;
}

static void dead_owner_is_reported_to_exactly_one(void **state)
{
    (void)state;
    kill_and_wait(lock_in_child_and_wait());
    assert_int_equal(caret__mutex_lock(&shared->m), EOWNERDEAD);
    caret__mutex_consistent(&shared->m);
    caret__mutex_unlock(&shared->m);
    assert_int_equal(caret__mutex_lock(&shared->m), 0);
    caret__mutex_unlock(&shared->m);
}

static void trylock_reports_a_dead_owner(void **state)
{
    (void)state;
    kill_and_wait(lock_in_child_and_wait());
    assert_int_equal(caret__mutex_trylock(&shared->m), EOWNERDEAD);
    caret__mutex_consistent(&shared->m);
    caret__mutex_unlock(&shared->m);
}

static void sleeping_waiter_inherits_from_the_dead(void **state)
{
    pid_t owner = lock_in_child_and_wait(), waiter = fork();

    (void)state;
    if (waiter == 0) {
        atomic_store(&shared->word, 2);
        int rc = caret__mutex_lock(&shared->m);
        caret__mutex_consistent(&shared->m);
        caret__mutex_unlock(&shared->m);
        _exit(rc == EOWNERDEAD ? 0 : 1);
    }
    until(&shared->word, 2);
    usleep(20000);
    kill_and_wait(owner);
    join(waiter);
    assert_int_equal(caret__mutex_trylock(&shared->m), 0);
    caret__mutex_unlock(&shared->m);
}

static void nothing(int signum)
{
    (void)signum;
}

static void waiting_survives_a_storm_of_signals(void **state)
{
    struct sigaction sa = {.sa_handler = nothing}, old;
    struct itimerval often = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        caret__mutex_lock(&shared->m);
        atomic_store(&shared->word, 1);
        usleep(100000);
        caret__mutex_unlock(&shared->m);
        _exit(0);
    }
    until(&shared->word, 1);
    sigaction(SIGALRM, &sa, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    int rc = caret__mutex_lock(&shared->m);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(rc, 0);
    caret__mutex_unlock(&shared->m);
    join(child);
}

static void futex_wait_returns_when_the_word_differs(void **state)
{
    (void)state;
    atomic_store(&shared->word, 5);
    caret__futex_wait(&shared->word, 4, UINT64_MAX / 4); /* would be for ever */
}

static void futex_wait_ends_at_the_timeout(void **state)
{
    uint64_t begin = caret__now_ns();

    (void)state;
    caret__futex_wait(&shared->word, 0, 5000000);
    assert_true(caret__now_ns() > begin);
}

static void futex_wake_reaches_another_process(void **state)
{
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        atomic_store(&shared->inside, 1);
        while (atomic_load(&shared->word) == 0)
            caret__futex_wait(&shared->word, 0, UINT64_C(60000000000));
        _exit(0);
    }
    until(&shared->inside, 1);
    usleep(10000);
    atomic_store(&shared->word, 1);
    caret__futex_wake(&shared->word, 1);
    join(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(free_mutex_is_locked_and_unlocked, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_exclude_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(dead_owner_is_reported_to_exactly_one, setup, teardown),
        cmocka_unit_test_setup_teardown(trylock_reports_a_dead_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(sleeping_waiter_inherits_from_the_dead, setup, teardown),
        cmocka_unit_test_setup_teardown(waiting_survives_a_storm_of_signals, setup, teardown),
        cmocka_unit_test_setup_teardown(futex_wait_returns_when_the_word_differs, setup, teardown),
        cmocka_unit_test_setup_teardown(futex_wait_ends_at_the_timeout, setup, teardown),
        cmocka_unit_test_setup_teardown(futex_wake_reaches_another_process, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
