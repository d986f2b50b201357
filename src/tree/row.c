/*
 * row.c - many sets in key order: leaf by leaf instead of set by set.
 *
 * A cursor remembers the leaf and the bound that its keys lie below, so only a
 * key beyond that bound descends from the root.  A few keys for one leaf are put
 * into it as long as they fit, those that are new together, so that its slots move once for
 * all of them (caret__page_insert_row), others one by one; then it is split as for a single set, if the
 * rest fits in either half.  Else the leaf is merged with the row:
 *
 *     old   a c   f g h          (entries of the leaf)
 *     row     b d       x y z    (sets that belong there)
 *
 *   1  take the smallest of both, again and again, until the next one does not fit
 *   2  is there a next one, the parent gets a separator before it.  If it has no room it is split
 *      instead, and all begins anew: a new descent.
 *   3  the leaf is written anew with what was taken; the rest of `old` goes to a new leaf after it,
 *      where the cursor goes on, if there is more of the row
 *
 * Every step leaves a whole tree.  A new leaf is made only when one is as full as it
 * can be, so a bound of their number is known beforehand, which a transaction of
 * millions of sets needs: what it reserves is what it takes, nearly.  With
 *
 *     T  bytes of all entries of the leaf and the row, as they are after a prefix that all of them share
 *     U  bytes of a page, p bytes of that prefix, m bytes of the longest entry
 *
 * each leaf but the last holds more than U - p - m, so there are at most T / (U - p - m)
 * new ones, and none if T + p <= U.  Sets that replace a value count as far as it grows.  A
 * row may come in pieces; where one ends, a leaf that is full may be cut once more by the next.
 * A leaf is halved once at most, as all of the rest fits then, and only if no other piece has
 * sets for it: so that is the one new leaf which T + p > U allows.
 *
 * Pages above: one that is split was full, but for the longest separator s, and is cut in the middle or
 * after its last but one.  So each has half a page of separators, less 2 s, or is the right end of one
 * that was there before, of which there are as many as pages were met.  All separators are counted
 * whole, for a prefix may be lost.  The levels above that take a part of it.
 */
#include "tree/split.h"

/* Arbitrary: so many sets of a leaf need no merge.  Nor do those that are no more than its entries. */
#define FEW 8u

union scratch {
    struct caret__page page;
    uint8_t bytes[CARET__PAGE_SIZE];
};

/* ------------------------------------------------------------------- cursor */

uint32_t caret__cursor_seek(const struct caret__w *w, struct caret__cursor *c, const uint8_t *key, size_t len)
{
    uint32_t bad = caret__descend_to_leaf(w, key, len, &c->path);

    c->there = bad == 0;
    c->upper_len = 0;
    if (bad != 0)
        return bad;
    for (unsigned d = c->path.leaf; d-- > 0 && c->upper_len == 0;) {
        const struct caret__page *p = caret__w_page(w, c->path.pgno[d]);
        if (c->path.idx[d] < caret__page_count(p)) {
            c->upper_len = caret__page_key(p, c->path.idx[d], c->upper);
            if (c->upper_len == 0)
                return c->path.pgno[d];
        }
    }
    return 0;
}

/* How many of the row belong to the leaf? */
static unsigned group_of(const struct caret__cursor *c, const struct caret__kv *kv, unsigned n)
{
    unsigned lo = 1, hi = n;

    if (caret__cursor_holds(c, kv[n - 1].b, kv[n - 1].b_len))
        return n;
    while (lo < hi) { /* the first one does */
        unsigned mid = (lo + hi) / 2;
        if (caret__cursor_holds(c, kv[mid].b, kv[mid].b_len))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* -------------------------------------------------------------------- merge */

#define FROM_ROW 0x8000u
#define SPARSE   4u /* arbitrary: so many old entries for one of the row */

/* What a leaf will have: entries of the old page, or of the row. */
struct merged {
    const struct caret__page *old;
    const struct caret__kv *kv;
    unsigned nold, nkv; /* there are */
    unsigned iold, ikv; /* taken */
    unsigned n, plen;   /* entries of the new page, and the prefix that all share */
    unsigned bytes;     /* of these whole */
    unsigned last_pos;  /* of the last one from the row */
    unsigned next_len;  /* of the key that did not fit, in `next`; 0 = none is left */
    unsigned key_len;
    uint8_t first[CARET__KEY_MAX], key[CARET__KEY_MAX], next[CARET__KEY_MAX]; /* key: the last one taken */
    uint16_t order[CARET__MAX_SLOTS];
};

/* Compare the key of an old entry with one of the row. */
static int compare(const struct merged *m, unsigned i, const struct caret__kv *kv)
{
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(m->old, &prefix);
    struct caret__entry e = caret__page_entry(m->old, i);
    unsigned n = plen < kv->b_len ? plen : kv->b_len;
    int c = caret__racy_cmp(prefix, kv->b, n);

    if (c != 0 || kv->b_len < plen)
        return c != 0 ? c : 1;
    return caret__bytes_compare(e.key, e.klen, kv->b + plen, kv->b_len - plen);
}

/* The next entry: its place in `order`; *both: it is in the page and in the row. */
static unsigned choose(const struct merged *m, bool *both)
{
    *both = false;
    if (m->ikv == m->nkv)
        return m->iold;
    int c = m->iold == m->nold ? 1 : compare(m, m->iold, &m->kv[m->ikv]);
    *both = c == 0;
    return c < 0 ? m->iold : FROM_ROW | m->ikv;
}

/* Its whole key, and the length of its value. */
static unsigned key_at(const struct merged *m, unsigned which, uint8_t *key, unsigned *vlen)
{
    if ((which & FROM_ROW) == 0) {
        *vlen = caret__page_entry(m->old, which).vlen;
        return caret__page_key(m->old, which, key);
    }
    const struct caret__kv *kv = &m->kv[which & ~FROM_ROW];
    *vlen = kv->vlen;
    caret__racy_copy_short(key, kv->b, kv->b_len);
    return kv->b_len;
}

/* Of a leaf that has many entries for each of the row: up to where do they come before the next one of that? */
static unsigned end_of_run(const struct merged *m)
{
    bool found;

    if (m->ikv == m->nkv)
        return m->nold;
    if (m->nold - m->iold < SPARSE * (m->nkv - m->ikv))
        return m->iold;
    return caret__page_find(m->old, m->kv[m->ikv].b, m->kv[m->ikv].b_len, &found);
}

/* Take the old entries up to `to`, if all of them fit: then so does each of them before the ones after it, as the
 * prefix that all share only gets shorter. */
static bool take_run(struct merged *m, unsigned to)
{
    const uint8_t *prefix;
    unsigned old_plen = caret__page_prefix(m->old, &prefix), many = to - m->iold, sum = 0, vlen;
    unsigned first_len = m->n == 0 ? key_at(m, m->iold, m->first, &vlen) : m->plen;
    unsigned len = key_at(m, to - 1, m->next, &vlen);
    unsigned plen = (unsigned)caret__common_prefix(m->first, first_len, m->next, len);

    for (unsigned i = m->iold; i < to; i++) {
        struct caret__entry e = caret__page_entry(m->old, i);
        sum += (unsigned)caret__entry_room(e.klen + old_plen, e.vlen);
    }
    if (plen + m->bytes + sum - (m->n + many) * plen > CARET__PAGE_USABLE)
        return false;
    for (; m->iold < to; m->iold++)
        m->order[m->n++] = (uint16_t)m->iold;
    m->plen = plen;
    m->bytes += sum;
    return true;
}

/* Step 1. */
static void take_what_fits(struct merged *m)
{
    m->n = m->bytes = m->plen = m->last_pos = 0;
    m->iold = m->ikv = 0;
    m->next_len = 0;
    while (m->iold < m->nold || m->ikv < m->nkv) {
        unsigned from = m->iold, to = end_of_run(m);
        while (to > from && !take_run(m, to)) /* half of it may fit */
            to = from + (to - from) / 2;
        if (m->iold > from)
            continue;
        bool both;
        unsigned which = choose(m, &both), vlen, len = key_at(m, which, m->next, &vlen);
        unsigned plen = m->n == 0 ? len : (unsigned)caret__common_prefix(m->first, m->plen, m->next, len);
        unsigned bytes = m->bytes + (unsigned)caret__entry_room(len, vlen);
        if (plen + bytes - (m->n + 1) * plen > CARET__PAGE_USABLE) {
            m->next_len = len;
            return;
        }
        if (m->n == 0)
            caret__racy_copy_short(m->first, m->next, len);
        if (which & FROM_ROW)
            m->last_pos = m->n;
        m->order[m->n++] = (uint16_t)which;
        m->plen = plen;
        m->bytes = bytes;
        m->ikv += (which & FROM_ROW) != 0;
        m->iold += (which & FROM_ROW) == 0 || both;
    }
}

/* The key before the cut. */
static unsigned key_before(const struct merged *m, uint8_t *key)
{
    unsigned vlen;
    return key_at(m, m->order[m->n - 1], key, &vlen);
}

/* Values of old entries that the row replaces. */
static void free_replaced(struct caret__w *w, const struct merged *m)
{
    if (!w->pg->ts->has_runs)
        return;
    for (unsigned i = 0, j = 0; i < m->iold; i++) {
        struct caret__entry e = caret__page_entry(m->old, i);
        while (j < m->ikv && compare(m, i, &m->kv[j]) > 0)
            j++;
        if (e.run && j < m->ikv && compare(m, i, &m->kv[j]) == 0)
            caret__free_value(w, &e);
    }
}

/* Old entries that follow one another are the entries [i, end) of the new page. */
static unsigned write_run(struct caret__page *p, unsigned i, unsigned *heap, const struct merged *m)
{
    const uint8_t *prefix;
    unsigned old_plen = caret__page_prefix(m->old, &prefix), from = m->order[i], many = 1;

    while (i + many < m->n && m->order[i + many] == from + many)
        many++;
    if (m->plen >= old_plen) {
        bool ok = caret__page_fill_take(p, i, m->n, heap, m->old, from, from + many, m->plen - old_plen);
        CARET__ASSERT_ALWAYS(ok);
        return i + many;
    }
    for (unsigned k = 0; k < many; k++) {
        struct caret__entry e = caret__page_entry(m->old, from + k);
        struct caret__kv kv = caret__entry_kv(&e, prefix, old_plen);
        caret__page_fill_put(p, i + k, heap, &kv, m->plen);
    }
    return i + many;
}

/* Step 3, the leaf. */
static void write_merged(struct caret__page *p, uint32_t pgno, const struct merged *m)
{
    caret__page_init(p, pgno, 0);
    unsigned heap = caret__page_fill_begin(p, m->first, m->plen);
    for (unsigned i = 0; i < m->n;) {
        unsigned which = m->order[i];
        if (which & FROM_ROW)
            caret__page_fill_put(p, i++, &heap, &m->kv[which & ~FROM_ROW], m->plen);
        else
            i = write_run(p, i, &heap, m);
    }
    caret__page_fill_end(p, m->n, heap);
    caret__racy_put16(&p->last_pos, (uint16_t)m->last_pos);
}

/* Step 3, a leaf for what is left. */
static struct caret__page *leaf_behind(struct caret__w *w, const struct merged *m, uint32_t *pgno)
{
    struct caret__page *right = caret__w_alloc(w, 0, pgno);

    if (m->iold < m->nold) {
        bool ok =
            caret__page_take(right, m->old, m->iold, m->nold, caret__page_shared(m->old, m->iold, m->nold));
        CARET__ASSERT_ALWAYS(ok);
        (void)ok;
    } else {
        caret__page_preset_prefix(right, m->first,
                                  (unsigned)caret__common_prefix(m->first, m->plen, m->next, m->next_len));
    }
    return right;
}

/* Step 2: room for a separator.  false: something above was split instead. */
static bool room_above(struct caret__w *w, struct caret__cursor *c, const uint8_t *sep, unsigned sep_len)
{
    unsigned d = c->path.leaf;

    if (d == 0) {
        caret__grow_root(w);
        return false;
    }
    if (caret__page_make_room(caret__w_dirty(w, c->path.pgno[d - 1]), sep, sep_len, CARET__CHILD_LEN))
        return true;
    caret__split_inner(w, &c->path, d - 1);
    return false;
}

/* For assertions: each key once, in order. */
static inline bool is_sorted(const struct caret__kv *kv, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (kv[i].a_len != 0 || caret__bytes_compare(kv[i - 1].b, kv[i - 1].b_len, kv[i].b, kv[i].b_len) >= 0)
            return false;
    return n == 0 || kv[0].a_len == 0;
}

/* Merge n sets with the leaf of the cursor: how many are done, if there was no need to begin anew (then the cursor
 * is nowhere). */
static unsigned merge(struct caret__w *w, struct caret__cursor *c, const struct caret__kv *kv, unsigned n)
{
    unsigned d = c->path.leaf, sep_len = 0;
    uint32_t pgno = c->path.pgno[d], behind;
    struct caret__page *p = caret__w_dirty(w, pgno);
    uint8_t sep[CARET__KEY_MAX + 1];
    struct merged m;
    union scratch copy;

    m.nold = caret__page_count(p);
    memcpy(&copy, p,
           m.nold != 0 ? CARET__PAGE_SIZE : CARET__PAGE_HEAD); /* of an empty one nothing else is read */
    m.old = &copy.page;
    m.kv = kv;
    m.nkv = n;
    take_what_fits(&m);
    CARET__ASSERT_ALWAYS(m.n != 0);
    if (m.next_len != 0) {
        m.key_len = key_before(&m, m.key);
        sep_len = caret__separator(m.key, m.key_len, m.next, m.next_len, sep);
        c->there = room_above(w, c, sep, sep_len);
        if (!c->there)
            return 0;
    }
    free_replaced(w, &m);
    if (m.ikv != 0 || m.iold < m.nold)
        write_merged(p, pgno, &m);
    if (m.next_len == 0)
        return m.ikv;
    (void)leaf_behind(w, &m, &behind);
    CARET_FAULT("leaf_split");
    caret__link_split(caret__w_dirty(w, c->path.pgno[d - 1]), c->path.idx[d - 1], sep, sep_len, pgno, behind);
    if (m.ikv < n) {
        c->path.pgno[d] = behind;
        c->path.idx[d - 1]++;
    } else { /* what comes after the row may belong to either */
        memcpy(c->upper, sep, sep_len);
        c->upper_len = sep_len;
    }
    return m.ikv;
}

/* The set of one key; false: it does not fit.  All keys before slot *next are below it, and below the next one then. */
static bool set_one(struct caret__w *w, struct caret__path *path, unsigned *next, const struct caret__kv *kv)
{
    const struct caret__page *p = caret__w_page(w, path->pgno[path->leaf]);

    path->idx[path->leaf] = (uint16_t)caret__page_find_after(p, *next, kv->b, kv->b_len, &path->found);
    *next = path->idx[path->leaf] + 1u;
    return caret__set_in_leaf(w, path, kv->b, kv->b_len, kv->val, kv->vlen, kv->vflag);
}

/* A few sets, until one does not fit; how many are done.  Slots are moved once for all that are new and have room. */
static unsigned few_by_few(struct caret__w *w, struct caret__cursor *c, const struct caret__kv *kv,
                           unsigned n)
{
    struct caret__path *path = &c->path;
    unsigned next = 0, i = 0;
    uint16_t pos[CARET__PAGE_ROW];

    while (i < n) {
        struct caret__page *p = n - i > 1 ? caret__w_dirty(w, path->pgno[path->leaf]) : NULL;
        unsigned done = p != NULL ? caret__page_insert_row(p, next, kv + i, n - i, pos, NULL) : 0;
        if (done != 0)
            next = pos[done - 1] + 1u;
        i += done;
        if (i < n && done == 0 && !set_one(w, path, &next, &kv[i++]))
            return i - 1;
    }
    return n;
}

/* Are they few for what the leaf has?  A merge writes all entries anew. */
static bool few(const struct caret__w *w, const struct caret__cursor *c, unsigned n)
{
    const struct caret__page *p = caret__w_page(w, c->path.pgno[c->path.leaf]);

    return n < FEW || n <= caret__page_count(p);
}

static bool shares(const uint8_t *prefix, unsigned plen, const struct caret__kv *kv)
{
    return kv->b_len >= plen && caret__racy_cmp(prefix, kv->b, plen) == 0;
}

/* The leaf has no room for the first of a few sets: split it as for that one alone, if then all of them fit.  false:
 * merge.  That is so at the end of the leaf, which stays full, and for one that is full of garbage. */
static bool halve(struct caret__w *w, struct caret__cursor *c, const struct caret__kv *kv, unsigned n)
{
    struct caret__path *path = &c->path;
    const struct caret__page *p = caret__w_page(w, path->pgno[path->leaf]);
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(p, &prefix), pos = path->idx[path->leaf], bytes = 0;

    if (pos == caret__page_count(p) || !shares(prefix, plen, &kv[0]) || !shares(prefix, plen, &kv[n - 1]) ||
        caret__page_used(p) + caret__entry_room(kv[0].b_len - plen, kv[0].vlen) <= CARET__PAGE_USABLE)
        return false;
    for (unsigned i = 0; i < n; i++)
        bytes += (unsigned)caret__entry_room(kv[i].b_len - plen, kv[i].vlen);
    if (bytes > caret__cut_room(p, pos))
        return false;
    caret__split_leaf(w, path, kv[0].b, kv[0].b_len);
    c->there = false;
    return true;
}

static bool has_runs(const struct caret__kv *kv, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (kv[i].vflag != 0)
            return true;
    return false;
}

void caret__tree_set_row(struct caret__w *w, struct caret__cursor *c, const struct caret__kv *kv, unsigned n)
{
    CARET__ASSERT(is_sorted(kv, n));
    CARET__ASSERT_CMP(n, <=, CARET__ROW);
    for (unsigned i = 0; i < n;) {
        if (!caret__cursor_holds(c, kv[i].b, kv[i].b_len)) {
            uint32_t bad = caret__cursor_seek(w, c, kv[i].b, kv[i].b_len);
            CARET__ASSERT_ALWAYS(bad == 0); /* the way was gone before the commit point */
            (void)bad;
            caret__touch_path(w, &c->path);
        }
        unsigned group = group_of(c, kv + i, n - i);
        if (w->pg->ts->has_runs && has_runs(kv + i, group))
            caret__mark_runs(w, &c->path);
        bool alone = few(w, c, group),
             whole = i != 0 && i + group != n; /* none of its leaf is in another piece */
        unsigned done = alone ? few_by_few(w, c, kv + i, group) : 0;
        i += done;
        if (done < group && !(alone && whole && halve(w, c, kv + i, group - done)))
            i += merge(w, c, kv + i, group - done);
    }
}

/* -------------------------------------------------------------------- needs */

/* A page above the leaves that the row meets. */
static void look_above(struct caret__row_need *r, const struct caret__page *p)
{
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(p, &prefix), n = caret__page_count(p);

    r->above += caret__page_used(p) + (uint64_t)n * plen;
    for (unsigned i = 0; i < n; i++) {
        unsigned len = plen + caret__page_entry(p, i).klen;
        r->key_max = len > r->key_max ? len : r->key_max;
    }
}

/* What all keys of the group have in common. */
static unsigned shared_prefix(const struct caret__row_need *r, const uint8_t *prefix, unsigned plen)
{
    size_t n = caret__common_prefix(r->first, r->first_len, r->last, r->last_len);

    if (r->leaf->count != 0)
        n = caret__common_prefix(prefix, plen, r->first, n);
    return (unsigned)n;
}

/* The longest entry after that prefix, and the longest key. */
static unsigned longest_entry(struct caret__row_need *r, unsigned plen, unsigned shared)
{
    unsigned longest = r->longest - shared;

    for (unsigned i = 0; i < caret__page_count(r->leaf); i++) {
        struct caret__entry e = caret__page_entry(r->leaf, i);
        unsigned bytes = (unsigned)caret__entry_room(e.klen + plen - shared, e.vlen);
        longest = bytes > longest ? bytes : longest;
        r->key_max = e.klen + plen > r->key_max ? e.klen + plen : r->key_max;
    }
    return longest;
}

/* Count a set among the entries of the leaf: the one that it replaces, or {0}. */
static struct caret__entry count_set(struct caret__row_need *r, const struct caret__row_set *set)
{
    struct caret__entry e = {0};
    bool found;
    unsigned pos = caret__page_find_after(r->leaf, r->next, set->key, set->klen, &found);

    r->next = pos + found;
    if (!found) {
        r->inserts++;
        r->bytes += caret__entry_room(set->klen, set->vlen);
        return e;
    }
    e = caret__page_entry(r->leaf, pos);
    r->bytes += set->vlen > e.vlen ? (unsigned)(set->vlen - e.vlen) : 0;
    return e;
}

static void count_waiting(struct caret__row_need *r)
{
    for (unsigned i = 0; i < r->nwaiting; i++)
        (void)count_set(r, &r->waiting[i]);
    r->nwaiting = 0;
    r->waiting_bytes = 0;
}

/* Bytes of the leaf and its sets after that prefix; those that wait are taken for new ones. */
static uint64_t group_bytes(const struct caret__row_need *r, unsigned plen, unsigned shared)
{
    unsigned n = caret__page_count(r->leaf);
    uint64_t old = n != 0 ? caret__page_used(r->leaf) - plen + (uint64_t)n * (plen - shared) : 0;

    return old + r->bytes + r->waiting_bytes - (r->inserts + r->nwaiting) * shared;
}

/* The sets of a leaf are known: new leaves that they make at most. */
static void end_group(struct caret__row_need *r)
{
    const uint8_t *prefix;

    if (r->leaf == NULL || r->first == NULL)
        return;
    unsigned plen = caret__page_prefix(r->leaf, &prefix), shared = shared_prefix(r, prefix, plen);
    if (group_bytes(r, plen, shared) + shared > CARET__PAGE_USABLE)
        count_waiting(r);
    uint64_t bytes = group_bytes(r, plen, shared);
    if (bytes + shared > CARET__PAGE_USABLE)
        r->leaves += bytes / (CARET__PAGE_USABLE - shared - longest_entry(r, plen, shared));
    r->first = NULL;
    r->bytes = r->inserts = 0;
    r->nwaiting = r->waiting_bytes = 0;
    r->longest = 0;
}

static uint32_t next_leaf(const struct caret__w *w, struct caret__row_need *r, const uint8_t *key,
                          size_t klen, struct caret__edges *edges)
{
    end_group(r);
    uint32_t bad = caret__cursor_seek(w, &r->at, key, klen);
    if (bad != 0)
        return bad;
    for (unsigned d = 0; d <= r->at.path.leaf; d++) {
        caret__edge_note(edges, r->at.path.pgno[d], d);
        if (d < r->at.path.leaf && caret__edge_note(&r->inner, r->at.path.pgno[d], d))
            look_above(r, caret__w_page(w, r->at.path.pgno[d]));
    }
    r->leaf = caret__w_page(w, r->at.path.pgno[r->at.path.leaf]);
    r->next = 0;
    return 0;
}

uint32_t caret__row_look(const struct caret__w *w, struct caret__row_need *r, const uint8_t *key, size_t klen,
                         size_t vlen, struct caret__edges *edges)
{
    CARET__ASSERT(r->first == NULL || caret__bytes_compare(r->last, r->last_len, key, klen) < 0);
    struct caret__row_set set = {key, (uint16_t)klen, (uint16_t)vlen};
    unsigned whole = (unsigned)caret__entry_room(klen, vlen);

    if (!caret__cursor_holds(&r->at, key, klen)) {
        uint32_t bad = next_leaf(w, r, key, klen, edges);
        if (bad != 0)
            return bad;
    }
    if (w->pg->ts->has_runs) {
        struct caret__entry e = count_set(r, &set);
        if (!caret__tree_run_ok(w->pg, &e))
            return r->at.path.pgno[r->at.path.leaf];
    } else {
        if (r->nwaiting == CARET__ROW_WAITING)
            count_waiting(r);
        r->waiting[r->nwaiting++] = set;
        r->waiting_bytes += whole;
    }
    if (r->first == NULL) {
        r->first = key;
        r->first_len = klen;
    }
    r->last = key;
    r->last_len = klen;
    r->longest = whole > r->longest ? whole : r->longest;
    r->key_max = klen > r->key_max ? (unsigned)klen : r->key_max;
    return 0;
}

uint64_t caret__row_pages(struct caret__row_need *r, const struct caret__tstate *ts)
{
    end_group(r);
    if (r->leaves == 0)
        return 0;
    uint64_t sep = caret__entry_room(r->key_max, CARET__CHILD_LEN), half = CARET__PAGE_USABLE / 2;
    if (half < 4 * sep)
        return UINT64_MAX;
    uint64_t inner = r->inner.pages + (r->above + r->leaves * sep) / (half - 2 * sep);
    /* A level has at most half the pages of the one below it.  The rest: what is rounded on each level; arbitrary. */
    return r->leaves + 2 * inner + 2u * ts->depth + 16u;
}
