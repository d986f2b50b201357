/*
 * quick.h - the quick half of caret_mumps__arithmetic().
 */
#ifndef CARET_MUMPS_VALUES_QUICK_H
#define CARET_MUMPS_VALUES_QUICK_H

#include "mumps/values/values.h"

struct quick {
    int64_t m;
    int places; /* digits of m after the point */
};

/* A double of values.h, an integer or a short fraction, without zeros at its end. */
struct quick caret_mumps__short(double x);

/* True: *code is what caret_mumps__arithmetic() returns, and *out is written.  False: take the long way. */
bool caret_mumps__quick(int op, double x, const char *a, size_t na, double y, const char *b, size_t nb,
                        caret_mumps__number *out, int *code);

#endif
