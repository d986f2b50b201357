/* ydb_str2zwr_s, ydb_zwr2str_s and ..._st, in bytes; $ydb_chset is read once, so UTF-8 is tried in a child. */
#include "yottadb/api.h"

static void expect(const char *bytes_in, size_t n, const char *zwr)
{
    struct out o;
    ydb_buffer_t in = bytes(bytes_in, n);

    assert_int_equal(str2zwr(&in, out(&o)), YDB_OK);
    assert_string_equal(text(&o), zwr);
    in = b(zwr);
    assert_int_equal(zwr2str(&in, out(&o)), YDB_OK);
    assert_int_equal(o.buf.len_used, n);
    assert_memory_equal(o.room, bytes_in, n);
}

static void there_and_back(void **state)
{
    (void)state;
    expect("", 0, "\"\"");
    expect("abc", 3, "\"abc\"");
    expect("a\"b", 3, "\"a\"\"b\"");
    expect("a\0\nb", 4, "\"a\"_$C(0,10)_\"b\"");
    expect("\x85", 1, "$C(133)");
    expect("\xc3\xa4", 2, "\"\xc3\xa4\"");
}

static void every_byte_comes_back(void **state)
{
    struct out zwr, o;
    char all[512] = "";
    ydb_buffer_t in = bytes(all, sizeof all);

    (void)state;
    for (int i = 0; i < 512; i++)
        all[i] = (char)(i * 37);
    assert_int_equal(str2zwr(&in, out(&zwr)), YDB_OK);
    assert_int_equal(zwr2str(&zwr.buf, out(&o)), YDB_OK);
    assert_int_equal(o.buf.len_used, sizeof all);
    assert_memory_equal(o.room, all, sizeof all);
}

static void tell_how_much_room_is_needed(void **state)
{
    struct out o;
    ydb_buffer_t in = b("a\n"), zwr = b("\"a\"_$C(10)");

    (void)state;
    fails(str2zwr(&in, out_of(&o, 9)), INVSTRLEN, "Invalid string length 10: max 9");
    assert_int_equal(o.buf.len_used, 10);
    assert_int_equal(str2zwr(&in, out_of(&o, 10)), YDB_OK);
    fails(zwr2str(&zwr, out_of(&o, 1)), INVSTRLEN, "Invalid string length 2: max 1");
    assert_int_equal(o.buf.len_used, 2);
    assert_int_equal(zwr2str(&zwr, out_of(&o, 2)), YDB_OK);
}

static void refuse_what_is_no_text(void **state)
{
    static const char *const bad[] = {"\"a",       "$C(",         "$C(1",      "a",  "\"a\"b",  "1_2",
                                      "$CHAR(65)", "$ZCHAR(200)", "\"a\"_x\"", "+1", "$C(256)", "$C(-1)"};
    struct out o;
    ydb_buffer_t in, over = {1, 2, error_room}, nowhere = {3, 3, NULL};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        in = b(bad[i]);
        assert_int_equal(zwr2str(&in, out(&o)), YDB_OK);
        assert_int_equal(o.buf.len_used, 0);
    }
    in = b("x");
    fails(str2zwr(&in, NULL), PARAMINVALID, "NULL zwr parameter specified in ydb_str2zwr_s() call");
    fails(str2zwr(NULL, out(&o)), PARAMINVALID, "Invalid str parameter");
    fails(str2zwr(&over, out(&o)), PARAMINVALID, "Invalid str parameter");
    fails(zwr2str(&nowhere, out(&o)), PARAMINVALID,
          "Invalid zwr parameter specified in ydb_zwr2str_s() call");
    assert_int_equal(zwr2str(&in, &nowhere), YDB_OK); /* there is nothing to store */
    in = b("1");
    fails(zwr2str(&in, &nowhere), PARAMINVALID, "NULL str->buf_addr parameter");
}

static int in_utf8(void)
{
    struct out o;
    ydb_buffer_t in = b("\xc3\xa4\xc2\x85\xff");

    return ydb_str2zwr_s(&in, out(&o)) == YDB_OK && strcmp(text(&o), "\"\xc3\xa4\"_$C(133)_$ZCH(255)") == 0
               ? 0
               : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BOTH(there_and_back),
        BOTH(every_byte_comes_back),
        BOTH(tell_how_much_room_is_needed),
        BOTH(refuse_what_is_no_text),
    };
    if (argc > 1)
        return in_utf8();
    char command[600];
    snprintf(command, sizeof command, "ydb_chset=utf-8 '%s' utf8", argv[0]);
    if (system(command) != 0) {
        print_error("ydb_chset=utf-8 makes no difference\n");
        return 1;
    }
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
