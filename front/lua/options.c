/*
 * options.c - tables of options: {name = value, ...}.
 *
 * A name that nobody knows is a mistake that would go unnoticed, so every function
 * that takes options checks the names first, and says which there are.
 */
#include <string.h>

#include "lua/binding.h"

/* Raise that `what` has no option of the name at the stack index `key`. */
static void refuse(lua_State *L, int key, const char *what, const char *const *known)
{
    luaL_Buffer b;

    const char *name = caret__push_shown_at(L, key, lua_type(L, key) == LUA_TSTRING ? '\'' : '\0');
    luaL_buffinit(L, &b);
    for (const char *const *k = known; *k != NULL; k++) {
        luaL_addstring(&b, k == known ? "" : ", ");
        luaL_addstring(&b, *k);
    }
    luaL_pushresult(&b);
    caret__misuse(L, "%s has no option %s; there are %s", what, name, lua_tostring(L, -1));
}

int caret__check_options(lua_State *L, int i, const char *what, const char *const *known)
{
    if (lua_isnoneornil(L, i))
        return 0;
    if (!caret__is_table(L, i))
        return caret__misuse(L, "the options of %s are a table, not a %s", what, caret__typename(L, i));
    for (lua_pushnil(L); lua_next(L, i) != 0; lua_pop(L, 1)) {
        const char *const *k = known;
        while (*k != NULL && (lua_type(L, -2) != LUA_TSTRING || strcmp(*k, lua_tostring(L, -2)) != 0))
            k++;
        if (*k == NULL)
            refuse(L, lua_gettop(L) - 1, what, known);
    }
    return 1;
}

int caret__option_flag(lua_State *L, int i, const char *name, int otherwise)
{
    lua_getfield(L, i, name);
    if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
        caret__misuse(L, "option %s is true or false, not a %s", name, caret__typename(L, -1));
    int flag = lua_isnil(L, -1) ? otherwise : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return flag;
}

lua_Number caret__option_time(lua_State *L, int i, const char *name)
{
    lua_getfield(L, i, name);
    lua_Number v = lua_tonumber(L, -1);
    if (!lua_isnil(L, -1) && !(lua_type(L, -1) == LUA_TNUMBER && v >= 0 && v <= 1e10))
        caret__misuse(L, "option %s is a number of seconds since 1970, 0 to 1e10", name);
    lua_pop(L, 1);
    return v;
}

uint64_t caret__option_place(lua_State *L, int i, const char *name)
{
    int64_t v = 0;
    lua_getfield(L, i, name);
    if (!lua_isnil(L, -1) &&
        !(lua_type(L, -1) == LUA_TNUMBER && caret__integer(L, lua_gettop(L), &v) && v >= 0))
        caret__misuse(L, "option %s is a place in the log, an integer, 0 or more, as db:durable() tells",
                      name);
    lua_pop(L, 1);
    return (uint64_t)v;
}

size_t caret__option_bytes(lua_State *L, int i, const char *name)
{
    int64_t v = 0;
    lua_getfield(L, i, name);
    if (!lua_isnil(L, -1) &&
        !(lua_type(L, -1) == LUA_TNUMBER && caret__integer(L, lua_gettop(L), &v) && v > 0))
        caret__misuse(L, "option %s is a number of bytes, a whole one above 0", name);
    lua_pop(L, 1);
    return (size_t)v;
}

const char *caret__check_path(lua_State *L, int i, const char *what)
{
    size_t len = 0;
    const char *path = lua_type(L, i) == LUA_TSTRING ? lua_tolstring(L, i, &len) : NULL;

    if (path == NULL)
        caret__misuse(L, "%s is a string, not a %s", what, caret__typename(L, i));
    else if (len == 0)
        caret__misuse(L, "%s is empty", what);
    else if (strlen(path) != len)
        caret__misuse(L, "%s has a zero byte in it", what);
    return path;
}

const char *caret__option_path(lua_State *L, int i, const char *name)
{
    lua_getfield(L, i, name);
    const char *path = NULL;
    if (!lua_isnil(L, -1)) {
        lua_pushfstring(L, "option %s, a path,", name);
        path = caret__check_path(L, lua_gettop(L) - 1, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return path;
}

int caret__option_function(lua_State *L, int i, const char *name)
{
    lua_getfield(L, i, name);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return 0;
    }
    if (!lua_isfunction(L, -1))
        caret__misuse(L, "option %s is a function, not a %s", name, caret__typename(L, -1));
    luaL_checkstack(L, 4, NULL);
    return lua_gettop(L);
}
