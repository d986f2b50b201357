/*
 * shrink.c - pages that become empty or nearly so; kill.
 *
 * An empty page is unlinked from its parent: the entry that leads to it goes, and
 * with it the separator, so its key range falls to the next child (or to the one
 * before, if it was the last).  No byte of that neighbour changes, but its role
 * does: the leaf at the seam gets the commit's version (I2), or a transaction that
 * had looked there for a key would not notice that the key went elsewhere.
 *
 * Two neighbours below one parent are joined when both together fill at most two
 * thirds of a page.
 *
 * Kill removes all keys in [key, key || 0xFF).  It edits only the two edge paths;
 * subtrees between them are unlinked whole and their pages freed by number: leaves
 * are not read, unless the entry says that values out of line are below it.
 */
#include "tree/tree.h"

union scratch {
    struct caret__page page;
    uint8_t bytes[CARET__PAGE_SIZE];
};

/* ------------------------------------------------------------------- unlink */

/* The leaf at one end of a subtree gets this commit's version. */
static void bump_edge(struct caret__w *w, uint32_t pgno, unsigned level, bool rightmost)
{
    while (caret__page_trusted(w->pg, pgno, level)) {
        if (level-- == 0) {
            caret__w_bump(w, pgno);
            return;
        }
        const struct caret__page *p = caret__w_page(w, pgno);
        pgno = caret__page_child(p, rightmost ? p->count : 0);
    }
}

/* Take children [from, to) out of a dirty inner page; true if none is left. */
static bool remove_children(struct caret__w *w, struct caret__page *p, unsigned from, unsigned to)
{
    unsigned n = p->count + 1u;

    if (from >= to)
        return false;
    if (from == 0 && to == n)
        return true;
    if (to < n) {
        caret__page_remove(p, from, to, NULL);
    } else { /* the last child goes: the one before takes its place */
        uint32_t last = caret__page_child(p, from - 1);
        caret__racy_put8(&p->right_runs, caret__page_child_runs(p, from - 1));
        caret__page_set_child(p, UINT16_MAX, last);
        caret__page_remove(p, from - 1, p->count, NULL);
    }
    CARET_FAULT("children_removed");
    bool behind = from < p->count + 1u;
    bump_edge(w, caret__page_child(p, behind ? from : p->count), p->level - 1u, !behind);
    if (from > 0 && behind) /* the leaf before the seam: its range ends where it did, but be safe for walks */
        bump_edge(w, caret__page_child(p, from - 1), p->level - 1u, true);
    return false;
}

/* Drop levels that have only one child left. */
static void lower_root(struct caret__w *w)
{
    struct caret__tstate *ts = w->pg->ts;
    for (;;) {
        uint32_t root = atomic_load_explicit(&ts->root, memory_order_relaxed);
        const struct caret__page *p = caret__w_page(w, root);
        if (p->type != CARET__PAGE_INNER || p->count != 0)
            return;
        uint32_t child = caret__page_child(p, 0);
        caret__w_save_state(w);
        caret__w_free(w, root);
        ts->depth--;
        atomic_store_explicit(&ts->root, child, memory_order_release);
        CARET_FAULT("root_lowered");
    }
}

/* The root has no children left: it is an empty leaf now. */
static void empty_root(struct caret__w *w, uint32_t pgno)
{
    struct caret__page *p = caret__w_dirty(w, pgno);
    caret__w_save_state(w);
    caret__page_init(p, pgno, 0);
    w->pg->ts->depth = 1;
}

/* Page d of the path is empty: free it and take it out of its parent. */
static void unlink_page(struct caret__w *w, struct caret__path *path, unsigned d)
{
    while (d > 0) {
        caret__w_free(w, path->pgno[d]);
        struct caret__page *parent = caret__w_dirty(w, path->pgno[d - 1]);
        if (!remove_children(w, parent, path->idx[d - 1], path->idx[d - 1] + 1u))
            return;
        d--;
    }
    empty_root(w, path->pgno[0]);
}

/* --------------------------------------------------------------------- join */

/* Entries of left, the separator between (inner pages), entries of right. */
static unsigned join_list(const struct caret__page *left, const struct caret__page *right, const uint8_t *sep,
                          unsigned sep_len, const uint8_t *mid, struct caret__kv *kv)
{
    unsigned n = caret__page_list(left, kv);
    if (left->type == CARET__PAGE_INNER)
        kv[n++] = (struct caret__kv){
            .a = sep, .b = sep, .val = mid, .a_len = (uint16_t)sep_len, .vlen = CARET__CHILD_LEN};
    return n + caret__page_list(right, kv + n);
}

/* Child i and i + 1 of a dirty page become one if they fit; true if they did. */
static bool join_children(struct caret__w *w, struct caret__page *parent, unsigned i)
{
    union scratch l, r;
    struct caret__kv kv[2 * CARET__MAX_SLOTS + 1];
    uint8_t sep[CARET__KEY_MAX], mid[CARET__CHILD_LEN];
    uint32_t left_no = caret__page_child(parent, i), right_no = caret__page_child(parent, i + 1);

    if (!caret__page_trusted(w->pg, left_no, parent->level - 1u) ||
        !caret__page_trusted(w->pg, right_no, parent->level - 1u))
        return false; /* a damaged neighbour is left alone */
    memcpy(&l, caret__w_page(w, left_no), CARET__PAGE_SIZE);
    memcpy(&r, caret__w_page(w, right_no), CARET__PAGE_SIZE);
    if (caret__page_used(&l.page) + caret__page_used(&r.page) > CARET__PAGE_USABLE)
        return false;
    unsigned sep_len = caret__page_key(parent, i, sep);
    memcpy(mid, &l.page.right, 4);
    mid[4] = l.page.right_runs;
    unsigned n = join_list(&l.page, &r.page, sep, sep_len, mid, kv), plen = caret__kv_prefix(kv, n);
    if (n > CARET__MAX_SLOTS || caret__kv_bytes(kv, n, plen) > CARET__PAGE_USABLE * 2u / 3u)
        return false;
    struct caret__page *left;
    if (caret__w_current(w, left_no)) {
        left = caret__w_dirty(w, left_no);
    } else {
        left = caret__w_copy(w, &left_no);
    }
    caret__page_init(left, left_no, l.page.level);
    bool ok = caret__page_fill(left, kv, n, plen);
    CARET__ASSERT_ALWAYS(ok);
    caret__page_set_child(left, UINT16_MAX, r.page.right);
    caret__racy_put8(&left->right_runs, r.page.right_runs);
    CARET_FAULT("joined");
    bool runs = caret__page_child_runs(parent, i) || caret__page_child_runs(parent, i + 1);
    caret__page_remove(parent, i, i + 1, NULL);
    caret__page_set_child(parent, i, left_no);
    if (runs)
        caret__page_set_child_runs(parent, i);
    caret__w_free(w, right_no);
    return true;
}

void caret__shrink(struct caret__w *w, struct caret__path *path)
{
    unsigned d = path->leaf;
    const struct caret__page *p = caret__w_page(w, path->pgno[d]);

    if (p->count == 0) {
        if (d > 0)
            unlink_page(w, path, d);
        lower_root(w);
        return;
    }
    for (; d > 0; d--) {
        p = caret__w_page(w, path->pgno[d]);
        if (caret__page_used(p) > CARET__PAGE_USABLE / 4u)
            break;
        struct caret__page *parent = caret__w_dirty(w, path->pgno[d - 1]);
        unsigned i = path->idx[d - 1];
        if (!(i < parent->count && join_children(w, parent, i)) &&
            !(i > 0 && join_children(w, parent, i - 1)))
            break;
    }
    lower_root(w);
}

/* --------------------------------------------------------------------- kill */

struct range {
    const uint8_t *lo, *hi; /* [lo, hi) */
    size_t lo_len, hi_len;
};

static void free_leaf_values(struct caret__w *w, const struct caret__page *p, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        caret__free_value(w, &e);
    }
}

/* Every page of a subtree dies. */
static void free_subtree(struct caret__w *w, uint32_t pgno, unsigned level, bool runs)
{
    if (level > 0 || runs) {
        const struct caret__page *p = caret__w_page(w, pgno);
        if (level == 0)
            free_leaf_values(w, p, 0, p->count);
        for (unsigned i = 0; level > 0 && i <= p->count; i++)
            free_subtree(w, caret__page_child(p, i), level - 1, caret__page_child_runs(p, i));
    }
    caret__w_free(w, pgno);
}

/* Remove the range below page pgno (current, on an edge); true if nothing is left in it. */
static bool kill_below(struct caret__w *w, uint32_t pgno, const struct range *r)
{
    struct caret__page *p = caret__w_dirty(w, pgno);
    bool found;
    unsigned hi = caret__page_find(p, r->hi, r->hi_len, &found);

    if (p->type == CARET__PAGE_LEAF) {
        unsigned lo = caret__page_find(p, r->lo, r->lo_len, &found);
        free_leaf_values(w, p, lo, hi);
        caret__page_remove(p, lo, hi, NULL);
        return p->count == 0;
    }
    unsigned lo = caret__page_child_index(p, r->lo, r->lo_len), from = lo + 1, to = hi;
    for (unsigned edge = 0; edge < 2 && (edge == 0 || hi != lo); edge++) {
        unsigned i = edge == 0 ? lo : hi;
        uint32_t child = caret__page_child(p, i);
        if (!caret__w_current(w, child)) {
            caret__w_copy(w, &child);
            caret__page_set_child(p, i, child);
        }
        if (kill_below(w, child, r)) {
            caret__w_free(w, child);
            if (edge == 0)
                from = lo;
            if (i == hi)
                to = hi + 1;
        }
    }
    for (unsigned i = lo + 1; i < hi; i++)
        free_subtree(w, caret__page_child(p, i), p->level - 1u, caret__page_child_runs(p, i));
    return remove_children(w, p, from, to);
}

void caret__tree_kill(struct caret__w *w, const uint8_t *key, size_t len)
{
    uint8_t end[CARET__KEY_MAX + 1];
    struct range r = {key, end, len, len + 1};
    uint32_t root = atomic_load_explicit(&w->pg->ts->root, memory_order_relaxed);

    memcpy(end, key, len);
    end[len] = 0xff;
    caret__w_save_state(w);
    if (!caret__w_current(w, root)) {
        caret__w_copy(w, &root);
        atomic_store_explicit(&w->pg->ts->root, root, memory_order_release);
        CARET_FAULT("root_moved");
    }
    if (kill_below(w, root, &r) && caret__w_page(w, root)->type == CARET__PAGE_INNER)
        empty_root(w, root);
    lower_root(w);
    struct caret__path path; /* the edge that is left over may be nearly empty */
    if (caret__descend(w, key, len, &path) == 0 && path.leaf > 0 && caret__w_current(w, path.pgno[path.leaf]))
        caret__shrink(w, &path);
}

/* What a kill frees or copies at most: everything below the children that its range covers. */
struct count {
    const struct caret__pager *pg;
    const struct range *r;
    uint32_t bad; /* a damaged page, 0 = none */
};

static uint64_t count_runs(const struct caret__page *p, unsigned from, unsigned to)
{
    uint64_t n = 0;
    for (unsigned i = from; i < to; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        if (e.run && e.vlen >= 8)
            n += 1 + caret__racy32(e.val + 4) / CARET__PAGE_SIZE;
    }
    return n;
}

static uint64_t count_below(struct count *c, uint32_t pgno, unsigned level)
{
    if (c->bad != 0 || !caret__page_trusted(c->pg, pgno, level)) {
        c->bad = pgno;
        return 0;
    }
    uint64_t word = atomic_load_explicit(&c->pg->ptab[pgno].word, memory_order_relaxed), n = 2;
    const struct caret__page *p = caret__page_at(c->pg, pgno, word);
    bool found;
    unsigned hi = caret__page_find(p, c->r->hi, c->r->hi_len, &found);

    if (level == 0)
        return c->pg->ts->has_runs
                   ? n + count_runs(p, caret__page_find(p, c->r->lo, c->r->lo_len, &found), hi)
                   : n;
    unsigned lo = caret__page_child_index(p, c->r->lo, c->r->lo_len);
    for (unsigned i = lo; i <= hi; i++) {
        if (level == 1 && i > lo && i < hi && !caret__page_child_runs(p, i))
            n++;
        else
            n += count_below(c, caret__page_child(p, i), level - 1);
    }
    return n;
}

uint64_t caret__tree_kill_pages(const struct caret__pager *pg, const uint8_t *key, size_t len, uint32_t *bad)
{
    uint8_t end[CARET__KEY_MAX + 1];
    struct range r = {key, end, len, len + 1};
    struct count c = {pg, &r, 0};
    uint32_t root = atomic_load_explicit(&pg->ts->root, memory_order_relaxed);
    uint64_t n = 0;

    memcpy(end, key, len);
    end[len] = 0xff;
    if (pg->ts->depth == 0 || pg->ts->depth > CARET__MAX_DEPTH)
        c.bad = root;
    else
        n = count_below(&c, root, pg->ts->depth - 1);
    *bad = c.bad;
    return n;
}
