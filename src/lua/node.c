/*
 * node.c - nodes in Lua.
 *
 * A node's metatable has closures made by node_class(methods): their upvalue 1 is
 * the class's table of methods.
 *   n.__            get; n.__ = v  set or, with nil, delete
 *   n.__name        the method, for n:__name()
 *   n.sub, n[3]     a child, remembered by the parent when named by a string
 *   n:name(...)     is n.name called with n: a child whose first argument is the
 *                   node it was made from is a method call
 */
#include <string.h>

#include "lua/binding.h"

#define CACHE_MAX 64u /* children remembered by name; then the cache starts afresh */

struct caret__lnode *caret__check_node(lua_State *L, int i)
{
    struct caret__lnode *n = caret__lnode(L, i);
    if (n == NULL)
        luaL_error(L, "a node was expected, not a %s", luaL_typename(L, i));
    else if (n->db->closed)
        luaL_error(L, "CLOSED: the database of this node was closed");
    return n;
}

/* Memory for a node; the caller sets metatable and user value. */
static struct caret__lnode *new_node(lua_State *L, const caret_node *from, size_t bytes)
{
    struct caret__lnode *n = lua_newuserdata(L, sizeof *n - sizeof n->node + bytes);
    memset(n, 0, sizeof *n - sizeof n->node);
    caret_node_copy(&n->node, bytes, from);
    n->magic = CARET__LNODE_MAGIC;
    return n;
}

/* Push the database userdata (5.1: its environment) that the node at i keeps alive. */
static void push_anchor(lua_State *L, int i)
{
    caret__getuser(L, i);
#if LUA_VERSION_NUM >= 502
    if (lua_istable(L, -1)) {
        lua_rawgeti(L, -1, 0);
        lua_remove(L, -2);
    }
#else
    lua_rawgeti(L, -1, -1); /* a cache notes the shared environment there */
    if (lua_isnil(L, -1))
        lua_pop(L, 1);
    else
        lua_remove(L, -2);
#endif
}

struct caret__lnode *caret__push_like(lua_State *L, int like, const caret_node *n, size_t bytes)
{
    struct caret__lnode *from = lua_touserdata(L, like), *node = new_node(L, n, bytes);
    node->db = from->db;
    lua_getmetatable(L, like);
    lua_setmetatable(L, -2);
    push_anchor(L, like);
    caret__setuser(L, -2);
    return node;
}

/* ------------------------------------------------------------------- children */

/* Push the cache of the node at 1, or nothing (returns 0). */
static int push_cache(lua_State *L)
{
    caret__getuser(L, 1);
#if LUA_VERSION_NUM >= 502
    if (lua_istable(L, -1))
        return 1;
#else
    lua_rawgeti(L, -1, -1);
    int is_cache = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (is_cache)
        return 1;
#endif
    lua_pop(L, 1);
    return 0;
}

/* The child on top of the stack is remembered under the string at 2. */
static void remember(lua_State *L, struct caret__lnode *parent)
{
    if (parent->cached >= CACHE_MAX || !push_cache(L)) {
        lua_createtable(L, 1, 4);
#if LUA_VERSION_NUM >= 502
        push_anchor(L, 1);
        lua_rawseti(L, -2, 0);
#else
        push_anchor(L, 1);
        lua_rawseti(L, -2, -1);
#endif
        lua_pushvalue(L, -1);
        caret__setuser(L, 1);
        parent->cached = 0;
    }
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    parent->cached++;
}

/* Push the child of the node at 1 by the value at i. */
static struct caret__lnode *push_child(lua_State *L, struct caret__lnode *n, int i)
{
    caret_node_buf tmp;
    caret__put_sub(L, &tmp, &n->node, i);
    struct caret__lnode *child = caret__push_like(L, 1, &tmp.node, caret_node_size(&tmp.node));
    child->parent = n;
    return child;
}

/* ---------------------------------------------------------------------- values */

static int push_value(lua_State *L, struct caret__lnode *n)
{
    caret_slice v;
    int rc = caret_get(n->db->s, &n->node, &v);
    if (rc == CARET_OK) {
        lua_pushlstring(L, v.data, v.len);
        return 1;
    }
    if (rc != CARET_NONE)
        return caret__raise(L, rc);
    lua_pushnil(L);
    return 1;
}

static void set_value(lua_State *L, struct caret__lnode *n, int i)
{
    char buf[64];
    size_t len;
    int rc;

    if (lua_isnil(L, i)) {
        rc = caret_delete(n->db->s, &n->node);
    } else {
        const char *s = caret__value_text(L, i, &len, buf);
        rc = caret_set(n->db->s, &n->node, s, len);
    }
    if (rc != CARET_OK)
        caret__raise(L, rc);
}

static int node_get(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    push_value(L, n);
    if (lua_isnil(L, -1) && lua_gettop(L) > 2)
        lua_pushvalue(L, 2);
    return 1;
}

static int node_set(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    luaL_checkany(L, 2);
    set_value(L, n, 2);
    lua_settop(L, 2);
    return 1;
}

static int node_number(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_slice v;
    int rc = caret_get(n->db->s, &n->node, &v);

    if (rc == CARET_NONE) {
        lua_settop(L, 2);
        return 1;
    }
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    if (!caret__push_number(L, v.data, v.len))
        return luaL_error(L, "the value is no number");
    return 1;
}

static int incr_by(lua_State *L, struct caret__lnode *n, int i, int negate)
{
    char buf[66] = "1";
    size_t len = 1;
    caret_slice r;

    if (!lua_isnoneornil(L, i)) {
        const char *s = caret__value_text(L, i, &len, buf + 1);
        if (len > 64)
            return luaL_error(L, "the increment is no number");
        memmove(buf, s, len);
    }
    if (negate) {
        int minus = buf[0] == '-';
        memmove(buf + !minus, buf + minus, len - (size_t)minus);
        if (!minus)
            buf[0] = '-';
        len += minus ? (size_t)-1 : 1;
    }
    int rc = caret_incr(n->db->s, &n->node, buf, len, &r);
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    return caret__push_number(L, r.data, r.len);
}

static int node_incr(lua_State *L)
{
    return incr_by(L, caret__check_node(L, 1), 2, 0);
}

static int node_add(lua_State *L)
{
    incr_by(L, caret__check_node(L, 1), 2, 0);
    lua_settop(L, 1);
    return 1;
}

static int node_sub(lua_State *L)
{
    incr_by(L, caret__check_node(L, 1), 2, 1);
    lua_settop(L, 1);
    return 1;
}

static int node_done(lua_State *L, int rc)
{
    return rc == CARET_OK ? 0 : caret__raise(L, rc);
}

static int node_kill(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    return node_done(L, caret_kill(n->db->s, &n->node));
}

static int node_delete(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    return node_done(L, caret_delete(n->db->s, &n->node));
}

static int node_data(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int data = 0, rc = caret_data(n->db->s, &n->node, &data);
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    lua_pushinteger(L, data);
    return 1;
}

/* -------------------------------------------------------------------- addresses */

static int node_eq(lua_State *L)
{
    struct caret__lnode *a = caret__lnode(L, 1), *b = caret__lnode(L, 2);
    lua_pushboolean(L, a != NULL && b != NULL && a->db == b->db && caret_node_equal(&a->node, &b->node));
    return 1;
}

static int node_tostring(lua_State *L)
{
    struct caret__lnode *n = caret__lnode(L, 1);
    char small[512];
    size_t len;
    if (n == NULL)
        return luaL_error(L, "a node was expected");
    int rc = caret_node_zwr(&n->node, 1, small, sizeof small, &len);
    if (rc == CARET_E_BUFFER) {
        char *big = lua_newuserdata(L, len);
        rc = caret_node_zwr(&n->node, 1, big, len, &len);
        lua_pushlstring(L, big, len);
        return 1;
    }
    lua_pushlstring(L, small, rc == CARET_OK ? len : 0);
    return 1;
}

static int node_name(lua_State *L)
{
    struct caret__lnode *n = caret__lnode(L, 1);
    if (n == NULL)
        return luaL_error(L, "a node was expected");
    caret__push_last(L, &n->node);
    return 1;
}

static int node_varname(lua_State *L)
{
    struct caret__lnode *n = caret__lnode(L, 1);
    char name[CARET_MAX_NAME + 2];
    if (n == NULL)
        return luaL_error(L, "a node was expected");
    caret_slice s = caret_node_name(&n->node, name);
    lua_pushlstring(L, s.data, s.len);
    return 1;
}

static int node_depth(lua_State *L)
{
    struct caret__lnode *n = caret__lnode(L, 1);
    if (n == NULL)
        return luaL_error(L, "a node was expected");
    lua_pushinteger(L, (lua_Integer)caret_node_depth(&n->node));
    return 1;
}

static int node_subsarray(lua_State *L)
{
    struct caret__lnode *n = caret__lnode(L, 1);
    caret_node_buf tmp;
    if (n == NULL)
        return luaL_error(L, "a node was expected");
    unsigned depth = caret_node_depth(&n->node);
    lua_createtable(L, (int)depth, 0);
    caret_node_copy(&tmp.node, sizeof tmp, &n->node);
    for (; depth > 0; depth--) {
        caret__push_last(L, &tmp.node);
        lua_rawseti(L, -2, (int)depth);
        caret_node_parent(&tmp.node, sizeof tmp, &tmp.node);
    }
    return 1;
}

static int node_ismutable(lua_State *L)
{
    struct caret__lnode *n = caret__lnode(L, 1);
    lua_pushboolean(L, n != NULL && n->mutable_);
    return 1;
}

/* ------------------------------------------------------------------ metamethods */

/* __index(n, key); upvalue 1: methods, 2: whether get is overridden */
static int meta_index(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t len;
        const char *key = lua_tolstring(L, 2, &len);
        if (len >= 2 && key[0] == '_' && key[1] == '_') {
            if (len == 2) {
                if (!lua_toboolean(L, lua_upvalueindex(2)))
                    return push_value(L, n);
                lua_getfield(L, lua_upvalueindex(1), "get");
                lua_pushvalue(L, 1);
                lua_call(L, 1, 1);
                return 1;
            }
            lua_pushlstring(L, key + 2, len - 2);
            lua_gettable(L, lua_upvalueindex(1));
            if (lua_isnil(L, -1))
                return luaL_error(L, "nodes have no method '%s'; a subscript of that name is n('%s')",
                                  key + 2, key);
            return 1;
        }
        if (n->mutable_) {
            push_child(L, n, 2);
            return 1;
        }
        if (n->cached != 0 && push_cache(L)) {
            lua_pushvalue(L, 2);
            lua_rawget(L, -2);
            if (!lua_isnil(L, -1))
                return 1;
            lua_pop(L, 2);
        }
        push_child(L, n, 2);
        remember(L, n);
        return 1;
    }
    push_child(L, n, 2);
    return 1;
}

/* __newindex(n, key, value): only n.__ = v */
static int meta_newindex(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    size_t len = 0;
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : NULL;

    if (key == NULL || len != 2 || memcmp(key, "__", 2) != 0) {
        lua_pushvalue(L, 2);
        return luaL_error(L, "a node is no table: to set the value of a subnode write node[%s].__ = value",
                          lua_tostring(L, -1) != NULL ? lua_tostring(L, -1) : "sub");
    }
    if (!lua_toboolean(L, lua_upvalueindex(2)) || lua_isnil(L, 3)) {
        set_value(L, n, 3);
        return 0;
    }
    lua_getfield(L, lua_upvalueindex(1), "set");
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
    return 0;
}

/* Was `child` made from the node at i, or does it look so? */
static int is_parent(lua_State *L, struct caret__lnode *child, int i)
{
    struct caret__lnode *p = caret__lnode(L, i);
    caret_node_buf up;

    if (p == NULL)
        return 0;
    if (child->parent == p)
        return 1;
    if (caret_node_depth(&child->node) != caret_node_depth(&p->node) + 1)
        return 0;
    return caret_node_parent(&up.node, sizeof up, &child->node) == CARET_OK &&
           caret_node_equal(&up.node, &p->node);
}

/* __call: a method of its parent, or a deeper node */
static int meta_call(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);

    if (is_parent(L, n, 2)) {
        caret__push_last(L, &n->node);
        lua_pushvalue(L, -1);
        lua_gettable(L, lua_upvalueindex(1));
        if (lua_isnil(L, -1)) {
            lua_pushvalue(L, -2);
            return luaL_error(L, "nodes have no method '%s'", lua_tostring(L, -1));
        }
        lua_remove(L, -2);
        lua_replace(L, 1);
        lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
        return lua_gettop(L);
    }
    caret_node_buf tmp;
    int top = lua_gettop(L);
    caret_node_copy(&tmp.node, sizeof tmp, &n->node);
    for (int i = 2; i <= top; i++) {
        if (lua_istable(L, i)) {
            for (int k = 1, m = (int)caret__rawlen(L, i); k <= m; k++) {
                lua_rawgeti(L, i, k);
                caret__put_sub(L, &tmp, &tmp.node, -1);
                lua_pop(L, 1);
            }
        } else {
            caret__put_sub(L, &tmp, &tmp.node, i);
        }
    }
    caret__push_like(L, 1, &tmp.node, caret_node_size(&tmp.node));
    return 1;
}

/* node(db, metatable, name or node): a node of the database; subscripts are added by calling it */
static int core_node(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    struct caret__lnode *from = caret__lnode(L, 3);
    caret_node_buf tmp;
    int rc;

    if (from != NULL) {
        rc = caret_node_copy(&tmp.node, sizeof tmp, &from->node);
    } else {
        size_t len;
        if (lua_type(L, 3) != LUA_TSTRING)
            return luaL_error(L, "a node needs a variable name or a node, not a %s", luaL_typename(L, 3));
        const char *name = lua_tolstring(L, 3, &len);
        rc = caret_node_var(&tmp.node, sizeof tmp, name, len);
    }
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    struct caret__lnode *n = new_node(L, &tmp.node, caret_node_size(&tmp.node));
    n->db = d;
    lua_pushvalue(L, 2);
    lua_setmetatable(L, -2);
#if LUA_VERSION_NUM >= 502
    lua_pushvalue(L, 1);
#else
    lua_getfenv(L, 1);
#endif
    caret__setuser(L, -2);
    return 1;
}

/* class(methods, overrides_get, overrides_set, metatable): fills in the metatable of a node class */
static int core_class(lua_State *L)
{
    static const struct {
        const char *name;
        lua_CFunction f;
        int flag;
    } meta[] = {{"__index", meta_index, 2}, {"__newindex", meta_newindex, 3}, {"__call", meta_call, 2},
                {"__eq", node_eq, 2},       {"__tostring", node_tostring, 2}, {"__add", node_add, 2},
                {"__sub", node_sub, 2}};
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 4, LUA_TTABLE);
    for (size_t i = 0; i < sizeof meta / sizeof *meta; i++) {
        lua_pushvalue(L, 1);
        lua_pushvalue(L, meta[i].flag);
        lua_pushcclosure(L, meta[i].f, 2);
        lua_setfield(L, 4, meta[i].name);
    }
    lua_settop(L, 4);
    return 1;
}

/* retype(node, metatable): the node, being of that class from now on */
static int core_retype(lua_State *L)
{
    caret__check_node(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

static int core_isnode(lua_State *L)
{
    lua_pushboolean(L, caret__lnode(L, 1) != NULL);
    return 1;
}

int caret__open_node(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"node", core_node},           {"class", core_class},   {"isnode", core_isnode},
        {"retype", core_retype},       {"get", node_get},       {"set", node_set},
        {"number", node_number},       {"incr", node_incr},     {"kill", node_kill},
        {"delete", node_delete},       {"data", node_data},     {"name", node_name},
        {"varname", node_varname},     {"depth", node_depth},   {"subsarray", node_subsarray},
        {"ismutable", node_ismutable}, {"repr", node_tostring}, {NULL, NULL}};
    for (const luaL_Reg *f = functions; f->name != NULL; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    return 0;
}
