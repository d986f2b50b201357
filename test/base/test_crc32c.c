#include "support.h"

#include "base/crc32c.h"

static void known_values(void **state)
{
    char bytes[32];

    (void)state;
    assert_int_equal(caret__crc32c(0, "123456789", 9), 0xE3069283);
    assert_int_equal(caret__crc32c_portable(0, "123456789", 9), 0xE3069283);
    assert_int_equal(caret__crc32c(7, "", 0), 7);
    /* RFC 3720, B.4 */
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(caret__crc32c(0, bytes, sizeof bytes), 0x8A9136AA);
    memset(bytes, 0xFF, sizeof bytes);
    assert_int_equal(caret__crc32c(0, bytes, sizeof bytes), 0x62A8AB43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (char)i;
    assert_int_equal(caret__crc32c(0, bytes, sizeof bytes), 0x46DD794E);
}

/* Bit by bit, straight from the definition. */
static uint32_t by_definition(uint32_t seed, const uint8_t *p, size_t n)
{
    uint32_t c = ~seed;

    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
    }
    return ~c;
}

static void all_forms_agree_for_any_length_and_alignment(void **state)
{
    struct caret__rand r = seeded(__func__);
    static uint8_t bytes[10000];

    (void)state;
    caret__rand_bytes(&r, bytes, sizeof bytes);
    for (size_t i = 0; i < 1500; i++) {
        size_t n = i < 300 ? i : caret__rand_below(&r, 9000), at = caret__rand_below(&r, 100);
        uint32_t seed = (uint32_t)caret__rand_next(&r), want = by_definition(seed, bytes + at, n);

        assert_int_equal(caret__crc32c(seed, bytes + at, n), want);
        assert_int_equal(caret__crc32c_short(seed, bytes + at, n), want);
        if (n % 8 == 0)
            assert_int_equal(caret__crc32c_words(seed, bytes + at, n), want);
        assert_int_equal(caret__crc32c_portable(seed, bytes + at, n), want);
    }
}

static void the_whole_follows_from_the_crcs_of_pieces(void **state)
{
    struct caret__rand r = seeded(__func__);
    static uint8_t bytes[8192];

    (void)state;
    caret__rand_bytes(&r, bytes, sizeof bytes);
    for (int i = 0; i < 2000; i++) {
        size_t n = caret__rand_below(&r, sizeof bytes), cut = caret__rand_below(&r, (uint32_t)n + 1);
        uint32_t seed = i % 2 != 0 ? (uint32_t)caret__rand_next(&r) : 0;
        uint32_t a = caret__crc32c(seed, bytes, cut), b = caret__crc32c(0, bytes + cut, n - cut);

        assert_int_equal(caret__crc32c_join(a, b, n - cut), caret__crc32c(seed, bytes, n));
    }
}

static void pieces_chain_to_the_whole(void **state)
{
    struct caret__rand r = seeded(__func__);
    static uint8_t bytes[8192];

    (void)state;
    caret__rand_bytes(&r, bytes, sizeof bytes);
    for (int i = 0; i < 5000; i++) {
        size_t n = caret__rand_below(&r, sizeof bytes), cut = caret__rand_below(&r, (uint32_t)n + 1);
        uint32_t seed = (uint32_t)caret__rand_next(&r);

        assert_int_equal(caret__crc32c(caret__crc32c(seed, bytes, cut), bytes + cut, n - cut),
                         caret__crc32c(seed, bytes, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(all_forms_agree_for_any_length_and_alignment),
        cmocka_unit_test(the_whole_follows_from_the_crcs_of_pieces),
        cmocka_unit_test(pieces_chain_to_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
