/*
 * api.c - the table `redis` of a script: script.h.
 *
 * Arguments of a command are slices of the strings on the stack of Lua, which live there until the call
 * returns; its answer is pushed to the same stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "server/admin/measure.h"
#include "server/codec/number.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/keys/key.h"
#include "server/script/debugger.h"
#include "server/worker.h"

/* {err = "ERR text"}, without a place, raised or returned. */
static int wrong(lua_State *L, const char *text, bool raises)
{
    const struct serve__scripts *x = serve__scripts_here(L);
    if (serve__debugger_tells(x))
        serve__debugger_tell_error(x->debugger, text);
    serve__script_push_error(L, text, strlen(text), false);
    return raises ? lua_error(L) : 1;
}

static int raise(lua_State *L, const char *text)
{
    return wrong(L, text, true);
}

caret_slice serve__script_digits(double d, char room[SERVE__SCRIPT_DIGITS])
{
    size_t chars = serve__script_whole(d) ? caret_codec__print_i64((int64_t)d, room)
                                          : (size_t)snprintf(room, SERVE__SCRIPT_DIGITS, "%.17g", d);
    return (caret_slice){room, chars};
}

/* The arguments 1..n of Lua as those of a command.  false: one is neither text nor number. */
static bool take_arguments(lua_State *L, struct serve__scripts *x, int n)
{
    for (int i = 0; i < n; i++) {
        size_t len;
        if (lua_type(L, i + 1) == LUA_TNUMBER) {
            x->args[i] = serve__script_digits(lua_tonumber(L, i + 1), x->numbers[i]);
        } else if (lua_type(L, i + 1) == LUA_TSTRING) {
            x->args[i].data = lua_tolstring(L, i + 1, &len);
            x->args[i].len = len;
        } else {
            return false;
        }
    }
    return true;
}

/* Why the command may not be run; NULL: it may. */
static const char *refused(const struct serve__scripts *x, const struct serve__call *q)
{
    const struct serve__command *cmd = q->cmd;
    if (cmd->arity > 0 ? cmd->arity != q->argc : q->argc < -cmd->arity)
        return "ERR Wrong number of args calling Redis command from script";
    if ((cmd->flags & SERVE__NOSCRIPT) && !q->w->shared->all_in_scripts)
        return "ERR This Redis command is not allowed from script";
    if (cmd->run == NULL)
        return "ERR Unknown Redis command called from script";
    if (x->readonly && (cmd->flags & (SERVE__WRITE | SERVE__MAY_REPLICATE)))
        return "ERR Write commands are not allowed from read-only scripts.";
    return NULL;
}

static void find(struct serve__scripts *x, struct serve__call *q)
{
    const struct serve__command *parent;
    struct serve__seen *seen = &x->seen[(uintptr_t)q->argv[0].data / 16 % SERVE__SCRIPT_SEEN];
    if (seen->text == q->argv[0].data && strlen(seen->cmd->name) == q->argv[0].len &&
        strncasecmp(seen->cmd->name, seen->text, q->argv[0].len) == 0) {
        q->cmd = seen->cmd;
        return;
    }
    q->cmd = serve__command_of(q->argv, q->argc, &parent);
    if (q->argc == 1 && q->cmd == NULL && parent != NULL)
        q->cmd = parent;
    if (q->cmd != NULL && parent == NULL && q->cmd->nsub == 0)
        *seen = (struct serve__seen){q->argv[0].data, q->cmd};
}

void serve__script_look_ahead(struct serve__scripts *x, struct serve__call *q, struct serve__ahead *ahead)
{
    const caret_slice *name = &q->argv[1];
    *ahead = (struct serve__ahead){.cmd = q->cmd, .argv = q->argv, .db = q->db};
    if (!(q->cmd->flags & SERVE__PLAIN) || q->argc < 2 || name->len > SERVE__SCRIPT_KEY_BYTES)
        return;
    struct serve__seen_key *k = &x->seen_key[(uintptr_t)name->data / 16 % SERVE__SCRIPT_KEYS];
    bool same = k->text == name->data && k->db == q->db && k->len == name->len &&
                memcmp(k->name, name->data, name->len) == 0;
    if (!same) {
        k->text = NULL;
        if (serve__key_node(q, &k->node, *name) != CARET_OK)
            return;
        k->text = name->data;
        k->db = q->db;
        k->len = (unsigned)name->len;
        memcpy(k->name, name->data, name->len);
    }
    ahead->node = &k->node.node;
    q->ahead = ahead;
}

/* The rights of the client, replicas, memory: it was answered that it may not be run. */
static bool is_refused(const struct serve__scripts *x, struct serve__call *q)
{
    if ((serve__acl_refuses != NULL && serve__acl_refuses(q)) || serve__replicas_refuse(q))
        return true;
    return !(x->code->flags & SERVE__SCRIPT_ALLOW_OOM) && serve__memory_refuses != NULL &&
           (q->cmd->flags & SERVE__DENYOOM) && serve__memory_refuses(q);
}

/* Tell the debugger of the error on top of the stack: the command was not run. */
static void tell_refusal(lua_State *L, const struct serve__scripts *x)
{
    lua_pushliteral(L, "err");
    lua_rawget(L, -2);
    serve__debugger_tell_error(x->debugger, lua_tostring(L, -1));
    lua_pop(L, 1);
}

/* Run the command of the arguments on the stack; its answer is pushed. */
static void run(lua_State *L, struct serve__scripts *x, int argc)
{
    const char *why;
    struct serve__ahead ahead;
    struct serve__call inner = *x->q;
    inner.reply = &x->reply;
    inner.argv = x->args;
    inner.argc = argc;
    inner.db = x->q->c->db;
    x->now = L;
    x->depth = 0;
    inner.mark = serve__reply_mark(inner.reply);
    inner.ahead = NULL;
    inner.script = x->q;
    find(x, &inner);
    if (serve__debugger_tells(x))
        serve__debugger_tell_call(x->debugger, inner.argv, argc);
    if (inner.cmd == NULL)
        why = "ERR Unknown Redis command called from script";
    else
        why = refused(x, &inner);
    if (why != NULL) {
        serve__measure_error(&inner, why);
        serve__script_push_error(L, why, strlen(why), true);
        if (inner.cmd != NULL)
            serve__add(&inner.w->stats->command[inner.cmd->id].rejected, 1);
    }
    bool refused_it = why != NULL || is_refused(x, &inner);
    if (refused_it && serve__debugger_tells(x))
        tell_refusal(L, x);
    if (refused_it)
        return;
    if (inner.cmd->flags & SERVE__WRITE)
        atomic_store_explicit(&x->lease.wrote, true, memory_order_relaxed);
    serve__script_look_ahead(x, &inner, &ahead);
    if (serve__execute(&inner) == CARET_RESTART)
        x->restart = true;
    else if (serve__debugger_tells(x))
        serve__debugger_tell_reply(x->debugger, L);
}

static bool is_error(lua_State *L)
{
    if (!lua_istable(L, -1))
        return false;
    lua_pushliteral(L, "err");
    lua_rawget(L, -2);
    bool is = !lua_isnil(L, -1);
    lua_pop(L, 1);
    return is;
}

static int command(lua_State *L, bool raises)
{
    struct serve__scripts *x = lua_touserdata(L, lua_upvalueindex(1));
    int argc = lua_gettop(L);
    if (serve__script_is_killed(x))
        return raise(L, "ERR Script killed by user with SCRIPT KILL...");
    if (x->q == NULL)
        return raise(L, "ERR redis.call/pcall can only be called inside a script invocation");
    if (argc == 0)
        return wrong(L, "ERR Please specify at least one argument for this redis lib call", raises);
    if (argc > SERVE__SCRIPT_ARGS || !take_arguments(L, x, argc))
        return wrong(L, "ERR Lua redis lib command arguments must be strings or integers", raises);
    serve__unlend(x->q->w->handoff, &x->lease);
    x->restart = x->restart || serve__script_holds_long(x);
    serve__memo_end(x, &x->memo);
    if (serve__script_uses(x, false) && x->broken == CARET_OK)
        run(L, x, argc);
    serve__lend(x->q->w->handoff, &x->lease);
    if (x->restart || x->broken != CARET_OK)
        return luaL_error(L, "the transaction begins again, or ends");
    return raises && is_error(L) ? lua_error(L) : 1;
}

static int api_call(lua_State *L)
{
    return command(L, true);
}

static int api_pcall(lua_State *L)
{
    return command(L, false);
}

/* ------------------------------------------------------------------ texts */

static int one_text(lua_State *L, const char *name)
{
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING) {
        static const char text[] = "ERR wrong number or type of arguments";
        serve__script_push_error(L, text, sizeof text - 1, false);
        return 1;
    }
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, name);
    return 1;
}

static int api_status_reply(lua_State *L)
{
    return one_text(L, "ok");
}

/* "CODE what", or one word, which gets the code ERR; a '-' may stand before either. */
static int api_error_reply(lua_State *L)
{
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING)
        return one_text(L, "err");
    const char *text = lua_tostring(L, 1);
    text += *text == '-';
    lua_pushfstring(L, strchr(text, ' ') != NULL ? "%s" : "ERR %s", text);
    lua_replace(L, 1);
    return one_text(L, "err");
}

static int api_sha1hex(lua_State *L)
{
    uint8_t digest[CARET_CODEC__SHA1_LEN];
    char hex[SERVE__SHA];
    size_t len = 0;
    if (lua_gettop(L) != 1)
        return raise(L, "ERR wrong number of arguments");
    const char *text = lua_tolstring(L, 1, &len);
    caret_codec__sha1_of(text, len, digest);
    caret_codec__hex(digest, sizeof digest, hex);
    lua_pushlstring(L, hex, sizeof hex);
    return 1;
}

static int api_log(lua_State *L)
{
    static const char *const names[] = {"debug", "verbose", "notice", "warning"};
    if (lua_gettop(L) < 2)
        return raise(L, "ERR redis.log() requires two arguments or more.");
    if (!lua_isnumber(L, 1))
        return raise(L, "ERR First argument must be a number (log level).");
    int level = (int)lua_tonumber(L, 1);
    if (level < 0 || level > 3)
        return raise(L, "ERR Invalid debug level.");
    lua_pushliteral(L, "");
    for (int i = 2, n = lua_gettop(L) - 1; i <= n; i++) {
        const char *text = lua_tostring(L, i);
        if (text == NULL)
            continue;
        lua_pushfstring(L, i > 2 ? " %s" : "%s", text);
        lua_concat(L, 2);
    }
    if (level >= 2)
        serve__log("script, %s: %s", names[level], lua_tostring(L, -1));
    return 0;
}

/* ------------------------------------------------------------------ state */

static int api_setresp(lua_State *L)
{
    struct serve__scripts *x = serve__scripts_here(L);
    if (lua_gettop(L) != 1)
        return raise(L, "ERR redis.setresp() requires one argument.");
    int version = (int)lua_tonumber(L, 1);
    if (version != 2 && version != 3)
        return raise(L, "ERR RESP version must be 2 or 3.");
    x->reply.protocol = version;
    return 0;
}

static int api_set_repl(lua_State *L)
{
    if (lua_gettop(L) != 1)
        return raise(L, "ERR redis.set_repl() requires two arguments.");
    int flags = (int)lua_tonumber(L, 1);
    if (flags < 0 || flags > 3)
        return raise(L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
    return 0;
}

static int api_replicate_commands(lua_State *L)
{
    lua_pushboolean(L, 1);
    return 1;
}

static int api_acl_check_cmd(lua_State *L)
{
    struct serve__scripts *x = serve__scripts_here(L);
    int argc = lua_gettop(L);
    if (argc == 0)
        return raise(L, "ERR Please specify at least one argument for this redis lib call");
    if (argc > SERVE__SCRIPT_ARGS || x->q == NULL || !take_arguments(L, x, argc))
        return raise(L, "ERR Lua redis lib command arguments must be strings or integers");
    struct serve__call inner = *x->q;
    inner.argv = x->args;
    inner.argc = argc;
    inner.reply = &x->reply;
    find(x, &inner);
    if (inner.cmd == NULL)
        return raise(L, "ERR Invalid command passed to redis.acl_check_cmd()");
    x->now = L;
    serve__unlend(x->q->w->handoff, &x->lease);
    bool refused_it = serve__acl_refuses != NULL && serve__acl_refuses(&inner);
    serve__lend(x->q->w->handoff, &x->lease);
    lua_settop(L, argc);
    lua_pushboolean(L, !refused_it);
    return 1;
}

const luaL_Reg serve__script_api[] = {
    {"call", api_call},
    {"pcall", api_pcall},
    {"error_reply", api_error_reply},
    {"status_reply", api_status_reply},
    {"sha1hex", api_sha1hex},
    {"log", api_log},
    {"setresp", api_setresp},
    {"set_repl", api_set_repl},
    {"replicate_commands", api_replicate_commands},
    {"breakpoint", serve__debugger_breakpoint},
    {"debug", serve__debugger_debug},
    {"acl_check_cmd", api_acl_check_cmd},
    {NULL, NULL},
};
