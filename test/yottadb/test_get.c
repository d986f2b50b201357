/* ydb_get_s, ydb_get_st. */
#include "yottadb/api.h"

static void gives_the_value(void **state)
{
    struct out o;
    ydb_buffer_t s[2] = {b("x"), b("7")}, value = b("hello");

    (void)state;
    assert_int_equal(set(var("a"), 2, s, &value), YDB_OK);
    assert_int_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "hello");
    put("a", NULL, "root");
    assert_string_equal(value_of("a", NULL), "root");
}

static void says_that_there_is_no_value(void **state)
{
    struct out o;
    ydb_buffer_t s[2] = {b("x"), b("7")};
    const char *node = mode->caret[0] != 0 ? "undefined: ^a(\"x\",7)" : "variable: a(x,7)";

    (void)state;
    int rc = get(var("a"), 2, s, out(&o));
    if (mode->caret[0] != 0)
        fails(rc, GVUNDEF, node);
    else
        fails(rc, LVUNDEF, node);
    put("a", "x", "1");
    assert_int_not_equal(get(var("a"), 2, s, out(&o)), YDB_OK); /* a parent's value is not its */
    assert_int_not_equal(get(var("a"), 0, NULL, out(&o)), YDB_OK);
    assert_true(untouched(&o));
}

static void names_even_the_longest_node(void **state)
{
    static char big[900];
    struct out o;
    ydb_buffer_t s[31];
    char text[YDB_MAX_ERRORMSG];

    (void)state;
    memset(big, 1, sizeof big); /* $C(1) each: much longer as text */
    for (int i = 0; i < 31; i++)
        s[i] = bytes(big, i % 2 + 1u);
    int rc = get(var("a"), 20, s, out(&o));
    assert_true(rc == YDB_ERR_GVUNDEF || rc == YDB_ERR_LVUNDEF);
    assert_int_equal(ydb_zstatus(text, sizeof text), YDB_OK);
    assert_non_null(strstr(text, "a("));
}

static void takes_31_subscripts(void **state)
{
    struct out o;
    ydb_buffer_t s[31], value = b("deep");

    (void)state;
    for (int i = 0; i < 31; i++)
        s[i] = b(i % 2 ? "k" : "2");
    assert_int_equal(set(var("a"), 31, s, &value), YDB_OK);
    assert_int_equal(get(var("a"), 31, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "deep");
    s[30] = b("3");
    assert_int_not_equal(get(var("a"), 31, s, out(&o)), YDB_OK);
}

static void takes_the_longest_name(void **state)
{
    (void)state;
    put("a234567890123456789012345678901", "", "long");
    assert_string_equal(value_of("a234567890123456789012345678901", ""), "long");
    put("%", NULL, "percent");
    assert_string_equal(value_of("%", NULL), "percent");
    put("%Z9z", NULL, "mixed");
    assert_string_equal(value_of("%Z9z", NULL), "mixed");
}

static void takes_any_bytes(void **state)
{
    struct out o;
    char all[256];
    ydb_buffer_t s[2] = {bytes("\0\xff\n", 3), bytes("", 0)}, value = bytes(all, sizeof all),
                 none = {0, 0, NULL};

    (void)state;
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    assert_int_equal(set(var("a"), 2, s, &value), YDB_OK);
    assert_int_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    assert_int_equal(o.buf.len_used, sizeof all);
    assert_memory_equal(o.room, all, sizeof all);
    s[1] = none; /* the empty string without an address */
    assert_int_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    s[0].len_used = 2;
    assert_int_not_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
}

static void tells_how_much_room_is_needed(void **state)
{
    struct out o;

    (void)state;
    put("a", NULL, "12345");
    assert_int_equal(get(var("a"), 0, NULL, out_of(&o, 5)), YDB_OK);
    assert_int_equal(o.buf.len_used, 5);
    fails(get(var("a"), 0, NULL, out_of(&o, 4)), INVSTRLEN, "Invalid string length 5: max 4");
    assert_int_equal(o.buf.len_used, 5);
    assert_int_equal(o.buf.len_alloc, 4);
    assert_true(untouched(&o));
    put("a", NULL, "");
    ydb_buffer_t none = {0, 9, NULL};
    assert_int_equal(get(var("a"), 0, NULL, &none), YDB_OK);
    assert_int_equal(none.len_used, 0);
}

static void gives_values_of_a_megabyte(void **state)
{
    char *big = calloc(1, YDB_MAX_STR), *room = malloc(YDB_MAX_STR);
    ydb_buffer_t value = bytes(big, YDB_MAX_STR), ret = {YDB_MAX_STR, 0, room};

    (void)state;
    for (int i = 0; i < YDB_MAX_STR; i++)
        big[i] = (char)(i * 7 + i / 251);
    assert_int_equal(set(var("a"), 0, NULL, &value), YDB_OK);
    assert_int_equal(get(var("a"), 0, NULL, &ret), YDB_OK);
    assert_int_equal(ret.len_used, YDB_MAX_STR);
    assert_memory_equal(room, big, YDB_MAX_STR);
    ret.len_alloc--;
    fails(get(var("a"), 0, NULL, &ret), INVSTRLEN, "Invalid string length 1048576: max 1048575");
    assert_int_equal(ret.len_used, YDB_MAX_STR);
    free(big);
    free(room);
}

static void needs_a_buffer(void **state)
{
    ydb_buffer_t nowhere = {5, 0, NULL};

    (void)state;
    fails(get(var("a"), 0, NULL, NULL), PARAMINVALID,
          "NULL ret_value parameter specified in ydb_get_s() call");
    fails(get(var("1"), 0, NULL, NULL), INVVARNAME, "supplied to API call");
    assert_string_equal(value_of("a", NULL), "(undefined)");
    int rc = get(var("a"), 0, NULL, &nowhere);
    assert_int_equal(rc, mode->caret[0] != '\0' ? YDB_ERR_GVUNDEF : YDB_ERR_LVUNDEF);
    put("a", NULL, ""); /* there is nothing to store */
    assert_int_equal(get(var("a"), 0, NULL, &nowhere), YDB_OK);
    put("a", NULL, "123456"); /* the length is looked at first */
    fails(get(var("a"), 0, NULL, &nowhere), INVSTRLEN, "Invalid string length 6: max 5");
    put("a", NULL, "1");
    fails(get(var("a"), 0, NULL, &nowhere), PARAMINVALID, "NULL ret_value->buf_addr parameter specified in");
    assert_int_equal(nowhere.len_used, 1);
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    static struct out o;
    return get(v, n, s, out(&o));
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, GETS);
}

/* More paths in turns than are remembered, of the same and of other lengths. */
static void mixes_up_no_nodes(void **state)
{
    char name[3] = "a", x[8], y[8], want[32];

    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            int depth = i % 3;
            struct out o;
            name[0] = (char)('a' + i % 13);
            snprintf(x, sizeof x, "%d", i / 7 % 5);
            snprintf(y, sizeof y, "%s%d", i % 2 ? "s" : "", i / 11 % 9);
            snprintf(want, sizeof want, "%s/%d/%s/%s", name, depth, depth > 1 ? x : "", depth > 0 ? y : "");
            ydb_buffer_t s[2] = {b(depth > 1 ? x : y), b(y)}, value = b(want);
            if (round == 0)
                assert_int_equal(set(var(name), depth, s, &value), YDB_OK);
            assert_int_equal(get(var(name), depth, s, out(&o)), YDB_OK);
            assert_string_equal(text(&o), want);
        }
}

static void remembers_nothing_of_a_failed_call(void **state)
{
    static char big[1100];
    struct out o;
    ydb_buffer_t s[2] = {b("p"), b("1")};

    (void)state;
    memset(big, 'x', sizeof big);
    ydb_buffer_t value = b("one");
    assert_int_equal(set(var("a"), 2, s, &value), YDB_OK);
    s[1] = bytes(big, sizeof big);
    if (mode->caret[0] == '^')
        fails(get(var("a"), 2, s, out(&o)), GVSUBOFLOW, "Maximum combined length");
    else
        fails(get(var("a"), 2, s, out(&o)), LVUNDEF, "Undefined local variable: a(p,xxx");
    s[1] = b("1");
    assert_int_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "one");
}

/* The walk that went before knows the way to the node it came to, by what its buffers said then. */
static void is_not_misled_by_a_walk(void **state)
{
    ydb_buffer_t s[2] = {b("p"), b("1")}, value = b("one"), shared[2];
    struct out o, both;
    int n = 2;

    (void)state;
    assert_int_equal(set(var("a"), 2, s, &value), YDB_OK);
    shared[0] = shared[1] = *out(&both); /* one buffer for two subscripts */
    assert_int_equal(node_next(var("a"), 0, NULL, &n, shared), YDB_OK);
    assert_int_equal(n, 2);
    assert_memory_equal(both.room, "1", 1);
    s[0] = b("1");
    assert_int_not_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    s[0] = b("p");
    assert_int_equal(get(var("a"), 2, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "one");
    n = 1;
    assert_int_equal(node_next(var("a"), 0, NULL, &n, shared), YDB_ERR_INSUFFSUBS);
    assert_int_not_equal(get(var("a"), 1, shared, out(&o)), YDB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(gives_the_value),
        EACH(says_that_there_is_no_value),
        EACH(names_even_the_longest_node),
        EACH(takes_31_subscripts),
        EACH(takes_the_longest_name),
        EACH(takes_any_bytes),
        EACH(tells_how_much_room_is_needed),
        EACH(gives_values_of_a_megabyte),
        EACH(needs_a_buffer),
        EACH(refuses_what_is_no_node),
        EACH(mixes_up_no_nodes),
        EACH(remembers_nothing_of_a_failed_call),
        EACH(is_not_misled_by_a_walk),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
