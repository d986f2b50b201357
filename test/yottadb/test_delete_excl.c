/* ydb_delete_excl_s, ydb_delete_excl_st. */
#include "yottadb/api.h"

static void kills_all_locals_but_those_named(void **state)
{
    ydb_buffer_t keep[3] = {b("b"), b("nosuch"), b("c1")};

    (void)state;
    mode = mode->st ? &modes[3] : &modes[1];
    put("a", "1", "a");
    put("b", "1", "b");
    put("b", NULL, "b too");
    put("c", NULL, "c");
    put("c1", NULL, "c1");
    assert_int_equal(delete_excl(3, keep), YDB_OK);
    assert_string_equal(value_of("a", "1"), "(undefined)");
    assert_string_equal(value_of("b", "1"), "b");
    assert_string_equal(value_of("b", NULL), "b too");
    assert_string_equal(value_of("c", NULL), "(undefined)");
    assert_string_equal(value_of("c1", NULL), "c1");
    assert_int_equal(delete_excl(0, NULL), YDB_OK);
    assert_string_equal(value_of("b", "1"), "(undefined)");
    assert_int_equal(delete_excl(0, NULL), YDB_OK);
}

static void leaves_globals_alone(void **state)
{
    (void)state;
    put("a", NULL, "global");
    assert_int_equal(delete_excl(0, NULL), YDB_OK);
    assert_string_equal(value_of("a", NULL), "global");
}

static void refuses_what_is_no_list_of_locals(void **state)
{
    ydb_buffer_t names[36];

    (void)state;
    for (int i = 0; i < 36; i++)
        names[i] = b("same");
    assert_int_equal(delete_excl(35, names), YDB_OK);
    fails(delete_excl(36, names), NAMECOUNT2HI,
          "Number of varnames specified as the namecount parameter in a ydb_delete_excl_s() call (36) "
          "exceeds the maximum (35)");
    fails(delete_excl(-1, names), INVNAMECOUNT,
          "Number of varnames (namecount parameter in a ydb_delete_excl_s() call) cannot be less than zero");
    fails(delete_excl(1, NULL), PARAMINVALID,
          "NULL varnames parameter specified in ydb_delete_excl_s() call");
    names[1] = b("^global");
    fails(delete_excl(2, names), GVNUNSUPPORTED,
          "Global variable name ^global not supported in ydb_delete_excl_s() call");
    names[1] = b("$ZSTATUS");
    fails(delete_excl(2, names), ISVUNSUPPORTED,
          "ISV variable name $ZSTATUS not supported in ydb_delete_excl_s() call");
    names[1] = b("*");
    fails(delete_excl(2, names), INVVARNAME, "variable name * supplied");
    names[1] = b("a2345678901234567890123456789012");
    fails(delete_excl(2, names), VARNAME2LONG, "maximum allowed (31)");
    names[1] = (ydb_buffer_t){1, 2, error_room};
    fails(delete_excl(2, names), PARAMINVALID, "Invalid varname array (index 1) parameter specified in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(kills_all_locals_but_those_named),
        BOTH(leaves_globals_alone),
        BOTH(refuses_what_is_no_list_of_locals),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
