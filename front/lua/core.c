/*
 * core.c - the entry point of the binding, and how errors are raised.
 *
 * Misuse is a message that begins with the position of the caller; what the
 * database reports is an object {name, message, code}.  A conflict inside a
 * transaction raises a sentinel and is noted in the database as pending too, so
 * that a pcall() in user code can't hide it from the loop in transaction.c.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "lua/binding.h"
#include "m/m.h"

int luaopen_caret_core(lua_State *L);

/* Addresses are keys of the registry. */
static char state_key, restart_key, rollback_key, translator_key;

/* ------------------------------------------------------------------- errors */

const char *caret__said(lua_State *L)
{
    lua_pushstring(L, caret_fact());
    if (*caret_advice() != '\0') {
        lua_pushfstring(L, " (option %s)", caret_advice());
        lua_concat(L, 2);
    }
    return lua_tostring(L, -1);
}

int caret__fail_values(lua_State *L, int rc)
{
    lua_pushnil(L);
    caret__said(L);
    lua_pushstring(L, caret_strerror(rc));
    return 3;
}

int caret__results(lua_State *L, struct caret__ldb *d, int rc)
{
    if (rc == CARET_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    return rc < 0 || rc == CARET_RESTART ? caret__raise(L, d, rc) : caret__fail_values(L, rc);
}

/* Is that chunk of the Lua part of this module, or of yottadb? */
static int is_ours(const char *source)
{
    static const char *const tails[] = {
        "caret/init.lua",     "caret/json.lua",       "caret/trees.lua",    "caret/changes.lua",
        "caret/cache.lua",    "caret/typed.lua",      "caret/ffi.lua",      "caret/callin.lua",
        "yottadb/init.lua",   "yottadb/node.lua",     "yottadb/key.lua",    "yottadb/special.lua",
        "yottadb/errors.lua", "yottadb/database.lua", "yottadb/misuse.lua", "yottadb/address.lua",
        "yottadb/long.lua",   "yottadb/callin.lua",   "/_yottadb.lua",      "@_yottadb.lua"};
    size_t len = strlen(source);

    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (len >= strlen(tails[i]) && strcmp(source + len - strlen(tails[i]), tails[i]) == 0)
            return 1;
    return 0;
}

/* Push "file:line: " of the first Lua function on the stack that is not ours. */
static void push_where(lua_State *L)
{
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && !is_ours(ar.source)) {
            lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

/* Push that function of the module yottadb's; see core_translate(). */
static void push_translator(lua_State *L, const char *name)
{
    lua_pushlightuserdata(L, &translator_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
}

/* The database at i, or of the node there, if it is used through the module yottadb; *node: it is a node. */
static const struct caret__ldb *translated(lua_State *L, int i, int *node)
{
    const struct caret__ldb *d = lua_type(L, i) == LUA_TUSERDATA ? lua_touserdata(L, i) : NULL;

    if (d == NULL || caret__rawlen(L, i) != sizeof *d || d->magic != CARET__LDB_MAGIC) {
        const struct caret__lnode *n = caret__lnode(L, i);
        d = n != NULL ? n->db : NULL;
        *node = 1;
    }
    return d != NULL && d->translated ? d : NULL;
}

#define IN_FRONT 3 /* a database or node is among so many arguments, if there is one */

/* The text on top is about the arguments of the running function, which are below it: in the words of the module
 * yottadb, if it was called for that.  A node is passed to it too, a database, and what is in front of it, is not. */
static void reword(lua_State *L)
{
    int n = lua_gettop(L) - 1, i = 1, node = 0;

    while (i <= n && i <= IN_FRONT && translated(L, i, &node) == NULL)
        node = 0, i++;
    if (i > n || i > IN_FRONT)
        return;
    luaL_checkstack(L, n + 4, NULL);
    push_translator(L, "misused");
    lua_pushvalue(L, n + 1);
    for (int k = i + !node; k <= n; k++)
        lua_pushvalue(L, k);
    lua_call(L, n + node - i + 1, 1);
    lua_replace(L, n + 1);
}

int caret__misuse(lua_State *L, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    reword(L);
    push_where(L);
    lua_insert(L, -2);
    lua_concat(L, 2);
    return lua_error(L);
}

const char *caret__push_shown(lua_State *L, const char *bytes, size_t len, char quote)
{
    char text[CARET_SHOWN_SIZE];

    caret_shown(bytes, len, 80, quote, text, sizeof text);
    lua_pushstring(L, text);
    return lua_tostring(L, -1);
}

const char *caret__push_shown_at(lua_State *L, int i, char quote)
{
    size_t len;
    int type = lua_type(L, i);

    lua_pushvalue(L, i); /* a number becomes a string */
    const char *text = type == LUA_TSTRING || type == LUA_TNUMBER ? lua_tolstring(L, -1, &len) : NULL;
    return text != NULL ? caret__push_shown(L, text, len, quote)
                        : lua_pushfstring(L, "a %s", caret__typename(L, i));
}

/* shown(text[, quote]): bytes of the caller's as messages show them, between quotes unless that is "". */
static int core_shown(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);

    caret__push_shown(L, text, len, *luaL_optstring(L, 2, "'"));
    return 1;
}

#define EXPECTED "%s was expected, not a %s%s"
#define COLON    " (call methods with ':')"

int caret__expected(lua_State *L, int i, const char *what)
{
    return caret__misuse(L, EXPECTED, what, caret__typename(L, i), i == 1 ? COLON : "");
}

/* expected(value, what): the same for the Lua part, where the value is what stands before the ':' of a method. */
static int core_expected(lua_State *L)
{
    lua_pushfstring(L, EXPECTED, luaL_checkstring(L, 2), caret__typename(L, 1), COLON);
    lua_replace(L, 1);
    lua_settop(L, 1);
    return caret__misuse(L, "%s", lua_tostring(L, 1));
}

/* misuse(text[, node, ...]): the same for the Lua part. */
static int core_misuse(lua_State *L)
{
    return caret__misuse(L, "%s", lua_tostring(L, 1));
}

/* typename(value): what it is, for messages; a node is a node with every Lua. */
static int core_typename(lua_State *L)
{
    lua_pushstring(L, caret__typename(L, 1));
    return 1;
}

/* stored(float) -> the text that a set of it stores; "": of none that is finite */
static int core_stored(lua_State *L)
{
    char buf[64];
    size_t len;
    const char *text = caret__format_float(luaL_checknumber(L, 1), &len, buf);

    lua_pushlstring(L, text, text != NULL ? len : 0);
    return 1;
}

/* number(text) -> what it is as a number to the database, in any locale; nothing: it is not one */
static int core_number(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);

    return caret__push_number(L, text, len);
}

/* Is it the program that is wrong, rather than the world? */
static int is_misuse(int rc)
{
    return rc <= CARET_E_INVALID && rc >= CARET_E_SYNTAX && rc != CARET_E_TXN_TOO_BIG &&
           rc != CARET_E_NUMOFLOW && rc != CARET_E_READONLY;
}

static void push_sentinel(lua_State *L, enum caret__pending what)
{
    lua_pushlightuserdata(L, what == CARET__GO_RESTART ? &restart_key : &rollback_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

int caret__raise_m(lua_State *L, int code, const char *text)
{
    luaL_checkstack(L, 4, NULL);
    push_translator(L, "raised");
    lua_pushinteger(L, code);
    lua_pushstring(L, text);
    lua_call(L, 2, 1);
    return lua_error(L);
}

/* Raise what the translator of such databases makes of it. */
static int raise_translated(lua_State *L, int rc, const char *message)
{
    return caret__raise_m(L, caret_m__code_of(rc), caret_m__said(rc, message));
}

/*
 * translate(db, f, utf8): this database is used through the module yottadb from now on; there is one table f of
 * functions for all of them:
 *
 *     f.raised(M's code, text) -> what is raised for an error
 *     f.misused(text, ...) -> another text for that of a misuse by these arguments
 *     f.too_long(name, ...) -> what that function answers for the address of a local, too long for a key
 *     f.returned(number): a transaction's function returned that; to be raised, or nothing
 *
 * And if not utf8, what it prints is bytes.
 */
static int core_translate(lua_State *L)
{
    struct caret__ldb *d = caret__any_db(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    d->bytes = !lua_toboolean(L, 3);
    lua_settop(L, 2);
    lua_pushlightuserdata(L, &translator_key);
    lua_insert(L, 2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    d->translated = 1;
    return 0;
}

int caret__too_long(lua_State *L, const char *function, int i)
{
    int top = lua_gettop(L);

    luaL_checkstack(L, top + 4, NULL);
    push_translator(L, "too_long");
    lua_pushstring(L, function);
    for (int k = i; k <= top; k++)
        lua_pushvalue(L, k);
    lua_call(L, top - i + 2, 1);
    return 1;
}

int caret__returned(lua_State *L, int i)
{
    lua_Number code = lua_tonumber(L, i);

    luaL_checkstack(L, 4, NULL);
    push_translator(L, "returned");
    lua_pushnumber(L, code);
    return lua_pcall(L, 1, 0, 0);
}

int caret__raise_pending(lua_State *L, struct caret__ldb *d, enum caret__pending what)
{
    d->pending = what;
    if (d->translated)
        return raise_translated(L, what == CARET__GO_RESTART ? CARET_RESTART : CARET_ROLLBACK, "");
    push_sentinel(L, what);
    return lua_error(L);
}

int caret__raise_text(lua_State *L, struct caret__ldb *d, int rc, const char *message)
{
    const char *name = caret_strerror(rc);
    size_t len = strlen(name);

    if (rc == CARET_RESTART)
        return caret__raise_pending(L, d, CARET__GO_RESTART);
    if (d->translated)
        return raise_translated(L, rc, message);
    if (is_misuse(rc))
        return caret__misuse(L, "%s", message);
    if (strncmp(message, name, len) == 0 && strncmp(message + len, ": ", 2) == 0)
        message += len + 2;
    lua_createtable(L, 0, 3);
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, rc);
    lua_setfield(L, -2, "code");
    luaL_getmetatable(L, "caret.error");
    lua_setmetatable(L, -2);
    return lua_error(L);
}

int caret__raise(lua_State *L, struct caret__ldb *d, int rc)
{
    return caret__raise_text(L, d, rc, rc != CARET_RESTART ? caret__said(L) : "");
}

static int error_tostring(lua_State *L)
{
    lua_getfield(L, 1, "name");
    lua_pushliteral(L, ": ");
    lua_getfield(L, 1, "message");
    lua_concat(L, 3);
    return 1;
}

static void add_sentinel(lua_State *L, char *key, const char *name, const char *message)
{
    lua_pushlightuserdata(L, key);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
    luaL_getmetatable(L, "caret.error");
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

/* -------------------------------------------------------------------- state */

struct caret__lstate *caret__state(lua_State *L)
{
    lua_pushlightuserdata(L, &state_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct caret__lstate *st = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return st;
}

/* The state closes: it was made before any database, so all of those are closed. */
static int state_gc(lua_State *L)
{
    struct caret__lstate *st = lua_touserdata(L, 1);
    caret_session_close(st->locals);
    st->locals = NULL;
    return 0;
}

static void open_state(lua_State *L)
{
    lua_pushlightuserdata(L, &state_key);
    struct caret__lstate *st = lua_newuserdata(L, sizeof *st);
    memset(st, 0, sizeof *st);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, state_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    st->thread = lua_newthread(L);
    luaL_ref(L, LUA_REGISTRYINDEX);
    if (caret_session_open(NULL, &st->locals) != CARET_OK)
        luaL_error(L, "%s", caret_message());
}

void caret__functions(lua_State *L, const luaL_Reg *f)
{
    for (; f->name != NULL; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
}

/* zwr(bytes[, node]): as a ZWR literal, of the form that the node's database has */
static int core_zwr(lua_State *L)
{
    char small[512];
    size_t n, len;
    const char *s = luaL_checklstring(L, 1, &n);
    int utf8 = lua_isnoneornil(L, 2) || !caret__check_address(L, 2)->db->bytes;

    if (caret_str2zwr(s, n, utf8, small, sizeof small, &len) == CARET_OK) {
        lua_pushlstring(L, small, len);
        return 1;
    }
    char *big = lua_newuserdata(L, len);
    if (caret_str2zwr(s, n, utf8, big, len, &len) != CARET_OK)
        return luaL_error(L, "%s", caret_message());
    lua_pushlstring(L, big, len);
    return 1;
}

/* A thread of ours may run when the host lets go of the module: it stays mapped. */
static void stay_mapped(void)
{
    Dl_info info;
    if (dladdr((void *)(uintptr_t)&state_key, &info) != 0 && info.dli_fname != NULL)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int luaopen_caret_core(lua_State *L)
{
    static const luaL_Reg functions[] = {{"misuse", core_misuse},
                                         {"expected", core_expected},
                                         {"typename", core_typename},
                                         {"stored", core_stored},
                                         {"number", core_number},
                                         {"shown", core_shown},
                                         {"translate", core_translate},
                                         {"zwr", core_zwr},
                                         {"transaction", caret__transaction},
                                         {"tp", caret__tp},
                                         {"snapshot", caret__run_snapshot},
                                         {"backup", caret__backup_to},
                                         {"restore", caret__restore_from},
                                         {"trestart", caret__trestart},
                                         {"trollback", caret__trollback},
                                         {"lock_list", caret__db_lock},
                                         {"variables", caret__variables},
                                         {"short_number", caret__short_number},
                                         {NULL, NULL}};
    stay_mapped();
    luaL_newmetatable(L, "caret.error");
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
    add_sentinel(L, &restart_key, "RESTART", "the transaction must be run again; let this error pass");
    add_sentinel(L, &rollback_key, "ROLLBACK", "the transaction is being rolled back; let this error pass");
    open_state(L);
    caret__open_recent(L);
    caret__open_trace(L);

    lua_newtable(L);
    lua_pushliteral(L, CARET_VERSION);
    lua_setfield(L, -2, "_VERSION");
    caret__functions(L, functions);
    caret__add_db(L);
    caret__add_changes(L);
    caret__add_node(L);
    caret__add_cache(L);
    caret__add_counted(L);
    caret__add_data(L);
    caret__add_subtree(L);
    caret__add_text(L);
    caret__add_m(L);
    caret__add_callin(L);
#if LUA_VERSION_NUM == 501
    caret__add_ffi(L);
#endif
    return 1;
}
