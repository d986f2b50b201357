/*
 * watch.h - WATCH: was a key changed since?
 *
 * WATCH notes the place of the log (`committed`) and whether the key is there.  EXEC, in its transaction,
 *
 *   1. reads all that is below the key, so that a change from now on restarts the transaction
 *   2. if anything at all was committed since that place, reads the log from there: is there a change of the
 *      key, below it, or a kill above it?
 *
 * so no writer has to tell anything, and programs that have the database open themselves are seen as clients
 * are.  A log that was overwritten meanwhile (64 MiB later) counts as a change.
 *   A key that was not there, or was expired, when it was watched is changed by sets only: what ends the rest
 * of an expired key is not a change.  One that expired between WATCH and EXEC is.
 *   Step 1 costs one look at a string, and some nanoseconds for each node of a collection; with those others
 * wait for the transaction (CARET_TXN_ALONE), as they would make it start again.
 */
#ifndef CARET_SERVER_WATCH_H
#define CARET_SERVER_WATCH_H

#include "server/call.h"

/* In the transaction of EXEC: *changed tells whether a watched key was.  What the engine says. */
int serve__watched_changed(struct serve__call *q, bool *changed);

/* Flags for the transaction of EXEC. */
int serve__watched_flags(const struct serve__conn *c);

/* Forget all that the connection watches. */
void serve__unwatch(struct serve__conn *c);

unsigned serve__watched_count(const struct serve__conn *c);

#endif
