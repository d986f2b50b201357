/*
 * salvage.c - finding what is left of a damaged data file.
 *
 * Every page of the tree carries its checksum and its own number, so it can be told
 * by itself from free pages, long values and rubble.  What a page can't tell is
 * whether it is part of the present: the first change after a checkpoint copies a
 * page, and the copy from before stays in the file until its number is used again.
 * Three things tell:
 *
 *   the image   of the free-space bitmap of the same epoch: what is not free there is
 *               in the tree.  It has a checksum, an epoch, and a part per 32,512 pages.
 *   the walk    from the root that the meta slot names, as far as inner pages can be
 *               read: what is reached is in the tree.
 *   the stamp   of a page: the epoch of the checkpoint that wrote it.
 *
 *   1  read     every page once: what is it?
 *   2  choose   the epoch: that of the newest meta slot that is whole.  If a slot is
 *               damaged, an image may be newer, and then is what tells.  (It may be that of a
 *               checkpoint that was not finished, but all pages are written before it.)
 *               There was no newer one if something is whole that it would have written
 *               over: the other slot, or a part of the image before.  If all that is damaged,
 *               and stamps are newer, no epoch is known; if none is, what is found is doubtful.
 *   3  walk     from the root, if a slot of that epoch is there.
 *   4  sort     leaves into sure ones (in use by the image, or reached), stale ones (free
 *               by the image; or not reached though nothing in the way was damaged),
 *               and doubtful ones: their part of the image is damaged, and so was
 *               something on the way from the root.
 *   5  tell     the nodes of the sure leaves, in order of keys; then those of the doubtful
 *               ones, newest stamp first, but only where no sure leaf and no newer doubtful
 *               one has its range: a leaf that holds keys before and after a node would
 *               hold the node too, if that still existed.
 *
 * What can't be known: a doubtful leaf may be from before a change whose leaf is
 * lost, or from before a kill that left no leaf there.  So its nodes were true once,
 * and may have been changed or killed since.  Pages written before stamps existed
 * have stamp 0.  Nothing is ever put together from two leaves.
 *
 * Long values are found by their reference, and have a checksum in it.
 *
 * Files are read with pread: a bad sector is an error of one page here, while it
 * would be the end of the process in a mapping.
 */
#include "copy/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "copy/salvage_log.h"
#include "disk/logfile.h"
#include "disk/record.h"
#include "open/open.h"
#include "page/check.h"
#include "shm/lockfile.h"

#define CHUNK  256u /* pages read at a time */
#define LISTED 40u  /* lost pages that are named one by one */

enum {
    IS_TREE = 1,     /* a page of the tree, by its checksum, number and structure */
    IS_LEAF = 2,     /* of these */
    IS_FREE = 4,     /* by the image */
    IS_USED = 8,     /* by the image */
    IS_REACHED = 16, /* by the walk */
    IS_RUN = 32,     /* part of a long value that a leaf refers to */
    IS_ZERO = 64     /* nothing but zeros */
};

union page {
    struct caret__page page;
    uint8_t bytes[CARET__PAGE_SIZE];
    uint64_t align;
};

struct leaf {
    uint32_t pgno, stamp;
    uint8_t *keys; /* first, last; malloc'ed */
    uint16_t first_len, last_len;
};

struct leaves {
    struct leaf *list;
    size_t n, cap;
};

struct salvage {
    const char *path;
    int fd;
    uint32_t npages;
    uint8_t *is;     /* by page number */
    uint32_t *stamp; /* of pages of the tree */
    struct caret__meta meta[2];
    bool has_meta[2], damaged_meta;
    uint32_t epoch;                      /* chosen; 0 = none */
    bool maybe_old;                      /* there may have been a newer one, of which nothing is left */
    const struct caret__meta *root_meta; /* of that epoch, NULL = not there */
    bool walk_whole;                     /* nothing in the way of the walk was damaged */
    uint64_t beyond;                     /* pages of the tree that would be after the last one */
    struct leaves sure, doubtful;
    struct caret__salvage_log log;
    struct caret__salvage_counts *counts;
    char *report;
    size_t cap;
    uint8_t *value; /* a long one */
};

/* ------------------------------------------------------------------ reading */

/* All of it, or false; after the end of the file there is nothing. */
static bool read_all(int fd, void *buf, size_t len, uint64_t off)
{
    uint8_t *p = buf;

    while (len > 0) {
        ssize_t n = pread(fd, p, len, (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
        off += (uint64_t)n;
    }
    return true;
}

static bool read_page(const struct salvage *s, uint32_t pgno, union page *page)
{
    return read_all(s->fd, page, sizeof *page, (uint64_t)pgno * CARET__PAGE_SIZE);
}

static bool all_zero(const uint8_t *p, size_t n)
{
    return *p == 0 && memcmp(p, p + 1, n - 1) == 0;
}

static void classify(struct salvage *s, uint32_t pgno, const union page *page)
{
    char text[200] = "";

    if (caret__pgno_reserved(pgno))
        return;
    if (page->page.crc == caret__crc32c(0, page->bytes + 4, CARET__PAGE_SIZE - 4) &&
        page->page.pgno == pgno && caret__page_check(&page->page, pgno, text, sizeof text)) {
        s->is[pgno] |= IS_TREE | (page->page.type == CARET__PAGE_LEAF ? IS_LEAF : 0);
        s->stamp[pgno] = page->page.epoch;
    } else if (all_zero(page->bytes, CARET__PAGE_SIZE)) {
        s->is[pgno] |= IS_ZERO;
    }
}

/* Step 1. */
static int read_pages(struct salvage *s)
{
    union page *buf = malloc(CHUNK * sizeof *buf);

    if (buf == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to salvage it", s->path);
    for (uint32_t first = 0; first < s->npages; first += CHUNK) {
        uint32_t n = s->npages - first < CHUNK ? s->npages - first : CHUNK;
        bool whole = read_all(s->fd, buf, n * sizeof *buf, (uint64_t)first * CARET__PAGE_SIZE);
        for (uint32_t i = 0; i < n; i++)
            if (whole || read_page(s, first + i, &buf[i]))
                classify(s, first + i, &buf[i]);
    }
    free(buf);
    return CARET_OK;
}

/* ----------------------------------------------------------------- choosing */

/* The image of a group, of that epoch; false: it is damaged or of another one. */
static bool read_image(const struct salvage *s, uint32_t epoch, uint32_t group, union page *page)
{
    uint32_t pgno = caret__image_pgno(epoch, group), of;

    return pgno < s->npages && read_page(s, pgno, page) && caret__image_good(page->bytes, pgno, group, &of) &&
           of == epoch;
}

static uint32_t groups(const struct salvage *s)
{
    return (s->npages + CARET__GROUP_PAGES - 1) / CARET__GROUP_PAGES;
}

/* What is free by the images of an epoch? */
static void take_images(struct salvage *s, uint32_t epoch)
{
    union page page;

    for (uint32_t p = 0; p < s->npages; p++)
        s->is[p] &= (uint8_t) ~(IS_FREE | IS_USED | IS_RUN | IS_REACHED);
    for (uint32_t g = 0; epoch != 0 && g < groups(s); g++) {
        if (!read_image(s, epoch, g, &page))
            continue;
        for (uint32_t i = 0; i < CARET__GROUP_PAGES && g * CARET__GROUP_PAGES + i < s->npages; i++)
            s->is[g * CARET__GROUP_PAGES + i] |= caret__image_bit(page.bytes, i) ? IS_FREE : IS_USED;
    }
}

/* Mark the pages of the long values that a leaf refers to. */
static void mark_runs(struct salvage *s, const struct caret__page *p)
{
    for (unsigned i = 0; i < caret__page_count(p); i++) {
        struct caret__entry e = caret__page_entry(p, i);
        struct caret__runref ref;
        if (!e.run || e.vlen < sizeof ref)
            continue;
        memcpy(&ref, e.val, sizeof ref);
        uint64_t count = caret__run_pages(ref.len);
        for (uint64_t k = 0; k < count && ref.pgno + k < s->npages; k++)
            s->is[ref.pgno + k] |= IS_RUN;
    }
}

static void mark_all_runs(struct salvage *s)
{
    union page page;

    for (uint32_t p = 0; p < s->npages; p++)
        if ((s->is[p] & IS_LEAF) && (s->is[p] & (IS_USED | IS_REACHED)) && read_page(s, p, &page))
            mark_runs(s, &page.page);
}

static bool is_lost(const struct salvage *s, uint32_t p)
{
    return (s->is[p] & IS_USED) && !(s->is[p] & (IS_TREE | IS_RUN)) && !caret__pgno_reserved(p);
}

/* The newest epoch that a part of an image is of, of even ones or odd ones; 0 = none is whole. */
static uint32_t newest_image(const struct salvage *s, uint32_t parity)
{
    uint32_t newest = 0, of;
    union page page;

    for (uint32_t g = 0; g < groups(s); g++) {
        uint32_t pgno = caret__image_pgno(parity, g);
        if (pgno < s->npages && read_page(s, pgno, &page) && caret__image_good(page.bytes, pgno, g, &of) &&
            (of & 1u) == parity && of > newest)
            newest = of;
    }
    return newest;
}

static uint32_t newest_stamp(const struct salvage *s)
{
    uint32_t newest = 0;

    for (uint32_t p = 0; p < s->npages; p++)
        if ((s->is[p] & IS_TREE) && s->stamp[p] > newest)
            newest = s->stamp[p];
    return newest;
}

/* The newest slot that is whole, or NULL. */
static const struct caret__meta *newest_meta(const struct salvage *s)
{
    if (s->has_meta[0] && (!s->has_meta[1] || s->meta[0].epoch > s->meta[1].epoch))
        return &s->meta[0];
    return s->has_meta[1] ? &s->meta[1] : NULL;
}

static void read_metas(struct salvage *s)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        s->has_meta[slot] = caret__meta_slot(s->fd, slot, &s->meta[slot]);
        s->damaged_meta |= !s->has_meta[slot];
    }
}

/* Without a meta nothing says how many pages there were: up to the last one that is something, or free. */
static void guess_size(struct salvage *s)
{
    uint32_t last = 0;

    for (uint32_t p = 0; p < s->npages; p++)
        if ((s->is[p] & (IS_TREE | IS_FREE | IS_RUN)) != 0)
            last = p;
    s->npages = last + 1;
}

/* Where a slot is damaged: by the images, too.  Is something whole that the checkpoint after that would have written
 * over? */
static void ask_images(struct salvage *s)
{
    uint32_t image[2] = {newest_image(s, 0), newest_image(s, 1)};

    for (unsigned parity = 0; parity < 2; parity++)
        if (image[parity] > s->epoch)
            s->epoch = image[parity];
    uint32_t other = (s->epoch + 1) & 1u;
    s->maybe_old = !s->has_meta[other] && image[other] == 0;
}

/* Step 2. */
static void choose_epoch(struct salvage *s)
{
    const struct caret__meta *m = newest_meta(s);

    s->epoch = m != NULL ? m->epoch : 0;
    if (s->damaged_meta) /* which it is without a slot */
        ask_images(s);
    if (s->maybe_old && newest_stamp(s) > s->epoch)
        s->epoch = 0;
    take_images(s, s->epoch);
    s->root_meta = m != NULL && m->epoch == s->epoch ? m : NULL;
    if (s->root_meta != NULL && s->root_meta->npages < s->npages)
        s->npages = s->root_meta->npages;
    if (s->root_meta == NULL) {
        mark_all_runs(s);
        guess_size(s);
    }
}

/* ------------------------------------------------------------------ walking */

static void walk(struct salvage *s, uint32_t pgno, unsigned level)
{
    union page page;

    if (pgno >= s->npages || !(s->is[pgno] & IS_TREE) || (s->is[pgno] & IS_REACHED) ||
        !read_page(s, pgno, &page) || page.page.level != level) {
        s->walk_whole &= level == 0; /* of a leaf nothing hangs that could be elsewhere */
        if (pgno < s->npages)
            s->is[pgno] |= IS_USED;
        else
            s->beyond++;
        return;
    }
    s->is[pgno] |= IS_REACHED;
    for (unsigned i = 0; level > 0 && i <= caret__page_count(&page.page); i++)
        walk(s, caret__page_child(&page.page, i), level - 1);
}

/* Step 3. */
static void walk_tree(struct salvage *s)
{
    const struct caret__meta *m = s->root_meta;

    s->walk_whole = m != NULL && m->depth >= 1 && m->depth <= CARET__MAX_DEPTH;
    if (s->walk_whole)
        walk(s, m->root, m->depth - 1);
}

/* ------------------------------------------------------------------ sorting */

static int no_memory(const struct salvage *s)
{
    return caret__fail(CARET_E_NOMEM, "%s: no memory to salvage it", s->path);
}

static int add_leaf(struct salvage *s, struct leaves *to, uint32_t pgno)
{
    uint8_t first[CARET__KEY_MAX], last[CARET__KEY_MAX];
    union page page;

    if (!read_page(s, pgno, &page) || caret__page_count(&page.page) == 0)
        return CARET_OK;
    unsigned a = caret__page_key(&page.page, 0, first);
    unsigned b = caret__page_key(&page.page, caret__page_count(&page.page) - 1u, last);
    if (to->n == to->cap) {
        size_t cap = to->cap * 2 + 64;
        struct leaf *more = realloc(to->list, cap * sizeof *more);
        if (more == NULL)
            return no_memory(s);
        to->list = more;
        to->cap = cap;
    }
    uint8_t *keys = malloc((size_t)a + b + 1);
    if (keys == NULL)
        return no_memory(s);
    memcpy(keys, first, a);
    memcpy(keys + a, last, b);
    to->list[to->n++] = (struct leaf){pgno, s->stamp[pgno], keys, (uint16_t)a, (uint16_t)b};
    return CARET_OK;
}

/* Step 4. */
static int sort_leaves(struct salvage *s)
{
    for (uint32_t p = 0; p < s->npages; p++) {
        int rc = CARET_OK;
        if (!(s->is[p] & IS_LEAF) || (s->is[p] & IS_RUN))
            continue;
        if (s->is[p] & (IS_USED | IS_REACHED))
            rc = add_leaf(s, &s->sure, p);
        else if ((s->is[p] & IS_FREE) || s->walk_whole)
            s->counts->stale++;
        else
            rc = add_leaf(s, &s->doubtful, p);
        if (rc != CARET_OK)
            return rc;
    }
    s->counts->leaves = s->sure.n + s->doubtful.n;
    s->counts->doubtful = s->maybe_old ? s->counts->leaves : s->doubtful.n;
    return CARET_OK;
}

static const uint8_t *last_key(const struct leaf *l)
{
    return l->keys + l->first_len;
}

static int by_first(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;

    return caret__bytes_compare(x->keys, x->first_len, y->keys, y->first_len);
}

/* Newest first; of one epoch in order of keys. */
static int by_stamp(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;

    return x->stamp != y->stamp ? (x->stamp < y->stamp ? 1 : -1) : by_first(a, b);
}

/* ------------------------------------------------------------------ telling */

/* A long value, in s->value; false: damaged. */
static bool read_value(struct salvage *s, const uint8_t *reference, size_t size, size_t *len)
{
    struct caret__runref ref;

    if (size < sizeof ref)
        return false;
    memcpy(&ref, reference, sizeof ref);
    *len = ref.len;
    return ref.len <= CARET_MAX_VALUE &&
           read_all(s->fd, s->value, ref.len, (uint64_t)ref.pgno * CARET__PAGE_SIZE) &&
           caret__crc32c(0, s->value, ref.len) == ref.crc;
}

/* Which of the leaves before have the range of a key?  `covers` are sorted by first key; far[i] is the one of
 * covers[0..i] that ends last. */
struct cover {
    const struct leaf **by_first;
    const struct leaf **far;
    size_t n;
};

static bool is_covered(const struct cover *c, const uint8_t *key, size_t len)
{
    size_t lo = 0, hi = c->n;

    while (lo < hi) { /* how many begin at or before the key? */
        size_t mid = (lo + hi) / 2;
        const struct leaf *l = c->by_first[mid];
        if (caret__bytes_compare(l->keys, l->first_len, key, (unsigned)len) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return false;
    const struct leaf *l = c->far[lo - 1];
    return caret__bytes_compare(last_key(l), l->last_len, key, (unsigned)len) >= 0;
}

/* Merge more leaves, sorted by first key, into the cover; from the end, so that it can be done in place. */
static void cover_more(struct cover *c, const struct leaf *list, size_t n)
{
    size_t i = c->n, k = n, at = c->n + n;

    while (k > 0) {
        if (i > 0 && by_first(c->by_first[i - 1], &list[k - 1]) > 0)
            c->by_first[--at] = c->by_first[--i];
        else
            c->by_first[--at] = &list[--k];
    }
    c->n += n;
    for (size_t j = 0; j < c->n; j++) {
        const struct leaf *l = c->by_first[j], *far = j > 0 ? c->far[j - 1] : l;
        c->far[j] =
            caret__bytes_compare(last_key(far), far->last_len, last_key(l), l->last_len) > 0 ? far : l;
    }
}

struct teller {
    struct salvage *s;
    caret__salvage_fn *each;
    void *ctx;
};

static int tell_node(const struct teller *t, struct caret__salvaged_node *node, bool run)
{
    struct salvage *s = t->s;
    uint32_t pgno = run && node->vlen >= 4 ? caret__le32(node->val) : 0;

    if (run) {
        node->val = read_value(s, node->val, node->vlen, &node->vlen) ? s->value : NULL;
        if (node->val == NULL && s->counts->lost_values++ < LISTED)
            caret__report(s->report, s->cap, "page %u: the long value there is damaged, its node left out\n",
                          pgno);
    }
    return t->each(t->ctx, node);
}

/* The nodes of a leaf; of a doubtful one those that nothing covers, nor a leaf of its own stamp before it. */
static int tell_leaf(const struct teller *t, const struct leaf *l, const struct cover *cover,
                     const struct leaf *before)
{
    struct salvage *s = t->s;
    uint8_t key[CARET__KEY_MAX];
    union page page;

    if (!read_page(s, l->pgno, &page))
        return CARET_OK;
    for (unsigned i = 0; i < caret__page_count(&page.page); i++) {
        struct caret__entry e = caret__page_entry(&page.page, i);
        unsigned len = caret__page_key(&page.page, i, key);
        struct caret__salvaged_node node = {key, len, e.val, e.vlen};
        if (cover != NULL && is_covered(cover, key, len))
            continue;
        if (before != NULL && caret__bytes_compare(key, len, last_key(before), before->last_len) <= 0)
            continue;
        if (caret__salvage_log_hides(&s->log, key, len))
            continue;
        int rc = tell_node(t, &node, e.run);
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static int tell_sure(const struct teller *t)
{
    struct leaves *sure = &t->s->sure;
    int rc = CARET_OK;

    if (sure->n != 0)
        qsort(sure->list, sure->n, sizeof *sure->list, by_first);
    for (size_t i = 0; i < sure->n && rc == CARET_OK; i++)
        rc = tell_leaf(t, &sure->list[i], NULL, NULL);
    return rc;
}

/* Leaves of one stamp, by first key: they are of one tree and do not overlap.  Stamp 0 says nothing: where they do,
 * the first one counts. */
static int tell_epoch(const struct teller *t, const struct leaf *list, size_t n, const struct cover *cover)
{
    const struct leaf *far = NULL;
    int rc = CARET_OK;

    for (size_t i = 0; i < n && rc == CARET_OK; i++) {
        rc = tell_leaf(t, &list[i], cover, far);
        if (list[i].stamp == 0 &&
            (far == NULL ||
             caret__bytes_compare(last_key(far), far->last_len, last_key(&list[i]), list[i].last_len) < 0))
            far = &list[i];
    }
    return rc;
}

static int tell_doubtful(const struct teller *t, struct cover *cover)
{
    const struct leaves *doubtful = &t->s->doubtful;
    const struct leaf *list = doubtful->list;
    int rc = CARET_OK;

    cover_more(cover, t->s->sure.list, t->s->sure.n);
    for (size_t i = 0, n; i < doubtful->n && rc == CARET_OK; i += n) {
        for (n = 1; i + n < doubtful->n && list[i + n].stamp == list[i].stamp; n++)
            continue;
        rc = tell_epoch(t, list + i, n, cover);
        cover_more(cover, list + i, n);
    }
    return rc;
}

static int tell_logged(void *ctx, const uint8_t *key, size_t len, const uint8_t *val, size_t vlen, bool run)
{
    struct caret__salvaged_node node = {key, len, val, vlen};

    return tell_node(ctx, &node, run);
}

/* Step 5. */
static int tell(struct teller *t, bool sure_only)
{
    struct leaves *doubtful = &t->s->doubtful;
    size_t most = t->s->sure.n + doubtful->n + 1;
    struct cover cover = {0};

    if (sure_only && t->s->maybe_old)
        return CARET_OK;
    int rc = tell_sure(t);
    if (rc == CARET_OK)
        rc = caret__salvage_log_each(&t->s->log, tell_logged, t);
    if (rc != CARET_OK || sure_only || doubtful->n == 0)
        return rc;
    qsort(doubtful->list, doubtful->n, sizeof *doubtful->list, by_stamp);
    cover.by_first = malloc(most * sizeof *cover.by_first);
    cover.far = malloc(most * sizeof *cover.far);
    if (cover.by_first == NULL || cover.far == NULL)
        rc = no_memory(t->s);
    else
        rc = tell_doubtful(t, &cover);
    free(cover.by_first);
    free(cover.far);
    return rc;
}

/* ---------------------------------------------------------------- reporting */

static void report_metas(struct salvage *s)
{
    if (s->damaged_meta)
        caret__report(s->report, s->cap, "page %s: a meta slot is damaged\n",
                      s->has_meta[0]   ? "4 (byte 16384)"
                      : s->has_meta[1] ? "0"
                                       : "0 and byte 16384");
    if (s->epoch == 0)
        caret__report(
            s->report, s->cap,
            "no meta slot and no free-space bitmap of the newest checkpoint is left: that pages are "
            "copies from before can't be told\n");
    else if (s->maybe_old)
        caret__report(s->report, s->cap,
                      "of a checkpoint after number %u nothing is left, nor anything that tells that there "
                      "was none: all that is found may be from before\n",
                      s->epoch);
}

static void report_pages(struct salvage *s)
{
    union page page;
    uint64_t lost = 0;

    for (uint32_t g = 0; s->epoch != 0 && g < groups(s); g++)
        if (!read_image(s, s->epoch, g, &page))
            caret__report(s->report, s->cap, "page %u: this part of the free-space bitmap is damaged\n",
                          caret__image_pgno(s->epoch, g));
    for (uint32_t p = 0; p < s->npages; p++) {
        if (!is_lost(s, p))
            continue;
        if (lost++ < LISTED)
            caret__report(s->report, s->cap, "page %u: in use, and lost: %s\n", p,
                          s->is[p] & IS_ZERO ? "nothing but zeros"
                                             : "no page of the tree, nor of a value that was found");
    }
    if (lost > LISTED)
        caret__report(s->report, s->cap, "... and %llu more\n", (unsigned long long)(lost - LISTED));
    if (s->beyond > 0)
        caret__report(s->report, s->cap, "pages of the tree that are lost, as the file was cut off: %llu\n",
                      (unsigned long long)s->beyond);
    s->counts->lost_pages = lost + s->beyond;
}

/* Is everything there that must be?  A slot that is damaged may have been the newest. */
static bool is_complete(const struct salvage *s)
{
    return s->root_meta != NULL && !s->damaged_meta && !s->log.lost && s->walk_whole &&
           s->counts->lost_pages == 0 && s->counts->lost_values == 0;
}

/* ------------------------------------------------------------------ the whole */

static void drop(struct leaves *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i].keys);
    free(l->list);
}

static int open_file(struct salvage *s)
{
    struct stat st;
    pid_t pid;

    if (caret__registry_has(s->path))
        return caret__fail(CARET_E_BUSY, "%s: is open in this process: it must be closed to be salvaged",
                           s->path);
    s->fd = caret__open_high(s->path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (s->fd < 0 || fstat(s->fd, &st) != 0)
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened for reading", s->path);
    if (!S_ISREG(st.st_mode))
        return caret__fail(CARET_E_OPEN, "%s: not a regular file", s->path);
    struct caret__engine e = {0};
    caret__fd_set(&e.data_fd, s->fd);
    int claimed = caret__data_claimed(&e, &pid);
    if (claimed < 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot tell who has it open", s->path);
    if (claimed > 0)
        return caret__fail(CARET_E_BUSY, "%s: is open (pid %ld): it must be closed to be salvaged", s->path,
                           (long)pid);
    uint64_t pages = ((uint64_t)st.st_size + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE;
    s->npages = pages < CARET__MAX_PAGES ? (uint32_t)pages : CARET__MAX_PAGES;
    s->counts->pages = s->npages;
    s->is = calloc((size_t)s->npages + 1, sizeof *s->is);
    s->stamp = calloc((size_t)s->npages + 1, sizeof *s->stamp);
    s->value = malloc(CARET_MAX_VALUE);
    return s->is != NULL && s->stamp != NULL && s->value != NULL ? CARET_OK : no_memory(s);
}

static bool is_clean(const struct caret__meta *m)
{
    return (m->flags & CARET__META_CLEAN) != 0;
}

/*
 * The checkpoint that the log goes on from.  The first one of a session has the tree and the LSN of the closing before
 * it, and a log that begins there: where its slot is damaged, and that of the closing is whole, it is known all the
 * same.  If the session never came to be, no record is there that continues its chain.
 */
static bool log_from(const struct salvage *s, struct caret__meta *m)
{
    const struct caret__meta *newest = newest_meta(s);

    if (s->root_meta != NULL && !is_clean(s->root_meta)) {
        *m = *s->root_meta;
        return true;
    }
    uint64_t size = caret__salvage_log_size(s->path);
    if (newest == NULL || !is_clean(newest) || !s->damaged_meta || s->epoch - newest->epoch > 1 || size == 0)
        return false;
    *m = *newest;
    m->flags &= ~CARET__META_CLEAN;
    m->generation++;
    m->chain_seed = caret__chain_start(m->generation);
    m->log_base = caret__log_begins(m->lsn);
    m->log_size = size;
    return true;
}

/* The log counts if the checkpoint is known that it goes on from. */
static int read_log(struct salvage *s)
{
    struct caret__meta from;

    if (!log_from(s, &from))
        return CARET_OK;
    int rc = caret__salvage_log_read(&s->log, s->path, s->fd, &from, s->report, s->cap);
    s->counts->logged = s->log.changes;
    return rc;
}

static int salvage(struct salvage *s, bool sure_only, caret__salvage_fn *each, void *ctx)
{
    struct teller teller = {s, each, ctx};
    int rc = read_pages(s);

    if (rc != CARET_OK)
        return rc;
    read_metas(s);
    choose_epoch(s);
    walk_tree(s);
    mark_all_runs(s);
    s->counts->epoch = s->epoch;
    rc = sort_leaves(s);
    if (rc == CARET_OK && s->epoch == 0 && s->counts->leaves == 0)
        return caret__fail(CARET_E_FOREIGN, "%s: nothing in it is of a Caret database of this build",
                           s->path);
    report_metas(s);
    report_pages(s);
    if (rc == CARET_OK)
        rc = read_log(s);
    if (rc == CARET_OK)
        rc = tell(&teller, sure_only);
    s->counts->complete = is_complete(s);
    return rc;
}

int caret__salvage(const char *path, bool sure_only, caret__salvage_fn *each, void *ctx,
                   struct caret__salvage_counts *counts, char *report, size_t cap)
{
    struct salvage s = {.path = path, .fd = -1, .counts = counts, .report = report, .cap = cap};
    int rc;

    memset(counts, 0, sizeof *counts);
    report[0] = 0;
    rc = open_file(&s);
    if (rc == CARET_OK)
        rc = salvage(&s, sure_only, each, ctx);
    if (s.fd >= 0)
        close(s.fd);
    caret__salvage_log_destroy(&s.log);
    drop(&s.sure);
    drop(&s.doubtful);
    free(s.is);
    free(s.stamp);
    free(s.value);
    return rc;
}
