/* ydb_delete_s, ydb_delete_st. */
#include "yottadb/api.h"

static int delete_at(const char *name, const char *sub, int type)
{
    ydb_buffer_t s = b(sub != NULL ? sub : "");

    return delete (var(name), sub != NULL, &s, type);
}

static void grow(void)
{
    ydb_buffer_t s[2] = {b("1"), b("x")}, value = b("deep");

    put("a", NULL, "root");
    put("a", "1", "child");
    put("a", "10", "other");
    put("ab", "1", "neighbour");
    assert_int_equal(set(var("a"), 2, s, &value), YDB_OK);
}

static void tree_takes_all_below(void **state)
{
    (void)state;
    grow();
    assert_int_equal(delete_at("a", "1", YDB_DEL_TREE), YDB_OK);
    assert_string_equal(value_of("a", "1"), "(undefined)");
    assert_string_equal(value_of("a", "10"), "other");
    assert_string_equal(value_of("a", NULL), "root");
    assert_int_equal(delete_at("a", NULL, YDB_DEL_TREE), YDB_OK);
    assert_string_equal(value_of("a", NULL), "(undefined)");
    assert_string_equal(value_of("a", "10"), "(undefined)");
    assert_string_equal(value_of("ab", "1"), "neighbour");
}

static void node_leaves_what_is_below(void **state)
{
    ydb_buffer_t s[2] = {b("1"), b("x")};
    struct out o;

    (void)state;
    grow();
    assert_int_equal(delete_at("a", "1", YDB_DEL_NODE), YDB_OK);
    assert_string_equal(value_of("a", "1"), "(undefined)");
    assert_int_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "deep");
}

static void of_nothing_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(delete_at("a", NULL, YDB_DEL_TREE), YDB_OK);
    assert_int_equal(delete_at("a", "1", YDB_DEL_NODE), YDB_OK);
}

static void wants_to_know_what(void **state)
{
    (void)state;
    grow();
    fails(delete_at("a", NULL, 0), UNIMPLOP, "Unimplemented construct encountered");
    fails(delete_at("a", NULL, 3), UNIMPLOP, "Unimplemented construct encountered");
    fails(delete (var("1"), 0, NULL, 3), INVVARNAME, "supplied to API call");
    fails(delete (var("a"), 32, NULL, 3), MAXNRSUBSCRIPTS, "Maximum number of subscripts exceeded");
    assert_string_equal(value_of("a", NULL), "root");
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return delete (v, n, s, YDB_DEL_NODE);
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, OTHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(tree_takes_all_below), EACH(node_leaves_what_is_below), EACH(of_nothing_is_no_error),
        EACH(wants_to_know_what),   EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
