/*
 * moving.h - connections go from the workers of a server to those of one that takes over (takeover.h).
 *
 * A connection is a descriptor and what the server knows of it.  An old worker sends both as one packet (SCM_RIGHTS)
 * into a channel, from which all new workers read: whichever comes first has it.
 *
 *     struct moved       of one format, SERVE__MOVING_FORMAT
 *     texts              length, 4 bytes, and bytes: names; topics, each after a byte of its kind; prefixes; input
 *
 *   V1  A connection is moved between two commands: its answers are sent, and nothing of it is anywhere but in the
 *       packet and in the socket.  What has come of the next request goes along.
 *   V2  What can't be said in a packet stays: a connection in MULTI, or that watches keys, waits for a key or lock,
 *       holds a lock, has output that it did not take, runs a script, or speaks TLS.  It is looked at again each turn,
 *       and served until then; its worker ends when it has none.
 *   V3  The packet is taken by the kernel, whole, or the connection stays (EAGAIN: the channel is full).  The old
 *       worker takes the socket out of its epoll first, as the description of the file lives on.  The new one takes it
 *       out of its own before it closes it, as is done with all: the old one, or the packet, may have it open yet, and
 *       what was closed here alone would go on to be told of.
 *   V4  Users are told by name.  One that the new server does not have ends its connections.
 *   V5  A client that tracks keys is told that all may have changed: what it had read is not known any more.
 *       One whose messages go to another client moves after that, as it could not be told meanwhile; two that send
 *       theirs to each other stay.
 *   V6  A worker that has a channel to read from ends after that has: a server that takes over may be taken over while
 *       connections are on the way to it.
 *
 * Both servers see the same data, so requests on either side are of one database.  What is not data (messages,
 * invalidations, CLIENT LIST) does not go from one to the other: a message may be lost while connections are on the
 * way.
 */
#ifndef CARET_SERVER_MOVING_H
#define CARET_SERVER_MOVING_H

#include "server/worker.h"

enum { SERVE__MOVING_FORMAT = 1 };

/* An old worker, at the end of a turn: accept no more, move what can be, and end without connections. */
void serve__moving_turn(struct serve__worker *w);

/* A new one, when it starts: read from the channel, if there is one. */
bool serve__moving_open(struct serve__worker *w);

#endif
