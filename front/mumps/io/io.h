/*
 * io.h - what Lua calls in C for devices, processes (exports.def).
 */
#ifndef CARET_MUMPS_IO_H
#define CARET_MUMPS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#endif
