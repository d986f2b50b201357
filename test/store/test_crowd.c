/* Many at once on a server: threads, forked children with what was open, more sessions than there are connections. */
#include "store/server.h"

#include <sys/wait.h>

#define THREADS 6
#define EACH    40
#define MOST    2000
#define SESSIONS                                                                                             \
    300 /* more than max_connections of the fixture; of another server perhaps not; CARET_TEST_SESSIONS */

static caret_db *db;
static caret_node_buf count;

static int set_up(void **state)
{
    char address[600], prefix[40];
    char *url = getenv("CARET_TEST_URL");

    (void)state;
    snprintf(prefix, sizeof prefix, "crowd%d", (int)getpid());
    server_address(address, sizeof address, url, prefix);
    caret_node_var(&count.node, sizeof count, "^count", 6);
    return caret_open(address, NULL, &db);
}

static int tear_down(void **state)
{
    (void)state;
    caret_close(db);
    return 0;
}

static caret_session *session(void)
{
    caret_session *s;

    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    return s;
}

static void assert_count(caret_session *s, const char *expected)
{
    caret_slice v;

    assert_int_equal(caret_get(s, &count.node, &v), CARET_OK);
    assert_int_equal(v.len, strlen(expected));
    assert_memory_equal(v.data, expected, v.len);
}

static int one_more(caret_session *s, void *arg)
{
    caret_slice v;

    (void)arg;
    return caret_incr(s, &count.node, "1", 1, &v);
}

static void *count_up(void *arg)
{
    caret_session *s = NULL;
    intptr_t rc = caret_session_open(db, &s);

    (void)arg;
    for (int i = 0; rc == CARET_OK && i < EACH; i++)
        rc = i % 2 != 0 ? one_more(s, NULL) : caret_transaction(s, one_more, NULL, 0);
    caret_session_close(s);
    return (void *)rc;
}

static void threads_count_exactly(void **state)
{
    caret_session *s = session();
    pthread_t threads[THREADS];
    void *rc;
    char sum[12];

    (void)state;
    assert_int_equal(caret_set(s, &count.node, "0", 1), CARET_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &rc), 0);
        assert_int_equal((intptr_t)rc, CARET_OK);
    }
    snprintf(sum, sizeof sum, "%d", THREADS * EACH);
    assert_count(s, sum);
    caret_session_close(s);
}

/* What the child sees of the parent's session: no transaction, no locks, a connection of its own. */
static int as_child(caret_session *s)
{
    caret_slice v;

    if (caret_txn_level(s) != 0 || caret_get(s, &count.node, &v) != CARET_OK || v.len != 1 || *v.data != '1')
        return 1;
    if (caret_lock(s, &count.node, 0) != CARET_LOCK_TIMEOUT)
        return 2;
    if (caret_transaction(s, one_more, NULL, 0) != CARET_OK)
        return 3;
    caret_session_close(s);
    return caret_close(db) == CARET_OK ? 0 : 4;
}

static void a_child_has_neither_transaction_nor_locks(void **state)
{
    caret_session *s = session();
    caret_node_buf other;
    caret_slice v;
    int status;

    (void)state;
    caret_node_var(&other.node, sizeof other, "^other", 6);
    assert_int_equal(caret_set(s, &count.node, "1", 1), CARET_OK);
    assert_int_equal(caret_lock(s, &count.node, 0), CARET_OK);
    assert_int_equal(caret_begin(s, 0), CARET_OK);
    assert_int_equal(caret_get(s, &other.node, &v), CARET_NONE);
    assert_int_equal(caret_set(s, &other.node, "parent", 6), CARET_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(as_child(s));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(caret_commit(s), CARET_OK); /* nobody ended it, or its connection */
    assert_count(s, "2");
    assert_int_equal(caret_unlock(s, &count.node), CARET_OK);
    caret_session_close(s);
}

/* Open them until the server takes no more, or there are `most`; what the last one said. */
static int open_all(caret_session **all, int most, int *n)
{
    caret_slice v;
    int rc = CARET_OK;

    for (*n = 0; *n < most && rc == CARET_OK; ++*n) {
        all[*n] = session();
        rc = caret_get(all[*n], &count.node, &v);
    }
    return rc;
}

/* Those that have a connection go on. */
static void assert_all_count(caret_session **all, int n)
{
    char sum[12];

    assert_int_equal(caret_set(all[0], &count.node, "0", 1), CARET_OK);
    for (int i = 0; i < n; i++)
        assert_int_equal(one_more(all[i], NULL), CARET_OK);
    snprintf(sum, sizeof sum, "%d", n);
    assert_count(all[n - 1], sum);
}

static void a_server_that_is_full_says_so(void **state)
{
    static caret_session *all[MOST];
    const char *told = getenv("CARET_TEST_SESSIONS");
    int n, most = told != NULL && atoi(told) <= MOST ? atoi(told) : SESSIONS, rc = open_all(all, most, &n);
    caret_slice v;

    (void)state;
    if (getenv("CARET_TEST_PG") != NULL) /* the fixture's */
        assert_int_equal(rc, CARET_E_LIMIT);
    if (rc == CARET_OK)
        return;
    print_message("%d sessions, and then: %s\n", n - 1, caret_message());
    assert_in_range(n, told != NULL ? most - 100 : 10, most - 1);
    assert_all_count(all, n - 1);
    caret_session_close(all[0]);
    while ((rc = caret_get(all[n - 1], &count.node, &v)) == CARET_E_LIMIT)
        ; /* the server takes a moment */
    assert_int_equal(rc, CARET_OK);
    for (int i = 1; i < n; i++)
        caret_session_close(all[i]);
}

int main(int argc, char **argv)
{
    (void)argc;
    server_url(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_count_exactly),
        cmocka_unit_test(a_child_has_neither_transaction_nor_locks),
        cmocka_unit_test(a_server_that_is_full_says_so),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
