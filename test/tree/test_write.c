/*
 * Sets and deletes in a shared store: what a frozen tree was stays as it was, a commit that is undone never was,
 * leaves and pages above are split where write.c says, and nothing takes more than was reserved.
 */
#include "support/store.h"

#include "tree/split.h"

/* ------------------------------------------------------------------ the whole */

static void random_changes_in_epochs_equal_a_sorted_array(void **state)
{
    struct store s;

    (void)state;
    store_shared(&s, 11);
    for (unsigned step = 0; step < 6000; step++) {
        if (!s.open && caret__rand_below(&s.rng, 8) == 0)
            store_begin(&s);
        store_change(&s, 1200, 5);
        if (s.open && (s.f->e.sh->ts.free_pages < 40 || caret__rand_below(&s.rng, 4) == 0))
            store_commit(&s);
        if (!s.open && caret__rand_below(&s.rng, 60) == 0)
            store_freeze(&s);
        if (!s.open && step % 200 == 0)
            store_same(&s);
    }
    if (s.open)
        store_commit(&s);
    store_same(&s);
    store_close(&s);
}

/* A sum of everything below a page, where its bytes were when it was frozen. */
static uint32_t sum_of(const struct store *s, uint32_t pgno)
{
    const struct caret__page *p = store_page(s, pgno);
    uint32_t sum = pgno;

    for (unsigned i = 0; i < CARET__PAGE_SIZE / 4; i++)
        sum = sum * 31 + ((const uint32_t *)(const void *)p)[i];
    for (unsigned i = 0; p->type == CARET__PAGE_INNER && i <= p->count; i++)
        sum = sum * 31 + sum_of(s, caret__page_child(p, i));
    return sum;
}

/* No byte of a tree that was frozen changes, until what died in that epoch is released. */
static void a_frozen_tree_stays_as_it_was(void **state)
{
    struct store s;

    (void)state;
    store_shared(&s, 12);
    store_fill(&s, "f", 5, 0, 2000, 10);
    for (unsigned round = 0; round < 12; round++) {
        store_freeze(&s);
        uint32_t root = store_root(&s), sum = sum_of(&s, root);
        for (unsigned i = 0; i < 60; i++)
            store_change(&s, 3000, 3);
        assert_true(store_root(&s) != root);
        assert_int_equal(sum_of(&s, root), sum);
    }
    store_same(&s);
    store_close(&s);
}

/* A path is copied from the root down at its first touch, and once. */
static void a_path_is_copied_once_in_an_epoch(void **state)
{
    struct store s;
    uint8_t key[16];

    (void)state;
    store_shared(&s, 13);
    store_fill(&s, "p", 5, 0, 2000, 10);
    store_freeze(&s);
    uint32_t dead = s.f->e.sh->ts.dead_pages;
    unsigned len = number_key(key, "p", 5, 1000);
    store_set(&s, key, len, "0123456789", 10);
    assert_int_equal(s.f->e.sh->ts.dead_pages - dead, s.pg->ts->depth);
    uint32_t root = store_root(&s);
    store_set(&s, key, len, "9876543210", 10);
    assert_int_equal(s.f->e.sh->ts.dead_pages - dead, s.pg->ts->depth);
    assert_int_equal(store_root(&s), root);
    /* Below another leaf: that one more, at least. */
    store_set(&s, (const uint8_t *)"p00000", 6, "0123456789", 10);
    assert_in_range(s.f->e.sh->ts.dead_pages - dead, s.pg->ts->depth + 1, 2 * s.pg->ts->depth - 1);
    store_same(&s);
    store_close(&s);
}

/* What the undo entries hold, put back, last first, is the state before the commit. */
static void put_back(struct store *s)
{
    struct caret__engine *e = &s->f->e;
    uint32_t used = caret__undo_used(atomic_load(&e->sh->undo_word));

    while (used != 0) {
        uint64_t place, len;
        memcpy(&place, s->undo.area + used - 16, 8);
        memcpy(&len, s->undo.area + used - 8, 8);
        used -= (uint32_t)((len + 7) & ~UINT64_C(7)) + CARET__UNDO_FOOT;
        caret__racy_copy(e->base + place, s->undo.area + used, len);
    }
    caret__take_back(s->pg, s->w.epoch, s->w.lsn);
    s->open = false;
}

static void a_commit_that_is_undone_never_was(void **state)
{
    struct store s;
    struct model before = {0};

    (void)state;
    store_shared(&s, 14);
    for (unsigned round = 0; round < 150; round++) {
        for (unsigned i = 0; i < 5; i++)
            store_change(&s, 800, 2);
        if (round % 3 == 0)
            store_freeze(&s);
        model_copy(&before, &s.model);
        uint32_t sum = sum_of(&s, store_root(&s));
        store_begin(&s);
        for (unsigned i = 0; i < 1 + round % 4; i++)
            store_change(&s, 800, 1);
        put_back(&s);
        model_clear(&s.model);
        s.model = before;
        before = (struct model){0};
        assert_int_equal(sum_of(&s, store_root(&s)), sum);
        atomic_store(&s.f->e.sh->log_applied, s.w.lsn); /* its number is used up: versions stay raised */
        store_same(&s);
    }
    store_close(&s);
}

/* -------------------------------------------------------------------- splits */

/* Sets of 3000 keys, `batch` of them in ascending order, then those before them, and so on; before all of them, and
 * after them, `others`.  The leaves that they have. */
static unsigned leaves_of(unsigned batch, unsigned others)
{
    struct store s;

    store_shared(&s, 15);
    store_fill(&s, "A", 6, 0, others, 10);
    store_fill(&s, "b", 6, 0, others, 10);
    for (unsigned i = 3000 / batch * batch; i > 0; i -= batch)
        store_fill(&s, "a", 6, i - batch, batch, 10);
    store_check(&s);
    unsigned n = store_leaves(&s);
    store_close(&s);
    return n;
}

/* Nearly as few as ascending sets have; series that are long for a leaf do not end where one does.  Halves would be
 * twice as many. */
static void sets_in_order_leave_full_leaves(void **state)
{
    static const struct {
        unsigned batch, most; /* most: leaves, in eighths of what ascending sets have */
    } cases[] = {{1, 9}, {2, 9}, {CARET__PAGE_SIZE / 64, 12}};
    enum { FEW = CARET__PAGE_SIZE / 200 };

    (void)state;
    unsigned ascending = leaves_of(3000, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned others = 0; others <= FEW; others += FEW) {
            unsigned n = leaves_of(cases[i].batch, others);
            if (n > ascending * cases[i].most / 8 + 3)
                fail_msg("%u leaves, but %u ascending: %u at once, %u others", n, ascending, cases[i].batch,
                         others);
        }
}

/* Many runs that each ascend, in turns: leaves are cut after the last insert, not in the middle. */
static void runs_inside_of_a_leaf_are_cut_after_the_last_insert(void **state)
{
    struct store s;

    (void)state;
    store_private(&s, 16);
    for (unsigned i = 0; i < 2000; i++)
        store_fill(&s, i / 500 % 2 == 0 ? "b" : "d", 6, i, 1, 10);
    store_fill(&s, "c", 6, 0, 3000, 10); /* between the two */
    store_check(&s);
    unsigned bytes = 0;
    for (unsigned i = 0; i < s.model.n; i++)
        bytes += 10 + s.model.p[i].klen + (unsigned)s.model.p[i].vlen;
    assert_true(store_leaves(&s) * CARET__PAGE_USABLE < bytes * 5 / 4 + 4 * CARET__PAGE_SIZE);
    store_close(&s);
}

static void the_shortest_separator_is_taken(void **state)
{
    static const struct {
        const char *left, *right, *sep;
    } cases[] = {{"a", "b", "b"},         {"a", "ab", "ab"},          {"abc", "abd", "abd"},
                 {"abc", "abcd", "abcd"}, {"abcz", "abd", "abd"},     {"a", "bcdefg", "b"},
                 {"az", "b", "b"},        {"a\x01", "a\xff", "a\xff"}};
    uint8_t sep[CARET__KEY_MAX];

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t left = strlen(cases[i].left), right = strlen(cases[i].right);
        unsigned len = caret__separator((const uint8_t *)cases[i].left, left, (const uint8_t *)cases[i].right,
                                        right, sep);
        assert_int_equal(len, strlen(cases[i].sep));
        assert_memory_equal(sep, cases[i].sep, len);
    }
}

/* Keys as long as they may be, so that pages above the leaves have few children, and split again and again. */
static void the_longest_keys_make_a_deep_tree(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, 17);
    memset(key, 'x', sizeof key);
    for (unsigned i = 0; i < 500; i++) {
        unsigned k = i * 211 % 500;    /* each once, in no order */
        key[0] = (uint8_t)(1 + k / 4); /* so that a page above shares no prefix */
        key[CARET__KEY_MAX - 1] = (uint8_t)(1 + k % 4);
        store_set(&s, key, sizeof key, "v", 1);
    }
    assert_int_equal(s.model.n, 500);
    assert_true(s.pg->ts->depth >= 3);
    store_same(&s);
    for (unsigned i = 0; i < 500; i += 2)
        store_delete(&s, s.model.p[i / 2].key, s.model.p[i / 2].klen);
    store_same(&s);
    store_close(&s);
}

/* A leaf of two of the largest entries, into which any third goes: before, between, after. */
static void a_leaf_of_the_largest_entries_is_split_anywhere(void **state)
{
    uint8_t key[CARET__KEY_MAX], val[CARET__INLINE_MAX];
    struct store s;

    (void)state;
    memset(val, 'v', sizeof val);
    for (unsigned klen = 1; klen <= CARET__KEY_MAX; klen += klen < 4 ? 1 : 37)
        for (unsigned order = 0; order < 6; order++) {
            static const char orders[6][4] = {"abc", "acb", "bac", "bca", "cab", "cba"};
            size_t vlen = CARET__ENTRY_MAX - 10 - klen;
            store_private(&s, 18);
            memset(key, 'k', sizeof key);
            for (unsigned i = 0; i < 12; i++) {
                key[klen - 1] = (uint8_t)(orders[order][i % 3] + 3 * (i / 3));
                store_set(&s, key, klen, val, vlen < sizeof val ? vlen : sizeof val);
            }
            store_same(&s);
            store_close(&s);
        }
}

/* A value that grows where the page is full, and shrinks again. */
static void a_value_that_grows_splits_its_leaf(void **state)
{
    struct store s;
    uint8_t key[16], val[CARET__INLINE_MAX];

    (void)state;
    memset(val, 'g', sizeof val);
    store_private(&s, 19);
    store_fill(&s, "g", 4, 0, 400, 8);
    unsigned before = store_leaves(&s);
    for (unsigned i = 0; i < 400; i += 3)
        store_set(&s, key, number_key(key, "g", 4, i), val, 60);
    assert_true(store_leaves(&s) > before);
    store_same(&s);
    for (unsigned i = 0; i < 400; i++)
        store_set(&s, key, number_key(key, "g", 4, i), val, 0);
    store_same(&s);
    store_close(&s);
}

/* ------------------------------------------------------------ what it takes */

/* The pages that a set, or a delete, takes: never more than caret__tree_set_pages() says. */
/* Set the key in a commit of its own, now and then after a freeze, so that all of its path is copied. */
static void set_counted(struct store *s, unsigned i, const uint8_t *key, unsigned len, size_t vlen,
                        unsigned *most)
{
    static const uint8_t val[CARET__INLINE_MAX];

    if (i % 5 == 0)
        store_freeze(s);
    store_begin(s);
    uint32_t before = s->pg->ts->free_pages, may = caret__tree_set_pages(s->pg->ts);
    store_set(s, key, len, val, vlen < sizeof val ? vlen : sizeof val);
    uint32_t took = before - s->pg->ts->free_pages;
    assert_in_range(took, 0, may);
    *most = took > *most ? took : *most;
    store_commit(s);
}

static size_t odd_length(struct store *s, unsigned key_len)
{
    return caret__rand_below(&s->rng, 3) == 0 ? CARET__ENTRY_MAX - 10 - key_len : 5;
}

static void a_set_takes_no_more_pages_than_it_reserves(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned most = 0;

    (void)state;
    store_shared(&s, 20);
    for (unsigned i = 0; i < 1500; i++) {
        unsigned len = random_key(&s.rng, key);
        if (i % 4 == 0) {
            memset(key + len, 'z', CARET__KEY_MAX - len);
            len = CARET__KEY_MAX - caret__rand_below(&s.rng, 3);
        }
        set_counted(&s, i, key, len, odd_length(&s, len), &most);
    }
    assert_true(most > s.pg->ts->depth); /* some did split and copy */
    store_same(&s);
    store_close(&s);
}

/* Series that ascend, each before the one before, as leaf_cut() knows them; of long keys and short ones. */
static void nor_does_one_of_a_series(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned most = 0;

    (void)state;
    store_shared(&s, 21);
    for (unsigned first = 9000, i = 0; i < 1500;) {
        unsigned n = 1 + caret__rand_below(&s.rng, 12);
        first = i % 200 < 12 ? 9000 + i : first - n; /* another run begins after the last */
        for (unsigned k = 0; k < n; k++, i++) {
            unsigned len = number_key(key, "s", 5, first + k);
            if (caret__rand_below(&s.rng, 4) == 0) {
                memset(key + len, 'z', CARET__KEY_MAX - len);
                len = CARET__KEY_MAX;
            }
            set_counted(&s, i, key, len, odd_length(&s, len), &most);
        }
    }
    assert_true(most > s.pg->ts->depth);
    store_same(&s);
    store_close(&s);
}

/* Long values are found from the top: a page above one says so, in every copy and split of it. */
static bool says_runs(const struct store *s, uint32_t pgno, bool told)
{
    const struct caret__page *p = store_page(s, pgno);
    bool some = false;

    if (p->type == CARET__PAGE_LEAF)
        for (unsigned i = 0; i < p->count; i++)
            some |= caret__page_entry(p, i).run;
    else
        for (unsigned i = 0; i <= p->count; i++)
            some |= says_runs(s, caret__page_child(p, i), caret__page_child_runs(p, i));
    if (some && !told)
        fail_msg("a value out of line is below page %u, and the page above does not say so", pgno);
    return some;
}

static void pages_above_a_long_value_say_so(void **state)
{
    static uint8_t val[LONG_VALUE];
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_shared(&s, 21);
    for (unsigned i = 0; i < 1200; i++) {
        unsigned len = random_key(&s.rng, key);
        store_set(&s, key, len, val, i % 40 == 3 ? CARET__PAGE_SIZE + 7 : 9);
        if (i % 3 == 0)
            store_delete(&s, key, random_key(&s.rng, key));
        if (i % 100 == 0) {
            store_freeze(&s);
            says_runs(&s, store_root(&s), true);
        }
    }
    says_runs(&s, store_root(&s), true);
    store_same(&s);
    store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_in_epochs_equal_a_sorted_array),
        cmocka_unit_test(a_frozen_tree_stays_as_it_was),
        cmocka_unit_test(a_path_is_copied_once_in_an_epoch),
        cmocka_unit_test(a_commit_that_is_undone_never_was),
        cmocka_unit_test(sets_in_order_leave_full_leaves),
        cmocka_unit_test(runs_inside_of_a_leaf_are_cut_after_the_last_insert),
        cmocka_unit_test(the_shortest_separator_is_taken),
        cmocka_unit_test(the_longest_keys_make_a_deep_tree),
        cmocka_unit_test(a_leaf_of_the_largest_entries_is_split_anywhere),
        cmocka_unit_test(a_value_that_grows_splits_its_leaf),
        cmocka_unit_test(a_set_takes_no_more_pages_than_it_reserves),
        cmocka_unit_test(nor_does_one_of_a_series),
        cmocka_unit_test(pages_above_a_long_value_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
