/*
 * relisten.h - CONFIG SET of port, tls-port and bind, while workers serve.
 *
 *     worker of the CONFIG SET            supervisor                            every worker
 *     1  owner: 0 -> it, by one step; another that has it is waited for
 *     2  writes the texts of the parameters
 *     3  state = ASKED, SIGUSR1
 *                                         4  opens what is wanted and not there: listen.h
 *                                         5  that fails: the texts are put back, state = FAILED
 *                                            else: `start` of workers to come has the new sockets, what is not
 *                                            wanted is closed, round + 1, a packet with its sockets to each
 *                                            worker, state = DONE
 *                                                                               6  takes its packet: serves what
 *                                                                                  waits at its old sockets, closes
 *                                                                                  them, stats.listens = round
 *     7  waits until all have done so, a second at most, as one may be busy; answers; owner = 0
 *
 *   R1  The worker of the CONFIG SET dies: the supervisor does 4 and 5 if the texts are others than what listens, so
 *       the two agree again, and gives `owner` back.
 *   R2  Another dies: its successor has the sockets of `start`, and takes no packet that is older than those.
 *   R3  A worker that waits in 1 or 7 goes on taking its packets, so that two workers that change ports do not wait for
 *       each other.
 *   R4  The supervisor does not get to 4 within some seconds: the worker takes ASKED back, by one step, and fails.
 *   R5  Each worker has closed the sockets of others that it got by fork().  So when the supervisor and the worker of
 *       a socket have closed it nothing listens there any more, and another server may.
 *   R6  None of it while another server takes over (takeover.h): that one has the sockets which there were.
 *   A packet that comes while events of the same turn are still to be handled changes the slots of listeners that they
 *   point to: accepting at a new socket, or at none, finds nobody there.
 */
#ifndef CARET_SERVER_RELISTEN_H
#define CARET_SERVER_RELISTEN_H

#include "server/listen.h"

/* The supervisor: make the channels, before the first fork and after the sockets were opened. */
bool serve__relisten_prepare(struct serve__listen *l);

/* The same, when a worker asks (SIGUSR1), and when one has died.  `refuse`: sockets are not to change now. */
void serve__relisten_look(struct serve__listen *l, bool refuse);
void serve__relisten_died(struct serve__listen *l, int worker, bool refuse);

/* A worker: close what is of others, and wait for packets. */
bool serve__relisten_open(struct serve__worker *w);

/* Steps 1, 3 to 7, and the end.  false: it is not to be had. */
bool serve__relisten_begin(struct serve__worker *w);
bool serve__relisten(struct serve__worker *w);
void serve__relisten_end(struct serve__worker *w);

#endif
