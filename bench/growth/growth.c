/*
 * growth.c - what becomes of a database as it grows, beside others in the same run.
 *
 *   growth [-n NODES] [-v BYTES] [-o random|sequential] [-d DIR] [-s SYSTEM] [--load] [--json]
 *
 * Nodes ^d(k), k a permutation of the 31-bit integers or 1, 2, 3, ..., each set its own commit; how each
 * system is set up says the beginning of its file.  Then, of random nodes (a quarter as many as there are, 2
 * M at most): gets; after a scan of all with their values, closing and opening, updates; after a check and a
 * backup, kills.  Then a tenth as many updates by a process that kills itself, which the next opening
 * recovers, and a compaction.  --load: it ends with the first closing.
 *
 * ns at every tenth of the inserts, by the clock and of the processors, all threads together; the most that the
 * files took meanwhile; of each kind of call the longest and what 99.999 % stay below; bytes that
 * the device of DIR has written for inserts and closing (/proc/diskstats: others' too) and that the process
 * had written (/proc/self/io); memory of the process with its shared memory; the length of the files, and the
 * bytes they take, after closing and after the compaction; seconds of the rest.  An x instead of a number:
 * the system has no such thing.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "figures.h"
#include "measure.h"
#include "store.h"

#define TENTHS     10u
#define VALUE_MAX  1000u
#define LOOK_EVERY 16384u /* inserts; arbitrary */

extern char **environ;

static const struct store *const stores[] = {
    &growth_caret,
#ifdef HAVE_LMDB
    &growth_lmdb,
#endif
#ifdef HAVE_SQLITE
    &growth_sqlite,
#endif
#ifdef HAVE_ROCKSDB
    &growth_rocksdb,
#endif
};
#define STORES (sizeof stores / sizeof stores[0])

static uint32_t nodes = 1000000;
static unsigned value_len = 100;
static int sequential, json, only_load;
static char dir[200];
static const struct store *store; /* that is measured */

void die(const char *what, const char *why)
{
    fprintf(stderr, "growth: %s: %s: %s\n", store != NULL ? store->name : "", what, why);
    exit(1);
}

const char *in_folder(const char *folder, const char *name)
{
    static char path[2][400];
    static unsigned turn;

    snprintf(path[++turn % 2], sizeof path[0], "%s/%s", folder, name);
    return path[turn % 2];
}

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

static void make_value(char *val, uint32_t k)
{
    memset(val, 'a' + (char)(k % 26), value_len);
    memcpy(val, &k, sizeof k < value_len ? sizeof k : value_len);
    val[value_len - 1] = 'z';
}

struct result {
    double insert[TENTHS], cpu[TENTHS], get, update, kill, scan;
    struct times inserts, gets, updates, kills;
    double disk, own, memory, most; /* bytes; taken by files while nodes were inserted */
    struct sizes loaded, compacted;
    double loading, close, open, check, backup, recover, compact; /* seconds; negative: there is none */
};

static void look_at_files(const char *folder, struct result *r)
{
    double takes = folder_sizes(folder).takes;

    if (takes > r->most)
        r->most = takes;
}

static void insert_all(const char *folder, struct result *r)
{
    char val[VALUE_MAX];
    uint64_t last = ns(), begin = last;
    uint32_t i = 0;

    for (unsigned tenth = 0; tenth < TENTHS; tenth++) {
        uint32_t from = i, to = (uint32_t)((uint64_t)nodes * (tenth + 1) / TENTHS);
        uint64_t start = last;
        double cpu = cpu_ns();
        for (; i < to; i++) {
            if (i % LOOK_EVERY == 0)
                look_at_files(folder, r);
            uint32_t k = key_of(i);
            make_value(val, k);
            store->set(k, val, value_len);
            uint64_t t = ns();
            note(&r->inserts, t - last);
            last = t;
        }
        r->insert[tenth] = (double)(last - start) / (to - from);
        r->cpu[tenth] = (cpu_ns() - cpu) / (to - from);
        fprintf(stderr, "%s %u: %.0f ns, of the processors %.0f\n", store->name, to, r->insert[tenth],
                r->cpu[tenth]);
    }
    r->loading = (double)(last - begin) * 1e-9;
}

static void get_one(uint32_t i)
{
    if (store->get(some_key(i)) != value_len)
        die("get", "a value of another length");
}

static void update_one(uint32_t i)
{
    char val[VALUE_MAX];
    uint32_t k = some_key(i + nodes / 2);

    make_value(val, k + 1);
    store->set(k, val, value_len);
}

static void kill_one(uint32_t i)
{
    store->remove(key_of(i * 3)); /* i < nodes / 4 */
}

static uint32_t calls(void)
{
    return nodes / 4 < 2000000 ? nodes / 4 : 2000000;
}

/* So many calls; ns for each. */
static double random_calls(void (*call)(uint32_t i), struct times *times)
{
    uint32_t n = calls();
    uint64_t begin = ns(), last = begin;

    for (uint32_t i = 0; i < n; i++) {
        call(i);
        uint64_t t = ns();
        note(times, t - last);
        last = t;
    }
    return (double)(last - begin) / n;
}

/* ------------------------------------------------------------------- measuring */

static uint64_t bytes(void)
{
    return (uint64_t)nodes * (value_len + 16);
}

static double seconds_of(void (*call)(void))
{
    double t = now();

    if (call == NULL)
        return -1;
    call();
    return now() - t;
}

static double seconds_to_open(const char *folder)
{
    double t = now();

    store->open(folder, bytes());
    (void)store->get(some_key(1));
    return now() - t;
}

static double seconds_of_backup(void)
{
    const char *to = in_folder(dir, "backup");
    char folder[400];
    double t = now();

    if (store->backup == NULL)
        return -1;
    snprintf(folder, sizeof folder, "%s", to);
    if (mkdir(folder, 0700) != 0)
        die("backup", strerror(errno));
    store->backup(folder);
    t = now() - t;
    folder_remove(folder);
    return t;
}

/* This program anew, as the process that is killed: threads of a system do not live on in a fork. */
static void be_killed(const char *folder)
{
    char n[16], v[16];
    char *args[] = {"growth",
                    "-n",
                    n,
                    "-v",
                    v,
                    "-o",
                    sequential ? "sequential" : "random",
                    "-s",
                    (char *)(uintptr_t)store->name,
                    "-k",
                    (char *)(uintptr_t)folder,
                    NULL};
    int status;
    pid_t pid;

    snprintf(n, sizeof n, "%" PRIu32, nodes);
    snprintf(v, sizeof v, "%u", value_len);
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ) != 0 ||
        waitpid(pid, &status, 0) != pid)
        die("another process", strerror(errno));
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        die("another process", "it ended otherwise than by SIGKILL");
}

static void work_and_die(const char *folder)
{
    store->open(folder, bytes());
    for (uint32_t i = 0; i < nodes / 10; i++)
        update_one(i);
    raise(SIGKILL);
}

static void load(const char *folder, struct result *r)
{
    double disk = disk_written(dir), own = proc_number("/proc/self/io", "write_bytes:"), t;

    store->open(folder, bytes());
    insert_all(folder, r);
    r->memory = proc_number("/proc/self/status", "VmRSS:") * 1024;
    r->get = random_calls(get_one, &r->gets);
    t = now();
    if (store->scan() != nodes)
        die("scan", "it has not seen all nodes");
    r->scan = (now() - t) * 1e9 / nodes;
    r->close = seconds_of(store->close);
    sync();
    r->disk = disk_written(dir) - disk;
    r->own = proc_number("/proc/self/io", "write_bytes:") - own;
    r->loaded = folder_sizes(folder);
}

static void do_the_rest(const char *folder, struct result *r)
{
    double t;

    r->open = seconds_to_open(folder);
    r->update = random_calls(update_one, &r->updates);
    r->check = seconds_of(store->check);
    r->backup = seconds_of_backup();
    r->kill = random_calls(kill_one, &r->kills);
    store->close();
    be_killed(folder);
    t = now();
    store->open(folder, bytes());
    update_one(1);
    r->recover = now() - t;
    store->close();
    t = now();
    store->compact(folder, bytes());
    r->compact = now() - t;
    r->compacted = folder_sizes(folder);
}

static void leave_the_rest(struct result *r)
{
    r->update = r->kill = r->compacted.length = r->open = r->check = r->backup = r->recover = r->compact = -1;
}

static void measure(struct result *r)
{
    char folder[300];

    snprintf(folder, sizeof folder, "%s/%s", dir, store->name);
    if (mkdir(folder, 0700) != 0)
        die("folder", strerror(errno));
    load(folder, r);
    if (only_load)
        leave_the_rest(r);
    else
        do_the_rest(folder, r);
    folder_remove(folder);
}

/* ---------------------------------------------------------------------- tables */

struct field {
    const char *name;
    double value;
    int digits;
};

static void print_tenths(const double *each)
{
    for (unsigned i = 0; i < TENTHS; i++)
        printf("%s%.0f", i != 0 ? "," : "", each[i]);
}

static void print_json(const struct result *r)
{
    const struct field fields[] = {
        {"get_ns", r->get, 0},
        {"update_ns", r->update, 0},
        {"kill_ns", r->kill, 0},
        {"scan_ns", r->scan, 1},
        {"set_longest_ms", longest_ms(&r->inserts), 2},
        {"set_most_ms", most_ms(&r->inserts), 3},
        {"get_longest_ms", longest_ms(&r->gets), 2},
        {"get_most_ms", most_ms(&r->gets), 3},
        {"update_longest_ms", longest_ms(&r->updates), 2},
        {"update_most_ms", most_ms(&r->updates), 3},
        {"kill_longest_ms", longest_ms(&r->kills), 2},
        {"kill_most_ms", most_ms(&r->kills), 3},
        {"disk_bytes", r->disk, 0},
        {"own_bytes", r->own, 0},
        {"memory_bytes", r->memory, 0},
        {"file_bytes", r->loaded.length, 0},
        {"file_takes", r->loaded.takes, 0},
        {"file_most_takes", r->most, 0},
        {"compact_bytes", r->compacted.length, 0},
        {"load_s", r->loading, 2},
        {"close_s", r->close, 2},
        {"open_s", r->open, 3},
        {"check_s", r->check, 2},
        {"backup_s", r->backup, 2},
        {"recover_s", r->recover, 2},
        {"compact_s", r->compact, 2},
    };

    printf("{\"work\":\"growth\",\"system\":\"%s\",\"order\":\"%s\",\"nodes\":%" PRIu32
           ",\"value_bytes\":%u,\"insert_ns\":[",
           store->name, sequential ? "sequential" : "random", nodes, value_len);
    print_tenths(r->insert);
    printf("],\"insert_cpu_ns\":[");
    print_tenths(r->cpu);
    printf("]");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].value >= 0)
            printf(",\"%s\":%.*f", fields[i].name, fields[i].digits, fields[i].value);
    printf("}\n");
}

static void print_seconds(const char *what, double seconds, const char *after)
{
    if (seconds < 0)
        printf("%s x%s", what, after);
    else
        printf("%s %.2f s%s", what, seconds, after);
}

static void print_calls(const char *what, double each, const struct times *t, const char *after)
{
    printf("%s %.0f ns (longest %.1f ms, 99.999 %% below %.2f)%s", what, each, longest_ms(t), most_ms(t),
           after);
}

static void print_load(const struct result *r)
{
    printf("%-8s sets", store->name);
    for (unsigned i = 0; i < TENTHS; i++)
        printf(" %5.0f", r->insert[i]);
    printf(" ns (longest %.1f ms, 99.999 %% below %.2f)\n  of the CPUs", longest_ms(&r->inserts),
           most_ms(&r->inserts));
    for (unsigned i = 0; i < TENTHS; i++)
        printf(" %5.0f", r->cpu[i]);
    print_calls(" ns\n         gets", r->get, &r->gets, ", scan ");
    printf("%.1f ns\n         ", r->scan);
    printf("written %.2f GB (by itself %.2f), memory %.2f GB, files %.2f GB (take %.2f; took up to %.2f)\n",
           r->disk * 1e-9, r->own * 1e-9, r->memory * 1e-9, r->loaded.length * 1e-9, r->loaded.takes * 1e-9,
           r->most * 1e-9);
    print_seconds("         load", r->loading, ", ");
    print_seconds("close", r->close, "\n");
}

static void print_rest(const struct result *r)
{
    print_calls("         updates after opening", r->update, &r->updates, "\n         ");
    print_calls("kills", r->kill, &r->kills, "\n         ");
    print_seconds("open", r->open, ", ");
    print_seconds("check", r->check, ", ");
    print_seconds("backup", r->backup, ", ");
    print_seconds("recover", r->recover, ", ");
    print_seconds("compact", r->compact, "");
    printf(" to %.2f GB\n", r->compacted.length * 1e-9);
}

static void print_text(const struct result *r)
{
    print_load(r);
    if (!only_load)
        print_rest(r);
}

/* ------------------------------------------------------------------------ main */

static int usage(void)
{
    fprintf(
        stderr,
        "usage: growth [-n NODES] [-v BYTES] [-o random|sequential] [-d DIR] [-s SYSTEM] [--load] [--json]\n"
        "systems:");
    for (size_t i = 0; i < STORES; i++)
        fprintf(stderr, " %s", stores[i]->name);
    fprintf(stderr, "\n");
    return 2;
}

static void run_all(const char *only, const char *killed)
{
    for (size_t i = 0; i < STORES; i++) {
        store = stores[i];
        if (only != NULL && strcmp(only, store->name) != 0)
            continue;
        if (killed != NULL)
            work_and_die(killed);
        struct result *r = calloc(1, sizeof *r);
        if (r == NULL)
            die("begin", "no memory");
        measure(r);
        (json ? print_json : print_text)(r);
        fflush(stdout);
        free(r);
    }
}

int main(int argc, char **argv)
{
    const char *where = getenv("TMPDIR"), *only = NULL, *killed = NULL;

    for (int i = 1; i < argc; i++) {
        const char *arg = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--load") == 0) {
            *(argv[i][2] == 'j' ? &json : &only_load) = 1;
            continue;
        }
        if (arg == NULL || argv[i][0] != '-' || strchr("nvodsk", argv[i][1]) == NULL)
            return usage();
        switch (argv[i++][1]) {
        case 'n': nodes = (uint32_t)strtoul(arg, NULL, 10); break;
        case 'v': value_len = (unsigned)strtoul(arg, NULL, 10); break;
        case 'o': sequential = strcmp(arg, "sequential") == 0; break;
        case 'd': where = arg; break;
        case 's': only = arg; break;
        case 'k': killed = arg; break;
        }
    }
    if (nodes < 100 || nodes > INT32_MAX || value_len < 1 || value_len > VALUE_MAX)
        return fprintf(stderr, "growth: 100 to 2^31 - 1 nodes, values of 1 to %u bytes\n", VALUE_MAX), 2;
    if (killed == NULL) {
        snprintf(dir, sizeof dir, "%.150s/caret-growth-XXXXXX", where != NULL ? where : "/tmp");
        if (mkdtemp(dir) == NULL)
            return perror("growth"), 1;
    }
    run_all(only, killed);
    rmdir(dir);
    return 0;
}
