/*
 * stream.h - an answer that goes on: what is written to it goes to a browser as it comes.
 */
#ifndef CARET_WEB_STREAM_H
#define CARET_WEB_STREAM_H

#include <lua.h>

struct MHD_Connection;
struct MHD_Response;

/* The response for the stream at that index, which is for this connection and no other; NULL: no memory, or it has one
 * already. */
struct MHD_Response *caret__stream_response(lua_State *L, int index, struct MHD_Connection *connection);

/* Is it a stream? */
int caret__stream_is(lua_State *L, int index);

/* Make the class. */
void caret__stream_class(lua_State *L);

/* stream() -> a new one, without a connection yet */
int caret__stream_new(lua_State *L);

/* Streams that sleep, and whose browser has left, are gone.  libmicrohttpd does not look at a connection that is
 * suspended, and what is written to it fails at the second time only. */
void caret__stream_sweep(void);

/* All connections that sleep are woken, and end: before the daemon is stopped. */
void caret__stream_end_all(void);

#endif
