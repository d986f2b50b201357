/*
 * floor.c - a transaction that was restarted three times, or is to run alone, takes the floor.
 *
 * The floor is one word {slot + 1, nonce} and a deadline.  Other writers look at
 * it before they ask for the writer mutex and wait, outside of every lock, until
 * it is returned, its holder is dead, or the deadline (one second) passes: it can
 * delay, never block.  The deadline is raised before the floor is taken, and only
 * raised: a holder never has one that was another's and has passed, for which writers
 * would not wait and the next one would take the floor away.
 *
 * A thread may have several floors, of several databases or, after a deadline, of one; and a session may go to
 * another thread.  So a thread knows the last few in whose name it acts: it has taken one, or says who
 * commits (caret__floor_speak).  It waits for none of these.
 *
 * A transaction that is to run alone from the beginning waits for the floor, as writers do, and takes it then.
 */
#include "log/floor.h"

#include "base/fault.h"

#define OWN 8 /* arbitrary */

static _Thread_local struct {
    uint64_t id[OWN];
    unsigned next;
} own;

#define FLOOR_NS UINT64_C(1000000000)

static uint64_t *find_own(uint64_t id)
{
    for (unsigned i = 0; i < OWN; i++)
        if (own.id[i] == id)
            return &own.id[i];
    return NULL;
}

void caret__floor_speak(uint64_t id)
{
    if (find_own(id) == NULL)
        own.id[own.next++ % OWN] = id;
}

void caret__floor_forget(uint64_t id)
{
    uint64_t *p = find_own(id);

    if (p != NULL)
        *p = 0;
}

/* Is the holder's process there, as far as is known? */
static bool lives(struct caret__engine *e, uint64_t owner)
{
    uint32_t slot = (uint32_t)(owner >> 32) - 1;

    return slot < e->sh->max_procs && atomic_load(&e->slots[slot].state) == CARET__SLOT_USED;
}

static void raise_deadline(struct caret__shared *sh, uint64_t to)
{
    uint64_t was = atomic_load(&sh->floor_deadline);

    while (was < to && !atomic_compare_exchange_weak(&sh->floor_deadline, &was, to))
        ;
}

void caret__floor_take(struct caret__engine *e, uint64_t id)
{
    struct caret__shared *sh = e->sh;
    uint64_t nobody = 0, now = caret__now_ns();
    uint64_t owner = atomic_load(&sh->floor_owner);

    if (owner != 0 && owner != id && (atomic_load(&sh->floor_deadline) < now || !lives(e, owner)) &&
        atomic_compare_exchange_strong(&sh->floor_owner, &owner, 0))
        owner = 0;
    if (owner != 0 && owner != id)
        return;
    raise_deadline(sh, now + FLOOR_NS);
    if (atomic_compare_exchange_strong(&sh->floor_owner, &nobody, id) || nobody == id)
        caret__floor_speak(id);
    CARET_FAULT("floor_taken");
}

void caret__floor_return(struct caret__engine *e, uint64_t id)
{
    struct caret__shared *sh = e->sh;

    caret__floor_forget(id);
    if (atomic_compare_exchange_strong(&sh->floor_owner, &id, 0)) {
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
        if (owner == 0 || find_own(owner) != NULL || (now = caret__now_ns()) >= deadline)
            return;
        if (!lives(e, owner))
            return;
        caret__futex_wait(&sh->floor_futex, seen, deadline - now < 10000000 ? deadline - now : 10000000);
    }
}

int caret__floor_wait_and_take(struct caret__engine *e, uint64_t id, uint64_t most)
{
    uint64_t until = caret__now_ns() + most;

    for (;;) {
        uint64_t owner = atomic_load(&e->sh->floor_owner);
        if (owner != 0 && owner != id && find_own(owner) != NULL &&
            atomic_load(&e->sh->floor_deadline) > caret__now_ns())
            return CARET_E_INTXN;
        caret__floor_wait(e);
        caret__floor_take(e, id);
        if (atomic_load(&e->sh->floor_owner) == id)
            return CARET_OK;
        if (caret__now_ns() >= until)
            return CARET_E_BUSY;
    }
}
