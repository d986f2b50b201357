/*
 * debug.h - the parts of DEBUG that look at keys.
 */
#ifndef CARET_SERVER_DEBUG_H
#define CARET_SERVER_DEBUG_H

#include "server/call.h"

/* DEBUG DIGEST: 40 digits for all keys; DEBUG DIGEST-VALUE key...: for the value of each; DEBUG OBJECT key. */
int serve__debug_digest(struct serve__call *q);
int serve__debug_values(struct serve__call *q);
int serve__debug_object(struct serve__call *q);

/* DEBUG HTSTATS db, HTSTATS-KEY key, LISTPACK key, QUICKLIST key [0|1], SDSLEN key, STRUCTSIZE. */
int serve__debug_htstats(struct serve__call *q);
int serve__debug_htstats_key(struct serve__call *q);
int serve__debug_listpack(struct serve__call *q);
int serve__debug_quicklist(struct serve__call *q);
int serve__debug_sdslen(struct serve__call *q);
int serve__debug_structsize(struct serve__call *q);
int serve__debug_clients(struct serve__call *q);

/* DEBUG POPULATE count [prefix [size]]; not in a transaction of its own. */
int serve__debug_populate(struct serve__call *q);

#endif
