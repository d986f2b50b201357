/*
 * layout.c - the signature of the shared layout.
 *
 * Two processes may be built from different sources, by different compilers,
 * against different C libraries, and still meet in one segment.  The signature
 * is a hash of everything they must agree about: where each field of each shared
 * structure lies, the sizes of tables and pages, how large a pthread_mutex_t is.
 * It is compared at attach; a process with another one is refused (VERSION).
 * What a changed meaning of an unchanged field needs is a new
 * CARET__LAYOUT_VERSION: it is hashed too.
 */
#include <stddef.h>
#include <unistd.h>

#include "shm/undo.h"

/* FNV-1a over the bytes of 64-bit numbers. */
static uint64_t mix(uint64_t hash, uint64_t number)
{
    for (unsigned i = 0; i < 8; i++) {
        hash ^= number >> (8 * i) & 0xff;
        hash *= UINT64_C(0x100000001b3);
    }
    return hash;
}

#define AT(type, field) offsetof(struct type, field)

static const uint64_t facts[] = {
    CARET__LAYOUT_VERSION,
#ifdef CARET_SMALL
    1,
#else
    0,
#endif
    CARET__PAGE_SIZE, CARET__MAX_PAGES, CARET__RING_SIZE, CARET__UNDO_MAX, CARET__MAX_PROCS, CARET__MAX_LOCKS,
    CARET__MAX_DEPTH, CARET__KEY_MAX, CARET__MAPS, CARET__UNDO_NEARS, CARET__UNDO_NEAR,
    sizeof(pthread_mutex_t),
    /* page table, tree state, frozen tree */
    sizeof(struct caret__pte), AT(caret__pte, version), AT(caret__pte, word), sizeof(struct caret__tstate),
    AT(caret__tstate, root), AT(caret__tstate, depth), AT(caret__tstate, npages),
    AT(caret__tstate, page_hint), AT(caret__tstate, slot_hint), AT(caret__tstate, free_pages),
    AT(caret__tstate, dead_pages), AT(caret__tstate, lent_pages), AT(caret__tstate, free_slots),
    AT(caret__tstate, has_runs), AT(caret__tstate, nodes), sizeof(struct caret__frozen),
    AT(caret__frozen, epoch), AT(caret__frozen, root), AT(caret__frozen, depth), AT(caret__frozen, npages),
    AT(caret__frozen, has_runs), AT(caret__frozen, nodes), AT(caret__frozen, lsn),
    AT(caret__frozen, chain_seed),
    /* lock table */
    sizeof(struct caret__lock_table), AT(caret__lock_table, waiters), AT(caret__lock_table, buckets),
    AT(caret__lock_table, cells), sizeof(struct caret__lock_cell), AT(caret__lock_cell, owner),
    AT(caret__lock_cell, waiters_below), AT(caret__lock_cell, key), sizeof(struct caret__lock_waiter),
    AT(caret__lock_waiter, queue),
    /* process slots, reserved runs */
    sizeof(struct caret__procslot), AT(caret__procslot, state), AT(caret__procslot, nonce),
    AT(caret__procslot, pid), AT(caret__procslot, start), AT(caret__procslot, sync_ms),
    AT(caret__procslot, flags), AT(caret__procslot, command), AT(caret__procslot, gets),
    AT(caret__procslot, sets), AT(caret__procslot, commits), AT(caret__procslot, restarts),
    AT(caret__procslot, lock_waits), AT(caret__procslot, checkpoints), AT(caret__procslot, flushes),
    AT(caret__procslot, repairs), AT(caret__procslot, snap_lsn), AT(caret__procslot, snap_epoch),
    sizeof(struct caret__reserved), AT(caret__reserved, pgno), AT(caret__reserved, count),
    AT(caret__reserved, owner), AT(caret__reserved, nonce),
    /* the header, in its order */
    sizeof(struct caret__shared), AT(caret__shared, magic), AT(caret__shared, signature),
    AT(caret__shared, uuid), AT(caret__shared, dev), AT(caret__shared, ino), AT(caret__shared, seg_size),
    AT(caret__shared, off_slots), AT(caret__shared, off_locks), AT(caret__shared, off_bitmaps),
    AT(caret__shared, off_ptab), AT(caret__shared, off_owners), AT(caret__shared, off_undo),
    AT(caret__shared, off_ring), AT(caret__shared, off_arena), AT(caret__shared, locks_size),
    AT(caret__shared, page_size), AT(caret__shared, max_pages), AT(caret__shared, max_slots),
    AT(caret__shared, max_procs), AT(caret__shared, ring_size), AT(caret__shared, undo_max),
    AT(caret__shared, generation), AT(caret__shared, created), AT(caret__shared, ptab_pages),
    AT(caret__shared, nslots), AT(caret__shared, undo_cap), AT(caret__shared, file_pages),
    AT(caret__shared, writer_index), AT(caret__shared, writer_slot), AT(caret__shared, writer),
    AT(caret__shared, spare_writer), AT(caret__shared, log_head), AT(caret__shared, log_seed),
    AT(caret__shared, log_applied), AT(caret__shared, awaiting), AT(caret__shared, awaiters),
    sizeof(struct caret__awaiter), AT(caret__awaiter, word), AT(caret__awaiter, len),
    AT(caret__awaiter, owner), AT(caret__awaiter, key), CARET__AWAITERS, AT(caret__shared, collisions),
    sizeof(struct caret__tally), AT(caret__tally, sum), AT(caret__tally, count), AT(caret__tally, time),
    AT(caret__tally, pid), AT(caret__tally, words), CARET__COLLISIONS, AT(caret__shared, globals_read),
    CARET__GLOBALS_READ, AT(caret__shared, undo_lsn), AT(caret__shared, undo_word),
    AT(caret__shared, log_room), AT(caret__shared, ts), AT(caret__shared, epoch),
    AT(caret__shared, durable_epoch), AT(caret__shared, released_epoch), AT(caret__shared, checkpoint_wanted),
    AT(caret__shared, checkpoint_lsn), AT(caret__shared, checkpoints), AT(caret__shared, frozen),
    AT(caret__shared, held_pages), AT(caret__shared, hollow_pages), AT(caret__shared, given_slots),
    AT(caret__shared, held_settled), AT(caret__shared, checkpoint_seed), AT(caret__shared, archive_time),
    AT(caret__shared, archive_len), AT(caret__shared, archive), AT(caret__shared, log_written),
    AT(caret__shared, log_durable), AT(caret__shared, big_seed), AT(caret__shared, ring_from),
    AT(caret__shared, log_base), AT(caret__shared, log_size), AT(caret__shared, log_limit),
    AT(caret__shared, log_brake), AT(caret__shared, frozen_lsn), AT(caret__shared, frozen_done),
    AT(caret__shared, log_next_size), AT(caret__shared, log_next_base), AT(caret__shared, log_next_epoch),
    AT(caret__shared, log_kind), AT(caret__shared, pace_slots), AT(caret__shared, sync_in_progress),
    AT(caret__shared, io_failed), AT(caret__shared, durable_futex), AT(caret__shared, runs_unsynced),
    AT(caret__shared, flush), AT(caret__shared, checkpoint), AT(caret__shared, floor_owner),
    AT(caret__shared, floor_deadline), AT(caret__shared, floor_futex), AT(caret__shared, lock_mutex),
    AT(caret__shared, lock_nonce), AT(caret__shared, lock_futex), AT(caret__shared, repairs),
    AT(caret__shared, reserved), AT(caret__shared, nreserved), AT(caret__shared, ended),
    AT(caret__shared, huge), AT(caret__shared, data_path)};

uint64_t caret__layout_signature(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        hash = mix(hash, facts[i]);
    return mix(hash, (uint64_t)sysconf(_SC_PAGESIZE));
}
