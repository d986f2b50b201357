/*
 * lock_ring.c - deadlocks: does a wait close a ring?
 *
 * A session that waits for a name waits for every session that holds a lock in
 * conflict with it.  Nodes of this graph are the records in table.waiters; its
 * edges are not stored, they follow from the locks held now: from a record by
 * caret__lt_conflict to held names, from their owners to the owners' records (an
 * owner without one is running, and no edge goes on from it).
 *
 * The search goes breadth first from the new waiter, so the shortest ring is
 * found, and stops when it comes upon a lock of the session it began with.
 *
 * Why it is enough to search when a session begins to wait (or goes over to wait
 * for another name): a ring needs all its members to be waiting.  The edges of a
 * waiting session change when others take locks, but a session that takes a lock
 * is not waiting.  So the last event that completes a ring is a session's record
 * being made, and that session searches in the same critical section.  Repair
 * drops all records; sessions make them anew, one by one, and search.
 *
 * A member may belong to a dead process, whose locks are about to be released.
 * Asking the kernel is too slow under the mutex, so the processes of a ring are
 * returned as suspects, and the caller believes in the ring when all are alive.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/zwr.h"
#include "txn/lock.h"
#include "txn/lock_table.h"

void caret__lt_suspect(struct caret__lt_suspects *s, uint64_t owner, uint32_t nonce)
{
    uint32_t slot = caret__lt_slot(owner);

    if (slot >= CARET__MAX_PROCS || (s->in[slot / 64] >> slot % 64 & 1) != 0)
        return;
    s->in[slot / 64] |= UINT64_C(1) << slot % 64;
    s->nonce[slot] = nonce;
}

/* All who are in the way. */
void caret__lt_suspect_blockers(struct caret__lock_table *t, uint64_t owner, uint32_t cell,
                                struct caret__lt_suspects *s)
{
    for (uint32_t h = 0; (h = caret__lt_conflict(t, cell, owner, h)) != 0;)
        caret__lt_suspect(s, t->cells[h].owner, t->cells[h].nonce);
}

/* All who have anything: the table is full. */
void caret__lt_suspect_all(const struct caret__lock_table *t, struct caret__lt_suspects *s)
{
    for (uint32_t i = 1; i < t->used; i++) {
        if (caret__lt_count(&t->cells[i]) > 0)
            caret__lt_suspect(s, t->cells[i].owner, t->cells[i].nonce);
    }
    for (uint32_t r = 0; r < t->waiters_n; r++) {
        if (t->waiters[r].cell != 0)
            caret__lt_suspect(s, t->waiters[r].owner, t->waiters[r].nonce);
    }
}

/* ------------------------------------------------------------------ text */

void caret__lt_text(const uint8_t *key, size_t len, char *text, size_t cap)
{
    uint8_t plain[CARET__KEY_MAX];
    size_t n;

    len = len < sizeof plain ? len : sizeof plain;
    memcpy(plain, key, len);
    plain[0] &= (uint8_t)~CARET__LOCK_LOCAL;
    int r = caret__zwr_put_key(plain, len, (key[0] & CARET__LOCK_LOCAL) != 0, true, text, cap, &n);

    if (r == CARET_OK && n < cap)
        text[n] = '\0';
    else if (r == CARET_OK || r == CARET_E_BUFFER)
        memcpy(text + cap - 4, "...", 4);
    else
        snprintf(text, cap, "(damaged name)");
}

void caret__lt_cell_text(const struct caret__lock_table *t, uint32_t cell, char *text, size_t cap)
{
    uint8_t key[CARET__KEY_MAX];
    size_t len = caret__lt_key(t, cell, key);

    caret__lt_text(key, len, text, cap);
}

void caret__lt_who(const struct caret__engine *e, uint64_t owner, char *text, size_t cap)
{
    uint32_t slot = caret__lt_slot(owner);
    uint64_t pid =
        slot < CARET__MAX_PROCS ? atomic_load_explicit(&e->slots[slot].pid, memory_order_relaxed) : 0;

    snprintf(text, cap, "pid %" PRIu64 " session %" PRIu32, pid, (uint32_t)owner);
}

/* ---------------------------------------------------------------- search */

/* The next record + 1 of a waiting session, after that one (0 = the first); 0 = no more: it runs, if there was none. */
static uint32_t record_of(const struct caret__lock_table *t, uint64_t owner, uint32_t after)
{
    for (uint32_t r = after; t->waiting > 0 && r < t->waiters_n; r++) {
        if (t->waiters[r].cell != 0 && t->waiters[r].owner == owner)
            return r + 1;
    }
    return 0;
}

/* Queue the record if this search was not there yet.  Returns the new tail. */
static uint32_t visit(struct caret__lock_table *t, uint32_t record, uint32_t via, uint32_t held,
                      uint32_t tail)
{
    struct caret__lock_waiter *w = &t->waiters[record - 1];

    if (w->walk == t->walk)
        return tail;
    w->walk = t->walk;
    w->via = via;
    w->held = held;
    w->queue = 0;
    if (tail != 0)
        t->waiters[tail - 1].queue = record;
    return record;
}

/* The waiter that waits for a lock of the session of `first`, 0 = there is no ring.  *held is that lock. */
static uint32_t search(struct caret__lock_table *t, uint32_t first, uint32_t *held)
{
    uint64_t origin = t->waiters[first - 1].owner;
    uint32_t tail;

    if (++t->walk == 0)
        t->walk = 1;
    tail = visit(t, first, 0, 0, 0);
    for (uint32_t r = first; r != 0; r = t->waiters[r - 1].queue) {
        const struct caret__lock_waiter *w = &t->waiters[r - 1];

        for (uint32_t h = 0; (h = caret__lt_conflict(t, w->cell, w->owner, h)) != 0;) {
            *held = h;
            if (t->cells[h].owner == origin)
                return r;
            for (uint32_t next = 0; (next = record_of(t, t->cells[h].owner, next)) != 0;)
                tail = visit(t, next, r, h, tail);
        }
    }
    return 0;
}

/* "pid 1 session 1 waits for ^b held by pid 2 session 1"; ^b(1), blocked by ^b, if it isn't the very name. */
static int tell(struct caret__engine *e, const struct caret__lock_waiter *w, uint32_t held, bool begins,
                char *text, size_t cap)
{
    struct caret__lock_table *t = caret__lt(e);
    char waiter[48], holder[48], wanted[120], in_the_way[120];

    caret__lt_who(e, w->owner, waiter, sizeof waiter);
    caret__lt_who(e, t->cells[held].owner, holder, sizeof holder);
    caret__lt_cell_text(t, w->cell, wanted, sizeof wanted);
    caret__lt_cell_text(t, held, in_the_way, sizeof in_the_way);
    return snprintf(text, cap, "%s waits for %s%s%s held by %s", begins ? waiter : ", which", wanted,
                    held == w->cell ? "" : ", blocked by ", held == w->cell ? "" : in_the_way, holder);
}

bool caret__lt_ring(struct caret__engine *e, uint32_t record, struct caret__lt_suspects *s, char *text,
                    size_t cap)
{
    struct caret__lock_table *t = caret__lt(e);
    uint32_t held, last = search(t, record, &held), next = 0;

    if (last == 0)
        return false;
    /* From the end, leaving a way back in queue. */
    for (uint32_t r = last; r != 0; r = t->waiters[r - 1].via) {
        caret__lt_suspect(s, t->waiters[r - 1].owner, t->waiters[r - 1].nonce);
        t->waiters[r - 1].queue = next;
        next = r;
    }
    for (uint32_t r = record; r != 0 && cap > 1; r = next) {
        int n;

        next = t->waiters[r - 1].queue;
        n = tell(e, &t->waiters[r - 1], next != 0 ? t->waiters[next - 1].held : held, r == record, text, cap);
        n = n < 0 ? 0 : n >= (int)cap ? (int)cap - 1 : n;
        text += n;
        cap -= (size_t)n;
    }
    return true;
}
