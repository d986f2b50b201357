/*
 * collide.h - where transactions collide: which nodes had them restarted.
 */
#ifndef CARET_TXN_COLLIDE_H
#define CARET_TXN_COLLIDE_H

#include "txn/txn.h"

/* Room for the key of a node at which transactions collided. */
#define CARET__COLLISION_KEY (CARET__COLLISION_WORDS * 8u - 2u)

/* What is remembered of such a node. */
struct caret__collided {
    uint64_t count, time, pid; /* as in struct caret__collision */
    bool above;                /* its key is too long: that of a node above it is here */
    uint8_t len;
    uint8_t key[CARET__COLLISION_KEY];
};

/* A transaction is to be restarted, and still has its changes: note where it collided, if that can be told.  `v` is its
 * view of the database.  No mutex is held. */
void caret__collide_note(struct caret__shared *sh, const struct caret__txn *t, struct caret__view *v,
                         uint64_t pid);

/* Read place i of the segment; false: nothing is there, or half of something. */
bool caret__collide_read(const struct caret__shared *sh, uint32_t i, struct caret__collided *c);

#endif
