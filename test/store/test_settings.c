/* What a connection is set to, whatever the role, the database and the server say. */
#include "store/server.h"

#define S caret__postgres

static const char *url;

struct fixture {
    struct caret__store_db *db;
    void *conn;
};

static int set_up(void **state)
{
    static unsigned n;
    char prefix[32], address[600];
    struct fixture *f = calloc(1, sizeof *f);

    snprintf(prefix, sizeof prefix, "t%d_s%u", (int)getpid(), n++);
    server_address(address, sizeof address, url, prefix);
    strcat(address, "&caret_timeout=8");
    *state = f;
    return S.open(address, NULL, &f->db) == CARET_OK && S.attach(f->db, NULL, NULL, &f->conn) == CARET_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    struct caret__link *l = &((struct caret__pg_conn *)f->conn)->data;
    char text[128];

    S.rollback(f->conn);
    snprintf(text, sizeof text, "drop schema %s cascade", l->way->schema);
    caret__link_add_text(l, text, 0, NULL);
    int rc = caret__link_run(l);
    S.detach(f->conn);
    S.close(f->db);
    free(f);
    return rc;
}

/* Asked in between, within a transaction if there is one. */
static void assert_setting(struct caret__link *l, const char *name, const char *expected)
{
    char text[128];

    snprintf(text, sizeof text, "show %s", name);
    caret__link_add_text(l, text, 0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
    assert_string_equal(caret__pq.value(caret__link_rows(l, 0), 0, 0), expected);
}

static void what_is_relied_on_is_set(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *c = f->conn;

    assert_value(c, "a", NULL);
    assert_setting(&c->data, "search_path", "pg_catalog");
    assert_setting(&c->data, "default_transaction_isolation", "serializable");
    assert_setting(&c->data, "transaction_isolation", "serializable");
    assert_setting(&c->data, "idle_session_timeout", "0");
    assert_setting(&c->data, "enable_seqscan", "off");
    assert_setting(&c->data, "lock_timeout", "4s"); /* half of caret_timeout */
    assert_int_equal(S.lock(c, &(struct caret__bytes){(const uint8_t *)"a\0", 2}, 1, 0), CARET_OK);
    assert_setting(&c->names, "default_transaction_isolation", "read committed");
    assert_setting(&c->names, "idle_session_timeout", "0");
}

static void a_transaction_that_is_idle_ends_but_a_snapshot_does_not(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *c = f->conn;

    assert_int_equal(S.begin(c, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_value(c, "a", NULL);
    assert_setting(&c->data, "transaction_isolation", "serializable");
    assert_setting(&c->data, "idle_in_transaction_session_timeout", "1min");
    S.rollback(c);
    assert_int_equal(S.begin(c, CARET__STORE_READS, 0), CARET_OK);
    assert_value(c, "a", NULL);
    assert_setting(&c->data, "transaction_read_only", "on");
    assert_setting(&c->data, "idle_in_transaction_session_timeout", "0");
    S.rollback(c);
    assert_value(c, "a", NULL);
    assert_setting(&c->data, "idle_in_transaction_session_timeout", "1min");
}

int main(int argc, char **argv)
{
    (void)argc;
    url = server_url(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_relied_on_is_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_transaction_that_is_idle_ends_but_a_snapshot_does_not, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
