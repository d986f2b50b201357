/*
 * config_file.c - redis.conf is read: config_file.h.
 */
#include "server/config_file.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/acl.h"
#include "server/keys/map.h"
#include "server/parse.h"
#include "server/worker.h"

enum { DEPTH = 16 /* of files that include files */ };

static int depth;
static bool located;    /* what is wrong has its file and line already */
static bool saves_read; /* the first line `save` replaces the default, those after it add to it */

/* ---------------------------------------------------------- what is refused */

struct refusal {
    int parameter;
    const char *allowed, *text;
};

static const struct refusal refusals[] = {
    {SERVE__CFG_replicaof, "",
     "this server does not replicate: take the line out, and bring the data over as "
     "docs/migrating/redis-server.md says"},
    {SERVE__CFG_cluster_enabled, "no",
     "there is no cluster: take the line out; all workers of a server share all keys"},
    {SERVE__CFG_min_replicas_to_write, "0", "there are no replicas to wait for: take the line out"},
    {SERVE__CFG_tls_port, "0",
     "this server was built without TLS: build it where OpenSSL's headers are (libssl-dev), or put stunnel "
     "before it"},
    {SERVE__CFG_syslog_enabled, "no",
     "this server writes its log to standard error or `logfile`: say syslog-enabled no, and let systemd or "
     "logger(1) hand it on"},
};

const char *serve__config_refused(struct serve__shared *s, char *error, size_t cap)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        const char *value = s->config[r->parameter];
        if (strcasecmp(value, r->allowed) == 0 || (r->parameter == SERVE__CFG_tls_port && serve__tls_built()))
            continue;
        snprintf(error, cap, "%s %s: %s", serve__config_name(r->parameter), value, r->text);
        return error;
    }
    if (*s->config[SERVE__CFG_aclfile] != 0 && serve__acl_has_lines())
        return "users are either lines of redis.conf or in an aclfile: take out one of both";
    return serve__tls_lacks(s);
}

/* -------------------------------------------------------------------- lines */

/* Words from the second on, with a space between: the value. */
static bool join(const struct serve__args *args, char *text, size_t cap, size_t *len)
{
    size_t n = 0;
    for (size_t i = 1; i < args->n; i++) {
        if (args->v[i].len + (i > 1) >= cap - n)
            return false;
        if (i > 1)
            text[n++] = ' ';
        memcpy(text + n, args->v[i].data, args->v[i].len);
        n += args->v[i].len;
    }
    text[n] = 0;
    *len = n;
    return true;
}

/* `save 900 1` after `save 300 10` keeps both. */
static const char *add_save(struct serve__shared *s, const char *value)
{
    char both[2 * SERVE__CONFIG_BYTES];
    const char *before = saves_read && *value != 0 ? s->config[SERVE__CFG_save] : "";
    saves_read = true;
    snprintf(both, sizeof both, "%s%s%s", before, *before != 0 ? " " : "", value);
    return serve__config_set(s, SERVE__CFG_save, both, strlen(both), true);
}

static const char *set_parameter(struct serve__shared *s, int i, const char *value, size_t len)
{
    if (i == SERVE__CFG_save)
        return add_save(s, value);
    return serve__config_set(s, i, value, len, true);
}

static const char *refuse(char *error, size_t cap, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, cap, format, list);
    va_end(list);
    return error;
}

static const char *include(struct serve__shared *s, const char *pattern, char *error, size_t cap)
{
    glob_t found;
    const char *wrong = NULL;
    if (depth == DEPTH)
        return "too many files that include files";
    int rc = glob(pattern, 0, NULL, &found);
    if (rc != 0) /* as in Redis: of a name without * and ? there has to be a file */
        return rc == GLOB_NOMATCH && strpbrk(pattern, "*?[") != NULL
                   ? NULL
                   : refuse(error, cap, "%s: %s", pattern, strerror(rc == GLOB_NOMATCH ? ENOENT : EACCES));
    depth++;
    for (size_t i = 0; wrong == NULL && i < found.gl_pathc; i++)
        wrong = serve__config_file(s, found.gl_pathv[i], error, cap) ? NULL : error;
    depth--;
    globfree(&found);
    return wrong;
}

/* A line that is not a parameter's: NULL, or what is wrong; *known tells whether it is one. */
static const char *directive(struct serve__shared *s, const struct serve__args *args, bool *known,
                             char *error, size_t cap)
{
    static const char usage[] = "Bad directive or wrong number of arguments";
    const caret_slice *name = &args->v[0];
    char path[PATH_MAX];
    size_t len;
    *known = true;
    if (serve__is(name, "include"))
        return args->n == 2 && join(args, path, sizeof path, &len) ? include(s, path, error, cap) : usage;
    if (serve__is(name, "rename-command"))
        return args->n == 3 ? serve__command_rename(args->v[1], args->v[2]) : usage;
    if (serve__is(name, "user"))
        return args->n >= 2 ? serve__acl_add_line(args->v, (int)args->n) : usage;
    if (serve__is(name, "map-prefix"))
        return args->n == 4 ? serve__map_add(args->v[1], args->v[2], args->v[3]) : usage;
    if (serve__is(name, "loadmodule"))
        return "there are no modules: take the line out";
    if (serve__is(name, "sentinel"))
        return "sentinel directive while not in sentinel mode";
    *known = false;
    return usage;
}

/* Those that Redis takes without a word, too: a list of nothing. */
static bool may_be_empty(int i)
{
    return i == SERVE__CFG_save || i == SERVE__CFG_bind || i == SERVE__CFG_client_output_buffer_limit ||
           i == SERVE__CFG_latency_tracking_info_percentiles;
}

static const char *line(struct serve__shared *s, const struct serve__args *args, char *error, size_t cap)
{
    char value[SERVE__CONFIG_BYTES];
    size_t len;
    bool known;
    int i = serve__config_find(args->v[0].data, args->v[0].len);
    if (i < 0)
        return directive(s, args, &known, error, cap);
    i = serve__config_resolve(i);
    if ((args->n < 2 && !may_be_empty(i)) || !join(args, value, sizeof value, &len))
        return "Bad directive or wrong number of arguments";
    if (args->n == 1 && (i == SERVE__CFG_client_output_buffer_limit || (i == SERVE__CFG_save && saves_read)))
        return NULL; /* nothing is added */
    if (i == SERVE__CFG_replicaof && args->n == 3 && serve__is(&args->v[1], "no") &&
        serve__is(&args->v[2], "one"))
        len = 0;
    return set_parameter(s, i, value, len);
}

/* false: error says what is wrong.  The text is changed. */
static bool text_line(struct serve__shared *s, char *text, size_t len, char *error, size_t cap)
{
    struct serve__args args = {0};
    char inner[512];
    const char *wrong = NULL;
    bool split = len == 0 || *text == '#' || serve__split_line(text, len, &args);
    if (!split)
        wrong = "Unbalanced quotes in configuration line";
    else if (args.n > 0)
        wrong = line(s, &args, inner, sizeof inner);
    if (wrong != NULL && (located || !split))
        snprintf(error, cap, "%s", wrong);
    else if (wrong != NULL)
        snprintf(error, cap, "%.*s: %s", (int)args.v[0].len, args.v[0].data, wrong);
    free(args.v);
    return wrong == NULL;
}

bool serve__config_file(struct serve__shared *s, const char *path, char *error, size_t cap)
{
    char text[SERVE__CONFIG_BYTES * 2], wrong[600];
    FILE *f = fopen(path, "re");
    if (f == NULL || (depth == 0 && realpath(path, s->config_file) == NULL)) {
        snprintf(error, cap, "%s: %s", path, strerror(errno));
        if (f != NULL)
            fclose(f);
        return false;
    }
    bool fine = true;
    for (int n = 1; fine && fgets(text, sizeof text, f) != NULL; n++) {
        size_t len = strcspn(text, "\r\n"), blank = strspn(text, " \t");
        if (blank >= len)
            continue;
        fine = text_line(s, text + blank, len - blank, wrong, sizeof wrong);
        if (!fine && located)
            snprintf(error, cap, "%s", wrong);
        else if (!fine)
            snprintf(error, cap, "%s:%d: %s", path, n, wrong);
        located = !fine;
    }
    if (fine && ferror(f)) { /* of a folder nothing can be read */
        snprintf(error, cap, "%s: %s", path, strerror(errno));
        fine = false;
    }
    fclose(f);
    return fine;
}

const char *serve__config_option(struct serve__shared *s, const char *name, const char *value)
{
    static char error[600];
    struct serve__args args = {0};
    char words[PATH_MAX];
    bool known = false;
    int i = serve__config_find(name, strlen(name));
    if (i >= 0)
        return set_parameter(s, serve__config_resolve(i), value, strlen(value));
    snprintf(words, sizeof words, "%s %s", name, value);
    const char *wrong = "Unbalanced quotes";
    if (serve__split_line(words, strlen(words), &args))
        wrong = directive(s, &args, &known, error, sizeof error);
    free(args.v);
    return wrong == NULL || known ? wrong : "there is no such option";
}
