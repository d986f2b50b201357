/*
 * Decimal arithmetic.  By itself: the edges.  `test_base_decimal RULES OP N SEED` prints N calculations, one
 * a line, as `a b result`, for test/run/decimal.sh, which has others calculate them too; RULES is exact or m.
 */
#include "support.h"

#include "base/decimal.h"
#include "base/number.h"
#include "caret.h"

static const char *const outcomes[] = {"OK", "NUMOFLOW", "UNDERFLOW", "INEXACT", "DIVZERO", "NEGFRACPWR"};

typedef int operation(struct caret__rules, struct caret__dec, struct caret__dec, struct caret__dec *);

static const struct {
    const char *name;
    operation *run;
} operations[] = {{"+", caret__dec_add}, {"-", caret__dec_sub},   {"*", caret__dec_mul},
                  {"/", caret__dec_div}, {"\\", caret__dec_idiv}, {"#", caret__dec_mod},
                  {"**", caret__dec_pow}};

static const char *show(int outcome, struct caret__dec d, char text[CARET__DEC_MAX + 1])
{
    if (outcome != CARET__DEC_OK)
        return outcomes[outcome];
    size_t n = caret__dec_format(d, text);
    text[n] = '\0';
    return n != 0 && n <= CARET__DEC_MAX ? text : "unprintable";
}

/* "a op b" by these rules; `parse` has no b, `<` compares. */
static const char *calculate(struct caret__rules rules, const char *op, const char *a, const char *b,
                             char text[CARET__DEC_MAX + 1])
{
    struct caret__dec x = {0}, y = {0}, r = {0};
    int outcome = caret__dec_parse(rules, a, strlen(a), &x, NULL);

    if (outcome == CARET__DEC_OK)
        outcome = caret__dec_parse(rules, b, strlen(b), &y, NULL);
    if (strcmp(op, "<") == 0 && outcome == CARET__DEC_OK)
        r = caret__dec_from_int(caret__dec_compare(x, y));
    else if (strcmp(op, "parse") == 0)
        r = x;
    else
        for (size_t i = 0; i < sizeof operations / sizeof *operations && outcome == CARET__DEC_OK; i++) {
            if (strcmp(op, operations[i].name) == 0)
                outcome = operations[i].run(rules, x, y, &r);
        }
    return show(outcome, r, text);
}

/* ---------------------------------------------------------------- random numbers */

static unsigned below(struct caret__rand *r, unsigned n)
{
    return caret__rand_below(r, n);
}

static size_t put_digits(struct caret__rand *r, char *text, unsigned n)
{
    unsigned kind = below(r, 8);

    for (unsigned i = 0; i < n; i++)
        text[i] = (char)('0' + (kind == 0   ? 9
                                : kind == 1 ? (i == 0)
                                : kind == 2 ? i % 9 == 0
                                            : below(r, 10)));
    if (kind == 1 && n > 0 && below(r, 2))
        text[n - 1] = '1';
    return n;
}

/* A number: any length, a point anywhere, exponents to the ends of the range and a little over. */
static void put_number(struct caret__rand *r, char *text, unsigned most)
{
    static const char *const edges[] = {"0",
                                        "1",
                                        "-1",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "9223372036854775808",
                                        "18446744073709551616",
                                        "1E46",
                                        "-1E46",
                                        "1E-43",
                                        "-1E-43",
                                        "1E47",
                                        "9.99999999999999999E46",
                                        "1E-44",
                                        "99999999999999999999999999999999999999",
                                        "170141183460469231731687303715884105728",
                                        "999999999999999999",
                                        "1000000000000000000",
                                        ".5",
                                        "-.5",
                                        "2",
                                        "-3",
                                        "10",
                                        "0E50"};
    static const unsigned lengths[] = {1, 1, 2, 3, 6, 9, 10, 17, 18, 19, 20, 37, 38, 39, 40};
    char *p = text;
    unsigned n = lengths[below(r, sizeof lengths / sizeof *lengths)], point;

    if (below(r, 12) == 0) {
        strcpy(text, edges[below(r, sizeof edges / sizeof *edges)]);
        return;
    }
    if (below(r, 3) == 0)
        n = 1 + below(r, 40);
    n = n > most ? 1 + n % most : n;
    if (below(r, 3) == 0)
        *p++ = '-';
    point = below(r, 2) ? n : below(r, n + 1);
    p += put_digits(r, p, point);
    if (point < n)
        *p++ = '.';
    p += put_digits(r, p, n - point);
    *p = '\0';
    switch (below(r, 4)) {
    case 0: sprintf(p, "E%d", (int)below(r, 21) - 10); break;
    case 1: sprintf(p, "E%d", (int)below(r, 115) - 65); break;
    case 2:
        sprintf(p, "E%d", (below(r, 2) ? 47 : -43) - (int)(point != 0 ? point : n) + (int)below(r, 3));
        break;
    default: break;
    }
}

/* A number near a: some of its last digits are others. */
static void put_near(struct caret__rand *r, const char *a, char *text)
{
    size_t n = strlen(a), digits = strcspn(a, "E");

    strcpy(text, a);
    for (unsigned i = below(r, 3); i > 0 && digits > 1; i--)
        text[digits - 1 - below(r, (unsigned)digits / 2 + 1)] = (char)('0' + below(r, 10));
    if (below(r, 3) == 0 && n + 2 < 90)
        memmove(text + 1, text, n + 1), text[0] = '-';
}

/* Text that looks like a number at its beginning, or nearly. */
static void put_text(struct caret__rand *r, char *text)
{
    unsigned n = below(r, 60);

    for (unsigned i = 0; i < n; i++)
        text[i] = below(r, 3) ? (char)('0' + below(r, 10)) : "0000..-+Ee5x9"[below(r, 13)];
    text[n] = '\0';
}

static void put_exponent(struct caret__rand *r, char *text, bool exact)
{
    int n = (int)below(r, below(r, 2) ? 12 : 200) - (below(r, 3) == 0 ? 60 : 0);

    if (exact || below(r, 2))
        sprintf(text, "%d", n);
    else
        sprintf(text, "%d.%u", n / 8, below(r, below(r, 2) ? 10 : 1000000));
}

static int print_calculations(struct caret__rules rules, const char *op, long n, uint64_t seed)
{
    struct caret__rand r;
    bool power = strcmp(op, "**") == 0, parse = strcmp(op, "parse") == 0;
    char a[192], b[192], text[CARET__DEC_MAX + 1];

    caret__rand_seed(&r, seed);
    for (long i = 0; i < n; i++) {
        b[0] = '\0';
        if (parse)
            put_text(&r, a);
        else
            put_number(&r, a, power ? 1 + below(&r, 18) : below(&r, 2) ? 18 : 40);
        if (power)
            put_exponent(&r, b, rules.exact);
        else if (!parse && below(&r, 3) == 0)
            put_near(&r, a, b);
        else if (!parse)
            put_number(&r, b, below(&r, 2) ? 18 : 40);
        printf("%s|%s|%s\n", a, b, calculate(rules, op, a, b, text));
    }
    return fflush(stdout) != 0;
}

/* ------------------------------------------------------------------------ tests */

struct known {
    const char *a, *op, *b, *exact, *m; /* m NULL: the same as exactly */
};

static void expect(struct caret__rules rules, const struct known *c, const char *result)
{
    char text[CARET__DEC_MAX + 1];
    const char *got = calculate(rules, c->op, c->a, c->b, text);

    if (strcmp(got, result) != 0)
        fail_msg("%s %s %s %s = %s, not %s", c->a, c->op, c->b, rules.exact ? "exactly" : "in M", got,
                 result);
}

static void both_rules_give_what_is_known(void **state)
{
    static const struct known cases[] = {
        {"1700000000000000001", "+", "1", "1700000000000000002", "1700000000000000000"},
        {"0", "+", "1234567890123456789", "1234567890123456789", "1234567890123456780"},
        {"999999999999999999", "+", ".6", "999999999999999999.6", "999999999999999999"},
        {"100000000000000000", "-", ".5", "99999999999999999.5", "100000000000000000"},
        {"99999999999999999999999999999999999999", "+", "1", "100000000000000000000000000000000000000",
         "99999999999999999900000000000000000000"},
        {"99999999999999999999999999999999999999", "+", ".1", "INEXACT",
         "99999999999999999900000000000000000000"},
        {"9E46", "+", "1E46", "NUMOFLOW", NULL},
        {"-9E46", "-", "1E46", "NUMOFLOW", NULL},
        {"1E46", "+", "1", "INEXACT", "10000000000000000000000000000000000000000000000"},
        {"1E47", "-", "1E47", "NUMOFLOW", NULL},
        {"1E46", "+", "1E-43", "INEXACT", "10000000000000000000000000000000000000000000000"},
        {"999999999999999999E29", "+", "0", "99999999999999999900000000000000000000000000000", NULL},
        {"999999999999999999E30", "+", "0", "NUMOFLOW", NULL},
        {"1E18446744073709551617", "+", "0", "NUMOFLOW", NULL},
        {"1E-18446744073709551617", "+", "0", "UNDERFLOW", "0"},
        /* aligned by 10^37, with a carry, a borrow, out of 128 bits */
        {"1825979190748337887623286012904047966", "+", "9.0000000000000000000000000000000000000",
         "1825979190748337887623286012904047975", "1825979190748337880000000000000000000"},
        {"6972510273464686958969350492589913944", "-", "9.0000000000000000000000000000000000000",
         "6972510273464686958969350492589913935", "6972510273464686950000000000000000000"},
        {"1.5E-43", "-", "1E-43", "UNDERFLOW", "0"},
        {"1E-44", "+", "0", "UNDERFLOW", "0"},
        {"2", "/", "3", "INEXACT", ".666666666666666666"},
        {"-2", "/", "3", "INEXACT", "-.666666666666666666"},
        {"1", "/", "8", ".125", NULL},
        {"1", "/", "0", "DIVZERO", NULL},
        {"0", "\\", "0", "DIVZERO", NULL},
        {"0", "#", "0", "DIVZERO", NULL},
        {"-7", "\\", "2", "-3", NULL},
        {"-1", "\\", "2", "0", NULL},
        {"7", "#", "3", "1", NULL},
        {"-7", "#", "3", "2", NULL},
        {"7", "#", "-3", "-2", NULL},
        {"-7", "#", "-3", "-1", NULL},
        {"5.5", "#", "-2", "-.5", NULL},
        {"1E20", "#", "3", "1", "1000"},
        {"-1", "#", "1E30", "999999999999999999999999999999", "1000000000000000000000000000000"},
        {"-3E20", "#", "3", "0", NULL},
        /* a digit of the quotient is estimated too high by one, where the next estimate would be beyond 64 bits */
        {"477886668748706597924157866907829695E11", "#", "5316911983139663496226914259548766206E-21",
         "5232577046284474.60867439109387562938", "100000000000000000000000000000"},
        {"123456789012345678", "*", "987654321098765432", "121932631137021794322511812221002896",
         "121932631137021794000000000000000000"},
        {"1E-20", "*", "1E-24", "UNDERFLOW", "0"},
        {"1E23", "*", "1E24", "NUMOFLOW", NULL},
        {"0", "**", "0", "1", NULL},
        {"0", "**", "-1", "DIVZERO", NULL},
        {"-2", "**", "3", "-8", NULL},
        {"-2", "**", ".5", "NEGFRACPWR", NULL},
        {"9", "**", ".5", "INEXACT", "3"},
        {"2", "**", ".5", "INEXACT", "1.41421356237309504"},
        {"32", "**", ".2", "INEXACT", "2"},
        {"2", "**", "126", "85070591730234615865843651857942052864",
         "85070591730234615800000000000000000000"},
        {"2", "**", "127", "INEXACT", "170141183460469231000000000000000000000"},
        {"2", "**", "1E30", "NUMOFLOW", NULL},
        {"-1", "**", "1E46", "1", NULL},
        {"-1", "**", "1000001", "-1", NULL},
        {"2", "**", "-1E30", "UNDERFLOW", "0"},
        {"5", "**", "-55", ".0000000000000000000000000000000000000036028797018963968", NULL},
        {"1", "<", "1.0", "0", NULL},
        {"-1", "<", "1E-43", "-1", NULL},
        {"1E46", "<", "9999999999999999999999999999999999999", "1", NULL},
        {"0", "<", "-0", "0", NULL},
        {"3E-43", "-", "2E-43", ".0000000000000000000000000000000000000000001", NULL},
        {".00000000000000000000000000000000000000000012345678901234567890123456789012345678", "-", "0",
         ".00000000000000000000000000000000000000000012345678901234567890123456789012345678",
         ".000000000000000000000000000000000000000000123456789012345678"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(CARET__EXACT38, &cases[i], cases[i].exact);
        expect(CARET__M18, &cases[i], cases[i].m != NULL ? cases[i].m : cases[i].exact);
    }
}

static void parsing_takes_the_longest_numeric_prefix(void **state)
{
    static const struct {
        const char *text, *value;
        size_t used;
    } cases[] = {
        {"", "0", 0},
        {"abc", "0", 0},
        {"12abc", "12", 2},
        {"-12abc", "-12", 3},
        {"+7", "7", 2},
        {"--7", "7", 3},
        {"-+-+-7", "-7", 6},
        {"007", "7", 3},
        {"1.50", "1.5", 4},
        {"0.5", ".5", 3},
        {"-0.5x", "-.5", 4},
        {"5.", "5", 2},
        {".", "0", 0},
        {"-.", "0", 0},
        {".5.5", ".5", 2},
        {"1E3", "1000", 3},
        {"1E+3", "1000", 4},
        {"15E-1", "1.5", 5},
        {"1E", "1", 1},
        {"1E+", "1", 1},
        {"1Ex", "1", 1},
        {"1e3", "1", 1},
        {"E3", "0", 0},
        {".E3", "0", 0},
        {"1E3.5", "1000", 3},
        {"-0", "0", 2},
        {"0E99999", "0", 7},
        {" 1", "0", 0},
        {"1 ", "1", 1},
        {"0x10", "0", 1},
        {"1E-43", ".0000000000000000000000000000000000000000001", 5},
        {"1E47", "NUMOFLOW", 4},
        {"1E99999999999999999999", "NUMOFLOW", 22},
        {"0.0000000000000000000000000000000000000000000000000001E20", ".00000000000000000000000000000001",
         57},
        {"12345678901234567890123456789012345678", "12345678901234567890123456789012345678", 38},
        {"123456789012345678901234567890123456780", "123456789012345678901234567890123456780", 39},
        {"123456789012345678901234567890123456789", "INEXACT", 39},
    };
    char text[CARET__DEC_MAX + 1];
    struct caret__dec d;
    size_t used;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = caret__dec_parse(CARET__EXACT38, cases[i].text, strlen(cases[i].text), &d, &used);
        if (strcmp(show(rc, d, text), cases[i].value) != 0 || used != cases[i].used)
            fail_msg("'%s' became %s by %zu bytes", cases[i].text, text, used);
    }
    assert_int_equal(caret__dec_parse(CARET__M18, "1\0002", 3, &d, &used), CARET__DEC_OK);
    assert_true(d.mantissa == 1 && used == 1);
    assert_int_equal(caret__dec_parse(CARET__M18, "1E-999999999999", 15, &d, &used), CARET__DEC_OK);
    assert_true(d.mantissa == 0);
}

/* 10^k - 1, 10^k, 10^k + 1 for all lengths, as integers, as fractions and with the point inside. */
static void every_length_keeps_its_digits_or_says_so(void **state)
{
    char text[CARET__DEC_MAX + 1], nines[64] = "", sum[64] = "1";

    (void)state;
    for (unsigned k = 0; k <= 46; k++) {
        const char *got = calculate(CARET__EXACT38, "+", nines, "1", text);
        if (k <= 38)
            assert_string_equal(got, sum);
        else
            assert_string_equal(got, "INEXACT");
        got = calculate(CARET__EXACT38, "-", sum, "1", text);
        assert_string_equal(got, k == 0 ? "0" : k <= 38 ? nines : "INEXACT");
        got = calculate(CARET__M18, "+", nines, "1", text);
        assert_int_equal(strlen(got), k <= 18 ? k + 1 : k);
        if (k <= 18)
            assert_string_equal(got, sum);
        strcat(nines, "9");
        strcat(sum, "0");
    }
}

static void canonical_text_survives_parsing_and_printing(void **state)
{
    struct caret__rand r = seeded(__func__);
    char text[64], back[CARET__DEC_MAX + 1];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        size_t n = rand_number(&r, text);

        text[n] = '\0';
        if (!caret__num_canonical(text, n))
            continue;
        assert_string_equal(calculate(CARET__EXACT38, "parse", text, "", back), text);
        assert_string_equal(calculate(CARET__M18, "parse", text, "", back), text);
    }
}

/* Also in the other units: 10 * 10^-1. */
static void integers_of_64_bits_are_told_exactly(void **state)
{
    static const struct {
        const char *text;
        bool fits;
    } cases[] = {
        {"0", true},
        {"9223372036854775807", true},
        {"-9223372036854775808", true},
        {"9223372036854775807.0", true},
        {"92233720368547758.07E2", true},
        {"1E18", true},
        {"10E-1", true},
        {"0.0E5", true},
        {"9223372036854775808", false},
        {"-9223372036854775809", false},
        {".5", false},
        {"1E19", false},
        {"1.5", false},
        {"-1E-43", false},
        {"922337203685477580.75E1", false},
    };
    struct caret__dec d;
    int64_t v;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        caret__dec_parse(CARET__EXACT38, cases[i].text, strlen(cases[i].text), &d, NULL);
        if (caret__dec_to_int(d, &v) != cases[i].fits)
            fail_msg("%s: %d", cases[i].text, !cases[i].fits);
        if (cases[i].fits)
            assert_int_equal(caret__dec_compare(caret__dec_from_int(v), d), 0);
    }
}

static void small_sums_agree_with_decimal_ones(void **state)
{
    const struct caret__rules rules[] = {CARET__EXACT38, CARET__M18};
    struct caret__rand r = seeded(__func__);
    char a[64], b[64], quick[32], text[CARET__DEC_MAX + 1];
    int taken = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        struct caret__rules by = rules[i % 2];
        int64_t was = rand_int(&r) >> below(&r, 40), add = rand_int(&r) >> below(&r, 40), sum;

        if (i % 8 == 0)
            was = INT64_MAX - below(&r, 3);
        if (i % 16 < 2)
            was = 999999999999999999 - below(&r, 3), add = below(&r, 4);
        sprintf(a, "%lld", (long long)was);
        sprintf(b, "%lld", (long long)add);
        if (!caret__add_small(by, a, strlen(a), add, &sum))
            continue;
        taken++;
        sprintf(quick, "%lld", (long long)sum);
        assert_string_equal(calculate(by, "+", a, b, text), quick);
    }
    assert_true(taken > 50000);
}

static void no_small_sum_is_taken_that_is_not_exact(void **state)
{
    const struct {
        struct caret__rules rules;
        const char *text;
    } cases[] = {
        {CARET__EXACT38, "1.5"},
        {CARET__EXACT38, "x"},
        {CARET__EXACT38, "9223372036854775807"},
        {CARET__M18, "1000000000000000000"},
        {CARET__M18, "999999999999999999"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (caret__add_small(cases[i].rules, cases[i].text, strlen(cases[i].text), 1, &(int64_t){0}))
            fail_msg("%s + 1 was taken", cases[i].text);
}

static void results_may_be_operands_and_are_left_alone_by_errors(void **state)
{
    struct caret__dec a = caret__dec_from_int(7), zero = {0};

    (void)state;
    assert_int_equal(caret__dec_div(CARET__EXACT38, a, zero, &a), CARET__DEC_DIVZERO);
    assert_true(a.mantissa == 7);
    assert_int_equal(caret__dec_mul(CARET__EXACT38, a, a, &a), CARET__DEC_OK);
    assert_true(a.mantissa == 49);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_rules_give_what_is_known),
        cmocka_unit_test(parsing_takes_the_longest_numeric_prefix),
        cmocka_unit_test(every_length_keeps_its_digits_or_says_so),
        cmocka_unit_test(canonical_text_survives_parsing_and_printing),
        cmocka_unit_test(integers_of_64_bits_are_told_exactly),
        cmocka_unit_test(small_sums_agree_with_decimal_ones),
        cmocka_unit_test(no_small_sum_is_taken_that_is_not_exact),
        cmocka_unit_test(results_may_be_operands_and_are_left_alone_by_errors),
    };

    if (argc == 5)
        return print_calculations(strcmp(argv[1], "m") == 0 ? CARET__M18 : CARET__EXACT38, argv[2],
                                  atol(argv[3]), strtoull(argv[4], NULL, 10));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
