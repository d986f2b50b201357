/* ydb_data_s, ydb_data_st. */
#include "yottadb/api.h"

static unsigned data_of(const char *name, const char *sub)
{
    ydb_buffer_t s = b(sub != NULL ? sub : "");
    unsigned d = 99;

    assert_int_equal(data(var(name), sub != NULL, &s, &d), YDB_OK);
    return d;
}

static void tells_values_from_trees(void **state)
{
    ydb_buffer_t s[2] = {b("1"), b("2")};

    (void)state;
    assert_int_equal(data_of("a", NULL), YDB_DATA_UNDEF);
    assert_int_equal(set(var("a"), 2, s, NULL), YDB_OK);
    assert_int_equal(data_of("a", NULL), YDB_DATA_NOVALUE_DESC);
    assert_int_equal(data_of("a", "1"), YDB_DATA_NOVALUE_DESC);
    assert_int_equal(data_of("a", "2"), YDB_DATA_UNDEF);
    put("a", "1", "");
    assert_int_equal(data_of("a", "1"), YDB_DATA_VALUE_DESC);
    assert_int_equal(data(var("a"), 2, s, &(unsigned){0}), YDB_OK);
    assert_int_equal(delete (var("a"), 2, s, YDB_DEL_NODE), YDB_OK);
    assert_int_equal(data_of("a", "1"), YDB_DATA_VALUE_NODESC);
    assert_int_equal(data_of("a", NULL), YDB_DATA_NOVALUE_DESC);
}

static void is_not_misled_by_neighbours(void **state)
{
    (void)state;
    put("a", "10", "");
    put("ab", NULL, "");
    assert_int_equal(data_of("a", "1"), YDB_DATA_UNDEF);
    assert_int_equal(data_of("a", "100"), YDB_DATA_UNDEF);
    assert_int_equal(data_of("ab", NULL), YDB_DATA_VALUE_NODESC);
}

static void needs_a_result(void **state)
{
    (void)state;
    fails(data(var("a"), 0, NULL, NULL), PARAMINVALID,
          "NULL ret_value parameter specified in ydb_data_s() call");
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return data(v, n, s, &(unsigned){0});
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, OTHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(tells_values_from_trees),
        EACH(is_not_misled_by_neighbours),
        EACH(needs_a_result),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
