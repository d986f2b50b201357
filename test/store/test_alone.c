/* A transaction that began again too often locks in the order of all commits, and waits no longer than it should. */
#include "store/server.h"

#define S caret__postgres

static const char *url;

struct fixture {
    struct caret__store_db *db;
    void *a, *b;
};

static int set_up(void **state)
{
    static unsigned n;
    char prefix[32], address[600];
    struct fixture *f = calloc(1, sizeof *f);

    snprintf(prefix, sizeof prefix, "t%d_l%u", (int)getpid(), n++);
    server_address(address, sizeof address, url, prefix);
    strcat(address, "&caret_timeout=1");
    *state = f;
    if (S.open(address, NULL, &f->db) != CARET_OK || S.attach(f->db, NULL, NULL, &f->a) != CARET_OK)
        return -1;
    if (S.attach(f->db, NULL, NULL, &f->b) != CARET_OK || put(f->a, "a", "1") != CARET_OK)
        return -1;
    assert_value(f->b, "a", "1"); /* it is connected */
    return 0;
}

static struct caret__link *link_of(void *conn)
{
    return &((struct caret__pg_conn *)conn)->data;
}

/* The other connection, as an operator's: what it has to say, of the schema. */
static int tell(struct caret__link *l, const char *format)
{
    char text[200];

    snprintf(text, sizeof text, format, l->way->schema);
    caret__link_add_text(l, text, 0, NULL);
    return caret__link_run(l);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    S.rollback(f->a);
    S.rollback(f->b);
    int rc = tell(link_of(f->b), "drop schema %s cascade");
    S.detach(f->a);
    S.detach(f->b);
    S.close(f->db);
    free(f);
    return rc;
}

static bool is_free(struct caret__link *l, char key)
{
    char format[80];

    snprintf(format, sizeof format, "select 1 from %%s.nodes where k = '%c' for update nowait", key);
    return tell(l, format) == CARET_OK;
}

/* One attempt of a transaction: reads b and c, one as many, and sets d, with a conflict at its end. */
static void attempt(void *conn, unsigned restarts)
{
    struct caret__store_op op = set_op("d", "2");

    assert_int_equal(S.begin(conn, CARET__STORE_SERIAL, restarts), CARET_OK);
    assert_value(conn, "c", "1");
    assert_value(conn, "b", "1");
    ((struct caret__pg_conn *)conn)->broken = true;
    assert_int_equal(S.commit(conn, &op, 1, 0), CARET_RESTART);
    S.rollback(conn);
}

static void one_that_is_alone_locks_all_at_once(void **state)
{
    struct fixture *f = *state;

    for (char key[] = "b"; *key <= 'd'; (*key)++)
        assert_int_equal(put(f->a, key, "1"), CARET_OK);
    for (unsigned restarts = 0; restarts < 3; restarts++)
        attempt(f->a, restarts);
    assert_true(is_free(link_of(f->b), 'b'));
    assert_int_equal(S.begin(f->a, CARET__STORE_SERIAL, 3), CARET_OK);
    assert_value(f->a, "c", "1"); /* the answer is that of the read, not of the locking */
    for (char key = 'b'; key <= 'd'; key++)
        assert_false(is_free(link_of(f->b), key));
    assert_true(is_free(link_of(f->b), 'a'));
    S.rollback(f->a);
    assert_int_equal(S.begin(f->a, CARET__STORE_SERIAL, 0), CARET_OK); /* another one: nothing of it */
    assert_value(f->a, "c", "1");
    assert_true(is_free(link_of(f->b), 'b'));
}

/* The row is read after another: the transaction has seen something, and can only begin again. */
static void a_row_that_stays_locked_ends_in_an_error(void **state)
{
    struct fixture *f = *state;
    struct caret__store_op op = set_op("a", "2");
    int rc = CARET_RESTART;
    unsigned restarts = 0;

    assert_int_equal(put(f->a, "z", "1"), CARET_OK);
    caret__link_add_text(link_of(f->b), "begin", 0, NULL);
    assert_true(is_free(link_of(f->b), 'a'));
    for (; rc == CARET_RESTART && restarts < 20; restarts++) {
        assert_int_equal(S.begin(f->a, CARET__STORE_SERIAL, restarts), CARET_OK);
        struct caret__bytes v;
        rc = S.get(f->a, bytes("z"), &v);
        rc = rc == CARET_OK ? S.commit(f->a, &op, 1, 0) : rc;
        S.rollback(f->a);
    }
    assert_int_equal(rc, CARET_E_IO);
    assert_non_null(strstr(caret_message(), "another session keeps it locked"));
    assert_int_equal(restarts, 2); /* of half a second each */
    assert_int_equal(tell(link_of(f->b), "rollback"), CARET_OK);
    assert_int_equal(S.begin(f->a, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_value(f->a, "a", "1");
    assert_int_equal(S.commit(f->a, &op, 1, 0), CARET_OK);
    assert_value(f->b, "a", "2");
}

int main(int argc, char **argv)
{
    (void)argc;
    url = server_url(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_is_alone_locks_all_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_that_stays_locked_ends_in_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
