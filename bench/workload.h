/*
 * workload.h - the nodes ^BCAT("lvd",n) that ops.c and yottadb.c set, get and update in turns with something else:
 * options, the order of the nodes, and the way through handles of our C interface.
 */
#ifndef CARET_BENCH_WORKLOAD_H
#define CARET_BENCH_WORKLOAD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define MAX_RUNS 25

static unsigned nodes = 1000000, runs = 5;
static int json;
static char dir[64]; /* a new one */

enum { SEQ_SET, RANDOM_GET, RANDOM_SET, KINDS };
static const char *const kinds[KINDS] = {"sequential set", "random get", "random update"};

/* The program's: print what failed and why, and end. */
static void die(const char *what);

static inline double now_ns(void)
{
    return now() * 1e9;
}

static inline uint32_t shuffled(uint32_t i) /* a permutation of 1..nodes, the same for all */
{
    return (uint32_t)((uint64_t)i * 2654435761u % nodes) + 1;
}

struct handles {
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
};

static inline void handles_open(struct handles *o, const char *path)
{
    if (caret_open(path, NULL, &o->db) != CARET_OK || caret_session_open(o->db, &o->s) != CARET_OK)
        die("open");
}

static inline void handles_close(struct handles *o)
{
    caret_session_close(o->s);
    caret_close(o->db);
}

/* Below which variable it goes on. */
static inline void handles_at(struct handles *o, const char *var)
{
    caret_node_var(&o->n.node, sizeof o->n, var, strlen(var));
    caret_node_child(&o->n.node, sizeof o->n, &o->n.node, "lvd", 3);
    caret_node_child_int(&o->n.node, sizeof o->n, &o->n.node, 1);
}

/* All nodes once; nanoseconds for each. */
static inline double handles_run(struct handles *o, int kind)
{
    char val[32];
    caret_slice got;
    double t = now_ns();

    for (unsigned i = 0; i < nodes; i++) {
        unsigned key = kind == SEQ_SET ? i + 1 : shuffled(i);
        caret_node_set_last_int(&o->n.node, key);
        if (kind == RANDOM_GET) {
            if (caret_get(o->s, &o->n.node, &got) != CARET_OK)
                die("get");
        } else {
            int len = snprintf(val, sizeof val, "%010u", kind == SEQ_SET ? key : key + 7);
            if (caret_set(o->s, &o->n.node, val, (size_t)len) != CARET_OK)
                die("set");
        }
    }
    return (now_ns() - t) / nodes;
}

/* Read the options and make the folder; 0, or the status to end with. */
static inline int workload_begin(int argc, char **argv)
{
    const char *name = program_invocation_short_name, *tmp = getenv("TMPDIR");

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            nodes = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
            runs = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else
            return fprintf(stderr, "usage: %s [-n NODES] [-r RUNS] [--json]\n", name), 2;
    }
    if (nodes < 10 || runs < 1 || runs > MAX_RUNS)
        return fprintf(stderr, "%s: at least 10 nodes, 1 to %d runs\n", name, MAX_RUNS), 2;
    snprintf(dir, sizeof dir, "%.40s/caret-%.7s-XXXXXX", tmp != NULL ? tmp : "/tmp", name);
    if (mkdtemp(dir) == NULL)
        return perror(name), 1;
    return 0;
}

#endif
