/*
 * collide.h - where transactions collide: which nodes had them restarted.
 */
#ifndef CARET_TXN_COLLIDE_H
#define CARET_TXN_COLLIDE_H

#include "txn/txn.h"

/* A transaction is to be restarted, and still has its changes: note where it collided, if that can be told.  `v` is its
 * view of the database.  No mutex is held. */
void caret__collide_note(struct caret__shared *sh, const struct caret__txn *t, struct caret__view *v,
                         uint64_t pid);

#endif
