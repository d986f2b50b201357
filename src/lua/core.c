/*
 * core.c - the entry point of the binding and conversions between Lua and C.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

int luaopen_caret_core(lua_State *L);

int caret__fail_values(lua_State *L, int rc)
{
    lua_pushnil(L);
    lua_pushstring(L, caret_message());
    lua_pushstring(L, caret_strerror(rc));
    return 3;
}

/* Is it the caller's mistake? */
static int is_misuse(int rc)
{
    return rc <= CARET_E_INVALID && rc >= CARET_E_SYNTAX && rc != CARET_E_TXN_TOO_BIG &&
           rc != CARET_E_NUMOFLOW;
}

int caret__raise(lua_State *L, int rc)
{
    if (rc == CARET_RESTART) {
        lua_getfield(L, LUA_REGISTRYINDEX, "caret.restart");
        return lua_error(L);
    }
    if (is_misuse(rc) && rc != CARET_E_CLOSED)
        return luaL_error(L, "%s", caret_message());
    lua_createtable(L, 0, 3);
    lua_pushstring(L, caret_strerror(rc));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, caret_message());
    lua_setfield(L, -2, "message");
    lua_pushinteger(L, rc);
    lua_setfield(L, -2, "code");
    luaL_getmetatable(L, "caret.error");
    lua_setmetatable(L, -2);
    return lua_error(L);
}

static int error_tostring(lua_State *L)
{
    lua_getfield(L, 1, "message");
    return 1;
}

static int is_integer(lua_State *L, int i, int64_t *out)
{
#if LUA_VERSION_NUM >= 503
    int ok;
    *out = (int64_t)lua_tointegerx(L, i, &ok);
    return ok;
#else
    lua_Number d = lua_tonumber(L, i);
    if (d != floor(d) || d < -9007199254740992.0 || d > 9007199254740992.0)
        return 0;
    *out = (int64_t)d;
    return 1;
#endif
}

void caret__put_sub(lua_State *L, caret_node_buf *tmp, const caret_node *parent, int i)
{
    int rc, type = lua_type(L, i);
    int64_t v;
    size_t len;

    if (type == LUA_TNUMBER) {
        rc = is_integer(L, i, &v)
                 ? caret_node_child_int(&tmp->node, sizeof *tmp, parent, v)
                 : caret_node_child_double(&tmp->node, sizeof *tmp, parent, lua_tonumber(L, i));
    } else if (type == LUA_TSTRING) {
        const char *s = lua_tolstring(L, i, &len);
        rc = caret_node_child(&tmp->node, sizeof *tmp, parent, s, len);
    } else {
        luaL_error(L, "a subscript must be a string or a number, not a %s", luaL_typename(L, i));
        return;
    }
    if (rc != CARET_OK)
        caret__raise(L, rc);
}

const char *caret__value_text(lua_State *L, int i, size_t *len, char buf[64])
{
    int64_t v;

    if (lua_type(L, i) == LUA_TSTRING)
        return lua_tolstring(L, i, len);
    if (lua_type(L, i) != LUA_TNUMBER) {
        luaL_error(L, "a value must be a string or a number, not a %s", luaL_typename(L, i));
        return NULL;
    }
    if (is_integer(L, i, &v)) {
        *len = (size_t)snprintf(buf, 64, "%" PRId64, v);
        return buf;
    }
    caret_node_buf n; /* a float as canonical text is what it is as a subscript */
    int rc = caret_node_var(&n.node, sizeof n, "x", 1);
    if (rc == CARET_OK)
        rc = caret_node_child_double(&n.node, sizeof n, &n.node, lua_tonumber(L, i));
    if (rc == CARET_OK)
        rc = caret_node_subscript(&n.node, 0, buf, 64, len, NULL);
    if (rc != CARET_OK)
        caret__raise(L, rc);
    return buf;
}

int caret__push_number(lua_State *L, const char *s, size_t len)
{
    char buf[64];
    int64_t v = 0;
    size_t i = len > 0 && s[0] == '-';

    if (len == 0 || len >= sizeof buf)
        return 0;
    if (len - i <= 18) { /* plain digits? */
        size_t k = i;
        for (; k < len && s[k] >= '0' && s[k] <= '9'; k++)
            v = v * 10 + (s[k] - '0');
        if (k == len && len > i) {
            lua_pushinteger(L, (lua_Integer)(i ? -v : v));
            return 1;
        }
    }
    lua_pushlstring(L, s, len);
#if LUA_VERSION_NUM >= 503
    memcpy(buf, s, len);
    buf[len] = 0;
    lua_pop(L, 1);
    return lua_stringtonumber(L, buf) != 0;
#else
    if (!lua_isnumber(L, -1)) {
        lua_pop(L, 1);
        return 0;
    }
    lua_Number d = lua_tonumber(L, -1);
    lua_pop(L, 1);
    lua_pushnumber(L, d);
    return 1;
#endif
}

void caret__push_last(lua_State *L, const caret_node *n)
{
    char small[256];
    int64_t v;
    size_t len;
    unsigned depth = caret_node_depth(n);

    if (depth == 0) {
        char name[CARET_MAX_NAME + 2];
        caret_slice s = caret_node_name(n, name);
        lua_pushlstring(L, s.data, s.len);
        return;
    }
    if (caret_node_last_as_int(n, &v)
#if LUA_VERSION_NUM < 503
        && v >= -INT64_C(9007199254740992) && v <= INT64_C(9007199254740992)
#endif
    ) {
        lua_pushinteger(L, (lua_Integer)v);
        return;
    }
    if (caret_node_subscript(n, depth - 1, small, sizeof small, &len, NULL) == CARET_OK) {
        lua_pushlstring(L, small, len);
        return;
    }
    char *big = lua_newuserdata(L, len);
    caret_node_subscript(n, depth - 1, big, len, &len, NULL);
    lua_pushlstring(L, big, len);
    lua_remove(L, -2);
}

int luaopen_caret_core(lua_State *L)
{
    luaL_newmetatable(L, "caret.error");
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
    lua_newtable(L); /* the error that a conflict raises: only the transaction loop catches it */
    lua_pushliteral(L, "RESTART: the transaction must be run again; let this error pass");
    lua_setfield(L, -2, "message");
    luaL_getmetatable(L, "caret.error");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, "caret.restart");

    lua_newtable(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "caret.restart");
    lua_setfield(L, -2, "RESTART");
    lua_pushliteral(L, CARET_VERSION);
    lua_setfield(L, -2, "_VERSION");
    caret__open_db(L);
    caret__open_iter(L);
    caret__open_node(L);
    return 1;
}
