/*
 * memory.h - large blocks that the virtual machine freed are kept for what it wants next.
 */
#ifndef CARET_MUMPS_MEMORY_H
#define CARET_MUMPS_MEMORY_H

#include <lua.h>

#define CARET_MUMPS__STEPS 1000 /* LUA_GCSETSTEPMUL, while few texts are long */

/* From now on.  Without memory for it nothing changes. */
void caret_mumps__memory_keep(lua_State *L);

/* Gives back what is kept, and ends keeping: before lua_close(). */
void caret_mumps__memory_end(lua_State *L);

#endif
