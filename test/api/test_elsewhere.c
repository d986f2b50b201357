/*
 * Local variables that somebody else keeps (caret_session_locals): here another session does, by a table that goes from
 * node to node.  All that can be done with local variables is done at random in such a session and in a plain one,
 * and both answer the same.
 */
#include "support/database.h"

#include "base/rand.h"

static caret_session *kept, *shared, *plain; /* `shared` has its variables in `kept` */
static int entered, failing;

/* ---------------------------------------------------------------- the table */

static void enter(void *who)
{
    assert_ptr_equal(who, kept);
    entered++;
}

static void leave(void *who)
{
    (void)who;
    entered--;
}

static void node_at(caret_node_buf *n, const caret_slice *address, size_t count)
{
    assert_true(entered > 0);
    OK(caret_node_var(&n->node, sizeof *n, address->data, address->len));
    for (size_t i = 1; i < count; i++)
        OK(caret_node_child(&n->node, sizeof *n, &n->node, address[i].data, address[i].len));
}

static int get(void *who, const caret_slice *address, size_t count, caret_slice *value)
{
    caret_node_buf n;
    node_at(&n, address, count);
    return caret_get(who, &n.node, value);
}

static int set(void *who, const caret_slice *address, size_t count, caret_slice value)
{
    caret_node_buf n;
    if (failing)
        return CARET_E_LIMIT;
    node_at(&n, address, count);
    return caret_set(who, &n.node, value.data, value.len);
}

static int kill_at(void *who, const caret_slice *address, size_t count, int tree)
{
    caret_node_buf n;
    node_at(&n, address, count);
    return tree ? caret_kill(who, &n.node) : caret_delete(who, &n.node);
}

static int has_value(caret_node *n)
{
    int data;
    OK(caret_data(kept, n, &data));
    return data & 1;
}

/* From a node that is there to the first with a value at it or below. */
static int down(caret_node *n)
{
    return has_value(n) ? CARET_OK : caret_node_next(kept, n);
}

static int beyond(caret_node *n)
{
    int rc = caret_next(kept, n);
    while (rc == CARET_NONE && caret_node_depth(n) != 0) {
        OK(caret_node_parent(n, sizeof(caret_node_buf), n));
        rc = caret_next(kept, n);
    }
    return rc == CARET_OK ? down(n) : rc;
}

static int forward(caret_node *n, int place)
{
    if (place == CARET_AT && has_value(n))
        return CARET_OK;
    if (place == CARET_BEYOND)
        return beyond(n);
    int rc = caret_node_next(kept, n);
    return rc == CARET_NONE && (rc = caret_node_cut(n, 0)) == CARET_OK ? beyond(n) : rc;
}

static int backward(caret_node *n, int place)
{
    while (place == CARET_BEYOND && caret_last(kept, n) == CARET_OK)
        ;
    if (place != CARET_AT && has_value(n))
        return CARET_OK;
    int rc = caret_node_previous(kept, n);
    if (rc == CARET_NONE) {
        OK(caret_node_cut(n, 0));
        rc = caret_previous(kept, n);
        return rc == CARET_OK ? backward(n, CARET_BEYOND) : rc;
    }
    return rc;
}

static int seek(void *who, const caret_slice *address, size_t count, int place, int back, caret_slice *found,
                size_t *found_count)
{
    static char texts[CARET_MAX_SUBS + 1][CARET_MAX_KEY];
    caret_node_buf n;
    int rc;

    if (count == 0) {
        assert_false(back);
        rc = caret_first_var(who, &n.node, sizeof n, 1);
        rc = rc == CARET_OK ? down(&n.node) : rc;
    } else {
        node_at(&n, address, count);
        rc = back ? backward(&n.node, place) : forward(&n.node, place);
    }
    if (rc != CARET_OK)
        return rc;
    found[0] = caret_node_name(&n.node, texts[0]);
    *found_count = caret_node_depth(&n.node) + 1;
    for (unsigned i = 1; i < *found_count; i++) {
        found[i].data = texts[i];
        OK(caret_node_subscript(&n.node, i - 1, texts[i], sizeof texts[i], &found[i].len, NULL));
    }
    return CARET_OK;
}

static caret_locals table = {.size = sizeof table,
                             .enter = enter,
                             .leave = leave,
                             .get = get,
                             .set = set,
                             .kill = kill_at,
                             .seek = seek};

static int begin(void **state)
{
    (void)state;
    OK(caret_session_open(NULL, &kept));
    OK(caret_session_open(NULL, &shared));
    OK(caret_session_open(NULL, &plain));
    table.who = kept;
    failing = 0;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    assert_int_equal(entered, 0);
    caret_session_close(shared);
    caret_session_close(plain);
    caret_session_close(kept);
    return 0;
}

/* ------------------------------------------------------------- at random */

static struct caret__rand chance;

static caret_slice random_sub(void)
{
    static const char *const subs[] = {"",   "-1.5", "-1", "0",  ".5", "1", "2",
                                       "10", "1E5",  "A",  "AB", "b",  "é", "01"};
    const char *sub = subs[caret__rand_below(&chance, sizeof subs / sizeof *subs)];
    return (caret_slice){sub, strlen(sub)};
}

static void random_node(caret_node_buf *n)
{
    static const char names[] = "abz";
    OK(caret_node_var(&n->node, sizeof *n, &names[caret__rand_below(&chance, 3)], 1));
    for (uint32_t depth = caret__rand_below(&chance, 4); depth != 0; depth--) {
        caret_slice sub = random_sub();
        OK(caret_node_child(&n->node, sizeof *n, &n->node, sub.data, sub.len));
    }
}

/* What was done in a session: code, node, value or number, as text. */
struct outcome {
    int rc, number;
    uint64_t count;
    caret_node_buf node;
    char value[64];
};

static void keep_value(struct outcome *o, caret_slice v)
{
    if (o->rc == CARET_OK)
        snprintf(o->value, sizeof o->value, "%.*s", (int)v.len, v.data != NULL ? v.data : "-");
}

static int range_of(caret_session *s, caret_node *n, unsigned what, const caret_slice *from,
                    const caret_slice *to)
{
    switch (what) {
    case 0: return caret_first_in(s, n, from, to, 0);
    case 1: return caret_last_in(s, n, from, to, 0);
    case 2: return caret_first_in(s, n, from, NULL, CARET_RANGE_PREFIX);
    case 3: return caret_last_in(s, n, from, NULL, CARET_RANGE_PREFIX);
    default: return caret_kill_range(s, n, from, to, 0);
    }
}

struct request {
    unsigned what;
    caret_node_buf a, b;
    caret_slice from, to;
    char value[16];
};

static struct outcome carry_out(caret_session *s, const struct request *r)
{
    struct outcome o = {.node = r->a};
    caret_node *n = &o.node.node;
    caret_slice v = {NULL, 0};

    switch (r->what) {
    case 0: o.rc = caret_get(s, n, &v); break;
    case 1: o.rc = caret_data(s, n, &o.number); break;
    case 2: o.rc = caret_next(s, n); break;
    case 3: o.rc = caret_previous(s, n); break;
    case 4: o.rc = caret_node_next_get(s, n, &v); break;
    case 5: o.rc = caret_node_previous_get(s, n, &v); break;
    case 6: o.rc = caret_first(s, n); break;
    case 7: o.rc = caret_last(s, n); break;
    case 8: o.rc = caret_first_var(s, n, sizeof o.node, 1); break;
    case 9: o.rc = caret_count(s, n, &o.count); break;
    case 10: o.rc = caret_delete(s, n); break;
    case 11: o.rc = caret_kill(s, n); break;
    case 12: o.rc = caret_incr(s, n, "1.5", 3, &v); break;
    case 13: o.rc = caret_put(s, n, r->value, strlen(r->value), CARET_PUT_ABSENT, &o.number, NULL); break;
    case 14: o.rc = caret_copy(s, n, &r->b.node); break;
    case 15: o.rc = caret_merge(s, n, &r->b.node); break;
    case 16: o.rc = caret_move(s, n, &r->b.node); break;
    case 17: o.rc = caret_random_child(s, n, 7); break;
    case 18:
    case 19:
    case 20:
    case 21:
    case 22: o.rc = range_of(s, n, r->what - 18, &r->from, &r->to); break;
    default: o.rc = caret_set(s, n, r->value, strlen(r->value)); break;
    }
    keep_value(&o, v);
    return o;
}

static void same_as_plain(void)
{
    struct request r = {.what = caret__rand_below(&chance, 40), .from = random_sub(), .to = random_sub()};

    random_node(&r.a);
    random_node(&r.b);
    snprintf(r.value, sizeof r.value, "%u", caret__rand_below(&chance, 1000));
    struct outcome a = carry_out(shared, &r), b = carry_out(plain, &r);
    if (a.rc != b.rc || a.number != b.number || a.count != b.count || strcmp(a.value, b.value) != 0 ||
        !caret_node_equal(&a.node.node, &b.node.node))
        fail_msg("request %u: %d and %d, %d and %d, %s and %s", r.what, a.rc, b.rc, a.number, b.number,
                 a.value, b.value);
}

static void answers_are_those_of_a_plain_session(void **state)
{
    (void)state;
    OK(caret_session_locals(shared, &table));
    for (uint64_t seed = 1; seed <= 20; seed++) {
        caret__rand_seed(&chance, seed);
        for (int i = 0; i < 1000; i++)
            same_as_plain();
    }
}

/* ---------------------------------------------------------------------- begin */

static void what_was_there_is_handed_over(void **state)
{
    caret_node_buf n;
    caret_slice v;
    int data;

    (void)state;
    for (int64_t i = 0; i < 2000; i++) {
        OK(caret_node_var(&n.node, sizeof n, "a", 1));
        OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
        OK(caret_set(shared, &n.node, "value", i == 1000 ? 0 : 5));
    }
    failing = 1;
    assert_int_equal(caret_session_locals(shared, &table), CARET_E_LIMIT);
    OK(caret_data(shared, &n.node, &data));
    assert_int_equal(data, 1); /* it is as it was */
    failing = 0;
    OK(caret_session_locals(shared, &table));
    OK(caret_get(shared, &n.node, &v)); /* its hint is of the pages that were */
    assert_memory_equal(v.data, "value", 5);
    uint64_t count;
    OK(caret_node_cut(&n.node, 0));
    OK(caret_count(kept, &n.node, &count));
    assert_int_equal(count, 2000);
    OK(caret_kill(shared, &n.node));
    OK(caret_data(kept, &n.node, &data));
    assert_int_equal(data, 0);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    caret_locals small = table;
    small.size--;
    assert_int_equal(caret_session_locals(NULL, &table), CARET_E_INVALID);
    assert_int_equal(caret_session_locals(shared, NULL), CARET_E_INVALID);
    assert_int_equal(caret_session_locals(shared, &small), CARET_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_those_of_a_plain_session, begin, finish),
        cmocka_unit_test_setup_teardown(what_was_there_is_handed_over, begin, finish),
        cmocka_unit_test_setup_teardown(misuse_is_refused, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
