/*
 * text.c - what the module `yottadb` needs of C: answers as text, as M programs
 * expect them, where those of `caret` are Lua integers.  All of it is in the table
 * core.text.
 *
 * To M the empty subscript is what stands before all others and after them: steps among
 * siblings begin at it and end there.  Iterators over children show it like any other.
 */
#include <math.h>
#include <stdio.h>

#include "lua/binding.h"
#include "m/text.h"

/* ---------------------------------------------------------------- subscripts */

/* Push subscript i as text. */
static void push_subscript(lua_State *L, const caret_node *n, unsigned i)
{
    char text[CARET_NODE_MAX]; /* as in caret__push_last() */
    size_t len = 0;

    int rc = caret_node_subscript(n, i, text, sizeof text, &len, NULL);
    lua_pushlstring(L, text, rc == CARET_OK ? len : 0);
}

/* Push the last subscript, or the name. */
static void push_last(lua_State *L, const caret_node *n)
{
    char name[CARET_MAX_NAME + 2];
    unsigned depth = caret_node_depth(n);

    if (depth > 0) {
        push_subscript(L, n, depth - 1);
        return;
    }
    caret_slice s = caret_node_name(n, name);
    lua_pushlstring(L, s.data, s.len);
}

static void push_subscripts(lua_State *L, const caret_node *n)
{
    unsigned depth = caret_node_depth(n);

    lua_createtable(L, (int)depth, 0);
    for (unsigned i = 0; i < depth; i++) {
        push_subscript(L, n, i);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* name(node) */
static int text_name(lua_State *L)
{
    push_last(L, &caret__check_address(L, 1)->node);
    return 1;
}

/* subsarray(node) */
static int text_subsarray(lua_State *L)
{
    push_subscripts(L, &caret__check_address(L, 1)->node);
    return 1;
}

/* ------------------------------------------------------------------ iterators */

enum upvalue { UP_CURSOR = 1, UP_BACK = 2 }; /* of steps among siblings */

/* What a call of the C API found: 1, or 0 if there is nothing more. */
static int found(lua_State *L, struct caret__ldb *d, int rc)
{
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, d, rc);
    return rc == CARET_OK;
}

static int move(caret_session *s, caret_node *n, int back)
{
    return back ? caret_previous(s, n) : caret_next(s, n);
}

static int children_step(lua_State *L)
{
    struct caret__lnode *c = caret__step(L, NULL);
    if (c == NULL)
        return 0;
    push_last(L, &c->node);
    return 1;
}

static int pairs_step(lua_State *L)
{
    caret_slice value;
    struct caret__lnode *c = caret__step(L, &value);
    if (c == NULL)
        return 0;
    caret__push_stepped(L, c, value);
    push_last(L, &c->node);
    return 3;
}

static int is_empty(const caret_node *n)
{
    size_t len = 1;
    unsigned depth = caret_node_depth(n);
    if (depth > 0)
        caret_node_subscript(n, depth - 1, NULL, 0, &len, NULL);
    return len == 0;
}

/* Move n, which has room for any key, to its sibling; to the last of them from the empty subscript on the way back. */
static int move_aside(caret_session *s, caret_node *n, int back)
{
    if (!back || !is_empty(n))
        return move(s, n, back);
    caret_node_parent(n, CARET_NODE_MAX, n);
    int rc = caret_last(s, n);
    if (rc != CARET_OK)
        caret_node_child(n, CARET_NODE_MAX, n, "", 0);
    return rc;
}

/* Push the text of the sibling of n, moving there; nothing if there is none. */
static int push_sibling(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, int back)
{
    if (!found(L, d, move_aside(s, n, back)))
        return 0;
    push_last(L, n);
    return caret__rawlen(L, -1) != 0; /* the empty one is the end of the way back */
}

static int siblings_step(lua_State *L)
{
    struct caret__lnode *c = caret__check_node(L, lua_upvalueindex(UP_CURSOR));
    return push_sibling(L, c->db, caret__lnode_session(c), &c->node,
                        lua_toboolean(L, lua_upvalueindex(UP_BACK)));
}

/* subscripts(node, reverse) -> iterator: the subscripts of its children */
static int text_subscripts(lua_State *L)
{
    return caret__iterate(L, children_step);
}

/* pairs(node, reverse) -> iterator: child, its value or nil, its subscript */
static int text_pairs(lua_State *L)
{
    return caret__iterate(L, pairs_step);
}

/* siblings(node, reverse) -> iterator: the subscripts after (before) the node's own, or names of variables */
static int text_siblings(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int back = lua_toboolean(L, 2);

    caret__push_like(L, 1, &n->node, CARET_NODE_MAX, CARET__MUTABLE);
    lua_pushboolean(L, back);
    lua_pushcclosure(L, siblings_step, 2);
    return 1;
}

/* sibling(node, reverse[, sub]) -> the subscript or name after (before) its own, or after that one, or nil */
static int text_sibling(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int back = lua_toboolean(L, 2), rc;
    caret_node_buf c;
    size_t len;

    rc = caret_node_copy(&c.node, sizeof c, &n->node);
    if (lua_type(L, 3) == LUA_TSTRING) {
        const char *sub = lua_tolstring(L, 3, &len);
        rc = caret_node_depth(&n->node) > 0 ? caret_node_set_last(&c.node, sub, len)
                                            : caret_node_var(&c.node, sizeof c, sub, len);
    }
    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    return push_sibling(L, n->db, caret__lnode_session(n), &c.node, back);
}

/* The table of subscripts of the node with a value before or after the one at 1, or nil. */
static int walk(lua_State *L, int (*f)(caret_session *, caret_node *))
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf c;

    caret_node_copy(&c.node, sizeof c, &n->node);
    if (!found(L, n->db, f(caret__lnode_session(n), &c.node)))
        return 0;
    push_subscripts(L, &c.node);
    return 1;
}

static int text_node_next(lua_State *L)
{
    return walk(L, caret_node_next);
}

static int text_node_previous(lua_State *L)
{
    return walk(L, caret_node_previous);
}

/* ----------------------------------------------------------------------- data */

static int is_float(lua_State *L, int i)
{
#if LUA_VERSION_NUM >= 503
    return lua_type(L, i) == LUA_TNUMBER && !lua_isinteger(L, i);
#else
    int64_t v; /* what is whole and exact passes for an integer */
    return lua_type(L, i) == LUA_TNUMBER && !caret__integer(L, i, &v);
#endif
}

const char *caret__value_as_lua(lua_State *L, struct caret__ldb *d, int i, size_t *len, char buf[64])
{
    if (!is_float(L, i))
        return caret__value_text(L, d, i, len, buf);
    lua_pushvalue(L, i); /* lua_tostring() changes what it is given */
    *len = (size_t)snprintf(buf, 64, "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
    return buf;
}

/* incr(node[, by]) -> the sum as text: more digits than a Lua number of every version has */
static int text_incr(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    char number[64];
    const char *by = "1";
    size_t len = 1;
    caret_slice sum;

    if (lua_type(L, 2) == LUA_TNUMBER && !isfinite(lua_tonumber(L, 2))) {
        lua_pushvalue(L, 2);
        by = lua_tolstring(L, -1, &len); /* "nan" and "inf" count as any text without digits */
    } else if (!lua_isnoneornil(L, 2))
        by = caret__value_text(L, n->db, 2, &len, number);
    if (len == 0) /* the empty text, too, adds 1 */
        by = "1", len = 1;
    caret__check_change(L, n->db, caret__lnode_session(n));
    int rc = caret__incr_text(n->db, caret__lnode_session(n), &n->node, by, len, &sum);
    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    caret__push_text(L, sum);
    return 1;
}

/* release(node): give back a lock; it is not an error if it is not held */
static int text_release(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret__check_locks(L, n->db);
    int rc = caret__locks_release(L, n->db, &n->node);
    return rc != CARET_OK && rc != CARET_E_NOTLOCKED ? caret__raise(L, n->db, rc) : 0;
}

/* over(node, most) -> its first subscript of more bytes than that; nil: there is none */
static int text_over(lua_State *L)
{
    const caret_node *n = &caret__check_address(L, 1)->node;
    size_t most = (size_t)luaL_checkinteger(L, 2), len;
    unsigned depth = caret_node_depth(n);

    for (unsigned i = 0; i < depth; i++) {
        caret_node_subscript(n, i, NULL, 0, &len, NULL);
        if (len > most) {
            push_subscript(L, n, i);
            return 1;
        }
    }
    return 0;
}

/* level(db) -> transactions in transactions, restarts of the outermost */
static int text_level(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    lua_pushinteger(L, (lua_Integer)caret_txn_level(d->s));
    lua_pushinteger(L, (lua_Integer)caret_txn_restarts(d->s));
    return 2;
}

/* ----------------------------------------------------------------------- text */

/* convert(text, utf8) by f -> text, or nil and what is wrong */
static int convert(lua_State *L, int backwards)
{
    size_t n, len = 0;
    const char *s = luaL_checklstring(L, 1, &n);
    int utf8 = lua_toboolean(L, 2), rc = CARET_E_BUFFER;
    char *buf = NULL;

    for (size_t cap = n + 64; rc == CARET_E_BUFFER; cap = len) {
        buf = lua_newuserdata(L, cap);
        rc = backwards ? caret_m__zwr2str(s, n, utf8, buf, cap, &len)
                       : caret_m__str2zwr(s, n, utf8, buf, cap, &len);
    }
    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    lua_pushlstring(L, buf, len);
    return 1;
}

static int text_str2zwr(lua_State *L)
{
    return convert(L, 0);
}

static int text_zwr2str(lua_State *L)
{
    return convert(L, 1);
}

void caret__add_text(lua_State *L)
{
    static const luaL_Reg functions[] = {{"name", text_name},
                                         {"subsarray", text_subsarray},
                                         {"subscripts", text_subscripts},
                                         {"pairs", text_pairs},
                                         {"siblings", text_siblings},
                                         {"sibling", text_sibling},
                                         {"node_next", text_node_next},
                                         {"node_previous", text_node_previous},
                                         {"incr", text_incr},
                                         {"release", text_release},
                                         {"over", text_over},
                                         {"level", text_level},
                                         {"str2zwr", text_str2zwr},
                                         {"zwr2str", text_zwr2str},
                                         {NULL, NULL}};
    lua_newtable(L);
    caret__functions(L, functions);
    lua_setfield(L, -2, "text");
}
