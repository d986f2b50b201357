/*
 * ops.c - the C operations beside LMDB in the same run.
 *
 *   ops [-n NODES] [-r RUNS] [--json]
 *
 * Sequential set, random get and random update over the nodes ^BCAT("lvd",1..n), each its
 * own commit, sync interval; LMDB with NOSYNC and WRITEMAP, a transaction each.
 * The two take turns; the ratio is taken run by run and its median is quoted.
 * Then single operations of Caret on one node.
 */
#include <lmdb.h>
#include <sys/stat.h>

#include "workload.h"

static void die(const char *what)
{
    fprintf(stderr, "ops: %s: %s\n", what, caret_message());
    exit(1);
}

/* --------------------------------------------------------------------- Caret */

static void ours_open(struct handles *o, unsigned run)
{
    char path[96];
    snprintf(path, sizeof path, "%s/ours-%u.caret", dir, run);
    handles_open(o, path);
    handles_at(o, "^BCAT");
}

static void ours_close(struct handles *o, unsigned run)
{
    char path[96];
    handles_close(o);
    snprintf(path, sizeof path, "%s/ours-%u.caret", dir, run);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
}

/* ---------------------------------------------------------------------- LMDB */

struct lmdb {
    MDB_env *env;
    MDB_dbi dbi;
};

static void lmdb_open(struct lmdb *l, unsigned run)
{
    char path[96];
    MDB_txn *txn;
    snprintf(path, sizeof path, "%s/lmdb-%u", dir, run);
    mkdir(path, 0700);
    if (mdb_env_create(&l->env) || mdb_env_set_mapsize(l->env, (size_t)4 << 30) ||
        mdb_env_open(l->env, path, MDB_NOSYNC | MDB_WRITEMAP, 0600) || mdb_txn_begin(l->env, NULL, 0, &txn) ||
        mdb_dbi_open(txn, NULL, 0, &l->dbi) || mdb_txn_commit(txn))
        exit(1);
}

static void lmdb_close(struct lmdb *l, unsigned run)
{
    char path[128];
    mdb_env_close(l->env);
    snprintf(path, sizeof path, "%s/lmdb-%u/data.mdb", dir, run);
    unlink(path);
    snprintf(path, sizeof path, "%s/lmdb-%u/lock.mdb", dir, run);
    unlink(path);
    snprintf(path, sizeof path, "%s/lmdb-%u", dir, run);
    rmdir(path);
}

static double lmdb_run(struct lmdb *l, int kind)
{
    unsigned char key[16] = "BCAT\0lvd\0";
    char val[32];
    double t = now_ns();
    for (unsigned i = 0; i < nodes; i++) {
        unsigned k = kind == SEQ_SET ? i + 1 : shuffled(i);
        for (int b = 0; b < 4; b++)
            key[9 + b] = (unsigned char)(k >> (24 - 8 * b));
        MDB_val mk = {13, key}, mv;
        MDB_txn *txn;
        if (mdb_txn_begin(l->env, NULL, kind == RANDOM_GET ? MDB_RDONLY : 0, &txn))
            exit(1);
        if (kind == RANDOM_GET) {
            if (mdb_get(txn, l->dbi, &mk, &mv))
                exit(1);
            mdb_txn_abort(txn);
        } else {
            int len = snprintf(val, sizeof val, "%010u", kind == SEQ_SET ? k : k + 7);
            mv.mv_size = (size_t)len;
            mv.mv_data = val;
            if (mdb_put(txn, l->dbi, &mk, &mv, 0) || mdb_txn_commit(txn))
                exit(1);
        }
    }
    return (now_ns() - t) / nodes;
}

/* --------------------------------------------------------------------- tables */

static void against_lmdb(void)
{
    static const double bars[KINDS] = {0.55, 0.75, 0.6};
    double a[KINDS][MAX_RUNS], b[KINDS][MAX_RUNS], r[KINDS][MAX_RUNS];
    for (unsigned run = 0; run < runs; run++) {
        struct handles o;
        struct lmdb l;
        ours_open(&o, run);
        lmdb_open(&l, run);
        for (int k = 0; k < KINDS; k++) {
            a[k][run] = handles_run(&o, k);
            b[k][run] = lmdb_run(&l, k);
            r[k][run] = a[k][run] / b[k][run];
        }
        ours_close(&o, run);
        lmdb_close(&l, run);
    }
    if (!json)
        printf("%-22s %10s %10s %8s %8s   (%u nodes, %u runs, medians)\n", "ns per operation", "Caret",
               "LMDB", "ratio", "bar", nodes, runs);
    for (int k = 0; k < KINDS; k++) {
        double x = median(a[k], runs), y = median(b[k], runs), z = median(r[k], runs);
        printf(json ? "{\"work\":\"%s\",\"caret_ns\":%.1f,\"lmdb_ns\":%.1f,\"ratio\":%.3f,\"bar\":%.2f}\n"
                    : "%-22s %10.1f %10.1f %8.2f %8.2f\n",
               kinds[k], x, y, z, bars[k]);
    }
}

static int txn_body(caret_session *s, void *arg)
{
    caret_slice v;
    int rc = caret_get(s, arg, &v);
    return rc < 0 || rc == CARET_RESTART ? rc : caret_set(s, arg, "0123456789", 10);
}

enum { GET, SET, NEXT, INCR, LOCK, TXN, SINGLES };

static double single(struct handles *o, int what, unsigned count)
{
    static const caret_node_buf zero;
    caret_slice v;
    int64_t sum;
    caret_node_buf n = zero;
    caret_node_copy(&n.node, sizeof n, &o->n.node);
    caret_node_set_last_int(&n.node, 1);
    double t = now_ns();
    for (unsigned i = 0; i < count; i++) {
        int rc = 0;
        switch (what) {
        case GET: rc = caret_get(o->s, &n.node, &v); break;
        case SET: rc = caret_set(o->s, &n.node, "0123456789", 10); break;
        case NEXT: rc = caret_next(o->s, &n.node); break;
        case INCR: rc = caret_incr_int(o->s, &n.node, 1, 0, &sum); break;
        case LOCK:
            rc = caret_lock(o->s, &n.node, 0);
            rc |= caret_unlock(o->s, &n.node);
            break;
        case TXN: rc = caret_transaction(o->s, txn_body, &n.node, 0); break;
        }
        if (rc != CARET_OK)
            die("single operation");
    }
    return (now_ns() - t) / count;
}

static void singles(void)
{
    static const char *const names[SINGLES] = {"get, one node", "set, one node", "next",
                                               "incr",          "lock + unlock", "transaction (get+set)"};
    static const double bars[SINGLES] = {30, 85, 25, 150, 150, 350};
    struct handles o;
    ours_open(&o, 0);
    handles_run(&o, SEQ_SET);
    if (!json)
        printf("\n%-22s %10s %10s\n", "ns per operation", "Caret", "bar");
    for (int k = 0; k < SINGLES; k++) {
        double v[MAX_RUNS];
        unsigned count = nodes > 400000 ? 400000 : nodes - 1;
        for (unsigned r = 0; r < runs; r++)
            v[r] = single(&o, k, count);
        printf(json ? "{\"work\":\"%s\",\"caret_ns\":%.1f,\"bar_ns\":%.0f}\n" : "%-22s %10.1f %10.0f\n",
               names[k], median(v, runs), bars[k]);
    }
    ours_close(&o, 0);
}

int main(int argc, char **argv)
{
    int rc = workload_begin(argc, argv);

    if (rc != 0)
        return rc;
    against_lmdb();
    singles();
    rmdir(dir);
    return 0;
}
