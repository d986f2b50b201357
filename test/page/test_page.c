/*
 * One page against a sorted array: search, insert, replace, remove; and its undo: whatever an edit did, the undo
 * entries, restored last first, bring every byte back, and the version was raised before.
 */
#include "pages.h"

static union buffer page;
static struct model model;

static int fresh(void **state)
{
    (void)state;
    caret__rand_seed(&rng, 4711);
    memset(&page, 0xee, sizeof page); /* nobody may need zeros */
    caret__page_init(&page.page, PGNO, 0);
    model.n = 0;
    return 0;
}

/* ------------------------------------------------------------------------- edits */

static bool insert_or_replace(const struct pair *p, const struct caret__edit *ed)
{
    bool found, in_model;
    unsigned at = caret__page_find(&page.page, p->key, p->klen, &found);

    assert_int_equal(at, model_find(&model, p->key, p->klen, &in_model));
    assert_int_equal(found, in_model);
    bool done = found ? caret__page_replace(&page.page, at, p->val, p->vlen, 0, ed)
                      : caret__page_insert(&page.page, at, p->key, p->klen, p->val, p->vlen, 0, ed);
    if (done)
        model_put(&model, at, found, p);
    return done;
}

static void remove_some(const struct caret__edit *ed)
{
    if (model.n == 0)
        return;
    unsigned from = below(model.n), to = from + 1 + below(below(8) == 0 ? model.n - from : 1);
    caret__page_remove(&page.page, from, to, ed);
    model_remove(&model, from, to);
}

static void random_edit(unsigned common, const struct caret__edit *ed)
{
    struct pair p;

    random_pair(&p, common);
    if (model.n != 0 && below(3) == 0) { /* a key that is there */
        const struct pair *old = &model.p[below(model.n)];
        memcpy(p.key, old->key, old->klen);
        p.klen = old->klen;
        if (below(2) == 0)
            p.vlen = old->vlen < p.vlen ? p.vlen : old->vlen < 20 ? old->vlen : 20;
        for (unsigned i = 0; i < p.vlen; i++)
            p.val[i] = (uint8_t)below(256);
    }
    if (below(4) == 0 || (!insert_or_replace(&p, ed) && below(2) == 0))
        remove_some(ed);
}

static void edits_do_what_they_say(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < 200; i++) {
            random_edit(round % 3 * 2, NULL);
            same(&page.page, &model);
        }
        fresh(NULL);
        caret__rand_seed(&rng, round);
    }
}

static void a_refused_edit_changes_nothing(void **state)
{
    union buffer before;
    unsigned refused = 0;

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        struct pair p;
        random_pair(&p, 0);
        memcpy(&before, &page, sizeof page);
        if (!insert_or_replace(&p, NULL)) {
            assert_memory_equal(&page, &before, sizeof page);
            refused++;
            if (refused % 3 == 0)
                remove_some(NULL);
        }
    }
    assert_true(refused > 100);
}

/* ---------------------------------------------------------------------------- rows */

static int pair_order(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return caret__bytes_compare(x->key, x->klen, y->key, y->klen);
}

/* Up to `most` pairs in key order, each key once. */
static unsigned random_row(struct pair *p, struct caret__kv *kv, unsigned most, unsigned common)
{
    unsigned n = 1 + below(most), m = 0;

    for (unsigned i = 0; i < n; i++)
        random_pair(&p[i], common);
    qsort(p, n, sizeof *p, pair_order);
    for (unsigned i = 0; i < n; i++)
        if (m == 0 || caret__bytes_compare(kv[m - 1].b, kv[m - 1].b_len, p[i].key, p[i].klen) != 0)
            kv[m++] = (struct caret__kv){
                .b = p[i].key, .val = p[i].val, .b_len = (uint16_t)p[i].klen, .vlen = (uint16_t)p[i].vlen};
    return m;
}

static bool one_is_left(const struct caret__page *p, const struct caret__kv *kv, const struct caret__kv *last)
{
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(p, &prefix), n = caret__page_count(p);
    bool found, longer = n >= 8 && (n & (n - 1)) == 0;

    caret__page_find(p, kv->b, kv->b_len, &found);
    return found || longer || kv->b_len < plen || memcmp(kv->b, prefix, plen) != 0 || last->b_len < plen ||
           memcmp(last->b, prefix, plen) != 0 ||
           caret__page_room(p) < caret__entry_room(kv->b_len - plen, kv->vlen);
}

/* What is inserted at once is what would be inserted one by one, to the last byte of the page; and it is not less. */
static void a_row_is_what_its_sets_are_one_by_one(void **state)
{
    static struct pair pairs[CARET__PAGE_ROW + 20];
    static struct caret__kv kv[CARET__PAGE_ROW + 20];
    unsigned many = 0, longest = 0;

    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        fresh(NULL);
        caret__rand_seed(&rng, round);
        for (unsigned i = below(60); i > 0; i--)
            random_edit(round % 4, NULL);
        unsigned n = random_row(pairs, kv, round % 5 == 0 ? CARET__PAGE_ROW + 20 : 12, round % 4), at;
        union buffer single = page;
        bool found;
        unsigned next = below(2) == 0 ? 0 : caret__page_find(&page.page, kv[0].b, kv[0].b_len, &found);
        uint16_t pos[CARET__PAGE_ROW];
        unsigned done = caret__page_insert_row(&page.page, next, kv, n, pos, NULL);
        assert_true(done <= n && done <= CARET__PAGE_ROW);
        for (unsigned i = 0; i < done; i++)
            assert_int_equal(caret__page_find(&page.page, kv[i].b, kv[i].b_len, &found), pos[i]);
        for (unsigned i = 0; i < done; i++) {
            at = caret__page_find(&single.page, kv[i].b, kv[i].b_len, &found);
            assert_false(found);
            assert_true(
                caret__page_insert(&single.page, at, kv[i].b, kv[i].b_len, kv[i].val, kv[i].vlen, 0, NULL));
        }
        assert_memory_equal(&page, &single, sizeof page);
        if (done < n && done < CARET__PAGE_ROW)
            assert_true(one_is_left(&page.page, &kv[done], &kv[n - 1]));
        many += done;
        longest = done > longest ? done : longest;
    }
    assert_true(many > 3000 && longest >= 8);
}

/* -------------------------------------------------------------------------- search */

static void a_search_finds_the_first_key_that_is_not_less(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        random_edit(i / 500, NULL);
    for (unsigned i = 0; i < 20000; i++) {
        struct pair p;
        bool found, in_model;
        random_pair(&p, below(4));
        if (model.n != 0 && below(2) == 0) { /* near one that is there: a byte more, less, or other */
            p.klen = model.p[below(model.n)].klen;
            memcpy(p.key, model.p[below(model.n)].key, p.klen);
            p.key[below(p.klen)] += (uint8_t)(below(3) - 1);
        }
        unsigned at = caret__page_find(&page.page, p.key, p.klen, &found);
        assert_int_equal(at, model_find(&model, p.key, p.klen, &in_model));
        assert_int_equal(found, in_model);
    }
}

static bool has_prefix(const struct pair *p)
{
    const uint8_t *prefix;
    unsigned len = caret__page_prefix(&page.page, &prefix);
    return p->klen >= len && memcmp(p->key, prefix, len) == 0;
}

/* A search beside a slot finds the key in the one after it, in it, or that it comes last; else it says nothing. */
static void a_search_beside_a_slot_is_right_or_says_nothing(void **state)
{
    unsigned told = 0;

    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        random_edit(i / 500, NULL);
    for (unsigned i = 0; i < 40000; i++) {
        struct pair p;
        bool found, in_model;
        random_pair(&p, below(4));
        if (below(4) != 0)
            p = model.p[below(model.n)];
        if (below(3) == 0)
            p.key[p.klen++] = (uint8_t)below(256);
        unsigned right = model_find(&model, p.key, p.klen, &in_model), beside = right + below(5) - 3;
        unsigned at = caret__page_find_beside(&page.page, beside, p.key, p.klen, &found);
        bool due =
            beside < model.n &&
            (in_model ? right - beside <= 1u : beside + 1 == model.n && right == model.n && has_prefix(&p));
        assert_int_equal(at, due ? right : CARET__PAGE_NOWHERE);
        if (due)
            assert_int_equal(found, in_model);
        told += due;
    }
    assert_true(told > 5000);
}

/* One of the model's keys, mostly, or another; sometimes with a byte more. */
static struct pair key_to_find(void)
{
    struct pair p;
    random_pair(&p, below(4));
    if (model.n != 0 && below(4) != 0)
        p = model.p[below(model.n)];
    if (below(3) == 0)
        p.key[p.klen++] = (uint8_t)below(256);
    return p;
}

/* A search around a slot finds the key in the one before it, or what a search finds there or after it; else it
 * says nothing. */
static void a_search_around_a_slot_is_right_or_says_nothing(void **state)
{
    unsigned told = 0;

    (void)state;
    for (unsigned i = 0; i < 40000; i++) {
        if (i < 8000)
            random_edit(i / 2000, NULL);
        struct pair p = key_to_find();
        bool found, in_model;
        unsigned right = model_find(&model, p.key, p.klen, &in_model), around = right + below(5) - 2;
        unsigned at = caret__page_find_around(&page.page, around, p.key, p.klen, &found);
        bool due = around <= model.n && has_prefix(&p) &&
                   (right == around || right == around + 1 || (right + 1 == around && in_model));
        assert_int_equal(at, due ? right : CARET__PAGE_NOWHERE);
        if (due)
            assert_int_equal(found, in_model);
        told += due;
    }
    assert_true(told > 5000);
}

/* A search from a slot on, before which all keys are below the key, finds what a search finds. */
static void a_search_after_lower_keys_is_a_search(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        random_edit(i / 500, NULL);
        struct pair p = key_to_find();
        bool found, in_model;
        unsigned right = model_find(&model, p.key, p.klen, &in_model), less = below(4) % 3;
        unsigned at =
            caret__page_find_after(&page.page, right - (less < right ? less : right), p.key, p.klen, &found);
        assert_int_equal(at, right);
        assert_int_equal(found, in_model);
    }
}

/* ---------------------------------------------------------------------------- undo */

#define UNDO_BYTES (8u * CARET__PAGE_SIZE)
static struct {
    _Atomic uint64_t version;
    uint8_t area[UNDO_BYTES];
    _Atomic uint64_t word, lsn;
    union buffer page; /* last: its end is open */
} shared;

/* As repair does it: the entries from the last to the first. */
static unsigned restore(void)
{
    uint32_t used = caret__undo_used(atomic_load(&shared.word));
    unsigned entries = 0;

    while (used != 0) {
        uint64_t place, len;
        assert_true(used >= CARET__UNDO_FOOT);
        memcpy(&place, shared.area + used - 16, 8);
        memcpy(&len, shared.area + used - 8, 8);
        used -= (uint32_t)((len + 7) & ~UINT64_C(7)) + CARET__UNDO_FOOT;
        assert_true(place + len <= sizeof shared.page);
        memcpy(shared.page.bytes + place, shared.area + used, len);
        entries++;
    }
    return entries;
}

/* The same page, but for the bytes between slots and heap, which are nobody's. */
static void same_content(const union buffer *a, const union buffer *b)
{
    unsigned slots = CARET__PAGE_HEAD + 8u * a->page.count, heap = a->page.heap;

    assert_memory_equal(a, b, slots);
    assert_memory_equal(a->bytes + heap, b->bytes + heap, CARET__PAGE_SIZE - heap);
}

static struct caret__undo undo_new(void)
{
    return (struct caret__undo){.area = shared.area,
                                .base = shared.page.bytes,
                                .word = &shared.word,
                                .lsn = &shared.lsn,
                                .cap = UNDO_BYTES};
}

/* The page lies where places are counted from; edits in shared.page, by way of `page` and the model. */
static void undo_restores_every_byte(void **state)
{
    (void)state;
    memcpy(&shared.page, &page, sizeof page);
    for (uint64_t lsn = 8; lsn < 8 * 6000; lsn += 8) {
        struct caret__undo u = undo_new();
        struct caret__edit ed = {&u, &shared.version, lsn};
        struct caret__page *p = &shared.page.page;
        union buffer before = shared.page;
        struct pair pair;
        bool found;

        random_pair(&pair, 0);
        caret__undo_begin(&u, lsn);
        assert_int_equal(caret__undo_used(atomic_load(&shared.word)), 0);
        unsigned at = caret__page_find(p, pair.key, pair.klen, &found), count = caret__page_count(p);
        if (below(3) == 0 && count != 0)
            caret__page_remove(p, at % count, at % count + 1 + below(count - at % count), &ed);
        else if (found || (count != 0 && below(2) == 0))
            caret__page_replace(p, at % count, pair.val, pair.vlen, 0, &ed);
        else
            caret__page_insert(p, at, pair.key, pair.klen, pair.val, pair.vlen, 0, &ed);
        bool changed = memcmp(&before, &shared.page, sizeof before) != 0;
        if (changed)
            assert_int_equal(atomic_load(&shared.version), lsn);
        union buffer after = shared.page;
        unsigned entries = restore();
        same_content(&before, &shared.page);
        assert_true(!changed || entries > 0);
        (void)restore(); /* a repairer that died is followed by another */
        same_content(&before, &shared.page);
        shared.page = after;
    }
}

static void undo_entries_of_a_commit_before_do_not_count(void **state)
{
    struct caret__undo u = undo_new();

    (void)state;
    caret__undo_begin(&u, 8);
    caret__undo_save(&u, shared.page.bytes, 100);
    assert_int_equal(caret__undo_used(atomic_load(&shared.word)), 0); /* not published yet */
    caret__undo_publish(&u);
    assert_int_equal(caret__undo_used(atomic_load(&shared.word)), 104 + CARET__UNDO_FOOT);
    struct caret__undo next = undo_new();
    caret__undo_begin(&next, 16);
    assert_int_equal(caret__undo_used(atomic_load(&shared.word)), 0);
    assert_int_equal(atomic_load(&shared.lsn), 16);
}

static void areas_of_the_undo_region_are_disjoint(void **state)
{
    uint64_t end = 0;

    (void)state;
    for (uint32_t a = 1; a <= CARET__UNDO_NEARS; a++) {
        assert_int_equal(caret__undo_offset(a), end);
        end += caret__undo_room(a, CARET__UNDO_MAX);
    }
    assert_int_equal(caret__undo_offset(0), end);
    assert_int_equal(end + caret__undo_room(0, CARET__UNDO_MAX), CARET__UNDO_MAX);
}

/* ------------------------------------------------------------------------- damage */

/* No byte of a page can make a reader leave it: addresses are checked by the sanitizers, results here. */
static void readers_of_a_damaged_page_stay_inside(void **state)
{
    uint8_t key[CARET__KEY_MAX];
    unsigned noticed = 0;

    (void)state;
    for (unsigned i = 0; i < 500; i++)
        random_edit(2, NULL);
    for (unsigned i = 0; i < 4000; i++) {
        union buffer bad = page;
        char report[400] = "";
        bool found;
        for (unsigned k = below(8) + 1; k > 0; k--)
            bad.bytes[below(4) != 0 ? below(200) : below(CARET__PAGE_SIZE)] = (uint8_t)below(256);
        noticed += !caret__page_check(&bad.page, PGNO, report, sizeof report);
        unsigned n = caret__page_count(&bad.page);
        assert_true(caret__page_find(&bad.page, (const uint8_t *)"kka", 3, &found) <= n);
        unsigned beside = caret__page_find_beside(&bad.page, below(n + 2), (const uint8_t *)"kka", 3, &found);
        assert_true(beside <= n || beside == CARET__PAGE_NOWHERE);
        unsigned around = caret__page_find_around(&bad.page, below(n + 2), (const uint8_t *)"kka", 3, &found);
        assert_true(around <= n || around == CARET__PAGE_NOWHERE);
        for (unsigned s = 0; s < n; s++) {
            struct caret__entry e = caret__page_entry(&bad.page, s);
            assert_true(e.key >= bad.bytes && e.val + e.vlen <= bad.bytes + CARET__PAGE_SIZE);
            assert_true(caret__page_key(&bad.page, s, key) <= CARET__KEY_MAX);
        }
    }
    assert_true(noticed > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(edits_do_what_they_say, fresh),
        cmocka_unit_test_setup(a_refused_edit_changes_nothing, fresh),
        cmocka_unit_test_setup(a_row_is_what_its_sets_are_one_by_one, fresh),
        cmocka_unit_test_setup(a_search_finds_the_first_key_that_is_not_less, fresh),
        cmocka_unit_test_setup(a_search_beside_a_slot_is_right_or_says_nothing, fresh),
        cmocka_unit_test_setup(a_search_around_a_slot_is_right_or_says_nothing, fresh),
        cmocka_unit_test_setup(a_search_after_lower_keys_is_a_search, fresh),
        cmocka_unit_test_setup(undo_restores_every_byte, fresh),
        cmocka_unit_test_setup(undo_entries_of_a_commit_before_do_not_count, fresh),
        cmocka_unit_test_setup(areas_of_the_undo_region_are_disjoint, fresh),
        cmocka_unit_test_setup(readers_of_a_damaged_page_stay_inside, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
