/* The longest common subsequence against the table that defines it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/lcs.h"

enum { LONGEST = 200 };

static unsigned table[LONGEST + 1][LONGEST + 1];

static void fill(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    for (size_t i = 0; i <= a_len; i++)
        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0)
                table[i][j] = 0;
            else if (a[i - 1] == b[j - 1])
                table[i][j] = table[i - 1][j - 1] + 1;
            else
                table[i][j] = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j] : table[i][j - 1];
        }
}

/* Each byte of the pieces is where the walk through the table by Redis' rule meets it. */
static void check_walk(struct caret_codec__lcs *lcs)
{
    size_t i = lcs->a_len, j = lcs->b_len, total = 0;
    struct caret_codec__piece piece;

    while (caret_codec__lcs_next(lcs, &piece)) {
        while (lcs->a[i - 1] != lcs->b[j - 1]) {
            if (table[i - 1][j] > table[i][j - 1])
                i--;
            else
                j--;
        }
        assert_int_equal(piece.a_at + piece.len, i);
        assert_int_equal(piece.b_at + piece.len, j);
        assert_memory_equal(lcs->a + piece.a_at, lcs->b + piece.b_at, piece.len);
        i = piece.a_at;
        j = piece.b_at;
        assert_true(i == 0 || j == 0 || lcs->a[i - 1] != lcs->b[j - 1]);
        total += piece.len;
    }
    assert_int_equal(total, lcs->length);
}

static void check_pair(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    struct caret_codec__lcs lcs = {a, b, a_len, b_len, 0, malloc(caret_codec__lcs_room(a_len, b_len, false)),
                                   0, 0};

    fill(a, a_len, b, b_len);
    caret_codec__lcs_run(&lcs, false);
    assert_int_equal(lcs.length, table[a_len][b_len]);
    free(lcs.room);
    lcs.room = malloc(caret_codec__lcs_room(a_len, b_len, true));
    caret_codec__lcs_run(&lcs, true);
    assert_int_equal(lcs.length, table[a_len][b_len]);
    check_walk(&lcs);
    free(lcs.room);
}

static void lengths_and_pieces_are_those_of_the_table(void **state)
{
    uint8_t a[LONGEST], b[LONGEST];

    (void)state;
    srandom(16);
    check_pair((const uint8_t *)"ohmytext", 8, (const uint8_t *)"mynewtext", 9);
    check_pair(a, 0, b, 0);
    for (int round = 0; round < 400; round++) {
        size_t a_len = (size_t)random() % LONGEST, b_len = (size_t)random() % LONGEST;
        int letters = 1 + (int)random() % 6;
        for (size_t i = 0; i < LONGEST; i++) {
            a[i] = (uint8_t)(random() % letters);
            b[i] = (uint8_t)(random() % letters);
        }
        check_pair(a, a_len, b, b_len);
    }
}

static void too_large_tables_are_told(void **state)
{
    (void)state;
    assert_true(caret_codec__lcs_room(SIZE_MAX / 2, SIZE_MAX / 2, true) == SIZE_MAX);
    assert_true(caret_codec__lcs_room(SIZE_MAX, 10, true) == SIZE_MAX);
    assert_int_equal(caret_codec__lcs_room(1000, 63, true), 1256 * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_and_pieces_are_those_of_the_table),
        cmocka_unit_test(too_large_tables_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
