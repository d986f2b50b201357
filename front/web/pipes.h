/*
 * pipes.h - pipes to children, and waiting for many descriptors.
 */
#ifndef CARET_WEB_PIPES_H
#define CARET_WEB_PIPES_H

#include <lua.h>

int caret__http_pipe(lua_State *L);       /* pipe() -> to read from, to write to; not for other programs */
int caret__http_nonblock(lua_State *L);   /* nonblock(fd) */
int caret__http_read(lua_State *L);       /* read(fd) -> bytes | "": the end | nil: nothing yet */
int caret__http_write(lua_State *L);      /* write(fd, text) -> how many bytes it took | nil: nobody reads */
int caret__http_save(lua_State *L);       /* save(path, text) -> done?  For this user alone, all or nothing */
int caret__http_close(lua_State *L);      /* close(fd) */
int caret__http_epoll(lua_State *L);      /* epoll() -> fd */
int caret__http_epoll_add(lua_State *L);  /* epoll_add(epoll, fd) */
int caret__http_epoll_drop(lua_State *L); /* epoll_drop(epoll, fd) */
int caret__http_epoll_list(lua_State *L); /* epoll_list(epoll) -> list of those that can be read */

#endif
