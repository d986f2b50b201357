/* Intrinsic special variables, ydb_zstatus and ydb_message. */
#include "yottadb/api.h"

#include <ctype.h>
#include <errno.h>

static int set_special(const char *name, const char *value)
{
    ydb_buffer_t v = b(name), buf = b(value);

    return set(&v, 0, NULL, &buf);
}

static void can_be_read(void **state)
{
    int day, second;
    char job[20];

    (void)state;
    assert_non_null(strstr(special("$ZYRELEASE"), "YottaDB r2.06"));
    assert_non_null(strstr(special("$ZVERSION"), "GT.M V"));
    assert_int_equal(sscanf(special("$HOROLOG"), "%d,%d", &day, &second), 2);
    assert_in_range(day, 47117 + 19000, 47117 + 40000);
    assert_in_range(second, 0, 86399);
    snprintf(job, sizeof job, "%d", (int)getpid());
    assert_string_equal(special("$JOB"), job);
    assert_string_equal(special("$TLEVEL"), "0");
    assert_string_equal(special("$TRESTART"), "0");
    assert_string_equal(special("$ZCHSET"), "M");
    assert_string_equal(special("$ZMAXTPTIME"), "0");
    assert_string_equal(special("$ZGBLDIR"), getenv("CARET_DB"));
    assert_true(strtoll(special("$ZUT"), NULL, 10) > 1600000000000000ll);
}

static void may_be_abbreviated_in_any_case(void **state)
{
    static const char *const good[] = {"$tlevel", "$tl", "$TlEv", "$TLEVEL"}, *const bad[] = {
                                                                                  "$t", "$tlevels", "$_"};
    struct out o;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(special(good[i]), "0");
    for (size_t i = 0; i < 3; i++) {
        ydb_buffer_t v = b(bad[i]);
        fails(get(&v, 0, NULL, out(&o)), INVSVN, "Invalid special variable name");
    }
    ydb_buffer_t v = b("$ZUT");
    fails(get(&v, 0, NULL, out_of(&o, 3)), INVSTRLEN, ": max 3");
    assert_int_equal(o.buf.len_used, strlen(special("$ZUT")));
}

static void some_can_be_set(void **state)
{
    (void)state;
    assert_int_equal(set_special("$ZMAXTPTIME", "7"), YDB_OK);
    assert_string_equal(special("$zmaxtptime"), "7");
    assert_int_equal(set_special("$ZMAXTPTIME", "-1"), YDB_OK);
    assert_string_equal(special("$ZMAXTPTIME"), "-1");
    assert_int_equal(set_special("$ZMAXTPTIME", "99999999999999999999"), YDB_OK);
    assert_string_equal(special("$ZMAXTPTIME"), "2147483647");
    assert_int_equal(set_special("$ZMAXTPTIME", "0"), YDB_OK);
    assert_int_equal(set_special("$ZSTATUS", "mine"), YDB_OK);
    assert_string_equal(special("$ZSTATUS"), "mine");
    fails(set_special("$TLEVEL", "1"), SVNOSET, "Cannot SET this special variable");
    fails(set_special("$NOSUCH", "1"), INVSVN, "Invalid special variable name");
}

static void zstatus_is_the_last_error(void **state)
{
    struct out o;
    char text[100], all[100];
    ydb_buffer_t v = b("^a"), s[2] = {b("1"), b("x")};

    (void)state;
    snprintf(all, sizeof all, "150372994,(%s),%%YDB-E-GVUNDEF, Global variable undefined: ^a(1,\"x\")",
             mode->st ? "SimpleThreadAPI" : "SimpleAPI");
    assert_int_equal(get(&v, 2, s, out(&o)), YDB_ERR_GVUNDEF);
    assert_int_equal(set(&v, 0, NULL, NULL), YDB_OK); /* success changes nothing */
    assert_string_equal(special("$ZSTATUS"), all);
    assert_int_equal(ydb_zstatus(text, sizeof text), YDB_OK);
    assert_string_equal(text, all);
    assert_int_equal(ydb_zstatus(text, 10), YDB_ERR_INVSTRLEN);
    assert_string_equal(text, "150372994");
    assert_int_equal(ydb_zstatus(text, 0), YDB_ERR_INVSTRLEN);
    assert_int_equal(ydb_zstatus(NULL, 0), YDB_ERR_INVSTRLEN);
    assert_int_equal(ydb_zstatus(NULL, 10), YDB_ERR_PARAMINVALID);
}

static void errstr_tells_the_whole_length(void **state)
{
    struct out o;
    char room[16];
    ydb_buffer_t small = {sizeof room, 0, room}, nowhere = {5, 0, NULL}, v = b("^a");

    (void)state;
    assert_int_equal(ydb_get_st(YDB_NOTTP, &small, &v, 0, NULL, out(&o)), YDB_ERR_GVUNDEF);
    assert_int_equal(small.len_used,
                     strlen("150372994,(SimpleThreadAPI),%YDB-E-GVUNDEF, Global variable undefined: ^a"));
    assert_memory_equal(room, "150372994,(Simpl", sizeof room); /* as much as there is room for */
    assert_int_equal(ydb_get_st(YDB_NOTTP, NULL, &v, 0, NULL, out(&o)), YDB_ERR_GVUNDEF);
    assert_int_equal(ydb_get_st(YDB_NOTTP, &nowhere, &v, 0, NULL, out(&o)), YDB_ERR_GVUNDEF);
    assert_int_equal(ydb_set_st(YDB_NOTTP, &small, &v, 0, NULL, NULL), YDB_OK);
    assert_int_equal(small.len_used, 0);
}

static int message(int status, ydb_buffer_t *ret)
{
    return mode->st ? ydb_message_t(token, &errstr, status, ret) : ydb_message(status, ret);
}

static void message_gives_the_text(void **state)
{
    struct out o;

    (void)state;
    assert_int_equal(message(YDB_ERR_GVUNDEF, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "%YDB-E-GVUNDEF, Global variable undefined: !AD");
    assert_int_equal(message(-YDB_ERR_GVUNDEF, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "%YDB-E-GVUNDEF, Global variable undefined: !AD");
    assert_int_equal(message(YDB_LOCK_TIMEOUT, out(&o)), YDB_OK);
    assert_int_equal(message(ENOENT, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "%SYSTEM-E-ENO2, No such file or directory");
    fails(message(YDB_ERR_GVUNDEF, out_of(&o, 5)), INVSTRLEN, "Invalid string length 46: max 5");
    fails(message(YDB_ERR_GVUNDEF, NULL), PARAMINVALID,
          "NULL msg_buff parameter specified in ydb_message() call");
    out(&o)->len_used = 7;
    fails(message(-151999999, &o.buf), UNKNOWNSYSERR,
          "-151999999 does not correspond to a known YottaDB error code");
    assert_int_equal(o.buf.len_used, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(can_be_read),
        BOTH(may_be_abbreviated_in_any_case),
        BOTH(some_can_be_set),
        BOTH(zstatus_is_the_last_error),
        ONCE(errstr_tells_the_whole_length),
        BOTH(message_gives_the_text),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
