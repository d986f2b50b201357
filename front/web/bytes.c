/*
 * bytes.c - bytes as text, names for bytes, random bytes.
 *
 * A tag names a value, so that a browser can send back which one it showed: its length and two hashes of 64 bits.
 * Two values of the same tag come by chance once in 2^60 edits.  A person who looks for two finds them, but may
 * change the value anyway.
 */
#include "web/bytes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <lauxlib.h>

int caret__http_random(lua_State *L)
{
    unsigned char bytes[64];
    char hex[2 * sizeof bytes + 1];
    lua_Integer n = luaL_checkinteger(L, 1);

    luaL_argcheck(L, n > 0 && (size_t)n <= sizeof bytes, 1, "1 to 64 bytes");
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return luaL_error(L, "SYSTEM: no random bytes");
    for (lua_Integer i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    lua_pushlstring(L, hex, 2 * (size_t)n);
    return 1;
}

int caret__http_same(lua_State *L)
{
    size_t n, m;
    const char *a = luaL_checklstring(L, 1, &n), *b = luaL_checklstring(L, 2, &m);
    unsigned char differ = n != m;

    for (size_t i = 0; i < n && i < m; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    lua_pushboolean(L, !differ);
    return 1;
}

/* FNV-1a, and a second one in which each byte is turned to other places: their collisions are different ones. */
int caret__http_tag(lua_State *L)
{
    size_t n;
    const unsigned char *p = (const unsigned char *)luaL_checklstring(L, 1, &n);
    uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;
    char text[64];

    for (size_t i = 0; i < n; i++) {
        a = (a ^ p[i]) * 0x100000001b3u;
        b = (b ^ (uint64_t)p[i] << 32) * 0xff51afd7ed558ccdu;
        b ^= b >> 29;
    }
    snprintf(text, sizeof text, "%zx-%016llx%016llx", n, (unsigned long long)a, (unsigned long long)b);
    lua_pushstring(L, text);
    return 1;
}

/* ------------------------------------------------------------------- base64 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int caret__http_base64(lua_State *L)
{
    size_t n;
    const unsigned char *p = (const unsigned char *)luaL_checklstring(L, 1, &n);
    luaL_Buffer b;
    char *out = luaL_buffinitsize(L, &b, (n + 2) / 3 * 4 + 1), *o = out;

    for (size_t i = 0; i < n; i += 3) {
        unsigned three = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                         (i + 2 < n ? (unsigned)p[i + 2] : 0);
        *o++ = digits[three >> 18];
        *o++ = digits[three >> 12 & 63];
        *o++ = i + 1 < n ? digits[three >> 6 & 63] : '=';
        *o++ = i + 2 < n ? digits[three & 63] : '=';
    }
    luaL_pushresultsize(&b, (size_t)(o - out));
    return 1;
}

/* -1: none of them. */
static int digit(unsigned char c)
{
    const char *at = c != 0 ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

int caret__http_unbase64(lua_State *L)
{
    size_t n;
    const char *p = luaL_checklstring(L, 1, &n);
    luaL_Buffer b;
    char *out = luaL_buffinitsize(L, &b, n / 4 * 3 + 3), *o = out;
    uint32_t bits = 0;
    unsigned have = 0;

    if (n % 4 != 0)
        return 0;
    while (n > 0 && p[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        int d = digit((unsigned char)p[i]);
        if (d < 0)
            return 0;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have >= 8) {
            have -= 8;
            *o++ = (char)(bits >> have & 255);
        }
    }
    luaL_pushresultsize(&b, (size_t)(o - out));
    return 1;
}
