/*
 * http.c - the Lua module caret.http: a small HTTP server for one program's own page.
 *
 *   server = http.open {address=, port=, accept=, handle=, key=, certificate=, patience=}   | nil, text
 *   server:port()    the one that it got
 *   server:fd()      can be read when run() has something to do
 *   server:run()     -> seconds after which it wants to be called again | nil: when fd() says so
 *   server:sweep()   ends connections that dawdle
 *   server:close()
 *
 * libmicrohttpd reads requests and writes answers; it has no thread: all of it runs in run(), and there the
 * two Lua functions are called.
 *
 *   accept(request)         when the head of a request is there -> how many bytes its body may have;
 *                           or nil, status, headers, body: it is refused, and its body is not read
 *   handle(request, body)   when the body is there, too -> status, headers, body or stream
 *
 * A request is a table: method, path, query (a table), headers (a table of lower-case names; one that comes
 * twice has both values, with a comma).
 *
 *                      head complete                body complete              answered
 *      +---------+   accept()     +---------+     handle()     +-----------+
 *      | waiting | -------------> |  body   | ---------------> | answering | ---> waiting
 *      +---------+                +---------+                  +-----------+
 *
 * A connection that is waiting or in a body for longer than `patience` seconds is shut down by sweep(), however
 * often it sends a byte (libmicrohttpd only notices those that send none); so is one that takes an answer too
 * slowly, by libmicrohttpd.  The limits: CONNECTIONS at once, HEAD bytes for a head.  When there are CROWD, those
 * that dawdle keep others out: then HURRY seconds are the most.
 *
 * No Lua error may pass through libmicrohttpd: whatever may raise is called by lua_pcall().
 */
#include "web/http.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "web/bytes.h"
#include "web/mhd.h"
#include "web/pipes.h"
#include "web/stream.h"

#define CLASS       "caret.http.server"
#define CONNECTIONS 64u
#define CROWD       48
#define HURRY       3 /* seconds */
#define HEAD        (32u << 10)
#define BODY        (32u << 20) /* bytes, whatever accept() says */

enum state { WAITING, IN_BODY, ANSWERING };

struct connection {
    struct connection *next, **link;
    int fd;
    enum state state;
    time_t since; /* of a WAITING or IN_BODY */
};

struct server {
    struct MHD_Daemon *daemon;
    lua_State *L; /* that run() was called in */
    struct connection *connections;
    time_t patience; /* seconds for a head or a body, and without a byte of an answer taken */
};

struct request {
    int table; /* reference to it */
    char *body;
    size_t used, cap, max;
};

static time_t seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* ---------------------------------------------------------------- connections */

static struct connection *connection_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        caret__mhd.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info != NULL ? info->socket_context : NULL;
}

static void enter_state(struct MHD_Connection *c, enum state state)
{
    struct connection *k = connection_of(c);

    if (k == NULL)
        return;
    k->state = state;
    k->since = seconds_now();
}

static void connected(struct server *s, struct MHD_Connection *c, void **context)
{
    const union MHD_ConnectionInfo *info =
        caret__mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *k = calloc(1, sizeof *k);

    if (k == NULL)
        return; /* it is not swept */
    k->fd = info != NULL ? info->connect_fd : -1;
    k->since = seconds_now();
    k->next = s->connections;
    k->link = &s->connections;
    if (k->next != NULL)
        k->next->link = &k->next;
    s->connections = k;
    *context = k;
}

static void disconnected(void **context)
{
    struct connection *k = *context;

    if (k == NULL)
        return;
    *k->link = k->next;
    if (k->next != NULL)
        k->next->link = k->link;
    free(k);
    *context = NULL;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connected(arg, c, context);
    else
        disconnected(context);
}

/* ------------------------------------------------------------------- requests */

/* Into the table at the top: a name that comes twice has both values. */
static enum MHD_Result put_header(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_n,
                                  const char *value, size_t n)
{
    lua_State *L = arg;

    (void)kind;
    luaL_Buffer name;
    luaL_buffinit(L, &name);
    for (size_t i = 0; i < key_n; i++)
        luaL_addchar(&name, (char)tolower((unsigned char)key[i]));
    luaL_pushresult(&name);
    lua_pushvalue(L, -1);
    bool again = lua_rawget(L, -3) == LUA_TSTRING;
    lua_pushstring(L, again ? ", " : "");
    lua_pushlstring(L, value, n);
    lua_concat(L, again ? 3 : 2);
    if (!again)
        lua_remove(L, -2); /* nil */
    lua_rawset(L, -3);
    return MHD_YES;
}

static enum MHD_Result put_argument(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_n,
                                    const char *value, size_t n)
{
    lua_State *L = arg;

    (void)kind;
    lua_pushlstring(L, key, key_n);
    lua_pushlstring(L, value, n);
    lua_rawset(L, -3);
    return MHD_YES;
}

static void set_string(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

struct head {
    struct MHD_Connection *connection;
    const char *url, *method;
};

/* The table of a request. */
static int make_table(lua_State *L)
{
    const struct head *h = lua_touserdata(L, 1);

    lua_createtable(L, 0, 4);
    set_string(L, "method", h->method);
    set_string(L, "path", h->url);
    lua_newtable(L);
    caret__mhd.get_connection_values_n(h->connection, MHD_HEADER_KIND, put_header, L);
    lua_setfield(L, -2, "headers");
    lua_newtable(L);
    caret__mhd.get_connection_values_n(h->connection, MHD_GET_ARGUMENT_KIND, put_argument, L);
    lua_setfield(L, -2, "query");
    return 1;
}

/* -------------------------------------------------------------------- answers */

struct answer {
    struct MHD_Connection *connection;
    struct server *server;
    struct MHD_Response *response;
    unsigned status;
};

static void add_headers(lua_State *L, int index, struct MHD_Response *r)
{
    if (!lua_istable(L, index))
        return;
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1))
        caret__mhd.add_response_header(r, lua_tostring(L, -2), lua_tostring(L, -1));
}

/* From status, headers, body or stream, which are the last three of the stack. */
static void take_answer(lua_State *L, struct answer *a)
{
    int at = lua_gettop(L) - 2;
    size_t n = 0;

    a->status = (unsigned)lua_tointeger(L, at);
    if (caret__stream_is(L, at + 2)) {
        a->response = caret__stream_response(L, at + 2, a->connection);
    } else {
        const char *body = luaL_optlstring(L, at + 2, "", &n);
        a->response =
            caret__mhd.create_response_from_buffer(n, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    }
    if (a->response == NULL)
        luaL_error(L, "NOMEM: no memory for an answer");
    add_headers(L, at + 1, a->response);
}

static enum MHD_Result send_answer(struct answer *a)
{
    enum MHD_Result ok = caret__mhd.queue_response(a->connection, a->status, a->response);

    caret__mhd.destroy_response(a->response);
    enter_state(a->connection, ANSWERING);
    return ok;
}

/* A Lua function failed, whose message is at the top. */
static enum MHD_Result send_failure(lua_State *L, struct MHD_Connection *c)
{
    static const char text[] = "{\"error\":{\"name\":\"INTERNAL\",\"text\":\"the server made a mistake\"}}";
    const char *what = lua_tostring(L, -1);
    struct answer a = {.connection = c, .status = 500};

    lua_writestringerror("caret web: %s\n", what != NULL ? what : "?");
    a.response = caret__mhd.create_response_from_buffer(sizeof text - 1, (void *)(uintptr_t)text,
                                                        MHD_RESPMEM_PERSISTENT);
    return a.response != NULL ? send_answer(&a) : MHD_NO;
}

/* ------------------------------------------------------------- calls into Lua */

/* What `struct call` of the functions that are called protected needs. */
struct call {
    struct answer answer;
    const struct head *head;
    struct request *request;
    int refused;
};

static void push_function(lua_State *L, struct server *s, const char *name)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, s);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
}

/* A head is there: is it accepted? */
static int call_accept(lua_State *L)
{
    struct call *c = lua_touserdata(L, 1);

    push_function(L, c->answer.server, "accept");
    lua_pushcfunction(L, make_table);
    lua_pushlightuserdata(L, (void *)(uintptr_t)c->head);
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    c->request->table = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_call(L, 1, 4);
    c->refused = !lua_isinteger(L, -4);
    if (c->refused)
        take_answer(L, &c->answer);
    else
        c->request->max = (size_t)lua_tointeger(L, -4) < BODY ? (size_t)lua_tointeger(L, -4) : BODY;
    return 0;
}

static int call_handle(lua_State *L)
{
    struct call *c = lua_touserdata(L, 1);

    push_function(L, c->answer.server, "handle");
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->request->table);
    lua_pushlstring(L, c->request->body, c->request->used);
    free(c->request->body);
    c->request->body = NULL;
    lua_call(L, 2, 3);
    take_answer(L, &c->answer);
    return 0;
}

/* Does that function; MHD_NO and an answer if it failed. */
static bool protected_call(struct server *s, lua_CFunction f, struct call *c, enum MHD_Result *result)
{
    lua_State *L = s->L;
    int top = lua_gettop(L);

    lua_pushcfunction(L, f);
    lua_pushlightuserdata(L, c);
    bool ok = lua_checkstack(L, 20) && lua_pcall(L, 1, 0, 0) == LUA_OK;
    if (!ok)
        *result = send_failure(L, c->answer.connection);
    lua_settop(L, top);
    return ok;
}

/* ------------------------------------------------------------ from libmicrohttpd */

static enum MHD_Result begin_request(struct server *s, struct head *h, void **context)
{
    struct request *r = calloc(1, sizeof *r);
    struct call c = {.answer = {.connection = h->connection, .server = s}, .head = h, .request = r};
    enum MHD_Result result = MHD_YES;

    if (r == NULL)
        return MHD_NO;
    r->table = LUA_NOREF;
    *context = r;
    enter_state(h->connection, IN_BODY);
    if (!protected_call(s, call_accept, &c, &result))
        return result;
    return c.refused ? send_answer(&c.answer) : MHD_YES;
}

static bool add_body(struct request *r, const char *bytes, size_t n)
{
    if (n > r->max - r->used)
        return false;
    if (r->used + n > r->cap) {
        size_t cap = 2 * (r->used + n);
        char *body = realloc(r->body, cap);
        if (body == NULL)
            return false;
        r->body = body;
        r->cap = cap;
    }
    memcpy(r->body + r->used, bytes, n);
    r->used += n;
    return true;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *n,
                                  void **context)
{
    struct server *s = arg;
    struct head h = {connection, url, method};
    struct request *r = *context;
    enum MHD_Result result = MHD_NO;

    (void)version;
    if (r == NULL)
        return begin_request(s, &h, context);
    if (*n > 0) {
        bool ok = add_body(r, data, *n);
        *n = 0;
        return ok ? MHD_YES : MHD_NO; /* the connection is closed */
    }
    struct call c = {.answer = {.connection = connection, .server = s}, .request = r};
    return protected_call(s, call_handle, &c, &result) ? send_answer(&c.answer) : result;
}

static void on_completed(void *arg, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct server *s = arg;
    struct request *r = *context;

    (void)code;
    enter_state(c, WAITING);
    if (r == NULL)
        return;
    luaL_unref(s->L, LUA_REGISTRYINDEX, r->table);
    free(r->body);
    free(r);
    *context = NULL;
}

static void log_nothing(void *arg, const char *format, va_list list)
{
    (void)arg, (void)format, (void)list; /* of hostile requests there would be no end */
}

/* ----------------------------------------------------------------------- open */

static int failed(lua_State *L, const char *text)
{
    lua_pushnil(L);
    lua_pushstring(L, text);
    return 2;
}

/* Text field of the table at 1; NULL: there is none. */
static const char *field(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    const char *text = lua_tostring(L, -1);
    lua_pop(L, 1); /* the table keeps it */
    return text;
}

static unsigned flags_of(const struct sockaddr_storage *a, bool tls)
{
    return MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
           (a->ss_family == AF_INET6 ? MHD_USE_IPv6 : 0u) | (tls ? MHD_USE_TLS : 0u);
}

static void start(struct server *s, struct sockaddr_storage *a, const char *key, const char *certificate)
{
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate},
                                   {MHD_OPTION_END, 0, NULL}};

    s->daemon = caret__mhd.start_daemon(
        flags_of(a, key != NULL), 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, log_nothing, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)a, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)s->patience, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, key != NULL ? tls : tls + 2,
        MHD_OPTION_END);
}

/* NULL, or what is wrong. */
static const char *resolve(lua_State *L, struct sockaddr_storage *a)
{
    struct addrinfo *list, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_PASSIVE};
    int rc = getaddrinfo(field(L, "address"), field(L, "port"), &hints, &list);

    if (rc != 0)
        return gai_strerror(rc);
    memcpy(a, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return NULL;
}

/* Why did it not start?  The library does not tell. */
static const char *why_not(const struct sockaddr_storage *a, bool tls)
{
    socklen_t len = a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int yes = 1, fd = socket(a->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                 bind(fd, (const struct sockaddr *)a, len) == 0 && listen(fd, 1) == 0;
    int error = errno;

    if (fd >= 0)
        close(fd);
    if (bound)
        return tls ? "--cert and --key can't be used: both are PEM, and belong together"
                   : "can't listen there";
    return error == EADDRINUSE      ? "the port is in use: choose another with --port"
           : error == EADDRNOTAVAIL ? "this machine has no such address"
                                    : strerror(error);
}

static int http_open(lua_State *L)
{
    struct sockaddr_storage a = {0};

    luaL_checktype(L, 1, LUA_TTABLE);
    const char *wrong = caret__mhd_load();
    if (wrong == NULL)
        wrong = resolve(L, &a);
    if (wrong != NULL)
        return failed(L, wrong);
    if (field(L, "key") != NULL && caret__mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return failed(L, "this libmicrohttpd has no TLS");
    lua_getfield(L, 1, "patience");
    time_t patience = (time_t)luaL_checkinteger(L, -1);
    struct server *s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = (struct server){.patience = patience};
    luaL_setmetatable(L, CLASS);
    s->L = L;
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, s);
    start(s, &a, field(L, "key"), field(L, "certificate"));
    return s->daemon != NULL ? 1 : failed(L, why_not(&a, field(L, "key") != NULL));
}

static struct server *check(lua_State *L)
{
    struct server *s = luaL_checkudata(L, 1, CLASS);

    if (s->daemon == NULL)
        luaL_error(L, "the server is closed");
    return s;
}

static int server_port(lua_State *L)
{
    lua_pushinteger(L, caret__mhd.get_daemon_info(check(L)->daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    return 1;
}

static int server_fd(lua_State *L)
{
    lua_pushinteger(L, caret__mhd.get_daemon_info(check(L)->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
    return 1;
}

static int server_run(lua_State *L)
{
    struct server *s = check(L);
    MHD_UNSIGNED_LONG_LONG milliseconds;

    s->L = L;
    caret__mhd.run(s->daemon);
    if (caret__mhd.get_timeout(s->daemon, &milliseconds) != MHD_YES)
        return 0;
    lua_pushnumber(L, (lua_Number)milliseconds / 1000);
    return 1;
}

static lua_Integer count_connections(const struct server *s)
{
    lua_Integer n = 0;

    for (const struct connection *c = s->connections; c != NULL; c = c->next)
        n++;
    return n;
}

/* sweep() -> how many connections there are */
static int server_sweep(lua_State *L)
{
    struct server *s = check(L);
    lua_Integer n = count_connections(s);
    time_t now = seconds_now(), most = n >= CROWD && s->patience > HURRY ? HURRY : s->patience;

    caret__stream_sweep();
    for (struct connection *c = s->connections; c != NULL; c = c->next)
        if (c->state != ANSWERING && now - c->since > most && c->fd >= 0)
            shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd finds it closed */
    lua_pushinteger(L, n);
    return 1;
}

static int server_close(lua_State *L)
{
    struct server *s = luaL_checkudata(L, 1, CLASS);

    if (s->daemon == NULL)
        return 0;
    s->L = L;
    caret__stream_end_all();
    for (int i = 0; i < 3; i++) /* what was resumed is sent, as far as it can be at once */
        caret__mhd.run(s->daemon);
    caret__mhd.stop_daemon(s->daemon);
    s->daemon = NULL;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, s);
    return 0;
}

static void new_class(lua_State *L)
{
    static const luaL_Reg methods[] = {{"port", server_port},   {"fd", server_fd},       {"run", server_run},
                                       {"sweep", server_sweep}, {"close", server_close}, {NULL, NULL}};

    luaL_newmetatable(L, CLASS);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, server_close);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}

int caret__open_http(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open", http_open},
                                         {"stream", caret__stream_new},
                                         {"random", caret__http_random},
                                         {"same", caret__http_same},
                                         {"tag", caret__http_tag},
                                         {"base64", caret__http_base64},
                                         {"unbase64", caret__http_unbase64},
                                         {"save", caret__http_save},
                                         {"pipe", caret__http_pipe},
                                         {"nonblock", caret__http_nonblock},
                                         {"read", caret__http_read},
                                         {"write", caret__http_write},
                                         {"close", caret__http_close},
                                         {"epoll", caret__http_epoll},
                                         {"epoll_add", caret__http_epoll_add},
                                         {"epoll_drop", caret__http_epoll_drop},
                                         {"epoll_list", caret__http_epoll_list},
                                         {NULL, NULL}};

    new_class(L);
    caret__stream_class(L);
    luaL_newlib(L, functions);
    return 1;
}
