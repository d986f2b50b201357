/*
 * await.c - sleeping until something is committed at or below a node.
 *
 * The truth is the log: a waiter reads it from a place of its own on (follow.h), and sleeps when there is no
 * more.  What is in shared memory only says which waiters to wake: 64 places, the bit of each in one word, `awaiting`,
 * which is all that a commit looks at while nobody waits.
 *
 *     the waiter                                  the writer
 *     1  owner of a place: 0 -> me; its key       a  log_applied = L
 *     2  seen = word of the place                 b  unlock the writer mutex (orders a before c)
 *     3  awaiting |= bit                          c  awaiting & bit, and the record concerns the key?
 *     4  read the log: something? -> 7            d  awaiting &= ~bit
 *     5  sleep while the word is `seen`           e  word + 1, and wake
 *     6  again from 2
 *     7  awaiting &= ~bit; owner = 0
 *
 * Nothing is missed: if c does not see the bit, 3 came later, so 4 sees L.  If it does, e comes after 2, so that 5
 * does not sleep or is woken.  d before e: the other way round it might take the bit of the next 3.  A commit
 * takes the bit away, so that a sleeper is woken once, and commits that come before it is back pay nothing.
 *
 * The key is written before the bit is set.  A writer may read it while its place is given to another waiter: then
 * that one sets the bit after c read it, and finds L in 4.  So what is read may be torn, and is only compared.
 * Keys that are longer than a place has room for are cut: some are woken for nothing.
 *
 * The last place has no key and no owner: it is for all waiters that find no other; every commit wakes all of
 * them.  Its bit is never cleared in 7.
 *
 * Deaths.  Of a writer, after a and before e: the waiter may sleep on; it looks at the log after a second in any
 * case.  Before a: the next writer repairs, and wakes all; a waiter that looks while the commit is half done repairs
 * it itself.  Of a waiter: its place stays taken.  It is told by slot and nonce, and given to the next waiter that
 * finds no free one and asks for the record lock; a commit that meets its bit when its slot is another process's,
 * or no process's, clears it.  A process that has lost its slot but lives shares its place with the next, which
 * costs both of them wake-ups, or a second.
 *
 * model/await.pml checks the order of these steps, deaths included.
 */
#include "log/await.h"

#include "base/error.h"
#include "base/fault.h"
#include "disk/record.h"
#include "log/writer.h"
#include "tree/tree.h"

#define SHARED   (CARET__AWAITERS - 1u)
#define OPS_MOST 1000u /* a record of more concerns everybody; arbitrary */

static inline uint64_t bit(uint32_t i)
{
    return UINT64_C(1) << i;
}

static inline uint64_t me(const struct caret__engine *e)
{
    return (uint64_t)(e->slot + 1) << 32 | e->nonce;
}

/* ------------------------------------------------------------------------ places */

/* Has the slot of the owner been given to somebody else since, or back? */
static bool is_gone(const struct caret__engine *e, uint64_t owner)
{
    uint32_t slot = (uint32_t)(owner >> 32) - 1;

    return slot >= CARET__MAX_PROCS || atomic_load(&e->slots[slot].nonce) != (uint32_t)owner ||
           atomic_load(&e->slots[slot].state) == CARET__SLOT_FREE;
}

/* Take place i from `owner`, 0 = nobody. */
static bool take(struct caret__await *w, uint32_t i, uint64_t owner)
{
    if (!atomic_compare_exchange_strong(&w->e->sh->awaiters[i].owner, &owner, w->owner))
        return false;
    w->i = i;
    return true;
}

static bool take_free(struct caret__await *w)
{
    for (uint32_t i = 0; i < SHARED; i++)
        if (atomic_load(&w->e->sh->awaiters[i].owner) == 0 && take(w, i, 0))
            return true;
    return false;
}

/* One whose owner is dead. */
static bool take_left(struct caret__await *w)
{
    for (uint32_t i = 0; i < SHARED; i++) {
        uint64_t owner = atomic_load(&w->e->sh->awaiters[i].owner);
        if (owner != w->owner &&
            (is_gone(w->e, owner) ||
             !caret__slot_alive(w->e, (uint32_t)(owner >> 32) - 1, (uint32_t)owner)) &&
            take(w, i, owner))
            return true;
    }
    return false;
}

void caret__await_begin(struct caret__await *w, struct caret__engine *e, const uint8_t *key, size_t len)
{
    *w = (struct caret__await){.e = e, .owner = me(e)};
    if (!take_free(w) && !take_left(w)) {
        w->i = SHARED;
        return;
    }
    CARET_FAULT("await_taken");
    struct caret__awaiter *a = &e->sh->awaiters[w->i];
    len = caret__min(len, sizeof a->key);
    atomic_store(&a->len, (uint32_t)len);
    caret__racy_copy(a->key, key, len);
}

_Atomic uint32_t *caret__await_arm(const struct caret__await *w, uint32_t *seen)
{
    struct caret__shared *sh = w->e->sh;

    *seen = atomic_load(&sh->awaiters[w->i].word);
    atomic_fetch_or(&sh->awaiting, bit(w->i));
    CARET_FAULT("await_armed");
    return &sh->awaiters[w->i].word;
}

void caret__await_end(struct caret__await *w)
{
    uint64_t owner = w->owner;

    if (w->i == SHARED)
        return;
    atomic_fetch_and(&w->e->sh->awaiting, ~bit(w->i));
    CARET_FAULT("await_unarmed");
    atomic_compare_exchange_strong(&w->e->sh->awaiters[w->i].owner, &owner, 0);
}

int caret__await_settle(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    if (atomic_load(&e->sh->log_head) == atomic_load(&e->sh->log_applied))
        return CARET_OK;
    int rc = caret__stalled(e, 1, CARET__STALL_TRIES);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* ------------------------------------------------------------------------ waking */

static void wake(struct caret__shared *sh, uint32_t i)
{
    if ((atomic_fetch_and(&sh->awaiting, ~bit(i)) & bit(i)) == 0)
        return; /* another commit has done it */
    CARET_FAULT("await_cleared");
    atomic_fetch_add(&sh->awaiters[i].word, 1);
    CARET_FAULT("await_raised");
    caret__futex_wake(&sh->awaiters[i].word, INT32_MAX);
}

static void wake_all(struct caret__shared *sh)
{
    uint64_t left = atomic_load(&sh->awaiting);

    for (; left != 0; left &= left - 1)
        wake(sh, (uint32_t)__builtin_ctzll(left));
}

/* Does the change concern the place? */
static bool concerns(const struct caret__awaiter *a, uint32_t i, const struct caret__op_view *op)
{
    size_t len = i == SHARED ? 0 : caret__min(atomic_load(&a->len), sizeof a->key);

    return caret__concerns(op, a->key, len);
}

/* Wake those of `left` that the change concerns; those that are left then. */
static uint64_t wake_for(struct caret__shared *sh, uint64_t left, const struct caret__op_view *op)
{
    for (uint64_t todo = left; todo != 0; todo &= todo - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(todo) % CARET__AWAITERS;
        if (!concerns(&sh->awaiters[i], i, op))
            continue;
        wake(sh, i);
        left &= ~bit(i);
    }
    return left;
}

/* Those who are dead shall cost the next commits nothing.  A wake-up: the place may be another's by now. */
static void wake_the_dead(struct caret__engine *e, uint64_t left)
{
    for (; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left) % CARET__AWAITERS;
        if (i != SHARED && is_gone(e, atomic_load(&e->sh->awaiters[i].owner)))
            wake(e->sh, i);
    }
}

void caret__await_wake(struct caret__engine *e, const uint8_t *rec, uint32_t size)
{
    CARET__ASSERT(rec == NULL || !caret__writer_held(e->sh));
    uint64_t left = atomic_load(&e->sh->awaiting);
    uint32_t off = CARET__REC_HEAD, n = 0;
    struct caret__op_view op;

    CARET_FAULT("await_seen");
    while (rec != NULL && left != 0 && n++ < OPS_MOST) {
        if (caret__record_op(rec, size, &off, &op) != 1) {
            wake_the_dead(e, left);
            return;
        }
        left = wake_for(e->sh, left, &op);
    }
    if (left != 0)
        wake_all(e->sh);
}
