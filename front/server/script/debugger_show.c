/*
 * debugger_show.c - values of Lua, and answers of commands, as text: debugger.h.
 */
#include <string.h>

#include "server/script/debugger.h"

enum { DEPTH = 10 }; /* of Redis: half of what the stack of Lua has room for at least */

static void add(struct serve__buffer *to, const char *text)
{
    serve__buffer_add(to, text, strlen(text));
}

static void strip(struct serve__buffer *to, size_t begin, size_t n)
{
    if (to->len > begin)
        to->len -= n;
}

void serve__debugger_show_string(struct serve__buffer *to, const char *text, size_t len)
{
    static const char from[] = "\\\"\n\r\t\a\b", letter[] = "\\\"nrtab";
    add(to, "\"");
    for (size_t i = 0; i < len; i++) {
        const char *at = text[i] != 0 ? strchr(from, text[i]) : NULL;
        if (at != NULL)
            serve__buffer_print(to, "\\%c", letter[at - from]);
        else if (text[i] >= ' ' && text[i] <= '~')
            serve__buffer_add(to, text + i, 1);
        else
            serve__buffer_print(to, "\\x%02x", (unsigned char)text[i]);
    }
    add(to, "\"");
}

/* ---------------------------------------------------------- values of Lua */

/* Are the keys 1, 2, 3 ..., in the order in which they come? */
static bool is_list(lua_State *L, int table)
{
    lua_Number n = 0;
    bool list = true;
    for (lua_pushnil(L); list && lua_next(L, table); lua_pop(L, 1))
        list = lua_type(L, -2) == LUA_TNUMBER && lua_tonumber(L, -2) == ++n;
    if (!list)
        lua_pop(L, 1);
    return list;
}

/* A table of the sandbox is empty, and its metatable has the true one, which is pushed. */
static int true_table(lua_State *L, int table)
{
    lua_pushnil(L);
    if (lua_next(L, table)) {
        lua_pop(L, 2);
        return table;
    }
    if (luaL_getmetafield(L, table, "__index") && lua_istable(L, -1))
        table = lua_gettop(L);
    return table;
}

static void show_table(struct serve__buffer *to, lua_State *L, int table, int depth)
{
    int top = lua_gettop(L);
    if (!lua_checkstack(L, 8)) {
        add(to, "{...}");
        return;
    }
    table = true_table(L, table);
    bool list = is_list(L, table);
    add(to, "{");
    size_t begin = to->len;
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (!list) {
            add(to, "[");
            serve__debugger_show(to, L, lua_gettop(L) - 1, depth);
            add(to, "]=");
        }
        serve__debugger_show(to, L, lua_gettop(L), depth);
        add(to, "; ");
    }
    strip(to, begin, 2);
    add(to, "}");
    lua_settop(L, top);
}

static void show_other(struct serve__buffer *to, lua_State *L, int index, int type)
{
    const char *name = type == LUA_TFUNCTION        ? "function"
                       : type == LUA_TUSERDATA      ? "userdata"
                       : type == LUA_TTHREAD        ? "thread"
                       : type == LUA_TLIGHTUSERDATA ? "light-userdata"
                                                    : "unknown";
    serve__buffer_print(to, "\"%s@%p\"", name, lua_topointer(L, index));
}

void serve__debugger_show(struct serve__buffer *to, lua_State *L, int index, int depth)
{
    size_t len;
    int type = lua_type(L, index);
    if (depth == DEPTH) {
        add(to, "<max recursion level reached! Nested table?>");
        return;
    }
    switch (type) {
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, index, &len);
        serve__debugger_show_string(to, text, len);
        break;
    }
    case LUA_TBOOLEAN: add(to, lua_toboolean(L, index) ? "true" : "false"); break;
    case LUA_TNUMBER: serve__buffer_print(to, "%g", lua_tonumber(L, index)); break;
    case LUA_TNIL: add(to, "nil"); break;
    case LUA_TTABLE: show_table(to, L, index, depth + 1); break;
    default: show_other(to, L, index, type);
    }
}

/* ---------------------------------------------------- answers of commands */

/* {name = value}, on top of the stack: push the value.  false: it has none of that name. */
static bool wrapped(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    if (!lua_isnil(L, -1))
        return true;
    lua_pop(L, 1);
    return false;
}

/* The map or set of RESP3 on top of the stack. */
static void show_named(struct serve__buffer *to, lua_State *L, bool map, int depth)
{
    add(to, map ? "{" : "~(");
    size_t begin = to->len;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        serve__debugger_show_answer(to, L, true, depth);
        lua_pop(L, 1);
        if (map) {
            add(to, " => ");
            serve__debugger_show_answer(to, L, true, depth);
        }
        add(to, ",");
    }
    strip(to, begin, 1);
    add(to, map ? "}" : ")");
}

static void show_list(struct serve__buffer *to, lua_State *L, bool resp3, int depth)
{
    add(to, "[");
    size_t begin = to->len;
    for (int i = 1, n = (int)lua_objlen(L, -1); i <= n; i++) {
        lua_rawgeti(L, -1, i);
        serve__debugger_show_answer(to, L, resp3, depth);
        lua_pop(L, 1);
        add(to, ",");
    }
    strip(to, begin, 1);
    add(to, "]");
}

/* A status or an error, with its first letter. */
static void show_words(struct serve__buffer *to, lua_State *L, char letter)
{
    lua_pushfstring(L, "%c%s", letter, lua_tostring(L, -1));
    serve__debugger_show_string(to, lua_tostring(L, -1), lua_objlen(L, -1));
    lua_pop(L, 1);
}

static void show_answer_table(struct serve__buffer *to, lua_State *L, bool resp3, int depth)
{
    int top = lua_gettop(L);
    if (wrapped(L, "err"))
        show_words(to, L, '-');
    else if (wrapped(L, "ok"))
        show_words(to, L, '+');
    else if (wrapped(L, "double"))
        serve__buffer_print(to, "(double) %.17g", lua_tonumber(L, -1));
    else if (wrapped(L, "map"))
        show_named(to, L, true, depth);
    else if (wrapped(L, "set"))
        show_named(to, L, false, depth);
    else
        show_list(to, L, resp3, depth);
    lua_settop(L, top);
}

void serve__debugger_show_answer(struct serve__buffer *to, lua_State *L, bool resp3, int depth)
{
    if (depth == SERVE__SCRIPT_DEPTH || !lua_checkstack(L, 8)) {
        add(to, "...");
        return;
    }
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: serve__debugger_show_string(to, lua_tostring(L, -1), lua_objlen(L, -1)); break;
    case LUA_TNUMBER: serve__buffer_print(to, "%.17g", lua_tonumber(L, -1)); break;
    case LUA_TBOOLEAN: add(to, !resp3 ? "NULL" : lua_toboolean(L, -1) ? "#true" : "#false"); break;
    case LUA_TTABLE: show_answer_table(to, L, resp3, depth + 1); break;
    default: add(to, "(null)");
    }
}
