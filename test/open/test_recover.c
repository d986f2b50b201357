/* Recovery: whoever died, wherever it was, what was committed is there. */
#include "support/database.h"

#include "base/fault.h"
#include "disk/meta.h"

/* ------------------------------------------------------------- after deaths */

static void killed_process_loses_nothing(void **state)
{
    (void)state;
    kill_and_wait(child_with(0, 1000, 40));
    assert_int_equal(files_in(shm_dir), 1);
    caret_db *db = open_db();
    assert_int_equal(files_in(shm_dir), 1); /* the new one */
    assert_int_equal(count(db, 0, 40), 1000);
    check(db);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
}

static void killed_again_and_again_loses_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        pid_t a = child_with(i * 200, i * 200 + 100, 33), b = child_with(i * 200 + 100, i * 200 + 200, 33);
        kill_and_wait(i % 2 == 0 ? a : b);
        kill_and_wait(i % 2 == 0 ? b : a);
    }
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 33), 1200);
    check(db);
    OK(caret_close(db));
}

static void long_values_survive_a_kill(void **state)
{
    (void)state;
    kill_and_wait(child_with(0, 30, 50000));
    pid_t child = child_with(30, 40, 50000);
    kill_and_wait(child);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 50000), 40);
    put(db, 40, 60, 50000);
    check(db);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, 0, 50000), 60);
    OK(caret_close(db));
}

static void synced_commits_survive_the_loss_of_the_segment(void **state)
{
    char command[512];
    caret_db *db;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        db = open_db();
        put(db, 0, 200, 10);
        OK(caret_checkpoint(db));
        put(db, 200, 500, 10);
        OK(caret_sync(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    snprintf(command, sizeof command, "rm %s/*", shm_dir); /* as a reboot does */
    assert_int_equal(system(command), 0);
    db = open_db();
    assert_int_equal(count(db, 0, 10), 500);
    check(db);
    OK(caret_close(db));
}

static void old_log_records_do_not_come_back(void **state)
{
    (void)state;
    /* after each kill the records of the generation before lie in the log after its end */
    kill_and_wait(child_with(0, 400, 30));
    caret_db *db = open_db();
    kill_all(db);
    OK(caret_sync(db));
    OK(caret_close(db));
    kill_and_wait(child_with(1000, 1001, 30));
    db = open_db();
    assert_int_equal(count(db, 0, 30), 0);
    assert_int_equal(count(db, 1000, 30), 1);
    OK(caret_close(db));
}

/* As a reboot does. */
static void lose_segment(void)
{
    char command[512];

    snprintf(command, sizeof command, "rm %s/*", shm_dir);
    assert_int_equal(system(command), 0);
}

static void runs_keep_their_pages_in_a_replay(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 2000, 59);
        OK(caret_checkpoint(db));
        put(db, 0, 2000, 60);
        OK(caret_checkpoint(db)); /* low pages are free now, but the search for pages goes on above them */
        put(db, 0, 2000, 61);
        put(db, 5000, 5010, 30000);
        put(db, 0, 2000, 62);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 62), 2000);
    assert_int_equal(count(db, 5000, 30000), 10);
    check(db);
    OK(caret_close(db));
}

static void repeated_record_does_not_revive_what_followed_it(void **state)
{
    struct caret__meta m[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            caret_db *db = open_db();
            put(db, 0, i == 0 ? 3 : 1, 30);
            OK(caret_sync(db));
            kill(getpid(), SIGKILL);
        }
        waitpid(pid, NULL, 0);
        lose_segment();
        if (i == 1)
            break;
        int fd = open(path, O_RDWR),
            log = open(log_path, O_RDWR); /* the first record is lost with the power */
        for (int k = 0; k < 2; k++)
            assert_int_equal(pread(fd, &m[k], sizeof m[k], k * CARET__META_SPACING), sizeof m[k]);
        const struct caret__meta *best = &m[m[1].epoch > m[0].epoch];
        assert_int_equal(pwrite(log, "lost", 4, (off_t)((best->lsn - best->log_base) % best->log_size)), 4);
        close(fd);
        close(log);
    }
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 30), 1);
    OK(caret_close(db));
}

/* Recovery with an arena that is smaller than what the log changes. */
static void replay_that_outgrows_the_arena_takes_checkpoints(void **state)
{
    const int64_t n = CARET__PAGE_SIZE > 1024 ? 60000 : 6000, step = CARET__PAGE_SIZE > 1024 ? 30 : 12;
    const size_t len = CARET__PAGE_SIZE > 1024 ? 100 : 20;
    caret_options o = options();
    caret_db *db = NULL;
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        db = open_db();
        put(db, 0, n, len);
        OK(caret_checkpoint(db));
        for (int64_t i = 0; i < n; i += step) /* each in another leaf */
            put(db, i, i + 1, len);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    o.arena_limit = 1; /* the least that there is */
#ifdef CARET_FAULTS
    pid = fork(); /* one that dies in between */
    if (pid == 0) {
        caret__fault_arm("replay_checkpoint", 1, CARET__FAULT_KILL);
        _exit(caret_open(path, &o, &db) == CARET_OK ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
#else
    (void)status;
#endif
    OK(caret_open(path, &o, &db));
    assert_int_equal(count(db, 0, len), n);
    check(db);
    OK(caret_close(db));
}

/* Containers have 64 MiB of shared memory: enough to work, and to recover beside what the dead left there. */
static void small_shared_memory_is_enough(void **state)
{
    char command[512];

    (void)state;
    snprintf(command, sizeof command, "mount -t tmpfs -o size=64m none %s 2>/dev/null", shm_dir);
    if (system(command) != 0) {
        print_message("skipped: no tmpfs can be mounted here\n");
        skip();
    }
    pid_t pid = fork();
    if (pid == 0) {
        put(open_db(), 0, 40000, 400);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    caret_db *db = NULL;
    int rc = try_open(&db);
    int64_t n = rc == CARET_OK ? count(db, 0, 400) : 0;
    caret_close(db);
    snprintf(command, sizeof command, "umount %s", shm_dir);
    assert_int_equal(system(command), 0);
    OK(rc);
    assert_int_equal(n, 40000);
}

/* Die at each fault point of opening, recovering and closing; the next one finds everything. */
static unsigned die_everywhere(const char *const *names, size_t n, void (*prepare)(void), int (*use)(void))
{
    unsigned died = 0;
    char command[128];

    for (size_t i = 0; i < n; i++) {
        for (unsigned nth = 1; nth < 4; nth++) {
            prepare();
            pid_t pid = fork();
            if (pid == 0) {
                caret__fault_arm(names[i], nth, CARET__FAULT_KILL);
                _exit(use() != CARET_OK);
            }
            int status;
            waitpid(pid, &status, 0);
            if (WIFEXITED(status)) {
                assert_int_equal(WEXITSTATUS(status), 0);
            } else {
                assert_int_equal(WTERMSIG(status), SIGKILL);
                died++;
            }
            caret_db *db = NULL;
            int rc = try_open(&db);
            if (rc != CARET_OK)
                fail_msg("after death at %s, hit %u: %s", names[i], nth, caret_message());
            assert_int_equal(count(db, 0, 40), 100);
            check(db);
            OK(caret_close(db));
            snprintf(command, sizeof command, "rm -f %s-partial-*", path); /* of a compaction */
            assert_int_equal(system(command), 0);
            assert_int_equal(files_in(dir), 1);
            assert_int_equal(files_in(shm_dir), 0);
            unlink(path);
        }
    }
    return died;
}

static int open_and_close(void)
{
    caret_db *db;
    int rc = try_open(&db);

    return rc == CARET_OK ? caret_close(db) : rc;
}

static int compact(void)
{
    caret_options o = options();

    return caret_compact(path, &o, NULL, NULL);
}

static void prepare_crashed(void)
{
    kill_and_wait(child_with(0, 100, 40));
}

static void prepare_clean(void)
{
    caret_db *db = open_db();
    put(db, 0, 100, 40);
    OK(caret_close(db));
}

static const char *const points[] = {"open_data",
                                     "segment_made",
                                     "segment_filled",
                                     "recover_log_made",
                                     "recover_rescued",
                                     "recover_built",
                                     "recover_ring_checked",
                                     "recover_ring_copied",
                                     "recover_replayed",
                                     "recover_begun",
                                     "recover_published",
                                     "replay_applied",
                                     "slot_nonce",
                                     "checkpoint_data_synced",
                                     "checkpoint_durable",
                                     "checkpoint_meta_synced",
                                     "image_written",
                                     "checkpoint_released",
                                     "close_gate",
                                     "close_clean",
                                     "close_segment_gone",
                                     "close_log_gone",
                                     "grow_file",
                                     "freeze_epoch"};

static void death_at_any_point_of_recovery_is_recovered(void **state)
{
    (void)state;
    need_points();
    assert_true(die_everywhere(points, sizeof points / sizeof points[0], prepare_crashed, open_and_close) >
                20);
}

static void death_at_any_point_of_a_clean_session_is_recovered(void **state)
{
    (void)state;
    need_points();
    assert_true(die_everywhere(points, sizeof points / sizeof points[0], prepare_clean, open_and_close) > 15);
}

static void death_at_any_point_of_compacting_is_recovered(void **state)
{
    static const char *const at[] = {"close_gate",     "backup_linked",      "backup_named",
                                     "compact_copied", "compact_renamed",    "checkpoint_durable",
                                     "close_clean",    "close_segment_gone", "close_log_gone"};

    (void)state;
    need_points();
    assert_true(die_everywhere(at, sizeof at / sizeof at[0], prepare_crashed, compact) > 8);
}

static void death_while_creating_leaves_no_half_database(void **state)
{
    static const char *const at[] = {"create_allocated", "create_pages", "create_synced", "create_renamed",
                                     "open_data"};

    (void)state;
    need_points();
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            caret__fault_arm(at[i], 1, CARET__FAULT_KILL);
            caret_db *db;
            (void)try_open(&db);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
        caret_db *db = open_db();
        put(db, 0, 10, 10);
        OK(caret_close(db));
        assert_int_equal(files_in(dir), 1);
        unlink(path);
    }
}

/* What an opener is told; part = 0: nothing. */
struct told {
    unsigned times;
    double part;
    bool back;
};

static void note_progress(void *arg, double part)
{
    struct told *t = arg;

    t->times++;
    t->back |= part < t->part || part > 1;
    t->part = part;
}

/* Beyond the first second; the seeded mistake calls every recovery a slow one. */
static void a_slow_recovery_tells_its_progress(void **state)
{
    struct told quick = {0}, slow = {0};
    caret_options o = options();
    caret_db *db;

    (void)state;
    o.progress = note_progress;
    o.progress_arg = &quick;
    kill_and_wait(child_with(0, 1000, 40));
    OK(caret_open(path, &o, &db));
    assert_int_equal(quick.times, 0);
    OK(caret_close(db));
    o.progress_arg = &slow;
    kill_and_wait(child_with(0, 1000, 40));
    caret__fault_seed("slow_recovery");
    OK(caret_open(path, &o, &db));
    caret__fault_seed(NULL);
#ifdef CARET_FAULTS
    assert_true(slow.times > 100);
    assert_true(slow.part > 0.99);
    assert_false(slow.back);
#endif
    assert_int_equal(count(db, 0, 40), 1000);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_process_loses_nothing),
        TEST(killed_again_and_again_loses_nothing),
        TEST(long_values_survive_a_kill),
        TEST(synced_commits_survive_the_loss_of_the_segment),
        TEST(old_log_records_do_not_come_back),
        TEST(runs_keep_their_pages_in_a_replay),
        TEST(repeated_record_does_not_revive_what_followed_it),
        TEST(replay_that_outgrows_the_arena_takes_checkpoints),
        TEST(small_shared_memory_is_enough),
        TEST(a_slow_recovery_tells_its_progress),
        TEST(death_at_any_point_of_recovery_is_recovered),
        TEST(death_at_any_point_of_a_clean_session_is_recovered),
        TEST(death_at_any_point_of_compacting_is_recovered),
        TEST(death_while_creating_leaves_no_half_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
