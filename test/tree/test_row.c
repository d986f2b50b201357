/* Sets in rows (row.c): what one by one would give, in leaves that are full, within the pages that were foretold. */
#include "support/store.h"

#define MOST 300u /* of a row: its pages are within what store_begin() has for a commit */

/* A row of n sets in ascending order, from the model's neighbourhood. */
struct row {
    struct caret__kv kv[MOST];
    uint8_t key[MOST][CARET__KEY_MAX];
    uint8_t val[MOST][CARET__INLINE_MAX];
    unsigned n;
};

static struct row row;

static int by_key(const void *a, const void *b)
{
    const struct caret__kv *x = a, *y = b;
    return caret__bytes_compare(x->b, x->b_len, y->b, y->b_len);
}

static void add(const uint8_t *key, unsigned len, size_t vlen)
{
    unsigned i = row.n++;

    memcpy(row.key[i], key, len);
    memset(row.val[i], (int)(i * 7 + vlen), vlen);
    row.kv[i] = (struct caret__kv){
        .a = row.key[i], .b = row.key[i], .val = row.val[i], .b_len = (uint16_t)len, .vlen = (uint16_t)vlen};
}

/* In order, each key once. */
static void sort(void)
{
    unsigned n = 0;

    qsort(row.kv, row.n, sizeof row.kv[0], by_key);
    for (unsigned i = 0; i < row.n; i++)
        if (n == 0 || by_key(&row.kv[n - 1], &row.kv[i]) != 0)
            row.kv[n++] = row.kv[i];
    row.n = n;
}

static uint64_t foretold(struct store *s)
{
    struct caret__row_need need = {0};
    struct caret__edges edges = {0};

    for (unsigned i = 0; i < row.n; i++)
        assert_int_equal(caret__row_look(&s->w, &need, row.kv[i].b, row.kv[i].b_len, row.kv[i].vlen, &edges),
                         0);
    uint64_t pages = caret__row_pages(&need, s->pg->ts);
    return pages == UINT64_MAX ? pages : pages + edges.pages;
}

/* The row, in pieces, as one commit; true if there was a bound of its pages. */
static bool set_row(struct store *s, unsigned pieces)
{
    struct caret__cursor c = {0};

    store_begin(s);
    uint64_t may = foretold(s);
    uint32_t before = s->pg->ts->free_pages;
    for (unsigned from = 0; from < row.n;) {
        unsigned n = row.n / pieces + 1 < row.n - from ? row.n / pieces + 1 : row.n - from;
        caret__tree_set_row(&s->w, &c, row.kv + from, n);
        from += n;
    }
    if (before - s->pg->ts->free_pages > may)
        fail_msg("%u pages were taken, %llu foretold", before - s->pg->ts->free_pages,
                 (unsigned long long)may);
    store_commit(s);
    for (unsigned i = 0; i < row.n; i++)
        model_set(&s->model, row.kv[i].b, row.kv[i].b_len, row.kv[i].val, row.kv[i].vlen);
    return may != UINT64_MAX;
}

static void random_rows_equal_a_sorted_array(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned bounded = 0;

    (void)state;
    store_shared(&s, 61);
    for (unsigned round = 0; round < 120; round++) {
        unsigned n = 1 + caret__rand_below(&s.rng, round % 4 == 0 ? 120 : 12);
        row.n = 0;
        for (unsigned i = 0; i < n; i++) {
            unsigned len = random_key(&s.rng, key);
            len = len > 40 ? 40 : len;
            if (s.model.n != 0 && caret__rand_below(&s.rng, 3) == 0) { /* one that is there */
                const struct pair *p = &s.model.p[caret__rand_below(&s.rng, s.model.n)];
                len = p->klen;
                memcpy(key, p->key, len);
            }
            add(key, len, caret__rand_below(&s.rng, 10) == 0 ? 90 : caret__rand_below(&s.rng, 20));
        }
        sort();
        bounded += set_row(&s, 1 + round % 3);
        for (unsigned i = 0; i < 10; i++)
            store_change(&s, 3000, 4);
        if (round % 5 == 0)
            store_freeze(&s);
        store_same(&s);
    }
    assert_true(bounded > 60);
    store_close(&s);
}

/* Into an empty tree: leaves as full as they can be. */
static void a_row_fills_its_leaves(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned bytes = 0;

    (void)state;
    store_shared(&s, 62);
    for (unsigned k = 0; k < 6; k++) {
        row.n = 0;
        for (unsigned i = 0; i < MOST; i++)
            add(key, number_key(key, "row", 6, k * MOST + i), 12);
        set_row(&s, 2);
        bytes += MOST * (9 + 12 + 10);
    }
    store_same(&s);
    assert_true(store_leaves(&s) * CARET__PAGE_USABLE < bytes * 10 / 8 + 7 * CARET__PAGE_SIZE);
    store_close(&s);
}

/* Rows of which each leaf gets a few keys, anywhere: leaves are split in their middle when they are full, so half
 * of their bytes are in use.  Where the first part of a split leaf stays full it is split again and again. */
static void rows_of_scattered_keys_leave_no_hollow_leaves(void **state)
{
    enum {
        STEP = 7919,
        KEYS = 30 * 250
    }; /* a prime that is not in it: each key once, far from the one before */
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned bytes = 0;

    (void)state;
    store_shared(&s, 67);
    for (unsigned k = 0; k < KEYS;) {
        row.n = 0;
        for (unsigned i = 0; i < 250; i++, k++)
            add(key, number_key(key, "s", 6, k * STEP % KEYS), 4);
        sort();
        set_row(&s, 1);
        bytes += 250 * (unsigned)caret__entry_room(6, 4);
    }
    store_same(&s);
    assert_int_equal(s.model.n, KEYS);
    assert_true(store_leaves(&s) * CARET__PAGE_USABLE < bytes * 2);
    store_close(&s);
}

/* Between two keys of one full leaf: what stood after the row is still after it. */
static void a_row_goes_into_the_middle_of_a_leaf(void **state)
{
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    for (unsigned n = 1; n < 200; n += n < 20 ? 1 : 23) {
        struct store s;
        store_shared(&s, 63);
        store_fill(&s, "a", 4, 0, 10, 15);
        store_fill(&s, "z", 4, 0, 10, 15);
        store_freeze(&s);
        row.n = 0;
        for (unsigned i = 0; i < n; i++)
            add(key, number_key(key, "m", 4, i), i % 40);
        set_row(&s, 1);
        store_same(&s);
        store_close(&s);
    }
}

/* Long keys, so that each leaf has few and each page above is split: again and again. */
static void a_row_of_long_keys_splits_pages_above(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_shared(&s, 64);
    memset(key, 'l', sizeof key);
    for (unsigned round = 0; round < 12; round++) {
        row.n = 0;
        for (unsigned i = 0; i < 12; i++) {
            unsigned k = i * 12 + round;
            key[0] = (uint8_t)(1 + k / 4);
            key[CARET__KEY_MAX - 1] = (uint8_t)(1 + k % 4);
            add(key, CARET__KEY_MAX, 2);
        }
        sort();
        set_row(&s, 1);
        store_same(&s);
    }
    assert_int_equal(s.model.n, 144);
    assert_true(s.pg->ts->depth > 2);
    store_close(&s);
}

/* A long value that a row replaces is freed: store_check() would find its pages nowhere. */
static void a_row_frees_the_long_values_that_it_replaces(void **state)
{
    static uint8_t val[LONG_VALUE];
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    for (unsigned n = 3; n < 60; n += 19) {
        store_shared(&s, 65);
        store_fill(&s, "v", 4, 0, 60, 15);
        for (unsigned i = 0; i < 60; i += 7)
            store_set(&s, key, number_key(key, "v", 4, i), val, CARET__PAGE_SIZE + 9);
        store_freeze(&s);
        row.n = 0;
        for (unsigned i = 0; i < n; i++)
            add(key, number_key(key, "v", 4, i), 11);
        set_row(&s, 1);
        store_same(&s);
        store_close(&s);
    }
}

/* A cursor knows its leaf and the bound of it, and nothing beyond. */
static void a_cursor_holds_the_keys_of_its_leaf(void **state)
{
    struct store s;
    struct caret__cursor c = {0};

    (void)state;
    store_shared(&s, 66);
    store_fill(&s, "c", 5, 0, 900, 20);
    assert_false(caret__cursor_holds(&c, s.model.p[0].key, s.model.p[0].klen));
    store_begin(&s);
    unsigned seeks = 0;
    for (unsigned i = 0; i < s.model.n; i++) {
        const struct pair *p = &s.model.p[i];
        struct caret__path path;
        if (!caret__cursor_holds(&c, p->key, p->klen)) {
            assert_int_equal(caret__cursor_seek(&s.w, &c, p->key, p->klen), 0);
            seeks++;
        }
        assert_int_equal(caret__descend(&s.w, p->key, p->klen, &path), 0);
        assert_true(path.found);
        assert_int_equal(path.pgno[path.leaf], c.path.pgno[c.path.leaf]);
    }
    store_commit(&s);
    assert_int_equal(seeks, store_leaves(&s));
    store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rows_equal_a_sorted_array),
        cmocka_unit_test(a_row_fills_its_leaves),
        cmocka_unit_test(rows_of_scattered_keys_leave_no_hollow_leaves),
        cmocka_unit_test(a_row_goes_into_the_middle_of_a_leaf),
        cmocka_unit_test(a_row_of_long_keys_splits_pages_above),
        cmocka_unit_test(a_row_frees_the_long_values_that_it_replaces),
        cmocka_unit_test(a_cursor_holds_the_keys_of_its_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
