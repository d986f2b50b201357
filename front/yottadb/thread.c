/*
 * thread.c - records of threads, tokens, the end of threads and of the process, fork.  session.h has the protocol.
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "yottadb/session.h"

#define SLOTS      (1u << 17)
#define SLOT_SHIFT 7
#define RUN_SHIFT  24
#define EXIT_WAIT_MS                                                                                         \
    5000 /* for calls in progress; whatever needs longer is left to the recovery of the database */

_Atomic int caret__ydb_state = CARET__YDB_RUNNING;
_Thread_local struct caret__ydb_thread *caret__ydb_self;
pthread_mutex_t caret__ydb_mutex[CARET__YDB_MUTEXES] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};

static struct caret__ydb_thread *_Atomic records[SLOTS];
static _Atomic unsigned count;
static struct caret__ydb_thread *unused; /* under CARET__YDB_THREADS */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Atomic bool used_st; /* a function ..._st was called */
static bool barred_st;       /* in a parent of this process */

/* ------------------------------------------------------------- end of a thread */

static void thread_ends(void *arg)
{
    struct caret__ydb_thread *t = arg;

    atomic_store_explicit(&t->busy, true, memory_order_seq_cst);
    if (atomic_load_explicit(&caret__ydb_state, memory_order_seq_cst) != CARET__YDB_EXITED) {
        pthread_mutex_lock(&t->mutex);
        caret__ydb_locks_undo(t, 1);
        caret__ydb_tp_forget(t);
        pthread_mutex_unlock(&t->mutex);
        caret__ydb_close_sessions(t);
    }
    t->in = NULL;
    atomic_store(&t->in_m, 0);
    caret__ydb_zstatus_set(t, "", 0);
    if (caret__ydb_self == t)
        caret__ydb_self = NULL;
    caret__ydb_take(CARET__YDB_THREADS);
    t->next_free = unused;
    unused = t;
    caret__ydb_give(CARET__YDB_THREADS);
    atomic_store_explicit(&t->busy, false, memory_order_release);
}

/* --------------------------------------------------------- end of the process */

static void membarrier_all(void)
{
#ifdef SYS_membarrier
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
        return;
#endif
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* stores of all processors are long visible */
}

/* Is the thread in a call?  C that M called may have ended one of its own in between. */
static bool in_call(struct caret__ydb_thread *t)
{
    return atomic_load_explicit(&t->busy, memory_order_acquire) || atomic_load(&t->in_m) != 0;
}

/* Wait until no other thread is in a call. */
static bool all_idle(void)
{
    unsigned n = atomic_load(&count);

    for (int ms = 0; ms < EXIT_WAIT_MS; ms++) {
        bool idle = true;
        for (unsigned i = 0; i < n && idle; i++) {
            struct caret__ydb_thread *t = atomic_load(&records[i]);
            idle = t == NULL || t == caret__ydb_self || !in_call(t);
        }
        if (idle)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static void close_all(void)
{
    if (atomic_exchange(&caret__ydb_state, CARET__YDB_EXITED) != CARET__YDB_RUNNING)
        return; /* again, or in a child that made no call */
    membarrier_all();
    if (all_idle())
        caret__ydb_close_databases();
}

int ydb_exit(void)
{
    struct caret__ydb_call c;

    if (caret__ydb_exiting() || atomic_load(&count) == 0 || !caret__ydb_begin(&c))
        return YDB_OK; /* there is nothing, or nothing yet, to close */
    if (c.self->in != NULL ||
        atomic_load(&c.self->in_m) != 0) /* as ydb_init(), it returns errors as positive numbers */
        return -caret__ydb_end(&c, caret__ydb_error(&c, YDB_ERR_INVYDBEXIT, NULL));
    caret__ydb_leave(&c);
    close_all();
    return YDB_OK;
}

/* ------------------------------------------------------------------------ fork */

static void before_fork(void)
{
    for (int i = 0; i < CARET__YDB_MUTEXES; i++)
        caret__ydb_take(i);
}

static void in_parent(void)
{
    for (int i = CARET__YDB_MUTEXES; i-- > 0;)
        caret__ydb_give(i);
}

static void in_child(void)
{
    int running = CARET__YDB_RUNNING;

    for (int i = 0; i < CARET__YDB_MUTEXES; i++)
        pthread_mutex_init(&caret__ydb_mutex[i], NULL);
    for (unsigned i = 0; i < atomic_load(&count); i++) {
        struct caret__ydb_thread *t = atomic_load(&records[i]);
        if (t == NULL)
            continue;
        pthread_mutex_init(&t->mutex, NULL);
        caret__ydb_locks_forget(t);
        caret__ydb_tp_forget(t);
        t->in = NULL;
        atomic_store(&t->in_m, t == caret__ydb_self ? t->in_m : 0);
        atomic_store(&t->busy, false);
    }
    caret__ydb_calls_in_child();
    caret__ydb_locks_forget_all();
    caret__ydb_timers_forget();
    barred_st |= atomic_load(&used_st);
    atomic_compare_exchange_strong(&caret__ydb_state, &running, CARET__YDB_FORKED);
}

/* --------------------------------------------------------------------- records */

static void start(void)
{
#ifdef SYS_membarrier
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
#endif
    pthread_key_create(&key, thread_ends); /* without a key threads keep their locks until the process ends */
    atexit(close_all);
}

/* At load, after the engine's (its constructors have a priority): so the engine's mutexes are taken after these, as in
 * calls.  A fork that has begun, and waits for one of these, heeds no handler that is added meanwhile. */
__attribute__((constructor)) static void install(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

static struct caret__ydb_thread *new_record(void)
{
    struct caret__ydb_thread *t = atomic_load(&count) < SLOTS ? calloc(1, sizeof *t) : NULL;

    if (t == NULL)
        return NULL;
    pthread_mutex_init(&t->mutex, NULL);
    t->slot = atomic_load(&count);
    atomic_store(&records[t->slot], t);
    atomic_store(&count, t->slot + 1);
    return t;
}

/* A record for the calling thread: of one that has ended, or a new one. */
static struct caret__ydb_thread *take_record(void)
{
    pthread_once(&once, start);
    caret__ydb_take(CARET__YDB_THREADS);
    struct caret__ydb_thread *t = unused;
    if (t != NULL)
        unused = t->next_free;
    else
        t = new_record();
    caret__ydb_give(CARET__YDB_THREADS);
    if (t == NULL)
        return NULL;
    caret__ydb_paths_init(&t->paths);
    pthread_setspecific(key, t);
    return caret__ydb_self = t;
}

bool caret__ydb_enter_slow(struct caret__ydb_call *c)
{
    int forked = CARET__YDB_FORKED;

    c->self = caret__ydb_self != NULL ? caret__ydb_self : take_record();
    if (c->self == NULL) {
        c->status = YDB_ERR_DBFILERR; /* no memory, and no place to say so */
        return false;
    }
    atomic_store_explicit(&c->self->busy, true, memory_order_seq_cst);
    atomic_compare_exchange_strong(&caret__ydb_state, &forked, CARET__YDB_RUNNING);
    if (caret__ydb_exiting()) {
        c->status = caret__ydb_error(c, YDB_ERR_CALLINAFTERXIT, NULL);
        caret__ydb_leave(c);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------------- tokens */

uint64_t caret__ydb_token(const struct caret__ydb_thread *owner)
{
    return owner->tp.run << RUN_SHIFT | (uint64_t)owner->slot << SLOT_SHIFT | owner->tp.m.level;
}

/* The call takes part in the transaction of the token, if that is in progress. */
static bool join_token(struct caret__ydb_call *c, uint64_t tptoken)
{
    unsigned slot = (unsigned)(tptoken >> SLOT_SHIFT) & (SLOTS - 1);
    struct caret__ydb_thread *owner = atomic_load_explicit(&records[slot], memory_order_acquire);

    if (owner == NULL)
        return false;
    pthread_mutex_lock(&owner->mutex);
    c->in = owner;
    c->locked = true;
    return owner->tp.shared && owner->tp.m.level != 0 && caret__ydb_token(owner) == tptoken;
}

static bool begin_st(struct caret__ydb_call *c, uint64_t tptoken)
{
    if (!caret__ydb_enter(c))
        return false;
    if (!atomic_load_explicit(&used_st, memory_order_relaxed))
        atomic_store_explicit(&used_st, true, memory_order_relaxed);
    if (!caret__ydb_likely(!barred_st)) {
        c->status = caret__ydb_error(c, YDB_ERR_STAPIFORKEXEC, NULL);
    } else if (tptoken != YDB_NOTTP ? !join_token(c, tptoken) : c->self->in != NULL) {
        c->status = caret__ydb_error(c, YDB_ERR_INVTPTRANS, NULL);
    } else {
        return true;
    }
    caret__ydb_leave(c);
    return false;
}

/* The text of the error that is returned: as much of it as there is room for, and its whole length. */
static void tell(struct caret__ydb_call *c, int status)
{
    size_t n = 0;

    if (c->errstr == NULL)
        return;
    if (status < 0 && status != YDB_ERR_NODEEND && c->self != NULL) {
        const char *text = caret__ydb_zstatus_text(c->self, &n);
        size_t fits = n < c->errstr->len_alloc ? n : c->errstr->len_alloc;
        if (fits != 0 && c->errstr->buf_addr != NULL)
            memcpy(c->errstr->buf_addr, text, fits);
    }
    c->errstr->len_used = (unsigned)n;
}

bool caret__ydb_begin_st(struct caret__ydb_call *c, uint64_t tptoken, ydb_buffer_t *errstr)
{
    c->errstr = errstr;
    c->where = "SimpleThreadAPI";
    if (caret__ydb_likely(begin_st(c, tptoken)))
        return true;
    tell(c, c->status);
    return false;
}

int caret__ydb_end_st(struct caret__ydb_call *c, int status)
{
    if (!caret__ydb_likely(status == YDB_OK && c->errstr == NULL))
        tell(c, status);
    return caret__ydb_end(c, status);
}
