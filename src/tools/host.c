/*
 * host.c - the Lua module caret.host: what commands need of the system and Lua lacks.
 *
 * Processes, a monotonic clock, terminals, the pipe that closed, and nodes from text.
 */
#include "tools/host.h"

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

#include "caret.h"

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
        signal(SIGPIPE, SIG_DFL);
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

/* ------------------------------------------------------- terminals and pipes */

/* isatty(descriptor) */
static int host_isatty(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* Writing to a closed pipe is an error from now on (EPIPE): the database is closed before the command ends. */
static int host_ignore_pipes(lua_State *L)
{
    (void)L;
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

/* End as a program does that knows nothing of this. */
static int host_die_of_pipe(lua_State *L)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    return luaL_error(L, "standard output is closed");
}

/* --------------------------------------------------------------------- nodes */

/* parse(ZWR text) -> name, table of subscripts as text | nil, what is wrong */
static int host_parse(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    char buf[CARET_MAX_KEY + CARET_MAX_NAME + 2];
    caret_node_buf n;

    if (caret_node_parse(&n.node, sizeof n, text, len, 1) != CARET_OK) {
        lua_pushnil(L);
        lua_pushstring(L, caret_message());
        return 2;
    }
    caret_slice name = caret_node_name(&n.node, buf);
    lua_pushlstring(L, name.data, name.len);
    lua_newtable(L);
    for (unsigned i = 0; i < caret_node_depth(&n.node); i++) {
        caret_node_subscript(&n.node, i, buf, sizeof buf, &len, NULL);
        lua_pushlstring(L, buf, len);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 2;
}

int caret__open_host(lua_State *L)
{
    static const luaL_Reg functions[] = {{"spawn", host_spawn},
                                         {"wait", host_wait},
                                         {"getpid", host_getpid},
                                         {"clock", host_clock},
                                         {"sleep", host_sleep},
                                         {"tempdir", host_tempdir},
                                         {"rmdir", host_rmdir},
                                         {"isatty", host_isatty},
                                         {"ignore_pipes", host_ignore_pipes},
                                         {"die_of_pipe", host_die_of_pipe},
                                         {"parse", host_parse},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushinteger(L, EPIPE);
    lua_setfield(L, -2, "EPIPE");
    return 1;
}
