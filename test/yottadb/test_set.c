/* ydb_set_s, ydb_set_st. */
#include "yottadb/api.h"

static void replaces_the_value_and_nothing_else(void **state)
{
    (void)state;
    put("a", NULL, "old");
    put("a", "1", "child");
    put("a", NULL, "new, and longer than before");
    assert_string_equal(value_of("a", NULL), "new, and longer than before");
    assert_string_equal(value_of("a", "1"), "child");
}

static void takes_null_for_the_empty_string(void **state)
{
    unsigned d = 99;
    ydb_buffer_t none = {0, 0, NULL};

    (void)state;
    assert_int_equal(set(var("a"), 0, NULL, NULL), YDB_OK);
    assert_string_equal(value_of("a", NULL), "");
    assert_int_equal(set(var("b"), 0, NULL, &none), YDB_OK);
    assert_string_equal(value_of("b", NULL), "");
    assert_int_equal(data(var("a"), 0, NULL, &d), YDB_OK);
    assert_int_equal(d, YDB_DATA_VALUE_NODESC);
}

static void takes_the_empty_subscript(void **state)
{
    (void)state;
    put("a", "", "at the empty one");
    put("a", NULL, "root");
    assert_string_equal(value_of("a", ""), "at the empty one");
    assert_string_equal(value_of("a", NULL), "root");
}

/* 1 and 01 are two subscripts, 1 and 1 are one. */
static void knows_numbers_from_strings(void **state)
{
    (void)state;
    put("a", "1", "number");
    put("a", "01", "string");
    put("a", "1.0", "string too");
    put("a", "-.5", "fraction");
    assert_string_equal(value_of("a", "1"), "number");
    assert_string_equal(value_of("a", "01"), "string");
    assert_string_equal(value_of("a", "1.0"), "string too");
    assert_string_equal(value_of("a", "-.5"), "fraction");
}

static void refuses_bad_values(void **state)
{
    ydb_buffer_t over = {1, 2, error_room}, nowhere = {5, 5, NULL},
                 huge = {(16u << 20) + 1, (16u << 20) + 1, NULL};

    (void)state;
    put("a", NULL, "kept");
    fails(set(var("a"), 0, NULL, &over), PARAMINVALID,
          "Invalid value parameter specified in ydb_set_s() call");
    fails(set(var("a"), 0, NULL, &nowhere), PARAMINVALID,
          "Invalid value parameter specified in ydb_set_s() call");
    huge.buf_addr = malloc(huge.len_used);
    fails(set(var("a"), 0, NULL, &huge), REC2BIG,
          "Record size (16777217) is greater than maximum (16777216) for region: DEFAULT");
    free(huge.buf_addr);
    assert_string_equal(value_of("a", NULL), "kept");
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return set(v, n, s, NULL);
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, SETS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(replaces_the_value_and_nothing_else),
        EACH(takes_null_for_the_empty_string),
        EACH(takes_the_empty_subscript),
        EACH(knows_numbers_from_strings),
        EACH(refuses_bad_values),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
