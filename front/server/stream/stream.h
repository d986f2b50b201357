/*
 * stream.h - a stream as nodes.
 *
 *     ^redis(key)                   header of key.h; its `state` is
 *         0   last id, 16 bytes: milliseconds, sequence number
 *        16   the greatest id that XDEL deleted, or XSETID said
 *        32   entries that were ever added, 8
 *        40   the open block: its first id, 16; entries that are there, 4; that were added to it, 4;
 *             its size in Redis, 4; a hash of its first entry's fields, 8 (block.h)
 *        76   closed blocks, 4
 *        80   number of the next group, 4
 *     ^redis(key,ms,seq)            an entry (id.h): its pairs, as pack.h writes them
 *     ^redis(key,"","b",ms,seq)     a closed block, by the id that it begins with: entries that are there, 4;
 *                                   entries, size and hash as of the open one, 4, 4 and 8
 *     ^redis(key,"","g",...)        groups, and
 *     ^redis(key,"",N,...)          what the group with the number N keeps: group.h
 *
 * A stream may be empty: its key stays.  Numbers are little-endian and of fixed width, so that XADD changes the
 * header in place.
 */
#ifndef CARET_SERVER_STREAM_STREAM_H
#define CARET_SERVER_STREAM_STREAM_H

#include "server/keys/key.h"
#include "server/stream/id.h"

/* The block that entries are added to; `added` 0: there is none. */
struct serve__open_block {
    struct serve__id first;
    uint32_t live, added, bytes;
    uint64_t fields;
};

struct serve__stream {
    struct serve__key k; /* k.count: entries */
    struct serve__id last, deleted;
    uint64_t added;
    struct serve__open_block open;
    uint32_t closed, groups;
};

/* As serve__key_open(), serve__key_read(), serve__key_change() and serve__key_save(). */
int serve__stream_open(struct serve__call *q, struct serve__stream *x, caret_slice name);
int serve__stream_read(struct serve__call *q, struct serve__stream *x, caret_slice name);
int serve__stream_change(struct serve__call *q, struct serve__stream *x, caret_slice name);
int serve__stream_save(struct serve__call *q, struct serve__stream *x);

/* Append an entry of n pairs, of which fields and values alternate; the id is greater than the last. */
int serve__stream_append(struct serve__call *q, struct serve__stream *x, struct serve__id id,
                         const caret_slice *pairs, size_t n);

/* Delete an entry.  *was: it was there. */
int serve__stream_delete(struct serve__call *q, struct serve__stream *x, struct serve__id id, bool *was);

/* The value of an entry; CARET_NONE.  It lives until the next call with the session. */
int serve__stream_entry(struct serve__call *q, const struct serve__stream *x, struct serve__id id,
                        caret_slice *value);

/* The first or last entry there is; CARET_NONE. */
int serve__stream_end(struct serve__call *q, const struct serve__stream *x, bool last, struct serve__id *id,
                      caret_slice *value);

/* Has XDEL deleted one from this id on, that is not before all that are there? */
int serve__stream_holes(struct serve__call *q, const struct serve__stream *x, struct serve__id from,
                        bool *yes);

/* How many entries were added up to this id, as far as that can be known; -1: it can't. */
int serve__stream_rank(struct serve__call *q, const struct serve__stream *x, struct serve__id id,
                       int64_t *rank);

/* Answer an entry: its id, and an array of its fields and values (NULL data: null). */
int serve__answer_entry(struct serve__call *q, struct serve__id id, caret_slice value);
int serve__answer_pairs(struct serve__call *q, caret_slice value);

/* What XTRIM, and XADD, are told about it. */
struct serve__trim {
    enum { SERVE__TRIM_NONE, SERVE__TRIM_MAXLEN, SERVE__TRIM_MINID } kind;
    bool about; /* ~: whole blocks only */
    uint64_t len;
    struct serve__id id;
    uint64_t limit; /* entries; 0: none */
};

/* Trim it: *n entries were deleted.  The caller saves it.  (trim.c) */
int serve__stream_trim(struct serve__call *q, struct serve__stream *x, const struct serve__trim *t,
                       uint64_t *n);

#endif
