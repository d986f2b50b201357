/*
 * away.h - telling the host before its thread sleeps, and after (caret_wait_hooks).
 */
#ifndef CARET_BASE_AWAY_H
#define CARET_BASE_AWAY_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* The thread is about to sleep.  In pairs with one of the two below; pairs may nest. */
void caret__away(void);

/* It has slept. */
void caret__back(void);

/* It sleeps for long, and not for good yet: the host is told that it has slept, and then that it sleeps again. */
void caret__away_still(void);

/* It has slept, and holds a mutex that other processes want: the host hears of it when that is unlocked. */
void caret__back_after(const volatile void *mutex);

/* From now on (true) the host is told nothing of this thread: it is ours, or about to fork.  What it was before. */
bool caret__away_never(bool never);

/* Threads whose host is to hear of it later. */
extern _Atomic uint32_t caret__back_owed;
void caret__back_pay(const volatile void *mutex);

/* A mutex that other processes may want was unlocked. */
static inline void caret__back_unlocked(const volatile void *mutex)
{
    if (__builtin_expect(atomic_load_explicit(&caret__back_owed, memory_order_relaxed) != 0, 0))
        caret__back_pay(mutex);
}

/* The system's, between the two. */
static inline int caret__fsync(int fd)
{
    caret__away();
    int rc = fsync(fd), error = errno;
    caret__back();
    errno = error;
    return rc;
}
static inline int caret__fdatasync(int fd)
{
    caret__away();
    int rc = fdatasync(fd), error = errno;
    caret__back();
    errno = error;
    return rc;
}

#endif
