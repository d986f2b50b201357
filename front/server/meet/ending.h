/*
 * ending.h - whoever ends clients of other workers is answered when they are ended.
 *
 * CLIENT KILL writes a letter to the worker of each client, and that may be in the middle of a turn: it would go on to
 * serve the client that is said to be ended.  So the answer waits, and with it what else its connection has sent.
 *
 *   E1  A connection that is `held` sends nothing, and nothing of its input is run.
 *   E2  It is held while a row is still owned by a client that it has ended (clients.h).  The owner gives up the row
 *       after the last command of that client; the supervisor does, of a worker that dies.
 *   E3  The owner answers each order by a letter, in the turn in which it ended the client: then held connections are
 *       looked at.  That letter is lost with a worker, so they are looked at now and then too.
 *   E4  Two clients that end each other are both ended: an order finds a connection that is held.
 *   E5  Users that were changed (ACL) may end clients of any worker.  So that answer waits, for a while at most, until
 *       each worker has ended a turn by these users, and has told so by a letter; ours wakes it.
 *   E6  A client whose script takes long (handoff.h) is ended with the script, and not waited for: its row goes at
 *       once.
 */
#ifndef CARET_SERVER_ENDING_H
#define CARET_SERVER_ENDING_H

#include "server/meet/clients.h"
#include "server/worker.h"

/* `by` has ended a client of another worker: its answers wait for that. */
void serve__ending_wait(struct serve__worker *w, struct serve__conn *by, const struct serve__client *client);

/* `by` has changed users: its answers wait for the other workers. */
void serve__ending_wait_users(struct serve__worker *w, struct serve__conn *by);

/* A turn is over: tell the others by which users. */
void serve__ending_tell_users(struct serve__worker *w);

/* Let connections go on whose clients are ended: once a turn while w->held > 0, and when a letter tells it. */
void serve__ending_look(struct serve__worker *w);

#endif
