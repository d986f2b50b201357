/* Caret as it comes: sync interval, each set its own commit, a handle that is moved from node to node. */
#include "store.h"

#include "caret.h"

static caret_db *db;
static caret_session *session;
static caret_node_buf node;

static void ok(int rc, const char *what)
{
    if (rc != CARET_OK)
        die(what, caret_message());
}

static void begin(const char *folder, uint64_t bytes)
{
    (void)bytes;
    ok(caret_open(in_folder(folder, "db.caret"), NULL, &db), "open");
    ok(caret_session_open(db, &session), "session");
    caret_node_var(&node.node, sizeof node, "^d", 2);
    caret_node_child_int(&node.node, sizeof node, &node.node, 1);
}

static void put(uint32_t k, const void *val, size_t len)
{
    caret_node_set_last_int(&node.node, k);
    ok(caret_set(session, &node.node, val, len), "set");
}

static size_t look(uint32_t k)
{
    caret_slice got;

    caret_node_set_last_int(&node.node, k);
    ok(caret_get(session, &node.node, &got), "get");
    return got.len;
}

static void drop(uint32_t k)
{
    caret_node_set_last_int(&node.node, k);
    ok(caret_kill(session, &node.node), "kill");
}

static uint64_t walk(void)
{
    caret_node_buf at;
    caret_slice got;
    uint64_t n = 0, sum = 0;

    caret_node_var(&at.node, sizeof at, "^d", 2);
    for (int rc = caret_first(session, &at.node); rc == CARET_OK;
         rc = caret_next_get(session, &at.node, &got)) {
        if (n == 0)
            ok(caret_get(session, &at.node, &got), "get");
        sum += ((const unsigned char *)got.data)[got.len - 1];
        n++;
    }
    return sum != 0 ? n : 0;
}

static void end(void)
{
    caret_session_close(session);
    ok(caret_close(db), "close");
}

static void check(void)
{
    char report[1024];

    ok(caret_check(db, report, sizeof report), "check");
}

static void backup(const char *to)
{
    ok(caret_backup(db, in_folder(to, "db.caret"), NULL), "backup");
}

static void compact(const char *folder, uint64_t bytes)
{
    (void)bytes;
    ok(caret_compact(in_folder(folder, "db.caret"), NULL, NULL, NULL), "compact");
}

const struct store growth_caret = {
    .name = "caret",
    .open = begin,
    .set = put,
    .get = look,
    .remove = drop,
    .scan = walk,
    .close = end,
    .check = check,
    .backup = backup,
    .compact = compact,
};
