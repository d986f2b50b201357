/*
 * values.h - what Lua calls in C for numbers, text, patterns, formats, dates (exports.def).
 */
#ifndef CARET_MUMPS_VALUES_H
#define CARET_MUMPS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#endif
