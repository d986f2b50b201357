/*
 * subtree.c - whole subtrees: what the methods merge, copy_to, move_to and count of nodes
 * (caret/trees.lua) call.
 *
 * caret.h's functions know one session.  Lua's locals have one of their own, which all databases of the state share,
 * and each database has another.  So what goes from one session to another is left to Lua, which does it node by node.
 */
#include "lua/binding.h"

typedef int change(caret_session *s, const caret_node *to, const caret_node *from);

/* The change of two nodes: true, or false if they are of two sessions. */
static int changed(lua_State *L, change *f, int takes_away)
{
    struct caret__lnode *to = caret__check_node(L, 1), *from = caret__check_node(L, 2);
    caret_session *s = caret__lnode_session(to), *other = caret__lnode_session(from);

    caret__check_change(L, to->db, s);
    if (takes_away)
        caret__check_change(L, from->db, other);
    lua_pushboolean(L, s == other);
    if (s != other)
        return 1;
    int rc = f(s, &to->node, &from->node);
    return rc == CARET_OK ? 1 : caret__raise(L, to->db, rc);
}

static int merge(lua_State *L)
{
    return changed(L, caret_merge, 0);
}

static int copy(lua_State *L)
{
    return changed(L, caret_copy, 0);
}

static int move(lua_State *L)
{
    return changed(L, caret_move, 1);
}

/* count(n): nodes with a value, n and all below it */
static int count(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    uint64_t nodes;
    int rc = caret_count(caret__lnode_session(n), &n->node, &nodes);

    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    caret__push_integer(L, (int64_t)nodes);
    return 1;
}

/* db_of(n): its database; nil if it is a local variable */
static int db_of(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);

    if (caret_node_is_local(&n->node) || !lua_getmetatable(L, 1))
        lua_pushnil(L);
    else
        lua_rawgeti(L, -1, CARET__FIELD_DB);
    return 1;
}

void caret__add_subtree(lua_State *L)
{
    static const luaL_Reg functions[] = {{"merge", merge}, {"copy", copy},   {"move", move},
                                         {"count", count}, {"db_of", db_of}, {NULL, NULL}};
    caret__functions(L, functions);
}
