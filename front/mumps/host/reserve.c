/*
 * reserve.c - what is left when the system has no more memory for the virtual machine.
 *
 * LuaJIT can't be refused a block in each place.  Its interpreter makes an error of it, "not enough memory", which is
 * M's MEMORY.  Machine code may not be refused one: LuaJIT of 2022 unwinds from a place of its stack which machine code
 * has not kept up to date.  Registering machine code and restoring what a trace has left are no better.  So:
 *
 *     1. Three parts of address space, which nobody touches, are set aside at the start.
 *     2. When a block is refused, the first part is given back and the block is asked for again.
 *     3. Then the interpreter is wanted: a step of collection is due, which machine code leaves for, and compiled loops
 *        look at `raised`.  At the interpreter's first instruction on_instruction() has all machine code thrown away,
 *        for good: from now on a refusal is an error.
 *     4. Before the next line of M all garbage is collected.  If the parts can't be set aside again after it, that line
 *        is the error MEMORY (runtime/memory.lua).  Its trap has the second part.  When that is gone, too, the next
 *        refusal is an error of Lua's, for which there is the third.
 *
 * A block larger than a part could be refused to machine code all the same.  Such blocks grow by doubling, so what asks
 * for one is looked at before: with less than EIGHTFOLD room beside it, step 3 is taken at once.
 *
 * Where there is no room for that from the start, nothing is compiled to machine code.  What it would be kept in is one
 * area, taken at the start (vm.c).  All of this belongs to the thread that the virtual machine has at that time.
 */
#include "mumps/host/reserve.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <luajit.h>

#include "mumps/host/hook.h"
#include "mumps/host/memory.h"

#define MIB          ((size_t)1 << 20)
#define LOOKED_AT    MIB       /* from that size on blocks are looked at */
#define EIGHTFOLD(n) (8 * (n)) /* a table that doubles its size twice, and what else comes meanwhile */
#define BESIDE       (64 * MIB)
#define LEAST        (192 * MIB) /* room at the start for machine code to be worth it */
#define PARTS        3

static struct {
    lua_State *L;
    void *part[PARTS];
    size_t size[PARTS];
    size_t refused;
    volatile int *raised; /* of interrupt.lua, or NULL */
    bool compiles;        /* machine code is made */
    unsigned pushes;      /* blocks since it was wanted that the interpreter runs */
    bool told;            /* memory is short: the next line of M is to know */
    lua_Hook hook;        /* that was set before */
    int mask, count;
} reserve;

bool caret_mumps__reserve_wanted;

static char at_line; /* its address is the key of Lua's function in the registry */

/* ------------------------------------------------------------------------- room */

static size_t mapped(void)
{
    char text[64];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return (size_t)strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Bytes of address space that this process may take yet; SIZE_MAX: nothing limits them. */
static size_t room(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t used = mapped();
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

/* Where the limit is one of data, LuaJIT can't make its code writable once it is reached, and ends the process. */
static bool may_compile(void)
{
    struct rlimit limit;

    return room() >= LEAST && getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

bool caret_mumps__reserve_regain(void)
{
    bool all = true;

    for (int i = PARTS - 1; i >= 0; i--)
        if (reserve.part[i] == NULL) {
            void *p = mmap(NULL, reserve.size[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            reserve.part[i] = p != MAP_FAILED ? p : NULL;
            all = all && p != MAP_FAILED;
        }
    return all;
}

static void give_back(int i)
{
    if (reserve.part[i] != NULL)
        munmap(reserve.part[i], reserve.size[i]);
    reserve.part[i] = NULL;
}

bool caret_mumps__reserve_take(lua_State *L)
{
    reserve.L = L;
    reserve.told = caret_mumps__reserve_wanted = false;
    reserve.compiles = may_compile();
    for (int i = 0; i < PARTS; i++)
        reserve.size[i] = !reserve.compiles ? MIB : i == 0 ? 12 * MIB : 4 * MIB;
    caret_mumps__reserve_regain();
    return reserve.compiles;
}

void caret_mumps__reserve_drop(void)
{
    for (int i = 0; i < PARTS; i++)
        give_back(i);
    reserve.L = NULL;
}

/* ------------------------------------------------------- a place to tell of it */

void caret_mumps__reserve_done(void)
{
    if (!reserve.told)
        return;
    reserve.told = false;
    if (reserve.raised != NULL && reserve.raised[1] == CARET_MUMPS__MEMORY)
        reserve.raised[0] = 0;
    if (!caret_mumps__reserve_wanted)
        lua_sethook(reserve.L, reserve.hook, reserve.mask, reserve.count);
}

static void on_line(lua_State *L, lua_Debug *ar)
{
    if (!caret_mumps__hook_ask(L, ar, &at_line, CARET_MUMPS__MEMORY))
        return;
    caret_mumps__reserve_done();
    lua_call(L, 0, 0);
}

/* The interpreter runs: what was compiled goes, and nothing more is. */
static void on_instruction(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    caret_mumps__reserve_wanted = false;
    lua_gc(L, LUA_GCSETSTEPMUL, CARET_MUMPS__STEPS);
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH);
    if (reserve.told)
        lua_sethook(L, on_line, LUA_MASKLINE, 0);
    else
        lua_sethook(L, reserve.hook, reserve.mask, reserve.count);
}

/* Machine code leaves for the end of marking: the next step of collection goes so far.  If it was sweeping, the one
 * after it does.  Each is work for all of memory, so that it is not done for each block. */
void caret_mumps__reserve_push(void)
{
    unsigned n = ++reserve.pushes;

    if ((n & (n - 1)) == 0) {
        lua_gc(reserve.L, LUA_GCSETSTEPMUL, 0);
        lua_gc(reserve.L, LUA_GCRESTART, 0);
    }
}

static void want_interpreter(void)
{
    reserve.compiles = false;
    reserve.pushes = 0;
    caret_mumps__reserve_wanted = true;
    caret_mumps__reserve_push();
    lua_sethook(reserve.L, on_instruction, LUA_MASKCOUNT, 1);
}

static void tell(void)
{
    if (!reserve.told) {
        reserve.told = true;
        lua_Hook before = lua_gethook(reserve.L);
        if (before != on_line && before != on_instruction) {
            reserve.hook = before;
            reserve.mask = lua_gethookmask(reserve.L);
            reserve.count = lua_gethookcount(reserve.L);
        }
        if (reserve.raised != NULL && reserve.raised[0] == 0) {
            reserve.raised[1] = CARET_MUMPS__MEMORY;
            reserve.raised[0] = 1;
        }
    }
    if (reserve.compiles)
        want_interpreter();
    else if (!caret_mumps__reserve_wanted)
        lua_sethook(reserve.L, on_line, LUA_MASKLINE, 0);
}

void caret_mumps__reserve_look(size_t n)
{
    if (n < LOOKED_AT || !reserve.compiles || reserve.L == NULL)
        return;
    size_t left = room();
    if (left != SIZE_MAX && (left < BESIDE || left - BESIDE < EIGHTFOLD(n)))
        tell();
}

bool caret_mumps__reserve_use(size_t n)
{
    int i = reserve.part[0] != NULL ? 0 : 1;

    reserve.refused = n;
    if (reserve.part[i] == NULL || reserve.L == NULL)
        return false;
    give_back(i);
    tell();
    return true;
}

bool caret_mumps__reserve_first(void)
{
    return reserve.part[1] != NULL;
}

void caret_mumps__reserve_last(void)
{
    give_back(2);
}

void caret_mumps__reserve_tell(int *raised)
{
    reserve.raised = raised;
}

double caret_mumps__reserve_refused(void)
{
    return (double)reserve.refused;
}

bool caret_mumps__reserve_short(void)
{
    return !reserve.compiles;
}

/* reserve(at) */
static int add(lua_State *L)
{
    caret_mumps__hook_keep(L, &at_line, 1);
    return 0;
}

void caret_mumps__reserve_add(lua_State *L)
{
    caret_mumps__hook_offer(L, "reserve", add);
}
