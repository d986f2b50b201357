/*
 * A step with its value, and many values at once, say what the plain calls say: in whatever order, inside and
 * outside of transactions with own changes, for locals, snapshots, long and empty values; and while others
 * write.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"
#include "support/nodes.h"

#define NODES 900
#define MANY  70

static char path[80];
static caret_db *db;
static caret_session *s;

/* Of node i: short, empty now and then, or out of line. */
static size_t value(unsigned i, unsigned version, char *buf)
{
    size_t len = i % 97 == 5 ? 5000 : i % 13 == 3 ? 0 : 4 + (i * 31 + version) % 90;

    for (size_t k = 0; k < len; k++)
        buf[k] = (char)('a' + (i + version + k) % 26);
    return len;
}

/* Some nodes have only children, some children besides. */
static void fill(const char *name, unsigned version)
{
    static char buf[6000];
    caret_node_buf n;

    for (unsigned i = 0; i < NODES; i++) {
        if (i % 7 != 2)
            must(caret_set(s, node_at(&n, name, i), buf, value(i, version, buf)), "set");
        if (i % 7 == 2 || i % 11 == 4) {
            node_at(&n, name, i);
            must(caret_node_child(&n.node, sizeof n, &n.node, "below", 5), "child");
            must(caret_set(s, &n.node, "x", 1), "set");
        }
    }
}

typedef int plain(caret_session *s, caret_node *n);
typedef int with_value(caret_session *s, caret_node *n, caret_slice *value);

/* Both ways from there to the end: the same nodes, the same values. */
static unsigned walk(const char *name, int64_t from, plain *move, with_value *both)
{
    caret_node_buf a, b;
    caret_slice v, w;
    static char held[6000];
    unsigned steps = 0;

    node_at(&a, name, from);
    node_at(&b, name, from);
    for (;; steps++) {
        int rc = both(s, &a.node, &v), got = CARET_NONE;
        if (rc == CARET_OK && v.len != 0)
            memcpy(held, v.data, v.len);
        bool none = rc == CARET_OK && v.data == NULL;
        size_t len = rc == CARET_OK ? v.len : 0;
        assert_int_equal(move(s, &b.node), rc);
        assert_true(caret_node_equal(&a.node, &b.node));
        if (rc != CARET_OK) {
            assert_int_equal(rc, CARET_NONE);
            return steps;
        }
        got = caret_get(s, &b.node, &w);
        assert_int_equal(got, none ? CARET_NONE : CARET_OK);
        assert_int_equal(len, none ? 0 : w.len);
        if (len != 0)
            assert_memory_equal(held, w.data, len);
    }
}

static void walk_all(const char *name, unsigned least)
{
    assert_true(walk(name, -1, caret_next, caret_next_get) >= least);
    assert_true(walk(name, NODES + 5, caret_previous, caret_previous_get) >= least);
    assert_true(walk(name, -1, caret_node_next, caret_node_next_get) >= least);
    assert_true(walk(name, NODES + 5, caret_node_previous, caret_node_previous_get) >= least);
}

/* Random ones, some absent, some twice, some below another variable. */
static void get_many(const char *name, unsigned seed, bool prefetch)
{
    static caret_node_buf n[MANY];
    caret_node *list[MANY];
    caret_slice v[MANY], one;
    static char held[MANY * 6000];
    struct caret__rand r;

    caret__rand_seed(&r, seed);
    unsigned count = 1 + caret__rand_below(&r, MANY);
    for (unsigned i = 0; i < count; i++)
        list[i] = node_at(&n[i], caret__rand_below(&r, 8) == 0 ? "other" : name,
                          (int64_t)caret__rand_below(&r, NODES + 20));
    if (count > 3)
        list[3] = list[0];
    if (prefetch)
        must(caret_prefetch(s, list, count), "prefetch");
    must(caret_get_many(s, list, count, v), "get_many");
    size_t used = 0;
    for (unsigned i = 0; i < count; i++) {
        if (v[i].len != 0)
            memcpy(held + used, v[i].data, v[i].len);
        used += v[i].len;
    }
    used = 0;
    for (unsigned i = 0; i < count; i++) {
        bool none = v[i].data == NULL;
        assert_int_equal(caret_get(s, list[i], &one), none ? CARET_NONE : CARET_OK);
        assert_int_equal(v[i].len, none ? 0 : one.len);
        if (v[i].len != 0)
            assert_memory_equal(held + used, one.data, one.len);
        used += v[i].len;
    }
}

static void get_some_often(const char *name)
{
    for (unsigned i = 0; i < 60; i++)
        get_many(name, i, i % 3 == 0);
}

static void steps_and_many_gets_say_what_plain_calls_say(void **state)
{
    (void)state;
    fill("^w", 0);
    walk_all("^w", NODES);
    get_some_often("^w");
}

static void locals_too(void **state)
{
    (void)state;
    fill("loc", 1);
    fill("other", 2);
    walk_all("loc", NODES);
    get_some_often("loc");
}

/* Sets, deletes and kills of its own over what is shared. */
static void change_some(unsigned seed)
{
    struct caret__rand r;
    caret_node_buf n;
    char buf[200];

    caret__rand_seed(&r, seed);
    for (unsigned i = 0; i < 120; i++) {
        node_at(&n, "^w", (int64_t)caret__rand_below(&r, NODES));
        switch (caret__rand_below(&r, 4)) {
        case 0: must(caret_delete(s, &n.node), "delete"); break;
        case 1: must(caret_kill(s, &n.node), "kill"); break;
        default: must(caret_set(s, &n.node, buf, (size_t)snprintf(buf, sizeof buf, "own %u", i)), "set");
        }
    }
}

static void transactions_see_their_own_changes(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 4; seed++) {
        must(caret_begin(s, 0), "begin");
        walk_all("^w", NODES / 2); /* nothing is changed yet */
        change_some(seed);
        walk_all("^w", NODES / 2);
        get_some_often("^w");
        must(caret_begin(s, 0), "savepoint");
        change_some(seed + 100);
        walk_all("^w", NODES / 2);
        must(caret_rollback(s), "rollback");
        get_some_often("^w");
        if (seed % 2 == 0)
            must(caret_rollback(s), "rollback");
        else
            must(caret_commit(s), "commit");
    }
    walk_all("^w", NODES / 2);
}

static void snapshots_and_readers_too(void **state)
{
    caret_options only = {.size = sizeof only, .readonly = 1};
    caret_session *mine = s;
    caret_db *reader;

    (void)state;
    must(caret_begin(s, CARET_TXN_SNAPSHOT), "snapshot");
    walk_all("^w", NODES / 2);
    get_some_often("^w");
    must(caret_rollback(s), "end");
    must(caret_open(path, &only, &reader), "open read-only");
    must(caret_session_open(reader, &s), "session");
    walk_all("^w", NODES / 2);
    fill("other", 2);
    get_some_often("^w");
    must(caret_begin(s, 0), "begin");
    walk_all("^w", NODES / 2);
    must(caret_rollback(s), "end");
    caret_session_close(s);
    must(caret_close(reader), "close");
    s = mine;
}

static void what_is_wrong_is_refused_and_moves_nothing(void **state)
{
    caret_node_buf n, tight;
    caret_node *list[2] = {&n.node, NULL};
    caret_slice v[2];

    (void)state;
    node_at(&n, "^w", 4);
    assert_int_equal(caret_next_get(s, &n.node, NULL), CARET_E_INVALID);
    assert_int_equal(caret_next_get(NULL, &n.node, v), CARET_E_INVALID);
    assert_int_equal(caret_next_get(s, NULL, v), CARET_E_INVALID);
    assert_int_equal(caret_get_many(s, list, 2, v), CARET_E_INVALID);
    assert_int_equal(caret_prefetch(s, list, 2), CARET_E_INVALID);
    assert_int_equal(caret_get_many(s, list, 1, NULL), CARET_E_INVALID);
    assert_int_equal(caret_get_many(s, NULL, 1, v), CARET_E_INVALID);
    assert_int_equal(caret_get_many(NULL, list, 1, v), CARET_E_INVALID);
    must(caret_get_many(s, NULL, 0, NULL), "none");
    must(caret_prefetch(s, NULL, 0), "none");
    /* no room for the next subscript: the node is where it was */
    must(caret_node_var(&n.node, sizeof n, "^tight", 6), "variable");
    must(caret_node_child(&n.node, sizeof n, &n.node, "a", 1), "child");
    must(caret_set(s, &n.node, "1", 1), "set");
    size_t bytes = caret_node_size(&n.node);
    must(caret_node_copy(&tight.node, bytes, &n.node), "copy");
    must(caret_node_set_last(&n.node, "b, which is much longer than that", 33), "last");
    must(caret_set(s, &n.node, "2", 1), "set");
    for (int i = 0; i < 2; i++) {
        must(caret_get(s, &tight.node, v), "get");
        assert_int_equal(caret_next_get(s, &tight.node, v), CARET_E_BUFFER);
        must(caret_get(s, &tight.node, v), "get");
        assert_memory_equal(v[0].data, "1", 1);
    }
}

/* ------------------------------------------------- a change in the middle of a step */

#ifdef CARET_FAULTS

static plain *const moves[] = {caret_next, caret_previous, caret_node_next, caret_node_previous};
static with_value *const steps[] = {caret_next_get, caret_previous_get, caret_node_next_get,
                                    caret_node_previous_get};

/* From ^i(base + 10) on, whose place is remembered; stopped on the way.  0: as it has to be. */
static int step_stopped(unsigned way, bool valued, int base)
{
    caret_node_buf n;
    caret_slice v;
    int64_t at = 0, digit = way % 2 == 0 ? 6 : 4, want = base + 2 * digit;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (caret_get(s, node_at(&n, "^i", base + 10), &v) != CARET_OK)
        return 1;
    caret__fault_arm("walk_beside", 1, CARET__FAULT_STOP);
    int rc = valued ? steps[way](s, &n.node, &v) : moves[way](s, &n.node);
    if (rc != CARET_OK || caret_node_last_as_int(&n.node, &at) != 1 || at != want)
        return 2;
    return valued && (v.len != 1 || v.data[0] != '0' + digit) ? 3 : 0;
}

/* While a step is on its way to the slot beside its own, a node comes before them all: each slot has another node then,
 * and what was read is of two.  Among many siblings only the ends of keys differ in the leaf. */
static void change_in_a_step(unsigned way, bool valued, int base)
{
    caret_node_buf n;
    int status;

    for (int i = base == 0 ? 3 : -40; i < (base == 0 ? 9 : 40); i++)
        must(caret_set(s, node_at(&n, "^i", base + 2 * i), &"0123456789"[i < 0 || i > 9 ? 0 : i], 1), "set");
    pid_t pid = fork();
    if (pid == 0)
        _exit(step_stopped(way, valued, base));
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    must(caret_set(s, node_at(&n, "^i", base + 5), "1", 1), "set");
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("way %u, value %d, from %d: status 0x%x", way, valued, base, status);
    must(caret_node_var(&n.node, sizeof n, "^i", 2), "variable");
    must(caret_kill(s, &n.node), "kill");
}

/* ^i(3) and ^i(4) are found, but not read yet.  0: their values of before or after, not what came to that place. */
static int many_stopped(void)
{
    caret_node_buf a, b;
    caret_node *nodes[2] = {node_at(&a, "^i", 3), node_at(&b, "^i", 4)};
    caret_slice v[2];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    caret__fault_arm("many_found", 1, CARET__FAULT_STOP);
    if (caret_get_many(s, nodes, 2, v) != CARET_OK)
        return 1;
    for (int i = 0; i < 2; i++)
        if (v[i].len != 9 || memcmp(v[i].data, "now right", 9) != 0)
            return 2 + i;
    return 0;
}

/* Between finding and reading the page is written anew: its entries move. */
static void a_page_that_changes_under_many_gets_is_read_again(void **state)
{
    caret_node_buf n;
    int status;

    (void)state;
    for (int i = 3; i < 9; i++)
        must(caret_set(s, node_at(&n, "^i", i), "0123456789", 10), "set");
    pid_t pid = fork();
    if (pid == 0)
        _exit(many_stopped());
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    for (int i = 3; i < 5; i++)
        must(caret_set(s, node_at(&n, "^i", i), "now right", 9), "set");
    for (int i = 100; i < 200; i++)
        must(caret_set(s, node_at(&n, "^i", i % 2 != 0 ? -i : i), "wrong, wrong, wrong", 19), "set");
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status 0x%x", status);
    must(caret_node_var(&n.node, sizeof n, "^i", 2), "variable");
    must(caret_kill(s, &n.node), "kill");
}

static void a_page_that_changes_under_a_step_is_read_again(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        change_in_a_step(way, false, 0);
        change_in_a_step(way, true, 0);
        change_in_a_step(way, false, 2000);
        change_in_a_step(way, true, 2000);
    }
}

/* Opened anew: nothing has changed a page since, and yet the place of a node is remembered. */
static int step_after_opening(void)
{
    caret_db *again;
    caret_node_buf n;
    caret_slice v;

    if (caret_open(path, NULL, &again) != CARET_OK || caret_session_open(again, &s) != CARET_OK)
        return 1;
    if (caret_get(s, node_at(&n, "^i", 5), &v) != CARET_OK)
        return 1;
    caret__fault_arm("walk_beside", 1, CARET__FAULT_KILL);
    caret_next(s, &n.node);
    return 2;
}

static void a_place_is_remembered_in_pages_unchanged_since_opening(void **state)
{
    caret_node_buf n;
    int status;

    (void)state;
    for (int i = 3; i < 9; i++)
        must(caret_set(s, node_at(&n, "^i", i), "x", 1), "set");
    caret_session_close(s);
    must(caret_close(db), "close");
    pid_t pid = fork();
    if (pid == 0)
        _exit(step_after_opening());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    must(caret_open(path, NULL, &db), "open");
    must(caret_session_open(db, &s), "session");
    must(caret_node_var(&n.node, sizeof n, "^i", 2), "variable");
    must(caret_kill(s, &n.node), "kill");
}

/* ^way(long, sub): its key is too long for a guess at the leaf (tree/leaves.h). */
static caret_node *way_at(caret_node_buf *n, double sub)
{
    static const char text[] = "sixty bytes of a subscript that all keys have before the last";

    must(caret_node_var(&n->node, sizeof *n, "^way", 4), "variable");
    must(caret_node_child(&n->node, sizeof *n, &n->node, text, sizeof text - 1), "child");
    must(caret_node_child_double(&n->node, sizeof *n, &n->node, sub), "child");
    return &n->node;
}

/* Of one node; alone, or with the next one. */
static int get_way(bool many)
{
    caret_node_buf a, b;
    caret_node *nodes[2] = {way_at(&a, 1000), way_at(&b, 1001)};
    caret_slice v[2];

    if (!many)
        return caret_get(s, nodes[0], v);
    int rc = caret_get_many(s, nodes, 2, v);
    return rc == CARET_OK && v[0].data == NULL ? CARET_NONE : rc;
}

/* A node whose leaf is split while a session looks for it: between the parent, which the session knows by its ways
 * (tree/ways.c), and the leaf.  0: its value is found nevertheless. */
static int way_stopped(bool many)
{
    caret_node_buf n;
    caret_slice v;
    struct caret__rand r;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    caret__rand_seed(&r, 1);
    for (int i = 0; i < 4000; i++)
        if (caret_get(s, way_at(&n, caret__rand_below(&r, 2000)), &v) != CARET_OK)
            return 1;
    caret__fault_arm(many ? "many_way_end" : "way_end", 1, CARET__FAULT_STOP);
    return get_way(many) == CARET_OK ? 0 : 2;
}

/* The status of that session. */
static int split_under_a_get(bool many)
{
    caret_node_buf n;
    int status;

    for (int i = 0; i < 2000; i++)
        must(caret_set(s, way_at(&n, i), "0123456789", 10), "set");
    pid_t pid = fork();
    if (pid == 0)
        _exit(way_stopped(many));
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    for (int i = 1; i < 800; i++) /* before the node, in its leaf */
        must(caret_set(s, way_at(&n, 1000 - i / 1024.0), "new", 3), "set");
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    must(caret_node_var(&n.node, sizeof n, "^way", 4), "variable");
    must(caret_kill(s, &n.node), "kill");
    return status;
}

static void split_and_look(bool many)
{
    int status = split_under_a_get(many);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status 0x%x", status);
    caret__fault_seed("way_unchecked");
    for (unsigned tries = 0; tries < 30 && WIFEXITED(status) && WEXITSTATUS(status) == 0; tries++)
        status = split_under_a_get(many); /* where the parent has no way it ends above it */
    caret__fault_seed(NULL);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
        fail_msg("nobody found that the parent is not looked at again: status 0x%x", status);
}

static void a_leaf_that_is_split_under_a_get_is_looked_for_again(void **state)
{
    (void)state;
    split_and_look(false);
    split_and_look(true);
}

#else

static void a_page_that_changes_under_a_step_is_read_again(void **state)
{
    (void)state;
    puts("skipped: built without fault points, nothing can be stopped in a step");
    skip();
}

static void a_page_that_changes_under_many_gets_is_read_again(void **state)
{
    (void)state;
    puts("skipped: built without fault points, nothing can be stopped between two steps");
    skip();
}

static void a_leaf_that_is_split_under_a_get_is_looked_for_again(void **state)
{
    (void)state;
    puts("skipped: built without fault points, nothing can be stopped in a descent");
    skip();
}

static void a_place_is_remembered_in_pages_unchanged_since_opening(void **state)
{
    (void)state;
    puts("skipped: built without fault points, nobody can tell which way a step went");
    skip();
}

#endif

/* ------------------------------------------------------------- beside a writer */

static atomic_bool over;

/* Each value tells its node: ^c(i) = "i:i:i..." of changing length; nodes come and go. */
static size_t telling(unsigned i, unsigned times, char *buf)
{
    size_t len = 0;
    for (unsigned k = 0; k <= times; k++)
        len += (size_t)sprintf(buf + len, "%u:", i);
    return len;
}

static void *write_on(void *arg)
{
    caret_session *w;
    caret_node_buf n;
    struct caret__rand r;
    static char buf[12000];

    caret__rand_seed(&r, 7);
    if (caret_session_open(arg, &w) != CARET_OK)
        return "session";
    while (!atomic_load(&over)) {
        unsigned i = caret__rand_below(&r, NODES);
        caret_node_var(&n.node, sizeof n, "^c", 2);
        caret_node_child_int(&n.node, sizeof n, &n.node, i);
        int rc =
            caret__rand_below(&r, 4) == 0
                ? caret_delete(w, &n.node)
                : caret_set(w, &n.node, buf, telling(i, i % 50 == 0 ? 1500 : caret__rand_below(&r, 12), buf));
        if (rc != CARET_OK)
            return "write";
    }
    caret_session_close(w);
    return NULL;
}

static void expect_telling(const caret_node *n, const caret_slice *v)
{
    char want[16];
    int64_t i;

    if (v->data == NULL)
        return;
    assert_int_equal(caret_node_last_as_int(n, &i), 1);
    size_t len = (size_t)snprintf(want, sizeof want, "%u:", (unsigned)i);
    assert_true(v->len % len == 0 && v->len >= len);
    for (size_t at = 0; at < v->len; at += len)
        assert_memory_equal(v->data + at, want, len);
}

static void walk_beside(int64_t from, int64_t end, with_value *both)
{
    caret_node_buf n;
    caret_slice v;
    int64_t last = from, here;
    int rc;

    node_at(&n, "^c", from);
    while ((rc = both(s, &n.node, &v)) == CARET_OK) {
        expect_telling(&n.node, &v);
        assert_int_equal(caret_node_last_as_int(&n.node, &here), 1);
        assert_true(from < end ? here > last : here < last);
        last = here;
    }
    assert_int_equal(rc, CARET_NONE);
}

static void values_are_never_those_of_other_nodes(void **state)
{
    static caret_node_buf n[MANY];
    caret_node *list[MANY];
    caret_slice v[MANY];
    pthread_t t;
    void *failed;

    (void)state;
    assert_int_equal(pthread_create(&t, NULL, write_on, db), 0);
    for (unsigned round = 0; round < 60; round++) {
        walk_beside(-1, NODES, caret_next_get);
        walk_beside(NODES, -1, caret_previous_get);
        walk_beside(-1, NODES, caret_node_next_get);
        walk_beside(NODES, -1, caret_node_previous_get);
        for (unsigned k = 0; k < 20; k++) {
            for (unsigned i = 0; i < MANY; i++)
                list[i] = node_at(&n[i], "^c", (round * 131 + k * 17 + i * 37) % NODES);
            must(caret_get_many(s, list, MANY, v), "get_many");
            for (unsigned i = 0; i < MANY; i++)
                expect_telling(list[i], &v[i]);
        }
    }
    atomic_store(&over, true);
    pthread_join(t, &failed);
    if (failed != NULL)
        fail_msg("the writer failed: %s", (const char *)failed);
}

/* A transaction that was read by such calls is refused like any other when it is overtaken. */
static void what_was_read_is_in_the_read_set(void **state)
{
    caret_session *other;
    caret_node_buf n, m;
    caret_slice v;

    (void)state;
    must(caret_session_open(db, &other), "session");
    for (int how = 0; how < 3; how++) {
        caret_node *list[1] = {node_at(&n, "^w", 500)};
        must(caret_set(s, &n.node, "0", 1), "set");
        must(caret_set(s, node_at(&m, "^w", 501), "0", 1), "set");
        must(caret_begin(s, 0), "begin");
        if (how == 0)
            must(caret_get_many(s, list, 1, &v), "get_many");
        else
            must(caret_next_get(s, &n.node, &v), "next");
        if (how == 2)
            must(caret_next_get(s, &n.node, &v), "next");
        must(caret_set(other, node_at(&m, "^w", how == 0 ? 500 : 501), "1", 1), "set");
        must(caret_set(s, node_at(&m, "^result", how), "x", 1), "set");
        assert_int_equal(caret_commit(s), CARET_RESTART);
        must(caret_rollback(s), "rollback");
        /* of what is prefetched only nothing is noted */
        must(caret_begin(s, 0), "begin");
        must(caret_prefetch(s, list, 1), "prefetch");
        must(caret_set(other, list[0], "2", 1), "set");
        must(caret_set(s, &m.node, "x", 1), "set");
        must(caret_commit(s), "commit");
    }
    caret_session_close(other);
}

static int set_up(void **state)
{
    (void)state;
    return caret_open(path, NULL, &db) != CARET_OK || caret_session_open(db, &s) != CARET_OK;
}

static int tear_down(void **state)
{
    (void)state;
    caret_session_close(s);
    return caret_close(db) != CARET_OK;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-many-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_that_changes_under_a_step_is_read_again), /* first: all in one leaf */
        cmocka_unit_test(a_page_that_changes_under_many_gets_is_read_again),
        cmocka_unit_test(a_leaf_that_is_split_under_a_get_is_looked_for_again),
        cmocka_unit_test(a_place_is_remembered_in_pages_unchanged_since_opening),
        cmocka_unit_test(steps_and_many_gets_say_what_plain_calls_say),
        cmocka_unit_test(locals_too),
        cmocka_unit_test(transactions_see_their_own_changes),
        cmocka_unit_test(snapshots_and_readers_too),
        cmocka_unit_test(what_is_wrong_is_refused_and_moves_nothing),
        cmocka_unit_test(values_are_never_those_of_other_nodes),
        cmocka_unit_test(what_was_read_is_in_the_read_set),
    };
    int rc = cmocka_run_group_tests(tests, set_up, tear_down);
    char lock[96];
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
    return rc;
}
