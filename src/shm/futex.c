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
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void caret__futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

uint64_t caret__now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
