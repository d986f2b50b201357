/*
 * out.h - a growing buffer that belongs to a module: a userdata, the first upvalue of the module's functions.
 *
 * It is emptied at the beginning of a call and keeps its memory, up to CARET_CODEC__OUT_KEPT bytes, for the next one.
 * An error may leave a function at any point; the buffer is the collector's.
 */
#ifndef CARET_SERVER_SCRIPT_OUT_H
#define CARET_SERVER_SCRIPT_OUT_H

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#define CARET_CODEC__OUT_KEPT ((size_t)64 << 10)
#define CARET_CODEC__OUT_MOST ((size_t)512 << 20)

struct caret_codec__out {
    char *bytes;
    size_t len, room;
};

/* Makes one of `size` bytes, of which the first are the struct, the others 0, and leaves it on the stack. */
void *caret_codec__out_new(lua_State *L, size_t size);

/* Pushes a table with these functions, all of which have the value on top of the stack as upvalue; that is popped. */
void caret_codec__module(lua_State *L, const luaL_Reg *functions);

/* The buffer of the running function, empty. */
struct caret_codec__out *caret_codec__out(lua_State *L);

/* Pushes what is in it as a string. */
void caret_codec__out_push(lua_State *L, struct caret_codec__out *out);

/* Makes room for more bytes, or raises an error. */
void caret_codec__out_grow(lua_State *L, struct caret_codec__out *out, size_t more);

static inline char *caret_codec__out_room(lua_State *L, struct caret_codec__out *out, size_t more)
{
    if (more > out->room - out->len)
        caret_codec__out_grow(L, out, more);
    return out->bytes + out->len;
}

static inline void caret_codec__out_put(lua_State *L, struct caret_codec__out *out, const void *bytes,
                                        size_t len)
{
    char *room = caret_codec__out_room(L, out, len);

    if (len > 0)
        memcpy(room, bytes, len);
    out->len += len;
}

static inline void caret_codec__out_byte(lua_State *L, struct caret_codec__out *out, unsigned byte)
{
    *caret_codec__out_room(L, out, 1) = (char)byte;
    out->len++;
}

#endif
