/*
 * client_list.c - CLIENT LIST, INFO and KILL: over the clients of all workers (meet/clients.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/meet/clients.h"
#include "server/worker.h"

static void flags_of(const struct serve__client *c, char *text)
{
    static const struct {
        unsigned flag;
        char letter;
    } letters[] = {{SERVE__CONN_MONITOR, 'O'}, {SERVE__CONN_PUBSUB, 'P'},   {SERVE__CONN_MULTI, 'x'},
                   {SERVE__CONN_BLOCKED, 'b'}, {SERVE__CONN_TRACKING, 't'}, {SERVE__CONN_BROKEN, 'R'},
                   {SERVE__CONN_BCAST, 'B'},   {SERVE__CONN_CLOSE, 'c'},    {SERVE__CONN_DEAD, 'A'},
                   {SERVE__CONN_UNIX, 'U'},    {SERVE__CONN_NO_EVICT, 'e'}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (c->flags & letters[i].flag)
            text[n++] = letters[i].letter;
    if (n == 0)
        text[n++] = 'N';
    text[n] = 0;
}

/* An address as it is told: of a unix socket its path and ":0". */
static void address(struct serve__worker *w, const char *addr, char *text, size_t size)
{
    if (*addr != 0)
        snprintf(text, size, "%s", addr);
    else
        snprintf(text, size, "%s:0", w->config.text[SERVE__CFG_unixsocket]);
}

static void line(struct serve__worker *w, const struct serve__client *c, struct serve__buffer *b)
{
    char addr[200], laddr[200], flags[16];
    address(w, c->addr, addr, sizeof addr);
    address(w, c->laddr, laddr, sizeof laddr);
    flags_of(c, flags);
    serve__buffer_print(b, "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%s age=%" PRId64 " idle=%" PRId64,
                        c->id, addr, laddr, c->fd, c->name, (w->now - c->created) / 1000,
                        (w->now - c->active) / 1000);
    serve__buffer_print(
        b, " flags=%s db=%u sub=%u psub=%u ssub=%u multi=%d qbuf=%" PRIu64 " qbuf-free=%" PRIu64, flags,
        c->db, c->subscribed[0], c->subscribed[1], c->subscribed[2], c->multi, c->query, c->query_free);
    serve__buffer_print(
        b,
        " argv-mem=0 multi-mem=%" PRIu64 " rbs=0 rbp=0 obl=0 oll=%d omem=%" PRIu64 " tot-mem=%" PRIu64
        " events=%s cmd=%s user=%s redir=%" PRId64 " resp=%u\n",
        c->queued, c->output > 0, c->output, c->memory, c->flags & SERVE__CONN_WANTS_OUT ? "rw" : "r",
        c->last > 0 ? serve__commands[c->last - 1].full : "NULL", c->user, c->redirect, c->protocol);
}

void serve__client_line(struct serve__worker *w, const struct serve__conn *c, struct serve__buffer *b)
{
    struct serve__client now;
    serve__client_now(w, c, &now);
    line(w, &now, b);
    b->len--;
}

/* ---------------------------------------------------------------- filters */

struct filter {
    const caret_slice *addr, *laddr, *type, *user;
    int64_t id; /* 0: any */
    bool skip_me;
};

static bool is_text(const caret_slice *s, const char *text)
{
    return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

static const char *type_of(const struct serve__client *c)
{
    return c->flags & SERVE__CONN_PUBSUB ? "pubsub" : "normal";
}

/* The kinds that there are: false, if there is none of that name. */
static bool known_type(const caret_slice *type)
{
    return serve__is(type, "normal") || serve__is(type, "master") || serve__is(type, "replica") ||
           serve__is(type, "slave") || serve__is(type, "pubsub");
}

static bool has_type(const struct serve__client *c, const caret_slice *type)
{
    return serve__is(type, type_of(c)) || (serve__is(type, "replica") && strcmp(type_of(c), "slave") == 0);
}

static bool passes(struct serve__call *q, const struct filter *f, const struct serve__client *c)
{
    char addr[200], laddr[200];
    address(q->w, c->addr, addr, sizeof addr);
    address(q->w, c->laddr, laddr, sizeof laddr);
    return (f->addr == NULL || is_text(f->addr, addr)) && (f->laddr == NULL || is_text(f->laddr, laddr)) &&
           (f->type == NULL || has_type(c, f->type)) && (f->user == NULL || is_text(f->user, c->user)) &&
           (f->id == 0 || (uint64_t)f->id == c->id) && !(f->skip_me && c->id == q->c->id);
}

static int unknown_type(struct serve__call *q, const caret_slice *type)
{
    return serve__fail(q, "ERR Unknown client type '%.*s'", (int)(type->len < 128 ? type->len : 128),
                       type->data);
}

/* ------------------------------------------------------------------- list */

int serve__cmd_client_info(struct serve__call *q)
{
    struct serve__buffer *b = &q->r->work;
    size_t n;
    struct serve__client *list = serve__clients(q->w, &n);
    b->len = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].id == q->c->id)
            line(q->w, &list[i], b);
    free(list);
    return serve__verbatim(q, "txt", b->data, b->len);
}

static int by_id(const void *id, const void *client)
{
    uint64_t a = *(const uint64_t *)id, b = ((const struct serve__client *)client)->id;
    return (a > b) - (a < b);
}

/* The lines of the numbers from argument 3 on, in their order. */
static void named_lines(struct serve__call *q, const struct serve__client *list, size_t n,
                        struct serve__buffer *b)
{
    for (int i = 3; i < q->argc; i++) {
        int64_t id;
        const struct serve__client *c = NULL;
        if (serve__read_integer(&q->argv[i], &id))
            c = bsearch(&id, list, n, sizeof *list, by_id);
        if (c != NULL)
            line(q->w, c, b);
    }
}

static int list_filter(struct serve__call *q, struct filter *f, bool *ids)
{
    bool type = q->argc == 4 && serve__is(&q->argv[2], "type");
    *ids = q->argc > 3 && serve__is(&q->argv[2], "id");
    int64_t n;
    if (q->argc > 2 && !type && !*ids)
        return SERVE__E_SYNTAX;
    f->type = type ? &q->argv[3] : NULL;
    if (type && !known_type(f->type))
        return unknown_type(q, f->type);
    for (int i = 3; *ids && i < q->argc; i++)
        if (!serve__read_integer(&q->argv[i], &n))
            return serve__fail(q, "ERR Invalid client ID");
    return CARET_OK;
}

int serve__cmd_client_list(struct serve__call *q)
{
    bool ids;
    size_t n;
    struct filter f = {0};
    struct serve__buffer *b = &q->r->work;
    int rc = list_filter(q, &f, &ids);
    if (rc != CARET_OK)
        return rc;
    struct serve__client *list = serve__clients(q->w, &n);
    b->len = 0;
    if (ids && list != NULL)
        named_lines(q, list, n, b);
    for (size_t i = 0; !ids && i < n; i++)
        if (passes(q, &f, &list[i]))
            line(q->w, &list[i], b);
    free(list);
    return serve__verbatim(q, "txt", b->data, b->len);
}

/* ------------------------------------------------------------------- kill */

static int kill_option(struct serve__call *q, struct filter *f, int i)
{
    const caret_slice *name = &q->argv[i], *value = &q->argv[i + 1];
    if (serve__is(name, "id")) {
        if (!serve__read_integer(value, &f->id) || f->id < 1)
            return serve__fail(q, "ERR client-id should be greater than 0");
    } else if (serve__is(name, "type")) {
        f->type = value;
        if (!known_type(value))
            return unknown_type(q, value);
    } else if (serve__is(name, "addr")) {
        f->addr = value;
    } else if (serve__is(name, "laddr")) {
        f->laddr = value;
    } else if (serve__is(name, "user")) {
        f->user = value;
        if (serve__user_known != NULL ? !serve__user_known(q->w, *value) : !serve__is(value, "default"))
            return serve__fail(q, "ERR No such user '%.*s'", (int)(value->len < 128 ? value->len : 128),
                               value->data);
    } else if (serve__is(name, "skipme")) {
        if (!serve__is(value, "yes") && !serve__is(value, "no"))
            return SERVE__E_SYNTAX;
        f->skip_me = serve__is(value, "yes");
    } else {
        return SERVE__E_SYNTAX;
    }
    return CARET_OK;
}

/* End all that pass: how many. */
static int64_t kill_all(struct serve__call *q, const struct filter *f)
{
    size_t n;
    int64_t killed = 0;
    struct serve__client *list = serve__clients(q->w, &n);
    for (size_t i = 0; i < n; i++) {
        if (!passes(q, f, &list[i]))
            continue;
        killed++;
        if (list[i].id == q->c->id)
            q->c->flags |= SERVE__CONN_CLOSE; /* it gets its answer before */
        else
            serve__client_kill(q->w, q->c, &list[i]);
    }
    free(list);
    return killed;
}

int serve__cmd_client_kill(struct serve__call *q)
{
    struct filter f = {.skip_me = q->argc != 3};
    if (q->argc == 3) {
        f.addr = &q->argv[2];
        return kill_all(q, &f) > 0 ? serve__ok(q) : serve__fail(q, "ERR No such client");
    }
    for (int i = 2; i < q->argc; i += 2) {
        int rc = i + 1 < q->argc ? kill_option(q, &f, i) : SERVE__E_SYNTAX;
        if (rc != CARET_OK)
            return rc;
    }
    return serve__integer(q, kill_all(q, &f));
}
