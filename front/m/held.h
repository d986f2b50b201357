/*
 * held.h - locks that were taken in a transaction, where locks are held by another session than the one it runs in.
 *
 * M's rules: what a level took is released when it is undone.  When the transaction begins again its locks are
 * kept, `carried`; taking one of them again succeeds at once and counts once; those that the last run did not take are
 * released at the end.
 *
 * The engine does the same (caret__lock_restart), but only for locks of the session that the transaction runs in: its
 * list names cells of the lock table, by marks of that session.  In libyottadb.so locks are the process's, held by one
 * session, and each thread's transaction runs in its own.  One home would need a call of caret.h that ties a session's
 * locks to a transaction of another.
 *
 * The list is also for hosts whose transaction has its locks itself, to know which of them a level may release.  It
 * begins as NULL; it and its sessions are guarded by the caller.
 */
#ifndef CARET_M_HELD_H
#define CARET_M_HELD_H

#include <stdbool.h>

#include "caret.h"

struct caret_m__held {
    struct caret_m__held *next; /* the one taken before */
    caret_session *locks;       /* NULL: that of the transaction, whose engine releases what is undone */
    unsigned level;
    bool carried;
    caret_node node; /* as long as it has to be */
};

/* For a lock that is about to be taken; NULL: no memory.  Added when it was taken, else freed. */
struct caret_m__held *caret_m__held_new(caret_session *locks, unsigned level, const caret_node *n);
void caret_m__held_add(struct caret_m__held **list, struct caret_m__held *held);

/* A carried lock counts as taken at that level from now on.  false: there is none on that node. */
bool caret_m__held_again(struct caret_m__held **list, const caret_session *locks, unsigned level,
                         const caret_node *n);

/* One is given back by the program: the one taken last. */
void caret_m__held_drop(struct caret_m__held **list, const caret_session *locks, const caret_node *n);

/* Those that this level may release, of that session: taken in it, or carried into it.  How many; is this node one? */
size_t caret_m__held_count(const struct caret_m__held *list, const caret_session *locks, unsigned level);
bool caret_m__held_here(struct caret_m__held *list, const caret_session *locks, unsigned level,
                        const caret_node *n);

/* A level is undone, or committed, the outermost being 1 (how many counts of locks were released is returned); the
 * transaction begins again; the list is that of nobody. */
size_t caret_m__held_undo(struct caret_m__held **list, unsigned level);
size_t caret_m__held_commit(struct caret_m__held **list, unsigned level);
void caret_m__held_carry(struct caret_m__held *list);
void caret_m__held_forget(struct caret_m__held **list);

/* A name is taken so many times at most: LOCKINCR2HIGH. */
#define CARET_M__LOCKS_MOST 511

/* Bytes for any name as ZWR text, with a 0 after it. */
#define CARET_M__NAME_ROOM  8192

/* Does this process hold a lock of that name, or can't that be told?  All locks are looked through: to be asked before
 * a refusal. */
bool caret_m__is_locked(caret_db *db, const caret_node *n);

/* May the name be taken once more?  taken: how many there are, each as often as it was taken.  *spare: so many may be
 * taken before one can have been taken CARET_M__LOCKS_MOST times, 0: not known; it counts down, so that all locks are
 * looked through only then. */
bool caret_m__may_lock(caret_db *db, const caret_node *n, size_t taken, size_t *spare);

#endif
