/*
 * bridge.h - what Lua calls in C for calls of C and from C.
 */
#ifndef CARET_MUMPS_BRIDGE_H
#define CARET_MUMPS_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of a clock that only goes forward, or that the process spent on processors. */
int64_t caret_mumps__nanoseconds(bool of_process);

/* The functions that M hands to C by number, as libyottadb.h has them; NULL: there is none, or no libyottadb.so. */
void *caret_mumps__callback(int index);

#endif
