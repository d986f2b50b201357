/*
 * A reader and those it observes: they close, are killed, or die in the middle of something; others come and open
 * the database again, also while the reader is only just opening it.  It goes on, and no answer mixes two states.
 */
#include "support/child.h"
#include "support/reading.h"

#include <sys/prctl.h>

#include "base/fault.h"
#include "open/open.h"

/* Those it observes close, or are killed, and others open it: the reader goes on with these. */
static void reader_outlives_those_it_observes(void **state)
{
    (void)state;
    pid_t child = child_with(0, 10, 30), reader = fork();
    if (reader == 0) {
        caret_session *s, *idle;
        caret_node_buf n;
        caret_slice v;
        caret_db *mine = open_reading();
        CHILD(view_of(mine) == CARET_VIEW_LIVE && count(mine, 0, 30) == 10);
        OK(caret_session_open(mine, &s));
        OK(caret_session_open(mine, &idle));
        for (uint32_t i = 0; i < 6; i++) {
            OK(caret_begin(s, 0));
            node_of(&n, 1);
            CHILD(caret_get(s, &n.node, &v) == CARET_OK);
            atomic_store(signal_word, 10 + 2 * i);
            until(11 + 2 * i);
            CHILD(count(mine, 0, 30) == 20 + 10 * (int64_t)i);
            CHILD(caret_get(s, &n.node, &v) != CARET_OK || v.len == 30);
            caret_rollback(s);
            CHILD(caret_get(s, &n.node, &v) == CARET_OK && v.len == 30);
        }
        node_of(&n, 69);
        CHILD(caret_get(idle, &n.node, &v) == CARET_OK);
        check(mine);
        caret_session_close(idle);
        caret_session_close(s);
        CHILD(caret_close(mine) == CARET_OK);
        _exit(0);
    }
    caret_db *db = NULL;
    for (uint32_t i = 0; i < 6; i++) {
        until(10 + 2 * i);
        if (i == 0)
            kill_and_wait(child);
        caret_close(db); /* the reader has seen the living; now they close */
        db = open_db();
        put(db, 10 + 10 * i, 20 + 10 * i, 30);
        if (i % 2 == 0) {
            OK(caret_close(db));
            db = NULL;
        }
        atomic_store(signal_word, 11 + 2 * i);
    }
    join(reader);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
}

static pid_t child_that(void (*does)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no child */
        does();
    }
    return pid;
}

/* A reader that is stopped at the nth hit of a point while it opens the database; then it finds `nodes` nodes
 * of 40 bytes. */
static pid_t reader_stopped_at(const char *point, unsigned nth, int64_t nodes)
{
    int status;
    pid_t reader = fork();

    if (reader == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        caret__fault_arm(point, nth, CARET__FAULT_STOP);
        caret_db *mine = open_reading();
        CHILD(count(mine, 0, 40) == nodes);
        CHILD(caret_close(mine) == CARET_OK);
        _exit(0);
    }
    assert_int_equal(waitpid(reader, &status, WUNTRACED), reader);
    assert_true(WIFSTOPPED(status));
    return reader;
}

/* Others come and write these nodes, with the checkpoints that it takes to use the pages of before. */
static caret_db *write_all(int64_t nodes)
{
    caret_db *db = open_db();

    for (unsigned round = 0; round < 4; round++) {
        put(db, 0, nodes, 40);
        OK(caret_checkpoint(db));
    }
    return db;
}

static void go_on(pid_t stopped)
{
    kill(stopped, SIGCONT);
    join(stopped);
}

/*
 * A reader has found those who are attached, and is slow.  They close, or die; others come, write, and make
 * the checkpoints that use the pages of before.  What the reader has in hand is a segment that nobody knows
 * any more.
 */
static void those_who_came_while_it_was_opened_are_seen(void **state)
{
    (void)state;
    need_points();
    for (unsigned i = 0; i < 4; i++) {
        atomic_store(signal_word, 0);
        pid_t user = fork();
        if (user == 0) {
            caret_db *db = open_db();
            put(db, 0, 40, 30);
            atomic_store(signal_word, 1);
            until(2);
            OK(caret_close(db));
            _exit(0);
        }
        until(1);
        pid_t reader = reader_stopped_at(i % 2 == 0 ? "observe_opened" : "observe_settled", 1, 70);
        if (i < 2) {
            kill_and_wait(user);
        } else {
            atomic_store(signal_word, 2);
            join(user);
        }
        caret_db *db = write_all(70);
        go_on(reader);
        kill_all(db);
        OK(caret_close(db));
    }
}

static _Noreturn void die_in_a_checkpoint(void)
{
    caret_db *db = open_db();
    put(db, 0, 400, 50);
    OK(caret_sync(db));
    atomic_store(signal_word, 1);
    until(2);
    caret__fault_arm("checkpoint_pages_written", 1, CARET__FAULT_KILL);
    (void)caret_checkpoint(db);
    _exit(1);
}

static _Noreturn void read_in_the_segment_of_the_dead(void)
{
    struct caret__engine *e;
    caret_options o = reading();
    CHILD(caret__engine_open(path, &o, &e) == CARET_OK && e->observes == CARET__OBSERVES_LIVE);
    atomic_store(signal_word, 2);
    until(3);
    CHILD(caret__observed_over(e));
    CHILD(caret__engine_close(e) == CARET_OK);
    _exit(0);
}

static _Noreturn void stop_before_the_meta_slot(void)
{
    caret__fault_arm("checkpoint_pages_written", 1, CARET__FAULT_STOP);
    OK(caret_close(open_db()));
    _exit(0);
}

/* Pages of a checkpoint that the dead had not finished may be in the file alone.  Those who come and do not find the
 * segment in which somebody still reads them write over them. */
static void readers_of_the_dead_are_told_before_pages_are_written(void **state)
{
    (void)state;
    need_points();
    int status;
    caret_db *db = open_db();
    put(db, 0, 400, 30);
    OK(caret_close(db));
    pid_t writer = child_that(die_in_a_checkpoint);
    until(1);
    pid_t reader = child_that(read_in_the_segment_of_the_dead);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    remove_shared_memory();
    pid_t newcomer = child_that(stop_before_the_meta_slot);
    assert_int_equal(waitpid(newcomer, &status, WUNTRACED), newcomer);
    assert_true(WIFSTOPPED(status));
    atomic_store(signal_word, 3);
    join(reader);
    go_on(newcomer);
    db = open_db();
    assert_int_equal(count(db, 0, 50), 400);
    check(db);
    OK(caret_close(db));
}

/* A reader replays the log of the dead, and is slow: others come, and write over the pages that it was about
 * to read. */
static void a_replay_is_not_harmed_by_those_who_come(void **state)
{
    (void)state;
    need_points();
    static const unsigned records[] = {1, 2, 10, 100, 190};
    for (unsigned i = 0; i < sizeof records / sizeof records[0]; i++) {
        caret_db *db = open_db();
        put(db, 0, 300, 30);
        OK(caret_close(db));
        kill_and_wait(child_with(200, 400, 50));
        pid_t reader = reader_stopped_at("replay_applied", records[i], 450);
        db = write_all(450);
        OK(caret_close(db));
        go_on(reader);
        db = open_db();
        kill_all(db);
        OK(caret_close(db));
    }
}

static void both_kinds_of_handles_in_one_process(void **state)
{
    (void)state;
    caret_db *reader, *db = open_db();
    put(db, 0, 10, 30);
    reader = open_reading(); /* over the engine that is there */
    assert_int_equal(view_of(reader), CARET_VIEW_ATTACHED);
    put(db, 10, 20, 30);
    assert_int_equal(count(reader, 0, 30), 20);
    OK(caret_close(db));
    assert_int_equal(count(reader, 0, 30), 20);
    OK(caret_close(reader));
    assert_int_equal(files_in(dir), 1);

    reader = open_reading(); /* first */
    assert_int_equal(view_of(reader), CARET_VIEW_FILE);
    db = open_db();
    put(db, 20, 30, 30);
    assert_int_equal(count(reader, 0, 30), 30);
    assert_int_equal(view_of(reader), CARET_VIEW_ATTACHED);
    pid_t pid = fork(); /* our slot is still ours: nothing dropped its lock */
    if (pid == 0) {
        caret_stats st = {.size = sizeof st};
        CHILD(caret_stat(db, &st) == CARET_OK && st.processes == 2);
        _exit(0);
    }
    join(pid);
    OK(caret_close(db));
    assert_int_equal(count(reader, 0, 30), 30);
    OK(caret_close(reader));
    assert_int_equal(files_in(dir), 1);
}

static void forked_child_of_a_reader_reads(void **state)
{
    (void)state;
    pid_t child = child_with(0, 10, 30);
    caret_db *reader = open_reading();
    assert_int_equal(count(reader, 0, 30), 10);
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(view_of(reader) == CARET_VIEW_LIVE && count(reader, 0, 30) == 10);
        kill(child, SIGKILL);
        until(2);
        CHILD(count(reader, 0, 30) == 20);
        CHILD(caret_close(reader) == CARET_OK);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    caret_db *db = open_db();
    put(db, 10, 20, 30);
    atomic_store(signal_word, 2);
    join(pid);
    assert_int_equal(count(reader, 0, 30), 20);
    OK(caret_close(db));
    OK(caret_close(reader));
}

/* Told by the level before the child's first call, and by what ends or needs a transaction. */
static void forked_child_of_a_reader_is_in_no_transaction(void **state)
{
    (void)state;
    pid_t child = child_with(0, 10, 30);
    caret_db *reader = open_reading();
    caret_session *s;
    caret_node_buf n;
    node_of(&n, 1);
    OK(caret_session_open(reader, &s));
    for (int calls = 0; calls < 3; calls++) {
        OK(caret_begin(s, 0));
        pid_t pid = fork();
        if (pid == 0) {
            caret_slice value;
            CHILD(calls != 0 || caret_txn_level(s) == 0);
            CHILD(calls != 1 || caret_commit(s) == CARET_E_NOTXN);
            CHILD(calls != 2 || caret_get_kept(s, &n.node, &value) == CARET_E_NOTXN);
            CHILD(caret_begin(s, 0) == CARET_OK && caret_txn_level(s) == 1 && caret_commit(s) == CARET_OK);
            _exit(0);
        }
        join(pid);
        assert_int_equal(caret_txn_level(s), 1);
        OK(caret_commit(s));
    }
    kill_and_wait(child);
    caret_session_close(s);
    OK(caret_close(reader));
}

static void file_that_is_replaced_is_told_from_one_that_changed(void **state)
{
    char second[128];

    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 30);
    OK(caret_close(db));
    caret_db *reader = open_reading();
    snprintf(second, sizeof second, "%s.away", path);
    assert_int_equal(rename(path, second), 0);
    assert_int_equal(count(reader, 0, 30), 10); /* the file that was opened is what it was */
    db = open_db();
    put(db, 0, 3, 30);
    OK(caret_close(db));
    assert_int_equal(count(reader, 0, 30), 10);
    caret_options o = options();
    OK(caret_open(second, &o, &db));
    put(db, 10, 20, 30);
    caret_session *s;
    caret_node_buf n;
    caret_slice v;
    OK(caret_close(db));
    node_of(&n, 1);
    assert_int_equal(caret_session_open(reader, &s), CARET_E_EVICTED); /* changed, and not at its path */
    assert_non_null(strstr(caret_message(), "replaced"));
    OK(caret_close(reader));
    (void)v;
}

/* A writer that died in the middle of a commit, and nobody who repairs: the state before. */
static void dead_writer_is_read_around(void **state)
{
    (void)state;
#ifdef CARET_FAULTS
    static const char *const points[] = {"version_set", "page_born", "page_copied", "page_obsolete"};

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        caret_db *db = open_db();
        put(db, 0, 300, 30);
        OK(caret_checkpoint(db));
        pid_t pid = fork();
        if (pid == 0) {
            OK(caret_stat(db, &(caret_stats){.size = sizeof(caret_stats)}));
            caret__fault_arm(points[i], 1, CARET__FAULT_KILL);
            put(db, 300, 301, 30);
            _exit(1);
        }
        waitpid(pid, NULL, 0);
        pid = fork();
        if (pid == 0) {
            /* not with the handle that it inherits: that would attach and repair */
            char other_path[128];
            snprintf(other_path, sizeof other_path, "%s/./db.caret", dir);
            execl("/proc/self/exe", "test_open_observe", "--count", other_path, "300", (char *)NULL);
            _exit(9);
        }
        join(pid);
        put(db, 400, 401, 30); /* repairs */
        assert_int_equal(count(db, 0, 30), 301);
        OK(caret_close(db));
        unlink(path);
    }
#else
    need_points();
#endif
}

/* Also run as a program: count the nodes as a reader, without any handle inherited. */
static int count_as_reader(const char *name, const char *expected)
{
    snprintf(path, sizeof path, "%s", name);
    caret_db *db = NULL;
    caret_options o = reading();
    if (caret_open(path, &o, &db) != CARET_OK || view_of(db) != CARET_VIEW_LIVE)
        return 2;
    int64_t n = count(db, 0, 30);
    return caret_close(db) == CARET_OK && n == atoll(expected) ? 0 : 3;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--count") == 0)
        return count_as_reader(argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        TEST(reader_outlives_those_it_observes),
        TEST(those_who_came_while_it_was_opened_are_seen),
        TEST(readers_of_the_dead_are_told_before_pages_are_written),
        TEST(a_replay_is_not_harmed_by_those_who_come),
        TEST(both_kinds_of_handles_in_one_process),
        TEST(forked_child_of_a_reader_reads),
        TEST(forked_child_of_a_reader_is_in_no_transaction),
        TEST(file_that_is_replaced_is_told_from_one_that_changed),
        TEST(dead_writer_is_read_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
