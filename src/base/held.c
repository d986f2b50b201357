/*
 * held.c - the list of what a thread holds; held.h tells what for.
 *
 * Invariants: a thread holds nothing twice, for no mutex of ours is recursive; and never more than MOST at a time.
 */
#include "base/held.h"

#ifdef CARET_ASSERTS

#include <stddef.h>

#define MOST 16 /* arbitrary: five are held in the deepest place, the last closing */

static _Thread_local struct {
    const volatile void *what[MOST];
    unsigned n;
} own;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The thread that forked is the only one in the child. */
static void in_child(void)
{
    own.n = 0;
}

static void install(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* Where it is in the list; own.n: nowhere. */
static unsigned find(const volatile void *what)
{
    unsigned i = 0;

    while (i < own.n && own.what[i] != what)
        i++;
    return i;
}

bool caret__holds(const volatile void *what)
{
    return find(what) < own.n;
}

void caret__held_note(const volatile void *what)
{
    pthread_once(&once, install);
    CARET__ASSERT(!caret__holds(what));
    CARET__ASSERT_CMP(own.n, <, MOST);
    own.what[own.n++] = what;
}

void caret__held_drop(const volatile void *what)
{
    unsigned i = find(what);

    if (i < own.n)
        own.what[i] = own.what[--own.n];
}

#endif
