/*
 * need.h - what a commit may take at most, so that nothing can run out after the commit point.
 *
 * Three things can: page numbers, arena slots (one for each number), bytes of the undo area.  Pages are counted by
 * what is to be done: caret__tree_set_pages() for one set, caret__record_need() (apply.c) for a record of any kind,
 * caret__row_pages() for sets in key order.  The undo that goes with them is counted here.  caret__reserve()
 * (reserve.c) then finds it all, or says what has to happen first.
 */
#ifndef CARET_LOG_NEED_H
#define CARET_LOG_NEED_H

#include <stdbool.h>
#include <stdint.h>

#include "page/page.h"
#include "shm/undo.h"

struct caret__need {
    uint32_t pages; /* page numbers, each with an arena slot */
    uint64_t undo_bytes;
    uint64_t undo_saved; /* of these, for pages of the current epoch: none after a checkpoint */
    bool in_rows;        /* counted for sets that are done in rows (tree/row.c) */
};

/* An undo entry of one word: of a bitmap, or of a page-table entry. */
#define CARET__UNDO_WORD    (8u + CARET__UNDO_FOOT)

/* A page that is saved whole. */
#define CARET__UNDO_PAGE    (CARET__PAGE_SIZE + CARET__UNDO_FOOT)

/* A page that comes to life saves three words: its bits in two maps and its page-table word (page/store.c). */
#define CARET__UNDO_BORN    80u

/* A page of a long value saves two, the bit that it is free and its page-table word; twice that. */
#define CARET__UNDO_RUN     96u

/* A page of which it is not counted whether it is saved whole or is born: it may be either. */
#define CARET__UNDO_TOUCHED (CARET__PAGE_SIZE + 256u)

/* What each commit saves once: the state block.  Much more than that; arbitrary. */
#define CARET__UNDO_ONCE    4096u

/* Ranges that an edit of a page in place saves: header and slots, or two of an entry (page/page.c); twice that. */
#define CARET__EDIT_RANGES  4u

_Static_assert(CARET__UNDO_BORN >= 3 * CARET__UNDO_WORD, "a page that is born");
_Static_assert(CARET__UNDO_RUN >= 2 * CARET__UNDO_WORD, "a page of a long value");
_Static_assert(CARET__UNDO_TOUCHED >= CARET__UNDO_PAGE + CARET__UNDO_BORN, "a page that is saved, or born");
_Static_assert(CARET__UNDO_ONCE >= sizeof(struct caret__tstate) + CARET__UNDO_FOOT, "the state block");

/* Sets one by one, in so many pages, and others that take so many bytes of undo in place. */
static inline struct caret__need caret__need_of_sets(uint32_t pages, uint64_t in_place)
{
    return (struct caret__need){
        .pages = pages, .undo_bytes = in_place + (uint64_t)pages * CARET__UNDO_TOUCHED + CARET__UNDO_ONCE};
}

#endif
