/*
 * binding.h - what the C files of the Lua binding share.
 *
 * The C module is "caret.core" (in caret.so); caret/init.lua makes the module
 * `caret` of it.  Objects:
 *   database  userdata struct ldb, closed by close(), __gc and __close
 *   node      userdata struct lnode with the caret_node inline; needs no __gc.
 *             Its user value (5.1: environment) keeps the database alive: either
 *             the database itself or a table {[0] = database, name = child, ...}
 *             that also remembers children by name.
 * Nodes are recognised by a magic word, not by their metatable, so that
 * subclasses may have metatables of their own.
 */
#ifndef CARET_LUA_BINDING_H
#define CARET_LUA_BINDING_H

#include <lauxlib.h>
#include <lua.h>

#include "caret.h"

#if LUA_VERSION_NUM < 502
#define caret__rawlen        lua_objlen
#define caret__setuser(L, i) lua_setfenv(L, i)
#define caret__getuser(L, i) lua_getfenv(L, i)
#else
#define caret__rawlen        lua_rawlen
#define caret__setuser(L, i) lua_setuservalue(L, i)
#define caret__getuser(L, i) lua_getuservalue(L, i)
#endif

#define CARET__LNODE_MAGIC UINT64_C(0x2e65646f6e2e7463)

struct caret__ldb {
    caret_db *db;
    caret_session *s;
    int closed;
    unsigned txn; /* depth of running transactions */
};

struct caret__lnode {
    uint64_t magic;
    struct caret__ldb *db;
    const void *parent; /* the userdata it was made from; compared, never followed */
    int mutable_;       /* reused by an iterator */
    unsigned cached;    /* children in its cache */
    uint64_t pad;
    caret_node node; /* last: the encoded key follows */
};

/* A node at stack index i, or NULL. */
static inline struct caret__lnode *caret__lnode(lua_State *L, int i)
{
    struct caret__lnode *n = lua_touserdata(L, i);
    if (n == NULL || lua_islightuserdata(L, i) || caret__rawlen(L, i) < sizeof *n ||
        n->magic != CARET__LNODE_MAGIC)
        return NULL;
    return n;
}

/* The node at i with an open database, else an error. */
struct caret__lnode *caret__check_node(lua_State *L, int i);
struct caret__ldb *caret__check_db(lua_State *L, int i);

/* Raise what the C API said: misuse as a message with position, the rest as an error object. */
int caret__raise(lua_State *L, int rc);

/* nil, "NAME: text", "NAME" */
int caret__fail_values(lua_State *L, int rc);

/* Make tmp a child of parent by the Lua value at i (string, number). */
void caret__put_sub(lua_State *L, caret_node_buf *tmp, const caret_node *parent, int i);

/* Push a new node userdata with metatable and user value of the node at stack index `like`. */
struct caret__lnode *caret__push_like(lua_State *L, int like, const caret_node *n, size_t bytes);

/* Push the last subscript (or the name) of n: a canonical integer as an integer. */
void caret__push_last(lua_State *L, const caret_node *n);

/* The text of the value at i: a string, or a number in canonical form. */
const char *caret__value_text(lua_State *L, int i, size_t *len, char buf[64]);

/* A number from canonical text: integer if it is one. */
int caret__push_number(lua_State *L, const char *s, size_t len);

int caret__open_node(lua_State *L); /* adds the node functions to the table on top */
int caret__open_db(lua_State *L);   /* adds the database functions */
int caret__open_iter(lua_State *L); /* adds the iterators */

#endif
