/*
 * tally.h - counts by key, in the segment, for people to look at.
 *
 * Nothing here is locked, and nothing may be decided by it: a count can be lost, or get among those of another key.
 */
#ifndef CARET_SHM_TALLY_H
#define CARET_SHM_TALLY_H

#include <stdbool.h>

#include "shm/layout.h"

/* Room for a key. */
#define CARET__TALLY_KEY (CARET__TALLY_WORDS * 8u - 2u)

/* What is told of a key. */
struct caret__tallied {
    uint64_t count, time, pid; /* as in struct caret__tally */
    bool above;                /* its key is too long: that of a node above it is here */
    uint8_t len;
    uint8_t key[CARET__TALLY_KEY];
};

/* Add n to the count of this key, in a tally of so many places: a multiple of 4.  `pid`: of the process that says so.
 * If none of the places for the key is its own, it takes the one that was noted longest ago.  No mutex is needed, and
 * none should be held. */
void caret__tally_note(struct caret__tally *tally, uint32_t places, const uint8_t *key, size_t len,
                       uint64_t n, uint64_t pid);

/* Read one place; false: nothing is there, or half of something. */
bool caret__tally_read(const struct caret__tally *place, struct caret__tallied *out);

#endif
