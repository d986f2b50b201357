/*
 * check.c - is the tree what tree.h says?  Walks every page once: levels descend
 * by one to leaves of level 0, keys lie in the range that the separators above
 * give, no page is reached twice, none is obsolete, values out of line lie inside
 * of the file.  The caller holds the writer mutex or owns the store.
 */
#include "page/check.h"
#include "base/crc32c.h"
#include "page/run.h"
#include "tree/tree.h"

struct walk {
    const struct caret__pager *pg;
    uint64_t *seen;
    char *report;
    size_t cap;
    unsigned findings;
};

struct span {
    const uint8_t *lower, *upper;
    unsigned lower_len, upper_len; /* upper_len 0: no bound */
};

#define FIND(wk, ...) ((wk)->findings++, caret__report((wk)->report, (wk)->cap, __VA_ARGS__))

static bool mark(struct walk *wk, uint32_t pgno)
{
    if (pgno == 0 || pgno >= wk->pg->ts->npages) {
        FIND(wk, "page %u: page number out of range\n", pgno);
        return false;
    }
    if (wk->seen == NULL)
        return true;
    uint64_t bit = UINT64_C(1) << (pgno % 64u);
    if (wk->seen[pgno / 64u] & bit) {
        FIND(wk, "page %u: reached twice\n", pgno);
        return false;
    }
    wk->seen[pgno / 64u] |= bit;
    return true;
}

static void check_ends(struct walk *wk, const struct caret__page *p, const struct span *s)
{
    uint8_t key[CARET__KEY_MAX];
    unsigned n;

    if (p->count == 0)
        return;
    n = caret__page_key(p, 0, key);
    if (s->lower_len != 0 && caret__bytes_compare(key, n, s->lower, s->lower_len) < 0)
        FIND(wk, "page %u: first key lies before the range of the page\n", p->pgno);
    n = caret__page_key(p, p->count - 1u, key);
    if (s->upper_len != 0 &&
        caret__bytes_compare(key, n, s->upper, s->upper_len) >= (p->type == CARET__PAGE_LEAF ? 0 : 1))
        FIND(wk, "page %u: last key lies after the range of the page\n", p->pgno);
}

/* The bytes of a value out of line: are they in the file, and what its reference says? */
static void check_run(struct walk *wk, uint32_t pgno, uint32_t len, uint32_t crc)
{
    uint64_t end = (uint64_t)pgno * CARET__PAGE_SIZE + len;

    if (end > (uint64_t)wk->pg->ts->npages * CARET__PAGE_SIZE) /* after it the file may end: SIGBUS */
        FIND(wk, "page %u: a value of %u bytes lies outside of the file\n", pgno, len);
    else if (caret__crc32c(0, wk->pg->file + (size_t)pgno * CARET__PAGE_SIZE, len) != crc)
        FIND(wk, "page %u: the value of %u bytes there is damaged\n", pgno, len);
}

static void check_values(struct walk *wk, const struct caret__page *p)
{
    uint32_t ref[3];
    for (unsigned i = 0; i < p->count; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        if (!wk->pg->shared || !e.run || e.vlen < sizeof ref)
            continue;
        memcpy(ref, e.val, sizeof ref);
        for (uint32_t k = 0; k < caret__run_pages(ref[1]); k++)
            if (!mark(wk, ref[0] + k))
                break;
        check_run(wk, ref[0], ref[1], ref[2]);
    }
}

static void walk_page(struct walk *wk, uint32_t pgno, unsigned level, const struct span *s)
{
    if (!mark(wk, pgno))
        return;
    uint64_t word = atomic_load_explicit(&wk->pg->ptab[pgno].word, memory_order_relaxed);
    if (word & CARET__PTE_OBSOLETE)
        FIND(wk, "page %u: in the tree, but marked obsolete\n", pgno);
    const struct caret__page *p = caret__page_at(wk->pg, pgno, word);
    bool in_file = wk->pg->shared && caret__pte_slot(word) == CARET__SLOT_NONE;
    if (in_file && pgno >= *wk->pg->file_pages_mapped) {
        FIND(wk, "page %u: lies outside of the file\n", pgno);
        return;
    }
    if (!caret__page_check(p, pgno, wk->report, wk->cap)) {
        wk->findings++;
        return;
    }
    if (in_file && !caret__file_page_ok(wk->pg, pgno)) {
        FIND(wk, "page %u: its checksum does not fit its contents\n", pgno);
        return;
    }
    if (p->level != level) {
        FIND(wk, "page %u: level %u where %u should be\n", pgno, p->level, level);
        return;
    }
    check_ends(wk, p, s);
    if (p->type == CARET__PAGE_LEAF) {
        check_values(wk, p);
        return;
    }
    uint8_t key[2][CARET__KEY_MAX];
    struct span below = *s;
    for (unsigned i = 0; i <= p->count; i++) {
        below.upper = i < p->count ? key[i & 1] : s->upper;
        below.upper_len = i < p->count ? caret__page_key(p, i, key[i & 1]) : s->upper_len;
        walk_page(wk, caret__page_child(p, i), level - 1, &below);
        below.lower = below.upper;
        below.lower_len = below.upper_len;
    }
}

unsigned caret__tree_check(const struct caret__pager *pg, uint64_t *seen, char *report, size_t cap)
{
    struct walk wk = {.pg = pg, .seen = seen, .report = report, .cap = cap};
    struct span all = {0};

    if (pg->ts->depth == 0 || pg->ts->depth > CARET__MAX_DEPTH) {
        FIND(&wk, "tree: depth %u\n", pg->ts->depth);
        return wk.findings;
    }
    walk_page(&wk, atomic_load_explicit(&pg->ts->root, memory_order_relaxed), pg->ts->depth - 1, &all);
    return wk.findings;
}
