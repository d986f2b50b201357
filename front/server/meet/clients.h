/*
 * clients.h - the clients of all workers: what CLIENT LIST tells, and CLIENT KILL looks for.
 *
 * Each connection has a row in shared memory, which its worker writes after each time that it has served it,
 * so a row is what was true when the connection was last heard.
 *
 *   take     `owner` from 0 to the worker's number + 1, by compare and exchange
 *   write    `version` odd, the fields, `version` even: only the owner.  One that was killed there leaves it odd,
 *            which the next owner goes on from
 *   read     a copy, which counts if `version` was even and the same before and after, and `id` is not 0.  Or after a
 *            tenth of a second: a worker that is stopped in the middle of a write is not to hide its client
 *   give up  `id` 0, then `owner` 0: the owner; or the supervisor, of a worker that died
 *
 * `dying` is set by whoever ends the client of another worker, and asks that by letter to close it: the row
 * is passed over from then on.  A client that finds no free row is served, but is not listed.
 */
#ifndef CARET_SERVER_CLIENTS_H
#define CARET_SERVER_CLIENTS_H

#include "server/call.h"
#include "server/shared.h"

enum { SERVE__ROWS = 65536 };

struct serve__client {
    uint64_t id;
    int64_t created, active, redirect;
    uint64_t query, query_free, output, memory, queued; /* bytes */
    int32_t fd, multi;
    uint32_t flags, db, last, subscribed[3]; /* last: id of the command + 1 */
    uint32_t protocol, worker;
    uint32_t row;             /* of a copy: which it is of */
    char addr[56], laddr[56]; /* "": of a unix socket */
    char name[64], user[64];  /* cut off if they are longer */
};

struct serve__row {
    serve__counter owner, version, dying;
    struct serve__client client;
};

/* Map the rows.  In the supervisor, before the first fork. */
bool serve__rows_make(struct serve__shared *s);

/* The rows of a worker that is gone. */
void serve__rows_free(struct serve__shared *s, int worker);

/* Of a connection that begins, was served, and ends. */
void serve__row_begin(struct serve__worker *w, struct serve__conn *c);
void serve__row_write(struct serve__worker *w, struct serve__conn *c);

/* The same before an answer is sent, if it changed the name, user, database or state: whoever has the answer may ask
 * another worker. */
void serve__row_tell(struct serve__worker *w, struct serve__conn *c);
void serve__row_end(struct serve__conn *c);

/* All clients, ours as they are now, in the order of their numbers: an array to be freed; NULL: no memory. */
struct serve__client *serve__clients(struct serve__worker *w, size_t *n);

/* Bytes that a connection takes.  Count them for maxmemory-clients: after it was served, or that it is gone; and end
 * the largest, if all take too much: once a turn (client_memory.c). */
size_t serve__client_memory(const struct serve__conn *c);
void serve__client_count(struct serve__worker *w, struct serve__conn *c, bool there);
void serve__clients_turn(struct serve__worker *w);

/* The address of a connection as CLIENT LIST tells it. */
void serve__client_address(struct serve__worker *w, const struct serve__conn *c, char *text, size_t size);

/* The same of one of ours; and its line of CLIENT LIST, without LF, appended (admin/client_list.c). */
void serve__client_now(struct serve__worker *w, const struct serve__conn *c, struct serve__client *to);
void serve__client_line(struct serve__worker *w, const struct serve__conn *c, struct serve__buffer *b);

/* The connection of a number, if it is ours. */
struct serve__conn *serve__conn_find(struct serve__worker *w, uint64_t id);

/* The row of a client that is there, of any worker; NULL: it is not. */
struct serve__row *serve__client_row(struct serve__shared *s, uint64_t id);

/* What is asked of the worker of a client. */
enum serve__order {
    SERVE__ORDER_KILL,
    SERVE__ORDER_UNPAUSE,
    SERVE__ORDER_UNLOCK, /* CLIENT UNBLOCK of one that waits for a lock; with an error */
    SERVE__ORDER_UNLOCK_ERROR,
    SERVE__ORDER_ENDED /* an answer: ending.h */
};

/* `by` ends a client of any worker; of ours its output is sent before. */
void serve__client_kill(struct serve__worker *w, struct serve__conn *by, const struct serve__client *client);

/* The same, and nobody waits for it.  false: somebody had done it before. */
bool serve__client_end(struct serve__worker *w, const struct serve__client *client);

/* Tell another worker that what it waits for may have come to be: ending.h. */
void serve__client_tell_ended(struct serve__worker *w, int to);

/* End the wait for a lock of a client of any worker: node/lock.h. */
void serve__client_unblock(struct serve__worker *w, const struct serve__client *client, bool error);

/* CLIENT PAUSE: may commands be run now?  And let clients go on that wait for its end, if it has come: once a
 * turn, while w->paused > 0.  All workers are told to look. */
enum serve__pause { SERVE__PAUSE_NONE, SERVE__PAUSE_WRITE, SERVE__PAUSE_ALL };
enum serve__pause serve__paused(struct serve__worker *w);
void serve__pause_look(struct serve__worker *w);
void serve__pause_end(struct serve__worker *w);

#endif
