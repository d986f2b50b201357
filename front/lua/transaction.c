/*
 * transaction.c - functions run in transactions.
 *
 *     begin -> call -> commit ----------------------------> results
 *                |       '-- conflict --.
 *                |-- restart pending ---+--> outermost: restart and call again
 *                |                      '--> inner: hand it on to the outermost
 *                |-- rollback pending --> roll back, return nil, text, name; raise it to M programs
 *                '-- error -------------> roll back, raise it on
 *
 * "Pending" is noted in the database by whoever raised the sentinel: it counts
 * also if the function caught the error and returned as if nothing had happened.
 *
 * The function is called by lua_pcall(), so nothing jumps over a transaction and
 * a coroutine can't be left inside of one.  What an error is told with, when people are to
 * read it, is in trace.c.  Arguments stay on the stack for another run; a call allocates
 * nothing of its own.
 *
 * While a transaction runs, the state's other databases are barred: what is changed
 * in them would not be undone with it, and neither would a lock.  They can be read, also
 * in a snapshot; that is not a part of the transaction.  Another handle of the same file is
 * another database here: it sees what was committed, not what the transaction did.
 *
 * A snapshot is called by the same loop but never again: nothing in it conflicts, and
 * there is nothing to undo, so no database is barred.  A transaction in it is the
 * outermost one all the same; its restart goes back to where the snapshot was.
 *
 * Local variables are the state's, not a database's, so they are put back here:
 * those named (or all) are saved before, and put back before a restart; and after
 * a rollback, but not for M programs, to which that is none of a rollback's business.
 *
 * What becomes of a level that has ended is said by m/transaction.h; a snapshot is
 * a level of it that is never the outermost one of a transaction.
 */
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"
#include "m/settings.h"

/* One call: where its things are on the stack. */
struct run {
    struct caret__ldb *d;
    unsigned level;
    int outermost; /* of the transactions: a restart begins again here */
    int flags;     /* CARET_TXN_* */
    int locals;    /* index of their list, 0 = none */
    int fn;        /* index of the function */
    int first;     /* index of the first argument */
    int nargs;
    int trace; /* index of the message handler, 0 = it is to be asked for */
    int base;  /* results come above it */
};

/* ---------------------------------------------------------- local variables */

/* Is it a list of names of local variables? */
static void check_list(lua_State *L, struct caret__ldb *d, int list)
{
    int count = (int)caret__rawlen(L, list);
    for (int i = 1; i <= count; i++) {
        caret_node_buf n;
        size_t len = 0;
        lua_rawgeti(L, list, i);
        const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : NULL;
        if (name == NULL || (len != 0 && name[0] == '^'))
            caret__misuse(L, "the list of locals has names of local variables, not %s",
                          name != NULL ? caret__push_shown(L, name, len, '\0')
                                       : lua_pushfstring(L, "a %s", caret__typename(L, -1)));
        if (!(len == 1 && name[0] == '*')) {
            int rc = caret_node_var(&n.node, sizeof n, name, len);
            if (rc != CARET_OK)
                caret__raise(L, d, rc);
        }
        lua_pop(L, 1);
    }
}

static struct caret_m__locals locals_of(const struct run *r)
{
    return (struct caret_m__locals){.s = r->d->st->locals};
}

static int save_locals(lua_State *L, struct run *r)
{
    const struct caret_m__locals locals = locals_of(r);
    int count = (int)caret__rawlen(L, r->locals), rc = CARET_OK;

    for (int i = 1; rc == CARET_OK && i <= count; i++) {
        size_t len;
        lua_rawgeti(L, r->locals, i);
        const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : NULL;
        if (name != NULL)
            rc = caret_m__save(&r->d->tp.saved, r->level, &locals, name, len);
        lua_pop(L, 1);
    }
    return rc;
}

/* ---------------------------------------------------------------- one attempt */

static void bar_others(struct caret__ldb *d, int barred)
{
    for (struct caret__ldb *o = d->st->dbs; o != NULL; o = o->next)
        if (o != d)
            o->barred = (o->barred & ~CARET__DB_OTHER_TXN) | (barred ? CARET__DB_OTHER_TXN : 0);
    d->st->txn = barred ? d : NULL;
}

int caret__is_barred(const struct caret__ldb *d)
{
    const struct caret__ldb *txn =
        d->st->txn; /* one that was closed in its own transaction bars until that ends */

    if (txn != NULL && (txn->barred & CARET__DB_CLOSED) == 0 && caret_txn_level(txn->s) == 0)
        bar_others(d->st->txn, 0);
    return d->barred != 0;
}

int caret__refuse_in_txn(lua_State *L, const struct caret__ldb *d, const char *what, const char *why)
{
    const char *path = caret_path(d->db), *running = caret_path(d->st->txn->db);

    return caret__misuse(L, "INTXN: %s can't be %s%s in a transaction of %s: %s; do it before or afterwards",
                         path, what, strcmp(path, running) == 0 ? " by another handle" : "", running, why);
}

static void begin(lua_State *L, struct run *r)
{
    struct caret__ldb *d = r->d;
    int rc;

    if (r->flags & CARET_TXN_SNAPSHOT) {
        rc = caret_begin(d->s, r->flags);
    } else {
        caret__check_change(L, d, d->s);
        if (d->translated && caret_txn_level(d->s) >= CARET_M__TP_LEVELS)
            caret__raise_m(L, CARET_M__E_TPTOODEEP, "");
        rc = caret_m__tp_begin(&d->tp, d->s, r->flags, d->translated ? caret_m__maxtptime() : 0);
    }
    if (rc != CARET_OK)
        caret__raise(L, d, rc);
    r->level = r->flags & CARET_TXN_SNAPSHOT ? caret_txn_level(d->s) : d->tp.level;
    r->outermost = d->st->txn == NULL && (r->flags & CARET_TXN_SNAPSHOT) == 0;
    if (r->outermost) {
        d->pending = CARET__GO_ON;
        bar_others(d, 1);
    }
}

/* The transaction is over, one way or another. */
static void leave(struct run *r)
{
    if (r->outermost) {
        bar_others(r->d, 0);
        r->d->pending = CARET__GO_ON;
    }
}

/* A snapshot, and what is open in it. */
static void end_snapshot(struct run *r)
{
    caret_session *s = r->d->s;
    while (s != NULL && caret_txn_level(s) >= r->level)
        if (caret_rollback(s) != CARET_OK)
            break;
}

/* Undo it and what is in it. */
static void back_out(struct run *r)
{
    struct caret_m__locals locals = locals_of(r);
    struct caret__ldb *d = r->d;

    if (r->flags & CARET_TXN_SNAPSHOT) {
        end_snapshot(r);
        return;
    }
    if (!d->translated)
        caret_m__restore(d->tp.saved, r->level, &locals);
    d->tp.s = d->s; /* it may be closed */
    caret_m__tp_undo(&d->tp, r->level);
    caret__locks_undo(d, r->level);
    leave(r);
}

/* Undo it and raise what the database said. */
static int fail(lua_State *L, struct run *r, int rc)
{
    char message[512];
    const char *said = rc != CARET_E_NOMEM ? caret__said(L) : "NOMEM: there is no memory";
    snprintf(message, sizeof message, "%s", said); /* the next call may change it */
    back_out(r);
    return caret__raise_text(L, r->d, rc, message);
}

static int too_late(lua_State *L, struct run *r)
{
    char text[80];

    snprintf(text, sizeof text, "the transaction took over %ld seconds, see $ZMAXTPTIME", r->d->tp.limit);
    back_out(r);
    return caret__raise_m(L, CARET_M__E_TPTIMEOUT, text);
}

/* Closed inside: its session rolled everything back. */
static int was_closed(lua_State *L, struct run *r, int failed)
{
    back_out(r);
    return failed ? lua_error(L) : caret__misuse(L, "CLOSED: the database was closed in its transaction");
}

static int rolled_back(lua_State *L, struct run *r)
{
    r->d->pending = CARET__GO_ON;
    back_out(r);
    if (r->d->translated)
        return caret__raise_m(L, CARET_M__TP_ROLLBACK, "");
    lua_settop(L, r->base);
    lua_pushnil(L);
    lua_pushliteral(L, "ROLLBACK: the transaction was rolled back");
    lua_pushliteral(L, "ROLLBACK");
    return 1;
}

/* What the function raised is on top.  Is it what Lua says to coroutines that would leave it midway? */
static int is_yield(lua_State *L)
{
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    return message != NULL && strstr(message, "attempt to yield across") != NULL &&
           strstr(message, "midway") == NULL;
}

/* Raise it on. */
static int raise_on(lua_State *L)
{
    if (is_yield(L))
        return caret__misuse(L, "a coroutine can't leave a transaction or snapshot midway: %s",
                             lua_tostring(L, -1));
    return lua_error(L);
}

/* Begin again with the local variables as they were. */
static int again(lua_State *L, struct run *r)
{
    struct caret_m__locals locals = locals_of(r);
    int rc = caret_m__tp_restore(&r->d->tp, &locals);

    if (rc != CARET_OK)
        return fail(L, r, rc);
    caret_m__held_carry(r->d->held);
    r->d->pending = CARET__GO_ON;
    return 0;
}

/* The same of a snapshot, in which nothing conflicts: what is to begin again is a transaction around it. */
static int close_snapshot(lua_State *L, struct run *r, int restart)
{
    int rc = restart ? CARET_RESTART : caret_commit(r->d->s);

    if (rc != CARET_OK && rc != CARET_RESTART)
        return fail(L, r, rc);
    if (rc == CARET_OK)
        return 1;
    end_snapshot(r);
    return caret__raise_pending(L, r->d, CARET__GO_RESTART);
}

/* Commit, or begin again: 1 = the results on the stack count, 0 = call the function again. */
static int end(lua_State *L, struct run *r, int restart)
{
    int rc = CARET_OK;

    switch (caret_m__tp_end(&r->d->tp, r->level, restart, &rc)) {
    case CARET_M__DONE:
        caret__locks_commit(r->d, r->level);
        leave(r);
        return 1;
    case CARET_M__AGAIN: return again(L, r);
    case CARET_M__PASS_ON:
        caret__locks_undo(r->d, r->level);
        leave(r);
        return caret__raise_pending(L, r->d, CARET__GO_RESTART);
    case CARET_M__LATE: return too_late(L, r);
    default: return fail(L, r, rc);
    }
}

/* The function was called with status `failed`: 1 = the results on the stack count, 0 = call it again. */
static int settle(lua_State *L, struct run *r, int failed)
{
    struct caret__ldb *d = r->d;

    if (d->s == NULL)
        return was_closed(L, r, failed);
    if (d->pending == CARET__GO_BACK)
        return rolled_back(L, r);
    if (d->pending != CARET__GO_RESTART && failed) {
        back_out(r);
        return raise_on(L);
    }
    int restart = d->pending == CARET__GO_RESTART;
    return r->flags & CARET_TXN_SNAPSHOT ? close_snapshot(L, r, restart) : end(L, r, restart);
}

/* To M programs a number that is returned can be a code to obey: what is raised for it counts. */
static int obey(lua_State *L, int i)
{
    return lua_tonumber(L, i) != 0 ? caret__returned(L, i) : 0;
}

/* The message handler, if there is one: what transaction() returns has it at hand. */
static int push_trace(lua_State *L, const struct run *r)
{
    if (r->trace == 0)
        return caret__push_trace(L, r->d->st);
    lua_pushvalue(L, r->trace);
    return 1;
}

static int run(lua_State *L, struct run *r)
{
    int failed, handler = 0, rc = CARET_OK;

    r->base = r->first - 1 + r->nargs;
    if (!r->d->translated && push_trace(L, r))
        handler = ++r->base;
    if (r->nargs + 10 > LUA_MINSTACK)
        luaL_checkstack(L, r->nargs + 10, "too many arguments of a transaction");
    begin(L, r);
    if (r->locals != 0)
        rc = save_locals(L, r);
    if (rc != CARET_OK)
        return fail(L, r, rc);
    for (;;) {
        lua_pushvalue(L, r->fn);
        for (int i = 0; i < r->nargs; i++)
            lua_pushvalue(L, r->first + i);
        failed = lua_pcall(L, r->nargs, LUA_MULTRET, handler);
        if (!failed && r->d->translated && lua_type(L, r->base + 1) == LUA_TNUMBER)
            failed = obey(L, r->base + 1);
        if (settle(L, r, failed))
            return lua_gettop(L) - r->base;
        lua_settop(L, r->base);
    }
}

/* ----------------------------------------------------------------- from Lua */

/* What the id of a transaction, at i, asks for.  To M programs an id is any word, and most mean nothing. */
static int flags_of(lua_State *L, const struct caret__ldb *d, int i)
{
    const char *id = lua_tostring(L, i);

    if (strcmp(id, "BATCH") == 0 || strcmp(id, "BA") == 0)
        return CARET_TXN_BATCH;
    if (strcmp(id, "SYNC") == 0 && !d->translated)
        return CARET_TXN_SYNC;
    if (strcmp(id, "ALONE") == 0 && !d->translated)
        return CARET_TXN_ALONE;
    if (!d->translated)
        caret__misuse(L, "a transaction is 'BATCH', 'SYNC' or 'ALONE', not %s",
                      caret__push_shown_at(L, i, '\''));
    return 0;
}

/* Read [id,] [locals,] fn from index 2 on; what follows are arguments. */
static void read_call(lua_State *L, struct run *r)
{
    int i = 2;
    *r = (struct run){.d = caret__check_db(L, 1)};
    if (lua_type(L, i) == LUA_TSTRING) {
        r->flags = flags_of(L, r->d, i);
        i++;
    }
    if (caret__is_table(L, i)) {
        check_list(L, r->d, i);
        r->locals = caret__rawlen(L, i) != 0 ? i : 0;
        i++;
    }
    if (!lua_isfunction(L, i))
        caret__misuse(L, "a transaction needs a function, not a %s", caret__typename(L, i));
    r->fn = i;
    r->first = i + 1;
    r->nargs = lua_gettop(L) - i;
}

/* tp(db, [id,] [locals,] fn, ...): run it now. */
int caret__tp(lua_State *L)
{
    struct run r;
    read_call(L, &r);
    return run(L, &r);
}

/* snapshot(db, fn, ...): run fn(...) now; what it reads is the database as it is at this moment. */
int caret__run_snapshot(lua_State *L)
{
    struct run r = {.d = caret__check_db(L, 1),
                    .flags = CARET_TXN_SNAPSHOT,
                    .fn = 2,
                    .first = 3,
                    .nargs = lua_gettop(L) - 2};
    if (!lua_isfunction(L, 2))
        caret__misuse(L, "a snapshot needs a function, not a %s", caret__typename(L, 2));
    return run(L, &r);
}

enum { UP_CALL = 1, UP_DB, UP_FUNCTION, UP_TRACE, UP_LOCALS }; /* of what transaction() returns */

/* What transaction() returns: most of the call was made ready there. */
static int call_transaction(lua_State *L)
{
    struct run r = *(const struct run *)lua_touserdata(L, lua_upvalueindex(UP_CALL));

    r.nargs = lua_gettop(L);
    r.trace = r.d->st->trace != 0 ? lua_upvalueindex(UP_TRACE) : 0;
    if (r.d->barred & CARET__DB_CLOSED)
        caret__check_db(L, lua_upvalueindex(UP_DB)); /* raises */
    return run(L, &r);
}

/* The upvalue UP_CALL: the call of r, but of what is on the stack when it is made. */
static void push_call(lua_State *L, const struct run *r)
{
    struct run *call = caret__newuserdata(L, sizeof *call);

    *call = (struct run){.d = r->d,
                         .flags = r->flags,
                         .locals = r->locals != 0 ? lua_upvalueindex(UP_LOCALS) : 0,
                         .fn = lua_upvalueindex(UP_FUNCTION),
                         .first = 1};
}

/* transaction(db, [id,] [locals,] fn) -> function that runs fn in a transaction */
int caret__transaction(lua_State *L)
{
    struct run r;
    read_call(L, &r);
    if (r.nargs != 0)
        return caret__misuse(
            L, "transaction takes nothing after the function: give arguments to what it returns");
    push_call(L, &r);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, r.fn);
    if (!caret__push_trace(L, r.d->st))
        lua_pushnil(L);
    lua_pushvalue(L, r.locals != 0 ? r.locals : 1); /* else it is never read */
    lua_pushcclosure(L, call_transaction, UP_LOCALS);
    return 1;
}

static int end_with(lua_State *L, enum caret__pending what)
{
    struct caret__ldb *d = caret__state(L)->txn;
    if (d == NULL)
        return caret__misuse(L, "NOTXN: no transaction is running");
    return caret__raise_pending(L, d, what);
}

int caret__trestart(lua_State *L)
{
    return end_with(L, CARET__GO_RESTART);
}

int caret__trollback(lua_State *L)
{
    return end_with(L, CARET__GO_BACK);
}
