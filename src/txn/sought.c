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
 *   Where there is no memory the index goes, and the next read makes another one, or says so.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "txn/txn.h"

#define FIRST_SLOTS 256u
#define GONE        1u
#define GROWS_FAST  (1u << 15) /* up to so many: what is there is moved seldom */

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
                            const uint8_t *key, size_t len)
{
    return slot_of(x, b, hash, key, len)->place;
}

/* -------------------------------------------------------------------- making */

void caret__sought_drop(struct caret__sought *x)
{
    free(x->slot);
    free(x->replaced);
    memset(x, 0, sizeof *x);
}

/* So many slots; what those before say goes along. */
static bool resize(struct caret__sought *x, uint32_t size)
{
    struct caret__seek_slot *slot = calloc(size, sizeof *slot);

    if (slot == NULL)
        return false;
    x->used = 0;
    for (uint32_t i = 0; i < x->size; i++) {
        if (x->slot[i].place <= GONE)
            continue;
        uint32_t to = x->slot[i].hash & (size - 1);
        while (slot[to].place != 0)
            to = (to + 1) & (size - 1);
        slot[to] = x->slot[i];
        x->used++;
    }
    free(x->slot);
    x->slot = slot;
    x->size = size;
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

bool caret__sought_add(struct caret__sought *x, const struct caret__batch *b, uint32_t place, uint32_t hash,
                       bool in_savepoint)
{
    struct caret__op_view op = caret__op_at(b->rec, place);

    if (x->used >= x->size / 2 && !resize(x, x->size < GROWS_FAST ? x->size * 4 : x->size * 2)) {
        caret__sought_drop(x);
        return false;
    }
    struct caret__seek_slot *slot = slot_of(x, b, hash, op.key, op.klen);
    if (in_savepoint && !remember(x, place, slot->place)) {
        caret__sought_drop(x);
        return false;
    }
    if (!in_savepoint)
        x->nreplaced = 0;
    x->used += slot->place == 0;
    *slot = (struct caret__seek_slot){hash, place};
    return true;
}

int caret__sought_make(struct caret__sought *x, const struct caret__batch *b, uint32_t savepoint)
{
    uint32_t size = FIRST_SLOTS;

    CARET__ASSERT(x->size == 0);
    while (size / 4 < b->nops)
        size *= 2;
    bool ok = resize(x, size);
    for (uint32_t at = CARET__REC_HEAD; ok && at < b->size;) {
        struct caret__op_view op = caret__op_at(b->rec, at);
        ok = caret__sought_add(x, b, at, caret__sought_hash(op.key, op.klen), at >= savepoint);
        at += caret__op_size(op.klen, op.vlen);
    }
    if (ok)
        return CARET_OK;
    caret__sought_drop(x);
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
