/*
 * cache.c - the quick ways of caret/cache.lua, which has the protocol: reading an entry, and writing one whose key
 * is there already.
 *
 * An entry is a child of the cache's node "v".  Its value is
 *
 *     0   kind of the value, a letter
 *     1   when it expires, ms since 1970, 6 bytes, the highest first
 *     7   its place in the index, the same way
 *     13  the value's text
 *
 * The clock of the day takes 25 to 70 ns to read to the nanosecond, and a quarter of that as of the system's last
 * tick.  The tick is enough to tell that an entry with a second left has not expired, and when one expires that is
 * to live for ten seconds or more: some milliseconds early.
 *
 * What is not done quickly is left alone, and Lua does it in a transaction: CACHE_SLOW.  Both ways are here for
 * every Lua; LuaJIT calls the two with `quick` in their names without a lua_State (ffi.c).
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lua/binding.h"

enum { HEAD = 13, COPIED = 512 };

#define FOREVER ((double)((uint64_t)1 << 47)) /* ms: 4,459 years, for what never expires; as in cache.lua */

#define LATE    1000.0  /* ms that the last tick is not ago, even on a machine that was held; arbitrary */
#define LONG    10000.0 /* ms; arbitrary */

static double read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)(t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000);
}

static double clock_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* As of the last tick. */
static double tick_ms(void)
{
    return read_clock(CLOCK_REALTIME_COARSE);
}

/* now < 0: it is now */
static bool has_expired(double expiry, double now)
{
    if (now < 0 && expiry > tick_ms() + LATE)
        return false;
    return expiry <= (now < 0 ? clock_ms() : now);
}

static double read_time(const unsigned char *p)
{
    uint64_t v = 0;

    for (int i = 0; i < 6; i++)
        v = v << 8 | p[i];
    return (double)v;
}

static void write_time(char *p, double ms)
{
    uint64_t v = (uint64_t)ms;

    for (int i = 5; i >= 0; i--, v >>= 8)
        p[i] = (char)(v & 255);
}

/* The entry of that key as it is stored, expired or not: CARET_OK, CARET_NONE or an error. */
static int look(const struct caret__lnode *entries, caret_node_buf *at, const char *key, size_t len,
                caret_slice *v)
{
    int rc = caret_node_child(&at->node, sizeof *at, &entries->node, key, len);

    return rc == CARET_OK ? caret_get(entries->db->s, &at->node, v) : rc;
}

int caret__cache_quick_get(caret_slice *v, int *kind, const struct caret__lnode *entries, const char *key,
                           size_t len, double now)
{
    caret_node_buf at;

    if (entries->db->barred & CARET__DB_CLOSED)
        return CARET__CACHE_SLOW;
    int rc = look(entries, &at, key, len, v);
    if (rc == CARET_NONE)
        return CARET__CACHE_NONE;
    if (rc != CARET_OK || v->len < HEAD)
        return CARET__CACHE_SLOW;
    const unsigned char *head = (const unsigned char *)v->data;
    if (has_expired(read_time(head + 1), now))
        return CARET__CACHE_NONE;
    *kind = head[0];
    v->data = (const char *)v->data + HEAD;
    v->len -= HEAD;
    return CARET_OK;
}

/* Write the text if the entry is there, as long as before, and its place in the index no later: if that is so when it
 * is read, and the entry is the same when it is written. */
static int replace(const struct caret__lnode *entries, const char *key, size_t len, const char *text,
                   size_t size, double expiry)
{
    caret_session *s = entries->db->s;
    caret_node_buf at;
    caret_slice v;
    char entry[HEAD + COPIED];
    int rc = look(entries, &at, key, len, &v);

    if (rc != CARET_OK || v.len != HEAD + size || read_time((const unsigned char *)v.data + 7) > expiry)
        return CARET__CACHE_SLOW;
    entry[0] = 's';
    write_time(entry + 1, expiry);
    memcpy(entry + 7, (const char *)v.data + 7, 6);
    memcpy(entry + HEAD, text, size);
    caret_session_batch(s, 1);
    rc = caret_put(s, &at.node, entry, HEAD + size, CARET_PUT_SAME, NULL, &v);
    caret_session_batch(s, entries->db->batch);
    return rc == CARET_OK ? CARET_OK : CARET__CACHE_SLOW;
}

int caret__cache_quick_put(const struct caret__lnode *entries, const char *key, size_t len, const char *text,
                           size_t size, double ttl, double now, double due)
{
    if (entries->db->barred != 0 || size > COPIED || caret_txn_level(entries->db->s) != 0)
        return CARET__CACHE_SLOW;
    if (now < 0)
        now = ttl > 0 && ttl < LONG ? clock_ms() : tick_ms();
    if (now >= due || now < due - 1000) /* there is something to sweep; or the clock went back */
        return CARET__CACHE_SLOW;
    return replace(entries, key, len, text, size, now + (ttl > 0 ? ttl : FOREVER));
}

/* cache_get(entries, key, now) -> kind, text; nil: there is none; false: the slow way.  now < 0: this machine's */
static int cache_get(lua_State *L)
{
    const struct caret__lnode *entries = caret__check_node(L, 1);
    size_t len;
    const char *key = luaL_checklstring(L, 2, &len);
    caret_slice v;
    int kind, rc = caret__cache_quick_get(&v, &kind, entries, key, len, luaL_checknumber(L, 3));

    if (rc == CARET_OK && LUA_VERSION_NUM < 503 && v.len > COPIED) /* caret__push_text() */
        rc = CARET__CACHE_SLOW;
    if (rc == CARET__CACHE_SLOW)
        lua_pushboolean(L, 0);
    else if (rc == CARET__CACHE_NONE)
        lua_pushnil(L);
    if (rc != CARET_OK)
        return 1;
    lua_pushinteger(L, kind);
    caret__push_text(L, v);
    return 2;
}

/* cache_put(entries, key, text, ttl in ms, now, due) -> done? */
static int cache_put(lua_State *L)
{
    const struct caret__lnode *entries = caret__check_node(L, 1);
    size_t len, size;
    const char *key = luaL_checklstring(L, 2, &len), *text = luaL_checklstring(L, 3, &size);
    double ttl = luaL_checknumber(L, 4), now = luaL_checknumber(L, 5), due = luaL_checknumber(L, 6);

    lua_pushboolean(L, caret__cache_quick_put(entries, key, len, text, size, ttl, now, due) == CARET_OK);
    return 1;
}

/* now() -> ms since 1970 */
static int cache_now(lua_State *L)
{
    lua_pushnumber(L, clock_ms());
    return 1;
}

void caret__add_cache(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"cache_get", cache_get}, {"cache_put", cache_put}, {"now", cache_now}, {NULL, NULL}};
    caret__functions(L, functions);
}
