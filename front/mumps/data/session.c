/*
 * session.c - transactions and locks of a session.
 */
#include "mumps/data/data.h"

#include <time.h>

#define MAX_LOCKS 64 /* that are taken together */

int caret_mumps__begin(caret_session *s, int batch, int alone)
{
    int first = caret_txn_level(s) == 0;

    return caret_begin(s, (batch ? CARET_TXN_BATCH : 0) | (alone && first ? CARET_TXN_ALONE : 0));
}

int caret_mumps__commit(caret_session *s)
{
    return caret_commit(s);
}

int caret_mumps__rollback(caret_session *s)
{
    return caret_rollback(s);
}

int caret_mumps__restart(caret_session *s)
{
    return caret_restart(s);
}

double caret_mumps__level(caret_session *s)
{
    return caret_txn_level(s);
}

double caret_mumps__restarts(caret_session *s)
{
    return (double)caret_txn_restarts(s);
}

/* Nanoseconds of M's seconds; negative: no limit. */
static uint64_t nanoseconds(double seconds)
{
    if (seconds < 0)
        return CARET_FOREVER;
    return seconds > 1e9 ? CARET_FOREVER - 1 : (uint64_t)(seconds * 1e9);
}

static struct caret_mumps__locks outside;

void caret_mumps__locks_of(struct caret_mumps__locks locks)
{
    outside = locks;
}

const char *caret_mumps__locks_held(caret_session *s)
{
    return outside.held != NULL ? outside.held(s) : NULL;
}

int caret_mumps__lock(caret_session *s, caret_mumps__place *const *places, size_t count, double seconds)
{
    const caret_node *nodes[MAX_LOCKS];

    if (count > MAX_LOCKS)
        return CARET_E_LIMIT;
    for (size_t i = 0; i < count; i++)
        nodes[i] = (const caret_node *)places[i]->node;
    return (outside.take != NULL ? outside.take : caret_lock_more)(s, nodes, count, nanoseconds(seconds));
}

int caret_mumps__unlock(caret_mumps__place *p)
{
    return (outside.give != NULL ? outside.give : caret_unlock)(p->s, (const caret_node *)p->node);
}

int caret_mumps__unlock_all(caret_session *s)
{
    return caret_unlock_all(s);
}

void caret_mumps__pause(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

const char *caret_mumps__message(void)
{
    return caret_fact();
}
