/*
 * fixture.h - a database on a server and two connections to it, for tests of the driver for PostgreSQL.
 */
#ifndef CARET_TEST_STORE_FIXTURE_H
#define CARET_TEST_STORE_FIXTURE_H

#include "store/server.h"

#define S caret__postgres

static const char *url; /* of the server */

struct fixture {
    struct caret__store_db *db;
    void *a, *b;
};

static inline int set_up(void **state)
{
    static unsigned n;
    struct fixture *f = calloc(1, sizeof *f);
    char address[512], prefix[40];

    snprintf(prefix, sizeof prefix, "t%d_%u", (int)getpid(), n++);
    server_address(address, sizeof address, url, prefix);
    if (S.open(address, NULL, &f->db) != CARET_OK || S.attach(f->db, NULL, NULL, &f->a) != CARET_OK ||
        S.attach(f->db, NULL, NULL, &f->b) != CARET_OK) {
        print_message("%s\n", caret_message());
        return -1;
    }
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    char text[128];
    struct caret__link *l = &((struct caret__pg_conn *)f->a)->data;

    S.rollback(f->a);
    S.rollback(f->b);
    snprintf(text, sizeof text, "drop schema %s cascade", l->way->schema);
    caret__link_ensure(l, UINT64_MAX);
    caret__link_add_text(l, text, 0, NULL);
    int rc = caret__link_run(l);
    S.detach(f->a);
    S.detach(f->b);
    S.close(f->db);
    free(f);
    return rc;
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* The server ends the connection `l`, told `by` another one. */
static inline void cut(struct caret__link *by, struct caret__link *l)
{
    char text[80];

    snprintf(text, sizeof text, "select pg_terminate_backend(%d, 10000)", l->backend);
    caret__link_add_text(by, text, 0, NULL);
    assert_int_equal(caret__link_run(by), CARET_OK);
}

static inline int lock(void *conn, const char *name, size_t len, uint64_t ns)
{
    return S.lock(conn, &(struct caret__bytes){(const uint8_t *)name, len}, 1, ns);
}

#define VARIABLE "a\0", 2
#define NODE     "a\0\x81\x02\0", 5
#define CHILD    "a\0\x81\x02\0\x81\x02\0", 8
#define SIBLING  "a\0\x81\x03\0", 5

static inline int unlock(void *conn, const char *name, size_t len)
{
    return S.unlock(conn, &(struct caret__bytes){(const uint8_t *)name, len}, 1);
}

/* To the second question. */
static inline bool says_stop(void *ctx)
{
    return ++*(int *)ctx > 1;
}

#endif
