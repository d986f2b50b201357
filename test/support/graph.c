/* graph.c - see graph.h. */
#include "support/graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN 12 /* dependencies of a cycle */

static void *must_have(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

void graph_edge(struct graph *g, uint32_t from, uint32_t to, const char *why)
{
    if (from == to || from >= g->nodes || to >= g->nodes)
        return;
    if (g->edges == g->cap) {
        g->cap = g->cap == 0 ? 1024 : 2 * g->cap;
        g->edge = must_have(realloc(g->edge, g->cap * sizeof *g->edge));
    }
    g->edge[g->edges++] = (struct graph_edge){from, to, why};
}

void graph_free(struct graph *g)
{
    free(g->edge);
    g->edge = NULL;
}

static int by_from(const void *a, const void *b)
{
    uint32_t x = ((const struct graph_edge *)a)->from, y = ((const struct graph_edge *)b)->from;
    return (x > y) - (x < y);
}

/* Show one cycle, from its end to its beginning: left[] > 0 says which nodes are on or after one. */
static void show_cycle(const struct graph *g, const uint32_t *left, uint32_t most)
{
    const struct graph_edge **into = must_have(calloc(g->nodes, sizeof *into));
    uint32_t node = 0;

    for (uint32_t i = 0; i < g->edges; i++)
        if (left[g->edge[i].from] > 0)
            into[g->edge[i].to] = &g->edge[i];
    while (left[node] == 0)
        node++;
    for (uint32_t i = 0; i < g->nodes; i++) /* from a node after the cycle onto it */
        node = into[node]->from;
    for (uint32_t shown = 0, first = node; shown < SHOWN && (shown == 0 || node != first);) {
        const struct graph_edge *e = into[node];
        bool moments = e->from > most && e->to > most;
        if (!moments) /* they are many, and say nothing */
            printf("    %u after %u: %s\n", e->to, e->from, e->why);
        shown += !moments;
        node = e->from;
    }
    free(into);
}

/* Kahn 1962. */
uint32_t graph_cyclic(struct graph *g, uint32_t most)
{
    uint32_t *in = must_have(calloc(g->nodes, sizeof *in));
    uint32_t *first = must_have(calloc(g->nodes + 1, sizeof *first));
    uint32_t *queue = must_have(calloc(g->nodes, sizeof *queue)), head = 0, tail = 0;

    if (g->edges != 0)
        qsort(g->edge, g->edges, sizeof *g->edge, by_from);
    for (uint32_t i = 0; i < g->edges; i++) {
        in[g->edge[i].to]++;
        first[g->edge[i].from + 1]++;
    }
    for (uint32_t i = 0; i < g->nodes; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < g->nodes; i++)
        if (in[i] == 0)
            queue[tail++] = i;
    for (; head < tail; head++)
        for (uint32_t i = first[queue[head]]; i < first[queue[head] + 1]; i++)
            if (--in[g->edge[i].to] == 0)
                queue[tail++] = g->edge[i].to;
    if (tail < g->nodes)
        show_cycle(g, in, most);
    free(in);
    free(first);
    free(queue);
    return g->nodes - tail;
}

int graph_by_time(const void *a, const void *b)
{
    const struct graph_moment *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : x->ends - y->ends;
}
