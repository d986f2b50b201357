/*
 * mail.h - messages between the workers of a server.
 *
 * Each worker has a mailbox: a pair of sockets (unix, SOCK_SEQPACKET) that the supervisor makes before it
 * forks.  A worker reads its own; all others write to its other end.  Letters are collected, and sent as
 * packets when the turn ends, and before an answer is sent to any client: so what a client does after it has
 * its answer can't overtake a letter that its command wrote.
 *
 *     packet   struct packet, then bytes of the sender's letters to this worker, one after another
 *     letter   struct letter, then its bytes; a long one goes over several packets
 *
 * The kernel makes a packet whole or not at all, keeps the packets in the order in which they were sent, by
 * whomever, and wakes the reader; nothing is shared that a killed worker could leave half written.
 *
 * | what dies    | what is lost |
 * | the sender   | letters that were collected, and not sent; nothing of them was answered to a client |
 * | .. in a long letter | the receiver drops the part that it has, with the next packet of the successor, |
 * |              | which has another pid |
 * | the receiver | letters that it did not read.  The successor empties the box before it serves anybody, |
 * |              | as letters are about clients that died with it |
 *
 * So a letter may say only what matters to clients that the receiver has; what all workers have to know for
 * good is in shared memory, and read when a worker starts.
 *   A box that is full: letters wait at their sender, which is told by epoll when there is room.  Over
 * SERVE__MAIL_MOST bytes of them, those that may be lost (messages to subscribers) are dropped and counted;
 * others are kept in any case.
 */
#ifndef CARET_SERVER_MAIL_H
#define CARET_SERVER_MAIL_H

#include "server/worker.h"

#define SERVE__MAIL_MOST ((size_t)64 << 20)

/* Each has a function below, named after it, which is weak: without it these letters are dropped. */
#define SERVE__LETTERS(X)                                                                                    \
    X(message) /* to subscribers */                                                                          \
    X(wake)    /* clients that are blocked on a key */                                                       \
    X(client)  /* end, unblock ... a client */                                                               \
    X(monitor) /* a command, for those that see all */                                                       \
    X(lock)    /* a lock was released */                                                                     \
    X(track)   /* keys that changed, for clients that keep them */                                           \
    X(acl)     /* users that changed */

enum serve__letter {
#define X(name) SERVE__LETTER_##name,
    SERVE__LETTERS(X)
#undef X
        SERVE__LETTER_COUNT
};

/* Called for each letter that came from another worker; `data` lives until it returns. */
typedef void serve__letter_fn(struct serve__worker *w, int from, const char *data, size_t len);
#define X(name)                                                                                              \
    void serve__letter_##name(struct serve__worker *, int, const char *, size_t) __attribute__((weak));
SERVE__LETTERS(X)
#undef X

/* Make the mailboxes of all workers.  In the supervisor, before the first fork.  false: errno tells. */
bool serve__mail_make(struct serve__shared *s);

/* In a worker that starts: empty its box, and watch it. */
bool serve__mail_open(struct serve__worker *w);

/* Write a letter: the parts one after another.  To another worker, or to all others.  May be lost only if
 * `droppable`. */
void serve__mail_write(struct serve__worker *w, int to, enum serve__letter kind, const caret_slice *parts,
                       unsigned n, bool droppable);
void serve__mail_write_all(struct serve__worker *w, enum serve__letter kind, const caret_slice *parts,
                           unsigned n, bool droppable);

/* Read what others wrote to this worker: at the start of a turn, so that no client is served that may know already of
 * what a letter tells.  Only where clients track keys or see all commands: those see them in their order. */
void serve__mail_first(struct serve__worker *w);

/* Send what was written.  Called by the loop and before answers are sent; w->mail_waits tells that there is
 * something. */
void serve__mail_send(struct serve__worker *w);

#endif
