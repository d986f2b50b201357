/*
 * caret_sums_of() says what a walk over the children says, whoever has changed what since the last time, and looks at
 * few of them again; what it sees is one state, and a read.
 */
#include "support/database.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/rand.h"

enum { CHILDREN = 900, BELOW = 400, LONG = 5000, SUB = 24 };

static char bytes[LONG];

/* Children, those with a value, and bytes of these and of the subscripts. */
struct telling {
    unsigned calls;
    int rc;
};

static int each(void *arg, caret_slice subscript, caret_slice value, double sum[CARET_SUMS])
{
    struct telling *t = arg;

    t->calls++;
    sum[0]++;
    sum[1] += value.data != NULL;
    sum[2] += (double)(value.len * 1000 + subscript.len);
    for (size_t i = 0; i < subscript.len; i++)
        sum[2] += subscript.data[i];
    return t->rc;
}

static void var(caret_node_buf *n, bool local)
{
    OK(caret_node_var(&n->node, sizeof *n, local ? "v" : "^v", local ? 1 : 2));
}

/* A third are numbers, a third strings with bytes that are written as two. */
static void place(caret_node_buf *n, bool local, unsigned i)
{
    char buf[SUB];
    int len;

    if (i % 3 == 0)
        len = snprintf(buf, SUB, "%u", i);
    else
        len = snprintf(buf, SUB, "member:%c%04u", i % 3 == 1 ? '\0' : 'x', i);
    var(n, local);
    OK(caret_node_child(&n->node, sizeof *n, &n->node, buf, (size_t)len));
}

static void change(caret_session *s, bool local, struct caret__rand *r)
{
    caret_node_buf n, below;
    char buf[SUB];
    unsigned what = caret__rand_below(r, 12), many = caret__rand_below(r, 6) == 0 ? BELOW : 3;

    place(&n, local, caret__rand_below(r, CHILDREN));
    if (what < 3) {
        OK(caret_kill(s, &n.node));
    } else if (what == 3) {
        OK(caret_delete(s, &n.node));
    } else if (what == 4) {
        for (unsigned i = 0; i < many; i++) {
            OK(caret_node_child_int(&below.node, sizeof below, &n.node, i));
            OK(caret_set(s, &below.node, bytes, 30));
        }
    } else if (what == 5) { /* only the last ones below it stay */
        int len = snprintf(buf, SUB, "%u", BELOW - 1 - caret__rand_below(r, 12));
        OK(caret_delete(s, &n.node));
        OK(caret_kill_range(s, &n.node, NULL, &(caret_slice){buf, (size_t)len}, 0));
    } else {
        OK(caret_set(s, &n.node, bytes, caret__rand_below(r, 30) == 0 ? LONG : caret__rand_below(r, 40)));
    }
}

static void kill_some(caret_session *s, struct caret__rand *r)
{
    caret_node_buf n;
    char a[SUB];
    caret_slice from = {a, (size_t)snprintf(a, SUB, "%u", caret__rand_below(r, CHILDREN))};

    var(&n, false);
    if (caret__rand_below(r, 3) == 0)
        OK(caret_kill(s, &n.node));
    else
        OK(caret_kill_range(s, &n.node, caret__rand_below(r, 2) != 0 ? &from : NULL, NULL, 0));
}

static void walk(caret_session *s, bool local, double sum[CARET_SUMS])
{
    caret_node_buf n;
    char buf[300];
    struct telling none = {0};

    var(&n, local);
    memset(sum, 0, CARET_SUMS * sizeof *sum);
    for (int rc = caret_first(s, &n.node); rc == CARET_OK; rc = caret_next(s, &n.node)) {
        caret_slice sub = {buf, 0}, value = {NULL, 0};
        OK(caret_node_subscript(&n.node, 0, buf, sizeof buf, &sub.len, NULL));
        int got = caret_get(s, &n.node, &value);
        assert_true(got == CARET_OK || got == CARET_NONE);
        each(&none, sub, value, sum);
    }
}

static void compare(caret_session *s, bool local, caret_sums *t)
{
    double want[CARET_SUMS], got[CARET_SUMS];
    caret_node_buf n;

    var(&n, local);
    walk(s, local, want);
    OK(caret_sums_of(s, &n.node, t, got));
    for (unsigned i = 0; i < CARET_SUMS; i++)
        assert_true(want[i] == got[i]);
}

static void sums_are_those_of_a_walk(void **state)
{
    struct caret__rand r;
    struct telling told = {0};
    caret_db *db = open_db();
    caret_session *s, *another;
    caret_sums *t;

    (void)state;
    caret__rand_seed(&r, 16);
    memset(bytes, 'x', sizeof bytes);
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &another));
    OK(caret_sums_new(each, &told, &t));
    for (unsigned round = 0; round < 300; round++) {
        bool local = round % 8 == 7, changes = round % 5 == 0, txn = round % 3 == 0;
        unsigned many = caret__rand_below(&r, 4) == 0 ? 60 : 3;
        for (unsigned i = 0; i < many; i++)
            change(local || i % 2 != 0 ? s : another, local, &r);
        if (round % 40 == 39)
            kill_some(another, &r);
        if (txn)
            OK(caret_begin(s, round % 9 == 0 && !changes ? CARET_TXN_SNAPSHOT : 0));
        compare(s, local, t);
        if (txn && changes)
            change(s, local, &r);
        compare(s, local, t);
        if (txn)
            OK(round % 2 != 0 ? caret_rollback(s) : caret_commit(s));
    }
    check(db);
    caret_sums_delete(t);
    caret_session_close(another);
    caret_session_close(s);
    OK(caret_close(db));
}

/* A child with many leaves below it, of which but the last are gone: the last leaf, which is as it was, is come to from
 * before its first entry then, and not from after those of the child. */
static void a_child_of_which_the_end_stays_counts(void **state)
{
    struct telling told = {0};
    caret_db *db = open_db();
    caret_session *s;
    caret_sums *t;
    caret_node_buf n, v;
    char buf[SUB];

    (void)state;
    OK(caret_session_open(db, &s));
    OK(caret_sums_new(each, &told, &t));
    var(&v, false);
    for (unsigned stay = 1; stay < BELOW; stay += 1 + stay / 8) {
        OK(caret_kill(s, &v.node));
        for (const char *sub = "abc"; *sub != 0; sub++)
            for (unsigned i = 0; i < BELOW; i++) {
                OK(caret_node_child(&n.node, sizeof n, &v.node, sub, 1));
                OK(caret_set(s, &n.node, "", 0));
                OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
                OK(caret_set(s, &n.node, bytes, 20));
            }
        compare(s, false, t);
        int len = snprintf(buf, SUB, "%u", BELOW - stay);
        OK(caret_begin(s, 0));
        OK(caret_node_child(&n.node, sizeof n, &v.node, "b", 1));
        OK(caret_delete(s, &n.node));
        OK(caret_kill_range(s, &n.node, NULL, &(caret_slice){buf, (size_t)len}, CARET_RANGE_BEFORE));
        OK(caret_commit(s));
        compare(s, false, t);
    }
    caret_sums_delete(t);
    caret_session_close(s);
    OK(caret_close(db));
}

static void few_are_told_again(void **state)
{
    struct telling told = {0};
    caret_db *db = open_db();
    caret_session *s, *another;
    caret_sums *t;
    caret_node_buf n, v;
    double sum[CARET_SUMS];

    (void)state;
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &another));
    OK(caret_sums_new(each, &told, &t));
    var(&v, false);
    OK(caret_sums_of(s, &v.node, t, sum));
    assert_true(sum[0] == 0);
    for (unsigned i = 0; i < 3 * CHILDREN; i++) {
        place(&n, false, i);
        OK(caret_set(another, &n.node, bytes, 20));
    }
    OK(caret_sums_of(s, &v.node, t, sum));
    assert_int_equal(told.calls, 3 * CHILDREN);
    OK(caret_sums_of(s, &v.node, t, sum));
    assert_int_equal(told.calls, 3 * CHILDREN);
    for (unsigned i = 0; i < 40; i++) {
        told.calls = 0;
        place(&n, false, i * 67);
        OK(i % 2 != 0 ? caret_kill(another, &n.node) : caret_set(another, &n.node, bytes, 500));
        OK(caret_sums_of(s, &v.node, t, sum));
        assert_true(sum[0] == 3 * CHILDREN - (i + 1) / 2);
        assert_true(told.calls != 0);
        assert_in_range(told.calls, 0, CHILDREN); /* of some leaves, as pages have 4 KiB, or less */
    }
    told.rc =
        CARET_E_INVALID; /* an error of the function is returned, and nothing that is wrong is remembered */
    OK(caret_set(another, &n.node, bytes, 7));
    assert_int_equal(caret_sums_of(s, &v.node, t, sum), CARET_E_INVALID);
    told.rc = CARET_OK;
    compare(s, false, t);
    caret_sums_delete(t);
    caret_sums_delete(NULL);
    caret_session_close(another);
    caret_session_close(s);
    OK(caret_close(db));
}

static void what_they_see_is_a_read(void **state)
{
    struct telling told = {0};
    caret_db *db = open_db();
    caret_session *s, *another;
    caret_sums *t;
    caret_node_buf n, v, mine;
    double sum[CARET_SUMS];

    (void)state;
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &another));
    OK(caret_sums_new(each, &told, &t));
    OK(caret_node_var(&mine.node, sizeof mine, "^mine", 5));
    var(&v, false);
    for (unsigned i = 0; i < CHILDREN; i++) {
        place(&n, false, i);
        OK(caret_set(s, &n.node, bytes, 20));
    }
    for (unsigned what = 0; what < 2; what++) { /* of known leaves, too */
        OK(caret_begin(s, 0));
        OK(caret_sums_of(s, &v.node, t, sum));
        OK(caret_set(s, &mine.node, "x", 1));
        place(&n, false, CHILDREN + what); /* far from the one before: the leaf was not looked at again */
        OK(caret_set(another, &n.node, "new", 3));
        assert_int_equal(caret_commit(s), CARET_RESTART);
        OK(caret_rollback(s));
    }
    OK(caret_sums_of(s, &v.node, t, sum));
    assert_true(sum[0] == CHILDREN + 2);
    caret_sums_delete(t);
    caret_session_close(another);
    caret_session_close(s);
    OK(caret_close(db));
}

/* ---- a state that is one */

static _Atomic bool stops;

static int exchange(caret_session *s, void *arg)
{
    struct caret__rand *r = arg;
    caret_node_buf n;
    int data = 0;

    do
        place(&n, false, caret__rand_below(r, CHILDREN));
    while (caret_data(s, &n.node, &data) == CARET_OK && data == 0);
    int rc = caret_kill(s, &n.node);
    do
        place(&n, false, caret__rand_below(r, CHILDREN));
    while (rc == CARET_OK && (rc = caret_data(s, &n.node, &data)) == CARET_OK && data != 0);
    return rc == CARET_OK ? caret_set(s, &n.node, bytes, caret__rand_below(r, 60)) : rc;
}

static void *exchange_all(void *arg)
{
    struct caret__rand r;
    caret_session *s;

    caret__rand_seed(&r, 7);
    OK(caret_session_open(arg, &s));
    while (!stops)
        OK(caret_transaction(s, exchange, &r, 0));
    caret_session_close(s);
    return NULL;
}

static void a_sum_is_of_one_state(void **state)
{
    struct telling told = {0};
    caret_db *db = open_db();
    caret_session *s;
    caret_sums *t;
    caret_node_buf n, v;
    double sum[CARET_SUMS];
    pthread_t writer;

    (void)state;
    OK(caret_session_open(db, &s));
    OK(caret_sums_new(each, &told, &t));
    var(&v, false);
    for (unsigned i = 0; i < CHILDREN; i += 2) {
        place(&n, false, i);
        OK(caret_set(s, &n.node, bytes, 20));
    }
    stops = false;
    assert_int_equal(pthread_create(&writer, NULL, exchange_all, db), 0);
    for (unsigned i = 0; i < 2000; i++) {
        OK(caret_sums_of(s, &v.node, t, sum));
        assert_true(sum[0] == CHILDREN / 2);
        assert_true(sum[1] == CHILDREN / 2);
    }
    stops = true;
    pthread_join(writer, NULL);
    compare(s, false, t);
    caret_sums_delete(t);
    caret_session_close(s);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sums_are_those_of_a_walk), TEST(a_child_of_which_the_end_stays_counts),
        TEST(few_are_told_again),       TEST(what_they_see_is_a_read),
        TEST(a_sum_is_of_one_state),
    };

    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
