/*
 * conn.h - a connection.
 *
 * An idle one owns no buffers: `in`, `args` and `out` are lent by the worker while it is served, and stay
 * with it only as long as a command is incomplete, or an answer was not taken yet.
 *   What features keep for a connection hangs on pointers that are NULL until it is used, and that they free
 * in serve__conn_gone_..., which are weak: each is called if it is defined.
 */
#ifndef CARET_SERVER_CONN_H
#define CARET_SERVER_CONN_H

#include "server/parse.h"
#include "server/reply.h"

struct serve__worker;

enum {                             /* conn->flags */
       SERVE__CONN_CLOSE = 1 << 0, /* once its output is sent */
       SERVE__CONN_DEAD = 1 << 1,  /* at once */
       SERVE__CONN_AUTHENTICATED = 1 << 2,
       SERVE__CONN_MULTI = 1 << 3,           /* commands are queued */
       SERVE__CONN_DIRTY_EXEC = 1 << 4,      /* one of them was refused: EXEC aborts */
       SERVE__CONN_PUBSUB = 1 << 5,          /* has subscriptions */
       SERVE__CONN_BLOCKED = 1 << 6,         /* in a blocking command: its input waits */
       SERVE__CONN_REPLY_OFF = 1 << 7,       /* CLIENT REPLY OFF */
       SERVE__CONN_REPLY_SKIP = 1 << 8,      /* this answer is dropped, */
       SERVE__CONN_REPLY_SKIP_NEXT = 1 << 9, /* and so is the next */
       SERVE__CONN_MONITOR = 1 << 10,
       SERVE__CONN_UNIX = 1 << 11,
       SERVE__CONN_READY = 1 << 12,     /* in the list of those to be served */
       SERVE__CONN_WANTS_OUT = 1 << 13, /* epoll tells when it can be written to */
       SERVE__CONN_NO_EVICT = 1 << 14,
       SERVE__CONN_IN_EXEC = 1 << 15,
       SERVE__CONN_TRACKING = 1 << 17,
       SERVE__CONN_BROKEN = 1 << 18, /* where its invalidations went to is gone */
       SERVE__CONN_BCAST = 1 << 19,
       SERVE__CONN_PAUSED = 1 << 16,     /* CLIENT PAUSE: what came last is parsed again when it goes on */
       SERVE__CONN_AWAY = 1 << 20,       /* its script runs, and the loop goes on without it: handoff.h */
       SERVE__CONN_UNSAVED = 1 << 21,    /* its output waits for the disk: disk.h */
       SERVE__CONN_PUSHED = 1 << 22,     /* what this command sent it goes out in spite of CLIENT REPLY */
       SERVE__CONN_HELD = 1 << 23,       /* it waits for the end of other clients: meet/ending.h */
       SERVE__CONN_IN_LINE = 1 << 24,    /* for the machine of M: its command is parsed again (node/m.c) */
       SERVE__CONN_DEBUG = 1 << 26,      /* SCRIPT DEBUG YES, */
       SERVE__CONN_DEBUG_SYNC = 1 << 27, /* or SYNC: script/debugger.h */
       SERVE__CONN_UNSENT = 1 << 25      /* its answer waits for those of others: serve__send_unsent() */
};

/* What the loop knows of whatever is in epoll: the first field of it. */
enum serve__source_kind {
    SERVE__SOURCE_CONN,
    SERVE__SOURCE_LISTENER,
    SERVE__SOURCE_SIGNAL,
    SERVE__SOURCE_OTHER
};
struct serve__source {
    enum serve__source_kind kind;
    int fd;
    void (*ready)(struct serve__worker *w, struct serve__source *s); /* of SERVE__SOURCE_OTHER */
};

struct serve__conn {
    struct serve__source source;
    unsigned flags, db;
    uint64_t id;
    struct serve__reply reply; /* to `out` */
    struct serve__parser parser;
    struct serve__buffer in, out;
    /* Messages that came while its script was away: they go out after the answer. */
    struct serve__buffer aside;
    struct serve__args args;
    size_t sent;                      /* of out */
    struct serve__tls *tls;           /* NULL: it has none */
    struct serve__conn *next, **back; /* all of the worker */
    struct serve__conn *ready_next, *unsaved_next;
    int64_t created, active; /* milliseconds since 1970 */
    int64_t over_since;      /* its output is over the soft limit; 0: it is not */
    const struct serve__command *last;
    char *name, *lib_name, *lib_ver; /* NULL: none */
    struct serve__queue *queue;      /* of MULTI */
    struct serve__watched *watched;
    struct serve__subscriptions *subscriptions;
    struct serve__blocked *blocked;
    struct serve__tracking *tracking;
    struct serve__locks *locks;   /* node/lock.c */
    struct serve__ending *ending; /* meet/ending.h */
    struct serve__user *user;
    struct serve__row *row;        /* meet/clients.h */
    size_t counted, watched_bytes; /* of its memory, and of what it watches: meet/client_memory.c */
};

void serve__conn_gone_multi(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_pubsub(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_blocked(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_tracking(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_monitor(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_locks(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_ending(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_acl(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));
void serve__conn_gone_m(struct serve__worker *w, struct serve__conn *c) __attribute__((weak));

/* The connection of a socket that was accepted; NULL: no memory, and the socket is closed. */
enum serve__way { SERVE__WAY_TCP, SERVE__WAY_UNIX, SERVE__WAY_TLS };
struct serve__conn *serve__conn_new(struct serve__worker *w, int fd, enum serve__way way);

/* Close it now.  c is gone. */
void serve__conn_free(struct serve__worker *w, struct serve__conn *c);

/* Its socket has input: read, run what is complete, send. */
void serve__conn_readable(struct serve__worker *w, struct serve__conn *c);

/* Run what of its input is complete, and send. */
void serve__conn_serve(struct serve__worker *w, struct serve__conn *c);

/* Send what is in `out`, unless it waits for the disk.  What the socket does not take waits. */
void serve__conn_send(struct serve__worker *w, struct serve__conn *c);

/* Send the answers that wait for each other.
 *   A client that sleeps is woken by the first that it gets, which takes longer than the rest of sending.  So those
 * of several connections that were served in one turn are sent together, SERVE__UNSENT at most: a program with many
 * connections is woken once for all.  A turn that ends, and one that a script may keep for long, sends them before. */
void serve__send_unsent(struct serve__worker *w);

/* It was served: send, and give back what it does not need any more, or end it.  c may be gone. */
void serve__conn_settle(struct serve__worker *w, struct serve__conn *c);

/* Something was written to the output of a connection that is not being served (a message, the end of a
 * blocking command), or its input may go on: serve it before the turn ends. */
void serve__conn_wake(struct serve__worker *w, struct serve__conn *c);

/* So much is waiting to be sent: no more is read, and no more is run. */
#define SERVE__OUTPUT_HIGH (1024u * 1024u)
/* Or more, as much as maxmemory-clients, so that those who take too much are ended (meet/client_memory.c). */
extern size_t serve__output_high;
static inline bool serve__conn_has_room(const struct serve__conn *c)
{
    return c->out.len - c->sent < serve__output_high;
}

/* Are answers of the command that it runs dropped? */
static inline bool serve__conn_silent(const struct serve__conn *c)
{
    return (c->flags & (SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP)) != 0;
}

/* Append bytes to the output of a connection that may not be served now, and have it sent.  One that does not
 * take its output is ended. */
void serve__conn_add(struct serve__worker *w, struct serve__conn *c, const char *bytes, size_t len);

/* Its script is not away any more. */
void serve__conn_back(struct serve__conn *c);

/* Is its output, with `more`, over a limit of its class (client-output-buffer-limit)? */
bool serve__output_over(struct serve__worker *w, struct serve__conn *c, size_t more);
/* Is the answer that is being written too much for its client already?  Then the rest of it is of no use. */
bool serve__reply_over(const struct serve__call *q);

/* 2 or 3. */
void serve__conn_protocol(struct serve__conn *c, int protocol);

/* As after connecting: RESET.  Subscriptions, MULTI, names end. */
void serve__conn_reset(struct serve__worker *w, struct serve__conn *c);

/* What features tell of a connection (weak): the user's name; the client that its invalidations go to. */
const char *serve__user_name(const struct serve__conn *c) __attribute__((weak));
bool serve__user_known(struct serve__worker *w, caret_slice name) __attribute__((weak));
int64_t serve__tracking_redirect(const struct serve__conn *c) __attribute__((weak));

#endif
