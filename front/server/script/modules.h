/*
 * modules.h - the C modules that scripts have, for LuaJIT and Lua 5.1.
 *
 * What they accept, write, answer and complain of is what the modules of Redis 7.0 do, as far as a script can see;
 * which order a table's keys have is the interpreter's. test/run/server_codec.sh compares them.
 *
 * Each function pushes its module, a new table, and returns 1: it can be given to lua_pushcfunction().  A module may
 * be opened in any number of states.  Its functions keep a buffer between calls, so that a call makes no garbage but
 * its results; they raise Lua errors, and lose nothing by that, nor by an error of memory.  A hostile argument costs
 * memory and time in proportion to its size, and at most half a MiB of the C stack.
 */
#ifndef CARET_SERVER_SCRIPT_MODULES_H
#define CARET_SERVER_SCRIPT_MODULES_H

#include <lua.h>

int caret_codec__open_cjson(lua_State *L);
int caret_codec__open_cmsgpack(lua_State *L);
int caret_codec__open_struct(lua_State *L);
int caret_codec__open_bit(lua_State *L); /* LuaJIT has its own, which is faster */
/* But newer ones tell more than 8 digits by it. */
int caret_codec__bit_tohex(lua_State *L);

#endif
