/* The read set of a transaction: what it has read is one state, or it begins anew; no key comes or goes unseen. */
#include "support/store.h"

#include "tree/read_set.h"

static struct store s;
static struct caret__view v;
static struct caret__reads reads;

static int set_up(void **state)
{
    (void)state;
    store_shared(&s, 31);
    store_fill(&s, "r", 5, 0, 900, 20);
    assert_true(store_leaves(&s) > 4);
    v = store_view(&s);
    memset(&reads, 0, sizeof reads);
    caret__reads_begin(&reads, atomic_load(s.pg->applied));
    v.reads = &reads;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    caret__reads_destroy(&reads);
    store_close(&s);
    return 0;
}

/* As a get does: find the leaf, look, note it. */
static int read_key(const char *key, bool *found)
{
    struct caret__at at;
    int rc = caret__seek(&v, (const uint8_t *)key, strlen(key), &at);

    assert_int_equal(rc, CARET_OK);
    if (found != NULL)
        *found = at.found;
    return caret__reads_note(&v, &at);
}

static void set(const char *key)
{
    store_set(&s, (const uint8_t *)key, strlen(key), "changed", 7);
}

static bool valid(void)
{
    return caret__reads_valid(s.pg, &reads);
}

static void a_leaf_is_noted_once(void **state)
{
    (void)state;
    assert_true(valid());
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(read_key("r00001", NULL), CARET_OK);
    assert_int_equal(reads.count, 1);
    assert_int_equal(read_key("r00899", NULL), CARET_OK);
    assert_int_equal(read_key("r00001", NULL), CARET_OK);
    assert_int_equal(reads.count, 2);
    assert_true(valid());
}

static void every_leaf_of_a_walk_is_noted(void **state)
{
    (void)state;
    store_compare_walk(&s, &v, &s.model);
    assert_int_equal(reads.count, store_leaves(&s)); /* it has grown, more than once, and found all again */
    assert_true(reads.size >= 2 * reads.count - 2 && (reads.size & (reads.size - 1)) == 0);
    assert_true(valid());
    store_compare_walk(&s, &v, &s.model);
    assert_int_equal(reads.count, store_leaves(&s));
    for (unsigned i = 0; i < 900; i += 71) { /* a change of any leaf is seen */
        uint8_t key[16];
        unsigned len = number_key(key, "r", 5, i);
        store_set(&s, key, len, "01234567890123456789", 20);
        assert_false(valid());
        caret__reads_begin(&reads, atomic_load(s.pg->applied));
        assert_true(valid());
        store_compare_walk(&s, &v, &s.model);
    }
}

/* One step, from a place in the middle of a leaf, in either direction. */
static void a_step_notes_its_leaf(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct caret__at at = {0};
        uint8_t key[CARET__KEY_MAX + 1] = "r00450";
        size_t len = 6;
        caret__reads_begin(&reads, atomic_load(s.pg->applied));
        assert_int_equal(way == 0   ? caret__scan_from(&v, &at, key, &len)
                         : way == 1 ? caret__scan_next(&v, &at, key, &len)
                                    : caret__scan_before(&v, &at, key, &len),
                         CARET_OK);
        store_set(&s, key, len, "changed", 7);
        assert_false(valid());
    }
}

static void what_was_read_has_changed(void **state)
{
    (void)state;
    assert_int_equal(read_key("r00001", NULL), CARET_OK);
    set("r00899"); /* elsewhere */
    assert_true(valid());
    set("r00001");
    assert_false(valid());
    assert_int_equal(read_key("r00001", NULL), CARET_RESTART);
}

/* A newer leaf is taken if all that was read before is still so: the read point moves. */
static void the_read_point_moves_while_all_is_unchanged(void **state)
{
    (void)state;
    uint64_t begun = reads.point;
    assert_int_equal(read_key("r00001", NULL), CARET_OK);
    assert_true(reads.point == begun);
    set("r00899");
    assert_int_equal(read_key("r00899", NULL), CARET_OK);
    assert_true(reads.point == atomic_load(s.pg->applied) && reads.point > begun);
    set("r00001");
    set("r00450");
    assert_int_equal(read_key("r00450", NULL), CARET_RESTART); /* r00001 and r00450 were never one state */
}

static void a_leaf_that_is_gone_by_the_time_it_is_noted_is_refused(void **state)
{
    struct caret__at at;

    (void)state;
    set("r00450");
    assert_int_equal(caret__seek(&v, (const uint8_t *)"r00450", 6, &at), CARET_OK);
    set("r00450");
    assert_int_equal(caret__reads_note(&v, &at), CARET_RESTART);
    assert_int_equal(reads.count, 0);
}

/* A key was not there; it comes, or its whole leaf goes to a neighbour: seen, though nothing of it was read. */
static void there_are_no_phantoms(void **state)
{
    bool found;

    (void)state;
    assert_int_equal(read_key("r00450x", &found), CARET_OK);
    assert_false(found);
    set("r00450x");
    assert_false(valid());

    caret__reads_begin(&reads, atomic_load(s.pg->applied));
    assert_int_equal(read_key("r00300x", &found), CARET_OK);
    assert_false(found);
    store_kill(&s, (const uint8_t *)"r003", 4); /* all leaves around */
    assert_false(valid());

    caret__reads_begin(&reads, atomic_load(s.pg->applied));
    assert_int_equal(read_key("r00300x", &found), CARET_OK);
    set("r00300x"); /* in the neighbour that has the range now */
    assert_false(valid());
}

/* Splits, joins and copies change a page's role: what stands in it, or where else a key of its range may be. */
static void any_change_near_a_key_is_seen(void **state)
{
    (void)state;
    uint8_t key[CARET__KEY_MAX];
    for (unsigned round = 0; round < 300; round++) {
        unsigned len = random_key(&s.rng, key);
        char text[CARET__KEY_MAX + 1];
        bool before, after;
        len = len > 4 ? 4 : len;
        memcpy(text, key, len);
        text[len] = 0;
        for (unsigned i = 0; i < len; i++)
            text[i] = text[i] == 0 ? 1 : text[i];
        caret__reads_begin(&reads, atomic_load(s.pg->applied));
        assert_int_equal(read_key(text, &before), CARET_OK);
        if (round % 7 == 0)
            store_freeze(&s);
        for (unsigned i = 0; i < 3; i++)
            store_change(&s, 1500, 3);
        model_find(&s.model, (const uint8_t *)text, strlen(text), &after);
        if (before != after)
            assert_false(valid());
    }
}

static void it_is_empty_when_begun_again(void **state)
{
    (void)state;
    store_compare_walk(&s, &v, &s.model);
    assert_true(reads.count > 0);
    caret__reads_begin(&reads, 77);
    assert_true(reads.count == 0 && reads.point == 77 && valid());
    for (uint32_t i = 0; i < reads.size; i++)
        assert_int_equal(reads.index[i], 0);
    caret__reads_destroy(&reads);
    assert_true(reads.size == 0 && reads.set == NULL && valid());
}

/* As after a transaction that read much: those after it do not pay for its set. */
static void a_large_set_is_given_back(void **state)
{
    (void)state;
    reads.size = 4096;
    reads.set = calloc(reads.size / 2, sizeof *reads.set);
    reads.index = calloc(reads.size, sizeof *reads.index);
    assert_true(reads.set != NULL && reads.index != NULL);
    assert_int_equal(read_key("r00001", NULL), CARET_OK);
    assert_int_equal(reads.size, 4096);
    caret__reads_begin(&reads, atomic_load(s.pg->applied));
    assert_int_equal(reads.size, 0);
    assert_int_equal(read_key("r00001", NULL), CARET_OK);
    assert_int_equal(read_key("r00899", NULL), CARET_OK);
    assert_int_equal(reads.count, 2);
    assert_true(valid());
    caret__reads_begin(&reads, atomic_load(s.pg->applied));
    assert_true(reads.size > 0); /* a usual one is kept */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_leaf_is_noted_once),
        TEST(every_leaf_of_a_walk_is_noted),
        TEST(a_step_notes_its_leaf),
        TEST(what_was_read_has_changed),
        TEST(the_read_point_moves_while_all_is_unchanged),
        TEST(a_leaf_that_is_gone_by_the_time_it_is_noted_is_refused),
        TEST(there_are_no_phantoms),
        TEST(any_change_near_a_key_is_seen),
        TEST(it_is_empty_when_begun_again),
        TEST(a_large_set_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
