/*
 * transaction.c - the transaction loop.
 */
#include "m/transaction.h"

/* That level is over. */
static void over(struct caret_m__tp *tp, unsigned level)
{
    bool outermost = level <= tp->outermost;

    tp->level = outermost ? 0 : level - 1;
    if (outermost)
        tp->restarting = false;
    if (!tp->restarting) /* else what it saved is put back when the outermost begins again */
        caret_m__forget(&tp->saved, level);
}

static void roll_back(struct caret_m__tp *tp, unsigned level)
{
    while (tp->s != NULL && caret_txn_level(tp->s) >= level)
        if (caret_rollback(tp->s) != CARET_OK)
            break;
}

void caret_m__tp_undo(struct caret_m__tp *tp, unsigned level)
{
    roll_back(tp, level);
    over(tp, level);
}

void caret_m__tp_forget(struct caret_m__tp *tp)
{
    caret_m__forget(&tp->saved, 0);
    *tp = (struct caret_m__tp){0};
}

/* --------------------------------------------------------------------- the end */

/* The outermost level begins again; within a snapshot that is where the snapshot was. */
static int again(struct caret_m__tp *tp)
{
    if (tp->outermost == 1)
        return caret_restart(tp->s);
    roll_back(tp, tp->outermost);
    return caret_begin(tp->s, tp->flags);
}

static enum caret_m__then restart_level(struct caret_m__tp *tp, unsigned level, int *rc)
{
    if (caret_m__tp_late(tp))
        return CARET_M__LATE;
    if (level > tp->outermost) {
        tp->restarting = true;
        caret_m__tp_undo(tp, level);
        return CARET_M__PASS_ON;
    }
    *rc = again(tp);
    if (*rc != CARET_OK)
        return CARET_M__FAILED;
    tp->restarting = false;
    tp->level = level;
    return CARET_M__AGAIN;
}

enum caret_m__then caret_m__tp_end_slow(struct caret_m__tp *tp, unsigned level, bool restart, int *rc)
{
    if (restart || tp->restarting)
        return restart_level(tp, level, rc);
    if (caret_m__tp_late(tp))
        return CARET_M__LATE;
    *rc = caret_commit(tp->s);
    if (*rc == CARET_RESTART)
        return restart_level(tp, level, rc);
    if (*rc != CARET_OK)
        return CARET_M__FAILED;
    over(tp, level);
    return CARET_M__DONE;
}

int caret_m__tp_restore(struct caret_m__tp *tp, struct caret_m__locals *locals)
{
    int rc = caret_m__restore(tp->saved, tp->outermost, locals);

    caret_m__forget(&tp->saved, tp->outermost + 1);
    return rc;
}
