/*
 * pile.c - sets in key order, of each key the last one.
 *
 * Sets that nobody has to look for are piled up as they come, each as the op of a record that it will become:
 *
 *     head | op op op op ...        in any order, the same key perhaps more than once
 *
 * At the end they are put in order, which takes a fifth of what it takes to have them in a tree all the
 * time: there each is a walk through memory that no cache holds.
 *
 *   1  an index: the place of each op, and eight bytes of its key after what all keys have in common
 *   2  the index is sorted by these bytes, a few bits at a time from the first on that differ, so that equal ones stay
 *      as they came
 *   3  where several are equal, that part of the index is sorted in the same way; if all of it is
 *      equal, by comparison
 *   4  the ops are copied in that order, but for those whose key comes once more
 *
 * Copying asks for the ops some steps ahead, for they are anywhere.
 *
 * A program may set few nodes very often, and what is piled up is then more than what it says.  So each time
 * a pile has become four times as large as it was, keys are counted, each 2^n-th by its hash; if half of them
 * were there before, the pile is put in order on the way.  So it is when it has more than any log takes; if
 * that does not help, the set is refused.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "log/flush.h"
#include "shm/memory.h"
#include "txn/txn.h"

#define FEW        48u /* are sorted by insertion; arbitrary */
#define DIGIT      8u  /* bits */
#define DIGIT_MOST 11u
/* So many items are worth the longer digit's 8 KiB of counts; of more its 2,048 ends are too many translations. */
#define IS_MANY(n) ((n) >= 512u && (n) <= 1u << 15)
#define AHEAD      12u /* ops that are asked for before they are copied; arbitrary */
#define SAMPLE     4096u
#define POPULATE   (1u << 17)                 /* bytes: less is memory that was used before, as a rule */
#define COUNT_FROM (CARET__RECORD_MAX / 1024) /* bytes; arbitrary */
#define MOST       caret__record_most(CARET__LOG_MAX)

struct item {
    uint64_t window; /* of the key */
    uint32_t off;    /* of the op in the record */
};

struct pile {
    const uint8_t *rec;
    struct item *items, *spare; /* as many */
};

static inline const uint8_t *key_at(const uint8_t *rec, uint32_t off, size_t *len)
{
    struct caret__op_view op = caret__op_at(rec, off);

    *len = op.klen;
    return op.key;
}

static inline uint32_t size_at(const uint8_t *rec, uint32_t off)
{
    struct caret__op_view op = caret__op_at(rec, off);

    return caret__op_size(op.klen, op.vlen);
}

static int compare(const struct pile *p, const struct item *a, const struct item *b)
{
    size_t alen, blen;
    const uint8_t *x = key_at(p->rec, a->off, &alen), *y = key_at(p->rec, b->off, &blen);

    return caret__bytes_compare(x, alen, y, blen);
}

/* ------------------------------------------------------------------- sorting */

/* Step 1: what all keys have in common. */
static size_t in_common(const struct pile *p, const struct item *a, size_t n)
{
    size_t shared, len;
    const uint8_t *first = key_at(p->rec, a[0].off, &shared);

    for (size_t i = 1; i < n && shared != 0; i++) {
        const uint8_t *key = key_at(p->rec, a[i].off, &len);
        if (len < shared || caret__racy_cmp(first, key, shared) != 0)
            shared = caret__common_prefix(first, shared, key, len);
    }
    return shared;
}

/* The first eight bytes of the last n of a key, which ends at `end`.  What is before it is the head of its op. */
static inline uint64_t window_at(const uint8_t *end, size_t n)
{
    _Static_assert(CARET__OP_HEAD >= 8, "eight bytes before a key are the op's");
    if (n >= 8)
        return caret__be64(end - n);
    return n != 0 ? caret__be64(end - 8) << 8 * (8 - n) : 0;
}

static void look(const struct pile *p, struct item *a, size_t n)
{
    size_t skip = in_common(p, a, n), len;

    for (size_t i = 0; i < n; i++) {
        const uint8_t *key = key_at(p->rec, a[i].off, &len);
        a[i].window = window_at(key + len, len - skip);
    }
}

static void insert(struct item *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct item it = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1].window > it.window; k--)
            a[k] = a[k - 1];
        a[k] = it;
    }
}

/* By one digit, of so many bits; those above it are the same for all. */
static void distribute(const struct item *from, struct item *to, size_t n, unsigned shift, unsigned bits)
{
    uint32_t count[1u << DIGIT_MOST], at = 0, digits = 1u << bits;

    memset(count, 0, digits * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[from[i].window >> shift & (digits - 1)]++;
    for (unsigned d = 0; d < digits; d++) {
        uint32_t many = count[d];
        count[d] = at;
        at += many;
    }
    for (size_t i = 0; i < n; i++)
        to[count[from[i].window >> shift & (digits - 1)]++] = from[i];
}

/* Step 2: by the first bits in which they differ, and what is equal in these by the next.  So bits that tell most
 * of them apart are the last for most. */
static void sort_digits(const struct pile *p, struct item *a, size_t n)
{
    struct item *to = p->spare + (a - p->items);
    uint64_t differ = 0; /* bits that are not the same for all */

    for (size_t i = 1; i < n; i++)
        differ |= a[i].window ^ a[0].window;
    if (differ == 0)
        return;
    unsigned top = 64u - (unsigned)__builtin_clzll(differ), bits = IS_MANY(n) ? DIGIT_MOST : DIGIT;
    unsigned shift = top > bits ? top - bits : 0;
    distribute(a, to, n, shift, bits);
    memcpy(a, to, n * sizeof *a);
    for (size_t i = 0, many; i < n; i += many) {
        for (many = 1; i + many < n && a[i + many].window >> shift == a[i].window >> shift; many++)
            ;
        if (many < FEW)
            insert(a + i, many);
        else
            sort_digits(p, a + i, many);
    }
}

/* Two parts that are in order, to `to`. */
static void merge(const struct pile *p, const struct item *a, size_t n, size_t half, struct item *to)
{
    for (size_t i = 0, j = half, k = 0; k < n; k++)
        to[k] = j == n || (i < half && compare(p, &a[i], &a[j]) <= 0) ? a[i++] : a[j++];
}

static void sort_by_comparison(const struct pile *p, struct item *a, size_t n)
{
    struct item *spare = p->spare + (a - p->items);

    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t left = n - i < 2 * width ? n - i : 2 * width;
            merge(p, a + i, left, left < width ? left : width, spare + i);
        }
        memcpy(a, spare, n * sizeof *a);
    }
}

static void sort(const struct pile *p, struct item *a, size_t n)
{
    look(p, a, n);
    if (n < FEW)
        insert(a, n);
    else
        sort_digits(p, a, n);
    for (size_t i = 0, many; i < n; i += many) { /* step 3 */
        for (many = 1; i + many < n && a[i + many].window == a[i].window; many++)
            ;
        if (many == n)
            sort_by_comparison(p, a, n);
        else if (many > 1)
            sort(p, a + i, many);
    }
}

/* ------------------------------------------------------------------- in order */

/* Step 4: to `to`, which becomes the record.  The place of the last op. */
static uint32_t copy(const struct pile *p, uint32_t n, uint8_t *to, struct caret__batch *b)
{
    b->size = CARET__REC_HEAD;
    b->nops = 0;
    b->values = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct item *it = &p->items[i];
        if (i + AHEAD < n) {
            const uint8_t *ahead = p->rec + it[AHEAD].off;
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
        }
        if (i + 1 < n && it[0].window == it[1].window && compare(p, &it[0], &it[1]) == 0)
            continue;
        CARET__ASSERT(i + 1 == n || compare(p, &it[0], &it[1]) < 0);
        uint32_t len = size_at(p->rec, it->off);
        memcpy(to + b->size, p->rec + it->off, len);
        last = b->size;
        b->size += len;
        b->nops++;
        b->values += caret__op_at(p->rec, it->off).vlen;
    }
    return last;
}

static int no_memory(const struct caret__batch *b)
{
    return caret__fail(CARET_E_NOMEM, "no memory to put %u changes of a transaction in order", b->nops);
}

int caret__pile_order(struct caret__pile *of, struct caret__batch *b)
{
    CARET__ASSERT(of->sought.size == 0);
    uint64_t bytes = b->size + CARET__REC_TAIL, index = 2 * (uint64_t)b->nops * sizeof(struct item);
    uint32_t n = 0;

    if (!caret__memory_has(bytes + index))
        return no_memory(b);
    struct pile p = {.rec = b->rec, .items = malloc(index)};
    uint8_t *to = p.items != NULL ? malloc(bytes) : NULL;
    if (to == NULL) {
        free(p.items);
        return no_memory(b);
    }
    if (bytes >= POPULATE) {
        caret__populate(p.items, index);
        caret__populate(to, bytes);
    }
    p.spare = p.items + b->nops;
    for (uint32_t off = CARET__REC_HEAD; off < b->size; off += size_at(b->rec, off))
        p.items[n++].off = off;
    sort(&p, p.items, n);
    of->last = copy(&p, n, to, b);
    of->in_order = true;
    CARET__ASSERT_CMP(b->size + CARET__REC_TAIL, <=, bytes);
    b->nspots = 0; /* they were those of the first ops */
    free(p.items);
    free(b->rec);
    b->rec = to;
    b->cap = b->room = (uint32_t)bytes;
    caret__batch_crc_anew(b);
    return CARET_OK;
}

/* ------------------------------------------------------------------- counting */

/* Of keys, by a part of their hashes: were half of them there before? */
static bool mostly_again(const struct caret__batch *b)
{
    uint32_t seen[2 * SAMPLE] = {0}, many = 0, again = 0, each = 1;

    while (b->nops / each > SAMPLE / 2)
        each *= 2;
    for (uint32_t off = CARET__REC_HEAD; off < b->size && many - again < SAMPLE;
         off += size_at(b->rec, off)) {
        size_t len;
        const uint8_t *key = key_at(b->rec, off, &len);
        uint32_t hash = caret__crc32c(0, key, len) * UINT32_C(0x9E3779B1), at = hash >> 19;
        if ((hash & (each - 1)) != 0)
            continue;
        hash |= 1;
        for (; seen[at] != 0 && seen[at] != hash; at = (at + 1) % (2 * SAMPLE))
            ;
        again += seen[at] == hash;
        seen[at] = hash;
        many++;
    }
    return again > many / 2;
}

/* An op that was added: is it still all in order? */
static inline void note(struct caret__pile *p, const struct caret__batch *b, uint32_t off)
{
    size_t len, last_len;

    if (p->in_order && p->last != 0) {
        const uint8_t *key = key_at(b->rec, off, &len), *last = key_at(b->rec, p->last, &last_len);
        p->in_order = caret__bytes_compare(last, last_len, key, len) < 0;
    }
    p->last = off;
}

/* More than any log takes, though each node is there once. */
static int too_big(const struct caret__batch *b)
{
    return caret__fail(CARET_E_TXN_TOO_BIG,
                       "%u bytes of changes in one transaction; %u are the limit: make several of it",
                       b->size, MOST);
}

static int check(struct caret__pile *p, struct caret__batch *b, bool in_savepoint)
{
    bool beyond = b->size > MOST;
    int rc = CARET_OK;

    if (!in_savepoint && !p->in_order && (beyond || mostly_again(b))) {
        caret__sought_drop(&p->sought);
        rc = caret__pile_order(p, b);
    }
    if (rc == CARET_OK && b->size > MOST)
        return too_big(b);
    uint64_t next = caret__min64(4 * (uint64_t)b->size, MOST + 1);
    p->check_at = (uint32_t)caret__max64(COUNT_FROM, beyond ? b->size + MOST / 4 : next);
    return rc;
}

int caret__pile_add(struct caret__pile *p, struct caret__batch *b, const uint8_t *key, size_t len,
                    const void *val, size_t vlen, bool in_savepoint)
{
    uint32_t at = b->size;
    int rc = at >= p->check_at ? check(p, b, in_savepoint) : CARET_OK;

    at = b->size;
    if (rc == CARET_OK)
        rc = caret__batch_add(b, CARET__OP_SET, key, len, val, vlen);
    if (rc == CARET_OK)
        note(p, b, at);
    return rc;
}

void caret__pile_cut(struct caret__pile *p, struct caret__batch *b, uint32_t size)
{
    if (b->size <= size)
        return;
    caret__sought_cut(&p->sought, b, size);
    for (uint32_t off = size; off < b->size; off += size_at(b->rec, off)) {
        b->values -= caret__op_at(b->rec, off).vlen;
        b->nops--;
    }
    b->size = size;
    b->nspots = b->nspots < b->nops ? b->nspots : b->nops;
    if (b->crc_upto > size)
        caret__batch_crc_anew(b);
    p->in_order = false; /* which the last one was is not known */
    p->last = 0;
}

void caret__pile_begin(struct caret__pile *p, const struct caret__batch *b)
{
    CARET__ASSERT(p->sought.size == 0);
    *p = (struct caret__pile){
        .sought = p->sought, .in_order = true, .check_at = COUNT_FROM, .tell_at = CARET__PILE_TELL};
    for (uint32_t off = CARET__REC_HEAD; off < b->size; off += size_at(b->rec, off))
        note(p, b, off);
}
