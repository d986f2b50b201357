/*
 * disk.h - `appendfsync always`: what is sent is on the disk.
 *
 * Commits of a worker's sessions do not wait for the disk (caret_session_batch).  What waits are outputs: at the end of
 * the turn the log is synced once, for all clients of the turn, and by the engine for those of other workers too.  What
 * comes meanwhile is the next turn's.
 *
 *   D1  Bytes leave for a client, and the letters of its commands for other workers, only after all is on the disk that
 *       was committed when they were written: also what others committed, as an answer may be about it.
 *   D2  A connection that is `unsaved` is in the list w->unsaved, and sends nothing until serve__disk_turn(): so its
 *       answers keep their order.
 *   D3  Where the sync fails nobody knows what a loss of power would leave: the answers are dropped, and their
 *       connections closed.  After an error of the disk the engine refuses all that would be written, and what is
 *       answered from then on waits for nothing: reads go on.
 */
#ifndef CARET_SERVER_DISK_H
#define CARET_SERVER_DISK_H

#include "server/worker.h"

/* appendfsync may have been changed: what it says holds from this turn on. */
void serve__disk_mode(struct serve__worker *w);

/* w->saves is set: must the output of c wait for the end of the turn?  Then it is noted. */
bool serve__disk_waits(struct serve__worker *w, struct serve__conn *c);

/* A connection that ends: forget it. */
void serve__disk_forget(struct serve__worker *w, struct serve__conn *c);

/* Sync, and send what waits: the end of a turn. */
void serve__disk_turn(struct serve__worker *w);

/* The last turn: then nothing waits any more. */
void serve__disk_end(struct serve__worker *w);

#endif
