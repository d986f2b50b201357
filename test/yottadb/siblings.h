/*
 * siblings.h - the tests of ydb_subscript_next and of ydb_subscript_previous: `step` is the function, BACK 1 on the way
 * back.
 */
#ifndef CARET_TEST_YOTTADB_SIBLINGS_H
#define CARET_TEST_YOTTADB_SIBLINGS_H

/* In the order of the database; the empty one is where the way begins and ends. */
static const char *const subs[] = {"-10", "-1", "-.5", "0", ".5", "1",  "2",
                                   "10",  "01", "1.0", "A", "a",  "aa", "b"};
#define COUNT ((int)(sizeof subs / sizeof *subs))

static void grow(void)
{
    for (int i = 0; i < COUNT; i++)
        put("a", subs[(i * 5 + 3) % COUNT], "");
    put("a", NULL, "root");
    put("ab", "x", "");
}

static void goes_through_siblings_in_order(void **state)
{
    struct out o;
    char room[32] = "";
    ydb_buffer_t s = bytes(room, 0);

    (void)state;
    grow();
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
        assert_string_equal(text(&o), subs[BACK ? COUNT - 1 - i : i]);
        memcpy(room, o.room, o.buf.len_used);
        s = bytes(room, o.buf.len_used);
    }
    out(&o)->len_used = 77; /* the result is left alone at the end */
    assert_int_equal(step(var("a"), 1, &s, &o.buf), YDB_ERR_NODEEND);
    assert_int_equal(o.buf.len_used, 77);
    assert_true(untouched(&o));
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_ERR_NODEEND);
}

static void begins_anywhere(void **state)
{
    struct out o;
    ydb_buffer_t s = b("5");

    (void)state;
    grow();
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), BACK ? "2" : "10");
    s = b(BACK ? "-11" : "bb");
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_ERR_NODEEND);
}

static void sees_nodes_that_only_have_children(void **state)
{
    struct out o;
    ydb_buffer_t s[3] = {b("1"), b("2"), b("3")};

    (void)state;
    assert_int_equal(set(var("a"), 3, s, NULL), YDB_OK);
    s[0] = s[1] = b("");
    assert_int_equal(step(var("a"), 1, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "1");
    s[0] = b("1");
    assert_int_equal(step(var("a"), 2, s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "2");
    s[0] = b("2");
    assert_int_equal(step(var("a"), 2, s, out(&o)), YDB_ERR_NODEEND);
}

static void sees_what_changes_on_the_way(void **state)
{
    struct out o;
    ydb_buffer_t s = b("");

    (void)state;
    put("a", "1", "");
    put("a", "3", "");
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), BACK ? "3" : "1");
    put("a", "2", "");
    s = b(BACK ? "3" : "1");
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "2");
    s = b("2");
    assert_int_equal(delete (var("a"), 1, &s, YDB_DEL_TREE), YDB_OK);
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), BACK ? "1" : "3");
}

/* The node that has the empty subscript is not seen by those who begin there. */
static void begins_and_ends_at_the_empty_subscript(void **state)
{
    struct out o;
    ydb_buffer_t s = b("");

    (void)state;
    put("a", "", "empty");
    put("a", "x", "");
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "x");
    s = b("x");
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_ERR_NODEEND);
    assert_int_equal(o.buf.len_used, 0);
}

static void goes_through_variables(void **state)
{
    struct out o;
    const char *want[3] = {"a", "ab", "b"};
    char name[40];

    (void)state;
    put("b", "1", "");
    put("a", NULL, "");
    put("ab", NULL, "");
    snprintf(name, sizeof name, "%s", var(BACK ? "z" : "%")->buf_addr);
    for (int i = 0; i < 3; i++) {
        ydb_buffer_t v = b(name);
        assert_int_equal(step(&v, 0, NULL, out(&o)), YDB_OK);
        assert_string_equal(text(&o), var(want[BACK ? 2 - i : i])->buf_addr);
        memcpy(name, o.room, o.buf.len_used + 1);
    }
    ydb_buffer_t v = b(name);
    assert_int_equal(step(&v, 0, NULL, out(&o)), YDB_ERR_NODEEND);
    ydb_buffer_t other = b(mode->caret[0] != '\0' ? "%" : "^%"); /* of the other kind there are none */
    assert_int_equal(step(&other, 0, NULL, out(&o)), YDB_ERR_NODEEND);
}

static void tells_how_much_room_is_needed(void **state)
{
    struct out o;
    ydb_buffer_t s = b("");

    (void)state;
    put("a", "12345", "");
    fails(step(var("a"), 1, &s, out_of(&o, 4)), INVSTRLEN, "Invalid string length 5: max 4");
    assert_int_equal(o.buf.len_used, 5);
    assert_true(untouched(&o));
    assert_int_equal(step(var("a"), 1, &s, out_of(&o, 5)), YDB_OK);
    assert_memory_equal(o.room, "12345", 5);
    fails(step(var(BACK ? "b" : "%"), 0, NULL, out_of(&o, 0)), INVSTRLEN, ": max 0");
}

static void gives_long_and_binary_subscripts(void **state)
{
    struct out o;
    char sub[80];
    ydb_buffer_t s = b("");

    (void)state;
    for (int i = 0; i < 80; i++)
        sub[i] = (char)(i % 3 == 0 ? 200 + i : i);
    ydb_buffer_t big = bytes(sub, sizeof sub);
    assert_int_equal(set(var("a"), 1, &big, NULL), YDB_OK);
    assert_int_equal(step(var("a"), 1, &s, out(&o)), YDB_OK);
    assert_int_equal(o.buf.len_used, sizeof sub);
    assert_memory_equal(o.room, sub, sizeof sub);
    assert_int_equal(step(var("a"), 1, &big, out(&o)), YDB_ERR_NODEEND);
}

static void needs_a_buffer(void **state)
{
    ydb_buffer_t nowhere = {5, 0, NULL};

    (void)state;
    fails(step(var("a"), 0, NULL, NULL), PARAMINVALID,
          "NULL ret_value parameter specified in ydb_subscript_");
    fails(step(var("a"), -1, NULL, NULL), MINNRSUBSCRIPTS, "Number of subscripts");
    put("a", NULL, "");
    fails(step(var(BACK ? "b" : "%"), 0, NULL, &nowhere), PARAMINVALID, "NULL ret_value->buf_addr parameter");
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    static struct out o;
    return step(v, n, s, out(&o));
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, OTHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(goes_through_siblings_in_order),
        EACH(begins_anywhere),
        EACH(sees_nodes_that_only_have_children),
        EACH(sees_what_changes_on_the_way),
        EACH(begins_and_ends_at_the_empty_subscript),
        EACH(goes_through_variables),
        EACH(tells_how_much_room_is_needed),
        EACH(gives_long_and_binary_subscripts),
        EACH(needs_a_buffer),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}

#endif
