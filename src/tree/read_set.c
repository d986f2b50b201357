/*
 * read_set.c - the read set of a transaction; read_set.h says what it is for.
 *
 * When a leaf is newer than the read point:
 *   1  r' = log_applied
 *   2  every leaf of the set, and the leaf just read, must still have the version
 *      it was read with
 *   3  point = r'
 * In this order: a commit between 1 and 2 fails the comparison, one after 2 has a
 * version above r' and is noticed at the next read.
 *
 * A page rebuilt beside a stopped writer (past.c) is as of its version, which is
 * log_applied; what the set has of it from before the commit in progress is the
 * same if that is the read point, and is kept: it names the page that was read.
 */
#include "tree/read_set.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/fault.h"

#define FIRST_SIZE 16u
#define KEPT_SIZE  1024u /* an index up to this size is kept, with 12 KiB in all, whatever it holds */

static void give_back(struct caret__reads *r)
{
    free(r->set);
    free(r->index);
    r->set = NULL;
    r->index = NULL;
    r->size = 0;
}

/* Empty the set.  One that is far larger than what the last transaction read is given back: it is memory that nobody
 * uses. */
static void empty(struct caret__reads *r)
{
    if (r->size > KEPT_SIZE && r->count < r->size / 16) {
        give_back(r);
        return;
    }
    for (uint32_t i = 0; i < r->count; i++)
        r->index[r->set[i].place] = 0;
}

void caret__reads_begin(struct caret__reads *r, uint64_t point)
{
    r->point = point;
    if (r->count != 0)
        empty(r);
    r->count = 0;
    r->last = 0;
}

void caret__reads_destroy(struct caret__reads *r)
{
    give_back(r);
    memset(r, 0, sizeof *r);
}

static inline bool unchanged(const struct caret__pager *pg, uint32_t pgno, uint64_t version)
{
    return atomic_load_explicit(&pg->ptab[pgno].version, memory_order_acquire) == version;
}

bool caret__reads_valid(const struct caret__pager *pg, const struct caret__reads *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (!unchanged(pg, r->set[i].pgno, r->set[i].version))
            return false;
    return true;
}

/* The place of pgno in the index, or the empty one where it belongs. */
static uint32_t place(const struct caret__reads *r, uint32_t pgno)
{
    CARET__ASSERT(r->size != 0 && (r->size & (r->size - 1)) == 0 && r->count < r->size);
    uint32_t i = pgno * 2654435761u & (r->size - 1);
    while (r->index[i] != 0 && r->set[r->index[i] - 1].pgno != pgno)
        i = (i + 1) & (r->size - 1);
    return i;
}

static int grow(struct caret__reads *r)
{
    uint32_t size = r->size != 0 ? r->size * 4 : FIRST_SIZE;
    uint32_t *index = calloc(size, sizeof *index);
    struct caret__read *set = index != NULL ? realloc(r->set, size / 2 * sizeof *set) : NULL;

    if (set == NULL) {
        free(index);
        return caret__fail(CARET_E_NOMEM, "no memory for a transaction's read set of %u pages", r->count);
    }
    free(r->index);
    r->set = set;
    r->index = index;
    r->size = size;
    for (uint32_t i = 0; i < r->count; i++) {
        set[i].place = place(r, set[i].pgno);
        index[set[i].place] = i + 1;
    }
    return CARET_OK;
}

int caret__reads_note_slow(struct caret__view *v, const struct caret__at *at)
{
    struct caret__reads *r = v->reads;

    if (r->count != 0 && r->set[r->last].pgno == at->pgno && r->set[r->last].version == at->version)
        return CARET_OK;
    if (at->version > r->point) {
        uint64_t now = atomic_load_explicit(v->pg->applied, memory_order_acquire);
        bool same = CARET_SEEDED("stale_read_point") || caret__reads_valid(v->pg, r);
        if (!same || (!unchanged(v->pg, at->pgno, at->version) && !caret__at_valid(v, at)))
            return CARET_RESTART;
        r->point = now;
    }
    if (r->count * 2 >= r->size) {
        int rc = grow(r);
        if (rc != CARET_OK)
            return rc;
    }
    uint32_t at_index = place(r, at->pgno), i = r->index[at_index];
    if (i != 0 && r->set[i - 1].version != at->version)
        return at->version == r->point && !unchanged(v->pg, at->pgno, at->version) && caret__at_valid(v, at)
                   ? CARET_OK       /* rebuilt, as of the read point */
                   : CARET_RESTART; /* read before in another version */
    if (i == 0) {
        r->set[r->count++] = (struct caret__read){at->version, at->pgno, at_index};
        r->index[at_index] = i = r->count;
    }
    r->last = i - 1;
    return CARET_OK;
}
