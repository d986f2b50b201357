/*
 * archive.h - the log, copied out before it is overwritten.
 *
 * archive.c writes the files, at checkpoints; copy/restore.c reads them.  docs/format.md has the layout.
 */
#ifndef CARET_LOG_ARCHIVE_H
#define CARET_LOG_ARCHIVE_H

#include "shm/engine.h"
#include "shm/layout.h"

/* 2: the log may have kills of ranges.  A file that has none is of format 1, and can be read by older builds. */
#define CARET__ARCHIVE_FORMAT 2u
#define CARET__ARCHIVE_FIRST  1u
#define CARET__ARCHIVE_EVERY                                                                                 \
    UINT64_C(60000000000) /* nanoseconds; a checkpoint is due then, if anything was committed */

/* The head of a file; the log from start to end follows, then the long values that its records refer to, in order. */
struct caret__archive_head {
    char magic[8];       /*   0: "CARETARC" */
    uint32_t format;     /*   8 */
    uint32_t spare;      /*  12 */
    uint8_t uuid[16];    /*  16: of the database */
    uint64_t start;      /*  32: LSN of the first byte */
    uint64_t end;        /*  40: after the last one */
    uint64_t start_seed; /*  48: the 8 bytes before start, or what a new generation begins with */
    uint64_t end_seed;   /*  56: the last 8 bytes */
    uint64_t time;       /*  64: when the commits before end were all there, nanoseconds since 1970 */
    uint64_t values;     /*  72: bytes of the long values */
    uint8_t unused[44];  /*  80 */
    uint32_t crc;        /* 124: crc32c of the bytes before */
};

/* In the checkpoint role, before the log below `to` is given up: copy it.  Nothing to do without an archive. */
int caret__archive_log(struct caret__engine *e, uint64_t to);

/* Somebody wants the log of an open database archived in that folder: from the next commit on, if it was not.
 * INVALID: it is archived elsewhere; what caret__checkpoint() says. */
int caret__archive_begin(struct caret__engine *e, const char *dir);

/* At creation of a segment, nobody else attached: the first opener's wish. */
void caret__archive_set(struct caret__shared *sh, const char *dir);

/* The folder as it is kept in the segment.  malloc'ed.  OPEN, INVALID. */
int caret__archive_resolve(const char *dir, char **resolved);

/* Name of the file that begins at an LSN.  False: too long. */
bool caret__archive_name(char *name, size_t size, const char *dir, const uint8_t uuid[16], uint64_t start);

/* Read and check a head.  CARET_NONE: no such file; CORRUPT, VERSION, IO. */
int caret__archive_read_head(int fd, const char *name, struct caret__archive_head *h);

/* Restore, as caret_restore() says. */
int caret__restore(const char *backup, const char *to, const caret_restore_options *options,
                   uint64_t *reached);

#endif
