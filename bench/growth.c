/*
 * growth.c - what becomes of a database as it grows, beside LMDB in the same run.
 *
 *   growth [-n NODES] [-v BYTES] [-o random|sequential] [-d DIR] [-s SYSTEM] [--json]
 *
 * Nodes ^d(k), k a permutation of the 31-bit integers or 1, 2, 3, ..., each set its own commit: Caret with sync interval, LMDB
 * with NOSYNC and WRITEMAP, integer keys, a transaction each.  Then gets and updates of random nodes (a quarter as
 * many as there are, 2 M at most), a scan of all with their values, closing and opening.
 *
 * ns at every tenth of the inserts; of each kind of call the longest and what 99.999 % stay below; bytes that the
 * device of DIR has written since the beginning (/proc/diskstats: others' too) and that the process had written
 * (/proc/self/io); memory of the process with its shared memory; the length of the file, and the bytes the file takes.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#ifdef HAVE_LMDB
#include <lmdb.h>
#endif

#include "measure.h"

#define TENTHS    10u
#define VALUE_MAX 1000u

static uint32_t nodes = 1000000;
static unsigned value_len = 100;
static int sequential, json;
static char dir[200];

static void die(const char *what)
{
    fprintf(stderr, "growth: %s\n", what);
    exit(1);
}

/* --------------------------------------------------------------------- times */

/* Counts of calls by their nanoseconds: sixteen steps an octave. */
#define STEPS 16u
struct times {
    uint64_t n, count[64 * STEPS];
    uint64_t longest;
};

static uint64_t ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(struct times *t, uint64_t took)
{
    unsigned octave = 63u - (unsigned)__builtin_clzll(took | STEPS);

    t->n++;
    t->count[octave * STEPS + (took >> (octave - 4) & (STEPS - 1))]++;
    if (took > t->longest)
        t->longest = took;
}

/* Milliseconds that 99.999 % of the calls stay below. */
static double most_of(const struct times *t)
{
    uint64_t above = t->n / 100000, seen = 0;

    for (unsigned i = 64 * STEPS; i-- > 0;) {
        seen += t->count[i];
        if (seen > above)
            return (double)((STEPS + i % STEPS + 1) << (i / STEPS - 4)) * 1e-6;
    }
    return 0;
}

/* --------------------------------------------------------------- what is used */

static double disk_written(void)
{
    unsigned long long sectors = 0;
    struct stat st;
    char line[512];
    FILE *f = fopen("/proc/diskstats", "r");

    if (f == NULL || stat(dir, &st) != 0)
        return 0;
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned major, minor;
        unsigned long long written;
        if (sscanf(line, "%u %u %*s %*u %*u %*u %*u %*u %*u %llu", &major, &minor, &written) == 3 &&
            major == major(st.st_dev) && minor == minor(st.st_dev))
            sectors = written;
    }
    fclose(f);
    return (double)sectors * 512;
}

/* The number behind a name in a file of /proc. */
static double proc_number(const char *path, const char *name)
{
    char line[256];
    double v = 0;
    FILE *f = fopen(path, "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            v = strtod(line + strlen(name), NULL);
    if (f != NULL)
        fclose(f);
    return v;
}

/* -------------------------------------------------------------------- systems */

struct store {
    const char *name;
    void (*open)(const char *path);
    void (*set)(uint32_t k, const void *val, size_t len);
    size_t (*get)(uint32_t k);
    uint64_t (*scan)(void); /* nodes seen, their values read */
    void (*close)(void);
    const char *file; /* below the path, where the data is; "" = the path itself */
};

static caret_db *db;
static caret_session *session;
static caret_node_buf node;

static void ours_begin(const char *path)
{
    must(caret_open(path, NULL, &db), "open");
    must(caret_session_open(db, &session), "session");
    caret_node_var(&node.node, sizeof node, "^d", 2);
    caret_node_child_int(&node.node, sizeof node, &node.node, 1);
}

static void ours_put(uint32_t k, const void *val, size_t len)
{
    caret_node_set_last_int(&node.node, k);
    must(caret_set(session, &node.node, val, len), "set");
}

static size_t ours_look(uint32_t k)
{
    caret_slice got;

    caret_node_set_last_int(&node.node, k);
    must(caret_get(session, &node.node, &got), "get");
    return got.len;
}

static uint64_t ours_walk(void)
{
    caret_node_buf at;
    caret_slice got;
    uint64_t n = 0, sum = 0;

    caret_node_var(&at.node, sizeof at, "^d", 2);
    for (int rc = caret_first(session, &at.node); rc == CARET_OK; rc = caret_next(session, &at.node)) {
        must(caret_get(session, &at.node, &got), "get");
        sum += ((const unsigned char *)got.data)[got.len - 1];
        n++;
    }
    return sum != 0 ? n : 0;
}

static void ours_end(void)
{
    caret_session_close(session);
    must(caret_close(db), "close");
}

#ifdef HAVE_LMDB
static MDB_env *env;
static MDB_dbi dbi;

static void lmdb_must(int rc)
{
    if (rc != 0)
        die(mdb_strerror(rc));
}

static void lmdb_begin(const char *path)
{
    MDB_txn *txn;

    mkdir(path, 0700);
    lmdb_must(mdb_env_create(&env));
    lmdb_must(mdb_env_set_mapsize(env, (size_t)nodes * (value_len + 16) * 3 + ((size_t)1 << 30)));
    lmdb_must(mdb_env_open(env, path, MDB_NOSYNC | MDB_WRITEMAP, 0600));
    lmdb_must(mdb_txn_begin(env, NULL, 0, &txn));
    lmdb_must(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi));
    lmdb_must(mdb_txn_commit(txn));
}

static void lmdb_put(uint32_t k, const void *val, size_t len)
{
    MDB_val key = {sizeof k, &k}, v = {len, (void *)(uintptr_t)val};
    MDB_txn *txn;

    lmdb_must(mdb_txn_begin(env, NULL, 0, &txn));
    lmdb_must(mdb_put(txn, dbi, &key, &v, 0));
    lmdb_must(mdb_txn_commit(txn));
}

static size_t lmdb_look(uint32_t k)
{
    MDB_val key = {sizeof k, &k}, v;
    MDB_txn *txn;

    lmdb_must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    lmdb_must(mdb_get(txn, dbi, &key, &v));
    size_t len = v.mv_size;
    mdb_txn_abort(txn);
    return len;
}

static uint64_t lmdb_walk(void)
{
    MDB_cursor *c;
    MDB_txn *txn;
    MDB_val key, v;
    uint64_t n = 0, sum = 0;

    lmdb_must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    lmdb_must(mdb_cursor_open(txn, dbi, &c));
    while (mdb_cursor_get(c, &key, &v, MDB_NEXT) == 0) {
        sum += ((const unsigned char *)v.mv_data)[v.mv_size - 1];
        n++;
    }
    mdb_cursor_close(c);
    mdb_txn_abort(txn);
    return sum != 0 ? n : 0;
}

static void lmdb_end(void)
{
    mdb_env_close(env);
}
#endif

static const struct store stores[] = {
    {"caret", ours_begin, ours_put, ours_look, ours_walk, ours_end, ""},
#ifdef HAVE_LMDB
    {"lmdb", lmdb_begin, lmdb_put, lmdb_look, lmdb_walk, lmdb_end, "/data.mdb"},
#endif
};

/* ----------------------------------------------------------------------- work */

static uint32_t key_of(uint32_t i)
{
    return sequential ? i + 1 : scattered(i + 1);
}

/* One of those that are there, at random. */
static uint32_t some_key(uint32_t i)
{
    return key_of((uint32_t)((uint64_t)(i * 0x9E3779B1u) * nodes >> 32));
}

struct result {
    double insert[TENTHS], get, update, scan, close, open;
    struct times inserts, gets, updates;
    double disk, own, memory, length, takes, loading;
};

static void make_value(char *val, uint32_t k)
{
    memset(val, 'a' + (char)(k % 26), value_len);
    memcpy(val, &k, sizeof k < value_len ? sizeof k : value_len);
    val[value_len - 1] = 'z';
}

static void insert_all(const struct store *s, struct result *r)
{
    char val[VALUE_MAX];
    uint64_t last = ns(), begin = last;
    uint32_t i = 0;

    for (unsigned tenth = 0; tenth < TENTHS; tenth++) {
        uint32_t from = i, to = (uint32_t)((uint64_t)nodes * (tenth + 1) / TENTHS);
        uint64_t start = last;
        for (; i < to; i++) {
            uint32_t k = key_of(i);
            make_value(val, k);
            s->set(k, val, value_len);
            uint64_t t = ns();
            note(&r->inserts, t - last);
            last = t;
        }
        r->insert[tenth] = (double)(last - start) / (to - from);
        fprintf(stderr, "%s %u: %.0f ns\n", s->name, to, r->insert[tenth]);
    }
    r->loading = (double)(last - begin) * 1e-9;
}

/* Gets, or updates, of random nodes; ns for each. */
static double random_calls(const struct store *s, struct times *times, int update)
{
    uint32_t n = nodes / 4 < 2000000 ? nodes / 4 : 2000000;
    uint64_t begin = ns(), last = begin;
    char val[VALUE_MAX];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = some_key(i + (update ? n : 0));
        if (update) {
            make_value(val, k + 1);
            s->set(k, val, value_len);
        } else if (s->get(k) != value_len) {
            die("a value of another length");
        }
        uint64_t t = ns();
        note(times, t - last);
        last = t;
    }
    return (double)(last - begin) / n;
}

static double seconds_of(void (*call)(void))
{
    double t = now();

    call();
    return now() - t;
}

static void sizes(const char *path, struct result *r)
{
    struct stat st;

    if (stat(path, &st) != 0)
        die("the file is not there");
    r->length = (double)st.st_size;
    r->takes = (double)st.st_blocks * 512;
}

static void measure(const struct store *s, struct result *r)
{
    char path[300], file[320];
    double disk = disk_written(), own = proc_number("/proc/self/io", "write_bytes:"), t;

    snprintf(path, sizeof path, "%s/%s.growth", dir, s->name);
    snprintf(file, sizeof file, "%s%s", path, s->file);
    s->open(path);
    insert_all(s, r);
    r->memory = proc_number("/proc/self/status", "VmRSS:") * 1024;
    r->get = random_calls(s, &r->gets, 0);
    t = now();
    if (s->scan() != nodes)
        die("a scan has not seen all nodes");
    r->scan = (now() - t) * 1e9 / nodes;
    r->close = seconds_of(s->close);
    sync();
    r->disk = disk_written() - disk;
    r->own = proc_number("/proc/self/io", "write_bytes:") - own;
    sizes(file, r);
    t = now();
    s->open(path);
    (void)s->get(some_key(1));
    r->open = now() - t;
    r->update = random_calls(s, &r->updates, 1);
    s->close();
    unlink(file);
    if (*s->file != '\0') {
        snprintf(file, sizeof file, "%s/lock.mdb", path);
        unlink(file);
        rmdir(path);
    } else {
        snprintf(file, sizeof file, "%s-lock", path);
        unlink(file);
    }
}

/* ---------------------------------------------------------------------- tables */

static void print_json(const struct store *s, const struct result *r)
{
    printf("{\"work\":\"growth\",\"system\":\"%s\",\"order\":\"%s\",\"nodes\":%" PRIu32
           ",\"value_bytes\":%u,\"insert_ns\":[",
           s->name, sequential ? "sequential" : "random", nodes, value_len);
    for (unsigned i = 0; i < TENTHS; i++)
        printf("%s%.0f", i != 0 ? "," : "", r->insert[i]);
    printf(
        "],\"get_ns\":%.0f,\"update_ns\":%.0f,\"scan_ns\":%.1f,\"set_longest_ms\":%.2f,\"set_most_ms\":%.3f,"
        "\"get_longest_ms\":%.2f,\"get_most_ms\":%.3f,\"update_longest_ms\":%.2f,\"update_most_ms\":%.3f,"
        "\"disk_bytes\":%.0f,\"own_bytes\":%.0f,\"memory_bytes\":%.0f,\"file_bytes\":%.0f,\"file_takes\":%."
        "0f,"
        "\"load_s\":%.2f,\"close_s\":%.2f,\"open_s\":%.3f}\n",
        r->get, r->update, r->scan, (double)r->inserts.longest * 1e-6, most_of(&r->inserts),
        (double)r->gets.longest * 1e-6, most_of(&r->gets), (double)r->updates.longest * 1e-6,
        most_of(&r->updates), r->disk, r->own, r->memory, r->length, r->takes, r->loading, r->close, r->open);
    fflush(stdout);
}

static void print_text(const struct store *s, const struct result *r)
{
    printf("%-6s sets", s->name);
    for (unsigned i = 0; i < TENTHS; i++)
        printf(" %5.0f", r->insert[i]);
    printf(" ns; longest %.1f ms, 99.999 %% below %.2f ms\n", (double)r->inserts.longest * 1e-6,
           most_of(&r->inserts));
    printf("       gets %.0f ns (longest %.1f ms, %.2f), updates after opening %.0f ns (%.1f ms, %.2f), scan "
           "%.1f ns\n",
           r->get, (double)r->gets.longest * 1e-6, most_of(&r->gets), r->update,
           (double)r->updates.longest * 1e-6, most_of(&r->updates), r->scan);
    printf("       written %.2f GB (by itself %.2f), memory %.2f GB, file %.2f GB (takes %.2f), load %.1f s, "
           "close %.2f s, "
           "open %.3f s\n",
           r->disk * 1e-9, r->own * 1e-9, r->memory * 1e-9, r->length * 1e-9, r->takes * 1e-9, r->loading,
           r->close, r->open);
    fflush(stdout);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: growth [-n NODES] [-v BYTES] [-o random|sequential] [-d DIR] [-s SYSTEM] [--json]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *where = getenv("TMPDIR"), *only = NULL;

    for (int i = 1; i < argc; i++) {
        const char *arg = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0) {
            json = 1;
            continue;
        }
        if (arg == NULL || argv[i][0] != '-' || strchr("nvods", argv[i][1]) == NULL)
            return usage();
        switch (argv[i++][1]) {
        case 'n': nodes = (uint32_t)strtoul(arg, NULL, 10); break;
        case 'v': value_len = (unsigned)strtoul(arg, NULL, 10); break;
        case 'o': sequential = strcmp(arg, "sequential") == 0; break;
        case 'd': where = arg; break;
        case 's': only = arg; break;
        }
    }
    if (nodes < 100 || nodes > INT32_MAX || value_len < 1 || value_len > VALUE_MAX)
        return fprintf(stderr, "growth: 100 to 2^31 - 1 nodes, values of 1 to %u bytes\n", VALUE_MAX), 2;
    snprintf(dir, sizeof dir, "%.150s/caret-growth-XXXXXX", where != NULL ? where : "/tmp");
    if (mkdtemp(dir) == NULL)
        return perror("growth"), 1;
    for (unsigned i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        struct result *r = calloc(1, sizeof *r);
        if (only != NULL && strcmp(only, stores[i].name) != 0) {
            free(r);
            continue;
        }
        if (r == NULL)
            die("no memory");
        measure(&stores[i], r);
        (json ? print_json : print_text)(&stores[i], r);
        free(r);
    }
    rmdir(dir);
    return 0;
}
