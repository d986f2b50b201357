/*
 * area.c - a block of memory that grows; area.h says what it is for.
 */
#include "base/area.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64u

static bool is_mapped(size_t bytes)
{
    return bytes >= CARET__AREA_MAPPED;
}

static void *map(void *area, size_t old, size_t bytes)
{
    void *p = is_mapped(old) ? mremap(area, old, bytes, MREMAP_MAYMOVE)
                             : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    if (bytes >= CARET__AREA_HUGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

void *caret__area_resize(void *area, size_t old, size_t bytes)
{
    void *p = is_mapped(bytes) ? map(area, old, bytes) : aligned_alloc(LINE, bytes);

    if (p == NULL || area == NULL || (is_mapped(old) && is_mapped(bytes)))
        return p;
    memcpy(p, area, old < bytes ? old : bytes);
    caret__area_free(area, old);
    return p;
}

void caret__area_free(void *area, size_t bytes)
{
    if (is_mapped(bytes))
        munmap(area, bytes);
    else
        free(area);
}
