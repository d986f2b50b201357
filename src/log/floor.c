/*
 * floor.c - a transaction that was restarted three times takes the floor.
 *
 * The floor is one word {slot + 1, nonce} and a deadline.  Other writers look at
 * it before they ask for the writer mutex and wait, outside of every lock, until
 * it is returned, its holder is dead, or the deadline (one second) passes: it can
 * delay, never block.
 *
 * A thread may have the floors of several databases, and a session may go to
 * another thread.  So who commits says as whom (caret__floor_speak), and who
 * returns a floor is known by the word in shared memory alone.
 */
#include "log/log.h"

_Thread_local uint64_t caret__floor_self;

#define FLOOR_NS UINT64_C(1000000000)

void caret__floor_take(struct caret__engine *e, uint64_t self)
{
    struct caret__shared *sh = e->sh;
    uint64_t nobody = 0, now = caret__now_ns();
    uint64_t owner = atomic_load(&sh->floor_owner);

    if (owner != 0 && owner != self && atomic_load(&sh->floor_deadline) < now)
        atomic_compare_exchange_strong(&sh->floor_owner, &owner, 0);
    if (atomic_compare_exchange_strong(&sh->floor_owner, &nobody, self) || nobody == self) {
        atomic_store(&sh->floor_deadline, now + FLOOR_NS);
        caret__floor_self = self;
    }
}

void caret__floor_speak(uint64_t self)
{
    caret__floor_self = self;
}

void caret__floor_return(struct caret__engine *e, uint64_t self)
{
    struct caret__shared *sh = e->sh;
    if (caret__floor_self == self)
        caret__floor_self = 0;
    if (atomic_compare_exchange_strong(&sh->floor_owner, &self, 0)) {
        atomic_fetch_add(&sh->floor_futex, 1);
        caret__futex_wake(&sh->floor_futex, INT32_MAX);
    }
}

void caret__floor_wait(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;

    for (;;) {
        uint32_t seen = atomic_load(&sh->floor_futex);
        uint64_t owner = atomic_load(&sh->floor_owner), deadline = atomic_load(&sh->floor_deadline), now;
        if (owner == 0 || owner == caret__floor_self || (now = caret__now_ns()) >= deadline)
            return;
        uint32_t slot = (uint32_t)(owner >> 32) - 1;
        if (slot >= sh->max_procs || atomic_load(&e->slots[slot].state) != CARET__SLOT_USED)
            return;
        caret__futex_wait(&sh->floor_futex, seen, deadline - now < 10000000 ? deadline - now : 10000000);
    }
}
