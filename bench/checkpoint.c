/*
 * checkpoint.c - what checkpoints and recoveries cost.
 *
 *   writes   pages that a checkpoint of P changed pages writes: as handed to pwrite (wchar of /proc/self/io), as the
 *            disk was given them (the device's counters: everybody's writes), and as write_bytes of /proc/self/io
 *            says, which counts a folio of many pages whole though only one of them is dirty and written
 *   stalls   one process sets at random without a pause, another takes checkpoints: the longest set that overlaps each,
 *            and what sets waited, that is, took beyond 20 us without having lost the processor to somebody else, as a
 *            part of all time; likewise without checkpoints
 *   reopen   everybody is killed when the log is as full as it gets, at default sizes; seconds until it is open again
 *   replay   the same with a log of 1 GiB
 *
 * checkpoint [-d DIRECTORY] [-r RUNS] [-n NODES] [--json] [writes | stalls | reopen | replay]...
 * The files are made in DIRECTORY (the current one), which should be on a disk; shared memory of 1 GiB is used.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define PAGE      4096.0
#define GROUP     ((4096.0 - 32) * 8) /* page numbers of one page of the bitmap */
#define MOST      256                 /* checkpoints, runs */
#define WAITS     20e-6               /* a set that takes longer has waited */
#define PAUSE_US  200000
#define VALUE_LEN 60

static char path[400];
static uint32_t nodes = 1000000;
static int json, runs = 5;
static char value[VALUE_LEN + 1] = "012345678901234567890123456789012345678901234567890123456789";

struct user {
    caret_db *db;
    caret_session *s;
    uint64_t random;
    caret_node_buf n;
};

static void open_it(struct user *u, int sync, int no_thread, size_t log_size)
{
    caret_options o = {.size = sizeof o, .sync = sync, .no_thread = no_thread, .log_size = log_size};
    must(caret_open(path, &o, &u->db), "open");
    must(caret_session_open(u->db, &u->s), "session");
    must(caret_node_var(&u->n.node, sizeof u->n, "^BCAT", 5), "node");
    must(caret_node_child_int(&u->n.node, sizeof u->n, &u->n.node, 0), "node");
    u->random = (uint64_t)getpid() * 2 + 1;
}

static void close_it(struct user *u)
{
    caret_session_close(u->s);
    must(caret_close(u->db), "close");
}

static void remove_it(void)
{
    static const char *const suffixes[] = {"", "-log", "-lock"};
    char name[450];

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

static void set(struct user *u, uint32_t i)
{
    must(caret_node_set_last_int(&u->n.node, i), "node");
    must(caret_set(u->s, &u->n.node, value, VALUE_LEN), "set");
}

static void set_any(struct user *u)
{
    u->random = u->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    value[0] = (char)('0' + (u->random >> 20) % 10);
    set(u, (uint32_t)((u->random >> 33) % nodes));
}

static void fill(void)
{
    struct user u;

    remove_it();
    open_it(&u, CARET_SYNC_OFF, 0, 0);
    for (uint32_t i = 0; i < nodes; i++)
        set(&u, i);
    close_it(&u);
}

/* ------------------------------------------------------------------------ writes */

static double io(const char *name)
{
    char line[100];
    double bytes = 0;
    size_t len = strlen(name);
    FILE *f = fopen("/proc/self/io", "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            bytes = strtod(line + len + 1, NULL);
    if (f != NULL)
        fclose(f);
    return bytes;
}

/* Pages written to the device that holds the file, by everybody; 0: not known. */
static double disk(void)
{
    struct stat st;
    char name[100];
    unsigned long long sectors = 0;

    if (stat(path, &st) != 0)
        return 0;
    snprintf(name, sizeof name, "/sys/dev/block/%u:%u/stat", major(st.st_dev), minor(st.st_dev));
    FILE *f = fopen(name, "r");
    if (f != NULL && fscanf(f, "%*u %*u %*u %*u %*u %*u %llu", &sectors) != 1)
        sectors = 0;
    if (f != NULL)
        fclose(f);
    return (double)sectors * 512 / PAGE;
}

/* One checkpoint after so many sets at random. */
static void writes_of(struct user *u, uint32_t sets)
{
    caret_stats before = {.size = sizeof before}, after = {.size = sizeof after};

    must(caret_checkpoint(u->db), "checkpoint");
    for (uint32_t i = 0; i < sets; i++)
        set_any(u);
    must(caret_sync(u->db), "sync"); /* the log is not counted */
    must(caret_stat(u->db, &before), "stat");
    sync(); /* nobody else's either, as far as that can be had */
    double passed = io("wchar"), dirtied = io("write_bytes"), written = disk();
    must(caret_checkpoint(u->db), "checkpoint");
    passed = (io("wchar") - passed) / PAGE;
    dirtied = (io("write_bytes") - dirtied) / PAGE;
    written = disk() - written;
    must(caret_stat(u->db, &after), "stat");
    if (after.checkpoints != before.checkpoints + 1 || after.arena_used != 0)
        fprintf(stderr, "checkpoint: others are at work, or there were two\n");
    double p = (double)before.arena_used;
    double extra = 1 + (double)(uint64_t)((double)before.pages / GROUP + 1); /* meta and bitmap */
    printf(json
               ? "{\"work\":\"checkpoint writes\",\"pages\":%.0f,\"passed\":%.1f,\"disk\":%.1f,"
                 "\"write_bytes\":%.1f,\"meta_bitmap\":%.0f,\"ratio\":%.3f,\"ratio_disk\":%.3f,\"bar\":1.2}\n"
               : "a checkpoint of %.0f pages: %.1f passed to pwrite, %.1f to the disk (write_bytes: %.1f), "
                 "of these "
                 "%.0f of meta and bitmap: %.3f and %.3f times (bar 1.2)\n",
           p, passed, written, dirtied, extra, (passed - extra) / p, (written - extra) / p);
}

static void writes(void)
{
    struct user u;

    fill();
    open_it(&u, CARET_SYNC_OFF, 1, 0);
    for (uint32_t sets = 10; sets <= 100000; sets *= 10)
        writes_of(&u, sets);
    close_it(&u);
}

/* ------------------------------------------------------------------------ stalls */

static struct stalls {
    _Atomic uint32_t running; /* number of the checkpoint, or of the pause, from 1; 0 = neither */
    _Atomic uint32_t stop;
    double longest[MOST], own[MOST]; /* own: of the sets that were not preempted */
    double waited, off, all;         /* off: preempted in a set */
} * stalls;

/* Did the kernel take the processor away from us since the last time we looked? */
static int preempted(void)
{
    static long seen;
    struct rusage r;
    long before = seen;

    getrusage(RUSAGE_SELF, &r);
    seen = r.ru_nivcsw;
    return seen != before;
}

/* One set took so long while that checkpoint was going on (0 = none was). */
static void note(uint32_t at, double took)
{
    int off = took > WAITS && preempted();

    if (took > WAITS)
        *(off ? &stalls->off : &stalls->waited) += took - WAITS;
    if (at != 0 && took > stalls->longest[at])
        stalls->longest[at] = took;
    if (at != 0 && !off && took > stalls->own[at])
        stalls->own[at] = took;
}

static void write_on(void)
{
    struct user u;
    double begin, before, after = 0;

    open_it(&u, CARET_SYNC_OFF, 0, 0);
    begin = before = now();
    while (!atomic_load(&stalls->stop)) {
        uint32_t at = atomic_load_explicit(&stalls->running, memory_order_relaxed);
        set_any(&u);
        after = now();
        note(at != 0 ? at : atomic_load_explicit(&stalls->running, memory_order_relaxed), after - before);
        before = after;
    }
    stalls->all = after - begin;
    close_it(&u);
    _exit(0);
}

/* So many checkpoints, or pauses of 20 ms, with a writer beside. */
static void stall_round(int checkpoints, int really)
{
    struct user u;

    memset(stalls, 0, sizeof *stalls);
    pid_t pid = fork();
    if (pid == 0)
        write_on();
    /* Not before the fork: the options of a process are its first opener's. */
    open_it(&u, CARET_SYNC_OFF, 1, 0);
    for (int i = 1; i <= checkpoints; i++) {
        usleep(PAUSE_US);
        atomic_store(&stalls->running, (uint32_t)i);
        if (really)
            must(caret_checkpoint(u.db), "checkpoint");
        else
            usleep(PAUSE_US / 10);
        atomic_store(&stalls->running, 0);
    }
    atomic_store(&stalls->stop, 1);
    waitpid(pid, NULL, 0);
    close_it(&u);
    const char *what = really ? "checkpoint stalls" : "pauses instead of checkpoints";
    double med = median(stalls->longest + 1, checkpoints), own = median(stalls->own + 1, checkpoints);
    printf(
        json ? "{\"work\":\"%s\",\"times\":%d,\"median_ms\":%.3f,\"max_ms\":%.3f,\"own_median_ms\":%.3f,"
               "\"own_max_ms\":%.3f,\"waited\":%.5f,\"preempted\":%.5f,\"bar_median_ms\":1,\"bar_max_ms\":20,"
               "\"bar_waited\":0.01}\n"
             : "%s: the longest set over each of %d: median %.3f ms (bar 1), maximum %.3f ms (bar 20); of "
               "those that "
               "kept the processor %.3f and %.3f ms; waited %.5f of the time (bar 0.01), %.5f without the "
               "processor\n",
        what, checkpoints, med * 1e3, stalls->longest[checkpoints] * 1e3, own * 1e3,
        stalls->own[checkpoints] * 1e3, stalls->waited / stalls->all, stalls->off / stalls->all);
}

static void stall(void)
{
    int checkpoints = 8 * runs < MOST ? 8 * runs : MOST - 1;

    fill();
    stalls = mmap(NULL, sizeof *stalls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stalls == MAP_FAILED)
        exit(1);
    stall_round(checkpoints, 0);
    stall_round(checkpoints, 1);
}

/* --------------------------------------------------------------- reopening after the death of all */

/* A process that fills the log as far as it goes without a checkpoint, and is killed. */
static void fill_log(size_t log_size)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct user u;
        caret_stats st = {.size = sizeof st};
        uint64_t most = (log_size != 0 ? log_size : 64u << 20) / 8 * 7 - (1u << 20);
        open_it(&u, CARET_SYNC_OFF, 1, log_size);
        must(caret_checkpoint(u.db), "checkpoint");
        do {
            for (int i = 0; i < 1000; i++)
                set_any(&u);
            must(caret_stat(u.db, &st), "stat");
        } while (st.log_head - st.checkpoint_lsn < most);
        kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status))
        exit(1);
}

static void reopen(const char *work, size_t log_size, int times, double bar)
{
    double took[MOST];
    struct user u;

    fill();
    if (log_size != 0) { /* the first to open after a clean close makes the log */
        open_it(&u, CARET_SYNC_OFF, 1, log_size);
        close_it(&u);
    }
    for (int i = 0; i < times; i++) {
        fill_log(log_size);
        took[i] = now();
        open_it(&u, CARET_SYNC_OFF, 1, log_size);
        took[i] = now() - took[i];
        close_it(&u);
    }
    double med = median(took, times), max = took[times - 1];
    printf(json ? "{\"work\":\"%s\",\"log_mib\":%.0f,\"median_s\":%.3f,\"max_s\":%.3f,\"bar_s\":%.0f}\n"
                : "%s: log of %.0f MiB, full: open after %.3f s, at most %.3f s (bar %.0f)\n",
           work, (double)(log_size != 0 ? log_size : 64u << 20) / 1048576, med, max, bar);
}

/* -------------------------------------------------------------------------------- main */

static int usage(void)
{
    fprintf(stderr,
            "checkpoint [-d DIRECTORY] [-r RUNS, 1 to %d] [-n NODES] [--json] [writes | stalls | reopen | "
            "replay]...\n",
            MOST);
    return 2;
}

static int chosen(int argc, char **argv, int from, const char *name)
{
    for (int i = from; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return from == argc;
}

int main(int argc, char **argv)
{
    const char *dir = ".";
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            dir = argv[++i];
        else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
            runs = atoi(argv[++i]);
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            nodes = (uint32_t)strtoul(argv[++i], NULL, 10);
        else
            return usage();
    }
    if (runs < 1 || runs > MOST || nodes == 0)
        return usage();
    snprintf(path, sizeof path, "%s/caret-bench-checkpoint-%d.caret", dir, (int)getpid());
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (chosen(argc, argv, i, "writes"))
        writes();
    if (chosen(argc, argv, i, "stalls"))
        stall();
    if (chosen(argc, argv, i, "reopen"))
        reopen("reopening", 0, runs, 1);
    if (chosen(argc, argv, i, "replay"))
        reopen("replay", (size_t)1 << 30, 1, 20);
    remove_it();
    return 0;
}
