/*
 * compact.c - the pages of a snapshot's tree under new numbers, without gaps.
 *
 * Depth first: the long values of a leaf, then the leaf; the pages below an inner
 * page, then that.  So whoever is referred to has its number first, numbers go up in
 * the order of keys, and the file is written from the front to the end.  Only
 * page numbers change: in the page itself, in references to children and to long
 * values; then the checksum.
 *
 * Numbers that the format has fixed are left out.  A long value needs consecutive
 * numbers: where it would meet fixed ones, it begins after them, and what it leaves is
 * free.  At most the length of the longest value is lost so, once in a group of
 * CARET__GROUP_PAGES pages: the copy may need a few pages more than the snapshot has,
 * if that is full to the last; it then fails with LIMIT (the plain copy does not).
 *
 * The tree was verified before: what is read here makes sense.
 */
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "copy/backup.h"
#include "disk/record.h"
#include "page/page.h"

#define BUFFER (256u << 10)

struct packer {
    struct caret__copy *c;
    uint32_t next;   /* number of the next page */
    uint32_t limit;  /* numbers are below */
    uint8_t *buf;    /* pages not yet written, */
    uint32_t at, n;  /* the first one's number, and how many */
    uint8_t *levels; /* a private copy of a page for each level */
};

static int flush(struct packer *k)
{
    uint64_t len = (uint64_t)k->n * CARET__PAGE_SIZE;
    int rc = k->n == 0 ? CARET_OK : caret__copy_write(k->c, k->buf, len, (uint64_t)k->at * CARET__PAGE_SIZE);

    k->n = 0;
    return rc == CARET_OK && len != 0 ? caret__copy_step(k->c, len) : rc;
}

/* Take `count` consecutive numbers; *pgno is the first. */
static int take(struct packer *k, uint32_t count, uint32_t *pgno)
{
    uint32_t at = k->next;

    for (uint32_t i = 0; i < count; i++) {
        if (!caret__pgno_reserved(at + i))
            continue;
        at += i + 1;
        i = UINT32_MAX; /* from there, again */
    }
    if (at > k->limit - count)
        return caret__fail(CARET_E_LIMIT, "%s: the packed copy is larger than the database; make a plain one",
                           k->c->path);
    for (uint32_t p = k->next; p < at; p++)
        if (!caret__pgno_reserved(p))
            k->c->free[p / 64u] |= UINT64_C(1) << (p % 64u);
    k->next = at + count;
    *pgno = at;
    return CARET_OK;
}

/* A page, whose number is the next one or after a gap. */
static int put(struct packer *k, uint32_t pgno, const void *bytes, size_t len)
{
    int rc = CARET_OK;

    if (k->n != 0 && (pgno != k->at + k->n || k->n == BUFFER / CARET__PAGE_SIZE))
        rc = flush(k);
    if (rc != CARET_OK)
        return rc;
    if (k->n == 0)
        k->at = pgno;
    uint8_t *to = k->buf + (size_t)k->n++ * CARET__PAGE_SIZE;
    memcpy(to, bytes, len);
    memset(to + len, 0, CARET__PAGE_SIZE - len);
    return CARET_OK;
}

static int put_run(struct packer *k, struct caret__runref *ref)
{
    const uint8_t *from = k->c->from->pg.file + (size_t)ref->pgno * CARET__PAGE_SIZE;
    int rc = take(k, caret__run_pages(ref->len), &ref->pgno);

    for (uint32_t off = 0, i = 0; rc == CARET_OK && off < ref->len; off += CARET__PAGE_SIZE, i++)
        rc = put(k, ref->pgno + i, from + off, caret__min64(CARET__PAGE_SIZE, ref->len - off));
    return rc;
}

/* The long values of a leaf; p is a private copy. */
static int put_values(struct packer *k, struct caret__page *p)
{
    int rc = CARET_OK;

    for (unsigned i = 0; rc == CARET_OK && i < p->count; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        struct caret__runref ref;
        if (!e.run || e.vlen != sizeof ref)
            continue;
        memcpy(&ref, e.val, sizeof ref);
        rc = put_run(k, &ref);
        memcpy((uint8_t *)(uintptr_t)e.val, &ref, sizeof ref);
    }
    return rc;
}

/* The page and all below it; *pgno becomes its new number. */
static int put_tree(struct packer *k, unsigned level, uint32_t *pgno)
{
    struct caret__page *p = (struct caret__page *)(k->levels + (size_t)level * CARET__PAGE_SIZE);
    int rc = CARET_OK;

    memcpy(p, k->c->from->pg.file + (size_t)*pgno * CARET__PAGE_SIZE, CARET__PAGE_SIZE);
    if (level == 0)
        rc = put_values(k, p);
    for (unsigned i = 0; level > 0 && rc == CARET_OK && i <= p->count; i++) {
        uint32_t child = caret__page_child(p, i);
        rc = put_tree(k, level - 1, &child);
        caret__page_set_child(p, i, child);
    }
    if (rc == CARET_OK)
        rc = take(k, 1, pgno);
    if (rc != CARET_OK)
        return rc;
    p->pgno = *pgno;
    p->crc = caret__crc32c(0, (const uint8_t *)p + 4, CARET__PAGE_SIZE - 4);
    return put(k, *pgno, p, CARET__PAGE_SIZE);
}

int caret__copy_compact(struct caret__copy *c)
{
    unsigned depth = c->from->ts.depth;
    struct packer k = {.c = c,
                       .next = CARET__FIRST_PAGE,
                       .limit = (uint32_t)caret__align_up(c->from->pages_mapped, 64) + 4096u,
                       .buf = malloc(BUFFER),
                       .levels = malloc((size_t)depth * CARET__PAGE_SIZE)};
    int rc = CARET_OK;

    c->root = atomic_load(&c->from->ts.root);
    if (k.buf == NULL || k.levels == NULL)
        rc = caret__fail(CARET_E_NOMEM, "%s: no memory for a packed backup", c->path);
    if (rc == CARET_OK)
        rc = put_tree(&k, depth - 1, &c->root);
    if (rc == CARET_OK)
        rc = flush(&k);
    c->npages = k.next;
    free(k.buf);
    free(k.levels);
    return rc;
}
