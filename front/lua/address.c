/*
 * address.c - questions about a node's address, which need no database and are
 * answered after it was closed too.
 */
#include "lua/binding.h"

/* Same address?  Local variables are the state's, whatever database the node came from. */
int caret__node_equal(lua_State *L)
{
    struct caret__lnode *a = caret__lnode(L, 1), *b = caret__lnode(L, 2);
    int equal = a != NULL && b != NULL && caret_node_equal(&a->node, &b->node) &&
                (a->db == b->db || caret_node_is_local(&a->node));
    lua_pushboolean(L, equal);
    return 1;
}

int caret__node_repr(lua_State *L)
{
    struct caret__lnode *n = caret__check_address(L, 1);
    char small[512], *text = small;
    size_t room = sizeof small, len;
    int rc;

    while ((rc = caret_node_zwr(&n->node, !n->db->bytes, text, room, &len)) == CARET_E_BUFFER) {
        room = len; /* too few again, if a finalizer moves the node */
        text = lua_newuserdata(L, room);
    }
    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    lua_pushlstring(L, text, len);
    return 1;
}

int caret__node_name(lua_State *L)
{
    caret__push_last(L, &caret__check_address(L, 1)->node);
    return 1;
}

int caret__node_varname(lua_State *L)
{
    char name[CARET_MAX_NAME + 2];
    caret_slice s = caret_node_name(&caret__check_address(L, 1)->node, name);
    lua_pushlstring(L, s.data, s.len);
    return 1;
}

int caret__node_depth(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)caret_node_depth(&caret__check_address(L, 1)->node));
    return 1;
}

int caret__node_subsarray(lua_State *L)
{
    struct caret__lnode *n = caret__check_address(L, 1);
    unsigned depth = caret_node_depth(&n->node);
    caret_node_buf tmp;

    lua_createtable(L, (int)depth, 0);
    caret_node_copy(&tmp.node, sizeof tmp, &n->node);
    for (; depth > 0; depth--) {
        caret__push_last(L, &tmp.node);
        lua_rawseti(L, -2, (int)depth);
        caret_node_parent(&tmp.node, sizeof tmp, &tmp.node);
    }
    return 1;
}

int caret__node_ismutable(lua_State *L)
{
    lua_pushboolean(L, caret__check_address(L, 1)->kind & CARET__MUTABLE);
    return 1;
}
