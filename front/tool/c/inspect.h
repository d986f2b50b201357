/*
 * inspect.h - the Lua module caret.inspect: what is going on in a database.
 */
#ifndef CARET_TOOLS_INSPECT_H
#define CARET_TOOLS_INSPECT_H

#include <lua.h>

/* For package.preload. */
int caret__open_inspect(lua_State *L);

#endif
