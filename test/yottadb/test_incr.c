/* ydb_incr_s, ydb_incr_st. */
#include "yottadb/api.h"

static const char *add(const char *by)
{
    static struct out o;
    ydb_buffer_t buf = b(by != NULL ? by : "");

    assert_int_equal(incr(var("a"), 0, NULL, by != NULL ? &buf : NULL, out(&o)), YDB_OK);
    assert_string_equal(text(&o), value_of("a", NULL));
    return text(&o);
}

static void counts_from_nothing(void **state)
{
    (void)state;
    assert_string_equal(add(NULL), "1");
    assert_string_equal(add(NULL), "2");
    assert_string_equal(add("10"), "12");
    assert_string_equal(add("-13"), "-1");
    assert_string_equal(add(""), "-1");
}

static void is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        add(".1");
    assert_string_equal(value_of("a", NULL), "1");
    put("a", NULL, "999999999999999999");
    assert_string_equal(add("1"), "1000000000000000000");
    put("a", NULL, "0"); /* cut off after 18 digits, and not rounded */
    assert_string_equal(add("1234567890123456789"), "1234567890123456780");
    assert_string_equal(add("-99"), "1234567890123456690"); /* -90 of it */
    put("a", NULL, "999999999999999999");
    assert_string_equal(add(".6"), "999999999999999999");
    assert_string_equal(add("2"), "1000000000000000000");
    put("a", NULL, "1700000000000000001");
    assert_string_equal(add("1"), "1700000000000000000");
    put("a", NULL, "100000000000000000");
    assert_string_equal(add("-.5"), "100000000000000000");
    put("a", NULL, "99999999999999999900000000000000000000000000000");
    assert_string_equal(add("1"), "99999999999999999900000000000000000000000000000");
    put("a", NULL, "1E-44");
    assert_string_equal(add("0"), "0");
    put("a", NULL, "12 apples");
    assert_string_equal(add("3 pears"), "15");
    put("a", NULL, "pears");
    assert_string_equal(add("1E3"), "1000");
}

static void refuses_sums_that_are_too_big(void **state)
{
    struct out o;
    ydb_buffer_t by = b("9E46");

    (void)state;
    ydb_buffer_t one = b("1E46");

    put("a", NULL, "9E46");
    fails(incr(var("a"), 0, NULL, &by, out(&o)), NUMOFLOW, "1E47");
    fails(incr(var("a"), 0, NULL, &one, out(&o)), NUMOFLOW, "1E47"); /* 1E47 itself */
    assert_string_equal(value_of("a", NULL), "9E46");
}

static void adds_even_if_the_sum_does_not_fit(void **state)
{
    struct out o;
    ydb_buffer_t by = b("12345");

    (void)state;
    fails(incr(var("a"), 0, NULL, &by, out_of(&o, 4)), INVSTRLEN, "5 are needed");
    assert_int_equal(o.buf.len_used, 5);
    assert_true(untouched(&o));
    assert_string_equal(value_of("a", NULL), "12345");
    assert_int_equal(incr(var("a"), 0, NULL, &by, out_of(&o, 5)), YDB_OK);
    assert_memory_equal(o.room, "24690", 5);
}

static void needs_buffers(void **state)
{
    struct out o;
    ydb_buffer_t over = {1, 2, error_room}, nowhere = {3, 3, NULL};

    (void)state;
    fails(incr(var("a"), 0, NULL, NULL, NULL), PARAMINVALID, "result");
    fails(incr(var("a"), 0, NULL, NULL, &nowhere), PARAMINVALID, "result");
    fails(incr(var("a"), 0, NULL, &over, out(&o)), PARAMINVALID, "value");
    fails(incr(var("a"), 0, NULL, &nowhere, out(&o)), PARAMINVALID, "value");
    assert_string_equal(value_of("a", NULL), "(undefined)");
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    static struct out o;
    return incr(v, n, s, NULL, out(&o));
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(counts_from_nothing),
        EACH(is_exact),
        EACH(refuses_sums_that_are_too_big),
        EACH(adds_even_if_the_sum_does_not_fit),
        EACH(needs_buffers),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
