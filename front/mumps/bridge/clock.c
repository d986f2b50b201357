/*
 * clock.c - clocks and callbacks for external calls.
 */
#include <dlfcn.h>
#include <time.h>

#include "mumps/bridge/bridge.h"

int64_t caret_mumps__nanoseconds(bool of_process)
{
    struct timespec t;

    clock_gettime(of_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void *caret_mumps__callback(int index)
{
    static const char *const names[] = {"ydb_hiber_start", "ydb_hiber_start_wait_any",
                                        "ydb_start_timer", "ydb_cancel_timer",
                                        "ydb_malloc",      "ydb_free"};

    if (index < 0 || (unsigned)index >= sizeof names / sizeof *names)
        return NULL;
    return dlsym(RTLD_DEFAULT, names[index]);
}
