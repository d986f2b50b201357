/* Numbers of the protocol: what is one, and how it is written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/number.h"

static void integers_are_read_strictly(void **state)
{
    static const char *const good[] = {"0", "1", "-1", "9223372036854775807", "-9223372036854775808"};
    static const char *const bad[] = {"",
                                      "-",
                                      "-0",
                                      "00",
                                      "01",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "9223372036854775808",
                                      "1.0",
                                      "0x1",
                                      "1e3",
                                      "-01",
                                      "--1",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      "184467440737095516160"};
    char out[CARET_CODEC__I64_ROOM];
    int64_t v;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(caret_codec__parse_i64(good[i], strlen(good[i]), &v));
        assert_int_equal(caret_codec__print_i64(v, out), strlen(good[i]));
        assert_memory_equal(out, good[i], strlen(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (caret_codec__parse_i64(bad[i], strlen(bad[i]), &v))
            fail_msg("\"%s\" was read as %ld", bad[i], (long)v);
    assert_false(caret_codec__parse_i64("1\0", 2, &v));
}

static void halves_of_ids_have_64_bits(void **state)
{
    char out[CARET_CODEC__I64_ROOM];
    uint64_t v;

    (void)state;
    assert_true(caret_codec__parse_u64("18446744073709551615", 20, &v));
    assert_true(v == UINT64_MAX);
    assert_int_equal(caret_codec__print_u64(v, out), 20);
    assert_memory_equal(out, "18446744073709551615", 20);
    assert_true(caret_codec__parse_u64("007", 3, &v) && v == 7);
    assert_false(caret_codec__parse_u64("18446744073709551616", 20, &v));
    assert_false(caret_codec__parse_u64("-1", 2, &v));
    assert_false(caret_codec__parse_u64("", 0, &v));
    assert_false(caret_codec__parse_u64("1x", 2, &v));
    assert_false(caret_codec__parse_u64("1\0", 2, &v));
}

static void scores_are_read_as_strtod_does(void **state)
{
    static const char *const bad[] = {"",       " 1",     "1 ", "nan", "-nan", "1e999",
                                      "-1e999", "1e-999", "x",  "1,5", "--1",  "1e"};
    char zeros[2000];
    double v;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (caret_codec__parse_double(bad[i], strlen(bad[i]), &v))
            fail_msg("\"%s\" was read as %g", bad[i], v);
    assert_true(caret_codec__parse_double("+inf", 4, &v) && isinf(v));
    assert_true(caret_codec__parse_double("0x1p-3", 6, &v) && v == 0.125);
    assert_true(caret_codec__parse_double("4.9e-324", 8, &v) && v > 0); /* ERANGE, but not 0 */
    memset(zeros, '0', sizeof zeros);
    zeros[sizeof zeros - 1] = '7';
    assert_true(caret_codec__parse_double(zeros, sizeof zeros, &v) && v == 7);
    assert_false(caret_codec__parse_double("1\0", 2, &v));
}

static void check_prints(double value, const char *full, const char *shortest)
{
    char out[CARET_CODEC__DOUBLE_ROOM];

    assert_int_equal(caret_codec__print_double(value, out), strlen(full));
    assert_memory_equal(out, full, strlen(full));
    assert_int_equal(caret_codec__print_shortest(value, out), strlen(shortest));
    assert_memory_equal(out, shortest, strlen(shortest));
}

static void scores_are_printed_with_17_digits_or_as_few_as_do(void **state)
{
    (void)state;
    check_prints(0.1, "0.10000000000000001", "0.1");
    check_prints(3, "3", "3");
    check_prints(-0.0, "-0", "-0");
    check_prints(99999999999999984, "99999999999999984", "99999999999999984");
    check_prints(1e17, "1e+17", "1e+17");
    check_prints(1.0 / 3, "0.33333333333333331", "0.3333333333333333");
    check_prints(INFINITY, "inf", "inf");
    check_prints(-INFINITY, "-inf", "-inf");
    check_prints(-1.7976931348623157e308, "-1.7976931348623157e+308", "-1.7976931348623157e+308");
}

static void shortest_texts_read_back_the_same(void **state)
{
    (void)state;
    srandom(16);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)random() << 40 ^ (uint64_t)random() << 20 ^ (uint64_t)random();
        char out[CARET_CODEC__DOUBLE_ROOM];
        double v, again;
        memcpy(&v, &bits, sizeof v);
        if (isnan(v))
            continue;
        assert_true(caret_codec__parse_double(out, caret_codec__print_shortest(v, out), &again));
        assert_true(v == again);
    }
}

static void sums_are_printed_for_people(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"3.0", "3"},
                 {"-0", "0"},
                 {"10.50", "10.5"},
                 {"1e20", "100000000000000000000"},
                 {"5.0e3", "5000"},
                 {"-0.25", "-0.25"},
                 {"0.00000000000000001", "0.00000000000000001"}};
    char out[CARET_CODEC__HUMAN_ROOM];
    long double v;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(caret_codec__parse_long_double(cases[i].in, strlen(cases[i].in), &v));
        size_t n = caret_codec__print_human(v, out);
        assert_int_equal(n, strlen(cases[i].out));
        assert_memory_equal(out, cases[i].out, n);
    }
    assert_true(caret_codec__parse_long_double("1.1897314953572317e4932", 23, &v));
    assert_in_range(caret_codec__print_human(v, out), 4933, CARET_CODEC__HUMAN_ROOM - 1);
    assert_false(caret_codec__parse_long_double("", 0, &v));
    assert_false(caret_codec__parse_long_double("nan", 3, &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_strictly),
        cmocka_unit_test(halves_of_ids_have_64_bits),
        cmocka_unit_test(scores_are_read_as_strtod_does),
        cmocka_unit_test(scores_are_printed_with_17_digits_or_as_few_as_do),
        cmocka_unit_test(shortest_texts_read_back_the_same),
        cmocka_unit_test(sums_are_printed_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
