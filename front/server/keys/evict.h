/*
 * evict.h - maxmemory: how much there is, and keys that make room.
 *
 * What counts is the size of the data: pages of the database that are in use, whether they are in memory or on the
 * disk.  A key that is deleted gives no page back by itself: pages are joined when they and their neighbours are nearly
 * empty.  So what was evicted counts as gone by an estimate of its bytes, the *credit*:
 *
 *     used = pages in use - credit
 *
 * The credit shrinks by the pages that die, and is a quarter of maxmemory at most: so pages take a quarter more than
 * is allowed, at most, where keys have left room in many.  It is in shared memory; a worker that dies leaves it as
 * it is.
 *
 * Keys are chosen as Redis chooses: the best of maxmemory-samples that are drawn at random, of each database.
 */
#ifndef CARET_SERVER_EVICT_H
#define CARET_SERVER_EVICT_H

#include "server/keys/key.h"

/* Bytes that count. */
uint64_t serve__memory_used(struct serve__worker *w);

/* maxmemory is set: is there too much, and nothing that can be done about it? */
bool serve__memory_full(struct serve__call *q);

/* An estimate of the bytes of a key that was opened and counted. */
uint64_t serve__key_bytes(const struct serve__key *k);

#endif
