/*
 * big.c - one transaction of many sets, beside LMDB in the same run.
 *
 *   big [-n SETS] [-v BYTES] [-o random|sequential] [-b NODES] [-d DIR] [-s SYSTEM] [-r RUNS]
 *
 * Nodes ^d(k), k a permutation of the 31-bit integers or 1, 2, 3, ..., set in one transaction: Caret with
 * sync off, LMDB with NOSYNC and WRITEMAP, integer keys.  With -b so many others are there before.  ns a set:
 * until the last set has returned, and until the commit has; then the memory that the process has had at
 * most, its shared memory included, and how long closing and opening take.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef HAVE_LMDB
#include <lmdb.h>
#endif

#include "measure.h"

#define VALUE_MAX 1000u

static uint32_t sets = 5000000, before;
static unsigned value_len = 100;
static unsigned runs = 1;
static int sequential;
static char dir[200];

static void die(const char *what)
{
    fprintf(stderr, "big: %s\n", what);
    exit(1);
}

/* -------------------------------------------------------------------- systems */

struct store {
    const char *name;
    void (*open)(const char *path);
    void (*begin)(void);
    void (*set)(uint32_t k, const void *val, size_t len);
    void (*commit)(void);
    size_t (*get)(uint32_t k);
    void (*close)(void);
};

static caret_db *db;
static caret_session *session;
static caret_node_buf node;

static void ours_open(const char *path)
{
    caret_options o = {.size = sizeof o, .sync = CARET_SYNC_OFF};

    must(caret_open(path, &o, &db), "open");
    must(caret_session_open(db, &session), "session");
    caret_node_var(&node.node, sizeof node, "^d", 2);
    caret_node_child_int(&node.node, sizeof node, &node.node, 1);
}

static void ours_begin(void)
{
    must(caret_begin(session, 0), "begin");
}

static void ours_set(uint32_t k, const void *val, size_t len)
{
    caret_node_set_last_int(&node.node, k);
    must(caret_set(session, &node.node, val, len), "set");
}

static void ours_commit(void)
{
    must(caret_commit(session), "commit");
}

static size_t ours_get(uint32_t k)
{
    caret_slice got;

    caret_node_set_last_int(&node.node, k);
    must(caret_get(session, &node.node, &got), "get");
    return got.len;
}

static void ours_close(void)
{
    caret_session_close(session);
    must(caret_close(db), "close");
}

#ifdef HAVE_LMDB
static MDB_env *env;
static MDB_dbi dbi;
static MDB_txn *txn;

static void lmdb_must(int rc)
{
    if (rc != 0)
        die(mdb_strerror(rc));
}

static void lmdb_open(const char *path)
{
    mkdir(path, 0700);
    lmdb_must(mdb_env_create(&env));
    lmdb_must(mdb_env_set_mapsize(env, (size_t)(sets + before) * (value_len + 16) * 3 + ((size_t)1 << 30)));
    lmdb_must(mdb_env_open(env, path, MDB_NOSYNC | MDB_WRITEMAP, 0600));
    lmdb_must(mdb_txn_begin(env, NULL, 0, &txn));
    lmdb_must(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi));
    lmdb_must(mdb_txn_commit(txn));
}

static void lmdb_begin(void)
{
    lmdb_must(mdb_txn_begin(env, NULL, 0, &txn));
}

static void lmdb_set(uint32_t k, const void *val, size_t len)
{
    MDB_val key = {sizeof k, &k}, v = {len, (void *)(uintptr_t)val};

    lmdb_must(mdb_put(txn, dbi, &key, &v, 0));
}

static void lmdb_commit(void)
{
    lmdb_must(mdb_txn_commit(txn));
}

static size_t lmdb_get(uint32_t k)
{
    MDB_val key = {sizeof k, &k}, v;

    lmdb_must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    lmdb_must(mdb_get(txn, dbi, &key, &v));
    mdb_txn_abort(txn);
    return v.mv_size;
}

static void lmdb_close(void)
{
    mdb_env_close(env);
}
#endif

static const struct store stores[] = {
    {"caret", ours_open, ours_begin, ours_set, ours_commit, ours_get, ours_close},
#ifdef HAVE_LMDB
    {"lmdb", lmdb_open, lmdb_begin, lmdb_set, lmdb_commit, lmdb_get, lmdb_close},
#endif
};

#define STORES (sizeof stores / sizeof stores[0])

/* ----------------------------------------------------------------------- work */

static uint32_t key_of(uint32_t i)
{
    return sequential ? i + 1 : scattered(i + 1);
}

/* Those that are there before lie among the others. */
static void set_range(const struct store *s, uint32_t from, uint32_t to)
{
    char val[VALUE_MAX];

    memset(val, 'v', sizeof val);
    for (uint32_t i = from; i < to; i++) {
        uint32_t k = key_of(i);
        memcpy(val, &k, sizeof k < value_len ? sizeof k : value_len);
        s->set(k, val, value_len);
    }
}

static void be_there_before(const struct store *s)
{
    const uint32_t each = 100000;

    for (uint32_t i = 0; i < before; i += each) {
        s->begin();
        set_range(s, i, i + each < before ? i + each : before);
        s->commit();
    }
}

/* Of a processor, that of the system included. */
static double seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e-6;
}

static void measure(const struct store *s, const char *path)
{
    struct rusage used, unused;

    s->open(path);
    be_there_before(s);
    getrusage(RUSAGE_SELF, &unused);
    double start = now();
    s->begin();
    set_range(s, before, before + sets);
    double set = now();
    s->commit();
    double committed = now();
    getrusage(RUSAGE_SELF, &used);
    double busy = seconds(&used) - seconds(&unused);
    s->close();
    double closed = now();
    s->open(path);
    double opened = now();
    for (uint32_t i = 0; i < sets; i += sets / 1000 + 1)
        if (s->get(key_of(before + i)) != value_len)
            die("a value of another length");
    s->close();
    printf("%-6s %s %" PRIu32 " sets of %u bytes, %" PRIu32 " there before: %.0f ns a set "
           "(sets %.0f, commit %.0f; processor %.0f); memory %.0f MiB, close %.2f s, open %.3f s\n",
           s->name, sequential ? "sequential" : "random", sets, value_len, before,
           (committed - start) / sets * 1e9, (set - start) / sets * 1e9, (committed - set) / sets * 1e9,
           busy / sets * 1e9, (double)used.ru_maxrss / 1024, closed - committed, opened - closed);
    fflush(stdout);
}

/* Each in a process of its own, so that memory is its own. */
static void run(const struct store *s)
{
    char path[sizeof dir + 64], command[sizeof path + 16];
    int status = 0;

    snprintf(path, sizeof path, "%s/big-%s-%d", dir, s->name, (int)getpid());
    pid_t pid = fork();
    if (pid == 0) {
        measure(s, path);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fprintf(stderr, "big: %s did not end well\n", s->name);
    snprintf(command, sizeof command, "rm -rf '%s'*", path);
    if (system(command) != 0)
        die("cannot remove the files");
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int c;

    snprintf(dir, sizeof dir, "%s", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    while ((c = getopt(argc, argv, "n:v:o:b:d:s:r:")) != -1) {
        switch (c) {
        case 'n': sets = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'v': value_len = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'o': sequential = optarg[0] == 's'; break;
        case 'b': before = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'd': snprintf(dir, sizeof dir, "%s", optarg); break;
        case 's': only = optarg; break;
        case 'r': runs = (unsigned)strtoul(optarg, NULL, 10); break;
        default: return 2;
        }
    }
    if (value_len == 0 || value_len > VALUE_MAX || sets == 0)
        die("what sets?");
    for (size_t i = 0; i < runs * STORES; i++) /* in turns */
        if (only == NULL || strcmp(only, stores[i % STORES].name) == 0)
            run(&stores[i % STORES]);
    return 0;
}
