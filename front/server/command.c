/*
 * command.c - the table of commands, looked up by name; and the keys among arguments.
 */
#include "server/command.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/call.h"
#include "server/node/node.h"
#include "server/shared.h"

#include "server/commands.inc"

/* Names by hash, open addressing: index + 1, 0 is free.  The commands have their own names, by which users of an ACL
 * are told what they may do, and the names by which clients call them: rename-command. */
enum { SLOTS = 1024 };
struct names {
    uint16_t slots[SLOTS];
    const char *of[SERVE__COMMANDS_MAX]; /* in lower case; NULL: it has none */
};
static struct names own, called;

static unsigned hash(const char *name, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)(name[i] | 32)) * 16777619u;
    return (h ^ h >> 15) % SLOTS;
}

static void build(struct names *t)
{
    memset(t->slots, 0, sizeof t->slots);
    for (unsigned i = 0; i < serve__nmain; i++) {
        unsigned at = t->of[i] != NULL ? hash(t->of[i], strlen(t->of[i])) : 0;
        while (t->of[i] != NULL && t->slots[at] != 0)
            at = (at + 1) % SLOTS;
        if (t->of[i] != NULL)
            t->slots[at] = (uint16_t)(i + 1);
    }
}

void serve__command_init(void)
{
    for (unsigned i = 0; i < serve__nmain; i++)
        own.of[i] = called.of[i] = serve__commands[i].name;
    build(&own);
    build(&called);
}

/* Names in the tables are in lower case. */
static bool is_name(const char *is, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char got = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 32) : name[i];
        if (got == 0 || got != is[i])
            return false;
    }
    return is[len] == 0;
}

static inline const struct serve__command *look_up(const struct names *t, const char *name, size_t len)
{
    if (len > SERVE__COMMAND_BYTES)
        return NULL;
    for (unsigned at = hash(name, len); t->slots[at] != 0; at = (at + 1) % SLOTS)
        if (is_name(t->of[t->slots[at] - 1], name, len))
            return &serve__commands[t->slots[at] - 1];
    return NULL;
}

const struct serve__command *serve__command_named(const char *name, size_t len)
{
    return look_up(&own, name, len);
}

const struct serve__command *serve__command_find(const char *name, size_t len)
{
    return look_up(&called, name, len);
}

bool serve__get_renamed;

bool serve__command_called(const struct serve__command *c)
{
    const struct serve__command *main = c->parent != NULL ? c->parent : c;
    return called.of[main - serve__commands] != NULL;
}

const char *serve__command_rename(caret_slice from, caret_slice to)
{
    const struct serve__command *c = serve__command_find(from.data, from.len);
    char *name = NULL;
    if (c == NULL)
        return "No such command in rename-command";
    serve__get_renamed |= strcmp(c->name, "get") == 0;
    called.of[c - serve__commands] = NULL;
    build(&called);
    if (to.len == 0)
        return NULL;
    if (to.len > SERVE__COMMAND_BYTES || memchr(to.data, 0, to.len) != NULL)
        return "A name of a command is too long, or has a zero in it";
    if (serve__command_find(to.data, to.len) != NULL)
        return "Target command name already exists";
    if ((name = strndup(to.data, to.len)) == NULL)
        return "no memory";
    for (size_t i = 0; i < to.len; i++)
        name[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 32) : name[i];
    called.of[c - serve__commands] = name;
    build(&called);
    return NULL;
}

const struct serve__command *serve__subcommand_find(const struct serve__command *c, const char *name,
                                                    size_t len)
{
    for (unsigned i = 0; i < c->nsub; i++)
        if (is_name(c->sub[i].name, name, len))
            return &c->sub[i];
    return NULL;
}

const struct serve__command *serve__command_of(const caret_slice *argv, int argc,
                                               const struct serve__command **parent)
{
    const struct serve__command *c = serve__command_find(argv[0].data, argv[0].len);
    *parent = NULL;
    if (c == NULL || c->nsub == 0 || argc == 1)
        return c;
    *parent = c;
    return serve__subcommand_find(c, argv[1].data, argv[1].len);
}

/* ------------------------------------------------------------------- keys */

/* Where the arguments of a spec begin; 0: it has none here. */
static int begin(const struct serve__keyspec *s, const caret_slice *argv, int argc)
{
    if (s->begin == SERVE__BEGIN_INDEX)
        return s->from;
    if (s->begin != SERVE__BEGIN_KEYWORD)
        return 0;
    int step = s->from > 0 ? 1 : -1,
        end = s->from > 0 ? argc - 1 : 1; /* a keyword at the end is not looked at */
    int i = s->from > 0 ? s->from : argc + s->from;
    size_t len = strlen(s->keyword);
    for (; i > 0 && i < argc && i != end; i += step)
        if (argv[i].len == len && strncasecmp(argv[i].data, s->keyword, len) == 0)
            return i + 1;
    return 0;
}

/* Does BITFIELD read alone?  What is wrong might write. */
static bool only_gets(const caret_slice *argv, int argc)
{
    int i = 2;
    while (i < argc) {
        int after = argc - i - 1;
        if (serve__is(&argv[i], "get") && after >= 2)
            i += 3;
        else if (serve__is(&argv[i], "overflow") && after >= 1)
            i += 2;
        else
            return false;
    }
    return true;
}

static bool has_get(const caret_slice *argv, int argc)
{
    for (int i = 3; i < argc; i++)
        if (serve__is(&argv[i], "get"))
            return true;
    return false;
}

/* Flags of a key that depend on other arguments: SET reads it if it has GET after its value, BITFIELD writes it unless
 * all it does is GET. */
static unsigned variable_flags(bool is_set, const caret_slice *argv, int argc)
{
    if (is_set)
        return has_get(argv, argc) ? SERVE__KEY_RW | SERVE__KEY_ACCESS | SERVE__KEY_UPDATE
                                   : SERVE__KEY_OW | SERVE__KEY_UPDATE;
    return only_gets(argv, argc) ? SERVE__KEY_RO | SERVE__KEY_ACCESS
                                 : SERVE__KEY_RW | SERVE__KEY_ACCESS | SERVE__KEY_UPDATE;
}

/* How many keys follow, as atoi() reads it: a number, and anything after it. */
static int64_t number_of_keys(const caret_slice *arg)
{
    char text[32];
    size_t len = arg->len < sizeof text ? arg->len : sizeof text - 1;
    memcpy(text, arg->data, len);
    text[len] = 0;
    return strtoll(text, NULL, 10);
}

static bool tell_keys(const struct serve__command *c, const struct serve__keyspec *s, int first,
                      const caret_slice *argv, int argc, serve__key_fn *each, void *arg)
{
    int last, step;
    if (s->find == SERVE__FIND_RANGE) {
        step = s->find2;
        last = s->find1 >= 0 ? first + s->find1 : argc + s->find1;
        if (s->find1 < 0 && s->find3 > 1)
            last = first + (argc - first) / s->find3 - 1;
    } else {
        int at = first + s->find1;
        step = s->find3;
        int64_t n = at < argc ? number_of_keys(&argv[at]) : 0;
        if (n < 1 || n > argc)
            return false;
        first += s->find2;
        last = first + ((int)n - 1) * step;
    }
    if (last >= argc)
        return false;
    unsigned flags = s->flags & SERVE__KEY_VARIABLE ? variable_flags(strcmp(c->name, "set") == 0, argv, argc)
                                                    : s->flags & ~(unsigned)SERVE__KEY_INCOMPLETE;
    for (int i = first; i <= last; i += step)
        each(arg, i, flags);
    return true;
}

/* Where the keys of MIGRATE begin, after KEYS; 0: there is none. */
static int after_keys(const caret_slice *argv, int argc)
{
    for (int i = 6; i < argc; i++) {
        if (serve__is(&argv[i], "keys"))
            return i + 1;
        if (serve__is(&argv[i], "auth"))
            i++;
        else if (serve__is(&argv[i], "auth2"))
            i += 2;
    }
    return 0;
}

/* MIGRATE host port key|"" db timeout [KEYS key ...]: those of KEYS, or the one, which may be empty. */
static bool migrate_keys(const struct serve__command *c, const caret_slice *argv, int argc,
                         serve__key_fn *each, void *arg)
{
    int keys = begin(&c->keys[1], argv, argc) > 0 ? after_keys(argv, argc) : 0;
    if (keys == 0)
        return tell_keys(c, &c->keys[0], begin(&c->keys[0], argv, argc), argv, argc, each, arg);
    return argv[3].len == 0 && tell_keys(c, &c->keys[1], keys, argv, argc, each, arg);
}

/* SORT key ... STORE key: the last STORE that is not what another option has as its argument. */
static bool sort_keys(const caret_slice *argv, int argc, serve__key_fn *each, void *arg)
{
    int to = 0;
    each(arg, 1, SERVE__KEY_RO | SERVE__KEY_ACCESS);
    for (int i = 2; i < argc; i++) {
        if (serve__is(&argv[i], "limit"))
            i += 2;
        else if (serve__is(&argv[i], "get") || serve__is(&argv[i], "by"))
            i++;
        else if (serve__is(&argv[i], "store") && i + 1 < argc)
            to = i + 1;
    }
    if (to != 0)
        each(arg, to, SERVE__KEY_OW | SERVE__KEY_UPDATE);
    return true;
}

/* Where STREAMS is among the options of XREAD, as far as they are known; 0: it is not. */
static int streams_option(const caret_slice *argv, int argc)
{
    int i = 1;
    while (i < argc && !serve__is(&argv[i], "streams")) {
        if (serve__is(&argv[i], "block") || serve__is(&argv[i], "count"))
            i += 2;
        else if (serve__is(&argv[i], "group"))
            i += 3;
        else if (serve__is(&argv[i], "noack"))
            i++;
        else
            return 0;
    }
    return i < argc ? i : 0;
}

/* XREAD ... STREAMS key ... id ...: what follows the word, wherever that is; if that is one argument, what follows the
 * option, of which nothing is said then. */
static bool xread_keys(const struct serve__command *c, const caret_slice *argv, int argc, serve__key_fn *each,
                       void *arg)
{
    int first = begin(&c->keys[0], argv, argc);
    if (first > 0 && argc - first >= 2)
        return tell_keys(c, &c->keys[0], first, argv, argc, each, arg);
    int streams = streams_option(argv, argc), n = argc - streams - 1;
    if (first == 0 || streams == 0 || n % 2 != 0)
        return false;
    for (int i = 1; i <= n / 2; i++)
        each(arg, streams + i, 0);
    return true;
}

bool serve__command_keys(const struct serve__command *c, const caret_slice *argv, int argc,
                         serve__key_fn *each, void *arg)
{
    if (c->nkeys > 0 && c->keys[0].begin == SERVE__BEGIN_UNKNOWN && strcmp(c->group, "caret") == 0)
        return serve__node_keys(c, argv, argc, each, arg);
    if (c->nkeys == 2 && (c->keys[1].flags & SERVE__KEY_INCOMPLETE) && argc >= -c->arity)
        return migrate_keys(c, argv, argc, each, arg);
    if (c->run == serve__cmd_sort && argc >= -c->arity)
        return sort_keys(argv, argc, each, arg);
    if ((c->run == serve__cmd_xread || c->run == serve__cmd_xreadgroup) && argc >= -c->arity)
        return xread_keys(c, argv, argc, each, arg);
    for (unsigned i = 0; i < c->nkeys; i++) {
        const struct serve__keyspec *s = &c->keys[i];
        int first = begin(s, argv, argc);
        if (first <= 0 && c->nkeys == 1)
            return s->begin == SERVE__BEGIN_UNKNOWN;
        if (first <= 0 || s->find == SERVE__FIND_UNKNOWN)
            continue;
        if (first >= argc || !tell_keys(c, s, first, argv, argc, each, arg))
            return (c->flags & SERVE__NO_MANDATORY_KEYS) != 0;
    }
    return true;
}
