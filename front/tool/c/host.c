/*
 * host.c - the Lua module caret.host: what commands need of the system and Lua lacks.
 *
 * Processes, a monotonic clock, terminals, the pipe that closed, temporary folders, and nodes from text.
 *
 * Signals that want an end (SIGINT, SIGTERM, SIGHUP) are caught from catch_signals() on.  A command that stops by
 * itself asks interrupted(); for all others host.stopped is raised in the Lua code that runs, once, so that it
 * unwinds, closes its databases and removes what it made.  Whoever sends another a second later means it: that
 * one has its usual effect.
 */
#include "tool/c/host.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "caret.h"
#include "lua/interrupt.h"

/* -------------------------------------------------------------------- signals */

#define PATIENCE 1 /* seconds from a signal to one that ends the process at once */

volatile sig_atomic_t caret__interrupted;

static time_t first_signal;  /* when it came */
static lua_State *unwinding; /* where the first one raises host.stopped, NULL = nowhere */

int caret__host_stop(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)&caret__interrupted);
    return lua_error(L);
}

void caret__host_die(int number)
{
    sigset_t none;

    fflush(NULL);
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&none); /* programs.watch() may have blocked it */
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void raise_stopped(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    caret__host_stop(L);
}

static time_t seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

void caret__host_interrupt(int number)
{
    if (caret__interrupted == 0) {
        caret__interrupted = number;
        first_signal = seconds_now();
    }
}

/* A signal makes the reading end readable, so that one that comes just before a wait ends it too. */
static int wake[2] = {-1, -1};

static void note_signal(int number)
{
    int saved = errno;

    if (caret__interrupted == 0) {
        caret__host_interrupt(number);
        if (unwinding != NULL) /* as Lua's own interpreter does it */
            lua_sethook(unwinding, raise_stopped, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
                        1);
    } else if (seconds_now() - first_signal > PATIENCE) {
        signal(number, SIG_DFL);
        raise(number); /* when this handler returns */
    }
    caret__lua_interrupt();
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

enum { ENDINGS = 3, WITH_PIPES = 4 };

static const int endings[WITH_PIPES] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/* Before another program: what the handlers here noted dies with this one, so a signal ends the process from now on,
 * also one that came before. */
static void end_by_signals(void)
{
    struct sigaction old;

    for (size_t i = 0; i < WITH_PIPES; i++)
        if (sigaction(endings[i], NULL, &old) == 0 && old.sa_handler == note_signal)
            signal(endings[i], SIG_DFL);
    if (caret__interrupted != 0)
        caret__host_die(caret__interrupted);
}

/* A table of texts as execv() takes them: it lives as long as what is pushed here, and the table. */
static char **arguments(lua_State *L, int table)
{
    size_t n = (size_t)lua_rawlen(L, table);
    char **argv = lua_newuserdatauv(L, (n + 1) * sizeof *argv, 0);

    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, table, (lua_Integer)i + 1); /* the table keeps them */
        argv[i] = (char *)(uintptr_t)luaL_checkstring(L, -1);
        lua_pop(L, 1);
    }
    argv[n] = NULL;
    return argv;
}

/* The child of execute(): it becomes the program, or writes to `failed` why it can't. */
static _Noreturn void become(lua_State *L, char **argv, int failed)
{
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1))
        if (lua_isstring(L, -1))
            setenv(lua_tostring(L, -2), lua_tostring(L, -1), 1);
        else
            unsetenv(lua_tostring(L, -2));
    signal(SIGPIPE, SIG_DFL);
    end_by_signals();
    execvp(argv[0], argv);
    int why = errno;
    while (write(failed, &why, sizeof why) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

/* execute({program, argument, ...}, {NAME = value, or false to have none, ...}) -> pid: found by $PATH, with
 * these in its environment; nil and why: it can't be run */
static int host_execute(lua_State *L)
{
    char **argv = arguments(L, 1);
    int failed[2], why = 0; /* a pipe that the program's start closes */
    if (pipe2(failed, O_CLOEXEC) != 0)
        return luaL_error(L, "SYSTEM: can't start a process: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(L, argv, failed[1]);
    int error = errno;
    close(failed[1]);
    ssize_t n = -1;
    while (pid > 0 && (n = read(failed[0], &why, sizeof why)) < 0 && errno == EINTR)
        continue;
    close(failed[0]);
    if (pid < 0)
        return luaL_error(L, "SYSTEM: can't start a process: %s", strerror(error));
    if (n != sizeof why) {
        lua_pushinteger(L, pid);
        return 1;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    lua_pushnil(L);
    lua_pushstring(L, strerror(why));
    return 2;
}

/* replace({program, argument, ...}): this process becomes that program -> text of why it can't */
static int host_replace(lua_State *L)
{
    char **argv = arguments(L, 1);
    fflush(NULL);
    end_by_signals();
    execv(argv[0], argv);
    lua_pushfstring(L, "%s: %s", argv[0], strerror(errno));
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

/* kill(pid, signal) */
static int host_kill(lua_State *L)
{
    kill((pid_t)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2));
    return 0;
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

/* await(fd, seconds; nil: for ever) -> can it be read?  Ends early if a signal comes. */
static int host_await(lua_State *L)
{
    lua_pushboolean(L, caret__host_wait((int)luaL_checkinteger(L, 1), luaL_optnumber(L, 2, -1)));
    return 1;
}

/* identity(path) -> which file it is, as text; nil: there is none */
static int host_identity(lua_State *L)
{
    struct stat st;

    if (stat(luaL_checkstring(L, 1), &st) != 0)
        return 0;
    lua_pushfstring(L, "%I:%I", (lua_Integer)st.st_dev, (lua_Integer)st.st_ino);
    return 1;
}

/* ---------------------------------------------------------- temporary folders */

/* tempdir() -> a new empty directory below $TMPDIR or /tmp */
static int host_tempdir(lua_State *L)
{
    const char *set = getenv("TMPDIR");
    char *base = realpath(set != NULL && *set != 0 ? set : "/tmp", NULL); /* others go there from elsewhere */
    lua_pushfstring(L, "%s/caret-XXXXXX", base != NULL ? base : set != NULL ? set : "/tmp");
    free(base);
    char *path = strdup(lua_tostring(L, -1));
    if (path == NULL || mkdtemp(path) == NULL) {
        free(path);
        return luaL_error(L, "SYSTEM: can't make a temporary directory %s: %s", lua_tostring(L, -1),
                          strerror(errno));
    }
    lua_pushstring(L, path);
    free(path);
    return 1;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* remove(folder): with all that is in it */
static int host_remove(lua_State *L)
{
    remove_folder(luaL_checkstring(L, 1));
    return 0;
}

/* scratch(f) -> what f(folder) returns; the new folder is removed after it, however it ends.  No signal gets in
 * between, as all of this is C. */
static int host_scratch(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    host_tempdir(L);
    lua_replace(L, 2);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    int rc = lua_pcall(L, 1, LUA_MULTRET, 0);
    remove_folder(lua_tostring(L, 2));
    return rc == LUA_OK ? lua_gettop(L) - 2 : lua_error(L);
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

/* catch_signals(unwind, pipes): have interrupted() tell of signals from now on; calls that wait end early.  unwind:
 * the first raises host.stopped, too.  pipes: so does writing to a closed pipe. */
static int host_catch_signals(lua_State *L)
{
    struct sigaction action = {.sa_handler = note_signal}, old;

    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return luaL_error(L, "SYSTEM: no pipe for signals: %s", strerror(errno));
    unwinding = lua_toboolean(L, 1) ? L : NULL;
    for (size_t i = 0; i < (lua_toboolean(L, 2) ? WITH_PIPES : ENDINGS); i++)
        if (sigaction(endings[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(endings[i], &action, NULL);
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

static int is_abandoned(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* abandoned() -> is standard output a pipe or socket whose reader has gone? */
static int host_abandoned(lua_State *L)
{
    lua_pushboolean(L, is_abandoned());
    return 1;
}

static char guarded[32];
static int lost; /* errno of the first write that failed, as far as it is known */

static void note_lost(int failed)
{
    if (failed && lost == 0)
        lost = errno;
}

/* print(...), as Lua's own */
static int host_print(lua_State *L)
{
    int n = lua_gettop(L);
    size_t len;

    for (int i = 1; i <= n; i++) {
        const char *text = luaL_tolstring(L, i, &len);
        note_lost((i > 1 && putchar('\t') == EOF) || fwrite(text, 1, len, stdout) < len);
        lua_pop(L, 1);
    }
    note_lost(putchar('\n') == EOF || fflush(stdout) != 0);
    return 0;
}

/* At the end of the process. */
static void check_output(void)
{
    note_lost(fflush(stdout) != 0);
    if (lost == 0 && !ferror(stdout))
        return;
    if (lost == EPIPE || is_abandoned())
        caret__host_die(SIGPIPE);
    fprintf(stderr, "caret %s: standard output: %s\n", guarded,
            lost != 0 ? strerror(lost) : "some of it could not be written");
    fflush(NULL);
    _exit(3);
}

/* guard_output(name): a user's program prints, and does not look whether that can be written: that command tells it,
 * and fails, also by os.exit(). */
static int host_guard_output(lua_State *L)
{
    snprintf(guarded, sizeof guarded, "%s", luaL_checkstring(L, 1));
    lua_pushcfunction(L, host_print);
    lua_setglobal(L, "print");
    atexit(check_output);
    return 0;
}

/* -------------------------------------------------------------------- errors */

/* reason() -> text of the last error without the engine's advice, and that: "OPTION does this", or "" */
static int host_reason(lua_State *L)
{
    lua_pushstring(L, caret_fact());
    lua_pushstring(L, caret_advice());
    return 2;
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
        lua_pushstring(L, caret_fact());
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
    static const luaL_Reg functions[] = {{"execute", host_execute},
                                         {"replace", host_replace},
                                         {"wait", host_wait},
                                         {"kill", host_kill},
                                         {"getpid", host_getpid},
                                         {"clock", host_clock},
                                         {"sleep", host_sleep},
                                         {"await", host_await},
                                         {"tempdir", host_tempdir},
                                         {"remove", host_remove},
                                         {"scratch", host_scratch},
                                         {"isatty", host_isatty},
                                         {"ignore_pipes", host_ignore_pipes},
                                         {"catch_signals", host_catch_signals},
                                         {"interrupted", host_interrupted},
                                         {"abandoned", host_abandoned},
                                         {"guard_output", host_guard_output},
                                         {"reason", host_reason},
                                         {"parse", host_parse},
                                         {"identity", host_identity},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushinteger(L, EPIPE);
    lua_setfield(L, -2, "EPIPE");
    lua_pushinteger(L, SIGPIPE);
    lua_setfield(L, -2, "SIGPIPE");
    lua_pushlightuserdata(L, (void *)(uintptr_t)&caret__interrupted);
    lua_setfield(L, -2, "stopped");
    return 1;
}
