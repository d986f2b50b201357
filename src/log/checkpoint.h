/*
 * checkpoint.h - everything committed comes into the data file.
 */
#ifndef CARET_LOG_CHECKPOINT_H
#define CARET_LOG_CHECKPOINT_H

#include "log/release.h"
#include "shm/engine.h"

/* Take a checkpoint (or wait for the one in progress and take over if its owner died)
 * so that everything committed before the call is in the data file afterwards. */
int caret__checkpoint(struct caret__engine *e);

/* Does the file system of the data file wait for the disk when sync_file_range asks it to? */
bool caret__disk_tells(const struct caret__engine *e);

/* The same for a writer that lacks room: one that was underway is enough, if it made some; so is a part of one: the
 * writer has to look for itself, and comes again. */
int caret__checkpoint_room(struct caret__engine *e);

/* force: also when nothing was committed since the last one; clean: the meta says that no log is needed. */
int caret__checkpoint_as(struct caret__engine *e, bool force, bool clean);

/* In the role, when nothing is left to do in it, under the writer mutex: freeze the epoch.  From then on no page is
 * of the current one.  What is frozen is written by the next checkpoint.  log_size: of the log after that
 * checkpoint, as caret__log_prepare() says; 0: as it is. */
void caret__freeze(struct caret__engine *e, uint64_t log_size);

/* Take one like caret__checkpoint() and, still in the role, call `then`: what it returns is returned.
 * log_size: so long the log is to be for it, if that can be (0: it does not matter). */
int caret__checkpoint_then(struct caret__engine *e, uint64_t log_size,
                           int (*then)(struct caret__engine *, void *), void *arg);

/* Under the writer mutex: could a checkpoint free slots or pages? Not if nothing was changed since the last. */
static inline bool caret__checkpoint_frees(const struct caret__engine *e)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    const struct caret__shared *sh = e->sh;
    return caret__held_stale(e) || atomic_load(&sh->checkpoint_lsn) != atomic_load(&sh->log_applied) ||
           atomic_load(&sh->released_epoch) + 1 != atomic_load(&sh->epoch);
}

/* How many times as much is dead as makes a checkpoint due: an eighth of the file, and as much as the log is long. */
uint32_t caret__checkpoint_dead(const struct caret__engine *e);

/* Is the log or the arena a third full, or much dead? */
bool caret__checkpoint_due(const struct caret__engine *e);

#endif
