/*
 * cjson.c - the module cjson: JSON with the habits and settings of lua-cjson 2.1.
 *
 *     encode(value), decode(text)                  cjson_encode.c, cjson_decode.c
 *     null                                         what JSON's null becomes: a light userdata
 *     new()                                        another module, with settings of its own
 *     encode_max_depth, decode_max_depth, encode_number_precision, encode_sparse_array, encode_keep_buffer,
 *     encode_invalid_numbers, decode_invalid_numbers
 *
 * Each of the last ones changes a setting, if it is given one, and returns what it is then.
 */
#include "server/script/cjson.h"

#include <limits.h>
#include <stdio.h>

#include "server/script/modules.h"

/* Pads the arguments with nil: luaL_checkoption() and the like are asked about each. */
static struct caret_codec__json *settings(lua_State *L, int n)
{
    luaL_argcheck(L, lua_gettop(L) <= n, n + 1, "found too many arguments");
    lua_settop(L, n);
    return caret_codec__json(L);
}

static void set_integer(lua_State *L, int arg, int *setting, int min, int max)
{
    char text[64];
    lua_Integer v;

    if (lua_isnil(L, arg))
        return;
    v = luaL_checkinteger(L, arg);
    snprintf(text, sizeof text, "expected integer between %d and %d", min, max);
    luaL_argcheck(L, v >= min && v <= max, arg, text);
    *setting = (int)v;
}

/* true, false or one of the names. */
static void set_choice(lua_State *L, int arg, int *setting, const char *const *names)
{
    if (lua_isboolean(L, arg))
        *setting = lua_toboolean(L, arg);
    else if (!lua_isnil(L, arg))
        *setting = luaL_checkoption(L, arg, NULL, names);
}

static int push_choice(lua_State *L, int setting, const char *const *names)
{
    if (setting <= 1)
        lua_pushboolean(L, setting);
    else
        lua_pushstring(L, names[setting]);
    return 1;
}

static int encode_max_depth(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 1);

    set_integer(L, 1, &json->encode_depth, 1, INT_MAX);
    lua_pushinteger(L, json->encode_depth);
    return 1;
}

static int decode_max_depth(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 1);

    set_integer(L, 1, &json->decode_depth, 1, INT_MAX);
    lua_pushinteger(L, json->decode_depth);
    return 1;
}

static int encode_number_precision(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 1);

    set_integer(L, 1, &json->precision, 1, 14);
    lua_pushinteger(L, json->precision);
    return 1;
}

static const char *const switches[] = {"off", "on", NULL};
static const char *const switches_or_null[] = {"off", "on", "null", NULL};

static int encode_sparse_array(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 3);

    set_choice(L, 1, &json->sparse_convert, switches);
    set_integer(L, 2, &json->sparse_ratio, 0, INT_MAX);
    set_integer(L, 3, &json->sparse_safe, 0, INT_MAX);
    lua_pushboolean(L, json->sparse_convert);
    lua_pushinteger(L, json->sparse_ratio);
    lua_pushinteger(L, json->sparse_safe);
    return 3;
}

static int encode_keep_buffer(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 1);

    set_choice(L, 1, &json->keep, switches);
    return push_choice(L, json->keep, switches);
}

static int encode_invalid_numbers(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 1);

    set_choice(L, 1, &json->encode_invalid, switches_or_null);
    return push_choice(L, json->encode_invalid, switches_or_null);
}

static int decode_invalid_numbers(lua_State *L)
{
    struct caret_codec__json *json = settings(L, 1);

    set_choice(L, 1, &json->decode_invalid, switches);
    return push_choice(L, json->decode_invalid, switches);
}

static int new_module(lua_State *L)
{
    return caret_codec__open_cjson(L);
}

int caret_codec__open_cjson(lua_State *L)
{
    static const luaL_Reg functions[] = {{"encode", caret_codec__json_encode},
                                         {"decode", caret_codec__json_decode},
                                         {"encode_max_depth", encode_max_depth},
                                         {"decode_max_depth", decode_max_depth},
                                         {"encode_number_precision", encode_number_precision},
                                         {"encode_sparse_array", encode_sparse_array},
                                         {"encode_keep_buffer", encode_keep_buffer},
                                         {"encode_invalid_numbers", encode_invalid_numbers},
                                         {"decode_invalid_numbers", decode_invalid_numbers},
                                         {"new", new_module},
                                         {NULL, NULL}};
    struct caret_codec__json *json = caret_codec__out_new(L, sizeof *json);

    json->encode_depth = json->decode_depth = 1000;
    json->precision = 14;
    json->sparse_ratio = 2;
    json->sparse_safe = 10;
    json->keep = 1;
    json->decode_invalid = CARET_CODEC__JSON_ACCEPT;
    caret_codec__module(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_pushliteral(L, "cjson");
    lua_setfield(L, -2, "_NAME");
    lua_pushliteral(L, "2.1.0");
    lua_setfield(L, -2, "_VERSION");
    return 1;
}
