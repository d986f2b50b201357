/*
 * range.c - iterators over some of the children, over all that is below, over variables.
 *
 * Like those of iter.c they are closures over a cursor that they hand out as a
 * mutable node, and what is being walked may be changed: a step goes to what comes
 * next then.
 *
 *   range   the cursor starts at one bound, is taken if there is something, and
 *           moves until it is behind the other
 *   walk    down to the first child; else to the next sibling; else to the next
 *           sibling of the nearest ancestor that has one, until back at the top
 */
#include <math.h>
#include <string.h>

#include "lua/binding.h"

enum { UP_CURSOR = 1 };
enum range_upvalue { UP_STATE = 2, UP_BACK = 3, UP_LEFT = 4, UP_END = 5, RANGE_UPVALUES = 5 };
enum range_state {
    AT_START = 0,
    AT_BOUND = 1,
    AMONG = 2
}; /* no child yet; the same, but on a bound; at a child */
enum walk_upvalue { UP_WALKING = 2, UP_TOP = 3, UP_DEEPEST = 4, WALK_UPVALUES = 4 };

static void put_integer(lua_State *L, int upvalue, lua_Integer v)
{
    lua_pushinteger(L, v);
    lua_replace(L, lua_upvalueindex(upvalue));
}

/* The cursor as a mutable node, its value, its subscript. */
static int push_step(lua_State *L, struct caret__lnode *c)
{
    lua_pushvalue(L, lua_upvalueindex(UP_CURSOR));
    caret__push_value(L, c->db, caret__lnode_session(c), &c->node);
    caret__push_last(L, &c->node);
    return 3;
}

/* -------------------------------------------------------------------- range */

/* Is there something at the bound itself? */
static int at_bound(caret_session *s, caret_node *n)
{
    int data, rc = caret_data(s, n, &data);
    return rc == CARET_OK && data == 0 ? CARET_NONE : rc;
}

static int range_move(lua_State *L, struct caret__lnode *c)
{
    caret_session *s = caret__lnode_session(c);
    int back = lua_toboolean(L, lua_upvalueindex(UP_BACK)), rc = CARET_NONE;
    enum range_state state = (enum range_state)lua_tointeger(L, lua_upvalueindex(UP_STATE));

    if (state == AT_START)
        return back ? caret_last(s, &c->node) : caret_first(s, &c->node);
    if (state == AT_BOUND)
        rc = at_bound(s, &c->node);
    if (rc == CARET_NONE)
        rc = back ? caret_previous(s, &c->node) : caret_next(s, &c->node);
    return rc;
}

/* Is the cursor behind the other bound? */
static int is_behind(lua_State *L, const struct caret__lnode *c)
{
    const struct caret__lnode *end = caret__lnode(L, lua_upvalueindex(UP_END));
    if (end == NULL)
        return 0;
    int order = caret_node_compare(&c->node, &end->node);
    return lua_toboolean(L, lua_upvalueindex(UP_BACK)) ? order < 0 : order > 0;
}

static int range_step(lua_State *L)
{
    lua_Number left = lua_tonumber(L, lua_upvalueindex(UP_LEFT));
    struct caret__lnode *c = caret__cursor(L);

    if (left <= 0)
        return 0;
    int rc = range_move(L, c);
    if (rc == CARET_E_BUFFER) {
        c = caret__widen_cursor(L);
        rc = range_move(L, c);
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        return caret__raise(L, c->db, rc);
    if (rc == CARET_NONE || is_behind(L, c))
        left = 0;
    lua_pushnumber(L, left - 1);
    lua_replace(L, lua_upvalueindex(UP_LEFT));
    if (left <= 0)
        return 0;
    put_integer(L, UP_STATE, AMONG);
    return push_step(L, c);
}

/* Make `at` the bound of that name among n's children; 0: there is none. */
static int read_bound(lua_State *L, struct caret__lnode *n, const char *name, caret_node_buf *at)
{
    int rc = CARET_OK;

    lua_getfield(L, 2, name);
    int bounded = !lua_isnil(L, -1);
    if (bounded)
        rc = caret__sub(L, &at->node, sizeof *at, &n->node, lua_gettop(L));
    if (rc != CARET_OK)
        caret__raise(L, n->db, rc);
    lua_pop(L, 1);
    return bounded;
}

static lua_Number read_limit(lua_State *L)
{
    lua_getfield(L, 2, "limit");
    lua_Number limit = lua_isnil(L, -1) ? HUGE_VAL : lua_tonumber(L, -1);
    if (!lua_isnil(L, -1) && !(lua_type(L, -1) == LUA_TNUMBER && limit >= 0))
        caret__misuse(L, "option limit of range is a number of children, 0 or more");
    lua_pop(L, 1);
    return limit;
}

int caret__node_range(lua_State *L)
{
    static const char *const known[] = {"from", "to", "reverse", "limit", NULL};
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf at;

    if (!caret__check_options(L, 2, "range", known)) {
        lua_settop(L, 1);
        lua_newtable(L);
    }
    lua_Number limit = read_limit(L);
    lua_getfield(L, 2, "reverse");
    int back = lua_toboolean(L, -1);
    lua_settop(L, 2);
    int bounded = read_bound(L, n, back ? "to" : "from", &at);
    caret__push_cursor(L, 1, bounded ? &at.node : &n->node);
    lua_pushinteger(L, bounded ? AT_BOUND : AT_START);
    lua_pushboolean(L, back);
    lua_pushnumber(L, limit);
    if (read_bound(L, n, back ? "from" : "to", &at))
        caret__push_like(L, 1, &at.node, caret_node_size(&at.node), 0);
    else
        lua_pushnil(L);
    lua_pushcclosure(L, range_step, RANGE_UPVALUES);
    return 1;
}

/* --------------------------------------------------------------------- walk */

/* To the next sibling of the node or of the nearest ancestor that has one; NONE: there is none below `top`. */
static int beyond(struct caret__lnode *c, unsigned top)
{
    while (caret_node_depth(&c->node) > top) {
        int rc = caret_next(caret__lnode_session(c), &c->node);
        if (rc != CARET_NONE)
            return rc;
        caret_node_parent(&c->node, 8u * c->words, &c->node);
    }
    return CARET_NONE;
}

/* One step of the cursor, which may be another one afterwards. */
static int walk_move(lua_State *L, unsigned top)
{
    struct caret__lnode *c = caret__cursor(L);
    unsigned deepest = (unsigned)lua_tointeger(L, lua_upvalueindex(UP_DEEPEST));
    int rc = CARET_NONE;

    if (caret_node_depth(&c->node) < deepest)
        rc = caret_first(caret__lnode_session(c), &c->node);
    if (rc == CARET_E_BUFFER) {
        c = caret__widen_cursor(L);
        rc = caret_first(caret__lnode_session(c), &c->node);
    }
    if (rc == CARET_NONE)
        rc = beyond(c, top);
    if (rc == CARET_E_BUFFER) /* perhaps on the way up: it goes on from there */
        rc = beyond(caret__widen_cursor(L), top);
    return rc;
}

static int walk_step(lua_State *L)
{
    unsigned top = (unsigned)lua_tointeger(L, lua_upvalueindex(UP_TOP));

    if (!lua_toboolean(L, lua_upvalueindex(UP_WALKING)))
        return 0;
    int rc = walk_move(L, top);
    struct caret__lnode *c = caret__cursor(L);
    if (rc == CARET_NONE) {
        lua_pushboolean(L, 0);
        lua_replace(L, lua_upvalueindex(UP_WALKING));
        return 0;
    }
    if (rc != CARET_OK)
        return caret__raise(L, c->db, rc);
    push_step(L, c);
    lua_pushinteger(L, (lua_Integer)(caret_node_depth(&c->node) - top));
    return 4;
}

int caret__node_walk(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    unsigned top = caret_node_depth(&n->node), deepest = CARET_MAX_SUBS;
    lua_Number depth = lua_tonumber(L, 2);

    if (!lua_isnoneornil(L, 2)) {
        if (lua_type(L, 2) != LUA_TNUMBER || !(depth >= 0))
            return caret__misuse(L, "walk takes a number of levels, 0 or more");
        if (depth < (lua_Number)(deepest - top))
            deepest = top + (unsigned)depth;
    }
    caret__push_cursor(L, 1, &n->node);
    lua_pushboolean(L, deepest > top);
    lua_pushinteger(L, (lua_Integer)top);
    lua_pushinteger(L, (lua_Integer)deepest);
    lua_pushcclosure(L, walk_step, WALK_UPVALUES);
    return 1;
}

/* ---------------------------------------------------------------- variables */

static int variables_step(lua_State *L)
{
    struct caret__lnode *c = caret__cursor(L);
    caret_session *s = caret__lnode_session(c);
    char name[CARET_MAX_NAME + 2];
    int rc;

    if (lua_toboolean(L, lua_upvalueindex(UP_WALKING)))
        rc = caret_next(s, &c->node);
    else
        rc = caret_first_var(s, &c->node, 8u * c->words, c->kind & CARET__LOCAL);
    lua_pushboolean(L, rc == CARET_OK);
    lua_replace(L, lua_upvalueindex(UP_WALKING));
    if (rc == CARET_NONE)
        return 0;
    if (rc != CARET_OK)
        return caret__raise(L, c->db, rc);
    caret_slice v = caret_node_name(&c->node, name);
    lua_pushlstring(L, v.data, v.len);
    return 1;
}

/* variables(node) -> iterator over the names of all variables of its kind */
int caret__variables(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf at;

    caret_node_copy(&at.node, sizeof at, &n->node);
    while (caret_node_depth(&at.node) > 0)
        caret_node_parent(&at.node, sizeof at, &at.node);
    caret__push_cursor(L, 1, &at.node);
    lua_pushboolean(L, 0);
    lua_pushcclosure(L, variables_step, 2);
    return 1;
}
