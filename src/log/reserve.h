/*
 * reserve.h - room for a commit, before it begins.
 */
#ifndef CARET_LOG_RESERVE_H
#define CARET_LOG_RESERVE_H

#include "log/need.h"
#include "shm/engine.h"

/* Under the writer mutex: are there so many pages, slots, undo bytes?  Grows what can
 * grow.  CARET_OK; CARET_RESTART = a checkpoint must make room first; or an error. */
int caret__reserve(struct caret__engine *e, const struct caret__need *need, bool is_kill);

/* Can a commit change so many pages at all?  CARET_OK or TXN_TOO_BIG. */
int caret__may_take(const struct caret__engine *e, uint32_t pages);

/* Under the writer mutex: free page numbers that nobody has reserved, but for those that are left to kills. */
uint32_t caret__pages_to_take(const struct caret__shared *sh);

#endif
