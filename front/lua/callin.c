/*
 * callin.c - calls of M, for Lua: core.call_m, by the M machine (m/machine.h).
 *
 * M works in the session of the database that is passed, so a transaction of the program's counts.  From the first call
 * on it keeps the state's local variables.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "m/machine.h"
#include "m/settings.h"

#include "lua/binding.h"
#include "lua/interrupt.h"

#define ARGUMENTS 32 /* that M takes */

/* Only that database: there is none by name. */
static caret_session *session_of(void *who, const char *name, size_t len)
{
    (void)name;
    return len == 0 ? who : NULL;
}

static int failed(lua_State *L, int status, const char *text)
{
    lua_pushboolean(L, 0);
    lua_pushinteger(L, status);
    lua_pushstring(L, text);
    return 3;
}

static void push(lua_State *L, caret_slice v)
{
    if (v.data != NULL)
        lua_pushlstring(L, v.data, v.len);
    else
        lua_pushnil(L);
}

/*
 * The machine while M runs, for caret__lua_interrupt(); in which thread; and how many calls are within each other.  A
 * signal that comes after the end finds no machine, and what it asked just before is taken back.
 */
static const struct caret_m__machine *_Atomic running;
static pthread_t runner;
static unsigned depth;

void caret__lua_interrupt_m(void)
{
    const struct caret_m__machine *m = atomic_load_explicit(&running, memory_order_acquire);

    if (m == NULL || !pthread_equal(runner, pthread_self()))
        return;
    m->ask_end(true);
    m->end_here();
}

static void begin(const struct caret_m__machine *m)
{
    if (depth++ == 0)
        runner = pthread_self();
    atomic_store_explicit(&running, m, memory_order_release);
}

/* A call in which M called Lua that called M ends, too, if the inner one was ended. */
static void end(const struct caret_m__machine *m, bool ended)
{
    if (--depth == 0)
        atomic_store_explicit(&running, NULL, memory_order_release);
    m->ask_end(ended && depth > 0);
}

/* call_m(db, entry, references, texts...) -> true, value, what each argument is then; or false, code, text */
static int call_m(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    const char *entry = luaL_checkstring(L, 2);
    unsigned references = (unsigned)luaL_checknumber(L, 3);
    int n = lua_gettop(L) - 3;
    caret_slice args[ARGUMENTS], values[ARGUMENTS + 1] = {{NULL, 0}};
    char why[256];

    if (n > ARGUMENTS)
        return caret__misuse(L, "M takes %d arguments at most, not %d", ARGUMENTS, n);
    for (int i = 0; i < n; i++)
        args[i].data = luaL_checklstring(L, i + 4, &args[i].len);
    const struct caret_m__machine *m = caret_m__machine(why);
    if (m == NULL)
        return failed(L, 0, why);
    if (caret_session_locals(d->st->locals, m->locals) != CARET_OK)
        return failed(L, 0, caret_message());
    struct caret_m__call c = {.who = d->s,
                              .session = session_of,
                              .database = caret_path(d->db),
                              .maxtptime = caret_m__maxtptime_place()};
    begin(m);
    m->run(&c, entry, args, (size_t)n, references, values);
    end(m, c.status == CARET_M__ENDED);
    if (c.status == CARET_M__ENDED)
        return caret__raise_text(L, d, CARET_E_INTERRUPTED, "INTERRUPTED: while a routine of M ran");
    if (c.status == CARET_M__TP_RESTART && caret_txn_level(d->s) != 0)
        return caret__raise(L, d, CARET_RESTART); /* as any function that meets a conflict */
    if (c.status != 0)
        return failed(L, c.status, c.text);
    luaL_checkstack(L, n + 2, "values of M");
    lua_pushboolean(L, 1);
    for (int i = 0; i <= n; i++)
        push(L, values[i]);
    return n + 2;
}

void caret__add_callin(lua_State *L)
{
    static const luaL_Reg functions[] = {{"call_m", call_m}, {NULL, NULL}};

    caret__functions(L, functions);
}
