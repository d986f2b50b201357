/*
 * host.h - the Lua module caret.host: what commands need of the system and Lua lacks.
 */
#ifndef CARET_TOOLS_HOST_H
#define CARET_TOOLS_HOST_H

#include <lua.h>
#include <signal.h>

/* The signal that came since a command said that it catches them, 0 = none (SIGINT, SIGTERM, SIGHUP). */
extern volatile sig_atomic_t caret__interrupted;

/* Wait until fd (-1: none) can be read, or so many seconds (below 0: for ever), or until such a signal comes.
 * 1: it can be read. */
int caret__host_wait(int fd, double seconds);

/* For package.preload. */
int caret__open_host(lua_State *L);

#endif
