/* fork, threads, exec: a child owns nothing of its parent's, a thread's end frees what it held. */
#include "support/child.h"
#include "support/database.h"

#include "support/crowd.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>

#include "api/session.h"

static caret_session *session_of(caret_db *db)
{
    caret_session *s;
    OK(caret_session_open(db, &s));
    return s;
}

static void set_node(caret_session *s, int64_t i, const char *value)
{
    caret_node_buf n;
    node_of(&n, i);
    OK(caret_set(s, &n.node, value, strlen(value)));
}

/* The value of node i is `value`; NULL: there is none. */
static bool has(caret_session *s, int64_t i, const char *value)
{
    caret_node_buf n;
    caret_slice v;
    node_of(&n, i);
    int rc = caret_get(s, &n.node, &v);
    if (rc == CARET_NONE)
        return value == NULL;
    OK(rc);
    return value != NULL && v.len == strlen(value) && memcmp(v.data, value, v.len) == 0;
}

static int lock_node(caret_session *s, int64_t i)
{
    caret_node_buf n;
    node_of(&n, i);
    return caret_lock(s, &n.node, 0);
}

/* -------------------------------------------------------------------- forks */

static void child_owns_no_transaction_of_its_parent(void **state)
{
    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    set_node(s, 1, "before");
    OK(caret_begin(s, 0));
    set_node(s, 1, "parent's");
    OK(caret_begin(s, 0));
    set_node(s, 2, "parent's");
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(caret_txn_level(s) == 0 && caret_txn_restarts(s) == 0); /* before anything attached it */
        CHILD(has(s, 1, "before") && has(s, 2, NULL));
        CHILD(caret_txn_level(s) == 0 && caret_commit(s) == CARET_E_NOTXN);
        CHILD(caret_begin(s, 0) == CARET_OK);
        CHILD(has(s, 1, "before") && has(s, 2, NULL));
        set_node(s, 3, "child's");
        CHILD(caret_commit(s) == CARET_OK); /* of its own change alone */
        caret_session_close(s);
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
    caret_session *second = session_of(db);
    assert_true(has(second, 1, "before") && has(second, 2, NULL) && has(second, 3, "child's"));
    OK(caret_commit(s));
    OK(caret_commit(s));
    assert_true(has(second, 1, "parent's") && has(second, 2, "parent's"));
    caret_session_close(second);
    caret_session_close(s);
    OK(caret_close(db));
}

/* Nor does ending what it inherited, used or not, end anything of the parent's. */
static void child_that_closes_ends_nothing_of_its_parent(void **state)
{
    (void)state;
    for (int way = 0; way < 8; way++) {
        int used = way % 4;
        caret_db *db = open_db();
        caret_session *s = session_of(db), *second = session_of(db);
        OK(lock_node(s, 5));
        if (way < 4)
            OK(caret_begin(s, 0));
        set_node(s, 1, "parent's");
        OK(lock_node(s, 6));
        pid_t pid = fork();
        if (pid == 0) {
            if (used == 1)
                CHILD(lock_node(s, 5) == CARET_LOCK_TIMEOUT);
            if (used == 2)
                CHILD(caret_rollback(s) == CARET_E_NOTXN);
            if (used != 3)
                caret_session_close(s);
            CHILD(caret_close(db) == CARET_OK);
            _exit(0);
        }
        join(pid);
        assert_int_equal(lock_node(second, 5), CARET_LOCK_TIMEOUT);
        assert_int_equal(lock_node(second, 6), CARET_LOCK_TIMEOUT);
        if (way < 4)
            OK(caret_commit(s));
        assert_true(has(second, 1, "parent's"));
        caret_session_close(second);
        caret_session_close(s);
        check(db);
        OK(caret_close(db));
        unlink(path);
    }
}

static void child_waits_where_its_parent_was_in_a_transaction(void **state)
{
    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    caret_log *log;
    OK(caret_log_open(db, CARET_LOG_END, &log));
    OK(caret_begin(s, 0));
    assert_int_equal(caret_log_wait(s, log, 0), CARET_E_INTXN);
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(caret_log_wait(s, log, 0) == CARET_NONE);
        _exit(0);
    }
    join(pid);
    OK(caret_rollback(s));
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* It is the first use of the first session that attaches the child; all others are the child's then. */
static void every_session_of_a_child_is_its_own(void **state)
{
    (void)state;
    caret_db *db = open_db(), *again = open_db();
    caret_session *s = session_of(db), *second = session_of(db), *third = session_of(again);
    OK(lock_node(second, 1));
    OK(caret_begin(second, 0));
    set_node(second, 1, "parent's");
    OK(caret_begin(third, 0));
    set_node(third, 2, "parent's");
    OK(lock_node(third, 2));
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(has(s, 1, NULL) && has(second, 1, NULL) && has(third, 2, NULL));
        CHILD(caret_txn_level(second) == 0 && caret_txn_level(third) == 0);
        caret_node_buf n;
        node_of(&n, 1);
        CHILD(caret_unlock(second, &n.node) == CARET_E_NOTLOCKED);
        CHILD(lock_node(second, 1) == CARET_LOCK_TIMEOUT && lock_node(third, 2) == CARET_LOCK_TIMEOUT);
        CHILD(lock_node(third, 3) == CARET_OK && lock_node(second, 3) == CARET_LOCK_TIMEOUT);
        set_node(third, 3, "child's");
        CHILD(caret_close(again) == CARET_OK && caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
    assert_int_equal(lock_node(s, 1), CARET_LOCK_TIMEOUT);
    assert_int_equal(lock_node(s, 2), CARET_LOCK_TIMEOUT);
    OK(caret_commit(second));
    OK(caret_commit(third));
    assert_true(has(s, 1, "parent's") && has(s, 2, "parent's") && has(s, 3, "child's"));
    caret_session_close(s);
    caret_session_close(second);
    caret_session_close(third);
    OK(caret_close(again));
    OK(caret_close(db));
}

static void locals_in_a_child_are_as_if_the_transaction_was_rolled_back(void **state)
{
    caret_node_buf n;
    caret_slice v;

    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    OK(caret_node_var(&n.node, sizeof n, "local", 5));
    OK(caret_set(s, &n.node, "1", 1));
    OK(caret_begin(s, 0));
    OK(caret_txn_restore_locals(s, 1));
    OK(caret_set(s, &n.node, "2", 1));
    pid_t pid = fork();
    if (pid == 0) {
        CHILD(has(s, 1, NULL)); /* attaches */
        CHILD(caret_get(s, &n.node, &v) == CARET_OK && v.len == 1 && v.data[0] == '1');
        _exit(0);
    }
    join(pid);
    OK(caret_rollback(s));
    caret_session_close(s);
    OK(caret_close(db));
}

static _Atomic int stop;

static void *come_and_go(void *arg)
{
    caret_session *s;

    while (!atomic_load(&stop)) {
        if (caret_session_open(arg, &s) != CARET_OK)
            return arg;
        caret_session_close(s);
    }
    return NULL;
}

static void *write_on(void *arg)
{
    caret_db *db = arg;
    caret_session *s;
    caret_node_buf n;

    if (caret_session_open(db, &s) != CARET_OK)
        return arg;
    for (int i = 0; !atomic_load(&stop); i++) {
        node_of(&n, 1000 + i % 500);
        if (caret_set(s, &n.node, "0123456789", 10) != CARET_OK)
            return arg;
    }
    caret_session_close(s);
    return NULL;
}

/* An allocation in the child, or the start of a thread, may wait for a lock that another thread of the parent had. */
static void needs_an_allocator_that_can_be_forked(void)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: AddressSanitizer's allocator has locks that a fork leaves locked in the child\n");
    skip();
#endif
}

/* Other threads are anywhere in a commit, the background thread too: the child does not have them. */
static void fork_of_a_process_with_writing_threads(void **state)
{
    pthread_t thread[3];

    (void)state;
    needs_an_allocator_that_can_be_forked();
    caret_options o = options();
    caret_db *db;
    o.no_thread = 0;
    o.sync = CARET_SYNC_INTERVAL;
    o.sync_interval = 0.002;
    OK(caret_open(path, &o, &db));
    caret_session *s = session_of(db);
    atomic_store(&stop, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, i < 2 ? write_on : come_and_go, db), 0);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            patience(20);
            char value[16];
            snprintf(value, sizeof value, "%d", i);
            if (i % 4 == 3) {
                caret_session_close(s); /* as its first act */
                s = session_of(db);
            }
            set_node(s, i, value);
            CHILD(has(s, i, value) && caret_sync(db) == CARET_OK);
            caret_session_close(s);
            CHILD(caret_close(db) == CARET_OK);
            _exit(0);
        }
        join(pid);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    for (int i = 0; i < 40; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        assert_true(has(s, i, value));
    }
    caret_session_close(s);
    check(db);
    OK(caret_close(db));
}

/* Grandchildren of children that never used it, and a parent that has gone. */
static void each_generation_attaches_itself(void **state)
{
    caret_stats stats = {.size = sizeof stats};

    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    set_node(s, 0, "0");
    pid_t pid = fork();
    if (pid == 0) {
        pid = fork();
        if (pid == 0) {
            set_node(s, 2, "grandchild");
            CHILD(caret_stat(db, &stats) == CARET_OK && stats.processes == 2);
            pid = fork();
            if (pid == 0) {
                set_node(s, 3, "its child");
                CHILD(caret_stat(db, &stats) == CARET_OK && stats.processes == 3);
                _exit(0); /* without a word */
            }
            join(pid);
            _exit(0);
        }
        join(pid);
        set_node(s, 1, "child"); /* the slots of the dead are taken */
        CHILD(caret_close(db) == CARET_OK);
        _exit(0);
    }
    join(pid);
    assert_true(has(s, 0, "0") && has(s, 1, "child") && has(s, 2, "grandchild") && has(s, 3, "its child"));
    caret_session_close(s);
    check(db);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 1);
    assert_int_equal(files_in(shm_dir), 0);
}

/* ------------------------------------------------------------------- threads */

struct worker {
    caret_db *db;
    caret_session *s;
    bool detached;
    bool close_itself;
};

/* Ends with a lock, a transaction in a transaction, and values in memory. */
static void *hold_and_end(void *arg)
{
    struct worker *w = arg;
    caret_node_buf n;

    OK(caret_session_open(w->db, &w->s));
    if (w->detached)
        OK(caret_session_detach(w->s));
    OK(lock_node(w->s, 1));
    OK(caret_node_var(&n.node, sizeof n, "local", 5));
    OK(caret_set(w->s, &n.node, text, 5000));
    OK(caret_begin(w->s, 0));
    set_node(w->s, 1, "never committed");
    OK(caret_begin(w->s, 0));
    OK(lock_node(w->s, 2));
    if (w->close_itself)
        caret_session_close(w->s);
    return NULL;
}

static void end_of_a_thread_frees_what_it_held(void **state)
{
    caret_node_buf n;
    caret_slice v;
    pthread_t t;

    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    for (int i = 0; i < 50; i++) {
        struct worker w = {db, NULL, false, i % 3 == 2};
        assert_int_equal(pthread_create(&t, NULL, hold_and_end, &w), 0);
        pthread_join(t, NULL);
        OK(lock_node(s, 1));
        OK(lock_node(s, 2));
        OK(caret_unlock_all(s));
        assert_true(has(s, 1, NULL));
        if (w.close_itself)
            continue;
        node_of(&n, 1);
        assert_int_equal(caret_get(w.s, &n.node, &v), CARET_E_CLOSED);
        assert_non_null(strstr(caret_message(), "thread"));
        assert_int_equal(caret_set(w.s, &n.node, "x", 1), CARET_E_CLOSED);
        assert_int_equal(caret_begin(w.s, 0), CARET_E_CLOSED);
        if (i % 2 == 0)
            caret_session_close(w.s);
        else if (i == 49) { /* also after its database */
            caret_session_close(s);
            check(db);
            OK(caret_close(db));
            caret_session_close(w.s);
        }
    }
}

static void detached_session_goes_from_thread_to_thread(void **state)
{
    pthread_t t;

    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    struct worker w = {db, NULL, true, false};
    assert_int_equal(pthread_create(&t, NULL, hold_and_end, &w), 0);
    pthread_join(t, NULL);
    assert_int_equal(lock_node(s, 1), CARET_LOCK_TIMEOUT);
    assert_true(has(w.s, 1, "never committed"));
    OK(caret_commit(w.s));
    OK(caret_commit(w.s));
    assert_true(has(s, 1, "never committed"));
    caret_session_close(w.s);
    OK(lock_node(s, 1));
    caret_session_close(s);
    OK(caret_close(db));
}

/* The child ends when the thread that it began with has. */
static void *exit_behind(void *thread)
{
    pthread_join(*(pthread_t *)thread, NULL);
    _exit(0);
}

static void *end_in_a_child(void *arg)
{
    static pthread_t me, other_thread;

    hold_and_end(arg);
    pid_t pid = fork(); /* its sessions are this thread's there, too */
    if (pid == 0) {
        me = pthread_self();
        pthread_create(&other_thread, NULL, exit_behind, &me);
        return arg;
    }
    join(pid);
    caret_session *second = session_of(((struct worker *)arg)->db);
    assert_int_equal(lock_node(second, 1), CARET_LOCK_TIMEOUT); /* still ours */
    caret_session_close(second);
    return NULL;
}

static void thread_that_ends_in_a_child_ends_nothing_of_its_parent(void **state)
{
    pthread_t t;
    void *child;

    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    struct worker w = {db, NULL, false, false};
    assert_int_equal(pthread_create(&t, NULL, end_in_a_child, &w), 0);
    pthread_join(t, &child);
    assert_null(child);
    OK(lock_node(s, 1));
    caret_session_close(w.s);
    caret_session_close(s);
    OK(caret_close(db));
}

/* --------------------------------------------------------------------- exec */

/* What a program that is executed has open of a directory: counted by the shell that it is. */
static unsigned open_after_exec(const char *where)
{
    char command[300], line[32] = "0";
    snprintf(command, sizeof command, "ls -l /proc/self/fd | grep -c -e %s -e memfd:caret", where);
    FILE *p = popen(command, "r");
    assert_non_null(fgets(line, sizeof line, p));
    pclose(p);
    return (unsigned)atoi(line);
}

static unsigned open_here(const char *where)
{
    char name[64], target[300];
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    struct dirent *entry;

    while ((entry = readdir(d)) != NULL) {
        snprintf(name, sizeof name, "/proc/self/fd/%.20s", entry->d_name);
        ssize_t len = readlink(name, target, sizeof target - 1);
        if (len > 0 && strncmp(target, where, strlen(where)) == 0)
            n++;
    }
    closedir(d);
    return n;
}

static void exec_inherits_no_descriptor_and_no_lock(void **state)
{
    (void)state;
    caret_db *db = open_db();
    caret_session *s = session_of(db);
    set_node(s, 1, "1");
    OK(lock_node(s, 1));
    assert_true(open_here(dir) >= 3 && open_here(shm_dir) >= 1);
    assert_int_equal(open_after_exec(strrchr(dir, '/') + 1), 0);
    pid_t pid = fork();
    if (pid == 0) { /* attached, with a lock, and then it becomes another program */
        OK(lock_node(s, 2));
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
        _exit(9);
    }
    join(pid);
    OK(lock_node(s, 2));
    caret_session_close(s);
    OK(caret_close(db));
    assert_int_equal(open_here(dir) + open_here(shm_dir), 0);
    caret_options o = {.size = sizeof o, .readonly = 1};
    OK(caret_open(path, &o, &db));
    assert_true(open_here(dir) == 1 && open_here("/memfd:caret") == 1);
    assert_int_equal(open_after_exec(strrchr(dir, '/') + 1), 0);
    OK(caret_close(db));
    assert_int_equal(open_here(dir) + open_here("/memfd:caret"), 0);
}

/* -------------------------------------------------------- the background thread */

#define EXITING 0x4U /* PF_EXITING: the flag that a task has from the first step of its end */

/* A joined thread may still be listed for a moment: one that ends is not counted. */
static bool lives(const char *task)
{
    char name[300];
    unsigned flags = EXITING;

    snprintf(name, sizeof name, "/proc/self/task/%s/stat", task);
    FILE *f = fopen(name, "r");
    if (f == NULL)
        return false;
    if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
        flags = EXITING; /* it ended meanwhile */
    fclose(f);
    return (flags & EXITING) == 0;
}

static int threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(tasks);
    for (const struct dirent *d; (d = readdir(tasks)) != NULL;)
        n += d->d_name[0] != '.' && lives(d->d_name);
    closedir(tasks);
    return n;
}

/* Handlers that were there before those of the library: what is done before a fork, theirs do first. */
static int before, after;

static void count_before(void)
{
    before = threads();
}

static void count_after(void)
{
    after = threads();
}

/* First of all: the library adds its own at load, with a later priority. */
__attribute__((constructor(500))) static void count_at_forks(void)
{
    pthread_atfork(count_before, count_after, count_after);
}

static caret_db *open_with_thread(void)
{
    caret_options o = options();
    caret_db *db;

    o.no_thread = 0;
    o.sync = CARET_SYNC_INTERVAL;
    OK(caret_open(path, &o, &db));
    return db;
}

static void the_thread_is_ended_for_a_fork(void **state)
{
    uint64_t durable, committed;

    (void)state;
    caret_db *db = open_with_thread();
    caret_session *s = session_of(db);
    for (int64_t i = 1; i <= 3; i++) {
        set_node(s, i, "parent's");
        assert_int_equal(threads(), 2);
        pid_t pid = fork();
        if (pid == 0) {
            CHILD(threads() == 1 && after == 1);
            CHILD(has(s, i, "parent's"));
            set_node(s, 10 * i, "child's");
            CHILD(threads() == 2);
            CHILD(caret_sync(db) == CARET_OK);
            caret_session_close(s);
            CHILD(caret_close(db) == CARET_OK);
            CHILD(threads() == 1);
            _exit(0);
        }
        assert_int_equal(before, 1);
        assert_int_equal(after, 1);
        assert_int_equal(threads(), 1);
        join(pid);
        assert_true(has(s, 10 * i, "child's"));
        assert_int_equal(threads(), 1); /* until it writes */
    }
    set_node(s, 4, "parent's");
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    OK(caret_durable(db, &durable, &committed)); /* nobody else would sync it */
    assert_int_equal(durable, committed);
    join(pid);
    OK(caret_begin(s, CARET_TXN_BATCH));
    set_node(s, 5, "parent's");
    OK(caret_commit(s));
    assert_int_equal(threads(), 2);
    caret_session_close(s);
    OK(caret_close(db));
    assert_int_equal(threads(), 1);
}

static void a_thread_that_is_busy_does_not_stop_a_fork(void **state)
{
    (void)state;
    caret_db *db = open_with_thread();
    caret_session *s = session_of(db);
    set_node(s, 1, "x");
    OK(caret__mutex_lock(&s->e->sh->flush)); /* it can't sync */
    pid_t pid = fork();
    if (pid == 0)
        _exit(threads() == 1 ? 0 : 1);
    assert_int_equal(before, 2);
    caret__mutex_unlock(&s->e->sh->flush);
    join(pid);
    set_node(s, 2, "x");
    assert_int_equal(threads(), 2);
    OK(caret_sync(db));
    caret_session_close(s);
    OK(caret_close(db));
}

enum { WRITERS = 3, FORKS = 100 };
static _Atomic bool enough;

static void *write_and_write(void *arg)
{
    caret_session *s = session_of(arg);

    for (int64_t i = 0; !atomic_load(&enough); i++)
        set_node(s, i % 100, "thread's");
    caret_session_close(s);
    return NULL;
}

static void no_moment_of_a_fork_hangs(void **state)
{
    pthread_t writer[WRITERS];

    (void)state;
    needs_an_allocator_that_can_be_forked();
    caret_db *db = open_with_thread();
    caret_session *s = session_of(db);
    atomic_store(&enough, false);
    patience(200);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writer[i], NULL, write_and_write, db), 0);
    for (int64_t i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            patience(100);
            if (i % 3 != 0)
                set_node(s, 1000 + i, "child's");
            if (i % 3 == 1) {
                caret_session_close(s);
                CHILD(caret_close(db) == CARET_OK);
            }
            _exit(0);
        }
        join(pid);
        assert_true(has(s, 1000 + i, i % 3 != 0 ? "child's" : NULL));
    }
    atomic_store(&enough, true);
    for (int i = 0; i < WRITERS; i++)
        OK(pthread_join(writer[i], NULL));
    patience(0);
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(child_owns_no_transaction_of_its_parent),
        TEST(child_that_closes_ends_nothing_of_its_parent),
        TEST(child_waits_where_its_parent_was_in_a_transaction),
        TEST(every_session_of_a_child_is_its_own),
        TEST(locals_in_a_child_are_as_if_the_transaction_was_rolled_back),
        TEST(fork_of_a_process_with_writing_threads),
        TEST(each_generation_attaches_itself),
        TEST(end_of_a_thread_frees_what_it_held),
        TEST(detached_session_goes_from_thread_to_thread),
        TEST(thread_that_ends_in_a_child_ends_nothing_of_its_parent),
        TEST(exec_inherits_no_descriptor_and_no_lock),
        cmocka_unit_test_setup_teardown(the_thread_is_ended_for_a_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_that_is_busy_does_not_stop_a_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(no_moment_of_a_fork_hangs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
