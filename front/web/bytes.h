/*
 * bytes.h - functions of the module caret.http that work on bytes alone.
 */
#ifndef CARET_WEB_BYTES_H
#define CARET_WEB_BYTES_H

#include <lua.h>

int caret__http_random(lua_State *L);   /* random(n) -> 2n hex digits of n random bytes */
int caret__http_same(lua_State *L);     /* same(a, b): in a time that tells nothing of where they differ */
int caret__http_tag(lua_State *L);      /* tag(text) -> a name for exactly these bytes */
int caret__http_base64(lua_State *L);   /* base64(bytes) -> text */
int caret__http_unbase64(lua_State *L); /* unbase64(text) -> bytes | nil: it is not base64 */

#endif
