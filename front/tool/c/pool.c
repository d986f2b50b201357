/* pool.c - see pool.h. */
#include "tool/c/pool.h"

#include <stdlib.h>
#include <string.h>

#define UNIT    16u             /* sizes are rounded up to it */
#define CLASSES 20u             /* blocks of 16, 32, ... 320 bytes; larger ones are malloc's */
#define CHUNK   ((size_t)65536) /* bytes taken from malloc at once */

struct block {
    struct block *next;
};

struct caret__pool {
    struct block *unused[CLASSES + 1]; /* [c]: blocks of c units */
    struct block *chunks;              /* each begins with its link */
    char *fresh, *end;                 /* what is left of the newest chunk */
};

struct caret__pool *caret__pool_new(void)
{
    return calloc(1, sizeof(struct caret__pool));
}

void caret__pool_destroy(struct caret__pool *pool)
{
    while (pool->chunks != NULL) {
        struct block *chunk = pool->chunks;
        pool->chunks = chunk->next;
        free(chunk);
    }
    free(pool);
}

/* Size class of n bytes, 0 = malloc's. */
static inline size_t class_of(size_t n)
{
    return n <= CLASSES * UNIT ? (n + UNIT - 1) / UNIT : 0;
}

static void *take_fresh(struct caret__pool *pool, size_t c)
{
    if ((size_t)(pool->end - pool->fresh) < c * UNIT) {
        struct block *chunk = malloc(CHUNK);
        if (chunk == NULL)
            return NULL;
        chunk->next = pool->chunks; /* the rest of the chunk before is given up: less than a block */
        pool->chunks = chunk;
        pool->fresh = (char *)chunk + UNIT;
        pool->end = (char *)chunk + CHUNK;
    }
    void *p = pool->fresh;
    pool->fresh += c * UNIT;
    return p;
}

static inline void *take(struct caret__pool *pool, size_t n)
{
    size_t c = class_of(n);
    if (c == 0)
        return malloc(n);
    struct block *b = pool->unused[c];
    if (b == NULL)
        return take_fresh(pool, c);
    pool->unused[c] = b->next;
    return b;
}

static inline void give(struct caret__pool *pool, void *p, size_t n)
{
    size_t c = class_of(n);
    if (c == 0) {
        free(p);
        return;
    }
    struct block *b = p;
    b->next = pool->unused[c];
    pool->unused[c] = b;
}

static void *resize(struct caret__pool *pool, void *p, size_t old_size, size_t new_size)
{
    size_t from = class_of(old_size), to = class_of(new_size);
    if (from == 0 && to == 0)
        return realloc(p, new_size);
    if (from == to)
        return p;
    void *q = take(pool, new_size);
    if (q == NULL)
        return NULL;
    memcpy(q, p, old_size < new_size ? old_size : new_size);
    give(pool, p, old_size);
    return q;
}

void *caret__pool_alloc(void *ud, void *block, size_t old_size, size_t new_size)
{
    struct caret__pool *pool = ud;
#ifdef __SANITIZE_ADDRESS__
    (void)pool; /* the sanitizer shall see every block */
    if (new_size != 0)
        return realloc(block, new_size);
    free(block);
    return NULL;
#endif
    if (block == NULL) /* old_size is a type then */
        return new_size != 0 ? take(pool, new_size) : NULL;
    if (new_size != 0)
        return resize(pool, block, old_size, new_size);
    give(pool, block, old_size);
    return NULL;
}
