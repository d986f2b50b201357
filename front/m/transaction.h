/*
 * transaction.h - the transaction loop: what becomes of a level when its function has returned.
 *
 *     begin -> [function] -> end: commit -> DONE
 *                ^                '-- conflict, or the function asks for it -.
 *                |                                                           |
 *                '---- AGAIN: the outermost level <--------------------------+--> PASS_ON: undone; a level
 * around it begins again
 *
 * The front-end calls the function itself, between caret_m__tp_begin() and caret_m__tp_end(), so nothing here
 * is on the stack
 * meanwhile.  It rolls back by caret_m__tp_undo(): when the function says so, and after LATE and FAILED, as
 * soon as it has
 * worded why.  After AGAIN it puts local variables back, by caret_m__tp_restore(), and calls the function again.
 *
 * After PASS_ON the transaction is `restarting` until the outermost level begins again: a function that ignores that
 * can't commit.  All levels are those of one session, and the caller's: nothing here is shared.
 */
#ifndef CARET_M_TRANSACTION_H
#define CARET_M_TRANSACTION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "caret.h"
#include "m/error.h"
#include "m/locals.h"

/* The transaction of a session, zero when there is none.  For the front-end to read. */
struct caret_m__tp {
    caret_session *s;
    unsigned level;     /* the innermost, as the session counts; 0 = none */
    unsigned outermost; /* the outermost: 1, or more within a snapshot */
    bool restarting;
    int flags;         /* of the outermost: CARET_TXN_* */
    long limit;        /* seconds that it may take, 0 = any */
    uint64_t deadline; /* 0 = none, in nanoseconds of CLOCK_MONOTONIC */
    struct caret_m__saved *saved;
};

enum caret_m__then { CARET_M__DONE, CARET_M__AGAIN, CARET_M__PASS_ON, CARET_M__LATE, CARET_M__FAILED };

/* Nanoseconds of a clock that is not set. */
static inline uint64_t caret_m__now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline bool caret_m__tp_late(const struct caret_m__tp *tp)
{
    return tp->deadline != 0 && caret_m__now() >= tp->deadline;
}

/* Begin a level in session s; flags and limit (seconds, 0 and less = any) count for the outermost.  A code of
 * Caret's. */
static inline int caret_m__tp_begin(struct caret_m__tp *tp, caret_session *s, int flags, long limit)
{
    int rc = caret_begin(s, flags);

    if (rc != CARET_OK)
        return rc;
    unsigned level = caret_txn_level(s);
    if (tp->level == 0) {
        tp->s = s;
        tp->outermost = level;
        tp->restarting = false;
        tp->flags = flags;
        tp->limit = limit;
        tp->deadline = limit > 0 ? caret_m__now() + (uint64_t)limit * 1000000000u : 0;
    }
    tp->level = level;
    return CARET_OK;
}

/* Levels that M programs may have, whatever the engine can. */
#define CARET_M__TP_LEVELS 126

enum caret_m__then caret_m__tp_end_slow(struct caret_m__tp *tp, unsigned level, bool restart, int *rc);

/* The function of that level has returned: commit, or begin again (`restart`; `restarting` is heeded too).  *rc: why it
 * FAILED, a code of Caret's.  Mostly there is nothing to do but to commit. */
static inline enum caret_m__then caret_m__tp_end(struct caret_m__tp *tp, unsigned level, bool restart,
                                                 int *rc)
{
    if (restart || tp->restarting || tp->deadline != 0 || tp->saved != NULL)
        return caret_m__tp_end_slow(tp, level, restart, rc);
    *rc = caret_commit(tp->s);
    if (*rc != CARET_OK)
        return *rc == CARET_RESTART ? caret_m__tp_end_slow(tp, level, true, rc) : CARET_M__FAILED;
    tp->level = level <= tp->outermost ? 0 : level - 1;
    return CARET_M__DONE;
}

/* Roll back that level and those within it. */
void caret_m__tp_undo(struct caret_m__tp *tp, unsigned level);

/* After AGAIN: put back local variables.  A code of Caret's. */
int caret_m__tp_restore(struct caret_m__tp *tp, struct caret_m__locals *locals);

/* The session is gone, or was another process's: nothing is in progress any more. */
void caret_m__tp_forget(struct caret_m__tp *tp);

#endif
