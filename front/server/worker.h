/*
 * worker.h - a process that serves connections: one loop, one session.
 *
 * A turn of the loop:
 *   1. read the clock; look for a new configuration; delete keys that are due (expire.h)
 *   2. sockets that are ready: read, parse, run, send, 16 together.  Then connections that were woken: not before, as
 *      one that ends may be among the sockets
 *   3. what has to be done now and then: connections that were idle too long
 *   4. answers that wait for the disk (disk.h)
 *   5. letters to other workers, if no answer took them along (meet/mail.h)
 *
 * Everything of a worker belongs to the thread that has the turn, which is its first, or while scripts run that
 * take long, one that stands in for it: handoff.h.
 */
#ifndef CARET_SERVER_WORKER_H
#define CARET_SERVER_WORKER_H

#include "server/call.h"
#include "server/config.h"
#include "server/conn.h"
#include "server/event.h"
#include "server/shared.h"

enum { SERVE__BUSY_USUAL = 5000 /* busy-reply-threshold: nobody is ever told BUSY */ };
enum { SERVE__BATCH = 32, SERVE__LISTENERS_MAX = 160 };
enum { SERVE__UNSENT = 16 /* answers that wait for each other */ };

struct serve__listener {
    struct serve__source source;
    enum serve__way way;
    bool is_shared; /* by all workers */
};

/* What the supervisor hands to a worker. */
struct serve__start {
    struct serve__shared *shared;
    const char *file; /* of the database; NULL: $CARET_DB or ./data.caret */
    const char *shm_dir;
    int sync; /* CARET_SYNC_* */
    int index;
    struct serve__listener listeners[SERVE__LISTENERS_MAX];
    int nlisteners;
    int channel;    /* connections of a server that this one takes over (moving.h); -1: none */
    int relisten;   /* where other sockets come from (relisten.h), */
    uint64_t round; /* and how often they had changed */
};

struct serve__worker {
    int index, epoll;
    _Atomic bool stopping;
    bool accept_paused, drains;       /* drains: moving.h */
    bool saves, always;               /* what is sent is on the disk: disk.h; appendfsync is `always` */
    int64_t now;                      /* milliseconds since 1970, at the start of the turn */
    unsigned interest;                /* SERVE__EVENT_* that somebody wants to be told: all of `wanted` */
    unsigned wanted[SERVE__TELLS];    /* event.h */
    struct serve__mail *mail;         /* meet/mail.h */
    struct serve__blocking *blocking; /* meet/blocked.c */
    _Atomic uint32_t *access;         /* keys/access.h; NULL: no policy asks for it */
    int64_t memory_at;                /* when there was a look at what is used: keys/evict.c; 0: look again */
    unsigned memory_looks;
    bool memory_full;
    bool counts_clients;              /* there is a limit to their memory: meet/client_memory.c */
    bool saw_expired;                 /* a command met a key that is due: it is deleted in the next turn */
    struct serve__locks *lock_first;  /* of clients that wait for locks: node/lock.h */
    int64_t lock_looked;              /* when they tried */
    bool lock_look;                   /* they are to try: one was released */
    bool mail_waits;                  /* letters are to be sent */
    unsigned held;                    /* connections that wait for the end of others: meet/ending.h */
    uint64_t version;                 /* of the configuration that `config` was read from */
    const struct serve__user *limits; /* of the default user; NULL: it may do everything (admin/acl.h) */
    uint64_t acl_version, acl_loads;
    struct serve__conn *serving; /* the connection whose commands are being run */
    uint64_t tracked, restarts;  /* those of `shared`: what this worker knows of them */
    uint64_t monitors;           /* of all workers, at the start of the turn */
    uint64_t stamp;              /* when the last command of this batch ended: admin/measure.h */
    struct serve__config config;
    struct serve__shared *shared;
    struct serve__stats *stats; /* our row */
    caret_db *db;
    struct serve__runner run;
    struct serve__start *start;
    struct serve__scripts *scripts; /* all; NULL until the first */
    struct serve__handoff *handoff; /* NULL until the first script */
    uint32_t runs;                  /* of scripts */
    struct serve__conn *conns;
    struct serve__conn *ready;  /* list of serve__conn_wake() */
    struct serve__conn *served; /* what is left of it in this turn */
    struct serve__conn *unsaved;
    struct serve__conn *unsent[SERVE__UNSENT]; /* in order; NULL: it was ended */
    unsigned nunsent, nspare_out;
    struct serve__buffer spare_in, spare_out[SERVE__UNSENT];
    struct serve__args spare_args;
    caret_node_buf nodes[SERVE__BATCH]; /* of what one command looks up together, or a row of GETs */
    caret_node_buf ahead[SERVE__BATCH]; /* of commands that are still to be run: pipeline.c */
    int64_t swept;                      /* when idle connections were looked for */
    int spare_fd;                       /* given up when there are no descriptors, to refuse one properly */
    int64_t due;                        /* when the next key expires, as far as this worker knows */
};

/* What the program does: the supervisor, until all workers have ended.  The exit status. */
int serve__main(int argc, char **argv);

/* A turn of the loop. */
void serve__worker_turn(struct serve__worker *w);

/* Make a runner ready: its session, and nodes. */
int serve__runner_open(struct serve__worker *w, struct serve__runner *r);

/* Serve until told to stop.  The exit status. */
int serve__worker_main(struct serve__start *start);

/* Begin a new turn within a command that waited (DEBUG SLEEP): clock and expiry. */
int64_t serve__now(void); /* milliseconds since 1970 */
void serve__worker_clock(struct serve__worker *w);

bool serve__watch(struct serve__worker *w, struct serve__source *s, uint32_t events);

/* Serve all that wait at a socket. */
void serve__accept_all(struct serve__worker *w, struct serve__listener *l);

void serve__log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
