/*
 * register.c - redis.register_function(), which the code of a library calls: library.h.
 */
#include <stdlib.h>
#include <strings.h>

#include "server/script/library.h"

/* ---------------------------------------------------------------- register */

static int raise(lua_State *L, const char *text)
{
    serve__script_push_error(L, text, strlen(text), false);
    return lua_error(L);
}

/* The flags in the table on top of the stack, which is popped. */
static unsigned take_flags(lua_State *L)
{
    unsigned flags = 0;
    if (!lua_istable(L, -1))
        raise(L, "ERR flags argument to redis.register_function must be a table representing function flags");
    for (int i = 1;; i++) {
        size_t len;
        lua_rawgeti(L, -1, i);
        if (lua_isnil(L, -1))
            break;
        const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : NULL;
        if (word == NULL || !serve__script_flag(word, len, &flags))
            raise(L, "ERR unknown flag given");
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return flags;
}

/* The named arguments of the table 1: name, callback and description become the values 2, 3, 4. */
static unsigned take_named(lua_State *L)
{
    unsigned flags = 0;
    lua_settop(L, 4);
    for (lua_pushnil(L); lua_next(L, 1);) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (key == NULL)
            raise(L, "ERR named argument key given to redis.register_function is not a string");
        else if (strcasecmp(key, "function_name") == 0)
            lua_replace(L, 2);
        else if (strcasecmp(key, "callback") == 0)
            lua_replace(L, 3);
        else if (strcasecmp(key, "description") == 0)
            lua_replace(L, 4);
        else if (strcasecmp(key, "flags") == 0)
            flags = take_flags(L);
        else
            raise(L, "ERR unknown argument given to redis.register_function");
    }
    if (!lua_isnil(L, 3) && !lua_isfunction(L, 3))
        raise(L, "ERR callback argument given to redis.register_function must be a function");
    if (!lua_isnil(L, 2) && !lua_isstring(L, 2))
        raise(L, "ERR function_name argument given to redis.register_function must be a string");
    if (!lua_isnil(L, 4) && !lua_isstring(L, 4))
        raise(L, "ERR description argument given to redis.register_function must be a string");
    if (lua_isnil(L, 2))
        raise(L, "ERR redis.register_function must get a function name argument");
    if (lua_isnil(L, 3))
        raise(L, "ERR redis.register_function must get a callback argument");
    return flags;
}

static unsigned take_two(lua_State *L)
{
    if (!lua_isstring(L, 1))
        raise(L, "ERR first argument to redis.register_function must be a string");
    if (!lua_isfunction(L, 2))
        raise(L, "ERR second argument to redis.register_function must be a function");
    lua_pushnil(L);
    lua_insert(L, 1); /* nil, name, callback, description */
    lua_pushnil(L);
    return 0;
}

int serve__script_register(lua_State *L)
{
    struct serve__scripts *x = serve__scripts_here(L);
    struct serve__library *l = x->loaded;
    size_t len;
    int n = lua_gettop(L);
    if (l == NULL)
        return raise(L, "ERR redis.register_function can only be called on FUNCTION LOAD command");
    if (n < 1 || n > 2)
        return raise(L, "ERR wrong number of arguments to redis.register_function");
    if (n == 1 && !lua_istable(L, 1))
        return raise(
            L, "ERR calling redis.register_function with a single argument is only applicable to Lua table "
               "(representing named arguments).");
    unsigned flags = n == 1 ? take_named(L) : take_two(L);
    const char *name = lua_tolstring(L, 2, &len);
    if (!serve__library_name_valid(name, len))
        return raise(L, SERVE__BAD_LIBRARY_NAME);
    if (serve__function_in(l, name, len) != NULL)
        return raise(L, "ERR Function already exists in the library");
    struct serve__function *f = calloc(1, sizeof *f + len + 1);
    if (f == NULL)
        return raise(L, "ERR no memory");
    memcpy(f->name, name, len);
    f->description = lua_isstring(L, 4) ? strdup(lua_tostring(L, 4)) : NULL;
    lua_Debug at;
    lua_pushvalue(L, 3);
    int line = lua_getinfo(L, ">S", &at) && at.lastlinedefined > 0 ? at.lastlinedefined : 1;
    lua_pushvalue(L, 3);
    f->code = (struct serve__code){f->name, flags, luaL_ref(L, LUA_REGISTRYINDEX), line, true, NULL};
    f->next = l->function;
    l->function = f;
    return 0;
}
