/*
 * page.c - search and edit inside one page; page.h has the layout, search.h the parts of a search.
 */
#include "page/edit.h"

#include <stdio.h>

#include "page/search.h"

/* ------------------------------------------------------------------- search */

unsigned caret__find_equal(const struct caret__page *p, unsigned lo, unsigned count, uint32_t h,
                           const uint8_t *suffix, size_t len, bool *found)
{
    int c = caret__entry_compare(p, lo, suffix, len);
    if (c >= 0) {
        *found = c == 0;
        return lo;
    }
    unsigned hi = h == UINT32_MAX ? count : caret__head_lower(p, lo, count - lo, h + 1);
    lo++;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        c = caret__entry_compare(p, mid, suffix, len);
        if (c == 0) {
            *found = true;
            return mid;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

unsigned caret__page_find(const struct caret__page *p, const uint8_t *key, size_t len, bool *found)
{
    const uint8_t *prefix;
    unsigned plen = caret__prefix_of(p, &prefix);
    int c = caret__prefix_compare(prefix, plen, key, len);

    *found = false;
    if (c != 0)
        return c < 0 ? 0 : caret__page_count(p);
    unsigned count = caret__page_count(p);
    struct caret__window w = caret__window_of(p, count, key, len, plen);
    struct caret__entry e;
    unsigned lo = caret__head_count(p, w.lo, w.n, count, w.head);
    return caret__find_from(p, lo, count, w.head, key + plen, len - plen, found, &e);
}

/* Compare slot i with the key suffix, whose head is h: <0, 0, >0 as caret__entry_compare. */
static inline int slot_compare(const struct caret__page *p, unsigned i, uint32_t h, const uint8_t *suffix,
                               size_t len)
{
    uint32_t at_i = caret__slot_head(p, i);

    return at_i != h ? (at_i > h) - (at_i < h) : caret__entry_compare(p, i, suffix, len);
}

unsigned caret__page_find_after(const struct caret__page *p, unsigned i, const uint8_t *key, size_t len,
                                bool *found)
{
    const uint8_t *prefix;
    unsigned plen = caret__prefix_of(p, &prefix), count = caret__page_count(p);

    CARET__ASSERT_CMP(i, <=, count);
    *found = false;
    if (i == count)
        return count;
    int c = caret__prefix_compare(prefix, plen, key, len);
    if (c != 0)
        return c < 0 ? 0 : count;
    const uint8_t *suffix = key + plen;
    c = slot_compare(p, i, caret__key_head_behind(suffix, len - plen, plen), suffix, len - plen);
    *found = c == 0;
    return c >= 0 ? i : caret__page_find(p, key, len, found);
}

unsigned caret__page_find_beside(const struct caret__page *p, unsigned i, const uint8_t *key, size_t len,
                                 bool *found)
{
    const uint8_t *prefix;
    unsigned plen = caret__prefix_of(p, &prefix), count = caret__page_count(p);

    if (i >= count || caret__prefix_compare(prefix, plen, key, len) != 0)
        return CARET__PAGE_NOWHERE;
    const uint8_t *suffix = key + plen;
    uint32_t head = caret__key_head_behind(suffix, len - plen, plen), at_i = caret__slot_head(p, i);
    *found = true;
    if (i + 1 < count && caret__slot_head(p, i + 1) == head &&
        caret__entry_compare(p, i + 1, suffix, len - plen) == 0)
        return i + 1;
    int c = at_i != head ? (at_i > head) - (at_i < head) : caret__entry_compare(p, i, suffix, len - plen);
    *found = c == 0;
    if (c == 0)
        return i;
    return c < 0 && i + 1 == count ? count : CARET__PAGE_NOWHERE;
}

unsigned caret__page_find_around(const struct caret__page *p, unsigned i, const uint8_t *key, size_t len,
                                 bool *found)
{
    const uint8_t *prefix;
    unsigned plen = caret__prefix_of(p, &prefix), count = caret__page_count(p);

    *found = false;
    if (i > count || caret__prefix_compare(prefix, plen, key, len) != 0)
        return CARET__PAGE_NOWHERE;
    const uint8_t *suffix = key + plen;
    uint32_t head = caret__key_head_behind(suffix, len - plen, plen);
    int c = i < count ? slot_compare(p, i, head, suffix, len - plen) : 1;
    bool below = c < 0;
    unsigned next = below ? i + 1 : i - 1; /* the slot between which and i the key is to be */
    if (c == 0 || next >= count) {         /* or it is the first or the last one */
        *found = c == 0;
        return below ? next : i;
    }
    c = slot_compare(p, next, head, suffix, len - plen);
    *found = c == 0;
    if (c == 0)
        return next;
    return (c > 0) == below ? (below ? next : i) : CARET__PAGE_NOWHERE;
}

unsigned caret__page_key(const struct caret__page *p, unsigned i, uint8_t *buf)
{
    const uint8_t *prefix;
    unsigned plen = caret__page_prefix(p, &prefix), klen;
    const uint8_t *suffix = caret__page_suffix(p, i, &klen);

    if (plen + klen > CARET__KEY_MAX)
        return 0;
    caret__racy_copy_short(buf, prefix, plen);
    caret__racy_copy_short(buf + plen, suffix, klen);
    return plen + klen;
}

bool caret__page_child_runs(const struct caret__page *p, unsigned i)
{
    if (i >= caret__page_count(p))
        return p->right_runs != 0;
    struct caret__entry e = caret__page_entry(p, i);
    return e.vlen >= CARET__CHILD_LEN && e.val[4] != 0;
}

/* ------------------------------------------------------------------ editing */

/* Compute the hints; those of slots before `from` are right already unless the distance changed. */
static void make_hints(struct caret__page *p, unsigned from, bool all)
{
    CARET__ASSERT_CMP(CARET__PAGE_HEAD + 8u * p->count, <=, p->heap);
    unsigned dist = p->count / (CARET__HINTS + 1);
    if (dist == 0)
        return;
    const struct caret__slot *slot = &p->slot[CARET__HINTS * dist];
    const struct caret__slot *first = &p->slot[all || from < dist ? dist : from];
    for (uint32_t *hint = p->hint + CARET__HINTS; slot >= first; slot -= dist)
        caret__racy_put32(--hint, slot->head);
}

/* Where an insert went is remembered for when the page is cut (tree/write.c). */
static inline void note_insert(struct caret__page *p, unsigned pos)
{
    unsigned rising = pos == p->last_pos + 1u ? p->rising + 1u : 0;
    caret__racy_put16(&p->last_pos, (uint16_t)pos);
    caret__racy_put8(&p->rising, (uint8_t)(rising < UINT8_MAX ? rising : UINT8_MAX));
}

/* The hints after the count went from `before` to what it is, slots from `from` on having moved. */
static inline void update_hints(struct caret__page *p, unsigned from, unsigned before)
{
    unsigned was = before / (CARET__HINTS + 1), is = p->count / (CARET__HINTS + 1);
    make_hints(p, from, was != is);
}

void caret__page_init(struct caret__page *p, uint32_t pgno, unsigned level)
{
    CARET__ASSERT_CMP(level, <, CARET__MAX_DEPTH);
    struct caret__page h = {.pgno = pgno,
                            .type = level == 0 ? CARET__PAGE_LEAF : CARET__PAGE_INNER,
                            .level = (uint8_t)level,
                            .heap = (uint16_t)CARET__PAGE_SIZE};
    caret__racy_copy(p, &h, sizeof h);
}

/* Write an entry at the low end of the heap; its offset. */
static inline __attribute__((always_inline)) unsigned put_entry(struct caret__page *p, const uint8_t *suffix,
                                                                size_t klen, const void *val, size_t vlen,
                                                                unsigned vflag)
{
    CARET__ASSERT_CMP(caret__entry_bytes(klen, vlen), <=, (size_t)p->heap);
    CARET__ASSERT_CMP(vlen, <=, CARET__VLEN_MASK);
    unsigned off = p->heap - (unsigned)caret__entry_bytes(klen, vlen);
    uint8_t *at = (uint8_t *)p + off;
    caret__racy_put16(at, (uint16_t)(vlen | vflag));
    caret__racy_copy_short(at + 2, suffix, klen);
    caret__racy_copy_value(at + 2 + klen, val, vlen);
    caret__racy_put16(&p->heap, (uint16_t)off);
    return off;
}

bool caret__page_insert(struct caret__page *p, unsigned pos, const uint8_t *key, size_t klen, const void *val,
                        size_t vlen, unsigned vflag, const struct caret__edit *ed)
{
    CARET__ASSERT_CMP(pos, <=, p->count);
    const uint8_t *prefix = (const uint8_t *)p + p->prefix_off;
    unsigned plen = p->prefix_len, count = p->count;

    if (klen < plen || (plen != 0 && caret__racy_cmp(prefix, key, plen) != 0))
        return false;
    key += plen;
    klen -= plen;
    if (caret__page_room(p) < caret__entry_room(klen, vlen))
        return false;
    if (ed != NULL) {
        caret__edit_save(ed, p, CARET__PAGE_HEAD);
        caret__edit_save(ed, &p->slot[pos], 8u * (count - pos));
        caret__edit_go(ed);
    }
    unsigned off = put_entry(p, key, klen, val, vlen, vflag);
    CARET_FAULT("page_insert_entry");
    caret__racy_move(&p->slot[pos + 1], &p->slot[pos], 8u * (size_t)(count - pos));
    struct caret__slot s = {caret__key_head(key, klen), (uint16_t)off, (uint16_t)klen};
    caret__racy_copy(&p->slot[pos], &s, sizeof s);
    CARET_FAULT("page_insert_slot");
    caret__racy_put16(&p->count, (uint16_t)(count + 1));
    note_insert(p, pos);
    update_hints(p, pos, count);
    return true;
}

/* Of sets in key order, the first of which all keys that are below it are before slot `next`: how many can be
 * inserted as they are, each key new to the page?  pos: before which slot each belongs. */
static unsigned places_of(const struct caret__page *p, unsigned next, const struct caret__kv *kv, unsigned n,
                          uint16_t *pos)
{
    unsigned count = p->count, plen = p->prefix_len, room = caret__page_room(p);
    unsigned bytes = 0, i = 0;
    bool found = false;

    for (; i < n; i++) {
        const uint8_t *suffix = kv[i].b + plen;
        size_t len = kv[i].b_len - plen;
        bytes += (unsigned)caret__entry_room(len, kv[i].vlen);
        if (bytes > room)
            break;
        uint32_t head = caret__key_head_behind(suffix, len, plen);
        if (next < count && caret__slot_head(p, next) < head) {
            struct caret__window w = caret__window_of(p, count, kv[i].b, kv[i].b_len, plen);
            next = caret__head_count(p, w.lo, w.n, count, head);
        }
        if (next < count && caret__slot_head(p, next) == head)
            next = caret__find_equal(p, next, count, head, suffix, len, &found);
        if (found)
            break;
        pos[i] = (uint16_t)next;
    }
    return i;
}

/* The slots from the first of those places on move, each once, and leave gaps. */
static void open_gaps(struct caret__page *p, const uint16_t *pos, unsigned n)
{
    unsigned end = p->count;

    for (unsigned i = n; i-- > 0; end = pos[i])
        if (pos[i] != end)
            caret__racy_move(&p->slot[pos[i] + i + 1], &p->slot[pos[i]], 8u * (size_t)(end - pos[i]));
}

/* Up to n, but none after the one with which there is a power of two of entries: then a longer prefix is looked for
 * (caret__page_lengthen_prefix). */
static unsigned up_to_power(unsigned count, unsigned n)
{
    unsigned power = 8;

    while (power <= count)
        power *= 2;
    return n < power - count ? n : power - count;
}

unsigned caret__page_insert_row(struct caret__page *p, unsigned next, const struct caret__kv *kv, unsigned n,
                                uint16_t pos[CARET__PAGE_ROW], const struct caret__edit *ed)
{
    CARET__ASSERT_CMP(next, <=, p->count);
    const uint8_t *prefix = (const uint8_t *)p + p->prefix_off;
    unsigned plen = p->prefix_len, count = p->count;

    n = up_to_power(count, n < CARET__PAGE_ROW ? n : CARET__PAGE_ROW);
    if ((count >= 8 && (count & (count - 1)) == 0) || kv[0].b_len < plen || kv[n - 1].b_len < plen ||
        caret__racy_cmp(prefix, kv[0].b, plen) != 0 || caret__racy_cmp(prefix, kv[n - 1].b, plen) != 0)
        return 0;
    n = places_of(p, next, kv, n, pos);
    if (n == 0)
        return 0;
    if (ed != NULL) {
        caret__edit_save(ed, p, CARET__PAGE_HEAD);
        caret__edit_save(ed, &p->slot[pos[0]], 8u * (count - pos[0]));
        caret__edit_go(ed);
    }
    open_gaps(p, pos, n);
    CARET_FAULT("page_row_gaps");
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *suffix = kv[i].b + plen;
        size_t len = kv[i].b_len - plen;
        unsigned off = put_entry(p, suffix, len, kv[i].val, kv[i].vlen, kv[i].vflag);
        struct caret__slot s = {caret__key_head(suffix, len), (uint16_t)off, (uint16_t)len};
        pos[i] = (uint16_t)(pos[i] + i);
        caret__racy_copy(&p->slot[pos[i]], &s, sizeof s);
        note_insert(p, pos[i]);
    }
    CARET_FAULT("page_row_slots");
    caret__racy_put16(&p->count, (uint16_t)(count + n));
    update_hints(p, pos[0], count);
    return n;
}

bool caret__page_replace(struct caret__page *p, unsigned pos, const void *val, size_t vlen, unsigned vflag,
                         const struct caret__edit *ed)
{
    CARET__ASSERT_CMP(pos, <, p->count);
    struct caret__entry e = caret__page_entry(p, pos);
    unsigned off = (unsigned)((const uint8_t *)e.key - (const uint8_t *)p) - 2, klen = e.klen;
    unsigned was = (unsigned)caret__entry_bytes(klen, e.vlen);

    if (e.vlen == vlen && e.run == (vflag != 0)) {
        caret__page_overwrite(&e, val, ed);
        return true;
    }
    if (vlen <= e.vlen) { /* shrinks in place, or one of them is out of line */
        if (ed != NULL) {
            caret__edit_save(ed, p, 32);
            caret__edit_save(ed, (uint8_t *)p + off, was);
            caret__edit_go(ed);
        }
        caret__racy_put16((uint8_t *)p + off, (uint16_t)(vlen | vflag));
        if (vlen != 0)
            caret__racy_copy((uint8_t *)p + off + 2 + klen, val, vlen);
        caret__racy_put16(&p->garbage, (uint16_t)(p->garbage + (e.vlen - vlen)));
        return true;
    }
    if (caret__page_room(p) < caret__entry_bytes(klen, vlen))
        return false;
    if (ed != NULL) {
        caret__edit_save(ed, p, 32);
        caret__edit_save(ed, &p->slot[pos], 8);
        caret__edit_go(ed);
    }
    unsigned at = put_entry(p, e.key, klen, val, vlen, vflag);
    CARET_FAULT("page_replace_moved");
    caret__racy_put16(&p->slot[pos].off, (uint16_t)at);
    caret__racy_put16(&p->garbage, (uint16_t)(p->garbage + was));
    return true;
}

void caret__page_remove(struct caret__page *p, unsigned from, unsigned to, const struct caret__edit *ed)
{
    CARET__ASSERT_CMP(to, <=, p->count);
    unsigned count = p->count, garbage = p->garbage;

    if (from >= to)
        return;
    for (unsigned i = from; i < to; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        garbage += (unsigned)caret__entry_bytes(e.klen, e.vlen);
    }
    if (ed != NULL) {
        caret__edit_save(ed, p, CARET__PAGE_HEAD);
        caret__edit_save(ed, &p->slot[from], 8u * (count - from));
        caret__edit_go(ed);
    }
    caret__racy_move(&p->slot[from], &p->slot[to], 8u * (size_t)(count - to));
    CARET_FAULT("page_remove_slots");
    caret__racy_put16(&p->count, (uint16_t)(count - (to - from)));
    caret__racy_put16(&p->garbage, (uint16_t)garbage);
    if (p->count == 0) { /* nothing is left: the heap starts afresh */
        caret__racy_put16(&p->heap, (uint16_t)CARET__PAGE_SIZE);
        caret__racy_put16(&p->garbage, 0);
        caret__racy_put16(&p->prefix_len, 0);
        caret__racy_put16(&p->prefix_off, 0);
    }
    update_hints(p, from, count);
}

void caret__page_set_child(struct caret__page *p, unsigned i, uint32_t child)
{
    if (i >= p->count) {
        caret__racy_put32(&p->right, child);
        return;
    }
    struct caret__entry e = caret__page_entry(p, i);
    caret__racy_put32((uint8_t *)(uintptr_t)e.val, child);
}

void caret__page_set_child_runs(struct caret__page *p, unsigned i)
{
    uint8_t one = 1;
    if (i >= p->count)
        caret__racy_copy(&p->right_runs, &one, 1);
    else
        caret__racy_copy((uint8_t *)(uintptr_t)caret__page_entry(p, i).val + 4, &one, 1);
}
