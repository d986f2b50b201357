/*
 * host.c - the Lua module caret.host: what commands need of the system and Lua lacks.
 *
 * Processes, a monotonic clock, terminals, the pipe that closed, and nodes from text.
 */
#include "tools/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* -------------------------------------------------------------------- signals */

volatile sig_atomic_t caret__interrupted;

/* A signal makes the reading end readable, so that one that comes just before a wait ends it too. */
static int wake[2] = {-1, -1};

static void note_signal(int number)
{
    int saved = errno;

    caret__interrupted = number;
    if (write(wake[1], "", 1) < 0)
        errno = saved; /* the pipe is full: it is readable */
    errno = saved;
}

int caret__host_wait(int fd, double seconds)
{
    struct pollfd fds[2] = {{.fd = wake[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int timeout = seconds < 0 ? -1 : seconds < 1e6 ? (int)(seconds * 1e3 + 0.999) : 1000000000;

    if (caret__interrupted != 0)
        return 0;
    int n = poll(fds, 2, timeout);
    return n > 0 && caret__interrupted == 0 && fds[1].revents != 0;
}

/* ------------------------------------------------------------------ processes */

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
        signal(SIGPIPE, SIG_DFL); /* those that are caught are so by themselves */
        execv("/proc/self/exe", (char **)(uintptr_t)argv);
        _exit(127);
    }
    if (pid < 0)
        return luaL_error(L, "can't start a process: %s", strerror(errno));
    lua_pushinteger(L, pid);
    return 1;
}

/* execute({program, argument, ...}, {NAME = value or nil, ...}) -> pid: found by $PATH, with these in its environment;
 * it ends with status 127 if it can't be run */
static int host_execute(lua_State *L)
{
    size_t n = (size_t)lua_rawlen(L, 1);
    char **argv = lua_newuserdatauv(L, (n + 1) * sizeof *argv, 0);

    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1); /* the table keeps them */
        argv[i] = (char *)(uintptr_t)luaL_checkstring(L, -1);
        lua_pop(L, 1);
    }
    argv[n] = NULL;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1))
            setenv(lua_tostring(L, -2), lua_tostring(L, -1), 1);
        signal(SIGPIPE, SIG_DFL);
        execvp(argv[0], argv);
        fprintf(stderr, "caret: %s: %s\n", argv[0], strerror(errno));
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

/* sleep(seconds): less if a signal comes that is caught */
static int host_sleep(lua_State *L)
{
    lua_Number s = luaL_checknumber(L, 1);
    struct timespec t = {(time_t)s, (long)((s - (lua_Number)(time_t)s) * 1e9)};
    if (wake[0] < 0)
        nanosleep(&t, NULL);
    else
        caret__host_wait(-1, s);
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

/* Have interrupted() tell of signals from now on; calls that wait end early. */
static int host_catch_signals(lua_State *L)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_signal}, old;

    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return luaL_error(L, "no pipe for signals: %s", strerror(errno));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    return 0;
}

/* interrupted() -> the number of the signal that came, or nil */
static int host_interrupted(lua_State *L)
{
    if (caret__interrupted == 0)
        return 0;
    lua_pushinteger(L, caret__interrupted);
    return 1;
}

/* die(signal): end as a program does that does not catch it */
static int host_die(lua_State *L)
{
    int number = (int)luaL_checkinteger(L, 1);

    signal(number, SIG_DFL);
    raise(number);
    return luaL_error(L, "signal %d", number);
}

/* abandoned() -> is standard output a pipe or socket whose reader has gone? */
static int host_abandoned(lua_State *L)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    lua_pushboolean(L, poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0);
    return 1;
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
                                         {"execute", host_execute},
                                         {"wait", host_wait},
                                         {"getpid", host_getpid},
                                         {"clock", host_clock},
                                         {"sleep", host_sleep},
                                         {"tempdir", host_tempdir},
                                         {"rmdir", host_rmdir},
                                         {"isatty", host_isatty},
                                         {"ignore_pipes", host_ignore_pipes},
                                         {"catch_signals", host_catch_signals},
                                         {"interrupted", host_interrupted},
                                         {"die", host_die},
                                         {"abandoned", host_abandoned},
                                         {"parse", host_parse},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushinteger(L, EPIPE);
    lua_setfield(L, -2, "EPIPE");
    lua_pushinteger(L, SIGPIPE);
    lua_setfield(L, -2, "SIGPIPE");
    return 1;
}
