/*
 * conn.c - connections: reading, running, sending.  conn.h.
 */
#include "server/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/admin/acl.h"
#include "server/admin/measure.h"
#include "server/disk.h"
#include "server/dispatch.h"
#include "server/handoff.h"
#include "server/meet/clients.h"
#include "server/meet/mail.h"
#include "server/meet/tracking.h"
#include "server/pipeline.h"
#include "server/worker.h"

enum {
    READ_BYTES = 64 * 1024,
    SPARE_BYTES = 128 * 1024, /* larger buffers are not kept */
    LATER_BYTES = 16 * 1024   /* longer answers are sent at once */
};

/* ---------------------------------------------------------------- buffers */

static void lend(struct serve__buffer *to, struct serve__buffer *spare)
{
    if (to->data != NULL)
        return;
    *to = *spare;
    *spare = (struct serve__buffer){0};
}

static void give_back(struct serve__buffer *b, struct serve__buffer *spare)
{
    b->len = 0;
    if (spare->data == NULL && b->cap <= SPARE_BYTES && !b->failed)
        *spare = *b;
    else
        serve__buffer_free(b);
    *b = (struct serve__buffer){0};
}

static void lend_all(struct serve__worker *w, struct serve__conn *c)
{
    lend(&c->in, &w->spare_in);
    if (c->out.data == NULL && w->nspare_out > 0)
        c->out = w->spare_out[--w->nspare_out];
    if (c->args.v == NULL) {
        c->args = w->spare_args;
        w->spare_args = (struct serve__args){0};
    }
}

/* Give back what is not needed until the next input: all of it, mostly. */
static void return_input(struct serve__worker *w, struct serve__conn *c)
{
    if (c->parser.at != c->in.len || c->parser.left != 0)
        return;
    c->parser.at = 0;
    c->args.n = 0;
    give_back(&c->in, &w->spare_in);
    if (w->spare_args.v == NULL && c->args.cap <= 4096)
        w->spare_args = c->args;
    else
        serve__args_free(&c->args);
    c->args = (struct serve__args){0};
}

static void return_output(struct serve__worker *w, struct serve__conn *c)
{
    if (c->sent != c->out.len)
        return;
    c->sent = 0;
    if (w->nspare_out == SERVE__UNSENT) {
        serve__buffer_free(&c->out);
        return;
    }
    w->spare_out[w->nspare_out] = (struct serve__buffer){0};
    give_back(&c->out, &w->spare_out[w->nspare_out]);
    w->nspare_out += w->spare_out[w->nspare_out].data != NULL;
}

/* ------------------------------------------------------------ life and end */

void serve__conn_protocol(struct serve__conn *c, int protocol)
{
    c->reply.protocol = protocol;
    c->reply.sink = protocol == 3 ? &serve__resp3 : &serve__resp2;
}

struct serve__conn *serve__conn_new(struct serve__worker *w, int fd, enum serve__way way)
{
    struct serve__conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        close(fd);
        return NULL;
    }
    c->source = (struct serve__source){SERVE__SOURCE_CONN, fd, NULL};
    c->flags = (way == SERVE__WAY_UNIX ? SERVE__CONN_UNIX : 0u) |
               (serve__auth_open() ? SERVE__CONN_AUTHENTICATED : 0u);
    c->id = atomic_fetch_add(&w->shared->next_id, 1);
    c->reply.out = &c->out;
    c->created = c->active = w->now;
    c->parser.bulk = -1;
    serve__conn_protocol(c, 2);
    c->tls = way == SERVE__WAY_TLS ? serve__tls_new(fd) : NULL;
    if ((way == SERVE__WAY_TLS && c->tls == NULL) || !serve__watch(w, &c->source, EPOLLIN)) {
        serve__tls_free(c->tls);
        close(fd);
        free(c);
        return NULL;
    }
    c->next = w->conns;
    c->back = &w->conns;
    if (c->next != NULL)
        c->next->back = &c->next;
    w->conns = c;
    serve__add(&w->stats->connections, 1);
    serve__add(&w->stats->accepted, 1);
    serve__row_begin(w, c);
    return c;
}

static void features_gone(struct serve__worker *w, struct serve__conn *c)
{
    if (serve__conn_gone_multi != NULL)
        serve__conn_gone_multi(w, c);
    if (serve__conn_gone_pubsub != NULL)
        serve__conn_gone_pubsub(w, c);
    if (serve__conn_gone_blocked != NULL)
        serve__conn_gone_blocked(w, c);
    if (serve__conn_gone_tracking != NULL)
        serve__conn_gone_tracking(w, c);
    if (serve__conn_gone_monitor != NULL)
        serve__conn_gone_monitor(w, c);
    if (serve__conn_gone_locks != NULL)
        serve__conn_gone_locks(w, c);
    if (serve__conn_gone_ending != NULL)
        serve__conn_gone_ending(w, c);
    if (serve__conn_gone_acl != NULL)
        serve__conn_gone_acl(w, c);
    if (serve__conn_gone_m != NULL)
        serve__conn_gone_m(w, c);
}

static void take_off(struct serve__conn **list, const struct serve__conn *c)
{
    for (struct serve__conn **p = list; *p != NULL; p = &(*p)->ready_next)
        if (*p == c) {
            *p = c->ready_next;
            break;
        }
}

static void unready(struct serve__worker *w, struct serve__conn *c)
{
    take_off(&w->ready, c);
    take_off(&w->served, c);
    c->flags &= ~(unsigned)SERVE__CONN_READY;
}

static void not_unsent(struct serve__worker *w, struct serve__conn *c)
{
    unsigned i = 0;
    while (w->unsent[i] != c)
        i++;
    w->unsent[i] = NULL;
    c->flags &= ~(unsigned)SERVE__CONN_UNSENT;
}

void serve__conn_free(struct serve__worker *w, struct serve__conn *c)
{
    if (c->flags & SERVE__CONN_AWAY) { /* its script is to end first */
        c->flags |= SERVE__CONN_DEAD;
        return;
    }
    features_gone(w, c);
    serve__client_count(w, c, false);
    serve__disk_forget(w, c);
    if (c->flags & SERVE__CONN_PAUSED)
        serve__add(&w->stats->paused, (uint64_t)-1);
    if (c->flags & SERVE__CONN_READY)
        unready(w, c);
    if (c->flags & SERVE__CONN_UNSENT)
        not_unsent(w, c);
    *c->back = c->next;
    if (c->next != NULL)
        c->next->back = c->back;
    serve__row_end(c);
    serve__tls_free(c->tls);
    /* The socket may be open elsewhere: in a server that it came from, in a child of M's that is about to exec. */
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, c->source.fd, NULL);
    close(c->source.fd);
    serve__buffer_free(&c->in);
    serve__buffer_free(&c->out);
    serve__buffer_free(&c->aside);
    serve__args_free(&c->args);
    free(c->name);
    free(c->lib_name);
    free(c->lib_ver);
    free(c);
    serve__add(&w->stats->connections, (uint64_t)-1);
}

void serve__conn_reset(struct serve__worker *w, struct serve__conn *c)
{
    features_gone(w, c);
    free(c->name);
    c->name = NULL;
    c->db = 0;
    c->flags &= SERVE__CONN_UNIX | SERVE__CONN_READY | SERVE__CONN_AWAY | SERVE__CONN_WANTS_OUT |
                SERVE__CONN_CLOSE | SERVE__CONN_DEAD | SERVE__CONN_UNSAVED | SERVE__CONN_UNSENT |
                SERVE__CONN_NO_EVICT | SERVE__CONN_REPLY_SKIP; /* the last is about RESET's own answer */
    c->flags |= serve__auth_open() ? SERVE__CONN_AUTHENTICATED : 0u;
    serve__conn_protocol(c, 2);
}

void serve__conn_wake(struct serve__worker *w, struct serve__conn *c)
{
    if (c->flags & SERVE__CONN_READY)
        return;
    c->flags |= SERVE__CONN_READY;
    c->ready_next = w->ready;
    w->ready = c;
}

/* ---------------------------------------------------------------- sending */

static void want(struct serve__worker *w, struct serve__conn *c, bool out, bool in)
{
    if (c->tls != NULL) /* T3 of tls.h */
        out = serve__tls_wants_out(c->tls) ||
              (out && !serve__tls_shakes(c->tls) && !serve__tls_waits_for_in(c->tls));
    struct epoll_event e = {.events = (out ? EPOLLOUT : 0u) | (in ? EPOLLIN : 0u), .data.ptr = &c->source};
    epoll_ctl(w->epoll, EPOLL_CTL_MOD, c->source.fd, &e);
    c->flags = out ? c->flags | SERVE__CONN_WANTS_OUT : c->flags & ~(unsigned)SERVE__CONN_WANTS_OUT;
}

void serve__conn_add(struct serve__worker *w, struct serve__conn *c, const char *bytes, size_t len)
{
    if (c->flags & (SERVE__CONN_CLOSE | SERVE__CONN_DEAD))
        return;
    bool away = (c->flags & SERVE__CONN_AWAY) != 0;
    if (serve__output_over(w, c, len + c->aside.len))
        c->flags |= SERVE__CONN_DEAD;
    else
        serve__buffer_add(away ? &c->aside : &c->out, bytes, len);
    serve__conn_wake(w, c);
}

void serve__conn_back(struct serve__conn *c)
{
    c->flags &= ~(unsigned)SERVE__CONN_AWAY;
    serve__buffer_add(&c->out, c->aside.data, c->aside.len);
    c->out.failed |= c->aside.failed;
    serve__buffer_free(&c->aside);
}

/* In Redis the first 16 KiB are in a buffer of the client that no limit counts: a lower one means these. */
static bool exceeds(size_t waiting, uint64_t limit)
{
    enum { UNCOUNTED = 16384 };
    return limit > 0 && waiting > limit && waiting > UNCOUNTED;
}

bool serve__output_over(struct serve__worker *w, struct serve__conn *c, size_t more)
{
    size_t waiting = c->out.len - c->sent + more;
    const struct serve__limit *l = &w->config.limit[(c->flags & SERVE__CONN_PUBSUB) != 0];
    if (exceeds(waiting, l->hard))
        return true;
    if (!exceeds(waiting, l->soft)) {
        c->over_since = 0;
        return false;
    }
    if (c->over_since == 0)
        c->over_since = w->now;
    return w->now - c->over_since > l->seconds * 1000;
}

bool serve__reply_over(const struct serve__call *q)
{
    const struct serve__conn *c = q->c;
    if (c == NULL || q->reply != &c->reply)
        return false;
    uint64_t hard = q->w->config.limit[(c->flags & SERVE__CONN_PUBSUB) != 0].hard;
    return exceeds(c->out.len - c->sent, hard);
}

/* The same through TLS: what OpenSSL waits for is in the flag, or in want(). */
static __attribute__((noinline)) void send_tls(struct serve__worker *w, struct serve__conn *c)
{
    ssize_t n = 1;
    while (n > 0 && c->sent < c->out.len) {
        n = serve__tls_write(c->tls, c->out.data + c->sent, c->out.len - c->sent);
        if (n < 0 && errno != EAGAIN)
            c->flags |= SERVE__CONN_DEAD;
        if (n <= 0)
            break;
        c->sent += (size_t)n;
        serve__add(&w->stats->bytes_out, (uint64_t)n);
    }
    if (serve__tls_wants_out(c->tls))
        c->flags |= SERVE__CONN_WANTS_OUT;
}

static inline void send_plain(struct serve__worker *w, struct serve__conn *c)
{
    while (c->sent < c->out.len) {
        ssize_t n = send(c->source.fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            c->flags |= SERVE__CONN_DEAD;
        if (n <= 0)
            break;
        c->sent += (size_t)n;
        serve__add(&w->stats->bytes_out, (uint64_t)n);
    }
}

void serve__conn_send(struct serve__worker *w, struct serve__conn *c)
{
    if ((w->saves && serve__disk_waits(w, c)) || (c->flags & SERVE__CONN_HELD))
        return;
    if (serve__output_over(w, c, 0)) { /* as in Redis: it gets nothing, even if the kernel had room for it */
        c->sent = c->out.len;
        c->flags |= SERVE__CONN_DEAD;
    }
    if (w->mail_waits)
        serve__mail_send(w);
    if (c->tls != NULL)
        send_tls(w, c);
    else
        send_plain(w, c);
    size_t waiting = c->out.len - c->sent;
    if (c->sent > waiting && waiting > 0) { /* what was sent takes no room */
        memmove(c->out.data, c->out.data + c->sent, waiting);
        c->out.len = waiting;
        c->sent = 0;
    }
    if (c->out.failed || serve__output_over(w, c, 0) || (waiting == 0 && (c->flags & SERVE__CONN_CLOSE)))
        c->flags |= SERVE__CONN_DEAD;
    if (waiting > 0 || (c->flags & SERVE__CONN_WANTS_OUT))
        want(w, c, waiting > 0, waiting < serve__output_high);
}

/* ---------------------------------------------------------------- reading */

static void protocol_error(struct serve__worker *w, struct serve__conn *c)
{
    char text[128];
    int n = snprintf(text, sizeof text, "ERR Protocol error: %s", c->parser.error);
    if (!serve__conn_silent(c))
        c->reply.sink->error(&c->reply, text, (size_t)n);
    c->flags |= SERVE__CONN_CLOSE;
    serve__measure_error_now(w, text);
}

/* May more commands of this connection be run now? */
static bool goes_on(const struct serve__conn *c)
{
    return !(c->flags & (SERVE__CONN_CLOSE | SERVE__CONN_DEAD | SERVE__CONN_BLOCKED | SERVE__CONN_AWAY |
                         SERVE__CONN_HELD)) &&
           !c->out.failed;
}

/* The connection stopped (it is blocked): what comes after `at` is parsed again when it goes on. */
static void unparse(struct serve__conn *c, size_t at)
{
    c->parser.at = at;
    c->parser.left = 0;
    c->parser.bulk = -1;
    c->parser.first = c->args.n = 0;
}

/* The commands that follow and are the one before, byte for byte. */
static void parse_alike(struct serve__conn *c, struct serve__pipeline *batch)
{
    size_t len = batch->end[batch->n - 1] - batch->end[batch->n - 2];
    int argc = batch->argc[batch->n - 1];
    while (batch->n < SERVE__BATCH && serve__parse_again(&c->parser, &c->in, &c->args, len, argc)) {
        batch->first[batch->n] = c->args.n - (size_t)argc;
        batch->argc[batch->n] = argc;
        batch->end[batch->n++] = c->parser.at;
    }
    batch->alike = batch->n;
}

/* Parse up to a batch of commands. */
static enum serve__parsed parse_batch(struct serve__worker *w, struct serve__conn *c,
                                      struct serve__pipeline *batch)
{
    struct serve__parse_limits limits = {w->config.n[SERVE__CFG_proto_max_bulk_len],
                                         serve__auth_required(w, c)};
    while (batch->n < SERVE__BATCH) {
        enum serve__parsed parsed = serve__parse(&c->parser, &c->in, &c->args, &limits,
                                                 &batch->first[batch->n], &batch->argc[batch->n]);
        if (parsed != SERVE__PARSED_COMMAND)
            return parsed;
        batch->end[batch->n++] = c->parser.at;
        if (limits.unauthenticated) /* AUTH may be among them */
            break;
        if (batch->n == 2) /* more of the same, often, or never */
            parse_alike(c, batch);
    }
    return SERVE__PARSED_COMMAND;
}

/* Parse up to a batch of commands, and run them. */
static bool run_batch(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__pipeline batch; /* large: what is not written is not read */
    batch.n = batch.looked_from = batch.looked_to = batch.alike = 0;
    size_t start = c->parser.left > 0 ? c->parser.start : c->parser.at;
    enum serve__parsed parsed = parse_batch(w, c, &batch);
    batch.args = c->args.v;
    unsigned ran = serve__pipeline_run(w, c, &batch);
    if (ran < batch.n)
        unparse(c, ran > 0 ? batch.end[ran - 1] : start);
    else if (parsed == SERVE__PARSED_ERROR && goes_on(c))
        protocol_error(w, c);
    /* What was run is forgotten; of a command that is not complete the arguments move to the front. */
    size_t kept = c->args.n - c->parser.first;
    if (c->parser.first > 0 && kept > 0)
        memmove(c->args.v, c->args.v + c->parser.first, kept * sizeof *c->args.v);
    c->args.n = kept;
    c->parser.first = 0;
    return batch.n > 0 && goes_on(c);
}

/* Run what has come.  A client that does not take its answers gets no more of them: the rest of its input waits, and is
 * gone on with when enough was sent. */
static void run_input(struct serve__worker *w, struct serve__conn *c)
{
    bool more = true;
    while (more && goes_on(c) && c->parser.at < c->in.len) {
        if (!serve__conn_has_room(c))
            serve__conn_send(w, c);
        if (!serve__conn_has_room(c))
            return;
        more = run_batch(w, c) || !serve__conn_has_room(c);
    }
}

/* Move what is not run yet to the front of the buffer. */
static void compact(struct serve__conn *c)
{
    size_t start = c->parser.left > 0 ? c->parser.start : c->parser.at;
    if (start == 0)
        return;
    const char *old = c->in.data + start;
    memmove(c->in.data, old, c->in.len - start);
    serve__parse_moved(&c->args, c->parser.first, old, c->in.data);
    c->in.len -= start;
    c->parser.at -= start;
    c->parser.start = 0;
}

static __attribute__((noinline)) bool make_more_room(struct serve__conn *c, size_t more, bool fit)
{
    uintptr_t old = (uintptr_t)c->in.data;
    if (!(fit ? serve__buffer_grow_to_fit : serve__buffer_grow)(&c->in, more))
        return false;
    serve__parse_moved(&c->args, c->parser.first, (const char *)old, c->in.data);
    return true;
}

/* Room to read to: more than usual for the rest of a large argument, and none for what comes after it, so that a client
 * takes what the argument does (client_memory.c).  One that is there and waits, as its client does, has no rest. */
static inline __attribute__((always_inline)) bool make_room(struct serve__conn *c)
{
    size_t more = READ_BYTES, there = c->in.len - c->parser.at;
    bool large = c->parser.left > 0 && c->parser.bulk > READ_BYTES / 2 && there < (size_t)c->parser.bulk + 2;
    if (large) {
        size_t missing = (size_t)c->parser.bulk + 2 - there;
        more = missing < 2 * c->in.len + READ_BYTES ? missing : 2 * c->in.len + READ_BYTES;
    }
    return c->in.cap - c->in.len >= more || make_more_room(c, more, large);
}

/* Records, as many as OpenSSL has read, or a usual amount of bytes (T1 of tls.h). */
static __attribute__((noinline)) ssize_t read_tls(struct serve__conn *c)
{
    size_t before = c->in.len;
    ssize_t n;
    do {
        if (!make_room(c))
            return 0;
        n = serve__tls_read(c->tls, c->in.data + c->in.len, c->in.cap - c->in.len);
        c->in.len += n > 0 ? (size_t)n : 0;
    } while (n > 0 &&
             (serve__tls_has_more(c->tls) || (n >= READ_BYTES / 8 && c->in.len - before < READ_BYTES)));
    size_t all = c->in.len - before;
    c->in.len = before;
    return all > 0 ? (ssize_t)all : n;
}

static ssize_t read_plain(struct serve__conn *c)
{
    ssize_t n;
    if (!make_room(c))
        return 0;
    do
        n = recv(c->source.fd, c->in.data + c->in.len, c->in.cap - c->in.len, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t read_more(struct serve__worker *w, struct serve__conn *c)
{
    ssize_t n = c->tls == NULL ? read_plain(c) : read_tls(c);
    if (n > 0) {
        c->in.len += (size_t)n;
        c->active = w->now;
        serve__add(&w->stats->bytes_in, (uint64_t)n);
    }
    return n;
}

void serve__conn_settle(struct serve__worker *w, struct serve__conn *c)
{
    bool stalled = !serve__conn_has_room(c);
    serve__row_tell(w, c);
    serve__conn_send(w, c);
    if (stalled && serve__conn_has_room(c))
        serve__conn_wake(w, c);
    if ((c->flags & (SERVE__CONN_DEAD | SERVE__CONN_UNSAVED)) == SERVE__CONN_DEAD) {
        serve__conn_free(w, c);
        return;
    }
    compact(c);
    return_input(w, c);
    return_output(w, c);
    serve__client_count(w, c, true);
    serve__row_write(w, c);
}

void serve__send_unsent(struct serve__worker *w)
{
    unsigned n = w->nunsent;
    w->nunsent = 0;
    for (unsigned i = 0; i < n; i++) {
        struct serve__conn *c = w->unsent[i];
        if (c == NULL)
            continue;
        c->flags &= ~(unsigned)SERVE__CONN_UNSENT;
        if (c != w->serving && !(c->flags & SERVE__CONN_AWAY)) /* else it is sent when it was served */
            serve__conn_settle(w, c);
    }
}

/* Its answer is sent with those of others: conn.h. */
static bool sent_later(struct serve__worker *w, struct serve__conn *c)
{
    const unsigned not =
        SERVE__CONN_CLOSE | SERVE__CONN_DEAD | SERVE__CONN_HELD | SERVE__CONN_UNSAVED | SERVE__CONN_WANTS_OUT;
    size_t waits = c->out.len - c->sent;
    if ((c->flags & not ) || c->tls != NULL || w->saves || waits == 0 || waits > LATER_BYTES || c->out.failed)
        return false;
    compact(c);
    return_input(w, c);
    if (c->flags & SERVE__CONN_UNSENT)
        return true;
    c->flags |= SERVE__CONN_UNSENT;
    w->unsent[w->nunsent++] = c;
    if (w->nunsent == SERVE__UNSENT)
        serve__send_unsent(w);
    return true;
}

void serve__conn_readable(struct serve__worker *w, struct serve__conn *c)
{
    if (c->flags & SERVE__CONN_AWAY)
        return;
    lend_all(w, c);
    if (!(c->flags & SERVE__CONN_CLOSE)) {
        ssize_t n = read_more(w, c);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            c->flags |= SERVE__CONN_DEAD;
        size_t start = c->parser.left > 0 ? c->parser.start : c->parser.at;
        if (c->in.len - start > (size_t)w->config.n[SERVE__CFG_client_query_buffer_limit])
            c->flags |= SERVE__CONN_DEAD;
    }
    serve__conn_serve(w, c);
}

void serve__conn_serve(struct serve__worker *w, struct serve__conn *c)
{
    if (c->flags & SERVE__CONN_AWAY)
        return;
    lend_all(w, c);
    w->stamp = 0;
    if (w->tracked != w->shared->tracked)
        serve__tracking_refresh(w);
    w->serving = c;
    run_input(w, c);
    w->serving = NULL;
    if (c->flags & SERVE__CONN_AWAY) /* its script took long, and has ended now */
        serve__handoff_back(w, c);
    if (!sent_later(w, c))
        serve__conn_settle(w, c);
}
