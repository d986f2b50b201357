/*
 * db.c - databases: open, close, and what concerns one as a whole.
 */
#include <math.h>
#include <string.h>

#include "lua/binding.h"

struct caret__ldb *caret__any_db(lua_State *L, int i)
{
    struct caret__ldb *d = lua_type(L, i) == LUA_TUSERDATA ? lua_touserdata(L, i) : NULL;
    if (d == NULL || caret__rawlen(L, i) != sizeof *d || d->magic != CARET__LDB_MAGIC) {
        caret__expected(L, i, "a database");
        return NULL;
    }
    return d;
}

struct caret__ldb *caret__check_db(lua_State *L, int i)
{
    struct caret__ldb *d = caret__any_db(L, i);
    if (d->barred & CARET__DB_CLOSED)
        caret__misuse(L, "CLOSED: the database was closed");
    return d;
}

/* ------------------------------------------------------------------- options */

static int option_sync(lua_State *L)
{
    static const char *const names[] = {"interval", "commit", "off"};
    lua_getfield(L, 2, "sync");
    const char *s = lua_isnil(L, -1) ? "interval" : lua_tostring(L, -1);
    for (int i = 0; s != NULL && i <= CARET_SYNC_OFF; i++) {
        if (strcmp(names[i], s) == 0) {
            lua_pop(L, 1);
            return i;
        }
    }
    return caret__misuse(L, "option sync is 'commit', 'interval' or 'off', not %s",
                         caret__push_shown_at(L, -1, '\0'));
}

/* Lua has looked at it (init.lua), and has chosen the methods of the database. */
static void check_values(lua_State *L)
{
    lua_getfield(L, 2, "values");
    const char *s = lua_isnil(L, -1) ? "text" : lua_tostring(L, -1);
    if (s == NULL || (strcmp(s, "text") != 0 && strcmp(s, "typed") != 0))
        caret__misuse(L, "option values is 'text' or 'typed', not %s", caret__push_shown_at(L, -1, '\0'));
    lua_pop(L, 1);
}

static lua_Number option_seconds(lua_State *L, const char *name)
{
    lua_getfield(L, 2, name);
    lua_Number v = lua_tonumber(L, -1);
    if (!lua_isnil(L, -1) && !(lua_type(L, -1) == LUA_TNUMBER && v > 0 && v <= 1e6))
        caret__misuse(L, "option %s is a number of seconds above 0, up to a million", name);
    lua_pop(L, 1);
    return v;
}

static void read_options(lua_State *L, caret_options *o)
{
    static const char *const known[] = {
        "create",  "readonly", "sync",   "sync_interval", "log_size",     "arena_limit", "shm_dir",
        "archive", "progress", "any_fs", "huge_pages",    "memory_limit", "values",      NULL};
    *o = (caret_options){.size = sizeof *o};
    if (!caret__check_options(L, 2, "open", known))
        return;
    o->no_create = !caret__option_flag(L, 2, "create", 1);
    o->readonly = caret__option_flag(L, 2, "readonly", 0);
    o->any_fs = caret__option_flag(L, 2, "any_fs", 0);
    o->no_huge_pages = !caret__option_flag(L, 2, "huge_pages", 1);
    o->sync = option_sync(L);
    o->sync_interval = option_seconds(L, "sync_interval");
    o->arena_limit = caret__option_bytes(L, 2, "arena_limit");
    o->log_size = caret__option_bytes(L, 2, "log_size");
    o->memory_limit = caret__option_bytes(L, 2, "memory_limit");
    o->archive = caret__option_path(L, 2, "archive");
    o->shm_dir = caret__option_path(L, 2, "shm_dir");
    check_values(L);
}

/* Option progress, a function; what it does wrong is its own affair: opening goes on. */
struct progress {
    lua_State *L;
    int index; /* of the function on the stack; 0 = none */
};

static void call_progress(void *arg, double part)
{
    const struct progress *p = arg;

    lua_pushvalue(p->L, p->index);
    lua_pushnumber(p->L, part);
    if (lua_pcall(p->L, 1, 0, 0) != 0)
        lua_pop(p->L, 1);
}

/* Leaves the function on the stack. */
static void read_progress(lua_State *L, caret_options *o, struct progress *p)
{
    *p = (struct progress){L, lua_istable(L, 2) ? caret__option_function(L, 2, "progress") : 0};
    if (p->index == 0)
        return;
    o->progress = call_progress;
    o->progress_arg = p;
}

/* ------------------------------------------------------------ open and close */

/* The function db.node: core.node with class and database in front; upvalues 1 and 2. */
static int node_function(lua_State *L)
{
    if (!lua_rawequal(L, 1, lua_upvalueindex(2))) { /* else it was called db:node(...) */
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_insert(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    return caret__node_new(L);
}

/* open([path[, options]]) -> db | nil, text, name; upvalue: metatable of databases.  adopt() is to follow. */
static int db_open(lua_State *L)
{
    struct caret__lstate *st = caret__state(L);
    caret_options o = {.size = sizeof o};
    if (lua_gettop(L) != 0 && lua_isnil(L, 1))
        return caret__misuse(L, "the path of a database is nil: caret.open() without it opens $CARET_DB, "
                                "else data.caret");
    const char *path = lua_isnone(L, 1) ? NULL : caret__check_path(L, 1, "the path of a database");
    struct progress progress;

    read_options(L, &o);
    read_progress(L, &o, &progress);
    if (st->locals == NULL)
        return caret__misuse(L, "CLOSED: this Lua state is closing");
    struct caret__ldb *d = lua_newuserdata(L, sizeof *d);
    memset(d, 0, sizeof *d);
    d->barred = CARET__DB_CLOSED;
    d->magic = CARET__LDB_MAGIC;
    d->st = st;
    d->thread = st->thread;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setmetatable(L, -2);
    int rc = caret_open(path, &o, &d->db);
    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    rc = caret_session_open(d->db, &d->s);
    if (rc != CARET_OK) {
        caret__fail_values(L, rc);
        caret_close(d->db);
        return 3;
    }
    caret_session_detach(d->s); /* it is the Lua state's, whatever thread runs that */
    if (caret_path(d->db)[0] != '/' && strstr(caret_path(d->db), "://") != NULL)
        caret__opened_remote(d->s);
    d->barred = st->txn != NULL ? CARET__DB_OTHER_TXN : 0; /* of a parent process: caret__is_barred() tells */
    d->next = st->dbs;
    st->dbs = d;
    return 1;
}

/* adopt(db, metatable[, function]) -> db: nodes made by db.node are of that class; or it is that function */
static int core_adopt(lua_State *L)
{
    caret__any_db(L, 1);
    lua_settop(L, 3);
    lua_createtable(L, 1, 0);
    lua_insert(L, 3);
    if (lua_isnil(L, 4)) {
        lua_pop(L, 1);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, 1);
        lua_pushcclosure(L, node_function, 2);
    }
    lua_rawseti(L, 3, CARET__DB_NODE);
    caret__setuser(L, 1);
    lua_settop(L, 1);
    return 1;
}

static void forget(struct caret__ldb *d)
{
    struct caret__ldb **p = &d->st->dbs;
    while (*p != NULL && *p != d)
        p = &(*p)->next;
    if (*p == d)
        *p = d->next;
}

static int close_db(struct caret__ldb *d)
{
    if (d->barred & CARET__DB_CLOSED)
        return CARET_OK;
    d->barred |= CARET__DB_CLOSED;
    forget(d);
    caret__close_logs(d);
    caret__closes(d->s);
    caret_session_close(d->s);
    caret_m__held_forget(&d->held);
    d->s = NULL;
    int rc = caret_close(d->db);
    d->db = NULL;
    return rc;
}

static int db_close(lua_State *L)
{
    struct caret__ldb *d = caret__any_db(L, 1);
    int rc = close_db(d);

    if (rc < 0) /* it is closed all the same: told, not raised */
        return caret__fail_values(L, rc);
    return caret__results(L, d, rc);
}

/* __gc and __close: nobody to tell what went wrong */
static int db_gc(lua_State *L)
{
    close_db(lua_touserdata(L, 1));
    return 0;
}

/* __index; upvalue 1: methods */
static int db_index(lua_State *L)
{
    caret__any_db(L, 1);
    lua_settop(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    if (lua_toboolean(L, -1) && lua_type(L, -1) == LUA_TBOOLEAN) { /* node: one function for each database */
        caret__getuser(L, 1);
        lua_rawgeti(L, -1, CARET__DB_NODE);
    }
    return 1;
}

static int db_tostring(lua_State *L)
{
    struct caret__ldb *d = caret__any_db(L, 1);
    lua_pushfstring(L, "caret database (%s)", d->db != NULL ? caret_path(d->db) : "closed");
    return 1;
}

/* ------------------------------------------------------------------- methods */

static int db_sync(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    return caret__results(L, d, caret_sync(d->db));
}

/* batch(db[, on]): commits of this object do not wait for the disk; false: they do again */
static int db_batch(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);

    d->batch = lua_isnoneornil(L, 2) || lua_toboolean(L, 2);
    caret_session_batch(d->s, d->batch);
    return 0;
}

/* durable(db) -> place in the log that is on the disk, place after the last commit */
static int db_durable(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    uint64_t durable, committed;
    int rc = caret_durable(d->db, &durable, &committed);
    if (rc != CARET_OK)
        return caret__raise(L, d, rc);
    lua_pushinteger(L, (lua_Integer)durable);
    lua_pushinteger(L, (lua_Integer)committed);
    return 2;
}

static int db_checkpoint(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    return caret__results(L, d, caret_checkpoint(d->db));
}

/* check(db[, "online"]) -> true | nil, text, name, findings */
static int db_check(lua_State *L)
{
    static const size_t cap = 65536;
    struct caret__ldb *d = caret__check_db(L, 1);
    const char *how = lua_isnoneornil(L, 2) ? "" : lua_tostring(L, 2);

    if (how == NULL || (*how != '\0' && strcmp(how, "online") != 0))
        return caret__misuse(L, "check is 'online' or nothing, not %s", caret__push_shown_at(L, 2, '\''));
    char *report = lua_newuserdata(L, cap);
    int rc = *how != '\0' ? caret_check_online(d->db, report, cap) : caret_check(d->db, report, cap);

    if (rc != CARET_E_CORRUPT)
        return caret__results(L, d, rc);
    caret__fail_values(L, rc);
    lua_pushstring(L, report);
    return 4;
}

static int db_path(lua_State *L)
{
    lua_pushstring(L, caret_path(caret__check_db(L, 1)->db));
    return 1;
}

struct count {
    const char *name;
    uint64_t v;
};

/* A table of them. */
static void push_counts(lua_State *L, const struct count *c, size_t n)
{
    lua_createtable(L, 0, (int)n + 1); /* one for a text */
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)c[i].v);
        lua_setfield(L, -2, c[i].name);
    }
}

static int db_stat(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    caret_stats st = {.size = sizeof st};
    int rc = caret_stat(d->db, &st);
    if (rc != CARET_OK)
        return caret__raise(L, d, rc);
    const struct count counts[] = {{"pages", st.pages},
                                   {"free_pages", st.free_pages},
                                   {"arena_slots", st.arena_slots},
                                   {"arena_used", st.arena_used},
                                   {"arena_huge", st.arena_huge},
                                   {"depth", st.depth},
                                   {"log_head", st.log_head},
                                   {"log_durable", st.log_durable},
                                   {"checkpoint_lsn", st.checkpoint_lsn},
                                   {"epoch", st.epoch},
                                   {"checkpoints", st.checkpoints},
                                   {"repairs", st.repairs},
                                   {"gets", st.gets},
                                   {"sets", st.sets},
                                   {"commits", st.commits},
                                   {"restarts", st.restarts},
                                   {"lock_waits", st.lock_waits},
                                   {"processes", st.processes},
                                   {"held_pages", st.held_pages},
                                   {"dead_pages", st.dead_pages},
                                   {"snapshots", st.snapshots}};
    push_counts(L, counts, sizeof counts / sizeof *counts);
    static const char *const views[] = {"attached", "live", "file"};
    lua_pushstring(L, st.view < sizeof views / sizeof *views ? views[st.view] : "?");
    lua_setfield(L, -2, "view");
    return 1;
}

static void push_level(lua_State *L, const caret_usage_level *l)
{
    const struct count counts[] = {
        {"pages", l->pages}, {"entries", l->entries}, {"used", l->used}, {"size", l->size}};

    push_counts(L, counts, sizeof counts / sizeof *counts);
}

static void push_global(lua_State *L, const caret_usage_global *g)
{
    const struct count counts[] = {{"nodes", g->nodes},           {"leaves", g->leaves},
                                   {"bytes", g->bytes},           {"long_values", g->long_values},
                                   {"long_bytes", g->long_bytes}, {"long_pages", g->long_pages}};

    push_counts(L, counts, sizeof counts / sizeof *counts);
    lua_pushstring(L, g->name);
    lua_setfield(L, -2, "name");
}

/* usage(db) -> {levels = {{pages, entries, used, size}, ...}, globals = {{name, nodes, ...}, ...}} */
static int db_usage(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    caret_usage *u;
    int rc = caret_usage_get(d->db, &u);

    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    lua_createtable(L, 0, 2);
    lua_createtable(L, (int)u->levels, 0);
    for (unsigned i = 0; i < u->levels; i++) {
        push_level(L, &u->level[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "levels");
    lua_createtable(L, (int)u->globals, 0);
    for (size_t i = 0; i < u->globals; i++) {
        push_global(L, &u->global[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "globals");
    caret_usage_free(u);
    return 1;
}

/* salvage(path, out, sure or nil) -> counts, lost, report | nil, text, name */
static int core_salvage(lua_State *L)
{
    static const size_t cap = 65536;
    const char *path = caret__check_path(L, 1, "the path of the damaged database");
    const char *out = caret__check_path(L, 2, "the path of the file to write");
    int flags = lua_toboolean(L, 3) ? CARET_SALVAGE_SURE : 0;
    char *report = lua_newuserdata(L, cap);
    caret_salvaged c = {.size = sizeof c};
    int rc = caret_salvage(path, out, flags, &c, report, cap);

    if (rc != CARET_OK && rc != CARET_E_CORRUPT)
        return caret__fail_values(L, rc);
    const struct count counts[] = {{"nodes", c.nodes},
                                   {"pages", c.pages},
                                   {"leaves", c.leaves},
                                   {"lost_pages", c.lost_pages},
                                   {"lost_values", c.lost_values},
                                   {"stale_leaves", c.stale_leaves},
                                   {"doubtful_leaves", c.doubtful_leaves},
                                   {"logged", c.logged},
                                   {"epoch", c.epoch}};
    push_counts(L, counts, sizeof counts / sizeof *counts);
    lua_pushboolean(L, rc != CARET_OK);
    lua_pushstring(L, report);
    return 3;
}

/* open_function(database methods) -> open; in methods, true stands for db.node */
static int core_open_function(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__gc", db_gc}, {"__close", db_gc}, {"__tostring", db_tostring}, {NULL, NULL}};
    lua_settop(L, 1);
    lua_newtable(L);
    caret__functions(L, meta);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, db_index, 1);
    lua_setfield(L, 2, "__index");
    lua_pushcclosure(L, db_open, 1);
    return 1;
}

void caret__add_db(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open_function", core_open_function},
                                         {"adopt", core_adopt},
                                         {"close", db_close},
                                         {"sync", db_sync},
                                         {"durable", db_durable},
                                         {"batch", db_batch},
                                         {"checkpoint", db_checkpoint},
                                         {"check", db_check},
                                         {"stat", db_stat},
                                         {"path", db_path},
                                         {"salvage", core_salvage},
                                         {"usage", db_usage},
                                         {NULL, NULL}};
    caret__functions(L, functions);
}
