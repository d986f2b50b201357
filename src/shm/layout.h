/*
 * layout.h - every structure that processes share, in one place.
 *
 * The segment is one sparse file in /dev/shm (or shm_dir), mapped whole by each
 * process.  Its regions lie at fixed offsets that the creator wrote into the
 * header; they are reserved large and allocated (fallocate) in steps, always
 * before anything in them is published, so that touching them can't fault.
 *
 *   header | process slots | locks | bitmaps | page table | slot owners | undo | ring | arena
 *
 * Words that decide everything (docs/engine.md tells the protocol):
 *   log_head     LSN up to which commits exist.  Storing it is the commit point.
 *   log_applied  LSN up to which commits are visible in the pages.
 *   head > applied: a commit is being applied, or its process died doing it.
 *
 * Which process may write a field: "W" = holder of the writer mutex, "F" =
 * holder of the flush mutex, "C" = holder of the checkpoint mutex, "L" =
 * holder of the lock mutex, "G" = holder of the opening gate, "own" = the
 * process of the slot. Everything that others read without that lock is
 * _Atomic.
 *
 * A change of any structure here must change CARET__LAYOUT_VERSION; the layout
 * signature (caret__layout_signature) refuses a process that was built otherwise.
 */
#ifndef CARET_SHM_LAYOUT_H
#define CARET_SHM_LAYOUT_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

#define CARET__LAYOUT_VERSION 13u
#define CARET__SEG_MAGIC      UINT64_C(0x3167657374657263)

/* Room for a path in segment and lock file. */
#define CARET__SEG_PATH       924u

/* A place in the segment, in bytes from its start. */
typedef uint64_t caret__segoff;

#ifdef CARET_SMALL
#define CARET__PAGE_SIZE       512u
#define CARET__MAX_PAGES       (1u << 17)
#define CARET__RING_SIZE       (64u << 10) /* a multiple of the machine's page size: it is mapped twice */
#define CARET__LOG_LEAST       (64u << 10)
#define CARET__LOG_MIN         (128u << 10)
#define CARET__LOG_DEFAULT     (256u << 10)
#define CARET__LOG_MAX         (1u << 20)
#define CARET__RECORD_MAX      (768u << 10)
#define CARET__ARENA_STEP      64u /* slots allocated at a time */
#define CARET__ARENA_SLOTS_MAX (1u << 14)
#define CARET__UNDO_MAX        (4u << 20) /* bytes of the undo region */
#define CARET__MAX_PROCS       32u
#define CARET__MAX_LOCKS       1024u
#define CARET__HUGE_LEAST      CARET__HUGE
#else
#define CARET__PAGE_SIZE       4096u
#define CARET__MAX_PAGES       (1u << 26) /* 256 GiB; 1 GiB of address space for the page table */
#define CARET__RING_SIZE       (4u << 20)
#define CARET__LOG_LEAST       (4u << 20) /* of the log file where the disk is small: as long as the ring */
#define CARET__LOG_MIN         (8u << 20) /* that may be asked for: see caret_options */
#define CARET__LOG_DEFAULT     (64u << 20)
#define CARET__LOG_MAX         (1u << 31)   /* its replay is to take less than 20 s */
#define CARET__RECORD_MAX      (768u << 20) /* bytes of one transaction */
#define CARET__ARENA_STEP      1024u        /* 4 MiB */
#define CARET__ARENA_SLOTS_MAX (1u << 24)   /* 64 GiB of address space */
#define CARET__UNDO_MAX        (127u << 20) /* for 1.6 M pages; the undo word has 27 bits */
#define CARET__MAX_PROCS       256u
#define CARET__MAX_LOCKS       65536u
#define CARET__HUGE_LEAST      (UINT64_C(32) << 20) /* bytes of an arena where translations are felt */
#endif

#define CARET__ARCHIVE_PATH     256u /* bytes of the path of an archive's folder, the 0 after it included */
#define CARET__MAX_DEPTH        24u  /* levels of the tree; 512-byte pages with maximal keys stay below */
#define CARET__WRITER_MUTEXES   4u   /* one in use, the others are spares (log/writer.c) */
#define CARET__HOLDER_SLOT_BITS 10u  /* of writer_slot */
#define CARET__MAX_RESERVED     64u  /* runs being written before their commit, all processes together */
#ifdef CARET_SMALL
#define CARET__AWAITERS     4u /* places for those who wait for changes: all who find none share the last one */
#define CARET__COLLISIONS   8u
#define CARET__GLOBALS_READ 8u
#else
#define CARET__AWAITERS     64u
#define CARET__COLLISIONS   64u  /* nodes at which transactions collided that are remembered */
#define CARET__GLOBALS_READ 128u /* globals that are remembered with their gets */
#endif

/* Where the arena begins in the segment, and a segment in memory: a multiple of this.  A huge page of x86-64,
 * and of aarch64 with pages of 4 KiB; where they are larger, nothing comes of it. */
#define CARET__HUGE        (UINT64_C(2) << 20)
#define CARET__HUGE_WORDS  (((uint64_t)CARET__ARENA_SLOTS_MAX * CARET__PAGE_SIZE / CARET__HUGE + 63u) / 64u)

/* ------------------------------------------------------------ page numbers */

/*
 * Page numbers are places in the data file.  Some are never the tree's: those
 * below CARET__FIRST_PAGE (meta slots) and the first two of each group of
 * CARET__GROUP_PAGES (the two bitmap images of the group; disk/meta.h).
 */
#define CARET__FIRST_PAGE  ((32u << 10) / CARET__PAGE_SIZE) /* page numbers below hold the meta slots */
#define CARET__GROUP_PAGES ((CARET__PAGE_SIZE - 32u) * 8u)  /* page numbers per pair of bitmap images */

/* Is the page number one of the meta slots' or bitmap images'? */
static inline bool caret__pgno_reserved(uint32_t pgno)
{
    uint32_t in = pgno % CARET__GROUP_PAGES;
    return pgno < CARET__FIRST_PAGE + 2u || (pgno >= CARET__GROUP_PAGES && in < 2u);
}

/* Numbers below are always backed by the disk: a file that is no longer has no holes of ours (log/hollow.c). */
#ifdef CARET_SMALL
#define CARET__KEPT_PAGES 512u
#else
#define CARET__KEPT_PAGES 4096u /* 16 MiB; arbitrary */
#endif

/* ------------------------------------------------------------- page table */

/*
 * One entry per page number, 16 bytes.
 *   offset 0  version: LSN of the commit that last changed the page or its role.
 *             W.  Never goes back, not even in repair.  Stale read: the reader
 *             re-checks after reading the page.
 *   offset 8  word: bits 63..32 arena slot + 1 (0 = bytes are in the data file),
 *             bit 31 obsolete, bits 30..0 epoch of birth.  W.  Read in one load.
 * All zero is a valid entry: in the file, never changed since opening.
 */
struct caret__pte {
    _Atomic uint64_t version;
    _Atomic uint64_t word;
};
#define CARET__PTE_OBSOLETE   (UINT64_C(1) << 31)
#define CARET__PTE_EPOCH_MASK (CARET__PTE_OBSOLETE - 1)
#define CARET__SLOT_NONE      UINT32_MAX

static inline uint32_t caret__pte_slot(uint64_t word)
{
    return (uint32_t)(word >> 32) - 1; /* 0 becomes CARET__SLOT_NONE */
}
static inline uint32_t caret__pte_epoch(uint64_t word)
{
    return (uint32_t)(word & CARET__PTE_EPOCH_MASK);
}
static inline uint64_t caret__pte_make(uint32_t slot, uint32_t epoch)
{
    return (uint64_t)(slot + 1) << 32 | epoch;
}

/* -------------------------------------------------------- tree-state block */

/*
 * What a commit may change besides pages, page table and bitmaps.  It is saved
 * whole into the undo area before the first change in a commit.  Writer: W.
 * `root` is read by readers without lock; the others only under W.
 */
struct caret__tstate {
    _Atomic uint32_t root;   /* page number of the root; a leaf when depth is 1 */
    uint32_t depth;          /* levels, 1 = root is a leaf */
    _Atomic uint32_t npages; /* page numbers below this exist; the file is at least this long */
    uint32_t page_hint;      /* where the search for a free page goes on */
    uint32_t slot_hint;      /* where the search for a free arena slot goes on */
    uint32_t free_pages;     /* bits set in the free map below npages */
    uint32_t free_slots;     /* bits set in the slot map below nslots */
    uint32_t has_runs;       /* 1 once a value was stored out of line */
    uint64_t nodes;          /* entries in the tree */
    uint32_t dead_pages;     /* bits set in the pending maps: died since the last checkpoint; derived */
    uint32_t lent_pages; /* of these, so many may be taken for pages of the tree: all that died in the epoch
                                before, while its checkpoint is underway, or none (page/store.h) */
    uint64_t spare[2];
};

/* The tree as frozen by a checkpoint, copied under W; read by C. */
struct caret__frozen {
    uint32_t epoch; /* 0: the others are being stored, or whoever did so has died */
    uint32_t root, depth, npages;
    uint32_t has_runs, pad;
    uint64_t nodes;
    uint64_t lsn;        /* log_applied at the freeze: the log from here on is not in the pages */
    uint64_t chain_seed; /* the 8 bytes before lsn in the log */
};

/* ----------------------------------------------------------- process slots */

enum { CARET__SLOT_FREE = 0, CARET__SLOT_USED = 1, CARET__SLOT_REAPING = 2 };

/*
 * One per attached process.  Whether it is alive is told by the record lock on byte
 * (CARET__LOCKBYTE_SLOT0 + index) of the lock file, never by pid.  Counters are only ever written by the
 * own process (atomically added to, some calls late: a session adds up a few first) and summed by others.
 */
struct caret__procslot {
    _Atomic uint32_t state;   /* G */
    _Atomic uint32_t nonce;   /* G: raised each time the slot is taken; 0 = never */
    _Atomic uint64_t pid;     /* own, at attach: for people, not for decisions */
    _Atomic uint64_t start;   /* own: start time, nanoseconds since the epoch */
    _Atomic uint32_t sync_ms; /* own: smallest sync interval wanted, 0 = none */
    _Atomic uint32_t flags;
    char command[32]; /* own: name of the program, NUL-terminated */
    _Atomic uint64_t gets, sets, commits, restarts, lock_waits, checkpoints, flushes, repairs;
    /* Snapshots that the process reads (log/snapshot.h): the oldest one's LSN, 0 = none, and the newest one's
     * epoch.  Own, under C for a new one; anybody who finds it dead, under C or G, stores 0. */
    _Atomic uint64_t snap_lsn;
    _Atomic uint32_t snap_epoch;
    uint32_t pad;
    _Atomic uint64_t file_limit; /* own, at attach: the longest file it may write (ulimit -f) */
    uint64_t spare[5];
};

/* Pages of the file that a process is filling with a large value before its commit.  W. */
struct caret__reserved {
    uint32_t pgno;  /* first page */
    uint32_t count; /* pages; 0 = entry is free */
    uint32_t owner; /* process slot */
    uint32_t nonce; /* of the owner */
};

/* ------------------------------------------------------------- lock table
 *
 * At off_locks, one struct caret__lock_table (txn/lock.c tells how it works);
 * all zero is the empty table.  The creator backs CARET__LOCKS_INITIAL bytes, the
 * lock manager backs more cells by fallocate when it needs them.  Writer: L.
 * "Truth" is what survives the death of L's holder; everything else is derived
 * from it by caret__lt_repair.  Cells are numbered from 1, 0 = none.
 */

#ifdef CARET_SMALL
#define CARET__LOCK_WAITERS 64u  /* sessions that can wait for locks at a time */
#define CARET__LOCK_IDLE    8u   /* names kept in the index though nobody holds them */
#define CARET__LOCK_STEP    128u /* cells backed at a time */
#else
#define CARET__LOCK_WAITERS 1024u
#define CARET__LOCK_IDLE    64u
#define CARET__LOCK_STEP    2048u /* 256 KiB */
#endif

#define CARET__LOCK_KEY_HEAD 56u  /* bytes of the name in its first cell */
#define CARET__LOCK_KEY_MORE 100u /* bytes of it in each further cell */

/*
 * A name: locked, or above a locked or wanted one, or idle.  128 bytes.
 * As a continuation of a name a cell uses only `more` and the bytes from `next` on;
 * its count stays 0, so that repair never takes it for a held lock.
 */
struct caret__lock_cell {
    _Atomic uint32_t count; /*  0: truth: times held; > 0 publishes owner, nonce, len, key */
    uint32_t nonce;         /*  4: truth: of the owner's process slot */
    uint64_t owner;         /*  8: truth: session = process slot << 32 | session number */
    uint16_t len;           /* 16: truth: bytes of the encoded key */
    uint8_t kind;           /* 18: CARET__CELL_*; repair writes it anew */
    uint8_t idle;           /* 19: place in table.idle + 1 */
    uint32_t pos;           /* 20: truth: place in the owner's private list + 1 */
    uint32_t more;          /* 24: truth: next cell of the key; of a free cell: next free one */
    uint32_t next;          /* 28: next in the chain of the bucket */
    uint32_t hash;          /* 32: of the key */
    uint32_t parent;        /* 36: the name one subscript shorter; 0 at a variable */
    uint32_t kid;           /* 40: first of the names one subscript longer */
    uint32_t sib_next;      /* 44 */
    uint32_t sib_prev;      /* 48 */
    uint32_t below;         /* 52: names below that are held */
    uint32_t waiters;       /* 56: sessions waiting for this name */
    uint32_t waiters_below; /* 60: sessions waiting for names below */
    uint64_t since;         /* 64: CLOCK_MONOTONIC nanoseconds, coarse: held since */
    uint8_t key[CARET__LOCK_KEY_HEAD];
};
_Static_assert(sizeof(struct caret__lock_cell) == 128, "lock cell");
_Static_assert(CARET__LOCK_KEY_MORE == 128 - 28, "a continuation begins at `next`");

enum { CARET__CELL_FREE = 0, CARET__CELL_NAME = 1, CARET__CELL_MORE = 2 };

/* A session that sleeps until it gets a lock.  Derived: dropped by repair, the session comes again. */
struct caret__lock_waiter {
    uint64_t owner; /* as in the cell */
    uint64_t since; /* CLOCK_MONOTONIC nanoseconds; for people */
    uint32_t nonce;
    uint32_t cell;  /* the name it waits for; 0 = record is free */
    uint32_t walk;  /* search for rings: number of the search that came here last */
    uint32_t via;   /* record + 1 of the waiter that led here */
    uint32_t held;  /* cell that this session holds and `via` waits for */
    uint32_t queue; /* record + 1 of the one to look at next */
};

struct caret__lock_table {
    uint32_t used;      /* truth: cells 1..used - 1 were in use once (0 = none yet); never goes back */
    uint32_t backed;    /* truth: cells that are backed by memory (0 = CARET__LOCK_STEP) */
    uint32_t free;      /* first of the free cells below used */
    uint32_t held;      /* names held */
    uint32_t waiting;   /* records in use in waiters[] */
    uint32_t waiters_n; /* records at or above this were never used */
    uint32_t walk;      /* number of the last search for rings */
    uint32_t idle_next; /* place of the ring idle[] to be used next */
    uint64_t repairs;
    uint32_t idle[CARET__LOCK_IDLE]; /* cells of names that were let go lately */
    struct caret__lock_waiter waiters[CARET__LOCK_WAITERS];
    uint32_t buckets[CARET__MAX_LOCKS];                           /* first cell by hash */
    alignas(128) struct caret__lock_cell cells[CARET__MAX_LOCKS]; /* cell 0 is not used */
};
#define CARET__LOCKS_SIZE sizeof(struct caret__lock_table)
#define CARET__LOCKS_INITIAL                                                                                 \
    (offsetof(struct caret__lock_table, cells) + CARET__LOCK_STEP * sizeof(struct caret__lock_cell))

/*
 * A thread that waits for changes at or below a node (log/await.c).  Taken and given back by compare and swap; len
 * and key are its owner's, stored before its bit in `awaiting`, and read torn by commits that come meanwhile.
 */
struct caret__awaiter {
    _Atomic uint32_t word;  /*  0: raised, and woken, by a commit that concerns it */
    _Atomic uint32_t len;   /*  4: bytes of the key, as far as there is room for it */
    _Atomic uint64_t owner; /*  8: process slot + 1 << 32 | nonce; 0 = free */
    uint8_t key[112];       /* 16 */
};
_Static_assert(sizeof(struct caret__awaiter) == 128, "a place of one who waits");

/* A count of a key.  Anybody, at any time; shm/tally.c tells what may be believed of it. */
#define CARET__TALLY_WORDS 12u
struct caret__tally {
    _Atomic uint64_t sum;                       /*  0: of the words; 0 = nothing is there */
    _Atomic uint64_t count;                     /*  8: since the key came here */
    _Atomic uint64_t time;                      /* 16: when last, nanoseconds since 1970 */
    _Atomic uint64_t pid;                       /* 24: of the process that noted it last */
    _Atomic uint64_t words[CARET__TALLY_WORDS]; /* 32: the key */
};
_Static_assert(sizeof(struct caret__tally) == 128, "a place of a tally");

/* ------------------------------------------------------------------ header */

struct caret__shared {
    /* Identity: written by the creator before publication (G), constant afterwards. */
    uint64_t magic;     /* CARET__SEG_MAGIC, stored last */
    uint64_t signature; /* caret__layout_signature() */
    uint8_t uuid[16];   /* of the data file */
    uint64_t dev, ino;  /* of the data file */
    uint64_t seg_size;
    caret__segoff off_slots, off_locks, off_bitmaps, off_ptab, off_owners, off_undo, off_ring, off_arena;
    uint64_t locks_size; /* CARET__LOCKS_SIZE */
    uint32_t page_size, max_pages, max_slots, max_procs;
    uint64_t ring_size, undo_max;
    uint32_t generation; /* of the log; mixed into its crc chain */
    uint32_t pad0;
    uint64_t created; /* of the data file, nanoseconds since 1970 */

    /* Allocated so far (grown under W, by fallocate before it is stored). */
    alignas(64) _Atomic uint32_t
        ptab_pages;              /* entries of page table and bits of page bitmaps that are backed */
    _Atomic uint32_t nslots;     /* arena slots that are backed */
    _Atomic uint64_t undo_cap;   /* bytes of the undo area that are backed */
    _Atomic uint64_t file_pages; /* pages the data file was allocated to */

    /* Read by all, changed hardly ever: not on a line that a commit writes. */
    _Atomic uint32_t writer_index;
    _Atomic uint64_t awaiting; /* anybody: bits of the places whose owners want to be woken (log/await.c) */

    /*
     * What every commit writes lies on two lines that are neighbours.  A line that goes from core to core is
     * the price of a commit when several processes write.  What a committer reads before it can go on comes
     * with the mutex.
     */
    alignas(128) pthread_mutex_t writer;
    _Atomic uint64_t log_head;    /* W: the two words */
    uint64_t log_seed;            /* W: the 8 bytes before log_head; derived: repair makes it anew */
    _Atomic uint32_t writer_slot; /* W: the holder: process slot + 1, nonce above; 0 = none (log/writer.c) */

    alignas(64) _Atomic uint64_t log_applied; /* W */
    _Atomic uint64_t undo_lsn;                /* W */
    _Atomic uint64_t undo_word;               /* W: generation, area, bytes used (shm/undo.h) */
    uint64_t log_room; /* W: up to this LSN there is room in ring and log; 0 = look (log/commit.c) */
    alignas(64) pthread_mutex_t spare_writer[CARET__WRITER_MUTEXES - 1];

    alignas(64) struct caret__tstate ts; /* W */

    /* Epochs and checkpoints. */
    alignas(64) _Atomic uint32_t epoch; /* W: the epoch commits belong to; stored last in a freeze */
    _Atomic uint32_t durable_epoch;     /* C: newest epoch whose meta is on disk */
    _Atomic uint32_t released_epoch;    /* C under W: newest epoch whose slots and pages were released */
    _Atomic uint32_t checkpoint_wanted;
    _Atomic uint64_t checkpoint_lsn; /* C: frozen.lsn of durable_epoch: the log before it is not needed */
    _Atomic uint64_t checkpoints;
    struct caret__frozen frozen;   /* W at the freeze */
    _Atomic uint32_t held_pages;   /* W: bits set in the held map; derived */
    _Atomic uint32_t hollow_pages; /* W: bits set in the hollow map; derived */
    _Atomic uint32_t given_slots;  /* C: given back while a checkpoint writes; for estimates */
    _Atomic uint64_t held_settled; /* C: mark of the snapshots for which `held` was gone through; 0 = do it */
    uint64_t checkpoint_seed;      /* C: the 8 bytes of the log before checkpoint_lsn */
    _Atomic uint64_t archive_time; /* C: CLOCK_MONOTONIC nanoseconds of the last attempt to archive */
    _Atomic uint32_t archive_len;  /* C: bytes of the path that follows; 0 = the log is not archived */
    char archive[CARET__ARCHIVE_PATH]; /* C: folder of the archive, before its length is stored */

    /* Log file. */
    alignas(64) _Atomic uint64_t log_written; /* F: pwritten up to here */
    _Atomic uint64_t log_durable;             /* F: synced up to here */
    uint64_t big_seed;                        /* W: the 8 bytes before the big record committed last */
    _Atomic uint64_t ring_from; /* F: the ring holds nothing before it (log/flush.c, big records) */
    _Atomic uint64_t log_base;  /* F: file offset of LSN x is (x - log_base) mod log_size */
    _Atomic uint64_t log_size;  /* F */
    /* W: nothing may be written from this LSN on; 0 = no such limit (log/lengthen.c) */
    _Atomic uint64_t log_limit;
    /* Anybody: whoever comes to this LSN waits a moment, and moves it; 0 = nobody has to (log/brake.c) */
    _Atomic uint64_t log_brake;
    _Atomic uint64_t frozen_lsn;  /* W: that of the last freeze; for the brake, as the next */
    _Atomic uint32_t frozen_done; /* C, 0 by W: of what was frozen, 65536ths that the disk has */
    /* F: set around fdatasync; found set by a successor: the sync's fate is unknown */
    _Atomic uint32_t sync_in_progress;
    _Atomic uint32_t io_failed;     /* anybody, never cleared: errno of the first failed write or sync */
    _Atomic uint32_t durable_futex; /* raised after each sync; commit-mode waiters sleep on it */
    _Atomic uint32_t runs_unsynced; /* W sets, F clears: the data file must be synced before the log */
    pthread_mutex_t flush;
    pthread_mutex_t checkpoint;

    /* A longer log is planned: W and C (log/lengthen.c). */
    _Atomic uint64_t log_next_size; /* 0 = none is; stored last */
    uint64_t log_next_base;
    uint32_t log_next_epoch;   /* whose meta slot has the two */
    _Atomic uint32_t log_kind; /* W: CARET__META_ASKED or _LONGER, or 0: as the meta slot says of log_size */
    /* C: slots by which the arena was fuller meanwhile, for 64 pages; 0 = not known */
    _Atomic uint32_t pace_slots;

    /* The floor: a transaction that was restarted too often runs alone. */
    alignas(64) _Atomic uint64_t floor_owner; /* slot + 1 << 32 | nonce of the session; 0 = nobody */
    _Atomic uint64_t floor_deadline;          /* CLOCK_MONOTONIC nanoseconds */
    _Atomic uint32_t floor_futex;

    /* Lock manager (txn/lock.c); its table lies at off_locks. */
    alignas(64) pthread_mutex_t lock_mutex;
    _Atomic uint32_t lock_nonce; /* L: source of session numbers */
    _Atomic uint32_t lock_futex; /* raised at every release that somebody may wait for */

    _Atomic uint64_t repairs;
    struct caret__reserved reserved[CARET__MAX_RESERVED]; /* W */
    _Atomic uint32_t nreserved;                           /* W: entries in use; derived */
    /* G: 1 = recovery took what was in here; for those who only read (open/observe.c) */
    _Atomic uint32_t ended;

    alignas(128) struct caret__awaiter awaiters[CARET__AWAITERS];
    /* nodes at which transactions collided, by restarts (txn/collide.c) */
    alignas(128) struct caret__tally collisions[CARET__COLLISIONS];
    /* globals, by gets: an estimate (api/session.c) */
    alignas(128) struct caret__tally globals_read[CARET__GLOBALS_READ];

    /* anybody: pieces of the arena that were made huge; a note (shm/huge.c) */
    _Atomic uint64_t huge[CARET__HUGE_WORDS];

    /* of the data file, NUL-terminated; constant. "": too long (open/orphan.c) */
    char data_path[CARET__SEG_PATH];
};

/* The writer mutex in use. */
static inline pthread_mutex_t *caret__writer_mutex(struct caret__shared *sh)
{
    uint32_t i = atomic_load_explicit(&sh->writer_index, memory_order_relaxed) % CARET__WRITER_MUTEXES;
    return __builtin_expect(i == 0, 1) ? &sh->writer : &sh->spare_writer[i - 1];
}

_Static_assert((CARET__RING_SIZE & (CARET__RING_SIZE - 1)) == 0, "a mask finds the place in the ring");
_Static_assert(sizeof(struct caret__pte) == 16, "page table entry");
_Static_assert(sizeof(struct caret__tstate) == 64, "tree-state block");

/* --------------------------------------------------------------- bitmaps
 *
 * At off_bitmaps, one after the other, each CARET__BITMAP_WORDS(max_pages) words
 * of 64 bits (the slot map: of max_slots).  W; atomic because checks read them.
 *   free     1 = page number is free for use now
 *   pending  [2]  1 = died in the epoch of that parity; free once that epoch's checkpoint is durable,
 *                 pages of the tree may take it before (lent_pages)
 *   held     1 = died, and was released, but a snapshot reads it (log/release.c)
 *   image    free | pending | held | hollow as of the freeze, for the checkpointer; written at the freeze
 *   hollow   1 = page number is free, but the disk has no room for it yet (log/hollow.c)
 *   slots    1 = arena slot is free
 */
enum {
    CARET__MAP_FREE = 0,
    CARET__MAP_PENDING0 = 1,
    CARET__MAP_PENDING1 = 2,
    CARET__MAP_HELD = 3,
    CARET__MAP_IMAGE = 4,
    CARET__MAP_HOLLOW = 5,
    CARET__MAP_SLOTS = 6,
    CARET__MAPS = 7
};
#define CARET__BITMAP_WORDS(bits) (((bits) + 63u) / 64u)

uint64_t caret__layout_signature(void);

#endif
