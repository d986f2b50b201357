/*
 * ending.c - connections that wait for the end of others: ending.h.
 */
#include "server/meet/ending.h"

#include <stdlib.h>

enum { LOOK = 10 /* milliseconds between looks, where no letter comes */ };

struct one {
    const struct serve__row *row;
    uint64_t id;
};

struct serve__ending {
    size_t n;
    struct one one[];
};

void serve__ending_wait(struct serve__worker *w, struct serve__conn *by, const struct serve__client *client)
{
    size_t n = by->ending != NULL ? by->ending->n : 0;
    struct serve__ending *e = realloc(by->ending, sizeof *e + (n + 1) * sizeof e->one[0]);
    if (e == NULL) /* no memory: the client is ended a little later */
        return;
    e->one[n] = (struct one){&w->shared->row[client->row], client->id};
    e->n = n + 1;
    by->ending = e;
    if (!(by->flags & SERVE__CONN_HELD))
        w->held++;
    by->flags |= SERVE__CONN_HELD;
    w->due = w->due < w->now + LOOK ? w->due : w->now + LOOK;
}

static bool all_ended(const struct serve__ending *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->one[i].row->owner != 0 && e->one[i].row->client.id == e->one[i].id)
            return false;
    return true;
}

void serve__conn_gone_ending(struct serve__worker *w, struct serve__conn *c)
{
    if (c->flags & SERVE__CONN_HELD)
        w->held--;
    c->flags &= ~(unsigned)SERVE__CONN_HELD;
    free(c->ending);
    c->ending = NULL;
}

void serve__ending_look(struct serve__worker *w)
{
    for (struct serve__conn *c = w->conns; w->held > 0 && c != NULL; c = c->next)
        if ((c->flags & SERVE__CONN_HELD) && all_ended(c->ending)) {
            serve__conn_gone_ending(w, c);
            serve__conn_wake(w, c);
        }
    if (w->held > 0 && w->due > w->now + LOOK)
        w->due = w->now + LOOK;
}
