/*
 * Every system call of every operation fails, on databases in every state.
 *
 *     operation   opening, closing, a checkpoint (with an archive too), a backup (over another one too), compacting,
 *                 restoring, reading only (also as a user who may not open the lock file)
 *     state       new, an empty file, closed cleanly, killed, killed in a recovery (at each of its syncs), restored,
 *                 with others attached
 *     failure     a kind of call, with an errno, having done nothing, half or all of its work; once or from then on
 *
 * A run without failures counts the calls of each kind that an operation makes in a state: so the cases are known,
 * and a sample of them is any.  A case: a child brings the state about; another one does the operation while the nth
 * call fails, goes on without failures, and checks that its descriptors and mappings are gone; the next one opens
 * the database and finds everything that was acknowledged, a clean check, writes, and closes: then the database is
 * one file, and no shared memory is left.
 *
 * CARET_MATRIX=n: each nth case (1: all).  CARET_MATRIX_ONLY=text: those whose name has the text in it.
 */
#include "support/syscalls.h"

#include <sys/prctl.h>

#include "support/database.h"

#include "support/complaint.h"

#include "shm/layout.h"

#ifdef CARET_SMALL
#define EVERY 60u
#else
#define EVERY 400u /* each opening makes a log of 8 MiB */
#endif

#define FIRST 30 /* nodes of those who came before */
#define MORE  12 /* of the one whose calls fail, before they do */

enum state { NEW, EMPTY, CLEAN, KILLED, HALF1, HALF2, HALF3, RESTORED, LIVE, STATES };
enum operation {
    OPENING,
    CLOSING,
    CHECKPOINT,
    ARCHIVING,
    BACKUP,
    OVERWRITE,
    COMPACT,
    RESTORE,
    READING,
    READING_APART,
    OPERATIONS
};

static const char *const state_names[STATES] = {"new",
                                                "an empty file",
                                                "closed",
                                                "killed",
                                                "killed in a recovery (1)",
                                                "killed in a recovery (2)",
                                                "killed in a recovery (3)",
                                                "restored",
                                                "live"};
static const char *const operation_names[OPERATIONS] = {"opening",      "closing",
                                                        "a checkpoint", "an archiving checkpoint",
                                                        "a backup",     "a backup over another",
                                                        "compacting",   "restoring",
                                                        "reading",      "reading apart"};

#define ONE(state) (1u << (state))
#define ALL        ((1u << STATES) - 1u)
#define RECOVERED  (ONE(KILLED) | ONE(HALF1) | ONE(HALF2) | ONE(HALF3))

/* Which states an operation is tried in. */
static const unsigned tried_in[OPERATIONS] = {
    [OPENING] = ALL,
    [CLOSING] = ALL,
    [CHECKPOINT] = ONE(NEW) | ONE(CLEAN) | ONE(KILLED) | ONE(RESTORED) | ONE(LIVE),
    [ARCHIVING] = ONE(CLEAN) | ONE(KILLED),
    [BACKUP] = ONE(NEW) | ONE(CLEAN) | ONE(KILLED) | ONE(RESTORED) | ONE(LIVE),
    [OVERWRITE] = ONE(CLEAN) | ONE(LIVE),
    [COMPACT] = ONE(CLEAN) | RECOVERED | ONE(RESTORED),
    [RESTORE] = ONE(CLEAN) | ONE(KILLED),
    [READING] = ONE(CLEAN) | RECOVERED | ONE(RESTORED) | ONE(LIVE),
    [READING_APART] = ONE(CLEAN) | ONE(KILLED) | ONE(HALF2) | ONE(LIVE)};

static const struct failure {
    enum call kind;
    int error;
    enum effect effect;
} failures[] = {{CALL_OPEN, EMFILE, NOTHING_DONE},   {CALL_OPEN, EIO, NOTHING_DONE},
                {CALL_PWRITE, EIO, NOTHING_DONE},    {CALL_PWRITE, ENOSPC, NOTHING_DONE},
                {CALL_PWRITE, EIO, HALF_DONE},       {CALL_PWRITE, EIO, ALL_DONE},
                {CALL_FDATASYNC, EIO, NOTHING_DONE}, {CALL_FALLOCATE, ENOSPC, NOTHING_DONE},
                {CALL_FALLOCATE, EIO, ALL_DONE},     {CALL_FTRUNCATE, EIO, NOTHING_DONE},
                {CALL_RENAME, EIO, NOTHING_DONE},    {CALL_RENAME, EIO, ALL_DONE},
                {CALL_MMAP, ENOMEM, NOTHING_DONE},   {CALL_MMAP_ANON, ENOMEM, NOTHING_DONE},
                {CALL_MALLOC, ENOMEM, NOTHING_DONE}, {CALL_PREAD, EIO, NOTHING_DONE},
                {CALL_READ, EIO, NOTHING_DONE},      {CALL_LINK, EIO, NOTHING_DONE},
                {CALL_LINK, EIO, ALL_DONE},          {CALL_UNLINK, EIO, NOTHING_DONE},
                {CALL_UNLINK, EIO, ALL_DONE},        {CALL_FSTAT, EIO, NOTHING_DONE},
                {CALL_STAT, EIO, NOTHING_DONE},      {CALL_STATFS, EIO, NOTHING_DONE},
                {CALL_ACCESS, EIO, NOTHING_DONE},    {CALL_LOCK, ENOLCK, NOTHING_DONE},
                {CALL_DUP, EMFILE, NOTHING_DONE},    {CALL_FCHMOD, EPERM, NOTHING_DONE},
                {CALL_FCHOWN, EPERM, NOTHING_DONE},  {CALL_RANDOM, EAGAIN, NOTHING_DONE},
                {CALL_MEMFD, EMFILE, NOTHING_DONE},  {CALL_OPENDIR, EMFILE, NOTHING_DONE},
                {CALL_REALPATH, EIO, NOTHING_DONE}};

/* What the children tell. */
struct told {
    int64_t nodes; /* 0 to nodes - 1 were acknowledged */
    unsigned count[CALLS];
    unsigned failed;
    bool may_be_shorter; /* the copy that was made or not */
    char complaint[COMPLAINT_MAX];
};

static struct told *told;
static char out[112], archive[112], copy_path[128], restored_path[128];

#define DO(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != CARET_OK)                                                                              \
            complain("line %d: %s: %s", __LINE__, #call, caret_message());                                   \
    } while (0)

/* -------------------------------------------------------------------- contents */

static size_t length_of(int64_t i)
{
    return i % 10 == 3 ? 3 * 4096 : i % 10 == 4 ? 70 : 20;
}

static int set_node(caret_session *s, int64_t i)
{
    caret_node_buf n;

    node_of(&n, i);
    return caret_set(s, &n.node, text, text_of(i, length_of(i), text));
}

/* Set so many nodes more; what is acknowledged counts. */
static int set_more(caret_db *db, int n)
{
    caret_session *s = NULL;
    int rc = caret_session_open(db, &s);

    for (int i = 0; rc == CARET_OK && i < n; i++) {
        rc = set_node(s, told->nodes);
        told->nodes += rc == CARET_OK;
    }
    caret_session_close(s);
    return rc;
}

/* How many of the nodes are there, from the first on; none after. */
static int64_t nodes_in(caret_db *db, const char *when)
{
    caret_session *s = NULL;
    int64_t n = 0;

    DO(caret_session_open(db, &s));
    for (int64_t i = 0; i < told->nodes + 2; i++) {
        caret_node_buf node;
        caret_slice v;
        node_of(&node, i);
        int rc = caret_get(s, &node.node, &v);
        if (rc == CARET_NONE)
            continue;
        if (rc != CARET_OK)
            complain("%s: node %d: %s", when, (int)i, caret_message());
        text_of(i, length_of(i), other);
        if (n != i || v.len != length_of(i) || memcmp(v.data, other, v.len) != 0)
            complain("%s: node %d is another one, or one before it is missing", when, (int)i);
        n++;
    }
    caret_session_close(s);
    return n;
}

static void look(caret_db *db, const char *when)
{
    int64_t n = nodes_in(db, when);

    if (n != told->nodes)
        complain("%s: %d nodes, not %d", when, (int)n, (int)told->nodes);
}

/* ---------------------------------------------------------------------- states */

static caret_options how(enum operation operation)
{
    caret_options o = options();

    o.log_size = CARET__LOG_MIN;
    o.archive = operation == ARCHIVING || operation == RESTORE ? archive : NULL;
    return o;
}

static caret_db *opened(enum operation operation)
{
    caret_options o = how(operation);
    caret_db *db = NULL;

    DO(caret_open(path, &o, &db));
    return db;
}

/* A child does it; false: it complained, or died of something else than `expected`. */
static bool child(void (*work)(enum operation, enum state), enum operation operation, enum state state,
                  int expected)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(30);
        work(operation, state);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (told->complaint[0] == '\0' && (signal != expected || (signal == 0 && WEXITSTATUS(status) != 0)))
        snprintf(told->complaint, sizeof told->complaint, "a child ended with status %x", (unsigned)status);
    return told->complaint[0] == '\0';
}

static void closed_cleanly(enum operation operation, enum state state)
{
    (void)state;
    caret_db *db = opened(operation);
    DO(set_more(db, FIRST));
    if (operation == RESTORE)
        DO(caret_backup(db, copy_path, NULL));
    DO(caret_close(db));
}

/* Some of it in the file, some in the log, the rest only in the ring. */
static void killed(enum operation operation, enum state state)
{
    (void)state;
    caret_db *db = opened(operation);
    DO(set_more(db, FIRST / 3));
    DO(caret_checkpoint(db));
    DO(set_more(db, FIRST / 3));
    DO(caret_sync(db));
    DO(set_more(db, FIRST / 3));
    kill(getpid(), SIGKILL);
}

static void killed_recovering(enum operation operation, enum state state)
{
    failing.effect = KILLED_THERE;
    fail_nth(CALL_FDATASYNC, EIO, (unsigned)(state - HALF1) + 1, false);
    opened(operation);
}

static void restored(enum operation operation, enum state state)
{
    caret_restore_options o = {.size = sizeof o, .shm_dir = shm_dir, .any_fs = 1};

    (void)operation;
    (void)state;
    DO(caret_restore(copy_path, path, &o, NULL));
}

static void backed_up(enum operation operation, enum state state)
{
    caret_db *db = opened(operation);

    (void)state;
    DO(caret_backup(db, copy_path, NULL));
    DO(caret_close(db));
}

static void empty_folder(const char *name)
{
    DIR *d = opendir(name);
    const struct dirent *entry;

    while (d != NULL && (entry = readdir(d)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        closedir(d);
}

static pid_t neighbour; /* attached all the time, in state LIVE */

static void stay_attached(void)
{
    atomic_store(signal_word, 0);
    neighbour = fork();
    if (neighbour == 0) {
        caret_db *db = opened(OPENING);
        DO(set_more(db, FIRST));
        atomic_store(signal_word, 1);
        for (;;)
            pause();
    }
    until(1);
}

static bool bring_about(enum operation operation, enum state state)
{
    bool ok = true;

    empty_folder(dir);
    empty_folder(shm_dir);
    empty_folder(out);
    empty_folder(archive);
    memset(told, 0, sizeof *told);
    if (state == EMPTY)
        close(real_open(path, O_CREAT | O_RDWR, 0640));
    if (state >= CLEAN && state != LIVE)
        ok = child(closed_cleanly, operation, state, 0);
    if (ok && (state == KILLED || (state >= HALF1 && state <= HALF3)))
        ok = child(killed, operation, state, SIGKILL);
    if (ok && state >= HALF1 && state <= HALF3)
        ok = child(killed_recovering, operation, state, SIGKILL);
    if (ok && state == RESTORED) {
        ok = child(backed_up, operation, state, 0);
        unlink(path);
        ok = ok && child(restored, operation, state, 0);
        unlink(copy_path);
    }
    if (state == LIVE)
        stay_attached();
    if (ok && operation == OVERWRITE)
        ok = child(backed_up, OPENING, state, 0);
    return ok;
}

/* ------------------------------------------------------------------ operations */

static unsigned entries_in(const char *name)
{
    DIR *d = opendir(name);
    unsigned n = 0;

    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* Mappings of the files of the database. */
static unsigned mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[600];
    unsigned n = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        n += strstr(line, "caret-test-") != NULL || strstr(line, "memfd:caret") != NULL;
    if (f != NULL)
        fclose(f);
    return n;
}

static int backup(caret_db *db, int overwrite)
{
    caret_backup_options o = {.size = sizeof o, .overwrite = overwrite};

    told->may_be_shorter = true;
    return caret_backup(db, copy_path, &o);
}

static int restore(void)
{
    caret_restore_options o = {.size = sizeof o, .shm_dir = shm_dir, .any_fs = 1, .archive = archive};

    return caret_restore(copy_path, restored_path, &o, NULL);
}

/* It may have been set to where the failing begins: do it. */
static int operate(enum operation operation, caret_db **db)
{
    caret_options o = how(operation);

    switch (operation) {
    case OPENING: return caret_open(path, &o, db);
    case CLOSING: {
        int rc = caret_close(*db);
        *db = NULL;
        return rc;
    }
    case CHECKPOINT:
    case ARCHIVING: return caret_checkpoint(*db);
    case BACKUP: return backup(*db, 0);
    case OVERWRITE: return backup(*db, 1);
    case COMPACT: return caret_compact(path, &o, NULL, NULL);
    case RESTORE: return restore();
    default:
        o.readonly = 1;
        o.archive = NULL;
        return caret_open(path, &o, db);
    }
}

static struct failure failure_now;
static unsigned nth_now;
static bool for_ever_now, again_here;

static bool needs_open(enum operation operation)
{
    return operation >= CLOSING && operation <= OVERWRITE;
}

/* It is open, and nothing fails: everything is there, and writing goes on if no write has failed. */
static void go_on(caret_db *db, enum operation operation)
{
    look(db, "when calls fail no more");
    if (operation < READING) {
        int rc = set_more(db, 3);
        if (rc != CARET_OK && rc != CARET_E_IO_FAILED)
            complain("writing when calls fail no more: %s", caret_message());
    }
    int rc = caret_close(db);
    if (rc != CARET_OK && rc != CARET_E_IO_FAILED)
        complain("closing when calls fail no more: %s", caret_message());
}

/* For whom the data file, its log and the shared memory are there to be read, and the lock file is not there. */
static void become_another_user(void)
{
    if (seteuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) /* to see its own descriptors and mappings */
        complain("seteuid: %s", strerror(errno));
}

/* The one whose calls fail. */
static void operate_failing(enum operation operation, enum state state)
{
    unsigned fds, maps;
    caret_db *db = NULL;

    (void)state;
    (void)caret_message();
    if (operation == READING_APART)
        become_another_user();
    fds = entries_in("/proc/self/fd");
    if (needs_open(operation)) {
        db = opened(operation);
        DO(set_more(db, MORE));
    }
    failing.effect = failure_now.effect;
    failing.counting = nth_now == 0;
    if (nth_now != 0)
        fail_nth(failure_now.kind, failure_now.error, nth_now, for_ever_now);
    int rc = operate(operation, &db);
    failing.armed = failing.counting = false;
    for (unsigned i = 0; i < CALLS; i++)
        told->count[i] = failing.count[i];
    told->failed = failing.failed;
    told->may_be_shorter |= operation == RESTORE; /* the backup was made before */
    check_error(rc, operation_names[operation]);
    if ((operation == OPENING || operation >= READING) && (rc == CARET_OK) != (db != NULL))
        complain("a handle and an error");
    if (db == NULL && rc != CARET_OK && operation == OPENING && again_here)
        db = opened(operation);
    if (db != NULL)
        go_on(db, operation);
    maps = mappings();
    if (maps != 0)
        complain("%u mappings are left", maps);
    if (entries_in("/proc/self/fd") != fds)
        complain("%u descriptors, %u before", entries_in("/proc/self/fd"), fds);
}

/* ------------------------------------------------------------------ afterwards */

/* A copy of the database, if it is there, is whole. */
static void look_at_copy(const char *name, bool must_be)
{
    caret_options o = how(READING);
    caret_db *db = NULL;
    char report[500];

    if (access(name, F_OK) != 0 && !must_be)
        return;
    o.readonly = 1;
    DO(caret_open(name, &o, &db));
    int64_t n = nodes_in(db, name);
    if (n != told->nodes && !(told->may_be_shorter && n >= (told->nodes < FIRST ? 0 : FIRST)))
        complain("%s: %d nodes, not %d", name, (int)n, (int)told->nodes);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        complain("%s: %s", name, report);
    DO(caret_close(db));
}

static void open_again(enum operation operation, enum state state)
{
    char report[1024];
    caret_db *db = opened(operation);

    (void)state;
    look(db, "opened again");
    if (caret_check(db, report, sizeof report) != CARET_OK)
        complain("check: %s", report);
    look_at_copy(copy_path, operation == OVERWRITE || operation == RESTORE);
    DO(set_more(db, 3));
    DO(caret_close(db));
    if (operation != RESTORE)
        return;
    if (access(restored_path, F_OK) != 0)
        DO(restore());
    told->may_be_shorter = true; /* the archive has what was there at the last checkpoint */
    look_at_copy(restored_path, true);
}

/* A segment that could not be removed is swept by the next opening, unless its file is another one by then. */
static bool may_leave_segment(enum operation operation)
{
    bool kind = failure_now.kind == CALL_UNLINK || failure_now.kind == CALL_OPENDIR;

    return kind && (operation == COMPACT || operation == RESTORE);
}

/* Nothing else than these is in the folder. */
static void only(const char *folder, const char *one, const char *two)
{
    DIR *d = opendir(folder);
    const struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        const char *name = entry->d_name;
        bool partial = failure_now.kind == CALL_UNLINK && strstr(name, "-partial-") != NULL;
        if (name[0] == '.' || strcmp(name, one) == 0 || strcmp(name, two) == 0 || partial)
            continue;
        if (told->complaint[0] == '\0')
            snprintf(told->complaint, sizeof told->complaint, "left behind: %s/%s", folder, name);
    }
    closedir(d);
}

static bool afterwards(enum operation operation, enum state state)
{
    if (neighbour != 0)
        kill_and_wait(neighbour);
    neighbour = 0;
    if (told->complaint[0] != '\0' || !child(open_again, operation, state, 0))
        return false;
    only(dir, "db.caret", "db.caret");
    if (!may_leave_segment(operation))
        only(shm_dir, "", "");
    only(out, "copy.caret", "restored.caret");
    return told->complaint[0] == '\0';
}

/* ----------------------------------------------------------------------- cases */

static unsigned every, cases, reached, bad, number;

static void say(enum operation operation, enum state state)
{
    print_error("%s, %s: %s %u fails with %s (%s)%s: %s\n", operation_names[operation], state_names[state],
                call_names[failure_now.kind], nth_now, strerror(failure_now.error),
                failure_now.effect == NOTHING_DONE ? "nothing done"
                : failure_now.effect == HALF_DONE  ? "half done"
                                                   : "all done",
                for_ever_now ? " and so do all after it" : "", told->complaint);
}

static void one_case(enum operation operation, enum state state)
{
    bool good = bring_about(operation, state) && child(operate_failing, operation, state, 0);

    good = afterwards(operation, state) && good;
    cases++;
    reached += told->failed > 0;
    if (!good && bad++ < 20)
        say(operation, state);
}

/* In every sample: a cleanly closed database has no log that could make up for a bad beginning; and a segment of the
 * database itself that could not be removed is there when those of others are swept. */
static bool always(enum operation operation, enum state state)
{
    enum call kind = failure_now.kind;

    if (operation == OPENING && state == KILLED && kind == CALL_UNLINK)
        return true;
    return operation == OPENING && state == CLEAN && !for_ever_now &&
           (kind == CALL_OPEN || kind == CALL_PWRITE || kind == CALL_FDATASYNC);
}

static bool chosen(enum operation operation, enum state state)
{
    const char *only_these = getenv("CARET_MATRIX_ONLY");
    char name[200];

    snprintf(name, sizeof name, "%s, %s: %s ", operation_names[operation], state_names[state],
             call_names[failure_now.kind]);
    return (number++ % every == 0 || always(operation, state)) &&
           (only_these == NULL || strstr(name, only_these) != NULL);
}

/* All failures of an operation in a state. */
static void all_failures(enum operation operation, enum state state)
{
    unsigned count[CALLS];

    nth_now = 0;
    one_case(operation, state);
    if (told->complaint[0] != '\0')
        return;
    memcpy(count, told->count, sizeof count);
    for (size_t f = 0; f < sizeof failures / sizeof failures[0] && bad < 20; f++) {
        failure_now = failures[f];
        for (unsigned i = 2; i < 2 * count[failure_now.kind] + 2; i++) {
            nth_now = i / 2;
            for_ever_now = i % 2 != 0;
            again_here = nth_now % 2 != 0;
            if (chosen(operation, state))
                one_case(operation, state);
        }
    }
}

static void try_operation(enum operation operation)
{
    cases = reached = bad = 0;
    for (unsigned state = 0; state < STATES; state++)
        if ((tried_in[operation] & ONE(state)) != 0)
            all_failures(operation, (enum state)state);
    print_message("%s: %u cases, %u with a failure\n", operation_names[operation], cases, reached);
    if (bad > 0)
        fail_msg("%u of %u cases", bad, cases);
}

#define OPERATION_TEST(name, operation)                                                                      \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        (void)state;                                                                                         \
        try_operation(operation);                                                                            \
    }

OPERATION_TEST(opening_loses_nothing, OPENING)
OPERATION_TEST(closing_loses_nothing, CLOSING)
OPERATION_TEST(a_checkpoint_loses_nothing, CHECKPOINT)
OPERATION_TEST(archiving_loses_nothing, ARCHIVING)
OPERATION_TEST(a_backup_is_whole_or_not_there, BACKUP)
OPERATION_TEST(a_backup_is_replaced_or_not, OVERWRITE)
OPERATION_TEST(compacting_loses_nothing, COMPACT)
OPERATION_TEST(what_is_restored_is_whole_or_not_there, RESTORE)
OPERATION_TEST(reading_changes_nothing, READING)

static void reading_apart_changes_nothing(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    assert_int_equal(chmod(dir, 0755) | chmod(shm_dir, 0755), 0);
    mode_t before = umask(022);
    try_operation(READING_APART);
    umask(before);
}

/* --------------------------------------------------------------- single cases */

static void a_path_of_shared_memory_that_is_too_long_harms_nothing(void **state)
{
    char deep[1100], command[1300];
    size_t len = (size_t)snprintf(deep, sizeof deep, "%s", shm_dir);
    caret_options o = options();
    caret_db *db = NULL;

    (void)state;
    while (len < 924)
        len += (size_t)snprintf(deep + len, sizeof deep - len, "/%0100d", 0);
    snprintf(command, sizeof command, "mkdir -p %s", deep);
    assert_int_equal(system(command), 0);
    assert_true(bring_about(OPENING, CLEAN));
    o.shm_dir = deep;
    assert_int_equal(caret_open(path, &o, &db), CARET_E_SHM);
    open_again(OPENING, CLEAN);
    assert_string_equal(told->complaint, "");
}

static bool data_was_synced;

static bool is_data(int fd)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static bool is_log(const char *name)
{
    return strcmp(name, log_path) == 0;
}

static ssize_t note_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    data_was_synced = false;
    return syscall(SYS_pwrite64, fd, buf, len, off);
}

static int note_sync(int fd)
{
    data_was_synced = true;
    return maybe_sync(fd, SYS_fdatasync);
}

static int note_fallocate(int fd, int mode, off_t off, off_t len)
{
    return (int)syscall(SYS_fallocate, fd, mode, off, len);
}

static int note_unlink(const char *name)
{
    if (!data_was_synced)
        complain("the log is removed, and the file that says that it was closed cleanly is not on the disk");
    return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
}

static int note_open(const char *name, int flags, mode_t mode)
{
    return real_open(name, flags, mode);
}

static void killed_closing(enum operation operation, enum state state)
{
    caret_db *db = opened(operation);

    (void)state;
    DO(set_more(db, MORE));
    failing.effect = KILLED_THERE;
    fail_nth(CALL_FDATASYNC, EIO, 2, false); /* pages, then the meta slot */
    caret_close(db);
}

/* The file says that it was closed cleanly, but so far in the page cache only. */
static void opened_noting(enum operation operation, enum state state)
{
    (void)state;
    tape_hooks = (struct tape_hooks){.wants_fd = is_data,
                                     .wants_path = is_log,
                                     .pwrite = note_pwrite,
                                     .sync = note_sync,
                                     .fallocate = note_fallocate,
                                     .unlink = note_unlink,
                                     .open = note_open};
    caret_db *db = opened(operation);
    tape_hooks = (struct tape_hooks){0};
    look(db, "opened");
    DO(caret_close(db));
}

static void the_log_goes_when_the_file_is_on_the_disk(void **state)
{
    (void)state;
    assert_true(bring_about(OPENING, CLEAN));
    if (!child(killed_closing, OPENING, CLEAN, SIGKILL) || !child(opened_noting, OPENING, CLEAN, 0))
        fail_msg("%s", told->complaint);
}

static int setup_matrix(void **state)
{
    const char *text_of_every = getenv("CARET_MATRIX");

    if (setup(state) != 0)
        return -1;
    every = text_of_every != NULL ? (unsigned)strtoul(text_of_every, NULL, 10) : EVERY;
    every += every == 0;
    snprintf(out, sizeof out, "%s/.out", dir);
    snprintf(archive, sizeof archive, "%s/.archive", dir);
    snprintf(copy_path, sizeof copy_path, "%s/copy.caret", out);
    snprintf(restored_path, sizeof restored_path, "%s/restored.caret", out);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    complaint = told->complaint;
    return told != MAP_FAILED && mkdir(out, 0700) == 0 && mkdir(archive, 0700) == 0 ? 0 : -1;
}

#define MATRIX_TEST(name) cmocka_unit_test_setup_teardown(name, setup_matrix, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {MATRIX_TEST(opening_loses_nothing),
                                       MATRIX_TEST(closing_loses_nothing),
                                       MATRIX_TEST(a_checkpoint_loses_nothing),
                                       MATRIX_TEST(archiving_loses_nothing),
                                       MATRIX_TEST(a_backup_is_whole_or_not_there),
                                       MATRIX_TEST(a_backup_is_replaced_or_not),
                                       MATRIX_TEST(compacting_loses_nothing),
                                       MATRIX_TEST(what_is_restored_is_whole_or_not_there),
                                       MATRIX_TEST(reading_changes_nothing),
                                       MATRIX_TEST(reading_apart_changes_nothing),
                                       MATRIX_TEST(a_path_of_shared_memory_that_is_too_long_harms_nothing),
                                       MATRIX_TEST(the_log_goes_when_the_file_is_on_the_disk)};
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
