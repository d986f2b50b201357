/*
 * quick.c - redis.call() by LuaJIT's FFI: quick.h, quick.lua.
 */
#include "server/script/quick.h"

#include <stdio.h>

#include "server/codec/number.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/script/script.h"
#include "server/worker.h"

/* --------------------------------------------------------------- commands */

/* With so many arguments, its name among them, none of them answers a table or waits. */
static const struct {
    char name[2][16];
    int least, most;
} commands[] = {
    {{"append", "APPEND"}, 3, 3},
    {{"decr", "DECR"}, 2, 2},
    {{"decrby", "DECRBY"}, 3, 3},
    {{"del", "DEL"}, 2, 5},
    {{"exists", "EXISTS"}, 2, 5},
    {{"expire", "EXPIRE"}, 3, 4},
    {{"get", "GET"}, 2, 2},
    {{"getbit", "GETBIT"}, 3, 3},
    {{"getdel", "GETDEL"}, 2, 2},
    {{"getrange", "GETRANGE"}, 4, 4},
    {{"getset", "GETSET"}, 3, 3},
    {{"hdel", "HDEL"}, 3, 5},
    {{"hexists", "HEXISTS"}, 3, 3},
    {{"hget", "HGET"}, 3, 3},
    {{"hincrby", "HINCRBY"}, 4, 4},
    {{"hincrbyfloat", "HINCRBYFLOAT"}, 4, 4},
    {{"hlen", "HLEN"}, 2, 2},
    {{"hset", "HSET"}, 4, 4},
    {{"hsetnx", "HSETNX"}, 4, 4},
    {{"hstrlen", "HSTRLEN"}, 3, 3},
    {{"incr", "INCR"}, 2, 2},
    {{"incrby", "INCRBY"}, 3, 3},
    {{"incrbyfloat", "INCRBYFLOAT"}, 3, 3},
    {{"lindex", "LINDEX"}, 3, 3},
    {{"llen", "LLEN"}, 2, 2},
    {{"lpop", "LPOP"}, 2, 2},
    {{"lpush", "LPUSH"}, 3, 5},
    {{"lset", "LSET"}, 4, 4},
    {{"persist", "PERSIST"}, 2, 2},
    {{"pexpire", "PEXPIRE"}, 3, 4},
    {{"pttl", "PTTL"}, 2, 2},
    {{"publish", "PUBLISH"}, 3, 3},
    {{"rpop", "RPOP"}, 2, 2},
    {{"rpoplpush", "RPOPLPUSH"}, 3, 3},
    {{"rpush", "RPUSH"}, 3, 5},
    {{"sadd", "SADD"}, 3, 5},
    {{"scard", "SCARD"}, 2, 2},
    {{"set", "SET"}, 3, 5},
    {{"setbit", "SETBIT"}, 4, 4},
    {{"setex", "SETEX"}, 4, 4},
    {{"setnx", "SETNX"}, 3, 3},
    {{"setrange", "SETRANGE"}, 4, 4},
    {{"sismember", "SISMEMBER"}, 3, 3},
    {{"srem", "SREM"}, 3, 5},
    {{"strlen", "STRLEN"}, 2, 2},
    {{"ttl", "TTL"}, 2, 2},
    {{"type", "TYPE"}, 2, 2},
    {{"unlink", "UNLINK"}, 2, 5},
    {{"zadd", "ZADD"}, 4, 5},
    {{"zcard", "ZCARD"}, 2, 2},
    {{"zcount", "ZCOUNT"}, 4, 4},
    {{"zincrby", "ZINCRBY"}, 4, 4},
    {{"zrank", "ZRANK"}, 3, 3},
    {{"zrem", "ZREM"}, 3, 5},
    {{"zrevrank", "ZREVRANK"}, 3, 3},
    {{"zscore", "ZSCORE"}, 3, 3},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct serve__command *rows[COMMANDS]; /* of the table of commands */
static size_t lengths[COMMANDS];                    /* of their names */

/* ---------------------------------------------------------------- answers */

static struct serve__quick *of(struct serve__reply *r)
{
    return (struct serve__quick *)((char *)r - offsetof(struct serve__quick, reply));
}

static void text(struct serve__reply *r, int kind, const void *data, size_t len)
{
    struct serve__quick *k = of(r);
    k->room.len = 0;
    k->kind = QUICK_ERROR;
    k->answer = "ERR no memory for the answer";
    k->answer_len = 28;
    if (!serve__buffer_room(&k->room, len + 1))
        return;
    memcpy(k->room.data, data, len);
    k->answer = k->room.data;
    k->answer_len = (int32_t)len;
    k->kind = kind;
}

static void answer_status(struct serve__reply *r, const char *data, size_t len)
{
    text(r, QUICK_STATUS, data, len);
}

static void answer_error(struct serve__reply *r, const char *data, size_t len)
{
    r->errors++;
    text(r, QUICK_ERROR, data, len);
}

static void answer_bulk(struct serve__reply *r, const void *data, size_t len)
{
    text(r, QUICK_TEXT, data, len);
}

static void answer_integer(struct serve__reply *r, int64_t n)
{
    of(r)->answer_number = (double)n;
    of(r)->kind = QUICK_INTEGER;
}

static void answer_null(struct serve__reply *r)
{
    of(r)->kind = QUICK_NULL;
}

static void answer_real(struct serve__reply *r, double d)
{
    char digits[CARET_CODEC__DOUBLE_ROOM];
    text(r, QUICK_TEXT, digits, caret_codec__print_double(d, digits));
}

static void answer_boolean(struct serve__reply *r, bool yes)
{
    answer_integer(r, yes);
}

static void answer_verbatim(struct serve__reply *r, const char *kind, const void *data, size_t len)
{
    (void)kind;
    answer_bulk(r, data, len);
}

/* No command of the list does. */
static void answer_table(struct serve__reply *r, enum serve__kind kind, size_t n)
{
    static const char what[] = "ERR the answer is a table";
    (void)kind;
    (void)n;
    answer_error(r, what, sizeof what - 1);
}

static size_t answer_later(struct serve__reply *r)
{
    answer_table(r, SERVE__ARRAY, 0);
    return 0;
}

static void answer_close(struct serve__reply *r, enum serve__kind kind, size_t place, size_t n)
{
    (void)place;
    answer_table(r, kind, n);
}

/* There is one answer, which the next one replaces. */
static size_t answer_mark(struct serve__reply *r)
{
    (void)r;
    return 0;
}

static void answer_cut(struct serve__reply *r, size_t mark)
{
    (void)mark;
    of(r)->kind = QUICK_NULL;
}

static const struct serve__sink sink = {
    .status = answer_status,
    .error = answer_error,
    .integer = answer_integer,
    .bulk = answer_bulk,
    .null = answer_null,
    .null_array = answer_null,
    .real = answer_real,
    .boolean = answer_boolean,
    .verbatim = answer_verbatim,
    .big = answer_status,
    .open = answer_table,
    .later = answer_later,
    .close = answer_close,
    .mark = answer_mark,
    .cut = answer_cut,
};

/* ---------------------------------------------------------------- running */

/* May this command be run so, with so many arguments? */
static bool quick(const struct serve__scripts *x, int command, int argc)
{
    int i = command / 2;
    if (x->q == NULL || x->restart || serve__script_is_killed(x) || x->reply.protocol != 2)
        return false;
    if (argc < commands[i].least || argc > commands[i].most || rows[i] == NULL)
        return false;
    bool no_writes = x->readonly || x->q->w->config.n[SERVE__CFG_min_replicas_to_write] != 0;
    if (no_writes && (rows[i]->flags & (SERVE__WRITE | SERVE__MAY_REPLICATE)))
        return false;
    return x->q->c->user == NULL && !serve__script_holds_long(x);
}

/* The second argument, the field of a hash, may be a number: its node need not be made of its text. */
static bool is_number(const struct serve__scripts *x, int argc)
{
    const struct serve__quick *k = &x->quick;
    return argc > 2 && k->len[1] == SERVE__QUICK_NUMBER && serve__script_whole(k->number[1]);
}

static void know_number(const struct serve__scripts *x, struct serve__call *q, struct serve__ahead *ahead)
{
    if (!is_number(x, q->argc))
        return;
    *ahead = (struct serve__ahead){.digits = q->argv[2].data, .number = (int64_t)x->quick.number[1]};
    q->ahead = ahead;
}

static void print_argument(struct serve__scripts *x, int i)
{
    x->args[i] = serve__script_digits(x->quick.number[i - 1], x->numbers[i]);
}

/* Is the text of that number wanted?  If not there is a place for it, and nothing in it. */
static bool prints(struct serve__scripts *x, const struct serve__call *q, int i)
{
    if (i != 2 || !is_number(x, q->argc) || !serve__memo_prints_not(&x->memo, q))
        return true;
    x->args[i] = (caret_slice){x->numbers[i], 1};
    x->unprinted = true;
    return false;
}

static void take_arguments(struct serve__scripts *x, const struct serve__call *q)
{
    const struct serve__quick *k = &x->quick;
    x->unprinted = false;
    for (int i = 1; i < q->argc; i++) {
        if (k->len[i - 1] != SERVE__QUICK_NUMBER)
            x->args[i] = (caret_slice){k->text[i - 1], (size_t)k->len[i - 1]};
        else if (prints(x, q, i))
            print_argument(x, i);
    }
}

/* Is it refused?  Then that was answered. */
static bool refused(const struct serve__scripts *x, struct serve__call *q)
{
    return !(x->code->flags & SERVE__SCRIPT_ALLOW_OOM) && serve__memory_refuses != NULL &&
           (q->cmd->flags & SERVE__DENYOOM) && serve__memory_refuses(q);
}

/* In the turn. */
static int execute(struct serve__scripts *x, struct serve__call *q)
{
    struct serve__ahead ahead;
    if (q->w->monitors > 0 || q->w->limits != NULL)
        return QUICK_SLOW;
    q->db = q->c->db;
    q->ahead = NULL;
    x->quick.kind = QUICK_NULL;
    if (refused(x, q))
        return x->quick.kind;
    if (q->cmd->flags & SERVE__WRITE)
        atomic_store_explicit(&x->lease.wrote, true, memory_order_relaxed);
    know_number(x, q, &ahead);
    bool done = serve__memo_run(x, q);
    q->ahead = NULL;
    if (done)
        return x->restart ? QUICK_SLOW : x->quick.kind;
    if (x->restart || x->broken != CARET_OK)
        return QUICK_SLOW;
    if (x->unprinted)
        print_argument(x, 2);
    serve__script_look_ahead(x, q, &ahead);
    if (serve__execute(q) != CARET_RESTART)
        return x->quick.kind;
    x->restart = true;
    return QUICK_SLOW;
}

static int run(void *scripts, int command, int argc)
{
    struct serve__scripts *x = scripts;
    struct serve__call *q = &x->quick.call;
    if (!quick(x, command, argc))
        return QUICK_SLOW;
    if (!serve__script_uses(x, rows[command / 2]->flags & SERVE__READONLY))
        return QUICK_SLOW;
    x->args[0] = (caret_slice){commands[command / 2].name[command % 2], lengths[command / 2]};
    q->cmd = rows[command / 2];
    q->argc = argc;
    take_arguments(x, q);
    serve__unlend(x->q->w->handoff, &x->lease);
    int kind = execute(x, q);
    serve__lend(x->q->w->handoff, &x->lease);
    return kind;
}

void serve__quick_begin(struct serve__scripts *x)
{
    struct serve__quick *k = &x->quick;
    k->call = *x->q;
    k->call.reply = &k->reply;
    k->call.argv = x->args;
    k->call.script = x->q;
    k->call.ready = NULL;
    k->argv = x->q->argv + 3;
    x->memo.valid = x->memo.dirty = false;
    x->memo.last = NULL;
}

/* ----------------------------------------------------------------- making */

/* quick.lua */
static const char chunk[] = {
#include "server/quick.inc"
};

static void find_rows(void)
{
    for (int i = 0; i < COMMANDS && rows[i] == NULL; i++) {
        const struct serve__command *parent;
        caret_slice name = {commands[i].name[0], strlen(commands[i].name[0])};
        const struct serve__command *row = serve__command_of(&name, 1, &parent);
        rows[i] = row != NULL && row->run != NULL ? row : NULL;
        lengths[i] = name.len;
    }
}

/* Push the numbers of commands by name. */
static void push_names(lua_State *L)
{
    lua_createtable(L, 0, 2 * COMMANDS);
    for (int i = 0; i < 2 * COMMANDS; i++) {
        lua_pushinteger(L, i);
        lua_setfield(L, -2, commands[i / 2].name[i % 2]);
    }
}

void serve__quick_none(struct serve__scripts *x)
{
    x->quick.make_driver = x->quick.nodes = LUA_NOREF;
}

void serve__quick_open(lua_State *L, struct serve__scripts *x)
{
    int redis = lua_gettop(L);
    struct serve__quick *k = &x->quick;
    find_rows();
    k->run = run;
    serve__script_quick_nodes(k);
    serve__script_quick_row(k);
    k->scripts = x;
    k->reply.sink = &sink;
    k->reply.protocol = 2;
    if (luaL_loadbuffer(L, chunk, sizeof chunk - 1, "=quick") != 0)
        lua_error(L);
    lua_pushlightuserdata(L, k);
    push_names(L);
    lua_getfield(L, redis, "call");
    lua_getfield(L, redis, "pcall");
    lua_call(L, 4, 4);
    k->make_driver = k->nodes = LUA_NOREF;
    if (!lua_isnil(L, redis + 1)) {
        k->nodes = luaL_ref(L, LUA_REGISTRYINDEX);
        k->make_driver = luaL_ref(L, LUA_REGISTRYINDEX);
        lua_setfield(L, redis, "pcall");
        lua_setfield(L, redis, "call");
    }
    lua_settop(L, redis);
}

void serve__quick_nodes(lua_State *L, struct serve__scripts *x, int methods, int meta)
{
    if (x->quick.nodes == LUA_NOREF)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->quick.nodes);
    lua_pushvalue(L, methods);
    lua_pushvalue(L, meta);
    lua_call(L, 2, 0);
}

void serve__driver_free(lua_State *L, struct serve__driver *d)
{
    luaL_unref(L, LUA_REGISTRYINDEX, d->ref); /* of LUA_NOREF it does nothing */
    luaL_unref(L, LUA_REGISTRYINDEX, d->row);
    d->ref = d->row = LUA_NOREF;
}

void serve__quick_driver(lua_State *L, struct serve__scripts *x, struct serve__driver *d, int function,
                         int keys, int args)
{
    if (x->quick.make_driver == LUA_NOREF || keys + args > SERVE__DRIVER_ARGS)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->quick.make_driver);
    lua_rawgeti(L, LUA_REGISTRYINDEX, function);
    lua_pushinteger(L, keys);
    lua_pushinteger(L, args);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->keys);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->argv);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->clear);
    lua_call(L, 6, 2);
    serve__driver_free(L, d);
    d->row = luaL_ref(L, LUA_REGISTRYINDEX);
    d->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    d->keys = keys;
    d->args = args;
}
