/*
 * connection.c - commands about the connection itself: PING, ECHO, HELLO, AUTH, SELECT, QUIT, RESET.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/admin/acl.h"
#include "server/dispatch.h"
#include "server/worker.h"

int serve__cmd_ping(struct serve__call *q)
{
    if (q->argc > 2)
        return SERVE__E_ARITY;
    if ((q->c->flags & SERVE__CONN_PUBSUB) && q->reply->protocol == 2) {
        serve__array(q, 2);
        serve__text(q, "pong");
        return q->argc == 2 ? serve__bulk(q, q->argv[1].data, q->argv[1].len) : serve__text(q, "");
    }
    return q->argc == 2 ? serve__bulk(q, q->argv[1].data, q->argv[1].len) : serve__status(q, "PONG");
}

int serve__cmd_echo(struct serve__call *q)
{
    return serve__bulk(q, q->argv[1].data, q->argv[1].len);
}

int serve__cmd_select(struct serve__call *q)
{
    int64_t n;
    int rc = serve__arg_between(q, 1, INT32_MIN, INT32_MAX, &n);
    if (rc != CARET_OK)
        return rc;
    if (n < 0 || n >= q->w->config.n[SERVE__CFG_databases])
        return SERVE__E_DBINDEX;
    q->c->db = q->db = (unsigned)n;
    return serve__ok(q);
}

int serve__cmd_quit(struct serve__call *q)
{
    q->c->flags |= SERVE__CONN_CLOSE;
    return serve__ok(q);
}

int serve__cmd_reset(struct serve__call *q)
{
    serve__conn_reset(q->w, q->c);
    return serve__status(q, "RESET");
}

/* ------------------------------------------------------------------- auth */

/* Give user and password: CARET_OK, or the error is answered. */
static int authenticate(struct serve__call *q, const caret_slice *user, const caret_slice *password)
{
    caret_slice name = user != NULL ? *user : (caret_slice){"default", 7};
    if (user == NULL && serve__auth_open())
        return serve__fail(q,
                           "ERR AUTH <password> called without any password configured for the default user. "
                           "Are you sure your configuration is correct?");
    if (!serve__acl_authenticate(q, name, *password))
        return serve__fail(q, "WRONGPASS invalid username-password pair or user is disabled.");
    return CARET_OK;
}

int serve__cmd_auth(struct serve__call *q)
{
    if (q->argc > 3)
        return SERVE__E_SYNTAX;
    int rc = authenticate(q, q->argc == 3 ? &q->argv[1] : NULL, &q->argv[q->argc - 1]);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

/* ------------------------------------------------------------------ hello */

/* Names of clients: no spaces, nothing that can't be printed. */
bool serve__client_name_valid(const caret_slice *name)
{
    for (size_t i = 0; i < name->len; i++)
        if (name->data[i] < '!' || name->data[i] > '~')
            return false;
    return true;
}

void serve__client_set(char **to, const caret_slice *value)
{
    free(*to);
    *to = value->len > 0 ? strndup(value->data, value->len) : NULL;
}

/* Each counts as soon as it is read, as in Redis. */
static int hello_options(struct serve__call *q)
{
    for (int i = 2; i < q->argc; i++) {
        int more = q->argc - i - 1;
        if (serve__is(&q->argv[i], "auth") && more >= 2) {
            int rc = authenticate(q, &q->argv[i + 1], &q->argv[i + 2]);
            if (rc != CARET_OK)
                return rc;
            i += 2;
        } else if (serve__is(&q->argv[i], "setname") && more >= 1) {
            if (!serve__client_name_valid(&q->argv[++i]))
                return serve__fail(q,
                                   "ERR Client names cannot contain spaces, newlines or special characters.");
            serve__client_set(&q->c->name, &q->argv[i]);
        } else {
            return serve__fail(q, "ERR Syntax error in HELLO option '%.*s'", (int)q->argv[i].len,
                               q->argv[i].data);
        }
    }
    return CARET_OK;
}

int serve__cmd_hello(struct serve__call *q)
{
    int64_t version = q->reply->protocol;
    if (q->argc > 1) {
        if (!serve__read_integer(&q->argv[1], &version))
            return serve__fail(q, "ERR Protocol version is not an integer or out of range");
        if (version < 2 || version > 3)
            return serve__fail(q, "NOPROTO unsupported protocol version");
    }
    int rc = hello_options(q);
    if (rc != CARET_OK)
        return rc;
    if (serve__auth_required(q->w, q->c))
        return serve__fail(q,
                           "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                           "HELLO AUTH <user> <pass> option can be used to authenticate the client and "
                           "select the RESP protocol version at the same time");
    serve__conn_protocol(q->c, (int)version);
    serve__map(q, 7);
    serve__text(q, "server");
    serve__text(q, "redis");
    serve__text(q, "version");
    serve__text(q, SERVE__REDIS_VERSION);
    serve__text(q, "proto");
    serve__integer(q, version);
    serve__text(q, "id");
    serve__integer(q, (int64_t)q->c->id);
    serve__text(q, "mode");
    serve__text(q, "standalone");
    serve__text(q, "role");
    serve__text(q, "master");
    serve__text(q, "modules");
    return serve__array(q, 0);
}
