/* What takes the room: the counts are those of what was stored, and every page of the file is accounted for. */
#include "support/database.h"

#include <stdbool.h>

#include "page/page.h"

#define GLOBALS 5

static const char *const names[GLOBALS] = {"^a", "^aa", "^b", "^long", "^zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"};

static void fill(caret_db *db)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    for (int g = 0; g < GLOBALS; g++) {
        for (int i = 0; i < 100 * (g + 1); i++) {
            size_t len = strcmp(names[g], "^long") == 0 && i % 10 == 0 ? 10000 + (size_t)i : 20;
            OK(caret_node_var(&n.node, sizeof n, names[g], strlen(names[g])));
            OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
            OK(caret_set(s, &n.node, text, text_of(i, len, text)));
        }
    }
    caret_session_close(s);
}

static void check_counts(const caret_usage *u)
{
    uint64_t nodes = 0;

    assert_int_equal(u->globals, GLOBALS);
    for (int g = 0; g < GLOBALS; g++) {
        const caret_usage_global *is = &u->global[g];
        bool is_long = strcmp(names[g], "^long") == 0;
        assert_string_equal(is->name, names[g]);
        assert_int_equal(is->nodes, 100 * (g + 1));
        assert_int_equal(is->long_values, is_long ? 40 : 0);
        assert_int_equal(is->long_bytes, is_long ? 40 * 10000 + 39 * 40 / 2 * 10 : 0);
        assert_true(is->bytes > (is->nodes - is->long_values) * 20);
        assert_true(is->leaves >= 1 && is->leaves <= u->level[0].pages);
        nodes += is->nodes;
    }
    assert_int_equal(u->level[0].entries, nodes);
    for (unsigned i = 0; i < u->levels; i++) {
        assert_true(u->level[i].used <= u->level[i].size);
        assert_int_equal(u->level[i].size, u->level[i].pages * CARET__PAGE_SIZE);
        if (i > 0)
            assert_int_equal(u->level[i].entries, u->level[i - 1].pages);
    }
    assert_int_equal(u->level[u->levels - 1].pages, 1);
}

static uint64_t pages_of(const caret_usage *u)
{
    uint64_t pages = 0;

    for (unsigned i = 0; i < u->levels; i++)
        pages += u->level[i].pages;
    for (size_t g = 0; g < u->globals; g++)
        pages += u->global[g].long_pages;
    return pages;
}

static void every_node_and_every_page_is_counted(void **state)
{
    caret_usage *u;
    caret_stats st = {.size = sizeof st};

    (void)state;
    caret_db *db = open_db();
    OK(caret_usage_get(db, &u)); /* of nothing */
    assert_int_equal(u->globals, 0);
    assert_int_equal(u->levels, 1);
    caret_usage_free(u);
    fill(db);
    OK(caret_usage_get(db, &u));
    check_counts(u);
    caret_usage_free(u);
    caret_usage_free(NULL);
    OK(caret_close(db));
    caret_options o = {.size = sizeof o, .readonly = 1};
    OK(caret_open(path, &o, &db));
    OK(caret_usage_get(db, &u));
    check_counts(u);
    OK(caret_stat(db, &st));
    uint64_t reserved = 0;
    for (uint32_t p = 0; p < st.pages; p++)
        reserved += caret__pgno_reserved(p);
    assert_int_equal(pages_of(u) + st.free_pages + reserved, st.pages);
    caret_usage_free(u);
    OK(caret_close(db));
    assert_int_equal(caret_usage_get(NULL, &u), CARET_E_INVALID);
    assert_null(u);
}

static void nobody_is_kept_from_writing(void **state)
{
    caret_usage *u;

    (void)state;
    caret_db *db = open_db();
    fill(db);
    pid_t pid = fork();
    if (pid == 0) {
        while (atomic_load(signal_word) == 0)
            put(db, 0, 50, 20);
        OK(caret_close(db));
        _exit(0);
    }
    for (int i = 0; i < 50; i++) {
        OK(caret_usage_get(db, &u));
        assert_in_range(u->globals, GLOBALS, GLOBALS + 1);
        caret_usage_free(u);
    }
    atomic_store(signal_word, 1);
    join(pid);
    check(db);
    OK(caret_close(db));
}

static void damaged_page_is_named(void **state)
{
    caret_usage *u;
    uint8_t page[CARET__PAGE_SIZE];
    unsigned told = 0;

    (void)state;
    caret_db *db = open_db();
    fill(db);
    OK(caret_close(db));
    int fd = open(path, O_RDWR);
    for (int i = (int)CARET__FIRST_PAGE + 2;
         pread(fd, page, sizeof page, i * (off_t)sizeof page) == (ssize_t)sizeof page; i++) {
        page[sizeof page - 1] ^= 1;
        assert_int_equal(pwrite(fd, page, sizeof page, i * (off_t)sizeof page), sizeof page);
        caret_options o = {.size = sizeof o, .readonly = 1};
        OK(caret_open(path, &o, &db));
        int rc = caret_usage_get(db, &u);
        if (rc != CARET_OK) { /* it is one of the tree */
            char where[32];
            assert_int_equal(rc, CARET_E_CORRUPT);
            snprintf(where, sizeof where, "page %d", i);
            assert_non_null(strstr(caret_message(), where));
            assert_null(u);
            told++;
        }
        caret_usage_free(u);
        OK(caret_close(db));
        page[sizeof page - 1] ^= 1;
        assert_int_equal(pwrite(fd, page, sizeof page, i * (off_t)sizeof page), sizeof page);
    }
    close(fd);
    assert_true(told > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_node_and_every_page_is_counted),
        TEST(nobody_is_kept_from_writing),
        TEST(damaged_page_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
