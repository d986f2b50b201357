/*
 * lock.c - locks on names: grab, release, lock.
 *
 * What a program is meant to handle (timeout, deadlock) is returned, not raised.
 */
#include "lua/binding.h"

#define LOCKS_MAX 64 /* of one call: the limit of caret_lock_all() */

uint64_t caret__timeout(lua_State *L, int i)
{
    if (lua_isnoneornil(L, i))
        return CARET_FOREVER;
    if (lua_type(L, i) != LUA_TNUMBER) {
        caret__misuse(L, "a timeout is a number of seconds, not a %s", luaL_typename(L, i));
        return 0;
    }
    lua_Number t = lua_tonumber(L, i);
    if (!(t > 0))
        return 0;
    return t > 1e9 ? CARET_FOREVER : (uint64_t)(t * 1e9);
}

int caret__node_grab(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    uint64_t timeout = caret__timeout(L, 2);
    return caret__results(L, n->db, caret_lock(n->db->s, &n->node, timeout));
}

int caret__node_release(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int rc = caret_unlock(n->db->s, &n->node);
    return rc != CARET_OK ? caret__raise(L, n->db, rc) : 0;
}

/* Release all, take this one. */
int caret__node_lock(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    const caret_node *one = &n->node;
    uint64_t timeout = caret__timeout(L, 2);
    return caret__results(L, n->db, caret_lock_all(n->db->s, &one, 1, timeout));
}

/* lock_list(db, {node, ...}, timeout): release all, take all of these or none. */
int caret__db_lock(lua_State *L)
{
    const caret_node *nodes[LOCKS_MAX];
    struct caret__ldb *d = caret__check_db(L, 1);
    uint64_t timeout = caret__timeout(L, 3);
    size_t count = caret__rawlen(L, 2);

    if (count > LOCKS_MAX)
        return caret__misuse(L, "%d locks at once; %d are possible", (int)count, LOCKS_MAX);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (int)i + 1);
        struct caret__lnode *n = caret__check_node(L, lua_gettop(L));
        if (n->db != d)
            return caret__misuse(L, "item %d of the locks is a node of another database", (int)i + 1);
        nodes[i] = &n->node;
        lua_pop(L, 1);
    }
    return caret__results(L, d, caret_lock_all(d->s, nodes, count, timeout));
}
