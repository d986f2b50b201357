/*
 * fault.h - named points at which a test can make the process die or stop.
 *
 * CARET_FAULT("commit_point") stands wherever a crash is interesting.  In
 * release builds it is nothing.  With CARET_FAULTS defined it counts the hit and,
 * when armed for that name (or for "*", any name) and this is the n-th hit since
 * arming, sends SIGKILL or SIGSTOP to the own process: a death between two
 * instructions, as no handler or exit code runs.
 *
 * The environment arms too, at the first hit: CARET_FAULT=name:nth[:stop].
 *
 * CARET_DOZE() stands where something is read that others may change meanwhile, before it is looked at whether they
 * did.  With CARET_DOZE=N in the environment one in N of these places and of the points sleeps for up to 5 ms, at
 * random: what happens to a process now and then on a machine with much to do happens all the time.
 *
 * Everything is local to the process and lock-free; a forked child inherits what
 * was armed and counted.  `name` must be a string literal (the pointer is kept).
 */
#ifndef CARET_BASE_FAULT_H
#define CARET_BASE_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CARET__FAULT_KILL = 0, CARET__FAULT_STOP = 1 };

/* A place in the source where a name stands. */
struct caret__fault_place {
    const char *name;
    _Atomic uint64_t hits;
    atomic_bool listed;
    struct caret__fault_place *before; /* listed before this one */
};

#ifdef CARET_FAULTS
#define CARET_FAULT(text)                                                                                    \
    do {                                                                                                     \
        static struct caret__fault_place place_ = {.name = "" text ""};                                      \
        caret__fault_hit(&place_);                                                                           \
    } while (0)
#define CARET_DOZE() caret__fault_doze()
#else
#define CARET_FAULT(text) ((void)0)
#define CARET_DOZE()      ((void)0)
#endif

/* A mistake that a test has asked for, to see whether another test would find it.  Never in release builds. */
#ifdef CARET_FAULTS
#define CARET_SEEDED(name) caret__fault_seeded("" name "")
#else
#define CARET_SEEDED(name) 0
#endif
int caret__fault_seeded(const char *name);
void caret__fault_seed(const char *name); /* a literal; in this process and its children; NULL = none */

void caret__fault_hit(struct caret__fault_place *place);
void caret__fault_doze(void);
void caret__fault_doze_at(unsigned long odds); /* from now on, whatever the environment says; 0: no more */

/* Act at the nth hit (1 = the next one) of `name` from now on.  Replaces what was armed. */
void caret__fault_arm(const char *name, unsigned nth, int action);
void caret__fault_disarm(void);

/* Hits of a name so far in this process; "*" = of all. */
uint64_t caret__fault_hits(const char *name);

/* Forget all counts (not the names). */
void caret__fault_reset(void);

/* Names hit so far, in the order of their first hit: at most cap of them are
 * stored, the number of all is returned. */
size_t caret__fault_names(const char *names[], size_t cap);

#endif
