/* What can't be opened: its own error, that names it, and nothing is left behind. */
#include "support/database.h"

#include "base/crc32c.h"
#include "base/fault.h"
#include "disk/meta.h"

/* ----------------------------------------------------------------- the bad */

static void write_file(const char *name, const void *bytes, size_t len, off_t off)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(pwrite(fd, bytes, len, off), len);
    close(fd);
}

static void bad_paths_have_their_own_errors_and_leave_nothing(void **state)
{
    char name[160], link_name[160];

    (void)state;
    caret_options o = options();
    caret_db *db = NULL;
    assert_int_equal(open_code(dir), CARET_E_OPEN);
    assert_non_null(strstr(caret_message(), "directory"));
    assert_non_null(strstr(caret_message(), dir));
    assert_int_equal(open_code("/dev/null"), CARET_E_OPEN);
    snprintf(name, sizeof name, "%s/no/such.caret", dir);
    assert_int_equal(open_code(name), CARET_E_OPEN);
    assert_int_equal(open_code("/proc/x.caret"), CARET_E_OPEN);
    o.no_create = 1;
    assert_int_equal(caret_open(path, &o, &db), CARET_E_NOTFOUND);
    snprintf(link_name, sizeof link_name, "%s/dangling", dir);
    assert_int_equal(symlink("nowhere", link_name), 0);
    assert_int_equal(open_code(link_name), CARET_E_OPEN);
    unlink(link_name);
    snprintf(name, sizeof name, "%s/fifo", dir);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_int_equal(open_code(name), CARET_E_OPEN);
    unlink(name);
    assert_int_equal(files_in(dir), 0);

    snprintf(name, sizeof name, "%s/text", dir);
    write_file(name, "hello, I am a letter to a friend", 32, 0);
    assert_int_equal(open_code(name), CARET_E_FOREIGN);
    assert_int_equal(files_in(dir), 1);
    unlink(name);
    write_file(path, "", 1, 1 << 20); /* a megabyte of zeros is none either */
    assert_int_equal(open_code(path), CARET_E_FOREIGN);
    unlink(path);
    assert_int_equal(files_in(dir), 0);
    assert_int_equal(files_in(shm_dir), 0);
}

static void hard_links_are_refused(void **state)
{
    char name[160];

    (void)state;
    OK(caret_close(open_db()));
    snprintf(name, sizeof name, "%s/second", dir);
    assert_int_equal(link(path, name), 0);
    assert_int_equal(open_code(path), CARET_E_OPEN);
    assert_int_equal(open_code(name), CARET_E_OPEN);
    unlink(name);
    assert_int_equal(open_code(path), CARET_OK);
}

/* The newest meta slot, and where it lies. */
static off_t newest_meta(struct caret__meta *newest)
{
    struct caret__meta m[2];
    int fd = open(path, O_RDONLY);

    for (int i = 0; i < 2; i++)
        assert_int_equal(pread(fd, &m[i], sizeof m[i], i * CARET__META_SPACING), sizeof m[i]);
    close(fd);
    *newest = m[m[1].epoch > m[0].epoch];
    return (m[1].epoch > m[0].epoch) * CARET__META_SPACING;
}

/* Change the newest meta slot, with a right crc. */
static void change_meta(void (*change)(struct caret__meta *m))
{
    struct caret__meta m;
    off_t at = newest_meta(&m);

    change(&m);
    m.crc = caret__crc32c(0, &m, offsetof(struct caret__meta, crc));
    write_file(path, &m, sizeof m, at);
}

static void from_the_future(struct caret__meta *m)
{
    m->format = 7;
    m->min_reader = 5;
}
static void of_other_pages(struct caret__meta *m)
{
    m->page_size = CARET__PAGE_SIZE * 2;
}
static void of_many_pages(struct caret__meta *m)
{
    m->npages = 1u << 20;
}
static void with_a_wild_root(struct caret__meta *m)
{
    m->root = m->npages + 5;
}
static void too_deep(struct caret__meta *m)
{
    m->depth = 200;
}

static void damaged_meta_is_told(void **state)
{
    static const struct {
        void (*change)(struct caret__meta *m);
        int code;
    } cases[] = {{from_the_future, CARET_E_VERSION},
                 {of_other_pages, CARET_E_VERSION},
                 {of_many_pages, CARET_E_CORRUPT},
                 {with_a_wild_root, CARET_E_CORRUPT},
                 {too_deep, CARET_E_CORRUPT}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OK(caret_close(open_db()));
        change_meta(cases[i].change);
        assert_int_equal(open_code(path), cases[i].code);
        assert_non_null(strstr(caret_message(), path));
        assert_int_equal(files_in(dir), 1);
        unlink(path);
    }
}

static void damaged_bitmap_names_its_page(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 10);
    OK(caret_close(db));
    for (unsigned i = 0; i < 2; i++)
        write_file(path, "rot", 3, (off_t)(CARET__FIRST_PAGE + i) * CARET__PAGE_SIZE + 100);
    assert_int_equal(open_code(path), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "page"));
    assert_int_equal(files_in(dir), 1);
    assert_int_equal(files_in(shm_dir), 0);
}

static void torn_meta_slot_falls_back_if_the_log_reaches(void **state)
{
    struct caret__meta m;

    (void)state;
    /* two checkpoints, the newer one's slot is then destroyed: the log of 0..300 goes back to the older */
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 100, 20);
        OK(caret_checkpoint(db));
        put(db, 100, 200, 20);
        OK(caret_checkpoint(db));
        put(db, 200, 300, 20);
        OK(caret_sync(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    write_file(path, "tear", 4, newest_meta(&m) + 200);
    caret_db *db = NULL;
    int rc = try_open(&db); /* pages of the older tree may have been reused since: an error, or everything */
    if (rc == CARET_OK) {
        assert_int_equal(count(db, 0, 20), 300);
        check(db);
        OK(caret_close(db));
    } else {
        assert_int_equal(rc, CARET_E_CORRUPT);
    }
}

static void damaged_newest_slot_without_log_is_an_error(void **state)
{
    struct caret__meta m;

    (void)state;
    caret_db *db = open_db();
    put(db, 0, 100, 20);
    OK(caret_close(db));
    write_file(path, "tear", 4, newest_meta(&m) + 200);
    assert_int_equal(open_code(path), CARET_E_CORRUPT);
    assert_non_null(
        strstr(caret_message(), "(meta slots): one is damaged")); /* and no word of how it was closed */
    assert_null(strstr(caret_message(), "cleanly"));
}

/* 100 nodes, killed; or killed after a sync, and of the lock file and the shared memory nothing is left: a reboot. */
static void killed_session(bool reboot)
{
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 100, 40);
        if (reboot)
            OK(caret_sync(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    if (reboot) {
        unlink(lock_path);
        remove_shared_memory();
    }
}

/* The first slot of a session says the LSN at which the last one was closed, and has all commits in its log. */
static void damaged_first_slot_of_a_session_is_no_silent_loss(void **state)
{
    static const uint8_t zeros[100];
    struct caret__meta m;

    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        if ((i & 2) != 0) /* it is not the first session */
            OK(caret_close(open_db()));
        if ((i & 8) != 0) /* the one before was killed, too */
            killed_session((i & 4) != 0);
        killed_session((i & 4) != 0);
        off_t newest = newest_meta(&m);
        assert_int_equal(m.flags & CARET__META_CLEAN, 0);
        write_file(path, zeros, (i & 1) != 0 ? sizeof zeros : 1, newest);
        assert_int_equal(open_code(path), CARET_E_CORRUPT);
        assert_non_null(strstr(caret_message(), "(meta slots): the newest one is damaged"));
        write_file(path, &m, sizeof m, newest); /* all is there, as nothing was given up */
        caret_db *db = open_db();
        assert_int_equal(count(db, 0, 40), 100);
        check(db);
        OK(caret_close(db));
        unlink(path);
    }
}

/* The states of a database that has had one session at most. */
enum young { CREATED, OPENED, COMMITTED, CLOSED, YOUNG };

static void make_young(enum young how)
{
    pid_t pid = fork();

    if (pid == 0) {
#ifdef CARET_FAULTS
        if (how == CREATED)
            caret__fault_arm("create_renamed", 1, CARET__FAULT_KILL);
#endif
        caret_db *db = open_db();
        if (how > OPENED)
            put(db, 0, 300, 40);
        if (how == CLOSED)
            OK(caret_close(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

static void zeros_are_no_slot_that_was_never_written(void **state)
{
    static const uint8_t zeros[CARET__PAGE_SIZE];
    char command[512];

    (void)state;
    for (unsigned i = 0; i < 2 * YOUNG; i++) {
        make_young(i / 2);
        write_file(path, zeros, sizeof zeros, i % 2 * CARET__META_SPACING);
        assert_int_equal(open_code(path), CARET_E_CORRUPT);
        assert_non_null(strstr(caret_message(), "nothing but zeros, where a checkpoint was"));
        snprintf(command, sizeof command, "rm -f %s*", path);
        assert_int_equal(system(command), 0);
    }
    for (unsigned i = 0; i < YOUNG; i++) { /* without damage each opens */
        make_young(i);
        caret_db *db = open_db();
        if (i > OPENED)
            assert_int_equal(count(db, 0, 40), 300);
        check(db);
        OK(caret_close(db));
        snprintf(command, sizeof command, "rm -f %s*", path);
        assert_int_equal(system(command), 0);
    }
}

static void missing_or_short_log_is_an_error(void **state)
{
    char command[512];

    (void)state;
    kill_and_wait(child_with(0, 100, 40));
    snprintf(command, sizeof command, "cp %s %s.keep", log_path, log_path);
    assert_int_equal(system(command), 0);
    unlink(log_path);
    assert_int_equal(open_code(path), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), log_path));
    write_file(log_path, "short", 5, 0);
    assert_int_equal(open_code(path), CARET_E_CORRUPT);
    snprintf(command, sizeof command, "mv %s.keep %s", log_path, log_path);
    assert_int_equal(system(command), 0);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 40), 100);
    OK(caret_close(db));
}

static void damaged_log_is_no_silent_loss(void **state)
{
    struct caret__meta m;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        put(db, 0, 300, 40);
        OK(caret_sync(db)); /* all of it is in the log, the segment knows how far */
        atomic_store(signal_word, 1);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    newest_meta(&m);
    write_file(log_path, "ROT", 3, (off_t)((m.lsn - m.log_base) % m.log_size) + 5000);
    assert_int_equal(open_code(path), CARET_E_CORRUPT);
    assert_int_equal(open_code(path), CARET_E_CORRUPT); /* and again: nothing was thrown away */
}

static void owners_with_another_shm_are_told_apart(void **state)
{
    char command[512];

    (void)state;
    pid_t child = child_with(0, 10, 10);
    snprintf(command, sizeof command, "mv %s %s.away", shm_dir, shm_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(mkdir(shm_dir, 0700), 0);
    assert_int_equal(open_code(path), CARET_E_BUSY);
    assert_non_null(strstr(caret_message(), "shared memory"));
    snprintf(command, sizeof command, "rmdir %s; mv %s.away %s", shm_dir, shm_dir, shm_dir);
    assert_int_equal(system(command), 0);
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 10), 10);
    kill_and_wait(child);
    OK(caret_close(db));
}

static void foreign_old_segment_is_an_error_that_keeps_it(void **state)
{
    char command[512];

    (void)state;
    kill_and_wait(child_with(0, 10, 10));
    snprintf(command, sizeof command,
             "printf xxxxxxxx | dd of=$(ls %s/*) bs=1 seek=8 conv=notrunc status=none", shm_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(open_code(path), CARET_E_VERSION);
    assert_int_equal(files_in(shm_dir), 1);
}

static void full_shared_memory_leaves_nothing(void **state)
{
    char command[512];

    (void)state;
    snprintf(command, sizeof command, "mount -t tmpfs -o size=256k none %s 2>/dev/null", shm_dir);
    if (system(command) != 0) {
        print_message("skipped: no tmpfs can be mounted here\n");
        skip();
    }
    int rc = open_code(path);
    unsigned files = files_in(shm_dir) + files_in(dir);
    snprintf(command, sizeof command, "umount %s", shm_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(rc, CARET_E_SHM);
    assert_int_equal(files, 0);
}

/* Open a new database on a disk of so many KiB: the code; false: there is none. */
static bool open_on_disk(unsigned kib, int *rc, unsigned *files)
{
    char command[512], name[160];

    snprintf(name, sizeof name, "%s/small", dir);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(command, sizeof command, "mount -t tmpfs -o size=%uk none %s 2>/dev/null", kib, name);
    if (system(command) != 0)
        return false;
    snprintf(name, sizeof name, "%s/small/db.caret", dir);
    *rc = open_code(name);
    snprintf(name, sizeof name, "%s/small", dir);
    *files = files_in(name);
    snprintf(command, sizeof command, "umount %s && rmdir %s", name, name);
    assert_int_equal(system(command), 0);
    return true;
}

static void full_disk_while_creating_leaves_nothing(void **state)
{
    unsigned files;
    int rc;

    (void)state;
    if (!open_on_disk(CARET__PAGE_SIZE / 64, &rc, &files)) {
        print_message("skipped: no tmpfs can be mounted here\n");
        skip();
    }
    assert_int_equal(rc, CARET_E_DISKFULL);
    assert_int_equal(files, 0);
    assert_true(open_on_disk(CARET__PAGE_SIZE / 4 + 40, &rc, &files)); /* for the file, not for its log */
    assert_int_equal(rc, CARET_E_DISKFULL);
    assert_non_null(strstr(caret_message(), "db.caret-log: no room for a log of "));
    assert_int_equal(files, 0);
}

static void open_with_little_file_size(int code)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit limit = {100000, 100000}; /* less than the smallest log */
        setrlimit(RLIMIT_FSIZE, &limit);
        caret_db *db;
        _exit(try_open(&db) == code ? 0 : 1);
    }
    join(pid);
}

static void file_size_limit_is_an_error_not_a_signal(void **state)
{
    (void)state;
    open_with_little_file_size(CARET_E_DISKFULL);
    assert_int_equal(files_in(dir), 0);
    pid_t user = child_with(0, 1, 1);
    open_with_little_file_size(CARET_E_DISKFULL); /* joins */
    kill_and_wait(user);
    OK(caret_close(open_db()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_paths_have_their_own_errors_and_leave_nothing),
        TEST(hard_links_are_refused),
        TEST(damaged_meta_is_told),
        TEST(damaged_bitmap_names_its_page),
        TEST(torn_meta_slot_falls_back_if_the_log_reaches),
        TEST(damaged_newest_slot_without_log_is_an_error),
        TEST(damaged_first_slot_of_a_session_is_no_silent_loss),
        TEST(zeros_are_no_slot_that_was_never_written),
        TEST(missing_or_short_log_is_an_error),
        TEST(damaged_log_is_no_silent_loss),
        TEST(owners_with_another_shm_are_told_apart),
        TEST(foreign_old_segment_is_an_error_that_keeps_it),
        TEST(full_shared_memory_leaves_nothing),
        TEST(full_disk_while_creating_leaves_nothing),
        TEST(file_size_limit_is_an_error_not_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
