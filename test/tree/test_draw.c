/*
 * Entries that are drawn: each as likely as another, and soon, whatever the pages above them are like.
 */
#include "support/store.h"

#include <math.h>

#define WIDTH 6

/* How many of so many draws found an entry; each of the n entries that there are comes as often as another. */
static unsigned drawn(struct store *s, unsigned draws)
{
    unsigned *count = calloc(s->model.n, sizeof *count), hits = 0;
    struct caret__view v = store_view(s);
    uint8_t key[CARET__KEY_MAX + 2];
    double chi = 0, freedom = s->model.n - 1;

    for (unsigned i = 0; i < draws; i++) {
        struct caret__draw d = {.r = &s->rng, .len = 1, .from = {0x01}, .to = {0xff}};
        struct caret__at at;
        int rc = caret__seek_drawn(&v, &d, &at);
        if (rc == CARET_NONE)
            continue;
        assert_int_equal(rc, CARET_OK);
        size_t len = caret__page_key(at.page, at.pos, key);
        bool found;
        unsigned place = model_find(&s->model, key, len, &found);
        assert_true(found && caret__at_valid(&v, &at));
        count[place]++;
        hits++;
    }
    double due = (double)hits / s->model.n;
    for (unsigned i = 0; i < s->model.n; i++)
        chi += (count[i] - due) * (count[i] - due) / due;
    free(count);
    if (chi > freedom + 5 * sqrt(2 * freedom)) /* the draws are always the same ones: no chance is left */
        fail_msg("chi square %.0f of %u entries", chi, s->model.n);
    return hits;
}

/* All but `left` of n keys are killed at once: what was beside the span keeps its pages, and they their parents. */
static void keep_both_ends(struct store *s, unsigned n, unsigned left)
{
    uint8_t lo[CARET__KEY_MAX], hi[CARET__KEY_MAX];
    struct caret__span all = {lo, hi, number_key(lo, "d", WIDTH, left / 2),
                              number_key(hi, "d", WIDTH, n - left / 2)};

    store_fill(s, "d", WIDTH, 0, n, 20);
    unsigned depth = s->pg->ts->depth;
    store_kill_span(s, &all);
    store_same(s);
    assert_int_equal(s->pg->ts->depth, depth);
    assert_int_equal(s->model.n, left / 2 * 2);
}

static void a_tree_that_was_larger_is_drawn_from_as_soon(void **state)
{
#ifdef CARET_SMALL
    enum { N = 20000, LEFT = 300 };
#else
    enum { N = 40000, LEFT = 1600 };
#endif
    struct store s;

    (void)state;
    store_private(&s, 7);
    store_fill(&s, "d", WIDTH, 0, LEFT, 20);
    unsigned small = drawn(&s, 200000);
    store_close(&s);
    store_private(&s, 7);
    keep_both_ends(&s, N, LEFT);
    unsigned large = drawn(&s, 200000);
    store_close(&s);
    print_message("of 200,000 draws %u found an entry, %u where the tree was larger\n", small, large);
    assert_true(large > small / 3);
}

/* A rough draw is never in vain, and each entry comes. */
static void a_rough_draw_always_finds(void **state)
{
    enum { N = 500 };
    struct store s;
    uint8_t key[CARET__KEY_MAX + 2];
    bool seen[N] = {false};

    (void)state;
    store_private(&s, 9);
    store_fill(&s, "d", WIDTH, 0, N, CARET__INLINE_MAX / 2);
    struct caret__view v = store_view(&s);
    for (unsigned i = 0; i < 30 * N; i++) {
        struct caret__draw d = {.r = &s.rng, .len = 1, .from = {0x01}, .to = {0xff}, .rough = true};
        struct caret__at at;
        bool found;
        assert_int_equal(caret__seek_drawn(&v, &d, &at), CARET_OK);
        size_t len = caret__page_key(at.page, at.pos, key);
        unsigned place = model_find(&s.model, key, len, &found);
        assert_true(found);
        seen[place] = true;
    }
    for (unsigned i = 0; i < N; i++)
        assert_true(seen[i]);
    store_close(&s);
}

static void one_of_many_is_as_likely(void **state)
{
    struct store s;

    (void)state;
    for (unsigned n = 1; n < 4000; n = n * 3 + 1) {
        store_private(&s, n);
        store_fill(&s, "d", WIDTH, 0, n, n % 40);
        drawn(&s, 100000);
        store_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tree_that_was_larger_is_drawn_from_as_soon),
                                       cmocka_unit_test(a_rough_draw_always_finds),
                                       cmocka_unit_test(one_of_many_is_as_likely)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
