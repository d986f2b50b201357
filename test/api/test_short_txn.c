/*
 * Transactions of a few sets, which are listed instead of put into a tree (txn/txn.h) and committed leaf by leaf
 * (log/commit_sets.c): beside a model, with all that moves the list to the tree, and killed at every fault
 * point of a commit that splits one leaf and changes others in place.
 * Usage: test_short_txn [transactions [seed]]
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/session.h"
#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"
#include "log/apply.h"
#include "shm/undo.h"

#define KEYS    2000u
#define LONGEST 90u /* bytes of a value; some go beyond what a page takes */
#define HUGE    3000u

static unsigned transactions = 4000;
static uint64_t seed = 20261121;
static char path[80];
static struct caret__rand rng;
static caret_db *db;
static caret_session *s;

/* Of each key: bytes of its value and what they are filled with; -1 = none. */
static struct model {
    int len;
    unsigned char fill;
} now[KEYS], before[KEYS];

#define OK(call)                                                                                             \
    do {                                                                                                     \
        int rc_ = (call);                                                                                    \
        if (rc_ != CARET_OK)                                                                                 \
            fail_msg("%s: %d %s", #call, rc_, caret_message());                                              \
    } while (0)

static caret_node *node(caret_node_buf *n, unsigned key)
{
    OK(caret_node_var(&n->node, sizeof *n, "^short", 6));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, (int64_t)key * 7 - 900));
    return &n->node;
}

static unsigned below(unsigned n)
{
    return (unsigned)caret__rand_below(&rng, n);
}

static void check_key(unsigned key)
{
    caret_node_buf n;
    caret_slice v;
    int rc = caret_get(s, node(&n, key), &v);

    assert_int_equal(rc, now[key].len < 0 ? CARET_NONE : CARET_OK);
    if (rc != CARET_OK)
        return;
    assert_int_equal(v.len, now[key].len);
    for (size_t i = 0; i < v.len; i++)
        assert_int_equal((unsigned char)v.data[i], now[key].fill);
}

/* All keys in order, by walking. */
static void check_walk(void)
{
    caret_node_buf n;
    int64_t at;

    OK(caret_node_var(&n.node, sizeof n, "^short", 6));
    OK(caret_node_child(&n.node, sizeof n, &n.node, "", 0));
    for (unsigned key = 0; key < KEYS; key++) {
        if (now[key].len < 0)
            continue;
        OK(caret_next(s, &n.node));
        assert_true(caret_node_last_as_int(&n.node, &at));
        assert_int_equal(at, (int64_t)key * 7 - 900);
    }
    assert_int_equal(caret_next(s, &n.node), CARET_NONE);
}

static void set(unsigned key, unsigned len)
{
    static char value[HUGE];
    caret_node_buf n;

    now[key] = (struct model){(int)len, (unsigned char)below(256)};
    memset(value, now[key].fill, len);
    OK(caret_set(s, node(&n, key), value, len));
}

static void delete (unsigned key)
{
    caret_node_buf n;

    now[key].len = -1;
    OK(caret_delete(s, node(&n, key)));
}

/* Set it, or delete it. */
static void change(unsigned key, unsigned len)
{
    if (below(4) == 0)
        delete (key);
    else
        set(key, len);
}

/* A local that is to be restored: from now on what was listed in savepoints is in the tree. */
static void set_local(void)
{
    caret_node_buf n;

    OK(caret_txn_restore_locals(s, 1));
    OK(caret_node_var(&n.node, sizeof n, "short", 5));
    OK(caret_set(s, &n.node, "x", 1));
}

/* A savepoint, with others in it: rolled back or not. */
static void savepoint(unsigned key, unsigned depth)
{
    struct model inner[KEYS];

    memcpy(inner, now, sizeof now);
    OK(caret_begin(s, 0));
    for (unsigned i = below(5); i > 0; i--) {
        change((key + below(3)) % KEYS, below(2) != 0 ? 7 : below(LONGEST));
        if (depth < 4 && below(4) == 0)
            savepoint(key, depth + 1);
        check_key((key + below(3)) % KEYS);
    }
    switch (below(20)) { /* each moves the list to the tree */
    case 0: check_walk(); break;
    case 1: set(below(KEYS), HUGE); break;
    case 2: set_local(); break;
    }
    if (below(2) != 0) {
        OK(caret_commit(s));
        return;
    }
    OK(caret_rollback(s));
    memcpy(now, inner, sizeof now);
    for (unsigned i = 0; i < 3; i++)
        check_key((key + i) % KEYS);
}

/* What else a transaction may do: all but deletes and savepoints move the list to the tree. */
static void something_else(void)
{
    unsigned key = below(KEYS);
    caret_node_buf n;

    switch (below(10)) {
    case 0: delete (key); return;
    case 1: OK(caret_kill(s, node(&n, key))); break;
    case 2: check_walk(); return;
    case 3: set(key, HUGE); return;
    default: savepoint(key, 1); return;
    }
    now[key].len = -1;
}

static void transaction(void)
{
    unsigned sets = below(8) == 0 ? below(150) : below(8), key = below(KEYS);
    bool others = below(6) == 0, deletes = below(3) == 0;

    if (below(3) == 0) /* out of line: its leaf can't be changed in place when it goes */
        set(key, HUGE);
    memcpy(before, now, sizeof now);
    OK(caret_begin(s, 0));
    if (others && below(4) == 0)
        set_local();
    for (unsigned i = 0; i < sets; i++) {
        key = below(3) == 0   ? key
              : below(3) == 0 ? (key + 1) % KEYS
                              : below(KEYS); /* often the same again, or near */
        if (deletes)
            change(key, below(LONGEST));
        else
            set(key, below(LONGEST));
        if (others && below(sets) == 0)
            something_else();
        check_key(below(2) != 0 ? key : below(KEYS));
    }
    if (below(6) == 0) {
        OK(caret_rollback(s));
        memcpy(now, before, sizeof now);
    } else {
        OK(caret_commit(s));
    }
}

static void empty(void)
{
    caret_node_buf n;

    OK(caret_node_var(&n.node, sizeof n, "^short", 6));
    OK(caret_kill(s, &n.node));
    for (unsigned key = 0; key < KEYS; key++)
        now[key].len = -1;
}

static void open_empty(void)
{
    unlink(path);
    OK(caret_open(path, NULL, &db));
    OK(caret_session_open(db, &s));
    empty();
}

static void check_all(void)
{
    char report[2000];

    for (unsigned key = 0; key < KEYS; key++)
        check_key(key);
    check_walk();
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", caret_message(), report);
}

static void close_all(void)
{
    caret_session_close(s);
    OK(caret_close(db));
    unlink(path);
}

static void short_transactions_are_what_the_model_says(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    caret__rand_seed(&rng, seed);
    open_empty();
    for (unsigned i = 0; i < transactions; i++) {
        transaction();
        if (i % 200 == 0)
            OK(caret_checkpoint(db)); /* leaves of an older epoch */
        if (i % 500 == 0 || (i < 600 && i % 20 == 0))
            check_all();
        if (i % 900 == 899) /* leaves are to be split again */
            empty();
    }
    check_all();
    close_all();
}

/* What was set twice is there once, as set last, also if it was longer the first time. */
static void the_last_set_of_a_key_counts(void **state)
{
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 1);
    for (unsigned key = 0; key < KEYS; key++) /* leaves without room */
        set(key, 40);
    for (unsigned key = 0; key < KEYS; key++) {
        OK(caret_begin(s, 0));
        set(key, 1);
        set(key, 40);
        check_key(key);
        set((key + 1) % KEYS, 45);
        set(key, 39);
        OK(caret_commit(s));
        check_key(key);
    }
    check_all();
    close_all();
}

/* In the smallest arena: changes of a few leaves, each of which must be copied. */
static void the_smallest_arena_holds_a_few_sets(void **state)
{
    caret_options o = {.size = sizeof o, .arena_limit = 1};
    (void)state;
    unlink(path);
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    caret__rand_seed(&rng, 4);
    empty();
    for (unsigned key = 0; key < KEYS / 8; key++)
        set(key, 40);
    for (unsigned key = 0; key + 80 < KEYS / 8; key++) {
        OK(caret_checkpoint(db));
        OK(caret_begin(s, 0));
        for (unsigned i = 0; i < 4; i++)
            set(key + i * 25, 40);
        OK(caret_commit(s));
    }
    check_all();
    close_all();
}

/* The first value that a session reads may be an empty one of its own transaction. */
static void an_empty_value_is_the_first_that_is_read(void **state)
{
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 5);
    OK(caret_begin(s, 0));
    set(1, 0);
    check_key(1);
    OK(caret_commit(s));
    check_key(1);
    close_all();
}

/* Where the last commit saved what it overwrote. */
static uint32_t area_of_undo(void)
{
    return caret__undo_area(atomic_load(&s->e->sh->undo_word));
}

/* A transaction of so many sets from that key on, of a length that their leaves have room for. */
static void set_some(unsigned first, unsigned sets)
{
    OK(caret_begin(s, 0));
    for (unsigned key = first; key < first + sets; key++)
        set(key, 5);
    OK(caret_commit(s));
}

/* Lines of an area that all use would go from core to core with each commit. */
static void sets_in_place_save_in_the_area_of_their_process(void **state)
{
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 7);
    for (unsigned key = 0; key < 1000; key++)
        set(key, 5);
    set_some(500, 2);
    assert_int_equal(area_of_undo(), caret__undo_near(s->e));
    set_some(300, 8);
    assert_int_equal(area_of_undo(), caret__undo_near(s->e));
    set_some(1000, 300); /* more than are done in place */
    assert_int_equal(area_of_undo(), 0);
    check_all();
    close_all();
}

/* Keys that go before all of a leaf's: upwards, as the items that are pushed in front of a list, which are found beside
 * each other; downwards; in no order. */
static void keys_come_before_all_of_a_leaf(void **state)
{
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 9);
    for (unsigned first = KEYS, n = 1; first > 40; n = 1 + below(40)) {
        first -= n;
        OK(caret_begin(s, 0));
        for (unsigned i = 0; i < n; i++)
            set(first + (first % 3 == 0 ? i * 7 % n : first % 3 == 1 ? n - 1 - i : i), 20);
        if (first % 5 == 0)
            set(first + below(KEYS - first), 20);
        OK(caret_commit(s));
    }
    check_all();
    close_all();
}

#ifdef CARET_FAULTS
/* Values that stay as long as they are take no room, however many of a leaf are set. */
static void full_leaves_are_changed_in_place(void **state)
{
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 6);
    for (unsigned key = 0; key < 200; key++)
        set(key, 40);
    uint64_t edits = caret__fault_hits("edit_go");
    OK(caret_begin(s, 0));
    for (unsigned key = 20; key < 120; key++)
        set(key, 40);
    OK(caret_commit(s));
    assert_int_equal(caret__fault_hits("edit_go") - edits, 100);
    check_all();
    close_all();
}

/* So are those that lose some of what they have. */
static void deletes_are_done_in_place(void **state)
{
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 8);
    for (unsigned key = 0; key < 200; key++)
        set(key, 40);
    uint64_t edits = caret__fault_hits("edit_go"), removed = caret__fault_hits("page_remove_slots");
    OK(caret_begin(s, 0));
    for (unsigned key = 20; key < 120; key += 8)
        delete (key);
    set(30, 39);
    delete (1500); /* which is not there */
    OK(caret_commit(s));
    assert_int_equal(caret__fault_hits("page_remove_slots") - removed, 13);
    assert_int_equal(caret__fault_hits("edit_go") - edits, 14);
    check_all();
    close_all();
}

/* The ith key of a try: each has keys of its own, all over, until there are none left. */
static unsigned key_of(unsigned try, unsigned i)
{
    return (try * 5 + i) * 1237 % KEYS;
}

static unsigned length_of(unsigned try, unsigned i)
{
    return 1 + (i * 17 + try) % 60;
}

/* Child: a transaction in which the nth fault point kills. */
static void die_at(unsigned try, unsigned nth)
{
    OK(caret_open(path, NULL, &db));
    OK(caret_session_open(db, &s));
    caret__fault_arm("*", nth, CARET__FAULT_KILL);
    OK(caret_begin(s, 0));
    for (unsigned i = 0; i < 5; i++) {
        if (i % 2 != 0)
            delete (key_of(try, i));
        else
            set(key_of(try, i), length_of(try, i));
    }
    OK(caret_commit(s));
    _exit(0);
}

/* Look what the try left: all of it or nothing.  Was it all? */
static bool all_or_nothing(unsigned try)
{
    caret_node_buf n;
    caret_slice v;

    /* A writer repairs; readers may look at the state before. */
    OK(caret_node_var(&n.node, sizeof n, "^other", 6));
    OK(caret_set(s, &n.node, "1", 1));
    bool all = caret_get(s, node(&n, key_of(try, 0)), &v) == CARET_OK;

    for (unsigned i = 0; i < 5; i++) {
        if (all && i % 2 != 0)
            now[key_of(try, i)].len = -1;
        else if (all) /* as set() says */
            now[key_of(try, i)] = (struct model){(int)length_of(try, i), (unsigned char)below(256)};
        check_key(key_of(try, i));
    }
    return all;
}

static void a_death_in_a_short_transaction_leaves_all_or_nothing(void **state)
{
    unsigned deaths = 0, done = 0, nth = 1, whole = 0;
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 3);
    for (unsigned try = 0; whole < 25; try++, nth++) {
        int status;
        if (try % (KEYS / 5) == 0)
            empty();
        for (unsigned i = 1; i < 5; i += 2)
            set(key_of(try, i), 9);
        pid_t pid = fork();
        if (pid == 0)
            die_at(try, nth);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        bool all = all_or_nothing(try);
        if (WIFEXITED(status)) { /* it has fewer fault points */
            assert_int_equal(WEXITSTATUS(status), 0);
            assert_true(all);
            nth = 0;
            whole++;
        } else {
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            deaths++;
            done += all;
        }
        if (try % 20 == 0)
            check_all();
    }
    check_all();
    print_message("%u deaths, %u of them after the commit point\n", deaths, done);
    assert_true(done > 0 && done < deaths);
    close_all();
}

enum { ROW = 6 }; /* new keys of one leaf that are committed together */

/* Child: such a row, in which the nth fault point kills. */
static void die_in_a_row(unsigned first, unsigned nth)
{
    OK(caret_open(path, NULL, &db));
    OK(caret_session_open(db, &s));
    caret__fault_arm("*", nth, CARET__FAULT_KILL);
    set_some(first, ROW);
    _exit(0);
}

/* Was the row set?  Then the model says so, too: its fills are those that the child drew. */
static bool row_is_there(unsigned first)
{
    caret_node_buf n;
    caret_slice v;

    OK(caret_node_var(&n.node, sizeof n, "^other", 6)); /* a writer repairs */
    OK(caret_set(s, &n.node, "1", 1));
    bool all = caret_get(s, node(&n, first), &v) == CARET_OK;
    for (unsigned key = first; all && key < first + ROW; key++)
        now[key] = (struct model){5, (unsigned char)below(256)};
    return all;
}

/* The slots of its leaf are saved and moved once. */
static void a_death_in_a_row_in_place_leaves_all_or_nothing(void **state)
{
    unsigned first = 1000, deaths = 0, whole = 0, nth = 1;
    (void)state;
    open_empty();
    caret__rand_seed(&rng, 4);
    set_some(first, 1);
    uint64_t edits = caret__fault_hits("edit_go"), rows = caret__fault_hits("page_row_slots");
    set_some(first -= ROW, ROW);
    assert_int_equal(caret__fault_hits("edit_go") - edits, 1);
    assert_int_equal(caret__fault_hits("page_row_slots") - rows, 1);
    for (; whole < 4; nth++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            die_in_a_row(first - ROW, nth);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (row_is_there(first - ROW))
            first -= ROW;
        check_all();
        deaths += WIFSIGNALED(status);
        whole += !WIFSIGNALED(status);
        nth = WIFSIGNALED(status) ? nth : 0; /* it has fewer fault points */
    }
    assert_true(deaths > 20);
    close_all();
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_transactions_are_what_the_model_says),
        cmocka_unit_test(the_last_set_of_a_key_counts),
        cmocka_unit_test(the_smallest_arena_holds_a_few_sets),
        cmocka_unit_test(an_empty_value_is_the_first_that_is_read),
        cmocka_unit_test(sets_in_place_save_in_the_area_of_their_process),
        cmocka_unit_test(keys_come_before_all_of_a_leaf),
#ifdef CARET_FAULTS
        cmocka_unit_test(full_leaves_are_changed_in_place),
        cmocka_unit_test(deletes_are_done_in_place),
        cmocka_unit_test(a_death_in_a_short_transaction_leaves_all_or_nothing),
        cmocka_unit_test(a_death_in_a_row_in_place_leaves_all_or_nothing),
#endif
    };

    if (argc > 1)
        transactions = (unsigned)atoi(argv[1]);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-short-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
