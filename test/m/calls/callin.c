/*
 * callin.c - calls of M by libyottadb.so: test/run/m_calls.sh runs this.  It prints what does not hold.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libyottadb.h>

static int passed, failed;

static void check(int holds, const char *what)
{
    char text[1000] = "";

    holds ? passed++ : failed++;
    if (holds)
        return;
    ydb_zstatus(text, sizeof text);
    printf("FAILED: %s [%s]\n", what, text);
}

#define CHECK(expression) check(expression, #expression)

static int says(const char *what)
{
    char text[1000];

    return ydb_zstatus(text, sizeof text) == YDB_OK && strstr(text, what) != NULL;
}

static int value_is(const char *name, const char *value)
{
    char room[100];
    ydb_buffer_t v = {(unsigned)strlen(name), (unsigned)strlen(name), (char *)(uintptr_t)name};
    ydb_buffer_t to = {sizeof room, 0, room};
    int status = ydb_get_s(&v, 0, NULL, &to);

    if (value == NULL)
        return status == YDB_ERR_GVUNDEF || status == YDB_ERR_LVUNDEF;
    return status == YDB_OK && to.len_used == strlen(value) && memcmp(room, value, to.len_used) == 0;
}

/* Each type goes in and comes back. */
static void types(void)
{
    char text[100] = "text", ret[200], string[10] = "in", buffer[4] = "ab";
    ydb_string_t s = {sizeof string, string};
    ydb_buffer_t b = {sizeof buffer, 2, buffer};
    ydb_int_t i = -5;
    ydb_uint_t u = 4294967295u;
    ydb_int64_t l = 9007199254740993;
    ydb_double_t d = .5;

    CHECK(ydb_ci("types", ret, text, &s, &b, &i, &u, &l, &d, 2.5, -7, (ydb_long_t)1) == YDB_OK);
    CHECK(strcmp(ret, "text|10|ab|-5|4294967295|9007199254740993|.5|2.5|-7|1") == 0);
    CHECK(strcmp(text, "text!") == 0);
    CHECK(s.length == 10 && memcmp(string, "0123456789", 10) == 0); /* cut at what there is room for */
    CHECK(b.len_used == 3 && memcmp(buffer, "ab!", 3) == 0);
    CHECK(i == -4 && u == 4294967294u && l == 9007199254740993 && d == .25);
}

static void errors(void)
{
    char small[2];
    ydb_buffer_t b = {sizeof small, 0, small};
    uintptr_t table, before;

    CHECK(ydb_ci("undefined") == YDB_ERR_LVUNDEF && says("%YDB-E-LVUNDEF, Undefined local variable: y"));
    CHECK(ydb_ci("nothing") == YDB_ERR_CINOENTRY && says("No entry specified for nothing"));
    CHECK(ydb_ci("missing") == YDB_ERR_ZLINKFILE);
    CHECK(ydb_ci("tight", &b) == YDB_ERR_INVSTRLEN && b.len_used == 5);
    CHECK(ydb_ci_tab_open("wrong.ci", &table) == YDB_ERR_CIUNTYPE);
    CHECK(ydb_ci_tab_open("other.ci", &table) == YDB_OK && ydb_ci_tab_switch(table, &before) == YDB_OK);
    CHECK(before == 0 && ydb_ci("undefined") == YDB_ERR_CINOENTRY);
    CHECK(ydb_ci_tab_switch(before, &table) == YDB_OK && ydb_ci("undefined") == YDB_ERR_LVUNDEF);
    CHECK(ydb_ci_tab_switch(77, &table) == YDB_ERR_PARAMINVALID);
}

/* Tables that are wrong, each for its reason, as fis-gtm tells it; the error as the very first call is told, too. */
static int table_is(const char *text, int status)
{
    uintptr_t table;
    FILE *f = fopen("some.ci", "w");

    if (f == NULL || fputs(text, f) == EOF || fclose(f) != 0)
        return 0;
    return ydb_ci_tab_open("some.ci", &table) == status;
}

static void tables(void)
{
    CHECK(table_is("x void y^z()", YDB_ERR_COLON) && table_is(": void y^z()", YDB_ERR_CIRCALLNAME));
    CHECK(table_is("x: y^z()", YDB_ERR_CIRTNTYP) && table_is("x: void*y^z()", YDB_ERR_CIRTNTYP));
    CHECK(table_is("x: ydb_char_t** y^z()", YDB_ERR_CIRTNTYP) && table_is("x:", YDB_ERR_CIRTNTYP));
    CHECK(table_is("x: ydb_status_t* y^z()", YDB_ERR_CIRTNTYP) && table_is("x: void y", YDB_ERR_CIENTNAME));
    CHECK(table_is("x: void y^z(", YDB_ERR_CIDIRECTIVE) &&
          table_is("x: void y^z(Q:int)", YDB_ERR_CIDIRECTIVE));
    CHECK(table_is("x: void y^z(I:int", YDB_ERR_CIRPARMNAME) &&
          table_is("x: void y a^z()", YDB_ERR_CIRPARMNAME));
    CHECK(table_is("x: void y^z(I:)", YDB_ERR_CIUNTYPE) &&
          table_is("x: void y^z(I:int*,)", YDB_ERR_CIDIRECTIVE));
    CHECK(table_is("x: void y^z(I:ydb_string_t)", YDB_ERR_CIUNTYPE) &&
          table_is("x: void y^z(I:ydb_buffer_t)", YDB_ERR_CIUNTYPE));
    CHECK(table_is("x: void y^z(O:int)", YDB_ERR_CIPARTYPE) && table_is("x: void y^z( I : int* )", YDB_OK));
}

#define REFUSED(call)                                                                                        \
    CHECK((call) == YDB_ERR_PARAMINVALID && says("argument") && says("specified in ydb_ci() call"))

/* What can't be read or written is told before M runs, as far as it can be known then. */
static void pointers(void)
{
    ydb_int_t i = 1;
    ydb_double_t d = 1;
    ydb_long_t l = 5;
    char text[10] = "ab", out[10] = "";
    ydb_string_t s = {2, text}, none = {5, NULL};
    ydb_buffer_t b = {sizeof out, 0, out}, wrong = {2, 3, out}, nowhere = {5, 1, NULL}, empty = {5, 0, NULL};

    REFUSED(ydb_ci("numbers", NULL, &i, &d));
    REFUSED(ydb_ci("numbers", &l, NULL, &d));
    REFUSED(ydb_ci("numbers", &l, &i, NULL));
    REFUSED(ydb_ci("texts", NULL, &s, &b));
    REFUSED(ydb_ci("texts", &s, &s, NULL));
    REFUSED(ydb_ci("texts", &s, &s, &wrong));
    REFUSED(ydb_ci("texts", &s, &s, &nowhere));
    REFUSED(ydb_ci("types", NULL, text, &s, &b, &i, &i, &l, &d, 2.5, -7, (ydb_long_t)1));
    CHECK(value_is("^ran", NULL));
    REFUSED(ydb_ci("texts", &none, &s, &b)); /* only what M gives tells that there is no room */
    REFUSED(ydb_ci("texts", &s, &s, &empty));
    CHECK(value_is("^ran", "1") && ydb_ci("texts", &s, &none, &b) == YDB_OK && s.length == 0);
    CHECK(ydb_ci("texts", &s, NULL, &b) == YDB_OK && ydb_ci(NULL) == YDB_ERR_CIRCALLNAME);
    CHECK(ydb_cip(NULL) == YDB_ERR_PARAMINVALID && says("NULL ci_info"));
}

/* Integers of 32 bits are the nearest that there are; of a float 6 digits count; what M does not set stays. */
static void values(void)
{
    char text[100], out[10] = "as it was";
    ydb_string_t s = {9, out};
    ydb_int_t i = 5;
    ydb_uint_t u = 5;

    CHECK(ydb_ci("both", "1E10", &i, &u) == YDB_OK && i == 2147483647 && u == 4294967295);
    CHECK(ydb_ci("both", "-1E10", &i, &u) == YDB_OK && i == -2147483647 - 1 && u == 2884901888);
    CHECK(ydb_ci("both", "-1.9", &i, &u) == YDB_OK && i == -1 && u == 4294967295);
    CHECK(ydb_ci("single", text, 1.0f / 3) == YDB_OK && strcmp(text, ".333333") == 0);
    CHECK(ydb_ci("sets nothing", &i, &s) == YDB_ERR_CINOENTRY);
    CHECK(ydb_ci("unset", &i, &s) == YDB_OK && i == -1 && s.length == 9 && strcmp(out, "as it was") == 0);
}

/* A transaction that a routine left in progress is undone; ZGOTO 1 with an entry goes on there. */
static void left_open(void)
{
    char text[100];

    CHECK(ydb_ci("leaves") == YDB_ERR_TPQUIT && value_is("^left", NULL));
    CHECK(ydb_ci("level", text) == YDB_OK && strcmp(text, "2;1;1;0;;;") == 0);
    CHECK(ydb_ci("elsewhere") == YDB_OK && value_is("^there", "1"));
    CHECK(ydb_ci("named", text) == YDB_OK && strcmp(text, "of 31 bytes") == 0);
}

/* Without the value that the caller waits for, and away from there: as fis-gtm has it. */
static void ends(void)
{
    char ret[10] = "as it was", x[10] = "x";

    CHECK(ydb_ci("none", ret, x) == YDB_OK && strcmp(ret, "as it was") == 0 && strcmp(x, "set") == 0);
    strcpy(x, "x");
    CHECK(ydb_ci("away", ret, x) == YDB_OK && strcmp(ret, "as it was") == 0 && strcmp(x, "x") == 0);
    CHECK(ydb_ci("beyond") == YDB_ERR_ZGOCALLOUTIN);
}

/* ---- interrupts ---- */

static _Atomic int over;

static void *interrupts(void *unused)
{
    (void)unused;
    while (!over) {
        ydb_ci_interrupt();
        usleep(1000);
    }
    return NULL;
}

static void on_alarm(int number)
{
    (void)number;
    ydb_ci_interrupt();
}

/* Loops by FOR and GOTO, HANG, and M that waits for M in C: no trap goes on, no transaction stays. */
static void interrupted(void)
{
    char text[100];
    pthread_t t;
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};

    for (int kind = 1; kind <= 4; kind++) {
        over = 0;
        CHECK(pthread_create(&t, NULL, interrupts, NULL) == 0);
        CHECK(ydb_ci("endless", kind) == YDB_ERR_CTRLC && says("CTRLC") && value_is("^endless", NULL));
        over = 1;
        CHECK(pthread_join(t, NULL) == 0);
    }
    CHECK(signal(SIGALRM, on_alarm) != SIG_ERR && setitimer(ITIMER_REAL, &often, NULL) == 0);
    CHECK(ydb_ci("endless", 1) == YDB_ERR_CTRLC && setitimer(ITIMER_REAL, &never, NULL) == 0);
    ydb_ci_interrupt(); /* nothing runs */
    CHECK(ydb_ci("level", text) == YDB_OK && strcmp(text, "2;1;1;0;;;") == 0);
}

static void *one_more(void *unused)
{
    ydb_long_t n;

    (void)unused;
    return ydb_ci("count", &n) == YDB_OK ? NULL : "";
}

/* M calls C that calls M, until there is no stack; nothing of the machine is held afterwards: others can use it. */
static void depth(void)
{
    char text[100];
    pthread_t t;
    void *wrong;

    CHECK(ydb_ci("deep", text, 100) == YDB_OK && strcmp(text, "end") == 0);
    CHECK(ydb_ci("deep", text, 100000) == YDB_OK && atoi(text) == YDB_ERR_STACKCRIT);
    CHECK(pthread_create(&t, NULL, one_more, NULL) == 0 && pthread_join(t, &wrong) == 0 && wrong == NULL);
}

/* A descriptor is that of the table which was the current one when it was used first. */
static void descriptors(void)
{
    ci_name_descriptor d = {{5, (char *)(uintptr_t) "count"}, NULL};
    ci_name_descriptor no_length = {{0, (char *)(uintptr_t) "count"}, NULL};
    ydb_long_t n = 0;
    ci_parm_type masks;

    CHECK(ydb_cip(&d, &n) == YDB_OK && d.handle != NULL);
    CHECK(ydb_cip(&d, &n) == YDB_OK && n == 2);
    CHECK(ydb_cip(&no_length, &n) == YDB_OK && n == 3);
    CHECK(ydb_ci_get_info("types", &masks) == YDB_OK && masks.input_mask == 0x3ff &&
          masks.output_mask == 0x7f);
}

/* M works in the transaction of its caller. */
static int in_transaction(void *fails)
{
    CHECK(ydb_ci("put") == YDB_OK);
    CHECK(value_is("^put", "7"));
    return *(int *)fails ? YDB_TP_ROLLBACK : YDB_OK;
}

/* ./callin change: somebody else sets what the transaction has read, and what M will. */
static int change(void)
{
    ydb_buffer_t of_c = {4, 4, "^ofc"}, of_m = {4, 4, "^ofm"}, two = {1, 1, "2"};

    return ydb_set_s(&of_c, 0, NULL, &two) != YDB_OK || ydb_set_s(&of_m, 0, NULL, &two) != YDB_OK;
}

static int changed(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        execl("./callin", "callin", "change", NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct conflict {
    int runs, begins; /* M: a transaction of its own? */
    ydb_long_t level;
};

static int reads(void *context)
{
    struct conflict *c = context;

    CHECK(value_is("^ofc", c->runs == 0 ? NULL : "2"));
    CHECK(c->runs++ != 0 || changed());
    return ydb_ci("inside", &c->level, c->begins);
}

/* A conflict that M meets in a transaction of its caller begins that again; $TLEVEL counts the caller's levels. */
static void conflicts(void)
{
    for (int begins = 0; begins < 2; begins++) {
        struct conflict c = {.begins = begins};
        ydb_buffer_t of_c = {4, 4, "^ofc"};
        CHECK(ydb_delete_s(&of_c, 0, NULL, YDB_DEL_NODE) == YDB_OK);
        CHECK(ydb_tp_s(reads, &c, NULL, 0, NULL) == YDB_OK && c.runs == 2 && c.level == 1);
        CHECK(ydb_ci("inside", &c.level, 0) == YDB_OK && c.level == 0);
    }
}

static ydb_buffer_t buffer(const char *text)
{
    unsigned len = (unsigned)strlen(text);

    return (ydb_buffer_t){len, len, (char *)(uintptr_t)text};
}

static int setting_is(const char *name, const char *value)
{
    char of_m[500], room[500];
    ydb_buffer_t n = buffer(name), to = {sizeof room, 0, room};

    return ydb_ci("setting", of_m, name, "") == YDB_OK && strcmp(of_m, value) == 0 &&
           ydb_get_s(&n, 0, NULL, &to) == YDB_OK && to.len_used == strlen(value) &&
           memcmp(room, value, to.len_used) == 0;
}

/* By M, or by C. */
static int change_setting(const char *name, const char *value, bool by_m)
{
    char of_m[500];
    ydb_buffer_t n = buffer(name), v = buffer(value);

    return by_m ? ydb_ci("setting", of_m, name, value) : ydb_set_s(&n, 0, NULL, &v);
}

static int changes_database(void *unused)
{
    (void)unused;
    return change_setting("$zgbldir", "third.caret", true);
}

/* $ZGBLDIR and $ZMAXTPTIME are the process's, whoever sets them. */
static void settings(void)
{
    const char *first = getenv("CARET_DB"), *names[] = {"second.caret", first};

    for (int by_m = 0; by_m < 2; by_m++) {
        CHECK(change_setting("$zmaxtptime", by_m ? "0" : "70", by_m) == YDB_OK);
        CHECK(setting_is("$zmaxtptime", by_m ? "0" : "70"));
        for (int i = 0; i < 2; i++) {
            CHECK(change_setting("$zgbldir", names[i], by_m) == YDB_OK && setting_is("$zgbldir", names[i]));
            CHECK(ydb_ci("put") == YDB_OK && value_is("^put", "7"));
        }
    }
    CHECK(change_setting("$zgbldir", "/dev/null/x", true) == YDB_ERR_ZGBLDIRACC);
    CHECK(ydb_tp_s(changes_database, NULL, NULL, 0, NULL) == YDB_ERR_ZGBLDIRACC);
    CHECK(setting_is("$zgbldir", first));
}

static int ends_levels(void *unused)
{
    static const char *const refused[] = {"commit", "rollback", "all"};
    char at[64];

    (void)unused;
    for (int i = 0; i < 3; i++)
        CHECK(ydb_ci("host", at, refused[i]) == (i == 0 ? YDB_ERR_CALLINTCOMMIT : YDB_ERR_CALLINTROLLBACK));
    CHECK(says("TROLLBACK at call-in-level=1 not allowed"));
    CHECK(ydb_ci("host", at, "own") == YDB_OK && strcmp(at, "1;0") == 0);
    return YDB_OK;
}

struct again {
    int runs;
    bool passes_on;
    char at[64];
};

static int begins_again(void *context)
{
    struct again *a = context;
    int status = ydb_ci("host", a->at, "again");

    a->runs++;
    return a->passes_on ? status : YDB_OK;
}

/* M's TCOMMIT and TROLLBACK end what began in that call alone; its TRESTART is the caller's, and so is $TRESTART. */
static void levels_of_the_caller(void)
{
    CHECK(ydb_tp_s(ends_levels, NULL, NULL, 0, NULL) == YDB_OK);
    for (int i = 0; i < 2; i++) {
        struct again a = {.passes_on = i != 0};
        CHECK(ydb_tp_s(begins_again, &a, NULL, 0, NULL) == YDB_OK && a.runs == 3 && strcmp(a.at, "1;2") == 0);
    }
}

static void transactions(void)
{
    CHECK(ydb_tp_s(in_transaction, &(int){1}, NULL, 0, NULL) == YDB_TP_ROLLBACK && value_is("^put", NULL));
    CHECK(ydb_tp_s(in_transaction, &(int){0}, NULL, 0, NULL) == YDB_OK && value_is("^put", "7"));
}

/* ---- local variables ---- */

static int set(const char *name, const char *sub, const char *value)
{
    ydb_buffer_t n = buffer(name), s = buffer(sub), v = buffer(value);

    return ydb_set_s(&n, 1, &s, &v);
}

static char walked[10000];

static int walk_is(const char *name, const char *what)
{
    return ydb_ci("walk", walked, name) == YDB_OK && strcmp(walked, what) == 0;
}

/* Before M is called first. */
static char long_sub[3000];

static void before(void)
{
    memset(long_sub, 'l', sizeof long_sub - 1);
    CHECK(set("early", "b", "1") == YDB_OK && set("early", long_sub, "2") == YDB_OK);
    CHECK(set("early", "-1.5", "0") == YDB_OK && set("short", "x", "3") == YDB_OK);
}

static void handed_over(void)
{
    char all[4000], name[YDB_MAX_IDENT + 1] = "%";
    ydb_buffer_t n = {sizeof name, 1, name};

    snprintf(all, sizeof all, "early(-1.5)=0;early(\"b\")=1;early(\"%s\")=2;", long_sub);
    CHECK(walk_is("early", all) && walk_is("short", "short(\"x\")=3;"));
    CHECK(ydb_subscript_next_s(&n, 0, NULL, &n) == YDB_OK && n.len_used == 5 &&
          memcmp(name, "early", 5) == 0);
}

static void one_set(void)
{
    ydb_buffer_t shared = buffer("shared"), sub[3];
    ydb_buffer_t from[2] = {buffer("a"), buffer("1")};
    ydb_string_t json;
    char text[3][100];
    int n = 3;

    for (int i = 0; i < 3; i++)
        sub[i] = (ydb_buffer_t){sizeof text[i], 0, text[i]};
    CHECK(ydb_ci("local", "top") == YDB_OK && value_is("shared", "top"));
    CHECK(ydb_node_next_s(&shared, 2, from, &n, sub) == YDB_OK && n == 2 && memcmp(text[1], "1.5", 3) == 0);
    CHECK(ydb_incr_s(&shared, 2, from, NULL, &sub[2]) == YDB_OK && text[2][0] == '3');
    CHECK(set("shared", "01", "text") == YDB_OK && set("shared", "", "empty") == YDB_OK);
    CHECK(
        walk_is("shared",
                "shared=top;shared(\"\")=empty;shared(\"01\")=text;shared(\"a\",1)=3;shared(\"a\",1.5)=y;"));
    CHECK(ydb_encode_s(&shared, 1, from, "JSON", &json) == YDB_OK && strstr(json.address, "\"1.5\"") != NULL);
    CHECK(ydb_delete_s(&shared, 1, from, YDB_DEL_TREE) == YDB_OK);
    CHECK(ydb_delete_s(&shared, 0, NULL, YDB_DEL_NODE) == YDB_OK && value_is("shared", NULL));
    CHECK(walk_is("shared", "shared(\"\")=empty;shared(\"01\")=text;"));
    CHECK(ydb_delete_excl_s(1, &shared) == YDB_OK && walk_is("early", "") && !walk_is("shared", ""));
    CHECK(ydb_delete_excl_s(0, NULL) == YDB_OK && walk_is("shared", ""));
}

/* C that M calls sees what is visible in M just then. */
static void scopes(void)
{
    char text[100];

    CHECK(ydb_ci("local", "outer") == YDB_OK && ydb_ci("scope", text, "x") == YDB_OK);
    CHECK(strcmp(text, "inner,x,inner2,inner2") == 0 && value_is("shared", "outer"));
}

/* M is needed until it returns. */
static void no_exit(void)
{
    char text[500];

    CHECK(ydb_ci("leave", text) == YDB_OK && value_is("^gone", NULL));
    CHECK(strcmp(text, "150380242,(SimpleAPI),%YDB-E-INVYDBEXIT, Inappropriate invocation of ydb_exit(). "
                       "Calls to ydb_exit() cannot be made from external calls.;none;%YDB-E-LVUNDEF, "
                       "Undefined local variable: none") == 0);
}

static int again(void *runs)
{
    CHECK(ydb_ci("tp") == YDB_OK);
    CHECK(value_is("tried", "1"));
    return ++*(int *)runs < 3 ? YDB_TP_RESTART : YDB_OK;
}

/* What a transaction names is as it was when it begins again. */
static void restarts(void)
{
    ydb_buffer_t name = buffer("tried"), all = buffer("*");
    int runs = 0;

    CHECK(ydb_delete_excl_s(0, NULL) == YDB_OK && ydb_tp_s(again, &runs, NULL, 1, &name) == YDB_OK);
    CHECK(runs == 3 && value_is("kept", "3"));
    runs = 0;
    CHECK(ydb_delete_excl_s(0, NULL) == YDB_OK && ydb_tp_s(again, &runs, NULL, 1, &all) == YDB_OK);
    CHECK(runs == 3 && value_is("kept", "1"));
}

/* ---- locks ---- */

static int locks_are(const char *what, const char *held)
{
    return ydb_ci("locks", walked, what) == YDB_OK && strcmp(walked, held) == 0;
}

/* One owner has those of C and of M. */
static void locks(void)
{
    ydb_buffer_t own = buffer("^clock"), of_m = buffer("^mlock"), one = buffer("1");

    CHECK(ydb_lock_incr_s(0, &own, 0, NULL) == YDB_OK && locks_are("", "LOCK ^clock LEVEL=1;"));
    CHECK(locks_are("plus", "LOCK ^clock LEVEL=1;LOCK ^mlock(1) LEVEL=1;"));
    CHECK(ydb_lock_incr_s(0, &of_m, 1, &one) == YDB_OK);
    CHECK(locks_are("other", "1;LOCK ^clock LEVEL=2;LOCK ^mlock(1) LEVEL=2;"));
    CHECK(locks_are("undo", "LOCK ^clock LEVEL=2;LOCK ^mlock(1) LEVEL=2;"));
    CHECK(locks_are("minus", "LOCK ^clock LEVEL=2;LOCK ^mlock(1) LEVEL=1;"));
    CHECK(ydb_lock_decr_s(&of_m, 1, &one) == YDB_OK && locks_are("", "LOCK ^clock LEVEL=2;"));
    CHECK(ydb_lock_s(0, 0) == YDB_OK && locks_are("", ""));
}

/* ---- threads ---- */

/* One machine serves all threads. */
static void *many(void *unused)
{
    ydb_long_t n;

    (void)unused;
    for (int i = 0; i < 500; i++)
        if (ydb_ci("count", &n) != YDB_OK || set("thread", "x", "1") != YDB_OK)
            return "";
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];
    void *wrong;
    ydb_long_t n = 0;

    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, many, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &wrong);
        CHECK(wrong == NULL);
    }
    CHECK(ydb_ci("count", &n) == YDB_OK && n == 2005);
}

/* ---- forks ---- */

static int said[2], told[2];

static void *stays(void *unused)
{
    (void)unused;
    return ydb_ci("stay", said[1], told[0]) == YDB_OK ? NULL : "";
}

/* A child calls M, and is told `what`; NULL: it can.  It is ended if it waits for a lock that nobody gives back. */
static int child_is_told(const char *what)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        ydb_long_t n;
        alarm(60);
        int rc = ydb_ci("count", &n);
        _exit(what == NULL ? rc != YDB_OK : rc == YDB_OK || !says(what));
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One while another thread is in M, whose machine is not whole in the child; and one while nobody is. */
static void forks(void)
{
    char byte = 0;
    pthread_t t;
    void *wrong;
    ydb_long_t n;

    CHECK(pipe(said) == 0 && pipe(told) == 0 && pthread_create(&t, NULL, stays, NULL) == 0);
    CHECK(read(said[0], &byte, 1) == 1 && child_is_told("another thread was in M"));
    CHECK(write(told[1], &byte, 1) == 1 && pthread_join(t, &wrong) == 0 && wrong == NULL);
    CHECK(ydb_ci("count", &n) == YDB_OK && child_is_told(NULL));
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return change();
    CHECK(ydb_ci("nothing") == YDB_ERR_CINOENTRY); /* before M has begun */
    before();
    handed_over();
    one_set();
    scopes();
    no_exit();
    restarts();
    locks();
    types();
    errors();
    tables();
    pointers();
    values();
    left_open();
    ends();
    descriptors();
    transactions();
    conflicts();
    levels_of_the_caller();
    settings();
    depth();
    threads();
    forks();
    interrupted();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
