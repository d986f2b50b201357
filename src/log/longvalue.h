/*
 * longvalue.h - values out of line.
 */
#ifndef CARET_LOG_LONGVALUE_H
#define CARET_LOG_LONGVALUE_H

#include "disk/record.h"
#include "shm/engine.h"

/* Where the long values of one commit are written: free pages, reserved until caret__room_done(). */
#define CARET__ROOM_ENTRIES 16u
struct caret__room {
    uint64_t ahead;      /* pages that the values to be written will take, as far as it is known */
    uint32_t longest;    /* pages of the longest of them */
    uint32_t pgno, left; /* of the last reservation: what is not used yet */
    unsigned n;
    bool scraps; /* the file could not grow: one of them has fewer pages than were wanted */
    uint32_t first[CARET__ROOM_ENTRIES]; /* first pages of the reservations */
};

/* One of the values to be written will take so many pages. */
static inline void caret__room_expect(struct caret__room *room, uint32_t pages)
{
    room->ahead += pages;
    if (pages > room->longest)
        room->longest = pages;
}

/* Write a value there; LIMIT: too many others do for too long.  After an error, too, caret__room_done(). */
int caret__run_write(struct caret__engine *e, struct caret__room *room, const void *val, size_t len,
                     struct caret__runref *ref);
void caret__room_done(struct caret__engine *e, struct caret__room *room);

#endif
