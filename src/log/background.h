/*
 * background.h - the thread that flushes, syncs and checkpoints when due.
 */
#ifndef CARET_LOG_BACKGROUND_H
#define CARET_LOG_BACKGROUND_H

#include "shm/engine.h"

/* The thread that flushes, syncs and checkpoints when due; started at the first write. */
int caret__background_start(struct caret__engine *e);
/* A handle with these options was opened: its sync interval counts from now on, for all processes. */
void caret__background_wants(struct caret__engine *e, const caret_options *options);
/* Without a thread: sync if an interval is over.  For committers, after their commit. */
int caret__background_inline(struct caret__engine *e);
void caret__background_stop(struct caret__engine *e);
void caret__background_wake(struct caret__engine *e);   /* cheap when it is awake already */
void caret__background_forked(struct caret__engine *e); /* in the child: forget the parent's thread */

#endif
