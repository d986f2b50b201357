/*
 * ":memory:": a database without a file is a whole one, of one process and its forks; deaths, forks and a limit leave
 * it whole; and nothing of it is ever in a folder.
 */
#include "support/child.h"
#include "support/database.h"
#include "support/nodes.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/fault.h"

#ifdef CARET_SMALL
enum { TOGETHER = 3000 };
#else
enum { TOGETHER = 200000 };
#endif
enum { LIMIT = 32 << 20, THREADS = 4, EACH = 500 };

static caret_db *open_memory(void)
{
    caret_options o = {.size = sizeof o, .memory_limit = LIMIT};
    caret_db *db = NULL;

    OK(caret_open(":memory:", &o, &db));
    return db;
}

static caret_session *session_of(caret_db *db)
{
    caret_session *s = NULL;

    must(caret_session_open(db, &s), "a session");
    return s;
}

/* Set ^t(i) to i. */
static void set(caret_session *s, int64_t i)
{
    caret_node_buf n;
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)i);
    must(caret_set(s, node_at(&n, "^t", i), digits, strlen(digits)), "a set");
}

static bool has(caret_session *s, int64_t i)
{
    caret_node_buf n;
    caret_slice v;
    int rc = caret_get(s, node_at(&n, "^t", i), &v);

    if (rc != CARET_NONE)
        must(rc, "a get");
    return rc == CARET_OK;
}

/* ------------------------------------------------------------------------ nothing in a folder */

/* Open descriptors that lead to a folder where a database could be. */
static unsigned files_open(void)
{
    DIR *d = opendir("/proc/self/fd");
    char name[300], target[300];
    unsigned n = 0;

    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        snprintf(name, sizeof name, "/proc/self/fd/%s", entry->d_name);
        ssize_t len = readlink(name, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        n += strncmp(target, dir, strlen(dir)) == 0 || strncmp(target, "/dev/shm/", 9) == 0;
    }
    closedir(d);
    return n;
}

/* Of this process's mappings those of nameless memory. */
static unsigned memory_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[500];
    unsigned n = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        n += strstr(line, "/memfd:caret") != NULL;
    fclose(maps);
    return n;
}

static void nothing_of_it_is_in_a_folder(void **state)
{
    (void)state;
    char *before = getcwd(NULL, 0);

    assert_int_equal(chdir(dir), 0);
    caret_db *db = open_memory();
    put(db, 0, 500, 300);
    OK(caret_checkpoint(db));
    OK(caret_sync(db));
    assert_int_equal(files_in(dir), 0);
    assert_int_equal(files_open(), 0);
    assert_true(memory_mapped() > 0);
    assert_string_equal(caret_path(db), ":memory:");
    assert_int_equal(count(db, 0, 300), 500);
    OK(caret_close(db));
    assert_int_equal(memory_mapped(), 0);
    assert_int_equal(files_in(dir), 0);
    assert_int_equal(chdir(before), 0);
    free(before);
}

/* What has such a name, or begins with it, is left alone. */
static void files_of_that_name_are_left_alone(void **state)
{
    static const char *const names[] = {":memory:", ":memory:-log", ":memory:-lock", ":memory:-new"};
    char *before = getcwd(NULL, 0);

    (void)state;
    assert_int_equal(chdir(dir), 0);
    for (unsigned i = 0; i < 4; i++)
        fclose(fopen(names[i], "w"));
    caret_db *db = open_memory();
    put(db, 0, 10, 10);
    OK(caret_checkpoint(db));
    OK(caret_close(db));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(unlink(names[i]), 0);
    caret_options o = options();
    OK(caret_open("./:memory:", &o, &db)); /* a file after all */
    put(db, 0, 10, 10);
    OK(caret_close(db));
    assert_int_equal(files_in("."), 1);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void each_opening_is_another_database(void **state)
{
    (void)state;
    caret_db *a = open_memory(), *b = open_memory();

    put(a, 0, 20, 10);
    assert_int_equal(count(b, 0, 10), 0);
    put(b, 0, 5, 20);
    OK(caret_close(a));
    assert_int_equal(count(b, 0, 20), 5);
    setenv("CARET_DB", ":memory:", 1);
    OK(caret_open(NULL, NULL, &a));
    unsetenv("CARET_DB");
    assert_string_equal(caret_path(a), ":memory:");
    assert_int_equal(count(a, 0, 20), 0);
    OK(caret_close(a));
    check(b);
    OK(caret_close(b));
}

static void refused(caret_options o, const char *why)
{
    caret_db *db;

    assert_int_equal(caret_open(":memory:", &o, &db), CARET_E_INVALID);
    assert_non_null(strstr(caret_message(), why));
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    refused((caret_options){.size = sizeof(caret_options), .readonly = 1}, "option readonly");
    refused((caret_options){.size = sizeof(caret_options), .no_create = 1}, "option no_create");
    refused((caret_options){.size = sizeof(caret_options), .archive = "/tmp"}, "option archive");
    refused((caret_options){.size = sizeof(caret_options), .shm_dir = "/dev/shm"}, "option shm_dir");
    refused((caret_options){.size = sizeof(caret_options), .memory_limit = 1}, "memory_limit is 1;");
    refused((caret_options){.size = sizeof(caret_options), .memory_limit = LIMIT, .arena_limit = LIMIT},
            "twice arena_limit");
    refused((caret_options){.size = sizeof(caret_options), .memory_limit = LIMIT, .log_size = LIMIT / 2},
            "log_size");
}

/* -------------------------------------------------------------------------------- forks, threads */

static void forks_share_it(void **state)
{
    (void)state;
    caret_db *db = open_memory();
    caret_session *s = session_of(db);
    set(s, 1);
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(has(s, 1));
        set(s, 2);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            CHILD(has(s, 2));
            set(s, 3);
            _exit(0);
        }
        join(grandchild);
        caret_session_close(s);
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
    assert_true(has(s, 2) && has(s, 3));
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

/* Not gone with the one that opened it: a fork that never used it finds all of it, alone. */
static void a_fork_may_be_the_last(void **state)
{
    (void)state;
    for (unsigned dies = 0; dies < 2; dies++) {
        pid_t maker = fork();
        if (maker == 0) {
            caret_db *db = open_memory();
            put(db, 0, 300, 50);
            pid_t pid = fork();
            if (pid != 0 && dies)
                kill(getpid(), SIGKILL);
            if (pid != 0) {
                caret_close(db);
                _exit(0);
            }
            until(1 + 2 * dies); /* the parent is gone */
            put(db, 300, 400, 50);
            check(db);
            CHILD(count(db, 0, 50) == 400 && caret_close(db) == CARET_OK);
            atomic_store(signal_word, 2 + 2 * dies);
            _exit(0);
        }
        waitpid(maker, NULL, 0);
        atomic_store(signal_word, 1 + 2 * dies);
        for (unsigned i = 0; atomic_load(signal_word) < 2 + 2 * dies && i < 50000; i++)
            usleep(200);
        assert_int_equal(atomic_load(signal_word), 2 + 2 * dies);
    }
}

static void locks_of_a_killed_fork_are_free(void **state)
{
    (void)state;
    caret_db *db = open_memory();
    caret_session *s = session_of(db);
    caret_node_buf n;
    uint32_t before = atomic_load(signal_word);
    pid_t pid = fork();

    if (pid == 0) {
        must(caret_lock(s, node_at(&n, "^t", 1), 0), "a lock");
        atomic_store(signal_word, before + 1);
        for (;;)
            pause();
    }
    until(before + 1);
    assert_int_equal(caret_lock(s, node_at(&n, "^t", 1), 0), CARET_LOCK_TIMEOUT);
    kill_and_wait(pid);
    OK(caret_lock(s, node_at(&n, "^t", 1), UINT64_C(5000000000)));
    OK(caret_unlock(s, &n.node));
    caret_session_close(s);
    OK(caret_close(db));
}

/* A fork that dies at the nth point of its way, in the midst of commits and a checkpoint: what it had acknowledged is
 * there.  false: it came to the end. */
static bool dies_at(caret_db *db, caret_session *s, unsigned nth)
{
    int64_t from = (int64_t)nth * 1000;
    atomic_store(signal_word, 0);
    pid_t pid = fork();

    if (pid == 0) {
        caret__fault_arm("*", nth, CARET__FAULT_KILL);
        for (int64_t i = 0; i < 40; i++) {
            set(s, from + i);
            atomic_store(signal_word, (uint32_t)i + 1);
            if (i == 20)
                must(caret_checkpoint(db), "a checkpoint");
        }
        caret_session_close(s);
        must(caret_close(db), "closing");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    check(db);
    for (uint32_t i = 0; i < atomic_load(signal_word); i++)
        assert_true(has(s, from + i));
    set(s, from + 999);
    return WIFSIGNALED(status);
}

static void forks_may_die_anywhere(void **state)
{
    (void)state;
    need_points();
    caret_db *db = open_memory();
    caret_session *s = session_of(db);
    unsigned nth = 1;

    for (bool first = true; dies_at(db, s, nth) || first; nth += 1 + nth / 8)
        first = false;
    assert_true(nth > 100);
    caret_session_close(s);
    OK(caret_close(db));
}

static void *count_up(void *arg)
{
    caret_session *s = session_of(arg);
    caret_node_buf n;
    caret_slice sum;

    for (int i = 0; i < EACH; i++)
        must(caret_incr(s, node_at(&n, "^t", 0), "1", 1, &sum), "incr");
    caret_session_close(s);
    return NULL;
}

static void threads_share_it(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    caret_db *db = open_memory();
    caret_node_buf n;
    caret_slice v;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_up, db), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    caret_session *s = session_of(db);
    OK(caret_get(s, node_at(&n, "^t", 0), &v));
    char sum[24] = ""; /* a value has no zero byte at its end */
    memcpy(sum, v.data, v.len < sizeof sum ? v.len : 0);
    assert_int_equal(atoi(sum), THREADS * EACH);
    caret_session_close(s);
    OK(caret_close(db));
}

static void a_fork_wakes_who_waits(void **state)
{
    (void)state;
    caret_db *db = open_memory();
    caret_session *s = session_of(db);
    caret_change change = {.size = sizeof change};
    caret_node_buf n;
    caret_log *log;
    uint64_t place;

    OK(caret_durable(db, NULL, &place));
    OK(caret_log_open(db, place, &log));
    pid_t pid = fork();
    if (pid == 0) {
        set(s, 5);
        _exit(0);
    }
    OK(caret_wait(s, node_at(&n, "^t", 5), place, UINT64_C(20000000000)));
    OK(caret_log_next(log, &change));
    assert_int_equal(change.value.len, 1);
    assert_memory_equal(change.value.data, "5", 1);
    join(pid);
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* ---------------------------------------------------------------------------------- what it holds */

/* Sets values of `len` bytes from `*i` on until it is full. */
static int fill(caret_session *s, int64_t *i, size_t len)
{
    caret_node_buf n;
    int rc;

    text_of(7, len, text);
    while ((rc = caret_set(s, node_at(&n, "^t", *i), text, len)) == CARET_OK)
        ++*i;
    return rc;
}

static void a_full_one_says_so_and_recovers(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 400, 100000};
    caret_db *db = open_memory();
    caret_session *s = session_of(db);
    caret_node_buf n;

    for (unsigned round = 0; round < 3; round++) {
        int64_t i = 0;
        assert_int_equal(fill(s, &i, sizes[round]), CARET_E_DISKFULL);
        assert_non_null(strstr(caret_message(), "memory_limit"));
        assert_true((uint64_t)i * sizes[round] > LIMIT / 8 && (uint64_t)i * sizes[round] < LIMIT);
        check(db);
        assert_true(has(s, 0) && has(s, i - 1) && !has(s, i));
        OK(caret_node_var(&n.node, sizeof n, "^t", 2));
        OK(caret_kill(s, &n.node));
        OK(caret_checkpoint(db));
        set(s, 1);
        check(db);
    }
    caret_session_close(s);
    OK(caret_close(db));
}

/* Longer than three quarters of the log: that becomes longer, as on a disk. */
static void a_large_transaction_finds_room(void **state)
{
    (void)state;
    caret_options o = {.size = sizeof o, .memory_limit = 256 << 20};
    const size_t len = 100, nodes = TOGETHER;
    caret_node_buf n;
    caret_db *db;

    OK(caret_open(":memory:", &o, &db));
    caret_session *s = session_of(db);
    OK(caret_begin(s, 0));
    text_of(3, len, text);
    for (size_t i = 0; i < nodes; i++)
        OK(caret_set(s, node_at(&n, "^t", (int64_t)i), text, len));
    OK(caret_commit(s));
    assert_true(has(s, (int64_t)nodes - 1));
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

/* Set ^t(1), ... to texts of so many bytes, together `all` bytes of them, in one transaction. */
static int set_together(caret_session *s, size_t len, size_t all)
{
    caret_node_buf n;

    OK(caret_begin(s, 0));
    text_of(5, len, text);
    for (size_t i = 0; i < all / len; i++)
        OK(caret_set(s, node_at(&n, "^t", (int64_t)i), text, len));
    return caret_commit(s);
}

/* They may take a gigabyte of pages, which is not there: it is full, and not the transaction too large. */
static void long_values_of_a_transaction_that_find_no_room_are_told_so(void **state)
{
    (void)state;
#ifdef CARET_SMALL
    print_message("skipped: in this build a transaction has less room than the database\n");
    skip();
#endif
    caret_db *db = open_memory();
    caret_session *s = session_of(db);
    caret_node_buf n;
    unsigned full = 0;

    for (size_t part = 20; part >= 2; part--) {
        OK(caret_node_var(&n.node, sizeof n, "^t", 2));
        OK(caret_kill(s, &n.node));
        int rc = set_together(s, 3000, LIMIT / part);
        if (rc == CARET_OK)
            continue;
        assert_int_equal(rc, CARET_E_DISKFULL);
        assert_non_null(strstr(caret_message(), "memory_limit"));
        full++;
        check(db);
    }
    assert_int_not_equal(full, 0);
    caret_session_close(s);
    OK(caret_close(db));
}

/* It says which options count here: there is no folder in shared memory. */
static void a_transaction_may_change_half_of_the_arena(void **state)
{
    (void)state;
    enum { NODES = 40000, STEP = 8 }; /* so that all leaves change, and the record is short */
    caret_options o = {.size = sizeof o, .memory_limit = LIMIT, .arena_limit = 1};
    caret_node_buf n;
    caret_db *db;

    OK(caret_open(":memory:", &o, &db));
    caret_session *s = session_of(db);
    text_of(3, 100, text);
    for (int64_t i = 0; i < NODES; i++)
        OK(caret_set(s, node_at(&n, "^t", i), text, 100));
    OK(caret_begin(s, 0));
    for (int64_t i = 0; i < NODES; i += STEP)
        OK(caret_set(s, node_at(&n, "^t", i), "x", 1));
    assert_int_equal(caret_commit(s), CARET_E_TXN_TOO_BIG);
    assert_non_null(strstr(caret_message(), "(arena_limit, or else a quarter of memory_limit)"));
    caret_session_close(s);
    check(db);
    OK(caret_close(db));
}

static void a_backup_makes_a_file_of_it(void **state)
{
    (void)state;
    caret_db *db = open_memory(), *copy;
    caret_options o = options();

    put(db, 0, 1000, 700);
    put(db, 1000, 1003, 100000);
    OK(caret_backup(db, path, NULL));
    uint64_t sum = digest(db);
    OK(caret_close(db));
    OK(caret_open(path, &o, &copy));
    check(copy);
    assert_true(digest(copy) == sum);
    OK(caret_close(copy));
}

static void a_snapshot_stays_as_it_was(void **state)
{
    (void)state;
    caret_db *db = open_memory();
    caret_session *s = session_of(db), *other_s = session_of(db);

    set(s, 1);
    OK(caret_begin(s, CARET_TXN_SNAPSHOT));
    set(other_s, 2);
    OK(caret_checkpoint(db));
    assert_true(has(s, 1) && !has(s, 2));
    OK(caret_commit(s));
    assert_true(has(s, 2));
    caret_session_close(other_s);
    caret_session_close(s);
    OK(caret_close(db));
}

static void what_is_committed_is_durable(void **state)
{
    (void)state;
    caret_options o = {.size = sizeof o, .memory_limit = LIMIT, .sync = CARET_SYNC_COMMIT};
    uint64_t durable, committed;
    caret_db *db;

    OK(caret_open(":memory:", &o, &db));
    put(db, 0, 10, 10);
    OK(caret_durable(db, &durable, &committed));
    assert_true(durable == committed);
    OK(caret_sync(db));
    OK(caret_close(db));
}

/* As a host has it that closed all descriptors: nothing of the host's is touched, and all is refused. */
static void closed_descriptors_are_noticed(void **state)
{
    (void)state;
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *db = open_memory();
        put(db, 0, 10, 10);
        for (int fd = 3; fd < 100; fd++)
            close(fd);
        CHILD(caret_checkpoint(db) == CARET_E_EVICTED);
        CHILD(caret_close(db) == CARET_E_EVICTED);
        _exit(0);
    }
    join(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_of_it_is_in_a_folder),
        TEST(files_of_that_name_are_left_alone),
        TEST(each_opening_is_another_database),
        TEST(what_makes_no_sense_is_refused),
        TEST(forks_share_it),
        TEST(a_fork_may_be_the_last),
        TEST(locks_of_a_killed_fork_are_free),
        TEST(forks_may_die_anywhere),
        TEST(threads_share_it),
        TEST(a_fork_wakes_who_waits),
        TEST(a_full_one_says_so_and_recovers),
        TEST(a_large_transaction_finds_room),
        TEST(long_values_of_a_transaction_that_find_no_room_are_told_so),
        TEST(a_transaction_may_change_half_of_the_arena),
        TEST(a_backup_makes_a_file_of_it),
        TEST(a_snapshot_stays_as_it_was),
        TEST(what_is_committed_is_durable),
        TEST(closed_descriptors_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
