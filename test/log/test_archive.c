/*
 * A backup and the archive of the log give the database of any later moment: whatever was committed, however the log
 * went round, whoever died, whichever call failed.
 */
#include "support/syscalls.h"

#include "support/archived.h"

#include "base/fault.h"
#include "base/rand.h"
#include "disk/meta.h"
#include "log/archive.h"
#include "shm/layout.h"

/* Restored to that place it is what it was there. */
static void try_moment(uint64_t lsn, uint64_t expected)
{
    caret_restore_options o = from_archive(lsn);
    caret_options open_options = options();
    caret_db *db = NULL;
    uint64_t reached = 0;

    OK(caret_restore(backup, restored, &o, &reached));
    if (lsn != 0)
        assert_int_equal(reached, lsn);
    open_options.no_create = 1;
    OK(caret_open(restored, &open_options, &db));
    check(db);
    if (digest(db) != expected)
        fail_msg("restored to %llu it is something else", (unsigned long long)lsn);
    OK(caret_close(db));
    remove_restored();
}

/* Some of the moments noted from index `from` on; the last, and what is there without a limit. */
static void try_moments(uint32_t from, uint32_t step)
{
    uint32_t n = atomic_load(n_moments);

    assert_true(n > from + 3);
    for (uint32_t i = from; i < n; i += step)
        try_moment(moments[i].lsn, moments[i].digest);
    try_moment(moments[n - 1].lsn, moments[n - 1].digest);
}

/* The log became longer for it, that of the backup is a short one. */
static void a_transaction_beyond_a_short_log_can_be_restored(void **state)
{
    const int64_t many = CARET__PAGE_SIZE > 512 ? 600000 : 3000;
    caret_options o = options();
    caret_db *db = NULL;
    caret_session *s;
    caret_node_buf n;

    (void)state;
    need_room(CARET__PAGE_SIZE > 512 ? 256 : 0); /* the arena must take it */
    o.archive = archive_dir;
    OK(caret_open(path, &o, &db));
    OK(caret_backup(db, backup, NULL));
    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (int64_t i = 0; i < many; i++) {
        node_of(&n, i);
        OK(caret_set(s, &n.node, text, text_of(i, 80, text)));
    }
    OK(caret_commit(s));
    caret_session_close(s);
    note_moment(db);
    OK(caret_close(db));
    try_moment(0, moments[atomic_load(n_moments) - 1].digest);
}

static void any_moment_behind_a_backup_can_be_restored(void **state)
{
    caret_db *db = open_archived();

    (void)state;
    work(db, 1, 300, 0);
    OK(caret_backup(db, backup, NULL));
    work(db, 2, 1500, 30);
    OK(caret_checkpoint(db));
    try_moments(0, 7);
    work(db, 3, 200, 0);
    note_moment(db);
    OK(caret_close(db)); /* archives the rest */
    uint32_t last = atomic_load(n_moments) - 1;
    try_moment(0, moments[last].digest);
    for (int i = 0; i < 3; i++) { /* opened and closed: new generations */
        db = open_archived();
        work(db, 10 + (uint64_t)i, 100, 0);
        note_moment(db);
        OK(caret_close(db));
    }
    try_moments(last, 1);
    last = atomic_load(n_moments) - 1;
    try_moment(0, moments[last].digest);
}

#define MANY (CARET__PAGE_SIZE / 5u) /* bytes of each value: inline */

/* A transaction of many changes: its record does not go through the ring. */
static int set_many(caret_session *s, void *arg)
{
    caret_node_buf n;
    (void)arg;
    for (unsigned i = 0; i < CARET__RING_SIZE / 4 / MANY + 10; i++) {
        node_of(&n, 2000 + i);
        int rc = caret_set(s, &n.node, text, text_of(i, MANY, text));
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static void big_records_and_long_values_are_archived(void **state)
{
    caret_db *db = open_archived();
    caret_session *s;
    caret_node_buf n;

    (void)state;
    OK(caret_backup(db, backup, NULL));
    OK(caret_session_open(db, &s));
    for (int i = 0; i < 6; i++) {
        OK(caret_transaction(s, set_many, NULL, 0));
        node_of(&n, 5000 + i);
        OK(caret_set(s, &n.node, text, text_of(i, 150000, text)));
        node_of(&n, 5000 + i - 1); /* freed again in the same epoch */
        OK(caret_kill(s, &n.node));
        note_moment(db);
    }
    caret_session_close(s);
    OK(caret_checkpoint(db));
    try_moments(0, 1);
    OK(caret_close(db));
}

static void after_the_death_of_all_the_archive_goes_on(void **state)
{
    (void)state;
    caret_db *db = open_archived();
    work(db, 1, 100, 0);
    OK(caret_backup(db, backup, NULL));
    OK(caret_close(db));
    for (unsigned round = 0; round < 6; round++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            db = open_archived();
            work(db, 20 + round, 150 + 40 * round, 0);
            note_moment(db);
            atomic_fetch_add(signal_word, 1);
            for (;;)
                pause();
        }
        until(round + 1);
        kill_and_wait(pid);
        if (round % 2 == 0)
            OK(caret_close(open_archived()));
    }
    OK(caret_close(open_archived()));
    try_moments(0, 1);
    try_moment(0, moments[5].digest);
}

#ifdef CARET_FAULTS
/* Whoever archives dies; somebody else is there, or nobody. */
static void death_in_archiving_leaves_no_gap(void **state)
{
    static const char *const points[] = {"archive_created",   "archive_written",        "archive_synced",
                                         "archive_named",     "checkpoint_meta_synced", "checkpoint_lsn",
                                         "checkpoint_durable"};
    unsigned round = 0;

    (void)state;
    caret_db *db = open_archived();
    work(db, 1, 100, 0);
    OK(caret_backup(db, backup, NULL));
    OK(caret_close(db));
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
        for (int how = 0; how < 4; how++, round++) {
            bool attached = how & 1;
            db = attached ? open_archived() : NULL;
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) {
                caret_db *own = open_archived();
                work(own, 100 + round, 120, 0);
                note_moment(own);
                caret__fault_arm(points[i], how < 2 ? 1 : 2, CARET__FAULT_KILL);
                OK(caret_checkpoint(own));
                work(own, 200 + round, 40, 0);
                note_moment(own);
                OK(caret_checkpoint(own));
                _exit(0);
            }
            waitpid(pid, NULL, 0);
            if (!attached)
                db = open_archived();
            work(db, 300 + round, 30, 0);
            note_moment(db);
            OK(caret_close(db));
        }
    }
    try_moments(0, 5);
    try_moment(0, moments[atomic_load(n_moments) - 1].digest);
}
#else
static void death_in_archiving_leaves_no_gap(void **state)
{
    (void)state;
    need_points();
}
#endif

/* The first calls that fail are those of the archive: the checkpoint fails, nothing is lost, and later all is there. */
static void what_cannot_be_archived_is_not_given_up(void **state)
{
    static const struct {
        enum call kind;
        int error;
    } kinds[] = {{CALL_OPEN, EMFILE},
                 {CALL_OPEN, ENOSPC},
                 {CALL_PWRITE, ENOSPC},
                 {CALL_RENAME, ENOSPC},
                 {CALL_FDATASYNC, EIO}};
    unsigned failures = 0;

    (void)state;
    caret_db *db = open_archived();
    OK(caret_backup(db, backup, NULL));
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        work(db, 50 + i, 60, 0);
        note_moment(db);
        OK(caret_sync(db)); /* the ring is empty: the first write is the archive's */
        /* the data file and the log are synced first */
        fail_nth(kinds[i].kind, kinds[i].error, kinds[i].kind == CALL_FDATASYNC ? 3 : 1, false);
        int rc = caret_checkpoint(db);
        failing.armed = false;
        if (failing.failed != 0) {
            failures++;
            assert_true(rc != CARET_OK && rc != CARET_E_CORRUPT && rc != CARET_E_IO_FAILED);
            assert_non_null(strstr(caret_message(), "archive"));
        }
        work(db, 60 + i, 10, 0);
        if (i % 2 == 0)
            OK(caret_checkpoint(db));
    }
    assert_int_equal(failures, sizeof kinds / sizeof kinds[0]);
    OK(caret_checkpoint(db));
    try_moments(0, 1);
    OK(caret_close(db));
}

/* With the folder gone writers are refused when the log is full; when it is back they go on, and nothing is missing. */
static void without_room_for_the_archive_writers_are_refused(void **state)
{
    caret_db *db = open_archived();
    caret_session *s;
    caret_node_buf n;
    char away[112];
    int rc = CARET_OK;

    (void)state;
    OK(caret_backup(db, backup, NULL));
    snprintf(away, sizeof away, "%s-away", archive_dir);
    assert_int_equal(rename(archive_dir, away), 0);
    OK(caret_session_open(db, &s));
    for (int64_t i = 0; rc == CARET_OK; i++) {
        assert_true(i < 10000000);
        node_of(&n, i % 500);
        rc = caret_set(s, &n.node, text, text_of(i, 100, text));
    }
    assert_true(rc == CARET_E_IO || rc == CARET_E_DISKFULL);
    assert_non_null(strstr(caret_message(), "archive"));
    caret_slice v;
    node_of(&n, 1);
    OK(caret_get(s, &n.node, &v));
    uint64_t before = digest(db);
    assert_int_equal(rename(away, archive_dir), 0);
    node_of(&n, 501);
    OK(caret_set(s, &n.node, "goes on", 7));
    caret_session_close(s);
    note_moment(db);
    assert_true(digest(db) != before);
    OK(caret_close(db));
    try_moment(0, moments[0].digest);
}

/*
 * The power goes when the log is in the archive, but neither all of it nor the meta slot on the disk: the end
 * of the log is lost, also to the archive, whose file is replaced by a shorter one.
 */
static void a_log_cut_off_by_power_loss_is_cut_off_in_the_archive(void **state)
{
    struct caret__archive_head head;
    struct caret__meta_pair pair;
    char name[300];
    uint8_t trailer[8], zeros[8] = {0};

    (void)state;
    need_points();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *own = open_archived();
        OK(caret_backup(own, backup, NULL));
        work(own, 30, 50, 0);
        note_moment(own);
        put(own, 9000, 9001, 30); /* what will be lost */
        caret__fault_arm("archive_named", 1, CARET__FAULT_KILL);
        caret_checkpoint(own);
        _exit(1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    int fd = open(path, O_RDONLY);
    OK(caret__meta_read(fd, path, 1u << 30, &pair));
    close(fd);
    assert_true(caret__archive_name(name, sizeof name, archive_dir, pair.meta.uuid, pair.meta.lsn));
    fd = open(name, O_RDONLY);
    OK(caret__archive_read_head(fd, name, &head));
    close(fd);
    fd = open(log_path, O_RDWR);
    off_t at = (off_t)((head.end - 8 - pair.meta.log_base) % pair.meta.log_size);
    assert_int_equal(pread(fd, trailer, 8, at), 8);
    assert_memory_equal(trailer, &head.end_seed, 8);
    assert_int_equal(pwrite(fd, zeros, 8, at), 8); /* of the last record */
    close(fd);
    remove_shared_memory();
    caret_db *db = open_archived();
    assert_true(digest(db) == moments[0].digest);
    work(db, 32, 30, 0);
    note_moment(db);
    OK(caret_close(db));
    try_moment(moments[0].lsn, moments[0].digest);
    try_moment(0, moments[1].digest);
}

/* What happened to files, in the order in which it did. */
static struct {
    int archive_fd;    /* the file being written */
    bool written;      /* to it, and not synced since */
    bool named;        /* it got its name, but the folder was not synced since */
    unsigned metas;    /* meta slots written */
    unsigned archives; /* files named */
    bool wrong;
} order;

static bool every_fd(int fd)
{
    return fd >= 0;
}

static bool every_path(const char *name)
{
    return name != NULL;
}

static int order_open(const char *name, int flags, mode_t mode)
{
    int fd = real_open(name, flags, mode);
    if (strstr(name, "-partial") != NULL && strncmp(name, archive_dir, strlen(archive_dir)) == 0)
        order.archive_fd = fd;
    return fd;
}

static ssize_t order_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    if (len == sizeof(struct caret__meta) && (off == 0 || off == CARET__META_SPACING) &&
        memcmp(buf, "CARETDB", 7) == 0) {
        order.metas++;
        order.wrong |= order.written || order.named;
    }
    order.written |= fd == order.archive_fd;
    return syscall(SYS_pwrite64, fd, buf, len, off);
}

static int order_sync(int fd)
{
    struct stat st, folder;

    if (fd == order.archive_fd)
        order.written = false;
    else if (fstat(fd, &st) == 0 && stat(archive_dir, &folder) == 0 && st.st_dev == folder.st_dev &&
             st.st_ino == folder.st_ino)
        order.named = false;
    return 0;
}

static int order_fallocate(int fd, int mode, off_t off, off_t len)
{
    return (int)syscall(SYS_fallocate, fd, mode, off, len);
}

static int order_ftruncate(int fd, off_t len)
{
    return (int)syscall(SYS_ftruncate, fd, len);
}

static int order_rename(const char *from, const char *to)
{
    if (strncmp(to, archive_dir, strlen(archive_dir)) == 0) {
        order.wrong |= order.written;
        order.named = true;
        order.archive_fd = -1;
        order.archives++;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int order_unlink(const char *name)
{
    return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
}

static void the_archive_is_on_the_disk_before_the_meta_slot_is_written(void **state)
{
    (void)state;
    memset(&order, 0, sizeof order);
    order.archive_fd = -1;
    tape_hooks = (struct tape_hooks){every_fd,        every_path,      order_open,   order_pwrite, order_sync,
                                     order_fallocate, order_ftruncate, order_rename, order_unlink, NULL};
    for (int i = 0; i < 3; i++) {
        caret_db *db = open_archived();
        work(db, 40 + (uint64_t)i, 300, 0);
        OK(caret_checkpoint(db));
        work(db, 50 + (uint64_t)i, 30, 0);
        OK(caret_close(db));
    }
    tape_hooks = (struct tape_hooks){0};
    assert_false(order.wrong);
    assert_true(order.archives >= 6 && order.metas >= order.archives);
}

#ifdef CARET_FAULTS
static void a_killed_restoring_makes_nothing_of_that_name(void **state)
{
    static const char *const points[] = {"restore_copied", "restore_record", "restore_replayed"};
    caret_db *db = open_archived();

    (void)state;
    OK(caret_backup(db, backup, NULL));
    work(db, 33, 60, 0);
    note_moment(db);
    OK(caret_close(db));
    for (unsigned i = 0; i < 3; i++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            caret_restore_options o = from_archive(0);
            caret__fault_arm(points[i], 1, CARET__FAULT_KILL);
            caret_restore(backup, restored, &o, NULL);
            _exit(1);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
        assert_int_not_equal(access(restored, F_OK), 0);
        try_moment(0, moments[0].digest); /* and again, beside the leftovers */
    }
}
#else
static void a_killed_restoring_makes_nothing_of_that_name(void **state)
{
    (void)state;
    need_points();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARCHIVE(any_moment_behind_a_backup_can_be_restored),
        ARCHIVE(a_transaction_beyond_a_short_log_can_be_restored),
        ARCHIVE(big_records_and_long_values_are_archived),
        ARCHIVE(after_the_death_of_all_the_archive_goes_on),
        ARCHIVE(death_in_archiving_leaves_no_gap),
        ARCHIVE(a_log_cut_off_by_power_loss_is_cut_off_in_the_archive),
        ARCHIVE(what_cannot_be_archived_is_not_given_up),
        ARCHIVE(without_room_for_the_archive_writers_are_refused),
        ARCHIVE(the_archive_is_on_the_disk_before_the_meta_slot_is_written),
        ARCHIVE(a_killed_restoring_makes_nothing_of_that_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
