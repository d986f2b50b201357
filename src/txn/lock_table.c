/*
 * lock_table.c - the tree of lock names in shared memory.
 *
 * Every name that is locked or wanted is a cell, and so is every name above it;
 * a name that doesn't fit its first cell goes on in further ones.
 *
 *   buckets[hash] -> cell -> cell          a name is found by its whole key
 *                     | parent ^
 *                     v kid    |           and from there, without further hashing,
 *                    cell <-> cell         its ancestors and what lies below it
 *                       sib_next/prev
 *
 * A lock on a name is excluded by a lock of somebody else
 *   - on the name or above it: looked for by walking up `parent`, or
 *   - below it: `below` counts the held names there.  0 is the usual case and ends
 *     the search; otherwise the held names below are visited.
 * So taking and releasing one lock costs one look-up and a few steps per
 * subscript, whatever else is locked.
 *
 * Truth and derivation.  A lock is held exactly when `count` of its cell is not 0.
 * Owner, nonce, length and key are stored before that (release order, which here
 * only has to keep the compiler from swapping: a dead process' stores all arrive).
 * Every other field is derived and may be half changed when the holder of the
 * mutex dies; the next one derives all of it anew (lock_repair.c).  That can't
 * run out of cells: a lock is published after the names above it were made, so
 * all that is needed existed at once before.
 *
 * Idle names.  A name that is let go stays for a while, so that a hot lock needs
 * no cell made and unmade each time.  idle[] is a ring of the names let go last;
 * the one that leaves the ring is freed if it is idle still.  Freeing happens only
 * there and in caret__lt_drop*, never in caret__lt_ensure: a caller may collect
 * several cells before it uses them.
 *
 * Memory.  Cells come from the free list, else from those never used, else
 * CARET__LOCK_STEP more are backed by fallocate (shm/layout.h).
 */
#include "txn/lock_table.h"
#include "txn/lock.h"

#include "base/fault.h"
#include "base/key.h"

#define BUCKET_MASK (CARET__MAX_LOCKS - 1)
_Static_assert((CARET__MAX_LOCKS & BUCKET_MASK) == 0, "buckets are a power of two");
_Static_assert(CARET__LOCK_IDLE < 255, "place in the idle ring is one byte");

static inline struct caret__lock_cell *at(struct caret__lock_table *t, uint32_t cell)
{
    return &t->cells[cell];
}

/* Where a further cell keeps its part of the key. */
static inline uint8_t *more_bytes(const struct caret__lock_cell *c)
{
    return (uint8_t *)(uintptr_t)c + (sizeof *c - CARET__LOCK_KEY_MORE);
}

/* ------------------------------------------------------------------ keys */

size_t caret__lt_key(const struct caret__lock_table *t, uint32_t cell, uint8_t key[CARET__KEY_MAX])
{
    const struct caret__lock_cell *c = &t->cells[cell];
    size_t len = caret__min(c->len, CARET__KEY_MAX);
    size_t done = caret__min(len, CARET__LOCK_KEY_HEAD);

    memcpy(key, c->key, done);
    while (done < len) {
        size_t n = caret__min(len - done, CARET__LOCK_KEY_MORE);

        c = &t->cells[c->more];
        memcpy(key + done, more_bytes(c), n);
        done += n;
    }
    return len;
}

bool caret__lt_valid(const uint8_t *key, size_t len)
{
    uint8_t plain[CARET__KEY_MAX];

    if (len == 0 || len > sizeof plain)
        return false;
    memcpy(plain, key, len);
    plain[0] &= (uint8_t)~CARET__LOCK_LOCAL; /* which is not a part of a name that base/key.h knows */
    return caret__key_valid(plain, len);
}

bool caret__lt_is_rest(const struct caret__lock_table *t, uint32_t cell, const uint8_t *key, size_t len)
{
    const struct caret__lock_cell *c = &t->cells[cell];
    size_t done = CARET__LOCK_KEY_HEAD;

    while (done < len) {
        size_t n = caret__min(len - done, CARET__LOCK_KEY_MORE);

        c = &t->cells[c->more];
        if (memcmp(more_bytes(c), key + done, n) != 0)
            return false;
        done += n;
    }
    return true;
}

uint32_t caret__lt_find(struct caret__lock_table *t, const uint8_t *key, size_t len, uint32_t hash)
{
    CARET__HELD(t);
    uint32_t cell = t->buckets[hash & BUCKET_MASK];

    while (cell != 0 && (at(t, cell)->hash != hash || !caret__lt_is(t, cell, key, len)))
        cell = at(t, cell)->next;
    return cell;
}

/* ----------------------------------------------------------------- cells */

/* Back CARET__LOCK_STEP more cells. */
static bool grow(struct caret__engine *e)
{
    CARET__HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    uint32_t backed = (uint32_t)caret__max(t->backed, CARET__LOCK_STEP);
    uint64_t off = e->sh->off_locks + offsetof(struct caret__lock_table, cells);

    if (backed >= CARET__MAX_LOCKS || caret__segment_back(e, off + (uint64_t)backed * sizeof *t->cells,
                                                          CARET__LOCK_STEP * sizeof *t->cells) != CARET_OK)
        return false;
    t->backed = backed + CARET__LOCK_STEP;
    return true;
}

static uint32_t cell_alloc(struct caret__engine *e)
{
    struct caret__lock_table *t = caret__lt(e);
    uint32_t cell = t->free;

    if (cell != 0) {
        t->free = at(t, cell)->more;
        return cell;
    }
    cell = (uint32_t)caret__max(t->used, 1);
    if (cell >= caret__max(t->backed, CARET__LOCK_STEP) && !grow(e))
        return 0;
    t->used = cell + 1;
    return cell;
}

static void cell_free(struct caret__lock_table *t, uint32_t cell)
{
    at(t, cell)->kind = CARET__CELL_FREE;
    at(t, cell)->more = t->free;
    t->free = cell;
}

/* Free the cells of a key, the first one included. */
static void chain_free(struct caret__lock_table *t, uint32_t cell)
{
    size_t left = at(t, cell)->len;
    size_t n = CARET__LOCK_KEY_HEAD;

    for (;;) {
        uint32_t more = at(t, cell)->more;

        cell_free(t, cell);
        if (left <= n)
            return;
        left -= n;
        n = CARET__LOCK_KEY_MORE;
        cell = more;
    }
}

/* Cells that hold the key; the first one has nothing else yet. */
static uint32_t chain_new(struct caret__engine *e, const uint8_t *key, size_t len)
{
    struct caret__lock_table *t = caret__lt(e);
    size_t done = caret__min(len, CARET__LOCK_KEY_HEAD);
    uint32_t first = cell_alloc(e), last = first;

    if (first == 0)
        return 0;
    memset((uint8_t *)at(t, first) + 4, 0, sizeof *t->cells - 4); /* not count: it is 0, and nothing else */
    at(t, first)->kind = CARET__CELL_NAME;
    memcpy(at(t, first)->key, key, done);
    while (done < len) {
        size_t n = caret__min(len - done, CARET__LOCK_KEY_MORE);
        uint32_t cell = cell_alloc(e);

        if (cell == 0) {
            at(t, first)->len = (uint16_t)done;
            chain_free(t, first);
            return 0;
        }
        at(t, cell)->kind = CARET__CELL_MORE;
        memcpy(more_bytes(at(t, cell)), key + done, n);
        at(t, last)->more = cell;
        last = cell;
        done += n;
    }
    at(t, first)->len = (uint16_t)len;
    return first;
}

/* ----------------------------------------------------------------- names */

static void link_name(struct caret__lock_table *t, uint32_t cell, uint32_t hash, uint32_t parent)
{
    struct caret__lock_cell *c = at(t, cell);
    uint32_t *bucket = &t->buckets[hash & BUCKET_MASK];

    c->hash = hash;
    c->next = *bucket;
    *bucket = cell;
    CARET_FAULT("lock_name_in_bucket");
    c->parent = parent;
    if (parent == 0)
        return;
    c->sib_next = at(t, parent)->kid;
    if (c->sib_next != 0)
        at(t, c->sib_next)->sib_prev = cell;
    at(t, parent)->kid = cell;
}

static void unlink_name(struct caret__lock_table *t, uint32_t cell)
{
    struct caret__lock_cell *c = at(t, cell);
    uint32_t *link = &t->buckets[c->hash & BUCKET_MASK];

    while (*link != cell)
        link = &at(t, *link)->next;
    *link = c->next;
    CARET_FAULT("lock_name_out_of_bucket");
    if (c->sib_next != 0)
        at(t, c->sib_next)->sib_prev = c->sib_prev;
    if (c->sib_prev != 0)
        at(t, c->sib_prev)->sib_next = c->sib_next;
    else if (c->parent != 0)
        at(t, c->parent)->kid = c->sib_next;
}

uint32_t caret__lt_ensure(struct caret__engine *e, const uint8_t *key, size_t len, uint32_t hash)
{
    CARET__HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    uint32_t cell = caret__lt_find(t, key, len, hash), parent = 0;
    size_t parent_len;

    if (cell != 0)
        return cell;
    if (caret__key_depth(key, len, &parent_len) > 0) {
        parent = caret__lt_ensure(e, key, parent_len, caret__lt_hash(key, parent_len));
        if (parent == 0)
            return 0;
    }
    cell = chain_new(e, key, len);
    CARET_FAULT("lock_name_made");
    if (cell != 0)
        link_name(t, cell, hash, parent);
    else
        caret__lt_drop(t, parent);
    return cell;
}

static inline bool needed(const struct caret__lock_cell *c)
{
    return caret__lt_count(c) > 0 || c->kid != 0 || c->waiters > 0;
}

void caret__lt_drop(struct caret__lock_table *t, uint32_t cell)
{
    CARET__HELD(t);
    while (cell != 0 && !needed(at(t, cell)) && at(t, cell)->idle == 0) {
        uint32_t parent = at(t, cell)->parent;

        unlink_name(t, cell);
        chain_free(t, cell);
        CARET_FAULT("lock_name_freed");
        cell = parent;
    }
}

/* Empty a place of the idle ring. */
static void evict(struct caret__lock_table *t, uint32_t place)
{
    uint32_t cell = t->idle[place];

    t->idle[place] = 0;
    if (cell != 0) {
        at(t, cell)->idle = 0;
        caret__lt_drop(t, cell);
    }
}

void caret__lt_rest(struct caret__lock_table *t, uint32_t cell)
{
    CARET__HELD(t);
    struct caret__lock_cell *c = at(t, cell);
    uint32_t place = t->idle_next;

    if (c->idle != 0 || needed(c))
        return;
    c->idle = (uint8_t)(place + 1); /* before another leaves, that the walk up from there stops here */
    evict(t, place);
    t->idle[place] = cell;
    t->idle_next = (place + 1) % CARET__LOCK_IDLE;
    CARET_FAULT("lock_name_idle");
}

void caret__lt_drop_idle(struct caret__lock_table *t)
{
    CARET__HELD(t);
    for (uint32_t place = 0; place < CARET__LOCK_IDLE; place++)
        evict(t, place);
}

/* ------------------------------------------------------------- conflicts */

bool caret__lt_blocked(struct caret__lock_table *t, uint32_t cell, uint64_t owner)
{
    const struct caret__lock_cell *c = at(t, cell);

    if (caret__lt_held_by(c, owner))
        return false; /* whoever could be in the way was excluded by this lock */
    if (caret__lt_count(c) > 0)
        return true;
    for (uint32_t up = c->parent; up != 0; up = at(t, up)->parent) {
        if (caret__lt_count(at(t, up)) > 0 && at(t, up)->owner != owner)
            return true;
    }
    return c->below > 0 && caret__lt_conflict(t, cell, owner, 0) != 0;
}

/* The name after `now` in the subtree of root, parents first, without the parts where nothing is held. */
static uint32_t next_below(struct caret__lock_table *t, uint32_t root, uint32_t now)
{
    if (at(t, now)->below > 0)
        return at(t, now)->kid;
    while (now != root && at(t, now)->sib_next == 0)
        now = at(t, now)->parent;
    return now != root ? at(t, now)->sib_next : 0;
}

uint32_t caret__lt_conflict(struct caret__lock_table *t, uint32_t cell, uint64_t owner, uint32_t after)
{
    uint32_t len = at(t, cell)->len, now = after;

    if (now == 0 || at(t, now)->len <= len) { /* the name itself and upwards */
        for (now = now == 0 ? cell : at(t, now)->parent; now != 0; now = at(t, now)->parent) {
            if (caret__lt_count(at(t, now)) > 0 && at(t, now)->owner != owner)
                return now;
        }
        now = cell;
    }
    while ((now = next_below(t, cell, now)) != 0) {
        if (caret__lt_count(at(t, now)) > 0 && at(t, now)->owner != owner)
            return now;
    }
    return 0;
}

/* ----------------------------------------------------------------- locks */

void caret__lt_hold(struct caret__lock_table *t, uint32_t cell, uint64_t owner, uint32_t nonce,
                    uint64_t since)
{
    CARET__HELD(t);
    struct caret__lock_cell *c = at(t, cell);
    uint32_t count = caret__lt_count(c);

    CARET__ASSERT(count == 0 || c->owner == owner);
    if (count > 0) {
        atomic_store_explicit(&c->count, count + 1, memory_order_release);
        CARET_FAULT("lock_counted_up");
        return;
    }
    c->owner = owner;
    c->nonce = nonce;
    c->since = since;
    c->pos = 0;
    CARET_FAULT("lock_owner_stored");
    atomic_store_explicit(&c->count, 1, memory_order_release);
    CARET_FAULT("lock_held");
    t->held++;
    for (uint32_t up = c->parent; up != 0; up = at(t, up)->parent) {
        at(t, up)->below++;
        CARET_FAULT("lock_counted_above");
    }
}

bool caret__lt_let_go(struct caret__lock_table *t, uint32_t cell, uint32_t n)
{
    CARET__HELD(t);
    struct caret__lock_cell *c = at(t, cell);
    CARET__ASSERT_CMP(n, <=, caret__lt_count(c));
    uint32_t count = caret__lt_count(c) - n;
    uint32_t waiters = c->waiters | c->waiters_below;

    atomic_store_explicit(&c->count, count, memory_order_release);
    CARET_FAULT("lock_counted_down");
    if (count > 0)
        return false;
    t->held--;
    for (uint32_t up = c->parent; up != 0; up = at(t, up)->parent) {
        at(t, up)->below--;
        waiters |= at(t, up)->waiters;
        CARET_FAULT("lock_uncounted_above");
    }
    if (caret__unlikely(c->idle == 0))
        caret__lt_rest(t, cell);
    return waiters > 0;
}

/* --------------------------------------------------------------- waiters */

static uint32_t free_record(struct caret__lock_table *t)
{
    uint32_t r = t->waiting < t->waiters_n ? 0 : t->waiters_n; /* else one of the first is free */

    while (r < t->waiters_n && t->waiters[r].cell != 0)
        r++;
    if (r >= CARET__LOCK_WAITERS)
        return 0;
    t->waiters_n = (uint32_t)caret__max(t->waiters_n, r + 1);
    return r + 1;
}

uint32_t caret__lt_wait(struct caret__lock_table *t, uint32_t cell, uint64_t owner, uint32_t nonce)
{
    CARET__HELD(t);
    uint32_t record = free_record(t);

    if (record == 0)
        return 0;
    t->waiters[record - 1] =
        (struct caret__lock_waiter){.owner = owner, .since = caret__now_ns(), .nonce = nonce, .cell = cell};
    t->waiting++;
    CARET_FAULT("lock_wait_recorded");
    at(t, cell)->waiters++;
    for (uint32_t up = at(t, cell)->parent; up != 0; up = at(t, up)->parent) {
        at(t, up)->waiters_below++;
        CARET_FAULT("lock_wait_counted");
    }
    return record;
}

void caret__lt_unwait(struct caret__lock_table *t, uint32_t record)
{
    CARET__ASSERT(record != 0 && t->waiters[record - 1].cell != 0);
    CARET__HELD(t);
    uint32_t cell = t->waiters[record - 1].cell;

    t->waiters[record - 1].cell = 0;
    t->waiting--;
    CARET_FAULT("lock_wait_ended");
    at(t, cell)->waiters--;
    for (uint32_t up = at(t, cell)->parent; up != 0; up = at(t, up)->parent) {
        at(t, up)->waiters_below--;
        CARET_FAULT("lock_wait_uncounted");
    }
    caret__lt_rest(t, cell);
}

uint32_t caret__lt_waiting(const struct caret__lock_table *t, uint32_t cell)
{
    uint32_t n = t->cells[cell].waiters + t->cells[cell].waiters_below;

    for (uint32_t up = t->cells[cell].parent; up != 0; up = t->cells[up].parent)
        n += t->cells[up].waiters;
    return n;
}
