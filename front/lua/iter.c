/*
 * iter.c - iterators over children.
 *
 * An iterator is a closure over a cursor: a node userdata that moves.  pairs() hands the cursor
 * itself out as a mutable node.  Changing what is being walked is allowed: a step
 * goes to what comes next then.
 *
 * A cursor has room for ROOM bytes more than it needs at first.  When a subscript is longer, a
 * new one with room for any key takes its place.  Closure and cursor are all that a
 * loop allocates; neither is used again for another loop, as nobody can tell
 * whether the program kept them.
 */
#include "lua/binding.h"

enum upvalue { UP_CURSOR = 1 };

#define ROOM 64u /* bytes: the encoded form of most subscripts */

struct caret__lnode *caret__push_cursor(lua_State *L, int like, const caret_node *at)
{
    size_t bytes = caret_node_size(at) + ROOM;
    caret_node_buf tmp;

    caret_node_copy(&tmp.node, sizeof tmp, at); /* a finalizer may move it in what follows */
    return caret__push_like(L, like, &tmp.node, bytes < CARET_NODE_MAX ? bytes : CARET_NODE_MAX,
                            CARET__MUTABLE);
}

struct caret__lnode *caret__usable_cursor(lua_State *L)
{
    return caret__own_node(L, lua_upvalueindex(UP_CURSOR));
}

struct caret__lnode *caret__widen_cursor(lua_State *L)
{
    int i = lua_upvalueindex(1);
    struct caret__lnode *old = caret__lnode(L, i);
    unsigned kind = old->kind & ~(unsigned)CARET__PARENT; /* it has the metatable of the class */
    struct caret__lnode *new = caret__push_like(L, i, &old->node, CARET_NODE_MAX, kind);

    lua_replace(L, i);
    return new;
}

/* The value at a place that was come to without it: data NULL if there is none. */
static int get_here(struct caret__lnode *c, caret_slice *value)
{
    int rc = caret_get(caret__lnode_session(c), &c->node, value);

    if (rc == CARET_NONE)
        *value = (caret_slice){NULL, 0};
    else if (rc == CARET_OK && value->data == NULL)
        value->data = ""; /* an empty one */
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* To the first child, or the last. */
static int descend(struct caret__lnode *c, caret_slice *value)
{
    caret_session *s = caret__lnode_session(c);
    int rc = c->kind & CARET__BACK ? caret_last(s, &c->node) : caret_first(s, &c->node);

    if (rc == CARET_OK)
        c->kind |= CARET__AMONG;
    return rc == CARET_OK && value != NULL ? get_here(c, value) : rc;
}

/* Take the bound that the cursor is at, if there is something. */
static int take_bound(struct caret__lnode *c, caret_slice *value)
{
    int data = 0, rc = get_here(c, value);

    if (rc == CARET_OK && value->data == NULL) {
        rc = caret_data(caret__lnode_session(c), &c->node, &data);
        if (rc == CARET_OK && data == 0)
            return CARET_NONE;
    }
    return rc;
}

int caret__advance(struct caret__lnode *c, caret_slice *value)
{
    caret_session *s = caret__lnode_session(c);
    int back = c->kind & CARET__BACK, rc = CARET_NONE;

    if ((c->kind & (CARET__AMONG | CARET__BOUND)) == 0)
        return descend(c, value);
    if (c->kind & CARET__BOUND)
        rc = take_bound(c, value);
    if (rc == CARET_NONE && value == NULL)
        rc = back ? caret_previous(s, &c->node) : caret_next(s, &c->node);
    else if (rc == CARET_NONE)
        rc = back ? caret_previous_get(s, &c->node, value) : caret_next_get(s, &c->node, value);
    if (rc == CARET_OK && c->kind & CARET__BOUND)
        c->kind = (uint8_t)((c->kind & ~CARET__BOUND) | CARET__AMONG);
    return rc;
}

/* What nearly all steps are: to a sibling, and its value. */
static inline int advance(struct caret__lnode *c, caret_slice *value)
{
    if (value != NULL && (c->kind & (CARET__AMONG | CARET__BOUND | CARET__BACK)) == CARET__AMONG)
        return caret_next_get(caret__lnode_session(c), &c->node, value);
    return caret__advance(c, value);
}

static inline __attribute__((always_inline)) struct caret__lnode *step(lua_State *L, caret_slice *value)
{
    struct caret__lnode *c = caret__own_node(L, lua_upvalueindex(UP_CURSOR));
    int rc = advance(c, value);

    if (rc == CARET_OK)
        return c;
    if (rc == CARET_E_BUFFER) {
        c = caret__widen_cursor(L);
        rc = caret__advance(c, value);
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, c->db, rc);
    return rc == CARET_OK ? c : NULL;
}

struct caret__lnode *caret__step(lua_State *L, caret_slice *value)
{
    return step(L, value);
}

static inline void push_stepped(lua_State *L, struct caret__lnode *c, caret_slice value)
{
    lua_pushvalue(L, lua_upvalueindex(UP_CURSOR));
    if (value.data != NULL)
        caret__push_got(L, c->db, caret__lnode_session(c), &c->node, value);
    else
        lua_pushnil(L);
}

void caret__push_stepped(lua_State *L, struct caret__lnode *c, caret_slice value)
{
    push_stepped(L, c, value);
}

static int subscripts_step(lua_State *L)
{
    struct caret__lnode *c = step(L, NULL);
    if (c == NULL)
        return 0;
    caret__push_last(L, &c->node);
    return 1;
}

static int pairs_step(lua_State *L)
{
    caret_slice value;
    struct caret__lnode *c = step(L, &value);
    if (c == NULL)
        return 0;
    push_stepped(L, c, value);
    caret__push_last(L, &c->node);
    return 3;
}

int caret__iterate(lua_State *L, lua_CFunction f)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    unsigned back = lua_toboolean(L, 2) ? CARET__BACK : 0;

    caret__push_cursor(L, 1, &n->node)->kind |= (uint8_t)back;
    lua_pushcclosure(L, f, 1);
    return 1;
}

int caret__node_subscripts(lua_State *L)
{
    return caret__iterate(L, subscripts_step);
}

int caret__node_pairs(lua_State *L)
{
    return caret__iterate(L, pairs_step);
}

/* next(n, sub) / previous(n, sub): the subscript after / before sub among n's children; nil starts */
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
