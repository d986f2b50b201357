/*
 * shared.h - what the workers of one server share: a mapping that the supervisor makes before it forks.
 *
 * | part     | written by                 | read by | what a stale or half written one costs |
 * | stats    | the worker of the row      | all     | a number that is late                  |
 * | next_id  | all, by fetch_add          | all     | nothing                                |
 * | config   | whoever has `lock`         | all, once a turn if `version` moved | the old value for a turn |
 * | scripts  | whoever runs SCRIPT FLUSH, by fetch_add | all, once a script | a script that was just forgotten |
 * | late     | the worker of the row; `kill`: any | all | the script before it; its text is under `lock` |
 * | places   | whoever runs a SCAN        | all | cursor.h has its protocol             |
 * | stop, drain | any                     | all, once a turn | one turn more                 |
 * | row      | its worker                 | all     | meet/clients.h has its protocol        |
 * | pause    | any                        | all, at each command | nothing                   |
 * | directory | its worker                | all     | meet/directory.h has its protocol      |
 * | tracked  | each worker its bit, by fetch_or | all, after each commit | meet/tracking.h has its protocol |
 * | lock_wait | its worker                | all     | node/lock.h has its protocol          |
 * | access, credit | all                  | all     | keys/access.h, keys/evict.h say it    |
 * | rated, rate | any, of its time        | INFO    | admin/rates.h has its protocol        |
 * | relisten | `owner`, the supervisor  | both    | relisten.h has its protocol            |
 * | mail     | the supervisor, once       | all     | nothing: they are numbers of sockets   |
 *
 * `lock` is a robust mutex: its next owner goes on when a process dies with it.  What it guards are texts
 * that are written whole before `version` moves.
 */
#ifndef CARET_SERVER_SHARED_H
#define CARET_SERVER_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/command.h"
#include "server/tls/tls.h"

enum {
    SERVE__WORKERS_MAX = 64,
    SERVE__CONFIG_MAX = 256,
    SERVE__CONFIG_BYTES = 1024,
    SERVE__COMMANDS_MAX = 512
};

typedef _Atomic uint64_t serve__counter;

struct serve__command_stats {
    serve__counter calls, nanoseconds, rejected, failed;
};

/* Of one worker; a successor goes on with the row of the dead one. */
struct serve__stats {
    serve__counter pid;
    serve__counter connections; /* open now */
    serve__counter blocked;     /* of them, waiting in a blocking command, or about to: meet/line.h */
    serve__counter waiting;     /* of them, those that have their place in a line: INFO's blocked_clients */
    serve__counter accepted, refused, commands, errors, bytes_in, bytes_out;
    serve__counter hits, misses, dirty, expired_keys, evicted_keys;
    serve__counter mail_dropped; /* letters to other workers */
    serve__counter paused;       /* connections that wait for the end of CLIENT PAUSE */
    serve__counter monitors;     /* connections that see all commands */
    serve__counter users;        /* version of the ACL by which it has ended the turn: meet/ending.h */
    serve__counter trackers;     /* connections that track keys; what they have read, and of how many */
    serve__counter tracked_keys, tracked_items, tracked_prefixes;
    serve__counter lock_waits; /* connections that wait for a lock: node/lock.h */
    serve__counter syncs;      /* turns that synced the log: disk.h */
    serve__counter turned;     /* when the last turn began, in milliseconds; 0: it does not serve yet */
    serve__counter client_memory, evicted_clients; /* maxmemory-clients: meet/client_memory.c */
    serve__counter listens;                        /* the round of its sockets: relisten.h */
    serve__counter taking;       /* odd: it has a packet, but not the row of what came in it: moving.c */
    serve__counter reserved[18]; /* for features to come: give them a name above */
    struct serve__command_stats command[SERVE__COMMANDS_MAX];
};

/* Of SCAN: cursor.h. */
enum { SERVE__PLACES = 16384 };
struct serve__place {
    serve__counter id;
    uint32_t len;
    char bytes[264];
};

/* Sums over all workers at a time, in milliseconds since 1970: admin/rates.h. */
enum { SERVE__RATES = 16 };
struct serve__rate {
    serve__counter at, commands, in, out;
};

/* A client that waits for a lock: node/lock.h. */
enum { SERVE__LOCK_WAITS = 1024, SERVE__LOCK_ABOVE = 6, SERVE__LOCK_HELD = 8, SERVE__LOCK_HELD_ABOVE = 24 };
struct serve__lock_wait {
    serve__counter ticket, name; /* ticket 0: none */
    uint32_t n_above, n_held, n_held_above;
    uint64_t above[SERVE__LOCK_ABOVE];           /* of the name: the nodes above it */
    uint64_t held[SERVE__LOCK_HELD];             /* what the client holds, */
    uint64_t held_above[SERVE__LOCK_HELD_ABOVE]; /* and the nodes above that */
};

/* The script that runs for longest of those of a worker that take long: handoff.h. */
struct serve__late {
    serve__counter since;  /* milliseconds since 1970; 0: none */
    serve__counter number; /* of the run */
    serve__counter kill;   /* the run that is to be ended */
    serve__counter wrote, function;
    int argc;
    char name[128];
    char argv[1024]; /* of each argument its length, in 4 bytes, and its bytes: of as many as fit */
};

struct serve__shared {
    pthread_mutex_t lock;
    serve__counter next_id;  /* of clients */
    serve__counter version;  /* of config */
    serve__counter scripts;  /* how often SCRIPT FLUSH was called */
    serve__counter stop;     /* 1: all workers end */
    serve__counter started;  /* seconds since 1970 */
    serve__counter restarts; /* workers that died */
    serve__counter next_cursor;
    serve__counter saved, saves,
        saved_dirty;                       /* of the last SAVE: seconds since 1970, how many, `dirty` then */
    struct serve__row *row;                /* of clients: meet/clients.h */
    serve__counter rows;                   /* none was ever used from here on */
    serve__counter pause_until, pause_all; /* CLIENT PAUSE: milliseconds since 1970; 1: all commands */
    struct serve__acl *acl;                /* admin/acl.h */
    struct serve__measures *measures;      /* admin/measure.h */
    struct caret_codec__latency *latency;  /* of each worker and command: admin/measure.h */
    serve__counter tracked;                /* a bit of each worker that is told of changes: meet/tracking.h */
    _Atomic uint32_t *access;              /* when keys were used: keys/access.h */
    serve__counter credit, pages;          /* of what was evicted, pages seen last: keys/evict.h */
    serve__counter peak;                   /* bytes in use, at most so far */
    serve__counter next_ticket;            /* of clients that wait for locks */
    serve__counter tls_version;            /* counted up when certificates are to be read anew */
    unsigned char tls_keys[SERVE__TLS_KEY_BYTES]; /* of session tickets; under `lock`: tls/tls.h */
    serve__counter no_expire;                     /* 1: DEBUG SET-ACTIVE-EXPIRE 0 */
    serve__counter no_cron;                       /* 1: DEBUG PAUSE-CRON 1 */
    serve__counter all_in_scripts;                /* 1: DEBUG SET-DISABLE-DENY-SCRIPTS 1 */
    serve__counter rated;                         /* when the last was taken of: */
    struct serve__rate rate[SERVE__RATES];
    struct {
        serve__counter owner; /* worker that changes ports, from 1; 0: none */
        serve__counter state, round;
    } relisten;
    bool never_syncs; /* the server was started with `appendfsync no` */
    int nworkers;
    char config_file[4096]; /* the path from which config was read, or "" */
    struct {
        int in, out;
    } mail[SERVE__WORKERS_MAX];                             /* meet/mail.h */
    struct serve__directory *directory[SERVE__WORKERS_MAX]; /* meet/directory.h */
    int channel_in, channel_out; /* connections to a server that takes over: moving.h */
    serve__counter drain;        /* 1: they are to be moved */
    pid_t supervisor;
    char run_id[41];
    char config[SERVE__CONFIG_MAX][SERVE__CONFIG_BYTES]; /* by the index of config.c's table */
    size_t config_len[SERVE__CONFIG_MAX]; /* of those that may have any bytes; else it is not set */
    struct serve__stats stats[SERVE__WORKERS_MAX];
    struct serve__late late[SERVE__WORKERS_MAX];
    struct serve__place places[SERVE__PLACES];
    struct serve__lock_wait lock_wait[SERVE__WORKERS_MAX][SERVE__LOCK_WAITS];
};

/* Make the mapping.  NULL: errno tells. */
struct serve__shared *serve__shared_new(int nworkers);

void serve__shared_lock(struct serve__shared *s);
void serve__shared_unlock(struct serve__shared *s);

/* A counter of one row, which only its worker adds to. */
static inline void serve__add(serve__counter *c, uint64_t n)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Sum of a counter over all rows: its offset within struct serve__stats. */
uint64_t serve__sum(struct serve__shared *s, size_t offset);
#define SERVE__SUM(s, field) serve__sum((s), offsetof(struct serve__stats, field))

#endif
