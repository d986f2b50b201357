/*
 * lock_check.c - the lock table for people: what is held, and is it sound.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/key.h"
#include "page/check.h"
#include "txn/lock.h"
#include "txn/lock_table.h"

static int enter(struct caret__engine *e)
{
    int r = caret__mutex_lock(&e->sh->lock_mutex);

    if (r == 0 || r == EOWNERDEAD)
        caret__held_note(caret__lt(e));
    if (r == EOWNERDEAD) {
        caret__lt_repair(e);
        caret__mutex_consistent(&e->sh->lock_mutex);
    } else if (r != 0) {
        return caret__fail(CARET_E_SYSTEM, "the lock mutex can't be locked (error %d)", r);
    }
    return CARET_OK;
}

static void leave(struct caret__engine *e)
{
    caret__held_drop(caret__lt(e));
    caret__mutex_unlock(&e->sh->lock_mutex);
}

/* ------------------------------------------------------------------ list */

struct copy {
    struct caret__lock_info info;
    uint8_t key[CARET__KEY_MAX];
};

static void copy_owner(struct caret__engine *e, uint32_t cell, uint64_t owner, uint32_t nonce, uint64_t age,
                       struct copy *to)
{
    uint32_t slot = caret__lt_slot(owner);

    to->info = (struct caret__lock_info){.len = caret__lt_key(caret__lt(e), cell, to->key),
                                         .owner = owner,
                                         .slot = slot,
                                         .nonce = nonce,
                                         .age_ns = age};
    if (slot < CARET__MAX_PROCS)
        to->info.pid = atomic_load_explicit(&e->slots[slot].pid, memory_order_relaxed);
}

static uint64_t age_of(uint64_t since, uint64_t now)
{
    return now > since ? now - since : 0;
}

/* Copies of all held locks and of all waits; *n of them.  NULL: no memory. */
static struct copy *copy_all(struct caret__engine *e, size_t *n)
{
    const struct caret__lock_table *t = caret__lt(e);
    size_t cap = (size_t)t->held + t->waiting, held = 0;
    struct copy *copies = malloc((cap + 1) * sizeof *copies);
    uint64_t now = caret__now_ns();

    *n = 0;
    for (uint32_t i = 1; copies != NULL && i < t->used && held < t->held; i++) {
        const struct caret__lock_cell *c = &t->cells[i];

        if (caret__lt_count(c) == 0)
            continue;
        copy_owner(e, i, c->owner, c->nonce, age_of(c->since, now), &copies[held]);
        copies[held].info.count = caret__lt_count(c);
        copies[held++].info.waiting = caret__lt_waiting(t, i);
    }
    *n = held;
    for (uint32_t r = 0; copies != NULL && r < t->waiters_n && *n < cap; r++) {
        const struct caret__lock_waiter *w = &t->waiters[r];

        if (w->cell == 0)
            continue;
        copy_owner(e, w->cell, w->owner, w->nonce, age_of(w->since, now), &copies[*n]);
        copies[(*n)++].info.waits = true;
    }
    return copies;
}

static int by_name(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;
    int order = caret__bytes_compare(x->key, x->info.len, y->key, y->info.len);

    return order != 0 ? order : x->info.waits - y->info.waits;
}

int caret__lock_list(struct caret__engine *e, bool (*each)(void *arg, const struct caret__lock_info *lock),
                     void *arg)
{
    struct copy *copies;
    size_t n;
    int r = enter(e);

    if (r != CARET_OK)
        return r;
    copies = copy_all(e, &n);
    leave(e);
    if (copies == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to list the locks");
    qsort(copies, n, sizeof *copies, by_name);
    for (size_t i = 0; i < n; i++) {
        copies[i].info.key = copies[i].key;
        CARET__NOT_HELD(&e->sh->lock_mutex);
        if (!each(arg, &copies[i].info))
            break;
    }
    free(copies);
    return CARET_OK;
}

/* ----------------------------------------------------------------- check */

struct check {
    struct caret__engine *e;
    struct caret__lock_table *t;
    char *report;
    size_t cap;
    unsigned found;
    uint8_t *seen;   /* per cell: how it was reached */
    uint32_t *below; /* per cell: held and wanted names below, counted */
    uint32_t *wanted_below;
    uint32_t *waiters;
};

enum { SEEN_FREE = 1, SEEN_NAME = 2, SEEN_MORE = 4 };

#define FOUND(ck, ...) ((ck)->found++, caret__report((ck)->report, (ck)->cap, "locks: " __VA_ARGS__))

static bool in_range(const struct check *ck, uint32_t cell)
{
    return cell > 0 && cell < ck->t->used;
}

/* The cell is reached as `how`: for the first time, and is it of that kind? */
static bool reach(struct check *ck, uint32_t cell, int how, unsigned kind)
{
    if (!in_range(ck, cell)) {
        FOUND(ck, "a chain leads to cell %u of %u\n", cell, ck->t->used);
        return false;
    }
    if (ck->seen[cell] != 0 || ck->t->cells[cell].kind != kind) {
        FOUND(ck, "cell %u of kind %u is reached as kind %u%s\n", cell, ck->t->cells[cell].kind, kind,
              ck->seen[cell] != 0 ? " and was before" : "");
        return false;
    }
    ck->seen[cell] |= (uint8_t)how;
    return true;
}

/* The further cells of a name, then the key. */
static void check_key(struct check *ck, uint32_t cell)
{
    const struct caret__lock_cell *c = &ck->t->cells[cell];
    uint8_t key[CARET__KEY_MAX];
    size_t len = c->len;
    uint32_t more = c->more;

    if (len > CARET__KEY_MAX) {
        FOUND(ck, "cell %u has a key of %zu bytes\n", cell, len);
        return;
    }
    for (size_t at = CARET__LOCK_KEY_HEAD; at < len;
         at += CARET__LOCK_KEY_MORE, more = ck->t->cells[more].more) {
        if (!reach(ck, more, SEEN_MORE, CARET__CELL_MORE))
            return;
        if (caret__lt_count(&ck->t->cells[more]) != 0)
            FOUND(ck, "cell %u continues a key and has a count\n", more);
    }
    caret__lt_key(ck->t, cell, key);
    if (!caret__lt_valid(key, len))
        FOUND(ck, "cell %u has a malformed key\n", cell);
    else if (c->hash != caret__lt_hash(key, len))
        FOUND(ck, "cell %u has a wrong hash\n", cell);
}

static void check_buckets(struct check *ck)
{
    for (uint32_t b = 0; b < CARET__MAX_LOCKS; b++) {
        for (uint32_t i = ck->t->buckets[b]; i != 0; i = ck->t->cells[i].next) {
            if (!reach(ck, i, SEEN_NAME, CARET__CELL_NAME))
                break;
            if ((ck->t->cells[i].hash & (CARET__MAX_LOCKS - 1)) != b)
                FOUND(ck, "cell %u is in bucket %u\n", i, b);
            check_key(ck, i);
        }
    }
}

static void check_free(struct check *ck)
{
    for (uint32_t i = ck->t->free; i != 0 && reach(ck, i, SEEN_FREE, CARET__CELL_FREE);
         i = ck->t->cells[i].more) {
        if (caret__lt_count(&ck->t->cells[i]) != 0)
            FOUND(ck, "free cell %u has a count\n", i);
    }
    for (uint32_t i = 1; i < ck->t->used; i++) {
        if (ck->seen[i] == 0)
            FOUND(ck, "cell %u of kind %u is lost\n", i, ck->t->cells[i].kind);
    }
}

/* The parent has the key of the name without its last subscript, and lists the name among its kids. */
static void check_parent(struct check *ck, uint32_t cell)
{
    const struct caret__lock_cell *c = &ck->t->cells[cell];
    uint8_t key[CARET__KEY_MAX];
    size_t len = caret__lt_key(ck->t, cell, key), parent_len = 0;
    int depth = caret__key_depth(key, len, &parent_len);

    if (depth < 0) /* malformed, which was told before */
        return;
    if (depth == 0 ? c->parent != 0
                   : !in_range(ck, c->parent) || ck->seen[c->parent] != SEEN_NAME ||
                         !caret__lt_is(ck->t, c->parent, key, parent_len)) {
        FOUND(ck, "cell %u has the wrong parent, %u\n", cell, c->parent);
        return;
    }
    if (c->sib_prev != 0 ? !in_range(ck, c->sib_prev) || ck->t->cells[c->sib_prev].sib_next != cell
                         : c->parent != 0 && ck->t->cells[c->parent].kid != cell)
        FOUND(ck, "cell %u is not among the names below cell %u\n", cell, c->parent);
    if (c->sib_next != 0 && (!in_range(ck, c->sib_next) || ck->t->cells[c->sib_next].parent != c->parent))
        FOUND(ck, "cell %u has a wrong neighbour, %u\n", cell, c->sib_next);
}

/* Nobody else holds a name above; count it there. */
static void check_exclusion(struct check *ck, uint32_t cell)
{
    const struct caret__lock_cell *c = &ck->t->cells[cell];
    uint32_t held = caret__lt_count(c) > 0, steps = 0;

    for (uint32_t up = c->parent; in_range(ck, up) && steps <= CARET_MAX_SUBS; up = ck->t->cells[up].parent) {
        ck->below[up] += held;
        ck->wanted_below[up] += ck->waiters[cell];
        steps++;
        if (held && caret__lt_count(&ck->t->cells[up]) > 0 && ck->t->cells[up].owner != c->owner)
            FOUND(ck, "cell %u and cell %u above it are held by two sessions\n", cell, up);
    }
}

static void check_counts(struct check *ck, uint32_t cell)
{
    const struct caret__lock_cell *c = &ck->t->cells[cell];

    if (c->below != ck->below[cell])
        FOUND(ck, "cell %u counts %u held names below, there are %u\n", cell, c->below, ck->below[cell]);
    if (c->waiters_below != ck->wanted_below[cell])
        FOUND(ck, "cell %u counts %u waiters below, there are %u\n", cell, c->waiters_below,
              ck->wanted_below[cell]);
    if (c->waiters != ck->waiters[cell])
        FOUND(ck, "cell %u counts %u waiters, there are %u\n", cell, c->waiters, ck->waiters[cell]);
    if (caret__lt_count(c) == 0 && c->kid == 0 && c->waiters == 0 && c->idle == 0)
        FOUND(ck, "cell %u is needed by nobody and not idle\n", cell);
    if (c->idle != 0 && (c->idle > CARET__LOCK_IDLE || ck->t->idle[c->idle - 1] != cell))
        FOUND(ck, "cell %u is not at its place %u of the idle ring\n", cell, c->idle - 1);
}

static void check_waiters(struct check *ck)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < CARET__LOCK_WAITERS; r++) {
        uint32_t cell = ck->t->waiters[r].cell;

        if (cell == 0)
            continue;
        n++;
        if (r >= ck->t->waiters_n || !in_range(ck, cell) || ck->seen[cell] != SEEN_NAME)
            FOUND(ck, "waiter %u of %u waits for cell %u\n", r, ck->t->waiters_n, cell);
        else
            ck->waiters[cell]++;
    }
    if (n != ck->t->waiting)
        FOUND(ck, "%u sessions are counted as waiting, there are %u\n", ck->t->waiting, n);
}

static void check_idle(struct check *ck)
{
    for (uint32_t i = 0; i < CARET__LOCK_IDLE; i++) {
        uint32_t cell = ck->t->idle[i];

        if (cell != 0 &&
            (!in_range(ck, cell) || ck->seen[cell] != SEEN_NAME || ck->t->cells[cell].idle != i + 1))
            FOUND(ck, "place %u of the idle ring has cell %u\n", i, cell);
    }
}

static void check_all(struct check *ck)
{
    CARET__HELD(ck->t);
    uint32_t held = 0;

    if (ck->t->used > caret__max(ck->t->backed, CARET__LOCK_STEP) || ck->t->backed > CARET__MAX_LOCKS) {
        FOUND(ck, "%u cells used, %u backed\n", ck->t->used, ck->t->backed);
        return;
    }
    check_buckets(ck);
    check_free(ck);
    check_waiters(ck);
    check_idle(ck);
    for (uint32_t i = 1; i < ck->t->used; i++) {
        if (ck->seen[i] != SEEN_NAME)
            continue;
        held += caret__lt_count(&ck->t->cells[i]) > 0;
        check_parent(ck, i);
        check_exclusion(ck, i);
    }
    for (uint32_t i = 1; i < ck->t->used; i++) {
        if (ck->seen[i] == SEEN_NAME)
            check_counts(ck, i);
    }
    if (held != ck->t->held)
        FOUND(ck, "%u names are counted as held, there are %u\n", ck->t->held, held);
}

int caret__locks_check(struct caret__engine *e, char *report, size_t cap, unsigned *found)
{
    struct check ck = {.e = e, .t = caret__lt(e), .report = report, .cap = cap};
    int r = CARET_OK;

    ck.seen = calloc(CARET__MAX_LOCKS, 1);
    ck.below = calloc(3u * CARET__MAX_LOCKS, sizeof *ck.below);
    if (ck.seen == NULL || ck.below == NULL) {
        r = caret__fail(CARET_E_NOMEM, "no memory to check the locks");
    } else if ((r = enter(e)) == CARET_OK) {
        ck.wanted_below = ck.below + CARET__MAX_LOCKS;
        ck.waiters = ck.wanted_below + CARET__MAX_LOCKS;
        check_all(&ck);
        leave(e);
        *found += ck.found;
    }
    free(ck.seen);
    free(ck.below);
    return r;
}
