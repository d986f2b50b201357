/*
 * commit_parts.h - what both ways of committing share (commit.c, commit_sets.c): the record in the ring, the
 * commit point, the end; where a key is, and the change of a leaf that has room for it.
 *
 * All of it is done under the writer mutex.
 */
#ifndef CARET_LOG_COMMIT_PARTS_H
#define CARET_LOG_COMMIT_PARTS_H

#include "base/error.h"
#include "disk/record.h"
#include "log/commit.h"
#include "log/flush.h"
#include "tree/leaves.h"

#define CARET__WRITTEN_SOON                                                                                  \
    512u /* bytes of a record that are fetched ahead: as many lines as come at once, or so */

#define CARET__COPIED_HERE 128u /* bytes of a record; arbitrary */

/* What a commit is sure to write besides the mutex's line: these lines come all at once, not one after the other.  Not
 * before the mutex is held: its holder would lose them. */
static inline void caret__will_commit(const struct caret__engine *e, uint32_t size)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    const uint8_t *rec = caret__ring_at(e, atomic_load_explicit(&e->sh->log_head, memory_order_relaxed));

    caret__will_write(&e->sh->log_applied);
    for (uint32_t i = 0; i <= size && i < CARET__WRITTEN_SOON; i += 64)
        caret__will_write(rec + i);
}

/* A record but for its trailer, of which anything may be copied.  Most are short, and not worth a call. */
static inline void caret__copy_record(uint8_t *at, const uint8_t *rec, uint32_t size)
{
    CARET__ASSERT(size % 8 == 0 && size >= CARET__REC_HEAD + CARET__REC_TAIL);
    if (caret__unlikely(size > CARET__COPIED_HERE))
        memcpy(at, rec, size - CARET__REC_TAIL);
    else
        for (uint32_t i = 0; i < size - CARET__REC_TAIL; i += 16) {
            struct caret__words words;
            memcpy(&words, rec + i, sizeof words);
            memcpy(at + i, &words, sizeof words);
        }
}

/* Steps 3 and 4: the record goes after the old head; *lsn: the new one.  Returns where it stands. */
static inline uint8_t *caret__publish(struct caret__engine *e, const uint8_t *rec, uint32_t size,
                                      uint32_t crc, uint64_t *lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t head = atomic_load_explicit(&sh->log_head, memory_order_relaxed);
    uint64_t tail = caret__record_trailer(sh->log_seed, crc, size);
    uint8_t *at = caret__ring_at(e, head);

    CARET__ASSERT(size % 8 == 0 && size <= CARET__BIG_RECORD);
    caret__copy_record(at, rec, size);
    memcpy(at + size - CARET__REC_TAIL, &tail, CARET__REC_TAIL);
    sh->log_seed = tail;
    CARET_FAULT("record_written");
    atomic_store_explicit(&sh->log_head, head + size, memory_order_release);
    CARET_FAULT("commit_point");
    *lsn = head + size;
    return at;
}

static inline void caret__make_visible(struct caret__engine *e, uint64_t lsn)
{
    CARET__ASSERT(lsn == atomic_load_explicit(&e->sh->log_head, memory_order_relaxed));
    CARET__ASSERT(caret__writer_held(e->sh));
    CARET_FAULT("before_applied");
    atomic_store_explicit(&e->sh->log_applied, lsn, memory_order_release);
    CARET_FAULT("after_applied");
}

/* Does the key's place follow from what is remembered?  Then the spot is made to tell it. */
static inline bool caret__believe(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key,
                                  size_t klen)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    if (spot->version == 0 || spot->pgno >= e->pg.max_pages)
        return false;
    const struct caret__pte *pte = &e->pg.ptab[spot->pgno];
    uint64_t word = atomic_load_explicit(&pte->word, memory_order_relaxed);
    uint64_t version = atomic_load_explicit(&pte->version, memory_order_relaxed);
    if (word & CARET__PTE_OBSOLETE || !caret__bytes_known(&e->pg, spot->pgno, word))
        return false;
    if (version == spot->version && spot->found != CARET__SPOT_LEAF)
        return true;
    const struct caret__page *p = caret__page_at(&e->pg, spot->pgno, word);
    bool found;
    if ((version != spot->version && caret__pte_slot(word) == CARET__SLOT_NONE) ||
        caret__racy8(&p->type) != CARET__PAGE_LEAF)
        return false;
    unsigned pos = caret__page_find(p, key, klen, &found);
    *spot = (struct caret__spot){version, spot->pgno, (uint16_t)pos, found, 0};
    return caret__within(p, pos, found);
}

/* Find the key from the root on.  CARET_OK or CORRUPT. */
int caret__locate_anew(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen);

/* Find the key.  CARET_OK or CORRUPT. */
static inline int caret__locate(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key,
                                size_t klen)
{
    if (caret__unlikely(!caret__believe(e, spot, key, klen)))
        return caret__locate_anew(e, spot, key, klen);
    struct caret__spot anew = *spot;
    CARET__ASSERT(caret__locate_anew(e, &anew, key, klen) == CARET_OK && anew.pgno == spot->pgno &&
                  anew.pos == spot->pos && anew.found == spot->found);
    return CARET_OK;
}

/* What the sets and deletes of a batch that go to one leaf will have done to it. */
struct caret__taken {
    uint32_t bytes; /* of its room */
    uint32_t gone;  /* bytes of what was deleted */
    bool shrunk;    /* a value has got shorter: which one is not remembered */
};

/* Can the set be done in the leaf as it is, after those sets of it that *taken tells of?  Adds its own. */
static inline bool caret__fits_in_place(const struct caret__engine *e, const struct caret__spot *spot,
                                        const uint8_t *key, size_t klen, size_t vlen,
                                        struct caret__taken *taken)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    uint64_t word = atomic_load_explicit(&e->pg.ptab[spot->pgno].word, memory_order_relaxed);
    const struct caret__page *p = caret__page_at(&e->pg, spot->pgno, word);

    if (caret__pte_epoch(word) != atomic_load_explicit(&e->sh->epoch, memory_order_relaxed))
        return false;
    if (spot->found) {
        struct caret__entry en = caret__page_entry(p, spot->pos);
        bool grows = vlen > en.vlen || taken->shrunk; /* perhaps this one */
        taken->shrunk |= vlen < en.vlen;
        taken->bytes += grows ? (uint32_t)caret__entry_bytes(en.klen, vlen) : 0;
        return !en.run && (!grows || caret__page_room(p) >= taken->bytes);
    }
    unsigned plen = p->prefix_len;
    taken->bytes += (uint32_t)caret__entry_room(klen - plen, vlen);
    return !caret__page_wants_prefix(p, key, klen) && klen >= plen && caret__page_room(p) >= taken->bytes &&
           caret__racy_cmp((const uint8_t *)p + p->prefix_off, key, plen) == 0;
}

/* Can the value at the spot be deleted in the leaf as it is, after those changes?  Not if the leaf would be joined with
 * another (tree/shrink.c), or a long value given up. */
static inline bool caret__goes_in_place(const struct caret__engine *e, const struct caret__spot *spot,
                                        struct caret__taken *taken)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    uint64_t word = atomic_load_explicit(&e->pg.ptab[spot->pgno].word, memory_order_relaxed);
    const struct caret__page *p = caret__page_at(&e->pg, spot->pgno, word);

    if (!spot->found)
        return true;
    if (caret__pte_epoch(word) != atomic_load_explicit(&e->sh->epoch, memory_order_relaxed))
        return false;
    struct caret__entry en = caret__page_entry(p, spot->pos);
    taken->gone += (uint32_t)caret__entry_room(en.klen, en.vlen);
    return !en.run && caret__page_used(p) > CARET__PAGE_USABLE / 4u + taken->gone;
}

/* Delete a value that is in its leaf, whose place in it is known. */
static inline void caret__leave_leaf(struct caret__engine *e, struct caret__undo *u, struct caret__spot *spot,
                                     uint64_t lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh) && spot->found == 1);
    struct caret__pte *pte = &e->pg.ptab[spot->pgno];
    struct caret__edit ed = {u, &pte->version, lsn};
    uint64_t word = atomic_load_explicit(&pte->word, memory_order_relaxed);
    struct caret__page *p = (struct caret__page *)(uintptr_t)caret__page_at(&e->pg, spot->pgno, word);

    caret__page_remove(p, spot->pos, spot->pos + 1u, &ed);
    spot->found = 0;
    spot->version = lsn;
}

/* Change the leaf, whose place in it is known. */
static inline void caret__change_leaf(struct caret__engine *e, struct caret__undo *u,
                                      struct caret__spot *spot, const uint8_t *key, size_t klen,
                                      const void *val, size_t vlen, uint64_t lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__pte *pte = &e->pg.ptab[spot->pgno];
    struct caret__edit ed = {u, &pte->version, lsn};
    uint64_t word = atomic_load_explicit(&pte->word, memory_order_relaxed);
    struct caret__page *p = (struct caret__page *)(uintptr_t)caret__page_at(&e->pg, spot->pgno, word);

    bool ok = spot->found ? caret__page_replace(p, spot->pos, val, vlen, 0, &ed)
                          : caret__page_insert(p, spot->pos, key, klen, val, vlen, 0, &ed);
    CARET__ASSERT(ok);
    (void)ok;
    spot->found = 1;
    spot->version = lsn;
}

/* Can the value at a spot be given up?  CARET_OK or CORRUPT. */
static inline int caret__value_check(const struct caret__engine *e, const struct caret__spot *spot)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    if (spot->found != 1)
        return CARET_OK;
    uint64_t word = atomic_load_explicit(&e->pg.ptab[spot->pgno].word, memory_order_relaxed);
    struct caret__entry en = caret__page_entry(caret__page_at(&e->pg, spot->pgno, word), spot->pos);
    return caret__tree_run_ok(&e->pg, &en)
               ? CARET_OK
               : caret__corrupt_page(&e->pg, spot->pgno, "refers to a value outside of the file");
}

/* A batch whose record is finished but for its trailer. */
struct caret__finished {
    struct caret__batch *b;
    uint32_t size, crc;
};

/* commit_sets.c: commit a batch of a few sets and deletes, mostly in place.  CARET_NONE: not so, but in general;
 * CARET_RESTART: a checkpoint must make room first.  Nothing was done then. */
int caret__commit_small(struct caret__engine *e, const struct caret__finished *r, uint64_t *lsn);

#endif
