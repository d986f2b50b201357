/*
 * programs.h - the Lua module caret.programs: other programs, started and stopped.
 */
#ifndef CARET_TOOLS_PROGRAMS_H
#define CARET_TOOLS_PROGRAMS_H

#include <lua.h>

/* For package.preload. */
int caret__open_programs(lua_State *L);

#endif
