/* A host that closes every descriptor, or one of ours, and opens files of its own: none of them is touched. */
#include <stdbool.h>
#include <sys/syscall.h>

#include "support/database.h"

#include "support/child.h"

#define FIRST 3
#define FILES 60

static bool inherited;     /* the handle is one of two in this process */
static int host_fd[FILES]; /* where a file of the host's is, -1: it had no room there */

static void host_name(int i, char *name, size_t cap)
{
    snprintf(name, cap, "%s/host-%d", dir, i);
}

/* A file of the host's under the number: its content is that. */
static void host_opens(int i)
{
    char name[128];

    host_name(i, name, sizeof name);
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHILD(fd >= 0 && dprintf(fd, "host %d", i) > 0);
    host_fd[i - FIRST] = fd;
}

/* They are open, at the same numbers, and as long as they were. */
static void host_is_whole(void)
{
    for (int i = FIRST; i < FIRST + FILES; i++) {
        char name[128], want[32], got[32] = "";
        struct stat here, there;
        int fd = host_fd[i - FIRST];

        if (fd < 0)
            continue;
        host_name(i, name, sizeof name);
        snprintf(want, sizeof want, "host %d", i);
        CHILD(fstat(fd, &here) == 0 && stat(name, &there) == 0);
        CHILD(here.st_ino == there.st_ino && here.st_size == (off_t)strlen(want));
        CHILD(here.st_blocks <= 8);
        CHILD(pread(fd, got, sizeof got - 1, 0) == (ssize_t)strlen(want) && strcmp(got, want) == 0);
    }
}

/* Everything there is, in the hope that some of it writes, allocates, locks or closes.  Says whether it was told so. */
static bool everything(caret_db *db, caret_session *s, caret_log *log)
{
    static char big[100000];
    char report[256], copy[128];
    caret_node_buf n;
    caret_slice v;
    caret_change change = {.size = sizeof change};
    bool told = false;
    int rc = CARET_OK;

#define TELLS(call)                                                                                          \
    (rc = (call), told |= rc == CARET_E_EVICTED && strstr(caret_message(), "open it again") != NULL)
    caret_node_var(&n.node, sizeof n, "^t", 2);
    for (int i = 0; i < 1500 && rc == CARET_OK; i++) {
        caret_node_var(&n.node, sizeof n, "^t", 2);
        caret_node_child_int(&n.node, sizeof n, &n.node, i);
        TELLS(caret_set(s, &n.node, big, i % 3 == 0 ? 40000 : i % 3 == 1 ? 800 : 10));
    }
    caret_node_var(&n.node, sizeof n, "^t", 2);
    caret_node_child_int(&n.node, sizeof n, &n.node, 7);
    TELLS(caret_get(s, &n.node, &v));
    TELLS(caret_lock(s, &n.node, 1000000));
    TELLS(caret_begin(s, 0));
    TELLS(caret_set(s, &n.node, "x", 1));
    TELLS(caret_commit(s));
    TELLS(caret_begin(s, CARET_TXN_SNAPSHOT));
    TELLS(caret_rollback(s));
    TELLS(caret_unlock(s, &n.node));
    TELLS(caret_checkpoint(db));
    TELLS(caret_sync(db));
    TELLS(caret_log_next(log, &change));
    TELLS(caret_check_online(db, report, sizeof report));
    snprintf(copy, sizeof copy, "%s/copy", dir);
    TELLS(caret_backup(db, copy, NULL));
    return told;
}

/* only: the one number that the host takes; 0: all of them. */
static void host(caret_options o, int only)
{
    caret_db *db = NULL;
    caret_session *s = NULL;
    caret_log *log = NULL;

    CHILD(caret_open(path, &o, &db) == CARET_OK && caret_session_open(db, &s) == CARET_OK);
    CHILD(caret_log_open(db, 0, &log) == CARET_OK);
    if (!o.readonly)
        put(db, 0, 50, 3000);
    for (int i = 0; i < FILES; i++)
        host_fd[i] = -1;
    if (only == 0)
        CHILD(syscall(SYS_close_range, FIRST, ~0u, 0) == 0);
    else
        close(only);
    for (int i = FIRST; i < FIRST + FILES; i++)
        if (only == 0 || i == only)
            host_opens(i);
    bool told = everything(db, s, log);
    host_is_whole();
    CHILD(told || only != 0 || o.readonly);
    caret_log_close(log);
    caret_session_close(s);
    int rc = caret_close(db);
    CHILD(rc == CARET_E_EVICTED || only != 0 || o.readonly || inherited);
    host_is_whole();
    _exit(0);
}

static void hosts(caret_options o, int first, int last)
{
    char command[160];

    for (int only = first; only <= last; only++) {
        pid_t pid = fork();
        if (pid == 0)
            host(o, only);
        join(pid);
        snprintf(command, sizeof command, "rm -f %s/host-* %s/copy", dir, dir);
        assert_int_equal(system(command), 0);
    }
    caret_db *db =
        open_db(); /* nothing of what others did is damaged, and nobody is told that writing failed */
    check(db);
    put(db, 0, 50, 3000);
    OK(caret_close(db));
}

static void one_that_closes_all_keeps_its_files(void **state)
{
    caret_options o = options();

    (void)state;
    hosts(o, 0, 0);
    o.sync = CARET_SYNC_COMMIT;
    hosts(o, 0, 0);
    o.no_thread = 0;
    o.sync = CARET_SYNC_INTERVAL;
    o.sync_interval = 0.01;
    hosts(o, 0, 0);
}

static void one_that_closes_any_keeps_its_file(void **state)
{
    (void)state;
    hosts(options(), FIRST, FIRST + 5);
}

static void one_that_only_reads_keeps_its_files(void **state)
{
    caret_options o = options();
    caret_db *db = open_db();

    (void)state;
    put(db, 0, 50, 3000);
    OK(caret_checkpoint(db));
    o.readonly = 1;
    for (int only = 0; only < FIRST + 3; only = only == 0 ? FIRST : only + 1) {
        pid_t pid = fork();
        if (pid == 0)
            host(o, only);
        join(pid);
        char command[160];
        snprintf(command, sizeof command, "rm -f %s/host-* %s/copy", dir, dir);
        assert_int_equal(system(command), 0);
    }
    check(db);
    OK(caret_close(db));
}

/* Others, who still have their descriptors, are not told that a write has failed. */
static void others_go_on(void **state)
{
    caret_db *db = open_db();

    (void)state;
    put(db, 0, 10, 100);
    inherited = true;
    pid_t pid = fork();
    if (pid == 0)
        host(options(), 0);
    join(pid);
    inherited = false;
    put(db, 10, 20, 100);
    OK(caret_sync(db));
    OK(caret_checkpoint(db));
    check(db);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_closes_all_keeps_its_files),
        TEST(one_that_closes_any_keeps_its_file),
        TEST(one_that_only_reads_keeps_its_files),
        TEST(others_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
