/*
 * quick.h - redis.call() by LuaJIT's FFI, and KEYS and ARGV likewise: script.h.
 *
 * A call of a C function by the interface of Lua ends what LuaJIT compiles; a call by its FFI is compiled as any
 * other instruction.  So quick.lua puts the arguments of the usual commands in the struct below, calls `run`, and
 * makes a Lua value of the answer that stands there afterwards.
 *   What is called so must not use the Lua state, nor raise an error: whatever needs that returns QUICK_SLOW before
 * anything was done, and the call is made anew in the old way (api.c).  So are all calls that are not in the list of
 * commands in quick.c, none of which answers a table; of RESP3; of a user with an ACL; while there are monitors; and
 * of a script that is to end or to begin again.
 *   Methods of nodes (node.c) are called likewise.
 *   Texts that Lua gives by pointer are on its stack until the call returns, and nothing is collected in it.  Texts of
 * answers are copies, good until the next call.
 *   Scripts can't reach the FFI: quick.lua has it in local variables, which only `debug` would show.
 */
#ifndef CARET_SERVER_SCRIPT_QUICK_H
#define CARET_SERVER_SCRIPT_QUICK_H

#include <lua.h>

#include "server/call.h"

enum { QUICK_SLOW, QUICK_TEXT, QUICK_INTEGER, QUICK_NULL, QUICK_STATUS, QUICK_ERROR };
enum { SERVE__QUICK_ARGS = 4, SERVE__QUICK_NUMBER = -1, SERVE__DRIVER_ARGS = 16, SERVE__DRIVER_RUNS = 8 };
enum { SERVE__DRIVER_CALM = 16, SERVE__DRIVER_WANTED_MOST = 1 << 20 };

struct serve__scripts;

/* quick.lua declares the part up to `argv` in the same words. */
struct serve__quick {
    int (*run)(void *scripts, int command, int argc);
    int (*node_get)(void *scripts, void *node); /* node.c; a node is a userdata of Lua */
    int (*node_number)(void *scripts, void *node);
    int (*node_set)(void *scripts, void *node, const char *value, int len);
    int (*node_set_number)(void *scripts, void *node, double value);
    int (*node_incr)(void *scripts, void *node, double by);
    int (*node_data)(void *scripts, void *node);
    int (*node_move)(void *node, double sub);
    /* row.c: answer, and go on; 0: the row ends */
    int (*row_text)(void *scripts, const char *text, int len);
    int (*row_number)(void *scripts, double number);
    int (*row_null)(void *scripts, int is_false);
    void *scripts;
    const char *text[SERVE__QUICK_ARGS];
    double number[SERVE__QUICK_ARGS];
    int32_t len[SERVE__QUICK_ARGS]; /* SERVE__QUICK_NUMBER: it is number[i] */
    int32_t answer_len;
    double answer_number;
    const char *answer;
    const caret_slice *argv; /* KEYS and ARGV of the run */

    int kind; /* of the answer */
    struct serve__buffer room;
    struct serve__reply reply;
    struct serve__call call; /* of the commands of the run */
    int make_driver, nodes;  /* references; LUA_NOREF: there is no FFI */
};

/* Functions that set KEYS and ARGV and call the script, all in Lua; made once the script has run some times with so
 * many of them. */
struct serve__driver {
    int ref; /* LUA_NOREF: not yet */
    int row; /* the same for the requests of a row (row.c) */
    int runs, keys, args;
    unsigned calm, wanted; /* runs in a row that read once at most; and how many are wanted to run it alone */
};

/* Have redis.call and redis.pcall of the table on top of the stack call by FFI, if there is one.  May raise an
 * error. */
void serve__quick_none(struct serve__scripts *x); /* for a state without it */
void serve__quick_open(lua_State *L, struct serve__scripts *x);

/* The same of the table of methods and the metatable of nodes. */
void serve__quick_nodes(lua_State *L, struct serve__scripts *x, int methods, int meta);

/* A run begins. */
void serve__quick_begin(struct serve__scripts *x);

/* Make the driver of a script, which has so many keys and arguments in this run.  May raise an error. */
void serve__quick_driver(lua_State *L, struct serve__scripts *x, struct serve__driver *d, int function,
                         int keys, int args);

/* Free its functions; there is none then. */
void serve__driver_free(lua_State *L, struct serve__driver *d);

#endif
