/*
 * sink.c - answers of commands as Lua values: script.h.
 *
 * The sink pushes each value; one that belongs to a table that is being filled goes there at once, so that
 * the stack holds the tables that are open and nothing else.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "server/codec/number.h"
#include "server/script/script.h"

static struct serve__scripts *of(struct serve__reply *r)
{
    return (struct serve__scripts *)((char *)r - offsetof(struct serve__scripts, reply));
}

/* ------------------------------------------------------------------- sink */

/* The array on top of the stack becomes what RESP3 calls it: {map = {k = v}}, {set = {m = true}}. */
static void become(lua_State *L, enum serve__kind kind, size_t n)
{
    bool map = kind == SERVE__MAP;
    int array = lua_gettop(L);
    lua_createtable(L, 0, 1);
    lua_createtable(L, 0, (int)(map ? n / 2 : n));
    for (size_t i = 1; i <= n; i += map ? 2 : 1) {
        lua_rawgeti(L, array, (int)i);
        if (map)
            lua_rawgeti(L, array, (int)i + 1);
        else
            lua_pushboolean(L, 1);
        lua_rawset(L, -3);
    }
    lua_setfield(L, -2, map ? "map" : "set");
    lua_replace(L, array);
}

/* A value is on top of the stack: put it where it belongs. */
static void done(struct serve__reply *r)
{
    struct serve__scripts *x = of(r);
    lua_State *L = x->now;
    while (x->depth > 0) {
        struct serve__nest *nest = &x->nest[x->depth - 1];
        lua_rawseti(L, -2, (int)++nest->n);
        if (nest->open || --nest->left > 0)
            return;
        x->depth--;
        if (r->protocol == 3 && (nest->kind == SERVE__MAP || nest->kind == SERVE__SET))
            become(L, nest->kind, nest->n);
    }
}

static void wrapped(struct serve__reply *r, const char *field, const char *text, size_t len)
{
    lua_State *L = of(r)->now;
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, text, len);
    lua_setfield(L, -2, field);
    done(r);
}

static void sink_status(struct serve__reply *r, const char *text, size_t len)
{
    wrapped(r, "ok", text, len);
}

void serve__script_push_error(lua_State *L, const char *text, size_t len, bool counted)
{
    lua_createtable(L, 0, 2);
    lua_pushlstring(L, text, len);
    lua_setfield(L, -2, "err");
    if (!counted)
        return;
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "ignore_error_stats_update");
}

/* In one line, as clients get it. */
static void sink_error(struct serve__reply *r, const char *text, size_t len)
{
    lua_State *L = of(r)->now;
    luaL_Buffer b;
    r->errors++;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < len; i++)
        luaL_addchar(&b, text[i] == '\r' || text[i] == '\n' ? ' ' : text[i]);
    luaL_pushresult(&b);
    serve__script_push_error(L, lua_tostring(L, -1), len, true);
    lua_remove(L, -2);
    done(r);
}

static void sink_integer(struct serve__reply *r, int64_t n)
{
    lua_pushnumber(of(r)->now, (lua_Number)n);
    done(r);
}

static void sink_bulk(struct serve__reply *r, const void *data, size_t len)
{
    lua_pushlstring(of(r)->now, data, len);
    done(r);
}

static void sink_null(struct serve__reply *r)
{
    if (r->protocol == 3)
        lua_pushnil(of(r)->now);
    else
        lua_pushboolean(of(r)->now, 0);
    done(r);
}

static void sink_real(struct serve__reply *r, double d)
{
    char text[CARET_CODEC__DOUBLE_ROOM];
    if (r->protocol == 2) {
        sink_bulk(r, text, caret_codec__print_double(d, text));
        return;
    }
    lua_createtable(of(r)->now, 0, 1);
    lua_pushnumber(of(r)->now, d);
    lua_setfield(of(r)->now, -2, "double");
    done(r);
}

static void sink_boolean(struct serve__reply *r, bool yes)
{
    if (r->protocol == 2) {
        sink_integer(r, yes);
        return;
    }
    lua_pushboolean(of(r)->now, yes);
    done(r);
}

static void sink_verbatim(struct serve__reply *r, const char *kind, const void *data, size_t len)
{
    lua_State *L = of(r)->now;
    if (r->protocol == 2) {
        sink_bulk(r, data, len);
        return;
    }
    lua_createtable(L, 0, 1);
    lua_createtable(L, 0, 2);
    lua_pushlstring(L, data, len);
    lua_setfield(L, -2, "string");
    lua_pushlstring(L, kind, 3);
    lua_setfield(L, -2, "format");
    lua_setfield(L, -2, "verbatim_string");
    done(r);
}

static void sink_big(struct serve__reply *r, const char *digits, size_t len)
{
    if (r->protocol == 2)
        sink_bulk(r, digits, len);
    else
        wrapped(r, "big_number", digits, len);
}

static void sink_open(struct serve__reply *r, enum serve__kind kind, size_t n)
{
    struct serve__scripts *x = of(r);
    size_t elements = kind == SERVE__MAP ? 2 * n : n;
    if (x->depth == SERVE__SCRIPT_DEPTH || !lua_checkstack(x->now, 8))
        luaL_error(x->now, "an answer is nested too deeply");
    lua_createtable(x->now, elements < 1000 ? (int)elements : 1000, 0);
    if (elements > 0) {
        x->nest[x->depth++] = (struct serve__nest){kind, elements, 0, false};
        return;
    }
    if (r->protocol == 3 && (kind == SERVE__MAP || kind == SERVE__SET))
        become(x->now, kind, 0);
    done(r);
}

static size_t sink_later(struct serve__reply *r)
{
    struct serve__scripts *x = of(r);
    if (x->depth == SERVE__SCRIPT_DEPTH || !lua_checkstack(x->now, 8))
        luaL_error(x->now, "an answer is nested too deeply");
    lua_createtable(x->now, 0, 0);
    x->nest[x->depth] = (struct serve__nest){SERVE__ARRAY, 0, 0, true};
    return (size_t)x->depth++;
}

static void sink_close(struct serve__reply *r, enum serve__kind kind, size_t place, size_t n)
{
    struct serve__scripts *x = of(r);
    struct serve__nest *nest = &x->nest[place];
    (void)n;
    x->depth = (int)place;
    if (r->protocol == 3 && (kind == SERVE__MAP || kind == SERVE__SET))
        become(x->now, kind, nest->n);
    done(r);
}

/* A command answers to an empty place: `base` of redis.call().  So whatever it answered is cut off. */
static size_t sink_mark(struct serve__reply *r)
{
    return (size_t)lua_gettop(of(r)->now);
}

static void sink_cut(struct serve__reply *r, size_t mark)
{
    of(r)->depth = 0;
    lua_settop(of(r)->now, (int)mark);
}

const struct serve__sink serve__lua_sink = {
    .status = sink_status,
    .error = sink_error,
    .integer = sink_integer,
    .bulk = sink_bulk,
    .null = sink_null,
    .null_array = sink_null,
    .real = sink_real,
    .boolean = sink_boolean,
    .verbatim = sink_verbatim,
    .big = sink_big,
    .open = sink_open,
    .later = sink_later,
    .close = sink_close,
    .mark = sink_mark,
    .cut = sink_cut,
};
