/*
 * lengthen.h - a longer log, by the holder of the checkpoint role.
 */
#ifndef CARET_LOG_LENGTHEN_H
#define CARET_LOG_LENGTHEN_H

#include "shm/engine.h"

/* The shortest log that a record of so many bytes fits, as the argument of caret__checkpoint_then(). */
uint64_t caret__log_for_record(uint64_t size);

/* Before a freeze: must the log have `least` bytes (0: no), or is it worth lengthening?  Then its file is made longer;
 * the size, or 0: it stays, for that or for want of room. */
int caret__log_prepare(struct caret__engine *e, uint64_t least, uint64_t *size);

/* In the freeze of that epoch: plan it. */
void caret__log_plan(struct caret__engine *e, uint32_t epoch, uint64_t size);

/* The meta slot of durable_epoch is on the disk: if the longer log is in it, that is the log from now on. */
int caret__log_switch(struct caret__engine *e);

#endif
