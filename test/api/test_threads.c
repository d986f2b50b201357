/* Threads with a session each over one database: sums are right, reads are whole. Run under ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "caret.h"

#define THREADS 4
#define ROUNDS  2000

static caret_db *db;

/* Both halves of a pair are set in one transaction: they are always equal. */
static int set_pair(caret_session *s, void *arg)
{
    caret_node_buf n;
    int rc = CARET_OK;
    for (int i = 0; i < 2 && rc == CARET_OK; i++) {
        caret_node_var(&n.node, sizeof n, "^pair", 5);
        caret_node_child_int(&n.node, sizeof n, &n.node, i * 1000);
        rc = caret_set(s, &n.node, arg, strlen(arg));
    }
    return rc;
}

static int get_pair(caret_session *s, void *arg)
{
    char(*text)[32] = arg;
    caret_node_buf n;
    for (int i = 0; i < 2; i++) {
        size_t len = 0;
        caret_node_var(&n.node, sizeof n, "^pair", 5);
        caret_node_child_int(&n.node, sizeof n, &n.node, i * 1000);
        int rc = caret_get_copy(s, &n.node, text[i], 31, &len);
        if (rc != CARET_OK)
            return rc;
        text[i][len] = 0;
    }
    return strcmp(text[0], text[1]) == 0 ? CARET_OK : CARET_E_CORRUPT;
}

static void *work(void *arg)
{
    long me = (long)arg, bad = 0;
    caret_session *s;
    caret_node_buf n, own;
    char text[2][32];

    if (caret_session_open(db, &s) != CARET_OK)
        return (void *)1000000;
    caret_node_var(&n.node, sizeof n, "^sum", 4);
    for (int i = 0; i < ROUNDS; i++) {
        bad += caret_incr_int(s, &n.node, 1, 0, NULL) != CARET_OK;
        caret_node_var(&own.node, sizeof own, "^own", 4);
        caret_node_child_int(&own.node, sizeof own, &own.node, me);
        caret_node_child_int(&own.node, sizeof own, &own.node, i);
        bad += caret_set(s, &own.node, "0123456789012345678901234567890123456789", 40) != CARET_OK;
        snprintf(text[0], sizeof text[0], "%ld-%d", me, i);
        bad += caret_transaction(s, set_pair, text[0], 0) != CARET_OK;
        bad += caret_transaction(s, get_pair, text, 0) != CARET_OK;
        if (i % 500 == 499)
            bad += caret_checkpoint(db) != CARET_OK;
    }
    caret_session_close(s);
    return (void *)bad;
}

/* Nodes that all threads use at once; their values, and those between them, change all the time. */
#define SHARED 5
static caret_node_buf shared[SHARED];

static long use_shared(caret_session *s, long me, int i)
{
    caret_node_buf copy;
    caret_slice v;
    char text[40];
    int k = i % SHARED, data, len = snprintf(text, sizeof text, "%d of %ld in %d", k, me, i);
    long bad = 0;

    if (i % 7 == 0)
        bad += caret_set(s, &shared[k].node, text, (size_t)len) != CARET_OK;
    bad += caret_get(s, &shared[k].node, &v) != CARET_OK || v.data[0] != '0' + k;
    bad += caret_data(s, &shared[k].node, &data) != CARET_OK || data != 1;
    bad += caret_node_copy(&copy.node, sizeof copy, &shared[k].node) != CARET_OK;
    bad += caret_get(s, &copy.node, &v) != CARET_OK || v.data[0] != '0' + k;
    caret_node_set_last_int(&copy.node, 10 * (k + 1) + 1 + i % 9); /* moves those after it */
    bad += (i & 1 ? caret_set(s, &copy.node, "x", 1) : caret_kill(s, &copy.node)) != CARET_OK;
    return bad;
}

static void *work_on_shared(void *arg)
{
    caret_session *s;
    long bad = 0;

    if (caret_session_open(db, &s) != CARET_OK)
        return (void *)1000000;
    for (int i = 0; i < ROUNDS; i++)
        bad += use_shared(s, (long)arg, i);
    caret_session_close(s);
    return (void *)bad;
}

static void threads_share_nodes(void **state)
{
    pthread_t t[THREADS];
    char path[80], text[32], command[100];
    caret_session *s;

    (void)state;
    snprintf(path, sizeof path, "/tmp/caret-test-%d-nodes.caret", (int)getpid());
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (int k = 0; k < SHARED; k++) {
        caret_node_var(&shared[k].node, sizeof shared[k], "^shared", 7);
        caret_node_child_int(&shared[k].node, sizeof shared[k], &shared[k].node, 10 * (k + 1));
        snprintf(text, sizeof text, "%d", k);
        assert_int_equal(caret_set(s, &shared[k].node, text, 1), CARET_OK);
    }
    for (long i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, work_on_shared, (void *)i), 0);
    for (long i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_int_equal((long)bad, 0);
    }
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
    snprintf(command, sizeof command, "rm -f %s*", path);
    assert_int_equal(system(command), 0);
}

static void threads_share_a_database(void **state)
{
    pthread_t t[THREADS];
    char path[80], report[2000], text[32];
    caret_session *s;
    caret_node_buf n;
    size_t len;

    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-threads-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    for (long i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_int_equal((long)bad, 0);
    }
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    caret_node_var(&n.node, sizeof n, "^sum", 4);
    assert_int_equal(caret_get_copy(s, &n.node, text, 31, &len), CARET_OK);
    text[len] = 0;
    assert_int_equal(atoi(text), THREADS * ROUNDS);
    assert_int_equal(caret_check(db, report, sizeof report), CARET_OK);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
}

static void *read_often(void *arg)
{
    caret_session *s;
    caret_node_buf n;
    caret_slice v;

    if (caret_session_open(db, &s) != CARET_OK)
        return arg;
    caret_node_var(&n.node, sizeof n, "^a", 2);
    for (int i = 0; i < 5000; i++)
        caret_get(s, &n.node, &v);
    caret_session_close(s);
    return NULL;
}

static void no_call_of_a_thread_goes_uncounted(void **state)
{
    char path[64];
    pthread_t t[THREADS];
    caret_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    caret_session *s;
    caret_node_buf n;
    caret_slice v;
    (void)state;

    snprintf(path, sizeof path, "/tmp/caret-counts-%d.caret", (int)getpid());
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_stat(db, &before), CARET_OK);
    for (long i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, read_often, path), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    caret_node_var(&n.node, sizeof n, "^a", 2);
    caret_get(s, &n.node, &v);
    assert_int_equal(caret_stat(db, &after), CARET_OK);
    assert_int_equal(after.gets - before.gets, THREADS * 5000 + 1);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_database),
                                       cmocka_unit_test(threads_share_nodes),
                                       cmocka_unit_test(no_call_of_a_thread_goes_uncounted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
