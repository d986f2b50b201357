/*
 * reserve.h - what is left when the system has no more memory for the virtual machine.
 */
#ifndef CARET_MUMPS_RESERVE_H
#define CARET_MUMPS_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

#define CARET_MUMPS__MEMORY (-1) /* in raised[1] (interrupt.lua), where signals have their numbers */

/* Is the interpreter to run?  Whoever allocates says so then, by caret_mumps__reserve_push(). */
extern bool caret_mumps__reserve_wanted;
void caret_mumps__reserve_push(void);

/* Set it aside, for the one virtual machine.  False: there is so little that nothing may be machine code. */
bool caret_mumps__reserve_take(lua_State *L);

/* A block of that size is about to be asked for: if there is little left beside it, machine code ends in time. */
void caret_mumps__reserve_look(size_t n);

/* The system has refused a block of that size.  True: a part of the reserve was given back, try again. */
bool caret_mumps__reserve_use(size_t n);

/* The virtual machine goes. */
void caret_mumps__reserve_drop(void);

/* Gives Lua reserve(at): at(CARET_MUMPS__MEMORY, source, line) is called before a line of M once memory is short.  It
 * returns a function to be called then, or nil: not here. */
void caret_mumps__reserve_add(lua_State *L);

/* For Lua.  What loops of M look at: int[2], which stays where it is (host/interrupt.c). */
void caret_mumps__reserve_tell(int *raised);

/* Set aside again what was given back: is all of it there? */
bool caret_mumps__reserve_regain(void);

/* Is the part for a trap there yet? */
bool caret_mumps__reserve_first(void);

/* Give back the last part, for an error of Lua's. */
void caret_mumps__reserve_last(void);

/* Memory was told to be short, or need not be. */
void caret_mumps__reserve_done(void);

/* How many bytes were refused last. */
double caret_mumps__reserve_refused(void);

/* Did machine code end because memory is short? */
bool caret_mumps__reserve_short(void);

#endif
