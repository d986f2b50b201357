/*
 * lock.h - CARET.LOCK: locks of connections.
 *
 * They are the locks of the engine, which programs take too that have the database open: a connection that uses them
 * has a session of its own, whose end releases them, and so does the end of its worker, by kill -9 too.
 *
 * The engine knows no order among those who wait, so clients have tickets.  Each that waits has an entry in the rows of
 * its worker in shared memory, and tries only if no older ticket waits for the same name:
 *
 *   wait      `name` is written, then `ticket`: only by the worker of the row.  Then it tries once more, so that a
 *             release in between is not missed
 *   end       `ticket` becomes 0: it got the lock, its time is over, it is gone
 *   release   the worker that releases looks at the numbers of waiting clients, and writes to the workers that have
 *             some: they try
 *   death     the supervisor, and the successor, count the rows of a dead worker as empty
 *
 *   N1  An entry whose worker lives belongs to a client that waits now.  So nobody stands in line after a dead client
 *       for longer than the supervisor takes to notice a death.
 *   N2  A letter is a hint: those that wait try each LOOK milliseconds in any case, as programs tell nobody.
 *   N3  A client that holds a lock does not stand in line: it may hold what those before it wait for.
 *
 * A name is told by its hash: two names with one hash would stand in one line, which does no harm.
 *
 * Rings (lock_ring.c).  A client that waits while it holds locks writes into its entry, before the ticket, what it
 * holds; that stays so until its wait ends, since it is not served meanwhile.  When it begins to wait, and each LOOK
 * milliseconds, it follows those who hold what it waits for, among entries with older tickets:
 *
 *   N4  Of a ring only the client with the newest ticket is told (DEADLOCK); so one of them is.
 *   N5  It is told only if all tickets of the ring are the same after it was found: then all of them waited, and held
 *       what they hold, at one moment, and none of them can go on.
 *   N6  Two that begin at one moment may not see each other's entries: the newer sees the ring when it looks again.
 *
 * Of a client that holds many locks, or deep ones, the entry has the first: a ring by the others is not noticed.
 */
#ifndef CARET_SERVER_LOCK_H
#define CARET_SERVER_LOCK_H

#include "server/worker.h"

/* Each turn: clients try that may, and those whose time is over are told.  Milliseconds until the next time, at most
 * `most`. */
int serve__locks_turn(struct serve__worker *w, int most);

/* Does a connection hold none, and wait for none? */
bool serve__locks_idle(const struct serve__conn *c);

/* A name: its hash, and those of the nodes above it, as many as there is room for. */
struct serve__lock_name {
    uint64_t hash, above[SERVE__LOCK_ABOVE];
    unsigned n;
};

/* Does the client of an entry, which holds locks and waits, close a ring of clients that wait for each other? */
bool serve__lock_ring(struct serve__shared *s, const struct serve__lock_wait *mine);

/* In a worker that starts. */
void serve__locks_open(struct serve__worker *w);

/* CLIENT UNBLOCK of a client that waits for a lock: false, if it does not.  And when its worker is asked to. */
bool serve__lock_unblock(struct serve__call *q, uint64_t client, bool error);
void serve__lock_end(struct serve__worker *w, uint64_t client, bool error);

#endif
