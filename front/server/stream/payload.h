/*
 * payload.h - a stream in a DUMP payload (codec/rdb.h has length and text; numbers of 8 bytes are little-endian).
 *
 *     length: blocks; of each   text: the id that it begins with; text: a listpack
 *     length: entries           lengths: last id, * first id, * greatest deleted id, two each; * entries ever added
 *     length: groups; of each   text: name; lengths: last id delivered, * entries read (~0: not known)
 *         length: pending       of each: id; 8 bytes: when it was delivered; length: how often
 *         length: consumers     of each: text: name; 8 bytes: when it was seen; length: pending of it, their ids
 *
 * What a * marks is not in those of Redis 5 and 6.  The id of a block, or of what is pending, is 16 bytes, the high
 * ones first.
 *   The listpack of a block:
 *
 *     entries that are there; entries that were deleted; n; n fields; 0
 *     of each entry: flags (1: it was deleted; 2: it has the fields above); milliseconds and sequence number, less
 *         those of the block; unless it has those fields: n; its values, unless so with their fields before them;
 *         and how many elements all this was
 *
 * We write no deleted entries: they are not kept here.  So a block that is restored may take as many more.
 */
#ifndef CARET_SERVER_STREAM_PAYLOAD_H
#define CARET_SERVER_STREAM_PAYLOAD_H

#include "server/codec/pack.h"
#include "server/stream/stream.h"

/* Add all that follows the number of blocks to q->r->work.  *blocks: that number. */
int serve__stream_dump(struct serve__call *q, caret_slice name, uint64_t *blocks);

/* Make the stream, which is not there, of a payload; `old`: of Redis 5 or 6.  It is saved. */
int serve__stream_restore(struct serve__call *q, struct caret_codec__reader *r, struct serve__stream *x,
                          bool old);

#endif
