/* Whatever is wrong with a tree, caret__tree_check() says so, and where; and nothing of one that is right. */
#include "support/store.h"

static struct store s;

static int set_up(void **state)
{
    static uint8_t val[LONG_VALUE];

    (void)state;
    store_shared(&s, 71);
    store_fill(&s, "c", 5, 0, 600, 20);
    store_set(&s, (const uint8_t *)"c00300/long", 11, val, CARET__PAGE_SIZE + 3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_close(&s);
    return 0;
}

static struct caret__page *writable(uint32_t pgno)
{
    return (struct caret__page *)(uintptr_t)store_page(&s, pgno);
}

static uint32_t leaf_of(const char *key)
{
    struct caret__view v = store_view(&s);
    struct caret__at at;

    assert_int_equal(caret__seek(&v, (const uint8_t *)key, strlen(key), &at), CARET_OK);
    return at.pgno;
}

/* It finds something, and names that page and what is wrong. */
static void finds(uint32_t pgno, const char *what)
{
    char report[4000] = "", page[32];
    uint64_t *seen = calloc(CARET__BITMAP_WORDS(s.pg->ts->npages), 8);

    assert_true(caret__tree_check(s.pg, seen, report, sizeof report) > 0);
    free(seen);
    snprintf(page, sizeof page, "page %u:", pgno);
    if (strstr(report, what) == NULL || strstr(report, page) == NULL)
        fail_msg("not \"%s %s\", but: %s", page, what, report);
}

static void a_good_tree_has_no_findings(void **state)
{
    char report[400] = "";

    (void)state;
    assert_int_equal(caret__tree_check(s.pg, NULL, report, sizeof report), 0);
    assert_string_equal(report, "");
    store_check(&s);
}

static void children_are_compared_with_the_store(void **state)
{
    (void)state;
    uint32_t root = store_root(&s);
    struct caret__page *p = writable(root);
    uint32_t first = caret__page_child(p, 0), second = caret__page_child(p, 1);
    caret__page_set_child(p, 0, s.pg->ts->npages + 1);
    finds(s.pg->ts->npages + 1, "page number out of range");
    caret__page_set_child(p, 0, second);
    finds(second, "reached twice");
    caret__page_set_child(p, 0, first);
    uint64_t word = atomic_load(&s.pg->ptab[first].word);
    atomic_store(&s.pg->ptab[first].word, word | CARET__PTE_OBSOLETE);
    finds(first, "in the tree, but marked obsolete");
    atomic_store(&s.pg->ptab[first].word, word);
    a_good_tree_has_no_findings(state);
}

static void keys_lie_in_the_range_of_their_page(void **state)
{
    (void)state;
    for (unsigned i = 1; i < s.model.n - 1; i++) /* room for others */
        store_delete(&s, s.model.p[i].key, s.model.p[i].klen);
    uint32_t left = leaf_of("c00000"), right = leaf_of("c00599");
    uint64_t at_left = atomic_load(&s.pg->ptab[left].word);
    struct caret__page *p = writable(left), *q = writable(right);
    assert_true(left != right);
    assert_true(caret__page_make_room(p, (const uint8_t *)"zzz", 3, 1));
    assert_true(caret__page_insert(p, caret__page_count(p), (const uint8_t *)"zzz", 3, "v", 1, 0, NULL));
    finds(left, "last key lies after the range");
    caret__page_remove(p, caret__page_count(p) - 1u, caret__page_count(p), NULL);
    assert_true(caret__page_make_room(q, (const uint8_t *)"aaa", 3, 1));
    assert_true(caret__page_insert(q, 0, (const uint8_t *)"aaa", 3, "v", 1, 0, NULL));
    finds(right, "first key lies before the range");
    caret__page_remove(q, 0, 1, NULL);
    assert_true(atomic_load(&s.pg->ptab[left].word) == at_left);
    a_good_tree_has_no_findings(state);
}

static void levels_go_down_by_one(void **state)
{
    (void)state;
    s.pg->ts->depth++;
    finds(store_root(&s), "level");
    s.pg->ts->depth = CARET__MAX_DEPTH + 1;
    char report[400] = "";
    assert_int_equal(caret__tree_check(s.pg, NULL, report, sizeof report), 1);
    assert_non_null(strstr(report, "depth"));
    s.pg->ts->depth = 0;
    assert_int_equal(caret__tree_check(s.pg, NULL, report, sizeof report), 1);
}

static void a_page_in_the_file_must_have_its_checksum(void **state)
{
    (void)state;
    uint32_t pgno = leaf_of("c00000");
    uint64_t word = atomic_load(&s.pg->ptab[pgno].word);
    /* No slot: the file has it, where nothing was written. */
    atomic_store(&s.pg->ptab[pgno].word, word & UINT32_MAX);
    finds(pgno, "");
    union {
        struct caret__page page;
        uint8_t bytes[CARET__PAGE_SIZE];
    } copy;
    atomic_store(&s.pg->ptab[pgno].word, word);
    memcpy(&copy, store_page(&s, pgno), CARET__PAGE_SIZE);
    copy.page.crc = 4711;
    assert_int_equal(
        pwrite(caret__fd(&s.f->e.data_fd), &copy, CARET__PAGE_SIZE, (off_t)pgno * CARET__PAGE_SIZE),
        CARET__PAGE_SIZE);
    atomic_store(&s.pg->ptab[pgno].word, word & UINT32_MAX);
    finds(pgno, "its checksum does not fit its contents");
    assert_false(caret__file_page_ok(s.pg, pgno));
    atomic_store(&s.pg->ptab[pgno].word, word);
    a_good_tree_has_no_findings(state);
}

static void a_long_value_is_compared_with_its_reference(void **state)
{
    uint32_t ref[3], changed[3];

    (void)state;
    struct caret__view v = store_view(&s);
    struct caret__at at;
    assert_int_equal(caret__seek(&v, (const uint8_t *)"c00300/long", 11, &at), CARET_OK);
    struct caret__entry e = caret__page_entry(at.page, at.pos);
    uint8_t *place = (uint8_t *)(uintptr_t)e.val;
    memcpy(ref, place, sizeof ref);
    memcpy(changed, ref, sizeof ref);
    changed[2] ^= 1;
    memcpy(place, changed, sizeof ref);
    finds(ref[0], "is damaged");
    changed[2] = ref[2];
    changed[0] = at.pgno; /* another page of the tree */
    memcpy(place, changed, sizeof ref);
    finds(at.pgno, "reached twice");
    changed[0] = s.pg->ts->npages - 1;
    memcpy(place, changed, sizeof ref);
    finds(s.pg->ts->npages - 1, "lies outside of the file");
    memcpy(place, ref, sizeof ref);
    a_good_tree_has_no_findings(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_tree_has_no_findings),
        TEST(children_are_compared_with_the_store),
        TEST(keys_lie_in_the_range_of_their_page),
        TEST(levels_go_down_by_one),
        TEST(a_page_in_the_file_must_have_its_checksum),
        TEST(a_long_value_is_compared_with_its_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
