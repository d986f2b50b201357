/*
 * fault.c - the table of fault points that were hit, and the one that is armed.
 *
 * A name gets its place in the table at its first hit, by a compare-and-swap of
 * an empty slot; places are never given back.  Armed is one name and a countdown
 * of hits; whoever counts it from 1 to 0 acts.  No locks, so that points may
 * stand under any lock, and in a child that was forked at a bad moment.
 */
#include "base/fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than there are points in the source; further names are not listed, but still act. */
#define POINTS_MAX 256u

struct point {
    _Atomic(const char *) name;
    _Atomic uint64_t hits;
};

static struct point points[POINTS_MAX];
static _Atomic uint64_t all_hits;

static char armed_name[64]; /* written while countdown is 0 */
static _Atomic unsigned countdown;
static atomic_int armed_action;
static atomic_bool environment_read;

static bool same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

/* The point of a name; `add` makes it if there is none. */
static struct point *find(const char *name, bool add)
{
    for (unsigned i = 0; i < POINTS_MAX; i++) {
        const char *have = atomic_load(&points[i].name);

        if (have == NULL) {
            if (!add)
                return NULL;
            if (atomic_compare_exchange_strong(&points[i].name, &have, name))
                return &points[i];
        }
        if (same(have, name))
            return &points[i];
    }
    return NULL;
}

void caret__fault_disarm(void)
{
    atomic_store(&environment_read, true);
    atomic_store(&countdown, 0);
}

void caret__fault_arm(const char *name, unsigned nth, int action)
{
    caret__fault_disarm();
    snprintf(armed_name, sizeof armed_name, "%s", name);
    atomic_store(&armed_action, action);
    atomic_store(&countdown, nth);
}

static void arm_from_environment(void)
{
    const char *text = getenv("CARET_FAULT");
    char name[sizeof armed_name];
    char *nth, *action;

    if (atomic_exchange(&environment_read, true) || text == NULL)
        return;
    snprintf(name, sizeof name, "%s", text);
    action = strrchr(name, ':');
    if (action != NULL && strcmp(action, ":stop") == 0)
        *action = '\0';
    else
        action = NULL;
    nth = strrchr(name, ':');
    if (nth == NULL || strtoul(nth + 1, NULL, 10) == 0) {
        fprintf(stderr, "caret: CARET_FAULT=%s is not name:nth[:stop]\n", text);
        return;
    }
    *nth = '\0';
    caret__fault_arm(name, (unsigned)strtoul(nth + 1, NULL, 10),
                     action != NULL ? CARET__FAULT_STOP : CARET__FAULT_KILL);
}

static _Atomic(const char *) seeded;

void caret__fault_seed(const char *name)
{
    atomic_store(&seeded, name);
}

int caret__fault_seeded(const char *name)
{
    const char *is = atomic_load(&seeded);
    return is != NULL && same(is, name);
}

/* True for the one who counts the last hit. */
static bool count_down(void)
{
    unsigned left = atomic_load(&countdown);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&countdown, &left, left - 1))
            return left == 1;
    }
    return false;
}

void caret__fault_hit(const char *name)
{
    struct point *point;

    if (!atomic_load_explicit(&environment_read, memory_order_relaxed))
        arm_from_environment();
    atomic_fetch_add_explicit(&all_hits, 1, memory_order_relaxed);
    point = find(name, true);
    if (point != NULL)
        atomic_fetch_add_explicit(&point->hits, 1, memory_order_relaxed);
    if (atomic_load(&countdown) == 0)
        return;
    if ((same(armed_name, "*") || same(armed_name, name)) && count_down())
        kill(getpid(), atomic_load(&armed_action) == CARET__FAULT_STOP ? SIGSTOP : SIGKILL);
}

uint64_t caret__fault_hits(const char *name)
{
    struct point *point;

    if (same(name, "*"))
        return atomic_load(&all_hits);
    point = find(name, false);
    return point != NULL ? atomic_load(&point->hits) : 0;
}

void caret__fault_reset(void)
{
    atomic_store(&all_hits, 0);
    for (unsigned i = 0; i < POINTS_MAX; i++)
        atomic_store(&points[i].hits, 0);
}

size_t caret__fault_names(const char *names[], size_t cap)
{
    size_t n = 0;

    for (; n < POINTS_MAX; n++) {
        const char *name = atomic_load(&points[n].name);

        if (name == NULL)
            break;
        if (n < cap)
            names[n] = name;
    }
    return n;
}
