/*
 * msgpack.c - the module cmsgpack: MessagePack, as of its specification before the types bin, ext and timestamp.
 *
 *     pack(value...)                             one string of all values
 *     unpack(string)                             all values of it
 *     unpack_one(string[, offset])               where the next value begins, or -1 at the end; the value
 *     unpack_limit(string, limit[, offset])      the same with up to `limit` values
 *
 * Numbers that are integers take the shortest form of those, others are a float if that is exact, else a double.  A
 * table whose keys are 1 to n is an array, any other a map; below 16 tables in each other there is nil, and so there
 * is for what MessagePack does not know.
 *
 * Reading is bounded by the bytes there are, never by the numbers that they announce; values are within each other at
 * most 4,000 deep.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/script/modules.h"
#include "server/script/out.h"

enum { NESTED_OUT = 16, NESTED_IN = 4000 };

/* ---------------------------------------------------------------- packing */

/* A type byte and the n low bytes of v, the highest first. */
static void put(lua_State *L, struct caret_codec__out *out, unsigned type, uint64_t v, int n)
{
    char *room = caret_codec__out_room(L, out, 9);

    room[0] = (char)type;
    for (int i = 1; i <= n; i++)
        room[i] = (char)(v >> (8 * (n - i)));
    out->len += 1 + (size_t)n;
}

/* Integers, by their types for 1, 2, 4 and 8 bytes from `type` on. */
static void put_sized(lua_State *L, struct caret_codec__out *out, unsigned type, uint64_t v, int n_log2)
{
    put(L, out, type + (unsigned)n_log2, v, 1 << n_log2);
}

static void put_integer(lua_State *L, struct caret_codec__out *out, int64_t v)
{
    if (v >= -32 && v <= 127)
        put(L, out, (unsigned)v & 255, 0, 0);
    else if (v >= 0)
        put_sized(L, out, 0xcc, (uint64_t)v,
                  v <= UINT8_MAX    ? 0
                  : v <= UINT16_MAX ? 1
                  : v <= UINT32_MAX ? 2
                                    : 3);
    else
        put_sized(L, out, 0xd0, (uint64_t)v, v >= INT8_MIN ? 0 : v >= INT16_MIN ? 1 : v >= INT32_MIN ? 2 : 3);
}

static void put_number(lua_State *L, struct caret_codec__out *out, double v)
{
    const double limit = 9223372036854775808.0;
    float single = (float)v;
    uint32_t bits;
    uint64_t wide;

    if (v >= -limit && v < limit && v == (double)(int64_t)v) {
        put_integer(L, out, (int64_t)v);
    } else if (v == (double)single) {
        memcpy(&bits, &single, sizeof bits);
        put(L, out, 0xca, bits, 4);
    } else {
        memcpy(&wide, &v, sizeof wide);
        put(L, out, 0xcb, wide, 8);
    }
}

static void put_string(lua_State *L, struct caret_codec__out *out, const char *text, size_t len)
{
    if (len < 32)
        put(L, out, 0xa0 | (unsigned)len, 0, 0);
    else if (len <= UINT8_MAX)
        put(L, out, 0xd9, len, 1);
    else if (len <= UINT16_MAX)
        put(L, out, 0xda, len, 2);
    else
        put(L, out, 0xdb, len, 4);
    caret_codec__out_put(L, out, text, len);
}

/* Are the keys of the table on top 1 to n?  Then *n, else the number of keys. */
static bool is_array(lua_State *L, uint32_t *n)
{
    uint32_t count = 0, largest = 0;
    bool array = true;

    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1), count++) {
        double key = array && lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (key >= 1 && key <= UINT32_MAX && key == (double)(uint32_t)key)
            largest = (uint32_t)key > largest ? (uint32_t)key : largest;
        else
            array = false;
    }
    *n = count;
    return array && largest == count;
}

static void put_count(lua_State *L, struct caret_codec__out *out, unsigned small, unsigned type, uint32_t n)
{
    if (n < 16)
        put(L, out, small | n, 0, 0);
    else if (n <= UINT16_MAX)
        put(L, out, type, n, 2);
    else
        put(L, out, type + 1, n, 4);
}

static void put_top(lua_State *L, struct caret_codec__out *out, int level);

static void put_table(lua_State *L, struct caret_codec__out *out, int level)
{
    uint32_t n;

    luaL_checkstack(L, 4, "in function mp_encode_lua_table");
    if (is_array(L, &n)) {
        put_count(L, out, 0x90, 0xdc, n);
        for (uint32_t i = 1; i <= n; i++) {
            lua_rawgeti(L, -1, (int)i);
            put_top(L, out, level + 1);
        }
        return;
    }
    put_count(L, out, 0x80, 0xde, n);
    for (lua_pushnil(L); lua_next(L, -2) != 0;) {
        lua_pushvalue(L, -2);
        put_top(L, out, level + 1);
        put_top(L, out, level + 1);
    }
}

/* Packs the value on top, and pops it. */
static void put_top(lua_State *L, struct caret_codec__out *out, int level)
{
    const char *text;
    size_t len;

    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &len);
        put_string(L, out, text, len);
        break;
    case LUA_TBOOLEAN: put(L, out, lua_toboolean(L, -1) ? 0xc3 : 0xc2, 0, 0); break;
    case LUA_TNUMBER: put_number(L, out, lua_tonumber(L, -1)); break;
    case LUA_TTABLE:
        if (level < NESTED_OUT) {
            put_table(L, out, level);
            break;
        } /* fall through */
    default: put(L, out, 0xc0, 0, 0);
    }
    lua_pop(L, 1);
}

static int pack(lua_State *L)
{
    struct caret_codec__out *out = caret_codec__out(L);
    int n = lua_gettop(L);

    if (n == 0)
        return luaL_argerror(L, 0, "MessagePack pack needs input.");
    luaL_checkstack(L, 1, "Too many arguments for MessagePack pack.");
    for (int i = 1; i <= n; i++) {
        lua_pushvalue(L, i);
        put_top(L, out, 0);
    }
    caret_codec__out_push(L, out);
    return 1;
}

/* ---------------------------------------------------------------- unpacking */

struct input {
    const uint8_t *at, *end;
    int depth;
};

static void missing(lua_State *L)
{
    luaL_error(L, "Missing bytes in input.");
}

static const uint8_t *take(lua_State *L, struct input *in, uint64_t n)
{
    const uint8_t *at = in->at;

    if (n > (uint64_t)(in->end - at))
        missing(L);
    in->at += n;
    return at;
}

static uint64_t take_integer(lua_State *L, struct input *in, int n)
{
    const uint8_t *at = take(L, in, (uint64_t)n);
    uint64_t v = 0;

    for (int i = 0; i < n; i++)
        v = v << 8 | at[i];
    return v;
}

/* An integer of n bytes with its sign. */
static int64_t take_signed(lua_State *L, struct input *in, int n)
{
    uint64_t v = take_integer(L, in, n), top = (uint64_t)1 << (8 * n - 1);

    return (int64_t)((v ^ top) - top);
}

static double take_float(lua_State *L, struct input *in, int n)
{
    uint64_t wide = take_integer(L, in, n);
    uint32_t bits = (uint32_t)wide;
    float single;
    double v;

    memcpy(&single, &bits, sizeof single);
    memcpy(&v, &wide, sizeof v);
    return n == 4 ? (double)single : v;
}

static void push_value(lua_State *L, struct input *in);

static void push_string(lua_State *L, struct input *in, uint64_t len)
{
    const uint8_t *at = take(L, in, len);

    lua_pushlstring(L, (const char *)at, (size_t)len);
}

static void descend(lua_State *L, struct input *in, const char *where)
{
    if (++in->depth > NESTED_IN)
        luaL_error(L, "stack overflow (%s)", where);
    luaL_checkstack(L, 3, where);
    lua_newtable(L);
}

static void push_array(lua_State *L, struct input *in, uint64_t n)
{
    descend(L, in, "in function mp_decode_to_lua_array");
    for (uint64_t i = 1; i <= n; i++) {
        push_value(L, in);
        lua_rawseti(L, -2, (int)i);
    }
    in->depth--;
}

static void push_map(lua_State *L, struct input *in, uint64_t n)
{
    descend(L, in, "in function mp_decode_to_lua_hash");
    for (uint64_t i = 0; i < n; i++) {
        push_value(L, in);
        push_value(L, in);
        lua_settable(L, -3);
    }
    in->depth--;
}

/* Types from c0 on; false: there is no such type. */
static bool push_typed(lua_State *L, struct input *in, unsigned type)
{
    switch (type) {
    case 0xc0: lua_pushnil(L); break;
    case 0xc2:
    case 0xc3: lua_pushboolean(L, type == 0xc3); break;
    case 0xca:
    case 0xcb: lua_pushnumber(L, take_float(L, in, type == 0xca ? 4 : 8)); break;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: lua_pushnumber(L, (double)(int64_t)take_integer(L, in, 1 << (type - 0xcc))); break;
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: lua_pushnumber(L, (double)take_signed(L, in, 1 << (type - 0xd0))); break;
    case 0xd9:
    case 0xda:
    case 0xdb: push_string(L, in, take_integer(L, in, 1 << (type - 0xd9))); break;
    case 0xdc:
    case 0xdd: push_array(L, in, take_integer(L, in, 2 << (type - 0xdc))); break;
    case 0xde:
    case 0xdf: push_map(L, in, take_integer(L, in, 2 << (type - 0xde))); break;
    default: return false;
    }
    return true;
}

static void push_value(lua_State *L, struct input *in)
{
    unsigned type = *take(L, in, 1);

    if (type < 0x80 || type >= 0xe0)
        lua_pushnumber(L, (int8_t)type);
    else if (type < 0x90)
        push_map(L, in, type & 15);
    else if (type < 0xa0)
        push_array(L, in, type & 15);
    else if (type < 0xc0)
        push_string(L, in, type & 31);
    else if (!push_typed(L, in, type))
        luaL_error(L, "Bad data format in input.");
}

/* limit and offset 0: all values, without the offset before them. */
static int unpack_some(lua_State *L, int limit, int offset)
{
    size_t len;
    const uint8_t *bytes = (const uint8_t *)luaL_checklstring(L, 1, &len);
    struct input in = {bytes, bytes + len, 0};
    bool all = limit == 0 && offset == 0;
    int n = 0;

    if (offset < 0 || limit < 0)
        return luaL_error(L, "Invalid request to unpack with offset of %d and limit of %d.", offset,
                          (int)len);
    if ((size_t)offset > len)
        return luaL_error(L, "Start offset %d greater than input length %d.", offset, (int)len);
    in.at += offset;
    for (; in.at < in.end && (all || n < limit); n++) {
        luaL_checkstack(L, 2, "too many return values at once; use unpack_one or unpack_limit instead.");
        push_value(L, &in);
    }
    if (all)
        return n;
    lua_pushinteger(L, in.at == in.end ? -1 : in.at - bytes);
    lua_insert(L, -n - 1);
    return n + 1;
}

static int unpack(lua_State *L)
{
    return unpack_some(L, 0, 0);
}

static int unpack_one(lua_State *L)
{
    int offset = (int)luaL_optinteger(L, 2, 0);

    return unpack_some(L, 1, offset);
}

static int unpack_limit(lua_State *L)
{
    int limit = (int)luaL_checkinteger(L, 2), offset = (int)luaL_optinteger(L, 3, 0);

    return unpack_some(L, limit, offset);
}

int caret_codec__open_cmsgpack(lua_State *L)
{
    static const luaL_Reg functions[] = {{"pack", pack},
                                         {"unpack", unpack},
                                         {"unpack_one", unpack_one},
                                         {"unpack_limit", unpack_limit},
                                         {NULL, NULL}};

    caret_codec__out_new(L, sizeof(struct caret_codec__out));
    caret_codec__module(L, functions);
    lua_pushliteral(L, "cmsgpack");
    lua_setfield(L, -2, "_NAME");
    lua_pushliteral(L, "lua-cmsgpack 0.4.0");
    lua_setfield(L, -2, "_VERSION");
    lua_pushliteral(L, "MessagePack for Lua");
    lua_setfield(L, -2, "_DESCRIPTION");
    return 1;
}
