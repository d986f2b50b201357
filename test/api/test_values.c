/*
 * caret_values_in() and caret_count_in() say what a walk over the same range says: of numbers, strings and what is
 * below them, long values, globals and locals, in a transaction with and without changes.  What they see is a read.
 */
#include "support/database.h"

#include <stdbool.h>

#include "base/rand.h"

enum { CHILDREN = 700, LONG = 9000, SUB = 24 };

static char bytes[LONG];

static void var(caret_node_buf *n, bool local)
{
    OK(caret_node_var(&n->node, sizeof *n, local ? "v" : "^v", local ? 1 : 2));
}

/* Half of them are numbers; all strings have the same beginning. */
static caret_slice sub_of(unsigned i, char buf[SUB])
{
    int len = snprintf(buf, SUB, i % 2 != 0 ? "%u" : "member:%04u", i);
    return (caret_slice){buf, (size_t)len};
}

static void place(caret_node_buf *n, bool local, unsigned i, bool below)
{
    char buf[SUB];
    caret_slice sub = sub_of(i, buf);

    var(n, local);
    OK(caret_node_child(&n->node, sizeof *n, &n->node, sub.data, sub.len));
    if (below)
        OK(caret_node_child(&n->node, sizeof *n, &n->node, "below", 5));
}

static void change(caret_session *s, bool local, struct caret__rand *r)
{
    caret_node_buf n;

    place(&n, local, caret__rand_below(r, CHILDREN), caret__rand_below(r, 5) == 0);
    if (caret__rand_below(r, 4) == 0)
        OK(caret_kill(s, &n.node));
    else
        OK(caret_set(s, &n.node, bytes, caret__rand_below(r, 30) == 0 ? LONG : caret__rand_below(r, 40)));
}

/* What a range has: values up to the `stop`-th, as one number and how many; and the last node. */
struct seen {
    uint64_t sum, n, stop;
    caret_node_buf last;
};

static int take(void *arg, caret_slice value)
{
    struct seen *w = arg;

    w->sum = w->sum * 31 + value.len;
    for (size_t i = 0; i < value.len; i++)
        w->sum += (unsigned char)value.data[i];
    return ++w->n == w->stop ? CARET_NONE : CARET_OK;
}

/* one after the other, all of the variable. */
static void walk(caret_session *s, bool local, const caret_slice *from, const caret_slice *to, int flags,
                 struct seen *w)
{
    caret_node_buf n, child;
    caret_slice value;

    var(&n, local);
    for (int rc = caret_node_next_get(s, &n.node, &value);
         rc == CARET_OK && (w->stop == 0 || w->n != w->stop); rc = caret_node_next_get(s, &n.node, &value)) {
        OK(caret_node_copy(&child.node, sizeof child, &n.node));
        while (caret_node_depth(&child.node) > 1)
            OK(caret_node_parent(&child.node, sizeof child, &child.node));
        if (!caret_node_in(&child.node, from, to, flags))
            continue;
        take(w, value);
        w->last = n;
    }
}

static void compare(caret_session *s, bool local, struct caret__rand *r)
{
    char a[SUB], b[SUB];
    caret_slice from = sub_of(caret__rand_below(r, CHILDREN), a),
                to = sub_of(caret__rand_below(r, CHILDREN), b);
    const caret_slice *lo = caret__rand_below(r, 4) != 0 ? &from : NULL;
    const caret_slice *hi = caret__rand_below(r, 4) != 0 ? &to : NULL;
    int flags = caret__rand_below(r, 2) != 0 ? CARET_RANGE_BEFORE : 0;
    uint64_t stop = caret__rand_below(r, 2) != 0 ? 1 + caret__rand_below(r, 200) : 0, found;
    struct seen all = {0}, want = {.stop = stop}, got = {.stop = stop};
    caret_node_buf n;

    walk(s, local, lo, hi, flags, &all);
    walk(s, local, lo, hi, flags, &want);
    var(&n, local);
    OK(caret_count_in(s, &n.node, lo, hi, flags, &found));
    assert_int_equal(found, all.n);
    int rc = caret_values_in(s, &n.node, lo, hi, flags, take, &got);
    assert_int_equal(rc, want.n != 0 ? CARET_OK : CARET_NONE);
    assert_int_equal(got.n, want.n);
    assert_int_equal(got.sum, want.sum);
    if (rc != CARET_OK)
        return;
    assert_int_equal(caret_node_compare(&n.node, &want.last.node), 0);
    int next = caret_node_next(s, &n.node); /* what the node remembers of its place is right */
    assert_int_equal(next, caret_node_next(s, &want.last.node));
    assert_int_equal(caret_node_compare(&n.node, &want.last.node), 0);
}

static void values_are_those_of_a_walk(void **state)
{
    struct caret__rand r;
    caret_db *db = open_db();
    caret_session *s;

    (void)state;
    caret__rand_seed(&r, 16);
    memset(bytes, 'x', sizeof bytes);
    OK(caret_session_open(db, &s));
    for (unsigned round = 0; round < 60; round++) {
        bool local = round % 4 == 3, changes = round % 3 != 0;
        for (unsigned i = 0; i < 40; i++)
            change(s, local, &r);
        OK(caret_begin(s, round % 5 == 4 && !changes ? CARET_TXN_SNAPSHOT : 0));
        for (unsigned i = 0; i < 6; i++) {
            if (changes)
                change(s, local, &r);
            compare(s, local, &r);
        }
        OK(round % 2 != 0 ? caret_rollback(s) : caret_commit(s));
    }
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

static int refuse(void *arg, caret_slice value)
{
    (void)arg;
    (void)value;
    return CARET_E_INVALID;
}

static void what_they_see_is_a_read(void **state)
{
    caret_db *db = open_db();
    caret_session *s, *another;
    caret_node_buf n, t, mine;
    const caret_slice from = {"250", 3};
    uint64_t found;

    (void)state;
    put(db, 0, 300, 30);
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &another));
    OK(caret_node_var(&t.node, sizeof t, "^t", 2));
    OK(caret_node_var(&mine.node, sizeof mine, "^mine", 5));
    assert_int_equal(caret_values_in(s, &t.node, NULL, NULL, 0, refuse, NULL), CARET_E_NOTXN);
    for (unsigned what = 0; what < 2; what++) {
        struct seen seen = {0};
        OK(caret_begin(s, 0));
        n = t;
        if (what == 0)
            OK(caret_values_in(s, &n.node, &from, NULL, 0, take, &seen));
        else
            OK(caret_count_in(s, &n.node, &from, NULL, 0, &found));
        OK(caret_set(s, &mine.node, "x", 1));
        node_of(&n, 1000 + what); /* after all others */
        OK(caret_set(another, &n.node, "new", 3));
        assert_int_equal(caret_commit(s), CARET_RESTART);
        OK(caret_rollback(s));
    }
    OK(caret_begin(s, 0)); /* an error of the function: the node stays, the transaction goes on */
    n = t;
    assert_int_equal(caret_values_in(s, &n.node, NULL, NULL, 0, refuse, NULL), CARET_E_INVALID);
    assert_int_equal(caret_node_compare(&n.node, &t.node), 0);
    OK(caret_commit(s));
    OK(caret_count_in(s, &t.node, &from, NULL, 0, &found));
    assert_int_equal(found, 52);
    caret_session_close(another);
    caret_session_close(s);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_are_those_of_a_walk),
        TEST(what_they_see_is_a_read),
    };

    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
