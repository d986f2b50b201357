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
    assert_string_equal(add("0"), "-1");
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
    fails(incr(var("a"), 0, NULL, &by, out(&o)), NUMOFLOW, "Numeric overflow");
    fails(incr(var("a"), 0, NULL, &one, out(&o)), NUMOFLOW, "Numeric overflow"); /* 1E47 itself */
    assert_string_equal(value_of("a", NULL), "9E46");
}

static void adds_nothing_if_the_sum_does_not_fit(void **state)
{
    struct out o;
    ydb_buffer_t by = b("12345"), tiny = b("-1.23456789012345678E-43");

    (void)state;
    fails(incr(var("a"), 0, NULL, &by, out_of(&o, 4)), INVSTRLEN, "Invalid string length 5: max 4");
    assert_int_equal(o.buf.len_used, 5);
    assert_true(untouched(&o));
    assert_string_equal(value_of("a", NULL), "(undefined)");
    assert_int_equal(incr(var("a"), 0, NULL, &by, out_of(&o, 5)), YDB_OK);
    assert_memory_equal(o.room, "12345", 5);
    put("a", NULL, "99999 apples");
    fails(incr(var("a"), 0, NULL, NULL, out_of(&o, 5)), INVSTRLEN, "Invalid string length 6: max 5");
    assert_string_equal(value_of("a", NULL), "99999 apples");
    put("a", NULL, "");
    fails(incr(var("a"), 0, NULL, &tiny, out_of(&o, 61)), INVSTRLEN, "Invalid string length 62: max 61");
    assert_string_equal(value_of("a", NULL), "");
    assert_int_equal(incr(var("a"), 0, NULL, &tiny, out_of(&o, 62)), YDB_OK);
    assert_int_equal(o.buf.len_used, 62); /* the longest there is */
}

static int add_in_vain(void *arg)
{
    struct out o;
    ydb_buffer_t by = b("12345");

    fails(incr(var("a"), 0, NULL, &by, out_of(&o, 3)), INVSTRLEN, "Invalid string length 5: max 3");
    assert_int_equal(incr(var("a"), 0, NULL, &by, out_of(&o, 5)), YDB_OK);
    return *(int *)arg;
}

static void adds_nothing_within_a_transaction_too(void **state)
{
    int commit = YDB_OK, undo = YDB_TP_ROLLBACK;

    (void)state;
    assert_int_equal(tp(add_in_vain, &commit), YDB_OK);
    assert_string_equal(value_of("a", NULL), "12345");
    assert_int_equal(tp(add_in_vain, &undo), YDB_TP_ROLLBACK);
    assert_string_equal(value_of("a", NULL), mode->caret[0] != '\0' ? "12345" : "24690");
}

static void adds_one_if_the_increment_is_empty(void **state)
{
    struct out o;
    ydb_buffer_t empty = {0, 0, NULL}, words = b("apples");

    (void)state;
    assert_int_equal(incr(var("a"), 0, NULL, &empty, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "1");
    assert_int_equal(incr(var("a"), 0, NULL, &words, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "1");
}

static void needs_buffers(void **state)
{
    struct out o;
    ydb_buffer_t over = {1, 2, error_room}, nowhere = {3, 0, NULL}, empty = {3, 3, NULL};

    (void)state;
    fails(incr(var("a"), 0, NULL, NULL, NULL), PARAMINVALID,
          "NULL ret_value parameter specified in ydb_incr_s() call");
    fails(incr(var("a"), 0, NULL, NULL, &nowhere), PARAMINVALID, "NULL ret_value->buf_addr parameter");
    fails(incr(var("a"), 0, NULL, &over, out(&o)), PARAMINVALID, "Invalid increment parameter");
    fails(incr(var("a"), 0, NULL, &empty, out(&o)), PARAMINVALID, "Invalid increment parameter");
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
    node_errors(call, OTHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(counts_from_nothing),
        EACH(is_exact),
        EACH(refuses_sums_that_are_too_big),
        EACH(adds_nothing_if_the_sum_does_not_fit),
        EACH(adds_nothing_within_a_transaction_too),
        EACH(adds_one_if_the_increment_is_empty),
        EACH(needs_buffers),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
