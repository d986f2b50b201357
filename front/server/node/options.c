/*
 * options.c - words before the name of a node, and the keys of commands that have some: node.h.
 */
#include "server/node/node.h"

static bool is_name(const caret_slice *arg)
{
    return arg->len > 0 && arg->data[0] == '^';
}

/* Where a word's value goes; NULL: there is no such word here. */
static caret_slice *place_of(struct serve__node_options *o, unsigned known, const caret_slice *word)
{
    if (known & SERVE__NODE_PLACE) {
        if (serve__is(word, "after"))
            return &o->after;
        if (serve__is(word, "from"))
            return &o->from;
        if (serve__is(word, "to"))
            return &o->to;
        if (serve__is(word, "prefix"))
            return &o->prefix;
    }
    return (known & SERVE__NODE_WITHIN) && serve__is(word, "within") ? &o->within : NULL;
}

/* The word i; *i is left at its last argument. */
static int read_word(struct serve__call *q, unsigned known, struct serve__node_options *o, int *i)
{
    const caret_slice *word = &q->argv[*i];
    if ((known & SERVE__NODE_PLACE) && serve__is(word, "reverse")) {
        o->reverse = true;
        return CARET_OK;
    }
    if (++*i >= q->argc)
        return SERVE__E_SYNTAX;
    if ((known & SERVE__NODE_COUNT) && serve__is(word, "count"))
        return serve__arg_between(q, *i, 0, INT64_MAX, &o->count);
    caret_slice *place = place_of(o, known, word);
    if (place == NULL)
        return SERVE__E_SYNTAX;
    *place = q->argv[*i];
    if (place->data == NULL)
        place->data = "";
    return CARET_OK;
}

int serve__node_options(struct serve__call *q, unsigned known, struct serve__node_options *o)
{
    *o = (struct serve__node_options){.count = -1};
    for (int i = 1; i < q->argc; i++) {
        if (is_name(&q->argv[i])) {
            o->name = i;
            return CARET_OK;
        }
        int rc = read_word(q, known, o, &i);
        if (rc != CARET_OK)
            return rc;
    }
    return q->argc == 1 ? CARET_OK : SERVE__E_SYNTAX;
}

/* ------------------------------------------------------------------- keys */

/* The name among the arguments from `first` up to `end`; 0: there is none. */
static int find_name(const caret_slice *argv, int first, int end)
{
    for (int i = first; i < end; i += serve__is(&argv[i], "reverse") ? 1 : 2)
        if (is_name(&argv[i]))
            return i;
    return 0;
}

/* Of CARET.TP: each part is a number of arguments, and so many. */
static bool keys_of_parts(const caret_slice *argv, int argc, serve__key_fn *each, void *arg)
{
    for (int i = 1; i < argc;) {
        int64_t n;
        if (!serve__read_integer(&argv[i], &n) || n < 1 || n > argc - i - 1)
            return false;
        const struct serve__command *c = serve__node_part(&argv[i + 1]);
        int name = find_name(argv, i + 2, i + 1 + (int)n);
        if (name != 0)
            each(arg, name, c != NULL ? c->keys[0].flags : SERVE__KEY_RO | SERVE__KEY_ACCESS);
        i += (int)n + 1;
    }
    return true;
}

bool serve__node_keys(const struct serve__command *c, const caret_slice *argv, int argc, serve__key_fn *each,
                      void *arg)
{
    if (c->run == serve__cmd_caret_tp)
        return keys_of_parts(argv, argc, each, arg);
    int name = find_name(argv, 1, argc);
    if (name != 0)
        each(arg, name, c->keys[0].flags);
    return name != 0 || c->arity == -1;
}
