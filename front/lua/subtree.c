/*
 * subtree.c - whole subtrees: what the methods merge, copy_to, move_to and count of nodes
 * (caret/trees.lua) call.
 *
 * caret.h's functions know one session.  Lua's locals have one of their own, which all databases of the state share,
 * and each database has another.  So what goes from one session to another is left to Lua, which does it node by node.
 * Two objects of one file have two sessions over one tree: a node that is above or below the other is so there, too.
 */
#include <string.h>

#include "lua/binding.h"

typedef int change(caret_session *s, const caret_node *to, const caret_node *from);

/* Each database in memory has the same path, and is another one. */
static int same_file(const struct caret__ldb *a, const struct caret__ldb *b)
{
    const char *path = caret_path(a->db);

    return strcmp(path, caret_path(b->db)) == 0 && strcmp(path, ":memory:") != 0;
}

static int is_above(const caret_node *n, const caret_node *deeper)
{
    caret_node_buf above;

    return caret_node_depth(n) < caret_node_depth(deeper) &&
           caret_node_copy(&above.node, sizeof above, deeper) == CARET_OK &&
           caret_node_cut(&above.node, caret_node_depth(n)) == CARET_OK && caret_node_equal(&above.node, n);
}

/* Is it for one session?  So is what can't be done, and a node that is moved to itself: as the copy comes before the
 * kill, that would be killed. */
static int is_one(const struct caret__lnode *to, const struct caret__lnode *from, int takes_away)
{
    if (caret__lnode_session(to) == caret__lnode_session(from))
        return 1;
    return same_file(to->db, from->db) &&
           (is_above(&to->node, &from->node) || is_above(&from->node, &to->node) ||
            (takes_away && caret_node_equal(&to->node, &from->node)));
}

/* The change of two nodes: true, or false if it is not for one session. */
static int changed(lua_State *L, change *f, int takes_away)
{
    struct caret__lnode *to = caret__check_node(L, 1), *from = caret__check_node(L, 2);
    caret_session *s = caret__lnode_session(to), *other = caret__lnode_session(from);

    caret__check_change(L, to->db, s);
    if (takes_away)
        caret__check_change(L, from->db, other);
    int one = is_one(to, from, takes_away);
    lua_pushboolean(L, one);
    if (!one)
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
