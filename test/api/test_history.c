/*
 * Recorded histories are serializable, in an order that real time allows.
 *
 * Eight processes run transactions, are killed at random and replaced.  A key holds
 * a list; a transaction reads some lists, or walks through all of them, appends an id of its own
 * to others, now and then adds a child to ^set and looks at all of them, in one of four ways,
 * now and then rolls back.
 * What it did and saw is noted in memory that survives its death; a restart goes on
 * under another id, so that what the attempt before it saw is part of the history.
 * As lists only grow, the last state of each tells the order of its writers, and the
 * length that a reader saw tells between which two of them it stood (Kingsbury and
 * Alvaro, "Elle", VLDB 2020).  The dependencies must have no cycle:
 *     ww   the next to append       wr   the one that appended what was seen
 *     rw   the one that appended what was not seen yet (or added a child that was not)
 *     time those that began after it had ended; all of one worker's and its successors'
 * An attempt that was rolled back, restarted or killed has no effects but saw what it
 * saw: its reads count as well, as none may see what never was (opacity).
 * Besides: what was committed is there once, what was rolled back is not, what was
 * killed is there as a whole or not at all, a list that was seen is, to the last
 * byte, the beginning of what it became.
 *
 * CARET_HISTORY=seconds records histories of two seconds, one after the other, for
 * so long (one): as lists grow, a longer one would have fewer transactions.
 *
 * CARET_TEST_URL=address records them on that database (test/store has what happens to it meanwhile).  Then
 *     - workers are killed if CARET_HISTORY_KILLS is set, and what one of them sent may happen after its death, and
 *       after its successor began;
 *     - an outcome may be UNKNOWN: as if it had been killed;
 *     - an attempt without effects saw one state, but it may be one that no order of the others has: the server looks
 *       at what was read when it commits.  Only what was committed counts.
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
#include "support/crowd.h"
#include "support/graph.h"
#include "support/points.h"

#define WORKERS  8
#define TXNS     20000 /* of a worker */
#define KEYS     24
#define READS    4
#define APPENDS  2
#define CHILDREN 1024 /* of ^set, of all workers together; of worker w: w, w + WORKERS, ... */
#define NONE     UINT32_MAX

enum { UNUSED, BEGUN, COMMITTED, ROLLED_BACK, RESTARTED, STATES };
static const char *const state_names[STATES] = {"unused", "killed", "committed", "rolled back", "restarted"};

struct seen {
    uint32_t key, length; /* ids in the list */
    uint64_t hash;        /* of them all */
};

struct txn {
    _Atomic uint32_t state;
    _Atomic uint32_t looked;        /* reads that were done */
    _Atomic bool scanned;           /* the scan was done */
    uint32_t reads, appends, child; /* child: of ^set that it adds, or NONE */
    bool scans, walks;              /* walks: reads all lists, in the order in which it finds them */
    uint64_t from, to;              /* nanoseconds; to: not of one that was killed */
    struct seen read[KEYS];
    uint32_t append[APPENDS];
    uint64_t children[CHILDREN / 64]; /* that it saw */
};

struct record {
    _Atomic uint32_t next[WORKERS];     /* number of a worker's next transaction */
    _Atomic uint32_t children[WORKERS]; /* it has tried to add */
    struct txn txns[WORKERS][TXNS];
};

static struct record *rec;
static char path[512];
static const char *url; /* or NULL, for a file */

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

static void list_node(caret_node_buf *n, int64_t key)
{
    caret_node_var(&n->node, sizeof *n, "^list", 5);
    caret_node_child_int(&n->node, sizeof *n, &n->node, key);
}

static uint64_t hash_id(uint64_t hash, uint32_t id)
{
    return (hash ^ id) * UINT64_C(0x9E3779B97F4A7C15);
}

/* A list: ids of four bytes, one after the other. */
static void note_list(uint32_t key, struct seen *seen, const caret_slice *list)
{
    *seen = (struct seen){key, (uint32_t)(list->len / 4), list->len % 4};
    for (uint32_t i = 0, id; i < seen->length; i++) {
        memcpy(&id, list->data + 4 * (size_t)i, 4);
        seen->hash = hash_id(seen->hash, id);
    }
}

static int look(caret_session *s, uint32_t key, struct seen *seen, caret_slice *list)
{
    caret_node_buf n;
    list_node(&n, key);
    int rc = caret_get(s, &n.node, list);
    if (rc == CARET_NONE)
        *list = (caret_slice){"", 0};
    else if (rc != CARET_OK)
        return rc;
    note_list(key, seen, list);
    return CARET_OK;
}

/* All that the transaction reads, one by one or at once. */
static int look_at_all(caret_session *s, struct txn *t, bool at_once)
{
    static caret_node_buf n[READS];
    caret_node *nodes[READS];
    caret_slice list[READS];
    int rc = CARET_OK;

    for (uint32_t i = 0; i < t->reads; i++)
        list_node(&n[i], t->read[i].key), nodes[i] = &n[i].node;
    if (at_once)
        rc = caret_get_many(s, nodes, t->reads, list);
    for (uint32_t i = 0; i < t->reads && rc == CARET_OK; i++) {
        if (at_once)
            note_list(t->read[i].key, &t->read[i], &list[i]);
        else
            rc = look(s, t->read[i].key, &t->read[i], &list[0]);
        if (rc == CARET_OK)
            atomic_store(&t->looked, i + 1);
    }
    return rc;
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

/* One step through the children of ^set, or through its nodes; VALUED: and the value.  Else the value is not
 * touched. */
#define VALUED 4u
static int scan_step(caret_session *s, caret_node *n, uint32_t way, caret_slice *v)
{
    static int (*const moves[])(caret_session *, caret_node *) = {caret_next, caret_previous, caret_node_next,
                                                                  caret_node_previous};
    static int (*const steps[])(caret_session *, caret_node *, caret_slice *) = {
        caret_next_get, caret_previous_get, caret_node_next_get, caret_node_previous_get};

    return way & VALUED ? steps[way % 4](s, n, v) : moves[way % 4](s, n);
}

static int scan(caret_session *s, struct txn *t, uint32_t way)
{
    caret_node_buf n;
    caret_slice id;
    int64_t child;

    memset(t->children, 0, sizeof t->children);
    caret_node_var(&n.node, sizeof n, "^set", 4);
    caret_node_child_int(&n.node, sizeof n, &n.node, way % 2 == 0 ? -1 : CHILDREN);
    int rc = scan_step(s, &n.node, way, &id);
    for (; rc == CARET_OK; rc = scan_step(s, &n.node, way, &id))
        if (caret_node_last_as_int(&n.node, &child) && child >= 0 && child < CHILDREN)
            t->children[child / 64] |= UINT64_C(1) << child % 64;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* All lists, by caret_node_next or caret_node_previous, or these with the value; those that it does not meet
 * are empty. */
static int walk(caret_session *s, struct txn *t, uint32_t way)
{
    caret_node_buf n;
    caret_slice list;
    int64_t key;

    for (uint32_t k = 0; k < KEYS; k++)
        t->read[k] = (struct seen){k, 0, 0};
    list_node(&n, way % 2 == 0 ? -1 : KEYS);
    way |= 2;
    int rc = scan_step(s, &n.node, way, &list);
    for (; rc == CARET_OK; rc = scan_step(s, &n.node, way, &list)) {
        if (!caret_node_last_as_int(&n.node, &key) || key < 0 || key >= KEYS)
            continue;
        if (way & VALUED)
            note_list((uint32_t)key, &t->read[key], &list);
        else if ((rc = look(s, (uint32_t)key, &t->read[key], &list)) != CARET_OK)
            return rc;
    }
    if (rc == CARET_NONE)
        atomic_store(&t->looked, KEYS);
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int body(caret_session *s, struct txn *t, uint32_t id)
{
    caret_node_buf n;
    int rc = t->walks ? walk(s, t, id) : look_at_all(s, t, id % 3 == 0);

    if (rc == CARET_OK && t->scans && (rc = scan(s, t, id % 8)) == CARET_OK)
        atomic_store(&t->scanned, true);
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
    t->scans = caret__rand_next(r) % 8 == 0;
    t->walks = caret__rand_next(r) % 16 == 0;
    t->child = NONE;
    if (caret__rand_next(r) % 48 == 0 && own < CHILDREN / WORKERS) {
        t->child = own * WORKERS + w;
        t->scans = true;
        atomic_store(&rec->children[w], own + 1);
    }
}

/* The next one of worker w, or NULL. */
static struct txn *next_txn(uint32_t w)
{
    uint32_t t = atomic_fetch_add(&rec->next[w], 1);
    return t < TXNS ? &rec->txns[w][t] : NULL;
}

static void begin(struct txn *t)
{
    t->from = now();
    atomic_store(&t->state, BEGUN);
}

static void end(struct txn *t, uint32_t state)
{
    t->to = now();
    atomic_store(&t->state, state);
}

static void check(int rc)
{
    if (rc == CARET_OK)
        return;
    fprintf(stderr, "worker: %s\n", caret_message());
    _exit(1);
}

/* The same again, under another id; NULL when there is none. */
static struct txn *again(caret_session *s, struct txn *t, uint32_t w)
{
    struct txn *to = next_txn(w);

    end(t, RESTARTED);
    if (to == NULL) {
        check(caret_rollback(s));
        return NULL;
    }
    memcpy(to->read, t->read, sizeof t->read);
    memcpy(to->append, t->append, sizeof t->append);
    to->reads = t->reads;
    to->appends = t->appends;
    to->scans = t->scans;
    to->walks = t->walks;
    to->child = t->child;
    begin(to);
    check(caret_restart(s));
    return to;
}

static void run(caret_session *s, struct txn *t, uint32_t w, bool roll_back)
{
    begin(t);
    check(caret_begin(s, url == NULL ? CARET_TXN_BATCH : 0)); /* by an address BATCH may do one again */
    while (t != NULL) {
        int rc = body(s, t, id_of(w, (uint32_t)(t - rec->txns[w])));
        if (rc == CARET_OK && roll_back) {
            check(caret_rollback(s));
            end(t, ROLLED_BACK);
            return;
        }
        if (rc == CARET_OK)
            rc = caret_commit(s);
        if (rc == CARET_OK) {
            end(t, COMMITTED);
            return;
        }
        if (rc == CARET_E_UNKNOWN && url != NULL)
            return;
        if (rc != CARET_RESTART)
            check(rc);
        t = again(s, t, w);
    }
}

/* By an address there may be no server just now, which opening tells at once: whoever can wait tries again. */
static int open_database(caret_db **db)
{
    uint64_t until = now() + UINT64_C(60000000000);
    int rc;

    while ((rc = caret_open(path, NULL, db)) == CARET_E_OPEN && url != NULL && now() < until)
        usleep(20000);
    return rc;
}

static void work(uint32_t w, uint64_t until, const char *mistake)
{
    struct caret__rand r = {now() * 2 + w};
    caret_db *db;
    caret_session *s;
    struct txn *t;

    patience(120); /* should the test die */
    check(open_database(&db));
    check(caret_session_open(db, &s));
    caret__fault_seed(mistake);
    while (now() < until && (t = next_txn(w)) != NULL) {
        choose(t, &r, w);
        run(s, t, w, caret__rand_next(&r) % 16 == 0);
    }
    caret_session_close(s);
    caret_close(db);
    _exit(0);
}

/* ------------------------------------------------------------- dependencies */

/* Moments of all that have begun; how many. */
static uint32_t list_moments(struct graph_moment *m)
{
    uint32_t n = 0;

    for (uint32_t id = 1; id <= WORKERS * TXNS; id++) {
        const struct txn *t = txn_of(id);
        uint32_t state = atomic_load(&t->state);
        if (state != UNUSED)
            m[n++] = (struct graph_moment){t->from, id, false};
        if (state != UNUSED && state != BEGUN)
            m[n++] = (struct graph_moment){t->to, id, true};
    }
    qsort(m, n, sizeof *m, graph_by_time);
    return n;
}

/* One that had ended before another began came before it: a chain of moments, one for each end. */
static void add_time(struct graph *g)
{
    struct graph_moment *m = calloc(2u * WORKERS * TXNS, sizeof *m);
    uint32_t last = NONE;

    assert_non_null(m);
    for (uint32_t i = 0, n = list_moments(m); i < n; i++) {
        if (!m[i].ends && last != NONE)
            graph_edge(g, last, m[i].id, "it began");
        if (m[i].ends) {
            uint32_t moment = g->nodes++;
            graph_edge(g, m[i].id, moment, "it ended");
            if (last != NONE)
                graph_edge(g, last, moment, "time");
            last = moment;
        }
    }
    for (uint32_t id = 1; id < WORKERS * TXNS; id++) /* also of one that was killed, as that was waited for */
        if (id % TXNS != 0 && (url == NULL || atomic_load(&txn_of(id)->state) != BEGUN))
            graph_edge(g, id, id + 1, "the worker's next");
    free(m);
}

/* ------------------------------------------------------------------ checker */

struct final {
    uint32_t *id[KEYS], length[KEYS];
    uint64_t *hash[KEYS];     /* of the first 0, 1, ... ids */
    uint32_t child[CHILDREN]; /* id of the one that added it, 0 = nobody */
};

static unsigned complaints;
static uint64_t counts[STATES], dependencies, kills;

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

    assert_int_equal(open_database(&db), CARET_OK);
    if (url == NULL && caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s", report);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (uint32_t k = 0; k < KEYS; k++) {
        assert_int_equal(look(s, k, &seen, &v), CARET_OK);
        f->length[k] = seen.length;
        f->id[k] = malloc(v.len + 4);
        assert_non_null(f->id[k]);
        memcpy(f->id[k], v.data, v.len);
        f->hash[k] = calloc(seen.length + 1, sizeof *f->hash[k]);
        assert_non_null(f->hash[k]);
        for (uint32_t i = 0; i < seen.length; i++)
            f->hash[k][i + 1] = hash_id(f->hash[k][i], f->id[k][i]);
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

/* times[id * KEYS + k]: how often id is in list k. */
static uint8_t *count_ids(const struct final *f)
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
    return times;
}

/* What was committed is there, what was rolled back or restarted is not, what was killed is not in part. */
static void check_presence(const struct final *f)
{
    uint8_t *times = count_ids(f);

    for (uint32_t id = 1; id <= WORKERS * TXNS; id++) {
        const struct txn *t = txn_of(id);
        uint32_t state = atomic_load(&t->state), effects = t->appends, there = 0;
        if (state == UNUSED)
            continue;
        for (uint32_t i = 0; i < t->appends; i++)
            there += times[id * KEYS + t->append[i]];
        if (t->child != NONE) {
            effects++;
            there += f->child[t->child] == id;
        }
        if (there != effects && (there != 0 || state == COMMITTED))
            COMPLAIN("%u, %s: %u of its %u changes are there\n", id, state_names[state], there, effects);
        else if (there != 0 && (state == ROLLED_BACK || state == RESTARTED))
            COMPLAIN("%u, %s: its %u changes are there\n", id, state_names[state], effects);
    }
    free(times);
}

/* Of each worker the last child that was seen and the first that was not: they were added in this order. */
static void add_scan(struct graph *g, const struct final *f, uint32_t id, const struct txn *t)
{
    uint32_t last[WORKERS] = {0}, first[WORKERS] = {0};

    for (uint32_t c = 0; c < CHILDREN; c++) {
        bool saw = (t->children[c / 64] >> c % 64 & 1u) != 0;
        if (saw && f->child[c] == 0)
            COMPLAIN("%u, %s, saw child %u of ^set, which is not there\n", id, state_names[t->state], c);
        else if (saw)
            last[c % WORKERS] = f->child[c];
        else if (first[c % WORKERS] == 0)
            first[c % WORKERS] = f->child[c];
    }
    for (uint32_t w = 0; w < WORKERS; w++) {
        if (last[w] != 0)
            graph_edge(g, last[w], id, "it saw its child");
        if (first[w] != 0)
            graph_edge(g, id, first[w], "it did not see its child");
    }
}

static void add_reader(struct graph *g, const struct final *f, uint32_t id, const struct txn *t)
{
    for (uint32_t i = 0; i < t->looked; i++) {
        const struct seen *r = &t->read[i];
        if (r->length > f->length[r->key] || f->hash[r->key][r->length] != r->hash) {
            COMPLAIN("%u, %s, saw %u ids in list %u: it never was so\n", id, state_names[t->state], r->length,
                     r->key);
            continue;
        }
        if (r->length != 0)
            graph_edge(g, f->id[r->key][r->length - 1], id, "it saw its id");
        if (r->length < f->length[r->key])
            graph_edge(g, id, f->id[r->key][r->length], "it did not see its id");
    }
    if (t->scanned)
        add_scan(g, f, id, t);
}

static void build_graph(struct graph *g, const struct final *f)
{
    for (uint32_t k = 0; k < KEYS; k++)
        for (uint32_t i = 1; i < f->length[k]; i++)
            graph_edge(g, f->id[k][i - 1], f->id[k][i], "it appended next");
    for (uint32_t id = 1; id <= WORKERS * TXNS; id++) {
        const struct txn *t = txn_of(id);
        uint32_t state = atomic_load(&t->state);
        counts[state]++;
        if (url == NULL ? state != UNUSED : state == COMMITTED)
            add_reader(g, f, id, t);
    }
    add_time(g);
}

static void check_history(void)
{
    struct graph g = {.nodes = WORKERS * TXNS + 1};
    struct final f;

    read_final(&f);
    check_presence(&f);
    build_graph(&g, &f);
    uint32_t bad = graph_cyclic(&g, WORKERS * TXNS);
    if (bad != 0)
        COMPLAIN("%u transactions and moments are on or after a cycle\n", bad);
    dependencies += g.edges;
    for (uint32_t k = 0; k < KEYS; k++) {
        free(f.id[k]);
        free(f.hash[k]);
    }
    graph_free(&g);
}

/* -------------------------------------------------------------------- tests */

static pid_t start(uint32_t w, uint64_t until, const char *mistake)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        work(w, until, mistake);
    return pid;
}

static void finished(uint32_t w, pid_t pid, bool killed)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) ? WEXITSTATUS(status) != 0 : !killed || WTERMSIG(status) != SIGKILL)
        fail_msg("worker %u ended with %x", w, (unsigned)status);
}

/* Workers until the end; one is killed now and then. */
static void make_history(double seconds, const char *mistake)
{
    static struct caret__rand r = {12345};
    uint64_t until = now() + (uint64_t)(seconds * 1e9);
    pid_t pid[WORKERS];

    for (uint32_t w = 0; w < WORKERS; w++)
        pid[w] = start(w, until, mistake);
    while ((url == NULL || getenv("CARET_HISTORY_KILLS") != NULL) && now() + 50000000u < until) {
        usleep((useconds_t)(2000 + caret__rand_below(&r, 30000)));
        uint32_t w = caret__rand_below(&r, WORKERS);
        kill(pid[w], SIGKILL);
        finished(w, pid[w], true);
        kills++;
        pid[w] = start(w, until, mistake);
    }
    for (uint32_t w = 0; w < WORKERS; w++)
        finished(w, pid[w], false);
}

static void kill_variable(caret_session *s, const char *name)
{
    caret_node_buf n;

    caret_node_var(&n.node, sizeof n, name, strlen(name));
    assert_int_equal(caret_kill(s, &n.node), CARET_OK);
}

static void empty_database(void)
{
    caret_db *db;
    caret_session *s;

    assert_int_equal(open_database(&db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    kill_variable(s, "^list");
    kill_variable(s, "^set");
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

static void remove_database(void)
{
    static const char *const suffixes[] = {"", "-lock", "-log"};
    char name[sizeof path + 10];

    if (url != NULL) {
        empty_database();
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

/* Histories, each with a database of its own, until time or correctness is over. */
static void try_histories(double seconds, double each, const char *mistake)
{
    uint64_t until = now() + (uint64_t)(seconds * 1e9);
    unsigned histories = 0;

    complaints = 0;
    if (url != NULL)
        empty_database();
    memset(counts, 0, sizeof counts);
    dependencies = kills = 0;
    do {
        rec = mmap(NULL, sizeof *rec, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(rec != MAP_FAILED);
        make_history(each, mistake);
        check_history();
        munmap(rec, sizeof *rec);
        remove_database();
        histories++;
    } while (complaints == 0 && now() < until);
    print_message(
        "%u histories: %llu transactions committed, %llu rolled back, %llu restarts, %llu killed by "
        "%llu kills; %llu dependencies, %u complaints\n",
        histories, (unsigned long long)counts[COMMITTED], (unsigned long long)counts[ROLLED_BACK],
        (unsigned long long)counts[RESTARTED], (unsigned long long)counts[BEGUN], (unsigned long long)kills,
        (unsigned long long)dependencies, complaints);
}

static int setup(void **state)
{
    (void)state;
    complaints = 0;
    url = getenv("CARET_TEST_URL");
    if (url != NULL)
        snprintf(path, sizeof path, "%s", url);
    else
        snprintf(path, sizeof path, "/tmp/caret-history-%d.caret", (int)getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_database(); /* of a failed test */
    return 0;
}

static void histories_are_serializable(void **state)
{
    const char *text = getenv("CARET_HISTORY");

    (void)state;
    try_histories(text != NULL ? atof(text) : 0, 2, NULL);
    assert_int_equal(complaints, 0);
    assert_true(counts[COMMITTED] > (url == NULL ? 200 : 20));
}

/* The engine makes a mistake that the histories must show. */
static void finds(const char *mistake)
{
    need_points();
    for (unsigned tries = 0; complaints == 0 && tries < 30; tries++)
        try_histories(0, 1, mistake);
    assert_true(complaints > 0);
}

static void a_commit_without_validation_is_found(void **state)
{
    (void)state;
    finds("commit_unvalidated");
}

static void a_read_point_moved_without_comparison_is_found(void **state)
{
    (void)state;
    finds("stale_read_point");
}

static void walks_that_are_not_in_the_read_set_are_found(void **state)
{
    (void)state;
    finds("walk_unnoted");
}

/* Of the driver of an address: as CARET_HISTORY_MISTAKE names it. */
static void a_mistake_of_the_driver_is_found(void **state)
{
    (void)state;
    finds(getenv("CARET_HISTORY_MISTAKE"));
}

static int on_address(void)
{
    const struct CMUnitTest recorded[] = {
        cmocka_unit_test_setup_teardown(histories_are_serializable, setup, teardown),
    };
    const struct CMUnitTest mistaken[] = {
        cmocka_unit_test_setup_teardown(a_mistake_of_the_driver_is_found, setup, teardown),
    };

    return getenv("CARET_HISTORY_MISTAKE") == NULL ? cmocka_run_group_tests(recorded, NULL, NULL)
                                                   : cmocka_run_group_tests(mistaken, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(histories_are_serializable, setup, teardown),
        cmocka_unit_test_setup_teardown(a_commit_without_validation_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_read_point_moved_without_comparison_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(walks_that_are_not_in_the_read_set_are_found, setup, teardown),
    };
    return getenv("CARET_TEST_URL") != NULL ? on_address() : cmocka_run_group_tests(tests, NULL, NULL);
}
