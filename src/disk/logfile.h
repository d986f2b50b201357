/*
 * logfile.h - bytes of the log file at an LSN.
 */
#ifndef CARET_LOG_LOGFILE_H
#define CARET_LOG_LOGFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "shm/layout.h"

/* The log file, and where in it an LSN lies. */
struct caret__logfile {
    int fd;
    const char *path;
    uint64_t base, size; /* as in the meta */
    const uint8_t *tail; /* bytes from tail_from on that count instead of the file's; reading only */
    uint64_t tail_from, tail_len;
};

/* The base of the log of a session that begins after a clean closing at that LSN. */
static inline uint64_t caret__log_begins(uint64_t lsn)
{
    return caret__align_down(lsn, 4096);
}

/* Bytes of the log file at an LSN, around its end; at most `size` of them. */
int caret__log_read(const struct caret__logfile *f, uint64_t lsn, void *buf, size_t len);

/* The same bytes mapped, in two pieces where the file ends, which takes no memory; until caret__log_unmap().
 * NULL: they can't be, or are in the tail: read them.  {0} is not a mapping. */
struct caret__mapping {
    void *at;
    size_t len;
};
const uint8_t *caret__log_map(const struct caret__logfile *f, uint64_t lsn, size_t len,
                              struct caret__mapping *m);
void caret__log_unmap(struct caret__mapping *m);
int caret__log_write(const struct caret__logfile *f, uint64_t lsn, const void *buf, size_t len);

/* After the death of a holder of either mutex: what was written ahead of log_head does not count. */
void caret__log_set_back(struct caret__shared *sh);

#endif
