/*
 * debug.c - DEBUG: what test suites ask for.
 */
#include <signal.h>
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
        "ASSERT, OOM, PANIC, SEGFAULT",
        "    Kill the worker of this connection; another takes its place.",
        "ERROR <string>",
        "    Return a Redis protocol error with <string> as message. Useful for clients",
        "    unit tests to simulate Redis errors.",
        "HTSTATS <dbid>",
        "    Return how many keys a database has.",
        "HTSTATS-KEY <key>",
        "    Return how many elements a key has that Redis would keep in a hash table.",
        "LISTPACK <key>",
        "    Return whether Redis would keep the key as a listpack.",
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
        "QUICKLIST <key> [<0|1>]",
        "    Return whether Redis would keep the key as a quicklist.",
        "SDSLEN <key>",
        "    Return the lengths of a string and of its key.",
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

static int set_expire(struct serve__call *q)
{
    return set_flag(q, &q->w->shared->no_expire, false);
}

static int set_cron(struct serve__call *q)
{
    return set_flag(q, &q->w->shared->no_cron, true);
}

static int set_scripts(struct serve__call *q)
{
    return set_flag(q, &q->w->shared->all_in_scripts, true);
}

static int error(struct serve__call *q)
{
    return serve__fail(q, "%.*s", (int)(q->argv[2].len < 1024 ? q->argv[2].len : 1024), q->argv[2].data);
}

/* The worker is killed, and its clients with it; no transaction is open, and the supervisor makes another. */
static int die(struct serve__call *q)
{
    (void)q;
    raise(SIGKILL);
    return CARET_OK;
}

/* The arguments of one are looked at, though nothing is packed. */
static int packed_threshold(struct serve__call *q)
{
    char text[32];
    uint64_t bytes;
    snprintf(text, sizeof text, "%.*s", (int)q->argv[2].len, q->argv[2].data);
    if (!serve__config_memory(text, &bytes) || bytes > UINT32_MAX)
        return serve__fail(q, "ERR argument must be a memory value bigger than 1 and smaller than 4gb");
    return serve__ok(q);
}

static int reply_buffer(struct serve__call *q)
{
    int64_t ms;
    if (serve__is(&q->argv[2], "resizing"))
        return serve__ok(q);
    if (!serve__is(&q->argv[2], "peak-reset-time"))
        return serve__wrong_subcommand(q);
    if (serve__is(&q->argv[3], "never") || serve__is(&q->argv[3], "reset"))
        return serve__ok(q);
    return serve__arg_integer(q, 3, &ms) == CARET_OK ? serve__ok(q) : SERVE__E_INTEGER;
}

/* What jemalloc would answer of a name that it does not know. */
static int tune(struct serve__call *q)
{
    int64_t n;
    if (q->argc >= 4 && serve__is(&q->argv[1], "mallctl") && serve__arg_integer(q, 3, &n) != CARET_OK)
        return SERVE__E_INTEGER;
    return serve__fail(q, "ERR No such file or directory");
}

/* Everything is on the disk already, so there is nothing to merge or to keep. */
static int reload_with(struct serve__call *q)
{
    for (int i = 2; i < q->argc; i++)
        if (!serve__is(&q->argv[i], "merge") && !serve__is(&q->argv[i], "noflush") &&
            !serve__is(&q->argv[i], "nosave"))
            return serve__fail(q, "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
    return reload(q);
}

enum { ANY = 1 << 20 };

/* The last ones do nothing here. */
static const struct {
    const char *name;
    int least, most; /* arguments, with DEBUG */
    serve__function *run;
    bool atomic;
} subcommands[] = {{"help", 2, 2, help, false},
                   {"sleep", 3, 3, sleep_for, false},
                   {"set-active-expire", 3, 3, set_expire, false},
                   {"pause-cron", 3, 3, set_cron, false},
                   {"set-disable-deny-scripts", 3, 3, set_scripts, false},
                   {"reload", 2, ANY, reload_with, false},
                   {"loadaof", 2, 2, reload, false},
                   {"error", 3, 3, error, false},
                   {"segfault", 2, 2, die, false},
                   {"panic", 2, 2, die, false},
                   {"assert", 2, 3, die, false},
                   {"oom", 2, 2, die, false},
                   {"digest", 2, 2, serve__debug_digest, true},
                   {"digest-value", 2, ANY, serve__debug_values, true},
                   {"object", 3, 3, serve__debug_object, true},
                   {"populate", 3, 5, serve__debug_populate, false},
                   {"config-rewrite-force-all", 2, 2, rewrite_all, false},
                   {"protocol", 3, 3, protocol, false},
                   {"htstats", 3, 3, serve__debug_htstats, true},
                   {"htstats-key", 3, 3, serve__debug_htstats_key, true},
                   {"listpack", 3, 3, serve__debug_listpack, true},
                   {"quicklist", 3, 4, serve__debug_quicklist, true},
                   {"sdslen", 3, 3, serve__debug_sdslen, true},
                   {"structsize", 2, 2, serve__debug_structsize, false},
                   {"quicklist-packed-threshold", 3, 3, packed_threshold, false},
                   {"replybuffer", 4, 4, reply_buffer, false},
                   {"client-eviction", 2, 2, serve__debug_clients, false},
                   {"mallctl", 3, ANY, tune, false},
                   {"mallctl-str", 3, ANY, tune, false},
                   {"leak", 3, 3, serve__ok, false},
                   {"log", 3, 3, serve__ok, false},
                   {"replicate", 4, ANY, serve__ok, false},
                   {"change-repl-id", 2, 2, serve__ok, false},
                   {"aof-flush-sleep", 3, 3, serve__ok, false},
                   {"drop-cluster-packet-filter", 3, 3, serve__ok, false}};

int serve__cmd_debug(struct serve__call *q)
{
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        if (serve__is(&q->argv[1], subcommands[i].name) && q->argc >= subcommands[i].least &&
            q->argc <= subcommands[i].most)
            return subcommands[i].atomic ? serve__atomic(q, subcommands[i].run) : subcommands[i].run(q);
    return serve__wrong_subcommand(q);
}
