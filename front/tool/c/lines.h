/*
 * lines.h - the Lua module caret.lines: lines from a terminal, with history and completion, or from anywhere else.
 */
#ifndef CARET_TOOLS_LINES_H
#define CARET_TOOLS_LINES_H

#include <lua.h>

/* For package.preload.  One state of the process may use it. */
int caret__open_lines(lua_State *L);

#endif
