/*
 * run.h - values out of line: a run is the consecutive pages of the data file that have one.
 *
 * An entry with CARET__VLEN_RUN has a struct caret__runref instead of its value.
 */
#ifndef CARET_PAGE_RUN_H
#define CARET_PAGE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

/* Reference to a value in consecutive pages of the data file. */
struct caret__runref {
    uint32_t pgno; /* first page */
    uint32_t len;  /* bytes of the value */
    uint32_t crc;  /* crc32c of the value */
    uint32_t spare;
};

/* Pages that a value of so many bytes takes.  The length may be any number: it may come from a damaged file. */
static inline uint32_t caret__run_pages(uint64_t len)
{
    return (uint32_t)((len + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE);
}

/* Do all pages of a run lie below that number? */
static inline bool caret__run_below(uint32_t pgno, uint32_t len, uint64_t npages)
{
    return (uint64_t)pgno + caret__run_pages(len) <= npages;
}

#endif
