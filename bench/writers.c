/*
 * writers.c - sets by 1, 2 and 4 processes at once, in leaves of their own, in any leaf, in one node: how much of what
 * one process does each of several does (writers.py has the costs it comes from).
 *
 * usage: writers [-s SECONDS]
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "measure.h"

#define NODES 200000
#define MOST  4

enum { DISJOINT, UNIFORM, HOT, LOADS };
static const char *const names[LOADS] = {"leaves of their own", "any leaf", "one node"};

struct shared {
    _Atomic int ready, go;
    uint64_t sets[MOST];
};

static char path[96];

static int64_t choose(int load, int process, int processes, uint64_t *r)
{
    *r = *r * 6364136223846793005u + 1442695040888963407u;
    int64_t i = (int64_t)(*r >> 33);
    int64_t part = NODES / processes;
    return load == HOT ? 1 : load == UNIFORM ? i % NODES + 1 : process * part + i % part + 1;
}

static void work(struct shared *sh, int load, int process, int processes, double seconds)
{
    caret_session *s;
    caret_db *db;
    caret_node_buf n;
    uint64_t r = (uint64_t)process + 7, sets = 0;

    must(caret_open(path, NULL, &db), "open");
    must(caret_session_open(db, &s), "session");
    must(caret_node_var(&n.node, sizeof n, "^w", 2), "node");
    must(caret_node_child_int(&n.node, sizeof n, &n.node, 1), "node");
    must(caret_set(s, &n.node, "0123456789", 10), "set");
    sh->ready++;
    while (sh->go == 0)
        ;
    for (double end = now() + seconds; now() < end; sets += 256)
        for (int i = 0; i < 256; i++) {
            caret_node_set_last_int(&n.node, choose(load, process, processes, &r));
            must(caret_set(s, &n.node, "0123456789", 10), "set");
        }
    sh->sets[process] = sets;
    caret_session_close(s);
    caret_close(db);
}

/* Sets a second, of all together. */
static double run(struct shared *sh, int load, int processes, double seconds)
{
    double sum = 0;

    memset(sh, 0, sizeof *sh);
    for (int i = 0; i < processes; i++)
        if (fork() == 0) {
            work(sh, load, i, processes, seconds);
            _exit(0);
        }
    while (sh->ready < processes)
        usleep(100);
    sh->go = 1;
    while (wait(NULL) > 0)
        ;
    for (int i = 0; i < processes; i++)
        sum += (double)sh->sets[i] / seconds;
    return sum;
}

static void fill(void)
{
    caret_session *s;
    caret_db *db;
    caret_node_buf n;

    must(caret_open(path, NULL, &db), "open");
    must(caret_session_open(db, &s), "session");
    must(caret_node_var(&n.node, sizeof n, "^w", 2), "node");
    must(caret_node_child_int(&n.node, sizeof n, &n.node, 1), "node");
    for (int i = 1; i <= NODES; i++) {
        caret_node_set_last_int(&n.node, i);
        must(caret_set(s, &n.node, "0123456789", 10), "set");
    }
    caret_session_close(s);
    must(caret_close(db), "close");
}

int main(int argc, char **argv)
{
    double seconds = argc == 3 && strcmp(argv[1], "-s") == 0 ? atof(argv[2]) : argc == 1 ? 0.5 : 0;
    const char *tmp = getenv("TMPDIR");
    struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (seconds <= 0 || sh == MAP_FAILED)
        return fprintf(stderr, "usage: writers [-s SECONDS]\n"), 2;
    snprintf(path, sizeof path, "%.40s/caret-writers-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    fill();
    printf("%-24s %10s %10s %10s   (million sets a second, all together)\n", "processes", "1", "2", "4");
    for (int load = 0; load < LOADS; load++) {
        printf("%-24s", names[load]);
        for (int p = 1; p <= MOST; p *= 2)
            printf(" %10.2f", run(sh, load, p, seconds) / 1e6);
        printf("\n");
    }
    return unlink(path) != 0;
}
