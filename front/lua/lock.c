/*
 * lock.c - locks on names: grab, release, lock.
 *
 * What a program is meant to handle (timeout, deadlock, too many locks) is returned, not raised.
 */
#include <stdatomic.h>

#include "lua/binding.h"
#include "lua/interrupt.h"

#define LOCKS_MAX 64 /* of one call: the limit of caret_lock_all() */

/*
 * The session that may sleep for a lock now, in the thread that asked last; and whether it was interrupted.  A session
 * is here only while its function is called, so that it is there as long; a wait that ended by itself just then
 * leaves the interrupt to be taken back before the next one.
 */
static _Atomic(caret_session *) sleeper;
static _Atomic int interrupted;

/* Of the database on a server that was opened last: it may sleep in any of its calls. */
static _Atomic(caret_session *) remote;

void caret__opened_remote(caret_session *s)
{
    atomic_store_explicit(&remote, s, memory_order_relaxed);
}

void caret__closes(caret_session *s)
{
    atomic_compare_exchange_strong_explicit(&remote, &s, NULL, memory_order_relaxed, memory_order_relaxed);
}

void caret__lua_interrupt(void)
{
    caret_session *s = atomic_load_explicit(&sleeper, memory_order_relaxed);

    caret__lua_interrupt_m();
    if (s == NULL)
        s = atomic_load_explicit(&remote, memory_order_relaxed);
    if (s == NULL)
        return;
    atomic_store_explicit(&interrupted, 1, memory_order_relaxed);
    caret_interrupt(s);
}

static caret_session *may_sleep(caret_session *s)
{
    caret_node_buf any;

    if (atomic_exchange_explicit(&interrupted, 0, memory_order_relaxed) != 0 &&
        caret_node_var(&any.node, sizeof any, "^a", 2) == CARET_OK)
        (void)caret_wait(s, &any.node, CARET_LOG_END, 1); /* 0 would take nothing back */
    atomic_store_explicit(&sleeper, s, memory_order_relaxed);
    return s;
}

static int slept(lua_State *L, struct caret__ldb *d, int rc)
{
    atomic_store_explicit(&sleeper, NULL, memory_order_relaxed);
    return rc == CARET_E_LIMIT && !d->translated ? caret__fail_values(L, rc) : caret__results(L, d, rc);
}

uint64_t caret__timeout(lua_State *L, int i)
{
    if (lua_isnoneornil(L, i))
        return CARET_FOREVER;
    if (lua_type(L, i) != LUA_TNUMBER) {
        caret__misuse(L, "a timeout is a number of seconds, not a %s", caret__typename(L, i));
        return 0;
    }
    lua_Number t = lua_tonumber(L, i);
    if (t != t) {
        caret__misuse(L, "a timeout is a number of seconds, not NaN");
        return 0;
    }
    if (t <= 0)
        return 0;
    return t > 1e9 ? CARET_FOREVER : (uint64_t)(t * 1e9);
}

int caret__node_grab(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    uint64_t timeout = caret__timeout(L, 2);
    caret__check_locks(L, n->db);
    caret__locks_may_take(L, n->db, &n->node);
    const caret_node *one = &n->node;
    int rc = caret_lock(may_sleep(n->db->s), one, timeout);
    return slept(L, n->db, caret__locks_taken(n->db, rc, &one, 1));
}

int caret__node_release(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    caret__check_locks(L, n->db);
    int rc = caret_unlock(n->db->s, &n->node);
    return rc != CARET_OK ? caret__raise(L, n->db, rc) : 0;
}

/* Release all, take this one. */
int caret__node_lock(lua_State *L)
{
    struct caret__lnode *n = caret__check_node(L, 1);
    const caret_node *one = &n->node;
    uint64_t timeout = caret__timeout(L, 2);
    caret__check_locks(L, n->db);
    return slept(L, n->db, caret_lock_all(may_sleep(n->db->s), &one, 1, timeout));
}

/* Room for the addresses that tables say, kept in the registry: LOCKS_MAX of them. */
static caret_node_buf *scratch(lua_State *L)
{
    static char key;

    lua_pushlightuserdata(L, &key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        caret__newuserdata(L, LOCKS_MAX * sizeof(caret_node_buf));
        lua_pushlightuserdata(L, &key);
        lua_pushvalue(L, -2);
        lua_rawset(L, LUA_REGISTRYINDEX);
    }
    caret_node_buf *room = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return room;
}

/* The address that the table on top says, {name or node, subscript, ...}, made in *room. */
static const caret_node *listed(lua_State *L, struct caret__ldb *d, caret_node_buf *room)
{
    int list = lua_gettop(L), count = (int)caret__rawlen(L, list);

    luaL_checkstack(L, count, "too many subscripts");
    for (int i = 1; i <= count; i++)
        lua_rawgeti(L, list, i);
    if (!caret__address_here(L, d, room, list + 1, list + count))
        caret__raise_m(L, CARET_M__E_KEY2BIG, "the name of a lock is too long");
    lua_settop(L, list);
    return &room->node;
}

static const caret_node *item(lua_State *L, struct caret__ldb *d, caret_node_buf *room, int i)
{
    const caret_node *node;

    lua_rawgeti(L, 2, i);
    if (caret__is_table(L, -1)) {
        node = listed(L, d, room);
    } else {
        int at = lua_gettop(L);
        if (caret__lnode(L, at) == NULL)
            caret__misuse(L, "item %d of the locks is a node or a table, not a %s", i,
                          caret__typename(L, at));
        struct caret__lnode *n = caret__check_node(L, at);
        if (caret__is_elsewhere(d, n->db))
            caret__misuse(L, "item %d of the locks is a node of another database", i);
        node = &n->node;
    }
    lua_pop(L, 1);
    return node;
}

/* lock(db, {node or {name, subs...}, ...}, timeout): release all, take all of these or none. */
int caret__db_lock(lua_State *L)
{
    const caret_node *nodes[LOCKS_MAX];
    struct caret__ldb *d = caret__check_db(L, 1);
    uint64_t timeout = caret__timeout(L, 3);
    size_t count = 0;

    if (caret__is_table(L, 2))
        count = caret__rawlen(L, 2);
    else if (!lua_isnoneornil(L, 2))
        return caret__misuse(L, "lock takes a list of nodes and tables, not a %s", caret__typename(L, 2));
    if (count > LOCKS_MAX)
        return caret__misuse(L, "%d locks at once; %d are possible", (int)count, LOCKS_MAX);
    if (count == 0 && caret__locks_are_apart(L, d))
        return caret__results(L, d, CARET_OK);
    caret__check_locks(L, d); /* also to release all: a rollback would not take them again */
    caret_node_buf *room = count != 0 ? scratch(L) : NULL;
    for (size_t i = 0; i < count; i++)
        nodes[i] = item(L, d, room + i, (int)i + 1);
    caret__locks_release_all(L, d);
    int rc = caret_lock_all(may_sleep(d->s), nodes, count, timeout);
    return slept(L, d, caret__locks_taken(d, rc, nodes, count));
}
