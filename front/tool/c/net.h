/*
 * net.h - the Lua module caret.net: connections to servers, and which sockets a process has.
 */
#ifndef CARET_TOOLS_NET_H
#define CARET_TOOLS_NET_H

#include <lua.h>

/* For package.preload. */
int caret__open_net(lua_State *L);

#endif
