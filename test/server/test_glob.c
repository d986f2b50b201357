/* Patterns: what matches, what odd ones mean, and that no pattern takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/glob.h"

static bool glob(const char *pattern, const char *text, bool fold)
{
    return caret_codec__glob(pattern, strlen(pattern), text, strlen(text), fold);
}

static void patterns_match_as_in_redis(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } cases[] = {
        {"", "", true},
        {"*", "", false},
        {"*", "x", true},
        {"a*", "a", true},
        {"a**", "a", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"*b*d", "abcd", true},
        {"*b*d", "abcde", false},
        {"[a-c]x", "bx", true},
        {"[c-a]x", "bx", true},
        {"[^a-c]", "b", false},
        {"[^a-c]", "d", true},
        {"[abc", "c", true},
        {"[a-]", "]", true},
        {"[a-]b", "]", true},
        {"[]", "x", false},
        {"[^]", "x", true},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"\\", "\\", true},
        {"[\\]]", "]", true},
        {"[\\a-z]", "-", true},
        {"a\\", "a\\", true},
        {"user:*:name", "user:7:name", true},
        {"*a*a*b", "aaaab", true},
        {"h[ae]llo", "hillo", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (glob(cases[i].pattern, cases[i].text, false) != cases[i].match)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
    assert_true(glob("HeL[L-M]O", "hElLo", true));
    assert_false(glob("HeL[L-M]O", "hElLo", false));
    assert_true(caret_codec__glob("a*c", 3, "a\0\0c", 4, false));
}

/* Recursion would need more than the age of the world; a test that hangs is ended by test/watch.c. */
static void many_stars_cost_no_more_than_their_product(void **state)
{
    char pattern[2000], text[20000];

    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof pattern; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[sizeof pattern - 1] = 'b';
    assert_false(caret_codec__glob(pattern, sizeof pattern, text, sizeof text, false));
    text[sizeof text - 1] = 'b';
    assert_true(caret_codec__glob(pattern, sizeof pattern, text, sizeof text, false));
}

static void a_prefix_is_what_every_match_begins_with(void **state)
{
    static const struct {
        const char *pattern, *prefix;
        bool whole;
    } cases[] = {{"user:*", "user:", false}, {"abc", "abc", true}, {"a\\*b?", "a*b", false},
                 {"[a]b", "", false},        {"", "", true},       {"a\\", "a\\", true}};
    char prefix[16];
    bool whole;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = caret_codec__glob_prefix(cases[i].pattern, strlen(cases[i].pattern), prefix, &whole);
        assert_int_equal(n, strlen(cases[i].prefix));
        assert_memory_equal(prefix, cases[i].prefix, n);
        assert_int_equal(whole, cases[i].whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_in_redis),
        cmocka_unit_test(many_stars_cost_no_more_than_their_product),
        cmocka_unit_test(a_prefix_is_what_every_match_begins_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
