/*
 * run_yottadb.c - the front libyottadb.so of test/behaviour: its functions ..._s.
 *
 * Its errors have other names; they are those of Caret that they were made from (front/yottadb/errors.c).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"
#include "yottadb/libyottadb.h"

enum { VALUE_MAX = 17 << 20, SUB_MAX = 1200 };

/* A node as the functions take it. */
struct node {
    ydb_buffer_t name, subs[SUBS_MAX];
    int n;
};

static char value_room[VALUE_MAX];
static char sub_room[SUBS_MAX][SUB_MAX];

static ydb_buffer_t bytes(const void *p, size_t len)
{
    return (ydb_buffer_t){(unsigned)len, (unsigned)len, (char *)(uintptr_t)p};
}

static ydb_buffer_t value_buffer(void)
{
    return (ydb_buffer_t){VALUE_MAX, 0, value_room};
}

static struct node make(const struct place *p)
{
    struct node n = {.name = bytes(p->name.data, p->name.len), .n = (int)p->nsubs};

    for (size_t i = 0; i < p->nsubs; i++)
        n.subs[i] = bytes(p->subs[i].data, p->subs[i].len);
    return n;
}

/* ------------------------------------------------------------------- answers */

/* Of DBFILERR the text has the name: "...DBFILERR, READONLY: ..." */
static const char *named_in_text(void)
{
    static char text[1024], name[32];

    ydb_zstatus(text, sizeof text);
    const char *after = strstr(text, "DBFILERR, ");
    return after != NULL && sscanf(after, "DBFILERR, %31[A-Z_0-9]:", name) == 1 ? name : "DBFILERR";
}

static const char *symbol(int status)
{
    switch (status) {
    case YDB_OK: return "ok";
    case YDB_TP_RESTART: return "RESTART";
    case YDB_TP_ROLLBACK: return "ROLLBACK";
    case YDB_LOCK_TIMEOUT: return "LOCK_TIMEOUT";
    case YDB_ERR_GVUNDEF:
    case YDB_ERR_LVUNDEF:
    case YDB_ERR_NODEEND: return "none";
    case YDB_ERR_PARAMINVALID: return "INVALID";
    case YDB_ERR_INVVARNAME:
    case YDB_ERR_VARNAME2LONG: return "NAME";
    case YDB_ERR_MAXNRSUBSCRIPTS: return "MAXSUBS";
    case YDB_ERR_GVSUBOFLOW:
    case YDB_ERR_LOCKSUB2LONG:
    case YDB_ERR_KEY2BIG: return "KEY2BIG";
    case YDB_ERR_REC2BIG: return "VALUE2BIG";
    case YDB_ERR_NUMOFLOW: return "NUMOFLOW";
    case YDB_ERR_TPTOODEEP: return "TXN_TOO_DEEP";
    case YDB_ERR_CALLINAFTERXIT: return "CLOSED";
    case YDB_ERR_DBFILERR: return named_in_text();
    default: return "OTHER";
    }
}

static bool say(int status)
{
    say_word(symbol(status));
    return status != YDB_TP_RESTART;
}

static bool say_buffer(int status, const ydb_buffer_t *b)
{
    if (status != YDB_OK)
        return say(status);
    say_value(b->buf_addr, b->len_used);
    return true;
}

/* After a list. */
static bool say_end(int status)
{
    if (status == YDB_ERR_NODEEND && said_anything())
        return true;
    unsay();
    return say(status);
}

static void say_node(const struct node *n)
{
    say_name(n->name.buf_addr, n->name.len_used);
    for (int i = 0; i < n->n; i++)
        say_subscript(n->subs[i].buf_addr, n->subs[i].len_used);
}

/* -------------------------------------------------------------------- values */

typedef bool operation(const struct told *t, struct node *n);

static bool do_set(const struct told *t, struct node *n)
{
    ydb_buffer_t v = bytes(t->value.data, t->value.len);

    return say(ydb_set_s(&n->name, n->n, n->subs, &v));
}

static bool do_get(const struct told *t, struct node *n)
{
    ydb_buffer_t v = value_buffer();

    (void)t;
    int status = ydb_get_s(&n->name, n->n, n->subs, &v);
    return say_buffer(status, &v);
}

static bool do_data(const struct told *t, struct node *n)
{
    unsigned what;
    int status = ydb_data_s(&n->name, n->n, n->subs, &what);

    (void)t;
    if (status != YDB_OK)
        return say(status);
    say_number((long)what);
    return true;
}

static bool do_exists(const struct told *t, struct node *n)
{
    unsigned what;
    int status = ydb_data_s(&n->name, n->n, n->subs, &what);

    (void)t;
    if (status != YDB_OK)
        return say(status);
    say_number(what != 0);
    return true;
}

static bool do_delete(const struct told *t, struct node *n)
{
    return say(ydb_delete_s(&n->name, n->n, n->subs, told(t, "kill") ? YDB_DEL_TREE : YDB_DEL_NODE));
}

static bool do_incr(const struct told *t, struct node *n)
{
    ydb_buffer_t by = bytes(t->value.data, t->value.len), sum = value_buffer();
    int status = ydb_incr_s(&n->name, n->n, n->subs, t->has_value ? &by : NULL, &sum);

    return say_buffer(status, &sum);
}

/* --------------------------------------------------------------------- moves */

/* The node's last subscript, or name, becomes that of the sibling. */
static int to_sibling(struct node *n, bool back)
{
    static char room[SUB_MAX];
    ydb_buffer_t *last = n->n != 0 ? &n->subs[n->n - 1] : &n->name, found = {SUB_MAX, 0, room};
    int status = (back ? ydb_subscript_previous_s : ydb_subscript_next_s)(&n->name, n->n, n->subs, &found);

    if (status == YDB_OK)
        *last = found;
    return status;
}

static bool do_beside(const struct told *t, struct node *n)
{
    int status = to_sibling(n, told(t, "previous"));

    if (status != YDB_OK)
        return say(status);
    say_node(n);
    return true;
}

static void go_below(struct node *n)
{
    n->subs[n->n++] = bytes("", 0);
}

static bool do_end_child(const struct told *t, struct node *n)
{
    go_below(n);
    int status = to_sibling(n, told(t, "last"));
    if (status != YDB_OK)
        return say(status);
    say_node(n);
    return true;
}

static bool do_children(const struct told *t, struct node *n)
{
    int status;

    go_below(n);
    while ((status = to_sibling(n, told(t, "children_back"))) == YDB_OK)
        say_value(n->subs[n->n - 1].buf_addr, n->subs[n->n - 1].len_used);
    return say_end(status);
}

static int to_node(struct node *n, bool back)
{
    ydb_buffer_t found[SUBS_MAX];
    int depth = SUBS_MAX;

    static char other[SUBS_MAX][SUB_MAX]; /* as the node may be in sub_room */
    for (int i = 0; i < SUBS_MAX; i++)
        found[i] = (ydb_buffer_t){SUB_MAX, 0, other[i]};
    int status = (back ? ydb_node_previous_s : ydb_node_next_s)(&n->name, n->n, n->subs, &depth, found);
    if (status != YDB_OK)
        return status;
    n->n = depth;
    for (int i = 0; i < depth; i++) {
        memcpy(sub_room[i], other[i], found[i].len_used);
        n->subs[i] = bytes(sub_room[i], found[i].len_used);
    }
    return status;
}

static bool do_node_step(const struct told *t, struct node *n)
{
    int status = to_node(n, told(t, "node_previous"));

    if (status != YDB_OK)
        return say(status);
    say_node(n);
    return true;
}

static bool same(const ydb_buffer_t *a, const ydb_buffer_t *b)
{
    return a->len_used == b->len_used && memcmp(a->buf_addr, b->buf_addr, a->len_used) == 0;
}

static bool in_tree(const struct node *n, const struct place *root)
{
    bool in = n->n >= (int)root->nsubs;

    for (size_t i = 0; i < root->nsubs && in; i++) {
        ydb_buffer_t sub = bytes(root->subs[i].data, root->subs[i].len);
        in = same(&n->subs[i], &sub);
    }
    return in;
}

/* fn for each node with a value at the place and below. */
static int each(const struct place *root,
                int (*fn)(const struct node *n, const ydb_buffer_t *v, const void *arg), const void *arg)
{
    struct node n = make(root);
    ydb_buffer_t v = value_buffer();
    int status = ydb_get_s(&n.name, n.n, n.subs, &v);

    if (status == YDB_ERR_GVUNDEF || status == YDB_ERR_LVUNDEF)
        status = to_node(&n, false);
    while (status == YDB_OK && in_tree(&n, root)) {
        v = value_buffer();
        status = ydb_get_s(&n.name, n.n, n.subs, &v);
        if (status == YDB_OK)
            status = fn(&n, &v, arg);
        if (status == YDB_OK)
            status = to_node(&n, false);
    }
    return status == YDB_OK ? YDB_ERR_NODEEND : status;
}

static int say_pair(const struct node *n, const ydb_buffer_t *v, const void *arg)
{
    (void)arg;
    say_node(n);
    say_its_value(v->buf_addr, v->len_used);
    return YDB_OK;
}

static bool do_walk(const struct told *t, struct node *n)
{
    (void)n;
    return say_end(each(&t->nodes[0], say_pair, NULL));
}

static bool do_walk_back(const struct told *t, struct node *n)
{
    ydb_buffer_t v = value_buffer();
    int status;

    (void)t;
    for (go_below(n); to_sibling(n, true) == YDB_OK; go_below(n)) {
        ydb_buffer_t *last = &n->subs[n->n - 1];
        memcpy(sub_room[n->n - 1], last->buf_addr, last->len_used);
        last->buf_addr = sub_room[n->n - 1];
    }
    n->n--;
    while ((status = ydb_get_s(&n->name, n->n, n->subs, &v)) == YDB_OK) {
        say_pair(n, &v, NULL);
        status = to_node(n, true);
        if (status != YDB_OK)
            break;
        v = value_buffer();
    }
    return say_end(status == YDB_OK || status == YDB_ERR_GVUNDEF || status == YDB_ERR_LVUNDEF
                       ? YDB_ERR_NODEEND
                       : status);
}

/* From the first name there can be. */
static bool do_variables(const struct told *t, struct node *n)
{
    const char *first = told(t, "locals") ? "%" : "^%";
    unsigned what = 0;
    int status;

    *n = (struct node){.name = bytes(first, strlen(first))};
    status = ydb_data_s(&n->name, 0, NULL, &what);
    if (status == YDB_OK && what != 0)
        say_node(n);
    while (status == YDB_OK && (status = to_sibling(n, false)) == YDB_OK)
        say_node(n);
    return say_end(status);
}

struct goal {
    const struct place *to, *from;
};

static int set_at(const struct node *n, const ydb_buffer_t *v, const void *arg)
{
    const struct goal *g = arg;
    struct node to = make(g->to);

    for (int i = (int)g->from->nsubs; i < n->n; i++)
        to.subs[to.n++] = n->subs[i];
    return ydb_set_s(&to.name, to.n, to.subs, v);
}

/* There is no function for it: as README.md says it. */
static bool do_merge(const struct told *t, struct node *n)
{
    struct goal g = {&t->nodes[0], &t->nodes[1]};
    int status = each(g.from, set_at, &g);

    (void)n;
    return say(status == YDB_ERR_NODEEND ? YDB_OK : status);
}

static bool do_zwr(const struct told *t, struct node *n)
{
    ydb_buffer_t in = bytes(t->value.data, t->value.len), out = value_buffer();
    int status = (told(t, "zwr") ? ydb_str2zwr_s : ydb_zwr2str_s)(&in, &out);

    (void)n;
    if (status == YDB_ERR_PARAMINVALID) {
        say_word("SYNTAX");
        return true;
    }
    return say_buffer(status, &out);
}

/* --------------------------------------------------------------------- locks */

static unsigned long long nanoseconds(const char *seconds)
{
    return (unsigned long long)(strtod(seconds, NULL) * 1e9);
}

static bool do_lock(const struct told *t, struct node *n)
{
    return say(told(t, "lock") ? ydb_lock_incr_s(nanoseconds(t->word), &n->name, n->n, n->subs)
                               : ydb_lock_decr_s(&n->name, n->n, n->subs));
}

/* As many as there are, by the function for callers that know the number only when they run. */
static bool do_lock_all(const struct told *t, struct node *n)
{
    struct node nodes[10];
    gparam_list list = {.n = 2};

    (void)n;
    if (t->nnodes > 10) {
        say_word("UNKNOWN");
        return true;
    }
    list.arg[0] = (void *)(uintptr_t)nanoseconds(t->word);
    list.arg[1] = (void *)t->nnodes;
    for (size_t i = 0; i < t->nnodes; i++) {
        nodes[i] = make(&t->nodes[i]);
        list.arg[list.n++] = &nodes[i].name;
        list.arg[list.n++] = (void *)(intptr_t)nodes[i].n;
        list.arg[list.n++] = nodes[i].subs;
    }
    int status = ydb_call_variadic_plist_func((ydb_vplist_func)(uintptr_t)ydb_lock_s, &list);
    return say(status);
}

/* -------------------------------------------------------------- transactions */

static bool do_level(const struct told *t, struct node *n)
{
    *n = (struct node){.name = told(t, "level") ? bytes("$TLEVEL", 7) : bytes("$TRESTART", 9)};
    return do_get(t, n);
}

static int nested(void *depth)
{
    return --*(int *)depth == 0 ? YDB_OK : ydb_tp_s(nested, depth, NULL, 0, NULL);
}

static bool do_nest(const struct told *t, struct node *n)
{
    int depth = atoi(t->word);

    (void)n;
    return say(ydb_tp_s(nested, &depth, NULL, 0, NULL));
}

enum { FAILURE = 12345 };

static int run_body(void *arg)
{
    static const int codes[] = {YDB_OK, YDB_TP_ROLLBACK, FAILURE, YDB_TP_RESTART};
    body_fn **body = arg;

    return codes[(*body)()];
}

static const char *transaction(const struct told *t, body_fn *body)
{
    ydb_buffer_t all = bytes("*", 1);
    int status = ydb_tp_s(run_body, &body, NULL, strcmp(t->word, "restore") == 0, &all);

    return status == FAILURE ? "FAILED" : symbol(status);
}

/* --------------------------------------------------------------- the whole of it */

/* $BEHAVIOUR_CALLS names a routine of a call-in table: as soon as M has been called, it keeps the local variables. */
static bool open_it(const char *path, bool readonly)
{
    const char *routine = getenv("BEHAVIOUR_CALLS");

    return !readonly && setenv("ydb_gbldir", path, 1) == 0 && ydb_init() == YDB_OK &&
           (routine == NULL || ydb_ci(routine) == YDB_OK);
}

static void close_it(void)
{
    ydb_exit();
}

static bool do_close(const struct told *t, struct node *n)
{
    (void)t, (void)n;
    return say(ydb_exit());
}

static bool do_clear(const struct told *t, struct node *n)
{
    int status = ydb_lock_s(0, 0), found;

    (void)t;
    for (int local = 0; local < 2 && status == YDB_OK; local++)
        do {
            const char *first = local ? "%" : "^%";
            *n = (struct node){.name = bytes(first, strlen(first))};
            status = ydb_delete_s(&n->name, 0, NULL, YDB_DEL_TREE);
            found = to_sibling(n, false);
            if (status == YDB_OK && found == YDB_OK)
                status = ydb_delete_s(&n->name, 0, NULL, YDB_DEL_TREE);
        } while (status == YDB_OK && found == YDB_OK);
    return say(status);
}

static const struct {
    const char *op;
    operation *run;
} operations[] = {
    {"set", do_set},
    {"get", do_get},
    {"data", do_data},
    {"exists", do_exists},
    {"delete", do_delete},
    {"kill", do_delete},
    {"incr", do_incr},
    {"incr_m", do_incr},
    {"merge", do_merge},
    {"next", do_beside},
    {"previous", do_beside},
    {"first", do_end_child},
    {"last", do_end_child},
    {"node_next", do_node_step},
    {"node_previous", do_node_step},
    {"children", do_children},
    {"children_back", do_children},
    {"walk", do_walk},
    {"walk_back", do_walk_back},
    {"variables", do_variables},
    {"locals", do_variables},
    {"zwr", do_zwr},
    {"unzwr", do_zwr},
    {"lock", do_lock},
    {"unlock", do_lock},
    {"unlock_all", do_lock_all},
    {"lock_all", do_lock_all},
    {"level", do_level},
    {"restarts", do_level},
    {"nest", do_nest},
    {"close", do_close},
    {"clear", do_clear},
};

static bool perform(const struct told *t)
{
    static struct node n;

    if (t->nnodes != 0)
        n = make(&t->nodes[0]);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (told(t, operations[i].op))
            return operations[i].run(t, &n);
    say_word("UNKNOWN");
    return true;
}

int main(int argc, char **argv)
{
#ifdef CARET_SMALL
    static const char names[] = "yottadb small";
#else
    static const char names[] = "yottadb";
#endif
    static const struct front front = {
        .names = names, .open = open_it, .close = close_it, .perform = perform, .transaction = transaction};

    return serve(&front, argc, argv);
}
