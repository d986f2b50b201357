/*
 * floor.h - a transaction that was restarted too often runs undisturbed.
 */
#ifndef CARET_LOG_FLOOR_H
#define CARET_LOG_FLOOR_H

#include "shm/engine.h"

void caret__floor_take(struct caret__engine *e, uint64_t id);
/* The same, after others: BUSY after `most` nanoseconds, INTXN: the thread has it already, for another. */
int caret__floor_wait_and_take(struct caret__engine *e, uint64_t id, uint64_t most);
void caret__floor_speak(uint64_t id);  /* the calling thread writes as that one too */
void caret__floor_forget(uint64_t id); /* no longer */
void caret__floor_return(struct caret__engine *e, uint64_t id);
void caret__floor_wait(struct caret__engine *e); /* writers: while somebody else has it, a second at most */

#endif
