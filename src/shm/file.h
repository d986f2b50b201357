/*
 * file.h - descriptors that are remembered, and asked about before each use.
 */
#ifndef CARET_SHM_FILE_H
#define CARET_SHM_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* All zero: none. */
struct caret__fd {
    int unasked; /* the number + 1; for shm/file.c alone */
    dev_t dev;   /* the file that was opened */
    ino_t ino;
    bool nameless; /* it never had a name, so it can't have lost one */
};

/* Remember an open descriptor (-1: none, errno is kept).  False: fstat failed, it was closed. */
bool caret__fd_set(struct caret__fd *f, int fd);

/* Make a file in memory, which is in no folder, and gone when nobody has it open or mapped.  False: errno tells why. */
bool caret__fd_memory(struct caret__fd *f);

/* The descriptor, for one call.  -1 and EBADF: there is none, or the number is not our file's any more. */
int caret__fd(const struct caret__fd *f);

/* Is there one, whatever it is by now? */
bool caret__fd_known(const struct caret__fd *f);

/* Close it, if it is still ours; forget it in any case. */
void caret__fd_close(struct caret__fd *f);

#endif
