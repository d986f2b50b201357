/*
 * blocked.c - clients that wait: blocked.h for commands, line.h for the protocol.
 *
 * What a transaction does for clients that wait is kept here until it is committed: which begin to wait, which
 * have their answer in their output, which workers have mail.  A restart forgets it: outputs are cut back.
 *
 *   before the commit   serve__blocked_serve(): for each key that became ready, those in its line
 *   after it            serve__blocked_committed(): they are woken, others get a letter
 *
 * A writer that makes a key ready while the number of blocked clients is 0 notes no name.  After its commit it looks at
 * the number again: if somebody began in between, all lines are gone through (line.h, L3).
 */
#include "server/meet/waiters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/meet/clients.h"
#include "server/meet/mail.h"

/* ------------------------------------------------------------ for commands */

/* `ms` from now on; what no clock will reach is never over. */
static int until_of(struct serve__call *q, int64_t ms, int64_t *until)
{
    if (ms < 0)
        return serve__fail(q, "ERR timeout is negative");
    *until = ms == 0 ? 0 : ms > INT64_MAX - q->now ? INT64_MAX : q->now + ms;
    return CARET_OK;
}

int serve__block_until(struct serve__call *q, int i, int64_t *until)
{
    long double seconds;
    if (!serve__read_long_real(&q->argv[i], &seconds))
        return serve__fail(q, "ERR timeout is not a float or out of range");
    if (fabsl(seconds) * 1000 > (long double)INT64_MAX) /* that is what Redis says */
        return serve__fail(q, "ERR timeout is negative");
    return until_of(q, (int64_t)ceill(seconds * 1000), until);
}

int serve__block_until_ms(struct serve__call *q, int i, int64_t *until)
{
    int64_t ms;
    if (!serve__read_integer(&q->argv[i], &ms))
        return serve__fail(q, "ERR timeout is not an integer or out of range");
    return until_of(q, ms, until);
}

bool serve__block_allowed(const struct serve__call *q)
{
    return q->ready != NULL || (q->c != NULL && caret_txn_level(q->s) <= 1);
}

int serve__block_as(struct serve__call *q, const caret_slice *argv, int argc, int first, int n, int64_t until)
{
    struct serve__blocking *u = q->w->blocking;
    if (q->ready != NULL)
        return CARET_NONE;
    if (!serve__block_allowed(q))
        return serve__null_array(q);
    struct serve__line_head head = {u->me,
                                    (int64_t)q->c->id,
                                    serve__line_clock(),
                                    until,
                                    q->db,
                                    (uint32_t)q->reply->protocol,
                                    argc,
                                    first,
                                    n,
                                    serve__conn_silent(q->c)};
    struct serve__blocked *b = calloc(1, sizeof *b);
    if (b == NULL || !serve__waiters_room(u) || !serve__line_pack(&u->one, &head, argv)) {
        free(b);
        return CARET_E_NOMEM;
    }
    b->c = q->c;
    b->until = until;
    b->silent = serve__conn_silent(q->c);
    u->begins = b;
    q->r->meets |= SERVE__MEETS_DONE;
    serve__waiters_count(q->w, 1); /* before the commit: L3 */
    return serve__line_write(q, &u->base.node, &u->one);
}

int serve__block(struct serve__call *q, int first, int n, int64_t until)
{
    return serve__block_as(q, q->argv, q->argc, first, n, until);
}

/* ---------------------------------------------------------------- answers */

struct serve__blocked *serve__waiters_open_answer(struct serve__call *q, struct serve__reply *out,
                                                  struct serve__reply **to)
{
    struct serve__blocking *u = q->w->blocking;
    const struct serve__line_head *h = &u->one.head;
    struct serve__blocked *b = NULL;
    if (memcmp(&h->owner, &u->me, sizeof u->me) == 0)
        b = *serve__waiters_find(u, h->client);
    u->out.len = 0;
    *out =
        (struct serve__reply){h->protocol == 3 ? &serve__resp3 : &serve__resp2, &u->out, 0, (int)h->protocol};
    *to = b != NULL ? &b->c->reply : out;
    return b;
}

int serve__waiters_close_answer(struct serve__call *q, struct serve__blocked *b, size_t mark)
{
    struct serve__blocking *u = q->w->blocking;
    const struct serve__line_head *h = &u->one.head;
    int rc = serve__line_delete(q, &u->base.node, &u->one);
    if (rc != CARET_OK || b != NULL)
        return rc == CARET_OK ? serve__waiters_answered(q, b, mark) : rc;
    if (u->out.failed)
        return CARET_E_NOMEM;
    rc = serve__line_answer(q, &u->base.node, h, (caret_slice){u->out.data, u->out.len});
    if (h->owner.server == u->me.server)
        u->mail |= (uint64_t)1 << h->owner.worker;
    q->r->meets |= SERVE__MEETS_DONE;
    return rc;
}

/* Is the answer of the command one that ends the wait? */
static bool is_answer(int rc)
{
    return rc == CARET_OK || rc <= SERVE__FAILED || rc == CARET_E_VALUE2BIG;
}

/* The command of u->one took long. */
static void note_slow(struct serve__call *q, uint64_t begin)
{
    struct serve__blocking *u = q->w->blocking;
    uint64_t ns = serve__measure_clock() - begin;
    struct slow_answer *a = serve__measure_is_slow(q, ns) ? calloc(1, sizeof *a) : NULL;
    if (a == NULL)
        return;
    serve__measure_slow(q, ns, &a->entry);
    const struct serve__row *row = u->one.head.owner.server == u->me.server
                                       ? serve__client_row(q->w->shared, (uint64_t)u->one.head.client)
                                       : NULL;
    serve__client_address(q->w, NULL, a->entry.addr, sizeof a->entry.addr);
    if (row != NULL && *row->client.addr != 0)
        snprintf(a->entry.addr, sizeof a->entry.addr, "%s", row->client.addr);
    if (row != NULL)
        snprintf(a->entry.name, sizeof a->entry.name, "%s", row->client.name);
    a->next = u->slow;
    u->slow = a;
}

/* Run the command of u->one, for the key that is its argument `key`. */
static int attempt(struct serve__call *q, int key, bool *served)
{
    struct serve__blocking *u = q->w->blocking;
    struct serve__reply out, *to;
    struct serve__blocked *b = serve__waiters_open_answer(q, &out, &to);
    struct serve__call one = {.w = q->w,
                              .r = q->r,
                              .s = q->s,
                              .reply = to,
                              .cmd = serve__command_find(u->one.argv[0].data, u->one.argv[0].len),
                              .argv = u->one.argv,
                              .argc = u->one.head.argc,
                              .db = u->one.head.db,
                              .now = q->now,
                              .ready = &u->one.argv[key],
                              .mark = serve__reply_mark(to)};
    uint64_t begin = serve__measure_clock();
    *served = false;
    if (one.cmd == NULL || one.cmd->run == NULL)
        return CARET_OK;
    int rc = serve__atomic(&one, one.cmd->run);
    if (rc == CARET_NONE || !is_answer(rc)) {
        serve__reply_cut(to, one.mark);
        return rc == CARET_NONE ? CARET_OK : rc;
    }
    if (rc != CARET_OK) {
        serve__answer_code(&one, rc);
        serve__add(&q->w->stats->command[one.cmd->id].failed, 1);
    }
    *served = true;
    note_slow(&one, begin);
    return serve__waiters_close_answer(q, b, one.mark);
}

/* ------------------------------------------------------------------- lines */

static bool is_alive(struct serve__call *q, const struct serve__line_head *h)
{
    struct serve__blocking *u = q->w->blocking;
    if (memcmp(&h->owner, &u->me, sizeof u->me) == 0) {
        const struct serve__blocked *b = *serve__waiters_find(u, h->client);
        return b != NULL && !(b->c->flags & SERVE__CONN_DEAD); /* CLIENT KILL in this turn */
    }
    return serve__line_alive(q->s, &u->base.node, &h->owner);
}

/* The one at the place `n` of a line is served, or passed over.  CARET_NONE: nor will those after it be. */
static int serve_place(struct serve__call *q, caret_node_buf *n)
{
    struct serve__blocking *u = q->w->blocking;
    struct serve__line_place p;
    struct serve__key k;
    caret_slice value;
    int64_t ticket;
    bool served;
    int rc = caret_get(q->s, &n->node, &value);
    if (rc != CARET_OK || value.len != sizeof p || !caret_node_last_as_int(&n->node, &ticket))
        return rc == CARET_OK || rc == CARET_NONE ? caret_kill(q->s, &n->node) : rc;
    memcpy(&p, value.data, sizeof p);
    rc = serve__line_read(q, &u->base.node, p.server, p.client, &u->one);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (rc == CARET_NONE || u->one.head.ticket != ticket || p.key < 1 || p.key >= u->one.head.argc)
        return caret_kill(q->s, &n->node);
    if (!is_alive(q, &u->one.head))
        return serve__line_delete(q, &u->base.node, &u->one);
    if ((rc = attempt(q, p.key, &served)) != CARET_OK || served)
        return rc;
    unsigned here = q->db;
    q->db = u->one.head.db;
    rc = serve__key_open(q, &k, u->one.argv[p.key], SERVE__ANY);
    q->db = here;
    return rc;
}

/* All that stand in a line: n is its key. */
static int serve_line(struct serve__call *q, caret_node_buf *n)
{
    int rc = caret_first(q->s, &n->node);
    while (rc == CARET_OK) {
        if ((rc = serve_place(q, n)) == CARET_OK)
            rc = caret_next(q->s, &n->node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

int serve__waiters_serve_key(struct serve__call *q, unsigned db, caret_slice name)
{
    caret_node_buf n;
    int rc = serve__line_key_node(q, &q->w->blocking->base.node, &n, db, name);
    return rc == CARET_OK ? serve_line(q, &n) : rc;
}

int serve__waiters_serve_all(struct serve__call *q)
{
    caret_node_buf db, key, line;
    int rc = caret_node_child(&db.node, sizeof db, &q->w->blocking->base.node, "q", 1);
    if (rc == CARET_OK)
        rc = caret_first(q->s, &db.node);
    for (; rc == CARET_OK; rc = caret_next(q->s, &db.node)) {
        key = db;
        for (rc = caret_first(q->s, &key.node); rc == CARET_OK; rc = caret_next(q->s, &key.node)) {
            line = key;
            if ((rc = serve_line(q, &line)) != CARET_OK)
                return rc;
        }
        if (rc != CARET_NONE)
            return rc;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* ------------------------------------------------------ around the commit */

int serve__blocked_serve(struct serve__call *q, size_t from)
{
    struct serve__blocking *u = q->w->blocking;
    if (!serve__anybody_blocked(q->w))
        return CARET_OK;
    for (struct serve__event e; serve__event_at(q->r, &from, &e);) {
        int rc = CARET_OK;
        u->name.len = 0;
        serve__buffer_add(&u->name, e.name.data, e.name.len); /* more events come meanwhile */
        if (e.class == SERVE__EVENT_FLUSHED)
            rc = serve__waiters_serve_all(q);
        else if (e.class == SERVE__EVENT_READY)
            rc = serve__waiters_serve_key(q, e.db, (caret_slice){u->name.data, e.name.len});
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

/* They are told, in the order in which they were served, or never were. */
static void slow_over(struct serve__blocking *u, struct serve__shared *told)
{
    struct slow_answer *turned = NULL, *next;
    for (; u->slow != NULL; u->slow = next) {
        next = u->slow->next;
        u->slow->next = turned;
        turned = u->slow;
    }
    for (; turned != NULL; turned = next) {
        next = turned->next;
        if (told != NULL)
            serve__measure_add_slow(told, &turned->entry);
        free(turned);
    }
}

void serve__blocked_forget(struct serve__runner *r)
{
    struct serve__blocking *u = r->w->blocking;
    slow_over(u, NULL);
    if (u->begins != NULL)
        serve__waiters_count(r->w, -1);
    free(u->begins);
    u->begins = NULL;
    while (u->answered_n > 0) {
        struct answered *a = &u->answered[--u->answered_n];
        serve__reply_cut(&a->b->c->reply, a->mark);
    }
    u->mail = 0;
    r->meets = 0;
}

static void finish(struct serve__worker *w, const struct answered *a)
{
    struct serve__conn *c = a->b->c;
    if (a->b->silent)
        serve__reply_cut(&c->reply, a->mark);
    c->active = w->now;
    serve__waiters_stop(w, a->b);
    serve__conn_wake(w, c);
}

void serve__blocked_committed(struct serve__runner *r)
{
    struct serve__worker *w = r->w;
    struct serve__blocking *u = w->blocking;
    unsigned meets = r->meets;
    r->meets = 0;
    if (u->begins != NULL)
        serve__waiters_start(w, u->begins);
    u->begins = NULL;
    for (size_t i = 0; i < u->answered_n; i++)
        finish(w, &u->answered[i]);
    u->answered_n = 0;
    slow_over(u, w->shared);
    for (int i = 0; u->mail != 0 && i < w->shared->nworkers; i++)
        if (u->mail >> i & 1)
            serve__mail_write(w, i, SERVE__LETTER_wake, NULL, 0, false);
    u->mail = 0;
    if (!(meets & SERVE__MEETS_MISSED))
        return;
    atomic_thread_fence(memory_order_seq_cst);
    if (serve__anybody_blocked(w)) {
        struct serve__call q = {.w = w, .r = r, .s = r->s, .now = w->now};
        serve__atomic(&q, serve__waiters_serve_all);
    }
}
