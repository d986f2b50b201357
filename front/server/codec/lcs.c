/*
 * lcs.c - 64 cells of the table at a time.
 *
 * The table of lengths, L(i, j) for the first i bytes of a and j bytes of b, grows by 0 or 1 from each cell to the
 * next.  So a row is kept as bits: bit j is 0 where L(i, j + 1) = L(i, j) + 1.  With M the bits of b that are byte i
 * of a, the next row is
 *
 *     V' = (V + (V & M)) | (V & ~M)
 *
 * with one long addition (Crochemore, Iliopoulos, Pinzon and Reid, 2001).  The length is
 * the number of zeros of the last row.
 *
 * The walk goes back from L(a_len, b_len).  Equal bytes are a piece; else it goes to the larger neighbour, the row
 * before if L(i - 1, j) > L(i, j - 1), and that is so where bit j - 1 of row i is 0: then L(i, j - 1) is smaller than
 * L(i, j), and L(i - 1, j) has to be as large, as one of them is.
 *
 * Memory: 256 sets of bits, one for each byte, and then the rows, all of them for the walk.
 */
#include "server/codec/lcs.h"

#include <string.h>

static size_t words_of(size_t b_len)
{
    return b_len / 64 + 1;
}

size_t caret_codec__lcs_room(size_t a_len, size_t b_len, bool walk)
{
    size_t rows, bytes;

    if (__builtin_add_overflow(256, walk ? a_len : 1, &rows) ||
        __builtin_mul_overflow(rows, sizeof(uint64_t) * words_of(b_len), &bytes))
        return SIZE_MAX;
    return bytes;
}

static void next_row(const uint64_t *row, const uint64_t *equal, uint64_t *next, size_t words)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < words; i++) {
        uint64_t v = row[i], both = v & equal[i], sum = v + carry;
        carry = sum < carry;
        sum += both;
        carry |= sum < both;
        next[i] = sum | (v & ~equal[i]);
    }
}

/* Row i, from 1; without a walk they share one place. */
static uint64_t *row_of(const struct caret_codec__lcs *lcs, size_t i)
{
    return lcs->room + words_of(lcs->b_len) * (256 + i - 1);
}

static size_t zeros(const uint64_t *row, size_t n)
{
    size_t count = 0;

    for (size_t j = 0; j < n; j++)
        count += !(row[j / 64] >> j % 64 & 1);
    return count;
}

void caret_codec__lcs_run(struct caret_codec__lcs *lcs, bool walk)
{
    size_t words = words_of(lcs->b_len);
    uint64_t *row = row_of(lcs, 1);

    lcs->i = lcs->a_len;
    lcs->j = lcs->b_len;
    lcs->length = 0;
    if (lcs->a_len == 0)
        return;
    memset(lcs->room, 0, 256 * words * sizeof *row);
    for (size_t j = 0; j < lcs->b_len; j++)
        lcs->room[lcs->b[j] * words + j / 64] |= (uint64_t)1 << j % 64;
    memset(row, 0xff, words * sizeof *row); /* row 0 */
    for (size_t i = 1; i <= lcs->a_len; i++) {
        uint64_t *next = walk ? row_of(lcs, i) : row;
        next_row(row, lcs->room + lcs->a[i - 1] * words, next, words);
        row = next;
    }
    lcs->length = zeros(row, lcs->b_len);
}

bool caret_codec__lcs_next(struct caret_codec__lcs *lcs, struct caret_codec__piece *piece)
{
    while (lcs->i > 0 && lcs->j > 0 && lcs->a[lcs->i - 1] != lcs->b[lcs->j - 1]) {
        if (row_of(lcs, lcs->i)[(lcs->j - 1) / 64] >> (lcs->j - 1) % 64 & 1)
            lcs->j--;
        else
            lcs->i--;
    }
    for (piece->len = 0; lcs->i > 0 && lcs->j > 0 && lcs->a[lcs->i - 1] == lcs->b[lcs->j - 1]; piece->len++) {
        lcs->i--;
        lcs->j--;
    }
    piece->a_at = lcs->i;
    piece->b_at = lcs->j;
    return piece->len > 0;
}
