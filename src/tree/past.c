/*
 * past.c - what a page was before the commit that is being applied.
 *
 * A writer may be stopped (a signal, a debugger), or off the processor for long,
 * in the middle of applying its commit L.  Its pages have version L > log_applied
 * and any contents; nobody may touch them.  But all that it has changed so far, it
 * has saved before: the state of log_applied = a can be rebuilt, by every reader
 * for itself, in private memory.
 *
 *   begin   g = undo generation; a = log_applied; undo_lsn > a, or nothing is going on
 *   root    its number; then the undo count, and the entries on it, last first
 *   page    version <= a: as it is.  Above:
 *             1  the page-table word; the count, the entries on the word: where the
 *                page was.  It was alive, for the way to it is as of a: the obsolete
 *                flag, which has no entry (page/store.c), is L's
 *             2  copy the bytes from there
 *             3  fence; only now the count, and the entries on the bytes, last first
 *             4  generation = g and log_applied = a, else all this is dropped
 *           It is the page as of a; `a` is its version, never L.
 *
 * Why this order: an entry is published before what it saves changes, so a count
 * that is read after the bytes covers all that can have been seen of L in them.
 * Entries say what was there when they were made; the last one applied, the oldest,
 * is from before L.  Undoing what was not done yet, or is restored already by a
 * repairer, does no harm: the bytes are the same.  As long as log_applied is a, the
 * writer mutex is with L: no slot is released, no number reused.  A repairer that
 * has restored begins new entries; it raises the generation first.
 *
 * The whole descent is as of a: it starts at the old root, for the pages above say
 * which page holds a key, and they may have changed too (a neighbour inherits the
 * range of an unlinked leaf).  So the usual descent never uses a rebuilt page; a
 * reader that is blocked starts again here.
 *
 * What was read through a rebuilt page counts if caret__past_holds() still says
 * so after it: then the page still is the present.  A version of `a` for this
 * page is in no page-table entry, now or later, so whatever remembers it (a
 * node, a read set) looks again, and a commit finds that L changed what it
 * read.
 *
 * Rebuilt pages are kept for the next descent, as long as a and g are the same: the
 * second read past a stopped writer costs little more than any.
 */
#include "tree/past.h"

#include <stdlib.h>

#include "base/error.h"
#include "page/store.h"
#include "tree/undone.h"

#define PAGES 16u /* rebuilt pages that are kept; a descent needs two at a time */

struct tag {
    uint64_t applied;
    uint32_t generation;
    uint32_t pgno; /* 0 = nothing here */
    uint64_t word; /* of the page table, as it was */
};

union image {
    struct caret__page page;
    uint8_t bytes[CARET__PAGE_SIZE];
};

struct caret__past {
    const struct caret__engine *e;
    uint64_t applied;    /* of the descent in progress */
    uint32_t generation; /* of the undo entries then */
    unsigned next;       /* image to be used next */
    unsigned last;       /* image used last: perhaps the parent of what is looked for */
    struct caret__undone undone;
    struct tag tag[PAGES];
    union image image[PAGES];
};

static inline uint32_t generation_now(const struct caret__engine *e)
{
    return (uint32_t)(atomic_load_explicit(&e->sh->undo_word, memory_order_acquire) >> 32);
}

static bool present(const struct caret__engine *e, uint64_t applied, uint32_t generation)
{
    atomic_thread_fence(memory_order_acquire);
    return generation_now(e) == generation &&
           atomic_load_explicit(&e->sh->log_applied, memory_order_acquire) == applied;
}

bool caret__past_holds(const struct caret__past *p)
{
    return present(p->e, p->applied, p->generation);
}

uint64_t caret__past_lsn(const struct caret__past *p)
{
    return p->applied;
}

int caret__past_begin(struct caret__view *v)
{
    struct caret__past *p = v->past;

    if (p == NULL) {
        p = calloc(1, sizeof *p);
        if (p == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory to read around a stopped writer");
        p->e = v->ctx;
        v->past = p;
    }
    p->generation = generation_now(p->e);
    p->applied = atomic_load_explicit(&p->e->sh->log_applied, memory_order_acquire);
    v->applied = p->applied;
    return atomic_load_explicit(&p->e->sh->undo_lsn, memory_order_acquire) > p->applied ? CARET_OK
                                                                                        : CARET_RESTART;
}

void caret__past_destroy(struct caret__view *v)
{
    if (v->past != NULL)
        caret__undone_destroy(&v->past->undone);
    free(v->past);
    v->past = NULL;
}

int caret__past_stalled(const struct caret__view *v, uint64_t version, unsigned tries)
{
    if (v->stalled == NULL)
        return CARET_OK;
    if (v->past != NULL && caret__past_holds(v->past))
        tries = CARET__STALL_TRIES;
    return v->stalled(v->ctx, version, tries);
}

/* Undo on bytes of the segment, read before, what the commit in progress has saved of them (undone.c). */
static bool undo_on(struct caret__past *p, const void *what, uint64_t size, void *buf)
{
    return caret__undone_on(&p->undone, p->e, p->applied, p->generation, what, size, buf);
}

uint32_t caret__past_root(struct caret__past *p)
{
    uint32_t root = atomic_load_explicit(&p->e->sh->ts.root, memory_order_acquire);

    undo_on(p, &p->e->sh->ts.root, sizeof root, &root); /* what makes no sense does not hold */
    return root;
}

/* ---------------------------------------------------------------------- pages */

/* The image to build the next page in: not the one used last. */
static unsigned victim(struct caret__past *p)
{
    if (p->next == p->last)
        p->next = (p->next + 1) % PAGES;
    unsigned i = p->next;
    p->next = (p->next + 1) % PAGES;
    return i;
}

static int damaged(const struct caret__past *p, uint32_t pgno, const char *what)
{
    return caret__past_holds(p) ? caret__corrupt_page(&p->e->pg, pgno, what) : CARET_RESTART;
}

/* Steps 1 to 4 of the opening comment. */
static int build(const struct caret__view *v, struct caret__past *p, uint32_t pgno, uint64_t *word,
                 union image *image)
{
    const struct caret__pager *pg = v->pg;
    const struct caret__pte *pte = &pg->ptab[pgno];

    *word = atomic_load_explicit(&pte->word, memory_order_acquire);
    if (!undo_on(p, &pte->word, sizeof *word, word))
        return damaged(p, pgno, "the undo entries of a commit make no sense");
    *word &= ~CARET__PTE_OBSOLETE;
    uint32_t slot = caret__pte_slot(*word);
    if (slot == CARET__SLOT_NONE) {
        if (pgno >= *pg->file_pages_mapped)
            return CARET_RESTART;
        if (!caret__bytes_known(pg, pgno, *word) && !caret__file_page_ok(pg, pgno))
            return damaged(p, pgno, "its checksum does not fit its contents");
        caret__racy_copy(image, caret__page_at(pg, pgno, *word), CARET__PAGE_SIZE);
    } else {
        if (slot >= p->e->sh->max_slots)
            return damaged(p, pgno, "its arena slot is out of range");
        const struct caret__page *from = caret__page_at(pg, pgno, *word);
        caret__racy_copy(image, from, CARET__PAGE_SIZE);
        CARET_FAULT("past_copied");
        if (!undo_on(p, from, CARET__PAGE_SIZE, image))
            return damaged(p, pgno, "the undo entries of a commit make no sense");
    }
    return caret__past_holds(p) ? CARET_OK : CARET_RESTART;
}

static bool is_tagged(const struct caret__past *p, unsigned i, uint32_t pgno)
{
    const struct tag *t = &p->tag[i];

    return t->pgno == pgno && t->applied == p->applied && t->generation == p->generation;
}

int caret__past_page(struct caret__view *v, struct caret__at *at)
{
    struct caret__past *p = v->past;
    unsigned i = 0;

    while (i < PAGES && !is_tagged(p, i, at->pgno))
        i++;
    if (i == PAGES) {
        i = victim(p);
        struct tag *t = &p->tag[i];
        t->pgno = 0;
        int rc = build(v, p, at->pgno, &t->word, &p->image[i]);
        if (rc != CARET_OK)
            return rc;
        *t = (struct tag){p->applied, p->generation, at->pgno, t->word};
    }
    p->last = i;
    at->page = &p->image[i].page;
    at->version = p->applied;
    at->word = p->tag[i].word;
    return CARET_OK;
}

bool caret__past_valid(const struct caret__view *v, const struct caret__at *at)
{
    const struct caret__past *p = v->past;

    for (unsigned i = 0; i < PAGES; i++)
        if (at->page == &p->image[i].page)
            return p->tag[i].pgno == at->pgno && p->tag[i].applied == at->version &&
                   present(p->e, at->version, p->tag[i].generation);
    return false;
}
