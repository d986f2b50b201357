/* HyperLogLog: what is added is counted, sparse and dense agree, and damaged values are told and harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/hll.h"

static uint8_t one[CARET_CODEC__HLL_ROOM], two[CARET_CODEC__HLL_ROOM];

static struct caret_codec__hll created(uint8_t *bytes, size_t sparse_max)
{
    struct caret_codec__hll hll = {bytes, 0, sparse_max};

    caret_codec__hll_create(&hll);
    assert_true(caret_codec__hll_is(hll.bytes, hll.len));
    return hll;
}

static uint64_t counted(struct caret_codec__hll *hll)
{
    uint64_t count;
    bool changed;

    assert_true(caret_codec__hll_count(hll, &count, &changed));
    return count;
}

/* Bytes that redis-server 7.0.15 made of PFADD k a b c. */
static void a_value_has_the_bytes_of_redis(void **state)
{
    static const uint8_t expected[] = {
        0x48, 0x59, 0x4c, 0x4c, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x80, 0x60, 0xf3, 0x80, 0x50, 0xb1, 0x84, 0x4b, 0xfb, 0x80, 0x42, 0x5a,
    };
    struct caret_codec__hll hll = created(one, CARET_CODEC__HLL_SPARSE_MAX);

    (void)state;
    assert_int_equal(caret_codec__hll_add(&hll, "a", 1), 1);
    assert_int_equal(caret_codec__hll_add(&hll, "b", 1), 1);
    assert_int_equal(caret_codec__hll_add(&hll, "c", 1), 1);
    assert_int_equal(caret_codec__hll_add(&hll, "a", 1), 0);
    assert_int_equal(hll.len, sizeof expected);
    assert_memory_equal(hll.bytes, expected, sizeof expected);
    assert_int_equal(counted(&hll), 3);
    assert_int_equal(hll.bytes[15], 0); /* kept, and up to date */
}

/* The standard error of 16,384 registers is 0.81 percent; 4 of them. */
static void counts_are_near_the_truth(void **state)
{
    struct caret_codec__hll hll = created(one, CARET_CODEC__HLL_SPARSE_MAX);

    (void)state;
    for (unsigned i = 1; i <= 1000000; i++) {
        assert_true(caret_codec__hll_add(&hll, &i, sizeof i) >= 0);
        if (i == 10 || i == 1000 || i == 30000 || i == 1000000)
            assert_in_range(counted(&hll), i - i * 32 / 1000, i + i * 32 / 1000);
    }
    assert_true(caret_codec__hll_is_dense(hll.bytes));
}

static void sparse_and_dense_have_the_same_registers(void **state)
{
    static uint8_t a[CARET_CODEC__HLL_REGISTERS], b[CARET_CODEC__HLL_REGISTERS];
    struct caret_codec__hll sparse = created(one, CARET_CODEC__HLL_LONGEST), dense = created(two, 0);

    (void)state;
    assert_true(caret_codec__hll_to_dense(&dense));
    for (unsigned i = 0; i < 6000; i++)
        assert_int_equal(caret_codec__hll_add(&sparse, &i, sizeof i),
                         caret_codec__hll_add(&dense, &i, sizeof i));
    assert_false(caret_codec__hll_is_dense(sparse.bytes));
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    assert_true(caret_codec__hll_merge(a, sparse.bytes, sparse.len));
    assert_true(caret_codec__hll_merge(b, dense.bytes, dense.len));
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(counted(&sparse), counted(&dense));
    assert_true(caret_codec__hll_to_dense(&sparse));
    assert_memory_equal(one + CARET_CODEC__HLL_HEADER, two + CARET_CODEC__HLL_HEADER, 12288);
}

static void a_union_counts_each_element_once(void **state)
{
    static uint8_t registers[CARET_CODEC__HLL_REGISTERS];
    struct caret_codec__hll a = created(one, CARET_CODEC__HLL_SPARSE_MAX),
                            b = created(two, CARET_CODEC__HLL_SPARSE_MAX);

    (void)state;
    for (unsigned i = 0; i < 300; i++)
        caret_codec__hll_add(i < 200 ? &a : &b, &i, sizeof i);
    for (unsigned i = 100; i < 200; i++)
        caret_codec__hll_add(&b, &i, sizeof i);
    memset(registers, 0, sizeof registers);
    assert_true(caret_codec__hll_merge(registers, a.bytes, a.len));
    assert_true(caret_codec__hll_merge(registers, b.bytes, b.len));
    assert_in_range(caret_codec__hll_estimate(registers), 297, 303);
    assert_true(caret_codec__hll_raise(&a, registers));
    assert_int_equal(counted(&a), caret_codec__hll_estimate(registers));
}

/* Random runs after a good header: each answer but a write elsewhere is fine; the sanitizers look. */
static void damaged_values_do_no_harm(void **state)
{
    static uint8_t registers[CARET_CODEC__HLL_REGISTERS];
    unsigned damaged = 0;

    (void)state;
    srandom(16);
    for (int round = 0; round < 2000; round++) {
        struct caret_codec__hll hll = created(one, 1 + (size_t)random() % CARET_CODEC__HLL_LONGEST);
        hll.len = CARET_CODEC__HLL_HEADER + (size_t)random() % 300;
        for (size_t i = 8; i < hll.len; i++)
            one[i] = (uint8_t)random();
        for (int i = 0; i < 20; i++)
            damaged += caret_codec__hll_add(&hll, &i, sizeof i) < 0;
        assert_in_range(hll.len, CARET_CODEC__HLL_HEADER, CARET_CODEC__HLL_ROOM);
        damaged += !caret_codec__hll_merge(registers, hll.bytes, hll.len);
        damaged += !caret_codec__hll_to_dense(&hll);
    }
    assert_true(damaged > 0);
    assert_false(caret_codec__hll_is((const uint8_t *)"HYLL", 4));
    assert_false(
        caret_codec__hll_is((const uint8_t *)"HYLL\0\0\0\0\0\0\0\0\0\0\0\0\0", 17)); /* dense, but short */
    assert_false(caret_codec__hll_is((const uint8_t *)"HYLL\2\0\0\0\0\0\0\0\0\0\0\0\0", 17));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_has_the_bytes_of_redis),
        cmocka_unit_test(counts_are_near_the_truth),
        cmocka_unit_test(sparse_and_dense_have_the_same_registers),
        cmocka_unit_test(a_union_counts_each_element_once),
        cmocka_unit_test(damaged_values_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
