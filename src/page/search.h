/*
 * search.h - the parts of a search in a page, for page.c and for those who look for several keys in turns.
 *
 * Search: (1) the prefix decides for keys outside of it; (2) the hints narrow the
 * slots to a seventeenth; (3) the heads below ours are counted, which is where
 * the first head >= ours is; (4) only among equal heads are key bytes compared.
 * Heads and hints follow "B-trees Are Back" (Alhomssi, Leis; SIGMOD 2025) and
 * the key normalisation of Graefe's "Modern B-Tree Techniques" (2011).
 */
#ifndef CARET_PAGE_SEARCH_H
#define CARET_PAGE_SEARCH_H

#include "page/below.h"
#include "page/page.h"

static inline unsigned caret__slot_head(const struct caret__page *p, unsigned i)
{
    return caret__racy32(&p->slot[i].head);
}

/* First slot in [lo, lo + n) whose head is >= h (lo + n if none): by halves. */
static inline unsigned caret__head_lower(const struct caret__page *p, unsigned lo, unsigned n, uint32_t h)
{
    while (n > 1) {
        unsigned half = n / 2;
        lo = caret__slot_head(p, lo + half - 1) < h ? lo + half : lo;
        n -= half;
    }
    return n != 0 ? lo + (caret__slot_head(p, lo) < h) : lo;
}

#define CARET__WINDOW CARET__BELOW

#if !defined(CARET__TSAN) && defined(__SSE2__)

/* The heads of the four slots from s on. */
static inline __m128i caret__four_heads(const struct caret__slot *s)
{
    __m128 two = _mm_loadu_ps((const void *)s), more = _mm_loadu_ps((const void *)(s + 2));

    return _mm_castps_si128(_mm_shuffle_ps(two, more, _MM_SHUFFLE(2, 0, 2, 0)));
}

/* The heads below h among CARET__WINDOW slots from lo on. */
static inline unsigned caret__window_below(const struct caret__page *p, unsigned lo, uint32_t h)
{
    const struct caret__slot *s = &p->slot[lo];

    return caret__below_of(caret__four_heads(s), caret__four_heads(s + 4), caret__four_heads(s + 8),
                           caret__four_heads(s + 12), h);
}

#else

/* The heads below h among CARET__WINDOW slots from lo on. */
static inline unsigned caret__window_below(const struct caret__page *p, unsigned lo, uint32_t h)
{
#ifdef CARET__VECTORS
    const int32_t flip = INT32_MIN, bound = caret__signed(h);
    const caret__v4 sign = {flip, flip, flip, flip},
                    limit = {bound, flip, bound, flip}; /* no slot's rest is below */
    caret__v4 sum = {0, 0, 0, 0}, two;

#pragma GCC unroll 8
    for (unsigned i = 0; i < CARET__WINDOW; i += 2) {
        memcpy(&two, &p->slot[lo + i], 16);
        sum -= (two ^ sign) < limit;
    }
    return (unsigned)(sum[0] + sum[2]);
#else
    unsigned below = 0;
    for (unsigned i = 0; i < CARET__WINDOW; i++)
        below += caret__slot_head(p, lo + i) < h;
    return below;
#endif
}

#endif

static inline unsigned caret__window_from(unsigned lo, unsigned count)
{
    return lo <= count - CARET__WINDOW ? lo : count - CARET__WINDOW;
}

/* The same as caret__head_lower for the few slots between two hints.  The slots before them are below h, so the
 * window may begin earlier, and those after are not, so it may end later. */
static inline unsigned caret__head_count(const struct caret__page *p, unsigned lo, unsigned n, unsigned count,
                                         uint32_t h)
{
    if (caret__unlikely(n > CARET__WINDOW || count < CARET__WINDOW))
        return caret__head_lower(p, lo, n, h);
    lo = caret__window_from(lo, count);
    return lo + caret__window_below(p, lo, h);
}

/* What a search has come to. */
struct caret__window {
    uint32_t head;  /* of the key after the prefix */
    unsigned lo, n; /* the slots; lo, located: the first one whose head is not below */
};

/* Narrow [*lo, *lo + *n) by the hints. */
static inline void caret__hints_narrow(const struct caret__page *p, unsigned count, uint32_t h, unsigned *lo,
                                       unsigned *n)
{
    unsigned dist = count / (CARET__HINTS + 1), below = caret__below(p->hint, h), after = below != 0;
    *lo = below * dist + after;
    *n = below < CARET__HINTS ? dist - after : count - *lo;
}

/*
 * Compare the key suffix with that of slot i, whose head is the same: <0, 0, >0 as the slot's is
 * less, equal, greater.  What is no longer than the head is told by the slot alone.
 */
static inline __attribute__((always_inline)) int caret__entry_compare(const struct caret__page *p, unsigned i,
                                                                      const uint8_t *suffix, size_t len)
{
    unsigned klen = caret__racy16(&p->slot[i].klen);
    if (klen > 4 && len > 4) {
        unsigned has;
        const uint8_t *own = caret__page_suffix(p, i, &has);
        size_t n = has < len ? has : len;
        int c = n > 4 ? caret__racy_cmp(own + 4, suffix + 4, n - 4) : 0;
        if (c != 0)
            return c;
    }
    return (klen > len) - (klen < len);
}

/* Among slots with an equal head, from lo on: the first whose key is >= the suffix. */
unsigned caret__find_equal(const struct caret__page *p, unsigned lo, unsigned count, uint32_t h,
                           const uint8_t *suffix, size_t len, bool *found);

/* The prefix where bytes of the page come before it, as caret__prefix_compare() reads some. */
static inline unsigned caret__prefix_of(const struct caret__page *p, const uint8_t **prefix)
{
    unsigned len = caret__page_prefix(p, prefix);

    return caret__likely(*prefix >= (const uint8_t *)p->slot) ? len : 0;
}

/* The prefix decides: -1, 0, 1 as the key lies before, among or after the keys that share it. */
static inline int caret__prefix_compare(const uint8_t *prefix, unsigned plen, const uint8_t *key, size_t len)
{
    if (caret__likely(len >= plen && caret__racy_same(prefix, key, plen, len)))
        return 0;
    return caret__racy_cmp(prefix, key, plen < len ? plen : len) < 0 ? 1 : -1;
}

/* Steps 1 and 2 but for the prefix's bytes, which need not be looked at yet. */
static inline struct caret__window caret__window_of(const struct caret__page *p, unsigned count,
                                                    const uint8_t *key, size_t len, unsigned plen)
{
    struct caret__window w = {.lo = 0, .n = count};

    w.head = len < plen ? 0 : caret__key_head_behind(key + plen, len - plen, plen);
    if (count > CARET__HINTS)
        caret__hints_narrow(p, count, w.head, &w.lo, &w.n);
    return w;
}

/* Is this the entry of the suffix?  Their heads are the same. */
static inline __attribute__((always_inline)) bool caret__entry_is(const struct caret__entry *e,
                                                                  const uint8_t *suffix, size_t len)
{
    if (e->klen != len)
        return false;
    if (len > 8)
        return caret__racy_cmp(e->key + 4, suffix + 4, len - 4) == 0;
    return len <= 4 || caret__racy32(e->key + len - 4) == caret__racy32(suffix + len - 4);
}

/* Step 4, from the place that step 3 has found, where the key is most often.  *e: its entry, if it is found. */
static inline __attribute__((always_inline)) unsigned
caret__find_from(const struct caret__page *p, unsigned lo, unsigned count, uint32_t head,
                 const uint8_t *suffix, size_t len, bool *found, struct caret__entry *e)
{
    uint64_t raw = lo < count ? caret__racy64(&p->slot[lo]) : 0;
    if (lo >= count || (uint32_t)raw != head)
        return lo;
    *e = caret__slot_entry(p, raw);
    *found = caret__entry_is(e, suffix, len);
    if (caret__likely(*found))
        return lo;
    lo = caret__find_equal(p, lo, count, head, suffix, len, found);
    if (*found)
        *e = caret__page_entry(p, lo);
    return lo;
}

/* -------------------------------------------------- in steps
 *
 * A search where other work comes between, so that what the next step looks at has come:
 *   narrow   the slots that the hints leave for a key; they are asked for, as the prefix is if it must be compared
 *   locate   the first of them whose head is not below the key's; its entry is asked for
 *   find     the position, while the page is unchanged
 */
#define CARET__FEW 4u /* slots that the hints leave, of which no line besides theirs is to be waited for */

/* What the first step has read of the page. */
struct caret__search {
    struct caret__window window;
    const uint8_t *prefix; /* to be compared; NULL: the key has it */
    unsigned plen, count;
    bool leaf; /* it is one, and its header makes sense */
};

/* shared: so many bytes of the key all keys of the page are known to have, as far as they have so many. */
static inline __attribute__((always_inline)) void caret__page_narrow(const struct caret__page *p,
                                                                     uint32_t pgno, const uint8_t *key,
                                                                     size_t len, unsigned shared,
                                                                     struct caret__search *s)
{
    struct caret__header h = caret__page_header(p);
    unsigned count = caret__header_count(h), plen = caret__header_prefix_len(h);
    bool leaf = caret__header_sane(h, pgno, 0), known = plen <= shared && len >= plen;

    s->prefix = NULL;
    if (caret__unlikely(!leaf || !known)) {
        plen = caret__prefix_of(p, &s->prefix);
        count = caret__page_count(p);
        __builtin_prefetch(s->prefix);
    }
    struct caret__window to = caret__window_of(p, count, key, len, plen);
    if (to.n <= CARET__FEW) {
        __builtin_prefetch(&p->slot[to.lo]);
        __builtin_prefetch(&p->slot[to.lo + to.n]);
    } else {
        const char *slots =
            (const char *)&p->slot[count < CARET__WINDOW ? 0 : caret__window_from(to.lo, count)];
        __builtin_prefetch(slots);
        __builtin_prefetch(slots + 64);
        __builtin_prefetch(slots + CARET__WINDOW * sizeof p->slot[0] - 1);
    }
    s->window = to;
    s->plen = plen;
    s->count = count;
    s->leaf = leaf;
}

static inline __attribute__((always_inline)) void caret__page_locate(const struct caret__page *p,
                                                                     struct caret__search *s)
{
    struct caret__window w = s->window;
    unsigned lo = w.n <= CARET__FEW ? caret__head_lower(p, w.lo, w.n, w.head)
                                    : caret__head_count(p, w.lo, w.n, s->count, w.head);

    s->window.lo = lo;
    caret__page_ask_below(p, lo, s->count);
}

static inline __attribute__((always_inline)) unsigned
caret__page_find_located(const struct caret__page *p, const struct caret__search *s, const uint8_t *key,
                         size_t len, bool *found, struct caret__entry *e)
{
    unsigned plen = s->plen;

    *found = false;
    if (caret__unlikely(s->prefix != NULL)) {
        int c = caret__prefix_compare(s->prefix, plen, key, len);
        if (c != 0)
            return c < 0 ? 0 : s->count;
    }
    return caret__find_from(p, s->window.lo, s->count, s->window.head, key + plen, len - plen, found, e);
}

#endif
