/*
 * futex.c - sleeping on a word of shared memory.
 *
 * Everything that waits for something other than a mutex (a lock of the lock
 * manager, a sync, the floor) sleeps on a 32-bit word that is raised when the
 * thing may have happened:
 *
 *     waiter:  seen = word; if (it has not happened) wait(word, seen, at most 1 s); again
 *     waker:   make it happen; word++; wake(word)
 *
 * A wait says nothing: it returns when woken, at once when the word differs from
 * `seen`, at the timeout, or because of a signal.  The caller looks again in any
 * case, so a wake-up lost with a killed process costs at most the timeout.
 * An alarm ends such sleeps of one session (caret_interrupt):
 *
 *     waiter:  alarm's word = word; if (raised) no sleep; wait(word, seen); alarm's word = none; taken? give up
 *     raiser:  raised; if (the alarm has a word) word++; wake(word)
 *
 * Either the waiter finds it raised, or the raiser finds the word, which then is not `seen` any more.  Others who
 * sleep on the word look again for nothing.  An alarm that finds nobody asleep stays raised for the next sleep.
 *
 * The words are found by physical page (no FUTEX_PRIVATE_FLAG), so processes that
 * mapped the segment at different addresses meet.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm/engine.h"

#define NS_PER_S UINT64_C(1000000000)

void caret__futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t max_ns)
{
    struct timespec timeout;

    timeout.tv_sec = (time_t)(max_ns / NS_PER_S);
    timeout.tv_nsec = (long)(max_ns % NS_PER_S);
    caret__away();
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
    caret__back();
}

void caret__nap(uint64_t ns)
{
    caret__away();
    nanosleep(&(struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)}, NULL);
    caret__back();
}

void caret__futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void caret__alarm_sleep(struct caret__alarm *a, _Atomic uint32_t *word, uint32_t seen, uint64_t max_ns)
{
    if (a == NULL) {
        caret__futex_wait(word, seen, max_ns);
        return;
    }
    atomic_store(&a->word, word);
    if (atomic_load(&a->raised) == 0)
        caret__futex_wait(word, seen, max_ns);
    atomic_store(&a->word, NULL);
}

bool caret__alarm_taken(struct caret__alarm *a)
{
    return atomic_load(&a->raised) != 0 && atomic_exchange(&a->raised, 0) != 0;
}

void caret__alarm_raise(struct caret__alarm *a)
{
    atomic_store(&a->raised, 1);
    _Atomic uint32_t *word = atomic_load(&a->word);
    if (word == NULL)
        return;
    atomic_fetch_add(word, 1);
    caret__futex_wake(word, INT32_MAX);
}

uint64_t caret__now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
