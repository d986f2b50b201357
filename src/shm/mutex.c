/*
 * mutex.c - the one kind of mutex that lies in shared memory.
 *
 * Robust, process-shared, NORMAL: the kernel hands a dead owner's mutex over
 * with EOWNERDEAD.  Another type would be wrong: RECURSIVE and ERRORCHECK compare
 * thread ids, and two pid namespaces that share a segment have equal ones.
 *
 *     lock:  trylock -> spin (pause, look, trylock when it looks free) -> sleep until it is ours
 *
 * What a mutex of ours protects takes well under a microsecond, so the owner is
 * nearly always about to let go: spinning is cheaper than a system call and the
 * wake-up that the owner would have to pay for.  A sleep ends after one second
 * and starts again, so that a wake-up lost with a killed process costs at most
 * that.  No condition variable, read-write lock or barrier is ever put into
 * shared memory: none of those survives a death.
 *
 * Invariants: a mutex that came with EOWNERDEAD is made consistent before it is
 * unlocked, after its state was made whole; the same thread never locks twice.
 */
#include <errno.h>
#include <time.h>

#include "base/held.h"
#include "base/racy.h"
#include "shm/engine.h"

/*
 * Looks before sleeping, and the pauses between two: every look takes the line from the holder, which needs it to
 * unlock (3n+1 with two workers, nanoseconds to unlock and seconds in all: 1,300 and 0.175 with 1 pause, 130 and
 * 0.097 with 8, 90 and 0.095 with 16, 70 and 0.096 with 64).  A split keeps the mutex for some microseconds, so that
 * is how long to look (four workers: 0.111 s with 24 looks of 8 pauses, 0.101 with 128).  A few of the looks are
 * tries, which alone can tell a dead owner.
 */
#define SPINS     64
#define PAUSES    16
#define TRY_EVERY 16

#define SECOND    UINT64_C(1000000000)

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int caret__mutex_init(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;
    int rc = pthread_mutexattr_init(&attr);

    if (rc != 0)
        return rc;
    rc = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_NORMAL);
    if (rc == 0)
        rc = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    if (rc == 0)
        rc = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    if (rc == 0)
        rc = pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
    return rc;
}

#if defined(CARET__TSAN) || !defined(__GLIBC__)
/* ThreadSanitizer does not see locks that are got by the function below, nor dead owners by its kin; musl has no such
 * function, and its kin goes by a clock that can be set. */
static int lock_until(pthread_mutex_t *m, uint64_t end)
{
    const struct timespec moment = {0, 50000};
    int rc = pthread_mutex_trylock(m);

    while (rc == EBUSY && caret__now_ns() < end) {
        nanosleep(&moment, NULL);
        rc = pthread_mutex_trylock(m);
    }
    return rc == EBUSY ? ETIMEDOUT : rc;
}
#else
/* Sleep for it until `end`.  The clock is one that nobody can set. */
static int lock_until(pthread_mutex_t *m, uint64_t end)
{
    struct timespec until = {(time_t)(end / SECOND), (long)(end % SECOND)};

    return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &until);
}
#endif

/*
 * Does it look free?  A try writes the line, which slows its holder down; a look does not.  glibc keeps
 * the state of the lock in the first word, 0 = free; elsewhere every look is a try.
 */
static inline bool looks_free(const pthread_mutex_t *m)
{
#if defined(__GLIBC__) && !defined(CARET__TSAN)
    return __atomic_load_n((const int *)m, __ATOMIC_RELAXED) == 0;
#else
    (void)m;
    return true;
#endif
}

static inline int spin(pthread_mutex_t *m, int rc)
{
    for (int i = 0; i < SPINS && rc == EBUSY; i++) {
        for (int k = 0; k < PAUSES; k++)
            pause_cpu();
        if (looks_free(m) || i % TRY_EVERY == TRY_EVERY - 1)
            rc = pthread_mutex_trylock(m);
    }
    return rc;
}

/* What the system said: is it ours now? */
static inline int note(pthread_mutex_t *m, int rc)
{
    if (rc == 0 || rc == EOWNERDEAD)
        caret__held_note(m);
    return rc;
}

int caret__mutex_trylock(pthread_mutex_t *m)
{
    return note(m, pthread_mutex_trylock(m));
}

static int lock_within(pthread_mutex_t *m, uint64_t max_ns)
{
    int rc = spin(m, EBUSY); /* a try at once would take the line from a holder that needs it */

    if (rc != EBUSY)
        return rc;
    uint64_t end = caret__now_ns() + max_ns;
    caret__away();
    while (rc == EBUSY || rc == EINTR)
        rc = lock_until(m, end);
    if (rc == 0 || rc == EOWNERDEAD)
        caret__back_after(m);
    else
        caret__back();
    return rc;
}

int caret__mutex_lock_within(pthread_mutex_t *m, uint64_t max_ns)
{
    return note(m, lock_within(m, max_ns));
}

int caret__mutex_lock_slow(pthread_mutex_t *m, int rc)
{
    while (rc == EBUSY || rc == ETIMEDOUT)
        rc = lock_within(m, SECOND);
    return note(m, rc);
}

void caret__mutex_consistent(pthread_mutex_t *m)
{
    CARET__HELD(m);
    pthread_mutex_consistent(m);
}

#ifdef CARET_ASSERTS
bool caret__writer_held(const struct caret__shared *sh)
{
    uint32_t i = atomic_load_explicit(&sh->writer_index, memory_order_relaxed) % CARET__WRITER_MUTEXES;

    return caret__holds(i == 0 ? &sh->writer : &sh->spare_writer[i - 1]) ||
           (i + 1 < CARET__WRITER_MUTEXES && caret__holds(&sh->spare_writer[i]));
}

bool caret__state_held(const struct caret__shared *sh)
{
    return caret__writer_held(sh) || caret__holds(sh);
}
#endif
