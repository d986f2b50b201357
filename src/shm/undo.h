/*
 * undo.h - the undo area: what a commit in progress has overwritten.
 *
 * An entry is a range of the segment, wherever it lies (page bytes in the arena,
 * the tree-state block, bitmap words, words of page-table entries; never
 * versions):
 *
 *     | old bytes, padded to 8 | u64 place | u32 length | u32 0 |      entries grow upwards
 *
 * The footer comes last so that entries are walked from the end.  The undo word
 * {generation:32, used:32} tells how many bytes count.  Undo counts exactly while
 * undo_lsn > log_applied (I4).  Order, each step before the next in every
 * process's eyes:
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

#define CARET__UNDO_FOOT 16u

struct caret__undo {
    uint8_t *area;
    uint8_t *base; /* of the segment: places are relative to it */
    _Atomic uint64_t *word;
    _Atomic uint64_t *lsn;
    uint64_t cap;
    uint32_t used; /* also what is not published yet */
    uint32_t generation;
};

static inline void caret__undo_begin(struct caret__undo *u, uint64_t lsn)
{
    u->generation = (uint32_t)(atomic_load_explicit(u->word, memory_order_relaxed) >> 32);
    u->used = 0;
    atomic_store_explicit(u->word, (uint64_t)u->generation << 32, memory_order_release);
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
    caret__racy_copy(at, p, len);
    caret__racy_copy(at + padded, &place, 8);
    uint64_t tail = len;
    caret__racy_copy(at + padded + 8, &tail, 8);
    u->used += padded + CARET__UNDO_FOOT;
}

static inline void caret__undo_publish(struct caret__undo *u)
{
    CARET_FAULT("undo_saved");
    atomic_store_explicit(u->word, (uint64_t)u->generation << 32 | u->used, memory_order_release);
    CARET_FAULT("undo_published");
}

#endif
