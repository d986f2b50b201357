/*
 * debugger.c - a session of the debugger: debugger.h.
 */
#include "server/script/debugger.h"

#include <stdlib.h>

#include "server/conn.h"
#include "server/event.h"
#include "server/meet/blocked.h"
#include "server/worker.h"

enum { COUNT = 100000, TELL_MOST = 10 };

static unsigned sessions; /* of this worker; with the turn */

/* ------------------------------------------------- what the script tells of */

void serve__debugger_tell_call(struct serve__debugger *d, const caret_slice *argv, int argc)
{
    serve__buffer_print(&d->text, "<redis>");
    for (int i = 0; i < argc && i < TELL_MOST; i++) {
        serve__buffer_add(&d->text, " ", 1);
        serve__buffer_add(&d->text, argv[i].data, argv[i].len);
    }
    if (argc > TELL_MOST)
        serve__buffer_print(&d->text, " ... (%d more)", argc - TELL_MOST - 1);
    serve__debugger_say_whole(d);
}

void serve__debugger_tell_error(struct serve__debugger *d, const char *text)
{
    bool usual = strncmp(text, "ERR ", 4) == 0;
    serve__buffer_print(&d->text, "<error> %s%s", usual ? "" : "-", text + (usual ? 4 : 0));
    serve__debugger_say_whole(d);
}

void serve__debugger_tell_reply(struct serve__debugger *d, lua_State *L)
{
    int top = lua_gettop(L);
    if (!lua_checkstack(L, 8))
        return;
    lua_pushvalue(L, -1);
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "err");
        lua_rawget(L, -2);
        if (lua_isstring(L, -1)) {
            serve__buffer_print(&d->text, "<error> -%s", lua_tostring(L, -1));
            serve__debugger_say_whole(d);
        }
        lua_pop(L, 1);
    }
    serve__buffer_print(&d->text, "<reply> ");
    serve__debugger_show_answer(&d->text, L, d->x->reply.protocol == 3, 0);
    serve__debugger_say_text(d);
    lua_settop(L, top);
}

int serve__debugger_breakpoint(lua_State *L)
{
    struct serve__debugger *d = serve__scripts_here(L)->debugger;
    if (d != NULL)
        d->called = true;
    lua_pushboolean(L, d != NULL);
    return 1;
}

int serve__debugger_debug(lua_State *L)
{
    struct serve__debugger *d = serve__scripts_here(L)->debugger;
    int n = lua_gettop(L);
    if (d == NULL)
        return 0;
    serve__buffer_print(&d->text, "<debug> line %d: ", d->line);
    for (int i = 1; i <= n; i++) {
        serve__debugger_show(&d->text, L, i, 0);
        serve__buffer_add(&d->text, ", ", i < n ? 2 : 0);
    }
    serve__debugger_say_whole(d);
    return 0;
}

/* --------------------------------------------------------- where it stops */

static int raise(lua_State *L, const char *text)
{
    serve__script_push_error(L, text, strlen(text), false);
    return lua_error(L);
}

/* Is the run to end, or to begin again, by what was done while it had stopped? */
static void leave_if_over(struct serve__scripts *x, lua_State *L)
{
    if (serve__script_is_killed(x))
        raise(L, "ERR Script killed by user with SCRIPT KILL...");
    if (x->restart || x->broken != CARET_OK)
        luaL_error(L, "the transaction begins again, or ends");
}

/* Do what the client says until the script is to go on.  false: the client is gone. */
static bool talk(struct serve__debugger *d, lua_State *L)
{
    struct serve__worker *w = d->x->run.w;
    const char *error;
    for (bool more = true; more;) {
        serve__lease_rest(&d->x->lease, w->handoff);
        bool heard = serve__debugger_listen(d, &error);
        serve__lease_go_on(&d->x->lease, w->handoff);
        leave_if_over(d->x, L);
        if (error != NULL)
            raise(L, error);
        if (!heard) {
            d->npoints = 0;
            return false;
        }
        more = !serve__debugger_command(d, L);
        if (more)
            serve__debugger_send(d);
        leave_if_over(d->x, L);
    }
    return true;
}

/* It has stopped, for a reason. */
static void stop(struct serve__debugger *d, lua_State *L, const char *why, bool late)
{
    d->step = false;
    d->called = false;
    serve__debugger_say(d, "* Stopped at %d, stop reason = %s", d->line, why);
    serve__debugger_say_line(d, d->line);
    serve__debugger_send(d);
    bool there = talk(d, L);
    if (!there && late)
        raise(L, "ERR timeout during Lua debugging with client closing connection");
    d->since = serve__now();
}

/* A script that has run for so long has perhaps no end. */
static bool too_long(const struct serve__debugger *d)
{
    int64_t most = d->x->run.w->config.n[SERVE__CFG_busy_reply_threshold];
    return serve__now() - d->since >= (most > 0 ? most : SERVE__BUSY_USUAL);
}

/* Has a call returned into the middle of this line?  LuaJIT tells of the line once more then, Lua 5.1 does not. */
static bool returned(struct serve__debugger *d, lua_State *L, int line)
{
    lua_Debug at;
    int depth = 0;
    while (depth < SERVE__DEBUGGER_DEPTH && lua_getstack(L, depth + 1, &at))
        depth++;
    bool inner = d->L == L && depth < d->depth;
    d->L = L;
    d->depth = depth;
    if (depth == SERVE__DEBUGGER_DEPTH)
        return false;
    inner = inner && d->line_at[depth] == line;
    d->line_at[depth] = line;
    return inner;
}

/* At each line, and now and then. */
static void hook(lua_State *L, lua_Debug *at)
{
    struct serve__scripts *x = serve__scripts_here(L);
    struct serve__debugger *d = x->debugger;
    if (serve__script_is_killed(x))
        leave_if_over(x, L);
    lua_getinfo(L, "Sl", at);
    if (d == NULL || (at->event == LUA_HOOKLINE && returned(d, L, at->currentline)) || x->lease.keeps ||
        strstr(at->short_src, "user_script") == NULL)
        return;
    d->line = at->currentline;
    bool point = d->called || serve__debugger_has_point(d, d->line);
    bool late = at->event == LUA_HOOKCOUNT && !d->step && !point;
    if (late ? !too_long(d) : !d->step && !point)
        return;
    stop(d, L,
         late        ? "timeout reached, infinite loop?"
         : d->called ? "redis.breakpoint() called"
         : point     ? "break point"
                     : "step over",
         late);
}

void serve__debugger_ready(struct serve__scripts *x)
{
    struct serve__debugger *d = x->debugger;
    d->npoints = 0;
    d->maxlen = SERVE__DEBUGGER_MAXLEN;
    d->hinted = d->called = false;
    d->step = true;
    d->L = NULL;
    d->at = d->said.len = d->text.len = 0;
    d->nsaid = 0;
    d->since = serve__now();
    lua_sethook(x->L, hook, LUA_MASKLINE | LUA_MASKCOUNT, COUNT);
}

/* ----------------------------------------------------------------- session */

/* The lines of a script, without empty ones at its end. */
static bool split(struct serve__debugger *d, caret_slice text)
{
    int n = 1;
    while (text.len > 0 && strchr(" \n\r", text.data[text.len - 1]) != NULL && text.data[text.len - 1] != 0)
        text.len--;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    d->source = calloc((size_t)n, sizeof *d->source);
    if (d->source == NULL)
        return false;
    d->nsource = n;
    for (int i = 0; i < n; i++) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        d->source[i] = (caret_slice){text.data, len};
        text.data += len + (end != NULL);
        text.len -= len + (end != NULL);
    }
    return true;
}

static int begin(struct serve__call *q, struct serve__scripts *x)
{
    struct serve__debugger *d = calloc(1, sizeof *d);
    if (d == NULL)
        return CARET_E_NOMEM;
    *d = (struct serve__debugger){.x = x, .c = q->c, .sync = (q->c->flags & SERVE__CONN_DEBUG_SYNC) != 0};
    x->lease.keeps = q->w->handoff == NULL; /* of a run that does not begin, as something is wrong */
    x->lease.away = false;
    serve__script_drop(x);
    x->debugger = d;
    sessions++;
    if (!split(d, q->argv[1]) || (x->L = serve__script_state(x)) == NULL)
        return CARET_E_NOMEM;
    return CARET_OK;
}

/* The last lines; the answer of EVAL goes after them.  While the client takes them others have the turn: the state is
 * in use, or one of their scripts would take it, to lose it here. */
static void end(struct serve__call *q, struct serve__scripts *x)
{
    struct serve__debugger *d = x->debugger;
    x->used = true;
    serve__debugger_say(d, "<endsession>");
    serve__lend(q->w->handoff, &x->lease);
    serve__debugger_send(d);
    serve__unlend(q->w->handoff, &x->lease);
    q->c->flags |= SERVE__CONN_CLOSE;
    x->debugger = NULL;
    sessions--;
    serve__script_drop(x);
    x->used = false;
    serve__buffer_free(&d->in);
    serve__buffer_free(&d->said);
    serve__buffer_free(&d->text);
    serve__buffer_free(&d->heard);
    free(d->source);
    free(d);
}

int serve__debugger_eval(struct serve__call *q, bool readonly)
{
    if (q->c->flags & SERVE__CONN_IN_EXEC)
        return serve__fail(q, "ERR a script in MULTI can't be debugged");
    if (sessions == SERVE__DEBUGGERS || !serve__handoff_has_room(q->w))
        return serve__fail(q, "ERR too many scripts are debugged, or take long");
    struct serve__scripts *x = serve__scripts_of(q);
    if (x == NULL)
        return CARET_E_NOMEM;
    int rc = begin(q, x);
    if (rc == CARET_OK)
        rc = serve__script_eval_text(q, x, readonly);
    if (x->debugger != NULL)
        end(q, x);
    return rc;
}

/* Nothing of the transaction is kept; another one, which is empty, takes its place. */
static int throw_away(struct serve__call *q)
{
    while (caret_txn_level(q->s) > 0)
        caret_rollback(q->s);
    serve__events_forget(q->r, (struct serve__event_place){0});
    if (q->r->meets != 0)
        serve__blocked_forget(q->r);
    return caret_begin(q->s, 0);
}

int serve__debugger_attempt(struct serve__call *q, struct serve__scripts *x)
{
    int rc = serve__script_run_in(q, x, x->wanted, x->wanted_readonly);
    return rc == CARET_OK && !x->debugger->sync ? throw_away(q) : rc;
}

/* ----------------------------------------------------------------- command */

int serve__cmd_script_debug(struct serve__call *q)
{
    struct serve__conn *c = q->c;
    bool sync = serve__is(&q->argv[2], "sync"), yes = sync || serve__is(&q->argv[2], "yes");
    if (q->mark > c->sent)
        return serve__fail(q, "ERR SCRIPT DEBUG must be called outside a pipeline");
    if (!yes && !serve__is(&q->argv[2], "no"))
        return serve__fail(q, "ERR Use SCRIPT DEBUG YES/SYNC/NO");
    c->flags &= ~(unsigned)(SERVE__CONN_DEBUG | SERVE__CONN_DEBUG_SYNC);
    c->flags |= (yes ? SERVE__CONN_DEBUG : 0u) | (sync ? SERVE__CONN_DEBUG_SYNC : 0u);
    return serve__ok(q);
}
