/*
 * huge.h - the arena in huge pages, where the system has such.
 */
#ifndef CARET_SHM_HUGE_H
#define CARET_SHM_HUGE_H

#include <sys/mman.h>

#include "shm/engine.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* mmap(2) of a shared file whole, at a multiple of CARET__HUGE if that is to be had.  MAP_FAILED, errno. */
void *caret__huge_map(size_t len, int prot, int fd);

/* Allocate in huge pages what they can hold of arena slots [from, to), none of which was allocated before.
 * What it leaves is allocated as ever: nothing depends on it, and it fails in silence.  Not under the writer
 * mutex: it may wait. */
void caret__huge_make(struct caret__engine *e, uint32_t from, uint32_t to);

/* In the background: put a part of the arena that lies in small pages together, if nobody uses it now and it is
 * time for it.  Is there more to do, in CARET__HUGE_EVERY or sooner?  Not under the writer mutex. */
bool caret__huge_settle(struct caret__engine *e);
#define CARET__HUGE_EVERY UINT64_C(250000000) /* arbitrary, ns: 3 % of a processor, 8 MiB a second */

/* Bytes of the arena that were made of huge pages. */
uint64_t caret__huge_bytes(const struct caret__engine *e);

#endif
