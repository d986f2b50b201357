/* Long values of a transaction where the free pages of the file lie in many small pieces. */
#include "log/longvalue.h"
#include "shm/layout.h"
#include "support/database.h"

#define MOST (CARET__GROUP_PAGES / 2) /* pages of a reservation */

/* One transaction: values of so many pages each. */
static void put_long(caret_db *db, int64_t from, int64_t to, size_t pages)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (int64_t i = from; i < to; i++) {
        node_of(&n, i);
        OK(caret_set(s, &n.node, text, text_of(i, pages * CARET__PAGE_SIZE, text)));
    }
    OK(caret_commit(s));
    caret_session_close(s);
}

/* Values of so many pages each, then every other is away: holes for one of them. */
static void make_holes(caret_db *db, int64_t holes, size_t pages)
{
    caret_session *s;
    caret_node_buf n;

    put_long(db, 0, holes, pages);
    OK(caret_session_open(db, &s));
    for (int64_t i = 0; i < holes; i += 2) {
        node_of(&n, i);
        OK(caret_delete(s, &n.node));
    }
    caret_session_close(s);
    OK(caret_checkpoint(db));
    OK(caret_checkpoint(db));
}

static void put_beside_holes(int64_t holes, int64_t many, size_t pages)
{
    caret_db *db = open_db();

    make_holes(db, holes, pages);
    put_long(db, 1000, 1000 + many, pages);
    check(db);
    assert_int_equal(count(db, 1000, pages * CARET__PAGE_SIZE), many);
    OK(caret_close(db));
}

/* A reservation has half a group of pages at most.  What takes more than one, and finds small holes first, is there. */
static void long_values_do_not_all_go_into_small_holes(void **state)
{
    const int64_t holes = 100, many = MOST * 5 / 4 / 5;

    (void)state;
    need_room(5 * (many + holes) * CARET__PAGE_SIZE / 1024 / 1024 * 2 + 20);
    put_beside_holes(holes, many, 5);
}

/* At the end of a reservation there are pages into which the next value does not fit. */
static void long_values_fill_all_reservations_but_their_ends(void **state)
{
    (void)state;
#ifndef CARET_SMALL
    print_message("skipped: takes a gigabyte in this build (the small one has it)\n");
    skip();
#endif
    const size_t pages = MOST / 6 + 1;
    put_beside_holes(30, (int64_t)(CARET__ROOM_ENTRIES * (MOST - pages + 1) / pages), pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(long_values_do_not_all_go_into_small_holes),
        TEST(long_values_fill_all_reservations_but_their_ends),
    };
    return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
