/* Packed values: the way there and back, what is cut off or damaged at any byte, and seals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/pack.h"

static void numbers_and_texts_come_back(void **state)
{
    static const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    static const int64_t integers[] = {0, -1, 1, -64, 64, INT32_MIN, INT64_MIN, INT64_MAX};
    uint8_t bytes[200];
    struct caret_codec__writer w = {bytes, sizeof bytes, 0};
    struct caret_codec__reader r = {bytes, bytes, false};
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        caret_codec__put_u64(&w, numbers[i]);
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        caret_codec__put_i64(&w, integers[i]);
    caret_codec__put_text(&w, "", 0);
    caret_codec__put_text(&w, "a\0b", 3);
    r.end = bytes + w.len;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_true(caret_codec__get_u64(&r) == numbers[i]);
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        assert_true(caret_codec__get_i64(&r) == integers[i]);
    caret_codec__get_text(&r, &len);
    assert_int_equal(len, 0);
    assert_false(caret_codec__read_all(&r));
    assert_memory_equal(caret_codec__get_text(&r, &len), "a\0b", 3);
    assert_int_equal(len, 3);
    assert_true(caret_codec__read_all(&r));
    assert_int_equal(caret_codec__get_u64(&r), 0);
    assert_true(r.bad);
}

static void a_writer_without_room_measures(void **state)
{
    struct caret_codec__writer w = {NULL, 0, 0};
    uint8_t bytes[4] = {1, 2, 3, 4};

    (void)state;
    caret_codec__put_text(&w, "0123456789", 10);
    assert_int_equal(w.len, 11);
    w = (struct caret_codec__writer){bytes, 3, 0};
    caret_codec__put_text(&w, "abc", 3);
    caret_codec__put_u64(&w, 1);
    assert_int_equal(w.len, 5);
    assert_int_equal(bytes[3], 4);
}

static size_t put_entry(uint8_t *bytes, size_t room)
{
    struct caret_codec__writer w = {bytes, room, 0};

    caret_codec__put_u64(&w, 2);
    caret_codec__put_text(&w, "temperature", 11);
    caret_codec__put_text(&w, "21.5", 4);
    caret_codec__put_text(&w, "", 0);
    caret_codec__put_text(&w, "", 0);
    return w.len;
}

static void entries_are_whole_or_refused(void **state)
{
    uint8_t bytes[100];
    size_t len = put_entry(bytes, sizeof bytes);
    uint64_t n;

    (void)state;
    assert_true(caret_codec__entry_check(bytes, len, &n));
    assert_int_equal(n, 2);
    for (size_t cut = 0; cut < len; cut++)
        assert_false(caret_codec__entry_check(bytes, cut, &n));
    assert_false(caret_codec__entry_check(bytes, len + 1, &n));
    memset(bytes, 0xff, sizeof bytes); /* a number that never ends */
    assert_false(caret_codec__entry_check(bytes, sizeof bytes, &n));
    memcpy(bytes, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\1a", 12); /* 2^64 - 1 pairs in 2 bytes */
    assert_false(caret_codec__entry_check(bytes, 12, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_texts_come_back),
        cmocka_unit_test(a_writer_without_room_measures),
        cmocka_unit_test(entries_are_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
