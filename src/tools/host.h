/*
 * host.h - the Lua module caret.host: what commands need of the system and Lua lacks.
 */
#ifndef CARET_TOOLS_HOST_H
#define CARET_TOOLS_HOST_H

#include <lua.h>

/* For package.preload. */
int caret__open_host(lua_State *L);

#endif
