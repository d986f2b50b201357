/*
 * engine.h - the engine of whatever loaded caret_m.so, and LuaJIT.
 */
#ifndef CARET_MUMPS_ENGINE_H
#define CARET_MUMPS_ENGINE_H

#include <stdbool.h>

#include "m/machine.h"

/* Take it: before any call of caret.h.  false: a function is missing. */
bool caret_mumps__engine_set(const struct caret_m__entry *api, char why[256]);

/* Open LuaJIT's library: before any call of Lua's functions.  false: it is not there. */
bool caret_mumps__lua_set(char why[256]);

#endif
