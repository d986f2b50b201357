/*
 * What one call does where two or three would be needed: caret_put, caret_get2, caret_random_child, values that are
 * kept, paths, strict increments, sessions and transactions that differ from others.
 */
#include "support/database.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/rand.h"
#include "page/page.h"

static caret_db *db;
static caret_session *s, *second;

static int begin(void **state)
{
    int rc = setup(state);

    db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &second));
    return rc;
}

static int end(void **state)
{
    caret_session_close(s);
    caret_session_close(second);
    OK(caret_close(db));
    return teardown(state);
}

static caret_node *at(const char *words)
{
    static caret_node_buf n[4];
    static unsigned turn;
    caret_node *to = &n[turn++ % 4].node;

    OK(caret_node_parse(to, sizeof n[0], words, strlen(words), 0));
    return to;
}

static bool is(const caret_slice *v, const char *words)
{
    if (words == NULL)
        return v->data == NULL;
    return v->data != NULL && v->len == strlen(words) && memcmp(v->data, words, v->len) == 0;
}

static void assert_value(const char *node, const char *words)
{
    caret_slice v = {NULL, 0};
    int rc = caret_get(s, at(node), &v);

    assert_int_equal(rc, words != NULL ? CARET_OK : CARET_NONE);
    if (!is(&v, words))
        fail_msg("%s is '%.*s', not '%s'", node, (int)v.len, v.data, words);
}

/* ---------------------------------------------------------------------- put */

/* caret_put() against the same by single steps, for random nodes, values and conditions. */
static void put_random(const char *name, unsigned rounds)
{
    static const int conditions[] = {0, 1, 2, 4, 5, 6};
    static char big[3000];
    struct caret__rand r;
    caret_node_buf n;
    caret_slice old, before;
    char held[3000];

    memset(big, 'b', sizeof big);
    caret__rand_seed(&r, 7);
    for (unsigned i = 0; i < rounds; i++) {
        int data, had = -1, flags = conditions[caret__rand_below(&r, 6)];
        bool tell = caret__rand_below(&r, 2), want = caret__rand_below(&r, 2);
        size_t len = caret__rand_below(&r, 50) ? caret__rand_below(&r, 20) : sizeof big;
        OK(caret_node_var(&n.node, sizeof n, name, strlen(name)));
        for (uint32_t depth = 1 + caret__rand_below(&r, 2); depth > 0; depth--)
            OK(caret_node_child_int(&n.node, sizeof n, &n.node, caret__rand_below(&r, 12)));
        if (caret__rand_below(&r, 4) == 0)
            OK(caret_delete(s, &n.node));
        if (caret__rand_below(&r, 20) == 0)
            OK(caret_kill(s, &n.node));
        OK(caret_data(s, &n.node, &data));
        before = (caret_slice){NULL, 0};
        if (caret_get(s, &n.node, &before) == CARET_OK)
            before.data = memcpy(held, before.data, before.len);
        bool may = !((flags & CARET_PUT_ABSENT && data & 1) || (flags & CARET_PUT_PRESENT && !(data & 1)) ||
                     (flags & CARET_PUT_CHILDLESS && data >= 10));
        int rc = caret_put(s, &n.node, big, len, flags, tell ? &had : NULL, want ? &old : NULL);
        if (rc != (may ? CARET_OK : CARET_NONE) || (tell && had != data))
            fail_msg("round %u: %d, had %d of %d: %s", i, rc, had, data, caret_message());
        if (want)
            assert_true(old.len == before.len && (old.data == NULL) == (before.data == NULL) &&
                        (old.len == 0 || memcmp(old.data, before.data, old.len) == 0));
        rc = caret_get(s, &n.node, &old);
        assert_int_equal(rc, may || data & 1 ? CARET_OK : CARET_NONE);
        assert_true(rc != CARET_OK || old.len == (may ? len : before.len));
    }
}

static void put_is_set_on_a_condition(void **state)
{
    (void)state;
    put_random("^put", 4000);
    put_random("put", 1000);
    OK(caret_begin(s, 0));
    put_random("^put", 1000);
    OK(caret_commit(s));
    char report[1000];
    OK(caret_check(db, report, sizeof report));
}

static void what_was_there_can_be_put(void **state)
{
    (void)state;
    caret_slice v;

    OK(caret_set(s, at("^a(1)"), "first", 5));
    OK(caret_set(s, at("^a(2)"), "second", 6));
    OK(caret_get(s, at("^a(1)"), &v));
    OK(caret_put(s, at("^a(2)"), v.data, v.len, 0, NULL, &v));
    assert_true(is(&v, "second"));
    assert_value("^a(2)", "first");
}

/* Does a put say and do what comparing says, in all circumstances? */
static void compare_and_set(const char *name, size_t len)
{
    static char big[3000], another[3000], held[3000];
    caret_slice old;

    memset(big, 'b', len);
    memset(another, 'b', len);
    another[len - 1] = 'c';
    OK(caret_kill(s, at(name)));
    old = (caret_slice){big, len};
    assert_int_equal(caret_put(s, at(name), "x", 1, CARET_PUT_SAME, NULL, &old), CARET_NONE);
    assert_null(old.data); /* there is nothing */
    OK(caret_put(s, at(name), big, len, CARET_PUT_SAME, NULL, &old));
    assert_null(old.data);
    old = (caret_slice){NULL, 0};
    assert_int_equal(caret_put(s, at(name), "x", 1, CARET_PUT_SAME, NULL, &old), CARET_NONE);
    assert_true(old.len == len && memcmp(old.data, big, len) == 0); /* told, and kept */
    old = (caret_slice){another, len};
    assert_int_equal(caret_put(s, at(name), "x", 1, CARET_PUT_SAME, NULL, &old), CARET_NONE);
    old = (caret_slice){big, len - 1};
    assert_int_equal(caret_put(s, at(name), "x", 1, CARET_PUT_SAME, NULL, &old), CARET_NONE);
    OK(caret_get(s, at(name), &old)); /* what was read, where it lies */
    OK(caret_put(s, at(name), memcpy(held, another, len), len, CARET_PUT_SAME, NULL, &old));
    assert_true(old.len == len && memcmp(old.data, big, len) == 0);
    OK(caret_get(s, at(name), &old));
    assert_memory_equal(old.data, another, len);
    OK(caret_put(s, at(name), "", 0, CARET_PUT_SAME, NULL, &old));
    old = (caret_slice){"", 0}; /* empty, and there */
    OK(caret_put(s, at(name), "y", 1, CARET_PUT_SAME | CARET_PUT_CHILDLESS, NULL, &old));
    assert_value(name, "y");
}

static void a_value_is_compared_and_set(void **state)
{
    static const size_t sizes[] = {1, 20, 100, 600, 3000};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        compare_and_set("^same(1)", sizes[i]);
        compare_and_set("same(1)", sizes[i]);
        OK(caret_begin(s, 0));
        compare_and_set("^same(2)", sizes[i]);
        OK(caret_commit(s));
    }
}

/* Of all threads that put on absence one succeeds, each time. */
#define RUNNERS 3
#define RACES   400

static void *run_races(void *arg)
{
    caret_session *mine;
    caret_node_buf n;
    long *won = arg;

    if (caret_session_open(db, &mine) != CARET_OK)
        return arg;
    for (int i = 0; i < RACES; i++) {
        caret_node_var(&n.node, sizeof n, "^race", 5);
        caret_node_child_int(&n.node, sizeof n, &n.node, i);
        int had, rc = caret_put(mine, &n.node, "x", 1, CARET_PUT_ABSENT | (i & 1 ? CARET_PUT_CHILDLESS : 0),
                                &had, NULL);
        won[0] += rc == CARET_OK && had == 0;
        won[1] += rc != CARET_OK && (rc != CARET_NONE || had != 1);
    }
    caret_session_close(mine);
    return NULL;
}

/* Read, compute, put, and again if another was first: none is lost. */
static void *count_by_comparing(void *arg)
{
    caret_session *mine;
    caret_node_buf n;
    caret_slice old;

    (void)arg;
    if (caret_session_open(db, &mine) != CARET_OK)
        return db;
    caret_node_var(&n.node, sizeof n, "^compared", 9);
    for (int i = 0; i < RACES; i++) {
        char sum[32];
        int rc = caret_get(mine, &n.node, &old);
        if (rc == CARET_NONE)
            old = (caret_slice){NULL, 0};
        do {
            char was[32] = "0";
            if (old.data != NULL)
                snprintf(was, sizeof was, "%.*s", (int)old.len, old.data);
            int len = snprintf(sum, sizeof sum, "%d", atoi(was) + 1);
            rc = caret_put(mine, &n.node, sum, (size_t)len, CARET_PUT_SAME, NULL, &old);
        } while (rc == CARET_NONE);
        if (rc != CARET_OK)
            return db;
    }
    caret_session_close(mine);
    return NULL;
}

static void comparing_loses_nothing(void **state)
{
    (void)state;
    pthread_t t[RUNNERS];
    char sum[16];

    OK(caret_kill(s, at("^compared")));
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count_by_comparing, NULL), 0);
    for (int i = 0; i < RUNNERS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    snprintf(sum, sizeof sum, "%d", RUNNERS * RACES);
    assert_value("^compared", sum);
}

static void one_of_many_wins(void **state)
{
    (void)state;
    pthread_t t[RUNNERS];
    long won[RUNNERS][2] = {{0}}, sum = 0;

    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, run_races, won[i]), 0);
    for (int i = 0; i < RUNNERS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
        assert_int_equal(won[i][1], 0);
        sum += won[i][0];
    }
    assert_int_equal(sum, RACES);
}

/* --------------------------------------------------------------------- get2 */

static _Atomic bool stop;

/* Both nodes always have the same value. */
static int set_both(caret_session *mine, void *arg)
{
    static const char *const names[] = {"^two", "^two(5)"};
    caret_node_buf n;

    for (int i = 0; i < 2; i++) {
        caret_node_parse(&n.node, sizeof n, names[i], strlen(names[i]), 0);
        int rc = caret_set(mine, &n.node, arg, strlen(arg));
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static void *keep_setting(void *arg)
{
    caret_session *mine;
    char words[20];

    if (caret_session_open(db, &mine) != CARET_OK)
        return arg;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        snprintf(words, sizeof words, "%u", i * i);
        if (caret_transaction(mine, set_both, words, 0) != CARET_OK)
            return &stop;
    }
    caret_session_close(mine);
    return NULL;
}

static void two_values_are_of_one_state(void **state)
{
    (void)state;
    caret_slice a, b;
    pthread_t t;
    void *bad;

    OK(caret_transaction(s, set_both, "0", 0));
    for (unsigned far = 0; far < 2; far++) {
        atomic_store(&stop, false);
        assert_int_equal(pthread_create(&t, NULL, keep_setting, NULL), 0);
        for (unsigned i = 0; i < 3000; i++) {
            OK(caret_get2(s, at("^two"), at("^two(5)"), &a, &b));
            assert_true(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
        }
        atomic_store(&stop, true);
        pthread_join(t, &bad);
        assert_null(bad);
        for (unsigned i = 0; i < 300; i++) { /* now they are in two leaves */
            caret_node *n = at("^two(1)");
            OK(caret_node_child_int(n, sizeof(caret_node_buf), n, i));
            OK(caret_set(s, n, "between", 7));
        }
    }
}

static void get2_tells_what_is_there(void **state)
{
    (void)state;
    static const char *const kinds[] = {"^g", "g"};
    caret_slice a, b;
    char words[40], *big = malloc(100000);

    memset(big, 'x', 100000);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(words, sizeof words, "%s(1)", kinds[i]);
        OK(caret_get2(s, at(kinds[i]), at(words), &a, &b));
        assert_true(is(&a, NULL) && is(&b, NULL));
        OK(caret_set(s, at(words), "child", 5));
        OK(caret_get2(s, at(kinds[i]), at(words), &a, &b));
        assert_true(is(&a, NULL) && is(&b, "child"));
        OK(caret_set(s, at(kinds[i]), "", 0));
        OK(caret_get2(s, at(kinds[i]), at(words), &a, &b));
        assert_true(is(&a, "") && is(&b, "child"));
        OK(caret_set(s, at(kinds[i]), big, 100000));
        OK(caret_get2(s, at(kinds[i]), at(words), &a, &b));
        assert_true(a.len == 100000 && memcmp(a.data, big, 100000) == 0 && is(&b, "child"));
        OK(caret_get2(s, at(words), at(words), &a, &b));
        assert_true(is(&a, "child") && is(&b, "child"));
    }
    free(big);
    OK(caret_begin(s, 0));
    OK(caret_set(s, at("^g(1)"), "mine", 4));
    OK(caret_get2(s, at("^g(1)"), at("^g(2)"), &a, &b));
    assert_true(is(&a, "mine") && is(&b, NULL));
    OK(caret_rollback(s));
}

/* ----------------------------------------------------------- a random child */

/* How often each child comes; what is expected of a fair choice, with room for chance. */
static void assert_fair(const char *parent, unsigned children, unsigned draws)
{
    unsigned *count = calloc(children, sizeof *count);
    caret_node_buf n;
    double chi = 0, due = (double)draws / children;

    for (unsigned i = 0; i < draws; i++) {
        int64_t sub;
        OK(caret_node_parse(&n.node, sizeof n, parent, strlen(parent), 0));
        OK(caret_random_child(s, &n.node, i));
        assert_true(caret_node_last_as_int(&n.node, &sub) && sub >= 0 && sub < children);
        count[sub]++;
    }
    for (unsigned i = 0; i < children; i++)
        chi += (count[i] - due) * (count[i] - due) / due;
    free(count);
    double freedom = children - 1;
    if (chi > freedom + 5 * sqrt(2 * freedom)) /* the draws are always the same ones: no chance is left */
        fail_msg("%s: chi square %.0f of %u children", parent, chi, children);
}

static void each_child_is_as_likely(void **state)
{
    (void)state;
    caret_node_buf n;

    assert_int_equal(caret_random_child(s, at("^r"), 1), CARET_NONE);
    for (int i = 0; i < 300; i++) { /* some have much below, and some no value */
        OK(caret_node_parse(&n.node, sizeof n, "^r", 2, 0));
        OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
        if (i % 3 != 0)
            OK(caret_set(s, &n.node, "x", 1));
        for (int k = 0; k < (i % 3 == 0 ? 1 + i % 20 : 0); k++) {
            caret_node_buf below;
            OK(caret_node_child_int(&below.node, sizeof below, &n.node, k));
            OK(caret_set(s, &below.node, "y", 1));
        }
        OK(caret_node_parse(&n.node, sizeof n, "r", 1, 0));
        OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
        if (i < 20)
            OK(caret_set(s, &n.node, "x", 1));
    }
    assert_fair("^r", 300, 6000);
    assert_fair("r", 20, 1000);
    OK(caret_begin(s, 0));
    assert_fair("^r", 300, 3000);
    OK(caret_set(s, at("^second"), "x", 1));
    for (int i = 0; i < 20; i++)
        OK(caret_random_child(s, at("^r"), (uint64_t)i));
    OK(caret_commit(s));
}

/* Where few draws are of use: leaves have few entries, or few of them are first ones. */
static void each_child_is_as_likely_though_draws_are_in_vain(void **state)
{
    static char large[CARET__INLINE_MAX - 60];
    caret_node_buf n;

    (void)state;
    memset(large, 'l', sizeof large);
    for (int i = 0; i < 150; i++) {
        OK(caret_node_child_int(&n.node, sizeof n, at("^large"), i));
        OK(caret_set(s, &n.node, large, sizeof large));
        for (int k = 0; k < 100; k++) {
            caret_node_buf below;
            OK(caret_node_child_int(&n.node, sizeof n, at("^deep"), i));
            OK(caret_node_child_int(&below.node, sizeof below, &n.node, k));
            OK(caret_set(s, &below.node, "y", 1));
        }
    }
    assert_fair("^large", 150, 6000);
    assert_fair("^deep", 150, 3000);
}

/* Children of a few large values each. */
static void fill_large(caret_node_buf *n, int children)
{
    static char large[CARET__INLINE_MAX - 60];
    caret_node_buf below;

    memset(large, 'l', sizeof large);
    for (int i = 0; i < children; i++) {
        OK(caret_begin(second, 0));
        OK(caret_node_child_int(&n->node, sizeof *n, at("^many"), i));
        OK(caret_set(second, &n->node, large, sizeof large));
        for (int k = 0; k < 3; k++) {
            OK(caret_node_child_int(&below.node, sizeof below, &n->node, k));
            OK(caret_set(second, &below.node, large, sizeof large));
        }
        OK(caret_commit(second));
    }
}

/* To go through all children is to read the last one, too. */
static void among_many_large_values_not_all_are_gone_through(void **state)
{
    enum { MANY = 4000, TRIES = 20 };
    caret_node_buf last;
    unsigned again = 0;

    (void)state;
    fill_large(&last, MANY);
    for (unsigned i = 0; i < TRIES; i++) {
        OK(caret_begin(s, 0));
        OK(caret_random_child(s, at("^many"), i));
        OK(caret_set(second, &last.node, "x", 1));
        OK(caret_set(s, at("^own"), "x", 1));
        int rc = caret_commit(s);
        assert_true(rc == CARET_OK || rc == CARET_RESTART);
        again += rc == CARET_RESTART;
        if (rc == CARET_RESTART)
            OK(caret_rollback(s));
    }
    assert_true(again < TRIES / 4);
}

/* The node that comes out is that child for all that is done with it: no other is read, changed or left. */
static void a_random_child_can_be_used(void **state)
{
    (void)state;
    caret_node_buf n;
    caret_slice v;
    int64_t sub, sum, want[10];
    char digits[24];

    for (int i = 0; i < 10; i++) {
        OK(caret_node_child_int(&n.node, sizeof n, at("^used"), i));
        OK(caret_incr_int(s, &n.node, want[i] = 100 * i, 0, &sum));
    }
    for (unsigned i = 0; i < 200; i++) {
        OK(caret_node_parse(&n.node, sizeof n, "^used", 5, 0));
        OK(caret_random_child(s, &n.node, i));
        assert_true(caret_node_last_as_int(&n.node, &sub));
        OK(caret_incr_int(s, &n.node, 1, 0, &sum));
        assert_int_equal(sum, ++want[sub]);
        OK(caret_node_parse(&n.node, sizeof n, "^used", 5, 0));
        OK(caret_random_child(s, &n.node, i));
        OK(caret_get(s, &n.node, &v));
        snprintf(digits, sizeof digits, "%lld", (long long)want[sub]);
        assert_true(v.len == strlen(digits) && memcmp(v.data, digits, v.len) == 0);
        OK(caret_node_parse(&n.node, sizeof n, "^used", 5, 0));
        OK(caret_random_child(s, &n.node, i));
        int rc = caret_next(s, &n.node);
        assert_int_equal(rc, sub == 9 ? CARET_NONE : CARET_OK);
        if (rc == CARET_OK)
            assert_true(caret_node_last_as_int(&n.node, &sum) && sum == sub + 1);
    }
}

/* A child for a sample: each comes, with a value or much below it, in whatever it is looked for. */
static void find_any(const char *parent, unsigned children)
{
    bool seen[40] = {false};
    caret_node_buf n;
    int64_t sub;

    for (unsigned i = 0; i < 400 * children; i++) {
        OK(caret_node_parse(&n.node, sizeof n, parent, strlen(parent), 0));
        OK(caret_any_child(s, &n.node, i));
        assert_true(caret_node_last_as_int(&n.node, &sub) && sub >= 0 && sub < children);
        seen[sub] = true;
    }
    for (unsigned i = 0; i < children; i++)
        assert_true(seen[i]);
}

static void any_child_is_found(void **state)
{
    (void)state;
    static char big[900];
    caret_node_buf n;

    memset(big, 'b', sizeof big);
    assert_int_equal(caret_any_child(s, at("^any"), 1), CARET_NONE);
    for (int i = 0; i < 40; i++) {
        OK(caret_node_child_int(&n.node, sizeof n, at("^any"), i));
        OK(caret_set(s, &n.node, big, sizeof big));
        OK(caret_node_child_int(&n.node, sizeof n, at("^any1"), i % 2));
        OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
        OK(caret_set(s, &n.node, big, sizeof big));
        OK(caret_node_child_int(&n.node, sizeof n, at("any"), i));
        OK(caret_set(s, &n.node, big, i));
    }
    find_any("^any", 40);
    find_any("^any1", 2);
    find_any("any", 40);
    OK(caret_begin(s, 0));
    find_any("^any", 40);
    OK(caret_set(s, at("^any1"), "x", 1));
    find_any("^any1", 2);
    OK(caret_commit(s));
}

static void a_child_is_found_below_ten_thousand_nodes(void **state)
{
    (void)state;
    caret_node_buf n;
    unsigned seen[3] = {0};

    for (int64_t i = 0; i < 3; i++)
        for (int k = 0; k < 3000; k++) {
            OK(caret_node_parse(&n.node, sizeof n, "^deep", 5, 0));
            OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
            OK(caret_node_child_int(&n.node, sizeof n, &n.node, k));
            OK(caret_set(s, &n.node, "x", 1));
        }
    for (unsigned i = 0; i < 60; i++) {
        int64_t sub;
        OK(caret_node_parse(&n.node, sizeof n, "^deep", 5, 0));
        OK(caret_random_child(s, &n.node, i));
        assert_true(caret_node_last_as_int(&n.node, &sub) && sub >= 0 && sub < 3);
        seen[sub]++;
    }
    assert_true(seen[0] > 5 && seen[1] > 5 && seen[2] > 5);
}

/* --------------------------------------------------------------- kept, paths */

static void values_are_kept_to_the_end_of_the_transaction(void **state)
{
    (void)state;
    enum { MANY = 300 };
    caret_slice v[MANY], long_one;
    char words[40], *big = malloc(70000);

    memset(big, 'x', 70000);
    OK(caret_set(s, at("^long"), big, 70000));
    assert_int_equal(caret_get_kept(s, at("^long"), &v[0]), CARET_E_NOTXN);
    assert_int_equal(caret_keep(s, &v[0]), CARET_E_NOTXN);
    for (int round = 0; round < 3; round++) {
        OK(caret_begin(s, 0));
        for (int i = 0; i < MANY; i++) {
            int len = snprintf(words, sizeof words, "value %d of round %d", i, round);
            OK(caret_set(s, at("^a"), words, (size_t)len));
            OK(caret_get_kept(s, at("^a"), &v[i]));
            if (i == MANY / 2)
                OK(caret_get_kept(s, at("^long"), &long_one));
        }
        OK(caret_incr(s, at("^count"), "1", 1, &v[0]));
        OK(caret_keep(s, &v[0]));
        OK(caret_begin(s, 0));
        OK(caret_rollback(s));
        OK(caret_kill(s, at("^long")));
        for (int i = 1; i < MANY; i++) {
            snprintf(words, sizeof words, "value %d of round %d", i, round);
            assert_true(is(&v[i], words));
        }
        assert_true(is(&v[0], "1") && long_one.len == 70000 && memcmp(long_one.data, big, 70000) == 0);
        v[1] = (caret_slice){NULL, 0};
        OK(caret_keep(s, &v[1]));
        assert_null(v[1].data);
        if (round == 1)
            OK(caret_restart(s));
        OK(caret_rollback(s));
    }
    free(big);
}

static void paths_are_addresses(void **state)
{
    (void)state;
    const caret_slice subs[] = {{"1", 1}, {"shadow", 6}}, bad[] = {{"1", 1}, {NULL, 3}};
    caret_slice v, many[32];
    caret_node_buf n;
    int64_t sum;
    int data;

    OK(caret_set_path(s, "^oaks", subs, 2, "15", 2));
    assert_value("^oaks(1,\"shadow\")", "15");
    OK(caret_get_path(s, "^oaks", subs, 2, &v));
    assert_true(is(&v, "15"));
    OK(caret_incr_path(s, "^oaks", subs, 2, 3, &sum));
    assert_int_equal(sum, 18);
    OK(caret_data_path(s, "^oaks", subs, 1, &data));
    assert_int_equal(data, 10);
    OK(caret_data_path(s, "^oaks", NULL, 0, &data));
    assert_int_equal(data, 10);
    OK(caret_delete_path(s, "^oaks", subs, 1));
    OK(caret_set_path(s, "oaks", subs, 2, "local", 5));
    OK(caret_kill_path(s, "^oaks", NULL, 0));
    assert_value("^oaks(1,\"shadow\")", NULL);
    assert_value("oaks(1,\"shadow\")", "local");
    OK(caret_node_path(&n.node, sizeof n, "^oaks", subs, 2));
    assert_true(caret_node_equal(&n.node, at("^oaks(1,\"shadow\")")));
    assert_int_equal(caret_node_path(&n.node, 48, "^oaks", subs, 2), CARET_E_BUFFER);
    assert_int_equal(caret_get_path(s, "oaks!", subs, 2, &v), CARET_E_NAME);
    assert_int_equal(caret_get_path(s, "", subs, 2, &v), CARET_E_NAME);
    assert_int_equal(caret_get_path(s, "^oaks", bad, 2, &v), CARET_E_INVALID);
    assert_non_null(strstr(caret_message(), "subs[1]"));
    for (int i = 0; i < 32; i++)
        many[i] = (caret_slice){"x", 1};
    assert_int_equal(caret_get_path(s, "^oaks", many, 31, &v), CARET_NONE);
    assert_int_equal(caret_get_path(s, "^oaks", many, 32, &v), CARET_E_MAXSUBS);
}

/* ---------------------------------------------------------- strict, batch, alone */

static void strict_increments_take_integers_only(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "", "1.0", "1.5", "007", "+1", " 1", "1 ", "-0", "12 oaks", "1E3", "9223372036854775808"};
    static const char *const names[] = {"^i", "i"};
    int64_t sum;

    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
            OK(caret_set(s, at(names[k]), refused[i], strlen(refused[i])));
            assert_int_equal(caret_incr_int(s, at(names[k]), 1, CARET_INCR_STRICT, &sum), CARET_E_INVALID);
            assert_value(names[k], refused[i]);
        }
        OK(caret_kill(s, at(names[k])));
        OK(caret_incr_int(s, at(names[k]), -5, CARET_INCR_STRICT, &sum));
        OK(caret_incr_int(s, at(names[k]), 7, CARET_INCR_STRICT, &sum));
        assert_int_equal(sum, 2);
        OK(caret_set(s, at(names[k]), "9223372036854775807", 19));
        assert_int_equal(caret_incr_int(s, at(names[k]), 1, CARET_INCR_STRICT, &sum), CARET_E_NUMOFLOW);
        OK(caret_incr_int(s, at(names[k]), -1, CARET_INCR_STRICT, &sum));
        assert_int_equal(caret_incr_int(s, at(names[k]), 1, 2, &sum), CARET_E_INVALID);
    }
}

static void a_batch_session_does_not_wait_for_the_disk(void **state)
{
    (void)state;
    caret_options o = options();
    caret_session *batch;
    caret_db *slow;
    uint64_t durable, committed;

    o.sync = CARET_SYNC_COMMIT;
    OK(caret_open(path, &o, &slow));
    OK(caret_session_open(slow, &batch));
    OK(caret_session_batch(batch, 1));
    OK(caret_set(batch, at("^b"), "x", 1));
    OK(caret_durable(slow, &durable, &committed));
    assert_true(durable < committed);
    OK(caret_session_batch(batch, 0));
    OK(caret_set(batch, at("^b"), "y", 1));
    OK(caret_durable(slow, &durable, &committed));
    assert_true(durable == committed);
    caret_session_close(batch);
    OK(caret_close(slow));
}

static _Atomic int turn_;

static void *set_meanwhile(void *arg)
{
    caret_session *mine;
    caret_node_buf n;

    if (caret_session_open(db, &mine) != CARET_OK)
        return arg;
    caret_node_var(&n.node, sizeof n, "^alone", 6);
    atomic_store(&turn_, 1);
    int rc = caret_set(mine, &n.node, "later", 5); /* waits */
    atomic_store(&turn_, 2);
    caret_session_close(mine);
    return rc == CARET_OK ? NULL : &turn_;
}

static void alone_means_that_others_wait(void **state)
{
    (void)state;
    pthread_t t;
    void *bad;
    caret_slice v;

    OK(caret_begin(s, CARET_TXN_ALONE));
    OK(caret_begin(s, CARET_TXN_ALONE)); /* within such a one it says nothing new */
    OK(caret_commit(s));
    assert_int_equal(caret_begin(second, CARET_TXN_ALONE), CARET_E_INTXN);
    assert_int_equal(caret_get(s, at("^alone"), &v), CARET_NONE);
    assert_int_equal(pthread_create(&t, NULL, set_meanwhile, &turn_), 0);
    while (atomic_load(&turn_) == 0)
        usleep(1000);
    usleep(20000); /* it could be done by now, if nothing kept it */
    OK(caret_set(s, at("^alone"), "first", 5));
    OK(caret_commit(s));
    pthread_join(t, &bad);
    assert_null(bad);
    assert_int_equal(caret_txn_restarts(s), 0);
    assert_value("^alone", "later");
    OK(caret_begin(second, CARET_TXN_ALONE)); /* the floor was given back */
    OK(caret_rollback(second));
    assert_int_equal(caret_begin(s, CARET_TXN_ALONE | CARET_TXN_SNAPSHOT), CARET_E_INVALID);
    OK(caret_begin(s, 0));
    assert_int_equal(caret_begin(s, CARET_TXN_ALONE), CARET_E_INTXN);
    assert_non_null(strstr(caret_message(), "begin the outermost so"));
    OK(caret_rollback(s));
    OK(caret_begin(s, CARET_TXN_SNAPSHOT)); /* to begin that so would be INVALID: no advice */
    assert_int_equal(caret_begin(s, CARET_TXN_ALONE), CARET_E_INTXN);
    assert_non_null(strstr(caret_message(), "inside a snapshot"));
    OK(caret_rollback(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(put_is_set_on_a_condition, begin, end),
        cmocka_unit_test_setup_teardown(what_was_there_can_be_put, begin, end),
        cmocka_unit_test_setup_teardown(a_value_is_compared_and_set, begin, end),
        cmocka_unit_test_setup_teardown(comparing_loses_nothing, begin, end),
        cmocka_unit_test_setup_teardown(one_of_many_wins, begin, end),
        cmocka_unit_test_setup_teardown(two_values_are_of_one_state, begin, end),
        cmocka_unit_test_setup_teardown(get2_tells_what_is_there, begin, end),
        cmocka_unit_test_setup_teardown(each_child_is_as_likely, begin, end),
        cmocka_unit_test_setup_teardown(each_child_is_as_likely_though_draws_are_in_vain, begin, end),
        cmocka_unit_test_setup_teardown(among_many_large_values_not_all_are_gone_through, begin, end),
        cmocka_unit_test_setup_teardown(a_random_child_can_be_used, begin, end),
        cmocka_unit_test_setup_teardown(any_child_is_found, begin, end),
        cmocka_unit_test_setup_teardown(a_child_is_found_below_ten_thousand_nodes, begin, end),
        cmocka_unit_test_setup_teardown(values_are_kept_to_the_end_of_the_transaction, begin, end),
        cmocka_unit_test_setup_teardown(paths_are_addresses, begin, end),
        cmocka_unit_test_setup_teardown(strict_increments_take_integers_only, begin, end),
        cmocka_unit_test_setup_teardown(a_batch_session_does_not_wait_for_the_disk, begin, end),
        cmocka_unit_test_setup_teardown(alone_means_that_others_wait, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
