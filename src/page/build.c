/*
 * build.c - making a page anew.
 *
 * From entries of one other page, whose prefix the new one has too (a split, getting rid of garbage, a longer
 * prefix): caret__page_take moves them as they stand.  From any list of entries (a join, a shorter prefix):
 * caret__page_fill puts each key together.
 */
#include "page/page.h"

unsigned caret__page_list(const struct caret__page *copy, struct caret__kv *kv)
{
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(copy, &prefix), n = caret__page_count(copy);

    for (unsigned i = 0; i < n; i++) {
        struct caret__entry e = caret__page_entry(copy, i);
        kv[i] = caret__entry_kv(&e, prefix, plen);
    }
    return n;
}

unsigned caret__kv_key(const struct caret__kv *kv, uint8_t *buf)
{
    memcpy(buf, kv->a, kv->a_len);
    memcpy(buf + kv->a_len, kv->b, kv->b_len);
    return kv->a_len + (unsigned)kv->b_len;
}

unsigned caret__kv_bytes(const struct caret__kv *kv, unsigned n, unsigned prefix_len)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += (unsigned)kv[i].a_len + kv[i].b_len + kv[i].vlen;
    return prefix_len + sum + n * (unsigned)caret__entry_room(0, 0) - n * prefix_len;
}

unsigned caret__kv_prefix(const struct caret__kv *kv, unsigned n)
{
    uint8_t first[CARET__PAGE_SIZE], last[CARET__PAGE_SIZE];
    if (n == 0)
        return 0;
    unsigned a = caret__kv_key(&kv[0], first), b = caret__kv_key(&kv[n - 1], last);
    return (unsigned)caret__common_prefix(first, a, last, b); /* keys are in order */
}

/* Copy key bytes [skip, end) and the value of kv to dst. */
static inline void copy_entry(uint8_t *dst, const struct caret__kv *kv, unsigned skip)
{
    if (skip < kv->a_len) {
        unsigned n = kv->a_len - skip;
        caret__racy_copy_short(dst, kv->a + skip, n);
        dst += n;
        skip = 0;
    } else {
        skip -= kv->a_len;
    }
    unsigned rest = kv->b_len - skip;
    if (kv->val == kv->b + kv->b_len) { /* as it stands in a page: at once */
        caret__racy_copy_value(dst, kv->b + skip, rest + kv->vlen);
    } else {
        caret__racy_copy_short(dst, kv->b + skip, rest);
        caret__racy_copy_value(dst + rest, kv->val, kv->vlen);
    }
}

static inline void fill_entry(struct caret__page *p, unsigned i, unsigned *heap, const struct caret__kv *kv,
                              unsigned plen)
{
    unsigned klen = kv->a_len + (unsigned)kv->b_len - plen;
    unsigned off = *heap - (unsigned)caret__entry_bytes(klen, kv->vlen);
    uint8_t *at = (uint8_t *)p + off;

    caret__racy_put16(at, (uint16_t)(kv->vlen | kv->vflag));
    copy_entry(at + 2, kv, plen);
    struct caret__slot s = {caret__key_head(at + 2, klen), (uint16_t)off, (uint16_t)klen};
    caret__racy_copy(&p->slot[i], &s, sizeof s);
    *heap = off;
}

/* The header of a page whose n slots and entries are in place. */
static inline void finish_page(struct caret__page *p, unsigned n, unsigned heap)
{
    CARET__ASSERT_CMP(CARET__PAGE_HEAD + 8u * n, <=, heap);
    caret__racy_put16(&p->count, (uint16_t)n);
    caret__racy_put16(&p->heap, (uint16_t)heap);
    caret__racy_put16(&p->garbage, 0);
    unsigned dist = n / (CARET__HINTS + 1);
    for (unsigned i = 0; dist != 0 && i < CARET__HINTS; i++)
        caret__racy_put32(&p->hint[i], p->slot[(i + 1) * dist].head);
}

unsigned caret__page_shared(const struct caret__page *src, unsigned from, unsigned to)
{
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(src, &prefix);

    if (from >= to)
        return plen;
    struct caret__entry first = caret__page_entry(src, from), last = caret__page_entry(src, to - 1);
    return plen + (unsigned)caret__common_prefix(first.key, first.klen, last.key, last.klen); /* in order */
}

/* The page has a prefix of that length: its last bytes, which the caller stores. */
static uint8_t *place_prefix(struct caret__page *p, unsigned len)
{
    CARET__ASSERT_CMP(len, <=, CARET__KEY_MAX);
    unsigned off = CARET__PAGE_SIZE - len;

    caret__racy_put16(&p->prefix_off, (uint16_t)(len != 0 ? off : 0));
    caret__racy_put16(&p->prefix_len, (uint16_t)len);
    return (uint8_t *)p + off;
}

#define CHUNK 16u /* bytes that are copied at once for an entry that has no more */

static inline __attribute__((always_inline)) bool take_entries(struct caret__page *p, unsigned at,
                                                               unsigned floor, unsigned *heap,
                                                               const struct caret__page *src, unsigned from,
                                                               unsigned to, unsigned skip)
{
    const uint8_t *base = (const uint8_t *)src;
    unsigned top = *heap;

    for (unsigned i = from; i < to; i++, at++) {
        uint64_t slot = caret__racy64(&src->slot[i]); /* head, offset, key length, as in page.h */
        unsigned off = (unsigned)(slot >> 32) & 0xffffu, klen = (unsigned)(slot >> 48);
        if (off < CARET__PAGE_HEAD || off > CARET__PAGE_SIZE - 2u)
            return false; /* it was damaged */
        unsigned vword = caret__racy16(base + off);
        unsigned all = (unsigned)caret__entry_bytes(klen, vword & CARET__VLEN_MASK);
        if (klen < skip || off + all > CARET__PAGE_SIZE || top - floor < all - skip)
            return false;
        uint8_t *end = (uint8_t *)p + top;
        if (all - skip <= CHUNK && top - floor >= CHUNK)
            caret__racy_copy(end - CHUNK, base + off + all - CHUNK, CHUNK); /* nothing is below it yet */
        else
            caret__racy_copy_value(end - (all - 2 - skip), base + off + 2 + skip, all - 2 - skip);
        top -= all - skip;
        caret__racy_put16((uint8_t *)p + top, (uint16_t)vword);
        uint32_t head =
            skip == 0 ? (uint32_t)slot : caret__key_head_behind((uint8_t *)p + top + 2, klen - skip, 4);
        caret__racy_put64(&p->slot[at], head | (uint64_t)top << 32 | (uint64_t)(klen - skip) << 48);
    }
    *heap = top;
    return true;
}

bool caret__page_take(struct caret__page *p, const struct caret__page *src, unsigned from, unsigned to,
                      unsigned prefix_len)
{
    const uint8_t *prefix;
    unsigned skip = prefix_len - caret__page_prefix(src, &prefix), n = to - from;
    unsigned heap = CARET__PAGE_SIZE - prefix_len, floor = CARET__PAGE_HEAD + 8u * n;

    if (heap < floor)
        return false;
    uint8_t *to_prefix = place_prefix(p, prefix_len);
    caret__racy_copy(to_prefix, prefix, prefix_len - skip);
    if (skip != 0)
        caret__racy_copy(to_prefix + prefix_len - skip, caret__page_entry(src, from).key, skip);
    if (!take_entries(p, 0, floor, &heap, src, from, to, skip))
        return false;
    finish_page(p, n, heap);
    return true;
}

bool caret__page_fill(struct caret__page *p, const struct caret__kv *kv, unsigned n, unsigned prefix_len)
{
    if (caret__kv_bytes(kv, n, prefix_len) > CARET__PAGE_USABLE)
        return false;
    unsigned heap = CARET__PAGE_SIZE - prefix_len;
    uint8_t *prefix = place_prefix(p, prefix_len);
    if (prefix_len != 0) {
        uint8_t key[CARET__PAGE_SIZE];
        caret__kv_key(&kv[0], key);
        caret__racy_copy(prefix, key, prefix_len);
    }
    for (unsigned i = 0; i < n; i++)
        fill_entry(p, i, &heap, &kv[i], prefix_len);
    finish_page(p, n, heap);
    return true;
}

unsigned caret__page_fill_begin(struct caret__page *p, const uint8_t *key, unsigned prefix_len)
{
    if (prefix_len != 0)
        caret__racy_copy(place_prefix(p, prefix_len), key, prefix_len);
    return CARET__PAGE_SIZE - prefix_len;
}

void caret__page_fill_put(struct caret__page *p, unsigned i, unsigned *heap, const struct caret__kv *kv,
                          unsigned prefix_len)
{
    CARET__ASSERT_CMP(prefix_len, <=, kv->a_len + kv->b_len);
    fill_entry(p, i, heap, kv, prefix_len);
}

bool caret__page_fill_take(struct caret__page *p, unsigned i, unsigned n, unsigned *heap,
                           const struct caret__page *src, unsigned from, unsigned to, unsigned skip)
{
    return take_entries(p, i, CARET__PAGE_HEAD + 8u * n, heap, src, from, to, skip);
}

void caret__page_fill_end(struct caret__page *p, unsigned n, unsigned heap)
{
    finish_page(p, n, heap);
}

/* The page anew with that shorter prefix. */
static bool shorten_prefix(struct caret__page *p, const struct caret__page *copy, unsigned plen)
{
    struct caret__kv kv[CARET__MAX_SLOTS];
    unsigned n = caret__page_list(copy, kv);

    return caret__page_fill(p, kv, n, plen);
}

bool caret__page_make_room(struct caret__page *p, const uint8_t *key, size_t klen, size_t vlen)
{
    union {
        struct caret__page page;
        uint8_t bytes[CARET__PAGE_SIZE];
    } copy;
    uint8_t first[CARET__PAGE_SIZE];
    const uint8_t *prefix;
    unsigned old = caret__page_prefix(p, &prefix), n = caret__page_count(p), plen = 0;

    if (klen >= old && caret__racy_cmp(prefix, key, old) == 0 &&
        caret__page_room(p) >= caret__entry_room(klen - old, vlen))
        return true;
    if (n != 0) {
        caret__page_key(p, 0, first);
        plen = (unsigned)caret__common_prefix(first, caret__page_shared(p, 0, n), key, klen);
    }
    unsigned bytes = caret__page_used(p) + (old - plen) * (n - 1);
    if (bytes + caret__entry_room(klen - plen, vlen) > CARET__PAGE_USABLE)
        return false;
    /* A rebuild that frees next to nothing would come again with the next insert. */
    if (n > 4 && klen >= old && plen >= old && bytes + CARET__PAGE_USABLE / 16 > CARET__PAGE_USABLE)
        return false;
    memcpy(&copy, p, CARET__PAGE_SIZE);
    return plen >= old ? caret__page_take(p, &copy.page, 0, n, plen) : shorten_prefix(p, &copy.page, plen);
}

bool caret__page_wants_prefix(const struct caret__page *p, const uint8_t *key, size_t klen)
{
    uint8_t first[CARET__KEY_MAX], last[CARET__KEY_MAX];
    unsigned n = p->count;

    if (n < 8 || (n & (n - 1)) != 0)
        return false;
    unsigned a = caret__page_key(p, 0, first), b = caret__page_key(p, n - 1, last);
    size_t common = caret__common_prefix(first, a, last, b);
    common = caret__common_prefix(first, common, key, klen);
    return common >= p->prefix_len + 4u;
}

void caret__page_lengthen_prefix(struct caret__page *p, const uint8_t *key, size_t klen)
{
    union {
        struct caret__page page;
        uint8_t bytes[CARET__PAGE_SIZE];
    } copy;
    uint8_t first[CARET__PAGE_SIZE];

    if (!caret__page_wants_prefix(p, key, klen))
        return;
    memcpy(&copy, p, CARET__PAGE_SIZE);
    unsigned n = caret__page_count(p), plen = caret__page_shared(p, 0, n);
    caret__page_key(p, 0, first);
    caret__page_take(p, &copy.page, 0, n, (unsigned)caret__common_prefix(first, plen, key, klen));
}

void caret__page_preset_prefix(struct caret__page *p, const uint8_t *key, unsigned plen)
{
    if (plen == 0)
        return;
    caret__racy_copy(place_prefix(p, plen), key, plen);
    caret__racy_put16(&p->heap, (uint16_t)(CARET__PAGE_SIZE - plen));
}
