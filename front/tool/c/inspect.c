/*
 * inspect.c - the Lua module caret.inspect: what is going on in a database, for `caret locks`, `log`, `watch`, `top`.
 *
 *   handle = inspect.open(path)   one more handle of a database that is open: handle:locks(), handle:clear(pid),
 *                                 handle:processes(), handle:collisions(), handle:readings(),
 *                                 handle:log(place)
 *   inspect.compact(path, progress)   replace the file of a database that nobody has open;
 *                                     progress(done, total) in bytes
 *   inspect.shm(dir, remove, lost)   the segments in a folder (nil: /dev/shm): a list of tables; some are removed
 *   log:next(prefix)              the next change below a node: place, index, count, kind, node, value, length
 *   log:wait(prefix, seconds)     sleep until there is one: true or false
 *   log:count(counts, most)       how many changes there are by global, added to the table
 *
 * All of them raise what fails, but for those of a log, which give nil, text, name.
 */
#include "tool/c/inspect.h"

#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "caret.h"

#define HANDLE "caret.inspect"
#define LOG    "caret.inspect.log"

struct handle {
    caret_db *db;
};

struct follower {
    caret_log *log;
};

static int raise(lua_State *L)
{
    lua_pushstring(L, caret_fact());
    return lua_error(L);
}

static int failed(lua_State *L, int rc)
{
    lua_pushnil(L);
    lua_pushstring(L, caret_fact());
    lua_pushstring(L, caret_strerror(rc));
    return 3;
}

static void set_integer(lua_State *L, const char *name, uint64_t v)
{
    lua_pushinteger(L, (lua_Integer)v);
    lua_setfield(L, -2, name);
}

static void set_string(lua_State *L, const char *name, const char *s)
{
    lua_pushstring(L, s);
    lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, int flag)
{
    lua_pushboolean(L, flag);
    lua_setfield(L, -2, name);
}

static struct handle *check_handle(lua_State *L)
{
    return luaL_checkudata(L, 1, HANDLE);
}

static int inspect_open(lua_State *L)
{
    caret_options options = {.size = sizeof options, .no_create = 1};
    const char *path = luaL_checkstring(L, 1);
    struct handle *h = lua_newuserdatauv(L, sizeof *h, 0);

    h->db = NULL;
    luaL_setmetatable(L, HANDLE);
    return caret_open(path, &options, &h->db) == CARET_OK ? 1 : raise(L);
}

/* The function at index 2; what it raises stops the work, and stays on the stack. */
static int tell(void *arg, uint64_t done, uint64_t total)
{
    lua_State *L = arg;

    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    lua_pushinteger(L, (lua_Integer)done);
    lua_pushinteger(L, (lua_Integer)total);
    return lua_pcall(L, 2, 0, 0) != LUA_OK;
}

/* compact(path, progress) | raises */
static int inspect_compact(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);

    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    int rc = caret_compact(path, NULL, tell, L);
    if (rc == CARET_ROLLBACK && lua_gettop(L) > 2)
        return lua_error(L);
    return rc == CARET_OK ? 0 : raise(L);
}

/* The list is at the top of the stack. */
static int push_segment(void *arg, const caret_shm_info *info)
{
    static const char *const states[] = {"", "used", "needed", "lost", "orphaned", "unknown"};
    lua_State *L = arg;

    lua_createtable(L, 0, 7);
    set_string(L, "file", info->file);
    set_string(L, "database", info->path);
    set_string(L, "state", states[info->state]);
    set_string(L, "why", info->why);
    set_integer(L, "bytes", info->bytes);
    set_flag(L, "removed", info->removed);
    lua_createtable(L, (int)info->pids, 0);
    for (size_t i = 0; i < info->pids; i++) {
        lua_pushinteger(L, (lua_Integer)info->pid[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "pids");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    return CARET_OK;
}

/* shm(dir, remove, lost) -> list | raises */
static int inspect_shm(lua_State *L)
{
    const char *dir = luaL_optstring(L, 1, NULL);
    int flags = lua_toboolean(L, 2) ? CARET_SHM_REMOVE : 0;

    if (lua_toboolean(L, 3))
        flags |= CARET_SHM_REMOVE_LOST;
    lua_newtable(L);
    return caret_shm(dir, flags, push_segment, L) == CARET_OK ? 1 : raise(L);
}

static int handle_close(lua_State *L)
{
    struct handle *h = check_handle(L);

    caret_close(h->db);
    h->db = NULL;
    return 0;
}

/* ---------------------------------------------------------- locks, processes */

static void push_lock(lua_State *L, const caret_lock_info *l)
{
    lua_createtable(L, 0, 9);
    set_string(L, "name", l->name);
    set_flag(L, "waits", l->waits);
    set_flag(L, "alive", l->alive);
    set_integer(L, "pid", l->pid);
    set_string(L, "command", l->command);
    set_integer(L, "session", l->session);
    set_integer(L, "count", l->count);
    set_integer(L, "waiting", l->waiting);
    lua_pushnumber(L, (lua_Number)l->age_ns * 1e-9);
    lua_setfield(L, -2, "age");
}

/* handle:locks() -> list of tables */
static int handle_locks(lua_State *L)
{
    caret_lock_list *list;

    if (caret_locks_get(check_handle(L)->db, &list) != CARET_OK)
        return raise(L);
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        push_lock(L, &list->lock[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    caret_locks_free(list);
    return 1;
}

/* handle:clear(pid; 0 = all) -> number of dead processes whose locks were released */
static int handle_clear(lua_State *L)
{
    unsigned cleared;

    if (caret_locks_clear(check_handle(L)->db, (uint64_t)luaL_checkinteger(L, 2), &cleared) != CARET_OK)
        return raise(L);
    lua_pushinteger(L, cleared);
    return 1;
}

static void push_process(lua_State *L, const caret_process *p)
{
    lua_createtable(L, 0, 14);
    set_integer(L, "pid", p->pid);
    set_string(L, "command", p->command);
    set_flag(L, "alive", p->alive);
    set_flag(L, "self", p->self);
    lua_pushnumber(L, (lua_Number)p->opened * 1e-9);
    lua_setfield(L, -2, "opened");
    set_integer(L, "gets", p->gets);
    set_integer(L, "sets", p->sets);
    set_integer(L, "commits", p->commits);
    set_integer(L, "restarts", p->restarts);
    set_integer(L, "lock_waits", p->lock_waits);
    set_integer(L, "checkpoints", p->checkpoints);
    set_integer(L, "flushes", p->flushes);
    set_integer(L, "repairs", p->repairs);
    set_integer(L, "snapshot", p->snapshot);
}

/* handle:processes() -> list of tables */
static int handle_processes(lua_State *L)
{
    caret_process_list *list;

    if (caret_processes_get(check_handle(L)->db, &list) != CARET_OK)
        return raise(L);
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        push_process(L, &list->process[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    caret_processes_free(list);
    return 1;
}

/* handle:collisions() -> list of tables {name, above, count, time, pid}, most restarts first */
static int handle_collisions(lua_State *L)
{
    caret_collision_list *list;

    if (caret_collisions_get(check_handle(L)->db, &list) != CARET_OK)
        return raise(L);
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        const caret_collision *c = &list->collision[i];
        lua_createtable(L, 0, 5);
        set_string(L, "name", c->name);
        set_flag(L, "above", c->above);
        set_integer(L, "count", c->count);
        lua_pushnumber(L, (lua_Number)c->time * 1e-9);
        lua_setfield(L, -2, "time");
        set_integer(L, "pid", c->pid);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    caret_collisions_free(list);
    return 1;
}

/* handle:readings() -> list of tables {name, gets, time, pid}, most gets first: an estimate */
static int handle_readings(lua_State *L)
{
    caret_reading_list *list;

    if (caret_readings_get(check_handle(L)->db, &list) != CARET_OK)
        return raise(L);
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        const caret_reading *r = &list->reading[i];
        lua_createtable(L, 0, 4);
        set_string(L, "name", r->name);
        set_integer(L, "gets", r->gets);
        lua_pushnumber(L, (lua_Number)r->time * 1e-9);
        lua_setfield(L, -2, "time");
        set_integer(L, "pid", r->pid);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    caret_readings_free(list);
    return 1;
}

/* ------------------------------------------------------------------------ log */

/* handle:log(place; 0 = the oldest, -1 = after the last) -> log | nil, text, name */
static int handle_log(lua_State *L)
{
    struct handle *h = check_handle(L);
    lua_Integer from = luaL_checkinteger(L, 2);
    struct follower *f = lua_newuserdatauv(L, sizeof *f, 0);

    f->log = NULL;
    luaL_setmetatable(L, LOG);
    int rc = caret_log_open(h->db, from < 0 ? CARET_LOG_END : (uint64_t)from, &f->log);
    return rc == CARET_OK ? 1 : failed(L, rc);
}

static int log_close(lua_State *L)
{
    struct follower *f = luaL_checkudata(L, 1, LOG);

    caret_log_close(f->log);
    f->log = NULL;
    return 0;
}

/* Only changes that concern the node whose ZWR text is at 2, if there is one. */
static void want(lua_State *L, struct follower *f)
{
    size_t len;
    const char *text = luaL_optlstring(L, 2, NULL, &len);
    caret_node_buf below;

    if (text != NULL && caret_node_parse(&below.node, sizeof below, text, len, 1) != CARET_OK)
        raise(L);
    if (caret_log_below(f->log, text != NULL ? &below.node : NULL) != CARET_OK)
        raise(L);
}

/* log:wait([ZWR text of a node, or nil,] seconds) -> true: there is a change | false | nil, text, name */
static int log_wait(lua_State *L)
{
    struct follower *f = luaL_checkudata(L, 1, LOG);
    lua_Number seconds = luaL_checknumber(L, 3);

    want(L, f);
    int rc = caret_log_wait(NULL, f->log, (uint64_t)(seconds > 0 ? seconds * 1e9 : 0));
    if (rc < 0)
        return failed(L, rc);
    lua_pushboolean(L, rc == CARET_OK);
    return 1;
}

static void push_node(lua_State *L, const caret_node *n)
{
    char small[512];
    size_t len;

    if (caret_node_zwr(n, 1, small, sizeof small, &len) == CARET_OK) {
        lua_pushlstring(L, small, len);
        return;
    }
    char *big = lua_newuserdatauv(L, len, 0);
    caret_node_zwr(n, 1, big, len, &len);
    lua_pushlstring(L, big, len);
    lua_remove(L, -2);
}

static void push_bound(lua_State *L, caret_slice bound)
{
    if (bound.data != NULL)
        lua_pushlstring(L, bound.data, bound.len);
    else
        lua_pushnil(L);
}

/* log:next([ZWR text of a node]) -> place, index (from 1), count, kind, node, value or nil, its length; and of a kill
 * of a range, whose node is the parent: from or nil, to or nil, flags of caret_kill_range()
 * | nothing: there is none yet | nil, text, name */
static int log_next(lua_State *L)
{
    static const char *const kinds[8] = {"", "set", "delete", "kill", "kill_range", "", "", ""};
    struct follower *f = luaL_checkudata(L, 1, LOG);
    caret_change c = {.size = sizeof c};

    want(L, f);
    int rc = caret_log_next(f->log, &c);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? 0 : failed(L, rc);
    lua_pushinteger(L, (lua_Integer)c.lsn);
    lua_pushinteger(L, (lua_Integer)c.index + 1);
    lua_pushinteger(L, (lua_Integer)c.count);
    lua_pushstring(L, kinds[c.kind & 7]);
    push_node(L, c.node);
    if (c.value.data != NULL)
        lua_pushlstring(L, c.value.data, c.value.len);
    else
        lua_pushnil(L);
    lua_pushinteger(L, (lua_Integer)c.value.len);
    if (c.kind != CARET_CHANGE_KILL_RANGE)
        return 7;
    push_bound(L, c.from);
    push_bound(L, c.to);
    lua_pushinteger(L, c.flags);
    return 10;
}

/* log:place() -> where handle:log() goes on after what next() has told */
static int log_place(lua_State *L)
{
    struct follower *f = luaL_checkudata(L, 1, LOG);

    lua_pushinteger(L, (lua_Integer)caret_log_place(f->log));
    return 1;
}

/* log:count(table, most) -> number of changes read, which are added to the table by global | nil, text, name */
static int log_count(lua_State *L)
{
    struct follower *f = luaL_checkudata(L, 1, LOG);
    lua_Integer n = 0, most = luaL_checkinteger(L, 3);
    char name[CARET_MAX_NAME + 2];
    caret_change c = {.size = sizeof c};
    int rc = CARET_OK;

    while (n < most && (rc = caret_log_next(f->log, &c)) == CARET_OK) {
        caret_slice s = caret_node_name(c.node, name);
        lua_pushlstring(L, s.data, s.len);
        lua_pushvalue(L, -1);
        lua_rawget(L, 2);
        lua_Integer before = lua_tointeger(L, -1);
        lua_pop(L, 1);
        lua_pushinteger(L, before + 1);
        lua_rawset(L, 2);
        n++;
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        return failed(L, rc);
    lua_pushinteger(L, n);
    return 1;
}

static void new_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc)
{
    luaL_newmetatable(L, name);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}

int caret__open_inspect(lua_State *L)
{
    static const luaL_Reg handle[] = {{"close", handle_close},
                                      {"locks", handle_locks},
                                      {"clear", handle_clear},
                                      {"processes", handle_processes},
                                      {"collisions", handle_collisions},
                                      {"readings", handle_readings},
                                      {"log", handle_log},
                                      {NULL, NULL}};
    static const luaL_Reg log[] = {{"close", log_close}, {"next", log_next},   {"place", log_place},
                                   {"wait", log_wait},   {"count", log_count}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"open", inspect_open}, {"compact", inspect_compact}, {"shm", inspect_shm}, {NULL, NULL}};

    new_class(L, HANDLE, handle, handle_close);
    new_class(L, LOG, log, log_close);
    luaL_newlib(L, functions);
    return 1;
}
