/*
 * lock.c - CARET.LOCK and CARET.UNLOCK: lock.h.
 */
#include "server/node/lock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/admin/measure.h"
#include "server/array.h"
#include "server/meet/clients.h"
#include "server/meet/mail.h"
#include "server/node/node.h"

enum { LOOK = 100 };
static const char ring[] =
    "DEADLOCK waiting would never end: clients that wait for each other hold this lock";

struct held {
    struct serve__lock_name name;
    uint64_t count;
};

/* Of a connection. */
struct serve__locks {
    caret_session *session;
    struct held *held;
    size_t nheld, cap;
    struct serve__conn *c;
    struct serve__locks *next; /* of those that wait, by ticket */
    bool waits, silent;
    int64_t until;                /* milliseconds since 1970; 0: for ever */
    struct serve__lock_name name; /* that it waits for */
    struct serve__lock_wait *row;
    caret_node_buf *node;
};

static struct serve__lock_name name_of(const caret_slice *parts, int n)
{
    struct serve__lock_name name = {0};
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; k < parts[i].len; k++)
            h = (h ^ (unsigned char)parts[i].data[k]) * 0x100000001b3u;
        h = (h ^ (parts[i].len + 256)) * 0x100000001b3u;
        if (i < n - 1 && i < SERVE__LOCK_ABOVE)
            name.above[name.n++] = h | 1;
    }
    name.hash = h | 1;
    return name;
}

static struct held *held_of(struct serve__locks *l, uint64_t name)
{
    for (size_t i = 0; i < l->nheld; i++)
        if (l->held[i].name.hash == name)
            return &l->held[i];
    return NULL;
}

/* One more of a name that was taken; its count. */
static uint64_t note_held(struct serve__locks *l, const struct serve__lock_name *name)
{
    struct held *h = held_of(l, name->hash);
    if (h == NULL) { /* there is room: make_room() */
        h = &l->held[l->nheld++];
        *h = (struct held){*name, 0};
    }
    return ++h->count;
}

static bool make_room(struct serve__locks *l)
{
    struct held *held = serve__array_room(l->held, &l->cap, l->nheld + 1, sizeof *held);
    if (held != NULL)
        l->held = held;
    return held != NULL;
}

/* The locks of a connection, which is to take one. */
static int locks_of(struct serve__call *q, struct serve__locks **to)
{
    struct serve__locks *l = q->c->locks;
    int rc = CARET_OK;
    if (l == NULL) {
        if ((l = calloc(1, sizeof *l)) == NULL)
            return CARET_E_NOMEM;
        l->c = q->c;
        if ((l->node = malloc(sizeof *l->node)) == NULL)
            rc = CARET_E_NOMEM;
        if (rc == CARET_OK && (rc = caret_session_open(q->w->db, &l->session)) == CARET_OK)
            rc = caret_session_detach(l->session); /* the loop may go on in another thread */
        q->c->locks = l;
    }
    *to = l;
    return rc == CARET_OK && !make_room(l) ? CARET_E_NOMEM : rc;
}

/* ------------------------------------------------------------------ the line */

/* Does any client wait for the name, with an older ticket? */
static bool older_waits(struct serve__worker *w, uint64_t name, uint64_t ticket)
{
    struct serve__shared *s = w->shared;
    for (int i = 0; i < s->nworkers; i++) {
        if (s->stats[i].lock_waits == 0)
            continue;
        for (int k = 0; k < SERVE__LOCK_WAITS; k++) {
            struct serve__lock_wait *one = &s->lock_wait[i][k];
            uint64_t t = atomic_load_explicit(&one->ticket, memory_order_acquire);
            if (t != 0 && t < ticket && atomic_load_explicit(&one->name, memory_order_relaxed) == name)
                return true;
        }
    }
    return false;
}

/* CARET_LOCK_TIMEOUT: not now. */
static int attempt(struct serve__worker *w, struct serve__locks *l, uint64_t name, uint64_t ticket)
{
    if (l->nheld == 0 && older_waits(w, name, ticket))
        return CARET_LOCK_TIMEOUT;
    int rc = caret_lock(l->session, &l->node->node, 0);
    return rc == CARET_DEADLOCK ? CARET_LOCK_TIMEOUT : rc;
}

/* Others may go on: a lock was released, or one that stood before them is gone. */
static void tell_released(struct serve__worker *w)
{
    struct serve__shared *s = w->shared;
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < s->nworkers; i++)
        if (s->stats[i].lock_waits != 0 && i != w->index)
            serve__mail_write(w, i, SERVE__LETTER_lock, NULL, 0, false);
    if (w->lock_first != NULL) {
        w->lock_look = true;
        w->due = w->now;
    }
}

void serve__letter_lock(struct serve__worker *w, int from, const char *data, size_t len)
{
    (void)from, (void)data, (void)len;
    w->lock_look = true;
    w->due = w->now;
}

static struct serve__lock_wait *free_row(struct serve__worker *w)
{
    for (int k = 0; k < SERVE__LOCK_WAITS; k++)
        if (w->shared->lock_wait[w->index][k].ticket == 0)
            return &w->shared->lock_wait[w->index][k];
    return NULL;
}

static void leave_line(struct serve__worker *w, struct serve__locks *l)
{
    struct serve__locks **p = &w->lock_first;
    while (*p != l)
        p = &(*p)->next;
    *p = l->next;
    l->waits = false;
    atomic_store_explicit(&l->row->ticket, 0, memory_order_release);
    serve__add(&w->stats->lock_waits, (uint64_t)-1);
    serve__add(&w->stats->waiting, (uint64_t)-1);
    l->c->flags &= ~(unsigned)SERVE__CONN_BLOCKED;
}

/* What it waits for and holds, for those who look for a ring. */
static void write_row(const struct serve__locks *l)
{
    struct serve__lock_wait *row = l->row;
    row->n_above = l->name.n;
    memcpy(row->above, l->name.above, sizeof row->above);
    row->n_held = row->n_held_above = 0;
    for (size_t i = 0; i < l->nheld && i < SERVE__LOCK_HELD; i++) {
        const struct serve__lock_name *held = &l->held[i].name;
        row->held[row->n_held++] = held->hash;
        for (unsigned k = 0; k < held->n && row->n_held_above < SERVE__LOCK_HELD_ABOVE; k++)
            row->held_above[row->n_held_above++] = held->above[k];
    }
    atomic_store_explicit(&row->name, l->name.hash, memory_order_relaxed);
}

static bool enter_line(struct serve__worker *w, struct serve__locks *l, const struct serve__lock_name *name)
{
    struct serve__locks **p = &w->lock_first;
    if ((l->row = free_row(w)) == NULL)
        return false;
    while (*p != NULL)
        p = &(*p)->next;
    *p = l;
    l->next = NULL;
    l->name = *name;
    l->waits = true;
    l->silent = (l->c->flags & (SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP)) != 0;
    write_row(l);
    atomic_store_explicit(&l->row->ticket, atomic_fetch_add(&w->shared->next_ticket, 1) + 1,
                          memory_order_release);
    serve__add(&w->stats->lock_waits, 1);
    serve__add(&w->stats->waiting, 1);
    atomic_thread_fence(memory_order_seq_cst);
    l->c->flags |= SERVE__CONN_BLOCKED;
    return true;
}

/* ------------------------------------------------------------------- waits */

/* Its wait is over: answer, and go on with its input. */
static void finish(struct serve__worker *w, struct serve__locks *l, int rc)
{
    struct serve__reply *r = &l->c->reply;
    size_t mark = serve__reply_mark(r);
    leave_line(w, l);
    if (rc == CARET_OK) {
        r->sink->integer(r, (int64_t)note_held(l, &l->name));
    } else if (rc == CARET_LOCK_TIMEOUT) {
        r->sink->null(r);
    } else {
        char text[256];
        const char *known = rc == CARET_E_INTERRUPTED ? "UNBLOCKED client unblocked via CLIENT UNBLOCK"
                            : rc == CARET_DEADLOCK    ? ring
                                                      : NULL;
        int n = snprintf(text, sizeof text, "%s%s", known != NULL ? "" : "ERR ",
                         known != NULL ? known : caret_fact());
        r->sink->error(r, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
        serve__measure_error_now(w, text);
    }
    if (l->silent)
        serve__reply_cut(r, mark);
    l->c->active = w->now;
    serve__conn_wake(w, l->c);
}

/* Names that were seen in this turn: whoever waits for one of them is not the first.  Open addressing. */
static bool seen_before(uint64_t seen[2 * SERVE__LOCK_WAITS], uint64_t name)
{
    size_t at = name % (2 * SERVE__LOCK_WAITS);
    while (seen[at] != 0 && seen[at] != name)
        at = (at + 1) % (2 * SERVE__LOCK_WAITS);
    bool before = seen[at] == name;
    seen[at] = name;
    return before;
}

static void try_all(struct serve__worker *w)
{
    static _Thread_local uint64_t seen[2 * SERVE__LOCK_WAITS];
    memset(seen, 0, sizeof seen);
    for (struct serve__locks *l = w->lock_first, *next; l != NULL; l = next) {
        next = l->next;
        if (seen_before(seen, l->name.hash) && l->nheld == 0)
            continue;
        int rc = attempt(w, l, l->name.hash, l->row->ticket);
        if (rc == CARET_LOCK_TIMEOUT && l->nheld > 0 && serve__lock_ring(w->shared, l->row))
            rc = CARET_DEADLOCK;
        if (rc != CARET_LOCK_TIMEOUT)
            finish(w, l, rc);
    }
}

int serve__locks_turn(struct serve__worker *w, int most)
{
    if (w->lock_first == NULL)
        return most;
    if (w->lock_look || w->now - w->lock_looked >= LOOK || w->now < w->lock_looked) {
        w->lock_look = false;
        w->lock_looked = w->now;
        try_all(w);
    }
    bool gone = false;
    int64_t wait = LOOK;
    for (struct serve__locks *l = w->lock_first, *next; l != NULL; l = next) {
        next = l->next;
        if (l->until != 0 && l->until <= w->now) {
            finish(w, l, CARET_LOCK_TIMEOUT);
            gone = true;
        } else if (l->until != 0 && l->until - w->now < wait) {
            wait = l->until - w->now;
        }
    }
    if (gone)
        tell_released(w);
    return wait < most ? (int)wait : most;
}

void serve__locks_open(struct serve__worker *w)
{
    w->stats->lock_waits = 0;
    for (int k = 0; k < SERVE__LOCK_WAITS; k++)
        if (w->shared->lock_wait[w->index][k].ticket != 0)
            w->shared->lock_wait[w->index][k].ticket = 0;
}

bool serve__locks_idle(const struct serve__conn *c)
{
    return c->locks == NULL || (c->locks->nheld == 0 && !c->locks->waits);
}

void serve__conn_gone_locks(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__locks *l = c->locks;
    if (l == NULL)
        return;
    if (l->waits)
        leave_line(w, l);
    caret_session_close(l->session);
    free(l->node);
    free(l->held);
    free(l);
    c->locks = NULL;
    tell_released(w);
}

/* ---------------------------------------------------------------- unblock */

void serve__lock_end(struct serve__worker *w, uint64_t client, bool error)
{
    struct serve__locks *l = w->lock_first;
    while (l != NULL && l->c->id != client)
        l = l->next;
    if (l == NULL)
        return;
    finish(w, l, error ? CARET_E_INTERRUPTED : CARET_LOCK_TIMEOUT);
    tell_released(w);
}

bool serve__lock_unblock(struct serve__call *q, uint64_t client, bool error)
{
    struct serve__row *row = serve__client_row(q->w->shared, client);
    const struct serve__command *lock = serve__command_find("caret.lock", 10);
    if (row == NULL || !(row->client.flags & SERVE__CONN_BLOCKED) || row->client.last != lock->id + 1)
        return false;
    serve__client_unblock(q->w, &row->client, error);
    return true;
}

/* ---------------------------------------------------------------- commands */

static int read_within(struct serve__call *q, const caret_slice *text, bool *wait, int64_t *until)
{
    long double seconds;
    *wait = true;
    *until = 0;
    if (text->data == NULL)
        return CARET_OK;
    if (!serve__read_long_real(text, &seconds))
        return serve__fail(q, "ERR timeout is not a float or out of range");
    if (seconds < 0)
        return serve__fail(q, "ERR timeout is negative");
    *wait = seconds > 0;
    *until = seconds > 1e12L ? INT64_MAX : q->now + (int64_t)ceill(seconds * 1000);
    return CARET_OK;
}

/* It is not free: wait. */
static int wait_for(struct serve__call *q, struct serve__locks *l, const struct serve__lock_name *name)
{
    if (!enter_line(q->w, l, name))
        return serve__fail(q, "ERR too many clients of this worker wait for locks");
    int rc = attempt(q->w, l, name->hash, l->row->ticket);
    if (rc == CARET_LOCK_TIMEOUT && l->nheld > 0 && serve__lock_ring(q->w->shared, l->row)) {
        leave_line(q->w, l);
        return serve__fail(q, ring);
    }
    if (rc == CARET_LOCK_TIMEOUT) {
        q->w->due = q->w->now + LOOK < q->w->due ? q->w->now + LOOK : q->w->due;
        if (l->until != 0 && l->until < q->w->due)
            q->w->due = l->until;
        return CARET_OK; /* the answer comes later */
    }
    leave_line(q->w, l);
    return rc == CARET_OK ? serve__integer(q, (int64_t)note_held(l, name)) : rc;
}

/* CARET.LOCK [WITHIN seconds] name [sub ...] */
int serve__cmd_caret_lock(struct serve__call *q)
{
    struct serve__node_options o;
    struct serve__locks *l;
    bool wait;
    int64_t until;
    int rc = serve__node_options(q, SERVE__NODE_WITHIN, &o);
    if (rc == CARET_OK)
        rc = read_within(q, &o.within, &wait, &until);
    if (rc == CARET_OK)
        rc = locks_of(q, &l);
    if (rc == CARET_OK)
        rc = serve__node_to_lock(q, l->node, o.name, q->argc);
    if (rc != CARET_OK)
        return rc;
    struct serve__lock_name name = name_of(q->argv + o.name, q->argc - o.name);
    l->until = until;
    rc = attempt(q->w, l, name.hash, UINT64_MAX);
    if (rc == CARET_OK)
        return serve__integer(q, (int64_t)note_held(l, &name));
    if (rc != CARET_LOCK_TIMEOUT)
        return rc;
    return wait ? wait_for(q, l, &name) : serve__null(q);
}

static int unlock_all(struct serve__call *q, struct serve__locks *l)
{
    int64_t n = l != NULL ? (int64_t)l->nheld : 0;
    int rc = n > 0 ? caret_unlock_all(l->session) : CARET_OK;
    if (rc != CARET_OK)
        return rc;
    if (n > 0) {
        l->nheld = 0;
        tell_released(q->w);
    }
    return serve__integer(q, n);
}

/* CARET.UNLOCK [name [sub ...]] */
int serve__cmd_caret_unlock(struct serve__call *q)
{
    struct serve__locks *l = q->c->locks;
    caret_node_buf n;
    if (q->argc == 1)
        return unlock_all(q, l);
    int rc = serve__node_of(q, &n, 1, q->argc);
    if (rc != CARET_OK)
        return rc;
    struct held *h = l != NULL ? held_of(l, name_of(q->argv + 1, q->argc - 1).hash) : NULL;
    if (h == NULL)
        return serve__integer(q, 0);
    if ((rc = caret_unlock(l->session, &n.node)) != CARET_OK)
        return rc;
    if (--h->count == 0) {
        *h = l->held[--l->nheld];
        tell_released(q->w);
    }
    return serve__integer(q, 1);
}
