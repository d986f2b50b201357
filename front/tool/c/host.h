/*
 * host.h - the Lua module caret.host: what commands need of the system and Lua lacks.
 */
#ifndef CARET_TOOLS_HOST_H
#define CARET_TOOLS_HOST_H

#include <lua.h>
#include <signal.h>

/* The signal that came, 0 = none (SIGINT, SIGTERM, SIGHUP).  What takes long in C looks here now and then. */
extern volatile sig_atomic_t caret__interrupted;

/* This signal came, and was not caught but taken by sigwait(2) or the like. */
void caret__host_interrupt(int number);

/* Raise what such a signal is in Lua: host.stopped.  Does not return. */
int caret__host_stop(lua_State *L);

/* End as a program does that does not catch this signal. */
void caret__host_die(int number);

/* Wait until fd (-1: none) can be read, or so many seconds (below 0: for ever), or until such a signal comes.
 * 1: it can be read. */
int caret__host_wait(int fd, double seconds);

/* For package.preload. */
int caret__open_host(lua_State *L);

#endif
