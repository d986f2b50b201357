/*
 * node.c - caret.node(): nodes of the database, within the transaction of a script.
 *
 * A part of the object model of the Lua module, with its names:
 *
 *     local oaks = caret.node("^oaks")        oaks[1].shadow.__ = 15        oaks[1].shadow.__ --> "15"
 *     n.__, n:get(default), n:number(default), n:set(value), n:incr(by), n:delete(), n:kill(), n:data(), n:exists()
 *     for sub in n:subscripts() do ... end    n:cursor(sub), and n:move(sub): to a sibling, without a new object
 *
 * `n.name` is a child, and a method if it is called with n: n:name().  `n.__name` is the method itself.
 *   A node works with the session of its Lua state, which nobody else uses: so it needs no turn (handoff.h).  A
 * restart and an end by SCRIPT KILL are as in redis.call().
 */
#include <stdlib.h>

#include "server/codec/number.h"
#include "server/conn.h"
#include "server/script/node.h"

enum { USUAL_KEY = 56 };

enum { UP_SCRIPTS = 1, UP_METHODS = 2, UP_META = 3 };

static struct serve__scripts *scripts_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(UP_SCRIPTS));
}

/* ----------------------------------------------------------------- errors */

/* What the engine said, unless it is CARET_OK or CARET_NONE. */
static void check(lua_State *L, struct serve__scripts *x, int rc)
{
    if (rc == CARET_OK || rc == CARET_NONE)
        return;
    if (rc == CARET_RESTART)
        x->restart = true;
    lua_pushfstring(L, "ERR %s", rc == CARET_RESTART ? "the transaction begins again" : caret_fact());
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    serve__script_push_error(L, text, len, false);
    lua_error(L);
}

static void fail(lua_State *L, const char *text)
{
    serve__script_push_error(L, text, strlen(text), false);
    lua_error(L);
}

/* The session of the script that runs. */
static caret_session *session(lua_State *L, struct serve__scripts *x)
{
    if (x->q == NULL)
        fail(L, "ERR nodes can only be used inside a script invocation");
    if (serve__script_is_killed(x))
        fail(L, "ERR Script killed by user with SCRIPT KILL...");
    serve__memo_end(x, &x->memo);
    if (!serve__script_uses(x, false))
        check(L, x, CARET_RESTART);
    return x->q->s;
}

static caret_session *to_write(lua_State *L, struct serve__scripts *x)
{
    caret_session *s = session(L, x);
    if (x->readonly)
        fail(L, "ERR Write commands are not allowed from read-only scripts.");
    atomic_store_explicit(&x->lease.wrote, true, memory_order_relaxed);
    x->q->r->dirty++;
    return s;
}

/* ------------------------------------------------------------------ nodes */

static struct serve__script_node *node_at(lua_State *L, int i)
{
    struct serve__script_node *n = lua_type(L, i) == LUA_TUSERDATA ? lua_touserdata(L, i) : NULL;
    return n != NULL && lua_objlen(L, i) > sizeof *n && n->magic == SERVE__SCRIPT_NODE ? n : NULL;
}

static struct serve__script_node *check_node(lua_State *L, int i)
{
    struct serve__script_node *n = node_at(L, i);
    if (n == NULL)
        fail(L, "ERR a node is expected; methods are called as n:name()");
    return n;
}

static caret_node *of(struct serve__script_node *n)
{
    return serve__script_node(n);
}

static struct serve__script_node *push_room(lua_State *L, size_t bytes)
{
    struct serve__script_node *n = lua_newuserdata(L, sizeof *n + bytes);
    n->magic = SERVE__SCRIPT_NODE;
    n->bytes = (uint32_t)bytes;
    n->cursor = 0;
    lua_pushvalue(L, lua_upvalueindex(UP_META));
    lua_setmetatable(L, -2);
    return n;
}

static int make_child(lua_State *L, caret_node *n, size_t bytes, const caret_node *parent, int i)
{
    size_t len;
    if (lua_type(L, i) == LUA_TNUMBER) {
        lua_Number d = lua_tonumber(L, i);
        return serve__script_is_whole(d) ? caret_node_child_int(n, bytes, parent, (int64_t)d)
                                         : caret_node_child_double(n, bytes, parent, d);
    }
    if (lua_type(L, i) != LUA_TSTRING)
        fail(L, "ERR a subscript is a string or a number");
    const char *text = lua_tolstring(L, i, &len);
    return caret_node_child(n, bytes, parent, text, len);
}

/* Push the child of the subscript i; with room for any key if it is to be moved. */
static struct serve__script_node *push_child(lua_State *L, struct serve__script_node *parent, int i,
                                             bool cursor)
{
    struct serve__script_node *n = push_room(L, cursor ? CARET_NODE_MAX : caret_node_bytes(USUAL_KEY));
    n->cursor = cursor;
    int rc = make_child(L, of(n), n->bytes, of(parent), i);
    if (rc == CARET_E_BUFFER) {
        lua_pop(L, 1);
        n = push_room(L, CARET_NODE_MAX);
        rc = make_child(L, of(n), n->bytes, of(parent), i);
    }
    check(L, scripts_of(L), rc);
    return n;
}

/* Go down by the subscripts from the argument `first` on; the node is on top of the stack. */
static int descend(lua_State *L, struct serve__script_node *n, int first)
{
    int last = lua_gettop(L);
    lua_pushvalue(L, first - 1);
    for (int i = first; i < last + 1; i++) {
        n = push_child(L, n, i, false);
        lua_replace(L, last + 1);
    }
    return 1;
}

static int new_node(lua_State *L)
{
    size_t len = 0;
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &len) : "";
    struct serve__scripts *x = scripts_of(L);
    session(L, x);
    if (x->q->c->user != NULL)
        fail(L, "NOPERM this user has no permissions to use nodes");
    if (len == 0 || name[0] != '^')
        fail(L, "ERR the name of a variable begins with ^");
    struct serve__script_node *n = push_room(L, CARET_NODE_MAX); /* one a script */
    check(L, x, caret_node_var(of(n), n->bytes, name, len));
    lua_replace(L, 1);
    return descend(L, n, 2);
}

/* ----------------------------------------------------------------- values */

/* Push the value, or the argument `other` of the method. */
static int push_value(lua_State *L, struct serve__script_node *n, int other)
{
    caret_slice value;
    struct serve__scripts *x = scripts_of(L);
    int rc = caret_get(session(L, x), of(n), &value);
    check(L, x, rc);
    if (rc == CARET_OK)
        lua_pushlstring(L, value.data, value.len);
    else
        lua_settop(L, other);
    return 1;
}

static int node_get(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    lua_settop(L, 2);
    return push_value(L, n, 2);
}

static int node_number(lua_State *L)
{
    caret_slice value;
    int64_t whole;
    double d;
    struct serve__script_node *n = check_node(L, 1);
    struct serve__scripts *x = scripts_of(L);
    lua_settop(L, 2);
    int rc = caret_get(session(L, x), of(n), &value);
    check(L, x, rc);
    if (rc != CARET_OK)
        return 1;
    if (serve__read_integer(&value, &whole))
        lua_pushnumber(L, (lua_Number)whole);
    else if (caret_codec__parse_double(value.data, value.len, &d))
        lua_pushnumber(L, d);
    else
        fail(L, "ERR the value is not a number");
    return 1;
}

/* Set the value of n to the Lua value i; nil deletes it. */
static void set(lua_State *L, struct serve__script_node *n, int i)
{
    char digits[CARET_CODEC__DOUBLE_ROOM];
    struct serve__scripts *x = scripts_of(L);
    caret_session *s = to_write(L, x);
    size_t len;
    if (lua_isnil(L, i)) {
        check(L, x, caret_delete(s, of(n)));
    } else if (lua_type(L, i) == LUA_TNUMBER) {
        len = serve__script_print(lua_tonumber(L, i), digits);
        check(L, x, caret_set(s, of(n), digits, len));
    } else if (lua_type(L, i) == LUA_TSTRING) {
        const char *text = lua_tolstring(L, i, &len);
        check(L, x, caret_set(s, of(n), text, len));
    } else {
        fail(L, "ERR a value is a string, a number or nil");
    }
}

static int node_set(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    lua_settop(L, 2);
    set(L, n, 2);
    return 1;
}

/* What incr adds, as text: the argument 2, or 1.  An exponent is written after E. */
static const char *increment(lua_State *L, char digits[CARET_CODEC__DOUBLE_ROOM], size_t *len)
{
    if (lua_type(L, 2) == LUA_TSTRING)
        return lua_tolstring(L, 2, len);
    if (lua_type(L, 2) != LUA_TNUMBER && !lua_isnoneornil(L, 2))
        fail(L, "ERR an increment is a number, or its text");
    *len = serve__script_print(lua_isnoneornil(L, 2) ? 1 : lua_tonumber(L, 2), digits);
    char *e = memchr(digits, 'e', *len);
    if (e != NULL)
        *e = 'E';
    return digits;
}

static int node_incr(lua_State *L)
{
    char digits[CARET_CODEC__DOUBLE_ROOM];
    caret_slice sum;
    struct serve__script_node *n = check_node(L, 1);
    struct serve__scripts *x = scripts_of(L);
    size_t len;
    const char *by = increment(L, digits, &len);
    check(L, x, caret_incr(to_write(L, x), of(n), by, len, &sum));
    lua_pushlstring(L, sum.data, sum.len);
    lua_pushnumber(L, lua_tonumber(L, -1));
    return 1;
}

static int node_delete(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    struct serve__scripts *x = scripts_of(L);
    check(L, x, caret_delete(to_write(L, x), of(n)));
    return 0;
}

static int node_kill(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    struct serve__scripts *x = scripts_of(L);
    check(L, x, caret_kill(to_write(L, x), of(n)));
    return 0;
}

static int data(lua_State *L)
{
    int there = 0;
    struct serve__script_node *n = check_node(L, 1);
    struct serve__scripts *x = scripts_of(L);
    check(L, x, caret_data(session(L, x), of(n), &there));
    return there;
}

static int node_data(lua_State *L)
{
    lua_pushinteger(L, data(L));
    return 1;
}

static int node_exists(lua_State *L)
{
    lua_pushboolean(L, data(L) != 0);
    return 1;
}

/* ----------------------------------------------------------------- moving */

/* Push the last subscript. */
static void push_subscript(lua_State *L, const caret_node *n)
{
    char text[CARET_NODE_MAX];
    size_t len = 0;
    int64_t whole;
    if (caret_node_last_as_int(n, &whole) && whole >= -9000000000000000 && whole <= 9000000000000000) {
        lua_pushnumber(L, (lua_Number)whole);
        return;
    }
    caret_node_subscript(n, caret_node_depth(n) - 1, text, sizeof text, &len, NULL);
    lua_pushlstring(L, text, len);
}

/* The iterator: upvalues 4 to 6 are the node, where it stands, and whether it goes backwards. */
static int step(lua_State *L)
{
    struct serve__script_node *at = lua_touserdata(L, lua_upvalueindex(5));
    struct serve__script_node *parent = lua_touserdata(L, lua_upvalueindex(4));
    bool back = lua_toboolean(L, lua_upvalueindex(6));
    struct serve__scripts *x = scripts_of(L);
    caret_session *s = session(L, x);
    int rc;
    if (caret_node_depth(of(at)) == caret_node_depth(of(parent)))
        rc = back ? caret_last(s, of(at)) : caret_first(s, of(at));
    else
        rc = back ? caret_previous(s, of(at)) : caret_next(s, of(at));
    check(L, x, rc);
    if (rc == CARET_NONE)
        return 0;
    push_subscript(L, of(at));
    return 1;
}

static int node_subscripts(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    bool back = lua_toboolean(L, 2);
    lua_settop(L, 1);
    for (int i = 1; i <= 3; i++)
        lua_pushvalue(L, lua_upvalueindex(i));
    lua_pushvalue(L, 1);
    struct serve__script_node *at = push_room(L, CARET_NODE_MAX);
    check(L, scripts_of(L), caret_node_copy(of(at), at->bytes, of(n)));
    lua_pushboolean(L, back);
    lua_pushcclosure(L, step, 6);
    return 1;
}

static int node_cursor(lua_State *L)
{
    push_child(L, check_node(L, 1), 2, true);
    return 1;
}

/* To the child of the same parent by that number, which need not be whole. */
static int move_to_number(lua_State *L, struct serve__script_node *n)
{
    caret_node_buf to;
    lua_Number d = lua_tonumber(L, 2);
    if (lua_type(L, 2) == LUA_TNUMBER && serve__script_is_whole(d))
        return caret_node_set_last_int(of(n), (int64_t)d);
    int rc = caret_node_parent(&to.node, sizeof to, of(n));
    if (rc == CARET_OK)
        rc = make_child(L, &to.node, sizeof to, &to.node, 2);
    return rc == CARET_OK ? caret_node_copy(of(n), n->bytes, &to.node) : rc;
}

/* Change the last subscript of a cursor, which is returned. */
static int node_move(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    size_t len = 0;
    if (!n->cursor)
        fail(L, "ERR only a cursor can be moved: n:cursor(sub)");
    const char *text = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : NULL;
    check(L, scripts_of(L), text != NULL ? caret_node_set_last(of(n), text, len) : move_to_number(L, n));
    lua_settop(L, 1);
    return 1;
}

/* ------------------------------------------------------------ metamethods */

static int meta_index(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    size_t len = 0;
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : "";
    if (len < 2 || name[0] != '_' || name[1] != '_') {
        push_child(L, n, 2, false);
        return 1;
    }
    if (len == 2) {
        lua_pushnil(L);
        return push_value(L, n, 3);
    }
    lua_pushlstring(L, name + 2, len - 2);
    lua_rawget(L, lua_upvalueindex(UP_METHODS));
    if (lua_isnil(L, -1))
        fail(L, "ERR nodes have no such method");
    return 1;
}

static int meta_newindex(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1);
    size_t len = 0;
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : "";
    lua_settop(L, 3);
    if (len != 2 || memcmp(name, "__", 2) != 0)
        n = push_child(L, n, 2, false);
    set(L, n, 3);
    return 0;
}

/* n:name(...) is n.name(n, ...): a call of a child with its parent. */
static int meta_call(lua_State *L)
{
    struct serve__script_node *n = check_node(L, 1), *parent = node_at(L, 2);
    if (parent == NULL)
        return descend(L, n, 2);
    if (caret_node_depth(of(n)) != caret_node_depth(of(parent)) + 1)
        fail(L, "ERR a node is not a subscript, and a method is called as n:name()");
    push_subscript(L, of(n));
    lua_rawget(L, lua_upvalueindex(UP_METHODS));
    if (lua_isnil(L, -1))
        fail(L, "ERR nodes have no such method");
    lua_replace(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static void put(lua_State *L, int table, const char *name, lua_CFunction f, int methods, int meta)
{
    lua_pushlightuserdata(L, serve__scripts_here(L));
    lua_pushvalue(L, methods);
    lua_pushvalue(L, meta);
    lua_pushcclosure(L, f, 3);
    lua_setfield(L, table, name);
}

void serve__script_push_nodes(lua_State *L)
{
    static const luaL_Reg list[] = {
        {"get", node_get},
        {"set", node_set},
        {"number", node_number},
        {"incr", node_incr},
        {"delete", node_delete},
        {"kill", node_kill},
        {"data", node_data},
        {"exists", node_exists},
        {"cursor", node_cursor},
        {"move", node_move},
        {"subscripts", node_subscripts},
    };
    lua_newtable(L);
    int caret = lua_gettop(L), methods = caret + 1, meta = caret + 2;
    lua_newtable(L);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        put(L, methods, list[i].name, list[i].func, methods, meta);
    put(L, meta, "__index", meta_index, methods, meta);
    put(L, meta, "__newindex", meta_newindex, methods, meta);
    put(L, meta, "__call", meta_call, methods, meta);
    lua_pushboolean(L, 0);
    lua_setfield(L, meta, "__metatable");
    put(L, caret, "node", new_node, methods, meta);
    serve__quick_nodes(L, serve__scripts_here(L), methods, meta);
    lua_settop(L, caret);
}
