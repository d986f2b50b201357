/*
 * m.c - front/m for the module `yottadb`: the table core.m.
 *
 * The functions take and return plain values; what belongs to a state (its database, its last error) is kept in Lua and
 * passed.
 */
#include "m/m.h"
#include "m/settings.h"
#include "m/special.h"
#include <stdio.h>
#include <stdlib.h>

#include "lua/binding.h"

/* -------------------------------------------------------------------- errors */

/* constants() -> {YDB_... = number}: all of them, errors and outcomes included */
static int m_constants(lua_State *L)
{
    size_t nconstants, nerrors;
    const struct caret_m__constant *c = caret_m__constants(&nconstants);
    const struct caret_m__error *e = caret_m__errors(&nerrors);

    lua_createtable(L, 0, (int)(nconstants + nerrors));
    for (size_t i = 0; i < nconstants; i++) {
        caret__push_integer(L, c[i].value);
        lua_setfield(L, -2, c[i].name);
    }
    for (size_t i = 0; i < nerrors; i++) {
        lua_pushinteger(L, e[i].code);
        lua_setfield(L, -2, e[i].symbol);
    }
    return 1;
}

/* name_error(name) -> the number of what is wrong with the name of a variable */
static int m_name_error(lua_State *L)
{
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);

    lua_pushinteger(L, caret_m__name_error(name, len));
    return 1;
}

/* f(code[, text]), worded by `word`; nothing if there is no such number */
static int worded(lua_State *L, size_t (*word)(char *, size_t, int, const char *))
{
    char room[CARET_M__MAX_ERRORMSG];
    size_t len = word(room, sizeof room, (int)luaL_checkinteger(L, 1), luaL_optstring(L, 2, NULL));

    if (len == 0)
        return 0;
    lua_pushlstring(L, room, len);
    return 1;
}

/* message(code[, text]) -> "%YDB-E-NAME, text" */
static int m_message(lua_State *L)
{
    return worded(L, caret_m__message);
}

static size_t with_where(char *room, size_t cap, int code, const char *text)
{
    return caret_m__status(room, cap, code, "SimpleAPI", text);
}

/* status(code[, text]) -> the same with "code,where," in front */
static int m_status(lua_State *L)
{
    return worded(L, with_where);
}

/* ------------------------------------------------------------ special variables */

/* On whose behalf a variable is read. */
struct who {
    const caret_session *s; /* NULL: no database was used so far */
    const char *zgbldir, *zstatus;
};

static unsigned tlevel(void *who)
{
    const struct who *w = who;

    return w->s != NULL ? caret_txn_level(w->s) : 0;
}

static unsigned trestart(void *who)
{
    const struct who *w = who;

    return w->s != NULL ? caret_txn_restarts(w->s) : 0;
}

static size_t zgbldir(void *who, char *room, size_t cap)
{
    return (size_t)snprintf(room, cap, "%s", ((const struct who *)who)->zgbldir);
}

static size_t zstatus(void *who, char *room, size_t cap)
{
    return (size_t)snprintf(room, cap, "%s", ((const struct who *)who)->zstatus);
}

/* The variable of the name at 1; NULL, and nil, M's code and a text pushed: it can't be used so. */
static const struct caret_m__special *variable(lua_State *L, enum caret_m__use use, int subscripts,
                                               const char *function)
{
    const struct caret_m__special *v;
    char why[160];
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);
    int code = caret_m__special(name, len, use, subscripts, function, &v, why);

    if (code == 0)
        return v;
    lua_pushnil(L);
    lua_pushinteger(L, code);
    lua_pushstring(L, why);
    return NULL;
}

/* special(name, use, subscripts [, function]) -> its name in full; or nil, code, text.  use: "get", "set", "other"; the
 * function is the one of libyottadb that the text names, else that of the use. */
static int m_special(lua_State *L)
{
    static const char *const uses[] = {"get", "set", "other", NULL};
    static const char *const functions[] = {"ydb_get_s()", "ydb_set_s()", "ydb_data_s()"};
    int use = luaL_checkoption(L, 2, NULL, uses);
    const struct caret_m__special *v = variable(L, (enum caret_m__use)use, (int)luaL_checkinteger(L, 3),
                                                luaL_optstring(L, 4, functions[use]));

    if (v == NULL)
        return 3;
    lua_pushstring(L, v->name);
    return 1;
}

/* special_get(name, database or nil, zgbldir, zstatus) -> its value */
static int m_special_get(lua_State *L)
{
    struct who w = {.zgbldir = luaL_checkstring(L, 3), .zstatus = luaL_checkstring(L, 4)};
    const struct caret_m__asker asker = {&w, tlevel, trestart, zgbldir, zstatus};
    char room[CARET_M__SPECIAL_MAX];

    if (!lua_isnoneornil(L, 2))
        w.s = caret__any_db(L, 2)->s;
    const struct caret_m__special *v = variable(L, CARET_M__GET, 0, "ydb_get_s()");
    if (v == NULL)
        return 3;
    size_t len = caret_m__special_get(v, &asker, room, sizeof room);
    lua_pushlstring(L, room, len < sizeof room ? len : sizeof room - 1);
    return 1;
}

/* ---------------------------------------------------------------------- settings */

/* maxtptime([text]) -> seconds; the text sets it */
static int m_maxtptime(lua_State *L)
{
    size_t len;
    const char *text = luaL_optlstring(L, 1, NULL, &len);

    if (text != NULL)
        caret_m__maxtptime_set(text, len);
    lua_pushinteger(L, (lua_Integer)caret_m__maxtptime());
    return 1;
}

/* settings() -> name of the database unless $ZGBLDIR is set, is text characters? */
static int m_settings(lua_State *L)
{
    lua_pushstring(L, caret_m__gbldir());
    lua_pushboolean(L, caret_m__utf8());
    return 2;
}

/* file(name) -> the file that it stands for, may it only be read? */
static int m_file(lua_State *L)
{
    char *file = caret_m__file_of(luaL_checkstring(L, 1));

    if (file == NULL)
        return luaL_error(L, "no memory for the name of a file");
    lua_pushboolean(L, caret_m__only_read(file));
    lua_pushstring(L, file);
    free(file);
    lua_insert(L, -2);
    return 2;
}

void caret__add_m(lua_State *L)
{
    static const luaL_Reg functions[] = {{"constants", m_constants}, {"name_error", m_name_error},
                                         {"message", m_message},     {"status", m_status},
                                         {"special", m_special},     {"special_get", m_special_get},
                                         {"maxtptime", m_maxtptime}, {"settings", m_settings},
                                         {"file", m_file},           {NULL, NULL}};
    lua_newtable(L);
    caret__functions(L, functions);
    lua_setfield(L, -2, "m");
}
