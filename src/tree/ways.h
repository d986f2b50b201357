/*
 * ways.h - copies of inner pages, in memory of the session; ways.c tells how they are made and why they are believed.
 */
#ifndef CARET_TREE_WAYS_H
#define CARET_TREE_WAYS_H

#include "page/below.h"
#include "tree/aim.h"
#include "tree/tree.h"

#define CARET__WAY_PREFIX 131u /* pages with longer ones are not copied */
#define CARET__WAY_GROUPS ((CARET__PAGE_USABLE / (10u + CARET__CHILD_LEN) + 1u) / CARET__BELOW + 1u)
#define CARET__WAY_MOST   (CARET__BELOW * CARET__WAY_GROUPS) /* children */

/* Sixteen separators, in a line, the children before them, in the next, and guesses where these are, in the third: of a
 * leaf its place, as the page table has it; of an inner page the number of its way, from 1 on, or 0. */
struct caret__way_group {
    int32_t head[CARET__BELOW];   /* as caret__signed() makes them; INT32_MAX after the last one */
    uint32_t child[CARET__BELOW]; /* page numbers */
    uint32_t guess[CARET__BELOW];
};

/* An inner page.  Five lines of it tell which child holds a key: what every search needs, hints, a group. */
struct caret__way {
    struct caret__at at;          /* which page, as of when; at.pgno 0: none; at.page is not used */
    struct caret__way_slot *slot; /* that it is in */
    uint16_t count, plen;         /* separators; bytes of their prefix */
    struct caret__aims aims;      /* at the leaves below, if these are leaves */
    uint8_t level;
    uint8_t prefix[CARET__WAY_PREFIX];
    int32_t hint[CARET__BELOW]; /* the last head of each group but the last */
    struct caret__way_group group[CARET__WAY_GROUPS];
};
_Static_assert(CARET__WAY_GROUPS <= CARET__BELOW + 1u, "a hint for each group but the last");
_Static_assert(offsetof(struct caret__way, group) % 64 == 0 && offsetof(struct caret__way, hint) % 64 == 0 &&
                   sizeof(struct caret__way) % 64 == 0,
               "in lines");

/* seen: twice how often the page was met with that version; while it has a way, how often another wanted the slot. */
struct caret__way_slot {
    struct caret__way *way; /* of that page, or of none; or NULL */
    uint64_t version;
    uint32_t pgno; /* 0: nobody's */
    unsigned seen;
};
#define CARET__WAY_SET     4u /* slots that a page can have */

#define CARET__WAY_NOWHERE UINT32_MAX

/* Of one session; nobody else looks at it. */
struct caret__ways {
    uint64_t owner;               /* id of the store they are of */
    struct caret__way_slot *slot; /* 2^32 >> shift, in sets; NULL before the first descents */
    struct caret__way *way;
    struct caret__way *root; /* of the root, the last time; or NULL */
    unsigned most, used;     /* ways: room, and those that were taken */
    unsigned hand;           /* of these the next that is looked at, when one is to be taken again */
    unsigned shift;
    unsigned turn;     /* the next slot of a set that is looked at */
    uint32_t pages;    /* npages when all that was made */
    unsigned descents; /* before that */
};

void caret__ways_destroy(struct caret__ways *w);

/* A descent has gone through that inner page, which was validated: copy it, if it is worth it. */
void caret__ways_learn(struct caret__view *v, const struct caret__at *at);

static inline struct caret__way_slot *caret__way_set(const struct caret__ways *w, uint32_t pgno)
{
    return &w->slot[(pgno * 2654435769u >> w->shift) & ~(CARET__WAY_SET - 1)]; /* 2^32 by the golden ratio */
}

/* The way of a page, which may not hold any more; NULL: it has none. */
static inline struct caret__way *caret__way_of(const struct caret__ways *w, uint32_t pgno)
{
    struct caret__way_slot *set = caret__way_set(w, pgno);

    for (unsigned i = 0; i < CARET__WAY_SET; i++)
        if (set[i].pgno == pgno)
            return set[i].way;
    return NULL;
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

/* Where a search in a way goes on. */
struct caret__way_place {
    struct caret__way_group *group;
    int32_t head; /* of the key after the prefix */
    int told;     /* which of the group it is, by the prefix alone; or -1 */
};

/* The first half of a search: which group; its children and guesses are asked for.  shared: as caret__way_shared()
 * tells it. */
static inline __attribute__((always_inline)) struct caret__way_place
caret__way_narrow(struct caret__way *w, const uint8_t *key, size_t len, unsigned shared)
{
    unsigned plen = w->plen;

    if (caret__unlikely(len < plen || (plen > shared && !caret__racy_same(w->prefix, key, plen, len)))) {
        int c = caret__racy_cmp(w->prefix, key, plen < len ? plen : len);
        unsigned child = c < 0 ? w->count : 0;
        return (struct caret__way_place){&w->group[child / CARET__BELOW], 0, (int)(child % CARET__BELOW)};
    }
    int32_t head = caret__signed(caret__key_head_behind(key + plen, len - plen, plen));
    struct caret__way_group *g = &w->group[caret__below_in_line(w->hint, head)];
    __builtin_prefetch(g->child);
    __builtin_prefetch(g->guess);
    return (struct caret__way_place){g, head, -1};
}

/* The same by the page itself, to be validated; CARET__WAY_NOWHERE: torn, or damaged. */
unsigned caret__way_find_slow(const struct caret__view *v, struct caret__way *w, const uint8_t *key,
                              size_t len, struct caret__way_group **group);

/* So many of its first bytes a key has in common with all keys in the range of child i of a group, whose separator has
 * another head: those that the separators before and after the child have in common with it, where zeros stand for what
 * they have not.  before: so many were known.  It stays that for the first of a group, as the separator before it is in
 * another line, and for the last child of all, which has none after it. */
static inline __attribute__((always_inline)) unsigned
caret__way_shared(const struct caret__way *w, struct caret__way_place p, unsigned i, unsigned before)
{
    const int32_t *head = p.group->head;

    if (i == 0 || head[i] == INT32_MAX)
        return before;
    uint32_t differ = (uint32_t)(head[i - 1] ^ p.head) | (uint32_t)(head[i] ^ p.head);
    return w->plen + (unsigned)__builtin_clz(differ) / 8;
}

/* The second: which child of the group has a range that holds the key.  The last head of the group, or what comes after
 * the last of all, is not below.  Where the heads do not tell, the page does.  *shared: of the page, then of the child;
 * NULL: not asked for, as it takes longer than to compare a prefix that is there. */
static inline __attribute__((always_inline)) unsigned
caret__way_choose(const struct caret__view *v, struct caret__way *w, struct caret__way_place p,
                  const uint8_t *key, size_t len, struct caret__way_group **group, unsigned *shared)
{
    *group = p.group;
    if (caret__unlikely(p.told >= 0))
        return (unsigned)p.told;
    unsigned i = caret__below_in_line(p.group->head, p.head);
    if (caret__unlikely(p.group->head[i] == p.head))
        return caret__way_find_slow(v, w, key, len, group);
    if (shared != NULL)
        *shared = caret__way_shared(w, p, i, *shared);
    return i;
}

/* Have all of it come nearer, or stay near: what of it this search does not look at, the next one will, and the leaves
 * that come between would push it out of the second cache. */
static inline __attribute__((always_inline)) void caret__way_ask(const struct caret__way *w)
{
    for (unsigned i = 0; i < CARET__WAY_GROUPS; i++) {
        __builtin_prefetch(w->group[i].head, 0, 2);
        __builtin_prefetch(w->group[i].child, 0, 2);
    }
}

/* The same of a child, guessed first. */
static inline struct caret__way *caret__way_below(const struct caret__ways *w, uint32_t page, uint32_t *guess)
{
    if (caret__likely(*guess - 1u < w->used && w->way[*guess - 1u].at.pgno == page))
        return &w->way[*guess - 1u];
    struct caret__way *way = caret__way_of(w, page);
    *guess = way != NULL ? (uint32_t)(way - w->way) + 1 : 0;
    return way;
}

/* A leaf where it was last, to be asked for while its entry of the page table comes; NULL: nowhere. */
static inline __attribute__((always_inline)) const struct caret__page *
caret__way_leaf(const struct caret__pager *pg, uint32_t page, uint32_t guess)
{
    return guess != 0 || pg->file != NULL ? caret__page_at(pg, page, (uint64_t)guess << 32) : NULL;
}

/* Where in the leaf below child i of a group a key is expected. */
static inline __attribute__((always_inline)) struct caret__aim
caret__way_aim(struct caret__way *w, const struct caret__way_group *g, unsigned i, struct caret__way_place p)
{
    size_t group = (size_t)(g - w->group);

    if (p.told >= 0 || g->head[i] == INT32_MAX || (i == 0 && group == 0))
        return (struct caret__aim){0, 0};
    int32_t before = i != 0 ? g->head[i - 1] : w->hint[group - 1];
    return caret__aim_at(&w->aims, caret__unsigned(before), caret__unsigned(p.head),
                         caret__unsigned(g->head[i]));
}

/* Step 4. */
static inline __attribute__((always_inline)) bool caret__way_end(struct caret__view *v,
                                                                 const struct caret__way *way, uint32_t page,
                                                                 uint32_t *guess, struct caret__aim aim,
                                                                 struct caret__at *at)
{
    CARET_FAULT("way_end");
    if (!caret__at_meet(v, page, at) || !caret__way_unchanged(v, way))
        return false;
    uint32_t place = (uint32_t)(at->word >> 32);
    if (way->level != 1) {
        caret__page_ask(at->page);
    } else if (caret__unlikely(*guess != place)) {
        caret__aim_ask(&way->aims, aim, at->page);
        *guess = place;
    }
    return true;
}

/* Step 1: the way of the root; NULL: there is none. */
static inline __attribute__((always_inline)) struct caret__way *caret__ways_root(const struct caret__view *v)
{
    struct caret__ways *ways = v->ways;

    if (ways == NULL || ways->owner != v->pg->id)
        return NULL;
    uint32_t page = atomic_load_explicit(&v->pg->ts->root, memory_order_acquire);
    struct caret__way *way = ways->root;
    if (caret__unlikely(way == NULL || way->at.pgno != page))
        way = ways->root = caret__way_of(ways, page);
    bool holds = caret__way_holds(v, way, page) &&
                 atomic_load_explicit(&v->pg->ts->root, memory_order_acquire) == page;
    return holds ? way : NULL;
}

/* Where ways lead. */
struct caret__led {
    struct caret__way *way; /* the last of them; NULL: descend from the root */
    unsigned index;         /* which child of it */
    struct caret__aim aim;  /* where in the leaf */
};

/* Steps 1 to 4: `at` is the page that the ways lead to, as it is read by read.c, and it has been asked for. */
static inline __attribute__((always_inline)) struct caret__led
caret__ways_lead(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at)
{
    const struct caret__led nowhere = {NULL, 0, {0, 0}};
    const struct caret__ways *ways = v->ways;
    struct caret__way *way = caret__ways_root(v);

    if (way == NULL)
        return nowhere;
    for (;;) {
        if (way->level == 1)
            caret__way_ask(way);
        struct caret__way_place place = caret__way_narrow(way, key, len, 0);
        struct caret__way_group *g;
        unsigned i = caret__way_choose(v, way, place, key, len, &g, NULL);
        if (caret__unlikely(i == CARET__WAY_NOWHERE))
            return nowhere;
        uint32_t *guess = &g->guess[i], page = g->child[i];
        struct caret__led led = {way, (unsigned)(g - way->group) * CARET__BELOW + i, {0, 0}};
        struct caret__way *next = NULL;
        if (way->level > 1) {
            next = caret__way_below(ways, page, guess);
        } else {
            const struct caret__page *leaf = caret__way_leaf(v->pg, page, *guess);
            led.aim = caret__way_aim(way, g, i, place);
            if (leaf != NULL)
                caret__aim_ask(&way->aims, led.aim, leaf);
        }
        if (!caret__way_holds(v, next, page) || next->level >= way->level) /* as in a damaged tree */
            return caret__way_end(v, way, page, guess, led.aim, at) ? led : nowhere;
        if (!caret__way_unchanged(v, way))
            return nowhere;
        way = next;
    }
}

#endif
