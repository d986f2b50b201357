/*
 * lcs.h - the longest common subsequence of two strings, and where it is: LCS with LEN, IDX, MINMATCHLEN,
 * WITHMATCHLEN.
 */
#ifndef CARET_SERVER_CODEC_LCS_H
#define CARET_SERVER_CODEC_LCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caret_codec__lcs {
    const uint8_t *a, *b;
    size_t a_len, b_len; /* bytes */
    size_t length;       /* of the longest common subsequence, by caret_codec__lcs_run() */
    uint64_t *room; /* memory of the caller's: caret_codec__lcs_room() bytes; what it holds is the walk's */
    size_t i, j;    /* the walk: bytes of a and b that are still before it */
};

/* Bytes of memory that are needed: with `walk` a_len * b_len / 8 and a little, without a little.  SIZE_MAX: more than
 * there can be. */
size_t caret_codec__lcs_room(size_t a_len, size_t b_len, bool walk);

/* Computes the length, and prepares the walk if the room is for one. */
void caret_codec__lcs_run(struct caret_codec__lcs *lcs, bool walk);

/* The next piece that both strings have: bytes a_at .. a_at + len - 1 of a are b_at .. b_at + len - 1 of b.  Pieces
 * come from the end to the beginning, as Redis answers them; together they are the subsequence.  false: there is no
 * more. */
struct caret_codec__piece {
    size_t a_at, b_at, len;
};

bool caret_codec__lcs_next(struct caret_codec__lcs *lcs, struct caret_codec__piece *piece);

#endif
