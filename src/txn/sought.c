/*
 * sought.c - where a pile has its keys: reads and savepoints of a transaction of many sets.
 *
 * Sets are piled up as they come (pile.c).  Once one of them is read the pile gets an index, a hash table by whole keys
 * that says which op is the last one of each; from then on it is kept.  Sets alone never need it.
 *
 *     slot    {hash, place of the op}     place 0: free; GONE: the op was taken off, what comes after it is still found
 *
 * A savepoint is a place in the record: rolling back to it takes what comes after off its end.  So of each op that is
 * added within one, `replaced` remembers which op its slot said before; from its end on they are put back.
 *   Most keys that are read were not set.  So beside the slots there is a bit for each key by the end of it, eight
 * times as many as slots, which tells most of them apart for a few instructions and out of a near cache.  Bits are
 * only set.
 *   Where there is no memory the index goes, and the next read makes another one, or says so.  A small one stays with
 * the session when its transaction ends, as empty slots for the next.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "txn/txn.h"

#define FIRST_SLOTS 256u
#define GONE        1u
#define GROWS_FAST  (1u << 10) /* up to so many: what is there is moved seldom */
#define KEPT_SLOTS  (1u << 13) /* a session keeps no more; arbitrary: 64 KiB */

_Static_assert(CARET__REC_HEAD > GONE, "no op is there");

struct caret__seek_slot {
    uint32_t hash, place;
};

struct caret__replaced {
    uint32_t now, before; /* places; before 0: there was none */
};

uint32_t caret__sought_hash(const uint8_t *key, size_t len)
{
    uint64_t h = len, word = 0;
    size_t i = 0;

    for (; i + 8 < len; i += 8) {
        memcpy(&word, key + i, 8);
        h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    if (len >= 8) /* the last word overlaps the one before */
        memcpy(&word, key + len - 8, 8);
    else
        memcpy(&word, key, len);
    h = (h ^ caret__be64(&word)) * UINT64_C(0x9E3779B97F4A7C15); /* neighbours differ in the last bytes */
    return (uint32_t)(h >> 32);
}

/* ------------------------------------------------------------------- looking */

static bool has_key(const struct caret__batch *b, uint32_t place, const uint8_t *key, size_t len)
{
    struct caret__op_view op = caret__op_at(b->rec, place);

    return op.klen == len && memcmp(op.key, key, len) == 0;
}

/* The slot of the key, or the free one where it belongs. */
static struct caret__seek_slot *slot_of(const struct caret__sought *x, const struct caret__batch *b,
                                        uint32_t hash, const uint8_t *key, size_t len)
{
    uint32_t i = hash & (x->size - 1);

    CARET__ASSERT(x->used < x->size);
    while (x->slot[i].place != 0 &&
           (x->slot[i].place == GONE || x->slot[i].hash != hash || !has_key(b, x->slot[i].place, key, len)))
        i = (i + 1) & (x->size - 1);
    return &x->slot[i];
}

uint32_t caret__sought_find(const struct caret__sought *x, const struct caret__batch *b, uint32_t hash,
                            const uint8_t *key, size_t len, uint32_t *slot)
{
    const struct caret__seek_slot *it = slot_of(x, b, hash, key, len);

    *slot = (uint32_t)(it - x->slot);
    return it->place;
}

/* -------------------------------------------------------------------- making */

void caret__sought_destroy(struct caret__sought *x)
{
    free(x->slot);
    free(x->replaced);
    memset(x, 0, sizeof *x);
}

void caret__sought_drop(struct caret__sought *x)
{
    if (x->size > KEPT_SLOTS || x->room > KEPT_SLOTS) {
        caret__sought_destroy(x);
        return;
    }
    if (x->size != 0)
        x->kept = x->size;
    x->size = x->used = x->nreplaced = 0;
}

/* Slots, and the bits after them. */
#define BYTES_OF(slots) ((slots) * (sizeof(struct caret__seek_slot) + 1))

static void take(struct caret__sought *x, struct caret__seek_slot *slot, uint32_t size)
{
    free(x->slot);
    x->slot = slot;
    x->bits = (uint8_t *)(slot + size);
    x->size = x->kept = size;
    x->shift = 61u - (unsigned)__builtin_ctz(size);
}

static inline void set_bit(struct caret__sought *x, const uint8_t *key, size_t len)
{
    uint64_t at = caret__sought_bit(x, key, len);
    x->bits[at / 8] |= (uint8_t)(1u << at % 8);
}

/* Slots that are all free, at least so many. */
static bool begin(struct caret__sought *x, uint32_t size)
{
    if (x->kept >= size) {
        x->size = x->kept;
        memset(x->slot, 0, BYTES_OF(x->size));
        return true;
    }
    struct caret__seek_slot *slot = calloc(1, BYTES_OF(size));
    if (slot != NULL)
        take(x, slot, size);
    return slot != NULL;
}

/* More of them; what those before say goes along. */
static bool grow(struct caret__sought *x, const struct caret__batch *b)
{
    uint32_t before = x->size, size = before < GROWS_FAST ? before * 4 : before * 2;
    struct caret__seek_slot *slot = calloc(1, BYTES_OF((uint64_t)size)), *old = x->slot;

    if (slot == NULL)
        return false;
    x->slot = NULL;
    take(x, slot, size);
    x->used = 0;
    for (uint32_t i = 0; i < before; i++) {
        if (old[i].place <= GONE)
            continue;
        uint32_t to = old[i].hash & (size - 1);
        while (slot[to].place != 0)
            to = (to + 1) & (size - 1);
        slot[to] = old[i];
        x->used++;
        struct caret__op_view op = caret__op_at(b->rec, old[i].place);
        set_bit(x, op.key, op.klen);
    }
    free(old);
    return true;
}

static bool remember(struct caret__sought *x, uint32_t now, uint32_t before)
{
    if (x->nreplaced == x->room) {
        uint32_t room = x->room != 0 ? 2 * x->room : 64;
        struct caret__replaced *more = realloc(x->replaced, room * sizeof *more);
        if (more == NULL)
            return false;
        x->replaced = more;
        x->room = room;
    }
    x->replaced[x->nreplaced++] = (struct caret__replaced){now, before};
    return true;
}

bool caret__sought_put(struct caret__sought *x, const struct caret__batch *b, uint32_t slot, uint32_t hash,
                       uint32_t place, bool in_savepoint)
{
    struct caret__seek_slot *it = &x->slot[slot];
    struct caret__op_view op = caret__op_at(b->rec, place);
    bool ok = !in_savepoint || remember(x, place, it->place);

    if (!in_savepoint)
        x->nreplaced = 0;
    x->used += it->place == 0;
    *it = (struct caret__seek_slot){hash, place};
    set_bit(x, op.key, op.klen);
    if (ok && x->used >= x->size / 2)
        ok = grow(x, b);
    if (!ok)
        caret__sought_destroy(x);
    return ok;
}

int caret__sought_make(struct caret__sought *x, const struct caret__batch *b, uint32_t savepoint)
{
    uint32_t size = FIRST_SLOTS;

    CARET__ASSERT(x->size == 0);
    while (size / 4 < b->nops)
        size *= 2;
    bool ok = begin(x, size);
    for (uint32_t at = CARET__REC_HEAD; ok && at < b->size;) {
        struct caret__op_view op = caret__op_at(b->rec, at);
        uint32_t hash = caret__sought_hash(op.key, op.klen), slot;
        (void)caret__sought_find(x, b, hash, op.key, op.klen, &slot);
        ok = caret__sought_put(x, b, slot, hash, at, at >= savepoint);
        at += caret__op_size(op.klen, op.vlen);
    }
    if (ok)
        return CARET_OK;
    caret__sought_destroy(x);
    return caret__fail(CARET_E_NOMEM, "no memory to look for what a transaction of %u changes has set",
                       b->nops);
}

void caret__sought_cut(struct caret__sought *x, const struct caret__batch *b, uint32_t size)
{
    while (x->nreplaced != 0 && x->replaced[x->nreplaced - 1].now >= size) {
        struct caret__replaced r = x->replaced[--x->nreplaced];
        struct caret__op_view op = caret__op_at(b->rec, r.now);
        struct caret__seek_slot *slot = slot_of(x, b, caret__sought_hash(op.key, op.klen), op.key, op.klen);
        CARET__ASSERT_CMP(slot->place, ==, r.now);
        slot->place = r.before != 0 ? r.before : GONE;
    }
}
