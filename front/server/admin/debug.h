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

/* DEBUG POPULATE count [prefix [size]]; not in a transaction of its own. */
int serve__debug_populate(struct serve__call *q);

#endif
