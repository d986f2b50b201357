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

/* What is asked, and what is found: all of it happens in a protected call, as pushing an argument may fail, too. */
struct job {
    const char *function;
    const caret_slice *address;
    size_t count;
    const caret_slice *value; /* set: pushed first */
    int numbers[3], n;        /* pushed before the address */
    size_t *found_count;      /* seek */
    caret_slice *found;
    int rc;
};

static void push_text(lua_State *l, const caret_slice *s)
{
    lua_pushlstring(l, s->len != 0 ? s->data : "", s->len);
}

/* The function is called; what it returns is above index 1. */
static void call(lua_State *l, const struct job *j)
{
    luaL_checkstack(l, CARET_MAX_SUBS + 12, "local variables");
    lua_getfield(l, LUA_REGISTRYINDEX, FUNCTIONS);
    lua_getfield(l, -1, j->function);
    lua_remove(l, -2);
    int top = lua_gettop(l);
    if (j->value != NULL)
        push_text(l, j->value);
    for (int i = 0; i < j->n; i++)
        lua_pushinteger(l, j->numbers[i]);
    for (size_t i = 0; i < j->count; i++)
        push_text(l, &j->address[i]);
    lua_call(l, lua_gettop(l) - top, LUA_MULTRET);
}

/* Runs body(job), which sets job->rc; what M throws becomes a code. */
static int work(lua_CFunction body, struct job *j)
{
    if (L == NULL)
        return LOST;
    j->rc = CARET_OK;
    if (lua_cpcall(L, body, j) == 0)
        return j->rc;
    int code = 0;
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "code");
        code = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return code > 0 ? -code : CARET_E_INVALID;
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

static int get_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);
    size_t len = 0;

    call(l, j);
    const char *text = lua_tolstring(l, 2, &len);
    j->rc = text == NULL ? CARET_NONE : reserve(0, len);
    if (j->rc == CARET_OK) {
        memcpy(room.bytes, text, len);
        *j->found = (caret_slice){room.bytes, len};
    }
    return 0;
}

static int get(void *who, const caret_slice *address, size_t count, caret_slice *value)
{
    struct job j = {.function = "get", .address = address, .count = count, .found = value};

    (void)who;
    return work(get_body, &j);
}

static int change_body(lua_State *l)
{
    call(l, lua_touserdata(l, 1));
    return 0;
}

static int set(void *who, const caret_slice *address, size_t count, caret_slice value)
{
    struct job j = {.function = "set", .address = address, .count = count, .value = &value};

    (void)who;
    j.numbers[j.n++] = (int)count - 1;
    return work(change_body, &j);
}

static int kill(void *who, const caret_slice *address, size_t count, int tree)
{
    struct job j = {.function = "kill", .address = address, .count = count};

    (void)who;
    j.numbers[j.n++] = tree != 0;
    j.numbers[j.n++] = (int)count - 1;
    return work(change_body, &j);
}

/* The texts on the stack from `first` on, n of them. */
static int take(lua_State *l, int first, size_t n, caret_slice *found)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const char *text = lua_tolstring(l, first + (int)i, &found[i].len);
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

static int seek_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);

    call(l, j);
    *j->found_count = (size_t)lua_tointeger(l, 2);
    j->rc = *j->found_count != 0 ? take(l, 3, *j->found_count, j->found) : CARET_NONE;
    return 0;
}

static int seek(void *who, const caret_slice *address, size_t count, int place, int back, caret_slice *found,
                size_t *found_count)
{
    struct job j = {.function = "seek",
                    .address = address,
                    .count = count,
                    .found = found,
                    .found_count = found_count,
                    .numbers = {place, back, (int)count - 1},
                    .n = 3};

    (void)who;
    return work(seek_body, &j);
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
