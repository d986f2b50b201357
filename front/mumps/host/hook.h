/*
 * hook.h - asking Lua at lines of M: what signals (interrupt.c) and memory that is short (reserve.c) have in common.
 *
 * All of this belongs to the thread that runs the virtual machine.
 */
#ifndef CARET_MUMPS_HOOK_H
#define CARET_MUMPS_HOOK_H

#include <stdbool.h>

#include <lua.h>

/* Gives Lua f as debug.getregistry()["caret.mumps"][name]. */
void caret_mumps__hook_offer(lua_State *L, const char *name, lua_CFunction f);

/* The argument `index`, a function asked(number, source, line), is what is asked under that key: any address. */
void caret_mumps__hook_keep(lua_State *L, void *key, int index);

/* In a hook of lines: if the line is one of M, asks.  True: it has a function to be called, which is on the stack now;
 * false: not here. */
bool caret_mumps__hook_ask(lua_State *L, lua_Debug *ar, void *key, int number);

#endif
