/*
 * hook.c - asking Lua at lines of M.
 */
#include "mumps/host/hook.h"

#include <string.h>

#include <lauxlib.h>

void caret_mumps__hook_offer(lua_State *L, const char *name, lua_CFunction f)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "caret.mumps");
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

void caret_mumps__hook_keep(lua_State *L, void *key, int index)
{
    luaL_checktype(L, index, LUA_TFUNCTION);
    lua_pushlightuserdata(L, key);
    lua_pushvalue(L, index);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

bool caret_mumps__hook_ask(lua_State *L, lua_Debug *ar, void *key, int number)
{
    if (lua_getinfo(L, "S", ar) == 0 || strncmp(ar->source, "=M", 2) != 0 || strcmp(ar->what, "Lua") != 0)
        return false;
    lua_pushlightuserdata(L, key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushinteger(L, number);
    lua_pushstring(L, ar->source);
    lua_pushinteger(L, ar->currentline);
    lua_call(L, 3, 1);
    if (lua_isfunction(L, -1))
        return true;
    lua_pop(L, 1);
    return false;
}
