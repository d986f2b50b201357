/*
 * yottadb.c - the C interface of YottaDB beside Caret's own, with handles, in the same run.
 *
 *   yottadb [-n NODES] [-r RUNS] [--json]
 *
 * Sequential set, random get and random update over ^BCAT("lvd",1..n), each its own commit.  Callers of
 * libyottadb.so pass name and subscripts as strings each time, so the number is made a string for it, as its
 * callers have to.  The two take turns, each with a database of its own; the ratio is taken run by run and
 * its median is quoted.  Then the same on local variables; single operations; threads that read; and what
 * remembering the last paths is worth: the same gets from as many variables in turn as are remembered, and
 * from one more, which are made anew each time.
 */
#include <pthread.h>

#include "workload.h"
#include "yottadb/libyottadb.h"

#define REMEMBERED 6 /* front/yottadb/path.h */

static void die(const char *what)
{
    char text[YDB_MAX_ERRORMSG] = "";
    ydb_zstatus(text, sizeof text);
    fprintf(stderr, "yottadb: %s: %s %s\n", what, caret_message(), text);
    exit(1);
}

/* ---------------------------------------------------------------- with strings */

/* A node, its buffers and what they point to. */
struct strings {
    ydb_buffer_t var, subs[2], value;
    char digits[16], room[64];
};

static void strings_make(struct strings *s, const char *var)
{
    YDB_STRING_TO_BUFFER(var, &s->var);
    YDB_LITERAL_TO_BUFFER("lvd", &s->subs[0]);
    s->subs[1] = (ydb_buffer_t){sizeof s->digits, 0, s->digits};
    s->value = (ydb_buffer_t){sizeof s->room, 0, s->room};
}

static inline void number(struct strings *s, unsigned n)
{
    char text[12];
    int at = sizeof text;

    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    s->subs[1].len_used = (unsigned)sizeof text - (unsigned)at;
    memcpy(s->digits, text + at, s->subs[1].len_used);
}

static double strings_run(const char *var, int kind)
{
    struct strings s;

    strings_make(&s, var);
    double t = now_ns();
    for (unsigned i = 0; i < nodes; i++) {
        unsigned key = kind == SEQ_SET ? i + 1 : shuffled(i);
        number(&s, key);
        if (kind == RANDOM_GET) {
            if (ydb_get_s(&s.var, 2, s.subs, &s.value) != YDB_OK)
                die("get");
        } else {
            s.value.len_used =
                (unsigned)snprintf(s.room, sizeof s.room, "%010u", kind == SEQ_SET ? key : key + 7);
            if (ydb_set_s(&s.var, 2, s.subs, &s.value) != YDB_OK)
                die("set");
        }
    }
    return (now_ns() - t) / nodes;
}

/* ---------------------------------------------------------------------- tables */

static void head(const char *what, const char *a, const char *b)
{
    if (!json)
        printf("\n%-28s %10s %10s %8s %8s\n", what, a, b, "ratio", "bar");
}

static void line(const char *work, double a, double b, double ratio, double bar)
{
    printf(json ? "{\"work\":\"yottadb %s\",\"a\":%.1f,\"b\":%.1f,\"ratio\":%.3f,\"bar\":%.2f}\n"
                : "%-28s %10.1f %10.1f %8.2f %8.2f\n",
           work, a, b, ratio, bar);
}

static void one(const char *work, double ns, double bar)
{
    printf(json ? "{\"work\":\"yottadb %s\",\"ns\":%.1f,\"bar_ns\":%.0f}\n" : "%-28s %10.1f %10.0f\n", work,
           ns, bar);
}

/* Strings against handles; locals against globals, both with strings. */
static void in_turns(struct handles *o)
{
    double a[KINDS][MAX_RUNS], b[KINDS][MAX_RUNS], c[KINDS][MAX_RUNS], r[KINDS][MAX_RUNS], l[KINDS][MAX_RUNS];
    ydb_buffer_t var;
    char name[16];

    for (unsigned run = 0; run < runs; run++) {
        snprintf(name, sizeof name, "^BCAT%u", run);
        handles_at(o, name);
        for (int k = 0; k < KINDS; k++) {
            if (run % 2 == 0)
                a[k][run] = strings_run(name, k);
            b[k][run] = handles_run(o, k);
            if (run % 2 != 0)
                a[k][run] = strings_run(name, k);
            c[k][run] = strings_run(name + 1, k);
            r[k][run] = a[k][run] / b[k][run];
            l[k][run] = c[k][run] / a[k][run];
        }
        YDB_STRING_TO_BUFFER(name + 1, &var);
        ydb_delete_s(&var, 0, NULL, YDB_DEL_TREE);
    }
    head("ns per operation", "strings", "handles");
    for (int k = 0; k < KINDS; k++)
        line(kinds[k], median(a[k], runs), median(b[k], runs), median(r[k], runs), 1.3);
    head("ns per operation", "locals", "globals");
    for (int k = 0; k < KINDS; k++) {
        char work[40];
        snprintf(work, sizeof work, "local, %s", kinds[k]);
        line(work, median(c[k], runs), median(a[k], runs), median(l[k], runs), 1.0);
    }
}

/* --------------------------------------------------------------- one operation */

static int tp_body(void *arg)
{
    struct strings *s = arg;
    int rc = ydb_get_s(&s->var, 2, s->subs, &s->value);
    return rc != YDB_OK ? rc : ydb_set_s(&s->var, 2, s->subs, &s->value);
}

static int next(struct strings *s)
{
    ydb_buffer_t sub = {sizeof s->digits, 0, s->digits}; /* the result is the next call's argument */
    int rc = ydb_subscript_next_s(&s->var, 2, s->subs, &sub);
    s->subs[1].len_used = sub.len_used;
    return rc;
}

enum { GET, SET, NEXT, INCR, LOCK, TXN, SINGLES };

static double single(int what, unsigned count)
{
    struct strings s;

    strings_make(&s, "^BCAT0");
    number(&s, 1);
    double t = now_ns();
    for (unsigned i = 0; i < count; i++) {
        int rc = YDB_OK;
        switch (what) {
        case GET: rc = ydb_get_s(&s.var, 2, s.subs, &s.value); break;
        case SET: rc = ydb_set_s(&s.var, 2, s.subs, &s.subs[0]); break;
        case NEXT: rc = next(&s); break;
        case INCR: rc = ydb_incr_s(&s.var, 2, s.subs, NULL, &s.value); break;
        case LOCK:
            rc = ydb_lock_incr_s(0, &s.var, 2, s.subs);
            rc |= ydb_lock_decr_s(&s.var, 2, s.subs);
            break;
        case TXN: rc = ydb_tp_s(tp_body, &s, "", 0, NULL); break;
        }
        if (rc != YDB_OK)
            die("single operation");
    }
    return (now_ns() - t) / count;
}

static void singles(void)
{
    static const char *const names[SINGLES] = {"get, one node", "set, one node", "subscript_next",
                                               "incr",          "lock + unlock", "transaction (get+set)"};
    static const double bars[SINGLES] = {40, 110, 60, 180, 180, 400};

    if (!json)
        printf("\n%-28s %10s %10s\n", "ns per operation", "strings", "bar");
    for (int k = 0; k < SINGLES; k++) {
        double v[MAX_RUNS];
        for (unsigned r = 0; r < runs; r++)
            v[r] = single(k, nodes > 400000 ? 400000 : nodes - 1);
        one(names[k], median(v, runs), bars[k]);
    }
}

/* ---------------------------------------------------------------------- threads */

static void *read_all(void *arg)
{
    (void)arg;
    strings_run("^BCAT0", RANDOM_GET);
    return NULL;
}

/* Reads in a microsecond. */
static double reading(int threads)
{
    pthread_t t[4];
    double begin = now_ns();

    for (int i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, read_all, NULL) != 0)
            die("thread");
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    return threads * (double)nodes / (now_ns() - begin) * 1e3;
}

static void threads(void)
{
    double a[MAX_RUNS], b[MAX_RUNS], r[MAX_RUNS];

    for (unsigned run = 0; run < runs; run++) {
        a[run] = reading(4);
        b[run] = reading(1);
        r[run] = a[run] / b[run];
    }
    head("random gets a microsecond", "4 threads", "1 thread");
    line("threads reading", median(a, runs), median(b, runs), median(r, runs), 1.8);
}

/* ------------------------------------------------------------------ the memory */

static double rotate(struct strings *s, int variables, unsigned count)
{
    double t = now_ns();
    for (unsigned i = 0, v = 0; i < count; i++, v = v + 1 < (unsigned)variables ? v + 1 : 0)
        if (ydb_get_s(&s[v].var, 2, s[v].subs, &s[v].value) != YDB_OK)
            die("get");
    return (now_ns() - t) / count;
}

static void memory(void)
{
    double a[MAX_RUNS], b[MAX_RUNS], r[MAX_RUNS];
    struct strings s[REMEMBERED + 1];
    char names[REMEMBERED + 1][16];

    for (int i = 0; i <= REMEMBERED; i++) {
        snprintf(names[i], sizeof names[i], "^m%d", i);
        strings_make(&s[i], names[i]);
        number(&s[i], 1);
        if (ydb_set_s(&s[i].var, 2, s[i].subs, &s[i].subs[0]) != YDB_OK)
            die("set");
    }
    for (unsigned run = 0; run < runs; run++) {
        a[run] = rotate(s, REMEMBERED, nodes);
        b[run] = rotate(s, REMEMBERED + 1, nodes);
        r[run] = a[run] / b[run];
    }
    head("ns per get, in turns", "remembered", "made anew");
    line("paths remembered", median(a, runs), median(b, runs), median(r, runs), 1.0);
}

/* ------------------------------------------------------------------------- main */

int main(int argc, char **argv)
{
    struct handles o;
    char command[100], path[96];

    int rc = workload_begin(argc, argv);

    if (rc != 0)
        return rc;
    snprintf(path, sizeof path, "%s/strings.caret", dir);
    setenv("ydb_gbldir", path, 1);
    snprintf(path, sizeof path, "%s/handles.caret", dir);
    handles_open(&o, path);
    in_turns(&o);
    singles();
    threads();
    memory();
    handles_close(&o);
    ydb_exit();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 ? 0 : 1;
}
