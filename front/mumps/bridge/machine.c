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
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "m/error.h"
#include "m/settings.h"
#include "mumps/bridge/engine.h"
#include "mumps/bridge/locals.h"
#include "mumps/data/data.h"
#include "mumps/host/host.h"
#include "mumps/host/vm.h"
#include "mumps/io/io.h"

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

/* $ZGBLDIR: the caller's, if it has one for all. */
static const char *gbldir(void)
{
    static char room[PATH_MAX];

    if (current == NULL || current->gbldir == NULL)
        return NULL;
    current->gbldir->get(current->who, room, sizeof room);
    return room;
}

static const char *gbldir_set(const char *name, size_t len)
{
    return current->gbldir->set(current->who, name, len);
}

static int fail_as(struct caret_m__call *c, int status, const char *name, const char *text)
{
    c->status = status;
    snprintf(c->text, sizeof c->text, "%d,(Call-In),%%YDB-%s, %s", -status, name, text);
    return status;
}

/* With an error of Lua's own. */
static int fail(struct caret_m__call *c, const char *text)
{
    if (text != NULL && strcmp(text, "not enough memory") == 0)
        return fail_as(c, CARET_M__E_MEMORY, "F-MEMORY", "Central memory exhausted");
    if (text != NULL && strstr(text, "stack overflow") != NULL)
        return fail_as(c, CARET_M__E_STACKCRIT, "E-STACKCRIT", "Stack space critical");
    return fail_as(c, CARET_M__E_GTMASSERT2, "F-GTMASSERT2", text != NULL ? text : "");
}

#define LOST "another thread was in M when this process was forked"

/* A call: `body` works in Lua, and may fail there as it likes, for memory or the end of the stack.  It ends here: the
 * frames of the caller are C's, and of its caller maybe Lua's.  What was going on is put aside meanwhile. */
static int work(struct caret_m__call *c, lua_CFunction body, void *job)
{
    if (lost)
        return fail(c, LOST);
    enter(NULL);
    struct caret_m__call *before = current;
    current = c;
    caret_mumps__gbldir_is(c->database);
    caret_m__maxtptime_use(c->maxtptime);
    c->status = 0;
    c->text[0] = '\0';
    if (lua_cpcall(L, body, job) != 0) {
        fail(c, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    current = before;
    caret_mumps__gbldir_is(before != NULL ? before->database : NULL);
    caret_m__maxtptime_use(before != NULL ? before->maxtptime : NULL);
    leave(NULL);
    return c->status;
}

/* A function of bridge/callin.lua, to be called. */
static void push_function(lua_State *l, const char *name)
{
    luaL_checkstack(l, ARGUMENTS + 10, "call-in");
    lua_getfield(l, LUA_REGISTRYINDEX, "caret.callin");
    lua_getfield(l, -1, name);
    lua_remove(l, -2);
}

/* It is called: it leaves a status, and `results` values, or a text. */
static int run(lua_State *l, struct caret_m__call *c, int arguments, int results)
{
    lua_call(l, arguments, 1 + results);
    c->status = (int)lua_tointeger(l, -1 - results);
    const char *text = c->status != 0 && results > 0 ? lua_tostring(l, -results) : NULL;
    if (text != NULL)
        snprintf(c->text, sizeof c->text, "%s", text);
    return c->status;
}

/* --------------------------------------------------------------------- call-ins */

/* What the bodies are given; of each what it needs. */
struct job {
    struct caret_m__call *c;
    const char *name; /* of an entry, or a file */
    size_t len;
    uintptr_t *number; /* of an entry or a table: in and out */
    va_list args;
    unsigned *in, *out;
    const caret_slice *texts;
    size_t n;
    unsigned references;
    caret_slice *values;
};

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

static int ci_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);
    union cell cells[ARGUMENTS];

    push_function(l, "signature");
    lua_pushlstring(l, j->name, j->len);
    lua_pushnumber(l, (lua_Number)*j->number);
    if (run(l, j->c, 2, 2) != 0)
        return 0;
    *j->number = (uintptr_t)lua_tonumber(l, -2);
    collect(cells, lua_tostring(l, -1), j->args);
    push_function(l, "call");
    lua_pushnumber(l, (lua_Number)*j->number);
    lua_pushlightuserdata(l, cells);
    run(l, j->c, 2, 1);
    return 0;
}

static int ci(struct caret_m__call *c, const char *name, size_t len, uintptr_t *entry, va_list args)
{
    struct job j = {.c = c, .name = name, .len = len, .number = entry};

    va_copy(j.args, args);
    work(c, ci_body, &j);
    va_end(j.args);
    return c->status;
}

static int open_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);

    push_function(l, "open");
    lua_pushstring(l, j->name);
    if (run(l, j->c, 1, 1) == 0)
        *j->number = (uintptr_t)lua_tonumber(l, -1);
    return 0;
}

static int open_table(struct caret_m__call *c, const char *file, uintptr_t *table)
{
    return work(c, open_body, &(struct job){.c = c, .name = file, .number = table});
}

static int use_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);

    push_function(l, "use");
    lua_pushnumber(l, (lua_Number)*j->number);
    if (run(l, j->c, 1, 1) == 0)
        *j->number = (uintptr_t)lua_tonumber(l, -1);
    return 0;
}

static int use(struct caret_m__call *c, uintptr_t table, uintptr_t *old)
{
    uintptr_t number = table;

    if (work(c, use_body, &(struct job){.c = c, .number = &number}) == 0)
        *old = number;
    return c->status;
}

static int masks_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);

    push_function(l, "masks");
    lua_pushlstring(l, j->name, j->len);
    if (run(l, j->c, 1, 2) == 0) {
        *j->in = (unsigned)lua_tonumber(l, -2);
        *j->out = (unsigned)lua_tonumber(l, -1);
    }
    return 0;
}

static int masks(struct caret_m__call *c, const char *name, size_t len, unsigned *in, unsigned *out)
{
    return work(c, masks_body, &(struct job){.c = c, .name = name, .len = len, .in = in, .out = out});
}

/* The values stay on Lua's side until the next call: registry.  Index 1 of the table is what it quits with. */
static void take_values(lua_State *l, caret_slice *values, size_t n)
{
    for (size_t i = 0; i <= n; i++) {
        size_t len = 0;
        lua_rawgeti(l, -1, (int)i + 1);
        const char *text = lua_tolstring(l, -1, &len);
        values[i] = (caret_slice){text, len};
        lua_pop(l, 1);
    }
    lua_setfield(l, LUA_REGISTRYINDEX, "caret.callin.values");
}

static int run_body(lua_State *l)
{
    struct job *j = lua_touserdata(l, 1);

    push_function(l, "run");
    lua_pushstring(l, j->name);
    lua_createtable(l, (int)j->n, 0);
    for (size_t i = 0; i < j->n; i++) {
        lua_pushlstring(l, j->texts[i].data, j->texts[i].len);
        lua_rawseti(l, -2, (int)i + 1);
    }
    lua_pushnumber(l, j->references);
    lua_pushboolean(l, j->c->collects);
    if (run(l, j->c, 4, 1) == 0)
        take_values(l, j->values, j->n);
    return 0;
}

static int run_entry(struct caret_m__call *c, const char *entry, const caret_slice *args, size_t n,
                     unsigned references, caret_slice *values)
{
    return work(
        c, run_body,
        &(struct job){
            .c = c, .name = entry, .texts = args, .n = n, .references = references, .values = values});
}

/* Loops of M look at it, and what waits. */
static void ask_end(bool asks)
{
    raised[1] = 0;
    raised[0] = asks;
    if (asks)
        caret_mumps__io_wake();
}

static void on_line(lua_State *l, lua_Debug *at)
{
    if (raised[0] != 0 && (lua_getinfo(l, "S", at) == 0 || strncmp(at->source, "=M", 2) != 0))
        return; /* not M's own line */
    lua_sethook(l, NULL, 0, 0);
    if (raised[0] == 0)
        return;
    push_function(l, "heed");
    lua_call(l, 0, 0);
}

/* LuaJIT allows that in a handler.  Machine code sees no hook: its loops look at `raised`. */
static void end_here(void)
{
    if (raised[0] != 0)
        lua_sethook(L, on_line, LUA_MASKLINE, 0);
}

/* ------------------------------------------------------------------------ start */

static struct caret_m__machine machine = {.size = sizeof machine,
                                          .ci = ci,
                                          .open = open_table,
                                          .use = use,
                                          .masks = masks,
                                          .run = run_entry,
                                          .ask_end = ask_end,
                                          .end_here = end_here};

__attribute__((visibility("default"))) caret_m_start_function caret_m_start;

/* Push caret-m, which JOB starts, as this program is another one: where it is seen from the folder of caret_m.so, in a
 * build and installed; nil if it is nowhere there. */
static void push_program(lua_State *l)
{
    static const char *const places[] = {"", "../../bin/", "../../../bin/"};
    char path[PATH_MAX];
    Dl_info here;
    void *own;

    *(caret_m_start_function **)&own = caret_m_start;
    const char *name = dladdr(own, &here) != 0 ? here.dli_fname : NULL,
               *end = name != NULL ? strrchr(name, '/') : NULL;
    for (size_t i = 0; end != NULL && i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, sizeof path, "%.*s%scaret-m", (int)(end + 1 - name), name, places[i]);
        if (n > 0 && (size_t)n < sizeof path && access(path, X_OK) == 0) {
            lua_pushstring(l, path);
            return;
        }
    }
    lua_pushstring(l, NULL);
}

/* Runs protected: the modules become those of the registry. */
static int load_module(lua_State *l)
{
    lua_getglobal(l, "require");
    lua_pushliteral(l, "mumps.bridge.callin");
    lua_call(l, 1, 1);
    lua_getfield(l, -1, "hear");
    lua_pushcfunction(l, said);
    lua_call(l, 1, 0);
    lua_getfield(l, -1, "jobs_by");
    push_program(l);
    lua_call(l, 1, 0);
    lua_getfield(l, -1, "raised");
    raised = (volatile int *)(uintptr_t)lua_topointer(l, -1);
    lua_pop(l, 1);
    lua_setfield(l, LUA_REGISTRYINDEX, "caret.callin");
    caret_mumps__io_be_woken();
    caret_mumps__locals_open(l, enter, leave);
    machine.locals = caret_mumps__locals();
    return 0;
}

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
        caret_mumps__gbldir_of(gbldir, gbldir_set);
        caret_mumps__locks_of((struct caret_mumps__locks){.take = take, .give = give, .held = held});
        L = caret_mumps__vm();
        if (L == NULL)
            snprintf(why, 256, "no memory for M");
        else if (lua_cpcall(L, load_module, NULL) != 0) {
            snprintf(why, 256, "%s", lua_tostring(L, -1));
            caret_mumps__vm_close(L);
            L = NULL;
        }
    }
    m = L != NULL && !lost ? &machine : NULL;
    leave(NULL);
    return m;
}
