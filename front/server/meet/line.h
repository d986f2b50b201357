/*
 * line.h - the nodes of clients that wait; blocked.h is what commands see.
 *
 *     ^redisB("o",server,worker,birth)            a name that is locked while that worker lives: an *owner*
 *     ^redisB("w",server,client)                  the request of a client that waits: serve__line_head, then its
 *                                                 arguments
 *     ^redisB("q",db,key,ticket)                  the line before a key: one that stands there,
 *                                                 serve__line_place; `key` is the subscript of the key, `ticket`
 *                                                 nanoseconds
 *     ^redisB("a",server,worker,birth,client,i)   the answer to a client, bytes; its worker has to hand it over
 *
 * They are the queue and the mailbox, and are changed by transactions only, together with the data that they
 * are about.  So there is no state between, whoever is killed when:
 *
 *   begin    the client's worker: the key has nothing; request and places are written
 *   serve    any worker, in the transaction that makes a key ready: the first in line for which the command
 *            finds something; its places and its request are deleted, its answer is written
 *   end      its worker (time is over, or it is gone), or CLIENT UNBLOCK: as `serve`, with another answer, or
 *            none
 *   collect  its worker: the answer is copied to the output of the client, and deleted
 *
 *   L1  A client has a request or an answer or neither, never both.
 *   L2  A request has one place before each of its keys; a place without its request is passed over, and
 *       deleted.
 *   L3  The client that begins has read that the keys have nothing for it, in the same transaction.  So if one gets
 *       something meanwhile, one of the two transactions is run again, or the one that commits later knows of
 *       the other: it counts itself as blocked before its commit, and the writer that makes a key ready looks
 *       at that number after its own (blocked.c).  No wake-up is lost.
 *   L4  What a client is to get is taken and written as its answer at once, or neither.  It is lost only if
 *       its own worker is killed before the client has it, as its connection is then.
 *   L5  A dead owner gets no answers: the lock says at once that it is dead, and whoever meets its places
 *       deletes them; its successor deletes what it left.
 *
 * The letter that tells a worker of an answer (mail.h) is only a hint: it looks at its mailbox in any case, ten
 * times a second.  And at the keys that its clients wait for, as programs that write nodes tell nobody.
 *   Two servers on one database have one line.
 *   model/line.pml has these steps.
 */
#ifndef CARET_SERVER_LINE_H
#define CARET_SERVER_LINE_H

#include "server/keys/key.h"

struct serve__line_owner {
    int64_t server, worker, birth;
};

struct serve__line_head {
    struct serve__line_owner owner;
    int64_t client, ticket, until;
    uint32_t db, protocol;
    int32_t argc, first, n; /* keys are n arguments from `first` on */
    uint32_t silent;        /* the client wants no answer: CLIENT REPLY */
};

struct serve__line_place {
    int64_t server, client;
    int32_t key, reserved; /* which of its arguments */
};

/* A request; the arguments lie in `bytes`, after the head. */
struct serve__line_request {
    struct serve__line_head head;
    caret_slice *argv;
    size_t cap;
    struct serve__buffer bytes;
};

/* Put the bytes of a request together; and take them apart: the head and argv.  false: no memory, or damaged. */
bool serve__line_pack(struct serve__line_request *x, const struct serve__line_head *head,
                      const caret_slice *argv);
bool serve__line_unpack(struct serve__line_request *x, caret_slice bytes);

/* Nodes below `base`, which is ^redisB. */
int serve__line_owner_node(const caret_node *base, caret_node_buf *n, const struct serve__line_owner *o);
int serve__line_request_node(const caret_node *base, caret_node_buf *n, int64_t server, int64_t client);
int serve__line_key_node(struct serve__call *q, const caret_node *base, caret_node_buf *n, unsigned db,
                         caret_slice name);
int serve__line_answers_node(const caret_node *base, caret_node_buf *n, const struct serve__line_owner *o);

/* All in the transaction of q: write a request and its places, the ticket may become a later one; read one,
 * CARET_NONE; delete one, with its places. */
int serve__line_write(struct serve__call *q, const caret_node *base, struct serve__line_request *x);
int serve__line_read(struct serve__call *q, const caret_node *base, int64_t server, int64_t client,
                     struct serve__line_request *x);
int serve__line_delete(struct serve__call *q, const caret_node *base, const struct serve__line_request *x);

/* Write an answer to the mailbox of its owner. */
int serve__line_answer(struct serve__call *q, const caret_node *base, const struct serve__line_head *to,
                       caret_slice bytes);

/* Does the owner live?  `session` is not the one that has its lock. */
bool serve__line_alive(caret_session *session, const caret_node *base, const struct serve__line_owner *o);

/* Nanoseconds, for tickets and births. */
int64_t serve__line_clock(void);

#endif
