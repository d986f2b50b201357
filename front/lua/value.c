/*
 * value.c - Lua values to subscripts, values and addresses, and back.
 *
 * Numbers become canonical text: integers exactly, other floats as the shortest
 * decimal that reads back the same.  What comes back: subscripts that are
 * canonical integers as integers, everything else as strings.
 */
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* --------------------------------------------------------------- subscripts */

int caret__sub(lua_State *L, caret_node *n, size_t bytes, const caret_node *parent, int i)
{
    int64_t v;
    size_t len;

    switch (lua_type(L, i)) {
    case LUA_TNUMBER:
        return caret__integer(L, i, &v) ? caret_node_child_int(n, bytes, parent, v)
                                        : caret_node_child_double(n, bytes, parent, lua_tonumber(L, i));
    case LUA_TSTRING: {
        const char *s = lua_tolstring(L, i, &len);
        return caret_node_child(n, bytes, parent, s, len);
    }
    default:
        return caret__misuse(L, "a subscript must be a string or a number, not a %s", caret__typename(L, i));
    }
}

static int deepen(lua_State *L, caret_node_buf *tmp, int i)
{
    return caret__sub(L, &tmp->node, sizeof *tmp, &tmp->node, i);
}

/* A code of Caret's. */
static int below(lua_State *L, caret_node_buf *tmp, int first, int last)
{
    int rc = CARET_OK;

    for (int i = first; rc == CARET_OK && i <= last; i++) {
        if (!caret__is_table(L, i)) {
            rc = deepen(L, tmp, i);
            continue;
        }
        for (int k = 1, count = (int)caret__rawlen(L, i); rc == CARET_OK && k <= count; k++) {
            lua_rawgeti(L, i, k);
            rc = deepen(L, tmp, lua_gettop(L));
            lua_pop(L, 1);
        }
    }
    return rc;
}

int caret__address_below(lua_State *L, struct caret__ldb *d, caret_node_buf *tmp, int first, int last)
{
    int rc = below(L, tmp, first, last);

    if (caret__is_too_long(d, &tmp->node, rc))
        return 0;
    if (rc != CARET_OK)
        caret__raise(L, d, rc);
    return 1;
}

int caret__address(lua_State *L, struct caret__ldb *d, caret_node_buf *tmp, int first, int last)
{
    struct caret__lnode *from = caret__lnode(L, first);
    size_t len;
    int rc;

    if (from != NULL) {
        rc = caret_node_copy(&tmp->node, sizeof *tmp, &from->node);
    } else if (last >= first && lua_type(L, first) == LUA_TSTRING) {
        const char *name = lua_tolstring(L, first, &len);
        rc = caret_node_var(&tmp->node, sizeof *tmp, name, len);
    } else {
        if (last < first)
            return caret__misuse(L, "a variable name or a node was expected, not nothing");
        return caret__misuse(L, "a variable name or a node was expected, not a %s",
                             caret__typename(L, first));
    }
    if (rc != CARET_OK)
        caret__raise(L, d, rc);
    return caret__address_below(L, d, tmp, first + 1, last);
}

bool caret__is_elsewhere(const struct caret__ldb *d, const struct caret__ldb *other)
{
    if (other == d || d->translated || other->db == NULL || other->db == d->db)
        return false;
    const char *path = caret_path(other->db);
    return strcmp(path, ":memory:") == 0 || strcmp(path, caret_path(d->db)) != 0;
}

int caret__address_here(lua_State *L, struct caret__ldb *d, caret_node_buf *tmp, int first, int last)
{
    const struct caret__lnode *from = caret__lnode(L, first);

    if (from != NULL && caret__is_elsewhere(d, from->db))
        caret__misuse(L, "a node of this database was expected, not of %s", caret_path(from->db->db));
    return caret__address(L, d, tmp, first, last);
}

void caret__push_last(lua_State *L, const caret_node *n)
{
    char text[CARET_NODE_MAX]; /* for any: allocating lets a finalizer run, which may move n */
    int64_t v;
    size_t len;
    unsigned depth = caret_node_depth(n);

    if (depth == 0) {
        char name[CARET_MAX_NAME + 2];
        caret_slice s = caret_node_name(n, name);
        lua_pushlstring(L, s.data, s.len);
    } else if (caret_node_last_as_int(n, &v) &&
               (LUA_VERSION_NUM >= 503 || (v >= -CARET__EXACT && v <= CARET__EXACT))) {
        lua_pushinteger(L, (lua_Integer)v);
    } else {
        int rc = caret_node_subscript(n, depth - 1, text, sizeof text, &len, NULL);
        lua_pushlstring(L, text, rc == CARET_OK ? len : 0);
    }
}

/* ------------------------------------------------------------------- values */

/* The eight digits of u < 10^8, the first in the lowest byte: split in halves three times, all parts at once. */
static inline uint64_t spell8(uint32_t u)
{
    uint64_t both = u / 10000 | (uint64_t)(u % 10000) << 32;
    uint64_t hundreds = (both * 10486 >> 20) & UINT64_C(0x7F0000007F);
    uint64_t lanes = hundreds | (both - 100 * hundreds) << 16;
    uint64_t tens = (lanes * 103 >> 10) & UINT64_C(0x000F000F000F000F);

    return tens | (lanes - 10 * tens) << 8;
}

static inline void put8(char *p, uint64_t digits)
{
    uint64_t text = digits + UINT64_C(0x3030303030303030);

#pragma GCC unroll 8 /* then it is one store */
    for (unsigned k = 0; k < 8; k++)
        p[k] = (char)(text >> 8 * k);
}

const char *caret__format_integer(int64_t v, size_t *len, char buf[64])
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    char *p = buf + 64 - 8;

    for (; u >= 100000000; u /= 100000000, p -= 8)
        put8(p, spell8((uint32_t)(u % 100000000)));
    uint64_t digits = spell8((uint32_t)u);
    put8(p, digits);
    p += digits != 0 ? __builtin_ctzll(digits) / 8 : 7;
    if (v < 0)
        *--p = '-';
    *len = (size_t)(buf + 64 - p);
    return p;
}

/* A float as canonical text is what it is as a subscript. */
const char *caret__format_float(double v, size_t *len, char buf[64])
{
    caret_node_buf n;
    int rc = caret_node_var(&n.node, sizeof n, "x", 1);

    if (rc == CARET_OK)
        rc = caret_node_child_double(&n.node, sizeof n, &n.node, v);
    if (rc == CARET_OK)
        rc = caret_node_subscript(&n.node, 0, buf, 64, len, NULL);
    return rc == CARET_OK ? buf : NULL;
}

const char *caret__value_text(lua_State *L, struct caret__ldb *d, int i, size_t *len, char buf[64])
{
    int64_t v;
    int type = lua_type(L, i);

    if (type == LUA_TSTRING)
        return lua_tolstring(L, i, len);
    if (type == LUA_TNIL)
        return NULL;
    if (type != LUA_TNUMBER) {
        caret__misuse(L, "a value must be a string or a number, not a %s", caret__typename(L, i));
        return NULL;
    }
    if (caret__integer(L, i, &v))
        return caret__format_integer(v, len, buf);
    double number = lua_tonumber(L, i);
    if (!isfinite(number))
        caret__raise_text(L, d, CARET_E_INVALID,
                          isnan(number) ? "INVALID: NaN can't be a value"
                                        : "INVALID: an infinity can't be a value");
    const char *text = caret__format_float(number, len, buf);
    if (text == NULL)
        caret__raise(L, d, CARET_E_INVALID);
    return text;
}

void caret__push_integer(lua_State *L, int64_t v)
{
    char buf[64];
    size_t len;

    if (LUA_VERSION_NUM >= 503 || (v >= -CARET__EXACT && v <= CARET__EXACT)) {
        lua_pushinteger(L, (lua_Integer)v);
        return;
    }
    const char *text = caret__format_integer(v, &len, buf);
    lua_pushlstring(L, text, len);
}

static size_t digits(const char *s, size_t len, size_t at)
{
    size_t n = 0;
    while (at + n < len && s[at + n] >= '0' && s[at + n] <= '9')
        n++;
    return n;
}

/* A number's text in parts, as places in it. */
struct parts {
    size_t whole, point, end; /* where digits begin, the first after them, the first after the fraction */
    int exponent;             /* has one */
};

/* Sign, digits, point, digits, `E`, exponent: what caret_incr() takes.  Lua alone would also take "0x10", " 1 " and
 * "1e3", which is 1 to the database. */
static int is_number(const char *s, size_t len, struct parts *p)
{
    size_t at = len > 0 && (s[0] == '-' || s[0] == '+');

    p->whole = at;
    p->point = p->end = at + digits(s, len, at);
    if (p->end < len && s[p->end] == '.')
        p->end += 1 + digits(s, len, p->end + 1);
    if (p->end - p->whole - (p->end > p->point) == 0)
        return 0;
    at = p->end;
    p->exponent = at < len && s[at] == 'E';
    if (p->exponent) {
        at++;
        at += at < len && (s[at] == '-' || s[at] == '+');
        size_t exponent = digits(s, len, at);
        at += exponent;
        if (exponent == 0)
            return 0;
    }
    return at == len;
}

/* Digits and a power of ten that are both exact as floats, so that their quotient is the nearest float (Clinger
 * 1990). */
static int read_short(const char *s, const struct parts *p, double *out)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int64_t v = 0;

    if (p->exponent || p->end == p->point || p->end - p->whole > 16)
        return 0;
    for (size_t k = p->whole; k < p->end; k++)
        if (k != p->point)
            v = v * 10 + (s[k] - '0');
    double d = (double)v / powers[p->end - p->point - 1];
    *out = s[0] == '-' ? -d : d;
    return 1;
}

/* The same of at most 18 digits and perhaps a minus. */
static int read_integer(const char *s, size_t len, int64_t *out)
{
    int negative = len > 0 && s[0] == '-';
    size_t n = len - (size_t)negative;
    int64_t v = 0;

    if (n == 0 || n > 18)
        return 0;
    for (size_t k = (size_t)negative; k < len; k++) {
        unsigned digit = (unsigned)(s[k] - '0');
        if (digit > 9)
            return 0;
        v = v * 10 + digit;
    }
    *out = negative ? -v : v;
    return 1;
}

/* Has a number's text the form in which Caret writes it: no plus, no zero before the first digit or after the last. */
static int is_canonical(const char *s, size_t len, const struct parts *p)
{
    if (s[0] == '+' || (p->end > p->point && s[p->end - 1] <= '0')) /* "1." and "1.50" */
        return 0;
    return s[p->whole] != '0' || len == 1;
}

int caret__short_number(lua_State *L)
{
    size_t len;
    const char *s = lua_tolstring(L, 1, &len);
    struct parts p;
    int64_t v;
    double d;

    if (s == NULL || len > 17 || !is_number(s, len, &p) || p.exponent || !is_canonical(s, len, &p))
        return 0;
    if (p.end == p.point && p.end - p.whole <= 15 && read_integer(s, len, &v))
        lua_pushinteger(L, (lua_Integer)v);
    else if (read_short(s, &p, &d))
        lua_pushnumber(L, d);
    else
        return 0;
    return 1;
}

int caret__plain_number(const char *s, size_t len, double *out)
{
    struct parts parts;
    int64_t v;

    if (read_integer(s, len, &v)) {
        *out = (double)v;
        return 1;
    }
    return is_number(s, len, &parts) && read_short(s, &parts, out);
}

/* The exponent of a number's text; one that is beyond any float is as good as the exact one. */
static int64_t exponent_of(const char *s, size_t len, const struct parts *p)
{
    size_t at = p->end + 1;
    int negative = at < len && s[at] == '-';
    int64_t v = 0;

    if (!p->exponent)
        return 0;
    for (at += s[at] == '-' || s[at] == '+'; at < len && v < INT64_C(100000000000000); at++)
        v = v * 10 + (s[at] - '0');
    return negative ? -v : v;
}

/* Of a number that is zero, or so far beyond the range of floats that this tells: what it is as one.  Not each Lua
 * reads such exponents. */
static int read_extreme(const char *s, size_t len, const struct parts *p, double *out)
{
    size_t first = p->whole;

    while (first < p->end && (s[first] == '0' || s[first] == '.'))
        first++;
    int64_t place = (int64_t)p->point - (int64_t)first + (first > p->point) + exponent_of(s, len, p);
    if (first < p->end && place > -400 && place < 400)
        return 0;
    *out = first < p->end && place > 0 ? HUGE_VAL : 0;
    if (s[0] == '-')
        *out = -*out;
    return 1;
}

/* Push the text without its point, which another locale would not read: 1.25E3 as 125e1. */
static void push_pointless(lua_State *L, const char *s, size_t len, const struct parts *p)
{
    char buf[64];
    luaL_Buffer b;
    size_t places = p->end - p->point - 1, digits;
    const char *exponent = caret__format_integer(exponent_of(s, len, p) - (int64_t)places, &digits, buf);

    luaL_buffinit(L, &b);
    luaL_addlstring(&b, s, p->point);
    luaL_addlstring(&b, s + p->point + 1, places);
    luaL_addchar(&b, 'e');
    luaL_addlstring(&b, exponent, digits);
    luaL_pushresult(&b);
}

/* What the text on the top is as a number, above it; 0: none, as the locale has another point.  (LuaJIT asks none.) */
static int push_as_number(lua_State *L)
{
#if LUA_VERSION_NUM >= 503
    return lua_stringtonumber(L, lua_tostring(L, -1)) != 0;
#else
    lua_Number v = lua_tonumber(L, -1);
    if (v == 0 && !lua_isnumber(L, -1))
        return 0;
    lua_pushnumber(L, v);
    return 1;
#endif
}

int caret__push_number(lua_State *L, const char *s, size_t len)
{
    struct parts parts;
    int64_t v;
    double d;

    if (read_integer(s, len, &v)) {
        lua_pushinteger(L, (lua_Integer)v);
        return 1;
    }
    if (!is_number(s, len, &parts))
        return 0;
    if (read_short(s, &parts, &d) || read_extreme(s, len, &parts, &d)) {
        lua_pushnumber(L, d);
        return 1;
    }
#if LUA_VERSION_NUM >= 503
    char buf[64];
    if (len < sizeof buf) { /* it tries the locale's point, too */
        memcpy(buf, s, len);
        buf[len] = 0;
        lua_stringtonumber(L, buf);
        return 1;
    }
#endif
    caret__push_text(L, (caret_slice){s, len});
    if (!push_as_number(L)) {
        lua_pop(L, 1);
        push_pointless(L, s, len, &parts);
        if (!push_as_number(L)) { /* an exponent that a million digits make up for */
            lua_pop(L, 1);
            return 0;
        }
    }
    lua_remove(L, -2);
    return 1;
}
