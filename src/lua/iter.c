/*
 * iter.c - iterators over children.
 *
 * An iterator is a closure over a cursor: a node userdata with room for any key.
 * pairs() hands the cursor itself out as a mutable node.  Changing what is being
 * walked is allowed: a step goes to what comes next then.
 */
#include "lua/binding.h"

enum upvalue { UP_CURSOR = 1, UP_STARTED = 2, UP_BACK = 3 };

/* One step; NULL = the end. */
static struct caret__lnode *step(lua_State *L)
{
    struct caret__lnode *c = caret__check_node(L, lua_upvalueindex(UP_CURSOR));
    int back = lua_toboolean(L, lua_upvalueindex(UP_BACK)), rc;

    if (lua_toboolean(L, lua_upvalueindex(UP_STARTED))) {
        rc = back ? caret_previous(caret__lnode_session(c), &c->node)
                  : caret_next(caret__lnode_session(c), &c->node);
    } else {
        rc = back ? caret_last(caret__lnode_session(c), &c->node)
                  : caret_first(caret__lnode_session(c), &c->node);
        lua_pushboolean(L, rc == CARET_OK);
        lua_replace(L, lua_upvalueindex(UP_STARTED));
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, c->db, rc);
    return rc == CARET_OK ? c : NULL;
}

static int subscripts_step(lua_State *L)
{
    struct caret__lnode *c = step(L);
    if (c == NULL)
        return 0;
    caret__push_last(L, &c->node);
    return 1;
}

static int pairs_step(lua_State *L)
{
    struct caret__lnode *c = step(L);
    if (c == NULL)
        return 0;
    lua_pushvalue(L, lua_upvalueindex(UP_CURSOR));
    caret__push_value(L, c->db, caret__lnode_session(c), &c->node);
    caret__push_last(L, &c->node);
    return 3;
}

static int iterate(lua_State *L, lua_CFunction f)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int back = lua_toboolean(L, 2);

    caret__push_like(L, 1, &n->node, CARET_NODE_MAX)->kind |= CARET__MUTABLE;
    lua_pushboolean(L, 0);
    lua_pushboolean(L, back);
    lua_pushcclosure(L, f, 3);
    return 1;
}

int caret__node_subscripts(lua_State *L)
{
    return iterate(L, subscripts_step);
}

int caret__node_pairs(lua_State *L)
{
    return iterate(L, pairs_step);
}

/* next(n, sub) / previous(n, sub): the subscript behind / before sub among n's children; nil starts */
static int beside(lua_State *L, int back)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf c;
    int rc;

    if (lua_isnoneornil(L, 2)) {
        caret_node_copy(&c.node, sizeof c, &n->node);
        rc = back ? caret_last(caret__lnode_session(n), &c.node)
                  : caret_first(caret__lnode_session(n), &c.node);
    } else {
        rc = caret__sub(L, &c.node, sizeof c, &n->node, 2);
        if (rc == CARET_OK)
            rc = back ? caret_previous(caret__lnode_session(n), &c.node)
                      : caret_next(caret__lnode_session(n), &c.node);
    }
    if (rc == CARET_NONE)
        lua_pushnil(L);
    else if (rc != CARET_OK)
        caret__raise(L, n->db, rc);
    else
        caret__push_last(L, &c.node);
    return 1;
}

int caret__node_next(lua_State *L)
{
    return beside(L, 0);
}

int caret__node_previous(lua_State *L)
{
    return beside(L, 1);
}
