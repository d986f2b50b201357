/*
 * sync.c - what durability costs.
 *
 *   group commit   commits per second in mode `commit`: one process, each commit an fdatasync of its
 *                  own, and eight processes, whose waiting commits share one
 *   bytes          written to the disk for a small commit in that mode (/proc/self/io)
 *   interval       sets in mode `interval` beside mode `off`, in turns
 *
 * sync [-d DIRECTORY] [-r RUNS] [--json]: the files are made in DIRECTORY (the current one), which should be
 * on a disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define PROCESSES 8
#define SECONDS   1.5
#define SETS      400000
#define MOST_RUNS 20

static char path[400];

static void set(caret_session *s, int64_t a, int64_t b)
{
    caret_node_buf n;
    must(caret_node_var(&n.node, sizeof n, "^BCAT", 5), "node");
    must(caret_node_child_int(&n.node, sizeof n, &n.node, a), "node");
    must(caret_node_child_int(&n.node, sizeof n, &n.node, b), "node");
    must(caret_set(s, &n.node, "0123456789", 10), "set");
}

static void open_it(int sync, caret_db **db, caret_session **s)
{
    caret_options o = {.size = sizeof o, .sync = sync};
    must(caret_open(path, &o, db), "open");
    must(caret_session_open(*db, s), "session");
}

static void remove_it(void)
{
    char name[450];
    unlink(path);
    snprintf(name, sizeof name, "%s-lock", path);
    unlink(name);
}

/* Commits per second of so many processes, each waiting for the disk. */
static double commits(int processes)
{
    double end = now() + SECONDS;
    int fd[2];
    long all = 0, n;

    if (pipe(fd) != 0)
        exit(1);
    for (int p = 0; p < processes; p++) {
        if (fork() == 0) {
            caret_db *db;
            caret_session *s;
            open_it(CARET_SYNC_COMMIT, &db, &s);
            for (n = 0; now() < end; n++)
                set(s, p, n % 1000);
            if (write(fd[1], &n, sizeof n) != sizeof n)
                _exit(1);
            caret_session_close(s);
            caret_close(db);
            _exit(0);
        }
    }
    for (int p = 0; p < processes; p++) {
        if (read(fd[0], &n, sizeof n) == sizeof n)
            all += n;
    }
    while (wait(NULL) > 0)
        continue;
    close(fd[0]);
    close(fd[1]);
    return (double)all / SECONDS;
}

static double written(void)
{
    char line[100];
    double bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        (void)sscanf(line, "write_bytes: %lf", &bytes);
    if (f != NULL)
        fclose(f);
    return bytes;
}

static double bytes_of_a_commit(void)
{
    caret_db *db;
    caret_session *s;
    open_it(CARET_SYNC_COMMIT, &db, &s);
    for (int i = 0; i < 100; i++)
        set(s, 1, i);
    double before = written();
    for (int i = 0; i < 500; i++)
        set(s, 1, i % 100);
    double after = written();
    caret_session_close(s);
    caret_close(db);
    return (after - before) / 500;
}

/* Nanoseconds of a set, in order, over nodes that are there. */
static double sets(int sync)
{
    caret_db *db;
    caret_session *s;
    open_it(sync, &db, &s);
    for (int i = 0; i < SETS; i++)
        set(s, 0, i);
    double t = now(), rounds = 0;
    for (; now() - t < 2 * SECONDS; rounds++) /* long enough for some intervals */
        for (int i = 0; i < SETS; i++)
            set(s, 0, i);
    t = now() - t;
    caret_session_close(s);
    caret_close(db);
    return t / (rounds * SETS) * 1e9;
}

int main(int argc, char **argv)
{
    const char *dir = ".";
    int runs = 3, json = 0;
    double one[MOST_RUNS], eight[MOST_RUNS], gain[MOST_RUNS], off[MOST_RUNS], interval[MOST_RUNS],
        cost[MOST_RUNS];

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            dir = argv[++i];
        else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
            runs = atoi(argv[++i]);
        else
            runs = 0;
    }
    if (runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "sync [-d DIRECTORY] [-r RUNS, 1 to %d] [--json]\n", MOST_RUNS);
        return 2;
    }
    snprintf(path, sizeof path, "%s/caret-bench-sync-%d.caret", dir, (int)getpid());
    for (int i = 0; i < runs; i++) {
        one[i] = commits(1);
        eight[i] = commits(PROCESSES);
        gain[i] = eight[i] / one[i];
        off[i] = sets(CARET_SYNC_OFF);
        interval[i] = sets(CARET_SYNC_INTERVAL);
        cost[i] = interval[i] / off[i];
    }
    double bytes = bytes_of_a_commit();
    remove_it();
    printf(
        json ? "{\"work\":\"group commit\",\"one_per_s\":%.0f,\"eight_per_s\":%.0f,\"gain\":%.2f,\"bar\":4}\n"
             : "commits a second: one process %.0f, eight %.0f: %.2f times (bar 4)\n",
        median(one, runs), median(eight, runs), median(gain, runs));
    printf(json ? "{\"work\":\"bytes of a commit\",\"bytes\":%.0f,\"bar\":8192}\n"
                : "bytes written for a small commit: %.0f (bar 8192)\n",
           bytes);
    printf(json ? "{\"work\":\"interval\",\"off_ns\":%.1f,\"interval_ns\":%.1f,\"ratio\":%.3f,\"bar\":1.15}\n"
                : "a set with sync off %.1f ns, interval %.1f ns: %.3f times (bar 1.15)\n",
           median(off, runs), median(interval, runs), median(cost, runs));
    return 0;
}
