/* Threads, each with its own session, and transactions that threads share.  Under ThreadSanitizer too. */
#include "yottadb/api.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#ifdef CARET_ASSERTS /* in the slow builds */
#define ROUNDS 800
#else
#define ROUNDS 32000 /* a million operations */
#endif

static _Atomic int bad;
static uint64_t shared_token;

static void check(bool good)
{
    if (!good)
        atomic_fetch_add(&bad, 1);
}

static void run_threads(int n, void *(*f)(void *))
{
    pthread_t t[THREADS];

    atomic_store(&bad, 0);
    for (long i = 0; i < n; i++)
        assert_int_equal(pthread_create(&t[i], NULL, f, (void *)i), 0);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&bad), 0);
}

static const char *number_of(const char *name)
{
    return value_of(name, NULL);
}

/* ----------------------------------------------------------------- operations */

static void *count(void *arg)
{
    char room[64], own[24];
    ydb_buffer_t v = b(mode->caret[0] != '\0' ? "^sum" : "sum"), s, ret = {sizeof room, 0, room};
    long me = (long)arg;

    for (int i = 0; i < ROUNDS; i++) {
        check(CALL_(incr, &v, 0, NULL, NULL, &ret) == YDB_OK);
        s = bytes(own, (size_t)snprintf(own, sizeof own, "%ld-%d", me, i));
        check(CALL_(set, &v, 1, &s, &s) == YDB_OK);
        check(CALL_(get, &v, 1, &s, &ret) == YDB_OK && YDB_BUFFER_IS_SAME(&ret, &s));
        if (i % 4 == 0)
            check(CALL_(delete, &v, 1, &s, YDB_DEL_TREE) == YDB_OK);
    }
    return NULL;
}

static void sums_are_right(void **state)
{
    char want[16], room[64] = "";
    struct out o;
    ydb_buffer_t s = bytes(room, 0);
    int left = 0;

    (void)state;
    snprintf(want, sizeof want, "%d", THREADS * ROUNDS);
    run_threads(THREADS, count);
    assert_string_equal(number_of("sum"), want);
    while (sub_next(var("sum"), 1, &s, out(&o)) == YDB_OK) {
        memcpy(room, o.room, o.buf.len_used);
        s = bytes(room, o.buf.len_used);
        left++;
    }
    assert_int_equal(left, THREADS * ROUNDS / 4 * 3);
}

/* Each thread has its own last error. */
static void *err(void *arg)
{
    char name[16], text[YDB_MAX_ERRORMSG], room[8];
    ydb_buffer_t v = bytes(name, (size_t)snprintf(name, sizeof name, "^none%ld", (long)arg)),
                 ret = {8, 0, room};

    for (int i = 0; i < ROUNDS / 10; i++) {
        check(CALL_(get, &v, 0, NULL, &ret) == YDB_ERR_GVUNDEF);
        check(ydb_zstatus(text, sizeof text) == YDB_OK && strstr(text, name) != NULL);
    }
    return NULL;
}

static void errors_are_the_threads_own(void **state)
{
    (void)state;
    mode = &modes[0]; /* errstr is one for all in the wrappers */
    run_threads(THREADS, err);
}

/* ------------------------------------------------------------- transactions */

static int add_both(uint64_t tptoken, ydb_buffer_t *err_unused, void *arg)
{
    char room[64], i[2] = {(char)('0' + (intptr_t)arg % 2), 0};
    ydb_buffer_t v = b("^pair"), s = b(i), ret = {sizeof room, 0, room};

    (void)err_unused;
    int rc = ydb_incr_st(tptoken, NULL, &v, 1, &s, NULL, &ret);
    i[0] = (char)('0' + '1' - i[0]);
    return rc != YDB_OK ? rc : ydb_incr_st(tptoken, NULL, &v, 1, &s, NULL, &ret);
}

static void *transact(void *arg)
{
    for (int i = 0; i < ROUNDS / 8; i++)
        check(ydb_tp_st(YDB_NOTTP, NULL, add_both, arg, "BATCH", 0, NULL) == YDB_OK);
    return NULL;
}

static void transactions_run_beside_each_other(void **state)
{
    char want[16];

    (void)state;
    snprintf(want, sizeof want, "%d", THREADS * (ROUNDS / 8));
    run_threads(THREADS, transact);
    assert_string_equal(value_of("pair", "0"), want);
    assert_string_equal(value_of("pair", "1"), want);
}

/* Threads that are given the token take part: in turn, so that nothing is lost. */
static void *take_part(void *arg)
{
    char room[64];
    ydb_buffer_t v = b("^joined"), ret = {sizeof room, 0, room};

    (void)arg;
    for (int i = 0; i < ROUNDS / 8; i++)
        check(ydb_incr_st(shared_token, NULL, &v, 0, NULL, NULL, &ret) == YDB_OK);
    return NULL;
}

static int with_threads(uint64_t tptoken, ydb_buffer_t *err_unused, void *arg)
{
    (void)err_unused;
    shared_token = tptoken;
    run_threads(THREADS, take_part);
    return *(int *)arg;
}

static void threads_take_part_in_one(void **state)
{
    int code = YDB_TP_ROLLBACK;
    char want[16];

    (void)state;
    assert_int_equal(ydb_tp_st(YDB_NOTTP, NULL, with_threads, &code, "", 0, NULL), YDB_TP_ROLLBACK);
    assert_string_equal(number_of("joined"), "(undefined)");
    code = YDB_OK;
    snprintf(want, sizeof want, "%d", THREADS * (ROUNDS / 8));
    assert_int_equal(ydb_tp_st(YDB_NOTTP, NULL, with_threads, &code, "", 0, NULL), YDB_OK);
    assert_string_equal(number_of("joined"), want);
    assert_int_equal(ydb_set_st(shared_token, NULL, var("joined"), 0, NULL, NULL), YDB_ERR_INVTPTRANS);
}

/* A level of its own, in another thread than the transaction's owner; the levels around have to wait for it. */
static int inner(uint64_t tptoken, ydb_buffer_t *err_unused, void *arg)
{
    ydb_buffer_t v = b("^inner"), value = b("x"), level = b("$TLEVEL");
    char room[8];
    ydb_buffer_t ret = {sizeof room, 0, room};

    (void)err_unused;
    check(ydb_get_st(tptoken, NULL, &level, 0, NULL, &ret) == YDB_OK && room[0] == '2');
    check(ydb_get_s(&level, 0, NULL, &ret) == YDB_OK && room[0] == '2');
    check(ydb_set_st(shared_token, NULL, &v, 0, NULL, &value) == YDB_ERR_INVTPTRANS);
    check(ydb_set_st(tptoken, NULL, &v, 0, NULL, &value) == YDB_OK);
    return *(int *)arg;
}

static int inner_code;

static void *nest_in_thread(void *arg)
{
    (void)arg;
    check(ydb_tp_st(shared_token, NULL, inner, &inner_code, "", 0, NULL) == inner_code);
    return NULL;
}

static int outer(uint64_t tptoken, ydb_buffer_t *err_unused, void *arg)
{
    (void)err_unused;
    (void)arg;
    shared_token = tptoken;
    run_threads(1, nest_in_thread);
    return YDB_OK;
}

static void a_level_may_be_another_threads(void **state)
{
    (void)state;
    inner_code = YDB_TP_ROLLBACK;
    assert_int_equal(ydb_tp_st(YDB_NOTTP, NULL, outer, NULL, "", 0, NULL), YDB_OK);
    assert_string_equal(number_of("inner"), "(undefined)");
    inner_code = YDB_OK;
    assert_int_equal(ydb_tp_st(YDB_NOTTP, NULL, outer, NULL, "", 0, NULL), YDB_OK);
    assert_string_equal(number_of("inner"), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_(sums_are_right, ", global", &modes[0]),
        ONE_(sums_are_right, ", local", &modes[1]),
        ONCE(errors_are_the_threads_own),
        ONCE(transactions_run_beside_each_other),
        ONCE(threads_take_part_in_one),
        ONCE(a_level_may_be_another_threads),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
