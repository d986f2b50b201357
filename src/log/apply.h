/*
 * apply.h - change the tree as a record says.
 */
#ifndef CARET_LOG_APPLY_H
#define CARET_LOG_APPLY_H

#include "log/commit.h"
#include "log/need.h"
#include "shm/engine.h"
#include "shm/undo.h"

enum caret__apply_mode {
    CARET__APPLY_REPLAY, /* at opening: nobody else is attached, no undo */
    CARET__APPLY_COMMIT,
    CARET__APPLY_REDO, /* repair: the versions of a dead writer's pages say nothing about what is saved */
};

/* Apply the whole record at LSN `lsn` (its end); in_rows: as caret__record_need() said.
 * The caller holds the writer mutex and has reserved all that can run out. */
int caret__apply(struct caret__engine *e, const uint8_t *rec, uint32_t size, uint64_t lsn,
                 enum caret__apply_mode mode, bool in_rows);

/* Replay: apply a record of one set whose place is known, if its leaf has room for it.  false: nothing was done, it is
 * one of others.  The caller holds the writer mutex; the spot tells what is there then. */
bool caret__apply_in_place(struct caret__engine *e, struct caret__spot *spot, const uint8_t *rec,
                           uint32_t size, uint64_t lsn);

/* Upper bound of what applying the record can take; for reservations. */
int caret__record_need(struct caret__engine *e, const uint8_t *rec, uint32_t size, struct caret__need *need);

/* The undo context of a commit that uses an area of the undo region (shm/undo.h). */
static inline struct caret__undo caret__undo_context(const struct caret__engine *e, uint32_t area)
{
    struct caret__shared *sh = e->sh;
    uint64_t backed = atomic_load_explicit(&sh->undo_cap, memory_order_relaxed);
    return (struct caret__undo){.area = e->undo + caret__undo_offset(area),
                                .base = e->base,
                                .word = &sh->undo_word,
                                .lsn = &sh->undo_lsn,
                                .cap = caret__undo_room(area, backed),
                                .tag = area << CARET__UNDO_SHIFT};
}

/* The small area of this process. */
static inline uint32_t caret__undo_near(const struct caret__engine *e)
{
    return e->slot % CARET__UNDO_NEARS + 1;
}

#endif
