/* Segments of databases that were killed, deleted, moved: what is needed stays, what is not goes at the next
 * opening. */
#include <stdbool.h>

#include "support/database.h"

#include "base/fault.h"
#include "shm/layout.h"

static char second[112]; /* another database, with the same shm_dir */

/* How the name of a copy of a segment ends that is put there as if it had been left. */
#define COPY "-fedcba9876543210.held"

struct seen {
    int n[CARET_SHM_UNKNOWN + 1], removed;
    uint64_t bytes, pid;
    char path[96], why[160];
    int copy; /* state of COPY */
    char copy_why[160];
};

static int see(void *arg, const caret_shm_info *info)
{
    struct seen *s = arg;

    s->n[info->state]++;
    s->removed += info->removed;
    s->bytes += info->bytes;
    s->pid = info->pids != 0 ? info->pid[0] : 0;
    snprintf(s->path, sizeof s->path, "%s", info->path);
    snprintf(s->why, sizeof s->why, "%s", info->why);
    if (strstr(info->file, COPY) != NULL) {
        s->copy = info->state;
        snprintf(s->copy_why, sizeof s->copy_why, "%s", info->why);
    }
    return CARET_OK;
}

static struct seen look(int flags)
{
    struct seen s = {0};

    OK(caret_shm(shm_dir, flags, see, &s));
    return s;
}

static void open_and_close_another(void)
{
    caret_options o = options();
    caret_db *db = NULL;

    snprintf(second, sizeof second, "%s/second.caret", dir);
    OK(caret_open(second, &o, &db));
    OK(caret_close(db));
}

/* A killed user; synced: all that it has put is in the log. */
static void killed_user(bool synced)
{
    uint32_t before = atomic_load(signal_word);
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 50, 100);
        if (synced && caret_sync(db) != CARET_OK)
            _exit(1);
        atomic_fetch_add(signal_word, 1);
        for (;;)
            pause();
    }
    until(before + 1);
    struct seen s = look(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST); /* which does nothing to one in use */
    assert_int_equal(s.n[CARET_SHM_USED], 1);
    assert_int_equal(s.removed, 0);
    assert_int_equal(s.pid, pid);
    assert_string_equal(s.path, path);
    kill_and_wait(pid);
}

static void command(const char *format, const char *a, const char *b)
{
    char line[400];

    snprintf(line, sizeof line, format, a, b);
    assert_int_equal(system(line), 0);
}

static void what_a_recovery_needs_stays(void **state)
{
    (void)state;
    killed_user(false);
    assert_int_equal(look(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST).n[CARET_SHM_NEEDED], 1);
    open_and_close_another();
    assert_int_equal(files_in(shm_dir), 1);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 100), 50);
    OK(caret_close(db));
    assert_int_equal(files_in(shm_dir), 0);
}

static void that_of_a_deleted_database_goes(void **state)
{
    (void)state;
    killed_user(true);
    command("rm %s*", path, "");
    assert_int_equal(look(0).n[CARET_SHM_ORPHANED], 1);
    open_and_close_another();
    assert_int_equal(files_in(shm_dir), 0);
}

static void one_that_was_replaced_needs_nothing(void **state)
{
    (void)state;
    killed_user(false);
    command("cp %s %s.copy", path, path);
    open_and_close_another();
    command("cat %s >%s", second, path); /* the same file, with another database in it */
    assert_string_equal(look(0).why, "another database is in the place of its own");
    assert_int_equal(look(CARET_SHM_REMOVE).removed, 1);
    assert_int_equal(files_in(shm_dir), 0);
}

static void assert_copy(int state, const char *why)
{
    struct seen s = look(0);

    assert_string_equal(s.copy_why, why);
    assert_int_equal(s.copy, state);
}

static void put_earlier_back(void)
{
    command("cp %s/earlier $(cat %s/name)", dir, dir);
}

/* What was left of an earlier life is not needed, but nothing goes while the database is in use. */
static void an_earlier_segment_of_the_same_database_goes(void **state)
{
    uint32_t before;

    (void)state;
    killed_user(false);
    command("f=$(ls %s/caret-*.held) && cp $f %s/earlier", shm_dir, dir);
    command("f=$(ls %s/caret-*.held) && echo ${f%%-*}" COPY " >%s/name", shm_dir, dir);
    killed_user(false); /* which recovers first */
    put_earlier_back();
    assert_copy(CARET_SHM_ORPHANED, "its database was recovered since");
    caret_db *db = open_db();
    assert_int_equal(files_in(shm_dir), 1);
    put_earlier_back();
    assert_copy(CARET_SHM_USED, "its database is open in this process");
    OK(caret_close(db));
    assert_copy(CARET_SHM_ORPHANED, "its database was closed cleanly");
    before = atomic_load(signal_word);
    pid_t pid = fork();
    if (pid == 0) {
        open_db();
        atomic_fetch_add(signal_word, 1);
        for (;;)
            pause();
    }
    until(before + 1);
    put_earlier_back();
    assert_copy(CARET_SHM_USED, "its database is in use");
    kill_and_wait(pid);
    assert_int_equal(look(CARET_SHM_REMOVE).removed, 1);
    command("rm %s/earlier %s/name", dir, dir);
}

/* A second one of the same life is needed by nobody: the record names the other. */
static void the_record_tells_which_is_needed(void **state)
{
    (void)state;
    killed_user(false);
    command("f=$(ls %s/caret-*.held) && cp $f ${f%%-*}" COPY "%s", shm_dir, "");
    assert_copy(CARET_SHM_ORPHANED, "its database does not know it");
    struct seen s = look(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST);
    assert_int_equal(s.n[CARET_SHM_NEEDED], 1);
    assert_int_equal(s.removed, 1);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 100), 50);
    OK(caret_close(db));
}

/* Without a record nobody knows whether it is needed. */
static void without_a_record_it_is_lost_not_orphaned(void **state)
{
    static const char *const ways[] = {": >%s%s", "rm %s%s"};

    (void)state;
    killed_user(false);
    for (unsigned i = 0; i < 2; i++) {
        command(ways[i], lock_path, "");
        struct seen s = look(CARET_SHM_REMOVE);
        assert_int_equal(s.n[CARET_SHM_LOST], 1);
        assert_int_equal(s.removed, 0);
        assert_string_equal(s.why, "the lock file that would name it is not there or has no record");
    }
    assert_int_equal(look(CARET_SHM_REMOVE_LOST).removed, 1);
}

/* "It is not there" is one thing, not to be able to look is another. */
static void nothing_goes_whose_database_cannot_be_looked_at(void **state)
{
    (void)state;
    char folder[80];
    snprintf(folder, sizeof folder, "%s/sub", dir);
    snprintf(path, sizeof path, "%s/db.caret", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    killed_user(false);
    command("mv %s %s.away", folder, folder);
    command("ln -s %s %s", folder, folder); /* to itself */
    struct seen s = look(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST);
    assert_int_equal(s.n[CARET_SHM_UNKNOWN], 1);
    assert_int_equal(s.removed, 0);
    assert_string_equal(s.why, "its database can't be looked at");
    command("rm %s%s", folder, "");
    command("mv %s.away %s", folder, folder);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 100), 50);
    OK(caret_close(db));
}

static void set_in_segment(off_t field, uint32_t value)
{
    char name[200];
    FILE *list = popen("ls -d $CARET_TEST_SHM_DIR/caret-*.held", "r");

    assert_non_null(fgets(name, sizeof name, list));
    pclose(list);
    name[strcspn(name, "\n")] = 0;
    int fd = open(name, O_WRONLY);
    assert_int_equal(pwrite(fd, &value, sizeof value, field), sizeof value);
    close(fd);
}

/* Written is not enough: if the disk failed, or was not waited for to the end, nobody knows what the log has. */
static void what_the_log_may_not_have_is_lost_not_orphaned(void **state)
{
    static const off_t doubts[] = {offsetof(struct caret__shared, io_failed),
                                   offsetof(struct caret__shared, sync_in_progress)};

    (void)state;
    setenv("CARET_TEST_SHM_DIR", shm_dir, 1);
    killed_user(true);
    command("rm %s*", path, "");
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++) {
        set_in_segment(doubts[i], 1);
        assert_int_equal(look(CARET_SHM_REMOVE).n[CARET_SHM_LOST], 1);
        set_in_segment(doubts[i], 0);
    }
    assert_int_equal(look(CARET_SHM_REMOVE).removed, 1);
}

/* Commits of its last second are nowhere else, and it may have been moved: it was. */
static void a_moved_database_loses_nothing(void **state)
{
    char there[120];

    (void)state;
    for (int swept = 0; swept < 2; swept++) {
        killed_user(false);
        uint64_t whole = look(0).bytes;
        snprintf(there, sizeof there, "%s/moved.caret", dir);
        command("mv %s %s", path, there);
        command("mv %s-log %s-log", path, there);
        command("mv %s-lock %s-lock", path, there);
        assert_int_equal(look(CARET_SHM_REMOVE).n[CARET_SHM_LOST], 1);
        if (swept) {
            open_and_close_another();
            struct seen s = look(0);
            assert_int_equal(s.n[CARET_SHM_LOST], 1);
            assert_true(s.bytes < whole);
        }
        caret_options o = options();
        caret_db *db = NULL;
        OK(caret_open(there, &o, &db));
        assert_int_equal(count(db, 0, 100), 50);
        check(db);
        OK(caret_close(db));
        assert_int_equal(files_in(shm_dir), 0);
        unlink(there);
    }
}

static void a_lost_one_goes_when_that_is_asked_for(void **state)
{
    (void)state;
    killed_user(false);
    command("rm %s*", path, "");
    assert_int_equal(look(CARET_SHM_REMOVE).removed, 0);
    assert_int_equal(look(CARET_SHM_REMOVE_LOST).removed, 1);
    assert_int_equal(files_in(shm_dir), 0);
    assert_int_equal(caret_shm(shm_dir, 4, NULL, NULL), CARET_E_INVALID);
    assert_int_equal(caret_shm("/nowhere", 0, NULL, NULL), CARET_E_SHM);
}

/* Files of other builds, which hold no locks, and of other programs are left alone. */
static void what_is_not_ours_is_left_alone(void **state)
{
    (void)state;
    command("touch %s/caret-0123456789abcdef-0123456789abcdef %s/caret-something", shm_dir, shm_dir);
    struct seen s = look(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST);
    assert_int_equal(s.n[CARET_SHM_UNKNOWN], 1);
    assert_int_equal(files_in(shm_dir), 2);
}

#ifdef CARET_FAULTS
/* In a child: dies at the nth point of that name; false: it came to its end. */
static bool dies(const char *name, unsigned nth, void (*work)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        caret__fault_arm(name, nth, CARET__FAULT_KILL);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status))
        assert_int_equal(status, 0);
    return WIFSIGNALED(status);
}

static void open_and_close(void)
{
    caret_db *db = NULL;

    if (try_open(&db) == CARET_OK)
        caret_close(db);
}

static void restore(void)
{
    char from[120], to[120];
    caret_restore_options o = {.size = sizeof o, .shm_dir = shm_dir, .any_fs = 1};

    snprintf(from, sizeof from, "%s/backup", dir);
    snprintf(to, sizeof to, "%s/restored", dir);
    if (caret_restore(from, to, &o, NULL) != CARET_OK)
        _exit(1);
}

static void makers_that_die_leave_nothing(void **state)
{
    (void)state;
    for (unsigned nth = 1; dies("*", nth, open_and_close); nth += 1 + nth / 8) {
        command("rm -f %s*", path, "");
        open_and_close_another();
        struct seen s =
            look(CARET_SHM_REMOVE_LOST); /* of these some have commits: the first ones of a new database */
        assert_int_equal(s.n[CARET_SHM_ORPHANED] + s.n[CARET_SHM_NEEDED], 0);
        assert_int_equal(files_in(shm_dir), 0);
    }
}

/* They could fill the folder: then no opening would come to where it used to sweep. */
static void killed_openings_do_not_pile_up(void **state)
{
    (void)state;
    killed_user(false);
    for (int i = 0; i < 3; i++) {
        assert_true(dies("recover_built", 1, open_and_close));
        assert_int_equal(files_in(shm_dir), 2); /* what is needed, and that of the last maker */
    }
    assert_true(dies("recover_swept", 1, open_and_close));
    assert_int_equal(files_in(shm_dir), 1);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 100), 50);
    OK(caret_close(db));
    assert_int_equal(files_in(shm_dir), 0);
}

/* Nor does the one that an opening recovers from go before its end, though the log has all that is in it. */
static void what_an_opening_recovers_from_stays_until_its_end(void **state)
{
    (void)state;
    killed_user(true);
    assert_true(dies("recover_swept", 1, open_and_close));
    assert_int_equal(look(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST).n[CARET_SHM_NEEDED], 1);
}

/* Nor does what databases that were deleted have left stand in the way of the first memory of another. */
static void memory_is_swept_before_it_is_taken(void **state)
{
    (void)state;
    killed_user(true);
    command("rm %s*", path, "");
    assert_true(dies("recover_swept", 1, open_and_close));
    assert_int_equal(files_in(shm_dir), 0);
}

static void killed_restorings_leave_no_memory(void **state)
{
    char backup[120];
    caret_db *db = open_db();

    (void)state;
    snprintf(backup, sizeof backup, "%s/backup", dir);
    put(db, 0, 50, 100);
    OK(caret_backup(db, backup, NULL));
    OK(caret_close(db));
    for (unsigned nth = 1; dies("*", nth, restore); nth += 1 + nth / 8) {
        assert_int_equal(files_in(shm_dir), 0);
        command("rm -f %s/restored*", dir, "");
        open_and_close_another();
        assert_int_equal(files_in(shm_dir), 0);
    }
}
#else
static void makers_that_die_leave_nothing(void **state)
{
    (void)state;
    need_points();
}

static void killed_openings_do_not_pile_up(void **state)
{
    makers_that_die_leave_nothing(state);
}

static void what_an_opening_recovers_from_stays_until_its_end(void **state)
{
    makers_that_die_leave_nothing(state);
}

static void memory_is_swept_before_it_is_taken(void **state)
{
    makers_that_die_leave_nothing(state);
}

static void killed_restorings_leave_no_memory(void **state)
{
    makers_that_die_leave_nothing(state);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_recovery_needs_stays),
        TEST(that_of_a_deleted_database_goes),
        TEST(one_that_was_replaced_needs_nothing),
        TEST(an_earlier_segment_of_the_same_database_goes),
        TEST(the_record_tells_which_is_needed),
        TEST(without_a_record_it_is_lost_not_orphaned),
        TEST(nothing_goes_whose_database_cannot_be_looked_at),
        TEST(what_the_log_may_not_have_is_lost_not_orphaned),
        TEST(a_moved_database_loses_nothing),
        TEST(a_lost_one_goes_when_that_is_asked_for),
        TEST(what_is_not_ours_is_left_alone),
        TEST(makers_that_die_leave_nothing),
        TEST(killed_openings_do_not_pile_up),
        TEST(what_an_opening_recovers_from_stays_until_its_end),
        TEST(memory_is_swept_before_it_is_taken),
        TEST(killed_restorings_leave_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
