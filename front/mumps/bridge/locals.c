/*
 * locals.c - M's local variables as a table of caret.h: struct caret_locals.
 *
 * As soon as M runs in a process its variables are those of the other interfaces, too: libyottadb.so and the Lua
 * modules hand theirs over and ask here from then on.  What Lua does is in bridge/locals.lua.
 *
 * All of it is under the machine's mutex, `enter` to `leave`.  It is recursive: C that M called asks while M holds it.
 * What is returned is copied to `room`, as Lua's texts may be gone with the next call.
 *
 * Lock order: the machine's mutex before those of whoever calls.
 */
#include "mumps/bridge/locals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#define FUNCTIONS "caret.locals"
#define LOST      CARET_E_EVICTED /* what each function returns after caret_mumps__locals_lose() */

static lua_State *L;
static struct {
    char *bytes;
    size_t cap;
} room;

/* ------------------------------------------------------------------- calling */

static void begin(const char *function)
{
    luaL_checkstack(L, CARET_MAX_SUBS + 12, "local variables");
    lua_getfield(L, LUA_REGISTRYINDEX, FUNCTIONS);
    lua_getfield(L, -1, function);
    lua_remove(L, -2);
}

static void push_address(const caret_slice *address, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lua_pushlstring(L, address[i].len != 0 ? address[i].data : "", address[i].len);
}

/* What M threw as a code; the stack is as before the call. */
static int failed(void)
{
    lua_getfield(L, -1, "code");
    int code = (int)lua_tointeger(L, -1);

    lua_pop(L, 2);
    return code > 0 ? -code : CARET_E_INVALID;
}

static int call(int arguments, int results)
{
    return lua_pcall(L, arguments, results, 0) == 0 ? CARET_OK : failed();
}

/* n more bytes after the first `used`. */
static int reserve(size_t used, size_t n)
{
    if (room.cap - used >= n + 1)
        return CARET_OK;
    size_t cap = used + n + n / 2 + 256;
    char *bytes = realloc(room.bytes, cap);
    if (bytes == NULL)
        return CARET_E_NOMEM;
    room.bytes = bytes;
    room.cap = cap;
    return CARET_OK;
}

/* --------------------------------------------------------------------- table */

static int get(void *who, const caret_slice *address, size_t count, caret_slice *value)
{
    size_t len = 0;

    (void)who;
    if (L == NULL)
        return LOST;
    begin("get");
    push_address(address, count);
    int rc = call((int)count, 1);
    if (rc != CARET_OK)
        return rc;
    const char *text = lua_tolstring(L, -1, &len);
    rc = text == NULL ? CARET_NONE : reserve(0, len);
    if (rc == CARET_OK) {
        memcpy(room.bytes, text, len);
        *value = (caret_slice){room.bytes, len};
    }
    lua_pop(L, 1);
    return rc;
}

static int set(void *who, const caret_slice *address, size_t count, caret_slice value)
{
    (void)who;
    if (L == NULL)
        return LOST;
    begin("set");
    lua_pushlstring(L, value.len != 0 ? value.data : "", value.len);
    lua_pushinteger(L, (lua_Integer)count - 1);
    push_address(address, count);
    return call((int)count + 2, 0);
}

static int kill(void *who, const caret_slice *address, size_t count, int tree)
{
    (void)who;
    if (L == NULL)
        return LOST;
    begin("kill");
    lua_pushinteger(L, tree != 0);
    lua_pushinteger(L, (lua_Integer)count - 1);
    push_address(address, count);
    return call((int)count + 2, 0);
}

/* The texts on the stack from `first` on, n of them. */
static int take(int first, size_t n, caret_slice *found)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const char *text = lua_tolstring(L, first + (int)i, &found[i].len);
        int rc = text != NULL ? reserve(used, found[i].len) : CARET_E_INVALID;
        if (rc != CARET_OK)
            return rc;
        memcpy(room.bytes + used, text, found[i].len);
        used += found[i].len;
    }
    used = 0;
    for (size_t i = 0; i < n; i++) { /* only now they stay where they are */
        found[i].data = room.bytes + used;
        used += found[i].len;
    }
    return CARET_OK;
}

static int seek(void *who, const caret_slice *address, size_t count, int place, int back, caret_slice *found,
                size_t *found_count)
{
    (void)who;
    if (L == NULL)
        return LOST;
    int top = lua_gettop(L);
    begin("seek");
    lua_pushinteger(L, place);
    lua_pushinteger(L, back);
    lua_pushinteger(L, (lua_Integer)count - 1);
    push_address(address, count);
    int rc = call((int)count + 3, LUA_MULTRET);
    if (rc != CARET_OK)
        return rc;
    *found_count = (size_t)lua_tointeger(L, top + 1);
    rc = *found_count != 0 ? take(top + 2, *found_count, found) : CARET_NONE;
    lua_settop(L, top);
    return rc;
}

static caret_locals table = {.size = sizeof table, .get = get, .set = set, .kill = kill, .seek = seek};

const caret_locals *caret_mumps__locals(void)
{
    return &table;
}

void caret_mumps__locals_lose(void)
{
    L = NULL;
}

void caret_mumps__locals_open(lua_State *l, void (*enter)(void *), void (*leave)(void *))
{
    L = l;
    table.enter = enter;
    table.leave = leave;
    lua_getglobal(l, "require");
    lua_pushliteral(l, "mumps.bridge.locals");
    lua_call(l, 1, 1);
    lua_setfield(l, LUA_REGISTRYINDEX, FUNCTIONS);
}
