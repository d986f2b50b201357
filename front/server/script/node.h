/*
 * node.h - a node of a script, a userdata of Lua: node.c, quick_node.c.
 */
#ifndef CARET_SERVER_SCRIPT_NODE_H
#define CARET_SERVER_SCRIPT_NODE_H

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

#endif
