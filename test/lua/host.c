/*
 * host.c - a plain Lua interpreter for versions of Lua that come without one, as a library only
 * (tools/lua55.sh).
 *
 *     host -e TEXT               runs the text
 *     host FILE [ARGUMENT...]    runs the file; the global `arg` is as with lua, the host itself is arg[-1]
 */
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static int traceback(lua_State *L)
{
    const char *text = luaL_tolstring(L, 1, NULL);
    luaL_traceback(L, L, text, 1);
    return 1;
}

static int run(lua_State *L, int argc, char **argv)
{
    int script = argc > 1 && strcmp(argv[1], "-e") == 0 ? 2 : 1;

    if (argc <= script)
        return luaL_error(L, "usage: %s -e TEXT | FILE [ARGUMENT...]", argv[0]);
    lua_newtable(L);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
    lua_pushcfunction(L, traceback);
    int rc = script == 2 ? luaL_loadstring(L, argv[2]) : luaL_loadfile(L, argv[1]);
    for (int i = script + 1; rc == LUA_OK && i < argc; i++)
        lua_pushstring(L, argv[i]);
    if (rc == LUA_OK)
        rc = lua_pcall(L, argc - script - 1, 0, 1);
    if (rc != LUA_OK)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    return rc != LUA_OK;
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    if (L == NULL)
        return 1;
    luaL_openlibs(L);
    int failed = run(L, argc, argv);
    lua_close(L);
    return failed;
}
