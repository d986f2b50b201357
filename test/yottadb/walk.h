/*
 * walk.h - the tests of ydb_node_next and of ydb_node_previous: `step` is the function, BACK 1 on the way back.
 */
#ifndef CARET_TEST_YOTTADB_WALK_H
#define CARET_TEST_YOTTADB_WALK_H

/* Subscripts of a node. */
struct path {
    int n;
    ydb_buffer_t s[31];
    char room[31][128];
};

static ydb_buffer_t *room_of(struct path *p, unsigned each)
{
    for (int i = 0; i < 31; i++)
        p->s[i] = (ydb_buffer_t){each, 0, p->room[i]};
    p->n = 31;
    return p->s;
}

/* "1,x" as a path. */
static void parse(struct path *p, const char *text)
{
    p->n = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        memcpy(p->room[p->n], text, len);
        p->s[p->n] = bytes(p->room[p->n], len);
        p->n++;
        text += len + (text[len] == ',');
    }
}

static const char *shown(const struct path *p)
{
    static char text[4096];
    size_t at = 0;

    text[0] = '\0';
    for (int i = 0; i < p->n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", i ? "," : "", (int)p->s[i].len_used,
                               p->s[i].buf_addr);
    return text;
}

static void set_at(const char *where)
{
    struct path p;

    parse(&p, where);
    assert_int_equal(set(var("a"), p.n, p.s, NULL), YDB_OK);
}

static const char *const nodes[] = {"", "1", "1,2,3", "2,x", "10", "A,1", "A,1,b", "b"};
#define COUNT ((int)(sizeof nodes / sizeof *nodes))

static void grow(void)
{
    for (int i = 0; i < COUNT; i++)
        set_at(nodes[(i * 3 + 2) % COUNT]);
    put("ab", "x", "");
    put("Z", "x", "");
}

static void goes_through_nodes_in_order(void **state)
{
    struct path at, next;

    (void)state;
    grow();
    parse(&at, BACK ? "c" : "");
    for (int i = BACK ? 0 : 1; i < COUNT; i++) {
        room_of(&next, sizeof next.room[0]);
        assert_int_equal(step(var("a"), at.n, at.s, &next.n, next.s), YDB_OK);
        assert_string_equal(shown(&next), nodes[BACK ? COUNT - 1 - i : i]);
        parse(&at, shown(&next));
    }
    room_of(&next, sizeof next.room[0]);
    assert_int_equal(step(var("a"), at.n, at.s, &next.n, next.s), YDB_ERR_NODEEND);
    assert_int_equal(next.n, 0);
    assert_int_equal(next.s[0].len_used, 0);
}

static void begins_where_there_is_no_node(void **state)
{
    struct path at, next;

    (void)state;
    grow();
    parse(&at, "1,2");
    room_of(&next, sizeof next.room[0]);
    assert_int_equal(step(var("a"), at.n, at.s, &next.n, next.s), YDB_OK);
    assert_string_equal(shown(&next), BACK ? "1" : "1,2,3");
    room_of(&next, sizeof next.room[0]);
    assert_int_equal(step(var("nosuch"), at.n, at.s, &next.n, next.s), YDB_ERR_NODEEND);
}

/* Clients hand in the array that the result goes to. */
static void may_store_where_it_reads(void **state)
{
    struct path p;

    (void)state;
    grow();
    room_of(&p, sizeof p.room[0]);
    memcpy(p.room[0], BACK ? "b" : "1", 1);
    p.s[0].len_used = 1;
    assert_int_equal(step(var("a"), 1, p.s, &p.n, p.s), YDB_OK);
    assert_string_equal(shown(&p), BACK ? "A,1,b" : "1,2,3");
}

static void tells_how_many_buffers_are_needed(void **state)
{
    struct path at, next;

    (void)state;
    set_at("1");
    set_at("5,6,7,8");
    set_at("9");
    parse(&at, BACK ? "9" : "1");
    room_of(&next, sizeof next.room[0]);
    next.n = 3;
    fails(step(var("a"), at.n, at.s, &next.n, next.s), INSUFFSUBS,
          "call too small - needs at least 4 entries for this call");
    assert_int_equal(next.n, 4);
    for (int i = 0; i < 31; i++) /* the buffers are left alone */
        assert_int_equal(next.s[i].len_used, 0);
    room_of(&next, sizeof next.room[0]);
    next.n = 0;
    fails(step(var("a"), at.n, at.s, &next.n, NULL), INSUFFSUBS, "Return subscript array for ydb_node_");
    assert_int_equal(next.n, 4);
    room_of(&next, sizeof next.room[0]);
    next.n = 4;
    assert_int_equal(step(var("a"), at.n, at.s, &next.n, next.s), YDB_OK);
    assert_int_equal(next.n, 4);
}

static void tells_which_buffer_is_too_short(void **state)
{
    struct path at, next;

    (void)state;
    set_at("1");
    set_at("5,longer,7");
    set_at("9");
    parse(&at, BACK ? "9" : "1");
    room_of(&next, 5);
    fails(step(var("a"), at.n, at.s, &next.n, next.s), INVSTRLEN, "Invalid string length 6: max 5");
    assert_int_equal(next.n, 1);
    assert_int_equal(next.s[1].len_used, 6);
    assert_int_equal(next.s[0].len_used, 1);
    assert_memory_equal(next.room[0], "5", 1);
    room_of(&next, 6);
    assert_int_equal(step(var("a"), at.n, at.s, &next.n, next.s), YDB_OK);
    room_of(&next, 6);
    next.s[2].buf_addr = NULL;
    fails(step(var("a"), at.n, at.s, &next.n, next.s), PARAMINVALID,
          "NULL ret_subsarray->buf_addr parameter");
    assert_int_equal(next.n, 2);
}

static void takes_31_subscripts(void **state)
{
    struct path at, next;
    ydb_buffer_t s[31];

    (void)state;
    for (int i = 0; i < 31; i++)
        s[i] = b("k");
    assert_int_equal(set(var("a"), 31, s, NULL), YDB_OK);
    parse(&at, BACK ? "z" : "a");
    room_of(&next, sizeof next.room[0]);
    assert_int_equal(step(var("a"), at.n, at.s, &next.n, next.s), YDB_OK);
    assert_int_equal(next.n, 31);
    assert_memory_equal(next.room[30], "k", 1);
    assert_int_equal(step(var("a"), 31, s, &next.n, next.s), YDB_ERR_NODEEND);
}

static void needs_buffers(void **state)
{
    struct path p, at;
    int n = -1;

    (void)state;
    fails(step(var("a"), 0, NULL, NULL, room_of(&p, 1)), PARAMINVALID,
          "NULL ret_subs_used parameter specified in ydb_node_");
    fails(step(var("a"), 32, NULL, NULL, p.s), MAXNRSUBSCRIPTS, "Maximum number of subscripts");
    set_at("5");
    parse(&at, BACK ? "9" : "1");
    fails(step(var("a"), at.n, at.s, &n, p.s), INSUFFSUBS, "at least 1 entries");
    fails(step(var("a"), at.n, at.s, &n, NULL), PARAMINVALID,
          "NULL ret_subsarray parameter specified in ydb_node_");
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    static struct path p;

    room_of(&p, 1);
    return step(v, n, s, &p.n, p.s);
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    node_errors(call, OTHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(goes_through_nodes_in_order),
        EACH(begins_where_there_is_no_node),
        EACH(may_store_where_it_reads),
        EACH(tells_how_many_buffers_are_needed),
        EACH(tells_which_buffer_is_too_short),
        EACH(takes_31_subscripts),
        EACH(needs_buffers),
        EACH(refuses_what_is_no_node),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}

#endif
