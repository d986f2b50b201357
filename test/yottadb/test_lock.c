/* ydb_lock_s, ydb_lock_st. */
#include "yottadb/locks.h"

static int lock1(unsigned long long ns, const char *name, const char *sub)
{
    ydb_buffer_t s = b(sub);

    if (mode->st)
        return ydb_lock_st(token, &errstr, ns, 1, var(name), 1, &s);
    return ydb_lock_s(ns, 1, var(name), 1, &s);
}

static int lock2(unsigned long long ns, const char *name1, const char *name2)
{
    if (mode->st)
        return ydb_lock_st(token, &errstr, ns, 2, var(name1), 0, NULL, var(name2), 0, NULL);
    return ydb_lock_s(ns, 2, var(name1), 0, NULL, var(name2), 0, NULL);
}

static int lock0(unsigned long long ns)
{
    return mode->st ? ydb_lock_st(token, &errstr, ns, 0) : ydb_lock_s(ns, 0);
}

static void takes_a_list_and_gives_back_the_rest(void **state)
{
    (void)state;
    may_fork();
    assert_int_equal(lock1(0, "a", "1"), YDB_OK);
    assert_int_equal(lock1(0, "a", "1"), YDB_OK); /* once, not twice */
    assert_false(is_free("a", "1"));
    assert_int_equal(lock2(0, "b", "c"), YDB_OK);
    assert_true(is_free("a", "1"));
    assert_false(is_free("b", NULL));
    assert_false(is_free("c", "below"));
    assert_int_equal(lock0(0), YDB_OK);
    assert_true(is_free("b", NULL));
    assert_true(is_free("c", NULL));
    assert_int_equal(lock2(0, "b", "b"), YDB_OK); /* once, too */
    assert_int_equal(lock_decr(var("b"), 0, NULL), YDB_OK);
    assert_true(is_free("b", NULL));
}

static void takes_all_or_none(void **state)
{
    struct holder h;

    (void)state;
    may_fork();
    hold(&h, "b", NULL);
    assert_int_equal(lock1(0, "x", "1"), YDB_OK);
    assert_int_equal(lock2(0, "a", "b"), YDB_LOCK_TIMEOUT);
    assert_true(is_free("a", NULL));
    assert_true(is_free("x", "1")); /* that was given back */
    uint64_t begin = now_ms();
    assert_int_equal(lock2(50000000, "a", "b"), YDB_LOCK_TIMEOUT);
    assert_true(now_ms() - begin >= 49);
    assert_true(is_free("a", NULL));
    let_go(&h);
    assert_int_equal(lock2(YDB_MAX_TIME_NSEC, "a", "b"), YDB_OK);
    assert_false(is_free("a", NULL));
}

static void refuses_lists_that_are_none(void **state)
{
    (void)state;
    may_fork();
    assert_int_equal(lock1(0, "a", "1"), YDB_OK);
    fails(lock0((unsigned long long)YDB_MAX_TIME_NSEC + 1), TIME2LONG,
          "Specified time value exceeds supported maximum limit 2147483647000000 allowed");
    fails(mode->st ? ydb_lock_st(token, &errstr, 0, -1) : ydb_lock_s(0, -1), INVNAMECOUNT,
          "(namecount parameter in a ydb_lock_s() call) cannot");
    fails(mode->st ? ydb_lock_st(token, &errstr, 0, 36) : ydb_lock_s(0, 36), NAMECOUNT2HI,
          "in a ydb_lock_s() call (36) exceeds the maximum (35)");
    assert_false(is_free("a", "1")); /* nothing was given back */
}

static int call(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return mode->st ? ydb_lock_st(token, &errstr, 0, 2, var("good"), 0, NULL, v, n, s)
                    : ydb_lock_s(0, 2, var("good"), 0, NULL, v, n, s);
}

static void refuses_what_is_no_node(void **state)
{
    (void)state;
    may_fork();
    node_errors(call, LOCKS);
    assert_true(is_free("good", NULL));
}

/* 35 names, by the function for those who know their number late; it has room for 11. */
static void takes_a_list_made_at_run_time(void **state)
{
    gparam_list list = {.n = 2 + 3 * 11};
    static ydb_buffer_t names[11];
    char room[11][16];

    (void)state;
    may_fork();
    if (mode->st)
        list.n = 4 + 3 * 10;
    int at = 0;
    if (mode->st) {
        list.arg[at++] = (void *)(uintptr_t)token;
        list.arg[at++] = &errstr;
    }
    list.arg[at++] = NULL; /* timeout */
    list.arg[at++] = (void *)(intptr_t)(mode->st ? 10 : 11);
    for (int i = 0; at < list.n; i++) {
        snprintf(room[i], sizeof room[i], "%sn%d", mode->caret, i);
        names[i] = b(room[i]);
        list.arg[at++] = &names[i];
        list.arg[at++] = NULL;
        list.arg[at++] = NULL;
    }
    ydb_vplist_func f =
        mode->st ? (ydb_vplist_func)(void (*)(void))ydb_lock_st : (ydb_vplist_func)(void (*)(void))ydb_lock_s;
    assert_int_equal(ydb_call_variadic_plist_func(f, &list), YDB_OK);
    assert_false(is_free("n0", NULL));
    assert_false(is_free("n9", NULL));
    assert_true(is_free("n11", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(takes_a_list_and_gives_back_the_rest), EACH(takes_all_or_none),
        EACH(refuses_lists_that_are_none),          EACH(refuses_what_is_no_node),
        EACH(takes_a_list_made_at_run_time),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
