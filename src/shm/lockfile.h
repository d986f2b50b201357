/*
 * lockfile.h - the lock file: the gate, the bytes of the process slots, the record.
 */
#ifndef CARET_SHM_LOCKFILE_H
#define CARET_SHM_LOCKFILE_H

#include <sys/stat.h>

#include "shm/engine.h"
#include "shm/layout.h"

/* Bytes of the lock file that record locks are put on, and where the record lies. */
#define CARET__LOCKBYTE_GATE  0
#define CARET__LOCKBYTE_SLOT0 1024
#define CARET__LOCKREC_OFFSET 4096

/* The record: which segment is the live one.  Written and read under the gate only. */
struct caret__lockrec {
    char magic[8];                  /*   0: "CARETLK\n" */
    uint8_t uuid[16];               /*   8: of the data file */
    uint64_t dev, ino;              /*  24: of the data file */
    uint64_t seg_dev;               /*  40: of the segment */
    uint64_t seg_ino;               /*  48 */
    char boot[40];                  /*  56: boot id of the machine, NUL-terminated */
    char seg_path[CARET__SEG_PATH]; /*  96: NUL-terminated */
    uint32_t crc;                   /* 1020: crc32c of the bytes before */
};
_Static_assert(sizeof(struct caret__lockrec) == 1024, "lock file record");

/* Open e->lock_path (creating it, for those who may write `like` when that is not NULL) and take the gate:
 * nobody else opens or closes this database until caret__gate_release.  OPEN, BUSY (a second copy of the
 * library in this process), SYSTEM.  Sets e->lock_fd. */
int caret__lockfile_open(struct caret__engine *e, const struct stat *like);

/* The same for a database in memory: a lock file without a name.  SHM, SYSTEM. */
int caret__lockfile_memory(struct caret__engine *e);

/* Once there is a data file: is the lock file's owner one who may write that?  OPEN: no.  SYSTEM. */
int caret__lockfile_trust(const struct caret__engine *e);

/* For one who only reads: open e->lock_path, to ask.  Creates, writes and locks nothing.
 * CARET_NONE: there is no lock file, or it is for writers only.  OPEN, BUSY. */
int caret__lockfile_look(struct caret__engine *e);

/* For that one: does somebody hold the gate, opening or closing?  1 yes, 0 no, -1 it can't be known now (errno). */
int caret__gate_busy(const struct caret__engine *e, pid_t *pid);

/* Take the gate of the lock file that is open already.  EVICTED: it is not the one at its path any more, or the
 * descriptor is another file's; in the first case the gate is ours, among those who still have that file open. */
int caret__gate_take(struct caret__engine *e);
void caret__gate_release(struct caret__engine *e);

/* Under the gate, or observing: does a process other than this one hold a slot?  Its pid to *pid (0: not
 * visible from here). 1 yes, 0 no, -1 it can't be known now (errno): neither is to be assumed where the other
 * would do harm. */
int caret__others_alive(struct caret__engine *e, pid_t *pid);

/* Under the gate, or observing: the record.  CARET_NONE: there is none, or it makes no sense, or is from before the
 * last boot.  IO, SYSTEM: it can't be told now.  It is in the lock file, and once more at the end of the log, for
 * readers that have no lock file: e->log_end tells them where. */
int caret__lockrec_read(struct caret__engine *e, struct caret__lockrec *rec);
/* The same for the lock file with that descriptor and name. */
int caret__lockrec_parse(int fd, const char *name, struct caret__lockrec *rec);
/* Its block, so that writing finds room: DISKFULL. */
int caret__lockrec_reserve(struct caret__engine *e);
/* That of e's segment. */
int caret__lockrec_make(struct caret__engine *e, const uint8_t uuid[16], struct caret__lockrec *rec);
int caret__lockrec_write(struct caret__engine *e, const struct caret__lockrec *rec);
/* The copy, at the end of a log that becomes longer. */
int caret__lockrec_repeat(struct caret__engine *e, uint64_t end);

/* Under the gate: remove the lock file (the gate goes with the descriptor). */
void caret__lockfile_remove(struct caret__engine *e);

/* Close it; every record lock of this process on it goes. */
void caret__lockfile_close(struct caret__engine *e);

/* Open a file so that its descriptor is above 2 and close-on-exec. */
int caret__open_high(const char *path, int flags, mode_t mode);

/* Give a file the owner, group and mode of another one, as far as we may; never more permissive. */
void caret__file_rights(int fd, uid_t uid, gid_t gid, mode_t mode);

/* Log, segment and lock file get what the data file has by now: the lock file is for those who may write it. */
void caret__rights_follow(const struct caret__engine *e);

/* May a file of that owner be trusted as far as the data file is, which has these rights? */
bool caret__owner_trusted(const struct stat *st, uid_t uid, gid_t gid, mode_t mode);

/* ---- shm/slots.c (see engine.h for caret__slot_alive) ------------------------------------------ */

/* Under the gate: take a process slot.  A slot whose owner died is given to `reap` first, with the
 * nonce of the dead; e->slot and e->nonce are then the dead one's, so that the
 * writer mutex can be taken.  LIMIT: all are in use. */
typedef int caret__reap_fn(struct caret__engine *e, uint32_t slot, uint32_t nonce);
int caret__slot_take(struct caret__engine *e, caret__reap_fn *reap);

/* Give our slot back. */
void caret__slot_give_back(struct caret__engine *e);

/* ---- shm/registry.c ------------------------------------------------------------------------------ */

/* One thread at a time opens, closes or re-attaches, in the whole process. */
bool caret__registry_held(void); /* by this thread; for assertions */
void caret__registry_lock(void);
void caret__registry_unlock(void);

/* Is this file attached in this process?  Then it must not be opened in another way: closing it would drop
 * our locks. */
bool caret__registry_has(const char *path);

/* Under that lock.  find: the engine that is attached, not one that observes; next: of all, NULL begins. */
struct caret__engine *caret__registry_find(dev_t dev, ino_t ino);
struct caret__engine *caret__registry_next(const struct caret__engine *e);
void caret__registry_add(struct caret__engine *e);
void caret__registry_remove(struct caret__engine *e);

/* A word that reads 1 here, and 0 in a forked child until it was set there. */
int caret__fork_mark_new(struct caret__engine *e);
void caret__fork_mark_set(struct caret__engine *e);
void caret__fork_mark_free(struct caret__engine *e);

#endif
