/*
 * backup.c - db:backup(path[, options]).
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
