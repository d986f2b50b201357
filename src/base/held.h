/*
 * held.h - what the calling thread holds: mutexes, the gate, roles; for assertions only.
 *
 * A function whose comment says under which lock it runs asserts that with CARET__HELD(), and one that must
 * not be called under a lock with CARET__NOT_HELD(); the style check looks whether it does. The functions
 * that lock note here what they got, by its address, in a list of the thread; the functions that unlock take
 * it out. So the answer is about this thread, not about this process or "somebody": neither the owner's
 * number in the mutex, which another pid namespace uses too, nor writer_slot, which is the process's, says as
 * much.
 *
 *     lock, also from a dead owner   caret__held_note()      the state may be broken still, but it is ours
 *     unlock                         caret__held_drop()
 *     fork                           the child holds nothing: its list is emptied before fork returns
 *     death of the owner             the list dies with its process
 *
 * A role without a mutex is noted in the same way: the gate under the address of the lock file's descriptor, and a
 * segment that nobody else can have mapped yet under its own ("the segment is ours alone", shm/segment.c).
 *
 * Without CARET_ASSERTS all of this is nothing: no list, no call, no test.
 */
#ifndef CARET_BASE_HELD_H
#define CARET_BASE_HELD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/away.h"
#include "base/bytes.h"

/* Does this thread hold the mutex, or whatever it is, at that address? */
bool caret__holds(const volatile void *what);

#ifdef CARET_ASSERTS
void caret__held_note(const volatile void *what);
void caret__held_drop(const volatile void *what); /* nothing happens if it is not held */
#else
static inline void caret__held_note(const volatile void *what)
{
    (void)what;
}
static inline void caret__held_drop(const volatile void *what)
{
    (void)what;
}
#endif

/* Run when the library is loaded: what adds fork handlers with mutexes.  Before constructors without a priority, so the
 * mutexes of front-ends, added later, are taken earlier by a fork, as they are in calls. */
#define CARET__AT_LOAD __attribute__((constructor(1000)))

/* Mutexes of this process alone: of the default kind, not robust. */
static inline void caret__local_lock(pthread_mutex_t *m)
{
    if (pthread_mutex_trylock(m) != 0) {
        caret__away();
        pthread_mutex_lock(m);
        caret__back();
    }
    caret__held_note(m);
}
static inline void caret__local_unlock(pthread_mutex_t *m)
{
    caret__held_drop(m);
    pthread_mutex_unlock(m);
}

#define CARET__HELD(what)     CARET__ASSERT(caret__holds(what))
#define CARET__NOT_HELD(what) CARET__ASSERT(!caret__holds(what))

#endif
