/*
 * node.c - nodes as Lua objects: making them, and their metamethods.
 *
 *   n.__            get; n.__ = v  set or, with nil, delete
 *   n.__name        the method, for n:__name()
 *   n.sub, n[3]     a child
 *   n:name(...)     is n.name called with n: a child whose first argument is its
 *                   parent is a method call
 *
 * The metamethods are closures over what they need (enum upvalue): no look-ups
 * in the registry.  Which built-in methods a class overrides is a set of bits; a
 * method that is not overridden is called directly, without finding its name.
 *
 * Remembering children.  Nodes never change, so the same child can be the same
 * object.  Making it costs one userdata; remembering it, a table and a metatable for
 * the parent, which pays only if it is asked for again and again.  So a node is
 * primed by the first child that is asked for by name, and remembers from the second
 * on; a remembered child is primed from the start.  Thus of a path a.b.c that is
 * walked twice every step is remembered, while those below a node that is used once,
 * like n[i].name in a loop, never are.  A cache has weak values (a node nobody else
 * has goes, but not at once: recent.c) and room for CACHE_MAX; then it starts afresh.
 * Where there is one, the methods that were asked for as n.__name are in it too.
 *
 * Classes with an overriding get have an __index in Lua (init.lua), so that Lua calls Lua
 * for n.__ without C in between.  Finding children is better in C: a node of such a class
 * changes to a second metatable, with our __index, when it is asked for one.
 *
 * Nothing is remembered of cursors, whose address changes, nor for numbers, of which
 * there are too many.
 */
#include <string.h>

#include "lua/binding.h"

#define CACHE_MAX 64u
#define METATABLE_SIZE                                                                                       \
    32 /* __index and __newindex are looked up with each access: sparse, and put in first */

#define CACHE_PARENT 1 /* where the parent is in the metatable of a cache */

enum upvalue {
    UP_METHODS = 1,  /* table of the class's methods */
    UP_CLASS = 2,    /* userdata struct class */
    UP_NUMBERS = 3,  /* table: name of a built-in method -> its number */
    UP_METHOD = 4,   /* __index: the function that overrides get; __newindex: that of set */
    UP_META = 5,     /* the class's metatable */
    UP_RESERVED = 6, /* table: "__name" -> method, as far as it was asked for */
    UPVALUES = 6
};

struct class {
    uint64_t overridden; /* bit i: built-in method i */
};

const struct caret__method caret__methods[] = {{"", NULL},
                                               {"get", caret__node_get},
                                               {"set", caret__node_set},
                                               {"number", caret__node_number},
                                               {"incr", caret__node_incr},
                                               {"kill", caret__node_kill},
                                               {"delete", caret__node_delete},
                                               {"data", caret__node_data},
                                               {"has_value", caret__node_has_value},
                                               {"has_tree", caret__node_has_tree},
                                               {"name", caret__node_name},
                                               {"varname", caret__node_varname},
                                               {"depth", caret__node_depth},
                                               {"subsarray", caret__node_subsarray},
                                               {"repr", caret__node_repr},
                                               {"ismutable", caret__node_ismutable},
                                               {"subscripts", caret__node_subscripts},
                                               {"pairs", caret__node_pairs},
                                               {"range", caret__node_range},
                                               {"kill_range", caret__node_kill_range},
                                               {"walk", caret__node_walk},
                                               {"next", caret__node_next},
                                               {"previous", caret__node_previous},
                                               {"cursor", caret__node_cursor},
                                               {"move", caret__node_move},
                                               {"grab", caret__node_grab},
                                               {"lock_incr", caret__node_grab},
                                               {"release", caret__node_release},
                                               {"lock_decr", caret__node_release},
                                               {"lock", caret__node_lock},
                                               {"get_many", caret__node_get_many},
                                               {"put", caret__node_put},
                                               {"add", caret__node_put_new},
                                               {"swap", caret__node_swap},
                                               {"random", caret__node_random},
                                               {NULL, NULL}};
#define GET_BIT (UINT64_C(1) << 1)
#define SET_BIT (UINT64_C(1) << 2)

_Static_assert(sizeof caret__methods / sizeof *caret__methods <= CARET__METHODS_MAX, "a bit for each");

int caret__refuse_node(lua_State *L, int i)
{
    struct caret__lnode *n = caret__lnode(L, i);
    if (n == NULL)
        return caret__expected(L, i, "a node");
    return caret__misuse(L, "CLOSED: the database of this node was closed");
}

struct caret__lnode *caret__check_address(lua_State *L, int i)
{
    struct caret__lnode *n = caret__lnode(L, i);
    if (n == NULL)
        caret__expected(L, i, "a node");
    return n;
}

/* ------------------------------------------------------------------- making */

/* Push memory for a node with its head filled in, but for the address and the metatable. */
static inline struct caret__lnode *push_head(lua_State *L, struct caret__ldb *d, size_t bytes, unsigned kind)
{
    struct caret__lnode *n = caret__newuserdata(L, sizeof *n - sizeof n->node + bytes);
    n->magic = CARET__LNODE_MAGIC; /* field by field: a memset of this size costs more than all of them */
    n->method = n->cached = 0;
    n->kind = (uint8_t)kind;
    n->words = (uint8_t)(bytes / 8);
    n->db = d;
    return n;
}

/* Push the metatable of the class of the node at i. */
static void push_class(lua_State *L, int i)
{
    lua_getmetatable(L, i);
    lua_rawgeti(L, -1, CARET__FIELD_CLASS);
    lua_remove(L, -2);
}

struct caret__lnode *caret__push_like(lua_State *L, int like, const caret_node *node, size_t bytes,
                                      unsigned kind)
{
    struct caret__lnode *from = caret__lnode(L, like);
    struct caret__lnode *n = push_head(L, from->db, bytes, (from->kind & CARET__LOCAL) | kind);
    caret_node_copy(&n->node, bytes, node);
#if LUA_VERSION_NUM == 501
    if (lua_istable(L, like))
        caret__wrap_node(L, n);
#endif
    push_class(L, like);
    lua_setmetatable(L, -2);
    return n;
}

/* The child on top gets its class. */
static inline void dress(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(UP_META));
    lua_setmetatable(L, -2);
}

/* Push a child of n that was made aside: where there was too little room for it. */
static struct caret__lnode *push_made(lua_State *L, const struct caret__lnode *n, const caret_node *made)
{
    size_t bytes = caret_node_size(made);
    struct caret__lnode *child = push_head(L, n->db, bytes, n->kind & CARET__LOCAL);

    caret_node_copy(&child->node, bytes, made);
    return child;
}

/* Push the child of n by an integer. */
static inline void push_numbered(lua_State *L, const struct caret__lnode *n, int64_t sub)
{
    size_t own = n->kind & CARET__MUTABLE ? caret_node_size(&n->node) : 8u * n->words;
    /* room for what nearly all integers take */
    size_t bytes = own + (sub > -10000000000 && sub < 10000000000 ? 8 : 24);
    struct caret__lnode *child = push_head(L, n->db, bytes, n->kind & CARET__LOCAL);
    int rc = caret_node_child_int(&child->node, bytes, &n->node, sub);

    if (rc == CARET_E_BUFFER) {
        caret_node_buf tmp;
        lua_pop(L, 1);
        rc = caret_node_child_int(&tmp.node, sizeof tmp, &n->node, sub);
        if (rc == CARET_OK)
            push_made(L, n, &tmp.node);
    }
    if (rc != CARET_OK)
        caret__raise(L, n->db, rc);
    dress(L);
}

/* There can be no subnode of that name, as the node has all the subscripts there can be: then the name can only
 * mean the method.  Push it; false if there is none. */
static int push_method(lua_State *L, int rc)
{
    if ((rc != CARET_E_MAXSUBS && rc != CARET_E_KEY2BIG) || lua_type(L, 2) != LUA_TSTRING)
        return 0;
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(UP_METHODS));
    return !lua_isnil(L, -1);
}

/* Push the child of n by the value at 2.  NULL: the method of that name was pushed. */
static struct caret__lnode *push_child(lua_State *L, const struct caret__lnode *n)
{
    size_t len = lua_type(L, 2) == LUA_TSTRING ? caret__rawlen(L, 2) : 20;
    size_t bytes = caret_node_size(&n->node) + ((len + 9u) & ~(size_t)7); /* enough, nearly always */
    struct caret__lnode *child = push_head(L, n->db, bytes, n->kind & CARET__LOCAL);
    int rc = caret__sub(L, &child->node, bytes, &n->node, 2);

    if (rc == CARET_E_BUFFER) {
        caret_node_buf tmp;
        lua_pop(L, 1);
        rc = caret__sub(L, &tmp.node, sizeof tmp, &n->node, 2);
        if (rc == CARET_OK)
            child = push_made(L, n, &tmp.node);
    }
    if (rc != CARET_OK && push_method(L, rc))
        return NULL;
    if (caret__is_too_long(n->db, &n->node, rc)) {
        lua_settop(L, 2);
        caret__too_long(L, "node", 1);
        return NULL;
    }
    if (rc != CARET_OK)
        caret__raise(L, n->db, rc);
    dress(L);
    return child;
}

/* ---------------------------------------------------------------- remembering */

/* Push a metatable that is the class's but for its __index. */
static void push_own_metatable(lua_State *L)
{
    lua_createtable(L, 8, METATABLE_SIZE);
    for (lua_pushnil(L); lua_next(L, lua_upvalueindex(UP_META)) != 0;) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

/* Push a new, empty cache of the node at 1 and make its metatable lead to it. */
static void push_cache(lua_State *L, struct caret__lnode *n)
{
    if (n->cached != 0)
        lua_getmetatable(L, 1);
    else
        push_own_metatable(L);
    lua_createtable(L, 0, 4);
    lua_createtable(L, CACHE_PARENT, 2);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_rawgeti(L, lua_upvalueindex(UP_META), CARET__FIELD_MISS);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, CACHE_PARENT);
    lua_setmetatable(L, -2);
    lua_pushliteral(L, "__index");
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    lua_insert(L, -2);
    lua_setmetatable(L, 1);
    n->cached = 0;
}

/* The child on top of the stack is remembered under the string at 2. */
static void remember(lua_State *L, struct caret__lnode *n)
{
    if (n->cached == 0 || n->cached >= CACHE_MAX) {
        push_cache(L, n);
    } else {
        lua_getmetatable(L, 1);
        lua_pushliteral(L, "__index");
        lua_rawget(L, -2);
        lua_remove(L, -2);
    }
    n->cached++;
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    caret__hold(L, &n->db->st->recent);
}

/* The method on top of the stack, of the class of the node at 1, is remembered in the node's cache under the string at
 * 2; core_changed() makes it forgotten. */
static void remember_method(lua_State *L)
{
    lua_getmetatable(L, 1);
    lua_pushliteral(L, "__index");
    lua_rawget(L, -2);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -4);
    lua_rawset(L, -3);
    lua_rawgeti(L, lua_upvalueindex(UP_META), CARET__FIELD_CACHES);
    lua_pushvalue(L, -2);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 3);
}

/* Push the child of the node at 1 by the string at 2, remembered if that is worth it. */
static void push_named(lua_State *L, struct caret__lnode *n)
{
    struct caret__lnode *child = push_child(L, n);

    if (child == NULL)
        return;
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(UP_NUMBERS));
    child->method = (uint8_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (n->kind & CARET__PRIMED) {
        child->kind |= CARET__PRIMED;
        remember(L, n);
    } else if (!(n->kind & CARET__MUTABLE)) {
        n->kind |= CARET__PRIMED;
    }
}

/* -------------------------------------------------------------- metamethods */

static struct class *class_of_closure(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(UP_CLASS));
}

/* Push the function that overrides get, or set, if there is one. */
static inline int push_overriding(lua_State *L, const struct caret__lnode *n)
{
    if (!n->db->overridden)
        return 0;
    lua_pushvalue(L, lua_upvalueindex(UP_METHOD));
    if (!lua_isnil(L, -1))
        return 1;
    lua_pop(L, 1);
    return 0;
}

/* Push the method of the class that the string at 2 means. */
static void push_reserved(lua_State *L, const char *key, size_t len)
{
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(UP_RESERVED));
    if (!lua_isnil(L, -1))
        return;
    lua_pushlstring(L, key + 2, len - 2);
    lua_gettable(L, lua_upvalueindex(UP_METHODS));
    if (lua_isnil(L, -1))
        caret__misuse(L, "nodes have no method %s; the subnode of that name is node(%s)",
                      caret__push_shown(L, key + 2, len - 2, '\''), caret__push_shown(L, key, len, '\''));
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(UP_RESERVED));
}

/*
 * The same in the place of that string, which is on top, if the method was asked for before; else 0, and nothing has
 * changed.
 */
static inline int replace_reserved(lua_State *L, const char *key, size_t len)
{
    lua_rawget(L, lua_upvalueindex(UP_RESERVED));
    if (!lua_isnil(L, -1))
        return 1;
    lua_pop(L, 1);
    caret__push_text(L, (caret_slice){key, len}); /* as it was: nothing has allocated since */
    return 0;
}

#define RESERVED_SHORT 64u /* bytes of a name that may be put back so: no method has as many */

/* n.__, n.__name */
static int index_reserved(lua_State *L, struct caret__lnode *n, const char *key, size_t len)
{
    if (len == 2 && push_overriding(L, n)) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
        return 1;
    }
    if (len == 2) {
        caret__push_value(L, n->db, caret__lnode_session(n), &n->node);
        return 1;
    }
    if (n->cached == 0 && len < RESERVED_SHORT && lua_gettop(L) == 2 && replace_reserved(L, key, len))
        return 1;
    push_reserved(L, key, len);
    if (n->cached != 0)
        remember_method(L);
    return 1;
}

/* The node at 1 is asked for a child for the first time. */
static void become_parent(lua_State *L, struct caret__lnode *n)
{
    n->kind |= CARET__PARENT;
    if (n->cached != 0)
        return;
    lua_rawgeti(L, lua_upvalueindex(UP_META), CARET__FIELD_PARENT);
    if (lua_istable(L, -1))
        lua_setmetatable(L, 1);
    else
        lua_pop(L, 1);
}

/* What the node n at 1 has under the key at 2. */
static inline int index_node(lua_State *L, struct caret__lnode *n)
{
    int64_t sub;
    size_t len;
    int type = lua_type(L, 2);

    if (type == LUA_TSTRING) {
        const char *key = lua_tolstring(L, 2, &len);
        if (key[0] == '_' && key[1] == '_')
            return index_reserved(L, n, key, len);
    }
    if (n->db->overridden && !(n->kind & CARET__PARENT))
        become_parent(L, n);
    if (type == LUA_TNUMBER && caret__integer(L, 2, &sub))
        push_numbered(L, n, sub);
    else if (type == LUA_TSTRING)
        push_named(L, n);
    else
        push_child(L, n);
    return 1;
}

static int meta_index(lua_State *L)
{
    return index_node(L, caret__own_node(L, 1));
}

/* __index of caches: the child by that name is not remembered. */
static int cache_miss(lua_State *L)
{
    int64_t sub;

    lua_getmetatable(L, 1);
    lua_rawgeti(L, -1, CACHE_PARENT);
    /* The commonest, and never remembered. */
    if (lua_type(L, 2) == LUA_TNUMBER && caret__integer(L, 2, &sub)) {
        const struct caret__lnode *n = lua_touserdata(L, -1);
        if (n != NULL && n->magic == CARET__LNODE_MAGIC && !(n->db->barred & CARET__DB_CLOSED)) {
            push_numbered(L, n, sub);
            return 1;
        }
    }
    lua_replace(L, 1);
    lua_settop(L, 2);
    return index_node(L, caret__own_node(L, 1));
}

static int refuse_assignment(lua_State *L)
{
    int number = lua_type(L, 2) == LUA_TNUMBER;

    if (!number && lua_type(L, 2) != LUA_TSTRING)
        return caret__misuse(L, "a subscript must be a string or a number, not a %s", caret__typename(L, 2));
    size_t len;
    const char *shown = caret__push_shown_at(L, 2, number ? '\0' : '\'');
    int reserved = !number && memcmp(lua_tolstring(L, 2, &len), "__", 2) == 0; /* a string ends with a NUL */
    return caret__misuse(
        L, "a node is not a table: write node%s%s%s.__ = value to set the value of this subnode",
        reserved ? "(" : "[", shown, reserved ? ")" : "]");
}

/* n.__ = v */
static int meta_newindex(lua_State *L)
{
    struct caret__lnode *n = caret__own_node(L, 1);
    size_t len = 0;
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : NULL;

    if (len != 2 || key[0] != '_' || key[1] != '_')
        return refuse_assignment(L);
    if (lua_isnil(L, 3) || !push_overriding(L, n)) { /* nil deletes: no set */
        caret__set_value(L, n->db, caret__lnode_session(n), &n->node, 3);
        return 0;
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
    return 0;
}

/* Is the value at 2 the parent of `child`? */
static int is_parent(lua_State *L, const struct caret__lnode *child)
{
    struct caret__lnode *p = caret__lnode(L, 2);
    return p != NULL && child->db == p->db && caret_node_is_child(&child->node, &p->node);
}

/* The method that the last subscript of the node at 1 names, on the rest of the stack. */
static int call_method(lua_State *L, const struct caret__lnode *n)
{
    int nargs = lua_gettop(L) - 1;

    if (n->method != 0 && !(class_of_closure(L)->overridden >> n->method & 1u)) {
        lua_remove(L, 1);
        return caret__methods[n->method].f(L);
    }
    caret__push_last(L, &n->node);
    lua_pushvalue(L, -1);
    lua_gettable(L, lua_upvalueindex(UP_METHODS));
    if (lua_isnil(L, -1))
        return caret__misuse(L, "nodes have no method %s", caret__push_shown_at(L, -2, '\''));
    lua_replace(L, 1);
    lua_pop(L, 1);
    lua_call(L, nargs, LUA_MULTRET);
    return lua_gettop(L);
}

/* A method of its parent, or a deeper node. */
static int meta_call(lua_State *L)
{
    struct caret__lnode *n = caret__own_node(L, 1);
    caret_node_buf tmp;

    if (lua_type(L, 2) == LUA_TUSERDATA && is_parent(L, n))
        return call_method(L, n);
    caret_node_copy(&tmp.node, sizeof tmp, &n->node);
    if (!caret__address_below(L, n->db, &tmp, 2, lua_gettop(L)))
        return caret__too_long(L, "node", 1);
    caret__push_like(L, 1, &tmp.node, caret_node_size(&tmp.node), 0);
    return 1;
}

/* -------------------------------------------------------------- for init.lua */

/* node(metatable, db, name or node, subs...): a node of the database */
int caret__node_new(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 2);
    caret_node_buf tmp;

    if (!caret__address(L, d, &tmp, 3, lua_gettop(L)))
        return caret__too_long(L, "node", 3);
    size_t bytes = caret_node_size(&tmp.node);
    struct caret__lnode *n = push_head(L, d, bytes, caret_node_is_local(&tmp.node) ? CARET__LOCAL : 0);
    caret_node_copy(&n->node, bytes, &tmp.node);
    lua_pushvalue(L, 1);
    lua_setmetatable(L, -2);
    return 1;
}

/* Push the closure of a metamethod of the class whose metatable, methods, numbers, bits and reserved names are
 * at 1, 2, 3, 5, 7; bit: of the built-in method it may have to call. */
static void push_metamethod(lua_State *L, lua_CFunction f, uint64_t bit)
{
    struct class *class = lua_touserdata(L, 5);

    lua_pushvalue(L, 2);
    lua_pushvalue(L, 5);
    lua_pushvalue(L, 3);
    if (class->overridden & bit)
        lua_getfield(L, 2, bit == GET_BIT ? "get" : "set");
    else
        lua_pushnil(L);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 7);
    lua_pushcclosure(L, f, UPVALUES);
}

/* Put the closure on top into the table at 1, by number and by name. */
static void put_metamethod(lua_State *L, int i, const char *name)
{
    lua_pushvalue(L, -1);
    lua_rawseti(L, 1, i);
    lua_setfield(L, 1, name);
}

/* class(methods, numbers, equal, bits, db) -> metatable of a class of nodes of db */
static int core_class(lua_State *L)
{
    static const luaL_Reg plain[] = {{"__tostring", caret__node_repr},
                                     {"__add", caret__node_add},
                                     {"__sub", caret__node_subtract},
                                     {NULL, NULL}};
    struct caret__ldb *d = caret__any_db(L, 5);

    lua_settop(L, 5);
    lua_createtable(L, 8, METATABLE_SIZE);
    lua_insert(L, 1);
    lua_newtable(L); /* 7: reserved names */
    lua_pushvalue(L, 7);
    lua_rawseti(L, 1, CARET__FIELD_RESERVED);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawseti(L, 1, CARET__FIELD_CACHES);
    push_metamethod(L, meta_index, GET_BIT);
    put_metamethod(L, CARET__FIELD_INDEX, "__index");
    push_metamethod(L, meta_newindex, SET_BIT);
    put_metamethod(L, CARET__FIELD_NEWINDEX, "__newindex");
    push_metamethod(L, cache_miss, GET_BIT);
    lua_rawseti(L, 1, CARET__FIELD_MISS);
    push_metamethod(L, meta_call, 0);
    lua_setfield(L, 1, "__call");
    for (const luaL_Reg *f = plain; f->name != NULL; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, 1, f->name);
    }
    lua_pushvalue(L, 4); /* one and the same for all: Lua 5.1 asks for that */
    lua_setfield(L, 1, "__eq");
    lua_pushvalue(L, 6);
    lua_rawseti(L, 1, CARET__FIELD_DB);
    lua_pushvalue(L, 1);
    lua_rawseti(L, 1, CARET__FIELD_CLASS);
    d->overridden |= ((struct class *)lua_touserdata(L, 5))->overridden != 0;
    lua_pushvalue(L, 1);
    return 1;
}

/* bits() -> userdata: what a class overrides; nothing yet */
static int core_bits(lua_State *L)
{
    struct class *class = caret__newuserdata(L, sizeof *class);
    class->overridden = 0;
    return 1;
}

/* override(bits, number): that built-in method is another one from now on */
static int core_override(lua_State *L)
{
    struct class *class = lua_touserdata(L, 1);
    class->overridden |= UINT64_C(1) << lua_tointeger(L, 2);
    return 0;
}

/* The method of the class whose metatable is at 1, by the string at 2, is looked for anew from now on. */
static void forget_method(lua_State *L)
{
    lua_rawgeti(L, 1, CARET__FIELD_RESERVED);
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    lua_rawset(L, -3);
    lua_rawgeti(L, 1, CARET__FIELD_CACHES);
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        lua_pushvalue(L, 2);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 2);
}

/* changed(metatable, "__name", number or nil, method): that method of the class is another one from now on; get
 * and set are put into the metamethods that stand for them */
static int core_changed(lua_State *L)
{
    uint64_t bit = UINT64_C(1) << lua_tointeger(L, 3);

    lua_settop(L, 4);
    lua_rawgeti(L, 1, CARET__FIELD_DB);
    caret__any_db(L, 5)->overridden = 1;
    forget_method(L);
    for (int i = CARET__FIELD_INDEX; i <= CARET__FIELD_MISS; i++) {
        if (bit != (i == CARET__FIELD_NEWINDEX ? SET_BIT : GET_BIT))
            continue;
        lua_rawgeti(L, 1, i);
        lua_pushvalue(L, 4);
        lua_setupvalue(L, -2, UP_METHOD);
        lua_pop(L, 1);
    }
    return 0;
}

/* retype(node, record, make): the node, being of that class from now on; make(record, db) makes its metatable
 * when it is the first of its database */
static int core_retype(lua_State *L)
{
    if (luaL_getmetafield(L, 1, "caret.place")) { /* of the module yottadb: an address too long for a key */
        lua_settop(L, 1);
        return 1;
    }
    if (caret__lnode(L, 1) == NULL)
        return caret__misuse(L, "the function that inherit was given made a %s, not a node",
                             caret__typename(L, 1));
    struct caret__lnode *n = caret__check_node(L, 1);

    lua_settop(L, 3);
    lua_getmetatable(L, 1);
    lua_rawgeti(L, 4, CARET__FIELD_SUBS);
    lua_pushvalue(L, 2);
    lua_rawget(L, 5);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushvalue(L, 3);
        lua_pushvalue(L, 2);
        lua_rawgeti(L, 4, CARET__FIELD_DB);
        lua_call(L, 2, 1);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, -2);
        lua_rawset(L, 5);
    }
    n->kind &= (uint8_t) ~(CARET__PRIMED | CARET__PARENT);
    n->cached = 0;
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

static int core_isnode(lua_State *L)
{
    lua_pushboolean(L, caret__lnode(L, 1) != NULL);
    return 1;
}

void caret__add_node(lua_State *L)
{
    static const luaL_Reg functions[] = {{"node", caret__node_new},
                                         {"class", core_class},
                                         {"bits", core_bits},
                                         {"override", core_override},
                                         {"changed", core_changed},
                                         {"retype", core_retype},
                                         {"isnode", core_isnode},
                                         {"equal", caret__node_equal},
                                         {"refuse_assignment", refuse_assignment},
                                         {NULL, NULL}};
    caret__functions(L, functions);
    lua_newtable(L); /* methods: name -> function; numbers: name -> number */
    lua_newtable(L);
    for (int i = 1; caret__methods[i].name != NULL; i++) {
        lua_pushcfunction(L, caret__methods[i].f);
        lua_setfield(L, -3, caret__methods[i].name);
        lua_pushinteger(L, i);
        lua_setfield(L, -2, caret__methods[i].name);
    }
    lua_setfield(L, -3, "numbers");
    lua_setfield(L, -2, "methods");
    static const struct {
        const char *name;
        int i;
    } fields[] = {
        {"DB", CARET__FIELD_DB},       {"CLASS", CARET__FIELD_CLASS},       {"SUBS", CARET__FIELD_SUBS},
        {"INDEX", CARET__FIELD_INDEX}, {"NEWINDEX", CARET__FIELD_NEWINDEX}, {"PARENT", CARET__FIELD_PARENT}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushinteger(L, fields[i].i);
        lua_setfield(L, -2, fields[i].name);
    }
}
