/*
 * The public API against a sorted array: random sets, gets, deletes, kills, kills of ranges, increments, walks,
 * transactions with nested savepoints and rollbacks, checkpoints and reopenings in between.
 * Globals and locals alike.  Usage: test_fuzz [seed [steps]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rand.h"
#include "caret.h"

#define MAX_NODES 4000
#define MAX_VAL   3000

struct entry {
    caret_node_buf node;
    unsigned len;
    char *val;
};

struct model {
    struct entry *e[MAX_NODES + 1];
    unsigned n;
};

static uint64_t seed = 20261121;
static unsigned steps = 30000;
static struct caret__rand rng;
static char path[64], where[64];

static unsigned rnd(unsigned n)
{
    return (unsigned)(caret__rand_next(&rng) % n);
}

#define OK(call) assert_ok((call), #call, __LINE__)
static void assert_ok(int rc, const char *what, int line)
{
    if (rc != CARET_OK)
        fail_msg("line %d: %s = %d (%s)", line, what, rc, caret_message());
}

/* ------------------------------------------------------------------- model */

static unsigned model_find(const struct model *m, const caret_node *n, int *found)
{
    unsigned lo = 0, hi = m->n;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (caret_node_compare(&m->e[mid]->node.node, n) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = lo < m->n && caret_node_equal(&m->e[lo]->node.node, n);
    return lo;
}

static void model_set(struct model *m, const caret_node *n, const char *val, unsigned len)
{
    int found;
    unsigned i = model_find(m, n, &found);
    if (!found) {
        memmove(&m->e[i + 1], &m->e[i], (m->n - i) * sizeof m->e[0]);
        m->n++;
        m->e[i] = calloc(1, sizeof *m->e[i]);
        OK(caret_node_copy(&m->e[i]->node.node, sizeof m->e[i]->node, n));
    }
    free(m->e[i]->val);
    m->e[i]->val = malloc(len + 1);
    memcpy(m->e[i]->val, val, len);
    m->e[i]->len = len;
}

static int is_below(const caret_node *n, const caret_node *top)
{
    caret_node_buf up;
    OK(caret_node_copy(&up.node, sizeof up, n));
    while (caret_node_depth(&up.node) > caret_node_depth(top))
        OK(caret_node_parent(&up.node, sizeof up, &up.node));
    return caret_node_equal(&up.node, top);
}

static void model_drop(struct model *m, unsigned i, unsigned j)
{
    for (unsigned k = i; k < j; k++) {
        free(m->e[k]->val);
        free(m->e[k]);
    }
    memmove(&m->e[i], &m->e[j], (m->n - j) * sizeof m->e[0]);
    m->n -= j - i;
}

static void model_remove(struct model *m, const caret_node *n, int below)
{
    int found;
    unsigned i = model_find(m, n, &found), j = i + (unsigned)found;
    if (below)
        while (j < m->n && is_below(&m->e[j]->node.node, n))
            j++;
    model_drop(m, i, j);
}

/* ------------------------------------------------------------------- ranges */

/* A subscript: the empty one, a number, or a string. */
struct sub {
    char text[40];
    size_t len;
    int rank; /* 0, 1, 2 */
};

/* What a range is told, and what that means. */
struct range {
    caret_slice from, to;
    struct sub lo, hi;
    int flags;
};

static struct sub sub_of(const caret_node *n, unsigned i)
{
    struct sub s = {.rank = 0}; /* the text is terminated */
    int number;
    OK(caret_node_subscript(n, i, s.text, sizeof s.text, &s.len, &number));
    s.rank = s.len == 0 ? 0 : number ? 1 : 2;
    return s;
}

static int sub_compare(const struct sub *a, const struct sub *b)
{
    if (a->rank != b->rank)
        return a->rank - b->rank;
    if (a->rank == 1) {
        double x = strtod(a->text, NULL), y = strtod(b->text, NULL);
        return (x > y) - (x < y);
    }
    int c = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

static int sub_in(const struct sub *s, const struct range *r)
{
    if (r->flags & CARET_RANGE_PREFIX)
        return s->rank == 2 && s->len >= r->lo.len && memcmp(s->text, r->lo.text, r->lo.len) == 0;
    if (r->from.data != NULL && sub_compare(s, &r->lo) < 0)
        return 0;
    int c = r->to.data != NULL ? sub_compare(s, &r->hi) : -1;
    return r->flags & CARET_RANGE_BEFORE ? c < 0 : c <= 0;
}

/* Is the node below n, by a child of the range? */
static int node_in(const caret_node *node, const caret_node *n, const struct range *r)
{
    unsigned depth = caret_node_depth(n);
    if (caret_node_depth(node) <= depth || !is_below(node, n))
        return 0;
    struct sub s = sub_of(node, depth);
    return sub_in(&s, r);
}

static struct sub random_bound(caret_slice *bound, int string)
{
    static const char *subs[] = {"", "x", "xy", "-1.5", ".5", "0", "00", "\x01", "\xff", "long"};
    struct sub s = {.rank = 2};
    if (rnd(2)) {
        s.len = (size_t)sprintf(s.text, "%d", (int)rnd(60) - 5);
        s.rank = string ? 2 : 1;
    } else {
        unsigned i = rnd(10);
        s.len = strlen(strcpy(s.text, subs[i]));
        s.rank = string ? 2 : i == 0 ? 0 : i >= 3 && i <= 5 ? 1 : 2;
    }
    bound->len = s.len;
    return s;
}

static void random_range(struct range *r)
{
    memset(r, 0, sizeof *r);
    if (rnd(4) == 0) {
        r->flags = CARET_RANGE_PREFIX;
        r->lo = random_bound(&r->from, 1);
        r->lo.len = r->from.len = rnd((unsigned)r->lo.len + 1);
        r->from.data = r->lo.text;
        return;
    }
    r->flags = (int)rnd(16) & ~CARET_RANGE_PREFIX;
    if (rnd(8) != 0) {
        r->lo = random_bound(&r->from, r->flags & CARET_RANGE_FROM_STRING);
        r->from.data = r->lo.text;
    }
    if (rnd(8) != 0) {
        r->hi = random_bound(&r->to, r->flags & CARET_RANGE_TO_STRING);
        r->to.data = r->hi.text;
    }
}

static void model_kill_range(struct model *m, const caret_node *n, const struct range *r)
{
    for (unsigned i = m->n; i-- > 0;)
        if (node_in(&m->e[i]->node.node, n, r))
            model_drop(m, i, i + 1);
}

static void model_copy(struct model *to, const struct model *from)
{
    model_drop(to, 0, to->n);
    for (unsigned i = 0; i < from->n; i++)
        model_set(to, &from->e[i]->node.node, from->e[i]->val, from->e[i]->len);
}

/* ------------------------------------------------------------- random things */

static void make_node(caret_node_buf *n, int local)
{
    static const char *names[2][3] = {{"^a", "^b", "^abc"}, {"a", "b", "abc"}};
    static const char *subs[] = {"",  "x",  "xy",   "-1.5",     ".5",
                                 "0", "00", "\x01", "\xff\xfe", "long-subscript-of-some-length"};
    const char *name = names[local][rnd(3)];
    unsigned depth = rnd(4);
    OK(caret_node_var(&n->node, sizeof *n, name, strlen(name)));
    for (unsigned i = 0; i < depth; i++) {
        if (rnd(2))
            OK(caret_node_child_int(&n->node, sizeof *n, &n->node, (int64_t)rnd(60) - 5));
        else {
            const char *s = subs[rnd(10)];
            OK(caret_node_child(&n->node, sizeof *n, &n->node, s, strlen(s)));
        }
    }
}

struct world {
    caret_db *db;
    caret_session *s;
    struct model *m; /* what should be there */
    struct model *saved[8];
    unsigned level;
};

static void compare_value(struct world *w, caret_node *n)
{
    caret_slice v;
    int found;
    unsigned i = model_find(w->m, n, &found);
    int rc = caret_get(w->s, n, &v);
    assert_int_equal(rc, found ? CARET_OK : CARET_NONE);
    if (found) {
        assert_int_equal(v.len, w->m->e[i]->len);
        assert_memory_equal(v.data, w->m->e[i]->val, v.len);
    }
}

static void compare_data(struct world *w, caret_node *n)
{
    int found, data;
    unsigned i = model_find(w->m, n, &found), j = i + (unsigned)found;
    int want = found + 10 * (j < w->m->n && is_below(&w->m->e[j]->node.node, n));
    OK(caret_data(w->s, n, &data));
    assert_int_equal(data, want);
}

/* Next and previous sibling, computed from the model. */
static void compare_siblings(struct world *w, caret_node *n)
{
    caret_node_buf a, want;
    unsigned depth = caret_node_depth(n), k;
    if (depth == 0)
        return;
    for (int back = 0; back < 2; back++) {
        int best = 0;
        for (k = 0; k < w->m->n; k++) {
            caret_node *c = &w->m->e[back ? w->m->n - 1 - k : k]->node.node;
            if (caret_node_depth(c) < depth)
                continue;
            OK(caret_node_copy(&want.node, sizeof want, c));
            while (caret_node_depth(&want.node) > depth)
                OK(caret_node_parent(&want.node, sizeof want, &want.node));
            caret_node_buf p1, p2;
            OK(caret_node_parent(&p1.node, sizeof p1, &want.node));
            OK(caret_node_parent(&p2.node, sizeof p2, n));
            int cmp = caret_node_compare(&want.node, n);
            if (caret_node_equal(&p1.node, &p2.node) && (back ? cmp < 0 : cmp > 0)) {
                best = 1;
                break;
            }
        }
        OK(caret_node_copy(&a.node, sizeof a, n));
        int rc = back ? caret_previous(w->s, &a.node) : caret_next(w->s, &a.node);
        assert_int_equal(rc, best ? CARET_OK : CARET_NONE);
        if (best)
            assert_true(caret_node_equal(&a.node, &want.node));
    }
}

/* First and last child of a range, and what is in it on the way. */
static void compare_range(struct world *w, caret_node *n)
{
    struct range r;
    caret_node_buf at;
    unsigned first = w->m->n, last = w->m->n, depth = caret_node_depth(n);
    random_range(&r);
    for (unsigned i = 0; i < w->m->n; i++) {
        if (!node_in(&w->m->e[i]->node.node, n, &r))
            continue;
        first = first == w->m->n ? i : first;
        last = i;
    }
    for (int back = 0; back < 2; back++) {
        OK(caret_node_copy(&at.node, sizeof at, n));
        int rc = (back ? caret_last_in : caret_first_in)(w->s, &at.node, &r.from, &r.to, r.flags);
        assert_int_equal(rc, first == w->m->n ? CARET_NONE : CARET_OK);
        if (rc != CARET_OK)
            continue;
        assert_int_equal(caret_node_depth(&at.node), depth + 1);
        assert_true(is_below(&w->m->e[back ? last : first]->node.node, &at.node));
        while (rc == CARET_OK && caret_node_in(&at.node, &r.from, &r.to, r.flags)) {
            assert_true(node_in(&at.node, n, &r));
            rc = back ? caret_previous(w->s, &at.node) : caret_next(w->s, &at.node);
        }
        assert_true(rc == CARET_NONE || !node_in(&at.node, n, &r));
    }
}

static void compare_walk(struct world *w, int local)
{
    caret_node_buf var, n;
    unsigned i = 0;
    while (i < w->m->n && caret_node_is_local(&w->m->e[i]->node.node) != local)
        i++;
    int rc = caret_first_var(w->s, &var.node, sizeof var, local);
    for (; rc == CARET_OK; rc = caret_next(w->s, &var.node)) {
        OK(caret_node_copy(&n.node, sizeof n, &var.node));
        caret_slice v;
        int r2 = caret_get(w->s, &n.node, &v) == CARET_OK ? CARET_OK : caret_node_next(w->s, &n.node);
        for (; r2 == CARET_OK; r2 = caret_node_next(w->s, &n.node), i++) {
            assert_true(i < w->m->n);
            assert_true(caret_node_equal(&n.node, &w->m->e[i]->node.node));
            compare_value(w, &n.node);
        }
        assert_int_equal(r2, CARET_NONE);
    }
    assert_int_equal(rc, CARET_NONE);
    assert_true(i == w->m->n || caret_node_is_local(&w->m->e[i]->node.node) != local);
}

static void check(struct world *w)
{
    char report[4000];
    if (w->db != NULL && caret_check(w->db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", caret_message(), report);
}

static void random_value(char *val, unsigned *len)
{
    unsigned kind = rnd(40);
    *len = kind == 0 ? rnd(MAX_VAL) : kind < 3 ? rnd(300) : rnd(20);
    for (unsigned i = 0; i < *len; i++)
        val[i] = (char)rnd(256);
}

static void change(struct world *w, caret_node_buf *n)
{
    static char val[MAX_VAL];
    unsigned len, what = rnd(100);
    if (what < 55 && w->m->n < MAX_NODES) {
        random_value(val, &len);
        OK(caret_set(w->s, &n->node, val, len));
        model_set(w->m, &n->node, val, len);
    } else if (what < 70) {
        OK(caret_delete(w->s, &n->node));
        model_remove(w->m, &n->node, 0);
    } else if (what < 80) {
        if (caret_node_depth(&n->node) == 0 && rnd(20) != 0)
            return;
        OK(caret_kill(w->s, &n->node));
        model_remove(w->m, &n->node, 1);
    } else if (what < 84) {
        struct range r;
        random_range(&r);
        if (caret_node_depth(&n->node) == 0 && rnd(10) != 0)
            return;
        OK(caret_kill_range(w->s, &n->node, &r.from, &r.to, r.flags));
        model_kill_range(w->m, &n->node, &r);
    } else if (what < 95 && w->m->n < MAX_NODES) {
        int64_t sum;
        OK(caret_set(w->s, &n->node, "41", 2));
        OK(caret_incr_int(w->s, &n->node, 1, 0, &sum));
        assert_int_equal(sum, 42);
        model_set(w->m, &n->node, "42", 2);
    }
}

static void txn_step(struct world *w)
{
    unsigned what = rnd(10);
    if (what < 4 && w->level < 7) {
        if (w->saved[w->level] == NULL)
            w->saved[w->level] = calloc(1, sizeof(struct model));
        model_copy(w->saved[w->level], w->m);
        OK(caret_begin(w->s, 0));
        if (w->level == 0)
            OK(caret_txn_restore_locals(w->s, 1));
        w->level++;
    } else if (w->level > 0) {
        w->level--;
        if (what < 8) {
            OK(caret_commit(w->s));
        } else {
            OK(caret_rollback(w->s));
            model_copy(w->m, w->saved[w->level]);
        }
    }
}

static void reopen(struct world *w, int really)
{
    if (w->level != 0 || w->db == NULL)
        return;
    if (!really) {
        OK(caret_checkpoint(w->db));
        return;
    }
    caret_session_close(w->s);
    OK(caret_close(w->db));
    caret_options o = {.size = sizeof o, .shm_dir = where[0] ? where : NULL};
    OK(caret_open(path, &o, &w->db));
    OK(caret_session_open(w->db, &w->s));
}

static void fuzz(int local, int txns)
{
    struct world w = {.m = calloc(1, sizeof(struct model))};
    caret_node_buf n;

    caret__rand_seed(&rng, seed);
    print_message("seed %llu steps %u\n", (unsigned long long)seed, steps);
    if (!local || txns) {
        unlink(path);
        OK(caret_open(path, NULL, &w.db));
    }
    OK(caret_session_open(w.db, &w.s));
    for (unsigned i = 0; i < steps; i++) {
        make_node(&n, local);
        change(&w, &n);
        compare_value(&w, &n.node);
        if (i % 7 == 0)
            compare_data(&w, &n.node);
        if (i % 97 == 0)
            compare_siblings(&w, &n.node);
        if (i % 61 == 0)
            compare_range(&w, &n.node);
        if (txns && rnd(10) == 0)
            txn_step(&w);
        if (i % 500 == 0)
            check(&w);
        if (i % 3000 == 0)
            compare_walk(&w, local);
        if (!local && rnd(400) == 0)
            reopen(&w, rnd(8) == 0);
    }
    compare_walk(&w, local);
    check(&w);
    caret_session_close(w.s);
    OK(caret_close(w.db));
    for (unsigned i = 0; i < 8; i++)
        if (w.saved[i] != NULL) {
            model_drop(w.saved[i], 0, w.saved[i]->n);
            free(w.saved[i]);
        }
    model_drop(w.m, 0, w.m->n);
    free(w.m);
}

static void locals_equal_a_sorted_array(void **state)
{
    (void)state;
    fuzz(1, 0);
}

static void locals_are_restored_by_rollbacks(void **state)
{
    (void)state;
    fuzz(1, 1);
}

static void globals_equal_a_sorted_array(void **state)
{
    (void)state;
    fuzz(0, 0);
}

static void transactions_equal_a_sorted_array(void **state)
{
    (void)state;
    fuzz(0, 1);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        steps = (unsigned)strtoul(argv[2], NULL, 10);
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.32s/caret-fuzz-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locals_equal_a_sorted_array),
        cmocka_unit_test(globals_equal_a_sorted_array),
        cmocka_unit_test(locals_are_restored_by_rollbacks),
        cmocka_unit_test(transactions_equal_a_sorted_array),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
