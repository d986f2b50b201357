/*
 * The largest size of a file that a process may write (ulimit -f): whoever runs into it gets SIGXFSZ, which ends it.
 *
 * A child opens the database, then gets a limit, and does one of the things that write a file.  Whatever the limit:
 * no signal; what can't be done is refused with a text that names ulimit -f; others, without a limit, go on and
 * find everything.
 */
#include "support/database.h"

#include "shm/layout.h"

#define NODES 40

/* From one limit to the next, and nodes between checkpoints: syncs of a real disk take their time. */
#ifdef CARET_SMALL
#define TIMES 4
#define BATCH 200
#else
#define TIMES 64
#define BATCH 4000
#endif

enum doing { COMMITS, SYNC, CHECKPOINT, CLOSING, BACKUP, ARCHIVING, OPENING, COMPACTING, RESTORING, DOINGS };
static const char *const doing_names[DOINGS] = {"commits", "sync",       "a checkpoint",
                                                "closing", "a backup",   "an archive",
                                                "opening", "compacting", "restoring"};

/* What the child tells. */
static struct told {
    int64_t nodes;
    bool refused;
    char complaint[400];
} * told;
static char copy_path[128], to_path[128];

static void complain(int rc, const char *what)
{
    snprintf(told->complaint, sizeof told->complaint, "%s: %d %s", what, rc, caret_message());
    _exit(1);
}

static caret_db *opened(enum doing doing)
{
    caret_options o = options();
    caret_db *db = NULL;

    o.log_size = CARET__LOG_MIN;
    o.archive = doing == ARCHIVING ? shm_dir : NULL;
    int rc = caret_open(path, &o, &db);
    if (rc != CARET_OK)
        complain(rc, "opening");
    return db;
}

static int set_more(caret_db *db, int n)
{
    caret_session *s;
    int rc = caret_session_open(db, &s);

    for (int i = 0; rc == CARET_OK && i < n; i++) {
        caret_node_buf node;
        node_of(&node, told->nodes);
        rc = caret_set(s, &node.node, text, text_of(told->nodes, 3000, text));
        told->nodes += rc == CARET_OK;
    }
    caret_session_close(s);
    return rc;
}

static void limit(uint64_t bytes)
{
    struct rlimit all;

    getrlimit(RLIMIT_FSIZE, &all);
    all.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &all);
}

static int do_it(enum doing doing, caret_db *db)
{
    caret_restore_options r = {.size = sizeof r, .shm_dir = shm_dir, .any_fs = 1};
    caret_options o = options();
    caret_db *again = NULL;
    int rc;

    switch (doing) {
    case COMMITS: return set_more(db, 100);
    case SYNC: return caret_sync(db);
    case CHECKPOINT:
    case ARCHIVING: return caret_checkpoint(db);
    case CLOSING: return caret_close(db);
    case BACKUP: return caret_backup(db, copy_path, NULL);
    case COMPACTING: return caret_compact(path, &o, NULL, NULL);
    case RESTORING: return caret_restore(copy_path, to_path, &r, NULL);
    default:
        rc = caret_open(path, &o, &again);
        caret_close(again);
        return rc;
    }
}

/* In the child: have something that is only in memory, then the limit. */
static void limited(enum doing doing, uint64_t bytes)
{
    bool apart = doing >= OPENING;
    caret_db *db = apart ? NULL : opened(doing);

    if (!apart && set_more(db, NODES / 2) != CARET_OK)
        complain(0, "setting");
    limit(bytes);
    int rc = do_it(doing, db);
    told->refused = rc != CARET_OK;
    if (rc != CARET_OK &&
        ((rc != CARET_E_DISKFULL && rc != CARET_E_SHM) || strstr(caret_message(), "ulimit -f") == NULL))
        complain(rc, doing_names[doing]);
    limit(RLIM_INFINITY);
    if (apart || doing == CLOSING)
        _exit(0);
    rc = set_more(db, 1); /* the database is not marked as failed, for a limit of one process */
    if (rc == CARET_OK)
        rc = caret_checkpoint(db);
    if (rc == CARET_OK)
        rc = caret_close(db);
    if (rc != CARET_OK)
        complain(rc, "going on without a limit");
    _exit(0);
}

static void look(void)
{
    caret_db *db = open_db();

    assert_int_equal(count(db, 0, 3000), told->nodes);
    check(db);
    OK(caret_close(db));
}

static bool one(enum doing doing, uint64_t bytes)
{
    int status;

    memset(told, 0, sizeof *told);
    unlink(copy_path);
    unlink(to_path);
    unlink(path);
    caret_db *db = opened(doing);
    OK(set_more(db, NODES));
    if (doing == RESTORING)
        OK(caret_backup(db, copy_path, NULL));
    OK(caret_close(db));
    pid_t pid = fork();
    if (pid == 0)
        limited(doing, bytes);
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status) || told->complaint[0] != '\0')
        fail_msg("%s with a limit of %llu: signal %d %s", doing_names[doing], (unsigned long long)bytes,
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0, told->complaint);
    look();
    return told->refused;
}

static void no_write_goes_over_the_limit(void **state)
{
    (void)state;
    for (unsigned doing = 0; doing < DOINGS; doing++) {
        unsigned refused = 0, done = 0;
        for (uint64_t bytes = 256; bytes <= (uint64_t)CARET__LOG_MIN * 4; bytes *= TIMES)
            *(one(doing, bytes) ? &refused : &done) += 1;
        print_message("%s: %u refused, %u done\n", doing_names[doing], refused, done);
        assert_true(refused > 0);
    }
}

/* The file has grown over the limit of one of its users by another. */
static void what_others_grew_is_refused_to_the_limited(void **state)
{
    (void)state;
    int status;
    caret_db *db = opened(CHECKPOINT);
    OK(set_more(db, 10));
    OK(caret_checkpoint(db));
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *mine = opened(CHECKPOINT);
        limit((uint64_t)CARET__LOG_MIN * 2); /* the log fits */
        atomic_store(signal_word, 1);
        until(2);
        int rc = caret_checkpoint(mine);
        if (rc != CARET_E_DISKFULL || strstr(caret_message(), "ulimit -f") == NULL)
            complain(rc, "a checkpoint of what others grew");
        _exit(0);
    }
    until(1);
    while (told->nodes < (int64_t)(CARET__LOG_MIN * 3ull / 2000)) {
        OK(set_more(db, BATCH));
        OK(caret_checkpoint(db));
    }
    OK(set_more(db, 100));
    atomic_store(signal_word, 2);
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status %x: %s", (unsigned)status, told->complaint);
    OK(caret_checkpoint(db));
    OK(caret_close(db));
    look();
}

/* Files of a database are of several lengths, that of shared memory the longest. */
static void opening_names_the_limit_until_it_is_large_enough(void **state)
{
    (void)state;
    caret_options o = options();
    caret_db *db = NULL;
    unsigned of_memory = 0;
    uint64_t bytes = 1 << 16;

    o.log_size = CARET__LOG_MIN;
    for (int rc = -1; rc != CARET_OK; bytes += bytes / 4) {
        limit(bytes);
        rc = caret_open(path, &o, &db);
        limit(RLIM_INFINITY);
        if (rc != CARET_OK && strstr(caret_message(), "(ulimit -f)") == NULL)
            fail_msg("a limit of %llu: %s", (unsigned long long)bytes, caret_message());
        of_memory += rc == CARET_E_SHM;
    }
    assert_true(of_memory > 0);
    OK(caret_close(db));
}

static int setup_limits(void **state)
{
    if (setup(state) != 0)
        return -1;
    snprintf(copy_path, sizeof copy_path, "%s/copy.caret", dir);
    snprintf(to_path, sizeof to_path, "%s/to.caret", dir);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return told != MAP_FAILED ? 0 : -1;
}

#define LIMIT_TEST(name) cmocka_unit_test_setup_teardown(name, setup_limits, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {LIMIT_TEST(no_write_goes_over_the_limit),
                                       LIMIT_TEST(what_others_grew_is_refused_to_the_limited),
                                       LIMIT_TEST(opening_names_the_limit_until_it_is_large_enough)};
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
