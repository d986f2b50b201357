/*
 * machine.c - caret_m.so: M for a program that calls it (m/machine.h).
 *
 * One virtual machine, made at the first call.  `mutex` guards it and all of this file's state; it is recursive, and is
 * held from the beginning to the end of each call.  What Lua does is in bridge/callin.lua: each of its functions
 * returns a status, and with an error its text.
 *
 * FORK.  `depth` is how often `owner` holds the mutex.  In the child there is the thread that forked and no other.  If
 * that one held it, M called C which forked: it is given the mutex again, as a recursive one knows its owner by the id
 * of its thread, which is another now.  If nobody did, the machine is as it was.  If another thread did, that one is
 * gone in the middle of M: the machine is lost, nothing of it is touched again, and each call in the child is refused.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "m/error.h"
#include "mumps/bridge/engine.h"
#include "mumps/bridge/locals.h"
#include "mumps/data/data.h"
#include "mumps/host/host.h"
#include "mumps/host/vm.h"

#define ARGUMENTS 34 /* of a call: what it returns, and those of M, which are 32 at most */

union cell {
    int64_t i;
    double d;
    void *p;
};

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic unsigned depth;
static pthread_t owner;
static bool lost;
static lua_State *L;
static struct caret_m__call *current;
static volatile int *raised; /* Lua's (runtime/interrupt.lua): a call is to end; by 0 */

/* ------------------------------------------------------------------------- fork */

static void enter(void *who)
{
    (void)who;
    pthread_mutex_lock(&mutex);
    owner = pthread_self();
    depth++;
}

static void leave(void *who)
{
    (void)who;
    depth--;
    pthread_mutex_unlock(&mutex);
}

static void in_child(void)
{
    mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    if (depth != 0 && !pthread_equal(owner, pthread_self())) {
        lost = true;
        depth = 0;
        caret_mumps__locals_lose();
    }
    for (unsigned i = 0; i < depth; i++)
        pthread_mutex_lock(&mutex);
}

static void heed_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* ------------------------------------------------------------------------ calls */

static caret_session *session_of(const char *name, size_t len)
{
    return current != NULL ? current->session(current->who, name, len) : NULL;
}

/* Locks: the caller's way, if it has one. */
static int take(caret_session *s, const caret_node *const *nodes, size_t n, uint64_t timeout_ns)
{
    return current != NULL && current->locks != NULL
               ? current->locks->take(current->who, s, nodes, n, timeout_ns)
               : caret_lock_more(s, nodes, n, timeout_ns);
}

static int give(caret_session *s, const caret_node *n)
{
    return current != NULL && current->locks != NULL ? current->locks->give(current->who, s, n)
                                                     : caret_unlock(s, n);
}

static const char *held(caret_session *s)
{
    static char *text;

    free(text);
    text = current != NULL && current->locks != NULL ? current->locks->held(current->who, s) : NULL;
    return text;
}

/* For Lua: what C that M called has met, or nothing. */
static int said(lua_State *l)
{
    const char *text = current != NULL && current->said != NULL ? current->said(current->who) : NULL;

    lua_pushstring(l, text);
    return text != NULL;
}

static int fail(struct caret_m__call *c, const char *text)
{
    if (text != NULL && strcmp(text, "not enough memory") == 0) {
        c->status = CARET_M__E_MEMORY;
        snprintf(c->text, sizeof c->text, "%d,(Call-In),%%YDB-F-MEMORY, Central memory exhausted",
                 -c->status);
        return c->status;
    }
    c->status = CARET_M__E_GTMASSERT2;
    snprintf(c->text, sizeof c->text, "%d,(Call-In),%%YDB-F-GTMASSERT2, %s", -c->status,
             text != NULL ? text : "");
    return c->status;
}

#define LOST "another thread was in M when this process was forked"

/* A call is refused: the machine is lost. */
static bool refused(struct caret_m__call *c)
{
    if (lost)
        fail(c, LOST);
    return lost;
}

/* A call begins: Lua's function is on the stack.  What was going on is put aside, as M may have called the caller. */
static struct caret_m__call *begin(struct caret_m__call *c, const char *function)
{
    enter(NULL);
    struct caret_m__call *before = current;
    current = c;
    c->status = 0;
    c->text[0] = '\0';
    luaL_checkstack(L, ARGUMENTS + 10, "call-in");
    lua_getfield(L, LUA_REGISTRYINDEX, "caret.callin");
    lua_getfield(L, -1, function);
    lua_remove(L, -2);
    return before;
}

/* Lua's function is run: it leaves a status, and `results` values, or a text. */
static int run(struct caret_m__call *c, int arguments, int results)
{
    if (lua_pcall(L, arguments, 1 + results, 0) != 0) {
        fail(c, lua_tostring(L, -1));
        lua_pop(L, 1);
        lua_settop(L, lua_gettop(L) + 1 + results);
        return c->status;
    }
    c->status = (int)lua_tointeger(L, -1 - results);
    const char *text = c->status != 0 && results > 0 ? lua_tostring(L, -results) : NULL;
    if (text != NULL)
        snprintf(c->text, sizeof c->text, "%s", text);
    return c->status;
}

static int end(struct caret_m__call *c, struct caret_m__call *before, int values)
{
    lua_pop(L, values);
    current = before;
    leave(NULL);
    return c->status;
}

/* --------------------------------------------------------------------- call-ins */

/* The arguments as the classes of their types say: i, l: integers of 32 and 64 bits, d: double, p: pointer. */
static int collect(union cell cells[ARGUMENTS], const char *classes, va_list args)
{
    int n = 0;

    for (const char *k = classes; *k != '\0' && n < ARGUMENTS; k++, n++) {
        if (*k == 'i')
            cells[n].i = va_arg(args, int);
        else if (*k == 'l')
            cells[n].i = va_arg(args, int64_t);
        else if (*k == 'd')
            cells[n].d = va_arg(args, double);
        else
            cells[n].p = va_arg(args, void *);
    }
    return n;
}

static int ci(struct caret_m__call *c, const char *name, size_t len, uintptr_t *entry, va_list args)
{
    union cell cells[ARGUMENTS];

    if (refused(c))
        return c->status;
    struct caret_m__call *before = begin(c, "signature");

    lua_pushlstring(L, name, len);
    lua_pushnumber(L, (lua_Number)*entry);
    run(c, 2, 2);
    if (c->status == 0) {
        *entry = (uintptr_t)lua_tonumber(L, -2);
        collect(cells, lua_tostring(L, -1), args);
        lua_getfield(L, LUA_REGISTRYINDEX, "caret.callin");
        lua_getfield(L, -1, "call");
        lua_remove(L, -2);
        lua_pushnumber(L, (lua_Number)*entry);
        lua_pushlightuserdata(L, cells);
        run(c, 2, 1);
        lua_pop(L, 2);
    }
    return end(c, before, 3);
}

static int open_table(struct caret_m__call *c, const char *file, uintptr_t *table)
{
    if (refused(c))
        return c->status;
    struct caret_m__call *before = begin(c, "open");

    lua_pushstring(L, file);
    run(c, 1, 1);
    if (c->status == 0)
        *table = (uintptr_t)lua_tonumber(L, -1);
    return end(c, before, 2);
}

static int use(struct caret_m__call *c, uintptr_t table, uintptr_t *old)
{
    if (refused(c))
        return c->status;
    struct caret_m__call *before = begin(c, "use");

    lua_pushnumber(L, (lua_Number)table);
    run(c, 1, 1);
    if (c->status == 0)
        *old = (uintptr_t)lua_tonumber(L, -1);
    return end(c, before, 2);
}

static int masks(struct caret_m__call *c, const char *name, size_t len, unsigned *in, unsigned *out)
{
    if (refused(c))
        return c->status;
    struct caret_m__call *before = begin(c, "masks");

    lua_pushlstring(L, name, len);
    run(c, 1, 2);
    if (c->status == 0) {
        *in = (unsigned)lua_tonumber(L, -2);
        *out = (unsigned)lua_tonumber(L, -1);
    }
    return end(c, before, 3);
}

/* The values stay on Lua's side until the next call: registry.  Index 1 of the table is what it quits with. */
static void take_values(caret_slice *values, size_t n)
{
    for (size_t i = 0; i <= n; i++) {
        size_t len = 0;
        lua_rawgeti(L, -1, (int)i + 1);
        const char *text = lua_tolstring(L, -1, &len);
        values[i] = (caret_slice){text, len};
        lua_pop(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "caret.callin.values");
}

static int run_entry(struct caret_m__call *c, const char *entry, const caret_slice *args, size_t n,
                     unsigned references, caret_slice *values)
{
    if (refused(c))
        return c->status;
    struct caret_m__call *before = begin(c, "run");

    lua_pushstring(L, entry);
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushlstring(L, args[i].data, args[i].len);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_pushnumber(L, references);
    lua_pushboolean(L, c->collects);
    if (run(c, 4, 1) == 0)
        take_values(values, n);
    return end(c, before, 2);
}

/* Loops of M look at it. */
static void ask_end(bool asks)
{
    raised[1] = 0;
    raised[0] = asks;
}

/* ------------------------------------------------------------------------ start */

static struct caret_m__machine machine = {.size = sizeof machine,
                                          .ci = ci,
                                          .open = open_table,
                                          .use = use,
                                          .masks = masks,
                                          .run = run_entry,
                                          .ask_end = ask_end};

/* Runs protected: the modules become those of the registry. */
static int load_module(lua_State *l)
{
    lua_getglobal(l, "require");
    lua_pushliteral(l, "mumps.bridge.callin");
    lua_call(l, 1, 1);
    lua_getfield(l, -1, "hear");
    lua_pushcfunction(l, said);
    lua_call(l, 1, 0);
    lua_getfield(l, -1, "raised");
    raised = (volatile int *)(uintptr_t)lua_topointer(l, -1);
    lua_pop(l, 1);
    lua_setfield(l, LUA_REGISTRYINDEX, "caret.callin");
    caret_mumps__locals_open(l, enter, leave);
    machine.locals = caret_mumps__locals();
    return 0;
}

__attribute__((visibility("default"))) caret_m_start_function caret_m_start;

const struct caret_m__machine *caret_m_start(const struct caret_m__entry *api, char why[256])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct caret_m__machine *m = NULL;

    pthread_once(&once, heed_forks);
    enter(NULL);
    if (lost)
        snprintf(why, 256, LOST);
    else if (L == NULL && caret_mumps__engine_set(api, why) && caret_mumps__lua_set(why)) {
        caret_mumps__sessions_of(session_of);
        caret_mumps__locks_of((struct caret_mumps__locks){.take = take, .give = give, .held = held});
        L = caret_mumps__vm();
        if (L == NULL)
            snprintf(why, 256, "no memory for M");
        else if (lua_cpcall(L, load_module, NULL) != 0) {
            snprintf(why, 256, "%s", lua_tostring(L, -1));
            lua_close(L);
            L = NULL;
        }
    }
    m = L != NULL && !lost ? &machine : NULL;
    leave(NULL);
    return m;
}
