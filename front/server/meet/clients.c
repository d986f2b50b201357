/*
 * clients.c - rows of clients, and what is asked of their workers: clients.h.
 */
#include "server/meet/clients.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "server/meet/ending.h"
#include "server/meet/mail.h"
#include "server/meet/pubsub.h"
#include "server/multi.h"
#include "server/node/lock.h"

bool serve__rows_make(struct serve__shared *s)
{
    s->row = mmap(NULL, sizeof *s->row * SERVE__ROWS, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return s->row != MAP_FAILED;
}

static void free_row(struct serve__row *r)
{
    r->client.id = 0;
    atomic_store(&r->owner, 0);
}

void serve__rows_free(struct serve__shared *s, int worker)
{
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->row[i].owner == (uint64_t)worker + 1)
            free_row(&s->row[i]);
}

/* All look at the row i from now on. */
static void use(struct serve__shared *s, uint64_t i)
{
    for (uint64_t rows = s->rows; rows <= i;)
        if (atomic_compare_exchange_strong(&s->rows, &rows, i + 1))
            break;
}

/* The first free one, mostly.  It is among those that the supervisor frees before it is ours. */
static struct serve__row *take(struct serve__worker *w)
{
    struct serve__shared *s = w->shared;
    for (uint64_t i = 0; i < SERVE__ROWS; i++) {
        uint64_t none = 0;
        if (s->row[i].owner != 0)
            continue;
        use(s, i);
        if (atomic_compare_exchange_strong(&s->row[i].owner, &none, w->index + 1u))
            return &s->row[i];
    }
    return NULL;
}

/* ------------------------------------------------------------------- ours */

/* "127.0.0.1:6379"; "" of a unix socket. */
static void address(const struct sockaddr_storage *a, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
    *text = 0;
    if (a->ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host) != NULL)
        snprintf(text, size, "%s:%u", host, ntohs(v4->sin_port));
    else if (a->ss_family == AF_INET6 && inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host) != NULL)
        snprintf(text, size, "[%s]:%u", host, ntohs(v6->sin6_port));
}

void serve__client_address(struct serve__worker *w, const struct serve__conn *c, char *text, size_t size)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof from;
    *text = 0;
    if (c != NULL && getpeername(c->source.fd, (struct sockaddr *)&from, &len) == 0)
        address(&from, text, size < 56 ? size : 56);
    if (*text == 0)
        snprintf(text, size, "%s:0", w->config.text[SERVE__CFG_unixsocket]);
}

void serve__row_begin(struct serve__worker *w, struct serve__conn *c)
{
    struct sockaddr_storage from = {0}, to = {0};
    socklen_t len = sizeof from;
    struct serve__row *r = c->row = take(w);
    if (r == NULL)
        return;
    getpeername(c->source.fd, (struct sockaddr *)&from, &len);
    len = sizeof to;
    getsockname(c->source.fd, (struct sockaddr *)&to, &len);
    r->dying = 0;
    memset(&r->client, 0, sizeof r->client);
    address(&from, r->client.addr, sizeof r->client.addr);
    address(&to, r->client.laddr, sizeof r->client.laddr);
    serve__row_write(w, c);
}

static void set_text(char *to, size_t size, const char *text)
{
    if (text == NULL)
        *to = 0;
    else if (strcmp(to, text) != 0)
        snprintf(to, size, "%s", text);
}

static void fill(struct serve__worker *w, const struct serve__conn *c, struct serve__client *to)
{
    to->created = c->created;
    to->active = c->active;
    to->redirect = serve__tracking_redirect != NULL ? serve__tracking_redirect(c) : -1;
    to->query = c == w->serving ? c->in.len : c->in.len - c->parser.at;
    to->query_free = c->in.cap - c->in.len;
    to->output = c->out.len - c->sent;
    to->queued = c->queue != NULL ? c->queue->bytes.cap : 0;
    to->memory = serve__client_memory(c);
    to->fd = c->source.fd;
    to->multi = serve__multi_count(c);
    to->flags = c->flags;
    to->db = c->db;
    to->last = c->last != NULL ? c->last->id + 1 : 0;
    for (int i = 0; i < 3; i++)
        to->subscribed[i] = c->subscriptions != NULL ? c->subscriptions->of[i] : 0;
    to->protocol = (uint32_t)c->reply.protocol;
    to->worker = (uint32_t)w->index;
    set_text(to->name, sizeof to->name, c->name);
    set_text(to->user, sizeof to->user, serve__user_name != NULL ? serve__user_name(c) : "default");
    to->id = c->id;
}

void serve__client_now(struct serve__worker *w, const struct serve__conn *c, struct serve__client *to)
{
    memset(to, 0, sizeof *to);
    if (c->row != NULL)
        *to = c->row->client;
    fill(w, c, to);
}

void serve__row_write(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__row *r = c->row;
    if (r == NULL)
        return;
    uint64_t odd = r->version | 1; /* it is odd already if the owner before died here */
    atomic_store_explicit(&r->version, odd, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    fill(w, c, &r->client);
    atomic_store_explicit(&r->version, odd + 1, memory_order_release);
}

static bool same_text(const char *row, const char *text)
{
    return strcmp(row, text != NULL ? text : "") == 0;
}

void serve__row_tell(struct serve__worker *w, struct serve__conn *c)
{
    const unsigned flags = SERVE__CONN_PUBSUB | SERVE__CONN_TRACKING | SERVE__CONN_MONITOR |
                           SERVE__CONN_NO_EVICT | SERVE__CONN_BLOCKED;
    if (c->row == NULL)
        return;
    const struct serve__client *told = &c->row->client;
    if (((told->flags ^ c->flags) & flags) != 0 || told->db != c->db || !same_text(told->name, c->name) ||
        !same_text(told->user, serve__user_name != NULL ? serve__user_name(c) : "default"))
        serve__row_write(w, c);
}

void serve__row_end(struct serve__conn *c)
{
    if (c->row != NULL)
        free_row(c->row);
    c->row = NULL;
}

struct serve__conn *serve__conn_find(struct serve__worker *w, uint64_t id)
{
    struct serve__conn *c = w->conns;
    while (c != NULL && c->id != id)
        c = c->next;
    return c;
}

/* -------------------------------------------------------------------- all */

struct serve__row *serve__client_row(struct serve__shared *s, uint64_t id)
{
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->row[i].owner != 0 && s->row[i].client.id == id && s->row[i].dying != id)
            return &s->row[i];
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct serve__client *)a)->id, y = ((const struct serve__client *)b)->id;
    return (x > y) - (x < y);
}

/* The owner of a row is in the middle of writing it, and has perhaps no processor: wait for it.  false: long enough;
 * then the row is taken as it is: its owner is stopped. */
static bool wait_for_owner(int tries)
{
    enum { AT_ONCE = 1000, SLEEPS = 100 };
    const struct timespec ms = {0, 1000000};
    if (tries >= AT_ONCE)
        nanosleep(&ms, NULL);
    return tries < AT_ONCE + SLEEPS;
}

/* A row that was taken in the middle of a write: parts of it are old. */
static bool mend(struct serve__client *to)
{
    to->addr[sizeof to->addr - 1] = to->laddr[sizeof to->laddr - 1] = 0;
    to->name[sizeof to->name - 1] = to->user[sizeof to->user - 1] = 0;
    return to->id != 0;
}

/* A copy of a row; false: nobody is there. */
static bool read_row(const struct serve__row *r, struct serve__client *to)
{
    for (int i = 0; wait_for_owner(i); i++) {
        uint64_t version = atomic_load_explicit(&r->version, memory_order_acquire);
        if (r->owner == 0 || r->dying)
            return false;
        *to = r->client;
        atomic_thread_fence(memory_order_acquire);
        if (version % 2 == 0 && atomic_load_explicit(&r->version, memory_order_relaxed) == version)
            return to->id != 0 && to->id != r->dying;
    }
    return mend(to);
}

struct serve__client *serve__clients(struct serve__worker *w, size_t *n)
{
    struct serve__shared *s = w->shared;
    size_t rows = s->rows;
    struct serve__client *list = malloc((rows + 1) * sizeof *list);
    *n = 0;
    if (list == NULL)
        return NULL;
    for (struct serve__conn *c = w->conns; c != NULL; c = c->next)
        serve__row_write(w, c);
    for (size_t i = 0; i < rows; i++)
        if (read_row(&s->row[i], &list[*n]))
            list[(*n)++].row = (uint32_t)i;
    qsort(list, *n, sizeof *list, by_id);
    return list;
}

/* ----------------------------------------------------------------- orders */

struct order {
    uint64_t id;
    uint32_t what, reserved;
};

static void end_ours(struct serve__worker *w, uint64_t id)
{
    struct serve__conn *c = serve__conn_find(w, id);
    if (c == NULL)
        return;
    c->flags |= SERVE__CONN_DEAD;
    if (c->flags & SERVE__CONN_AWAY) /* E5 */
        serve__row_end(c);
    serve__conn_wake(w, c);
}

static void write_order(struct serve__worker *w, int to, uint64_t id, enum serve__order what)
{
    struct order o = {id, what, 0};
    caret_slice part = {(const char *)&o, sizeof o};
    serve__mail_write(w, to, SERVE__LETTER_client, &part, 1, false);
}

void serve__client_tell_ended(struct serve__worker *w, int to)
{
    write_order(w, to, 0, SERVE__ORDER_ENDED);
}

/* An order from another worker.  The answer is sent when the turn ends, in which the connection is. */
static void end_for(struct serve__worker *w, int from, uint64_t id)
{
    end_ours(w, id);
    write_order(w, from, id, SERVE__ORDER_ENDED);
}

void serve__letter_client(struct serve__worker *w, int from, const char *data, size_t len)
{
    struct order o;
    (void)len;
    memcpy(&o, data, sizeof o);
    if (o.what == SERVE__ORDER_KILL)
        end_for(w, from, o.id);
    else if (o.what == SERVE__ORDER_ENDED)
        serve__ending_look(w);
    else if (o.what == SERVE__ORDER_UNLOCK || o.what == SERVE__ORDER_UNLOCK_ERROR)
        serve__lock_end(w, o.id, o.what == SERVE__ORDER_UNLOCK_ERROR);
    else
        serve__pause_look(w);
}

/* From now on it is not listed.  false: nor was it before. */
static bool strike_out(struct serve__shared *s, uint64_t id)
{
    bool first = false;
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->row[i].client.id == id)
            first = atomic_exchange(&s->row[i].dying, id) != id || first;
    return first;
}

bool serve__client_end(struct serve__worker *w, const struct serve__client *client)
{
    bool first = strike_out(w->shared, client->id);
    if ((int)client->worker == w->index)
        end_ours(w, client->id);
    else
        write_order(w, (int)client->worker, client->id, SERVE__ORDER_KILL);
    return first;
}

void serve__client_kill(struct serve__worker *w, struct serve__conn *by, const struct serve__client *client)
{
    serve__client_end(w, client);
    if ((int)client->worker != w->index)
        serve__ending_wait(w, by, client);
}

void serve__client_unblock(struct serve__worker *w, const struct serve__client *client, bool error)
{
    if ((int)client->worker == w->index)
        serve__lock_end(w, client->id, error);
    else
        write_order(w, (int)client->worker, client->id,
                    error ? SERVE__ORDER_UNLOCK_ERROR : SERVE__ORDER_UNLOCK);
}

/* ------------------------------------------------------------------ pause */

enum serve__pause serve__paused(struct serve__worker *w)
{
    uint64_t until = w->shared->pause_until;
    if (until != 0 && until <= (uint64_t)w->now) { /* it is over: nobody has to look at the clock any more */
        atomic_compare_exchange_strong(&w->shared->pause_until, &until, 0);
        until = 0;
    }
    if (until == 0)
        return SERVE__PAUSE_NONE;
    return w->shared->pause_all ? SERVE__PAUSE_ALL : SERVE__PAUSE_WRITE;
}

void serve__pause_look(struct serve__worker *w)
{
    if (serve__paused(w) != SERVE__PAUSE_NONE) {
        if ((int64_t)w->shared->pause_until < w->due)
            w->due = (int64_t)w->shared->pause_until;
        return;
    }
    for (struct serve__conn *c = w->conns; w->stats->paused > 0 && c != NULL; c = c->next)
        if (c->flags & SERVE__CONN_PAUSED) {
            c->flags &= ~(unsigned)(SERVE__CONN_PAUSED | SERVE__CONN_BLOCKED);
            serve__add(&w->stats->paused, (uint64_t)-1);
            serve__conn_wake(w, c);
        }
}

void serve__pause_end(struct serve__worker *w)
{
    struct order o = {0, SERVE__ORDER_UNPAUSE, 0};
    caret_slice part = {(const char *)&o, sizeof o};
    w->shared->pause_until = 0;
    serve__mail_write_all(w, SERVE__LETTER_client, &part, 1, false);
    serve__pause_look(w);
}
