/*
 * main.c - the tool `caret`: a Lua 5.4 with the module and the tool's programs inside.
 *
 * `caret COMMAND ARGUMENTS` runs tools/COMMAND.lua.  Programs are ordinary Lua over
 * the public module; what Lua itself lacks (processes, a monotonic clock) is the
 * small table `host` below.  Exit status: 0 fine, 1 finding or wrong answer,
 * 2 usage, 3 database error.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "caret.h"
#include "tools/embedded.h"
#include "tools/lines.h"
#include "tools/pool.h"

int luaopen_caret_core(lua_State *L);

/* ---------------------------------------------------------------------- host */

/* spawn(argument, ...) -> pid: this program again; it dies with its parent */
static int host_spawn(lua_State *L)
{
    int n = lua_gettop(L);
    pid_t parent = getpid();
    const char **argv = lua_newuserdata(L, ((size_t)n + 2) * sizeof *argv);

    argv[0] = "caret";
    for (int i = 1; i <= n; i++)
        argv[i] = luaL_checkstring(L, i);
    argv[n + 1] = NULL;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        execv("/proc/self/exe", (char **)(uintptr_t)argv);
        _exit(127);
    }
    if (pid < 0)
        return luaL_error(L, "can't start a process: %s", strerror(errno));
    lua_pushinteger(L, pid);
    return 1;
}

/* wait(pid, hang) -> nil while it runs; else how it ended: "exit" or "signal", and the number */
static int host_wait(lua_State *L)
{
    int status;
    pid_t pid;
    while ((pid = waitpid((pid_t)luaL_checkinteger(L, 1), &status, lua_toboolean(L, 2) ? 0 : WNOHANG)) < 0 &&
           errno == EINTR)
        continue;
    if (pid <= 0)
        return 0;
    lua_pushstring(L, WIFSIGNALED(status) ? "signal" : "exit");
    lua_pushinteger(L, WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return 2;
}

static int host_getpid(lua_State *L)
{
    lua_pushinteger(L, getpid());
    return 1;
}

static int host_clock(lua_State *L)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec * 1e-9);
    return 1;
}

static int host_sleep(lua_State *L)
{
    lua_Number s = luaL_checknumber(L, 1);
    struct timespec t = {(time_t)s, (long)((s - (lua_Number)(time_t)s) * 1e9)};
    nanosleep(&t, NULL);
    return 0;
}

/* tempdir() -> a new empty directory below $TMPDIR or /tmp */
static int host_tempdir(lua_State *L)
{
    const char *base = getenv("TMPDIR");
    lua_pushfstring(L, "%s/caret-XXXXXX", base != NULL && *base != 0 ? base : "/tmp");
    char *path = strdup(lua_tostring(L, -1));
    if (path == NULL || mkdtemp(path) == NULL) {
        free(path);
        return luaL_error(L, "can't make a temporary directory: %s", strerror(errno));
    }
    lua_pushstring(L, path);
    free(path);
    return 1;
}

static int host_rmdir(lua_State *L)
{
    lua_pushboolean(L, rmdir(luaL_checkstring(L, 1)) == 0);
    return 1;
}

static int open_host(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"spawn", host_spawn}, {"wait", host_wait},       {"getpid", host_getpid}, {"clock", host_clock},
        {"sleep", host_sleep}, {"tempdir", host_tempdir}, {"rmdir", host_rmdir},   {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}

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

/* Every file below lua/ is a module: lua/caret/json.lua is caret.json, lua/caret/init.lua is caret. */
static void preload_modules(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (const struct caret__embedded *e = caret__embedded; e->name != NULL; e++) {
        char name[128];
        size_t len = strlen(e->name);
        if (strncmp(e->name, "lua/", 4) != 0 || len >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(len - 8), e->name + 4); /* without lua/ and .lua */
        if (strlen(name) > 5 && strcmp(name + strlen(name) - 5, "/init") == 0)
            name[strlen(name) - 5] = 0;
        for (char *p = name; *p != 0; p++)
            if (*p == '/')
                *p = '.';
        lua_pushstring(L, e->name);
        lua_pushcclosure(L, open_module, 1);
        lua_setfield(L, -2, name);
    }
    lua_pop(L, 1);
}

/* Files of tools/ that are no commands but modules: tools/words.lua is caret.words. */
static const char *const parts[] = {"arguments", "words"};

static int is_part(const char *name)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i], name) == 0)
            return 1;
    return 0;
}

static void preload_parts(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        lua_pushfstring(L, "caret.%s", parts[i]);
        lua_pushfstring(L, "tools/%s.lua", parts[i]);
        lua_pushcclosure(L, open_module, 1);
        lua_rawset(L, -3);
    }
    lua_pop(L, 1);
}

/* Runs protected: arguments are argc and argv; leaves the exit status. */
static int run(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);
    char name[64];

    luaL_openlibs(L);
    preload(L, "caret.core", luaopen_caret_core);
    preload_modules(L);
    preload_parts(L);
    preload(L, "caret.host", open_host);
    preload(L, "caret.lines", caret__open_lines);
    const char *command = argc > 1 ? argv[1] : "help";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0)
        command = "help";
    if (strcmp(command, "--version") == 0 || strcmp(command, "version") == 0) {
        puts("caret " CARET_VERSION);
        lua_pushinteger(L, 0);
        return 1;
    }
    snprintf(name, sizeof name, "tools/%.40s.lua", command);
    if (embedded(name) == NULL || is_part(command)) {
        fprintf(stderr, "caret: no command '%.40s'; `caret help` lists them\n", command);
        lua_pushinteger(L, 2);
        return 1;
    }
    load_embedded(L, name);
    for (int i = 2; i < argc; i++)
        lua_pushstring(L, argv[i]);
    lua_call(L, argc > 2 ? argc - 2 : 0, 1);
    return 1;
}

int main(int argc, char **argv)
{
    struct caret__pool *pool = caret__pool_new();
    lua_State *L = pool != NULL ? lua_newstate(caret__pool_alloc, pool) : NULL;
    int status = 3;

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
    if (lua_pcall(L, 2, 1, 0) == LUA_OK)
        status = lua_isinteger(L, -1) ? (int)lua_tointeger(L, -1) : 0;
    else
        fprintf(stderr, "caret: %s\n", luaL_tolstring(L, -1, NULL));
    lua_close(L);
    caret__pool_destroy(pool);
    return status;
}
