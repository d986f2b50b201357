/*
 * put.c - methods of nodes that do in one step what takes several: put, add, swap, random.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lua/binding.h"

/* n:put(sub..., value) -> value.  Set the value of a node below, without making it. */
int caret__node_put(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf tmp;
    int top = lua_gettop(L);

    if (top < 2)
        return caret__misuse(L, "put needs a value (nil deletes)");
    caret_node_copy(&tmp.node, sizeof tmp, &n->node);
    caret__address_below(L, n->db, &tmp, 2, top - 1);
    caret__set_value(L, n->db, caret__session(n->db, &tmp.node), &tmp.node, top);
    return 1;
}

/* The value at 2, put on a condition; *old: what was there.  1 if it was set. */
static int put(lua_State *L, const char *method, int flags, caret_slice *old)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_session *s = caret__lnode_session(n);
    char buf[64];
    size_t len;

    lua_settop(L, 2);
    if (lua_isnil(L, 2))
        caret__misuse(L, "%s needs a value", method);
    caret__check_change(L, n->db, s);
    const char *text = n->db->translated ? caret__value_as_lua(L, n->db, 2, &len, buf)
                                         : caret__value_text(L, n->db, 2, &len, buf);
    int rc = caret_put(s, &n->node, text, len, flags, NULL, old);
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, n->db, rc);
    return rc == CARET_OK;
}

/* What was there.  Making a string may run finalizers, which may use the session, whose memory it is. */
static void push_old(lua_State *L, caret_slice old)
{
    char *copy = old.data != NULL ? malloc(old.len + 1) : NULL;

    if (copy == NULL) {
        lua_pushnil(L);
        return;
    }
    memcpy(copy, old.data, old.len);
    caret__push_text(L, (caret_slice){copy, old.len});
    free(copy);
}

/* n:add(value) -> true, or false and the value that is there */
int caret__node_put_new(lua_State *L)
{
    caret_slice old;

    if (put(L, "add", CARET_PUT_ABSENT, &old)) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    push_old(L, old);
    return 2;
}

/* n:swap(value) -> the value that was there, or nil */
int caret__node_swap(lua_State *L)
{
    caret_slice old;

    put(L, "swap", 0, &old);
    push_old(L, old);
    return 1;
}

/* n:random() -> the subscript of a child, or nil */
int caret__node_random(lua_State *L)
{
    static _Thread_local uint64_t turn;
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf child;

    if (turn == 0) { /* another one in each thread and process */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        turn = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 2654435761u ^ (uintptr_t)&turn;
    }
    caret_node_copy(&child.node, sizeof child, &n->node);
    int rc = caret_random_child(caret__session(n->db, &child.node), &child.node, turn++);
    if (rc == CARET_NONE) {
        lua_pushnil(L);
        return 1;
    }
    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    caret__push_last(L, &child.node);
    return 1;
}
