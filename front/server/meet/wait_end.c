/*
 * wait_end.c - how waits end: answers are taken from the mailbox, time is over, a client goes, a worker dies.
 */
#include <stdlib.h>

#include "server/meet/mail.h"
#include "server/meet/waiters.h"
#include "server/node/lock.h"

enum {
    LOOK = 100,      /* milliseconds between looks at mailbox and keys */
    LOOK_MOST = 200, /* clients whose keys are looked at then */
    SWEEP = 64       /* requests of the dead that one transaction deletes */
};

/* ------------------------------------------------------------------ mailbox */

/* Copy an answer to the output of its client, if that still waits, and delete it. */
static int take_answer(struct serve__call *q, caret_node_buf *n)
{
    int64_t client;
    caret_node_buf part = *n;
    struct serve__blocked *b =
        caret_node_last_as_int(&n->node, &client) ? *serve__waiters_find(q->w->blocking, client) : NULL;
    if (b == NULL)
        return caret_kill(q->s, &n->node);
    size_t mark = serve__reply_mark(&b->c->reply);
    int rc = caret_first(q->s, &part.node);
    while (rc == CARET_OK) {
        caret_slice bytes;
        if ((rc = caret_get(q->s, &part.node, &bytes)) == CARET_OK) {
            serve__buffer_add(&b->c->out, bytes.data, bytes.len);
            rc = caret_next(q->s, &part.node);
        }
    }
    if (rc != CARET_NONE) {
        serve__reply_cut(&b->c->reply, mark);
        return rc;
    }
    rc = serve__waiters_answered(q, b, mark);
    return rc == CARET_OK ? caret_kill(q->s, &n->node) : rc;
}

static int take_answers(struct serve__call *q)
{
    struct serve__blocking *u = q->w->blocking;
    caret_node_buf n;
    int rc = serve__line_answers_node(&u->base.node, &n, &u->me);
    if (rc == CARET_OK)
        rc = caret_first(q->s, &n.node);
    while (rc == CARET_OK)
        if ((rc = take_answer(q, &n)) == CARET_OK)
            rc = caret_next(q->s, &n.node);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Run fn for nobody. */
static int run(struct serve__worker *w, serve__run *fn)
{
    struct serve__call q = {.w = w, .r = &w->run, .s = w->run.s, .now = w->now};
    int rc = serve__atomic_as(&q, fn, CARET_TXN_BATCH);
    if (rc == CARET_OK)
        serve__events_send(&w->run);
    return rc;
}

void serve__letter_wake(struct serve__worker *w, int from, const char *data, size_t len)
{
    (void)from;
    (void)data;
    (void)len;
    run(w, take_answers);
}

/* --------------------------------------------------------- the end of waits */

/* u->ends waits no more: its time is over.  If it was served meanwhile its answer is in the mailbox. */
static int end_one(struct serve__call *q)
{
    struct serve__blocking *u = q->w->blocking;
    struct serve__conn *c = u->ends->c;
    int rc = serve__line_read(q, &u->base.node, u->me.server, (int64_t)c->id, &u->one);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? take_answers(q) : rc;
    size_t mark = serve__reply_mark(&c->reply);
    c->reply.sink->null_array(&c->reply);
    rc = serve__line_delete(q, &u->base.node, &u->one);
    return rc == CARET_OK ? serve__waiters_answered(q, u->ends, mark) : rc;
}

/* The client of u->ends is gone: nobody takes its answer. */
static int drop_one(struct serve__call *q)
{
    struct serve__blocking *u = q->w->blocking;
    caret_node_buf n;
    int rc = serve__line_read(q, &u->base.node, u->me.server, (int64_t)u->ends->c->id, &u->one);
    if (rc == CARET_OK)
        return serve__line_delete(q, &u->base.node, &u->one);
    if (rc == CARET_NONE)
        rc = serve__line_answers_node(&u->base.node, &n, &u->me);
    if (rc == CARET_OK)
        rc = caret_node_child_int(&n.node, sizeof n, &n.node, (int64_t)u->ends->c->id);
    return rc == CARET_OK ? caret_kill(q->s, &n.node) : rc;
}

void serve__conn_gone_blocked(struct serve__worker *w, struct serve__conn *c)
{
    if (c->blocked == NULL)
        return;
    w->blocking->ends = c->blocked;
    run(w, drop_one);
    serve__waiters_stop(w, c->blocked);
}

/* A wait to end: the call, whose transaction it is, and how. */
struct ending {
    struct serve__call q; /* first: it is what the transaction is given */
    uint64_t client;
    bool error, was;
};

static void say_ended(struct serve__call *q, struct serve__reply *to, bool error)
{
    static const char text[] = "UNBLOCKED client unblocked via CLIENT UNBLOCK";
    const struct serve__line_request *x = &q->w->blocking->one;
    if (!error) {
        to->sink->null_array(to);
        return;
    }
    to->sink->error(to, text, sizeof text - 1);
    serve__measure_error(q, text);
    const struct serve__command *cmd = serve__command_find(x->argv[0].data, x->argv[0].len);
    if (cmd != NULL)
        serve__add(&q->w->stats->command[cmd->id].failed, 1);
}

/* It is answered and deleted in one transaction, as a push on another worker may serve it meanwhile. */
static int end_wait(struct serve__call *q)
{
    struct ending *e = (struct ending *)q;
    struct serve__blocking *u = q->w->blocking;
    struct serve__reply out, *to;
    int rc = serve__line_read(q, &u->base.node, u->me.server, (int64_t)e->client, &u->one);
    e->was = rc == CARET_OK;
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    struct serve__blocked *b = serve__waiters_open_answer(q, &out, &to);
    size_t mark = serve__reply_mark(to);
    say_ended(q, to, e->error);
    return serve__waiters_close_answer(q, b, mark);
}

int serve__block_end(struct serve__call *q, uint64_t client, bool error, bool *was)
{
    struct ending e = {.q = *q, .client = client, .error = error};
    int rc = serve__atomic(&e.q, end_wait);
    *was = e.was;
    return rc;
}

/* CLIENT UNBLOCK id [TIMEOUT|ERROR] */
int serve__cmd_client_unblock(struct serve__call *q)
{
    int64_t client;
    bool was, error = q->argc == 4 && serve__is(&q->argv[3], "error");
    if (q->argc > 4)
        return serve__wrong_subcommand(q);
    if (q->argc == 4 && !error && !serve__is(&q->argv[3], "timeout"))
        return serve__fail(q, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    int rc = serve__arg_integer(q, 2, &client);
    if (rc == CARET_OK)
        rc = serve__block_end(q, (uint64_t)client, error, &was);
    if (rc == CARET_OK && !was)
        was = serve__lock_unblock(q, (uint64_t)client, error);
    return rc == CARET_OK ? serve__integer(q, was) : rc;
}

/* ------------------------------------------------------------------- turns */

/* The keys of clients of ours, some each time, as programs that write nodes tell nobody. */
static int look_at_keys(struct serve__call *q)
{
    struct serve__blocking *u = q->w->blocking;
    int left = LOOK_MOST, rc = CARET_OK;
    for (size_t i = 0; rc == CARET_OK && left > 0 && i < SERVE__BUCKETS; i++) {
        struct serve__blocked *b = u->bucket[(u->next_bucket + i) % SERVE__BUCKETS];
        for (; rc == CARET_OK && b != NULL; b = b->chain, left--) {
            struct serve__line_request x = {.argv = NULL};
            rc = serve__line_read(q, &u->base.node, u->me.server, (int64_t)b->c->id, &x);
            for (int k = 0; rc == CARET_OK && k < x.head.n; k++)
                rc = serve__waiters_serve_key(q, x.head.db, x.argv[x.head.first + k]);
            rc = rc == CARET_NONE ? CARET_OK : rc;
            serve__buffer_free(&x.bytes);
            free(x.argv);
        }
        if (left <= 0)
            u->next_bucket = (u->next_bucket + i + 1) % SERVE__BUCKETS;
    }
    return rc;
}

static void look(struct serve__worker *w)
{
    struct serve__blocking *u = w->blocking;
    uint64_t now;
    u->looked = w->now;
    run(w, take_answers);
    if (caret_durable(w->db, NULL, &now) != CARET_OK || (now == u->seen && u->n <= LOOK_MOST))
        return;
    if (run(w, look_at_keys) == CARET_OK)
        u->seen = now;
}

int serve__blocked_turn(struct serve__worker *w, int most)
{
    struct serve__blocking *u = w->blocking;
    while (u->heap_n > 0 && u->heap[0]->until <= w->now) {
        u->ends = u->heap[0];
        size_t before = u->n;
        if (run(w, end_one) != CARET_OK || u->n == before)
            return 10 < most ? 10 : most;
    }
    if (u->n > 0 && (w->now - u->looked >= LOOK || w->now < u->looked))
        look(w);
    int64_t wait = u->heap_n > 0 ? u->heap[0]->until - w->now : most;
    return wait < most ? (int)wait : most;
}

/* ------------------------------------------------------------ begin and end */

/* Delete some requests whose owners are dead.  Their number is left in q->argc. */
static int sweep_requests(struct serve__call *q)
{
    struct serve__blocking *u = q->w->blocking;
    caret_node_buf server, n;
    q->argc = 0;
    int rc = caret_node_child(&server.node, sizeof server, &u->base.node, "w", 1);
    if (rc == CARET_OK)
        rc = caret_first(q->s, &server.node);
    for (; rc == CARET_OK && q->argc < SWEEP; rc = caret_next(q->s, &server.node)) {
        n = server;
        for (rc = caret_first(q->s, &n.node); rc == CARET_OK && q->argc < SWEEP;
             rc = rc == CARET_OK ? caret_next(q->s, &n.node) : rc) {
            caret_slice bytes;
            if ((rc = caret_get(q->s, &n.node, &bytes)) != CARET_OK)
                continue;
            if (!serve__line_unpack(&u->one, bytes))
                rc = caret_kill(q->s, &n.node);
            else if (!serve__line_alive(q->s, &u->base.node, &u->one.head.owner)) {
                rc = serve__line_delete(q, &u->base.node, &u->one);
                q->argc++;
            }
        }
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* And mailboxes of dead owners: what those clients were to get is gone with their connections. */
static int sweep_answers(struct serve__call *q)
{
    struct serve__blocking *u = q->w->blocking;
    caret_node_buf n;
    int rc = caret_node_child(&n.node, sizeof n, &u->base.node, "a", 1);
    while (rc == CARET_OK && (rc = caret_node_next(q->s, &n.node)) == CARET_OK) {
        struct serve__line_owner o;
        caret_node_buf up = n;
        int64_t *subs[] = {&o.birth, &o.worker, &o.server};
        if (caret_node_depth(&n.node) != 6)
            return CARET_OK;
        caret_node_parent(&up.node, sizeof up, &up.node);
        caret_node_parent(&up.node, sizeof up, &up.node);
        n = up;
        for (int i = 0; i < 3; i++) {
            caret_node_last_as_int(&up.node, subs[i]);
            caret_node_parent(&up.node, sizeof up, &up.node);
        }
        if (!serve__line_alive(q->s, &u->base.node, &o))
            rc = caret_kill(q->s, &n.node);
        else
            rc = caret_next(q->s, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

bool serve__blocked_open(struct serve__worker *w)
{
    struct serve__blocking *u = w->blocking = calloc(1, sizeof *u);
    char id[15];
    caret_node_buf n;
    if (u == NULL || caret_session_open(w->db, &u->holder) != CARET_OK)
        return false;
    memcpy(id, w->shared->run_id, 14);
    id[14] = 0;
    u->me = (struct serve__line_owner){(int64_t)strtoull(id, NULL, 16), w->index, serve__line_clock()};
    int rc = caret_node_var(&u->base.node, sizeof u->base, "^redisB", 7);
    if (rc == CARET_OK)
        rc = serve__line_owner_node(&u->base.node, &n, &u->me);
    if (rc == CARET_OK)
        rc = caret_lock(u->holder, &n.node, 0);
    if (rc != CARET_OK)
        return false;
    struct serve__call q = {.w = w, .r = &w->run, .s = w->run.s, .argc = SWEEP};
    while (q.argc == SWEEP)
        if (serve__atomic(&q, sweep_requests) != CARET_OK)
            break;
    run(w, sweep_answers);
    return true;
}

void serve__blocked_close(struct serve__worker *w)
{
    if (w->blocking != NULL)
        caret_session_close(w->blocking->holder);
}
