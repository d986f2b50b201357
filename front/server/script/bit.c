/*
 * bit.c - the module bit: operations on 32 bits, for Lua without its own.
 *
 * A number is rounded to an integer, and its low 32 bits count; results have a sign.
 */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "server/script/modules.h"
#include "server/script/out.h"

/* 2^52 + 2^51 is added: then the low bits of the double are those of the integer, rounded. */
static uint32_t bits_of(lua_State *L, int arg)
{
    double v = luaL_checknumber(L, arg) + 6755399441055744.0;
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return (uint32_t)bits;
}

static int result(lua_State *L, uint32_t bits)
{
    lua_pushnumber(L, (int32_t)bits);
    return 1;
}

static int tobit(lua_State *L)
{
    return result(L, bits_of(L, 1));
}

static int bnot(lua_State *L)
{
    return result(L, ~bits_of(L, 1));
}

static int band(lua_State *L)
{
    uint32_t bits = bits_of(L, 1);

    for (int i = lua_gettop(L); i > 1; i--)
        bits &= bits_of(L, i);
    return result(L, bits);
}

static int bor(lua_State *L)
{
    uint32_t bits = bits_of(L, 1);

    for (int i = lua_gettop(L); i > 1; i--)
        bits |= bits_of(L, i);
    return result(L, bits);
}

static int bxor(lua_State *L)
{
    uint32_t bits = bits_of(L, 1);

    for (int i = lua_gettop(L); i > 1; i--)
        bits ^= bits_of(L, i);
    return result(L, bits);
}

static int lshift(lua_State *L)
{
    uint32_t bits = bits_of(L, 1);

    return result(L, bits << (bits_of(L, 2) & 31));
}

static int rshift(lua_State *L)
{
    uint32_t bits = bits_of(L, 1);

    return result(L, bits >> (bits_of(L, 2) & 31));
}

static int arshift(lua_State *L)
{
    uint32_t bits = bits_of(L, 1), n = bits_of(L, 2) & 31;

    return result(L, bits >> n | (bits >> 31 ? ~(UINT32_MAX >> n) : 0));
}

static int rol(lua_State *L)
{
    uint32_t bits = bits_of(L, 1), n = bits_of(L, 2) & 31;

    return result(L, bits << n | bits >> ((32 - n) & 31));
}

static int ror(lua_State *L)
{
    uint32_t bits = bits_of(L, 1), n = bits_of(L, 2) & 31;

    return result(L, bits >> n | bits << ((32 - n) & 31));
}

static int bswap(lua_State *L)
{
    return result(L, __builtin_bswap32(bits_of(L, 1)));
}

/* n digits, 8 without; less than 0: upper case. */
int caret_codec__bit_tohex(lua_State *L)
{
    uint32_t bits = bits_of(L, 1);
    int32_t n = lua_isnone(L, 2) ? 8 : (int32_t)bits_of(L, 2);
    const char *digits = n < 0 ? "0123456789ABCDEF" : "0123456789abcdef";
    uint32_t size = n < 0 ? 0 - (uint32_t)n : (uint32_t)n;
    char out[8];

    size = size > 8 ? 8 : size;
    for (uint32_t i = size; i-- > 0; bits >>= 4)
        out[i] = digits[bits & 15];
    lua_pushlstring(L, out, size);
    return 1;
}

int caret_codec__open_bit(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"tobit", tobit}, {"bnot", bnot},     {"band", band},     {"bor", bor},
        {"bxor", bxor},   {"lshift", lshift}, {"rshift", rshift}, {"arshift", arshift},
        {"rol", rol},     {"ror", ror},       {"bswap", bswap},   {"tohex", caret_codec__bit_tohex},
        {NULL, NULL}};

    lua_pushnil(L);
    caret_codec__module(L, functions);
    return 1;
}
