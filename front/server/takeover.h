/*
 * takeover.h - another server takes over the sockets and connections of this one: SIGUSR2.
 *
 * So a new binary, or a new configuration, comes into use, and no request fails.
 *
 *     old supervisor                     new supervisor                  workers
 *     1  SIGUSR2: fork, and exec of its own program with its own arguments; what listens, and one end of
 *        a socketpair (the channel), are inherited; $CARET_TAKEOVER says what they are
 *                                        2  opens nothing, starts its workers, which open the database, and accept
 *                                        3  all serve: SIGRTMIN to the old one
 *     4  shared->drain = 1                                               5  the old ones accept no more,
 *                                                                        6  and move connections (moving.h)
 *     8  ends when its workers have                                      7  one without connections ends
 *
 *   T1  At each moment somebody accepts at each socket, and none is closed while a connection waits in its queue: both
 *       servers have the same sockets, not others with the same address.
 *   T2  Until 3 the new server may fail, or be killed: the old one goes on as it was, and can be asked again.  A new
 *       one that does not know the format of what is moved ends before it has begun.
 *   T3  A SIGRTMIN counts as 3 only if the process that was started sends it.
 *   T4  Each server has shared memory of its own: what it counts, and its lists of clients, begin anew.  The numbers of
 *       clients go on, with a gap for those that the old server accepts meanwhile.
 *   T5  The new server tells port, tls-port and bind as the sockets are that it got, whatever its file and arguments
 *       say: they may have been changed meanwhile, and can be by it (relisten.h).  Between 1 and the end of either the
 *       old one changes none.
 */
#ifndef CARET_SERVER_TAKEOVER_H
#define CARET_SERVER_TAKEOVER_H

#include "server/listen.h"

/* First of all: is this a takeover?  What was inherited is found, and the environment is as before.  false: it can't
 * be, which was logged. */
bool serve__takeover_begin(char **argv);
bool serve__is_takeover(void);

/* The new server: port, tls-port and bind are those of the sockets; what listens; the end of the channel from which
 * its workers read.  And all serve. */
void serve__takeover_configure(struct serve__shared *s);
bool serve__takeover_listen(struct serve__listen *l);
int serve__takeover_channel(void); /* -1: none */
void serve__takeover_settle(struct serve__shared *s);
void serve__takeover_ready(void);

/* The old one: make the channel, before the first fork; start the other server: its process, or -1. */
bool serve__takeover_prepare(struct serve__shared *s);
pid_t serve__takeover_start(const struct serve__listen *l);

#endif
