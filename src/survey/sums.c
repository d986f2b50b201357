/*
 * sums.c - sums over the children of a node, kept leaf by leaf.
 *
 * The first time all leaves of the children are looked at, and what those of each leaf come to is remembered with the
 * version of the leaf.  Later a leaf that still has that version is as it was, range and all (docs/engine.md, I2), so
 * only the others are looked at again:
 *
 *     known   | 7 v3 | 9 v5 | 4 v2 | 8 v4 |        page and version
 *               same   same  changed  same
 *     next    | 7 v3 | 9 v5 | 4 v6 | 12 v6 | 8 v4 |
 *
 *   1  keep   those that are as they were, in order, up to one that is not; no key is looked at
 *   2  place  the key where the leaf after the last of them begins: from that one
 *   3  look   descend to the place; if that leaf is known, at this position, then 1 again.  Else go through its entries
 *             and on to the place after it
 *
 * The place after a leaf is its upper bound, or, if that is below the last child of the leaf, the end of that child: of
 * one with many leaves below it only the first and the last are looked at.  So each child is counted in the leaf where
 * its first entry is, and what a leaf comes to depends on its entries and on the position where it is begun, which are
 * what is remembered.  Where a leaf that is as it was leads to is what it was, too.
 *
 * All of it is a read of a transaction, in which each leaf is noted.  If that begins again what was found so far stays
 * known; a leaf of no version stands where there is a gap before what was known already.
 */
#include <stdlib.h>

#include "api/range.h"

#define NO_VERSION UINT64_MAX /* of no leaf: it is never as it was */

struct leaf {
    uint64_t version;
    uint32_t pgno;
    unsigned pos; /* of the first entry that is looked at */
    double sum[CARET_SUMS];
};

struct list {
    struct leaf *at;
    size_t n, cap;
};

struct caret_sums {
    caret_sum_fn *each;
    void *arg;
    uint64_t owner; /* id of the store of the leaves; 0: none are known */
    struct list known, next;
    size_t key_len; /* of the node whose children they have */
    uint8_t key[CARET__KEY_MAX];
};

struct pass {
    caret_session *s;
    struct caret__view *v;
    caret_sums *t;
    const struct caret__span *span;
    size_t base;      /* length of the node's key */
    size_t old;       /* those known before it are done with */
    bool level, ends; /* the place is where that one begins; there is nothing more */
    size_t from_len;
    uint8_t from[CARET__PLACE_MAX];
    _Alignas(64) uint8_t copy[CARET__PAGE_SIZE]; /* of a leaf */
};

static int make_room(struct list *l, size_t cap)
{
    struct leaf *at = realloc(l->at, cap * sizeof *at);

    if (at == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for the sums of %zu leaves", l->n);
    l->at = at;
    l->cap = cap;
    return CARET_OK;
}

static int push(struct list *l, const struct leaf *leaf)
{
    int rc = l->n < l->cap ? CARET_OK : make_room(l, l->n + l->n / 4 + 16);

    if (rc == CARET_OK)
        l->at[l->n++] = *leaf;
    return rc;
}

/* ------------------------------------------------------------------- children */

/* The length of the child's key that this key begins with. */
static size_t child_len(const struct pass *p, const uint8_t *key, size_t len)
{
    return len > p->base ? p->base + caret__sub_len(key + p->base, len - p->base) : p->base;
}

/* The value of an entry whose value is not in its leaf. */
static int value_elsewhere(struct pass *p, const uint8_t *key, size_t len, caret_slice *value)
{
    caret_node_buf n;
    int rc = caret__node_make(&n.node, sizeof n, false, key, len);

    if (rc == CARET_OK)
        rc = caret__get_committed(p->s, &n.node, value);
    return rc == CARET_NONE ? CARET_RESTART : rc; /* it has gone since: its leaf has changed */
}

/* A child whose first entry is this one. */
static int tell(struct pass *p, const struct caret__entry *e, const uint8_t *key, size_t len, size_t child,
                struct leaf *leaf)
{
    char text[CARET__KEY_MAX];
    caret_slice sub = {text, 0}, value = {NULL, 0};
    bool number;
    int rc = CARET_OK;

    if (child <= p->base ||
        caret__sub_get(key + p->base, child - p->base, text, sizeof text, &sub.len, &number) != CARET_OK)
        return caret__fail(CARET_E_CORRUPT, "a key in the database can't be decoded");
    if (child == len && e->run)
        rc = value_elsewhere(p, key, len, &value);
    else if (child == len)
        value = (caret_slice){(const char *)e->val, e->vlen};
    return rc == CARET_OK ? p->t->each(p->t->arg, sub, value, leaf->sum) : rc;
}

/* Keys of a leaf that is gone through: the last one and the one before, by turns. */
struct keys {
    size_t prefix, len; /* len: of the last one, 0: there is none */
    const uint8_t *last;
    uint8_t key[2][CARET__KEY_MAX];
};

static void begin_keys(struct keys *k, const struct caret__page *page)
{
    const uint8_t *prefix;

    k->prefix = caret__page_prefix(page, &prefix);
    k->len = 0;
    k->last = k->key[1];
    memcpy(k->key[0], prefix, k->prefix);
    memcpy(k->key[1], prefix, k->prefix);
}

/* The key of the next entry; false: there can't be one that long. */
static bool next_key(struct keys *k, const struct caret__entry *e, uint8_t **key, size_t *len)
{
    *key = k->key[k->last == k->key[0]];
    *len = k->prefix + e->klen;
    if (*len > CARET__KEY_MAX)
        return false;
    memcpy(*key + k->prefix, e->key, e->klen);
    return true;
}

/* Is it below the child of the last one, whose key has `child` bytes? */
static bool same_child(const struct keys *k, const uint8_t *key, size_t len, size_t child)
{
    if (k->len == 0 || len < child)
        return false;
    return child <= k->prefix || memcmp(key + k->prefix, k->last + k->prefix, child - k->prefix) == 0;
}

/* All that begin in the copy from the leaf's position on; inside: it ends before the span does. */
static int tell_all(struct pass *p, struct leaf *leaf, bool inside, struct keys *k)
{
    const struct caret__page *page = (const struct caret__page *)p->copy;
    unsigned count = caret__page_count(page);
    size_t child = 0, len;
    uint8_t *key;
    int rc = CARET_OK;

    begin_keys(k, page);
    for (unsigned i = leaf->pos; i < count && rc == CARET_OK; i++) {
        struct caret__entry e = caret__page_entry(page, i);
        if (!next_key(k, &e, &key, &len))
            return caret__corrupt_page(p->v->pg, leaf->pgno, "a key is too long");
        if (!inside && caret__bytes_compare(key, len, p->span->hi, p->span->hi_len) >= 0) {
            p->ends = true;
            return CARET_OK;
        }
        if (!same_child(k, key, len, child)) {
            child = child_len(p, key, len);
            rc = tell(p, &e, key, len, child, leaf);
        }
        k->last = key;
        k->len = len;
    }
    return rc;
}

/* --------------------------------------------------------------------- places */

/* Does the leaf end before the span does? */
static bool is_inside(const struct pass *p, const struct caret__range *bounds)
{
    return bounds->upper_len != 0 &&
           caret__bytes_compare(bounds->upper, bounds->upper_len, p->span->hi, p->span->hi_len) < 0;
}

/* Step 2, of a leaf whose last key is this one, *len 0 if it has none from the place on. */
static void go_after(struct pass *p, const struct caret__range *bounds, const uint8_t *last, size_t len)
{
    size_t child = len > p->base && memcmp(last, p->span->lo, p->base) == 0 ? child_len(p, last, len) : 0;

    p->ends = p->ends || !is_inside(p, bounds);
    if (child != 0 && bounds->upper_len >= child && memcmp(bounds->upper, last, child) == 0) {
        memcpy(p->from, last, child);
        p->from[child] = CARET__SUB_BEYOND;
        p->from_len = child + 1;
        p->ends = false; /* there may be a child after this one, in the leaf where it ends */
        return;
    }
    memcpy(p->from, bounds->upper, p->from_len = bounds->upper_len);
}

/* Begin anew with nothing that is known. */
static void begin_anew(struct pass *p)
{
    p->t->next.n = 0;
    p->old = p->t->known.n;
    p->ends = p->level = false;
    memcpy(p->from, p->span->lo, p->from_len = p->span->lo_len);
}

/* To the place after the last leaf that was kept. */
static int place(struct pass *p)
{
    const struct list *next = &p->t->next;
    const struct caret__page *page = (const struct caret__page *)p->copy;
    uint8_t last[CARET__KEY_MAX];
    struct caret__range bounds;
    struct caret__at at;

    if (next->n == 0) {
        memcpy(p->from, p->span->lo, p->from_len = p->span->lo_len);
        return CARET_OK;
    }
    const struct leaf *l = &next->at[next->n - 1];
    if (!caret__at_recall(p->v, &at, l->pgno, l->version))
        return CARET_RESTART;
    caret__racy_copy(p->copy, at.page, CARET__PAGE_SIZE);
    if (!caret__at_valid(p->v, &at))
        return CARET_RESTART;
    unsigned n = caret__page_count(page);
    if (n == 0) {
        begin_anew(p);
        return CARET_OK;
    }
    size_t len = caret__page_key(page, n - 1, last);
    int rc = caret__seek_range(p->v, last, len, &at, &bounds);
    if (rc == CARET_OK && (at.pgno != l->pgno || at.version != l->version))
        rc = CARET_RESTART;
    if (rc == CARET_OK)
        go_after(p, &bounds, last, len);
    return rc;
}

/* --------------------------------------------------------------------- leaves */

static bool holds(const struct pass *p, const struct leaf *l, struct caret__at *at)
{
    return l->version != NO_VERSION && caret__at_recall(p->v, at, l->pgno, l->version);
}

/* Step 1. */
static int keep(struct pass *p)
{
    const struct list *known = &p->t->known;
    struct caret__at at = {.found = false};

    for (; p->old < known->n && holds(p, &known->at[p->old], &at); p->old++) {
        int rc = caret__walk_note(p->v, &at);
        if (rc == CARET_OK)
            rc = push(&p->t->next, &known->at[p->old]);
        if (rc != CARET_OK)
            return rc;
    }
    p->level = false;
    p->ends = p->old == known->n;
    return CARET_OK;
}

/* Is it the next one that is known and as it was, begun at the same position? */
static bool is_known(struct pass *p, const struct caret__at *at)
{
    const struct list *known = &p->t->known;
    struct caret__at there;

    while (p->old < known->n && !holds(p, &known->at[p->old], &there))
        p->old++;
    if (p->old == known->n || known->at[p->old].pgno != at->pgno || known->at[p->old].version != at->version)
        return false;
    if (known->at[p->old].pos == at->pos)
        return true;
    p->old++;
    return false;
}

/* Step 3.  CARET_NONE: the leaf changed meanwhile, look again. */
static int look(struct pass *p)
{
    const struct caret__page *page = (const struct caret__page *)p->copy;
    struct caret__range bounds;
    struct caret__at at;
    struct keys k;
    int rc = caret__seek_range(p->v, p->from, p->from_len, &at, &bounds);

    if (rc != CARET_OK)
        return rc;
    caret__racy_copy(p->copy, at.page, CARET__PAGE_SIZE);
    bool sane = caret__page_sane(page, at.pgno, 0);
    CARET_FAULT("sums_looked"); /* a page that changes here is looked at again */
    if (!caret__at_valid(p->v, &at))
        return CARET_NONE;
    if (!sane)
        return caret__corrupt_page(p->v->pg, at.pgno, "damaged");
    p->level = is_known(p, &at);
    if (p->level)
        return CARET_OK;
    struct leaf leaf = {.version = at.version, .pgno = at.pgno, .pos = at.pos};
    rc = caret__walk_note(p->v, &at);
    if (rc == CARET_OK)
        rc = tell_all(p, &leaf, is_inside(p, &bounds), &k);
    if (rc == CARET_OK)
        rc = push(&p->t->next, &leaf);
    if (rc == CARET_OK && !p->ends)
        go_after(p, &bounds, k.last, k.len);
    return rc;
}

static int go(struct pass *p)
{
    int rc = CARET_OK;

    while (rc == CARET_OK && !p->ends) {
        if (p->level) {
            rc = keep(p);
            if (rc == CARET_OK && !p->ends)
                rc = place(p);
        } else {
            rc = caret__session_saw(p->s, CARET_OK);
            if (rc == CARET_OK)
                rc = look(p);
            rc = caret__session_saw(p->s, rc == CARET_NONE ? CARET_OK : rc);
        }
    }
    return rc;
}

/* What was found is known now; after an error also what was known and not looked at, after a gap. */
static void learn(struct pass *p, int rc)
{
    caret_sums *t = p->t;
    struct list was = t->known;

    if (rc != CARET_OK) {
        const struct leaf gap = {.version = NO_VERSION};
        int left = push(&t->next, &gap);
        for (size_t i = p->old; left == CARET_OK && i < was.n; i++)
            left = push(&t->next, &was.at[i]);
        if (left != CARET_OK)
            t->next.n = 0;
    }
    t->known = t->next;
    t->next = (struct list){NULL, 0, 0};
    free(was.at);
}

struct job {
    caret_sums *t;
    caret_node *n;
    struct caret__children c;
    double sum[CARET_SUMS];
};

static void add_up(struct job *j)
{
    for (size_t i = 0; i < j->t->known.n; i++)
        for (unsigned k = 0; k < CARET_SUMS; k++)
            j->sum[k] += j->t->known.at[i].sum[k];
}

static int sum_leaves(caret_session *s, caret_node *node, void *arg)
{
    struct job *j = arg;
    caret_sums *t = j->t;
    const struct caret__node *n = caret__node_const(node);
    struct pass p = {.s = s, .v = &s->global, .t = t, .span = &j->c.span, .base = n->key_len};

    if (t->owner != p.v->pg->id || t->key_len != n->key_len ||
        memcmp(t->key, caret__node_key(n), n->key_len) != 0)
        t->known.n = 0;
    t->owner = p.v->pg->id;
    memcpy(t->key, caret__node_key(n), t->key_len = n->key_len);
    begin_anew(&p);
    p.old = 0;
    p.level = t->known.n != 0;
    int rc = make_room(&t->next, t->known.n + 16);
    if (rc == CARET_OK)
        rc = go(&p);
    learn(&p, rc);
    if (rc == CARET_OK)
        add_up(j);
    return rc;
}

/* Child by child, where others count than those of the database: nothing is remembered. */
static int sum_children(caret_session *s, struct job *j)
{
    caret_node_buf n;
    char text[CARET__KEY_MAX];
    int rc = caret_node_copy(&n.node, sizeof n, j->n);

    if (rc == CARET_OK)
        rc = caret_first(s, &n.node);
    unsigned depth = caret_node_depth(&n.node);
    while (rc == CARET_OK) {
        caret_slice sub = {text, 0}, value = {NULL, 0};
        rc = caret_get(s, &n.node, &value);
        if (rc == CARET_OK || rc == CARET_NONE)
            rc = caret_node_subscript(&n.node, depth - 1, text, sizeof text, &sub.len, NULL);
        if (rc == CARET_OK)
            rc = j->t->each(j->t->arg, sub, value, j->sum);
        if (rc == CARET_OK)
            rc = caret_next(s, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int sum_up(caret_session *s, struct job *j)
{
    bool own = s->remote != NULL || s->observes || s->txn.snapshot != NULL || caret__node(j->n)->local ||
               !caret__is_plain(s, caret__node_const(j->n));

    memset(j->sum, 0, sizeof j->sum);
    return own ? sum_children(s, j) : caret__read_in_txn(s, j->n, sum_leaves, j);
}

static int sum_in_txn(caret_session *s, void *arg)
{
    return sum_up(s, arg);
}

int caret_sums_of(caret_session *s, caret_node *n, caret_sums *t, double sum[CARET_SUMS])
{
    struct job j = {.t = t, .n = n};
    int rc = t != NULL && sum != NULL ? caret__range_args(__func__, s, n, NULL, NULL, 0, &j.c)
             : t == NULL              ? caret__null(__func__, "sums", "what caret_sums_new() makes")
                                      : caret__null(__func__, "sum", "a place for the sums");

    if (rc != CARET_OK)
        return rc;
    if (caret__node(n)->local || s->txn.level != 0)
        rc = sum_up(s, &j);
    else
        rc = caret_transaction(s, sum_in_txn, &j, 0);
    if (rc == CARET_OK)
        memcpy(sum, j.sum, sizeof j.sum);
    return rc;
}

int caret_sums_new(caret_sum_fn *each, void *arg, caret_sums **sums)
{
    int rc = each == NULL   ? caret__null(__func__, "each", "a function")
             : sums == NULL ? caret__null(__func__, "sums", "a place for them")
                            : CARET_OK;

    if (rc != CARET_OK)
        return rc;
    *sums = calloc(1, sizeof **sums);
    if (*sums == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for sums");
    (*sums)->each = each;
    (*sums)->arg = arg;
    return CARET_OK;
}

void caret_sums_delete(caret_sums *sums)
{
    if (sums == NULL)
        return;
    free(sums->known.at);
    free(sums->next.at);
    free(sums);
}
