/*
 * recent.c - keeps the newest remembered children alive for a while.
 *
 * The caches of children (node.c) are weak, so a collection forgets each child that nobody holds.  That would
 * make remembering worthless in a small heap: a Lua 5.4 that collects generationally runs a collection after
 * each 20 % of growth, and making a path of 26 steps again takes a third of a heap of 100 KB: each walk would
 * find the path forgotten since the walk before.
 *
 * So the last RECENT_MAX children that were remembered are held by a table, each for at least one whole
 * period between two collections, at most two.  A sentinel, an object nobody holds, tells by its __gc that a
 * collection was made; that lets go of the children of the period before the last, and makes a new sentinel if
 * any are left.
 *
 *     let_go <= before <= held     numbers of children, counted up; child i is in slot i % RECENT_MAX
 *     [let_go, before)   of the last period: go at the next collection
 *     [before, held)     of this period
 */
#include "lua/binding.h"

#define RECENT_MAX 64u

static char table_key, meta_key; /* their addresses are keys of the registry */

static void push_registered(lua_State *L, char *key)
{
    lua_pushlightuserdata(L, key);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

static void make_sentinel(lua_State *L, struct caret__recent *r)
{
    r->watched = 1;
    (void)caret__newuserdata(L, 0);
    push_registered(L, &meta_key);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

static inline int slot(uint32_t i)
{
    return 1 + (int)(i % RECENT_MAX);
}

/* __gc of the sentinel */
static int collected(lua_State *L)
{
    struct caret__recent *r = &caret__state(L)->recent;

    push_registered(L, &table_key);
    if (r->held - r->let_go > RECENT_MAX)
        r->let_go = r->held - RECENT_MAX; /* the others were overwritten */
    for (; (int32_t)(r->before - r->let_go) > 0; r->let_go++) {
        lua_pushnil(L);
        lua_rawseti(L, -2, slot(r->let_go));
    }
    r->before = r->held;
    r->watched = 0;
    if (r->let_go != r->held)
        make_sentinel(L, r);
    return 0;
}

void caret__hold(lua_State *L, struct caret__recent *r)
{
    push_registered(L, &table_key);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, slot(r->held++));
    lua_pop(L, 1);
    if (!r->watched)
        make_sentinel(L, r);
}

void caret__open_recent(lua_State *L)
{
    lua_pushlightuserdata(L, &table_key);
    lua_createtable(L, RECENT_MAX, 0);
    lua_rawset(L, LUA_REGISTRYINDEX);
    lua_pushlightuserdata(L, &meta_key);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, collected);
    lua_setfield(L, -2, "__gc");
    lua_rawset(L, LUA_REGISTRYINDEX);
}
