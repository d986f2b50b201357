/* Histograms of times: ranges without gaps, percentiles, doublings, sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/latency.h"

static struct caret_codec__latency one, two;

static void ranges_follow_each_other_and_are_narrow(void **state)
{
    unsigned before = 0;

    (void)state;
    for (uint64_t ns = 1; ns < (uint64_t)1 << 36; ns += 1 + ns / 100) {
        unsigned range = caret_codec__latency_range(ns);
        assert_true(range == before || range == before + 1);
        before = range;
        memset(&one, 0, sizeof one);
        caret_codec__latency_count(&one, ns);
        uint64_t end = caret_codec__latency_percentile(&one, 50);
        assert_true(ns >> 35 != 0 || (end >= ns && end - ns <= ns / 16));
    }
    assert_int_equal(before, CARET_CODEC__LATENCY_RANGES - 1);
    assert_int_equal(caret_codec__latency_range(UINT64_MAX), CARET_CODEC__LATENCY_RANGES - 1);
}

static void percentiles_are_of_the_sum(void **state)
{
    (void)state;
    memset(&one, 0, sizeof one);
    memset(&two, 0, sizeof two);
    assert_int_equal(caret_codec__latency_percentile(&one, 99), 0);
    for (uint64_t i = 1; i <= 1000; i++)
        caret_codec__latency_count(i % 2 ? &one : &two, 1000 * i);
    caret_codec__latency_add(&one, &two);
    assert_int_equal(caret_codec__latency_total(&one), 1000);
    assert_in_range(caret_codec__latency_percentile(&one, 50), 500000, 532000);
    assert_in_range(caret_codec__latency_percentile(&one, 99.9), 999000, 1062000);
    assert_in_range(caret_codec__latency_percentile(&one, 0), 1000, 1063);
    assert_in_range(caret_codec__latency_percentile(&one, 100), 1000000, 1063000);
}

static void doublings_have_the_borders_of_redis(void **state)
{
    static const uint64_t times[] = {10, 1000, 1024, 20000, 30000, 40000, (uint64_t)1 << 35, UINT64_MAX};
    static const struct caret_codec__latency_step expected[] = {
        {1, 2}, {2, 3}, {33, 5}, {66, 6}, {69256347, 8}};
    struct caret_codec__latency_step steps[CARET_CODEC__LATENCY_STEPS];

    (void)state;
    memset(&one, 0, sizeof one);
    assert_int_equal(caret_codec__latency_steps(&one, steps), 0);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        caret_codec__latency_count(&one, times[i]);
    unsigned n = caret_codec__latency_steps(&one, steps);
    assert_int_equal(n, sizeof expected / sizeof expected[0]);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(steps[i].us, expected[i].us);
        assert_int_equal(steps[i].count, expected[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_follow_each_other_and_are_narrow),
        cmocka_unit_test(percentiles_are_of_the_sum),
        cmocka_unit_test(doublings_have_the_borders_of_redis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
