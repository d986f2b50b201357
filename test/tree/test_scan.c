/* Walks in order, both ways, from any place, over trees that change between two steps; and the ranges of leaves. */
#include "base/key.h"
#include "support/store.h"

/* Some hundred keys in a dozen leaves or more. */
static void fill(struct store *s, uint64_t seed)
{
    uint8_t key[CARET__KEY_MAX];

    store_private(s, seed);
    while (s->model.n < 400)
        store_set(s, key, random_key(&s->rng, key), "a value of some bytes", 21);
    assert_true(store_leaves(s) > 3);
}

/* A step has come to the model's key number i; or there is none, and it says so. */
static void expect_key(const struct store *s, unsigned i, int rc, const uint8_t *key, size_t len)
{
    assert_int_equal(rc, i < s->model.n ? CARET_OK : CARET_NONE);
    if (rc == CARET_OK) {
        assert_int_equal(len, s->model.p[i].klen);
        assert_memory_equal(key, s->model.p[i].key, len);
    }
}

/* From a key, or the gap where one would be: the model's neighbours. */
static void expect_around(struct store *s, const uint8_t *from, size_t from_len)
{
    struct caret__view v = store_view(s);
    uint8_t key[CARET__PLACE_MAX];
    bool found;
    unsigned i = model_find(&s->model, from, from_len, &found);

    for (int way = from_len <= CARET__KEY_MAX ? 0 : 1; way < 3; way++) {
        struct caret__at at = {0};
        size_t len = from_len;
        memcpy(key, from, from_len);
        int rc = way == 0   ? caret__scan_next(&v, &at, key, &len)
                 : way == 1 ? caret__scan_from(&v, &at, key, &len)
                            : caret__scan_before(&v, &at, key, &len);
        expect_key(s, way == 0 ? i + found : way == 1 ? i : i - 1, rc, key, len);
    }
}

static void a_walk_begins_at_any_key_or_gap(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX + 2];

    (void)state;
    fill(&s, 1);
    for (unsigned i = 0; i < s.model.n; i++) {
        const struct pair *p = &s.model.p[i];
        memcpy(key, p->key, p->klen);
        expect_around(&s, key, p->klen);
        expect_around(&s, key, p->klen - 1u + (p->klen == 1)); /* a key above it */
        if (p->klen < CARET__KEY_MAX) {                        /* just after it */
            key[p->klen] = 0;
            expect_around(&s, key, p->klen + 1u);
        }
        key[p->klen - 1]--; /* before it */
        expect_around(&s, key, p->klen);
    }
    expect_around(&s, (const uint8_t *)"\xff\xff", 2);
    expect_around(&s, (const uint8_t *)"\0", 1);
    for (unsigned i = 0; i < 500; i++)
        expect_around(&s, key, random_key(&s.rng, key));
    store_close(&s);
}

static void an_empty_tree_has_neither_end(void **state)
{
    struct store s;

    (void)state;
    store_private(&s, 2);
    expect_around(&s, (const uint8_t *)"k", 1);
    store_set(&s, (const uint8_t *)"k", 1, "", 0);
    expect_around(&s, (const uint8_t *)"k", 1);
    expect_around(&s, (const uint8_t *)"j", 1);
    expect_around(&s, (const uint8_t *)"l", 1);
    store_delete(&s, (const uint8_t *)"k", 1);
    expect_around(&s, (const uint8_t *)"k", 1);
    store_close(&s);
}

/* The longest keys: the byte 0 that is added to go on after one has room, in each buffer on the way. */
static void the_longest_keys_are_walked_over(void **state)
{
    struct store s;
    uint8_t key[CARET__PLACE_MAX];

    (void)state;
    store_private(&s, 3);
    memset(key, 0xfe, sizeof key);
    for (unsigned i = 0; i < 60; i++) {
        key[CARET__KEY_MAX - 1] = (uint8_t)(i * 4);
        store_set(&s, key, CARET__KEY_MAX, "v", 1);
    }
    store_same(&s);
    for (unsigned i = 0; i < s.model.n; i++) {
        size_t len = s.model.p[i].klen;
        expect_around(&s, s.model.p[i].key, len);
        memcpy(key, s.model.p[i].key, len);
        caret__key_after(key, &len);
        assert_int_equal(len, CARET__PLACE_MAX);
        expect_around(&s, key, len);
    }
    store_close(&s);
}

/* ------------------------------------------------------------------- changes */

/* Between two steps anything is changed; the next step goes on from the last key, as the tree is by then. */
static void goes_on_whatever_is_changed(uint64_t seed, bool back)
{
    struct store s;
    struct caret__at at = {0};
    uint8_t key[CARET__KEY_MAX + 1] = {back ? 0xff : 0};
    size_t len = 1;
    unsigned steps = 0;

    fill(&s, seed);
    struct caret__view v = store_view(&s);
    for (; steps < 3000; steps++) {
        for (unsigned i = caret__rand_below(&s.rng, 4); i > 0; i--)
            store_change(&s, 500, 20);
        bool found;
        unsigned i = model_find(&s.model, key, len, &found);
        i += back ? -1u : found;
        int rc = back ? caret__scan_before(&v, &at, key, &len) : caret__scan_next(&v, &at, key, &len);
        expect_key(&s, i, rc, key, len);
        if (rc != CARET_OK)
            break;
    }
    assert_true(steps > 100);
    store_close(&s);
}

static void a_walk_goes_on_whatever_is_changed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        goes_on_whatever_is_changed(seed, false);
}

static void a_walk_back_goes_on_whatever_is_changed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        goes_on_whatever_is_changed(seed, true);
}

/* -------------------------------------------------------------------- ranges */

/* Going from bound to bound, both ways, meets each leaf once: the ranges leave no gap and do not overlap. */
static void ranges_of_leaves_lie_side_by_side(void **state)
{
    struct store s;
    struct caret__range range, before;
    struct caret__at at;

    (void)state;
    fill(&s, 7);
    struct caret__view v = store_view(&s);
    unsigned leaves = store_leaves(&s), n = 1;
    assert_int_equal(caret__seek_range(&v, (const uint8_t *)"", 0, &at, &range), CARET_OK);
    assert_int_equal(range.lower_len, 0);
    for (; range.upper_len != 0; n++) {
        uint8_t bound[CARET__KEY_MAX];
        unsigned len = range.upper_len;
        uint32_t left = at.pgno;
        memcpy(bound, range.upper, len);
        assert_int_equal(caret__seek_before(&v, bound, len, &at, &before), CARET_OK);
        assert_int_equal(at.pgno, left); /* the leaf that ends there */
        assert_int_equal(before.upper_len, len);
        assert_memory_equal(before.upper, bound, len);
        assert_int_equal(caret__seek_range(&v, bound, len, &at, &range), CARET_OK);
        assert_true(at.pgno != left); /* and the one that begins there */
        assert_int_equal(range.lower_len, len);
        assert_memory_equal(range.lower, bound, len);
    }
    assert_int_equal(n, leaves);
    store_close(&s);
}

static void every_key_lies_in_the_range_of_its_leaf(void **state)
{
    struct store s;
    struct caret__range range;
    struct caret__at at, plain;

    (void)state;
    fill(&s, 8);
    struct caret__view v = store_view(&s);
    for (unsigned i = 0; i < s.model.n; i++) {
        const struct pair *p = &s.model.p[i];
        assert_int_equal(caret__seek_range(&v, p->key, p->klen, &at, &range), CARET_OK);
        assert_int_equal(caret__seek(&v, p->key, p->klen, &plain), CARET_OK);
        assert_true(at.found && at.pgno == plain.pgno && at.pos == plain.pos);
        assert_true(range.lower_len == 0 ||
                    caret__bytes_compare(range.lower, range.lower_len, p->key, p->klen) <= 0);
        assert_true(range.upper_len == 0 ||
                    caret__bytes_compare(p->key, p->klen, range.upper, range.upper_len) < 0);
    }
    store_close(&s);
}

/* ------------------------------------------------------ a page being changed */

static unsigned asked;
static uint64_t asked_version;
static _Atomic uint64_t *applied_word;

/* The writer is done when it is asked about for the third time. */
static int done_at_last(void *ctx, uint64_t version, unsigned tries)
{
    (void)ctx;
    (void)tries;
    asked_version = version;
    if (++asked == 3)
        atomic_store(applied_word, version);
    return CARET_OK;
}

static int refused(void *ctx, uint64_t version, unsigned tries)
{
    (void)ctx;
    (void)version;
    (void)tries;
    asked++;
    return CARET_E_IO_FAILED;
}

static void a_page_being_changed_is_waited_for(void **state)
{
    struct store s;
    struct caret__at at;

    (void)state;
    fill(&s, 9);
    struct caret__view v = store_view(&s);
    _Atomic uint64_t applied = atomic_load(&s.own.lsn);
    const struct pair *p = &s.model.p[s.model.n / 2];
    s.own.pg.applied = applied_word = &applied;
    v.stalled = done_at_last;
    v.applied = applied;
    store_set(&s, p->key, p->klen, "new", 3); /* its commit is not applied yet */
    asked = 0;
    p = &s.model.p[s.model.n / 2];
    assert_int_equal(caret__seek(&v, p->key, p->klen, &at), CARET_OK);
    assert_int_equal(asked, 3);
    assert_true(asked_version == atomic_load(&s.own.lsn) && v.applied == asked_version);
    assert_true(at.found);
    applied -= 1;
    v.applied = applied;
    v.stalled = refused;
    asked = 0;
    assert_int_equal(caret__seek(&v, p->key, p->klen, &at), CARET_E_IO_FAILED);
    assert_int_equal(asked, 1);
    s.own.pg.applied = &s.own.lsn;
    store_close(&s);
}

static void damage_on_the_way_is_told(void **state)
{
    struct store s;
    struct caret__at at;

    (void)state;
    fill(&s, 10);
    struct caret__view v = store_view(&s);
    const struct pair *p = &s.model.p[0];
    struct caret__page *root = (struct caret__page *)(uintptr_t)store_page(&s, store_root(&s));
    uint32_t child = caret__page_child(root, 0);
    caret__page_set_child(root, 0, s.pg->max_pages + 5);
    assert_int_equal(caret__seek(&v, p->key, p->klen, &at), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "child page number is out of range"));
    caret__page_set_child(root, 0, store_root(&s));
    assert_int_equal(caret__seek(&v, p->key, p->klen, &at), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "ring"));
    caret__page_set_child(root, 0, child);
    assert_int_equal(caret__seek(&v, p->key, p->klen, &at), CARET_OK);
    struct caret__page *leaf = (struct caret__page *)(uintptr_t)at.page;
    leaf->pgno ^= 1;
    assert_int_equal(caret__seek(&v, p->key, p->klen, &at), CARET_E_CORRUPT);
    assert_non_null(strstr(caret_message(), "not a leaf"));
    leaf->pgno ^= 1;
    store_same(&s);
    store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_begins_at_any_key_or_gap),
        cmocka_unit_test(an_empty_tree_has_neither_end),
        cmocka_unit_test(the_longest_keys_are_walked_over),
        cmocka_unit_test(a_walk_goes_on_whatever_is_changed),
        cmocka_unit_test(a_walk_back_goes_on_whatever_is_changed),
        cmocka_unit_test(ranges_of_leaves_lie_side_by_side),
        cmocka_unit_test(every_key_lies_in_the_range_of_its_leaf),
        cmocka_unit_test(a_page_being_changed_is_waited_for),
        cmocka_unit_test(damage_on_the_way_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
