/*
 * repair.h - making the state whole after a death.
 */
#ifndef CARET_LOG_REPAIR_H
#define CARET_LOG_REPAIR_H

#include "shm/engine.h"

/* The writer mutex is ours and its owner died: make the state whole (idempotent). */
int caret__repair(struct caret__engine *e);

#endif
