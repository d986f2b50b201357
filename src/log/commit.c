/*
 * commit.c - how a change becomes durable history and visible state.
 *
 *   1  writer mutex (a dead owner's commit is repaired first)
 *   2  validate; find the place; reserve all that can run out.  If something is
 *      short: unlock, make room, start again.
 *   3  the record goes into the ring behind log_head
 *   4  log_head = L            <- the commit point; nothing may fail from here on
 *   5  apply: undo, versions, bytes
 *   6  log_applied = L         <- all of it becomes visible at once
 *   7  unlock
 *
 * The commonest change, a set whose leaf belongs to the current epoch and has
 * room, is done in place (set_in_place): only the bytes that change are saved, not
 * the page, and no page or slot is needed.  If its process dies in step 5, repair
 * restores those bytes and redoes the record the general way.
 */
#include <stdlib.h>

#include "base/error.h"
#include "log/log.h"
#include "tree/leaves.h"

/* ------------------------------------------------------------------- batches */

#define BATCH_FIRST 512u

int caret__batch_begin(struct caret__batch *b)
{
    if (b->rec == NULL) {
        b->rec = malloc(BATCH_FIRST);
        if (b->rec == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for a log record");
        b->cap = BATCH_FIRST;
    }
    b->size = CARET__REC_HEAD;
    b->nops = 0;
    b->only_kills = true;
    return CARET_OK;
}

static int batch_grow(struct caret__batch *b, uint64_t want)
{
    uint64_t cap = (uint64_t)b->cap * 2 > want ? (uint64_t)b->cap * 2 : want;
    uint8_t *rec = cap <= CARET__RING_SIZE * UINT64_C(2) ? realloc(b->rec, cap) : NULL;
    if (rec == NULL)
        return cap > CARET__RING_SIZE
                   ? caret__fail(CARET_E_TXN_TOO_BIG, "a transaction's changes exceed %u bytes",
                                 CARET__RING_SIZE / 2)
                   : caret__fail(CARET_E_NOMEM, "no memory for a log record");
    b->rec = rec;
    b->cap = (uint32_t)cap;
    return CARET_OK;
}

/* Write an op at p. */
static void put_op(uint8_t *p, enum caret__op op, const uint8_t *key, size_t klen, const void *val,
                   size_t vlen)
{
    uint64_t head = (uint64_t)op | (uint64_t)klen << 16 | (uint64_t)vlen << 32;
    uint32_t size = caret__op_size(klen, vlen);

    memset(p + size - 8, 0, 8);
    memcpy(p, &head, 8);
    memcpy(p + CARET__OP_HEAD, key, klen);
    if (vlen != 0)
        memcpy(p + CARET__OP_HEAD + klen, val, vlen);
}

int caret__batch_add(struct caret__batch *b, enum caret__op op, const uint8_t *key, size_t klen,
                     const void *val, size_t vlen)
{
    uint32_t size = caret__op_size(klen, vlen);
    if ((uint64_t)b->size + size + CARET__REC_TAIL > b->cap) {
        int rc = batch_grow(b, (uint64_t)b->size + size + CARET__REC_TAIL);
        if (rc != CARET_OK)
            return rc;
    }
    put_op(b->rec + b->size, op, key, klen, val, vlen);
    b->size += size;
    b->nops++;
    b->only_kills &= op == CARET__OP_KILL || op == CARET__OP_DELETE;
    return CARET_OK;
}

void caret__batch_destroy(struct caret__batch *b)
{
    free(b->rec);
    memset(b, 0, sizeof *b);
}

/* --------------------------------------------------------------------- room */

#define LOG_SPARE (CARET__LOG_MIN / 8u) /* of the log, kept for kills and for what is underway */

/* Is there room for size bytes in ring and log? Looked at under the mutex. */
static inline bool has_room(const struct caret__shared *sh, uint64_t head, uint32_t size, bool only_kills)
{
    uint64_t spare = only_kills ? LOG_SPARE / 2 : LOG_SPARE;
    return head + size - atomic_load_explicit(&sh->log_written, memory_order_acquire) <=
               sh->ring_size - 64u &&
           head + size + spare - atomic_load_explicit(&sh->checkpoint_lsn, memory_order_acquire) <=
               atomic_load_explicit(&sh->log_size, memory_order_relaxed);
}

/* Outside the mutex: have the ring written, or a checkpoint taken. */
static int make_room(struct caret__engine *e, uint32_t size)
{
    struct caret__shared *sh = e->sh;
    uint64_t head = atomic_load(&sh->log_head);
    if (head + size - atomic_load(&sh->log_written) > sh->ring_size / 2) {
        int rc = caret__flush(e, 0, false);
        if (rc != CARET_OK)
            return rc;
    }
    if (head + size + LOG_SPARE - atomic_load(&sh->checkpoint_lsn) > atomic_load(&sh->log_size))
        return caret__checkpoint(e);
    return CARET_OK;
}

static int may_write(struct caret__engine *e)
{
    uint32_t err = atomic_load_explicit(&e->sh->io_failed, memory_order_relaxed);
    if (caret__unlikely(atomic_load_explicit(&e->sh->floor_owner, memory_order_relaxed) != 0))
        caret__floor_wait(e);
    if (caret__likely(err == 0))
        return CARET_OK;
    return caret__fail(CARET_E_IO_FAILED,
                       "%s: a write or sync failed earlier (%s); close all users and open again", e->path,
                       strerror((int)err));
}

/* Steps 3 and 4 for a record that stands in the ring at the old head already, but for head and trailer. */
static inline uint64_t publish(struct caret__shared *sh, uint8_t *ring, uint64_t head, uint32_t size,
                               uint32_t nops)
{
    uint8_t *rec = ring + head % sh->ring_size;
    uint64_t seed, first = size | (uint64_t)nops << 32;

    memcpy(rec, &first, 8);
    memcpy(&seed, ring + (head - 8) % sh->ring_size, 8);
    uint64_t tail = caret__record_trailer(seed, rec, size);
    memcpy(rec + size - 8, &tail, 8);
    CARET_FAULT("record_written");
    atomic_store_explicit(&sh->log_head, head + size, memory_order_release);
    CARET_FAULT("commit_point");
    return head + size;
}

static inline void make_visible(struct caret__engine *e, uint64_t lsn)
{
    CARET_FAULT("before_applied");
    atomic_store_explicit(&e->sh->log_applied, lsn, memory_order_release);
    CARET_FAULT("after_applied");
    if (caret__unlikely(atomic_load_explicit(&e->sh->applied_waiters, memory_order_relaxed) != 0)) {
        atomic_fetch_add(&e->sh->applied_futex, 1);
        caret__futex_wake(&e->sh->applied_futex, INT32_MAX);
    }
}

/* After unlocking: have the background thread look if the ring fills or a checkpoint is due. */
static inline void afterwards(struct caret__engine *e, uint64_t lsn)
{
    struct caret__shared *sh = e->sh;
    if (caret__unlikely(lsn - atomic_load_explicit(&sh->log_written, memory_order_relaxed) >
                        sh->ring_size / 4))
        caret__background_wake(e);
}

/* ---------------------------------------------------------------- in general */

int caret__commit(struct caret__engine *e, struct caret__batch *b, bool (*valid)(void *ctx), void *ctx,
                  uint64_t *lsn)
{
    struct caret__shared *sh = e->sh;
    uint32_t size = b->size + CARET__REC_TAIL;
    struct caret__need need;
    int rc;

    if (size > sh->ring_size / 2)
        return caret__fail(CARET_E_TXN_TOO_BIG,
                           "%s: %u bytes of changes in one transaction, %llu is the limit", e->path, size,
                           (unsigned long long)sh->ring_size / 2);
    for (;;) {
        rc = may_write(e);
        if (rc == CARET_OK)
            rc = caret__writer_lock(e);
        if (rc != CARET_OK)
            return rc;
        if (valid != NULL && !valid(ctx)) {
            caret__writer_unlock(e);
            return CARET_RESTART;
        }
        uint64_t head = atomic_load_explicit(&sh->log_head, memory_order_relaxed);
        rc = has_room(sh, head, size, b->only_kills) ? caret__record_need(e, b->rec, size, &need)
                                                     : CARET_RESTART;
        if (rc == CARET_OK)
            rc = caret__reserve(e, &need, b->only_kills);
        if (rc == CARET_OK) {
            uint8_t *rec = e->ring + head % sh->ring_size;
            memcpy(rec, b->rec, b->size);
            *lsn = publish(sh, e->ring, head, size, b->nops);
            rc = caret__apply(e, rec, size, *lsn, CARET__APPLY_COMMIT);
            make_visible(e, *lsn);
            caret__writer_unlock(e);
            afterwards(e, *lsn);
            return rc;
        }
        bool slots = has_room(sh, head, size, b->only_kills);
        caret__writer_unlock(e);
        if (rc != CARET_RESTART)
            return rc;
        rc = slots ? caret__checkpoint(e) : make_room(e, size);
        if (rc != CARET_OK)
            return rc;
    }
}

/* ----------------------------------------------------------- one set, in place */

/* Does the key's place follow from what is remembered?  Then the spot is made to tell it. */
static bool believe(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen)
{
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
    *spot = (struct caret__spot){version, spot->pgno, (uint16_t)pos, found};
    return caret__within(p, pos, found);
}

/* Find the key under the mutex. */
static void locate(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen)
{
    if (believe(e, spot, key, klen))
        return;
    struct caret__w w = {.pg = &e->pg, .sh = e->sh};
    struct caret__path path;
    caret__descend(&w, key, klen, &path);
    spot->pgno = path.pgno[path.leaf];
    spot->pos = path.idx[path.leaf];
    spot->found = path.found;
    spot->version = atomic_load_explicit(&e->pg.ptab[spot->pgno].version, memory_order_relaxed);
}

/* Can the set be done in the leaf as it is? */
static bool fits_in_place(const struct caret__engine *e, const struct caret__spot *spot, const uint8_t *key,
                          size_t klen, size_t vlen)
{
    uint64_t word = atomic_load_explicit(&e->pg.ptab[spot->pgno].word, memory_order_relaxed);
    const struct caret__page *p = caret__page_at(&e->pg, spot->pgno, word);

    if (caret__pte_epoch(word) != atomic_load_explicit(&e->sh->epoch, memory_order_relaxed))
        return false;
    if (spot->found) {
        struct caret__entry en = caret__page_entry(p, spot->pos);
        return !en.run && (vlen <= en.vlen || caret__page_room(p) >= 2u + en.klen + vlen);
    }
    unsigned plen = p->prefix_len;
    return !caret__page_wants_prefix(p, key, klen) && klen >= plen &&
           caret__page_room(p) >= 10u + klen - plen + vlen &&
           caret__racy_cmp((const uint8_t *)p + p->prefix_off, key, plen) == 0;
}

static void set_in_place(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                         const void *val, size_t vlen, uint64_t lsn)
{
    struct caret__shared *sh = e->sh;
    struct caret__undo u = {.area = e->undo,
                            .base = e->base,
                            .word = &sh->undo_word,
                            .lsn = &sh->undo_lsn,
                            .cap = atomic_load_explicit(&sh->undo_cap, memory_order_relaxed)};
    struct caret__pte *pte = &e->pg.ptab[spot->pgno];
    struct caret__edit ed = {&u, &pte->version, lsn};
    uint64_t word = atomic_load_explicit(&pte->word, memory_order_relaxed);
    struct caret__page *p = (struct caret__page *)(uintptr_t)caret__page_at(&e->pg, spot->pgno, word);

    caret__undo_begin(&u, lsn);
    bool ok = spot->found ? caret__page_replace(p, spot->pos, val, vlen, 0, &ed)
                          : caret__page_insert(p, spot->pos, key, klen, val, vlen, 0, &ed);
    CARET__ASSERT(ok);
    (void)ok;
    spot->found = 1;
    spot->version = lsn;
}

/* The old value at a spot, for compute. */
static int compute_value(struct caret__engine *e, const struct caret__spot *spot, caret__compute *compute,
                         void *ctx, const void **val, size_t *vlen)
{
    const uint8_t *old = NULL, *new_val;
    size_t old_len = 0;

    if (spot->found) {
        uint64_t word = atomic_load_explicit(&e->pg.ptab[spot->pgno].word, memory_order_relaxed);
        struct caret__entry en = caret__page_entry(caret__page_at(&e->pg, spot->pgno, word), spot->pos);
        old = en.val;
        old_len = en.vlen;
        if (en.run && en.vlen >= 8) {
            uint32_t ref[2];
            memcpy(ref, en.val, sizeof ref);
            if (ref[0] < e->file_pages_mapped) {
                old = e->file_map + (size_t)ref[0] * CARET__PAGE_SIZE;
                old_len =
                    ref[1] < CARET__PAGE_SIZE ? ref[1] : CARET__PAGE_SIZE; /* a number ends long before */
            }
        }
    }
    int rc = compute(ctx, old, old_len, &new_val, vlen);
    *val = new_val;
    return rc;
}

/* The slow way for one set: as a batch of one.  The mutex is held and given back. */
static int set_slowly(struct caret__engine *e, const uint8_t *key, size_t klen, const void *val, size_t vlen,
                      uint64_t *lsn)
{
    struct caret__shared *sh = e->sh;
    uint32_t size = CARET__REC_HEAD + caret__op_size(klen, vlen) + CARET__REC_TAIL;
    uint64_t head = atomic_load_explicit(&sh->log_head, memory_order_relaxed);
    uint32_t pages = caret__tree_set_pages(&sh->ts);
    struct caret__need need = {pages, (uint64_t)pages * (CARET__PAGE_SIZE + 256u) + 4096u};

    if (sh->ts.has_runs)
        need.undo_bytes += (CARET_MAX_VALUE / CARET__PAGE_SIZE + 1u) * 96u;
    int rc = caret__reserve(e, &need, false);
    if (rc != CARET_OK)
        return rc;
    uint8_t *rec = e->ring + head % sh->ring_size;
    put_op(rec + CARET__REC_HEAD, CARET__OP_SET, key, klen, val, vlen);
    *lsn = publish(sh, e->ring, head, size, 1);
    rc = caret__apply(e, rec, size, *lsn, CARET__APPLY_COMMIT);
    make_visible(e, *lsn);
    return rc;
}

/* One try under the mutex.  CARET_RESTART: *room tells what is short (true: ring or log). */
static int try_set(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                   const void *val, size_t vlen, caret__compute *compute, void *ctx, uint64_t *lsn,
                   bool *room)
{
    struct caret__shared *sh = e->sh;

    locate(e, spot, key, klen);
    if (compute != NULL) {
        int rc = compute_value(e, spot, compute, ctx, &val, &vlen);
        if (rc != CARET_OK)
            return rc;
    }
    uint32_t size = CARET__REC_HEAD + caret__op_size(klen, vlen) + CARET__REC_TAIL;
    uint64_t head = atomic_load_explicit(&sh->log_head, memory_order_relaxed);
    *room = !has_room(sh, head, size, false);
    if (*room)
        return CARET_RESTART;
    if (!fits_in_place(e, spot, key, klen, vlen)) {
        spot->version = 0;
        return set_slowly(e, key, klen, val, vlen, lsn);
    }
    put_op(e->ring + head % sh->ring_size + CARET__REC_HEAD, CARET__OP_SET, key, klen, val, vlen);
    *lsn = publish(sh, e->ring, head, size, 1);
    set_in_place(e, spot, key, klen, val, vlen, *lsn);
    make_visible(e, *lsn);
    return CARET_OK;
}

int caret__commit_set(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                      const void *val, size_t vlen, caret__compute *compute, void *ctx, uint64_t *lsn)
{
    for (;;) {
        bool room = false;
        int rc = may_write(e);
        if (rc == CARET_OK)
            rc = caret__writer_lock(e);
        if (rc != CARET_OK)
            return rc;
        rc = try_set(e, spot, key, klen, val, vlen, compute, ctx, lsn, &room);
        caret__writer_unlock(e);
        if (rc == CARET_OK)
            afterwards(e, *lsn);
        if (rc != CARET_RESTART)
            return rc;
        rc = room ? make_room(e, (uint32_t)(klen + vlen + 64)) : caret__checkpoint(e);
        if (rc != CARET_OK)
            return rc;
    }
}
