/*
 * transfer.c - the Lua module caret.transfer: dump and load, over a database of their own.
 *
 * Both open the file once more, which is one more handle over the same engine, so the
 * Lua object of the database is left alone.  Callbacks run protected; one that raises,
 * or a signal that the command catches (host.c), stops the work at a whole node.
 */
#include "tool/c/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "tool/c/host.h"

/* Field of the table at 1; its string lives as long as the table. */
static const char *field_string(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    const char *s = lua_tostring(L, -1);
    lua_pop(L, 1);
    return s;
}

static int field_flag(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    int flag = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return flag;
}

/* Of option `format`; -1: none is given. */
static int field_format(lua_State *L)
{
    const char *name = field_string(L, "format");

    for (int i = 0; name != NULL && caret__format_names[i] != NULL; i++)
        if (strcmp(caret__format_names[i], name) == 0)
            return i;
    return name == NULL ? -1 : luaL_error(L, "there is no format '%s'", name);
}

static int failed(lua_State *L, const char *text)
{
    lua_pushnil(L);
    lua_pushstring(L, text);
    return 2;
}

static caret_db *open_again(lua_State *L, const char *path)
{
    caret_options options = {.size = sizeof options, .no_create = 1, .readonly = field_flag(L, "readonly")};
    caret_db *db = NULL;

    caret_open(path, &options, &db);
    return db;
}

/* Call the function in field `name` with what is on the stack above `top`; true: it said stop, or raised. */
static int call(lua_State *L, const char *name, int top)
{
    int n = lua_gettop(L) - top, stop;

    lua_getfield(L, 1, name);
    if (lua_isnil(L, -1)) {
        lua_settop(L, top);
        return 0;
    }
    lua_insert(L, top + 1);
    stop = lua_pcall(L, n, 1, 0) != LUA_OK || lua_toboolean(L, -1);
    lua_settop(L, top);
    return stop;
}

/* ----------------------------------------------------------------------- dump */

static int by_node(const void *a, const void *b)
{
    return caret_node_compare(&((const caret_node_buf *)a)->node, &((const caret_node_buf *)b)->node);
}

/* Is b below a, or a itself? */
static int is_below(const caret_node *a, const caret_node *b)
{
    caret_node_buf up;

    caret_node_copy(&up.node, sizeof up, b);
    while (caret_node_depth(&up.node) > caret_node_depth(a))
        caret_node_parent(&up.node, sizeof up, &up.node);
    return caret_node_equal(&up.node, a);
}

/* Field `nodes`, ZWR texts that were parsed before, in order and each once; in a userdata. */
static caret_node_buf *read_nodes(lua_State *L, size_t *count)
{
    size_t len, kept = 0;

    lua_getfield(L, 1, "nodes");
    *count = (size_t)lua_rawlen(L, -1);
    caret_node_buf *nodes = lua_newuserdatauv(L, (*count + 1) * sizeof *nodes, 0);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -2, (lua_Integer)i + 1);
        const char *text = lua_tolstring(L, -1, &len);
        if (caret_node_parse(&nodes[i].node, sizeof nodes[i], text, len, 1) != CARET_OK)
            luaL_error(L, "%s", caret_fact());
        lua_pop(L, 1);
    }
    qsort(nodes, *count, sizeof *nodes, by_node);
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || !is_below(&nodes[kept - 1].node, &nodes[i].node))
            nodes[kept++] = nodes[i];
    *count = kept;
    return nodes;
}

static int dump_progress(struct caret__dump *d)
{
    lua_State *L = d->arg;
    int top = lua_gettop(L);

    if (caret__interrupted != 0)
        return 1;
    lua_pushinteger(L, (lua_Integer)d->dumped);
    return call(L, "progress", top);
}

static int push_dumped(lua_State *L, const struct caret__dump *d, int rc)
{
    if (rc == CARET_OK || rc == CARET_ROLLBACK || caret__interrupted != 0) {
        lua_pushinteger(L, (lua_Integer)d->dumped);
        return 1;
    }
    if (rc == CARET_RESTART)
        return failed(L,
                      "somebody changed the database meanwhile: without --readonly it would be a snapshot");
    if (d->out->error == 0)
        return failed(L, caret_fact());
    failed(L, strerror(d->out->error));
    lua_pushboolean(L, d->out->error == EPIPE);
    return 3;
}

/* dump{path=, readonly=, nodes=, format=, bytes=, fd=, progress=}: how many nodes, less if a signal came
 * | nil, text[, it was the output that failed: is it a pipe that was closed?] */
static int transfer_dump(lua_State *L)
{
    struct caret__out out;
    struct caret__dump d = {.out = &out, .progress = dump_progress, .arg = L};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "fd");
    int fd = (int)lua_tointeger(L, -1);
    d.format = (enum caret__format)field_format(L);
    d.utf8 = !field_flag(L, "bytes");
    d.nodes = read_nodes(L, &d.count);
    if (caret__out_init(&out, fd) != 0)
        return failed(L, "no memory");
    d.db = open_again(L, field_string(L, "path"));
    int rc = d.db != NULL ? caret__dump(&d) : CARET_E_OPEN;
    int results = push_dumped(L, &d, rc);
    caret_close(d.db);
    caret__out_free(&out);
    return results;
}

/* ----------------------------------------------------------------------- load */

static int load_report(struct caret__load *l, const char *reason)
{
    lua_State *L = l->arg;
    int top = lua_gettop(L);

    lua_pushinteger(L, (lua_Integer)l->line);
    lua_pushstring(L, reason);
    return call(L, "report", top);
}

static int load_progress(struct caret__load *l)
{
    lua_State *L = l->arg;
    int top = lua_gettop(L);

    if (caret__interrupted != 0)
        return 1;
    lua_pushinteger(L, (lua_Integer)l->nodes);
    lua_pushinteger(L, (lua_Integer)(l->bytes - (l->end - l->at)));
    return call(L, "progress", top);
}

/* open() -> path of the database, or nil, text */
static int load_open(struct caret__load *l)
{
    lua_State *L = l->arg;
    int top = lua_gettop(L);

    lua_getfield(L, 1, "open");
    int ok = lua_pcall(L, 0, 2, 0) == LUA_OK && lua_isstring(L, top + 1);
    if (ok)
        l->db = open_again(L, lua_tostring(L, top + 1));
    else
        snprintf(l->message, sizeof l->message, "%s", luaL_tolstring(L, -1, NULL));
    lua_settop(L, top);
    return l->db != NULL ? CARET_OK : CARET_E_OPEN;
}

static int push_loaded(lua_State *L, const struct caret__load *l, int rc)
{
    const struct {
        const char *name;
        uint64_t v;
    } counts[] = {{"nodes", l->nodes}, {"bad", l->bad}, {"line", l->line}};

    lua_newtable(L);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        lua_pushinteger(L, (lua_Integer)counts[i].v);
        lua_setfield(L, -2, counts[i].name);
    }
    if (rc == CARET_OK || rc == CARET_ROLLBACK)
        return 1;
    lua_pushstring(L, rc == CARET_RESTART   ? "RESTART: others changed the database meanwhile; run it again"
                      : rc == CARET_E_NOMEM ? "NOMEM: no memory"
                      : *l->message != 0    ? l->message
                                            : caret_fact());
    return 2;
}

/* load{open=, fd=, format=, atomic=, dry=, report=, progress=}: counts, what failed but for bad lines (nil: nothing);
 * open() is called before the first node is set, report(line, reason) is true to stop */
static int transfer_load(lua_State *L)
{
    struct caret__load l = {.report = load_report, .open = load_open, .progress = load_progress, .arg = L};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "fd");
    l.fd = (int)lua_tointeger(L, -1);
    l.format = field_format(L);
    l.atomic = field_flag(L, "atomic");
    l.dry = field_flag(L, "dry");
    int rc = caret__load(&l), results = push_loaded(L, &l, rc);
    caret_close(l.db);
    return results;
}

/* ---------------------------------------------------------------------- files */

/* open(path, "r", "w" or "n") -> descriptor, bytes of a regular file | nil, text.  "w": one that is there; "n": a new
 * file. */
static int transfer_open(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1), *how = luaL_checkstring(L, 2);
    int flags = *how == 'n' ? O_WRONLY | O_CREAT | O_EXCL : *how == 'w' ? O_WRONLY : O_RDONLY;
    struct stat st;
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);

    if (fd < 0)
        return failed(L, strerror(errno));
    lua_pushinteger(L, fd);
    lua_pushinteger(L, fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (lua_Integer)st.st_size : 0);
    return 2;
}

/* What comes from `from`, up to its end, written to `to`.  -1: errno says why not; 0: all; 1: a signal came. */
static int copy_all(int from, int to)
{
    char buf[1 << 16];
    ssize_t n;

    for (;;) {
        if (!caret__host_wait(from, -1))
            return 1;
        n = read(from, buf, sizeof buf);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return (int)n;
        for (ssize_t at = 0, put; at < n; at += put) {
            put = write(to, buf + at, (size_t)(n - at));
            if (put < 0)
                return -1;
        }
    }
}

/* kept(descriptor) -> path of a file in memory with what is still to be read there, its descriptor | nil, text; or
 * nothing: a signal came */
static int transfer_kept(lua_State *L)
{
    int from = (int)luaL_checkinteger(L, 1), fd = memfd_create("caret-load", MFD_CLOEXEC);
    int rc = fd >= 0 ? copy_all(from, fd) : -1, error = errno;

    if (rc == 0) {
        lua_pushfstring(L, "/proc/self/fd/%d", fd);
        lua_pushinteger(L, fd);
        return 2;
    }
    if (fd >= 0)
        close(fd);
    return rc < 0 ? failed(L, strerror(error)) : 0;
}

/* close(descriptor[, true: sync it first]) -> true | nil, text */
static int transfer_close(lua_State *L)
{
    int fd = (int)luaL_checkinteger(L, 1);
    int bad = lua_toboolean(L, 2) && fsync(fd) != 0 && errno != EINVAL && errno != EROFS; /* not of a pipe */

    if (close(fd) != 0 || bad)
        return failed(L, strerror(errno));
    lua_pushboolean(L, 1);
    return 1;
}

/* resolve(path) -> path without links, "file", "folder" or "other" | nil: nothing is there */
static int transfer_resolve(lua_State *L)
{
    const char *given = luaL_checkstring(L, 1);
    struct stat st;

    if (stat(given, &st) != 0)
        return 0;
    char *path = realpath(given, NULL); /* of /dev/stdout there may be none */
    lua_pushstring(L, path != NULL ? path : given);
    lua_pushstring(L, S_ISREG(st.st_mode) ? "file" : S_ISDIR(st.st_mode) ? "folder" : "other");
    free(path);
    return 2;
}

/* publish(from, to, overwrite) -> true | nil, text: rename it; without overwrite nothing is replaced, as far
 * as the file system can tell */
static int transfer_publish(lua_State *L)
{
    const char *from = luaL_checkstring(L, 1), *to = luaL_checkstring(L, 2);
    unsigned flags = lua_toboolean(L, 3) ? 0 : RENAME_NOREPLACE;
    int rc = renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);

    if (rc != 0 && flags != 0 && (errno == EINVAL || errno == ENOSYS))
        rc = rename(from, to);
    if (rc != 0)
        return failed(L, strerror(errno));
    lua_pushboolean(L, 1);
    return 1;
}

int caret__open_transfer(lua_State *L)
{
    static const luaL_Reg functions[] = {{"dump", transfer_dump},       {"load", transfer_load},
                                         {"open", transfer_open},       {"close", transfer_close},
                                         {"kept", transfer_kept},       {"resolve", transfer_resolve},
                                         {"publish", transfer_publish}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
