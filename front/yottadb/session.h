/*
 * session.h - the caller, in which transaction, on which database: what all of libyottadb shares.
 *
 * THREADS AND SESSIONS
 *   Each thread that calls has a record, struct caret__ydb_thread, with a session for each database it used.  Reads and
 *   writes of globals go through the thread's own session, so that threads really run side by side.
 *   What YottaDB's programs expect to be the process's is shared, under a mutex each: local variables (locals.c) and
 *   locks (lock.c), each in a session of its own that belongs to no thread.
 *
 * TRANSACTIONS
 *   The outermost one runs in the session of the thread that begins it, its owner, for all who take part.  A token
 *   names owner, run and level:
 *
 *       token = run << 24 | slot of the owner << 7 | level        (level 1..127, so never YDB_NOTTP)
 *
 *   A call with a token takes the owner's mutex, and is INVTPTRANS unless the owner is in that run at that level just
 *   now.  `run` is counted up at each begin and each restart: a token of an earlier run is worth nothing.
 *   A level begun with a token by another thread changes the owner's level, under the mutex; while it
 *   lasts the tokens of the levels around it are not valid.
 *   A transaction begun by ydb_tp_s() has no token, nobody can join, and no mutex is taken.
 *   `in`: the owner whose transaction's function runs in this thread.  Functions ..._s belong to that.  A call with
 *   YDB_NOTTP in such a thread is INVTPTRANS: it would wait for, or disturb, its own transaction.
 *
 * THE END
 *   A thread is `busy` from the beginning to the end of each call, but not while a transaction's function runs.
 *   ydb_exit() sets the state, makes all processors see it (membarrier), and waits until none is busy: a call
 * either saw the
 *   state or is waited for.  So a call costs no fence.  Then databases are closed, which ends all sessions.
 *   The record of a thread that ends goes to whoever comes next; records are never freed, as there may be tokens.
 *
 * FORK
 *   A child starts with the thread that forked.  The other records are those of nobody; it is in no transaction, its
 *   sessions attach at their first use (caret.h), and hold no locks.  The mutexes are taken before the fork.
 */
#ifndef CARET_YOTTADB_SESSION_H
#define CARET_YOTTADB_SESSION_H

#include <caret.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "m/held.h"
#include "m/transaction.h"
#include "yottadb/libyottadb.h"
#include "yottadb/path.h"

#define caret__ydb_likely(x) __builtin_expect(!!(x), 1)

enum { CARET__YDB_RUNNING, CARET__YDB_FORKED, CARET__YDB_EXITED };

/* A database that was opened, one for each file; it stays open until ydb_exit(). */
struct caret__ydb_database {
    struct caret__ydb_database *next;
    caret_db *db;
    caret_session *locks; /* lock.c */
    size_t taken; /* how many of them there are, each as often as it was taken; under CARET__YDB_LOCKS */
    size_t spare; /* so many may be taken before one can have been taken 511 times; 0: not known */
};

/* A session of a thread. */
struct caret__ydb_own {
    struct caret__ydb_own *next;
    struct caret__ydb_database *database;
    caret_session *s;
};

/* The last error of a thread: its text, or what to make it of when it is asked for. */
struct caret__ydb_error {
    int status;
    bool undefined;    /* no value: the text is made of `node` */
    bool unheard;      /* M has not been told */
    const char *where; /* what $ZSTATUS names as the place */
    caret_node_buf node;
    char text[YDB_MAX_ERRORMSG];
};

/* The transaction that a thread owns.  Only looked at by others under the owner's mutex. */
struct caret__ydb_tp {
    bool shared; /* there are tokens: calls take the mutex */
    uint64_t run;
    struct caret_m__tp m;
    struct caret_m__held *held; /* under CARET__YDB_LOCKS */
};

struct caret__ydb_thread {
    _Atomic bool busy;
    unsigned slot;
    struct caret__ydb_thread *next_free;
    struct caret__ydb_thread *in;
    struct caret__ydb_database *database; /* whose session is s */
    caret_session *s;
    struct caret__ydb_own *sessions;
    pthread_mutex_t mutex;
    struct caret__ydb_tp tp;
    struct caret__ydb_paths paths;
    struct caret__ydb_error error;
    _Atomic unsigned in_m; /* calls of M that it is in */
};

/* A call in progress. */
struct caret__ydb_call {
    struct caret__ydb_thread *self;
    struct caret__ydb_thread *in; /* owner of the transaction it belongs to; NULL = none */
    ydb_buffer_t *errstr;
    const char *name;  /* of the function, as errors have it: that of ..._s in both cases */
    const char *where; /* "SimpleAPI" */
    bool locked;       /* in's mutex */
    int status;        /* why it can't be */
    int n;             /* the address that caret__ydb_node() was asked for, for long.c */
    const ydb_buffer_t *v, *subs;
};

extern _Atomic int caret__ydb_state;
extern __attribute__((tls_model("initial-exec"))) _Thread_local struct caret__ydb_thread *caret__ydb_self;

/* ---- thread.c ---- */

/* Mutexes of the process.  Whoever takes two takes the first one first. */
enum caret__ydb_mutex {
    CARET__YDB_THREADS,
    CARET__YDB_DATABASES,
    CARET__YDB_LOCALS,
    CARET__YDB_LOCKS,
    CARET__YDB_TIMERS,
    CARET__YDB_CALLS,
    CARET__YDB_MUTEXES
};
extern pthread_mutex_t caret__ydb_mutex[CARET__YDB_MUTEXES];

static inline void caret__ydb_take(enum caret__ydb_mutex which)
{
    pthread_mutex_lock(&caret__ydb_mutex[which]);
}

static inline void caret__ydb_give(enum caret__ydb_mutex which)
{
    pthread_mutex_unlock(&caret__ydb_mutex[which]);
}

/* The thread becomes busy: the slow part of it.  false, and c->status, if it can't be. */
bool caret__ydb_enter_slow(struct caret__ydb_call *c);

static inline bool caret__ydb_enter(struct caret__ydb_call *c)
{
    c->locked = false;
    c->in = NULL;
    c->self = caret__ydb_self;
    if (!caret__ydb_likely(c->self != NULL))
        return caret__ydb_enter_slow(c);
    atomic_store_explicit(&c->self->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the fence for the processor is in ydb_exit() */
    if (!caret__ydb_likely(atomic_load_explicit(&caret__ydb_state, memory_order_acquire) ==
                           CARET__YDB_RUNNING))
        return caret__ydb_enter_slow(c);
    return true;
}

/* The call belongs to that owner's transaction, or to none. */
static inline void caret__ydb_join(struct caret__ydb_call *c, struct caret__ydb_thread *owner)
{
    c->in = owner;
    c->locked = owner != NULL && owner->tp.shared;
    if (c->locked)
        pthread_mutex_lock(&owner->mutex);
}

static inline void caret__ydb_leave(struct caret__ydb_call *c)
{
    if (c->locked)
        pthread_mutex_unlock(&c->in->mutex);
    c->locked = false;
    atomic_store_explicit(&c->self->busy, false, memory_order_release);
}

/* A call of a function ..._s begins: false, and c->status, if it can't be.  It ends with a status, which is
 * returned. */
static inline bool caret__ydb_begin(struct caret__ydb_call *c)
{
    c->errstr = NULL;
    c->where = "SimpleAPI";
    if (!caret__ydb_likely(caret__ydb_enter(c)))
        return false;
    caret__ydb_join(c, c->self->in);
    return true;
}

static inline int caret__ydb_end(struct caret__ydb_call *c, int status)
{
    caret__ydb_leave(c);
    return status;
}

/* The same of a function ..._st.  The text of an error is copied to errstr. */
bool caret__ydb_begin_st(struct caret__ydb_call *c, uint64_t tptoken, ydb_buffer_t *errstr);
int caret__ydb_end_st(struct caret__ydb_call *c, int status);

/* The token of the level that the owner is at. */
uint64_t caret__ydb_token(const struct caret__ydb_thread *owner);

/* Is ydb_exit() waiting for this call? */
static inline bool caret__ydb_exiting(void)
{
    return atomic_load_explicit(&caret__ydb_state, memory_order_acquire) == CARET__YDB_EXITED;
}

/* ---- database.c ---- */

/* The session that globals are reached by.  Checks that the transaction may go on. */
int caret__ydb_session(struct caret__ydb_call *c, caret_session **s);

/* The same for the database of that name; empty: the current one. */
int caret__ydb_session_named(struct caret__ydb_call *c, const char *name, size_t len, caret_session **s);

/* The database in use now, in this call; opens it. */
int caret__ydb_database_of(struct caret__ydb_call *c, struct caret__ydb_database **database);

/* $ZGBLDIR: its length; the name is cut at cap and ends with a NUL. */
size_t caret__ydb_gbldir(char *room, size_t cap);
int caret__ydb_gbldir_set(struct caret__ydb_call *c, const char *name, size_t len);

/* All that were opened, newest first. */
struct caret__ydb_database *caret__ydb_databases(void);

/* A thread has ended; the process does. */
void caret__ydb_close_sessions(struct caret__ydb_thread *t);
void caret__ydb_close_databases(void);

/* ---- transaction.c ---- */

/* May a call of the transaction go on?  YDB_TP_RESTART, TPTIMEOUT. */
int caret__ydb_tp_check(struct caret__ydb_call *c);

typedef int caret__ydb_work(struct caret__ydb_call *c, caret_session *s, void *arg);

/*
 * work() in a transaction, or inside the one that is underway: all of it or nothing.  It is called again if others
 * were quicker, unless the transaction is the caller's.  The status is work()'s, or that of what failed.
 */
int caret__ydb_atomically(struct caret__ydb_call *c, caret_session *s, caret__ydb_work *work, void *arg);

/* The thread has ended, or this is a child: nothing is known of it any more.  Its session rolls it back. */
void caret__ydb_tp_forget(struct caret__ydb_thread *owner);

/* In a child: nothing goes on. */
void caret__ydb_timers_forget(void);

/* ---- locals.c ---- */

extern struct caret_m__locals
    caret__ydb_all_locals; /* under CARET__YDB_LOCALS; lives as long as the process */

/* Work with the local variables in the session, caret__ydb_all_locals.s; unlock afterwards.  CARET__YDB_LONG: M keeps
 * them. */
int caret__ydb_locals(struct caret__ydb_call *c);
static inline void caret__ydb_locals_done(void)
{
    caret__ydb_give(CARET__YDB_LOCALS);
}

/* No status for anybody outside: the variable is local, and is in the list of those with long keys, or is to be moved
 * there, as the address is too long for the engine; or M keeps it.  Whoever gets that goes on by a function of
 * long.h. */
#define CARET__YDB_LONG 1

/* The same wherever they are: there may be no session. */
int caret__ydb_locals_any(struct caret__ydb_call *c);
void caret__ydb_locals_any_done(void);

/* M keeps them from now on, by that table. */
int caret__ydb_locals_elsewhere(struct caret__ydb_call *c, const caret_locals *table);

/* The same with the session alone, for the node that was asked for: CARET__YDB_LONG, with nothing locked, if its
 * variable is not there but in the list. */
static inline int caret__ydb_locals_short(struct caret__ydb_call *c, caret_session **s)
{
    int status = caret__ydb_locals(c);

    *s = caret__ydb_all_locals.s;
    if (caret__ydb_likely(status != YDB_OK || caret__ydb_all_locals.more == NULL) ||
        !caret_m__is_long(caret__ydb_all_locals.more, c->v->buf_addr, c->v->len_used))
        return status;
    caret__ydb_locals_done();
    return CARET__YDB_LONG;
}

/* For a transaction: save those named for its innermost level; put them back. */
int caret__ydb_locals_save(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names);
int caret__ydb_locals_restore(struct caret__ydb_call *c, struct caret_m__tp *tp);

/* Is that a number of names?  Are they those of local variables?  `star`: "*" alone is fine as well. */
int caret__ydb_namecount_check(struct caret__ydb_call *c, int namecount);
int caret__ydb_names_check(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names, bool star);

/* ---- lock.c ---- */

/* What becomes of the locks taken at a level of the transaction that is undone, is committed; of all when it begins
 * again. */
void caret__ydb_locks_undo(struct caret__ydb_thread *owner, unsigned level);
void caret__ydb_locks_commit(struct caret__ydb_thread *owner, unsigned level);
void caret__ydb_locks_restart(struct caret__ydb_thread *owner);

/* For M that this process calls: its locks are the same. */
struct caret_m__locks;
extern const struct caret_m__locks caret__ydb_locks_of_m;

/* After a fork: calls of M in other threads are none of the child's. */
void caret__ydb_calls_in_child(void);

/* In a child: they are the parent's. */
void caret__ydb_locks_forget(struct caret__ydb_thread *owner);
void caret__ydb_locks_forget_all(void);

/* ---- special.c ---- */

static inline bool caret__ydb_is_special(const ydb_buffer_t *varname)
{
    return varname != NULL && varname->len_used != 0 && varname->len_used <= varname->len_alloc &&
           varname->buf_addr != NULL && varname->buf_addr[0] == '$';
}

int caret__ydb_special_get(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used,
                           ydb_buffer_t *ret);
int caret__ydb_special_set(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used,
                           const ydb_buffer_t *value);
int caret__ydb_special_refuse(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used);

/* ---- errors.c ---- */

/* Note an error with the operands of its text, strings with NULL after the last, and return it. */
int caret__ydb_error(struct caret__ydb_call *c, int status, ...) __attribute__((sentinel));

/* The same with a text of ours, for what YottaDB has none for. */
int caret__ydb_fail(struct caret__ydb_call *c, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what Caret returned and said. */
int caret__ydb_failed(struct caret__ydb_call *c, int rc);

/* PARAMINVALID: "NULL ret_value" and the like; "Invalid subsarray (index 3)". */
int caret__ydb_invalid(struct caret__ydb_call *c, const char *what);
int caret__ydb_invalid_at(struct caret__ydb_call *c, const char *array, int index);

/* A number as an operand. */
struct caret__ydb_digits {
    char text[24];
};
const char *caret__ydb_digits(struct caret__ydb_digits *room, long long number);

/* The node has no value; its text is made when somebody asks.  The same of a local variable's node that has no key. */
int caret__ydb_undefined(struct caret__ydb_call *c, const caret_node *n);
int caret__ydb_undefined_long(struct caret__ydb_call *c);

/* The value is longer than there can be; there are too few buffers for n subscripts. */
int caret__ydb_too_big(struct caret__ydb_call *c, size_t len);
int caret__ydb_too_few(struct caret__ydb_call *c, int n);

/* The text of the thread's last error, "code,where,text", and how long it is; to be set to any. */
const char *caret__ydb_zstatus_text(struct caret__ydb_thread *t, size_t *len);
void caret__ydb_zstatus_set(struct caret__ydb_thread *t, const char *text, size_t len);

/* Is it a time to wait for?  TIME2LONG. */
int caret__ydb_check_time(struct caret__ydb_call *c, unsigned long long ns);

/* ---- buffers ---- */

/* Is it fit to be read? */
static inline bool caret__ydb_readable(const ydb_buffer_t *b)
{
    return b != NULL && b->len_used <= b->len_alloc && (b->len_used == 0 || b->buf_addr != NULL);
}

/* Does a result of that length fit?  len_used is set in any case.  INVSTRLEN; PARAMINVALID: there is no address for
 * what there is. */
int caret__ydb_fits(struct caret__ydb_call *c, ydb_buffer_t *ret, size_t len, const char *what);

/* Store bytes in `ret_value`. */
static inline int caret__ydb_store(struct caret__ydb_call *c, ydb_buffer_t *ret, const char *bytes,
                                   size_t len)
{
    if (caret__ydb_likely(len <= ret->len_alloc && ret->buf_addr != NULL)) {
        if (len != 0)
            memcpy(ret->buf_addr, bytes, len);
        ret->len_used = (unsigned)len;
        return YDB_OK;
    }
    return caret__ydb_fits(c, ret, len, "ret_value");
}

/* What an increment says. */
static inline caret_slice caret__ydb_increment(const ydb_buffer_t *by)
{
    return by == NULL || by->len_used == 0 ? (caret_slice){"1", 1}
                                           : (caret_slice){by->buf_addr, by->len_used};
}

/* Functions on nodes that ..._s and ..._st share: data.c, move.c. */
int caret__ydb_get(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                   ydb_buffer_t *ret);
int caret__ydb_set(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                   const ydb_buffer_t *value);
int caret__ydb_data(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    unsigned *ret);
int caret__ydb_delete(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                      int deltype);
int caret__ydb_incr(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    const ydb_buffer_t *by, ydb_buffer_t *ret);
int caret__ydb_sibling(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                       ydb_buffer_t *ret, bool back);
int caret__ydb_step(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs,
                    int *ret_n, ydb_buffer_t *ret, bool back);
int caret__ydb_delete_excl(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names);
int caret__ydb_convert(struct caret__ydb_call *c, const ydb_buffer_t *in, ydb_buffer_t *out, bool to_zwr);

#endif
