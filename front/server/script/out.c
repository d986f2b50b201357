/*
 * out.c - the buffers of modules.
 */
#include "server/script/out.h"

#include <stdlib.h>

static void let_go(struct caret_codec__out *out)
{
    free(out->bytes);
    out->bytes = NULL;
    out->len = out->room = 0;
}

static int collect(lua_State *L)
{
    let_go(lua_touserdata(L, 1));
    return 0;
}

void *caret_codec__out_new(lua_State *L, size_t size)
{
    void *out = lua_newuserdata(L, size);

    memset(out, 0, size);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    return out;
}

void caret_codec__module(lua_State *L, const luaL_Reg *functions)
{
    lua_newtable(L);
    lua_insert(L, -2);
    for (; functions->name != NULL; functions++) {
        lua_pushvalue(L, -1);
        lua_pushcclosure(L, functions->func, 1);
        lua_setfield(L, -3, functions->name);
    }
    lua_pop(L, 1);
}

struct caret_codec__out *caret_codec__out(lua_State *L)
{
    struct caret_codec__out *out = lua_touserdata(L, lua_upvalueindex(1));

    if (out->room > CARET_CODEC__OUT_KEPT)
        let_go(out);
    out->len = 0;
    return out;
}

/* What is large is in another one meanwhile, which is garbage if there is no memory for the string. */
void caret_codec__out_push(lua_State *L, struct caret_codec__out *out)
{
    if (out->room <= CARET_CODEC__OUT_KEPT) {
        lua_pushlstring(L, out->len > 0 ? out->bytes : "", out->len);
        return;
    }
    struct caret_codec__out *large = caret_codec__out_new(L, sizeof *large);
    *large = *out;
    out->bytes = NULL;
    out->len = out->room = 0;
    lua_pushlstring(L, large->bytes, large->len);
    let_go(large);
    lua_remove(L, -2);
}

void caret_codec__out_grow(lua_State *L, struct caret_codec__out *out, size_t more)
{
    size_t room = out->room < 512 ? 512 : out->room;
    char *bytes;

    if (more > CARET_CODEC__OUT_MOST - out->len) {
        let_go(out);
        luaL_error(L, "result is larger than %d bytes", (int)CARET_CODEC__OUT_MOST);
    }
    while (room < out->len + more)
        room *= 2;
    bytes = realloc(out->bytes, room);
    if (bytes == NULL)
        luaL_error(L, "not enough memory");
    out->bytes = bytes;
    out->room = room;
}
