/* When a commit is on the disk: the three modes, single transactions, and several processes. */
#include "support/database.h"

#include "support/crowd.h"

#include <stdbool.h>

static caret_db *open_with(int sync, double interval, int no_thread)
{
    caret_options o = {.size = sizeof o,
                       .shm_dir = shm_dir,
                       .sync = sync,
                       .sync_interval = interval,
                       .no_thread = no_thread};
    caret_db *db = NULL;
    OK(caret_open(path, &o, &db));
    return db;
}

/* Bytes of the log that are not on the disk. */
static uint64_t behind(caret_db *db)
{
    uint64_t durable, committed;
    OK(caret_durable(db, &durable, &committed));
    assert_true(durable <= committed);
    return committed - durable;
}

static void put_flagged(caret_db *db, int flags)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, flags));
    node_of(&n, 7);
    OK(caret_set(s, &n.node, "x", 1));
    OK(caret_commit(s));
    caret_session_close(s);
}

static void mode_commit_waits_for_the_disk(void **state)
{
    (void)state;
    caret_db *db = open_with(CARET_SYNC_COMMIT, 0, 1);
    for (int i = 0; i < 20; i++) {
        put(db, i, i + 1, 30);
        assert_int_equal(behind(db), 0);
    }
    put_flagged(db, 0);
    assert_int_equal(behind(db), 0);
    put_flagged(db, CARET_TXN_BATCH);
    assert_true(behind(db) > 0);
    put_flagged(db, CARET_TXN_BATCH | CARET_TXN_SYNC);
    assert_true(behind(db) > 0);
    OK(caret_sync(db));
    assert_int_equal(behind(db), 0);
    OK(caret_close(db));
}

static void mode_off_waits_for_nothing_unless_asked(void **state)
{
    (void)state;
    caret_db *db = open_with(CARET_SYNC_OFF, 0.001, 0);
    put(db, 0, 20, 30);
    usleep(100000);
    assert_true(behind(db) > 0);
    put_flagged(db, CARET_TXN_SYNC);
    assert_int_equal(behind(db), 0);
    put(db, 20, 30, 30);
    assert_true(behind(db) > 0);
    OK(caret_sync(db));
    assert_int_equal(behind(db), 0);
    OK(caret_durable(db, NULL, NULL));
    OK(caret_close(db));
}

static void mode_interval_gets_there_by_itself(void **state)
{
    (void)state;
    caret_db *db = open_with(CARET_SYNC_INTERVAL, 0.02, 0);
    for (int i = 0; i < 5; i++) {
        put(db, i * 10, i * 10 + 10, 30);
        UNTIL(behind(db) == 0);
    }
    OK(caret_close(db));
}

/* One writes and would not sync for an hour (or ever); the other only has it open. */
static void smallest_interval_of_all_counts(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            caret_db *mine = open_with(round == 0 ? CARET_SYNC_INTERVAL : CARET_SYNC_OFF, 3600, 0);
            put(mine, 0, 100, 30);
            atomic_fetch_add(signal_word, 1);
            for (;;)
                pause();
        }
        until((uint32_t)round + 1);
        caret_db *db = open_with(CARET_SYNC_INTERVAL, 0.02, 0);
        UNTIL(behind(db) == 0);
        kill_and_wait(pid);
        OK(caret_close(db));
    }
}

/* Without a thread the commits that come do it. */
static void mode_interval_without_a_thread_syncs_at_commits(void **state)
{
    (void)state;
    caret_db *db = open_with(CARET_SYNC_INTERVAL, 0.02, 1);
    put(db, 0, 1, 30);
    usleep(50000);
    put(db, 1, 2, 30);
    assert_int_equal(behind(db), 0);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mode_commit_waits_for_the_disk),     TEST(mode_off_waits_for_nothing_unless_asked),
        TEST(mode_interval_gets_there_by_itself), TEST(mode_interval_without_a_thread_syncs_at_commits),
        TEST(smallest_interval_of_all_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
