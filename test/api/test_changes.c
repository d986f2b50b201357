/* Following the log: every change, in order, whole, whatever checkpoints and the end of the file do; and which
 * process holds what. */
#include "support/database.h"

#include "support/crowd.h"

#include <stdbool.h>

#ifdef CARET_SMALL
enum { LOG_SIZE = 256 << 10, NUMBERS = 10000, PERIOD = 400, AHEAD = 700 };
#else
enum { LOG_SIZE = 8 << 20, NUMBERS = 120000, PERIOD = 5000, AHEAD = 20000 };
#endif

static caret_node_buf node;

static caret_node *at(const char *name, int64_t i)
{
    OK(caret_node_var(&node.node, sizeof node, name, strlen(name)));
    OK(caret_node_child_int(&node.node, sizeof node, &node.node, i));
    return &node.node;
}

static void set(caret_session *s, const char *name, int64_t i, const char *value)
{
    OK(caret_set(s, at(name, i), value, strlen(value)));
}

static caret_log *follow(caret_db *db, uint64_t from)
{
    caret_log *log;

    OK(caret_log_open(db, from, &log));
    return log;
}

static void expect(caret_log *log, int kind, const char *zwr, const char *value, unsigned index,
                   unsigned count)
{
    caret_change c = {.size = sizeof c};
    char name[200];
    size_t len;

    OK(caret_log_next(log, &c));
    OK(caret_node_zwr(c.node, 0, name, sizeof name, &len));
    name[len] = 0;
    assert_string_equal(name, zwr);
    assert_int_equal(c.kind, kind);
    assert_int_equal(c.index, index);
    assert_int_equal(c.count, count);
    assert_int_equal(c.value.len, strlen(value));
    assert_memory_equal(c.value.data != NULL ? c.value.data : "", value, c.value.len);
}

static void expect_none(caret_log *log)
{
    caret_change c = {.size = sizeof c};

    assert_int_equal(caret_log_next(log, &c), CARET_NONE);
    assert_int_equal(caret_log_next(log, &c), CARET_NONE);
}

static void changes_come_as_they_were_made(void **state)
{
    caret_session *s;
    static char longest[100000];

    (void)state;
    caret_db *db = open_db();
    caret_log *log = follow(db, CARET_LOG_END), *first = follow(db, 0);
    OK(caret_session_open(db, &s));
    expect_none(log);
    set(s, "^a", 1, "one");
    set(s, "^a", 2, "");
    expect(log, CARET_CHANGE_SET, "^a(1)", "one", 0, 1);
    expect(log, CARET_CHANGE_SET, "^a(2)", "", 0, 1);
    expect_none(log);
    OK(caret_begin(s, 0));
    set(s, "^a", 3, "three");
    OK(caret_delete(s, at("^a", 1)));
    OK(caret_kill(s, at("^b", 1)));
    expect_none(log);
    OK(caret_commit(s));
    expect(log, CARET_CHANGE_DELETE, "^a(1)", "", 0, 3);
    expect(log, CARET_CHANGE_SET, "^a(3)", "three", 1, 3);
    expect(log, CARET_CHANGE_KILL, "^b(1)", "", 2, 3);
    OK(caret_incr(s, at("^c", 1), "1.5", 3, NULL));
    expect(log, CARET_CHANGE_SET, "^c(1)", "1.5", 0, 1);
    memset(longest, 'x', sizeof longest - 1);
    set(s, "^long", 1, longest);
    expect(log, CARET_CHANGE_SET, "^long(1)", longest, 0, 1);
    OK(caret_begin(s, 0));
    OK(caret_rollback(s));
    expect_none(log);
    expect(first, CARET_CHANGE_SET, "^a(1)", "one", 0, 1);
    caret_log_close(first);
    caret_log_close(log);
    caret_log_close(NULL);
    caret_session_close(s);
    OK(caret_close(db));
}

static void a_place_in_the_log_is_where_it_goes_on(void **state)
{
    caret_session *s;
    caret_change c = {.size = sizeof c};
    caret_log *log;
    uint64_t committed;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    for (int i = 0; i < 100; i++)
        set(s, "^a", i, "x");
    log = follow(db, 0);
    for (int i = 0; i < 50; i++)
        OK(caret_log_next(log, &c));
    caret_log *again = follow(db, c.lsn);
    expect(again, CARET_CHANGE_SET, "^a(50)", "x", 0, 1);
    caret_log_close(again);
    OK(caret_durable(db, NULL, &committed));
    again = follow(db, committed);
    expect_none(again);
    caret_log_close(again);
    assert_int_equal(caret_log_open(db, c.lsn + 8, &again), CARET_E_NOTFOUND);
    assert_null(again);
    assert_int_equal(caret_log_open(db, committed + 8, &again), CARET_E_NOTFOUND);
    assert_int_equal(caret_log_open(db, 8, &again), CARET_E_NOTFOUND);
    OK(caret_checkpoint(db));
    assert_int_equal(caret_log_open(db, c.lsn, &again), CARET_E_NOTFOUND);
    expect(log, CARET_CHANGE_SET, "^a(50)", "x", 0, 1); /* a follower has it still */
    again = follow(db, 0);
    expect_none(again);
    set(s, "^a", 100, "y");
    expect(again, CARET_CHANGE_SET, "^a(100)", "y", 0, 1);
    caret_log_close(again);
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
    caret_options o = {.size = sizeof o, .readonly = 1};
    OK(caret_open(path, &o, &db));
    assert_int_equal(caret_log_open(db, 0, &log), CARET_E_READONLY);
    OK(caret_close(db));
}

/* ^n(i) = i for one i after the other, with values of many lengths, checkpoints, big transactions, round and round. */
static void write_numbers(void)
{
    static char value[3000];
    caret_session *s;
    caret_options o = options();
    caret_db *db;

    o.log_size = LOG_SIZE;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    for (int64_t i = 1; i <= NUMBERS; i++) {
        memset(value, (int)('a' + i % 26), sizeof value);
        size_t len = (size_t)snprintf(value, sizeof value, "%lld ", (long long)i);
        value[len] = ' ';
        len += i % 97 == 0 && caret_txn_level(s) == 0 ? 2500 : (size_t)(i * 7 % 80);
        if (i % PERIOD == 1)
            OK(caret_begin(s, 0));
        OK(caret_set(s, at("^n", i % 1000), value, len));
        if (i % PERIOD == PERIOD / 2 && caret_txn_level(s) > 0)
            OK(caret_commit(s));
        if (i % 7001 == 0 && caret_txn_level(s) == 0)
            OK(caret_checkpoint(db));
        while (i - (int64_t)atomic_load(signal_word) > AHEAD) /* not so much that it can't be read */
            usleep(100);
    }
    if (caret_txn_level(s) > 0)
        OK(caret_commit(s));
    caret_session_close(s);
    OK(caret_close(db));
    _exit(0);
}

static void every_change_is_seen_while_the_log_goes_round(void **state)
{
    caret_options o = options();
    caret_db *db;
    caret_change c = {.size = sizeof c};
    int64_t seen = 0;

    (void)state;
    o.log_size = LOG_SIZE;
    OK(caret_open(path, &o, &db));
    caret_log *log = follow(db, CARET_LOG_END);
    pid_t pid = fork();
    if (pid == 0)
        write_numbers();
    while (seen < NUMBERS) {
        int rc = caret_log_next(log, &c);
        if (rc == CARET_NONE) {
            usleep(200);
            continue;
        }
        OK(rc);
        if (c.count == 1) { /* within a transaction they come in the order of nodes, the last of each */
            if (c.value.data != NULL) /* a long one may be gone by now */
                assert_int_equal(strtoll(c.value.data, NULL, 10), seen + 1);
            seen++;
        } else if (c.index == c.count - 1) {
            seen += PERIOD / 2;
        }
        atomic_store(signal_word, (uint32_t)seen);
    }
    join(pid);
    expect_none(log);
    caret_log_close(log);
    check(db);
    OK(caret_close(db));
}

/* Begin at `from`, and have a checkpoint before the first change is asked for. */
static void begin_before_a_checkpoint(caret_db *db, caret_session *s, uint64_t from)
{
    caret_log *log = follow(db, from);

    set(s, "^a", 1, "one");
    OK(caret_checkpoint(db));
    set(s, "^a", 2, "two");
    OK(caret_checkpoint(db));
    expect(log, CARET_CHANGE_SET, "^a(1)", "one", 0, 1);
    expect(log, CARET_CHANGE_SET, "^a(2)", "two", 0, 1);
    expect_none(log);
    caret_log_close(log);
}

static void a_checkpoint_takes_nothing_from_whoever_has_begun(void **state)
{
    uint64_t place;
    caret_session *s;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    begin_before_a_checkpoint(db, s, 0);
    for (int before = 0; before < 3; before++) { /* commits between the checkpoint and the beginning */
        for (int i = 0; i < before; i++)
            set(s, "^b", i, "before");
        begin_before_a_checkpoint(db, s, CARET_LOG_END);
        for (int i = 0; i < before; i++)
            set(s, "^b", i, "before");
        OK(caret_durable(db, NULL, &place));
        begin_before_a_checkpoint(db, s, place);
    }
    caret_session_close(s);
    OK(caret_close(db));
}

static void who_is_too_slow_is_told_so(void **state)
{
    caret_options o = options();
    caret_session *s;
    caret_db *db;
    caret_change c = {.size = sizeof c};
    char value[80]; /* in the page, also of small builds */
    int rc;

    (void)state;
    o.log_size = LOG_SIZE;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    set(s, "^a", 1, "first");
    caret_log *log = follow(db, 0);
    OK(caret_log_next(log, &c));
    memset(value, 'v', sizeof value);
    for (int i = 0; i < 250000; i++)
        OK(caret_set(s, at("^a", i % 10), value, sizeof value)); /* 28 MB of log */
    while ((rc = caret_log_next(log, &c)) == CARET_OK)
        continue;
    assert_int_equal(rc, CARET_E_NOTFOUND);
    caret_log_close(log);
    log = follow(db, CARET_LOG_END);
    set(s, "^a", 1, "last");
    expect(log, CARET_CHANGE_SET, "^a(1)", "last", 0, 1);
    caret_log_close(log);
    log = follow(db, CARET_LOG_END); /* too slow for its first change */
    for (int i = 0; i < 250000; i++)
        OK(caret_set(s, at("^a", i % 10), value, sizeof value));
    assert_int_equal(caret_log_next(log, &c), CARET_E_NOTFOUND);
    assert_int_equal(caret_log_next(log, &c), CARET_E_NOTFOUND); /* and it stays so */
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* ---------------------------------------------------------------- locks, processes */

static void in_child(bool die)
{
    caret_session *s;
    caret_db *db = open_db();

    OK(caret_session_open(db, &s));
    OK(caret_lock(s, at("^dead", 1), 0));
    OK(caret_lock(s, at("^dead", 1), 0));
    atomic_store(signal_word, 1);
    if (die)
        raise(SIGKILL);
    caret_lock(s, at("^mine", 1), CARET_FOREVER);
    caret_session_close(s);
    OK(caret_close(db));
    _exit(0);
}

static bool has_locks(caret_db *db, size_t n, caret_lock_list **list)
{
    OK(caret_locks_get(db, list));
    if ((*list)->count >= n)
        return true;
    caret_locks_free(*list);
    return false;
}

static void wait_for_locks(caret_db *db, size_t n, caret_lock_list **list)
{
    UNTIL(has_locks(db, n, list));
}

static void holders_and_waiters_are_listed(void **state)
{
    caret_lock_list *list;
    caret_process_list *processes;
    caret_session *s;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_locks_get(db, &list));
    assert_int_equal(list->count, 0);
    caret_locks_free(list);
    OK(caret_lock(s, at("^mine", 1), 0));
    pid_t pid = fork();
    if (pid == 0)
        in_child(false);
    wait_for_locks(db, 3, &list);
    assert_string_equal(list->lock[0].name, "^dead(1)");
    assert_int_equal(list->lock[0].pid, pid);
    assert_int_equal(list->lock[0].count, 2);
    assert_int_equal(list->lock[0].alive, 1);
    assert_string_equal(list->lock[1].name, "^mine(1)");
    assert_int_equal(list->lock[1].pid, getpid());
    assert_int_equal(list->lock[1].waiting, 1);
    assert_int_equal(list->lock[1].waits, 0);
    assert_string_equal(list->lock[2].name, "^mine(1)");
    assert_int_equal(list->lock[2].waits, 1);
    assert_int_equal(list->lock[2].pid, pid);
    assert_true(list->lock[2].age_ns <= list->lock[1].age_ns + UINT64_C(20000000)); /* a coarse clock */
    caret_locks_free(list);
    OK(caret_processes_get(db, &processes));
    assert_int_equal(processes->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(processes->process[i].alive, 1);
        assert_int_equal(processes->process[i].self, processes->process[i].pid == (uint64_t)getpid());
    }
    caret_processes_free(processes);
    OK(caret_unlock(s, at("^mine", 1)));
    join(pid);
    caret_session_close(s);
    OK(caret_close(db));
    assert_int_equal(caret_locks_get(NULL, &list), CARET_E_INVALID);
    caret_locks_free(NULL);
    caret_processes_free(NULL);
}

static void locks_of_the_dead_can_be_cleared(void **state)
{
    caret_lock_list *list;
    caret_session *s;
    unsigned cleared;
    int status;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_lock(s, at("^mine", 1), 0));
    pid_t pid = fork();
    if (pid == 0)
        in_child(true);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    wait_for_locks(db, 2, &list);
    assert_int_equal(list->lock[0].pid, pid);
    assert_int_equal(list->lock[0].alive, 0);
    assert_int_equal(list->lock[1].alive, 1);
    caret_locks_free(list);
    OK(caret_locks_clear(db, (uint64_t)getpid(), &cleared));
    assert_int_equal(cleared, 0);
    OK(caret_locks_clear(db, (uint64_t)pid, &cleared));
    assert_int_equal(cleared, 1);
    OK(caret_locks_clear(db, 0, NULL));
    OK(caret_locks_get(db, &list));
    assert_int_equal(list->count, 1);
    assert_string_equal(list->lock[0].name, "^mine(1)");
    caret_locks_free(list);
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changes_come_as_they_were_made, setup, teardown),
        cmocka_unit_test_setup_teardown(a_place_in_the_log_is_where_it_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(every_change_is_seen_while_the_log_goes_round, setup, teardown),
        cmocka_unit_test_setup_teardown(a_checkpoint_takes_nothing_from_whoever_has_begun, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_too_slow_is_told_so, setup, teardown),
        cmocka_unit_test_setup_teardown(holders_and_waiters_are_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(locks_of_the_dead_can_be_cleared, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
