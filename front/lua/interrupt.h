/*
 * interrupt.h - ending a sleep of Lua code from a signal handler.
 */
#ifndef CARET_LUA_INTERRUPT_H
#define CARET_LUA_INTERRUPT_H

/* If this program's Lua code sleeps for a lock (grab, lock), or waits for a server longer than a second, that call
 * raises INTERRUPTED, having changed nothing; so does a call of M that runs, at its next line or turn of a loop, with
 * what it has changed; else nothing happens.  From a signal handler in the thread that runs Lua: it only stores and
 * wakes, as caret_interrupt(). */
void caret__lua_interrupt(void);

/* Its part for M. */
void caret__lua_interrupt_m(void);

#endif
