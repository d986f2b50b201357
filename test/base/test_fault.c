#include "support.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Points are wanted in this file in every build. */
#ifndef CARET_FAULTS
#define CARET_FAULTS 1
#endif
#include "base/fault.h"
#include "support/crowd.h"

/* Status of a child that runs body(); a stopped one is reported as such and then killed. */
static int run_child(void (*body)(void))
{
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        patience(20);
        body();
        _exit(7);
    }
    assert_true(waitpid(pid, &status, WUNTRACED) == pid);
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return status;
}

static void three_rounds(void)
{
    for (int i = 0; i < 3; i++) {
        CARET_FAULT("test_one");
        CARET_FAULT("test_two");
    }
}

static void elsewhere(void)
{
    CARET_FAULT("test_one");
}

static void die_at_third_two(void)
{
    caret__fault_arm("test_two", 3, CARET__FAULT_KILL);
    three_rounds();
}

static void fourth_two_never_comes(void)
{
    caret__fault_arm("test_two", 4, CARET__FAULT_KILL);
    three_rounds();
}

static void stop_at_fifth_of_any(void)
{
    caret__fault_arm("*", 5, CARET__FAULT_STOP);
    three_rounds();
}

static void disarm_in_time(void)
{
    caret__fault_arm("*", 1, CARET__FAULT_KILL);
    caret__fault_disarm();
    three_rounds();
}

static void armed_by_environment(void)
{
    setenv("CARET_FAULT", "test_two:2:stop", 1);
    three_rounds();
}

static void wrong_environment(void)
{
    setenv("CARET_FAULT", "test_two", 1);
    if (freopen("/dev/null", "w", stderr) != NULL)
        three_rounds();
}

static void an_armed_point_acts_at_the_nth_hit_only(void **state)
{
    int status;

    (void)state;
    status = run_child(die_at_third_two);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    status = run_child(fourth_two_never_comes);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    status = run_child(stop_at_fifth_of_any);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    status = run_child(disarm_in_time);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* Must run before anything is hit in this process: the environment is read once. */
static void the_environment_arms(void **state)
{
    int status;

    (void)state;
    status = run_child(armed_by_environment);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    status = run_child(wrong_environment);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void hits_and_names_are_counted_and_inherited(void **state)
{
    const char *names[4];

    (void)state;
    assert_int_equal(caret__fault_names(names, 4), 0);
    three_rounds();
    elsewhere(); /* one point, in two places */
    assert_int_equal(caret__fault_hits("test_one"), 4);
    assert_int_equal(caret__fault_hits("test_two"), 3);
    assert_int_equal(caret__fault_hits("*"), 7);
    assert_int_equal(caret__fault_hits("test_none"), 0);
    assert_int_equal(caret__fault_names(names, 4), 2);
    assert_string_equal(names[0], "test_one");
    assert_string_equal(names[1], "test_two");
    assert_int_equal(caret__fault_names(names, 1), 2);
    caret__fault_reset();
    assert_int_equal(caret__fault_hits("test_one"), 0);
    assert_int_equal(caret__fault_names(names, 4), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_arms),
        cmocka_unit_test(an_armed_point_acts_at_the_nth_hit_only),
        cmocka_unit_test(hits_and_names_are_counted_and_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
