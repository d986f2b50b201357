/*
 * config_text.c - parameters whose text has a form of its own: config_text.h.
 */
#include "server/config_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/codec/number.h"
#include "server/event.h"
#include "server/parse.h"
#include "server/worker.h"

/* --------------------------------------------------------- classes of events */

static const struct {
    char letter;
    int64_t class;
} events[] = {{'g', SERVE__EVENT_GENERIC},   {'$', SERVE__EVENT_STRING},  {'l', SERVE__EVENT_LIST},
              {'s', SERVE__EVENT_SET},       {'h', SERVE__EVENT_HASH},    {'z', SERVE__EVENT_ZSET},
              {'x', SERVE__EVENT_EXPIRED},   {'e', SERVE__EVENT_EVICTED}, {'t', SERVE__EVENT_STREAM},
              {'d', SERVE__EVENT_MODULE},    {'n', SERVE__EVENT_NEW},     {'K', SERVE__NOTIFY_KEYSPACE},
              {'E', SERVE__NOTIFY_KEYEVENT}, {'m', SERVE__EVENT_MISS}};
enum { ALL_OF = 10 /* the first of them are what A stands for */, NEW_AT = 10, NEVENTS = 14 };

static int64_t all_events(void)
{
    int64_t sum = 0;
    for (int i = 0; i < ALL_OF; i++)
        sum |= events[i].class;
    return sum;
}

int64_t serve__events_of(const char *text)
{
    int64_t sum = 0;
    for (; *text != 0; text++) {
        int i = 0;
        while (i < NEVENTS && events[i].letter != *text)
            i++;
        if (i == NEVENTS && *text != 'A')
            return -1;
        sum |= i == NEVENTS ? all_events() : events[i].class;
    }
    return sum;
}

/* As Redis tells it, but for an n beside A, which comes last: CONFIG GET leaves it away. */
const char *serve__events_text(char *text, const char *old)
{
    (void)old;
    int64_t classes = serve__events_of(text);
    bool all = (classes & all_events()) == all_events();
    if (classes < 0)
        return "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
    if (all)
        *text++ = 'A';
    for (int i = all ? NEW_AT + 1 : 0; i < NEVENTS; i++)
        if (classes & events[i].class)
            *text++ = events[i].letter;
    if (all && classes & SERVE__EVENT_NEW)
        *text++ = 'n';
    *text = 0;
    return NULL;
}

/* --------------------------------------------------------------------- words */

/* What is between single spaces, as Redis splits what CONFIG SET is given: of "a  b" three words.  None of an empty
 * text.  Each ends by a NUL in place of its space.  false: no memory. */
static bool split_words(char *text, struct serve__args *args)
{
    bool more = *text != 0;
    while (more) {
        size_t len = strcspn(text, " ");
        if (!serve__args_room(args, 1))
            return false;
        args->v[args->n++] = (caret_slice){text, len};
        more = text[len] != 0;
        text[len] = 0;
        text += len + 1;
    }
    return true;
}

/* As strtoll does, which takes blanks and a sign before it, and nothing for 0. */
static bool whole_number(const caret_slice *word, int64_t *n)
{
    char *end;
    *n = strtoll(word->data, &end, 10);
    return *end == 0;
}

/* Have `write` put the words of a text there in its own form.  Returned is what is wrong. */
static const char *by_words(char *text, const char *(*write)(const struct serve__args *, char *))
{
    struct serve__args args = {0};
    char copy[SERVE__CONFIG_BYTES];
    const char *wrong = "no memory";

    strcpy(copy, text);
    if (split_words(copy, &args))
        wrong = write(&args, text);
    free(args.v);
    return wrong;
}

/* ----------------------------------------------------------- limits of output */

static const char *const classes[] = {"normal", "slave", "pubsub"};

struct limits {
    uint64_t of[3][3]; /* hard, soft, seconds */
};

static int class_of(const caret_slice *word)
{
    for (int i = 0; i < 3; i++)
        if (serve__is(word, classes[i]))
            return i;
    return serve__is(word, "replica") ? 1 : -1;
}

static bool limit_of(const caret_slice *word, bool memory, uint64_t *n)
{
    int64_t seconds;
    if (memory)
        return serve__config_memory(word->data, n);
    bool fine = whole_number(word, &seconds) && seconds >= 0;
    *n = (uint64_t)seconds;
    return fine;
}

static const char *read_limits(const struct serve__args *args, struct limits *l)
{
    if (args->n % 4 != 0)
        return "Wrong number of arguments in buffer limit configuration.";
    for (size_t i = 0; i < args->n; i += 4) {
        int class = class_of(&args->v[i]);
        if (class < 0)
            return "Invalid client class specified in buffer limit configuration.";
        for (size_t k = 0; k < 3; k++)
            if (!limit_of(&args->v[i + 1 + k], k < 2, &l->of[class][k]))
                return "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
    }
    return NULL;
}

static const char *limits_of(char *text, struct limits *l)
{
    struct serve__args args = {0};
    const char *wrong = "Wrong number of arguments in buffer limit configuration.";
    if (*text != 0 && split_words(text, &args))
        wrong = read_limits(&args, l);
    free(args.v);
    return wrong;
}

const char *serve__limits_text(char *text, const char *old)
{
    struct limits l = {0};
    char copy[SERVE__CONFIG_BYTES];
    snprintf(copy, sizeof copy, "%s", old);
    limits_of(copy, &l);
    const char *wrong = limits_of(text, &l);
    if (wrong != NULL)
        return wrong;
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        n += (size_t)snprintf(text + n, SERVE__CONFIG_BYTES - n, "%s%s %" PRIu64 " %" PRIu64 " %" PRIu64,
                              i > 0 ? " " : "", classes[i], l.of[i][0], l.of[i][1], l.of[i][2]);
    return NULL;
}

void serve__limits_of(const char *text, struct serve__limit limit[2])
{
    struct limits l = {0};
    char copy[SERVE__CONFIG_BYTES];
    snprintf(copy, sizeof copy, "%s", text);
    limits_of(copy, &l);
    for (int i = 0; i < 2; i++)
        limit[i] = (struct serve__limit){l.of[2 * i][0], l.of[2 * i][1], (int64_t)l.of[2 * i][2]};
}

/* ------------------------------------------------------------ times of saves */

/* The numbers in the words of `text`, at the end of it; of changes Redis keeps 32 bits. */
static const char *write_saves(const struct serve__args *args, char *text)
{
    size_t len = 0;
    *text = 0;
    for (size_t i = 0; i < args->n; i++) {
        int64_t n;
        if (!whole_number(&args->v[i], &n) || n < (i % 2 == 0))
            return "Invalid save parameters";
        len += (size_t)snprintf(text + len, SERVE__CONFIG_BYTES - len, "%s%" PRId64, i > 0 ? " " : "",
                                i % 2 == 0 ? n : (int32_t)n);
        if (len >= SERVE__CONFIG_BYTES)
            return "argument is too long";
    }
    return args->n % 2 == 0 ? NULL : "Invalid save parameters";
}

const char *serve__saves_text(char *text, const char *old)
{
    (void)old;
    return by_words(text, write_saves);
}

/* -------------------------------------------------------------- percentiles */

/* "99.90" as "99.9", at the end of a text.  false: there is no room. */
static bool add_percentile(char *text, size_t *n, double d)
{
    char digits[32];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%f", d);
    while (digits[len - 1] == '0')
        len--;
    len -= digits[len - 1] == '.';
    int more = snprintf(text + *n, SERVE__CONFIG_BYTES - *n, "%s%.*s", *n > 0 ? " " : "", (int)len, digits);
    *n += (size_t)more;
    return *n < SERVE__CONFIG_BYTES;
}

static const char *write_percentiles(const struct serve__args *args, char *text)
{
    size_t n = 0;
    *text = 0;
    for (size_t i = 0; i < args->n; i++) {
        double d;
        if (!caret_codec__parse_double(args->v[i].data, args->v[i].len, &d))
            return "Invalid latency-tracking-info-percentiles parameters";
        if (!(d >= 0 && d <= 100))
            return "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
        if (!add_percentile(text, &n, d))
            return "argument is too long";
    }
    return NULL;
}

const char *serve__percentiles_text(char *text, const char *old)
{
    (void)old;
    return by_words(text, write_percentiles);
}

/* -------------------------------------------------------------- adjustments */

static const char *write_adjustments(const struct serve__args *args, char *text)
{
    enum { ROLES = 3, MOST = 2000 };
    size_t n = 0;
    if (args->n != ROLES)
        return "wrong number of arguments";
    for (size_t i = 0; i < ROLES; i++) {
        int64_t value;
        if (!whole_number(&args->v[i], &value) || value < -MOST || value > MOST)
            return "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
        n += (size_t)snprintf(text + n, SERVE__CONFIG_BYTES - n, "%s%" PRId64, i > 0 ? " " : "", value);
    }
    return NULL;
}

const char *serve__adjustments_text(char *text, const char *old)
{
    (void)old;
    return by_words(text, write_adjustments);
}

/* ------------------------------------------------------------ names of hosts */

const char *serve__host_text(char *text, const char *old)
{
    enum { MOST = 256 };
    (void)old;
    if (strlen(text) >= MOST)
        return "Hostnames must be less than 256 characters";
    for (const char *p = text; *p != 0; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.')
            return "Hostnames may only contain alphanumeric characters, hyphens or dots";
    return NULL;
}

/* ------------------------------------------------------- titles of processes */

/* What a variable of a title stands for in one that has no title yet: is it empty?  -1: there is no such variable. */
static int is_empty(const char *name, size_t len, const char *unixsocket)
{
    const struct {
        const char *name;
        int empty;
    } variables[] = {{"title", 1},    {"listen-addr", 0},           {"server-mode", 1}, {"port", 0},
                     {"tls-port", 0}, {"unixsocket", !*unixsocket}, {"config-file", 0}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strlen(variables[i].name) == len && memcmp(variables[i].name, name, len) == 0)
            return variables[i].empty;
    return -1;
}

/* "{title} {port}"; "{{" is a bracket.  Something other than spaces has to be in it. */
const char *serve__title_wrong(const char *text, const char *unixsocket)
{
    bool empty = true;
    for (const char *p = text; *p != 0;) {
        size_t len = p[0] == '{' && p[1] != '{' ? strcspn(p, "}") : 0;
        int what = len > 0 ? is_empty(p + 1, len - 1, unixsocket) : *p == ' ';
        if (what < 0 || (len > 0 && p[len] == 0)) {
            empty = true;
            break;
        }
        empty = empty && what;
        p += len > 0 ? len + 1 : *p == '{' ? 2 : 1;
    }
    return empty ? "template format is invalid or contains unknown variables" : NULL;
}
