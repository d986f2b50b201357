/*
 * gparam_list.h - a list of arguments, for ydb_call_variadic_plist_func().  Part of libyottadb.h.
 */
#ifndef CARET_GPARAM_LIST_H
#define CARET_GPARAM_LIST_H

#include <stdint.h>

#define MAX_ACTUALS          32 /* arguments of a call of M */
#define MAX_GPARAM_LIST_ARGS 36 /* those and a few of the call's own */

typedef struct gparam_list_struct {
    intptr_t n; /* arguments in use */
    void *arg[MAX_GPARAM_LIST_ARGS];
} gparam_list;

#endif
