/*
 * Databases on a server, as the API sees them: over the tests' own store, which can be told to fail.  That the answers
 * are those of a file is shown by behaviour/store, and here by random operations on both.
 */
#include "support/memory_store.h"

#include "support/database.h"

#include <pthread.h>

#include "api/session.h"
#include "base/rand.h"
#include "store/address.h"

static caret_db *db;
static caret_session *s;
static caret_node_buf made[8];

/* A node of ZWR text; the next seven calls leave it alone. */
static caret_node *at(const char *name)
{
    static unsigned next;
    caret_node_buf *n = &made[next++ % 8];

    OK(caret_node_parse(&n->node, sizeof *n, name, strlen(name), 0));
    return &n->node;
}

static int begin_all(void **state)
{
    (void)state;
    memory_store_install();
    OK(caret_open("test://user:secret@host/one?password=x&a=b", NULL, &db));
    OK(caret_session_open(db, &s));
    memory_store_counts();
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    for (int call = 0; call < MEMORY_CALLS; call++)
        memory_store_fail(call, 0, 0, 0, false);
    caret_session_close(s);
    OK(caret_close(db));
    assert_int_equal(memory_store_locked(), 0);
    return 0;
}

static void set(const char *name, const char *value)
{
    OK(caret_set(s, at(name), value, strlen(value)));
}

static void is(const char *name, const char *value)
{
    caret_slice v;
    int rc = caret_get(s, at(name), &v);

    assert_int_equal(rc, value != NULL ? CARET_OK : CARET_NONE);
    if (value != NULL) {
        assert_int_equal(v.len, strlen(value));
        assert_memory_equal(v.data, value, v.len);
    }
}

/* ------------------------------------------------------------------- addresses */

static void an_address_is_shown_without_its_passwords(void **state)
{
    static const char *const pairs[][2] = {
        {"postgresql://u:p@h/d", "postgresql://u@h/d"},
        {"postgresql://u:p@h1,h2:5432/d?sslmode=require", "postgresql://u@h1,h2:5432/d?sslmode=require"},
        {"postgres://h:5432/d?password=p", "postgres://h:5432/d?password="},
        {"postgres:///d?user=u&password=p&sslpassword=q&host=/tmp",
         "postgres:///d?user=u&password=&sslpassword=&host=/tmp"},
        {"postgresql://u:p/x@h/d", "postgresql://u@h/d"},
        {"postgresql://u:a@b:c@h/d", "postgresql://u@h/d"},
        {"postgresql://u:a?b@h/d?password=p", "postgresql://u@h/d?password="},
        {"postgresql://h?password=a@b", "postgresql://h?password="},
        {"./x://u:p@h", "./x://u:p@h"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *shown = caret__address_shown(pairs[i][0]);
        assert_string_equal(shown, pairs[i][1]);
        free(shown);
    }
    assert_string_equal(caret_path(db), "test://user@host/one?password=&a=b");
}

static void what_is_not_known_is_refused(void **state)
{
    caret_options o = {.size = sizeof o, .archive = "/tmp"};
    caret_db *peer = NULL;
    (void)state;

    assert_int_equal(caret_open("mysql://u:secret@host/d", NULL, &peer), CARET_E_UNSUPPORTED);
    assert_null(peer);
    assert_string_equal(caret_message(),
                        "UNSUPPORTED: caret_open: addresses begin with postgresql://, postgres://, test://; "
                        "nothing is here for 'mysql://', and a file of that name is ./mysql://...");
    assert_int_equal(caret_open("test://one", &o, &peer), CARET_E_UNSUPPORTED);
    assert_string_equal(caret_fact(), "UNSUPPORTED: option archive is for a database in a file");
    o = (caret_options){.size = sizeof o, .memory_limit = 64 << 20};
    assert_int_equal(caret_open("test://one", &o, &peer), CARET_E_UNSUPPORTED);
    assert_string_equal(caret_fact(), "UNSUPPORTED: option memory_limit is for a database in memory");
    o = (caret_options){.size = sizeof o, .no_create = 1};
    assert_int_equal(caret_open("test://none", &o, &peer), CARET_E_NOTFOUND);
}

#define REFUSED(call)                                                                                        \
    do {                                                                                                     \
        assert_int_equal((call), CARET_E_UNSUPPORTED);                                                       \
        char refusal[100];                                                                                   \
        snprintf(refusal, sizeof refusal,                                                                    \
                 "UNSUPPORTED: %.*s: that is for a database in a file; this one is on a test",               \
                 (int)strcspn(#call, "("), #call);                                                           \
        assert_string_equal(caret_message(), refusal);                                                       \
    } while (0)

/* It says what does the work instead. */
#define ONE "test://ann:secret@one"
#define NO_ADDRESS(call)                                                                                     \
    do {                                                                                                     \
        assert_int_equal((call), CARET_E_UNSUPPORTED);                                                       \
        assert_non_null(strstr(caret_message(), "; test://ann@one is the address of one on a server, "));    \
        assert_non_null(                                                                                     \
            strstr(caret_message(), "own tools do that; `caret dump` and `caret load` copy it"));            \
    } while (0)

static void what_is_for_files_says_so(void **state)
{
    char report[100];
    caret_usage *usage;
    caret_lock_list *locks;
    caret_process_list *processes;
    caret_collision_list *collisions;
    caret_reading_list *readings;
    caret_log *log;
    unsigned cleared;
    uint64_t durable = 1, committed = 1;
    (void)state;

    REFUSED(caret_checkpoint(db));
    REFUSED(caret_backup(db, "/tmp/x", NULL));
    REFUSED(caret_check(db, report, sizeof report));
    REFUSED(caret_check_online(db, report, sizeof report));
    REFUSED(caret_usage_get(db, &usage));
    REFUSED(caret_locks_get(db, &locks));
    REFUSED(caret_locks_clear(db, 0, &cleared));
    REFUSED(caret_processes_get(db, &processes));
    REFUSED(caret_collisions_get(db, &collisions));
    REFUSED(caret_readings_get(db, &readings));
    REFUSED(caret_log_open(db, 0, &log));
    NO_ADDRESS(caret_compact(ONE, NULL, NULL, NULL));
    NO_ADDRESS(caret_restore("/tmp/x", ONE, NULL, NULL));
    NO_ADDRESS(caret_salvage(ONE, "/tmp/x", 0, NULL, NULL, 0));
    NO_ADDRESS(caret_salvage("/tmp/x", ONE, 0, NULL, NULL, 0));
    OK(caret_sync(db));
    OK(caret_durable(db, &durable, &committed));
    assert_true(durable == 0 && committed == 0);
    OK(caret_wait(s, at("^a"), CARET_LOG_END, 0)); /* something may have been: look */
    OK(caret_wait(s, at("^a"), CARET_LOG_END, CARET_FOREVER));
}

static void sessions_are_counted(void **state)
{
    caret_stats st = {.size = sizeof st};
    (void)state;

    set("^a", "1");
    is("^a", "1");
    is("^b", NULL);
    OK(caret_stat(db, &st));
    assert_true(st.gets == 2 && st.sets == 1 && st.commits == 1 && st.pages == 0);
}

/* ---------------------------------------------------------------- transactions */

static void changes_are_sent_in_order(void **state)
{
    struct memory_counts c;
    (void)state;

    OK(caret_begin(s, 0));
    set("^c", "3");
    OK(caret_delete(s, at("^b")));
    set("^a(5)", "");
    OK(caret_kill(s, at("^a")));
    set("^a(2)", "two");
    OK(caret_begin(s, 0)); /* a savepoint */
    set("^a(2)", "other");
    OK(caret_kill(s, at("^d")));
    OK(caret_rollback(s));
    OK(caret_commit(s));
    c = memory_store_counts();
    assert_true(c.begins == 0 && c.reads == 0 && c.commits == 1 && c.ops == 4);
    assert_true(c.op[0].kind == CARET__STORE_KILL && c.op[1].kind == CARET__STORE_DELETE);
    assert_true(c.op[2].kind == CARET__STORE_SET && c.op[3].kind == CARET__STORE_SET);
    assert_memory_equal(c.op[0].key.data, "a\0", 2);
    assert_memory_equal(c.op[0].value.data, "a\0\xff", 3);
    assert_memory_equal(c.op[2].value.data, "two", 3);
    assert_memory_equal(c.op[3].key.data, "c\0", 2);
}

static void a_transaction_is_told_with_its_first_read(void **state)
{
    struct memory_counts c;
    (void)state;

    OK(caret_begin(s, 0));
    OK(caret_commit(s));
    c = memory_store_counts();
    assert_true(c.begins == 0 && c.commits == 0 && c.rollbacks == 0);
    OK(caret_begin(s, CARET_TXN_SYNC));
    set("^a", "1");
    is("^a", "1"); /* its own */
    is("^b", NULL);
    is("^c", NULL);
    OK(caret_commit(s));
    c = memory_store_counts();
    assert_true(c.begins == 1 && c.reads == 2 && c.commits == 1 && c.flags == CARET__STORE_SYNC);
    OK(caret_begin(s, CARET_TXN_ALONE));
    is("^a", "1");
    OK(caret_rollback(s));
    c = memory_store_counts();
    assert_true(c.begins == 1 && c.how == CARET__STORE_ALONE && c.rollbacks == 1 && c.commits == 0);
}

static int add_one(caret_session *of, void *runs)
{
    caret_slice v;

    ++*(unsigned *)runs;
    OK(caret_incr_int(of, at("^n"), 1, 0, NULL));
    OK(caret_incr(of, at("local"), "1", 1, &v));
    return CARET_OK;
}

static int add_and_restore(caret_session *of, void *runs)
{
    OK(caret_txn_restore_locals(of, 1));
    return add_one(of, runs);
}

static void conflicts_begin_it_again(void **state)
{
    unsigned runs = 0;
    (void)state;

    memory_store_fail(MEMORY_COMMIT, CARET_RESTART, 0, 5, false);
    OK(caret_transaction(s, add_one, &runs, 0));
    struct memory_counts c = memory_store_counts();
    assert_true(runs == 6 && c.begins == 6 && c.restarts == 5);
    is("^n", "1");
    is("local", "6");
    memory_store_fail(MEMORY_COMMIT, CARET_RESTART, 0, 2, false);
    OK(caret_transaction(s, add_and_restore, &runs, 0));
    is("^n", "2");
    is("local", "7");
    memory_store_fail(MEMORY_COMMIT, CARET_RESTART, 0, 2, false);
    OK(caret_incr_int(s, at("^n"), 1, 0, NULL)); /* one of its own */
    is("^n", "3");
}

static void what_a_lost_read_has_seen_does_not_count(void **state)
{
    caret_slice v;
    (void)state;

    memory_store_fail(MEMORY_READ, CARET_RESTART, 1, 1, false);
    OK(caret_begin(s, 0));
    is("^a", NULL);
    assert_int_equal(caret_get(s, at("^a"), &v), CARET_RESTART);
    assert_int_equal(caret_set(s, at("^a"), "1", 1), CARET_RESTART);
    assert_int_equal(caret_next(s, at("^a")), CARET_RESTART);
    assert_int_equal(caret_commit(s), CARET_RESTART);
    OK(caret_restart(s));
    assert_int_equal(caret_txn_restarts(s), 1);
    set("^a", "2");
    OK(caret_commit(s));
    is("^a", "2");
}

static void an_unknown_outcome_is_not_tried_again(void **state)
{
    unsigned runs = 0;
    (void)state;

    memory_store_fail(MEMORY_COMMIT, CARET_E_UNKNOWN, 0, 1, true);
    assert_int_equal(caret_transaction(s, add_one, &runs, 0), CARET_E_UNKNOWN);
    assert_true(runs == 1 && caret_txn_level(s) == 0);
    is("^n", "1");
    memory_store_fail(MEMORY_COMMIT, CARET_E_UNKNOWN, 0, 1, false);
    assert_int_equal(caret_set(s, at("^n"), "5", 1), CARET_E_UNKNOWN);
    is("^n", "1");
}

static void a_commit_that_fails_leaves_nothing(void **state)
{
    (void)state;
    memory_store_fail(MEMORY_COMMIT, CARET_E_DISKFULL, 0, 1, false);
    OK(caret_begin(s, 0));
    set("^a", "1");
    assert_int_equal(caret_commit(s), CARET_E_DISKFULL);
    assert_int_equal(caret_txn_level(s), 1);
    assert_int_equal(caret_commit(s), CARET_RESTART);
    OK(caret_rollback(s));
    is("^a", NULL);
    OK(caret_begin(s, 0));
    for (int i = 0; i < 20; i++) {
        OK(caret_node_child_int(at("^b"), sizeof *made, at("^b"), i));
        OK(caret_set(s, &made[0].node, text, 100000));
        OK(caret_node_child_int(&made[0].node, sizeof *made, at("^b"), i));
        OK(caret_set(s, &made[0].node, text, 100000));
    }
    assert_int_equal(caret_commit(s), CARET_E_TXN_TOO_BIG);
    OK(caret_rollback(s));
}

static void a_snapshot_is_of_its_beginning(void **state)
{
    caret_session *peer;
    (void)state;

    OK(caret_session_open(db, &peer));
    set("^a", "1");
    OK(caret_begin(s, CARET_TXN_SNAPSHOT));
    OK(caret_set(peer, at("^a"), "2", 1));
    is("^a", "1");
    assert_int_equal(caret_set(s, at("^a"), "3", 1), CARET_E_READONLY);
    assert_int_equal(caret_kill(s, at("^a")), CARET_E_READONLY);
    assert_int_equal(caret_merge(s, at("^b"), at("^a")), CARET_E_READONLY);
    OK(caret_restart(s));
    is("^a", "1");
    OK(caret_begin(s, CARET_TXN_SNAPSHOT));
    OK(caret_commit(s));
    OK(caret_commit(s));
    is("^a", "2");
    set("^a", "3");
    caret_session_close(peer);
}

/* ----------------------------------------------------------------------- locks */

static void locks_are_counted_here(void **state)
{
    const caret_node *both[2];
    (void)state;

    OK(caret_lock(s, at("^a(1)"), 0));
    OK(caret_lock(s, at("^a(1)"), 0));
    both[0] = at("^b");
    both[1] = at("local");
    OK(caret_lock_more(s, both, 2, 0));
    assert_int_equal(memory_store_locked(), 3);
    OK(caret_unlock(s, at("^a(1)")));
    assert_int_equal(memory_store_locked(), 3);
    OK(caret_unlock(s, at("^a(1)")));
    assert_int_equal(memory_store_locked(), 2);
    assert_int_equal(caret_unlock(s, at("^a(1)")), CARET_E_NOTLOCKED);
    both[0] = both[1] = at("^c");
    OK(caret_lock_all(s, both, 2, 0));
    assert_int_equal(memory_store_locked(), 1);
    OK(caret_unlock(s, at("^c")));
    assert_int_equal(memory_store_locked(), 1);
    OK(caret_unlock_all(s));
    assert_int_equal(memory_store_locked(), 0);
}

static void a_transaction_gives_its_locks_back(void **state)
{
    (void)state;
    OK(caret_lock(s, at("^a"), 0));
    OK(caret_begin(s, 0));
    OK(caret_lock(s, at("^a"), 0));
    OK(caret_lock(s, at("^b"), 0));
    OK(caret_begin(s, 0));
    OK(caret_lock(s, at("^c"), 0));
    OK(caret_rollback(s));
    assert_int_equal(memory_store_locked(), 2);
    OK(caret_restart(s)); /* ^b is carried, and not taken again */
    assert_int_equal(memory_store_locked(), 2);
    assert_int_equal(caret_unlock(s, at("^b")), CARET_E_NOTLOCKED);
    OK(caret_lock(s, at("^a"), 0));
    OK(caret_commit(s));
    assert_int_equal(memory_store_locked(), 1);
    OK(caret_unlock(s, at("^a")));
    OK(caret_unlock(s, at("^a")));
    assert_int_equal(memory_store_locked(), 0);
}

static void locks_that_the_server_lost_are_told_once(void **state)
{
    caret_slice v;
    (void)state;

    OK(caret_lock(s, at("^a"), 0));
    memory_store_lose_locks();
    assert_int_equal(caret_get(s, at("^x"), &v), CARET_E_EVICTED);
    is("^x", NULL);
    assert_int_equal(caret_unlock(s, at("^a")), CARET_E_NOTLOCKED);
    OK(caret_lock(s, at("^a"), 0));
    OK(caret_begin(s, 0));
    set("^x", "1");
    memory_store_lose_locks();
    assert_int_equal(caret_commit(s), CARET_E_EVICTED);
    assert_int_equal(caret_commit(s), CARET_RESTART); /* somebody else may have the lock */
    OK(caret_rollback(s));
    is("^x", NULL);
}

static caret_session *of_thread;

static void *lock_both(void *arg)
{
    caret_session *peer;
    caret_node_buf a, b;
    _Atomic int *word = arg;

    OK(caret_session_open(db, &peer));
    OK(caret_node_var(&a.node, sizeof a, "^a", 2));
    OK(caret_node_var(&b.node, sizeof b, "^b", 2));
    OK(caret_lock(peer, &b.node, 0));
    of_thread = peer;
    *word = 1;
    OK(caret_lock(peer, &a.node, CARET_FOREVER));
    return NULL; /* the end of the thread gives them back */
}

static void threads_wait_for_each_other(void **state)
{
    _Atomic int word = 0;
    pthread_t peer;
    int rc;
    (void)state;

    OK(caret_lock(s, at("^a"), 0));
    pthread_create(&peer, NULL, lock_both, &word);
    while (word == 0)
        usleep(1000);
    do /* not before it waits, too */
        rc = caret_lock(s, at("^b(1)"), 0);
    while (rc == CARET_LOCK_TIMEOUT);
    assert_int_equal(rc, CARET_DEADLOCK);
    OK(caret_unlock_all(s));
    pthread_join(peer, NULL);
    assert_int_equal(memory_store_locked(), 0);
    OK(caret_lock(s, at("^b"), 0));
    assert_int_equal(caret_unlock(of_thread, at("^b")), CARET_E_CLOSED);
    caret_session_close(of_thread);
}

static void a_wait_for_a_lock_is_ended_from_outside(void **state)
{
    caret_session *peer;
    (void)state;

    OK(caret_session_open(db, &peer));
    OK(caret_lock(peer, at("^z"), 0));
    caret_interrupt(s);
    assert_int_equal(caret_lock(s, at("^z(1)"), CARET_FOREVER), CARET_E_INTERRUPTED);
    assert_int_equal(caret_lock(s, at("^z"), 1000000), CARET_LOCK_TIMEOUT);
    caret_session_close(peer);
    OK(caret_lock(s, at("^z"), 0));
}

/* -------------------------------------------------------------------- processes */

static int use_in_child(void)
{
    struct memory_counts c;
    caret_slice v;

    if (caret_txn_level(s) != 0 || caret_unlock(s, at("^l")) != CARET_E_NOTLOCKED)
        return 1;
    c = memory_store_counts();
    if (c.forgotten != 1 || c.attached != 1 || c.detached != 0)
        return 2;
    if (caret_get(s, at("^a"), &v) != CARET_NONE || caret_commit(s) != CARET_E_NOTXN)
        return 3;
    caret_session_close(s);
    return caret_close(db) == CARET_OK ? 0 : 4;
}

static void a_forked_child_has_a_connection_of_its_own(void **state)
{
    int status;
    (void)state;

    OK(caret_lock(s, at("^l"), 0));
    OK(caret_begin(s, 0));
    set("^a", "1");
    is("^b", NULL);
    memory_store_counts();
    pid_t child = fork();
    if (child == 0)
        _exit(use_in_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(caret_txn_level(s), 1);
    OK(caret_commit(s));
    is("^a", "1");
    OK(caret_unlock(s, at("^l")));
}

static void closing_leaves_nothing(void **state)
{
    caret_session *peer;
    caret_db *again;
    caret_slice v;
    (void)state;

    OK(caret_open("test://two", NULL, &again));
    OK(caret_session_open(again, &peer));
    OK(caret_set(peer, at("^a"), "1", 1));
    OK(caret_lock(peer, at("^a"), 0));
    OK(caret_begin(peer, 0));
    memory_store_counts();
    OK(caret_close(again));
    struct memory_counts c = memory_store_counts();
    assert_true(c.detached == 1 && c.attached == 0);
    assert_int_equal(caret_get(peer, at("^a"), &v), CARET_E_CLOSED);
    assert_int_equal(caret_txn_level(peer), 0);
    assert_int_equal(memory_store_locked(), 0);
    caret_session_close(peer);
}

/* ------------------------------------------------------------------ many at once */

static void many_are_one_call(void **state)
{
    caret_node_buf n[6];
    caret_node *nodes[6];
    caret_slice v[6];
    static const char *const names[6] = {"^c", "^a", "l", "^c", "^none", "^b"};
    (void)state;

    set("^a", "A");
    set("^b", "");
    set("^c", "C");
    set("l", "local");
    for (int i = 0; i < 6; i++) {
        OK(caret_node_parse(&n[i].node, sizeof n[i], names[i], strlen(names[i]), 0));
        nodes[i] = &n[i].node;
    }
    memory_store_counts();
    OK(caret_get_many(s, nodes, 6, v));
    assert_int_equal(memory_store_counts().reads, 1);
    assert_true(v[0].len == 1 && *v[0].data == 'C' && v[3].len == 1 && *v[3].data == 'C');
    assert_true(v[1].len == 1 && *v[1].data == 'A' && v[2].len == 5 && v[4].data == NULL);
    assert_true(v[5].data != NULL && v[5].len == 0);
    OK(caret_begin(s, 0));
    OK(caret_delete(s, nodes[1]));
    OK(caret_set(s, nodes[4], "now", 3));
    OK(caret_get_many(s, nodes, 6, v));
    assert_true(v[1].data == NULL && v[4].len == 3 && *v[0].data == 'C');
    OK(caret_get2(s, nodes[0], nodes[5], &v[0], &v[1]));
    OK(caret_rollback(s));
    memory_store_counts();
    OK(caret_first_var(s, nodes[0], sizeof n[0], 0));
    OK(caret_next_get(s, nodes[0], &v[0])); /* its value comes along */
    assert_int_equal(memory_store_counts().reads, 2);
    assert_true(v[0].data != NULL && v[0].len == 0);
}

static void a_value_that_came_along_is_for_one_get(void **state)
{
    caret_node *n;
    caret_slice v;
    (void)state;

    set("^p(1,2)", "x");
    n = at("^p(0)");
    OK(caret_next_get(s, n, &v)); /* to ^p(1), which has no value: that of ^p(1,2) came along */
    assert_null(v.data);
    caret_session *peer;
    OK(caret_session_open(db, &peer));
    OK(caret_set(peer, at("^p(1,2)"), "y", 1));
    is("^p(1,2)", "y");
    n = at("^p(1,2)");
    assert_int_equal(caret_next_get(s, n, &v), CARET_NONE);
    OK(caret_set(peer, at("^p(1,2)"), "z", 1));
    is("^p(1,2)", "z");
    caret_session_close(peer);
}

/* --------------------------------------------------------- as in memory of one's own */

static caret_session *pair[2];
static struct caret__rand rng;

static const char *some_node(void)
{
    static const char *const names[] = {"^a",      "^a(1)",   "^a(1,2)", "^a(1,\"x\")", "^a(2)", "^a(\"y\")",
                                        "^a(3,4)", "^a(3,5)", "^b",      "^b(1)",       "v",     "v(1)"};

    return names[caret__rand_below(&rng, sizeof names / sizeof *names)];
}

/* One operation on one of them: a text that says what came of it. */
static void perform(caret_session *t, unsigned what, const char *a, const char *b, char *said)
{
    caret_node *n = at(a);
    caret_slice v = {NULL, 0};
    uint64_t count = 0;
    int data = 0, rc = CARET_OK;
    size_t len = 0;
    char zwr[100] = "";

    switch (what) {
    case 0:
    case 1:
    case 2: rc = caret_set(t, n, b, strlen(b)); break;
    case 3: rc = caret_delete(t, n); break;
    case 4: rc = caret_kill(t, n); break;
    case 5: rc = caret_kill_range(t, n, &(caret_slice){"2", 1}, NULL, 0); break;
    case 6: rc = caret_incr(t, n, "1.5", 3, &v); break;
    case 7: rc = caret_put(t, n, b, strlen(b), CARET_PUT_ABSENT, &data, &v); break;
    case 8: rc = caret_get(t, n, &v); break;
    case 9: rc = caret_data(t, n, &data); break;
    case 10: rc = caret_next_get(t, n, &v); break;
    case 11: rc = caret_previous_get(t, n, &v); break;
    case 12: rc = caret_node_next_get(t, n, &v); break;
    case 13: rc = caret_node_previous_get(t, n, &v); break;
    case 14: rc = caret_first(t, n); break;
    case 15: rc = caret_last(t, n); break;
    case 16: rc = caret_count(t, n, &count); break;
    case 17: rc = caret_merge(t, n, at(b)); break;
    case 18: rc = caret_copy(t, n, at(b)); break;
    case 19: rc = caret_move(t, n, at(b)); break;
    case 20: rc = caret_first_in(t, n, &(caret_slice){"1", 1}, NULL, 0); break;
    case 21: rc = caret_begin(t, 0); break;
    case 22:
    case 23: rc = caret_commit(t); break;
    case 24: rc = caret_rollback(t); break;
    default: rc = caret_restart(t);
    }
    caret_node_zwr(n, 0, zwr, sizeof zwr - 1, &len);
    zwr[len < sizeof zwr ? len : 0] = 0;
    snprintf(said, 300, "%d %s %d %llu %.*s%s", rc, zwr, data, (unsigned long long)count, (int)v.len,
             v.data != NULL ? v.data : "", v.data == NULL ? "none" : "");
}

static void random_operations_are_as_in_a_file(void **state)
{
    caret_options o = {.size = sizeof o, .no_thread = 1};
    caret_db *file;
    char said[2][300];
    (void)state;

    OK(caret_open(":memory:", &o, &file));
    OK(caret_session_open(file, &pair[1]));
    pair[0] = s;
    caret__rand_seed(&rng, 5);
    for (unsigned i = 0; i < 30000; i++) {
        unsigned what = caret__rand_below(&rng, 26);
        const char *a = some_node(), *b = some_node();
        for (unsigned k = 0; k < 2; k++)
            perform(pair[k], what, a, b, said[k]);
        if (strcmp(said[0], said[1]) != 0)
            fail_msg("%u: %u %s %s: at the store %s, in memory %s", i, what, a, b, said[0], said[1]);
    }
    caret_session_close(pair[1]);
    OK(caret_close(file));
}

#define REMOTE(name) cmocka_unit_test_setup_teardown(name, begin_all, end_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REMOTE(an_address_is_shown_without_its_passwords),
        REMOTE(what_is_not_known_is_refused),
        REMOTE(what_is_for_files_says_so),
        REMOTE(sessions_are_counted),
        REMOTE(changes_are_sent_in_order),
        REMOTE(a_transaction_is_told_with_its_first_read),
        REMOTE(conflicts_begin_it_again),
        REMOTE(what_a_lost_read_has_seen_does_not_count),
        REMOTE(an_unknown_outcome_is_not_tried_again),
        REMOTE(a_commit_that_fails_leaves_nothing),
        REMOTE(a_snapshot_is_of_its_beginning),
        REMOTE(locks_are_counted_here),
        REMOTE(a_transaction_gives_its_locks_back),
        REMOTE(locks_that_the_server_lost_are_told_once),
        REMOTE(threads_wait_for_each_other),
        REMOTE(a_wait_for_a_lock_is_ended_from_outside),
        REMOTE(a_forked_child_has_a_connection_of_its_own),
        REMOTE(closing_leaves_nothing),
        REMOTE(many_are_one_call),
        REMOTE(a_value_that_came_along_is_for_one_get),
        REMOTE(random_operations_are_as_in_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
