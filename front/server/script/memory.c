/*
 * memory.c - how much memory a Lua state may take, and when it gives some back: script.h.
 */
#include "server/script/script.h"

enum { LEAST = 16 << 20, LARGE = 128 << 20 };

/* The allocator of a state: that which it came with, as long as it does not want too much. */
static void *within(void *ud, void *p, size_t old, size_t wanted)
{
    struct serve__script_memory *m = ud;
    if (wanted > old &&
        (wanted - old > SERVE__SCRIPT_MEMORY || m->bytes + (wanted - old) > SERVE__SCRIPT_MEMORY))
        return NULL;
    void *got = m->behind(m->behind_ud, p, old, wanted);
    if (got != NULL || wanted == 0)
        m->bytes += wanted - old;
    if (m->bytes > m->peak)
        m->peak = m->bytes;
    return got;
}

void serve__script_bound(lua_State *L, struct serve__script_memory *m)
{
    *m = (struct serve__script_memory){.next = LEAST};
    m->bytes = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024;
    m->behind = lua_getallocf(L, &m->behind_ud);
    lua_setallocf(L, within, m);
}

void serve__script_close(lua_State *L, const struct serve__script_memory *m)
{
    if (m->behind != NULL)
        lua_setallocf(L, m->behind, m->behind_ud); /* LuaJIT gives its memory back as a whole */
    lua_close(L);
}

/* What is left is not looked at again before there is several times as much, or half of what may be.  A state that had
 * much more has holes everywhere, which are given back with it. */
void serve__script_collect(lua_State *L, struct serve__script_memory *m)
{
    if (m->bytes > m->next) {
        lua_gc(L, LUA_GCCOLLECT, 0);
        for (int i = 0; i < 3 && m->bytes > LARGE; i++)
            lua_gc(L, LUA_GCCOLLECT, 0); /* each time LuaJIT halves the buffer of table.concat */
        size_t most = m->bytes + (SERVE__SCRIPT_MEMORY - m->bytes) / 2, next = 4 * m->bytes;
        m->next = next < LEAST ? LEAST : next < most ? next : most;
    }
    m->worn = m->peak > LARGE && m->peak / 2 > m->bytes;
}
