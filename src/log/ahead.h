/*
 * ahead.h - room that is made before a writer must wait until it is: of the arena, and of the file.
 *
 * Not under the writer mutex, and where it may take long: by the thread in the background, also in the middle of a
 * checkpoint.
 */
#ifndef CARET_LOG_AHEAD_H
#define CARET_LOG_AHEAD_H

#include "shm/engine.h"

void caret__provide_slots(struct caret__engine *e);

/* Those of holes first, as a writer would take them. */
void caret__provide_pages(struct caret__engine *e);

#endif
