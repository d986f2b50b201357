/*
 * net.c - the Lua module caret.net: connections to servers, and which sockets a process has.
 *
 * Connections wait for the other side no longer than they were told, and not at all once a signal came that
 * the tool catches: both are an error like others, nil and a text.
 */
#include "tool/c/net.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <lauxlib.h>

static const char type_name[] = "caret.connection";

static int failed(lua_State *L, const char *text)
{
    lua_pushnil(L);
    lua_pushstring(L, text);
    return 2;
}

static int *connection(lua_State *L)
{
    return luaL_checkudata(L, 1, type_name);
}

static int net_close(lua_State *L)
{
    int *fd = connection(L);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return 0;
}

/* c:send(bytes) -> true | nil, text */
static int net_send(lua_State *L)
{
    size_t len, sent = 0;
    int fd = *connection(L);
    const char *bytes = luaL_checklstring(L, 2, &len);
    while (sent < len) {
        ssize_t n = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (n < 0)
            return failed(L, errno == EAGAIN ? "it takes no request" : strerror(errno));
        sent += (size_t)n;
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* c:receive() -> what has come, at least a byte | nil, text */
static int net_receive(lua_State *L)
{
    char bytes[16384];
    ssize_t n = recv(*connection(L), bytes, sizeof bytes, 0);
    if (n < 0)
        return failed(L, errno == EAGAIN ? "it does not answer" : strerror(errno));
    if (n == 0)
        return failed(L, "it closed the connection");
    lua_pushlstring(L, bytes, (size_t)n);
    return 1;
}

/* --------------------------------------------------------------- connecting */

/* Connect the newest connection's socket: false, errno says why not. */
static bool reach(int *to, const struct sockaddr *a, socklen_t len, double seconds)
{
    struct timeval limit = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};
    *to = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*to < 0)
        return false;
    setsockopt(*to, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(*to, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(*to, a, len) == 0)
        return true;
    int error = errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno;
    close(*to);
    *to = -1;
    errno = error;
    return false;
}

/* What is wrong, or NULL. */
static const char *reach_path(int *to, const char *path, double seconds)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        return strerror(ENAMETOOLONG);
    strcpy(a.sun_path, path);
    return reach(to, (struct sockaddr *)&a, sizeof a, seconds) ? NULL : strerror(errno);
}

static const char *reach_port(int *to, const char *host, const char *port, double seconds)
{
    struct addrinfo *list, hints = {.ai_socktype = SOCK_STREAM};
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return gai_strerror(rc);
    bool reached = false;
    for (struct addrinfo *a = list; a != NULL && !reached; a = a->ai_next)
        reached = reach(to, a->ai_addr, a->ai_addrlen, seconds);
    const char *text = reached ? NULL : strerror(errno);
    freeaddrinfo(list);
    return text;
}

/* connect(host, port, seconds), connect(path, nil, seconds) -> connection | nil, text.  No wait of the connection is
 * longer than so many seconds. */
static int net_connect(lua_State *L)
{
    const char *host = luaL_checkstring(L, 1), *port = luaL_optstring(L, 2, NULL);
    double seconds = luaL_checknumber(L, 3);
    int *fd = lua_newuserdatauv(L, sizeof *fd, 0);
    *fd = -1;
    luaL_setmetatable(L, type_name);
    const char *wrong = port == NULL ? reach_path(fd, host, seconds) : reach_port(fd, host, port, seconds);
    return wrong != NULL ? failed(L, wrong) : 1;
}

/* ------------------------------------------------------------------- /proc */

/* sockets(pid) -> {[inode as text] = true, ...}, empty if that process is not ours to look at */
static int net_sockets(lua_State *L)
{
    char path[64], target[64], inode[32];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)luaL_checkinteger(L, 1));
    lua_newtable(L);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        if (sscanf(target, "socket:[%31[0-9]", inode) == 1) {
            lua_pushboolean(L, 1);
            lua_setfield(L, -2, inode);
        }
    }
    if (d != NULL)
        closedir(d);
    return 1;
}

int caret__open_net(lua_State *L)
{
    static const luaL_Reg functions[] = {{"connect", net_connect}, {"sockets", net_sockets}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"send", net_send},
                                       {"receive", net_receive},
                                       {"close", net_close},
                                       {"__gc", net_close},
                                       {NULL, NULL}};
    luaL_newmetatable(L, type_name);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    luaL_newlib(L, functions);
    return 1;
}
