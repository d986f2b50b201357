/* The driver for PostgreSQL: locks on names. */
#include <pthread.h>
#include <signal.h>

#include "store/fixture.h"

static void a_lock_excludes_what_is_above_and_below(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        uint64_t ns = i == 0 ? 0 : 20000000;
        assert_int_equal(lock(f->a, NODE, ns), CARET_OK);
        assert_int_equal(lock(f->b, NODE, ns), CARET_LOCK_TIMEOUT);
        assert_int_equal(lock(f->b, VARIABLE, ns), CARET_LOCK_TIMEOUT);
        assert_int_equal(lock(f->b, CHILD, ns), CARET_LOCK_TIMEOUT);
        assert_int_equal(lock(f->b, SIBLING, ns), CARET_OK);
        assert_int_equal(unlock(f->b, SIBLING), CARET_OK);
        assert_int_equal(unlock(f->a, NODE), CARET_OK);
        assert_int_equal(lock(f->b, VARIABLE, ns), CARET_OK); /* so nothing of the timeouts was left */
        assert_int_equal(lock(f->a, CHILD, 0), CARET_LOCK_TIMEOUT);
        assert_int_equal(unlock(f->b, VARIABLE), CARET_OK);
    }
}

static void a_lost_lock_connection_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *a = f->a, *b = f->b;
    struct caret__bytes v;

    assert_int_equal(lock(b, NODE, 0), CARET_OK);
    assert_int_equal(S.begin(b, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_value(b, "a", NULL);
    cut(&a->data, &b->names);
    assert_int_equal(S.get(b, bytes("a"), &v), CARET_E_EVICTED);
    assert_int_equal(S.get(b, bytes("a"), &v), CARET_RESTART);
    S.rollback(b);
    assert_value(b, "a", NULL);
    assert_int_equal(lock(a, NODE, 0), CARET_OK);
    assert_int_equal(lock(b, NODE, 0), CARET_LOCK_TIMEOUT);
    assert_int_equal(unlock(a, NODE), CARET_OK);
    assert_int_equal(lock(b, NODE, 0), CARET_OK);
}

/* Wait for `name`, and give `held` back if there is a ring. */
static int wait_in_ring(void *conn, const char *name, const char *held)
{
    int rc = lock(conn, name, 5, UINT64_MAX);

    if (rc == CARET_DEADLOCK &&
        (strstr(caret_message(), "40P01") == NULL || unlock(conn, held, 5) != CARET_OK))
        return CARET_E_SYSTEM;
    return rc;
}

static const char node[] = "a\0\x81\x02", sibling[] = "a\0\x81\x03";

static void *other_waits(void *conn)
{
    return (void *)(intptr_t)wait_in_ring(conn, sibling, node);
}

/* Each holds what the other waits for: one of them is told. */
static void a_ring_of_waits_is_told(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *other;

    assert_int_equal(lock(f->a, sibling, 5, 0), CARET_OK);
    assert_int_equal(lock(f->b, node, 5, 0), CARET_OK);
    assert_int_equal(pthread_create(&thread, NULL, other_waits, f->b), 0);
    int own = wait_in_ring(f->a, node, sibling);
    assert_int_equal(pthread_join(thread, &other), 0);
    assert_int_equal((int)(intptr_t)other + own, CARET_DEADLOCK);
}

static void a_session_that_ends_gives_its_names_back(void **state)
{
    struct fixture *f = *state;
    void *c;

    assert_int_equal(S.attach(f->db, NULL, NULL, &c), CARET_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lock(c, NODE, 0), CARET_OK);
        S.detach(c);
        assert_int_equal(S.attach(f->db, NULL, NULL, &c), CARET_OK);
    }
    S.detach(c);
}

static void a_wait_can_be_ended(void **state)
{
    struct fixture *f = *state;
    int asked = 0;
    void *c;

    assert_int_equal(S.attach(f->db, says_stop, &asked, &c), CARET_OK);
    assert_int_equal(lock(f->a, CHILD, 0), CARET_OK);
    assert_int_equal(lock(c, NODE, UINT64_MAX), CARET_E_INTERRUPTED);
    assert_int_equal(unlock(f->a, CHILD), CARET_OK);
    assert_int_equal(lock(f->a, VARIABLE, 0), CARET_OK);
    S.detach(c);
}

/* ---- locks that come too late ---- */

/* Does that process of the server wait for a lock? */
static bool is_waiting(struct caret__link *l, int pid)
{
    char text[100];

    snprintf(text, sizeof text, "select from pg_locks where pid = %d and not granted", pid);
    caret__link_add_text(l, text, 0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
    return l->nrows != 0 && caret__pq.rows(l->rows[0]) != 0;
}

/* Has that process been sent SIGALRM, which it has not taken? */
static bool is_alarmed(int pid)
{
    char path[40], line[200];
    unsigned long long pending = 0;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "ShdPnd: %llx", &pending);
    if (f != NULL)
        fclose(f);
    return (pending >> (SIGALRM - 1) & 1) != 0;
}

struct late {
    void *conn;
    _Atomic int rc;
};
#define NOT_YET     12345
#define TOO_LATE_NS 500000000u /* after a second the server looks for rings: that would be another alarm */

static void *lock_late(void *arg)
{
    struct late *late = arg;

    late->rc = lock(late->conn, NODE, TOO_LATE_NS);
    return NULL;
}

/* The lock is given to a waiter that does not run before its limit has come.  false: it ended before it was stopped. */
static bool comes_too_late(struct fixture *f)
{
    struct caret__pg_conn *a = f->a, *b = f->b;
    struct late late = {f->b, NOT_YET};
    pthread_t thread;

    assert_int_equal(lock(f->b, NODE, 0), CARET_OK);
    assert_int_equal(unlock(f->b, NODE), CARET_OK);
    int pid = b->names.backend;
    assert_int_equal(lock(f->a, NODE, 0), CARET_OK);
    assert_int_equal(pthread_create(&thread, NULL, lock_late, &late), 0);
    while (late.rc == NOT_YET && !is_waiting(&a->data, pid))
        ;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    bool waits = is_waiting(&a->data, pid) && !is_alarmed(pid);
    assert_int_equal(unlock(f->a, NODE), CARET_OK);
    while (waits && !is_alarmed(pid))
        usleep(1000);
    kill(pid, SIGCONT);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (late.rc == CARET_OK)
        assert_int_equal(unlock(f->b, NODE), CARET_OK);
    return waits && late.rc == CARET_LOCK_TIMEOUT;
}

static void a_lock_that_comes_too_late_is_given_back(void **state)
{
    struct fixture *f = *state;

    while (!comes_too_late(f)) /* once more, if it ended before it was stopped */
        ;
    assert_int_equal(lock(f->a, NODE, 0), CARET_OK);
    assert_int_equal(lock(f->b, CHILD, 0), CARET_LOCK_TIMEOUT);
    assert_int_equal(unlock(f->a, NODE), CARET_OK);
    assert_int_equal(lock(f->b, CHILD, 20000000), CARET_OK);
    assert_int_equal(unlock(f->b, CHILD), CARET_OK);
    assert_int_equal(lock(f->a, NODE, 0), CARET_OK);
}

int main(int argc, char **argv)
{
    (void)argc;
    url = server_url(argv);
    const struct CMUnitTest tests[] = {
        T(a_lock_excludes_what_is_above_and_below),  T(a_lost_lock_connection_is_told_once),
        T(a_lock_that_comes_too_late_is_given_back), T(a_ring_of_waits_is_told),
        T(a_session_that_ends_gives_its_names_back), T(a_wait_can_be_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
