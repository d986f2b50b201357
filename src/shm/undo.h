/*
 * undo.h - the undo area: what a commit in progress has overwritten.
 *
 * An entry is a range of the segment, wherever it lies (page bytes in the arena,
 * the tree-state block, bitmap words, words of page-table entries; never
 * versions):
 *
 *     | old bytes, padded to 8 | u64 place | u32 length | u32 0 |      entries grow upwards
 *
 * The footer comes last so that entries are walked from the end.
 *
 * The region has a small area for each of CARET__UNDO_NEARS processes, for sets in place, alone or in a
 * batch, and then the large one, area 0, for everything else.  The same lines of the large one would go from
 * core to core with every commit.  The undo word {generation:32, area:5, used:27} tells whose entries count,
 * and how many bytes.  Undo counts exactly while undo_lsn > log_applied (I4).  Order, each step before the
 * next in every process's eyes:
 *   begin     used = 0, then undo_lsn = L        (otherwise the entries of the commit before would count)
 *   save      entry bytes, then used += size     (publish)
 *   change    version = L, fence, bytes
 * Repair restores in reverse and then, in one store, raises the generation and
 * zeroes `used`: a reader that was rebuilding an old image sees the generation
 * change and drops its result.
 */
#ifndef CARET_SHM_UNDO_H
#define CARET_SHM_UNDO_H

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/racy.h"
#include "shm/layout.h"

#define CARET__UNDO_FOOT  16u
#define CARET__UNDO_NEARS 16u
#define CARET__UNDO_NEAR                                                                                     \
    (8u * CARET__PAGE_SIZE) /* bytes of a small area: header and all slots of a page fit seven times */
#define CARET__UNDO_SHIFT 27u
#define CARET__UNDO_FRONT ((uint64_t)CARET__UNDO_NEARS * CARET__UNDO_NEAR) /* the large area begins here */

_Static_assert(CARET__UNDO_MAX < 1u << CARET__UNDO_SHIFT, "bytes used fit the undo word");
_Static_assert(CARET__UNDO_NEARS < 32, "areas fit the undo word");

/* Area and bytes used, of an undo word. */
static inline uint32_t caret__undo_area(uint64_t word)
{
    return (uint32_t)word >> CARET__UNDO_SHIFT;
}
static inline uint32_t caret__undo_used(uint64_t word)
{
    return (uint32_t)word & ((1u << CARET__UNDO_SHIFT) - 1);
}
/* Where an area begins in the region. */
static inline uint64_t caret__undo_offset(uint32_t area)
{
    return area == 0 ? CARET__UNDO_FRONT : (uint64_t)(area - 1) * CARET__UNDO_NEAR;
}
/* Bytes of an area, when `backed` bytes of the region are. */
static inline uint64_t caret__undo_room(uint32_t area, uint64_t backed)
{
    return area == 0 ? backed - CARET__UNDO_FRONT : CARET__UNDO_NEAR;
}

struct caret__undo {
    uint8_t *area;
    uint8_t *base; /* of the segment: places are relative to it */
    _Atomic uint64_t *word;
    _Atomic uint64_t *lsn;
    uint64_t cap;
    uint32_t used; /* also what is not published yet */
    uint32_t tag;  /* the number of the area, shifted */
    uint32_t generation;
};

static inline void caret__undo_begin(struct caret__undo *u, uint64_t lsn)
{
    CARET__ASSERT(lsn != 0);
    u->generation = (uint32_t)(atomic_load_explicit(u->word, memory_order_relaxed) >> 32);
    u->used = 0;
    atomic_store_explicit(u->word, (uint64_t)u->generation << 32 | u->tag, memory_order_release);
    CARET_FAULT("undo_begin");
    atomic_store_explicit(u->lsn, lsn, memory_order_release);
}

/* Note the old bytes of a range; they count from the next publish on. */
static inline void caret__undo_save(struct caret__undo *u, const void *p, uint32_t len)
{
    uint32_t padded = (len + 7u) & ~7u;
    uint8_t *at = u->area + u->used;
    uint64_t place = (uint64_t)((const uint8_t *)p - u->base);

    CARET__ASSERT_ALWAYS((uint64_t)u->used + padded + CARET__UNDO_FOOT <= u->cap);
    caret__racy_copy_value(at, p, len);
    caret__racy_copy(at + padded, &place, 8);
    uint64_t tail = len;
    caret__racy_copy(at + padded + 8, &tail, 8);
    u->used += padded + CARET__UNDO_FOOT;
}

static inline void caret__undo_publish(struct caret__undo *u)
{
    CARET__ASSERT_CMP(u->used, <=, u->cap);
    CARET_FAULT("undo_saved");
    atomic_store_explicit(u->word, (uint64_t)u->generation << 32 | u->tag | u->used, memory_order_release);
    CARET_FAULT("undo_published");
}

#endif
