/*
 * open.h - the parts of opening a database: data file, recovery, replay.
 */
#ifndef CARET_OPEN_OPEN_H
#define CARET_OPEN_OPEN_H

#include <sys/stat.h>

#include "disk/logfile.h"
#include "disk/meta.h"
#include "shm/segment.h"

/* What is known of the data file when the gate is ours. */
struct caret__start {
    struct stat st;
    struct caret__identity id;
    struct caret__meta_pair pair;
    /* that the arena of the last users could have: what they committed must find room again; 0 = not known */
    uint32_t slots;
    bool created; /* by us, just now, where nothing was */
};

/* ---- open/open.c --------------------------------------------------------------------- */

/* Attach this process to the database at path, creating or recovering it if need be. */
int caret__engine_open(const char *path, const caret_options *options, struct caret__engine **e);

/* The same for a database that nobody else is to open: its memory has no name, and is gone with the process. */
int caret__engine_open_alone(const char *path, const caret_options *options, struct caret__engine **e);

/* A new database in memory, for this process and its forks; options->memory_limit is not 0. */
#define CARET__MEMORY ":memory:"
int caret__engine_open_memory(const caret_options *options, struct caret__engine **e);

/* Drop a reference; the last in the process detaches, the last of all writes a final checkpoint. */
int caret__engine_close(struct caret__engine *e);

/* Have the closing of this only reference replace the file by a compact copy, which `copy` makes as `how`
 * says: both have to live until then.  BUSY: there are others. */
int caret__engine_compact(struct caret__engine *e, caret__copy_fn *copy, const caret_backup_options *how);

/* One more reference to an open engine. */
void caret__engine_ref(struct caret__engine *e);

/* First use in a forked child: take a slot of our own.  CARET_OK or an error. */
int caret__engine_forked(struct caret__engine *e);

/* Called then, the registry locked: whatever sessions the parent had over it are to forget what they own. */
extern void (*caret__forked_hook)(struct caret__engine *e);

/* ---- open/observe.c: opened read-only ------------------------------------------------------------- */

/* Was what this engine observes overtaken?  Then what was read since it was found not to be means nothing, and
 * the database is to be opened anew.  Asked before and after each call that reads. */
bool caret__observed_over(const struct caret__engine *e);

/* In the place of caret__stalled: a dead writer can't be repaired by us, but read around. */
int caret__observer_stalled(void *engine, uint64_t version, unsigned tries);

/* A view of the last checkpoint of a database that is open (or of all of it, if nobody is attached), for checks;
 * in no registry. */
int caret__engine_view(const struct caret__engine *of, struct caret__engine **view);
void caret__engine_view_end(struct caret__engine *view);

/* ---- open/datafile.c ------------------------------------------------------------ */

/* The path without links and dots; of a file that may not exist yet.  malloc'ed. */
int caret__path_resolve(const char *path, char **resolved);

/* Before anything is created: may e->path be opened?  CARET_NONE: it does not exist, or is
 * empty (*st tells), and may be created.  NOTFOUND OPEN FOREIGN VERSION CORRUPT NETFS IO. */
int caret__data_look(const struct caret__engine *e, struct stat *st);

/* Under the gate: open the data file, creating it if need be; fills e->data_fd, e->dir_fd, e->dev,
 * e->ino and *start. */
int caret__data_open(struct caret__engine *e, struct caret__start *start);

/* Under the gate: fill *start anew, but for `created`, from the data file that is open. */
int caret__data_read(struct caret__engine *e, struct caret__start *start);

/* NETFS, SHM: not a folder for shared memory. */
int caret__shm_dir_look(const struct caret__engine *e);

/* ---- open/claim.c --------------------------------------------------------------- */

/* Under the gate, nobody else alive: say, with record locks on the data file itself, that this process is opening it.
 * BUSY: somebody has it open by another path. */
int caret__data_claim(const struct caret__engine *e);

/* Under the gate: the slot is taken, and the database is open: claim that, and nothing else.  BUSY, SYSTEM. */
int caret__data_claim_slot(const struct caret__engine *e);

/* Under the gate: for readers, say that the last one closes it. */
void caret__data_gate(const struct caret__engine *e);

/* Has another process such a lock; is somebody opening it first or closing it last; is there any lock, which then
 * can be a reader's that hides the others?  1 yes, 0 no, -1 it can't be known now (errno). */
int caret__data_claimed(const struct caret__engine *e, pid_t *pid);
int caret__data_gate_busy(const struct caret__engine *e, pid_t *pid);
int caret__data_claimed_by_any(int fd, pid_t *pid); /* this process's too */
int caret__data_obstructed(const struct caret__engine *e);

/* ---- open/recover.c ------------------------------------------------------------- */

/* Under the gate, nobody else alive: make the segment from the data file, the log and what an old
 * segment holds; take a slot; publish.  On an error everything is as before. */
int caret__recover(struct caret__engine *e, struct caret__start *start);

/* For an engine that observes, nobody alive: the same in private memory, changing nothing.  e->data_fd is
 * open; the log is read if the database was not closed cleanly. */
int caret__recover_private(struct caret__engine *e, struct caret__start *start);

/* For an engine that observes, nobody alive, the log open, not closed cleanly: what only the ring of the last
 * users has becomes e->log_tail (malloc'ed; NULL: nothing), *reach is raised to where the log must go with
 * it.  e->log_durable: what of the log is on the disk.  start: identity and meta.  Errors say that their memory
 * can't be read or does not fit. */
int caret__log_tail(struct caret__engine *e, const struct caret__start *start, uint64_t *reach);

/* What a dead process left: repair, its locks, its reserved pages (a caret__reap_fn). */
int caret__reap(struct caret__engine *e, uint32_t slot, uint32_t nonce);

/* ---- open/open.c, open/observe.c ------------------------------------------------- */

/* Map the segment of those who are alive; `pid` is one of them. */
int caret__attach_live(struct caret__engine *e, const struct caret__start *start, pid_t pid);

/* Open read-only.  file_only: the last checkpoint, whoever is attached. */
int caret__observe(struct caret__engine *e, bool file_only);

/* Unmap and close what an engine that observes has. */
void caret__observe_end(struct caret__engine *e);

/* ---- open/replay.c -------------------------------------------------------------- */

/* Apply the log's records from where the segment is (log_head == meta lsn) to the end of the chain. CORRUPT
 * when the chain ends before `reach`.  part: a checkpoint of the tree as it is comes first, after the chain
 * was seen.  damaged: the other meta slot is, so CORRUPT, too, when a later session goes on where the chain ends. */
int caret__replay(struct caret__engine *e, uint64_t reach, bool part, bool damaged);

#endif
