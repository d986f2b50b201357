/*
 * Power loss: whatever part of the unsynced writes survived, what was promised to be
 * durable is there, commits are whole and none is there without those before it.
 *
 * A workload runs on real files while every change of them is recorded (tape.h).
 * After each commit the digest of the whole database is noted.  Then for many
 * moments and many parts of what was not synced, the files are made as they would
 * be found after a reboot, and opened.  The digest found must be that of a commit
 * k with promised <= k <= begun; caret_check must find nothing; writing goes on; and
 * closing leaves one file.  A part of the openings is recorded too, and the power
 * lost again in the middle of the recovery.
 *
 * Two workloads have their log archived (in the folder of the database), make backups and, in FUSE, restore
 * them.  A backup that has its name must be a database with the digest of its moment, and an acknowledged one
 * must have it; a backup and the archive must lead to a commit, not before the last acknowledged checkpoint;
 * and after recovery, more commits and a closing, to exactly what is in the database.
 *
 * CARET_POWER_STATES=n: how many states, all workloads together.  CARET_SEED=n.  CARET_POWER_TEST=pattern:
 * only those.
 */
#include "powerload.h"

/* One process after the other, and nothing else that is special. */
static void new_world(int sync, unsigned steps)
{
    memset(world, 0, sizeof *world);
    world->sync = sync;
    world->steps = steps;
    world->work = work_alone;
    world->check = check_alone;
}

static void lose_power_alone(int sync, unsigned steps, bool stays_open, unsigned share)
{
    new_world(sync, steps);
    world->stays_open = stays_open;
    lose_power(share);
}

static void lose_power_of_bank(int sync, unsigned steps)
{
    new_world(sync, steps);
    world->work = work_bank;
    world->check = check_bank;
    lose_power(10);
}

/* -------------------------------------------------------------------- tests */

static void each_commit_survives_in_commit_mode(void **state)
{
    (void)state;
    lose_power_alone(CARET_SYNC_COMMIT, 150, false, 25);
}

static void what_was_synced_survives_in_interval_mode(void **state)
{
    (void)state;
    lose_power_alone(CARET_SYNC_INTERVAL, 300, false, 20);
}

static void the_log_goes_round_without_loss(void **state)
{
    (void)state;
    lose_power_alone(CARET_SYNC_INTERVAL, 700, true, 20);
}

static void the_log_becomes_longer_without_loss(void **state)
{
    (void)state;
    new_world(CARET_SYNC_COMMIT, 300);
    world->stays_open = true;
    world->grows = true;
    lose_power(10);
    print_message("the log became longer after %" PRIu64 " commits\n", world->grew);
}

static void a_large_transaction_is_whole(void **state)
{
    (void)state;
    if (CARET__PAGE_SIZE > 1024) {
        print_message("skipped: the small build has it, where a log is short\n");
        skip();
    }
    new_world(CARET_SYNC_COMMIT, 40);
    world->large = true;
    lose_power(10);
    assert_true(world->grew != 0);
}

static void checkpoints_survive_without_syncs(void **state)
{
    (void)state;
    lose_power_alone(CARET_SYNC_OFF, 300, false, 15);
}

static void transactions_of_several_processes_are_whole(void **state)
{
    (void)state;
    lose_power_of_bank(CARET_SYNC_COMMIT, 100);
}

static void order_survives_with_threads_that_sync(void **state)
{
    (void)state;
    lose_power_of_bank(CARET_SYNC_INTERVAL, 200);
}

static void what_the_kernel_issues_keeps_each_commit(void **state)
{
    (void)state;
    new_world(CARET_SYNC_COMMIT, 120);
    world->behind_fuse = true;
    lose_power(10);
}

static void lose_power_archived(bool behind_fuse, unsigned steps, unsigned share)
{
    new_world(CARET_SYNC_INTERVAL, steps);
    world->archived = true;
    world->behind_fuse = behind_fuse;
    lose_power(share);
    assert_true(world->backups > 1 && (!behind_fuse || world->restores > 0));
}

static void backups_and_archive_survive(void **state)
{
    (void)state;
    lose_power_archived(false, 200, 10);
}

static void backups_and_archive_survive_as_the_kernel_issues_them(void **state)
{
    (void)state;
    lose_power_archived(true, 150, 8);
}

int main(void)
{
    may_mount = own_mounts();
    names_init();
    const struct CMUnitTest tests[] = {POWER_TEST(each_commit_survives_in_commit_mode),
                                       POWER_TEST(what_was_synced_survives_in_interval_mode),
                                       POWER_TEST(the_log_goes_round_without_loss),
                                       POWER_TEST(the_log_becomes_longer_without_loss),
                                       POWER_TEST(a_large_transaction_is_whole),
                                       POWER_TEST(transactions_of_several_processes_are_whole),
                                       POWER_TEST(order_survives_with_threads_that_sync),
                                       POWER_TEST(checkpoints_survive_without_syncs),
                                       POWER_TEST(backups_and_archive_survive),
                                       POWER_TEST(backups_and_archive_survive_as_the_kernel_issues_them),
                                       POWER_TEST(what_the_kernel_issues_keeps_each_commit)};
    cmocka_set_test_filter(getenv("CARET_POWER_TEST"));
    return cmocka_run_group_tests_name("powerloss", tests, NULL, NULL);
}
