/*
 * Sets that are piled up (txn/pile.c): put in order, of each key the last one, whatever keys are like; and a
 * transaction of many sets is what a model says, whatever else it does on the way.
 * Usage: test_txn_pile [seed]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/session.h"
#include "base/rand.h"
#include "caret.h"
#include "txn/txn.h"

#define OPS 3000u
#define LEN 40u

static uint64_t seed = 20261122;
static struct caret__rand rng;

static unsigned below(unsigned n)
{
    return (unsigned)caret__rand_below(&rng, n);
}

/* ------------------------------------------------------------------- in order */

/* Kinds of keys: what is in front, how many bytes after it, of how many values each. */
static const struct kind {
    const char *front;
    unsigned least, most, values;
} kinds[] = {
    {"", 1, 12, 256},    /* anything */
    {"x", 0, 3, 2},      /* the same again and again */
    {"same", 0, 0, 1},   /* one key */
    {"front", 0, 20, 1}, /* zeros, one the beginning of the other */
    {"a long front that all of them have in common", 0, 30, 2},
    {"", 8, 24, 2}, /* windows that are equal in part */
    {"n", 4, 4, 256},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct op {
    uint8_t key[80];
    unsigned len, at;
};

static int by_key(const void *a, const void *b)
{
    const struct op *x = a, *y = b;
    int c = caret__bytes_compare(x->key, x->len, y->key, y->len);
    return c != 0 ? c : x->at < y->at ? -1 : 1;
}

static void make_key(const struct kind *k, struct op *op)
{
    unsigned more = k->least + below(k->most - k->least + 1), n = (unsigned)strlen(k->front);

    memcpy(op->key, k->front, n);
    for (unsigned i = 0; i < more; i++)
        op->key[n + i] = (uint8_t)(k->values == 256 ? below(256) : below(k->values));
    op->len = n + more;
}

/* n ops of a kind, by the pile and by qsort. */
static void try_order(const struct kind *k, unsigned n)
{
    static struct op ops[OPS];
    struct caret__pile pile = {0};
    struct caret__batch b = {0};
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD, last = 0;
    unsigned found = 0;

    assert_int_equal(caret__batch_begin(&b), CARET_OK);
    for (unsigned i = 0; i < n; i++) {
        make_key(k, &ops[i]);
        ops[i].at = i;
        assert_int_equal(caret__batch_add(&b, CARET__OP_SET, ops[i].key, ops[i].len, &i, sizeof i), 0);
    }
    assert_int_equal(caret__pile_order(&pile, &b), CARET_OK);
    qsort(ops, n, sizeof *ops, by_key);
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 < n && caret__bytes_compare(ops[i].key, ops[i].len, ops[i + 1].key, ops[i + 1].len) == 0)
            continue;
        last = off;
        assert_int_equal(caret__record_op(b.rec, b.size + CARET__REC_TAIL, &off, &op), 1);
        assert_int_equal(op.klen, ops[i].len);
        assert_memory_equal(op.key, ops[i].key, op.klen);
        assert_int_equal(op.vlen, sizeof(unsigned));
        assert_memory_equal(op.val, &ops[i].at, sizeof(unsigned));
        found++;
    }
    assert_int_equal(off, b.size);
    assert_int_equal(found, b.nops);
    assert_true(pile.in_order);
    assert_int_equal(pile.last, last);
    assert_int_equal(caret__batch_add(&b, CARET__OP_SET, (const uint8_t *)"more", 4, "", 0), CARET_OK);
    caret__batch_destroy(&b);
}

static void the_last_set_of_each_key_comes_in_order(void **state)
{
    static const unsigned sizes[] = {1, 2, 3, 47, 48, 300, OPS};

    (void)state;
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            try_order(&kinds[k], sizes[i]);
}

/* Few nodes that are set very often: what is kept does not grow with that. */
/* Of a long record the crc is known in part before it is put in order. */
static void a_long_record_in_order_has_its_own_crc(void **state)
{
    struct caret__pile pile = {0};
    struct caret__batch b = {0};
    char val[100] = {0};

    (void)state;
    assert_int_equal(caret__batch_begin(&b), CARET_OK);
    for (unsigned i = 0; b.size < 4u << 20; i++) {
        uint8_t key[6] = {'n', 0, (uint8_t)(i * 7), (uint8_t)(i >> 8), (uint8_t)(i >> 16), (uint8_t)i};
        assert_int_equal(caret__batch_add(&b, CARET__OP_SET, key, sizeof key, val, i % sizeof val), CARET_OK);
    }
    assert_int_equal(caret__pile_order(&pile, &b), CARET_OK);
    uint32_t crc = caret__batch_finish(&b);
    assert_int_equal(crc, caret__record_crc(b.rec, b.size + CARET__REC_TAIL));
    caret__batch_destroy(&b);
}

/* A value that is set again in the middle of a long record is in its crc as it is. */
static void what_is_set_again_counts_in_the_crc(void **state)
{
    static const struct caret__spot nowhere = {0};
    const uint32_t n = CARET__LOG_MAX < 4u << 20 ? 2000 : 20000; /* small: both times have to fit a log */
    struct caret__txn t = {.level = 1};
    char value[100] = {0};

    (void)state;
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint8_t key[5] = {'n', (uint8_t)(i % n / 200 + 1), 1, (uint8_t)(i % 200), 1};
        value[0] = (char)(i >= n);
        assert_int_equal(caret__buffer_set(&t, key, sizeof key, value, sizeof value, &nowhere), CARET_OK);
        if (i == n - 1)
            assert_int_equal(caret__buffer_ready(&t), CARET_OK);
    }
    assert_int_equal(caret__buffer_finish(&t), CARET_OK);
    uint32_t crc = caret__batch_finish(&t.list);
    assert_int_equal(crc, caret__record_crc(t.list.rec, t.list.size + CARET__REC_TAIL));
    assert_int_equal(t.list.nops, n);
    caret__buffer_drop(&t);
    caret__sought_destroy(&t.pile.sought);
}

static void what_is_set_again_does_not_pile_up(void **state)
{
    struct caret__batch b = {0};
    struct caret__pile p = {0};
    char value[100] = {0};
    uint32_t most = 0;

    (void)state;
    assert_int_equal(caret__batch_begin(&b), CARET_OK);
    caret__pile_begin(&p, &b);
    for (unsigned i = 0; i < 200000; i++) {
        uint32_t key = below(1000);
        assert_int_equal(
            caret__pile_add(&p, &b, (const uint8_t *)&key, sizeof key, value, sizeof value, false), 0);
        most = b.size > most ? b.size : most;
    }
    if (most > 3u << 20)
        fail_msg("%u bytes for 1,000 nodes", most);
    caret__batch_destroy(&b);
}

/* --------------------------------------------------------------- transactions */

#define KEYS 1500u

static int model[KEYS], outer[KEYS]; /* what each says; -1: it is not there */

static void node(caret_node_buf *n, unsigned key)
{
    assert_int_equal(caret_node_var(&n->node, sizeof *n, "^pile", 5), CARET_OK);
    assert_int_equal(caret_node_child_int(&n->node, sizeof *n, &n->node, (int64_t)key * 11 - 700), CARET_OK);
}

static void set(caret_session *s, unsigned key, int what)
{
    caret_node_buf n;
    char value[LEN];

    node(&n, key);
    memset(value, what, sizeof value);
    if (caret_set(s, &n.node, value, 1 + (size_t)what % LEN) != CARET_OK)
        fail_msg("set: %s", caret_message());
    model[key] = what;
}

static void check_key(caret_session *s, unsigned key)
{
    caret_node_buf n;
    caret_slice v;

    node(&n, key);
    int rc = caret_get(s, &n.node, &v);
    if (rc != (model[key] < 0 ? CARET_NONE : CARET_OK))
        fail_msg("key %u: %d, %s", key, rc, caret_message());
    if (rc == CARET_OK) {
        assert_int_equal(v.len, 1 + (unsigned)model[key] % LEN);
        assert_int_equal((unsigned char)v.data[0], model[key]);
    }
}

static void check_walk(caret_session *s)
{
    caret_node_buf n;
    int64_t at;

    node(&n, 0);
    assert_int_equal(caret_node_parent(&n.node, sizeof n, &n.node), CARET_OK);
    assert_int_equal(caret_node_child(&n.node, sizeof n, &n.node, "", 0), CARET_OK);
    for (unsigned key = 0; key < KEYS; key++) {
        if (model[key] < 0)
            continue;
        assert_int_equal(caret_next(s, &n.node), CARET_OK);
        assert_true(caret_node_last_as_int(&n.node, &at));
        assert_int_equal(at, (int64_t)key * 11 - 700);
    }
    assert_int_equal(caret_next(s, &n.node), CARET_NONE);
}

static void kill_node(caret_session *s, unsigned key)
{
    caret_node_buf n;

    node(&n, key);
    assert_int_equal(caret_kill(s, &n.node), CARET_OK);
    model[key] = -1;
}

static void set_long(caret_session *s, unsigned key)
{
    static char value[3000];
    caret_node_buf n;

    node(&n, key);
    assert_int_equal(caret_set(s, &n.node, value, sizeof value), CARET_OK);
    kill_node(s, key);
}

/* Sets and reads, and savepoints within it; few keys, so that most are set more than once. */
static void savepoint(caret_session *s, unsigned depth)
{
    unsigned few = below(2) ? 20 : KEYS;
    int saved[KEYS];

    memcpy(saved, model, sizeof saved);
    assert_int_equal(caret_begin(s, 0), CARET_OK);
    for (unsigned i = below(depth == 1 ? 120 : 30); i > 0; i--) {
        set(s, below(few), (int)below(256));
        if (below(10) == 0)
            check_key(s, below(few));
        if (below(40) == 0 && depth < 4)
            savepoint(s, depth + 1);
    }
    if (below(30) == 0)
        check_walk(s);
    if (below(2)) {
        assert_int_equal(caret_rollback(s), CARET_OK);
        memcpy(model, saved, sizeof saved);
    } else {
        assert_int_equal(caret_commit(s), CARET_OK);
    }
    check_key(s, below(few));
}

/* What looks at the pile, or changes something in another way. */
static void something_else(caret_session *s)
{
    switch (below(6)) {
    case 0: check_key(s, below(KEYS)); break;
    case 1: check_walk(s); break;
    case 2: kill_node(s, below(KEYS)); break;
    case 3: set_long(s, below(KEYS)); break;
    case 4: savepoint(s, 1); break;
    default: break;
    }
}

static void one_transaction(caret_session *s)
{
    unsigned many = below(4) == 0 ? below(3 * KEYS) : below(400), from = below(KEYS);
    unsigned seldom = below(2) ? 300 : 80;
    bool ordered = below(3) == 0, only_reads = below(3) == 0; /* beside sets */

    memcpy(outer, model, sizeof outer);
    assert_int_equal(caret_begin(s, 0), CARET_OK);
    for (unsigned i = 0; i < many; i++) {
        set(s, ordered ? (from + i) % KEYS : below(KEYS), (int)below(256));
        if (below(seldom) == 0 && !only_reads)
            something_else(s);
        else if (below(seldom) == 0)
            below(2) ? check_key(s, below(KEYS)) : savepoint(s, 1);
    }
    if (below(5) == 0) {
        assert_int_equal(caret_rollback(s), CARET_OK);
        memcpy(model, outer, sizeof outer);
    } else if (caret_commit(s) != CARET_OK) {
        fail_msg("commit: %s", caret_message());
    }
}

/* What $DATA is of ^data(subscripts), a digit each, is "node=data". */
static void check_data(caret_session *s, const char *const *said)
{
    for (; *said != NULL; said++) {
        caret_node_buf n;
        int data;
        const char *c = *said;
        assert_int_equal(caret_node_var(&n.node, sizeof n, "^data", 5), CARET_OK);
        for (; *c != '='; c++)
            assert_int_equal(caret_node_child(&n.node, sizeof n, &n.node, c, 1), CARET_OK);
        assert_int_equal(caret_data(s, &n.node, &data), CARET_OK);
        if (data != atoi(c + 1))
            fail_msg("%s: %d", *said, data);
    }
}

static void set_data(caret_session *s, const char *subs)
{
    caret_node_buf n;

    assert_int_equal(caret_node_var(&n.node, sizeof n, "^data", 5), CARET_OK);
    for (; *subs != 0; subs++)
        assert_int_equal(caret_node_child(&n.node, sizeof n, &n.node, subs, 1), CARET_OK);
    assert_int_equal(caret_set(s, &n.node, "x", 1), CARET_OK);
}

/* In a list, and in a pile: no tree is made of the changes, unless it is asked for very often. */
static void see_data(caret_session *s, unsigned others)
{
    static const char *const before[] = {"=10", "1=11", "12=1", "2=10", "22=1", "3=0", "13=0", NULL};
    static const char *const after[] = {"=10",  "1=11",  "12=1",  "13=1", "2=11",   "22=1",
                                        "3=10", "33=10", "333=1", "4=0",  "1222=0", NULL};

    assert_int_equal(caret_begin(s, 0), CARET_OK);
    for (unsigned i = 0; i < others; i++)
        set(s, i, 1);
    check_data(s, before);
    set_data(s, "13");
    set_data(s, "2");
    set_data(s, "333");
    set_data(s, "333");
    check_data(s, after);
    assert_false(s->txn.in_tree);
    for (unsigned i = 0; i < 1000 && !s->txn.in_tree; i++)
        check_data(s, after);
    assert_true(s->txn.in_tree);
    check_data(s, after);
    assert_int_equal(caret_rollback(s), CARET_OK);
    memset(model, 0xff, sizeof model);
    check_data(s, before);
}

/* Handles that know where their nodes are, set in an order that is not that of the record. */
static void set_by_handles(caret_session *s)
{
    static caret_node_buf n[10];
    const unsigned many = sizeof n / sizeof n[0];
    caret_slice v;

    for (unsigned i = 0; i < many; i++) {
        set(s, i * 100, (int)i);
        node(&n[i], i * 100);
        assert_int_equal(caret_get(s, &n[i].node, &v), CARET_OK);
    }
    assert_int_equal(caret_begin(s, 0), CARET_OK);
    for (unsigned i = 0; i < 500; i++) {
        char value[LEN];
        unsigned k = i * 7 % many;
        model[k * 100] = (int)(i % 200);
        memset(value, (int)(i % 200), sizeof value);
        assert_int_equal(caret_set(s, &n[k].node, value, 1 + i % 200 % LEN), CARET_OK);
    }
    assert_int_equal(caret_commit(s), CARET_OK);
}

static char path[80];

static caret_session *open_session(caret_db **db)
{
    caret_options o = {.size = sizeof o, .no_thread = 1, .sync = CARET_SYNC_OFF, .any_fs = 1};
    caret_session *s;

    snprintf(path, sizeof path, "/tmp/caret-pile-%d.caret", (int)getpid());
    memset(model, 0xff, sizeof model);
    assert_int_equal(caret_open(path, &o, db), CARET_OK);
    assert_int_equal(caret_session_open(*db, &s), CARET_OK);
    return s;
}

static void close_session(caret_db *db, caret_session *s)
{
    char command[160], report[1024];

    caret_session_close(s);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s", report);
    assert_int_equal(caret_close(db), CARET_OK);
    snprintf(command, sizeof command, "rm -f %s*", path);
    assert_int_equal(system(command), 0);
}

static void a_transaction_of_many_sets_is_what_the_model_says(void **state)
{
    caret_db *db;
    caret_session *s = open_session(&db);

    (void)state;
    set_by_handles(s);
    for (unsigned i = 0; i < 60; i++) {
        one_transaction(s);
        for (unsigned k = i % 10; k < KEYS; k += 10)
            check_key(s, k);
    }
    check_walk(s);
    close_session(db, s);
}

static void what_data_has_of_sets_is_told_without_a_tree(void **state)
{
    caret_db *db;
    caret_session *s = open_session(&db);

    (void)state;
    set_data(s, "1");
    set_data(s, "12");
    set_data(s, "22");
    see_data(s, 5);
    see_data(s, 500);
    close_session(db, s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_set_of_each_key_comes_in_order),
        cmocka_unit_test(a_long_record_in_order_has_its_own_crc),
        cmocka_unit_test(what_is_set_again_counts_in_the_crc),
        cmocka_unit_test(what_is_set_again_does_not_pile_up),
        cmocka_unit_test(a_transaction_of_many_sets_is_what_the_model_says),
        cmocka_unit_test(what_data_has_of_sets_is_told_without_a_tree),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    print_message("seed %llu\n", (unsigned long long)seed);
    caret__rand_seed(&rng, seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
