/*
 * Failing system calls: the nth of a kind fails, once or from then on, for every n.
 *
 * A script of commits of all kinds, syncs and checkpoints runs in a child in which
 * one kind of call fails.  Each of its steps is done or refused with an error that
 * has a text; what was acknowledged can be read all the time; a refused commit is
 * not there.  The child then closes, or dies; the next one opens without failures
 * and finds what was acknowledged, nothing that was refused, and a clean check.
 *
 * Two beginnings: no database, and one whose last user was killed, so that its
 * newest commits are only in shared memory.
 *
 * CARET_FAIL_MOST=n: after that many calls of a kind only each 7th (0: no limit).
 */
#include "support/syscalls.h"

#include <dirent.h>

#include "support/database.h"

#include "support/complaint.h"

#include "base/fault.h"
#include "shm/layout.h"
#include "support/crowd.h"

#define COMMITS 100
#define OLD     40 /* nodes of the one who was killed */

enum status { UNTRIED, BEGUN, ACKNOWLEDGED, REFUSED };

/* What the child tells. */
struct told {
    uint8_t status[COMMITS];
    bool reached; /* the call that was to fail was made */
    char complaint[COMPLAINT_MAX];
};

static struct told *told;
static bool after_kill; /* the beginning */
static int sync_mode;

/* -------------------------------------------------------------------- script */

static size_t length_of(int i)
{
    return i % 10 == 3 ? 5000 : i % 10 == 4 ? 70 : 20;
}

static bool is_pair(int i)
{
    return i % 10 == 5;
}

static int set_node(caret_session *s, int64_t node, int i)
{
    caret_node_buf n;

    node_of(&n, node);
    return caret_set(s, &n.node, text, text_of(i, length_of(i), text));
}

static int set_pair(caret_session *s, int i)
{
    int rc = caret_begin(s, 0);

    if (rc == CARET_OK)
        rc = set_node(s, i, i);
    if (rc == CARET_OK)
        rc = set_node(s, 1000 + i, i);
    if (rc == CARET_OK)
        rc = caret_commit(s);
    if (rc != CARET_OK && caret_txn_level(s) > 0) {
        int error = rc;
        char message[256]; /* a rollback may have another one */
        snprintf(message, sizeof message, "%s", caret_message());
        check_error(error, message);
        caret_rollback(s);
        return CARET_ROLLBACK;
    }
    return rc;
}

static void commit(caret_session *s, int i)
{
    told->status[i] = BEGUN;
    int rc = is_pair(i) ? set_pair(s, i) : set_node(s, i, i);
    if (rc == CARET_ROLLBACK) {
        told->status[i] = REFUSED;
        return;
    }
    check_error(rc, "a commit");
    if (rc == CARET_OK)
        told->status[i] = ACKNOWLEDGED;
    else if (sync_mode != CARET_SYNC_COMMIT)
        told->status[i] = REFUSED; /* in commit mode, it may be visible and not on the disk */
}

/* Is node as commit i left it?  CARET_NONE: it has no value. */
static int node_is(caret_session *s, int64_t node, int i)
{
    caret_node_buf n;
    caret_slice v;

    node_of(&n, node);
    int rc = caret_get(s, &n.node, &v);
    if (rc != CARET_OK)
        return rc;
    text_of(i, length_of(i), other);
    if (v.len != length_of(i) || memcmp(v.data, other, v.len) != 0)
        complain("node %d has another value", (int)node);
    return CARET_OK;
}

static void look_at(caret_session *s, int i, const char *when)
{
    int rc = node_is(s, i, i);

    if (rc != CARET_OK && rc != CARET_NONE)
        complain("%s: reading: %s", when, caret_message());
    if (told->status[i] == ACKNOWLEDGED && rc != CARET_OK)
        complain("%s: commit %d was acknowledged and is not there", when, i);
    if ((told->status[i] == REFUSED || told->status[i] == UNTRIED) && rc != CARET_NONE)
        complain("%s: commit %d was refused and is there", when, i);
    if (is_pair(i) && node_is(s, 1000 + i, i) != rc)
        complain("%s: half of commit %d is there", when, i);
}

static void look(caret_session *s, const char *when)
{
    for (int i = 0; i < COMMITS; i++)
        look_at(s, i, when);
    for (int i = 0; after_kill && i < OLD; i++)
        if (node_is(s, 2000 + i, 9) != CARET_OK)
            complain("%s: node %d of the one who was killed: %s", when, i, caret_message());
}

static caret_options how(void)
{
    caret_options o = options();
    o.sync = sync_mode;
    return o;
}

static void script(caret_db *db)
{
    caret_session *s = NULL;
    int rc = caret_session_open(db, &s);

    check_error(rc, "opening a session");
    if (rc != CARET_OK)
        return;
    for (int i = 0; i < COMMITS; i++) {
        commit(s, i);
        if (i % 30 == 17)
            check_error(caret_checkpoint(db), "a checkpoint");
        if (i % 20 == 9)
            check_error(caret_sync(db), "a sync");
    }
    if (failing.kind != CALL_MALLOC && failing.kind != CALL_MMAP)
        look(s, "while calls fail");
    failing.armed = false;
    look(s, "when calls fail no more");
    rc = set_node(s, 1999, 0);
    if (rc != CARET_OK && rc != CARET_E_IO_FAILED)
        complain("writing when calls fail no more: %s", caret_message());
    failing.armed = failing.for_ever;
    caret_session_close(s);
}

static void with_failures(enum call kind, int error, unsigned nth, bool for_ever, bool dies)
{
    caret_options o = how();
    caret_db *db = NULL;

    patience(20);
    fail_nth(kind, error, nth, for_ever);
    int rc = caret_open(path, &o, &db);
    check_error(rc, "opening");
    if ((rc == CARET_OK) != (db != NULL))
        complain("opening: a handle and an error");
    if (rc == CARET_OK)
        script(db);
    told->reached = failing.failed > 0;
    if (dies)
        _exit(0);
    if (rc == CARET_OK)
        check_error(caret_close(db), "closing");
    told->reached |= failing.failed > 0;
    _exit(0);
}

/* ---------------------------------------------------------------- afterwards */

static void without_failures(void)
{
    caret_options o = how();
    char report[1024];
    caret_db *db = NULL;
    caret_session *s;

    patience(20);
    if (caret_open(path, &o, &db) != CARET_OK)
        complain("opening again: %s", caret_message());
    OK(caret_session_open(db, &s));
    look(s, "opened again");
    if (caret_check(db, report, sizeof report) != CARET_OK)
        complain("check: %s", report);
    if (set_node(s, 3000, 0) != CARET_OK)
        complain("writing after it: %s", caret_message());
    caret_session_close(s);
    if (caret_close(db) != CARET_OK)
        complain("closing: %s", caret_message());
    _exit(0);
}

static void empty_folder(const char *name)
{
    DIR *d = opendir(name);
    struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(d), entry->d_name, 0);
    closedir(d);
}

/* A user that is killed, its last commits in the ring only. */
static void begin(void)
{
    int status;

    empty_folder(dir);
    empty_folder(shm_dir);
    memset(told, 0, sizeof *told);
    if (!after_kill)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        caret_session *s;
        caret_db *db = open_db();
        OK(caret_session_open(db, &s));
        for (int i = 0; i < OLD; i++) {
            OK(set_node(s, 2000 + i, 9));
            if (i == OLD / 3)
                OK(caret_checkpoint(db));
            if (i == OLD / 2)
                OK(caret_sync(db));
        }
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
}

static bool ended_well(pid_t pid, const char *what)
{
    int status;

    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(told->complaint, sizeof told->complaint, "%s died of signal %d", what, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0 && told->complaint[0] == '\0')
        snprintf(told->complaint, sizeof told->complaint, "%s failed", what);
    return told->complaint[0] == '\0';
}

#ifdef CARET_SMALL
#define MOST 60u
#else
#define MOST 12u /* each opening makes a log of 64 MiB */
#endif
static unsigned cases, bad;

/* One case; false: there are fewer than nth such calls. */
static bool one_case(enum call kind, int error, unsigned nth, bool for_ever)
{
    begin();
    pid_t pid = fork();
    if (pid == 0)
        with_failures(kind, error, nth, for_ever, nth % 3 == 0);
    bool good = ended_well(pid, "the one with failures");
    if (good) {
        pid = fork();
        if (pid == 0)
            without_failures();
        good = ended_well(pid, "the next one");
    }
    cases++;
    if (!good && bad++ < 10)
        print_error("%s %u fails with %s%s: %s\n", call_names[kind], nth, strerror(error),
                    for_ever ? " and so do all after it" : "", told->complaint);
    return told->reached || !good;
}

static void every_call(enum call kind, int error)
{
    const char *most = getenv("CARET_FAIL_MOST");
    unsigned all = most != NULL ? (unsigned)strtoul(most, NULL, 10) : MOST;

    cases = bad = 0;
    for (unsigned both = 0; both < 2; both++)
        for (unsigned nth = 1; one_case(kind, error, nth, both != 0) && bad < 10;)
            nth += all == 0 || nth < all ? 1 : 7;
    print_message("%u cases of %s failing with %s\n", cases, call_names[kind], strerror(error));
    if (bad > 0)
        fail_msg("%u of %u cases", bad, cases);
}

/* Both beginnings. */
static void every_beginning(enum call kind, int error)
{
    for (unsigned i = 0; i < 2; i++) {
        after_kill = i == 1;
        every_call(kind, error);
    }
}

/* ------------------------------------------------------------- reading only */

/* Opened read-only while calls fail: all that the killed one left, or an error that says why not. */
static void read_with_failures(enum call kind, int error, unsigned nth, bool for_ever, uint64_t view)
{
    caret_options o = {.size = sizeof o, .readonly = 1};
    caret_db *db = NULL;
    caret_session *s = NULL;

    patience(20);
    fail_nth(kind, error, nth, for_ever);
    int rc = caret_open(path, &o, &db);
    check_error(rc, "opening read-only");
    caret_stats st = {.size = sizeof st};
    if (rc == CARET_OK && (caret_stat(db, &st) != CARET_OK || st.view != view))
        complain("what is short is taken for out of reach");
    if (rc == CARET_OK) {
        rc = caret_session_open(db, &s);
        check_error(rc, "a session for reading");
        for (int i = 0; rc == CARET_OK && i < OLD; i++) {
            int read = node_is(s, 2000 + i, 9);
            if (read == CARET_NONE)
                complain("node %d is not there", i);
            check_error(read, "reading");
        }
        caret_session_close(s);
        check_error(caret_close(db), "closing what was read");
    }
    told->reached = failing.failed > 0;
    _exit(0);
}

/* Somebody who has it open, until killed. */
static pid_t live_owner(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        open_db();
        atomic_store(signal_word, 1);
        for (;;)
            pause();
    }
    until(1);
    return pid;
}

static bool one_reader(enum call kind, int error, unsigned nth, bool for_ever, bool live)
{
    begin();
    atomic_store(signal_word, 0);
    pid_t owner = live ? live_owner() : 0, pid = fork();
    if (pid == 0)
        read_with_failures(kind, error, nth, for_ever, live ? CARET_VIEW_LIVE : CARET_VIEW_FILE);
    bool good = ended_well(pid, "the reader"), reached = told->reached;
    if (owner != 0)
        kill_and_wait(owner);
    if (good && (pid = fork()) == 0)
        without_failures();
    good = good && ended_well(pid, "the next one");
    cases++;
    if (!good && bad++ < 10)
        print_error("%s %u fails with %s, reading %s: %s\n", call_names[kind], nth, strerror(error),
                    live ? "beside an owner" : "what a killed one left", told->complaint);
    return reached && good;
}

static void readers(enum call kind, int error)
{
    cases = bad = 0;
    after_kill = true;
    for (unsigned how_many = 0; how_many < 4; how_many++)
        for (unsigned nth = 1; one_reader(kind, error, nth, how_many % 2 != 0, how_many >= 2); nth++)
            continue;
    print_message("%u readers, %s failing with %s\n", cases, call_names[kind], strerror(error));
    if (bad > 0)
        fail_msg("%u of %u readers", bad, cases);
}

/* --------------------------------------------------------------------- tests */

static void readers_get_errors_and_leave_everything(void **state)
{
    (void)state;
    readers(CALL_OPEN, EMFILE);
    readers(CALL_FALLOCATE, ENOSPC);
    readers(CALL_FTRUNCATE, ENOSPC);
    readers(CALL_MMAP, ENOMEM);
    if (CALLS_SEE_MALLOC)
        readers(CALL_MALLOC, ENOMEM);
}

/* The calls that change a file are not even made. */
static void readers_write_nothing(void **state)
{
    static const enum call writing[] = {CALL_PWRITE, CALL_FDATASYNC, CALL_RENAME};

    (void)state;
    after_kill = true;
    for (size_t i = 0; i < sizeof writing / sizeof writing[0]; i++)
        for (int live = 0; live < 2; live++)
            assert_false(one_reader(writing[i], EIO, 1, false, live != 0) || told->complaint[0] != 0);
}

static void no_descriptor_is_left(void **state)
{
    (void)state;
    every_beginning(CALL_OPEN, EMFILE);
}

static void writing_finds_the_disk_full(void **state)
{
    (void)state;
    every_beginning(CALL_PWRITE, ENOSPC);
}

static void writing_fails(void **state)
{
    (void)state;
    every_beginning(CALL_PWRITE, EIO);
    sync_mode = CARET_SYNC_COMMIT;
    every_beginning(CALL_PWRITE, EIO);
}

static void syncing_fails(void **state)
{
    (void)state;
    every_beginning(CALL_FDATASYNC, EIO);
    sync_mode = CARET_SYNC_COMMIT;
    every_beginning(CALL_FDATASYNC, EIO);
}

static void allocating_finds_the_disk_or_memory_full(void **state)
{
    (void)state;
    every_beginning(CALL_FALLOCATE, ENOSPC);
}

static void sizing_and_renaming_fail(void **state)
{
    (void)state;
    every_beginning(CALL_FTRUNCATE, ENOSPC);
    every_beginning(CALL_RENAME, EIO);
}

static void mapping_fails(void **state)
{
    (void)state;
    every_beginning(CALL_MMAP, ENOMEM);
}

static void memory_is_short(void **state)
{
    (void)state;
    if (!CALLS_SEE_MALLOC) {
        print_message("skipped: the sanitizer has its own malloc\n");
        skip();
    }
    every_beginning(CALL_MALLOC, ENOMEM);
}

static int setup_calls(void **state)
{
    if (setup(state) != 0)
        return -1;
    sync_mode = CARET_SYNC_INTERVAL;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    complaint = told->complaint;
    return told != MAP_FAILED ? 0 : -1;
}

#define CALL_TEST(name) cmocka_unit_test_setup_teardown(name, setup_calls, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {CALL_TEST(no_descriptor_is_left),
                                       CALL_TEST(writing_finds_the_disk_full),
                                       CALL_TEST(writing_fails),
                                       CALL_TEST(syncing_fails),
                                       CALL_TEST(allocating_finds_the_disk_or_memory_full),
                                       CALL_TEST(sizing_and_renaming_fail),
                                       CALL_TEST(mapping_fails),
                                       CALL_TEST(memory_is_short),
                                       CALL_TEST(readers_get_errors_and_leave_everything),
                                       CALL_TEST(readers_write_nothing)};
    return cmocka_run_group_tests_name("syscalls", tests, NULL, NULL);
}
