/*
 * undone.c - undo entries by what they are of.
 *
 * To rebuild a page a reader needs the entries that are of its place and of its
 * page-table word.  A few entries are gone through from end to end.  A commit of
 * millions of sets has hundreds of thousands, and each page would cost as much:
 *
 *     area   | entry | entry | entry | entry | ...            |
 *                                    ^ upto   ^ used
 *     link   {end, block, next} for each entry below `upto`
 *     first  by hash of the block, the page-sized piece of the segment that it lies in: the newest
 *
 * What is saved stays as it is until the commit is done or a repairer has begun anew.  So
 * the entries that came since the last time are added, each once, and those of a
 * block are walked from the newest to the oldest, as the order wants.  An entry lies in one block, for
 * pages do, and everything else that is saved is at most a cache line; one that did not would be found by both.
 *
 * Without memory for that all entries are gone through.
 */
#include "tree/undone.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/racy.h"
#include "shm/undo.h"

#define FEW     (4u * CARET__PAGE_SIZE) /* bytes of entries that are gone through; arbitrary */
#define BUCKETS (1u << 16)

struct caret__undone_link {
    uint32_t end;   /* of the entry in the area */
    uint32_t block; /* of the segment, modulo 2^32: the search compares places anyhow */
    uint32_t next;  /* + 1 */
};

/* The entries of an area, as far as they count. */
struct area {
    const uint8_t *bytes;
    uint64_t seg_size;
    uint32_t used;
};

/* The entry that ends there: place, length and where its bytes begin; false: it makes no sense. */
static bool entry_at(const struct area *a, uint32_t end, uint64_t foot[2], uint32_t *begin)
{
    if (end < CARET__UNDO_FOOT)
        return false;
    caret__racy_copy(foot, a->bytes + end - CARET__UNDO_FOOT, 2 * sizeof foot[0]);
    uint64_t padded = (foot[1] + 7) & ~UINT64_C(7);
    if (foot[1] > CARET__PAGE_SIZE || padded + CARET__UNDO_FOOT > end || foot[0] > a->seg_size - foot[1])
        return false;
    *begin = end - (uint32_t)(padded + CARET__UNDO_FOOT);
    return true;
}

/* Copy what an entry saved of [place, place + size) over buf. */
static void undo_one(const uint8_t *saved, uint64_t from, uint64_t len, uint64_t place, uint64_t size,
                     uint8_t *buf)
{
    uint64_t start = from > place ? from : place;
    uint64_t end = from + len < place + size ? from + len : place + size;

    if (start < end)
        caret__racy_copy(buf + (start - place), saved + (start - from), end - start);
}

/* All entries, last first. */
static bool undo_all(const struct area *a, uint64_t place, uint64_t size, void *buf)
{
    uint64_t foot[2];

    for (uint32_t end = a->used, begin; end != 0; end = begin) {
        if (!entry_at(a, end, foot, &begin))
            return false;
        undo_one(a->bytes + begin, foot[0], foot[1], place, size, buf);
    }
    return true;
}

/* -------------------------------------------------------------------- links */

static inline uint32_t block_of(uint64_t place)
{
    return (uint32_t)(place / CARET__PAGE_SIZE);
}

static inline uint32_t *bucket_of(const struct caret__undone *u, uint32_t block)
{
    return &u->first[block * 0x9E3779B1u >> 16 & (BUCKETS - 1)];
}

static bool note(struct caret__undone *u, uint32_t end, uint32_t block)
{
    if (u->n == u->cap) {
        uint32_t cap = u->cap == 0 ? 4096 : 2 * u->cap;
        struct caret__undone_link *more = realloc(u->link, (size_t)cap * sizeof *more);
        if (more == NULL)
            return false;
        u->link = more;
        u->cap = cap;
    }
    u->link[u->n++] = (struct caret__undone_link){end, block, 0};
    return true;
}

/* For that commit, from its first entry on. */
static bool begin_anew(struct caret__undone *u, uint64_t applied, uint32_t generation)
{
    if (u->first == NULL && (u->first = malloc(BUCKETS * sizeof *u->first)) == NULL)
        return false;
    memset(u->first, 0, BUCKETS * sizeof *u->first);
    u->applied = applied;
    u->generation = generation;
    u->upto = u->n = 0;
    return true;
}

/* Add the entries from `upto` on: 1; 0: no memory; -1: they make no sense. */
static int catch_up(struct caret__undone *u, const struct area *a)
{
    uint32_t before = u->n, begin;
    uint64_t foot[2];
    bool ok = a->used >= u->upto, memory = true;

    for (uint32_t end = a->used; ok && memory && end > u->upto; end = begin) {
        ok = entry_at(a, end, foot, &begin);
        if (!ok)
            break;
        uint32_t first = block_of(foot[0]), last = block_of(foot[0] + (foot[1] != 0 ? foot[1] - 1 : 0));
        memory = note(u, end, first) && (last == first || note(u, end, last));
    }
    if (!ok || !memory) {
        u->n = before;
        return ok ? 0 : -1;
    }
    for (uint32_t i = u->n; i-- > before;) { /* the oldest first, so that the newest is found first */
        uint32_t *head = bucket_of(u, u->link[i].block);
        u->link[i].next = *head;
        *head = i + 1;
    }
    u->upto = a->used;
    return 1;
}

static bool undo_linked(const struct caret__undone *u, const struct area *a, uint64_t place, uint64_t size,
                        void *buf)
{
    uint32_t block = block_of(place), begin;
    uint64_t foot[2];

    for (uint32_t i = *bucket_of(u, block); i != 0; i = u->link[i - 1].next) {
        if (u->link[i - 1].block != block)
            continue;
        if (!entry_at(a, u->link[i - 1].end, foot, &begin))
            return false;
        undo_one(a->bytes + begin, foot[0], foot[1], place, size, buf);
    }
    return true;
}

bool caret__undone_on(struct caret__undone *u, const struct caret__engine *e, uint64_t applied,
                      uint32_t generation, const void *what, uint64_t size, void *buf)
{
    uint64_t place = (uint64_t)((const uint8_t *)what - e->base);

    atomic_thread_fence(memory_order_acquire); /* the count is read after the bytes */
    uint64_t word = atomic_load_explicit(&e->sh->undo_word, memory_order_acquire);
    uint64_t backed = atomic_load_explicit(&e->sh->undo_cap, memory_order_acquire);
    struct area a = {.used = caret__undo_used(word), .seg_size = e->sh->seg_size};
    if (caret__undo_area(word) > CARET__UNDO_NEARS ||
        a.used > caret__undo_room(caret__undo_area(word), backed))
        return false;
    a.bytes = e->undo + caret__undo_offset(caret__undo_area(word));
    if (a.used < FEW)
        return undo_all(&a, place, size, buf);
    if (word >> 32 != generation)
        return false;
    if (u->first == NULL || u->applied != applied || u->generation != generation) {
        if (!begin_anew(u, applied, generation))
            return undo_all(&a, place, size, buf);
    }
    int linked = catch_up(u, &a);
    if (linked == 0)
        return undo_all(&a, place, size, buf);
    return linked > 0 && undo_linked(u, &a, place, size, buf);
}

void caret__undone_destroy(struct caret__undone *u)
{
    free(u->first);
    free(u->link);
    *u = (struct caret__undone){0};
}
