/*
 * main.c - the tool `caret`: a Lua 5.4 with the module and the tool's programs inside.
 *
 * `caret COMMAND ARGUMENTS` is a call of main() in lib/command.lua, which knows the
 * commands.  They are ordinary Lua over the public module; what Lua itself lacks
 * is in the module caret.host (host.c).  Every embedded file is a module (embedded.h).
 * Exit status: 0 fine, 1 finding or wrong answer, 2 usage, 3 database error.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tool/c/embedded.h"
#include "tool/c/host.h"
#include "tool/c/inspect.h"
#include "tool/c/lines.h"
#include "tool/c/measure.h"
#include "tool/c/net.h"
#include "tool/c/pool.h"
#include "tool/c/programs.h"
#include "tool/c/transfer.h"

#ifdef CARET_WEB
#include "web/http.h"
#endif

int luaopen_caret_core(lua_State *L);

/* ------------------------------------------------------------ embedded programs */

static const struct caret__embedded *embedded(const char *name)
{
    for (const struct caret__embedded *e = caret__embedded; e->name != NULL; e++)
        if (strcmp(e->name, name) == 0)
            return e;
    return NULL;
}

static int load_embedded(lua_State *L, const char *name)
{
    const struct caret__embedded *e = embedded(name);
    if (e == NULL)
        return luaL_error(L, "%s is not in this program", name);
    lua_pushfstring(L, "@%s", name);
    if (luaL_loadbuffer(L, (const char *)e->data, e->len, lua_tostring(L, -1)) != LUA_OK)
        return lua_error(L);
    return 1;
}

/* A module that is a file in here; upvalue 1: its name. */
static int open_module(lua_State *L)
{
    load_embedded(L, lua_tostring(L, lua_upvalueindex(1)));
    lua_call(L, 0, 1);
    return 1;
}

static void preload(lua_State *L, const char *name, lua_CFunction f)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* Name of the module that a file is: caret.json for caret/json.lua, caret for caret/init.lua. */
static void module_name(char *name, size_t size, const char *file)
{
    snprintf(name, size, "%.*s", (int)(strlen(file) - 4), file);
    char *end = name + strlen(name);
    if (end - name > 5 && strcmp(end - 5, "/init") == 0)
        end[-5] = 0;
    for (char *p = name; *p != 0; p++)
        if (*p == '/')
            *p = '.';
}

static void preload_modules(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (const struct caret__embedded *e = caret__embedded; e->name != NULL; e++) {
        char name[128];
        module_name(name, sizeof name, e->name);
        lua_pushstring(L, e->name);
        lua_pushcclosure(L, open_module, 1);
        lua_setfield(L, -2, name);
    }
    lua_pop(L, 1);
}

/* Runs protected: arguments are argc and argv; leaves the exit status, and a signal to end by or nil. */
static int run(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);

    luaL_openlibs(L);
    preload_modules(L);
    preload(L, "caret.core", luaopen_caret_core);
    preload(L, "caret.host", caret__open_host);
    preload(L, "caret.lines", caret__open_lines);
    preload(L, "caret.transfer", caret__open_transfer);
    preload(L, "caret.measure", caret__open_measure);
    preload(L, "caret.programs", caret__open_programs);
    preload(L, "caret.inspect", caret__open_inspect);
    preload(L, "caret.net", caret__open_net);
#ifdef CARET_WEB
    preload(L, "caret.http", caret__open_http);
#endif
    lua_getglobal(L, "require");
    lua_pushliteral(L, "tool.lib.command");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "main");
    luaL_checkstack(L, argc, "too many arguments");
    for (int i = 1; i < argc; i++)
        lua_pushstring(L, argv[i]);
    lua_call(L, argc > 1 ? argc - 1 : 0, 2);
    return 2;
}

/* A standard descriptor that is closed must not become that of a file which is opened next: it is taken by one that can
 * be neither read (0) nor written (1, 2), so that using it fails. */
static void take_closed_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv)
{
    take_closed_descriptors();
    signal(SIGCHLD, SIG_DFL); /* ignored, as a parent may have it, nothing tells that a program has ended */
    struct caret__pool *pool = caret__pool_new();
    lua_State *L = pool != NULL ? lua_newstate(caret__pool_alloc, pool) : NULL;
    int status = 3, number = 0;

    if (L == NULL) {
        fputs("caret: no memory\n", stderr);
        return 3;
    }
    /* Most objects of a program over a database are nodes that live for a line: a collection in four times
     * the live memory instead of two, done quickly, makes caret 3n1 two per cent faster. */
    lua_gc(L, LUA_GCINC, 400, 400, 0);
    lua_pushcfunction(L, run);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    if (lua_pcall(L, 2, 2, 0) == LUA_OK) {
        status = lua_isinteger(L, -2) ? (int)lua_tointeger(L, -2) : 0;
        number = (int)lua_tointeger(L, -1);
    } else if (lua_islightuserdata(L, -1)) /* host.stopped: a signal as the command had just ended */
        number = caret__interrupted;
    else
        fprintf(stderr, "caret: %s\n", luaL_tolstring(L, -1, NULL));
    lua_close(L); /* and with it each database that is still open */
    caret__pool_destroy(pool);
    if (number != 0)
        caret__host_die(number);
    return status;
}
