/*
 * debug.c - DEBUG: what test suites ask for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/admin/debug.h"
#include "server/config_file.h"
#include "server/worker.h"

/* As Redis reads it: what begins as a number, else 0. */
static int sleep_for(struct serve__call *q)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)q->argv[2].len, q->argv[2].data);
    double seconds = strtod(text, NULL);
    struct timespec t = {0};
    if (seconds > 0 && seconds < 1e9)
        t = (struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
    if (caret_txn_level(q->s) == 0) /* within EXEC nothing expires by the way */
        serve__worker_clock(q->w);
    return serve__ok(q);
}

/* What begins as a number, not 0: the flag is `when_set`. */
static int set_flag(struct serve__call *q, serve__counter *flag, bool when_set)
{
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)q->argv[2].len, q->argv[2].data);
    *flag = (atoi(text) != 0) == when_set;
    return serve__ok(q);
}

/* CONFIG REWRITE with all parameters, also those at their defaults. */
static int rewrite_all(struct serve__call *q)
{
    char error[256];
    serve__config_refresh(q->w);
    const char *wrong = serve__config_rewrite(q->w, true, error, sizeof error);
    return wrong == NULL ? serve__ok(q) : serve__fail(q, "ERR CONFIG-REWRITE-FORCE-ALL failed: %s", wrong);
}

/* Everything is on the disk already that has to be. */
static int reload(struct serve__call *q)
{
    int rc = caret_sync(q->w->db);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

/* An attribute stands before an answer, for those that know of them. */
static int attribute(struct serve__call *q)
{
    if (q->reply->sink == &serve__resp3) {
        q->reply->sink->open(q->reply, SERVE__ATTRIBUTE, 1);
        serve__text(q, "key-popularity");
        serve__array(q, 2);
        serve__text(q, "key:123");
        serve__integer(q, 90);
    }
    return serve__text(q, "Some real reply following the attribute");
}

/* A push is not an answer, so one follows. */
static int push(struct serve__call *q)
{
    if (q->reply->protocol < 3)
        return serve__fail(q, "ERR RESP2 is not supported by this command");
    if (q->reply->sink == &serve__resp3) {
        serve__push(q, 2);
        serve__text(q, "server-cpu-usage");
        serve__integer(q, 42);
    }
    return serve__text(q, "Some real reply following the push reply");
}

static int protocol(struct serve__call *q)
{
    static const char *const kinds[] = {"string", "integer", "double",   "null", "array", "set",   "map",
                                        "attrib", "push",    "verbatim", "true", "false", "bignum"};
    int kind = -1;
    for (int i = 0; i < 13; i++)
        if (serve__is(&q->argv[2], kinds[i]))
            kind = i;
    switch (kind) {
    case 0: return serve__text(q, "Hello World");
    case 1: return serve__integer(q, 12345);
    case 2: return serve__real(q, 3.141);
    case 3: return serve__null(q);
    case 4:
        serve__array(q, 3);
        for (int i = 0; i < 3; i++)
            serve__integer(q, i);
        return CARET_OK;
    case 5:
        serve__set(q, 3);
        for (int i = 0; i < 3; i++)
            serve__integer(q, i);
        return CARET_OK;
    case 6:
        serve__map(q, 3);
        for (int i = 0; i < 3; i++) {
            serve__integer(q, i);
            serve__boolean(q, i == 1);
        }
        return CARET_OK;
    case 7: return attribute(q);
    case 8: return push(q);
    case 9: return serve__verbatim(q, "txt", "This is a verbatim\nstring", 25);
    case 10: return serve__boolean(q, true);
    case 11: return serve__boolean(q, false);
    case 12: q->reply->sink->big(q->reply, "1234567999999999999999999999999999999", 37); return CARET_OK;
    default:
        return serve__fail(q,
                           "ERR Wrong protocol type name. Please use one of the following: "
                           "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
    }
}

/* Redis' words for what is here. */
static int help(struct serve__call *q)
{
    static const char *const lines[] = {
        "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CONFIG-REWRITE-FORCE-ALL",
        "    Write all parameters to the file of the configuration, also those at their defaults.",
        "DIGEST",
        "    Output a hex signature representing the current DB content.",
        "DIGEST-VALUE <key> [<key> ...]",
        "    Output a hex signature of the values of all the specified keys.",
        "ERROR <string>",
        "    Return a Redis protocol error with <string> as message. Useful for clients",
        "    unit tests to simulate Redis errors.",
        "OBJECT <key>",
        "    Show low level info about `key` and associated value.",
        "PAUSE-CRON <0|1>",
        "    Stop periodic cron job processing.",
        "POPULATE <count> [<prefix>] [<size>]",
        "    Make <count> string keys named <prefix>:<num>, `key` if not given, with values of <size> bytes.",
        "PROTOCOL <type>",
        "    Reply with a test value of the specified type. <type> can be: string,",
        "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
        "    true, false.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    Setting it to 0 disables expiring keys in background when they are not",
        "    accessed (otherwise the Redis behavior). Setting it to 1 reenables back the",
        "    default.",
        "SLEEP <seconds>",
        "    Stop the server for <seconds>. Decimals allowed.",
        "HELP",
        "    Prints this help.",
        NULL,
    };
    return serve__help(q, lines);
}

int serve__cmd_debug(struct serve__call *q)
{
    const caret_slice *what = &q->argv[1];
    static const char *const fine[] = {"log",
                                       "jmap",
                                       "quicklist-packed-threshold",
                                       "change-repl-id",
                                       "replicate",
                                       "stringmatch-len",
                                       "replybuffer",
                                       "aof-flush-sleep",
                                       "drop-cluster-packet-filter"};
    if (serve__is(what, "help") && q->argc == 2)
        return help(q);
    if (serve__is(what, "sleep") && q->argc == 3)
        return sleep_for(q);
    if (serve__is(what, "set-active-expire") && q->argc == 3)
        return set_flag(q, &q->w->shared->no_expire, false);
    if (serve__is(what, "pause-cron") && q->argc == 3)
        return set_flag(q, &q->w->shared->no_cron, true);
    if (serve__is(what, "set-disable-deny-scripts") && q->argc == 3)
        return set_flag(q, &q->w->shared->all_in_scripts, true);
    if (serve__is(what, "reload") || serve__is(what, "loadaof") || serve__is(what, "flushall"))
        return reload(q);
    if (serve__is(what, "error") && q->argc == 3)
        return serve__fail(q, "%.*s", (int)(q->argv[2].len < 1024 ? q->argv[2].len : 1024), q->argv[2].data);
    if (serve__is(what, "digest") && q->argc == 2)
        return serve__atomic(q, serve__debug_digest);
    if (serve__is(what, "digest-value") && q->argc >= 2)
        return serve__atomic(q, serve__debug_values);
    if (serve__is(what, "object") && (q->argc == 3 || q->argc == 4))
        return serve__atomic(q, serve__debug_object);
    if (serve__is(what, "populate") && q->argc >= 3 && q->argc <= 5)
        return serve__debug_populate(q);
    if (serve__is(what, "config-rewrite-force-all") && q->argc == 2)
        return rewrite_all(q);
    if (serve__is(what, "protocol") && q->argc == 3)
        return protocol(q);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (serve__is(what, fine[i]) && q->argc <= 4)
            return serve__ok(q);
    return serve__fail(q, "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try DEBUG HELP.",
                       (int)(what->len < 128 ? what->len : 128), what->data);
}
