#include "support.h"

#include "base/area.h"

static void fill(uint8_t *area, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        area[i] = (uint8_t)(i * 37 >> 4);
}

static void has(const uint8_t *area, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (area[i] != (uint8_t)(i * 37 >> 4))
            fail_msg("byte %zu of %zu is %u", i, bytes, area[i]);
}

static void an_area_keeps_what_it_had_whatever_it_is_made_of(void **state)
{
    static const size_t sizes[] = {4096,
                                   CARET__AREA_MAPPED - 4096,
                                   CARET__AREA_MAPPED,
                                   2 * CARET__AREA_MAPPED,
                                   CARET__AREA_HUGE,
                                   2 * CARET__AREA_HUGE,
                                   CARET__AREA_MAPPED,
                                   8192,
                                   CARET__AREA_HUGE,
                                   4096};
    uint8_t *area = NULL;
    size_t bytes = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *p = caret__area_resize(area, bytes, sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        has(p, bytes < sizes[i] ? bytes : sizes[i]);
        fill(p, bytes < sizes[i] ? bytes : sizes[i], sizes[i]);
        area = p;
        bytes = sizes[i];
    }
    caret__area_free(area, bytes);
}

static void an_area_that_cannot_grow_is_as_it_was(void **state)
{
    (void)state;
    for (size_t bytes = 4096; bytes <= CARET__AREA_HUGE; bytes *= 32) {
        uint8_t *area = caret__area_resize(NULL, 0, bytes);
        assert_non_null(area);
        fill(area, 0, bytes);
        assert_null(caret__area_resize(area, bytes, SIZE_MAX / 2 & ~(size_t)4095));
        has(area, bytes);
        caret__area_free(area, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_area_keeps_what_it_had_whatever_it_is_made_of),
        cmocka_unit_test(an_area_that_cannot_grow_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
