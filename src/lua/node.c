/*
 * node.c - nodes as Lua objects: making them, and their metamethods.
 *
 *   n.__            get; n.__ = v  set or, with nil, delete
 *   n.__name        the method, for n:__name()
 *   n.sub, n[3]     a child, remembered by the parent when named by a string
 *   n:name(...)     is n.name called with n: a child whose first argument is the
 *                   node it was made from is a method call
 *
 * The metamethods are closures over what they need (enum upvalue): no look-ups
 * in the registry.  Which built-in methods a class overrides is a set of bits; a
 * method that is not overridden is called directly, without finding its name.
 *
 * Children are remembered in a table with weak values, so that they go when
 * nobody else has them.  A node that was made by a number or a call is likely to
 * be used once: of its children that are called as methods the first is not
 * worth a table.
 *
 * Every object has an id, as addresses of userdata are used again.  A cursor gets
 * a new id with every step: a child made before is none of its children.
 */
#include <string.h>

#include "lua/binding.h"

#define CACHE_MAX 64u /* children put into one cache; then it starts afresh */

enum upvalue {
    UP_METHODS = 1, /* table of the class's methods */
    UP_CLASS = 2,   /* userdata struct class */
    UP_NUMBERS = 3, /* table: name of a built-in method -> its number */
    UP_METHOD = 4,  /* __index: the function that overrides get; __newindex: that of set */
    UPVALUES = 4
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
                                               {"next", caret__node_next},
                                               {"previous", caret__node_previous},
                                               {"grab", caret__node_grab},
                                               {"lock_incr", caret__node_grab},
                                               {"release", caret__node_release},
                                               {"lock_decr", caret__node_release},
                                               {"lock", caret__node_lock},
                                               {NULL, NULL}};
#define GET_BIT (UINT64_C(1) << 1)
#define SET_BIT (UINT64_C(1) << 2)

_Static_assert(sizeof caret__methods / sizeof *caret__methods <= CARET__METHODS_MAX, "a bit for each");

int caret__refuse_node(lua_State *L, int i)
{
    struct caret__lnode *n = caret__lnode(L, i);
    if (n == NULL)
        return caret__misuse(L, "a node was expected, not a %s", luaL_typename(L, i));
    if (n->db->barred & CARET__DB_CLOSED)
        return caret__misuse(L, "CLOSED: the database of this node was closed");
    if (!caret_node_is_local(&n->node))
        return caret__misuse(L, "INTXN: a transaction of another database is running");
    return 0;
}

struct caret__lnode *caret__check_address(lua_State *L, int i)
{
    struct caret__lnode *n = caret__lnode(L, i);
    if (n == NULL)
        caret__misuse(L, "a node was expected, not a %s", luaL_typename(L, i));
    return n;
}

/* ------------------------------------------------------------------- making */

/* Push memory for a node with its head filled in, but for the address, metatable and user value. */
static struct caret__lnode *push_head(lua_State *L, struct caret__ldb *d, size_t bytes)
{
    struct caret__lnode *n = lua_newuserdata(L, sizeof *n - sizeof n->node + bytes);
    n->db = d; /* field by field: a memset of this size costs more than all of them */
    n->id = ++d->st->serial;
    n->parent = 0;
    n->cached = 0;
    n->method = n->is_mutable = n->primed = 0;
    n->magic = CARET__LNODE_MAGIC;
    return n;
}

/* Push the anchors that keep the database of the node at i. */
static void push_anchors(lua_State *L, int i, const struct caret__lnode *n)
{
    caret__getuser(L, i);
    if (n->cached == 0)
        return;
    lua_getmetatable(L, -1);
    lua_rawgeti(L, -1, 0);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* The node on top gets metatable and anchors of the one at `like`. */
static void dress(lua_State *L, int like, const struct caret__lnode *from)
{
    lua_getmetatable(L, like);
    lua_setmetatable(L, -2);
    push_anchors(L, like, from);
    caret__setuser(L, -2);
}

struct caret__lnode *caret__push_like(lua_State *L, int like, const caret_node *node, size_t bytes)
{
    struct caret__lnode *from = lua_touserdata(L, like), *n = push_head(L, from->db, bytes);
    caret_node_copy(&n->node, bytes, node);
    n->s = caret__session(n->db, &n->node);
    dress(L, like, from);
    return n;
}

/* Bytes that a child by the value at i takes, or nearly always. */
static size_t guess_size(lua_State *L, const struct caret__lnode *n, int i)
{
    size_t len = lua_type(L, i) == LUA_TSTRING ? caret__rawlen(L, i) : 8;
    return caret_node_size(&n->node) + ((len + 23u) & ~(size_t)7);
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

/* Push the child of the node at 1 by the value at 2.  NULL: the method of that name was pushed. */
static struct caret__lnode *push_child(lua_State *L, struct caret__lnode *n)
{
    size_t bytes = guess_size(L, n, 2);
    struct caret__lnode *child = push_head(L, n->db, bytes);
    int rc = caret__sub(L, &child->node, bytes, &n->node, 2);

    if (rc == CARET_E_BUFFER) {
        caret_node_buf tmp;
        lua_pop(L, 1);
        rc = caret__sub(L, &tmp.node, sizeof tmp, &n->node, 2);
        if (rc == CARET_OK) {
            child = push_head(L, n->db, caret_node_size(&tmp.node));
            caret_node_copy(&child->node, caret_node_size(&tmp.node), &tmp.node);
        }
    }
    if (rc != CARET_OK && push_method(L, rc))
        return NULL;
    if (rc != CARET_OK)
        caret__raise(L, n->db, rc);
    child->s = n->s;
    child->parent = n->id;
    dress(L, 1, n);
    return child;
}

/* The child on top of the stack is remembered under the string at 2. */
static void remember(lua_State *L, struct caret__lnode *n)
{
    if (n->cached == 0 || n->cached >= CACHE_MAX) {
        push_anchors(L, 1, n);
        lua_createtable(L, 0, 1);
        lua_rawgeti(L, -2, CARET__ANCHOR_CACHE);
        lua_setmetatable(L, -2);
        lua_remove(L, -2);
        lua_pushvalue(L, -1);
        caret__setuser(L, 1);
        n->cached = 0;
    } else {
        caret__getuser(L, 1);
    }
    n->cached++;
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
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
    if (n->is_mutable)
        return;
    child->primed = 1;
    if (child->method == 0 || n->primed)
        remember(L, n);
    n->primed = 1;
}

/* -------------------------------------------------------------- metamethods */

static struct class *class_of_closure(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(UP_CLASS));
}

/* n.__, n.__name */
static int index_reserved(lua_State *L, struct caret__lnode *n, const char *key, size_t len)
{
    if (len == 2 && !(class_of_closure(L)->overridden & GET_BIT)) {
        caret__push_value(L, n->db, n->s, &n->node);
        return 1;
    }
    if (len == 2) {
        lua_pushvalue(L, lua_upvalueindex(UP_METHOD));
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
        return 1;
    }
    lua_pushlstring(L, key + 2, len - 2);
    lua_gettable(L, lua_upvalueindex(UP_METHODS));
    if (lua_isnil(L, -1))
        return caret__misuse(L, "nodes have no method '%s'; the subnode of that name is node('%s')", key + 2,
                             key);
    return 1;
}

static int meta_index(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    size_t len;

    if (lua_type(L, 2) != LUA_TSTRING) {
        push_child(L, n);
        return 1;
    }
    const char *key = lua_tolstring(L, 2, &len);
    if (key[0] == '_' && key[1] == '_')
        return index_reserved(L, n, key, len);
    if (n->cached != 0) {
        caret__getuser(L, 1);
        lua_pushvalue(L, 2);
        lua_rawget(L, -2);
        if (!lua_isnil(L, -1))
            return 1;
        lua_settop(L, 2);
    }
    push_named(L, n);
    return 1;
}

static int refuse_assignment(lua_State *L)
{
    int number = lua_type(L, 2) == LUA_TNUMBER;
    const char *key = lua_tostring(L, 2); /* makes a number a string */

    if (key == NULL)
        return caret__misuse(L, "a subscript must be a string or a number, not a %s", luaL_typename(L, 2));
    return caret__misuse(L,
                         "a node is no table: write node[%s%s%s].__ = value to set the value of this subnode",
                         number ? "" : "'", key, number ? "" : "'");
}

/* n.__ = v */
static int meta_newindex(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    size_t len = 0;
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : NULL;

    if (len != 2 || key[0] != '_' || key[1] != '_')
        return refuse_assignment(L);
    if (!(class_of_closure(L)->overridden & SET_BIT) || lua_isnil(L, 3)) {
        caret__set_value(L, n->db, n->s, &n->node, 3);
        return 0;
    }
    lua_pushvalue(L, lua_upvalueindex(UP_METHOD));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
    return 0;
}

/* Is the value at 2 the node that `child` was made from, or one of the same address? */
static int is_parent(lua_State *L, const struct caret__lnode *child)
{
    struct caret__lnode *p = caret__lnode(L, 2);
    caret_node_buf up;

    if (p == NULL)
        return 0;
    if (child->parent == p->id && child->db == p->db)
        return 1;
    return child->s == p->s && caret_node_depth(&child->node) == caret_node_depth(&p->node) + 1 &&
           caret_node_parent(&up.node, sizeof up, &child->node) == CARET_OK &&
           caret_node_equal(&up.node, &p->node);
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
        return caret__misuse(L, "nodes have no method '%s'", lua_tostring(L, -2));
    lua_replace(L, 1);
    lua_pop(L, 1);
    lua_call(L, nargs, LUA_MULTRET);
    return lua_gettop(L);
}

/* A method of its parent, or a deeper node. */
static int meta_call(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf tmp;

    if (lua_type(L, 2) == LUA_TUSERDATA && is_parent(L, n))
        return call_method(L, n);
    caret_node_copy(&tmp.node, sizeof tmp, &n->node);
    caret__address_below(L, n->db, &tmp, 2, lua_gettop(L));
    caret__push_like(L, 1, &tmp.node, caret_node_size(&tmp.node));
    return 1;
}

/* -------------------------------------------------------------- for init.lua */

/* node(metatable, db, name or node, subs...): a node of the database */
int caret__node_new(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 2);
    caret_node_buf tmp;

    caret__address(L, d, &tmp, 3, lua_gettop(L));
    struct caret__lnode *n = push_head(L, d, caret_node_size(&tmp.node));
    caret_node_copy(&n->node, caret_node_size(&tmp.node), &tmp.node);
    n->s = caret__session(d, &tmp.node);
    lua_pushvalue(L, 1);
    lua_setmetatable(L, -2);
    caret__getuser(L, 2);
    caret__setuser(L, -2);
    return 1;
}

/* class(metatable, methods, numbers, equal) -> userdata: fills in the metatable of a node class */
static int core_class(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__index", meta_index},
                                    {"__newindex", meta_newindex},
                                    {"__call", meta_call},
                                    {"__tostring", caret__node_repr},
                                    {"__add", caret__node_add},
                                    {"__sub", caret__node_subtract},
                                    {NULL, NULL}};
    lua_settop(L, 4);
    struct class *class = lua_newuserdata(L, sizeof *class);
    class->overridden = 0;
    for (const luaL_Reg *f = meta; f->name != NULL; f++) {
        lua_pushvalue(L, 2);
        lua_pushvalue(L, 5);
        lua_pushvalue(L, 3);
        lua_pushnil(L);
        lua_pushcclosure(L, f->func, UPVALUES);
        lua_setfield(L, 1, f->name);
    }
    lua_pushvalue(L, 4); /* one and the same for all: Lua 5.1 asks for that */
    lua_setfield(L, 1, "__eq");
    return 1;
}

/* override(class, number, method, index, newindex): that built-in method is another one from now on;
 * get and set are put into the metamethods that stand for them */
static int core_override(lua_State *L)
{
    struct class *class = lua_touserdata(L, 1);
    uint64_t bit = UINT64_C(1) << lua_tointeger(L, 2);

    lua_settop(L, 5);
    class->overridden |= bit;
    if (bit == GET_BIT || bit == SET_BIT) {
        lua_pushvalue(L, 3);
        lua_setupvalue(L, bit == GET_BIT ? 4 : 5, UP_METHOD);
    }
    return 0;
}

/* retype(node, metatable): the node, being of that class from now on */
static int core_retype(lua_State *L)
{
    caret__check_node(L, 1);
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
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
                                         {"override", core_override},
                                         {"retype", core_retype},
                                         {"isnode", core_isnode},
                                         {"equal", caret__node_equal},
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
}
