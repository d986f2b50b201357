/*
 * struct.c - the module struct: values as the bytes of C structures, by a format.
 *
 *     >  <         big, little endian from here on              c  cN    a string of N bytes, 1 without N
 *     !  !N        align to N, 8 without N, a power of 2        c0       all of a string; to read it, the number before
 *     b B h H      integers of 1 and 2 bytes                    s        a string that a byte 0 ends
 *     l L T        integers of 8 bytes                          f d      float, double
 *     i iN I IN    integers of N bytes, 4 without N, at most 32 x        a byte 0
 *
 * Lower case is with a sign.  Integers of more than 8 bytes have zeros there.  Alignment begins with 1, none.
 */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/script/modules.h"
#include "server/script/out.h"

enum { WIDEST = 32 };

struct format {
    const char *at;
    bool big;
    size_t align;
};

/* ---------------------------------------------------------------- formats */

static size_t number(lua_State *L, struct format *format, int otherwise)
{
    int n = 0;

    if (!isdigit((unsigned char)*format->at))
        return (size_t)otherwise;
    for (; isdigit((unsigned char)*format->at); format->at++) {
        int digit = *format->at - '0';
        if (n > INT_MAX / 10 || n * 10 > INT_MAX - digit)
            luaL_error(L, "integral size overflow");
        n = n * 10 + digit;
    }
    return (size_t)n;
}

/* The size of an option, whose letter was read; 0 for those without a size of their own. */
static size_t size_of(lua_State *L, struct format *format, int option)
{
    size_t size;

    switch (option) {
    case 'b':
    case 'B':
    case 'x': return 1;
    case 'h':
    case 'H': return sizeof(short);
    case 'l':
    case 'L': return sizeof(long);
    case 'T': return sizeof(size_t);
    case 'f': return sizeof(float);
    case 'd': return sizeof(double);
    case 'c': return number(L, format, 1);
    case 'i':
    case 'I':
        size = number(L, format, sizeof(int));
        if (size > WIDEST)
            luaL_error(L, "integral size %d is larger than limit of %d", (int)size, WIDEST);
        return size;
    default: return 0;
    }
}

/* Bytes to leave out before a field of this size at this place. */
static size_t gap(size_t at, const struct format *format, int option, size_t size)
{
    if (size == 0 || option == 'c')
        return 0;
    if (size > format->align)
        size = format->align;
    return (size - (at & (size - 1))) & (size - 1);
}

/* Options without a value. */
static void control(lua_State *L, struct format *format, int option)
{
    switch (option) {
    case ' ': break;
    case '>': format->big = true; break;
    case '<': format->big = false; break;
    case '!':
        format->align = number(L, format, 8);
        if (format->align == 0 || (format->align & (format->align - 1)) != 0)
            luaL_error(L, "alignment %d is not a power of 2", (int)format->align);
        break;
    default: luaL_argerror(L, 1, lua_pushfstring(L, "invalid format option '%c'", option));
    }
}

static struct format format_of(lua_State *L)
{
    struct format format = {luaL_checkstring(L, 1), __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 1};

    return format;
}

/* Bytes of a number of this machine, to or from those of the format. */
static void order(const struct format *format, const void *from, void *to, size_t n)
{
    const char *bytes = from;
    char *out = to;

    for (size_t i = 0; i < n; i++)
        out[format->big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? i : n - 1 - i] = bytes[i];
}

/* The low 64 bits of a number, cut off toward 0; what is too large becomes 0, or the least integer. */
static uint64_t to_bits(double v)
{
    const double two63 = 9223372036854775808.0;

    if (v < 0)
        return v >= -two63 ? (uint64_t)(int64_t)v : (uint64_t)INT64_MIN;
    if (v < 2 * two63)
        return (uint64_t)v;
    return v == v ? 0 : (uint64_t)INT64_MIN;
}

/* ---------------------------------------------------------------- packing */

static void put_integer(lua_State *L, struct caret_codec__out *out, const struct format *format, uint64_t v,
                        size_t size)
{
    char *room = caret_codec__out_room(L, out, size);

    for (size_t i = 0; i < size; i++, v >>= 8)
        room[format->big ? size - 1 - i : i] = (char)v;
    out->len += size;
}

static void put_float(lua_State *L, struct caret_codec__out *out, const struct format *format, double v,
                      size_t size)
{
    char *room = caret_codec__out_room(L, out, size);
    float single = (float)v;

    if (size == sizeof single)
        order(format, &single, room, size);
    else
        order(format, &v, room, size);
    out->len += size;
}

static void put_string(lua_State *L, struct caret_codec__out *out, int option, int arg, size_t size)
{
    size_t len;
    const char *text = luaL_checklstring(L, arg, &len);

    luaL_argcheck(L, size <= len, arg + 1, "string too short");
    caret_codec__out_put(L, out, text, size == 0 ? len : size);
    if (option == 's')
        caret_codec__out_byte(L, out, 0);
}

/* One option; true if it took the argument. */
static bool put(lua_State *L, struct caret_codec__out *out, struct format *format, int option, int arg,
                size_t size)
{
    switch (option) {
    case 'b':
    case 'B':
    case 'h':
    case 'H':
    case 'l':
    case 'L':
    case 'T':
    case 'i':
    case 'I': put_integer(L, out, format, to_bits(luaL_checknumber(L, arg)), size); return true;
    case 'f':
    case 'd': put_float(L, out, format, luaL_checknumber(L, arg), size); return true;
    case 'c':
    case 's': put_string(L, out, option, arg, size); return true;
    case 'x': caret_codec__out_byte(L, out, 0); return false;
    default: control(L, format, option); return false;
    }
}

static int pack(lua_State *L)
{
    struct format format = format_of(L);
    struct caret_codec__out *out = caret_codec__out(L);
    int arg = 2;

    lua_pushnil(L); /* what a missing argument is */
    while (*format.at != 0) {
        int option = *format.at++;
        size_t size = size_of(L, &format, option), skip = gap(out->len, &format, option, size);
        for (; skip > 0; skip--)
            caret_codec__out_byte(L, out, 0);
        arg += put(L, out, &format, option, arg, size);
    }
    caret_codec__out_push(L, out);
    return 1;
}

/* ---------------------------------------------------------------- unpacking */

static double get_integer(const uint8_t *at, const struct format *format, bool is_signed, size_t size)
{
    uint64_t v = 0, mask = UINT64_MAX << ((8 * size - 1) & 63);

    for (size_t i = 0; i < size; i++)
        v = v << 8 | at[format->big ? i : size - 1 - i];
    if (!is_signed)
        return (double)v;
    return (double)(int64_t)((v & mask) != 0 ? v | mask : v);
}

static double get_float(const uint8_t *at, const struct format *format, size_t size)
{
    float single;
    double v;

    if (size == sizeof single) {
        order(format, at, &single, size);
        return single;
    }
    order(format, at, &v, size);
    return v;
}

/* The number before a c0, which is taken back. */
static size_t size_before(lua_State *L, int *n)
{
    double v;

    if (*n == 0 || !lua_isnumber(L, -1))
        luaL_error(L, "format 'c0' needs a previous size");
    v = lua_tonumber(L, -1);
    lua_pop(L, 1);
    --*n;
    return (size_t)to_bits(v);
}

struct input {
    const uint8_t *bytes;
    size_t len, at;
};

static void check_left(lua_State *L, const struct input *in, size_t size)
{
    luaL_argcheck(L, size <= in->len && in->at <= in->len - size, 2, "data string too short");
}

/* One option, of size bytes: pushes its value and counts it.  Returns the bytes it had. */
static size_t get(lua_State *L, const struct input *in, struct format *format, int option, size_t size,
                  int *n)
{
    const uint8_t *at = in->bytes + in->at, *end;

    switch (option) {
    case 'b':
    case 'B':
    case 'h':
    case 'H':
    case 'l':
    case 'L':
    case 'T':
    case 'i':
    case 'I': lua_pushnumber(L, get_integer(at, format, islower(option) != 0, size)); break;
    case 'f':
    case 'd': lua_pushnumber(L, get_float(at, format, size)); break;
    case 'c':
        if (size == 0) {
            size = size_before(L, n);
            check_left(L, in, size);
        }
        lua_pushlstring(L, (const char *)at, size);
        break;
    case 's':
        end = memchr(at, 0, in->len - in->at);
        if (end == NULL)
            luaL_error(L, "unfinished string in data");
        size = (size_t)(end - at) + 1;
        lua_pushlstring(L, (const char *)at, size - 1);
        break;
    case 'x': return size;
    default: control(L, format, option); return size;
    }
    ++*n;
    return size;
}

static int unpack(lua_State *L)
{
    struct format format = format_of(L);
    struct input in;
    int n = 0;

    in.bytes = (const uint8_t *)luaL_checklstring(L, 2, &in.len);
    in.at = (size_t)luaL_optinteger(L, 3, 1);
    luaL_argcheck(L, in.at > 0, 3, "offset must be 1 or greater");
    in.at--;
    lua_settop(L, 2);
    while (*format.at != 0) {
        int option = *format.at++;
        size_t size = size_of(L, &format, option);
        in.at += gap(in.at, &format, option, size);
        check_left(L, &in, size);
        luaL_checkstack(L, 2, "too many results");
        in.at += get(L, &in, &format, option, size, &n);
    }
    lua_pushinteger(L, (lua_Integer)in.at + 1);
    return n + 1;
}

/* ---------------------------------------------------------------- the module */

static int size(lua_State *L)
{
    struct format format = format_of(L);
    size_t at = 0;

    while (*format.at != 0) {
        int option = *format.at++;
        size_t bytes = size_of(L, &format, option);
        at += gap(at, &format, option, bytes);
        if (option == 's')
            luaL_argerror(L, 1, "option 's' has no fixed size");
        if (option == 'c' && bytes == 0)
            luaL_argerror(L, 1, "option 'c0' has no fixed size");
        if (!isalnum((unsigned char)option))
            control(L, &format, option);
        at += bytes;
    }
    lua_pushinteger(L, (lua_Integer)at);
    return 1;
}

int caret_codec__open_struct(lua_State *L)
{
    static const luaL_Reg functions[] = {{"pack", pack}, {"unpack", unpack}, {"size", size}, {NULL, NULL}};

    caret_codec__out_new(L, sizeof(struct caret_codec__out));
    caret_codec__module(L, functions);
    return 1;
}
