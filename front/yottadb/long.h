/*
 * long.h - local variables with keys that are too long for the engine: what there is to do at an address when path.c or
 * locals.c said CARET__YDB_LONG.  Each function does all that the one without "long" does after its arguments are good.
 */
#ifndef CARET_YOTTADB_LONG_H
#define CARET_YOTTADB_LONG_H

#include "m/long.h"
#include "yottadb/session.h"

/* The key of the address, whose variable is in the list, and local variables are locked: to be left again with the
 * status of the call, which is returned. */
int caret__ydb_long_enter(struct caret__ydb_call *c, struct caret_m__key *k);
int caret__ydb_long_leave(struct caret_m__key *k, int status);

int caret__ydb_long_get(struct caret__ydb_call *c, ydb_buffer_t *ret);
int caret__ydb_long_set(struct caret__ydb_call *c, const ydb_buffer_t *value);
int caret__ydb_long_data(struct caret__ydb_call *c, unsigned *ret);
int caret__ydb_long_delete(struct caret__ydb_call *c, bool tree);
int caret__ydb_long_incr(struct caret__ydb_call *c, const ydb_buffer_t *by, ydb_buffer_t *ret);
int caret__ydb_long_sibling(struct caret__ydb_call *c, ydb_buffer_t *ret, bool back);
int caret__ydb_long_step(struct caret__ydb_call *c, int *ret_n, ydb_buffer_t *ret, bool back);

#endif
