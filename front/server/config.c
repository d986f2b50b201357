/*
 * config.c - parameters: config.h.
 */
#include "server/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/config_text.h"
#include "server/meet/notify.h"
#include "server/parse.h"
#include "server/worker.h"

enum kind { BOOL, INTEGER, MEMORY, TEXT, ENUM, EVENTS, LIMITS, SAVES };

static const struct parameter {
    const char *name;
    enum kind kind;
    const char *value;
    int64_t least, most;
    const char *choices;
    unsigned flags;
    int alias;
} table[] = {
#define PARAMETER(id, name, kind, value, least, most, choices, flags, alias)                                 \
    {name, kind, value, least, most, choices, flags, alias},
#include "server/config.def"
#undef PARAMETER
};

_Static_assert((int)SERVE__CFG_COUNT <= (int)SERVE__CONFIG_MAX, "room in shared memory");

const char *serve__config_name(int i)
{
    return table[i].name;
}

int serve__config_find(const char *name, size_t len)
{
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++)
        if (strncasecmp(table[i].name, name, len) == 0 && table[i].name[len] == 0)
            return i;
    return -1;
}

static int resolve(int i)
{
    return table[i].alias >= 0 ? table[i].alias : i;
}

void serve__config_init(struct serve__shared *s)
{
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++)
        snprintf(s->config[i], sizeof s->config[i], "%s", table[i].value);
    s->version = 1;
}

/* ----------------------------------------------------------------- values */

bool serve__config_memory(const char *text, int64_t *n)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    static const struct {
        const char *unit;
        int64_t factor;
    } units[] = {{"", 1},        {"b", 1},        {"k", 1000},       {"kb", 1 << 10},
                 {"m", 1000000}, {"mb", 1 << 20}, {"g", 1000000000}, {"gb", 1 << 30}};
    if ((*text != 0 && (*text < '0' || *text > '9')) || errno != 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(end, units[i].unit) == 0)
            return !__builtin_mul_overflow(value, units[i].factor, n);
    return false;
}

/* The index of a word among "a|b|c"; -1: it is none of them. */
static int64_t choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    int64_t i = 0;
    for (const char *p = choices; p != NULL; p = strchr(p, '|'), p += p != NULL, i++)
        if (strncasecmp(p, text, len) == 0 && (p[len] == '|' || p[len] == 0))
            return i;
    return -1;
}

static const char *one_of(const char *choices)
{
    static char error[256];
    size_t n = (size_t)snprintf(error, sizeof error, "argument(s) must be one of the following: ");
    for (const char *p = choices; *p != 0 && n < sizeof error - 3; p++) {
        error[n++] = *p == '|' ? ',' : *p;
        if (*p == '|')
            error[n++] = ' ';
    }
    error[n] = 0;
    return error;
}

/* The number that a text stands for; NULL, or what is wrong. */
static const char *value_of(const struct parameter *p, const char *text, int64_t *n)
{
    static char error[128];
    *n = 0;
    switch (p->kind) {
    case TEXT:
    case LIMITS:
    case SAVES: return NULL;
    case EVENTS: *n = serve__events_of(text); return NULL;
    case BOOL:
        *n = strcasecmp(text, "yes") == 0;
        return *n || strcasecmp(text, "no") == 0 ? NULL : "argument must be 'yes' or 'no'";
    case ENUM: *n = choice(p->choices, text); return *n >= 0 ? NULL : one_of(p->choices);
    case MEMORY:
        if (!serve__config_memory(text, n))
            return "argument must be a memory value";
        break;
    case INTEGER:
        if (!serve__read_integer(&(caret_slice){text, strlen(text)}, n))
            return "argument couldn't be parsed into an integer";
        break;
    }
    if (*n >= p->least && *n <= p->most)
        return NULL;
    snprintf(error, sizeof error, "argument must be between %" PRId64 " and %" PRId64 " inclusive", p->least,
             p->most);
    return error;
}

static const char *normal(const struct parameter *p, char *text, const char *old)
{
    switch (p->kind) {
    case EVENTS: return serve__events_text(text, old);
    case LIMITS: return serve__limits_text(text, old);
    case SAVES: return serve__saves_text(text, old);
    default: return NULL;
    }
}

const char *serve__config_set(struct serve__shared *s, int i, const char *value, size_t len, bool starting)
{
    char text[SERVE__CONFIG_BYTES];
    int64_t n;
    const struct parameter *p = &table[i = resolve(i)];
    if ((p->flags & SERVE__CFG_IMMUTABLE) && !starting)
        return "can't set immutable config";
    if (len >= sizeof text)
        return "argument is too long";
    memcpy(text, value, len);
    text[len] = 0;
    const char *wrong = normal(p, text, s->config[i]);
    if (wrong == NULL)
        wrong = value_of(p, text, &n);
    if (wrong != NULL)
        return wrong;
    if (p->kind == INTEGER || p->kind == MEMORY)
        snprintf(text, sizeof text, "%" PRId64, n);
    serve__shared_lock(s);
    memcpy(s->config[i], text, sizeof text);
    s->version++;
    serve__shared_unlock(s);
    return NULL;
}

void serve__config_refresh(struct serve__worker *w)
{
    uint64_t version = w->shared->version;
    if (version == w->version)
        return;
    serve__shared_lock(w->shared);
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++) {
        const char *text = w->shared->config[resolve(i)];
        if (w->config.text[i] == NULL || strcmp(w->config.text[i], text) != 0) {
            char *copy = strdup(text);
            if (copy == NULL)
                continue;
            free(w->config.text[i]);
            w->config.text[i] = copy;
        }
        value_of(&table[resolve(i)], w->config.text[i], &w->config.n[i]);
    }
    w->version = w->shared->version;
    serve__shared_unlock(w->shared);
    serve__limits_of(w->config.text[SERVE__CFG_client_output_buffer_limit], w->config.limit);
    serve__notify_configure(w);
}

/* -------------------------------------------------------------- redis.conf */

/* Words from the second on, with a space between: the value. */
static const char *joined(const struct serve__args *args, char *text, size_t cap)
{
    size_t n = 0;
    for (size_t i = 1; i < args->n; i++) {
        int more =
            snprintf(text + n, cap - n, "%s%.*s", i > 1 ? " " : "", (int)args->v[i].len, args->v[i].data);
        if (more < 0 || (size_t)more >= cap - n)
            return NULL;
        n += (size_t)more;
    }
    text[n] = 0;
    return text;
}

bool serve__config_line(struct serve__shared *s, char *line, size_t len, char *error, size_t cap)
{
    struct serve__args args = {0};
    char value[SERVE__CONFIG_BYTES];
    const char *wrong = NULL;
    if (len == 0 || *line == '#')
        return true;
    if (!serve__split_line(line, len, &args))
        wrong = "Unbalanced quotes in configuration line";
    int i = wrong == NULL && args.n > 0 ? serve__config_find(args.v[0].data, args.v[0].len) : -1;
    if (wrong == NULL && args.n > 0) {
        if (i < 0 || args.n < 2 || joined(&args, value, sizeof value) == NULL)
            wrong = "Bad directive or wrong number of arguments";
        else
            wrong = serve__config_set(s, i, value, strlen(value), true);
    }
    if (wrong != NULL)
        snprintf(error, cap, "%s: %.*s", wrong, args.n > 0 ? (int)args.v[0].len : 0,
                 args.n > 0 ? args.v[0].data : "");
    free(args.v);
    return wrong == NULL;
}

bool serve__config_file(struct serve__shared *s, const char *path, char *error, size_t cap)
{
    char line[SERVE__CONFIG_BYTES * 2], wrong[256];
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        snprintf(error, cap, "%s: %s", path, strerror(errno));
        return false;
    }
    bool fine = true;
    for (int n = 1; fine && fgets(line, sizeof line, f) != NULL; n++) {
        size_t len = strcspn(line, "\r\n");
        fine = serve__config_line(s, line, len, wrong, sizeof wrong);
        if (!fine)
            snprintf(error, cap, "%s:%d: %s", path, n, wrong);
    }
    fclose(f);
    return fine;
}
