/*
 * engine.h - one open database as this process sees it.
 *
 * There is one engine per data file and process however often it is opened (a
 * registry by device and inode, shm/registry.c); caret_db and
 * sessions hold references.  The engine owns the descriptors, the mappings and
 * the process slot.
 *
 * After fork the child finds `pid` different from its own (a page that is wiped
 * on fork tells it for one load) and re-attaches: own slot, same mappings.
 */
#ifndef CARET_SHM_ENGINE_H
#define CARET_SHM_ENGINE_H

#include <sys/types.h>

#include "base/held.h"
#include "caret.h"
#include "shm/file.h"
#include "shm/pager.h"

/* How an engine that was opened read-only sees the database: open/observe.c. */
enum caret__observes {
    CARET__OBSERVES_NOT = 0, /* it does not: attached, with a process slot */
    CARET__OBSERVES_LIVE,    /* the segment of those who are attached, mapped read-only */
    CARET__OBSERVES_FILE     /* the data file, with a segment of its own in private memory */
};

struct caret__engine;

/* Makes a copy of the database in a new file (copy/backup.c). */
typedef int caret__copy_fn(struct caret__engine *e, const char *path, const caret_backup_options *options);

struct caret__engine {
    struct caret__pager pg; /* first: pages of the shared store */

    struct caret__shared *sh; /* the segment, mapped at base */
    uint8_t *base;
    size_t map_len;
    struct caret__procslot *slots;
    uint8_t *locks; /* lock table */
    uint8_t *undo;
    uint8_t *ring; /* mapped twice in a row: ring[x mod ring_size ... + ring_size) never wraps */
    const uint8_t *file_map;
    size_t file_map_len;
    uint64_t file_pages_mapped; /* file_map_len in pages */

    struct caret__fd data_fd, log_fd, lock_fd, shm_fd;
    struct caret__fd dir_fd; /* directory of the data file, for fsync after creating */
    /* a meta slot was written by us, or half of one: the file may say anything but what it said */
    bool meta_written;
    char *path;      /* resolved */
    char *lock_path; /* of the lock file */
    char *log_path;
    char *seg_path; /* of the segment */
    dev_t dev;
    ino_t ino;

    uint32_t slot;                          /* index of our process slot */
    uint32_t nonce;                         /* of it when we took it */
    pid_t pid;                              /* that attached */
    const volatile uint32_t *fork_mark;     /* 1 in the process that attached; reads 0 in a forked child */
    int (*forked)(struct caret__engine *e); /* what a child's first use calls: caret__engine_forked */

    _Atomic uint32_t sync_ms;    /* smallest sync interval that a handle of this process wants, 0 = none */
    _Atomic uint64_t huge_after; /* nothing is put into huge pages before (shm/huge.c); CLOCK_MONOTONIC */
    _Atomic uint64_t grow_after; /* there was no room for more arena slots: nobody is woken for them before */
    _Atomic uint64_t file_after; /* the same for page numbers */
    /* so many page numbers should exist, made by the background thread; 0 = enough do */
    _Atomic uint32_t page_wish;
    /* so many arena slots should be free, for a transaction that gathers its sets */
    _Atomic uint32_t slot_wish;
    _Atomic uint64_t synced; /* when a process without a background thread synced last */
    _Atomic uint64_t looked; /* when it looked last whether it should */
    caret_options options;   /* of the first opener in this process; shm_dir copied */
    bool readonly;
    bool alone; /* the segment has no name */
    /* Not 0: the database ":memory:", of files that have no names (open/open.c); bytes that data file, log and
     * arena may take together. */
    uint64_t memory_limit;
    /* Not NULL: when the last of all closes it the file is replaced by the compact copy that this makes of it
     * (open/open.c). */
    caret__copy_fn *copy;
    const caret_backup_options *copy_how;
    uint8_t observes;  /* enum caret__observes; then there is no slot, no lock file, and fork_mark stays 0 */
    uint64_t watch[2]; /* observes: epoch and generation in the meta slots when it was opened */
    uint8_t *log_tail; /* observes, while opening: log bytes from log_tail_from on that no file has */
    uint64_t log_tail_from, log_tail_len;
    uint64_t log_durable; /* the same: how far the last users knew it on the disk; 0: they left no memory */
    uint64_t log_end;     /* observes, while opening: where in the log file the record is, 0 = not known */
    bool replays;         /* while opening: its log is read where it is (open/replay.c) */
    unsigned refs;
    struct caret__background *background; /* log/background.c; NULL = none runs */
    struct caret__background *rested;     /* its memory, also while none runs */
    pthread_mutex_t snapshots_lock;    /* of this process's list of snapshots; nothing is waited for in it */
    struct caret__snapshot *snapshots; /* log/snapshot.c */
    uint64_t snapshots_word;           /* what snap_lsn of our slot is, unless we pass for dead */
    struct caret__engine *next;        /* registry */
};

/* ---- shm/mutex.c ------------------------------------------------------ */

/* Initialise a robust, process-shared, normal mutex in shared memory. */
int caret__mutex_init(pthread_mutex_t *m);

/* Lock.  Returns 0, or EOWNERDEAD when the previous owner died: the caller owns
 * it, must make the protected state whole and then call caret__mutex_consistent.
 * Spins briefly, then sleeps at most 1 s at a time (pthread_mutex_clocklock). */
int caret__mutex_lock_slow(pthread_mutex_t *m, int rc); /* rc: what trylock said */
static inline int caret__mutex_lock(pthread_mutex_t *m)
{
    CARET__NOT_HELD(m); /* the same thread never locks twice */
    caret__will_write(m);
    int rc = pthread_mutex_trylock(m);

    if (__builtin_expect(rc != 0, 0))
        return caret__mutex_lock_slow(m, rc);
    caret__held_note(m);
    return 0;
}
int caret__mutex_trylock(pthread_mutex_t *m);                      /* 0, EOWNERDEAD or EBUSY */
int caret__mutex_lock_within(pthread_mutex_t *m, uint64_t max_ns); /* 0, EOWNERDEAD or ETIMEDOUT */
void caret__mutex_consistent(pthread_mutex_t *m);
static inline void caret__mutex_unlock(pthread_mutex_t *m)
{
    caret__held_drop(m);
    pthread_mutex_unlock(m);
    caret__back_unlocked(m);
}

/* For assertions: does this thread hold the writer mutex?  True also for the spare one that is about to take its place,
 * after a death (log/writer.c). */
bool caret__writer_held(const struct caret__shared *sh);

/* The same, or the segment is this thread's alone: made, and not published (open/recover.c). */
bool caret__state_held(const struct caret__shared *sh);
static inline void caret__segment_alone(const struct caret__shared *sh)
{
    caret__held_note(sh);
}
static inline void caret__segment_shared(const struct caret__shared *sh)
{
    caret__held_drop(sh);
}

/* ---- shm/futex.c: raw futex words, shared between processes --------------- */

void caret__futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t max_ns);
void caret__futex_wake(_Atomic uint32_t *word, int count);
uint64_t caret__now_ns(void); /* CLOCK_MONOTONIC */
void caret__nap(uint64_t ns); /* for what nobody will wake us for */

/* What ends the sleeps of one session from outside (caret_interrupt). */
struct caret__alarm {
    _Atomic uint32_t raised;          /* until it is taken */
    _Atomic(_Atomic uint32_t *) word; /* what the session sleeps on, NULL = it doesn't */
};

/* Sleep as caret__futex_wait() does; not at all if the alarm is raised, and not on when it is.  NULL: there is none. */
void caret__alarm_sleep(struct caret__alarm *a, _Atomic uint32_t *word, uint32_t seen, uint64_t max_ns);

/* It was raised: take it back.  Asked before each sleep. */
bool caret__alarm_taken(struct caret__alarm *a);

/* From any thread, and from a signal handler: stores and a system call. */
void caret__alarm_raise(struct caret__alarm *a);

/* ---- shm/segment.c, shm/grow.c: create, map, grow (more in shm/segment.h) --- */

/* Have memory allocated for bytes [off, off + len) of the segment.  CARET_OK, or SHM with a
 * message.  For regions that are backed in steps; growing is under the region's mutex. */
int caret__segment_back(struct caret__engine *e, uint64_t off, uint64_t len);

/* Have memory mapped now, all whole pages of it, not fault by fault, where the system can do that.  Shared
 * memory is backed. */
void caret__populate(void *p, uint64_t len);

/* Back more page numbers / arena slots / undo bytes / data file pages; caller holds the writer mutex.
 * CARET_OK, or SHM / DISKFULL / LIMIT with a message; nothing has changed then. */
int caret__grow_pages(struct caret__engine *e, uint32_t npages);
int caret__grow_arena(struct caret__engine *e, uint32_t nslots);
int caret__grow_undo(struct caret__engine *e, uint64_t bytes);
int caret__grow_file(struct caret__engine *e, uint64_t pages);

/* Of a database in memory: may data file and log have so many bytes, of which so many are to be added? */
bool caret__memory_fits(const struct caret__engine *e, uint64_t file, uint64_t log, uint64_t more);

/* At opening: the file has so many; only the first ones are allocated, for the others see log/hollow.c. */
int caret__keep_file(struct caret__engine *e, uint64_t pages);

/* With the mutex: will few arena slots be free after `want` of them were taken, so that the background thread should
 * be woken for caret__grow_ahead? */
bool caret__grow_wanted(const struct caret__engine *e, uint32_t want);

/* Without the mutex: if few arena slots are free, allocate more.  The number of slots that caret__grow_arena can
 * publish quickly then, 0 = nothing to do, or no room (which whoever needs a slot will be told). */
uint32_t caret__grow_ahead(struct caret__engine *e);

/* A transaction of this process has gathered so many bytes: the next caret__grow_ahead() makes as many slots,
 * if there is much room.  0: it has ended.  Of several the last one counts. */
void caret__grow_expect(struct caret__engine *e, uint64_t bytes);

/* The same for page numbers.  With the mutex, when `want` are to be taken: will so few be left that the
 * background thread should be woken? Then the wish is noted. */
bool caret__grow_pages_wanted(struct caret__engine *e, uint32_t want);

/* Without the mutex: allocate what is wished for.  The number of pages that caret__grow_pages can publish
 * quickly then, 0 = nothing to do, or no room. */
uint32_t caret__grow_pages_ahead(struct caret__engine *e);

/* ---- shm/slots.c: which processes are alive -------------------------------------------- */

/* Is the process in slot i (with that nonce) alive?  Kernel-true: asks for its record lock. */
bool caret__slot_alive(struct caret__engine *e, uint32_t slot, uint32_t nonce);

/* What frees the locks that a dead process held: called with its slot and nonce when the slot
 * is reaped, after a repair, and for the own slot when it is given back.  NULL = nothing to
 * free.  Set by txn/lock.c before any database is open. */
extern void (*caret__reap_hook)(struct caret__engine *e, uint32_t slot, uint32_t nonce);

/* Are all descriptors that we have still those we opened (shm/file.c)?  If not: EVICTED, with what to do. */
bool caret__fds_ours(const struct caret__engine *e);
int caret__fds_check(const struct caret__engine *e);

/* Has an open file lost its last name? */
bool caret__file_removed(const struct caret__fd *f);

/* Did this process attach itself (false: it is a fork of one that did; caret__engine_forked). */
static inline bool caret__attached_here(const struct caret__engine *e)
{
    return *e->fork_mark != 0;
}

static inline bool caret__in_memory(const struct caret__engine *e)
{
    return e->memory_limit != 0;
}

/* Where the byte with that LSN lies in the ring. */
static inline uint8_t *caret__ring_at(const struct caret__engine *e, uint64_t lsn)
{
    return e->ring + (lsn & (CARET__RING_SIZE - 1));
}

/* Is our own slot still ours?  False: evicted. */
static inline bool caret__slot_ours(const struct caret__engine *e)
{
    return atomic_load_explicit(&e->slots[e->slot].nonce, memory_order_relaxed) == e->nonce;
}

/* Under the writer mutex: give up an entry that holds; how many do. */
void caret__reserved_drop(struct caret__shared *sh, struct caret__reserved *r);
uint32_t caret__reserved_count(const struct caret__shared *sh);

#endif
