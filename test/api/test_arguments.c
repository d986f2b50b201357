/*
 * Every function of caret.h with wrong arguments: an error that names function and argument, never a crash.
 *
 * At the end the calls are compared with the header (support/tried.h).
 */
#include "support/tried.h"
#include "things.h"

#include <limits.h>
#include <math.h>

/* ----------------------------------------------------------------------- tables */

static void nodes(void **state)
{
    (void)state;
    uint64_t nothing[CARET_NODE_MAX / 8] = {0};
    caret_node *no = (caret_node *)nothing;
    int64_t v;
    int number;

    IS(caret_node_bytes(SIZE_MAX) == SIZE_MAX, 1);
    note("caret_node_bytes(SIZE_MAX)");
    IS(caret_node_size(NULL), 40);
    BAD(caret_node_var(NULL, 100, "^x", 2), INVALID, "n is NULL");
    BAD(caret_node_var(to, 100, NULL, 2), INVALID, "name is NULL");
    BAD(caret_node_var(to, 100, NULL, 0), INVALID, "name is NULL");
    BAD(caret_node_var(to, 100, "^x", SIZE_MAX), INVALID, "length of name");
    BAD(caret_node_var(to, 100, "", 0), NAME, "''");
    BAD(caret_node_var(to, 0, "^x", 2), BUFFER, "there are");
    IS(caret_node_var(to, SIZE_MAX, "^x", 2), CARET_OK);
    BAD(caret_node_child(NULL, 100, n, "x", 1), INVALID, "n is NULL");
    BAD(caret_node_child(to, 100, NULL, "x", 1), INVALID, "parent is NULL");
    BAD(caret_node_child(to, 100, no, "x", 1), INVALID, "parent is memory that holds no node");
    BAD(caret_node_child(to, 100, n, NULL, 1), INVALID, "sub is NULL");
    BAD(caret_node_child(to, 100, n, "x", SIZE_MAX), INVALID, "length of sub");
    BAD(caret_node_child(to, 100, n, "x", (size_t)PTRDIFF_MAX), KEY2BIG, "limit");
    IS(caret_node_child(to, SIZE_MAX, n, "x", 1), CARET_OK);
    BAD(caret_node_child(to, 10, n, "x", 1), BUFFER, "there are 10");
    BAD(caret_node_child_int(to, 10, n, 1), BUFFER, "there are 10");
    BAD(caret_node_child_int(NULL, 100, n, 1), INVALID, "n is NULL");
    BAD(caret_node_child_int(to, 100, NULL, 1), INVALID, "parent is NULL");
    BAD(caret_node_child_int(to, 100, no, 1), INVALID, "parent is memory");
    IS(caret_node_child_int(to, SIZE_MAX, n, INT64_MIN), CARET_OK);
    BAD(caret_node_child_double(NULL, 100, n, 1), INVALID, "n is NULL");
    BAD(caret_node_child_double(to, 100, NULL, 1), INVALID, "parent is NULL");
    BAD(caret_node_child_double(to, 100, n, NAN), INVALID, "NaN is not a subscript");
    BAD(caret_node_child_double(to, 100, n, -INFINITY), INVALID, "an infinity is not a subscript");
    IS(caret_node_child_double(to, SIZE_MAX, n, 1e308), CARET_OK);
    BAD(caret_node_set_last_int(NULL, 1), INVALID, "n is NULL");
    BAD(caret_node_set_last_int(no, 1), INVALID, "n is memory");
    BAD(caret_node_set_last(NULL, "x", 1), INVALID, "n is NULL");
    BAD(caret_node_set_last(to, NULL, 1), INVALID, "sub is NULL");
    BAD(caret_node_set_last(to, "x", SIZE_MAX), INVALID, "length of sub");
    BAD(caret_node_parent(NULL, 100, n), INVALID, "n is NULL");
    BAD(caret_node_parent(to, 100, NULL), INVALID, "child is NULL");
    IS(caret_node_parent(to, SIZE_MAX, n), CARET_OK);
    BAD(caret_node_cut(NULL, 0), INVALID, "n is NULL");
    BAD(caret_node_cut(no, 0), INVALID, "n is memory");
    IS(caret_node_cut(to, UINT_MAX), CARET_OK);
    BAD(caret_node_copy(NULL, 100, n), INVALID, "n is NULL");
    BAD(caret_node_copy(to, 100, NULL), INVALID, "from is NULL");
    BAD(caret_node_copy(to, 100, no), INVALID, "from is memory");
    IS(caret_node_copy(to, SIZE_MAX, n), CARET_OK);
    IS(caret_node_depth(NULL), 0);
    IS(caret_node_is_local(NULL), 0);
    IS(caret_node_equal(NULL, n), 0);
    IS(caret_node_equal(n, NULL), 0);
    IS(caret_node_compare(NULL, n), -1);
    IS(caret_node_compare(n, NULL), 1);
    IS(caret_node_is_child(NULL, n), 0);
    IS(caret_node_is_child(n, NULL), 0);
    IS(caret_node_name(NULL, buf).len, 0);
    IS(caret_node_name(n, NULL).len, 0);
    BAD(caret_node_subscript(NULL, 0, buf, sizeof buf, &len, &number), INVALID, "n is NULL");
    BAD(caret_node_subscript(n, 0, NULL, 1, &len, &number), INVALID, "buf is NULL");
    BAD(caret_node_subscript(n, 0, buf, SIZE_MAX, &len, &number), INVALID, "length of buf");
    BAD(caret_node_subscript(n, 0, buf, sizeof buf, NULL, &number), INVALID, "len is NULL");
    BAD(caret_node_subscript(n, 3, buf, sizeof buf, &len, &number), INVALID, "i is 3");
    BAD(caret_node_subscript(n, UINT32_MAX, buf, sizeof buf, &len, &number), INVALID, "i is 4294967295");
    IS(caret_node_subscript(n, 1, NULL, 0, &len, NULL), CARET_E_BUFFER);
    assert_int_equal(len, 3);
    IS(caret_node_last_as_int(NULL, &v), 0);
    IS(caret_node_last_as_int(n, NULL), 1);
    BAD(caret_node_zwr(NULL, 1, buf, sizeof buf, &len), INVALID, "n is NULL");
    BAD(caret_node_zwr(n, 1, NULL, 10, &len), INVALID, "buf is NULL");
    BAD(caret_node_zwr(n, 1, buf, SIZE_MAX, &len), INVALID, "length of buf");
    BAD(caret_node_zwr(n, 1, buf, sizeof buf, NULL), INVALID, "len is NULL");
    IS(caret_node_zwr(n, -1, NULL, 0, &len), CARET_E_BUFFER);
    BAD(caret_node_parse(NULL, 100, "^x", 2, 0), INVALID, "n is NULL");
    BAD(caret_node_parse(to, 100, NULL, 2, 0), INVALID, "text is NULL");
    BAD(caret_node_parse(to, 100, "^x", SIZE_MAX, 0), INVALID, "length of text");
    IS(caret_node_parse(to, SIZE_MAX, "^x", 2, 0), CARET_OK);
    IS(caret_node_parse(to, 100, NULL, 0, 0), CARET_E_NAME);
}

static void told_with_and_without_the_function(void)
{
    caret_options o = {.size = sizeof o, .archive = "a"};
    caret_db *none;

    assert_int_equal(caret_open(":memory:", &o, &none), CARET_E_INVALID);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(strncmp(caret_message(), "INVALID: caret_open: option archive with", 40), 0);
        for (int k = 0; k < i; k++)
            assert_int_equal(strncmp(caret_fact(), "INVALID: option archive with", 28), 0);
    }
}

static void text_and_errors(void **state)
{
    (void)state;
    IS(strlen(caret_strerror(INT32_MIN)) > 0, 1);
    note("caret_strerror()");
    IS(caret_message() != NULL, 1);
    note("caret_message()");
    IS(caret_errno(), 0);
    note("caret_errno()");
    IS(caret_fact() != NULL, 1);
    note("caret_fact()");
    IS(caret_advice() != NULL, 1);
    note("caret_advice()");
    told_with_and_without_the_function();
    assert_string_equal(caret_version(), CARET_VERSION);
    note("caret_version()");
    assert_int_equal(caret_version_number(), CARET_VERSION_NUMBER);
    assert_int_equal(CARET_VERSION_NUMBER, 1000);
    note("caret_version_number()");
    BAD(caret_shown(NULL, 1, 80, '\'', buf, sizeof buf), INVALID, "in is NULL");
    BAD(caret_shown("x", SIZE_MAX, 80, '\'', buf, sizeof buf), INVALID, "length of in");
    BAD(caret_shown("x", 1, 80, '\'', NULL, 1), INVALID, "buf is NULL");
    BAD(caret_shown("xy", 2, 80, '\'', buf, 4), BUFFER, "5 bytes are needed, buf has 4");
    IS(caret_shown("xy", 2, 80, '\'', buf, 5), CARET_OK);
    assert_string_equal(buf, "'xy'");
    IS(caret_shown(NULL, 0, 80, '\0', buf, sizeof buf), CARET_OK);
    assert_string_equal(buf, "");
    BAD(caret_shown("xy", 2, 80, '\'', buf, SIZE_MAX), INVALID, "length of buf");
    IS(caret_shown("xy", 2, SIZE_MAX, '"', buf, sizeof buf), CARET_OK);
    assert_string_equal(buf, "\"xy\"");
    IS(caret_shown("a\0b", 3, 2, '\'', buf, sizeof buf), CARET_OK);
    assert_string_equal(buf, "\"a\"_$C(0)...");
    note("caret_shown()");
    BAD(caret_str2zwr(NULL, 1, 0, buf, sizeof buf, &len), INVALID, "in is NULL");
    BAD(caret_str2zwr("x", SIZE_MAX, 0, buf, sizeof buf, &len), INVALID, "length of in");
    BAD(caret_str2zwr("x", 1, 0, NULL, 1, &len), INVALID, "buf is NULL");
    BAD(caret_str2zwr("x", 1, 0, buf, SIZE_MAX, &len), INVALID, "length of buf");
    BAD(caret_str2zwr("x", 1, 0, buf, sizeof buf, NULL), INVALID, "len is NULL");
    IS(caret_str2zwr(NULL, 0, 0, NULL, 0, &len), CARET_E_BUFFER);
    BAD(caret_zwr2str(NULL, 1, 0, buf, sizeof buf, &len), INVALID, "in is NULL");
    BAD(caret_zwr2str("1", SIZE_MAX, 0, buf, sizeof buf, &len), INVALID, "length of in");
    BAD(caret_zwr2str("1", 1, 0, NULL, 1, &len), INVALID, "buf is NULL");
    BAD(caret_zwr2str("1", 1, 0, buf, SIZE_MAX, &len), INVALID, "length of buf");
    BAD(caret_zwr2str("1", 1, 0, buf, sizeof buf, NULL), INVALID, "len is NULL");
    IS(caret_zwr2str(NULL, 0, 0, NULL, 0, &len), CARET_OK);
}

/* The functions on data, for the node of a global and of a local variable. */
static int none_of(void *arg, caret_slice value)
{
    (void)arg;
    (void)value;
    return CARET_OK;
}

static int sum_none(void *arg, caret_slice subscript, caret_slice value, double sum[CARET_SUMS])
{
    (void)subscript;
    (void)sum;
    return none_of(arg, value);
}

static void sums_of(caret_node *x)
{
    caret_sums *sums;
    double sum[CARET_SUMS];

    BAD(caret_sums_new(NULL, NULL, &sums), INVALID, "each is NULL");
    BAD(caret_sums_new(sum_none, NULL, NULL), INVALID, "sums is NULL");
    OK(caret_sums_new(sum_none, NULL, &sums));
    BAD(caret_sums_of(NULL, x, sums, sum), INVALID, "s is NULL");
    BAD(caret_sums_of(s, NULL, sums, sum), INVALID, "n is NULL");
    BAD(caret_sums_of(s, x, NULL, sum), INVALID, "sums is NULL");
    BAD(caret_sums_of(s, x, sums, NULL), INVALID, "sum is NULL");
    VOID(caret_sums_delete(sums));
    VOID(caret_sums_delete(NULL));
}

static void data_of(caret_node *x)
{
    caret_node *const list[2] = {x, NULL};
    caret_slice v;
    const caret_slice huge = {"x", SIZE_MAX};
    int64_t sum;
    uint64_t nodes;
    int what;

    BAD(caret_get(NULL, x, &v), INVALID, "s is NULL");
    BAD(caret_get(s, NULL, &v), INVALID, "n is NULL");
    BAD(caret_get(s, x, NULL), INVALID, "value is NULL");
    BAD(caret_get_copy(NULL, x, buf, sizeof buf, &len), INVALID, "s is NULL");
    BAD(caret_get_copy(s, NULL, buf, sizeof buf, &len), INVALID, "n is NULL");
    BAD(caret_get_copy(s, x, NULL, sizeof buf, &len), INVALID, "buf is NULL");
    BAD(caret_get_copy(s, x, buf, SIZE_MAX, &len), INVALID, "length of buf");
    BAD(caret_get_copy(s, x, buf, sizeof buf, NULL), INVALID, "len is NULL");
    IS(caret_get_copy(s, x, NULL, 0, &len), CARET_E_BUFFER);
    BAD(caret_set(NULL, x, "x", 1), INVALID, "s is NULL");
    BAD(caret_set(s, NULL, "x", 1), INVALID, "n is NULL");
    BAD(caret_set(s, x, NULL, 1), INVALID, "value is NULL");
    BAD(caret_set(s, x, "x", SIZE_MAX), VALUE2BIG, "limit");
    BAD(caret_set(s, x, "x", CARET_MAX_VALUE + 1), VALUE2BIG, "limit");
    BAD(caret_delete(NULL, x), INVALID, "s is NULL");
    BAD(caret_delete(s, NULL), INVALID, "n is NULL");
    BAD(caret_kill(NULL, x), INVALID, "s is NULL");
    BAD(caret_kill(s, NULL), INVALID, "n is NULL");
    BAD(caret_kill_range(NULL, x, NULL, NULL, 0), INVALID, "s is NULL");
    BAD(caret_kill_range(s, NULL, NULL, NULL, 0), INVALID, "n is NULL");
    BAD(caret_kill_range(s, x, NULL, NULL, -1), INVALID, "unknown flags");
    BAD(caret_kill_range(s, x, &huge, NULL, 0), INVALID, "length of from");
    BAD(caret_kill_range(s, x, NULL, &huge, 0), INVALID, "length of to");
    BAD(caret_kill_range(s, x, NULL, NULL, CARET_RANGE_PREFIX), INVALID, "without `from`");
    BAD(caret_kill_range(s, x, &huge, &huge, CARET_RANGE_PREFIX), INVALID, "length of from");
    BAD(caret_first_in(NULL, x, NULL, NULL, 0), INVALID, "s is NULL");
    BAD(caret_first_in(s, NULL, NULL, NULL, 0), INVALID, "n is NULL");
    BAD(caret_first_in(s, x, NULL, NULL, -1), INVALID, "unknown flags");
    BAD(caret_last_in(NULL, x, NULL, NULL, 0), INVALID, "s is NULL");
    BAD(caret_last_in(s, NULL, NULL, NULL, 0), INVALID, "n is NULL");
    BAD(caret_last_in(s, x, NULL, NULL, -1), INVALID, "unknown flags");
    IS(caret_node_in(NULL, NULL, NULL, 0), 0);
    IS(caret_node_in(x, NULL, NULL, -1), 0);
    IS(caret_node_in(x, &huge, NULL, 0), 0);
    BAD(caret_count_in(NULL, x, NULL, NULL, 0, &nodes), INVALID, "s is NULL");
    BAD(caret_count_in(s, NULL, NULL, NULL, 0, &nodes), INVALID, "n is NULL");
    BAD(caret_count_in(s, x, NULL, NULL, -1, &nodes), INVALID, "unknown flags");
    BAD(caret_count_in(s, x, NULL, NULL, 0, NULL), INVALID, "count is NULL");
    BAD(caret_values_in(NULL, x, NULL, NULL, 0, none_of, NULL), INVALID, "s is NULL");
    BAD(caret_values_in(s, NULL, NULL, NULL, 0, none_of, NULL), INVALID, "n is NULL");
    BAD(caret_values_in(s, x, &huge, NULL, 0, none_of, NULL), INVALID, "length of from");
    BAD(caret_values_in(s, x, NULL, NULL, -1, none_of, NULL), INVALID, "unknown flags");
    BAD(caret_values_in(s, x, NULL, NULL, 0, NULL, NULL), INVALID, "each is NULL");
    BAD(caret_merge(NULL, x, to), INVALID, "s is NULL");
    BAD(caret_merge(s, NULL, x), INVALID, "to is NULL");
    BAD(caret_merge(s, x, NULL), INVALID, "from is NULL");
    BAD(caret_copy(s, NULL, x), INVALID, "to is NULL");
    BAD(caret_copy(s, x, NULL), INVALID, "from is NULL");
    BAD(caret_copy(NULL, x, x), INVALID, "s is NULL");
    BAD(caret_move(s, NULL, x), INVALID, "to is NULL");
    BAD(caret_move(s, x, NULL), INVALID, "from is NULL");
    BAD(caret_move(NULL, x, x), INVALID, "s is NULL");
    IS(caret_merge(s, x, x), CARET_OK);
    BAD(caret_count(NULL, x, &nodes), INVALID, "s is NULL");
    BAD(caret_count(s, NULL, &nodes), INVALID, "n is NULL");
    BAD(caret_count(s, x, NULL), INVALID, "count is NULL");
    BAD(caret_incr(NULL, x, "1", 1, &v), INVALID, "s is NULL");
    BAD(caret_incr(s, NULL, "1", 1, &v), INVALID, "n is NULL");
    BAD(caret_incr(s, x, NULL, 1, &v), INVALID, "by is NULL");
    BAD(caret_incr(s, x, "1", SIZE_MAX, &v), INVALID, "length of by");
    BAD(caret_incr_m(NULL, x, "1", 1, &v), INVALID, "s is NULL");
    BAD(caret_incr_m(s, NULL, "1", 1, &v), INVALID, "n is NULL");
    BAD(caret_incr_m(s, x, NULL, 1, &v), INVALID, "by is NULL");
    BAD(caret_incr_m(s, x, "1", SIZE_MAX, &v), INVALID, "length of by");
    BAD(caret_incr_int(NULL, x, 1, 0, &sum), INVALID, "s is NULL");
    BAD(caret_incr_int(s, NULL, 1, 0, &sum), INVALID, "n is NULL");
    BAD(caret_incr_int(s, x, 1, -1, &sum), INVALID, "flags are");
    BAD(caret_put(NULL, x, "x", 1, 0, &what, &v), INVALID, "s is NULL");
    BAD(caret_put(s, NULL, "x", 1, 0, &what, &v), INVALID, "n is NULL");
    BAD(caret_put(s, x, NULL, 1, 0, &what, &v), INVALID, "value is NULL");
    BAD(caret_put(s, x, "x", SIZE_MAX, 0, &what, &v), VALUE2BIG, "limit");
    BAD(caret_put(s, x, "x", 1, -1, &what, &v), INVALID, "flags are");
    BAD(caret_put(s, x, "x", 1, 3, &what, &v), INVALID, "not 0x3");
    BAD(caret_put(s, x, "x", 1, 9, &what, &v), INVALID, "not 0x9");
    BAD(caret_put(s, x, "x", 1, CARET_PUT_SAME, &what, NULL), INVALID, "old is NULL");
    v = (caret_slice){NULL, 1};
    BAD(caret_put(s, x, "x", 1, CARET_PUT_SAME, &what, &v), INVALID, "old");
    IS(caret_put(s, x, "x", 1, CARET_PUT_ABSENT, NULL, &v), CARET_NONE);
    v = (caret_slice){"?", 1};
    IS(caret_put(s, x, "x", 1, CARET_PUT_SAME, NULL, &v), CARET_NONE);
    IS(caret_put(s, x, "x", 1, CARET_PUT_ABSENT, &what, NULL), CARET_NONE);
    BAD(caret_get2(NULL, x, x, &v, &v), INVALID, "s is NULL");
    BAD(caret_get2(s, NULL, x, &v, &v), INVALID, "n is NULL");
    BAD(caret_get2(s, x, NULL, &v, &v), INVALID, "child is NULL");
    BAD(caret_get2(s, x, x, NULL, &v), INVALID, "value is NULL");
    BAD(caret_get2(s, x, x, &v, NULL), INVALID, "child_value is NULL");
    BAD(caret_get_kept(NULL, x, &v), INVALID, "s is NULL");
    BAD(caret_get_kept(s, NULL, &v), INVALID, "n is NULL");
    BAD(caret_get_kept(s, x, NULL), INVALID, "value is NULL");
    BAD(caret_random_child(NULL, x, 1), INVALID, "s is NULL");
    BAD(caret_random_child(s, NULL, 1), INVALID, "n is NULL");
    BAD(caret_any_child(NULL, x, 1), INVALID, "s is NULL");
    BAD(caret_any_child(s, NULL, 1), INVALID, "n is NULL");
    BAD(caret_data(NULL, x, &what), INVALID, "s is NULL");
    BAD(caret_data(s, NULL, &what), INVALID, "n is NULL");
    BAD(caret_data(s, x, NULL), INVALID, "data is NULL");
    BAD(caret_next(NULL, x), INVALID, "s is NULL");
    BAD(caret_next(s, NULL), INVALID, "n is NULL");
    BAD(caret_previous(NULL, x), INVALID, "s is NULL");
    BAD(caret_previous(s, NULL), INVALID, "n is NULL");
    BAD(caret_first(NULL, x), INVALID, "s is NULL");
    BAD(caret_first(s, NULL), INVALID, "n is NULL");
    BAD(caret_last(NULL, x), INVALID, "s is NULL");
    BAD(caret_last(s, NULL), INVALID, "n is NULL");
    BAD(caret_node_next(NULL, x), INVALID, "s is NULL");
    BAD(caret_node_next(s, NULL), INVALID, "n is NULL");
    BAD(caret_node_previous(NULL, x), INVALID, "s is NULL");
    BAD(caret_node_previous(s, NULL), INVALID, "n is NULL");
    BAD(caret_next_get(NULL, x, &v), INVALID, "s is NULL");
    BAD(caret_next_get(s, NULL, &v), INVALID, "n is NULL");
    BAD(caret_next_get(s, x, NULL), INVALID, "value is NULL");
    BAD(caret_previous_get(NULL, x, &v), INVALID, "s is NULL");
    BAD(caret_previous_get(s, NULL, &v), INVALID, "n is NULL");
    BAD(caret_previous_get(s, x, NULL), INVALID, "value is NULL");
    BAD(caret_node_next_get(NULL, x, &v), INVALID, "s is NULL");
    BAD(caret_node_next_get(s, NULL, &v), INVALID, "n is NULL");
    BAD(caret_node_next_get(s, x, NULL), INVALID, "value is NULL");
    BAD(caret_node_previous_get(NULL, x, &v), INVALID, "s is NULL");
    BAD(caret_node_previous_get(s, NULL, &v), INVALID, "n is NULL");
    BAD(caret_node_previous_get(s, x, NULL), INVALID, "value is NULL");
    BAD(caret_get_many(NULL, list, 1, &v), INVALID, "s is NULL");
    BAD(caret_get_many(s, NULL, 1, &v), INVALID, "nodes is NULL");
    BAD(caret_get_many(s, list, SIZE_MAX, &v), INVALID, "count is");
    BAD(caret_get_many(s, list, 1, NULL), INVALID, "values is NULL");
    BAD(caret_get_many(s, list, 2, &v), INVALID, "nodes[1] is NULL");
    IS(caret_get_many(s, NULL, 0, NULL), CARET_OK);
    BAD(caret_prefetch(NULL, list, 1), INVALID, "s is NULL");
    BAD(caret_prefetch(s, NULL, 1), INVALID, "nodes is NULL");
    BAD(caret_prefetch(s, list, SIZE_MAX), INVALID, "count is");
    BAD(caret_prefetch(s, list, 2), INVALID, "nodes[1] is NULL");
    IS(caret_prefetch(s, NULL, 0), CARET_OK);
    OK(caret_get(s, x, &v)); /* none of that changed anything */
    assert_int_equal(v.len, 5);
    assert_memory_equal(v.data, "value", 5);
    OK(caret_node_copy(to, sizeof room, x));
    OK(caret_node_set_last_int(to, 4));
    IS(caret_incr(s, to, "1", 1, NULL), CARET_OK);
    IS(caret_incr_m(s, to, "1", 1, NULL), CARET_OK);
    IS(caret_incr_int(s, to, 1, 0, NULL), CARET_OK);
    OK(caret_kill(s, to));
}

static void data(void **state)
{
    (void)state;
    data_of(n);
    sums_of(n);
    data_of(l);
    sums_of(l);
    BAD(caret_first_var(NULL, to, sizeof room, 0), INVALID, "s is NULL");
    BAD(caret_first_var(s, NULL, sizeof room, 0), INVALID, "n is NULL");
    BAD(caret_first_var(s, to, 1, 0), BUFFER, "there are 1");
    IS(caret_first_var(s, to, SIZE_MAX, 7), CARET_OK);
    caret_slice v;
    BAD(caret_keep(NULL, &v), INVALID, "s is NULL");
    OK(caret_begin(s, 0));
    BAD(caret_keep(s, NULL), INVALID, "value is NULL");
    OK(caret_rollback(s));
    BAD(caret_session_batch(NULL, 1), INVALID, "s is NULL");
    caret_session *alone; /* has no database */
    OK(caret_session_open(NULL, &alone));
    const caret_locals elsewhere = {.size = sizeof elsewhere}, short_of = {.size = 8};
    BAD(caret_session_locals(NULL, &elsewhere), INVALID, "s is NULL");
    BAD(caret_session_locals(alone, NULL), INVALID, "table is NULL");
    BAD(caret_session_locals(alone, &short_of), INVALID, "size");
    BAD(caret_session_locals(s, &elsewhere), INVALID, "has a database");
    BAD(caret_session_locals(alone, &elsewhere), INVALID, "table->enter is NULL");
    assert_int_equal(caret_set(alone, l, "x", 1), CARET_OK);
    assert_int_equal(caret_set(alone, n, "x", 1), CARET_E_CLOSED);
    assert_int_equal(caret_begin(alone, 0), CARET_E_CLOSED);
    assert_int_equal(caret_put(alone, n, "x", 1, 0, NULL, NULL), CARET_E_CLOSED);
    assert_int_equal(caret_put(alone, l, "x", 1, 0, NULL, NULL), CARET_OK);
    assert_int_equal(caret_get2(alone, n, n, &v, &v), CARET_E_CLOSED);
    assert_int_equal(caret_random_child(alone, n, 1), CARET_E_CLOSED);
    assert_int_equal(caret_any_child(alone, n, 1), CARET_E_CLOSED);
    assert_int_equal(caret_lock(alone, l, 0), CARET_E_CLOSED);
    assert_int_equal(caret_unlock_all(alone), CARET_E_CLOSED);
    assert_int_equal(caret_txn_level(alone), 0);
    caret_session_close(alone);
}

static void paths(void **state)
{
    (void)state;
    const caret_slice sub = {"1", 1}, none = {"1", SIZE_MAX};
    caret_slice v;
    int64_t sum;
    int what;

#define PATH(call, after)                                                                                    \
    BAD(call(NULL, "^x", &sub, 1 after), INVALID, "s is NULL");                                              \
    BAD(call(s, NULL, &sub, 1 after), INVALID, "name is NULL");                                              \
    BAD(call(s, "^x", NULL, 1 after), INVALID, "subs is NULL");                                              \
    BAD(call(s, "^x", &none, 1 after), INVALID, "length of subs[0]");                                        \
    BAD(call(s, "^x", &sub, SIZE_MAX after), MAXSUBS, #call);                                                \
    note(#call "(s, \"^x\", &sub, SIZE_MAX)")
#define AND ,
    PATH(caret_get_path, AND & v);
    PATH(caret_set_path, AND "x" AND 1);
    PATH(caret_delete_path, );
    PATH(caret_kill_path, );
    PATH(caret_data_path, AND & what);
    PATH(caret_incr_path, AND 1 AND & sum);
    BAD(caret_get_path(s, "^x", &sub, 1, NULL), INVALID, "value is NULL");
    BAD(caret_set_path(s, "^x", &sub, 1, NULL, 1), INVALID, "value is NULL");
    BAD(caret_set_path(s, "^x", &sub, 1, "x", SIZE_MAX), VALUE2BIG, "limit");
    BAD(caret_data_path(s, "^x", &sub, 1, NULL), INVALID, "data is NULL");
    IS(caret_incr_path(s, "^x", &sub, 1, 1, NULL), CARET_OK);
    BAD(caret_node_path(NULL, 100, "^x", &sub, 1), INVALID, "n is NULL");
    BAD(caret_node_path(to, 100, NULL, &sub, 1), INVALID, "name is NULL");
    BAD(caret_node_path(to, 100, "^x", NULL, 1), INVALID, "subs is NULL");
    BAD(caret_node_path(to, 100, "^x", &sub, SIZE_MAX), MAXSUBS, "subscripts");
    IS(caret_node_path(to, SIZE_MAX, "^x", &sub, 1), CARET_OK);
    OK(caret_kill(s, to));
}

static int nothing_to_do(caret_session *session, void *arg)
{
    (void)session;
    return arg == NULL ? CARET_OK : CARET_E_INVALID;
}

static void *hook_before(void *arg)
{
    return arg;
}

static void hook_after(void *arg, void *token)
{
    (void)arg;
    (void)token;
}

static void transactions_and_locks(void **state)
{
    (void)state;
    const caret_node *list[65] = {n, NULL, l};

    BAD(caret_begin(NULL, 0), INVALID, "s is NULL");
    BAD(caret_begin(s, -1), INVALID, "flags are");
    BAD(caret_begin(s, 16), INVALID, "not 0x10");
    IS(caret_txn_level(s), 0);
    BAD(caret_commit(NULL), INVALID, "s is NULL");
    BAD(caret_rollback(NULL), INVALID, "s is NULL");
    BAD(caret_restart(NULL), INVALID, "s is NULL");
    IS(caret_commit(s), CARET_E_NOTXN);
    IS(caret_rollback(s), CARET_E_NOTXN);
    IS(caret_restart(s), CARET_E_NOTXN);
    IS(caret_txn_level(NULL), 0);
    IS(caret_txn_restarts(NULL), 0);
    BAD(caret_txn_restore_locals(NULL, 1), INVALID, "s is NULL");
    IS(caret_txn_restore_locals(s, 1), CARET_E_NOTXN);
    BAD(caret_transaction(NULL, nothing_to_do, NULL, 0), INVALID, "s is NULL");
    BAD(caret_transaction(s, NULL, NULL, 0), INVALID, "fn is NULL");
    BAD(caret_transaction(s, nothing_to_do, NULL, -1), INVALID, "caret_transaction: flags are");
    IS(caret_transaction(s, nothing_to_do, NULL, 0), CARET_OK);
    BAD(caret_lock(NULL, n, 0), INVALID, "s is NULL");
    BAD(caret_lock(s, NULL, 0), INVALID, "n is NULL");
    BAD(caret_unlock(NULL, n), INVALID, "s is NULL");
    BAD(caret_unlock(s, NULL), INVALID, "n is NULL");
    BAD(caret_unlock_all(NULL), INVALID, "s is NULL");
    BAD(caret_lock_all(NULL, list, 1, 0), INVALID, "s is NULL");
    BAD(caret_lock_all(s, NULL, 1, 0), INVALID, "nodes is NULL");
    BAD(caret_lock_all(s, list, 2, 0), INVALID, "nodes[1] is NULL");
    BAD(caret_lock_all(s, list, 65, 0), INVALID, "count is 65");
    BAD(caret_lock_all(s, list, SIZE_MAX, 0), INVALID, "count is");
    BAD(caret_lock_more(NULL, list, 1, 0), INVALID, "s is NULL");
    BAD(caret_lock_more(s, NULL, 1, 0), INVALID, "nodes is NULL");
    BAD(caret_lock_more(s, list, 3, 0), INVALID, "nodes[1] is NULL");
    BAD(caret_lock_more(s, list, SIZE_MAX, 0), INVALID, "count is");
    IS(caret_lock(s, n, UINT64_MAX - 1), CARET_OK);
    IS(caret_lock_all(s, NULL, 0, UINT64_MAX), CARET_OK);
    IS(caret_unlock(s, n), CARET_E_NOTLOCKED); /* that released it */
    IS(caret_lock_more(s, NULL, 0, 0), CARET_OK);
    BAD(caret_wait(NULL, n, 0, 0), INVALID, "s is NULL");
    BAD(caret_wait(s, NULL, 0, 0), INVALID, "n is NULL");
    BAD(caret_wait(s, l, 0, 0), INVALID, "local");
    IS(caret_wait(s, n, CARET_LOG_END, 0), CARET_NONE);
    VOID(caret_interrupt(NULL));
    BAD(caret_wait_hooks(NULL, hook_after, NULL), INVALID, "before is NULL");
    BAD(caret_wait_hooks(hook_before, NULL, NULL), INVALID, "after is NULL");
    IS(caret_wait_hooks(NULL, NULL, NULL), CARET_OK);
}

static void databases(void **state)
{
    (void)state;
    caret_options o = options();
    caret_session *other_session;
    caret_log *log;
    caret_change change = {.size = sizeof change};
    caret_stats stats = {.size = sizeof stats};
    caret_usage *usage;
    caret_lock_list *locks;
    caret_process_list *processes;
    caret_collision_list *collisions;
    caret_reading_list *readings;
    uint64_t place;
    unsigned cleared;
    char copy[128], copied[256];
    const uint64_t noise[5] = {1};
    caret_db *none;

    snprintf(copy, sizeof copy, "%s/copy", dir);
    BAD(caret_open(path, &o, NULL), INVALID, "db is NULL");
    setenv("CARET_DB", path, 1); /* which NULL means */
    IS(caret_open(NULL, &o, &none), CARET_OK);
    OK(caret_close(none));
    BAD(caret_open(":memory:", &o, &none), INVALID, "option shm_dir");
    BAD(caret_compact(":memory:", NULL, NULL, NULL), INVALID, "not a file");
    BAD(caret_backup(db, ":memory:", NULL), INVALID, "not a file");
    BAD(caret_restore(path, ":memory:", NULL, NULL), INVALID, "not a file");
    IS(caret_compact(NULL, &o, NULL, NULL), CARET_E_BUSY);
    IS(caret_compact(path, NULL, NULL, NULL) != CARET_OK, 1); /* another shm_dir */
    note("caret_open(path, NULL, &db)");                      /* the same: not with the user's /dev/shm */
    unsetenv("CARET_DB");
    IS(caret_close(NULL), CARET_OK);
    IS(*caret_path(NULL), 0);
    note("caret_path(NULL)");
    BAD(caret_sync(NULL), INVALID, "db is NULL");
    BAD(caret_durable(NULL, &place, &place), INVALID, "db is NULL");
    IS(caret_durable(db, NULL, &place), CARET_OK);
    IS(caret_durable(db, &place, NULL), CARET_OK);
    BAD(caret_checkpoint(NULL), INVALID, "db is NULL");
    IS(caret_shm(NULL, 0, NULL, NULL), CARET_OK);
    BAD(caret_shm("/nowhere/at/all", 0, NULL, NULL), SHM, "/nowhere/at/all");
    BAD(caret_shm(NULL, -1, NULL, NULL), INVALID, "flags");
    BAD(caret_backup(NULL, copy, NULL), INVALID, "db is NULL");
    BAD(caret_backup(db, NULL, NULL), INVALID, "path is NULL");
    BAD(caret_backup(db, "", NULL), INVALID, "path is empty");
    IS(caret_backup(db, copy, NULL), CARET_OK);
    BAD(caret_restore(NULL, path, NULL, &place), INVALID, "backup is NULL");
    BAD(caret_restore(copy, NULL, NULL, &place), INVALID, "path is NULL");
    BAD(caret_restore(copy, "", NULL, &place), INVALID, "path is empty");
    IS(caret_restore(copy, path, NULL, NULL), CARET_E_EXISTS);
    BAD(caret_restore(copy, dir, NULL, NULL), EXISTS, "a folder: name a file in it");
    snprintf(copied, sizeof copied, "%s/restored", dir);
    BAD(caret_restore(dir, copied, NULL, NULL), OPEN, "a folder, not a backup");
    BAD(caret_check(NULL, buf, sizeof buf), INVALID, "db is NULL");
    BAD(caret_check(db, NULL, 1), INVALID, "report is NULL");
    BAD(caret_check(db, buf, 0), INVALID, "cap is 0");
    BAD(caret_check(db, buf, SIZE_MAX), INVALID, "length of report");
    BAD(caret_check_online(NULL, buf, sizeof buf), INVALID, "db is NULL");
    BAD(caret_check_online(db, NULL, 1), INVALID, "report is NULL");
    BAD(caret_check_online(db, buf, SIZE_MAX), INVALID, "length of report");
    BAD(caret_stat(NULL, &stats), INVALID, "db is NULL");
    BAD(caret_stat(db, NULL), INVALID, "out is NULL");
    BAD(caret_usage_get(NULL, &usage), INVALID, "db is NULL");
    BAD(caret_usage_get(db, NULL), INVALID, "usage is NULL");
    VOID(caret_usage_free(NULL));
    snprintf(copied, sizeof copied, "%s/zwr", dir);
    BAD(caret_salvage(NULL, copied, 0, NULL, NULL, 0), INVALID, "path is NULL");
    BAD(caret_salvage(copy, NULL, 0, NULL, NULL, 0), INVALID, "out is NULL");
    BAD(caret_salvage("", copied, 0, NULL, NULL, 0), INVALID, "path is empty");
    BAD(caret_salvage(copy, "", 0, NULL, NULL, 0), INVALID, "out is empty");
    BAD(caret_salvage(copy, copied, -1, NULL, NULL, 0), INVALID, "flags are");
    BAD(caret_salvage(copy, copied, 2, NULL, NULL, 0), INVALID, "not 0x2");
    BAD(caret_salvage(copy, copied, 0, NULL, buf, SIZE_MAX), INVALID, "length of report");
    BAD(caret_salvage(copy, copied, 0, &(caret_salvaged){.size = 0}, NULL, 0), INVALID, "counts' size is 0");
    IS(caret_salvage(copy, copied, 0, NULL, NULL, 0), CARET_OK);
    BAD(caret_session_open(db, NULL), INVALID, "s is NULL");
    IS(caret_session_open(NULL, &other_session), CARET_OK);
    caret_session_close(other_session);
    BAD(caret_session_detach(NULL), INVALID, "s is NULL");
    BAD(caret_session_lock_hooks(NULL, NULL, NULL, NULL), INVALID, "s is NULL");
    VOID(caret_session_close(NULL));
    BAD(caret_locks_get(NULL, &locks), INVALID, "db is NULL");
    BAD(caret_locks_get(db, NULL), INVALID, "list is NULL");
    VOID(caret_locks_free(NULL));
    BAD(caret_locks_clear(NULL, 0, &cleared), INVALID, "db is NULL");
    IS(caret_locks_clear(db, UINT64_MAX, NULL), CARET_OK);
    BAD(caret_processes_get(NULL, &processes), INVALID, "db is NULL");
    BAD(caret_processes_get(db, NULL), INVALID, "list is NULL");
    VOID(caret_processes_free(NULL));
    BAD(caret_collisions_get(NULL, &collisions), INVALID, "db is NULL");
    BAD(caret_collisions_get(db, NULL), INVALID, "list is NULL");
    VOID(caret_collisions_free(NULL));
    BAD(caret_readings_get(NULL, &readings), INVALID, "db is NULL");
    BAD(caret_readings_get(db, NULL), INVALID, "list is NULL");
    VOID(caret_readings_free(NULL));
    BAD(caret_log_open(NULL, 0, &log), INVALID, "db is NULL");
    BAD(caret_log_open(db, 0, NULL), INVALID, "log is NULL");
    IS(caret_log_open(db, CARET_LOG_END - 1, &log), CARET_E_NOTFOUND);
    OK(caret_log_open(db, CARET_LOG_END, &log));
    BAD(caret_log_next(NULL, &change), INVALID, "log is NULL");
    BAD(caret_log_next(log, NULL), INVALID, "change is NULL");
    change.size = 0;
    BAD(caret_log_next(log, &change), INVALID, "change's size is 0");
    BAD(caret_log_below(NULL, NULL), INVALID, "log is NULL");
    BAD(caret_log_below(log, (const caret_node *)noise), INVALID, "holds no node");
    IS(caret_log_below(log, NULL), CARET_OK);
    IS(caret_log_place(NULL), 0);
    BAD(caret_log_wait(NULL, NULL, 0), INVALID, "log is NULL");
    IS(caret_log_wait(NULL, log, 0), CARET_NONE);
    caret_log_close(log);
    VOID(caret_log_close(NULL));
}

/* A database closed under its sessions, and its own handle as far as they keep it. */
static void what_is_closed(void **state)
{
    (void)state;
    caret_db *mine = open_db();
    caret_session *left;
    caret_slice v;
    int what;

    OK(caret_session_open(mine, &left));
    OK(caret_begin(left, 0));
    OK(caret_close(mine));
    assert_int_equal(caret_get(left, n, &v), CARET_E_CLOSED);
    assert_int_equal(caret_set(left, n, "x", 1), CARET_E_CLOSED);
    assert_int_equal(caret_data(left, n, &what), CARET_E_CLOSED);
    assert_int_equal(caret_next(left, n), CARET_E_CLOSED);
    assert_int_equal(caret_commit(left), CARET_E_CLOSED);
    assert_int_equal(caret_lock(left, n, 0), CARET_E_CLOSED);
    assert_int_equal(caret_unlock_all(left), CARET_E_CLOSED);
    assert_int_equal(caret_txn_level(left) + caret_txn_restarts(left), 0);
    assert_int_equal(caret_sync(mine), CARET_E_CLOSED);
    assert_int_equal(caret_check(mine, buf, sizeof buf), CARET_E_CLOSED);
    caret_session_close(left);
}

/* ---------------------------------------------------------------------- options */

static void opens_not(caret_options o, const char *option)
{
    caret_db *none;

    BAD(caret_open(path, &o, &none), INVALID, option);
    assert_null(none);
    assert_int_equal(caret_compact(path, &o, NULL, NULL), CARET_E_INVALID);
    assert_non_null(strstr(caret_message(), option));
}

static void options_of_opening(void **state)
{
    (void)state;
    const double intervals[] = {NAN, INFINITY, -INFINITY, -1, -1e-300, 1e300, 1e7};
    const int flags[] = {-1, 2, INT32_MAX, INT32_MIN};
    caret_options o = {.size = sizeof o};
    caret_db *none;

    BAD(caret_open("", NULL, &none), INVALID, "path is empty");
    BAD(caret_compact("", NULL, NULL, NULL), INVALID, "path is empty");
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
        opens_not((o = options(), o.sync = CARET_SYNC_INTERVAL, o.sync_interval = intervals[i], o),
                  "sync_interval");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        opens_not((o = options(), o.no_create = flags[i], o), "option no_create");
        opens_not((o = options(), o.readonly = flags[i], o), "option readonly");
        opens_not((o = options(), o.no_thread = flags[i], o), "option no_thread");
        opens_not((o = options(), o.any_fs = flags[i], o), "option any_fs");
        opens_not((o = options(), o.no_huge_pages = flags[i], o), "option no_huge_pages");
    }
    opens_not((o = options(), o.sync = -1, o), "option sync is -1");
    opens_not((o = options(), o.sync = 3, o), "option sync is 3");
    opens_not((o = options(), o.log_size = 1, o), "option log_size");
    opens_not((o = options(), o.log_size = SIZE_MAX, o), "option log_size");
    opens_not((o = options(), o.arena_limit = SIZE_MAX, o), "option arena_limit");
    opens_not((o = options(), o.shm_dir = "", o), "option shm_dir");
    opens_not((o = options(), o.archive = "", o), "option archive");
    opens_not((o = options(), o.readonly = 1, o.archive = "/tmp", o), "option archive with readonly");
    opens_not((o = options(), o.memory_limit = 64 << 20, o), "option memory_limit");
    for (size_t i = 0; i < 2; i++) {
        o = (caret_options){.size = sizeof o, .memory_limit = i == 0 ? SIZE_MAX : (size_t)PTRDIFF_MAX + 1};
        BAD(caret_open(":memory:", &o, &none), INVALID, "option memory_limit");
    }
    memset(&o, 0x5a, sizeof o); /* never zeroed: nothing in it is looked at that leads elsewhere */
    opens_not(o, "option");
    o.size = sizeof o; /* but for that */
    opens_not(o, "option");
    opens_not((o = options(), o.size = 0, o), "option size is 0");
    opens_not((o = options(), o.size = sizeof(size_t) - 1, o), "option size is");
    opens_not((o = options(), o.size = SIZE_MAX, o), "option size is");
}

/* What a program has that was built with a newer caret.h. */
struct newer_options {
    caret_options o;
    int later;
};

struct newer_stats {
    caret_stats st;
    uint64_t later;
};

static void programs_of_other_versions(void **state)
{
    (void)state;
    struct newer_options newer = {.o = options()};
    caret_options older = options();
    caret_db *mine;

    older.size = offsetof(caret_options, log_size);
    older.log_size = 1; /* is something else of the program's */
    assert_int_equal(caret_open(path, &older, &mine), CARET_OK);
    OK(caret_close(mine));
    newer.o.size = sizeof newer;
    OK(caret_open(path, &newer.o, &mine));
    newer.later = 1;
    assert_int_equal(caret_open(path, &newer.o, &(caret_db *){NULL}), CARET_E_INVALID);
    assert_non_null(strstr(caret_message(), "does not know"));

    struct newer_stats more = {.st.size = sizeof more, .later = 7};
    OK(caret_stat(mine, &more.st));
    assert_true(more.st.size == sizeof more && more.st.pages > 0 && more.later == 0);
    caret_stats less = {.size = offsetof(caret_stats, log_head), .log_head = 7};
    OK(caret_stat(mine, &less));
    assert_true(less.pages == more.st.pages && less.depth == more.st.depth && less.log_head == 7);
    less.size = 0;
    assert_int_equal(caret_stat(mine, &less), CARET_E_INVALID);
    assert_non_null(strstr(caret_message(), "out's size is 0"));
    OK(caret_close(mine));
}

static void options_of_backup_and_restore(void **state)
{
    (void)state;
    caret_backup_options b = {.size = sizeof b, .compact = 2};
    caret_restore_options r = {.size = sizeof r, .any_fs = -1};

    BAD(caret_backup(db, "/nowhere/x", &b), INVALID, "option compact is 2");
    b = (caret_backup_options){.size = sizeof(caret_backup_options), .overwrite = -1};
    BAD(caret_backup(db, "/nowhere/x", &b), INVALID, "option overwrite is -1");
    BAD(caret_restore("/nowhere/x", "/nowhere/y", &r, NULL), INVALID, "option any_fs is -1");
    BAD(caret_backup(db, "/nowhere/x", &(caret_backup_options){.size = 0}), INVALID, "option size is 0");
    BAD(caret_restore("/nowhere/x", "/nowhere/y", &(caret_restore_options){.size = 0}, NULL), INVALID,
        "option size is 0");
    r = (caret_restore_options){.size = sizeof(caret_restore_options), .lsn = 1};
    BAD(caret_restore("/nowhere/x", "/nowhere/y", &r, NULL), INVALID, "option lsn without archive");
    r = (caret_restore_options){.size = sizeof(caret_restore_options), .time = 1};
    BAD(caret_restore("/nowhere/x", "/nowhere/y", &r, NULL), INVALID, "option time without archive");
}

static void every_function_of_the_header_was_tried(void **state)
{
    unsigned functions;

    (void)state;
    assert_int_equal(missing_trials(CARET_HEADER, &functions), 0);
    assert_true(functions > 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes, begin, end),
        cmocka_unit_test_setup_teardown(text_and_errors, begin, end),
        cmocka_unit_test_setup_teardown(data, begin, end),
        cmocka_unit_test_setup_teardown(paths, begin, end),
        cmocka_unit_test_setup_teardown(transactions_and_locks, begin, end),
        cmocka_unit_test_setup_teardown(databases, begin, end),
        cmocka_unit_test_setup_teardown(what_is_closed, begin, end),
        cmocka_unit_test_setup_teardown(options_of_opening, begin, end),
        cmocka_unit_test_setup_teardown(programs_of_other_versions, begin, end),
        cmocka_unit_test_setup_teardown(options_of_backup_and_restore, begin, end),
        cmocka_unit_test(
            every_function_of_the_header_was_tried), /* last: it looks at the notes of the others */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
