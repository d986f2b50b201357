/*
 * session.h - what is inside a caret_db and a caret_session.
 *
 * Every public function on data begins with caret__session_enter(): is the database open, are we
 * a forked child that must attach first?  It chooses between the global view and
 * the local one; inside a transaction global reads and writes go through
 * txn/txn.h.
 */
#ifndef CARET_API_SESSION_H
#define CARET_API_SESSION_H

#include <pthread.h>

#include "api/node.h"
#include "base/error.h"
#include "log/commit.h"
#include "store/remote.h"
#include "tree/leaves.h"
#include "tree/walk.h"
#include "tree/ways.h"
#include "txn/lock.h"
#include "txn/txn.h"

/* What sessions count; see caret__count(). */
enum caret__counter { CARET__GETS, CARET__SETS, CARET__COMMITS, CARET__RESTARTS, CARET__COUNTERS };
#define CARET__COUNTED_AT_ONCE 251u /* a prime: not in step with what a program does in turns */

struct caret_db {
    struct caret__engine *e;
    caret_options options;
    bool closed;
    unsigned refs; /* the handle itself and each session */
    pthread_mutex_t lock;
    struct caret_session *sessions;
    struct caret_db *next; /* of all handles of the process */
    char *path;
    struct caret__store_db *store; /* not NULL: it is on a server, and `e` only stands in for an engine */
};

struct caret_session {
    struct caret_db *db; /* NULL: locals only */
    bool observes;       /* the engine only observes: api/observe.c; the session holds a reference to it */
    bool observing;      /* caret__observe_call() is in progress */
    uint32_t process; /* if it observes: whose its transaction is, and not that of a fork (base/process.h) */
    struct caret__engine *e;
    struct caret__view global; /* of the database, or of the snapshot in progress */
    struct caret__view live;   /* of the database, while there is a snapshot */
    struct caret__leaves leaves;
    struct caret__walk walk;                  /* `global` leads to it */
    struct caret__ways ways;                  /* the same */
    _Atomic uint32_t counts[CARET__COUNTERS]; /* not yet added to the process's; own, caret_stat() looks */
    _Atomic uint32_t gets_published;          /* of these; session.c tells why */
    uint64_t gets_noted_at;
    uint64_t gets_not_noted;
    struct caret__private locals;
    bool has_locals;
    const caret_locals *elsewhere; /* elsewhere.c: then has_locals is false */
    struct caret__txn txn;
    struct caret__locker locker;
    struct caret__lock_hooks lock_hooks; /* caret_session_lock_hooks() */
    struct caret__batch batch;
    struct caret__alarm alarm; /* caret_interrupt() */
    struct caret_log *awaits;  /* what caret_wait() reads; NULL: it was not called */
    uint8_t *out;              /* the value returned last */
    size_t out_cap;
    uint8_t *many; /* the values returned last by caret_get_many() */
    size_t many_cap;
    struct caret__kept *kept; /* many.c */
    int commit_flags;         /* of every commit: CARET_TXN_BATCH or 0 */
    uint64_t floor_id;
    struct caret_session *next, *prev; /* of the handle */
    struct caret__thread *thread;      /* thread.c; NULL: of none */
    struct caret_session *next_in_thread, *prev_in_thread;
    struct caret__remote *remote; /* of a database on a server, else NULL */
};

/* Slow part of caret__session_enter(): says why not, or attaches a forked child. */
int caret__session_refuse(caret_session *s);

/* Slow part of caret__session_enter_read(). */
int caret__session_refuse_read(caret_session *s);

/* May the session use its database now? */
static inline int caret__session_enter(caret_session *s)
{
    if (caret__likely(s != NULL && s->e != NULL && !s->db->closed && *s->e->fork_mark != 0))
        return CARET_OK;
    return caret__session_refuse(s);
}

/* The same, with nothing done about it if not: for a quick way, which leaves that to the long one. */
static inline bool caret__session_ready(const caret_session *s)
{
    return s->e != NULL && !s->db->closed && *s->e->fork_mark != 0;
}

/*
 * The same for a call that reads nodes.  CARET__OBSERVED: what it reads counts only if nothing has
 * overtaken the view meanwhile; it returns what caret__observe_call() makes of it.
 */
#define CARET__OBSERVED (-1000)
static inline int caret__session_enter_read(caret_session *s)
{
    if (caret__likely(s != NULL && s->e != NULL && !s->db->closed && *s->e->fork_mark != 0))
        return CARET_OK;
    return caret__session_refuse_read(s);
}

/* ---- remote.c: sessions of a database on a server ---- */

/*
 * What every enter answers for such a session, whose stand-in of an engine has a fork mark of 0: the caller goes the
 * remote way then, where it would have handed on an error.  So sessions of files pay nothing for it.
 */
#define CARET__REMOTE (-1001)
int caret__session_enter_remote(caret_session *s);
static inline int caret__if_remote(int rc, int then) /* what enter said, if it is not CARET__REMOTE */
{
    return caret__unlikely(rc == CARET__REMOTE) ? then : rc;
}

/* Open the database of an address, and what is left of it after closing; caret_sync(). */
int caret__remote_db_open(const char *address, const caret_options *options, caret_db *db);
void caret__remote_db_free(caret_db *db);
int caret__remote_sync(caret_db *db);

/* One more driver, for tests: for the rest of the process. */
void caret__store_add(const struct caret__store *driver);

/* Bind a new session to its database; NOMEM. */
int caret__session_bind_remote(caret_session *s);
void caret__session_stop_remote(caret_session *s);

/* UNSUPPORTED: what is for a database in a file; `what` is a function. */
__attribute__((cold)) int caret__unsupported(const char *what, const caret_db *db);

int caret__remote_get_node(caret_session *s, const struct caret__node *n, caret_slice *value);
int caret__remote_get_nodes(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values);
int caret__remote_set_node(caret_session *s, const struct caret__node *n, const void *value, size_t len);
int caret__remote_remove(caret_session *s, const struct caret__span *r, bool alone);
int caret__remote_data_of(caret_session *s, const struct caret__node *n, int *data);
int caret__remote_writes(caret_session *s); /* caret__session_writes() */
int caret__remote_writer(caret_session *s); /* what caret__enter_writer() does after entering */

/* The transaction's end. */
int caret__remote_end(caret_session *s);
int caret__remote_restart(caret_session *s);
int caret__remote_back(caret_session *s);

/* ---- observe.c: sessions over an engine that observes ---- */

/* Call `read` for the node until it has seen one state; in a transaction that is no more: CARET_RESTART. */
typedef int caret__reader(caret_session *s, caret_node *n, void *arg);
int caret__observe_call(caret_session *s, caret_node *n, caret__reader *read, void *arg);

/* At the begin of any call: opens anew if need be, but not within a transaction. */
int caret__observe_enter(caret_session *s);

/* The transaction begins again: with what there is now. */
int caret__observe_restart(caret_session *s);

/* db.c: the engine of a handle, as it is now; for one that observes with a reference to be closed. */
int caret__db_engine(caret_db *db, struct caret__engine **e);

/* db.c: may the database be used now, by its engine?  To be left again. */
int caret__db_enter(const char *function, caret_db *db, struct caret__engine **e);
void caret__db_leave(struct caret__engine *e);

/* The same for what is not to be had of a database opened read-only: READONLY, which names `what`.  Not to be left. */
int caret__db_enter_attached(const char *function, caret_db *db, const char *what, struct caret__engine **e);

/* Are these a session and a node?  Each function on data asks first; the function's name is for the message. */
static inline int caret__args_check(const char *function, const caret_session *s, const caret_node *n)
{
    if (caret__likely(s != NULL && caret__node_ok(n)))
        return CARET_OK;
    return s == NULL ? caret__null(function, "s", "a session") : caret__not_a_node(function, "n", n);
}

/* Locals come to life at first use: has_locals, unless somebody else keeps them. */
static inline int caret__session_locals(caret_session *s)
{
    if (s->has_locals || s->elsewhere != NULL)
        return CARET_OK;
    int rc = caret__private_init(&s->locals);
    s->has_locals = rc == CARET_OK;
    return rc;
}

/* ---- elsewhere.c: local variables that somebody else keeps (caret_session_locals), by keys; rarely called ---- */
#define CARET__RARELY __attribute__((noinline, cold))
CARET__RARELY int caret__elsewhere_get(caret_session *s, const struct caret__node *n, caret_slice *value);
CARET__RARELY int caret__elsewhere_put(caret_session *s, const uint8_t *key, size_t klen, const void *value,
                                       size_t len);
CARET__RARELY int caret__elsewhere_kill(caret_session *s, const struct caret__span *r, bool alone);
/* The first key that is not before `key`, in a buffer of CARET__PLACE_MAX bytes; back: the last before it. */
CARET__RARELY int caret__elsewhere_seek(caret_session *s, uint8_t *key, size_t *len, bool back);

/* ---- version.c: structs that begin with their size ---- */

/* Can that be the size of a struct?  INVALID names function and struct. */
int caret__struct_check(const char *function, const char *what, const void *given, size_t own);

/* Options as a program gives them become the library's own. */
int caret__struct_take(const char *function, void *own, size_t own_size, const void *given);

/* The library's own becomes what a program asked for; the size of `to` was checked. */
void caret__struct_give(void *to, const void *own, size_t own_size);

/* Room for n bytes in the session's result buffer. */
int caret__session_out(caret_session *s, size_t n);

/* The session goes on with the engine as this process attached it last. */
void caret__session_bind(caret_session *s, struct caret__engine *e);

/* Roll back whatever is in progress, release locks; for closing. */
void caret__session_stop(caret_session *s);

/* Stop it and free all but the struct, whose engine is then NULL: its thread has ended. */
void caret__session_end(caret_session *s);

/* many.c: values kept for a transaction are no longer; all: nor is memory for others. */
void caret__kept_drop(caret_session *s, bool all);

/* ---- thread.c: the calling thread's sessions ---- */
void caret__thread_join(caret_session *s);
void caret__thread_leave(caret_session *s);
void caret__threads_lock(void); /* no thread ends a session meanwhile; first in the order of locks */
void caret__threads_unlock(void);

/* In a forked child: forget the transaction and the locks, which are the parent's.  It needs a new locker. */
void caret__session_disown(caret_session *s);

/* transaction.c: drop the transaction in progress without a word to the shared memory. */
void caret__txn_forget(caret_session *s);

/* transaction.c, for remote.c: its changes are undone; it is over; savepoint `level` is the innermost again; it begins
 * anew. */
void caret__txn_drop(caret_session *s);
void caret__txn_finish(caret_session *s);
void caret__txn_undo(caret_session *s, unsigned level);
void caret__txn_again(caret_session *s);

static inline struct caret__procslot *caret__session_slot(const caret_session *s)
{
    return &s->e->slots[s->e->slot];
}

/* Add what the session has counted to its process's counters; forget it; add what is still to be added to `to`, which
 * any thread may do. */
void caret__counts_publish(caret_session *s);
void caret__counts_drop(caret_session *s);
void caret__counts_add(const caret_session *s, caret_stats *to);

/* The same when so many were gets that the last one, of this key, has its global noted for all of them. */
void caret__gets_publish(caret_session *s, const uint8_t *key, size_t len);
void caret__gets_publish_node(caret_session *s, const struct caret__node *n);

/* Count one; true: the session has enough to publish them. */
static inline bool caret__count_one(caret_session *s, enum caret__counter which)
{
    uint32_t n = atomic_load_explicit(&s->counts[which], memory_order_relaxed) + 1;
    atomic_store_explicit(&s->counts[which], n, memory_order_relaxed);
    return caret__unlikely(n >= CARET__COUNTED_AT_ONCE);
}

/*
 * Count a call.  The counters of a process are shared by its threads: an atomic addition for each call
 * would cost as much as the call, a plain one would lose some.  So a session adds up a few first.
 */
static inline void caret__count(caret_session *s, enum caret__counter which)
{
    if (caret__count_one(s, which))
        caret__counts_publish(s);
}

/* Count a get of a node of the database. */
static inline void caret__count_get(caret_session *s, const struct caret__node *n)
{
    if (caret__count_one(s, CARET__GETS))
        caret__gets_publish_node(s, n);
}

/* ---- data.c ---- */

/* Common beginning of all that writes globals: may it, and in a transaction, does that still count? */
int caret__enter_writer(caret_session *s);

/* Find the node's entry, by its hint or anew, and note the hint.  To be validated. */
int caret__find(caret_session *s, struct caret__view *v, struct caret__node *n, struct caret__at *at);

/* A set of the node, to what `compute` makes of the value there is, as a commit of its own. */
int caret__commit_node(caret_session *s, struct caret__node *n, caret__compute *compute, void *ctx,
                       uint64_t *lsn);

/* Before a global write: read-only?  The background thread starts at the first one. */
int caret__session_writes_slow(caret_session *s);
static inline int caret__session_writes(caret_session *s)
{
    if (caret__likely(s->txn.snapshot == NULL && !s->db->options.readonly &&
                      __atomic_load_n(&s->e->background, __ATOMIC_ACQUIRE) != NULL))
        return CARET_OK;
    return caret__session_writes_slow(s);
}

/* Look at the tree of a checkpoint from now on; at the database again. */
int caret__session_snapshot(caret_session *s);
void caret__session_snapshot_end(caret_session *s);

/* move.c: what caret_data() says of a node that remembers its slot, by the slot after that; NONE: it has to be looked
 * for. */
int caret__data_beside(caret_session *s, struct caret__node *n, int *data);

/* The place of a hint is a spot's second word, of which `kept` is the highest byte: neither is taken apart to make the
 * other of it. */
_Static_assert(offsetof(struct caret__spot, pgno) == 8 && offsetof(struct caret__spot, pos) == 12 &&
                   offsetof(struct caret__spot, found) == 14 && offsetof(struct caret__spot, kept) == 15 &&
                   sizeof(struct caret__spot) == 16,
               "a spot is laid out as the place of a hint");

static inline uint64_t caret__spot_place(const struct caret__spot *spot)
{
    uint64_t place;

    memcpy(&place, (const uint8_t *)spot + offsetof(struct caret__spot, pgno), sizeof place);
    return place & UINT64_MAX >> 8;
}

/* A hint as a commit takes it; and where a node was seen last, version 0: it is not known. */
static inline struct caret__spot caret__hint_spot(const struct caret__hint_words *w)
{
    struct caret__spot spot = {.version = w->version};

    memcpy((uint8_t *)&spot + offsetof(struct caret__spot, pgno), &w->place, sizeof w->place);
    return spot;
}
static inline struct caret__spot caret__spot_of(const caret_session *s, const struct caret__node *n)
{
    struct caret__hint_words w;

    return caret__hint_words_within(n, s->global.pg->id, &w) ? caret__hint_spot(&w) : (struct caret__spot){0};
}

/* The node's key is what caret__session_from() or caret__session_before() has found there: remember it. */
static inline void caret__session_found(const caret_session *s, struct caret__node *n,
                                        const struct caret__at *at)
{
    if (!n->local && at->pgno != 0 && s->txn.snapshot == NULL)
        caret__hint_put(
            n, (struct caret__hint){at->version, s->e->pg.id, at->pgno, (uint16_t)at->pos, at->found});
}

/* data.c: the value in the database, whatever the transaction has changed; noted as read.  NONE. */
int caret__get_committed(caret_session *s, caret_node *node, caret_slice *out);

/* data.c: set a key in the transaction; a local one, whose locals have come to life. */
int caret__txn_put(caret_session *s, const uint8_t *key, size_t klen, const void *value, size_t len);
int caret__local_put(caret_session *s, const uint8_t *key, size_t klen, const void *value, size_t len);

/* What was read by a session in a transaction: does it count?  `rc` if so, else why not. */
int caret__session_saw(const caret_session *s, int rc);

/* After a commit: wait for the disk if the mode says so. */
int caret__session_committed_slow(caret_session *s, uint64_t lsn, int flags);
static inline int caret__session_committed(caret_session *s, uint64_t lsn, int flags)
{
    caret__count(s, CARET__COMMITS);
    s->global.applied = caret__max64(s->global.applied, lsn); /* at least */
    flags |= s->commit_flags;
    if (caret__likely(flags == 0 && s->db->options.sync != CARET_SYNC_COMMIT &&
                      __atomic_load_n(&s->e->background, __ATOMIC_ACQUIRE) != NULL))
        return CARET_OK;
    return caret__session_committed_slow(s, lsn, flags);
}

/* Where a node's key is looked for: a node's `local` as a number, or what CARET__REMOTE makes of it. */
enum { CARET__IN_DATABASE = 0, CARET__IN_LOCALS = 1, CARET__AT_SERVER = 2 };
static inline unsigned caret__place_of(const caret_session *s, bool local)
{
    return local ? CARET__IN_LOCALS : s->remote != NULL ? CARET__AT_SERVER : CARET__IN_DATABASE;
}

/* Keys as the session sees them (transaction included): first >= key, last < key.  at: where that is;
 * at->pgno is 0 if it is not known. */
int caret__session_from(caret_session *s, unsigned place, uint8_t *key, size_t *len, struct caret__at *at);
int caret__session_before(caret_session *s, unsigned place, uint8_t *key, size_t *len, struct caret__at *at);

#endif
