/*
 * What a database on PostgreSQL costs above libpq itself: the same work written by hand with libpq, beside ours, in
 * turns.
 *
 *     taskset -c 1 sh test/with_postgres.sh taskset -c 0 build/bench/store       a server of its own
 *     store [URL]                                                                CARET_TEST_URL otherwise
 *
 * The bars are for a client and a server that have a processor each, as above: then each trip is two wake-ups, as it is
 * between machines.  Without the second taskset both share one, and a trip costs none, so that four trips are hardly
 * dearer than two.  Without either, the scheduler does now this, now that: get is 15 or 80 us.  Which it was is told.
 *
 * All of it is SERIALIZABLE.  By hand: statements that are prepared, binary, in as few trips as they can be, with the
 * row of a token where ours has one, plans that use the index; "naive" is a trip for each statement.  The table is made
 * by ours, in the schema caret_bench, which is dropped at the end.  STORE_ONLY=word: rows with that word.
 */
#include "measure.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#ifndef HAVE_LIBPQ
int main(void)
{
    puts("store: built without libpq (Debian: apt install libpq-dev)");
    return 0;
}
#else

#include <libpq-fe.h>

#define TURNS  21
#define NODES  1000 /* keys in use */
#define LEAVES 100000
#define SCHEMA "caret_bench"

static PGconn *pq;
static caret_db *db;
static caret_session *s;
static caret_node_buf nodes[NODES]; /* ^b(i) */
static caret_node_buf walked;
static char keys[NODES][16]; /* the same, encoded */
static int key_len[NODES];
static uint64_t token_of;

/* ------------------------------------------------------------ by hand */

static void fail_raw(const char *what)
{
    fprintf(stderr, "store: %s: %s\n", what, PQerrorMessage(pq));
    _exit(1);
}

static void sql(const char *text)
{
    PGresult *r = PQexec(pq, text);

    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_raw(text);
    PQclear(r);
}

static void prepare(const char *name, const char *text)
{
    PGresult *r = PQprepare(pq, name, text, 0, NULL);

    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_raw(text);
    PQclear(r);
}

static void connect_raw(const char *url)
{
    pq = PQconnectdb(url);
    if (PQstatus(pq) != CONNECTION_OK)
        fail_raw("connect");
    sql("set default_transaction_isolation = serializable; set enable_seqscan = off; set enable_bitmapscan = "
        "off; "
        "set plan_cache_mode = force_generic_plan; set jit = off; set synchronous_commit = off; set "
        "search_path = " SCHEMA);
    prepare("begin", "begin");
    prepare("commit", "commit");
    prepare("get", "select v from nodes where k = $1");
    prepare("next", "select k from nodes where k > $1 order by k limit 1");
    prepare("page", "select k from nodes where k > $1 order by k limit 4096");
    prepare("set", "insert into nodes values ($1, $2) on conflict (k) do update set v = excluded.v");
    prepare("sets", "insert into nodes select * from unnest($1::bytea[], $2::bytea[]) "
                    "on conflict (k) do update set v = excluded.v");
    prepare("token", "insert into tokens(t, state) values ($1, 'c')");
}

static PGresult *exec(const char *name, int n, const char *a, int an, const char *b, int bn)
{
    const char *values[] = {a, b};
    PGresult *r = PQexecPrepared(pq, name, n, values, (int[]){an, bn}, (int[]){1, 1}, 1);

    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_raw(name);
    return r;
}

static void send(const char *name, int n, const char *a, int an, const char *b, int bn)
{
    const char *values[] = {a, b};

    if (PQsendQueryPrepared(pq, name, n, values, (int[]){an, bn}, (int[]){1, 1}, 1) != 1)
        fail_raw(name);
}

static void send_token(void)
{
    char token[16] = "by hand:";

    token_of += token_of == 0 ? (uint64_t)(now() * 1e9) : 1;
    for (int i = 0; i < 8; i++)
        token[8 + i] = (char)(token_of >> (56 - 8 * i));
    send("token", 1, token, 16, NULL, 0);
}

/* Sync, and all results of n statements. */
static void finish_raw(int n)
{
    PGresult *r;

    PQpipelineSync(pq);
    for (int i = 0; i < n; i++) {
        r = PQgetResult(pq);
        if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
            fail_raw("pipeline");
        PQclear(r);
        PQgetResult(pq);
    }
    r = PQgetResult(pq);
    if (PQresultStatus(r) != PGRES_PIPELINE_SYNC)
        fail_raw("sync");
    PQclear(r);
}

static void raw_get(unsigned i)
{
    PQclear(exec("get", 1, keys[i % NODES], key_len[i % NODES], NULL, 0));
}

static void raw_next(unsigned i)
{
    char after[16];

    memcpy(after, keys[i % NODES], 16);
    after[key_len[i % NODES]] = (char)0xff;
    PQclear(exec("next", 1, after, key_len[i % NODES] + 1, NULL, 0));
}

static void raw_set(unsigned i)
{
    PQenterPipelineMode(pq);
    send("set", 2, keys[i % NODES], key_len[i % NODES], "value", 5);
    send_token();
    finish_raw(2);
    PQexitPipelineMode(pq);
}

static void raw_txn(unsigned i)
{
    PQenterPipelineMode(pq);
    send("begin", 0, NULL, 0, NULL, 0);
    send("get", 1, keys[i % NODES], key_len[i % NODES], NULL, 0);
    finish_raw(2);
    send("set", 2, keys[i % NODES], key_len[i % NODES], "value", 5);
    send_token();
    send("commit", 0, NULL, 0, NULL, 0);
    finish_raw(3);
    PQexitPipelineMode(pq);
}

static void naive_txn(unsigned i)
{
    PQclear(exec("begin", 0, NULL, 0, NULL, 0));
    raw_get(i);
    PQclear(exec("set", 2, keys[i % NODES], key_len[i % NODES], "value", 5));
    PQclear(exec("commit", 0, NULL, 0, NULL, 0));
}

static char *put32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *p++ = (char)(v >> (24 - 8 * i));
    return p;
}

static char *put_head(char *p, uint32_t n)
{
    const uint32_t head[] = {1, 0, 17, n, 1};

    for (int i = 0; i < 5; i++)
        p = put32(p, head[i]);
    return p;
}

static void raw_sets(unsigned at)
{
    char a[4096], b[4096], *ap = put_head(a, 100), *bp = put_head(b, 100);

    for (unsigned i = at * 100 % NODES, n = 0; n < 100; n++, i++) {
        ap = put32(ap, (uint32_t)key_len[i % NODES]);
        memcpy(ap, keys[i % NODES], (size_t)key_len[i % NODES]);
        ap += key_len[i % NODES];
        bp = put32(bp, 5);
        memcpy(bp, "value", 5);
        bp += 5;
    }
    PQenterPipelineMode(pq);
    send("sets", 2, a, (int)(ap - a), b, (int)(bp - b));
    send_token();
    finish_raw(2);
    PQexitPipelineMode(pq);
}

static void raw_walk(unsigned i)
{
    char from[64] = "w\0\x01";
    int len = 3, n = 0;
    PGresult *r;

    (void)i;
    for (int rows = 4096; rows == 4096; n += rows) {
        r = exec("page", 1, from, len, NULL, 0);
        rows = PQntuples(r);
        for (int row = 0; row < rows; row++) {
            len = PQgetlength(r, row, 0);
            memcpy(from, PQgetvalue(r, row, 0), (size_t)len);
        }
        PQclear(r);
    }
    if (n < LEAVES)
        fail_raw("walk");
}

/* ------------------------------------------------------------ ours */

static void our_get(unsigned i)
{
    caret_slice v;

    must(caret_get(s, &nodes[i % NODES].node, &v), "get");
}

static void our_next(unsigned i)
{
    static caret_node_buf n;

    must(caret_node_path(&n.node, sizeof n, "^b", NULL, 0), "node");
    must(caret_node_child_int(&n.node, sizeof n, &n.node, i * 7 % (NODES - 1) + 1), "node");
    must(caret_next(s, &n.node), "next");
}

static void our_set(unsigned i)
{
    must(caret_set(s, &nodes[i % NODES].node, "value", 5), "set");
}

static int get_and_set(caret_session *session, void *arg)
{
    caret_slice v;
    int rc = caret_get(session, arg, &v);

    return rc == CARET_OK ? caret_set(session, arg, "value", 5) : rc;
}

static void our_txn(unsigned i)
{
    must(caret_transaction(s, get_and_set, &nodes[i % NODES].node, 0), "transaction");
}

static void our_txn_batch(unsigned i)
{
    must(caret_transaction(s, get_and_set, &nodes[i % NODES].node, CARET_TXN_BATCH), "transaction");
}

static int set_100(caret_session *session, void *arg)
{
    int rc = CARET_OK;

    for (unsigned i = *(unsigned *)arg * 100 % NODES, n = 0; n < 100 && rc == CARET_OK; n++, i++)
        rc = caret_set(session, &nodes[i % NODES].node, "value", 5);
    return rc;
}

static void our_sets(unsigned i)
{
    must(caret_transaction(s, set_100, &i, 0), "100 sets");
}

static void our_walk(unsigned i)
{
    int n = 1, rc;

    (void)i;
    must(caret_node_var(&walked.node, sizeof walked, "^w", 2), "node");
    must(caret_first(s, &walked.node), "first");
    while ((rc = caret_next(s, &walked.node)) == CARET_OK)
        n++;
    if (n != LEAVES)
        fprintf(stderr, "store: %d of %d leaves\n", n, LEAVES);
}

/* ------------------------------------------------------------ in turns */

static double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* What the server's process has used, if it runs on this machine. */
static double server_us(int pid)
{
    char path[40];
    unsigned long long ns = 0;

    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    FILE *f = fopen(path, "r");
    if (f != NULL && fscanf(f, "%llu", &ns) != 1)
        ns = 0;
    if (f != NULL)
        fclose(f);
    return (double)ns / 1e3;
}

/* The process that serves us; ours names itself. */
static int our_server(void)
{
    PGresult *r = PQexec(pq, "select max(pid) from pg_stat_activity where application_name = 'caret'");
    int pid = PQntuples(r) == 1 ? atoi(PQgetvalue(r, 0, 0)) : 0;

    PQclear(r);
    return pid;
}

/* The processor that a process is bound to; -1: several; -2: it is not on this machine.  pid 0: this one. */
static int bound_to(pid_t pid)
{
    cpu_set_t set;
    int at = 0;

    if (sched_getaffinity(pid, sizeof set, &set) != 0)
        return -2;
    while (!CPU_ISSET(at, &set))
        at++;
    return CPU_COUNT(&set) == 1 ? at : -1;
}

static void tell_processors(void)
{
    int client = bound_to(0), server = bound_to(our_server());

    if (server == -2)
        puts("the server is on another machine");
    else if (client < 0 || server < 0)
        puts(
            "client and server are not bound to processors, and a trip costs what the scheduler makes of it; "
            "better:\ntaskset -c 1 sh test/with_postgres.sh taskset -c 0 build/bench/store");
    else if (client == server)
        puts("client and server share a processor: a trip costs no wake-up, and the bars are not for this");
    else
        puts("client and server have a processor each");
}

struct side {
    void (*work)(unsigned i);
    int server;
    double us[TURNS], cpu[TURNS], theirs[TURNS];
};

static void turn(struct side *side, int t, unsigned n)
{
    double began = now(), cpu = cpu_us(), theirs = server_us(side->server);

    for (unsigned i = 0; i < n; i++)
        side->work(i + (unsigned)t * 31);
    side->us[t] = (now() - began) * 1e6 / n;
    side->cpu[t] = (cpu_us() - cpu) / n;
    side->theirs[t] = (server_us(side->server) - theirs) / n;
}

static void compare(const char *what, unsigned n, double bar, void (*raw)(unsigned), void (*ours)(unsigned))
{
    struct side a = {.work = raw, .server = PQbackendPID(pq)}, b = {.work = ours, .server = our_server()};
    double ratio[TURNS];
    const char *only = getenv("STORE_ONLY");

    if (only != NULL && strstr(what, only) == NULL)
        return;

    for (int t = 0; t < TURNS; t++) {
        turn(t % 2 != 0 ? &a : &b, t, n);
        turn(t % 2 != 0 ? &b : &a, t, n);
        ratio[t] = b.us[t] / a.us[t];
    }
    double r = median(a.us, TURNS), o = median(b.us, TURNS);
    double rc = median(a.cpu, TURNS), oc = median(b.cpu, TURNS), rs = median(a.theirs, TURNS);
    double os = median(b.theirs, TURNS);
    printf("%-33s %9.1f %9.1f %6.2f %6.2f %5.2f  %7.1f %7.1f %7.1f %7.1f %6.2f\n", what, r, o, o / r,
           median(ratio, TURNS), bar, rc, oc, rs, os, (oc + os) / (rc + rs));
    fflush(stdout);
}

static void open_ours(const char *url)
{
    char address[1024];
    caret_options o = {.size = sizeof o, .sync = CARET_SYNC_OFF};

    snprintf(address, sizeof address, "%s%ccaret_prefix=" SCHEMA, url, strchr(url, '?') != NULL ? '&' : '?');
    must(caret_open(address, &o, &db), "open");
    must(caret_session_open(db, &s), "session");
    for (unsigned i = 0; i < NODES; i++) {
        must(caret_node_var(&nodes[i].node, sizeof nodes[i], "^b", 2), "node");
        must(caret_node_child_int(&nodes[i].node, sizeof nodes[i], &nodes[i].node, i + 1), "node");
        must(caret_set(s, &nodes[i].node, "value", 5), "set");
    }
}

static int set_leaves(caret_session *session, void *arg)
{
    int *from = arg, rc = CARET_OK;

    for (int i = *from; rc == CARET_OK && i < *from + 10000; i++) {
        rc = caret_node_var(&walked.node, sizeof walked, "^w", 2);
        if (rc == CARET_OK)
            rc = caret_node_child_int(&walked.node, sizeof walked, &walked.node, i);
        if (rc == CARET_OK)
            rc = caret_set(session, &walked.node, "value", 5);
    }
    return rc;
}

/* The encoded keys of ^b(1) and so on, as the table has them. */
static void read_keys(void)
{
    PGresult *r = exec("page", 1, "b", 1, NULL, 0);

    for (int i = 0; i < NODES; i++) {
        key_len[i] = PQgetlength(r, i, 0);
        memcpy(keys[i], PQgetvalue(r, i, 0), (size_t)key_len[i]);
    }
    PQclear(r);
}

/* The address, or an end with a word of what is to be told; NULL: there is none. */
static const char *address(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("CARET_TEST_URL");
    int help = argc > 1 && strcmp(argv[1], "--help") == 0;

    if (!help && argc <= 2 && (url == NULL || strstr(url, "://") != NULL))
        return url;
    fputs("usage: store [URL]      postgresql://...; CARET_TEST_URL otherwise\n", help ? stdout : stderr);
    exit(help ? 0 : 2);
}

int main(int argc, char **argv)
{
    const char *url = address(argc, argv);

    if (url == NULL) {
        puts("store: no address: taskset -c 1 sh test/with_postgres.sh taskset -c 0 build/bench/store");
        return 0;
    }
    open_ours(url);
    for (int i = 0; i < LEAVES; i += 10000)
        must(caret_transaction(s, set_leaves, &i, 0), "leaves");
    connect_raw(url);
    sql("vacuum analyze");
    read_keys();
    tell_processors();
    puts("                                         microseconds a call                      CPU: client      "
         "   server\n"
         "                                    by hand      ours  ratio  turns   bar  by hand    ours by hand "
         "   ours  ratio");
    compare("get", 1000, 1.10, raw_get, our_get);
    compare("next", 1000, 1.10, raw_next, our_next);
    compare("set, with token", 700, 1.10, raw_set, our_set);
    compare("txn get + set, 2 trips", 500, 1.15, raw_txn, our_txn);
    compare("txn get + set, 4 trips, no token", 500, 0.80, naive_txn, our_txn);
    compare("the same, ours without one too", 500, 0.80, naive_txn, our_txn_batch);
    compare("100 sets, unnest", 60, 1.15, raw_sets, our_sets);
    compare("walk of 100,000 leaves, pages", 1, 1.30, raw_walk, our_walk);
    caret_session_close(s);
    caret_close(db);
    sql("drop schema " SCHEMA " cascade");
    PQfinish(pq);
    return 0;
}
#endif
