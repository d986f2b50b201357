/*
 * changes.c - the log of a database, change by change, and waiting for one.
 *
 * A log is a userdata in a list of its database, which closes it with itself: an open one would keep the database
 * open.  Its user value leads to the database, so that is not collected before it.
 */
#include <string.h>

#include "lua/binding.h"

#define LOG_MAGIC UINT64_C(0x676f6c2e2e746363)

struct caret__llog {
    uint64_t magic;
    caret_log *log; /* NULL: closed */
    struct caret__ldb *db;
    struct caret__llog *next; /* of the database's */
};

static void forget(struct caret__llog *l)
{
    struct caret__llog **p = &l->db->logs;

    while (*p != NULL && *p != l)
        p = &(*p)->next;
    if (*p == l)
        *p = l->next;
}

static void close_log(struct caret__llog *l)
{
    if (l->log == NULL)
        return;
    forget(l);
    caret_log_close(l->log);
    l->log = NULL;
}

void caret__close_logs(struct caret__ldb *d)
{
    while (d->logs != NULL)
        close_log(d->logs);
}

static int log_gc(lua_State *L)
{
    close_log(lua_touserdata(L, 1));
    return 0;
}

static struct caret__llog *check_log(lua_State *L, int i)
{
    struct caret__llog *l = lua_type(L, i) == LUA_TUSERDATA ? lua_touserdata(L, i) : NULL;

    if (l == NULL || caret__rawlen(L, i) != sizeof *l || l->magic != LOG_MAGIC) {
        caret__misuse(L, "a log was expected, not a %s", caret__typename(L, i));
        return NULL;
    }
    if (l->log == NULL)
        caret__misuse(L, "CLOSED: this feed was closed, or its database");
    return l;
}

/* A place in the log at i; `otherwise` if there is none. */
static uint64_t place(lua_State *L, int i, uint64_t otherwise)
{
    int64_t at = 0;

    if (lua_isnoneornil(L, i))
        return otherwise;
    if (lua_type(L, i) != LUA_TNUMBER || !caret__integer(L, i, &at) || at < 0)
        caret__misuse(L, "a place in the log is an integer, 0 or more, as db:place() tells");
    return (uint64_t)at;
}

/* nil, text, name: an outcome for the caller to handle */
static int tell(lua_State *L, struct caret__ldb *d, int rc)
{
    return rc == CARET_E_NOTFOUND || rc == CARET_E_INTERRUPTED || rc == CARET_E_READONLY
               ? caret__fail_values(L, rc)
               : caret__raise(L, d, rc);
}

/* place(db) -> the place in the log after the last commit */
static int db_place(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    uint64_t committed;
    int rc = caret_durable(d->db, NULL, &committed);

    if (rc != CARET_OK)
        return caret__raise(L, d, rc);
    caret__push_integer(L, (int64_t)committed);
    return 1;
}

/* wait_once(db, node or name, seconds, place) -> true | false | nil, text, name */
static int core_wait_once(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    caret_node_buf n;

    caret__address_here(L, d, &n, 2, 2);
    uint64_t timeout = caret__timeout(L, 3), from = place(L, 4, CARET_LOG_END);
    if (d->barred != 0 && caret__is_barred(d))
        return caret__refuse_in_txn(L, d, "waited for", "a transaction must not sleep");
    int rc = caret_wait(d->s, &n.node, from, timeout);
    if (rc < 0 || rc == CARET_RESTART)
        return tell(L, d, rc);
    lua_pushboolean(L, rc == CARET_OK);
    return 1;
}

/* log_open(db, place or nil, node or name or nil) -> log | nil, text, name; upvalue: metatable of logs */
static int core_log_open(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    uint64_t from = place(L, 2, CARET_LOG_END);
    caret_node_buf n;

    lua_settop(L, 3);
    if (!lua_isnil(L, 3))
        caret__address_here(L, d, &n, 3, 3);
    struct caret__llog *l = lua_newuserdata(L, sizeof *l);
    memset(l, 0, sizeof *l);
    l->magic = LOG_MAGIC;
    l->db = d;
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    caret__setuser(L, -2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setmetatable(L, -2);
    int rc = caret_log_open(d->db, from, &l->log);
    if (rc != CARET_OK)
        return tell(L, d, rc);
    l->next = d->logs;
    d->logs = l;
    rc = lua_isnil(L, 3) ? CARET_OK : caret_log_below(l->log, &n.node);
    return rc == CARET_OK ? 1 : caret__raise(L, d, rc);
}

static void push_address(lua_State *L, const caret_node *n)
{
    char name[CARET_MAX_NAME + 2], sub[CARET_MAX_KEY + 1];
    caret_slice text = caret_node_name(n, name);
    size_t len;

    lua_pushlstring(L, text.data, text.len);
    lua_createtable(L, (int)caret_node_depth(n), 0);
    for (unsigned i = 0; i < caret_node_depth(n); i++) {
        if (caret_node_subscript(n, i, sub, sizeof sub, &len, NULL) != CARET_OK)
            len = 0;
        lua_pushlstring(L, sub, len);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static void put_bound(lua_State *L, const char *name, caret_slice bound)
{
    if (bound.data == NULL)
        return;
    lua_pushlstring(L, bound.data, bound.len);
    lua_setfield(L, -2, name);
}

static void put_flag(lua_State *L, const char *name, int flag)
{
    if (!flag)
        return;
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, name);
}

/* The options of a kill_range, or nil.  It needs a bound: all children are those from the empty subscript on. */
static void push_range(lua_State *L, const caret_change *c)
{
    caret_slice from = c->from;

    if (c->kind != CARET_CHANGE_KILL_RANGE) {
        lua_pushnil(L);
        return;
    }
    if (from.data == NULL && c->to.data == NULL)
        from = (caret_slice){"", 0};
    lua_newtable(L);
    put_bound(L, c->flags & CARET_RANGE_PREFIX ? "prefix" : "from", from);
    put_bound(L, c->flags & CARET_RANGE_BEFORE ? "before" : "to", c->to);
    put_flag(L, "from_string", c->flags & CARET_RANGE_FROM_STRING);
    put_flag(L, "to_string", c->flags & CARET_RANGE_TO_STRING);
}

/* log_next(log) -> name, {subscripts}, kind, value, bytes, place, index, count, range | false | nil, text, name */
static int core_log_next(lua_State *L)
{
    static const char *const kinds[8] = {"", "set", "delete", "kill", "kill_range", "", "", ""};
    struct caret__llog *l = check_log(L, 1);
    caret_change c = {.size = sizeof c};
    int rc = caret_log_next(l->log, &c);

    if (rc == CARET_NONE) {
        lua_pushboolean(L, 0);
        return 1;
    }
    if (rc != CARET_OK)
        return tell(L, l->db, rc);
    push_address(L, c.node);
    lua_pushstring(L, kinds[c.kind & 7]);
    if (c.kind != CARET_CHANGE_SET || (c.value.data == NULL && c.value.len != 0))
        lua_pushnil(L);
    else
        lua_pushlstring(L, c.value.len != 0 ? c.value.data : "", c.value.len);
    caret__push_integer(L, (int64_t)c.value.len);
    caret__push_integer(L, (int64_t)c.lsn);
    caret__push_integer(L, (int64_t)c.index + 1);
    caret__push_integer(L, (int64_t)c.count);
    push_range(L, &c);
    return 9;
}

/* log_wait(log, seconds) -> true | false | nil, text, name */
static int core_log_wait(lua_State *L)
{
    const struct caret__llog *l = check_log(L, 1);
    uint64_t timeout = caret__timeout(L, 2);

    if (l->db->barred != 0 && caret__is_barred(l->db))
        return caret__refuse_in_txn(L, l->db, "waited for", "a transaction must not sleep");
    int rc = caret_log_wait(l->db->s, l->log, timeout);
    if (rc < 0)
        return tell(L, l->db, rc);
    lua_pushboolean(L, rc == CARET_OK);
    return 1;
}

static int core_log_place(lua_State *L)
{
    caret__push_integer(L, (int64_t)caret_log_place(check_log(L, 1)->log));
    return 1;
}

static int core_log_close(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TUSERDATA && ((struct caret__llog *)lua_touserdata(L, 1))->log == NULL)
        return 0;
    close_log(check_log(L, 1));
    return 0;
}

void caret__add_changes(lua_State *L)
{
    static const luaL_Reg functions[] = {{"place", db_place},
                                         {"wait_once", core_wait_once},
                                         {"log_next", core_log_next},
                                         {"log_wait", core_log_wait},
                                         {"log_place", core_log_place},
                                         {"log_close", core_log_close},
                                         {NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", log_gc}, {"__close", log_gc}, {NULL, NULL}};

    caret__functions(L, functions);
    lua_newtable(L);
    caret__functions(L, meta);
    lua_pushcclosure(L, core_log_open, 1);
    lua_setfield(L, -2, "log_open");
}
