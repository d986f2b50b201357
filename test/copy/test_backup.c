/*
 * Backups: what is in them, beside writers too; names that are taken; failing calls and deaths leave nothing.
 */
#include "support/syscalls.h"

#include "support/database.h"

#include "base/fault.h"
#include "disk/meta.h"

#define COMMITS 300
#define FIELDS  40

/* Has this process a record lock on a file?  The system may tell of one twice while others come and go. */
static bool has_lock(const char *name)
{
    char line[200], wanted[60];
    bool has = false;
    struct stat st;
    FILE *f = fopen("/proc/locks", "r");

    assert_non_null(f);
    assert_int_equal(stat(name, &st), 0);
    snprintf(wanted, sizeof wanted, " %d ", (int)getpid());
    while (fgets(line, sizeof line, f) != NULL) {
        char inode[40];
        snprintf(inode, sizeof inode, ":%llu ", (unsigned long long)st.st_ino);
        has |= strstr(line, wanted) != NULL && strstr(line, inode) != NULL;
    }
    fclose(f);
    return has;
}

static char copy[112];

static int setup_backup(void **state)
{
    int rc = setup(state);
    snprintf(copy, sizeof copy, "%s/copy.caret", dir);
    return rc;
}

#define BACKUP(name) cmocka_unit_test_setup_teardown(name, setup_backup, teardown)

/* Inner pages, long values, holes. */
static caret_db *filled(void)
{
    caret_db *db = open_db();
    caret_session *s;
    caret_node_buf n;

    put(db, 0, 3000, 60);
    put(db, 3000, 3010, 30000);
    OK(caret_session_open(db, &s));
    for (int i = 0; i < 3000; i++) {
        node_of(&n, i);
        if (i % 3 != 0)
            OK(caret_delete(s, &n.node));
    }
    caret_session_close(s);
    return db;
}

static caret_stats stats(caret_db *db)
{
    caret_stats st = {.size = sizeof st};
    OK(caret_stat(db, &st));
    return st;
}

static caret_db *open_copy(void)
{
    caret_options o = options();
    caret_db *db = NULL;
    o.no_create = 1;
    OK(caret_open(copy, &o, &db));
    check(db);
    return db;
}

/* A backup with these options is the same, can be opened, written, backed up itself. */
static void try_copy(caret_db *db, uint64_t was, const caret_backup_options *o, uint64_t most_pages)
{
    struct stat st;

    OK(caret_backup(db, copy, o));
    assert_int_equal(stat(copy, &st), 0);
    assert_true((uint64_t)st.st_size <= most_pages * CARET__PAGE_SIZE);
    caret_db *other_db = open_copy();
    assert_true(digest(other_db) == was);
    put(other_db, 5000, 5500, 300);
    assert_int_equal(count(other_db, 5000, 300), 500);
    check(other_db);
    OK(caret_close(other_db));
    other_db = open_copy();
    assert_int_equal(count(other_db, 5000, 300), 500);
    OK(caret_close(other_db));
    assert_true(digest(db) == was);
    check(db);
}

static void a_copy_holds_what_was_there(void **state)
{
    caret_db *db = filled();
    uint64_t was = digest(db);

    (void)state;
    try_copy(db, was, NULL, stats(db).pages);
    OK(caret_close(db));
    unlink(path);
    assert_int_equal(rename(copy, path), 0); /* the database is lost, the copy takes its place */
    db = open_db();
    check(db);
    assert_int_equal(count(db, 5000, 300), 500);
    OK(caret_close(db));
}

static void a_packed_copy_has_no_gaps(void **state)
{
    caret_db *db = filled();
    uint64_t was = digest(db), used = stats(db).pages;
    caret_backup_options o = {.size = sizeof o, .compact = 1, .overwrite = 1};

    (void)state;
    OK(caret_checkpoint(db));
    OK(caret_checkpoint(db));
    used -= stats(db).free_pages;
    try_copy(db, was, &o, used + CARET__FIRST_PAGE);
    try_copy(db, was, &o, used + CARET__FIRST_PAGE); /* in its place once more */
    OK(caret_backup(db, copy, &o));
    caret_options ro = options();
    ro.readonly = 1;
    caret_db *copied = NULL;
    OK(caret_open(copy, &ro, &copied));
    assert_int_equal(stats(copied).pages, used);
    OK(caret_close(copied));
    OK(caret_close(db));
}

static void an_empty_database_can_be_copied(void **state)
{
    caret_db *db = open_db();
    caret_backup_options o = {.size = sizeof o, .compact = 1};

    (void)state;
    OK(caret_backup(db, copy, NULL));
    OK(caret_close(open_copy()));
    unlink(copy);
    OK(caret_backup(db, copy, &o));
    OK(caret_close(open_copy()));
    OK(caret_close(db));
}

/* One transaction: all fields get the same number. */
static int raise_all(caret_session *s, void *arg)
{
    caret_node_buf n;
    char buf[400];
    size_t len = (size_t)snprintf(buf, sizeof buf, "%0*d", 20 + *(int *)arg % 60, *(int *)arg);

    for (int i = 0; i < FIELDS; i++) {
        node_of(&n, i);
        int rc = caret_set(s, &n.node, buf, len);
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static void churn(void)
{
    caret_db *db = open_db();
    caret_session *s;

    OK(caret_session_open(db, &s));
    for (int i = 1;; i++) {
        caret_node_buf n;
        OK(caret_transaction(s, raise_all, &i, 0));
        atomic_store(signal_word, (uint32_t)i);
        node_of(&n, 1000 + i % 200);
        OK(caret_set(s, &n.node, text, text_of(i, i % 50 == 0 ? 9000 : 200, text)));
        if (i % 100 == 99)
            OK(caret_checkpoint(db));
    }
}

static long field(caret_db *db, int i)
{
    caret_session *s;
    caret_node_buf n;
    char buf[400] = "";
    size_t len;

    OK(caret_session_open(db, &s));
    node_of(&n, i);
    OK(caret_get_copy(s, &n.node, buf, sizeof buf - 1, &len));
    caret_session_close(s);
    return strtol(buf, NULL, 10);
}

static void a_copy_beside_writers_is_one_moment(void **state)
{
    caret_db *db = open_db();
    pid_t pid[2];

    (void)state;
    for (int w = 0; w < 2; w++) {
        fflush(NULL);
        pid[w] = fork();
        if (pid[w] == 0)
            churn();
    }
    until(20);
    for (int round = 0; round < 12; round++) {
        caret_backup_options o = {.size = sizeof o, .compact = round % 2, .overwrite = 1};
        OK(caret_backup(db, copy, &o));
        caret_db *copied = open_copy();
        long first = field(copied, 0);
        assert_true(first > 0);
        for (int i = 1; i < FIELDS; i++)
            assert_int_equal(field(copied, i), first);
        OK(caret_close(copied));
    }
    for (int w = 0; w < 2; w++)
        kill_and_wait(pid[w]);
    check(db);
    OK(caret_checkpoint(db));
    assert_int_equal(stats(db).held_pages, 0);
    OK(caret_close(db));
}

static void a_file_is_only_replaced_when_told_to(void **state)
{
    caret_db *db = filled(), *copied;
    caret_backup_options over = {.size = sizeof over, .overwrite = 1};
    char place[128];

    (void)state;
    int fd = open(copy, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);
    assert_int_equal(caret_backup(db, copy, NULL), CARET_E_EXISTS);
    assert_non_null(strstr(caret_message(), "copy.caret"));
    struct stat st;
    stat(copy, &st);
    assert_int_equal(st.st_size, 8);
    OK(caret_backup(db, copy, &over));
    copied = open_copy();
    assert_int_equal(caret_backup(db, copy, &over), CARET_E_BUSY); /* in use here */
    OK(caret_close(copied));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        copied = open_copy();
        atomic_store(signal_word, 1);
        for (;;)
            pause();
    }
    until(1);
    assert_int_equal(caret_backup(db, copy, &over), CARET_E_BUSY); /* and there */
    kill_and_wait(pid);
    OK(caret_backup(db, copy, &over));
    assert_int_equal(caret_backup(db, path, &over), CARET_E_INVALID);
    assert_int_equal(caret_backup(db, log_path, &over), CARET_E_INVALID);
    assert_int_equal(caret_backup(db, lock_path, &over), CARET_E_INVALID);
    caret_restore_options r = {.size = sizeof r, .shm_dir = shm_dir, .any_fs = 1};
    assert_int_equal(caret_restore(path, lock_path, &r, NULL), CARET_E_EXISTS);
    snprintf(place, sizeof place, "%s/never.caret", dir);
    assert_int_equal(caret_restore(path, place, &r, NULL), CARET_E_INVALID);
    assert_true(has_lock(path)); /* nothing has dropped it */
    for (over.overwrite = 0; over.overwrite < 2; over.overwrite++) {
        assert_int_equal(caret_backup(db, dir, &over), CARET_E_OPEN);
        assert_non_null(strstr(caret_message(), ": a folder: name a file in it"));
    }
    over.overwrite = 1;
    snprintf(place, sizeof place, "%s/none/copy.caret", dir);
    assert_int_equal(caret_backup(db, place, NULL), CARET_E_OPEN);
    assert_int_equal(caret_backup(db, "", NULL), CARET_E_INVALID);
    OK(caret_close(db));
    caret_options o = options();
    o.readonly = 1;
    OK(caret_open(path, &o, &db));
    assert_int_equal(caret_backup(db, copy, &over), CARET_E_READONLY);
    OK(caret_close(db));
}

struct progress {
    caret_db *db; /* to close */
    uint64_t done, total;
    unsigned calls, stop_at;
};

static int note_progress(void *arg, uint64_t done, uint64_t total)
{
    struct progress *p = arg;

    assert_true(done > p->done && done <= total);
    assert_true(p->total == 0 || p->total == total);
    p->done = done;
    p->total = total;
    if (p->db != NULL)
        OK(caret_close(p->db));
    p->db = NULL;
    return ++p->calls == p->stop_at;
}

static void progress_is_told_and_can_stop_it(void **state)
{
    caret_db *db = filled();

    (void)state;
    unsigned files = files_in(dir);
    for (int compact = 0; compact < 2; compact++) {
        struct progress p = {0};
        caret_backup_options o = {
            .size = sizeof o, .compact = compact, .progress = note_progress, .progress_arg = &p};
        OK(caret_backup(db, copy, &o));
        assert_true(p.calls > 1 && p.done == p.total);
        unlink(copy);
        p = (struct progress){.stop_at = 2};
        assert_int_equal(caret_backup(db, copy, &o), CARET_ROLLBACK);
        assert_int_equal(files_in(dir), files);
        assert_int_equal(stats(db).snapshots, 0);
    }
    struct progress p = {.db = db};
    caret_backup_options o = {.size = sizeof o, .progress = note_progress, .progress_arg = &p};
    OK(caret_backup(db, copy, &o)); /* the handle is closed meanwhile */
    OK(caret_close(open_copy()));
    OK(caret_close(open_db()));
}

static void compacting_tells_its_progress_and_can_be_stopped(void **state)
{
    caret_options o = options();
    caret_db *db = filled();
    uint64_t was = digest(db);
    struct stat before, after;
    struct progress p = {.stop_at = 2};

    (void)state;
    OK(caret_close(db));
    unsigned files = files_in(dir);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(caret_compact(path, &o, note_progress, &p), CARET_ROLLBACK);
    assert_int_equal(files_in(dir), files);
    assert_int_equal(files_in(shm_dir), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    p = (struct progress){0};
    OK(caret_compact(path, &o, note_progress, &p));
    assert_true(p.calls > 1 && p.done == p.total);
    db = open_db();
    assert_true(digest(db) == was);
    OK(caret_close(db));
}

/* ------------------------------------------------------------- failures, deaths */

/* A file system without nameless files. */
static bool any_path(const char *name)
{
    (void)name;
    return true;
}

static bool no_fd(int fd)
{
    (void)fd;
    return false;
}

static int named_only(const char *name, int flags, mode_t mode)
{
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return failed_with(EOPNOTSUPP);
    return real_open(name, flags, mode);
}

static int plain_rename(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int plain_unlink(const char *name)
{
    return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
}

static void nameless_files(bool possible)
{
    tape_hooks = possible ? (struct tape_hooks){0}
                          : (struct tape_hooks){.wants_fd = no_fd,
                                                .wants_path = any_path,
                                                .open = named_only,
                                                .rename = plain_rename,
                                                .unlink = plain_unlink};
}

/* Somebody else makes a file of that name while the backup is written. */
static int make_the_file(void *arg, uint64_t done, uint64_t total)
{
    (void)arg;
    (void)done;
    (void)total;
    int fd = real_open(copy, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);
    return 0;
}

static void a_file_that_appears_late_is_not_replaced(void **state)
{
    caret_db *db = filled();
    caret_backup_options o = {.size = sizeof o, .progress = make_the_file};
    struct stat st;

    (void)state;
    unsigned files = files_in(dir);
    for (int how = 0; how < 2; how++) {
        nameless_files(how == 0);
        assert_int_equal(caret_backup(db, copy, &o), CARET_E_EXISTS);
        assert_int_equal(stat(copy, &st), 0);
        assert_int_equal(st.st_size % 8, 0);
        assert_true(st.st_size < 1000);
        assert_int_equal(files_in(dir), files + 1);
        unlink(copy);
    }
    nameless_files(true);
    OK(caret_close(db));
}

/* Each call of a kind fails once: an error with a text and no new file, or a good copy. */
static void each_fails(caret_db *db, enum call kind, int error, caret_backup_options *o)
{
    unsigned files = files_in(dir), failures = 0;

    for (unsigned nth = 1;; nth++) {
        fail_nth(kind, error, nth, false);
        int rc = caret_backup(db, copy, o);
        bool reached = failing.failed != 0;
        failing.armed = false;
        if (rc == CARET_OK) {
            OK(caret_close(open_copy()));
            unlink(copy);
        } else {
            failures++;
            assert_true(reached && strlen(caret_message()) > 10);
            if (access(copy, F_OK) == 0) { /* only the folder could not be synced */
                assert_int_equal(kind, CALL_FDATASYNC);
                OK(caret_close(open_copy()));
                unlink(copy);
            }
        }
        char lock[128];
        snprintf(lock, sizeof lock, "%s-lock", copy);
        unlink(lock);
        assert_int_equal(files_in(dir), files);
        if (!reached)
            break;
    }
    assert_true(failures > 0);
    check(db);
}

static void failing_calls_leave_no_file(void **state)
{
    static const struct {
        enum call kind;
        int error;
    } kinds[] = {{CALL_OPEN, EMFILE},
                 {CALL_PWRITE, ENOSPC},
                 {CALL_PWRITE, EIO},
                 {CALL_FDATASYNC, EIO},
                 {CALL_FALLOCATE, ENOSPC}};
    caret_db *db = filled();

    (void)state;
    OK(caret_checkpoint(db)); /* so that only the backup writes */
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (int how = 0; how < 4; how++) {
            caret_backup_options o = {.size = sizeof o, .compact = how & 1, .overwrite = how >> 1 & 1};
            nameless_files((how & 1) == 0);
            if (kinds[i].kind != CALL_OPEN || (how & 1) == 0)
                each_fails(db, kinds[i].kind, kinds[i].error, &o);
        }
    }
    nameless_files(false);
    caret_backup_options over = {.size = sizeof over, .overwrite = 1};
    each_fails(db, CALL_RENAME, EIO, &over);
    nameless_files(true);
#if CALLS_SEE_MALLOC
    for (unsigned nth = 1, reached = 1; reached; nth++) {
        caret_backup_options o = {.size = sizeof o, .compact = (int)nth & 1};
        fail_nth(CALL_MALLOC, ENOMEM, nth, false);
        int rc = caret_backup(db, copy, &o);
        reached = failing.failed != 0;
        failing.armed = false;
        assert_true(rc == CARET_OK || rc == CARET_E_NOMEM || rc == CARET_E_OPEN);
        assert_int_equal(access(copy, F_OK) == 0, rc == CARET_OK);
        unlink(copy);
    }
#endif
    OK(caret_close(db));
}

static void a_damaged_database_is_not_copied(void **state)
{
    caret_db *db = filled();
    uint8_t byte;

    (void)state;
    OK(caret_close(db));
    int fd = open(path, O_RDWR);
    for (off_t at = (CARET__FIRST_PAGE + 2) * CARET__PAGE_SIZE;; at += CARET__PAGE_SIZE) {
        struct {
            uint32_t crc, pgno;
            uint8_t type, level;
        } head;
        if (pread(fd, &head, sizeof head, at) != (ssize_t)sizeof head)
            break;
        if (head.type != 1 || head.pgno * (off_t)CARET__PAGE_SIZE != at)
            continue;
        assert_int_equal(pread(fd, &byte, 1, at + 300), 1); /* of a leaf, in the tree or not */
        byte ^= 0x40;
        assert_int_equal(pwrite(fd, &byte, 1, at + 300), 1);
    }
    close(fd);
    db = open_db();
    unsigned files = files_in(dir);
    assert_int_equal(caret_backup(db, copy, NULL), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "page "));
    assert_int_equal(files_in(dir), files);
    caret_close(db);
}

#ifdef CARET_FAULTS
/* Killed at any point: no file, or the finished one; a file with another name is not a database before its meta
 * slot. */
static void a_killed_backup_leaves_nothing_to_be_mistaken(void **state)
{
    static const char *const points[] = {"backup_verified", "backup_written", "backup_synced",
                                         "backup_meta",     "backup_linked",  "backup_named"};
    caret_db *db = filled();

    (void)state;
    OK(caret_checkpoint(db));
    unsigned files = files_in(dir);
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
        for (int how = 0; how < 8; how++) {
            caret_backup_options o = {.size = sizeof o, .compact = how & 1, .overwrite = how >> 1 & 1};
            bool named = (how & 4) != 0;
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) {
                nameless_files(!named);
                caret__fault_arm(points[i], i == 1 ? 3 : 1, CARET__FAULT_KILL);
                caret_backup(db, copy, &o);
                _exit(1);
            }
            int status;
            waitpid(pid, &status, 0);
            assert_true(WIFSIGNALED(status));
            bool there = access(copy, F_OK) == 0;
            if (there)
                OK(caret_close(open_copy()));
            assert_int_equal(there, i == 5 || (i == 4 && !named && !o.overwrite));
            unlink(copy);
            char command[400];
            if (i < 3 && named) { /* its leftover is not a database */
                snprintf(command, sizeof command, "mv %s-partial-* %s", copy, copy);
                assert_int_equal(system(command), 0);
                assert_int_equal(open_code(copy), CARET_E_FOREIGN);
            }
            snprintf(command, sizeof command, "rm -f %s*", copy);
            assert_int_equal(system(command), 0);
            assert_int_equal(files_in(dir), files);
        }
    }
    check(db);
    OK(caret_close(db));
}
#else
static void a_killed_backup_leaves_nothing_to_be_mistaken(void **state)
{
    (void)state;
    need_points();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        BACKUP(a_copy_holds_what_was_there),
        BACKUP(a_packed_copy_has_no_gaps),
        BACKUP(an_empty_database_can_be_copied),
        BACKUP(a_copy_beside_writers_is_one_moment),
        BACKUP(a_file_is_only_replaced_when_told_to),
        BACKUP(progress_is_told_and_can_stop_it),
        BACKUP(compacting_tells_its_progress_and_can_be_stopped),
        BACKUP(a_file_that_appears_late_is_not_replaced),
        BACKUP(failing_calls_leave_no_file),
        BACKUP(a_damaged_database_is_not_copied),
        BACKUP(a_killed_backup_leaves_nothing_to_be_mistaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
