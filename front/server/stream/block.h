/*
 * block.h - blocks of entries, as Redis keeps streams in them.
 *
 * Redis puts the entries of a stream into blocks of at most stream-node-max-entries entries and about
 * stream-node-max-bytes bytes, and `XTRIM MAXLEN ~` deletes whole blocks only.  Programs see how many entries
 * that leaves, so we count where its blocks would begin.  Entries are nodes of their own here: a block is no
 * more than a place and a count.
 *
 *     - The open block is the one that entries are added to; the header of the stream has it.  The others are closed.
 *     - A block has the entries from its first id up to the first id of the next one; the id that it begins
 *       with may be deleted.
 *     - Entries that were deleted count for the maximum of the open block; a block without any is gone, and
 *       if that was the open one, the one before it is open again.
 */
#ifndef CARET_SERVER_STREAM_BLOCK_H
#define CARET_SERVER_STREAM_BLOCK_H

#include "server/stream/stream.h"

/* An entry is about to be appended: count it, in the open block or in a new one. */
int serve__block_add(struct serve__call *q, struct serve__stream *x, struct serve__id id,
                     const caret_slice *pairs, size_t n);

/* A block that another server made begins: it is the open one, and the one before is closed. */
int serve__block_begin(struct serve__call *q, struct serve__stream *x, const struct serve__open_block *b);

/* Its hash of n fields: this, and then each of them mixed in. */
uint64_t serve__block_hash(uint64_t n);
uint64_t serve__block_mix(uint64_t hash, caret_slice field);

/* n entries were deleted from the block that has (or had) this id. */
int serve__block_remove(struct serve__call *q, struct serve__stream *x, struct serve__id id, uint32_t n);

/* The first block from this id on.  CARET_NONE: there is none. */
struct serve__block {
    struct serve__id first;
    uint32_t live;
    bool open;
};
int serve__block_first(struct serve__call *q, const struct serve__stream *x, struct serve__id from,
                       struct serve__block *b);

/* The node below which closed blocks are. */
int serve__block_base(const struct serve__stream *x, caret_node_buf *n);

#endif
