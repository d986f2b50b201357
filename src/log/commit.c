/*
 * commit.c - how a change becomes durable history and visible state.
 *
 *   1  writer mutex (a dead owner's commit is repaired first)
 *   2  validate; find the place; reserve all that can run out.  If something is
 *      short: unlock, make room, start again.
 *   3  the record goes into the ring after log_head
 *   4  log_head = L            <- the commit point; nothing may fail from here on
 *   5  apply: undo, versions, bytes
 *   6  log_applied = L         <- all of it becomes visible at once
 *   7  unlock; wake those that wait for such a change (await.c)
 *
 * The commonest change, a set whose leaf belongs to the current epoch and has
 * room, is done in place (overwrite_in_place, change_in_place): only the bytes that change are saved, not
 * the page, and no page or slot is needed.  So are most sets of a small batch (commit_sets.c).
 * If its process dies in step 5, repair restores what was saved, of several
 * changes of one page the last first, and redoes the record the general way.
 *
 * Large transactions.  Their records do not go through the ring (flush.c).  Step 2 counts what step 5 takes,
 * leaf by leaf (tree/row.c), and refuses what arena, undo area, disk or memory cannot hold, before anything
 * has changed.  What is changed in place is saved whole, and the undo area may be too small for that; of a
 * page of an older epoch nothing is saved but its page-table word.  So what finds no room takes a checkpoint
 * and tries again while it still has that role: under one holding of the writer mutex the epoch is frozen, if
 * anything was changed since, and the record committed; every page it meets is copied.  The role comes before
 * the flush mutex, and that before the writer mutex.  Whoever has the role next finishes that checkpoint.
 * Other writers wait as long as it takes, readers read around it (tree/past.c).
 */
#include <stdlib.h>

#include "base/crc32c.h"
#include "log/apply.h"
#include "log/await.h"
#include "log/background.h"
#include "log/brake.h"
#include "log/checkpoint.h"
#include "log/commit_parts.h"
#include "log/floor.h"
#include "log/lengthen.h"
#include "log/reserve.h"
#include "log/writer.h"
#include "page/edit.h"
#include "shm/memory.h"

/* ------------------------------------------------------------------- batches */

#define BATCH_FIRST 512u
#define MUCH        (64u << 20) /* from then on it grows by a quarter; arbitrary */
#define STEP        (1u << 20) /* a larger one is mapped in such steps, which takes two thirds of what faults do */

int caret__batch_begin(struct caret__batch *b)
{
    if (b->rec == NULL) {
        b->rec = malloc(BATCH_FIRST);
        if (b->rec == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for a log record");
        b->cap = b->room = BATCH_FIRST;
    }
    b->size = CARET__REC_HEAD;
    caret__batch_crc_anew(b);
    b->nops = 0;
    b->values = 0;
    b->kinds = 0;
    b->nspots = 0;
    return CARET_OK;
}

static int batch_allocate(struct caret__batch *b, uint64_t want)
{
    uint64_t room = caret__max64((uint64_t)b->room + (b->room < MUCH ? b->room : b->room / 4), want);
    if (room > UINT32_MAX)
        return caret__fail(CARET_E_TXN_TOO_BIG, "a transaction's changes exceed 4 GiB");
    uint8_t *rec = caret__memory_has(room - b->room) ? realloc(b->rec, room) : NULL;
    if (rec == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a log record of %llu bytes",
                           (unsigned long long)room);
    b->rec = rec;
    b->room = (uint32_t)room;
    return CARET_OK;
}

/* While the last ops are in a cache: at the end they would have to come from memory once more. */
static void add_to_crc(struct caret__batch *b)
{
    b->crc = caret__crc32c(b->crc, b->rec + b->crc_upto, b->size - b->crc_upto);
    b->crc_upto = b->size;
}

static int batch_grow(struct caret__batch *b, uint64_t want)
{
    int rc = want > b->room ? batch_allocate(b, want) : CARET_OK;

    if (rc != CARET_OK)
        return rc;
    if (b->room > STEP)
        add_to_crc(b);
    uint32_t cap = (uint32_t)caret__min64(caret__max64(b->cap + (uint64_t)STEP, want), b->room);
    if (b->room > STEP)
        caret__populate(b->rec + b->cap, cap - b->cap);
    b->cap = cap;
    return CARET_OK;
}

/* Write an op at p. */
static void put_op(uint8_t *p, enum caret__op op, const uint8_t *key, size_t klen, const void *val,
                   size_t vlen)
{
    CARET__ASSERT(klen != 0 && klen <= CARET__KEY_MAX);
    uint64_t head = (uint64_t)op | (uint64_t)klen << 16 | (uint64_t)vlen << 32;
    uint32_t size = caret__op_size(klen, vlen);

    memset(p + size - 8, 0, 8);
    memcpy(p, &head, 8);
    caret__racy_copy_short(p + CARET__OP_HEAD, key, klen);
    caret__racy_copy_value(p + CARET__OP_HEAD + klen, val, vlen);
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
    b->values += vlen;
    b->kinds |= CARET__KIND(op);
    return CARET_OK;
}

void caret__batch_destroy(struct caret__batch *b)
{
    free(b->rec);
    memset(b, 0, sizeof *b);
}

/* --------------------------------------------------------------------- room */

/* Bytes of the log that are kept for kills and for what is underway. */
static inline uint64_t log_spare(const struct caret__shared *sh)
{
    return caret__min64(atomic_load_explicit(&sh->log_size, memory_order_relaxed), CARET__LOG_DEFAULT) / 8;
}

/* Must the log be made longer before so many bytes can follow? (lengthen.c) */
static inline bool beyond_limit(const struct caret__shared *sh, uint64_t head, uint32_t size)
{
    return head + size - 1 >= atomic_load_explicit(&sh->log_limit, memory_order_relaxed) - 1;
}

/* Bytes of the ring that are never used: the 8 before log_written, which seed the chain for a recovery that begins to
 * read there, and so the line that they are in. */
#define RING_KEPT 64u

static inline bool is_room(const struct caret__shared *sh, uint64_t head, uint32_t size, uint64_t spare)
{
    return (size > CARET__BIG_RECORD ||
            head + size - atomic_load_explicit(&sh->log_written, memory_order_acquire) <=
                sh->ring_size - RING_KEPT) &&
           head + size + spare - atomic_load_explicit(&sh->checkpoint_lsn, memory_order_acquire) <=
               atomic_load_explicit(&sh->log_size, memory_order_relaxed) &&
           !beyond_limit(sh, head, size);
}

/* For so many bytes nobody looks again: as soon as that a brake is noticed, and that the ring fills; arbitrary. */
#define ROOM_STEP (CARET__RING_SIZE / 16)

/*
 * Up to where there is room.  It is true for as long as it stands: log_written and checkpoint_lsn only rise (but for
 * what a death leaves beyond log_head, which repair takes back before anybody looks here), log_size only grows, and
 * whoever sets log_limit, under the mutex, makes log_room 0 before.
 */
static uint64_t room_upto(const struct caret__shared *sh, uint64_t head)
{
    CARET__ASSERT(caret__writer_held(sh));
    uint64_t ring = atomic_load_explicit(&sh->log_written, memory_order_acquire) + sh->ring_size - RING_KEPT;
    uint64_t log = atomic_load_explicit(&sh->checkpoint_lsn, memory_order_acquire) +
                   atomic_load_explicit(&sh->log_size, memory_order_relaxed) - log_spare(sh);
    uint64_t limit = atomic_load_explicit(&sh->log_limit, memory_order_relaxed) - 1; /* 0: there is none */
    uint64_t brake = atomic_load_explicit(&sh->log_brake, memory_order_relaxed) - 1;

    return caret__min64(caret__min64(caret__min64(ring, log), caret__min64(limit, brake)), head + ROOM_STEP);
}

static __attribute__((noinline)) bool look_for_room(struct caret__shared *sh, uint64_t head, uint32_t size,
                                                    bool only_kills)
{
    CARET__ASSERT(caret__writer_held(sh));
    uint64_t spare = only_kills ? log_spare(sh) / 2 : log_spare(sh);

    sh->log_room = room_upto(sh, head);
    return is_room(sh, head, size, spare) && (size > CARET__BIG_RECORD || !caret__braked(sh, head + size));
}

/* Is there room for size bytes in ring and log? Looked at under the mutex. */
static inline bool has_room(struct caret__shared *sh, uint64_t head, uint32_t size, bool only_kills)
{
    CARET__ASSERT(caret__writer_held(sh));
    CARET__ASSERT(head + size > sh->log_room || is_room(sh, head, size, log_spare(sh)));
    return caret__likely(head + size <= sh->log_room) || look_for_room(sh, head, size, only_kills);
}

/* Outside the mutex: have the ring written, or a checkpoint taken. */
static int make_room(struct caret__engine *e, uint32_t size)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t head = atomic_load(&sh->log_head);
    if (caret__braked(sh, head + size))
        caret__brake_wait(e);
    if (head + size - atomic_load(&sh->log_written) > sh->ring_size / 2) {
        int rc = caret__flush(e, 0, false);
        if (rc != CARET_OK)
            return rc;
    }
    if (head + size + log_spare(sh) - atomic_load(&sh->checkpoint_lsn) > atomic_load(&sh->log_size) ||
        beyond_limit(sh, head, size))
        return caret__checkpoint_room(e);
    return CARET_OK;
}

static __attribute__((noinline)) int may_write_slow(struct caret__engine *e)
{
    uint32_t err = atomic_load_explicit(&e->sh->io_failed, memory_order_relaxed);
    if (atomic_load_explicit(&e->sh->floor_owner, memory_order_relaxed) != 0)
        caret__floor_wait(e);
    if (err == 0)
        return CARET_OK;
    return caret__fail(CARET_E_IO_FAILED,
                       "%s: a write or sync failed earlier (%s); close all users and open again", e->path,
                       strerror((int)err));
}

static inline int may_write(struct caret__engine *e)
{
    if (caret__likely((atomic_load_explicit(&e->sh->floor_owner, memory_order_relaxed) |
                       atomic_load_explicit(&e->sh->io_failed, memory_order_relaxed)) == 0))
        return CARET_OK;
    return may_write_slow(e);
}

/* Head of a record whose ops stand after it; its crc. */
static inline uint32_t finish_record(uint8_t *rec, uint32_t size, uint32_t nops)
{
    uint64_t first = size | (uint64_t)nops << 32;
    memcpy(rec, &first, 8);
    return caret__record_crc(rec, size);
}

/* Of which the crc of a part is known. */
uint32_t caret__batch_finish(struct caret__batch *b)
{
    uint32_t size = b->size + CARET__REC_TAIL;
    uint64_t first = size | (uint64_t)b->nops << 32;

    if (b->crc_upto == CARET__REC_HEAD)
        return finish_record(b->rec, size, b->nops);
    memcpy(b->rec, &first, 8);
    add_to_crc(b);
    uint32_t crc =
        caret__crc32c_join(caret__crc32c(0, b->rec, CARET__REC_HEAD), b->crc, b->size - CARET__REC_HEAD);
    return crc;
}

int caret__record_refused(const struct caret__engine *e, uint64_t size)
{
    uint32_t now = caret__record_limit(e->sh), most = caret__record_possible(e->sh);
    const char *why = now >= most   ? "make several of it, or ask for a larger log_size"
                      : size > most ? "make several of it"
                                    : "disk, or limits of files, have no room for a longer log";

    return caret__fail(
        CARET_E_TXN_TOO_BIG,
        "%s: %llu bytes of changes in one transaction; three quarters of the log, %u, are the limit: %s",
        e->path, (unsigned long long)size, size > most ? most : now, why);
}

/* After unlocking: wake those who wait for such a change.  looked: also have the background thread look if the ring
 * fills or a checkpoint is due. */
static inline void afterwards(struct caret__engine *e, const uint8_t *rec, uint32_t size, uint64_t lsn,
                              bool looked)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    caret__await_tell(e, rec, size);
    if (caret__unlikely(looked && lsn - atomic_load_explicit(&sh->log_written, memory_order_relaxed) >
                                      sh->ring_size / 4)) {
        caret__background_wake(e);
        caret__await_tell(e, NULL, 0); /* or a waiter for something else would have much to read at once */
    }
}

/* --------------------------------------------------------------- sets in place */

int caret__locate_anew(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__w w = {.pg = &e->pg, .sh = e->sh};
    struct caret__path path;
    uint32_t bad = caret__descend(&w, key, klen, &path);

    if (bad != 0)
        return caret__corrupt_page(&e->pg, bad, "damaged, or not where it belongs");
    *spot = (struct caret__spot){
        atomic_load_explicit(&e->pg.ptab[path.pgno[path.leaf]].version, memory_order_relaxed),
        path.pgno[path.leaf], path.idx[path.leaf], path.found, 0};
    return CARET_OK;
}

/* ---------------------------------------------------------------- in general */

/* Steps 3 and 4 for a record that does not go through the ring; the flush mutex is held too. */
static int publish_big(struct caret__engine *e, const struct caret__finished *r, uint64_t *lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    CARET__HELD(&e->sh->flush);
    struct caret__shared *sh = e->sh;
    uint64_t tail = caret__record_trailer(sh->log_seed, r->crc, r->size);

    memcpy(r->b->rec + r->size - CARET__REC_TAIL, &tail, CARET__REC_TAIL);
    int rc = caret__flush_record(e, r->b->rec, r->size);
    if (rc != CARET_OK)
        return rc;
    sh->big_seed = sh->log_seed;
    sh->log_seed = tail;
    *lsn = atomic_load_explicit(&sh->log_head, memory_order_relaxed) + r->size;
    atomic_store_explicit(&sh->log_head, *lsn, memory_order_release);
    CARET_FAULT("commit_point");
    return CARET_OK;
}

/* One try under the mutex.  CARET_ROLLBACK: not valid.  CARET_RESTART: *room tells what is short. */
static int try_batch(struct caret__engine *e, const struct caret__finished *r, bool (*valid)(void *ctx),
                     void *ctx, uint64_t *lsn, bool *room)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__need need;
    int rc;

    caret__will_commit(e, r->size);
    if (valid != NULL && !valid(ctx))
        return CARET_ROLLBACK;
    *room = !has_room(e->sh, atomic_load_explicit(&e->sh->log_head, memory_order_relaxed), r->size,
                      caret__batch_only(r->b, CARET__KINDS_KILL));
    if (*room)
        return CARET_RESTART;
    rc = CARET_NONE;
    if (caret__batch_wants_spots(r->b) && r->size <= CARET__BIG_RECORD)
        rc = caret__commit_small(e, r, lsn);
    if (rc != CARET_NONE)
        return rc;
    rc = caret__record_need(e, r->b->rec, r->size, &need);
    if (rc == CARET_OK)
        rc = caret__reserve(e, &need, caret__batch_only(r->b, CARET__KINDS_KILL));
    if (rc != CARET_OK)
        return rc;
    const uint8_t *rec = r->b->rec;
    if (r->size > CARET__BIG_RECORD)
        rc = publish_big(e, r, lsn);
    else
        rec = caret__publish(e, rec, r->size, r->crc, lsn);
    if (rc != CARET_OK)
        return rc;
    uint32_t free_slots = e->sh->ts.free_slots;
    rc = caret__apply(e, rec, r->size, *lsn, CARET__APPLY_COMMIT, need.in_rows);
    CARET__ASSERT_CMP(free_slots - e->sh->ts.free_slots, <=, need.pages); /* else it was luck */
    caret__make_visible(e, *lsn);
    return rc;
}

/* What caret__commit() was asked for. */
struct commit {
    struct caret__finished r;
    bool (*valid)(void *ctx);
    void *ctx;
    uint64_t *lsn;
    bool room; /* it was room in ring or log that was missing */
};

/* One try.  freeze: in the checkpoint role. */
static int try_commit(struct caret__engine *e, struct commit *c, bool freeze)
{
    CARET__ASSERT(freeze == caret__holds(&e->sh->checkpoint));
    bool big = c->r.size > CARET__BIG_RECORD;
    int rc = big ? caret__flush_hold(e) : CARET_OK;

    if (rc != CARET_OK)
        return rc;
    rc = caret__writer_lock(e);
    if (rc == CARET_OK) {
        if (freeze && e->sh->frozen.lsn != atomic_load(&e->sh->log_applied))
            caret__freeze(e, 0);
        rc = try_batch(e, &c->r, c->valid, c->ctx, c->lsn, &c->room);
        caret__writer_unlock(e);
    }
    if (big)
        caret__flush_release(e);
    return rc;
}

static int try_in_role(struct caret__engine *e, void *arg)
{
    CARET__HELD(&e->sh->checkpoint);
    struct commit *c = arg;

    if (c->r.size > caret__record_limit(e->sh)) /* there was no room for a longer log */
        return caret__record_refused(e, c->r.size);
    return try_commit(e, c, true);
}

/* Is the log to be made longer for the record?  Then: can it be, and has the arena room for its values? */
static int may_lengthen(struct caret__engine *e, const struct caret__finished *r)
{
    if (r->size <= caret__record_limit(e->sh))
        return CARET_OK;
    if (r->size > caret__record_possible(e->sh))
        return caret__record_refused(e, r->size);
    return caret__may_take(e, (uint32_t)(r->b->values / CARET__PAGE_SIZE));
}

int caret__commit(struct caret__engine *e, struct caret__batch *b, bool (*valid)(void *ctx), void *ctx,
                  uint64_t *lsn)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct commit c = {{b, b->size + CARET__REC_TAIL, 0}, valid, ctx, lsn, false};

    int rc = may_lengthen(e, &c.r);
    if (rc != CARET_OK)
        return rc;
    c.r.crc = caret__batch_finish(b);
    bool big = c.r.size > CARET__BIG_RECORD;
    for (bool again = false;; again = true) {
        uint64_t log_size = c.r.size > caret__record_limit(e->sh) ? caret__log_for_record(c.r.size)
                                                                  : 0; /* to be made so long */
        rc = may_write(e);
        if (rc == CARET_OK && ((again && big) || log_size != 0))
            rc = caret__checkpoint_then(e, log_size, try_in_role, &c);
        else if (rc == CARET_OK)
            rc = try_commit(e, &c, false);
        if (rc == CARET_OK)
            afterwards(e, b->rec, c.r.size, *lsn, true);
        if (rc != CARET_RESTART)
            return rc == CARET_ROLLBACK ? CARET_RESTART : rc;
        rc = big ? CARET_OK : c.room ? make_room(e, c.r.size) : caret__checkpoint_room(e);
        if (rc != CARET_OK)
            return rc;
    }
}

/* -------------------------------------------------------------------- one set */

/* A set in place writes about a line of the ring. */
#define SET_SOON 64u

/* Room for a record, which is made before the mutex is taken unless its value is computed under it. */
#define SET_MAX                                                                                              \
    (CARET__REC_HEAD + CARET__OP_HEAD + CARET__KEY_MAX + CARET__INLINE_MAX + 16u + CARET__REC_TAIL)
struct set_record {
    uint8_t bytes[SET_MAX];
};

/* A set of one node. */
struct set {
    struct caret__spot *spot;
    const uint8_t *key;
    size_t klen;
    const void *val;
    size_t vlen;
    caret__compute *compute;  /* NULL: the value is known */
    bool (*valid)(void *ctx); /* NULL: it is set in any case */
    void *ctx;
    struct set_record *room; /* elsewhere: the compiler keeps what is here in registers */
    const uint8_t *rec;      /* it, finished but for its trailer */
    uint32_t size, crc;
    uint64_t *lsn;
    bool looked; /* for room in ring and log; log_room did not tell */
    bool full;   /* it was that room that was missing */
};

static inline void make_record(struct set *s)
{
    uint8_t *rec = s->room->bytes;

    s->rec = rec;
    s->size = CARET__REC_HEAD + caret__op_size(s->klen, s->vlen) + CARET__REC_TAIL;
    put_op(rec + CARET__REC_HEAD, CARET__OP_SET, s->key, s->klen, s->val, s->vlen);
    s->crc = finish_record(rec, s->size, 1);
}

/* What is at a spot. */
struct seen {
    uint64_t word;           /* of the leaf's entry in the page table */
    struct caret__entry old; /* val NULL: the key is not there */
};

static inline struct seen look_at(const struct caret__engine *e, const struct caret__spot *spot)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct seen at = {atomic_load_explicit(&e->pg.ptab[spot->pgno].word, memory_order_relaxed), {0}};

    if (spot->found)
        at.old = caret__page_entry(caret__page_at(&e->pg, spot->pgno, at.word), spot->pos);
    return at;
}

/* A value out of line: read as far as the number goes. */
static __attribute__((noinline)) const uint8_t *old_run(const struct caret__engine *e, const uint8_t *val,
                                                        size_t *len)
{
    uint32_t ref[2];

    if (*len < sizeof ref)
        return val;
    memcpy(ref, val, sizeof ref);
    if (!caret__run_below(ref[0], ref[1], e->sh->ts.npages))
        return val;
    *len = ref[1];
    return e->file_map + (size_t)ref[0] * CARET__PAGE_SIZE;
}

/* Have the new value computed from the old one, and the record made. */
static inline __attribute__((always_inline)) int compute_value(const struct caret__engine *e, struct set *s,
                                                               const struct caret__entry *en)
{
    const uint8_t *old = en->val, *val;
    size_t old_len = en->vlen, vlen;

    if (caret__unlikely(en->run))
        old = old_run(e, old, &old_len);
    int rc = s->compute(s->ctx, old, old_len, &val, &vlen);
    if (rc != CARET_OK)
        return rc;
    s->val = val;
    s->vlen = vlen;
    make_record(s);
    return CARET_OK;
}

/* Is the value one as long as the old one, in a leaf of this epoch?  It takes none of the leaf's room. */
static inline bool overwrites(const struct caret__engine *e, const struct set *s, const struct seen *at)
{
    return at->old.val != NULL && at->old.vlen == s->vlen && !at->old.run &&
           caret__pte_epoch(at->word) == atomic_load_explicit(&e->sh->epoch, memory_order_relaxed);
}

/* The leaf has room for the key. */
static __attribute__((noinline)) void change_in_place(struct caret__engine *e, struct caret__spot *spot,
                                                      const uint8_t *key, size_t klen, const void *val,
                                                      size_t vlen, uint64_t lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__undo u = caret__undo_context(e, caret__undo_near(e));

    caret__undo_begin(&u, lsn);
    caret__change_leaf(e, &u, spot, key, klen, val, vlen, lsn);
}

/* The value at the spot is at->old, which overwrites() has looked at. */
static inline __attribute__((always_inline)) void
overwrite_in_place(struct caret__engine *e, const struct set *s, const struct seen *at)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__undo u = caret__undo_context(e, caret__undo_near(e));
    struct caret__edit ed = {&u, &e->pg.ptab[s->spot->pgno].version, *s->lsn};

    caret__undo_begin(&u, *s->lsn);
    caret__page_overwrite(&at->old, s->val, &ed);
    s->spot->version = *s->lsn;
}

/* The slow way for one set: as a batch of one.  The mutex is held. */
static __attribute__((noinline)) int set_slowly(struct caret__engine *e, struct caret__spot *spot,
                                                const uint8_t *rec, uint32_t size, uint32_t crc,
                                                uint64_t *lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__need need = caret__need_of_sets(caret__tree_set_pages(&e->sh->ts), 0);

    int rc = caret__value_check(e, spot);
    spot->version = 0;
    if (rc == CARET_OK)
        rc = caret__reserve(e, &need, false);
    if (rc != CARET_OK)
        return rc;
    rec = caret__publish(e, rec, size, crc, lsn);
    rc = caret__apply(e, rec, size, *lsn, CARET__APPLY_COMMIT, false);
    caret__make_visible(e, *lsn);
    return rc;
}

/* One try under the mutex.  CARET_ROLLBACK: not valid.  CARET_RESTART: s->full tells what is short. */
static inline __attribute__((always_inline)) int try_set(struct caret__engine *e, struct set *s)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    caret__will_commit(e, SET_SOON);
    int rc = caret__locate(e, s->spot, s->key, s->klen);
    if (rc == CARET_OK && s->valid != NULL && !s->valid(s->ctx))
        return CARET_ROLLBACK;
    if (rc != CARET_OK)
        return rc;
    struct seen at = look_at(e, s->spot);
    if (s->compute != NULL && (rc = compute_value(e, s, &at.old)) != CARET_OK)
        return rc;
    uint64_t head = atomic_load_explicit(&e->sh->log_head, memory_order_relaxed);
    s->looked = head + s->size > e->sh->log_room;
    s->full = !has_room(e->sh, head, s->size, false);
    if (s->full)
        return CARET_RESTART;
    struct caret__taken taken = {0};
    bool overwrite = overwrites(e, s, &at);
    if (!overwrite && !caret__fits_in_place(e, s->spot, s->key, s->klen, s->vlen, &taken))
        return set_slowly(e, s->spot, s->rec, s->size, s->crc, s->lsn);
    caret__publish(e, s->rec, s->size, s->crc, s->lsn);
    if (overwrite)
        overwrite_in_place(e, s, &at);
    else
        change_in_place(e, s->spot, s->key, s->klen, s->val, s->vlen, *s->lsn);
    caret__make_visible(e, *s->lsn);
    return CARET_OK;
}

static inline __attribute__((always_inline)) int commit_set(struct caret__engine *e, struct set *s)
{
    for (;;) {
        s->full = s->looked = false;
        int rc = may_write(e);
        if (rc == CARET_OK)
            rc = caret__writer_lock(e);
        if (rc != CARET_OK)
            return rc;
        rc = try_set(e, s);
        caret__writer_unlock(e);
        if (rc == CARET_OK)
            afterwards(e, s->rec, s->size, *s->lsn, s->looked);
        if (rc != CARET_RESTART)
            return rc;
        rc = s->full ? make_room(e, s->size) : caret__checkpoint_room(e);
        if (rc != CARET_OK)
            return rc;
    }
}

int caret__commit_set(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                      const void *val, size_t vlen, uint64_t *lsn)
{
    struct set_record room;
    struct set s = {
        .spot = spot, .key = key, .klen = klen, .val = val, .vlen = vlen, .room = &room, .lsn = lsn};

    CARET__ASSERT(!caret__writer_held(e->sh));
    make_record(&s);
    return commit_set(e, &s);
}

int caret__commit_computed(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                           caret__compute *compute, void *ctx, uint64_t *lsn)
{
    struct set_record room;
    struct set s = {
        .spot = spot, .key = key, .klen = klen, .compute = compute, .ctx = ctx, .room = &room, .lsn = lsn};

    CARET__ASSERT(!caret__writer_held(e->sh));
    return commit_set(e, &s);
}

int caret__commit_one(struct caret__engine *e, struct caret__spot *spot, struct caret__batch *b,
                      bool (*valid)(void *ctx), void *ctx, uint64_t *lsn)
{
    struct caret__op_view op = caret__op_at(b->rec, CARET__REC_HEAD);
    struct set s = {.spot = spot,
                    .key = op.key,
                    .klen = op.klen,
                    .val = op.val,
                    .vlen = op.vlen,
                    .valid = valid,
                    .ctx = ctx,
                    .rec = b->rec,
                    .size = b->size + CARET__REC_TAIL,
                    .crc = caret__batch_finish(b),
                    .lsn = lsn};

    CARET__ASSERT(!caret__writer_held(e->sh));
    CARET__ASSERT(b->nops == 1 && op.kind == CARET__OP_SET);
    return commit_set(e, &s);
}
