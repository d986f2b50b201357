/*
 * away.c - telling the host before its thread sleeps, and after (caret_wait_hooks).
 *
 * A host with one lock for all its threads, an interpreter, lets go of it before a call that may sleep.  Calls that
 * take nanoseconds should not pay for that, and nobody can know which one will sleep.  So it is told:
 *
 *     before()   let go of the lock              every sleep of ours stands between the two: of a futex or a
 *     ...        the thread sleeps               mutex after a spin, a sync, a checkpoint, a wait for another
 *     after()    take it again                   process, also for a mutex of this process
 *
 * after() waits for the host's lock, so it must not be called by a thread that holds a mutex which other processes
 * want: one that slept for such a mutex stays away until it has unlocked it (owed).  Mutexes of this process need no
 * such care: whoever waits for one has let go of the host's lock.
 *
 * Pairs nest, and only the outermost one of a thread tells: a checkpoint stands between the two as a whole.
 *
 * What costs the others something is one load where a shared mutex is unlocked.
 */
#include "base/away.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef void *before_fn(void *arg);
typedef void after_fn(void *arg, void *token);

static before_fn *_Atomic before_hook;
static after_fn *_Atomic after_hook;
static void *_Atomic hook_arg;
static pthread_once_t once = PTHREAD_ONCE_INIT;

_Atomic uint32_t caret__back_owed;

static _Thread_local struct {
    unsigned depth;
    bool never;
    bool told;                  /* before() was called */
    const volatile void *until; /* told, and to be told back when this is unlocked */
    after_fn *after;            /* that goes with the before() that was called */
    void *token;
} mine;

static void tell_away(void)
{
    before_fn *before = atomic_load_explicit(&before_hook, memory_order_acquire);

    if (mine.told || mine.never || before == NULL)
        return;
    mine.after = atomic_load_explicit(&after_hook, memory_order_relaxed);
    mine.told = true;
    mine.token = before(atomic_load_explicit(&hook_arg, memory_order_relaxed));
}

void caret__away(void)
{
    if (mine.depth++ == 0)
        tell_away();
}

static void tell_back(void)
{
    mine.told = false;
    mine.until = NULL;
    if (mine.after != NULL)
        mine.after(atomic_load_explicit(&hook_arg, memory_order_relaxed), mine.token);
}

void caret__back(void)
{
    if (--mine.depth == 0 && mine.told && mine.until == NULL)
        tell_back();
}

void caret__away_still(void)
{
    if (mine.told && mine.until == NULL) {
        tell_back();
        tell_away();
    }
}

void caret__back_after(const volatile void *mutex)
{
    if (--mine.depth != 0 || !mine.told || mine.until != NULL)
        return;
    mine.until = mutex;
    atomic_fetch_add(&caret__back_owed, 1);
}

void caret__back_pay(const volatile void *mutex)
{
    if (mine.until != mutex)
        return;
    atomic_fetch_sub(&caret__back_owed, 1);
    mine.until = NULL;
    if (mine.depth == 0)
        tell_back();
}

bool caret__away_never(bool never)
{
    bool was = mine.never;

    mine.never = never;
    return was;
}

/* The thread that forked is the only one, and it was not away. */
static void in_child(void)
{
    atomic_store(&caret__back_owed, 0);
}

static void install(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

int caret_wait_hooks(void *(*before)(void *arg), void (*after)(void *arg, void *token), void *arg)
{
    if ((before == NULL) != (after == NULL))
        return caret__fail(CARET_E_INVALID, "caret_wait_hooks: %s is NULL; both, or none, are expected",
                           before == NULL ? "before" : "after");
    pthread_once(&once, install);
    atomic_store_explicit(&before_hook, NULL, memory_order_release);
    atomic_store_explicit(&hook_arg, arg, memory_order_relaxed);
    atomic_store_explicit(&after_hook, after, memory_order_relaxed);
    atomic_store_explicit(&before_hook, before, memory_order_release);
    return CARET_OK;
}
