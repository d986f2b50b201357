/*
 * codec_module.c - front/server/codec and front/server/script as one Lua module, for codec_compare.lua.
 *
 * It is not a test itself.  Functions take and return what the commands of Redis do.
 */
#include <stdlib.h>
#include <string.h>

#include "server/codec/bits.h"
#include "server/codec/digest.h"
#include "server/codec/geohash.h"
#include "server/codec/glob.h"
#include "server/codec/hll.h"
#include "server/codec/lcs.h"
#include "server/codec/number.h"
#include "server/script/modules.h"
#include "server/script/out.h"

__attribute__((visibility("default"))) int luaopen_codec(lua_State *L);

static int glob(lua_State *L)
{
    size_t pattern_len, len;
    const char *pattern = luaL_checklstring(L, 1, &pattern_len), *text = luaL_checklstring(L, 2, &len);

    lua_pushboolean(L, caret_codec__glob(pattern, pattern_len, text, len, lua_toboolean(L, 3)));
    return 1;
}

/* integer(text), score(text), sum(text): as they are printed, or nil. */
static int integer(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    char out[CARET_CODEC__I64_ROOM];
    int64_t v;

    if (!caret_codec__parse_i64(text, len, &v))
        return 0;
    lua_pushlstring(L, out, caret_codec__print_i64(v, out));
    return 1;
}

static int id(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    char out[CARET_CODEC__I64_ROOM];
    uint64_t v;

    if (!caret_codec__parse_u64(text, len, &v))
        return 0;
    lua_pushlstring(L, out, caret_codec__print_u64(v, out));
    return 1;
}

static int score(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    char out[CARET_CODEC__DOUBLE_ROOM];
    double v;

    if (!caret_codec__parse_double(text, len, &v))
        return 0;
    lua_pushlstring(L, out, caret_codec__print_double(v, out));
    return 1;
}

static int sum(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    char out[CARET_CODEC__HUMAN_ROOM];
    long double v;

    if (!caret_codec__parse_long_double(text, len, &v))
        return 0;
    lua_pushlstring(L, out, caret_codec__print_human(v, out));
    return 1;
}

/* pfadd(value or nil, sparse_max, element...): the new value; nil: damaged */
static int pfadd(lua_State *L)
{
    static uint8_t bytes[CARET_CODEC__HLL_ROOM];
    size_t len;
    const char *text = lua_tolstring(L, 1, &len);
    struct caret_codec__hll hll = {bytes, len, (size_t)luaL_checkinteger(L, 2)};

    if (text == NULL) {
        caret_codec__hll_create(&hll);
        caret_codec__hll_touch(&hll);
    } else if (caret_codec__hll_is((const uint8_t *)text, len)) {
        memcpy(bytes, text, len);
    } else {
        return luaL_error(L, "not a HyperLogLog");
    }
    for (int i = 3; i <= lua_gettop(L); i++) {
        const char *element = luaL_checklstring(L, i, &len);
        if (caret_codec__hll_add(&hll, element, len) < 0)
            return 0;
    }
    lua_pushlstring(L, (const char *)bytes, hll.len);
    return 1;
}

/* pfcount(value...) and, for one, the value afterwards; nil: damaged */
static int pfcount(lua_State *L)
{
    static uint8_t registers[CARET_CODEC__HLL_REGISTERS], bytes[CARET_CODEC__HLL_ROOM];
    int n = lua_gettop(L);
    size_t len;

    memset(registers, 0, sizeof registers);
    for (int i = 1; i <= n; i++) {
        const char *value = luaL_checklstring(L, i, &len);
        if (n == 1) {
            struct caret_codec__hll hll = {bytes, len, 3000};
            uint64_t count;
            bool changed;
            memcpy(bytes, value, len);
            if (!caret_codec__hll_count(&hll, &count, &changed))
                return 0;
            lua_pushnumber(L, (lua_Number)count);
            lua_pushlstring(L, (const char *)bytes, hll.len);
            return 2;
        }
        if (!caret_codec__hll_merge(registers, (const uint8_t *)value, len))
            return 0;
    }
    lua_pushnumber(L, (lua_Number)caret_codec__hll_estimate(registers));
    return 1;
}

/* pfmerge(value, other...): the new value */
static int pfmerge(lua_State *L)
{
    static uint8_t registers[CARET_CODEC__HLL_REGISTERS], bytes[CARET_CODEC__HLL_ROOM];
    struct caret_codec__hll hll = {bytes, 0, 3000};
    const char *value = luaL_checklstring(L, 1, &hll.len);
    bool dense = false;

    memcpy(bytes, value, hll.len);
    memset(registers, 0, sizeof registers);
    for (int i = 1; i <= lua_gettop(L); i++) {
        size_t len;
        const uint8_t *other = (const uint8_t *)luaL_checklstring(L, i, &len);
        dense |= caret_codec__hll_is_dense(other);
        if (!caret_codec__hll_merge(registers, other, len))
            return 0;
    }
    if ((dense && !caret_codec__hll_to_dense(&hll)) || !caret_codec__hll_raise(&hll, registers))
        return 0;
    lua_pushlstring(L, (const char *)bytes, hll.len);
    return 1;
}

static struct caret_codec__point point_at(lua_State *L, int arg)
{
    return (struct caret_codec__point){luaL_checknumber(L, arg), luaL_checknumber(L, arg + 1)};
}

/* geo(lon, lat): score as text, geohash, lon and lat as GEOPOS has them; or nil */
static int geo(lua_State *L)
{
    char out[CARET_CODEC__HUMAN_ROOM];
    struct caret_codec__point point;
    uint64_t v;

    if (!caret_codec__geo_encode(point_at(L, 1), &v))
        return 0;
    v = (uint64_t)(double)v; /* as a score */
    lua_pushlstring(L, out, caret_codec__print_double((double)v, out));
    caret_codec__geo_text(v, out);
    lua_pushlstring(L, out, CARET_CODEC__GEO_TEXT);
    point = caret_codec__geo_decode(v);
    lua_pushlstring(L, out, caret_codec__print_human(point.lon, out));
    lua_pushlstring(L, out, caret_codec__print_human(point.lat, out));
    lua_pushnumber(L, point.lon);
    lua_pushnumber(L, point.lat);
    return 6;
}

static int distance(lua_State *L)
{
    lua_pushnumber(L, caret_codec__geo_distance(point_at(L, 1), point_at(L, 3)));
    return 1;
}

/* ranges(lon, lat, box, radius, width, height): {min, max}... */
static int ranges(lua_State *L)
{
    struct caret_codec__geo_range found[CARET_CODEC__GEO_RANGES];
    struct caret_codec__geo_shape shape = {point_at(L, 1), lua_toboolean(L, 3), luaL_checknumber(L, 4),
                                           luaL_checknumber(L, 5), luaL_checknumber(L, 6)};
    int n = caret_codec__geo_ranges(&shape, found);

    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        lua_pushnumber(L, (lua_Number)found[i].min);
        lua_rawseti(L, -2, 2 * i + 1);
        lua_pushnumber(L, (lua_Number)found[i].max);
        lua_rawseti(L, -2, 2 * i + 2);
    }
    return 1;
}

/* within(lon, lat, box, radius, width, height, lon, lat): distance or nil */
static int within(lua_State *L)
{
    struct caret_codec__geo_shape shape = {point_at(L, 1), lua_toboolean(L, 3), luaL_checknumber(L, 4),
                                           luaL_checknumber(L, 5), luaL_checknumber(L, 6)};
    double metres;

    if (!caret_codec__geo_within(&shape, point_at(L, 7), &metres))
        return 0;
    lua_pushnumber(L, metres);
    return 1;
}

/* lcs(a, b): length, pieces as {a_at, a_end, b_at, b_end}... from 0 */
static int lcs(lua_State *L)
{
    struct caret_codec__lcs lcs;
    struct caret_codec__piece piece;
    int n = 0;

    lcs.a = (const uint8_t *)luaL_checklstring(L, 1, &lcs.a_len);
    lcs.b = (const uint8_t *)luaL_checklstring(L, 2, &lcs.b_len);
    lcs.room = malloc(caret_codec__lcs_room(lcs.a_len, lcs.b_len, true));
    caret_codec__lcs_run(&lcs, true);
    lua_pushinteger(L, (lua_Integer)lcs.length);
    lua_newtable(L);
    while (caret_codec__lcs_next(&lcs, &piece)) {
        const size_t values[] = {piece.a_at, piece.a_at + piece.len - 1, piece.b_at,
                                 piece.b_at + piece.len - 1};
        for (int i = 0; i < 4; i++) {
            lua_pushinteger(L, (lua_Integer)values[i]);
            lua_rawseti(L, -2, ++n);
        }
    }
    free(lcs.room);
    return 2;
}

/* bitfield(type, value as text, increment as text, mode): the sum as text, or nil */
static int field(lua_State *L)
{
    static const char *const modes[] = {"WRAP", "SAT", "FAIL", NULL};
    struct caret_codec__field type;
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    char out[CARET_CODEC__I64_ROOM];
    int64_t value, increment;

    if (!caret_codec__field_parse(text, len, &type))
        return luaL_error(L, "type %s", text);
    value = strtoll(luaL_checkstring(L, 2), NULL, 10);
    increment = strtoll(luaL_checkstring(L, 3), NULL, 10);
    if (!caret_codec__field_add(type, value, increment, luaL_checkoption(L, 4, NULL, modes), &value))
        return 0;
    lua_pushlstring(L, out, caret_codec__print_i64(value, out));
    return 1;
}

static int sha1hex(lua_State *L)
{
    uint8_t digest[CARET_CODEC__SHA1_LEN];
    char out[2 * CARET_CODEC__SHA1_LEN];
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);

    caret_codec__sha1_of(text, len, digest);
    caret_codec__hex(digest, sizeof digest, out);
    lua_pushlstring(L, out, sizeof out);
    return 1;
}

static int crc64(lua_State *L)
{
    uint8_t out[8];
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    uint64_t crc = caret_codec__crc64(0, text, len);

    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(crc >> (8 * i));
    lua_pushlstring(L, (const char *)out, sizeof out);
    return 1;
}

int luaopen_codec(lua_State *L)
{
    static const luaL_Reg functions[] = {{"glob", glob},         {"integer", integer}, {"id", id},
                                         {"score", score},       {"sum", sum},         {"pfadd", pfadd},
                                         {"pfcount", pfcount},   {"pfmerge", pfmerge}, {"geo", geo},
                                         {"distance", distance}, {"ranges", ranges},   {"within", within},
                                         {"lcs", lcs},           {"field", field},     {"sha1hex", sha1hex},
                                         {"crc64", crc64},       {NULL, NULL}};

    lua_pushnil(L);
    caret_codec__module(L, functions);
    lua_pushcfunction(L, caret_codec__open_cjson);
    lua_call(L, 0, 1);
    lua_setfield(L, -2, "cjson");
    lua_pushcfunction(L, caret_codec__open_cmsgpack);
    lua_call(L, 0, 1);
    lua_setfield(L, -2, "cmsgpack");
    lua_pushcfunction(L, caret_codec__open_struct);
    lua_call(L, 0, 1);
    lua_setfield(L, -2, "struct");
    lua_pushcfunction(L, caret_codec__open_bit);
    lua_call(L, 0, 1);
    lua_setfield(L, -2, "bit");
    return 1;
}
