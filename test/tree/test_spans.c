/* Sets of spans: what was added is in it, spans of it never overlap, and what was noted before brings back what was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "tree/spans.h"

#define KEYS 1000u /* "k000" to "k999" */

static struct caret__rand rng;
static struct caret__spans set;
static bool killed[KEYS];

static size_t key_of(unsigned i, uint8_t *key)
{
    return (size_t)sprintf((char *)key, "k%03u", i);
}

/* As many spans as the model has runs, or more where some are adjacent; one after the other; and they hold its keys. */
static void compare(void)
{
    struct caret__one_span one;
    bool in[KEYS] = {false};
    uint8_t key[8] = {0}, last[CARET__PLACE_MAX] = {0};
    size_t last_len = 0;

    for (bool more = caret__spans_from(&set, key, 0, &one); more; more = caret__spans_next(&set, &one)) {
        assert_true(caret__bytes_compare(last, last_len, one.lo, one.span.lo_len) <= 0);
        assert_true(caret__bytes_compare(one.span.lo, one.span.lo_len, one.span.hi, one.span.hi_len) < 0);
        last_len = one.span.hi_len;
        memcpy(last, one.span.hi, last_len);
        for (unsigned i = 0; i < KEYS; i++)
            in[i] |= caret__span_has(&one.span, key, key_of(i, key));
    }
    for (unsigned i = 0; i < KEYS; i++) {
        size_t len = key_of(i, key);
        assert_int_equal(in[i], killed[i]);
        assert_int_equal(caret__spans_find(&set, key, len, &one), killed[i]);
        if (killed[i])
            assert_true(caret__span_has(&one.span, key, len));
    }
}

struct notes {
    struct {
        uint8_t key[CARET__PLACE_MAX], val[CARET__PLACE_MAX];
        size_t len, vlen;
        bool there;
    } list[KEYS];
    unsigned n;
};

static int note(void *ctx, struct caret__private *at, const uint8_t *key, size_t len)
{
    struct notes *notes = ctx;
    const uint8_t *val = NULL;
    size_t vlen = 0;
    unsigned i = notes->n++;

    notes->list[i].there = caret__private_get(at, key, len, &val, &vlen);
    memcpy(notes->list[i].key, key, notes->list[i].len = len);
    notes->list[i].vlen = notes->list[i].there ? vlen : 0;
    if (notes->list[i].there)
        memcpy(notes->list[i].val, val, vlen);
    return CARET_OK;
}

static void undo(struct notes *notes)
{
    while (notes->n-- > 0) {
        if (notes->list[notes->n].there)
            assert_int_equal(caret__private_set(&set.at, notes->list[notes->n].key, notes->list[notes->n].len,
                                                notes->list[notes->n].val, notes->list[notes->n].vlen),
                             CARET_OK);
        else
            caret__private_delete(&set.at, notes->list[notes->n].key, notes->list[notes->n].len);
    }
}

static void add_one(unsigned widest)
{
    static struct notes notes;
    uint8_t lo[8], hi[8];
    unsigned from = caret__rand_below(&rng, KEYS - 1),
             to = from + 1 + caret__rand_below(&rng, caret__min(widest, KEYS - 1 - from));
    struct caret__span s = {lo, hi, key_of(from, lo), key_of(to, hi)};
    bool any = false;

    for (unsigned i = from; i < to; i++)
        any |= killed[i];
    assert_int_equal(caret__spans_touch(&set, &s), any);
    notes.n = 0;
    assert_int_equal(caret__spans_add(&set, &s, note, &notes), CARET_OK);
    if (caret__rand_below(&rng, 3) == 0) {
        undo(&notes);
        return;
    }
    for (unsigned i = from; i < to; i++)
        killed[i] = true;
}

static void a_set_has_what_was_added(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 40; seed++) {
        caret__rand_seed(&rng, seed);
        memset(killed, 0, sizeof killed);
        for (unsigned i = 0; i < 80; i++) {
            add_one(seed % 2 != 0 ? 9 : 90);
            if (i % 8 == 0)
                compare();
        }
        compare();
        caret__spans_clear(&set);
        memset(killed, 0, sizeof killed);
        compare();
    }
    caret__spans_destroy(&set);
}

static void an_empty_set_has_nothing(void **state)
{
    struct caret__spans none = {.there = false};
    struct caret__one_span one;
    const struct caret__span all = {(const uint8_t *)"a", (const uint8_t *)"z", 1, 1};

    (void)state;
    assert_false(caret__spans_find(&none, all.lo, 1, &one));
    assert_false(caret__spans_from(&none, all.lo, 1, &one));
    assert_false(caret__spans_touch(&none, &all));
    caret__spans_clear(&none);
    caret__spans_destroy(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_has_what_was_added),
        cmocka_unit_test(an_empty_set_has_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
