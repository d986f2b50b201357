/*
 * Pages that become empty or nearly so, and kills: what is left is whole, versions tell whoever looked there, and
 * nothing is touched or copied that need not be.
 */
#include "support/store.h"

/* How many pages have a version above this one. */
static unsigned changed_since(const struct store *s, uint64_t lsn)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < s->pg->ts->npages; i++)
        n += store_version(s, i) > lsn;
    return n;
}

static uint64_t now(const struct store *s)
{
    return atomic_load(s->pg->applied);
}

/* ------------------------------------------------------------------ deletes */

/* In four orders: ascending, descending, from the middle outwards, at random.  Nothing but an empty leaf remains. */
static unsigned nth(unsigned order, unsigned i, unsigned n)
{
    unsigned half = n / 2;

    return order == 0   ? i
           : order == 1 ? n - 1 - i
           : order == 2 ? (i % 2 == 0 ? half + i / 2 : half - 1 - i / 2)
                        : i * 677 % n;
}

static void deletes_in_any_order_leave_an_empty_leaf(void **state)
{
    enum { N = 1000 };
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    for (unsigned order = 0; order < 4; order++) {
        struct store s;
        store_private(&s, 1);
        store_fill(&s, "d", 6, 0, N, 30);
        for (unsigned i = 0; i < N; i++) {
            store_delete(&s, key, number_key(key, "d", 6, nth(order, i, N)));
            if (i % 50 == 0)
                store_same(&s);
        }
        assert_int_equal(s.model.n, 0);
        assert_int_equal(s.pg->ts->depth, 1);
        assert_int_equal(store_pages(&s), 1);
        store_same(&s);
        store_close(&s);
    }
}

/* Where most was deleted, neighbours have been joined: few pages are left, and none of them is empty. */
static void thin_neighbours_are_joined(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, 2);
    store_fill(&s, "j", 6, 0, 3000, 20);
    unsigned before = store_pages(&s);
    for (unsigned i = 0; i < 3000; i++)
        if (i % 20 != 0)
            store_delete(&s, key, number_key(key, "j", 6, i));
    store_same(&s);
    assert_true(store_pages(&s) < before / 4);
    store_close(&s);
}

/* A joined page must have room: two that would fill more than two thirds stay two. */
static void a_joined_page_has_a_third_left(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned joins = 0;

    (void)state;
    store_private(&s, 3);
    store_fill(&s, "t", 6, 0, 1500, 20);
    for (unsigned i = 0; i < 1500; i++) {
        unsigned before = store_leaves(&s), len = number_key(key, "t", 6, i * 13 % 1500);
        struct caret__view v = store_view(&s);
        struct caret__at at;
        assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
        unsigned entries = caret__page_count(at.page);
        store_delete(&s, key, len);
        if (store_leaves(&s) == before || entries == 1) /* nothing went, or an empty leaf */
            continue;
        assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
        assert_in_range(caret__page_used(at.page), 1, CARET__PAGE_USABLE * 2 / 3);
        joins++;
    }
    assert_true(joins > 3);
    store_close(&s);
}

/* An emptied leaf's range falls to a neighbour: whoever had looked there finds another version. */
static void the_leaf_that_inherits_a_range_has_a_new_version(void **state)
{
    struct store s;

    (void)state;
    store_shared(&s, 4);
    store_fill(&s, "v", 6, 0, 600, 20);
    for (unsigned round = 0; round < 40 && store_leaves(&s) > 3; round++) {
        struct caret__view v = store_view(&s);
        struct caret__range range;
        struct caret__at at, neighbour;
        const struct pair *p = &s.model.p[caret__rand_below(&s.rng, s.model.n)];
        uint8_t gap[CARET__KEY_MAX];
        unsigned gap_len = p->klen;

        memcpy(gap, p->key, gap_len);
        assert_int_equal(caret__seek_range(&v, gap, gap_len, &at, &range), CARET_OK);
        uint8_t keys[CARET__MAX_SLOTS][16];
        unsigned n = caret__page_count(at.page), lens[CARET__MAX_SLOTS];
        for (unsigned i = 0; i < n; i++)
            lens[i] = caret__page_key(at.page, i, keys[i]);
        if (round % 2 == 0)
            store_freeze(&s);
        uint64_t last = 0;
        for (unsigned i = 0; i < n; i++) {
            last = now(&s);
            store_delete(&s, keys[i], lens[i]);
        }
        /* the last delete has emptied it: the leaf where the gap is now was touched by it */
        assert_int_equal(caret__seek(&v, gap, gap_len, &neighbour), CARET_OK);
        assert_false(neighbour.found);
        assert_true(neighbour.version > last);
        store_same(&s);
    }
    store_close(&s);
}

static void a_delete_of_nothing_touches_nothing(void **state)
{
    struct store s;

    (void)state;
    store_shared(&s, 5);
    store_fill(&s, "n", 6, 0, 500, 20);
    store_freeze(&s);
    uint64_t lsn = now(&s);
    store_delete(&s, (const uint8_t *)"n", 1);
    store_delete(&s, (const uint8_t *)"n0001234", 8);
    store_kill(&s, (const uint8_t *)"n0001234", 8);
    store_kill(&s, (const uint8_t *)"a", 1);
    store_kill(&s, (const uint8_t *)"z", 1);
    assert_int_equal(changed_since(&s, lsn), 0);
    store_close(&s);
}

/* -------------------------------------------------------------------- kills */

/* A tree of two levels of names: every subtree of it, by itself, in private and shared stores. */
static void fill_names(struct store *s, unsigned outer, unsigned inner)
{
    uint8_t key[32], val[24];

    for (unsigned a = 0; a < outer; a++)
        for (unsigned b = 0; b < inner; b++) {
            unsigned len = (unsigned)sprintf((char *)key, "%02u/%03u", a, b);
            memset(val, (int)(a + b), sizeof val);
            store_set(s, key, len, val, (a * 7 + b) % sizeof val);
        }
}

static void every_subtree_can_be_killed(void **state)
{
    uint8_t key[32];

    (void)state;
    for (unsigned shared = 0; shared < 2; shared++)
        for (unsigned a = 0; a < 13; a++) {
            struct store s;
            (shared ? store_shared : store_private)(&s, a);
            fill_names(&s, 12, 50);
            store_freeze(&s);
            unsigned len = (unsigned)sprintf((char *)key, "%02u", a);
            store_kill(&s, key, a == 12 ? 1 : len); /* "1": the last two */
            store_same(&s);
            fill_names(&s, 12, 5);
            store_same(&s);
            store_close(&s);
        }
}

/* Prefixes that end within a separator, within a leaf, at its first or last key: each of them once. */
static void a_kill_may_begin_and_end_anywhere(void **state)
{
    struct store s;
    struct model whole = {0};
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, 6);
    for (unsigned i = 0; i < 300; i++) {
        unsigned len = random_key(&s.rng, key);
        store_set(&s, key, len > 12 ? 12 : len, "some value", 10);
    }
    model_copy(&whole, &s.model);
    for (unsigned i = 0; i < whole.n; i++)
        for (unsigned len = 1; len <= whole.p[i].klen; len += len < 3 ? 1 : 3) {
            store_kill(&s, whole.p[i].key, len);
            store_check(&s);
            for (unsigned k = 0; k < whole.n; k++) /* put back what is gone */
                if (whole.p[k].klen >= len && memcmp(whole.p[k].key, whole.p[i].key, len) == 0)
                    store_set(&s, whole.p[k].key, whole.p[k].klen, whole.p[k].val, whole.p[k].vlen);
        }
    store_same(&s);
    model_clear(&whole);
    store_close(&s);
}

/* Whatever is between two keys, of which one or both may not be there, in a tree of the older epoch. */
static void a_span_may_begin_and_end_at_any_key(void **state)
{
    uint8_t lo[CARET__KEY_MAX], hi[CARET__KEY_MAX];

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        struct store s;
        (i % 2 != 0 ? store_shared : store_private)(&s, i);
        store_fill(&s, "s", 4, 0, 400, i % 40);
        if (i % 4 == 1)
            store_freeze(&s);
        unsigned from = i * 97 % 500, n = i * 31 % 300 + 1;
        struct caret__span r = {lo, hi, 0, 0};
        r.lo_len = number_key(lo, "s", 4, from);
        r.hi_len = number_key(hi, "s", 4, from + n);
        if (i % 3 == 0)
            hi[r.hi_len++] = 0xff; /* with what is below that key */
        uint64_t lsn = now(&s);
        store_kill_span(&s, &r);
        if (from >= 400)
            assert_int_equal(changed_since(&s, lsn), 0);
        assert_int_equal(s.model.n, 400 - (from >= 400       ? 0
                                           : from + n >= 400 ? 400 - from
                                           : i % 3 == 0      ? n + 1
                                                             : n));
        store_same(&s);
        store_close(&s);
    }
}

static void a_kill_of_all_leaves_one_leaf(void **state)
{
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    for (unsigned shared = 0; shared < 2; shared++) {
        struct store s;
        (shared ? store_shared : store_private)(&s, 7);
        store_fill(&s, "all", 6, 0, 3000, 20);
        assert_true(s.pg->ts->depth > 1);
        store_freeze(&s);
        store_kill(&s, (const uint8_t *)"all", 3);
        assert_int_equal(s.model.n, 0);
        assert_int_equal(s.pg->ts->depth, 1);
        assert_int_equal(store_pages(&s), 1);
        store_same(&s);
        store_set(&s, key, number_key(key, "all", 6, 5), "v", 1);
        store_same(&s);
        store_close(&s);
    }
}

/* Long values below the subtree are freed, the others stay: the sanitizer tells of blocks, store_check() of pages. */
static void a_kill_frees_long_values(void **state)
{
    static uint8_t val[LONG_VALUE];
    uint8_t key[32];

    (void)state;
    for (unsigned shared = 0; shared < 2; shared++) {
        struct store s;
        (shared ? store_shared : store_private)(&s, 8);
        for (unsigned i = 0; i < 300; i++) {
            memset(val, (int)i, sizeof val);
            store_set(&s, key, (unsigned)sprintf((char *)key, "%u/%03u", i % 5, i), val,
                      i % 9 == 0 ? CARET__PAGE_SIZE * 2 + 5 : 30);
        }
        store_freeze(&s);
        store_kill(&s, (const uint8_t *)"2/", 2);
        store_same(&s);
        store_kill(&s, (const uint8_t *)"4", 1);
        store_same(&s);
        store_freeze(&s);
        store_kill(&s, (const uint8_t *)"0/000", 5);
        store_same(&s);
        store_close(&s);
    }
}

/* ---------------------------------------------------------- before a kill */

static uint32_t look(const struct store *s, const char *prefix, uint64_t *pages)
{
    uint8_t end[CARET__PLACE_MAX];
    struct caret__span r = caret__span_below((const uint8_t *)prefix, strlen(prefix), end);
    struct caret__edges edges = {0};
    uint32_t bad = caret__tree_kill_look(s->pg, &r, &edges);

    *pages = edges.pages;
    return bad;
}

/* What two edges have at most: two pages a level, and one root. */
static unsigned edge_pages(const struct store *s)
{
    return 2 * s->pg->ts->depth - 1;
}

/* A kill takes the pages that were foretold, at most, whatever is below it. */
static void a_kill_takes_what_was_foretold(void **state)
{
    static const char *const prefixes[] = {"0",      "00", "03", "03/0",   "03/01",
                                           "03/017", "1",  "11", "11/049", "2"};

    (void)state;
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct store s;
        uint64_t foretold;
        store_shared(&s, 9);
        fill_names(&s, 12, 50);
        store_freeze(&s);
        assert_int_equal(look(&s, prefixes[i], &foretold), 0);
        assert_in_range(foretold, prefixes[i][0] != '2', edge_pages(&s));
        if (prefixes[i][0] == '2')
            assert_int_equal(foretold, 0);
        uint32_t before = s.pg->ts->free_pages;
        uint64_t lsn = now(&s);
        store_begin(&s);
        before = s.pg->ts->free_pages;
        store_kill(&s, (const uint8_t *)prefixes[i], strlen(prefixes[i]));
        assert_in_range(before - s.pg->ts->free_pages, 0, foretold);
        store_commit(&s);
        if (foretold == 0)
            assert_int_equal(changed_since(&s, lsn), 0);
        store_same(&s);
        store_close(&s);
    }
}

/* Keys of the longest kind, of which each three differ at the end only: the tree is deeper than others are. */
static void fill_deep(struct store *s, char first)
{
    enum { N = 700 };
    uint8_t key[CARET__KEY_MAX];

    memset(key, '-', sizeof key);
    for (unsigned i = 0; i < N; i++) {
        unsigned nr = i * 211 % N;
        char text[8];
        key[0] = (uint8_t)first;
        memcpy(key + 1, text, (size_t)sprintf(text, "%03u", nr / 3));
        key[sizeof key - 1] = (uint8_t)('0' + nr % 3);
        store_set(s, key, sizeof key, key, CARET__PAGE_SIZE / 12);
    }
}

/* All that hangs between the edges dies without a copy, also at the ends of pages that an edge goes through. */
static void a_kill_copies_two_pages_a_level_of_a_deep_tree(void **state)
{
    static const char *const prefixes[] = {"k", "k0", "k08", "k1"};

    (void)state;
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct store s;
        uint64_t foretold;
        store_shared(&s, 11);
        fill_deep(&s, 'a');
        fill_deep(&s, 'k');
        fill_deep(&s, 'z');
        assert_true(s.pg->ts->depth >= 3);
        store_freeze(&s);
        assert_int_equal(look(&s, prefixes[i], &foretold), 0);
        assert_in_range(foretold, s.pg->ts->depth, edge_pages(&s));
        store_begin(&s);
        uint32_t before = s.pg->ts->free_pages;
        store_kill(&s, (const uint8_t *)prefixes[i], strlen(prefixes[i]));
        assert_in_range(before - s.pg->ts->free_pages, 0, foretold);
        store_commit(&s);
        store_same(&s);
        store_close(&s);
    }
}

/* Whatever a kill would have to read and can't: its number is told before, so that nothing is begun. */
static void a_damaged_page_is_told_before_a_kill(void **state)
{
    struct store s;
    uint64_t pages;

    (void)state;
    store_shared(&s, 10);
    fill_names(&s, 12, 50);
    const struct caret__page *root = store_page(&s, store_root(&s));
    assert_true(root->type == CARET__PAGE_INNER && root->count >= 1);
    uint32_t first = caret__page_child(root, 0);
    struct caret__page *p = (struct caret__page *)(uintptr_t)store_page(&s, first);
    uint8_t level = p->level;

    p->level = (uint8_t)(level + 1);
    assert_int_equal(look(&s, "00", &pages), first);
    p->level = level;
    uint64_t word = atomic_load(&s.pg->ptab[first].word);
    atomic_store(&s.pg->ptab[first].word, word | CARET__PTE_OBSOLETE);
    assert_int_equal(look(&s, "00", &pages), first);
    atomic_store(&s.pg->ptab[first].word, word);
    uint32_t depth = s.pg->ts->depth;
    s.pg->ts->depth = CARET__MAX_DEPTH + 1;
    assert_int_equal(look(&s, "00", &pages), store_root(&s));
    s.pg->ts->depth = depth;
    assert_int_equal(look(&s, "00", &pages), 0);
    store_same(&s);
    store_close(&s);
}

/* A value out of line that lies beyond the file can't be freed: told before, too. */
static void a_long_value_out_of_bounds_is_told_before_a_kill(void **state)
{
    static uint8_t val[LONG_VALUE];
    struct store s;
    struct caret__at at;
    uint64_t pages;
    uint32_t far = UINT32_MAX / 2, near;

    (void)state;
    store_shared(&s, 10);
    fill_names(&s, 3, 20);
    store_set(&s, (const uint8_t *)"01/long", 7, val, sizeof val);
    assert_int_equal(look(&s, "01", &pages), 0);
    struct caret__view v = store_view(&s);
    assert_int_equal(caret__seek(&v, (const uint8_t *)"01/long", 7, &at), CARET_OK);
    struct caret__entry e = caret__page_entry(at.page, at.pos);
    assert_true(e.run);
    memcpy(&near, e.val, 4);
    memcpy((uint8_t *)(uintptr_t)e.val, &far, 4);
    assert_int_equal(look(&s, "01", &pages), at.pgno);
    assert_int_equal(look(&s, "02", &pages), 0); /* not in the way of this one */
    memcpy((uint8_t *)(uintptr_t)e.val, &near, 4);
    store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deletes_in_any_order_leave_an_empty_leaf),
        cmocka_unit_test(thin_neighbours_are_joined),
        cmocka_unit_test(a_joined_page_has_a_third_left),
        cmocka_unit_test(the_leaf_that_inherits_a_range_has_a_new_version),
        cmocka_unit_test(a_delete_of_nothing_touches_nothing),
        cmocka_unit_test(every_subtree_can_be_killed),
        cmocka_unit_test(a_kill_may_begin_and_end_anywhere),
        cmocka_unit_test(a_span_may_begin_and_end_at_any_key),
        cmocka_unit_test(a_kill_of_all_leaves_one_leaf),
        cmocka_unit_test(a_kill_frees_long_values),
        cmocka_unit_test(a_kill_takes_what_was_foretold),
        cmocka_unit_test(a_kill_copies_two_pages_a_level_of_a_deep_tree),
        cmocka_unit_test(a_damaged_page_is_told_before_a_kill),
        cmocka_unit_test(a_long_value_out_of_bounds_is_told_before_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
