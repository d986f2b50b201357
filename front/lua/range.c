/*
 * range.c - iterators over some of the children, over all that is below, over variables; kill of some children.
 *
 * Like those of iter.c they are closures over a cursor that they hand out as a
 * mutable node, and what is being walked may be changed: a step goes to what comes
 * next then.
 *
 *   range   the cursor starts at one bound, is taken if there is something (and that is not to be
 *           before the bound), and moves until it is after the other.  With a prefix it starts at the first, or last,
 *           child that has it, and moves until one has not
 *   walk    to the next node that has a value, but first to those of its ancestors where the
 *           walk has not been: they have none.  At the deepest level that is asked for to the next
 *           sibling; else to that of the nearest ancestor that has one, until back at the top
 */

#include "lua/binding.h"

enum { UP_CURSOR = 1 };
enum range_upvalue {
    UP_END = 2,  /* the other bound, a node; a string: the prefix; nil: there is none */
    UP_LEFT = 3, /* so many more */
    UP_OPEN = 4, /* the other bound itself is not in the range */
    RANGE_UPVALUES = 4
};
enum walk_upvalue { UP_LEVELS = 2, WALK_UPVALUES = 2 };
enum variables_upvalue { UP_LATER = 2, VARIABLES_UPVALUES = 2 }; /* it is at one already */

/* The cursor as a mutable node, its value, its subscript. */
static int push_step(lua_State *L, struct caret__lnode *c, caret_slice value)
{
    caret__push_stepped(L, c, value);
    caret__push_last(L, &c->node);
    return 3;
}

/* -------------------------------------------------------------------- range */

/* Is the cursor after the other bound? */
static int is_behind(lua_State *L, const struct caret__lnode *c)
{
    caret_slice prefix;

    if (lua_isnil(L, lua_upvalueindex(UP_END)))
        return 0;
    if (lua_type(L, lua_upvalueindex(UP_END)) == LUA_TSTRING) {
        prefix.data = lua_tolstring(L, lua_upvalueindex(UP_END), &prefix.len);
        return !caret_node_in(&c->node, &prefix, NULL, CARET_RANGE_PREFIX);
    }
    const struct caret__lnode *end = caret__lnode(L, lua_upvalueindex(UP_END));
    int order = caret_node_compare(&c->node, &end->node);
    if (order == 0)
        return lua_toboolean(L, lua_upvalueindex(UP_OPEN));
    return c->kind & CARET__BACK ? order < 0 : order > 0;
}

/* So many more steps may be made. */
static void put_left(lua_State *L, lua_Number left)
{
    lua_pushnumber(L, left);
    lua_replace(L, lua_upvalueindex(UP_LEFT));
}

/* May a step be made?  No limit is nil. */
static int count_down(lua_State *L)
{
    if (lua_isnil(L, lua_upvalueindex(UP_LEFT)))
        return 1;
    lua_Number left = lua_tonumber(L, lua_upvalueindex(UP_LEFT));
    if (left > 0)
        put_left(L, left - 1);
    return left > 0;
}

static int range_step(lua_State *L)
{
    caret_slice value;

    if (!count_down(L))
        return 0;
    struct caret__lnode *c = caret__step(L, &value);
    if (c != NULL) { /* is_behind() may allocate, and a finalizer then take the value's place */
        push_step(L, c, value);
        if (!is_behind(L, c))
            return 3;
    }
    put_left(L, 0);
    return 0;
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

/* Push how many children there may be, or nil. */
static void push_limit(lua_State *L)
{
    lua_getfield(L, 2, "limit");
    if (!lua_isnil(L, -1) && !(lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) >= 0))
        caret__misuse(L, "option limit of range is a number of children, 0 or more");
}

static int has_option(lua_State *L, const char *name)
{
    lua_getfield(L, 2, name);
    int has = !lua_isnil(L, -1);
    lua_pop(L, 1);
    return has;
}

/* Which options say where the range is?  A prefix is a string, and alone; `before` stands for `to`. */
static void check_bounds(lua_State *L, const char *function)
{
    if (has_option(L, "to") && has_option(L, "before"))
        caret__misuse(L, "%s takes to or before, not both", function);
    if (!has_option(L, "prefix"))
        return;
    if (has_option(L, "from") || has_option(L, "to") || has_option(L, "before"))
        caret__misuse(L, "%s takes a prefix, or from and to", function);
    lua_getfield(L, 2, "prefix");
    if (lua_type(L, -1) != LUA_TSTRING)
        caret__misuse(L, "option prefix of %s is a string, not a %s", function, caret__typename(L, -1));
    lua_pop(L, 1);
}

/* The cursor at the first child with the prefix, or the last, which may not be there: then no step is to be made. */
static void begin_with_prefix(lua_State *L, struct caret__lnode *n, int back)
{
    caret_node_buf at;
    caret_slice prefix;

    lua_getfield(L, 2, "prefix");
    prefix.data = lua_tolstring(L, -1, &prefix.len);
    caret_node_copy(&at.node, sizeof at, &n->node);
    int rc = (back ? caret_last_in : caret_first_in)(caret__lnode_session(n), &at.node, &prefix, NULL,
                                                     CARET_RANGE_PREFIX);
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, n->db, rc);
    if (rc == CARET_NONE) {
        lua_pushinteger(L, 0);
        lua_replace(L, 3);
    }
    struct caret__lnode *c = caret__push_cursor(L, 1, rc == CARET_OK ? &at.node : &n->node);
    c->kind |= (uint8_t)((back ? CARET__BACK : 0) | (rc == CARET_OK ? CARET__BOUND : 0));
    lua_insert(L, -2);
}

/* The cursor at one bound; the other one. */
static void begin_between(lua_State *L, struct caret__lnode *n, int back)
{
    const char *to = has_option(L, "before") ? "before" : "to";
    caret_node_buf at;
    int bounded = read_bound(L, n, back ? to : "from", &at);
    struct caret__lnode *c = caret__push_cursor(L, 1, bounded ? &at.node : &n->node);

    if (bounded) /* what is before a bound begins with a step away from it */
        c->kind |= back && to[0] == 'b' ? CARET__AMONG : CARET__BOUND;
    c->kind |= (uint8_t)(back ? CARET__BACK : 0);
    if (read_bound(L, n, back ? "from" : to, &at))
        caret__push_like(L, 1, &at.node, caret_node_size(&at.node), 0);
    else
        lua_pushnil(L);
}

int caret__node_range(lua_State *L)
{
    static const char *const known[] = {"from", "to", "before", "prefix", "reverse", "limit", NULL};
    struct caret__lnode *n = caret__check_node(L, 1);

    if (!caret__check_options(L, 2, "range", known)) {
        lua_settop(L, 1);
        lua_newtable(L);
    }
    check_bounds(L, "range");
    push_limit(L);
    lua_getfield(L, 2, "reverse");
    int back = lua_toboolean(L, -1);
    lua_settop(L, 3);
    (has_option(L, "prefix") ? begin_with_prefix : begin_between)(L, n, back);
    lua_pushvalue(L, 3);
    lua_pushboolean(L, !back && has_option(L, "before"));
    lua_pushcclosure(L, range_step, RANGE_UPVALUES);
    return 1;
}

/* --------------------------------------------------------------- kill of a range */

/* The bound of that name as text, which is left on the stack; its data NULL: there is none. */
static caret_slice text_of_bound(lua_State *L, struct caret__ldb *d, const char *name)
{
    caret_node_buf n;
    char text[CARET_MAX_KEY];
    caret_slice bound = {NULL, 0};

    lua_getfield(L, 2, name);
    if (lua_isnil(L, -1))
        return bound;
    if (lua_type(L, -1) != LUA_TSTRING) { /* as a subscript has it */
        caret_node_var(&n.node, sizeof n, "n", 1);
        int rc = caret__sub(L, &n.node, sizeof n, &n.node, lua_gettop(L));
        if (rc == CARET_OK)
            rc = caret_node_subscript(&n.node, 0, text, sizeof text, &bound.len, NULL);
        if (rc != CARET_OK)
            caret__raise(L, d, rc);
        lua_pushlstring(L, text, bound.len);
    }
    bound.data = lua_tolstring(L, -1, &bound.len);
    return bound;
}

int caret__node_kill_range(lua_State *L)
{
    static const char *const known[] = {"from", "to", "before", "prefix", "from_string", "to_string", NULL};
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_session *s = caret__lnode_session(n);

    caret__check_change(L, n->db, s);
    if (!caret__check_options(L, 2, "kill_range", known) ||
        !(has_option(L, "from") || has_option(L, "to") || has_option(L, "before") || has_option(L, "prefix")))
        return caret__misuse(L, "kill_range needs from, to, before or prefix: without, it would kill all");
    check_bounds(L, "kill_range");
    int prefix = has_option(L, "prefix"), before = has_option(L, "before");
    int flags = (prefix ? CARET_RANGE_PREFIX : 0) | (before ? CARET_RANGE_BEFORE : 0) |
                (caret__option_flag(L, 2, "from_string", 0) ? CARET_RANGE_FROM_STRING : 0) |
                (caret__option_flag(L, 2, "to_string", 0) ? CARET_RANGE_TO_STRING : 0);
    caret_slice from = text_of_bound(L, n->db, prefix ? "prefix" : "from");
    caret_slice to = text_of_bound(L, n->db, before ? "before" : "to");
    int rc = caret_kill_range(s, &n->node, &from, &to, prefix ? CARET_RANGE_PREFIX : flags);
    return rc == CARET_OK ? 0 : caret__raise(L, n->db, rc);
}

/* --------------------------------------------------------------------- walk */

/* The levels that are walked, as subscripts of a node: from below `top` to `deepest`.  In the upvalue they are one
 * number; -1: the walk is over. */
struct levels {
    unsigned top, deepest;
};

static lua_Integer pack(struct levels l)
{
    return (lua_Integer)(l.deepest * 256 + l.top);
}

static struct levels unpack(lua_Integer v)
{
    return (struct levels){(unsigned)v % 256, (unsigned)v / 256};
}

/* To the next sibling of the node or of the nearest ancestor that has one; NONE: there is none below `top`. */
static int beyond(struct caret__lnode *c, unsigned top, caret_slice *value)
{
    while (caret_node_depth(&c->node) > top) {
        int rc = caret_next_get(caret__lnode_session(c), &c->node, value);
        if (rc != CARET_NONE)
            return rc;
        caret_node_parent(&c->node, 8u * c->words, &c->node);
    }
    return CARET_NONE;
}

/*
 * The cursor went from `last` to the next node that has a value: to that ancestor of it which comes next in a walk,
 * if it is still below `top`; else NONE.
 */
static int settle(struct caret__lnode *c, const caret_node *last, unsigned top, caret_slice *value)
{
    caret_node_buf above;

    caret_node_copy(&above.node, sizeof above, last);
    for (;;) {
        unsigned level = caret_node_depth(&above.node);
        while (caret_node_depth(&c->node) > level + 1) {
            caret_node_parent(&c->node, 8u * c->words, &c->node);
            *value = (caret_slice){NULL, 0};
        }
        if (caret_node_is_child(&c->node, &above.node))
            return CARET_OK;
        if (level <= top)
            return CARET_NONE;
        caret_node_parent(&above.node, sizeof above, &above.node);
    }
}

/* To the next node, also down; NONE: there is none below `top`, and the cursor is where it was. */
static int onward(struct caret__lnode *c, unsigned top, caret_slice *value)
{
    caret_node_buf last;

    caret_node_copy(&last.node, sizeof last, &c->node);
    int rc = caret_node_next_get(caret__lnode_session(c), &c->node, value);
    if (rc == CARET_OK)
        rc = settle(c, &last.node, top, value);
    if (rc == CARET_NONE)
        caret_node_copy(&c->node, 8u * c->words, &last.node);
    return rc;
}

static int walk_step(lua_State *L)
{
    lua_Integer packed = lua_tointeger(L, lua_upvalueindex(UP_LEVELS));
    struct levels levels = unpack(packed);
    struct caret__lnode *c = caret__usable_cursor(L);
    caret_slice value;

    if (packed < 0)
        return 0;
    int (*move)(struct caret__lnode * c, unsigned top, caret_slice *value) =
        caret_node_depth(&c->node) < levels.deepest ? onward : beyond;
    int rc = move(c, levels.top, &value);
    if (rc == CARET_E_BUFFER) { /* perhaps on the way up: it goes on from there */
        c = caret__widen_cursor(L);
        rc = move(c, levels.top, &value);
    }
    if (rc == CARET_NONE) {
        lua_pushinteger(L, -1);
        lua_replace(L, lua_upvalueindex(UP_LEVELS));
        return 0;
    }
    if (rc != CARET_OK)
        return caret__raise(L, c->db, rc);
    push_step(L, c, value);
    lua_pushinteger(L, (lua_Integer)(caret_node_depth(&c->node) - levels.top));
    return 4;
}

int caret__node_walk(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    struct levels levels = {caret_node_depth(&n->node), CARET_MAX_SUBS};
    lua_Number depth = lua_tonumber(L, 2);

    if (!lua_isnoneornil(L, 2)) {
        if (lua_type(L, 2) != LUA_TNUMBER || !(depth >= 0))
            return caret__misuse(L, "walk takes a number of levels, 0 or more");
        if (depth < (lua_Number)(levels.deepest - levels.top))
            levels.deepest = levels.top + (unsigned)depth;
    }
    caret__push_cursor(L, 1, &n->node);
    lua_pushinteger(L, levels.deepest > levels.top ? pack(levels) : -1);
    lua_pushcclosure(L, walk_step, WALK_UPVALUES);
    return 1;
}

/* ---------------------------------------------------------------- variables */

static int variables_step(lua_State *L)
{
    struct caret__lnode *c = caret__usable_cursor(L);
    caret_session *s = caret__lnode_session(c);
    char name[CARET_MAX_NAME + 2];
    int rc;

    if (lua_toboolean(L, lua_upvalueindex(UP_LATER)))
        rc = caret_next(s, &c->node);
    else
        rc = caret_first_var(s, &c->node, 8u * c->words, c->kind & CARET__LOCAL);
    lua_pushboolean(L, rc == CARET_OK);
    lua_replace(L, lua_upvalueindex(UP_LATER));
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
    lua_pushcclosure(L, variables_step, VARIABLES_UPVALUES);
    return 1;
}
