/*
 * Walks with values go through copies of leaves, and from leaf to leaf without a descent: they meet what
 * plain gets say, whatever is changed between two steps or in the middle of one, and a transaction has read
 * what it walked through.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/node.h"
#include "base/fault.h"
#include "caret.h"
#include "shm/layout.h"
#include "support/nodes.h"

#define NODES 300

static char path[80];
static caret_db *db;
static caret_session *s, *other;

static caret_node *below(caret_node_buf *n, const char *name)
{
    must(caret_node_var(&n->node, sizeof *n, name, strlen(name)), "variable");
    return &n->node;
}

static caret_node *node(caret_node_buf *n, const char *name, double i)
{
    below(n, name);
    must(caret_node_child_double(&n->node, sizeof *n, &n->node, i), "child");
    return &n->node;
}

#define VALUE (CARET__PAGE_SIZE / 32 + 4) /* some 12 or 25 nodes in a leaf */

/* Each value tells its node, and which version it is. */
static void telling(char buf[VALUE + 1], char version, double i)
{
    snprintf(buf, VALUE + 1, "%c %*.10g", version, (int)VALUE - 2, i);
}

static void put(caret_session *by, const char *name, double i, char version)
{
    caret_node_buf n;
    char buf[VALUE + 1];

    telling(buf, version, i);
    must(caret_set(by, node(&n, name, i), buf, VALUE), "set");
}

static bool tells(const caret_slice *v, char version, double i)
{
    char buf[VALUE + 1];

    telling(buf, version, i);
    return v->data != NULL && v->len == VALUE && memcmp(v->data, buf, VALUE) == 0;
}

static void fill(const char *name)
{
    for (int i = 0; i < NODES; i++)
        put(s, name, i * 101 % NODES + 1, 'a'); /* leaves have room */
}

static void empty(const char *name)
{
    caret_node_buf n;

    must(caret_kill(s, below(&n, name)), "kill");
}

enum { NEXT, PREVIOUS, NODE_NEXT, NODE_PREVIOUS, WAYS };
typedef int plain(caret_session *s, caret_node *n);
typedef int with_value(caret_session *s, caret_node *n, caret_slice *value);
static plain *const moves[WAYS] = {caret_next, caret_previous, caret_node_next, caret_node_previous};
static with_value *const steps[WAYS] = {caret_next_get, caret_previous_get, caret_node_next_get,
                                        caret_node_previous_get};

static int by(unsigned way)
{
    return way % 2 == 0 ? 1 : -1;
}

static void start(caret_node_buf *n, const char *name, double at)
{
    caret_slice v;

    must(caret_get(s, node(n, name, at), &v), "get");
}

static void expect_step(unsigned way, caret_node_buf *n, double to, char version)
{
    caret_node_buf want;
    caret_slice v;

    must(steps[way](s, &n->node, &v), "step");
    if (!caret_node_equal(&n->node, node(&want, "^t", to)) || !tells(&v, version, to))
        fail_msg("way %u: not at %g, or not its value: %.*s", way, to, (int)v.len, v.data);
}

/* --------------------------------------------------------------- between steps */

/* From the middle of the nodes: far enough for the leaf to be copied. */
static double walk_some(unsigned way, caret_node_buf *n)
{
    double at = NODES / 2;

    start(n, "^t", at);
    for (int i = 0; i < 40; i++, at += by(way))
        expect_step(way, n, at + by(way), 'a');
    return at;
}

static void what_is_changed_ahead_is_met(void **state)
{
    caret_node_buf n, m;

    (void)state;
    for (unsigned way = 0; way < WAYS; way++) {
        fill("^t");
        double at = walk_some(way, &n), d = by(way);
        for (int k = 0; k < 12; k++, at += d) {
            put(other, "^t", at + d, 'b'); /* a new value */
            expect_step(way, &n, at + d, 'b');
        }
        for (int k = 0; k < 12; k++, at += d) {
            put(other, "^t", at + d / 2, 'c'); /* a new node */
            expect_step(way, &n, at + d / 2, 'c');
            expect_step(way, &n, at + d, 'a');
        }
        for (int k = 0; k < 12; k++, at += 2 * d) {
            must(caret_delete(other, node(&m, "^t", at + d)), "delete");
            expect_step(way, &n, at + 2 * d, 'a');
        }
        empty("^t");
    }
}

/* One that is beside a walk: its place is not known, so it is not where the walk is. */
static void a_node_just_made_goes_its_own_way(void **state)
{
    caret_node_buf n, m;

    (void)state;
    fill("^t");
    for (unsigned way = 0; way < WAYS; way++) {
        double at = NODES / 2, d = by(way);
        start(&n, "^t", at);
        for (int i = 0; i < 60; i++, at += d) {
            expect_step(way, &n, at + d, 'a');
            node(&m, "^t", at - 9 * d);
            expect_step(way, &m, at - 8 * d, 'a');
        }
    }
    empty("^t");
}

/* A step from there, its place remembered, says what one says that knows of no place. */
static int expect_same(unsigned way, caret_node_buf *n)
{
    caret_node_buf m;
    caret_slice v, w;
    static char held[100];

    must(caret_node_copy(&m.node, sizeof m, &n->node), "copy");
    caret__hint_drop(caret__node(&m.node));
    int rc = steps[way](s, &n->node, &v);
    bool none = rc == CARET_OK && v.data == NULL;
    size_t len = rc == CARET_OK ? v.len : 0;
    if (len != 0)
        memcpy(held, v.data, len);
    assert_int_equal(moves[way](s, &m.node), rc);
    if (!caret_node_equal(&n->node, &m.node)) {
        char a[400], b[400];
        size_t an, bn;
        caret_node_zwr(&n->node, 0, a, sizeof a, &an);
        caret_node_zwr(&m.node, 0, b, sizeof b, &bn);
        fail_msg("way %u: %.*s, not %.*s", way, (int)an, a, (int)bn, b);
    }
    if (rc != CARET_OK)
        return rc;
    assert_int_equal(caret_get(s, &m.node, &w), none ? CARET_NONE : CARET_OK);
    assert_int_equal(len, none ? 0 : w.len);
    if (len != 0)
        assert_memory_equal(held, w.data, len);
    return rc;
}

/* All ways from all nodes that a walk from end to end comes to. */
static void all_ways_agree(const char *name)
{
    caret_node_buf n, m, child;

    for (unsigned along = NODE_NEXT; along <= NODE_PREVIOUS; along++) {
        below(&n, name);
        if (along == NODE_PREVIOUS)
            must(caret_node_child(&n.node, sizeof n, &n.node, "~", 1), "child");
        while (expect_same(along, &n) == CARET_OK && caret_node_depth(&n.node) != 0) {
            for (unsigned way = 0; way < WAYS; way++) {
                must(caret_node_copy(&m.node, sizeof m, &n.node), "copy");
                expect_same(way, &m);
                must(caret_node_copy(&child.node, sizeof child, &n.node), "copy");
                if ((way % 2 == 0 ? caret_first : caret_last)(s, &child.node) == CARET_OK)
                    expect_same(way, &child);
            }
        }
    }
}

static void sub_text(caret_node_buf *n, const char *sub, size_t len)
{
    must(caret_node_child(&n->node, sizeof *n, &n->node, sub, len), "child");
}

static void give(const caret_node_buf *n, size_t len)
{
    caret_node_buf m;

    must(caret_node_copy(&m.node, sizeof m, &n->node), "copy");
    must(caret_set(s, &m.node, "abcdefghijklmnopqrstuvwxyz", len % 27), "set");
}

/* Siblings of every kind, some with nodes below them, some with only those. */
static void every_kind_of_subscript_is_walked_through(void **state)
{
    static const char *const subs[] = {"",
                                       "0",
                                       "-1",
                                       "-12",
                                       "-123456789.5",
                                       "-.001",
                                       ".5",
                                       "1",
                                       "10",
                                       "99",
                                       "100",
                                       "101",
                                       "102",
                                       "1234567",
                                       "1E5",
                                       "a",
                                       "aa",
                                       "ab",
                                       "-",
                                       "-x",
                                       "b",
                                       "c",
                                       "a long one, eight and more",
                                       "a long one, eight",
                                       "a long one, 8"};
    caret_node_buf n, m;

    (void)state;
    for (unsigned i = 0; i < sizeof subs / sizeof subs[0] * 3; i++) {
        below(&n, i % 3 == 0 ? "^few" : "^kinds");
        sub_text(&n, subs[i / 3], strlen(subs[i / 3]));
        give(&n, i);
        for (int k = -9; k < (i % 3 == 0 ? -7 : 9); k += 2) {
            m = n;
            must(caret_node_child_int(&m.node, sizeof m, &m.node,
                                      i % 3 == 1   ? k
                                      : i % 3 == 2 ? k / 4
                                                   : 1),
                 "child");
            give(&m, (size_t)k + 10);
        }
    }
    for (int i = 0; i < 20; i++) {
        static const char bytes[] = "b\0c\1d\0\0\1";
        below(&n, "^bytes");
        sub_text(&n, bytes + i % 3, (size_t)i % 6 + 1);
        give(&n, (size_t)i);
    }
    all_ways_agree("^few");
    all_ways_agree("^kinds");
    all_ways_agree("^bytes");
    empty("^few");
    empty("^kinds");
    empty("^bytes");
}

/* Parents with and without a value of their own, in the order of the nodes: leaves are full, and begin anywhere. */
static void families_are_walked_through(void **state)
{
    caret_node_buf n, child, m;

    (void)state;
    for (int i = 1; i <= 90; i++) {
        node(&n, "^family", i);
        if (i % 3 != 0)
            give(&n, (size_t)i);
        for (int k = 0; k < 4 + i % 17; k++) {
            child = n;
            must(caret_node_child_int(&child.node, sizeof child, &child.node, k), "child");
            give(&child, (size_t)k);
            m = child;
            must(caret_node_child_int(&m.node, sizeof m, &m.node, -k), "child");
            if (k % 4 == 0)
                give(&m, (size_t)k);
        }
    }
    for (int i = 91; i <= 95; i++) {
        node(&n, "^family", i);
        sub_text(&n, i % 2 == 0 ? "" : "0", (size_t)(i % 2));
        give(&n, 1);
        for (int k = -3; k < 3; k++) {
            child = n;
            must(caret_node_child_int(&child.node, sizeof child, &child.node, k), "child");
            give(&child, 2);
        }
    }
    all_ways_agree("^family");
    empty("^family");
}

/* ---------------------------------------------------------------- transactions */

/* The last node of its leaf in that direction. */
static double edge(unsigned way)
{
    caret_node_buf a, b;

    for (double at = NODES / 2; at > 1 && at < NODES; at += by(way)) {
        start(&a, "^t", at);
        start(&b, "^t", at + by(way));
        if (caret__hint_get(caret__node(&a.node)).pgno != caret__hint_get(caret__node(&b.node)).pgno)
            return at;
    }
    fail_msg("all in one leaf");
    return 0;
}

/* A change after the step, to what it read: between the two nodes, or the value. */
static void overtake(unsigned way, double at, bool copied, bool between)
{
    caret_node_buf n, m;
    caret_slice v;
    double d = by(way);

    start(&n, "^t", at - 60 * d); /* there the walk comes from leaf to leaf */
    for (int i = 0; i < 60; i++)
        must(steps[way](s, &n.node, &v), "step");
    must(caret_begin(s, 0), "begin");
    must(steps[way](s, &n.node, &v), "step");
    put(other, "^t", copied ? at : between ? at + d / 2 : at + d, 'b');
    must(caret_set(s, node(&m, "^result", 1), "x", 1), "set");
    assert_int_equal(caret_commit(s), CARET_RESTART);
    must(caret_rollback(s), "rollback");
}

/* Give the node i a value and so many children. */
static void have_children(caret_session *by, caret_node_buf *n, double i, int children)
{
    caret_node_buf child;

    node(n, "^d", i);
    must(caret_set(by, &n->node, "v", 1), "set");
    for (int k = 1; k <= children; k++) {
        child = *n;
        must(caret_node_child_int(&child.node, sizeof child, &child.node, k), "child");
        must(caret_set(by, &child.node, "c", 1), "set");
    }
}

static void expect_data(caret_node_buf *n, int want)
{
    int data = -1;

    must(caret_data(s, &n->node, &data), "data");
    assert_int_equal(data, want);
}

/* By a node that knows its slot: alone, among others, at the end of a leaf; and what another session changes. */
static void what_is_below_is_told_by_the_next_slot(void **state)
{
    caret_node_buf n[NODES];
    caret_slice v;

    (void)state;
    for (int i = 0; i < NODES; i++)
        have_children(s, &n[i], i, i % 7 % 4);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < NODES; i++) {
            must(caret_get(s, &n[i].node, &v), "get");
            expect_data(&n[i], i % 7 % 4 != 0 ? 11 : 1);
            caret_node_buf other_n;
            if (i % 7 == 0) { /* has none: gets one, and loses it */
                have_children(other, &other_n, i, 1);
                expect_data(&n[i], 11);
                must(caret_kill(other, &other_n.node), "kill");
                expect_data(&n[i], 0);
                have_children(other, &other_n, i, 0);
                expect_data(&n[i], 1);
            }
        }
        must(caret_checkpoint(db), "checkpoint");
    }
    empty("^d");
}

/* A child that another session makes restarts those that had seen that there is none, however that was seen. */
static void what_is_not_below_is_in_the_read_set(void **state)
{
    caret_node_buf n[8], mine, theirs;
    caret_slice v;

    (void)state;
    for (int i = 0; i < 8; i++)
        have_children(s, &n[i], i, 0);
    for (int i = 0; i < 8; i++) {
        for (int known = 0; known < 2; known++) {
            if (known)
                must(caret_get(s, &n[i].node, &v), "get");
            must(caret_begin(s, 0), "begin");
            expect_data(&n[i], 1);
            must(caret_set(s, node(&mine, "^mine", i), "v", 1), "set");
            have_children(other, &theirs, i, 1);
            assert_int_equal(caret_commit(s), CARET_RESTART);
            must(caret_rollback(s), "rollback");
            expect_data(&n[i], 11);
            must(caret_kill(s, &n[i].node), "kill");
            have_children(s, &theirs, i, 0);
        }
    }
    empty("^d");
}

static void what_is_walked_through_is_in_the_read_set(void **state)
{
    (void)state;
    for (unsigned way = 0; way < WAYS; way++) {
        fill("^t");
        for (int i = 0; i < 8; i++) /* some of them in the middle of a leaf */
            overtake(way, NODES / 2 + i, true, false);
        overtake(way, edge(way), false, true);
        empty("^t");
        fill("^t");
        overtake(way, edge(way), false, false);
        empty("^t");
    }
}

/* ------------------------------------------------------------- in the middle of one */

#ifdef CARET_FAULTS

static double *shared; /* where the child is */

/* Walk until a step is stopped; the next says what there was when it went on. */
static int walk_stopped(unsigned way, bool valued, const char *fault, char version, double part)
{
    caret_node_buf n, want;
    caret_slice v;
    double at = way % 2 == 0 ? 100 : NODES - 100, d = by(way);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start(&n, "^t", at);
    caret__fault_arm(fault, 1, CARET__FAULT_STOP);
    for (shared[1] = 0; shared[1] == 0; at += d) { /* the parent sets it when the child has stopped */
        shared[0] = at;
        int rc = valued ? steps[way](s, &n.node, &v) : moves[way](s, &n.node);
        double to = shared[1] == 0 ? at + d : at + d * part;
        if (rc != CARET_OK || !caret_node_equal(&n.node, node(&want, "^t", to)))
            return 2;
        if (valued && !tells(&v, shared[1] == 0 ? 'a' : version, to))
            return 3;
    }
    return 0;
}

static void insert_between(double at, double d)
{
    put(s, "^t", at + d / 2, 'b');
}

static void set_next(double at, double d)
{
    put(s, "^t", at + d, 'b');
}

/* A leaf before the one that is left is split, mostly: that one is another child of its parent then. */
static void split_before(double at, double d)
{
    for (int i = 1; i < 40; i++)
        put(s, "^t", at - 30 * d + i / 64.0, 'x');
}

static void change_in_a_step(unsigned way, bool valued, const char *fault,
                             void (*change)(double at, double d))
{
    bool between = change == insert_between, unchanged = change == split_before;
    int status;

    fill("^t");
    pid_t pid = fork();
    if (pid == 0)
        _exit(walk_stopped(way, valued, fault, unchanged ? 'a' : 'b', between ? 0.5 : 1));
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    if (!WIFSTOPPED(status))
        fail_msg("way %u, value %d, %s: no step came there: 0x%x", way, valued, fault, status);
    change(shared[0], by(way));
    shared[1] = 1;
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("way %u, value %d, %s: status 0x%x, at %g", way, valued, fault, status, shared[0]);
    empty("^t");
}

/* Count FEW nodes from one on, of several leaves, until a step from one leaf to the next is stopped. */
static int count_stopped(void)
{
    enum { FEW = 60 };
    caret_node_buf n;
    char from[20], to[20];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    caret__fault_arm("walk_parent", 1, CARET__FAULT_STOP);
    for (int at = 100; shared[1] == 0; at++) {
        caret_slice lo = {from, (size_t)sprintf(from, "%d", at)};
        caret_slice hi = {to, (size_t)sprintf(to, "%d", at + FEW)};
        uint64_t count = 0;
        shared[0] = at;
        caret_node_var(&n.node, sizeof n, "^t", 2);
        if (caret_count_in(s, &n.node, &lo, &hi, CARET_RANGE_BEFORE, &count) != CARET_OK || count != FEW)
            return 2;
    }
    return 0;
}

/* The split is before all that is counted, so that nothing else tells of it. */
static void a_count_steps_to_the_leaf_beside_though_one_before_is_split(void **state)
{
    int status;

    (void)state;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    fill("^t");
    pid_t pid = fork();
    if (pid == 0)
        _exit(count_stopped());
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    split_before(shared[0], 1);
    shared[1] = 1;
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status 0x%x, from %g on", status, shared[0]);
    empty("^t");
    munmap(shared, 4096);
}

/* Copy all nodes, of pages in the file that were read before, until a step from one leaf to the next is stopped. */
static int copy_stopped(void)
{
    caret_node_buf from, to;
    uint64_t count;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (caret_count(s, below(&from, "^t"), &count) != CARET_OK || count != NODES)
        return 2;
    caret__fault_arm("walk_trusted", 1, CARET__FAULT_STOP);
    int rc = caret_copy(s, below(&to, "t"), below(&from, "^t"));
    if (rc != CARET_OK)
        fprintf(stderr, "%s\n", caret_message());
    return rc == CARET_OK && caret_count(s, below(&to, "t"), &count) == CARET_OK && count == 0 ? 0 : 3;
}

/* All nodes go, and long values take all places that are free. */
static void put_values_instead(void)
{
    static char value[CARET__PAGE_SIZE];
    caret_node_buf n;

    memset(value, 'l', sizeof value);
    empty("^t");
    for (int i = 0; i < 2; i++) /* their numbers are given back by the second at the latest */
        must(caret_checkpoint(db), "checkpoint");
    for (int i = 0; i < 4 * NODES; i++)
        must(caret_set(s, node(&n, "^l", i), value, sizeof value), "set");
}

static void a_leaf_that_became_something_else_is_no_damage(void **state)
{
    int status;

    (void)state;
    fill("^t");
    must(caret_checkpoint(db), "checkpoint");
    pid_t pid = fork();
    if (pid == 0)
        _exit(copy_stopped());
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    put_values_instead();
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status 0x%x", status);
    empty("^l");
}

static void what_changes_under_a_step_to_another_leaf_is_read_again(void **state)
{
    (void)state;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (unsigned way = 0; way < WAYS; way++) {
        for (int valued = 0; valued < 2; valued++) {
            change_in_a_step(way, valued, "walk_across", insert_between);
            change_in_a_step(way, valued, "walk_parent", split_before);
        }
        change_in_a_step(way, true, "walk_across", set_next);
    }
    munmap(shared, 4096);
}

#else

static void a_leaf_that_became_something_else_is_no_damage(void **state)
{
    (void)state;
    skip();
}

static void a_count_steps_to_the_leaf_beside_though_one_before_is_split(void **state)
{
    (void)state;
    skip();
}

static void what_changes_under_a_step_to_another_leaf_is_read_again(void **state)
{
    (void)state;
    puts("skipped: built without fault points, nothing can be stopped in a step");
    skip();
}

#endif

static int set_up(void **state)
{
    /* A checkpoint of the thread's would put leaves into the file, and the first step to each of these is a descent. */
    caret_options o = {.size = sizeof o, .no_thread = 1, .sync = CARET_SYNC_OFF};

    (void)state;
    return caret_open(path, &o, &db) != CARET_OK || caret_session_open(db, &s) != CARET_OK ||
           caret_session_open(db, &other) != CARET_OK;
}

static int tear_down(void **state)
{
    (void)state;
    caret_session_close(s);
    caret_session_close(other);
    return caret_close(db) != CARET_OK;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-walk-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_changed_ahead_is_met),
        cmocka_unit_test(a_node_just_made_goes_its_own_way),
        cmocka_unit_test(every_kind_of_subscript_is_walked_through),
        cmocka_unit_test(families_are_walked_through),
        cmocka_unit_test(what_is_below_is_told_by_the_next_slot),
        cmocka_unit_test(what_is_not_below_is_in_the_read_set),
        cmocka_unit_test(what_is_walked_through_is_in_the_read_set),
        cmocka_unit_test(a_count_steps_to_the_leaf_beside_though_one_before_is_split),
        cmocka_unit_test(a_leaf_that_became_something_else_is_no_damage),
        cmocka_unit_test(what_changes_under_a_step_to_another_leaf_is_read_again),
    };
    int rc = cmocka_run_group_tests(tests, set_up, tear_down);
    char lock[96];
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
    return rc;
}
