/*
 * backup.h - the copy of a snapshot that backup.c and compact.c write.
 */
#ifndef CARET_COPY_BACKUP_H
#define CARET_COPY_BACKUP_H

#include "log/snapshot.h"

/* A copy in the making. */
struct caret__copy {
    const struct caret__snapshot *from;
    const caret_backup_options *options;
    const char *path;       /* that it will have, for messages */
    int fd;                 /* of the file without that name */
    uint64_t *used;         /* bit per page number of the snapshot: part of its tree */
    _Atomic uint64_t *free; /* bit per page number of the copy */
    uint32_t root, npages;  /* of the copy */
    uint64_t done, total;   /* bytes, for progress */
};

/* Write bytes of the copy.  DISKFULL, IO. */
int caret__copy_write(const struct caret__copy *c, const void *bytes, size_t len, uint64_t off);

/* So many bytes are done: is the snapshot still there, and does the caller want to go on?  EVICTED, ROLLBACK. */
int caret__copy_step(struct caret__copy *c, uint64_t bytes);

/* compact.c: write the tree's pages under new numbers, one after the other; sets root, npages and free. */
int caret__copy_compact(struct caret__copy *c);

/* Back up an engine's database, as caret_backup() says. */
int caret__backup(struct caret__engine *e, const char *path, const caret_backup_options *options);

#endif
