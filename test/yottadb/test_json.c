/* ydb_encode and ydb_decode. */
#include "yottadb/api.h"

static int encode(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, const char *format, ydb_string_t *ret)
{
    return CALL_(encode, v, n, s, format, ret);
}

static int decode(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, const char *format,
                  const ydb_string_t *value)
{
    return CALL_(decode, v, n, s, format, value);
}

static int read_json(const char *name, const char *json)
{
    ydb_string_t value = {strlen(json), (char *)(uintptr_t)json};

    return decode(var(name), 0, NULL, "json", &value);
}

static const char *json_of(const char *name)
{
    static char room[4096];
    ydb_string_t ret;

    assert_int_equal(encode(var(name), 0, NULL, "JSON", &ret), YDB_OK);
    assert_int_equal(ret.length, strlen(ret.address)); /* and a NUL after it */
    snprintf(room, sizeof room, "%s", ret.address);
    free(ret.address);
    return room;
}

/* Go through all nodes of the variable: "sub,sub=value;" */
static const char *nodes_of(const char *name)
{
    static char room[4096];
    char subs[2][31][64], value[256];
    ydb_buffer_t at[31], next[31];
    ydb_buffer_t got = {sizeof value, 0, value};
    size_t len = 0;
    int n = 0, next_n, rc = YDB_OK;
    unsigned which = 0;
    unsigned data_of = 0;

    room[0] = '\0';
    assert_int_equal(data(var(name), 0, NULL, &data_of), YDB_OK);
    if (data_of % 10 == 0)
        rc = YDB_ERR_NODEEND;
    for (bool first = true;; first = false) {
        if (!first || rc != YDB_OK) {
            for (int i = 0; i < 31; i++)
                next[i] = (ydb_buffer_t){64, 0, subs[which][i]};
            next_n = 31;
            rc = node_next(var(name), n, at, &next_n, next);
            if (rc == YDB_ERR_NODEEND)
                return room;
            assert_int_equal(rc, YDB_OK);
            memcpy(at, next, sizeof at);
            n = next_n;
            which ^= 1;
        }
        got.len_used = 0;
        assert_int_equal(get(var(name), n, at, &got), YDB_OK);
        for (int i = 0; i < n; i++)
            len += (size_t)snprintf(room + len, sizeof room - len, "%s%.*s", i > 0 ? "," : "",
                                    (int)at[i].len_used, at[i].buf_addr);
        room[len++] = '=';
        for (unsigned i = 0; i < got.len_used; i++)
            room[len++] = value[i] != '\0' ? value[i] : '~';
        room[len++] = ';';
        room[len] = '\0';
    }
}

static const struct {
    const char *json, *nodes, *back; /* NULL: json */
} both_ways[] = {
    {"{\"a\": 1}", "a=1;", NULL},
    {"[]", "", ""},
    {"[\"array\", [\"zero\", \"one\", {\"key\": [\"val1\", \"val2\"]}], 3, \"1.5\", null, \"null\", true, "
     "\"true\", "
     "false, \"false\"]",
     "0=array;1,0=zero;1,1=one;1,2,key,0=val1;1,2,key,1=val2;2=3;3=~1.5;4=~null;5=null;6=~true;7=true;8=~"
     "false;"
     "9=false;",
     NULL},
    {"{\"\": \"blank\", \"container\": \"basket\", \"fruit\": {\"name\": \"oranges\", \"type\": \"citrus\"}}",
     "=blank;container=basket;fruit,name=oranges;fruit,type=citrus;", NULL},
    {"{\"kind\": [3, \"apples\"], \"type\": {\"\": 2, \"color\": \"red\"}}",
     "kind,0=3;kind,1=apples;type=2;type,color=red;", NULL},
    {"{\"0\": 1, \"2\": 2}", "0=1;2=2;", NULL},
    {"{\"1\": 1, \"2\": 2}", "1=1;2=2;", NULL},
    {"{\"0\": 1, \"a\": 2}", "0=1;a=2;", NULL},
    {"{\"\": \"only\"}", "=only;", NULL},
    {"[0.5, -0.5, -1, 1e3, 1.50, 2E-2, 0, -0, 123456789012345678901]",
     "0=.5;1=-.5;2=-1;3=1000;4=1.5;5=.02;6=0;7=0;8=123456789012345678000;",
     "[0.5, -0.5, -1, 1000, 1.5, 0.02, 0, 0, 123456789012345678000]"},
    {" [ \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\" , \"\\u00e4\\u20ac\\ud83d\\ude00\" ] ",
     "0=\"\\/\b\f\n\r\t\x01;1=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80;",
     "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\", \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]"},
    {"{\"a\": {\"b\": {}}, \"c\": [[]], \"d\": \"\"}", "d=;", "{\"d\": \"\"}"},
    {"{\"a\": 1, \"a\": 2}", "a=2;", "{\"a\": 2}"},
};

static void goes_both_ways(void **state)
{
    char name[16];

    (void)state;
    for (size_t i = 0; i < sizeof both_ways / sizeof *both_ways; i++) {
        snprintf(name, sizeof name, "a%zu", i);
        assert_int_equal(read_json(name, both_ways[i].json), YDB_OK);
        assert_string_equal(nodes_of(name), both_ways[i].nodes);
        if (both_ways[i].nodes[0] != '\0')
            assert_string_equal(json_of(name),
                                both_ways[i].back != NULL ? both_ways[i].back : both_ways[i].json);
    }
}

static void is_about_the_subtree(void **state)
{
    ydb_buffer_t s[2] = {b("x"), b("y")};
    ydb_string_t ret, value = {8, "{\"c\": 1}"};

    (void)state;
    put("a", "w", "1");
    put("a", "x", "root");
    put("a", "z", "1");
    assert_int_equal(decode(var("a"), 2, s, "JSON", &value), YDB_OK);
    assert_string_equal(nodes_of("a"), "w=1;x=root;x,y,c=1;z=1;");
    assert_int_equal(encode(var("a"), 1, s, "json", &ret), YDB_OK);
    assert_string_equal(ret.address, "{\"\": \"root\", \"y\": {\"c\": 1}}");
    free(ret.address);
}

static void is_all_or_nothing_in_a_global(void **state)
{
    (void)state;
    if (mode->caret[0] == '\0')
        return;
    put("a", "a", "kept");
    char big[3000] = "{\"a\": 1, \"b\": {\"";
    memset(big + strlen(big), 'k', 2000);
    strcat(big, "\": 1}}");
    fails(read_json("a", big), GVSUBOFLOW, "Maximum combined length of subscripts exceeded,%YDB-I-GVIS");
    assert_string_equal(nodes_of("a"), "a=kept;");
    fails(read_json("a", "{\"a\": 1e99}"), NUMOFLOW, "Numeric overflow");
    fails(read_json("a", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
          MAXNRSUBSCRIPTS, "Maximum number of subscripts exceeded");
    assert_string_equal(nodes_of("a"), "a=kept;");
}

static void refuses_what_is_no_json(void **state)
{
    static const char *const bad[] = {"x",
                                      "1",
                                      "\"a\"",
                                      "{",
                                      "[",
                                      "[1",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "[1,]",
                                      "[01]",
                                      "[1.]",
                                      "[.5]",
                                      "[+1]",
                                      "[-]",
                                      "[1e]",
                                      "[\"a]",
                                      "[\"\\x\"]",
                                      "[\"\\u12\"]",
                                      "[tru]",
                                      "[1] x",
                                      "{1:2}",
                                      "[\"\x01\"]",
                                      "[\"\xff\"]",
                                      "[\"\\ud800\"]",
                                      "[\"\\udc00\"]",
                                      "[1 2]",
                                      "{\"a\":1,}",
                                      "[\"\xed\xa0\x80\"]"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(read_json("a", bad[i]), JANSSONINVALIDJSON, " - in ydb_decode_s() call");
    assert_string_equal(nodes_of("a"), "");
    fails(read_json("a", "[1,\n x]"), JANSSONINVALIDJSON,
          "Invalid JSON: invalid token at line 2, column 2 - in");
    put("a", "x", "\xff");
    ydb_string_t ret = {7, NULL};
    fails(encode(var("a"), 0, NULL, "JSON", &ret), JANSSONENCODEERROR,
          "not UTF-8 (255) - in ydb_encode_s() call");
    assert_int_equal(ret.length, 7);
    assert_null(ret.address);
}

static void needs_arguments(void **state)
{
    ydb_string_t value = {2, "{}"}, nowhere = {2, NULL}, empty = {0, "{}"}, ret;

    (void)state;
    fails(decode(var("a"), 0, NULL, NULL, &value), PARAMINVALID,
          "NULL format parameter specified in ydb_decode_s()");
    fails(decode(var("a"), 0, NULL, "XML", &value), PARAMINVALID, "Invalid format");
    fails(decode(var("a"), 0, NULL, "JSON", NULL), PARAMINVALID, "NULL value parameter");
    fails(decode(var("a"), 0, NULL, "JSON", &nowhere), PARAMINVALID, "NULL value->address");
    fails(decode(var("a"), 0, NULL, "JSON", &empty), PARAMINVALID, "Invalid value->length");
    fails(encode(var("a"), 0, NULL, "JSON", NULL), PARAMINVALID, "NULL ret_value parameter");
    fails(encode(var("1"), 0, NULL, "JSON", NULL), INVVARNAME, "supplied");
    int rc = encode(var("a"), 0, NULL, "JSON", &ret);
    if (mode->caret[0] != '\0')
        fails(rc, GVUNDEF, "Global variable undefined: ^a");
    else
        fails(rc, LVUNDEF, "Undefined local variable: a");
}

static int call_encode(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    ydb_string_t ret;

    return encode(v, n, s, "JSON", &ret);
}

static int call_decode(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    ydb_string_t value = {2, "{}"};

    return decode(v, n, s, "JSON", &value);
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call_encode, OTHERS);
    node_errors(call_decode, OTHERS);
}

/* ----------------------------------------------------------- what comes back */

static uint64_t seed = 88172645463325252u;

static unsigned dice(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

/* Random trees of values that JSON can hold. */
static void every_tree_comes_back(void **state)
{
    static const char *const words[] = {"a",  "b",  "0",        "1",  "2",    "-1",
                                        ".5", "07", "\xc3\xa4", "\"", "x\\y", "true"};
    static const char *const values[] = {"1",    "-.25",         "",     "text", "1e5", "007",
                                         "null", "\xe2\x82\xac", "tab\t"};
    char before[4096];

    (void)state;
    for (int round = 0; round < 200; round++) {
        ydb_buffer_t none = {0, 0, NULL};
        assert_int_equal(delete (var("a"), 0, NULL, YDB_DEL_TREE), YDB_OK);
        assert_int_equal(delete (var("b"), 0, NULL, YDB_DEL_TREE), YDB_OK);
        for (unsigned i = dice(12) + 1; i > 0; i--) {
            ydb_buffer_t s[4], v = b(values[dice(9)]);
            int n = (int)dice(5);
            for (int k = 0; k < n; k++)
                s[k] = b(words[dice(12)]);
            assert_int_equal(set(var("a"), n, n != 0 ? s : &none, &v), YDB_OK);
        }
        snprintf(before, sizeof before, "%s", nodes_of("a"));
        assert_int_equal(read_json("b", json_of("a")), YDB_OK);
        assert_string_equal(nodes_of("b"), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(goes_both_ways),          EACH(is_about_the_subtree), EACH(is_all_or_nothing_in_a_global),
        EACH(refuses_what_is_no_json), EACH(needs_arguments),      EACH(refuses_what_is_no_node),
        EACH(every_tree_comes_back),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
