/*
 * measure.h - the Lua module caret.measure: operations timed one by one.
 */
#ifndef CARET_TOOLS_MEASURE_H
#define CARET_TOOLS_MEASURE_H

#include <lua.h>

/* For package.preload. */
int caret__open_measure(lua_State *L);

#endif
