/*
 * The transaction loop, and what it puts back: local variables and locks.  What GT.M puts back was seen there:
 * what active levels named, as it was when they named it, the first one's word counting; nothing after a rollback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "m/held.h"
#include "m/transaction.h"

static char folder[] = "/tmp/caret-m-XXXXXX";
static caret_db *db;
static caret_session *s, *locks, *other;
static struct caret_m__locals locals;

static void ok(int rc)
{
    if (rc != CARET_OK)
        fail_msg("%d: %s", rc, caret_message());
}

static const caret_node *node(const char *name)
{
    static caret_node_buf n;

    ok(caret_node_var(&n.node, sizeof n, name, strlen(name)));
    return &n.node;
}

static void put(caret_session *where, const char *name, const char *text)
{
    caret_node_buf n;

    ok(caret_node_copy(&n.node, sizeof n, node(name)));
    ok(caret_set(where, &n.node, text, strlen(text)));
}

static const char *value(caret_session *where, const char *name)
{
    static char room[20];
    caret_node_buf n;
    caret_slice v;

    ok(caret_node_copy(&n.node, sizeof n, node(name)));
    if (caret_get(where, &n.node, &v) != CARET_OK)
        return "none";
    snprintf(room, sizeof room, "%.*s", (int)v.len, v.data);
    return room;
}

static void save(struct caret_m__tp *tp, const char *name)
{
    ok(caret_m__save(&tp->saved, tp->level, &locals, name, strlen(name)));
}

static void ends(struct caret_m__tp *tp, bool restart, enum caret_m__then then)
{
    int rc = CARET_OK;

    assert_int_equal(caret_m__tp_end(tp, tp->level, restart, &rc), then);
}

static void begins(struct caret_m__tp *tp)
{
    ok(caret_m__tp_begin(tp, s, 0, 0));
}

/* a and b are 1, then 2 in the outer level, then 3 in the inner one; then the outermost begins again. */
static void run(struct caret_m__tp *tp, const char *outer, const char *inner, enum caret_m__then then)
{
    put(locals.s, "a", "1");
    put(locals.s, "b", "1");
    begins(tp);
    save(tp, outer);
    put(locals.s, "a", "2");
    put(locals.s, "b", "2");
    begins(tp);
    save(tp, inner);
    put(locals.s, "a", "3");
    put(locals.s, "b", "3");
    if (then == CARET_M__LATE)
        caret_m__tp_undo(tp, 2);
    else
        ends(tp, then == CARET_M__PASS_ON, then);
    assert_int_equal(tp->level, 1);
    ends(tp, then != CARET_M__PASS_ON, CARET_M__AGAIN);
    ok(caret_m__tp_restore(tp, &locals));
}

static void what_active_levels_named_is_put_back(void **state)
{
    static const struct {
        const char *outer, *inner, *a, *b;
        enum caret_m__then then; /* LATE: it is rolled back */
    } cases[] = {
        {"a", "b", "1", "2", CARET_M__PASS_ON}, {"a", "*", "1", "2", CARET_M__PASS_ON},
        {"*", "a", "1", "1", CARET_M__PASS_ON}, {"c", "c", "3", "3", CARET_M__PASS_ON},
        {"a", "b", "1", "3", CARET_M__DONE},    {"c", "*", "3", "3", CARET_M__DONE},
        {"a", "b", "1", "3", CARET_M__LATE},    {"*", "b", "1", "1", CARET_M__LATE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct caret_m__tp tp = {0};
        run(&tp, cases[i].outer, cases[i].inner, cases[i].then);
        assert_string_equal(value(locals.s, "a"), cases[i].a);
        assert_string_equal(value(locals.s, "b"), cases[i].b);
        put(locals.s, "b", "7"); /* the inner level of the first run is not heeded in the second */
        ends(&tp, true, CARET_M__AGAIN);
        ok(caret_m__tp_restore(&tp, &locals));
        assert_string_equal(value(locals.s, "b"), cases[i].outer[0] == '*' ? "1" : "7");
        put(locals.s, "a", "5");
        ends(&tp, false, CARET_M__DONE);
        assert_null(tp.saved);
        assert_int_equal(tp.level, 0);
        assert_string_equal(value(locals.s, "a"), "5");
    }
}

static void a_rollback_puts_nothing_back(void **state)
{
    struct caret_m__tp tp = {0};

    (void)state;
    put(locals.s, "a", "1");
    put(s, "^a", "1");
    begins(&tp);
    save(&tp, "a");
    put(locals.s, "a", "2");
    put(s, "^a", "2");
    begins(&tp);
    begins(&tp);
    caret_m__tp_undo(&tp, 1);
    assert_string_equal(value(locals.s, "a"), "2");
    assert_string_equal(value(s, "^a"), "1");
    assert_int_equal(caret_txn_level(s), 0);
    assert_null(tp.saved);
}

static void what_was_not_there_is_gone_again(void **state)
{
    struct caret_m__tp tp = {0};

    (void)state;
    for (int all = 0; all < 2; all++) {
        ok(caret_m__kill_others(&locals, NULL, 0));
        put(locals.s, "kept", "1");
        begins(&tp);
        save(&tp, all ? "*" : "new");
        put(locals.s, "new", "1");
        put(locals.s, "other", "1");
        ends(&tp, true, CARET_M__AGAIN);
        ok(caret_m__tp_restore(&tp, &locals));
        assert_string_equal(value(locals.s, "new"), "none");
        assert_string_equal(value(locals.s, "other"), all ? "none" : "1");
        assert_string_equal(value(locals.s, "kept"), "1");
        caret_m__tp_undo(&tp, 1);
    }
}

static void a_conflict_begins_the_outermost_again(void **state)
{
    struct caret_m__tp tp = {0};

    (void)state;
    put(s, "^a", "1");
    begins(&tp);
    assert_string_equal(value(s, "^a"), "1");
    begins(&tp);
    put(other, "^a", "2");
    put(s, "^b", "1");
    ends(&tp, false, CARET_M__DONE);
    ends(&tp, false, CARET_M__AGAIN);
    assert_int_equal(caret_txn_restarts(s), 1);
    assert_string_equal(value(s, "^a"), "2");
    assert_string_equal(value(s, "^b"), "none");
    ends(&tp, false, CARET_M__DONE);
}

/* A function that ignores that a level within its own is to begin again can't commit. */
static void restarting_can_not_be_ignored(void **state)
{
    struct caret_m__tp tp = {0};

    (void)state;
    begins(&tp);
    begins(&tp);
    begins(&tp);
    ends(&tp, true, CARET_M__PASS_ON);
    ends(&tp, false, CARET_M__PASS_ON);
    ends(&tp, false, CARET_M__AGAIN);
    begins(&tp);
    ends(&tp, false, CARET_M__DONE);
    ends(&tp, false, CARET_M__DONE);
}

static void in_a_snapshot_it_begins_again_there(void **state)
{
    struct caret_m__tp tp = {0};

    (void)state;
    ok(caret_begin(s, CARET_TXN_SNAPSHOT));
    begins(&tp);
    assert_int_equal(tp.outermost, 2);
    begins(&tp);
    ends(&tp, true, CARET_M__PASS_ON);
    ends(&tp, false, CARET_M__AGAIN);
    assert_int_equal(caret_txn_level(s), 2);
    ends(&tp, false, CARET_M__DONE);
    assert_int_equal(tp.level, 0);
    assert_int_equal(caret_txn_level(s), 1);
    ok(caret_commit(s));
}

static void too_late_is_neither_committed_nor_begun_again(void **state)
{
    struct caret_m__tp tp = {0};

    (void)state;
    put(s, "^a", "1");
    ok(caret_m__tp_begin(&tp, s, 0, 1));
    assert_false(caret_m__tp_late(&tp));
    tp.deadline = 1;
    put(s, "^a", "2");
    ends(&tp, false, CARET_M__LATE);
    ends(&tp, true, CARET_M__LATE);
    caret_m__tp_undo(&tp, tp.level);
    assert_string_equal(value(s, "^a"), "1");
}

/* ----------------------------------------------------------------------- locks */

static struct caret_m__held *held;

static void take(const char *name, unsigned level)
{
    if (caret_m__held_again(&held, locks, level, node(name)))
        return;
    struct caret_m__held *h = caret_m__held_new(locks, level, node(name));
    assert_non_null(h);
    ok(caret_lock(locks, node(name), 0));
    caret_m__held_add(&held, h);
}

static bool is_free(const char *name)
{
    bool free = caret_lock(other, node(name), 0) == CARET_OK;

    if (free)
        ok(caret_unlock(other, node(name)));
    return free;
}

static void locks_of_an_undone_level_are_released(void **state)
{
    (void)state;
    take("^a", 1);
    take("^a", 2); /* counts twice */
    take("^b", 2);
    take("^c", 2);
    caret_m__held_drop(&held, locks, node("^c")); /* the program gave it back */
    ok(caret_unlock(locks, node("^c")));
    ok(caret_lock(locks, node("^c"), 0)); /* and took it for itself */
    caret_m__held_undo(&held, 2);
    assert_true(!is_free("^a") && is_free("^b") && !is_free("^c"));
    caret_m__held_undo(&held, 1);
    assert_true(is_free("^a") && held == NULL);
    caret_unlock_all(locks);
}

static void a_restart_carries_locks(void **state)
{
    (void)state;
    take("^a", 1);
    take("^b", 2);
    caret_m__held_carry(held);
    assert_true(!is_free("^a") && !is_free("^b"));
    take("^b", 2);
    caret_m__held_commit(&held, 2);
    caret_m__held_commit(&held, 1); /* ^a was not taken again */
    assert_true(is_free("^a") && !is_free("^b") && held == NULL);
    ok(caret_unlock(locks, node("^b"))); /* it counted once */
    assert_true(is_free("^b"));
}

static int open_all(void **state)
{
    char path[64];

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/m.caret", folder);
    ok(caret_open(path, NULL, &db));
    ok(caret_session_open(db, &s));
    ok(caret_session_open(db, &locks));
    ok(caret_session_open(db, &other));
    ok(caret_session_open(NULL, &locals.s));
    return 0;
}

static int close_all(void **state)
{
    char path[64];

    (void)state;
    caret_session_close(locals.s);
    caret_session_close(other);
    caret_session_close(locks);
    caret_session_close(s);
    ok(caret_close(db));
    snprintf(path, sizeof path, "%s/m.caret", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_active_levels_named_is_put_back),
        cmocka_unit_test(a_rollback_puts_nothing_back),
        cmocka_unit_test(what_was_not_there_is_gone_again),
        cmocka_unit_test(a_conflict_begins_the_outermost_again),
        cmocka_unit_test(restarting_can_not_be_ignored),
        cmocka_unit_test(in_a_snapshot_it_begins_again_there),
        cmocka_unit_test(too_late_is_neither_committed_nor_begun_again),
        cmocka_unit_test(locks_of_an_undone_level_are_released),
        cmocka_unit_test(a_restart_carries_locks),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
