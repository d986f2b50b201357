/*
 * client.c - CLIENT: names, and the list of those that are connected.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "server/multi.h"
#include "server/worker.h"

int serve__cmd_client_id(struct serve__call *q)
{
    return serve__integer(q, (int64_t)q->c->id);
}

int serve__cmd_client_getname(struct serve__call *q)
{
    return q->c->name != NULL ? serve__text(q, q->c->name) : serve__null(q);
}

int serve__cmd_client_setname(struct serve__call *q)
{
    if (!serve__client_name_valid(&q->argv[2]))
        return serve__fail(q, "ERR Client names cannot contain spaces, newlines or special characters.");
    serve__client_set(&q->c->name, &q->argv[2]);
    return serve__ok(q);
}

/* Of later versions: clients send it as they connect. */
int serve__cmd_client_setinfo(struct serve__call *q)
{
    bool name = serve__is(&q->argv[2], "lib-name");
    if (!name && !serve__is(&q->argv[2], "lib-ver"))
        return serve__fail(q, "ERR Unrecognized option '%.*s'", (int)q->argv[2].len, q->argv[2].data);
    if (!serve__client_name_valid(&q->argv[3]))
        return serve__fail(q, "ERR %s cannot contain spaces, newlines or special characters.",
                           name ? "lib-name" : "lib-ver");
    serve__client_set(name ? &q->c->lib_name : &q->c->lib_ver, &q->argv[3]);
    return serve__ok(q);
}

int serve__cmd_client_no_touch(struct serve__call *q)
{
    if (!serve__is(&q->argv[2], "on") && !serve__is(&q->argv[2], "off"))
        return SERVE__E_SYNTAX;
    return serve__ok(q);
}

int serve__cmd_client_no_evict(struct serve__call *q)
{
    if (serve__is(&q->argv[2], "on"))
        q->c->flags |= SERVE__CONN_NO_EVICT;
    else if (serve__is(&q->argv[2], "off"))
        q->c->flags &= ~(unsigned)SERVE__CONN_NO_EVICT;
    else
        return SERVE__E_SYNTAX;
    return serve__ok(q);
}

int serve__cmd_client_reply(struct serve__call *q)
{
    unsigned off = SERVE__CONN_REPLY_OFF, skip = SERVE__CONN_REPLY_SKIP, next = SERVE__CONN_REPLY_SKIP_NEXT;
    if (serve__is(&q->argv[2], "on")) {
        q->c->flags &= ~(off | skip | next);
        return serve__ok(q);
    }
    if (serve__is(&q->argv[2], "off"))
        q->c->flags |= off;
    else if (!serve__is(&q->argv[2], "skip"))
        return SERVE__E_SYNTAX;
    else if (!(q->c->flags & off))
        q->c->flags |= next;
    return CARET_OK;
}

/* ------------------------------------------------------------------- list */

/* "127.0.0.1:6379"; of a unix socket its path and ":0". */
static void address(const struct sockaddr_storage *a, const char *path, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
    if (a->ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host) != NULL)
        snprintf(text, size, "%s:%u", host, ntohs(v4->sin_port));
    else if (a->ss_family == AF_INET6 && inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host) != NULL)
        snprintf(text, size, "[%s]:%u", host, ntohs(v6->sin6_port));
    else
        snprintf(text, size, "%s:0", path);
}

static void flags_of(const struct serve__conn *c, char *text)
{
    static const struct {
        unsigned flag;
        char letter;
    } letters[] = {{SERVE__CONN_MONITOR, 'O'}, {SERVE__CONN_PUBSUB, 'P'},     {SERVE__CONN_MULTI, 'x'},
                   {SERVE__CONN_BLOCKED, 'b'}, {SERVE__CONN_DIRTY_EXEC, 'd'}, {SERVE__CONN_CLOSE, 'c'},
                   {SERVE__CONN_DEAD, 'A'},    {SERVE__CONN_UNIX, 'U'},       {SERVE__CONN_NO_EVICT, 'e'}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (c->flags & letters[i].flag)
            text[n++] = letters[i].letter;
    if (n == 0)
        text[n++] = 'N';
    text[n] = 0;
}

void serve__client_line(struct serve__worker *w, const struct serve__conn *c, struct serve__buffer *b)
{
    struct sockaddr_storage from = {0}, to = {0};
    socklen_t len = sizeof from;
    char addr[300], laddr[300], flags[16];
    const char *path = w->config.text[SERVE__CFG_unixsocket];
    getpeername(c->source.fd, (struct sockaddr *)&from, &len);
    len = sizeof to;
    getsockname(c->source.fd, (struct sockaddr *)&to, &len);
    address(&from, path, addr, sizeof addr);
    address(&to, path, laddr, sizeof laddr);
    flags_of(c, flags);
    serve__buffer_print(
        b,
        "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%s age=%" PRId64 " idle=%" PRId64
        " flags=%s db=%u sub=0 psub=0 ssub=0 multi=%d qbuf=%zu qbuf-free=%zu argv-mem=0 multi-mem=0 "
        "rbs=0 rbp=0 obl=%zu oll=0 omem=0 tot-mem=%zu events=%s cmd=%s user=default redir=-1 resp=%d",
        c->id, addr, laddr, c->source.fd, c->name != NULL ? c->name : "", (w->now - c->created) / 1000,
        (w->now - c->active) / 1000, flags, c->db, serve__multi_count(c), c->in.len - c->parser.at,
        c->in.cap - c->in.len, c->out.len - c->sent, sizeof *c + c->in.cap + c->out.cap,
        c->flags & SERVE__CONN_WANTS_OUT ? "rw" : "r", c->last != NULL ? c->last->full : "NULL",
        c->reply.protocol);
}

int serve__cmd_client_info(struct serve__call *q)
{
    struct serve__buffer *b = &q->r->work;
    b->len = 0;
    serve__client_line(q->w, q->c, b);
    serve__buffer_add(b, "\n", 1);
    return serve__verbatim(q, "txt", b->data, b->len);
}

/* The kinds that CLIENT LIST TYPE knows. */
static bool of_type(const struct serve__conn *c, const caret_slice *type, bool *known)
{
    *known = serve__is(type, "normal") || serve__is(type, "master") || serve__is(type, "replica") ||
             serve__is(type, "slave") || serve__is(type, "pubsub");
    if (serve__is(type, "pubsub"))
        return (c->flags & SERVE__CONN_PUBSUB) != 0;
    return serve__is(type, "normal") && !(c->flags & SERVE__CONN_PUBSUB);
}

static bool has_id(struct serve__call *q, uint64_t id)
{
    for (int i = 3; i < q->argc; i++) {
        int64_t n;
        if (serve__read_integer(&q->argv[i], &n) && (uint64_t)n == id)
            return true;
    }
    return false;
}

/* The arguments after CLIENT LIST. */
static int list_filter(struct serve__call *q, bool *type, bool *ids)
{
    *type = q->argc == 4 && serve__is(&q->argv[2], "type");
    *ids = q->argc > 3 && serve__is(&q->argv[2], "id");
    bool known = true;
    int64_t n;
    if (q->argc > 2 && !*type && !*ids)
        return SERVE__E_SYNTAX;
    if (*type)
        of_type(q->c, &q->argv[3], &known);
    if (!known)
        return serve__fail(q, "ERR Unknown client type '%.*s'", (int)q->argv[3].len, q->argv[3].data);
    for (int i = 3; *ids && i < q->argc; i++)
        if (!serve__read_integer(&q->argv[i], &n))
            return serve__fail(q, "ERR Invalid client ID");
    return CARET_OK;
}

int serve__cmd_client_list(struct serve__call *q)
{
    bool type, ids, known;
    struct serve__buffer *b = &q->r->work;
    int rc = list_filter(q, &type, &ids);
    if (rc != CARET_OK)
        return rc;
    b->len = 0;
    for (struct serve__conn *c = q->w->conns; c != NULL; c = c->next) {
        if ((type && !of_type(c, &q->argv[3], &known)) || (ids && !has_id(q, c->id)))
            continue;
        serve__client_line(q->w, c, b);
        serve__buffer_add(b, "\n", 1);
    }
    return serve__verbatim(q, "txt", b->data, b->len);
}
