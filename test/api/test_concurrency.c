/*
 * Threads of one process on one database, each with a session of its own. What
 * they do is small; that nothing is lost, torn or seen half is what is checked,
 * and ThreadSanitizer watches (test/tsan.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rand.h"
#include "caret.h"

#define THREADS  4u
#define ACCOUNTS 8

static char path[128];
static caret_db *db;

/* What one thread reports: assertions of cmocka belong to the main thread. */
struct work {
    pthread_t thread;
    unsigned me;
    unsigned rounds;
    unsigned reads;
    char finding[300];
    caret_session *s;
};

static atomic_int writers_left;

static int found(struct work *w, const char *what, int rc)
{
    if (rc != CARET_OK && w->finding[0] == '\0')
        snprintf(w->finding, sizeof w->finding, "thread %u: %s: %d %s", w->me, what, rc, caret_message());
    return rc != CARET_OK;
}

static void node2(caret_node_buf *n, const char *name, int64_t sub)
{
    caret_node_var(&n->node, sizeof *n, name, strlen(name));
    caret_node_child_int(&n->node, sizeof *n, &n->node, sub);
}

/* Run `body` in THREADS threads, the last `readers` of which run `reader`; fail with their finding. */
static void run(void *(*body)(void *), void *(*reader)(void *), unsigned readers, unsigned rounds)
{
    static struct work w[THREADS];

    memset(w, 0, sizeof w);
    atomic_store(&writers_left, (int)(THREADS - readers));
    for (unsigned i = 0; i < THREADS; i++) {
        w[i].me = i;
        w[i].rounds = rounds;
        assert_int_equal(caret_session_open(db, &w[i].s), CARET_OK);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&w[i].thread, NULL, i < THREADS - readers ? body : reader, &w[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(w[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        caret_session_close(w[i].s);
        if (w[i].finding[0] != '\0')
            fail_msg("%s", w[i].finding);
        if (i >= THREADS - readers)
            assert_true(w[i].reads > 0);
    }
}

static int64_t number(caret_session *s, caret_node *n)
{
    caret_slice v;
    char text[32];

    if (caret_get(s, n, &v) != CARET_OK || v.len >= sizeof text)
        return INT64_MIN;
    memcpy(text, v.data, v.len);
    text[v.len] = '\0';
    return strtoll(text, NULL, 10);
}

/* --------------------------------------------------------------- counting */

static void *count(void *arg)
{
    struct work *w = arg;
    caret_node_buf own, shared;
    int64_t result;

    node2(&own, "^own", w->me);
    node2(&shared, "^shared", 1);
    for (unsigned i = 0; i < w->rounds; i++)
        if (found(w, "incr", caret_incr_int(w->s, &shared.node, 1, 0, NULL)) ||
            found(w, "incr", caret_incr_int(w->s, &own.node, 2, 0, &result)))
            break;
        else if (result != 2 * ((int64_t)i + 1))
            found(w, "own counter is wrong", CARET_E_CORRUPT);
    return NULL;
}

static void every_increment_counts_once(void **state)
{
    caret_session *s;
    caret_node_buf shared;
    unsigned rounds = 400;

    (void)state;
    run(count, NULL, 0, rounds);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    node2(&shared, "^shared", 1);
    assert_int_equal(number(s, &shared.node), THREADS * rounds);
    caret_session_close(s);
}

/* ----------------------------------------------------------- transactions */

struct transfer {
    int64_t from, to, amount, sum;
};

static int move(caret_session *s, void *arg)
{
    struct transfer *t = arg;
    caret_node_buf a, b;
    int rc;

    node2(&a, "^account", t->from);
    node2(&b, "^account", t->to);
    if ((rc = caret_incr_int(s, &a.node, -t->amount, 0, NULL)) != CARET_OK)
        return rc;
    return caret_incr_int(s, &b.node, t->amount, 0, NULL);
}

static int set_all(caret_session *s, void *arg)
{
    caret_node_buf n;
    int rc = CARET_OK;

    (void)arg;
    for (int i = 0; i < ACCOUNTS && rc == CARET_OK; i++) {
        node2(&n, "^account", i);
        rc = caret_set(s, &n.node, "1000", 4);
    }
    return rc;
}

static int sum_up(caret_session *s, void *arg)
{
    struct transfer *t = arg;
    caret_node_buf n;
    char text[32];
    size_t len;
    int rc;

    t->sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        node2(&n, "^account", i);
        rc = caret_get_copy(s, &n.node, text, sizeof text - 1, &len);
        if (rc != CARET_OK)
            return rc;
        text[len] = '\0';
        t->sum += strtoll(text, NULL, 10);
    }
    return CARET_OK;
}

static void *transfer(void *arg)
{
    struct work *w = arg;
    struct caret__rand r;

    caret__rand_seed(&r, w->me + 1);
    for (unsigned i = 0; i < w->rounds; i++) {
        struct transfer t = {.from = caret__rand_below(&r, ACCOUNTS),
                             .to = caret__rand_below(&r, ACCOUNTS),
                             .amount = caret__rand_below(&r, 100)};
        if (found(w, "transfer", caret_transaction(w->s, move, &t, 0)))
            break;
    }
    atomic_fetch_sub(&writers_left, 1);
    return NULL;
}

static void *audit(void *arg)
{
    struct work *w = arg;
    struct transfer t;

    do {
        if (found(w, "sum", caret_transaction(w->s, sum_up, &t, 0)))
            break;
        if (t.sum != 1000 * ACCOUNTS) {
            snprintf(w->finding, sizeof w->finding, "the accounts hold %" PRId64, t.sum);
            break;
        }
        w->reads++;
    } while (atomic_load(&writers_left) > 0);
    return NULL;
}

static void no_transaction_is_seen_half(void **state)
{
    caret_session *s;

    (void)state;
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    assert_int_equal(caret_transaction(s, set_all, NULL, 0), CARET_OK);
    caret_session_close(s);
    run(transfer, audit, 2, 300);
}

/* ---------------------------------------------------------------- readers */

/* Sets and kills nodes all over a few pages, so that they split and join; every
 * value is one letter over and over, so that a torn one shows. */
static void *rewrite(void *arg)
{
    struct work *w = arg;
    struct caret__rand r;
    char value[300];
    caret_node_buf n;

    caret__rand_seed(&r, 77 + w->me);
    for (unsigned i = 0; i < w->rounds; i++) {
        node2(&n, "^page", caret__rand_below(&r, 200));
        if (caret__rand_below(&r, 4) == 0) {
            if (found(w, "kill", caret_kill(w->s, &n.node)))
                break;
        } else {
            memset(value, 'a' + (int)caret__rand_below(&r, 26), sizeof value);
            if (found(w, "set", caret_set(w->s, &n.node, value, 1 + caret__rand_below(&r, sizeof value - 1))))
                break;
        }
    }
    atomic_fetch_sub(&writers_left, 1);
    return NULL;
}

/* One walk over ^page: ascending subscripts, whole values. */
static void walk(struct work *w)
{
    caret_node_buf n;
    caret_slice v;
    int64_t last = -1, here;
    int rc;

    caret_node_var(&n.node, sizeof n, "^page", 5);
    for (rc = caret_first(w->s, &n.node); rc == CARET_OK; rc = caret_next(w->s, &n.node)) {
        if (!caret_node_last_as_int(&n.node, &here) || here <= last)
            snprintf(w->finding, sizeof w->finding, "after %" PRId64 " comes %" PRId64, last, here);
        last = here;
        rc = caret_get(w->s, &n.node, &v);
        if (rc == CARET_NONE)
            continue; /* killed meanwhile */
        if (found(w, "get", rc))
            return;
        for (size_t i = 1; i < v.len; i++)
            if (v.data[i] != v.data[0])
                snprintf(w->finding, sizeof w->finding, "torn value of %zu bytes", v.len);
        w->reads++;
    }
    if (rc != CARET_NONE)
        found(w, "walk", rc);
}

static void *read_all(void *arg)
{
    struct work *w = arg;

    do
        walk(w);
    while (w->finding[0] == '\0' && (atomic_load(&writers_left) > 0 || w->reads == 0));
    return NULL;
}

static void readers_see_whole_values_in_order(void **state)
{
    (void)state;
    run(rewrite, read_all, 2, 1500);
}

/* --------------------------------------------------------- many gets at once */

#define WRITERS 2u
#define GROUPS  24u /* ^many(writer, group, item), a writer's */
#define ITEMS   40u
#define KEYS    (WRITERS * GROUPS * ITEMS)
#define AT_ONCE 24u
#define PRESENT (1u << 31)

/* What may be read of a key: its values are numbered; which one is begun, and which one is done, and is it there?
 * Kills are counted beside, as far as they were begun, and done. */
static struct {
    _Atomic uint32_t begun, done, kills_begun, kills_done;
} history[KEYS];

static void node_of(caret_node_buf *n, unsigned key, unsigned depth)
{
    node2(n, "^many", key / ITEMS / GROUPS);
    for (unsigned i = 1; i < depth; i++)
        caret_node_child_int(&n->node, sizeof *n, &n->node, i == 1 ? key / ITEMS % GROUPS : key % ITEMS);
}

/* All from `first` on. */
static int kill_keys(struct work *w, caret_node *n, unsigned first, unsigned keys)
{
    for (unsigned k = first; k < first + keys; k++)
        atomic_fetch_add(&history[k].kills_begun, 1);
    int rc = caret_kill(w->s, n);
    for (unsigned k = first; k < first + keys; k++) {
        atomic_store(&history[k].done, atomic_load(&history[k].begun));
        atomic_fetch_add(&history[k].kills_done, 1);
    }
    return rc;
}

/* "number of the key:number of the value:xxx", of any length. */
static int set_key(struct work *w, caret_node *n, unsigned key, unsigned more)
{
    char value[340];
    unsigned number = atomic_fetch_add(&history[key].begun, 1) + 1;
    int len = snprintf(value, sizeof value, "%u:%u:", key, number);

    memset(value + len, 'x', more);
    int rc = caret_set(w->s, n, value, (size_t)len + more);
    atomic_store(&history[key].done, number | PRESENT);
    return rc;
}

/* Fills and empties leaves, groups, and now and then all that is the writer's. */
static void *fill_and_kill(void *arg)
{
    struct work *w = arg;
    struct caret__rand r;
    caret_node_buf n;

    caret__rand_seed(&r, 177 + w->me);
    for (unsigned i = 0; i < w->rounds; i++) {
        unsigned key =
            (w->me * GROUPS + caret__rand_below(&r, GROUPS)) * ITEMS + caret__rand_below(&r, ITEMS);
        unsigned what = caret__rand_below(&r, 1000);
        unsigned keys = what < 2 ? GROUPS * ITEMS : what < 10 ? ITEMS : 1;
        node_of(&n, key, what < 2 ? 1 : what < 10 ? 2 : 3);
        if (found(w, "change",
                  what < 150 ? kill_keys(w, &n.node, key / keys * keys, keys)
                             : set_key(w, &n.node, key, caret__rand_below(&r, i / 500 % 2 == 0 ? 10 : 300))))
            break;
    }
    atomic_fetch_sub(&writers_left, 1);
    return NULL;
}

/* Was that so at some time between? */
static bool was_true(const caret_slice *v, unsigned key, uint32_t done, uint32_t kills_done)
{
    char text[32] = "";
    unsigned k = 0, number = 0;

    if (v->data == NULL)
        return (done & PRESENT) == 0 || atomic_load(&history[key].kills_begun) != kills_done;
    memcpy(text, v->data, v->len < sizeof text ? v->len : sizeof text - 1);
    return sscanf(text, "%u:%u:", &k, &number) == 2 && k == key && number >= (done & ~PRESENT) &&
           number <= atomic_load(&history[key].begun) && (v->len < 31 || v->data[v->len - 1] == 'x');
}

static void *get_at_once(void *arg)
{
    struct work *w = arg;
    struct caret__rand r;
    static _Thread_local caret_node_buf n[AT_ONCE];
    caret_node *list[AT_ONCE];
    caret_slice v[AT_ONCE];
    unsigned key[AT_ONCE];
    uint32_t done[AT_ONCE], kills[AT_ONCE];

    caret__rand_seed(&r, 277 + w->me);
    do {
        for (unsigned i = 0; i < AT_ONCE; i++) {
            key[i] = caret__rand_below(&r, KEYS);
            node_of(&n[i], key[i], 3);
            list[i] = &n[i].node;
            kills[i] = atomic_load(&history[key[i]].kills_done);
            done[i] = atomic_load(&history[key[i]].done);
        }
        if (found(w, "get_many", caret_get_many(w->s, list, AT_ONCE, v)))
            return NULL;
        for (unsigned i = 0; i < AT_ONCE; i++, w->reads++)
            if (!was_true(&v[i], key[i], done[i], kills[i])) {
                snprintf(w->finding, sizeof w->finding, "key %u, value %u or later: '%.*s'", key[i], done[i],
                         v[i].data != NULL ? (int)v[i].len : 4, v[i].data != NULL ? v[i].data : "none");
                return NULL;
            }
    } while (atomic_load(&writers_left) > 0);
    return NULL;
}

static void many_gets_see_what_was_true(void **state)
{
    (void)state;
    run(fill_and_kill, get_at_once, THREADS - WRITERS, 8000);
}

/* ------------------------------------------------------------------ locks */

static uint64_t guarded; /* by the lock ^gate alone: a race here is one of the lock's */

static void *pass_gate(void *arg)
{
    struct work *w = arg;
    caret_node_buf gate;

    /* Even threads lock an ancestor of what odd ones lock. */
    caret_node_var(&gate.node, sizeof gate, "^gate", 5);
    if (w->me % 2 == 1)
        caret_node_child_int(&gate.node, sizeof gate, &gate.node, 7);
    for (unsigned i = 0; i < w->rounds; i++) {
        if (found(w, "lock", caret_lock(w->s, &gate.node, CARET_FOREVER)))
            break;
        guarded++;
        if (found(w, "unlock", caret_unlock(w->s, &gate.node)))
            break;
    }
    return NULL;
}

static void a_lock_lets_one_thread_in(void **state)
{
    (void)state;
    guarded = 0;
    run(pass_gate, NULL, 0, 300);
    assert_int_equal(guarded, THREADS * 300);
}

/* ------------------------------------------------------- opening, closing */

static void *come_and_go(void *arg)
{
    struct work *w = arg;
    caret_node_buf n;

    node2(&n, "^visit", w->me);
    for (unsigned i = 0; i < w->rounds; i++) {
        caret_db *again;
        caret_session *s;
        if (found(w, "open", caret_open(path, NULL, &again)))
            break;
        if (!found(w, "session", caret_session_open(again, &s))) {
            found(w, "incr", caret_incr_int(s, &n.node, 1, 0, NULL));
            caret_session_close(s);
        }
        found(w, "close", caret_close(again));
    }
    return NULL;
}

static void opening_and_closing_disturbs_nobody(void **state)
{
    caret_session *s;
    caret_node_buf n;

    (void)state;
    run(come_and_go, NULL, 0, 20);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        node2(&n, "^visit", i);
        assert_int_equal(number(s, &n.node), 20);
    }
    caret_session_close(s);
}

/* --------------------------------------------------------------- fixture */

static int open_database(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(path, sizeof path, "%.80s/caret-concurrency-%d.caret", tmp != NULL ? tmp : "/tmp",
             (int)getpid());
    unlink(path);
    return caret_open(path, NULL, &db);
}

static int close_database(void **state)
{
    static char report[4096];
    int rc = caret_check(db, report, sizeof report);

    (void)state;
    if (rc != CARET_OK)
        print_error("check: %s\n", report);
    if (caret_close(db) != CARET_OK)
        rc = CARET_E_SYSTEM;
    unlink(path);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_increment_counts_once),
        cmocka_unit_test(no_transaction_is_seen_half),
        cmocka_unit_test(readers_see_whole_values_in_order),
        cmocka_unit_test(many_gets_see_what_was_true),
        cmocka_unit_test(a_lock_lets_one_thread_in),
        cmocka_unit_test(opening_and_closing_disturbs_nobody),
    };
    return cmocka_run_group_tests(tests, open_database, close_database);
}
