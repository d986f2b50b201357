/* Bits and fields against a bit at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/bits.h"

static bool bit_at(const uint8_t *bytes, uint64_t i)
{
    return bytes[i / 8] >> (7 - i % 8) & 1;
}

static void random_bytes(uint8_t *bytes, size_t n, unsigned density)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(density == 0 ? 0 : density == 1 ? 255 : random());
}

static void counts_and_searches_agree_with_a_bit_at_a_time(void **state)
{
    uint8_t bytes[60];

    (void)state;
    srandom(16);
    for (int round = 0; round < 30000; round++) {
        uint64_t from = (uint64_t)random() % 481, to = (uint64_t)random() % 481, n = 0;
        int64_t first[2] = {-1, -1};
        random_bytes(bytes, sizeof bytes, (unsigned)round % 3);
        bytes[random() % 60] ^= (uint8_t)(1 << random() % 8);
        for (uint64_t i = from; i < to; i++) {
            n += bit_at(bytes, i);
            if (first[bit_at(bytes, i)] < 0)
                first[bit_at(bytes, i)] = (int64_t)i;
        }
        assert_int_equal(caret_codec__bits_count(bytes, from, to), n);
        assert_int_equal(caret_codec__bits_find(bytes, from, to, false), first[0]);
        assert_int_equal(caret_codec__bits_find(bytes, from, to, true), first[1]);
    }
}

static uint8_t combined(enum caret_codec__bits_operation operation, uint8_t a, uint8_t b)
{
    return operation == CARET_CODEC__AND ? a & b : operation == CARET_CODEC__OR ? a | b : a ^ b;
}

static void strings_of_different_lengths_are_combined_with_zeros(void **state)
{
    static uint8_t a[3000], b[2000], c[500], out[3000];
    const struct caret_codec__bytes strings[] = {{b, sizeof b}, {a, sizeof a}, {c, sizeof c}, {NULL, 0}};

    (void)state;
    random_bytes(a, sizeof a, 2);
    random_bytes(b, sizeof b, 2);
    random_bytes(c, sizeof c, 2);
    for (int operation = CARET_CODEC__AND; operation <= CARET_CODEC__XOR; operation++)
        for (size_t n = 2; n <= 4; n++) {
            caret_codec__bits_combine(operation, strings, n, out, sizeof out);
            for (size_t i = 0; i < sizeof out; i++) {
                uint8_t v = combined(operation, i < sizeof b ? b[i] : 0, a[i]);
                v = n > 2 ? combined(operation, v, i < sizeof c ? c[i] : 0) : v;
                v = n > 3 ? combined(operation, v, 0) : v;
                assert_int_equal(out[i], v);
            }
        }
    memcpy(out, a, sizeof out);
    caret_codec__bits_combine(CARET_CODEC__NOT, &strings[1], 1, a, sizeof a); /* in its place */
    for (size_t i = 0; i < sizeof a; i++)
        assert_int_equal(a[i], out[i] ^ 0xff);
}

static void fields_are_parsed(void **state)
{
    static const char *const bad[] = {"", "u", "u0", "u64", "i65", "i0", "x8", "u-1", "u08", "U8", "i8 "};
    struct caret_codec__field field;

    (void)state;
    assert_true(caret_codec__field_parse("i64", 3, &field) && field.is_signed && field.width == 64);
    assert_true(caret_codec__field_parse("u63", 3, &field) && !field.is_signed && field.width == 63);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (caret_codec__field_parse(bad[i], strlen(bad[i]), &field))
            fail_msg("%s was accepted", bad[i]);
}

static void fields_are_what_was_put_and_touch_nothing_else(void **state)
{
    uint8_t bytes[20], before[20];

    (void)state;
    for (int round = 0; round < 30000; round++) {
        struct caret_codec__field field = {random() % 2, 1 + (unsigned)random() % 63};
        uint64_t at = (uint64_t)random() % (160 - field.width);
        int64_t value = (int64_t)((uint64_t)random() << 33 ^ (uint64_t)random());
        if (field.is_signed)
            value = -value;
        random_bytes(bytes, sizeof bytes, 2);
        memcpy(before, bytes, sizeof bytes);
        caret_codec__field_put(bytes, at, field, value);
        for (uint64_t i = 0; i < 160; i++) {
            bool inside = i >= at && i < at + field.width;
            bool expected = inside ? (uint64_t)value >> (at + field.width - 1 - i) & 1 : bit_at(before, i);
            assert_int_equal(bit_at(bytes, i), expected);
        }
        int64_t got = caret_codec__field_get(bytes, sizeof bytes, at, field);
        assert_int_equal((uint64_t)(got ^ value) << (64 - field.width), 0);
        assert_true(!field.is_signed || got >> (field.width - 1) == 0 || got >> (field.width - 1) == -1);
        assert_true(field.is_signed || (uint64_t)got >> field.width == 0);
    }
    assert_int_equal(
        caret_codec__field_get((const uint8_t *)"\xff", 1, 4, (struct caret_codec__field){false, 8}), 0xf0);
    assert_int_equal(caret_codec__field_get(NULL, 0, 1000, (struct caret_codec__field){true, 64}), 0);
}

static void sums_wrap_saturate_or_fail(void **state)
{
    static const struct {
        struct caret_codec__field field;
        int64_t value, increment, wrapped, saturated;
        bool fits;
    } cases[] = {
        {{false, 8}, 255, 1, 0, 255, false},
        {{false, 8}, 0, -1, 255, 0, false},
        {{false, 8}, 100, 55, 155, 155, true},
        {{false, 8}, -1, 0, 255, 255, false},
        {{false, 63}, INT64_MAX, INT64_MAX, INT64_MAX - 1, INT64_MAX, false},
        {{false, 63}, 0, INT64_MIN, 0, 0, false},
        {{true, 8}, 127, 1, -128, 127, false},
        {{true, 8}, -128, -1, 127, -128, false},
        {{true, 8}, 200, 0, -56, 127, false},
        {{true, 8}, -200, 0, 56, -128, false},
        {{true, 64}, INT64_MAX, 1, INT64_MIN, INT64_MAX, false},
        {{true, 64}, INT64_MIN, -1, INT64_MAX, INT64_MIN, false},
        {{true, 64}, -1, INT64_MIN, INT64_MAX, INT64_MIN, false},
        {{true, 64}, INT64_MIN, INT64_MAX, -1, -1, true},
        {{true, 1}, 0, 1, -1, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t sum = 77;
        assert_true(caret_codec__field_add(cases[i].field, cases[i].value, cases[i].increment,
                                           CARET_CODEC__WRAP, &sum));
        assert_int_equal(sum, cases[i].wrapped);
        assert_true(caret_codec__field_add(cases[i].field, cases[i].value, cases[i].increment,
                                           CARET_CODEC__SAT, &sum));
        assert_int_equal(sum, cases[i].saturated);
        sum = 77;
        assert_int_equal(caret_codec__field_add(cases[i].field, cases[i].value, cases[i].increment,
                                                CARET_CODEC__FAIL, &sum),
                         cases[i].fits);
        assert_int_equal(sum, cases[i].fits ? cases[i].wrapped : 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_searches_agree_with_a_bit_at_a_time),
        cmocka_unit_test(strings_of_different_lengths_are_combined_with_zeros),
        cmocka_unit_test(fields_are_parsed),
        cmocka_unit_test(fields_are_what_was_put_and_touch_nothing_else),
        cmocka_unit_test(sums_wrap_saturate_or_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
