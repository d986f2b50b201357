/*
 * store.h - pages as the holder of the writer mutex sees them.
 *
 * A writer context lives for one commit (one LSN).  Through it pages are looked
 * up, allocated, freed, made writable.  The rules it keeps:
 *   - A page whose epoch of birth is not the current one is part of a frozen or
 *     durable tree: it is never changed.  caret__w_copy() copies it to a new page
 *     number and arena slot; the old number becomes obsolete with version L (I1).
 *   - Before bytes or words change, their old contents are in the undo area and
 *     the page's version is L (I2).  Deaths need no undo (store.c).  A page with version L needs
 *     nothing more in this commit: it is new, or was saved whole.
 *   - A page number is free, or lent: its page died in the epoch before this one, the checkpoint of which is
 *     underway.  Until that is durable the file must keep the bytes, and a page of this epoch is not written
 *     before.  Long values are written at once, so they take free ones only.
 *   - Nothing here can fail: what runs out was reserved before the commit point (I3).
 * A private store has no undo, no epochs and no slots: page number = slot.
 */
#ifndef CARET_PAGE_STORE_H
#define CARET_PAGE_STORE_H

#include "page/page.h"
#include "shm/pager.h"

struct caret__w {
    struct caret__pager *pg;
    struct caret__shared *sh; /* NULL: private store */
    struct caret__undo *undo; /* NULL: private store, or replay at opening */
    uint64_t lsn;
    uint32_t epoch;
    bool redo; /* versions can't tell what is saved: pg->redo_saved does */
    bool ask;  /* nobody has looked at the leaves yet: they are asked for */
    bool state_saved;
    /* bitmap words of pages and slots saved last: taking neighbours saves them once */
    const void *saved_word[2];
};

/* Where the bytes of a page are, given its page-table word. */
static inline const struct caret__page *caret__page_at(const struct caret__pager *pg, uint32_t pgno,
                                                       uint64_t word)
{
    uint32_t slot = caret__pte_slot(word);
    if (caret__likely(slot != CARET__SLOT_NONE))
        return (const struct caret__page *)(pg->arena + (size_t)slot * CARET__PAGE_SIZE);
    return (const struct caret__page *)(pg->file + (size_t)pgno * CARET__PAGE_SIZE);
}

/* For assertions: may the calling thread change the store?  It holds the writer mutex, or the store is its own. */
bool caret__w_held(const struct caret__w *w);

/* A page by number; the caller holds the writer mutex (or owns the store). */
static inline const struct caret__page *caret__w_page(const struct caret__w *w, uint32_t pgno)
{
    CARET__ASSERT(caret__w_held(w));
    uint64_t word = atomic_load_explicit(&w->pg->ptab[pgno].word, memory_order_relaxed);
    return caret__page_at(w->pg, pgno, word);
}

/* Begin the changes of commit lsn (undo_begin included). */
void caret__w_begin(struct caret__w *w);

/* A new, empty page of that level. */
struct caret__page *caret__w_alloc(struct caret__w *w, unsigned level, uint32_t *pgno);

/* The page dies in this commit.  Takes no undo. */
void caret__w_free(struct caret__w *w, uint32_t pgno);

/* For repair, when the undo entries have been restored: the pages that died in commit lsn, which has to be redone,
 * are alive again.  epoch: the present one. */
void caret__take_back(struct caret__pager *pg, uint32_t epoch, uint64_t lsn);

/* Consecutive pages of the data file (a value stored out of line): taken and given back as a whole. */
void caret__w_take_run(struct caret__w *w, uint32_t pgno, uint32_t count);
void caret__w_free_run(struct caret__w *w, uint32_t pgno, uint32_t count);

/* Ready for any change: saved whole and versioned.  The page must be of the current epoch. */
struct caret__page *caret__w_dirty(struct caret__w *w, uint32_t pgno);

/* Is it of the current epoch (else it must be copied before it is changed)? */
static inline bool caret__w_current(const struct caret__w *w, uint32_t pgno)
{
    return caret__pte_epoch(atomic_load_explicit(&w->pg->ptab[pgno].word, memory_order_relaxed)) == w->epoch;
}

/* A copy of an older page under a new number, the old one obsolete; *pgno becomes the new number. */
struct caret__page *caret__w_copy(struct caret__w *w, uint32_t *pgno);

/* The page's role changed though no byte of it did (I2, role = key range). */
void caret__w_bump(struct caret__w *w, uint32_t pgno);

/* Save the tree-state block once, before its first change in this commit. */
void caret__w_save_state(struct caret__w *w);

/* The map of the page numbers that are lent in an epoch, if any are: they died in the one before. */
static inline unsigned caret__lent_map(uint32_t epoch)
{
    return CARET__MAP_PENDING0 + ((epoch - 1) & 1u);
}

/* Bits of a map that are set, of the first `bits`. */
uint32_t caret__map_count(const _Atomic uint64_t *map, uint32_t bits);

/* First run of `count` free page numbers that nobody has reserved, 0 if there is none. */
uint32_t caret__find_run(const struct caret__pager *pg, const struct caret__shared *sh, uint32_t count);

#endif
