/*
 * pipes.c - pipes to children, and waiting for many descriptors.
 */
#include "web/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <lauxlib.h>

static int raise(lua_State *L, const char *what)
{
    return luaL_error(L, "SYSTEM: %s: %s", what, strerror(errno));
}

static int fd_at(lua_State *L, int index)
{
    return (int)luaL_checkinteger(L, index);
}

int caret__http_pipe(lua_State *L)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return raise(L, "pipe");
    lua_pushinteger(L, fds[0]);
    lua_pushinteger(L, fds[1]);
    return 2;
}

int caret__http_nonblock(lua_State *L)
{
    int fd = fd_at(L, 1), flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return raise(L, "fcntl");
    return 0;
}

int caret__http_read(lua_State *L)
{
    char bytes[16384];
    ssize_t n = read(fd_at(L, 1), bytes, sizeof bytes);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    lua_pushlstring(L, bytes, n > 0 ? (size_t)n : 0); /* an error is an end */
    return 1;
}

int caret__http_write(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    ssize_t done = write(fd_at(L, 1), text, n);

    if (done < 0 && errno != EAGAIN && errno != EINTR)
        return 0;
    lua_pushinteger(L, done > 0 ? done : 0);
    return 1;
}

static bool write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done <= 0)
            return false;
        text += done;
        n -= (size_t)done;
    }
    return true;
}

int caret__http_save(lua_State *L)
{
    size_t n;
    const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &n);
    const char *new_path = lua_pushfstring(L, "%s.%d", path, (int)getpid());

    unlink(new_path);
    int fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_all(fd, text, n);
    if (fd >= 0)
        close(fd);
    lua_pushboolean(L, ok && rename(new_path, path) == 0);
    return 1;
}

int caret__http_close(lua_State *L)
{
    close(fd_at(L, 1));
    return 0;
}

/* -------------------------------------------------------------------- waiting */

int caret__http_epoll(lua_State *L)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return raise(L, "epoll");
    lua_pushinteger(L, fd);
    return 1;
}

int caret__http_epoll_add(lua_State *L)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd_at(L, 2)};

    if (epoll_ctl(fd_at(L, 1), EPOLL_CTL_ADD, event.data.fd, &event) != 0)
        return raise(L, "epoll");
    return 0;
}

int caret__http_epoll_drop(lua_State *L)
{
    epoll_ctl(fd_at(L, 1), EPOLL_CTL_DEL, fd_at(L, 2), NULL);
    return 0;
}

int caret__http_epoll_list(lua_State *L)
{
    struct epoll_event events[32];
    int n = epoll_wait(fd_at(L, 1), events, 32, 0);

    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, events[i].data.fd);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}
