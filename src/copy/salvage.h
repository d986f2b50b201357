/*
 * salvage.h - finding what is left of a damaged data file.
 */
#ifndef CARET_COPY_SALVAGE_H
#define CARET_COPY_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What becomes of a node that was found. */
struct caret__salvaged_node {
    const uint8_t *key;
    size_t klen;
    const uint8_t *val; /* NULL: a long value whose bytes are damaged */
    size_t vlen;
};
typedef int caret__salvage_fn(void *ctx, const struct caret__salvaged_node *node);

struct caret__salvage_counts {
    uint64_t pages;       /* of the file */
    uint64_t leaves;      /* read */
    uint64_t lost_pages;  /* in use, and neither a page of the tree nor part of a value that was found */
    uint64_t lost_values; /* long values */
    uint64_t stale;       /* leaves left out as they are copies from before */
    uint64_t doubtful;    /* leaves of which it can't be known */
    uint64_t logged;      /* changes in the log after the last checkpoint */
    uint32_t epoch;       /* of the checkpoint that was taken, 0 = not known */
    bool complete;        /* nothing is lost, as far as can be known */
};

/* Read the file, call `each` for every node found, in order of keys first the sure and then the doubtful ones; what
 * is lost is told in `report` (lines, cut at cap).  Nothing is written.  OPEN, BUSY, FOREIGN, IO, NOMEM, or
 * what `each` returned. */
int caret__salvage(const char *path, bool sure_only, caret__salvage_fn *each, void *ctx,
                   struct caret__salvage_counts *counts, char *report, size_t cap);

#endif
