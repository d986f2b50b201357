/*
 * backup.c - db:backup(path[, options]) and restore(backup, path[, options]).
 *
 * The progress function is Lua called from inside the C interface, so an error in
 * it must not get out there: it is caught, stops the backup, and is raised on when
 * caret_backup() has cleaned up and returned.
 */
#include <string.h>

#include "lua/binding.h"

struct telling {
    lua_State *L;
    int fn;     /* index of the function */
    int failed; /* what it raised is at that index now */
};

/* caret_backup_progress: false from the function, or an error, stops the backup */
static int tell(void *arg, uint64_t done, uint64_t total)
{
    struct telling *t = arg;
    lua_State *L = t->L;

    lua_pushvalue(L, t->fn);
    lua_pushnumber(L, (lua_Number)done);
    lua_pushnumber(L, (lua_Number)total);
    t->failed = lua_pcall(L, 2, 1, 0) != 0;
    int stop = t->failed || (lua_isboolean(L, -1) && !lua_toboolean(L, -1));
    if (t->failed)
        lua_replace(L, t->fn);
    else
        lua_pop(L, 1);
    return stop;
}

/* The flag on top, named `name`. */
static int flag(lua_State *L, const char *name)
{
    if (!lua_isboolean(L, -1))
        caret__misuse(L, "option %s is true or false, not a %s", name, luaL_typename(L, -1));
    return lua_toboolean(L, -1);
}

/* The options at index 3; the progress function goes to index t->fn. */
static void read_options(lua_State *L, caret_backup_options *o, struct telling *t)
{
    if (!lua_istable(L, 3)) {
        caret__misuse(L, "the options of backup are a table, not a %s", luaL_typename(L, 3));
        return;
    }
    for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
        if (strcmp(name, "compact") == 0) {
            o->compact = flag(L, name);
        } else if (strcmp(name, "overwrite") == 0) {
            o->overwrite = flag(L, name);
        } else if (strcmp(name, "progress") == 0) {
            luaL_checktype(L, -1, LUA_TFUNCTION);
            lua_pushvalue(L, -1);
            lua_replace(L, t->fn);
            o->progress = tell;
            o->progress_arg = t;
        } else {
            caret__misuse(L, "backup has no option '%s'", name);
        }
    }
}

/* backup(db, path[, {compact, overwrite, progress}]) -> true | nil, text, name */
int caret__backup_to(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    caret_backup_options o = {0};
    struct telling t = {L, 4, 0};
    size_t len;

    if (lua_type(L, 2) != LUA_TSTRING)
        return caret__misuse(L, "the path of a backup is a string, not a %s", luaL_typename(L, 2));
    const char *path = lua_tolstring(L, 2, &len);
    if (len == 0 || strlen(path) != len)
        return caret__misuse(L, "the path of a backup is empty or has a zero byte in it");
    lua_settop(L, 4);
    if (!lua_isnil(L, 3))
        read_options(L, &o, &t);
    int rc = caret_backup(d->db, path, &o);
    if (t.failed) {
        lua_settop(L, t.fn);
        return lua_error(L);
    }
    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    lua_pushboolean(L, 1);
    return 1;
}

/* A path at index i. */
static const char *path_at(lua_State *L, int i, const char *what)
{
    size_t len = 0;
    const char *path = lua_type(L, i) == LUA_TSTRING ? lua_tolstring(L, i, &len) : NULL;

    if (path == NULL || len == 0 || strlen(path) != len)
        caret__misuse(L, "the path of %s is a string, not empty and without zero bytes", what);
    return path;
}

/* The number at the top, named `name`: not negative. */
static lua_Number number(lua_State *L, const char *name)
{
    lua_Number v = lua_tonumber(L, -1);

    if (lua_type(L, -1) != LUA_TNUMBER || !(v >= 0 && v < 1e18))
        caret__misuse(L, "option %s is a number, not a %s", name, luaL_typename(L, -1));
    return v;
}

static void read_restore_options(lua_State *L, caret_restore_options *o)
{
    if (!lua_istable(L, 3)) {
        caret__misuse(L, "the options of restore are a table, not a %s", luaL_typename(L, 3));
        return;
    }
    for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
        if (strcmp(name, "archive") == 0)
            o->archive = path_at(L, -1, "an archive"); /* the table keeps it */
        else if (strcmp(name, "lsn") == 0)
            o->lsn = (uint64_t)number(L, name);
        else if (strcmp(name, "any_fs") == 0)
            o->any_fs = flag(L, name);
        else if (strcmp(name, "time") == 0)
            o->time = (uint64_t)(number(L, name) * 1e3) * 1000000u;
        else
            caret__misuse(L, "restore has no option '%s'", name);
    }
}

/* restore(backup, path[, {archive, lsn, time, any_fs}]) -> place reached[, warning] | nil, text, name; time in seconds
 * since 1970; the warning tells that the archive ends before it. */
int caret__restore_from(lua_State *L)
{
    const char *backup = path_at(L, 1, "a backup"), *path = path_at(L, 2, "the database to be made");
    caret_restore_options o = {0};
    uint64_t reached = 0;

    if (!lua_isnoneornil(L, 3))
        read_restore_options(L, &o);
    int rc = caret_restore(backup, path, &o, &reached);
    if (rc != CARET_OK && rc != CARET_NONE)
        return caret__fail_values(L, rc);
    lua_pushinteger(L, (lua_Integer)reached);
    if (rc == CARET_OK)
        return 1;
    lua_pushstring(L, caret_message());
    return 2;
}
