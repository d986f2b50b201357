/*
 * set.h - sets: a member is a node with an empty value below that of the key (field.h).
 *
 * SERVE__HEAD_LARGE is set when Redis would turn an array of integers into a table: with the first member that is not
 * an integer, and with more members than set-max-intset-entries.
 */
#ifndef CARET_SERVER_SET_H
#define CARET_SERVER_SET_H

#include "server/keys/field.h"

/* Add a member to a set that is being changed; *fresh: it was not there.  The caller saves the key. */
int serve__set_put(struct serve__call *q, struct serve__key *k, caret_slice member, bool *fresh);

/* Would a set with `count` members, of which this is one, be a table? */
bool serve__set_is_large(const struct serve__call *q, caret_slice member, uint64_t count);

#endif
