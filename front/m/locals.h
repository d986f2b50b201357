/*
 * locals.h - what local variables were before a transaction, for when it begins again.
 *
 * A level of a transaction names variables, or all of them by "*".  What they are when they are named first in
 * it is copied to a
 * session of the level's own.  When the transaction begins again, what was saved for the levels in progress is
 * put back, the
 * innermost first, so that what was named earlier wins.  A level that has ended, one way or the other, is
 * forgotten: M puts back what active levels named, and nothing after a rollback.
 *
 * Local variables are those of a session without a database, and of a list (long.h) those that it can't have.  They are
 * guarded by the caller, from the first call to the last.
 */
#ifndef CARET_M_LOCALS_H
#define CARET_M_LOCALS_H

#include "caret.h"
#include "m/long.h"

struct caret_m__saved; /* of all levels; NULL: nothing was saved */

/* Save a variable, or all with "*", as it is now, for that level: the innermost that anything was saved for, or one
 * within that.  A code of Caret's; NOMEM may come without a message. */
int caret_m__save(struct caret_m__saved **saved, unsigned level, const struct caret_m__locals *locals,
                  const char *name, size_t len);

/* Put back what was saved for that level and those within it.  A code of Caret's. */
int caret_m__restore(const struct caret_m__saved *saved, unsigned level, struct caret_m__locals *locals);

/* Forget it. */
void caret_m__forget(struct caret_m__saved **saved, unsigned level);

/* Kill all variables but those n.  A code of Caret's. */
int caret_m__kill_others(struct caret_m__locals *locals, const caret_slice *names, size_t n);

#endif
