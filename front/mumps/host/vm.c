/*
 * vm.c - making the virtual machine.
 *
 * Modules come from the program itself: "mumps.host.main" is its file mumps/host/main.lua, and "mumps.host" is
 * mumps/host/init.lua.  As long as $CARET_M_SOURCE names a folder they are read there instead, for those who work on
 * them.
 */
#include "mumps/host/vm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>

#include "mumps/host/host.h"
#include "mumps/host/memory.h"
#include "mumps/host/reserve.h"

#define LONGEST 512 /* bytes of a path in the program, or in the folder of a developer */

/* The path of a module, without its end. */
static void path_of(char path[LONGEST], const char *module)
{
    snprintf(path, LONGEST - 16, "%s", module);
    for (char *p = path; *p != 0; p++)
        if (*p == '.')
            *p = '/';
}

/* Is it there?  Then it is loaded as a function, and 1 is returned. */
static int load_developed(lua_State *L, const char *folder, const char *path, const char *end)
{
    char file[2 * LONGEST];

    snprintf(file, sizeof file, "%s/%s%s", folder, path, end);
    FILE *f = fopen(file, "r");
    if (f == NULL)
        return 0;
    fclose(f);
    if (luaL_loadfile(L, file) != 0)
        lua_error(L);
    return 1;
}

static int load_inside(lua_State *L, const char *path, const char *end)
{
    char file[LONGEST];
    snprintf(file, sizeof file, "%s%s", path, end);
    const caret_mumps__file *f = caret_mumps__embedded(file);

    if (f == NULL)
        return 0;
    lua_pushfstring(L, "@%s", file);
    if (luaL_loadbuffer(L, (const char *)f->data, f->len, lua_tostring(L, -1)) != 0)
        lua_error(L);
    lua_remove(L, -2);
    return 1;
}

static int find_module(lua_State *L, const char *path)
{
    const char *folder = getenv("CARET_M_SOURCE");

    if (folder != NULL &&
        (load_developed(L, folder, path, ".lua") || load_developed(L, folder, path, "/init.lua")))
        return 1;
    return load_inside(L, path, ".lua") || load_inside(L, path, "/init.lua");
}

/* package.loaders: the module of that name, or nil.  What it does when it is loaded is interpreted, and so is all
 * of the compiler of M: it has so many ways that traces of them cost more than they gain. */
static int search(lua_State *L)
{
    char path[LONGEST];

    path_of(path, luaL_checkstring(L, 1));
    int found = find_module(L, path);
    if (found) {
        bool all = strstr(path, "mumps/compiler/") != NULL;
        luaJIT_setmode(L, -1, (all ? LUAJIT_MODE_ALLFUNC : LUAJIT_MODE_FUNC) | LUAJIT_MODE_OFF);
    }
    return found;
}

/* Before the files of package.path. */
static void add_searcher(lua_State *L)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "loaders");
    for (int i = (int)lua_objlen(L, -1); i >= 2; i--) {
        lua_rawgeti(L, -1, i);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushcfunction(L, search);
    lua_rawseti(L, -2, 2);
    lua_pop(L, 2);
}

/* The C functions are handed over as a pointer and a text: registry, to be taken by mumps.host. */
static void add_exports(lua_State *L)
{
    const char *declaration;
    size_t len;
    const void *exports = caret_mumps__exports(&declaration, &len);

    lua_createtable(L, 0, 2);
    lua_pushlightuserdata(L, (void *)exports);
    lua_setfield(L, -2, "pointer");
    lua_pushlstring(L, declaration, len);
    lua_setfield(L, -2, "declaration");
    lua_setfield(L, LUA_REGISTRYINDEX, "caret.mumps");
}

#define FIRST                                                                                                \
    4096 /* kilobytes before the first cycle of collection: modules, and what little programs need */

/* Most garbage of M is short texts: a cycle of collection begins early, when half as much came as there is, and goes
 * fast, so that they are few enough for the processor's caches. */
static void tune(lua_State *L)
{
    lua_gc(L, LUA_GCSETPAUSE, FIRST * 100 / (lua_gc(L, LUA_GCCOUNT, 0) + 1));
    lua_gc(L, LUA_GCRESTART, -1);
    lua_gc(L, LUA_GCSETPAUSE, 150);
    lua_gc(L, LUA_GCSETSTEPMUL, CARET_MUMPS__STEPS);
}

/* Routines of M are many and long: the compiler's limits are those of a program, not of a script.  All machine code is
 * in one area, as libgcc does not look whether it has memory to register one.  It comes with the first loop. */
static void allow_traces(lua_State *L)
{
    static const char *const limits[] = {"maxtrace=8000",   "maxrecord=8000", "maxmcode=16384",
                                         "sizemcode=16384", "maxside=400",    "maxsnap=1000"};
    int n = (int)(sizeof limits / sizeof limits[0]);

    lua_getglobal(L, "jit");
    lua_getfield(L, -1, "opt");
    lua_getfield(L, -1, "start");
    for (int i = 0; i < n; i++)
        lua_pushstring(L, limits[i]);
    lua_call(L, n, 0);
    lua_pop(L, 2);
    if (luaL_loadstring(L, "for i = 1, 200 do end") == 0)
        lua_call(L, 0, 0);
}

static int open_all(lua_State *L)
{
    luaL_openlibs(L);
    tune(L);
    if (caret_mumps__reserve_take(L))
        allow_traces(L);
    else
        luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    add_searcher(L);
    add_exports(L);
    caret_mumps__reserve_add(L);
    return 0;
}

lua_State *caret_mumps__vm(void)
{
    lua_State *L = luaL_newstate();

    if (L == NULL)
        return NULL;
    caret_mumps__memory_keep(L);
    if (lua_cpcall(L, open_all, NULL) != 0) {
        caret_mumps__vm_close(L);
        return NULL;
    }
    return L;
}

void caret_mumps__vm_close(lua_State *L)
{
    caret_mumps__reserve_drop();
    caret_mumps__memory_end(L);
    lua_close(L);
}

/* Runs protected: a module, argc and argv; leaves an exit status. */
static int run(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 2);
    char **argv = lua_touserdata(L, 3);

    lua_getglobal(L, "require");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "main");
    luaL_checkstack(L, argc, "too many arguments");
    for (int i = 1; i < argc; i++)
        lua_pushstring(L, argv[i]);
    lua_call(L, argc > 1 ? argc - 1 : 0, 1);
    return 1;
}

static int traceback(lua_State *L)
{
    lua_getglobal(L, "debug");
    lua_getfield(L, -1, "traceback");
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 2);
    lua_call(L, 2, 1);
    return 1;
}

int caret_mumps__main(lua_State *L, const char *module, int argc, char **argv)
{
    lua_pushcfunction(L, traceback);
    lua_pushcfunction(L, run);
    lua_pushstring(L, module);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    int failed = lua_pcall(L, 3, 1, 1);
    const char *text = failed ? lua_tostring(L, -1) : NULL;
    int status = failed ? CARET_MUMPS__BROKEN : (int)lua_tointeger(L, -1);

    if (text != NULL && strcmp(text, "not enough memory") == 0)
        fputs("%YDB-F-MEMORY, Central memory exhausted\n", stderr);
    else if (failed)
        fprintf(stderr, "caret-m: %s\n", text != NULL ? text : "an error without a text");
    lua_settop(L, 0);
    return status;
}
