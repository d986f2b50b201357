/*
 * interrupt.c - signals become calls of Lua, between two lines of M.
 *
 * Lua says which signals it wants; only the program caret-m does, so that no library of ours sets a handler.  The
 * handler notes the signal and sets a hook, which LuaJIT allows in a handler; the hook asks Lua, line by line,
 * whether this is a place where M can be interrupted.  Then the hook goes, and what Lua gave is called.  What was
 * compiled to machine code sees the hook when it comes back to the interpreter; its loops look at what the handler
 * notes in two ints of Lua's.  A wait for a device or for time is ended, and looks, too (io/file.c).
 *
 * SIGTERM asks a program to end, as HALT does; a second one, before the first was seen, ends the process.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <lauxlib.h>

#include "mumps/host/hook.h"
#include "mumps/host/vm.h"
#include "mumps/io/io.h"

static struct {
    lua_State *L;
    volatile int *raised; /* Lua's: one came and was not seen yet; its number */
    bool deadly;          /* a second SIGINT ends the process then */
} interrupt;

static char asked; /* its address is the key of Lua's function in the registry */

static void on_line(lua_State *L, lua_Debug *ar)
{
    if (!caret_mumps__hook_ask(L, ar, &asked, interrupt.raised[1]))
        return;
    interrupt.raised[0] = 0;
    lua_sethook(L, NULL, 0, 0);
    lua_call(L, 0, 0);
}

static bool ends_process(int signal_number)
{
    if (interrupt.raised[0] == 0)
        return false;
    return signal_number == SIGINT ? interrupt.deadly
                                   : signal_number == SIGTERM && interrupt.raised[1] == SIGTERM;
}

static void on_signal(int signal_number)
{
    if (ends_process(signal_number)) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    if (interrupt.raised[0] == 0 || interrupt.raised[1] != SIGTERM)
        interrupt.raised[1] = signal_number;
    interrupt.raised[0] = 1;
    lua_sethook(interrupt.L, on_line, LUA_MASKLINE, 0);
    caret_mumps__io_wake();
}

/* interrupts(signal, asked, raised, deadly) -> could it be done?  raised: int[2], which stays where it is; asked: false
 * for what the system does. */
static int interrupts(lua_State *L)
{
    struct sigaction action;

    if (!lua_toboolean(L, 2)) {
        signal((int)luaL_checkinteger(L, 1), SIG_DFL);
        return 0;
    }
    caret_mumps__hook_keep(L, &asked, 2);
    interrupt.raised = (volatile int *)(uintptr_t)lua_topointer(L, 3);
    interrupt.deadly |= lua_toboolean(L, 4);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    interrupt.L = L;
    caret_mumps__io_be_woken();
    lua_pushboolean(L, sigaction((int)luaL_checkinteger(L, 1), &action, NULL) == 0);
    return 1;
}

void caret_mumps__add_interrupts(lua_State *L)
{
    caret_mumps__hook_offer(L, "interrupts", interrupts);
}
