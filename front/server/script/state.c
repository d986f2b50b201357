/*
 * state.c - the Lua state of a worker, and the sandbox in it: script.h.
 */
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/script/modules.h"
#include "server/script/script.h"

static char here; /* its address is the key of the scripts in the registry */

struct serve__scripts *serve__scripts_here(lua_State *L)
{
    lua_pushlightuserdata(L, &here);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct serve__scripts *x = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return x;
}

/* Is the transaction of the script to be run again, or broken?  Then nothing catches the error. */
static int ending(lua_State *L)
{
    const struct serve__scripts *x = serve__scripts_here(L);
    lua_pushboolean(L, x->restart || x->broken != CARET_OK || serve__script_is_killed(x));
    return 1;
}

/* sandbox.lua */
static const char sandbox[] = {
#include "server/sandbox.inc"
};

/* The table `redis`. */
static void push_api(lua_State *L)
{
    static const struct {
        const char *name;
        int n;
    } numbers[] = {{"LOG_DEBUG", 0},  {"LOG_VERBOSE", 1},
                   {"LOG_NOTICE", 2}, {"LOG_WARNING", 3},
                   {"REPL_NONE", 0},  {"REPL_AOF", 1},
                   {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2},
                   {"REPL_ALL", 3},   {"REDIS_VERSION_NUM", 0x0007000f}};
    lua_newtable(L);
    for (const luaL_Reg *f = serve__script_api; f->name != NULL; f++) {
        lua_pushlightuserdata(L, serve__scripts_here(L));
        lua_pushcclosure(L, f->func, 1);
        lua_setfield(L, -2, f->name);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        lua_pushinteger(L, numbers[i].n);
        lua_setfield(L, -2, numbers[i].name);
    }
    lua_pushliteral(L, SERVE__REDIS_VERSION);
    lua_setfield(L, -2, "REDIS_VERSION");
}

/* Modules are among those that are loaded, for name_of(); no script gets at these. */
static void push_module(lua_State *L, const char *name, lua_CFunction open)
{
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

static void push_bit(lua_State *L)
{
    lua_getglobal(L, "bit");
    if (!lua_isnil(L, -1)) {
        lua_pushcfunction(L, caret_codec__bit_tohex);
        lua_setfield(L, -2, "tohex");
        return;
    }
    lua_pop(L, 1);
    push_module(L, "bit", caret_codec__open_bit);
}

/* Push the name that a module has for the function on top of the stack, in its place; "?" if none has. */
static void name_of(lua_State *L)
{
    int f = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    for (lua_pushnil(L); lua_next(L, f + 1); lua_pop(L, 1)) {
        if (!lua_istable(L, -1))
            continue;
        for (lua_pushnil(L); lua_next(L, f + 3); lua_pop(L, 1))
            if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, f)) {
                lua_pop(L, 1);
                lua_replace(L, f);
                lua_settop(L, f);
                return;
            }
    }
    lua_pushliteral(L, "?");
    lua_replace(L, f);
    lua_settop(L, f);
}

/* The level of what called the script, if the text of an error begins with its place, which goes to `place`; 0: it
 * does not. */
static int level_of_caller(lua_State *L, const char *text, char place[LUA_IDSIZE + 16])
{
    lua_Debug at;
    for (int level = 2; level <= 4 && lua_getstack(L, level, &at) && lua_getinfo(L, "Sl", &at); level++) {
        snprintf(place, LUA_IDSIZE + 16, "%s:%d: ", at.short_src, at.currentline);
        if (at.source[0] == '=' && strncmp(text, place, strlen(place)) == 0)
            return level;
    }
    return 0;
}

/* A function of C, or of the sandbox, that the script ended with, by a tail call: of the script no frame is left, so
 * the text has the place of what called the script.  It gets the end of the script, and the name of the function. */
static void mend_tail_call(lua_State *L, const struct serve__scripts *x)
{
    lua_Debug of;
    char place[LUA_IDSIZE + 16];
    const char *text = lua_type(L, 1) == LUA_TSTRING && x->code != NULL ? lua_tostring(L, 1) : NULL;
    int level = text != NULL ? level_of_caller(L, text, place) : 0;
    if (level == 0 || !lua_getstack(L, level - 1, &of))
        return;
    size_t n = strlen(place);
    lua_getinfo(L, "f", &of);
    name_of(L);
    lua_pushfstring(L, "to '%s' (", lua_tostring(L, -1));
    lua_pushfstring(L, "user_%s:%d: ", x->code->function ? "function" : "script", x->code->lines);
    luaL_gsub(L, text + n, "to 'script' (", lua_tostring(L, -2));
    lua_concat(L, 2);
    lua_replace(L, 1);
}

/* The error with its place: {err, source, line}.  A call at the end of a function leaves no frame of it. */
static int handler(lua_State *L)
{
    lua_Debug at;
    bool known = false;
    mend_tail_call(L, serve__scripts_here(L));
    for (int level = 1; !known && lua_getstack(L, level, &at) && lua_getinfo(L, "Sl", &at); level++)
        known = at.currentline > 0 && at.source[0] != '=';
    if (!lua_istable(L, 1)) {
        const char *text = lua_tostring(L, 1);
        lua_createtable(L, 0, 3);
        lua_pushfstring(L, "ERR %s", text != NULL ? text : "nil");
        lua_setfield(L, -2, "err");
        lua_replace(L, 1);
    }
    lua_settop(L, 1);
    const struct serve__scripts *x = serve__scripts_here(L);
    if (known)
        lua_pushstring(L, at.source);
    else
        lua_pushstring(L, x->code != NULL && x->code->function ? "@user_function" : "@user_script");
    lua_setfield(L, 1, "source");
    lua_pushinteger(L, known ? at.currentline : x->code != NULL ? x->code->lines : 1);
    lua_setfield(L, 1, "line");
    return 1;
}

static void seed(lua_State *L, struct serve__scripts *x)
{
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushnumber(L, (lua_Number)(x->seed >> 34)); /* 30 bits: more, and Lua 5.1 takes none of them */
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

/* For the debugger, whose hook machine code would not look at. */
static void interpret(lua_State *L, struct serve__scripts *x)
{
    serve__quick_none(x);
    lua_getglobal(L, "jit");
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "off");
        lua_call(L, 0, 0);
    }
    lua_pop(L, 1);
}

static int make(lua_State *L)
{
    struct serve__scripts *x = lua_touserdata(L, 1);
    luaL_openlibs(L);
    seed(L, x);
    lua_pushlightuserdata(L, &here);
    lua_pushlightuserdata(L, x);
    lua_rawset(L, LUA_REGISTRYINDEX);
    if (luaL_loadbuffer(L, sandbox, sizeof sandbox - 1, "=sandbox") != 0)
        return lua_error(L);
    push_api(L);
    if (x->debugger == NULL)
        serve__quick_open(L, x);
    else
        interpret(L, x);
    lua_pushcfunction(L, ending);
    lua_pushcfunction(L, serve__script_register);
    push_module(L, "cjson", caret_codec__open_cjson);
    push_module(L, "cmsgpack", caret_codec__open_cmsgpack);
    push_module(L, "struct", caret_codec__open_struct);
    push_bit(L);
    serve__script_push_nodes(L);
    lua_pushcfunction(L, serve__script_mend);
    lua_call(L, 9, 5);
    x->caller = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, 2);
    x->loading = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, 3);
    x->functions = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "KEYS");
    x->keys = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "ARGV");
    x->argv = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushcfunction(L, handler);
    x->handler = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushcfunction(L, serve__script_body);
    x->body = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushcfunction(L, serve__script_clear);
    x->clear = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pop(L, 1);
    lua_replace(L, LUA_GLOBALSINDEX); /* chunks that are loaded from now on see these globals only */
    return 0;
}

lua_State *serve__script_state(struct serve__scripts *x)
{
    lua_State *L = luaL_newstate();
    if (L == NULL)
        return NULL;
    serve__script_bound(L, &x->memory);
    if (lua_cpcall(L, make, x) != 0) {
        serve__script_close(L, &x->memory);
        return NULL;
    }
    return L;
}

void serve__script_drop(struct serve__scripts *x)
{
    lua_State *L = x->L;
    x->memory.worn = false;
    serve__scripts_forget(x);
    if (L != NULL)
        serve__script_close(L, &x->memory);
}
