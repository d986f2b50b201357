/*
 * memory.c - large blocks that the virtual machine freed are kept for what it wants next.
 *
 * LuaJIT's own allocator, which is under this one, maps and unmaps the pages of each text of over 128 KiB, which is two
 * thirds of the time of programs that make such texts.  So the newest few freed blocks of 64 KiB to 2 MiB wait here.
 *
 * Their sizes are rounded up to multiples of 64 KiB.  LuaJIT tells the size of what it frees, which is rounded in the
 * same way: whatever is freed as n bytes has room for all that are rounded to the same.  A machine has one thread at a
 * time.
 */
#include "mumps/host/memory.h"

#include <stdbool.h>
#include <string.h>

#include "mumps/host/reserve.h"

#define UNIT    ((size_t)64 << 10)
#define LARGEST ((size_t)2 << 20) /* larger ones go back at once */
#define LARGE   8                 /* blocks that wait */
#define MORE    ((size_t)8 << 20)

struct kept {
    struct {
        void *block;
        size_t size;
    } waiting[LARGE];
    int next;           /* the one that leaves next */
    size_t used, least; /* bytes of large blocks in use, and how few there were */
    lua_State *L;
    lua_Alloc below;
    void *its;
};

static int is_large(size_t n)
{
    return n >= UNIT && n <= LARGEST;
}

static size_t rounded(size_t n)
{
    return is_large(n) ? (n + UNIT - 1) / UNIT * UNIT : n;
}

/* A step of collection is made for each block that is wanted, however large it is: programs that make long texts would
 * have hundreds of them as garbage before a collection is through.  So while the large blocks have MORE bytes than they
 * had, it goes in great steps.  From twice as many on these are taken for what the program needs. */
static void count(struct kept *m, size_t old, size_t n)
{
    m->used += (is_large(n) ? rounded(n) : 0) - (is_large(old) ? rounded(old) : 0);
    if (m->used < m->least || m->used - m->least > 2 * MORE)
        m->least = m->used;
    if (!caret_mumps__reserve_wanted)
        lua_gc(m->L, LUA_GCSETSTEPMUL,
               m->used - m->least > MORE ? CARET_MUMPS__STEPS * 100 : CARET_MUMPS__STEPS);
}

/* What waits goes back. */
static bool drain(struct kept *m)
{
    bool some = false;

    for (int i = 0; i < LARGE; i++)
        if (m->waiting[i].block != NULL) {
            m->below(m->its, m->waiting[i].block, m->waiting[i].size, 0);
            m->waiting[i].block = NULL;
            m->waiting[i].size = 0;
            some = true;
        }
    return some;
}

/* A block is asked for, in each way that there is to get one (reserve.c). */
static void *ask(struct kept *m, void *block, size_t old, size_t n)
{
    caret_mumps__reserve_look(n);
    void *to = m->below(m->its, block, old, n);
    while (to == NULL && (drain(m) || caret_mumps__reserve_use(n)))
        to = m->below(m->its, block, old, n);
    return to;
}

static void *take(struct kept *m, size_t n)
{
    count(m, 0, n);
    for (int i = 0; i < LARGE; i++)
        if (m->waiting[i].size >= n && m->waiting[i].size / 2 <= n) {
            void *block = m->waiting[i].block;
            m->waiting[i].block = NULL;
            m->waiting[i].size = 0;
            return block;
        }
    return ask(m, NULL, 0, rounded(n));
}

static void give(struct kept *m, void *block, size_t n)
{
    int i = 0;

    count(m, n, 0);
    while (i < LARGE && m->waiting[i].block != NULL)
        i++;
    if (i == LARGE) {
        i = m->next;
        m->next = (i + 1) % LARGE;
        m->below(m->its, m->waiting[i].block, m->waiting[i].size, 0);
    }
    m->waiting[i].block = block;
    m->waiting[i].size = rounded(n);
}

/* The machine's buffer becomes smaller at each collection, and as large as before soon after. */
static void *resize(struct kept *m, void *block, size_t old, size_t n)
{
    void *to = is_large(old) && n < old && n >= UNIT ? block : ask(m, block, old, rounded(n));

    if (to != NULL)
        count(m, old, n);
    return to;
}

/* lua_Alloc */
static void *allocate(void *of, void *block, size_t old, size_t n)
{
    struct kept *m = of;

    if (caret_mumps__reserve_wanted)
        caret_mumps__reserve_push();
    if (n == 0 && !is_large(old))
        return m->below(m->its, block, old, n);
    if (old < UNIT && n < UNIT)
        return ask(m, block, old, n);
    if (block != NULL && n != 0)
        return resize(m, block, old, n);
    if (block == NULL && is_large(n))
        return take(m, n);
    if (block == NULL)
        return ask(m, block, old, n);
    give(m, block, old);
    return NULL;
}

void caret_mumps__memory_keep(lua_State *L)
{
    void *its;
    lua_Alloc below = lua_getallocf(L, &its);
    struct kept *m = below(its, NULL, 0, sizeof *m);

    if (m == NULL)
        return;
    memset(m, 0, sizeof *m);
    m->L = L;
    m->below = below;
    m->its = its;
    lua_setallocf(L, allocate, m);
}

void caret_mumps__memory_end(lua_State *L)
{
    void *ud;

    if (lua_getallocf(L, &ud) != allocate)
        return;
    struct kept *m = ud;
    lua_setallocf(L, m->below, m->its);
    drain(m);
    m->below(m->its, m, sizeof *m, 0);
}
