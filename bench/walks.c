/*
 * walks.c - many nodes, one after the other and at once, beside LMDB in the same run.
 *
 *   walks [-n NODES] [-r RUNS] [--json]
 *
 * Nodes ^w(k) with values of 100 bytes, loaded in order and in random order: forwards with caret_next_get(), backwards
 * with caret_previous_get(), beside a cursor of LMDB.  Then 16 random keys at a time with caret_get_many(), and one by
 * one, beside mdb_get() in one read transaction each, also with values of 10 bytes.  The two take turns, a part of the
 * nodes each; CPU time, as waiting for the processor is not theirs.
 */
#include <lmdb.h>
#include <sys/stat.h>

#include "workload.h"

#define LONGEST 100
#define SHORT   10
#define PARTS   20u
#define AT_ONCE 16u

static const char *loaded; /* how the nodes were loaded */
static size_t value_len = LONGEST;

static void die(const char *what)
{
    fprintf(stderr, "walks: %s: %s\n", what, caret_message());
    exit(1);
}

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ------------------------------------------------------------------------ both */

static struct handles ours;
static MDB_env *env;
static MDB_dbi dbi;
static caret_node_buf many[AT_ONCE];
static MDB_cursor *cursor;
static MDB_txn *reading;
static uint64_t sum; /* of what was read, so that it is read */

static void lmdb_must(int rc, const char *what)
{
    if (rc != 0) {
        fprintf(stderr, "walks: LMDB: %s: %s\n", what, mdb_strerror(rc));
        exit(1);
    }
}

static void lmdb_key(unsigned char key[4], unsigned k)
{
    for (int b = 0; b < 4; b++)
        key[b] = (unsigned char)(k >> (24 - 8 * b));
}

static void load(int in_order)
{
    char value[LONGEST];
    unsigned char key[4];
    MDB_txn *txn = NULL;

    memset(value, 'v', sizeof value);
    for (unsigned i = 0; i < nodes; i++) {
        unsigned k = in_order ? i + 1 : shuffled(i);
        memcpy(value, &k, sizeof k);
        caret_node_set_last_int(&ours.n.node, k);
        if (caret_set(ours.s, &ours.n.node, value, value_len) != CARET_OK)
            die("set");
        lmdb_key(key, k);
        MDB_val mk = {4, key}, mv = {value_len, value};
        if (txn == NULL)
            lmdb_must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
        lmdb_must(mdb_put(txn, dbi, &mk, &mv, 0), "put");
        if (i % 10000 == 9999 || i + 1 == nodes) {
            lmdb_must(mdb_txn_commit(txn), "commit");
            txn = NULL;
        }
    }
}

static void begin(int in_order)
{
    char path[128];
    MDB_txn *txn;

    snprintf(path, sizeof path, "%s/ours.caret", dir);
    handles_open(&ours, path);
    caret_node_var(&ours.n.node, sizeof ours.n, "^w", 2);
    caret_node_child_int(&ours.n.node, sizeof ours.n, &ours.n.node, 1);
    for (unsigned i = 0; i < AT_ONCE; i++)
        caret_node_copy(&many[i].node, sizeof many[i], &ours.n.node);
    snprintf(path, sizeof path, "%s/lmdb", dir);
    mkdir(path, 0700);
    lmdb_must(mdb_env_create(&env), "create");
    lmdb_must(mdb_env_set_mapsize(env, (size_t)16 << 30), "map size");
    lmdb_must(mdb_env_open(env, path, MDB_NOSYNC | MDB_WRITEMAP, 0600), "open");
    lmdb_must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    lmdb_must(mdb_dbi_open(txn, NULL, 0, &dbi), "open");
    lmdb_must(mdb_txn_commit(txn), "commit");
    load(in_order);
}

static void end(void)
{
    static const char *const files[] = {"ours.caret", "ours.caret-lock", "lmdb/data.mdb", "lmdb/lock.mdb"};
    char path[128];

    handles_close(&ours);
    mdb_env_close(env);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/lmdb", dir);
    rmdir(path);
}

/* ----------------------------------------------------------------------- works */

enum work { FORWARDS, BACKWARDS, AT_RANDOM, MANY, WORKS };

static unsigned first_of(enum work w, unsigned part)
{
    return w == BACKWARDS ? nodes - nodes / PARTS * part : nodes / PARTS * part + 1;
}

static void walk(enum work w, unsigned part)
{
    caret_slice v;

    caret_node_set_last_int(&ours.n.node, first_of(w, part));
    for (unsigned i = 1; i < nodes / PARTS; i++) {
        int rc = w == FORWARDS ? caret_next_get(ours.s, &ours.n.node, &v)
                               : caret_previous_get(ours.s, &ours.n.node, &v);
        if (rc != CARET_OK || v.len != value_len)
            die("walk");
        sum += (unsigned char)v.data[0];
    }
}

static void lmdb_walk(enum work w, unsigned part)
{
    unsigned char key[4];
    MDB_val mk = {4, key}, mv;

    lmdb_key(key, first_of(w, part));
    lmdb_must(mdb_cursor_get(cursor, &mk, &mv, MDB_SET_KEY), "seek");
    for (unsigned i = 1; i < nodes / PARTS; i++) {
        lmdb_must(mdb_cursor_get(cursor, &mk, &mv, w == FORWARDS ? MDB_NEXT : MDB_PREV), "walk");
        sum += *(unsigned char *)mv.mv_data;
    }
}

static void get(unsigned part)
{
    caret_slice v;

    for (unsigned i = nodes / PARTS * part; i < nodes / PARTS * (part + 1); i++) {
        caret_node_set_last_int(&ours.n.node, shuffled(i));
        if (caret_get(ours.s, &ours.n.node, &v) != CARET_OK)
            die("get");
        sum += (unsigned char)v.data[0];
    }
}

static void get_many(unsigned part)
{
    caret_node *list[AT_ONCE];
    caret_slice v[AT_ONCE];

    for (unsigned i = nodes / PARTS * part; i + AT_ONCE <= nodes / PARTS * (part + 1); i += AT_ONCE) {
        for (unsigned k = 0; k < AT_ONCE; k++) {
            list[k] = &many[k].node;
            caret_node_set_last_int(list[k], shuffled(i + k));
        }
        if (caret_get_many(ours.s, list, AT_ONCE, v) != CARET_OK)
            die("get_many");
        for (unsigned k = 0; k < AT_ONCE; k++)
            sum += (unsigned char)v[k].data[0];
    }
}

static void lmdb_get(unsigned part)
{
    unsigned char key[4];

    for (unsigned i = nodes / PARTS * part; i < nodes / PARTS * (part + 1); i++) {
        MDB_val mk = {4, key}, mv;
        MDB_txn *txn;
        lmdb_key(key, shuffled(i));
        lmdb_must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "begin");
        lmdb_must(mdb_get(txn, dbi, &mk, &mv), "get");
        sum += *(unsigned char *)mv.mv_data;
        mdb_txn_abort(txn);
    }
}

static double our_part(enum work w, unsigned part)
{
    double t = cpu_ns();

    if (w == AT_RANDOM)
        get(part);
    else if (w == MANY)
        get_many(part);
    else
        walk(w, part);
    return (cpu_ns() - t) / (nodes / PARTS);
}

static double lmdb_part(enum work w, unsigned part)
{
    if (w == FORWARDS || w == BACKWARDS) {
        lmdb_must(mdb_txn_begin(env, NULL, MDB_RDONLY, &reading), "begin");
        lmdb_must(mdb_cursor_open(reading, dbi, &cursor), "cursor");
    }
    double t = cpu_ns();
    if (w == FORWARDS || w == BACKWARDS)
        lmdb_walk(w, part);
    else
        lmdb_get(part);
    t = (cpu_ns() - t) / (nodes / PARTS);
    if (w == FORWARDS || w == BACKWARDS) {
        mdb_cursor_close(cursor);
        mdb_txn_abort(reading);
    }
    return t;
}

static void compare(enum work w)
{
    static const char *const names[WORKS] = {"walk forwards", "walk backwards", "random get",
                                             "16 gets at once"};
    static const double bars[WORKS] = {1.3, 1.3, 0.8, 0.16};
    double a[PARTS * MAX_RUNS], b[PARTS * MAX_RUNS], r[PARTS * MAX_RUNS];
    unsigned n = 0;

    for (unsigned run = 0; run < runs; run++) {
        for (unsigned part = 0; part < PARTS; part++, n++) {
            a[n] = our_part(w, part);
            b[n] = lmdb_part(w, part);
            r[n] = a[n] / b[n];
        }
    }
    printf(
        json ? "{\"work\":\"%s, loaded %s\",\"caret_ns\":%.1f,\"lmdb_ns\":%.1f,\"ratio\":%.3f,\"bar\":%.2f}\n"
             : "%-16s loaded %-15s %9.1f %9.1f %8.2f %8.2f\n",
        names[w], loaded, median(a, n), median(b, n), median(r, n), bars[w]);
}

/* Nodes that were loaded in order, and at random: works from the first one on. */
static void all_of(const char *ordered, const char *random, enum work first)
{
    for (int in_order = 1; in_order >= 0; in_order--) {
        begin(in_order);
        loaded = in_order ? ordered : random;
        for (enum work w = first; w < WORKS; w++)
            compare(w);
        end();
    }
}

int main(int argc, char **argv)
{
    int rc = workload_begin(argc, argv);

    if (rc != 0)
        return rc;
    if (nodes < 1000)
        return fprintf(stderr, "walks: at least 1000 nodes\n"), 2;
    if (!json)
        printf("%-39s %9s %9s %8s %8s   (%u nodes of %d bytes, medians)\n", "ns for each, CPU time", "Caret",
               "LMDB", "ratio", "bar", nodes, LONGEST);
    all_of("in order", "at random", FORWARDS);
    value_len = SHORT; /* in fewer leaves */
    all_of("in order, 10 B", "at random, 10 B", AT_RANDOM);
    rmdir(dir);
    return sum == 0;
}
