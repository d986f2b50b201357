/*
 * server.h - what the tests of the driver for PostgreSQL share: a server, connections to it, short names for calls.
 */
#ifndef CARET_TEST_STORE_SERVER_H
#define CARET_TEST_STORE_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "postgres/inside.h"

/* CARET_TEST_URL, or this program once more with a server of its own; 77 without PostgreSQL. */
static inline const char *server_url(char **argv)
{
    const char *url = getenv("CARET_TEST_URL"), *source = getenv("CARET_SOURCE");
    char script[4096];

    unsetenv("LOCPATH"); /* where it is set, newlocale() of glibc 2.36 loses a few bytes: libpq calls it */
    if (url != NULL && *url != '\0')
        return url;
    snprintf(script, sizeof script, "%s/test/with_postgres.sh", source != NULL ? source : ".");
    if (access(script, R_OK) == 0)
        execl("/bin/sh", "sh", script, argv[0], (char *)NULL);
    printf("skipped: there is no CARET_TEST_URL\n");
    exit(77);
}

/* Another schema for each database. */
static inline void server_address(char *to, size_t cap, const char *url, const char *prefix)
{
    snprintf(to, cap, "%s%ccaret_prefix=%s", url, strchr(url, '?') != NULL ? '&' : '?', prefix);
}

static inline struct caret__bytes bytes(const char *text)
{
    return (struct caret__bytes){(const uint8_t *)text, strlen(text)};
}

static inline struct caret__store_op set_op(const char *key, const char *value)
{
    return (struct caret__store_op){CARET__STORE_SET, bytes(key), bytes(value)};
}

static inline int put(void *conn, const char *key, const char *value)
{
    struct caret__store_op op = set_op(key, value);

    return caret__postgres.commit(conn, &op, 1, 0);
}

static inline void assert_value(void *conn, const char *key, const char *expected)
{
    struct caret__bytes v = {NULL, 0};
    int rc = caret__postgres.get(conn, bytes(key), &v);

    if (expected == NULL) {
        assert_int_equal(rc, CARET_NONE);
        return;
    }
    if (rc != CARET_OK)
        print_message("%s: %s\n", key, caret_message());
    assert_int_equal(rc, CARET_OK);
    assert_int_equal(v.len, strlen(expected));
    assert_memory_equal(v.data, expected, v.len);
}

#endif
