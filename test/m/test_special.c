/* Special variables by name, what they tell, and the settings they come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "m/error.h"
#include "m/number.h"
#include "m/settings.h"
#include "m/special.h"

static unsigned level(void *who)
{
    return *(unsigned *)who;
}

static unsigned restarts(void *who)
{
    return *(unsigned *)who + 1;
}

static size_t words(void *who, char *room, size_t cap)
{
    return (size_t)snprintf(room, cap, "front %u", *(unsigned *)who);
}

static const char *value(const char *name)
{
    static char room[CARET_M__SPECIAL_MAX];
    static unsigned who = 41;
    const struct caret_m__asker asker = {&who, level, restarts, words, words};
    const struct caret_m__special *v;
    char why[160];

    assert_int_equal(caret_m__special(name, strlen(name), CARET_M__GET, 0, "f()", &v, why), 0);
    size_t len = caret_m__special_get(v, &asker, room, sizeof room);
    assert_int_equal(len, strlen(room));
    return room;
}

static int use(const char *name, enum caret_m__use how, int subscripts)
{
    const struct caret_m__special *v;
    char why[160] = "";
    int code = caret_m__special(name, strlen(name), how, subscripts, "f()", &v, why);

    assert_true((code != 0) == (why[0] != '\0'));
    assert_true(code != CARET_M__E_INVSVN || v == NULL);
    assert_true(code == CARET_M__E_ISVUNSUPPORTED ? strstr(why, "in f() call") != NULL : true);
    return code;
}

static void every_abbreviation_finds_one_variable(void **state)
{
    size_t n;
    const struct caret_m__special *all = caret_m__specials(&n), *v;

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t len = 1; len <= strlen(all[i].name); len++) {
            char name[20], why[160];
            snprintf(name, sizeof name, "%s", all[i].name);
            if (len % 2 != 0)
                for (char *c = name; *c != '\0'; c++)
                    *c = *c >= 'A' ? (char)(*c + 'a' - 'A') : *c;
            int code = caret_m__special(name, len, CARET_M__GET, 0, "f()", &v, why);
            if (len >= all[i].shortest)
                assert_ptr_equal(v, &all[i]);
            else
                assert_ptr_not_equal(v, &all[i]);
            assert_int_equal(code, v != NULL ? 0 : len > 1 ? CARET_M__E_INVSVN : CARET_M__E_INVVARNAME);
        }
    assert_int_equal(caret_m__special("$JOB", 5, CARET_M__GET, 0, "f()", &v, (char[160]){""}),
                     CARET_M__E_INVSVN);
    assert_int_equal(use("$TLEVELS", CARET_M__GET, 0), CARET_M__E_INVSVN);
}

static void what_can_not_be_done_is_refused(void **state)
{
    (void)state;
    assert_int_equal(use("$ZSTATUS", CARET_M__SET, 0), 0);
    assert_int_equal(use("$TLEVEL", CARET_M__SET, 0), CARET_M__E_SVNOSET);
    assert_int_equal(use("$TLEVEL", CARET_M__SET, -1), CARET_M__E_SVNOSET);
    assert_int_equal(use("$TLEVEL", CARET_M__SET, 1), CARET_M__E_SVNOSET);
    assert_int_equal(use("$ZGBLDIR", CARET_M__SET, 1), CARET_M__E_ISVSUBSCRIPTED);
    assert_int_equal(use("$TLEVEL", CARET_M__GET, -1), CARET_M__E_MINNRSUBSCRIPTS);
    assert_int_equal(use("$TLEVEL", CARET_M__GET, 1), CARET_M__E_ISVSUBSCRIPTED);
    assert_int_equal(use("$ZSTATUS", CARET_M__OTHER, 0), CARET_M__E_ISVUNSUPPORTED);
    assert_int_equal(use("$NOSUCH", CARET_M__OTHER, 0), CARET_M__E_INVSVN);
    assert_int_equal(use("$NOSUCH", CARET_M__OTHER, 1), CARET_M__E_ISVSUBSCRIPTED);
    assert_int_equal(use("$", CARET_M__GET, 1), CARET_M__E_INVVARNAME);
}

static void the_front_is_asked_for_what_is_its_own(void **state)
{
    (void)state;
    assert_string_equal(value("$TL"), "41");
    assert_string_equal(value("$TRESTART"), "42");
    assert_string_equal(value("$ZS"), "front 41");
    assert_string_equal(value("$ZGBLDIR"), "front 41");
}

static void zone(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

/* Beside what the C library says about the same second; days are counted from 1970 and from 2000. */
static void the_clock_is_that_of_the_zone(void **state)
{
    static const char *const zones[] = {"UTC0", "A-14", "B12", "C-8:45", "D3:30D2:30,M3.2.0,M11.1.0"};

    (void)state;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        long long day, second, micro, west, day2, second2;
        time_t before, after;
        zone(zones[i]);
        before = time(NULL);
        assert_int_equal(sscanf(value("$ZHOROLOG"), "%lld,%lld,%lld,%lld", &day, &second, &micro, &west), 4);
        assert_int_equal(sscanf(value("$HOROLOG"), "%lld,%lld", &day2, &second2), 2);
        after = time(NULL);
        assert_in_range((day - 47117) * 86400 + second + west, before, after);
        assert_in_range((day2 - 58074) * 86400 + second2 + west + 946684800, before, after);
        assert_in_range(second, 0, 86399);
        assert_in_range(micro, 0, 999999);
    }
    zone("UTC0");
    assert_true(strtoll(value("$ZUT"), NULL, 10) / 1000000 - time(NULL) <= 0);
}

static void maxtptime_is_a_number_of_seconds(void **state)
{
    static const char *const set[][2] = {{"7", "7"},
                                         {"7abc", "7"},
                                         {"1E2", "100"},
                                         {"2.9", "2"},
                                         {"-1", "-1"},
                                         {"-2.9", "-2"},
                                         {"", "0"},
                                         {"x", "0"},
                                         {"1E300", "2147483647"},
                                         {"-1E300", "-2147483648"},
                                         {"--3", "3"},
                                         {"70", "70"},
                                         {"99999999999", "2147483647"}};

    (void)state;
    setenv("ydb_maxtptime", "90", 1);
    assert_string_equal(value("$ZMAXTPTIME"), "60"); /* as the environment had it at first */
    setenv("ydb_maxtptime", "5", 1);
    assert_string_equal(value("$ZMAXTPTIME"), "60");
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        caret_m__maxtptime_set(set[i][0], strlen(set[i][0]));
        assert_string_equal(value("$ZMAXTPTIME"), set[i][1]);
    }
}

static void file(const char *name, const char *expected)
{
    char *got = caret_m__file_of(name);

    assert_string_equal(got, expected);
    free(got);
}

static void a_global_directory_stands_for_the_file_beside_it(void **state)
{
    (void)state;
    unsetenv("CARET_DB");
    unsetenv("ydb_gbldir");
    assert_string_equal(caret_m__gbldir(), "./data.caret");
    setenv("CARET_DB", "x", 1);
    setenv("ydb_gbldir", "", 1);
    assert_string_equal(caret_m__gbldir(), "x");
    setenv("ydb_gbldir", "y.gld", 1);
    assert_string_equal(caret_m__gbldir(), "y.gld");
    file("y.gld", "y.caret");
    file("/a.gld/b", "/a.gld/b");
    file(".gld", ".gld");
    file("", "");
    assert_false(caret_m__only_read("/nonexistent/file"));
}

static void outcomes_of_arithmetic_are_errors_of_m(void **state)
{
    struct caret__dec one = caret__dec_from_int(1), zero = caret__dec_from_int(0), half, r;

    (void)state;
    assert_int_equal(caret_m__number("-.5apples", 9, &half), 0);
    assert_int_equal(caret_m__outcome(caret__dec_div(CARET_M__RULES, one, zero, &r)), CARET_M__E_DIVZERO);
    assert_int_equal(caret_m__outcome(caret__dec_pow(CARET_M__RULES, half, half, &r)), CARET_M__E_NEGFRACPWR);
    assert_int_equal(caret_m__number("1E47", 4, &r), CARET_M__E_NUMOFLOW);
    assert_int_equal(
        caret_m__outcome(caret__dec_div(CARET_M__RULES, caret__dec_from_int(2), caret__dec_from_int(3), &r)),
        0);
    char text[CARET__DEC_MAX + 1] = "";
    caret__dec_format(r, text);
    assert_string_equal(text, ".666666666666666666"); /* 18 digits, cut off */
    assert_true(caret_m__integer("-9223372036854775807", 20) == -9223372036854775800); /* 18 digits */
    assert_true(caret_m__integer("-1E20", 5) == INT64_MIN);
    assert_true(caret_m__integer("+-+1E99", 7) == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_abbreviation_finds_one_variable),
        cmocka_unit_test(what_can_not_be_done_is_refused),
        cmocka_unit_test(the_front_is_asked_for_what_is_its_own),
        cmocka_unit_test(the_clock_is_that_of_the_zone),
        cmocka_unit_test(maxtptime_is_a_number_of_seconds),
        cmocka_unit_test(a_global_directory_stands_for_the_file_beside_it),
        cmocka_unit_test(outcomes_of_arithmetic_are_errors_of_m),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
