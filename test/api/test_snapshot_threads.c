/* Threads of one process begin, read and end snapshots, back up and check while others write. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rand.h"
#include "caret.h"
#include "support/nodes.h"

#define READERS  3u
#define WRITERS  2u
#define ACCOUNTS 60u
#define EACH     100
#define ROUNDS   40u

static char path[80], copy[90];
static caret_db *db;
static _Atomic unsigned reading;

static void account(caret_node_buf *n, unsigned i)
{
    must(caret_node_var(&n->node, sizeof *n, "^account", 8), "variable");
    must(caret_node_child_int(&n->node, sizeof *n, &n->node, i), "child");
}

static int transfer(caret_session *s, void *arg)
{
    caret_node_buf n;
    struct caret__rand *r = arg;
    int rc;

    account(&n, caret__rand_below(r, ACCOUNTS));
    rc = caret_incr_int(s, &n.node, -3, 0, NULL);
    account(&n, caret__rand_below(r, ACCOUNTS));
    return rc == CARET_OK ? caret_incr_int(s, &n.node, 3, 0, NULL) : rc;
}

static void *write_on(void *arg)
{
    caret_session *s;
    struct caret__rand r;
    caret_node_buf n;
    char val[900];

    caret__rand_seed(&r, (uintptr_t)arg);
    memset(val, 'w', sizeof val);
    must(caret_session_open(db, &s), "session");
    while (atomic_load(&reading) != 0) {
        must(caret_transaction(s, transfer, &r, 0), "transfer");
        must(caret_node_var(&n.node, sizeof n, "^churn", 6), "variable");
        must(caret_node_child_int(&n.node, sizeof n, &n.node, caret__rand_below(&r, 300)), "child");
        must(caret_set(s, &n.node, val, caret__rand_below(&r, sizeof val)), "set");
    }
    caret_session_close(s);
    return NULL;
}

/* A number for all that the session sees; *total: the money of all accounts. */
static uint64_t look(caret_session *s, long *total)
{
    caret_node_buf n;
    caret_slice v;
    uint64_t sum = 0;

    *total = 0;
    must(caret_first_var(s, &n.node, sizeof n, 0), "first");
    for (int rc = CARET_OK; rc == CARET_OK; rc = caret_next(s, &n.node)) {
        caret_node_buf at = n;
        while (caret_node_next(s, &at.node) == CARET_OK) {
            char buf[CARET_MAX_NAME + 2];
            must(caret_get(s, &at.node, &v), "get");
            for (size_t i = 0; i < v.len; i += 7)
                sum = sum * 31 + (uint8_t)v.data[i];
            if (caret_node_name(&at.node, buf).len == 8) {
                char text[32] = "";
                memcpy(text, v.data, v.len < sizeof text ? v.len : 0);
                *total += strtol(text, NULL, 10);
            }
        }
    }
    return sum;
}

static void *read_on(void *arg)
{
    uintptr_t me = (uintptr_t)arg;
    char report[1000];
    caret_session *s;

    must(caret_session_open(db, &s), "session");
    for (unsigned i = 0; i < ROUNDS; i++) {
        long total, again;
        must(caret_begin(s, CARET_TXN_SNAPSHOT), "begin");
        uint64_t sum = look(s, &total);
        if (total != (long)ACCOUNTS * EACH || look(s, &again) != sum || again != total)
            must(-1, "two looks at one snapshot");
        must(caret_commit(s), "end");
        if (me == 0 && i % 5 == 0)
            must(caret_backup(db, copy,
                              &(caret_backup_options){
                                  .size = sizeof(caret_backup_options), .overwrite = 1, .compact = i & 1}),
                 "backup");
        if (me == 1 && i % 5 == 0)
            must(caret_check_online(db, report, sizeof report), "check");
    }
    caret_session_close(s);
    atomic_fetch_sub(&reading, 1);
    return NULL;
}

static void fill(void)
{
    caret_session *s;
    caret_node_buf n;
    char text[16];

    must(caret_session_open(db, &s), "session");
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        account(&n, i);
        must(caret_set(s, &n.node, text, (size_t)snprintf(text, sizeof text, "%d", EACH)), "set");
    }
    caret_session_close(s);
}

static void threads_share_a_process_and_see_their_own_snapshots(void **state)
{
    pthread_t thread[READERS + WRITERS];
    char report[1000];
    caret_stats st = {.size = sizeof st};

    (void)state;
    must(caret_open(path, NULL, &db), "open");
    fill();
    atomic_store(&reading, READERS);
    for (uintptr_t i = 0; i < READERS + WRITERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, i < READERS ? read_on : write_on, (void *)i), 0);
    for (unsigned i = 0; i < READERS + WRITERS; i++)
        pthread_join(thread[i], NULL);
    must(caret_checkpoint(db), "checkpoint");
    must(caret_checkpoint(db), "checkpoint");
    must(caret_stat(db, &st), "stat");
    assert_int_equal(st.held_pages, 0);
    assert_int_equal(st.snapshots, 0);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", caret_message(), report);
    must(caret_close(db), "close");
    must(caret_open(copy, NULL, &db), "open the copy");
    must(caret_check(db, report, sizeof report), "check the copy");
    must(caret_close(db), "close");
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-snapthreads-%d.caret", tmp != NULL ? tmp : "/tmp",
             (int)getpid());
    snprintf(copy, sizeof copy, "%s-copy", path);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_process_and_see_their_own_snapshots),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    const char *files[] = {path, copy};
    for (unsigned i = 0; i < 2; i++) {
        char lock[112];
        snprintf(lock, sizeof lock, "%s-lock", files[i]);
        unlink(files[i]);
        unlink(lock);
    }
    return rc;
}
