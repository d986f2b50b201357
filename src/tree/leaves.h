/*
 * leaves.h - which leaf a neighbourhood of keys was met in last.
 *
 * Programs walk through neighbours: n[1], n[2], ... or, in several places at once,
 * n, 3n+1, n/2.  A session therefore remembers the leaf where a key was found, by
 * two groups that the key belongs to, and tries the leaf of either before it descends:
 *   near  the keys that differ in the last two bytes alone (the last pair of digits or
 *         character, and the terminator), for places that are densely filled
 *   far   those that share all before the last three bytes and the upper two bits of the
 *         first of these, for places where the keys of a leaf are far apart
 *
 * What is remembered is a guess.  It is believed only if, now,
 *   - the leaf has the remembered version: it still is what it was; or
 *   - it is a live leaf in the arena (tree pages alone are there; a page number
 *     whose bytes are in the file may have become part of a long value),
 * its number is one of this store (tags of two stores can be the same), and the
 * key is in it or lies between two of its keys: a live leaf holds all keys between
 * its first and its last, so the key's place is there.
 *
 * That was read from a page that may be changing, or whose slot of the arena may have become another page's, with the
 * version of the leaf as it was: so version and word are compared after the search, before the place is given to
 * anybody.  It is where the key is with that version, and that is all a node or a commit may remember; what is read
 * there must be validated again.
 *
 * A guess that is wrong costs a search in a page that nobody needs and no cache has.  So guesses are counted, and while
 * few are right only one look-up in sixteen makes one.
 *
 * Before that the last key's own neighbour is tried: a caller that goes on in order finds it in the slot
 * after, or in the same one (a get and then a set of it), for a fourth of what groups and a search cost.
 * It is believed while the leaf has the version it had, as with any hint; and tried when the last key was
 * beside the one before it.
 *
 * Keys that are appended lie after the last one of their leaf.  For one leaf, the one that the session
 * appended to twice with nobody's change between, its upper bound is remembered too, with the version (struct
 * caret__edge): a page whose range changes gets a new version (docs/engine.md, I2), so with the version
 * unchanged a key between last and bound belongs there.  A commit of our own in place, which found that very
 * version, leaves the range as it is.
 */
#ifndef CARET_TREE_LEAVES_H
#define CARET_TREE_LEAVES_H

#include <string.h>

#include "tree/tree.h"

#define CARET__LEAVES      2048u /* a power of two */
#define CARET__GROUP_MAX   64u   /* longer keys are not remembered */

/* A right guess saves about twice what a wrong one costs. */
#define CARET__DOUBT       32u
#define CARET__GUESS_EVERY 16u

struct caret__leaf {
    uint32_t tag; /* of the group; 0 = nothing is remembered here */
    uint32_t pgno;
    uint64_t version;
};

/* The leaf that was appended to. */
struct caret__edge {
    uint64_t version;
    uint32_t pgno;
    uint64_t owner;     /* id of the store */
    bool known;         /* the bound is */
    unsigned upper_len; /* 0: there is none */
    uint8_t upper[CARET__KEY_MAX];
};

/* Where the last key was. */
struct caret__last {
    uint64_t version, owner; /* owner: id of the store, 0 = nothing is known */
    uint64_t before;         /* not 0: with that version of the leaf all keys were where they are */
    uint32_t pgno;
    unsigned pos;
    bool in_order;             /* it was beside the one before */
    struct caret__leaf *where; /* what remembers the leaf */
};

struct caret__leaves {
    struct caret__last last;
    struct caret__edge edge;
    unsigned doubt; /* grows with guesses that were wrong */
    unsigned turn;  /* look-ups without a guess */
    struct caret__leaf leaf[CARET__LEAVES];
};

static inline void caret__guessed(struct caret__leaves *l, bool right)
{
    unsigned less = l->doubt < 2 ? l->doubt : 2, more = l->doubt < 2 * CARET__DOUBT;
    l->doubt = right ? l->doubt - less : l->doubt + more;
}

/* Shall a guess be made?  Where keys come at random it is only now and then, to notice when that ends. */
static inline bool caret__shall_guess(struct caret__leaves *l)
{
    return caret__likely(l->doubt <= CARET__DOUBT) || ++l->turn % CARET__GUESS_EVERY == 0;
}

static inline bool caret__is_edge(const struct caret__edge *g, const struct caret__view *v,
                                  const struct caret__at *at)
{
    return g->version == at->version && g->pgno == at->pgno && g->owner == v->pg->id;
}

/* Is a key after all of a leaf's keys below its bound, as far as that is known? */
static inline bool caret__appends(const struct caret__edge *g, const struct caret__view *v,
                                  const struct caret__at *at, const uint8_t *key, size_t len)
{
    if (at->pos == 0 || !g->known || !caret__is_edge(g, v, at))
        return false;
    int cmp = memcmp(key, g->upper, len < g->upper_len ? len : g->upper_len);
    return g->upper_len == 0 || cmp < 0 || (cmp == 0 && len < g->upper_len);
}

/* A key is about to be appended to a leaf whose bound is not known: if it was the last time too, find it out. */
static inline void caret__edge_learn(struct caret__edge *g, struct caret__view *v, const struct caret__at *at,
                                     const uint8_t *key, size_t len)
{
    struct caret__range range;
    struct caret__at again;
    bool twice = caret__is_edge(g, v, at);

    g->version = at->version;
    g->pgno = at->pgno;
    g->owner = v->pg->id;
    g->known =
        twice && caret__seek_range(v, key, len, &again, &range) == CARET_OK && caret__is_edge(g, v, &again);
    if (!g->known)
        return;
    g->upper_len = range.upper_len;
    memcpy(g->upper, range.upper, range.upper_len);
}

static inline uint64_t caret__group_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

/* The tag of the keys that begin with those n bytes, never 0.  `id` tells stores and kinds of groups apart. */
static inline uint32_t caret__group_tag(uint64_t id, const uint8_t *key, size_t n)
{
    uint64_t h = id + n, word = 0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        memcpy(&word, key + i, 8);
        h = caret__group_mix(h, word);
    }
    if (n >= 8) {
        memcpy(&word, key + n - 8, 8);
    } else {
        word = 0;
        for (; i < n; i++)
            word = word << 8 | key[i];
    }
    return (uint32_t)(caret__group_mix(h, word) >> 32) | 1u;
}

static inline uint32_t caret__near_tag(uint64_t id, const uint8_t *key, size_t len)
{
    return caret__group_tag(id, key, len > 2 ? len - 2 : 0);
}
static inline uint32_t caret__far_tag(uint64_t id, const uint8_t *key, size_t len)
{
    size_t n = len > 3 ? len - 3 : 0;
    return caret__group_tag(id + ((1u + (uint64_t)key[n] / 64u) << 56), key, n);
}

/* Where the leaf of a group is remembered. */
static inline struct caret__leaf *caret__leaf_of(struct caret__leaves *l, uint32_t tag)
{
    return &l->leaf[tag / (UINT32_MAX / CARET__LEAVES + 1u)];
}

/* Is the position one that shows that the key belongs to this leaf? */
static inline bool caret__within(const struct caret__page *p, unsigned pos, bool found)
{
    return found || (pos > 0 && pos < caret__page_count(p));
}

/* Find the key in a leaf that is only guessed; false: not there, or changing: descend. */
static inline bool caret__at_guess(const struct caret__edge *g, struct caret__view *v, struct caret__at *at,
                                   const struct caret__leaf *l, const uint8_t *key, size_t len)
{
    if (caret__unlikely(l->pgno >= v->pg->max_pages))
        return false;
    const struct caret__pte *pte = &v->pg->ptab[l->pgno];

    at->pgno = l->pgno;
    at->version = atomic_load_explicit(&pte->version, memory_order_acquire);
    at->word = atomic_load_explicit(&pte->word, memory_order_acquire);
    if (at->word & CARET__PTE_OBSOLETE || !caret__bytes_known(v->pg, l->pgno, at->word))
        return false;
    if (at->version != l->version) {
        if (caret__pte_slot(at->word) == CARET__SLOT_NONE)
            return false;
        if (at->version > v->applied) {
            v->applied = atomic_load_explicit(v->pg->applied, memory_order_acquire);
            if (at->version > v->applied)
                return false;
        }
    }
    at->page = caret__page_at(v->pg, l->pgno, at->word);
    if (caret__racy8(&at->page->type) != CARET__PAGE_LEAF)
        return false;
    CARET_FAULT("leaf_guessed");
    at->pos = caret__page_find(at->page, key, len, &at->found);
    return (caret__within(at->page, at->pos, at->found) || caret__appends(g, v, at, key, len)) &&
           caret__at_unchanged(v, at);
}

/* Find the key beside the last one; false: it is not known to be there. */
static inline __attribute__((always_inline)) bool caret__at_last(struct caret__leaves *leaves,
                                                                 const struct caret__view *v,
                                                                 struct caret__at *at, const uint8_t *key,
                                                                 size_t len)
{
    struct caret__last *last = &leaves->last;

    if (!last->in_order || last->owner != v->pg->id || !caret__at_recall(v, at, last->pgno, last->version))
        return false;
    CARET_FAULT("leaf_recalled");
    at->pos = caret__page_find_beside(at->page, last->pos, key, len, &at->found);
    if (at->pos == CARET__PAGE_NOWHERE || (!at->found && !caret__appends(&leaves->edge, v, at, key, len)) ||
        !caret__at_unchanged(v, at))
        return false;
    last->pos = at->pos;
    caret__guessed(leaves, true); /* else the few keys that are elsewhere would count alone */
    return true;
}

/* A key was found there. */
static inline void caret__note_last(struct caret__last *last, const struct caret__view *v,
                                    const struct caret__at *at, struct caret__leaf *where)
{
    bool in_order = last->pgno == at->pgno && at->pos - last->pos <= 1u;

    *last = (struct caret__last){at->version, v->pg->id, 0, at->pgno, at->pos, in_order, where};
}

/* Find a key beside the last one, by the leaf where its neighbours were last, or from the root.  *where: the place that
 * remembers it now, or NULL.  What is read there is to be validated. */
static inline __attribute__((always_inline)) int caret__find_leaf(struct caret__leaves *leaves,
                                                                  struct caret__view *v, const uint8_t *key,
                                                                  size_t len, struct caret__at *at,
                                                                  struct caret__leaf **where)
{
    if (caret__at_last(leaves, v, at, key, len)) {
        *where = leaves->last.where;
        return CARET_OK;
    }
    if (caret__unlikely(len > CARET__GROUP_MAX) || !caret__shall_guess(leaves)) {
        *where = NULL;
        return caret__seek(v, key, len, at);
    }
    uint32_t tag = caret__near_tag(v->pg->id, key, len);
    struct caret__leaf *near = caret__leaf_of(leaves, tag);

    *where = near;
    bool trusted = leaves->doubt <= CARET__DOUBT;
    bool right = trusted && near->tag == tag && caret__at_guess(&leaves->edge, v, at, near, key, len);
    if (!right) {
        uint32_t far_tag = caret__far_tag(v->pg->id, key, len);
        struct caret__leaf *far = caret__leaf_of(leaves, far_tag);
        right = trusted && far->tag == far_tag && caret__at_guess(&leaves->edge, v, at, far, key, len);
        if (!right) {
            int rc = caret__seek(v, key, len, at);
            if (rc != CARET_OK)
                return rc;
            if (!trusted)
                right = (near->tag == tag && near->pgno == at->pgno) ||
                        (far->tag == far_tag && far->pgno == at->pgno);
        }
        *far = (struct caret__leaf){far_tag, at->pgno, at->version};
    }
    caret__guessed(leaves, right);
    *near = (struct caret__leaf){tag, at->pgno, at->version};
    caret__note_last(&leaves->last, v, at, near);
    return CARET_OK;
}

/* A commit of our own at that position of the leaf, which had the version `before`, gave it a new one.  stay: it found
 * that very version, and put a value in the place of another, so that all keys are where they were. */
static inline void caret__last_changed(struct caret__last *last, uint32_t pgno, uint64_t before,
                                       uint64_t version, unsigned pos, bool stay)
{
    if (last->version == before && last->pgno == pgno) {
        last->version = version;
        last->before = stay ? before : 0;
        last->pos = pos;
    }
}

/* Where a key is that was found in a leaf with that version, if our own commit was all that has changed it since.
 * To be validated. */
static inline bool caret__at_before(const struct caret__last *last, const struct caret__view *v,
                                    struct caret__at *at, uint32_t pgno, uint64_t version)
{
    return version == last->before && version != 0 && pgno == last->pgno && last->owner == v->pg->id &&
           caret__at_recall(v, at, pgno, last->version);
}

#endif
