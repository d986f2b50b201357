/* Pages made anew: nothing is lost or added, the prefix is what all keys share, what is promised to fit fits. */
#include "pages.h"

static union buffer page;
static struct model model;

/* A page full of random entries whose keys share `common` bytes. */
static void make(unsigned common, unsigned tries)
{
    memset(&page, 0xee, sizeof page);
    caret__page_init(&page.page, PGNO, 0);
    model.n = 0;
    unsigned garbage = 6 + below(60);
    for (unsigned i = 0; i < tries; i++) {
        struct pair p;
        bool found;
        random_pair(&p, common);
        unsigned at = model_find(&model, p.key, p.klen, &found);
        if (!found && caret__page_insert(&page.page, at, p.key, p.klen, p.val, p.vlen, 0, NULL))
            model_put(&model, at, false, &p);
        if (below(garbage) == 0 && model.n > 1) {
            unsigned victim = below(model.n);
            caret__page_remove(&page.page, victim, victim + 1, NULL);
            model_remove(&model, victim, victim + 1);
        }
    }
}

static unsigned shared_by_all(void)
{
    size_t len = model.n != 0 ? model.p[0].klen : 0;

    for (unsigned i = 1; i < model.n; i++)
        len = caret__common_prefix(model.p[0].key, len, model.p[i].key, model.p[i].klen);
    return (unsigned)len;
}

static void a_filled_page_holds_the_listed_entries(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        union buffer copy, built;
        struct caret__kv kv[CARET__MAX_SLOTS];
        make(round % 5, 20 + round % 150);
        copy = page;
        unsigned n = caret__page_list(&copy.page, kv), plen = caret__kv_prefix(kv, n);
        assert_int_equal(n, model.n);
        assert_int_equal(plen, shared_by_all());
        for (unsigned prefix = 0; prefix <= plen; prefix += 1 + plen / 3) {
            memset(&built, 0x55, sizeof built);
            caret__page_init(&built.page, PGNO, 0);
            assert_int_equal(caret__page_fill(&built.page, kv, n, prefix),
                             caret__kv_bytes(kv, n, prefix) <= CARET__PAGE_USABLE);
            if (caret__kv_bytes(kv, n, prefix) > CARET__PAGE_USABLE)
                continue;
            assert_int_equal(built.page.prefix_len, prefix);
            assert_int_equal(built.page.garbage, 0);
            assert_int_equal(caret__page_used(&built.page), caret__kv_bytes(kv, n, prefix));
            same(&built.page, &model);
        }
    }
}

static void a_part_of_a_page_is_taken_as_it_is(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 600; round++) {
        union buffer built;
        make(round % 5, 20 + round % 150);
        unsigned from = below(model.n), to = from + 1 + below(model.n - from);
        unsigned old = page.page.prefix_len, all = caret__page_shared(&page.page, from, to);
        memmove(&model.p[0], &model.p[from], (to - from) * sizeof model.p[0]);
        model.n = to - from;
        assert_int_equal(all, shared_by_all());
        for (unsigned prefix = old; prefix <= all; prefix += 1 + (all - old) / 3) {
            memset(&built, 0x55, sizeof built);
            caret__page_init(&built.page, PGNO, 0);
            assert_true(caret__page_take(&built.page, &page.page, from, to, prefix));
            assert_int_equal(built.page.prefix_len, prefix);
            assert_int_equal(built.page.garbage, 0);
            same(&built.page, &model);
        }
    }
}

/* Slots of a damaged page may all lead to the same long entry. */
static void nothing_is_taken_of_a_damaged_page(void **state)
{
    union buffer built;

    (void)state;
    make(1, 120);
    caret__page_init(&built.page, PGNO, 0);
    struct caret__slot s = {page.page.slot[0].head, page.page.heap, CARET__PAGE_SIZE / 2};
    for (unsigned i = 0; i < page.page.count; i++)
        page.page.slot[i] = s;
    assert_false(caret__page_take(&built.page, &page.page, 0, page.page.count, page.page.prefix_len));
}

static void what_does_not_fit_is_refused(void **state)
{
    static uint8_t keys[40][8], val[CARET__INLINE_MAX];
    struct caret__kv kv[40];
    union buffer built;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        snprintf((char *)keys[i], sizeof keys[i], "key%03u", i);
        kv[i] =
            (struct caret__kv){.a = keys[i], .b = keys[i], .b_len = 6, .val = val, .vlen = CARET__INLINE_MAX};
    }
    for (unsigned n = 1; n < 40; n++) {
        caret__page_init(&built.page, PGNO, 0);
        assert_int_equal(caret__page_fill(&built.page, kv, n, 3),
                         n * (CARET__INLINE_MAX + 13) + 3 <= CARET__PAGE_USABLE);
    }
}

/* make_room says yes: the insert works, and nothing else has changed; no: not a byte has. */
static void room_that_was_made_is_there(void **state)
{
    unsigned yes = 0, no = 0;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct pair p;
        bool found;
        make(round % 4, 30 + below(CARET__PAGE_SIZE / 6));
        random_pair(&p, below(3) == 0 ? 0 : round % 4);
        p.vlen = below(2) == 0 ? p.vlen : below(CARET__INLINE_MAX);
        unsigned at = model_find(&model, p.key, p.klen, &found);
        if (found)
            continue;
        union buffer before = page;
        if (!caret__page_make_room(&page.page, p.key, p.klen, p.vlen)) {
            assert_memory_equal(&page, &before, sizeof page);
            no++;
            continue;
        }
        same(&page.page, &model);
        assert_true(caret__page_insert(&page.page, at, p.key, p.klen, p.val, p.vlen, 0, NULL));
        model_put(&model, at, false, &p);
        same(&page.page, &model);
        yes++;
    }
    assert_true(yes > 300 && no > 20);
}

static void a_longer_prefix_keeps_the_entries_and_takes_less(void **state)
{
    unsigned lengthened = 0;

    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        struct pair p;
        make(8 + round % 6, 8 + round % 60);
        random_pair(&p, 8 + round % 6);
        unsigned used = caret__page_used(&page.page), plen = page.page.prefix_len;
        bool wants = caret__page_wants_prefix(&page.page, p.key, p.klen);
        caret__page_lengthen_prefix(&page.page, p.key, p.klen);
        same(&page.page, &model);
        if (!wants) {
            assert_int_equal(page.page.prefix_len, plen);
            continue;
        }
        lengthened++;
        assert_true(page.page.prefix_len >= plen + 4u);
        assert_true(caret__page_used(&page.page) < used);
        assert_memory_equal(page.bytes + page.page.prefix_off, p.key, page.page.prefix_len);
    }
    assert_true(lengthened > 10);
}

static int seed_it(void **state)
{
    (void)state;
    caret__rand_seed(&rng, 1234);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_filled_page_holds_the_listed_entries, seed_it),
        cmocka_unit_test_setup(a_part_of_a_page_is_taken_as_it_is, seed_it),
        cmocka_unit_test_setup(nothing_is_taken_of_a_damaged_page, seed_it),
        cmocka_unit_test_setup(what_does_not_fit_is_refused, seed_it),
        cmocka_unit_test_setup(room_that_was_made_is_there, seed_it),
        cmocka_unit_test_setup(a_longer_prefix_keeps_the_entries_and_takes_less, seed_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
