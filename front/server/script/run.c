/*
 * run.c - a run of a script: script.h.
 */
#include <stdio.h>

#include "server/admin/measure.h"
#include "server/conn.h"
#include "server/event.h"
#include "server/keys/evict.h"
#include "server/multi.h"
#include "server/script/debugger.h"
#include "server/worker.h"

/* Empty the table on top of the stack. */
static void clear(lua_State *L)
{
    lua_pushnil(L);
    lua_setmetatable(L, -2);
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
}

int serve__script_clear(lua_State *L)
{
    const struct serve__scripts *x = serve__scripts_here(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->keys);
    clear(L);
    lua_pop(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->argv);
    clear(L);
    return 0;
}

/* The table of the reference becomes {argv[0], ... argv[n - 1]}, and nothing else. */
static void fill(lua_State *L, int ref, const caret_slice *argv, int n)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
    clear(L);
    for (int i = 0; i < n; i++) {
        lua_pushlstring(L, argv[i].data, argv[i].len);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pop(L, 1);
}

/* A function of a library may keep its arguments: they are new tables. */
static void push_list(lua_State *L, const caret_slice *argv, int n)
{
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushlstring(L, argv[i].data, argv[i].len);
        lua_rawseti(L, -2, i + 1);
    }
}

/* In a protected call: KEYS, ARGV, the script.  What it returns is left on the stack. */
int serve__script_body(lua_State *L)
{
    struct serve__scripts *x = lua_touserdata(L, 1);
    const struct serve__call *q = x->q;
    int64_t keys = 0;
    serve__read_integer(&q->argv[2], &keys);
    lua_settop(L, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->caller);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->code->ref);
    if (x->code->function) {
        push_list(L, q->argv + 3, (int)keys);
        push_list(L, q->argv + 3 + keys, q->argc - 3 - (int)keys);
        lua_call(L, 3, 1);
        return 1;
    }
    struct serve__driver *d = x->code->driver;
    if (++d->runs % SERVE__DRIVER_RUNS == 0)
        serve__quick_driver(L, x, d, x->code->ref, (int)keys, q->argc - 3 - (int)keys);
    fill(L, x->keys, q->argv + 3, (int)keys);
    fill(L, x->argv, q->argv + 3 + keys, q->argc - 3 - (int)keys);
    lua_call(L, 1, 1);
    return 1;
}

/* Answer the error on top of the stack: {err, source, line}. */
static void answer_error(struct serve__call *q, const struct serve__scripts *x)
{
    lua_State *L = x->L;
    char text[1024];
    if (!lua_istable(L, -1)) { /* no memory, or an error within the handler */
        const char *what = lua_tostring(L, -1);
        snprintf(text, sizeof text, "ERR %s script: %s", what != NULL ? what : "unknown error",
                 x->code->name);
        serve__measure_error(q, text);
    } else {
        lua_pushliteral(L, "err");
        lua_rawget(L, -2);
        lua_pushliteral(L, "source");
        lua_rawget(L, -3);
        lua_pushliteral(L, "line");
        lua_rawget(L, -4);
        const char *what = lua_tostring(L, -3), *source = lua_tostring(L, -2), *line = lua_tostring(L, -1);
        snprintf(text, sizeof text, "%s script: %s, on %s:%s.", what != NULL ? what : "ERR unknown error",
                 x->code->name, source != NULL ? source : "?", line != NULL ? line : "?");
        lua_pop(L, 3);
        serve__script_count_error(q, L, text);
    }
    serve__reply_cut(q->reply, q->mark);
    q->reply->sink->error(q->reply, text, strlen(text));
}

/* The scripts whose runner the call has. */
static struct serve__scripts *scripts_running(const struct serve__call *q)
{
    return (struct serve__scripts *)((char *)q->r - offsetof(struct serve__scripts, run));
}

/* Is there a driver for so many keys and arguments? */
static bool has_driver(const struct serve__scripts *x)
{
    const struct serve__driver *d = x->code->driver;
    int64_t keys = 0;
    if (d == NULL || d->ref == LUA_NOREF || !serve__read_integer(&x->q->argv[2], &keys))
        return false;
    return keys == d->keys && x->q->argc - 3 - keys == d->args;
}

/* Run the Lua function, with whatever it returns or raises on the stack.  While it is in Lua, others may have
 * the turn.  false: it did not come to an end, and its state is lost. */
static bool call_lua(struct serve__scripts *x, struct serve__handoff *h, int *failed)
{
    lua_State *L = x->L;
    volatile bool whole = false;
    serve__script_killable(x);
    lua_settop(L, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->handler);
    bool in_row = x->row.p != NULL, driven = in_row || has_driver(x);
    lua_rawgeti(L, LUA_REGISTRYINDEX,
                in_row   ? x->code->driver->row
                : driven ? x->code->driver->ref
                         : x->body);
    if (!driven) /* pushing a C function makes garbage */
        lua_pushlightuserdata(L, x);
    if (x->debugger != NULL)
        serve__debugger_ready(x);
    if (sigsetjmp(x->out, 0) == 0) {
        serve__lend(h, &x->lease);
        *failed = lua_pcall(L, !driven, 1, 1);
        serve__script_collect(L, &x->memory);
        whole = true;
    }
    serve__unlend(h, &x->lease);
    return whole;
}

/* What the run came to. */
static int finish(struct serve__call *q, struct serve__scripts *x, int failed)
{
    if (x->row.stopped)
        return CARET_OK;
    if (x->restart)
        return CARET_RESTART;
    if (serve__script_is_killed(x))
        return serve__fail(q, "ERR Script killed by user with SCRIPT KILL... script: %s, on @%s:1.",
                           x->code->name, x->code->function ? "user_function" : "user_script");
    if (x->broken != CARET_OK)
        return x->broken;
    if (failed)
        answer_error(q, x);
    else
        serve__script_answer(q, x->L, x->reply.protocol == 3);
    return CARET_OK;
}

/* Did it read once at most, as it did before? */
static void learn(const struct serve__scripts *x)
{
    struct serve__driver *d = x->code->driver;
    if (d != NULL && !x->restart)
        d->calm = x->uses > 1 ? 0 : d->calm + (d->calm < SERVE__DRIVER_WANTED_MOST);
}

int serve__script_run_in(struct serve__call *q, struct serve__scripts *x, const struct serve__code *code,
                         bool readonly)
{
    unsigned db = q->c->db, level = caret_txn_level(q->s), in_exec = q->c->flags & SERVE__CONN_IN_EXEC;
    int failed = 0;
    x->restart = false;
    x->broken = CARET_OK;
    x->uses = 0;
    x->code = code;
    x->readonly = readonly || (code->flags & SERVE__SCRIPT_NO_WRITES);
    x->q = q;
    x->reply.protocol = 2;
    serve__quick_begin(x);
    x->lease.name = code->name;
    x->lease.function = code->function;
    atomic_store_explicit(&x->lease.argv, q->argv, memory_order_relaxed);
    x->lease.argc = q->argc;
    x->lease.end = serve__script_end;
    q->c->flags |= SERVE__CONN_IN_EXEC; /* nothing waits in a script */
    serve__lease_begin(q->w, &x->lease, q->c, q->now);
    x->lease.keeps = x->lease.keeps || x->holds;
    bool whole = serve__script_is_killed(x) || call_lua(x, q->w->handoff, &failed);
    serve__lease_end(q->w, &x->lease);
    q->c->flags = (q->c->flags & ~(unsigned)SERVE__CONN_IN_EXEC) | in_exec;
    q->c->db = db;
    while (caret_txn_level(q->s) > level) { /* Lua had no memory for an answer, or was left */
        caret_rollback(q->s);
        x->broken = CARET_E_NOMEM;
    }
    if (!serve__script_is_killed(x) && x->broken == CARET_OK)
        serve__memo_end(x, &x->memo);
    learn(x);
    int rc = finish(q, x, failed);
    if (!x->restart)
        serve__script_not_killed(x);
    if (whole)
        lua_settop(x->L, 0);
    else
        serve__scripts_forget(x);
    x->q = NULL;
    x->code = NULL;
    return rc;
}

/* Of serve__script_run(), whose script is x->wanted. */
static int run(struct serve__call *q)
{
    struct serve__scripts *x = scripts_running(q);
    if (x->debugger != NULL)
        return serve__debugger_attempt(q, x);
    return serve__script_run_in(q, x, x->wanted, x->wanted_readonly);
}

/* A transaction that runs undisturbed is over soon, or begins again as one that is not. */
enum { OFTEN = 3, SHORT_MS = 100 };

bool serve__script_holds_long(const struct serve__scripts *x)
{
    return x->holds && serve__now() - x->began > SHORT_MS;
}

/* The transaction begins once more.  After some attempts it runs undisturbed: others wait for it, so it keeps the
 * turn, too.  If that takes long it makes nobody wait any more; one that only reads takes a snapshot, so that is
 * its last attempt. */
static int again(struct serve__call *q)
{
    struct serve__scripts *x = scripts_running(q);
    int64_t took = serve__now() - x->began;
    x->began += took;
    x->yields = x->yields || took > SHORT_MS;
    if (!x->yields) {
        x->holds = ++x->attempts >= OFTEN;
        return caret_restart(q->s);
    }
    x->holds = false;
    while (caret_txn_level(q->s) > 0)
        caret_rollback(q->s);
    return caret_begin(q->s, x->only_reads ? CARET_TXN_SNAPSHOT : 0);
}

/* The call by the state's own runner, before and after its attempts. */
static struct serve__call own_call(const struct serve__call *q, struct serve__scripts *x)
{
    struct serve__call own = *q;
    own.r = &x->run;
    own.s = x->run.s;
    x->used = true;
    x->attempts = 0;
    x->yields = x->debugger != NULL; /* it never keeps others waiting */
    x->holds = false;
    x->began = q->now;
    x->lease.number = serve__lease_number(q->w);
    x->run.again = again;
    return own;
}

static void own_call_over(const struct serve__call *q, struct serve__scripts *x)
{
    x->used = false;
    serve__lease_over(q->w, &x->lease);
    if (x->memory.worn)
        serve__script_drop(x);
    if (x->run.dirty != 0 || x->run.expired != 0 || x->run.pending.len != 0)
        serve__events_send(&x->run);
}

int serve__script_atomic(struct serve__call *q, struct serve__scripts *x, serve__run *fn, int flags)
{
    if (q->r == &x->run)
        return serve__atomic_as(q, fn, flags);
    struct serve__call own = own_call(q, x);
    int rc = serve__atomic_as(&own, fn, flags);
    own_call_over(q, x);
    return rc;
}

int serve__script_run_alone(struct serve__call *q, struct serve__scripts *x)
{
    struct serve__driver *d = x->wanted->driver;
    if (d == NULL || d->calm < d->wanted || q->r == &x->run || q->c->tracking != NULL)
        return CARET_RESTART;
    struct serve__call own = own_call(q, x);
    x->alone = true;
    int rc = run(&own);
    x->alone = false;
    if (rc == CARET_RESTART) {
        d->calm = 0;
        d->wanted *= d->wanted < SERVE__DRIVER_WANTED_MOST ? 2 : 1;
    }
    own_call_over(q, x);
    return rc;
}

/* A script that says what it does, by flags, is refused before it runs. */
static int may_run(struct serve__call *q, const struct serve__code *code)
{
    if (code->flags & (SERVE__SCRIPT_OLD | SERVE__SCRIPT_NO_WRITES))
        return CARET_OK;
    if (q->w->config.n[SERVE__CFG_min_replicas_to_write] != 0)
        return serve__fail(q, "NOREPLICAS Not enough good replicas to write.");
    if (!(code->flags & SERVE__SCRIPT_ALLOW_OOM) && q->w->config.n[SERVE__CFG_maxmemory] != 0 &&
        serve__memory_full(q))
        return serve__fail(q,
                           "OOM allow-oom flag is not set on the script, can not run it when used memory > "
                           "'maxmemory'");
    return CARET_OK;
}

int serve__script_run(struct serve__call *q, struct serve__scripts *x, const struct serve__code *code,
                      bool readonly)
{
    int may = may_run(q, code);
    if (may != CARET_OK)
        return may;
    x->wanted = code;
    x->wanted_readonly = readonly;
    x->only_reads = readonly || (code->flags & SERVE__SCRIPT_NO_WRITES);
    int rc = serve__script_run_alone(q, x);
    return rc != CARET_RESTART ? rc : serve__script_atomic(q, x, run, 0);
}

int serve__exec_elsewhere(struct serve__call *q, serve__run *fn, int flags)
{
    struct serve__scripts *x = serve__scripts_of(q);
    if (x != NULL)
        x->only_reads = false;
    return x != NULL ? serve__script_atomic(q, x, fn, flags) : CARET_E_NOMEM;
}
