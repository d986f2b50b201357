/*
 * writer.h - the writer mutex.
 */
#ifndef CARET_LOG_WRITER_H
#define CARET_LOG_WRITER_H

#include "shm/engine.h"

/* Lock the writer mutex, repairing after a dead owner.  CARET_OK, EVICTED, or
 * CORRUPT when the repair found damage.  On CARET_OK, log_head == log_applied. */
int caret__writer_lock(struct caret__engine *e);
void caret__writer_unlock(struct caret__engine *e);

/* The process in that slot is gone: see to it that nothing of it is being applied any more, repairing if it died
 * there.  Does not wait for a writer that lives, but for the repairer of this commit.  CARET_OK, or as above. */
int caret__writer_settle(struct caret__engine *e, uint32_t slot);

/* For readers (struct caret__view): a page is ahead of log_applied. */
int caret__stalled(void *engine, uint64_t version, unsigned tries);

#endif
