/*
 * ffi.c - what LuaJIT's compiled code calls, without lua_State: the C side of
 * caret/ffi.lua, which has the design.
 *
 * LuaJIT compiles a call of a C function through its FFI into the trace, while a
 * lua_CFunction ends it.  core.ffi.functions() hands out a table of such functions as
 * one pointer: nothing of it is a symbol of the module, so whatever form the module
 * has (shared, in a rock, linked into the host) there is one copy of the engine.
 *
 * A node is a Lua table there.  Its field KEY is the struct caret__lnode, as a
 * cdata or, made in C, as a userdata; or something else as long as there is no need of it,
 * and then the function in the registry under lnode_key makes it.  caret__lnode() comes
 * here for tables, so that all other functions of the module take such nodes too.
 *
 * Results are ints, which LuaJIT passes without allocating anything; text and numbers are
 * left in a buffer and in box[0].  box[1] counts the texts, as a finalizer may use the
 * database before the caller looks at its own.  What a function does not do quickly, or must
 * not, it leaves alone and says CLASSIC: the function of the same name for lua_State does it
 * then, and raises the errors.
 *
 * A key that is made for one call is in memory that all share, and a finalizer may make another one there before the
 * call.  So each making has a number, which is in box[2] as long as nothing else was made, and the call is given
 * that: if it is another one by now, the call does nothing and says CLASSIC.
 *
 * A hook (debug.sethook) may use the database between any two instructions of the caller's, also between the call and
 * the look at what it left.  So as long as the program has one, nothing is left: what would be is CLASSIC, and a step
 * of an iterator, which can't be taken twice, is HOOKED.
 */
#include <math.h>
#include <string.h>

#include "lua/binding.h"

#if LUA_VERSION_NUM == 501

#define KEY "__:key" /* fields, as in ffi.lua */

/* Lengths are 0 or more; else these, or a code of the C API. */
enum outcome {
    CLASSIC = -1000, /* nothing was done: take the usual way */
    NONE = -1001,    /* no value */
    END = -1002,     /* no next one */
    NUMBER = -1003,  /* it is a number, which is in the other place */
    AGAIN = -1004,   /* conflict: CARET_RESTART */
    INTEGER = -1005, /* the other place has an int64 that a double can't hold */
    HOOKED = -1006   /* it was done, and what it gave is to be asked for the usual way */
};

#define BUFFER_SIZE 65536 /* for values; longer ones take the usual way */

/* What ffi.lua calls.  It declares the same for LuaJIT, and compares that with this text when it is loaded. */
#define FUNCTIONS                                                                                            \
    int (*child)(struct caret__lnode *, int, const struct caret__lnode *, double);                           \
    int (*child_text)(struct caret__lnode *, int, const struct caret__lnode *, const char *, size_t);        \
    int (*words)(const double *, const struct caret__lnode *, double);                                       \
    int (*copy)(struct caret__lnode *, int, const struct caret__lnode *);                                    \
    int (*is_child)(const struct caret__lnode *, const struct caret__lnode *);                               \
    int (*equal)(const struct caret__lnode *, const struct caret__lnode *);                                  \
    int (*last)(const struct caret__lnode *, char *, double *);                                              \
    int (*get)(char *, double *, struct caret__lnode *, double);                                             \
    int (*number)(double *, struct caret__lnode *, double);                                                  \
    int (*set)(const char *, size_t, const double *, struct caret__lnode *, double);                         \
    int (*set_number)(double, const double *, struct caret__lnode *, double);                                \
    int (*incr)(double, double *, struct caret__lnode *, double);                                            \
    int (*data)(const double *, struct caret__lnode *, double);                                              \
    int (*subscript)(int, char *, double *, struct caret__lnode *, double);                                  \
    int (*pair)(struct caret__lnode *, int, char *, double *);                                               \
    int (*move)(struct caret__lnode *, double);                                                              \
    int (*cache_get)(char *, double *, const struct caret__lnode *, const char *, size_t, double);           \
    int (*cache_put)(const struct caret__lnode *, const char *, size_t, const char *, size_t, double,        \
                     double, double);
struct functions {
    FUNCTIONS
};
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...)    TEXT_OF(__VA_ARGS__)

/* ------------------------------------------------------------------ addresses */

/* How many bytes of caret_node are in a struct of so many words after its head? */
static inline size_t room(int words)
{
    return 8u * (size_t)words;
}

/* Is it an integer to the module? */
static inline int is_whole(double v)
{
    return v >= -(double)CARET__EXACT && v <= (double)CARET__EXACT && v == (double)(int64_t)v;
}

/* Fill in the head of a node that becomes a child of another. */
static inline void behead(struct caret__lnode *n, int words, const struct caret__lnode *parent)
{
    if (n == parent)
        return;
    n->magic = CARET__LNODE_MAGIC;
    n->method = n->cached = 0;
    n->kind = parent->kind & CARET__LOCAL;
    n->words = (uint8_t)words;
    n->db = parent->db;
}

static int ffi_child(struct caret__lnode *n, int words, const struct caret__lnode *parent, double sub)
{
    behead(n, words, parent);
    if (is_whole(sub))
        return caret_node_child_int(&n->node, room(words), &parent->node, (int64_t)sub);
    return caret_node_child_double(&n->node, room(words), &parent->node, sub);
}

static int ffi_child_text(struct caret__lnode *n, int words, const struct caret__lnode *parent,
                          const char *sub, size_t len)
{
    behead(n, words, parent);
    return caret_node_child(&n->node, room(words), &parent->node, sub, len);
}

/* Is a key something else than what it was made as?  0: it is a node's own, which nothing changes. */
static inline int is_stale(const double *box, double made)
{
    return made != 0 && made != box[2];
}

/* Words that a node of that address takes. */
static int ffi_words(const double *box, const struct caret__lnode *n, double made)
{
    return is_stale(box, made) ? CLASSIC : (int)(caret_node_size(&n->node) / 8);
}

/* See ffi.lua: no less than the bytes of the key, nor than what the depth counts for. */
static int ffi_bound(const struct caret__lnode *n)
{
    int bytes = (int)(caret_node_size(&n->node) - sizeof n->node),
        levels = 32 * (int)caret_node_depth(&n->node);
    return n->kind & CARET__MUTABLE ? 0 : bytes > levels ? bytes : levels;
}

static int ffi_copy(struct caret__lnode *n, int words, const struct caret__lnode *from)
{
    behead(n, words, from);
    return caret_node_copy(&n->node, room(words), &from->node);
}

static int ffi_is_child(const struct caret__lnode *n, const struct caret__lnode *parent)
{
    return n->db == parent->db && caret_node_is_child(&n->node, &parent->node);
}

static int ffi_equal(const struct caret__lnode *a, const struct caret__lnode *b)
{
    return caret_node_equal(&a->node, &b->node) && (a->db == b->db || caret_node_is_local(&a->node));
}

/* Has the program a hook? */
static inline int is_hooked(const struct caret__lnode *n)
{
    return lua_gethookmask(n->db->thread) != 0;
}

/* The last subscript: NUMBER in the box, or the length of its text. */
static int ffi_last(const struct caret__lnode *n, char *text, double *box)
{
    int64_t v;
    size_t len;
    unsigned depth = caret_node_depth(&n->node);

    if (is_hooked(n))
        return HOOKED;
    box[1]++;
    if (depth == 0) {
        char name[CARET_MAX_NAME + 2];
        caret_slice s = caret_node_name(&n->node, name);
        memcpy(text, s.data, s.len);
        return (int)s.len;
    }
    if (caret_node_last_as_int(&n->node, &v) && v >= -CARET__EXACT && v <= CARET__EXACT) {
        box[0] = (double)v;
        return NUMBER;
    }
    int rc = caret_node_subscript(&n->node, depth - 1, text, BUFFER_SIZE, &len, NULL);
    return rc == CARET_OK ? (int)len : rc;
}

/* ----------------------------------------------------------------------- data */

/* As caret__check_node() sees it; or it is stale. */
static inline int refused(const double *box, const struct caret__lnode *n, double made)
{
    return is_stale(box, made) || n->db->barred & CARET__DB_CLOSED;
}

/* The same, and as caret__check_change() sees it. */
static inline int refused_change(const double *box, const struct caret__lnode *n, double made)
{
    if (is_stale(box, made))
        return 1;
    return n->db->barred != 0 && (n->db->barred & CARET__DB_CLOSED || !(n->kind & CARET__LOCAL));
}

static int ffi_get(char *text, double *box, struct caret__lnode *n, double made)
{
    caret_slice v;

    if (refused(box, n, made) || is_hooked(n))
        return CLASSIC;
    int rc = caret_get(caret__lnode_session(n), &n->node, &v);
    if (rc == CARET_NONE)
        return NONE;
    if (rc != CARET_OK || v.len > BUFFER_SIZE)
        return CLASSIC; /* asked again it says the same */
    box[1]++;
    memcpy(text, v.data, v.len);
    return (int)v.len;
}

static int ffi_number(double *box, struct caret__lnode *n, double made)
{
    caret_slice v;

    if (refused(box, n, made) || is_hooked(n))
        return CLASSIC;
    int rc = caret_get(caret__lnode_session(n), &n->node, &v);
    if (rc == CARET_NONE)
        return NONE;
    return rc == CARET_OK && caret__plain_number(v.data, v.len, box) ? NUMBER : CLASSIC;
}

/* What a writer's result is here: 0, or a code that caret__raise() knows. */
static inline int written(int rc)
{
    return rc == CARET_RESTART ? AGAIN : rc;
}

static int ffi_set(const char *value, size_t len, const double *box, struct caret__lnode *n, double made)
{
    if (refused_change(box, n, made))
        return CLASSIC;
    return written(caret_set(caret__lnode_session(n), &n->node, value, len));
}

static int ffi_set_number(double value, const double *box, struct caret__lnode *n, double made)
{
    char buf[64];
    size_t len;

    if (refused_change(box, n, made))
        return CLASSIC;
    const char *text = is_whole(value)     ? caret__format_integer((int64_t)value, &len, buf)
                       : n->db->translated ? NULL
                                           : caret__format_float(value, &len, buf);
    if (text == NULL)
        return CLASSIC;
    return written(caret_set(caret__lnode_session(n), &n->node, text, len));
}

static int ffi_incr(double by, double *box, struct caret__lnode *n, double made)
{
    int64_t result;

    if (refused_change(box, n, made) || !is_whole(by) || n->db->translated || is_hooked(n))
        return CLASSIC;
    int rc = caret_incr_int(caret__lnode_session(n), &n->node, (int64_t)by, 0, &result);
    if (rc == CARET_E_NUMOFLOW) /* the sum is not such an integer: nothing was changed */
        return CLASSIC;
    if (rc == CARET_OK && (result > CARET__EXACT || result < -CARET__EXACT)) {
        memcpy(box, &result, sizeof result);
        return INTEGER;
    }
    if (rc == CARET_OK)
        box[0] = (double)result;
    return written(rc);
}

static int ffi_data(const double *box, struct caret__lnode *n, double made)
{
    int data, rc = CARET_E_CLOSED;

    if (!refused(box, n, made))
        rc = caret_data(caret__lnode_session(n), &n->node, &data);
    return rc == CARET_OK ? data : CLASSIC;
}

/* --------------------------------------------------------------------- moving */

/* A value as ffi_get() leaves it: its length; NONE; CLASSIC: too long, asked again it says the same. */
static inline int put_value(char *text, double *box, const caret_slice *v)
{
    if (v->data == NULL)
        return NONE;
    if (v->len > BUFFER_SIZE)
        return CLASSIC;
    box[1]++;
    memcpy(text, v->data, v->len);
    return (int)v->len;
}

/* Move a cursor: to the first (last) child of the node that it was made of, then to siblings. */
static int ffi_step(struct caret__lnode *c, int back)
{
    int rc;

    caret_session *s = caret__lnode_session(c);
    if (c->kind & CARET__AMONG)
        rc = back ? caret_previous(s, &c->node) : caret_next(s, &c->node);
    else
        rc = back ? caret_last(s, &c->node) : caret_first(s, &c->node);
    if (rc == CARET_OK)
        c->kind |= CARET__AMONG; /* it went down */
    return rc == CARET_NONE ? END : written(rc);
}

/* The same, and where it is then.  In a buffer that all share the answer could not be asked for later. */
static int ffi_subscript(int back, char *text, double *box, struct caret__lnode *c, double made)
{
    int rc = refused(box, c, made) || (made != 0 && is_hooked(c)) ? CLASSIC : ffi_step(c, back);
    return rc == CARET_OK ? ffi_last(c, text, box) : rc;
}

/* The same, and the value there: its length or NONE.  box[0] is its subscript, NaN if that is text. */
static int ffi_pair(struct caret__lnode *c, int back, char *text, double *box)
{
    int64_t sub;
    caret_slice v;
    int rc = CLASSIC, among = c->kind & CARET__AMONG;

    if (!refused(box, c, 0))
        rc = !among ? ffi_step(c, back)
                    : written(back ? caret_previous_get(caret__lnode_session(c), &c->node, &v)
                                   : caret_next_get(caret__lnode_session(c), &c->node, &v));
    if (rc != CARET_OK)
        return among && rc == CARET_NONE ? END : rc;
    if (is_hooked(c))
        return HOOKED;
    int whole = caret_node_last_as_int(&c->node, &sub) && sub >= -CARET__EXACT && sub <= CARET__EXACT;
    box[0] = whole ? (double)sub : NAN;
    return among ? put_value(text, box, &v) : ffi_get(text, box, c, 0);
}

/* Move a cursor of the program's to an integer. */
static int ffi_move(struct caret__lnode *n, double sub)
{
    if (n->db->barred != 0 || (n->kind & CARET__MOVES) == 0 || !is_whole(sub))
        return CLASSIC;
    return caret_node_set_last_int(&n->node, (int64_t)sub);
}

/* --------------------------------------------------------------------- caches */

/* An entry of a cache: as ffi_get(), and its kind in the box. */
static int ffi_cache_get(char *text, double *box, const struct caret__lnode *entries, const char *key,
                         size_t len, double now)
{
    caret_slice v;
    int kind, rc = CARET__CACHE_SLOW;

    if (!is_hooked(entries))
        rc = caret__cache_quick_get(&v, &kind, entries, key, len, now);
    if (rc == CARET__CACHE_NONE)
        return NONE;
    if (rc != CARET_OK || v.len > BUFFER_SIZE)
        return CLASSIC;
    box[0] = kind;
    return put_value(text, box, &v);
}

/* -------------------------------------------------------------- tables as nodes */

static char lnode_key; /* its address is the registry's key of the function that makes a node's key */

/* What the userdata or cdata on top is made of, else NULL. */
static struct caret__lnode *memory(lua_State *L)
{
    int type = lua_type(L, -1);

    if (type == LUA_TUSERDATA)
        return lua_touserdata(L, -1);
    return strcmp(lua_typename(L, type), "cdata") == 0
               ? (struct caret__lnode *)(uintptr_t)lua_topointer(L, -1)
               : NULL;
}

struct caret__lnode *caret__lnode_in_table(lua_State *L, int i)
{
    if (!lua_istable(L, i))
        return NULL;
    lua_pushvalue(L, i);
    lua_pushliteral(L, KEY);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == LUA_TFUNCTION || lua_isstring(L, -1)) { /* or a number */
        lua_pop(L, 1);
        lua_pushlightuserdata(L, &lnode_key);
        lua_rawget(L, LUA_REGISTRYINDEX);
        lua_pushvalue(L, -2);
        lua_call(L, 1, 1);
    }
    struct caret__lnode *n = memory(L);
    lua_pop(L, 2);
    return n != NULL && n->magic == CARET__LNODE_MAGIC ? n : NULL;
}

void caret__wrap_node(lua_State *L, const struct caret__lnode *n)
{
    lua_createtable(L, 0, 4);
    lua_insert(L, -2);
    lua_setfield(L, -2, KEY);
    lua_pushinteger(L, ffi_bound(n));
    lua_setfield(L, -2, "__:kids");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__:parent");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__:sub");
}

/* name or node, subs... -> node; upvalues: metatable, database.  Also called with the database in front, for
 * db:node. */
static int node_function(lua_State *L)
{
    if (!lua_rawequal(L, 1, lua_upvalueindex(2))) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_insert(L, 1);
    }
    lua_pushnil(L);
    lua_insert(L, 1);
    caret__node_new(L);
    if (lua_touserdata(L, -1) == NULL) /* an address too long for a key */
        return 1;
    caret__wrap_node(L, lua_touserdata(L, -1));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setmetatable(L, -2);
    return 1;
}

/* node_function(metatable, db) -> function that makes such nodes */
static int ffi_node_function(lua_State *L)
{
    caret__any_db(L, 2);
    lua_settop(L, 2);
    lua_pushcclosure(L, node_function, 2);
    return 1;
}

/* barred(db) -> pointer to an int that is 0 as long as the database can be used; db keeps it */
static int ffi_barred(lua_State *L)
{
    lua_pushlightuserdata(L, &caret__any_db(L, 1)->barred);
    return 1;
}

/* check(node): raise why it can't be used, if it can't */
static int ffi_check(lua_State *L)
{
    caret__check_node(L, 1);
    return 0;
}

/* fail(node, code): raise what the C API said just now about the node */
static int ffi_fail(lua_State *L)
{
    int rc = (int)lua_tointeger(L, 2);
    return caret__raise(L, caret__check_address(L, 1)->db, rc == AGAIN ? CARET_RESTART : rc);
}

/* last(key) -> the last subscript, or the name */
static int ffi_last_of(lua_State *L)
{
    lua_settop(L, 1);
    caret__push_last(L, &memory(L)->node);
    return 1;
}

/* call(f, ...) -> f(...): LuaJIT goes on compiling after it, whatever f does */
static int ffi_call(lua_State *L)
{
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* functions(make) -> pointer to the functions; make(node) is to make the key of a node that has none */
static int ffi_functions(lua_State *L)
{
    static const struct functions functions = {
        ffi_child, ffi_child_text, ffi_words,  ffi_copy, ffi_is_child,   ffi_equal,
        ffi_last,  ffi_get,        ffi_number, ffi_set,  ffi_set_number, ffi_incr,
        ffi_data,  ffi_subscript,  ffi_pair,   ffi_move, ffi_cache_get,  caret__cache_quick_put};
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushlightuserdata(L, &lnode_key);
    lua_pushvalue(L, 1);
    lua_rawset(L, LUA_REGISTRYINDEX);
    lua_pushlightuserdata(L, (void *)(uintptr_t)&functions);
    return 1;
}

void caret__add_ffi(lua_State *L)
{
    static const luaL_Reg functions[] = {{"functions", ffi_functions},
                                         {"node_function", ffi_node_function},
                                         {"barred", ffi_barred},
                                         {"check", ffi_check},
                                         {"fail", ffi_fail},
                                         {"call", ffi_call},
                                         {"last", ffi_last_of},
                                         {"add", caret__node_add},
                                         {"subtract", caret__node_subtract},
                                         {NULL, NULL}};
    lua_newtable(L);
    caret__functions(L, functions);
    lua_pushliteral(L, TEXT(FUNCTIONS));
    lua_setfield(L, -2, "declared");
    lua_setfield(L, -2, "ffi");
}

#endif
