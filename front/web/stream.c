/*
 * stream.c - an answer that goes on: server-sent events.
 *
 *   stream = http.stream()      made by the handler, which returns it instead of a body
 *   stream:write(text)          -> true; false: nobody reads it any more
 *   stream:close()              what was written still goes out
 *   stream:open()               does anybody read it?
 *   stream:waiting()            bytes that were not taken yet
 *
 * Lua writes into a buffer, and libmicrohttpd takes from it when the socket has room.  A connection without
 * anything to send is suspended: it costs no time.  What is written resumes it.  A browser that reads nothing
 * has MOST bytes and one event waiting at most: then the buffer is dropped, and the connection ends.
 *
 * A stream is shared by a Lua object and the response of a connection; whichever goes last frees it.  All of
 * this runs in one thread.
 */
#include "web/stream.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "web/mhd.h"

#define CLASS "caret.http.stream"
#define MOST  (1u << 20) /* bytes that wait for one browser; arbitrary */
#define BLOCK 8192       /* bytes that libmicrohttpd asks for at once */

struct stream {
    unsigned refs; /* the Lua object, the response */
    bool attached; /* it has, or had, a connection */
    bool gone;     /* nobody reads it */
    bool ended;    /* nothing will be written */
    bool asleep;   /* the connection is suspended */
    struct MHD_Connection *connection;
    int fd; /* of its socket */
    char *bytes;
    size_t used, cap;
    struct stream *next, **link; /* of all that have a connection */
};

static struct stream *all;

static void enter(struct stream *s)
{
    s->next = all;
    s->link = &all;
    if (all != NULL)
        all->link = &s->next;
    all = s;
}

static void leave(struct stream *s)
{
    if (s->link == NULL)
        return;
    *s->link = s->next;
    if (s->next != NULL)
        s->next->link = s->link;
    s->link = NULL;
}

static void drop(struct stream *s)
{
    free(s->bytes);
    s->bytes = NULL;
    s->used = s->cap = 0;
}

static void unref(struct stream *s)
{
    if (--s->refs > 0)
        return;
    drop(s);
    free(s);
}

static void wake(struct stream *s)
{
    if (!s->asleep)
        return;
    s->asleep = false;
    caret__mhd.resume_connection(s->connection);
}

/* ------------------------------------------------------------- libmicrohttpd */

/* The next bytes; none: the connection sleeps until there are some. */
static ssize_t next_bytes(void *arg, uint64_t at, char *buf, size_t max)
{
    struct stream *s = arg;

    (void)at;
    if (s->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = s->used < max ? s->used : max;
    if (n > 0) {
        memcpy(buf, s->bytes, n);
        s->used -= n;
        memmove(s->bytes, s->bytes + n, s->used);
        if (s->used == 0)
            drop(s);
        return (ssize_t)n;
    }
    if (s->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    s->asleep = true;
    caret__mhd.suspend_connection(s->connection);
    return 0;
}

/* The response goes: the browser has left, or all was sent. */
static void response_gone(void *arg)
{
    struct stream *s = arg;

    s->gone = true;
    s->asleep = false;
    leave(s);
    drop(s);
    unref(s);
}

void caret__stream_end_all(void)
{
    for (struct stream *s = all; s != NULL; s = s->next) {
        s->ended = true;
        wake(s);
    }
}

static bool hung_up(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void caret__stream_sweep(void)
{
    for (struct stream *s = all; s != NULL; s = s->next)
        if (s->asleep && hung_up(s->fd)) {
            s->gone = true;
            drop(s);
            wake(s);
        }
}

static int fd_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        caret__mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info != NULL ? info->connect_fd : -1;
}

/* ----------------------------------------------------------------------- Lua */

static struct stream *check(lua_State *L)
{
    return *(struct stream **)luaL_checkudata(L, 1, CLASS);
}

int caret__stream_is(lua_State *L, int index)
{
    return luaL_testudata(L, index, CLASS) != NULL;
}

struct MHD_Response *caret__stream_response(lua_State *L, int index, struct MHD_Connection *connection)
{
    struct stream *s = *(struct stream **)luaL_checkudata(L, index, CLASS);

    if (s->attached)
        return NULL;
    struct MHD_Response *r =
        caret__mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, next_bytes, s, response_gone);
    if (r == NULL)
        return NULL;
    s->attached = true;
    s->connection = connection;
    s->fd = fd_of(connection);
    s->refs++;
    enter(s);
    return r;
}

int caret__stream_new(lua_State *L)
{
    struct stream **box = lua_newuserdatauv(L, sizeof *box, 0);

    *box = NULL;
    luaL_setmetatable(L, CLASS);
    *box = calloc(1, sizeof **box);
    if (*box == NULL)
        return luaL_error(L, "NOMEM: no memory for a stream");
    (*box)->refs = 1;
    return 1;
}

static bool append(struct stream *s, const char *text, size_t n)
{
    if (s->used > MOST)
        return false;
    if (s->used + n > s->cap) {
        size_t cap = s->cap == 0 ? 1024 : s->cap;
        while (cap < s->used + n)
            cap *= 2;
        char *bytes = realloc(s->bytes, cap);
        if (bytes == NULL)
            return false;
        s->bytes = bytes;
        s->cap = cap;
    }
    memcpy(s->bytes + s->used, text, n);
    s->used += n;
    return true;
}

/* write(text) -> true | false: nobody reads it */
static int stream_write(lua_State *L)
{
    struct stream *s = check(L);
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);

    if (!s->gone && !s->ended && n > 0) {
        if (!append(s, text, n)) {
            s->gone = true;
            drop(s);
        }
        wake(s);
    }
    lua_pushboolean(L, !s->gone);
    return 1;
}

static int stream_close(lua_State *L)
{
    struct stream *s = check(L);

    s->ended = true;
    wake(s);
    return 0;
}

static int stream_open(lua_State *L)
{
    struct stream *s = check(L);

    lua_pushboolean(L, !s->gone && !s->ended);
    return 1;
}

static int stream_waiting(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)check(L)->used);
    return 1;
}

static int stream_collect(lua_State *L)
{
    struct stream *s = check(L);

    if (s != NULL) {
        s->ended = true;
        wake(s);
        unref(s);
    }
    return 0;
}

void caret__stream_class(lua_State *L)
{
    static const luaL_Reg methods[] = {{"write", stream_write},
                                       {"close", stream_close},
                                       {"open", stream_open},
                                       {"waiting", stream_waiting},
                                       {NULL, NULL}};

    luaL_newmetatable(L, CLASS);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, stream_collect);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}
