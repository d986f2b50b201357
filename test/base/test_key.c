#include "support.h"

#include "base/bytes.h"
#include "base/key.h"
#include "base/number.h"
#include "caret.h"

/* ---- M collation, said without any encoding: numbers as aligned digit strings */

struct aligned {
    int sign;
    char digits[128]; /* 64 before the point, 64 after */
};

static struct aligned align_number(const char *s, size_t n)
{
    struct aligned a = {.sign = 1};
    size_t whole;

    memset(a.digits, '0', sizeof a.digits);
    if (s[0] == '-') {
        a.sign = -1;
        s++;
        n--;
    }
    for (whole = 0; whole < n && s[whole] != '.'; whole++)
        ;
    memcpy(a.digits + 64 - whole, s, whole);
    if (whole < n)
        memcpy(a.digits + 64, s + whole + 1, n - whole - 1);
    return a;
}

static int compare_numbers(const char *a, size_t an, const char *b, size_t bn)
{
    struct aligned x = align_number(a, an), y = align_number(b, bn);

    if (x.sign != y.sign)
        return x.sign - y.sign;
    return x.sign * memcmp(x.digits, y.digits, sizeof x.digits);
}

static int class_of(const char *s, size_t n)
{
    return n == 0 ? 0 : caret__num_canonical(s, n) ? 1 : 2;
}

static int collate(const char *a, size_t an, const char *b, size_t bn)
{
    int c = class_of(a, an) - class_of(b, bn);

    if (c == 0 && class_of(a, an) == 1)
        return compare_numbers(a, an, b, bn);
    if (c == 0)
        c = memcmp(a, b, an < bn ? an : bn);
    return c != 0 ? c : (an > bn) - (an < bn);
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static size_t put(uint8_t *dst, const char *s, size_t n)
{
    size_t len = caret__sub_put(dst, 256, s, n);

    assert_true(len > 0);
    assert_int_equal(len, caret__sub_size(s, n));
    assert_int_equal(len, caret__sub_len(dst, len));
    return len;
}

static void encoded_order_is_collation_order(void **state)
{
    struct caret__rand r = seeded(__func__);
    char a[64], b[64];
    uint8_t x[256], y[256];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        size_t an = rand_sub(&r, a), bn = rand_sub(&r, b), xn, yn;

        if (i % 4 == 0) { /* near relatives */
            memcpy(b, a, an);
            bn = an;
            if (bn > 0)
                b[caret__rand_below(&r, (uint32_t)bn)] ^= (char)(1 << caret__rand_below(&r, 3));
            bn -= bn > 0 && caret__rand_below(&r, 4) == 0;
        }
        xn = put(x, a, an);
        yn = put(y, b, bn);
        if (sign(caret__bytes_compare(x, xn, y, yn)) != sign(collate(a, an, b, bn)))
            fail_msg("'%.*s' and '%.*s' are in the wrong order", (int)an, a, (int)bn, b);
        /* nothing is a prefix of anything else */
        if (xn < yn)
            assert_true(memcmp(x, y, xn) != 0);
    }
}

static void known_subscripts_are_in_order(void **state)
{
    static const char *const order[] = {"",
                                        "-10000000000000000000000000000000000000000000000",
                                        "-1000",
                                        "-999",
                                        "-100",
                                        "-99.5",
                                        "-99",
                                        "-10",
                                        "-9",
                                        "-1.01",
                                        "-1",
                                        "-.99",
                                        "-.1",
                                        "-.09",
                                        "-.0000000000000000000000000000000000000000001",
                                        "0",
                                        ".0000000000000000000000000000000000000000001",
                                        ".01",
                                        ".0101",
                                        ".1",
                                        "1",
                                        "1.000000001",
                                        "1.01",
                                        "2",
                                        "9.99",
                                        "10",
                                        "99",
                                        "99.5",
                                        "100",
                                        "100.01",
                                        "101",
                                        "1000",
                                        "10000",
                                        "123456789012345678",
                                        "1000000000000000000",
                                        "10000000000000000000000000000000000000000000000",
                                        "\1",
                                        "\1\1",
                                        "\2",
                                        " ",
                                        "+1",
                                        "-0",
                                        "01",
                                        "1.0",
                                        "1E3",
                                        "A",
                                        "AA",
                                        "B",
                                        "a",
                                        "\xff",
                                        "\xff\xff"};
    uint8_t x[256], y[256];

    (void)state;
    for (size_t i = 0; i + 1 < sizeof order / sizeof *order; i++) {
        size_t xn = put(x, order[i], strlen(order[i])), yn = put(y, order[i + 1], strlen(order[i + 1]));

        if (caret__bytes_compare(x, xn, y, yn) >= 0)
            fail_msg("'%s' must come before '%s'", order[i], order[i + 1]);
    }
}

static void subscripts_round_trip(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[64], back[256];
    uint8_t enc[256];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        size_t n = rand_sub(&r, text), len, enc_len;
        bool is_number;

        if (i < 256) {
            text[0] = (char)i;
            n = 1;
        }
        enc_len = put(enc, text, n);
        assert_int_equal(caret__sub_get(enc, enc_len, back, sizeof back, &len, &is_number), CARET_OK);
        assert_int_equal(len, n);
        assert_memory_equal(back, text, n);
        assert_int_equal(is_number, caret__num_canonical(text, n));
        assert_true(enc[0] != CARET__SUB_BEYOND);
        if (is_number)
            assert_true(enc_len <= CARET__SUB_NUM_MAX);
    }
}

static void long_strings_with_and_without_escapes_round_trip(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[400], back[400];
    uint8_t enc[1000];

    (void)state;
    for (int i = 0; i < 2000; i++) {
        size_t n = caret__rand_below(&r, sizeof text), len, enc_len;
        bool is_number;

        for (size_t k = 0; k < n; k++)
            text[k] = (char)(i % 3 == 0 ? caret__rand_below(&r, 256) : 'a' + caret__rand_below(&r, 26));
        if (i % 3 == 1 && n > 0)
            text[caret__rand_below(&r, (uint32_t)n)] = (char)caret__rand_below(&r, 3);
        enc_len = caret__sub_put(enc, sizeof enc, text, n);
        assert_int_equal(enc_len, caret__sub_size(text, n));
        assert_int_equal(caret__sub_get(enc, enc_len, back, n, &len, &is_number), CARET_OK);
        assert_int_equal(len, n);
        assert_memory_equal(back, text, n);
        if (n > 1) {
            assert_int_equal(caret__sub_get(enc, enc_len, back, n - 1, &len, &is_number), CARET_E_BUFFER);
            assert_int_equal(len, n);
            assert_int_equal(caret__sub_put(enc, enc_len - 1, text, n), 0);
            assert_int_equal(caret__sub_put(enc, enc_len, text, n), enc_len);
        }
    }
}

static void integers_encode_like_their_text(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[32];
    uint8_t a[64], b[64];
    int64_t v, back, power = 1;

    (void)state;
    for (int i = 0; i < 400000; i++) {
        size_t n, an;

        if (i < 200000)
            v = i - 100000;
        else if (i < 200400) /* around the powers of ten, both signs */
            v = (power + i % 5 - 2) * (i % 2 ? 1 : -1);
        else
            v = i < 200410 ? INT64_MAX - (i - 200400) : i < 200420 ? INT64_MIN + (i - 200410) : rand_int(&r);
        if (i >= 200000 && i < 200400 && i % 20 == 0 && power < INT64_C(1000000000000000000))
            power *= 10;
        n = (size_t)sprintf(text, "%lld", (long long)v);
        an = caret__sub_put_i64(a, sizeof a, v);
        assert_int_equal(an, put(b, text, n));
        assert_memory_equal(a, b, an);
        /* the same into exactly enough room, and one byte less */
        assert_int_equal(caret__sub_put_i64(b, an, v), an);
        assert_memory_equal(a, b, an);
        assert_int_equal(caret__sub_put_i64(b, an - 1, v), 0);
        bool small = v > 0 && v < 100000000;
        assert_int_equal(an >= 3 && caret__sub_get_small(a, an, &back), small);
        if (small)
            assert_true(back == v);
        if (caret__num_canonical(text, n)) {
            assert_true(caret__sub_get_i64(a, an, &back));
            assert_true(back == v);
        } else {
            assert_false(caret__sub_get_i64(a, an, &back));
        }
    }
}

static void no_other_subscript_decodes_as_an_integer(void **state)
{
    static const char *const no[] = {"",
                                     ".5",
                                     "-.5",
                                     "1.5",
                                     "-100.01",
                                     "01",
                                     "x",
                                     "9223372036854775808",
                                     "10000000000000000000",
                                     "123456789012345678000",
                                     "1E3",
                                     "100000000000000000000000000000000000000000000000",
                                     ".0000000000000000000000000000000000000000001"};
    uint8_t enc[128];
    int64_t v = 77;

    (void)state;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        size_t n = put(enc, no[i], strlen(no[i]));

        if (caret__sub_get_i64(enc, n, &v))
            fail_msg("%s is not an int64", no[i]);
    }
    assert_int_equal(v, 77);
}

/* A copy that ends where the bytes end, so that ASan sees one byte more being read. */
static uint8_t *tight(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);

    assert_non_null(copy);
    memcpy(copy, p, n);
    return copy;
}

static void check_decoders(const uint8_t *p, size_t n)
{
    char buf[64];
    size_t len = caret__sub_len(p, n), out, last;
    bool is_number;
    int64_t v;
    int rc = caret__sub_get(p, n, buf, sizeof buf, &out, &is_number), depth;

    assert_true(len <= n);
    assert_true(rc == CARET_OK || rc == CARET_E_BUFFER || rc == CARET_E_CORRUPT);
    if (rc == CARET_OK)
        assert_true(out <= sizeof buf && len > 0);
    if (len > 0 && caret__sub_get_i64(p, n, &v))
        assert_true(is_number);
    if (len >= 3 && n >= 5 && caret__sub_get_small(p, len, &v)) {
        int64_t same;
        assert_true(caret__sub_get_i64(p, len, &same) && same == v);
    }
    depth = caret__key_depth(p, n, &last);
    if (depth >= 0)
        assert_true(last <= n);
    (void)caret__key_valid(p, n);
}

static void decoders_stay_within_their_bytes_on_garbage(void **state)
{
    struct caret__rand r = seeded(__func__);
    uint8_t bytes[64];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t n = caret__rand_below(&r, 40);
        uint8_t *p;

        caret__rand_bytes(&r, bytes, n);
        for (size_t k = 0; k < n; k++) {
            if (caret__rand_below(&r, 2))
                bytes[k] = "\x00\x01\x02\x52\x7f\x80\x81\xae\xfe\xff\x64\x65\x9b\x9a\x31\x20"
                           "ab"[caret__rand_below(&r, 18)];
        }
        p = tight(bytes, n);
        check_decoders(p, n);
        free(p);
    }
}

static void damaged_encodings_never_pass_for_valid_ones(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[64];
    uint8_t key[256], other[256];
    int refused = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        size_t n = caret__key_put_name(key, "oaks", 4), subs = caret__rand_below(&r, 4), at, len;
        uint8_t *p;

        while (subs-- > 0)
            n += put(key + n, text, rand_sub(&r, text));
        if (n > CARET__KEY_MAX)
            continue;
        assert_true(caret__key_valid(key, n));
        at = caret__rand_below(&r, (uint32_t)n);
        key[at] ^= (uint8_t)(1 + caret__rand_below(&r, 255));
        if (caret__rand_below(&r, 3) == 0)
            n = at;
        p = tight(key, n);
        check_decoders(p, n);
        if (!caret__key_valid(p, n)) {
            refused++;
        } else { /* then it is another key that the encoders make */
            size_t from = caret__key_name_len(p, n) + 1, to = caret__key_put_name(other, (char *)p, from - 1);
            bool is_number;

            for (size_t sub; from < n; from += sub) {
                sub = caret__sub_len(p + from, n - from);
                assert_int_equal(caret__sub_get(p + from, sub, text, sizeof text, &len, &is_number),
                                 CARET_OK);
                to += put(other + to, text, len);
            }
            assert_int_equal(to, n);
            assert_memory_equal(other, p, n);
        }
        free(p);
    }
    assert_true(refused > 30000);
}

static void a_number_with_over_18_digits_is_damaged(void **state)
{
    /* ten pairs have 18 digits only when the outer ones have one each */
    static const uint8_t fits[] = {0xA0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 11, 0},
                         over[][12] = {
                             {0xA0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 12, 0},
                             {0xA0, 11, 2, 2, 2, 2, 2, 2, 2, 2, 11, 0},
                             {0xA0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 0},
                         };
    char text[CARET__NUM_MAX];
    size_t len;
    bool is_number;
    int64_t v;

    (void)state;
    assert_int_equal(caret__sub_get(fits, 12, text, sizeof text, &len, &is_number), CARET_OK);
    assert_true(caret__sub_get_i64(fits, 12, &v));
    assert_true(v == INT64_C(1010101010101010110));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(caret__sub_get(over[i], 12, text, sizeof text, &len, &is_number), CARET_E_CORRUPT);
        assert_false(caret__sub_get_i64(over[i], 12, &v));
    }
}

/* As databases of the time have it in which 1E47 was a number. */
static void keys_with_1e47_as_a_number_are_still_read(void **state)
{
    static const char old[][6] = {"a\0\xae\x0b\0", "a\0\x52\xf4\xff"};
    uint8_t last[64], string[64];
    char text[CARET__NUM_MAX];
    size_t len;
    bool is_number;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const uint8_t *sub = (const uint8_t *)old[i] + 2;
        assert_int_equal(caret__sub_len(sub, 3), 3);
        assert_int_equal(caret__sub_get(sub, 3, text, sizeof text, &len, &is_number), CARET_OK);
        assert_false(is_number); /* so it is written in quotes, as that text has to be now */
        assert_int_equal(len, 48 + i);
        assert_memory_equal(text + i, "100000000000000000000000000000000000000000000000", 48);
        assert_true(caret__key_valid((const uint8_t *)old[i], 5));
        put(string, text, len);
        assert_int_equal(string[0], CARET__SUB_STRING);
    }
    put(last, "99999999999999999900000000000000000000000000000", 47);
    assert_true(memcmp(last, old[0] + 2, 3) < 0 && (uint8_t)old[0][2] < CARET__SUB_STRING);
    put(last, "-99999999999999999900000000000000000000000000000", 48);
    assert_true(memcmp(last, old[1] + 2, 3) > 0);
}

static void a_number_stored_as_a_string_is_not_valid(void **state)
{
    static const char aliases[][8] = {"a\0\xfe\061\062\0",
                                      "a\0\xfe\0",
                                      "a\0\x97\x01\x02\0",
                                      "a\0\x97\x02\x01\0",
                                      "a\0\x97\x66\0",
                                      "a\0\xfe\1\3\0",
                                      "1\0",
                                      "",
                                      "a"};
    static const size_t lens[] = {6, 4, 6, 6, 5, 6, 2, 0, 1};

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        assert_false(caret__key_valid((const uint8_t *)aliases[i], lens[i]));
    assert_true(caret__key_valid((const uint8_t *)"a\0\x97\x02\0", 5));
}

static void a_parent_comes_before_its_children_and_they_before_its_end(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[64];
    uint8_t parent[256], child[512], other[512];

    (void)state;
    for (int i = 0; i < 50000; i++) {
        size_t n = caret__key_put_name(parent, "a", 1), subs = caret__rand_below(&r, 3), child_n, other_n;
        int inside;

        while (subs-- > 0)
            n += put(parent + n, text, rand_sub(&r, text));
        memcpy(child, parent, n);
        child_n = n + put(child + n, text, rand_sub(&r, text));
        memcpy(other, parent, n);
        parent[n] = CARET__SUB_BEYOND;
        assert_true(caret__bytes_compare(parent, n, child, child_n) < 0);
        assert_true(caret__bytes_compare(child, child_n, parent, n + 1) < 0);
        /* what lies between them is below the parent */
        other_n = caret__key_put_name(other, "a", 1);
        for (subs = caret__rand_below(&r, 4); subs > 0; subs--)
            other_n += put(other + other_n, text, rand_sub(&r, text));
        inside = caret__bytes_compare(parent, n, other, other_n) <= 0 &&
                 caret__bytes_compare(other, other_n, parent, n + 1) < 0;
        assert_int_equal(inside, other_n >= n && memcmp(other, parent, n) == 0);
    }
}

static void names_are_checked(void **state)
{
    static const char *const yes[] = {"a", "Z", "%", "%a1", "oaks", "A234567890123456789012345678901"};
    static const char *const no[] = {
        "",         "1",   "1a", "a%", "a b", "a_b", "^a", "A2345678901234567890123456789012",
        "\xc3\xa4", "a\n", "@",  "[",  "`",   "{"};

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(caret__name_valid(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(caret__name_valid(no[i], strlen(no[i])));
    assert_false(caret__name_valid("a\0b", 3));
}

static void depth_and_last_offset_follow_the_subscripts(void **state)
{
    uint8_t key[64];
    size_t n = caret__key_put_name(key, "ab", 2), last;

    (void)state;
    assert_int_equal(caret__key_depth(key, n, &last), 0);
    assert_int_equal(last, n);
    assert_int_equal(caret__key_name_len(key, n), 2);
    for (int i = 1; i < 6; i++) {
        size_t at = n;

        n += i % 2 ? caret__sub_put_i64(key + n, sizeof key - n, i * 1000 + 1) : put(key + n, "x", 1);
        assert_int_equal(caret__key_depth(key, n, &last), i);
        assert_int_equal(last, at);
    }
    assert_int_equal(caret__key_depth(key, n - 1, &last), -1);
    assert_int_equal(caret__key_depth(key, 2, &last), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_order_is_collation_order),
        cmocka_unit_test(known_subscripts_are_in_order),
        cmocka_unit_test(subscripts_round_trip),
        cmocka_unit_test(long_strings_with_and_without_escapes_round_trip),
        cmocka_unit_test(integers_encode_like_their_text),
        cmocka_unit_test(no_other_subscript_decodes_as_an_integer),
        cmocka_unit_test(decoders_stay_within_their_bytes_on_garbage),
        cmocka_unit_test(damaged_encodings_never_pass_for_valid_ones),
        cmocka_unit_test(a_number_with_over_18_digits_is_damaged),
        cmocka_unit_test(keys_with_1e47_as_a_number_are_still_read),
        cmocka_unit_test(a_number_stored_as_a_string_is_not_valid),
        cmocka_unit_test(a_parent_comes_before_its_children_and_they_before_its_end),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(depth_and_last_offset_follow_the_subscripts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
