/*
 * write.c - setting and deleting keys; splits.
 *
 * One loop: descend; make the path current (first-touch copies from the root
 * down); try to change the leaf; if it has no room, do ONE split at the highest
 * level that needs it and start again.  A split of a page needs room for one
 * separator in the parent; if that is missing the parent is split instead, a full
 * root gets a new root above it.  Every step leaves a whole tree, and each makes
 * the page in question smaller, so the loop ends: two maximal entries always fit
 * into an empty page.
 *
 * Where to split: ascending inserts (the key goes after the last of the leaf)
 * leave the leaf full and open an empty one.  Inserts in order inside of a leaf get
 * leaves of their own, which are full: those that ascend, and those that descend,
 * alone or in series that ascend, as a commit has its sets in key order.  S is the
 * first of the last series, and + the new key:
 *
 *     a a S s s + d d     1  what comes before the series goes: cut before S
 *         S s s + d d     2  then after the last insert, and + goes to the left
 *     a a + S s s d d     3  a series before the last one: cut before S; + goes where it may
 *         + S s s d d     4  then + is alone to the left
 *
 * Otherwise in the middle, by bytes.
 */
#include "page/run.h"
#include "tree/split.h"

union scratch {
    struct caret__page page;
    uint8_t bytes[CARET__PAGE_SIZE];
};

/* ------------------------------------------------------------------ descent */

/* Where nobody looked for the key before the change: in a private store, or for many sets at once.  After it the last
 * one's leaf is in the caches. */
static inline void ask_leaf(struct caret__pager *pg, uint32_t pgno)
{
    if (pg->warm != pgno && pgno < pg->max_pages)
        caret__page_ask(
            caret__page_at(pg, pgno, atomic_load_explicit(&pg->ptab[pgno].word, memory_order_relaxed)));
    pg->warm = pgno;
}

static inline __attribute__((always_inline)) uint32_t descend(const struct caret__w *w, const uint8_t *key,
                                                              size_t len, struct caret__path *path, bool find)
{
    uint32_t pgno = atomic_load_explicit(&w->pg->ts->root, memory_order_relaxed);
    unsigned levels = w->pg->ts->depth;

    if (levels == 0 || levels > CARET__MAX_DEPTH)
        return pgno;
    for (unsigned d = 0;; d++) {
        if (caret__unlikely(!caret__page_trusted(w->pg, pgno, levels - 1 - d)))
            return pgno;
        const struct caret__page *p = caret__w_page(w, pgno);
        path->pgno[d] = pgno;
        if (p->type == CARET__PAGE_LEAF) {
            if (find)
                path->idx[d] = (uint16_t)caret__page_find(p, key, len, &path->found);
            path->leaf = d;
            return 0;
        }
        unsigned i = caret__page_child_index(p, key, len);
        path->idx[d] = (uint16_t)i;
        pgno = caret__page_child(p, i);
        if (p->level == 1 && (w->ask || !w->pg->shared))
            ask_leaf(w->pg, pgno);
    }
}

uint32_t caret__descend(const struct caret__w *w, const uint8_t *key, size_t len, struct caret__path *path)
{
    return descend(w, key, len, path, true);
}

uint32_t caret__descend_to_leaf(const struct caret__w *w, const uint8_t *key, size_t len,
                                struct caret__path *path)
{
    return descend(w, key, len, path, false);
}

/* After the commit point: the way was gone before (caret__record_need). */
static void descend_again(const struct caret__w *w, const uint8_t *key, size_t len, struct caret__path *path)
{
    uint32_t bad = caret__descend(w, key, len, path);
    CARET__ASSERT_ALWAYS(bad == 0);
    (void)bad;
}

/* Copy every page of the path that an older epoch owns.  A current page has only current pages above it. */
void caret__touch_path(struct caret__w *w, struct caret__path *path)
{
    if (caret__w_current(w, path->pgno[path->leaf]))
        return;
    for (unsigned d = 0; d <= path->leaf; d++) {
        if (caret__w_current(w, path->pgno[d]))
            continue;
        if (d == 0) {
            caret__w_copy(w, &path->pgno[0]);
            caret__w_save_state(w);
            atomic_store_explicit(&w->pg->ts->root, path->pgno[0], memory_order_release);
            CARET_FAULT("root_moved");
        } else {
            struct caret__page *parent = caret__w_dirty(w, path->pgno[d - 1]);
            caret__w_copy(w, &path->pgno[d]);
            caret__page_set_child(parent, path->idx[d - 1], path->pgno[d]);
            CARET_FAULT("child_moved");
        }
    }
    CARET__ASSERT(caret__w_current(w, path->pgno[path->leaf]));
}

/* -------------------------------------------------------------------- splits */

void caret__grow_root(struct caret__w *w)
{
    struct caret__tstate *ts = w->pg->ts;
    uint32_t old = atomic_load_explicit(&ts->root, memory_order_relaxed), pgno;
    unsigned level = caret__w_page(w, old)->level;
    struct caret__page *root = caret__w_alloc(w, level + 1u, &pgno);

    caret__page_set_child(root, 0, old);
    if (ts->has_runs)
        caret__page_set_child_runs(root, 0);
    caret__w_save_state(w);
    ts->depth++;
    atomic_store_explicit(&ts->root, pgno, memory_order_release);
    CARET_FAULT("root_grown");
}

/* Index of the first entry of the right half, by bytes; 1..n-1. */
static unsigned middle(const struct caret__page *p, unsigned n)
{
    unsigned half = caret__page_used(p) / 2, sum = 0, k = 0;
    for (; k < n - 1 && sum < half; k++) {
        struct caret__entry e = caret__page_entry(p, k);
        sum += (unsigned)caret__entry_room(e.klen, e.vlen);
    }
    return k > 0 ? k : 1;
}

/* Where a leaf is cut for a key that goes to pos: entries [k, n) move to the right. */
static unsigned leaf_cut(const struct caret__page *p, unsigned n, unsigned pos)
{
    if (pos == n)
        return n;
    if (n == 1)
        return pos == 0 ? 0 : 1;
    unsigned series = p->last_pos - p->rising; /* it may be long over: then these are just some numbers */
    if (pos > 0 && p->last_pos + 1u == pos)
        return series > 0 && series < pos && p->rising < UINT8_MAX ? series : pos; /* 1, 2 */
    if (series == pos)
        return pos; /* 3, 4 */
    return middle(p, n);
}

unsigned caret__cut_room(const struct caret__page *p, unsigned pos)
{
    unsigned n = caret__page_count(p), k = leaf_cut(p, n, pos), left = 0;
    unsigned all = caret__page_used(p) - p->prefix_len;

    for (unsigned i = 0; i < k; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        left += (unsigned)caret__entry_room(e.klen, e.vlen);
    }
    unsigned larger = p->prefix_len + (left > all - left ? left : all - left);
    return larger < CARET__PAGE_USABLE ? CARET__PAGE_USABLE - larger : 0;
}

/* The entries [from, to) of src for an empty page, with the longest prefix. */
static bool take(struct caret__page *p, const struct caret__page *src, unsigned from, unsigned to)
{
    return caret__page_take(p, src, from, to, caret__page_shared(src, from, to));
}

unsigned caret__separator(const uint8_t *left, size_t left_len, const uint8_t *right, size_t right_len,
                          uint8_t *sep)
{
    CARET__ASSERT(caret__bytes_compare(left, left_len, right, right_len) < 0);
    size_t n = caret__common_prefix(left, left_len, right, right_len) + 1;
    memcpy(sep, right, n);
    return (unsigned)n;
}

void caret__link_split(struct caret__page *parent, unsigned i, const uint8_t *sep, unsigned sep_len,
                       uint32_t left, uint32_t right)
{
    CARET__ASSERT(left != right && caret__page_child(parent, i) == left);
    uint8_t child[CARET__CHILD_LEN];

    memcpy(child, &left, 4);
    child[4] = caret__page_child_runs(parent, i);
    caret__page_lengthen_prefix(parent, sep, sep_len);
    bool ok = caret__page_insert(parent, i, sep, sep_len, child, sizeof child, 0, NULL);
    CARET__ASSERT_ALWAYS(ok);
    caret__page_set_child(parent, i + 1, right);
    CARET_FAULT("split_linked");
}

void caret__split_inner(struct caret__w *w, struct caret__path *path, unsigned d)
{
    CARET__ASSERT_CMP(d, <, path->leaf);
    union scratch copy;
    uint8_t sep[CARET__KEY_MAX];

    if (d == 0) {
        caret__grow_root(w);
        return;
    }
    struct caret__page *p = caret__w_dirty(w, path->pgno[d]);
    memcpy(&copy, p, CARET__PAGE_SIZE);
    unsigned n = caret__page_count(p), i = path->idx[d];
    unsigned k = n == 1 ? 0 : i == n ? n - 1 : middle(p, n); /* entry k moves up */
    unsigned sep_len = caret__page_key(p, k, sep);
    struct caret__page *parent = caret__w_dirty(w, path->pgno[d - 1]);
    if (!caret__page_make_room(parent, sep, sep_len, CARET__CHILD_LEN)) {
        caret__split_inner(w, path, d - 1);
        return;
    }
    uint32_t right_no;
    struct caret__page *right = caret__w_alloc(w, p->level, &right_no);
    bool ok = take(right, &copy.page, k + 1, n);
    caret__page_set_child(right, UINT16_MAX, copy.page.right);
    if (copy.page.right_runs)
        caret__page_set_child_runs(right, UINT16_MAX);
    caret__page_init(p, path->pgno[d], p->level);
    ok &= take(p, &copy.page, 0, k);
    CARET__ASSERT_ALWAYS(ok);
    caret__page_set_child(p, UINT16_MAX, caret__page_child(&copy.page, k));
    if (caret__page_child_runs(&copy.page, k))
        caret__page_set_child_runs(p, UINT16_MAX);
    CARET_FAULT("inner_split");
    caret__link_split(parent, path->idx[d - 1], sep, sep_len, path->pgno[d], right_no);
}

/* The half that has the last insert knows of it. */
static void keep_series(struct caret__page *left, struct caret__page *right, const struct caret__page *src,
                        unsigned k)
{
    bool is_right = src->last_pos >= k;
    unsigned last = is_right ? src->last_pos - k : src->last_pos;
    struct caret__page *p = is_right ? right : left;
    caret__racy_put16(&p->last_pos, (uint16_t)last);
    caret__racy_put8(&p->rising, (uint8_t)(src->rising < last ? src->rising : last));
}

void caret__split_leaf(struct caret__w *w, struct caret__path *path, const uint8_t *key, size_t len)
{
    union scratch copy;
    uint8_t a[CARET__KEY_MAX], b[CARET__KEY_MAX], sep[CARET__KEY_MAX + 1];
    unsigned d = path->leaf;

    if (d == 0) {
        caret__grow_root(w);
        return;
    }
    struct caret__page *p = caret__w_dirty(w, path->pgno[d]);
    memcpy(&copy, p, CARET__PAGE_SIZE);
    unsigned n = caret__page_count(p), k = leaf_cut(p, n, path->idx[d]);
    bool goes_left = k < n && (k == 0 || (k == path->idx[d] && p->last_pos + 1u == k)); /* 2, 4 */
    const uint8_t *left_key = goes_left ? key : a, *right_key = k < n ? b : key;
    unsigned left_len = goes_left ? (unsigned)len : caret__page_key(p, k - 1, a);
    unsigned right_len = k < n ? caret__page_key(p, k, b) : (unsigned)len;
    unsigned sep_len = caret__separator(left_key, left_len, right_key, right_len, sep);
    struct caret__page *parent = caret__w_dirty(w, path->pgno[d - 1]);
    if (!caret__page_make_room(parent, sep, sep_len, CARET__CHILD_LEN)) {
        caret__split_inner(w, path, d - 1);
        return;
    }
    uint32_t right_no;
    struct caret__page *right = caret__w_alloc(w, 0, &right_no);
    bool ok = true;
    if (k == n) {
        unsigned plen = caret__page_prefix(&copy.page, (const uint8_t **)&left_key);
        caret__page_preset_prefix(right, key, (unsigned)caret__common_prefix(left_key, plen, key, len));
    } else {
        ok = take(right, &copy.page, k, n);
        caret__page_init(p, path->pgno[d], 0);
        ok &= take(p, &copy.page, 0, k);
        keep_series(p, right, &copy.page, k);
    }
    CARET__ASSERT_ALWAYS(ok);
    CARET_FAULT("leaf_split");
    caret__link_split(parent, path->idx[d - 1], sep, sep_len, path->pgno[d], right_no);
}

/* ------------------------------------------------------------ set and delete */

void caret__free_value(struct caret__w *w, const struct caret__entry *e)
{
    uint32_t ref[2];
    if (!e->run || e->vlen < sizeof ref)
        return;
    if (!w->pg->shared) {
        caret__private_free_value(e->val);
        return;
    }
    memcpy(ref, e->val, sizeof ref); /* {pgno, len}: the head of struct caret__runref */
    caret__w_free_run(w, ref[0], caret__run_pages(ref[1]));
}

bool caret__tree_run_ok(const struct caret__pager *pg, const struct caret__entry *e)
{
    uint32_t ref[2];

    if (!e->run || e->vlen < sizeof ref)
        return true;
    memcpy(ref, e->val, sizeof ref);
    return ref[0] >= CARET__FIRST_PAGE && caret__run_below(ref[0], ref[1], pg->ts->npages);
}

void caret__mark_runs(struct caret__w *w, const struct caret__path *path)
{
    for (unsigned d = 0; d < path->leaf; d++) {
        if (!caret__page_child_runs(caret__w_page(w, path->pgno[d]), path->idx[d]))
            caret__page_set_child_runs(caret__w_dirty(w, path->pgno[d]), path->idx[d]);
    }
}

bool caret__set_in_leaf(struct caret__w *w, struct caret__path *path, const uint8_t *key, size_t len,
                        const void *val, size_t vlen, unsigned vflag)
{
    CARET__ASSERT(caret__w_current(w, path->pgno[path->leaf]));
    struct caret__page *p = caret__w_dirty(w, path->pgno[path->leaf]);
    unsigned pos = path->idx[path->leaf];

    if (path->found) {
        struct caret__entry e = caret__page_entry(p, pos);
        caret__free_value(w, &e);
        if (caret__page_replace(p, pos, val, vlen, vflag, NULL))
            return true;
        caret__page_remove(p, pos, pos + 1, NULL);
        path->found = false;
    }
    caret__page_lengthen_prefix(p, key, len);
    if (!caret__page_insert(p, pos, key, len, val, vlen, vflag, NULL) &&
        !(caret__page_make_room(p, key, len, vlen) &&
          caret__page_insert(p, pos, key, len, val, vlen, vflag, NULL)))
        return false;
    return true;
}

void caret__tree_set(struct caret__w *w, const uint8_t *key, size_t len, const void *val, size_t vlen,
                     unsigned vflag)
{
    CARET__ASSERT(len != 0 && len <= CARET__KEY_MAX);
    CARET__ASSERT((vflag & CARET__VLEN_RUN) != 0 || caret__value_inline(len, vlen));
    struct caret__path path;

    for (;;) {
        descend_again(w, key, len, &path);
        caret__touch_path(w, &path);
        if (vflag & CARET__VLEN_RUN)
            caret__mark_runs(w, &path);
        if (caret__set_in_leaf(w, &path, key, len, val, vlen, vflag))
            return;
        caret__split_leaf(w, &path, key, len);
    }
}

void caret__tree_delete(struct caret__w *w, const uint8_t *key, size_t len)
{
    CARET__ASSERT(len != 0 && len <= CARET__KEY_MAX);
    struct caret__path path;

    descend_again(w, key, len, &path);
    if (!path.found)
        return;
    caret__touch_path(w, &path);
    struct caret__page *p = caret__w_dirty(w, path.pgno[path.leaf]);
    struct caret__entry e = caret__page_entry(p, path.idx[path.leaf]);
    caret__free_value(w, &e);
    caret__page_remove(p, path.idx[path.leaf], path.idx[path.leaf] + 1u, NULL);
    caret__shrink(w, &path);
}

void caret__tree_create(struct caret__w *w)
{
    uint32_t pgno;
    caret__w_save_state(w);
    caret__w_alloc(w, 0, &pgno);
    w->pg->ts->depth = 1;
    atomic_store_explicit(&w->pg->ts->root, pgno, memory_order_release);
}

/* Splits go up to the root at most, each level may take a copy and two splits; a leaf with a few huge entries
 * may be cut several times. */
uint32_t caret__tree_set_pages(const struct caret__tstate *ts)
{
    return 3u * (ts->depth + 2u) + 8u;
}
