/*
 * Opened read-only: nothing is written and no file is made, whoever else is there or not, with whatever rights;
 * and no answer mixes two states, though nobody waits for the reader.
 */
#include "support/database.h"

#include "support/apart.h"

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "open/open.h"

/* ------------------------------------------------------------------ helpers */

static caret_options reading(void)
{
    caret_options o = {.size = sizeof o, .readonly = 1, .shm_dir = NULL};
    return o;
}

static caret_db *open_reading(void)
{
    caret_options o = reading();
    caret_db *db = NULL;
    OK(caret_open(path, &o, &db));
    return db;
}

static int reading_code(void)
{
    caret_options o = reading();
    caret_db *db = NULL;
    int rc = caret_open(path, &o, &db);
    caret_close(db);
    return rc;
}

static uint64_t view_of(caret_db *db)
{
    caret_stats st = {.size = sizeof st};
    OK(caret_stat(db, &st));
    return st.view;
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

/* Everybody may read; as a file that its owner alone may write usually is. */
static void let_read(bool segment_too)
{
    chmod(dir, 0755);
    chmod(shm_dir, segment_too ? 0755 : 0700);
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
        pid_t reader = reader_stopped_at("replay_reserved", records[i], 450);
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
            execl("/proc/self/exe", "test_open_readonly", "--count", other_path, "300", (char *)NULL);
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

/* ------------------------------------------------------------- never two states */

#define ACCOUNTS 300
#define TOTAL    (ACCOUNTS * 100)

static void account(caret_node_buf *n, int64_t i)
{
    OK(caret_node_var(&n->node, sizeof *n, "^account", 8));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, i));
}

static unsigned random_state = 1;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 8) % n;
}

/* Move an amount; the values are long enough that the accounts fill many pages, some are out of line. */
static int move_money(caret_session *s, void *arg)
{
    caret_node_buf n[2];
    char value[2][3000];
    long have[2], amount = (long)random_below(50);

    (void)arg;
    for (int i = 0; i < 2; i++) {
        caret_slice v;
        account(&n[i], random_below(ACCOUNTS / 2) * 2 + (unsigned)i);
        int rc = caret_get(s, &n[i].node, &v);
        if (rc != CARET_OK)
            return rc;
        have[i] = strtol(v.data, NULL, 10);
    }
    for (int i = 0; i < 2; i++) {
        int len = snprintf(value[i], sizeof value[i], "%ld ", have[i] + (i == 0 ? -amount : amount));
        size_t size = random_below(12) == 0 ? 2500 : 60 + random_below(60);
        memset(value[i] + len, '.', size);
        int rc = caret_set(s, &n[i].node, value[i], (size_t)len + size);
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static _Noreturn void be_the_bank(unsigned seed)
{
    caret_options o = options();
    random_state = seed;
    for (;;) {
        caret_db *db;
        caret_session *s;
        if (caret_open(path, &o, &db) != CARET_OK)
            _exit(1);
        OK(caret_session_open(db, &s));
        unsigned moves = random_below(400);
        for (unsigned i = 0; i < moves; i++) {
            OK(caret_transaction(s, move_money, NULL, 0));
            if (random_below(40) == 0)
                OK(caret_checkpoint(db));
        }
        caret_session_close(s);
        if (random_below(3) == 0)
            kill(getpid(), SIGKILL);
        OK(caret_close(db));
    }
}

struct audit {
    long sum;
    int accounts;
};

static int add_up(caret_session *s, void *arg)
{
    struct audit *a = arg;
    caret_node_buf n;
    caret_slice v;
    int rc;

    *a = (struct audit){0, 0};
    OK(caret_node_var(&n.node, sizeof n, "^account", 8));
    for (rc = caret_first(s, &n.node); rc == CARET_OK; rc = caret_next(s, &n.node)) {
        int got = caret_get(s, &n.node, &v);
        if (got != CARET_OK)
            return got == CARET_NONE ? CARET_E_CORRUPT : got;
        a->sum += strtol(v.data, NULL, 10);
        a->accounts++;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Audits for a while; exit status 0: all of them whole, and some of them done. */
static _Noreturn void be_an_auditor(uint64_t view)
{
    caret_session *s;
    unsigned done = 0, seen = 0;
    caret_options o = reading();
    caret_db *db;

    CHILD(caret_open(path, &o, &db) == CARET_OK);
    CHILD(caret_session_open(db, &s) == CARET_OK);
    while (atomic_load(signal_word) == 0) {
        struct audit a;
        int rc = caret_transaction(s, add_up, &a, 0);
        if (rc == CARET_E_BUSY) /* no moment without somebody opening or closing it */
            continue;
        CHILD(rc == CARET_OK);
        CHILD(a.accounts == ACCOUNTS);
        CHILD(a.sum == TOTAL);
        done++;
        seen += view_of(db) == view;
    }
    caret_session_close(s);
    CHILD(caret_close(db) == CARET_OK);
    atomic_fetch_add(signal_word + 1 + view, done);
    CHILD(done > 0);
    (void)seen;
    _exit(0);
}

static void open_accounts(void)
{
    caret_db *db = open_db();
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    for (int i = 0; i < ACCOUNTS; i++) {
        account(&n, i);
        OK(caret_set(s, &n.node, "100 ", 4));
    }
    caret_session_close(s);
    OK(caret_close(db));
}

/*
 * A bank that moves money, opens, closes, is killed and recovered; auditors that may read the segment, and others
 * who may only read the file, while its pages are reused under them.  CARET_READONLY_SECONDS: how long.
 */
static void no_transaction_of_a_reader_sees_two_states(void **state)
{
    const char *seconds = getenv("CARET_READONLY_SECONDS"), *seed = getenv("CARET_SEED");
    time_t end = time(NULL) + (seconds != NULL ? atoi(seconds) : 4);
    unsigned banks = seed != NULL ? (unsigned)atoi(seed) : 1;

    (void)state;
    if (!may_become_nobody())
        skip();
    open_accounts();
    let_read(true);
    char hidden[120];
    snprintf(hidden, sizeof hidden, "%s/x", shm_dir);
    pid_t auditor[2], bank = 0;
    for (int i = 0; i < 2; i++) {
        auditor[i] = fork();
        if (auditor[i] == 0) {
            /* one of them: another container's shared memory, where the segment's path leads nowhere */
            if (i == 1 && (!own_mounts() || mount("none", shm_dir, "tmpfs", 0, NULL) != 0))
                _exit(77);
            become_nobody();
            be_an_auditor(i == 0 ? CARET_VIEW_LIVE : CARET_VIEW_FILE);
        }
    }
    bool stopped = false;
    while (time(NULL) < end && !stopped) {
        bank = fork();
        if (bank == 0)
            be_the_bank(banks);
        banks++;
        int status;
        struct timespec t = {0, 1000000};
        while (waitpid(bank, &status, WNOHANG) == 0 && time(NULL) < end)
            nanosleep(&t, NULL);
        if (time(NULL) >= end)
            kill_and_wait(bank);
    }
    atomic_store(signal_word, 1);
    for (int i = 0; i < 2; i++) {
        int status;
        waitpid(auditor[i], &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            print_message("skipped: the auditor in another container: no mount namespaces here\n");
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("auditor %d: status %x", i, (unsigned)status);
    }
    print_message("%u audits of the living, %u of the file, %u lives of the bank\n",
                  atomic_load(signal_word + 1 + CARET_VIEW_LIVE),
                  atomic_load(signal_word + 1 + CARET_VIEW_FILE), banks);
    caret_db *db = open_db();
    check(db);
    OK(caret_close(db));
}

static caret_db *shared_handle;
static _Atomic uint32_t whole_audits;

/* A thread with a session of its own over the one handle; NULL: all it saw was whole. */
static void *audit_as_thread(void *arg)
{
    const char *said = "";
    caret_session *s;
    caret_stats st = {.size = sizeof st};
    int rc = caret_session_open(shared_handle, &s);

    if (rc != CARET_OK)
        return strdup(caret_message());
    while (atomic_load(signal_word) == 0 && *said == 0) {
        struct audit a;
        rc = caret_transaction(s, add_up, &a, 0);
        if (rc == CARET_OK && (a.accounts != ACCOUNTS || a.sum != TOTAL))
            said = "a sum is wrong";
        else if (rc != CARET_OK && rc != CARET_E_BUSY)
            said = caret_message();
        if (caret_stat(shared_handle, &st) != CARET_OK && strstr(caret_message(), "BUSY") == NULL)
            said = caret_message();
        atomic_fetch_add(&whole_audits, rc == CARET_OK);
    }
    void *result = *said != 0 ? strdup(said) : NULL;
    caret_session_close(s);
    (void)arg;
    return result;
}

/* One handle, whose threads all find at their own time that their view is over. */
static void threads_of_a_reader_move_on_each_for_itself(void **state)
{
    pthread_t thread[3];
    caret_options o = reading();

    (void)state;
    open_accounts();
    pid_t banks = fork();
    if (banks == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no child */
        for (unsigned seed = 1; atomic_load(signal_word) == 0; seed++) {
            pid_t bank = fork();
            int status;
            if (bank == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                be_the_bank(seed);
            }
            while (waitpid(bank, &status, WNOHANG) == 0)
                if (atomic_load(signal_word) != 0)
                    kill(bank, SIGKILL);
        }
        _exit(0);
    }
    OK(caret_open(path, &o, &shared_handle));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, audit_as_thread, NULL), 0);
    sleep(2);
    atomic_store(signal_word, 1);
    for (int i = 0; i < 3; i++) {
        void *said;
        pthread_join(thread[i], &said);
        if (said != NULL)
            fail_msg("%s", (const char *)said);
    }
    join(banks);
    assert_true(atomic_load(&whole_audits) > 10);
    OK(caret_close(shared_handle));
    caret_db *db = open_db();
    check(db);
    OK(caret_close(db));
}

/* The same, and the readers never ask whether their view is over: that must be found. */
static void a_reader_that_never_asks_would_see_two(void **state)
{
    (void)state;
#ifdef CARET_FAULTS
    if (getenv("CARET_SEEDED") == NULL) { /* it takes until it is found */
        print_message("skipped: CARET_SEEDED=1 runs it\n");
        skip();
    }
    caret__fault_seed("observe_blindly");
    no_transaction_of_a_reader_sees_two_states(state);
#else
    skip();
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
        TEST(clean_file_is_read_and_nothing_is_touched),
        TEST(clean_file_of_somebody_else_is_read),
        TEST(what_is_not_there_is_not_made),
        TEST(dead_database_is_read_whole_and_left_as_it_is),
        TEST(dead_database_without_its_segment_is_what_the_log_has),
        TEST(dead_database_that_cant_be_read_whole_is_refused),
        TEST(replay_in_private_memory_is_the_whole_history),
        TEST(read_only_file_system),
        TEST(live_database_of_somebody_else_is_seen_commit_by_commit),
        TEST(out_of_reach_the_last_checkpoint_is_seen),
        TEST(a_reader_that_never_comes_to_its_end_is_told),
        TEST(reader_outlives_those_it_observes),
        TEST(those_who_came_while_it_was_opened_are_seen),
        TEST(readers_of_the_dead_are_told_before_pages_are_written),
        TEST(a_replay_is_not_harmed_by_those_who_come),
        TEST(both_kinds_of_handles_in_one_process),
        TEST(forked_child_of_a_reader_reads),
        TEST(file_that_is_replaced_is_told_from_one_that_changed),
        TEST(dead_writer_is_read_around),
        TEST(no_transaction_of_a_reader_sees_two_states),
        TEST(threads_of_a_reader_move_on_each_for_itself),
        TEST(a_reader_that_never_asks_would_see_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
