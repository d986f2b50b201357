/* The tree on private memory against a sorted array: sets, deletes, kills, walks both ways, emptying, long values. */
#include "support/store.h"

static uint64_t seed = 20261121;

static void run_random(unsigned steps, unsigned most, unsigned kill_one_in)
{
    struct store s;

    store_private(&s, seed);
    for (unsigned step = 0; step < steps; step++) {
        store_change(&s, most, kill_one_in);
        if (step % 256 == 0)
            store_check(&s);
        if (step % 2000 == 0)
            store_same(&s);
    }
    store_same(&s);
    caret__private_clear(&s.own);
    model_clear(&s.model);
    store_same(&s);
    store_close(&s);
}

static void random_changes_equal_a_sorted_array(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    run_random(30000, 3000, 6);
}

static void kills_of_every_size_equal_a_sorted_array(void **state)
{
    (void)state;
    run_random(15000, 3000, 1);
}

static void ascending_inserts_fill_pages(void **state)
{
    struct store s;

    (void)state;
    store_private(&s, seed);
    store_fill(&s, "seq", 5, 0, 20000, 10);
    store_check(&s);
    /* 28 bytes an entry at most with the slot; pages must be nine tenths full or better */
    assert_true(store_pages(&s) * CARET__PAGE_USABLE < 20000u * 28u * 10u / 9u);
    store_close(&s);
}

/* One after the other of every length around the limits: in the page, in a block of its own, and back. */
static void values_of_every_length_are_kept(void **state)
{
    static uint8_t val[LONG_VALUE];
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    store_private(&s, seed);
    memset(key, 'k', sizeof key);
    for (unsigned klen = 1; klen <= CARET__KEY_MAX; klen = klen < 3 ? klen + 1 : klen * 2 + 1)
        for (unsigned near = 0; near < 6; near++) {
            size_t lens[] = {near, CARET__INLINE_MAX - 3 + near, CARET__ENTRY_MAX - klen - 10 - 3 + near,
                             CARET__PAGE_SIZE - 3 + near, 5 * near * 700};
            for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++) {
                memset(val, (int)(near * 7 + i), lens[i]);
                store_set(&s, key, klen, val, lens[i]);
                store_compare_get(&s, key, klen);
            }
        }
    store_same(&s);
    assert_int_equal(s.own.ts.has_runs, 1);
    while (s.model.n != 0) /* what is lost is told by the sanitizer */
        store_delete(&s, s.model.p[0].key, s.model.p[0].klen);
    store_same(&s);
    store_close(&s);
}

static void an_emptied_store_gives_its_memory_back(void **state)
{
    struct store s;

    (void)state;
    store_private(&s, seed);
    store_fill(&s, "x", 6, 0, 30000, 20);
    uint32_t before = s.own.pages;
    assert_true(before > 100);
    caret__private_clear(&s.own);
    model_clear(&s.model);
    assert_true(s.own.pages < before / 4);
    store_same(&s);
    store_fill(&s, "y", 6, 0, 3000, 20); /* and it grows again */
    store_same(&s);
    store_close(&s);
}

/* Every page that was there before, of a large tree or of a single leaf, is another one afterwards. */
static void no_hint_outlives_an_emptying(void **state)
{
    struct store s;

    (void)state;
    for (unsigned n = 1; n <= 5000; n += 4999) {
        store_private(&s, seed);
        store_fill(&s, "x", 6, 0, n, 20);
        uint64_t before[64];
        uint32_t pages = s.own.pages < 64 ? s.own.pages : 64;
        for (uint32_t i = 1; i < pages; i++)
            before[i] = store_version(&s, i);
        uint32_t root = store_root(&s);
        caret__private_clear(&s.own);
        model_clear(&s.model);
        assert_true(store_version(&s, root < s.own.pages ? root : 1) != before[root < pages ? root : 1]);
        for (uint32_t i = 1; n > 1 && i < pages && i < s.own.pages; i++)
            assert_true(store_version(&s, i) > before[i]);
        store_fill(&s, "x", 6, 0, 1, 20);
        store_same(&s);
        store_close(&s);
    }
}

static void stores_have_ids_of_their_own(void **state)
{
    struct caret__private t[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(caret__private_init(&t[i]), CARET_OK);
    assert_true(t[0].pg.id != t[1].pg.id && t[1].pg.id != t[2].pg.id && t[0].pg.id != t[2].pg.id);
    uint64_t last = t[2].pg.id;
    caret__private_destroy(&t[2]);
    assert_int_equal(caret__private_init(&t[2]), CARET_OK); /* in the same place */
    assert_true(t[2].pg.id != last);
    for (unsigned i = 0; i < 3; i++)
        caret__private_destroy(&t[i]);
}

static void each_change_raises_the_version_of_its_leaf(void **state)
{
    struct store s;
    uint64_t last = 0;

    (void)state;
    store_private(&s, seed);
    for (unsigned i = 0; i < 5; i++) {
        store_set(&s, (const uint8_t *)"key", 3, "value", i);
        assert_true(store_version(&s, store_root(&s)) > last);
        last = store_version(&s, store_root(&s));
    }
    store_delete(&s, (const uint8_t *)"none", 4);
    assert_true(store_version(&s, store_root(&s)) == last);
    store_delete(&s, (const uint8_t *)"key", 3);
    assert_true(store_version(&s, store_root(&s)) > last);
    store_close(&s);
}

static void a_missing_key_has_no_value(void **state)
{
    struct store s;
    const uint8_t *val;
    size_t len;

    (void)state;
    store_private(&s, seed);
    assert_false(caret__private_get(&s.own, (const uint8_t *)"a", 1, &val, &len));
    store_set(&s, (const uint8_t *)"ab", 2, "", 0);
    assert_false(caret__private_get(&s.own, (const uint8_t *)"a", 1, &val, &len));
    assert_false(caret__private_get(&s.own, (const uint8_t *)"abc", 3, &val, &len));
    assert_true(caret__private_get(&s.own, (const uint8_t *)"ab", 2, &val, &len));
    assert_int_equal(len, 0);
    store_close(&s);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_equal_a_sorted_array),
        cmocka_unit_test(kills_of_every_size_equal_a_sorted_array),
        cmocka_unit_test(ascending_inserts_fill_pages),
        cmocka_unit_test(values_of_every_length_are_kept),
        cmocka_unit_test(an_emptied_store_gives_its_memory_back),
        cmocka_unit_test(no_hint_outlives_an_emptying),
        cmocka_unit_test(stores_have_ids_of_their_own),
        cmocka_unit_test(each_change_raises_the_version_of_its_leaf),
        cmocka_unit_test(a_missing_key_has_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
