/*
 * A store for tests, in this process's memory: addresses test://NAME, one database for each name.  What it promises is
 * what store/store.h asks for, so the API can be tested over a store without a server; and it can be told to fail.
 */
#ifndef CARET_TEST_SUPPORT_MEMORY_STORE_H
#define CARET_TEST_SUPPORT_MEMORY_STORE_H

#include "store/store.h"

extern const struct caret__store memory_store;

/* From now on caret_open() knows it. */
void memory_store_install(void);

/* The next so many calls of that kind answer `code`, after `skip` of them that do as ever.  UNKNOWN at a commit: it is
 * done if `done`. */
enum memory_call { MEMORY_READ, MEMORY_COMMIT, MEMORY_LOCK, MEMORY_UNLOCK, MEMORY_CALLS };
void memory_store_fail(enum memory_call call, int code, unsigned skip, unsigned times, bool done);

/* What was called since the last time it was asked. */
struct memory_counts {
    unsigned begins, reads, commits, ops, rollbacks, attached, detached, forgotten;
    unsigned restarts;             /* the most that a begin was told */
    enum caret__store_begin how;   /* of the last begin */
    unsigned flags;                /* of the last commit */
    struct caret__store_op op[16]; /* of the last commit, its first; keys and values are copies */
};
struct memory_counts memory_store_counts(void);

/* How many names are locked, in all databases. */
unsigned memory_store_locked(void);

/* The server forgets all locks: each conn that had one answers EVICTED to its next call. */
void memory_store_lose_locks(void);

#endif
