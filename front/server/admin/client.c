/*
 * client.c - CLIENT: what a connection says about itself.
 */
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

int serve__cmd_client_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CACHING (YES|NO)",
        "    Track the keys of the next command, or don't, in OPTIN and OPTOUT mode.",
        "GETREDIR",
        "    Return the client ID that invalidations are sent to.",
        "GETNAME",
        "    Return the name of this connection.",
        "ID",
        "    Return the ID of this connection.",
        "INFO",
        "    Return information about this connection.",
        "KILL <ip:port>",
        "    Kill the connection from <ip:port>.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Kill connections. Options are:",
        "    * ADDR (<ip:port>|<unixsocket>:0)",
        "      Connections from this address.",
        "    * LADDR (<ip:port>|<unixsocket>:0)",
        "      Connections to this address.",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Connections of this type.",
        "    * USER <username>",
        "      Connections of this user.",
        "    * SKIPME (YES|NO)",
        "      Not this connection (default: yes).",
        "LIST [options ...]",
        "    Return information about connections. Options:",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Return those of this type.",
        "    * ID <client-id> [<client-id> [...]]",
        "      Return those with these IDs.",
        "UNPAUSE",
        "    End the current pause.",
        "PAUSE <timeout> [WRITE|ALL]",
        "    Suspend all clients, or those that write, for <timeout> milliseconds.",
        "REPLY (ON|OFF|SKIP)",
        "    Answer this connection or don't.",
        "SETNAME <name>",
        "    Give this connection a name.",
        "UNBLOCK <clientid> [TIMEOUT|ERROR]",
        "    End the blocking command of a client.",
        "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
        "         [OPTIN] [OPTOUT] [NOLOOP]",
        "    Tell this connection of changes of the keys that it has read.",
        "TRACKINGINFO",
        "    Return how this connection tracks keys.",
        "NO-EVICT (ON|OFF)",
        "    Protect this connection from eviction.",
        "HELP",
        "    Print this help.",
        NULL};
    return serve__help(q, lines);
}
