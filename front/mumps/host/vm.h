/*
 * vm.h - the virtual machine that M runs in: a LuaJIT with this front's modules inside.
 */
#ifndef CARET_MUMPS_VM_H
#define CARET_MUMPS_VM_H

#include <lua.h>

/* A new one.  NULL: there is no memory. */
lua_State *caret_mumps__vm(void);

void caret_mumps__vm_close(lua_State *L);

#define CARET_MUMPS__BROKEN 70 /* exit status after an error of this front itself: EX_SOFTWARE */

/* Calls main(arguments...) of a module: an exit status.  A Lua error is written to stderr: CARET_MUMPS__BROKEN. */
int caret_mumps__main(lua_State *L, const char *module, int argc, char **argv);

/* Gives Lua interrupts(signal, asked), which has signals become calls: only caret-m does (interrupt.c). */
void caret_mumps__add_interrupts(lua_State *L);

#endif
