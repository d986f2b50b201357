/*
 * cjson_encode.c - Lua values as JSON.
 *
 * A table whose keys are integers from 1 on is an array, with null where one is missing, unless it is sparse; an
 * empty one is an object.  Strings are written as they are, but for quotes, backslashes, slashes and control
 * characters.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "server/script/cjson.h"

struct encoder {
    lua_State *L;
    struct caret_codec__json *json;
    struct caret_codec__out *out;
};

static void put(struct encoder *e, const char *text, size_t len)
{
    caret_codec__out_put(e->L, e->out, text, len);
}

static void byte(struct encoder *e, char c)
{
    caret_codec__out_byte(e->L, e->out, (unsigned char)c);
}

/* The short form of an escaped byte, 'u' for the long one, 0 for none. */
static char escape_of(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/': return (char)c;
    case '\b': return 'b';
    case '\t': return 't';
    case '\n': return 'n';
    case '\f': return 'f';
    case '\r': return 'r';
    default: return c < 32 || c == 127 ? 'u' : 0;
    }
}

static void put_string(struct encoder *e, int index)
{
    size_t len, n = 0;
    const char *text = lua_tolstring(e->L, index, &len);
    char *room = caret_codec__out_room(e->L, e->out, 6 * len + 2);

    room[n++] = '"';
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape = escape_of(c);
        if (escape != 0)
            room[n++] = '\\';
        room[n++] = escape != 0 ? escape : (char)c;
        if (escape == 'u') {
            room[n++] = '0';
            room[n++] = '0';
            room[n++] = "0123456789abcdef"[c >> 4];
            room[n++] = "0123456789abcdef"[c & 15];
        }
    }
    room[n++] = '"';
    e->out->len += n;
}

static void refuse(struct encoder *e, int index, const char *reason)
{
    luaL_error(e->L, "Cannot serialise %s: %s", lua_typename(e->L, lua_type(e->L, index)), reason);
}

static void put_number(struct encoder *e, int index)
{
    double v = lua_tonumber(e->L, index);
    char *room;

    if (isnan(v) || isinf(v)) {
        if (e->json->encode_invalid == CARET_CODEC__JSON_REFUSE)
            refuse(e, index, "must not be NaN or Inf");
        const char *text = e->json->encode_invalid == CARET_CODEC__JSON_NULL ? "null"
                           : isnan(v)                                        ? "nan"
                           : v < 0                                           ? "-inf"
                                                                             : "inf";
        put(e, text, strlen(text));
        return;
    }
    room = caret_codec__out_room(e->L, e->out, 40);
    e->out->len += (size_t)snprintf(room, 40, "%.*g", e->json->precision, v);
}

/* The largest index of the array on top; -1: it is not one. */
static int array_length(struct encoder *e)
{
    double max = 0, items = 0;

    for (lua_pushnil(e->L); lua_next(e->L, -2) != 0; lua_pop(e->L, 1), items++) {
        double key = lua_type(e->L, -2) == LUA_TNUMBER ? lua_tonumber(e->L, -2) : 0;
        if (!(key >= 1 && key == floor(key) && key <= INT32_MAX)) {
            lua_pop(e->L, 2);
            return -1;
        }
        max = key > max ? key : max;
    }
    if (e->json->sparse_ratio > 0 && max > items * e->json->sparse_ratio && max > e->json->sparse_safe) {
        if (!e->json->sparse_convert)
            refuse(e, -1, "excessively sparse array");
        return -1;
    }
    return (int)max;
}

static void put_top(struct encoder *e, int depth);

static void put_array(struct encoder *e, int n, int depth)
{
    byte(e, '[');
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            byte(e, ',');
        lua_rawgeti(e->L, -1, i);
        put_top(e, depth);
        lua_pop(e->L, 1);
    }
    byte(e, ']');
}

static void put_key(struct encoder *e)
{
    if (lua_type(e->L, -2) == LUA_TSTRING) {
        put_string(e, -2);
    } else if (lua_type(e->L, -2) == LUA_TNUMBER) {
        byte(e, '"');
        put_number(e, -2);
        byte(e, '"');
    } else {
        refuse(e, -2, "table key must be a number or string");
    }
}

static void put_object(struct encoder *e, int depth)
{
    bool first = true;

    byte(e, '{');
    for (lua_pushnil(e->L); lua_next(e->L, -2) != 0; lua_pop(e->L, 1)) {
        if (!first)
            byte(e, ',');
        first = false;
        put_key(e);
        byte(e, ':');
        put_top(e, depth);
    }
    byte(e, '}');
}

static void put_table(struct encoder *e, int depth)
{
    int n;

    if (depth > e->json->encode_depth || depth > CARET_CODEC__JSON_DEPTH || !lua_checkstack(e->L, 3))
        luaL_error(e->L, "Cannot serialise, excessive nesting (%d)", depth);
    n = array_length(e);
    if (n > 0)
        put_array(e, n, depth);
    else
        put_object(e, depth);
}

/* Writes the value on top, which stays. */
static void put_top(struct encoder *e, int depth)
{
    switch (lua_type(e->L, -1)) {
    case LUA_TSTRING: put_string(e, -1); break;
    case LUA_TNUMBER: put_number(e, -1); break;
    case LUA_TTABLE: put_table(e, depth + 1); break;
    case LUA_TNIL: put(e, "null", 4); break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(e->L, -1))
            put(e, "true", 4);
        else
            put(e, "false", 5);
        break;
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(e->L, -1) == NULL) {
            put(e, "null", 4);
            break;
        } /* fall through */
    default: refuse(e, -1, "type not supported");
    }
}

int caret_codec__json_encode(lua_State *L)
{
    struct encoder e = {L, caret_codec__json(L), caret_codec__out(L)};

    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    put_top(&e, 0);
    caret_codec__out_push(L, e.out);
    return 1;
}
