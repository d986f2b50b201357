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
 * thirds of a page.  One of them belongs to the path, so it is current: the join goes there,
 * and takes no new page.
 *
 * Kill removes all keys of a span: [key, key || 0xFF) is a node and all below it, but any two bounds will do.  It
 * edits only the two edge paths;
 * subtrees between them are unlinked whole and their pages freed by number: leaves
 * are not read, unless the entry says that values out of line are below it.
 *
 * That kills make room, also where there is none, rests on this: a kill changes pages of the two
 * edges that lose something, and no others; it copies them at most, 2 a level below the root; its joins and
 * its unlinking copy none; and pages that die need no undo (page/store.c).  So what it takes does
 * not grow with the subtree.  A page that it finds nothing in is not touched: of several
 * kills in one commit, each touches pages that it would have touched alone, or current ones.
 */
#include "base/key.h"
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

/* Child i and i + 1 of a dirty page, one of them current, become one if they fit; true if they did. */
static bool join_children(struct caret__w *w, struct caret__page *parent, unsigned i)
{
    CARET__ASSERT_CMP(i, <, parent->count);
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
    uint32_t home = caret__w_current(w, left_no) ? left_no : right_no;
    struct caret__page *p = caret__w_dirty(w, home);
    caret__page_init(p, home, l.page.level);
    bool ok = caret__page_fill(p, kv, n, plen);
    CARET__ASSERT_ALWAYS(ok);
    caret__page_set_child(p, UINT16_MAX, r.page.right);
    caret__racy_put8(&p->right_runs, r.page.right_runs);
    CARET_FAULT("joined");
    bool runs = caret__page_child_runs(parent, i) || caret__page_child_runs(parent, i + 1);
    caret__page_remove(parent, i, i + 1, NULL);
    caret__page_set_child(parent, i, home);
    if (runs)
        caret__page_set_child_runs(parent, i);
    caret__w_free(w, home == left_no ? right_no : left_no);
    return true;
}

void caret__shrink(struct caret__w *w, struct caret__path *path)
{
    CARET__ASSERT(caret__w_current(w, path->pgno[path->leaf]));
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

/* Below a page a span has a bound only where its edge goes through that page; else the bound is NULL: all of the page,
 * on this side. */
static bool is_edge(const struct caret__span *r)
{
    return r->lo != NULL || r->hi != NULL;
}

static void free_leaf_values(struct caret__w *w, const struct caret__page *p, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        caret__free_value(w, &e);
    }
}

#define AHEAD 8u /* children whose entries of the page table are fetched before their turn; arbitrary */

/* Every page of a subtree dies. */
static void free_subtree(struct caret__w *w, uint32_t pgno, unsigned level, bool runs)
{
    if (level > 0 || runs) {
        const struct caret__page *p = caret__w_page(w, pgno);
        if (level == 0)
            free_leaf_values(w, p, 0, p->count);
        for (unsigned i = 0; level > 0 && i <= p->count; i++) {
            if (i + AHEAD <= p->count)
                __builtin_prefetch(&w->pg->ptab[caret__page_child(p, i + AHEAD)], 1);
            free_subtree(w, caret__page_child(p, i), level - 1, caret__page_child_runs(p, i));
        }
    }
    caret__w_free(w, pgno);
}

/*
 * Which entries of a page are in the range, or which children lie in it whole: [*from, *to).  Of an inner page, the
 * left edge goes through child *from - 1 and the right one through child *to.  Both are the same while *from > *to.
 */
static void place(const struct caret__page *p, const struct caret__span *r, unsigned *from, unsigned *to)
{
    bool found, leaf = p->type == CARET__PAGE_LEAF;

    *from = r->lo == NULL ? 0
            : leaf        ? caret__page_find(p, r->lo, r->lo_len, &found)
                          : caret__page_child_index(p, r->lo, r->lo_len) + 1u;
    *to = r->hi == NULL ? p->count + (leaf ? 0u : 1u) : caret__page_find(p, r->hi, r->hi_len, &found);
}

/* What is left of the range for child i: it has an end only where the edge goes through this child. */
static struct caret__span part(const struct caret__span *r, unsigned i, unsigned from, unsigned to)
{
    struct caret__span below = *r;

    if (i >= from)
        below.lo = NULL;
    if (i < to)
        below.hi = NULL;
    return below;
}

/* Is there a key of the range below this page, on an edge?  Children that lie in it whole are never empty. */
static bool holds(const struct caret__w *w, uint32_t pgno, const struct caret__span *r)
{
    const struct caret__page *p = caret__w_page(w, pgno);
    unsigned from, to;

    place(p, r, &from, &to);
    if (from < to || p->type == CARET__PAGE_LEAF)
        return from < to;
    struct caret__span left = part(r, from - 1, from, to), right = part(r, to, from, to);
    return (r->lo != NULL && holds(w, caret__page_child(p, from - 1), &left)) ||
           (right.hi != NULL && right.lo == NULL && holds(w, caret__page_child(p, to), &right));
}

static bool kill_below(struct caret__w *w, uint32_t pgno, const struct caret__span *r);

/* Remove the range below child i of a current page, on an edge; true if nothing was left of it: it died. */
static bool kill_child(struct caret__w *w, struct caret__page *p, unsigned i, const struct caret__span *r)
{
    uint32_t child = caret__page_child(p, i);

    if (!holds(w, child, r))
        return false;
    if (!caret__w_current(w, child)) {
        caret__w_copy(w, &child);
        caret__page_set_child(p, i, child);
    }
    if (!kill_below(w, child, r))
        return false;
    caret__w_free(w, child);
    return true;
}

/* Remove the range below page pgno (current, on an edge); true if nothing is left in it. */
static bool kill_below(struct caret__w *w, uint32_t pgno, const struct caret__span *r)
{
    CARET__ASSERT(caret__w_current(w, pgno));
    CARET__ASSERT(is_edge(r));
    struct caret__page *p = caret__w_dirty(w, pgno);
    unsigned from, to;

    place(p, r, &from, &to);
    if (p->type == CARET__PAGE_LEAF) {
        free_leaf_values(w, p, from, to);
        caret__page_remove(p, from, to, NULL);
        return p->count == 0;
    }
    for (unsigned i = from; i < to; i++)
        free_subtree(w, caret__page_child(p, i), p->level - 1u, caret__page_child_runs(p, i));
    struct caret__span left = part(r, from - 1, from, to), right = part(r, to, from, to);
    bool left_dies = left.lo != NULL && kill_child(w, p, from - 1, &left);
    bool right_dies = right.lo == NULL ? right.hi != NULL && kill_child(w, p, to, &right) : left_dies;
    return remove_children(w, p, from - left_dies, to + right_dies);
}

void caret__tree_kill(struct caret__w *w, const struct caret__span *r)
{
    CARET__ASSERT(caret__w_held(w));
    CARET__ASSERT(caret__bytes_compare(r->lo, r->lo_len, r->hi, r->hi_len) < 0);
    uint32_t root = atomic_load_explicit(&w->pg->ts->root, memory_order_relaxed);

    if (!holds(w, root, r))
        return;
    caret__w_save_state(w);
    if (!caret__w_current(w, root)) {
        caret__w_copy(w, &root);
        atomic_store_explicit(&w->pg->ts->root, root, memory_order_release);
        CARET_FAULT("root_moved");
    }
    if (kill_below(w, root, r) && caret__w_page(w, root)->type == CARET__PAGE_INNER)
        empty_root(w, root);
    lower_root(w);
    struct caret__path path; /* the edge that is left over may be nearly empty */
    if (caret__descend(w, r->lo, r->lo_len, &path) == 0 && path.leaf > 0 &&
        caret__w_current(w, path.pgno[path.leaf]))
        caret__shrink(w, &path);
}

/* ------------------------------------------------------------- before a kill */

/* Looking at what a kill will meet. */
struct look {
    const struct caret__pager *pg;
    struct caret__edges *edges;
    uint32_t bad; /* a damaged page, 0 = none */
};

/* Are the values out of line where values can be? */
static bool runs_ok(const struct look *k, const struct caret__page *p, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        if (!caret__tree_run_ok(k->pg, &e))
            return false;
    }
    return true;
}

/* Look at all that the kill will read below page pgno; true if something of the range is there. */
static bool look_below(struct look *k, uint32_t pgno, unsigned level, const struct caret__span *r)
{
    const struct caret__pager *pg = k->pg;
    unsigned from, to;

    if (!caret__page_trusted(pg, pgno, level)) {
        k->bad = pgno;
        return false;
    }
    const struct caret__page *p =
        caret__page_at(pg, pgno, atomic_load_explicit(&pg->ptab[pgno].word, memory_order_relaxed));
    place(p, r, &from, &to);
    bool some = from < to;
    if (level == 0 && pg->ts->has_runs && !runs_ok(k, p, from, to))
        k->bad = pgno;
    unsigned first = from - (r->lo != NULL), last = from > to ? first : to - (r->hi == NULL);
    for (unsigned i = first; level > 0 && i <= last && k->bad == 0; i++) {
        uint32_t child = caret__page_child(p, i);
        struct caret__span below = part(r, i, from, to);
        if (level > 1 || is_edge(&below) || caret__page_child_runs(p, i))
            some |= look_below(k, child, level - 1, &below);
        else if (caret__unlikely(child < CARET__FIRST_PAGE || child >= pg->ts->npages))
            k->bad = pgno;
    }
    if (is_edge(r) && some) /* it may have to be copied */
        caret__edge_note(k->edges, pgno, pg->ts->depth - 1 - level);
    return some;
}

uint32_t caret__tree_kill_look(const struct caret__pager *pg, const struct caret__span *r,
                               struct caret__edges *edges)
{
    struct look k = {pg, edges, 0};
    uint32_t root = atomic_load_explicit(&pg->ts->root, memory_order_relaxed);

    if (pg->ts->depth == 0 || pg->ts->depth > CARET__MAX_DEPTH)
        return root;
    (void)look_below(&k, root, pg->ts->depth - 1, r);
    return k.bad;
}
