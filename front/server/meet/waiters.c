/*
 * waiters.c - the clients of this worker that wait: by their number, and by when their time is over.
 */
#include "server/meet/waiters.h"

#include <stdlib.h>

#include "server/array.h"

/* ------------------------------------------------------ clients that wait */

struct serve__blocked **serve__waiters_find(struct serve__blocking *u, int64_t client)
{
    struct serve__blocked **p = &u->bucket[(uint64_t)client % SERVE__BUCKETS];
    while (*p != NULL && (*p)->c->id != (uint64_t)client)
        p = &(*p)->chain;
    return p;
}

static void heap_set(struct serve__blocking *u, size_t place, struct serve__blocked *b)
{
    u->heap[place - 1] = b;
    b->place = place;
}

/* Put b where it belongs, from `place` on, which is free. */
static void heap_move(struct serve__blocking *u, size_t place, struct serve__blocked *b)
{
    for (; place > 1 && u->heap[place / 2 - 1]->until > b->until; place /= 2)
        heap_set(u, place, u->heap[place / 2 - 1]);
    for (size_t child; (child = place * 2) <= u->heap_n; place = child) {
        child += child < u->heap_n && u->heap[child]->until < u->heap[child - 1]->until;
        if (u->heap[child - 1]->until >= b->until)
            break;
        heap_set(u, place, u->heap[child - 1]);
    }
    heap_set(u, place, b);
}

static void heap_remove(struct serve__blocking *u, struct serve__blocked *b)
{
    struct serve__blocked *last = u->heap[--u->heap_n];
    if (last != b)
        heap_move(u, b->place, last);
    b->place = 0;
}

bool serve__waiters_room(struct serve__blocking *u)
{
    struct serve__blocked **heap =
        serve__array_room(u->heap, &u->heap_cap, u->heap_n + 1, sizeof(struct serve__blocked *));
    if (heap != NULL)
        u->heap = heap;
    return heap != NULL;
}

void serve__waiters_count(struct serve__worker *w, int by)
{
    serve__add(&w->stats->blocked, (uint64_t)(int64_t)by);
}

void serve__waiters_start(struct serve__worker *w, struct serve__blocked *b)
{
    struct serve__blocking *u = w->blocking;
    struct serve__blocked **p = serve__waiters_find(u, (int64_t)b->c->id);
    b->c->blocked = b;
    b->c->flags |= SERVE__CONN_BLOCKED;
    b->chain = *p;
    *p = b;
    u->n++;
    serve__add(&w->stats->waiting, 1);
    if (b->until != 0) {
        u->heap_n++;
        heap_move(u, u->heap_n, b);
        w->due = b->until < w->due ? b->until : w->due;
    }
}

void serve__waiters_stop(struct serve__worker *w, struct serve__blocked *b)
{
    struct serve__blocking *u = w->blocking;
    *serve__waiters_find(u, (int64_t)b->c->id) = b->chain;
    if (b->place != 0)
        heap_remove(u, b);
    b->c->blocked = NULL;
    b->c->flags &= ~(unsigned)SERVE__CONN_BLOCKED;
    u->n--;
    serve__add(&w->stats->waiting, (uint64_t)-1);
    serve__waiters_count(w, -1);
    free(b);
}

int serve__waiters_answered(struct serve__call *q, struct serve__blocked *b, size_t mark)
{
    struct serve__blocking *u = q->w->blocking;
    struct answered *answered =
        serve__array_room(u->answered, &u->answered_cap, u->answered_n + 1, sizeof *answered);
    if (answered == NULL)
        return CARET_E_NOMEM;
    u->answered = answered;
    u->answered[u->answered_n++] = (struct answered){b, mark};
    q->r->meets |= SERVE__MEETS_DONE;
    return CARET_OK;
}
