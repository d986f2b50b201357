/*
 * programs.c - the Lua module caret.programs: what a benchmark needs to run other programs.
 *
 * A program gets a process group of its own, so that it can be ended with its children, and dies with this
 * process.  Whoever runs programs calls watch() first: from then on the end of a child and the user's Ctrl-C wait
 * until pause() takes them, so that everything can be stopped and removed in peace.
 */
#include "tool/c/programs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "tool/c/embedded.h"
#include "tool/c/host.h"

/* ------------------------------------------------------------------ processes */

static void watched(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

static void mask_watched(int how)
{
    sigset_t set;
    watched(&set);
    sigprocmask(how, &set, NULL);
}

/* watch(): see above */
static int programs_watch(lua_State *L)
{
    (void)L;
    mask_watched(SIG_BLOCK);
    return 0;
}

/* unwatch(): what came meanwhile has its effect now */
static int programs_unwatch(lua_State *L)
{
    (void)L;
    mask_watched(SIG_UNBLOCK);
    return 0;
}

/* Does the user want an end?  After watch(). */
static int end_is_wanted(void)
{
    sigset_t set;
    return sigpending(&set) == 0 &&
           (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP));
}

/* pause(seconds) -> nil: so long nothing happened; true: a child ended.  Raises host.stopped: a signal wants an end. */
static int programs_pause(lua_State *L)
{
    lua_Number s = luaL_checknumber(L, 1);
    struct timespec t = {(time_t)s, (long)((s - (lua_Number)(time_t)s) * 1e9)};
    sigset_t set;

    watched(&set);
    int sig = sigtimedwait(&set, NULL, &t);
    if (sig == SIGCHLD)
        lua_pushboolean(L, 1);
    else if (sig > 0) {
        caret__host_interrupt(sig);
        return caret__host_stop(L);
    } else
        lua_pushnil(L);
    return 1;
}

/* nap(seconds), whatever signals came */
static int programs_nap(lua_State *L)
{
    lua_Number s = luaL_checknumber(L, 1);
    struct timespec t = {(time_t)s, (long)((s - (lua_Number)(time_t)s) * 1e9)};

    nanosleep(&t, NULL);
    return 0;
}

/* Text field of the table at index 2, or `other`. */
static const char *field(lua_State *L, const char *name, const char *other)
{
    if (!lua_istable(L, 2))
        return other;
    lua_getfield(L, 2, name);
    const char *text = lua_tostring(L, -1);
    lua_pop(L, 1); /* the table keeps it */
    return text != NULL ? text : other;
}

static void redirect(int fd, const char *path, int flags)
{
    int to = open(path, flags | O_CLOEXEC, 0600);
    if (to >= 0)
        dup2(to, fd);
}

static void set_environment(lua_State *L)
{
    if (!lua_istable(L, 2) || lua_getfield(L, 2, "env") != LUA_TTABLE)
        return;
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
        setenv(lua_tostring(L, -2), lua_tostring(L, -1), 1);
}

/* The child.  After fork only this thread is there, and this process has no other. */
static void become(lua_State *L, char **argv, pid_t parent)
{
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    redirect(0, field(L, "input", "/dev/null"), O_RDONLY);
    redirect(1, field(L, "out", "/dev/null"), O_WRONLY | O_CREAT | O_TRUNC);
    redirect(2, field(L, "err", "/dev/null"), O_WRONLY | O_CREAT | O_APPEND);
    set_environment(L);
    if (chdir(field(L, "dir", ".")) != 0)
        _exit(126);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* start({program, argument...}, {dir=, input=, out=, err=, env={NAME=value}}) -> pid; files are /dev/null by default */
static int programs_start(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    size_t n = lua_rawlen(L, 1);
    const char **argv = lua_newuserdata(L, (n + 1) * sizeof *argv);
    pid_t parent = getpid();

    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        argv[i] = luaL_checkstring(L, -1);
        lua_rawseti(L, 1, (lua_Integer)i + 1); /* as text: the table keeps it */
    }
    argv[n] = NULL;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(L, (char **)(uintptr_t)argv, parent);
    if (pid < 0)
        return luaL_error(L, "SYSTEM: can't start a process: %s", strerror(errno));
    setpgid(pid, pid); /* whoever is first */
    lua_pushinteger(L, pid);
    return 1;
}

/* kill(pid): it and its children, at once */
static int programs_kill(lua_State *L)
{
    pid_t pid = (pid_t)luaL_checkinteger(L, 1);
    if (pid > 1)
        kill(-pid, SIGKILL);
    return 0;
}

/* -------------------------------------------------------------------- network */

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* port() -> a port of 127.0.0.1 that nobody uses now */
static int programs_port(lua_State *L)
{
    struct sockaddr_in a = loopback(0);
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 &&
             getsockname(fd, (struct sockaddr *)&a, &len) == 0;
    if (fd >= 0)
        close(fd);
    if (!ok)
        return luaL_error(L, "SYSTEM: no free port on 127.0.0.1: %s", strerror(errno));
    lua_pushinteger(L, ntohs(a.sin_port));
    return 1;
}

/*
 * answers(port, request): does a server on 127.0.0.1 say something to it, within a second?  A connection alone tells
 * nothing: the kernel makes it while the server is ending, or stopped.
 */
static int programs_answers(lua_State *L)
{
    struct sockaddr_in a = loopback((int)luaL_checkinteger(L, 1));
    size_t len;
    const char *request = luaL_checklstring(L, 2, &len);
    struct timeval patience = {1, 0};
    char first;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
              connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
              send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len && recv(fd, &first, 1, 0) == 1;
    lua_pushboolean(L, ok);
    if (fd >= 0)
        close(fd);
    return 1;
}

/* ---------------------------------------------------------------------- files */

/* find(program) -> its path, from $PATH; nil: it is not installed */
static int programs_find(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *path = getenv("PATH");

    if (strchr(name, '/') != NULL) {
        lua_pushstring(L, access(name, X_OK) == 0 ? name : NULL);
        return 1;
    }
    for (path = path != NULL ? path : "/usr/bin:/bin"; *path != 0;) {
        size_t len = strcspn(path, ":");
        lua_pushlstring(L, path, len);
        lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), name);
        if (len > 0 && access(lua_tostring(L, -1), X_OK) == 0)
            return 1;
        lua_pop(L, 2);
        path += len + (path[len] == ':');
    }
    return 0;
}

/* exists(path) */
static int programs_exists(lua_State *L)
{
    lua_pushboolean(L, access(luaL_checkstring(L, 1), F_OK) == 0);
    return 1;
}

/* mkdir(path) -> true | nil, reason; one that is there is fine */
static int programs_mkdir(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct stat st;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", path, strerror(errno));
    return 2;
}

/* folder() -> where this program is */
static int programs_folder(lua_State *L)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return luaL_error(L, "/proc/self/exe: %s", strerror(errno));
    while (len > 1 && path[len - 1] != '/')
        len--;
    lua_pushlstring(L, path, (size_t)len - 1);
    return 1;
}

/* text(name) -> a file that is embedded in this program, by its name there (embedded.h) */
static int programs_text(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    for (const struct caret__embedded *e = caret__embedded; e->name != NULL; e++)
        if (strcmp(e->name, name) == 0) {
            lua_pushlstring(L, (const char *)e->data, e->len);
            return 1;
        }
    return luaL_error(L, "%s is not in this program", name);
}

/* names(beginning) -> list of the embedded files whose names begin so */
static int programs_names(lua_State *L)
{
    size_t n;
    const char *beginning = luaL_checklstring(L, 1, &n);
    lua_Integer count = 0;

    lua_newtable(L);
    for (const struct caret__embedded *e = caret__embedded; e->name != NULL; e++)
        if (strncmp(e->name, beginning, n) == 0) {
            lua_pushstring(L, e->name);
            lua_rawseti(L, -2, ++count);
        }
    return 1;
}

/* ----------------------------------------------------------------- the answer */

/*
 * reference(n) -> longest, highest of the 3n+1 sequences from 1 to n, known from nothing but arithmetic: a
 * sequence is followed until it falls below its start, whose length is in the array then.  nil: no memory, a
 * number that needs more than 63 bits, or the user wants an end.
 */
static int programs_reference(lua_State *L)
{
    uint64_t n = (uint64_t)luaL_checkinteger(L, 1), highest = 0;
    uint16_t *length = calloc(n + 1, sizeof *length), longest = 0;

    if (length == NULL)
        return 0;
    for (uint64_t start = 2; start <= n; start++) {
        if (start % (1u << 20) == 0 && (caret__interrupted != 0 || end_is_wanted())) {
            free(length);
            return 0;
        }
        uint64_t m = start;
        uint16_t steps = 0;
        do {
            if (m % 2 != 0 && m > INT64_MAX / 4) {
                free(length);
                return 0;
            }
            m = m % 2 == 0 ? m / 2 : 3 * m + 1;
            highest = m > highest ? m : highest;
            steps++;
        } while (m > start);
        length[start] = (uint16_t)(steps + length[m]);
        longest = length[start] > longest ? length[start] : longest;
    }
    free(length);
    lua_pushinteger(L, longest);
    lua_pushinteger(L, (lua_Integer)highest);
    return 2;
}

/* What slows this build down, or nil: its figures say nothing then. */
static const char *slow_build(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return "a sanitizer";
#elif defined(CARET_SMALL)
    return "tiny pages";
#elif defined(CARET_ASSERTS)
    return "assertions";
#elif defined(CARET_FAULTS)
    return "fault points";
#elif !defined(__OPTIMIZE__)
    return "no optimisation";
#else
    return NULL;
#endif
}

int caret__open_programs(lua_State *L)
{
    static const luaL_Reg functions[] = {{"watch", programs_watch},
                                         {"unwatch", programs_unwatch},
                                         {"pause", programs_pause},
                                         {"start", programs_start},
                                         {"kill", programs_kill},
                                         {"port", programs_port},
                                         {"answers", programs_answers},
                                         {"find", programs_find},
                                         {"exists", programs_exists},
                                         {"mkdir", programs_mkdir},
                                         {"folder", programs_folder},
                                         {"names", programs_names},
                                         {"nap", programs_nap},
                                         {"text", programs_text},
                                         {"reference", programs_reference},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushstring(L, slow_build());
    lua_setfield(L, -2, "slow_build");
    return 1;
}
