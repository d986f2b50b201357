/*
 * What the archive cannot give is said, and nothing is made: files that are missing, damaged or of another history,
 * and moments before the backup or after the end.
 */
#include "support/archived.h"

#include <time.h>

static int64_t file_count(void)
{
    return (int64_t)files_in(archive_dir);
}

/* Run a command in the archive on its nth file, in the order of names. */
static void on_file(const char *what, int nth)
{
    char command[500];
    snprintf(command, sizeof command, "cd %s && f=$(ls | sed -n %dp) && %s", archive_dir, nth, what);
    assert_int_equal(system(command), 0);
}

/* A file is missing after moments[0]: said so, with its name and place, and nothing is made. */
static void refused_for_a_gap(uint64_t lsn, uint64_t time)
{
    caret_restore_options o = from_archive(lsn);
    char name[80], place[80];

    o.time = time;
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_NOTFOUND);
    snprintf(name, sizeof name, "-%016llx.caret-archive is missing", (unsigned long long)moments[0].lsn);
    snprintf(place, sizeof place, "from LSN %llu to %llu;", (unsigned long long)moments[0].lsn,
             (unsigned long long)moments[1].lsn);
    assert_non_null(strstr(caret_message(), name));
    assert_non_null(strstr(caret_message(), place));
    assert_int_not_equal(access(restored, F_OK), 0);
}

/* What was before it is not to be had of a backup: nothing else is made instead. */
static void a_backup_leads_to_nothing_before_it(void **state)
{
    caret_db *db = open_archived();
    struct timespec now;
    uint64_t before;

    (void)state;
    work(db, 3, 50, 0);
    OK(caret_checkpoint(db));
    OK(caret_durable(db, NULL, &before));
    clock_gettime(CLOCK_REALTIME, &now);
    work(db, 4, 50, 0);
    OK(caret_backup(db, backup, NULL));
    work(db, 5, 50, 0);
    OK(caret_close(db));
    caret_restore_options o = from_archive(before);
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_NOTFOUND);
    o = from_archive(0);
    o.time = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_NOTFOUND);
    assert_int_not_equal(access(restored, F_OK), 0);
    o.time = 0;
    OK(caret_restore(backup, restored, &o, NULL));
}

static void gaps_and_damage_are_found(void **state)
{
    caret_db *db = open_archived();
    uint64_t end;

    (void)state;
    OK(caret_backup(db, backup, NULL));
    for (int i = 0; i < 4; i++) {
        work(db, 70 + (uint64_t)i, 50, 0);
        OK(caret_checkpoint(db));
        note_moment(db);
    }
    OK(caret_durable(db, NULL, &end));
    OK(caret_close(db));
    assert_true(file_count() >= 4);
    caret_restore_options o = from_archive(end);
    on_file("rm $f", 2);
    refused_for_a_gap(end, 0);
    refused_for_a_gap(0, 0);
    refused_for_a_gap(0, UINT64_MAX);
    uint64_t reached = 0;
    o.lsn = moments[0].lsn; /* what can be had without it */
    OK(caret_restore(backup, restored, &o, &reached));
    assert_int_equal(reached, moments[0].lsn);
    remove_restored();
    o.lsn = 0;
    on_file("printf X | dd of=$f bs=1 seek=300 conv=notrunc 2>/dev/null", 1);
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_CORRUPT);
    assert_int_not_equal(access(restored, F_OK), 0);
    on_file("printf X | dd of=$f bs=1 seek=50 conv=notrunc 2>/dev/null", 1);
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_CORRUPT);
    o.lsn = moments[0].lsn - 8;
    assert_true(caret_restore(backup, restored, &o, NULL) != CARET_OK);
    o = (caret_restore_options){.size = sizeof(caret_restore_options), .shm_dir = shm_dir, .any_fs = 1};
    OK(caret_restore(backup, restored, &o, NULL));
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_EXISTS);
    assert_int_equal(caret_restore(path, backup, &o, NULL), CARET_E_EXISTS);
    remove_restored();
    o.lsn = 5;
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_INVALID);
    o = from_archive(0);
    assert_int_equal(caret_restore("/nonexistent/x", restored, &o, NULL), CARET_E_NOTFOUND);
    o.archive = "/nonexistent";
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_OPEN);
    assert_int_equal((int)files_in(dir), 3); /* database, archive, backup */
}

/* Two copies of one database cannot write their histories into one archive. */
static void another_history_is_not_mixed_in(void **state)
{
    caret_db *db = open_archived();
    caret_options o = options();
    char elsewhere[112];

    (void)state;
    work(db, 80, 50, 0);
    OK(caret_backup(db, backup, NULL));
    work(db, 81, 50, 0);
    note_moment(db);
    OK(caret_close(db));
    caret_db *copy = NULL;
    o.archive = archive_dir;
    OK(caret_open(backup, &o, &copy));
    work(copy, 82, 50, 0);
    assert_int_equal(caret_checkpoint(copy), CARET_E_EXISTS);
    assert_non_null(strstr(caret_message(), "another copy"));
    assert_int_equal(caret_close(copy), CARET_E_EXISTS); /* its log stays */
    o.archive = NULL;
    OK(caret_open(backup, &o, &copy));
    snprintf(elsewhere, sizeof elsewhere, "%s/other", dir);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    o.archive = elsewhere;
    caret_db *again = NULL;
    OK(caret_open(backup, &o, &again)); /* from now on */
    o.archive = archive_dir;
    caret_db *third = NULL;
    assert_int_equal(caret_open(backup, &o, &third), CARET_E_INVALID);
    work(copy, 83, 50, 0);
    OK(caret_close(again));
    OK(caret_close(copy));
    assert_true(files_in(elsewhere) > 0);
}

static void a_time_is_reached_from_below(void **state)
{
    caret_db *db = open_archived();
    struct timespec now;

    (void)state;
    OK(caret_backup(db, backup, NULL));
    uint64_t times[4];
    for (int i = 0; i < 4; i++) {
        work(db, 90 + (uint64_t)i, 40, 0);
        OK(caret_checkpoint(db));
        note_moment(db);
        clock_gettime(CLOCK_REALTIME, &now);
        times[i] = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
        usleep(2000);
    }
    OK(caret_close(db));
    for (int i = 0; i < 4; i++) {
        caret_restore_options o = from_archive(0);
        uint64_t reached;
        o.time = times[i];
        if (i < 3) {
            OK(caret_restore(backup, restored, &o, &reached));
        } else { /* nobody knows whether there was more until then */
            assert_int_equal(caret_restore(backup, restored, &o, &reached), CARET_NONE);
            assert_non_null(strstr(caret_message(), "the archive ends at 20"));
        }
        assert_int_equal(reached, moments[i].lsn);
        assert_int_equal(access(restored, F_OK), 0);
        remove_restored();
    }
}

/* A copy of the backup goes on by itself, with changes of the same sizes as other copies'. */
static void go_another_way(const char *name, int64_t first)
{
    char copy[112], folder[112], command[512];
    caret_options o = options();
    caret_db *db = NULL;

    snprintf(copy, sizeof copy, "%s/%s.caret", dir, name);
    snprintf(folder, sizeof folder, "%s/%s", dir, name);
    snprintf(command, sizeof command, "cp %s %s && mkdir %s", backup, copy, folder);
    assert_int_equal(system(command), 0);
    o.archive = folder;
    OK(caret_open(copy, &o, &db));
    for (int64_t from = first; from < first + 100; from += 20) {
        put(db, from, from + 20, 50);
        OK(caret_checkpoint(db));
    }
    OK(caret_close(db));
    caret_restore_options restoring = from_archive(0);
    restoring.archive = folder;
    OK(caret_restore(backup, restored, &restoring, NULL));
    remove_restored();
}

/* The files of two copies fit together by name and size, and each is undamaged: the chain says that they do not. */
static void a_file_of_another_history_is_not_taken(void **state)
{
    caret_db *db = open_archived();
    caret_restore_options o = from_archive(0);
    char command[512], mixed[112];

    (void)state;
    OK(caret_backup(db, backup, NULL));
    OK(caret_close(db));
    go_another_way("a", 100);
    go_another_way("b", 200);
    snprintf(mixed, sizeof mixed, "%s/a", dir);
    snprintf(command, sizeof command,
             "cd %s && test \"$(ls a)\" = \"$(ls b)\" && cp b/$(ls b | sed -n 3p) a/", dir);
    assert_int_equal(system(command), 0);
    o.archive = mixed;
    assert_int_equal(caret_restore(backup, restored, &o, NULL), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "does not continue the one before"));
    assert_int_not_equal(access(restored, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARCHIVE(gaps_and_damage_are_found),
        ARCHIVE(a_backup_leads_to_nothing_before_it),
        ARCHIVE(another_history_is_not_mixed_in),
        ARCHIVE(a_time_is_reached_from_below),
        ARCHIVE(a_file_of_another_history_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
