/*
 * orphan.h - segments in shared memory that nobody uses any more.
 */
#ifndef CARET_OPEN_ORPHAN_H
#define CARET_OPEN_ORPHAN_H

#include "shm/engine.h"
#include "shm/segment.h"

/* One more flag: give back memory of segments that may hold commits, all that a recovery does not read. */
#define CARET__SHM_SHRINK 0x100

/* caret_shm() with the registry locked.  each may be NULL. */
int caret__shm_visit(const char *dir, int flags, caret_shm_each *each, void *arg);

/* At an opening by the first, the registry is locked: remove what nobody needs from a folder (NULL: /dev/shm), wherever
 * its database was.  Of the one that is being opened `keep` is needed, the path in its record ("" = there is none). */
void caret__shm_sweep(const struct caret__identity *opening, const char *dir, const char *keep);

#endif
