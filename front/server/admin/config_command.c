/*
 * config_command.c - CONFIG: parameters are config.h's.
 */
#include <stdio.h>
#include <string.h>

#include "server/admin/acl.h"
#include "server/admin/measure.h"
#include "server/config_file.h"
#include "server/dispatch.h"
#include "server/keys/evict.h"
#include "server/relisten.h"
#include "server/worker.h"

/* Redis does not tell of an n beside A in notify-keyspace-events. */
static void answer_value(struct serve__call *q, int i)
{
    serve__config_refresh(q->w);
    const char *text = q->w->config.text[i];
    size_t len = q->w->config.len[i];
    if (i == SERVE__CFG_notify_keyspace_events && *text == 'A' && text[len - 1] == 'n')
        len--;
    serve__bulk(q, text, len);
}

/* The argument that asks for parameter i; NULL: none does. */
static const caret_slice *asked_by(struct serve__call *q, int i)
{
    const char *name = serve__config_name(i);
    bool hidden = serve__config_flags(i) & SERVE__CFG_HIDDEN;
    for (int k = 2; k < q->argc; k++)
        if (hidden ? serve__is(&q->argv[k], name)
                   : serve__glob(q->argv[k].data, q->argv[k].len, name, strlen(name), true))
            return &q->argv[k];
    return NULL;
}

int serve__cmd_config_get(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++) {
        const caret_slice *by = asked_by(q, i);
        if (by == NULL)
            continue;
        if (serve__is(by, serve__config_name(i))) /* a name is told as it was given */
            serve__bulk(q, by->data, by->len);
        else
            serve__text(q, serve__config_name(i));
        answer_value(q, i);
        n++;
    }
    return serve__close_map(q, place, n);
}

/* Why the parameter `one`, of argument i, is not to be set here; NULL: it may be. */
static const char *not_here(const struct serve__call *q, int i, int one)
{
    unsigned flags = serve__config_flags(one);
    if (flags & SERVE__CFG_IMMUTABLE)
        return "can't set immutable config";
    if ((flags & SERVE__CFG_PROTECTED) &&
        !serve__protected_allows(q->w->config.n[SERVE__CFG_enable_protected_configs], q->c))
        return "can't set protected config";
    for (int k = 2; k < i; k += 2)
        if (serve__config_find(q->argv[k].data, q->argv[k].len) == one)
            return "duplicate parameter";
    return NULL;
}

static int set_failed(struct serve__call *q, const char *name, size_t len, const char *why)
{
    return serve__fail(q, "ERR CONFIG SET failed (possibly related to argument '%.*s') - %s", (int)len, name,
                       why);
}

/* All names are known, may be set, and each is there once. */
static int check_names(struct serve__call *q)
{
    for (int i = 2; i < q->argc; i += 2) {
        int one = serve__config_find(q->argv[i].data, q->argv[i].len);
        if (one < 0)
            return serve__fail(q, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                               (int)q->argv[i].len, q->argv[i].data);
        const char *why = not_here(q, i, one);
        if (why != NULL)
            return set_failed(q, q->argv[i].data, q->argv[i].len, why);
    }
    return CARET_OK;
}

/* Set the pairs up to `end`: NULL, or what is wrong with *bad. */
static const char *set_pairs(struct serve__call *q, int end, const caret_slice *values, int *bad)
{
    for (int i = 2; i < end; i += 2) {
        int one = serve__config_find(q->argv[i].data, q->argv[i].len);
        const char *wrong =
            serve__config_set(q->w->shared, one, values[i + 1].data, values[i + 1].len, false);
        *bad = i;
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static int parameter_of(const struct serve__call *q, int i)
{
    return serve__config_find(q->argv[i].data, q->argv[i].len);
}

/* Have certificates and ciphers read, if one of the pairs is about them. */
static const char *use_certificates(struct serve__call *q, int *bad)
{
    char error[512];
    for (*bad = 2; *bad < q->argc; *bad += 2)
        if (serve__tls_parameter(parameter_of(q, *bad)) || parameter_of(q, *bad) == SERVE__CFG_tls_port)
            break;
    if (*bad >= q->argc)
        return NULL;
    const char *why = serve__tls_change(q->w->shared, error, sizeof error);
    if (why == NULL)
        return NULL;
    serve__log("%s", why);
    return "Unable to update TLS configuration. Check server logs.";
}

static bool is_port(int one)
{
    return one == SERVE__CFG_port || one == SERVE__CFG_tls_port || one == SERVE__CFG_bind;
}

/* The first pair from i on that is about what the server listens at; argc: none. */
static int find_port(const struct serve__call *q, int i)
{
    while (i < q->argc && !is_port(parameter_of(q, i)))
        i += 2;
    return i;
}

/* Listen as the pairs say.  The first of them that is about it and new is told to be wrong, as in Redis. */
static const char *use_ports(struct serve__call *q, const caret_slice *old, int *bad)
{
    int i = find_port(q, 2);
    while (i < q->argc && strcmp(old[i + 1].data, q->w->shared->config[parameter_of(q, i)]) == 0)
        i = find_port(q, i + 2);
    if (i >= q->argc || serve__relisten(q->w))
        return NULL;
    *bad = i;
    return parameter_of(q, i) == SERVE__CFG_bind ? "Failed to bind to specified addresses."
                                                 : "Unable to listen on this port. Check server logs.";
}

/* NULL: the pairs are set, and used.  Else none of them is. */
static const char *set_all(struct serve__call *q, caret_slice *old, int *bad)
{
    static char wrong[256];
    int ignored;
    serve__config_refresh(q->w); /* once: what it replaces is freed */
    for (int i = 2; i < q->argc; i += 2) {
        int one = parameter_of(q, i);
        old[i + 1] = (caret_slice){q->w->config.text[one], q->w->config.len[one]};
    }
    const char *why = set_pairs(q, q->argc, q->argv, bad);
    int set = why == NULL ? q->argc : *bad;
    if (why == NULL)
        why = use_certificates(q, bad);
    if (why == NULL)
        why = use_ports(q, old, bad);
    if (why == NULL)
        return NULL;
    snprintf(wrong, sizeof wrong, "%s", why);
    set_pairs(q, set, old, &ignored);
    return wrong;
}

/* All or none: what was set before the one that is wrong gets its old value again. */
int serve__cmd_config_set(struct serve__call *q)
{
    enum { MOST = 2 * SERVE__CFG_COUNT + 2 };
    caret_slice old[MOST];
    int bad = 2, rc = q->argc % 2 != 0 ? SERVE__E_SYNTAX : check_names(q);
    if (rc != CARET_OK)
        return rc;
    bool ports = find_port(q, 2) < q->argc;
    if (ports && !serve__relisten_begin(q->w))
        return serve__fail(q, "ERR CONFIG SET failed - ports are being changed by another client");
    const char *why = set_all(q, old, &bad);
    if (ports)
        serve__relisten_end(q->w);
    if (why == NULL) {
        serve__config_refresh(q->w);
        for (int i = 2; i < q->argc; i += 2)
            if (serve__is(&q->argv[i], "requirepass"))
                serve__acl_requirepass(q->w, q->argv[i + 1]);
            else if (serve__is(&q->argv[i], "maxmemory") && q->w->config.n[SERVE__CFG_maxmemory] != 0)
                serve__memory_full(q); /* keys are evicted now */
            else if (serve__is(&q->argv[i], "slowlog-max-len"))
                serve__slowlog_trim(q->w);
        return serve__ok(q);
    }
    const char *name = serve__config_name(parameter_of(q, bad));
    return set_failed(q, name, strlen(name), why); /* as Redis writes it */
}

int serve__cmd_config_resetstat(struct serve__call *q)
{
    struct serve__shared *s = q->w->shared;
    serve__measures_reset(s);
    for (int i = 0; i < s->nworkers; i++) {
        struct serve__stats *t = &s->stats[i];
        t->accepted = t->refused = t->commands = t->errors = t->bytes_in = t->bytes_out = 0;
        t->hits = t->misses = t->expired_keys = t->evicted_keys = 0;
        for (unsigned c = 0; c < serve__ncommands; c++) {
            struct serve__command_stats *one = &t->command[c];
            one->calls = one->nanoseconds = one->rejected = one->failed = 0;
        }
    }
    return serve__ok(q);
}

int serve__cmd_config_rewrite(struct serve__call *q)
{
    char error[256];
    if (*q->w->shared->config_file == 0)
        return serve__fail(q, "ERR The server is running without a config file");
    serve__config_refresh(q->w);
    const char *wrong =
        serve__config_refused(q->w->shared, error, sizeof error); /* the next start would fail */
    if (wrong == NULL)
        wrong = serve__config_rewrite(q->w, false, error, sizeof error);
    serve__log("CONFIG REWRITE %s", wrong != NULL ? wrong : "executed with success.");
    return wrong == NULL ? serve__ok(q) : serve__fail(q, "ERR Rewriting config file: %s", wrong);
}

int serve__cmd_config_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GET <pattern>",
        "    Return parameters whose names fit the glob-like <pattern>, and their values.",
        "SET <directive> <value>",
        "    Set the configuration <directive> to <value>.",
        "RESETSTAT",
        "    Begin to count anew what INFO tells.",
        "REWRITE",
        "    Write the configuration to the file that it was read from.",
        "HELP",
        "    Print this help.",
        NULL};
    return serve__help(q, lines);
}
