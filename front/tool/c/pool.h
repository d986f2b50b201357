/*
 * pool.h - memory for the tool's Lua state.
 *
 * A Lua program that works with nodes makes and drops many small objects of a few
 * sizes.  Lua tells the size again when it frees, so small blocks need no header:
 * a free list per size class, filled from chunks.  It saves about a tenth of the
 * run time of such a program over malloc.  A state has one thread, so there is no
 * lock.  Chunks go back to the system when the pool is destroyed, not before.
 */
#ifndef CARET_TOOLS_POOL_H
#define CARET_TOOLS_POOL_H

#include <stddef.h>

struct caret__pool;

/* NULL: no memory. */
struct caret__pool *caret__pool_new(void);

/* After lua_close(). */
void caret__pool_destroy(struct caret__pool *pool);

/* The lua_Alloc function; ud is the pool. */
void *caret__pool_alloc(void *ud, void *block, size_t old_size, size_t new_size);

#endif
