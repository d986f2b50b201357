/* Opening and closing: one file remains, processes share, forks attach themselves. */
#include "support/database.h"

#include <sched.h>

/* ---------------------------------------------------------------- the good */

static void clean_close_leaves_one_file(void **state)
{
    (void)state;
    caret_db *db = open_db();
    assert_int_equal(files_in(shm_dir), 1);
    put(db, 0, 500, 20);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
    assert_int_equal(files_in(shm_dir), 0);
    db = open_db();
    assert_int_equal(count(db, 0, 20), 500);
    check(db);
    OK(caret_close(db));
}

static void reopened_many_times_keeps_everything(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        caret_db *db = open_db();
        assert_int_equal(count(db, 0, 30), i * 40);
        put(db, i * 40, i * 40 + 40, 30);
        if (i % 3 == 0)
            OK(caret_checkpoint(db));
        check(db);
        OK(caret_close(db));
    }
}

static void same_file_twice_in_a_process_is_one_engine(void **state)
{
    char alias[128];

    (void)state;
    caret_db *a = open_db(), *b = NULL;
    caret_options o = options();
    snprintf(alias, sizeof alias, "%s/link", dir);
    assert_int_equal(symlink("db.caret", alias), 0);
    OK(caret_open(alias, &o, &b));
    assert_string_equal(caret_path(a), caret_path(b));
    put(a, 0, 10, 5);
    assert_int_equal(count(b, 0, 5), 10);
    OK(caret_close(a));
    assert_int_equal(count(b, 0, 5), 10);
    OK(caret_close(b));
    unlink(alias);
    assert_int_equal(files_in(dir), 1);
}

static void processes_share_and_the_last_cleans_up(void **state)
{
    (void)state;
    caret_db *db = open_db();
    pid_t child = child_with(0, 300, 25);
    assert_int_equal(count(db, 0, 25), 300);
    put(db, 300, 400, 25);
    OK(caret_close(db));
    assert_int_equal(access(log_path, F_OK), 0); /* the child is still there */
    db = open_db();
    assert_int_equal(count(db, 0, 25), 400);
    kill_and_wait(child);
    put(db, 400, 410, 25);
    check(db);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
}

static void empty_file_becomes_a_database(void **state)
{
    struct stat st;

    (void)state;
    close(open(path, O_CREAT | O_WRONLY, 0600));
    chmod(path, 0640);
    caret_db *db = open_db();
    put(db, 0, 3, 3);
    OK(caret_close(db));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

/* ------------------------------------------------------------------- forks */

static void forked_child_becomes_a_process_of_its_own(void **state)
{
    caret_stats stats = {.size = sizeof stats};

    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 10);
    pid_t pid = fork();
    if (pid == 0) {
        put(db, 10, 20, 10);
        OK(caret_stat(db, &stats));
        assert_int_equal(stats.processes, 2);
        atomic_store(signal_word, 1);
        until(2);
        put(db, 20, 30, 10);
        OK(caret_close(db));
        _exit(0);
    }
    until(1);
    assert_int_equal(count(db, 0, 10), 20);
    OK(caret_close(db)); /* the child goes on alone */
    atomic_store(signal_word, 2);
    join(pid);
    assert_int_equal(files_in(dir), 1);
    db = open_db();
    assert_int_equal(count(db, 0, 10), 30);
    check(db);
    OK(caret_close(db));
}

static void child_that_comes_late_opens_anew(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 10);
    pid_t pid = fork();
    if (pid == 0) {
        until(1);
        assert_int_equal(count(db, 0, 10), 15); /* the segment it inherited is long gone */
        put(db, 15, 20, 10);
        OK(caret_close(db));
        _exit(0);
    }
    OK(caret_close(db));
    db = open_db();
    put(db, 10, 15, 10);
    atomic_store(signal_word, 1);
    join(pid);
    assert_int_equal(count(db, 0, 10), 20);
    check(db);
    OK(caret_close(db));
}

static void child_that_never_uses_it_harms_nobody(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 10);
    pid_t pid = fork();
    if (pid == 0) {
        OK(caret_close(db));
        _exit(0);
    }
    join(pid);
    pid = fork(); /* nor one that exits */
    if (pid == 0)
        _exit(0);
    join(pid);
    put(db, 10, 20, 10);
    pid = child_with(20, 30, 10); /* our slot is still known to be alive */
    kill_and_wait(pid);
    assert_int_equal(count(db, 0, 10), 30);
    OK(caret_close(db));
}

static void orphan_of_a_killed_parent_goes_on(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 100, 10);
        pid_t child = fork();
        if (child == 0) {
            until(1);
            put(db, 100, 200, 10);
            OK(caret_close(db));
            atomic_store(signal_word, 2);
            _exit(0);
        }
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    atomic_store(signal_word, 1);
    until(2);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 10), 200);
    OK(caret_close(db));
}

static void gate_keeps_openers_apart(void **state)
{
    pid_t child[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        child[i] = fork();
        if (child[i] != 0)
            continue;
        for (int k = 0; k < 15; k++) {
            caret_db *db = open_db();
            put(db, i * 15 + k, i * 15 + k + 1, 12);
            OK(caret_close(db));
        }
        _exit(0);
    }
    for (int i = 0; i < 4; i++)
        join(child[i]);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 12), 60);
    check(db);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
    assert_int_equal(files_in(shm_dir), 0);
}

static void evicted_process_is_told(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        caret_session *s;
        caret_node_buf n;
        put(db, 0, 5, 5);
        OK(caret_session_open(db, &s));
        for (int fd = 3; fd < 64; fd++) /* what a daemon does */
            close(fd);
        atomic_store(signal_word, 1);
        until(2);
        node_of(&n, 5);
        if (caret_set(s, &n.node, "x", 1) != CARET_E_EVICTED)
            _exit(1);
        if (caret_sync(db) != CARET_E_EVICTED || caret_checkpoint(db) != CARET_E_EVICTED)
            _exit(2);
        _exit(caret_close(db) == CARET_E_EVICTED ? 0 : 3);
    }
    until(1);
    caret_db *db = open_db(); /* nobody seems to be alive: recovers */
    assert_int_equal(count(db, 0, 5), 5);
    atomic_store(signal_word, 2);
    join(pid);
    assert_int_equal(count(db, 0, 5), 5);
    OK(caret_close(db));
}

static void all_who_open_a_new_database_at_once_get_it(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        pid_t pid[6];
        for (int i = 0; i < 6; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                while (atomic_load(signal_word) <= round)
                    sched_yield();
                caret_db *db = open_db();
                put(db, i * 10, i * 10 + 10, 20);
                OK(caret_close(db));
                _exit(0);
            }
        }
        atomic_store(signal_word, round + 1);
        for (int i = 0; i < 6; i++)
            join(pid[i]);
        caret_db *db = open_db();
        assert_int_equal(count(db, 0, 20), 60);
        OK(caret_close(db));
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_who_open_a_new_database_at_once_get_it),
        TEST(clean_close_leaves_one_file),
        TEST(reopened_many_times_keeps_everything),
        TEST(same_file_twice_in_a_process_is_one_engine),
        TEST(processes_share_and_the_last_cleans_up),
        TEST(empty_file_becomes_a_database),
        TEST(forked_child_becomes_a_process_of_its_own),
        TEST(child_that_comes_late_opens_anew),
        TEST(child_that_never_uses_it_harms_nobody),
        TEST(orphan_of_a_killed_parent_goes_on),
        TEST(gate_keeps_openers_apart),
        TEST(evicted_process_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
