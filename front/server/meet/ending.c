/*
 * ending.c - connections that wait for the end of others: ending.h.
 */
#include "server/meet/ending.h"

#include <stdlib.h>

enum { LOOK = 10 /* milliseconds between looks, where no letter comes */, USERS_MS = 1000 /* arbitrary */ };

struct one {
    const struct serve__row *row;
    uint64_t id;
};

struct serve__ending {
    uint64_t users; /* version of the ACL that is to be seen; 0: none */
    int64_t until;  /* and no longer than that */
    size_t n;
    struct one one[];
};

/* Hold the connection, with room for one client more.  NULL: no memory: clients are ended a little later. */
static struct serve__ending *hold(struct serve__worker *w, struct serve__conn *by)
{
    size_t n = by->ending != NULL ? by->ending->n : 0;
    struct serve__ending *e = realloc(by->ending, sizeof *e + (n + 1) * sizeof e->one[0]);
    if (e == NULL)
        return NULL;
    if (by->ending == NULL)
        *e = (struct serve__ending){0};
    by->ending = e;
    if (!(by->flags & SERVE__CONN_HELD))
        w->held++;
    by->flags |= SERVE__CONN_HELD;
    w->due = w->due < w->now + LOOK ? w->due : w->now + LOOK;
    return e;
}

void serve__ending_wait(struct serve__worker *w, struct serve__conn *by, const struct serve__client *client)
{
    struct serve__ending *e = hold(w, by);
    if (e != NULL)
        e->one[e->n++] = (struct one){&w->shared->row[client->row], client->id};
}

void serve__ending_wait_users(struct serve__worker *w, struct serve__conn *by)
{
    struct serve__ending *e = w->shared->nworkers > 1 ? hold(w, by) : NULL;
    if (e == NULL)
        return;
    e->users = w->acl_version;
    e->until = w->now + USERS_MS;
}

void serve__ending_tell_users(struct serve__worker *w)
{
    if (w->stats->users == w->acl_version)
        return;
    w->stats->users = w->acl_version;
    for (int i = 0; i < w->shared->nworkers; i++)
        if (i != w->index)
            serve__client_tell_ended(w, i);
}

static bool users_seen(const struct serve__worker *w, const struct serve__ending *e)
{
    bool seen = true;
    for (int i = 0; e->users != 0 && i < w->shared->nworkers; i++)
        seen = seen && w->shared->stats[i].users >= e->users;
    return seen || w->now >= e->until;
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
        if ((c->flags & SERVE__CONN_HELD) && all_ended(c->ending) && users_seen(w, c->ending)) {
            serve__conn_gone_ending(w, c);
            serve__conn_wake(w, c);
        }
    if (w->held > 0 && w->due > w->now + LOOK)
        w->due = w->now + LOOK;
}
