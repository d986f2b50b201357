/*
 * differ.c - the same operations on two databases, as a rule a file and one by an address: do they answer alike?
 *
 *     differ DATABASE DATABASE FIRST-SEED SEEDS [large]
 *
 * Each seed is some dozens of random operations on few nodes, so that they meet: reads, steps in all ways, changes,
 * kills, increments, subtrees, ranges, transactions within each other that are committed and rolled back.  Subscripts
 * are of every kind: numbers of any size and sign, strings of any bytes, the empty one, and so long that keys have the
 * 1,015 bytes that are the most, and one more.  `large`: some values have up to 16 MiB, and one byte more.
 * After each operation both have said the same: return code, node, value, number.  After each seed all nodes are
 * compared.  The first difference ends it with status 1, and tells seed and operation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "caret.h"

enum { OPERATIONS = 60, SUBS = 3, TEXT = 1100 };

/* What an operation is about; the same for both. */
struct what {
    unsigned op, nsubs, nsubs2, flags;
    size_t len; /* of the value */
    struct sub {
        char text[TEXT];
        size_t len;
    } sub[SUBS], sub2[SUBS];
};

struct answer {
    int rc, number;
    uint64_t count;
    size_t len, node_len;
    char node[5000];
    char *value; /* of the session, or NULL */
};

static struct caret__rand r;
static bool large;
static unsigned level;                      /* of transactions, of both */
static char *bytes;                         /* for values */
static const size_t most = (16u << 20) + 1; /* bytes */

static uint32_t below(uint32_t n)
{
    return caret__rand_below(&r, n);
}

/* ------------------------------------------------------------------ choosing */

static void choose_number(struct sub *s)
{
    static const char *const forms[] = {"%d", "-%d", "%d.5", "-.%d5", "%dE20", "-%dE-30", "0%d", "%d.0"};
    s->len =
        (size_t)snprintf(s->text, sizeof s->text, forms[below(8)], below(3) == 0 ? below(1000000) : below(4));
}

/* The first bytes are few, so that some meet. */
static void choose_string(struct sub *s, uint32_t len)
{
    s->len = len;
    for (size_t i = 0; i < s->len; i++)
        s->text[i] = (char)(below(3) == 0 ? below(256) : i < 2 ? 'a' + below(2) : below(2) * 255);
}

static void choose_sub(struct sub *s)
{
    switch (below(8)) {
    case 0: choose_string(s, below(8)); return;
    case 1: choose_string(s, below(30) == 0 ? 990 + below(30) : below(40)); return;
    case 2: choose_string(s, below(3)); return;
    case 3: s->len = 0; return;
    default: choose_number(s);
    }
}

static size_t choose_len(void)
{
    if (large && below(20) == 0)
        return below(4) == 0 ? most - below(2) : 4 * below(1u << 20);
    return below(10) == 0 ? below(20000) : below(12);
}

static void choose(struct what *w)
{
    w->op = below(32);
    w->nsubs = below(SUBS + 1);
    w->nsubs2 = below(SUBS + 1);
    w->flags = below(64);
    w->len = choose_len();
    for (unsigned i = 0; i < SUBS; i++) {
        choose_sub(&w->sub[i]);
        choose_sub(&w->sub2[i]);
    }
    caret__rand_bytes(&r, bytes, w->len < 64 ? w->len : 64);
    if (below(2) == 0)
        w->len = (size_t)snprintf(bytes, most, "%d.%d oaks", (int)below(2000) - 1000, below(100));
}

/* ---------------------------------------------------------------------- doing */

static int make(caret_node_buf *n, const struct sub *sub, unsigned nsubs)
{
    int rc = caret_node_var(&n->node, sizeof *n, "^differ", 7);

    for (unsigned i = 0; i < nsubs && rc == CARET_OK; i++)
        rc = caret_node_child(&n->node, sizeof *n, &n->node, sub[i].text, sub[i].len);
    return rc;
}

static void keep_value(struct answer *a, const caret_slice *v)
{
    if (a->rc != CARET_OK || v->data == NULL)
        return;
    a->value = malloc(v->len + 1);
    if (a->value == NULL)
        exit(2);
    memcpy(a->value, v->data, v->len);
    a->len = v->len;
}

static void keep_node(struct answer *a, const caret_node *n)
{
    caret_node_zwr(n, 0, a->node, sizeof a->node, &a->node_len);
}

static void do_move(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    static int (*const moves[])(caret_session *, caret_node *) = {
        caret_next, caret_previous, caret_first, caret_last, caret_node_next, caret_node_previous};
    static int (*const steps[])(caret_session *, caret_node *, caret_slice *) = {
        caret_next_get, caret_previous_get, caret_node_next_get, caret_node_previous_get};
    caret_slice v = {0};

    for (unsigned i = 0; i <= w->flags % 5 && a->rc == CARET_OK; i++)
        a->rc = w->flags & 32 ? moves[w->flags % 6](s, n) : steps[w->flags % 4](s, n, &v);
    keep_value(a, &v);
    keep_node(a, n);
}

static void do_range(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    caret_slice from = {w->sub2[0].text, w->sub2[0].len}, to = {w->sub2[1].text, w->sub2[1].len};
    bool prefix = w->flags & 1;
    int flags = prefix ? CARET_RANGE_PREFIX : w->flags & 2 ? CARET_RANGE_BEFORE : 0;
    const caret_slice *end = prefix ? NULL : &to;

    if (w->op % 3 == 0)
        a->rc = caret_kill_range(s, n, &from, end, flags);
    else if (w->op % 3 == 1)
        a->rc = caret_first_in(s, n, &from, end, flags);
    else
        a->rc = caret_last_in(s, n, &from, end, flags);
    keep_node(a, n);
}

static void do_subtree(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    static int (*const ways[])(caret_session *, const caret_node *,
                               const caret_node *) = {caret_merge, caret_copy, caret_move};
    caret_node_buf from;

    a->rc = make(&from, w->sub2, w->nsubs2);
    if (a->rc == CARET_OK && w->op % 4 == 3)
        a->rc = caret_count(s, n, &a->count);
    else if (a->rc == CARET_OK)
        a->rc = ways[w->op % 4](s, n, &from.node);
}

static void do_number(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    static const char *const by[] = {"1", "-.5", "1E20", "99999999999999999999999999999999999999", "x"};
    caret_slice v = {0};
    const char *b = by[w->flags % 5];

    a->rc = w->flags & 32 ? caret_incr_m(s, n, b, strlen(b), &v) : caret_incr(s, n, b, strlen(b), &v);
    keep_value(a, &v);
}

static void do_put(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    caret_slice old = {0};

    a->rc = caret_put(s, n, bytes, w->len, (int)w->flags % 8, &a->number, &old);
    int rc = a->rc;
    if (rc == CARET_NONE)
        a->rc = CARET_OK;
    keep_value(a, &old);
    a->rc = rc;
}

static void do_many(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    caret_node_buf other;
    caret_slice v[3] = {{0}};

    a->rc = make(&other, w->sub2, w->nsubs2);
    caret_node *nodes[3] = {n, &other.node, n};
    if (a->rc == CARET_OK)
        a->rc = caret_get_many(s, nodes, 3, v);
    keep_value(a, &v[w->flags % 3]);
    a->number = (v[0].data != NULL) + 2 * (v[1].data != NULL);
}

static void do_transaction(caret_session *s, const struct what *w, struct answer *a)
{
    if (w->op == 29)
        a->rc = caret_begin(s, w->flags & 1 ? CARET_TXN_BATCH : 0);
    else if (w->op == 30 && level != 0)
        a->rc = caret_rollback(s);
    else if (level != 0)
        a->rc = caret_commit(s);
    a->count = caret_txn_level(s);
}

static void do_simple(caret_session *s, const struct what *w, caret_node *n, struct answer *a)
{
    caret_slice v = {0};

    if (w->op < 5)
        a->rc = caret_get(s, n, &v), keep_value(a, &v);
    else if (w->op < 12)
        a->rc = caret_set(s, n, bytes, w->len);
    else if (w->op == 12)
        a->rc = caret_delete(s, n);
    else if (w->op == 13)
        a->rc = w->flags % 8 == 0 || w->nsubs > 1 ? caret_kill(s, n) : CARET_OK;
    else
        a->rc = caret_data(s, n, &a->number);
}

static void perform(caret_session *s, const struct what *w, struct answer *a)
{
    caret_node_buf n;

    *a = (struct answer){.rc = make(&n, w->sub, w->nsubs)};
    if (w->op >= 29)
        do_transaction(s, w, a);
    else if (a->rc != CARET_OK)
        return;
    else if (w->op < 15)
        do_simple(s, w, &n.node, a);
    else if (w->op < 20)
        do_move(s, w, &n.node, a);
    else if (w->op < 22)
        do_range(s, w, &n.node, a);
    else if (w->op < 25)
        do_subtree(s, w, &n.node, a);
    else if (w->op < 27)
        do_number(s, w, &n.node, a);
    else if (w->op == 27)
        do_put(s, w, &n.node, a);
    else
        do_many(s, w, &n.node, a);
}

/* ------------------------------------------------------------------ comparing */

static struct side {
    const char *path;
    caret_db *db;
    caret_session *s;
} side[2];

static bool same(const struct answer *a, const struct answer *b)
{
    return a->rc == b->rc && a->number == b->number && a->count == b->count && a->node_len == b->node_len &&
           (a->value == NULL) == (b->value == NULL) && a->len == b->len &&
           memcmp(a->node, b->node, a->node_len < sizeof a->node ? a->node_len : sizeof a->node) == 0 &&
           (a->value == NULL || memcmp(a->value, b->value, a->len) == 0);
}

static void show(const char *path, const struct answer *a)
{
    printf("  %.60s: %s, number %d, count %llu, %.*s, value of %zu bytes: %.60s\n", path,
           a->rc == CARET_OK     ? "OK"
           : a->rc == CARET_NONE ? "NONE"
                                 : caret_strerror(a->rc),
           a->number, (unsigned long long)a->count, (int)(a->node_len < 200 ? a->node_len : 200), a->node,
           a->len, a->value == NULL ? "(none)" : a->value);
}

static void compare(const struct what *w, unsigned seed, unsigned i)
{
    struct answer a[2];

    for (unsigned k = 0; k < 2; k++) {
        perform(side[k].s, w, &a[k]);
        if (a[k].value != NULL)
            a[k].value[a[k].len] = '\0';
    }
    if (w->op >= 29)
        level = caret_txn_level(side[0].s);
    if (!same(&a[0], &a[1])) {
        printf("seed %u, operation %u (%u, flags %u) differs\n", seed, i, w->op, w->flags);
        for (unsigned k = 0; k < 2; k++)
            show(side[k].path, &a[k]);
        exit(1);
    }
    free(a[0].value);
    free(a[1].value);
}

/* All nodes, from one to the next. */
static uint64_t compare_all(unsigned seed)
{
    struct what w = {.op = 15, .flags = 0};
    caret_node_buf n[2];
    caret_slice v[2];
    uint64_t nodes = 0;
    int rc[2] = {CARET_OK, CARET_OK};

    for (unsigned k = 0; k < 2; k++)
        make(&n[k], w.sub, 0);
    for (;; nodes++) {
        for (unsigned k = 0; k < 2; k++)
            rc[k] = caret_node_next_get(side[k].s, &n[k].node, &v[k]);
        if (rc[0] != rc[1] || !caret_node_equal(&n[0].node, &n[1].node) ||
            (rc[0] == CARET_OK && (v[0].len != v[1].len || memcmp(v[0].data, v[1].data, v[0].len) != 0))) {
            printf("after seed %u node %llu differs\n", seed, (unsigned long long)nodes);
            exit(1);
        }
        if (rc[0] != CARET_OK)
            return nodes;
    }
}

static uint64_t run_seed(unsigned seed)
{
    struct what *w = calloc(1, sizeof *w);

    if (w == NULL)
        exit(2);
    caret__rand_seed(&r, seed);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        choose(w);
        compare(w, seed, i);
    }
    while (level != 0) {
        w->op = 31;
        compare(w, seed, OPERATIONS);
    }
    uint64_t nodes = compare_all(seed);
    *w = (struct what){.op = 13};
    compare(w, seed, OPERATIONS + 1); /* kills all */
    free(w);
    return nodes;
}

int main(int argc, char **argv)
{
    caret_options o = {.size = sizeof o, .sync = CARET_SYNC_OFF};
    uint64_t nodes = 0;

    if (argc < 5)
        return fputs("differ DATABASE DATABASE FIRST-SEED SEEDS [large]\n", stderr), 2;
    large = argc > 5;
    bytes = calloc(1, most + 1);
    for (unsigned k = 0; k < 2 && bytes != NULL; k++) {
        side[k].path = argv[1 + k];
        if (caret_open(argv[1 + k], &o, &side[k].db) != CARET_OK ||
            caret_session_open(side[k].db, &side[k].s) != CARET_OK)
            return fprintf(stderr, "differ: %s\n", caret_message()), 2;
    }
    unsigned first = (unsigned)atoi(argv[3]), seeds = (unsigned)atoi(argv[4]);
    for (unsigned seed = first; seed < first + seeds; seed++)
        nodes += run_seed(seed);
    printf("%u seeds alike, with %llu nodes in the end\n", seeds, (unsigned long long)nodes);
    for (unsigned k = 0; k < 2; k++) {
        caret_session_close(side[k].s);
        caret_close(side[k].db);
    }
    free(bytes);
    return 0;
}
