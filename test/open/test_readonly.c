/*
 * Opened read-only: nothing is written and no file is made, whoever else is there or not, with whatever rights.
 * When those attached come, go and die: test_observe.c; that no transaction sees two states: test_audits.c.
 */
#include "support/apart.h"
#include "support/reading.h"

#include <dirent.h>

#include "base/crc32c.h"

/* ------------------------------------------------------------------ helpers */

static int reading_code(void)
{
    caret_options o = reading();
    caret_db *db = NULL;
    int rc = caret_open(path, &o, &db);
    caret_close(db);
    return rc;
}

/* Names, sizes, times of change and contents of all files in a directory. */
static uint32_t state_of(const char *where)
{
    struct dirent **names;
    char file[400];
    uint32_t crc = 0;
    int n = scandir(where, &names, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", where, names[i]->d_name);
        if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
            static char buf[65536];
            int fd = open(file, O_RDONLY);
            crc = caret__crc32c(crc, names[i]->d_name, strlen(names[i]->d_name));
            crc = caret__crc32c(crc, &st.st_mtim, sizeof st.st_mtim);
            crc = caret__crc32c(crc, &st.st_size, sizeof st.st_size);
            /* the segment is sparse and large: reading would fill its holes */
            for (ssize_t r; st.st_size < (8 << 20) && (r = read(fd, buf, sizeof buf)) > 0;)
                crc = caret__crc32c(crc, buf, (size_t)r);
            close(fd);
        }
        free(names[i]);
    }
    free(names);
    return crc;
}

/* A child that runs `with` as somebody without rights; waits for it. */
static void as_nobody(void (*with)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        become_nobody();
        with();
        _exit(0);
    }
    join(pid);
}

/* --------------------------------------------------------- nobody is attached */

static void everything_but_reading_is_refused(caret_db *db)
{
    caret_session *s;
    caret_node_buf n;
    const caret_node *one = &n.node;

    OK(caret_session_open(db, &s));
    node_of(&n, 1);
    assert_int_equal(caret_set(s, &n.node, "x", 1), CARET_E_READONLY);
    assert_int_equal(caret_delete(s, &n.node), CARET_E_READONLY);
    assert_int_equal(caret_kill(s, &n.node), CARET_E_READONLY);
    assert_int_equal(caret_kill_range(s, &n.node, NULL, NULL, 0), CARET_E_READONLY);
    assert_int_equal(caret_incr(s, &n.node, "1", 1, NULL), CARET_E_READONLY);
    assert_int_equal(caret_lock(s, &n.node, 0), CARET_E_READONLY);
    assert_int_equal(caret_lock_all(s, &one, 1, 0), CARET_E_READONLY);
    OK(caret_unlock_all(s));
    OK(caret_begin(s, 0));
    assert_int_equal(caret_set(s, &n.node, "x", 1), CARET_E_READONLY);
    OK(caret_commit(s));
    assert_int_equal(caret_sync(db), CARET_E_READONLY);
    assert_int_equal(caret_checkpoint(db), CARET_E_READONLY);
    OK(caret_durable(db, NULL, NULL));
    OK(caret_node_var(&n.node, sizeof n, "local", 5)); /* which is nobody else's business */
    OK(caret_set(s, &n.node, "x", 1));
    caret_session_close(s);
}

static void clean_file_is_read_and_nothing_is_touched(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, 500, 30);
    put(db, 500, 510, 20000); /* out of line */
    OK(caret_close(db));
    uint32_t before = state_of(dir);
    for (int i = 0; i < 3; i++) {
        db = open_reading();
        caret_db *twice = open_reading();
        assert_int_equal(view_of(db), CARET_VIEW_FILE);
        everything_but_reading_is_refused(db);
        check(db);
        OK(caret_close(twice));
        assert_int_equal(files_in(dir), 1);
        assert_int_equal(files_in(shm_dir), 0);
        OK(caret_close(db));
    }
    assert_int_equal(state_of(dir), before);
    db = open_reading();
    caret_session *s;
    caret_node_buf n;
    OK(caret_session_open(db, &s));
    int64_t found = 0;
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    for (int rc = caret_first(s, &n.node); rc == CARET_OK; rc = caret_next(s, &n.node))
        found++;
    assert_int_equal(found, 510);
    int data;
    node_of(&n, 505);
    OK(caret_data(s, &n.node, &data));
    assert_int_equal(data, 1);
    OK(caret_previous(s, &n.node));
    OK(caret_node_previous(s, &n.node));
    OK(caret_first_var(s, &n.node, sizeof n, 0));
    assert_int_equal(caret_next(s, &n.node), CARET_NONE);
    caret_session_close(s);
    OK(caret_close(db));
}

static void read_500(void)
{
    caret_db *db = open_reading();
    CHILD(count(db, 0, 30) == 500);
    CHILD(caret_close(db) == CARET_OK);
    CHILD(open_code(path) == CARET_E_OPEN && strstr(caret_message(), "readonly") != NULL);
}

static void clean_file_of_somebody_else_is_read(void **state)
{
    (void)state;
    if (!may_become_nobody())
        skip();
    caret_db *db = open_db();
    put(db, 0, 500, 30);
    OK(caret_close(db));
    let_read(true);
    as_nobody(read_500);
    chmod(path, 0600);
    pid_t pid = fork();
    if (pid == 0) {
        become_nobody();
        _exit(reading_code() == CARET_E_OPEN ? 0 : 1);
    }
    join(pid);
}

static void what_is_not_there_is_not_made(void **state)
{
    (void)state;
    assert_int_equal(reading_code(), CARET_E_NOTFOUND);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(reading_code(), CARET_E_NOTFOUND); /* empty: nothing to read */
    assert_int_equal(files_in(dir), 1);
    assert_int_equal(files_in(shm_dir), 0);
}

/* Killed with commits in the file, in the log, and in the ring only. */
static void make_dead(bool synced)
{
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 100, 30);
        OK(caret_checkpoint(db));
        put(db, 100, 200, 30);
        OK(caret_sync(db));
        if (!synced)
            put(db, 200, 500, 30);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

static void dead_database_is_read_whole_and_left_as_it_is(void **state)
{
    (void)state;
    make_dead(false);
    uint32_t before = state_of(dir), shm_before = state_of(shm_dir);
    for (int i = 0; i < 2; i++) {
        caret_db *db = open_reading();
        assert_int_equal(view_of(db), CARET_VIEW_FILE);
        assert_int_equal(count(db, 0, 30), 500);
        check(db);
        OK(caret_close(db));
        assert_int_equal(state_of(dir), before);
        assert_int_equal(state_of(shm_dir), shm_before);
    }
    let_read(true);
    if (geteuid() == 0)
        as_nobody(read_500);
    assert_int_equal(state_of(dir), before);
    caret_db *db = open_db(); /* and recovered as ever */
    assert_int_equal(count(db, 0, 30), 500);
    OK(caret_close(db));
}

/* Reading brings nothing to the disk: what the dead had not synced is not there. */
static void dead_database_is_no_further_on_the_disk_than_it_was(void **state)
{
    uint64_t *places = shared_memory(2 * sizeof *places), durable, committed;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 100, 30);
        OK(caret_sync(db));
        put(db, 100, 200, 30);
        OK(caret_durable(db, &places[0], &places[1]));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    assert_true(places[0] < places[1]);
    caret_db *db = open_reading();
    OK(caret_durable(db, &durable, &committed));
    assert_int_equal(count(db, 0, 30), 200);
    assert_int_equal(durable, places[0]);
    assert_int_equal(committed, places[1]);
    OK(caret_close(db));
    shared_memory_free(places, 2 * sizeof *places);
}

static void dead_database_without_its_segment_is_what_the_log_has(void **state)
{
    (void)state;
    make_dead(true);
    remove_shared_memory();
    caret_db *db = open_reading();
    assert_int_equal(count(db, 0, 30), 200);
    check(db);
    OK(caret_close(db));
}

static void dead_database_that_cant_be_read_whole_is_refused(void **state)
{
    char command[512];

    (void)state;
    make_dead(false);
    if (may_become_nobody()) {
        let_read(true);
        pid_t pid = fork();
        if (pid == 0) {
            chmod(log_path, 0600);
            become_nobody();
            CHILD(reading_code() == CARET_E_OPEN && strstr(caret_message(), log_path) != NULL);
            _exit(0);
        }
        join(pid);
        pid = fork();
        if (pid == 0) {
            chmod(log_path, 0644);
            chmod(shm_dir, 0700); /* commits may be in there, and there only */
            become_nobody();
            CHILD(reading_code() == CARET_E_SHM);
            _exit(0);
        }
        join(pid);
    }
    snprintf(command, sizeof command, "mv %s %s.keep", log_path, log_path);
    assert_int_equal(system(command), 0);
    assert_int_equal(reading_code(), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), log_path));
    snprintf(command, sizeof command, "mv %s.keep %s", log_path, log_path);
    assert_int_equal(system(command), 0);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 30), 500);
    OK(caret_close(db));
}

/* More than one turn of arena and pages: long values, kills, splits, all in private memory. */
static void replay_in_private_memory_is_the_whole_history(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        caret_session *s;
        caret_node_buf n;
        put(db, 0, 300, 100);
        OK(caret_checkpoint(db));
        put(db, 300, 600, 100);
        put(db, 1000, 1010, 5000);
        OK(caret_session_open(db, &s));
        for (int i = 600; i > 400; i--) {
            node_of(&n, i);
            OK(caret_kill(s, &n.node));
        }
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    uint32_t before = state_of(dir);
    caret_db *db = open_reading();
    assert_int_equal(count(db, 0, 100), 401);
    assert_int_equal(count(db, 1000, 5000), 10);
    check(db);
    OK(caret_close(db));
    assert_int_equal(state_of(dir), before);
}

static void read_only_file_system(void **state)
{
    char command[512], inner[160];

    (void)state;
    snprintf(command, sizeof command, "mount -t tmpfs none %s 2>/dev/null", dir);
    if (system(command) != 0) {
        print_message("skipped: no tmpfs can be mounted here\n");
        skip();
    }
    const char *failed = NULL;
    for (int dead = 0; dead < 2 && failed == NULL; dead++) {
        make_dead(false);
        if (!dead)
            OK(caret_close(open_db()));
        snprintf(command, sizeof command, "mount -o remount,ro %s", dir);
        if (system(command) != 0)
            failed = "remount";
        caret_options o = reading();
        caret_db *db = NULL;
        if (failed == NULL && caret_open(path, &o, &db) != CARET_OK)
            failed = caret_message();
        if (failed == NULL && count(db, 0, 30) != 500)
            failed = "count";
        caret_close(db);
        if (failed == NULL && open_code(path) != CARET_E_OPEN)
            failed = "writing";
        snprintf(command, sizeof command, "mount -o remount,rw %s; rm -f %s* %s/*", dir, path, shm_dir);
        if (system(command) != 0)
            failed = "rw";
    }
    snprintf(inner, sizeof inner, "umount %s", dir);
    assert_int_equal(system(inner), 0);
    if (failed != NULL)
        fail_msg("%s", failed);
}

/* ------------------------------------------------------- somebody is attached */

/* As somebody else, over the segment of the living: each commit is seen at once. */
static void live_database_of_somebody_else_is_seen_commit_by_commit(void **state)
{
    (void)state;
    if (!may_become_nobody())
        skip();
    pid_t pid = fork(); /* before it is opened: a child would inherit the handle */
    if (pid == 0) {
        become_nobody();
        until(1);
        caret_db *mine = open_reading();
        CHILD(view_of(mine) == CARET_VIEW_LIVE);
        everything_but_reading_is_refused(mine);
        atomic_store(signal_word, 2);
        for (uint32_t i = 0; i < 200; i++) {
            until(2 * i + 3);
            CHILD(count(mine, 0, 30) == 11 + (int64_t)i);
            atomic_store(signal_word, 2 * i + 4);
        }
        check(mine);
        caret_stats st = {.size = sizeof st};
        CHILD(caret_stat(mine, &st) == CARET_OK && st.processes == 1);
        CHILD(caret_close(mine) == CARET_OK);
        _exit(0);
    }
    caret_db *db = open_db();
    put(db, 0, 10, 30);
    let_read(true);
    atomic_store(signal_word, 1);
    until(2);
    for (uint32_t i = 0; i < 200; i++) {
        put(db, 10 + i, 11 + i, 30);
        if (i % 20 == 0)
            OK(caret_checkpoint(db));
        atomic_store(signal_word, 2 * i + 3);
        until(2 * i + 4);
    }
    join(pid);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1); /* the reader keeps nothing from being the last to close */
}

/* Without their shared memory: the last checkpoint, and the next one as soon as it is there. */
static void out_of_reach_the_last_checkpoint_is_seen(void **state)
{
    (void)state;
    if (!may_become_nobody())
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        caret_session *s;
        caret_node_buf n;
        caret_slice v;
        become_nobody();
        until(1);
        caret_db *mine = open_reading();
        CHILD(view_of(mine) == CARET_VIEW_FILE && count(mine, 0, 30) == 10);
        everything_but_reading_is_refused(mine);
        OK(caret_session_open(mine, &s));
        OK(caret_begin(s, 0));
        node_of(&n, 3);
        CHILD(caret_get(s, &n.node, &v) == CARET_OK);
        atomic_store(signal_word, 2);
        until(3);
        CHILD(caret_get(s, &n.node, &v) == CARET_RESTART); /* it was replaced: never mixed */
        CHILD(caret_get(s, &n.node, &v) == CARET_RESTART);
        CHILD(caret_commit(s) == CARET_RESTART && caret_restart(s) == CARET_OK);
        node_of(&n, 19);
        CHILD(caret_get(s, &n.node, &v) == CARET_OK && caret_commit(s) == CARET_OK);
        CHILD(count(mine, 0, 30) == 20);
        check(mine);
        caret_session_close(s);
        CHILD(caret_close(mine) == CARET_OK);
        _exit(0);
    }
    caret_db *db = open_db();
    put(db, 0, 10, 30);
    OK(caret_checkpoint(db));
    put(db, 10, 20, 30);
    let_read(false);
    atomic_store(signal_word, 1);
    until(2);
    OK(caret_checkpoint(db));
    put(db, 20, 30, 30);
    atomic_store(signal_word, 3);
    join(pid);
    OK(caret_close(db));
}

/* In a transaction: read, have a checkpoint made, read on. */
static int read_across_a_checkpoint(caret_session *s, void *arg)
{
    caret_node_buf n;
    caret_slice v;

    node_of(&n, 3);
    int rc = caret_get(s, &n.node, &v);
    if (rc != CARET_OK)
        return rc;
    ++*(unsigned *)arg;
    uint32_t asked = atomic_fetch_add(signal_word, 1) + 1;
    until(asked + 1);
    return caret_get(s, &n.node, &v);
}

/* No checkpoint leaves a transaction so much time, out of reach of the shared memory: an error says so, and
 * what helps. */
static void a_reader_that_never_comes_to_its_end_is_told(void **state)
{
    (void)state;
#ifndef CARET_SMALL
    print_message("skipped: takes ten seconds in this build (the small one has it)\n");
    skip();
#endif
    if (!may_become_nobody())
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        caret_session *s;
        unsigned begun = 0;
        become_nobody();
        until(2);
        caret_db *mine = open_reading();
        CHILD(view_of(mine) == CARET_VIEW_FILE);
        OK(caret_session_open(mine, &s));
        CHILD(caret_transaction(s, read_across_a_checkpoint, &begun, 0) == CARET_E_BUSY);
        CHILD(begun > 10 && caret_txn_level(s) == 0);
        CHILD(strstr(caret_message(), "shorter transactions, or from a backup") != NULL);
        caret_session_close(s);
        CHILD(count(mine, 0, 30) == 10); /* and it can go on */
        CHILD(caret_close(mine) == CARET_OK);
        _exit(0);
    }
    caret_db *db = open_db();
    put(db, 0, 10, 30);
    OK(caret_checkpoint(db));
    let_read(false);
    atomic_store(signal_word, 2);
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (atomic_load(signal_word) % 2 == 1) {
            usleep(10000);
            put(db, 100, 101, 30);
            OK(caret_checkpoint(db));
            atomic_fetch_add(signal_word, 1);
        }
        usleep(100);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clean_file_is_read_and_nothing_is_touched),
        TEST(clean_file_of_somebody_else_is_read),
        TEST(what_is_not_there_is_not_made),
        TEST(dead_database_is_read_whole_and_left_as_it_is),
        TEST(dead_database_is_no_further_on_the_disk_than_it_was),
        TEST(dead_database_without_its_segment_is_what_the_log_has),
        TEST(dead_database_that_cant_be_read_whole_is_refused),
        TEST(replay_in_private_memory_is_the_whole_history),
        TEST(read_only_file_system),
        TEST(live_database_of_somebody_else_is_seen_commit_by_commit),
        TEST(out_of_reach_the_last_checkpoint_is_seen),
        TEST(a_reader_that_never_comes_to_its_end_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
