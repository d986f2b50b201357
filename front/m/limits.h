/*
 * limits.h - constants.def in C: CARET_M__MAX_IDENT and so on.
 */
#ifndef CARET_M_LIMITS_H
#define CARET_M_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define M_LIMIT(name, value) CARET_M__##name = (value),
#define M_WIDE(name, value)
enum caret_m__limit {
#include "m/constants.def"
};
#undef M_LIMIT
#undef M_WIDE

#define CARET_M__MAX_TIME_NSEC (INT64_C(2147483647) * 1000000)

struct caret_m__constant {
    const char *name; /* as programs know it: YDB_... */
    int64_t value;
};

/* All of them. */
const struct caret_m__constant *caret_m__constants(size_t *n);

#endif
