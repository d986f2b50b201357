/* things.h - one of each thing: a database, a session, nodes of a global and of a local variable that have values. */
#ifndef CARET_TEST_API_THINGS_H
#define CARET_TEST_API_THINGS_H

#include "support/database.h"

static caret_db *db;
static caret_session *s;
static caret_node_buf made, local;
static caret_node *const n = &made.node, *const l = &local.node;
static caret_node_buf room;
static caret_node *const to = &room.node;
static char buf[200];
static size_t len;

static int begin(void **state)
{
    int rc = setup(state);

    db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_node_parse(n, sizeof made, "^t(1,\"two\",3)", 13, 0));
    OK(caret_node_parse(l, sizeof local, "t(1,\"two\",3)", 12, 0));
    OK(caret_set(s, n, "value", 5));
    OK(caret_set(s, l, "value", 5));
    return rc;
}

static int end(void **state)
{
    caret_session_close(s);
    OK(caret_close(db));
    return teardown(state);
}

#endif
