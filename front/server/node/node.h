/*
 * node.h - commands of nodes: CARET.GET and its kin.
 *
 * A node is named by arguments: the name of its global, which begins with ^, and a subscript each.  What else a
 * command is told stands before the name, as words that don't begin with ^, or is its last argument:
 *
 *     CARET.SET ^oaks 1 shadow 15        CARET.SCAN COUNT 10 AFTER 7 ^oaks
 *
 * They are the same nodes that programs see which have the database open, in one transaction with all that the
 * client does in MULTI or in a script.  As with what such programs write, nobody is told of what they change
 * below ^redis.  The server's own globals (^redisB, ^redisX ...) can be read, but not changed.
 *
 * Rights: the key is the name of the global, so the pattern ~^oaks allows all nodes of ^oaks, %R~^oaks reading
 * them.  Patterns say nothing of subscripts, as most commands are about all that is below a node.
 */
#ifndef CARET_SERVER_NODE_H
#define CARET_SERVER_NODE_H

#include "server/call.h"

/* Make n the node of the arguments from `first` up to `end`.  To be locked: of no global of the server's own; to be
 * changed: nor that, and the change is counted. */
int serve__node_of(struct serve__call *q, caret_node_buf *n, int first, int end);
int serve__node_to_lock(struct serve__call *q, caret_node_buf *n, int first, int end);
int serve__node_to_change(struct serve__call *q, caret_node_buf *n, int first, int end);

/* The words before the name of a node.  A slice has no data if it was not said. */
struct serve__node_options {
    int name; /* argument of the name: 0 if there is none */
    bool reverse;
    int64_t count; /* -1: not said */
    caret_slice after, from, to, prefix, within;
};
enum { /* which a command knows */
       SERVE__NODE_COUNT = 1,
       SERVE__NODE_PLACE = 2, /* AFTER, FROM, TO, PREFIX, REVERSE */
       SERVE__NODE_WITHIN = 4
};
int serve__node_options(struct serve__call *q, unsigned known, struct serve__node_options *o);

/* Answer the last subscript of n. */
int serve__node_answer_last(struct serve__call *q, const caret_node *n);

/* Is n at `top` or below? */
bool serve__node_below(const caret_node *n, const caret_node *top);

/* A command that may be a part of CARET.TP, by its name with or without "caret."; NULL: it is none. */
const struct serve__command *serve__node_part(const caret_slice *name);

/* The keys of a command whose places depend on other arguments. */
bool serve__node_keys(const struct serve__command *c, const caret_slice *argv, int argc, serve__key_fn *each,
                      void *arg);

#endif
