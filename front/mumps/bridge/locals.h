/*
 * locals.h - M's local variables, for the other interfaces of the process.
 */
#ifndef CARET_MUMPS_LOCALS_H
#define CARET_MUMPS_LOCALS_H

#include <lua.h>

#include "caret.h"

/* Runs protected, when the machine is made: the table's functions work in it.  `enter` and `leave` take and give back
 * what guards it. */
void caret_mumps__locals_open(lua_State *L, void (*enter)(void *), void (*leave)(void *));

/* In a child of fork() in which the machine is not whole: from now on the table's functions return CARET_E_EVICTED. */
void caret_mumps__locals_lose(void);

/* The table (caret.h); good as long as the process. */
const caret_locals *caret_mumps__locals(void);

#endif
