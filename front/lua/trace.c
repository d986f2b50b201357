/*
 * trace.c - where in a transaction an error was raised.
 *
 * A transaction catches what its function raises and raises it on, so a traceback that is made further out ends at the
 * call of the transaction: what led to the error is gone.  So the traceback is made here, while the stack is still
 * there, and put after the message; but not where the program looks at the message itself.  The stack tells
 * which it is:
 *
 *     pcall around the transaction      the message as it is
 *     xpcall, or nothing but the host   message and traceback: it is to be read by people
 *     a coroutine                       the message as it is: whoever resumes it may look at it
 *
 * What is not a string passes as it is, and so does everything in a database of the module yottadb.
 */
#include <string.h>

#include "lua/binding.h"

#define LEVELS 1000 /* each is found from the top: so many, and the message as it is */

enum { UP_PCALL = 1, UP_XPCALL = 2, UP_TRACEBACK = 3 };

/* Is it xpcall or the host that gets what is raised now? */
static int is_for_people(lua_State *L)
{
    lua_Debug ar;

    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "f", &ar);
        int program = lua_rawequal(L, -1, lua_upvalueindex(UP_PCALL));
        int people = lua_rawequal(L, -1, lua_upvalueindex(UP_XPCALL));
        lua_pop(L, 1);
        if (program || people || level == LEVELS)
            return people;
    }
    return 1;
}

static int is_main_thread(lua_State *L)
{
    int is_main = lua_pushthread(L);

    lua_pop(L, 1);
    return is_main;
}

/* The message handler: message -> message, with a traceback if it is to be read by people. */
static int trace(lua_State *L)
{
    lua_settop(L, 1);
    if (lua_type(L, 1) != LUA_TSTRING || strstr(lua_tostring(L, 1), "\nstack traceback:") != NULL)
        return 1;
    if (!is_main_thread(L) || !is_for_people(L))
        return 1;
    lua_pushvalue(L, lua_upvalueindex(UP_TRACEBACK));
    lua_insert(L, 1);
    lua_pushinteger(L, 2); /* from what raised it on */
    lua_call(L, 2, 1);
    return 1;
}

int caret__push_trace(lua_State *L, const struct caret__lstate *st)
{
    if (st->trace == 0)
        return 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, st->trace);
    return 1;
}

void caret__open_trace(lua_State *L)
{
    struct caret__lstate *st = caret__state(L);

    lua_getglobal(L, "pcall");
    lua_getglobal(L, "xpcall");
    lua_getglobal(L, "debug");
    if (lua_istable(L, -1))
        lua_getfield(L, -1, "traceback");
    else
        lua_pushnil(L);
    lua_remove(L, -2);
    if (lua_isfunction(L, -1)) {
        lua_pushcclosure(L, trace, 3);
        st->trace = luaL_ref(L, LUA_REGISTRYINDEX);
    } else {
        lua_pop(L, 3);
    }
}
