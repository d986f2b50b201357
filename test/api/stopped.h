/*
 * What the tests of stopped writers share: a writer that does one commit after the other on command, stopping where
 * it is told, and ways of reading all that is stored.
 */
#ifndef CARET_TEST_API_STOPPED_H
#define CARET_TEST_API_STOPPED_H

#include <errno.h>
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/session.h"
#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"
#include "support/crowd.h"

#define KEYS     70 /* of each variable */
#define PATIENCE 60 /* seconds of patience() until a reader is taken for hanging */

static char path[80], shm_dir[80], context[120];

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

static inline void must(int rc, const char *what)
{
    if (rc != CARET_OK) {
        fprintf(stderr, "%s: %s: %d %s\n", context, what, rc, caret_message());
        _exit(99);
    }
}

static inline void hangs(int sig)
{
    static const char text[] = ": a reader hangs at a stopped writer\n";

    (void)sig;
    if (write(2, context, strlen(context)) < 0 || write(2, text, sizeof text - 1) < 0)
        _exit(97);
    _exit(98);
}

static inline void wait_for(uint32_t step)
{
    while (atomic_load(&shared->step) != step)
        usleep(50);
}

static inline void open_both(void)
{
    caret_options o = {.size = sizeof o,
                       .shm_dir = shm_dir,
                       .no_thread = 1,
                       .sync = CARET_SYNC_OFF,
                       .log_size = CARET__LOG_MIN};

    must(caret_open(path, &o, &db), "open");
    must(caret_session_open(db, &s), "session");
}

static inline void close_both(void)
{
    caret_session_close(s);
    must(caret_close(db), "close");
}

static inline pid_t start(void (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no child */
        alarm(0);
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* -------------------------------------------------------------- what is stored */

static const char *const names[] = {"^t", "^k", "^long", "^pair"};

static inline caret_node *node(caret_node_buf *n, const char *name, int64_t i, int64_t k)
{
    must(caret_node_var(&n->node, sizeof *n, name, strlen(name)), "node");
    must(caret_node_child_int(&n->node, sizeof *n, &n->node, i), "node");
    if (k >= 0)
        must(caret_node_child_int(&n->node, sizeof *n, &n->node, k), "node");
    return &n->node;
}

static inline int put(const char *name, int64_t i, int64_t k, char fill, size_t len)
{
    static char text[9000];
    caret_node_buf n;

    memset(text, fill, len);
    return caret_set(s, node(&n, name, i, k), text, len);
}

static inline int drop(const char *name, int64_t i, bool below)
{
    caret_node_buf n;

    return below ? caret_kill(s, node(&n, name, i, -1)) : caret_delete(s, node(&n, name, i, -1));
}

static inline void reset(void)
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

static inline int pairs(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(put("^pair", 1, -1, 'q', 12));
    DO(put("^pair", 2, -1, 'q', 12));
    DO(put("^t", 0, -1, 'q', 20));
    DO(put("^t", 1000, -1, 'q', 20));
    DO(drop("^t", 33, false));
    return drop("^k", 3, true);
}

static inline int fill(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    for (int i = 0; i < 40; i++)
        DO(put("^t", 20, i, 'f', 60));
    return CARET_OK;
}

static inline int thin_out(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    for (int i = 3; i < KEYS - 3; i++)
        DO(drop("^t", i, false));
    return CARET_OK;
}

static inline int kill_and_set(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(drop("^k", 2, true));
    DO(drop("^k", 4, true));
    DO(put("^k", 1, 14, 's', 70));
    DO(put("^k", 3, 30, 's', 70));
    return put("^k", 5, 50, 's', 70);
}

static inline int kill_all(caret_session *session, void *arg)
{
    caret_node_buf n;

    (void)arg;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        DO(caret_node_var(&n.node, sizeof n, names[i], strlen(names[i])));
        DO(caret_kill(session, &n.node));
    }
    return CARET_OK;
}

static inline int big(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(put("^long", 1, -1, 'e', 4000));
    DO(drop("^long", 2, false));
    return put("^t", 7, -1, 'e', 2000);
}

/* Children of ^t, or of ^k, from one number to another. */
static inline int drop_range(caret_session *session, const char *name, const char *from, const char *to)
{
    caret_slice lo = {from, strlen(from)}, hi = {to, strlen(to)};
    caret_node_buf n;

    must(caret_node_var(&n.node, sizeof n, name, strlen(name)), "node");
    return caret_kill_range(session, &n.node, &lo, &hi, 0);
}

static inline int ranges(caret_session *session, void *arg)
{
    (void)arg;
    DO(drop_range(session, "^t", "5", "25"));
    DO(put("^t", 15, -1, 'r', 70));
    DO(drop_range(session, "^t", "30", "31"));
    return drop_range(session, "^k", "2", "4");
}

/* Some sets that fit where they are, two of them in one leaf. */
static inline int group(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(put("^t", 40, -1, 'g', 30));
    DO(put("^t", 40, 1, 'g', 3));
    DO(put("^t", 20, 5, 'g', 3));
    return put("^pair", 1, -1, 'g', 12);
}

static const char *const op_names[] = {"same length", "longer",   "shorter",  "insert",   "split",
                                       "delete",      "kill one", "kill var", "long",     "long to short",
                                       "incr",        "pairs",    "fill",     "thin out", "kill and set",
                                       "kill all",    "big",      "group",    "ranges",   "kill range"};
#define OPS (sizeof op_names / sizeof op_names[0])

static inline int run_op(unsigned op)
{
    static caret_txn_fn *const body[] = {pairs, fill, thin_out, kill_and_set, kill_all, big, group, ranges};
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
    case 10: return caret_incr_int(s, node(&n, "^t", 11, -1), 5, 0, NULL);
    case 19: return drop_range(s, "^t", "12", "48");
    default: return caret_transaction(s, body[op - 11], NULL, 0);
    }
}

/* ------------------------------------------------------------- ways of reading */

/* Sum over all nodes with a value: in whatever order they come it is the same. */
static inline uint64_t hash_of(const caret_node *n, const char *value, size_t len)
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

static inline int add(caret_node *n, uint64_t *sum)
{
    caret_slice v;
    int rc = caret_get(s, n, &v);

    if (rc == CARET_OK)
        *sum += hash_of(n, v.data, v.len);
    return rc;
}

/* In order, or backwards. */
static inline int by_walking(uint64_t *sum, bool forward)
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
static inline int by_siblings(caret_node_buf *parent, uint64_t *sum, bool forward, unsigned depth)
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

static inline int by_levels(uint64_t *sum, bool forward)
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

static inline void make_handles(void)
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

static inline int by_handles(uint64_t *sum, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        int rc = add(&handle[i].node, sum);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    return CARET_OK;
}

static inline int read_all(unsigned way, uint64_t *sum)
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

static inline void same(uint64_t sum, uint64_t want, const char *how, unsigned way)
{
    if (sum != want)
        fail_msg("%s: %s, way %u: not the state it should be", context, how, way);
}

static inline void expect(uint64_t want, const char *how)
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

static inline int look(caret_session *session, void *arg)
{
    struct look *l = arg;

    (void)session;
    return read_all(l->way, &l->sum);
}

static inline void expect_in_transactions(uint64_t want, const char *how)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct look l = {.way = way};
        must(caret_transaction(s, look, &l, 0), how);
        same(l.sum, want, how, way);
    }
}

/* ----------------------------------------------------------------- the writer */

static inline void writer(void)
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
static inline bool stops(pid_t pid)
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

static inline bool half_done(void)
{
    return atomic_load(&s->e->sh->log_head) != atomic_load(&s->e->sh->log_applied);
}

static pid_t tester;

static inline void stop_tester(int sig)
{
    (void)sig;
    kill(tester, SIGKILL);
}

/* Run the tests on a database of their own, in a child: however that ends, nothing is left. */
static inline int with_database(int (*run)(void))
{
    const char *tmp = getenv("TMPDIR");
    char folder[80], command[400];
    int status = 1;

    snprintf(folder, sizeof folder, "%.40s/caret-stopped-XXXXXX", tmp != NULL ? tmp : "/tmp");
    snprintf(shm_dir, sizeof shm_dir, "/dev/shm/caret-stopped-XXXXXX");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || mkdtemp(folder) == NULL || mkdtemp(shm_dir) == NULL) {
        perror("no folder for a database");
        return 1;
    }
    snprintf(path, sizeof path, "%.60s/db.caret", folder);
    fflush(NULL);
    tester = fork();
    if (tester == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGALRM, hangs);
        exit(run());
    }
    signal(SIGTERM, stop_tester); /* of timeout(1) */
    signal(SIGINT, stop_tester);
    while (tester > 0 && waitpid(tester, &status, 0) < 0 && errno == EINTR)
        continue;
    snprintf(command, sizeof command, "rm -rf '%s' '%s'*", folder, shm_dir);
    if (system(command) != 0 || !WIFEXITED(status)) {
        fprintf(stderr, "the tests ended with status %x\n", (unsigned)status);
        return 1;
    }
    return WEXITSTATUS(status);
}

#endif
