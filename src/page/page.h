/*
 * page.h - one page of the tree: layout, search, edit.
 *
 *     0        32          96                     heap                 page size
 *     | header | 16 hints  | slots, 8 bytes each ->| free |<- entries, prefix |
 *
 * slot   {u32 head, u16 offset, u16 key length}.  The head is the first four bytes
 *        of the key after the page's prefix, as a number that compares like
 *        memcmp (zero padded): most comparisons end there.
 * entry  {u16 value length and flag, key suffix, value} at the slot's offset.
 * hints  hint[i] is the head of slot (i + 1) * (count / 17): one cache line that
 *        narrows the binary search to a seventeenth (when there are 17 slots).
 * prefix the common prefix of all keys of this page, stored once.  It belongs to
 *        the content, not to the page's range: a key that does not share it makes
 *        the page be rebuilt with a shorter one.
 *
 * A leaf's entries are nodes.  An inner page's entry {separator, child} says that
 * the child holds keys < separator (and >= the separator before it); keys >= the
 * last separator are in `right`.  Separators are as short as they can be.  There
 * are no fences and no sibling links: the range of a page is told by the pages
 * above it alone, so that unlinking or joining pages never rewrites a neighbour.
 *
 * Reading functions take pages that may be changing or damaged: every offset and
 * length is clamped to the page, every loop is bounded; what they return is to be
 * used only after the page's version was compared again.  Editing functions take
 * pages that the caller owns.  With an edit context they note what they overwrite
 * (undo) and raise the version before the first byte changes.
 *
 * Invariants (caret__page_check): slots strictly ascending; entries inside the
 * heap and disjoint; garbage = heap bytes that no entry or prefix uses; heads and
 * hints as computed; level 0 is a leaf; an inner page always has `right`.
 */
#ifndef CARET_PAGE_PAGE_H
#define CARET_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/racy.h"
#include "page/run.h"
#include "shm/layout.h"
#include "shm/undo.h"

#define CARET__PAGE_LEAF  1u
#define CARET__PAGE_INNER 2u
#define CARET__HINTS      16u

struct caret__slot {
    uint32_t head;
    uint16_t off;
    uint16_t klen; /* of the suffix */
};

struct caret__page {
    uint32_t crc;        /* crc32c of the bytes after it; only in copies written to the file */
    uint32_t pgno;       /* own page number */
    uint8_t type;        /* CARET__PAGE_LEAF or _INNER */
    uint8_t level;       /* 0 = leaf */
    uint16_t count;      /* slots */
    uint16_t heap;       /* lowest byte used by entries and prefix */
    uint16_t garbage;    /* unused bytes above it */
    uint16_t prefix_off; /* bytes of the common prefix */
    uint16_t prefix_len;
    uint32_t right;     /* inner: last child */
    uint16_t last_pos;  /* leaf: where the last insert went: inserts in key order are recognised by it */
    uint8_t right_runs; /* inner: values out of line may be below `right` */
    uint8_t rising;     /* leaf: so many inserts before the last went each to the place before the next one */
    uint32_t epoch;     /* of the checkpoint that wrote it; only in copies written to the file, for salvage */
    uint32_t hint[CARET__HINTS];
    struct caret__slot slot[];
};

#define CARET__PAGE_HEAD   96u
#define CARET__PAGE_USABLE (CARET__PAGE_SIZE - CARET__PAGE_HEAD)
#define CARET__MAX_SLOTS   (CARET__PAGE_USABLE / 8u)

/* Value length word: top bit = the value is a struct caret__runref, stored out of line. */
#define CARET__VLEN_RUN    0x8000u
#define CARET__VLEN_MASK   0x7fffu

/* An inner entry's value: child page number, then a flag byte (values out of line below it). */
#define CARET__CHILD_LEN   5u

/* Longest value kept in the page, and the largest entry: two always fit beside a prefix. */
#define CARET__INLINE_MAX  (CARET__PAGE_SIZE / 4u)
#define CARET__ENTRY_MAX   ((CARET__PAGE_USABLE - CARET__KEY_MAX) / 2u)

_Static_assert(sizeof(struct caret__slot) == 8, "slot");
_Static_assert(offsetof(struct caret__page, hint) == 32, "page header");
_Static_assert(offsetof(struct caret__page, slot) == CARET__PAGE_HEAD, "slots follow the hints");
_Static_assert(offsetof(struct caret__page, count) == 10 && offsetof(struct caret__page, prefix_len) == 18,
               "two words, as caret__page_sane() reads them");
/* An entry begins with the word that has its value's length and flag. */
#define CARET__ENTRY_HEAD 2u

/* Bytes that an entry takes of the heap, and of the page, with its slot; klen: of the key after the prefix. */
static inline size_t caret__entry_bytes(size_t klen, size_t vlen)
{
    return CARET__ENTRY_HEAD + klen + vlen;
}
static inline size_t caret__entry_room(size_t klen, size_t vlen)
{
    return sizeof(struct caret__slot) + caret__entry_bytes(klen, vlen);
}

_Static_assert(CARET__ENTRY_MAX >= sizeof(struct caret__slot) + CARET__ENTRY_HEAD + CARET__KEY_MAX +
                                       sizeof(struct caret__runref),
               "a maximal key fits with an out-of-line reference");

/*
 * Have the page fetched, all at once, before anything in it is looked at: into the first cache what a search
 * begins with (header, hints, and the end, where the prefix of a page that was filled at once is), into the
 * second the slots and the entries.  Else each of these is waited for after the one before. Inlined whatever
 * it costs: the compiler takes a call of a function without any effect but this for superfluous.
 */
static inline __attribute__((always_inline)) void caret__page_ask(const struct caret__page *p)
{
    const char *at = (const char *)p;

    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
    __builtin_prefetch(at + CARET__PAGE_SIZE - 64);
    for (unsigned i = 0; i < CARET__PAGE_SIZE; i += 256) {
        __builtin_prefetch(at + i, 0, 2);
        __builtin_prefetch(at + i + 64, 0, 2);
        __builtin_prefetch(at + i + 128, 0, 2);
        __builtin_prefetch(at + i + 192, 0, 2);
    }
}

/* Is a value of this length stored in the page under a key of that length? */
static inline bool caret__value_inline(size_t klen, size_t vlen)
{
    return vlen <= CARET__INLINE_MAX && caret__entry_room(klen, vlen) <= CARET__ENTRY_MAX;
}

/* First four bytes of a key, zero padded, comparing like memcmp. */
static inline uint32_t caret__key_head(const uint8_t *key, size_t len)
{
    if (caret__likely(len >= 4))
        return caret__be32(key);
    uint32_t h = 0;
    for (size_t i = 0; i < len; i++)
        h |= (uint32_t)key[i] << (24 - 8 * i);
    return h;
}

/* The same where `before` bytes that can be read come before the key: without a branch for each length. */
static inline uint32_t caret__key_head_behind(const uint8_t *key, size_t len, size_t before)
{
    if (caret__likely(len < 4 && len + before >= 4))
        return (uint32_t)((uint64_t)caret__be32(key + len - 4) << 8 * (4 - len));
    return caret__key_head(key, len);
}

/* ------------------------------------------------------------------ reading */

static inline unsigned caret__page_count(const struct caret__page *p)
{
    unsigned n = caret__racy16(&p->count);
    return n <= CARET__MAX_SLOTS ? n : CARET__MAX_SLOTS;
}

struct caret__entry {
    const uint8_t *key; /* suffix */
    const uint8_t *val;
    uint16_t klen;
    uint16_t vlen;
    bool run;
};

/* The lengths of an entry at `off`, which does not end in its page: as long as that has room, the key first. */
static inline struct caret__entry caret__entry_clamp(struct caret__entry e, unsigned off)
{
    unsigned room = CARET__PAGE_SIZE - 2 - off;

    e.klen = (uint16_t)(e.klen < room ? e.klen : room);
    e.vlen = (uint16_t)(room - e.klen);
    e.val = e.key + e.klen;
    return e;
}

/* The entry of a slot, read as one word, every length clamped to the page. */
static inline __attribute__((always_inline)) struct caret__entry
caret__slot_entry(const struct caret__page *p, uint64_t raw)
{
    struct caret__entry e;
    unsigned off = (unsigned)(raw >> 32) & 0xffff, klen = (unsigned)(raw >> 48);

    if (caret__unlikely(off > CARET__PAGE_SIZE - 2))
        off = CARET__PAGE_SIZE - 2;
    unsigned vword = caret__racy16((const uint8_t *)p + off), vlen = vword & CARET__VLEN_MASK;
    e.key = (const uint8_t *)p + off + 2;
    e.val = e.key + klen;
    e.klen = (uint16_t)klen;
    e.vlen = (uint16_t)vlen;
    e.run = (vword & CARET__VLEN_RUN) != 0;
    if (caret__unlikely(off + 2 + klen + vlen > CARET__PAGE_SIZE))
        e = caret__entry_clamp(e, off);
    return e;
}

/* The same of slot i. */
static inline __attribute__((always_inline)) struct caret__entry
caret__page_entry(const struct caret__page *p, unsigned i)
{
    return caret__slot_entry(p, caret__racy64(&p->slot[i]));
}

/* The key of that entry after the prefix, for whom its value does not matter. */
static inline __attribute__((always_inline)) const uint8_t *caret__page_suffix(const struct caret__page *p,
                                                                               unsigned i, unsigned *klen)
{
    uint64_t raw = caret__racy64(&p->slot[i]);
    unsigned off = (unsigned)(raw >> 32) & 0xffff;

    *klen = (unsigned)(raw >> 48);
    if (caret__unlikely(off > CARET__PAGE_SIZE - 2))
        off = CARET__PAGE_SIZE - 2;
    if (caret__unlikely(off + 2 + *klen > CARET__PAGE_SIZE))
        *klen = CARET__PAGE_SIZE - 2 - off;
    return (const uint8_t *)p + off + 2;
}

/* Have the entry in slot i fetched, if that is below the count: it will be read soon.  Nothing that is read here
 * counts.  Of one at the end the page's first line is asked for again, as the page after this one takes a translation.
 */
static inline __attribute__((always_inline)) void caret__page_ask_below(const struct caret__page *p,
                                                                        unsigned i, unsigned count)
{
    if (i < count) {
        unsigned off = caret__racy16(&p->slot[i].off) % CARET__PAGE_SIZE;
        __builtin_prefetch((const char *)p + off);
        __builtin_prefetch((const char *)p + (off + 64) % CARET__PAGE_SIZE);
    }
}
static inline __attribute__((always_inline)) void caret__page_ask_entry(const struct caret__page *p,
                                                                        unsigned i)
{
    caret__page_ask_below(p, i, caret__page_count(p));
}

/* The same of the end of its value, when the entry has come. */
static inline __attribute__((always_inline)) void caret__page_ask_value(const struct caret__page *p,
                                                                        unsigned i)
{
    struct caret__entry e = caret__page_entry(p, i);

    __builtin_prefetch(e.val + e.vlen - 1);
}

/* The prefix, clamped; returns its length. */
static inline unsigned caret__page_prefix(const struct caret__page *p, const uint8_t **prefix)
{
    unsigned off = caret__racy16(&p->prefix_off), len = caret__racy16(&p->prefix_len);
    if (caret__unlikely(off + len > CARET__PAGE_SIZE))
        off = len = 0;
    *prefix = (const uint8_t *)p + off;
    return len;
}

/* First slot whose key is >= key; *found tells whether it is equal. */
unsigned caret__page_find(const struct caret__page *p, const uint8_t *key, size_t len, bool *found);

/* The same for a caller that knows that all keys before slot i, which is at most the count, are below the key: the slot
 * itself is looked at first, as keys in ascending order often are next to each other. */
unsigned caret__page_find_after(const struct caret__page *p, unsigned i, const uint8_t *key, size_t len,
                                bool *found);

/* The same for a caller that goes on in order: is the key in the slot after i, or in i, or after i as the last one?
 * Else CARET__PAGE_NOWHERE, which is told for less than a search takes. */
#define CARET__PAGE_NOWHERE UINT32_MAX
unsigned caret__page_find_beside(const struct caret__page *p, unsigned i, const uint8_t *key, size_t len,
                                 bool *found);

/* The same for a caller that has just dealt with the slot i, at most the count, and now has a key near it: is it in the
 * slot before i, or would a search find i or the one after it?  Else CARET__PAGE_NOWHERE. */
unsigned caret__page_find_around(const struct caret__page *p, unsigned i, const uint8_t *key, size_t len,
                                 bool *found);

/* Have header and hints fetched, what the first step of a search looks at. */
static inline __attribute__((always_inline)) void caret__page_ask_front(const struct caret__page *p)
{
    __builtin_prefetch(p);
    __builtin_prefetch((const char *)p + 64);
}

/* The same, and the end, where the prefix of most pages is. */
static inline __attribute__((always_inline)) void caret__page_ask_head(const struct caret__page *p)
{
    caret__page_ask_front(p);
    __builtin_prefetch((const char *)p + CARET__PAGE_SIZE - 64);
}

/* Inner page: index of the child whose range holds key (count means `right`). */
static inline unsigned caret__page_child_index(const struct caret__page *p, const uint8_t *key, size_t len)
{
    bool found;
    unsigned i = caret__page_find(p, key, len, &found);
    return i + found;
}

/* Inner page: child i (0..count), and its flag. */
static inline uint32_t caret__page_child(const struct caret__page *p, unsigned i)
{
    if (i >= caret__page_count(p))
        return caret__racy32(&p->right);
    struct caret__entry e = caret__page_entry(p, i);
    return e.vlen >= 4 ? caret__racy32(e.val) : 0;
}
bool caret__page_child_runs(const struct caret__page *p, unsigned i);

/* Copy the whole key of slot i to buf (CARET__KEY_MAX bytes); its length, 0 if it can't be (torn or damaged). */
unsigned caret__page_key(const struct caret__page *p, unsigned i, uint8_t *buf);

/* Bytes in use by slots, entries and prefix. */
static inline unsigned caret__page_used(const struct caret__page *p)
{
    return CARET__PAGE_USABLE - (p->heap - CARET__PAGE_HEAD - 8u * p->count) - p->garbage;
}
/* Bytes free without rebuilding. */
static inline unsigned caret__page_room(const struct caret__page *p)
{
    return p->heap - CARET__PAGE_HEAD - 8u * p->count;
}

/* Two words of the header, read once: which page it is, with its count, and four lengths. */
struct caret__header {
    uint64_t who, lengths;
};

static inline struct caret__header caret__page_header(const struct caret__page *p)
{
    const uint8_t *at = (const uint8_t *)p;

    return (struct caret__header){caret__racy64(at + offsetof(struct caret__page, pgno)),
                                  caret__racy64(at + offsetof(struct caret__page, heap))};
}

static inline unsigned caret__header_count(struct caret__header h)
{
    return (unsigned)(h.who >> 48);
}
static inline unsigned caret__header_prefix_off(struct caret__header h)
{
    return (unsigned)(h.lengths >> 32) & 0xffff;
}
static inline unsigned caret__header_prefix_len(struct caret__header h)
{
    return (unsigned)(h.lengths >> 48);
}

/* Do they make sense for page pgno at this level?  Each of the lengths is at most so much if the difference has a top
 * bit.  So count and prefix are inside of the page. */
static inline bool caret__header_sane(struct caret__header h, uint32_t pgno, unsigned level)
{
    const uint64_t top = UINT64_C(0x8000800080008000),
                   most = (uint64_t)CARET__KEY_MAX << 48 | UINT64_C(0x100010001) * CARET__PAGE_SIZE;
    uint64_t type = level == 0 ? CARET__PAGE_LEAF : CARET__PAGE_INNER;
    unsigned heap = h.lengths & 0xffff;

    return h.who << 16 == ((uint64_t)level << 56 | type << 48 | (uint64_t)pgno << 16) &&
           (((most | top) - h.lengths) & ~h.lengths & top) == top &&
           heap >= CARET__PAGE_HEAD + 8u * caret__header_count(h) &&
           caret__header_prefix_off(h) + caret__header_prefix_len(h) <= CARET__PAGE_SIZE;
}

/* The same of a page.  For readers, before believing a stable page. */
static inline bool caret__page_sane(const struct caret__page *p, uint32_t pgno, unsigned level)
{
    return caret__header_sane(caret__page_header(p), pgno, level);
}

/* Everything about one page; appends a finding to report and returns false if something is wrong. */
bool caret__page_check(const struct caret__page *p, uint32_t pgno, char *report, size_t cap);

/* ------------------------------------------------------------------ editing */

/* How an edit in place is made known: NULL = nobody needs to know (private, new, or already saved whole). */
struct caret__edit {
    struct caret__undo *undo; /* NULL: only the version is raised */
    _Atomic uint64_t *version;
    uint64_t lsn;
};

/* A key in two parts, as it stands in a page, or whole (a_len = 0). */
struct caret__kv {
    const uint8_t *a, *b, *val;
    uint16_t a_len, b_len, vlen;
    uint16_t vflag; /* CARET__VLEN_RUN or 0 */
};

void caret__page_init(struct caret__page *p, uint32_t pgno, unsigned level);

/* Insert at pos.  False: no room as it is, or the key does not share the prefix; nothing was changed. */
bool caret__page_insert(struct caret__page *p, unsigned pos, const uint8_t *key, size_t klen, const void *val,
                        size_t vlen, unsigned vflag, const struct caret__edit *ed);

/* Insert the first few of n sets in key order, whole keys (a_len = 0) of this page; all keys before slot `next` are
 * below the first one.  How many were: as many, up to CARET__PAGE_ROW, as are new to the page, share its prefix and
 * have room as it is, with no look whether the prefix can be longer; that the next insert of one key may have to do.
 * pos: where they are.  ed NULL: the page is nobody's, or saved whole. */
#define CARET__PAGE_ROW 64u
unsigned caret__page_insert_row(struct caret__page *p, unsigned next, const struct caret__kv *kv, unsigned n,
                                uint16_t pos[CARET__PAGE_ROW], const struct caret__edit *ed);

/* Replace the value of slot pos.  False: no room as it is. */
bool caret__page_replace(struct caret__page *p, unsigned pos, const void *val, size_t vlen, unsigned vflag,
                         const struct caret__edit *ed);

/* Remove slots [from, to). */
void caret__page_remove(struct caret__page *p, unsigned from, unsigned to, const struct caret__edit *ed);

/* Inner page: point child i elsewhere (flag byte kept), set its flag. */
void caret__page_set_child(struct caret__page *p, unsigned i, uint32_t child);
void caret__page_set_child_runs(struct caret__page *p, unsigned i);

/* ---- page/build.c: making pages anew ---- */

/* Fill a page with n entries in order; prefix_len bytes of them are the common prefix.
 * False if they do not fit; then the page is garbage.  Keeps pgno, type, level, right. */
bool caret__page_fill(struct caret__page *p, const struct caret__kv *kv, unsigned n, unsigned prefix_len);

/* The same in steps, for n entries that are known to fit, into an empty page: begin, with a key that has the prefix;
 * put each in order; end.  *heap, from begin to end, is how far the page is filled. */
unsigned caret__page_fill_begin(struct caret__page *p, const uint8_t *key, unsigned prefix_len);
void caret__page_fill_put(struct caret__page *p, unsigned i, unsigned *heap, const struct caret__kv *kv,
                          unsigned prefix_len);
void caret__page_fill_end(struct caret__page *p, unsigned n, unsigned heap);

/* Put the entries [from, to) of another page as the i-th and those after it, of n; both pages have the same prefix, but
 * that of p is `skip` bytes longer.  false: the other page is damaged, or they do not fit. */
bool caret__page_fill_take(struct caret__page *p, unsigned i, unsigned n, unsigned *heap,
                           const struct caret__page *src, unsigned from, unsigned to, unsigned skip);

/* Fill an empty page with the entries [from, to) of another page, all of which share prefix_len bytes, at least
 * the other's prefix; the whole prefix they share.  False: the other page is damaged, and this one garbage. */
bool caret__page_take(struct caret__page *p, const struct caret__page *src, unsigned from, unsigned to,
                      unsigned prefix_len);
unsigned caret__page_shared(const struct caret__page *src, unsigned from, unsigned to);

/* An entry of a page with that prefix; it points into the page. */
static inline struct caret__kv caret__entry_kv(const struct caret__entry *e, const uint8_t *prefix,
                                               unsigned plen)
{
    return (struct caret__kv){.a = prefix,
                              .b = e->key,
                              .val = e->val,
                              .a_len = (uint16_t)plen,
                              .b_len = e->klen,
                              .vlen = e->vlen,
                              .vflag = e->run ? CARET__VLEN_RUN : 0};
}

/* The entries of a page (a private copy, which they point into); returns their number. */
unsigned caret__page_list(const struct caret__page *copy, struct caret__kv *kv);

/* Bytes caret__page_fill would use, and the longest common prefix. */
unsigned caret__kv_bytes(const struct caret__kv *kv, unsigned n, unsigned prefix_len);
unsigned caret__kv_prefix(const struct caret__kv *kv, unsigned n);

/* See to it that key with a value of vlen bytes can be inserted: true if it can as it is, or after a rebuild
 * without garbage and with a prefix that key shares.  False: the page must be split (p unchanged). */
bool caret__page_make_room(struct caret__page *p, const uint8_t *key, size_t klen, size_t vlen);

/* Do the keys of the page, and key, share so much after its prefix that all heads are equal?  Looked at
 * when the count is a power of two, so that it costs nothing on the whole. */
bool caret__page_wants_prefix(const struct caret__page *p, const uint8_t *key, size_t klen);
/* Rewrite the page with that longer prefix, if it wants one. */
void caret__page_lengthen_prefix(struct caret__page *p, const uint8_t *key, size_t klen);

/* Give an empty page a prefix that the keys to come are expected to share. */
void caret__page_preset_prefix(struct caret__page *p, const uint8_t *key, unsigned plen);

/* Copy the whole key of kv to buf; its length. */
unsigned caret__kv_key(const struct caret__kv *kv, uint8_t *buf);

#endif
