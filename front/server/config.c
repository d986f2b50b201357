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
#include "server/keys/access.h"
#include "server/meet/notify.h"
#include "server/parse.h"
#include "server/worker.h"

static const struct parameter {
    const char *name;
    enum serve__config_kind kind;
    const char *value;
    int64_t least, most;
    const char *choices;
    unsigned flags;
    int alias;
} table[] = {
#define PARAMETER(id, name, kind, value, least, most, choices, flags, alias)                                 \
    {name, SERVE__KIND_##kind, value, least, most, choices, flags, alias},
#include "server/config.def"
#undef PARAMETER
};

_Static_assert((int)SERVE__CFG_COUNT <= (int)SERVE__CONFIG_MAX, "room in shared memory");

const char *serve__config_name(int i)
{
    return table[i].name;
}

unsigned serve__config_flags(int i)
{
    return table[i].flags;
}

int serve__config_find(const char *name, size_t len)
{
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++)
        if (strncasecmp(table[i].name, name, len) == 0 && table[i].name[len] == 0)
            return i;
    return -1;
}

int serve__config_resolve(int i)
{
    return table[i].alias >= 0 ? table[i].alias : i;
}

enum serve__config_kind serve__config_kind(int i)
{
    return table[i].kind;
}

const char *serve__config_default(int i)
{
    return table[i].value;
}

void serve__config_init(struct serve__shared *s)
{
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++)
        snprintf(s->config[i], sizeof s->config[i], "%s", table[i].value);
    s->version = 1;
}

caret_slice serve__config_value(const struct serve__shared *s, int i)
{
    const char *text = s->config[i];
    return (caret_slice){text, table[i].kind == SERVE__KIND_BYTES ? s->config_len[i] : strlen(text)};
}

/* ----------------------------------------------------------------- values */

bool serve__config_memory(const char *text, uint64_t *n)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {{"", 1},        {"b", 1},        {"k", 1000},       {"kb", 1 << 10},
                 {"m", 1000000}, {"mb", 1 << 20}, {"g", 1000000000}, {"gb", 1 << 30}};
    const char *unit = text + strspn(text, "0123456789");
    uint64_t value = strtoull(text, NULL, 10);
    for (size_t i = 0; *text != '-' && i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i].unit) == 0) {
            *n = value * units[i].factor;
            return true;
        }
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

/* The word i among "a|b|c", or "". */
static int word_len(const char **choices, int64_t i)
{
    for (; i > 0 && *choices != NULL; i--)
        *choices = strchr(*choices, '|') != NULL ? strchr(*choices, '|') + 1 : NULL;
    return *choices != NULL ? (int)strcspn(*choices, "|") : 0;
}

/* Words among "none|a|b", with a space between: bit i - 1 for that at i.  -1: there is another one, or none at all. */
static int64_t words(const char *choices, const char *text)
{
    int64_t bits = 0;
    for (;; text++) {
        char word[32];
        size_t len = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)len, text);
        int64_t i = len > 0 && len < sizeof word ? choice(choices, word) : -1;
        if (i < 0)
            return -1;
        bits |= i > 0 ? INT64_C(1) << (i - 1) : 0;
        text += len;
        if (*text == 0)
            return bits;
    }
}

static void words_text(const char *choices, int64_t bits, char *text)
{
    size_t n = 0;
    for (int64_t i = bits == 0 ? 0 : 1; i == 0 || bits >> (i - 1) != 0; i++) {
        const char *word = choices;
        int len = word_len(&word, i);
        if (i == 0 || bits >> (i - 1) & 1)
            n += (size_t)snprintf(text + n, SERVE__CONFIG_BYTES - n, "%s%.*s", n > 0 ? " " : "", len, word);
        if (i == 0)
            break;
    }
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

/* "5%": 5. */
static bool percentage(const char *text, int64_t *n)
{
    size_t len = strlen(text);
    return len > 1 && text[len - 1] == '%' && serve__read_integer(&(caret_slice){text, len - 1}, n) &&
           *n >= 0;
}

/* maxmemory-clients: bytes, or percents of maxmemory, which are kept as a number below 0 (so 2^64 - 1 is one percent,
 * as in Redis). */
static const char *bytes_or_percent(const char *text, int64_t *n)
{
    uint64_t bytes;
    if (serve__config_memory(text, &bytes))
        *n = (int64_t)bytes;
    else if (percentage(text, n))
        *n = -*n;
    else
        return "argument must be a memory or percent value";
    return *n < -100 ? "percentage argument must be less or equal to 100" : NULL;
}

/* Is 2^63 and more a size of it? */
static bool is_unsigned(int i)
{
    return i == SERVE__CFG_maxmemory || i == SERVE__CFG_cluster_link_sendbuf_limit;
}

/* A size; of what is not a number of 63 bits n is -1, or the greatest. */
static const char *bytes_of(int i, const char *text, int64_t *n)
{
    uint64_t bytes;
    if (!serve__config_memory(text, &bytes))
        return "argument must be a memory value";
    *n = bytes <= INT64_MAX ? (int64_t)bytes : is_unsigned(i) ? INT64_MAX : -1;
    return NULL;
}

/* As Redis reads it: by strtoll, which takes spaces and a sign before it, to the end of the text. */
static bool octal(const char *text, int64_t *n)
{
    char *end;
    errno = 0;
    *n = strtoll(text, &end, 8);
    return *end == 0 && errno == 0;
}

/* Of shutdown-on-sigint and -sigterm, "default|save|nosave|...". */
static const char *saves_or_not(int64_t bits)
{
    return (bits & 3) == 3 ? "shutdown options SAVE and NOSAVE can't be used simultaneously" : NULL;
}

/* The number that a text stands for; NULL, or what is wrong. */
static const char *value_of(const struct parameter *p, const char *text, int64_t *n)
{
    static char error[128];
    const char *wrong;
    *n = 0;
    switch (p->kind) {
    case SERVE__KIND_TEXT:
    case SERVE__KIND_BYTES:
    case SERVE__KIND_HOST:
    case SERVE__KIND_TITLE:
    case SERVE__KIND_LIMITS:
    case SERVE__KIND_SAVES:
    case SERVE__KIND_ADJUSTMENTS:
    case SERVE__KIND_PERCENTILES: return NULL;
    case SERVE__KIND_WORDS:
        *n = words(p->choices, text);
        return *n >= 0 ? saves_or_not(*n) : one_of(p->choices);
    case SERVE__KIND_EVENTS: *n = serve__events_of(text); return NULL;
    case SERVE__KIND_BOOL:
        *n = strcasecmp(text, "yes") == 0;
        return *n || strcasecmp(text, "no") == 0 ? NULL : "argument must be 'yes' or 'no'";
    case SERVE__KIND_ENUM: *n = choice(p->choices, text); return *n >= 0 ? NULL : one_of(p->choices);
    case SERVE__KIND_MEMORY:
        if (p == &table[SERVE__CFG_maxmemory_clients])
            return bytes_or_percent(text, n);
        if ((wrong = bytes_of((int)(p - table), text, n)) != NULL)
            return wrong;
        break;
    case SERVE__KIND_INTEGER:
        if (!serve__read_integer(&(caret_slice){text, strlen(text)}, n))
            return "argument couldn't be parsed into an integer";
        break;
    case SERVE__KIND_OCTAL:
        if (!octal(text, n))
            return "argument couldn't be parsed as an octal number";
        break;
    }
    if (*n >= p->least && *n <= p->most)
        return NULL;
    snprintf(error, sizeof error,
             p->kind == SERVE__KIND_OCTAL ? "argument must be between %" PRIo64 " and %" PRIo64 " inclusive"
                                          : "argument must be between %" PRId64 " and %" PRId64 " inclusive",
             p->least, p->most);
    return error;
}

static const char *normal(const struct serve__shared *s, int i, char *text)
{
    const char *old = s->config[i];
    switch (table[i].kind) {
    case SERVE__KIND_EVENTS: return serve__events_text(text, old);
    case SERVE__KIND_LIMITS: return serve__limits_text(text, old);
    case SERVE__KIND_SAVES: return serve__saves_text(text, old);
    case SERVE__KIND_HOST: return serve__host_text(text, old);
    case SERVE__KIND_TITLE: return serve__title_wrong(text, s->config[SERVE__CFG_unixsocket]);
    case SERVE__KIND_PERCENTILES: return serve__percentiles_text(text, old);
    case SERVE__KIND_ADJUSTMENTS: return serve__adjustments_text(text, old);
    default: return NULL;
    }
}

/* Redis changes it while it runs. */
static bool is_fixed(const struct serve__shared *s, int i, const char *text)
{
    return i == SERVE__CFG_appendfsync && s->never_syncs && strcasecmp(text, "everysec") == 0;
}

static bool too_many_addresses(int i, const char *text)
{
    enum { MOST = 16 };
    int n = 0;
    for (text += strspn(text, " "); i == SERVE__CFG_bind && *text != 0; text += strspn(text, " "), n++)
        text += strcspn(text, " ");
    return n > MOST;
}

/* What is too little or too much for these becomes what Redis makes of it. */
static int64_t bounded(int i, int64_t n)
{
    enum { HZ_MOST = 500, BACKLOG_LEAST = 16384 };
    if (i == SERVE__CFG_hz)
        return n < 1 ? 1 : n > HZ_MOST ? HZ_MOST : n;
    return i == SERVE__CFG_repl_backlog_size && n < BACKLOG_LEAST ? BACKLOG_LEAST : n;
}

/* The text that CONFIG GET gives back of what has the number n. */
static void canonical(int i, char *text, int64_t n)
{
    const struct parameter *p = &table[i];
    const char *choices = p->choices;
    uint64_t bytes;
    if (is_unsigned(i) && serve__config_memory(text, &bytes))
        snprintf(text, SERVE__CONFIG_BYTES, "%" PRIu64, bytes);
    else if (i == SERVE__CFG_maxmemory_clients && n < 0)
        snprintf(text, SERVE__CONFIG_BYTES, "%" PRId64 "%%", -n);
    else if (p->kind == SERVE__KIND_INTEGER || p->kind == SERVE__KIND_MEMORY)
        snprintf(text, SERVE__CONFIG_BYTES, "%" PRId64, bounded(i, n));
    else if (p->kind == SERVE__KIND_OCTAL)
        snprintf(text, SERVE__CONFIG_BYTES, "%" PRIo64, n);
    else if (p->kind == SERVE__KIND_BOOL)
        strcpy(text, n ? "yes" : "no");
    else if (p->kind == SERVE__KIND_WORDS)
        words_text(choices, n, text);
    else if (p->kind == SERVE__KIND_ENUM) {
        int len = word_len(&choices, n);
        snprintf(text, SERVE__CONFIG_BYTES, "%.*s", len, choices);
    }
}

/* Of most values Redis sees nothing from a NUL byte on; of these all. */
static const char *after_nul(enum serve__config_kind kind)
{
    return kind == SERVE__KIND_INTEGER       ? "argument couldn't be parsed into an integer"
           : kind == SERVE__KIND_PERCENTILES ? "Invalid latency-tracking-info-percentiles parameters"
                                             : NULL;
}

const char *serve__config_set(struct serve__shared *s, int i, const char *value, size_t len, bool starting)
{
    char text[SERVE__CONFIG_BYTES];
    int64_t n;
    const struct parameter *p = &table[i = serve__config_resolve(i)];
    if ((p->flags & SERVE__CFG_IMMUTABLE) && !starting)
        return "can't set immutable config";
    if (len >= sizeof text)
        return "argument is too long";
    memcpy(text, value, len);
    text[len] = 0;
    const char *wrong = strlen(text) != len ? after_nul(p->kind) : NULL;
    if (wrong == NULL)
        wrong = normal(s, i, text);
    if (wrong == NULL)
        wrong = value_of(p, text, &n);
    if (wrong != NULL)
        return wrong;
    canonical(i, text, n);
    if (!starting && is_fixed(s, i, text) && strcmp(text, s->config[i]) != 0)
        return "it can't be changed while the server runs: start it anew with another value";
    if (too_many_addresses(i, text))
        return "Too many bind addresses specified.";
    serve__shared_lock(s);
    memcpy(s->config[i], text, sizeof text);
    s->config_len[i] = len;
    s->version++;
    serve__shared_unlock(s);
    return NULL;
}

static bool is_value(const struct serve__config *c, int i, caret_slice value)
{
    return c->text[i] != NULL && c->len[i] == value.len && memcmp(c->text[i], value.data, value.len) == 0;
}

static bool take_value(struct serve__config *c, int i, caret_slice value)
{
    char *copy = malloc(value.len + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, value.data, value.len);
    copy[value.len] = 0;
    free(c->text[i]);
    c->text[i] = copy;
    c->len[i] = value.len;
    return true;
}

void serve__config_refresh(struct serve__worker *w)
{
    uint64_t version = w->shared->version;
    if (version == w->version)
        return;
    serve__shared_lock(w->shared);
    for (int i = 0; i < (int)SERVE__CFG_COUNT; i++) {
        caret_slice value = serve__config_value(w->shared, serve__config_resolve(i));
        if (!is_value(&w->config, i, value) && !take_value(&w->config, i, value))
            continue;
        value_of(&table[serve__config_resolve(i)], w->config.text[i], &w->config.n[i]);
    }
    w->memory_at = 0;
    serve__access_choose(w);
    w->version = w->shared->version;
    serve__shared_unlock(w->shared);
    serve__limits_of(w->config.text[SERVE__CFG_client_output_buffer_limit], w->config.limit);
    serve__notify_configure(w);
    serve__tls_refresh(w->shared);
}
