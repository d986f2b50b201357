/*
 * graph.h - what came after what: transactions, moments of time, and the dependencies between them.
 *
 * A history is serializable, in an order that real time allows, if its dependencies have no cycle (Adya 1999).
 */
#ifndef CARET_TEST_SUPPORT_GRAPH_H
#define CARET_TEST_SUPPORT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

struct graph {
    uint32_t nodes; /* 0, 1, ... nodes - 1: the caller sets it, and may raise it */
    uint32_t edges, cap;
    struct graph_edge {
        uint32_t from, to;
        const char *why; /* a literal */
    } * edge;
};

/* `to` came after `from`.  One to itself, or of a node that there is not, is none. */
void graph_edge(struct graph *g, uint32_t from, uint32_t to, const char *why);

/* How many nodes are on or after a cycle.  One cycle is printed, but for edges between nodes above `most`. */
uint32_t graph_cyclic(struct graph *g, uint32_t most);

void graph_free(struct graph *g);

/* A transaction begins or ends.  Of two at one time the beginnings come first: then neither was after the other. */
struct graph_moment {
    uint64_t at;
    uint32_t id;
    bool ends;
};

/* For qsort(). */
int graph_by_time(const void *a, const void *b);

#endif
