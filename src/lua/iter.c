/*
 * iter.c - iterators over children and nodes.
 *
 * An iterator is a closure over a cursor: a node userdata with room for any key.
 * pairs() hands the cursor itself out as a mutable node.  Changing what is being
 * walked is allowed: a step goes to what comes next then.
 */
#include "lua/binding.h"

/* Push a cursor like the node at 1, standing on it. */
static struct caret__lnode *push_cursor(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    struct caret__lnode *c = caret__push_like(L, 1, &n->node, CARET_NODE_MAX);
    c->mutable_ = 1;
    return c;
}

/* One step; upvalue 1: cursor, 2: started, 3: backwards.  0 = the end. */
static int step(lua_State *L, struct caret__lnode **cursor)
{
    struct caret__lnode *c = caret__check_node(L, lua_upvalueindex(1));
    int back = lua_toboolean(L, lua_upvalueindex(3)), rc;

    if (!lua_toboolean(L, lua_upvalueindex(2))) {
        rc = back ? caret_last(c->db->s, &c->node) : caret_first(c->db->s, &c->node);
        lua_pushboolean(L, 1);
        lua_replace(L, lua_upvalueindex(2));
    } else {
        rc = back ? caret_previous(c->db->s, &c->node) : caret_next(c->db->s, &c->node);
    }
    *cursor = c;
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, rc);
    return rc == CARET_OK;
}

static int subscripts_step(lua_State *L)
{
    struct caret__lnode *c;
    if (!step(L, &c))
        return 0;
    caret__push_last(L, &c->node);
    return 1;
}

static int pairs_step(lua_State *L)
{
    struct caret__lnode *c;
    caret_slice v;
    if (!step(L, &c))
        return 0;
    lua_pushvalue(L, lua_upvalueindex(1));
    int rc = caret_get(c->db->s, &c->node, &v);
    if (rc == CARET_OK)
        lua_pushlstring(L, v.data, v.len);
    else if (rc == CARET_NONE)
        lua_pushnil(L);
    else
        return caret__raise(L, rc);
    caret__push_last(L, &c->node);
    return 3;
}

static int iterate(lua_State *L, lua_CFunction f)
{
    int back = lua_toboolean(L, 2);
    push_cursor(L);
    lua_pushboolean(L, 0);
    lua_pushboolean(L, back);
    lua_pushcclosure(L, f, 3);
    return 1;
}

static int node_subscripts(lua_State *L)
{
    return iterate(L, subscripts_step);
}

static int node_pairs(lua_State *L)
{
    return iterate(L, pairs_step);
}

/* next(n, sub) / previous(n, sub): the subscript behind / before sub among n's children; nil starts */
static int beside(lua_State *L, int back)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf c;
    int rc;

    caret_node_copy(&c.node, sizeof c, &n->node);
    if (lua_isnoneornil(L, 2)) {
        rc = back ? caret_last(n->db->s, &c.node) : caret_first(n->db->s, &c.node);
    } else {
        caret__put_sub(L, &c, &n->node, 2);
        rc = back ? caret_previous(n->db->s, &c.node) : caret_next(n->db->s, &c.node);
    }
    if (rc == CARET_NONE)
        return 0;
    if (rc != CARET_OK)
        return caret__raise(L, rc);
    caret__push_last(L, &c.node);
    return 1;
}

static int node_next(lua_State *L)
{
    return beside(L, 0);
}

static int node_previous(lua_State *L)
{
    return beside(L, 1);
}

int caret__open_iter(lua_State *L)
{
    static const luaL_Reg functions[] = {{"subscripts", node_subscripts},
                                         {"pairs", node_pairs},
                                         {"next", node_next},
                                         {"previous", node_previous},
                                         {NULL, NULL}};
    for (const luaL_Reg *f = functions; f->name != NULL; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    return 0;
}
