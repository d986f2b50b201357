/*
 * pager.h - how tree code reaches the pages of a store.
 *
 * A store is either the shared database (page table, bitmaps and arena in the
 * segment, cold pages in the read-only file mapping) or private memory (locals,
 * the write buffer of a transaction), where page number and arena slot are the
 * same and nothing is ever in a file.  The tree code above is the same for both;
 * `shared` tells where they differ.  The pointers of a private pager move when
 * it grows, so nobody keeps a page pointer across a change of it.
 */
#ifndef CARET_SHM_PAGER_H
#define CARET_SHM_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

struct caret__page;

struct caret__pager {
    struct caret__pte *ptab;
    uint8_t *arena;
    const uint8_t *file; /* read-only mapping of the data file; NULL for private memory */
    struct caret__tstate *ts;
    _Atomic uint64_t *applied;           /* log_applied, or the private store's change counter */
    _Atomic uint64_t *maps[CARET__MAPS]; /* private: only MAP_FREE */
    uint32_t *owners;                    /* shared: page number by arena slot */
    uint64_t *redo_saved;                /* shared: bit per arena slot, for repair: saved in this redo */
    uint64_t *verified; /* shared: bit per page number whose file bytes this process found good, or wrote */
    const uint64_t *file_pages_mapped; /* shared: pages of the file that may be touched */
    uint32_t max_pages;
    /* pages of the file below it stay as they were when they were verified (caret__file_keep) */
    uint32_t kept;
    bool shared;
    uint32_t warm; /* the leaf that a change came to last, if it was asked for */
    /* owner of hints: different for every attach and every private store, and spread (api/node.h) */
    uint64_t id;
    const char *path; /* of the data file, for messages; NULL: private memory */
};

/* The n-th id: no two are near each other.  The top bit keeps those of private stores apart from the others. */
static inline uint64_t caret__spread_id(uint64_t n, bool private_store)
{
    uint64_t id = n * UINT64_C(0x93CD3A2C8198E269); /* an odd number: 2^64 divided by the root of three */

    return private_store ? id & UINT64_MAX >> 1 : id | UINT64_C(1) << 63;
}

/* The bytes in the file of a page are good: nobody in this process need look. */
static inline void caret__page_is_known(const struct caret__pager *pg, uint32_t pgno)
{
    __atomic_fetch_or(&pg->verified[pgno / 64u], UINT64_C(1) << (pgno % 64u), __ATOMIC_RELAXED);
}

#endif
