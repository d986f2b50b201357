#include "support.h"

#include <errno.h>
#include <math.h>

#include "api/node.h"
#include "base/error.h"
#include "base/key.h"
#include "shm/pager.h"

#define HEAD sizeof(struct caret__node)

static const char *zwr(const caret_node *n)
{
    static char text[8000];
    size_t len;

    assert_int_equal(caret_node_zwr(n, 1, text, sizeof text - 1, &len), CARET_OK);
    text[len] = '\0';
    return text;
}

static caret_node_buf node(const char *text)
{
    caret_node_buf n;

    if (caret_node_parse(&n.node, sizeof n, text, strlen(text), 1) != CARET_OK)
        fail_msg("%s: %s", text, caret_message());
    return n;
}

/* What describes the key must always be what a walk over it says. */
static void check(const caret_node *n)
{
    const struct caret__node *p = caret__node_const(n);
    size_t last;

    assert_true(caret__key_valid(caret__node_key(p), p->key_len));
    assert_int_equal(caret__key_depth(caret__node_key(p), p->key_len, &last), p->depth);
    assert_int_equal(last, p->last_off);
    assert_int_equal(caret__key_name_len(caret__node_key(p), p->key_len), p->name_len);
    assert_true(p->key_len <= p->key_cap);
}

#define assert_zwr(n, text)                                                                                  \
    do {                                                                                                     \
        check(n);                                                                                            \
        assert_string_equal(zwr(n), text);                                                                   \
    } while (0)

static void nodes_are_built_step_by_step(void **state)
{
    caret_node_buf a, b;
    char name[CARET_MAX_NAME + 2];
    caret_slice slice;

    (void)state;
    assert_int_equal(caret_node_var(&a.node, sizeof a, "^oaks", 5), CARET_OK);
    assert_zwr(&a.node, "^oaks");
    assert_int_equal(caret_node_depth(&a.node), 0);
    assert_int_equal(caret_node_is_local(&a.node), 0);
    assert_int_equal(caret_node_child_int(&b.node, sizeof b, &a.node, 42), CARET_OK);
    assert_zwr(&b.node, "^oaks(42)");
    assert_int_equal(caret_node_child(&b.node, sizeof b, &b.node, "shadow", 6), CARET_OK);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &b.node, "-.5", 3), CARET_OK);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &b.node, NULL, 0), CARET_OK);
    assert_int_equal(caret_node_child_double(&b.node, sizeof b, &b.node, 0.5), CARET_OK);
    assert_int_equal(caret_node_child_double(&b.node, sizeof b, &b.node, 1e300), CARET_OK);
    assert_zwr(&b.node, "^oaks(42,\"shadow\",-.5,\"\",.5,\"1E300\")");
    assert_int_equal(caret_node_depth(&b.node), 6);
    slice = caret_node_name(&b.node, name);
    assert_int_equal(slice.len, 5);
    assert_string_equal(slice.data, "^oaks");
    assert_int_equal(caret_node_var(&a.node, sizeof a, "%b1", 3), CARET_OK);
    assert_int_equal(caret_node_is_local(&a.node), 1);
    assert_string_equal(caret_node_name(&a.node, name).data, "%b1");
}

static void parents_and_copies(void **state)
{
    caret_node_buf a = node("^oaks(42,\"x\",.5)"), b;
    caret_node *exact;

    (void)state;
    assert_int_equal(caret_node_parent(&b.node, sizeof b, &a.node), CARET_OK);
    assert_zwr(&b.node, "^oaks(42,\"x\")");
    assert_int_equal(caret_node_parent(&b.node, sizeof b, &b.node), CARET_OK);
    assert_int_equal(caret_node_parent(&b.node, sizeof b, &b.node), CARET_OK);
    assert_zwr(&b.node, "^oaks");
    assert_int_equal(caret_node_parent(&b.node, sizeof b, &b.node), CARET_E_INVALID);
    assert_string_equal(caret_message(), "INVALID: ^oaks is a variable and has no parent");
    assert_zwr(&b.node, "^oaks");
    /* into exactly the memory it needs, and one byte less than its key */
    exact = malloc(caret_node_size(&a.node));
    assert_int_equal(caret_node_copy(exact, caret_node_size(&a.node), &a.node), CARET_OK);
    assert_zwr(exact, "^oaks(42,\"x\",.5)");
    assert_int_equal(caret_node_equal(exact, &a.node), 1);
    assert_int_equal(caret_node_set_last_int(exact, 1), CARET_OK);
    assert_int_equal(caret_node_set_last_int(exact, INT64_MIN), CARET_E_BUFFER);
    assert_int_equal(caret_node_set_last(exact, "0123456789", 10), CARET_E_BUFFER);
    assert_int_equal(caret_node_child_int(exact, caret_node_size(exact), exact, INT64_MAX), CARET_E_BUFFER);
    assert_zwr(exact, "^oaks(42,\"x\",1)");
    free(exact);
    assert_int_equal(caret_node_copy(&b.node, HEAD + caret__node(&a.node)->key_len - 1, &a.node),
                     CARET_E_BUFFER);
    assert_zwr(&b.node, "^oaks");
    assert_int_equal(caret_node_copy(&b.node, HEAD + caret__node(&a.node)->key_len, &a.node), CARET_OK);
}

static void a_node_is_cut_to_any_depth(void **state)
{
    caret_node_buf n = node("^oaks(42,\"x\",.5,\"\",-7)");

    (void)state;
    assert_int_equal(caret_node_cut(&n.node, 5), CARET_OK);
    assert_zwr(&n.node, "^oaks(42,\"x\",.5,\"\",-7)");
    assert_int_equal(caret_node_cut(&n.node, 3), CARET_OK);
    assert_zwr(&n.node, "^oaks(42,\"x\",.5)");
    assert_int_equal(caret_node_depth(&n.node), 3);
    assert_int_equal(caret_node_set_last_int(&n.node, 6), CARET_OK);
    assert_zwr(&n.node, "^oaks(42,\"x\",6)");
    assert_int_equal(caret_node_cut(&n.node, 1), CARET_OK);
    assert_int_equal(caret_node_child(&n.node, sizeof n, &n.node, "y", 1), CARET_OK);
    assert_zwr(&n.node, "^oaks(42,\"y\")");
    assert_int_equal(caret_node_cut(&n.node, 0), CARET_OK);
    assert_zwr(&n.node, "^oaks");
    assert_int_equal(caret_node_set_last_int(&n.node, 6), CARET_E_INVALID);
    assert_int_equal(caret_node_cut(NULL, 0), CARET_E_INVALID);
}

static void the_last_subscript_changes_in_place(void **state)
{
    caret_node_buf n = node("^a(\"keep\",\"a long one to be replaced\")");
    int64_t v;

    (void)state;
    assert_int_equal(caret_node_last_as_int(&n.node, &v), 0);
    for (int64_t i = -100000; i < 100000; i += 7) {
        assert_int_equal(caret_node_set_last_int(&n.node, i), CARET_OK);
        assert_int_equal(caret_node_last_as_int(&n.node, &v), 1);
        assert_int_equal(v, i);
    }
    assert_int_equal(caret_node_set_last_int(&n.node, INT64_MIN), CARET_OK);
    assert_zwr(&n.node, "^a(\"keep\",\"-9223372036854775808\")");
    assert_int_equal(caret_node_set_last(&n.node, "07", 2), CARET_OK);
    assert_zwr(&n.node, "^a(\"keep\",\"07\")");
    assert_int_equal(caret_node_set_last(&n.node, "7", 1), CARET_OK);
    assert_zwr(&n.node, "^a(\"keep\",7)");
    n = node("^a");
    assert_int_equal(caret_node_set_last_int(&n.node, 1), CARET_E_INVALID);
    assert_int_equal(caret_node_set_last(&n.node, "x", 1), CARET_E_INVALID);
    assert_string_equal(caret_message(), "INVALID: ^a has no subscript to change");
}

static void integers_never_leave_the_memory_of_the_node(void **state)
{
    static const int64_t values[] = {
        0, 5, -123456, INT64_C(1234567890123456), INT64_C(-123456789012345678), INT64_MIN};
    caret_node_buf parent = node("^a");

    (void)state;
    for (size_t bytes = HEAD + 3; bytes < HEAD + 40; bytes++) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            size_t need = HEAD + 2 + caret__sub_put_i64((uint8_t[32]){0}, 32, values[i]);
            int want = need <= bytes ? CARET_OK : CARET_E_BUFFER;
            caret_node *n = malloc(bytes);

            assert_int_equal(caret_node_child_int(n, bytes, &parent.node, 0), CARET_OK);
            assert_int_equal(caret_node_set_last_int(n, values[i]), want);
            assert_int_equal(caret_node_child_int(n, bytes, &parent.node, values[i]), want);
            check(n);
            free(n);
        }
    }
}

static void assert_same_hint(struct caret__hint a, struct caret__hint b)
{
    assert_true(a.version == b.version && a.owner == b.owner && a.pgno == b.pgno && a.pos == b.pos &&
                a.found == b.found);
}

/* What a thread may see of a node while others note their hints in it. */
static void words_of_two_hints_make_none(void **state)
{
    const uint64_t a_store = caret__spread_id(1, false), other = caret__spread_id(2, false);
    const struct caret__hint of[] = {{1000, a_store, 64, 0, 1}, {1000, a_store, 64, 1, 1},
                                     {1001, a_store, 64, 0, 1}, {1001, a_store, 65, 0, 1},
                                     {1000, a_store, 65, 3, 0}, {1002, a_store, 64, 0, 0},
                                     {1000, other, 900, 12, 1}, {0, a_store, 64, 0, 1},
                                     {1001, other, 64, 0, 1},   {5000, 0, 0, 0, 0}};
    const unsigned n = sizeof of / sizeof *of;
    caret_node_buf a = node("^a(1)");
    struct caret__hint_words w[sizeof of / sizeof *of];

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        caret__hint_put(caret__node(&a.node), of[i]);
        assert_same_hint(caret__hint_get(caret__node(&a.node)), of[i]);
        w[i] = caret__node(&a.node)->hint;
    }
    for (unsigned i = 0; i < n * n * n; i++) {
        const struct caret__hint_words *x = &w[i % n], *y = &w[i / n % n], *z = &w[i / n / n];
        caret__node(&a.node)->hint = (struct caret__hint_words){x->version, y->check, z->place};
        struct caret__hint h = caret__hint_get(caret__node(&a.node));
        for (unsigned k = 0; (h.owner == a_store || h.owner == other) && k <= n; k++) {
            assert_true(k < n); /* it must be a hint that there was */
            if (of[k].owner == h.owner && of[k].version == h.version && of[k].pgno == h.pgno &&
                of[k].pos == h.pos)
                break;
        }
    }
}

static void hints_are_kept_only_where_they_help(void **state)
{
    caret_node_buf a = node("^a(1)"), b;
    struct caret__node *p = caret__node(&a.node);

    (void)state;
    const struct caret__hint hint = {
        .version = 9, .owner = 7, .pgno = 5, .pos = 3, .found = CARET__HINT_FOUND};
    assert_int_equal(caret__hint_get(p).owner, 0);
    caret__hint_put(p, hint);
    caret_node_copy(&b.node, sizeof b, &a.node);
    assert_same_hint(caret__hint_get(caret__node(&b.node)), hint);
    caret_node_child_int(&b.node, sizeof b, &a.node, 1);
    assert_int_equal(caret__hint_get(caret__node(&b.node)).owner, 0);
    caret_node_set_last_int(&a.node, 2);
    assert_int_not_equal(caret__hint_get(p).owner, 7);
    caret__hint_put(p, hint);
    caret_node_set_last(&a.node, "x", 1);
    assert_int_not_equal(caret__hint_get(p).owner, 7);
    caret__hint_put(p, hint);
    caret_node_child(&a.node, sizeof a, &a.node, "x", 1);
    assert_int_equal(caret__hint_get(p).owner, 0);
    caret__hint_put(p, hint);
    caret_node_parent(&a.node, sizeof a, &a.node);
    assert_int_equal(caret__hint_get(p).owner, 0);
}

static void subscripts_come_back_as_text(void **state)
{
    caret_node_buf n = node("^a(-12.5,\"b\"\"c\",\"\",1000,$C(0))");
    static const char *const want[] = {"-12.5", "b\"c", "", "1000", "\0"};
    static const size_t lens[] = {5, 3, 0, 4, 1};
    char buf[16];
    size_t len;
    int is_number;

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(caret_node_subscript(&n.node, i, buf, lens[i], &len, &is_number), CARET_OK);
        assert_int_equal(len, lens[i]);
        assert_memory_equal(buf, want[i], len);
        assert_int_equal(is_number, i == 0 || i == 3);
        if (lens[i] > 0) {
            assert_int_equal(caret_node_subscript(&n.node, i, buf, lens[i] - 1, &len, NULL), CARET_E_BUFFER);
            assert_int_equal(len, lens[i]);
        }
    }
    assert_int_equal(caret_node_subscript(&n.node, 5, buf, sizeof buf, &len, NULL), CARET_E_INVALID);
    assert_string_equal(caret_message(),
                        "INVALID: caret_node_subscript: i is 5; the node has 5 subscripts, from 0 on");
}

static void nodes_compare_in_database_order(void **state)
{
    static const char *const order[] = {"a",      "a(\"x\")",   "b",         "^a",    "^a(\"\")",
                                        "^a(-1)", "^a(-1,2)",   "^a(0)",     "^a(2)", "^a(2,\"x\",1)",
                                        "^a(10)", "^a(\"07\")", "^a(\"b\")", "^aa",   "^b"};

    (void)state;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
            caret_node_buf a = node(order[i]), b = node(order[k]);
            int c = caret_node_compare(&a.node, &b.node);

            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
            assert_int_equal(caret_node_equal(&a.node, &b.node), i == k);
        }
    }
}

static void bad_names_are_refused_and_nothing_is_written(void **state)
{
    static const char *const bad[] = {"",    "^",   "1",     "^1",
                                      "^^a", "a b", "^a(1)", "^a234567890123456789012345678901234"};
    caret_node_buf n = node("^keep(1)");

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(caret_node_var(&n.node, sizeof n, bad[i], strlen(bad[i])), CARET_E_NAME);
        assert_zwr(&n.node, "^keep(1)");
    }
    assert_int_equal(caret_node_var(&n.node, HEAD + 4, "^oaks", 5), CARET_E_BUFFER);
    assert_int_equal(caret_node_var(&n.node, 10, "^oaks", 5), CARET_E_BUFFER);
    assert_zwr(&n.node, "^keep(1)");
    assert_int_equal(caret_node_var(&n.node, HEAD + 5, "^oaks", 5), CARET_OK);
    assert_int_equal(caret_node_var(&n.node, sizeof n, NULL, 0), CARET_E_INVALID);
    assert_int_equal(caret_node_var(&n.node, sizeof n, "^a23456789012345678901234567890", 31), CARET_OK);
}

static void at_most_31_subscripts(void **state)
{
    caret_node_buf n = node("^a"), b = node("^b");

    (void)state;
    for (int i = 0; i < 31; i++)
        assert_int_equal(caret_node_child_int(&n.node, sizeof n, &n.node, i % 10), CARET_OK);
    assert_int_equal(caret_node_child_int(&n.node, sizeof n, &n.node, 1), CARET_E_MAXSUBS);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &n.node, "x", 1), CARET_E_MAXSUBS);
    assert_int_equal(caret_node_depth(&n.node), 31);
    assert_zwr(&b.node, "^b");
    assert_int_equal(caret_node_set_last_int(&n.node, 77), CARET_OK);
    check(&n.node);
}

static void keys_reach_the_limit_exactly(void **state)
{
    char sub[2 * CARET__KEY_MAX];
    caret_node_buf n = node("^a"), b = node("^b(1)");
    const size_t most = CARET__KEY_MAX - 2 - 2; /* name and its end, type and end */

    (void)state;
    memset(sub, 'x', sizeof sub);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &n.node, sub, most + 1), CARET_E_KEY2BIG);
    assert_non_null(strstr(caret_message(), "the key of ^a "));
    assert_zwr(&b.node, "^b(1)");
    assert_int_equal(caret_node_set_last(&b.node, sub, most + 1), CARET_E_KEY2BIG);
    assert_zwr(&b.node, "^b(1)");
    assert_int_equal(caret_node_child(&b.node, sizeof b, &n.node, sub, most), CARET_OK);
    assert_int_equal(caret__node(&b.node)->key_len, CARET__KEY_MAX);
    check(&b.node);
    assert_int_equal(caret_node_child_int(&b.node, sizeof b, &b.node, 0), CARET_E_KEY2BIG);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &b.node, NULL, 0), CARET_E_KEY2BIG);
    /* an escaped byte counts twice */
    memset(sub, 1, sizeof sub);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &n.node, sub, most / 2 + 1), CARET_E_KEY2BIG);
    assert_int_equal(caret_node_child(&b.node, sizeof b, &n.node, sub, most / 2), CARET_OK);
    check(&b.node);
    /* integers close to it */
    memset(sub, 'x', sizeof sub);
    for (size_t room = 0; room < 30; room++) {
        caret_node_buf c;
        int rc;

        assert_int_equal(caret_node_child(&b.node, sizeof b, &n.node, sub, most - room), CARET_OK);
        rc = caret_node_child_int(&c.node, sizeof c, &b.node, 123456);
        assert_int_equal(rc, room >= 5 ? CARET_OK : CARET_E_KEY2BIG);
        if (rc == CARET_OK)
            check(&c.node);
        rc = caret_node_child_int(&c.node, sizeof c, &b.node, INT64_MIN);
        assert_int_equal(rc, room >= 22 ? CARET_OK : CARET_E_KEY2BIG);
    }
}

static void memory_that_is_no_node_is_refused(void **state)
{
    caret_node_buf junk = {.bytes = {0}}, n = node("^a(1)");
    char text[64];
    size_t len;
    int64_t v;

    (void)state;
    assert_int_equal(caret_node_child_int(&n.node, sizeof n, &junk.node, 1), CARET_E_INVALID);
    assert_int_equal(caret_node_child(&n.node, sizeof n, NULL, "x", 1), CARET_E_INVALID);
    assert_int_equal(caret_node_child(&n.node, sizeof n, &n.node, NULL, 1), CARET_E_INVALID);
    assert_int_equal(caret_node_child_int(NULL, 0, &n.node, 1), CARET_E_INVALID);
    assert_int_equal(caret_node_child_double(&n.node, sizeof n, &n.node, NAN), CARET_E_INVALID);
    assert_int_equal(caret_node_child_double(&n.node, sizeof n, &n.node, -INFINITY), CARET_E_INVALID);
    assert_zwr(&n.node, "^a(1)");
    assert_int_equal(caret_node_set_last_int(&junk.node, 1), CARET_E_INVALID);
    assert_int_equal(caret_node_set_last(&junk.node, "x", 1), CARET_E_INVALID);
    assert_int_equal(caret_node_parent(&n.node, sizeof n, &junk.node), CARET_E_INVALID);
    assert_int_equal(caret_node_copy(&n.node, sizeof n, &junk.node), CARET_E_INVALID);
    assert_int_equal(caret_node_subscript(&junk.node, 0, text, sizeof text, &len, NULL), CARET_E_INVALID);
    assert_int_equal(caret_node_zwr(&junk.node, 1, text, sizeof text, &len), CARET_E_INVALID);
    assert_int_equal(caret_node_last_as_int(&junk.node, &v), 0);
    assert_int_equal(caret_node_depth(&junk.node), 0);
    assert_int_equal(caret_node_equal(&junk.node, &junk.node), 0);
    assert_int_equal(caret_node_name(&junk.node, text).len, 0);
}

static void a_node_takes_over_a_key(void **state)
{
    caret_node_buf n = node("^a(1)"), from = node("^other(\"x\",2,.5)");
    struct caret__node *p = caret__node(&n.node), *q = caret__node(&from.node);

    (void)state;
    p->hint.version = 9;
    assert_int_equal(caret__node_take_key(p, caret__node_key(q), q->key_len), CARET_OK);
    assert_zwr(&n.node, "^other(\"x\",2,.5)");
    assert_int_equal(p->hint.version, 9);
    assert_int_equal(caret__node_take_key(p, caret__node_key(q), q->key_len - 1u), CARET_E_CORRUPT);
    p->key_cap = (uint16_t)(q->key_len - 1);
    assert_int_equal(caret__node_take_key(p, caret__node_key(q), q->key_len), CARET_E_BUFFER);
    p->key_cap = q->key_len;
    assert_zwr(&n.node, "^other(\"x\",2,.5)");
}

static void every_outcome_has_a_symbol_and_failures_a_text(void **state)
{
    char long_text[3000];

    (void)state;
    for (int code = -48; code <= 6; code++) {
        if ((code >= -29 && code <= -16) || code == -48 || code == 6)
            assert_string_equal(caret_strerror(code), "NO_OUTCOME");
        else
            assert_string_not_equal(caret_strerror(code), "NO_OUTCOME");
    }
    assert_string_equal(caret_strerror(CARET_E_UNKNOWN), "UNKNOWN");
    assert_int_equal(caret__fail(CARET_E_OPEN, "%s is a directory", "/x"), CARET_E_OPEN);
    assert_string_equal(caret_message(), "OPEN: /x is a directory");
    assert_int_equal(caret_errno(), 0);
    caret__fail_for(EISDIR, CARET_E_OPEN, "%s is a directory", "/x");
    assert_string_equal(caret_message(), "OPEN: /x is a directory");
    assert_int_equal(caret_errno(), EISDIR);
    assert_string_equal(caret_fact(), caret_message());
    assert_string_equal(caret_advice(), "");
    assert_int_equal(caret__advise(caret__fail(CARET_E_OPEN, "/x"), "readonly reads it"), CARET_E_OPEN);
    assert_string_equal(caret_fact(), "OPEN: /x");
    assert_string_equal(caret_advice(), "readonly reads it");
    assert_string_equal(caret_message(), "OPEN: /x (option readonly reads it)");
    errno = ENOENT;
    assert_int_equal(caret__fail_errno(CARET_E_OPEN, "/x"), CARET_E_OPEN);
    assert_string_equal(caret_advice(), ""); /* it was another error's */
    assert_string_equal(caret_message(), "OPEN: /x: No such file or directory");
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_int_equal(caret_errno(), ENOENT);
    caret__fail(CARET_E_IO, "again: %s", caret_message());
    assert_string_equal(caret_message(), "IO: again: OPEN: /x: No such file or directory");
    assert_int_equal(caret_errno(), 0);
    errno = EIO;
    caret__fail_errno(CARET_E_IO, "/x");
    assert_int_equal(caret__outcome(CARET_RESTART), CARET_RESTART);
    assert_int_equal(caret_errno(), 0); /* of the text that is told now */
    assert_string_equal(caret_message(), "RESTART: the transaction must be run again");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    caret__fail(CARET_E_IO, "%s", long_text);
    assert_true(strlen(caret_message()) < CARET__MESSAGE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_built_step_by_step),
        cmocka_unit_test(parents_and_copies),
        cmocka_unit_test(a_node_is_cut_to_any_depth),
        cmocka_unit_test(the_last_subscript_changes_in_place),
        cmocka_unit_test(integers_never_leave_the_memory_of_the_node),
        cmocka_unit_test(words_of_two_hints_make_none),
        cmocka_unit_test(hints_are_kept_only_where_they_help),
        cmocka_unit_test(subscripts_come_back_as_text),
        cmocka_unit_test(nodes_compare_in_database_order),
        cmocka_unit_test(bad_names_are_refused_and_nothing_is_written),
        cmocka_unit_test(at_most_31_subscripts),
        cmocka_unit_test(keys_reach_the_limit_exactly),
        cmocka_unit_test(memory_that_is_no_node_is_refused),
        cmocka_unit_test(a_node_takes_over_a_key),
        cmocka_unit_test(every_outcome_has_a_symbol_and_failures_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
