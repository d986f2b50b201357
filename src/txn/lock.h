/*
 * lock.h - the lock manager: hierarchical, counted locks on names.
 *
 * A name is an encoded key (base/key.h); that of a local variable has CARET__LOCK_LOCAL in its first
 * byte, so that a and ^a are two names.  A lock on it excludes every other session from the name, from
 * all names above it and from all below it.  Whether there is data makes no difference.  Locks belong to
 * a session, not to a process or thread; when the process dies they are released.
 *
 * One session's functions are called by one thread at a time, but while a thread sleeps between its hooks.  A call
 * that fails has changed nothing.
 */
#ifndef CARET_TXN_LOCK_H
#define CARET_TXN_LOCK_H

#include "shm/engine.h"

#define CARET__LOCK_LOCAL 0x80u /* names are ASCII: the bit is free */

/* A name held, as its owner remembers it: one record per name and transaction level that took it. */
struct caret__held {
    uint32_t cell;
    uint32_t count; /* 0: released, the record goes when it can */
    uint32_t prev;  /* record + 1 of the same name taken at a level before */
    uint64_t level; /* the mark that was set last when it was taken */
};

/* A name kept through a restart: held still, but not yet taken again by the new run. */
struct caret__carried {
    uint32_t cell;
    uint32_t count;
};

/* What a host with several threads in one session is told around each of its sleeps: between the two others may use
 * the locker. */
struct caret__lock_hooks {
    void (*before)(void *arg); /* NULL: nothing is told */
    void (*after)(void *arg);
    void *arg;
};

/* The locks of one session: private memory. */
struct caret__locker {
    uint64_t id;    /* process slot << 32 | number of the session */
    uint32_t nonce; /* of the process slot */
    uint32_t n;     /* records in held[] */
    uint32_t cap;
    uint32_t dead; /* of them with count 0 */
    uint32_t ncarried;
    uint32_t carried_cap;
    uint32_t last; /* cell of the name let go last; by now perhaps of another, or none */
    uint64_t level;
    uint64_t carried_mark; /* mark of the transaction that carries */
    struct caret__held *held;
    struct caret__carried *carried;
    struct caret__alarm *alarm;            /* ends its waits; NULL = nothing does */
    const struct caret__lock_hooks *hooks; /* NULL = none */
};

/* A new session's locker.  Also for a forked child, whose copy of its parent's locker holds nothing. */
void caret__locker_init(struct caret__engine *e, struct caret__locker *me);

/* Free its memory.  Whoever wants its locks released calls caret__lock_release_all before. */
void caret__locker_fini(struct caret__locker *me);

/*
 * Take a lock, once more if it is held.  Waits up to timeout_ns; 0 = one try; UINT64_MAX = for ever.
 * CARET_LOCK_TIMEOUT, CARET_DEADLOCK (the message tells the ring); INTERRUPTED (by the alarm);
 * EVICTED, LIMIT (table full), SHM, NOMEM, and what repairing a dead writer's commit can say.
 */
int caret__lock_take(struct caret__engine *e, struct caret__locker *me, const uint8_t *key, size_t len,
                     uint64_t timeout_ns);

/* Take all of them or none.  What the session held before it goes on holding. */
int caret__lock_take_all(struct caret__engine *e, struct caret__locker *me, const uint8_t *const keys[],
                         const size_t lens[], size_t n, uint64_t timeout_ns);

/* Give back one count.  CARET_E_NOTLOCKED. */
int caret__lock_release(struct caret__engine *e, struct caret__locker *me, const uint8_t *key, size_t len);

int caret__lock_release_all(struct caret__engine *e, struct caret__locker *me);

/*
 * Transactions.
 *   mark     at each begin, nested ones too
 *   rollback releases what was taken or counted up since the mark and not released meanwhile; what
 *            was released stays released
 *   restart  (only the outermost mark) keeps the locks, but the session has to take them again: that
 *            succeeds at once, so that a body run twice has counted once
 *   commit   (only the outermost mark) releases what a run before took and the last one didn't
 */
uint64_t caret__lock_mark(struct caret__locker *me);
int caret__lock_rollback(struct caret__engine *e, struct caret__locker *me, uint64_t mark);
int caret__lock_restart(struct caret__engine *e, struct caret__locker *me, uint64_t mark);
int caret__lock_commit(struct caret__engine *e, struct caret__locker *me, uint64_t mark);

/*
 * Release all locks of a dead process, and forget what its sessions wait for.  Its unfinished
 * commit must be repaired before: the caller has taken and released the writer mutex since it died.
 */
void caret__locks_reap(struct caret__engine *e, uint32_t slot, uint32_t slot_nonce);

/* Release the locks of those who are dead; of the process `pid` only, if that is not 0.  *found: how many. */
int caret__locks_bury(struct caret__engine *e, uint64_t pid, unsigned *found);

/* ---- lock_check.c --------------------------------------------------------------- */

struct caret__lock_info {
    const uint8_t *key;
    size_t len;
    uint64_t owner; /* session */
    uint32_t slot;  /* of its process */
    uint32_t nonce;
    uint64_t pid;
    uint32_t count;
    uint32_t waiting; /* sessions it keeps waiting */
    uint64_t age_ns;  /* since it was taken first, or is waited for; precise to some milliseconds */
    bool waits;       /* it is not held by the owner but waited for; count and waiting are 0 */
};

/* Call `each` for every lock held and every wait, in the order of names and the held one of a name first, until it
 * returns false.  It is called with a copy, outside of the mutex. */
int caret__lock_list(struct caret__engine *e, bool (*each)(void *arg, const struct caret__lock_info *lock),
                     void *arg);

/* Is the table sound?  Appends findings to report and adds their number to *found.  Not CARET_OK: it can't be told. */
int caret__locks_check(struct caret__engine *e, char *report, size_t cap, unsigned *found);

#endif
