/*
 * api.h - the functions of libyottadb in each of four modes: global and local variables, functions ..._s and ..._st.
 *
 * A test is written once, with the wrappers below, and run in all modes by EACH(test); by ONCE(test) if it makes no
 * difference.  Each begins with an empty database, no locals and no locks.
 */
#ifndef CARET_TEST_YOTTADB_API_H
#define CARET_TEST_YOTTADB_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "caret.h"
#include "yottadb/libyottadb.h"

struct mode {
    const char *caret; /* before a name */
    bool st;
};

static const struct mode modes[] = {{"^", false}, {"", false}, {"^", true}, {"", true}};
static const struct mode *mode = &modes[0];

/* What the functions ..._st get. */
static uint64_t token = YDB_NOTTP;
static char error_room[YDB_MAX_ERRORMSG];
static ydb_buffer_t errstr = {sizeof error_room, 0, error_room};

static char test_folder[64];

/* --------------------------------------------------------------------- buffers */

static inline ydb_buffer_t bytes(const void *p, size_t n)
{
    return (ydb_buffer_t){(unsigned)n, (unsigned)n, (char *)(uintptr_t)p};
}

static inline ydb_buffer_t b(const char *s)
{
    return bytes(s, strlen(s));
}

/* The variable of that name: global or local, as the mode is.  Good for eight calls. */
static inline const ydb_buffer_t *var(const char *name)
{
    static char room[8][80];
    static ydb_buffer_t buffers[8];
    static unsigned next;
    unsigned i = next++ % 8;

    snprintf(room[i], sizeof room[i], "%s%s", mode->caret, name);
    buffers[i] = b(room[i]);
    return &buffers[i];
}

/* A buffer for a result, of at most 4,096 bytes. */
struct out {
    ydb_buffer_t buf;
    char room[4096];
};

static inline ydb_buffer_t *out_of(struct out *o, unsigned len)
{
    memset(o->room, '#', sizeof o->room);
    o->buf = (ydb_buffer_t){len, 0, o->room};
    return &o->buf;
}

static inline ydb_buffer_t *out(struct out *o)
{
    return out_of(o, sizeof o->room);
}

static inline bool untouched(const struct out *o)
{
    for (size_t i = 0; i < sizeof o->room; i++)
        if (o->room[i] != '#')
            return false;
    return true;
}

/* The text in a result, ended. */
static inline const char *text(struct out *o)
{
    assert_in_range(o->buf.len_used, 0, sizeof o->room - 1);
    o->room[o->buf.len_used] = '\0';
    return o->room;
}

/* ---------------------------------------------------- the functions, by mode */

#define CALL_(f, ...) (mode->st ? ydb_##f##_st(token, &errstr, __VA_ARGS__) : ydb_##f##_s(__VA_ARGS__))

static inline int get(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, ydb_buffer_t *ret)
{
    return CALL_(get, v, n, s, ret);
}

static inline int set(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, const ydb_buffer_t *value)
{
    return CALL_(set, v, n, s, value);
}

static inline int data(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, unsigned *ret)
{
    return CALL_(data, v, n, s, ret);
}

static inline int delete (const ydb_buffer_t *v, int n, const ydb_buffer_t *s, int type)
{
    return CALL_(delete, v, n, s, type);
}

static inline int delete_excl(int n, const ydb_buffer_t *names)
{
    return CALL_(delete_excl, n, names);
}

static inline int incr(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, const ydb_buffer_t *by,
                       ydb_buffer_t *ret)
{
    return CALL_(incr, v, n, s, by, ret);
}

static inline int sub_next(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, ydb_buffer_t *ret)
{
    return CALL_(subscript_next, v, n, s, ret);
}

static inline int sub_previous(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, ydb_buffer_t *ret)
{
    return CALL_(subscript_previous, v, n, s, ret);
}

static inline int node_next(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, int *ret_n,
                            ydb_buffer_t *ret)
{
    return CALL_(node_next, v, n, s, ret_n, ret);
}

static inline int node_previous(const ydb_buffer_t *v, int n, const ydb_buffer_t *s, int *ret_n,
                                ydb_buffer_t *ret)
{
    return CALL_(node_previous, v, n, s, ret_n, ret);
}

static inline int lock_incr(unsigned long long ns, const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return CALL_(lock_incr, ns, v, n, s);
}

static inline int lock_decr(const ydb_buffer_t *v, int n, const ydb_buffer_t *s)
{
    return CALL_(lock_decr, v, n, s);
}

static inline int str2zwr(const ydb_buffer_t *in, ydb_buffer_t *ret)
{
    return CALL_(str2zwr, in, ret);
}

static inline int zwr2str(const ydb_buffer_t *in, ydb_buffer_t *ret)
{
    return CALL_(zwr2str, in, ret);
}

/* tp: `fn` is called with `arg` in either mode; the token is that of its transaction meanwhile. */
struct tp {
    int (*fn)(void *arg);
    void *arg;
};

static inline int tp_call(uint64_t tptoken, ydb_buffer_t *err, void *parm)
{
    struct tp *t = parm;
    uint64_t outer = token;

    (void)err;
    token = tptoken;
    int rc = t->fn(t->arg);
    token = outer;
    return rc;
}

static inline int tp_names(int (*fn)(void *arg), void *arg, const char *id, int n, const ydb_buffer_t *names)
{
    struct tp t = {fn, arg};

    if (mode->st)
        return ydb_tp_st(token, &errstr, tp_call, &t, id, n, names);
    return ydb_tp_s(fn, arg, id, n, names);
}

static inline int tp(int (*fn)(void *arg), void *arg)
{
    return tp_names(fn, arg, "", 0, NULL);
}

/* -------------------------------------------------------------------- short forms */

/* Set and get name(sub) and name, as text. */
static inline void put(const char *name, const char *sub, const char *value)
{
    ydb_buffer_t s = b(sub != NULL ? sub : ""), v = b(value);

    assert_int_equal(set(var(name), sub != NULL, &s, &v), YDB_OK);
}

static inline const char *value_of(const char *name, const char *sub)
{
    static struct out o;
    ydb_buffer_t s = b(sub != NULL ? sub : "");
    int rc = get(var(name), sub != NULL, &s, out(&o));

    if (rc == YDB_ERR_GVUNDEF || rc == YDB_ERR_LVUNDEF)
        return "(undefined)";
    assert_int_equal(rc, YDB_OK);
    return text(&o);
}

static inline const char *special(const char *name)
{
    static struct out o;
    ydb_buffer_t v = b(name);

    assert_int_equal(get(&v, 0, NULL, out(&o)), YDB_OK);
    return text(&o);
}

/* -------------------------------------------------------------------- errors */

/* It is that error, and the text of the thread's last one says so, with `part` in it. */
#define fails(call, name, part) fails_(call, YDB_ERR_##name, #name, part, __FILE__, __LINE__)

static inline void fails_(int rc, int status, const char *name, const char *part, const char *file, int line)
{
    char text[YDB_MAX_ERRORMSG], head[80];

    _assert_int_equal((uintmax_t)rc, (uintmax_t)status, file, line);
    assert_int_equal(ydb_zstatus(text, sizeof text), YDB_OK);
    snprintf(head, sizeof head, "%d,(%s),%%YDB-E-%s, ", -status, mode->st ? "SimpleThreadAPI" : "SimpleAPI",
             name);
    if (strncmp(text, head, strlen(head)) != 0 || strstr(text, part) == NULL) {
        print_error("the text is: %s\n", text);
        _fail(file, line);
    }
    if (mode->st) {
        assert_int_equal(errstr.len_used, strlen(text));
        assert_memory_equal(errstr.buf_addr, text, errstr.len_used);
    }
}

enum kind { OTHERS, GETS, SETS, LOCKS };

/* What all functions on nodes make of bad names and subscripts, in the order in which they look.  f: a call whose other
 * arguments are good; GETS and SETS take special variables. */
static inline void node_errors(int (*f)(const ydb_buffer_t *v, int n, const ydb_buffer_t *s), enum kind kind)
{
    static const char *const bad[] = {"",
                                      "^",
                                      "1a",
                                      "^1a",
                                      "a b",
                                      "^a\xc3\xa4",
                                      "a_b",
                                      "^^a",
                                      "a^",
                                      "-",
                                      "^a(",
                                      "$",
                                      "1abcdefghijklmnopqrstuvwxyz0123456789"};
    static const char *const longer[] = {"a2345678901234567890123456789012",
                                         "^a2345678901234567890123456789012",
                                         "a234567890123456789012345678901_"};
    ydb_buffer_t subs[YDB_MAX_SUBS + 1], v, null = {0, 0, NULL}, over = {1, 2, error_room},
                                            nowhere = {5, 5, NULL};
    char expected[100];
    static char big[YDB_MAX_STR + 1];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        v = b(bad[i]);
        snprintf(expected, sizeof expected, "Invalid local/global/ISV variable name %s supplied to API call",
                 bad[i]);
        fails(f(&v, i % 2 == 0 ? 0 : -1, NULL), INVVARNAME, expected);
    }
    fails(f(&null, 0, NULL), INVVARNAME, "supplied to API call");
    fails(f(&over, 32, NULL), INVVARNAME, "supplied to API call");
    fails(f(&nowhere, 0, NULL), INVVARNAME, "supplied to API call");
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        v = b(longer[i]);
        fails(f(&v, -1, NULL), VARNAME2LONG, "Variable name length exceeds maximum allowed (31)");
    }
    fails(f(NULL, 0, NULL), PARAMINVALID, "NULL varname parameter specified in ydb_");
    for (int i = 0; i <= YDB_MAX_SUBS; i++)
        subs[i] = b("1");
    subs[1] = over;
    fails(f(var("a"), YDB_MAX_SUBS + 1, subs), MAXNRSUBSCRIPTS, "Maximum number of subscripts exceeded");
    fails(f(var("a"), YDB_MAX_SUBS + 1, NULL), MAXNRSUBSCRIPTS, "Maximum number of subscripts exceeded");
    fails(f(var("a"), -1, subs), MINNRSUBSCRIPTS, "Number of subscripts cannot be a negative number");
    fails(f(var("a"), 3, NULL), SUBSARRAYNULL,
          "Non-zero number of subscripts 3 specified but subscript array parameter is NULL in ydb_");
    fails(f(var("a"), 2, subs), PARAMINVALID, "Invalid subsarray (index 1) parameter specified in ydb_");
    subs[1] = nowhere;
    fails(f(var("a"), 2, subs), PARAMINVALID, "Invalid subsarray (index 1) parameter specified in ydb_");
    memset(big, 'x', sizeof big);
    subs[0] = bytes(big, YDB_MAX_STR + 1);
    fails(f(var("a"), 1, subs), INVSTRLEN, "Invalid string length 1048577: max 1048576");
    subs[0].len_used = 1100;
    if (mode->caret[0] == '^' && kind != LOCKS)
        fails(f(var("a"), 1, subs), GVSUBOFLOW, "Maximum combined length of subscripts exceeded,%YDB-I-GVIS");
    v = b("$nosuch");
    fails(f(&v, 0, NULL), INVSVN, "Invalid special variable name");
    fails(f(&v, 1, NULL), ISVSUBSCRIPTED,
          "ISV variable name $nosuch specified with a non-zero subscript count of 1");
    v = b("$JOB");
    if (kind != GETS && kind != SETS)
        fails(f(&v, -1, NULL), ISVUNSUPPORTED, "ISV variable name $JOB not supported in ydb_");
    if (kind == SETS)
        fails(f(&v, 2, subs), SVNOSET, "Cannot SET this special variable");
    else
        fails(f(&v, 2, subs), ISVSUBSCRIPTED,
              "ISV variable name $JOB specified with a non-zero subscript count of 2");
}

/* First in tests that fork.  In a child of a process with threads, and the database has one, AddressSanitizer
 * may wait for ever for a lock of its own that a thread had when the child was made. */
static inline void may_fork(void)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
}

/* ------------------------------------------------------------------- the program */

static inline int before(void **state)
{
    char name[CARET_MAX_NAME + 2] = "^%";
    ydb_buffer_t v = b(name), next = {sizeof name, 0, name};

    mode = &modes[0];
    token = YDB_NOTTP;
    while (ydb_data_s(&v, 0, NULL, &(unsigned){0}) == YDB_OK &&
           ydb_delete_s(&v, 0, NULL, YDB_DEL_TREE) == YDB_OK &&
           ydb_subscript_next_s(&v, 0, NULL, &next) == YDB_OK)
        v = bytes(name, next.len_used);
    if (ydb_delete_excl_s(0, NULL) != YDB_OK || ydb_lock_s(0, 0) != YDB_OK)
        return -1;
    mode = *state != NULL ? *state : &modes[0];
    return 0;
}

#define ONE_(f, suffix, m)                                                                                   \
    {                                                                                                        \
#f suffix, f, before, NULL, (void *)(uintptr_t)(m)                                                   \
    }
#define ONCE(f) ONE_(f, "", &modes[0])
#define EACH(f)                                                                                              \
    ONE_(f, ", global", &modes[0]), ONE_(f, ", local", &modes[1]), ONE_(f, ", global, threaded", &modes[2]), \
        ONE_(f, ", local, threaded", &modes[3])
#define BOTH(f) ONE_(f, "", &modes[0]), ONE_(f, ", threaded", &modes[2])

/* A folder of its own, with the database t.caret. */
static inline void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char db[80];

    snprintf(test_folder, sizeof test_folder, "%.40s/caret-ydb-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(test_folder) == NULL)
        exit(1);
    snprintf(db, sizeof db, "%s/t.caret", test_folder);
    unsetenv("ydb_gbldir");
    unsetenv("ydb_chset");
    unsetenv("ydb_maxtptime");
    setenv("CARET_DB", db, 1);
}

static inline int remove_folder(int status)
{
    char command[100];

    ydb_exit();
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder);
    return system(command) == 0 ? status : 1;
}

#endif
