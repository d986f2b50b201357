/*
 * map.h - `map-prefix user: ^user :`: keys of database 0 that are nodes of a program's global.
 *
 *     SET user:7:name Bob      ^user(7,"name")="Bob"
 *
 * What comes after the prefix is split at the separator, and each part is a subscript; the key `user:` is ^user("").
 * A name that can't be one (over SERVE__NAME_MAX bytes, too many subscripts) is not mapped.
 *
 *   M1  Only strings are mapped: a node's value is one.  A key of another type is below ^redis, as all keys are, by its
 *       whole name; so is a string that was there before its prefix was mapped, until it is set again.
 *   M2  A name has at most one of both: a string is set at its node after what ^redis has by that name is deleted, and
 *       a key of another type is made after the value of the node is.  The node is looked at first.
 *   M3  What is below the node of a key is other keys: they stay when it is deleted, renamed or set.
 *   M4  A node whose name would be another key's (a subscript has the separator in it) is not one.
 *
 * The table is made before the first fork, from the lines and options in their order: the first that fits counts.
 */
#ifndef CARET_SERVER_MAP_H
#define CARET_SERVER_MAP_H

#include "server/keys/key.h"

/* A line `map-prefix PREFIX ^GLOBAL SEPARATOR`: NULL, or what is wrong. */
const char *serve__map_add(caret_slice prefix, caret_slice global, caret_slice separator);

extern int serve__maps; /* how many there are */

/* The node of a name of the database q->db; false: it is not mapped. */
bool serve__mapped_node_slow(const struct serve__call *q, caret_node_buf *n, caret_slice name);
static inline bool serve__mapped_node(const struct serve__call *q, caret_node_buf *n, caret_slice name)
{
    return serve__maps > 0 && serve__mapped_node_slow(q, n, name);
}
static inline bool serve__is_mapped(const struct serve__call *q, caret_slice name)
{
    caret_node_buf n;
    return serve__maps > 0 && serve__mapped_node_slow(q, &n, name);
}

/* Which of them a name has the prefix of; -1: none. */
int serve__map_index(caret_slice name);

/* The top node of the i-th. */
void serve__map_base(int i, caret_node_buf *n);

/* Go on to the next node of the i-th that is a key, from its top or from a node below it: the value, and the name in
 * `text`, of SERVE__NAME_MAX bytes. */
int serve__map_next(struct serve__call *q, int i, caret_node_buf *n, char *text, size_t *len,
                    caret_slice *value);

/* A key by chance of one of them: its name.  CARET_NONE: none was found. */
int serve__map_random(struct serve__call *q, char *text, size_t *len);

#endif
