/*
 * pick.h - elements of a collection by chance: HRANDFIELD, SRANDMEMBER, SPOP, ZRANDMEMBER.
 *
 * Each element is equally likely, and so is each choice of n of them.  Few of many are looked up one by one
 * (caret_random_child); many, or those of a small collection, by one walk.  Within MULTI and scripts it is
 * always a walk, as a transaction that has changed something can't look into the middle.
 */
#ifndef CARET_SERVER_PICK_H
#define CARET_SERVER_PICK_H

#include "server/keys/field.h"

/* Is told each element that was chosen; may read, but not change anything, nor use q->r->scratch or q->r->work.
 * The texts live until its next call with the session. */
typedef int serve__picked(struct serve__call *q, void *arg, caret_slice name, caret_slice value);

/* n different elements of a key, n < k->count, in no promised order. */
int serve__pick_some(struct serve__call *q, const struct serve__key *k, uint64_t n, serve__picked *each,
                     void *arg);

/* n times any element, so that one may come several times.  The key has at least one.  More than 512 MiB: it is
 * answered that the number is out of range. */
int serve__pick_any(struct serve__call *q, const struct serve__key *k, uint64_t n, serve__picked *each,
                    void *arg);

/* All elements of a key. */
int serve__pick_all(struct serve__call *q, const struct serve__key *k, serve__picked *each, void *arg);

#endif
