/*
 * A writer is stopped, at every fault point of its commits and at random moments; meanwhile another process
 * reads everything in every way and finds what was before the commit, whole, without waiting.
 * CARET_STOPS=all stops at every single hit of every point, not only at the first ones and some between.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/session.h"
#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"

#define KEYS     70 /* of each variable */
#define PATIENCE 60 /* seconds until the watchdog takes a reader for hanging */

static char path[80], context[120];

enum { IDLE, READY, GO, DONE, FINISH };

static struct shared {
    _Atomic uint32_t step;
    _Atomic uint32_t hits; /* of fault points in the last commit */
    _Atomic uint32_t nth;  /* where to stop */
    _Atomic uint32_t op, warm;
    _Atomic uint32_t repairer; /* READY, GO */
    _Atomic uint64_t sum;      /* what the other reader found */
} * shared;

static caret_db *db;
static caret_session *s;

static void must(int rc, const char *what)
{
    if (rc != CARET_OK) {
        fprintf(stderr, "%s: %s: %d %s\n", context, what, rc, caret_message());
        _exit(99);
    }
}

static void hangs(int sig)
{
    static const char text[] = ": a reader hangs behind a stopped writer\n";

    (void)sig;
    if (write(2, context, strlen(context)) < 0 || write(2, text, sizeof text - 1) < 0)
        _exit(97);
    _exit(98);
}

static void wait_for(uint32_t step)
{
    while (atomic_load(&shared->step) != step)
        usleep(50);
}

static void open_both(void)
{
    caret_options o = {.no_thread = 1, .sync = CARET_SYNC_OFF};

    must(caret_open(path, &o, &db), "open");
    must(caret_session_open(db, &s), "session");
}

static void close_both(void)
{
    caret_session_close(s);
    must(caret_close(db), "close");
}

static pid_t start(void (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
        alarm(0);
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* -------------------------------------------------------------- what is stored */

static const char *const names[] = {"^t", "^k", "^long", "^pair"};

static caret_node *node(caret_node_buf *n, const char *name, int64_t i, int64_t k)
{
    must(caret_node_var(&n->node, sizeof *n, name, strlen(name)), "node");
    must(caret_node_child_int(&n->node, sizeof *n, &n->node, i), "node");
    if (k >= 0)
        must(caret_node_child_int(&n->node, sizeof *n, &n->node, k), "node");
    return &n->node;
}

static int put(const char *name, int64_t i, int64_t k, char fill, size_t len)
{
    static char text[9000];
    caret_node_buf n;

    memset(text, fill, len);
    return caret_set(s, node(&n, name, i, k), text, len);
}

static int drop(const char *name, int64_t i, bool below)
{
    caret_node_buf n;

    return below ? caret_kill(s, node(&n, name, i, -1)) : caret_delete(s, node(&n, name, i, -1));
}

static void reset(void)
{
    caret_node_buf n;

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        must(caret_node_var(&n.node, sizeof n, names[i], strlen(names[i])), "node");
        must(caret_kill(s, &n.node), "kill");
    }
    for (int i = 0; i < KEYS; i++) {
        must(put("^t", i, -1, 'a', 20 + (size_t)i % 30), "reset");
        if (i % 10 < 5)
            must(put("^k", i / 10, i, 'b', 30), "reset");
    }
    must(put("^long", 1, -1, 'c', 3000), "reset");
    must(put("^long", 2, -1, 'd', 5000), "reset");
    must(put("^pair", 1, -1, 'p', 9), "reset");
    must(put("^pair", 2, -1, 'p', 9), "reset");
}

/* ---------------------------------------------------- the commits, one each */

#define DO(call)                                                                                             \
    do {                                                                                                     \
        int rc_ = (call);                                                                                    \
        if (rc_ != CARET_OK)                                                                                 \
            return rc_;                                                                                      \
    } while (0)

static int pairs(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(put("^pair", 1, -1, 'q', 12));
    DO(put("^pair", 2, -1, 'q', 12));
    DO(put("^t", 0, -1, 'q', 20));
    DO(put("^t", 1000, -1, 'q', 20));
    DO(drop("^t", 33, false));
    return drop("^k", 3, true);
}

static int fill(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    for (int i = 0; i < 40; i++)
        DO(put("^t", 20, i, 'f', 60));
    return CARET_OK;
}

static int thin_out(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    for (int i = 3; i < KEYS - 3; i++)
        DO(drop("^t", i, false));
    return CARET_OK;
}

static int kill_and_set(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(drop("^k", 2, true));
    DO(drop("^k", 4, true));
    DO(put("^k", 1, 14, 's', 70));
    DO(put("^k", 3, 30, 's', 70));
    return put("^k", 5, 50, 's', 70);
}

static int kill_all(caret_session *session, void *arg)
{
    caret_node_buf n;

    (void)arg;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        DO(caret_node_var(&n.node, sizeof n, names[i], strlen(names[i])));
        DO(caret_kill(session, &n.node));
    }
    return CARET_OK;
}

static int big(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(put("^long", 1, -1, 'e', 4000));
    DO(drop("^long", 2, false));
    return put("^t", 7, -1, 'e', 2000);
}

static const char *const op_names[] = {"same length", "longer",   "shorter",  "insert",   "split",
                                       "delete",      "kill one", "kill var", "long",     "long to short",
                                       "incr",        "pairs",    "fill",     "thin out", "kill and set",
                                       "kill all",    "big"};
#define OPS (sizeof op_names / sizeof op_names[0])

static int run_op(unsigned op)
{
    static caret_txn_fn *const body[] = {pairs, fill, thin_out, kill_and_set, kill_all, big};
    caret_node_buf n;

    switch (op) {
    case 0: return put("^t", 40, -1, 'z', 30);
    case 1: return put("^t", 40, -1, 'z', 40);
    case 2: return put("^t", 40, -1, 'z', 5);
    case 3: return put("^t", 40, 1, 'z', 5);
    case 4: return put("^t", 40, 1, 'z', 100);
    case 5: return drop("^t", 41, false);
    case 6: return drop("^k", 3, true);
    case 7: must(caret_node_var(&n.node, sizeof n, "^t", 2), "node"); return caret_kill(s, &n.node);
    case 8: return put("^long", 1, -1, 'x', 7000);
    case 9: return put("^long", 2, -1, 'x', 7);
    case 10: return caret_incr_int(s, node(&n, "^t", 11, -1), 5, NULL);
    default: return caret_transaction(s, body[op - 11], NULL, 0);
    }
}

#ifdef CARET_FAULTS

/* ------------------------------------------------------------- ways of reading */

/* Sum over all nodes with a value: in whatever order they come it is the same. */
static uint64_t hash_of(const caret_node *n, const char *value, size_t len)
{
    const struct caret__node *k = caret__node_const(n);
    uint64_t h = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < k->key_len; i++)
        h = (h ^ caret__node_key(k)[i]) * UINT64_C(1099511628211);
    h = (h ^ 0x100u) * UINT64_C(1099511628211);
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)value[i]) * UINT64_C(1099511628211);
    return h;
}

static int add(caret_node *n, uint64_t *sum)
{
    caret_slice v;
    int rc = caret_get(s, n, &v);

    if (rc == CARET_OK)
        *sum += hash_of(n, v.data, v.len);
    return rc;
}

/* In order, or backwards. */
static int by_walking(uint64_t *sum, bool forward)
{
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        caret_node_buf n;
        must(caret_node_var(&n.node, sizeof n, names[i], strlen(names[i])), "node");
        if (!forward)
            must(caret_node_child_int(&n.node, sizeof n, &n.node, 1000000), "node");
        for (;;) {
            int rc = forward ? caret_node_next(s, &n.node) : caret_node_previous(s, &n.node);
            if (rc == CARET_NONE)
                break;
            DO(rc);
            rc = add(&n.node, sum);
            if (rc != CARET_OK)
                return rc == CARET_NONE ? CARET_E_INVALID : rc; /* the walk said that it is there */
        }
    }
    return CARET_OK;
}

/* Siblings by next or previous, their children likewise, one handle for each level. */
static int by_siblings(caret_node_buf *parent, uint64_t *sum, bool forward, unsigned depth)
{
    caret_node_buf n;
    int rc;

    must(caret_node_copy(&n.node, sizeof n, &parent->node), "copy");
    rc = forward ? caret_first(s, &n.node) : caret_last(s, &n.node);
    while (rc == CARET_OK) {
        int data, has = add(&n.node, sum);
        if (has != CARET_OK && has != CARET_NONE)
            return has;
        DO(caret_data(s, &n.node, &data));
        if ((data % 10 == 1) != (has == CARET_OK) || data == 0)
            return CARET_E_INVALID;
        if (depth == 0)
            DO(by_siblings(&n, sum, forward, 1));
        rc = forward ? caret_next(s, &n.node) : caret_previous(s, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int by_levels(uint64_t *sum, bool forward)
{
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        caret_node_buf n;
        must(caret_node_var(&n.node, sizeof n, names[i], strlen(names[i])), "node");
        DO(by_siblings(&n, sum, forward, 0));
    }
    return CARET_OK;
}

/* By handles that remember where they were: all that any of the commits touches. */
#define HANDLES (KEYS + KEYS + 41 + 4 + 2)
static caret_node_buf handle[HANDLES];

static void make_handles(void)
{
    unsigned h = 0;

    for (int i = 0; i < KEYS; i++) {
        node(&handle[h++], "^t", i, -1);
        node(&handle[h++], "^k", i / 10, i);
    }
    for (int i = 0; i < 40; i++)
        node(&handle[h++], "^t", 20, i);
    node(&handle[h++], "^t", 40, 1);
    for (int i = 1; i < 3; i++) {
        node(&handle[h++], "^long", i, -1);
        node(&handle[h++], "^pair", i, -1);
    }
    node(&handle[h++], "^t", 1000, -1);
    node(&handle[h++], "^t", 1001, -1);
}

static int by_handles(uint64_t *sum, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        int rc = add(&handle[i].node, sum);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    return CARET_OK;
}

static int read_all(unsigned way, uint64_t *sum)
{
    *sum = 0;
    switch (way) {
    case 0: return by_walking(sum, true);
    case 1: return by_walking(sum, false);
    case 2: return by_levels(sum, true);
    case 3: return by_levels(sum, false);
    default: return by_handles(sum, 0, HANDLES);
    }
}
#define WAYS 6u /* the handles twice: from before the stop, and remembering a rebuilt page */

static void same(uint64_t sum, uint64_t want, const char *how, unsigned way)
{
    if (sum != want)
        fail_msg("%s: %s, way %u: not the state it should be", context, how, way);
}

static void expect(uint64_t want, const char *how)
{
    for (unsigned way = 0; way < WAYS; way++) {
        uint64_t sum;
        int rc = read_all(way, &sum);
        if (rc != CARET_OK)
            fail_msg("%s: %s, way %u: %d %s", context, how, way, rc, caret_message());
        same(sum, want, how, way);
    }
}

struct look {
    unsigned way;
    uint64_t sum;
};

static int look(caret_session *session, void *arg)
{
    struct look *l = arg;

    (void)session;
    return read_all(l->way, &l->sum);
}

static void expect_in_transactions(uint64_t want, const char *how)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct look l = {.way = way};
        must(caret_transaction(s, look, &l, 0), how);
        same(l.sum, want, how, way);
    }
}

/* ----------------------------------------------------------------- the writer */

static void writer(void)
{
    open_both();
    for (;;) {
        while (atomic_load(&shared->step) != IDLE)
            if (atomic_load(&shared->step) == FINISH) {
                close_both();
                _exit(0);
            } else
                usleep(50);
        reset();
        if (!atomic_load(&shared->warm))
            must(caret_checkpoint(db), "checkpoint");
        atomic_store(&shared->step, READY);
        wait_for(GO);
        uint64_t before = caret__fault_hits("*");
        if (atomic_load(&shared->nth) != 0)
            caret__fault_arm("*", atomic_load(&shared->nth), CARET__FAULT_STOP);
        must(run_op(atomic_load(&shared->op)), "commit");
        caret__fault_disarm();
        atomic_store(&shared->hits, (uint32_t)(caret__fault_hits("*") - before));
        atomic_store(&shared->step, DONE);
        while (atomic_load(&shared->step) == DONE)
            usleep(50);
    }
}

/* The writer goes; true: it has stopped, false: it has done it. */
static bool stops(pid_t pid)
{
    atomic_store(&shared->step, GO);
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);
        if (got == pid && WIFSTOPPED(status))
            return true;
        if (got != 0)
            fail_msg("%s: the writer ended: %x", context, (unsigned)status);
        if (atomic_load(&shared->step) == DONE)
            return false;
        usleep(50);
    }
}

static bool half_done(void)
{
    return atomic_load(&s->e->sh->log_head) != atomic_load(&s->e->sh->log_applied);
}

/* A transaction that began before the writer stopped reads on. */
static void read_on(uint64_t first, int rc, uint64_t pre, bool applied)
{
    uint64_t sum = 0, all = 0;

    if (rc == CARET_OK)
        rc = by_handles(&sum, HANDLES / 2, HANDLES);
    if (rc == CARET_OK && first + sum != pre && !applied)
        fail_msg("%s: a transaction from before the stop saw another state", context);
    for (unsigned i = 0; rc == CARET_RESTART; i++) {
        if (i == 3)
            fail_msg("%s: a transaction starts again and again", context);
        must(caret_restart(s), "restart");
        rc = read_all(i % WAYS, &all);
    }
    must(rc, "reading on");
    must(caret_commit(s), "a transaction that only reads");
}

/* One stop: all that is read is the state before or, once that is visible, behind the commit. */
static unsigned check_stop(pid_t pid, uint64_t pre, uint64_t post)
{
    uint64_t applied = atomic_load(&s->e->sh->log_applied), first = 0, sum;

    must(caret_begin(s, 0), "begin");
    int rc = by_handles(&first, 0, HANDLES / 2);
    if (!stops(pid)) {
        caret_rollback(s);
        return 0;
    }
    bool visible = atomic_load(&s->e->sh->log_applied) != applied;
    unsigned half = half_done();
    uint64_t want = visible ? post : pre;
    read_on(first, rc, pre, visible);
    expect(want, "stopped");
    expect_in_transactions(want, "stopped, in a transaction");
    must(caret_begin(s, 0), "begin"); /* writes what depends on what it has read */
    rc = read_all(0, &sum);
    must(rc, "read");
    same(sum, want, "read to write", 0);
    must(put("^z", 1, -1, 'w', 10), "set in a transaction");
    kill(pid, SIGCONT);
    wait_for(DONE);
    rc = caret_commit(s);
    if (rc != (visible ? CARET_OK : CARET_RESTART))
        fail_msg("%s: a transaction that depends on the state before: commit said %d", context, rc);
    if (rc == CARET_RESTART)
        caret_rollback(s);
    expect(post, "behind the commit");
    return 1 + half;
}

static void check_op(pid_t pid, unsigned op, bool warm, unsigned *stopped, unsigned *half)
{
    uint64_t pre = 0, post = 0;
    bool all = getenv("CARET_STOPS") != NULL && strcmp(getenv("CARET_STOPS"), "all") == 0;
    unsigned hits = UINT32_MAX;
    char report[1000];

    atomic_store(&shared->op, op);
    atomic_store(&shared->warm, warm);
    for (unsigned n = 0; n <= hits;) {
        alarm(PATIENCE);
        snprintf(context, sizeof context, "%s, %s pages, fault point %u", op_names[op],
                 warm ? "current" : "frozen", n);
        atomic_store(&shared->nth, n);
        wait_for(READY);
        must(read_all(0, &pre), "read");
        if (n == 0) {
            assert_false(stops(pid));
            hits = atomic_load(&shared->hits);
            must(read_all(0, &post), "read");
            expect(post, "without a stop");
            assert_true(pre != post);
        } else {
            unsigned what = check_stop(pid, pre, post);
            *stopped += what > 0;
            *half += what > 1;
        }
        if (caret_check(db, report, sizeof report) != CARET_OK)
            fail_msg("%s: %s", context, report);
        atomic_store(&shared->step, IDLE);
        n += all || n < 24 || hits < 48 ? 1 : 1 + hits / 48;
    }
}

static void readers_see_the_state_before_a_stopped_commit(void **state)
{
    unsigned stopped = 0, half = 0;
    int status;

    (void)state;
    atomic_store(&shared->step, IDLE);
    pid_t pid = start(writer);
    open_both();
    make_handles();
    for (unsigned op = 0; op < OPS; op++)
        for (unsigned warm = 0; warm < 2; warm++)
            check_op(pid, op, warm, &stopped, &half);
    print_message("%u stops, %u of them in half a commit\n", stopped, half);
    assert_true(half > 300);
    wait_for(READY);
    atomic_store(&shared->step, FINISH);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    close_both();
    alarm(0);
}

/* The stopped one is killed: its commit exists, and the next reader makes it visible. */
static void a_stopped_writer_that_is_killed_is_repaired(void **state)
{
    uint64_t pre, post;
    int status;

    (void)state;
    atomic_store(&shared->warm, 1);
    open_both();
    make_handles();
    for (unsigned op = 0; op < OPS; op++) {
        alarm(PATIENCE);
        snprintf(context, sizeof context, "%s, killed", op_names[op]);
        atomic_store(&shared->op, op);
        atomic_store(&shared->nth, 0);
        atomic_store(&shared->step, IDLE);
        pid_t pid = start(writer);
        wait_for(READY);
        must(read_all(0, &pre), "read");
        assert_false(stops(pid));
        must(read_all(0, &post), "read");
        unsigned hits = atomic_load(&shared->hits);
        for (unsigned n = hits; n > 0; n--) {
            atomic_store(&shared->nth, n);
            atomic_store(&shared->step, IDLE);
            wait_for(READY);
            if (!stops(pid))
                continue; /* a few points less than last time */
            if (half_done())
                break;
            kill(pid, SIGCONT);
            wait_for(DONE);
        }
        assert_true(half_done());
        expect(pre, "stopped");
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        expect(post, "killed");
    }
    close_both();
    alarm(0);
}

/* Somebody who comes now can open, read, lock and leave; locks of the dead are freed. */
static void opening_locks_and_closing_do_not_wait(void **state)
{
    caret_node_buf n;
    int status;

    (void)state;
    snprintf(context, sizeof context, "opening beside a stopped writer");
    alarm(PATIENCE);
    atomic_store(&shared->op, 11);
    atomic_store(&shared->warm, 1);
    atomic_store(&shared->nth, 40);
    atomic_store(&shared->step, IDLE);
    pid_t pid = start(writer);
    wait_for(READY);
    assert_true(stops(pid));
    fflush(NULL);
    pid_t dead = fork();
    if (dead == 0) {
        open_both();
        must(caret_lock(s, node(&n, "^lock", 1, -1), 0), "lock");
        kill(getpid(), SIGKILL);
    }
    waitpid(dead, &status, 0);
    open_both();
    assert_true(half_done());
    must(caret_lock(s, node(&n, "^lock", 2, -1), 0), "lock");
    must(caret_lock(s, node(&n, "^lock", 1, -1), UINT64_C(5000000000)), "lock of a dead process");
    must(caret_unlock_all(s), "unlock");
    close_both();
    kill(pid, SIGCONT);
    wait_for(DONE);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    alarm(0);
}

/* ---------------------------------------------------------- stopped repairers */

static void other_reader(void)
{
    struct look l = {0};

    open_both();
    caret__fault_arm("past_copied", atomic_load(&shared->nth), CARET__FAULT_STOP);
    must(caret_transaction(s, look, &l, 0), "other reader");
    caret__fault_disarm();
    atomic_store(&shared->sum, l.sum);
    close_both();
}

static void repairer(void)
{
    open_both();
    atomic_store(&shared->repairer, READY);
    while (atomic_load(&shared->repairer) != GO)
        usleep(50);
    caret__fault_arm("*", atomic_load(&shared->hits), CARET__FAULT_STOP);
    must(caret__writer_lock(s->e), "repairer");
    caret__writer_unlock(s->e);
    caret__fault_disarm();
}

/* It stops, or ends well. */
static bool stopped_or_done(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    if (!WIFSTOPPED(status) && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        fail_msg("%s: a process ended: %x", context, (unsigned)status);
    return WIFSTOPPED(status);
}

static void go_on(pid_t pid)
{
    kill(pid, SIGCONT);
    assert_false(stopped_or_done(pid));
}

/* The writer is stopped at its nth point; a reader at the copy-th page it has copied, the writer killed, the one
 * who repairs stopped at the mth point of that.  False: it wasn't, m is beyond the end. */
static bool stop_three(unsigned op, unsigned nth, unsigned copy, unsigned m)
{
    uint64_t pre, post, want;
    int status;

    alarm(PATIENCE);
    snprintf(context, sizeof context, "%s, point %u, page %u, repair %u", op_names[op], nth, copy, m);
    atomic_store(&shared->op, op);
    atomic_store(&shared->warm, 1);
    atomic_store(&shared->nth, nth);
    atomic_store(&shared->repairer, IDLE);
    atomic_store(&shared->step, IDLE);
    pid_t w = start(writer);
    wait_for(READY);
    must(read_all(0, &pre), "read");
    while (!stops(w) || !half_done()) { /* the tree is not quite the same each time */
        assert_true(--nth > 0);
        kill(w, SIGCONT);
        wait_for(DONE);
        atomic_store(&shared->nth, nth);
        atomic_store(&shared->step, IDLE);
        wait_for(READY);
    }
    pid_t p = start(repairer);
    while (atomic_load(&shared->repairer) != READY)
        usleep(50);
    atomic_store(&shared->nth, copy);
    pid_t reader = start(other_reader);
    bool stopped = stopped_or_done(reader);
    kill(w, SIGKILL);
    waitpid(w, &status, 0);
    atomic_store(&shared->hits, m);
    atomic_store(&shared->repairer, GO);
    bool in_repair = stopped_or_done(p);
    bool half = half_done();
    if (stopped)
        go_on(reader);
    want = atomic_load(&shared->sum); /* of one of the two states; which, is known below */
    if (half)
        expect(pre, "repair stopped");
    if (in_repair)
        go_on(p);
    must(read_all(0, &post), "read");
    expect(post, "repaired");
    if (pre == post)
        fail_msg("%s: the commit was lost", context);
    same(want, half || !stopped ? pre : post, "the other reader", 0);
    return in_repair;
}

/* Hits of fault points in a commit, by doing it. */
static unsigned hits_of(unsigned op)
{
    atomic_store(&shared->op, op);
    atomic_store(&shared->warm, 1);
    atomic_store(&shared->nth, 0);
    atomic_store(&shared->step, IDLE);
    pid_t pid = start(writer);
    wait_for(READY);
    assert_false(stops(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return atomic_load(&shared->hits);
}

static void readers_go_on_beside_a_stopped_repairer(void **state)
{
    static const unsigned ops[] = {0, 3, 11, 13, 14};
    unsigned n = 0;

    (void)state;
    open_both();
    make_handles();
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        unsigned nth = hits_of(ops[i]) * 6 / 10;
        for (unsigned m = 1; stop_three(ops[i], nth, 1 + m % 4, m); m += m < 30 ? 1 : m / 6)
            n++;
    }
    print_message("%u repairs stopped\n", n);
    assert_true(n > 60);
    close_both();
    alarm(0);
}

static void plain_reader(void)
{
    uint64_t sum;

    open_both();
    caret__fault_arm("past_copied", atomic_load(&shared->nth), CARET__FAULT_STOP);
    must(read_all(0, &sum), "plain reader");
    caret__fault_disarm();
    atomic_store(&shared->sum, sum);
    close_both();
}

/* The reader is stopped with a half-changed page copied, the writer goes on, to the next commits. */
static bool writer_goes_on(pid_t w, unsigned nth, unsigned copy)
{
    uint64_t pre;

    alarm(PATIENCE);
    atomic_store(&shared->nth, nth);
    atomic_store(&shared->step, IDLE);
    wait_for(READY);
    must(read_all(0, &pre), "read");
    bool half = stops(w) && half_done(), stopped = false;
    pid_t reader = 0;
    if (half) {
        atomic_store(&shared->nth, copy);
        reader = start(plain_reader);
        stopped = stopped_or_done(reader);
    }
    kill(w, SIGCONT);
    wait_for(DONE);
    atomic_store(&shared->nth, 0);
    atomic_store(&shared->step, IDLE);
    wait_for(READY); /* the state before, made anew */
    if (stopped)
        go_on(reader);
    if (half)
        same(atomic_load(&shared->sum), pre, "the other reader", 0);
    assert_false(stops(w));
    return stopped;
}

static void a_stopped_reader_notices_that_the_writer_went_on(void **state)
{
    unsigned n = 0;

    (void)state;
    open_both();
    make_handles();
    for (unsigned op = 0; op < OPS; op++) {
        unsigned hits = hits_of(op);
        atomic_store(&shared->nth, 0);
        atomic_store(&shared->step, IDLE);
        pid_t w = start(writer);
        wait_for(READY);
        assert_false(stops(w));
        for (unsigned i = 1; i < 10; i++) {
            snprintf(context, sizeof context, "%s, point %u", op_names[op], hits * i / 10);
            n += writer_goes_on(w, 1 + hits * i / 10, 1 + i % 3);
        }
        kill(w, SIGKILL);
        waitpid(w, NULL, 0);
    }
    print_message("%u readers stopped\n", n);
    assert_true(n > 30);
    close_both();
    alarm(0);
}

#else

static void skipped(void **state)
{
    (void)state;
    print_message("skipped: this build has no fault points (the small one has)\n");
    skip();
}
#define readers_see_the_state_before_a_stopped_commit    skipped
#define a_stopped_writer_that_is_killed_is_repaired      skipped
#define readers_go_on_beside_a_stopped_repairer          skipped
#define a_stopped_reader_notices_that_the_writer_went_on skipped
#define opening_locks_and_closing_do_not_wait            skipped

#endif

/* ------------------------------------------------------------ random moments */

static char mark[24];

static int write_pairs(caret_session *session, void *arg)
{
    struct caret__rand *r = arg;
    caret_node_buf n;

    for (int i = 0; i < 20; i++) {
        DO(caret_set(session, node(&n, "^even", i, -1), mark, strlen(mark)));
        DO(put("^fill", (int64_t)caret__rand_below(r, 400), -1, 'f', caret__rand_below(r, 90)));
        DO(caret_set(session, node(&n, "^odd", i, -1), mark, strlen(mark)));
    }
    return caret__rand_below(r, 8) == 0 ? drop("^fill", (int64_t)caret__rand_below(r, 400), true) : CARET_OK;
}

static void busy_writer(void)
{
    struct caret__rand r;

    open_both();
    caret__rand_seed(&r, (uint64_t)getpid());
    for (unsigned i = 0;; i++) {
        snprintf(mark, sizeof mark, "%d.%u", (int)getpid(), i);
        must(caret_transaction(s, write_pairs, &r, 0), "write");
        atomic_fetch_add(&shared->hits, 1);
    }
}

struct seen {
    char text[24];
    unsigned different;
};

/* All marks are of one transaction. */
static int read_pairs(caret_session *session, void *arg)
{
    struct seen *seen = arg;
    caret_node_buf n;
    caret_slice v;

    seen->different = 0;
    for (int i = 0; i < 40; i++) {
        DO(caret_get(session, node(&n, i % 2 != 0 ? "^odd" : "^even", i / 2, -1), &v));
        if (v.len >= sizeof seen->text)
            return CARET_E_INVALID;
        if (i == 0) {
            memcpy(seen->text, v.data, v.len);
            seen->text[v.len] = '\0';
        }
        seen->different += strlen(seen->text) != v.len || memcmp(seen->text, v.data, v.len) != 0;
    }
    return CARET_OK;
}

static void readers_go_on_beside_writers_stopped_at_random(void **state)
{
    const char *text = getenv("CARET_STOP_ROUNDS");
    unsigned rounds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 300, half = 0;
    pid_t pid[3];
    struct caret__rand r;
    int status;

    (void)state;
    atomic_store(&shared->hits, 0);
    open_both();
    for (unsigned i = 0; i < 3; i++)
        pid[i] = start(busy_writer);
    caret__rand_seed(&r, 20261121);
    while (atomic_load(&shared->hits) < 3)
        usleep(1000);
    for (unsigned k = 0; k < rounds; k++) {
        unsigned i = caret__rand_below(&r, 3);
        snprintf(context, sizeof context, "round %u", k);
        alarm(PATIENCE);
        usleep(caret__rand_below(&r, 3000));
        kill(pid[i], SIGSTOP);
        assert_int_equal(waitpid(pid[i], &status, WUNTRACED), pid[i]);
        if (!WIFSTOPPED(status))
            fail_msg("a writer ended: %x", (unsigned)status);
        half += atomic_load(&s->e->sh->log_head) != atomic_load(&s->e->sh->log_applied);
        for (unsigned n = 0; n < 20; n++) {
            struct seen seen;
            must(caret_transaction(s, read_pairs, &seen, 0), "read");
            if (seen.different != 0)
                fail_msg("round %u: %u marks of another transaction", k, seen.different);
        }
        kill(pid[i], SIGCONT);
    }
    print_message("%u of %u stops in half a commit, %u commits\n", half, rounds, atomic_load(&shared->hits));
    for (unsigned i = 0; i < 3; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], &status, 0);
    }
    char report[1000];
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s", report);
    close_both();
    alarm(0);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char lock[96];

    snprintf(path, sizeof path, "%.40s/caret-stopped-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    signal(SIGALRM, hangs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_the_state_before_a_stopped_commit),
        cmocka_unit_test(a_stopped_writer_that_is_killed_is_repaired),
        cmocka_unit_test(readers_go_on_beside_a_stopped_repairer),
        cmocka_unit_test(a_stopped_reader_notices_that_the_writer_went_on),
        cmocka_unit_test(opening_locks_and_closing_do_not_wait),
        cmocka_unit_test(readers_go_on_beside_writers_stopped_at_random),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
    snprintf(lock, sizeof lock, "%s-log", path);
    unlink(lock);
    return rc;
}
