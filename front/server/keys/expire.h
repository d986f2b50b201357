/*
 * expire.h - keys that end at a time.
 *
 * Each has an entry ^redisX(ms,db,subscript of the key), ordered by time, beside the expiry in its header.
 * The worker looks at the first entry at the start of each turn, and deletes what is due before any command
 * of the turn is run, some hundred keys a turn; what is left over is seen as expired by whoever opens it
 * (key.h).  The header decides: an entry whose key is gone, or has another expiry now, is only removed.
 */
#ifndef CARET_SERVER_EXPIRE_H
#define CARET_SERVER_EXPIRE_H

#include "server/keys/key.h"

/* k gets another expiry, 0: none: its entry is moved.  The header is the caller's to write. */
int serve__expiry_change(struct serve__call *q, struct serve__key *k, int64_t expiry);

/* Add the entry of a key, which has an expiry in its header. */
int serve__expiry_add(struct serve__call *q, struct serve__key *k);

/* A key was found expired, and is deleted in this transaction: count and tell it. */
void serve__expired(struct serve__call *q, caret_slice name);

/* Delete what is due.  Milliseconds until the next is, at most `most`. */
int serve__expire_sweep(struct serve__runner *r, int64_t now, int most);

/* Delete all that is due, in the transaction of q. */
int serve__expire_due(struct serve__call *q);

#endif
