/*
 * What containers and several users make of a database: pid namespaces, other shared memory, second mounts, umasks,
 * rights by group, files that vanish.
 */
#include "support/database.h"

#include "base/fault.h"
#include "support/apart.h"
#include "support/points.h"

#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define GROUP 20001 /* of two users, 20002 and 20003; none of them need exist */
/* ------------------------------------------------------- what the kernel says */

static uint32_t fake_fs; /* instead of the true type of every file system, 0 = none */

int statfs(const char *name, struct statfs *out)
{
    int rc = (int)syscall(SYS_statfs, name, out);
    if (rc == 0 && fake_fs != 0)
        out->f_type = (__typeof__(out->f_type))fake_fs;
    return rc;
}

int fstatfs(int fd, struct statfs *out)
{
    int rc = (int)syscall(SYS_fstatfs, fd, out);
    if (rc == 0 && fake_fs != 0)
        out->f_type = (__typeof__(out->f_type))fake_fs;
    return rc;
}

static void remote_file_systems_are_refused_unless_asked_for(void **state)
{
    static const uint32_t types[] = {0x6969 /* NFS */, 0xfe534d42 /* SMB */, 0x65735546 /* FUSE */};

    (void)state;
    for (int there = 0; there < 2; there++) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            caret_options o = options();
            caret_db *db = NULL;
            o.any_fs = 0;
            fake_fs = types[i];
            assert_int_equal(caret_open(path, &o, &db), CARET_E_NETFS);
            assert_non_null(strstr(caret_message(), "any_fs"));
            o.readonly = 1;
            assert_int_equal(caret_open(path, &o, &db), there || i < 9 ? CARET_E_NETFS : CARET_E_NOTFOUND);
            assert_int_equal(files_in(dir), (unsigned)there);
            fake_fs = 0;
        }
        fake_fs = types[0];
        caret_db *db = open_db(); /* any_fs */
        put(db, 0, 10, 10);
        OK(caret_close(db));
        fake_fs = 0;
    }
}

/* ----------------------------------------------------------- pid namespaces */

#define ROUNDS 1500

static void name(caret_node_buf *n, const char *variable)
{
    OK(caret_node_var(&n->node, sizeof *n, variable, strlen(variable)));
}

static long long_of(caret_slice v)
{
    char digits[24] = "";

    /* What follows it in memory may be digits, too. */
    memcpy(digits, v.data, v.len < sizeof digits ? v.len : 0);
    return strtol(digits, NULL, 10);
}

static int add_one(caret_session *s, void *arg)
{
    caret_slice v;
    char value[24];
    int rc = caret_get(s, arg, &v);

    long n = rc == CARET_OK ? long_of(v) : 0;
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return caret_set(s, arg, value, (size_t)snprintf(value, sizeof value, "%ld", n + 1));
}

/* Adds in three ways: by incr, in transactions, and by hand under a lock. */
static void add_up(void)
{
    caret_node_buf a, b, c;
    caret_session *s;
    caret_db *db = NULL;

    CHILD(try_open(&db) == CARET_OK && caret_session_open(db, &s) == CARET_OK);
    name(&a, "^incr");
    name(&b, "^txn");
    name(&c, "^lock");
    for (int i = 0; i < ROUNDS; i++) {
        CHILD(caret_incr_int(s, &a.node, 1, 0, NULL) == CARET_OK);
        CHILD(caret_transaction(s, add_one, &b.node, 0) == CARET_OK);
        CHILD(caret_lock(s, &c.node, CARET_FOREVER) == CARET_OK);
        CHILD(add_one(s, &c.node) == CARET_OK);
        CHILD(caret_unlock(s, &c.node) == CARET_OK);
    }
    caret_session_close(s);
    CHILD(caret_close(db) == CARET_OK);
}

static void hold_a_lock(void)
{
    caret_node_buf n;
    caret_session *s;
    caret_db *db = NULL;

    CHILD(try_open(&db) == CARET_OK && caret_session_open(db, &s) == CARET_OK);
    name(&n, "^held");
    CHILD(caret_lock(s, &n.node, 0) == CARET_OK);
    atomic_store(signal_word, 1);
    for (;;)
        pause();
}

/* Process 1 of a pid namespace of its own.  Its parent ends with its status. */
static pid_t in_pid_namespace(void (*body)(void))
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    CHILD(own_pids());
    pid = fork();
    if (pid == 0) {
        CHILD(getpid() == 1);
        body();
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static long number(caret_db *db, const char *variable)
{
    caret_node_buf n;
    caret_session *s;
    caret_slice v;

    OK(caret_session_open(db, &s));
    name(&n, variable);
    OK(caret_get(s, &n.node, &v));
    long value = long_of(v);
    caret_session_close(s);
    return value;
}

/* All of them are process 1, thread 1, for themselves. */
static void pid_namespaces_share_a_database(void **state)
{
    pid_t pid[3];

    (void)state;
    if (!may_have_own_pids())
        skip();
    for (int i = 0; i < 3; i++)
        pid[i] = in_pid_namespace(add_up);
    for (int i = 0; i < 3; i++)
        join(pid[i]);
    caret_db *db = open_db();
    assert_int_equal(number(db, "^incr"), 3 * ROUNDS);
    assert_int_equal(number(db, "^txn"), 3 * ROUNDS);
    assert_int_equal(number(db, "^lock"), 3 * ROUNDS);
    check(db);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
}

/* A death is noticed that no pid could tell of. */
static void locks_of_the_dead_in_another_pid_namespace_are_freed(void **state)
{
    caret_node_buf n;
    caret_session *s;
    int status;

    (void)state;
    if (!may_have_own_pids())
        skip();
    pid_t pid = in_pid_namespace(hold_a_lock);
    until(1);
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    name(&n, "^held");
    assert_int_equal(caret_lock(s, &n.node, 0), CARET_LOCK_TIMEOUT);
    char command[64];
    snprintf(command, sizeof command, "kill -9 $(cat /proc/%d/task/%d/children)", (int)pid, (int)pid);
    assert_int_equal(system(command), 0);
    waitpid(pid, &status, 0);
    OK(caret_lock(s, &n.node, 0));
    caret_session_close(s);
    OK(caret_close(db));
}

/* ------------------------------------------------- other memory, other mounts */

static void with_own_mounts(void (*body)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        CHILD(own_mounts());
        body();
        _exit(0);
    }
    join(pid);
}

static uint64_t reads_as(int64_t nodes)
{
    caret_options o = {.size = sizeof o, .readonly = 1};
    caret_db *db = NULL;
    caret_stats st = {.size = sizeof st};

    CHILD(caret_open(path, &o, &db) == CARET_OK);
    CHILD(count(db, 0, 10) == nodes);
    CHILD(caret_stat(db, &st) == CARET_OK);
    caret_close(db);
    return st.view;
}

static void with_other_memory(void)
{
    CHILD(mount("none", shm_dir, "tmpfs", 0, NULL) == 0);
    CHILD(open_code(path) == CARET_E_BUSY);
    CHILD(strstr(caret_message(), shm_dir) != NULL && strstr(caret_message(), "container") != NULL);
    CHILD(reads_as(10) == CARET_VIEW_FILE);
}

static void another_containers_memory_is_told_as_the_reason(void **state)
{
    (void)state;
    if (!may_have_own_mounts())
        skip();
    pid_t child = child_with(0, 20, 10);
    kill_and_wait(child);
    caret_db *db = open_db();
    OK(caret_close(db));
    unlink(path);
    pid_t owner = fork();
    if (owner == 0) {
        db = open_db();
        put(db, 0, 10, 10);
        OK(caret_checkpoint(db));
        put(db, 10, 20, 10);
        atomic_store(signal_word, 5);
        for (;;)
            pause();
    }
    until(5);
    with_own_mounts(with_other_memory);
    kill_and_wait(owner);
    db = open_db();
    assert_int_equal(count(db, 0, 10), 20);
    OK(caret_close(db));
}

static char second[72]; /* directory of the second mount */

/* The file alone is mounted elsewhere: it has another lock file there, and nobody would know of the other. */
static void with_second_mount_of_the_file(void)
{
    char other_path[88];

    snprintf(other_path, sizeof other_path, "%s/other.caret", second);
    close(open(other_path, O_CREAT | O_WRONLY, 0644));
    CHILD(mount(path, other_path, NULL, MS_BIND, NULL) == 0);
    snprintf(path, sizeof path, "%s", other_path);
    CHILD(open_code(path) == CARET_E_BUSY && strstr(caret_message(), "mount") != NULL);
    CHILD(reads_as(10) == CARET_VIEW_FILE);
    CHILD(files_in(second) == 1); /* no lock file is left there */
}

/* The directory: one lock file, whatever its path. */
static void with_second_mount_of_the_directory(void)
{
    CHILD(mount(dir, second, NULL, MS_BIND, NULL) == 0);
    snprintf(path, sizeof path, "%s/db.caret", second);
    caret_db *db = open_db();
    CHILD(count(db, 0, 10) == 20);
    put(db, 20, 30, 10);
    CHILD(caret_close(db) == CARET_OK);
}

static void second_mounts_are_refused_or_shared(void **state)
{
    (void)state;
    if (!may_have_own_mounts())
        skip();
    snprintf(second, sizeof second, "%s-2", dir);
    assert_int_equal(mkdir(second, 0755), 0);
    pid_t owner = fork();
    if (owner == 0) {
        caret_db *db = open_db();
        put(db, 0, 10, 10);
        OK(caret_checkpoint(db));
        put(db, 10, 20, 10);
        atomic_store(signal_word, 1);
        until(2);
        CHILD(count(db, 0, 10) == 30);
        check(db);
        OK(caret_close(db));
        _exit(0);
    }
    until(1);
    with_own_mounts(with_second_mount_of_the_file);
    with_own_mounts(with_second_mount_of_the_directory);
    atomic_store(signal_word, 2);
    join(owner);
    assert_int_equal(files_in(dir), 1);
    char command[200];
    snprintf(command, sizeof command, "rm -rf --one-file-system %s", second);
    assert_int_equal(system(command), 0);
}

/* One has read the file and not claimed it yet, while another opens it by its own path, changes and closes it. */
static void with_two_who_open_in_turns(void)
{
    char other_path[88], first[sizeof path];
    int status;

    snprintf(other_path, sizeof other_path, "%s/other.caret", second);
    snprintf(first, sizeof first, "%s", path);
    close(open(other_path, O_CREAT | O_WRONLY, 0644));
    CHILD(mount(path, other_path, NULL, MS_BIND, NULL) == 0);
    pid_t late = fork();
    if (late == 0) {
        snprintf(path, sizeof path, "%s", other_path);
        caret__fault_arm("open_data", 1, CARET__FAULT_STOP);
        caret_db *db = open_db();
        CHILD(count(db, 0, 10) == 400);
        check(db);
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    CHILD(late > 0 && waitpid(late, &status, WUNTRACED) == late && WIFSTOPPED(status));
    caret_db *db = open_db();
    put(db, 20, 400, 10);
    CHILD(caret_close(db) == CARET_OK);
    CHILD(kill(late, SIGCONT) == 0 && waitpid(late, &status, 0) == late && status == 0);
    snprintf(path, sizeof path, "%s", first);
    db = open_db();
    CHILD(count(db, 0, 10) == 400);
    check(db);
    CHILD(caret_close(db) == CARET_OK);
}

static void what_was_read_before_the_claim_is_read_again(void **state)
{
    (void)state;
    need_points();
    if (!may_have_own_mounts())
        skip();
    caret_db *db = open_db();
    put(db, 0, 20, 10);
    OK(caret_close(db));
    snprintf(second, sizeof second, "%s-2", dir);
    assert_int_equal(mkdir(second, 0755), 0);
    with_own_mounts(with_two_who_open_in_turns);
    char command[200];
    snprintf(command, sizeof command, "rm -rf --one-file-system %s", second);
    assert_int_equal(system(command), 0);
}

/* A process that is being killed has its locks taken back one after the other: that is not a second mount. */
static void those_who_die_are_no_second_mount(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        pid_t pid = child_with(i, i + 1, 10);
        kill(pid, SIGKILL);
        caret_db *db = open_db(); /* joins the dying, or recovers after them */
        assert_int_equal(count(db, 0, 10), i + 1);
        OK(caret_close(db));
        waitpid(pid, NULL, 0);
    }
}

/* --------------------------------------------------------------------- users */

static void become(uid_t uid, mode_t mask)
{
    gid_t group = GROUP;

    umask(mask);
    if (setgroups(1, &group) != 0 || setgid((gid_t)uid) != 0 || setuid(uid) != 0)
        _exit(77);
}

static mode_t mode_of(const char *file, gid_t *gid)
{
    struct stat st;
    char command[300], found[300] = "";

    if (file == NULL) { /* the segment */
        snprintf(command, sizeof command, "ls -d %s/caret-*", shm_dir);
        FILE *p = popen(command, "r");
        CHILD(fgets(found, sizeof found, p) != NULL);
        pclose(p);
        found[strcspn(found, "\n")] = 0;
        file = found;
    }
    CHILD(stat(file, &st) == 0);
    *gid = st.st_gid;
    return st.st_mode & 0777;
}

static pid_t user(uid_t uid, mode_t mask, int64_t from, uint32_t say)
{
    pid_t pid = fork();
    gid_t gid = 0;

    if (pid != 0)
        return pid;
    become(uid, mask);
    caret_db *db = NULL;
    CHILD(try_open(&db) == CARET_OK);
    put(db, from, from + 10, 10);
    CHILD(mode_of(path, &gid) == 0660 && gid == GROUP);
    CHILD(mode_of(log_path, &gid) == 0660 && gid == GROUP);
    CHILD(mode_of(lock_path, &gid) == 0660 && gid == GROUP);
    CHILD(mode_of(NULL, &gid) == 0660 && gid == GROUP);
    atomic_store(signal_word, say);
    until(say + 1);
    CHILD(caret_close(db) == CARET_OK);
    _exit(0);
}

static bool prepare_users(void)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can become somebody else\n");
        return false;
    }
    if (chown(dir, 0, GROUP) != 0 || chmod(dir, 0770) != 0 || chmod(shm_dir, 01777) != 0)
        return false;
    close(open(path, O_CREAT | O_WRONLY, 0600));
    return chown(path, 20002, GROUP) == 0 && chmod(path, 0660) == 0;
}

/* Two users of one group, with umasks that leave nothing to others: the data file's rights count for all files. */
static void users_of_a_group_share_whatever_their_umask(void **state)
{
    (void)state;
    if (!prepare_users())
        skip();
    pid_t first = user(20002, 077, 0, 1);
    until(1);
    pid_t other_user = user(20003, 0777, 10, 3);
    until(3);
    atomic_store(signal_word, 2);
    join(first); /* was first, and leaves before the other */
    atomic_store(signal_word, 4);
    join(other_user);
    assert_int_equal(files_in(dir), 1);

    atomic_store(signal_word, 0); /* the one that was killed is recovered by the other */
    first = user(20003, 0, 20, 1);
    until(1);
    kill_and_wait(first);
    pid_t pid = fork();
    if (pid == 0) {
        become(20002, 077);
        caret_db *db = NULL;
        CHILD(try_open(&db) == CARET_OK && count(db, 0, 10) == 30);
        check(db);
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
    pid = fork();
    if (pid == 0) { /* a user without rights has none */
        if (setgroups(0, NULL) != 0 || setgid(20004) != 0 || setuid(20004) != 0)
            _exit(77);
        CHILD(open_code(path) == CARET_E_OPEN);
        _exit(0);
    }
    join(pid);
}

/* In a directory like /dev/shm nobody removes the segment of another user: its memory is given back all the same. */
static void memory_of_another_users_segment_is_given_back(void **state)
{
    struct stat st;
    char segment[300] = "", command[200];

    (void)state;
    if (!prepare_users())
        skip();
    pid_t first = user(20002, 022, 0, 1);
    until(1);
    snprintf(command, sizeof command, "ls %s/caret-*", shm_dir);
    FILE *p = popen(command, "r");
    assert_non_null(fgets(segment, sizeof segment, p));
    pclose(p);
    segment[strcspn(segment, "\n")] = 0;
    pid_t other_user = user(20003, 022, 10, 3);
    until(3);
    atomic_store(signal_word, 2);
    join(first);
    assert_int_equal(stat(segment, &st), 0);
    assert_true(st.st_blocks > 0);
    long before = (long)st.st_blocks;
    atomic_store(signal_word, 4);
    join(other_user); /* the last */
    if (stat(segment, &st) == 0)
        assert_in_range(st.st_blocks * 4, 0, before); /* the header stays */
    caret_db *db = open_db();                         /* root: and sweeps it away */
    assert_int_equal(count(db, 0, 10), 20);
    assert_int_equal(files_in(shm_dir), 1);
    OK(caret_close(db));
    assert_int_equal(files_in(shm_dir), 0);
}

/* ------------------------------------------------------------ vanishing files */

static void removed_or_replaced_file_is_told(void **state)
{
    (void)state;
    for (int replaced = 0; replaced < 2; replaced++) {
        char copy[128], command[300];
        caret_db *db = open_db();
        put(db, 0, 10, 10);
        OK(caret_close(db));
        snprintf(copy, sizeof copy, "%s/copy", dir);
        snprintf(command, sizeof command, "cp %s %s", path, copy);
        assert_int_equal(system(command), 0);
        db = open_db();
        put(db, 10, 20, 10);
        OK(caret_sync(db));
        if (replaced)
            assert_int_equal(rename(copy, path), 0);
        else
            assert_int_equal(unlink(path), 0);
        assert_int_equal(count(db, 0, 10), 20);
        put(db, 20, 21, 10);
        assert_int_equal(caret_sync(db), CARET_E_EVICTED);
        assert_non_null(strstr(caret_message(), "replaced"));
        assert_int_equal(caret_checkpoint(db), CARET_E_EVICTED);
        if (replaced) { /* a process that comes by the path meets the other file, and those who have the old one open */
            pid_t pid = fork();
            if (pid == 0) {
                execl("/proc/self/exe", "test_open_containers", "--open", path, shm_dir, (char *)NULL);
                _exit(9);
            }
            int status;
            waitpid(pid, &status, 0);
            assert_int_equal(WEXITSTATUS(status), -CARET_E_BUSY);
        }
        assert_int_equal(caret_close(db), CARET_E_EVICTED);
        assert_int_equal(files_in(shm_dir), 0);
        if (replaced) {
            db = open_db();
            assert_int_equal(count(db, 0, 10), 10);
            OK(caret_close(db));
        }
        unlink(path);
        unlink(copy);
        assert_int_equal(files_in(dir), 0);
    }
}

/* As when a program removes its temporary folder before it closes. */
static void memory_of_a_removed_database_goes_with_the_last(void **state)
{
    char command[200];

    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 10);
    pid_t child = child_with(10, 20, 10);
    snprintf(command, sizeof command, "rm %s*", path);
    assert_int_equal(system(command), 0);
    assert_int_equal(caret_close(db), CARET_E_EVICTED);
    assert_int_equal(files_in(shm_dir), 1); /* the child uses it */
    kill_and_wait(child);

    db = open_db(); /* another database in its place: what the dead left is not its own, and may be swept */
    OK(caret_sync(db));
    int files = files_in(shm_dir);
    assert_in_range(files, 1, 2);
    child = fork();
    if (child == 0) {
        put(db, 0, 10, 10); /* attached; that the first child was said 1 */
        atomic_store(signal_word, 2);
        until(3);
        _exit(caret_close(db) == CARET_E_EVICTED ? 0 : 1);
    }
    until(2);
    assert_int_equal(system(command), 0);
    assert_int_equal(caret_close(db), CARET_E_EVICTED);
    assert_int_equal(files_in(shm_dir), files);
    atomic_store(signal_word, 3);
    join(child);
    assert_int_equal(files_in(shm_dir), files - 1);
}

static void removed_log_is_told_and_a_checkpoint_saves_all(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, 10, 10);
    OK(caret_sync(db));
    assert_int_equal(unlink(log_path), 0);
    put(db, 10, 20, 10);
    assert_int_equal(caret_sync(db), CARET_E_EVICTED);
    assert_non_null(strstr(caret_message(), log_path));
    caret_session *s;
    caret_slice value;
    OK(caret_session_open(db, &s));
    OK(caret_begin(s, CARET_TXN_SYNC));
    OK(caret_set_path(s, "^synced", NULL, 0, "x", 1));
    assert_int_equal(caret_commit(s), CARET_E_EVICTED);
    assert_int_equal(caret_txn_level(s), 0); /* it is over, and there to see */
    OK(caret_get_path(s, "^synced", NULL, 0, &value));
    caret_session_close(s);
    OK(caret_checkpoint(db));
    assert_int_equal(count(db, 0, 10), 20);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, 0, 10), 20);
    OK(caret_close(db));
}

static void removed_segment_with_owners_is_told(void **state)
{
    char command[200];

    (void)state;
    pid_t child = child_with(0, 20, 10);
    snprintf(command, sizeof command, "rm %s/*", shm_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(open_code(path), CARET_E_BUSY);
    assert_non_null(strstr(caret_message(), "removed"));
    kill_and_wait(child);
    assert_int_equal(open_code(path), CARET_OK); /* what the log has */
}

static int open_as_program(const char *name_of, const char *shm)
{
    snprintf(path, sizeof path, "%s", name_of);
    snprintf(shm_dir, sizeof shm_dir, "%s", shm);
    return -open_code(path);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--open") == 0)
        return open_as_program(argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        TEST(remote_file_systems_are_refused_unless_asked_for),
        TEST(pid_namespaces_share_a_database),
        TEST(locks_of_the_dead_in_another_pid_namespace_are_freed),
        TEST(another_containers_memory_is_told_as_the_reason),
        TEST(second_mounts_are_refused_or_shared),
        TEST(what_was_read_before_the_claim_is_read_again),
        TEST(those_who_die_are_no_second_mount),
        TEST(users_of_a_group_share_whatever_their_umask),
        TEST(memory_of_another_users_segment_is_given_back),
        TEST(removed_or_replaced_file_is_told),
        TEST(memory_of_a_removed_database_goes_with_the_last),
        TEST(removed_log_is_told_and_a_checkpoint_saves_all),
        TEST(removed_segment_with_owners_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
