/*
 * pack.h - numbers and texts one after the other in bytes: entries of streams, bodies of DUMP payloads.
 *
 *     number     7 bits a byte, the low ones first; the top bit says that more follow
 *     signed     the same of 0, -1, 1, -2, 2, ... as 0, 1, 2, 3, 4, ...
 *     text       its length as a number, its bytes
 *
 * A writer never writes beyond its room but counts on: if len > room at the end, a buffer of len bytes is needed.  So
 * a writer without room measures.  A reader never reads beyond its end: what is not there, or is damaged, sets `bad`,
 * and all that is read from then on is 0 and empty.
 */
#ifndef CARET_SERVER_CODEC_PACK_H
#define CARET_SERVER_CODEC_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caret_codec__writer {
    uint8_t *bytes; /* may be NULL if room is 0 */
    size_t room, len;
};

void caret_codec__put_raw(struct caret_codec__writer *w, const void *bytes, size_t len);
void caret_codec__put_u64(struct caret_codec__writer *w, uint64_t v);
void caret_codec__put_i64(struct caret_codec__writer *w, int64_t v);
void caret_codec__put_text(struct caret_codec__writer *w, const void *bytes, size_t len);

struct caret_codec__reader {
    const uint8_t *at, *end;
    bool bad;
};

/* len bytes, where they are. */
const uint8_t *caret_codec__get_raw(struct caret_codec__reader *r, size_t len);
uint64_t caret_codec__get_u64(struct caret_codec__reader *r);
int64_t caret_codec__get_i64(struct caret_codec__reader *r);
const uint8_t *caret_codec__get_text(struct caret_codec__reader *r, size_t *len);

/*
 * A number of things that follow, each of at least least_len bytes: bad if there are not as many bytes.  So memory
 * for them is bounded by what arrived, not by what was announced.
 */
uint64_t caret_codec__get_count(struct caret_codec__reader *r, size_t least_len);

/* Was everything read, and all of it good? */
bool caret_codec__read_all(const struct caret_codec__reader *r);

/*
 * A stream's entry: the number of its pairs, and the text of each field and value.
 *
 *     caret_codec__put_u64(&w, n_pairs); caret_codec__put_text(&w, field...); caret_codec__put_text(&w, value...); ...
 *
 * Checks one as a whole, and tells its number of pairs, so that it can be read without further questions.
 */
bool caret_codec__entry_check(const uint8_t *bytes, size_t len, uint64_t *n_pairs);

#endif
