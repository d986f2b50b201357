/*
 * What a thread holds is told exactly, and each kind of assertion about it fires: in builds that have assertions. Each
 * violation is made in a child, which has to end by SIGABRT and to say why.
 */
#include <sys/resource.h>

#include "log/checkpoint.h"
#include "log/flush.h"
#include "log/writer.h"
#include "open/open.h"
#include "page/store.h"
#include "shm/lockfile.h"
#include "tree/tree.h"
#include "txn/locks.h"

#define OK(rc) assert_int_equal(rc, CARET_OK)

static int setup(void **state)
{
    return locks_setup(state);
}

static int teardown(void **state)
{
    return locks_teardown(state);
}

static struct caret__engine *engine(void **state)
{
    return ((struct fixture *)*state)->e;
}

#ifdef CARET_ASSERTS

/* ------------------------------------------------------------- the holder */

static void a_lock_is_held_from_locking_to_unlocking(void **state)
{
    struct caret__engine *e = engine(state);

    assert_false(caret__writer_held(e->sh));
    OK(caret__writer_lock(e));
    assert_true(caret__writer_held(e->sh));
    assert_false(caret__holds(&e->sh->flush));
    caret__writer_unlock(e);
    assert_false(caret__writer_held(e->sh));
    OK(caret__flush_hold(e));
    assert_true(caret__holds(&e->sh->flush));
    caret__flush_release(e);
    assert_false(caret__holds(&e->sh->flush));
    assert_false(caret__registry_held());
    assert_false(caret__holds(&e->lock_fd)); /* the gate: open again */
    assert_false(caret__state_held(e->sh));  /* the segment is not ours alone any more */
}

static void *ask_from_a_thread(void *arg)
{
    struct caret__engine *e = arg;

    return caret__writer_held(e->sh) || caret__holds(&e->sh->flush) ? e : NULL;
}

static void what_a_thread_holds_no_other_thread_does(void **state)
{
    struct caret__engine *e = engine(state);
    pthread_t thread;
    void *held = e;

    OK(caret__writer_lock(e));
    OK(pthread_create(&thread, NULL, ask_from_a_thread, e));
    OK(pthread_join(thread, &held));
    assert_null(held);
    assert_true(caret__writer_held(e->sh));
    caret__writer_unlock(e);
}

static void join(pid_t child, int *status)
{
    assert_int_equal(waitpid(child, status, 0), child);
}

static void a_forked_child_holds_nothing(void **state)
{
    struct caret__engine *e = engine(state);
    int status;

    OK(caret__writer_lock(e));
    pid_t child = fork();
    if (child == 0)
        _exit(caret__writer_held(e->sh) ? 1 : 0);
    join(child, &status);
    assert_int_equal(status, 0);
    assert_true(caret__writer_held(e->sh));
    caret__writer_unlock(e);
}

static int in_role(struct caret__engine *e, void *arg)
{
    (void)arg;
    assert_true(caret__holds(&e->sh->checkpoint));
    assert_false(caret__writer_held(e->sh));
    return CARET_OK;
}

/* The repairer of a dead owner holds what the dead one held, and lets go of it. */
static void the_heir_of_a_dead_owner_holds_its_lock(void **state)
{
    struct caret__engine *e = engine(state);
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (caret__flush_hold(e) != CARET_OK || caret__writer_lock(e) != CARET_OK)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    join(child, &status);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(caret__writer_held(e->sh));
    OK(caret__flush_hold(e));
    assert_true(caret__holds(&e->sh->flush));
    caret__flush_release(e);
    OK(caret__writer_lock(e));
    assert_true(caret__writer_held(e->sh));
    caret__writer_unlock(e);
    OK(caret__checkpoint_then(e, 0, in_role, NULL));
    assert_false(caret__holds(&e->sh->checkpoint));
}

/* ------------------------------------------------------------------- firing */

static void change_without_writer_mutex(struct caret__engine *e)
{
    struct caret__w w = {.pg = &e->pg, .sh = e->sh};
    uint32_t pgno;

    caret__w_alloc(&w, 0, &pgno);
}

static void lock_again(struct caret__engine *e)
{
    if (caret__writer_lock(e) == CARET_OK)
        (void)caret__writer_lock(e);
}

static void take_flush_mutex_after_writer_mutex(struct caret__engine *e)
{
    if (caret__writer_lock(e) == CARET_OK)
        (void)caret__flush_hold(e);
}

static void flush_without_its_mutex(struct caret__engine *e)
{
    (void)caret__flush_ring(e);
}

static void freeze_outside_of_the_role(struct caret__engine *e)
{
    if (caret__writer_lock(e) == CARET_OK)
        caret__freeze(e, 0);
}

static void remove_lock_file_without_gate(struct caret__engine *e)
{
    caret__lockfile_remove(e);
}

static void look_into_an_open_registry(struct caret__engine *e)
{
    (void)caret__registry_find(e->dev, e->ino);
}

static void hold_a_name_without_lock_mutex(struct caret__engine *e)
{
    caret__lt_hold(caret__lt(e), 1, 1, 1, 0);
}

static void set_a_row_that_is_not_sorted(struct caret__engine *e)
{
    const struct caret__kv kv[] = {{.b = (const uint8_t *)"b", .val = (const uint8_t *)"", .b_len = 1},
                                   {.b = (const uint8_t *)"a", .val = (const uint8_t *)"", .b_len = 1}};
    struct caret__w w = {.pg = &e->pg, .sh = e->sh};
    static struct caret__cursor c;

    if (caret__writer_lock(e) == CARET_OK)
        caret__tree_set_row(&w, &c, kv, 2);
}

static void ask_about_a_page_that_cannot_be(struct caret__engine *e)
{
    struct caret__view v = {.pg = &e->pg};
    struct caret__at at = {.pgno = e->pg.max_pages};

    (void)caret__at_valid(&v, &at);
}

static const struct {
    const char *said;
    void (*violate)(struct caret__engine *);
} violations[] = {
    {"caret__w_held(w)", change_without_writer_mutex},
    {"!caret__writer_held(e->sh)", lock_again},
    {"!caret__writer_held(e->sh)", take_flush_mutex_after_writer_mutex},
    {"caret__holds(&e->sh->flush)", flush_without_its_mutex},
    {"caret__holds(&e->sh->checkpoint)", freeze_outside_of_the_role},
    {"caret__holds(&e->lock_fd)", remove_lock_file_without_gate},
    {"caret__registry_held()", look_into_an_open_registry},
    {"caret__holds(t)", hold_a_name_without_lock_mutex},
    {"is_sorted(kv, n)", set_a_row_that_is_not_sorted},
    {"at->pgno < v->pg->max_pages", ask_about_a_page_that_cannot_be},
};

/* What a child says that makes the violation; its status. */
static int said_by_child(struct caret__engine *e, unsigned i, char *text, size_t size)
{
    int ends[2], status;
    size_t n = 0;
    ssize_t got;

    OK(pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL); /* the frame of the tests has a handler of its own */
        dup2(ends[1], STDERR_FILENO);
        violations[i].violate(e);
        _exit(0);
    }
    close(ends[1]);
    while (n + 1 < size && (got = read(ends[0], text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(ends[0]);
    text[n] = '\0';
    join(child, &status);
    return status;
}

static void each_kind_of_assertion_fires(void **state)
{
    struct caret__engine *e = engine(state);
    char text[4096];

    for (unsigned i = 0; i < sizeof violations / sizeof violations[0]; i++) {
        int status = said_by_child(e, i, text, sizeof text);
        if (strstr(text, violations[i].said) == NULL)
            print_message("violation %u: said: %s\n", i, text);
        assert_non_null(strstr(text, "assertion failed: "));
        assert_non_null(strstr(text, violations[i].said));
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        OK(caret__writer_lock(e)); /* some died with it */
        caret__writer_unlock(e);
    }
}

#else

static void nothing_is_noted_or_asserted(void **state)
{
    struct caret__engine *e = engine(state);

    CARET__HELD(&e->sh->flush);
    CARET__NOT_HELD(&e->sh->flush);
    print_message("skipped: this build has no assertions (the small one has)\n");
    skip();
}

#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef CARET_ASSERTS
        TEST(a_lock_is_held_from_locking_to_unlocking),
        TEST(what_a_thread_holds_no_other_thread_does),
        TEST(a_forked_child_holds_nothing),
        TEST(the_heir_of_a_dead_owner_holds_its_lock),
        TEST(each_kind_of_assertion_fires),
#else
        TEST(nothing_is_noted_or_asserted),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
