/*
 * waiters.h - the clients of this worker that wait, and what a transaction does for those that wait: shared by
 * waiters.c, blocked.c and wait_end.c.
 */
#ifndef CARET_SERVER_WAITERS_H
#define CARET_SERVER_WAITERS_H

#include "server/admin/measure.h"
#include "server/meet/blocked.h"
#include "server/meet/line.h"

enum { SERVE__BUCKETS = 1024 };

/* A client of ours that waits. */
struct serve__blocked {
    struct serve__conn *c;
    struct serve__blocked *chain; /* of its bucket */
    size_t place;                 /* in the heap, from 1 on; 0: it waits for ever */
    int64_t until;
    bool silent;
};

struct answered {
    struct serve__blocked *b;
    size_t mark; /* where its answer begins */
};

/* A command of a client that waited took long: told after the commit. */
struct slow_answer {
    struct slow_answer *next;
    struct serve__slow entry;
};

struct serve__blocking {
    caret_session *holder; /* has the lock that tells that we live */
    caret_node_buf base;   /* ^redisB */
    struct serve__line_owner me;
    struct serve__blocked *bucket[SERVE__BUCKETS];
    struct serve__blocked **heap; /* by `until` */
    size_t n, heap_n, heap_cap;
    struct serve__blocked *begins; /* in this transaction; NULL: nobody */
    struct answered *answered;     /* in this transaction */
    size_t answered_n, answered_cap;
    struct slow_answer *slow;       /* in this transaction, the last first */
    uint64_t mail;                  /* bits of workers that got answers in this transaction */
    struct serve__line_request one; /* that is looked at */
    struct serve__buffer out, name;
    struct serve__blocked *ends; /* of end_one() */
    uint64_t seen;               /* place of the log when keys were looked at */
    int64_t looked;
    size_t next_bucket; /* to look at */
};

/* The link to the client that waits, or NULL where it would be. */
struct serve__blocked **serve__waiters_find(struct serve__blocking *u, int64_t client);

/* Room for one more; false: no memory.  Count it, before it begins (line.h, L3).  It waits from now on; no
 * more, and is gone. */
bool serve__waiters_room(struct serve__blocking *u);
void serve__waiters_count(struct serve__worker *w, int by);
void serve__waiters_start(struct serve__worker *w, struct serve__blocked *b);
void serve__waiters_stop(struct serve__worker *w, struct serve__blocked *b);

/* The answer of a client of ours begins here; when the transaction is committed it waits no more. */
int serve__waiters_answered(struct serve__call *q, struct serve__blocked *b, size_t mark);

/* Where the answer to u->one goes: *to is the output of a client of ours, or `out`, of u->out.  Then, when it
 * is there from `mark` on: the request leaves the line. */
struct serve__blocked *serve__waiters_open_answer(struct serve__call *q, struct serve__reply *out,
                                                  struct serve__reply **to);
int serve__waiters_close_answer(struct serve__call *q, struct serve__blocked *b, size_t mark);

/* Serve those that stand before a key; before all of them. */
int serve__waiters_serve_key(struct serve__call *q, unsigned db, caret_slice name);
int serve__waiters_serve_all(struct serve__call *q);

#endif
