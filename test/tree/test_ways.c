/*
 * What a session remembers of inner pages (ways.c): a descent that begins there comes to where one from the root comes,
 * whatever is changed; most begin there while nothing is; and pages that are changed all the time are not copied.
 */
#include "support/store.h"

#include "tree/many.h"
#include "tree/walk.h"

static struct caret__ways ways;
static struct caret__walk walk;

static struct caret__view view_of(struct store *s)
{
    struct caret__view v = store_view(s);

    v.ways = &ways;
    return v;
}

/* Find a key both ways; 1: the ways lead somewhere. */
static unsigned find(struct store *s, const uint8_t *key, size_t len)
{
    struct caret__view v = view_of(s), from_root = store_view(s);
    struct caret__at at, plain, led;
    bool leads = caret__ways_lead(&v, key, len, &led).way != NULL;

    assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
    assert_true(caret__at_valid(&v, &at));
    assert_int_equal(caret__seek(&from_root, key, len, &plain), CARET_OK);
    assert_int_equal(at.pgno, plain.pgno);
    assert_int_equal(at.pos, plain.pos);
    assert_int_equal(at.found, plain.found);
    assert_int_equal(at.version, plain.version);
    return leads;
}

/* Several at once come to where each would come by itself. */
static void find_many(struct store *s, uint8_t (*key)[CARET__KEY_MAX], const unsigned *len, unsigned n)
{
    struct caret__view v = view_of(s), from_root = store_view(s);
    struct caret__lane lane[CARET__LANES];
    struct caret__at plain;

    memset(lane, 0xA5, sizeof lane);
    for (unsigned i = 0; i < n; i++) {
        lane[i].key = key[i];
        lane[i].len = len[i];
    }
    caret__seek_many(&v, lane, n);
    for (unsigned i = 0; i < n; i++) {
        assert_true(lane[i].there); /* nobody is in the way */
        assert_int_equal(caret__seek(&from_root, key[i], len[i], &plain), CARET_OK);
        assert_int_equal(lane[i].at.pgno, plain.pgno);
        assert_int_equal(lane[i].at.pos, plain.pos);
        assert_int_equal(lane[i].at.found, plain.found);
        assert_int_equal(lane[i].at.version, plain.version);
    }
}

/* Of two variables, that their heads are of no use above them, and of keys with a long part in common. */
static unsigned some_key(struct store *s, uint8_t *key)
{
    static const char *const prefix[] = {"way", "wax", "a long name that all of them have in common"};
    unsigned which = caret__rand_below(&s->rng, 4);

    return which == 3 ? random_key(&s->rng, key)
                      : number_key(key, prefix[which], 6, caret__rand_below(&s->rng, 700));
}

static void begin(struct store *s, bool is_shared, uint64_t seed)
{
    caret__ways_destroy(&ways);
    (is_shared ? store_shared : store_private)(s, seed);
    store_fill(s, "way", 6, 0, 600, 20);
    store_fill(s, "wax", 6, 0, 600, 20);
    store_fill(s, "a long name that all of them have in common", 6, 0, 300, 20);
}

static void a_descent_by_ways_finds_what_one_from_the_root_finds(void **state)
{
    (void)state;
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        struct store s;
        uint8_t key[CARET__KEY_MAX];
        begin(&s, is_shared, 61);
        for (unsigned i = 0; i < 12000; i++) {
            if (i % 16 == 0 && i % 4000 < 3000)
                store_change(&s, 1500, 4);
            if (i % 1000 == 0)
                store_freeze(&s);
            find(&s, key, some_key(&s, key));
        }
        caret__ways_destroy(&ways);
        store_close(&s);
    }
}

/* A descent that a walk is to go on from comes there, too, and knows which child of which page the leaf is. */
static void find_parent(struct store *s, const uint8_t *key, size_t len)
{
    struct caret__view v = view_of(s), from_root = store_view(s);
    struct caret__at at, plain, parent;

    v.walk = &walk;
    walk.parent.owner = 0;
    assert_int_equal(caret__seek(&from_root, key, len, &plain), CARET_OK);
    assert_int_equal(caret__seek_walk(&v, key, len, &at), CARET_OK);
    assert_int_equal(at.pgno, plain.pgno);
    assert_int_equal(at.pos, plain.pos);
    assert_int_equal(at.found, plain.found);
    assert_int_equal(walk.parent.owner, v.pg->id);
    assert_int_equal(walk.parent.leaf, at.pgno);
    assert_true(caret__at_recall(&v, &parent, walk.parent.pgno, walk.parent.version));
    assert_int_equal(caret__page_child(parent.page, walk.parent.index), at.pgno);
}

static void a_descent_to_walk_from_knows_the_parent(void **state)
{
    (void)state;
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        struct store s;
        uint8_t key[CARET__KEY_MAX];
        begin(&s, is_shared, 68);
        for (unsigned i = 0; i < 6000; i++) {
            if (i % 16 == 0 && i % 2000 < 1000)
                store_change(&s, 1500, 4);
            find_parent(&s, key, some_key(&s, key));
        }
        assert_non_null(ways.slot); /* it learns the ways, too */
        assert_true(ways.used > 0);
        caret__ways_destroy(&ways);
        store_close(&s);
    }
}

/* And they learn the ways by themselves. */
static void several_at_once_find_what_one_from_the_root_finds(void **state)
{
    static uint8_t key[CARET__LANES][CARET__KEY_MAX];
    unsigned len[CARET__LANES];

    (void)state;
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        struct store s;
        struct caret__view v;
        unsigned led = 0;
        begin(&s, is_shared, 67);
        for (unsigned i = 0; i < 1600; i++) {
            unsigned n = 1 + i % CARET__LANES;
            if (i % 8 == 0 && i % 400 < 200)
                store_change(&s, 1500, 4);
            if (i % 100 == 0)
                store_freeze(&s);
            for (unsigned k = 0; k < n; k++)
                len[k] = some_key(&s, key[k]);
            find_many(&s, key, len, n);
            v = view_of(&s);
            led += caret__ways_root(&v) != NULL;
        }
        assert_true(led > 400);
        caret__ways_destroy(&ways);
        store_close(&s);
    }
}

/* Of zeros and ones after a part in common, which in one of eight is cut or is another one. */
static unsigned zeros_and_ones(struct store *s, uint8_t *key)
{
    unsigned len = number_key(key, "zeros", 2, caret__rand_below(&s->rng, 3)),
             rest = caret__rand_below(&s->rng, 12);

    for (unsigned i = 0; i < rest; i++)
        key[len + i] = caret__rand_below(&s->rng, 3) == 0;
    len += rest;
    if (caret__rand_below(&s->rng, 8) != 0)
        return len;
    key[caret__rand_below(&s->rng, len)] ^= 1;
    return 1 + caret__rand_below(&s->rng, len);
}

/* What the separators around a leaf have in common is not compared with its prefix.  Where they end, they count as
 * zeros, which keys there have or have not. */
static void keys_that_zeros_tell_apart_are_found_at_once(void **state)
{
    static uint8_t key[CARET__LANES][CARET__KEY_MAX];
    unsigned len[CARET__LANES];

    (void)state;
    for (unsigned seed = 0; seed < 12; seed++) {
        struct store s;
        caret__ways_destroy(&ways);
        store_private(&s, 70 + seed);
        for (unsigned i = 0; i < 900; i++) {
            len[0] = zeros_and_ones(&s, key[0]);
            store_set(&s, key[0], len[0], "a value", seed % 2 * 7);
        }
        for (unsigned i = 0; i < 400; i++) {
            for (unsigned k = 0; k < CARET__LANES; k++)
                len[k] = zeros_and_ones(&s, key[k]);
            find_many(&s, key, len, CARET__LANES);
        }
        struct caret__view v = view_of(&s);
        assert_non_null(caret__ways_root(&v));
        caret__ways_destroy(&ways);
        store_close(&s);
    }
}

/* But only between two separators, and two that the search has looked at. */
static void a_child_at_an_end_has_nothing_in_common(void **state)
{
    static struct caret__way way = {.plen = 3};
    struct caret__way_place place = {&way.group[0], 0x01020204, -1};

    (void)state;
    for (unsigned i = 0; i < CARET__BELOW; i++)
        way.group[0].head[i] = i == 0 ? 0x01020104 : i == 1 ? 0x01020301 : INT32_MAX;
    assert_int_equal(caret__way_shared(&way, place, 1, 1), 5);
    assert_int_equal(caret__way_shared(&way, place, 0, 1), 1);
    place.head = 0x01020302;
    assert_int_equal(caret__way_shared(&way, place, 2, 1), 1);
}

static void most_descents_begin_there(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned led = 0;

    (void)state;
    begin(&s, true, 62);
    for (unsigned i = 0; i < 6000; i++) {
        unsigned leads = find(&s, key, some_key(&s, key));
        led += i >= 3000 ? leads : 0;
    }
    assert_true(led > 2000);
    caret__ways_destroy(&ways);
    store_close(&s);
}

/* Where each descent meets another version nothing is copied. */
static void pages_that_change_all_the_time_are_not_copied(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    begin(&s, true, 63);
    for (unsigned i = 0; i < 200; i++) {
        store_freeze(&s); /* the next change copies its leaf, and so all above it */
        store_set(&s, key, number_key(key, "way", 6, 5), "v", 1);
        find(&s, key, number_key(key, "way", 6, 5));
        struct caret__way *root = ways.slot != NULL ? caret__way_of(&ways, store_root(&s)) : NULL;
        assert_true(root == NULL || root->at.pgno != store_root(&s));
    }
    caret__ways_destroy(&ways);
    store_close(&s);
}

/* Two stores in turns, with the same page numbers and versions: the ways of one are nothing in the other. */
static void ways_are_of_one_store(void **state)
{
    struct store s[2];
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    begin(&s[0], false, 64);
    store_private(&s[1], 64);
    store_fill(&s[1], "way", 6, 100, 900, 20);
    for (unsigned i = 0; i < 6000; i++)
        find(&s[i / 400 % 2], key, some_key(&s[0], key));
    caret__ways_destroy(&ways);
    store_close(&s[0]);
    store_close(&s[1]);
}

#define NUMBERS 4000u

/* As numbers are encoded: pairs of decimal digits. */
static unsigned pairs_key(uint8_t *key, unsigned i)
{
    memcpy(key, "pairs", 5);
    key[5] = (uint8_t)(1 + i / 100);
    key[6] = (uint8_t)(1 + i % 100);
    return 7;
}

/* How many of the ways above leaves are sure of their aims, after many look-ups for keys that were set with such
 * steps; *all: of so many. */
static unsigned sure_ways(unsigned step, unsigned *all)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned sure = 0;

    caret__ways_destroy(&ways);
    store_private(&s, 69);
    for (unsigned i = 0; i < NUMBERS; i++)
        store_set(&s, key, pairs_key(key, i * step % NUMBERS), "a value of some bytes", 21);
    for (unsigned i = 0; i < 6000; i++)
        find(&s, key, pairs_key(key, caret__rand_below(&s.rng, NUMBERS)));
    *all = 0;
    for (unsigned i = 0; i < ways.used; i++) {
        *all += ways.way[i].at.pgno != 0 && ways.way[i].level == 1;
        sure +=
            ways.way[i].at.pgno != 0 && ways.way[i].level == 1 && ways.way[i].aims.right >= CARET__AIM_SURE;
    }
    caret__ways_destroy(&ways);
    store_close(&s);
    return sure;
}

/* What is asked for is where the key was found; where it is not, nobody asks by the aim. */
static void an_aim_is_right_where_leaves_were_filled_in_order(void **state)
{
    unsigned all, sure = sure_ways(1, &all);

    (void)state;
    assert_true(all > 0);
    assert_int_equal(sure, all);
    sure = sure_ways(1777, &all);
    assert_true(all > 0);
    assert_int_equal(sure, 0);
}

/* Of an entry with many lines an aim would ask for the first ones only: none is given, however sure the way is. */
static void nobody_aims_at_large_entries(void **state)
{
    struct caret__aims many = {.entries = 9, .first = 450, .last = 50, .right = CARET__AIM_MOST}, few = many;

    (void)state;
    few.entries = 4;
    assert_int_not_equal(caret__aim_at(&many, 0x01010101, 0x01010103, 0x01010109).entry, 0);
    assert_int_equal(caret__aim_at(&few, 0x01010101, 0x01010103, 0x01010109).entry, 0);
}

/* Of all ways, as if everything had moved since. */
static void guess_anything(struct store *s)
{
    for (unsigned i = 0; i < ways.used; i++)
        for (unsigned k = 0; k < CARET__WAY_MOST; k++)
            ways.way[i].group[k / CARET__BELOW].guess[k % CARET__BELOW] = caret__rand_below(&s->rng, 40);
}

static void a_guess_that_is_wrong_leads_nowhere(void **state)
{
    (void)state;
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        struct store s;
        uint8_t key[CARET__KEY_MAX];
        begin(&s, is_shared, 65);
        for (unsigned i = 0; i < 6000; i++) {
            if (i % 50 == 0)
                guess_anything(&s);
            find(&s, key, some_key(&s, key));
        }
        assert_true(ways.used > 0);
        caret__ways_destroy(&ways);
        store_close(&s);
    }
}

/* Ways of pages that are no more are used again: a tree that moves to other pages each time takes no more of them. */
static void ways_that_do_not_hold_are_used_again(void **state)
{
    struct store s;
    uint8_t key[CARET__KEY_MAX];
    unsigned led = 0, slots = 0;

    (void)state;
    begin(&s, true, 66);
    for (unsigned i = 0; i < 40000; i++) {
        if (i % 2000 == 0) {
            store_freeze(&s);
            store_change(&s, 1500, 200);
            led = 0;
        }
        led += find(&s, key, some_key(&s, key));
        assert_true(ways.used <= ways.most);
    }
    assert_true(led > 700);
    for (unsigned i = 0; i < 2 * ways.most; i++) {
        const struct caret__way_slot *slot = &ways.slot[i];
        if (slot->way == NULL)
            continue;
        slots++;
        assert_ptr_equal(slot->way->slot, slot); /* no other slot has it */
        assert_true(slot->way->at.pgno == 0 || slot->way->at.pgno == slot->pgno);
    }
    assert_int_equal(slots, ways.used); /* and none is lost */
    caret__ways_destroy(&ways);
    store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descent_by_ways_finds_what_one_from_the_root_finds),
        cmocka_unit_test(a_descent_to_walk_from_knows_the_parent),
        cmocka_unit_test(several_at_once_find_what_one_from_the_root_finds),
        cmocka_unit_test(keys_that_zeros_tell_apart_are_found_at_once),
        cmocka_unit_test(a_child_at_an_end_has_nothing_in_common),
        cmocka_unit_test(most_descents_begin_there),
        cmocka_unit_test(pages_that_change_all_the_time_are_not_copied),
        cmocka_unit_test(ways_are_of_one_store),
        cmocka_unit_test(an_aim_is_right_where_leaves_were_filled_in_order),
        cmocka_unit_test(nobody_aims_at_large_entries),
        cmocka_unit_test(a_guess_that_is_wrong_leads_nowhere),
        cmocka_unit_test(ways_that_do_not_hold_are_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
