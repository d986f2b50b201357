/*
 * ways.h - copies of inner pages, in memory of the session; ways.c tells how they are made and why they are believed.
 */
#ifndef CARET_TREE_WAYS_H
#define CARET_TREE_WAYS_H

#include "page/below.h"
#include "tree/tree.h"

#ifdef CARET_SMALL
#define CARET__WAY_SLOTS 64u
#else
#define CARET__WAY_SLOTS 512u /* a power of two; arbitrary: of 30 pages one lies where another does */
#endif
#define CARET__WAY_PREFIX 80u /* pages with longer ones are not copied */
#define CARET__WAY_GROUPS ((CARET__PAGE_USABLE / (10u + CARET__CHILD_LEN) + 1u) / CARET__BELOW + 1u)
#define CARET__WAY_MOST   (CARET__BELOW * CARET__WAY_GROUPS) /* children */

/* Sixteen separators, in a line, and the children before them, in the next. */
struct caret__way_group {
    uint32_t head[CARET__BELOW];  /* UINT32_MAX after the last one */
    uint32_t child[CARET__BELOW]; /* page numbers */
};

/* An inner page.  Four lines of it tell which child holds a key: what every search needs, hints, a group. */
struct caret__way {
    struct caret__at at;  /* which page, as of when; at.page is not used */
    uint16_t count, plen; /* separators; bytes of their prefix */
    uint8_t level;
    uint8_t prefix[CARET__WAY_PREFIX];
    uint32_t hint[CARET__BELOW]; /* the last head of each group but the last */
    struct caret__way_group group[CARET__WAY_GROUPS];
};
_Static_assert(CARET__WAY_GROUPS <= CARET__BELOW + 1u, "a hint for each group but the last");

struct caret__way_slot {
    struct caret__way *way; /* NULL before the first one */
    uint64_t version;       /* of the page that was met last without a way, */
    uint32_t pgno;          /* its number, */
    unsigned seen;          /* and how often, in a row */
};

/* Of one session; nobody else looks at it. */
struct caret__ways {
    uint64_t owner;               /* id of the store they are of */
    struct caret__way_slot *slot; /* CARET__WAY_SLOTS; NULL before the first descents */
    unsigned descents;            /* before that */
};

void caret__ways_destroy(struct caret__ways *w);

/* A descent has gone through that inner page, which was validated: copy it, if it is worth it. */
void caret__ways_learn(struct caret__view *v, const struct caret__at *at);

static inline struct caret__way_slot *caret__way_slot(const struct caret__ways *w, uint32_t pgno)
{
    return &w->slot[pgno * 2654435769u / (UINT32_MAX / CARET__WAY_SLOTS + 1u)]; /* 2^32 by the golden ratio */
}

/* Is the way that page, and is the page what it was when it was copied? */
static inline bool caret__way_holds(const struct caret__view *v, const struct caret__way *way, uint32_t pgno)
{
    if (way == NULL || way->at.pgno != pgno)
        return false;
    const struct caret__pte *pte = &v->pg->ptab[pgno];
    return caret__likely(atomic_load_explicit(&pte->version, memory_order_acquire) == way->at.version &&
                         atomic_load_explicit(&pte->word, memory_order_acquire) == way->at.word);
}

/* After the version of its child has been taken. */
static inline bool caret__way_unchanged(const struct caret__view *v, const struct caret__way *way)
{
    return CARET_SEEDED("way_unchecked") || caret__at_unchanged(v, &way->at);
}

/* The child whose range holds the key; 0: the heads do not tell. */
static inline __attribute__((always_inline)) uint32_t caret__way_child(const struct caret__way *w,
                                                                       const uint8_t *key, size_t len)
{
    unsigned plen = w->plen, i;
    int c = plen != 0 ? caret__racy_cmp(w->prefix, key, plen < len ? plen : len) : 0;

    if (caret__unlikely(c != 0 || len < plen)) {
        i = c < 0 ? w->count : 0;
        return w->group[i / CARET__BELOW].child[i % CARET__BELOW];
    }
    uint32_t head = caret__key_head_behind(key + plen, len - plen, plen);
    const struct caret__way_group *g = &w->group[caret__below(w->hint, head)];
    __builtin_prefetch(g->child);
    i = caret__below(g->head, head);
    return caret__likely(g->head[i] != head) ? g->child[i] : 0;
}

/* The same by the page itself, to be validated; 0: torn, or damaged. */
uint32_t caret__way_child_slow(const struct caret__view *v, const struct caret__way *w, const uint8_t *key,
                               size_t len);

/* Have all of it come nearer, or stay near: what of it this search does not look at, the next one will, and the leaves
 * that come between would push it out of the second cache. */
static inline __attribute__((always_inline)) void caret__way_ask(const struct caret__way *w)
{
    for (unsigned i = 0; i < CARET__WAY_GROUPS; i++) {
        __builtin_prefetch(w->group[i].head, 0, 2);
        __builtin_prefetch(w->group[i].child, 0, 2);
    }
}

/* Steps 1 to 4: `at` is the page that the ways lead to, as it is read by read.c.  The last of them, or NULL: descend
 * from the root. */
static inline __attribute__((always_inline)) const struct caret__way *
caret__ways_lead(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at)
{
    const struct caret__ways *ways = v->ways;

    if (ways == NULL || ways->owner != v->pg->id)
        return NULL;
    uint32_t page = atomic_load_explicit(&v->pg->ts->root, memory_order_acquire);
    const struct caret__way *way = caret__way_slot(ways, page)->way;
    if (!caret__way_holds(v, way, page) ||
        atomic_load_explicit(&v->pg->ts->root, memory_order_acquire) != page)
        return NULL;
    for (;;) {
        if (way->level == 1)
            caret__way_ask(way);
        page = caret__way_child(way, key, len);
        if (caret__unlikely(page == 0) && (page = caret__way_child_slow(v, way, key, len)) == 0)
            return NULL;
        const struct caret__way *next = way->level > 1 ? caret__way_slot(ways, page)->way : NULL;
        if (!caret__way_holds(v, next, page) || next->level >= way->level) { /* as in a damaged tree */
            CARET_FAULT("way_end");
            return caret__at_meet(v, page, at) && caret__way_unchanged(v, way) ? way : NULL;
        }
        if (!caret__way_unchanged(v, way))
            return NULL;
        way = next;
    }
}

#endif
