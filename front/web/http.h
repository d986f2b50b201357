/*
 * http.h - the Lua module caret.http: a small HTTP server for one program's own page.
 */
#ifndef CARET_WEB_HTTP_H
#define CARET_WEB_HTTP_H

#include <lua.h>

/* For package.preload. */
int caret__open_http(lua_State *L);

#endif
