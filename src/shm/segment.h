/*
 * segment.h - creating and mapping the shared segment and the data file.
 */
#ifndef CARET_SHM_SEGMENT_H
#define CARET_SHM_SEGMENT_H

#include "shm/engine.h"

/* Where segments are unless shm_dir says otherwise, and how the names of those end whose users hold a lock on them. */
#define CARET__SEG_DIR    "/dev/shm"
#define CARET__SEG_SUFFIX ".held"

/* Which data file a segment belongs to, and which users may use it. */
struct caret__identity {
    uint8_t uuid[16];
    uint64_t dev, ino;
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* Create a segment for at least `npages` pages in directory dir (NULL: /dev/shm), map it and the data file
 * (e->data_fd), fill the engine.  The header has its identity and sizes, what must be backed is, all page numbers below
 * npages exist; the words of log and tree are for the caller.  e->path and e->options.arena_limit are used; without
 * such a limit the arena can have `slots` at least, however little room there is now.  SHM, NOMEM, SYSTEM; nothing is
 * left behind then. */
int caret__segment_create(struct caret__engine *e, const struct caret__identity *id, const char *dir,
                          uint32_t npages, uint32_t slots);

/* The same in private memory, for an engine that observes: nobody else sees it, and nothing is left of it.
 * build: pages are to be changed in it (a log is replayed).  Without, it is only what reading the file takes. */
int caret__segment_private(struct caret__engine *e, const struct caret__identity *id, uint32_t npages,
                           bool build);

/* Map an existing segment (an engine that observes: for reading only), after checking that it is one of this
 * data file and this layout. CARET_NONE: there is no such file.  SHM, BUSY, VERSION, CORRUPT otherwise. */
int caret__segment_attach(struct caret__engine *e, const struct caret__identity *id, const char *path);

/* Remove the file of our segment, if it has one. */
void caret__segment_unlink(const struct caret__engine *e);

/* A new id for a store whose pages can be in a file: hints found in one never count in another. */
uint64_t caret__store_id(void);

/* Map the data file (e->data_fd) for reading, to the size that the segment's header allows. */
int caret__file_map(struct caret__engine *e);

/* From now on, until caret__file_kept(): a page of the file that is verified stays as it is then, in memory of this
 * process, whatever others write there.  For one that replays a log in private memory and may keep nobody from writing:
 * what changes the tree relies on pages that it has looked at.  Without memory for that, as strict limits may have it,
 * nothing is kept.  NOMEM or SHM: the file is not mapped any more. */
int caret__file_keep(struct caret__engine *e);
void caret__file_kept(struct caret__engine *e);

/* Unmap everything and close the segment (not the data file). */
void caret__segment_close(struct caret__engine *e);

/* Unlink all segments of this data file in dir but `keep` (a path, or NULL); nobody may be attached. */
void caret__segment_sweep(const struct caret__identity *id, const char *dir, const char *keep);

/* Where the regions of a segment of these sizes lie: sets the off_ fields, seg_size and
 * the sizes of *sh, from its max_pages and max_slots. */
void caret__segment_place(struct caret__shared *sh);

#endif
