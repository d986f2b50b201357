/*
 * m.c - front/m for the module `yottadb`: the table core.m.
 *
 * The functions take and return plain values; what belongs to a state (its database, its last error) is kept in Lua and
 * passed.
 */
#include "m/m.h"
#include "lua/binding.h"

/* -------------------------------------------------------------------- errors */

/* constants() -> {YDB_... = number}: all of them, errors and outcomes included */
static int m_constants(lua_State *L)
{
    size_t nconstants, nerrors;
    const struct caret_m__constant *c = caret_m__constants(&nconstants);
    const struct caret_m__error *e = caret_m__errors(&nerrors);

    lua_createtable(L, 0, (int)(nconstants + nerrors));
    for (size_t i = 0; i < nconstants; i++) {
        caret__push_integer(L, c[i].value);
        lua_setfield(L, -2, c[i].name);
    }
    for (size_t i = 0; i < nerrors; i++) {
        lua_pushinteger(L, e[i].code);
        lua_setfield(L, -2, e[i].symbol);
    }
    return 1;
}

/* name_error(name) -> the number of what is wrong with the name of a variable */
static int m_name_error(lua_State *L)
{
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);

    lua_pushinteger(L, caret_m__name_error(name, len));
    return 1;
}

/* f(code[, text]), worded by `word`; nothing if there is no such number */
static int worded(lua_State *L, size_t (*word)(char *, size_t, int, const char *))
{
    char room[CARET_M__MAX_ERRORMSG];
    size_t len = word(room, sizeof room, (int)luaL_checkinteger(L, 1), luaL_optstring(L, 2, NULL));

    if (len == 0)
        return 0;
    lua_pushlstring(L, room, len);
    return 1;
}

/* message(code[, text]) -> "%YDB-E-NAME, text" */
static int m_message(lua_State *L)
{
    return worded(L, caret_m__message);
}

/* status(code[, text]) -> the same with "code,where," in front */
static int m_status(lua_State *L)
{
    return worded(L, caret_m__status);
}

void caret__add_m(lua_State *L)
{
    static const luaL_Reg functions[] = {{"constants", m_constants},
                                         {"name_error", m_name_error},
                                         {"message", m_message},
                                         {"status", m_status},
                                         {NULL, NULL}};
    lua_newtable(L);
    caret__functions(L, functions);
    lua_setfield(L, -2, "m");
}
