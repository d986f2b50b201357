/*
 * run_c.c - the front caret.h of test/behaviour.
 *
 * Where several functions say the same they are all called: a value is read by caret_get, caret_get_copy and
 * caret_get_many, a step is made by caret_next and caret_next_get.  If they differ the answer is DIFFERENT.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caret.h"
#include "front.h"
#ifdef CARET_TEST_STORE
#include "support/memory_store.h"
#endif

static caret_db *db;
static caret_session *s;

/* ------------------------------------------------------------------- answers */

static bool say(int rc)
{
    say_word(rc == CARET_OK ? "ok" : rc == CARET_NONE ? "none" : caret_strerror(rc));
    return rc != CARET_RESTART;
}

/* After a list: what ended it counts if it is an error, or if there was nothing. */
static bool say_end(int rc)
{
    if (rc == CARET_NONE && said_anything())
        return true;
    unsay();
    return say(rc);
}

static bool say_different(void)
{
    unsay();
    say_word("DIFFERENT");
    return true;
}

static int make(const struct place *p, caret_node_buf *n)
{
    int rc = caret_node_var(&n->node, sizeof *n, p->name.data, p->name.len);

    for (size_t i = 0; i < p->nsubs && rc == CARET_OK; i++)
        rc = caret_node_child(&n->node, sizeof *n, &n->node, p->subs[i].data, p->subs[i].len);
    return rc;
}

static size_t subscript(const caret_node *n, unsigned i, char room[CARET_NODE_MAX])
{
    size_t len = 0;

    caret_node_subscript(n, i, room, CARET_NODE_MAX, &len, NULL);
    return len;
}

static void say_node(const caret_node *n)
{
    char room[CARET_MAX_NAME + 2], sub[CARET_NODE_MAX];
    caret_slice name = caret_node_name(n, room);

    say_name(name.data, name.len);
    for (unsigned i = 0; i < caret_node_depth(n); i++) {
        size_t len = subscript(n, i, sub);
        say_subscript(sub, len);
    }
}

static void say_pair(const caret_node *n, caret_slice v)
{
    say_node(n);
    say_its_value(v.data, v.len);
}

/* -------------------------------------------------------------------- values */

/* Each operation gets what it was told, and the first node that is named, made. */
typedef bool operation(const struct told *t, caret_node *n);

static bool do_set(const struct told *t, caret_node *n)
{
    return say(caret_set(s, n, t->value.data, t->value.len));
}

static bool get_copy_agrees(caret_node *n, size_t had)
{
    caret_slice many;
    size_t len = 0;
    char *copy = malloc(had + 1);
    bool agrees = copy != NULL && caret_get_copy(s, n, copy, had, &len) == CARET_OK && len == had &&
                  caret_get_many(s, &n, 1, &many) == CARET_OK && many.len == had &&
                  (had == 0 || memcmp(copy, many.data, had) == 0);

    free(copy);
    return agrees;
}

static bool do_get(const struct told *t, caret_node *n)
{
    caret_slice v;
    int rc = caret_get(s, n, &v);

    (void)t;
    if (rc != CARET_OK)
        return say(rc);
    say_value(v.data, v.len);
    return get_copy_agrees(n, v.len) ? true : say_different();
}

/* The second node may be anywhere. */
static bool do_get2(const struct told *t, caret_node *n)
{
    caret_node_buf other;
    caret_slice v[2], w;
    int rc = make(&t->nodes[1], &other);

    if (rc == CARET_OK)
        rc = caret_get2(s, n, &other.node, &v[0], &v[1]);
    if (rc != CARET_OK)
        return say(rc);
    for (int i = 0; i < 2; i++)
        if (v[i].data != NULL)
            say_value(v[i].data, v[i].len);
        else
            say_word("none");
    rc = caret_get(s, &other.node, &w);
    if (rc == CARET_RESTART)
        return say(rc);
    bool agrees =
        rc == (v[1].data != NULL ? CARET_OK : CARET_NONE) && (rc == CARET_NONE || w.len == v[1].len);
    return agrees ? true : say_different();
}

/* What was there, and whether the value was put. */
static bool do_put(const struct told *t, caret_node *n)
{
    int flags = (strstr(t->word, "absent") != NULL ? CARET_PUT_ABSENT : 0) |
                (strstr(t->word, "present") != NULL ? CARET_PUT_PRESENT : 0) |
                (strstr(t->word, "childless") != NULL ? CARET_PUT_CHILDLESS : 0);
    caret_slice old;
    int before, had, rc = caret_data(s, n, &before);

    if (rc == CARET_OK)
        rc = caret_put(s, n, t->value.data, t->value.len, flags, &had, &old);
    if (rc != CARET_OK && rc != CARET_NONE)
        return say(rc);
    if (rc == CARET_NONE)
        say_word("REFUSED");
    say_number(had);
    if (old.data != NULL)
        say_value(old.data, old.len);
    else
        say_word("none");
    return had == before ? true : say_different();
}

static bool do_exists(const struct told *t, caret_node *n)
{
    int what, rc = caret_data(s, n, &what);

    (void)t;
    if (rc != CARET_OK)
        return say(rc);
    say_number(what != 0);
    return true;
}

static bool do_data(const struct told *t, caret_node *n)
{
    int what, rc = caret_data(s, n, &what);

    (void)t;
    if (rc != CARET_OK)
        return say(rc);
    say_number(what);
    return true;
}

static bool do_delete(const struct told *t, caret_node *n)
{
    (void)t;
    return say(caret_delete(s, n));
}

static bool do_kill(const struct told *t, caret_node *n)
{
    (void)t;
    return say(caret_kill(s, n));
}

static bool do_incr(const struct told *t, caret_node *n)
{
    caret_slice sum;
    const char *by = t->has_value ? t->value.data : "1";
    size_t len = t->has_value ? t->value.len : 1;
    int rc = told(t, "incr_m") ? caret_incr_m(s, n, by, len, &sum) : caret_incr(s, n, by, len, &sum);

    if (rc != CARET_OK)
        return say(rc);
    say_value(sum.data, sum.len);
    return true;
}

static bool do_incr_strict(const struct told *t, caret_node *n)
{
    int64_t sum;
    int rc = caret_incr_int(s, n, strtoll(t->value.data, NULL, 10), CARET_INCR_STRICT, &sum);

    if (rc != CARET_OK)
        return say(rc);
    say_number((long)sum);
    return true;
}

/* --------------------------------------------------------------------- moves */

typedef int step(caret_session *, caret_node *);
typedef int step_get(caret_session *, caret_node *, caret_slice *);

static const struct {
    const char *op;
    step *move;
    step_get *move_get;
} steps[] = {{"next", caret_next, caret_next_get},
             {"previous", caret_previous, caret_previous_get},
             {"node_next", caret_node_next, caret_node_next_get},
             {"node_previous", caret_node_previous, caret_node_previous_get},
             {"first", caret_first, NULL},
             {"last", caret_last, NULL}};

/* Does the step that reads the value as well come to the same? */
static bool step_agrees(caret_node *from, step_get *move_get, int rc, caret_node *to)
{
    caret_slice v, w;

    if (move_get(s, from, &v) != rc)
        return false;
    if (rc != CARET_OK)
        return true;
    size_t len = v.len;
    bool valued = v.data != NULL;
    bool has = caret_get(s, to, &w) == CARET_OK;
    return caret_node_equal(from, to) && has == valued && (!has || w.len == len);
}

static bool do_step(const struct told *t, caret_node *n)
{
    caret_node_buf from;
    size_t i = 0;

    while (!told(t, steps[i].op))
        i++;
    caret_node_copy(&from.node, sizeof from, n);
    int rc = steps[i].move(s, n);
    if (rc == CARET_RESTART)
        return say(rc);
    if (steps[i].move_get != NULL && !step_agrees(&from.node, steps[i].move_get, rc, n))
        return say_different();
    if (rc != CARET_OK)
        return say(rc);
    say_node(n);
    return true;
}

static bool do_children(const struct told *t, caret_node *n)
{
    bool back = told(t, "children_back");
    char sub[CARET_NODE_MAX];
    int rc = back ? caret_last(s, n) : caret_first(s, n);

    while (rc == CARET_OK) {
        size_t len = subscript(n, caret_node_depth(n) - 1, sub);
        say_value(sub, len);
        rc = back ? caret_previous(s, n) : caret_next(s, n);
    }
    return say_end(rc);
}

/* Those that come up in so many tries. */
static bool do_random(const struct told *t, caret_node *n)
{
    enum { TRIES = 300, MOST = 32 };
    caret_node_buf child;
    bool seen[MOST] = {false};
    size_t i = 0;
    int rc = CARET_OK;

    (void)t;
    for (uint64_t try = 0, r = 1; try < TRIES && rc == CARET_OK; try++) {
        r = r * UINT64_C(6364136223846793005) + 1442695040888963407;
        caret_node_copy(&child.node, sizeof child, n);
        rc = caret_random_child(s, &child.node, r ^ r >> 32);
        for (i = 0; rc == CARET_OK && (rc = caret_previous(s, &child.node)) == CARET_OK; i++)
            ;
        if (rc == CARET_NONE && caret_node_depth(&child.node) > caret_node_depth(n)) {
            seen[i % MOST] = true;
            rc = CARET_OK;
        }
    }
    if (rc != CARET_OK)
        return say_end(rc);
    rc = caret_first(s, n);
    for (i = 0; rc == CARET_OK; i++, rc = caret_next(s, n))
        if (seen[i % MOST])
            say_node(n);
    return say_end(rc);
}

/* Is n the root or below it? */
static bool in_tree(const caret_node *n, const caret_node *root)
{
    caret_node_buf up;

    caret_node_copy(&up.node, sizeof up, n);
    while (caret_node_depth(&up.node) > caret_node_depth(root))
        caret_node_parent(&up.node, sizeof up, &up.node);
    return caret_node_equal(&up.node, root);
}

/* The first node with a value at n or below; from it caret_node_next_get() goes on. */
static int walk_begin(caret_node *n, caret_slice *v)
{
    int rc = caret_get(s, n, v);

    return rc == CARET_NONE ? caret_node_next_get(s, n, v) : rc;
}

static bool do_walk(const struct told *t, caret_node *n)
{
    caret_node_buf root;
    caret_slice v;

    (void)t;
    caret_node_copy(&root.node, sizeof root, n);
    int rc = walk_begin(n, &v);
    while (rc == CARET_OK && in_tree(n, &root.node)) {
        say_pair(n, v);
        rc = caret_node_next_get(s, n, &v);
    }
    return say_end(rc == CARET_OK ? CARET_NONE : rc);
}

/* From the end of the tree back to the variable's own node. */
static bool do_walk_back(const struct told *t, caret_node *n)
{
    caret_slice v;
    int rc;

    (void)t;
    while ((rc = caret_last(s, n)) == CARET_OK)
        ;
    if (rc == CARET_NONE && caret_get(s, n, &v) == CARET_OK)
        for (rc = CARET_OK; rc == CARET_OK; rc = caret_node_previous_get(s, n, &v))
            say_pair(n, v);
    return say_end(rc);
}

static bool do_variables(const struct told *t, caret_node *n)
{
    caret_node_buf first;
    int rc = caret_first_var(s, &first.node, sizeof first, told(t, "locals"));

    (void)n;
    for (; rc == CARET_OK; rc = caret_next(s, &first.node))
        say_node(&first.node);
    return say_end(rc);
}

static bool do_subtree(const struct told *t, caret_node *n)
{
    caret_node_buf from;
    int rc = make(&t->nodes[1], &from);

    if (rc != CARET_OK)
        return say(rc);
    return say(told(t, "copy")   ? caret_copy(s, n, &from.node)
               : told(t, "move") ? caret_move(s, n, &from.node)
                                 : caret_merge(s, n, &from.node));
}

/* What is told of a range: two children, or a node and a prefix.  n becomes the parent. */
struct bounds {
    char texts[2][CARET_NODE_MAX];
    caret_slice from, to;
    int flags;
};

static int read_bounds(const struct told *t, caret_node *n, struct bounds *b)
{
    caret_node_buf to;
    int rc;

    b->to = (caret_slice){NULL, 0};
    b->flags = strstr(t->op, "before") != NULL ? CARET_RANGE_BEFORE : 0;
    if (t->has_value) {
        b->from = (caret_slice){t->value.data, t->value.len};
        b->flags = CARET_RANGE_PREFIX;
        return CARET_OK;
    }
    rc = make(&t->nodes[1], &to);
    if (rc != CARET_OK)
        return rc;
    b->from = (caret_slice){b->texts[0], subscript(n, caret_node_depth(n) - 1, b->texts[0])};
    b->to = (caret_slice){b->texts[1], subscript(&to.node, caret_node_depth(n) - 1, b->texts[1])};
    return caret_node_parent(n, CARET_NODE_MAX, n);
}

static bool do_kill_range(const struct told *t, caret_node *n)
{
    struct bounds b;
    int rc = read_bounds(t, n, &b);

    return say(rc == CARET_OK ? caret_kill_range(s, n, &b.from, &b.to, b.flags) : rc);
}

static bool do_range(const struct told *t, caret_node *n)
{
    bool back = strstr(t->op, "back") != NULL;
    char sub[CARET_NODE_MAX];
    struct bounds b;
    int rc = read_bounds(t, n, &b);

    if (rc == CARET_OK)
        rc = (back ? caret_last_in : caret_first_in)(s, n, &b.from, &b.to, b.flags);
    while (rc == CARET_OK && caret_node_in(n, &b.from, &b.to, b.flags)) {
        size_t len = subscript(n, caret_node_depth(n) - 1, sub);
        say_value(sub, len);
        rc = back ? caret_previous(s, n) : caret_next(s, n);
    }
    return say_end(rc == CARET_OK ? CARET_NONE : rc);
}

static bool do_count(const struct told *t, caret_node *n)
{
    uint64_t count;
    int rc = caret_count(s, n, &count);

    (void)t;
    if (rc != CARET_OK)
        return say(rc);
    say_number((long)count);
    return true;
}

/* ---------------------------------------------------------------------- text */

static bool say_text(int rc, const char *text, size_t len)
{
    if (rc != CARET_OK)
        return say(rc);
    say_value(text, len);
    return true;
}

static bool do_text(const struct told *t, caret_node *n)
{
    char room[8 * CARET_NODE_MAX];
    size_t len = 0;

    (void)t;
    int rc = caret_node_zwr(n, 1, room, sizeof room, &len);
    return say_text(rc, room, len);
}

static bool do_zwr(const struct told *t, caret_node *n)
{
    size_t len = 0, cap = 8 * t->value.len + 16;
    char *room = malloc(cap);
    const struct text *v = &t->value;
    int rc = told(t, "zwr") ? caret_str2zwr(v->data, v->len, 0, room, cap, &len)
                            : caret_zwr2str(v->data, v->len, 0, room, cap, &len);

    (void)n;
    bool on = say_text(rc, room, len);
    free(room);
    return on;
}

static bool do_parse(const struct told *t, caret_node *n)
{
    caret_node_buf read;
    int rc = caret_node_parse(&read.node, sizeof read, t->value.data, t->value.len, 0);

    (void)n;
    if (rc != CARET_OK)
        return say(rc);
    say_node(&read.node);
    return true;
}

static bool do_float(const struct told *t, caret_node *n)
{
    caret_node_buf x;
    char sub[CARET_NODE_MAX];
    int rc = caret_node_var(&x.node, sizeof x, "x", 1);

    (void)n;
    if (rc == CARET_OK)
        rc = caret_node_child_double(&x.node, sizeof x, &x.node, strtod(t->word, NULL));
    return rc == CARET_OK ? say_text(rc, sub, subscript(&x.node, 0, sub)) : say(rc);
}

/* --------------------------------------------------------------------- locks */

static uint64_t nanoseconds(const char *seconds)
{
    return (uint64_t)(strtod(seconds, NULL) * 1e9);
}

static bool do_lock(const struct told *t, caret_node *n)
{
    return say(told(t, "lock") ? caret_lock(s, n, nanoseconds(t->word)) : caret_unlock(s, n));
}

static bool do_lock_list(const struct told *t, caret_node *n)
{
    static caret_node_buf room[NODES_MAX];
    const caret_node *nodes[NODES_MAX];
    int rc = CARET_OK;

    (void)n;
    for (size_t i = 0; i < t->nnodes && rc == CARET_OK; i++) {
        rc = make(&t->nodes[i], &room[i]);
        nodes[i] = &room[i].node;
    }
    if (rc == CARET_OK && told(t, "lock_all"))
        rc = caret_lock_all(s, nodes, t->nnodes, nanoseconds(t->word));
    else if (rc == CARET_OK)
        rc = told(t, "unlock_all") ? caret_unlock_all(s)
                                   : caret_lock_more(s, nodes, t->nnodes, nanoseconds(t->word));
    return say(rc);
}

/* ------------------------------------------------------------------- waiting */

/* From the last place that was taken. */
static bool do_wait(const struct told *t, caret_node *n)
{
    static uint64_t place;

    return say(told(t, "place") ? caret_durable(db, NULL, &place)
                                : caret_wait(s, n, place, nanoseconds(t->word)));
}

/* -------------------------------------------------------------- transactions */

static bool do_level(const struct told *t, caret_node *n)
{
    (void)n;
    say_number(told(t, "level") ? (long)caret_txn_level(s) : (long)caret_txn_restarts(s));
    return true;
}

static int nested(caret_session *session, void *depth)
{
    return --*(int *)depth == 0 ? CARET_OK : caret_transaction(session, nested, depth, 0);
}

static bool do_nest(const struct told *t, caret_node *n)
{
    int depth = atoi(t->word);

    (void)n;
    return say(caret_transaction(s, nested, &depth, 0));
}

/* Outside of a transaction. */
static bool do_end(const struct told *t, caret_node *n)
{
    (void)n;
    say(told(t, "commit") ? caret_commit(s) : told(t, "restart") ? caret_restart(s) : caret_rollback(s));
    return true;
}

struct body {
    body_fn *fn;
    enum end end;
    bool restore;
};

static int run_body(caret_session *session, void *arg)
{
    static const int codes[] = {CARET_OK, CARET_ROLLBACK, CARET_E_EXISTS, CARET_RESTART};
    struct body *b = arg;

    if (b->restore && caret_txn_level(session) == 1 && caret_txn_restarts(session) == 0)
        caret_txn_restore_locals(session, 1);
    b->end = b->fn();
    return codes[b->end];
}

static const char *transaction(const struct told *t, body_fn *fn)
{
    struct body b = {.fn = fn, .restore = strcmp(t->word, "restore") == 0};
    int rc = caret_transaction(s, run_body, &b, told(t, "snapshot") ? CARET_TXN_SNAPSHOT : 0);

    return rc == CARET_OK ? "ok" : rc == CARET_E_EXISTS && b.end == END_FAIL ? "FAILED" : caret_strerror(rc);
}

/* --------------------------------------------------------------- the whole of it */

static bool open_it(const char *path, bool readonly)
{
    caret_options o = {
        .size = sizeof o, .sync = readonly ? CARET_SYNC_INTERVAL : CARET_SYNC_OFF, .readonly = readonly};

    if (caret_open(path, &o, &db) == CARET_OK && caret_session_open(db, &s) == CARET_OK)
        return true;
    fprintf(stderr, "%s\n", caret_message());
    return false;
}

static void close_it(void)
{
    caret_session_close(s);
    if (caret_close(db) != CARET_OK)
        fprintf(stderr, "%s\n", caret_message());
}

static bool do_close(const struct told *t, caret_node *n)
{
    int rc = caret_close(db);

    (void)t, (void)n;
    db = NULL;
    return say(rc);
}

static bool do_clear(const struct told *t, caret_node *n)
{
    caret_node_buf var;
    int rc = caret_unlock_all(s);

    (void)t, (void)n;
    for (int local = 0; local < 2 && rc == CARET_OK; local++)
        while (rc == CARET_OK && caret_first_var(s, &var.node, sizeof var, local) == CARET_OK)
            rc = caret_kill(s, &var.node);
    return say(rc);
}

static const struct {
    const char *op;
    operation *run;
} operations[] = {
    {"set", do_set},
    {"get", do_get},
    {"get2", do_get2},
    {"put", do_put},
    {"data", do_data},
    {"exists", do_exists},
    {"delete", do_delete},
    {"kill", do_kill},
    {"incr", do_incr},
    {"incr_m", do_incr},
    {"incr_strict", do_incr_strict},
    {"merge", do_subtree},
    {"copy", do_subtree},
    {"move", do_subtree},
    {"count", do_count},
    {"kill_range", do_kill_range},
    {"kill_before", do_kill_range},
    {"kill_prefix", do_kill_range},
    {"range", do_range},
    {"range_back", do_range},
    {"prefix", do_range},
    {"prefix_back", do_range},
    {"next", do_step},
    {"previous", do_step},
    {"first", do_step},
    {"last", do_step},
    {"node_next", do_step},
    {"node_previous", do_step},
    {"random", do_random},
    {"children", do_children},
    {"children_back", do_children},
    {"walk", do_walk},
    {"walk_back", do_walk_back},
    {"text", do_text},
    {"variables", do_variables},
    {"locals", do_variables},
    {"zwr", do_zwr},
    {"unzwr", do_zwr},
    {"parse", do_parse},
    {"float", do_float},
    {"lock", do_lock},
    {"unlock", do_lock},
    {"unlock_all", do_lock_list},
    {"lock_all", do_lock_list},
    {"lock_more", do_lock_list},
    {"place", do_wait},
    {"wait", do_wait},
    {"level", do_level},
    {"restarts", do_level},
    {"nest", do_nest},
    {"commit", do_end},
    {"rollback", do_end},
    {"restart", do_end},
    {"close", do_close},
    {"clear", do_clear},
};

static bool perform(const struct told *t)
{
    caret_node_buf n;
    int rc = t->nnodes != 0 ? make(&t->nodes[0], &n) : CARET_OK;

    if (rc != CARET_OK)
        return say(rc);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (told(t, operations[i].op))
            return operations[i].run(t, &n.node);
    say_word("UNKNOWN");
    return true;
}

#ifdef CARET_SMALL
#define NAMES "c small"
#else
#define NAMES "c"
#endif

/* With a first argument "memory" it is a database without a file, with "store" one of the tests' own store; both have
 * one session alone. */
int main(int argc, char **argv)
{
    static struct front front = {
        .names = NAMES, .open = open_it, .close = close_it, .perform = perform, .transaction = transaction};
    static char memory[] = ":memory:", store[] = "test://behaviour";
    bool in_store = argc == 4 && strcmp(argv[1], "store") == 0;

    if (in_store || (argc == 4 && strcmp(argv[1], "memory") == 0)) {
        argv[2] = in_store ? store : memory;
        argc--;
        argv++;
        front.names = in_store ? NAMES " alone store" : NAMES " alone";
    }
#ifdef CARET_TEST_STORE
    memory_store_install();
#endif
    return serve(&front, argc, argv);
}
