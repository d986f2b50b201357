/*
 * locks.h - the locks of one session on a server, as the session counts them.
 *
 * The server knows a name once, however often it is taken.  Here it has records, one for each level of transactions
 * that took it (`level` is the mark of the innermost one at that time), and what it carries: through a restart a name
 * stays held at the server, but the new run has to take it again.  A name is held at the server from its first count to
 * the moment when it has neither records nor anything carried.
 */
#ifndef CARET_STORE_LOCKS_H
#define CARET_STORE_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct caret__name {
    uint8_t *key; /* NULL: the place is free */
    size_t len;
    bool carried;
};

/* So often taken at that level. */
struct caret__lock_taken {
    size_t name; /* index */
    uint64_t level;
    uint32_t count;
};

struct caret__names {
    struct caret__name *name;
    size_t n, cap;
    struct caret__lock_taken *taken; /* levels never fall along it */
    size_t ntaken, taken_cap;
    uint64_t level;
};

/* The index of a name, SIZE_MAX: it is not held at the server. */
size_t caret__name_find(const struct caret__names *l, const uint8_t *key, size_t len);

/* It is held at the server now.  CARET_OK, NOMEM. */
int caret__name_add(struct caret__names *l, const uint8_t *key, size_t len);

/* Room for so many names and counts more, so that adding them can't fail.  NOMEM. */
int caret__names_reserve(struct caret__names *l, size_t more);

/* Count a held name once more, once less (false: it has no counts). */
void caret__name_take(struct caret__names *l, size_t name);
bool caret__name_release(struct caret__names *l, size_t name);

/* Drop the records from a level on; carry: they are carried then. */
void caret__names_drop(struct caret__names *l, uint64_t level, bool carry);
void caret__names_uncarry(struct caret__names *l);

/* Has it neither records nor anything carried?  Then it is to be given back. */
bool caret__name_idle(const struct caret__names *l, size_t name);
void caret__name_forget(struct caret__names *l, size_t name);

/* Nothing is held; true: something was.  all: nor is memory. */
bool caret__names_clear(struct caret__names *l, bool all);

#endif
