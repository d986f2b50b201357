/*
 * store.h - a place where globals live that is not this process's memory: what a driver has to offer.
 *
 * The API (src/api) keeps what belongs to a session: the buffer of a transaction, savepoints, locals, counts of locks.
 * A driver is asked for four things only: read, step, commit a list of changes, lock names.  All keys are encoded
 * (base/key.h), ordered as memcmp() does, a prefix before what it begins, and at most CARET__KEY_MAX bytes long;
 * bounds of ranges one byte more.  Values have 0 to 16 MiB.
 *
 *     open --> db --attach--> conn: idle --begin--> begun --get, step, ...--> reading --commit, rollback--> idle
 *                                    |  get, step, commit: each one a transaction of its own
 *
 * Invariants that the API relies on:
 *   1  Strict serializability: transactions that commit, and single calls outside of them, are as if done one after
 *      the other, in an order in which what began after another was acknowledged comes after it.
 *   2  Within a transaction all reads are of one state, also in one that is not going to commit.
 *   3  commit() is atomic.  OK: it is done, once.  RESTART and every error but UNKNOWN: nothing of it is done, nor will
 *      be.  UNKNOWN (-46): it could not be found out.
 *   4  Whatever commit() returns, conn is idle afterwards.  After RESTART from a read the transaction is over for the
 *      server; the API calls rollback() before anything else.
 *   5  After a call that returned RESTART or an error what was handed out is nothing.
 *
 * Threads: `open`, `close`, `attach` and what has a db may be called by any thread; a conn is used by one at a time.
 * Processes: db and conn belong to the process that made them.  A forked child calls forget() and attaches anew.
 * Sleeping: a driver that waits for the network calls caret__away() before and caret__back() after, and
 * caret__away_still() some times a second (base/away.h).
 * Errors: by caret__fail(), the text naming db->shown.  Memory: what a call hands out belongs to the driver and is good
 * until the next call with that conn; what `each` is told, until it returns.
 */
#ifndef CARET_STORE_STORE_H
#define CARET_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "caret.h"

struct caret__bytes {
    const uint8_t *data; /* NULL: there is none */
    size_t len;
};

/* A change.  A commit has them in the order kills, deletes, sets, and each of the three in key order; no key is in two
 * of deletes and sets; kills do not overlap.  They are to be done in this order. */
enum caret__store_kind { CARET__STORE_KILL = 1, CARET__STORE_DELETE = 2, CARET__STORE_SET = 3 };
struct caret__store_op {
    enum caret__store_kind kind;
    struct caret__bytes key;
    struct caret__bytes value; /* of a set; of a kill the upper bound: keys from `key` on to before it */
};

/* What a store has, as far as the database that was opened has it. */
enum {
    CARET__STORE_LOCKS = 1,    /* lock, unlock */
    CARET__STORE_SNAPSHOT = 2, /* begin with CARET__STORE_READS */
};

/* What every driver's db begins with; written by open, and never again. */
struct caret__store_db {
    const struct caret__store *store;
    unsigned has;       /* CARET__STORE_LOCKS ... */
    char *shown;        /* its address without a password: caret_path() */
    const char *server; /* for messages: "this one is on SERVER": "PostgreSQL 15.18" */
    size_t txn_most;    /* bytes of keys and values that one commit may have */
};

/* How a transaction is begun. */
enum caret__store_begin {
    CARET__STORE_SERIAL = 0,
    CARET__STORE_ALONE = 1, /* others are to wait for what it reads, as after the third restart */
    CARET__STORE_READS = 2, /* a snapshot: nothing is going to be written, it is never restarted; may last */
};

/* Of a step. */
enum {
    CARET__STORE_BACK = 1,  /* the last key before `from`, else the first one at or after it */
    CARET__STORE_VALUE = 2, /* its value is wanted too */
    CARET__STORE_ONCE = 4,  /* no walk: others need not be read ahead */
};

/* Of a commit. */
enum {
    CARET__STORE_SYNC = 1,  /* wait for the disk whatever the mode */
    CARET__STORE_BATCH = 2, /* do not wait for it; an unknown outcome may be done again */
};

/* What a driver tells of a key.  CARET_OK: go on; else that is what the call returns. */
typedef int caret__store_each(void *ctx, size_t index, struct caret__bytes key, struct caret__bytes value);

/* Is a wait to end?  Asked some times a second; says so once. */
typedef bool caret__store_stop(void *ctx);

struct caret__store {
    const char *schemes[4]; /* what addresses begin with, before "://"; NULL after the last */

    /* Open, or make, the database of an address.  `o` was checked: no_create, readonly and sync count (what is not for
     * a store was refused by the API); sync: OFF, or else (0 too) commits are on the disk when they are acknowledged.
     * NOTFOUND OPEN VERSION FOREIGN READONLY IO NOMEM LIMIT UNSUPPORTED; INVALID: the address makes no sense.  No
     * connection need stay open. */
    int (*open)(const char *url, const caret_options *o, struct caret__store_db **db);
    void (*close)(struct caret__store_db *db); /* no conn is left; frees `shown` */

    /*
     * A session's own way to it.  Connects now, or at the first call that needs it.  `stop` (NULL: never) is asked
     * while a call waits for a lock, and while one waits for longer than a second for what it reads or for a
     * connection: that call is INTERRUPTED, having changed nothing; if it read in a transaction that is over for the
     * server, as after any other error.  A commit that was sent is waited for.
     */
    int (*attach)(struct caret__store_db *db, caret__store_stop *stop, void *ctx, void **conn);
    void (*detach)(void *conn); /* rolls back, gives back locks, frees */
    void (*forget)(void *conn); /* in a forked child: frees, and closes without a word to the server */

    /* Begin a transaction; sends nothing.  restarts: how often this one was restarted; from the second on it pauses,
     * longer each time, from the third on others are made to wait for what it reads. */
    int (*begin)(void *conn, enum caret__store_begin how, unsigned restarts);

    /* OK, CARET_NONE, RESTART (in a transaction), an error. */
    int (*get)(void *conn, struct caret__bytes key, struct caret__bytes *value);

    /* The values of n keys, ascending, none twice, of one state: each that is there is told once, in any order, with
     * its index among the keys (and `key` as given). */
    int (*get_many)(void *conn, const struct caret__bytes *keys, size_t n, caret__store_each *each,
                    void *ctx);

    /*
     * The first key at or after `from` (BACK: the last one before it; of length 0: the last of all): CARET_OK, key and,
     * if asked for, value; CARET_NONE.  Steps of a walk come one after the other: the next `from` is the key told with
     * 00 or FF after it (FF: nothing below it is wanted), back the key itself.  The driver may read ahead: within a
     * transaction, whatever it has read counts to its end; outside of one only for a step that goes on where the last
     * step of this conn ended, for 0.1 s at most after it was read, and not after a commit of this process to the
     * same db.
     */
    int (*step)(void *conn, struct caret__bytes from, unsigned flags, struct caret__bytes *key,
                struct caret__bytes *value);

    /* Up to `most` keys (0: all) from lo to before hi (of length 0: to the end), ascending, of one state; `index`
     * counts from 0.  values: whether `each` is told them, else their data is NULL and len is right. */
    int (*range)(void *conn, struct caret__bytes lo, struct caret__bytes hi, size_t most, bool values,
                 caret__store_each *each, void *ctx);

    /* Make the changes and end the transaction; without begin() a transaction of its own, which is repeated by the
     * driver until it is done: then never RESTART.  n may be 0: did what was read count?  RESTART TXN_TOO_BIG UNKNOWN
     * DISKFULL READONLY IO ... see the invariants. */
    int (*commit)(void *conn, const struct caret__store_op *ops, size_t n, unsigned flags);
    void (*rollback)(void *conn); /* idle, broken, or not: it is idle then; nothing need be sent at once */

    /* Everything that was acknowledged so far is on the disk.  (caret_sync) */
    int (*sync)(void *conn);

    /* ---- CARET__STORE_LOCKS ----
     * Take the names, ascending and none of them held by this conn, all or none; each excludes all other conns from it,
     * from all names above it and below it.  (Above: keys that it begins with, at the ends of subscripts and of the
     * variable's name.)  timeout_ns: 0 one try, UINT64_MAX for ever.  LOCK_TIMEOUT; DEADLOCK, with the detail;
     * INTERRUPTED; LIMIT.  In a transaction or not, which is not disturbed.
     * When the server has given them away, as a connection was lost, the next call with conn, whichever, is EVICTED,
     * once; the transaction is over, and the API knows that no locks are held. */
    int (*lock)(void *conn, const struct caret__bytes *names, size_t n, uint64_t timeout_ns);
    int (*unlock)(void *conn, const struct caret__bytes *names, size_t n); /* held ones */
};

#endif
