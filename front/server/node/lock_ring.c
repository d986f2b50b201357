/*
 * lock_ring.c - clients that wait for each other: lock.h.
 */
#include "server/node/lock.h"

enum { MOST = 128 }; /* entries that are looked at */

struct entry {
    const struct serve__lock_wait *at;
    struct serve__lock_wait copy;
    uint64_t ticket;
    int from; /* the entry that waits for this one: its place; -1: it was not reached */
};

static bool among(uint64_t hash, const uint64_t *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == hash)
            return true;
    return false;
}

/* Does `b` hold what `a` waits for, a node above it or one below? */
static bool waits_for(const struct serve__lock_wait *a, const struct serve__lock_wait *b)
{
    for (unsigned i = 0; i < b->n_held; i++)
        if (b->held[i] == a->name || among(b->held[i], a->above, a->n_above))
            return true;
    return among(a->name, b->held_above, b->n_held_above);
}

/* Copy an entry whose ticket is older.  false: it is none, of a client that holds nothing, or it changed. */
static bool take(struct entry *e, const struct serve__lock_wait *at, uint64_t newest)
{
    e->at = at;
    e->from = -1;
    e->ticket = atomic_load_explicit(&at->ticket, memory_order_acquire);
    if (e->ticket == 0 || e->ticket >= newest)
        return false;
    memcpy(&e->copy, at, sizeof e->copy);
    atomic_thread_fence(memory_order_acquire);
    return at->ticket == e->ticket && e->copy.n_held > 0 && e->copy.n_held <= SERVE__LOCK_HELD &&
           e->copy.n_above <= SERVE__LOCK_ABOVE && e->copy.n_held_above <= SERVE__LOCK_HELD_ABOVE;
}

/* Those with older tickets, from place 1 on. */
static int gather(struct serve__shared *s, struct entry *list, uint64_t newest)
{
    int n = 1;
    for (int i = 0; i < s->nworkers; i++)
        for (int k = 0; k < SERVE__LOCK_WAITS && s->stats[i].lock_waits != 0 && n < MOST; k++)
            n += take(&list[n], &s->lock_wait[i][k], newest);
    return n;
}

/* Are the entries from `i` back to the first what they were? */
static bool still(const struct entry *list, int i)
{
    for (; i != 0; i = list[i].from)
        if (list[i].at->ticket != list[i].ticket)
            return false;
    return true;
}

bool serve__lock_ring(struct serve__shared *s, const struct serve__lock_wait *mine)
{
    static _Thread_local struct entry list[MOST];
    int reached[MOST], end = 1;
    list[0] = (struct entry){.at = mine, .ticket = mine->ticket};
    memcpy(&list[0].copy, mine, sizeof list[0].copy);
    int n = gather(s, list, list[0].ticket);
    reached[0] = 0;
    for (int at = 0; at < end; at++)
        for (int i = 1; i < n; i++) {
            if (list[i].from >= 0 || !waits_for(&list[reached[at]].copy, &list[i].copy))
                continue;
            list[i].from = reached[at];
            reached[end++] = i;
            if (waits_for(&list[i].copy, mine))
                return still(list, i);
        }
    return false;
}
