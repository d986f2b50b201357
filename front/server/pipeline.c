/*
 * pipeline.c - a batch of commands, and what can be done for all of them together.
 *
 * GETs that follow one another are one caret_get_many().  Before other commands the nodes of their first keys
 * are prefetched.  Small changes are one transaction: together.c.  The same script again and again is one run:
 * script/row.c.  All only where nothing can come between: a connection in its ordinary state, keys of one database.
 */
#include "server/pipeline.h"

#include "server/dispatch.h"
#include "server/keys/key.h"
#include "server/keys/map.h"

enum {
    ORDINARY = SERVE__CONN_MULTI | SERVE__CONN_PUBSUB | SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP |
               SERVE__CONN_REPLY_SKIP_NEXT | SERVE__CONN_MONITOR,
    LEAST = 4
};

static bool is_get(const struct serve__pipeline *p, unsigned i)
{
    const caret_slice *name = &p->args[p->first[i]];
    const char *text = name->data;
    return p->argc[i] == 2 && name->len == 3 && (text[0] | 32) == 'g' && (text[1] | 32) == 'e' &&
           (text[2] | 32) == 't';
}

/* How many GETs follow one another from i on. */
static unsigned gets(const struct serve__pipeline *p, unsigned i)
{
    unsigned n = 0;
    while (i + n < p->n && ((n > 0 && serve__alike(p, i + n)) || is_get(p, i + n)))
        n++;
    return n;
}

/* May commands be run without the checks of dispatch.c?  What is looked at there is looked at here. */
static bool ordinary(const struct serve__worker *w, const struct serve__conn *c)
{
    return !(c->flags & ORDINARY) && c->user == NULL && c->tracking == NULL && w->limits == NULL &&
           w->monitors == 0 && w->shared->pause_until == 0 && !(w->interest & SERVE__EVENT_MISS) &&
           w->config.n[SERVE__CFG_min_replicas_to_write] == 0 &&
           w->config.n[SERVE__CFG_busy_reply_threshold] == SERVE__BUSY_USUAL && !serve__auth_required(w, c);
}

/* n GETs from i on: the keys that they ask for, that of GETs that are alike once, and which of them is each one's. */
struct gets {
    unsigned n, keys;
    caret_node *nodes[SERVE__BATCH];
    unsigned char of[SERVE__BATCH];
};

/* false: one of them takes the long way. */
static bool look_up(struct serve__call *q, const struct serve__pipeline *p, unsigned i, struct gets *g)
{
    struct serve__worker *w = q->w;
    g->keys = 0;
    for (unsigned k = 0; k < g->n; k++) {
        if (k > 0 && serve__alike(p, i + k) && w->access == NULL) {
            g->of[k] = g->of[k - 1];
            continue;
        }
        caret_slice name = p->args[p->first[i + k] + 1];
        if (serve__is_mapped(q, name) || serve__key_node(q, &w->nodes[g->keys], name) != CARET_OK)
            return false;
        g->nodes[g->keys] = &w->nodes[g->keys].node;
        g->of[k] = (unsigned char)g->keys++;
    }
    return true;
}

/* Answer n GETs from i on by one look.  Values that are not plain strings take the long way. */
static unsigned get_many(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                         unsigned i, unsigned n)
{
    struct gets g = {.n = n};
    caret_slice values[SERVE__BATCH];
    struct serve__call q = {
        .w = w, .r = &w->run, .c = c, .s = w->run.s, .reply = &c->reply, .db = c->db, .now = w->now};
    if (!look_up(&q, p, i, &g) || caret_get_many(w->run.s, g.nodes, g.keys, values) != CARET_OK)
        return 0;
    const struct serve__command *get = serve__command_named("get", 3);
    unsigned k = 0, hits = 0;
    for (; k < n; k++) {
        const caret_slice *value = &values[g.of[k]];
        if (value->len > 0 && (unsigned char)value->data[0] == SERVE__HEAD_MARK)
            break;
        if (value->data != NULL)
            serve__bulk(&q, value->data, value->len);
        else
            serve__null(&q);
        hits += value->data != NULL;
    }
    serve__add(&w->stats->commands, k);
    serve__add(&w->stats->hits, hits);
    serve__add(&w->stats->misses, k - hits);
    serve__add(&w->stats->command[get->id].calls, k);
    if (k > 0)
        c->last = get;
    return k;
}

/* The command of these arguments; most often it is that of the ones before, of which *a is what was found. */
static const struct serve__command *command_after(const struct serve__ahead *a, const caret_slice *argv)
{
    if (a != NULL && a->argv[0].len == argv[0].len && memcmp(a->argv[0].data, argv[0].data, argv[0].len) == 0)
        return a->cmd;
    return serve__command_find(argv[0].data, argv[0].len);
}

/* Bring the first keys of all commands from i on near, and remember commands and nodes. */
static void look_ahead(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                       unsigned from)
{
    caret_node *nodes[SERVE__BATCH] = {NULL};
    unsigned n = 0;
    struct serve__call q = {.w = w, .r = &w->run, .c = c, .s = w->run.s, .db = c->db};
    for (unsigned i = from; i < p->n; i++) {
        const caret_slice *argv = &p->args[p->first[i]];
        struct serve__ahead *a = &p->ahead[i];
        *a = (struct serve__ahead){
            .cmd = command_after(i > from ? a - 1 : NULL, argv), .argv = argv, .db = c->db};
        if (p->argc[i] <= 1 || a->cmd == NULL || a->cmd->first != 1)
            continue;
        if (i > from && a[-1].node != NULL && serve__same_key(p, i)) { /* it is near already */
            a->node = a[-1].node;
            continue;
        }
        if (serve__key_node(&q, &w->ahead[i], argv[1]) == CARET_OK)
            nodes[n++] = a->node = &w->ahead[i].node;
    }
    p->looked_from = from;
    p->looked_to = p->n;
    if (n >= LEAST)
        caret_prefetch(w->run.s, nodes, n);
}

static const struct serve__ahead *ahead_of(const struct serve__pipeline *p, unsigned i)
{
    return i >= p->looked_from && i < p->looked_to ? &p->ahead[i] : NULL;
}

/* What can be done for the command i and those after it together: how many were run. */
static unsigned run_ahead(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                          unsigned i, unsigned *known)
{
    if (i >= *known) {
        unsigned n = serve__get_renamed ? 0 : gets(p, i);
        *known = n > 1 ? i + n : p->n;
        if (n > 1)
            return get_many(w, c, p, i, n);
        if (p->n - i >= LEAST)
            look_ahead(w, c, p, i);
    }
    unsigned n = serve__together(w, c, p, i);
    return n > 0 ? n : serve__script_row(w, c, p, i);
}

unsigned serve__pipeline_run(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p)
{
    unsigned i = 0, known = 0; /* commands before `known` have been looked up */
    p->alone = 0;
    while (i < p->n && !(c->flags & SERVE__PIPELINE_STOPS) && serve__conn_has_room(c)) {
        unsigned n = p->n > 1 && ordinary(w, c) ? run_ahead(w, c, p, i, &known) : 0;
        i += n;
        if (n > 0)
            continue;
        serve__dispatch(w, c, &p->args[p->first[i]], p->argc[i], ahead_of(p, i));
        if (!(c->flags & (SERVE__CONN_PAUSED | SERVE__CONN_IN_LINE))) /* it was not run */
            i++;
    }
    return i;
}
