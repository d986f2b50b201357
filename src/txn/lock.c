/*
 * lock.c - taking, waiting for and releasing hierarchical locks.
 *
 * The names and their holders are in shared memory under one robust mutex
 * (lock_table.c).  What is here:
 *
 *   session      list of what it holds, in private memory, in the order taken
 *   waiting      outside of the mutex, on the futex word sh->lock_futex
 *   the dead     noticed by those who wait for them
 *
 * The session's list.  A record per name and level (the mark of the innermost
 * transaction at that time); levels never fall along the list, so rollback pops
 * records from the end.  The cell of a name knows its newest record (pos), which
 * points to the ones before.  A release takes from the newest; a record with no
 * count left in the middle of the list stays as a dead one until it is at the end
 * or the dead are the majority.  Count of a cell = sum of its records + what the
 * session carries through a restart.
 *
 * Waiting, and why no wake-up is lost.
 *   W1 waiter, under the mutex: finds the name blocked, makes its wait record,
 *      reads the futex word as `seen`, leaves the mutex
 *   W2 waiter: sleeps if the word is still `seen` (the kernel compares)
 *   R1 releaser, under the mutex: clears the lock; if a record waits for this
 *      name, one above or one below: raises the word; leaves the mutex
 *   R2 releaser: wakes all sleepers
 * The mutex orders W1 and R1.  R1 first: the waiter doesn't find it blocked.  W1
 * first: R1 sees the record and raises the word after it was read, so W2 either
 * doesn't sleep or sleeps before the wake of R2, which comes after the raise.
 * A releaser that dies between clearing the lock and R2 loses the wake; repair
 * wakes everybody if it died in the mutex, and every sleep ends after a second.
 * A woken waiter tries again from the start; it keeps its record, so that the
 * next release sees it, and takes it back in the section in which it succeeds or
 * gives up; threads that share a session by hooks wait with a record each.  The
 * first to come gets it: there is no queue, so nobody has to be skipped when it
 * dies, and an unrelated name never has to wait.
 *
 * The dead.  A process that dies leaves its locks held.  Whoever is blocked asks the
 * kernel about the processes in its way: at the first failure (so a single try suffices
 * to see that a lock is free), then each second, and once more before it gives up.  For
 * a dead one it first looks at the writer mutex, and so finishes or undoes the commit
 * it died in (caret__writer_settle) - nobody must see a lock released before the
 * changes made under it - then releases its locks and tries again.  Whoever takes the
 * slot of a dead process does the same.
 *
 * Order of mutexes: writer before lock; here they are never held together.
 */

#include "txn/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/fault.h"
#include "log/writer.h"
#include "txn/lock_table.h"

#define SECOND        UINT64_C(1000000000) /* longest sleep without asking whether the holders live */
#define RELEASE_BATCH 256u                 /* locks released in one go; arbitrary, some 10 us */

struct request {
    const uint8_t *const *keys;
    const size_t *lens;
    size_t n;
    uint64_t now; /* coarse */
};

/* ----------------------------------------------------------------- mutex */

static __attribute__((noinline)) int enter_after(struct caret__engine *e, int r)
{
    if (r != EOWNERDEAD)
        return caret__fail(CARET_E_SYSTEM, "the lock mutex can't be locked (error %d)", r);
    caret__lt_repair(e);
    caret__mutex_consistent(&e->sh->lock_mutex);
    return CARET_OK;
}

static inline int enter_any(struct caret__engine *e)
{
    int r = caret__mutex_lock(&e->sh->lock_mutex);

    if (r == 0 || r == EOWNERDEAD)
        caret__held_note(caret__lt(e));
    return caret__likely(r == 0) ? CARET_OK : enter_after(e, r);
}

static inline void leave(struct caret__engine *e)
{
    CARET_FAULT("lock_leave");
    caret__held_drop(caret__lt(e));
    caret__mutex_unlock(&e->sh->lock_mutex);
}

static __attribute__((noinline)) int evicted(struct caret__engine *e)
{
    leave(e);
    return caret__fail(CARET_E_EVICTED, "process slot %" PRIu32 " was taken away, and its locks with it",
                       e->slot);
}

static inline int enter(struct caret__engine *e)
{
    int r = enter_any(e);

    if (caret__likely(r == CARET_OK && caret__slot_ours(e)))
        return CARET_OK;
    return r != CARET_OK ? r : evicted(e);
}

/* Leave after releases; wake: somebody may get a lock now. */
static inline __attribute__((always_inline)) void leave_waking(struct caret__engine *e, bool wake)
{
    if (caret__unlikely(wake))
        atomic_fetch_add(&e->sh->lock_futex, 1);
    leave(e);
    if (caret__unlikely(wake))
        caret__futex_wake(&e->sh->lock_futex, INT_MAX);
}

static uint64_t coarse_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* -------------------------------------------------------- session's list */

void caret__locker_init(struct caret__engine *e, struct caret__locker *me)
{
    uint32_t number = atomic_fetch_add_explicit(&e->sh->lock_nonce, 1, memory_order_relaxed) + 1;

    *me = (struct caret__locker){.id = (uint64_t)e->slot << 32 | number, .nonce = e->nonce};
}

void caret__locker_fini(struct caret__locker *me)
{
    free(me->held);
    free(me->carried);
    *me = (struct caret__locker){.id = 0};
}

/* Room for n more records, so that nothing can fail once the table is changed. */
static int reserve_records(struct caret__locker *me, size_t n)
{
    size_t cap = me->cap;
    struct caret__held *held;

    if (caret__likely(me->n + n <= cap))
        return CARET_OK;
    while (cap < me->n + n)
        cap = cap * 2 + 16;
    held = cap < UINT32_MAX ? realloc(me->held, cap * sizeof *held) : NULL;
    if (held == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to remember %zu locks", me->n + n);
    me->held = held;
    me->cap = (uint32_t)cap;
    return CARET_OK;
}

/* Squeeze dead records out.  Going from old to new, pos of a cell is at any time the new place of its
 * newest record moved so far: just what the next record of that cell has to point back to. */
static void compact(struct caret__lock_table *t, struct caret__locker *me)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < me->n; i++) {
        struct caret__held h = me->held[i];

        if (h.count == 0)
            continue;
        if (h.prev != 0)
            h.prev = t->cells[h.cell].pos;
        me->held[n++] = h;
        t->cells[h.cell].pos = n;
    }
    me->n = n;
    me->dead = 0;
}

/* Newest record of a cell that this session holds, NULL = it doesn't. */
static inline struct caret__held *newest(struct caret__lock_table *t, struct caret__locker *me, uint32_t cell)
{
    const struct caret__lock_cell *c = &t->cells[cell];

    if (cell == 0 || !caret__lt_held_by(c, me->id) || c->pos == 0 || c->pos > me->n)
        return NULL;
    CARET__ASSERT(me->held[c->pos - 1].cell == cell);
    return me->held[c->pos - 1].cell == cell ? &me->held[c->pos - 1] : NULL;
}

static void record(struct caret__lock_table *t, struct caret__locker *me, uint32_t cell)
{
    struct caret__lock_cell *c = &t->cells[cell];
    struct caret__held *h = newest(t, me, cell);

    if (h != NULL && h->level == me->level) {
        h->count++;
        return;
    }
    me->held[me->n++] = (struct caret__held){.cell = cell, .count = 1, .prev = c->pos, .level = me->level};
    c->pos = me->n;
}

/* Take one count of the newest record back. */
static void unrecord(struct caret__lock_table *t, struct caret__locker *me, struct caret__held *h)
{
    if (--h->count > 0)
        return;
    t->cells[h->cell].pos = h->prev;
    me->dead++;
    while (me->n > 0 && me->held[me->n - 1].count == 0) {
        me->n--;
        me->dead--;
    }
}

/* The session carries a count of this name: it is taken up again. */
static bool uncarry(struct caret__locker *me, uint32_t cell)
{
    for (uint32_t i = 0; i < me->ncarried; i++) {
        if (me->carried[i].cell != cell)
            continue;
        if (--me->carried[i].count == 0)
            me->carried[i] = me->carried[--me->ncarried];
        return true;
    }
    return false;
}

/* -------------------------------------------------------------- one try */

/* Give back names made for keys 0..n-1 of a request that didn't succeed. */
static void rest_names(struct caret__lock_table *t, const struct request *rq, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t cell = caret__lt_find(t, rq->keys[i], rq->lens[i], caret__lt_hash(rq->keys[i], rq->lens[i]));

        if (cell != 0)
            caret__lt_rest(t, cell);
    }
}

/* The name of key i is blocked, the ones before it are not needed.  It must not leave with them. */
static int rest_others(struct caret__lock_table *t, const struct request *rq, size_t i, uint32_t cell)
{
    t->cells[cell].waiters++;
    rest_names(t, rq, i);
    t->cells[cell].waiters--;
    return CARET_LOCK_TIMEOUT;
}

static int table_full(const struct caret__lock_table *t)
{
    if (caret__max(t->backed, CARET__LOCK_STEP) < CARET__MAX_LOCKS)
        return CARET_E_SHM; /* told by caret__segment_back */
    return caret__fail(CARET_E_LIMIT, "the lock table is full (%" PRIu32 " names locked, %u cells)", t->held,
                       CARET__MAX_LOCKS);
}

/* Make all names and see whether one is blocked.  *cell is the blocked one (its name stays, for the
 * caller to wait for or to rest), or the last. */
static int find_all(struct caret__engine *e, const struct caret__locker *me, const struct request *rq,
                    uint32_t *cell)
{
    struct caret__lock_table *t = caret__lt(e);
    bool again = false;

    for (size_t i = 0; i < rq->n; i++) {
        *cell = caret__lt_ensure(e, rq->keys[i], rq->lens[i], caret__lt_hash(rq->keys[i], rq->lens[i]));
        if (caret__unlikely(*cell == 0)) {
            rest_names(t, rq, i);
            caret__lt_drop_idle(t);
            if (again)
                return table_full(t);
            again = true;
            i = (size_t)-1; /* from the start: what was found may have been idle */
        } else if (caret__unlikely(caret__lt_blocked(t, *cell, me->id))) {
            return rest_others(t, rq, i, *cell);
        }
    }
    return CARET_OK;
}

static void hold(struct caret__lock_table *t, struct caret__locker *me, uint32_t cell, uint64_t now)
{
    if (caret__likely(me->ncarried == 0) || !uncarry(me, cell))
        caret__lt_hold(t, cell, me->id, me->nonce, now);
    record(t, me, cell);
}

/* Under the mutex, with room for the records: take all or none.  OK, LOCK_TIMEOUT (*cell is blocked),
 * LIMIT, SHM. */
static int try_all(struct caret__engine *e, struct caret__locker *me, const struct request *rq,
                   uint32_t *cell)
{
    CARET__HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    int r = find_all(e, me, rq, cell);

    if (r != CARET_OK)
        return r;
    if (caret__unlikely(me->dead > 32 && me->dead > me->n / 2))
        compact(t, me);
    if (rq->n == 1) {
        hold(t, me, *cell, rq->now);
        return CARET_OK;
    }
    for (size_t i = 0; i < rq->n; i++) {
        uint32_t hash = caret__lt_hash(rq->keys[i], rq->lens[i]);

        hold(t, me, caret__lt_find(t, rq->keys[i], rq->lens[i], hash), rq->now);
    }
    return CARET_OK;
}

/* -------------------------------------------------------------- the dead */

/* Locks and waits of a process.  True: somebody may get a lock now. */
static bool reap(struct caret__lock_table *t, uint32_t slot, uint32_t nonce)
{
    bool wake = false;

    for (uint32_t r = 0; r < t->waiters_n; r++) {
        const struct caret__lock_waiter *w = &t->waiters[r];

        if (w->cell != 0 && caret__lt_slot(w->owner) == slot && w->nonce == nonce)
            caret__lt_unwait(t, r + 1);
    }
    for (uint32_t i = 1; i < t->used; i++) {
        const struct caret__lock_cell *c = &t->cells[i];
        uint32_t count = caret__lt_count(c);

        if (count > 0 && caret__lt_slot(c->owner) == slot && c->nonce == nonce)
            wake |= caret__lt_let_go(t, i, count);
    }
    return wake;
}

void caret__locks_reap(struct caret__engine *e, uint32_t slot, uint32_t slot_nonce)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    CARET__NOT_HELD(&e->sh->lock_mutex);
    if (enter_any(e) == CARET_OK) /* not enter: it is called before we have a slot, too */
        leave_waking(e, reap(caret__lt(e), slot, slot_nonce));
}

/* Reaping is the shm layer's job, which can't call us by name (shm/engine.h). */
__attribute__((constructor)) static void register_reaper(void)
{
    caret__reap_hook = caret__locks_reap;
}

/* Ask about the suspects and release the locks of the dead.  *found: how many were dead. */
static int bury(struct caret__engine *e, const struct caret__lt_suspects *s, unsigned *found)
{
    *found = 0;
    for (uint32_t slot = 0; slot < CARET__MAX_PROCS; slot++) {
        int r;

        if ((s->in[slot / 64] >> slot % 64 & 1) == 0 || (slot == e->slot && s->nonce[slot] == e->nonce) ||
            caret__slot_alive(e, slot, s->nonce[slot]))
            continue;
        r = caret__writer_settle(e, slot); /* repairs */
        if (r != CARET_OK)
            return r;
        caret__locks_reap(e, slot, s->nonce[slot]);
        ++*found;
    }
    return CARET_OK;
}

int caret__locks_bury(struct caret__engine *e, uint64_t pid, unsigned *found)
{
    struct caret__lt_suspects *s = calloc(1, sizeof *s);
    int r = s != NULL ? enter(e) : caret__fail(CARET_E_NOMEM, "no memory to ask who lives");

    if (r == CARET_OK) {
        caret__lt_suspect_all(caret__lt(e), s);
        leave(e);
        for (uint32_t slot = 0; slot < CARET__MAX_PROCS && pid != 0; slot++)
            if (atomic_load(&e->slots[slot].pid) != pid)
                s->in[slot / 64] &= ~(UINT64_C(1) << slot % 64);
        r = bury(e, s, found);
    }
    free(s);
    return r;
}

/* --------------------------------------------------------------- waiting */

struct wait {
    uint64_t deadline;
    uint64_t asked;  /* when the suspects were asked last, 0 = never */
    uint32_t record; /* + 1 of the wait record, 0 = none */
    uint32_t seen;   /* value of the futex word */
    bool last;       /* don't sleep any more */
    bool ask;        /* there are suspects to be asked about */
    struct caret__lt_suspects suspects;
    char text[900]; /* of the outcome, when it isn't OK */
};

/* Is our wait record still there?  (A repair may have dropped it.) */
static bool waits(const struct caret__lock_table *t, const struct caret__locker *me, const struct wait *w)
{
    return w->record != 0 && t->waiters[w->record - 1].cell != 0 && t->waiters[w->record - 1].owner == me->id;
}

static void end_wait(struct caret__lock_table *t, const struct caret__locker *me, struct wait *w)
{
    if (waits(t, me, w))
        caret__lt_unwait(t, w->record);
    w->record = 0;
}

/* Become a waiter for the cell, unless that closes a ring. */
static int begin_wait(struct caret__engine *e, const struct caret__locker *me, struct wait *w, uint32_t cell)
{
    struct caret__lock_table *t = caret__lt(e);

    uint32_t before = waits(t, me, w) ? w->record : 0;

    if (before != 0 && t->waiters[before - 1].cell == cell)
        return CARET_LOCK_TIMEOUT;
    w->record = caret__lt_wait(t, cell, me->id, me->nonce);
    if (before != 0) /* not earlier: the cell might have been idle, and left with this one */
        caret__lt_unwait(t, before);
    if (w->record == 0) {
        snprintf(w->text, sizeof w->text, "%u sessions wait for locks already", CARET__LOCK_WAITERS);
        return CARET_E_LIMIT;
    }
    if (!caret__lt_ring(e, w->record, &w->suspects, w->text, sizeof w->text))
        return CARET_LOCK_TIMEOUT;
    end_wait(t, me, w);
    w->ask = true;
    return CARET_DEADLOCK;
}

static void tell_holder(struct caret__engine *e, const struct caret__locker *me, uint32_t cell, char *text,
                        size_t cap)
{
    struct caret__lock_table *t = caret__lt(e);
    uint32_t h = caret__lt_conflict(t, cell, me->id, 0);
    char wanted[300], held[300], who[48];

    caret__lt_cell_text(t, cell, wanted, sizeof wanted);
    caret__lt_cell_text(t, h, held, sizeof held);
    caret__lt_who(e, t->cells[h].owner, who, sizeof who);
    snprintf(text, cap, "%s was not obtained in time: %s is held by %s", wanted, h == cell ? "it" : held,
             who);
}

/* Under the mutex, the cell is blocked: what now?  LOCK_TIMEOUT: ask, then sleep, or the time is over (last). */
static int blocked(struct caret__engine *e, const struct caret__locker *me, struct wait *w, uint32_t cell,
                   uint64_t now)
{
    CARET__HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    int r = CARET_LOCK_TIMEOUT;

    w->last = now >= w->deadline;
    if (w->last || w->asked == 0 || now - w->asked >= SECOND) {
        caret__lt_suspect_blockers(t, me->id, cell, &w->suspects);
        w->ask = true;
        w->asked = now;
    }
    if (w->last) {
        tell_holder(e, me, cell, w->text, sizeof w->text);
        end_wait(t, me, w);
    } else {
        r = begin_wait(e, me, w, cell);
        w->seen = atomic_load(&e->sh->lock_futex);
    }
    caret__lt_rest(t, cell); /* stays when it is waited for */
    return r;
}

/* One try under the mutex. */
static int wait_try(struct caret__engine *e, struct caret__locker *me, const struct request *rq,
                    struct wait *w, uint64_t now)
{
    CARET__NOT_HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    uint32_t cell = 0;
    int r = enter(e);

    if (r != CARET_OK)
        return r;
    memset(w->suspects.in, 0, sizeof w->suspects.in);
    w->ask = false;
    r = try_all(e, me, rq, &cell);
    if (r == CARET_LOCK_TIMEOUT) {
        r = blocked(e, me, w, cell, now);
    } else {
        if (r == CARET_OK && waits(t, me, w) && w->seen == atomic_load(&e->sh->lock_futex))
            CARET_FAULT("lock_unannounced"); /* a release that did not raise the word: tests count it */
        end_wait(t, me, w);
        if (r == CARET_E_LIMIT) {
            snprintf(w->text, sizeof w->text, "%s", caret_message() + strlen("LIMIT: "));
            caret__lt_suspect_all(t, &w->suspects);
            w->ask = true;
        }
    }
    leave(e);
    return r;
}

static void count_wait(struct caret__engine *e)
{
    atomic_fetch_add_explicit(&e->slots[e->slot].lock_waits, 1, memory_order_relaxed);
}

/* The wait ends with r, but not in a try. */
static int give_up(struct caret__engine *e, const struct caret__locker *me, struct wait *w, int r)
{
    if (w->record != 0 && enter_any(e) == CARET_OK) {
        end_wait(caret__lt(e), me, w);
        leave(e);
    }
    return r;
}

/* Afterwards there is room for n records again: others may have used what there was. */
static int wait_sleep(struct caret__engine *e, struct caret__locker *me, size_t n, const struct wait *w,
                      uint64_t now)
{
    const struct caret__lock_hooks *hooks = me->hooks != NULL && me->hooks->before != NULL ? me->hooks : NULL;

    if (hooks != NULL)
        hooks->before(hooks->arg);
    caret__alarm_sleep(me->alarm, &e->sh->lock_futex, w->seen, caret__min64(SECOND, w->deadline - now));
    if (hooks != NULL)
        hooks->after(hooks->arg);
    return reserve_records(me, n);
}

static int take_slow(struct caret__engine *e, struct caret__locker *me, const struct request *rq,
                     uint64_t timeout_ns)
{
    uint64_t now = caret__now_ns();
    struct wait w;

    w.deadline = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    w.asked = 0;
    w.record = 0;
    for (bool slept = false;; now = caret__now_ns()) {
        unsigned dead = 0;
        int r = wait_try(e, me, rq, &w, now), asked = CARET_OK;

        if (r == CARET_OK || r == CARET_E_EVICTED || r == CARET_E_SYSTEM || r == CARET_E_SHM)
            return r;
        if (w.ask)
            asked = bury(e, &w.suspects, &dead);
        if (asked != CARET_OK)
            return give_up(e, me, &w, asked);
        if (dead > 0)
            continue;
        if (r == CARET_LOCK_TIMEOUT && w.last && timeout_ns == 0)
            return caret__outcome(r);
        if (r != CARET_LOCK_TIMEOUT || w.last)
            return caret__fail(r, "%s", w.text);
        if (!slept)
            count_wait(e);
        slept = true;
        if (me->alarm != NULL && caret__alarm_taken(me->alarm)) {
            (void)give_up(e, me, &w, r);
            return caret__fail(CARET_E_INTERRUPTED, "%s: while waiting for a lock", e->path);
        }
        if ((asked = wait_sleep(e, me, rq->n, &w, now)) != CARET_OK)
            return give_up(e, me, &w, asked);
    }
}

/* ------------------------------------------------------------ take, release */

/* The mutex is held, and left: the whole of a try, and waiting. */
static __attribute__((noinline)) int take_entered(struct caret__engine *e, struct caret__locker *me,
                                                  const struct request *rq, uint64_t timeout_ns)
{
    CARET__HELD(&e->sh->lock_mutex);
    uint32_t cell;
    int r = try_all(e, me, rq, &cell);

    if (caret__unlikely(r == CARET_LOCK_TIMEOUT))
        caret__lt_rest(caret__lt(e), cell);
    leave(e);
    if (caret__likely(r == CARET_OK) || r == CARET_E_SHM)
        return r;
    return take_slow(e, me, rq, timeout_ns);
}

int caret__lock_take_all(struct caret__engine *e, struct caret__locker *me, const uint8_t *const keys[],
                         const size_t lens[], size_t n, uint64_t timeout_ns)
{
    struct request rq = {keys, lens, n, coarse_now()};
    int r;

    for (size_t i = 0; i < n; i++) {
        if (caret__unlikely(lens[i] == 0 || lens[i] > CARET__KEY_MAX))
            return caret__fail(CARET_E_INVALID, "a lock's name can't have %zu bytes", lens[i]);
    }
    if (caret__unlikely(n == 0))
        return CARET_OK;
    r = reserve_records(me, n);
    if (caret__unlikely(r != CARET_OK) || caret__unlikely((r = enter(e)) != CARET_OK))
        return r;
    return take_entered(e, me, &rq, timeout_ns);
}

/* A name that is in the table and that nobody holds, as most are when they are asked for: true, it was taken. */
static inline bool take_idle(struct caret__engine *e, struct caret__locker *me, const uint8_t *key,
                             size_t len, uint64_t now)
{
    CARET__HELD(&e->sh->lock_mutex);
    struct caret__lock_table *t = caret__lt(e);
    uint32_t cell = caret__lt_find_at(t, me->last, key, len);

    if (cell == 0 || caret__lt_count(&t->cells[cell]) != 0 || me->ncarried != 0 || me->dead != 0 ||
        caret__lt_blocked(t, cell, me->id))
        return false;
    caret__lt_hold(t, cell, me->id, me->nonce, now);
    me->held[me->n++] = (struct caret__held){.cell = cell, .count = 1, .prev = 0, .level = me->level};
    t->cells[cell].pos = me->n;
    return true;
}

int caret__lock_take(struct caret__engine *e, struct caret__locker *me, const uint8_t *key, size_t len,
                     uint64_t timeout_ns)
{
    struct request rq = {&key, &len, 1, coarse_now()};
    int r;

    if (caret__unlikely(len == 0 || len > CARET__KEY_MAX))
        return caret__lock_take_all(e, me, &key, &len, 1, timeout_ns); /* it says what is wrong */
    r = reserve_records(me, 1);
    if (caret__unlikely(r != CARET_OK) || caret__unlikely((r = enter(e)) != CARET_OK))
        return r;
    if (caret__unlikely(!take_idle(e, me, key, len, rq.now)))
        return take_entered(e, me, &rq, timeout_ns);
    leave(e);
    return CARET_OK;
}

static int not_locked(const uint8_t *key, size_t len)
{
    char text[300];

    caret__lt_text(key, len, text, sizeof text);
    return caret__fail(CARET_E_NOTLOCKED, "%s is not locked by this session", text);
}

int caret__lock_release(struct caret__engine *e, struct caret__locker *me, const uint8_t *key, size_t len)
{
    struct caret__lock_table *t = caret__lt(e);
    struct caret__held *h;
    bool wake = false;
    int r = enter(e);

    if (caret__unlikely(r != CARET_OK))
        return r;
    uint32_t taken_last = me->n != 0 ? me->held[me->n - 1].cell : 0;
    uint32_t cell = caret__lt_find_at(t, taken_last, key, len);
    h = newest(t, me, cell);
    if (caret__likely(h != NULL)) {
        unrecord(t, me, h);
        wake = caret__lt_let_go(t, cell, 1);
        me->last = cell;
    }
    leave_waking(e, wake);
    return caret__likely(h != NULL) ? CARET_OK : not_locked(key, len);
}

/* -------------------------------------------------------------- many at once */

/* Release records from the end of the list that are of this level or deeper, a batch of them at most.
 * True: there are more.  A name that is not ours any more was damaged, and a repair has lost it. */
static bool pop_records(struct caret__lock_table *t, struct caret__locker *me, uint64_t level, bool *wake)
{
    for (unsigned n = 0; me->n > 0 && me->held[me->n - 1].level >= level; n++) {
        struct caret__held *h = &me->held[me->n - 1];

        if (n == RELEASE_BATCH)
            return true;
        if (h->count == 0) {
            me->dead--;
        } else if (caret__lt_held_by(&t->cells[h->cell], me->id)) {
            t->cells[h->cell].pos = h->prev;
            *wake |= caret__lt_let_go(t, h->cell, h->count);
        }
        me->n--;
    }
    return false;
}

static bool pop_carried(struct caret__lock_table *t, struct caret__locker *me, bool *wake)
{
    for (unsigned n = 0; me->ncarried > 0; n++) {
        const struct caret__carried *c = &me->carried[me->ncarried - 1];

        if (n == RELEASE_BATCH)
            return true;
        if (caret__lt_held_by(&t->cells[c->cell], me->id))
            *wake |= caret__lt_let_go(t, c->cell, c->count);
        me->ncarried--;
    }
    return false;
}

/* Release what was taken since `level`, and what is carried if `carried` says so. */
static int pop(struct caret__engine *e, struct caret__locker *me, uint64_t level, bool carried)
{
    for (bool more = true; more;) {
        bool wake = false;
        int r = enter(e);

        if (r != CARET_OK) { /* evicted: they were released by others */
            me->n = me->dead = me->ncarried = 0;
            return r;
        }
        more =
            pop_records(caret__lt(e), me, level, &wake) || (carried && pop_carried(caret__lt(e), me, &wake));
        leave_waking(e, wake);
    }
    return CARET_OK;
}

int caret__lock_release_all(struct caret__engine *e, struct caret__locker *me)
{
    return me->n == 0 && me->ncarried == 0 ? CARET_OK : pop(e, me, 0, true);
}

uint64_t caret__lock_mark(struct caret__locker *me)
{
    return ++me->level;
}

int caret__lock_rollback(struct caret__engine *e, struct caret__locker *me, uint64_t mark)
{
    bool carried = me->ncarried > 0 && mark <= me->carried_mark;

    me->level = mark - 1;
    if (!carried && (me->n == 0 || me->held[me->n - 1].level < mark))
        return CARET_OK;
    return pop(e, me, mark, carried);
}

int caret__lock_commit(struct caret__engine *e, struct caret__locker *me, uint64_t mark)
{
    if (caret__likely(me->ncarried == 0) || mark > me->carried_mark)
        return CARET_OK;
    return pop(e, me, UINT64_MAX, true);
}

static int reserve_carried(struct caret__locker *me)
{
    size_t cap = (size_t)me->ncarried + me->n;
    struct caret__carried *carried;

    if (cap <= me->carried_cap)
        return CARET_OK;
    carried = realloc(me->carried, cap * sizeof *carried);
    if (carried == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to keep %zu locks through a restart", cap);
    me->carried = carried;
    me->carried_cap = (uint32_t)cap;
    return CARET_OK;
}

int caret__lock_restart(struct caret__engine *e, struct caret__locker *me, uint64_t mark)
{
    int r;

    me->level = mark;
    if (me->n == 0 || me->held[me->n - 1].level < mark)
        return CARET_OK;
    if ((r = reserve_carried(me)) != CARET_OK || (r = enter(e)) != CARET_OK)
        return r;
    for (; me->n > 0 && me->held[me->n - 1].level >= mark; me->n--) {
        const struct caret__held *h = &me->held[me->n - 1];
        struct caret__lock_cell *c = &caret__lt(e)->cells[h->cell];

        if (h->count == 0) {
            me->dead--;
        } else if (caret__lt_held_by(c, me->id)) {
            c->pos = h->prev;
            me->carried[me->ncarried++] = (struct caret__carried){h->cell, h->count};
        }
    }
    me->carried_mark = mark;
    leave(e);
    return CARET_OK;
}
