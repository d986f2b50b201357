/*
 * Ways to a leaf that are not a descent: hints of what was found before (leaves.h), several descents in step (many.c),
 * and the neighbour of a walk (walk.c).  Each finds what a descent finds, whatever is changed, or says that it does not
 * know.
 */
#include "support/store.h"

#include "tree/leaves.h"
#include "tree/many.h"
#include "tree/walk.h"

static struct caret__leaves leaves;

/* -------------------------------------------------------------------- hints */

static void find(struct store *s, const uint8_t *key, size_t len)
{
    struct caret__view v = store_view(s);
    struct caret__at at, plain;
    struct caret__leaf *where;

    assert_int_equal(caret__find_leaf(&leaves, &v, key, len, &at, &where), CARET_OK);
    assert_true(caret__at_valid(&v, &at));
    assert_int_equal(caret__seek(&v, key, len, &plain), CARET_OK);
    assert_int_equal(at.found, plain.found);
    assert_int_equal(at.pgno, plain.pgno);
    assert_int_equal(at.pos, plain.pos);
}

static void hints_find_what_a_descent_finds(void **state)
{
    (void)state;
    for (unsigned shared = 0; shared < 2; shared++) {
        struct store s;
        uint8_t key[CARET__KEY_MAX];
        (shared ? store_shared : store_private)(&s, 41);
        memset(&leaves, 0, sizeof leaves);
        store_fill(&s, "h", 6, 0, 600, 20);
        for (unsigned i = 0; i < 6000; i++) {
            if (i % 3 == 0)
                store_change(&s, 1500, 4);
            if (i % 500 == 0)
                store_freeze(&s);
            if (i % 2 == 0)
                find(&s, key, number_key(key, "h", 6, i / 8 % 700));
            else
                find(&s, key, random_key(&s.rng, key));
        }
        store_close(&s);
    }
}

/* Two stores with the same keys, and page numbers, in turns: a hint of one is nothing in the other. */
static void stores_are_not_mistaken_for_each_other(void **state)
{
    struct store s[2];
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    memset(&leaves, 0, sizeof leaves);
    for (unsigned k = 0; k < 2; k++) {
        store_private(&s[k], 42);
        store_fill(&s[k], "t", 6, 0, 500 + 300 * k, 20);
    }
    for (unsigned i = 0; i < 4000; i++) {
        find(&s[i & 1], key, number_key(key, "t", 6, i / 2 % 900));
        if (i % 10 == 0)
            store_set(&s[i & 1], key, number_key(key, "t", 6, i % 1000), "v", 1);
    }
    store_close(&s[0]);
    store_close(&s[1]);
}

/* Keys in order: after some steps none of them takes a descent. */
static void who_goes_on_in_order_is_guessed_right(void **state)
{
    struct store s;
    struct caret__at at;
    uint8_t key[CARET__KEY_MAX];
    unsigned beside = 0;

    (void)state;
    memset(&leaves, 0, sizeof leaves);
    store_private(&s, 43);
    store_fill(&s, "o", 6, 0, 1000, 20);
    struct caret__view v = store_view(&s);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned len = number_key(key, "o", 6, i);
        beside += caret__at_last(&leaves, &v, &at, key, len);
        find(&s, key, len);
    }
    assert_true(beside > 800);
    assert_true(leaves.doubt <= CARET__DOUBT);
    store_set(&s, key, number_key(key, "o", 6, 999), "new", 3); /* another version */
    assert_false(caret__at_last(&leaves, &v, &at, key, number_key(key, "o", 6, 999)));
    store_close(&s);
}

/* Keys without any order, in a tree of many leaves: guesses become few. */
static void wrong_guesses_are_given_up(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned guesses = 0;

    (void)state;
    memset(&leaves, 0, sizeof leaves);
    for (unsigned i = 0; i < 200; i++)
        caret__guessed(&leaves, false);
    assert_true(leaves.doubt > CARET__DOUBT && leaves.doubt <= 2 * CARET__DOUBT + 1);
    for (unsigned i = 0; i < 16 * CARET__GUESS_EVERY; i++)
        guesses += caret__shall_guess(&leaves);
    assert_int_equal(guesses, 16);
    for (unsigned i = 0; i < 40; i++)
        caret__guessed(&leaves, true);
    assert_int_equal(leaves.doubt, 0);
    assert_true(caret__shall_guess(&leaves));
    store_private(&s, 44);
    store_fill(&s, "w", 6, 0, 50, 20);
    for (unsigned i = 0; i < 50; i++)
        find(&s, key, number_key(key, "w", 6, i * 17 % 50));
    store_close(&s);
}

/* What is appended again and again to one leaf needs no descent, until the bound is met. */
static void the_bound_of_the_leaf_that_is_appended_to_is_kept(void **state)
{
    struct store s;
    struct caret__at at;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, 45);
    store_fill(&s, "z", 6, 0, 300, 20);
    store_fill(&s, "a", 6, 0, 100, 20);
    struct caret__view v = store_view(&s);
    struct caret__edge edge = {0};
    unsigned len = number_key(key, "a", 6, 100);
    for (unsigned twice = 0; twice < 2; twice++) {
        assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
        assert_false(at.found);
        assert_false(caret__appends(&edge, &v, &at, key, len));
        caret__edge_learn(&edge, &v, &at, key, len);
    }
    struct caret__at last = at;
    assert_true(edge.known);
    bool appends = last.pos > 0 && last.pos == caret__page_count(last.page);
    assert_int_equal(caret__appends(&edge, &v, &last, key, len), appends || last.pos > 0);
    assert_false(caret__appends(&edge, &v, &last, (const uint8_t *)"zzz", 3) && edge.upper_len != 0);
    last.version++;
    assert_false(caret__appends(&edge, &v, &last, key, len)); /* changed since */
    store_close(&s);
}

/* --------------------------------------------------------- several descents */

static void lanes_find_what_a_descent_finds(void **state)
{
    struct store s;
    static uint8_t key[CARET__LANES][CARET__KEY_MAX];
    struct caret__lane lane[CARET__LANES];

    (void)state;
    store_shared(&s, 46);
    store_fill(&s, "m", 6, 0, 900, 20);
    for (unsigned round = 0; round < 400; round++) {
        struct caret__view v = store_view(&s);
        unsigned n = 1 + round % CARET__LANES;
        store_change(&s, 1500, 5);
        if (round % 50 == 0)
            store_freeze(&s);
        memset(lane, 0, sizeof lane);
        for (unsigned i = 0; i < n; i++) {
            lane[i].key = key[i];
            lane[i].len = i % 2 == 0 ? number_key(key[i], "m", 6, caret__rand_below(&s.rng, 950))
                                     : random_key(&s.rng, key[i]);
        }
        caret__seek_many(&v, lane, n);
        for (unsigned i = 0; i < n; i++) {
            struct caret__at at;
            assert_true(lane[i].there); /* nobody is in the way */
            assert_int_equal(caret__seek(&v, lane[i].key, lane[i].len, &at), CARET_OK);
            assert_int_equal(lane[i].at.found, at.found);
            assert_int_equal(lane[i].at.pgno, at.pgno);
            assert_int_equal(lane[i].at.pos, at.pos);
            assert_true(lane[i].at.version == at.version);
        }
    }
    store_close(&s);
}

/* A page that is being changed stops its lanes, and no others; nothing is waited for. */
static void a_lane_stops_at_a_page_that_is_being_changed(void **state)
{
    struct store s;
    uint8_t key[2][CARET__KEY_MAX];
    struct caret__lane lane[2] = {{.key = key[0]}, {.key = key[1]}};

    (void)state;
    store_shared(&s, 47);
    store_fill(&s, "m", 6, 0, 900, 20);
    lane[0].len = number_key(key[0], "m", 6, 10);
    lane[1].len = number_key(key[1], "m", 6, 890);
    struct caret__view v = store_view(&s);
    store_begin(&s);
    store_set(&s, key[0], lane[0].len, "01234567890123456789", 20);
    caret__seek_many(&v, lane, 2);
    assert_false(lane[0].there);
    assert_true(lane[1].there && lane[1].at.found);
    store_commit(&s);
    caret__seek_many(&v, lane, 2);
    assert_true(lane[0].there && lane[0].at.found && lane[1].there);
    store_close(&s);
}

/* -------------------------------------------------------------------- walks */

/* From leaf to leaf, in that direction, by the parent that a descent has come from: all keys, once each. */
static unsigned walk_leaves(struct store *s, struct caret__view *v, int by)
{
    struct caret__at at, parent, to;
    struct caret__range range;
    struct pair *p = &s->model.p[by > 0 ? 0 : s->model.n - 1];
    unsigned hops = 0, met = 0;

    assert_int_equal(caret__seek_range(v, p->key, p->klen, &at, &range), CARET_OK);
    for (;;) {
        unsigned n = caret__page_count(at.page);
        for (unsigned i = 0; i < n; i++, met++) {
            uint8_t key[CARET__KEY_MAX];
            unsigned len = caret__page_key(at.page, by > 0 ? i : n - 1 - i, key);
            p = &s->model.p[by > 0 ? met : s->model.n - 1 - met];
            assert_int_equal(len, p->klen);
            assert_memory_equal(key, p->key, len);
        }
        if (met == s->model.n)
            return hops;
        if (caret__walk_beside(v, &at, by, &parent, &to)) {
            assert_true(caret__at_valid(v, &to) && caret__at_valid(v, &parent) && caret__at_valid(v, &at));
            assert_int_equal(to.pos, by > 0 ? 0 : caret__page_count(to.page) - 1);
            caret__walk_on(v->walk, &to, by);
            at = to;
            hops++;
        } else { /* the parent's last child: descend */
            p = &s->model.p[by > 0 ? met : s->model.n - 1 - met];
            assert_int_equal(caret__seek_range(v, p->key, p->klen, &at, &range), CARET_OK);
        }
    }
}

static void neighbours_are_found_by_the_parent(void **state)
{
    struct store s;
    struct caret__walk walk = {0};

    (void)state;
    store_shared(&s, 48);
    store_fill(&s, "w", 6, 0, 1500, 20);
    struct caret__view v = store_view(&s);
    v.walk = &walk;
    unsigned n = store_leaves(&s);
    assert_true(walk_leaves(&s, &v, 1) > n / 2);
    assert_true(walk_leaves(&s, &v, -1) > n / 2);
    for (unsigned i = 0; i < 300; i++)
        store_change(&s, 2000, 10);
    store_freeze(&s);
    assert_true(walk_leaves(&s, &v, 1) > 0);
    caret__walk_destroy(&walk);
    store_close(&s);
}

/* A parent that was changed since the descent names nobody. */
static void a_changed_parent_is_not_believed(void **state)
{
    struct store s;
    struct caret__walk walk = {0};
    struct caret__at at, parent, to;
    struct caret__range range;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, 49);
    store_fill(&s, "w", 6, 0, 900, 20);
    struct caret__view v = store_view(&s);
    v.walk = &walk;
    unsigned len = number_key(key, "w", 6, 0);
    assert_int_equal(caret__seek_range(&v, key, len, &at, &range), CARET_OK);
    assert_true(caret__walk_beside(&v, &at, 1, &parent, &to));
    assert_false(caret__walk_beside(&v, &at, -1, &parent, &to)); /* nobody is before the first */
    for (unsigned i = 0; i < 200; i++)                           /* until the parent has another child */
        store_set(&s, key, (unsigned)sprintf((char *)key, "w000000/%03u", i), "01234567890123456789", 20);
    assert_false(caret__walk_beside(&v, &at, 1, &parent, &to));
    store_close(&s);
}

/* A leaf is copied after some steps in it, and the copy is believed while the leaf has its version. */
static void a_copy_counts_while_its_leaf_is_unchanged(void **state)
{
    struct store s;
    struct caret__walk walk = {0};
    struct caret__at at, held;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, 50);
    store_fill(&s, "c", 6, 0, 900, 20);
    struct caret__view v = store_view(&s);
    v.walk = &walk;
    unsigned len = number_key(key, "c", 6, 300);
    assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
    for (unsigned i = 0; i <= CARET__WALK_STEPS; i++) {
        assert_false(caret__walk_holds(&v, s.pg->id, at.pgno, at.version, &held));
        caret__walk_step(&v, &at, 1);
    }
    assert_true(caret__walk_holds(&v, s.pg->id, at.pgno, at.version, &held));
    assert_ptr_equal(held.page, walk.copy);
    assert_memory_equal(walk.copy, at.page, CARET__PAGE_SIZE);
    assert_int_equal(walk.count, caret__page_count(at.page));
    assert_false(caret__walk_holds(&v, s.pg->id + 1, at.pgno, at.version, &held));
    assert_false(caret__walk_holds(&v, s.pg->id, at.pgno + 1, at.version, &held));
    store_set(&s, key, len, "new", 3);
    assert_false(caret__walk_holds(&v, s.pg->id, at.pgno, at.version, &held));
    caret__walk_destroy(&walk);
    assert_null(walk.copy);
    store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_find_what_a_descent_finds),
        cmocka_unit_test(stores_are_not_mistaken_for_each_other),
        cmocka_unit_test(who_goes_on_in_order_is_guessed_right),
        cmocka_unit_test(wrong_guesses_are_given_up),
        cmocka_unit_test(the_bound_of_the_leaf_that_is_appended_to_is_kept),
        cmocka_unit_test(lanes_find_what_a_descent_finds),
        cmocka_unit_test(a_lane_stops_at_a_page_that_is_being_changed),
        cmocka_unit_test(neighbours_are_found_by_the_parent),
        cmocka_unit_test(a_changed_parent_is_not_believed),
        cmocka_unit_test(a_copy_counts_while_its_leaf_is_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
