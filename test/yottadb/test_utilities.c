/* Memory, files, timers, sleeping, calls with lists of arguments, calls of M, and what there is nothing to do for. */
#include "yottadb/locks.h"

#include "support/crowd.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* ----------------------------------------------------------------------- files */

static int to_id(const char *name, ydb_fileid_ptr_t *id)
{
    ydb_string_t s = {strlen(name), (char *)(uintptr_t)name};

    return mode->st ? ydb_file_name_to_id_t(token, &errstr, &s, id) : ydb_file_name_to_id(&s, id);
}

static int same(ydb_fileid_ptr_t x, ydb_fileid_ptr_t y)
{
    return mode->st ? ydb_file_is_identical_t(token, &errstr, x, y) : ydb_file_is_identical(x, y);
}

static int id_free(ydb_fileid_ptr_t id)
{
    return mode->st ? ydb_file_id_free_t(token, &errstr, id) : ydb_file_id_free(id);
}

static void files_are_told_apart(void **state)
{
    ydb_fileid_ptr_t a, again, other;
    char path[80];

    (void)state;
    snprintf(path, sizeof path, "%s/./t.caret", test_folder);
    put("a", NULL, "");
    assert_int_equal(to_id(getenv("CARET_DB"), &a), YDB_OK);
    assert_int_equal(to_id(path, &again), YDB_OK);
    assert_int_equal(to_id("/", &other), YDB_OK);
    assert_int_equal(same(a, again), YDB_OK);
    assert_int_equal(same(a, other), YDB_NOTOK);
    assert_int_equal(to_id("/no/such/file", &(ydb_fileid_ptr_t){NULL}), YDB_NOTOK);
    fails(same(a, NULL), PARAMINVALID, "NULL fileid2");
    fails(to_id("", &a), PARAMINVALID, "NULL filename");
    fails(to_id("/", NULL), PARAMINVALID, "NULL");
    fails(id_free(NULL), PARAMINVALID, "NULL");
    assert_int_equal(id_free(a), YDB_OK);
    assert_int_equal(id_free(again), YDB_OK);
    assert_int_equal(id_free(other), YDB_OK);
}

/* ---------------------------------------------------------------------- timers */

static _Atomic int fired;
static _Atomic intptr_t last_id;
static char last_data[16];

static void on_timer(intptr_t id, unsigned len, char *data_of_timer)
{
    ydb_buffer_t v = b("^timer");

    if (len != 0)
        memcpy(last_data, data_of_timer, len);
    last_id = id;
    ydb_set_s(&v, 0, NULL, NULL); /* it may use the database */
    fired++;
}

static int start_timer(intptr_t id, unsigned long long ns, ydb_funcptr_retvoid_t f, unsigned len, void *d)
{
    return mode->st ? ydb_timer_start_t(token, &errstr, id, ns, f, len, d)
                    : ydb_timer_start(id, ns, f, len, d);
}

static int cancel_timer(intptr_t id)
{
    if (mode->st)
        return ydb_timer_cancel_t(token, &errstr, id);
    ydb_timer_cancel(id);
    return YDB_OK;
}

static void timers_go_off_once(void **state)
{
    char text_of_timer[] = "data";

    (void)state;
    fired = 0;
    assert_int_equal(start_timer(7, 20000000, on_timer, 5, text_of_timer), YDB_OK);
    assert_int_equal(start_timer(8, 3600000000000ull, on_timer, 0, NULL), YDB_OK);
    memset(text_of_timer, '#', 4); /* it has a copy */
    patience(60);
    while (fired == 0)
        assert_int_equal(ydb_hiber_start_wait_any(100000000), YDB_OK);
    patience(0);
    assert_int_equal(fired, 1);
    assert_int_equal(last_id, 7);
    assert_string_equal(last_data, "data");
    assert_int_equal(cancel_timer(8), YDB_OK);
    assert_string_equal(value_of("timer", NULL), "");
}

static void timers_can_be_cancelled_and_changed(void **state)
{
    uint64_t begin;

    (void)state;
    do { /* again if we had to wait until a timer was due */
        begin = now_ms();
        fired = 0;
        assert_int_equal(start_timer(1, 100000000, on_timer, 0, NULL), YDB_OK);
        assert_int_equal(start_timer(2, 100000000, on_timer, 0, NULL), YDB_OK);
        assert_int_equal(cancel_timer(1), YDB_OK);
        assert_int_equal(cancel_timer(99), YDB_OK);
        assert_int_equal(start_timer(2, 130000000, on_timer, 0, NULL), YDB_OK); /* later, not twice */
    } while (now_ms() - begin >= 90);
    UNTIL(fired != 0);
    usleep(60000);
    assert_int_equal(fired, 1);
    assert_int_equal(last_id, 2);
    fails(start_timer(1, YDB_MAX_TIME_NSEC + 1, on_timer, 0, NULL), TIME2LONG,
          "maximum limit 2147483647000000 allowed");
    fails(start_timer(1, 1, NULL, 0, NULL), PARAMINVALID, "NULL handler");
    fails(start_timer(1, 1, on_timer, 1, NULL), PARAMINVALID, "NULL hdata");
}

static void sleeps(void **state)
{
    uint64_t begin = now_ms();

    (void)state;
    assert_int_equal(ydb_hiber_start(30000000), YDB_OK);
    assert_true(now_ms() - begin >= 29);
    assert_int_equal(ydb_hiber_start_wait_any(30000000), YDB_OK);
    assert_true(now_ms() - begin >= 58);
    fails(ydb_hiber_start(YDB_MAX_TIME_NSEC + 1), TIME2LONG, "maximum limit 2147483647000000 allowed");
    fails(ydb_hiber_start_wait_any(YDB_MAX_TIME_NSEC + 1), TIME2LONG,
          "maximum limit 2147483647000000 allowed");
}

static atomic_int awake;
static pthread_t sleeper;

static void on_signal(int signum)
{
    (void)signum;
}

/* Again and again, so that one of the signals finds it asleep. */
static void *send_signals(void *arg)
{
    while (awake == 0) {
        pthread_kill(sleeper, SIGUSR2);
        usleep(10000);
    }
    return arg;
}

static void a_signal_ends_a_sleep_until_something_comes(void **state)
{
    struct sigaction own = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    pthread_t thread;

    (void)state;
    awake = 0;
    sleeper = pthread_self();
    sigaction(SIGUSR2, &own, &old);
    assert_int_equal(pthread_create(&thread, NULL, send_signals, NULL), 0);
    patience(60);
    assert_int_equal(ydb_hiber_start_wait_any(3600000000000ull), YDB_OK);
    patience(0);
    awake = 1;
    pthread_join(thread, NULL);
    sigaction(SIGUSR2, &old, NULL);
}

/* ----------------------------------------------------------------------- lists */

static int sum36(intptr_t a1, ...)
{
    va_list args;
    intptr_t sum = a1;

    va_start(args, a1);
    for (int i = 2; i <= 36; i++)
        sum = sum * 3 % 1000003 + va_arg(args, intptr_t);
    va_end(args);
    return (int)sum;
}

static int three(void *x, int y, unsigned long long z)
{
    return x == NULL && y == -2 && z == 1ull << 40 ? 42 : 0;
}

static void calls_with_a_list_of_arguments(void **state)
{
    gparam_list list = {.n = 36};
    intptr_t want = 1;

    (void)state;
    for (intptr_t i = 0; i < 36; i++)
        list.arg[i] = (void *)(i + 1);
    for (intptr_t i = 2; i <= 36; i++)
        want = want * 3 % 1000003 + i;
    assert_int_equal(ydb_call_variadic_plist_func((ydb_vplist_func)(void (*)(void))sum36, &list), want);
    list = (gparam_list){.n = 3, .arg = {NULL, (void *)(intptr_t)-2, (void *)((intptr_t)1 << 40)}};
    assert_int_equal(ydb_call_variadic_plist_func((ydb_vplist_func)(void (*)(void))three, &list), 42);
    list.n = 37;
    fails(ydb_call_variadic_plist_func((ydb_vplist_func)(void (*)(void))three, &list), PARAMINVALID,
          "Invalid cvplist->n");
    fails(ydb_call_variadic_plist_func((ydb_vplist_func)(void (*)(void))three, NULL), PARAMINVALID,
          "NULL cvplist");
    fails(ydb_call_variadic_plist_func(NULL, &list), PARAMINVALID, "NULL cgfunc");
}

/* --------------------------------------------------------------------------- M */

static void calls_of_m_say_why_not(void **state)
{
    ci_name_descriptor ci = {{4, (char *)(uintptr_t) "name+"}, NULL};
    ci_parm_type parm;
    uintptr_t handle = 99;

    (void)state;
    if (mode->st) {
        fails(ydb_ci_t(token, &errstr, "routine", 1), CINOENTRY, "No entry specified for routine in");
        fails(ydb_cip_t(token, &errstr, &ci), CINOENTRY, "No entry specified for name+ in");
        fails(ydb_ci_tab_open_t(token, &errstr, "t.ci", &handle), CITABOPN,
              "Unable to open call-in table: t.ci");
        fails(ydb_ci_tab_switch_t(token, &errstr, 5, &handle), PARAMINVALID, "Invalid new_handle");
        fails(ydb_ci_get_info_t(token, &errstr, "routine", &parm), CINOENTRY, "routine");
        assert_int_equal(ydb_ci_tab_switch_t(token, &errstr, 0, &handle), YDB_OK);
    } else {
        fails(ydb_ci("routine", 1, "two"), CINOENTRY, "No entry specified for routine in the call-in table");
        fails(ydb_cip(&ci), CINOENTRY, "No entry specified for name+ in");
        fails(ydb_cip(NULL), PARAMINVALID, "NULL");
        fails(ydb_cij("routine", NULL, 0, NULL), CINOENTRY, "routine");
        fails(ydb_ci_tab_open("t.ci", &handle), CITABOPN, "Unable to open call-in table: t.ci");
        fails(ydb_ci_tab_open(NULL, &handle), PARAMINVALID, "NULL");
        fails(ydb_ci_tab_switch(5, &handle), PARAMINVALID, "Invalid new_handle");
        fails(ydb_ci_tab_switch(0, NULL), PARAMINVALID, "NULL");
        fails(ydb_ci_get_info("routine", &parm), CINOENTRY, "routine");
        assert_int_equal(ydb_ci_tab_switch(0, &handle), YDB_OK);
    }
    assert_int_equal(handle, 0);
}

/* ------------------------------------------------------------------- the others */

static void *is_main(void *arg)
{
    *(int *)arg = ydb_thread_is_main();
    return NULL;
}

static void threads_know_which_is_the_first(void **state)
{
    pthread_t t;
    int rc = -1;

    (void)state;
    assert_int_equal(ydb_thread_is_main(), YDB_OK);
    assert_int_equal(pthread_create(&t, NULL, is_main, &rc), 0);
    pthread_join(t, NULL);
    assert_int_equal(rc, YDB_NOTOK);
}

static void what_is_not_needed_does_no_harm(void **state)
{
    char *p = ydb_malloc(0);

    (void)state;
    ydb_free(p);
    ydb_free(NULL);
    p = ydb_malloc(100);
    memset(p, 1, 100);
    ydb_free(p);
    assert_int_equal(ydb_init(), YDB_OK);
    assert_int_equal(ydb_main_lang_init(YDB_MAIN_LANG_GO, NULL), YDB_OK);
    assert_int_equal(ydb_child_init(NULL), YDB_OK);
    assert_int_equal(ydb_eintr_handler(), YDB_OK);
    assert_int_equal(ydb_eintr_handler_t(YDB_NOTTP, &errstr), YDB_OK);
    assert_int_equal(ydb_sig_dispatch(&errstr, SIGINT), YDB_OK);
    assert_int_equal(ydb_stdout_stderr_adjust(), YDB_OK);
    assert_int_equal(ydb_stdout_stderr_adjust_t(YDB_NOTTP, &errstr), YDB_OK);
    assert_int_equal(ydb_stdout_stderr_adjust_t(12345, &errstr), YDB_ERR_INVTPTRANS);
}

static void a_core_of_a_copy_leaves_the_process_alive(void **state)
{
    struct rlimit none = {0, 0};

    (void)state;
    may_fork();
    setrlimit(RLIMIT_CORE, &none); /* no file */
    signal(SIGABRT, SIG_IGN);
    ydb_fork_n_core();
    signal(SIGABRT, SIG_DFL);
    put("a", NULL, "alive");
    assert_string_equal(value_of("a", NULL), "alive");
}

static void macros_do_what_they_say(void **state)
{
    ydb_buffer_t x, y;
    const char *word = "word";
    int done, severity;

    (void)state;
    YDB_MALLOC_BUFFER(&x, 5);
    assert_int_equal(x.len_alloc, 5);
    assert_int_equal(x.len_used, 0);
    YDB_COPY_STRING_TO_BUFFER(word, &x, done);
    assert_true(done);
    YDB_STRING_TO_BUFFER(word, &y);
    assert_true(YDB_BUFFER_IS_SAME(&x, &y));
    YDB_LITERAL_TO_BUFFER("sixsix", &y);
    assert_int_equal(y.len_used, 6);
    YDB_COPY_BUFFER_TO_BUFFER(&y, &x, done);
    assert_false(done);
    assert_false(YDB_BUFFER_IS_SAME(&x, &y));
    YDB_COPY_LITERAL_TO_BUFFER("", &x, done);
    assert_true(done && x.len_used == 0);
    YDB_FREE_BUFFER(&x);
    assert_null(x.buf_addr);
    YDB_SEVERITY(YDB_ERR_GVUNDEF, severity);
    assert_int_equal(severity, YDB_SEVERITY_ERROR);
    YDB_SEVERITY(YDB_ERR_FATALERROR2, severity);
    assert_int_equal(severity, YDB_SEVERITY_FATAL);
    YDB_ASSERT(done);
}

static void hashes_to(const ydb_uint16 *hash, const char *hex)
{
    unsigned char digits[33], bytes[17], as_hex[33];

    memset(digits, 'x', sizeof digits);
    ydb_mmrhash_128_hex(hash, digits);
    assert_memory_equal(digits, hex, 32);
    assert_int_equal(digits[32], 'x');
    bytes[16] = 'x';
    ydb_mmrhash_128_bytes(hash, bytes);
    for (int i = 0; i < 16; i++)
        snprintf((char *)as_hex + 2 * i, 3, "%02x", bytes[i]);
    assert_memory_equal(as_hex, hex, 32);
    assert_int_equal(bytes[16], 'x');
}

/* What the author's own program says, and YottaDB's manual for $ZYHASH. */
static void hashes_are_those_of_murmur(void **state)
{
    static const char fox[] = "The quick brown fox jumps over the lazy dog";
    ydb_uint16 hash;
    uint4 hash32;

    (void)state;
    ydb_mmrhash_32(fox, 43, 0, &hash32);
    assert_int_equal(hash32, 0x2e4ff723);
    ydb_mmrhash_32("hello", 5, 0, &hash32);
    assert_int_equal(hash32, 0x248bfa47);
    ydb_mmrhash_32(NULL, 0, 1, &hash32);
    assert_int_equal(hash32, 0x514e28b7);
    ydb_mmrhash_128("YottaDB Rocks!", 14, 0, &hash);
    hashes_to(&hash, "a91a6a91c8d3afa118ae643d7c08c007");
    ydb_mmrhash_128("YottaDB Rocks!", 14, 123456789, &hash);
    hashes_to(&hash, "b931c7fa5746e15dc9fdaecfb29b8626");
    ydb_mmrhash_128(NULL, 0, 0, &hash);
    hashes_to(&hash, "00000000000000000000000000000000");
}

static void a_hash_does_not_depend_on_the_pieces(void **state)
{
    char text[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        text[i] = (char)(i * 37);
    for (int len = 0; len <= 100; len++)
        for (int first = 0; first <= len; first++) {
            ydb_uint16 whole, pieces;
            hash128_state_t s;
            int second = (len - first) / 2;
            HASH128_STATE_INIT(s, 7);
            ydb_mmrhash_128(text, len, 7, &whole);
            ydb_mmrhash_128_ingest(&s, text, first);
            ydb_mmrhash_128_ingest(&s, text + first, second);
            ydb_mmrhash_128_ingest(&s, text + first + second, len - first - second);
            ydb_mmrhash_128_result(&s, (uint4)len, &pieces);
            assert_memory_equal(&pieces, &whole, sizeof whole);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(files_are_told_apart),
        BOTH(timers_go_off_once),
        BOTH(timers_can_be_cancelled_and_changed),
        ONCE(sleeps),
        ONCE(a_signal_ends_a_sleep_until_something_comes),
        ONCE(calls_with_a_list_of_arguments),
        BOTH(calls_of_m_say_why_not),
        ONCE(threads_know_which_is_the_first),
        ONCE(what_is_not_needed_does_no_harm),
        ONCE(a_core_of_a_copy_leaves_the_process_alive),
        ONCE(macros_do_what_they_say),
        ONCE(hashes_are_those_of_murmur),
        ONCE(a_hash_does_not_depend_on_the_pieces),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
