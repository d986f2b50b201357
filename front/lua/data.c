/*
 * data.c - reading and changing data: methods of nodes, and of databases with an
 * address in front.
 *
 * Nothing here allocates but the strings that are returned.
 */
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* ------------------------------------------------------------------- values */

/*
 * Lua before 5.3 and LuaJIT may run a finalizer in lua_pushlstring() before the bytes are looked at, and if that uses
 * the database, something else is in the session's memory then.  So short text is put aside.
 */
#define ASIDE 512u

void caret__push_text(lua_State *L, caret_slice v)
{
    char aside[ASIDE];
    if (LUA_VERSION_NUM < 503 && v.len <= sizeof aside) {
        memcpy(aside, v.data, v.len);
        v.data = aside;
    }
    lua_pushlstring(L, v.data, v.len);
}

/* Push what n has; a longer value is copied to memory of Lua's, until it fits. */
static void push_long(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, size_t len)
{
    int rc = CARET_E_BUFFER;

    while (rc == CARET_E_BUFFER) {
        size_t cap = len;
        char *buf = lua_newuserdata(L, cap);
        rc = caret_get_copy(s, n, buf, cap, &len);
        if (rc == CARET_OK)
            lua_pushlstring(L, buf, len);
        else if (rc == CARET_NONE)
            lua_pushnil(L);
        else if (rc == CARET_E_BUFFER)
            lua_pop(L, 1);
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        caret__raise(L, d, rc);
    lua_remove(L, -2);
}

void caret__push_got(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, caret_slice v)
{
    if (LUA_VERSION_NUM < 503 && v.len > ASIDE)
        push_long(L, d, s, n, v.len);
    else
        caret__push_text(L, v);
}

void caret__push_value(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n)
{
    caret_slice v;
    int rc = caret_get(s, n, &v);

    if (rc == CARET_OK)
        caret__push_got(L, d, s, n, v);
    else if (rc == CARET_NONE)
        lua_pushnil(L);
    else
        caret__raise(L, d, rc);
}

#define AT_ONCE 16 /* as many as caret_prefetch() looks for together */

/* Put the values of the children base(t[first..last]), t at index 2, into the table at 3. */
static void get_some(lua_State *L, const caret_node *base, int first, int last)
{
    caret_node_buf child[AT_ONCE];
    caret_node *list[AT_ONCE];
    struct caret__lnode *n = caret__check_node(L, 1);

    for (int i = first; i <= last; i++) {
        caret_node_buf *c = &child[i - first];
        lua_rawgeti(L, 2, i);
        int rc = caret__sub(L, &c->node, sizeof *c, base, lua_gettop(L));
        if (rc != CARET_OK)
            caret__raise(L, n->db, rc);
        lua_pop(L, 1);
        list[i - first] = &c->node;
    }
    caret_prefetch(caret__lnode_session(n), list, (size_t)(last - first + 1));
    for (int i = first; i <= last; i++) {
        n = caret__check_node(L, 1); /* a finalizer may have closed the database */
        lua_rawgeti(L, 2, i);
        caret__push_value(L, n->db, caret__lnode_session(n), list[i - first]);
        lua_rawset(L, 3);
    }
}

/* n:get_many {sub, ...} -> {[sub] = value, ...} */
int caret__node_get_many(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_node_buf base;

    if (!caret__is_table(L, 2))
        return caret__misuse(L, "get_many takes a table of subscripts, not a %s", caret__typename(L, 2));
    caret_node_copy(&base.node, sizeof base, &n->node);
    lua_settop(L, 2);
    lua_newtable(L);
    for (int i = 1, count = (int)caret__rawlen(L, 2); i <= count; i += AT_ONCE)
        get_some(L, &base.node, i, i + AT_ONCE - 1 < count ? i + AT_ONCE - 1 : count);
    return 1;
}

void caret__set_value(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, int i)
{
    char buf[64];
    size_t len;
    int rc;

    caret__check_change(L, d, s);
    const char *text =
        d->translated ? caret__value_as_lua(L, d, i, &len, buf) : caret__value_text(L, d, i, &len, buf);
    rc = text != NULL ? caret_set(s, n, text, len) : caret_delete(s, n);
    if (rc != CARET_OK)
        caret__raise(L, d, rc);
}

int caret__node_get(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_slice v;
    int rc = caret_get(caret__lnode_session(n), &n->node, &v);

    if (rc != CARET_OK && rc != CARET_NONE)
        return caret__raise(L, n->db, rc);
    if (rc == CARET_OK)
        caret__push_got(L, n->db, caret__lnode_session(n), &n->node, v);
    else
        lua_settop(L, 2); /* the default */
    return 1;
}

int caret__node_set(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    int top = lua_gettop(L);

    if (top < 2 && !n->db->translated)
        return caret__misuse(L, "set needs a value (nil deletes)");
    if (top < 2)
        lua_settop(L, 2);
    caret__set_value(L, n->db, caret__lnode_session(n), &n->node, 2);
    if (top > 2)
        lua_settop(L, 2);
    return 1;
}

static int not_a_number(lua_State *L, caret_slice v)
{
    return caret__misuse(L, "the value %s is not a number", caret__push_shown(L, v.data, v.len, '\''));
}

int caret__node_number(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret_slice v;
    int rc = caret_get(caret__lnode_session(n), &n->node, &v);

    if (rc == CARET_NONE) {
        lua_settop(L, 2);
        return 1;
    }
    if (rc != CARET_OK)
        return caret__raise(L, n->db, rc);
    if (caret__push_number(L, v.data, v.len))
        return 1;
    return not_a_number(L, v);
}

/* ---------------------------------------------------------------- increments */

int caret__incr_text(struct caret__ldb *d, caret_session *s, caret_node *n, const char *by, size_t len,
                     caret_slice *sum)
{
    return d->translated ? caret_incr_m(s, n, by, len, sum) : caret_incr(s, n, by, len, sum);
}

/* Does the canonical text of an integer fit 64 bits? */
static int to_integer(caret_slice s, int64_t *out)
{
    size_t i = s.len > 0 && s.data[0] == '-';
    uint64_t u = 0, most = (uint64_t)INT64_MAX + i;

    if (s.len - i > 19)
        return 0;
    for (; i < s.len; i++)
        u = u * 10 + (uint64_t)(s.data[i] - '0');
    *out = (int64_t)(s.data[0] == '-' ? 0 - u : u);
    return u <= most;
}

/* A sum as a number; as text where it is an integer and no Lua number is that integer. */
static int push_sum(lua_State *L, caret_slice sum)
{
    int64_t v;

    if (memchr(sum.data, '.', sum.len) != NULL)
        return caret__push_number(L, sum.data, sum.len);
    if (to_integer(sum, &v))
        caret__push_integer(L, v);
    else
        caret__push_text(L, sum);
    return 1;
}

#define NAN_ADDED      "INVALID: NaN is not a number to add; a finite number is expected"
#define INFINITY_ADDED "INVALID: an infinity is not a number to add; a finite number is expected"

/* By decimal text, negated if asked for: exact for anything. */
static int incr_text(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, int i, int negate)
{
    char number[64], buf[256] = "-";
    size_t len;
    const char *by;
    caret_slice r;

    if (lua_type(L, i) == LUA_TNUMBER && !isfinite(lua_tonumber(L, i)))
        return caret__raise_text(L, d, CARET_E_INVALID,
                                 isnan(lua_tonumber(L, i)) ? NAN_ADDED : INFINITY_ADDED);
    by = caret__value_text(L, d, i, &len, number);
    if (len > sizeof buf - 1)
        return caret__misuse(L, "an increment of %d characters is too long", (int)len);
    if (negate && len != 0 && (by[0] == '-' || by[0] == '+')) {
        memcpy(buf, by, len);
        buf[0] = by[0] == '-' ? '+' : '-';
    } else {
        memcpy(buf + negate, by, len);
        len += (size_t)negate;
    }
    int rc = caret__incr_text(d, s, n, buf, len, &r);
    if (rc != CARET_OK)
        return caret__raise(L, d, rc);
    return push_sum(L, r);
}

/* Add what is at i (nothing there: 1) and push the new value. */
static int incr(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, int i, int negate)
{
    int64_t by = 1, result;

    caret__check_change(L, d, s);
    if (lua_isnone(L, i)) {
        lua_settop(L, i - 1);
        lua_pushinteger(L, 1);
    }
    if (lua_isnil(L, i))
        return caret__misuse(L, "an increment must be a number, not nil; leave it out to add 1");
    if (!d->translated && !lua_isnumber(L, i) && lua_type(L, i) != LUA_TSTRING)
        return caret__misuse(L, "an increment must be a number, or its text, not a %s",
                             caret__typename(L, i));
    if (d->translated || lua_type(L, i) != LUA_TNUMBER || !caret__integer(L, i, &by) || by == INT64_MIN)
        return incr_text(L, d, s, n, i, negate);
    int rc = caret_incr_int(s, n, negate ? -by : by, 0, &result);
    if (rc == CARET_E_NUMOFLOW) /* the sum is not such an integer: nothing was changed */
        return incr_text(L, d, s, n, i, negate);
    if (rc != CARET_OK)
        return caret__raise(L, d, rc);
    caret__push_integer(L, result);
    return 1;
}

int caret__node_incr(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    return incr(L, n->db, caret__lnode_session(n), &n->node, 2, 0);
}

static int add(lua_State *L, int negate)
{
    if (lua_isnumber(L, 1)) /* or a string that Lua takes for one */
        return caret__misuse(L, "a node plus or minus a number adds to its value, and the node stands first: "
                                "calculate with node.__ or node:number()");
    struct caret__lnode *n = caret__check_node(L, 1);
    if (lua_isnoneornil(L, 2))
        return caret__misuse(L, "a node plus or minus nothing");
    incr(L, n->db, caret__lnode_session(n), &n->node, 2, negate);
    lua_settop(L, 1);
    return 1;
}

int caret__node_add(lua_State *L)
{
    return add(L, 0);
}

int caret__node_subtract(lua_State *L)
{
    return add(L, 1);
}

/* ------------------------------------------------------------- kill and data */

static int removed(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n,
                   int (*remove)(caret_session *s, caret_node *n))
{
    caret__check_change(L, d, s);
    int rc = remove(s, n);
    return rc == CARET_OK ? 0 : caret__raise(L, d, rc);
}

/* The methods of a node take nothing: whoever tells a subscript, as db:kill() takes them, means the child. */
static struct caret__lnode *check_alone(lua_State *L, const char *method)
{
    struct caret__lnode *n = caret__check_node(L, 1);

    if (!lua_isnoneornil(L, 2))
        caret__misuse(L, "%s takes no argument: n(subscript):%s() is for a child", method, method);
    return n;
}

int caret__node_kill(lua_State *L)
{
    struct caret__lnode *n = check_alone(L, "kill");
    return removed(L, n->db, caret__lnode_session(n), &n->node, caret_kill);
}

int caret__node_delete(lua_State *L)
{
    struct caret__lnode *n = check_alone(L, "delete");
    return removed(L, n->db, caret__lnode_session(n), &n->node, caret_delete);
}

static int data_of(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n)
{
    int data = 0, rc = caret_data(s, n, &data);
    if (rc != CARET_OK)
        caret__raise(L, d, rc);
    return data;
}

int caret__node_data(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    lua_pushinteger(L, data_of(L, n->db, caret__lnode_session(n), &n->node));
    return 1;
}

int caret__node_has_value(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    lua_pushboolean(L, data_of(L, n->db, caret__lnode_session(n), &n->node) % 10 == 1);
    return 1;
}

int caret__node_has_tree(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    lua_pushboolean(L, data_of(L, n->db, caret__lnode_session(n), &n->node) >= 10);
    return 1;
}

/* ------------------------------------------------- databases: address in front */

/* Make tmp of the arguments after the database but the last `kept`; which session has it?  NULL: caret__too_long. */
static caret_session *target(lua_State *L, struct caret__ldb **d, caret_node_buf *tmp, int kept)
{
    *d = caret__check_db(L, 1);
    if (!caret__address_here(L, *d, tmp, 2, lua_gettop(L) - kept))
        return NULL;
    return caret__session(*d, &tmp->node);
}

/* get(db, name, subs...) */
static int db_get(lua_State *L)
{
    struct caret__ldb *d;
    caret_node_buf n;
    caret_session *s = target(L, &d, &n, 0);
    if (s == NULL)
        return caret__too_long(L, "get", 2);
    caret__push_value(L, d, s, &n.node);
    return 1;
}

/* set(db, name, subs..., value) */
static int db_set(lua_State *L)
{
    struct caret__ldb *d;
    caret_node_buf n;
    caret__check_db(L, 1);
    if (lua_gettop(L) < 3)
        return caret__misuse(L, "set needs a variable and a value");
    caret_session *s = target(L, &d, &n, 1);
    if (s == NULL)
        return caret__too_long(L, "set", 2);
    caret__set_value(L, d, s, &n.node, lua_gettop(L));
    return 1;
}

/* incr(db, name) or incr(db, name, subs..., by) */
static int db_incr(lua_State *L)
{
    struct caret__ldb *d;
    caret_node_buf n;
    int top = lua_gettop(L);
    caret_session *s = target(L, &d, &n, top > 2);
    if (s == NULL)
        return caret__too_long(L, "incr", 2);
    return incr(L, d, s, &n.node, top > 2 ? top : top + 1, 0);
}

static int db_removed(lua_State *L, const char *name, int (*remove)(caret_session *s, caret_node *n))
{
    struct caret__ldb *d;
    caret_node_buf n;
    caret_session *s = target(L, &d, &n, 0);
    if (s == NULL)
        return caret__too_long(L, name, 2);
    return removed(L, d, s, &n.node, remove);
}

static int db_kill(lua_State *L)
{
    return db_removed(L, "kill", caret_kill);
}

static int db_delete(lua_State *L)
{
    return db_removed(L, "delete", caret_delete);
}

static int db_data(lua_State *L)
{
    struct caret__ldb *d;
    caret_node_buf n;
    caret_session *s = target(L, &d, &n, 0);
    if (s == NULL)
        return caret__too_long(L, "data", 2);
    lua_pushinteger(L, data_of(L, d, s, &n.node));
    return 1;
}

void caret__add_data(lua_State *L)
{
    static const luaL_Reg functions[] = {{"db_get", db_get},   {"db_set", db_set},       {"db_incr", db_incr},
                                         {"db_kill", db_kill}, {"db_delete", db_delete}, {"db_data", db_data},
                                         {NULL, NULL}};
    caret__functions(L, functions);
}
