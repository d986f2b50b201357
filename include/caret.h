/*
 * caret.h - the public C interface of Caret, a hierarchical key-value database
 * that lives inside the process.
 *
 * GUARANTEES
 *   - A database is one file, used by up to 256 processes at once through
 *     shared memory.  There is no server, no daemon, no signal handler; the
 *     host's signals, terminal, locale, umask and stdio are never touched.
 *   - Readers take no lock.  Writers take one mutex for as long as their change
 *     takes in memory (less than a microsecond for a set, longer for a large
 *     transaction), never while user code runs or while they wait for the disk.
 *   - A process may die at any instruction (kill -9 included).  The others go
 *     on; its locks are released; a half-made change is finished or undone.
 *   - Every change is atomic; a transaction is serializable as a whole.
 *   - No function longjmps or calls exit; none aborts, but for the damage that
 *     the caveats name.  No function calls back into user code but those that are
 *     given a function: caret_transaction() and caret_backup(), whose callbacks run
 *     outside every internal lock; caret_values_in(); caret_open(), caret_compact(),
 *     caret_restore() and caret_shm(), if asked to tell how far they are or what
 *     they find; those that reach local variables which caret_session_locals() has
 *     others keep; and those that sleep, if caret_wait_hooks() was called.
 *
 * RULES
 *   - caret_db: may be used by all threads.  Opening the same file twice in one
 *     process gives two caret_db over one engine.
 *   - caret_session: one per thread (or per Lua state).  Using one from two
 *     threads at once is undefined; give each thread its own.  Locks and the
 *     transaction in progress belong to the session, as do local variables.
 *     A thread that ends loses them: see caret_session_detach().
 *   - caret_node: memory of the caller; may be copied with caret_node_copy(),
 *     freed or overwritten at any time; has no destructor.  Several threads may
 *     use one at once, each with its own session, for all that leaves its address
 *     alone (get, set, delete, kill, incr, data, locks, copies and children of it);
 *     what moves it, or makes it another, is for one thread.  A node remembers
 *     where it was found, which is only ever a hint: one that is used with another
 *     session or database is correct, only slower.
 *   - fork: a child may go on using inherited handles; the first use attaches it
 *     as a process of its own.  It owns none of its parent's locks and is in no
 *     transaction.  The background thread is ended before a fork and started
 *     again by the next commit of parent or child, so that no thread of ours is
 *     there when it takes place.  It syncs first what was committed, unless
 *     nobody wants that; if it is in the midst of a checkpoint the fork waits
 *     0.3 s at most, and takes place beside it.
 *   - A signal handler must not call these functions, but for caret_interrupt().
 *
 * CAVEATS
 *   - The data file must be on a local file system (network file systems are
 *     refused) and must not be hard-linked, truncated or replaced while in use.
 *   - All users of one database must share one /dev/shm (see shm_dir below).
 *   - A data file that others truncate, a bad sector below a mapping, a tmpfs
 *     that somebody cuts off: the process gets SIGBUS at the next touch.
 *   - Memory that is overwritten from outside, the shared or the process's own,
 *     is CORRUPT where a call meets it; with one exception.  A writer has
 *     counted what its change takes, and looked at the pages on its way, before
 *     the commit point.  If a free page, a free slot, room for undo, or a page on
 *     that way, is not there any more after it, no return is right: it prints
 *     "caret: FILE:LINE: assertion failed: ..." to stderr and aborts, so that it
 *     writes nothing on top of the damage.  The others repair, or are told.
 *   - A transaction callback can run more than once: no I/O, no sleeping in it.
 *   - Long transactions are restarted when what they read is changed.
 *
 * KEYS AND VALUES
 *   A node is named by a variable and 0..31 subscripts.  A variable that starts
 *   with '^' is global (in the file, shared); one without is local to the
 *   session.  Subscripts and values are byte strings; a subscript that is a
 *   canonical decimal number collates as a number, before all strings; the empty
 *   string comes first.  docs/data-model.md has the rules.
 *
 * ERRORS
 *   Functions return an int: 0 (CARET_OK), a positive outcome the caller is
 *   meant to handle (CARET_NONE, CARET_RESTART, ...), or a negative error.
 *   caret_message() gives the text of the calling thread's last error: it
 *   starts with the symbol and says what was wrong with what.
 *   A call that fails has changed nothing, but for a commit that failed in
 *   waiting for the disk: see caret_commit().  A single set is a commit, too.
 *
 * ARGUMENTS
 *   NULL is an error, INVALID, for every pointer of every function, but where its comment allows NULL, and for:
 *     bytes with the length 0: text, values, buffers (`buf` of size 0 asks for the length, BUFFER);
 *     what closes or frees (NULL is ignored), and `arg` of callbacks, which is only handed on;
 *     functions that return no code: for NULL, or memory that holds no node, they say 0, or an empty string.
 *   A length or size above PTRDIFF_MAX, an unknown bit of `flags`, and an option out of its range are INVALID as
 *   well; longer values and subscripts than there can be are VALUE2BIG and KEY2BIG, and not looked at.  A yes or no
 *   is 0 or not 0; in structs of options 0 or 1, as anything else tells of one that was not zeroed.
 *   The message names function, argument, and what is expected.  Four mistakes are not noticed: memory that was freed,
 *   a session that another thread is using, a node that says it has more room than there is, and one whose key or
 *   hint was overwritten with other bytes.
 *
 * VERSIONS OF STRUCTS
 *   Structs of options, and those that a call fills with numbers, begin with `size`: set it to the sizeof of the
 *   struct, all else to 0 or to what you want (`caret_options o = {.size = sizeof o, .readonly = 1};`).  New fields
 *   are only ever added at the end.  So a program and a library of different versions fit together:
 *     a program that knows fewer options leaves the others at 0, their defaults;
 *     an option that the library is too old to know is INVALID if it is not 0: nothing that was asked for is ignored;
 *     numbers are written as far as `size` says; those that the library is too old to know are 0.
 *   A `size` below that of the field itself, as 0 is, or above 4,096 is INVALID: it was not set.  Structs that the
 *   library makes (lists, caret_usage) begin with the bytes of one element of their array, as the library knows it.
 */
#ifndef CARET_H
#define CARET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CARET_API __attribute__((visibility("default")))
#else
#define CARET_API
#endif

#define CARET_VERSION       "0.1.0" /* of this header; the numbers are its parts */
#define CARET_VERSION_MAJOR 0
#define CARET_VERSION_MINOR 1
#define CARET_VERSION_PATCH 0
#define CARET_VERSION_NUMBER                                                                                 \
    (CARET_VERSION_MAJOR * 1000000u + CARET_VERSION_MINOR * 1000u + CARET_VERSION_PATCH)

/* Limits.  The key limit is of the encoded key: name + subscripts as stored. */
#define CARET_MAX_NAME  31u         /* bytes of a variable name after the '^' */
#define CARET_MAX_SUBS  31u         /* subscripts of one node */
#define CARET_MAX_KEY   1015u       /* bytes of an encoded key (less in `small` builds) */
#define CARET_MAX_VALUE (16u << 20) /* bytes of a value */
#define CARET_MAX_NEST  127u        /* transactions within each other, the outermost among them */

/* Outcomes that a caller is meant to handle. */
enum {
    CARET_OK = 0,
    CARET_NONE = 1,         /* no value, no such node, no next one */
    CARET_RESTART = 2,      /* transaction conflict: caret_restart() and run the body again */
    CARET_ROLLBACK = 3,     /* a callback asks for rollback by returning this */
    CARET_LOCK_TIMEOUT = 4, /* the lock was not obtained in time */
    CARET_DEADLOCK = 5      /* waiting would close a ring; the message names it */
};

/* Errors.  Misuse first (the program is wrong), then conditions of the world. */
enum {
    CARET_E_INVALID = -1,       /* an argument makes no sense: see ARGUMENTS */
    CARET_E_NAME = -2,          /* bad variable name */
    CARET_E_MAXSUBS = -3,       /* over 31 subscripts */
    CARET_E_KEY2BIG = -4,       /* the encoded key is too long */
    CARET_E_VALUE2BIG = -5,     /* the value is over 16 MiB */
    CARET_E_NUMOFLOW = -6,      /* incr: 1E47 or more, below 1E-43, or more digits than can be kept */
    CARET_E_BUFFER = -7,        /* the caller's buffer is too small; the needed size was returned */
    CARET_E_CLOSED = -8,        /* the database was closed, or the session has none */
    CARET_E_READONLY = -9,      /* opened read-only */
    CARET_E_NOTXN = -10,        /* no transaction in progress */
    CARET_E_TXN_TOO_DEEP = -11, /* over 127 transactions within each other */
    CARET_E_TXN_TOO_BIG = -12,  /* more changes than one commit can hold */
    CARET_E_NOTLOCKED = -13,    /* released a lock that is not held */
    CARET_E_INTXN = -14,        /* not allowed inside a transaction */
    CARET_E_SYNTAX = -15,       /* ZWR text that can't be read */

    CARET_E_NOTFOUND = -30,  /* no such database file, and create is off */
    CARET_E_OPEN = -31,      /* the file can't be opened: directory, permission, ... */
    CARET_E_FOREIGN = -32,   /* not a Caret database */
    CARET_E_VERSION = -33,   /* format or layout version is not ours */
    CARET_E_CORRUPT = -34,   /* damaged: file, page and reason are in the message */
    CARET_E_NETFS = -35,     /* on a network file system */
    CARET_E_BUSY = -36,      /* attached elsewhere in a way that excludes us (second mount, other /dev/shm) */
    CARET_E_EVICTED = -37,   /* the process lost its slot (fd closed by the host, fork misuse) */
    CARET_E_SHM = -38,       /* shared memory is full or can't be used */
    CARET_E_DISKFULL = -39,  /* no room in the file system */
    CARET_E_IO = -40,        /* read, write or sync failed */
    CARET_E_IO_FAILED = -41, /* an earlier write or sync failed: writes are refused until reopened */
    CARET_E_NOMEM = -42,     /* malloc failed */
    CARET_E_LIMIT = -43,     /* a table is full: processes, locks, waiters */
    CARET_E_SYSTEM = -44,    /* another system call failed */
    CARET_E_EXISTS = -45,    /* there is a file of that name already */
    /* of a database on a server: the connection was lost at a commit, and it could not be found out if it was done */
    CARET_E_UNKNOWN = -46,
    CARET_E_UNSUPPORTED = -47, /* what only a file has, asked of a server; an address nothing is here for */

    CARET_E_INTERRUPTED = -60 /* caret_interrupt() ended the wait */
};

typedef struct caret_db caret_db;
typedef struct caret_session caret_session;
typedef struct caret_node caret_node;

/* A byte string.  Not NUL-terminated.  Lifetime: see the function that returns it. */
typedef struct caret_slice {
    const char *data;
    size_t len;
} caret_slice;

/* ------------------------------------------------------------------ errors */

/* The symbol of an outcome, e.g. "KEY2BIG"; never NULL: "NO_OUTCOME" of other numbers. */
CARET_API const char *caret_strerror(int code);

/* Text of the calling thread's last error, deadlock or lock timeout (CARET_NONE and CARET_RESTART leave it
 * alone): "SYMBOL: what, with what".  Valid until the thread's next call; never NULL. */
CARET_API const char *caret_message(void);

/* That text in two parts, for programs whose users have no options of this header, or others.  caret_fact() says what
 * was wrong with what, without the name of a function, such as "caret_open: ", that is after some symbols.
 * caret_advice() is an option that would help and what it does, "readonly opens it for reading", or "": there is none.
 * Where there is one caret_message() ends with it, as " (option readonly ...)".  Both write to one buffer: a text is
 * valid until the thread's next call, be it of the other one. */
CARET_API const char *caret_fact(void);
CARET_API const char *caret_advice(void);

/* Why the system refused what that text is about: an errno (ENOENT, EACCES, ENOSPC, ...); 0: it was not the system, or
 * it is not known. */
CARET_API int caret_errno(void);

/* The version of the library, as CARET_VERSION and CARET_VERSION_NUMBER are of the header: "0.1.0", 1000.  From any
 * thread, at any time. */
CARET_API const char *caret_version(void);
CARET_API unsigned caret_version_number(void);

/* ---------------------------------------------------------------- database */

enum { CARET_SYNC_INTERVAL = 0, CARET_SYNC_COMMIT = 1, CARET_SYNC_OFF = 2 };

/* Options of caret_open(); see VERSIONS OF STRUCTS: set size, zero everything, then set what differs. */
typedef struct caret_options {
    size_t size;   /* sizeof(caret_options) */
    int no_create; /* 1: a missing file is an error (CARET_E_NOTFOUND) */
    int readonly;  /* 1: for reading only, see caret_open */
    int sync;      /* CARET_SYNC_*: what a power failure may take (docs/engine.md) */
    /* seconds between syncs, up to a million, 0 = 1 s; the smallest of all attached processes counts,
     * a second after its process came at the latest */
    double sync_interval;
    /* 1: no background thread; flushing, syncs and checkpoints run in the calls that commit, so the last commits
     * before a pause wait for the next, or for caret_sync(); commits with CARET_TXN_BATCH leave it to others */
    int no_thread;
    const char *shm_dir; /* directory for the shared segment, NULL = /dev/shm */
    /* bytes of changed pages kept in memory; 0: at most a quarter of what is available to the process, and at
     * most half of what shm_dir has left */
    size_t arena_limit;
    /* bytes of the log, 8 MiB to 2 GiB; 0 = 64 MiB (on a small disk half of what is free, 4 MiB at least),
     * and more, up to 2 GiB, for a large transaction, or while sets all over a large tree make checkpoints
     * dear.  Three quarters of it, and 768 MiB, are the limit of one transaction, beside 760 MiB or more of
     * pages of values of over 1 KiB (docs/guide/limits.md).  Counts for the process that opens first after a
     * clean close */
    size_t log_size;
    /* 1: also on a network or FUSE file system, which is refused otherwise.  Only if all that open it run on this
     * machine, and its locks, mappings and syncs are as good as a local one's */
    int any_fs;
    /* NULL, or called by caret_open() in its thread about once a second while it recovers a database, from the second
     * second on: `part` from 0 to 1 is done.  It must not call functions of Caret, nor leave by longjmp or exit. */
    void (*progress)(void *arg, double part);
    void *progress_arg;
    /* NULL, or an existing folder to which the log is copied before it is overwritten: with a backup made
     * since, it leads to any later moment (caret_restore).  Counts for all who have the database open, until
     * the last closes it: give it whenever it may be opened first, or there will be a gap.  A checkpoint is
     * due a minute after a commit then.  What can't be archived is kept: checkpoints fail then, and so do
     * writers once the log is full. */
    const char *archive;
    /* 1: without huge pages.  Otherwise changed pages are kept in pages of 2 MiB where the system has such
     * (Linux 6.1), which takes no more memory and makes random access to a large database quicker.  For this
     * process; others may choose otherwise. */
    int no_huge_pages;
    /* of ":memory:": bytes that it may take, 32 MiB at least; 0: half of what is available to the process.  Changed
     * pages have a quarter of it (arena_limit), the log 16 MiB or log_size, and the rest holds the nodes.  INVALID
     * with a file. */
    size_t memory_limit;
} caret_options;

/*
 * Open (or create) the database in file `path`; NULL means $CARET_DB, or "./data.caret" where that is empty or not
 * set.  An empty `path` is INVALID: it is a setting that is not there.  `options` may be NULL.  On success *db is to be
 * closed with caret_close().  May block while another process recovers the file.
 *
 * Opened with `readonly` nothing is ever written and no file is made, nobody waits for this process, and it
 * needs no right but to read; caret_stat() tells which of these it is (CARET_VIEW_*):
 *   - Somebody has the database open and that shared memory can be read here: each commit is seen at once.
 *   - Somebody has, but that shared memory is out of reach (another user's, another container's): the last
 *     checkpoint in the file is seen, and from the next call on a newer one as soon as it is there.
 *   - Nobody has: everything.  If it was not closed cleanly, each opening replays the log into private memory.
 *     If the log or the shared memory of the last users can't be read, it is refused (OPEN, SHM, CORRUPT):
 *     somebody who may write has to open it once.
 * When those who had it open close it, or others open it, the handle follows.  No call sees two states mixed,
 * nor does a transaction: it gets CARET_RESTART when what it reads is replaced.  With the shared memory out
 * of reach nobody keeps pages for it, so that a transaction that takes longer than from one checkpoint to the
 * next can't come to its end: after ten restarts and ten seconds caret_restart() says BUSY.  Read in shorter
 * ones, or from a backup.  Writing, locks, caret_sync and caret_checkpoint are READONLY; caret_check looks at
 * the last checkpoint.  If the process has the database open for writing as well, the handle is one more over
 * that, and stays so when the other is closed: it can do all that this one can, but for changes of data.
 *
 * The path ":memory:" is a new database in memory, another one with each call: of this process, its threads (give each
 * a session), and the forks that it makes while it is open, which share it.  It has no file, no log file and no name
 * in /dev/shm, and is gone when the last of these processes has closed it or has ended, however.  All functions work:
 * transactions, locks, waiting, the log (caret_log_open), snapshots, caret_backup() to a file.  There is no disk to
 * save it to, or to lose it from: `sync` is taken for CARET_SYNC_OFF, caret_sync() has nothing to do, and
 * caret_durable() says that all that was committed is durable.  When memory_limit is reached sets fail with DISKFULL;
 * kills go on, and make room.  INVALID with readonly, no_create, archive or shm_dir.  A file of that name is
 * "./:memory:".
 *
 * A path that begins with "postgresql://" or "postgres://" is an address of a PostgreSQL server, as libpq knows it,
 * which is loaded then (docs/guide/many-machines.md).  Any number of machines may use the database.  All functions on
 * data work as they do with a file, and cost a trip to the server; a commit is on its disk when it is acknowledged,
 * unless `sync` is CARET_SYNC_OFF.  What differs: each session has a connection of its own from its first use on;
 * caret_wait() can't know what was committed, and answers CARET_OK, which means: look, after 0.1 s at most; locks that
 * are lost with a connection are told by EVICTED, once; UNKNOWN is the outcome of a commit that could not be found out;
 * caret_durable() says 0.  What is about files, the log, or memory that processes share is UNSUPPORTED; so are the
 * options archive and memory_limit.
 *
 * Errors: NOTFOUND OPEN FOREIGN VERSION CORRUPT NETFS BUSY SHM DISKFULL IO NOMEM LIMIT SYSTEM UNSUPPORTED; READONLY of
 * an address that leads to a standby; INVALID names the option that is out of range, or contradicts another (archive
 * with readonly).
 */
CARET_API int caret_open(const char *path, const caret_options *options, caret_db **db);

/* Close.  No other thread may be in a call with this handle or one of its sessions.  Those of them that are
 * still open answer CARET_E_CLOSED from now on, but for what is local: variables without '^' are there until the
 * session is closed.  The last process to close writes a checkpoint: the database is then one file.  NULL is ignored.
 * Errors of the final checkpoint are returned; the handle is gone anyway. */
CARET_API int caret_close(caret_db *db);

/* The path given to open, resolved; an address without its password.  Lives as long as db.  Empty: db is NULL. */
CARET_API const char *caret_path(const caret_db *db);

/* Make everything committed so far durable, whatever the mode.  CLOSED EVICTED DISKFULL IO IO_FAILED READONLY. */
CARET_API int caret_sync(caret_db *db);

/* How far is the disk?  *committed: the place in the log after the last commit; *durable: the place up to which the
 * log is on the disk.  If they are equal, a loss of power takes nothing.  Either may be NULL.  Places only grow
 * while the database is in use.  CLOSED, EVICTED. */
CARET_API int caret_durable(caret_db *db, uint64_t *durable, uint64_t *committed);

/* Take a checkpoint now: afterwards the data file holds all that was committed before.  What caret_sync() says, NOMEM,
 * CORRUPT; OPEN and IO also of a file of the archive. */
CARET_API int caret_checkpoint(caret_db *db);

/* Is told how far a backup is, in bytes: now and then, and at the end, outside every lock.  What it returns is 0 to go
 * on, anything else to stop.  It may use the database, or close it. */
typedef int caret_backup_progress(void *arg, uint64_t done, uint64_t total);

/* Options of caret_backup(); see VERSIONS OF STRUCTS: set size, zero everything, then set what differs. */
typedef struct caret_backup_options {
    size_t size;   /* sizeof(caret_backup_options) */
    int compact;   /* 1: pages get new numbers, in the order of keys and without gaps: the smallest file */
    int overwrite; /* 1: an existing file is replaced, whole or not at all; else it is an error, EXISTS */
    caret_backup_progress *progress;
    void *progress_arg;
} caret_backup_options;

/*
 * Copy the database, as it is at the beginning of the call, to a new file, while everybody goes on; `options`
 * may be NULL.  Every page and long value is verified on the way.  The copy is a database that was closed
 * cleanly: to restore it, open it (or put it in the place of the lost one, without that one's -log and -lock
 * file).  It has the same UUID: it is the same database at an earlier time.
 *   The file appears under its name when it is complete and on the disk, never before: whoever is
 * killed, or fails, leaves no half of one.  (On file systems that know no nameless files a killed backup leaves a file
 * NAME-partial-..., which is to be removed.)  Not for a database opened read-only.  ROLLBACK: progress stopped it.
 * EXISTS, BUSY (the file to replace is in use), OPEN (also if the name is that of a folder), DISKFULL, IO; CORRUPT:
 * the database is damaged; LIMIT: too large to be packed; INVALID: `path` is the database itself; READONLY, and what
 * beginning a snapshot says.
 */
CARET_API int caret_backup(caret_db *db, const char *path, const caret_backup_options *options);

/*
 * Open the database, replace its file by a compact copy (as caret_backup() makes it with `compact`), and
 * close it.  Nobody else may have it open; an opener that comes meanwhile waits.  The old file is replaced
 * whole or not at all, also when this process is killed, which may leave a copy NAME-partial-..., to be
 * removed.  It needs room for both. `path` and `options` may be NULL, as in caret_open(), and so may
 * `progress`, which is told how far the copy is, as in caret_backup(), but must not call functions of Caret.
 * ROLLBACK: progress stopped it; BUSY: it is open elsewhere; the file is left as it is in both cases; what
 * caret_open(), caret_backup() and caret_close() say.
 */
CARET_API int caret_compact(const char *path, const caret_options *options, caret_backup_progress *progress,
                            void *progress_arg);

/* Options of caret_restore(); see VERSIONS OF STRUCTS: set size, zero everything, then set what differs. */
typedef struct caret_restore_options {
    size_t size;         /* sizeof(caret_restore_options) */
    const char *archive; /* folder that the log was copied to (caret_options); NULL = the backup alone */
    /* go no further than this place (caret_durable's `committed`), which must be reached; 0 = the end */
    uint64_t lsn;
    /* no later than this time, nanoseconds since 1970: to the last checkpoint before it; 0 = the end */
    uint64_t time;
    const char *shm_dir; /* directory for shared memory while it is done, NULL = /dev/shm */
    int any_fs;          /* as in caret_options */
    /* after each file of the archive: its last place and its time; not 0: stop */
    caret_backup_progress *progress;
    void *progress_arg;
} caret_restore_options;

/*
 * Make a new database of a backup and the log that was archived since.  Each commit is there whole or not at
 * all, in order.  It gets a new UUID, as another history begins; give it another folder for its archive.
 * *reached (may be NULL): the place it was brought to.  `path` appears when it is complete; whoever is killed
 * leaves files NAME-partial-.... CARET_NONE: done, but the archive ends before `time`, so that later commits
 * may be missing: caret_message() says where (what was not copied out yet is in the log of the database
 * itself). EXISTS: there is a file `path`; NOTFOUND: no backup, one that is later than `lsn` or `time` (take
 * an older one), the archive does not lead to `lsn`, or a file in its middle is missing: the message names
 * it, and the place up to which restoring is possible; CORRUPT: an archive file is damaged, or does not
 * continue the one before; INVALID: the backup is a database that is open here, or was not closed cleanly; FOREIGN: it
 * is none; OPEN, DISKFULL, IO, NOMEM, ROLLBACK, and what caret_open() says.
 */
CARET_API int caret_restore(const char *backup, const char *path, const caret_restore_options *options,
                            uint64_t *reached);

/* Walk everything: pages, order, key ranges, free space, shared structures.  Findings
 * are appended as text lines to `report` (cut at `cap`, which is 1 at least, always NUL-terminated).
 * Returns CARET_OK when clean, CARET_E_CORRUPT with findings.  Takes the writer mutex
 * while it runs: meant for tests and for the tool.  Opened read-only the last
 * checkpoint is checked, and nobody waits; BUSY if newer ones keep coming. */
CARET_API int caret_check(caret_db *db, char *report, size_t cap);

/* The same for the pages and values of a snapshot taken now, while writers go on: all that is on the disk and
 * counts, but not what only lives in shared memory.  Errors: also those of beginning a snapshot. */
CARET_API int caret_check_online(caret_db *db, char *report, size_t cap);

/* Counters and sizes of a database.  Places are those of caret_durable().  Of a database on a server there are only
 * `processes`, which is 1, and what this one counts. */
typedef struct caret_stats {
    size_t size;                   /* sizeof(caret_stats): to be set before the call */
    uint64_t pages;                /* page numbers that exist: the file has as many pages, or will have */
    uint64_t free_pages;           /* of them free */
    uint64_t arena_slots;          /* pages that the shared memory has room for now; it grows */
    uint64_t arena_used;           /* of them in use: changed since the last checkpoint */
    uint64_t depth;                /* levels of the tree; 1: the root is a leaf */
    uint64_t log_head;             /* the place after the last commit */
    uint64_t log_durable;          /* the place up to which the log is on the disk */
    uint64_t checkpoint_lsn;       /* the place up to which the data file has all */
    uint64_t epoch;                /* number of the present one: checkpoints begin others */
    uint64_t checkpoints, repairs; /* repairs: commits of dead processes, finished or undone */
    uint64_t gets, sets, commits, restarts, lock_waits; /* summed over attached processes */
    uint64_t processes;
    uint64_t view;       /* CARET_VIEW_*: what a database opened read-only sees */
    uint64_t held_pages; /* dead, but kept for snapshots */
    uint64_t snapshots;  /* processes that read any */
    uint64_t arena_huge; /* bytes that were made of huge pages, of arena_slots pages */
    uint64_t dead_pages; /* in use no more, and free after the next checkpoint */
} caret_stats;

enum {
    CARET_VIEW_ATTACHED =
        0, /* opened for writing, or so beside it by a handle of this process, since closed or not */
    CARET_VIEW_LIVE = 1, /* each commit, at once, through the shared memory of those who are attached */
    CARET_VIEW_FILE = 2  /* what is in the files: all of it if nobody is attached, else the last checkpoint */
};

/* CLOSED, EVICTED; INVALID: out->size was not set. */
CARET_API int caret_stat(caret_db *db, caret_stats *out);

/* What takes up the room. */
#define CARET_MAX_LEVELS 24u
typedef struct caret_usage_level {
    uint64_t pages, entries; /* entries: nodes of leaves, children of inner pages */
    uint64_t used, size;     /* bytes in use in these pages, and bytes of them */
} caret_usage_level;

typedef struct caret_usage_global {
    char name[CARET_MAX_NAME + 2]; /* with the '^', NUL-terminated */
    uint64_t nodes;
    uint64_t leaves;      /* that have nodes of it; one that several globals share counts for each */
    uint64_t bytes;       /* of its nodes in them */
    uint64_t long_values; /* stored outside of leaves, */
    uint64_t long_bytes;  /* their bytes, */
    uint64_t long_pages;  /* and the pages they take */
} caret_usage_global;

typedef struct caret_usage {
    size_t size;                               /* bytes of a caret_usage_global */
    unsigned levels;                           /* of the tree; */
    caret_usage_level level[CARET_MAX_LEVELS]; /* level[0]: the leaves */
    size_t globals;
    caret_usage_global *global; /* in the order of their names */
} caret_usage;

/* Walk a snapshot of the database (opened read-only: the last checkpoint), all of it, and count.  Nobody waits for it.
 * *usage is to be freed with caret_usage_free(), which ignores NULL.  CORRUPT names a damaged page; NOMEM, and what
 * beginning a snapshot says; opened read-only BUSY, if new checkpoints keep coming. */
CARET_API int caret_usage_get(caret_db *db, caret_usage **usage);
CARET_API void caret_usage_free(caret_usage *usage);

/* ----------------------------------------------------------------- salvage */

/* What caret_salvage() found, and did not. */
typedef struct caret_salvaged {
    size_t size;          /* sizeof(caret_salvaged): to be set before the call */
    uint64_t nodes;       /* written */
    uint64_t pages;       /* of the file */
    uint64_t leaves;      /* of nodes, that were read */
    uint64_t lost_pages;  /* in use, and neither a page of the tree nor part of a long value that was found */
    uint64_t lost_values; /* nodes whose long value is damaged: not written */
    uint64_t stale_leaves;    /* copies from before, left out */
    uint64_t doubtful_leaves; /* it can't be known whether they are the present ones */
    uint64_t logged;          /* changes taken from the log */
    uint64_t epoch;           /* of the checkpoint that was taken, 0 = it is not known */
} caret_salvaged;

enum { CARET_SALVAGE_SURE = 1 /* leave out doubtful leaves */ };

/*
 * Write every node that can still be read of a damaged database to a new file `out`, as ZWR text.  The database need
 * not be one that can be opened: meta slots, roots and any other pages may be destroyed.  Nothing is changed, and
 * it must not be open anywhere.
 *
 * What is in use is told by the free-space bitmap, and by the way from the root; the changes in the log of a
 * database that was not closed cleanly are added.  Where bitmap and way are both destroyed, leaves are taken
 * that may be from before: newest first, and nothing of an older one in the range of a newer.  Their nodes were true
 * once, and may have been changed or killed since: doubtful_leaves counts them.  It counts all where a meta slot is
 * lost and nothing tells that there was no checkpoint after the one that was found.
 *
 * counts and report may be NULL; report gets lines that name what is lost, cut at `cap`.
 * CARET_OK: nothing is lost.  CARET_E_CORRUPT: something is, or it can't be known; the file is written all the same.
 * OPEN (also if `out` exists), BUSY (it is open), FOREIGN, IO, DISKFULL, NOMEM, INVALID: there is no file.
 */
CARET_API int caret_salvage(const char *path, const char *out, int flags, caret_salvaged *counts,
                            char *report, size_t cap);

/* ---------------------------------------------------------------- sessions */

/* A session for the calling thread.  db may be NULL: local variables only. */
CARET_API int caret_session_open(caret_db *db, caret_session **s);

/*
 * Make the session belong to no thread.  Otherwise the end of the thread that opened it (not of the process) rolls
 * back its transaction, releases its locks and frees its locals; from then on it answers CARET_E_CLOSED to all but
 * what is local, and caret_session_close() is still to be called.  For hosts that hand a session from
 * thread to thread, as the Lua module does.  INVALID.
 */
CARET_API int caret_session_detach(caret_session *s);

/* on 1: commits of this session do not wait for the disk, whatever the mode, as if each were one with CARET_TXN_BATCH,
 * also with CARET_TXN_SYNC; 0: they do again.  Whoever answers for what was committed asks caret_durable(), or calls
 * caret_sync().  INVALID. */
CARET_API int caret_session_batch(caret_session *s, int on);

/* End it: rolls back its transaction, releases its locks, frees its locals. NULL is ignored. */
CARET_API void caret_session_close(caret_session *s);

/*
 * Local variables that somebody else keeps, as M does where M and other languages share them (docs/guide/m-and-lua.md).
 * An address is a name and subscripts, `count` texts, numbers as they are stored.  All calls are made between `enter`
 * and `leave`, which may be nested; what a call returns is good until `leave`.  It returns OK, NONE, or a code that
 * becomes that of the caller.
 */
enum {
    CARET_AT,
    CARET_AFTER,
    CARET_BEYOND
}; /* a place just before an address, just after it, after all below it */
typedef struct caret_locals {
    size_t size; /* sizeof(caret_locals) */
    void *who;   /* what the functions are passed */
    void (*enter)(void *who);
    void (*leave)(void *who);
    int (*get)(void *who, const caret_slice *address, size_t count, caret_slice *value);
    int (*set)(void *who, const caret_slice *address, size_t count, caret_slice value);
    /* tree: with all below it. */
    int (*kill)(void *who, const caret_slice *address, size_t count, int tree);
    /* The first node with a value after a place, back: the last one before it, of all variables: its address, for which
     * there is room for CARET_MAX_SUBS + 1 texts.  count 0: all variables are below that. */
    int (*seek)(void *who, const caret_slice *address, size_t count, int place, int back, caret_slice *found,
                size_t *found_count);
} caret_locals;

/*
 * The local variables of a session that has no database are those from now on; what it has is set there.  The table
 * lives longer than the session.  KEY2BIG may then come from any move to a node whose address no caret_node can have.
 * INVALID, and what `set` returns: nothing has changed then but what was set.
 */
CARET_API int caret_session_locals(caret_session *s, const caret_locals *table);

/* -------------------------------------------------------------------- nodes */

/* Bytes enough for any node: declare `caret_node_buf n;` and use &n.node, or allocate caret_node_bytes(key
 * bytes) with the alignment of uint64_t.  `bytes` of the functions below: of the memory at n. */
#define CARET_NODE_MAX 1152u
typedef union caret_node_buf caret_node_buf;

/* Bytes of a node that can hold an encoded key of `key_len` bytes; SIZE_MAX for one above PTRDIFF_MAX. */
CARET_API size_t caret_node_bytes(size_t key_len);

/* The least bytes that hold an existing node (for an exact copy).  Memory without a node: the bytes of its head. */
CARET_API size_t caret_node_size(const caret_node *n);

/* Make `n`, in `bytes` bytes of memory, the node of a variable: "^name" or "name".
 * Errors: NAME, BUFFER (bytes too few), INVALID. */
CARET_API int caret_node_var(caret_node *n, size_t bytes, const char *name, size_t len);

/* Make `n` a child of `parent` (n may be parent itself).  The string form takes the
 * subscript as text: "7" and "-.5" are numbers, "07" is a string.
 * Errors: MAXSUBS KEY2BIG BUFFER INVALID; n is then unchanged. */
CARET_API int caret_node_child(caret_node *n, size_t bytes, const caret_node *parent, const char *sub,
                               size_t len);
CARET_API int caret_node_child_int(caret_node *n, size_t bytes, const caret_node *parent, int64_t sub);

/* The subscript a double stands for: of an integer of 64 bits all digits, else the shortest decimal that reads back the
 * same.  Errors: as above, INVALID for NaN and infinities. */
CARET_API int caret_node_child_double(caret_node *n, size_t bytes, const caret_node *parent, double sub);

/* Change the last subscript in place, keeping the rest: the quick way through n(1), n(2), ...
 * Errors: INVALID when n has no subscript; as above. */
CARET_API int caret_node_set_last_int(caret_node *n, int64_t sub);
CARET_API int caret_node_set_last(caret_node *n, const char *sub, size_t len);

/* Make `n` the parent of `child` (may be the same).  INVALID at the variable itself. */
CARET_API int caret_node_parent(caret_node *n, size_t bytes, const caret_node *child);

/* Make `n` its ancestor that has `depth` subscripts; nothing happens if it has no more.  With caret_node_child() this
 * changes a subscript in the middle.  INVALID: not a node. */
CARET_API int caret_node_cut(caret_node *n, unsigned depth);

CARET_API int caret_node_copy(caret_node *n, size_t bytes, const caret_node *from);

/* Number of subscripts. */
CARET_API unsigned caret_node_depth(const caret_node *n);

/* 1 if the variable is local (no '^'). */
CARET_API int caret_node_is_local(const caret_node *n);

/* Same address?  1 or 0.  caret_node_compare gives <0, 0, >0 in database order (locals before globals,
 * what is not a node before both). */
CARET_API int caret_node_equal(const caret_node *a, const caret_node *b);
CARET_API int caret_node_compare(const caret_node *a, const caret_node *b);

/* Is n the address of a child of parent: the same with one subscript more?  1 or 0. */
CARET_API int caret_node_is_child(const caret_node *n, const caret_node *parent);

/* The variable name with its '^'; points into buf, terminated.  Empty: n is not a node, or buf is NULL. */
CARET_API caret_slice caret_node_name(const caret_node *n, char buf[CARET_MAX_NAME + 2]);

/* Subscript i (0 = first) as text.  *len is always set to the needed length; BUFFER
 * if cap is too small.  *is_number tells numbers from strings (may be NULL).  INVALID: no such i. */
CARET_API int caret_node_subscript(const caret_node *n, unsigned i, char *buf, size_t cap, size_t *len,
                                   int *is_number);

/* The last subscript as an integer: 1 and *out (may be NULL) if it is a canonical integer that fits, else 0. */
CARET_API int caret_node_last_as_int(const caret_node *n, int64_t *out);

/* The node as ZWR text, ^oaks(1,"shadow").  utf8: 1 leaves printable UTF-8 readable, 0 is the byte form. */
CARET_API int caret_node_zwr(const caret_node *n, int utf8, char *buf, size_t cap, size_t *len);

/* --------------------------------------------------------------------- paths */
/*
 * What follows is told an address instead of a node: the name of a variable, NUL-terminated, and `count` subscripts as
 * text, as caret_node_child() takes them.  `subs` may be NULL if count is 0.  Each does what the function without
 * _path does, for a node that is made of them and forgotten.  For an address that is used once that is as quick; a
 * node that is kept remembers its place.  Errors: those of that function, and NAME, MAXSUBS, KEY2BIG, INVALID.
 *
 *     caret_slice subs[] = {{"1", 1}, {"shadow", 6}};
 *     caret_set_path(s, "^oaks", subs, 2, "15", 2);
 */
CARET_API int caret_get_path(caret_session *s, const char *name, const caret_slice *subs, size_t count,
                             caret_slice *value);
CARET_API int caret_set_path(caret_session *s, const char *name, const caret_slice *subs, size_t count,
                             const void *value, size_t len);
CARET_API int caret_delete_path(caret_session *s, const char *name, const caret_slice *subs, size_t count);
CARET_API int caret_kill_path(caret_session *s, const char *name, const caret_slice *subs, size_t count);
CARET_API int caret_data_path(caret_session *s, const char *name, const caret_slice *subs, size_t count,
                              int *data);
CARET_API int caret_incr_path(caret_session *s, const char *name, const caret_slice *subs, size_t count,
                              int64_t by, int64_t *result);

/* Make `n`, in `bytes` bytes of memory, the node of such an address.  Errors: also BUFFER. */
CARET_API int caret_node_path(caret_node *n, size_t bytes, const char *name, const caret_slice *subs,
                              size_t count);

/* -------------------------------------------------------------------- data */
/*
 * Common outcomes of all that follow: CLOSED, EVICTED, NOMEM, CORRUPT, IO,
 * and inside a transaction CARET_RESTART, which must be passed on to whoever
 * began it.  Writers also: READONLY, SHM, DISKFULL, IO_FAILED, TXN_TOO_BIG, and LIMIT of long values, if others
 * have been writing as many as they can at once for ten seconds.  The first call in a forked child also says what
 * caret_open() does, as LIMIT; of a database on a server LIMIT, UNKNOWN and INTERRUPTED may come, too, and OPEN if its
 * role has no right to the tables.
 */

/* The value of n.  CARET_NONE if it has none.  `value` points to memory of the
 * session, valid until the session's next call. */
CARET_API int caret_get(caret_session *s, caret_node *n, caret_slice *value);

/*
 * The same inside a transaction, and the value stays valid to its end: until the outermost one is committed, rolled
 * back, or begun again (caret_restart), or the session closed.  It takes memory until then.  NOTXN outside of one.
 */
CARET_API int caret_get_kept(caret_session *s, caret_node *n, caret_slice *value);

/* Keep a value that a call of this session gave, of whatever function, as long as that: value->data leads to a copy
 * afterwards.  Data that are NULL, which mean no value, are left alone.  NOTXN, NOMEM, VALUE2BIG. */
CARET_API int caret_keep(caret_session *s, caret_slice *value);

/* The same into a buffer: *len is the length of the value; BUFFER if cap is too small. */
CARET_API int caret_get_copy(caret_session *s, caret_node *n, void *buf, size_t cap, size_t *len);

/*
 * The values of `count` nodes, given as pointers, which may be of any variables, locals too, in any order, and one
 * may be there twice: values[i] is that of nodes[i]; its data is NULL if there is none.  What caret_get() of each in
 * turn would say, but all of them wait for memory together: where they lie far apart, 16 take the time of a few.
 * All values point to memory of the session, valid until the session's next call, and take it together.  Outside of a
 * transaction each is as of some moment of the call; in one, and in a snapshot, they are one state.
 * count 0: CARET_OK.  Errors: those of caret_get() for the first node that has one, the values mean nothing then;
 * INVALID, before anything is read, for a pointer that is NULL or not to a node.
 */
CARET_API int caret_get_many(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values);

/*
 * For nodes that will be read soon: have them looked for and brought near, all together, without waiting for it.
 * It says nothing about them, and is not a part of a transaction's reads.  It costs some 50 ns a node, and is
 * worth it where they lie far apart.  More than some dozens at a time push each other out again.  INVALID for a
 * pointer that is NULL or not to a node; no other errors: a closed database says so when it is read.
 */
CARET_API int caret_prefetch(caret_session *s, caret_node *const *nodes, size_t count);

/*
 * The values of two nodes, of one state: those of n, and of `child`, which may be any node but is found for little
 * where it lies beside n, as a child of it mostly does.  data is NULL for one that has no value.  Both point to memory
 * of the session, valid until its next call.  The errors of caret_get().
 */
CARET_API int caret_get2(caret_session *s, caret_node *n, caret_node *child, caret_slice *value,
                         caret_slice *child_value);

/* Set the value of n.  VALUE2BIG over 16 MiB. */
CARET_API int caret_set(caret_session *s, caret_node *n, const void *value, size_t len);

enum {
    CARET_PUT_ABSENT = 1,    /* only if n has no value */
    CARET_PUT_PRESENT = 2,   /* only if it has one */
    CARET_PUT_CHILDLESS = 4, /* only if it has no children; with one of the others too */
    CARET_PUT_SAME = 8       /* only if its value is *old, as it was read; data NULL: if it has none */
};

/*
 * Set the value of n if it is as `flags` say (0: however it is), and tell what was there before, as one atomic step.
 * CARET_NONE: it was not so, and nothing was changed.  With either outcome:
 *   *had (may be NULL): what was there, as caret_data() says it.  NULL saves a look for children.
 *   *old (may be NULL): the value before, its data NULL if there was none; it points to memory of the session, valid
 *   until its next call.  `value` may be what the session's last call gave, and so may *old with SAME.  SAME is
 *   compare and set: read, compute and put; on CARET_NONE compute from the new *old and put again.
 * INVALID: unknown flags, ABSENT with PRESENT, SAME with either or without `old`.  VALUE2BIG.
 */
CARET_API int caret_put(caret_session *s, caret_node *n, const void *value, size_t len, int flags, int *had,
                        caret_slice *old);

/* Delete the value of n, keeping children.  CARET_OK also if there was none. */
CARET_API int caret_delete(caret_session *s, caret_node *n);

/* Kill n and everything below it. */
CARET_API int caret_kill(caret_session *s, caret_node *n);

/*
 * Ranges: some of the children of n, in the order of the database, which has the empty subscript first, then numbers,
 * then strings.  `from` is the first of them and `to` the last, as text, and need not be there themselves; NULL, or
 * one whose data is NULL: there is no such bound.  If `from` comes after `to` there is nothing in the range.  `flags`,
 * 0 or:
 */
enum {
    CARET_RANGE_PREFIX = 1,      /* all strings that begin with `from`, and no bound `to`; see below */
    CARET_RANGE_BEFORE = 2,      /* `to` itself is not in the range */
    CARET_RANGE_FROM_STRING = 4, /* `from` is a string, and so after all numbers, even if it is one's text; */
    CARET_RANGE_TO_STRING = 8    /* the same of `to`: for bounds as a caret_change tells them */
};
/*
 * A prefix is about strings alone.  Subscripts whose text is a number's, as 1, 12 and -.5, are numbers, and are never
 * in it; the prefix "1" finds "1a", "1.50" and "12 oaks".  Bytes of any kind may follow.  An empty prefix means all
 * strings but the empty subscript.
 *
 * caret_kill_range: kill the children of a range, with everything below them; n itself stays.  One atomic change, as
 * quick as a kill of one node with as many below it, whatever they are.  Nothing there: CARET_OK.
 * caret_first_in, caret_last_in: to the first / last child of n in the range, as caret_first does (n gets one deeper).
 *   CARET_NONE: there is none.  From there on caret_next() or caret_previous() go, and
 * caret_node_in tells whether n, or where it has gone to, is in the range of its parent's children: 1 or 0.
 *
 *     caret_slice user = {"user:", 5};
 *     for (rc = caret_first_in(s, n, &user, NULL, CARET_RANGE_PREFIX);
 *          rc == CARET_OK && caret_node_in(n, &user, NULL, CARET_RANGE_PREFIX); rc = caret_next(s, n))
 *
 * INVALID: unknown flags; PREFIX without `from`, with `to` or with other flags.  KEY2BIG: no key is as long as that of
 * a bound.  caret_node_in has no errors, and answers 0.
 */
CARET_API int caret_kill_range(caret_session *s, const caret_node *n, const caret_slice *from,
                               const caret_slice *to, int flags);
CARET_API int caret_first_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to,
                             int flags);
CARET_API int caret_last_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to,
                            int flags);
CARET_API int caret_node_in(const caret_node *n, const caret_slice *from, const caret_slice *to, int flags);

/*
 * caret_count_in: how many nodes have a value among the children of a range and all below them; n itself does not
 *   count.  Else as caret_count() below.
 * caret_values_in: their values in order, without their keys: `each` is called with one after the other, in memory that
 *   lives until it returns, and n goes to the last of those nodes.  If it returns CARET_NONE it is called no more,
 *   n goes to the node of that call, and CARET_OK is returned; any error it returns is returned, and n stays.
 *   It makes no call of this session.  A tenth of the instructions of steps by caret_next_get().  CARET_NONE: there
 *   is none.  NOTXN outside of a transaction, unless n is local.  What `each` was told counts only if CARET_OK comes of
 *   it.  Other errors: those of caret_get() and of caret_first_in().
 */
typedef int caret_value_fn(void *arg, caret_slice value);
CARET_API int caret_count_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to,
                             int flags, uint64_t *count);
CARET_API int caret_values_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to,
                              int flags, caret_value_fn *each, void *arg);

/*
 * Add `by` to the value of n, as one atomic step, exactly.  `by` is decimal text: digits, perhaps
 * with a sign before them, a point among them, an exponent after `E`; all of it, or INVALID.
 * The value counts as far as its beginning looks like a number ("12 oaks" is 12),
 * and as 0 otherwise, or when there is none.
 *
 * Value, `by` and sum have up to 38 significant digits, and are 0 or from 1E-43 to below 1E47 in
 * magnitude: else NUMOFLOW, and nothing changes.  Nothing is ever rounded.
 * `result` (may be NULL) is canonical text of at most 82 bytes, and lives until the session's next call.
 */
CARET_API int caret_incr(caret_session *s, caret_node *n, const char *by, size_t len, caret_slice *result);

enum { CARET_INCR_STRICT = 1 };

/* The same by an integer; *result (may be NULL) is the exact sum.  NUMOFLOW, and nothing changes, also if the
 * sum is not an integer of 64 bits, as when the value is 1.5.  With CARET_INCR_STRICT the value must be an integer
 * of 64 bits, written as one is (-5, 0, 12; not 007, +1, 1.0, "12 oaks" or an empty string), or there is none, which is
 * 0: else INVALID, and nothing changes.  INVALID also: other flags. */
CARET_API int caret_incr_int(caret_session *s, caret_node *n, int64_t by, int flags, int64_t *result);

/*
 * The same by the rules of M, as GT.M and YottaDB count: value, `by` and sum are cut off, toward zero,
 * after 18 significant digits; below 1E-43 is 0; `by` counts as far as its beginning looks like
 * a number, as the value does.  NUMOFLOW from 1E47 on, and nothing changes.
 */
CARET_API int caret_incr_m(caret_session *s, caret_node *n, const char *by, size_t len, caret_slice *result);

/* $DATA: 0 nothing, 1 value, 10 children, 11 both. */
CARET_API int caret_data(caret_session *s, caret_node *n, int *data);

/*
 * Subtrees: a node and everything below it.  In all of these the target comes before the source, as in memcpy().
 *   caret_merge: each value at `from` and below is set at `to` and below; what else is there stays (M's MERGE).
 *   caret_copy: the same, but what was at `to` and below is killed first: then both are alike.
 *   caret_move: a copy, and then `from` is killed.
 * Either may be a local variable, or below one.  Each call is one atomic change: outside of a transaction one of its
 * own, which is begun again while others change the source (and which they wait for, up to a second, after the third
 * time).  Nothing happens if both are the same node, nor by merging what is not there; copying or moving
 * what is not there kills the target.
 *   INVALID: one of them is below the other.  KEY2BIG, MAXSUBS: a node can't be at the target.  TXN_TOO_BIG: as
 * for a transaction of as many sets.  A failing call has changed nothing, but for TXN_TOO_BIG, NOMEM, CORRUPT and IO
 * within a transaction of the program: a part of it is in that then, which is to be rolled back.  So may NOMEM leave a
 * part among locals.
 */
CARET_API int caret_merge(caret_session *s, const caret_node *to, const caret_node *from);
CARET_API int caret_copy(caret_session *s, const caret_node *to, const caret_node *from);
CARET_API int caret_move(caret_session *s, const caret_node *to, const caret_node *from);

/*
 * How many nodes have a value, n itself and all below it: what a kill of n would delete.  Leaf by leaf, without looking
 * at keys or values: some nanoseconds a node.  One state in any case: outside of a transaction the call makes
 * one of its own, as above.  In one, all of the subtree counts as read: whoever adds a node to it restarts it.
 */
CARET_API int caret_count(caret_session *s, caret_node *n, uint64_t *count);

/*
 * Sums over the children of a node that are asked for again and again, as how many there are.  caret_sums_of() calls
 * `each` once for every child the first time; after that only for those in leaves that were changed since, by whomever:
 * some tens of nanoseconds a leaf that was not, of which a million small nodes have some 7,000.
 *   each: adds to sum[0], sum[1] ... what this child counts, which must follow from its subscript and its value alone;
 *   data NULL: it has no value, only children.  Both live until it returns.  It makes no call of the session.  Any
 *   error that it returns is returned.  The values of a leaf that was changed are all told again, long ones too.
 *   What is below a child is not looked at.
 * The sums are those of one state; outside of a transaction the call makes one of its own.  In one all children count
 * as read.  Sums of locals, of a snapshot, of a database that is only observed or on a server, and of what the
 * transaction itself has changed are made child by child each time.
 *   What is remembered takes some 50 bytes a leaf, is of the node asked for last, and belongs to one session at a time.
 * caret_sums_delete() frees it; NULL is nothing.  Errors: those of moving and of caret_get().
 */
enum { CARET_SUMS = 3 };
typedef struct caret_sums caret_sums;
typedef int caret_sum_fn(void *arg, caret_slice subscript, caret_slice value, double sum[CARET_SUMS]);
CARET_API int caret_sums_new(caret_sum_fn *each, void *arg, caret_sums **sums);
CARET_API int caret_sums_of(caret_session *s, caret_node *n, caret_sums *sums, double sum[CARET_SUMS]);
CARET_API void caret_sums_delete(caret_sums *sums);

/*
 * Moving.  All move n itself, which must have room for the longest key that can
 * come (a caret_node_buf always has; else BUFFER and n is unchanged).  CARET_NONE:
 * there is none, n is unchanged.
 *   caret_next, caret_previous: to the next / previous sibling that has data or
 *     children; at a variable: the next variable of its kind.
 *   caret_first, caret_last: to the first / last child of n (n gets one deeper).
 *   caret_node_next, caret_node_previous: to the next / previous node with a
 *     value in depth-first order, within the variable.
 */
CARET_API int caret_next(caret_session *s, caret_node *n);
CARET_API int caret_previous(caret_session *s, caret_node *n);
CARET_API int caret_first(caret_session *s, caret_node *n);
CARET_API int caret_last(caret_session *s, caret_node *n);
CARET_API int caret_node_next(caret_session *s, caret_node *n);
CARET_API int caret_node_previous(caret_session *s, caret_node *n);

/*
 * The same moves, and the value at the place where n is then, in one call: the quick way through many nodes.
 * value->data is NULL, and CARET_OK is returned, if that node has no value, only children: so with siblings, as
 * caret_node_next and caret_node_previous come to nodes with a value (outside of a transaction it may be
 * deleted while the call is made).  `value` points to memory of the session, valid until its next call.
 * CARET_NONE: there is no such node, and n is unchanged.  Any error, also one of reading the value, leaves n
 * where it was.  Outside of a transaction place and value are as of the call, each call for itself; in
 * one, and in a snapshot, all of it is one state.  Errors: those of moving and of caret_get(); INVALID without `value`.
 */
CARET_API int caret_next_get(caret_session *s, caret_node *n, caret_slice *value);
CARET_API int caret_previous_get(caret_session *s, caret_node *n, caret_slice *value);
CARET_API int caret_node_next_get(caret_session *s, caret_node *n, caret_slice *value);
CARET_API int caret_node_previous_get(caret_session *s, caret_node *n, caret_slice *value);

/*
 * To a child of n, any of them equally likely whatever is below it; n gets one deeper.  `r` is a random number
 * of the caller's; another one each time.  CARET_NONE: n has no children.  It costs some descents, however many
 * children there are; some hundreds where values have hundreds of bytes, or where hundreds of nodes are below each
 * child, but no more than twice what going through the children does.  Those of a local variable, of a snapshot, and
 * those that a transaction sees which has changed something are gone through.  Errors: those of moving.
 */
CARET_API int caret_random_child(caret_session *s, caret_node *n, uint64_t r);

/*
 * The same, for a sample: it costs a few descents whatever values and nodes below are like, and not each child is as
 * likely. Those among large values are more so, and so may be one with hundreds of nodes below.
 */
CARET_API int caret_any_child(caret_session *s, caret_node *n, uint64_t r);

/* The first variable of a kind (local = 1: locals); caret_next goes on from it. */
CARET_API int caret_first_var(caret_session *s, caret_node *n, size_t bytes, int local);

/* ------------------------------------------------------------ transactions */

enum {
    CARET_TXN_BATCH =
        1, /* do not wait for the disk at commit, whatever the mode; of the outermost one only */
    CARET_TXN_SYNC =
        2, /* wait for the disk at commit, whatever the mode; BATCH wins; of the outermost one only */
    CARET_TXN_SNAPSHOT = 4, /* read only, on a snapshot; see below */
    CARET_TXN_ALONE = 8     /* undisturbed from the first run on; see caret_begin */
};

/*
 * Snapshots.  caret_begin(s, CARET_TXN_SNAPSHOT) takes a checkpoint, which waits for the disk if anything
 * was committed since the last one, and from then on the session's reads of globals see the database
 * as of that moment, until caret_commit() or caret_rollback().  They take no lock, are never restarted, and
 * neither wait for writers nor make them wait; they read the data file.  A snapshot may last as long as
 * it likes and may do I/O.  What it costs: pages that it reads are not reused while it lasts,
 * so the file may grow by the size that the database had; they are free again when it ends or its process dies.
 *   Writing a global in it: READONLY.  caret_begin() in it nests; beginning one inside a
 * transaction: INTXN.  Locals and locks are as ever.  caret_restart() keeps the snapshot.
 *   EVICTED from a read: the snapshot is lost, as the host closed our descriptors, or the connection to the server was
 * lost; end it, and begin another one.  Errors of beginning: those of
 * caret_checkpoint(), NOMEM, and READONLY for a database opened read-only.
 */

/*
 * A transaction belongs to its session.  Other sessions, of this database or another, of this thread or
 * another, are not a part of it: what they read is what is committed at that moment, without anything the
 * transaction has changed; what they change takes effect at once, is not undone by caret_rollback(), and is
 * done again by a body that is run again.  (The Lua module refuses such changes: INTXN.)  Reading never waits
 * for the transaction.  A change by another session to what the transaction has read restarts it, also if the
 * same thread makes it; and where the transaction runs undisturbed (see caret_restart), a change by another
 * session of another thread waits for it, up to one second.
 */

/*
 * Begin a transaction; inside another one: a savepoint.  TXN_TOO_DEEP; INVALID: unknown flags; CLOSED: the session has
 * no database.
 *   CARET_TXN_ALONE: changes by other sessions, of other threads and processes, wait from the beginning, as after the
 * third restart of others (see caret_restart): until it ends, its process dies, or a second has passed; after that it
 * may be restarted as any other.  Only a change that was being committed while it began may still restart it.
 * Reading never waits.  It waits itself for others that run so, ten seconds at most: BUSY.  INTXN: inside of a
 * transaction that does not run alone, or while another session of this thread has one that does.  READONLY: opened so.
 * INVALID: with CARET_TXN_SNAPSHOT, which nothing disturbs.
 */
CARET_API int caret_begin(caret_session *s, int flags);

/* Commit the innermost one.  CARET_RESTART (outermost only): somebody changed what it
 * read; nothing was committed, call caret_restart() or caret_rollback().  An error
 * leaves it open, nothing was committed; but when waiting for the disk failed (CARET_SYNC_COMMIT or CARET_TXN_SYNC: IO,
 * DISKFULL, IO_FAILED, and EVICTED if the log or the data file was removed) it is over and visible, and may be lost
 * with the power: caret_txn_level() is 0 then. */
CARET_API int caret_commit(caret_session *s);

/* Roll back the innermost one.  Locks that were taken in it are given back, and those that were given back in it stay
 * so.  NOTXN. */
CARET_API int caret_rollback(caret_session *s);

/* After CARET_RESTART from any call (or at will): drop everything done since the
 * outermost begin and begin it again at depth 1 with a new view.  After 3 restarts
 * it runs undisturbed: other writers wait for it up to one second.  Locks that were taken in it go on keeping others
 * out, but are to be taken again, which succeeds at once: what was not is given back at the commit.  NOTXN.  BUSY: a
 * reader without access to the shared memory (caret_open) was overtaken by checkpoints again and again; it is to be
 * rolled back. */
CARET_API int caret_restart(caret_session *s);

/* Depth: 0 = none, also in a forked child.  Restarts of the current outermost transaction so far. */
CARET_API unsigned caret_txn_level(const caret_session *s);
CARET_API unsigned caret_txn_restarts(const caret_session *s);

/* Local variables are changed inside a transaction too; whether a rollback or restart restores them is chosen
 * here, after the outermost caret_begin and before any change: all of them (1) or none (0, default).  NOTXN. */
CARET_API int caret_txn_restore_locals(caret_session *s, int all);

/* Run fn in a transaction and commit.  fn returns CARET_OK to commit, CARET_RESTART to run again, anything else
 * (CARET_ROLLBACK, an error, but CARET_NONE of a read too) to roll back, and that is returned.  Inside of a transaction
 * CARET_RESTART is returned, to be passed on: the outermost one runs again. */
typedef int caret_txn_fn(caret_session *s, void *arg);
CARET_API int caret_transaction(caret_session *s, caret_txn_fn *fn, void *arg, int flags);

/* ------------------------------------------------------------------- locks */

#define CARET_FOREVER UINT64_MAX

/* Take a lock on the name of n (no data is needed there), once more if it is held.  Waits up to
 * timeout_ns nanoseconds; 0: one try.  LOCK_TIMEOUT, DEADLOCK, LIMIT, INTERRUPTED. */
CARET_API int caret_lock(caret_session *s, const caret_node *n, uint64_t timeout_ns);

/* Give back one count.  NOTLOCKED. */
CARET_API int caret_unlock(caret_session *s, const caret_node *n);

/* Give back all the session's locks. */
CARET_API int caret_unlock_all(caret_session *s);

/* Release all, then take all of these or none: 64 at most, or INVALID; `nodes` may be NULL if count is 0. */
CARET_API int caret_lock_all(caret_session *s, const caret_node *const *nodes, size_t count,
                             uint64_t timeout_ns);

/* Take all of these or none, beside what is held: a lock of them that is held counts once more.  64 at most, too. */
CARET_API int caret_lock_more(caret_session *s, const caret_node *const *nodes, size_t count,
                              uint64_t timeout_ns);

/*
 * For a session whose locks several threads use in turn, under a mutex of the host's: `before` is called whenever a
 * call is about to sleep for a lock, to let go of that mutex, and `after` when it has slept, to take it again.  Between
 * the two other threads may call all functions for locks with the session, and sleep in it, too.  A wait in it closes a
 * ring (DEADLOCK) as if all its threads waited; caret_interrupt() ends one wait.  Not called in a database on a server,
 * where the wait keeps the session.  Set it while no thread is in the session; the rules for the two are those of
 * caret_wait_hooks().  INVALID: one of them alone.
 */
CARET_API int caret_session_lock_hooks(caret_session *s, void (*before)(void *arg), void (*after)(void *arg),
                                       void *arg);

/* ------------------------------------------------------------ what is going on */

/* A lock that is held, or waited for. */
typedef struct caret_lock_info {
    const char *name; /* of the node, as ZWR text, NUL-terminated; a very long one is cut with "..." */
    int waits;        /* 1: the owner does not hold it but waits for it */
    int alive; /* 0: the owner is dead.  The next that needs the lock gets it, so it stands in nobody's way */
    uint64_t pid;     /* of the owner, as it sees itself: in another container it means another process */
    char command[32]; /* name of its program */
    uint32_t session; /* number of its session */
    uint32_t count;   /* how often it is taken; 0 when waited for */
    uint32_t waiting; /* sessions that it keeps waiting */
    uint64_t age_ns;  /* since it was taken first, or is waited for; precise to some milliseconds */
} caret_lock_info;

typedef struct caret_lock_list {
    size_t size; /* bytes of a caret_lock_info */
    size_t count;
    caret_lock_info *lock; /* in the order of names, the held one of a name before those who wait */
} caret_lock_list;

/* All locks of a database at one moment, which others can neither take nor release meanwhile: some microseconds
 * for each thousand.  *list is to be freed with caret_locks_free(), which ignores NULL.  READONLY (opened so), NOMEM,
 * CLOSED, EVICTED, SYSTEM. */
CARET_API int caret_locks_get(caret_db *db, caret_lock_list **list);
CARET_API void caret_locks_free(caret_lock_list *list);

/* Release what dead processes hold (pid not 0: only what the dead process of that number holds), finishing or undoing
 * first the commit that it died in.  Locks of the living are never taken away: a process that believes that it is
 * alone must be right.  *cleared (may be NULL): how many processes.  READONLY, NOMEM, CLOSED, EVICTED, CORRUPT. */
CARET_API int caret_locks_clear(caret_db *db, uint64_t pid, unsigned *cleared);

/* A process that has the database open, or died with it open and was not tidied away yet. */
typedef struct caret_process {
    uint64_t pid;                           /* as it sees itself */
    char command[32];                       /* name of its program */
    int alive, self;                        /* self: it is this one */
    uint64_t opened;                        /* when it opened it, nanoseconds since 1970 */
    uint64_t gets, sets, commits, restarts; /* since then; a session tells them 251 at a time */
    uint64_t lock_waits, checkpoints, flushes, repairs;
    uint64_t snapshot; /* place in the log of its oldest snapshot, 0 = it reads none */
} caret_process;

typedef struct caret_process_list {
    size_t size; /* bytes of a caret_process */
    size_t count;
    caret_process *process;
} caret_process_list;

/* The processes that have the database open.  *list is to be freed with caret_processes_free(), which ignores NULL.
 * NOMEM, CLOSED, READONLY: only a process that opened it for writing sees the others. */
CARET_API int caret_processes_get(caret_db *db, caret_process_list **list);
CARET_API void caret_processes_free(caret_process_list *list);

/* A node at which transactions collide: they were restarted, for another had changed a leaf of the tree (some dozens of
 * nodes that are neighbours) after they had read it.  It is the first node in that leaf that the restarted one would
 * have changed itself; if there is none, the first node of the leaf. */
typedef struct caret_collision {
    const char *name; /* of the node, as ZWR text, NUL-terminated */
    int above; /* 1: its name is too long to be kept; this is the nearest node above it with a shorter one */
    uint64_t count; /* restarts, since it is remembered */
    uint64_t time;  /* of the last one, nanoseconds since 1970 */
    uint64_t pid;   /* of the process that was restarted last, as it sees itself */
} caret_collision;

typedef struct caret_collision_list {
    size_t size; /* bytes of a caret_collision */
    size_t count;
    caret_collision *collision; /* most restarts first */
} caret_collision_list;

/* The nodes at which transactions of all processes collided since the first of them came.  64 are remembered; of those
 * that share a place with others the ones of the last collisions.  They are noted without any lock, when a transaction
 * is restarted: one may be missing, or counted wrong, if several processes note theirs at the same instant, or
 * one dies then.  *list is to be freed with caret_collisions_free(), which ignores NULL.  NOMEM, CLOSED, EVICTED,
 * READONLY: only a process that opened it for writing sees the others; UNSUPPORTED: a database by an address. */
CARET_API int caret_collisions_get(caret_db *db, caret_collision_list **list);
CARET_API void caret_collisions_free(caret_collision_list *list);

/* A global that is read. */
typedef struct caret_reading {
    const char *name; /* of the global, as ZWR text, NUL-terminated */
    uint64_t gets;    /* of it and its nodes, since it is remembered: an estimate */
    uint64_t time;    /* of the last that was noted, nanoseconds since 1970 */
    uint64_t pid;     /* of the process that noted it, as it sees itself */
} caret_reading;

typedef struct caret_reading_list {
    size_t size; /* bytes of a caret_reading */
    size_t count;
    caret_reading *reading; /* most gets first */
} caret_reading_list;

/* The globals that all processes read since the first of them came, by gets, walks with values among them.  It is an
 * estimate that costs those who read nothing: a session notes the global of about each 251st of its gets, for all
 * since it noted one, and does so at most once in a tick of the system's coarse clock, some milliseconds.  The gets of
 * one that ends before that are missing.  128 are remembered; of those that share a place with others the ones that
 * were noted last.  *list is to be freed with caret_readings_free(), which ignores NULL.  NOMEM, CLOSED, EVICTED,
 * READONLY: only a process that opened it for writing sees the others; UNSUPPORTED: a database by an address. */
CARET_API int caret_readings_get(caret_db *db, caret_reading_list **list);
CARET_API void caret_readings_free(caret_reading_list *list);

/*
 * Following the log.  A caret_log reads, change by change, what was committed since the last checkpoint, and goes on
 * with what is committed then.  Writers neither wait for it nor notice it, and nothing is kept for it: a reader that
 * is so slow that the log has gone round (64 MiB, unless log_size says otherwise) is told so.  One thread at a time
 * may use it.  It keeps the database open.
 */
typedef struct caret_log caret_log;

#define CARET_LOG_END UINT64_MAX /* after the last commit */

enum { CARET_CHANGE_SET = 1, CARET_CHANGE_DELETE = 2, CARET_CHANGE_KILL = 3, CARET_CHANGE_KILL_RANGE = 4 };

/* One change of a commit.  Everything in it lives until the next call with the same log. */
typedef struct caret_change {
    size_t size;           /* sizeof(caret_change): to be set before the call */
    uint64_t lsn;          /* the place in the log after its commit, as caret_durable() tells places */
    uint32_t index, count; /* of the changes of that commit: which, from 0, and how many */
    int kind; /* CARET_CHANGE_*; what comes of an incr is a set, and so is what comes of a merge */
    const caret_node *node;
    /* of a set. data is NULL if it was a long one, of len bytes, that was replaced since */
    caret_slice value;
    /* Of a kill of a range: `node` is the parent of what was killed.  With these caret_kill_range() does the same once
     * more.  A transaction's ranges that overlap are one. */
    caret_slice from, to;
    int flags;
} caret_change;

/* Begin at a place in the log: 0 = at the oldest commit there is, CARET_LOG_END, or a change's lsn to go on after it.
 * NOTFOUND: the place is not, or no longer, in the log.  READONLY, CLOSED, NOMEM, CORRUPT, IO. */
CARET_API int caret_log_open(caret_db *db, uint64_t from, caret_log **log);

/* The next change.  CARET_NONE: there is none yet, ask again later.  NOTFOUND: too slow, what comes next is
 * overwritten; begin anew with caret_log_open().  CORRUPT, IO, NOMEM, EVICTED. */
CARET_API int caret_log_next(caret_log *log, caret_change *change);

/* Only changes at n and below it from now on, and kills above it or of a range with some of it; NULL: all again.
 * `index` and `count` of a change are those of its commit all the same.  INVALID: a local variable. */
CARET_API int caret_log_below(caret_log *log, const caret_node *n);

/* The place to go on from: after the last commit all of whose changes were told, or passed over.  A consumer that
 * stores it with what it has done, and begins there again, misses nothing; if it was in the middle of a commit, it is
 * told all changes of that once more.  0: log is NULL. */
CARET_API uint64_t caret_log_place(const caret_log *log);

/*
 * Sleep until caret_log_next() has a change, up to timeout_ns nanoseconds (CARET_FOREVER; 0: only look).  The calling
 * thread takes no processor time meanwhile, but for a look once a second and each MiB of log that others write;
 * writers pay nothing while nobody waits, some tens of nanoseconds a commit while somebody waits for other nodes, and a
 * system call for a commit that wakes somebody.  Writers may die at any instruction: then it may be a second late.
 * `s`, which may be NULL, is the session whose caret_interrupt() ends it.  CARET_OK: there is one; CARET_NONE: the
 * time is over.  INTERRUPTED; INTXN: s is in a transaction; what caret_log_next() says.
 */
CARET_API int caret_log_wait(caret_session *s, caret_log *log, uint64_t timeout_ns);

/* NULL is ignored. */
CARET_API void caret_log_close(caret_log *log);

/*
 * Sleep until something was committed at n, below it, or by a kill above it, after `place`: as above, without being
 * told what.  To miss nothing, take the place before looking at what is there (caret_durable's `committed`):
 *
 *     caret_durable(db, NULL, &place);
 *     if (nothing_to_do(s))
 *         caret_wait(s, n, place, CARET_FOREVER);
 *
 * CARET_LOG_END: from now on; 0: since the database was made.  CARET_OK: something was, or may have been, as the log
 * from `place` on is not there any more: look.  CARET_NONE: nothing was, and the time is over.  The session's own
 * commits count.  Any number of threads and processes may wait; all whom a commit concerns are woken.  A place of
 * before the database was opened by its first user may be none: NOTFOUND.  INTERRUPTED; INTXN: in a transaction;
 * READONLY: opened read-only, and no other handle of this process has it open for writing (nobody wakes it: it has to
 * look now and then); INVALID: n is local; CLOSED, EVICTED, NOMEM, CORRUPT, IO.
 */
CARET_API int caret_wait(caret_session *s, const caret_node *n, uint64_t place, uint64_t timeout_ns);

/*
 * From any thread or from a signal handler (it only stores and wakes): the session's call that sleeps in caret_wait(),
 * caret_log_wait() or for a lock returns CARET_E_INTERRUPTED, having changed nothing; if it does not sleep now, the
 * next one that would.  Once: several before it is noticed are one.  Other calls are not interrupted: they take no
 * longer than the disk, or a transaction that runs undisturbed, up to a second.  Of a database on a server, a call that
 * has waited longer than that for what it reads, or for a connection, is interrupted too, and the transaction that it
 * is in begins again; a commit that was sent is not.  The session, and its database, must not be closed meanwhile.
 * NULL is ignored.
 */
CARET_API void caret_interrupt(caret_session *s);

/*
 * For hosts with a lock of their own that only one thread has, as interpreters do: `before` is called by each thread
 * that is about to sleep in a function of Caret (for a lock, for a change, for a mutex that is not free after some
 * microseconds, for the disk, for a checkpoint that it takes, for another process that opens or closes), and `after`
 * when it has slept, with what `before` returned.  So a host lets go of its lock in `before` and takes it again in
 * `after`, and calls that don't sleep cost it nothing:
 *
 *     static void *let_go(void *arg) { (void)arg; return PyGILState_Check() ? PyEval_SaveThread() : NULL; }
 *     static void take(void *arg, void *token) { (void)arg; if (token) PyEval_RestoreThread(token); }
 *
 * A wait for a server is several such sleeps.  The two come in pairs in one thread, which do not nest; `after` may
 * come when the function has done more than sleep, as no shared mutex is held while it is called.  They may block, on
 * what no thread keeps while it waits in a function of Caret.  They must not call functions of Caret, but for
 * caret_interrupt(), nor leave by longjmp or exit.  Arguments of a function (nodes, values, buffers) must stay as they
 * are while it is called: other threads of the host may run then.  Not called in the background thread, nor while the
 * process forks.  For all databases of the process: set it before the first is opened; NULL and NULL: none.  INVALID:
 * one of them alone.
 */
CARET_API int caret_wait_hooks(void *(*before)(void *arg), void (*after)(void *arg, void *token), void *arg);

/*
 * Shared memory.  While a database is open its memory is a file in /dev/shm, or in the shm_dir it was opened
 * with.  The last close removes it; if all users were killed it stays, as the next opening recovers from it.  The
 * first to open a database also removes what no database needs any more, by the rules of `state` below.
 */
enum {
    CARET_SHM_USED = 1,     /* somebody has it mapped, or its database is in use */
    CARET_SHM_NEEDED = 2,   /* its users were killed: the next opening of its database recovers from it */
    CARET_SHM_LOST = 3,     /* its database is not where it was, and it has commits that the log has not */
    CARET_SHM_ORPHANED = 4, /* nobody needs it, wherever its database is: openings remove it */
    CARET_SHM_UNKNOWN = 5   /* it can't be told: of another build, or not for this user to read */
};

/* One file.  Everything in it lives until the callback returns. */
typedef struct caret_shm_info {
    const char *file;    /* its path */
    const char *path;    /* of the data file when it was made; "" = not known */
    const char *why;     /* how its state is known, in words */
    uint64_t bytes;      /* of memory that it takes */
    int state;           /* CARET_SHM_* */
    int removed;         /* 1: it was, by this call */
    size_t pids;         /* of the processes that use it, as far as they are visible from here */
    const uint64_t *pid; /* their numbers */
} caret_shm_info;

/* Called for each; CARET_OK goes on, anything else ends the call with that code.  No function of Caret may be
 * called. */
typedef int caret_shm_each(void *arg, const caret_shm_info *info);

enum {
    CARET_SHM_REMOVE = 1, /* remove the orphaned ones */
    /* and the lost ones: if their database still exists, commits of its last second are lost */
    CARET_SHM_REMOVE_LOST = 2
};

/* List all segments in a folder (NULL: /dev/shm).  From any thread; no database need be open.  each may be NULL.
 * INVALID: flags.  SHM: the folder can't be read.  NOMEM. */
CARET_API int caret_shm(const char *dir, int flags, caret_shm_each *each, void *arg);

/* -------------------------------------------------------------------- text */

/* Bytes to ZWR and back: "a"_$C(10)_"b".  *len is always set to the needed length. BUFFER, SYNTAX.
 * Both ways are told the mode, as $C(133) is byte 133 in the byte form and U+0085 in the utf8
 * form; the reader takes everything else ($ZCH(n), any text) in either mode. */
CARET_API int caret_str2zwr(const void *in, size_t n, int utf8, char *buf, size_t cap, size_t *len);
CARET_API int caret_zwr2str(const char *in, size_t n, int utf8, char *buf, size_t cap, size_t *len);

/* Bytes of others, as the messages of this library show them: between `quote`s ('\0': none) where all can be read, else
 * as ZWR text, so that no NUL cuts a message off and no control byte reaches a terminal.  Of more than `most` bytes
 * (120 count) so many are shown, and "..." after them.  buf is a string then; CARET_SHOWN_SIZE is room for any.
 * BUFFER: it is too small. */
#define CARET_SHOWN_SIZE 1200
CARET_API int caret_shown(const void *in, size_t n, size_t most, char quote, char *buf, size_t cap);

/* Node from ZWR text, ^oaks(1,"shadow").  SYNTAX, NAME, and what caret_node_child says. */
CARET_API int caret_node_parse(caret_node *n, size_t bytes, const char *text, size_t len, int utf8);

struct caret_node {
    uint64_t opaque[5];
};
union caret_node_buf {
    caret_node node;
    uint64_t bytes[CARET_NODE_MAX / 8];
};

#ifdef __cplusplus
}
#endif
#endif
