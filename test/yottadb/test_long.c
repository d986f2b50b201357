/*
 * Local variables with keys that are longer than the engine's, up to 1 MiB for each subscript.  What single calls
 * answer is in test_model.c, too; here is what has to do with more than one variable, and with how large they are.
 */
#include <pthread.h>

#include "yottadb/api.h"

static char huge[YDB_MAX_STR + 1];
static char room[2][YDB_MAX_STR + 1];

static ydb_buffer_t subs[2];

/* name(<that many x>, second) */
static const ydb_buffer_t *far(size_t len, const char *second)
{
    memset(huge, 'x', sizeof huge);
    subs[0] = bytes(huge, len);
    subs[1] = b(second);
    return subs;
}

static ydb_buffer_t *large(unsigned i)
{
    static ydb_buffer_t result[2];

    result[i] = (ydb_buffer_t){sizeof room[i], 0, room[i]};
    return &result[i];
}

static void set_far(const char *name, size_t len, const char *value)
{
    ydb_buffer_t v = b(value);

    assert_int_equal(set(var(name), 2, far(len, "s"), &v), YDB_OK);
}

static const char *get_far(const char *name, size_t len)
{
    static struct out o;
    int rc = get(var(name), 2, far(len, "s"), out(&o));

    return rc == YDB_OK ? text(&o) : rc == YDB_ERR_LVUNDEF ? "(undefined)" : "(error)";
}

/* ------------------------------------------------------------------------ length */

static void subscripts_have_a_mebibyte(void **state)
{
    static const size_t lens[] = {900, 1010, 1020, 70000, YDB_MAX_STR};
    struct out o;
    unsigned data_is;
    int n = 2;

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        set_far("a", lens[i], "5");
        assert_int_equal(incr(var("a"), 2, far(lens[i], "s"), NULL, out(&o)), YDB_OK);
        assert_string_equal(get_far("a", lens[i]), "6");
        assert_int_equal(data(var("a"), 1, far(lens[i], ""), &data_is), YDB_OK);
        assert_int_equal(data_is, 10);
        assert_int_equal(sub_previous(var("a"), 1, far(0, ""), large(0)), YDB_OK);
        ydb_buffer_t rooms[2] = {*large(0), *large(1)};
        assert_int_equal(node_next(var("a"), 0, NULL, &n, rooms), YDB_OK);
        assert_int_equal(n, 2);
        assert_int_equal(rooms[0].len_used, lens[i]);
        assert_memory_equal(rooms[0].buf_addr, huge, lens[i]);
        assert_int_equal(delete (var("a"), 1, far(lens[i], ""), YDB_DEL_TREE), YDB_OK);
        assert_int_equal(data(var("a"), 0, NULL, &data_is), YDB_OK);
        assert_int_equal(data_is, 0);
    }
    fails(get(var("a"), 2, far(YDB_MAX_STR + 1, "s"), large(0)), INVSTRLEN,
          "Invalid string length 1048577: max 1048576");
}

static void a_name_in_an_error_is_cut(void **state)
{
    char expected[600] = "Undefined local variable: a(";

    (void)state;
    memset(expected + strlen(expected), 'x', 510);
    fails(get(var("a"), 2, far(2000, "s"), large(0)), LVUNDEF, expected);
    ydb_buffer_t both[2] = {b("a\"b"), b("")};
    fails(get(var("a"), 2, both, large(0)), LVUNDEF, "Undefined local variable: a(a\"b,)");
}

static void what_does_not_fit_is_not_changed(void **state)
{
    struct out o;
    ydb_buffer_t by = b("1E46");

    (void)state;
    set_far("a", 2000, "9");
    fails(incr(var("a"), 2, far(2000, "s"), NULL, out_of(&o, 1)), INVSTRLEN,
          "Invalid string length 2: max 1");
    assert_true(untouched(&o));
    assert_string_equal(get_far("a", 2000), "9");
    set_far("a", 2000, "9E46");
    fails(incr(var("a"), 2, far(2000, "s"), &by, out(&o)), NUMOFLOW, "Numeric overflow");
    assert_string_equal(get_far("a", 2000), "9E46");
    fails(sub_next(var("a"), 1, far(0, ""), out_of(&o, 1999)), INVSTRLEN,
          "Invalid string length 2000: max 1999");
}

/* --------------------------------------------------------------------- variables */

static const char *all_names(bool back)
{
    static char names[200];
    char at[40];
    struct out o;

    names[0] = '\0';
    snprintf(at, sizeof at, "%s", back ? "zz" : "%");
    for (ydb_buffer_t v = b(at); (back ? sub_previous : sub_next)(&v, 0, NULL, out(&o)) == YDB_OK;
         v = b(at)) {
        snprintf(at, sizeof at, "%.30s", text(&o));
        strcat(strcat(names, at), " ");
    }
    return names;
}

static void names_are_in_order_wherever_they_are(void **state)
{
    (void)state;
    put("b", NULL, "1");
    set_far("a", 2000, "1");
    set_far("c", 2000, "1");
    put("d", NULL, "1");
    assert_string_equal(all_names(false), "a b c d ");
    assert_string_equal(all_names(true), "d c b a ");
    ydb_buffer_t stay[2] = {b("b"), b("c")};
    assert_int_equal(delete_excl(2, stay), YDB_OK);
    assert_string_equal(all_names(false), "b c ");
    assert_string_equal(get_far("c", 2000), "1");
    stay[0] = b("d");
    assert_int_equal(delete_excl(1, stay), YDB_OK);
    assert_string_equal(all_names(true), "");
}

static void a_variable_takes_its_nodes_along(void **state)
{
    char number[12];
    struct out o;

    (void)state;
    put("a", NULL, "root");
    for (int i = 0; i < 1000; i++) {
        snprintf(number, sizeof number, "%d", i);
        put("a", number, number);
    }
    set_far("a", 3000, "far");
    for (int i = 0; i < 1000; i++) {
        snprintf(number, sizeof number, "%d", i);
        assert_string_equal(value_of("a", number), number);
    }
    assert_string_equal(value_of("a", NULL), "root");
    ydb_buffer_t last = b("999");
    assert_int_equal(sub_next(var("a"), 1, &last, out(&o)), YDB_OK);
    assert_int_equal(o.buf.len_used, 3000);
    assert_int_equal(delete (var("a"), 1, far(3000, ""), YDB_DEL_TREE), YDB_OK);
    fails(get(var("a"), 2, far(3000, "s"), out(&o)), LVUNDEF, "Undefined local variable: a(x");
    assert_string_equal(value_of("a", "500"), "500");
    assert_int_equal(delete (var("a"), 0, NULL, YDB_DEL_TREE), YDB_OK);
    assert_string_equal(value_of("a", "500"), "(undefined)");
    put("a", "1", "again");
    assert_string_equal(value_of("a", "1"), "again");
}

/* ------------------------------------------------------------------ transactions */

static int runs;

static int change(void *arg)
{
    (void)arg;
    if (++runs == 1) {
        set_far("a", 2000, "changed");
        set_far("b", 2000, "new");
        set_far("c", 2000, "stays");
        put("d", NULL, "gone");
        return YDB_TP_RESTART;
    }
    assert_string_equal(get_far("a", 2000), "before");
    assert_string_equal(get_far("b", 2000), "(undefined)");
    return YDB_OK;
}

static void a_transaction_puts_them_back(void **state)
{
    ydb_buffer_t some[2] = {b("a"), b("b")}, all = b("*");

    (void)state;
    for (int star = 0; star < 2; star++) {
        runs = 0;
        assert_int_equal(delete_excl(0, NULL), YDB_OK);
        set_far("a", 2000, "before");
        put("a", "1", "kept");
        put("d", NULL, "before");
        assert_int_equal(tp_names(change, NULL, "", star ? 1 : 2, star ? &all : some), YDB_OK);
        assert_int_equal(runs, 2);
        assert_string_equal(value_of("a", "1"), "kept");
        assert_string_equal(get_far("c", 2000), star ? "(undefined)" : "stays");
        assert_string_equal(value_of("d", NULL), star ? "before" : "gone");
    }
}

/* -------------------------------------------------------------------------- JSON */

static void they_become_json_and_come_back(void **state)
{
    ydb_string_t json, again;
    ydb_buffer_t a = *var("a"), c = *var("c");

    (void)state;
    put("a", NULL, "root");
    put("a", "b", "5");
    set_far("a", 2000, "far");
    assert_int_equal(ydb_encode_s(&a, 0, NULL, "JSON", &json), YDB_OK);
    assert_non_null(strstr(json.address, "xxx\": {\"s\": \"far\"}}"));
    assert_memory_equal(json.address, "{\"\": \"root\", \"b\": 5, \"xxx", 25);
    assert_int_equal(ydb_decode_s(&c, 0, NULL, "JSON", &json), YDB_OK);
    assert_string_equal(get_far("c", 2000), "far");
    assert_string_equal(value_of("c", "b"), "5");
    assert_int_equal(ydb_decode_s(&c, 1, far(3000, ""), "JSON", &json), YDB_OK);
    assert_int_equal(ydb_encode_s(&c, 1, far(3000, ""), "JSON", &again), YDB_OK);
    assert_int_equal(again.length, json.length);
    assert_memory_equal(again.address, json.address, json.length);
    ydb_free(json.address);
    ydb_free(again.address);
    fails(ydb_encode_s(&c, 1, far(4000, ""), "JSON", &json), LVUNDEF, "Undefined local variable: c(x");
}

/* ------------------------------------------------------------------------- locks */

static void subscripts_of_locks_have_255_bytes(void **state)
{
    char longest[256] = "", expected[400] =
                                "Following subscript is 256 bytes long which exceeds 255 byte limit."
                                ",%YDB-I-TEXT, ";
    ydb_buffer_t s = bytes(longest, 255);
    const ydb_buffer_t *v = var("a");

    (void)state;
    memset(longest, 'l', sizeof longest);
    memcpy(expected + strlen(expected), longest, sizeof longest);
    bool small = lock_incr(0, v, 1, &s) == YDB_ERR_GVSUBOFLOW; /* tiny pages */
    if (!small)
        assert_int_equal(lock_decr(v, 1, &s), YDB_OK);
    s = bytes(longest, 256);
    fails(lock_incr(0, v, 1, &s), LOCKSUB2LONG, expected);
    fails(lock_decr(v, 1, &s), LOCKSUB2LONG, "Following subscript is 256 bytes");
    fails(mode->st ? ydb_lock_st(token, &errstr, 0, 1, v, 1, &s) : ydb_lock_s(0, 1, v, 1, &s), LOCKSUB2LONG,
          expected);
}

/* ----------------------------------------------------------------------- threads */

#define THREADS 4
#define TURNS   500

static void *count_far(void *arg)
{
    char key[1500], sum[64];
    ydb_buffer_t v = b("counter"), s = bytes(key, sizeof key), ret = {sizeof sum, 0, sum};
    ydb_buffer_t mine = bytes(key, 3);

    memset(key, 'k', sizeof key);
    key[0] = *(const char *)arg;
    for (int i = 0; i < TURNS; i++) {
        if (ydb_incr_st(YDB_NOTTP, NULL, &v, 1, &mine, NULL, &ret) != YDB_OK)
            return arg;
        key[0] = 'k';
        if (ydb_incr_st(YDB_NOTTP, NULL, &v, 1, &s, NULL, &ret) != YDB_OK)
            return arg;
        key[0] = *(const char *)arg;
    }
    return NULL;
}

static void threads_share_them(void **state)
{
    pthread_t t[THREADS];
    static const char *const names[THREADS] = {"a", "b", "c", "d"};
    char key[1500];
    struct out o;
    ydb_buffer_t v = b("counter"), s = bytes(key, sizeof key);
    void *failed;

    (void)state;
    memset(key, 'k', sizeof key);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count_far, (void *)(uintptr_t)names[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(t[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(get(&v, 1, &s, out(&o)), YDB_OK);
    assert_string_equal(text(&o), "2000");
    for (int i = 0; i < THREADS; i++) {
        key[0] = names[i][0];
        s = bytes(key, 3);
        assert_int_equal(get(&v, 1, &s, out(&o)), YDB_OK);
        assert_string_equal(text(&o), "500");
    }
}

/* In the modes with local variables. */
#define LOCAL(f) ONE_(f, "", &modes[1]), ONE_(f, ", threaded", &modes[3])

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL(subscripts_have_a_mebibyte),
        LOCAL(a_name_in_an_error_is_cut),
        LOCAL(what_does_not_fit_is_not_changed),
        LOCAL(names_are_in_order_wherever_they_are),
        LOCAL(a_variable_takes_its_nodes_along),
        LOCAL(a_transaction_puts_them_back),
        ONE_(they_become_json_and_come_back, "", &modes[1]),
        EACH(subscripts_of_locks_have_255_bytes),
        ONE_(threads_share_them, "", &modes[1]),
    };

    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
