/*
 * counted.c - methods that count their calls.
 *
 * A function of Lua that counts and then calls a method costs more than many a
 * method.  For the methods in C the counting is done here instead: a closure over
 * the count and the C function, which it calls in its own place, on the same stack.
 */
#include "lua/binding.h"

enum upvalue { UP_COUNTED = 1 };

struct counted {
    lua_Integer calls;
    lua_CFunction f; /* one without upvalues */
};

static int call_counted(lua_State *L)
{
    struct counted *c = lua_touserdata(L, lua_upvalueindex(UP_COUNTED));

    c->calls++;
    return c->f(L);
}

static int calls(lua_State *L)
{
    const struct counted *c = lua_touserdata(L, lua_upvalueindex(UP_COUNTED));

    lua_pushinteger(L, c->calls);
    return 1;
}

static int is_method(lua_CFunction f)
{
    for (int i = 1; caret__methods[i].name != NULL; i++)
        if (f == caret__methods[i].f)
            return 1;
    return 0;
}

/* counted(f) -> the same with a count, and a function that tells it; nothing if f is not a method in C */
static int core_counted(lua_State *L)
{
    lua_CFunction f = lua_tocfunction(L, 1);

    if (f == NULL || !is_method(f))
        return 0;
    struct counted *c = caret__newuserdata(L, sizeof *c);
    *c = (struct counted){0, f};
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, call_counted, 1);
    lua_insert(L, -2);
    lua_pushcclosure(L, calls, 1);
    return 2;
}

void caret__add_counted(lua_State *L)
{
    static const luaL_Reg functions[] = {{"counted", core_counted}, {NULL, NULL}};

    caret__functions(L, functions);
}
