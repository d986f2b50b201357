/*
 * command_command.c - COMMAND and its subcommands: the table of commands, told.
 */
#include <strings.h>

#include "server/worker.h"

/* A set of words, by bit: status replies with something before each. */
static void words(struct serve__call *q, uint64_t bits, const char *const *names, const char *before)
{
    size_t place = serve__open(q), n = 0;
    for (int i = 0; names[i] != NULL; i++)
        if (bits >> i & 1) {
            char text[40];
            size_t len = strlen(before);
            memcpy(text, before, len);
            strncpy(text + len, names[i], sizeof text - len - 1);
            text[sizeof text - 1] = 0;
            serve__status(q, text);
            n++;
        }
    serve__close_set(q, place, n);
}

static void begin_spec(struct serve__call *q, const struct serve__keyspec *s)
{
    static const char *const types[] = {"unknown", "index", "keyword"};
    serve__text(q, "begin_search");
    serve__map(q, 2);
    serve__text(q, "type");
    serve__text(q, types[s->begin]);
    serve__text(q, "spec");
    serve__map(q, s->begin == SERVE__BEGIN_UNKNOWN ? 0 : s->begin == SERVE__BEGIN_INDEX ? 1 : 2);
    if (s->begin == SERVE__BEGIN_KEYWORD) {
        serve__text(q, "keyword");
        serve__text(q, s->keyword);
    }
    if (s->begin != SERVE__BEGIN_UNKNOWN) {
        serve__text(q, s->begin == SERVE__BEGIN_INDEX ? "index" : "startfrom");
        serve__integer(q, s->from);
    }
}

static void find_spec(struct serve__call *q, const struct serve__keyspec *s)
{
    static const char *const types[] = {"unknown", "range", "keynum"};
    static const char *const range[] = {"lastkey", "keystep", "limit"};
    static const char *const keynum[] = {"keynumidx", "firstkey", "keystep"};
    const char *const *names = s->find == SERVE__FIND_RANGE ? range : keynum;
    int values[] = {s->find1, s->find2, s->find3};
    serve__text(q, "find_keys");
    serve__map(q, 2);
    serve__text(q, "type");
    serve__text(q, types[s->find]);
    serve__text(q, "spec");
    serve__map(q, s->find == SERVE__FIND_UNKNOWN ? 0 : 3);
    for (int i = 0; s->find != SERVE__FIND_UNKNOWN && i < 3; i++) {
        serve__text(q, names[i]);
        serve__integer(q, values[i]);
    }
}

static void key_specs(struct serve__call *q, const struct serve__command *c)
{
    serve__set(q, c->nkeys);
    for (unsigned i = 0; i < c->nkeys; i++) {
        serve__map(q, 3);
        serve__text(q, "flags");
        words(q, c->keys[i].flags, serve__keyflag_names, "");
        begin_spec(q, &c->keys[i]);
        find_spec(q, &c->keys[i]);
    }
}

static void info_of(struct serve__call *q, const struct serve__command *c)
{
    size_t tips = 0;
    if (c == NULL) {
        serve__null(q);
        return;
    }
    serve__array(q, 10);
    serve__text(q, c->full);
    serve__integer(q, c->arity);
    words(q, c->flags & ~(unsigned)(SERVE__PLAIN | SERVE__MAY_REPLICATE), /* as in Redis */
          serve__flag_names, "");
    serve__integer(q, c->first);
    serve__integer(q, c->last);
    serve__integer(q, c->step);
    words(q, c->categories, serve__category_names, "@");
    while (c->tips != NULL && c->tips[tips] != NULL)
        tips++;
    serve__set(q, tips);
    for (size_t i = 0; i < tips; i++)
        serve__text(q, c->tips[i]);
    key_specs(q, c);
    serve__set(q, c->nsub);
    for (unsigned i = 0; i < c->nsub; i++)
        info_of(q, &c->sub[i]);
}

int serve__cmd_command(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    for (unsigned i = 0; i < serve__nmain; i++)
        if (serve__command_called(&serve__commands[i])) {
            info_of(q, &serve__commands[i]);
            n++;
        }
    return serve__close_array(q, place, n);
}

int serve__cmd_command_count(struct serve__call *q)
{
    int64_t n = 0;
    for (unsigned i = 0; i < serve__nmain; i++)
        n += serve__command_called(&serve__commands[i]);
    return serve__integer(q, n);
}

/* A name, of a subcommand as "config|get". */
static const struct serve__command *named(const caret_slice *name)
{
    const char *bar = memchr(name->data, '|', name->len);
    size_t len = bar != NULL ? (size_t)(bar - name->data) : name->len;
    const struct serve__command *c = serve__command_find(name->data, len);
    return c != NULL && bar != NULL ? serve__subcommand_find(c, bar + 1, name->len - len - 1) : c;
}

int serve__cmd_command_info(struct serve__call *q)
{
    if (q->argc == 2)
        return serve__cmd_command(q);
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++)
        info_of(q, named(&q->argv[i]));
    return CARET_OK;
}

/* ------------------------------------------------------------------- list */

struct filter {
    const caret_slice *pattern, *category, *module;
};

static bool has_category(const struct serve__command *c, const caret_slice *name)
{
    for (int i = 0; serve__category_names[i] != NULL; i++)
        if (serve__is(name, serve__category_names[i]))
            return c->categories >> i & 1;
    return false;
}

static bool passes(const struct filter *f, const struct serve__command *c)
{
    if (f->module != NULL || !serve__command_called(c))
        return false;
    if (f->category != NULL)
        return has_category(c, f->category);
    return f->pattern == NULL ||
           serve__glob(f->pattern->data, f->pattern->len, c->full, strlen(c->full), true);
}

int serve__cmd_command_list(struct serve__call *q)
{
    struct filter f = {NULL, NULL, NULL};
    if (q->argc == 5 && serve__is(&q->argv[2], "filterby")) {
        if (serve__is(&q->argv[3], "module"))
            f.module = &q->argv[4];
        else if (serve__is(&q->argv[3], "aclcat"))
            f.category = &q->argv[4];
        else if (serve__is(&q->argv[3], "pattern"))
            f.pattern = &q->argv[4];
        else
            return SERVE__E_SYNTAX;
    } else if (q->argc != 2) {
        return SERVE__E_SYNTAX;
    }
    size_t place = serve__open(q), n = 0;
    for (unsigned i = 0; i < serve__ncommands; i++)
        if (passes(&f, &serve__commands[i])) {
            serve__text(q, serve__commands[i].full);
            n++;
        }
    return q->argc == 2 ? serve__close_set(q, place, n) : serve__close_array(q, place, n);
}

/* ------------------------------------------------------------------- docs */

static size_t text_pair(struct serve__call *q, const char *name, const char *text)
{
    if (text == NULL)
        return 0;
    serve__text(q, name);
    serve__text(q, text);
    return 1;
}

static void add_arguments(struct serve__call *q, const struct serve__argument *list);

static size_t add_argument_flags(struct serve__call *q, unsigned flags)
{
    static const char *const names[] = {"optional", "multiple", "multiple_token"};
    if (flags == 0)
        return 0;
    serve__text(q, "flags");
    serve__set(q, (size_t)__builtin_popcount(flags));
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & 1u << i)
            serve__status(q, names[i]);
    return 1;
}

static void add_argument(struct serve__call *q, const struct serve__argument *a)
{
    size_t place = serve__open(q), n = text_pair(q, "name", a->name) + text_pair(q, "type", a->type);
    if (a->key >= 0) {
        serve__text(q, "key_spec_index");
        serve__integer(q, a->key);
        n++;
    }
    n += text_pair(q, "token", a->token);
    n += text_pair(q, "since", a->since);
    n += text_pair(q, "deprecated_since", a->deprecated);
    n += add_argument_flags(q, a->flags);
    if (a->parts != NULL) {
        add_arguments(q, a->parts);
        n++;
    }
    serve__close_map(q, place, n);
}

static void add_arguments(struct serve__call *q, const struct serve__argument *list)
{
    size_t n = 0;
    while (list[n].name != NULL)
        n++;
    serve__text(q, "arguments");
    serve__array(q, n);
    for (size_t i = 0; i < n; i++)
        add_argument(q, &list[i]);
}

static void docs_of(struct serve__call *q, const struct serve__command *c)
{
    serve__text(q, c->full);
    size_t place = serve__open(q), n = text_pair(q, "summary", c->summary) + text_pair(q, "since", c->since);
    n += text_pair(q, "group", c->group);
    n += text_pair(q, "complexity", c->time);
    if (c->doc_flags != NULL) {
        serve__text(q, "doc_flags");
        serve__set(q, 1);
        serve__status(q, c->doc_flags);
        n++;
    }
    n += text_pair(q, "deprecated_since", c->deprecated);
    n += text_pair(q, "replaced_by", c->replaced);
    if (c->arguments != NULL) {
        add_arguments(q, c->arguments);
        n++;
    }
    if (c->nsub > 0) {
        serve__text(q, "subcommands");
        serve__map(q, c->nsub);
        for (unsigned i = 0; i < c->nsub; i++)
            docs_of(q, &c->sub[i]);
        n++;
    }
    serve__close_map(q, place, n);
}

int serve__cmd_command_docs(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    for (unsigned i = 0; q->argc == 2 && i < serve__nmain; i++)
        if (serve__command_called(&serve__commands[i])) {
            docs_of(q, &serve__commands[i]);
            n++;
        }
    for (int i = 2; i < q->argc; i++) {
        const struct serve__command *c = named(&q->argv[i]);
        if (c != NULL) {
            docs_of(q, c);
            n++;
        }
    }
    return serve__close_map(q, place, n);
}

/* ------------------------------------------------------------------- keys */

struct keys {
    struct serve__call *q;
    bool flags;
    size_t n;
};

static void answer_key(void *arg, int i, unsigned flags)
{
    struct keys *k = arg;
    if (flags & SERVE__KEY_NOT_KEY)
        return;
    k->n++;
    if (k->flags)
        serve__array(k->q, 2);
    serve__bulk(k->q, k->q->argv[i + 2].data, k->q->argv[i + 2].len);
    if (k->flags)
        words(k->q, flags, serve__keyflag_names, "");
}

static int keys_of(struct serve__call *q, bool flags)
{
    const struct serve__command *parent;
    const struct serve__command *c = serve__command_of(q->argv + 2, q->argc - 2, &parent);
    int argc = q->argc - 2;
    if (c == NULL)
        return serve__fail(q, "ERR Invalid command specified");
    if (c->nkeys == 0 || c->keys[0].flags & SERVE__KEY_NOT_KEY)
        return serve__fail(q, "ERR The command has no key arguments");
    if (c->arity > 0 ? c->arity != argc : argc < -c->arity)
        return serve__fail(q, "ERR Invalid number of arguments specified for command");
    struct keys k = {q, flags, 0};
    size_t place = serve__open(q);
    if (!serve__command_keys(c, q->argv + 2, argc, answer_key, &k))
        return serve__fail(q, "ERR Invalid arguments specified for command");
    if (k.n == 0 && !(c->flags & SERVE__NO_MANDATORY_KEYS))
        return serve__fail(q, "ERR Invalid arguments specified for command");
    return serve__close_array(q, place, k.n);
}

int serve__cmd_command_getkeys(struct serve__call *q)
{
    return keys_of(q, false);
}

int serve__cmd_command_getkeysandflags(struct serve__call *q)
{
    return keys_of(q, true);
}

int serve__cmd_command_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "(no subcommand)",
        "    Return what is known of all commands.",
        "COUNT",
        "    Return how many commands there are.",
        "LIST [FILTERBY (MODULE <module-name>|ACLCAT <category>|PATTERN <pattern>)]",
        "    Return the names of all commands, or of those that pass the filter.",
        "INFO [<command-name> ...]",
        "    Return what is known of some commands.",
        "DOCS [<command-name> ...]",
        "    Return what documents tell of some commands.",
        "GETKEYS <full-command>",
        "    Return the keys among the arguments of a command.",
        "GETKEYSANDFLAGS <full-command>",
        "    Return these, and what the command does with each.",
        "HELP",
        "    Print this help.",
        NULL};
    return serve__help(q, lines);
}
