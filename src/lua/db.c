/*
 * db.c - databases in Lua: open, close, transactions' primitives, locks of lists.
 */
#include <string.h>

#include "lua/binding.h"

struct caret__ldb *caret__check_db(lua_State *L, int i)
{
    struct caret__ldb *d = luaL_checkudata(L, i, "caret.db");
    if (d->closed)
        luaL_error(L, "CLOSED: the database was closed");
    return d;
}

/* open(path or nil, options or nil) -> db | nil, text, name */
static int db_open(lua_State *L)
{
    caret_options o;
    const char *path = luaL_optstring(L, 1, NULL);

    memset(&o, 0, sizeof o);
    if (lua_istable(L, 2)) {
        lua_getfield(L, 2, "create");
        o.no_create = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
        lua_getfield(L, 2, "readonly");
        o.readonly = lua_toboolean(L, -1);
        lua_getfield(L, 2, "sync");
        if (!lua_isnil(L, -1)) {
            const char *s = luaL_checkstring(L, -1);
            o.sync = strcmp(s, "commit") == 0     ? CARET_SYNC_COMMIT
                     : strcmp(s, "interval") == 0 ? CARET_SYNC_INTERVAL
                     : strcmp(s, "off") == 0
                         ? CARET_SYNC_OFF
                         : luaL_error(L, "option sync is 'commit', 'interval' or 'off', not '%s'", s);
        }
        lua_getfield(L, 2, "sync_interval");
        o.sync_interval = luaL_optnumber(L, -1, 0);
        lua_pop(L, 4);
    }
    struct caret__ldb *d = lua_newuserdata(L, sizeof *d);
    memset(d, 0, sizeof *d);
    d->closed = 1;
    luaL_getmetatable(L, "caret.db");
    lua_setmetatable(L, -2);
#if LUA_VERSION_NUM < 502
    lua_newtable(L); /* the environment of its nodes: keeps it alive */
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, 0);
    lua_setfenv(L, -2);
#endif
    int rc = caret_open(path, &o, &d->db);
    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    rc = caret_session_open(d->db, &d->s);
    if (rc != CARET_OK) {
        caret_close(d->db);
        return caret__fail_values(L, rc);
    }
    d->closed = 0;
    return 1;
}

static int db_close(lua_State *L)
{
    struct caret__ldb *d = luaL_checkudata(L, 1, "caret.db");
    if (d->closed)
        return 0;
    d->closed = 1;
    caret_session_close(d->s);
    d->s = NULL;
    int rc = caret_close(d->db);
    d->db = NULL;
    return rc == CARET_OK ? 0 : caret__fail_values(L, rc);
}

static int db_gc(lua_State *L)
{
    db_close(L);
    return 0;
}

static int db_simple(lua_State *L, int rc)
{
    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    lua_pushboolean(L, 1);
    return 1;
}

static int db_sync(lua_State *L)
{
    return db_simple(L, caret_sync(caret__check_db(L, 1)->db));
}

static int db_checkpoint(lua_State *L)
{
    return db_simple(L, caret_checkpoint(caret__check_db(L, 1)->db));
}

static int db_check(lua_State *L)
{
    static const size_t cap = 65536;
    struct caret__ldb *d = caret__check_db(L, 1);
    char *report = lua_newuserdata(L, cap);
    int rc = caret_check(d->db, report, cap);
    if (rc == CARET_OK)
        return db_simple(L, rc);
    caret__fail_values(L, rc);
    lua_pushstring(L, report);
    return 4;
}

static int db_path(lua_State *L)
{
    lua_pushstring(L, caret_path(caret__check_db(L, 1)->db));
    return 1;
}

/* begin(db, batch), commit(db), rollback(db), restart(db): an outcome number, for the loop in Lua. */
static int db_begin(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    int rc = caret_begin(d->s, lua_toboolean(L, 2) ? CARET_TXN_BATCH : 0);
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    if (lua_toboolean(L, 3) && caret_txn_level(d->s) == 1)
        caret_txn_restore_locals(d->s, 1);
    lua_pushinteger(L, (lua_Integer)caret_txn_level(d->s));
    return 1;
}

/* true: committed; false: must be run again.  Errors are raised. */
static int db_commit(lua_State *L)
{
    int rc = caret_commit(caret__check_db(L, 1)->s);
    if (rc != CARET_OK && rc != CARET_RESTART)
        return caret__raise(L, rc);
    lua_pushboolean(L, rc == CARET_OK);
    return 1;
}

/* Roll back until the level is below the given one. */
static int db_rollback(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    unsigned level = (unsigned)luaL_checkinteger(L, 2);
    while (caret_txn_level(d->s) >= level && caret_txn_level(d->s) > 0)
        if (caret_rollback(d->s) != CARET_OK)
            break;
    return 0;
}

static int db_restart(lua_State *L)
{
    int rc = caret_restart(caret__check_db(L, 1)->s);
    return rc == CARET_OK ? 0 : caret__raise(L, rc);
}

static int db_level(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    lua_pushinteger(L, (lua_Integer)caret_txn_level(d->s));
    lua_pushinteger(L, (lua_Integer)caret_txn_restarts(d->s));
    return 2;
}

static uint64_t timeout_at(lua_State *L, int i)
{
    if (lua_isnoneornil(L, i))
        return CARET_FOREVER;
    lua_Number t = luaL_checknumber(L, i);
    return t <= 0 ? 0 : t > 1e9 ? CARET_FOREVER : (uint64_t)(t * 1e9);
}

/* lock(db, {node, ...}, timeout): releases all, takes all or none */
static int db_lock(lua_State *L)
{
    const caret_node *nodes[64];
    struct caret__ldb *d = caret__check_db(L, 1);
    size_t n = 0;

    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        for (n = caret__rawlen(L, 2); n > 64;)
            return luaL_error(L, "%d locks at once; 64 are possible", (int)n);
        for (size_t i = 0; i < n; i++) {
            lua_rawgeti(L, 2, (int)i + 1);
            nodes[i] = &caret__check_node(L, -1)->node;
            lua_pop(L, 1);
        }
    }
    int rc = caret_lock_all(d->s, nodes, n, timeout_at(L, 3));
    return rc < 0 ? caret__raise(L, rc) : db_simple(L, rc);
}

/* grab(node, timeout), release(node), lock(node, timeout) */
static int node_grab(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int rc = caret_lock(n->db->s, &n->node, timeout_at(L, 2));
    return rc < 0 ? caret__raise(L, rc) : db_simple(L, rc);
}

static int node_release(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int rc = caret_unlock(n->db->s, &n->node);
    return rc != CARET_OK ? caret__raise(L, rc) : 0;
}

static int node_lock(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    const caret_node *one = &n->node;
    int rc = caret_lock_all(n->db->s, &one, 1, timeout_at(L, 2));
    return rc < 0 ? caret__raise(L, rc) : db_simple(L, rc);
}

static int db_stat(lua_State *L)
{
    caret_stats st;
    int rc = caret_stat(caret__check_db(L, 1)->db, &st);
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    lua_newtable(L);
#define FIELD(f) (lua_pushnumber(L, (lua_Number)st.f), lua_setfield(L, -2, #f))
    FIELD(pages);
    FIELD(free_pages);
    FIELD(arena_slots);
    FIELD(arena_used);
    FIELD(depth);
    FIELD(log_head);
    FIELD(log_durable);
    FIELD(checkpoints);
    FIELD(repairs);
    FIELD(gets);
    FIELD(sets);
    FIELD(commits);
    FIELD(restarts);
    FIELD(processes);
#undef FIELD
    return 1;
}

int caret__open_db(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open", db_open},
                                         {"close", db_close},
                                         {"sync", db_sync},
                                         {"checkpoint", db_checkpoint},
                                         {"check", db_check},
                                         {"stat", db_stat},
                                         {"path", db_path},
                                         {"begin", db_begin},
                                         {"commit", db_commit},
                                         {"rollback", db_rollback},
                                         {"restart", db_restart},
                                         {"level", db_level},
                                         {"lock_all", db_lock},
                                         {"grab", node_grab},
                                         {"release", node_release},
                                         {"lock", node_lock},
                                         {NULL, NULL}};
    luaL_newmetatable(L, "caret.db");
    lua_pushcfunction(L, db_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, db_gc);
    lua_setfield(L, -2, "__close");
    lua_setfield(L, -2, "db_meta"); /* init.lua adds methods */
    for (const luaL_Reg *f = functions; f->name != NULL; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    return 0;
}
