/*
 * Subtrees: merge, copy, move and count do what a model says, in and outside of transactions, among globals and locals;
 * they are restarted by what others change, and refuse what can't be.  Deaths: test_subtree_death.c.
 */
#include "support/database.h"

#include <pthread.h>

#include "base/rand.h"
#include "support/nodes.h"
#include "tree/tree.h"

/* ----------------------------------------------------------------- the model */

/* Nodes of one or two variables as paths of digits: "a", "a1", "a12", with the value of each; "" = none. */
#define PATHS (1u + 3u + 9u + 27u)
#define VARS  4u /* ^a, ^b, a, b */

struct forest {
    int value[VARS][PATHS]; /* 0: none */
};

/* Path number p has the subscripts of its parent's, and one more. */
static unsigned parent_of(unsigned p)
{
    return (p - 1) / 3;
}

static bool is_below(unsigned p, unsigned top)
{
    while (p > top)
        p = parent_of(p);
    return p == top;
}

/* Where path p, below `from`, is below `to`; PATHS: too deep for the model. */
static unsigned moved(unsigned p, unsigned from, unsigned to)
{
    if (p == from)
        return to;
    unsigned above = moved(parent_of(p), from, to);
    return above >= PATHS ? PATHS : 3 * above + 1 + (p - 1) % 3;
}

static void place(caret_node_buf *n, unsigned var, unsigned p)
{
    static const char *const names[VARS] = {"^a", "^b", "a", "b"};

    if (p == 0) {
        OK(caret_node_var(&n->node, sizeof *n, names[var], strlen(names[var])));
        return;
    }
    place(n, var, parent_of(p));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, (p - 1) % 3));
}

/* Every fifth is long, every third empty. */
static size_t value_of(int number, char *out)
{
    return number % 3 == 0 ? 0 : text_of(number, number % 5 == 0 ? 3000 : 20, out);
}

static void model_kill_below(struct forest *f, unsigned var, unsigned top)
{
    for (unsigned p = 0; p < PATHS; p++)
        if (is_below(p, top))
            f->value[var][p] = 0;
}

static void model_merge(struct forest *f, unsigned var, unsigned to, unsigned from_var, unsigned from)
{
    struct forest was = *f;

    for (unsigned p = 0; p < PATHS; p++)
        if (is_below(p, from) && was.value[from_var][p] != 0)
            f->value[var][moved(p, from, to)] = was.value[from_var][p];
}

/* Does everything below `from` have a place below `to` in the model? */
static bool fits(unsigned to, unsigned from)
{
    for (unsigned p = 0; p < PATHS; p++)
        if (is_below(p, from) && moved(p, from, to) >= PATHS)
            return false;
    return true;
}

static uint64_t model_count(const struct forest *f, unsigned var, unsigned top)
{
    uint64_t n = 0;

    for (unsigned p = 0; p < PATHS; p++)
        n += is_below(p, top) && f->value[var][p] != 0;
    return n;
}

static void compare(caret_session *s, const struct forest *f)
{
    for (unsigned var = 0; var < VARS; var++) {
        for (unsigned p = 0; p < PATHS; p++) {
            caret_node_buf n;
            caret_slice v;
            place(&n, var, p);
            int rc = caret_get(s, &n.node, &v);
            assert_int_equal(rc, f->value[var][p] != 0 ? CARET_OK : CARET_NONE);
            if (rc != CARET_OK)
                continue;
            assert_int_equal(v.len, value_of(f->value[var][p], text));
            assert_memory_equal(v.data, text, v.len);
        }
    }
}

/* -------------------------------------------------------------- random calls */

static void one_change(caret_session *s, struct forest *f, struct caret__rand *r)
{
    unsigned var = caret__rand_below(r, VARS), p = caret__rand_below(r, PATHS);
    unsigned from_var = caret__rand_below(r, VARS), from = caret__rand_below(r, PATHS);
    unsigned what = caret__rand_below(r, 8);
    caret_node_buf n, m;
    uint64_t got;

    place(&n, var, p);
    place(&m, from_var, from);
    if (what < 3) {
        f->value[var][p] = (int)caret__rand_below(r, 1000) + 1;
        OK(caret_set(s, &n.node, text, value_of(f->value[var][p], text)));
        return;
    }
    if (what == 3) {
        OK(caret_count(s, &n.node, &got));
        assert_int_equal(got, model_count(f, var, p));
        return;
    }
    bool same = var == from_var && p == from;
    bool overlap = var == from_var && (is_below(p, from) || is_below(from, p));
    if (!overlap && !fits(p, from))
        return;
    int rc = what == 7   ? caret_move(s, &n.node, &m.node)
             : what == 6 ? caret_copy(s, &n.node, &m.node)
                         : caret_merge(s, &n.node, &m.node);
    assert_int_equal(rc, overlap && !same ? CARET_E_INVALID : CARET_OK);
    if (overlap)
        return;
    if (what >= 6)
        model_kill_below(f, var, p);
    model_merge(f, var, p, from_var, from);
    if (what == 7)
        model_kill_below(f, from_var, from);
}

/* Some changes in a transaction, perhaps with a savepoint, which is kept or not. */
static void one_transaction(caret_session *s, struct forest *f, struct caret__rand *r)
{
    struct forest before = *f, saved = *f;
    bool inner = false;

    OK(caret_begin(s, 0));
    OK(caret_txn_restore_locals(s, 1));
    for (unsigned i = 0, most = 1 + caret__rand_below(r, 12); i < most; i++) {
        one_change(s, f, r);
        if (!inner && caret__rand_below(r, 4) == 0) {
            OK(caret_begin(s, 0));
            saved = *f;
            inner = true;
        }
        if (caret__rand_below(r, 4) == 0)
            compare(s, f);
    }
    if (inner && caret__rand_below(r, 2) == 0) {
        OK(caret_rollback(s));
        *f = saved;
    } else if (inner) {
        OK(caret_commit(s));
    }
    if (caret__rand_below(r, 3) == 0) {
        OK(caret_rollback(s));
        *f = before;
        return;
    }
    OK(caret_commit(s));
}

static void random_calls_do_what_a_model_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct forest f = {0};
        struct caret__rand r;
        caret_db *db = open_db();
        caret_session *s;
        caret__rand_seed(&r, seed);
        OK(caret_session_open(db, &s));
        for (unsigned i = 0; i < 300; i++) {
            if (caret__rand_below(&r, 3) == 0)
                one_transaction(s, &f, &r);
            else
                one_change(s, &f, &r);
            if (i % 5 == 0)
                compare(s, &f);
        }
        compare(s, &f);
        check(db);
        caret_session_close(s);
        OK(caret_close(db));
        unlink(path);
    }
}

/* ------------------------------------------------------------------ large ones */

static void node_var(caret_node_buf *n, const char *name)
{
    OK(caret_node_var(&n->node, sizeof *n, name, strlen(name)));
}

static uint64_t counted(caret_session *s, const char *name)
{
    caret_node_buf n;
    uint64_t count;

    node_var(&n, name);
    OK(caret_count(s, &n.node, &count));
    return count;
}

#define MANY 4000

static void many_nodes_are_copied_moved_and_counted(void **state)
{
    caret_db *db = open_db();
    caret_session *s;
    caret_node_buf t, u;

    (void)state;
    put(db, 0, MANY, 30);
    OK(caret_session_open(db, &s));
    node_var(&t, "^t");
    node_var(&u, "^u");
    OK(caret_merge(s, &u.node, &t.node));
    assert_int_equal(counted(s, "^u"), MANY);
    /* Over what is there: the kill comes before sets in the same record. */
    OK(caret_copy(s, &u.node, &t.node));
    assert_int_equal(counted(s, "^u"), MANY);
    check(db);
    OK(caret_kill(s, &t.node));
    OK(caret_move(s, &t.node, &u.node)); /* to the lower key, and back */
    assert_int_equal(counted(s, "^u"), 0);
    OK(caret_move(s, &u.node, &t.node));
    assert_int_equal(counted(s, "^t"), 0);
    OK(caret_move(s, &t.node, &u.node));
    assert_int_equal(count(db, 0, 30), MANY);
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, 0, 30), MANY);
    OK(caret_close(db));
}

/* ------------------------------------------------------------------- conflicts */

static void a_count_is_a_read_of_all_that_is_below(void **state)
{
    caret_db *db = open_db();
    caret_session *s, *other_session;
    caret_node_buf n, m;
    uint64_t k;

    (void)state;
    put(db, 0, 300, 30);
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &other_session));
    node_var(&n, "^t");
    node_var(&m, "^mine");
    OK(caret_begin(s, 0));
    OK(caret_count(s, &n.node, &k));
    OK(caret_set(s, &m.node, "x", 1));
    node_of(&m, 1000); /* after all others */
    OK(caret_set(other_session, &m.node, "new", 3));
    assert_int_equal(caret_commit(s), CARET_RESTART);
    OK(caret_restart(s));
    OK(caret_count(s, &n.node, &k));
    assert_int_equal(k, 301);
    OK(caret_rollback(s));

    caret_node_buf u;
    node_var(&u, "^u");
    OK(caret_begin(s, 0));
    OK(caret_merge(s, &u.node, &n.node));
    OK(caret_set(other_session, &m.node, "newer", 5));
    assert_int_equal(caret_commit(s), CARET_RESTART);
    OK(caret_rollback(s));
    assert_int_equal(counted(s, "^u"), 0);
    caret_session_close(other_session);
    caret_session_close(s);
    OK(caret_close(db));
}

/* --------------------------------------------------------------------- threads */

/*
 * One thread sets all of ^t to the number of its round, in one transaction each; one copies ^t to ^u and looks whether
 * that is of one round; one moves ^v to ^w and back; one counts those two; one is told the changes of ^t.
 */
#define WIDTH  12
#define ROUNDS 400u
#define MOST   400u /* of what the others do: less than the log holds */

static caret_db *shared_db;
static _Atomic unsigned at_work;

static void child_of(caret_node_buf *n, const char *name, int i)
{
    must(caret_node_var(&n->node, sizeof *n, name, strlen(name)), "name");
    must(caret_node_child_int(&n->node, sizeof *n, &n->node, i), "child");
}

static int set_all(caret_session *s, void *arg)
{
    caret_node_buf n;
    int rc = CARET_OK;

    for (int i = 0; i < WIDTH && rc == CARET_OK; i++) {
        child_of(&n, "^t", i);
        rc = caret_set(s, &n.node, arg, strlen(arg));
    }
    return rc;
}

static void *write_rounds(void *session)
{
    char round[16];

    for (unsigned i = 1; i <= ROUNDS; i++) {
        snprintf(round, sizeof round, "%u", i);
        must(caret_transaction(session, set_all, round, 0), "round");
    }
    atomic_fetch_sub(&at_work, 1);
    return NULL;
}

static void *copy_rounds(void *session)
{
    caret_node_buf from, to;
    caret_slice v;

    for (unsigned n = 0; n < MOST && atomic_load(&at_work) != 0; n++) {
        char first[16];
        size_t len = 0;
        must(caret_node_var(&from.node, sizeof from, "^t", 2), "^t");
        must(caret_node_var(&to.node, sizeof to, "^u", 2), "^u");
        must(caret_copy(session, &to.node, &from.node), "copy");
        for (int i = 0; i < WIDTH; i++) {
            child_of(&to, "^u", i);
            must(caret_get(session, &to.node, &v), "what was copied");
            if (i == 0)
                memcpy(first, v.data, len = v.len);
            must(v.len == len && memcmp(v.data, first, len) == 0 ? CARET_OK : CARET_NONE,
                 "a copy of one round");
        }
    }
    return NULL;
}

static void *move_about(void *session)
{
    caret_node_buf v, w;

    must(caret_node_var(&v.node, sizeof v, "^v", 2), "^v");
    must(caret_node_var(&w.node, sizeof w, "^w", 2), "^w");
    for (unsigned n = 0; n < MOST && atomic_load(&at_work) != 0; n++) {
        must(caret_move(session, &w.node, &v.node), "move");
        must(caret_move(session, &v.node, &w.node), "move back");
    }
    return NULL;
}

static int count_both(caret_session *s, void *arg)
{
    uint64_t here, there, *sum = arg;
    caret_node_buf n;

    must(caret_node_var(&n.node, sizeof n, "^v", 2), "^v");
    int rc = caret_count(s, &n.node, &here);
    must(caret_node_var(&n.node, sizeof n, "^w", 2), "^w");
    if (rc == CARET_OK)
        rc = caret_count(s, &n.node, &there);
    if (rc == CARET_OK)
        *sum = here + there;
    return rc;
}

static void *count_moved(void *session)
{
    uint64_t sum = 0;

    while (atomic_load(&at_work) != 0) {
        must(caret_transaction(session, count_both, &sum, 0), "count");
        must(sum == WIDTH ? CARET_OK : CARET_NONE, "what is moved is in one place");
    }
    return NULL;
}

static void *follow_rounds(void *session)
{
    caret_change c = {.size = sizeof c};
    caret_node_buf t;
    caret_log *log;
    char wanted[16];

    must(caret_log_open(shared_db, 0, &log), "log");
    must(caret_node_var(&t.node, sizeof t, "^t", 2), "^t");
    must(caret_log_below(log, &t.node), "below");
    for (unsigned i = 0; i <= ROUNDS; i++) {
        size_t len = (size_t)snprintf(wanted, sizeof wanted, "%u", i);
        for (int k = 0; k < WIDTH; k++) {
            int rc = caret_log_next(log, &c);
            while (rc == CARET_NONE) {
                must(caret_log_wait(session, log, CARET_FOREVER), "wait");
                rc = caret_log_next(log, &c);
            }
            must(rc, "change");
            must(c.value.len == len && memcmp(c.value.data, wanted, len) == 0 ? CARET_OK : CARET_NONE,
                 "rounds in order");
        }
    }
    caret_log_close(log);
    return NULL;
}

static void threads_copy_move_count_and_follow(void **state)
{
    static void *(*const works[])(void *) = {write_rounds, copy_rounds, move_about, count_moved,
                                             follow_rounds};
    enum { WORKS = sizeof works / sizeof *works };
    pthread_t thread[WORKS];
    caret_session *s, *of[WORKS];
    caret_node_buf from, to;

    (void)state;
    caret_options o = options();
#ifdef CARET_SMALL
    o.log_size = 1u << 20;
#endif
    OK(caret_open(path, &o, &shared_db));
    OK(caret_session_open(shared_db, &s));
    OK(caret_transaction(s, set_all, "0", 0));
    node_var(&from, "^t");
    node_var(&to, "^v");
    OK(caret_copy(s, &to.node, &from.node));
    atomic_store(&at_work, 1);
    for (int i = 0; i < WORKS; i++) {
        OK(caret_session_open(shared_db, &of[i]));
        assert_int_equal(pthread_create(&thread[i], NULL, works[i], of[i]), 0);
    }
    for (int i = 0; i < WORKS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        caret_session_close(of[i]);
    }
    assert_int_equal(counted(s, "^v") + counted(s, "^w"), WIDTH);
    check(shared_db);
    caret_session_close(s);
    OK(caret_close(shared_db));
}

static void a_snapshot_is_counted_and_copied_from(void **state)
{
    caret_db *db = open_db();
    caret_session *s, *writer;
    caret_node_buf n, local;

    (void)state;
    put(db, 0, 500, 30);
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &writer));
    node_var(&n, "^t");
    OK(caret_begin(s, CARET_TXN_SNAPSHOT));
    OK(caret_kill(writer, &n.node));
    assert_int_equal(counted(s, "^t"), 500);
    assert_int_equal(counted(writer, "^t"), 0);
    node_var(&local, "copy");
    OK(caret_merge(s, &local.node, &n.node));
    assert_int_equal(counted(s, "copy"), 500);
    caret_node_buf u;
    node_var(&u, "^u");
    assert_int_equal(caret_merge(s, &u.node, &n.node), CARET_E_READONLY);
    OK(caret_commit(s));
    assert_int_equal(counted(s, "copy"), 500);
    caret_session_close(writer);
    caret_session_close(s);
    OK(caret_close(db));
}

static void a_reader_counts_and_copies_to_locals(void **state)
{
    caret_options o = options();
    caret_db *db;
    caret_session *s;
    caret_node_buf n, local, u;

    (void)state;
    db = open_db();
    put(db, 0, 500, 30);
    OK(caret_close(db));
    o.readonly = 1;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    assert_int_equal(counted(s, "^t"), 500);
    node_var(&n, "^t");
    node_var(&local, "copy");
    OK(caret_merge(s, &local.node, &n.node));
    assert_int_equal(counted(s, "copy"), 500);
    node_var(&u, "^u");
    assert_int_equal(caret_merge(s, &u.node, &local.node), CARET_E_READONLY);
    assert_int_equal(caret_move(s, &local.node, &n.node), CARET_E_READONLY);
    assert_int_equal(counted(s, "copy"), 500);
    caret_session_close(s);
    OK(caret_close(db));
}

/* -------------------------------------------------------------------- refusals */

/* A chain of so many subscripts of `len` bytes at ^t. */
static void chain(caret_node_buf *n, const char *name, unsigned levels, size_t len)
{
    node_var(n, name);
    for (unsigned i = 0; i < levels; i++)
        OK(caret_node_child(&n->node, sizeof *n, &n->node, text, len));
}

static void what_can_not_be_at_the_target_is_refused_as_a_whole(void **state)
{
    caret_db *db = open_db();
    caret_session *s;
    caret_node_buf n, to, low;

    (void)state;
    memset(text, 'k', 1000);
    OK(caret_session_open(db, &s));
    node_of(&low, 1); /* ^t(1) comes before the one that does not fit */
    OK(caret_set(s, &low.node, "x", 1));
    chain(&n, "^t", CARET_MAX_SUBS, 1);
    OK(caret_set(s, &n.node, "deep", 4));
    node_var(&n, "^t");
    chain(&to, "^u", 1, 1);
    for (int in_txn = 0; in_txn < 2; in_txn++) {
        if (in_txn)
            OK(caret_begin(s, 0));
        assert_int_equal(caret_merge(s, &to.node, &n.node), CARET_E_MAXSUBS);
        assert_int_equal(counted(s, "^u"), 0);
        assert_int_equal(caret_move(s, &to.node, &n.node), CARET_E_MAXSUBS);
        assert_int_equal(counted(s, "^t"), 2);
    }
    OK(caret_commit(s));
    chain(&n, "^t", CARET_MAX_SUBS, 1);
    OK(caret_kill(s, &n.node));
    chain(&n, "^t", 1, CARET__KEY_MAX - 2 - 2);
    OK(caret_set(s, &n.node, "long", 4));
    node_var(&n, "^t");
    node_var(&to, "^longer");
    for (int in_txn = 0; in_txn < 2; in_txn++) {
        if (in_txn)
            OK(caret_begin(s, 0));
        assert_int_equal(caret_merge(s, &to.node, &n.node), CARET_E_KEY2BIG);
        assert_int_equal(counted(s, "^longer"), 0);
    }
    OK(caret_commit(s));
    caret_session_close(s);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_calls_do_what_a_model_says),
        TEST(many_nodes_are_copied_moved_and_counted),
        TEST(a_count_is_a_read_of_all_that_is_below),
        TEST(threads_copy_move_count_and_follow),
        TEST(a_snapshot_is_counted_and_copied_from),
        TEST(a_reader_counts_and_copies_to_locals),
        TEST(what_can_not_be_at_the_target_is_refused_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
