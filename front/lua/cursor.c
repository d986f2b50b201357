/*
 * cursor.c - cursors of programs: nodes that are moved.
 *
 * node:cursor(sub) makes a mutable child of the node, and cursor:move(sub) another
 * child of it, in place: what a loop over many nodes would make an object for each of
 * is one object, and nothing is left to the collector.  It is any other node in all
 * else; like the node of pairs() it is kept by making a copy, db.node(cursor).
 *
 * A cursor has room for any key, CARET_NODE_MAX bytes: an object can't grow, and
 * a program that uses them makes few.  The iterators' cursors (iter.c) are not
 * to be moved by the program, which would send the loop elsewhere: CARET__MOVES
 * tells them apart.
 */
#include "lua/binding.h"

/* cursor(node, sub): a mutable child of the node */
int caret__node_cursor(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf at;
    int rc = caret__sub(L, &at.node, sizeof at, &n->node, 2);

    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    caret__push_like(L, 1, &at.node, CARET_NODE_MAX, CARET__MUTABLE | CARET__MOVES);
    return 1;
}

/* Change the last subscript of n to the number or string at 2. */
static int move(lua_State *L, caret_node *n)
{
    int64_t v;
    size_t len;
    char buf[64];

    switch (lua_type(L, 2)) {
    case LUA_TNUMBER:
        if (caret__integer(L, 2, &v))
            return caret_node_set_last_int(n, v);
        const char *text = caret__format_float(lua_tonumber(L, 2), &len, buf);
        return text != NULL ? caret_node_set_last(n, text, len) : CARET_E_INVALID;
    case LUA_TSTRING: {
        const char *s = lua_tolstring(L, 2, &len);
        return caret_node_set_last(n, s, len);
    }
    default:
        return caret__misuse(L, "a subscript must be a string or a number, not a %s", caret__typename(L, 2));
    }
}

/* move(cursor, sub): the same object, another child of its parent */
int caret__node_move(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);

    if ((n->kind & CARET__MOVES) == 0)
        return caret__misuse(L, "only a cursor can be moved: node:cursor(sub) makes one");
    int rc = move(L, &n->node);
    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    lua_settop(L, 1);
    return 1;
}
