/*
 * node.h - a node of a script, a userdata of Lua: node.c, quick_node.c.
 */
#ifndef CARET_SERVER_SCRIPT_NODE_H
#define CARET_SERVER_SCRIPT_NODE_H

#include "server/codec/number.h"
#include "server/script/script.h"

enum { SERVE__SCRIPT_NODE = 0x6e6f6465 };

struct serve__script_node {
    uint32_t magic, bytes; /* of the caret_node that follows */
    uint64_t cursor;       /* 1: it may be moved */
    uint64_t node[];
};

static inline caret_node *serve__script_node(struct serve__script_node *n)
{
    return (caret_node *)n->node;
}

/* Is a number of Lua whole, and well within an int64? */
static inline bool serve__script_is_whole(double d)
{
    return d >= -9e15 && d <= 9e15 && (double)(int64_t)d == d;
}

/* A number of Lua as text; its length. */
static inline size_t serve__script_print(double d, char digits[CARET_CODEC__DOUBLE_ROOM])
{
    return serve__script_is_whole(d) ? caret_codec__print_i64((int64_t)d, digits)
                                     : caret_codec__print_shortest(d, digits);
}

#endif
