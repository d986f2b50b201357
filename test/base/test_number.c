#include "support.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <regex.h>

#include "base/number.h"
#include "caret.h"

static int canonical(const char *s)
{
    return caret__num_canonical(s, strlen(s));
}

static void canonical_numbers_are_exactly_those_of_the_data_model(void **state)
{
    static const char *const yes[] = {"0",
                                      "1",
                                      "-1",
                                      "10",
                                      "-12.5",
                                      ".5",
                                      "-.5",
                                      "7.07",
                                      "123456789012345678",
                                      "-123456789012345678",
                                      "1234567890123456780",
                                      ".123456789012345678",
                                      "12345678901234567.8",
                                      "1000000000000000000",
                                      ".0000000000000000000000000000000000000000001",
                                      "-.0000000000000000000000000000000000000000001",
                                      ".000000000000000000000000000000000000000000123456789012345678",
                                      "10000000000000000000000000000000000000000000000",
                                      "99999999999999999900000000000000000000000000000"};
    static const char *const no[] = {"",
                                     "-",
                                     ".",
                                     "-.",
                                     "-0",
                                     "00",
                                     "01",
                                     "1.0",
                                     "1.",
                                     ".0",
                                     "0.5",
                                     "-0.5",
                                     "+1",
                                     "1E3",
                                     "1e3",
                                     " 1",
                                     "1 ",
                                     "--1",
                                     "1-",
                                     "1.2.3",
                                     "..5",
                                     ".50",
                                     "0x10",
                                     "a",
                                     "inf",
                                     "nan",
                                     "1234567890123456789",
                                     "12345678901234567.89",
                                     ".1234567890123456789",
                                     ".00000000000000000000000000000000000000000001",
                                     "100000000000000000000000000000000000000000000000",
                                     "-100000000000000000000000000000000000000000000000",
                                     "1000000000000000000000000000000000000000000000000",
                                     "100000000000000001000000000000000000000000000000000",
                                     "200000000000000000000000000000000000000000000000",
                                     "110000000000000000000000000000000000000000000000"};

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (!canonical(yes[i]))
            fail_msg("%s is canonical", yes[i]);
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (canonical(no[i]))
            fail_msg("%s is not canonical", no[i]);
    }
    assert_false(caret__num_canonical("1\0", 2));
}

/* The same rule said with a regular expression and by counting. */
static int canonical_by_regex(const regex_t *re, const char *s)
{
    regmatch_t whole;
    const char *p, *point, *first, *last;
    int magnitude;

    if (regexec(re, s, 1, &whole, 0) != 0)
        return 0;
    if (strcmp(s, "0") == 0)
        return 1;
    first = s + strcspn(s, "123456789");
    last = first;
    for (p = first; *p != '\0'; p++) {
        if (*p != '0' && *p != '.')
            last = p;
    }
    point = strchr(s, '.');
    if (last - first + 1 - (point != NULL && point > first && point < last) > 18)
        return 0;
    if (point == NULL)
        point = s + strlen(s);
    /* of the first digit: 10^magnitude */
    magnitude = first < point ? (int)(point - first) - 1 : (int)(point - first);
    return magnitude >= -43 && magnitude < 47;
}

static void canonical_agrees_with_a_regular_expression(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[80];
    regex_t re;
    int found = 0;

    (void)state;
    assert_int_equal(regcomp(&re, "^(0|-?([1-9][0-9]*([.][0-9]*[1-9])?|[.][0-9]*[1-9]))$", REG_EXTENDED), 0);
    for (int i = 0; i < 100000; i++) {
        size_t n;

        if (i % 2)
            n = rand_number(&r, text);
        else
            for (n = 0; n < caret__rand_below(&r, 60); n++)
                text[n] = "0000000123456789.-"[caret__rand_below(&r, 18)];
        if (i % 4 == 1 && n > 0)
            text[caret__rand_below(&r, (uint32_t)n)] = "0159.-+"[caret__rand_below(&r, 7)];
        text[n] = '\0';
        if (caret__num_canonical(text, n) != canonical_by_regex(&re, text))
            fail_msg("%s: %d", text, caret__num_canonical(text, n));
        found += canonical_by_regex(&re, text);
    }
    assert_true(found > 20000);
    regfree(&re);
}

static void integers_format_and_parse_over_all_of_int64(void **state)
{
    struct caret__rand r = seeded(__func__);
    char want[32], have[32];
    int64_t v, back;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        v = i < 2000   ? i - 1000
            : i < 2020 ? INT64_MAX - (i - 2000)
            : i < 2040 ? INT64_MIN + (i - 2020)
                       : rand_int(&r);
        if (i >= 2040 && i < 2060) {
            v = 1;
            for (int k = 2040; k < i && k < 2058; k++)
                v *= 10;
            v -= i % 2;
        }
        sprintf(want, "%lld", (long long)v);
        assert_int_equal(caret__i64_format(v, have), strlen(want));
        assert_memory_equal(have, want, strlen(want));
        assert_true(caret__i64_parse(want, strlen(want), &back));
        assert_true(back == v);
    }
}

static void a_digit_is_added_to_text(void **state)
{
    struct caret__rand r = seeded(__func__);
    char old[32], want[32], have[32];

    (void)state;
    for (int i = 1; i < 100000; i++) {
        int64_t v =
            i < 2000 ? i : (int64_t)(((uint64_t)rand_int(&r) & INT64_MAX) >> caret__rand_below(&r, 60)) | 1;
        size_t n = caret__i64_format(v, old);
        size_t nines = caret__rand_below(&r, (uint32_t)n + 1);
        memset(old + n - nines, '9', nines);
        for (unsigned by = 1; by <= 9 && caret__i64_parse(old, n, &v) && v <= INT64_MAX - 9; by++) {
            size_t as_long = caret__i64_format(v + by, want);
            memset(have, '!', sizeof have);
            assert_int_equal(caret__digits_add(old, n, by, have), as_long == n);
            if (as_long == n)
                assert_memory_equal(have, want, n);
            assert_int_equal(have[n], '!');
        }
    }
}

static void integer_parse_refuses_all_other_texts(void **state)
{
    static const char *const no[] = {"",
                                     "-",
                                     "-0",
                                     "00",
                                     "01",
                                     "-01",
                                     "1.",
                                     "1.0",
                                     "+1",
                                     " 1",
                                     "1 ",
                                     "1E3",
                                     "a",
                                     ".5",
                                     "9223372036854775808",
                                     "-9223372036854775809",
                                     "9999999999999999999",
                                     "10000000000000000000",
                                     "99999999999999999999999"};
    int64_t v = 77;

    (void)state;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(caret__i64_parse(no[i], strlen(no[i]), &v));
    assert_int_equal(v, 77);
}

static const char *double_text(double v)
{
    static char buf[CARET__NUM_MAX + 1];
    size_t n = caret__double_format(v, buf);

    assert_true(n <= CARET__NUM_MAX);
    buf[n] = '\0';
    return buf;
}

static void doubles_print_canonically(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {3.0, "3"},
        {-3.0, "-3"},
        {0.5, ".5"},
        {-0.5, "-.5"},
        {0.1, ".1"},
        {1.0 / 3, ".3333333333333333"},
        {0.1 + 0.2, ".30000000000000004"},
        {3.14159, "3.14159"},
        {1e15, "1000000000000000"},
        {123456.789, "123456.789"},
        {0x1p53, "9007199254740992"},
        {0x1p60, "1152921504606846976"},
        {-0x1p63, "-9223372036854775808"},
        {0x1p63, "9223372036854776000"},
        {1e22, "10000000000000000000000"},
        {1e23, "100000000000000000000000"},
        {1e47, "1E47"},
        {1e46, "10000000000000000000000000000000000000000000000"},
        {1.5e47, "1.5E47"},
        {1e48, "1E48"},
        {1e300, "1E300"},
        {-1.25e300, "-1.25E300"},
        {1e-7, ".0000001"},
        {1e-43, ".0000000000000000000000000000000000000000001"},
        {1e-44, "1E-44"},
        {1.5e-50, "1.5E-50"},
        {5e-324, "5E-324"},
        {1.7976931348623157e308, "1.7976931348623157E308"},
        {2.2250738585072014e-308, "2.2250738585072014E-308"},
        {0x1p-44, ".00000000000005684341886080802"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *want = cases[i].text;

        if (strcmp(double_text(cases[i].v), want) != 0)
            fail_msg("%a became %s, not %s", cases[i].v, double_text(cases[i].v), want);
    }
    assert_int_equal(caret__double_format(NAN, (char[CARET__NUM_MAX]){0}), 0);
    assert_int_equal(caret__double_format(INFINITY, (char[CARET__NUM_MAX]){0}), 0);
    assert_int_equal(caret__double_format(-INFINITY, (char[CARET__NUM_MAX]){0}), 0);
}

/* Is there a text of at most `digits` digits that reads back?  Tries the nearest and both neighbours. */
static int reads_back_with(double v, int digits)
{
    char text[64], *end;
    long long m, exp;

    snprintf(text, sizeof text, "%.*e", digits - 1, v);
    exp = strtoll(strchr(text, 'e') + 1, NULL, 10) - (digits - 1);
    *strchr(text, 'e') = '\0';
    if (text[1] == '.')
        memmove(text + 1, text + 2, strlen(text + 1));
    m = strtoll(text, &end, 10);
    for (int step = -1; step <= 1; step++) {
        snprintf(text, sizeof text, "%llde%lld", m + step, exp);
        if (strtod(text, NULL) == v)
            return 1;
    }
    return 0;
}

static int significant(const char *text)
{
    int n = 0, kept = 0;

    for (; *text != '\0' && *text != 'E'; text++) {
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
            n++;
        if (*text >= '1' && *text <= '9')
            kept = n;
    }
    return kept;
}

static void doubles_read_back_the_same_and_no_shorter_text_does(void **state)
{
    struct caret__rand r = seeded(__func__);

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = caret__rand_next(&r) >> 1;
        double v;
        int digits;

        memcpy(&v, &bits, sizeof v);
        if (i % 4 == 0)
            v = (double)rand_int(&r) / 1000;
        if (i % 4 == 1)
            v = ldexp(1, (int)caret__rand_below(&r, 2098) - 1074);
        if (i % 4 == 2)
            v = (double)(rand_int(&r) >> 10) * pow(10, -(int)caret__rand_below(&r, 50));
        v = fabs(v);
        if (!isfinite(v) || v == 0)
            continue;
        if (strtod(double_text(v), NULL) != v)
            fail_msg("%a became %s", v, double_text(v));
        digits = significant(double_text(v));
        if (digits > 1 && !(v < 0x1p63 && v == floor(v)) && reads_back_with(v, digits - 1))
            fail_msg("%a became %s, but %d digits are enough", v, double_text(v), digits - 1);
        if (v >= 1e-43 && v < 1e47 && significant(double_text(v)) <= 18)
            assert_true(canonical(double_text(v)));
    }
}

static void texts_do_not_depend_on_the_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR"};
    const char *got = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names && got == NULL; i++)
        got = setlocale(LC_ALL, names[i]);
    if (got == NULL) {
        printf("    no locale with a decimal comma is installed\n");
        skip();
    }
    assert_string_equal(double_text(0.1 + 0.2), ".30000000000000004");
    assert_string_equal(double_text(1e-10), ".0000000001");
    assert_string_equal(double_text(1.25e300), "1.25E300");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_numbers_are_exactly_those_of_the_data_model),
        cmocka_unit_test(canonical_agrees_with_a_regular_expression),
        cmocka_unit_test(integers_format_and_parse_over_all_of_int64),
        cmocka_unit_test(a_digit_is_added_to_text),
        cmocka_unit_test(integer_parse_refuses_all_other_texts),
        cmocka_unit_test(doubles_print_canonically),
        cmocka_unit_test(doubles_read_back_the_same_and_no_shorter_text_does),
        cmocka_unit_test(texts_do_not_depend_on_the_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
