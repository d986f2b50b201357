/*
 * debug_clients.c - DEBUG CLIENT-EVICTION: how much memory clients of which size take, of all workers, as Redis tells
 * it.  Those with CLIENT NO-EVICT are left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/admin/debug.h"
#include "server/conn.h"
#include "server/meet/clients.h"
#include "server/worker.h"

/* Redis' buckets: below 2^15 bytes, then by powers of two, and all from 2^32 on. */
enum { LEAST_BIT = 15, MOST_BIT = 33, BUCKETS = MOST_BIT - LEAST_BIT + 1, LINE = 80 };

struct bucket {
    uint64_t memory, clients;
};

static unsigned bucket_of(uint64_t memory)
{
    unsigned i = 0;
    while (i < BUCKETS - 1 && memory >> (LEAST_BIT + i) != 0)
        i++;
    return i;
}

static int line_of(char *text, unsigned i, const struct bucket *b)
{
    char to[16] = "+           ";
    uint64_t least = i == 0 ? 0 : UINT64_C(1) << (LEAST_BIT + i - 1);
    if (i < BUCKETS - 1)
        snprintf(to, sizeof to, " - %10" PRIu64, (UINT64_C(1) << (LEAST_BIT + i)) - 1);
    return snprintf(text, LINE, "bucket %10" PRIu64 "%-12s: tot-mem: %10" PRIu64 ", clients: %" PRIu64 "\n",
                    least, to, b->memory, b->clients);
}

int serve__debug_clients(struct serve__call *q)
{
    struct bucket buckets[BUCKETS] = {{0, 0}};
    char text[BUCKETS * LINE];
    size_t n, len = 0;
    if (q->w->config.n[SERVE__CFG_maxmemory_clients] == 0)
        return serve__fail(q, "ERR maxmemory-clients is disabled.");
    struct serve__client *list = serve__clients(q->w, &n);
    if (list == NULL)
        return CARET_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct bucket *b = &buckets[bucket_of(list[i].memory)];
        if (list[i].flags & SERVE__CONN_NO_EVICT)
            continue;
        b->memory += list[i].memory;
        b->clients++;
    }
    free(list);
    for (unsigned i = 0; i < BUCKETS; i++)
        len += (size_t)line_of(text + len, i, &buckets[i]);
    return serve__verbatim(q, "txt", text, len);
}
