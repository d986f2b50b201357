/*
 * data.h - what Lua calls in C for globals, locks, transactions (exports.def).
 */
#ifndef CARET_MUMPS_DATA_H
#define CARET_MUMPS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#endif
