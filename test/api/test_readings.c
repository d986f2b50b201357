/*
 * Which globals are read: every way of reading is noted, gets in turns are shared out, and none is counted twice.
 */
#include "support/database.h"

#include <stdbool.h>
#include <time.h>

#include "api/session.h"

static caret_db *db;
static caret_session *s;

static int begin(void **state)
{
    setup(state);
    db = open_db();
    OK(caret_session_open(db, &s));
    return 0;
}

static int end(void **state)
{
    caret_session_close(s);
    OK(caret_close(db));
    return teardown(state);
}

/* A loop until something is told: it is not, if that takes so many turns. */
#define GIVE_UP    200000

#define READ(name) cmocka_unit_test_setup_teardown(name, begin, end)

static caret_node *at(caret_node_buf *n, const char *zwr)
{
    OK(caret_node_parse(&n->node, sizeof *n, zwr, strlen(zwr), 0));
    return &n->node;
}

static void fill(const char *name)
{
    caret_node_buf n;

    for (int64_t i = 1; i <= 16; i++) {
        OK(caret_node_child_int(&n.node, sizeof n, at(&n, name), i));
        OK(caret_set(s, &n.node, "x", 1));
    }
}

/* What is told of that global; 0 gets: nothing is. */
static caret_reading told(const char *name)
{
    caret_reading_list *list;
    caret_reading found = {0};

    OK(caret_readings_get(db, &list));
    assert_int_equal(list->size, sizeof *list->reading);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            assert_true(list->reading[i - 1].gets >= list->reading[i].gets);
        if (strcmp(list->reading[i].name, name) == 0) {
            assert_int_equal(found.gets, 0);
            found = list->reading[i];
        }
    }
    caret_readings_free(list);
    return found;
}

static uint64_t in_all(void)
{
    caret_reading_list *list;
    uint64_t n = 0;

    OK(caret_readings_get(db, &list));
    for (size_t i = 0; i < list->count; i++)
        n += list->reading[i].gets;
    caret_readings_free(list);
    return n;
}

static uint64_t gets_in_all(void)
{
    caret_stats st = {.size = sizeof st};

    OK(caret_stat(db, &st));
    return st.gets;
}

/* ---------------------------------------------------------------- every way of reading */

static void by_get(caret_node *n)
{
    caret_slice v;
    OK(caret_get(s, n, &v));
}

static void by_path(caret_node *n)
{
    const caret_slice sub = {"3", 1};
    caret_slice v;

    (void)n;
    OK(caret_get_path(s, "^path", &sub, 1, &v));
}

static void by_many(caret_node *n)
{
    caret_node *const nodes[] = {n, n, n};
    caret_slice v[3];

    OK(caret_get_many(s, nodes, 3, v));
}

static void by_two(caret_node *n)
{
    caret_node_buf child;
    caret_slice v[2];

    OK(caret_node_child_int(&child.node, sizeof child, n, 1));
    OK(caret_get2(s, n, &child.node, v, v + 1));
}

static void by_steps(caret_node *n)
{
    caret_node_buf step;
    caret_slice v;

    memcpy(&step, n, sizeof step);
    assert_int_equal(caret_next_get(s, &step.node, &v), CARET_OK);
    assert_int_equal(caret_next_get(s, &step.node, &v), CARET_OK);
}

static void in_a_transaction(caret_node *n)
{
    OK(caret_begin(s, 0));
    by_get(n);
    OK(caret_commit(s));
}

static void in_a_snapshot(caret_node *n)
{
    OK(caret_begin(s, CARET_TXN_SNAPSHOT));
    for (int i = 0; i < 1000; i++)
        by_get(n);
    OK(caret_commit(s));
}

static void by_get_of_a_global(caret_node *n)
{
    caret_node_buf global;

    (void)n;
    by_get(at(&global, "^itself"));
}

static void every_way_of_reading_is_noted(void **state)
{
    static const struct {
        const char *name;
        void (*read)(caret_node *n);
    } ways[] = {
        {"^get", by_get},         {"^path", by_path},
        {"^many", by_many},       {"^two", by_two},
        {"^steps", by_steps},     {"^transaction", in_a_transaction},
        {"^snap", in_a_snapshot}, {"^itself", by_get_of_a_global},
    };
    caret_node_buf n;

    (void)state;
    OK(caret_set(s, at(&n, "^itself"), "x", 1));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        fill(ways[i].name);
        assert_int_equal(told(ways[i].name).gets, 0);
        int turns = 0;
        do {
            assert_true(turns++ < GIVE_UP);
            OK(caret_node_child_int(&n.node, sizeof n, at(&n, ways[i].name), 3));
            for (int k = 0; k < 300; k++)
                ways[i].read(&n.node);
        } while (told(ways[i].name).gets == 0);
        assert_int_equal(told(ways[i].name).pid, getpid());
    }
    fill("^set");
    assert_int_equal(told("^set").gets, 0);
    assert_true(in_all() <= gets_in_all());
}

/* ----------------------------------------------------------------------- how many */

static void await_tick(void)
{
    struct timespec before, now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
    do
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    while (now.tv_nsec == before.tv_nsec);
}

/* All gets up to a note are told, once. */
static void none_is_lost_or_told_twice(void **state)
{
    caret_node_buf n;
    uint64_t done = 0;

    (void)state;
    fill("^one");
    at(&n, "^one(5)");
    for (int i = 0; i < 20; i++) {
        for (unsigned k = 0; k < 100 * CARET__COUNTED_AT_ONCE; k++, done++)
            by_get(&n.node);
        await_tick();
        for (unsigned k = 0; k < CARET__COUNTED_AT_ONCE; k++, done++)
            by_get(&n.node);
        assert_int_equal(told("^one").gets, done);
    }
    assert_int_equal(in_all(), done);
    assert_int_equal(gets_in_all(), done);
}

/* Two in turns are both seen, and so is each of the four that are read in pairs. */
static void gets_in_turns_are_shared_out(void **state)
{
    static const char *const names[] = {"^a(1)", "^b(1)", "^c(1)", "^c(2)",
                                        "^d(1)", "^d(2)", "^e(1)", "^a(2)"};
    caret_node_buf n[8];
    int turns = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        OK(caret_set(s, at(&n[i], names[i]), "x", 1));
    do {
        assert_true(turns++ < GIVE_UP);
        for (int k = 0; k < 1000; k++)
            for (int i = 0; i < 8; i++)
                by_get(&n[i].node);
    } while (told("^a").gets == 0 || told("^b").gets == 0 || told("^c").gets == 0 || told("^d").gets == 0 ||
             told("^e").gets == 0);
    assert_true(in_all() <= gets_in_all());
}

/* Sets between them, however many, do not hide gets. */
static void sets_hide_no_gets(void **state)
{
    caret_node_buf n;

    (void)state;
    fill("^both");
    at(&n, "^both(5)");
    int turns = 0;
    do {
        assert_true(turns++ < GIVE_UP / 100);
        for (int k = 0; k < 300; k++) {
            by_get(&n.node);
            for (int i = 0; i < 3; i++)
                OK(caret_set(s, &n.node, "y", 1));
        }
    } while (told("^both").gets == 0);
}

/* What other processes read is told, with their pids; more globals than there are places push out the oldest. */
static void other_processes_and_many_globals(void **state)
{
    caret_node_buf n;
    caret_reading_list *list;

    (void)state;
    fill("^mine");
    pid_t pid = fork();
    if (pid == 0) {
        at(&n, "^mine(5)");
        do
            by_get(&n.node);
        while (told("^mine").gets == 0);
        _exit(0);
    }
    join(pid);
    assert_int_equal(told("^mine").pid, pid);
    for (unsigned i = 0; i < 2 * CARET__GLOBALS_READ; i++) {
        char name[32];
        snprintf(name, sizeof name, "^many%u(1)", i);
        OK(caret_set(s, at(&n, name), "x", 1));
        await_tick();
        for (unsigned k = 0; k < CARET__COUNTED_AT_ONCE; k++)
            by_get(&n.node);
        snprintf(name, sizeof name, "^many%u", i);
        assert_int_equal(told(name).gets, CARET__COUNTED_AT_ONCE);
    }
    OK(caret_readings_get(db, &list));
    assert_true(list->count <= CARET__GLOBALS_READ && list->count > CARET__GLOBALS_READ / 2);
    caret_readings_free(list);
}

/* A process that only looks at the file has no part in the segment, and is told nothing of it. */
static void only_those_who_write_are_told(void **state)
{
    caret_options o = options();
    caret_reading_list *list;
    caret_node_buf n;

    (void)state;
    fill("^x");
    caret_session_close(s);
    OK(caret_close(db));
    o.readonly = 1;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    at(&n, "^x(1)");
    for (unsigned k = 0; k < 3 * CARET__COUNTED_AT_ONCE; k++)
        by_get(&n.node);
    assert_int_equal(caret_readings_get(db, &list), CARET_E_READONLY);
    assert_null(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READ(every_way_of_reading_is_noted),    READ(none_is_lost_or_told_twice),
        READ(gets_in_turns_are_shared_out),     READ(sets_hide_no_gets),
        READ(other_processes_and_many_globals), READ(only_those_who_write_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
