/*
 * lock_repair.c - the holder of the lock mutex died: make the table whole.
 *
 *   1. forget all that is derived: index, idle names, waiters, counts
 *   2. tell the cells of held locks from free ones
 *   3. put the held names into the index
 *   4. make the names above them, and link each to its parent
 *   5. count each held name in all above it
 *   6. wake everybody who waits
 *
 * The truth (count > 0 and what it publishes) is only read, so whoever dies in
 * here leaves the same work to the next.  A session that waits finds its record
 * gone, and makes a new one: that is also why step 6 can't be left out.
 *
 * What a held cell says is checked before it is used, as a process that died may
 * have died of a wild pointer: a damaged lock is lost, the table stays sound.
 */
#include <limits.h>

#include "base/fault.h"
#include "base/key.h"
#include "txn/lock_table.h"

/* 1 */
static void forget(struct caret__lock_table *t)
{
    t->waiters_n = (uint32_t)caret__min(t->waiters_n, CARET__LOCK_WAITERS);
    t->used = (uint32_t)caret__min(t->used, caret__max(t->backed, CARET__LOCK_STEP));
    memset(t->buckets, 0, sizeof t->buckets);
    memset(t->idle, 0, sizeof t->idle);
    memset(t->waiters, 0, t->waiters_n * sizeof *t->waiters);
    t->waiters_n = t->waiting = t->held = t->idle_next = t->free = 0;
    for (uint32_t i = 1; i < t->used; i++) {
        struct caret__lock_cell *c = &t->cells[i];

        c->kind = CARET__CELL_FREE;
        if (caret__lt_count(c) == 0)
            continue;
        c->kind = CARET__CELL_NAME;
        c->idle = 0;
        c->next = c->parent = c->kid = c->sib_next = c->sib_prev = 0;
        c->below = c->waiters = c->waiters_below = 0;
    }
    CARET_FAULT("lock_repair_forgot");
}

/* Claim the further cells of a held name.  False: damaged. */
static bool claim(struct caret__lock_table *t, struct caret__lock_cell *c)
{
    size_t left = c->len;

    if (left > CARET__KEY_MAX)
        return false;
    for (left -= caret__min(left, CARET__LOCK_KEY_HEAD); left > 0;
         left -= caret__min(left, CARET__LOCK_KEY_MORE)) {
        uint32_t more = c->more;

        if (more == 0 || more >= t->used || t->cells[more].kind != CARET__CELL_FREE)
            return false;
        c = &t->cells[more];
        c->kind = CARET__CELL_MORE;
    }
    return true;
}

static void lose(struct caret__lock_table *t, uint32_t cell)
{
    atomic_store_explicit(&t->cells[cell].count, 0, memory_order_relaxed);
    t->cells[cell].kind = CARET__CELL_FREE;
}

/* 2, 3.  A damaged name's further cells are claimed by nobody again before the next repair. */
static void index_held(struct caret__lock_table *t)
{
    uint8_t key[CARET__KEY_MAX];

    for (uint32_t i = 1; i < t->used; i++) {
        struct caret__lock_cell *c = &t->cells[i];
        size_t len;

        if (c->kind != CARET__CELL_NAME)
            continue;
        if (!claim(t, c) || (len = caret__lt_key(t, i, key), !caret__lt_valid(key, len))) {
            lose(t, i);
            continue;
        }
        c->hash = caret__lt_hash(key, len);
        c->next = t->buckets[c->hash & (CARET__MAX_LOCKS - 1)];
        t->buckets[c->hash & (CARET__MAX_LOCKS - 1)] = i;
        t->held++;
    }
    for (uint32_t i = t->used; i-- > 1;) {
        if (t->cells[i].kind == CARET__CELL_FREE) {
            t->cells[i].more = t->free;
            t->free = i;
        }
    }
    CARET_FAULT("lock_repair_indexed");
}

/* 4 */
static void link_held(struct caret__engine *e, uint32_t cell)
{
    struct caret__lock_table *t = caret__lt(e);
    struct caret__lock_cell *c = &t->cells[cell];
    uint8_t key[CARET__KEY_MAX];
    size_t len = caret__lt_key(t, cell, key), parent_len;

    if (caret__key_depth(key, len, &parent_len) <= 0)
        return;
    c->parent = caret__lt_ensure(e, key, parent_len, caret__lt_hash(key, parent_len));
    CARET__ASSERT(c->parent != 0);
    if (c->parent == 0)
        return;
    c->sib_next = t->cells[c->parent].kid;
    if (c->sib_next != 0)
        t->cells[c->sib_next].sib_prev = cell;
    t->cells[c->parent].kid = cell;
    CARET_FAULT("lock_repair_linked");
}

/* 5 */
static void count_held(struct caret__lock_table *t, uint32_t cell)
{
    for (uint32_t up = t->cells[cell].parent; up != 0; up = t->cells[up].parent)
        t->cells[up].below++;
}

void caret__lt_repair(struct caret__engine *e)
{
    CARET__HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    uint32_t used;

    forget(t);
    index_held(t);
    used = t->used; /* names made from here on are not held */
    for (uint32_t i = 1; i < used; i++) {
        if (caret__lt_count(&t->cells[i]) > 0)
            link_held(e, i);
    }
    for (uint32_t i = 1; i < used; i++) {
        if (caret__lt_count(&t->cells[i]) > 0)
            count_held(t, i);
    }
    t->repairs++;
    atomic_fetch_add_explicit(&e->sh->repairs, 1, memory_order_relaxed);
    CARET_FAULT("lock_repair_counted");
    atomic_fetch_add(&e->sh->lock_futex, 1);
    caret__futex_wake(&e->sh->lock_futex, INT_MAX);
}
