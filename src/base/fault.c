/*
 * fault.c - the list of places that were hit, and the name that is armed.
 *
 * A place in the source counts its own hits, and is put at the head of the list by its
 * first; it is never taken out. So a hit looks for nothing, and takes the same
 * instructions each time but for the first. One name may stand at several places.
 * Armed is one name and a countdown of hits; whoever counts it from 1 to 0 acts. No
 * locks, so that points may stand under any lock, and in a child that was forked at a
 * bad moment (at worst a place is not in the child's list, and still acts).
 */
#include "base/fault.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rand.h"

static _Atomic(struct caret__fault_place *) last_listed;
static _Atomic uint64_t all_hits;

static char armed_name[64]; /* written while countdown is 0 */
static _Atomic unsigned countdown;
static atomic_int armed_action;
static atomic_bool environment_read;

static bool same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
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

static void enlist(struct caret__fault_place *place)
{
    struct caret__fault_place *head = atomic_load(&last_listed);

    if (atomic_exchange(&place->listed, true))
        return;
    do {
        place->before = head;
    } while (!atomic_compare_exchange_weak(&last_listed, &head, place));
}

/* ---------------------------------------------------------------------- doze */

#define DOZE_MOST 5000u /* microseconds */

static _Atomic unsigned long doze_odds = ULONG_MAX; /* nobody has read the environment */

static unsigned long read_odds(void)
{
    const char *text = getenv("CARET_DOZE");
    unsigned long odds = text != NULL ? strtoul(text, NULL, 10) : 0;

    atomic_store(&doze_odds, odds);
    return odds;
}

void caret__fault_doze_at(unsigned long odds)
{
    atomic_store(&doze_odds, odds);
}

/* Of this thread and process: a forked child does not sleep where its parent does. */
static uint64_t draw(void)
{
    static _Thread_local struct caret__rand rand;
    static _Thread_local pid_t owner;

    if (owner != getpid()) {
        owner = getpid();
        caret__rand_seed(&rand, (uint64_t)owner << 32 ^ (uint64_t)(uintptr_t)&rand);
    }
    return caret__rand_next(&rand);
}

void caret__fault_doze(void)
{
    unsigned long odds = atomic_load_explicit(&doze_odds, memory_order_relaxed);

    if (odds == ULONG_MAX)
        odds = read_odds();
    if (odds == 0)
        return;
    uint64_t r = draw();
    if (r % odds == 0)
        usleep((useconds_t)(r >> 40) % DOZE_MOST);
}

/* ----------------------------------------------------------------------- hit */

void caret__fault_hit(struct caret__fault_place *place)
{
    caret__fault_doze();
    if (!atomic_load_explicit(&environment_read, memory_order_relaxed))
        arm_from_environment();
    if (!atomic_load_explicit(&place->listed, memory_order_relaxed))
        enlist(place);
    atomic_fetch_add_explicit(&all_hits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&place->hits, 1, memory_order_relaxed);
    if (atomic_load(&countdown) == 0)
        return;
    if ((same(armed_name, "*") || same(armed_name, place->name)) && count_down())
        kill(getpid(), atomic_load(&armed_action) == CARET__FAULT_STOP ? SIGSTOP : SIGKILL);
}

uint64_t caret__fault_hits(const char *name)
{
    uint64_t sum = 0;

    if (same(name, "*"))
        return atomic_load(&all_hits);
    for (struct caret__fault_place *p = atomic_load(&last_listed); p != NULL; p = p->before)
        sum += same(p->name, name) ? atomic_load(&p->hits) : 0;
    return sum;
}

void caret__fault_reset(void)
{
    atomic_store(&all_hits, 0);
    for (struct caret__fault_place *p = atomic_load(&last_listed); p != NULL; p = p->before)
        atomic_store(&p->hits, 0);
}

/* Is it the first of its name that was listed? */
static bool first_of_name(const struct caret__fault_place *place)
{
    for (const struct caret__fault_place *p = place->before; p != NULL; p = p->before)
        if (same(p->name, place->name))
            return false;
    return true;
}

size_t caret__fault_names(const char *names[], size_t cap)
{
    size_t n = 0, left;

    for (struct caret__fault_place *p = atomic_load(&last_listed); p != NULL; p = p->before)
        n += first_of_name(p);
    left = n;
    for (struct caret__fault_place *p = atomic_load(&last_listed); p != NULL && left > 0; p = p->before)
        if (first_of_name(p) && --left < cap)
            names[left] = p->name;
    return n;
}
