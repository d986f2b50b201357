/*
 * brake.c - writers become slower before the log is full.
 *
 * While a checkpoint is underway the log fills.  If that takes longer than was estimated (checkpoint.c), writers
 * would come to the end of the log and wait there for the whole rest of it, for seconds where much is to be
 * written on a busy machine.  So whoever is ahead of the checkpoint waits a moment now and then.  Let ROOM be what was
 * left of a long log at the freeze:
 *
 *     allowed = ROOM / 8 + ROOM * 6/8 * the part of its pages that the disk has
 *     ahead   = log_head - lsn of the freeze - allowed
 *     log_brake = log_head + MOST, or ROOM / 64; less the further ahead, LEAST at ROOM / 8
 *
 * Whoever comes to log_brake waits WAIT_NS, without any mutex, and moves it; takes it away if nobody is ahead, or
 * nothing underway, any more.  Whoever has written the log looks whether it is to be set.
 *
 * Nothing depends on these words: whatever a death leaves there is moved by the next writer that waits.
 */
#include "log/brake.h"

#include <errno.h>
#include <time.h>

#include "base/away.h"
#include "base/bytes.h"

#define PART    8u /* all arbitrary */
#define MOST    (UINT64_C(1) << 20)
#define LEAST   (UINT64_C(4) * CARET__PAGE_SIZE)
#define WAIT_NS 10000000

static uint64_t next_brake(const struct caret__shared *sh)
{
    uint64_t head = atomic_load(&sh->log_head), size = atomic_load(&sh->log_size);
    uint64_t frozen = atomic_load(&sh->frozen_lsn), since = head - frozen;
    uint64_t had = frozen - atomic_load(&sh->checkpoint_lsn), done = atomic_load(&sh->frozen_done);

    if (size <= CARET__LOG_DEFAULT || atomic_load(&sh->durable_epoch) + 1 == atomic_load(&sh->epoch) ||
        had >= size)
        return 0;
    uint64_t part = (size - had) / PART, allowed = part + part * (PART - 2) * done / 65536;
    if (since <= allowed)
        return 0;
    uint64_t ahead = caret__min64(since - allowed, part), most = caret__min64(MOST, part / PART);
    return head + caret__max64(LEAST, most - most * ahead / (part + 1));
}

void caret__brake_look(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;
    uint64_t none = 0, next = atomic_load(&sh->log_brake) == 0 ? next_brake(sh) : 0;

    if (next != 0)
        atomic_compare_exchange_strong(&sh->log_brake, &none, next);
}

void caret__brake_wait(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    uint64_t at = atomic_load(&sh->log_brake);
    const struct timespec moment = {.tv_nsec = WAIT_NS};
    int before = errno;

    if (at == 0)
        return;
    if (next_brake(sh) != 0) {
        caret__away();
        nanosleep(&moment, NULL);
        caret__back();
    }
    errno = before;
    atomic_compare_exchange_strong(&sh->log_brake, &at, next_brake(sh));
}
