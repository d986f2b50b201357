/* What somebody can do to others who may only read a database, or only its folder; and whose the files are. */
#include <stdbool.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "support/database.h"

#include "support/apart.h"
#include "support/child.h"

/* In libc's place: EACCES for the lock file. */
static bool lstat_fails;

int lstat(const char *name, struct stat *st)
{
    size_t len = strlen(name);

    if (lstat_fails && len > 5 && strcmp(name + len - 5, "-lock") == 0) {
        errno = EACCES;
        return -1;
    }
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

static void segment_path(char *found, size_t cap)
{
    char command[160];

    snprintf(command, sizeof command, "ls -d %s/caret-* 2>/dev/null", shm_dir);
    FILE *p = popen(command, "r");
    found[0] = 0;
    if (fgets(found, (int)cap, p) != NULL)
        found[strcspn(found, "\n")] = 0;
    pclose(p);
}

static unsigned mode_of(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? st.st_mode & 0777u : 0;
}

static void assert_modes(unsigned data, unsigned lock)
{
    char segment[200];

    segment_path(segment, sizeof segment);
    assert_int_equal(mode_of(path), data);
    assert_int_equal(mode_of(log_path), data);
    assert_int_equal(mode_of(segment), data);
    assert_int_equal(mode_of(lock_path), lock);
}

/* ------------------------------------------------------------------- readers */

static void lock_all(const char *name)
{
    static const struct {
        off_t start, len;
    } parts[] = {{0, 1}, {1024, 1024}, {(off_t)1 << 62, 5000}, {0, 0}};
    int fd = open(name, O_RDONLY);

    if (fd < 0)
        return;
    for (unsigned i = 0; i < 4; i++) {
        struct flock l = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = parts[i].start, .l_len = parts[i].len};
        fcntl(fd, F_SETLK, &l);
        fcntl(fd, F_OFD_SETLK, &l);
    }
    flock(fd, LOCK_EX | LOCK_NB);
    fcntl(fd, F_SETLEASE, F_RDLCK);
}

/* A process without rights that locks all that can be locked, and goes on doing so. */
static pid_t attacker(void)
{
    uint32_t before = atomic_load(signal_word);
    char segment[200];
    pid_t pid = fork();

    if (pid == 0) {
        segment_path(segment, sizeof segment);
        become_nobody();
        CHILD(open(lock_path, O_RDONLY) < 0);
        const char *names[] = {path, log_path, segment, dir};
        for (unsigned i = 0; i < 4; i++)
            lock_all(names[i]);
        atomic_fetch_add(signal_word, 1);
        for (;;)
            pause();
    }
    until(before + 1);
    return pid;
}

static void writer(int64_t from)
{
    alarm(60); /* nobody waits so long: a process that does is stopped by the attacker */
    caret_db *db = NULL;
    CHILD(try_open(&db) == CARET_OK);
    put(db, from, from + 5, 100);
    CHILD(caret_checkpoint(db) == CARET_OK && caret_sync(db) == CARET_OK);
    put(db, from + 5, from + 10, 100);
}

static pid_t writer_child(int64_t from, bool stays)
{
    uint32_t before = atomic_load(signal_word);
    pid_t pid = fork();

    if (pid == 0) {
        writer(from);
        atomic_fetch_add(signal_word, 1);
        while (stays)
            pause();
        _exit(0); /* without closing: as if killed */
    }
    siginfo_t end = {0};
    while (atomic_load(signal_word) <= before)
        if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == pid &&
            atomic_load(signal_word) <= before) /* it may have said so and ended in between */
            fail_msg("the writer from %d ended: %d", (int)from, end.si_status);
    return pid;
}

/* As somebody without rights: how many nodes? */
static void assert_reader_sees(int64_t n)
{
    pid_t pid = fork();

    if (pid == 0) {
        become_nobody();
        caret_options o = {
            .size = sizeof o, .readonly = 1, .any_fs = 1}; /* where their memory is, the log tells */
        caret_db *db = NULL;
        CHILD(caret_open(path, &o, &db) == CARET_OK);
        CHILD(count(db, 0, 100) == n);
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
}

static bool open_to_readers(void)
{
    return may_become_nobody() && chmod(dir, 0755) == 0 && chmod(shm_dir, 0755) == 0;
}

static void begin_attacked(void)
{
    caret_db *db = open_db();

    OK(caret_close(db));
    assert_int_equal(chmod(path, 0644), 0);
}

static void locks_of_a_reader_stop_no_writer(void **state)
{
    (void)state;
    if (!open_to_readers())
        return;
    begin_attacked();
    pid_t closed = attacker(), first = writer_child(0, true), used = attacker(),
          second = writer_child(10, true);
    kill_and_wait(second);
    pid_t third = writer_child(20, false);
    join(third);
    kill_and_wait(first);
    pid_t killed = attacker();
    caret_db *db = open_db(); /* recovers */
    assert_int_equal(count(db, 0, 100), 30);
    check(db);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
    kill_and_wait(closed);
    kill_and_wait(used);
    kill_and_wait(killed);
}

static void readers_see_all_though_one_locks_all(void **state)
{
    (void)state;
    if (!open_to_readers())
        return;
    begin_attacked();
    for (int attacked = 0; attacked < 2; attacked++) {
        int64_t n = attacked * 20;
        pid_t bad = attacked ? attacker() : 0, w = writer_child(n, true);
        assert_reader_sees(n + 10); /* at once */
        kill_and_wait(w);
        assert_reader_sees(n + 10); /* what nobody has written to a file, too */
        caret_db *db = open_db();
        put(db, n + 10, n + 20, 100);
        OK(caret_close(db));
        assert_reader_sees(n + 20);
        if (bad != 0)
            kill_and_wait(bad);
    }
}

/* A reader that is stopped while it opens the database keeps nobody waiting. */
static void a_stopped_reader_stops_nobody(void **state)
{
    (void)state;
    caret_db *db = open_db();
    OK(caret_close(db));
    pid_t pid = fork();
    if (pid == 0) {
        caret_options o = options();
        o.readonly = 1;
        caret_db *reader = NULL;
        atomic_store(signal_word, 1);
        for (;;)
            if (caret_open(path, &o, &reader) == CARET_OK)
                caret_close(reader);
    }
    until(1);
    for (int i = 0; i < 20; i++) {
        kill(pid, SIGSTOP);
        db = open_db();
        put(db, 0, 2, 10);
        OK(caret_close(db));
        kill(pid, SIGCONT);
        usleep(500);
    }
    kill_and_wait(pid);
}

/* -------------------------------------------------------------------- rights */

static void files_follow_the_data_file(void **state)
{
    caret_db *db;
    mode_t mask = umask(022);

    (void)state;
    db = open_db();
    put(db, 0, 5, 10);
    assert_modes(0644, 0600);
    assert_int_equal(chmod(path, 0600), 0);
    OK(caret_checkpoint(db));
    assert_modes(0600, 0600);
    assert_int_equal(chmod(path, 0664), 0);
    pid_t pid = fork(); /* another opens it */
    if (pid == 0) {
        CHILD(syscall(SYS_close_range, 3, ~0u, 0) == 0);
        execl("/proc/self/exe", "test_open_rights", "--open", path, shm_dir, (char *)NULL);
        _exit(1);
    }
    join(pid);
    assert_modes(0664, 0660);
    if (geteuid() == 0) {
        struct stat st;
        assert_int_equal(chown(path, 20001, 20002), 0);
        OK(caret_checkpoint(db));
        assert_int_equal(stat(log_path, &st), 0);
        assert_true(st.st_uid == 20001 && st.st_gid == 20002);
        assert_int_equal(stat(lock_path, &st), 0);
        assert_true(st.st_uid == 20001 && st.st_gid == 20002);
    }
    OK(caret_close(db));
    umask(mask);
}

/* By another handle, and in a forked child by its first call: these are openings too. */
static void another_handle_makes_them_follow(void **state)
{
    caret_db *db, *again = NULL;
    mode_t mask = umask(022);

    (void)state;
    db = open_db();
    assert_int_equal(chmod(path, 0600), 0);
    OK(try_open(&again));
    assert_modes(0600, 0600);
    OK(caret_close(again));
    assert_int_equal(chmod(path, 0660), 0);
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(try_open(&again) == CARET_OK);
        _exit(0);
    }
    join(pid);
    assert_modes(0660, 0660);
    OK(caret_close(db));
    umask(mask);
}

/* As somebody else of that group, if this is root: how many nodes? */
static void assert_member_sees(gid_t group, int readonly, int64_t n)
{
    pid_t pid = fork();

    if (pid == 0) {
        caret_options o = options();
        o.readonly = readonly;
        caret_db *db = NULL;
        CHILD(geteuid() != 0 || (setgroups(0, NULL) == 0 && setgid(group) == 0 && setuid(NOBODY) == 0));
        CHILD(caret_open(path, &o, &db) == CARET_OK);
        CHILD(count(db, 0, 100) == n);
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
}

/* Log and segment have a right that was taken back from the data file by somebody who has not come by since: for that
 * nobody is refused, nor shown an earlier state. */
static void a_right_taken_back_harms_nobody_else(void **state)
{
    static const struct {
        mode_t before, after;
        int readonly;
    } cases[] = {{0664, 0660, 0}, {0664, 0660, 1}, {0644, 0640, 1}, {0644, 0444, 1}};
    gid_t group = geteuid() == 0 ? 20002 : getegid();
    caret_db *db = open_db();

    (void)state;
    OK(caret_close(db));
    assert_int_equal(chown(path, (uid_t)-1, group), 0);
    assert_int_equal(chmod(dir, 0777) | chmod(shm_dir, 0777), 0);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(chmod(path, cases[i / 2].before), 0);
        pid_t writer = child_with(i * 10, i * 10 + 10, 100);
        assert_int_equal(chmod(path, cases[i / 2].after), 0);
        if (i % 2 != 0)
            kill_and_wait(writer);
        assert_member_sees(group, cases[i / 2].readonly, i * 10 + 10);
        if (i % 2 == 0)
            kill_and_wait(writer);
    }
}

/* Its lock file is trusted by nobody then, and what is said leads to where nothing is lost. */
static void a_database_of_a_killed_user_can_be_given_away(void **state)
{
    char segment[200];
    caret_db *db = NULL;

    (void)state;
    if (!may_become_nobody())
        return;
    assert_int_equal(chmod(dir, 0777) | chmod(shm_dir, 0777), 0);
    uint32_t before = atomic_load(signal_word);
    pid_t pid = fork();
    if (pid == 0) {
        become_nobody();
        put(open_db(), 0, 10, 100);
        atomic_fetch_add(signal_word, 1);
        for (;;)
            pause();
    }
    until(before + 1);
    kill_and_wait(pid);
    assert_int_equal(chown(path, 20001, 20002), 0);
    assert_int_equal(try_open(&db), CARET_E_OPEN);
    assert_non_null(strstr(caret_message(), "give this file, its log and its shared memory"));
    segment_path(segment, sizeof segment);
    const char *others[] = {lock_path, log_path, segment};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(chown(others[i], 20001, 20002), 0);
    db = open_db();
    assert_int_equal(count(db, 0, 100), 10);
    OK(caret_close(db));
}

static void an_old_lock_file_gets_the_strict_mode(void **state)
{
    (void)state;
    caret_db *db = open_db();
    OK(caret_close(db));
    assert_int_equal(chmod(path, 0644), 0);
    close(open(lock_path, O_CREAT | O_WRONLY, 0644));
    assert_int_equal(chmod(lock_path, 0644), 0);
    db = open_db();
    assert_modes(0644, 0600);
    OK(caret_close(db));
}

/* In a folder that all may write, like /tmp: it could hold the gate for ever. */
static void a_lock_file_of_somebody_else_is_refused(void **state)
{
    (void)state;
    if (!may_become_nobody())
        return;
    caret_db *db = NULL;
    for (int is_new = 1; is_new >= 0; is_new--) {
        close(open(lock_path, O_CREAT | O_WRONLY, 0666));
        assert_int_equal(chown(lock_path, NOBODY, NOBODY), 0);
        assert_int_equal(try_open(&db), CARET_E_OPEN);
        assert_non_null(strstr(caret_message(), "remove"));
        unlink(lock_path);
        db = open_db();
        OK(caret_close(db));
    }
}

static void a_lock_file_that_cannot_be_looked_at_is_an_error(void **state)
{
    caret_db *db = NULL;

    (void)state;
    lstat_fails = true;
    assert_int_equal(try_open(&db), CARET_E_SYSTEM);
    assert_non_null(strstr(caret_message(), lock_path));
    lstat_fails = false;
    db = open_db();
    put(db, 0, 5, 10);
    lstat_fails = true;
    assert_int_equal(caret_close(db), CARET_E_SYSTEM);
    lstat_fails = false;
    db = open_db();
    assert_int_equal(count(db, 0, 10), 5);
    OK(caret_close(db));
}

static int open_and_close(char **argv)
{
    caret_options o = {
        .size = sizeof o, .shm_dir = argv[3], .no_thread = 1, .sync = CARET_SYNC_OFF, .any_fs = 1};
    caret_db *db = NULL;

    return caret_open(argv[2], &o, &db) == CARET_OK && caret_close(db) == CARET_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(locks_of_a_reader_stop_no_writer),
        TEST(readers_see_all_though_one_locks_all),
        TEST(a_stopped_reader_stops_nobody),
        TEST(files_follow_the_data_file),
        TEST(another_handle_makes_them_follow),
        TEST(a_right_taken_back_harms_nobody_else),
        TEST(a_database_of_a_killed_user_can_be_given_away),
        TEST(an_old_lock_file_gets_the_strict_mode),
        TEST(a_lock_file_of_somebody_else_is_refused),
        TEST(a_lock_file_that_cannot_be_looked_at_is_an_error),
    };
    return argc > 3 ? open_and_close(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
