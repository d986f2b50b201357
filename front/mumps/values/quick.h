/*
 * quick.h - the quick half of caret_mumps__arithmetic().
 */
#ifndef CARET_MUMPS_VALUES_QUICK_H
#define CARET_MUMPS_VALUES_QUICK_H

#include "mumps/values/values.h"

/* True: *code is what caret_mumps__arithmetic() returns, and *out is written.  False: take the long way. */
bool caret_mumps__quick(int op, double x, const char *a, size_t na, double y, const char *b, size_t nb,
                        caret_mumps__number *out, int *code);

#endif
