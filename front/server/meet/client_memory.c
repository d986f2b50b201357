/*
 * client_memory.c - maxmemory-clients: clients that take too much memory together are ended, the largest first.
 *
 * While the limit is set each worker adds up what its clients take: `counted` of each, as it was after it was served
 * last, and the sum of them in its row of stats.  Once a turn it adds up the sums of all workers.  If they reach the
 * limit it ends clients of any worker, by what the rows of clients.h tell, until the rest is below it:
 *
 *   two workers see it at once      both choose the same ones, but for what was served in between: a client that is
 *                                   told to end is struck out of the list before anything else happens
 *   the limit is set                the other workers have no sums yet: the first one to hear of it goes by the rows
 *   an order comes to its worker    the client is gone, or ends: its number is never given again
 *   a worker dies                   its clients are cut, and its successor begins with the sum 0
 *
 * Clients with CLIENT NO-EVICT count, and stay.
 */
#include <stdlib.h>

#include "server/conn.h"
#include "server/meet/clients.h"
#include "server/meet/pubsub.h"
#include "server/meet/tracking.h"
#include "server/multi.h"
#include "server/worker.h"

enum {
    TOPIC_BYTES = 64,         /* of a subscription, in the lists of both */
    LEAST_LIMIT = 128 * 1024, /* as in Redis: with less nobody could set another limit */
};

size_t serve__output_high = SERVE__OUTPUT_HIGH;

/* Its input, with what it is to grow to for an argument that has begun: Redis makes room for that at once. */
static size_t input_bytes(const struct serve__conn *c)
{
    size_t whole = c->parser.left > 0 && c->parser.bulk > 0 ? c->parser.at + (size_t)c->parser.bulk + 2 : 0;
    return whole > c->in.cap ? whole : c->in.cap;
}

size_t serve__client_memory(const struct serve__conn *c)
{
    size_t bytes = sizeof *c + input_bytes(c) + c->out.cap + c->watched_bytes;
    if (c->queue != NULL)
        bytes += c->queue->bytes.len;
    if (c->subscriptions != NULL)
        bytes += (size_t)c->subscriptions->n * TOPIC_BYTES;
    if (c->tracking != NULL)
        bytes += c->tracking->prefix_bytes;
    return bytes;
}

static void count_as(struct serve__worker *w, struct serve__conn *c, size_t bytes)
{
    serve__add(&w->stats->client_memory, (uint64_t)bytes - (uint64_t)c->counted);
    c->counted = bytes;
}

void serve__client_count(struct serve__worker *w, struct serve__conn *c, bool there)
{
    if (w->counts_clients)
        count_as(w, c, there ? serve__client_memory(c) : 0);
}

/* 0: there is none. */
static uint64_t limit_set(const struct serve__worker *w)
{
    int64_t n = w->config.n[SERVE__CFG_maxmemory_clients];
    if (n >= 0)
        return (uint64_t)n;
    uint64_t all = (uint64_t)w->config.n[SERVE__CFG_maxmemory], percent = (uint64_t)-n;
    return all / 100 * percent + all % 100 * percent / 100;
}

static uint64_t limit_of(const struct serve__worker *w)
{
    uint64_t limit = limit_set(w);
    return limit == 0 || limit > LEAST_LIMIT ? limit : LEAST_LIMIT;
}

/* The limit was set, or there is none any more. */
static void begin_or_end(struct serve__worker *w, bool counts)
{
    w->counts_clients = counts;
    for (struct serve__conn *c = w->conns; c != NULL; c = c->next)
        count_as(w, c, counts ? serve__client_memory(c) : 0);
}

static int largest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct serve__client *)a)->memory, y = ((const struct serve__client *)b)->memory;
    return (x < y) - (x > y);
}

static void evict(struct serve__worker *w, uint64_t limit)
{
    size_t n;
    uint64_t left = 0;
    struct serve__client *list = serve__clients(w, &n);
    for (size_t i = 0; i < n; i++)
        left += list[i].memory;
    if (list != NULL)
        qsort(list, n, sizeof *list, largest_first);
    for (size_t i = 0; i < n && left >= limit; i++) {
        if (list[i].flags & SERVE__CONN_NO_EVICT)
            continue;
        serve__add(&w->stats->evicted_clients, serve__client_end(w, &list[i]));
        left -= list[i].memory;
    }
    free(list);
}

void serve__clients_turn(struct serve__worker *w)
{
    serve__config_refresh(w); /* CONFIG SET counts for the answers of this turn */
    uint64_t limit = limit_of(w);
    serve__output_high = limit > SERVE__OUTPUT_HIGH ? (size_t)limit : SERVE__OUTPUT_HIGH;
    bool begins = limit != 0 && !w->counts_clients;
    if ((limit != 0) != w->counts_clients)
        begin_or_end(w, limit != 0);
    if (limit != 0 && (begins || SERVE__SUM(w->shared, client_memory) >= limit))
        evict(w, limit);
}
