/*
 * clock.c - clocks and callbacks for external calls.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "mumps/bridge/bridge.h"

int64_t caret_mumps__nanoseconds(bool of_process)
{
    struct timespec t;

    clock_gettime(of_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_for(unsigned milliseconds)
{
    struct timespec t = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};

    nanosleep(&t, &t);
}

/* What a program has without libyottadb.so. */
static void *plain(int index)
{
    void (*const sleeps)(unsigned) = sleep_for;
    void *(*const allocates)(size_t) = malloc;
    void (*const frees)(void *) = free;

    switch (index) {
    case 0:
    case 1: return *(void *const *)&sleeps;
    case 4: return *(void *const *)&allocates;
    case 5: return *(void *const *)&frees;
    default: return NULL;
    }
}

void *caret_mumps__callback(int index)
{
    static const char *const names[] = {"ydb_hiber_start", "ydb_hiber_start_wait_any",
                                        "ydb_start_timer", "ydb_cancel_timer",
                                        "ydb_malloc",      "ydb_free"};

    if (index < 0 || (unsigned)index >= sizeof names / sizeof *names)
        return NULL;
    void *found = dlsym(RTLD_DEFAULT, names[index]);
    return found != NULL ? found : plain(index);
}
