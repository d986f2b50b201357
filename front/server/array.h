/*
 * array.h - arrays that grow.
 */
#ifndef CARET_SERVER_ARRAY_H
#define CARET_SERVER_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * The array with room for n elements of `size` bytes: itself, or moved, and at least twice as large as it was.  *cap is
 * for how many it has room; NULL and 0 are an array that has none yet.  NULL: there is no memory, and all is as it was.
 */
static inline void *serve__array_room(void *array, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap)
        return array;
    size_t more = *cap * 2 > n ? *cap * 2 : n + 15;
    void *grown = realloc(array, more * size);
    if (grown != NULL)
        *cap = more;
    return grown;
}

#endif
