/*
 * Other sessions beside a transaction, over another database and over the same file by another handle: they see what is
 * committed, wait for nothing, and are not a part of it.
 */
#include "support/database.h"

#include "support/crowd.h"
#include "support/points.h"

#include <sys/prctl.h>

#include "api/session.h"
#include "base/fault.h"

static char second_path[112];

struct open {
    caret_db *db;
    caret_session *s;
};

static struct open open_at(const char *file)
{
    caret_options o = options();
    struct open h;
    OK(caret_open(file, &o, &h.db));
    OK(caret_session_open(h.db, &h.s));
    return h;
}

static void close_it(struct open h)
{
    caret_session_close(h.s);
    OK(caret_close(h.db));
}

static void set(caret_session *s, int64_t i, const char *value)
{
    caret_node_buf n;
    node_of(&n, i);
    OK(caret_set(s, &n.node, value, strlen(value)));
}

/* What all reading functions say of ^t, as text. */
static const char *seen(caret_session *s)
{
    static char all[1000];
    caret_node_buf n;
    caret_slice v;
    size_t len = 0;
    int data;

    for (int64_t i = 1; i < 5; i++) {
        node_of(&n, i);
        int rc = caret_get(s, &n.node, &v);
        len += (size_t)snprintf(all + len, sizeof all - len, "%d:%.*s:", rc, rc == CARET_OK ? (int)v.len : 0,
                                rc == CARET_OK ? v.data : "");
        OK(caret_data(s, &n.node, &data));
        len += (size_t)snprintf(all + len, sizeof all - len, "%d ", data);
    }
    OK(caret_node_parent(&n.node, sizeof n, &n.node));
    for (int rc = caret_first(s, &n.node); rc != CARET_NONE; rc = caret_next(s, &n.node)) {
        int64_t i = 0;
        OK(rc);
        caret_node_last_as_int(&n.node, &i);
        len += (size_t)snprintf(all + len, sizeof all - len, "%lld,", (long long)i);
    }
    return all;
}

/* That is what can be read now, and in a snapshot. */
static void sees(struct open h, const char *what)
{
    assert_string_equal(seen(h.s), what);
    OK(caret_begin(h.s, CARET_TXN_SNAPSHOT));
    assert_string_equal(seen(h.s), what);
    OK(caret_commit(h.s));
}

static void others_see_what_is_committed(void **state)
{
    (void)state;
    struct open a = open_at(path), again = open_at(path), b = open_at(second_path);
    char first[1000], second[1000];
    set(a.s, 1, "one");
    set(a.s, 3, "three");
    set(b.s, 2, "two");
    snprintf(first, sizeof first, "%s", seen(a.s));
    snprintf(second, sizeof second, "%s", seen(b.s));
    OK(caret_begin(a.s, 0));
    set(a.s, 1, "changed");
    set(a.s, 4, "new");
    sees(again, first);
    sees(b, second);
    OK(caret_begin(a.s, 0)); /* a savepoint */
    set(a.s, 2, "newer");
    sees(again, first);
    OK(caret_commit(a.s));
    for (unsigned i = 0; i < 5; i++) { /* undisturbed from the third on */
        OK(caret_restart(a.s));
        set(a.s, 1, "changed");
        sees(again, first);
        sees(b, second);
    }
    OK(caret_commit(a.s));
    assert_string_not_equal(seen(again.s), first);
    assert_string_equal(seen(b.s), second);
    close_it(b);
    close_it(again);
    close_it(a);
}

/* What another session read is nothing the transaction depends on; what it changed is. */
static void only_what_the_transaction_read_restarts_it(void **state)
{
    (void)state;
    struct open a = open_at(path), again = open_at(path), b = open_at(second_path);
    set(a.s, 1, "one");
    OK(caret_begin(a.s, 0));
    set(a.s, 2, "mine");
    seen(again.s);
    seen(b.s);
    set(b.s, 1, "theirs"); /* at once, and not to be undone */
    set(again.s, 1, "theirs");
    OK(caret_commit(a.s));
    OK(caret_begin(a.s, 0));
    seen(a.s);
    set(a.s, 2, "mine");
    set(again.s, 1, "again");
    set(b.s, 1, "again");
    assert_int_equal(caret_commit(a.s), CARET_RESTART);
    OK(caret_rollback(a.s));
    assert_non_null(strstr(seen(b.s), "again"));
    assert_non_null(strstr(seen(again.s), "again"));
    close_it(b);
    close_it(again);
    close_it(a);
}

static uint64_t floor_of(struct open h)
{
    return atomic_load(&h.s->e->sh->floor_owner);
}

/* A thread with two transactions that run undisturbed holds up neither of them. */
static void a_thread_may_have_two_floors(void **state)
{
    (void)state;
    struct open h[2] = {open_at(path), open_at(second_path)};
    for (unsigned last = 0; last < 2; last++) {
        for (unsigned i = 0; i < 2; i++) {
            OK(caret_begin(h[i].s, 0));
            for (unsigned k = 0; k < 4; k++)
                OK(caret_restart(h[i].s));
            set(h[i].s, 1, "x");
            assert_int_equal(floor_of(h[i]), h[i].s->floor_id);
        }
        for (unsigned i = 0; i < 2; i++) {
            OK(caret_commit(h[i ^ last].s));
            assert_int_equal(floor_of(h[i ^ last]), 0);
        }
    }
    close_it(h[1]);
    close_it(h[0]);
}

static void begin_undisturbed(struct open h)
{
    OK(caret_begin(h.s, 0));
    for (unsigned k = 0; k < 4; k++)
        OK(caret_restart(h.s));
}

/* Nor does it wait for itself, whatever it does in between: it would for ever, as the deadline is put off. */
static void a_thread_waits_for_no_floor_of_its_own(void **state)
{
    (void)state;
    struct open a = open_at(path), again = open_at(path), b = open_at(second_path);
    begin_undisturbed(a);
    set(a.s, 1, "x");
    assert_int_equal(floor_of(a), a.s->floor_id);
    atomic_store(&a.s->e->sh->floor_deadline, UINT64_MAX);
    patience(20);
    begin_undisturbed(b);
    set(again.s, 2, "x"); /* another floor was taken last */
    set(b.s, 1, "x");
    OK(caret_commit(b.s));
    set(again.s, 2, "x"); /* and that was given back */
    begin_undisturbed(again);
    set(again.s, 3, "x");
    OK(caret_commit(again.s));
    set(again.s, 2, "x");
    patience(0);
    assert_int_equal(floor_of(a), a.s->floor_id);
    OK(caret_commit(a.s));
    assert_int_equal(floor_of(a), 0);
    close_it(b);
    close_it(again);
    close_it(a);
}

/* Whoever has just taken the floor has it for a second, though the last deadline is long over. */
static void a_floor_just_taken_is_not_taken_away(void **state)
{
    int status;

    (void)state;
    need_points();
    pid_t taker = fork();
    if (taker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct open h = open_at(path);
        caret__fault_arm("floor_taken", 1, CARET__FAULT_STOP);
        caret_begin(h.s, CARET_TXN_ALONE);
        _exit(0);
    }
    assert_int_equal(waitpid(taker, &status, WUNTRACED), taker);
    assert_true(WIFSTOPPED(status));
    struct open late = open_at(path);
    uint64_t owner = floor_of(late), deadline = atomic_load(&late.s->e->sh->floor_deadline);
    assert_int_not_equal(owner, 0);
    assert_true(deadline >= UINT64_C(1000000000)); /* of the monotonic clock: a second after it was taken */
    begin_undisturbed(late);
    if (caret__now_ns() < deadline)
        assert_int_equal(floor_of(late), owner);
    OK(caret_rollback(late.s));
    kill_and_wait(taker);
    close_it(late);
}

static int setup_two(void **state)
{
    int rc = setup(state);
    snprintf(second_path, sizeof second_path, "%s/second.caret", dir);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(others_see_what_is_committed, setup_two, teardown),
        cmocka_unit_test_setup_teardown(only_what_the_transaction_read_restarts_it, setup_two, teardown),
        cmocka_unit_test_setup_teardown(a_thread_may_have_two_floors, setup_two, teardown),
        cmocka_unit_test_setup_teardown(a_thread_waits_for_no_floor_of_its_own, setup_two, teardown),
        cmocka_unit_test_setup_teardown(a_floor_just_taken_is_not_taken_away, setup_two, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
