/*
 * Recorded histories are serializable, in an order that real time allows.
 *
 * Eight processes run transactions, are killed at random and replaced.  A key holds
 * a list; a transaction reads some lists, appends an id of its own to others, now
 * and then adds a child to ^set and looks at all of them, now and then rolls back.
 * What it did and saw is noted in memory that survives its death.  As lists only grow,
 * the last state of each tells the order of its writers, and the length that a
 * reader saw tells between which two of them it stood (Kingsbury and Alvaro, "Elle",
 * VLDB 2020).  The dependencies, with the order of real time, must have no cycle:
 *     ww   who appended next        wr   who appended what was seen
 *     rw   who appended what was not seen yet (and who added a child that was not)
 * Besides: what was committed is there once, what was rolled back is not, a list that
 * was seen is the beginning of what it became.
 *
 * CARET_HISTORY=seconds runs for so long (2).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"

#define WORKERS  8
#define TXNS     20000 /* of a worker */
#define KEYS     24
#define READS    4
#define APPENDS  2
#define CHILDREN 256 /* of ^set, of all workers together */
#define NONE     UINT32_MAX

enum { UNUSED, BEGUN, COMMITTED, ROLLED_BACK };

struct seen {
    uint32_t key, length, last; /* ids in the list, and the last of them */
};

struct txn {
    _Atomic uint32_t state;
    uint32_t reads, appends, child; /* child: of ^set that it adds, or NONE */
    bool scanned;
    uint64_t from, to; /* nanoseconds; to = 0: not known */
    struct seen read[READS];
    uint32_t append[APPENDS];
    uint64_t children[CHILDREN / 64]; /* that it saw */
};

struct record {
    _Atomic uint32_t next[WORKERS];     /* number of a worker's next transaction */
    _Atomic uint32_t children[WORKERS]; /* it has tried to add */
    struct txn txns[WORKERS][TXNS];
};

static struct record *rec;
static char path[80];

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Transaction t of worker w; its id in the lists. */
static uint32_t id_of(uint32_t w, uint32_t t)
{
    return w * TXNS + t + 1;
}
static struct txn *txn_of(uint32_t id)
{
    return &rec->txns[(id - 1) / TXNS][(id - 1) % TXNS];
}

/* ------------------------------------------------------------------ workers */

static void list_node(caret_node_buf *n, uint32_t key)
{
    caret_node_var(&n->node, sizeof *n, "^list", 5);
    caret_node_child_int(&n->node, sizeof *n, &n->node, key);
}

/* A list: ids of four bytes, one behind the other. */
static int look(caret_session *s, uint32_t key, struct seen *seen, caret_slice *list)
{
    caret_node_buf n;
    list_node(&n, key);
    int rc = caret_get(s, &n.node, list);
    if (rc == CARET_NONE)
        *list = (caret_slice){"", 0};
    else if (rc != CARET_OK)
        return rc;
    *seen = (struct seen){key, (uint32_t)(list->len / 4), 0};
    if (list->len != 0)
        memcpy(&seen->last, list->data + list->len - 4, 4);
    return CARET_OK;
}

static int append(caret_session *s, uint32_t key, uint32_t id)
{
    static char buf[1 << 20];
    struct seen seen;
    caret_slice list;
    caret_node_buf n;
    int rc = look(s, key, &seen, &list);
    if (rc != CARET_OK)
        return rc;
    memcpy(buf, list.data, list.len);
    memcpy(buf + list.len, &id, 4);
    list_node(&n, key);
    return caret_set(s, &n.node, buf, list.len + 4);
}

static int scan(caret_session *s, struct txn *t)
{
    caret_node_buf n;
    int64_t child;

    memset(t->children, 0, sizeof t->children);
    caret_node_var(&n.node, sizeof n, "^set", 4);
    int rc = caret_first(s, &n.node);
    for (; rc == CARET_OK; rc = caret_next(s, &n.node))
        if (caret_node_last_as_int(&n.node, &child) && child >= 0 && child < CHILDREN)
            t->children[child / 64] |= UINT64_C(1) << child % 64;
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int body(caret_session *s, struct txn *t, uint32_t id)
{
    caret_slice list;
    caret_node_buf n;
    int rc = CARET_OK;

    for (uint32_t i = 0; i < t->reads && rc == CARET_OK; i++)
        rc = look(s, t->read[i].key, &t->read[i], &list);
    if (rc == CARET_OK && t->scanned)
        rc = scan(s, t);
    for (uint32_t i = 0; i < t->appends && rc == CARET_OK; i++)
        rc = append(s, t->append[i], id);
    if (rc == CARET_OK && t->child != NONE) {
        caret_node_var(&n.node, sizeof n, "^set", 4);
        caret_node_child_int(&n.node, sizeof n, &n.node, t->child);
        rc = caret_set(s, &n.node, &id, 4);
    }
    return rc;
}

static void choose(struct txn *t, struct caret__rand *r, uint32_t w)
{
    uint32_t own = atomic_load(&rec->children[w]);

    t->reads = (uint32_t)(caret__rand_next(r) % (READS + 1));
    t->appends = (uint32_t)(caret__rand_next(r) % (APPENDS + 1));
    for (uint32_t i = 0; i < t->reads; i++)
        t->read[i].key = (uint32_t)(caret__rand_next(r) % KEYS);
    t->append[0] = (uint32_t)(caret__rand_next(r) % KEYS);
    t->append[1] = (t->append[0] + 1 + (uint32_t)(caret__rand_next(r) % (KEYS - 1))) % KEYS;
    t->scanned = caret__rand_next(r) % 8 == 0;
    t->child = NONE;
    if (caret__rand_next(r) % 16 == 0 && own < CHILDREN / WORKERS) {
        t->child = own * WORKERS + w;
        atomic_store(&rec->children[w], own + 1);
    }
    memset(t->children, 0, sizeof t->children);
}

static void run(caret_session *s, struct txn *t, uint32_t id, bool roll_back)
{
    t->from = now();
    atomic_store(&t->state, BEGUN);
    int rc = caret_begin(s, CARET_TXN_BATCH);
    while (rc == CARET_OK) {
        rc = body(s, t, id);
        if (rc == CARET_OK && roll_back) {
            caret_rollback(s);
            atomic_store(&t->state, ROLLED_BACK);
            return;
        }
        if (rc == CARET_OK)
            rc = caret_commit(s);
        if (rc == CARET_OK)
            break;
        if (rc == CARET_RESTART)
            rc = caret_restart(s);
    }
    if (rc != CARET_OK) {
        fprintf(stderr, "worker: %s\n", caret_message());
        _exit(1);
    }
    t->to = now();
    atomic_store(&t->state, COMMITTED);
}

static void work(uint32_t w, uint64_t end, bool seeded)
{
    struct caret__rand r = {now() * 2 + w};
    caret_db *db;
    caret_session *s;

    alarm(120); /* should the test die */
    if (caret_open(path, NULL, &db) != CARET_OK || caret_session_open(db, &s) != CARET_OK) {
        fprintf(stderr, "worker: %s\n", caret_message());
        _exit(1);
    }
    if (seeded)
        caret__fault_seed("commit_unvalidated");
    for (uint32_t t; now() < end && (t = atomic_fetch_add(&rec->next[w], 1)) < TXNS;) {
        struct txn *x = &rec->txns[w][t];
        choose(x, &r, w);
        run(s, x, id_of(w, t), caret__rand_next(&r) % 16 == 0);
    }
    caret_session_close(s);
    caret_close(db);
    _exit(0);
}

/* ------------------------------------------------------------- dependencies */

/* Nodes: a transaction by its id, and behind those moments of time. */
struct graph {
    uint32_t nodes, edges, cap;
    struct edge {
        uint32_t from, to;
    } * edge;
};

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    if (g->edges == g->cap) {
        g->cap = g->cap == 0 ? 1024 : 2 * g->cap;
        g->edge = realloc(g->edge, g->cap * sizeof *g->edge);
        assert_non_null(g->edge);
    }
    g->edge[g->edges++] = (struct edge){from, to};
}

static int by_from(const void *a, const void *b)
{
    uint32_t x = ((const struct edge *)a)->from, y = ((const struct edge *)b)->from;
    return (x > y) - (x < y);
}

/* How many nodes are on or behind a cycle (Kahn 1962). */
static uint32_t cyclic(struct graph *g)
{
    uint32_t *in = calloc(g->nodes, sizeof *in), *first = calloc(g->nodes + 1, sizeof *first);
    uint32_t *queue = calloc(g->nodes, sizeof *queue), head = 0, tail = 0;

    assert_true(in != NULL && first != NULL && queue != NULL);
    qsort(g->edge, g->edges, sizeof *g->edge, by_from);
    for (uint32_t i = 0; i < g->edges; i++) {
        in[g->edge[i].to]++;
        first[g->edge[i].from + 1]++;
    }
    for (uint32_t i = 0; i < g->nodes; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < g->nodes; i++)
        if (in[i] == 0)
            queue[tail++] = i;
    for (; head < tail; head++)
        for (uint32_t i = first[queue[head]]; i < first[queue[head] + 1]; i++)
            if (--in[g->edge[i].to] == 0)
                queue[tail++] = g->edge[i].to;
    free(in);
    free(first);
    free(queue);
    return g->nodes - tail;
}

struct moment {
    uint64_t at;
    uint32_t id;
    bool ends;
};

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : x->ends - y->ends;
}

/* Who had ended before another one began came before it: a chain of moments, one for each end. */
static void add_time(struct graph *g)
{
    struct moment *m = calloc(2u * WORKERS * TXNS, sizeof *m);
    uint32_t n = 0, last = NONE;

    assert_non_null(m);
    for (uint32_t id = 1; id <= WORKERS * TXNS; id++) {
        const struct txn *t = txn_of(id);
        if (atomic_load(&t->state) != COMMITTED)
            continue;
        m[n++] = (struct moment){t->from, id, false};
        m[n++] = (struct moment){t->to, id, true};
    }
    qsort(m, n, sizeof *m, by_time);
    for (uint32_t i = 0; i < n; i++) {
        if (!m[i].ends && last != NONE)
            add_edge(g, last, m[i].id);
        if (m[i].ends) {
            uint32_t moment = g->nodes++;
            add_edge(g, m[i].id, moment);
            if (last != NONE)
                add_edge(g, last, moment);
            last = moment;
        }
    }
    free(m);
}

/* ------------------------------------------------------------------ checker */

struct final {
    uint32_t *id[KEYS], length[KEYS];
    uint32_t child[CHILDREN]; /* id of who added it, 0 = nobody */
};

static unsigned complaints;

#define COMPLAIN(...)                                                                                        \
    do {                                                                                                     \
        if (++complaints <= 5)                                                                               \
            print_message(__VA_ARGS__);                                                                      \
    } while (0)

static void read_final(struct final *f)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    caret_slice v;
    struct seen seen;
    char report[2000] = "";

    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s", report);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (uint32_t k = 0; k < KEYS; k++) {
        assert_int_equal(look(s, k, &seen, &v), CARET_OK);
        f->length[k] = seen.length;
        f->id[k] = malloc(v.len + 4);
        assert_non_null(f->id[k]);
        memcpy(f->id[k], v.data, v.len);
    }
    for (uint32_t c = 0; c < CHILDREN; c++) {
        caret_node_var(&n.node, sizeof n, "^set", 4);
        caret_node_child_int(&n.node, sizeof n, &n.node, c);
        f->child[c] = 0;
        if (caret_get(s, &n.node, &v) == CARET_OK)
            memcpy(&f->child[c], v.data, 4);
    }
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

/* What was committed is there, once; what was rolled back is not. */
static void check_presence(const struct final *f)
{
    uint8_t *times = calloc((size_t)WORKERS * TXNS + 1, KEYS);

    assert_non_null(times);
    for (uint32_t k = 0; k < KEYS; k++) {
        for (uint32_t i = 0; i < f->length[k]; i++) {
            uint32_t id = f->id[k][i];
            if (id == 0 || id > WORKERS * TXNS || atomic_load(&txn_of(id)->state) == UNUSED)
                COMPLAIN("list %u: %u is nobody's id\n", k, id);
            else if (++times[id * KEYS + k] > 1)
                COMPLAIN("list %u: %u is there twice\n", k, id);
        }
    }
    for (uint32_t id = 1; id <= WORKERS * TXNS; id++) {
        const struct txn *t = txn_of(id);
        uint32_t state = atomic_load(&t->state);
        for (uint32_t i = 0; i < t->appends && (state == COMMITTED || state == ROLLED_BACK); i++)
            if (times[id * KEYS + t->append[i]] != (state == COMMITTED))
                COMPLAIN("%u, %s, is %s list %u\n", id, state == COMMITTED ? "committed" : "rolled back",
                         state == COMMITTED ? "missing from" : "in", t->append[i]);
        if (t->child != NONE && (state == COMMITTED || state == ROLLED_BACK) &&
            (f->child[t->child] == id) != (state == COMMITTED))
            COMPLAIN("%u: its child %u of ^set\n", id, t->child);
    }
    free(times);
}

static void add_reader(struct graph *g, const struct final *f, uint32_t id, const struct txn *t)
{
    for (uint32_t i = 0; i < t->reads; i++) {
        const struct seen *r = &t->read[i];
        if (r->length > f->length[r->key] || (r->length != 0 && f->id[r->key][r->length - 1] != r->last)) {
            COMPLAIN("%u saw %u ids in list %u, the last %u: it never was so\n", id, r->length, r->key,
                     r->last);
            continue;
        }
        if (r->length != 0)
            add_edge(g, r->last, id);
        if (r->length < f->length[r->key])
            add_edge(g, id, f->id[r->key][r->length]);
    }
    for (uint32_t c = 0; t->scanned && c < CHILDREN; c++) {
        bool saw = (t->children[c / 64] >> c % 64 & 1u) != 0;
        if (f->child[c] != 0)
            add_edge(g, saw ? f->child[c] : id, saw ? id : f->child[c]);
        else if (saw)
            COMPLAIN("%u saw child %u of ^set, which is not there\n", id, c);
    }
}

static void check_history(uint32_t *committed)
{
    struct graph g = {.nodes = WORKERS * TXNS + 1};
    struct final f;

    complaints = 0;
    *committed = 0;
    read_final(&f);
    check_presence(&f);
    for (uint32_t k = 0; k < KEYS; k++)
        for (uint32_t i = 1; i < f.length[k]; i++)
            add_edge(&g, f.id[k][i - 1], f.id[k][i]);
    for (uint32_t id = 1; id <= WORKERS * TXNS; id++) {
        const struct txn *t = txn_of(id);
        if (atomic_load(&t->state) != COMMITTED)
            continue; /* what one that was killed saw is not complete; what it wrote counts above */
        ++*committed;
        add_reader(&g, &f, id, t);
    }
    add_time(&g);
    uint32_t bad = cyclic(&g);
    if (bad != 0)
        COMPLAIN("%u transactions and moments are on or behind a cycle\n", bad);
    print_message("%u transactions committed, %u dependencies, %u complaints\n", *committed, g.edges,
                  complaints);
    for (uint32_t k = 0; k < KEYS; k++)
        free(f.id[k]);
    free(g.edge);
}

/* -------------------------------------------------------------------- tests */

static pid_t start(uint32_t w, uint64_t end, bool seeded)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        work(w, end, seeded);
    return pid;
}

/* Workers until the end; one is killed now and then. */
static void make_history(double seconds, bool seeded)
{
    struct caret__rand r = {12345};
    uint64_t end = now() + (uint64_t)(seconds * 1e9);
    pid_t pid[WORKERS];
    unsigned kills = 0;

    for (uint32_t w = 0; w < WORKERS; w++)
        pid[w] = start(w, end, seeded);
    while (now() + 50000000u < end) {
        usleep((useconds_t)(2000 + caret__rand_below(&r, 30000)));
        uint32_t w = caret__rand_below(&r, WORKERS);
        int status;
        kill(pid[w], SIGKILL);
        assert_int_equal(waitpid(pid[w], &status, 0), pid[w]);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            fail_msg("a worker failed");
        kills++;
        pid[w] = start(w, end, seeded);
    }
    for (uint32_t w = 0; w < WORKERS; w++) {
        int status;
        assert_int_equal(waitpid(pid[w], &status, 0), pid[w]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    print_message("%u kills\n", kills);
}

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/caret-history-%d.caret", (int)getpid());
    rec = mmap(NULL, sizeof *rec, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return rec == MAP_FAILED;
}

static int teardown(void **state)
{
    static const char *const suffixes[] = {"", "-lock", "-log"};
    char name[100];
    (void)state;
    munmap(rec, sizeof *rec);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
    return 0;
}

static void histories_are_serializable(void **state)
{
    const char *text = getenv("CARET_HISTORY");
    double seconds = text != NULL && atof(text) > 0 ? atof(text) : 2;
    uint32_t committed;

    (void)state;
    make_history(seconds, false);
    check_history(&committed);
    assert_int_equal(complaints, 0);
    assert_true(committed > 200);
}

static void a_commit_without_validation_is_found(void **state)
{
    uint32_t committed;

    (void)state;
#ifndef CARET_FAULTS
    print_message("skipped: this build has no fault points (the small one has)\n");
    skip();
#endif
    make_history(1, true);
    check_history(&committed);
    assert_true(complaints > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(histories_are_serializable, setup, teardown),
        cmocka_unit_test_setup_teardown(a_commit_without_validation_is_found, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
