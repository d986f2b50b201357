/*
 * The list of local variables with long keys, beside a session that has the same nodes: all that both can have they
 * answer alike, order and all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "m/locals.h"

#define DEEPEST 3

static caret_session *s;
static struct caret_m__locals locals;
static struct caret_m__key key;
static caret_node_buf node;
static uint64_t seed;

static unsigned dice(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 24) % n;
}

static void ok(int rc)
{
    if (rc != CARET_OK)
        fail_msg("%d: %s", rc, caret_message());
}

/* The same address in both, at random. */
static void somewhere(void)
{
    static const char *const names[] = {"a", "ab", "b", "%"};
    static const char *const subs[] = {"",   "-10", "-1",  "-.5",  "0",    ".5",      "1",
                                       "2",  "10",  "1E3", "01",   "1.0",  "A",       "a",
                                       "aa", "b",   "\1",  "\1\1", "\xff", "\xff\xff"};
    const char *name = names[dice(4)];

    ok(caret_m__key_var(&key, name, strlen(name)));
    ok(caret_node_var(&node.node, sizeof node, name, strlen(name)));
    for (unsigned n = dice(DEEPEST + 1); n != 0; n--) {
        const char *sub = subs[dice(20)];
        ok(caret_m__key_child(&key, sub, strlen(sub)));
        ok(caret_node_child(&node.node, sizeof node, &node.node, sub, strlen(sub)));
    }
}

static void same_place(void)
{
    char room[CARET_MAX_NAME + 2], a[20], b[20];
    unsigned depth = caret_node_depth(&node.node);
    size_t n, m;

    assert_string_equal(caret_node_name(&node.node, room).data, (const char *)key.bytes);
    assert_int_equal(caret_m__key_depth(&key), depth);
    for (unsigned i = 0; i < depth; i++) {
        ok(caret_node_subscript(&node.node, i, a, sizeof a, &n, NULL));
        ok(caret_m__key_sub(&key, i, b, sizeof b, &m));
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
    }
}

static void moves(bool back, bool step)
{
    unsigned depth = caret_node_depth(&node.node);
    size_t len = 1;

    if (depth != 0)
        ok(caret_node_subscript(&node.node, depth - 1, (char[20]){0}, 20, &len, NULL));
    if (back && !step && len == 0)
        return; /* from beyond the last: that is the list's own */
    int rc = step ? (back ? caret_node_previous : caret_node_next)(s, &node.node)
                  : (back ? caret_previous : caret_next)(s, &node.node);
    int rc2 =
        step ? caret_m__long_step(locals.more, &key, back) : caret_m__long_sibling(locals.more, &key, back);
    if (rc == CARET_OK && back && !step && depth != 0) {
        ok(caret_node_subscript(&node.node, depth - 1, (char[20]){0}, 20, &len, NULL));
        if (len == 0)
            rc = CARET_NONE; /* the way back ends before the empty one */
    }
    assert_int_equal(rc, rc2);
    if (rc == CARET_OK)
        same_place();
}

static void looks(void)
{
    caret_slice v = {NULL, 0}, w = {NULL, 0};
    int data;

    ok(caret_data(s, &node.node, &data));
    assert_int_equal(caret_m__long_data(locals.more, &key), data);
    assert_int_equal(caret_get(s, &node.node, &v), caret_m__long_get(locals.more, &key, &w));
    assert_int_equal(v.len, w.len);
    if (v.len != 0)
        assert_memory_equal(v.data, w.data, v.len);
}

static void changes(void)
{
    char value[16];

    switch (dice(8)) {
    case 0:
        ok(caret_kill(s, &node.node));
        caret_m__long_kill(locals.more, &key);
        break;
    case 1:
        ok(caret_delete(s, &node.node));
        caret_m__long_delete(locals.more, &key);
        break;
    default:
        snprintf(value, sizeof value, "%u", dice(10000));
        ok(caret_set(s, &node.node, value, strlen(value)));
        ok(caret_m__long_set(locals.more, &key, value, strlen(value)));
    }
}

static void answers_as_a_session_does(void **state)
{
    (void)state;
    seed = 20261122;
    ok(caret_session_open(NULL, &s));
    ok(caret_session_open(NULL, &locals.s));
    ok(caret_m__lengthen(&locals, "a", 1));
    for (int i = 0; i < 60000; i++) {
        somewhere();
        changes();
        somewhere();
        looks();
        moves(dice(2) != 0, dice(2) != 0);
    }
    caret_m__long_free(locals.more);
    caret_session_close(locals.s);
    caret_session_close(s);
    caret_m__key_free(&key);
}

static size_t nodes_of(const struct caret_m__locals *all, const char *name)
{
    size_t n = 0;

    ok(caret_m__key_var(&key, name, strlen(name)));
    while (caret_m__long_step(all->more, &key, false) == CARET_OK)
        n++;
    return n;
}

/* Moved to the list, saved, changed and put back. */
static void variables_move_and_are_put_back(void **state)
{
    struct caret_m__locals all = {0};
    struct caret_m__saved *saved = NULL;
    caret_node_buf n;

    (void)state;
    ok(caret_session_open(NULL, &all.s));
    for (int i = 0; i < 1000; i++) {
        ok(caret_node_var(&n.node, sizeof n, i % 2 ? "a" : "b", 1));
        ok(caret_node_child_int(&n.node, sizeof n, &n.node, i));
        ok(caret_set(all.s, &n.node, "x", 1));
    }
    ok(caret_m__lengthen(&all, "a", 1));
    ok(caret_m__lengthen(&all, "a", 1)); /* it is there already */
    assert_true(caret_m__is_long(all.more, "a", 1));
    assert_false(caret_m__is_long(all.more, "b", 1));
    assert_int_equal(nodes_of(&all, "a"), 500);
    for (int star = 0; star < 2; star++) {
        ok(caret_m__save(&saved, 1, &all, star ? "*" : "a", 1));
        caret_m__long_kill_var(all.more, "a", 1);
        ok(caret_m__lengthen(&all, "b", 1));
        ok(caret_m__restore(saved, 1, &all));
        assert_int_equal(nodes_of(&all, "a"), 500);
        assert_int_equal(nodes_of(&all, "b"), 500);
        caret_m__forget(&saved, 1);
    }
    ok(caret_m__kill_others(&all, &(caret_slice){"b", 1}, 1));
    assert_int_equal(nodes_of(&all, "a"), 0);
    assert_int_equal(nodes_of(&all, "b"), 500);
    caret_m__long_free(all.more);
    caret_session_close(all.s);
    caret_m__key_free(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_a_session_does),
        cmocka_unit_test(variables_move_and_are_put_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
