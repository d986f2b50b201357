/*
 * A leaf where another one belongs, as in a damaged file, or as a reader sees it whose file others write over:
 * what is gone through ends.
 */
#include "support/database.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "page/page.h"

#define NODES 300
#define EACH  (CARET__PAGE_SIZE / 32 + 4) /* some 12 or 25 nodes in a leaf */

static _Alignas(64) uint8_t pages[512][CARET__PAGE_SIZE];
static unsigned leaves[512], nleaves; /* in order */

static struct caret__page *page_of(uint8_t *bytes)
{
    return (struct caret__page *)bytes;
}

static int compare(const void *a, const void *b)
{
    uint8_t key[2][CARET__KEY_MAX];
    unsigned len[2] = {caret__page_key(page_of(pages[*(const unsigned *)a]), 0, key[0]),
                       caret__page_key(page_of(pages[*(const unsigned *)b]), 0, key[1])};

    return caret__bytes_compare(key[0], len[0], key[1], len[1]);
}

/* All pages of the file are of its tree, as a single checkpoint has written them. */
static void make(void)
{
    caret_db *db = open_db();

    put(db, 0, NODES, EACH);
    OK(caret_close(db));
    int fd = open(path, O_RDONLY);
    ssize_t n = pread(fd, pages, sizeof pages, 0);
    assert_true(fd >= 0 && n > 0);
    close(fd);
    for (unsigned i = CARET__FIRST_PAGE; i < (size_t)n / CARET__PAGE_SIZE; i++)
        if (caret__page_sane(page_of(pages[i]), i, 0) && caret__page_count(page_of(pages[i])) != 0)
            leaves[nleaves++] = i;
    qsort(leaves, nleaves, sizeof leaves[0], compare);
    assert_true(nleaves > 4);
}

static void write_page(unsigned pgno, const uint8_t *bytes)
{
    int fd = open(path, O_WRONLY);

    assert_int_equal(pwrite(fd, bytes, CARET__PAGE_SIZE, (off_t)pgno * CARET__PAGE_SIZE), CARET__PAGE_SIZE);
    close(fd);
}

static int one_more(void *arg, caret_slice value)
{
    (void)value;
    return ++*(unsigned *)arg > 2 * NODES ? CARET_NONE : CARET_OK;
}

/* How many values are told, as far as these are not twice as many as there are. */
static unsigned told(void)
{
    caret_node_buf n;
    caret_session *s;
    caret_db *db = open_db();
    unsigned values = 0;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    int rc = caret_values_in(s, &n.node, NULL, NULL, 0, one_more, &values);
    assert_true(rc == CARET_OK || rc == CARET_E_CORRUPT);
    OK(caret_rollback(s));
    caret_session_close(s);
    OK(caret_close(db));
    return values;
}

static void what_is_gone_through_ends_though_a_leaf_has_lower_keys(void **state)
{
    _Alignas(64) uint8_t bytes[CARET__PAGE_SIZE];

    (void)state;
    make();
    for (unsigned i = 1; i < nleaves; i++) {
        memcpy(bytes, pages[leaves[0]], sizeof bytes);
        page_of(bytes)->pgno = leaves[i];
        page_of(bytes)->crc = caret__crc32c(0, bytes + 4, sizeof bytes - 4);
        write_page(leaves[i], bytes);
        assert_in_range(told(), 1, NODES);
        write_page(leaves[i], pages[leaves[i]]);
    }
    assert_int_equal(told(), NODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_gone_through_ends_though_a_leaf_has_lower_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
