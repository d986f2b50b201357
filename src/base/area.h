/*
 * area.h - a block of memory that grows.
 *
 * It begins where a line of the caches does, and a large one where a page of the memory does, so that what is laid out
 * in lines or pages meets as few of them as it can; malloc's own large blocks begin 16 bytes later.  A large one is a
 * mapping: it grows without being copied, and in huge pages where the system gives them to whoever asks
 * (transparent_hugepage: madvise or always).  Nothing depends on these.
 */
#ifndef CARET_BASE_AREA_H
#define CARET_BASE_AREA_H

#include <stddef.h>

#define CARET__AREA_MAPPED ((size_t)256 << 10) /* bytes: from there on it is a mapping; arbitrary */
#define CARET__AREA_HUGE   ((size_t)8 << 20)   /* the same of huge pages: of less the caches hold the most */

/*
 * An area of `bytes` that begins with what the one of `old` bytes had; the rest is undefined.  NULL and 0: there was
 * none.  NULL: no memory, and the old one is as it was.
 */
void *caret__area_resize(void *area, size_t old, size_t bytes);

void caret__area_free(void *area, size_t bytes);

#endif
