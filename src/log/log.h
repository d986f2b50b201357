/*
 * log.h - the functions of the log layer: commit, repair, flush, checkpoint, open.
 */
#ifndef CARET_LOG_LOG_H
#define CARET_LOG_LOG_H

#include "log/meta.h"
#include "log/record.h"
#include "shm/engine.h"
#include "shm/undo.h"

/* ---- log/repair.c: the writer mutex, and what its owner left ---------------- */

/* Lock the writer mutex, repairing after a dead owner.  CARET_OK, EVICTED, or
 * CORRUPT when the repair found damage.  On CARET_OK, log_head == log_applied. */
int caret__writer_lock(struct caret__engine *e);
void caret__writer_unlock(struct caret__engine *e);

/* The process in that slot is gone: see to it that nothing of it is being applied any more, repairing if it died
 * there.  Does not wait for a writer that lives, but for the repairer of this commit.  CARET_OK, or as above. */
int caret__writer_settle(struct caret__engine *e, uint32_t slot);

/* The writer mutex is ours and its owner died: make the state whole (idempotent). */
int caret__repair(struct caret__engine *e);

/* ---- log/apply.c: change the tree as a record says ---------------------------- */

enum caret__apply_mode {
    CARET__APPLY_REPLAY, /* at opening: nobody else is attached, no undo */
    CARET__APPLY_COMMIT,
    CARET__APPLY_REDO /* repair: the versions of a dead writer's pages say nothing about what is saved */
};

/* Apply the whole record at LSN `lsn` (its end); in_rows: as caret__record_need() said.
 * The caller holds the writer mutex and has reserved all that can run out. */
int caret__apply(struct caret__engine *e, const uint8_t *rec, uint32_t size, uint64_t lsn,
                 enum caret__apply_mode mode, bool in_rows);

/* Upper bound of what applying the record can take; for reservations. */
struct caret__need {
    uint32_t pages; /* page numbers, each with an arena slot */
    uint64_t undo_bytes;
    uint64_t undo_saved; /* of these, for pages of the current epoch: none after a checkpoint */
    bool in_rows;        /* counted for sets that are done in rows (tree/row.c) */
};
int caret__record_need(struct caret__engine *e, const uint8_t *rec, uint32_t size, struct caret__need *need);

/* Under the writer mutex: are there so many pages, slots, undo bytes?  Grows what can
 * grow.  CARET_OK; CARET_RESTART = a checkpoint must make room first; or an error. */
int caret__reserve(struct caret__engine *e, const struct caret__need *need, bool is_kill);

/* Can a commit change so many pages at all?  CARET_OK or TXN_TOO_BIG. */
int caret__may_take(const struct caret__engine *e, uint32_t pages);

/* Under the writer mutex: free page numbers that nobody has reserved, but for those that are left to kills. */
uint32_t caret__pages_to_take(const struct caret__shared *sh);

/* The undo context of a commit that uses an area of the undo region (shm/undo.h). */
static inline struct caret__undo caret__undo_context(const struct caret__engine *e, uint32_t area)
{
    struct caret__shared *sh = e->sh;
    uint64_t backed = atomic_load_explicit(&sh->undo_cap, memory_order_relaxed);
    return (struct caret__undo){.area = e->undo + caret__undo_offset(area),
                                .base = e->base,
                                .word = &sh->undo_word,
                                .lsn = &sh->undo_lsn,
                                .cap = caret__undo_room(area, backed),
                                .tag = area << CARET__UNDO_SHIFT};
}

/* The small area of this process. */
static inline uint32_t caret__undo_near(const struct caret__engine *e)
{
    return e->slot % CARET__UNDO_NEARS + 1;
}

/* ---- log/commit.c: one change or one transaction becomes visible ------------------ */

/* Where a key was found last; raised to the new state by a commit in place. */
struct caret__spot {
    uint64_t version; /* 0: not known */
    uint32_t pgno;
    uint16_t pos;
    uint8_t found; /* 1 at pos, 0 to be inserted at pos, or CARET__SPOT_LEAF */
    uint8_t kept;  /* 1 from the caller: 0 if the commit did not find the leaf as it was at that version */
};
#define CARET__SPOT_LEAF 2u /* the leaf is guessed, the position is not known */

/* Computes the value to set from the old one, under the writer mutex: no blocking, no failing calls back.
 * old is NULL if there is none.  Returns CARET_OK, or an error: nothing is changed then. */
typedef int caret__compute(void *ctx, const uint8_t *old, size_t old_len, const uint8_t **val, size_t *vlen);

/* Set one node as a commit of its own.  compute (may be NULL) replaces val/vlen.  *lsn: its LSN. */
int caret__commit_set(struct caret__engine *e, struct caret__spot *spot, const uint8_t *key, size_t klen,
                      const void *val, size_t vlen, caret__compute *compute, void *ctx, uint64_t *lsn);

/* A batch of so many sets, and nothing else, may be done in place. */
#define CARET__SPOTS 128u

/* A record under construction in private memory. */
struct caret__batch {
    uint8_t *rec;
    uint32_t size; /* of head and ops so far */
    uint32_t cap;  /* that are mapped */
    uint32_t room; /* that are allocated */
    uint32_t nops;
    uint64_t values; /* bytes of the values in it: at least as much its pages will have */
    bool only_kills; /* may use the reserve that is kept for emptying a full database */
    bool only_sets;  /* of values in the page */
    uint32_t nspots; /* of the first so many ops the place was looked for, see caret__batch_spot() */
    struct caret__spot spots[CARET__SPOTS];
};
int caret__batch_begin(struct caret__batch *b);
int caret__batch_add(struct caret__batch *b, enum caret__op op, const uint8_t *key, size_t klen,
                     const void *val, size_t vlen);
void caret__batch_destroy(struct caret__batch *b);

/* Is it worth looking for the places of the ops, in order, before anything is locked? */
static inline bool caret__batch_wants_spots(const struct caret__batch *b)
{
    return b->only_sets && b->nops <= CARET__SPOTS;
}
static inline void caret__batch_spot(struct caret__batch *b, const struct caret__spot *spot)
{
    CARET__ASSERT_CMP(b->nspots, <, CARET__SPOTS);
    b->spots[b->nspots++] = *spot;
}

/* Commit a batch.  valid (may be NULL) is asked under the mutex; false: CARET_RESTART. */
int caret__commit(struct caret__engine *e, struct caret__batch *b, bool (*valid)(void *ctx), void *ctx,
                  uint64_t *lsn);

/* For readers (struct caret__view): a page is ahead of log_applied. */
int caret__stalled(void *engine, uint64_t version, unsigned tries);

/* ---- log/floor.c: a transaction that was restarted too often runs undisturbed ---- */
void caret__floor_take(struct caret__engine *e, uint64_t id);
void caret__floor_speak(uint64_t id);  /* the calling thread writes as that one too */
void caret__floor_forget(uint64_t id); /* no longer */
void caret__floor_return(struct caret__engine *e, uint64_t id);
void caret__floor_wait(struct caret__engine *e); /* writers: while somebody else has it, a second at most */

/* ---- log/run.c: values out of line ------------------------------------------------- */

/* Where the long values of one commit are written: free pages, reserved until caret__room_done(). */
#define CARET__ROOM_ENTRIES 16u
struct caret__room {
    uint64_t ahead;      /* pages that the values to be written will take, as far as it is known */
    uint32_t pgno, left; /* of the last reservation: what is not used yet */
    unsigned n;
    uint32_t first[CARET__ROOM_ENTRIES]; /* first pages of the reservations */
};

static inline uint32_t caret__run_pages(size_t len)
{
    return (uint32_t)((len + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE);
}

/* Write a value there; LIMIT: too many others do for too long.  After an error, too, caret__room_done(). */
int caret__run_write(struct caret__engine *e, struct caret__room *room, const void *val, size_t len,
                     struct caret__runref *ref);
void caret__room_done(struct caret__engine *e, struct caret__room *room);

/* Under the writer mutex: give up an entry that holds; how many do. */
void caret__reserved_drop(struct caret__shared *sh, struct caret__reserved *r);
uint32_t caret__reserved_count(const struct caret__shared *sh);

/* ---- log/flush.c: from the ring to the log file -------------------------------- */

/* pwrite ring bytes [log_written, upto) to the log file (takes the flush mutex;
 * upto 0 = log_head).  With `sync` also fdatasync: log_durable >= upto afterwards. */
int caret__flush(struct caret__engine *e, uint64_t upto, bool sync);

/* Larger records do not go through the ring (flush.c). */
#define CARET__BIG_RECORD (CARET__RING_SIZE / 4u)

/* The largest record for a log of that size: an eighth is kept for kills, another is left to the others (arbitrary). */
static inline uint32_t caret__record_most(uint64_t log_size)
{
    return (uint32_t)caret__min64(log_size / 4 * 3, UINT32_MAX - 0xffffffu);
}

/* The same for the log as it is. */
static inline uint32_t caret__record_limit(const struct caret__shared *sh)
{
    return caret__record_most(atomic_load_explicit(&sh->log_size, memory_order_relaxed));
}

/* The largest record that can be committed: the log is made longer for it, unless somebody asked for its size. */
static inline uint32_t caret__record_possible(const struct caret__shared *sh)
{
    bool asked = atomic_load_explicit(&sh->log_kind, memory_order_relaxed) == CARET__META_ASKED;
    return asked ? caret__record_limit(sh) : caret__record_most(CARET__LOG_MAX);
}

/* TXN_TOO_BIG: the log is too short for that record, and cannot be longer. */
int caret__record_refused(const struct caret__engine *e, uint64_t size);

/* For the committer of a big record: take the flush mutex, before the writer mutex; under both write the
 * record to the log where log_head is, all before it first; give the flush mutex back. */
int caret__flush_hold(struct caret__engine *e);
int caret__flush_ring(struct caret__engine *e); /* all that the ring has, to the log */
int caret__flush_record(struct caret__engine *e, const uint8_t *rec, uint32_t size);
void caret__flush_release(struct caret__engine *e);

/* After the death of a holder of either mutex: what was written ahead of log_head does not count. */
void caret__flush_set_back(struct caret__shared *sh);

/* File offset of an LSN, and how many bytes are contiguous from there. */
uint64_t caret__log_offset(const struct caret__engine *e, uint64_t lsn, uint64_t *contiguous);

/* Wait until everything up to lsn is on the disk (sync = commit): whoever gets the flush mutex syncs for all. */
int caret__wait_durable(struct caret__engine *e, uint64_t lsn);

/* Record an I/O failure for everybody: IO_FAILED from now on.  Returns CARET_E_IO. */
int caret__io_failed(struct caret__engine *e, int errnum, const char *what);

/* ---- log/lengthen.c: a longer log, by the holder of the checkpoint role -------------- */

/* The shortest log that a record of so many bytes fits, as the argument of caret__checkpoint_then(). */
uint64_t caret__log_for_record(uint64_t size);

/* Before a freeze: must the log have `least` bytes (0: no), or is it worth lengthening?  Then its file is made longer;
 * the size, or 0: it stays, for that or for want of room. */
int caret__log_prepare(struct caret__engine *e, uint64_t least, uint64_t *size);

/* In the freeze of that epoch: plan it. */
void caret__log_plan(struct caret__engine *e, uint32_t epoch, uint64_t size);

/* Where the log lies, as the meta slot of that epoch is to say; the flags for it (CARET__META_ASKED, _LONGER). */
uint32_t caret__log_place(const struct caret__shared *sh, uint32_t epoch, uint64_t *base, uint64_t *size);

/* The meta slot of durable_epoch is on the disk: if the longer log is in it, that is the log from now on. */
int caret__log_switch(struct caret__engine *e);

/* ---- log/checkpoint.c --------------------------------------------------------------- */

/* Take a checkpoint (or wait for the one in progress and take over if its owner died)
 * so that everything committed before the call is in the data file afterwards. */
int caret__checkpoint(struct caret__engine *e);

/* Does the file system of the data file wait for the disk when sync_file_range asks it to? */
bool caret__disk_tells(const struct caret__engine *e);

/* The same for a writer that lacks room: one that was underway is enough, if it made some. */
int caret__checkpoint_room(struct caret__engine *e);

/* force: also when nothing was committed since the last one; clean: the meta says that no log is needed. */
int caret__checkpoint_as(struct caret__engine *e, bool force, bool clean);

/* In the role, when nothing is left to do in it, under the writer mutex: freeze the epoch.  From then on no page is
 * of the current one.  What is frozen is written by the next who takes a checkpoint.  log_size: of the log after that
 * checkpoint, as caret__log_prepare() says; 0: as it is. */
void caret__freeze(struct caret__engine *e, uint64_t log_size);

/* Take one like caret__checkpoint() and, still in the role, call `then`: what it returns is returned.  log_size: so long the
 * log is to be for it, if that can be (0: it does not matter). */
int caret__checkpoint_then(struct caret__engine *e, uint64_t log_size,
                           int (*then)(struct caret__engine *, void *), void *arg);

/* log/held.c, in the role: the page numbers that died in the epoch, which is durable, are free or held. */
int caret__release_pages(struct caret__engine *e, uint32_t epoch);

/* log/hollow.c: free numbers without room on the disk.  At opening, nobody else is attached: where the file has holes, free
 * numbers become hollow. */
void caret__hollow_look(struct caret__engine *e);

/* Under the writer mutex: have room on the disk for so many hollow numbers, if there are so many, which are free then.
 * DISKFULL: some may be. */
int caret__hollow_fill(struct caret__engine *e, uint32_t pages);

/* Without the mutex, when page numbers are wished for (caret__grow_pages_wanted): have room for some hollow ones, and make them free.
 * false: there is none. */
bool caret__hollow_ahead(struct caret__engine *e);

/* At opening: that number has room, for it has contents. */
void caret__hollow_take(struct caret__engine *e, uint32_t pgno);

/* After the last checkpoint of all, which says that the file was closed cleanly: punch holes where many pages are free. */
void caret__hollow_punch(struct caret__engine *e);

/* The held ones that no snapshot reads any more are free. */
int caret__held_release(struct caret__engine *e);

/* Are pages held, perhaps for a snapshot that has ended? */
bool caret__held_stale(const struct caret__engine *e);

/* Under the writer mutex: could a checkpoint free slots or pages? Not if nothing was changed since the last. */
static inline bool caret__checkpoint_frees(const struct caret__engine *e)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    const struct caret__shared *sh = e->sh;
    return caret__held_stale(e) || atomic_load(&sh->checkpoint_lsn) != atomic_load(&sh->log_applied) ||
           atomic_load(&sh->released_epoch) + 1 != atomic_load(&sh->epoch);
}

/* How many times as much is dead as makes a checkpoint due: an eighth of the file, and as much as the log is long. */
uint32_t caret__checkpoint_dead(const struct caret__engine *e);

/* Is the log or the arena a third full, or much dead? */
bool caret__checkpoint_due(const struct caret__engine *e);

/* ---- log/background.c ------------------------------------------------------------------ */

/* The thread that flushes, syncs and checkpoints when due; started at the first write. */
int caret__background_start(struct caret__engine *e);
/* A handle with these options was opened: its sync interval counts from now on, for all processes. */
void caret__background_wants(struct caret__engine *e, const caret_options *options);
/* Without a thread: sync if an interval is over.  For committers, behind their commit. */
int caret__background_inline(struct caret__engine *e);
void caret__background_stop(struct caret__engine *e);
void caret__background_wake(struct caret__engine *e);   /* cheap when it is awake already */
void caret__background_forked(struct caret__engine *e); /* in the child: forget the parent's thread */

#endif
