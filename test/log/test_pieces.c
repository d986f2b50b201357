/* Long values of a transaction where the free pages of the file lie in many small pieces. */
#include "shm/layout.h"
#include "support/database.h"

/* One transaction: values of five pages each. */
static void put_long(caret_db *db, int64_t from, int64_t to)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (int64_t i = from; i < to; i++) {
        node_of(&n, i);
        OK(caret_set(s, &n.node, text, text_of(i, 5 * CARET__PAGE_SIZE, text)));
    }
    OK(caret_commit(s));
    caret_session_close(s);
}

/* A reservation has half a group of pages at most.  What takes more than one, and finds small holes first, is there. */
static void long_values_do_not_all_go_into_small_holes(void **state)
{
    const int64_t holes = 100, many = CARET__GROUP_PAGES / 2 * 5 / 4 / 5;
    caret_session *s;
    caret_node_buf n;

    (void)state;
    need_room(5 * (many + holes) * CARET__PAGE_SIZE / 1024 / 1024 * 2 + 20);
    caret_db *db = open_db();
    put_long(db, 0, holes);
    OK(caret_session_open(db, &s));
    for (int64_t i = 0; i < holes; i += 2) {
        node_of(&n, i);
        OK(caret_delete(s, &n.node));
    }
    caret_session_close(s);
    OK(caret_checkpoint(db));
    OK(caret_checkpoint(db));
    put_long(db, 1000, 1000 + many);
    check(db);
    assert_int_equal(count(db, 1000, 5 * CARET__PAGE_SIZE), many);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(long_values_do_not_all_go_into_small_holes),
    };
    return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
